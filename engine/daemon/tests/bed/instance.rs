//! A contact instance that reports over gRPC, as the library of instances does it.

use super::pki::Authority;
use arc_swap::ArcSwapOption;
use cats_engine_transport::collection::{ReportStream, ReporterEvent, ReporterTarget, TIMING, report};
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
        Report {
            kind: ReportKind::Full,
            cause: ReportCause::Heartbeat,
            cs_id: CsId::number(1).unwrap(),
            csci_id: self.csci_id,
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

    /// Whether this report was taken in, as far as it was told.
    pub fn was_taken(&mut self, report: Freshness) -> bool {
        self.poll();
        self.heard.iter().any(
            |word| matches!(word, ReporterInstruction::Acknowledge { freshness, .. } if *freshness >= report),
        )
    }
}
