//! The store on a thread of its own: its calls block on the disk.

use crate::content;
use crate::hub::{HubSender, Input};
use cats_mgmtd_core::{CommitRecord, Ticket};
use cats_mgmtd_store::{About, ModuleRevision, Record, Store, StoreError};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{ChangeSet, Tree};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::mpsc;

/// Jobs that may wait. The core has one commit in flight and asks for one compaction after it.
const QUEUE: usize = 4;

/// What the recorder does.
#[derive(Debug)]
pub(crate) enum Job {
    /// Make a commit durable.
    Record { ticket: Ticket, commit: CommitRecord, changes: Arc<ChangeSet> },
    /// Fold the journal into a snapshot of the configuration that was last recorded, if it has grown enough.
    Compact { tree: Tree },
}

/// Starts the thread; it ends when the sender is dropped.
///
/// # Errors
/// When the system has no thread to give.
pub(crate) fn start(
    store: Store,
    schema: Arc<Schema>,
    hub: HubSender,
) -> std::io::Result<(mpsc::Sender<Job>, JoinHandle<()>)> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let thread = std::thread::Builder::new()
        .name("recorder".to_owned())
        .spawn(move || Recorder { store, schema, hub }.run(receiver))?;
    Ok((sender, thread))
}

struct Recorder {
    store: Store,
    schema: Arc<Schema>,
    hub: HubSender,
}

impl Recorder {
    fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        while let Some(job) = jobs.blocking_recv() {
            match job {
                Job::Record { ticket, commit, changes } => {
                    let result = self.record(&commit, &changes);
                    // A hub that is gone waits for no answer.
                    let _ = self.hub.blocking_send(Input::Recorded { ticket, result });
                }
                Job::Compact { tree } => self.compact(&tree),
            }
        }
    }

    fn record(&mut self, commit: &CommitRecord, changes: &ChangeSet) -> Result<(), Error> {
        let about = About {
            revision: commit.revision,
            at: commit.unix_us,
            user: commit.user.clone(),
            session: commit.session.0,
        };
        let changes = content::record(&self.schema, changes)?;
        self.store.append(&Record { about, changes }).map_err(|error| failed(&error))
    }

    fn compact(&mut self, tree: &Tree) {
        if !self.store.wants_compaction() {
            return;
        }
        let config = content::to_json(&self.schema, tree).into_bytes();
        match self.store.compact(&modules_of(&self.schema), &config) {
            Ok(()) => {
                tracing::info!(revision = self.store.revision(), "the journal is folded into a snapshot")
            }
            Err(error) => {
                tracing::error!(%error, "cannot fold the journal into a snapshot; it goes on growing")
            }
        }
    }
}

fn failed(error: &StoreError) -> Error {
    let tag = match error {
        StoreError::TooBig { .. } => ErrorTag::TooBig,
        StoreError::InUse { .. }
        | StoreError::Io { .. }
        | StoreError::Corrupt { .. }
        | StoreError::Format { .. }
        | StoreError::Poisoned { .. }
        | StoreError::OutOfOrder { .. }
        | StoreError::Encode(_) => ErrorTag::OperationFailed,
    };
    tracing::error!(%error, "a commit cannot be recorded");
    Error::application(tag, format!("the commit is not durable and was not applied: {error}"))
}

/// The implemented modules, as the store keeps them.
pub(crate) fn modules_of(schema: &Schema) -> Vec<ModuleRevision> {
    let implemented = schema.modules.iter().filter(|module| module.implemented);
    implemented
        .map(|module| ModuleRevision { name: module.name.clone(), revision: module.revision.clone() })
        .collect()
}
