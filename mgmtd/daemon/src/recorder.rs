//! The store on a thread of its own: its calls block on the disk.

use crate::content;
use crate::history::Archive;
use crate::hub::{HubSender, Input};
use cats_mgmtd_core::{CommitRecord, Kept, Pending, Recorded, Ticket};
use cats_mgmtd_store::{About, Confirm, ModuleRevision, Record, Store, StoreError};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{ChangeSet, Tree};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

/// Jobs that may wait beside one of each session: the core has one group of commits written at a time.
const QUEUE: usize = 4;

/// Groups that are durable and not in the history yet; with more, a group waits until they are.
const UNKEPT: usize = 16;

/// So many changes leave memory behind, once their undoing is written, that is worth giving back.
const MANY: usize = 1_000;

/// A history that cannot be kept is tried again after so long.
const MEND: Duration = Duration::from_secs(60);

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Job {
    /// Make commits durable, all of them or none.
    Group { ticket: Ticket, group: Vec<Recorded> },
    /// Have the history follow, now that those who wait for the group have their answers.
    Keep,
    /// Try again to keep a history, when there is none.
    Mend,
    /// Make up configurations of revisions.
    Recall { ticket: Ticket, revisions: Vec<u64>, running: (u64, Tree) },
}

/// Starts the thread with the configuration that runs; it ends when the sender is dropped.
///
/// # Errors
/// When the system has no thread to give.
pub(crate) fn start(
    (store, archive): (Store, Archive),
    running: Tree,
    schema: Arc<Schema>,
    boot: String,
    (sessions, hub): (usize, HubSender),
) -> std::io::Result<(mpsc::Sender<Job>, JoinHandle<()>)> {
    let (sender, receiver) = mpsc::channel(sessions + QUEUE);
    tokio::spawn(remind(sender.downgrade()));
    let thread = std::thread::Builder::new().name("recorder".to_owned()).spawn(move || {
        let unkept = VecDeque::new();
        Recorder { store, archive, running, unkept, schema, boot, hub }.run(receiver);
    })?;
    Ok((sender, thread))
}

/// Until nobody else sends jobs. One that finds no room is made good by the next.
async fn remind(jobs: mpsc::WeakSender<Job>) {
    loop {
        tokio::time::sleep(MEND).await;
        let Some(jobs) = jobs.upgrade() else { return };
        drop(jobs.try_send(Job::Mend));
    }
}

struct Recorder {
    store: Store,
    archive: Archive,
    /// The configuration after the last commit that was kept.
    running: Tree,
    /// Groups that are durable and not in the history, oldest first.
    unkept: VecDeque<Vec<(About, Recorded)>>,
    schema: Arc<Schema>,
    /// Names the time since the machine started.
    boot: String,
    hub: HubSender,
}

impl Recorder {
    fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        while let Some(job) = jobs.blocking_recv() {
            match job {
                Job::Group { ticket, group } => self.commit(ticket, group),
                Job::Keep => self.keep_all(),
                Job::Mend => self.mend(),
                Job::Recall { ticket, revisions, running } => {
                    // Who asks may just have repaired it.
                    self.mend();
                    let result = self.archive.recall(&revisions, &running);
                    let _ = self.hub.blocking_send(Input::Recalled { ticket, result });
                }
            }
        }
        self.keep_all();
        self.archive.make_durable();
    }

    fn commit(&mut self, ticket: Ticket, group: Vec<Recorded>) {
        if self.unkept.len() >= UNKEPT {
            self.keep_all();
        }
        let result = self.record(&group).map(|about| {
            self.unkept.push_back(about.into_iter().zip(group).collect());
        });
        // A hub that is gone waits for no answer.
        let _ = self.hub.blocking_send(Input::Recorded { ticket, result });
    }

    /// Has the history, and all else that nobody waits for, follow the journal.
    fn keep_all(&mut self) {
        let Some((_, last)) = self.unkept.back().and_then(|group| group.last()) else { return };
        let pending = last.pending.clone();
        let mut changes = 0;
        while let Some(group) = self.unkept.pop_front() {
            for (about, recorded) in group {
                changes += recorded.changes.changes.len();
                if !recorded.changes.is_empty() {
                    self.keep(&about, recorded.running);
                }
            }
        }
        let folded = self.compact(pending.as_deref());
        // What they were about is freed by now.
        if changes >= MANY || folded {
            cats_yang_schema::return_memory();
        }
        if let Err(error) = self.store.make_room() {
            // The next commit tells.
            tracing::debug!(%error, "commits take longer, if they can be recorded at all");
        }
    }

    fn record(&mut self, group: &[Recorded]) -> Result<Vec<About>, Error> {
        let record = |Recorded { commit, changes, pending, .. }: &Recorded| {
            record_of(&self.schema, &self.boot, commit, changes, pending.as_deref())
        };
        let records: Vec<Record> = group.iter().map(record).collect::<Result<_, _>>()?;
        self.store.append(&records).map_err(|error| failed(&error))?;
        Ok(records.into_iter().map(|record| record.about).collect())
    }

    fn keep(&mut self, about: &About, running: Tree) {
        let before = self.archive.oldest();
        self.archive.keep(about, &self.running, &running);
        self.running = running;
        match self.archive.oldest() {
            u64::MAX => self.tell(),
            oldest if oldest != before => {
                let _ = self.hub.blocking_send(Input::Forgotten { before: oldest });
            }
            _ => {}
        }
    }

    fn mend(&mut self) {
        // It takes all that the journal has, so nothing may come a second time.
        self.keep_all();
        self.try_again();
    }

    fn try_again(&mut self) {
        if self.archive.mend(&self.store) {
            self.tell();
        }
    }

    fn tell(&mut self) {
        let told = self.archive.told();
        let _ = self.hub.blocking_send(Input::History { told });
    }

    /// True when it was tried.
    fn compact(&mut self, pending: Option<&Pending>) -> bool {
        // The history catches up from the journal as long as it is not durable itself.
        if !self.store.wants_compaction() {
            return false;
        }
        self.try_again();
        if !self.archive.make_durable() {
            self.tell();
            return false;
        }
        let config = content::to_json(&self.schema, &self.running).into_bytes();
        let done = pending
            .map(|pending| stored(&self.schema, &self.boot, pending))
            .transpose()
            .map_err(|error| error.to_string())
            .and_then(|pending| {
                let modules = modules_of(&self.schema);
                self.store.compact(&modules, &config, pending.as_ref()).map_err(|error| error.to_string())
            });
        match done {
            Ok(()) => {
                tracing::info!(revision = self.store.revision(), "the journal is folded into a snapshot")
            }
            Err(error) => {
                tracing::error!(%error, "cannot fold the journal into a snapshot; it goes on growing")
            }
        }
        true
    }
}

/// A commit as the journal holds it.
///
/// # Errors
/// When a value has no JSON form, which is a bug of ours.
pub(crate) fn record_of(
    schema: &Schema,
    boot: &str,
    commit: &CommitRecord,
    changes: &ChangeSet,
    pending: Option<&Pending>,
) -> Result<Record, Error> {
    let Kept { revision, user, session, transport, unix_us, kind, comment, .. } = Kept::of(commit, 0);
    let kind = kind.map(|kind| kind.name().to_owned());
    Ok(Record {
        about: About { revision, at: unix_us, user, session, transport, comment, kind },
        changes: if changes.is_empty() { Vec::new() } else { content::record(schema, changes)? },
        pending: pending.map(|pending| stored(schema, boot, pending)).transpose()?,
    })
}

/// A confirmed commit that waits, as the store holds it.
fn stored(schema: &Schema, boot: &str, pending: &Pending) -> Result<cats_mgmtd_store::Pending, Error> {
    let confirm = Confirm {
        deadline: pending.deadline_us,
        timeout: pending.timeout_s,
        persist: pending.persist.clone(),
        boot: boot.to_owned(),
    };
    Ok(cats_mgmtd_store::Pending { confirm, undo: content::record(schema, &pending.undo)? })
}

fn failed(error: &StoreError) -> Error {
    let tag = match error {
        StoreError::TooBig { .. } => ErrorTag::TooBig,
        StoreError::Io { source, .. } if is_full(source) => ErrorTag::ResourceDenied,
        StoreError::InUse { .. }
        | StoreError::Io { .. }
        | StoreError::Corrupt { .. }
        | StoreError::Format { .. }
        | StoreError::Poisoned { .. }
        | StoreError::OutOfOrder { .. }
        | StoreError::History { .. }
        | StoreError::Encode(_) => ErrorTag::OperationFailed,
    };
    tracing::error!(%error, "a commit cannot be recorded");
    Error::application(tag, format!("the commit is not durable and was not applied: {error}"))
}

/// Is it a disk, or what a user may have of it, that has no room?
pub(crate) fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// The implemented modules, as the store keeps them.
pub(crate) fn modules_of(schema: &Schema) -> Vec<ModuleRevision> {
    let implemented = schema.modules.iter().filter(|module| module.implemented);
    implemented
        .map(|module| ModuleRevision { name: module.name.clone(), revision: module.revision.clone() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_a_lack_of_resources_and_any_other_failure_is_not() {
        let tag = |kind: ErrorKind| {
            let source = std::io::Error::from(kind);
            failed(&StoreError::Io { action: "append to", path: "journal".into(), source }).tag
        };
        assert_eq!(tag(ErrorKind::StorageFull), ErrorTag::ResourceDenied);
        assert_eq!(tag(ErrorKind::QuotaExceeded), ErrorTag::ResourceDenied);
        assert_eq!(tag(ErrorKind::PermissionDenied), ErrorTag::OperationFailed);
    }
}
