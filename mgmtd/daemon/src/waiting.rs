//! A confirmed commit that waited for its confirmation when the daemon was last stopped or killed.
//!
//! It goes on waiting when it has a name, time left, and the machine was not started anew (RFC 6241 section 8.4.1);
//! otherwise the configuration before it is restored before anything is served.

use crate::content;
use crate::history::Archive;
use crate::recorder::record_of;
use crate::startup::{StartError, still_valid};
use cats_mgmtd_core::{Author, CommitRecord, Kind, Now, Pending};
use cats_mgmtd_store as store;
use cats_yang_schema::Compiled;
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{Tree, diff};
use std::sync::Arc;

/// What waits, and the configuration to go back to.
pub(crate) struct Waiting {
    pub(crate) pending: Pending,
    pub(crate) base: Tree,
    /// When the machine had been started that it was recorded on.
    boot: String,
}

/// What the state directory says, if the configuration to go back to is still valid.
///
/// # Errors
/// When it is not, or does not fit running.
pub(crate) fn find(
    schema: &Schema,
    compiled: &Compiled,
    running: &Tree,
    stored: Option<&store::Pending>,
) -> Result<Option<Waiting>, Vec<Error>> {
    let Some(store::Pending { confirm, undo }) = stored else { return Ok(None) };
    let base = content::replay(schema, running, undo).map_err(|error| vec![error])?;
    let base = still_valid(schema, compiled, base)?;
    let pending = Pending {
        undo: Arc::new(diff(running, &base)),
        deadline_us: confirm.deadline,
        timeout_s: confirm.timeout,
        persist: confirm.persist.clone(),
    };
    Ok(Some(Waiting { pending, base, boot: confirm.boot.clone() }))
}

/// Running, and what goes on waiting: what does not is taken back here, and that is recorded.
///
/// # Errors
/// When it cannot be recorded.
pub(crate) fn settle(
    schema: &Schema,
    boot: &str,
    (running, waiting): (Tree, Option<Waiting>),
    (store, archive): (&mut store::Store, &mut Archive),
    now: Now,
) -> Result<(Tree, Option<Waiting>), StartError> {
    let Some(waiting) = waiting else { return Ok((running, None)) };
    if waiting.boot == boot && waiting.pending.left(now).is_some() {
        tracing::info!(
            timeout_s = waiting.pending.timeout_s,
            "a confirmed commit waits for its confirmation"
        );
        return Ok((running, Some(waiting)));
    }
    let undo = &waiting.pending.undo;
    let revision = store.revision() + u64::from(!undo.is_empty());
    let (by, kind) = (Author::Server, Kind::Recovery);
    let commit = CommitRecord { revision, by, unix_us: now.unix_us, kind, comment: None };
    let record = record_of(schema, boot, &commit, undo, None).map_err(StartError::NotRecorded)?;
    store.append(std::slice::from_ref(&record))?;
    if !undo.is_empty() {
        archive.keep(&record.about, &running, &waiting.base);
    }
    tracing::warn!(revision, "a confirmed commit was not confirmed: the configuration before it is restored");
    Ok((waiting.base, None))
}
