//! Files that are replaced whole: written beside, made durable, renamed over.

use crate::error::StoreError;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Creates the state directory, readable by its owner alone, if it is not there.
pub(crate) fn create_dir(dir: &Path) -> Result<(), StoreError> {
    let result = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    result.map_err(StoreError::io("create the state directory", dir))
}

/// The content of a file, or nothing if there is none. A link that leads to none, as to a file system that is not mounted,
/// is a fault.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let whole = plain(OpenOptions::new().read(true), path).and_then(|mut file| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map(|_| bytes)
    });
    match whole {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => Ok(None),
        Err(error) => Err(StoreError::io("read", path)(error)),
    }
}

/// Opens a plain file and nothing else: to open a pipe waits for its other end.
pub(crate) fn plain(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no plain file: move it away")),
    }
}

/// Replaces `path` by a file of these parts. A crash leaves the old file or the new one.
pub(crate) fn replace(path: &Path, parts: &[&[u8]]) -> Result<(), StoreError> {
    let new = beside(path);
    remove_unfinished(path)?;
    let mut file = create(&new).map_err(StoreError::io("create", &new))?;
    for part in parts {
        file.write_all(part).map_err(StoreError::io("write", &new))?;
    }
    file.sync_all().map_err(StoreError::io("make durable", &new))?;
    fs::rename(&new, path).map_err(StoreError::io("rename to", path))?;
    sync_parent(path)
}

/// Removes what a crash in [`replace`] may have left, or whatever else has its name: to open a pipe waits for its other
/// end.
pub(crate) fn remove_unfinished(path: &Path) -> Result<(), StoreError> {
    let new = beside(path);
    match fs::remove_file(&new) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", &new)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".new");
    PathBuf::from(name)
}

fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn sync_parent(path: &Path) -> Result<(), StoreError> {
    let dir = path.parent().unwrap_or(Path::new("."));
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(StoreError::io("make durable", dir))
}
