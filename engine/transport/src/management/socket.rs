//! The Unix socket and who may use it.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tokio::net::{UnixListener, UnixStream};
use tokio_stream::wrappers::UnixListenerStream;
use tokio_stream::{Stream, StreamExt};

/// Listens on `socket`. It is never there with another mode: it is made beside and renamed.
pub(super) fn listen(socket: &Path) -> io::Result<Incoming> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", socket.display()));
    let fresh = socket.with_extension("new");
    match std::fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(named(error)),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(&fresh).map_err(named)?;
    std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o600)).map_err(named)?;
    std::fs::rename(&fresh, socket).map_err(named)?;
    Ok(Incoming(UnixListenerStream::new(listener)))
}

/// What connects to the socket.
#[derive(Debug)]
pub(super) struct Incoming(UnixListenerStream);

impl Incoming {
    /// The connections of those who may use it.
    pub(super) fn accepted(self) -> impl Stream<Item = io::Result<UnixStream>> {
        self.0.filter(|stream| match stream {
            Ok(stream) => may_use(stream),
            Err(_) => true,
        })
    }
}

fn may_use(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == own || peer.uid() == 0 => true,
        Ok(peer) => {
            tracing::warn!(uid = peer.uid(), pid = ?peer.pid(), "connection to the engine's socket refused");
            false
        }
        Err(error) => {
            tracing::warn!(%error, "connection to the engine's socket refused: its user is not known");
            false
        }
    }
}
