//! The acceptor of the C-PS: TCP, then TLS with a client certificate, then tonic.

use crate::identity::Identities;
use crate::pki::Pki;
use rustls::pki_types::CertificateDer;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

/// Handshakes at one time at most; further connections wait in the kernel's queue.
const HANDSHAKES: usize = 64;

/// Who is at the other end of a connection.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) identities: Arc<Identities>,
    pub(super) chain: Arc<Vec<CertificateDer<'static>>>,
    pub(super) address: SocketAddr,
}

/// A connection whose client certificate is checked.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TlsStream<TcpStream>,
    peer: Peer,
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

/// Accepts until `accepted` is closed.
pub(super) async fn accept(
    listener: TcpListener,
    pki: Arc<Pki>,
    patience: Duration,
    accepted: mpsc::Sender<io::Result<Connection>>,
) {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES));
    loop {
        let Ok(permit) = Arc::clone(&handshakes).acquire_owned().await else { return };
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
            match tokio::time::timeout(patience, handshake(stream, address, &pki)).await {
                Ok(Ok(connection)) => drop(accepted.send(Ok(connection)).await),
                Ok(Err(error)) => tracing::warn!(peer = %address, %error, "connection refused"),
                Err(_) => {
                    tracing::warn!(peer = %address, "connection refused: the TLS handshake took too long")
                }
            }
        });
    }
}

async fn handshake(stream: TcpStream, address: SocketAddr, pki: &Pki) -> io::Result<Connection> {
    let config = pki.server().ok_or_else(|| io::Error::other("no usable certificates"))?;
    stream.set_nodelay(true)?;
    let stream = TlsAcceptor::from(config).accept(stream).await?;
    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default().to_vec();
    let leaf = chain.first().ok_or_else(|| io::Error::other("no client certificate"))?;
    let identities = Identities::of_certificate(leaf).map_err(io::Error::other)?;
    let peer = Peer { identities: Arc::new(identities), chain: Arc::new(chain), address };
    Ok(Connection { stream, peer })
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
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
