//! The listener.

use super::server::TlsServer;
use crate::connection::Calling;
use crate::keepalive::Keepalive;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tracing::warn;

/// Where clients connect to. Connections outlive it; they end with its [`TlsServer`].
#[derive(Debug)]
pub struct TlsListener {
    listener: TcpListener,
    server: Arc<TlsServer>,
}

impl TlsListener {
    /// Listens at `address`.
    ///
    /// # Errors
    /// The address is taken or may not be used; the message names it.
    pub async fn bind(address: SocketAddr, server: Arc<TlsServer>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|error| io::Error::new(error.kind(), format!("cannot listen at {address}: {error}")))?;
        Ok(Self { listener, server })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts until dropped.
    pub async fn run(self) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Without it the session goes on, and is less quick to notice that its peer is gone.
                    let _ = Keepalive::default().set(&stream);
                    let (_, handshake) = self.server.begin(stream, address, Calling::default());
                    tokio::spawn(handshake);
                }
                Err(error) => {
                    warn!(%error, "cannot accept on the TLS socket");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}
