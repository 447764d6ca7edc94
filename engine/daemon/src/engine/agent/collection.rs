//! The instances of a metric agent: what they report, and the way back to each.

use super::AgentRole;
use crate::engine::{Engine, Now};
use crate::plane::Plane;
use cats_engine_core::sma::{AuthenticationFailure, MetricsView, Refusal, SciView, Taken};
use cats_engine_transport::collection::{
    Answers as Words, BrokerEvent, CollectionEvent, Connection, ConnectionId, Denial, PullError, Source,
    SubscriptionEvent,
};
use cats_engine_transport::control_plane::Sent;
use cats_engine_types::{
    CsciId, Freshness, Rejection, Report, ReportCause, ReportKind, ReportedMetrics, ReportedTime,
    ReporterInstruction, RequestTime, Sample,
};
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};
use std::vec::IntoIter;
use tokio::sync::oneshot;

/// How long an instance that is listened to may take for its first answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The streams of instances.
#[derive(Debug, Default)]
pub(super) struct Reporters {
    streams: HashMap<ConnectionId, Stream>,
    /// Over which stream an instance was heard last, or else which one it may be heard over. CSCI-IDs are chosen by peers:
    /// they are hashed with a secret key.
    routes: HashMap<CsciId, ConnectionId>,
}

#[derive(Debug)]
struct Stream {
    connection: Connection,
    /// Whom the routes lead here for.
    instances: BTreeSet<CsciId>,
    /// Who was heard last.
    last: Option<CsciId>,
    /// Another stream is there for some of them, or was: who is heard has to be looked at.
    shared: bool,
}

/// Reports that came together.
#[derive(Debug)]
pub(super) struct Batch {
    read: Instant,
    reports: IntoIter<Report>,
    answers: Answers,
}

/// Where the answers to a batch go.
#[derive(Debug)]
enum Answers {
    /// Back over the stream, those to one instance together.
    Stream(StreamAnswers),
    /// To a request that waits for all of them.
    Request(oneshot::Sender<Vec<ReporterInstruction>>, Vec<ReporterInstruction>),
}

/// The answers to a batch that came over a stream.
#[derive(Debug)]
struct StreamAnswers {
    id: ConnectionId,
    words: Words,
    pending: Pending,
    /// The routes lead there already for all whose reports these are.
    known: bool,
}

/// What one instance is still to be told: of two like words the later says it all.
#[derive(Debug, Default)]
struct Pending {
    instance: Option<CsciId>,
    taken: Option<Freshness>,
    too_often: Option<(Freshness, Refusal)>,
}

impl Reporters {
    fn connected(&mut self, mut connection: Connection) {
        let id = connection.id;
        let instances: BTreeSet<CsciId> = std::mem::take(&mut connection.instances).into_iter().collect();
        let mut shared = false;
        for csci_id in &instances {
            if let Some(other) = self.routes.insert(*csci_id, id) {
                shared = true;
                self.share(other);
            }
        }
        self.streams.insert(id, Stream { connection, instances, last: None, shared });
    }

    /// Somebody that a stream is there for is heard over another one.
    fn share(&mut self, id: ConnectionId) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.shared = true;
        }
    }

    /// Dropping the connection ends the stream, if it has not ended.
    fn disconnected(&mut self, id: ConnectionId) {
        let Some(stream) = self.streams.remove(&id) else { return };
        for csci_id in stream.instances {
            if self.routes.get(&csci_id) == Some(&id) {
                self.routes.remove(&csci_id);
            }
        }
    }

    /// Whether the routes lead to a stream for all that its certificate names, whatever is heard over it.
    fn alone(&self, id: ConnectionId) -> bool {
        self.streams.get(&id).is_none_or(|stream| !stream.shared)
    }

    /// An instance is heard over a stream.
    fn heard(&mut self, id: ConnectionId, csci_id: CsciId) {
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| stream.last != Some(csci_id)) else {
            return;
        };
        stream.last = Some(csci_id);
        match self.routes.insert(csci_id, id) {
            Some(known) if known == id => {}
            before => {
                stream.instances.insert(csci_id);
                if let Some(other) = before {
                    stream.shared = true;
                    self.share(other);
                }
            }
        }
    }

    /// Tells an instance; one without a stream cannot be told.
    pub(super) fn send(&mut self, csci_id: CsciId, instruction: ReporterInstruction) {
        if let Some(id) = self.routes.get(&csci_id).copied() {
            self.send_over(id, instruction);
        }
    }

    /// Whether an instance can be told something.
    fn reaches(&self, csci_id: CsciId) -> bool {
        self.routes.contains_key(&csci_id)
    }

    fn send_over(&mut self, id: ConnectionId, instruction: ReporterInstruction) {
        let gone = |stream: &Stream| stream.connection.send(instruction) == Sent::Gone;
        if self.streams.get(&id).is_some_and(gone) {
            self.disconnected(id);
        }
    }
}

impl Pending {
    /// What is said when another instance's reports follow, or none.
    fn flush(&mut self, words: &mut Words) {
        let Pending { instance: Some(csci_id), taken, too_often } = std::mem::take(self) else { return };
        if let Some(freshness) = taken {
            words.add(ReporterInstruction::Acknowledge { csci_id, freshness });
        }
        if let Some((freshness, refusal)) = too_often {
            words.add(reject(csci_id, freshness, &refusal));
        }
    }
}

fn reject(csci_id: CsciId, freshness: Freshness, refusal: &Refusal) -> ReporterInstruction {
    let (reason, detail) = (refusal.rejection(), refusal.to_string());
    ReporterInstruction::Reject { csci_id, freshness, reason, detail }
}

impl Answers {
    fn add(
        &mut self,
        reporters: &mut Reporters,
        (csci_id, freshness): (CsciId, Freshness),
        outcome: Result<Taken, Refusal>,
    ) {
        match self {
            Self::Stream(StreamAnswers { id, words, pending, known }) => {
                if pending.instance != Some(csci_id) {
                    pending.flush(words);
                    if !*known {
                        reporters.heard(*id, csci_id);
                    }
                    pending.instance = Some(csci_id);
                }
                match outcome {
                    Ok(_) => pending.taken = Some(freshness),
                    Err(refusal) if refusal.rejection() == Rejection::TooOften => {
                        pending.too_often = Some((freshness, refusal));
                    }
                    Err(refusal) => words.add(reject(csci_id, freshness, &refusal)),
                }
            }
            Self::Request(_, answers) => answers.push(match outcome {
                Ok(_) => ReporterInstruction::Acknowledge { csci_id, freshness },
                Err(refusal) => reject(csci_id, freshness, &refusal),
            }),
        }
    }

    fn finish(self, reporters: &mut Reporters) {
        match self {
            Self::Stream(StreamAnswers { id, mut words, mut pending, .. }) => {
                pending.flush(&mut words);
                if words.send() == Sent::Gone {
                    reporters.disconnected(id);
                }
            }
            // Who no longer waits needs no answer.
            Self::Request(answer, answers) => drop(answer.send(answers)),
        }
    }
}

impl AgentRole {
    /// Takes in at most so many of the reports that came together; how many it were.
    fn take_some(&mut self, limit: usize, now: Now) -> usize {
        let Some(mut batch) = self.batch.take() else { return 0 };
        let (reporters, answers) = (&mut self.reporters, &mut batch.answers);
        let became = |csci_id, freshness, outcome| answers.add(reporters, (csci_id, freshness), outcome);
        // They were read before now; the machine's time never goes back all the same.
        let count = self.sma.handle_reports(&mut batch.reports, limit, batch.read, now.micros(), became);
        if batch.reports.len() > 0 {
            self.batch = Some(batch);
        } else {
            batch.answers.finish(&mut self.reporters);
        }
        count
    }

    fn denied(&mut self, peer: String, claimed: Option<CsciId>, denial: Denial, now: Now) {
        match denial {
            Denial::Unauthenticated(reason) | Denial::Unauthorised(reason) => {
                let failure = AuthenticationFailure { peer, claimed, reason };
                self.sma.handle_authentication_failure(failure, now.at, now.micros());
            }
            // The transport has counted and logged it.
            Denial::Malformed(_) => {}
        }
    }
}

impl<P: Plane> Engine<P> {
    /// What came from instances.
    pub(in crate::engine) fn collection_event(&mut self, event: CollectionEvent, now: Now) {
        let Some(role) = &mut self.agent else { return };
        match event {
            CollectionEvent::Connected(connection) => role.reporters.connected(connection),
            CollectionEvent::Disconnected(id) => role.reporters.disconnected(id),
            CollectionEvent::Reports { source: Source::Stream(id), read, reports, named, answers } => {
                let known = named && role.reporters.alone(id);
                let (words, pending) = (answers, Pending::default());
                let answers = Answers::Stream(StreamAnswers { id, words, pending, known });
                role.batch = Some(Batch { read, reports: reports.into_iter(), answers });
                self.take_reports(now);
            }
            CollectionEvent::Posted { read, reports, answer } => {
                let answers = Answers::Request(answer, Vec::with_capacity(reports.len()));
                role.batch = Some(Batch { read, reports: reports.into_iter(), answers });
                self.take_reports(now);
            }
            CollectionEvent::Denied { peer, claimed, denial } => role.denied(peer, claimed, denial, now),
            CollectionEvent::Queried { csci_id, answer, .. } => {
                let views = role.sma.services_of(csci_id);
                let known = views.into_iter().filter_map(|view| Some((view.metrics?, view)));
                let last = known.max_by_key(|(metrics, _)| metrics.updated);
                drop(answer.send(last.map(|(metrics, view)| report(&view, &metrics))));
            }
            // The listener has no readers that may: to drop the subscriber ends it.
            CollectionEvent::Subscribed(_) => {}
        }
    }

    /// What came from an instance that is listened to.
    pub(in crate::engine) fn subscription_event(&mut self, event: SubscriptionEvent, now: Now) {
        match event {
            // What it said before was not heard.
            SubscriptionEvent::Connected(csci_id) => self.pull(csci_id, now.at + PATIENCE, now),
            SubscriptionEvent::Report(report) => self.take_report(report, now),
            SubscriptionEvent::Disconnected { csci_id, reason } => {
                tracing::debug!(%csci_id, reason, "not subscribed to an instance");
            }
        }
    }

    /// What came of a question to an instance.
    pub(in crate::engine) fn answer_event(&mut self, answer: Result<Report, PullError>, now: Now) {
        match answer {
            Ok(report) => self.take_report(report, now),
            Err(error) => tracing::debug!(%error, "no report"),
        }
    }

    /// What came from a broker.
    pub(in crate::engine) fn broker_event(&mut self, event: BrokerEvent, now: Now) {
        let Some(role) = &mut self.agent else { return };
        match event {
            BrokerEvent::Subscribed => {
                tracing::info!("subscribed to the reports of the site at the broker");
                role.broker_connected = true;
            }
            BrokerEvent::Report(report) => self.take_report(report, now),
            BrokerEvent::Denied { topic, claimed, denial } => role.denied(topic, claimed, denial, now),
            BrokerEvent::Disconnected { .. } => role.broker_connected = false,
        }
    }

    /// Asks an instance for a full report: over its stream, or as the configuration says.
    pub(super) fn pull(&mut self, csci_id: CsciId, deadline: Instant, now: Now) {
        let Some(role) = &mut self.agent else { return };
        if role.reporters.reaches(csci_id) {
            role.reporters.send(csci_id, ReporterInstruction::Pull { csci_id });
        } else if let Some(source) = role.desired.collection.sources.get(&csci_id) {
            self.network.ask(csci_id, source, deadline.saturating_duration_since(now.at));
        }
    }

    /// Takes in a report of an instance that cannot be told what became of it.
    fn take_report(&mut self, report: Report, now: Now) {
        let Some(role) = &mut self.agent else { return };
        // The machine counts it, and puts it on record.
        let _ = role.sma.handle_report(report, now.at, now.micros());
        self.turn.reports = self.turn.reports.saturating_sub(1);
    }

    /// Takes in reports that came, as far as the turn goes.
    pub(in crate::engine) fn take_reports(&mut self, now: Now) {
        if let Some(role) = &mut self.agent {
            self.turn.reports -= role.take_some(self.turn.reports, now);
        }
    }
}

/// What an instance last reported of a service.
fn report(view: &SciView, metrics: &MetricsView) -> Report {
    let MetricsView { sample, freshness, taken, ttl, .. } = *metrics;
    Report {
        kind: ReportKind::Full,
        cause: ReportCause::Resync,
        cs_id: view.key.cs_id,
        csci_id: view.key.csci_id,
        locator: view.locator,
        freshness,
        timestamp: taken,
        ttl: Some(ttl),
        metrics: reported(&sample),
    }
}

fn reported(sample: &Sample) -> ReportedMetrics {
    let time = |time: RequestTime| ReportedTime { time: time.time.0, input_tokens: time.input_tokens };
    ReportedMetrics {
        gas: Some(sample.gas.into()),
        computing_time: Some(sample.computing_time.0),
        computing_time_min: sample.computing_time_min.map(time),
        computing_time_max: sample.computing_time_max.map(time),
        health: Some(sample.health),
        price: sample.price.map(|price| price.0.into()),
        reputation: sample.reputation.map(|score| u8::from(score).into()),
        security_level: sample.security_level.map(|score| u8::from(score).into()),
        instances: sample.instances,
    }
}
