//! The tasks that carry the control plane: started, changed and stopped as the configuration wants.
//!
//! Their events wait on bounded channels, one for each kind of peer. [`Network::poll_next`] takes them in turn, so that
//! no kind of peer keeps another one waiting.

mod agent;
mod collection;
mod listener;
mod selector;

use crate::config::Remote;
use agent::Links;
pub(crate) use agent::Opened;
use cats_engine_transport::collection::{BrokerEvent, CollectionEvent, PullError, SubscriptionEvent};
use cats_engine_transport::control_plane::{CpsEvent, ForwarderEvent, Target, Timing, attach};
use cats_engine_transport::northbound::{AgentEvent, SelectorEvent};
use cats_engine_transport::pki::{Pki, PkiFiles};
use cats_engine_types::{ForwarderReport, NodeId, Report};
use collection::Collecting;
use selector::Server;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// Events of one kind that wait for the engine; beyond it the streams are not read.
const EVENTS: usize = 64;

/// How often files of keys and certificates are looked at.
const REFRESH: Duration = Duration::from_secs(2);

/// What comes from other nodes.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// From a forwarder to the path selector.
    Selector(CpsEvent),
    /// From a metric agent to the path selector.
    Northbound(SelectorEvent),
    /// From the path selector to the forwarder.
    Forwarder(ForwarderEvent),
    /// From an instance to the metric agent.
    Collection(CollectionEvent),
    /// From an instance that the metric agent listens to.
    Subscription(SubscriptionEvent),
    /// From an instance that the metric agent asked.
    Answer(Result<Report, PullError>),
    /// From a broker to the metric agent.
    Broker(BrokerEvent),
    /// From a path selector to the metric agent.
    Agent(NodeId, AgentEvent),
}

/// What is listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Forwarders,
    Agents,
    PathSelector,
    PathSelectors,
    Instances,
    Subscriptions,
    Answers,
    Broker,
}

impl Source {
    const ALL: [Self; 8] = [
        Self::Forwarders,
        Self::PathSelector,
        Self::Agents,
        Self::PathSelectors,
        Self::Instances,
        Self::Subscriptions,
        Self::Answers,
        Self::Broker,
    ];

    /// Whether reports of instances come from it.
    fn reports(self) -> bool {
        match self {
            Self::Instances | Self::Subscriptions | Self::Answers | Self::Broker => true,
            Self::Forwarders | Self::PathSelector | Self::Agents | Self::PathSelectors => false,
        }
    }
}

/// Which arrivals are not taken because those before them are not done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Busy {
    /// With what metric agents advertised.
    pub(crate) advertisements: bool,
    /// With what instances reported.
    pub(crate) reports: bool,
}

/// The running tasks.
#[derive(Debug)]
pub(crate) struct Network {
    runtime: Handle,
    pki: Option<Certificates>,
    server: Option<Server>,
    client: Option<Client>,
    collecting: Option<Collecting>,
    links: Links,
    /// Whose turn it is.
    turn: usize,
}

#[derive(Debug)]
struct Certificates {
    files: PkiFiles,
    pki: Arc<Pki>,
    _watch: Task,
}

#[derive(Debug)]
struct Client {
    to: Remote,
    report: watch::Sender<ForwarderReport>,
    events: mpsc::Receiver<ForwarderEvent>,
    _task: Task,
}

/// A task that ends when it is dropped.
#[derive(Debug)]
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Network {
    pub(crate) fn new(runtime: Handle) -> Self {
        Self {
            runtime,
            pki: None,
            server: None,
            client: None,
            collecting: None,
            links: Links::default(),
            turn: 0,
        }
    }

    /// Uses these files from now on. True where others were in use, so that every connection is void.
    pub(crate) fn certificates(&mut self, files: &PkiFiles, wanted: bool) -> bool {
        if wanted && self.pki.as_ref().is_some_and(|known| known.files == *files) {
            return false;
        }
        let void = self.pki.take().is_some();
        (self.server, self.client, self.collecting) = (None, None, None);
        self.links.clear();
        if wanted {
            let pki = Pki::open(files.clone());
            let watch = self.spawn(Arc::clone(&pki).watch(REFRESH));
            self.pki = Some(Certificates { files: files.clone(), pki, _watch: watch });
        }
        void
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Task {
        Task(self.runtime.spawn(task))
    }

    /// Attaches to a path selector, or stops. True if the former attachment is void.
    pub(crate) fn attach(&mut self, remote: Option<&Remote>, report: &ForwarderReport) -> bool {
        let (Some(remote), Some(certificates)) = (remote, &self.pki) else {
            return self.client.take().is_some();
        };
        if let Some(client) = self.client.as_ref().filter(|client| client.to == *remote) {
            client.report.send_if_modified(|known| {
                let changed = known != report;
                known.clone_from(report);
                changed
            });
            return false;
        }
        let (sender, events) = mpsc::channel(EVENTS);
        let (report, reports) = watch::channel(report.clone());
        let target = Target {
            address: remote.address,
            cps: remote.cps.clone(),
            pki: Arc::clone(&certificates.pki),
            timing: Timing::default(),
        };
        let task = self.spawn(attach(target, reports, sender));
        self.client = Some(Client { to: remote.clone(), report, events, _task: task });
        true
    }

    /// Ends the attachment to a path selector.
    pub(crate) fn detach(&mut self) {
        self.client = None;
    }

    /// The next arrival, if one is there.
    pub(crate) fn poll_next(&mut self, busy: Busy, context: &mut Context<'_>) -> Poll<Arrival> {
        let sources = Source::ALL.into_iter().enumerate().cycle();
        for (place, source) in sources.skip(self.turn).take(Source::ALL.len()) {
            if let Poll::Ready(arrival) = self.poll_source(source, busy, context) {
                self.turn = (place + 1) % Source::ALL.len();
                return Poll::Ready(arrival);
            }
        }
        Poll::Pending
    }

    fn poll_source(&mut self, source: Source, busy: Busy, context: &mut Context<'_>) -> Poll<Arrival> {
        if busy.reports && source.reports() {
            return Poll::Pending;
        }
        let Self { server, client, collecting, links, .. } = self;
        let collecting = collecting.as_mut();
        match source {
            Source::Forwarders => {
                poll(server.as_mut().map(|server| &mut server.forwarders), context).map(Arrival::Selector)
            }
            Source::Agents if busy.advertisements => Poll::Pending,
            Source::Agents => {
                poll(server.as_mut().map(|server| &mut server.agents), context).map(Arrival::Northbound)
            }
            Source::PathSelector => {
                poll(client.as_mut().map(|client| &mut client.events), context).map(Arrival::Forwarder)
            }
            Source::PathSelectors => {
                links.poll_next(context).map(|(peer, event)| Arrival::Agent(peer, event))
            }
            Source::Instances => {
                poll(collecting.and_then(Collecting::streamed), context).map(Arrival::Collection)
            }
            Source::Subscriptions => {
                poll(collecting.map(|all| &mut all.from_subscriptions), context).map(Arrival::Subscription)
            }
            Source::Answers => poll(collecting.map(|all| &mut all.answers), context).map(Arrival::Answer),
            Source::Broker => poll(collecting.and_then(Collecting::delivered), context).map(Arrival::Broker),
        }
    }

    /// What keeps the node from speaking with others, for people.
    pub(crate) fn faults(&self) -> Vec<String> {
        let certificates = self.pki.as_ref().and_then(|certificates| certificates.pki.problem());
        let mut faults: Vec<String> = certificates.iter().map(ToString::to_string).collect();
        faults.extend(self.collection_faults());
        faults.extend(self.key_problems().iter().map(ToString::to_string));
        faults
    }
}

/// The tasks run until they are aborted: an end of their events never comes while their owner is there.
fn poll<T>(events: Option<&mut mpsc::Receiver<T>>, context: &mut Context<'_>) -> Poll<T> {
    match events.map(|events| events.poll_recv(context)) {
        Some(Poll::Ready(Some(event))) => Poll::Ready(event),
        Some(Poll::Ready(None) | Poll::Pending) | None => Poll::Pending,
    }
}
