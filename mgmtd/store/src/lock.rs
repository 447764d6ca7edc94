//! The lock file, which keeps a second daemon out.

use crate::error::StoreError;
use crate::files::plain;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A held lock; dropped with the process, however that ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    pub(crate) fn take(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join("lock");
        let opened =
            plain(OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600), &path);
        let file = opened.map_err(StoreError::io("open the lock file", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse { dir: dir.to_path_buf(), lock: path }),
            Err(TryLockError::Error(error)) => Err(StoreError::io("lock", &path)(error)),
        }
    }
}
