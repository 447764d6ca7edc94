//! What the core wants done, in order.

use crate::delivery::Message;
use crate::notices::Logged;
use crate::reading::Reading;
#[cfg(doc)]
use crate::types::Config;
use crate::types::{ComponentId, End, ReadAs, Reply, SessionId, Ticket, Transport};
use cats_yang_tree::error::Error;
use cats_yang_tree::{ChangeSet, Tree};
use std::fmt;
use std::sync::Arc;

/// One thing to do. Those with a [`Ticket`] are answered by an input that repeats it.
#[derive(Debug, Clone)]
#[allow(missing_docs)] // fields of the same name as the types that they hold
pub enum Output {
    /// Answer the session's request in progress.
    Reply { session: SessionId, reply: Reply },
    /// Close the session's transport; the core has forgotten it.
    End { session: SessionId, why: End },
    /// Judge what `new` would be in place of `base`, which runs: [`crate::Core::handle_validated`].
    Validate { ticket: Ticket, base: Tree, new: Tree },
    /// Judge a change by the rules that YANG cannot say: [`crate::Core::handle_checked`].
    Check { ticket: Ticket, old: Tree, new: Tree, changes: Arc<ChangeSet> },
    /// Ask a component for a plan: [`crate::Core::handle_planned`] or [`crate::Core::handle_rejected`].
    Prepare { component: ComponentId, revision: u64, base: u64, changes: Arc<ChangeSet> },
    /// Tell a component to act on what it prepared.
    Apply { component: ComponentId, revision: u64 },
    /// Tell a component to forget what it prepared: [`crate::Core::handle_aborted`].
    Abort { component: ComponentId, revision: u64 },
    /// Give a component the whole configuration: [`crate::Core::handle_loaded`] or
    /// [`crate::Core::handle_rejected`].
    Snapshot { component: ComponentId, revision: u64, tree: Tree },
    /// Close the connection to a component that did not answer in time; the core has forgotten it.
    Disconnect { component: ComponentId },
    /// Make commits durable, all of them or none: [`crate::Core::handle_recorded`].
    Record { ticket: Ticket, group: Vec<Recorded> },
    /// Read a component's state at or below these paths: [`crate::Core::handle_state`].
    ReadState { ticket: Ticket, component: ComponentId, paths: Vec<String> },
    /// Have a component tell what changes below these nodes of its state, and of no others: [`crate::Core::handle_told`].
    Watch { component: ComponentId, paths: Vec<String> },
    /// Have a component carry an operation out, an RPC by `module:name` or an action by its instance path, with the input
    /// as an object of RFC 7951: [`crate::Core::handle_executed`].
    Execute { ticket: Ticket, component: ComponentId, operation: String, input: String },
    /// Read the configuration in a file of this user, as [`Config::read`] does: [`crate::Core::handle_fetched`].
    Fetch { ticket: Ticket, user: String, url: String, read_as: ReadAs },
    /// Write a `<config>` element with this content into a file of this user, in place of what it held: [`crate::Core::handle_stored`].
    Store { ticket: Ticket, user: String, url: String, content: Reading },
    /// Delete a file of this user: [`crate::Core::handle_stored`].
    Remove { ticket: Ticket, user: String, url: String },
    /// Make up the configurations of these revisions, on the way back from running, which has this revision:
    /// [`crate::Core::handle_recalled`].
    Recall { ticket: Ticket, revisions: Vec<u64>, running: (u64, Tree) },
    /// Keep events, in their order, and let go of those before `oldest`: [`crate::Core::handle_kept`].
    Keep { events: Vec<Arc<Logged>>, oldest: u64 },
    /// Tell a session something unasked, in order: [`crate::Core::handle_taken`] when it is written.
    Notify { session: SessionId, message: Message },
    /// There may be something to tell to the session from now on, or not: it is not idle while there is.
    Listens { session: SessionId, listens: bool },
    /// Something to be logged, once, and then to be told: [`crate::Core::handle_event`].
    Event(Event),
}

/// A commit to be made durable. Without changes the revision is the last one, and only `pending` is new.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Who and when.
    pub commit: CommitRecord,
    /// What it changes.
    pub changes: Arc<ChangeSet>,
    /// The confirmed commit that waits after it.
    pub pending: Option<Arc<Pending>>,
    /// The configuration after it.
    pub running: Tree,
}

/// Who committed what, when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRecord {
    /// The revision that running has after it.
    pub revision: u64,
    /// Who asked for it.
    pub by: Author,
    /// Microseconds since 1970-01-01T00:00:00Z.
    pub unix_us: u64,
    /// What kind of commit it is.
    pub kind: Kind,
    /// What the user says of it.
    pub comment: Option<String>,
}

/// Who changes running.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // fields of the same name as the types that they hold
pub enum Author {
    /// A session, and its user.
    Session { session: SessionId, user: String, transport: Transport },
    /// This daemon, when a confirmed commit is not confirmed.
    Server,
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Author::Session { session, user, .. } => write!(f, "{user} in session {session}"),
            Author::Server => f.write_str("the server"),
        }
    }
}

/// The kinds of commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Of the candidate.
    Commit,
    /// Of the candidate, until it is confirmed.
    ConfirmedCommit,
    /// Of what was written to running directly.
    Edit,
    /// Back to before a confirmed commit, on request.
    Cancel,
    /// Back to before a confirmed commit whose time had run out, or whose session had ended.
    Rollback,
    /// The same when the daemon started.
    Recovery,
}

impl Kind {
    const ALL: [Kind; 6] =
        [Kind::Commit, Kind::ConfirmedCommit, Kind::Edit, Kind::Cancel, Kind::Rollback, Kind::Recovery];

    /// Its name in `cats-system`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Commit => "commit",
            Kind::ConfirmedCommit => "confirmed-commit",
            Kind::Edit => "edit",
            Kind::Cancel => "cancel",
            Kind::Rollback => "rollback",
            Kind::Recovery => "recovery",
        }
    }

    /// The one of this name.
    pub fn of(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A confirmed commit that waits for its confirmation, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The changes from running to what it was before.
    pub undo: Arc<ChangeSet>,
    /// When its time is up: microseconds since 1970-01-01T00:00:00Z.
    pub deadline_us: u64,
    /// The time that it was given, seconds.
    pub timeout_s: u32,
    /// Absent: it ends with its session.
    pub persist: Option<String>,
}

/// What happens to a confirmed commit, in the words of RFC 6470 section 2.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmEvent {
    /// It waits from now on.
    Start {
        /// For so long, seconds.
        timeout_s: u32,
    },
    /// It was followed by another one.
    Extend {
        /// It waits for so long from now on, seconds.
        timeout_s: u32,
    },
    /// It was confirmed.
    Complete,
    /// It was taken back on request, or because its session ended.
    Cancel,
    /// It was taken back because its time had run out.
    Timeout,
}

/// What an operator may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // fields of the same name as the types that they hold
pub enum Event {
    /// A session was opened.
    SessionOpened { session: SessionId, user: String },
    /// A session ended.
    SessionEnded { session: SessionId, user: String, source_host: Option<String>, why: End },
    /// Running has a new revision.
    Committed { commit: CommitRecord, changes: Arc<ChangeSet> },
    /// A commit failed; candidate and running are as they were.
    CommitFailed { by: Author, errors: Vec<Error> },
    /// Something happened to a confirmed commit.
    ConfirmedCommit { what: ConfirmEvent, by: Author },
    /// A component does not take the way back of a confirmed commit as a change: it is given the whole configuration.
    RollbackRefused { component: String, errors: Vec<Error> },
    /// A request was denied by access control.
    Denied { session: SessionId, user: String, why: Error },
    /// A component is told to carry out an operation of a session, named as in [`Output::Execute`].
    Executes { session: SessionId, user: String, operation: String },
    /// A private candidate with changes is kept, since its session was lost or killed.
    CandidateKept { session: SessionId, user: String },
    /// A session goes on with the private candidate that another one of `user` had left.
    CandidateAttached { session: SessionId, left_by: SessionId, user: String },
    /// The private candidate that a session of `user` had left is gone.
    CandidateDropped { session: SessionId, user: String, why: WhyDropped },
    /// An alarm was raised.
    AlarmRaised(Alarm),
    /// An alarm was cleared.
    AlarmCleared(Alarm),
}

/// Why a private candidate that was left is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyDropped {
    /// It was kept for as long as it is to be.
    Expired,
    /// More are there than are to be kept, and it is the oldest.
    Crowded {
        /// So many are to be kept, of its user or in all.
        limit: usize,
    },
    /// On request.
    Asked {
        /// Of this session.
        by: SessionId,
    },
}

/// A lasting condition that someone should act on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alarm {
    /// A component that configuration is meant for is not connected.
    Unreachable {
        /// Its name.
        component: String,
    },
    /// A component does not take the configuration that runs.
    OutOfSync {
        /// Its name.
        component: String,
        /// Its first error.
        reason: String,
    },
    /// No revisions are kept.
    NoHistory {
        /// Why.
        reason: String,
    },
    /// No events are kept for those who subscribe later.
    NoEvents {
        /// Why.
        reason: String,
    },
    /// A confirmed commit was taken back, and the journal does not take it.
    Unrecorded {
        /// Its error.
        reason: String,
    },
    /// A client that is to be called cannot be reached.
    CannotCall {
        /// Its name.
        client: String,
        /// What the last attempt failed by, before the alarm was raised.
        reason: String,
    },
    /// Clients cannot come over TLS, or not by the certificates that are there now.
    TlsFailed {
        /// Why.
        reason: String,
    },
}

/// What else than a component has alarms, of which one stands at a time, but for those of clients that are called.
const JOURNAL: &str = "journal";
const HISTORY: &str = "history";
const EVENTS: &str = "events";
const CALL_HOME: &str = "call-home";
const TLS: &str = "tls";

impl Alarm {
    /// The component, or the part of this daemon, that it is about.
    pub fn component(&self) -> &str {
        match self {
            Alarm::Unreachable { component } | Alarm::OutOfSync { component, .. } => component,
            Alarm::Unrecorded { .. } => JOURNAL,
            Alarm::NoHistory { .. } => HISTORY,
            Alarm::NoEvents { .. } => EVENTS,
            Alarm::CannotCall { .. } => CALL_HOME,
            Alarm::TlsFailed { .. } => TLS,
        }
    }

    /// What it is about: a place in the model, or a name where it has none.
    pub fn resource(&self) -> String {
        let place = |name: &str| format!("/ietf-routing:routing/ietf-cats:cats/cats-system:system/{name}");
        match self {
            Alarm::CannotCall { client, .. } => {
                let quote = if client.contains('\'') { '"' } else { '\'' };
                place(&format!("call-home/client[name={quote}{client}{quote}]"))
            }
            Alarm::NoHistory { .. } => place("history"),
            Alarm::NoEvents { .. } => place("event-log"),
            Alarm::TlsFailed { .. } => place("tls"),
            Alarm::Unreachable { .. } | Alarm::OutOfSync { .. } | Alarm::Unrecorded { .. } => {
                self.component().to_owned()
            }
        }
    }

    /// How bad it is, in the words of RFC 8632.
    pub fn severity(&self) -> &'static str {
        match self {
            Alarm::Unreachable { .. } | Alarm::OutOfSync { .. } | Alarm::Unrecorded { .. } => "critical",
            Alarm::TlsFailed { .. } => "major",
            Alarm::NoHistory { .. } | Alarm::NoEvents { .. } | Alarm::CannotCall { .. } => "minor",
        }
    }

    /// What kind of condition it is: its identity in the module `cats-alarms`.
    pub fn kind(&self) -> &'static str {
        match self {
            Alarm::Unreachable { .. } => "component-not-connected",
            Alarm::OutOfSync { .. } => "out-of-sync",
            Alarm::Unrecorded { .. } => "unrecorded",
            Alarm::NoHistory { .. } => "no-history",
            Alarm::NoEvents { .. } => "no-event-log",
            Alarm::CannotCall { .. } => "cannot-call",
            Alarm::TlsFailed { .. } => "tls-failed",
        }
    }

    /// What is wrong, and what to do.
    pub fn text(&self) -> String {
        match self {
            Alarm::Unreachable { component } => format!(
                "{component} is not connected or does not answer, so what is committed is not in force: start it, and see its \
                 log"
            ),
            Alarm::OutOfSync { component, reason } => format!(
                "{component} does not take the running configuration: {reason}. Commit a configuration that it takes"
            ),
            Alarm::NoHistory { reason } => format!(
                "no revisions are kept, so none can be compared or rolled back to: {reason}. They are all there again when \
                 there is room or the disk is repaired, which is tried each minute"
            ),
            Alarm::NoEvents { reason } => format!(
                "events are kept in memory alone, so a restart loses them to those who subscribe later: {reason}. They are \
                 all kept again when there is room or the disk is repaired, which is tried every 10 s"
            ),
            Alarm::CannotCall { client, reason } => format!(
                "the client {client} cannot be reached at any of its endpoints: {reason}. It is called on: see that it \
                 listens there, and its state below call-home in cats-system"
            ),
            Alarm::TlsFailed { reason } => format!(
                "NETCONF over TLS is not served as configured: {reason}. It is tried again when the files or the \
                 configuration change, and every few seconds"
            ),
            Alarm::Unrecorded { reason } => format!(
                "the configuration before a confirmed commit is in force again, but cannot be recorded: {reason}. \
                 Until it can, nothing is committed: make room or repair the disk"
            ),
        }
    }
}
