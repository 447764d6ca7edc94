//! What goes into the core and what comes out of it: plain data, so that it can be recorded and replayed.

use crate::compare::{Compare, Comparison};
use crate::operations::Executed;
use crate::reading::{Reading, Selection};
use crate::secrets::{Salt, hash_passwords};
use crate::streams::Subscribe;
use cats_yang_tree::error::{Error, Errors, Path};
use cats_yang_tree::operation::Call;
use cats_yang_tree::ops::Faulty;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{Defaults, Ops};
use std::fmt;
use std::time::Instant;

/// The time of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// The monotonic clock, which every deadline is measured by.
    pub instant: Instant,
    /// The wall clock in microseconds since 1970-01-01T00:00:00Z, which is only ever shown and recorded.
    pub unix_us: u64,
}

/// A NETCONF session; never 0, which means "not a NETCONF session" in `lock-denied`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub u32);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Pairs an [`crate::Output`] with the input that answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// A connected component that configuration is prepared at, such as the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ComponentId(pub u32);

/// A component as it is now connected; each connection has another one, so late words of an old connection are
/// never taken for the new one's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The connection.
    pub component: ComponentId,
    /// Its name in alarms and errors.
    pub name: String,
    /// The revision of running that it holds; absent when that is none of this history or this schema.
    pub holds: Option<u64>,
    /// The top-level nodes whose configuration concerns it, as `module:name`; empty when that is not known.
    pub nodes: Vec<String>,
}

/// Who opened a session, and over what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The authenticated user.
    pub user: String,
    /// The transport.
    pub transport: Transport,
    /// The remote address, for a transport that has one.
    pub source_host: Option<String>,
    /// The groups of the user that the transport reports, beside those that are configured.
    pub groups: Vec<String>,
    /// A recovery session (RFC 8341 section 1.1): exempt from all access control.
    pub recovery: bool,
}

/// The transports of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// NETCONF over SSH (RFC 6242).
    Ssh,
    /// NETCONF over TLS (RFC 7589).
    Tls,
    /// The local socket, authenticated by the peer's uid.
    Local,
}

impl Transport {
    /// Its name in the history of `cats-system`.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Ssh => "ssh",
            Transport::Tls => "tls",
            Transport::Local => "local",
        }
    }
}

/// The conventional datastores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // each is the datastore of its own name
pub enum Datastore {
    Running,
    Candidate,
}

impl Datastore {
    /// The element name of RFC 6241.
    pub fn name(self) -> &'static str {
        match self {
            Datastore::Running => "running",
            Datastore::Candidate => "candidate",
        }
    }
}

/// The datastores of RFC 8342 that are served. There are no templates and nothing is inactive, so `<intended>` is
/// `<running>`; what is configured is applied when it is committed, so `<operational>` is `<running>` with the defaults
/// in use, and with state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // each is the datastore of its own name
pub enum NmdaDatastore {
    Running,
    Candidate,
    Intended,
    Operational,
}

impl NmdaDatastore {
    /// The name of its identity in ietf-datastores.
    pub fn name(self) -> &'static str {
        match self {
            NmdaDatastore::Running => "running",
            NmdaDatastore::Candidate => "candidate",
            NmdaDatastore::Intended => "intended",
            NmdaDatastore::Operational => "operational",
        }
    }
}

/// What `copy-config` and `validate` read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A datastore.
    Datastore(Datastore),
    /// A complete configuration.
    Config(Config),
}

/// What `copy-config` writes and `delete-config` deletes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A datastore.
    Datastore(Datastore),
    /// A file, by its URL, which means nothing here.
    Url(String),
}

/// `default-operation` of RFC 6241 section 7.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // the values of the RFC
pub enum DefaultOperation {
    #[default]
    Merge,
    Replace,
    None,
}

impl From<DefaultOperation> for cats_yang_tree::DefaultOperation {
    fn from(operation: DefaultOperation) -> Self {
        match operation {
            DefaultOperation::Merge => cats_yang_tree::DefaultOperation::Merge,
            DefaultOperation::Replace => cats_yang_tree::DefaultOperation::Replace,
            DefaultOperation::None => cats_yang_tree::DefaultOperation::None,
        }
    }
}

/// `test-option` of RFC 6241 section 8.6.4.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // the values of the RFC
pub enum TestOption {
    #[default]
    TestThenSet,
    Set,
    TestOnly,
}

/// `error-option` of RFC 6241 section 7.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // the values of the RFC
pub enum ErrorOption {
    #[default]
    StopOnError,
    ContinueOnError,
    RollbackOnError,
}

/// What a session asks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // the parameters of RFC 6241 of the same names
pub enum Request {
    Get(Selection),
    GetConfig {
        source: Datastore,
        selection: Selection,
    },
    /// `get-data` of RFC 8526.
    GetData {
        datastore: NmdaDatastore,
        selection: Selection,
    },
    /// `compare` of RFC 9144.
    Compare(Compare),
    EditConfig(Edit),
    /// `edit-data` of RFC 8526.
    EditData {
        datastore: NmdaDatastore,
        default_operation: DefaultOperation,
        config: Config,
    },
    /// `with_defaults` is what the defaults of the source are taken as; as they stand without.
    CopyConfig {
        target: Target,
        source: Source,
        with_defaults: Option<Defaults>,
    },
    DeleteConfig {
        target: Target,
    },
    Lock {
        target: Datastore,
    },
    Unlock {
        target: Datastore,
    },
    Commit(CommitOptions),
    CancelCommit {
        persist_id: Option<String>,
    },
    DiscardChanges,
    /// `update` of a private candidate.
    Update {
        resolution: Resolution,
    },
    Validate {
        source: Source,
    },
    CloseSession,
    KillSession {
        session: SessionId,
    },
    GetSchema {
        identifier: String,
        version: Option<String>,
        format: Option<String>,
    },
    /// A correct request for something that this server does not have, which this error says.
    Unsupported(Box<Error>),
    /// `cats-exec:schema-index`.
    SchemaIndex {
        content_id: Option<String>,
    },
    /// `cats-exec:compare-revision`; absent `to` is running.
    CompareRevision {
        from: u64,
        to: Option<u64>,
    },
    /// `cats-exec:rollback`.
    Rollback {
        revision: u64,
    },
    /// `cats-exec:attach-candidate`, of the candidate that this session left.
    AttachCandidate {
        left_by: SessionId,
    },
    /// `cats-exec:drop-candidate`.
    DropCandidate {
        left_by: SessionId,
    },
    /// An operation that a component carries out.
    Execute(Box<Call>),
    /// `create-subscription` of RFC 5277.
    Subscribe(Box<Subscribe>),
}

/// `resolution-mode` of `update` (draft-ietf-netconf-privcand-09): what becomes of conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resolution {
    /// With one, nothing is done.
    #[default]
    RevertOnConflict,
    /// What the private candidate holds stays.
    PreferCandidate,
    /// What running holds goes into the private candidate.
    PreferRunning,
}

/// The parameters of `commit` (RFC 6241 section 8.4.5.1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitOptions {
    /// It is to be taken back unless it is confirmed.
    pub confirmed: Option<Confirmed>,
    /// The `persist` of the confirmed commit that it follows or confirms.
    pub persist_id: Option<String>,
    /// `comment` of `cats-exec`: what the user says of it.
    pub comment: Option<String>,
}

/// `confirmed`, and what goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// `confirm-timeout`, seconds.
    pub timeout_s: u32,
    /// Makes it outlive its session, and names it.
    pub persist: Option<String>,
}

impl Request {
    /// The configuration in it, and what it is read as.
    pub(crate) fn config_mut(&mut self) -> Option<(&mut Config, ReadAs)> {
        match self {
            Request::EditConfig(edit) => Some((&mut edit.config, ReadAs::Edit(edit.default_operation))),
            Request::EditData { config, default_operation, .. } => {
                Some((config, ReadAs::Edit(*default_operation)))
            }
            Request::CopyConfig { source: Source::Config(config), .. }
            | Request::Validate { source: Source::Config(config) } => Some((config, ReadAs::Whole)),
            Request::CopyConfig { source: Source::Datastore(_), .. }
            | Request::Validate { source: Source::Datastore(_) }
            | Request::Get(_)
            | Request::GetConfig { .. }
            | Request::GetData { .. }
            | Request::Compare(_)
            | Request::DeleteConfig { .. }
            | Request::Lock { .. }
            | Request::Unlock { .. }
            | Request::Commit(_)
            | Request::CancelCommit { .. }
            | Request::DiscardChanges
            | Request::Update { .. }
            | Request::CloseSession
            | Request::KillSession { .. }
            | Request::GetSchema { .. }
            | Request::Unsupported(_)
            | Request::SchemaIndex { .. }
            | Request::CompareRevision { .. }
            | Request::Rollback { .. }
            | Request::AttachCandidate { .. }
            | Request::DropCandidate { .. }
            | Request::Execute(_)
            | Request::Subscribe(_) => None,
        }
    }
}

/// `edit-config`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // the parameters of RFC 6241 section 7.2
pub struct Edit {
    pub target: Datastore,
    pub default_operation: DefaultOperation,
    pub test_option: TestOption,
    pub error_option: ErrorOption,
    pub config: Config,
}

/// What a `<config>` element is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAs {
    /// Operations; what names none has this one.
    Edit(DefaultOperation),
    /// A complete configuration, in which nothing names an operation.
    Whole,
}

/// A `<config>` element, in the request or in a file. Two are equal when their texts are.
#[derive(Clone)]
pub struct Config {
    text: String,
    /// Where it is to be fetched from.
    url: Option<String>,
    /// For the passwords in it.
    salt: Option<Salt>,
    /// What it says, when it was read already.
    ahead: Option<(ReadAs, Result<Ops, Faulty>)>,
}

impl Config {
    /// Of XML text.
    pub fn new(text: String) -> Self {
        Self { text, url: None, salt: None, ahead: None }
    }

    /// One that a file holds: [`crate::Output::Fetch`] asks for it.
    pub fn at(url: String) -> Self {
        Self { url: Some(url), ..Self::new(String::new()) }
    }

    pub(crate) fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// With random bytes, without which it must not hold passwords in clear text.
    #[must_use]
    pub fn salted(mut self, salt: Salt) -> Self {
        self.salt = Some(salt);
        self
    }

    /// Reads it by the schema of the core, which takes time in proportion to the text: done before the request, nobody
    /// else waits for it. What is wrong with it is kept for the answer.
    #[must_use]
    pub fn read(mut self, schema: &Schema, read_as: ReadAs) -> Self {
        self.ahead = Some((read_as, self.parse(schema, read_as)));
        self
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What it says; a second call reads it again.
    pub(crate) fn ops(&mut self, schema: &Schema, read_as: ReadAs) -> Result<Ops, Faulty> {
        match self.ahead.take() {
            Some((before, ops)) if before == read_as => ops,
            Some(_) | None => self.parse(schema, read_as),
        }
    }

    fn parse(&self, schema: &Schema, read_as: ReadAs) -> Result<Ops, Faulty> {
        match read_as {
            ReadAs::Edit(default) => self.parse_part(schema, &self.text, default.into()),
            ReadAs::Whole => {
                let read = Ops::from_whole_xml_str(schema, &self.text);
                self.hashed(schema, read.map_err(|errors| Faulty { errors, readable: Ops::default() }))
            }
        }
    }

    /// What a part of it says.
    pub(crate) fn parse_part(
        &self,
        schema: &Schema,
        text: &str,
        default: cats_yang_tree::DefaultOperation,
    ) -> Result<Ops, Faulty> {
        self.hashed(schema, Ops::from_faulty_xml_str(schema, text, default))
    }

    /// With hashes in the place of passwords; what is wrong with these is told beside all else.
    fn hashed(&self, schema: &Schema, read: Result<Ops, Faulty>) -> Result<Ops, Faulty> {
        let mut errors = Errors::default();
        let mut ops = read.unwrap_or_else(|faulty| {
            errors.extend(faulty.errors);
            faulty.readable
        });
        errors.extend(hash_passwords(schema, &mut ops, self.salt.as_ref()).err().into_iter().flatten());
        match errors.is_empty() {
            true => Ok(ops),
            false => Err(Faulty { errors: errors.into_vec(), readable: ops }),
        }
    }
}

impl fmt::Debug for Config {
    /// Without the text, which may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.url == other.url
    }
}

impl Eq for Config {}

/// What a session is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// `<ok/>`.
    Ok,
    /// What stands inside of `<data>`, to be written by whoever answers.
    Data(Reading),
    /// The output of `compare` or `compare-revision`, to be worked out by whoever answers.
    Comparison(Box<Comparison>),
    /// The text of a module, for `get-schema`.
    Schema(std::sync::Arc<str>),
    /// The answer to [`Request::SchemaIndex`]; the index is absent when the client has it.
    #[allow(missing_docs)]
    SchemaIndex { content_id: String, index: Option<std::sync::Arc<str>> },
    /// The answer to [`Request::AttachCandidate`]: what running has changed since as well.
    #[allow(missing_docs)]
    Attached { conflicts: Vec<Path> },
    /// What a component answered to a [`Request::Execute`], to be read by whoever answers.
    Executed(Box<Executed>),
    /// One `rpc-error` each; never empty.
    Errors(Vec<Error>),
}

/// Why a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It asked to be closed.
    Closed,
    /// Its transport went away.
    Dropped,
    /// Its peer's hello was not valid.
    BadHello,
    /// Its peer said nothing for too long.
    TimedOut,
    /// It reads so slowly that events which it was not told are kept no more.
    Behind,
    /// Another session killed it.
    Killed {
        /// The killer.
        by: SessionId,
    },
}
