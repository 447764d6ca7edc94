//! Both ends of a collection of reports.

use super::{Authority, BOUND, TIMING, name};
use arc_swap::ArcSwapOption;
use cats_engine_transport::collection::{
    Admission, CollectionEvent, Connection, Listen, Others, Permissions, Readers, ReportStream,
    ReporterEvent, ReporterTarget, report, serve,
};
use cats_engine_transport::pki::Pki;
use cats_engine_types::{
    CsId, CsciId, Freshness, Health, Report, ReportCause, ReportKind, ReportedMetrics, ReporterInstruction,
    UnixMicros,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub fn csci(number: u32) -> CsciId {
    CsciId::number(number).unwrap()
}

/// These instances may report for this service.
pub fn permissions(instances: &[u32], service: u32) -> Permissions {
    let services = [CsId::number(service).unwrap()];
    Permissions {
        instances: instances.iter().map(|id| (csci(*id), services.into())).collect(),
        others: Others::Refused,
    }
}

pub fn a_report(instance: u32, service: u32, sequence: u64) -> Report {
    Report {
        kind: ReportKind::Full,
        cause: ReportCause::Heartbeat,
        cs_id: CsId::number(service).unwrap(),
        csci_id: csci(instance),
        locator: None,
        freshness: Freshness { epoch: 1, sequence },
        timestamp: UnixMicros(1_750_000_000_000_000),
        ttl: Some(Duration::from_secs(120)),
        metrics: ReportedMetrics {
            gas: Some(300),
            computing_time: Some(12_345),
            health: Some(Health::Healthy),
            ..Default::default()
        },
    }
}

/// A C-SMA that listens on the loopback.
pub struct Agent {
    pub address: SocketAddr,
    pub pki: Arc<Pki>,
    pub readers: Readers,
    pub events: mpsc::Receiver<CollectionEvent>,
    task: JoinHandle<()>,
}

impl Agent {
    pub async fn start(ca: &Authority, admission: Arc<Admission>) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), ca, admission).await
    }

    pub async fn start_at(address: SocketAddr, ca: &Authority, admission: Arc<Admission>) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut files = ca.certificate("sma", 1, &["cats:sma:C-SMA-1"]);
        files.revocation_list = Some(ca.revoke(&[99]));
        let pki = Pki::open(files);
        let (sender, events) = mpsc::channel(64);
        let mut listen = Listen::new(listener, Arc::clone(&pki), name("C-SMA-1"), admission, sender);
        listen.timing = TIMING;
        let readers = listen.readers.clone();
        let task = tokio::spawn(async move { serve(listen, std::future::pending()).await.unwrap() });
        Self { address, pki, readers, events, task }
    }

    /// The next event, be it that somebody was turned away.
    pub async fn any(&mut self) -> CollectionEvent {
        tokio::time::timeout(BOUND, self.events.recv()).await.unwrap().unwrap()
    }

    /// The next event, but for those who were turned away.
    pub async fn next(&mut self) -> CollectionEvent {
        loop {
            match self.any().await {
                CollectionEvent::Denied { .. } => {}
                other => return other,
            }
        }
    }

    pub async fn connected(&mut self) -> Connection {
        match self.next().await {
            CollectionEvent::Connected(connection) => connection,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An instance that reports over gRPC.
pub struct Instance {
    pub id: u32,
    pub events: mpsc::Receiver<ReporterEvent>,
    task: JoinHandle<()>,
}

impl Instance {
    /// With a certificate whose serial number is the CSCI-ID.
    pub fn start(ca: &Authority, id: u32, agent: &Agent) -> Self {
        let files = ca.certificate(&format!("i{id}"), id.into(), &[&format!("cats:csci:{id}")]);
        let mut instance = Self::start_with(&Pki::open(files), agent, None);
        instance.id = id;
        instance
    }

    pub fn start_with(pki: &Arc<Pki>, agent: &Agent, token: Option<&str>) -> Self {
        Self::start_for(pki, agent.address, "C-SMA-1", token)
    }

    pub fn start_for(pki: &Arc<Pki>, address: SocketAddr, agent: &str, token: Option<&str>) -> Self {
        let (sender, events) = mpsc::channel(64);
        let target = ReporterTarget {
            address,
            agent: name(agent),
            pki: Arc::clone(pki),
            token: Arc::new(ArcSwapOption::from_pointee(token.map(str::to_owned))),
            compress: true,
            timing: TIMING,
        };
        Self { id: 0, events, task: tokio::spawn(report(target, sender)) }
    }

    pub async fn next(&mut self) -> ReporterEvent {
        tokio::time::timeout(BOUND, self.events.recv()).await.unwrap().unwrap()
    }

    pub async fn connected(&mut self) -> ReportStream {
        match self.next().await {
            ReporterEvent::Connected(stream) => stream,
            other => panic!("{other:?}"),
        }
    }

    pub async fn instructions(&mut self) -> Vec<ReporterInstruction> {
        match self.next().await {
            ReporterEvent::Instructions(instructions) => instructions,
            other => panic!("{other:?}"),
        }
    }

    /// Why it is not connected; everything else is skipped.
    pub async fn disconnected(&mut self) -> String {
        loop {
            if let ReporterEvent::Disconnected { reason } = self.next().await {
                return reason;
            }
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.task.abort();
    }
}
