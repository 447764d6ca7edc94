//! A TCP stream that fails when its connection has outstayed a deadline, whatever the SSH library waits for.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

/// How far a connection has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Its user is known.
    pub(crate) authenticated: bool,
    /// NETCONF sessions on it.
    pub(crate) sessions: usize,
    /// It must end now.
    pub(crate) abandoned: bool,
}

/// Resolves, with the reason, when the connection must end: not authenticated within `login`, no session for
/// `login` after that, abandoned, or the listener is gone.
async fn doom(
    mut progress: watch::Receiver<Progress>,
    mut listening: watch::Receiver<()>,
    login: Duration,
) -> &'static str {
    let stages = async {
        match timeout(login, progress.wait_for(|now| now.authenticated || now.abandoned)).await {
            Ok(Ok(now)) if !now.abandoned => {}
            Ok(_) => return "the connection was given up",
            Err(_) => return "not authenticated in time",
        }
        loop {
            match timeout(login, progress.wait_for(|now| now.sessions > 0 || now.abandoned)).await {
                Ok(Ok(now)) if !now.abandoned => {}
                Ok(_) => return "the connection was given up",
                Err(_) => return "no NETCONF session in time",
            }
            match progress.wait_for(|now| now.sessions == 0 || now.abandoned).await {
                Ok(now) if !now.abandoned => {}
                Ok(_) | Err(_) => return "the connection was given up",
            }
        }
    };
    tokio::select! {
        reason = stages => reason,
        _ = listening.changed() => "the server shuts down",
    }
}

/// The guarded stream.
pub(crate) struct Guarded {
    stream: TcpStream,
    doom: Option<Pin<Box<dyn Future<Output = &'static str> + Send>>>,
    reason: &'static str,
}

impl Guarded {
    pub(crate) fn new(
        stream: TcpStream,
        progress: watch::Receiver<Progress>,
        listening: watch::Receiver<()>,
        login: Duration,
    ) -> Self {
        // Requests and replies are small and waited for.
        let _ = stream.set_nodelay(true);
        Self { stream, doom: Some(Box::pin(doom(progress, listening, login))), reason: "" }
    }

    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if let Some(doom) = self.doom.as_mut() {
            let Poll::Ready(reason) = doom.as_mut().poll(cx) else { return Ok(()) };
            self.reason = reason;
            self.doom = None;
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, self.reason))
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
