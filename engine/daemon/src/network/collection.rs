//! The tasks by which a metric agent hears of instances: its listener, subscriptions, a broker, and questions.

use super::listener::listen;
use super::{EVENTS, Network, REFRESH, Task};
use crate::config::{Ask, Broker, Collection, Listener, MetricAgent, Source};
use cats_engine_transport::collection::{
    Admission, BrokerCounters, BrokerEvent, BrokerTarget, CollectionEvent, Listen, Proofs, PullError,
    PullTarget, SubscriptionEvent, SubscriptionTarget, TIMING, collect, pull_grpc, pull_http, serve,
    subscribe,
};
use cats_engine_transport::keys::{Keyring, VerifyingKey};
use cats_engine_transport::pki::Pki;
use cats_engine_transport::tokens::{TokenRules, Tokens};
use cats_engine_types::{CsciId, NodeId, Report};
use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, watch};

/// Questions to instances that are under way at one time; one beyond is left out, and its instance asked another time.
const QUESTIONS: usize = 256;

/// What hears of instances.
#[derive(Debug)]
pub(super) struct Collecting {
    /// Others than these make all of it anew.
    proofs: (NodeId, Option<TokenRules>),
    admission: Arc<Admission>,
    keys: Keys,
    tokens: Option<Arc<Tokens>>,
    listener: Option<Listening>,
    broker: Option<Delivering>,
    subscriptions: BTreeMap<CsciId, (Source, Task)>,
    questions: Arc<Semaphore>,
    subscribed: mpsc::Sender<SubscriptionEvent>,
    answered: mpsc::Sender<Result<Report, PullError>>,
    pub(super) from_subscriptions: mpsc::Receiver<SubscriptionEvent>,
    pub(super) answers: mpsc::Receiver<Result<Report, PullError>>,
    _watches: Vec<Task>,
}

#[derive(Debug)]
struct Keys {
    ring: Arc<Keyring>,
    wanted: Vec<VerifyingKey>,
}

#[derive(Debug)]
struct Listening {
    at: Listener,
    fault: watch::Receiver<Option<String>>,
    events: mpsc::Receiver<CollectionEvent>,
    _task: Task,
}

#[derive(Debug)]
struct Delivering {
    broker: Broker,
    events: mpsc::Receiver<BrokerEvent>,
    _task: Task,
}

impl Collecting {
    fn new(network: &Network, agent: &MetricAgent) -> Self {
        let tokens = agent.collection.tokens.clone().map(Tokens::open);
        let ring = Keyring::open(agent.collection.keys.clone());
        let mut watches = vec![network.spawn(Arc::clone(&ring).watch(REFRESH))];
        watches.extend(tokens.iter().map(|tokens| network.spawn(Arc::clone(tokens).watch(REFRESH))));
        let proofs = Proofs { tokens: tokens.clone(), keys: Some(Arc::clone(&ring)) };
        let (subscribed, from_subscriptions) = mpsc::channel(EVENTS);
        let (answered, answers) = mpsc::channel(EVENTS);
        Self {
            proofs: (agent.node().clone(), agent.collection.tokens.clone()),
            admission: Admission::new(agent.permissions(), proofs),
            keys: Keys { ring, wanted: agent.collection.keys.clone() },
            tokens,
            listener: None,
            broker: None,
            subscriptions: BTreeMap::new(),
            questions: Arc::new(Semaphore::new(QUESTIONS)),
            subscribed,
            answered,
            from_subscriptions,
            answers,
            _watches: watches,
        }
    }

    pub(super) fn streamed(&mut self) -> Option<&mut mpsc::Receiver<CollectionEvent>> {
        self.listener.as_mut().map(|listener| &mut listener.events)
    }

    pub(super) fn delivered(&mut self) -> Option<&mut mpsc::Receiver<BrokerEvent>> {
        self.broker.as_mut().map(|broker| &mut broker.events)
    }

    fn verify(&mut self, agent: &MetricAgent) {
        self.admission.replace(agent.permissions());
        let keys = &agent.collection.keys;
        if self.keys.wanted != *keys {
            self.keys.ring.replace(keys.clone());
            self.keys.wanted.clone_from(keys);
        }
    }

    /// True if all streams of the listener are void.
    fn listen(&mut self, network: &Network, pki: &Arc<Pki>, agent: &MetricAgent) -> bool {
        let Some(at) = &agent.collection.listen else { return self.listener.take().is_some() };
        if self.listener.as_ref().is_some_and(|listener| listener.at == *at) {
            return false;
        }
        let (sender, events) = mpsc::channel(EVENTS);
        let (told, fault) = watch::channel(None);
        let (pki, admission, connections) = (Arc::clone(pki), Arc::clone(&self.admission), at.connections);
        let node = agent.node().clone();
        // The former one gives the address free first.
        self.listener = None;
        let task = network.spawn(listen(at.address, "contact instances", told, move |listener| {
            let (pki, admission, events) = (Arc::clone(&pki), Arc::clone(&admission), sender.clone());
            let listen = Listen::new(listener, pki, node.clone(), admission, events);
            serve(Listen { connections, ..listen }, pending())
        }));
        self.listener = Some(Listening { at: at.clone(), fault, events, _task: task });
        true
    }

    fn deliver(&mut self, network: &Network, pki: &Arc<Pki>, wanted: Option<&Broker>) {
        if self.broker.as_ref().map(|known| &known.broker) == wanted {
            return;
        }
        self.broker = wanted.map(|broker| {
            let (sender, events) = mpsc::channel(EVENTS);
            let target = BrokerTarget {
                host: broker.host.clone(),
                port: broker.port,
                site: broker.site.clone(),
                client_id: broker.client_id.clone(),
                session_expiry: broker.session_expiry,
                pki: Arc::clone(pki),
                timing: TIMING,
            };
            let task = collect(target, Arc::clone(&self.admission), Arc::<BrokerCounters>::default(), sender);
            Delivering { broker: broker.clone(), events, _task: network.spawn(task) }
        });
    }

    fn subscribe(&mut self, network: &Network, pki: &Arc<Pki>, sources: &BTreeMap<CsciId, Source>) {
        let stays = |csci_id: &CsciId, (known, _): &mut (Source, Task)| {
            sources.get(csci_id).is_some_and(|source| source == known)
        };
        self.subscriptions.retain(stays);
        for (csci_id, source) in sources.iter().filter(|(_, source)| source.subscribe) {
            if self.subscriptions.contains_key(csci_id) {
                continue;
            }
            let target = SubscriptionTarget {
                address: source.address,
                csci_id: *csci_id,
                pki: Arc::clone(pki),
                admission: Arc::clone(&self.admission),
                timing: TIMING,
            };
            let task = network.spawn(subscribe(target, self.subscribed.clone()));
            self.subscriptions.insert(*csci_id, (*source, task));
        }
    }
}

impl Network {
    /// Hears of instances as configured, or stops. True if all streams of its listener are void.
    pub(crate) fn collect(&mut self, agent: Option<&MetricAgent>) -> bool {
        let (Some(agent), Some(certificates)) = (agent, &self.pki) else {
            return self.collecting.take().is_some();
        };
        let pki = Arc::clone(&certificates.pki);
        let fits = |known: &Collecting| {
            (&known.proofs.0, &known.proofs.1) == (agent.node(), &agent.collection.tokens)
        };
        let kept = self.collecting.take().filter(fits);
        let anew = kept.is_none();
        let mut collecting = kept.unwrap_or_else(|| Collecting::new(self, agent));
        let Collection { sources, broker, .. } = &agent.collection;
        collecting.verify(agent);
        let void = collecting.listen(self, &pki, agent);
        collecting.deliver(self, &pki, broker.as_ref());
        collecting.subscribe(self, &pki, sources);
        self.collecting = Some(collecting);
        anew || void
    }

    /// Asks an instance for a report, within a time; the answer is an arrival. Left out where too many are asked.
    pub(crate) fn ask(&self, csci_id: CsciId, source: &Source, deadline: Duration) {
        let (Some(collecting), Some(certificates), Some(ask)) = (&self.collecting, &self.pki, source.ask)
        else {
            return;
        };
        let Ok(place) = Arc::clone(&collecting.questions).try_acquire_owned() else {
            tracing::debug!(%csci_id, "too many instances are asked at a time; this one is left out");
            return;
        };
        let pki = Arc::clone(&certificates.pki);
        let target = PullTarget { address: source.address, csci_id, pki, deadline };
        let answered = collecting.answered.clone();
        self.runtime.spawn(async move {
            let _place = place;
            let answer = match ask {
                Ask::Grpc => pull_grpc(&target).await,
                Ask::Http => pull_http(&target).await,
            };
            // Nobody waits for it where the metric agent is gone.
            drop(answered.send(answer).await);
        });
    }

    /// What was refused before the metric agent saw it.
    pub(crate) fn admission(&self) -> Option<&Admission> {
        self.collecting.as_ref().map(|collecting| collecting.admission.as_ref())
    }

    /// What keeps the metric agent from hearing of instances, for people.
    pub(crate) fn collection_faults(&self) -> Vec<String> {
        let Some(collecting) = &self.collecting else { return Vec::new() };
        let listener = collecting.listener.as_ref().and_then(|listener| listener.fault.borrow().clone());
        let keys = collecting.keys.ring.problems().into_iter();
        let tokens = collecting.tokens.iter().flat_map(|tokens| tokens.problems());
        listener.into_iter().chain(keys.chain(tokens).map(|problem| problem.to_string())).collect()
    }
}
