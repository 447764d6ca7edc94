//! The local socket.

use crate::admission::Admission;
use crate::connection::{Connection, Transport};
use crate::turns::Rank;
use cats_mgmtd_netconf::refuse_session;
use cats_yang_tree::error::{Error, ErrorTag};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

/// Accepts NETCONF sessions on a Unix socket, from uid 0 and from the uid of this process.
#[derive(Debug)]
pub struct LocalListener {
    listener: UnixListener,
    path: PathBuf,
    admission: Arc<Admission>,
}

impl LocalListener {
    /// Listens at `path`, mode 0666: whoever may not have a session is told so over the connection. A socket that a
    /// dead process left there is replaced.
    ///
    /// # Errors
    /// Another process listens there, `path` is no socket, or it cannot be made.
    pub fn bind(path: &Path, admission: Arc<Admission>) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => {
                if std::os::unix::net::UnixStream::connect(path).is_ok() {
                    let why = format!("{}: another process listens here", path.display());
                    return Err(io::Error::new(io::ErrorKind::AddrInUse, why));
                }
                fs::remove_file(path)?;
            }
            Ok(_) => {
                let why = format!("{}: exists and is not a socket", path.display());
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o666))?;
        Ok(Self { listener, path: path.to_owned(), admission })
    }

    /// Accepts until dropped, or until nobody receives. Waits while `accepted` is full.
    pub async fn run(self, accepted: mpsc::Sender<Connection>) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    if let Some(connection) = self.admit(stream)
                        && accepted.send(connection).await.is_err()
                    {
                        return;
                    }
                }
                Err(error) => {
                    warn!(%error, "cannot accept on the local socket");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn admit(&self, stream: UnixStream) -> Option<Connection> {
        let credentials = match stream.peer_cred() {
            Ok(credentials) => credentials,
            Err(error) => {
                warn!(%error, "a local peer without credentials is refused");
                return None;
            }
        };
        let (uid, own) = (credentials.uid(), rustix::process::geteuid().as_raw());
        let user = user_name(uid);
        let peer = credentials.pid().map_or_else(|| "local".to_owned(), |pid| format!("process {pid}"));
        if uid != 0 && uid != own {
            info!(user, uid, peer, "local session refused");
            let why =
                format!("user {user} (uid {uid}) may not manage this node: only uid 0 and uid {own} may");
            refuse(stream, Error::protocol(ErrorTag::AccessDenied, why));
            return None;
        }
        match self.admission.admit(&user) {
            Ok(ticket) => Some(Connection {
                user,
                transport: Transport::Local,
                peer,
                rank: Rank::default(),
                idle: None,
                stream: Box::new(stream),
                channel: None,
                ticket,
                standing: None,
            }),
            Err(refusal) => {
                warn!(user, peer, %refusal, "local session refused");
                refuse(stream, Error::protocol(ErrorTag::ResourceDenied, refusal.to_string()));
                None
            }
        }
    }
}

impl Drop for LocalListener {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Says why, without waiting for it.
fn refuse(mut stream: UnixStream, error: Error) {
    tokio::spawn(async move {
        let text = refuse_session(error);
        let _ = timeout(Duration::from_secs(1), stream.write_all(&text)).await;
    });
}

/// The name of `uid` in the system's user database; `uid-N` for one that is not in it.
fn user_name(uid: u32) -> String {
    if uid == 0 {
        return "root".to_owned();
    }
    let found = fs::read_to_string("/etc/passwd").ok().and_then(|passwd| name_in(&passwd, uid));
    found.unwrap_or_else(|| format!("uid-{uid}"))
}

fn name_in(passwd: &str, uid: u32) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_is_named_by_the_user_database() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\ncats:x:998:997::/var/lib/cats:/usr/sbin/nologin\n";
        assert_eq!(name_in(passwd, 998).as_deref(), Some("cats"));
        assert_eq!(name_in(passwd, 997), None);
        assert_eq!(user_name(0), "root");
        assert_eq!(user_name(4_000_000_000), "uid-4000000000");
    }
}
