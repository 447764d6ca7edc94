//! The state directory: an append-only journal of commits, the snapshot it is folded into, and recovery.
//!
//! This crate must not know what a configuration means: it keeps bodies of bytes with their revisions, and hands
//! them back after a crash, each either whole or not at all. Commits are decided when [`Store::append`] returns:
//! one write and one fdatasync for all of them. All calls block; the daemon gives the store a thread of its own.
//!
//! Files of a state directory: `lock` (held while a daemon runs), `running.journal` (a head, then one frame a group of
//! commits, then zeros as room for the next), `running.snapshot` (the configuration that the journal starts from; absent until the first
//! compaction). The last two are replaced by renaming, and a crash between the two renames of a compaction leaves
//! a journal that the snapshot holds already, which recovery replaces.
//!
//! A confirmed commit (RFC 6241 section 8.4) is a record that says until when it waits, and how to undo it. The last
//! record, or the snapshot when there is none, says whether one waits.
//!
//! `history.redb` keeps the way back from each of the last revisions to the one before: [`History`]. It is written after
//! the journal, without an fdatasync of its own, and catches up from the journal after a crash; what the journal is
//! folded into does not hold the revisions, so the history is made durable first. Recovery does without it.
//!
//! `events/` keeps what happened for who subscribes later: [`EventStore`]. Recovery does without that too.

mod checksum;
mod error;
mod events;
mod files;
mod frame;
mod history;
mod journal;
mod lock;
mod record;

pub use error::StoreError;
pub use events::{EventStore, StoredEvent};
pub use history::{History, HistoryLimits, Revision, RevisionHead};
pub use record::{About, Confirm, ModuleRevision, Pending, Record, Snapshot};

use journal::{Found, Journal};
use lock::Lock;
use record::{FORMAT, JournalHead, SnapshotHead, is_known, join, split};
use std::path::{Path, PathBuf};

/// What a store is opened with.
#[derive(Debug, Clone)]
pub struct Options {
    /// The modules of this run, written into whatever is created.
    pub modules: Vec<ModuleRevision>,
    /// A name that no other history has; used when a journal is created.
    pub new_instance: String,
    /// Size of the journal in bytes from which [`Store::wants_compaction`] answers yes.
    pub compact_at: u64,
}

/// An open state directory, locked against a second daemon.
#[derive(Debug)]
pub struct Store {
    journal: Journal,
    journal_path: PathBuf,
    snapshot_path: PathBuf,
    last: u64,
    /// Size of the journal from which it is to be folded.
    compact_at: u64,
    /// As configured; after a failure `compact_at` is twice what the journal had.
    compact_at_first: u64,
    _lock: Lock,
}

/// What a state directory held.
#[derive(Debug)]
pub struct Recovered {
    /// The store, ready for the next commit.
    pub store: Store,
    /// The configuration to start from; none is the empty one of revision 0.
    pub snapshot: Option<Snapshot>,
    /// The commits to apply to it, in order, each of the next revision, and notes between them.
    pub records: Vec<Record>,
    /// The confirmed commit that waits for its confirmation.
    pub pending: Option<Pending>,
    /// Bytes of an incomplete last write that were cut off; the commit they belong to was never acknowledged.
    pub torn: u64,
    /// The module set that the stored configuration was valid in.
    pub modules: Vec<ModuleRevision>,
    /// The files have an earlier format, which cannot hold all that is recorded now: [`Store::compact`] renews them.
    pub outdated: bool,
}

impl Store {
    /// Opens or creates the state directory.
    ///
    /// # Errors
    /// [`StoreError::InUse`] for a second daemon, [`StoreError::Corrupt`] for damage before the last record,
    /// [`StoreError::Format`] for files of a later version, [`StoreError::Io`] otherwise.
    pub fn open(dir: &Path, options: Options) -> Result<Recovered, StoreError> {
        files::create_dir(dir)?;
        let lock = Lock::take(dir)?;
        let (journal_path, snapshot_path) = (dir.join("running.journal"), dir.join("running.snapshot"));
        files::remove_unfinished(&journal_path)?;
        files::remove_unfinished(&snapshot_path)?;
        let snapshot = read_snapshot(&snapshot_path)?;
        let start = snapshot.as_ref().map_or(0, |snapshot| snapshot.revision);
        let Found { journal, mut records, torn } = match files::read(&journal_path)? {
            Some(bytes) => Journal::recover(&journal_path, &bytes)?,
            None => Found { journal: create(&journal_path, &options, start)?, records: Vec::new(), torn: 0 },
        };
        if journal.head.base > start {
            let what = format!(
                "the journal begins after revision {}, and the snapshot has revision {start}: commits are missing",
                journal.head.base
            );
            return Err(StoreError::corrupt(&journal_path, 0, what));
        }
        let mut journal = journal;
        if journal.head.base < start {
            // A compaction stopped half-way, and the snapshot holds what the journal does.
            records.retain(|record| record.about.revision > start);
            if records.is_empty() {
                journal = Journal::create(&journal_path, journal.head.after(start))?;
            }
        }
        let last = records.last().map_or(start, |record| record.about.revision);
        let pending = match records.last() {
            Some(record) => record.pending.clone(),
            None => snapshot.as_ref().and_then(|snapshot| snapshot.pending.clone()),
        };
        // A compaction that stopped half-way leaves the newer module set in the snapshot.
        let modules = match &snapshot {
            Some(snapshot) => snapshot.modules.clone(),
            None => journal.head.modules.clone(),
        };
        let outdated = journal.head.format < FORMAT;
        let compact_at = options.compact_at;
        let compact_at_first = compact_at;
        let store =
            Store { journal, journal_path, snapshot_path, last, compact_at, compact_at_first, _lock: lock };
        Ok(Recovered { store, snapshot, records, pending, torn, modules, outdated })
    }

    /// Makes commits durable, all of them or none: when this returns, they are decided.
    ///
    /// # Errors
    /// After any error none is in the journal, or the journal takes no further one
    /// ([`StoreError::Poisoned`]) because what the disk holds is unknown.
    pub fn append(&mut self, group: &[Record]) -> Result<(), StoreError> {
        let mut last = self.last;
        for record in group {
            if !record.is_next(last) {
                return Err(StoreError::OutOfOrder { last, found: record.about.revision });
            }
            last = record.about.revision;
        }
        self.journal.append(group)?;
        self.last = last;
        Ok(())
    }

    /// Makes room for the next commits, when nobody waits: they become durable at less cost then.
    ///
    /// # Errors
    /// [`StoreError::Io`]; commits are taken all the same.
    pub fn make_room(&mut self) -> Result<(), StoreError> {
        self.journal.make_room()
    }

    /// What the files hold now: the configuration that the journal starts from, and the commits since.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn read(&self) -> Result<(Option<Snapshot>, Vec<Record>), StoreError> {
        let snapshot = read_snapshot(&self.snapshot_path)?;
        let start = snapshot.as_ref().map_or(0, |snapshot| snapshot.revision);
        let bytes = files::read(&self.journal_path)?.unwrap_or_default();
        let (_, mut records, _) = Journal::read(&self.journal_path, &bytes)?;
        records.retain(|record| record.about.revision > start);
        Ok((snapshot, records))
    }

    /// Whether the journal has grown beyond its bound.
    pub fn wants_compaction(&self) -> bool {
        self.journal.size() >= self.compact_at
    }

    /// Replaces snapshot and journal by a snapshot of the last revision and an empty journal. `pending` is what the
    /// last record has.
    ///
    /// # Errors
    /// [`StoreError::Io`]; the commits recorded so far are kept whatever happens, and the journal asks again when it has
    /// grown to twice its size, since each try costs as much as the configuration is big.
    pub fn compact(
        &mut self,
        modules: &[ModuleRevision],
        config: &[u8],
        pending: Option<&Pending>,
    ) -> Result<(), StoreError> {
        let folded = self.fold(modules, config, pending);
        self.compact_at = match folded {
            Ok(()) => self.compact_at_first,
            Err(_) => self.compact_at_first.max(self.journal.size().saturating_mul(2)),
        };
        folded
    }

    fn fold(
        &mut self,
        modules: &[ModuleRevision],
        config: &[u8],
        pending: Option<&Pending>,
    ) -> Result<(), StoreError> {
        let undo = pending.map(|pending| frame::encode(&pending.undo)).unwrap_or_default();
        let confirm = pending.map(|pending| pending.confirm.clone());
        let parts = config.len().div_ceil(frame::MAX_PAYLOAD).max(1);
        let head =
            SnapshotHead { format: FORMAT, revision: self.last, modules: modules.to_vec(), parts, confirm };
        let head = frame::encode(&join(&head, b"")?);
        let config = frame::encode_parts(config, frame::MAX_PAYLOAD);
        files::replace(&self.snapshot_path, &[&head, &config, &undo])?;
        let head = JournalHead {
            format: FORMAT,
            instance: self.journal.head.instance.clone(),
            base: self.last,
            modules: modules.to_vec(),
        };
        self.journal = Journal::create(&self.journal_path, head)?;
        Ok(())
    }

    /// The revision of the last commit; 0 before the first.
    pub fn revision(&self) -> u64 {
        self.last
    }

    /// The name of this history; revisions are comparable only within one.
    pub fn instance(&self) -> &str {
        &self.journal.head.instance
    }
}

fn create(path: &Path, options: &Options, base: u64) -> Result<Journal, StoreError> {
    let head = JournalHead {
        format: FORMAT,
        instance: options.new_instance.clone(),
        base,
        modules: options.modules.clone(),
    };
    Journal::create(path, head)
}

fn read_snapshot(path: &Path) -> Result<Option<Snapshot>, StoreError> {
    let Some(bytes) = files::read(path)? else { return Ok(None) };
    let part = |offset: usize| match frame::scan(&bytes, offset) {
        frame::Scan::Record { payload, next } => Ok((payload, next)),
        frame::Scan::End | frame::Scan::Torn | frame::Scan::Damaged { .. } => {
            Err(StoreError::corrupt(path, offset as u64, "the snapshot is not whole"))
        }
    };
    let (head, next) = part(0)?;
    let (head, _) = split::<SnapshotHead>(head).map_err(|what| StoreError::corrupt(path, 0, what))?;
    if !is_known(head.format) {
        return Err(StoreError::Format { path: path.to_path_buf(), found: head.format, known: FORMAT });
    }
    let (mut config, mut next) = (Vec::new(), next);
    for _ in 0..head.parts {
        let (payload, behind) = part(next)?;
        config.extend_from_slice(payload);
        next = behind;
    }
    let pending = match head.confirm {
        Some(confirm) => Some(Pending { confirm, undo: part(next)?.0.to_vec() }),
        None => None,
    };
    Ok(Some(Snapshot { revision: head.revision, modules: head.modules, config, pending }))
}
