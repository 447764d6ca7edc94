//! Reports over an MQTT 5 broker, in JSON, under `cats/v1/SITE/CSCI-ID/report`.
//!
//! The broker is no node of ours: TLS shows that it is the one of that name, and it may deliver anything. So an instance is
//! who the report's own token (`auth`) or the detached JWS in the user property `cats-signature` says. The topic says
//! nothing.
//!
//! A session that is cut is resumed within its expiry, and the broker keeps what was published meanwhile, as far as it
//! likes. One that is lost, as with a restart of the broker, is made anew: the C-SMA subscribes with each connection.

mod publisher;

pub use publisher::{Proof, PublisherTarget, publish};

use super::admission::{Admission, Credentials, Denial, KnownTokens};
use crate::Timing;
use crate::answer::SIGNATURE;
use crate::connect;
use crate::pki::Pki;
use cats_engine_types::{CsciId, Report};
use cats_engine_wire::json::decode_report;
use rumqttc::{
    AsyncClient, Broker, BrokerSessionResumePolicy, Event, EventLoop, Incoming, MqttOptions, Publish, QoS,
    SubscribeReasonCode, TlsConfiguration, Transport,
};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// Octets of one message at most: the broker is told, and delivers no larger ones.
const MESSAGE: u32 = 64 << 10;

/// Requests of ours that wait for the connection.
const REQUESTS: usize = 16;

/// How long the owner may take for one report. The connection is not served meanwhile.
const PATIENCE: Duration = Duration::from_secs(1);

/// The name of a site, as a level of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteName(String);

/// Why a text names no site.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no site: 1 to 64 characters other than `/`, `+`, `#` and control characters")]
pub struct SiteNameError(String);

impl FromStr for SiteName {
    type Err = SiteNameError;

    fn from_str(text: &str) -> Result<Self, SiteNameError> {
        let valid = (1..=64).contains(&text.chars().count())
            && !text.chars().any(|c| matches!(c, '/' | '+' | '#') || c.is_control());
        if valid { Ok(Self(text.to_owned())) } else { Err(SiteNameError(text.to_owned())) }
    }
}

impl fmt::Display for SiteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A broker, and who connects to it.
#[derive(Debug, Clone)]
pub struct BrokerTarget {
    /// Its name or address, which its certificate must have.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The site whose reports are meant.
    pub site: SiteName,
    /// Names the session at the broker: another one of the same name ends this one.
    pub client_id: String,
    /// How long the broker keeps the session of a client that is gone.
    pub session_expiry: Duration,
    /// The node's own certificates.
    pub pki: Arc<Pki>,
    /// How patient; `silence` is the keepalive of MQTT, in whole seconds.
    pub timing: Timing,
}

/// What happens at the C-SMA's end.
#[derive(Debug)]
pub enum BrokerEvent {
    /// The broker is there, and takes the subscription.
    Subscribed,
    /// A report. Its sender is who it says, and may report for the service.
    Report(Report),
    /// What is no such report.
    Denied {
        /// Where it stood, for people.
        topic: String,
        /// The instance that it speaks for, where it got that far.
        claimed: Option<CsciId>,
        /// Why.
        denial: Denial,
    },
    /// The broker is gone, or an attempt failed for another reason than the one before; attempts go on.
    Disconnected {
        /// Why, for people.
        reason: String,
    },
}

/// What a client did not do.
#[derive(Debug, Default)]
pub struct BrokerCounters {
    dropped: AtomicU64,
}

impl BrokerCounters {
    /// Events that the owner did not take in time, so that the newest were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// Keeps a subscription to the reports of a site, for ever. Returns when `events` is closed.
///
/// An event that does not find its place in `events` within a second is dropped and counted: the broker would else take
/// the silence for the end of the client.
pub async fn collect(
    target: BrokerTarget,
    admission: Arc<Admission>,
    counters: Arc<BrokerCounters>,
    events: mpsc::Sender<BrokerEvent>,
) {
    let mut collector =
        Collector { admission, counters, events, known: KnownTokens::default(), reason: String::new() };
    let filter = format!("cats/v1/{}/+/report", target.site);
    while !collector.events.is_closed() {
        // What the files say from here on is a change.
        let mut certificates = target.pki.changes();
        let (client, connection) = match open(&target) {
            Ok(opened) => opened,
            Err(reason) => {
                collector.disconnected(reason).await;
                tokio::select! {
                    _ = certificates.changed() => {}
                    () = tokio::time::sleep(target.timing.backoff_limit) => {}
                    () = collector.events.closed() => return,
                }
                continue;
            }
        };
        let owner = collector.events.clone();
        tokio::select! {
            () = collector.serve(client, connection, &filter, target.timing) => {}
            // The next connection shows the new certificate and checks the broker against the new lists.
            _ = certificates.changed() => {}
            () = owner.closed() => return,
        }
    }
}

/// The client of a broker, before it connects.
fn open(target: &BrokerTarget) -> Result<(AsyncClient, EventLoop), String> {
    let config = match target.pki.client_by_name() {
        Some(config) => config.map_err(|error| error.to_string())?,
        None => return Err("no usable certificates".to_owned()),
    };
    let broker = Broker::tcp(target.host.clone(), target.port);
    let mut options = MqttOptions::new(target.client_id.clone(), broker);
    options.set_transport(Transport::Tls(TlsConfiguration::Rustls(Arc::new(config))));
    options.set_keep_alive(u16::try_from(target.timing.silence.as_secs().max(1)).unwrap_or(u16::MAX));
    options.set_connect_timeout(target.timing.connect);
    options.set_clean_start(false);
    options.set_broker_session_resume_policy(BrokerSessionResumePolicy::AllowBrokerOnly);
    let expiry = u32::try_from(target.session_expiry.as_secs()).unwrap_or(u32::MAX);
    options.set_session_expiry_interval(Some(expiry));
    options.set_max_packet_size(Some(MESSAGE));
    let built = AsyncClient::builder(options).capacity(REQUESTS).try_build();
    built.map_err(|error| connect::chain(&error))
}

struct Collector {
    admission: Arc<Admission>,
    counters: Arc<BrokerCounters>,
    events: mpsc::Sender<BrokerEvent>,
    known: KnownTokens,
    reason: String,
}

impl Collector {
    async fn serve(&mut self, client: AsyncClient, mut connection: EventLoop, filter: &str, timing: Timing) {
        let mut wait = timing.backoff;
        loop {
            match connection.poll().await {
                Ok(Event::Incoming(Incoming::ConnAck(_))) => {
                    if let Err(error) = client.try_subscribe(filter.to_owned(), QoS::AtLeastOnce) {
                        self.disconnected(connect::chain(&error)).await;
                    }
                }
                Ok(Event::Incoming(Incoming::SubAck(granted))) => {
                    let refused = granted
                        .return_codes
                        .iter()
                        .any(|code| !matches!(code, SubscribeReasonCode::Success(_)));
                    if refused {
                        self.disconnected(format!("the broker refuses the subscription to {filter}")).await;
                    } else {
                        wait = timing.backoff;
                        self.reason.clear();
                        self.tell(BrokerEvent::Subscribed).await;
                    }
                }
                Ok(Event::Incoming(Incoming::Publish(publish))) => {
                    let event = self.judge(&publish);
                    self.tell(event).await;
                }
                Ok(_) => {}
                Err(error) => {
                    self.disconnected(connect::chain(&error)).await;
                    tokio::time::sleep(wait).await;
                    wait = wait.saturating_mul(2).min(timing.backoff_limit);
                }
            }
        }
    }

    fn judge(&mut self, publish: &Publish) -> BrokerEvent {
        let (claimed, result) = self.read(publish);
        match result {
            Ok(report) => BrokerEvent::Report(report),
            Err(denial) => {
                let topic: String = String::from_utf8_lossy(&publish.topic).chars().take(128).collect();
                tracing::warn!(%topic, reason = %denial, "report over the broker refused");
                BrokerEvent::Denied { topic, claimed, denial }
            }
        }
    }

    /// Who it claims to be from, and the report.
    fn read(&mut self, publish: &Publish) -> (Option<CsciId>, Result<Report, Denial>) {
        let properties = publish.properties.iter().flat_map(|properties| &properties.user_properties);
        let signature = properties.filter(|(name, _)| name == SIGNATURE).map(|(_, value)| value).next();
        let decoded = match decode_report(&publish.payload) {
            Ok(decoded) => decoded,
            Err(error) => return (None, Err(self.admission.malformed(error.to_string()))),
        };
        self.admission.unknown_fields(decoded.unknown_fields);
        let (report, admission) = (decoded.report, &self.admission);
        let admitted = match signature {
            Some(jws) => admission
                .signatory(&publish.payload, jws)
                .and_then(|signatory| admission.admit_signed(signatory, &report)),
            None => {
                let nobody = Credentials::default();
                admission.admit(&nobody, decoded.token.as_deref(), &mut self.known, &report).map(drop)
            }
        };
        (Some(report.csci_id), admitted.map(|()| report))
    }

    async fn disconnected(&mut self, reason: String) {
        if reason != self.reason {
            tracing::warn!(%reason, "not subscribed at the broker");
            self.reason.clone_from(&reason);
            self.tell(BrokerEvent::Disconnected { reason }).await;
        }
    }

    async fn tell(&self, event: BrokerEvent) {
        if tokio::time::timeout(PATIENCE, self.events.send(event)).await.is_err() {
            self.counters.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_one_level_of_a_topic() {
        for name in ["site-1", "Zürich", "a b"] {
            assert_eq!(name.parse::<SiteName>().unwrap().to_string(), name);
        }
        let long = "x".repeat(65);
        for name in ["", "a/b", "+", "#", "a\0", &long] {
            assert!(name.parse::<SiteName>().is_err(), "{name:?}");
        }
    }
}
