//! Keys that sign what is passed on: of advertisements, and of reports over a broker.
//!
//! A key is a file that is read again when it changes: an Ed25519 key in PEM (`PRIVATE KEY`, PKCS #8, to sign;
//! `PUBLIC KEY` to verify), or a secret of HMAC-SHA256, which is all octets of the file but a last newline, 32 at least.
//! A file that cannot be used leaves the former key in use. A key belongs to somebody, and signs for nobody else.

mod jws;
mod material;

pub use jws::JwsError;

use crate::identity::Subject;
use arc_swap::{ArcSwap, ArcSwapOption};
use material::{SigningMaterial, VerifyingMaterial};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How a key signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// Ed25519 (RFC 8032): the verifier cannot sign.
    Ed25519,
    /// HMAC-SHA256 (RFC 2104): both ends have the secret.
    HmacSha256,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ed25519 => "ed25519",
            Self::HmacSha256 => "hmac-sha256",
        })
    }
}

/// A key to sign with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SigningKey {
    /// Names it to who verifies.
    pub id: String,
    /// How it signs.
    pub algorithm: Algorithm,
    /// Where it is.
    pub file: PathBuf,
}

/// A key to verify with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VerifyingKey {
    /// As the signature names it.
    pub id: String,
    /// Who signs with it.
    pub owner: Subject,
    /// How it signs.
    pub algorithm: Algorithm,
    /// Where it is.
    pub file: PathBuf,
}

/// A signature or MAC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// How it was made.
    pub algorithm: Algorithm,
    /// With which key.
    pub key_id: String,
    /// The signature.
    pub octets: Vec<u8>,
}

/// Why a key file is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("key {id}: {file}: {problem}", file = file.display())]
pub struct KeyError {
    /// Of the key.
    pub id: String,
    /// The file.
    pub file: PathBuf,
    /// What is wrong.
    pub problem: String,
}

/// Why a signature does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// No key has that name, or its file was never usable.
    #[error("key `{0}` is not known here")]
    UnknownKey(String),
    /// The key is one of another algorithm.
    #[error("key `{key_id}` is one of {known} and the signature is one of {found}")]
    Algorithm {
        /// Of the key.
        key_id: String,
        /// The key's.
        known: Algorithm,
        /// The signature's.
        found: Algorithm,
    },
    /// The payload or the signature is another one.
    #[error("the signature by key `{0}` is not that of the payload")]
    Wrong(String),
}

type Seen = Option<(u64, u64, i64, i64)>;

/// Signs with one key.
#[derive(Debug)]
pub struct Signer {
    key: SigningKey,
    current: ArcSwapOption<SigningMaterial>,
    last: Mutex<Option<(Seen, Option<KeyError>)>>,
}

impl Signer {
    /// Reads the file. Where that fails nothing is signed until it can be read.
    pub fn open(key: SigningKey) -> Arc<Self> {
        let signer = Arc::new(Self { key, current: ArcSwapOption::empty(), last: Mutex::new(None) });
        signer.refresh();
        signer
    }

    /// Reads the file again if it has changed. Returns whether a new key is in use.
    pub fn refresh(&self) -> bool {
        let seen = crate::pki::stamp(&self.key.file);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|(known, _)| *known == seen) {
            return false;
        }
        match SigningMaterial::read(self.key.algorithm, &self.key.file) {
            Ok(material) => {
                self.current.store(Some(Arc::new(material)));
                *last = Some((seen, None));
                true
            }
            Err(problem) => {
                let error = failed(&self.key.id, &self.key.file, problem);
                *last = Some((seen, Some(error)));
                false
            }
        }
    }

    /// Looks for a changed file every `interval`, for ever.
    pub async fn watch(self: Arc<Self>, interval: Duration) {
        every(interval, || {
            self.refresh();
        })
        .await;
    }

    /// What was wrong with the file when it was last read.
    pub fn problem(&self) -> Option<KeyError> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().and_then(|(_, error)| error.clone())
    }

    /// Whether it can sign: an error says why not.
    pub fn usable(&self) -> Result<(), KeyError> {
        self.material().map(drop)
    }

    fn material(&self) -> Result<Arc<SigningMaterial>, KeyError> {
        let unread = || failed(&self.key.id, &self.key.file, "it was never read".to_owned());
        self.current.load_full().ok_or_else(|| self.problem().unwrap_or_else(unread))
    }

    /// Signs a payload. An error when there is no usable key.
    pub fn sign(&self, payload: &[u8]) -> Result<Signature, KeyError> {
        let material = self.material()?;
        let octets = material.sign(payload);
        Ok(Signature { algorithm: self.key.algorithm, key_id: self.key.id.clone(), octets })
    }
}

/// Verifies with many keys.
#[derive(Debug, Default)]
pub struct Keyring {
    wanted: Mutex<Wanted>,
    current: ArcSwap<BTreeMap<String, Arc<Known>>>,
}

#[derive(Debug, Default)]
struct Wanted {
    keys: Vec<VerifyingKey>,
    seen: BTreeMap<String, Seen>,
    problems: Vec<KeyError>,
}

#[derive(Debug)]
struct Known {
    key: VerifyingKey,
    material: VerifyingMaterial,
}

impl Keyring {
    /// Reads the files of these keys. Of two keys of one name the later counts.
    pub fn open(keys: Vec<VerifyingKey>) -> Arc<Self> {
        let ring = Arc::new(Self::default());
        ring.replace(keys);
        ring
    }

    /// These keys from now on: a key that is not among them verifies nothing any more.
    pub fn replace(&self, keys: Vec<VerifyingKey>) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        *wanted = Wanted { keys, ..Wanted::default() };
        self.read(&mut wanted);
    }

    /// Reads the files again that have changed. Returns whether a new key is in use.
    pub fn refresh(&self) -> bool {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        self.read(&mut wanted)
    }

    /// Looks for changed files every `interval`, for ever.
    pub async fn watch(self: Arc<Self>, interval: Duration) {
        every(interval, || {
            self.refresh();
        })
        .await;
    }

    /// What is wrong with files at present.
    pub fn problems(&self) -> Vec<KeyError> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).problems.clone()
    }

    fn read(&self, wanted: &mut Wanted) -> bool {
        let former = self.current.load_full();
        let mut next = BTreeMap::new();
        let mut changed = false;
        for key in &wanted.keys {
            let seen = crate::pki::stamp(&key.file);
            let kept = former.get(&key.id).filter(|known| known.key == *key).cloned();
            if wanted.seen.get(&key.id) == Some(&seen) {
                next.extend(kept.map(|known| (key.id.clone(), known)));
                continue;
            }
            wanted.seen.insert(key.id.clone(), seen);
            wanted.problems.retain(|problem| problem.id != key.id);
            match VerifyingMaterial::read(key.algorithm, &key.file) {
                Ok(material) => {
                    changed = true;
                    next.insert(key.id.clone(), Arc::new(Known { key: key.clone(), material }));
                }
                Err(problem) => {
                    wanted.problems.push(failed(&key.id, &key.file, problem));
                    next.extend(kept.map(|known| (key.id.clone(), known)));
                }
            }
        }
        self.current.store(Arc::new(next));
        changed
    }

    /// Whose signature of `payload` this is.
    pub fn verify(&self, payload: &[u8], signature: &Signature) -> Result<Subject, SignatureError> {
        let keys = self.current.load();
        let Some(known) = keys.get(&signature.key_id) else {
            return Err(SignatureError::UnknownKey(signature.key_id.clone()));
        };
        if known.key.algorithm != signature.algorithm {
            return Err(SignatureError::Algorithm {
                key_id: signature.key_id.clone(),
                known: known.key.algorithm,
                found: signature.algorithm,
            });
        }
        match known.material.verify(payload, &signature.octets) {
            true => Ok(known.key.owner.clone()),
            false => Err(SignatureError::Wrong(signature.key_id.clone())),
        }
    }
}

fn failed(id: &str, file: &Path, problem: String) -> KeyError {
    tracing::warn!(key = id, file = %file.display(), %problem, "a key cannot be used; a former one stays in use");
    KeyError { id: id.to_owned(), file: file.to_owned(), problem }
}

pub(crate) async fn every(interval: Duration, mut look: impl FnMut()) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        look();
    }
}
