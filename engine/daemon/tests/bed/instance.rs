//! A contact instance that reports over gRPC, as the library of instances does it.

use super::pki::Authority;
use arc_swap::ArcSwapOption;
use cats_engine_transport::Subject;
use cats_engine_transport::collection::{
    CollectionEvent, Listen, Readers, ReportStream, ReporterEvent, ReporterTarget, Subscriber, TIMING,
    report, serve,
};
use cats_engine_transport::pki::Pki;
use cats_engine_types::{
    CsId, CsciId, Freshness, Health, Report, ReportCause, ReportKind, ReportedMetrics, ReporterInstruction,
    UnixMicros,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub struct Instance {
    csci_id: CsciId,
    epoch: u64,
    sequence: u64,
    events: mpsc::Receiver<ReporterEvent>,
    stream: Option<ReportStream>,
    /// What it was told.
    pub heard: Vec<ReporterInstruction>,
    /// Why it was not connected.
    pub reasons: Vec<String>,
    task: JoinHandle<()>,
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

/// A full report of service 1.
fn full(csci_id: CsciId, freshness: Freshness, gas: u64, computing_us: u64) -> Report {
    Report {
        kind: ReportKind::Full,
        cause: ReportCause::Heartbeat,
        cs_id: CsId::number(1).unwrap(),
        csci_id,
        locator: None,
        freshness,
        timestamp: UnixMicros(u64::try_from(now().as_micros()).unwrap()),
        ttl: None,
        metrics: ReportedMetrics {
            gas: Some(gas),
            computing_time: Some(computing_us),
            health: Some(Health::Healthy),
            ..ReportedMetrics::default()
        },
    }
}

/// An instance that cannot connect: it answers the agent, and streams to it.
pub struct Quiet {
    pub address: SocketAddr,
    csci_id: CsciId,
    sequence: u64,
    events: mpsc::Receiver<CollectionEvent>,
    subscriber: Option<Subscriber>,
    /// How often it was asked.
    pub asked: usize,
    task: JoinHandle<()>,
}

impl Drop for Quiet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Quiet {
    pub fn start(ca: &Authority, runtime: &Handle, csci_id: &str, serial: u64, agent: &str) -> Self {
        let files = ca.certificate(&format!("csci-{csci_id}"), serial, &[&format!("cats:csci:{csci_id}")]);
        let readers = Readers::default();
        readers.replace([Subject::agent(&agent.parse().unwrap())].into());
        let (sender, events) = mpsc::channel(64);
        let _context = runtime.enter();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let listen =
            Listen::instance(listener, Pki::open(files), "instance".parse().unwrap(), readers, sender);
        let task = runtime.spawn(async move { serve(listen, std::future::pending()).await.unwrap() });
        let csci_id = csci_id.parse().unwrap();
        Self { address, csci_id, sequence: 0, events, subscriber: None, asked: 0, task }
    }

    fn next(&mut self, computing_us: u64) -> Report {
        self.sequence += 1;
        full(self.csci_id, Freshness { epoch: 1, sequence: self.sequence }, 100, computing_us)
    }

    /// Answers what it was asked meanwhile; whether it is listened to.
    pub fn serve(&mut self, computing_us: u64) -> bool {
        while let Ok(event) = self.events.try_recv() {
            match event {
                CollectionEvent::Queried { answer, .. } => {
                    self.asked += 1;
                    answer.send(Some(self.next(computing_us))).unwrap();
                }
                CollectionEvent::Subscribed(subscriber) => self.subscriber = Some(subscriber),
                other => panic!("{other:?}"),
            }
        }
        self.subscriber.is_some()
    }

    /// Streams a report to who listens.
    pub fn say(&mut self, computing_us: u64) {
        let report = self.next(computing_us);
        let _ = self.subscriber.as_ref().expect("somebody listens").send(report);
    }
}

impl Instance {
    /// With a certificate of this serial number, to the agent at `address`.
    pub fn start(
        ca: &Authority,
        runtime: &Handle,
        csci_id: &str,
        serial: u64,
        agent: (&str, SocketAddr),
    ) -> Self {
        let files = ca.certificate(&format!("csci-{csci_id}"), serial, &[&format!("cats:csci:{csci_id}")]);
        let (sender, events) = mpsc::channel(64);
        let target = ReporterTarget {
            address: agent.1,
            agent: agent.0.parse().unwrap(),
            pki: Pki::open(files),
            token: Arc::new(ArcSwapOption::empty()),
            compress: false,
            timing: cats_engine_transport::Timing {
                backoff: Duration::from_millis(20),
                backoff_limit: Duration::from_millis(100),
                ..TIMING
            },
        };
        Self {
            csci_id: csci_id.parse().unwrap(),
            epoch: u64::try_from(now().as_nanos()).unwrap(),
            sequence: 0,
            events,
            stream: None,
            heard: Vec::new(),
            reasons: Vec::new(),
            task: runtime.spawn(report(target, sender)),
        }
    }

    /// Takes in what came; whether it is connected.
    pub fn poll(&mut self) -> bool {
        while let Ok(event) = self.events.try_recv() {
            match event {
                ReporterEvent::Connected(stream) => self.stream = Some(stream),
                ReporterEvent::Instructions(more) => self.heard.extend(more),
                ReporterEvent::Disconnected { reason } => {
                    self.stream = None;
                    self.reasons.push(reason);
                }
            }
        }
        self.stream.is_some()
    }

    /// A full report of service 1; where it is in the order of its reports.
    pub fn report(&mut self, gas: u64, computing_us: u64) -> Freshness {
        let report = self.made(gas, computing_us);
        let freshness = report.freshness;
        let _ = self.stream.as_ref().expect("it is connected").send(report);
        freshness
    }

    /// A full report of service 1 with what is changed of it; where it is in the order of its reports.
    pub fn send(&mut self, change: impl FnOnce(&mut Report)) -> Freshness {
        let mut report = self.made(100, 5_000);
        change(&mut report);
        let freshness = report.freshness;
        let _ = self.stream.as_ref().expect("it is connected").send(report);
        freshness
    }

    /// So many reports as fast as the agent takes them. The task ends with the stream that it has.
    pub fn flood(&mut self, count: usize, runtime: &Handle) -> JoinHandle<()> {
        let reports: Vec<Report> = (0..count).map(|_| self.made(100, 5_000)).collect();
        let stream = self.stream.take().expect("it is connected");
        runtime.spawn(async move {
            for report in reports {
                let _ = stream.send_when_room(report).await;
            }
            // Answers go on to come until the agent lets go.
            std::future::pending::<()>().await;
        })
    }

    fn made(&mut self, gas: u64, computing_us: u64) -> Report {
        self.sequence += 1;
        let freshness = Freshness { epoch: self.epoch, sequence: self.sequence };
        full(self.csci_id, freshness, gas, computing_us)
    }

    /// Whether this report was taken in, as far as it was told.
    pub fn was_taken(&mut self, report: Freshness) -> bool {
        self.poll();
        self.heard.iter().any(
            |word| matches!(word, ReporterInstruction::Acknowledge { freshness, .. } if *freshness >= report),
        )
    }
}
