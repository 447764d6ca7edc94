//! A TCP stream that fails when its connection has outstayed a deadline, whatever the library of SSH or TLS waits for.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Weak};
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
    /// A login on it was refused.
    pub(crate) refused: bool,
    /// Something came since the last request for a login that the SSH library has shown.
    pub(crate) unanswered: bool,
    /// NETCONF sessions on it.
    pub(crate) sessions: usize,
    /// It must end now.
    pub(crate) abandoned: bool,
    /// It has ended.
    pub(crate) gone: bool,
}

/// A connection, for who has made it.
pub(crate) struct Course {
    /// At an end when the connection is.
    pub(crate) progress: watch::Receiver<Progress>,
    sender: Weak<watch::Sender<Progress>>,
}

impl Course {
    pub(crate) fn of(progress: &Arc<watch::Sender<Progress>>) -> Self {
        Self { progress: progress.subscribe(), sender: Arc::downgrade(progress) }
    }

    /// Ends the connection, whatever is still to be written.
    pub(crate) fn abandon(&self) {
        if let Some(progress) = self.sender.upgrade() {
            progress.send_modify(|progress| progress.abandoned = true);
        }
    }
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

/// Resolves when a client, refused once, has sent something for which the SSH library has nothing to say within
/// `patience`.
///
/// That is how a second request for the service of authentication goes, which some clients send before each try: RFC
/// 4253 section 10 has it accepted, or the connection ended. The library does neither, so the client would wait.
pub(crate) async fn ignored(mut progress: watch::Receiver<Progress>, patience: Duration) {
    loop {
        let waits = |now: &Progress| now.unanswered && !now.authenticated;
        if progress.wait_for(waits).await.is_err() {
            // The connection has ended.
            return std::future::pending().await;
        }
        loop {
            match timeout(patience, progress.changed()).await {
                Err(_) => return,
                Ok(Err(_)) => return std::future::pending().await,
                Ok(Ok(())) if waits(&progress.borrow_and_update()) => {}
                Ok(Ok(())) => break,
            }
        }
    }
}

/// The guarded stream.
pub(crate) struct Guarded {
    stream: TcpStream,
    progress: Arc<watch::Sender<Progress>>,
    doom: Option<Pin<Box<dyn Future<Output = &'static str> + Send>>>,
    reason: &'static str,
}

impl Guarded {
    pub(crate) fn new(
        stream: TcpStream,
        progress: Arc<watch::Sender<Progress>>,
        listening: watch::Receiver<()>,
        login: Duration,
    ) -> Self {
        // Requests and replies are small and waited for.
        let _ = stream.set_nodelay(true);
        let doom = Box::pin(doom(progress.subscribe(), listening, login));
        Self { stream, progress, doom: Some(doom), reason: "" }
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
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.progress.send_if_modified(|progress| {
                let waits = progress.refused && !progress.authenticated;
                progress.unanswered |= waits;
                waits
            });
        }
        read
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
