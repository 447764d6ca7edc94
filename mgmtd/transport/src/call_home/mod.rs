//! Call home (RFC 8071): clients that this side connects to, to be their server of SSH or TLS.

mod caller;
mod reconnect;

use crate::connection::Calling;
use crate::guard::Course;
use crate::keepalive::Keepalive;
use crate::ssh::SshServer;
use crate::tls::TlsServer;
use caller::Caller;
pub use reconnect::{Periodic, StartWith, Strategy};
use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A client that is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallHomeClient {
    /// What is spoken.
    pub speaks: Speaks,
    /// Where it listens: in order of these numbers.
    pub endpoints: BTreeMap<u8, Endpoint>,
    /// What is tried when.
    pub strategy: Strategy,
    /// How long a TCP connection may take.
    pub connect_timeout: Duration,
    /// A session that asks nothing for so long is closed; otherwise that is as for all.
    pub idle: Option<Duration>,
    /// How it is noticed that the client is gone.
    pub keepalive: Keepalive,
}

/// What is spoken over a connection that this side has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// SSH.
    Ssh,
    /// TLS.
    Tls,
}

/// Where a client listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address or name.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// How far a client's connection has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallHomeState {
    /// What is done now.
    pub stage: Stage,
    /// Since when it is connected, or was not: since 1970.
    pub since: Duration,
    /// How often it was connected.
    pub connections: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Why the last attempt that failed did, or the last connection ended, and when: since 1970.
    pub last_error: Option<(String, Duration)>,
    /// All endpoints have failed since the last connection.
    pub unreachable: bool,
}

/// What is done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// The time of the next attempt is waited for.
    Waiting,
    /// An attempt is made.
    Connecting {
        /// There.
        endpoint: u8,
    },
    /// A user of the client has logged in.
    Connected {
        /// There.
        endpoint: u8,
        /// Its address and port.
        remote: SocketAddr,
    },
}

/// Clients by their names.
pub type CallHomeClients = BTreeMap<String, CallHomeClient>;

/// The states of the clients, by their names.
pub type CallHomeStates = BTreeMap<String, CallHomeState>;

/// Calls clients. Ends its connections when it is dropped.
pub struct CallHome {
    servers: Arc<Servers>,
    states: watch::Sender<CallHomeStates>,
}

/// What serves the connections that are made.
pub(crate) struct Servers {
    /// Made when it is needed; none without host keys.
    ssh: OnceLock<Option<SshServer>>,
    make_ssh: Box<dyn Fn() -> Option<SshServer> + Send + Sync>,
    tls: Arc<TlsServer>,
}

impl Servers {
    pub(crate) fn begin(
        &self,
        speaks: Speaks,
        stream: TcpStream,
        address: SocketAddr,
        calling: Calling,
    ) -> Option<(Course, Serving)> {
        match speaks {
            Speaks::Ssh => {
                let ssh = self.ssh.get_or_init(|| (self.make_ssh)()).as_ref()?;
                let (course, serving) = ssh.begin(stream, address, calling);
                Some((course, Box::pin(serving)))
            }
            Speaks::Tls => {
                let (course, serving) = self.tls.begin(stream, address, calling);
                Some((course, Box::pin(serving)))
            }
        }
    }
}

/// Serves a connection, and says what its end was.
pub(crate) type Serving = Pin<Box<dyn Future<Output = String> + Send>>;

impl CallHome {
    /// The server of SSH is made when it is needed first; where none can be made, attempts to be one fail.
    pub fn new(
        make_ssh: impl Fn() -> Option<SshServer> + Send + Sync + 'static,
        tls: Arc<TlsServer>,
    ) -> Self {
        let servers = Servers { ssh: OnceLock::new(), make_ssh: Box::new(make_ssh), tls };
        Self { servers: Arc::new(servers), states: watch::Sender::default() }
    }

    /// How far the connections have come.
    pub fn states(&self) -> watch::Receiver<CallHomeStates> {
        self.states.subscribe()
    }

    /// Calls those who are in `clients`, as they change; ends when nobody changes them any more. One that is not there any
    /// more, or whose endpoint is not, gets the answer to its request in progress and loses its connection.
    pub async fn run(self, mut clients: watch::Receiver<Arc<CallHomeClients>>) {
        let mut callers: BTreeMap<String, watch::Sender<Option<Arc<CallHomeClient>>>> = BTreeMap::new();
        let mut tasks = JoinSet::new();
        loop {
            let wanted = Arc::clone(&clients.borrow_and_update());
            callers.retain(|name, settings| {
                let keep = wanted.contains_key(name);
                if !keep {
                    settings.send_replace(None);
                }
                keep
            });
            for (name, client) in wanted.iter() {
                let client = Some(Arc::new(client.clone()));
                match callers.get(name) {
                    Some(settings) => {
                        settings.send_if_modified(|known| {
                            let changes = *known != client;
                            *known = client;
                            changes
                        });
                    }
                    None => {
                        let (settings, watched) = watch::channel(client);
                        let servers = Arc::clone(&self.servers);
                        tasks.spawn(Caller::run(name.clone(), watched, servers, self.states.clone()));
                        callers.insert(name.clone(), settings);
                    }
                }
            }
            tokio::select! {
                changed = clients.changed() => if changed.is_err() {
                    return;
                },
                Some(_) = tasks.join_next() => {}
            }
        }
    }
}
