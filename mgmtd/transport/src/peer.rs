//! One SSH connection: its login, and the sessions that it asks for.

use crate::access::{Access, Method, Standing, Watched};
use crate::admission::Admission;
use crate::connection::{Calling, Connection, Transport};
use crate::guard::Progress;
use crate::password::Checker;
use crate::strangers::Place;
use crate::turns::Rank;
use russh::keys::{Algorithm, HashAlg};
use russh::server::{
    Auth, ChannelOpenHandle, Handle, Handler, Msg, PublicKeyOffer, Response, Session, VerifiedPublicKey,
};
use russh::{Channel, ChannelId, ChannelOpenFailure, MethodKind, MethodSet, Pty};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tracing::info;

/// The only subsystem.
const SUBSYSTEM: &str = "netconf";

/// Channels that a client may have open on one connection.
const CHANNELS: usize = 32;

/// The one question of keyboard-interactive; its answer is not echoed.
const QUESTION: &[(Cow<'static, str>, bool)] = &[(Cow::Borrowed("Password: "), false)];

/// What the connections of a listener share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) access: Watched,
    pub(crate) admission: Arc<Admission>,
    pub(crate) accepted: mpsc::Sender<Connection>,
    pub(crate) checker: Arc<Checker>,
}

/// The methods as the library names them.
pub(crate) fn method_set(methods: &[Method]) -> MethodSet {
    let kind = |method: &Method| match method {
        Method::PublicKey => MethodKind::PublicKey,
        Method::KeyboardInteractive => MethodKind::KeyboardInteractive,
        Method::Password => MethodKind::Password,
    };
    MethodSet::from(&methods.iter().map(kind).collect::<Vec<_>>()[..])
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Method::PublicKey => "publickey",
            Method::KeyboardInteractive => "keyboard-interactive",
            Method::Password => "password",
        }
    }
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

    /// What becomes of the connection.
    pub(crate) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }
}

/// One SSH connection.
pub(crate) struct Peer {
    address: SocketAddr,
    user: Option<String>,
    place: Option<Place>,
    calling: Calling,
    shared: Arc<Shared>,
    progress: Arc<watch::Sender<Progress>>,
    /// Keys and passwords that were refused.
    refusals: usize,
    /// Open channels without a session.
    channels: BTreeMap<ChannelId, Channel<Msg>>,
    /// Open channels with one.
    serving: BTreeSet<ChannelId>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.progress.send_modify(|progress| progress.gone = true);
    }
}

impl Peer {
    pub(crate) fn new(
        address: SocketAddr,
        place: Place,
        progress: Arc<watch::Sender<Progress>>,
        (calling, shared): (Calling, Arc<Shared>),
    ) -> Self {
        Self {
            address,
            user: None,
            place: Some(place),
            calling,
            shared,
            progress,
            refusals: 0,
            channels: BTreeMap::new(),
            serving: BTreeSet::new(),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// The library has shown a request for a login.
    fn asked(&self) {
        self.progress.send_if_modified(|progress| std::mem::take(&mut progress.unanswered));
    }

    /// The answer to one is no.
    fn rejected(&self) -> Auth {
        self.progress.send_if_modified(|progress| !std::mem::replace(&mut progress.refused, true));
        let methods = method_set(&self.access().methods);
        Auth::Reject { proceed_with_methods: Some(methods), partial_success: false }
    }

    fn access(&self) -> Arc<Access> {
        Arc::clone(&self.shared.access.borrow())
    }

    /// Whether a proof by `method` is looked at.
    fn may_try(&self, access: &Access, method: Method) -> bool {
        access.offers(method) && self.refusals < access.limits.attempts
    }

    /// The name of the key by which `user` may log in.
    async fn key_of(
        &self,
        user: &str,
        key: &russh::keys::PublicKey,
        algorithm: &Algorithm,
    ) -> Option<String> {
        let access = self.access();
        // RSA with SHA-1 proves nothing any more.
        if *algorithm == (Algorithm::Rsa { hash: None }) || !self.may_try(&access, Method::PublicKey) {
            return None;
        }
        access.accepts(user, key).await
    }

    async fn try_password(&mut self, user: &str, password: Option<String>, method: Method) -> Auth {
        let begun = Instant::now();
        let access = self.access();
        if !self.may_try(&access, method) {
            return self.rejected();
        }
        let stored = access.account(user).and_then(|account| account.password.clone());
        let given = password.unwrap_or_default();
        if self.shared.checker.check(access.accounts.passwords(), stored, given).await {
            info!(user, peer = %self.address, method = method.name(), "logged in over SSH");
            self.log_in(user);
            return Auth::Accept;
        }
        let refused = self.refuse(user, method);
        sleep_until(begun + rounded_up(begun.elapsed(), access.limits.rejection)).await;
        refused
    }

    fn log_in(&mut self, user: &str) {
        self.user = Some(user.to_owned());
        self.place = None;
        self.progress.send_modify(|progress| progress.authenticated = true);
    }

    fn refuse(&mut self, user: &str, method: Method) -> Auth {
        let access = self.access();
        self.refusals += 1;
        // A name that is unknown may be anything that somebody typed at the wrong time, such as a password.
        let user = if access.knows(user) { user } else { "(unknown)" };
        info!(user, peer = %self.address, method = method.name(), "login over SSH refused");
        self.rejected()
    }

    /// Makes a connection of the channel, or says why not.
    fn begin(&mut self, id: ChannelId, session: &Session) -> Result<(), String> {
        let user = self.user.clone().ok_or("not authenticated")?;
        let Calling { idle, wanted } = self.calling.clone();
        let standing =
            Standing { user: user.clone(), access: self.shared.access.clone(), shown: None, wanted };
        if !standing.holds() {
            return Err("the user may not log in any more".to_owned());
        }
        let ticket = self.shared.admission.admit(&user).map_err(|refusal| refusal.to_string())?;
        let channel = self.channels.remove(&id).ok_or("the channel is in use already")?;
        let connection = Connection {
            user,
            transport: Transport::Ssh,
            peer: self.address.to_string(),
            rank: Rank::default(),
            idle,
            stream: Box::new(channel.into_stream()),
            channel: Some(SshChannel { handle: session.handle(), id, progress: Arc::clone(&self.progress) }),
            ticket,
            standing: Some(standing),
        };
        self.shared.accepted.try_send(connection).map_err(|_| "the server is busy: try again later")?;
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
        info!(peer = %self.address, user = self.user.as_deref(), why, "SSH request refused");
        session.channel_success(id)?;
        session.extended_data(id, 1, format!("{why}\r\n").into_bytes())?;
        session.exit_status_request(id, 1)?;
        session.eof(id)?;
        session.close(id)
    }
}

/// The least multiple of `unit` that `time` fits in.
fn rounded_up(time: Duration, unit: Duration) -> Duration {
    let units = time.as_nanos().div_ceil(unit.as_nanos().max(1));
    unit.saturating_mul(u32::try_from(units).unwrap_or(u32::MAX))
}

impl Handler for Peer {
    type Error = russh::Error;

    async fn auth_none(&mut self, _user: &str) -> Result<Auth, Self::Error> {
        self.asked();
        Ok(self.rejected())
    }

    async fn auth_publickey_offered(
        &mut self,
        user: &str,
        offer: PublicKeyOffer<'_>,
    ) -> Result<Auth, Self::Error> {
        self.asked();
        let accepted = self.key_of(user, offer.public_key, offer.algorithm).await;
        Ok(if accepted.is_some() { Auth::Accept } else { self.refuse(user, Method::PublicKey) })
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        self.asked();
        let Some(name) = self.key_of(user, key.public_key, key.algorithm).await else {
            return Ok(self.refuse(user, Method::PublicKey));
        };
        let fingerprint = key.public_key.fingerprint(HashAlg::Sha256);
        info!(user, peer = %self.address, method = "publickey", name, key = %fingerprint, "logged in over SSH");
        self.log_in(user);
        Ok(Auth::Accept)
    }

    async fn auth_password(&mut self, user: &str, password: &str) -> Result<Auth, Self::Error> {
        self.asked();
        Ok(self.try_password(user, Some(password.to_owned()), Method::Password).await)
    }

    /// Asks everybody, known or not, and looks at the answer afterwards.
    async fn auth_keyboard_interactive<'a>(
        &'a mut self,
        user: &str,
        _submethods: &str,
        response: Option<Response<'a>>,
    ) -> Result<Auth, Self::Error> {
        self.asked();
        let Some(mut response) = response else {
            let access = self.access();
            return Ok(if self.may_try(&access, Method::KeyboardInteractive) {
                Auth::Partial { name: "".into(), instructions: "".into(), prompts: QUESTION.into() }
            } else {
                self.rejected()
            });
        };
        let given = response.next().and_then(|answer| String::from_utf8(answer.to_vec()).ok());
        Ok(self.try_password(user, given, Method::KeyboardInteractive).await)
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
            // A failure, which programs that look for another subsystem understand; the words are for people.
            info!(peer = %self.address, user = self.user.as_deref(), name, "SSH subsystem refused: there is only netconf");
            session.extended_data(id, 1, &b"there is only the subsystem netconf here\r\n"[..])?;
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

    async fn x11_request(
        &mut self,
        channel: ChannelId,
        _single_connection: bool,
        _x11_auth_protocol: &str,
        _x11_auth_cookie: &str,
        _x11_screen_number: u32,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        session.channel_failure(channel)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_take_whole_units_of_time() {
        let unit = Duration::from_millis(200);
        for (took, answered) in [(0, 0), (1, 200), (200, 200), (201, 400), (950, 1000)] {
            let answered = Duration::from_millis(answered);
            assert_eq!(rounded_up(Duration::from_millis(took), unit), answered, "{took} ms");
        }
        assert_eq!(rounded_up(Duration::from_secs(1), Duration::ZERO), Duration::ZERO);
    }
}
