//! The state machine: sessions, datastores and the requests on them.

use crate::ahead::Ahead;
use crate::alarms::{self, Alarms};
use crate::call_home::CallHome;
use crate::commit::{Commit, Stage};
use crate::components::{Components, Refused};
use crate::confirmed::Ongoing;
use crate::delivery::Delivery;
use crate::ending::Ending;
use crate::files::Files;
use crate::history::History;
use crate::library;
use crate::monitoring;
use crate::nacm::{self, Access, Nacm};
use crate::operations::Executions;
use crate::output::{Alarm, Event, Output};
use crate::private::{Detached, Privates};
use crate::push::{self, Push};
use crate::reading::Reading;
use crate::reads::Reads;
use crate::session::{Limits, Sessions};
use crate::space::{Space, Weight};
use crate::streams::Stream;
use crate::told::Told;
use crate::types::{Attachment, ComponentId, End, Now, Peer, Reply, Request, SessionId, Ticket};
use cats_yang_tree::error::{Error, in_one_answer};
use cats_yang_tree::operation::Call;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{ChangeSet, Tree, unshared};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// What the core is told about the node when it starts.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The schema of all datastores.
    pub schema: Arc<Schema>,
    /// Names the schema; the content-id of the YANG library and of the hello.
    pub content_id: String,
    /// [`Schema`] as JSON, for `cats-exec:schema-index`.
    pub schema_index: Arc<str>,
    /// Capability URIs, for `netconf-state`.
    pub capabilities: Vec<String>,
    /// The text of every module, for `get-schema`.
    pub modules: Vec<ModuleText>,
    /// Names of the components that configuration is meant for: an alarm stands while one is not connected.
    pub components: Vec<String>,
    /// Bounds on sessions.
    pub limits: Limits,
    /// Running is a target of `edit-config` and `copy-config` (RFC 6241 section 8.2).
    pub writable_running: bool,
}

/// One module or submodule as text.
#[derive(Debug, Clone)]
#[allow(missing_docs)] // the statements of RFC 7950 of the same names
pub struct ModuleText {
    pub name: String,
    pub revision: Option<String>,
    pub namespace: String,
    pub yang: Arc<str>,
}

/// Datastores, sessions, locks and the commits on their way, without I/O, clock or randomness.
///
/// The contract: one `handle_*` call, then drain [`Core::poll_output`] and carry out each output in order, then
/// sleep until [`Core::poll_timeout`] or the next input. An output with a [`Ticket`] is answered exactly once.
/// A session asks one thing at a time: the next request comes after the reply to the one before.
#[derive(Debug)]
pub struct Core {
    pub(crate) facts: Facts,
    pub(crate) revision: u64,
    pub(crate) running: Tree,
    /// The shared one.
    pub(crate) candidate: Tree,
    /// What the shared candidate takes beside running.
    pub(crate) candidate_weight: Weight,
    /// What running takes.
    pub(crate) running_bytes: usize,
    pub(crate) space: Space,
    pub(crate) privates: Privates,
    pub(crate) detached: Detached,
    pub(crate) sessions: Sessions,
    pub(crate) components: Components,
    /// The commit that is being decided.
    pub(crate) commit: Option<Commit>,
    /// What is decided and not durable.
    pub(crate) ahead: Ahead,
    /// Requests that wait for commits, in the order of arrival. One of each session at most, since it asks one thing at
    /// a time.
    pub(crate) waiting: VecDeque<(SessionId, Request)>,
    /// The lock of the candidate was released while commits of it were on their way: its changes go when these end.
    pub(crate) discard: bool,
    /// The confirmed commit that waits for its confirmation.
    pub(crate) ongoing: Option<Ongoing>,
    /// `validate` requests at the oracle or at the checks.
    pub(crate) validations: BTreeMap<Ticket, Validation>,
    pub(crate) reads: Reads,
    pub(crate) executions: Executions,
    pub(crate) push: Push,
    pub(crate) told: Told,
    pub(crate) alarms: Alarms,
    pub(crate) nacm: Nacm,
    pub(crate) files: Files,
    pub(crate) history: History,
    pub(crate) call_home: CallHome,
    pub(crate) endings: Vec<Ending>,
    pub(crate) delivery: Delivery,
    pub(crate) stream: Stream,
    pub(crate) outputs: VecDeque<Output>,
    next_ticket: u64,
    pub(crate) started_us: u64,
    /// The YANG library, which does not change while the daemon runs.
    pub(crate) library: Result<Tree, Vec<Error>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Validation {
    pub(crate) session: SessionId,
}

impl Core {
    /// A core whose running configuration is `running` at `revision`; the candidate begins equal to it.
    pub fn new(facts: Facts, running: Tree, revision: u64, now: Now) -> Self {
        let mut outputs = VecDeque::new();
        let components = Components::new(&facts.components, now, &mut outputs);
        let library = library::tree(&facts);
        Self {
            sessions: Sessions::new(facts.limits),
            nacm: Nacm::new(&facts.schema),
            alarms: Alarms::new(&facts.schema, &running),
            facts,
            revision,
            candidate: running.clone(),
            candidate_weight: Weight::default(),
            running_bytes: unshared(&running, &Tree::new()),
            space: Space::default(),
            privates: Privates::new(),
            detached: Detached::default(),
            running,
            components,
            commit: None,
            ahead: Ahead::default(),
            waiting: VecDeque::new(),
            discard: false,
            ongoing: None,
            validations: BTreeMap::new(),
            reads: Reads::default(),
            executions: Executions::default(),
            push: Push::default(),
            told: Told::default(),
            files: Files::default(),
            history: History::default(),
            call_home: CallHome::default(),
            endings: Vec::new(),
            delivery: Delivery::default(),
            stream: Stream::new(now),
            outputs,
            next_ticket: 1,
            started_us: now.unix_us,
            library,
        }
    }

    /// The next thing to do.
    pub fn poll_output(&mut self) -> Option<Output> {
        let next = self.outputs.pop_front();
        if next.is_some() {
            return next;
        }
        self.watch_for_subscribers();
        self.outputs.pop_front()
    }

    /// When [`Core::handle_timeout`] is due, and what for.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let prepare = match self.commit.as_ref().map(|commit| &commit.stage) {
            Some(Stage::Preparing(prepare)) => Some((prepare.deadline, "prepare")),
            Some(Stage::Unrecorded { ticket: None, again }) => Some((*again, "record")),
            Some(
                Stage::Validating(_)
                | Stage::Checking(_)
                | Stage::Held
                | Stage::Recording(_)
                | Stage::Unrecorded { .. },
            )
            | None => None,
        };
        let waits = [
            self.reads.poll_timeout(),
            self.executions.poll_timeout(),
            self.detached.poll_timeout(),
            self.push.poll_timeout(),
        ];
        let due = [
            prepare,
            self.confirm_timeout(),
            self.stream.poll_timeout(|session| self.delivery.may_send(session)),
        ];
        due.into_iter().chain(waits).flatten().min_by_key(|(due, _)| *due)
    }

    /// The running configuration and its revision.
    pub fn running(&self) -> (u64, &Tree) {
        (self.revision, &self.running)
    }

    /// Whether a commit is on its way that a stop must wait for. A rollback that cannot be recorded is none: it is due
    /// again at the next start.
    pub fn commit_in_flight(&self) -> bool {
        self.on_their_way().any(|commit| !commit.is_unrecorded())
    }

    /// The alarms of this daemon's own that stand.
    pub fn alarms(&self) -> impl Iterator<Item = &Alarm> {
        self.components.alarms().map(|(alarm, _)| alarm)
    }

    /// Opens a session.
    ///
    /// # Errors
    /// `resource-denied` at a limit.
    pub fn open_session(&mut self, peer: Peer, now: Now) -> Result<SessionId, Error> {
        let user = peer.user.clone();
        let detached = &self.detached;
        let session = self.sessions.open(peer, now, |id| detached.names(id))?;
        self.outputs.push_back(Output::Event(Event::SessionOpened { session, user }));
        Ok(session)
    }

    /// A session's transport is gone.
    pub fn handle_dropped(&mut self, session: SessionId, now: Now) {
        if self.sessions.get(session).is_some() {
            self.sessions.dropped = self.sessions.dropped.saturating_add(1);
        }
        self.end(session, End::Dropped, now);
        self.proceed(now);
    }

    /// A session ended since its peer's hello was not valid.
    pub fn handle_bad_hello(&mut self, session: SessionId, now: Now) {
        if self.sessions.get(session).is_some() {
            self.sessions.bad_hellos = self.sessions.bad_hellos.saturating_add(1);
        }
        self.end(session, End::BadHello, now);
        self.proceed(now);
    }

    /// A session ended since its peer said nothing for too long.
    pub fn handle_timed_out(&mut self, session: SessionId, now: Now) {
        if self.sessions.get(session).is_some() {
            self.sessions.dropped = self.sessions.dropped.saturating_add(1);
        }
        self.end(session, End::TimedOut, now);
        self.proceed(now);
    }

    /// A reading could not be made up, so the session was answered with an error after all.
    pub fn handle_unreadable(&mut self, session: SessionId) {
        self.sessions.count(session, |counts| counts.errors = counts.errors.saturating_add(1));
    }

    /// A session answered so many messages with errors by itself: `bad` that were no correct requests, and `requests`
    /// whose operation was not correct.
    pub fn handle_refused(&mut self, session: SessionId, bad: u32, requests: u32) {
        self.sessions.count(session, |counts| {
            counts.refused = counts.refused.saturating_add(bad);
            counts.requests = counts.requests.saturating_add(requests);
            counts.errors = counts.errors.saturating_add(bad).saturating_add(requests);
        });
    }

    /// A session asks something.
    pub fn handle_request(&mut self, session: SessionId, request: Request, now: Now) {
        if !self.sessions.count(session, |counts| counts.requests = counts.requests.saturating_add(1)) {
            return;
        }
        if let Err(error) = self.may_invoke(session, &request) {
            return self.reply(session, Err(vec![error]));
        }
        match self.fetch_first(session, request) {
            Ok(Some(request)) => self.carry_out(session, request, now),
            Ok(None) => {}
            Err(errors) => self.reply(session, Err(errors)),
        }
    }

    /// Carries a request out as soon as the commits on their way let it.
    pub(crate) fn carry_out(&mut self, session: SessionId, request: Request, now: Now) {
        if let Some(request) = self.wait_for_commits(session, request) {
            self.act(session, request, now);
        }
        self.proceed(now);
    }

    pub(crate) fn act(&mut self, session: SessionId, request: Request, now: Now) {
        let answer = match request {
            Request::Get(selection) => self.get(session, selection, now),
            Request::GetConfig { source, selection } => {
                let access = self.access(session);
                Ok(Some(Reply::Data(Reading::new(self.tree(session, source), selection, access))))
            }
            Request::Compare(compare) => self.compare(session, compare, now),
            Request::GetData { datastore, selection } => self.get_data(session, datastore, selection, now),
            Request::EditConfig(edit) => self.edit_config(session, edit),
            Request::EditData { datastore, default_operation, config } => {
                self.edit_data(session, datastore, default_operation, config)
            }
            Request::CopyConfig { target, source, with_defaults } => {
                self.copy_config(session, target, source, with_defaults)
            }
            Request::DeleteConfig { target } => self.delete_config(session, target),
            Request::Lock { target } => self.lock(session, target, now).map(Some),
            Request::Unlock { target } => self.unlock(session, target).map(Some),
            Request::Commit(options) => self.commit(session, options, now),
            Request::CancelCommit { persist_id } => self.cancel_commit(session, persist_id.as_deref(), now),
            Request::DiscardChanges => self.discard_changes(session).map(Some),
            Request::Update { resolution } => self.update(session, resolution).map(Some),
            Request::Validate { source } => self.validate(session, source).map(|()| None),
            Request::CloseSession => {
                self.close(session, now);
                Ok(None)
            }
            Request::KillSession { session: victim } => self.kill(session, victim, now),
            Request::GetSchema { identifier, version, format } => {
                monitoring::get_schema(&self.facts, &identifier, version.as_deref(), format.as_deref())
                    .map(Some)
            }
            Request::Unsupported(error) => Err(vec![*error]),
            Request::CompareRevision { from, to } => self.compare_revisions(session, from, to).map(|()| None),
            Request::Rollback { revision } => self.roll_back_to(session, revision).map(|()| None),
            Request::AttachCandidate { left_by } => self.attach_candidate(session, left_by).map(Some),
            Request::DropCandidate { left_by } => self.drop_candidate(session, left_by).map(Some),
            Request::SchemaIndex { content_id } => Ok(Some(self.schema_index(content_id.as_deref()))),
            Request::Execute(call) => self.call(session, call, now),
            Request::Subscribe(wanted) => self.subscribe(session, *wanted, now).map(Some),
        };
        if let Some(answer) = answer.transpose() {
            self.reply(session, answer);
        }
        // Behind the answer to who has just subscribed.
        self.advance_streams_of(session, now);
    }

    /// An operation of a module: one of those that are carried out here, or a component's.
    fn call(&mut self, session: SessionId, call: Box<Call>, now: Now) -> Result<Option<Reply>, Vec<Error>> {
        if push::is_ours(&self.facts.schema, &call) {
            return self.subscription_request(session, &call, now).map(Some);
        }
        if alarms::is_ours(&self.facts.schema, &call) {
            return self.alarm_action(session, &call, now).map(Some);
        }
        self.execute(session, *call, now)
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Now) {
        self.advance_prepare(now);
        self.record_again(now);
        self.proceed(now);
        self.drop_surplus(now);
        self.advance_events(now);
        self.tell_subscribers(now);
        let late = self.reads.expired(now.instant);
        for (session, answer) in late.into_iter().chain(self.executions.expired(now.instant)) {
            self.reply(session, answer);
        }
    }

    /// The verdict on an [`Output::Validate`]: the tree as it is valid and how it differs from the base, or what is
    /// wrong.
    pub fn handle_validated(
        &mut self,
        ticket: Ticket,
        verdict: Result<(Tree, ChangeSet), Vec<Error>>,
        now: Now,
    ) {
        let verdict = verdict.and_then(|(new, changes)| {
            let faults = self.nacm.faults(&self.facts.schema, &self.running, &new);
            if faults.is_empty() { Ok((new, changes)) } else { Err(faults) }
        });
        let verdict = verdict.map_err(in_one_answer);
        if let Some(validation) = self.validations.remove(&ticket) {
            match verdict {
                Ok((new, changes)) => self.check_request(validation, new, changes),
                Err(errors) => {
                    let errors = self.access(validation.session).without_hidden(errors);
                    self.reply(validation.session, Err(errors));
                }
            }
        } else if self
            .commit
            .as_ref()
            .is_some_and(|commit| matches!(commit.stage, Stage::Validating(t) if t == ticket))
        {
            match verdict {
                Ok((new, changes)) => self.check_commit(new, changes, now),
                Err(errors) => self.fail_commit(errors),
            }
            self.proceed(now);
        }
    }

    /// The verdict on an [`Output::Check`]; no errors means yes.
    pub fn handle_checked(&mut self, ticket: Ticket, errors: Vec<Error>, now: Now) {
        let errors = in_one_answer(errors);
        if let Some(validation) = self.validations.remove(&ticket) {
            if errors.is_empty() {
                self.reply(validation.session, Ok(Reply::Ok));
            } else {
                let errors = self.access(validation.session).without_words(errors);
                self.reply(validation.session, Err(errors));
            }
        } else if self
            .commit
            .as_ref()
            .is_some_and(|commit| matches!(commit.stage, Stage::Checking(t) if t == ticket))
        {
            if errors.is_empty() {
                self.prepare_commit(now);
            } else {
                self.fail_commit(errors);
            }
            self.proceed(now);
        }
    }

    /// A component is connected and has said what it holds. From then on it answers each snapshot, prepare and abort
    /// once, in their order.
    pub fn handle_attached(&mut self, attachment: Attachment) {
        let nodes = (!attachment.nodes.is_empty()).then(|| {
            let schema = &self.facts.schema;
            let found = attachment.nodes.iter().filter_map(|name| {
                let (module, name) = name.split_once(':')?;
                schema.child(None, schema.module_by_name(module)?, name)
            });
            found.collect()
        });
        self.components.attach(attachment, nodes, (self.revision, &self.running), &mut self.outputs);
        if self.told.wants().next().is_some() {
            self.ask_to_be_told();
        }
    }

    /// What a component of this name holds that needs no snapshot: the last revision that concerned it, as far as that is
    /// known.
    pub fn meant_for(&self, name: &str) -> u64 {
        self.components.meant_for(name).unwrap_or(self.revision)
    }

    /// A component's connection is gone, or it does not answer on it.
    pub fn handle_detached(&mut self, component: ComponentId, now: Now) {
        self.components.detach(component, now, &mut self.outputs);
        self.forget_told(component, now);
        if let Some(Commit { stage: Stage::Preparing(prepare), .. }) = &mut self.commit {
            prepare.lost(component);
        }
        self.advance_prepare(now);
        self.prepare_held(now);
        self.proceed(now);
        for read in self.reads.lost(component) {
            self.answer_without(read);
        }
        self.pulls_lost(component, now);
        for (session, answer) in self.executions.lost(component) {
            self.reply(session, answer);
        }
    }

    /// A component can apply what it was asked to prepare.
    pub fn handle_planned(&mut self, component: ComponentId, now: Now) {
        if self.components.planned(component)
            && let Some(Commit { stage: Stage::Preparing(prepare), .. }) = &mut self.commit
        {
            prepare.planned(component);
            self.advance_prepare(now);
            self.proceed(now);
        }
    }

    /// A component does not take a snapshot, or a change that it was asked to prepare.
    pub fn handle_rejected(&mut self, component: ComponentId, errors: Vec<Error>, now: Now) {
        let errors = in_one_answer(errors);
        let current = (self.revision, &self.running);
        let refused = self.components.rejected(component, &errors, (current, now), &mut self.outputs);
        let Some(Commit { stage: Stage::Preparing(prepare), cause, .. }) = &mut self.commit else { return };
        match refused {
            Refused::Change if cause.is_way_back() => {
                prepare.lost(component);
                let component = self.components.name(component).to_owned();
                self.outputs.push_back(Output::Event(Event::RollbackRefused { component, errors }));
            }
            Refused::Change => prepare.rejected(component, self.components.name(component), errors),
            Refused::Snapshot => prepare.lost(component),
            Refused::Nothing => return,
        }
        self.advance_prepare(now);
        self.proceed(now);
    }

    /// A component has forgotten what it had prepared.
    pub fn handle_aborted(&mut self, component: ComponentId) {
        self.components.aborted(component);
    }

    /// A component has taken a snapshot over.
    pub fn handle_loaded(&mut self, component: ComponentId) {
        self.components.loaded(component, (self.revision, &self.running), &mut self.outputs);
    }

    /// An [`Output::Record`] is durable, or could not be made so.
    pub fn handle_recorded(&mut self, ticket: Ticket, result: Result<(), Error>, now: Now) {
        if !self.group_recorded(ticket, &result, now)
            && let Some(Commit { stage: Stage::Unrecorded { ticket: Some(recording), .. }, .. }) =
                &self.commit
            && *recording == ticket
        {
            match result {
                Ok(()) => self.recorded_at_last(),
                Err(error) => self.record_later(&error, now),
            }
        }
        self.proceed(now);
    }

    /// What a session may do, by the rules that run now.
    pub(crate) fn access(&mut self, session: SessionId) -> Access {
        match self.sessions.get(session) {
            Some(session) => self.nacm.access(&self.facts.schema, &self.running, &session.peer),
            None => Access::FULL,
        }
    }

    pub(crate) fn user_of(&self, session: SessionId) -> String {
        self.sessions.get(session).map(|session| session.peer.user.clone()).unwrap_or_default()
    }

    fn may_invoke(&mut self, session: SessionId, request: &Request) -> Result<(), Error> {
        if let Request::Execute(call) = request {
            return self.may_execute(session, call);
        }
        let Some((module, operation)) = nacm::operation_of(request) else { return Ok(()) };
        let access = self.access(session);
        access.may_invoke(module, operation)
    }

    pub(crate) fn ticket(&mut self) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        ticket
    }

    pub(crate) fn reply(&mut self, session: SessionId, answer: Result<Reply, Vec<Error>>) {
        let failed = u32::from(answer.is_err());
        if let Err(errors) = &answer
            && let Some(why) = self.nacm.count_denied(errors)
        {
            let user = self.user_of(session);
            self.outputs.push_back(Output::Event(Event::Denied { session, user, why: why.clone() }));
        }
        if !self.sessions.count(session, |counts| counts.errors = counts.errors.saturating_add(failed)) {
            return;
        }
        let reply = answer.unwrap_or_else(Reply::Errors);
        self.outputs.push_back(Output::Reply { session, reply });
    }

    fn schema_index(&self, known: Option<&str>) -> Reply {
        let content_id = self.facts.content_id.clone();
        let index = (known != Some(content_id.as_str())).then(|| Arc::clone(&self.facts.schema_index));
        Reply::SchemaIndex { content_id, index }
    }
}
