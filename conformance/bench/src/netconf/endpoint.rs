//! How both servers are reached: by OpenSSH's client, with the same options.

use cats_conformance::namespace::Namespace;
use cats_conformance::netconf::Session;
use cats_conformance::{LabError, Result};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// How long a part of an answer may take: the peer needs its time for ten thousand entries.
const ANSWER_BOUND: Duration = Duration::from_secs(90);

/// Between the hello and the first request, and not measured: what comes to the peer in one piece with the hello is
/// not answered until more comes.
const AFTER_HELLO: Duration = Duration::from_millis(20);

/// A server with its user.
pub(super) struct Endpoint {
    pub(super) host: Arc<Namespace>,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) key: PathBuf,
}

/// A session over SSH. Dropping it kills the client.
pub(super) struct Client {
    pub(super) session: Session,
    ssh: Ssh,
}

/// The client's process.
struct Ssh(Child);

impl Endpoint {
    /// Starts the client and exchanges hellos.
    pub(super) fn connect(&self) -> Result<Client> {
        let doing = || format!("starting ssh to port {}", self.port);
        let (near, far) = UnixStream::pair().map_err(LabError::of(doing()))?;
        let input = OwnedFd::from(far.try_clone().map_err(LabError::of(doing()))?);
        let mut command = Command::new("ssh");
        command.args(["-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no"]);
        command.args([
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
            "-o",
            "IdentitiesOnly=yes",
        ]);
        command.arg("-i").arg(&self.key).arg("-p").arg(self.port.to_string());
        command.arg(format!("{}@127.0.0.1", self.user)).args(["-s", "netconf"]);
        command.stdin(Stdio::from(input)).stdout(Stdio::from(OwnedFd::from(far)));
        let child = self.host.enter(|| command.spawn())?.map_err(LabError::of(doing()))?;
        let ssh = Ssh(child);
        // The command holds our copies of the far end, which must be gone for its end to be seen.
        drop(command);
        Ok(Client { session: Session::over(near, ANSWER_BOUND)?, ssh })
    }
}

impl Client {
    /// Waits until requests may be sent.
    pub(super) fn settle(self) -> Client {
        std::thread::sleep(AFTER_HELLO);
        self
    }

    /// Closes the session in order and waits until the client has ended.
    pub(super) fn close(mut self) -> Result<()> {
        self.session.succeed("<close-session/>")?;
        self.ssh.0.wait().map(drop).map_err(LabError::of("waiting for the end of ssh"))
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
