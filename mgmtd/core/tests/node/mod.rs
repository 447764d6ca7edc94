//! A core with everything around it played: an oracle, a journal and components that answer as they are told, and
//! a clock that stands until it is moved.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)] // each test file uses a part; a failed set-up is a failed test

use cats_mgmtd_core::{
    Alarm, Attachment, CommitOptions, ComponentId, Config, Core, Datastore, DefaultOperation, Edit, End,
    ErrorOption, Event, Facts, Limits, Logged, Message, ModuleText, Now, Output, Peer, Pending, Recorded,
    Reply, Request, Selection, SessionId, Taken, TestOption, Ticket, Told, Transport,
};
use cats_yang_tree::build::{SchemaBuilder, Ty};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{ChangeSet, Defaults, Ops, Tree, diff, validate, view};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const NS: &str = "urn:probe:bench";

/// The pattern of `iana-crypt-hash`, with fewer forms.
const CRYPT_HASH: &str = r"$0$.*|$6$(rounds=\d+$)?[a-zA-Z0-9./]{1,16}$[a-zA-Z0-9./]{86}";

/// A part of the module `probe-bench`.
pub fn schema() -> Arc<Schema> {
    let schema = SchemaBuilder::new().module("probe-bench", NS, "pb", |m| {
        m.container("bench", |c| {
            c.leaf("knob", Ty::uint32());
            c.leaf("mode", Ty::string()).default("auto");
            c.leaf("secret", Ty::string().pattern(CRYPT_HASH));
            c.list("item", &["name"], |l| {
                l.leaf("name", Ty::string().length(1, 64));
                l.leaf("secret", Ty::string().pattern(CRYPT_HASH));
                l.leaf("size", Ty::uint32().range(1, 1_000_000));
                l.leaf("enabled", Ty::boolean()).default("true");
                l.state(|s| {
                    s.leaf("hits", Ty::uint32());
                });
            });
            c.state(|s| {
                s.container("counters", |k| {
                    k.leaf("seen", Ty::uint32());
                });
                s.list("meter", &["room", "number"], |l| {
                    l.leaf("room", Ty::string());
                    l.leaf("number", Ty::uint32());
                });
            });
        });
    });
    Arc::new(schema.build().unwrap())
}

pub struct Node {
    pub core: Core,
    pub schema: Arc<Schema>,
    pub now: Now,
    /// Replies by session, in order.
    pub replies: BTreeMap<SessionId, VecDeque<Reply>>,
    pub ended: Vec<(SessionId, End)>,
    pub events: Vec<Event>,
    /// Outputs that wait for an answer of the test, when the answer is not automatic.
    pub held: VecDeque<Output>,
    /// What components were told.
    pub told: Vec<Output>,
    /// The oracle refuses a configuration whose `knob` is 666, and answers at once unless held.
    pub hold_oracle: bool,
    pub hold_checks: bool,
    pub hold_journal: bool,
    /// Revisions that were made durable.
    pub journal: Vec<(u64, Arc<ChangeSet>)>,
    /// The confirmed commit that waits by the last record.
    pub pending: Option<Arc<Pending>>,
    /// What sessions were told unasked.
    pub notices: BTreeMap<SessionId, Vec<String>>,
    /// Sessions that take nothing of it, and what is out to them.
    pub deaf: BTreeMap<SessionId, VecDeque<Message>>,
    pub listening: Vec<(SessionId, bool)>,
    /// Events that are kept, if they can be, and the oldest that is wanted still.
    pub kept: Vec<Arc<Logged>>,
    pub oldest: u64,
    pub disk_is_full: bool,
}

impl Node {
    pub fn new() -> Self {
        Self::with(Limits::default(), &[])
    }

    pub fn with(limits: Limits, components: &[&str]) -> Self {
        Self::of(schema(), limits, components, false)
    }

    /// One whose running is written directly, too.
    pub fn writable() -> Self {
        Self::of(schema(), Limits::default(), &[], true)
    }

    pub fn of(schema: Arc<Schema>, limits: Limits, components: &[&str], writable_running: bool) -> Self {
        let now = Now { instant: Instant::now(), unix_us: 1_000_000 };
        let facts = Facts {
            schema: Arc::clone(&schema),
            content_id: "c-1".into(),
            schema_index: Arc::from("{\"nodes\":[]}"),
            capabilities: vec!["urn:ietf:params:netconf:base:1.1".into()],
            modules: vec![
                text("probe-bench", "2026-11-29"),
                text("twice", "2020-01-01"),
                text("twice", "2021-01-01"),
            ],
            components: components.iter().map(ToString::to_string).collect(),
            limits,
            writable_running,
        };
        let core = Core::new(facts, Tree::new(), 0, now);
        let mut node = Self {
            core,
            schema,
            now,
            replies: BTreeMap::new(),
            ended: Vec::new(),
            events: Vec::new(),
            held: VecDeque::new(),
            told: Vec::new(),
            hold_oracle: false,
            hold_checks: false,
            hold_journal: false,
            journal: Vec::new(),
            pending: None,
            notices: BTreeMap::new(),
            deaf: BTreeMap::new(),
            listening: Vec::new(),
            kept: Vec::new(),
            oldest: 0,
            disk_is_full: false,
        };
        node.run();
        node
    }

    pub fn open(&mut self, user: &str) -> SessionId {
        self.try_open(user).unwrap()
    }

    pub fn try_open(&mut self, user: &str) -> Result<SessionId, Error> {
        let peer = Peer {
            user: user.into(),
            transport: Transport::Ssh,
            source_host: Some("192.0.2.1".into()),
            groups: Vec::new(),
            recovery: false,
        };
        self.open_as(peer)
    }

    pub fn open_as(&mut self, peer: Peer) -> Result<SessionId, Error> {
        let session = self.core.open_session(peer, self.now);
        self.run();
        session
    }

    /// Asks and takes the reply, which is due at once.
    pub fn ask(&mut self, session: SessionId, request: Request) -> Reply {
        self.send(session, request);
        self.reply(session).unwrap_or_else(|| panic!("no reply to session {session}"))
    }

    /// Asks; the reply may come later.
    pub fn send(&mut self, session: SessionId, request: Request) {
        self.core.handle_request(session, request, self.now);
        self.run();
    }

    pub fn reply(&mut self, session: SessionId) -> Option<Reply> {
        self.replies.get_mut(&session)?.pop_front()
    }

    pub fn ok(&mut self, session: SessionId, request: Request) {
        let asked = format!("{request:?}");
        assert_eq!(self.ask(session, request), Reply::Ok, "{asked}");
    }

    pub fn refused(&mut self, session: SessionId, request: Request) -> Error {
        first_error(self.ask(session, request))
    }

    pub fn drop_session(&mut self, session: SessionId) {
        self.core.handle_dropped(session, self.now);
        self.run();
    }

    pub fn pass(&mut self, time: Duration) {
        self.now.instant += time;
        self.now.unix_us += u64::try_from(time.as_micros()).unwrap();
        self.core.handle_timeout(self.now);
        self.run();
    }

    pub fn attach(&mut self, component: u32, holds: Option<u64>) {
        self.attach_for(component, holds, &[]);
    }

    /// A component that these top-level nodes concern.
    pub fn attach_for(&mut self, component: u32, holds: Option<u64>, nodes: &[&str]) {
        let nodes = nodes.iter().map(ToString::to_string).collect();
        let attachment =
            Attachment { component: ComponentId(component), name: "engine".into(), holds, nodes };
        self.core.handle_attached(attachment);
        self.run();
    }

    pub fn detach(&mut self, component: u32) {
        self.core.handle_detached(ComponentId(component), self.now);
        self.run();
    }

    pub fn planned(&mut self, component: u32) {
        self.core.handle_planned(ComponentId(component), self.now);
        self.run();
    }

    /// A component's state, as answer to a question.
    pub fn state(&mut self, ticket: Ticket, state: serde_json::Value) {
        let ops = Ops::from_state_json(&self.schema, &state).unwrap();
        self.core.handle_state(ticket, cats_yang_tree::edit(&Tree::new(), &self.schema, ops), self.now);
    }

    pub fn rejected(&mut self, component: u32, errors: Vec<Error>) {
        self.core.handle_rejected(ComponentId(component), errors, self.now);
        self.run();
    }

    pub fn aborted(&mut self, component: u32) {
        self.core.handle_aborted(ComponentId(component));
        self.run();
    }

    pub fn loaded(&mut self, component: u32) {
        self.core.handle_loaded(ComponentId(component));
        self.run();
    }

    /// Answers the oldest held output as the oracle, the checks or the journal would.
    pub fn answer_held(&mut self) {
        match self.held.pop_front() {
            Some(Output::Validate { ticket, base, new }) => self.judge(ticket, &base, new),
            Some(Output::Check { ticket, .. }) => self.core.handle_checked(ticket, Vec::new(), self.now),
            Some(Output::Record { ticket, group }) => self.record(ticket, group),
            other => panic!("nothing of that kind is held: {other:?}"),
        }
        self.run();
    }

    /// Fails the oldest held output.
    pub fn fail_held(&mut self, error: Error) {
        match self.held.pop_front() {
            Some(Output::Validate { ticket, .. }) => {
                self.core.handle_validated(ticket, Err(vec![error]), self.now);
            }
            Some(Output::Check { ticket, .. }) => self.core.handle_checked(ticket, vec![error], self.now),
            Some(Output::Record { ticket, .. }) => self.core.handle_recorded(ticket, Err(error), self.now),
            other => panic!("nothing of that kind is held: {other:?}"),
        }
        self.run();
    }

    pub fn running(&self) -> String {
        xml_of(&self.schema, self.core.running().1)
    }

    pub fn config(&mut self, session: SessionId, source: Datastore) -> String {
        match self.ask(session, Request::GetConfig { source, selection: Selection::default() }) {
            Reply::Data(reading) => reading.to_xml(&self.schema).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub fn alarms(&self) -> Vec<Alarm> {
        self.core.alarms().cloned().collect()
    }

    fn record(&mut self, ticket: Ticket, group: Vec<Recorded>) {
        for Recorded { commit, changes, pending, .. } in group {
            self.journal.push((commit.revision, changes));
            self.pending = pending;
        }
        self.core.handle_recorded(ticket, Ok(()), self.now);
    }

    fn judge(&mut self, ticket: Ticket, base: &Tree, new: Tree) {
        let changes = diff(base, &new);
        let verdict = if xml_of(&self.schema, &new).contains(">666<") {
            Err(vec![
                Error::application(ErrorTag::OperationFailed, "666 is not a knob").app_tag("must-violation"),
            ])
        } else {
            validate(&self.schema, base, new, changes)
        };
        self.core.handle_validated(ticket, verdict, self.now);
    }

    /// Carries out what follows from an input that a test has given by itself.
    pub fn drain(&mut self) {
        self.run();
    }

    fn run(&mut self) {
        while let Some(output) = self.core.poll_output() {
            match output {
                Output::Reply { session, reply } => self.replies.entry(session).or_default().push_back(reply),
                Output::End { session, why } => self.ended.push((session, why)),
                Output::Validate { ticket, base, new } if !self.hold_oracle => self.judge(ticket, &base, new),
                Output::Check { ticket, .. } if !self.hold_checks => {
                    self.core.handle_checked(ticket, Vec::new(), self.now);
                }
                Output::Record { ticket, group } if !self.hold_journal => self.record(ticket, group),
                Output::Validate { .. } | Output::Check { .. } | Output::Record { .. } => {
                    self.held.push_back(output)
                }
                Output::Prepare { .. }
                | Output::Apply { .. }
                | Output::Abort { .. }
                | Output::Snapshot { .. }
                | Output::Disconnect { .. }
                | Output::Fetch { .. }
                | Output::Store { .. }
                | Output::Remove { .. }
                | Output::Recall { .. }
                | Output::ReadState { .. }
                | Output::Watch { .. }
                | Output::Execute { .. } => self.told.push(output),
                Output::Notify { session, message } => match self.deaf.get_mut(&session) {
                    Some(out) => out.push_back(message),
                    None => self.take(session, &message),
                },
                Output::Listens { session, listens } => self.listening.push((session, listens)),
                Output::Keep { events, oldest } => self.keep_events(events, oldest),
                Output::Event(event) => {
                    self.core.handle_event(&event, self.now);
                    self.events.push(event);
                }
            }
        }
    }

    fn take(&mut self, session: SessionId, message: &Message) {
        let mut taken = Taken { messages: 1, ..Taken::default() };
        match message.told(&self.schema) {
            Told::Text(text) => {
                taken.sent = 1;
                self.notices.entry(session).or_default().push(text);
            }
            Told::Unwanted => {}
            Told::Denied => taken.denied = 1,
        }
        self.core.handle_taken(session, taken, self.now);
    }

    /// A session that was deaf takes what is out to it, and what comes after.
    pub fn hear(&mut self, session: SessionId) {
        for message in self.deaf.remove(&session).unwrap_or_default() {
            self.take(session, &message);
        }
        self.run();
    }

    fn keep_events(&mut self, events: Vec<Arc<Logged>>, oldest: u64) {
        let through = events.last().unwrap().seq;
        let result = if self.disk_is_full { Err("no space left".to_owned()) } else { Ok(()) };
        if result.is_ok() {
            self.kept.extend(events);
            self.oldest = oldest;
        }
        self.core.handle_kept(through, result, self.now);
    }

    /// What a session was told since the last time.
    pub fn told_to(&mut self, session: SessionId) -> Vec<String> {
        self.notices.remove(&session).unwrap_or_default()
    }
}

fn text(name: &str, revision: &str) -> ModuleText {
    ModuleText {
        name: name.into(),
        revision: Some(revision.into()),
        namespace: NS.into(),
        yang: Arc::from(format!("module {name} {{}}")),
    }
}

pub fn first_error(reply: Reply) -> Error {
    match reply {
        Reply::Errors(mut errors) => errors.remove(0),
        other => panic!("expected an error, got {other:?}"),
    }
}

pub fn xml_of(schema: &Schema, tree: &Tree) -> String {
    view(tree, schema, Defaults::Explicit).to_xml()
}

/// A commit without parameters.
pub fn commit() -> Request {
    Request::Commit(CommitOptions::default())
}

/// A merge into the candidate.
pub fn edit(content: &str) -> Request {
    Request::EditConfig(edit_with(content))
}

pub fn edit_with(content: &str) -> Edit {
    Edit {
        target: Datastore::Candidate,
        default_operation: DefaultOperation::Merge,
        test_option: TestOption::TestThenSet,
        error_option: ErrorOption::StopOnError,
        config: config(content),
    }
}

/// A `<config>` with the content of `bench`.
pub fn config(content: &str) -> Config {
    Config::new(format!(
        "<config xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\" \
         xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><bench xmlns=\"{NS}\">{content}</bench></config>"
    ))
}

pub fn knob(value: u32) -> Request {
    edit(&format!("<knob>{value}</knob>"))
}

pub fn lock(target: Datastore) -> Request {
    Request::Lock { target }
}

pub fn unlock(target: Datastore) -> Request {
    Request::Unlock { target }
}

pub fn holder(error: &Error) -> Option<u32> {
    error.info.iter().find_map(|info| match info {
        ErrorInfo::SessionId(id) => Some(*id),
        _ => None,
    })
}
