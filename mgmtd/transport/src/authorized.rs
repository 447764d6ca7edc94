//! Users whose keys are in files.

use crate::access::acceptable;
use russh::keys::PublicKey;
use russh::keys::ssh_key::authorized_keys::Entry;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use tracing::warn;

/// Larger files are refused.
const FILE_LIMIT: u64 = 1 << 20;

/// Why a file of keys is of no use.
#[derive(Debug, Error)]
pub enum AuthorizedKeysError {
    /// It cannot be read.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Everybody may write it.
    #[error("{path} can be written by everybody, so it proves nothing: chmod o-w it")]
    Writable {
        /// The file.
        path: PathBuf,
    },
    /// It is larger than any such file should be.
    #[error("{path} has more than {FILE_LIMIT} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
}

/// Users and the files of their public keys, which are read at each login.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Users(BTreeMap<String, PathBuf>);

impl Users {
    /// `(name, authorized_keys file)` of each user; a later entry for a name replaces an earlier one.
    pub fn new(users: impl IntoIterator<Item = (String, PathBuf)>) -> Self {
        Self(users.into_iter().collect())
    }

    /// Whether it is one of them.
    pub fn has(&self, user: &str) -> bool {
        self.0.contains_key(user)
    }

    /// True if `key` is in the file of `user`. A file that cannot be used is logged and lets nobody in.
    pub(crate) async fn accepts(&self, user: &str, key: &PublicKey) -> bool {
        let Some(path) = self.0.get(user).cloned() else { return false };
        let keys = tokio::task::spawn_blocking(move || read_authorized_keys(&path)).await;
        match keys {
            Ok(Ok(keys)) => keys.iter().any(|known| known.key_data() == key.key_data()),
            Ok(Err(error)) => {
                warn!(user, %error, "no login: the authorized keys cannot be used");
                false
            }
            Err(_) => false,
        }
    }
}

/// The keys of an `authorized_keys` file that are accepted: Ed25519, ECDSA and RSA of 2048 bits or more. Lines with
/// options are left out with a warning, since to ignore `from=` or `command=` would let more in than was meant.
///
/// # Errors
/// See [`AuthorizedKeysError`].
pub fn read_authorized_keys(path: &Path) -> Result<Vec<PublicKey>, AuthorizedKeysError> {
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;
    let at = |error| AuthorizedKeysError::File { path: path.to_owned(), error };
    let file = plain(path).map_err(at)?;
    if file.metadata().map_err(at)?.mode() & 0o002 != 0 {
        return Err(AuthorizedKeysError::Writable { path: path.to_owned() });
    }
    let mut text = String::new();
    let size = file.take(FILE_LIMIT + 1).read_to_string(&mut text).map_err(at)?;
    if size as u64 > FILE_LIMIT {
        return Err(AuthorizedKeysError::TooLarge { path: path.to_owned() });
    }
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let accepted = lines.filter_map(|(number, line)| match accepted_key(line) {
        Ok(key) => Some(key),
        Err(reason) => {
            warn!(path = %path.display(), line = number + 1, reason, "authorized key left out");
            None
        }
    });
    Ok(accepted.collect())
}

/// Opens a plain file and nothing else: to open a pipe waits for its other end.
pub(crate) fn plain(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(std::io::Error::other("it is no plain file")),
    }
}

fn accepted_key(line: &str) -> Result<PublicKey, &'static str> {
    let entry: Entry = line.parse().map_err(|_| "it is not a public key in OpenSSH's format")?;
    if !entry.config_opts().is_empty() {
        return Err("it has options, which are not supported: remove them if the key may do everything");
    }
    let key = entry.public_key().clone();
    acceptable(&key).map(|()| key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use russh::keys::Algorithm;
    use std::os::unix::fs::PermissionsExt;

    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti user@example.com";

    fn read(text: &str) -> Vec<PublicKey> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read_authorized_keys(file.path()).unwrap()
    }

    #[test]
    fn comments_blanks_and_nonsense_do_not_hide_the_keys_behind_them() {
        let keys = read(&format!("# mine\n\nssh-ed25519 nonsense\n  {ED25519}\n"));
        assert_eq!(keys.len(), 1);
        assert_eq!(keys[0].algorithm(), Algorithm::Ed25519);
    }

    #[test]
    fn a_key_with_options_is_left_out_since_ignoring_them_would_widen_access() {
        assert!(read(&format!("from=\"192.0.2.1\" {ED25519}\n")).is_empty());
    }

    #[test]
    fn a_file_that_everybody_can_write_lets_nobody_in() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), ED25519).unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(read_authorized_keys(file.path()), Err(AuthorizedKeysError::Writable { .. })));
    }
}
