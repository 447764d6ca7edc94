//! The history of revisions: what the store keeps of it, and the configurations that are made of that.
//!
//! The daemon runs without it when the store cannot keep it, since nothing else needs it; who asks for a revision is told
//! why there is none. It then catches up at the next start, as the journal is not folded meanwhile.

use crate::content;
use cats_mgmtd_core::{Kept, Kind};
use cats_mgmtd_store::{About, History, HistoryLimits, Revision, RevisionHead};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{Tree, diff};
use std::path::Path;
use std::sync::Arc;

/// Bytes of changes that are kept; as `cats-system` says.
const BYTES: u64 = 64 << 20;

/// The history, or why there is none.
pub(crate) struct Archive {
    history: Result<History, String>,
    schema: Arc<Schema>,
}

impl Archive {
    /// Opens that of the journal `instance`, whose last revision is `last`.
    pub(crate) fn open(dir: &Path, instance: &str, last: u64, revisions: u64, schema: Arc<Schema>) -> Self {
        let revisions = usize::try_from(revisions).unwrap_or(usize::MAX);
        let limits = HistoryLimits { revisions, bytes: BYTES };
        let mut archive = Self { history: Err(String::new()), schema };
        match History::open(dir, instance, last, limits) {
            Ok(history) => archive.history = Ok(history),
            Err(error) => archive.give_up(&error),
        }
        archive
    }

    /// Whether a revision is to be added to it.
    pub(crate) fn lacks(&self, revision: u64) -> bool {
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

    /// What is told of the revisions that are kept, oldest first.
    pub(crate) fn kept(&mut self) -> Vec<Kept> {
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
        tracing::error!(
            error = reason,
            "no revisions are kept from here on, and the journal goes on growing: repair that and restart cats-mgmtd"
        );
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
