//! A core with the modules of the product, everything around it played, a clock that stands until it is moved, and
//! receivers that keep a copy of what they are told.

#![allow(dead_code, unused_imports, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)] // each test file uses a part; a failed set-up is a failed test

mod copy;

pub use copy::Copy;

use cats_mgmtd_core::{
    CommitOptions, Config, Core, Datastore, DefaultOperation, Edit, ErrorOption, Facts, Filter, Limits,
    Message, NmdaDatastore, Now, Output, Peer, Reply, Request, Selection, SessionId, Taken, TestOption, Told,
    Transport,
};
use cats_mgmtd_netconf::escape_text;
use cats_yang_schema::{ModuleSource, default_modules, load};
use cats_yang_tree::error::{Error, ErrorInfo, StructureLeaf};
use cats_yang_tree::operation::Call;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{ChangeSet, Defaults, Tree, diff, roxmltree, validate};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub const NS: &str = "urn:probe:bench";
pub const SN: &str = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications";
pub const YP: &str = "urn:ietf:params:xml:ns:yang:ietf-yang-push";
pub const DS: &str = "urn:ietf:params:xml:ns:yang:ietf-datastores";
const NC: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

/// 2026-11-30T12:00:00Z.
pub const NOON_US: u64 = 1_796_040_000_000_000;

pub fn schema() -> Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    let compiled = || {
        let mut modules = default_modules();
        modules.push(ModuleSource::extra(include_str!("../daemon/probe-bench.yang")).unwrap());
        load(&modules).unwrap().schema().clone()
    };
    Arc::clone(SCHEMA.get_or_init(|| compiled().into()))
}

pub struct World {
    pub core: Core,
    pub schema: Arc<Schema>,
    pub now: Now,
    replies: BTreeMap<SessionId, VecDeque<Reply>>,
    /// What was told and not taken yet.
    pub queued: BTreeMap<SessionId, VecDeque<Message>>,
    /// Sessions that take nothing.
    pub stalled: Vec<SessionId>,
    /// What receivers were told, with the time of the monotonic clock since the start.
    pub told: BTreeMap<SessionId, Vec<(Duration, String)>>,
    /// What components were asked to tell of, each time.
    pub watched: Vec<Vec<String>>,
    start: Instant,
    journal: Vec<Arc<ChangeSet>>,
}

impl World {
    pub fn new() -> Self {
        let schema = schema();
        let now = Now { instant: Instant::now(), unix_us: NOON_US };
        let facts = Facts {
            schema: Arc::clone(&schema),
            content_id: "c-1".into(),
            schema_index: Arc::from("{}"),
            capabilities: Vec::new(),
            modules: Vec::new(),
            components: Vec::new(),
            limits: Limits { sessions: 1000, sessions_per_user: 1000 },
            writable_running: false,
        };
        let core = Core::new(facts, Tree::new(), 0, now);
        let mut world = Self {
            core,
            schema,
            now,
            replies: BTreeMap::new(),
            queued: BTreeMap::new(),
            stalled: Vec::new(),
            told: BTreeMap::new(),
            watched: Vec::new(),
            start: now.instant,
            journal: Vec::new(),
        };
        world.run();
        world
    }

    /// A session of an administrator, whom no rule binds.
    pub fn administrator(&mut self) -> SessionId {
        self.open("root", true)
    }

    pub fn open(&mut self, user: &str, recovery: bool) -> SessionId {
        // Rules are for members of groups alone, even those for all groups (RFC 8341 section 3.4.4).
        let (transport, groups) = (Transport::Ssh, vec!["all".to_owned()]);
        let peer = Peer { user: user.into(), transport, source_host: None, groups, recovery };
        let session = self.core.open_session(peer, self.now).unwrap();
        self.run();
        session
    }

    pub fn drop_session(&mut self, session: SessionId) {
        self.core.handle_dropped(session, self.now);
        self.run();
    }

    pub fn ask(&mut self, session: SessionId, request: Request) -> Reply {
        self.core.handle_request(session, request, self.now);
        self.run();
        self.replies.get_mut(&session).and_then(VecDeque::pop_front).expect("a reply")
    }

    pub fn ok(&mut self, session: SessionId, request: Request) {
        let reply = self.ask(session, request);
        assert_eq!(reply, Reply::Ok);
    }

    /// Merges content of `bench` into the candidate.
    pub fn edit(&mut self, session: SessionId, content: &str) {
        self.edit_top(session, &format!("<bench xmlns=\"{NS}\">{content}</bench>"));
    }

    pub fn edit_top(&mut self, session: SessionId, content: &str) {
        let config = Config::new(format!(
            "<config xmlns=\"{NC}\" xmlns:nc=\"{NC}\" xmlns:yang=\"urn:ietf:params:xml:ns:yang:1\">{content}</config>"
        ));
        let edit = Edit {
            target: Datastore::Candidate,
            default_operation: DefaultOperation::Merge,
            test_option: TestOption::Set,
            error_option: ErrorOption::RollbackOnError,
            config,
        };
        self.ok(session, Request::EditConfig(edit));
    }

    pub fn commit(&mut self, session: SessionId) {
        self.ok(session, Request::Commit(CommitOptions::default()));
    }

    /// Changes `bench` in running.
    pub fn change(&mut self, session: SessionId, content: &str) {
        self.edit(session, content);
        self.commit(session);
    }

    /// Asks for an RPC about subscriptions.
    pub fn rpc(&mut self, session: SessionId, xml: &str) -> Reply {
        let document = roxmltree::Document::parse(xml).unwrap();
        let element = document.root_element();
        let module = self.schema.module_by_namespace(element.tag_name().namespace().unwrap()).unwrap();
        let rpc = self.schema.child(None, module, element.tag_name().name()).expect("an RPC of the schema");
        let call = Call::rpc(&self.schema, rpc, element).unwrap();
        self.ask(session, Request::Execute(Box::new(call)))
    }

    /// The output of an RPC that succeeds.
    pub fn rpc_output(&mut self, session: SessionId, xml: &str) -> String {
        match self.rpc(session, xml) {
            Reply::Ok => String::new(),
            Reply::Executed(executed) => executed.to_xml(&self.schema).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub fn refused(&mut self, session: SessionId, xml: &str) -> Error {
        match self.rpc(session, xml) {
            Reply::Errors(mut errors) => errors.remove(0),
            other => panic!("{other:?}"),
        }
    }

    /// Establishes a subscription with these parameters; its id.
    pub fn establish(&mut self, session: SessionId, parameters: &str) -> u32 {
        match self.rpc(session, &establish(parameters)) {
            Reply::Executed(executed) => {
                let xml = executed.to_xml(&self.schema).unwrap();
                let text = xml.split_once('>').unwrap().1.split('<').next().unwrap();
                text.parse().unwrap()
            }
            other => panic!("{other:?}"),
        }
    }

    pub fn data(&mut self, session: SessionId, datastore: NmdaDatastore, filter: Option<Filter>) -> String {
        let defaults = match datastore {
            NmdaDatastore::Operational => Defaults::ReportAll,
            NmdaDatastore::Running | NmdaDatastore::Candidate | NmdaDatastore::Intended => Defaults::Explicit,
        };
        let selection = Selection { filter, defaults, ..Selection::default() };
        match self.ask(session, Request::GetData { datastore, selection }) {
            Reply::Data(reading) => reading.to_xml(&self.schema).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Lets time pass, and all happen that is due meanwhile.
    pub fn pass(&mut self, time: Duration) {
        let until = self.now.instant + time;
        while let Some((due, _)) = self.core.poll_timeout().filter(|(due, _)| *due <= until) {
            self.advance(due.saturating_duration_since(self.now.instant));
        }
        self.advance(until - self.now.instant);
    }

    pub fn ms(&mut self, ms: u64) {
        self.pass(Duration::from_millis(ms));
    }

    fn advance(&mut self, time: Duration) {
        self.now.instant += time;
        self.now.unix_us += u64::try_from(time.as_micros()).unwrap();
        self.core.handle_timeout(self.now);
        self.run();
    }

    pub fn stall(&mut self, session: SessionId) {
        self.stalled.push(session);
    }

    pub fn unstall(&mut self, session: SessionId) {
        self.stalled.retain(|stalled| *stalled != session);
        self.run();
    }

    /// What a receiver was told since it was last asked for.
    pub fn heard(&mut self, session: SessionId) -> Vec<String> {
        self.told.remove(&session).unwrap_or_default().into_iter().map(|(_, text)| text).collect()
    }

    /// The names of the notifications, and when they came, ms since the start.
    pub fn heard_when(&mut self, session: SessionId) -> Vec<(u128, String)> {
        let told = self.told.remove(&session).unwrap_or_default();
        told.into_iter().map(|(at, text)| (at.as_millis(), name_of(&text))).collect()
    }

    /// Has the next message of a session taken that takes any; false when there is none.
    fn take(&mut self) -> bool {
        let waits = |(session, queue): &(&SessionId, &VecDeque<Message>)| {
            !queue.is_empty() && !self.stalled.contains(session)
        };
        let Some(session) = self.queued.iter().find(waits).map(|(session, _)| *session) else { return false };
        let message = self.queued.get_mut(&session).and_then(VecDeque::pop_front).unwrap();
        let mut taken = Taken { messages: 1, ..Taken::default() };
        match message.told(&self.schema) {
            Told::Text(text) => {
                taken.sent = 1;
                let at = self.now.instant - self.start;
                self.told.entry(session).or_default().push((at, text));
            }
            Told::Unwanted => {}
            Told::Denied => taken.denied = 1,
        }
        self.core.handle_taken(session, taken, self.now);
        true
    }

    /// Carries out what follows of an input that the core was given directly.
    pub fn run(&mut self) {
        self.carry_out();
        while self.take() {
            self.carry_out();
        }
    }

    fn carry_out(&mut self) {
        while let Some(output) = self.core.poll_output() {
            match output {
                Output::Reply { session, reply } => self.replies.entry(session).or_default().push_back(reply),
                Output::Validate { ticket, base, new } => {
                    let changes = diff(&base, &new);
                    let verdict = validate(&self.schema, &base, new, changes);
                    self.core.handle_validated(ticket, verdict, self.now);
                }
                Output::Check { ticket, .. } => self.core.handle_checked(ticket, Vec::new(), self.now),
                Output::Record { ticket, group } => {
                    self.journal.extend(group.into_iter().map(|recorded| recorded.changes));
                    self.core.handle_recorded(ticket, Ok(()), self.now);
                }
                Output::Notify { session, message } => {
                    self.queued.entry(session).or_default().push_back(message);
                }
                Output::Event(event) => self.core.handle_event(&event, self.now),
                Output::Keep { events, .. } => {
                    let through = events.last().map_or(0, |event| event.seq);
                    self.core.handle_kept(through, Ok(()), self.now);
                }
                Output::Watch { paths, .. } => self.watched.push(paths),
                Output::End { .. } | Output::Listens { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

pub fn establish(parameters: &str) -> String {
    format!(
        "<establish-subscription xmlns=\"{SN}\" xmlns:yp=\"{YP}\" xmlns:ds=\"{DS}\" xmlns:pb=\"{NS}\">{parameters}\
         </establish-subscription>"
    )
}

/// `rpc` with the id as its only parameter.
pub fn with_id(namespace: &str, rpc: &str, id: u32) -> String {
    format!("<{rpc} xmlns=\"{namespace}\"><id>{id}</id></{rpc}>")
}

pub fn datastore(name: &str) -> String {
    format!("<yp:datastore>ds:{name}</yp:datastore>")
}

pub fn subtree(content: &str) -> String {
    format!(
        "<yp:datastore-subtree-filter><bench xmlns=\"{NS}\">{content}</bench></yp:datastore-subtree-filter>"
    )
}

pub fn xpath(select: &str) -> String {
    format!("<yp:datastore-xpath-filter>{}</yp:datastore-xpath-filter>", escape_text(select))
}

pub fn on_change(parameters: &str) -> String {
    format!("<yp:on-change>{parameters}</yp:on-change>")
}

pub fn periodic(parameters: &str) -> String {
    format!("<yp:periodic>{parameters}</yp:periodic>")
}

/// The name of the notification in a `<notification>`.
pub fn name_of(text: &str) -> String {
    let document = roxmltree::Document::parse(text).unwrap();
    let mut inner = document.root_element().children().filter(roxmltree::Node::is_element);
    inner.nth(1).unwrap().tag_name().name().to_owned()
}

/// The leafs of the structure that an error has.
pub fn hints(error: &Error) -> Vec<(String, String)> {
    let leafs = error.info.iter().find_map(|info| match info {
        ErrorInfo::Structure(structure) => Some(structure.leafs.clone()),
        _ => None,
    });
    let text = |leaf| match leaf {
        StructureLeaf::Text(text) | StructureLeaf::Identity(text) => text,
    };
    leafs.unwrap_or_default().into_iter().map(|(name, leaf)| (name, text(leaf))).collect()
}
