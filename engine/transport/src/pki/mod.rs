//! Keys, certificates, authorities and revocation lists: files that are read again when they change.
//!
//! A set of files that cannot be read, or whose parts do not belong together, leaves the former set in use; without a
//! former one nobody connects. Private keys stay in memory only.

mod files;
mod verifier;

use crate::identity::Subject;
use arc_swap::ArcSwapOption;
pub(crate) use files::stamp;
use files::{Loaded, Stamp};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{ClientConfig, ServerConfig};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Where the parts are, all PEM.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PkiFiles {
    /// Certificates of the authorities that peers are checked against.
    pub authority: PathBuf,
    /// The node's own certificate, then intermediate ones.
    pub certificate: PathBuf,
    /// Its private key: PKCS #8, SEC 1 or PKCS #1.
    pub private_key: PathBuf,
    /// Revocation lists, if any are used; then each authority of a peer's chain needs one.
    pub revocation_list: Option<PathBuf>,
}

/// Why the files are of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PkiError {
    /// A file cannot be read.
    #[error("{file}: {error}", file = file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The system's words.
        error: String,
    },
    /// A file has no or damaged PEM sections.
    #[error("{file}: {problem}", file = file.display())]
    Pem {
        /// The file.
        file: PathBuf,
        /// What is missing or wrong.
        problem: String,
    },
    /// The parts do not belong together.
    #[error("{file}: {problem}", file = file.display())]
    Mismatch {
        /// The file that does not fit the others.
        file: PathBuf,
        /// How.
        problem: String,
    },
}

/// Whether a client may come without a certificate, and show who it is by other means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientCertificates {
    /// Nobody may. HTTP/2 alone is spoken.
    Required,
    /// It may. HTTP/1.1 is spoken too.
    Optional,
}

/// The current keys and certificates of a node.
#[derive(Debug)]
pub struct Pki {
    files: PkiFiles,
    current: ArcSwapOption<Loaded>,
    last: Mutex<Option<(Stamp, Option<PkiError>)>>,
    changes: watch::Sender<u64>,
}

impl Pki {
    /// Reads the files. Where that fails the result is there all the same, connects nobody, and reads them again with
    /// the next [`refresh`](Self::refresh).
    pub fn open(files: PkiFiles) -> Arc<Self> {
        let pki = Arc::new(Self {
            files,
            current: ArcSwapOption::empty(),
            last: Mutex::new(None),
            changes: watch::Sender::new(0),
        });
        pki.refresh();
        pki
    }

    /// Reads the files again if they have changed. Returns whether new ones are in use.
    pub fn refresh(&self) -> bool {
        let stamp = Stamp::of(&self.files);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|(known, _)| *known == stamp) {
            return false;
        }
        match Loaded::read(&self.files) {
            Ok(loaded) => {
                tracing::info!(identity = %loaded.identities, "certificates loaded");
                self.current.store(Some(Arc::new(loaded)));
                *last = Some((stamp, None));
                self.changes.send_modify(|version| *version += 1);
                true
            }
            Err(error) => {
                tracing::warn!(%error, "certificates cannot be used; the former ones stay in use");
                *last = Some((stamp, Some(error)));
                false
            }
        }
    }

    /// Looks for changed files every `interval`, for ever.
    pub async fn watch(self: Arc<Self>, interval: Duration) {
        crate::keys::every(interval, || {
            self.refresh();
        })
        .await;
    }

    /// What was wrong with the files when they were last read.
    pub fn problem(&self) -> Option<PkiError> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().and_then(|(_, error)| error.clone())
    }

    /// Counts up when new files are in use.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn server(&self, demand: ClientCertificates) -> Option<Arc<ServerConfig>> {
        self.current.load_full().map(|loaded| loaded.server(demand))
    }

    /// A client that takes only a server of this identity.
    pub(crate) fn client(&self, expected: &Subject) -> Option<Result<ClientConfig, rustls::Error>> {
        self.current.load_full().map(|loaded| loaded.client(expected.clone()))
    }

    /// A client that takes a server by its name or address.
    pub(crate) fn client_by_name(&self) -> Option<Result<ClientConfig, rustls::Error>> {
        self.current.load_full().map(|loaded| loaded.client_by_name())
    }

    /// Whether a client's chain would still be taken.
    pub(crate) fn recheck(&self, chain: &[CertificateDer<'static>]) -> Result<(), rustls::Error> {
        let (Some(loaded), Some((leaf, rest))) = (self.current.load_full(), chain.split_first()) else {
            return Err(rustls::Error::NoCertificatesPresented);
        };
        loaded.clients.verify_client_cert(leaf, rest, UnixTime::now()).map(drop)
    }
}
