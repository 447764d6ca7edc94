//! Where clients come in over TLS, and who is called: kept to what is configured.

use crate::HostKeysOnce;
use crate::args::Args;
use crate::hub::{HubSender, Input};
use crate::startup::StartError;
use crate::transports::Configured;
use cats_mgmtd_transport::{
    Access, Admission, CallHome, CallHomeClients, CallHomeStates, Connection, Credentials, HostKeys, Speaks,
    SshServer, TlsListener, TlsServer, TlsSettings,
};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// How often it is looked whether the files of certificates have changed.
const LOOK: Duration = Duration::from_secs(2);

/// An address that cannot be listened at is tried again after so long.
const AGAIN: Duration = Duration::from_secs(5);

/// Who may come, and where sessions are made of them.
pub(crate) struct Guests {
    pub(crate) access: watch::Receiver<Arc<Access>>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) accepted: mpsc::Sender<Connection>,
}

impl Guests {
    fn ssh(&self, keys: HostKeys) -> SshServer {
        let Self { access, admission, accepted } = self;
        SshServer::new(keys, access.clone(), Arc::clone(admission), accepted.clone())
    }
}

/// The listeners of TLS, and the calls.
pub(crate) struct Doors {
    configured: watch::Receiver<Configured>,
    settings: watch::Sender<Option<Arc<TlsSettings>>>,
    credentials: Credentials,
    server: Arc<TlsServer>,
    state_dir: PathBuf,
    /// That of the command line.
    first: Option<Listening>,
    /// That of the configuration.
    second: Second,
}

/// A listener at work.
struct Listening {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The listener of the configuration.
enum Second {
    Closed,
    Open(Listening),
    Failed { address: SocketAddr, why: String, again: Instant },
}

impl Doors {
    /// Opens that of the command line.
    ///
    /// # Errors
    /// It cannot be listened at.
    pub(crate) async fn open(
        args: &Args,
        guests: &Guests,
        configured: watch::Receiver<Configured>,
    ) -> Result<Self, StartError> {
        let (settings, watched) = watch::channel(None);
        let credentials = Credentials::follow(watched, LOOK);
        let Guests { access, admission, accepted } = guests;
        let server =
            TlsServer::new(credentials.clone(), access.clone(), Arc::clone(admission), accepted.clone());
        let server = Arc::new(server);
        let first = match args.tls {
            Some(address) => Some(Listening::at(address, &server).await.map_err(StartError::system("TLS"))?),
            None => None,
        };
        let state_dir = args.state_dir.clone();
        Ok(Self { configured, settings, credentials, server, state_dir, first, second: Second::Closed })
    }

    /// Keeps them to what is configured, until it is dropped.
    pub(crate) async fn keep(mut self, guests: Guests, keys: HostKeysOnce, hub: HubSender) {
        let state_dir = self.state_dir.clone();
        let make = move || {
            let keys = keys.get_or_init(|| match HostKeys::load_or_create(&state_dir) {
                Ok(keys) => Some(keys),
                Err(error) => {
                    tracing::error!(%error, "no client is called to speak SSH");
                    None
                }
            });
            keys.clone().map(|keys| guests.ssh(keys))
        };
        let calls = CallHome::new(make, Arc::clone(&self.server));
        let states = calls.states();
        let (clients, called) = watch::channel(Arc::new(CallHomeClients::new()));
        tokio::join!(calls.run(called), report(states, hub.clone()), self.follow(clients, hub));
    }

    async fn follow(&mut self, clients: watch::Sender<Arc<CallHomeClients>>, hub: HubSender) {
        let (mut told, mut of_files) = (None, None);
        loop {
            let now = self.configured.borrow_and_update().clone();
            self.tell_transport(&now, &clients);
            self.listen(now.listen()).await;
            let problem = self.problem(&of_files);
            if problem != told {
                told.clone_from(&problem);
                // A hub that is gone has no alarms.
                let _ = hub.send(Input::Tls { problem }).await;
            }
            let again = self.again();
            tokio::select! {
                changed = self.configured.changed() => if changed.is_err() {
                    // Nothing changes any more; what is open stays so until the end.
                    return std::future::pending().await;
                },
                problem = self.credentials.problem(&of_files) => of_files = problem,
                () = at(again) => {}
            }
        }
    }

    fn tell_transport(&self, now: &Configured, clients: &watch::Sender<Arc<CallHomeClients>>) {
        let called = now.clients();
        let over_tls = called.values().any(|client| client.speaks == Speaks::Tls);
        // Once it was in use, sessions go by it also when nobody else can come.
        let was_in_use = self.settings.borrow().is_some();
        if was_in_use || over_tls || self.first.is_some() || now.listen().is_some() {
            let settings = Some(Arc::new(now.settings()));
            self.settings.send_if_modified(|known| replaced(known, settings));
        }
        clients.send_if_modified(|known| replaced(known, Arc::new(called)));
    }

    /// Listens there, besides the address of the command line.
    async fn listen(&mut self, wanted: Option<SocketAddr>) {
        let wanted = wanted.filter(|wanted| self.first.as_ref().is_none_or(|first| first.address != *wanted));
        let as_wanted = match &self.second {
            Second::Closed => wanted.is_none(),
            Second::Open(listening) => wanted == Some(listening.address),
            Second::Failed { address, again, .. } => wanted == Some(*address) && *again > Instant::now(),
        };
        if as_wanted {
            return;
        }
        if let Second::Open(mut listening) = std::mem::replace(&mut self.second, Second::Closed) {
            listening.task.abort();
            // Its socket is closed then.
            let _ = (&mut listening.task).await;
        }
        if let Some(address) = wanted {
            self.second = match Listening::at(address, &self.server).await {
                Ok(listening) => Second::Open(listening),
                Err(error) => {
                    Second::Failed { address, why: error.to_string(), again: Instant::now() + AGAIN }
                }
            };
        }
    }

    fn problem(&self, of_files: &Option<String>) -> Option<String> {
        match &self.second {
            Second::Failed { why, .. } => Some(why.clone()),
            Second::Closed | Second::Open(_) => of_files.clone(),
        }
    }

    fn again(&self) -> Option<Instant> {
        match &self.second {
            Second::Failed { again, .. } => Some(*again),
            Second::Closed | Second::Open(_) => None,
        }
    }
}

impl Listening {
    async fn at(address: SocketAddr, server: &Arc<TlsServer>) -> std::io::Result<Self> {
        let listener = TlsListener::bind(address, Arc::clone(server)).await?;
        let address = listener.local_addr()?;
        tracing::info!(%address, "NETCONF over TLS");
        Ok(Self { address, task: tokio::spawn(listener.run()) })
    }
}

/// Puts `new` in place of what is known; false if it is the same.
fn replaced<T: PartialEq>(known: &mut T, new: T) -> bool {
    let changes = *known != new;
    *known = new;
    changes
}

/// Never, without a time.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Tells the hub how far the calls have come.
async fn report(mut states: watch::Receiver<CallHomeStates>, hub: HubSender) {
    while states.changed().await.is_ok() {
        let states = states.borrow_and_update().clone();
        if hub.send(Input::CallHome { states }).await.is_err() {
            return;
        }
    }
}
