//! The last revisions: who made each, and the changes back to the one before.
//!
//! It has no holes: whatever does not follow its last revision begins it anew, since no way leads over a hole. What is
//! added is durable from [`History::make_durable`] on; a crash before that takes the last revisions away, which the
//! journal still has.

use crate::error::StoreError;
use crate::record::{About, join, split};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// By revision: its head.
const HEADS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("heads");
/// By revision: the changes back to the one before.
const UNDOS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("undos");
/// Whose revisions these are.
const ABOUT: TableDefinition<'_, &str, &str> = TableDefinition::new("about");

const INSTANCE: &str = "instance";

/// Memory for pages, bytes.
const CACHE: usize = 4 << 20;

/// So many revisions, or bytes of them, are written at once; a crash leaves no more to catch up with.
const AT_ONCE: usize = 64;
const AT_ONCE_BYTES: u64 = 1 << 20;

/// How much is kept. Of what is more, the oldest goes first.
#[derive(Debug, Clone, Copy)]
pub struct HistoryLimits {
    /// Revisions.
    pub revisions: usize,
    /// Bytes of their changes, and of their heads.
    pub bytes: u64,
}

/// One revision as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// What is told of it.
    pub head: RevisionHead,
    /// The changes back to the revision before, as the JSON list of `yang/tree`.
    pub undo: Vec<u8>,
}

/// What is told of a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionHead {
    /// Who, when, and through what.
    #[serde(flatten)]
    pub about: About,
    /// How many nodes it changed.
    pub changes: u64,
}

/// An open history.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
    database: Database,
    limits: HistoryLimits,
    /// Each revision that is kept, in order, and its bytes.
    kept: VecDeque<(u64, u64)>,
    bytes: u64,
    /// Revisions that are not written, oldest first.
    fresh: Vec<Fresh>,
    fresh_bytes: u64,
}

/// A revision that is not written.
#[derive(Debug)]
struct Fresh {
    number: u64,
    head: Vec<u8>,
    undo: Vec<u8>,
}

impl History {
    /// Opens or creates the history of the journal `instance` in a state directory that a [`crate::Store`] holds open.
    /// That of another journal is emptied, and so is what lies beyond `last`, the revision that runs.
    ///
    /// # Errors
    /// [`StoreError::History`] when it is damaged or cannot be written.
    pub fn open(dir: &Path, instance: &str, last: u64, limits: HistoryLimits) -> Result<Self, StoreError> {
        let path = dir.join("history.redb");
        let database = open(&path)?;
        let mut history = Self {
            path,
            database,
            limits,
            kept: VecDeque::new(),
            bytes: 0,
            fresh: Vec::new(),
            fresh_bytes: 0,
        };
        let found = history.begin(instance, last);
        let kept = history.said("read", found)?;
        history.bytes = kept.iter().map(|(_, size)| size).sum();
        history.kept = kept;
        Ok(history)
    }

    /// The last revision that is kept.
    pub fn last(&self) -> Option<u64> {
        self.kept.back().map(|(revision, _)| *revision)
    }

    /// The oldest revision that is kept.
    pub fn oldest(&self) -> Option<u64> {
        self.kept.front().map(|(revision, _)| *revision)
    }

    /// Keeps a revision, and drops the oldest ones beyond the limits. Revisions are written by many at once, since one
    /// transaction costs more than what it writes here.
    ///
    /// # Errors
    /// [`StoreError::History`]; then the history is to be opened anew.
    pub fn add(&mut self, revision: &Revision) -> Result<(), StoreError> {
        let number = revision.head.about.revision;
        let head = join(&revision.head, b"")?;
        let size = (head.len() + revision.undo.len()) as u64;
        if self.last().is_some_and(|last| last + 1 != number) {
            self.kept.clear();
            self.bytes = 0;
        }
        self.kept.push_back((number, size));
        self.bytes += size;
        while self.kept.len() > self.limits.revisions || self.bytes > self.limits.bytes {
            let Some((_, size)) = self.kept.pop_front() else { break };
            self.bytes -= size;
        }
        self.fresh.push(Fresh { number, head, undo: revision.undo.clone() });
        self.fresh_bytes += size;
        if self.fresh.len() >= AT_ONCE || self.fresh_bytes >= AT_ONCE_BYTES {
            return self.make_durable();
        }
        Ok(())
    }

    /// From here on no crash takes anything away.
    ///
    /// # Errors
    /// [`StoreError::History`].
    pub fn make_durable(&mut self) -> Result<(), StoreError> {
        if !self.fresh.is_empty() {
            self.said("write", self.write())?;
            self.fresh.clear();
            self.fresh_bytes = 0;
        }
        Ok(())
    }

    /// What is told of the revisions that are kept, oldest first.
    ///
    /// # Errors
    /// [`StoreError::History`].
    pub fn heads(&self) -> Result<Vec<RevisionHead>, StoreError> {
        let texts = self.said("read", self.read_heads())?;
        let texts = texts.iter().chain(self.fresh.iter().map(|fresh| &fresh.head));
        let heads = texts.map(|text| split::<RevisionHead>(text).map(|(head, _)| head));
        let heads: Vec<RevisionHead> =
            heads.collect::<Result<_, _>>().map_err(|what| self.failure("read", what))?;
        Ok(heads.into_iter().filter(|head| self.keeps(head.about.revision)).collect())
    }

    /// The changes from `revision` back to the one before; none when it is not kept.
    ///
    /// # Errors
    /// [`StoreError::History`].
    pub fn undo(&self, revision: u64) -> Result<Option<Vec<u8>>, StoreError> {
        if !self.keeps(revision) {
            return Ok(None);
        }
        match self.fresh.iter().find(|fresh| fresh.number == revision) {
            Some(fresh) => Ok(Some(fresh.undo.clone())),
            None => self.said("read", self.read_undo(revision)),
        }
    }

    /// Bytes of all that is kept.
    pub fn size(&self) -> u64 {
        self.bytes
    }

    /// Makes the tables, and drops what is not of this journal.
    fn begin(&self, instance: &str, last: u64) -> Result<VecDeque<(u64, u64)>, redb::Error> {
        let transaction = self.database.begin_write()?;
        let mut kept = VecDeque::new();
        {
            let mut about = transaction.open_table(ABOUT)?;
            let (mut heads, mut undos) = (transaction.open_table(HEADS)?, transaction.open_table(UNDOS)?);
            let same = about.get(INSTANCE)?.is_some_and(|found| found.value() == instance);
            about.insert(INSTANCE, instance)?;
            let beyond = if same { last.saturating_add(1) } else { 0 };
            heads.retain_in(beyond.., |_, _| false)?;
            undos.retain_in(beyond.., |_, _| false)?;
            for entry in heads.iter()? {
                let (revision, head) = entry?;
                let undo = undos.get(revision.value())?.map_or(0, |undo| undo.value().len());
                kept.push_back((revision.value(), (head.value().len() + undo) as u64));
            }
        }
        transaction.commit()?;
        Ok(kept)
    }

    fn keeps(&self, revision: u64) -> bool {
        self.oldest().is_some_and(|oldest| oldest <= revision)
            && self.last().is_some_and(|last| revision <= last)
    }

    /// Writes what is not written, and drops what is not kept any more.
    fn write(&self) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        {
            let (mut heads, mut undos) = (transaction.open_table(HEADS)?, transaction.open_table(UNDOS)?);
            let first = self.oldest().unwrap_or(u64::MAX);
            heads.retain_in(..first, |_, _| false)?;
            undos.retain_in(..first, |_, _| false)?;
            for Fresh { number, head, undo } in &self.fresh {
                if self.keeps(*number) {
                    heads.insert(*number, head.as_slice())?;
                    undos.insert(*number, undo.as_slice())?;
                }
            }
        }
        transaction.commit()?;
        Ok(())
    }

    fn read_heads(&self) -> Result<Vec<Vec<u8>>, redb::Error> {
        let heads = self.database.begin_read()?.open_table(HEADS)?;
        let mut texts = Vec::new();
        for entry in heads.iter()? {
            texts.push(entry?.1.value().to_vec());
        }
        Ok(texts)
    }

    fn read_undo(&self, revision: u64) -> Result<Option<Vec<u8>>, redb::Error> {
        let undos = self.database.begin_read()?.open_table(UNDOS)?;
        Ok(undos.get(revision)?.map(|undo| undo.value().to_vec()))
    }

    fn said<T>(&self, action: &'static str, result: Result<T, redb::Error>) -> Result<T, StoreError> {
        result.map_err(|error| self.failure(action, error.to_string()))
    }

    fn failure(&self, action: &'static str, reason: String) -> StoreError {
        StoreError::History { action, path: self.path.clone(), reason }
    }
}

fn open(path: &Path) -> Result<Database, StoreError> {
    let failed = |reason: String| StoreError::History {
        action: "open",
        path: path.to_path_buf(),
        reason: format!("{reason}. Make room, or move the file away to begin the history anew"),
    };
    // It holds configuration, so it is its owner's alone.
    let mut options = std::fs::OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = crate::files::plain(options, path).map_err(|error| failed(error.to_string()))?;
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE);
    let backend = redb::backends::FileBackend::new(file).map_err(|error| failed(error.to_string()))?;
    builder.create_with_backend(backend).map_err(|error| failed(error.to_string()))
}
