//! The server's own SSH keys.

use crate::authorized::plain;
use russh::keys::key::safe_rng;
use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::{KeypairData, RsaKeypair};
use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PrivateKey};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use tokio::sync::watch;
use tracing::{error, info};

/// The length of an RSA key that is made here, in bits.
const RSA_BITS: usize = 3072;

/// A shorter one that was put here is refused, in bits.
const RSA_LEAST: u32 = 2048;

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
    /// The file holds a key of another kind than its name says, or a weak one.
    #[error("{path} holds a key of {found}, not {wanted}; remove it to get a new one")]
    Kind {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: String,
        /// What it should hold.
        wanted: &'static str,
    },
}

/// The server's keys: Ed25519, ECDSA P-256 and RSA. At the first start the last one is made in the background, since
/// that takes seconds.
#[derive(Clone)]
pub struct HostKeys(watch::Receiver<Arc<Vec<PrivateKey>>>);

#[derive(Clone, Copy)]
enum Kind {
    Ed25519,
    P256,
    Rsa,
}

impl HostKeys {
    /// Reads the keys from the state directory; at the first start makes them there, mode 0600.
    ///
    /// # Errors
    /// See [`HostKeyError`].
    pub fn load_or_create(state_dir: &Path) -> Result<Self, HostKeyError> {
        for kind in [Kind::Ed25519, Kind::P256, Kind::Rsa] {
            // What a crash has left of one that was being made.
            let _ = fs::remove_file(aside(&state_dir.join(kind.file())));
        }
        let mut keys = Vec::new();
        for kind in [Kind::Ed25519, Kind::P256] {
            keys.push(match load(state_dir, kind)? {
                Some(key) => key,
                None => create(state_dir, kind)?,
            });
        }
        let rsa = load(state_dir, Kind::Rsa)?;
        let missing = rsa.is_none();
        keys.extend(rsa);
        let (sender, receiver) = watch::channel(Arc::new(keys));
        if missing {
            create_later(state_dir.to_owned(), sender)?;
        }
        Ok(Self(receiver))
    }

    /// What `ssh-keygen -l` prints of each that is there: the algorithm and `SHA256:…`.
    pub fn fingerprints(&self) -> Vec<String> {
        self.0.borrow().iter().map(fingerprint).collect()
    }

    /// Those that are there now; another value than before when there are more.
    pub(crate) fn present(&self) -> Arc<Vec<PrivateKey>> {
        Arc::clone(&self.0.borrow())
    }

    /// Ready when all are there, or never will be.
    #[cfg(test)]
    async fn complete(&mut self) {
        let _ = self.0.wait_for(|keys| keys.len() == 3).await;
    }
}

fn fingerprint(key: &PrivateKey) -> String {
    format!("{} {}", key.algorithm(), key.fingerprint(HashAlg::Sha256))
}

impl Kind {
    fn file(self) -> &'static str {
        match self {
            Kind::Ed25519 => "ssh_host_ed25519_key",
            Kind::P256 => "ssh_host_ecdsa_key",
            Kind::Rsa => "ssh_host_rsa_key",
        }
    }

    fn wanted(self) -> &'static str {
        match self {
            Kind::Ed25519 => "Ed25519",
            Kind::P256 => "ECDSA on NIST P-256",
            Kind::Rsa => "RSA with 2048 bits or more",
        }
    }

    fn is_of(self, key: &PrivateKey) -> bool {
        match (self, key.key_data()) {
            (Kind::Ed25519, KeypairData::Ed25519(_)) => true,
            (Kind::P256, KeypairData::Ecdsa(pair)) => pair.curve() == EcdsaCurve::NistP256,
            (Kind::Rsa, KeypairData::Rsa(pair)) => pair.key_size() >= RSA_LEAST,
            (Kind::Ed25519 | Kind::P256 | Kind::Rsa, _) => false,
        }
    }

    fn generate(self) -> russh::keys::ssh_key::Result<PrivateKey> {
        let mut rng = safe_rng();
        match self {
            Kind::Ed25519 => PrivateKey::random(&mut rng, Algorithm::Ed25519),
            Kind::P256 => PrivateKey::random(&mut rng, Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 }),
            Kind::Rsa => {
                PrivateKey::new(KeypairData::Rsa(RsaKeypair::random(&mut rng, RSA_BITS)?), "cats-mgmtd")
            }
        }
    }
}

/// None when there is no file. A link that leads to none is a fault: a new key would be another host's to those who know
/// the old one.
fn load(state_dir: &Path, kind: Kind) -> Result<Option<PrivateKey>, HostKeyError> {
    let path = state_dir.join(kind.file());
    let at = |error| HostKeyError::File { path: path.clone(), error };
    let mut file = match plain(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => {
            return Ok(None);
        }
        Err(error) => return Err(at(error)),
    };
    let mode = file.metadata().map_err(at)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(HostKeyError::Mode { path, mode });
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(at)?;
    let key = PrivateKey::from_openssh(&text)
        .and_then(
            |key| if key.is_encrypted() { Err(russh::keys::ssh_key::Error::Encrypted) } else { Ok(key) },
        )
        .map_err(|error| HostKeyError::Format { path: path.clone(), error })?;
    if !kind.is_of(&key) {
        let found = key.algorithm().to_string();
        return Err(HostKeyError::Kind { path, found, wanted: kind.wanted() });
    }
    Ok(Some(key))
}

fn create(state_dir: &Path, kind: Kind) -> Result<PrivateKey, HostKeyError> {
    let path = state_dir.join(kind.file());
    let make = || -> io::Result<PrivateKey> {
        let key = kind.generate().map_err(io::Error::other)?;
        store(&key, state_dir, &path)?;
        Ok(key)
    };
    make().map_err(|error| HostKeyError::File { path: path.clone(), error })
}

fn create_later(state_dir: PathBuf, keys: watch::Sender<Arc<Vec<PrivateKey>>>) -> Result<(), HostKeyError> {
    let path = state_dir.join(Kind::Rsa.file());
    let work = move || {
        // In nobody's way; where that is not allowed, it just is.
        let _ = rustix::process::nice(10);
        match create(&state_dir, Kind::Rsa) {
            Ok(key) => {
                info!(key = fingerprint(&key), "SSH host key made");
                keys.send_modify(|all| Arc::make_mut(all).push(key));
            }
            Err(error) => error!(%error, "no RSA host key: clients that know RSA alone cannot connect"),
        }
    };
    let started = std::thread::Builder::new().name("rsa-host-key".to_owned()).spawn(work);
    started.map(drop).map_err(|error| HostKeyError::File { path, error })
}

fn aside(path: &Path) -> PathBuf {
    path.with_extension("new")
}

/// Written aside and renamed, so a crash leaves a whole key or none; a failure leaves nothing aside.
fn store(key: &PrivateKey, state_dir: &Path, path: &Path) -> io::Result<()> {
    let aside = aside(path);
    let text = key.to_openssh(LineEnding::LF).map_err(io::Error::other)?;
    let _ = fs::remove_file(&aside);
    let stored = write_aside(&text, &aside).and_then(|()| fs::rename(&aside, path));
    if stored.is_err() {
        let _ = fs::remove_file(&aside);
    }
    stored?;
    File::open(state_dir)?.sync_all()
}

fn write_aside(text: &str, aside: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(aside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    async fn the_keys_are_made_once_and_are_for_the_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = HostKeys::load_or_create(dir.path()).unwrap();
        let begun = first.present();
        first.complete().await;
        assert!(begun.len() == 3 || !Arc::ptr_eq(&begun, &first.present()), "a late key is news");
        for kind in [Kind::Ed25519, Kind::P256, Kind::Rsa] {
            let mode = fs::metadata(dir.path().join(kind.file())).unwrap().mode() & 0o777;
            assert_eq!(mode, 0o600, "{}", kind.file());
        }
        let second = HostKeys::load_or_create(dir.path()).unwrap();
        assert_eq!(first.fingerprints(), second.fingerprints());
        let kinds: Vec<_> = second.0.borrow().iter().map(|key| key.algorithm().to_string()).collect();
        assert_eq!(kinds, ["ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "nothing is left aside");
    }

    #[test]
    fn a_key_that_cannot_be_stored_leaves_nothing_aside_and_neither_does_a_crash() {
        let dir = tempfile::tempdir().unwrap();
        let key = Kind::Ed25519.generate().unwrap();
        // A directory that is not empty is in its place.
        let path = dir.path().join("in-the-way");
        fs::create_dir_all(path.join("full")).unwrap();
        store(&key, dir.path(), &path).unwrap_err();
        assert!(!aside(&path).exists());
        let left = dir.path().join("ssh_host_rsa_key.new");
        fs::write(&left, "").unwrap();
        fs::write(dir.path().join(Kind::Rsa.file()), "no key").unwrap();
        assert!(HostKeys::load_or_create(dir.path()).is_err());
        assert!(!left.exists());
    }

    #[test]
    fn a_pipe_in_place_of_a_key_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(Kind::P256.file());
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let refused = HostKeys::load_or_create(dir.path()).err().unwrap().to_string();
        assert!(refused.contains("ssh_host_ecdsa_key") && refused.contains("no plain file"), "{refused}");
        let keys = crate::read_authorized_keys(&path).unwrap_err().to_string();
        assert!(keys.contains("no plain file"), "{keys}");
    }

    #[test]
    fn a_link_that_leads_nowhere_in_place_of_a_key_is_no_reason_to_make_another_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(Kind::Ed25519.file());
        std::os::unix::fs::symlink("/nonexistent/key", &path).unwrap();
        let refused = HostKeys::load_or_create(dir.path()).err().unwrap().to_string();
        assert!(refused.contains("ssh_host_ed25519_key"), "{refused}");
        assert!(path.is_symlink());
    }

    /// What is said of a state directory with this in the file of the Ed25519 key.
    fn said(text: &str, mode: u32) -> HostKeyError {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(Kind::Ed25519.file());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        HostKeys::load_or_create(dir.path()).err().unwrap()
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_none_is_refused() {
        let good = Kind::Ed25519.generate().unwrap().to_openssh(LineEnding::LF).unwrap();
        assert!(matches!(said(&good, 0o644), HostKeyError::Mode { mode: 0o644, .. }));
        assert!(matches!(said("nonsense", 0o600), HostKeyError::Format { .. }));
        let other = Kind::P256.generate().unwrap().to_openssh(LineEnding::LF).unwrap();
        let kind = said(&other, 0o600).to_string();
        assert!(kind.contains("ecdsa-sha2-nistp256, not Ed25519"), "{kind}");
    }
}
