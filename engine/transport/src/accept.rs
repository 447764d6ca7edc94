//! The acceptor of every server: TCP, then TLS, then tonic.

use crate::identity::Identities;
use crate::pki::{ClientCertificates, Pki};
use rustls::pki_types::CertificateDer;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

/// Handshakes at one time at most; further connections wait in the kernel's queue.
const HANDSHAKES: usize = 64;

/// Who is at the other end of a connection. Without a certificate: nobody, with an empty chain.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) identities: Arc<Identities>,
    pub(crate) chain: Arc<Vec<CertificateDer<'static>>>,
    pub(crate) address: SocketAddr,
}

/// A connection whose client certificate is checked, if it has one.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TlsStream<TcpStream>,
    peer: Peer,
    quiet: Quiet,
    _place: OwnedSemaphorePermit,
}

/// How a server takes connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// Whether clients need a certificate.
    pub(crate) certificates: ClientCertificates,
    /// Bound of a handshake.
    pub(crate) patience: Duration,
    /// A connection is closed after so long without an octet from the peer.
    pub(crate) quiet: Duration,
    /// Connections at one time; further ones wait in the kernel's queue.
    pub(crate) connections: usize,
}

/// The time since the last octet.
#[derive(Debug)]
struct Quiet {
    limit: Duration,
    end: Pin<Box<Sleep>>,
}

impl Quiet {
    fn new(limit: Duration) -> Self {
        Self { limit, end: Box::pin(tokio::time::sleep(limit)) }
    }

    fn heard(&mut self) {
        if let Some(end) = tokio::time::Instant::now().checked_add(self.limit) {
            self.end.as_mut().reset(end);
        }
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        self.end.as_mut().poll(cx).map(|()| io::Error::new(io::ErrorKind::TimedOut, "the peer is silent"))
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

/// Accepts until `accepted` is closed.
pub(crate) async fn accept(
    listener: TcpListener,
    pki: Arc<Pki>,
    terms: Terms,
    accepted: mpsc::Sender<io::Result<Connection>>,
) {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES));
    let places = Arc::new(Semaphore::new(terms.connections.min(Semaphore::MAX_PERMITS)));
    loop {
        let Ok(permit) = Arc::clone(&handshakes).acquire_owned().await else { return };
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let connection = tokio::select! {
            connection = listener.accept() => connection,
            () = accepted.closed() => return,
        };
        let (stream, address) = match connection {
            Ok(connection) => connection,
            Err(error) => {
                // Descriptors or memory are short: the connection stays in the kernel's queue.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (pki, accepted) = (Arc::clone(&pki), accepted.clone());
        tokio::spawn(async move {
            let _permit = permit;
            match tokio::time::timeout(terms.patience, handshake(stream, address, &pki, terms, place)).await {
                Ok(Ok(connection)) => drop(accepted.send(Ok(connection)).await),
                Ok(Err(error)) => tracing::warn!(peer = %address, %error, "connection refused"),
                Err(_) => {
                    tracing::warn!(peer = %address, "connection refused: the TLS handshake took too long")
                }
            }
        });
    }
}

async fn handshake(
    stream: TcpStream,
    address: SocketAddr,
    pki: &Pki,
    terms: Terms,
    place: OwnedSemaphorePermit,
) -> io::Result<Connection> {
    let config = pki.server(terms.certificates).ok_or_else(|| io::Error::other("no usable certificates"))?;
    stream.set_nodelay(true)?;
    let stream = TlsAcceptor::from(config).accept(stream).await?;
    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default().to_vec();
    let identities = chain.first().map(|leaf| Identities::of_certificate(leaf)).transpose();
    let identities = identities.map_err(io::Error::other)?.unwrap_or_default();
    let peer = Peer { identities: Arc::new(identities), chain: Arc::new(chain), address };
    Ok(Connection { stream, peer, quiet: Quiet::new(terms.quiet), _place: place })
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Ready(read) => {
                self.quiet.heard();
                Poll::Ready(read)
            }
            Poll::Pending => self.quiet.poll_end(cx).map(Err),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, octets)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
