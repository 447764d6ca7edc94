//! The connection to the engine: attach, snapshots, the two phases of a commit, and state and operations on request.
//!
//! It comes and goes without harm: each connection is another component to the core, which brings it up to date.

mod executing;
mod state;
mod watching;

use crate::content;
use crate::hub::{HubSender, Input};
use cats_engine_wire::management::management_client::ManagementClient;
use cats_engine_wire::management::{
    Abort, Apply, Attach, Attached, Change, Error as WireError, FromEngine, FromManagement, Prepare,
    Snapshot, change::Operation, from_engine, from_management,
};
use cats_engine_wire::{MAX_MESSAGE, SNAPSHOT_CHUNK};
use cats_mgmtd_core::{ComponentId, Ticket};
use cats_yang_tree::diff::{Record, RecordOperation};
use cats_yang_tree::error::{self, Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{ChangeSet, Tree};
use executing::{Asked, Order};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint, Uri};

/// Waits between attempts to connect: from the first to the last, doubling.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// How long the engine may take to answer the attach.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(5);

/// After so long without a word the engine is asked for one, and counts as lost when none comes in the second time.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(10));

/// Messages that may wait for the engine besides the reads, of which each session has one; the core sends at most one
/// commit and one snapshot at a time, so a full queue means an engine that does not read, and ends the connection.
const QUEUE: usize = 32;

/// So many changes are put into words where the connection is served: to make a thread of its own for it costs more.
const FEW: usize = 64;

/// Changes in one `Prepare` message.
const CHANGES_A_MESSAGE: usize = 4096;

/// What the hub tells the engine. The words for it are made here, in the connection's own time.
#[derive(Debug)]
pub(crate) enum ToEngine {
    /// Prepare these changes.
    Prepare { revision: u64, base: u64, changes: Arc<ChangeSet> },
    /// Act on what is prepared.
    Apply { revision: u64 },
    /// Forget what is prepared.
    Abort { revision: u64 },
    /// The whole configuration.
    Snapshot { revision: u64, tree: Tree },
    /// Read state.
    ReadState { ticket: Ticket, paths: Vec<String> },
    /// Tell what changes below these nodes of state, and of no others.
    Watch { paths: Vec<String> },
    /// Carry an operation out.
    Execute { ticket: Ticket, operation: String, input: String },
}

/// What a connection goes by.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) socket: PathBuf,
    /// Names our configuration to the engine, with the next.
    pub(crate) content_id: String,
    pub(crate) datastore_id: String,
    pub(crate) schema: Arc<Schema>,
    /// So many may read at once.
    pub(crate) sessions: usize,
}

/// Keeps a connection to the engine until the hub is gone.
pub(crate) async fn run(settings: Settings, revision: watch::Receiver<u64>, hub: HubSender) {
    let mut wait = BACKOFF.0;
    let mut next = 0;
    loop {
        let component = ComponentId(next);
        let attach = Attach {
            content_id: settings.content_id.clone(),
            datastore_id: settings.datastore_id.clone(),
            revision: *revision.borrow(),
        };
        match open(&settings.socket, attach).await {
            Ok((attached, live)) => {
                next = next.wrapping_add(1);
                wait = BACKOFF.0;
                tracing::info!(version = %attached.version, "the engine is connected");
                let why = live.serve(attached, &settings, (&hub, component)).await;
                tracing::warn!(%why, "the connection to the engine is lost");
                if hub.send(Input::EngineGone { component }).await.is_err() {
                    return;
                }
            }
            Err(why) => {
                tracing::debug!(%why, socket = %settings.socket.display(), "the engine is not reachable");
                wait = (wait * 2).min(BACKOFF.1);
            }
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = hub.closed() => return,
        }
    }
}

struct Live {
    /// What is to be told of; nothing is told before there is something.
    watched: watch::Sender<Vec<String>>,
    client: ManagementClient<Channel>,
    to_engine: mpsc::Sender<FromManagement>,
    from_engine: tonic::Streaming<FromEngine>,
    order: Order,
}

/// Connects, attaches and waits for the answer.
async fn open(socket: &Path, attach: Attach) -> Result<(Attached, Live), String> {
    let channel = connect(socket.to_path_buf()).await.map_err(|error| describe(&error))?;
    let mut client = ManagementClient::new(channel)
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    let (to_engine, outbound) = mpsc::channel(QUEUE);
    let first = FromManagement { message: Some(from_management::Message::Attach(attach)) };
    to_engine.send(first).await.map_err(|error| error.to_string())?;
    let opened = async {
        let stream = client.attach(ReceiverStream::new(outbound)).await;
        let mut from_engine = stream.map_err(|status| status.to_string())?.into_inner();
        match from_engine
            .message()
            .await
            .map_err(|status| status.to_string())?
            .and_then(|first| first.message)
        {
            Some(from_engine::Message::Attached(attached)) => Ok((attached, from_engine)),
            Some(other) => Err(format!("the engine began with {other:?} instead of Attached")),
            None => Err("the engine closed the stream".to_owned()),
        }
    };
    let (attached, from_engine) = tokio::time::timeout(ATTACH_TIMEOUT, opened)
        .await
        .map_err(|_| format!("no answer to the attach within {} s", ATTACH_TIMEOUT.as_secs()))??;
    let watched = watch::Sender::new(Vec::new());
    Ok((attached, Live { watched, client, to_engine, from_engine, order: Order::default() }))
}

impl Live {
    /// Carries messages both ways; returns why it ended.
    async fn serve(
        mut self,
        attached: Attached,
        settings: &Settings,
        (hub, component): (&HubSender, ComponentId),
    ) -> String {
        let (commands, mut receiver) = mpsc::channel(QUEUE + settings.sessions);
        let Attached { revision, needs_snapshot, nodes, .. } = attached;
        let holds = (!needs_snapshot).then_some(revision);
        if hub.send(Input::EngineAttached { component, holds, nodes, commands }).await.is_err() {
            return "shutting down".to_owned();
        }
        let told = (self.client.clone(), component, self.watched.subscribe());
        tokio::spawn(watching::run(told, Arc::clone(&settings.schema), hub.clone()));
        loop {
            tokio::select! {
                command = receiver.recv() => match command {
                    Some(command) => {
                        if let Err(why) = self.tell(command, hub, (component, &settings.schema)).await { return why }
                    }
                    None => return "it does not take what it is sent, or does not answer in time".to_owned(),
                },
                message = self.from_engine.message() => match message {
                    Ok(Some(message)) => {
                        self.order.answered();
                        self.execute_next(hub);
                        let Some(input) = heard(message, component) else { continue };
                        if hub.send(input).await.is_err() {
                            return "shutting down".to_owned();
                        }
                    }
                    Ok(None) => return "it closed the stream".to_owned(),
                    Err(status) => return status.to_string(),
                },
            }
        }
    }

    async fn tell(
        &mut self,
        command: ToEngine,
        hub: &HubSender,
        (component, schema): (ComponentId, &Arc<Schema>),
    ) -> Result<(), String> {
        match command {
            ToEngine::Prepare { revision, base, changes } => {
                let (schema, few) = (Arc::clone(schema), changes.changes.len() <= FEW);
                let changes = elsewhere(few, move || wire_changes(&schema, &changes)).await?;
                self.send(prepares(revision, base, changes)).await
            }
            ToEngine::Apply { revision } => {
                self.send([from_management::Message::Apply(Apply { revision })]).await
            }
            ToEngine::Abort { revision } => {
                self.send([from_management::Message::Abort(Abort { revision })]).await
            }
            ToEngine::Snapshot { revision, tree } => {
                let schema = Arc::clone(schema);
                let config = elsewhere(false, move || content::to_json(&schema, &tree).into_bytes()).await?;
                self.send(snapshot(revision, config)).await
            }
            ToEngine::ReadState { ticket, paths } => {
                let (schema, hub) = (Arc::clone(schema), hub.clone());
                tokio::spawn(state::read(self.client.clone(), component, (ticket, paths), schema, hub));
                Ok(())
            }
            ToEngine::Watch { paths } => {
                self.watched.send_replace(paths);
                Ok(())
            }
            ToEngine::Execute { ticket, operation, input } => {
                self.order.wait(Asked { ticket, operation, input });
                self.execute_next(hub);
                Ok(())
            }
        }
    }

    /// Sends messages that are answered once.
    async fn send(
        &mut self,
        messages: impl IntoIterator<Item = from_management::Message, IntoIter: Send>,
    ) -> Result<(), String> {
        self.order.sent();
        for message in messages {
            let message = FromManagement { message: Some(message) };
            self.to_engine.send(message).await.map_err(|_| "it closed the stream".to_owned())?;
        }
        Ok(())
    }

    fn execute_next(&mut self, hub: &HubSender) {
        while let Some(asked) = self.order.next() {
            tokio::spawn(executing::execute(self.client.clone(), asked, hub.clone()));
        }
    }
}

/// Does work that takes time on a thread that may block, or here where it is little.
async fn elsewhere<T: Send + 'static>(
    little: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    if little {
        return Ok(work());
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| "what it is to follow could not be put into words, by a fault of ours".to_owned())
}

fn wire_changes(schema: &Schema, changes: &ChangeSet) -> Vec<Change> {
    changes.records_in_text(schema).into_iter().map(change).collect()
}

async fn connect(socket: PathBuf) -> Result<Channel, tonic::transport::Error> {
    // The address is only a name: the connector below goes to the socket.
    Endpoint::from_static("http://engine.sock")
        .connect_timeout(ATTACH_TIMEOUT)
        .http2_keep_alive_interval(KEEP_ALIVE.0)
        .keep_alive_timeout(KEEP_ALIVE.1)
        .keep_alive_while_idle(true)
        .connect_with_connector(tower::service_fn(move |_: Uri| {
            let socket = socket.clone();
            async move { UnixStream::connect(socket).await.map(hyper_util::rt::TokioIo::new) }
        }))
        .await
}

fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

fn prepares(revision: u64, base: u64, changes: Vec<Change>) -> Vec<from_management::Message> {
    let parts = changes.len().div_ceil(CHANGES_A_MESSAGE).max(1);
    let mut changes = changes.into_iter();
    (1..=parts)
        .map(|part| {
            let changes = changes.by_ref().take(CHANGES_A_MESSAGE).collect();
            from_management::Message::Prepare(Prepare { revision, base, changes, more: part < parts })
        })
        .collect()
}

/// A document in pieces, of which an empty one has one too.
fn snapshot(revision: u64, config: Vec<u8>) -> impl Iterator<Item = from_management::Message> + Send {
    let pieces = config.len().div_ceil(SNAPSHOT_CHUNK).max(1);
    (0..pieces).map(move |at| {
        let rest = config.get(at * SNAPSHOT_CHUNK..).unwrap_or_default();
        let chunk = rest.get(..SNAPSHOT_CHUNK).unwrap_or(rest).to_vec();
        from_management::Message::Snapshot(Snapshot { revision, chunk, last: at + 1 == pieces })
    })
}

fn heard(message: FromEngine, component: ComponentId) -> Option<Input> {
    match message.message? {
        from_engine::Message::Attached(_) => None,
        from_engine::Message::SnapshotApplied(_) => Some(Input::EngineLoaded { component }),
        from_engine::Message::Planned(planned) => {
            tracing::debug!(revision = planned.revision, steps = ?planned.steps, "the engine has a plan");
            Some(Input::EnginePlanned { component })
        }
        from_engine::Message::Rejected(rejected) => {
            let errors = rejected.errors.into_iter().map(error_of).collect();
            Some(Input::EngineRejected { component, errors })
        }
        from_engine::Message::Applied(applied) => {
            tracing::debug!(revision = applied.revision, "the engine runs the revision");
            None
        }
        from_engine::Message::Aborted(_) => Some(Input::EngineAborted { component }),
    }
}

fn error_of(error: WireError) -> Error {
    let mut out = Error::application(tag_of(&error.tag), error.message);
    if !error.path.is_empty() {
        out = out.at(error::Path(error.path));
    }
    if !error.app_tag.is_empty() {
        out = out.app_tag(error.app_tag);
    }
    out
}

/// The tag of that name; an unknown one is `operation-failed`, which says no less than the engine did.
pub(crate) fn tag_of(name: &str) -> ErrorTag {
    use ErrorTag as Tag;
    let all = [
        Tag::InUse,
        Tag::InvalidValue,
        Tag::TooBig,
        Tag::MissingAttribute,
        Tag::BadAttribute,
        Tag::UnknownAttribute,
        Tag::MissingElement,
        Tag::BadElement,
        Tag::UnknownElement,
        Tag::UnknownNamespace,
        Tag::AccessDenied,
        Tag::LockDenied,
        Tag::ResourceDenied,
        Tag::RollbackFailed,
        Tag::DataExists,
        Tag::DataMissing,
        Tag::OperationNotSupported,
        Tag::OperationFailed,
        Tag::MalformedMessage,
    ];
    all.into_iter().find(|tag| tag.to_string() == name).unwrap_or(Tag::OperationFailed)
}

/// One change on the wire.
fn change(record: Record<String>) -> Change {
    let operation = match record.operation {
        RecordOperation::Create | RecordOperation::Replace => Operation::Set,
        RecordOperation::Delete => Operation::Delete,
        RecordOperation::Move => Operation::Move,
    };
    let value = record.value.unwrap_or_default();
    Change { path: record.path, operation: operation.into(), value, after: record.after }
}
