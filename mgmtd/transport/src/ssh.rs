//! NETCONF over SSH: the listener.

use crate::access::{Access, Watched};
use crate::admission::Admission;
use crate::algorithms::preferred;
use crate::connection::Connection;
use crate::guard::{Guarded, Progress, ignored};
use crate::host_key::HostKeys;
use crate::password::Checker;
use crate::peer::{Peer, Shared, method_set};
use crate::strangers::Strangers;
use russh::keys::PrivateKey;
use russh::server::Config;
use russh::{Disconnect, SshId};
use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
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
        let Self { listener, keys, mut access, admission } = self;
        let strangers = Strangers::new();
        let shared =
            Arc::new(Shared { access: access.clone(), admission, accepted, checker: Checker::new() });
        let mut limits = access.borrow_and_update().limits;
        let mut known = keys.present();
        let mut config = Arc::new(config(&access.borrow(), &known));
        let (_alive, listening) = watch::channel(());
        loop {
            let (stream, address) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    warn!(%error, "cannot accept on the SSH socket");
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let present = keys.present();
            if !Arc::ptr_eq(&known, &present) || access.has_changed().unwrap_or(false) {
                let access = access.borrow_and_update();
                known = present;
                limits = access.limits;
                config = Arc::new(self::config(&access, &known));
            }
            let progress = Arc::new(watch::Sender::new(Progress::default()));
            let place = strangers.admit(address.ip(), &limits, &progress);
            let guarded = Guarded::new(stream, Arc::clone(&progress), listening.clone(), limits.login);
            let peer = Peer::new(address, place, progress, Arc::clone(&shared));
            tokio::spawn(serve(Arc::clone(&config), guarded, peer, Arc::clone(&strangers)));
        }
    }
}

/// One connection, to its end.
async fn serve(config: Arc<Config>, stream: Guarded, peer: Peer, strangers: Arc<Strangers>) {
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
        Ok(()) => debug!(peer = %address, "SSH connection closed"),
        // Whoever connects may bring this about, and as often as it likes.
        Err(russh::Error::NoCommonAlgo { kind, theirs, .. }) if strangers.may_name(address.ip()) => {
            let theirs = theirs.get(..NAMED_ALGORITHMS).unwrap_or(&theirs);
            warn!(peer = %address, ?kind, ?theirs, "SSH client refused: it offers no algorithm that is accepted here");
        }
        Err(error) => debug!(peer = %address, ?error, "SSH connection failed"),
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
