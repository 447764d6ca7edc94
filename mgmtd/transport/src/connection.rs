//! A connection whose user is known.

use crate::access::Standing;
use crate::admission::Ticket;
use crate::peer::SshChannel;
use crate::turns::Rank;
use cats_mgmtd_netconf::refuse_session;
use cats_yang_tree::error::Error;
use std::fmt;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::timeout;

/// A connection has so long to end.
pub(crate) const FINISH: Duration = Duration::from_secs(5);

/// How a user came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// NETCONF over SSH.
    Ssh,
    /// NETCONF over TLS.
    Tls,
    /// The local socket.
    Local,
}

/// What goes with a connection that this side has made.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calling {
    /// False from when it is not to be any more.
    pub(crate) wanted: Option<watch::Receiver<bool>>,
    /// A session on it that asks nothing for so long is closed.
    pub(crate) idle: Option<Duration>,
}

/// Bytes in both directions.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// An accepted connection, before its NETCONF session begins. It holds its place among the sessions until it is
/// dropped or served.
pub struct Connection {
    /// Authenticated user name.
    pub user: String,
    /// How it came.
    pub transport: Transport,
    /// Whence: address and port, or process id, for logs and ietf-netconf-monitoring's source-host.
    pub peer: String,
    /// Whose turns its big messages take; until the daemon says otherwise those of all users.
    pub rank: Rank,
    /// When it asks nothing for so long it is closed; otherwise that is as for all.
    pub idle: Option<Duration>,
    pub(crate) stream: Box<dyn Stream>,
    pub(crate) channel: Option<SshChannel>,
    pub(crate) ticket: Ticket,
    /// Of a user who may be taken out of the configuration.
    pub(crate) standing: Option<Standing>,
}

impl Connection {
    /// Ends the connection, telling the peer why in place of a hello. Takes 5 s at most.
    pub async fn refuse(mut self, error: Error) {
        let text = refuse_session(error);
        let told = timeout(FINISH, async {
            let _ = self.stream.write_all(&text).await;
            Self::finish(&mut *self.stream, self.channel.clone(), 1).await;
        });
        if told.await.is_err()
            && let Some(channel) = &self.channel
        {
            channel.abandon();
        }
    }

    /// Ends the connection after everything written was sent; over SSH with this exit status.
    pub(crate) async fn finish(stream: &mut dyn Stream, channel: Option<SshChannel>, status: u32) {
        let _ = stream.shutdown().await;
        if let Some(channel) = channel {
            channel.finish(status).await;
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("user", &self.user)
            .field("transport", &self.transport)
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}
