//! NETCONF over SSH.

use crate::admission::Admission;
use crate::authorized::Users;
use crate::connection::{Connection, Transport};
use crate::guard::{Guarded, Progress};
use crate::host_key::HostKey;
use crate::strangers::{Place, Strangers};
use russh::keys::Algorithm;
use russh::server::{
    Auth, ChannelOpenHandle, Config, Handle, Handler, Msg, PublicKeyOffer, Session, VerifiedPublicKey,
};
use russh::{Channel, ChannelId, ChannelOpenFailure, MethodKind, MethodSet, Pty, SshId};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use tracing::{debug, info, warn};

/// The only subsystem.
const SUBSYSTEM: &str = "netconf";

/// Channels that a client may have open on one connection.
const CHANNELS: usize = 32;

/// Bounds on what strangers can do.
#[derive(Debug, Clone, Copy)]
pub struct SshLimits {
    /// Connections that are not authenticated yet; for a further one the oldest of the source that holds most is
    /// closed. 32.
    pub unauthenticated: usize,
    /// Those of one source, an IPv4 address or an IPv6 /64; more are closed at once. 8.
    pub per_source: usize,
    /// How long each of these may take: to authenticate, and to open a session when there is none. 30 s.
    pub login: Duration,
    /// Refused keys on one connection before it is closed. 6.
    pub attempts: usize,
    /// How long the answer to a refused key takes, so that it tells nothing. 200 ms.
    pub rejection: Duration,
}

impl Default for SshLimits {
    fn default() -> Self {
        Self {
            unauthenticated: 32,
            per_source: 8,
            login: Duration::from_secs(30),
            attempts: 6,
            rejection: Duration::from_millis(200),
        }
    }
}

/// Accepts NETCONF sessions over SSH: public keys only, subsystem `netconf` only.
pub struct SshListener {
    listener: TcpListener,
    config: Arc<Config>,
    users: Arc<Users>,
    limits: SshLimits,
    admission: Arc<Admission>,
}

impl SshListener {
    /// Listens at `address`.
    ///
    /// # Errors
    /// The address is taken or may not be used; the message names it.
    pub async fn bind(
        address: SocketAddr,
        key: HostKey,
        users: Users,
        limits: SshLimits,
        admission: Arc<Admission>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| io::Error::new(error.kind(), format!("cannot listen at {address}: {error}")))?;
        Ok(Self::over(listener, key, users, limits, admission))
    }

    /// Serves a socket that listens already.
    pub fn over(
        listener: TcpListener,
        key: HostKey,
        users: Users,
        limits: SshLimits,
        admission: Arc<Admission>,
    ) -> Self {
        Self { listener, config: Arc::new(config(key, limits)), users: Arc::new(users), limits, admission }
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
        let strangers = Strangers::new(self.limits.unauthenticated, self.limits.per_source);
        let (_alive, listening) = watch::channel(());
        loop {
            let (stream, peer) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    warn!(%error, "cannot accept on the SSH socket");
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let progress = Arc::new(watch::Sender::new(Progress::default()));
            let Some(place) = strangers.admit(peer.ip(), &progress) else {
                debug!(%peer, bound = self.limits.per_source, "closed: too many unauthenticated of its source");
                continue;
            };
            self.start(stream, Stranger { peer, place, progress }, listening.clone(), accepted.clone());
        }
    }

    fn start(
        &self,
        stream: TcpStream,
        Stranger { peer, place, progress }: Stranger,
        listening: watch::Receiver<()>,
        accepted: mpsc::Sender<Connection>,
    ) {
        let _ = stream.set_nodelay(true);
        let guarded = Guarded::new(stream, progress.subscribe(), listening, self.limits.login);
        let peer_handler = Peer {
            peer,
            user: None,
            place: Some(place),
            users: Arc::clone(&self.users),
            admission: Arc::clone(&self.admission),
            accepted,
            progress,
            channels: BTreeMap::new(),
            serving: BTreeSet::new(),
        };
        let config = Arc::clone(&self.config);
        tokio::spawn(async move {
            let outcome = match russh::server::run_stream(config, guarded, peer_handler).await {
                Ok(session) => session.await,
                Err(error) => Err(error),
            };
            match outcome {
                Ok(()) => debug!(%peer, "SSH connection closed"),
                Err(error) => debug!(%peer, %error, "SSH connection failed"),
            }
        });
    }
}

/// What is known of a connection when it is accepted.
struct Stranger {
    peer: SocketAddr,
    place: Place,
    progress: Arc<watch::Sender<Progress>>,
}

fn config(key: HostKey, limits: SshLimits) -> Config {
    Config {
        server_id: SshId::Standard(Cow::Borrowed(concat!("SSH-2.0-catsd_", env!("CARGO_PKG_VERSION")))),
        methods: only_public_key(),
        auth_rejection_time: limits.rejection,
        auth_rejection_time_initial: Some(Duration::ZERO),
        keys: vec![key.0],
        max_auth_attempts: limits.attempts,
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

fn only_public_key() -> MethodSet {
    MethodSet::from(&[MethodKind::PublicKey][..])
}

fn rejected() -> Auth {
    Auth::Reject { proceed_with_methods: Some(only_public_key()), partial_success: false }
}

/// The server's end of an SSH channel that carries a session.
#[derive(Clone)]
pub(crate) struct SshChannel {
    handle: Handle,
    id: ChannelId,
    progress: Arc<watch::Sender<Progress>>,
}

impl SshChannel {
    /// Closes the channel, as a program that exits with `status`.
    pub(crate) async fn finish(&self, status: u32) {
        let _ = self.handle.exit_status_request(self.id, status).await;
        let _ = self.handle.close(self.id).await;
    }

    /// Ends the whole connection, whatever is still to be written.
    pub(crate) fn abandon(&self) {
        self.progress.send_modify(|progress| progress.abandoned = true);
    }
}

/// One SSH connection.
struct Peer {
    peer: SocketAddr,
    user: Option<String>,
    place: Option<Place>,
    users: Arc<Users>,
    admission: Arc<Admission>,
    accepted: mpsc::Sender<Connection>,
    progress: Arc<watch::Sender<Progress>>,
    /// Open channels without a session.
    channels: BTreeMap<ChannelId, Channel<Msg>>,
    /// Open channels with one.
    serving: BTreeSet<ChannelId>,
}

impl Peer {
    async fn may_log_in(&self, user: &str, key: &russh::keys::PublicKey, algorithm: &Algorithm) -> bool {
        // RSA with SHA-1 proves nothing any more.
        *algorithm != Algorithm::Rsa { hash: None } && self.users.accepts(user, key).await
    }

    /// Makes a connection of the channel, or says why not.
    fn begin(&mut self, id: ChannelId, session: &Session) -> Result<(), String> {
        let user = self.user.clone().ok_or("not authenticated")?;
        let ticket = self.admission.admit(&user).map_err(|refusal| refusal.to_string())?;
        let channel = self.channels.remove(&id).ok_or("the channel is in use already")?;
        let connection = Connection {
            user,
            transport: Transport::Ssh,
            peer: self.peer.to_string(),
            stream: Box::new(channel.into_stream()),
            channel: Some(SshChannel { handle: session.handle(), id, progress: Arc::clone(&self.progress) }),
            ticket,
        };
        self.accepted.try_send(connection).map_err(|_| "the server is busy: try again later")?;
        self.serving.insert(id);
        self.count_sessions();
        Ok(())
    }

    fn count_sessions(&self) {
        self.progress.send_modify(|progress| progress.sessions = self.serving.len());
    }

    /// Says why there is nothing for the client, on standard error, and closes the channel with exit status 1. A
    /// plain failure would make OpenSSH give up before it prints the reason.
    fn turn_away(&self, id: ChannelId, why: &str, session: &mut Session) -> Result<(), russh::Error> {
        info!(peer = %self.peer, user = self.user.as_deref(), why, "SSH request refused");
        session.channel_success(id)?;
        session.extended_data(id, 1, format!("{why}\r\n").into_bytes())?;
        session.exit_status_request(id, 1)?;
        session.eof(id)?;
        session.close(id)
    }
}

impl Handler for Peer {
    type Error = russh::Error;

    async fn auth_none(&mut self, _user: &str) -> Result<Auth, Self::Error> {
        Ok(rejected())
    }

    async fn auth_publickey_offered(
        &mut self,
        user: &str,
        offer: PublicKeyOffer<'_>,
    ) -> Result<Auth, Self::Error> {
        let accepted = self.may_log_in(user, offer.public_key, offer.algorithm).await;
        Ok(if accepted { Auth::Accept } else { rejected() })
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        if !self.may_log_in(user, key.public_key, key.algorithm).await {
            return Ok(rejected());
        }
        info!(user, peer = %self.peer, key = %key.public_key.fingerprint(russh::keys::HashAlg::Sha256), "logged in over SSH");
        self.user = Some(user.to_owned());
        self.place = None;
        self.progress.send_modify(|progress| progress.authenticated = true);
        Ok(Auth::Accept)
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        if self.channels.len() + self.serving.len() >= CHANNELS {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        }
        self.channels.insert(channel.id(), channel);
        reply.accept().await;
        Ok(())
    }

    async fn channel_close(&mut self, channel: ChannelId, _session: &mut Session) -> Result<(), Self::Error> {
        self.channels.remove(&channel);
        self.serving.remove(&channel);
        self.count_sessions();
        Ok(())
    }

    async fn subsystem_request(
        &mut self,
        id: ChannelId,
        name: &str,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        if name != SUBSYSTEM {
            info!(peer = %self.peer, user = self.user.as_deref(), name, "SSH subsystem refused: there is only netconf");
            return session.channel_failure(id);
        }
        match self.begin(id, session) {
            Ok(()) => session.channel_success(id),
            Err(why) => self.turn_away(id, &why, session),
        }
    }

    /// Accepted and ignored: clients ask for terminals out of habit, and nothing is ever echoed.
    async fn pty_request(
        &mut self,
        channel: ChannelId,
        _term: &str,
        _col_width: u32,
        _row_height: u32,
        _pix_width: u32,
        _pix_height: u32,
        _modes: &[(Pty, u32)],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        session.channel_success(channel)
    }

    /// Accepted and ignored.
    async fn env_request(
        &mut self,
        channel: ChannelId,
        _name: &str,
        _value: &str,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        session.channel_success(channel)
    }

    async fn shell_request(&mut self, channel: ChannelId, session: &mut Session) -> Result<(), Self::Error> {
        self.turn_away(channel, "there is no shell here, only the subsystem netconf (ssh -s)", session)
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        _data: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        self.turn_away(
            channel,
            "no commands are run here, there is only the subsystem netconf (ssh -s)",
            session,
        )
    }
}
