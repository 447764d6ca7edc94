//! The command line of the reporter.

use super::fault::Fault;
use super::shape::Shape;
use cats_engine_types::CsId;
use clap::{Parser, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Reports to a metric agent as service contact instances do, honestly or not, and tells what became of it
///
/// In the name of a file or key, `{id}` stands for the CSCI-ID: each instance then has its own, and, where that is the
/// certificate, a connection of its own. Without it one connection speaks for many instances.
#[derive(Debug, Clone, Parser)]
#[command(name = "cats-report")]
pub struct Settings {
    /// How reports travel
    #[arg(long, value_enum, default_value = "grpc")]
    pub over: Channel,
    /// The metric agent, or the broker
    #[arg(long, value_name = "HOST:PORT")]
    pub to: String,
    /// The agent's name, which its certificate must have; any agent's by default
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The site in the topics of a broker
    #[arg(long, value_name = "NAME", default_value = "site-1")]
    pub site: String,

    /// The authority's certificates, PEM
    #[arg(long, value_name = "FILE")]
    pub authority: PathBuf,
    /// A certificate with the URI `cats:csci:CSCI-ID`, PEM
    #[arg(long, value_name = "FILE", requires = "private_key")]
    pub certificate: Option<String>,
    /// Its private key, PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub private_key: Option<String>,
    /// Issue a token for each instance by this key: PKCS #8 in PEM, or a secret
    #[arg(long, value_name = "FILE", requires = "jwt_issuer", requires = "jwt_audience")]
    pub jwt_key: Option<PathBuf>,
    /// How tokens are signed
    #[arg(long, value_enum, default_value = "eddsa")]
    pub jwt_algorithm: JwtAlgorithm,
    /// `iss` of tokens
    #[arg(long, value_name = "ISSUER")]
    pub jwt_issuer: Option<String>,
    /// `aud` of tokens
    #[arg(long, value_name = "AUDIENCE")]
    pub jwt_audience: Option<String>,
    /// How long tokens count, in seconds; a new one is made after half of it. Below 0, they ceased to so long ago
    #[arg(long, value_name = "SECONDS", default_value = "600", allow_negative_numbers = true)]
    pub jwt_lifetime: i32,
    /// Sign each report in JSON by this key: Ed25519 (PKCS #8 in PEM), or a secret of HMAC-SHA256
    #[arg(long, value_name = "FILE", requires = "signing_key_id")]
    pub signing_key: Option<String>,
    /// How reports are signed
    #[arg(long, value_enum, default_value = "ed25519")]
    pub signing_algorithm: SigningAlgorithm,
    /// `kid` of signatures
    #[arg(long, value_name = "ID")]
    pub signing_key_id: Option<String>,

    /// How many instances
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub instances: u32,
    /// The CSCI-ID of the first; the others follow
    #[arg(long, value_name = "CSCI-ID", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub first: u32,
    /// The services that each reports of
    #[arg(long, value_name = "CS-ID", value_delimiter = ',', default_value = "1", value_parser = service)]
    pub services: Vec<CsId>,
    /// Connections that instances without certificates of their own are spread over
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: u32,

    /// Reports a second of each instance and service; 0: as fast as they are taken
    #[arg(long, default_value = "1", value_parser = rate)]
    pub rate: f64,
    /// For how long, in seconds; without this and a count, until it is interrupted
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub duration: Option<f64>,
    /// How many reports of each instance and service
    #[arg(long)]
    pub count: Option<u64>,
    /// How the load goes
    #[arg(long, value_enum, default_value = "constant")]
    pub shape: Shape,
    /// How long a ramp or a fall takes, and a health lasts that flaps, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = positive)]
    pub period: f64,
    /// Slots
    #[arg(long, default_value = "300")]
    pub gas: u32,
    /// Time for one request, in milliseconds
    #[arg(long, value_name = "MS", default_value = "10", value_parser = rate)]
    pub computing_time: f64,
    /// Price of one request
    #[arg(long)]
    pub price: Option<u64>,
    /// Reputation
    #[arg(long)]
    pub reputation: Option<u64>,
    /// Security level
    #[arg(long)]
    pub security_level: Option<u64>,
    /// Where the instances take requests
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub locator: Option<SocketAddr>,
    /// How long a report holds, in seconds; absent, as the agent has it
    #[arg(long, value_name = "SECONDS")]
    pub ttl: Option<u32>,
    /// After the first report tell what changed only
    #[arg(long)]
    pub delta: bool,
    /// Reports in one message or document at most
    #[arg(long, default_value = "64", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub batch: u32,
    /// Compress messages of gRPC with gzip
    #[arg(long)]
    pub compress: bool,

    /// What is done beside honest reports, in turn
    #[arg(long, value_enum, value_delimiter = ',')]
    pub faults: Vec<Fault>,
    /// After how many honest reports
    #[arg(long, value_name = "REPORTS", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub every: u32,
    /// What random values follow from
    #[arg(long, default_value = "1")]
    pub seed: u64,

    /// How long answers are awaited at the end, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = positive)]
    pub wait: f64,
    /// How the outcome is printed
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// End with status 2 unless every honest report was taken and every hostile one was not
    #[arg(long)]
    pub check: bool,
}

/// How reports travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Channel {
    /// Over a stream of gRPC
    Grpc,
    /// As JSON in requests of HTTP/2
    Rest,
    /// As JSON over a broker of MQTT 5, which tells no outcome
    Mqtt,
}

/// How tokens are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum JwtAlgorithm {
    /// Ed25519
    Eddsa,
    /// HMAC-SHA256
    Hs256,
}

/// How reports are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SigningAlgorithm {
    /// Ed25519
    Ed25519,
    /// HMAC-SHA256
    HmacSha256,
}

/// How the outcome is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// One object
    Json,
}

impl Settings {
    /// Whether each instance has a connection of its own.
    pub(super) fn is_apart(&self) -> bool {
        self.certificate.as_ref().is_some_and(|name| name.contains(ID))
    }

    /// What is asked for and cannot be.
    pub(super) fn contradiction(&self) -> Option<String> {
        if let Some(fault) = self.faults.iter().find(|fault| !fault.exists_over(self.over)) {
            return Some(format!("{} cannot be said over {}", fault.name(), name(self.over)));
        }
        if self.over == Channel::Grpc && self.signing_key.is_some() {
            return Some("a report over gRPC has no signature of its own; use a token".to_owned());
        }
        let proof = self.jwt_key.is_some() || self.signing_key.is_some();
        if self.faults.contains(&Fault::BadSignature) && !proof {
            return Some("bad-signature needs a token or a signature: --jwt-key or --signing-key".to_owned());
        }
        if self.over == Channel::Mqtt && !proof {
            return Some("the broker's connection proves nothing: --jwt-key or --signing-key".to_owned());
        }
        if self.certificate.is_none() && !proof {
            return Some("nothing says who reports: --certificate, --jwt-key or --signing-key".to_owned());
        }
        self.first.checked_add(self.instances).is_none().then(|| "CSCI-IDs end at 4294967295".to_owned())
    }
}

/// What stands for the CSCI-ID in the name of a file or key.
const ID: &str = "{id}";

/// The name with the CSCI-ID in its place.
pub(super) fn named(template: &str, id: impl ToString) -> String {
    template.replace(ID, &id.to_string())
}

fn name(channel: Channel) -> String {
    channel.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn service(text: &str) -> Result<CsId, String> {
    text.parse().map_err(|error: cats_engine_types::IdError| error.to_string())
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("a number that is not negative is expected".to_owned()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("a number above 0 is expected".to_owned()),
    }
}
