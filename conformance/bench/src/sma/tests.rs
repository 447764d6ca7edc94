//! The reporter against a metric agent: what is honest is taken, what is not is refused for the right reason.

use super::agent::{Agent, Terms};
use cats_conformance::pki::{Authority, NodeFiles};
use cats_conformance::reporter::{self, Settings, Summary};
use cats_engine_core::sma::SmaConfig;
use cats_engine_core::sma::config::{AdmissionConfig, Rate, RateConfig};
use cats_engine_transport::Subject;
use cats_engine_transport::collection::{Admission, BrokerTarget, Others, Permissions, Proofs};
use cats_engine_transport::keys::{Algorithm, Keyring, VerifyingKey};
use cats_engine_transport::pki::{Pki, PkiFiles};
use cats_engine_transport::tokens::{TokenAlgorithm, TokenKey, TokenRules, Tokens};
use cats_engine_types::CsciId;
use clap::Parser;
use rcgen::{KeyPair, PKCS_ED25519};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Instances that the permissions name.
const KNOWN: std::ops::Range<u32> = 100..120;

/// An agent, an authority, and a folder for their files.
struct Bed {
    folder: PathBuf,
    authority: Authority,
    agent: Agent,
}

impl Bed {
    fn new(name: &str) -> Self {
        Self::with_broker(name, None, RateConfig { instance: FREE, total: FREE })
    }

    fn with_broker(name: &str, broker: Option<u16>, rates: RateConfig) -> Self {
        let folder = cats_conformance::lab::target_dir().join("reporter").join(name);
        drop(std::fs::remove_dir_all(&folder));
        let authority = Authority::create(&folder).unwrap();
        let files = files(&authority.issue("sma", &["cats:sma:C-SMA-1"]).unwrap());
        let service = ["1".parse().unwrap()];
        let permissions = Permissions {
            instances: KNOWN.map(|number| (CsciId::number(number).unwrap(), service.into())).collect(),
            others: Others::Refused,
        };
        let admission = Admission::new(permissions, proofs(&folder));
        let broker = broker.map(|port| BrokerTarget {
            host: "127.0.0.1".to_owned(),
            port,
            site: "site-1".parse().unwrap(),
            client_id: "C-SMA-1".to_owned(),
            session_expiry: Duration::from_secs(60),
            pki: Pki::open(files.clone()),
            timing: cats_engine_transport::Timing::default(),
        });
        let discovery = AdmissionConfig { discovery: true, ..AdmissionConfig::default() };
        let config = SmaConfig { admission: discovery, rates, ..SmaConfig::default() };
        let node = "C-SMA-1".parse().unwrap();
        let agent = Agent::start(Terms { node, files, admission, broker, config }, None).unwrap();
        Self { folder, authority, agent }
    }

    /// Runs the reporter with these arguments beside where and who.
    fn report(&self, to: &str, arguments: &str) -> Summary {
        let folder = self.folder.display();
        let words = format!(
            "cats-report --to {to} --agent C-SMA-1 --authority {folder}/ca.pem --jwt-audience cats-sma \
             --jwt-issuer lab --wait 10 {arguments}"
        );
        let words = words.replace("FOLDER", &folder.to_string());
        let settings = Settings::try_parse_from(words.split_whitespace()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(reporter::run(settings, std::future::pending())).unwrap()
    }

    /// To the agent itself.
    fn direct(&self, arguments: &str) -> Summary {
        self.report(&self.agent.address.to_string(), arguments)
    }

    fn certificates(&self, ids: std::ops::Range<u32>) {
        for id in ids {
            self.authority.issue(&format!("i{id}"), &[&format!("cats:csci:{id}")]).unwrap();
        }
    }
}

const FREE: Rate = Rate { per_second: 0, burst: 1 };

fn files(files: &NodeFiles) -> PkiFiles {
    PkiFiles {
        authority: files.authority.clone(),
        certificate: files.certificate.clone(),
        private_key: files.private_key.clone(),
        revocation_list: None,
    }
}

/// The issuer's key of tokens `issuer.key`, and a key of each known instance `iID.sign`.
fn proofs(folder: &Path) -> Proofs {
    let pair = |private: PathBuf| {
        let pair = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        std::fs::write(&private, pair.serialize_pem()).unwrap();
        let public = private.with_extension("public");
        std::fs::write(&public, pair.public_key_pem()).unwrap();
        public
    };
    let issuer = TokenKey {
        id: "issuer".to_owned(),
        algorithm: TokenAlgorithm::EdDsa,
        file: pair(folder.join("issuer.key")),
    };
    let rules = TokenRules {
        issuer: "lab".to_owned(),
        audience: "cats-sma".to_owned(),
        leeway: Duration::ZERO,
        keys: vec![issuer],
    };
    let keys = KNOWN.map(|number| VerifyingKey {
        id: format!("k{number}"),
        owner: Subject::Instance(CsciId::number(number).unwrap()),
        algorithm: Algorithm::Ed25519,
        file: pair(folder.join(format!("s{number}.key"))),
    });
    Proofs { tokens: Some(Tokens::open(rules)), keys: Some(Keyring::open(keys.collect())) }
}

const CERTIFICATES: &str = "--certificate FOLDER/i{id}.pem --private-key FOLDER/i{id}.key";
const TOKENS: &str = "--jwt-key FOLDER/issuer.key";
const SIGNATURES: &str = "--signing-key FOLDER/s{id}.key --signing-key-id k{id}";

/// How many reports of a kind were refused for a reason.
fn refused(summary: &Summary, kind: &str, reason: &str) -> u64 {
    let line = summary.of(kind).unwrap_or_else(|| panic!("no {kind} in {summary:?}"));
    line.refused.iter().filter(|refused| refused.reason == reason).map(|refused| refused.count).sum()
}

/// All of a kind were refused for one reason.
fn all_refused(summary: &Summary, kind: &str, reason: &str) {
    let line = summary.of(kind).unwrap_or_else(|| panic!("no {kind} in {summary:?}"));
    assert!(line.sent > 0);
    assert_eq!((refused(summary, kind, reason), line.acknowledged), (line.sent, 0), "{line:?}");
}

/// Proves SMA-1, SMA-2, SMA-18: over gRPC and over HTTP, by certificates and by tokens.
#[test]
fn honest_reports_of_every_shape_are_all_taken() {
    let bed = Bed::new("honest");
    bed.certificates(100..110);
    for (at, shape) in ["constant", "ramp", "fall", "walk", "flapping"].into_iter().enumerate() {
        let over = if at % 2 == 0 { "grpc" } else { "rest" };
        let proof = if at < 3 { CERTIFICATES } else { TOKENS };
        let summary = bed.direct(&format!(
            "--over {over} {proof} --first 100 --instances 10 --rate 20 --count 10 --shape {shape} --period 0.2"
        ));
        assert_eq!(summary.faults(), Vec::<String>::new(), "{shape}: {summary:?}");
        let line = summary.of("honest").unwrap();
        assert!(line.sent >= 100 && line.acknowledged == line.sent, "{shape}: {summary:?}");
        assert_eq!(summary.disconnected.len(), 0, "{shape}: {summary:?}");
    }
    let seen = bed.agent.ask(|sma| (sma.live(), sma.counters().received)).unwrap();
    assert!(seen.0 == 10 && seen.1 >= 500, "{seen:?}");
}

/// What is done in this test beside honest reports, and the agent's reason for refusing it over a stream.
const REFUSED: [(&str, &str); 5] = [
    ("replay", "stale"),
    ("reorder", "stale"),
    ("out-of-range", "out-of-range"),
    ("clock-ahead", "stale"),
    ("clock-behind", "stale"),
];

/// Proves SMA-3, SMA-5, SMA-6, SMA-18, SMA-28.
#[test]
fn every_hostile_report_over_grpc_is_refused_for_its_reason_and_no_honest_one() {
    let bed = Bed::new("hostile-grpc");
    let kinds = "replay,reorder,out-of-range,unknown-fields,wrong-unit,clock-ahead,clock-behind,\
                 other-instance,bad-signature,flood";
    // More than one refusal before the machine among nine reports would end the stream.
    let summary = bed.direct(&format!(
        "{TOKENS} --first 100 --instances 4 --rate 100 --count 60 --faults {kinds} --every 6 --delta"
    ));
    assert_eq!(summary.faults(), Vec::<String>::new(), "{summary:?}");
    for (kind, reason) in REFUSED {
        all_refused(&summary, kind, reason);
    }
    all_refused(&summary, "other-instance", "unauthorised");
    all_refused(&summary, "bad-signature", "unauthorised");
    let unknown = summary.of("unknown-fields").unwrap();
    assert_eq!(unknown.acknowledged, unknown.sent);
    assert!(summary.of("honest").unwrap().acknowledged >= 240, "{summary:?}");
}

/// Proves SMA-6: what does not even say whose it is, or is too large, ends the stream; the instance comes back.
#[test]
fn what_ends_a_stream_of_reports_ends_it_alone() {
    let bed = Bed::new("ends");
    bed.certificates(100..101);
    let summary = bed.direct(&format!(
        "{CERTIFICATES} --first 100 --rate 20 --count 24 --faults missing-key,oversize --every 4"
    ));
    let (missing, oversize) = (summary.of("missing-key").unwrap(), summary.of("oversize").unwrap());
    assert_eq!((missing.acknowledged, oversize.acknowledged), (0, 0), "{summary:?}");
    assert_eq!(oversize.refused(), oversize.sent, "{summary:?}");
    assert_eq!(missing.refused(), missing.sent, "{summary:?}");
    assert!(refused(&summary, "missing-key", "malformed") > 0, "{summary:?}");
    assert!(summary.connected > 1, "{summary:?}");
    let honest = summary.of("honest").unwrap();
    assert_eq!((honest.refused(), honest.unanswered), (0, 0), "{summary:?}");
    assert!(honest.acknowledged > 0, "{summary:?}");
}

/// Proves SMA-3, SMA-5, SMA-6, SMA-18, SMA-28: NaN, units and missing members in JSON; detached signatures.
#[test]
fn every_hostile_report_over_http_is_refused_for_its_reason_and_no_honest_one() {
    let bed = Bed::new("hostile-rest");
    let kinds = "replay,reorder,out-of-range,nan,unknown-fields,missing-key,wrong-unit,clock-ahead,clock-behind,\
                 other-instance,oversize,bad-signature,flood";
    for proof in [TOKENS, SIGNATURES] {
        let summary = bed.direct(&format!(
            "--over rest {proof} --first 100 --instances 2 --rate 100 --count 26 --faults {kinds} --every 2"
        ));
        assert_eq!(summary.faults(), Vec::<String>::new(), "{proof}: {summary:?}");
        for (kind, reason) in REFUSED {
            all_refused(&summary, kind, reason);
        }
        for kind in ["nan", "missing-key", "wrong-unit"] {
            all_refused(&summary, kind, "http-400");
        }
        all_refused(&summary, "oversize", "http-413");
        all_refused(&summary, "other-instance", "http-403");
        all_refused(&summary, "bad-signature", "http-401");
    }
}

/// Proves SMA-28: who reports ten times as often as it may is heard as often as it may.
#[test]
fn a_flood_waits_for_its_turn() {
    let rates = RateConfig { instance: Rate { per_second: 10, burst: 10 }, total: FREE };
    let bed = Bed::with_broker("flood", None, rates);
    bed.certificates(100..101);
    let began = Instant::now();
    let summary =
        bed.direct(&format!("{CERTIFICATES} --first 100 --rate 20 --count 20 --faults flood --every 1"));
    let taken = summary.of("honest").unwrap().acknowledged + summary.of("flood").unwrap().acknowledged;
    let allowed = 10.0 + 10.0 * began.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss)]
    let (taken, sent) = (taken as f64, 200.0);
    assert!(taken >= 10.0 && taken <= allowed, "{taken} of {allowed}: {summary:?}");
    let waited = refused(&summary, "flood", "too-often") + refused(&summary, "honest", "too-often");
    #[allow(clippy::cast_precision_loss)]
    let waited = waited as f64;
    assert!(waited >= sent - allowed, "{summary:?}");
}

/// A broker on the loopback that takes TLS with client certificates only.
struct Mosquitto(Child);

impl Mosquitto {
    fn start(folder: &Path, port: u16, files: &NodeFiles) -> Self {
        let config = folder.join("mosquitto.conf");
        let text = format!(
            "user root\nlistener {port} 127.0.0.1\ncafile {}\ncertfile {}\nkeyfile {}\nrequire_certificate true\n\
             allow_anonymous true\n",
            files.authority.display(),
            files.certificate.display(),
            files.private_key.display(),
        );
        std::fs::write(&config, text).unwrap();
        let mut command = Command::new("/usr/sbin/mosquitto");
        command.arg("-c").arg(config).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("mosquitto is missing; `sh conformance/setup.sh test` installs it"))
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Proves SMA-1, SMA-18: over a real broker.
#[test]
fn reports_over_a_broker_reach_the_agent_and_hostile_ones_do_not() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let bed = Bed::with_broker("broker", Some(port), RateConfig { instance: FREE, total: FREE });
    let files = bed.authority.issue_server("broker", "127.0.0.1".parse().unwrap()).unwrap();
    let _broker = Mosquitto::start(&bed.folder, port, &files);
    bed.certificates(100..103);
    // The agent's subscription is not seen from here: reports go on until it is there.
    let (began, mut turns) = (Instant::now(), 0_u64);
    while bed.agent.ask(|sma| sma.counters().received).unwrap() == 0 {
        assert!(began.elapsed() < Duration::from_secs(20), "nothing comes over the broker");
        let once = format!("--over mqtt {CERTIFICATES} {TOKENS} --first 100 --instances 3 --count 1");
        bed.report(&format!("127.0.0.1:{port}"), &once);
        turns += 1;
    }
    let before = bed.agent.ask(|sma| sma.counters().received).unwrap();
    let kinds = "replay,nan,missing-key,wrong-unit,other-instance,bad-signature,oversize";
    for proof in [TOKENS, SIGNATURES] {
        let summary = bed.report(
            &format!("127.0.0.1:{port}"),
            &format!(
                "--over mqtt {CERTIFICATES} {proof} --first 100 --instances 3 --rate 50 --count 14 --faults {kinds} \
                 --every 2"
            ),
        );
        assert_eq!(summary.faults(), Vec::<String>::new(), "after {turns} turns: {summary:?}");
    }
    // 42 honest reports and 3 replays each time reach the machine, which takes the former; all else is refused before.
    cats_conformance::wait::wait_for("all reports", || {
        let counters = bed.agent.ask(|sma| *sma.counters()).unwrap();
        (counters.received >= before + 90).then_some(())
    })
    .unwrap();
    let after = bed.agent.ask(|sma| *sma.counters()).unwrap();
    // What was sent to find out whether it listens may have come late.
    let late = before + 90..=before + 90 + 3 * turns;
    assert!(late.contains(&after.received), "{after:?}");
    assert_eq!((after.duplicate, after.received - after.taken), (6, 6), "{after:?}");
    assert_eq!(bed.agent.ask(|sma| sma.live()).unwrap(), 3);
}
