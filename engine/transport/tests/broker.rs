//! Reports over a real MQTT 5 broker, mosquitto, which `conformance/setup.sh test` installs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use arc_swap::ArcSwapOption;
use bed::collection::{a_report, csci, permissions};
use bed::tokens::Issuer;
use bed::{Authority, BOUND, TIMING};
use cats_engine_transport::collection::{
    Admission, BrokerCounters, BrokerEvent, BrokerTarget, Denial, Proof, Proofs, PublisherTarget, collect,
    publish,
};
use cats_engine_transport::pki::{Pki, PkiFiles};
use cats_engine_transport::tokens::TokenAlgorithm;
use cats_engine_transport::{Subject, Timing};
use cats_engine_types::Report;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// A broker on the loopback that takes TLS with client certificates only.
struct Mosquitto {
    port: u16,
    config: std::path::PathBuf,
    process: Child,
}

impl Mosquitto {
    fn start(ca: &Authority) -> Self {
        // Free at the moment; the broker's start says so if somebody else was faster.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let files = ca.server("broker", 50, "127.0.0.1");
        let config = ca.dir.path().join("mosquitto.conf");
        let text = format!(
            "user root\nlistener {port} 127.0.0.1\ncafile {}\ncertfile {}\nkeyfile {}\n\
             require_certificate true\nallow_anonymous true\ntls_version tlsv1.3\n",
            files.authority.display(),
            files.certificate.display(),
            files.private_key.display(),
        );
        fs::write(&config, text).unwrap();
        let process = spawn(&config);
        Self { port, config, process }
    }

    /// Kills the broker, whose sessions are in memory only.
    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    fn start_again(&mut self) {
        self.process = spawn(&self.config);
    }
}

fn spawn(config: &std::path::Path) -> Child {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&paths).chain(["/usr/sbin".into()]);
    let program = places.map(|place| place.join("mosquitto")).find(|file| file.exists());
    let program = program.expect("mosquitto is missing; `sh conformance/setup.sh test` installs it");
    Command::new(program).arg("-c").arg(config).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn target(broker: &Mosquitto, files: PkiFiles, client_id: &str) -> BrokerTarget {
    BrokerTarget {
        host: "127.0.0.1".to_owned(),
        port: broker.port,
        site: "site-1".parse().unwrap(),
        client_id: client_id.to_owned(),
        session_expiry: Duration::from_secs(300),
        pki: Pki::open(files),
        timing: Timing { silence: Duration::from_secs(20), ..TIMING },
    }
}

/// A C-SMA that subscribes.
struct Collector {
    events: mpsc::Receiver<BrokerEvent>,
    counters: Arc<BrokerCounters>,
    task: JoinHandle<()>,
}

impl Collector {
    fn start(ca: &Authority, broker: &Mosquitto, admission: &Arc<Admission>) -> Self {
        let target = target(broker, ca.certificate("sma", 1, &["cats:sma:C-SMA-1"]), "C-SMA-1");
        let (sender, events) = mpsc::channel(64);
        let counters = Arc::new(BrokerCounters::default());
        let task = tokio::spawn(collect(target, Arc::clone(admission), Arc::clone(&counters), sender));
        Self { events, counters, task }
    }

    async fn next(&mut self) -> BrokerEvent {
        tokio::time::timeout(BOUND, self.events.recv()).await.unwrap().unwrap()
    }

    async fn subscribed(&mut self) {
        while !matches!(self.next().await, BrokerEvent::Subscribed) {}
    }

    async fn report(&mut self) -> Report {
        match self.next().await {
            BrokerEvent::Report(report) => report,
            other => panic!("{other:?}"),
        }
    }

    async fn denied(&mut self) -> Denial {
        match self.next().await {
            BrokerEvent::Denied { denial, .. } => denial,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An instance that publishes. The end of the sender ends it.
fn publisher(ca: &Authority, broker: &Mosquitto, id: u32, proof: Proof) -> mpsc::Sender<Report> {
    let files = ca.certificate(&format!("i{id}"), id.into(), &[&format!("cats:csci:{id}")]);
    let broker = target(broker, files, &format!("SCI-{id}"));
    let (sender, reports) = mpsc::channel(16);
    tokio::spawn(publish(PublisherTarget { broker, proof }, reports));
    sender
}

fn token(issuer: &Issuer, subject: &str) -> Proof {
    Proof::Token(Arc::new(ArcSwapOption::from_pointee(issuer.token(subject, 600))))
}

/// Proves SMA-1, SMA-18: the identity is the token's or the signature's, never the topic's.
#[tokio::test]
async fn reports_come_over_a_broker_by_their_own_token_or_signature() {
    let ca = Authority::new();
    let broker = Mosquitto::start(&ca);
    let issuer = Issuer::new(TokenAlgorithm::EdDsa);
    let (sign, verify) = bed::signer(ca.dir.path(), "i8", Subject::Instance(csci(8)));
    let proofs = Proofs { keys: Some(bed::keyring(vec![verify])), ..issuer.proofs() };
    let admission = Admission::new(permissions(&[7, 8, 9], 1), proofs);
    let mut collector = Collector::start(&ca, &broker, &admission);
    collector.subscribed().await;

    let by_token = publisher(&ca, &broker, 7, token(&issuer, "7"));
    by_token.send(a_report(7, 1, 1)).await.unwrap();
    assert_eq!(collector.report().await, a_report(7, 1, 1));
    let by_signature = publisher(&ca, &broker, 8, Proof::Signature(sign));
    by_signature.send(a_report(8, 1, 1)).await.unwrap();
    assert_eq!(collector.report().await, a_report(8, 1, 1));

    // Under the topic of instance 9, with proofs of 7 and 8; then for a service that is not the instance's.
    by_token.send(a_report(9, 1, 2)).await.unwrap();
    let words = "csci-id is 9 and the token is 7's".to_owned();
    assert_eq!(collector.denied().await, Denial::Unauthorised(words));
    by_signature.send(a_report(9, 1, 2)).await.unwrap();
    let words = "csci-id is 9 and the signature is 8's".to_owned();
    assert_eq!(collector.denied().await, Denial::Unauthorised(words));
    by_token.send(a_report(7, 2, 3)).await.unwrap();
    assert!(matches!(collector.denied().await, Denial::Unauthorised(_)));

    // A token of an issuer that nobody knows.
    let stranger = publisher(&ca, &broker, 9, token(&Issuer::new(TokenAlgorithm::EdDsa), "9"));
    stranger.send(a_report(9, 1, 4)).await.unwrap();
    assert!(matches!(collector.denied().await, Denial::Unauthenticated(_)));
    assert_eq!(admission.counters().unauthorised, 3);
    assert_eq!(collector.counters.dropped(), 0);
}

/// Proves SMA-1: a broker that restarts, and forgets its sessions, is subscribed to again, and nobody stops publishing.
#[tokio::test]
async fn a_restart_of_the_broker_is_survived_by_both_ends() {
    let ca = Authority::new();
    let mut broker = Mosquitto::start(&ca);
    let issuer = Issuer::new(TokenAlgorithm::EdDsa);
    let admission = Admission::new(permissions(&[7], 1), issuer.proofs());
    let mut collector = Collector::start(&ca, &broker, &admission);
    collector.subscribed().await;
    let reports = publisher(&ca, &broker, 7, token(&issuer, "7"));
    reports.send(a_report(7, 1, 1)).await.unwrap();
    assert_eq!(collector.report().await, a_report(7, 1, 1));

    broker.kill();
    assert!(matches!(collector.next().await, BrokerEvent::Disconnected { .. }));
    broker.start_again();
    collector.subscribed().await;
    // The publisher may find the broker before the subscriber does: what it published then nobody got.
    let mut sequence = 1;
    let taken = loop {
        sequence += 1;
        reports.send(a_report(7, 1, sequence)).await.unwrap();
        match tokio::time::timeout(Duration::from_millis(200), collector.report()).await {
            Ok(report) => break report,
            Err(_) => assert!(sequence < 100, "nothing comes any more"),
        }
    };
    assert!(taken.freshness.sequence > 1);
}

/// A session that is cut is resumed: the broker keeps what was published meanwhile.
#[tokio::test]
async fn what_was_published_while_the_agent_was_away_comes_when_it_is_back() {
    let ca = Authority::new();
    let broker = Mosquitto::start(&ca);
    let issuer = Issuer::new(TokenAlgorithm::EdDsa);
    let admission = Admission::new(permissions(&[7], 1), issuer.proofs());
    let mut collector = Collector::start(&ca, &broker, &admission);
    collector.subscribed().await;
    drop(collector);
    let reports = publisher(&ca, &broker, 7, token(&issuer, "7"));
    reports.send(a_report(7, 1, 1)).await.unwrap();
    drop(reports);
    let mut collector = Collector::start(&ca, &broker, &admission);
    loop {
        if let BrokerEvent::Report(report) = collector.next().await {
            assert_eq!(report, a_report(7, 1, 1));
            break;
        }
    }
}

/// Proves SMA-18: a broker whose certificate has another name is none.
#[tokio::test]
async fn a_broker_of_another_name_is_not_spoken_to() {
    let ca = Authority::new();
    let broker = Mosquitto::start(&ca);
    let mut target = target(&broker, ca.certificate("sma", 1, &["cats:sma:C-SMA-1"]), "C-SMA-1");
    target.host = "localhost".to_owned();
    let (sender, mut events) = mpsc::channel(64);
    let admission = Admission::new(permissions(&[7], 1), Proofs::default());
    let task = tokio::spawn(collect(target, admission, Arc::default(), sender));
    loop {
        match tokio::time::timeout(BOUND, events.recv()).await.unwrap().unwrap() {
            BrokerEvent::Disconnected { reason } if reason.contains("certificate") => break,
            // The broker is not there yet.
            BrokerEvent::Disconnected { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    task.abort();
}
