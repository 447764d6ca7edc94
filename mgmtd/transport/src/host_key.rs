//! The server's own SSH key.

use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use russh::keys::{HashAlg, PrivateKey};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Its file in the state directory.
const FILE: &str = "ssh_host_ed25519_key";

/// Why there is no host key.
#[derive(Debug, Error)]
pub enum HostKeyError {
    /// A file operation failed.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Others may read or write the file.
    #[error(
        "{path} has mode {mode:04o}; others must not read a private key: chmod 600 it, or remove it to get a new one"
    )]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file is no private key in OpenSSH's format, or is encrypted.
    #[error("{path} is not an unencrypted OpenSSH private key ({error}); remove it to get a new one")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: russh::keys::ssh_key::Error,
    },
}

/// The server's Ed25519 key.
pub struct HostKey(pub(crate) PrivateKey);

impl HostKey {
    /// Reads the key from the state directory; at the first start makes one there, mode 0600.
    ///
    /// # Errors
    /// See [`HostKeyError`].
    pub fn load_or_create(state_dir: &Path) -> Result<Self, HostKeyError> {
        let path = state_dir.join(FILE);
        let at = |error| HostKeyError::File { path: path.clone(), error };
        match File::open(&path) {
            Ok(file) => Self::load(file, &path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = Self::generate().map_err(at)?;
                key.store(state_dir, &path)?;
                Ok(key)
            }
            Err(error) => Err(at(error)),
        }
    }

    /// What `ssh-keygen -l` prints: `SHA256:…`.
    pub fn fingerprint(&self) -> String {
        self.0.fingerprint(HashAlg::Sha256).to_string()
    }

    fn load(mut file: File, path: &Path) -> Result<Self, HostKeyError> {
        let at = |error| HostKeyError::File { path: path.to_owned(), error };
        let mode = file.metadata().map_err(at)?.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(HostKeyError::Mode { path: path.to_owned(), mode });
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(at)?;
        let key = PrivateKey::from_openssh(&text)
            .and_then(
                |key| if key.is_encrypted() { Err(russh::keys::ssh_key::Error::Encrypted) } else { Ok(key) },
            )
            .map_err(|error| HostKeyError::Format { path: path.to_owned(), error })?;
        Ok(Self(key))
    }

    fn generate() -> io::Result<Self> {
        let mut seed = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut seed)?;
        let pair = KeypairData::Ed25519(Ed25519Keypair::from_seed(&seed));
        PrivateKey::new(pair, "cats-mgmtd").map(Self).map_err(io::Error::other)
    }

    /// Written aside and renamed, so a crash leaves a whole key or none.
    fn store(&self, state_dir: &Path, path: &Path) -> Result<(), HostKeyError> {
        let aside = path.with_extension("new");
        let write = || -> io::Result<()> {
            let text = self.0.to_openssh(LineEnding::LF).map_err(io::Error::other)?;
            let _ = fs::remove_file(&aside);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&aside, path)?;
            File::open(state_dir)?.sync_all()
        };
        write().map_err(|error| HostKeyError::File { path: path.to_owned(), error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_key_is_made_once_and_is_for_the_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let first = HostKey::load_or_create(dir.path()).unwrap();
        let mode = fs::metadata(dir.path().join(FILE)).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let second = HostKey::load_or_create(dir.path()).unwrap();
        assert_eq!(first.fingerprint(), second.fingerprint());
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_none_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        HostKey::load_or_create(dir.path()).unwrap();
        let path = dir.path().join(FILE);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(HostKey::load_or_create(dir.path()), Err(HostKeyError::Mode { mode: 0o644, .. })));
        fs::write(&path, "nonsense").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(HostKey::load_or_create(dir.path()), Err(HostKeyError::Format { .. })));
    }
}
