//! The one owner of the core: takes inputs from everywhere over one bounded channel, carries its outputs out.
//!
//! It never waits for anybody but that channel: what it sends goes by `try_send` into queues that are sized so
//! that they are never full while their readers live, so no circle of waiting can form.

use crate::engine::ToEngine;
use crate::files::Files;
use crate::limits::Limits;
use crate::logins::Logins;
use crate::rules::{Judged, Rules};
use crate::transports::{self, Configured};
use crate::{keeper, oracle, recorder};
use cats_mgmtd_core::{
    Attachment, ComponentId, Config, Core, Delta, End, Event, Kept, Logged, MESSAGE_QUEUE, Message, Now,
    Output, Peer, Reply, Request, SessionId, Taken, Ticket,
};
use cats_mgmtd_netconf::{CloseReason, Refusals};
use cats_mgmtd_transport::CallHomeStates;
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{ChangeSet, Tree};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};

/// The name of the engine in alarms and errors.
pub(crate) const ENGINE: &str = "cats-engined";

/// Inputs that may wait for the hub; whoever sends more waits in turn.
const QUEUE: usize = 256;

/// After a commit of so many changes memory is given back to the system: what was needed on its way is free then.
const MANY: usize = 1_000;

/// Where inputs go.
pub(crate) type HubSender = mpsc::Sender<Input>;

/// A new session as its task gets it.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) session: SessionId,
    /// Resolves when the session is to end from our side.
    pub(crate) kill: oneshot::Receiver<CloseReason>,
    /// What it is told unasked.
    pub(crate) messages: mpsc::Receiver<Message>,
    /// There may be something to tell.
    pub(crate) listens: Arc<AtomicBool>,
}

/// What happens around the core.
#[derive(Debug)]
#[allow(missing_docs)] // the inputs of the core of the same names
pub(crate) enum Input {
    Open {
        peer: Peer,
        answer: oneshot::Sender<Result<Opened, Error>>,
    },
    Request {
        session: SessionId,
        request: Request,
        answer: oneshot::Sender<Reply>,
    },
    PrivateCandidate {
        session: SessionId,
    },
    Refused {
        session: SessionId,
        more: Refusals,
    },
    Taken {
        session: SessionId,
        taken: Taken,
    },
    Dropped {
        session: SessionId,
    },
    BadHello {
        session: SessionId,
    },
    TimedOut {
        session: SessionId,
    },
    Unreadable {
        session: SessionId,
    },
    Checked {
        ticket: Ticket,
        changes: Arc<ChangeSet>,
        judged: Judged,
    },
    Unchecked {
        ticket: Ticket,
    },
    Validated {
        ticket: Ticket,
        verdict: Result<(Tree, ChangeSet), Vec<Error>>,
    },
    Recorded {
        ticket: Ticket,
        result: Result<(), Error>,
    },
    Fetched {
        ticket: Ticket,
        result: Result<Config, Error>,
    },
    Stored {
        ticket: Ticket,
        result: Result<(), Error>,
    },
    Recalled {
        ticket: Ticket,
        result: Result<Vec<Tree>, Error>,
    },
    Forgotten {
        before: u64,
    },
    History {
        told: Result<Vec<Kept>, String>,
    },
    Kept {
        through: u64,
        result: Result<(), String>,
    },
    State {
        ticket: Ticket,
        result: Result<Tree, Vec<Error>>,
    },
    Executed {
        ticket: Ticket,
        result: Result<Vec<u8>, Vec<Error>>,
    },
    EngineTellsAnew {
        component: ComponentId,
    },
    EngineTold {
        component: ComponentId,
        delta: Delta,
        /// Why it is to begin anew, if it is.
        answer: oneshot::Sender<Result<(), String>>,
    },
    EngineAttached {
        component: ComponentId,
        holds: Option<u64>,
        nodes: Vec<String>,
        commands: mpsc::Sender<ToEngine>,
    },
    EngineGone {
        component: ComponentId,
    },
    EnginePlanned {
        component: ComponentId,
    },
    EngineRejected {
        component: ComponentId,
        errors: Vec<Error>,
    },
    EngineAborted {
        component: ComponentId,
    },
    EngineLoaded {
        component: ComponentId,
    },
    CallHome {
        states: CallHomeStates,
    },
    Tls {
        problem: Option<String>,
    },
    Stop,
}

/// Who works for the hub.
pub(crate) struct Workers {
    pub(crate) oracle: mpsc::Sender<oracle::Job>,
    pub(crate) recorder: mpsc::Sender<recorder::Job>,
    pub(crate) keeper: mpsc::Sender<keeper::Job>,
    /// Those of URLs.
    pub(crate) files: Files,
    /// What they, and others, go by.
    pub(crate) limits: watch::Sender<Limits>,
    /// Where clients come in, and who is called.
    pub(crate) transports: watch::Sender<Configured>,
    /// The last revision that concerned the engine, for the next attach.
    pub(crate) revision: watch::Sender<u64>,
}

impl Workers {
    /// Ready when one of them has ended.
    async fn lost(&self) {
        tokio::select! {
            () = self.oracle.closed() => tracing::error!("the validation's thread has ended"),
            () = self.recorder.closed() => tracing::error!("the journal's thread has ended"),
        }
    }
}

/// The hub's channel.
pub(crate) fn channel() -> (HubSender, mpsc::Receiver<Input>) {
    mpsc::channel(QUEUE)
}

/// The current time, as the core takes it.
pub(crate) fn now() -> Now {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Now { instant: Instant::now(), unix_us: u64::try_from(since.as_micros()).unwrap_or(u64::MAX) }
}

/// The hub itself.
pub(crate) struct Hub {
    core: Core,
    schema: Arc<Schema>,
    rules: Rules,
    logins: Logins,
    workers: Workers,
    sessions: BTreeMap<SessionId, Open>,
    engines: BTreeMap<ComponentId, mpsc::Sender<ToEngine>>,
    /// Inputs that follow from outputs which could not be carried out.
    failed: Vec<Input>,
    /// What the rules said of the changes that are being committed.
    judged: Option<(Arc<ChangeSet>, Judged)>,
    /// What has happened and is not told yet, oldest first.
    events: VecDeque<Event>,
    /// The recorder has commits that the history lacks.
    unkept: bool,
}

#[derive(Debug)]
struct Open {
    answer: Option<oneshot::Sender<Reply>>,
    kill: Option<oneshot::Sender<CloseReason>>,
    /// The core counts what is in it, so it is never full.
    messages: mpsc::Sender<Message>,
    listens: Arc<AtomicBool>,
}

impl Hub {
    pub(crate) fn new(core: Core, judges: (Rules, Logins), schema: Arc<Schema>, workers: Workers) -> Self {
        let (rules, logins) = judges;
        Self {
            core,
            schema,
            rules,
            logins,
            workers,
            sessions: BTreeMap::new(),
            engines: BTreeMap::new(),
            failed: Vec::new(),
            judged: None,
            events: VecDeque::new(),
            unkept: false,
        }
    }

    /// Runs until [`Input::Stop`], then ends all sessions once no commit is on its way. Ends at once when a worker is
    /// lost.
    pub(crate) async fn run(mut self, mut inputs: mpsc::Receiver<Input>) {
        self.core.handle_keeping(self.rules.keeping(), now());
        self.core.handle_event_limits(self.rules.event_limits(), now());
        self.settle().await;
        let mut stopping = false;
        loop {
            if stopping && !self.core.commit_in_flight() {
                break;
            }
            let timer = self.core.poll_timeout();
            let due = async {
                match timer {
                    Some((due, _)) => tokio::time::sleep_until(due.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                input = inputs.recv() => match input {
                    Some(Input::Stop) | None => {
                        stopping = true;
                        self.core.handle_stop(now());
                    }
                    Some(input) => self.handle(input),
                },
                () = due => self.core.handle_timeout(now()),
                // A worker ends early only by a bug of ours, and its answers would be waited for in vain.
                () = self.workers.lost() => return,
            }
            self.settle().await;
        }
        for (_, open) in std::mem::take(&mut self.sessions) {
            if let Some(kill) = open.kill {
                // A session that has ended by itself needs no telling.
                let _ = kill.send(CloseReason::Shutdown);
            }
        }
    }

    fn handle(&mut self, input: Input) {
        let now = now();
        match input {
            Input::Open { peer, answer } => self.open(peer, answer, now),
            Input::Request { session, request, answer } => {
                if let Some(open) = self.sessions.get_mut(&session) {
                    open.answer = Some(answer);
                    self.core.handle_request(session, request, now);
                }
            }
            Input::PrivateCandidate { session } => self.core.handle_private_candidate(session),
            Input::Refused { session, more } => self.core.handle_refused(session, more.bad_rpcs, more.rpcs),
            Input::Taken { session, taken } => self.core.handle_taken(session, taken, now),
            Input::Dropped { session } => {
                self.sessions.remove(&session);
                self.core.handle_dropped(session, now);
            }
            Input::BadHello { session } => {
                self.sessions.remove(&session);
                self.core.handle_bad_hello(session, now);
            }
            Input::TimedOut { session } => {
                self.sessions.remove(&session);
                self.core.handle_timed_out(session, now);
            }
            Input::Unreadable { session } => self.core.handle_unreadable(session),
            Input::Validated { ticket, verdict } => self.core.handle_validated(ticket, verdict, now),
            Input::Checked { ticket, changes, judged } => self.checked(ticket, changes, judged),
            Input::Unchecked { ticket } => {
                self.core.handle_checked(ticket, vec![overloaded("the validation")], now);
            }
            Input::Recorded { ticket, result } => {
                self.unkept |= result.is_ok();
                self.core.handle_recorded(ticket, result, now);
            }
            Input::Fetched { ticket, result } => self.core.handle_fetched(ticket, result, now),
            Input::Stored { ticket, result } => self.core.handle_stored(ticket, result),
            Input::Recalled { ticket, result } => self.core.handle_recalled(ticket, result),
            Input::Forgotten { before } => self.core.handle_forgotten(before),
            Input::History { told } => self.core.handle_history(told, now),
            Input::State { ticket, result } => self.core.handle_state(ticket, result, now),
            Input::Kept { through, result } => self.core.handle_kept(through, result, now),
            Input::Executed { ticket, result } => self.core.handle_executed(ticket, result),
            Input::EngineAttached { component, holds, nodes, commands } => {
                self.engines.insert(component, commands);
                self.core.handle_attached(Attachment { component, name: ENGINE.to_owned(), holds, nodes });
            }
            Input::EngineTellsAnew { component } => self.core.handle_tells_anew(component),
            Input::EngineTold { component, delta, answer } => {
                // Who no longer waits for it is not told to go on.
                let _ = answer.send(self.core.handle_told(component, delta, now));
            }
            Input::EngineGone { component } => {
                self.engines.remove(&component);
                self.core.handle_detached(component, now);
            }
            Input::EnginePlanned { component } => {
                self.core.handle_planned(component, now);
            }
            Input::EngineRejected { component, errors } => {
                self.core.handle_rejected(component, errors, now);
            }
            Input::EngineAborted { component } => self.core.handle_aborted(component),
            Input::EngineLoaded { component } => self.core.handle_loaded(component),
            Input::CallHome { states } => self.core.handle_call_home(transports::told(states), now),
            Input::Tls { problem } => self.core.handle_tls(problem, now),
            Input::Stop => {}
        }
    }

    fn open(&mut self, peer: Peer, answer: oneshot::Sender<Result<Opened, Error>>, now: Now) {
        let opened = self.core.open_session(peer, now).map(|session| {
            let (kill, killed) = oneshot::channel();
            let (sender, messages) = mpsc::channel(MESSAGE_QUEUE);
            let listens = Arc::<AtomicBool>::default();
            let open =
                Open { answer: None, kill: Some(kill), messages: sender, listens: Arc::clone(&listens) };
            self.sessions.insert(session, open);
            Opened { session, kill: killed, messages, listens }
        });
        if let Err(Ok(opened)) = answer.send(opened) {
            // Its connection went away meanwhile.
            self.sessions.remove(&opened.session);
            self.core.handle_dropped(opened.session, now);
        }
    }

    /// Carries out all outputs. Nobody waits for what is kept of them, nor for what takes long to be told, so sessions have
    /// their replies first.
    async fn settle(&mut self) {
        self.drain();
        while self.unkept || !self.events.is_empty() {
            if self.events.iter().any(is_big) {
                tokio::task::yield_now().await;
            }
            for event in std::mem::take(&mut self.events) {
                self.happened(event);
            }
            self.drain();
            if std::mem::take(&mut self.unkept) {
                tokio::task::yield_now().await;
                // Where it finds no room, the next commit sees to it.
                drop(self.workers.recorder.try_send(recorder::Job::Keep));
            }
        }
        if !self.core.commit_in_flight() {
            self.judged = None;
        }
    }

    /// Carries out all outputs, and those that follow from failures of the first.
    fn drain(&mut self) {
        loop {
            while let Some(output) = self.core.poll_output() {
                self.carry_out(output);
            }
            let failed = std::mem::take(&mut self.failed);
            if failed.is_empty() {
                break;
            }
            for input in failed {
                self.handle(input);
            }
        }
        let meant = self.core.meant_for(ENGINE);
        self.workers.revision.send_if_modified(|revision| std::mem::replace(revision, meant) != meant);
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Reply { session, reply } => self.reply(session, reply),
            Output::End { session, why } => self.end(session, why),
            Output::Validate { ticket, base, new } => self.validate(ticket, base, new),
            Output::Check { ticket, old, new, changes } => self.check(ticket, (&old, &new), changes),
            Output::Prepare { component, revision, base, changes } => {
                self.tell(component, ToEngine::Prepare { revision, base, changes });
            }
            Output::Apply { component, revision } => {
                self.tell(component, ToEngine::Apply { revision });
            }
            Output::Abort { component, revision } => {
                self.tell(component, ToEngine::Abort { revision });
            }
            Output::Snapshot { component, revision, tree } => {
                self.tell(component, ToEngine::Snapshot { revision, tree });
            }
            Output::Disconnect { component } => {
                self.engines.remove(&component);
            }
            Output::Record { ticket, group } => {
                if self.workers.recorder.try_send(recorder::Job::Group { ticket, group }).is_err() {
                    self.failed.push(Input::Recorded { ticket, result: Err(overloaded("the journal")) });
                }
            }
            Output::Recall { ticket, revisions, running } => {
                let job = recorder::Job::Recall { ticket, revisions, running };
                if self.workers.recorder.try_send(job).is_err() {
                    self.failed.push(Input::Recalled { ticket, result: Err(overloaded("the history")) });
                }
            }
            Output::ReadState { component, ticket, paths } => {
                self.tell(component, ToEngine::ReadState { ticket, paths });
            }
            Output::Watch { component, paths } => self.tell(component, ToEngine::Watch { paths }),
            Output::Execute { ticket, component, operation, input } => {
                self.tell(component, ToEngine::Execute { ticket, operation, input });
            }
            Output::Fetch { ticket, user, url, read_as } => {
                self.workers.files.fetch(ticket, (user, url), read_as);
            }
            Output::Store { ticket, user, url, content } => {
                self.workers.files.store(ticket, (user, url), content);
            }
            Output::Remove { ticket, user, url } => self.workers.files.remove(ticket, (user, url)),
            Output::Notify { session, message } => self.notify(session, message),
            Output::Listens { session, listens } => {
                if let Some(open) = self.sessions.get(&session) {
                    open.listens.store(listens, Ordering::Relaxed);
                }
            }
            Output::Keep { events, oldest } => self.keep(events, oldest),
            Output::Event(event) => {
                if let Event::Committed { changes, .. } = &event {
                    // Before anything is judged upon it.
                    self.follow(changes);
                }
                self.events.push_back(event);
            }
        }
    }

    fn validate(&mut self, ticket: Ticket, base: Tree, new: Tree) {
        if let Some(verdict) = oracle::judge_little(&self.schema, &base, &new) {
            self.core.handle_validated(ticket, verdict, now());
        } else if self.workers.oracle.try_send(oracle::Job::Judge { ticket, base, new }).is_err() {
            let verdict = Err(vec![overloaded("the validation")]);
            self.failed.push(Input::Validated { ticket, verdict });
        }
    }

    /// As with [`Hub::validate`], nobody waits for a big change of another's.
    fn check(&mut self, ticket: Ticket, (old, new): (&Tree, &Tree), changes: Arc<ChangeSet>) {
        let errors = self.logins.check(&self.schema, new, &changes);
        if !errors.is_empty() || oracle::is_little(old, &new) {
            let mut judged = self.rules.check(&self.schema, &changes);
            judged.errors.extend(errors);
            return self.checked(ticket, changes, judged);
        }
        let rules = self.rules.clone();
        if self.workers.oracle.try_send(oracle::Job::Check { ticket, rules, changes }).is_err() {
            self.failed.push(Input::Unchecked { ticket });
        }
    }

    fn checked(&mut self, ticket: Ticket, changes: Arc<ChangeSet>, mut judged: Judged) {
        let errors = std::mem::take(&mut judged.errors);
        self.judged = errors.is_empty().then_some((changes, judged));
        self.core.handle_checked(ticket, errors, now());
    }

    /// Goes by what runs from now on.
    fn follow(&mut self, changes: &Arc<ChangeSet>) {
        let (_, running) = self.core.running();
        // They were judged upon what runs, or they would be others.
        let judged = self.judged.take_if(|(judged, _)| Arc::ptr_eq(judged, changes));
        let judged = judged.map(|(_, judged)| judged);
        self.rules.follow(&self.schema, changes, judged);
        self.logins.follow(&self.schema, running, changes, self.rules.ssh());
        let limits = Limits::of(self.rules.limits());
        self.workers.limits.send_if_modified(|present| std::mem::replace(present, limits) != limits);
        self.core.handle_keeping(self.rules.keeping(), now());
        self.core.handle_event_limits(self.rules.event_limits(), now());
        let configured = self.rules.transports();
        self.workers.transports.send_if_modified(|present| present.follow(configured));
    }

    fn happened(&mut self, event: Event) {
        log(&event);
        self.core.handle_event(&event, now());
        let freed = is_big(&event) || matches!(&event, Event::CandidateDropped { .. });
        drop(event);
        if freed {
            // Nobody waits for it.
            drop(tokio::task::spawn_blocking(cats_yang_schema::return_memory));
        }
    }

    fn reply(&mut self, session: SessionId, reply: Reply) {
        let answer = self.sessions.get_mut(&session).and_then(|open| open.answer.take());
        if let Some(answer) = answer {
            // A session that was killed meanwhile waits for no answer.
            let _ = answer.send(reply);
        }
    }

    fn keep(&mut self, events: Vec<Arc<Logged>>, oldest: u64) {
        let through = events.last().map_or(0, |event| event.seq);
        if self.workers.keeper.try_send(keeper::Job { events, oldest }).is_err() {
            let result = Err("the thread that keeps them has stopped: see the log".to_owned());
            self.failed.push(Input::Kept { through, result });
        }
    }

    fn notify(&mut self, session: SessionId, message: Message) {
        let Some(open) = self.sessions.get_mut(&session) else { return };
        match open.messages.try_send(message) {
            // A session that has ended waits for nothing.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(_)) => {
                tracing::error!(%session, "more is to be told to a session than was counted, so it is ended");
                let kill = open.kill.take();
                let why = CloseReason::Connection("it could not be told all".to_owned());
                drop(kill.map(|kill| kill.send(why)));
            }
        }
    }

    fn end(&mut self, session: SessionId, why: End) {
        let reason = match why {
            End::Closed => CloseReason::CloseSession,
            End::Dropped | End::BadHello | End::TimedOut => CloseReason::Dropped,
            End::Behind => CloseReason::Behind,
            End::Killed { by } => CloseReason::Killed { by: by.0 },
        };
        let kill = self.sessions.remove(&session).and_then(|open| open.kill);
        if let Some(kill) = kill {
            let _ = kill.send(reason);
        }
    }

    /// An engine that does not take its messages loses its connection, and gets a snapshot when it is back.
    fn tell(&mut self, component: ComponentId, message: ToEngine) {
        let sent = self.engines.get(&component).is_some_and(|engine| engine.try_send(message).is_ok());
        if !sent && self.engines.remove(&component).is_some() {
            self.failed.push(Input::EngineGone { component });
        }
    }
}

fn log(event: &Event) {
    match event {
        Event::SessionOpened { session, user } => tracing::info!(%session, user, "session opened"),
        Event::SessionEnded { session, user, why: End::Behind, .. } => {
            tracing::warn!(%session, user, "a session that reads too slowly has lost events, so it is ended");
        }
        Event::SessionEnded { session, user, why, .. } => {
            tracing::info!(%session, user, ?why, "session ended")
        }
        Event::Committed { commit, changes } => {
            let (revision, count) = (commit.revision, changes.changes.len());
            tracing::info!(revision, by = %commit.by, changes = count, "committed");
        }
        Event::CommitFailed { by, errors } => {
            tracing::info!(%by, errors = errors.len(), first = first(errors), "commit failed");
        }
        Event::ConfirmedCommit { what, by } => tracing::info!(?what, %by, "confirmed commit"),
        Event::RollbackRefused { component, errors } => {
            let reason = first(errors);
            tracing::warn!(component, reason, "the way back is refused; the configuration is sent whole");
        }
        Event::Denied { session, user, why } => tracing::info!(%session, user, %why, "access denied"),
        Event::Executes { session, user, operation } => {
            tracing::info!(%session, user, operation, "operation");
        }
        Event::CandidateKept { session, user } => {
            tracing::info!(%session, user, "the private candidate of a lost session is kept");
        }
        Event::CandidateAttached { session, left_by, user } => {
            tracing::info!(%session, %left_by, user, "a private candidate that was kept is attached");
        }
        Event::CandidateDropped { session, user, why } => {
            tracing::info!(%session, user, ?why, "a private candidate that was kept is dropped");
        }
        Event::AlarmRaised(alarm) => tracing::warn!(?alarm, "alarm raised"),
        Event::AlarmCleared(alarm) => tracing::info!(?alarm, "alarm cleared"),
    }
}

/// Is it a commit that takes long to be told of, and leaves memory behind?
fn is_big(event: &Event) -> bool {
    matches!(event, Event::Committed { changes, .. } if changes.changes.len() >= MANY)
}

fn first(errors: &[Error]) -> String {
    errors.first().map(ToString::to_string).unwrap_or_default()
}

fn overloaded(what: &str) -> Error {
    Error::application(
        ErrorTag::ResourceDenied,
        format!("{what} is busy or has stopped: retry, then see the log"),
    )
}
