//! `Management`: cats-mgmtd commits through it and reads state through it, over the Unix socket of the engine.
//!
//! Each message becomes a [`Call`] to the engine's owner, one after another, with a place for its answer. Only the
//! engine's own user and root may connect.

mod service;
mod socket;

use cats_engine_types::{Epoch, Revision};
use std::future::Future;
use std::io;
use std::path::Path;
use tokio::sync::{mpsc, oneshot};

/// A document of a snapshot is at most so long, octets. A longer one is refused.
pub const MAX_SNAPSHOT: usize = 1 << 30;

/// Changes of one commit at most. A commit with more is refused; a snapshot can carry it.
pub const MAX_CHANGES: usize = 1 << 20;

/// One change of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Instance path in the form of RFC 7951 section 6.11.
    pub path: String,
    /// What becomes of the node.
    pub edit: Edit,
    /// Of an entry of a user-ordered list: the path of the entry that it stands behind, empty for the first place.
    pub after: Option<String>,
}

/// What becomes of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// It has this RFC 7951 value.
    Set(String),
    /// It is gone.
    Delete,
    /// It goes to another place among its siblings.
    Move,
}

/// Why a commit or snapshot is refused: one NETCONF error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Instance path of the offending node.
    pub path: String,
    /// Error-tag of RFC 6241.
    pub tag: String,
    /// Error-app-tag.
    pub app_tag: Option<String>,
    /// For people.
    pub message: String,
}

/// Which configuration somebody has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigId {
    /// The schema.
    pub content_id: String,
    /// The history that revisions count in.
    pub datastore_id: String,
    /// The revision; 0 is the empty configuration.
    pub revision: Revision,
}

/// What the engine answers to an attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// What it runs.
    pub revision: Revision,
    /// Its configuration is another one.
    pub needs_snapshot: bool,
    /// The top-level nodes whose configuration it uses, as `module:name`; with none it is sent all changes.
    pub nodes: Vec<String>,
}

/// A page of operational state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatePage {
    /// An RFC 7951 document.
    pub json: Vec<u8>,
    /// Asks for the next page; absent after the last.
    pub next: Option<String>,
}

/// What changed of state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StateDelta {
    /// Of this start of the engine.
    pub epoch: Epoch,
    /// Counts what this watcher is told, from 1.
    pub sequence: u64,
    /// Instance paths of what is gone, or comes anew in the document.
    pub dropped: Vec<String>,
    /// An RFC 7951 document; empty where nothing is there.
    pub json: Vec<u8>,
    /// Watched paths of which everything has been told for the first time.
    pub whole: Vec<String>,
}

/// What cats-mgmtd wants. Dropping an answer's place ends the stream with an error.
#[derive(Debug)]
pub enum Call {
    /// It is there and runs this configuration.
    Attach(ConfigId, oneshot::Sender<Attached>),
    /// The whole configuration; drops what is prepared.
    Snapshot {
        /// What the document is.
        id: ConfigId,
        /// RFC 7951.
        document: Vec<u8>,
        /// Applied and stored, or why not.
        reply: oneshot::Sender<Result<(), Vec<Fault>>>,
    },
    /// The first phase of a commit. Replaces what is prepared.
    Prepare {
        /// What the commit makes.
        revision: Revision,
        /// What it starts from.
        base: Revision,
        /// In order.
        changes: Vec<Change>,
        /// The plan's steps, or why not.
        reply: oneshot::Sender<Result<Vec<String>, Vec<Fault>>>,
    },
    /// The second phase. An error is a violation of the protocol.
    Apply(Revision, oneshot::Sender<Result<(), String>>),
    /// Drops what is prepared.
    Abort(Revision, oneshot::Sender<()>),
    /// The stream ended: drops what is prepared.
    Detach,
    /// A page of state.
    State {
        /// Instance paths; none is all.
        paths: Vec<String>,
        /// List entries at most; 0 leaves it to the engine.
        limit: u32,
        /// Of the page before.
        page: Option<String>,
        /// The page, or what is wrong with the request.
        reply: oneshot::Sender<Result<StatePage, String>>,
    },
    /// From now on these paths are watched, and no others, by whom this sender leads to. Another one takes the place of
    /// the one before, and begins anew.
    Watch {
        /// Of containers and lists, without predicates.
        paths: Vec<String>,
        /// Where changes go. They wait in the engine while it is full.
        deltas: mpsc::Sender<StateDelta>,
    },
    /// An RPC or action of a module.
    Execute {
        /// An RPC as `module:name`, an action by its instance path.
        operation: String,
        /// `{"module:input": {…}}`.
        input: Vec<u8>,
        /// `{"module:output": {…}}` or nothing; or why nothing was done.
        reply: oneshot::Sender<Result<Vec<u8>, Vec<Fault>>>,
    },
}

/// The open socket.
#[derive(Debug)]
pub struct Listener(socket::Incoming);

/// Opens the socket: it is replaced in one step and has mode 0600. Needs a tokio runtime.
///
/// # Errors
/// The system's, with the name of the socket.
pub fn listen(socket: &Path) -> io::Result<Listener> {
    socket::listen(socket).map(Listener)
}

/// Serves until `shutdown` completes.
///
/// # Errors
/// The server's.
pub async fn serve(
    listener: Listener,
    calls: mpsc::Sender<Call>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    service::serve(listener.0.accepted(), calls, shutdown).await.map_err(io::Error::other)
}
