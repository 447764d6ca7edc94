//! The peer: yuma's netconfd behind OpenSSH's server, as Debian ships them, in a namespace of their own.

use super::endpoint::Endpoint;
use super::rig::{SERVER_CPU, model};
use crate::cpu::pin_process;
use cats_conformance::command::{Background, run};
use cats_conformance::lab::Lab;
use cats_conformance::node::AdministratorKey;
use cats_conformance::wait::wait_for;
use cats_conformance::{LabError, Result};
use std::fs;
use std::path::Path;
use std::sync::Arc;

const PORT: u16 = 1830;
const SSHD: &str = "/usr/sbin/sshd";
const NETCONFD: &str = "/usr/sbin/netconfd";
const SUBSYSTEM: &str = "/usr/sbin/netconf-subsystem";

/// Without a startup file of its own the peer keeps nothing; with one it writes it anew at each commit.
const EMPTY: &str = "<config xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"/>\n";

/// A running peer. Dropping it kills both daemons.
pub(super) struct Yuma {
    pub(super) endpoint: Endpoint,
    _netconfd: Background,
    _sshd: Background,
}

impl Yuma {
    /// Starts the peer with an empty datastore that it writes to a file at each commit.
    pub(super) fn start(lab: &Lab, key: &AdministratorKey) -> Result<Yuma> {
        let host = Arc::new(lab.host("yuma")?);
        let folder = lab.folder().join("yuma");
        fs::create_dir_all(&folder).map_err(LabError::of(format!("making {}", folder.display())))?;
        let socket = folder.join("ncxserver.sock");
        let startup = folder.join("startup-cfg.xml");
        fs::write(&startup, EMPTY).map_err(LabError::of(format!("writing {}", startup.display())))?;
        let mut command = host.command(NETCONFD);
        // It also writes a backup to the working directory at each commit.
        command.current_dir(&folder).args(arguments(&startup, &socket));
        let mut netconfd = Background::start("yuma's netconfd", command, &folder.join("netconfd.log"))?;
        netconfd.wait_until("listening", || socket.exists())?;
        let config = sshd_config(&folder, &socket, key)?;
        let mut command = host.command(SSHD);
        command.args(["-D", "-e", "-f"]).arg(&config);
        let mut sshd = Background::start("sshd of yuma", command, &folder.join("sshd.log"))?;
        sshd.wait_until("listening", || {
            fs::read_to_string(folder.join("sshd.log")).is_ok_and(|log| log.contains("Server listening"))
        })?;
        for process in [netconfd.pid(), sshd.pid()] {
            pin_process(process, SERVER_CPU).map_err(LabError::of("pinning the peer"))?;
        }
        let endpoint = Endpoint { host, port: PORT, user: "root".to_owned(), key: key.private.clone() };
        let yuma = Yuma { endpoint, _netconfd: netconfd, _sshd: sshd };
        wait_for("a session of yuma", || {
            yuma.endpoint.connect().and_then(|client| client.settle().close()).ok()
        })?;
        Ok(yuma)
    }

    /// The peer's name and version.
    pub(super) fn version() -> Result<String> {
        let of = |package: &str| run("dpkg-query", &["-W", "-f", "${Version}", package]);
        Ok(format!("yuma netconfd {} behind openssh-server {}", of("netconfd")?, of("openssh-server")?))
    }
}

/// As it is by default, but: the superuser is spared access control, as our administrator is; and the log and the
/// indentation of replies, which only cost, are left out.
fn arguments(startup: &Path, socket: &Path) -> Vec<String> {
    vec![
        "--config=/dev/null".to_owned(),
        format!("--module={}", model().display()),
        format!("--ncxserver-sockname={}", socket.display()),
        format!("--port={PORT}"),
        "--superuser=root".to_owned(),
        "--target=candidate".to_owned(),
        format!("--startup={}", startup.display()),
        "--log-level=error".to_owned(),
        "--indent=0".to_owned(),
    ]
}

/// The home folder is another one, for the shell that starts the subsystem runs what it finds in a `.bashrc` there.
fn sshd_config(folder: &Path, socket: &Path, key: &AdministratorKey) -> Result<std::path::PathBuf> {
    let doing = || format!("writing the configuration of sshd to {}", folder.display());
    // Where sshd confines its child; a service manager makes it otherwise.
    fs::create_dir_all("/run/sshd").map_err(LabError::of("making /run/sshd"))?;
    let host_key = folder.join("host-key").display().to_string();
    run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &host_key])?;
    let text = format!(
        "Port {PORT}\nListenAddress 127.0.0.1\nHostKey {host_key}\nPidFile none\nUsePAM no\nStrictModes no\n\
         AuthorizedKeysFile {}\nPermitRootLogin prohibit-password\nMaxStartups 1000\nSetEnv HOME={}\n\
         Subsystem netconf \"{SUBSYSTEM} --ncxserver-sockname={PORT}@{}\"\n",
        key.public.display(),
        folder.display(),
        socket.display()
    );
    let config = folder.join("sshd_config");
    fs::write(&config, text).map_err(LabError::of(doing()))?;
    Ok(config)
}
