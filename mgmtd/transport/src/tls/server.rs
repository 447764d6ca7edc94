//! The server's end of one connection over TLS, whoever has made it: its handshake, and the session.

use super::credentials::{Credentials, Shown, Unknown};
use crate::access::{Standing, Watched};
use crate::admission::Admission;
use crate::connection::{Calling, Connection, FINISH, Transport};
use crate::guard::{Course, Guarded, Progress};
use crate::strangers::{Place, Strangers};
use crate::turns::Rank;
use cats_mgmtd_netconf::refuse_session;
use cats_yang_tree::error::{Error, ErrorTag};
use rustls::pki_types::UnixTime;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{debug, info, warn};

/// What a client is told that comes when too many others do.
const BUSY: &str = "the server is busy: try again later";

/// Makes sessions of connections over TLS, of the clients whose certificates are in its [`Credentials`]. Its
/// connections end when it is dropped.
#[derive(Debug)]
pub struct TlsServer {
    credentials: Credentials,
    shared: Shared,
    alive: watch::Sender<()>,
}

#[derive(Debug, Clone)]
struct Shared {
    access: Watched,
    admission: Arc<Admission>,
    accepted: mpsc::Sender<Connection>,
    strangers: Arc<Strangers>,
}

impl TlsServer {
    /// A session that `accepted` has no room for is refused.
    pub fn new(
        credentials: Credentials,
        access: Watched,
        admission: Arc<Admission>,
        accepted: mpsc::Sender<Connection>,
    ) -> Self {
        let shared = Shared { access, admission, accepted, strangers: Strangers::new() };
        Self { credentials, shared, alive: watch::Sender::new(()) }
    }

    /// The course of a connection, and its handshake, which says in the end what became of it.
    pub(crate) fn begin(
        &self,
        stream: TcpStream,
        address: SocketAddr,
        calling: Calling,
    ) -> (Course, impl Future<Output = String> + Send + 'static) {
        let limits = self.shared.access.borrow().limits;
        let progress = Arc::new(watch::Sender::new(Progress::default()));
        let course = Course::of(&progress);
        let place = self.shared.strangers.admit(address.ip(), &limits, &progress);
        let guarded = Guarded::new(stream, Arc::clone(&progress), self.alive.subscribe(), limits.login);
        let guest =
            Guest { address, place, progress, calling, shared: self.shared.clone(), at: UnixTime::now() };
        (course, guest.come(guarded, self.credentials.clone()))
    }
}

/// Who comes.
struct Guest {
    address: SocketAddr,
    place: Place,
    progress: Arc<watch::Sender<Progress>>,
    calling: Calling,
    shared: Shared,
    at: UnixTime,
}

impl Guest {
    async fn come(self, stream: Guarded, credentials: Credentials) -> String {
        let (peer, may_name) = (self.address, Arc::clone(&self.shared.strangers));
        match self.log_in(stream, credentials).await {
            Ok(()) => "the connection has ended".to_owned(),
            Err(Refused::Handshake(why)) => {
                // Whoever connects may bring this about, and as often as it likes.
                match may_name.may_name(peer.ip()) {
                    true => info!(%peer, why, "login over TLS refused"),
                    false => debug!(%peer, why, "login over TLS refused"),
                }
                why
            }
            Err(Refused::User(why)) => {
                info!(%peer, why, "login over TLS refused");
                why
            }
            Err(Refused::Session(why)) => {
                warn!(%peer, why, "session over TLS refused");
                why
            }
        }
    }

    async fn log_in(self, stream: Guarded, credentials: Credentials) -> Result<(), Refused> {
        let terms = credentials.terms();
        let server = terms.borrow().server();
        let server = server.ok_or_else(|| Refused::Handshake(Unknown::NotLoaded.to_string()))?;
        let accepted = TlsAcceptor::from(server).accept(stream).await;
        let mut stream = accepted.map_err(|error| Refused::Handshake(error.to_string()))?;
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let shown = Shown::new(chain, self.at, terms);
        let user = {
            let terms = Arc::clone(&shown.terms.borrow());
            terms.user(&shown.chain, self.at)
        };
        let known = user.map_err(|why| why.to_string()).and_then(|user| {
            // The name is in a certificate of an authority that is trusted, so it is no secret of somebody else.
            let unknown = || format!("there is no user {}", user.escape_debug());
            if self.shared.access.borrow().knows(&user) { Ok(user) } else { Err(unknown()) }
        });
        match known {
            Ok(user) => self.open(user, shown, stream).await,
            Err(why) => {
                // It says nothing but that it ends.
                let _ = timeout(FINISH, stream.shutdown()).await;
                Err(Refused::User(why))
            }
        }
    }

    async fn open(self, user: String, shown: Shown, mut stream: TlsStream<Guarded>) -> Result<(), Refused> {
        let Self { address, place, progress, calling, shared, .. } = self;
        info!(user, peer = %address, "logged in over TLS");
        drop(place);
        progress.send_modify(|progress| {
            progress.authenticated = true;
            progress.sessions = 1;
        });
        let ticket = match shared.admission.admit(&user) {
            Ok(ticket) => ticket,
            Err(refusal) => {
                let text = refuse_session(Error::protocol(ErrorTag::ResourceDenied, refusal.to_string()));
                let told = async {
                    let _ = stream.write_all(&text).await;
                    let _ = stream.shutdown().await;
                };
                // A peer that does not take it has had its time.
                let _ = timeout(FINISH, told).await;
                return Err(Refused::Session(refusal.to_string()));
            }
        };
        let (idle, wanted) = (calling.idle, calling.wanted);
        let standing = Standing { user: user.clone(), access: shared.access, shown: Some(shown), wanted };
        let connection = Connection {
            user,
            transport: Transport::Tls,
            peer: address.to_string(),
            rank: Rank::default(),
            idle,
            stream: Box::new(stream),
            channel: None,
            ticket,
            standing: Some(standing),
        };
        match shared.accepted.try_send(connection) {
            Ok(()) => Ok(()),
            Err(mpsc::error::TrySendError::Full(connection)) => {
                connection.refuse(Error::protocol(ErrorTag::ResourceDenied, BUSY)).await;
                Err(Refused::Session(BUSY.to_owned()))
            }
            Err(mpsc::error::TrySendError::Closed(_)) => {
                Err(Refused::Session("the server shuts down".to_owned()))
            }
        }
    }
}

/// Why there is no session.
enum Refused {
    /// It has shown no certificate that is trusted.
    Handshake(String),
    /// It is nobody who may have one.
    User(String),
    /// There is no room for one.
    Session(String),
}
