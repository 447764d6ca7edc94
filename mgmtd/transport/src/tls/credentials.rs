//! The certificates, keys and names that are in force, and what they say of a client.

use super::files::{Loaded, Stamp, TlsFiles};
use super::names::{CertToName, Fingerprint};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, UnixTime};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{info, warn};

/// What is configured of TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// The files.
    pub files: TlsFiles,
    /// Whose certificates they are.
    pub names: CertToName,
}

/// What is in force.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    loaded: Option<Arc<Loaded>>,
    names: CertToName,
    /// Counts up; what was judged by these needs no other judgement.
    version: u64,
    /// What is wrong with the files as they are now; those that were loaded before are in force meanwhile.
    problem: Option<String>,
}

/// Why a client gets no session.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Unknown {
    /// There is nothing to check it by.
    #[error("no certificates are loaded")]
    NotLoaded,
    /// It is not trusted.
    #[error("its certificate is refused: {0:?}")]
    Untrusted(webpki::Error),
    /// It is nobody's.
    #[error("no entry of cert-to-name gives it a name; its fingerprint is {0}")]
    Nameless(Fingerprint),
}

impl Terms {
    /// What a handshake goes by.
    pub(crate) fn server(&self) -> Option<Arc<ServerConfig>> {
        self.loaded.as_ref().map(|loaded| loaded.server())
    }

    /// The user of a client that has shown `chain`, as of a time at which it was valid.
    pub(crate) fn user(&self, chain: &[CertificateDer<'static>], at: UnixTime) -> Result<String, Unknown> {
        let loaded = self.loaded.as_ref().ok_or(Unknown::NotLoaded)?;
        let verified = loaded.verified(chain, at).map_err(Unknown::Untrusted)?;
        let octets: Vec<&[u8]> = verified.iter().map(AsRef::as_ref).collect();
        let nameless = || Unknown::Nameless(Fingerprint::of(octets.first().copied().unwrap_or_default()));
        self.names.name(&octets).ok_or_else(nameless)
    }
}

/// Follows the settings and the files.
#[derive(Debug, Clone)]
pub struct Credentials(watch::Receiver<Arc<Terms>>);

impl Credentials {
    /// Reads the files in a task of its own: whenever the settings change, and when at one of the looks that it takes each
    /// `every` the files have. Looks at nothing while there are no settings. Ends with the sender of the settings.
    pub fn follow(settings: watch::Receiver<Option<Arc<TlsSettings>>>, every: Duration) -> Self {
        let (terms, watched) = watch::channel(Arc::default());
        tokio::spawn(keep(settings, terms, every));
        Self(watched)
    }

    /// Waits until files are in force.
    pub async fn loaded(&mut self) {
        if self.0.wait_for(|terms| terms.loaded.is_some()).await.is_err() {
            // They never will be.
            std::future::pending::<()>().await;
        }
    }

    /// What is wrong with the files, once it is something else than what is known.
    pub async fn problem(&mut self, known: &Option<String>) -> Option<String> {
        let found = self.0.wait_for(|terms| terms.problem != *known).await;
        match found.map(|terms| terms.problem.clone()) {
            Ok(problem) => problem,
            // Nothing changes any more.
            Err(_) => std::future::pending().await,
        }
    }

    pub(crate) fn terms(&self) -> watch::Receiver<Arc<Terms>> {
        self.0.clone()
    }
}

async fn keep(
    mut settings: watch::Receiver<Option<Arc<TlsSettings>>>,
    terms: watch::Sender<Arc<Terms>>,
    every: Duration,
) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = None;
    loop {
        tokio::select! {
            changed = settings.changed() => if changed.is_err() {
                return;
            },
            _ = ticks.tick() => {}
        }
        let wanted = settings.borrow_and_update().clone();
        let Some(wanted) = wanted else { continue };
        let files = wanted.files.clone();
        let before: Option<(TlsFiles, Stamp)> = known.clone();
        // A file may lie on a disk that does not answer.
        let looked = tokio::task::spawn_blocking(move || {
            let stamp = Stamp::of(&files);
            let now = Some((files, stamp));
            (now != before).then(|| (now.clone(), now.map(|(files, _)| Loaded::read(&files))))
        });
        let Ok(looked) = looked.await else { return };
        let read = looked.and_then(|(now, read)| {
            known = now;
            read
        });
        let present = Arc::clone(&terms.borrow());
        let (loaded, problem) = match read {
            None if present.names == wanted.names => continue,
            None => (present.loaded.clone(), present.problem.clone()),
            Some(Ok(loaded)) => {
                info!("the certificates of TLS are loaded");
                (Some(Arc::new(loaded)), None)
            }
            Some(Err(error)) => {
                warn!(%error, "the certificates of TLS cannot be used; those from before, if any, stay in use");
                (present.loaded.clone(), Some(error.to_string()))
            }
        };
        terms.send_replace(Arc::new(Terms {
            loaded,
            names: wanted.names.clone(),
            version: present.version + 1,
            problem,
        }));
    }
}

/// The certificate by which a session was opened.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) chain: Arc<[CertificateDer<'static>]>,
    /// When it was checked first: what expires later ends no session.
    pub(crate) at: UnixTime,
    pub(crate) terms: watch::Receiver<Arc<Terms>>,
    /// The version of the terms by which it was found to be good, since each request asks.
    good: Arc<AtomicU64>,
}

impl Shown {
    pub(crate) fn new(
        chain: &[CertificateDer<'static>],
        at: UnixTime,
        terms: watch::Receiver<Arc<Terms>>,
    ) -> Self {
        // No terms have this version.
        Self { chain: Arc::from(chain), at, terms, good: Arc::new(AtomicU64::new(u64::MAX)) }
    }

    /// Whether it is still trusted, and that of `user`.
    pub(crate) fn is_of(&self, user: &str) -> bool {
        let terms = Arc::clone(&self.terms.borrow());
        self.holds(&terms, user)
    }

    /// Ready when it is not any more.
    pub(crate) async fn lost(&mut self, user: &str) {
        loop {
            let terms = Arc::clone(&self.terms.borrow_and_update());
            if !self.holds(&terms, user) {
                return;
            }
            if self.terms.changed().await.is_err() {
                // Nobody changes it any more.
                return std::future::pending().await;
            }
        }
    }

    fn holds(&self, terms: &Terms, user: &str) -> bool {
        if self.good.load(Ordering::Relaxed) == terms.version {
            return true;
        }
        let holds = terms.user(&self.chain, self.at).is_ok_and(|name| name == user);
        if holds {
            self.good.store(terms.version, Ordering::Relaxed);
        }
        holds
    }
}
