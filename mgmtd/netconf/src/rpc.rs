//! What a client can ask: the operations as values that hold only what the grammar allows.

use crate::compare::Compare;
use crate::fragment::XmlFragment;
use crate::nmda::{EditData, GetData};
use crate::retrieval::{Filter, WithDefaults};
use crate::subscription::CreateSubscription;
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, ErrorType};

/// One `<rpc>`, parsed and well formed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rpc {
    /// The `message-id`, with entities resolved.
    pub message_id: String,
    /// What the reply must repeat.
    pub attributes: Echo,
    /// What is asked.
    pub operation: Operation,
}

/// The attributes of an `<rpc>` that its `<rpc-reply>` repeats unchanged, declarations of namespaces among them (RFC 6241
/// section 4.1), as XML text: ` xmlns:ex="urn:x" message-id="1" ex:user="fred"`. Empty or beginning with a blank.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Echo {
    pub(crate) attributes: String,
    /// What the reply's own name has for a prefix, which the attributes declare: their default namespace is another one.
    pub(crate) prefix: Option<String>,
}

impl Echo {
    /// The attributes as they stand in a start tag.
    pub fn as_str(&self) -> &str {
        &self.attributes
    }
}

/// The operations of RFC 6241, RFC 6022's `get-schema`, and whatever else the schema defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// `<get>`: running and state.
    Get {
        /// An empty one selects nothing, none everything.
        filter: Option<Filter>,
        /// The basic mode when absent.
        with_defaults: Option<WithDefaults>,
    },
    /// `<get-config>`.
    GetConfig {
        /// What is read.
        source: Datastore,
        /// As of `get`.
        filter: Option<Filter>,
        /// The basic mode when absent.
        with_defaults: Option<WithDefaults>,
    },
    /// `<get-data>`.
    GetData(Box<GetData>),
    /// `<edit-data>`.
    EditData(EditData),
    /// `<compare>`.
    Compare(Box<Compare>),
    /// `<edit-config>`.
    EditConfig {
        /// What is changed.
        target: Datastore,
        /// `default-operation`, `merge` when absent.
        default_operation: DefaultOperation,
        /// `test-option`, `test-then-set` when absent.
        test_option: TestOption,
        /// `error-option`, `stop-on-error` when absent.
        error_option: ErrorOption,
        /// What is to be done to it.
        config: Content,
    },
    /// `<copy-config>`.
    CopyConfig {
        /// What is replaced.
        target: Target,
        /// What it is replaced by.
        source: Source,
        /// How the defaults of the source are taken; as they stand when absent.
        with_defaults: Option<WithDefaults>,
    },
    /// `<delete-config>`.
    DeleteConfig {
        /// What is deleted.
        target: Target,
    },
    /// `<lock>`.
    Lock {
        /// What is locked.
        target: Datastore,
    },
    /// `<unlock>`.
    Unlock {
        /// What is unlocked.
        target: Datastore,
    },
    /// `<commit>`.
    Commit(CommitOptions),
    /// `<cancel-commit>`.
    CancelCommit {
        /// The `persist` of the confirmed commit, when another session issued it.
        persist_id: Option<String>,
    },
    /// `<discard-changes>`.
    DiscardChanges,
    /// `<update>` of a private candidate.
    Update {
        /// `resolution-mode`, `revert-on-conflict` when absent.
        resolution: Resolution,
    },
    /// `<validate>`.
    Validate {
        /// What is validated.
        source: Source,
    },
    /// `<close-session>`: release what the session holds, then answer [`crate::Reply::Ok`]; the session closes
    /// itself after that reply.
    CloseSession,
    /// `<kill-session>`.
    KillSession {
        /// The session to end; never 0.
        session_id: u32,
    },
    /// `<get-schema>`.
    GetSchema {
        /// Name of the module or submodule.
        identifier: String,
        /// Its revision, when one is asked for.
        version: Option<String>,
        /// Local name of the format identity, `yang` when absent.
        format: Option<String>,
    },
    /// `<create-subscription>` of RFC 5277.
    CreateSubscription(Box<CreateSubscription>),
    /// Any operation outside of the namespaces of RFC 6241 and RFC 6022: the daemon looks it up in its schema.
    Other {
        /// Namespace of the operation element; empty if it has none.
        namespace: String,
        /// Local name of the operation element.
        name: String,
        /// The operation element.
        xml: XmlFragment,
    },
}

/// The conventional datastores that are announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // each is the datastore of its own name
pub enum Datastore {
    Running,
    Candidate,
}

impl Datastore {
    /// The element name.
    pub fn name(self) -> &'static str {
        match self {
            Datastore::Running => "running",
            Datastore::Candidate => "candidate",
        }
    }
}

/// What `copy-config` and `validate` read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A datastore.
    Datastore(Datastore),
    /// A complete configuration, in the request or at a URL.
    Config(Content),
}

/// What `copy-config` writes and `delete-config` deletes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A datastore.
    Datastore(Datastore),
    /// A URL, which is not read here.
    Url(String),
}

/// Where a configuration stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// In the request: the `<config>` element.
    Inline(XmlFragment),
    /// At a URL, which is not read here.
    Url(String),
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

/// `<confirmed/>`, and what goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// `confirm-timeout` in seconds, 600 when absent; never 0.
    pub timeout_s: u32,
    /// Makes it outlive its session, and names it.
    pub persist: Option<String>,
}

impl Confirmed {
    /// `confirm-timeout` when it is absent.
    pub const DEFAULT_TIMEOUT_S: u32 = 600;
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

/// `resolution-mode` of `update` (draft-ietf-netconf-privcand).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // the values of the draft
pub enum Resolution {
    #[default]
    RevertOnConflict,
    PreferCandidate,
    PreferRunning,
}

impl Resolution {
    pub(crate) const NAMES: [(&str, Resolution); 3] = [
        ("revert-on-conflict", Resolution::RevertOnConflict),
        ("prefer-candidate", Resolution::PreferCandidate),
        ("prefer-running", Resolution::PreferRunning),
    ];

    /// As it stands in a request, and in the capability.
    pub fn name(self) -> &'static str {
        match self {
            Resolution::RevertOnConflict => "revert-on-conflict",
            Resolution::PreferCandidate => "prefer-candidate",
            Resolution::PreferRunning => "prefer-running",
        }
    }
}

/// The error for an operation whose namespace no implemented module has.
pub fn unknown_namespace(name: &str, namespace: &str) -> Error {
    Error::protocol(
        ErrorTag::UnknownNamespace,
        format!("no implemented module has the namespace '{namespace}' of <{name}>; see the capabilities in <hello>"),
    )
    .with(ErrorInfo::BadElement(name.to_owned()))
    .with(ErrorInfo::BadNamespace(namespace.to_owned()))
}

/// The error for an operation that its module does not define.
pub fn operation_not_supported(name: &str) -> Error {
    Error::new(
        ErrorType::Protocol,
        ErrorTag::OperationNotSupported,
        format!("the operation <{name}> is not supported; see the capabilities in <hello>"),
    )
    .with(ErrorInfo::BadElement(name.to_owned()))
}
