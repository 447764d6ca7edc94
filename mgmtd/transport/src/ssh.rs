//! NETCONF over SSH: the listener, and the server's end of a connection.

use crate::access::{Access, SshLimits, Watched};
use crate::admission::Admission;
use crate::algorithms::preferred;
use crate::connection::{Calling, Connection};
use crate::guard::{Course, Guarded, Progress, ignored};
use crate::host_key::HostKeys;
use crate::password::Checker;
use crate::peer::{Peer, Shared, method_set};
use crate::strangers::Strangers;
use russh::keys::PrivateKey;
use russh::server::Config;
use russh::{Disconnect, SshId};
use std::borrow::Cow;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use tracing::{debug, warn};

/// Algorithms of a client that are named in the log, at most.
const NAMED_ALGORITHMS: usize = 8;

/// So long after a refusal a client may wait for an answer that does not come.
const IGNORED: Duration = Duration::from_secs(2);

/// What such a client is told.
const AGAIN: &str =
    "the service of authentication is given once on a connection: connect again for another try";

/// Accepts NETCONF sessions over SSH, of the users in an [`Access`].
pub struct SshListener {
    listener: TcpListener,
    keys: HostKeys,
    access: Watched,
    admission: Arc<Admission>,
}

impl SshListener {
    /// Listens at `address`.
    ///
    /// # Errors
    /// The address is taken or may not be used; the message names it.
    pub async fn bind(
        address: SocketAddr,
        keys: HostKeys,
        access: watch::Receiver<Arc<Access>>,
        admission: Arc<Admission>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| io::Error::new(error.kind(), format!("cannot listen at {address}: {error}")))?;
        Ok(Self::over(listener, keys, access, admission))
    }

    /// Serves a socket that listens already.
    pub fn over(
        listener: TcpListener,
        keys: HostKeys,
        access: watch::Receiver<Arc<Access>>,
        admission: Arc<Admission>,
    ) -> Self {
        Self { listener, keys, access, admission }
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts until dropped; dropping it ends its connections too. A session that `accepted` has no room for is
    /// refused.
    pub async fn run(self, accepted: mpsc::Sender<Connection>) {
        let Self { listener, keys, access, admission } = self;
        let server = SshServer::new(keys, access, admission, accepted);
        loop {
            match listener.accept().await {
                Ok((stream, address)) => {
                    let (_, serving) = server.begin(stream, address, Calling::default());
                    tokio::spawn(serving);
                }
                Err(error) => {
                    warn!(%error, "cannot accept on the SSH socket");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// Makes sessions of connections over SSH, whoever has made them. Its connections end when it is dropped.
pub struct SshServer {
    keys: HostKeys,
    shared: Arc<Shared>,
    strangers: Arc<Strangers>,
    present: Mutex<Present>,
    alive: watch::Sender<()>,
}

/// What holds for new connections, as long as the keys and who may log in are the same.
struct Present {
    access: Watched,
    keys: Arc<Vec<PrivateKey>>,
    limits: SshLimits,
    config: Arc<Config>,
}

impl SshServer {
    /// A session that `accepted` has no room for is refused.
    pub fn new(
        keys: HostKeys,
        mut access: watch::Receiver<Arc<Access>>,
        admission: Arc<Admission>,
        accepted: mpsc::Sender<Connection>,
    ) -> Self {
        let shared =
            Arc::new(Shared { access: access.clone(), admission, accepted, checker: Checker::new() });
        let known = keys.present();
        let limits = access.borrow_and_update().limits;
        let config = Arc::new(config(&access.borrow(), &known));
        let present = Mutex::new(Present { access, keys: known, limits, config });
        Self { keys, shared, strangers: Strangers::new(), present, alive: watch::Sender::new(()) }
    }

    /// The course of a connection, and what serves it to its end, and says what that was.
    pub(crate) fn begin(
        &self,
        stream: TcpStream,
        address: SocketAddr,
        calling: Calling,
    ) -> (Course, impl Future<Output = String> + Send + 'static) {
        let (config, limits) = self.present();
        let progress = Arc::new(watch::Sender::new(Progress::default()));
        let course = Course::of(&progress);
        let place = self.strangers.admit(address.ip(), &limits, &progress);
        let guarded = Guarded::new(stream, Arc::clone(&progress), self.alive.subscribe(), limits.login);
        let peer = Peer::new(address, place, progress, (calling, Arc::clone(&self.shared)));
        (course, serve(config, guarded, peer, Arc::clone(&self.strangers)))
    }

    fn present(&self) -> (Arc<Config>, SshLimits) {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = self.keys.present();
        if !Arc::ptr_eq(&present.keys, &keys) || present.access.has_changed().unwrap_or(false) {
            let access = Arc::clone(&present.access.borrow_and_update());
            present.config = Arc::new(config(&access, &keys));
            present.limits = access.limits;
            present.keys = keys;
        }
        (Arc::clone(&present.config), present.limits)
    }
}

/// One connection, to its end, and what that was.
async fn serve(config: Arc<Config>, stream: Guarded, peer: Peer, strangers: Arc<Strangers>) -> String {
    let (address, progress) = (peer.address(), peer.progress());
    let outcome = match russh::server::run_stream(config, stream, peer).await {
        Ok(session) => {
            let handle = session.handle();
            let mut session = pin!(session);
            tokio::select! {
                outcome = &mut session => outcome,
                () = ignored(progress, IGNORED) => {
                    debug!(peer = %address, "SSH client ends: it asks for the service of authentication again");
                    let why = Disconnect::ServiceNotAvailable;
                    // A connection that is gone has ended, too.
                    let _ = handle.disconnect(why, AGAIN.to_owned(), String::new()).await;
                    session.await
                }
            }
        }
        Err(error) => Err(error),
    };
    match outcome {
        Ok(()) => {
            debug!(peer = %address, "SSH connection closed");
            "the connection has ended".to_owned()
        }
        Err(error) => {
            failed(&error, address, &strangers);
            error.to_string()
        }
    }
}

fn failed(error: &russh::Error, address: SocketAddr, strangers: &Strangers) {
    match error {
        // Whoever connects may bring this about, and as often as it likes.
        russh::Error::NoCommonAlgo { kind, theirs, .. } if strangers.may_name(address.ip()) => {
            let theirs = theirs.get(..NAMED_ALGORITHMS).unwrap_or(theirs);
            warn!(peer = %address, ?kind, ?theirs, "SSH client refused: it offers no algorithm that is accepted here");
        }
        error => debug!(peer = %address, ?error, "SSH connection failed"),
    }
}

fn config(access: &Access, keys: &[PrivateKey]) -> Config {
    Config {
        server_id: SshId::Standard(Cow::Borrowed(concat!("SSH-2.0-catsd_", env!("CARGO_PKG_VERSION")))),
        methods: method_set(&access.methods),
        auth_rejection_time: access.limits.rejection,
        auth_rejection_time_initial: Some(Duration::ZERO),
        keys: keys.to_vec(),
        // The first request of most clients, which has no proof and only asks for the methods, is one of these.
        max_auth_attempts: access.limits.attempts + 1,
        preferred: preferred(),
        // NETCONF sessions may be silent for ever; the guard and the session have their own timers.
        inactivity_timeout: None,
        keepalive_interval: Some(Duration::from_secs(60)),
        keepalive_max: 3,
        window_size: 512 << 10,
        channel_buffer_size: 16,
        nodelay: true,
        ..Config::default()
    }
}
