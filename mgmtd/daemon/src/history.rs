//! The history of revisions: what the store keeps of it, and the configurations that are made of that.
//!
//! The daemon runs without it when the store cannot keep it, since nothing else needs it; who asks for a revision is told
//! why there is none. It catches up as soon as the store can, since the journal is not folded meanwhile.

use crate::content;
use cats_mgmtd_core::{Kept, Kind};
use cats_mgmtd_store::{About, History, HistoryLimits, Record, Revision, RevisionHead, Snapshot, Store};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{Tree, diff};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of changes that are kept; as `cats-system` says.
const BYTES: u64 = 64 << 20;

/// The history, or why there is none.
pub(crate) struct Archive {
    history: Result<History, String>,
    schema: Arc<Schema>,
    dir: PathBuf,
    limits: HistoryLimits,
    /// It was said in the log that there is none.
    said: bool,
}

impl Archive {
    /// Opens that of the journal `instance`, whose last revision is `last`.
    pub(crate) fn open(dir: &Path, instance: &str, last: u64, revisions: u64, schema: Arc<Schema>) -> Self {
        let revisions = usize::try_from(revisions).unwrap_or(usize::MAX);
        let limits = HistoryLimits { revisions, bytes: BYTES };
        let history = History::open(dir, instance, last, limits).map_err(|error| error.to_string());
        let mut archive =
            Self { history: Err(String::new()), schema, dir: dir.to_owned(), limits, said: false };
        match history {
            Ok(history) => archive.history = Ok(history),
            Err(reason) => archive.give_up(&reason),
        }
        archive
    }

    /// The configuration after these commits, from a snapshot on. What the history lacks of them is kept.
    ///
    /// # Errors
    /// When they do not fit the schema.
    pub(crate) fn catch_up(
        &mut self,
        snapshot: Option<&Snapshot>,
        records: &[Record],
    ) -> Result<Tree, Vec<Error>> {
        let schema = Arc::clone(&self.schema);
        let mut tree = match snapshot {
            Some(snapshot) => content::from_json(&schema, &snapshot.config)?,
            None => Tree::new(),
        };
        // A note changes nothing.
        for record in records.iter().filter(|record| !record.changes.is_empty()) {
            let next = content::replay(&schema, &tree, &record.changes).map_err(|error| vec![error])?;
            if self.lacks(record.about.revision) {
                self.keep(&record.about, &tree, &next);
            }
            tree = next;
        }
        Ok(tree)
    }

    /// Tries again to keep a history, when there is none: with all that the journal of `store` has. True when there is
    /// one from now on.
    pub(crate) fn mend(&mut self, store: &Store) -> bool {
        if self.history.is_ok() {
            return false;
        }
        match History::open(&self.dir, store.instance(), store.revision(), self.limits) {
            Ok(history) => self.history = Ok(history),
            Err(error) => {
                self.history = Err(error.to_string());
                return false;
            }
        }
        let caught_up = store.read().map_err(|error| error.to_string()).and_then(|(snapshot, records)| {
            let caught_up = self.catch_up(snapshot.as_ref(), &records);
            caught_up.map_err(|errors| errors.first().map(ToString::to_string).unwrap_or_default())
        });
        if let Err(reason) = caught_up {
            self.give_up(&reason);
        }
        if !self.make_durable() {
            return false;
        }
        self.said = false;
        tracing::info!(revision = store.revision(), "revisions are kept again");
        true
    }

    /// What is told of the revisions that are kept, oldest first.
    ///
    /// # Errors
    /// Why there is no history.
    pub(crate) fn told(&mut self) -> Result<Vec<Kept>, String> {
        let kept = self.kept();
        self.history.as_ref().map(|_| kept).map_err(Clone::clone)
    }

    /// Whether a revision is to be added to it.
    fn lacks(&self, revision: u64) -> bool {
        self.history.as_ref().is_ok_and(|history| history.last().is_none_or(|last| last < revision))
    }

    /// Keeps a revision that made `new` of `old`.
    pub(crate) fn keep(&mut self, about: &About, old: &Tree, new: &Tree) {
        let Ok(history) = &mut self.history else { return };
        let undo = diff(new, old);
        let changes = undo.changes.len() as u64;
        let kept = content::record(&self.schema, &undo).map_err(|error| error.to_string()).and_then(|undo| {
            let head = RevisionHead { about: about.clone(), changes };
            history.add(&Revision { head, undo }).map_err(|error| error.to_string())
        });
        if let Err(error) = kept {
            self.give_up(&error);
        }
    }

    /// From here on the journal is not needed for it. False when there is no history to hold what the journal does.
    pub(crate) fn make_durable(&mut self) -> bool {
        let Ok(history) = &mut self.history else { return false };
        match history.make_durable() {
            Ok(()) => true,
            Err(error) => {
                self.give_up(&error);
                false
            }
        }
    }

    /// Revisions before this one are not kept.
    pub(crate) fn oldest(&self) -> u64 {
        self.history.as_ref().ok().and_then(History::oldest).unwrap_or(u64::MAX)
    }

    fn kept(&mut self) -> Vec<Kept> {
        let Ok(history) = &self.history else { return Vec::new() };
        match history.heads() {
            Ok(heads) => heads.into_iter().map(kept).collect(),
            Err(error) => {
                self.give_up(&error);
                Vec::new()
            }
        }
    }

    /// The configurations of these revisions, on the way back from running.
    ///
    /// # Errors
    /// When a revision is not kept, or was made with modules that are not there.
    pub(crate) fn recall(&self, revisions: &[u64], running: &(u64, Tree)) -> Result<Vec<Tree>, Error> {
        revisions.iter().map(|revision| self.tree_of(*revision, running)).collect()
    }

    fn tree_of(&self, revision: u64, (last, running): &(u64, Tree)) -> Result<Tree, Error> {
        let mut tree = running.clone();
        for number in (revision + 1..=*last).rev() {
            let undo = self.undo(number)?.ok_or_else(|| {
                // The core has yet to hear that it was dropped.
                let oldest = self.oldest().saturating_sub(1).min(*last);
                let message = format!(
                    "revision {revision} is not kept any more: the oldest one that is kept is {oldest}"
                );
                Error::protocol(ErrorTag::InvalidValue, message)
            })?;
            tree = content::replay(&self.schema, &tree, &undo).map_err(|error| {
                failed(format!(
                    "revision {revision} cannot be made up by the YANG modules of this run: revision {number}: {error}"
                ))
            })?;
        }
        Ok(tree)
    }

    fn undo(&self, revision: u64) -> Result<Option<Vec<u8>>, Error> {
        match &self.history {
            Ok(history) => history.undo(revision).map_err(|error| failed(error.to_string())),
            Err(reason) => Err(failed(format!("there is no history: {reason}"))),
        }
    }

    fn give_up(&mut self, error: &impl ToString) {
        let reason = error.to_string();
        if !std::mem::replace(&mut self.said, true) {
            tracing::error!(
                error = reason,
                "no revisions are kept until that is repaired, and the journal goes on growing: it is tried again each minute"
            );
        }
        self.history = Err(reason);
    }
}

fn kept(head: RevisionHead) -> Kept {
    let RevisionHead { about, changes } = head;
    Kept {
        revision: about.revision,
        user: about.user,
        session: about.session,
        transport: about.transport,
        unix_us: about.at,
        kind: about.kind.as_deref().and_then(Kind::of),
        comment: about.comment,
        changes,
    }
}

fn failed(message: String) -> Error {
    Error::application(ErrorTag::OperationFailed, message)
}
