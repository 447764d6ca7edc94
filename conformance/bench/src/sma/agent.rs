//! A metric agent in this process: the product's listener, broker client and state machine, wired as the engine does.

use cats_engine_core::sma::{InstanceKey, Output, Sma, SmaConfig};
use cats_engine_transport::collection::{
    Admission, BrokerCounters, BrokerEvent, BrokerTarget, CollectionEvent, Connection, ConnectionId, Listen,
    Source, collect, serve,
};
use cats_engine_transport::pki::{Pki, PkiFiles};
use cats_engine_types::{CsciId, NodeId, Report, ReporterInstruction, UnixMicros};
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

/// Events that wait for the machine.
const EVENTS: usize = 1024;

/// Events that are handled before what follows from them is told.
const TURN: usize = 64;

/// What an agent begins with.
pub(crate) struct Terms {
    /// Its name.
    pub(crate) node: NodeId,
    /// Its certificates.
    pub(crate) files: PkiFiles,
    /// Who may report what.
    pub(crate) admission: Arc<Admission>,
    /// A broker, if it listens to one.
    pub(crate) broker: Option<BrokerTarget>,
    /// The machine's configuration.
    pub(crate) config: SmaConfig,
}

/// A running agent. Dropping it ends it.
pub(crate) struct Agent {
    /// Where instances report.
    pub(crate) address: SocketAddr,
    questions: mpsc::Sender<Question>,
    network: Option<Runtime>,
    owner: Option<JoinHandle<()>>,
}

/// What is done with the machine, on its own thread.
type Question = Box<dyn FnOnce(&mut Sma) + Send>;

impl Agent {
    /// Starts on a free port of the loopback, on one CPU if need be.
    pub(crate) fn start(terms: Terms, cpu: Option<usize>) -> Result<Self, String> {
        let told = |error: std::io::Error| format!("starting a metric agent: {error}");
        let pinned = move || {
            if let Some(cpu) = cpu {
                drop(crate::cpu::pin(None, cpu));
            }
        };
        let mut network = Builder::new_multi_thread();
        network.worker_threads(2).on_thread_start(pinned).enable_all();
        let network = network.build().map_err(told)?;
        let listener = network.block_on(TcpListener::bind("127.0.0.1:0")).map_err(told)?;
        let address = listener.local_addr().map_err(told)?;
        let (events, arrivals) = mpsc::channel(EVENTS);
        let (published, publications) = mpsc::channel(EVENTS);
        let pki = Pki::open(terms.files);
        let admission = Arc::clone(&terms.admission);
        let listen = Listen::new(listener, pki, terms.node.clone(), terms.admission, events);
        network.spawn(async move {
            if let Err(error) = serve(listen, std::future::pending()).await {
                eprintln!("cats-bench: the agent's listener ended: {error}");
            }
        });
        if let Some(broker) = terms.broker {
            network.spawn(collect(broker, admission, Arc::new(BrokerCounters::default()), published));
        }
        let (questions, asked) = mpsc::channel(16);
        let inputs = Inputs { arrivals, publications, asked };
        let (node, config) = (terms.node, terms.config);
        let owner = std::thread::spawn(move || {
            pinned();
            own(node, config, inputs);
        });
        Ok(Self { address, questions, network: Some(network), owner: Some(owner) })
    }

    /// What the machine answers.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Sma) -> T + Send + 'static,
    ) -> Result<T, String> {
        let (answer, answered) = oneshot::channel();
        let question: Question = Box::new(move |sma| drop(answer.send(question(sma))));
        self.questions.blocking_send(question).map_err(|_| "the agent is gone".to_owned())?;
        answered.blocking_recv().map_err(|_| "the agent does not answer".to_owned())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Some(network) = self.network.take() {
            network.shutdown_timeout(Duration::from_secs(1));
        }
        let (closed, _) = mpsc::channel(1);
        self.questions = closed;
        if let Some(owner) = self.owner.take() {
            drop(owner.join());
        }
    }
}

struct Inputs {
    arrivals: mpsc::Receiver<CollectionEvent>,
    publications: mpsc::Receiver<BrokerEvent>,
    asked: mpsc::Receiver<Question>,
}

/// Owns the machine until nobody asks any more.
fn own(node: NodeId, config: SmaConfig, mut inputs: Inputs) {
    let Ok(runtime) = Builder::new_current_thread().enable_time().build() else { return };
    let (now, wall) = (Instant::now(), wall());
    let mut owner = Owner {
        sma: Sma::new(node, wall.0.saturating_mul(1000), now, wall),
        connections: BTreeMap::new(),
        speaks: HashMap::new(),
    };
    owner.sma.configure(config, now, wall);
    runtime.block_on(async {
        let mut batch = Vec::with_capacity(TURN);
        loop {
            let due = owner.sma.poll_timeout().map(|(at, _)| at);
            let due = due.unwrap_or_else(|| Instant::now() + Duration::from_secs(1));
            tokio::select! {
                biased;
                question = inputs.asked.recv() => match question {
                    Some(question) => question(&mut owner.sma),
                    None => return,
                },
                _ = inputs.arrivals.recv_many(&mut batch, TURN), if !inputs.arrivals.is_closed() => {
                    for event in batch.drain(..) {
                        owner.arrived(event);
                    }
                }
                Some(event) = inputs.publications.recv() => {
                    if let BrokerEvent::Report(report) = event {
                        drop(owner.judge(vec![report]));
                    }
                }
                () = tokio::time::sleep_until(due.into()) => {
                    owner.sma.handle_timeout(Instant::now(), self::wall());
                }
            }
            owner.tell();
        }
    });
}

struct Owner {
    sma: Sma,
    connections: BTreeMap<ConnectionId, Connection>,
    /// The connection that an instance last reported over.
    speaks: HashMap<CsciId, ConnectionId>,
}

impl Owner {
    fn arrived(&mut self, event: CollectionEvent) {
        match event {
            CollectionEvent::Connected(connection) => {
                self.connections.insert(connection.id, connection);
            }
            CollectionEvent::Disconnected(id) => {
                self.connections.remove(&id);
            }
            CollectionEvent::Reports { source: Source::Stream(id), reports, mut answers, .. } => {
                for report in &reports {
                    self.speaks.insert(report.csci_id, id);
                }
                for answer in self.judge(reports) {
                    answers.add(answer);
                }
                // Who is gone needs none.
                let _ = answers.send();
            }
            CollectionEvent::Posted { reports, answer, .. } => drop(answer.send(self.judge(reports))),
            CollectionEvent::Queried { answer, .. } => drop(answer.send(None)),
            CollectionEvent::Subscribed(_) | CollectionEvent::Denied { .. } => {}
        }
    }

    /// The answers to reports, in order.
    fn judge(&mut self, reports: Vec<Report>) -> Vec<ReporterInstruction> {
        let (now, wall) = (Instant::now(), wall());
        let judge = |report: Report| {
            let (csci_id, freshness) = (report.csci_id, report.freshness);
            match self.sma.handle_report(report, now, wall) {
                Ok(_) => ReporterInstruction::Acknowledge { csci_id, freshness },
                Err(refusal) => ReporterInstruction::Reject {
                    csci_id,
                    freshness,
                    reason: refusal.rejection(),
                    detail: refusal.to_string(),
                },
            }
        };
        reports.into_iter().map(judge).collect()
    }

    fn answer(&mut self, id: ConnectionId, answers: Vec<ReporterInstruction>) {
        use cats_engine_transport::control_plane::Sent;
        let Some(connection) = self.connections.get(&id) else { return };
        let gone = answers.into_iter().any(|answer| connection.send(answer) == Sent::Gone);
        if gone {
            self.connections.remove(&id);
        }
    }

    /// Carries out what the machine wants of instances; there is no path selector.
    fn tell(&mut self) {
        while let Some(output) = self.sma.poll_output() {
            let (InstanceKey { csci_id, .. }, instruction) = match output {
                Output::Pull { key, .. } => (key, ReporterInstruction::Pull { csci_id: key.csci_id }),
                Output::Answer { key, instruction } => (key, instruction),
                Output::Northbound(_) | Output::Alarm { .. } | Output::Audit(_) | Output::Event(_) => {
                    continue;
                }
            };
            if let Some(id) = self.speaks.get(&csci_id).copied() {
                self.answer(id, vec![instruction]);
            }
        }
    }
}

fn wall() -> UnixMicros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMicros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
