//! Why the store cannot be opened or written, and what to do about it.

use std::path::{Path, PathBuf};

/// A failure of the state directory.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the directory.
    #[error(
        "the state directory {dir} is in use by another cats-mgmtd (its lock file {lock} is held): stop that \
         process or give this one another --state-dir"
    )]
    InUse {
        /// The directory.
        dir: PathBuf,
        /// The lock file in it.
        lock: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Bytes that were once durable are not what was written.
    #[error(
        "{path} is damaged at byte {offset}: {what}. Nothing was changed. Restore the file from a backup, or move \
         it away to start without the commits it holds"
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Offset of the first damaged byte's record.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// The file was written by a later version.
    #[error(
        "{path} has format {found}, and this version reads format {known}: install the version that wrote it"
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A record is larger than the journal can hold.
    #[error("a commit of {size} bytes exceeds the journal's record limit of {limit} bytes: split the change")]
    TooBig {
        /// Bytes of the encoded record.
        size: usize,
        /// The bound.
        limit: usize,
    },
    /// A write failed earlier and what is on disk is not known.
    #[error(
        "the journal {path} stopped accepting commits after a failed write ({reason}): make room or repair the \
         disk, then restart cats-mgmtd"
    )]
    Poisoned {
        /// The journal.
        path: PathBuf,
        /// The first failure.
        reason: String,
    },
    /// The caller's revision does not follow the journal's last one.
    #[error("revision {found} cannot follow revision {last} in the journal")]
    OutOfOrder {
        /// The last revision recorded.
        last: u64,
        /// The one offered.
        found: u64,
    },
    /// The history cannot be opened, read or written.
    #[error("cannot {action} the history {path}: {reason}")]
    History {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A record cannot be encoded.
    #[error("cannot encode a record: {0}")]
    Encode(serde_json::Error),
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| StoreError::Io { action, path, source }
    }

    pub(crate) fn corrupt(path: &Path, offset: u64, what: impl Into<String>) -> Self {
        StoreError::Corrupt { path: path.to_path_buf(), offset, what: what.into() }
    }
}
