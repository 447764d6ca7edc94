//! A CATS node of the lab: a pair of daemons in a namespace, with their folders.

use crate::command::{Background, run};
use crate::lab::{Lab, target_dir};
use crate::namespace::Namespace;
use crate::netconf::Session;
use crate::{LabError, Result};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest name of a Unix socket, less its terminating zero.
const LONGEST_SOCKET_NAME: usize = 107;

/// The SSH key pair of the lab's administrator.
#[derive(Debug, Clone)]
pub struct AdministratorKey {
    /// The private key's file.
    pub private: PathBuf,
    /// The public key's file, in the form of `authorized_keys`.
    pub public: PathBuf,
}

impl AdministratorKey {
    /// The user's name on every node of the lab.
    pub const USER: &str = "admin";

    /// Makes a key pair named `name` in the lab's folder.
    pub fn create(lab: &Lab, name: &str) -> Result<AdministratorKey> {
        let private = lab.folder().join(name);
        let file = private.display().to_string();
        run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", &file])?;
        Ok(AdministratorKey { public: private.with_extension("pub"), private })
    }
}

/// A node. Dropping it kills its daemons.
#[derive(Debug)]
pub struct Node {
    name: String,
    host: Arc<Namespace>,
    folder: PathBuf,
    ssh: String,
    key: AdministratorKey,
    modules: Vec<PathBuf>,
    options: Vec<String>,
    engined: Option<Background>,
    mgmtd: Option<Background>,
}

impl Node {
    /// A node without running daemons. `ssh` is the ADDRESS:PORT on which it will serve NETCONF over SSH.
    pub fn create(
        lab: &Lab,
        name: &str,
        host: Arc<Namespace>,
        ssh: &str,
        key: &AdministratorKey,
    ) -> Result<Node> {
        let folder = lab.folder().join(name);
        for part in ["mgmtd-state", "engined-state", "run", "log"] {
            let part = folder.join(part);
            std::fs::create_dir_all(&part).map_err(LabError::of(format!("making {}", part.display())))?;
        }
        seed_host_key(&folder.join("mgmtd-state"))?;
        let node = Node {
            name: name.to_owned(),
            host,
            folder,
            ssh: ssh.to_owned(),
            key: key.clone(),
            modules: Vec::new(),
            options: Vec::new(),
            engined: None,
            mgmtd: None,
        };
        let socket = node.netconf_socket();
        if socket.as_os_str().len() > LONGEST_SOCKET_NAME {
            return Err(LabError::new(
                format!("naming the socket {}", socket.display()),
                format!(
                    "it is longer than {LONGEST_SOCKET_NAME} bytes; check the project out in a shorter path"
                ),
            ));
        }
        Ok(node)
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The namespace that it runs in.
    pub fn host(&self) -> &Namespace {
        &self.host
    }

    /// The folder with its state, sockets and logs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The local NETCONF socket.
    pub fn netconf_socket(&self) -> PathBuf {
        self.folder.join("run/netconf.sock")
    }

    /// Has the management daemon load a further YANG module when it starts.
    pub fn load_module(&mut self, file: PathBuf) {
        self.modules.push(file);
    }

    /// Gives the management daemon a further option, such as `--max-sessions=8`, when it starts.
    pub fn add_option(&mut self, option: &str) {
        self.options.push(option.to_owned());
    }

    /// Starts both daemons and waits until they are ready.
    pub fn start(&mut self) -> Result<()> {
        self.start_engined()?;
        self.start_mgmtd()
    }

    /// Starts the engine and waits until it is ready.
    pub fn start_engined(&mut self) -> Result<()> {
        let mut command = self.host.command(&program("cats-engined")?);
        command.arg("--state-dir").arg(self.folder.join("engined-state"));
        command.arg("--run-dir").arg(self.folder.join("run"));
        self.engined = Some(self.spawn("engined", command)?);
        Ok(())
    }

    /// Starts the management daemon and waits until it is ready.
    pub fn start_mgmtd(&mut self) -> Result<()> {
        let mut command = self.host.command(&program("cats-mgmtd")?);
        command.arg("--state-dir").arg(self.folder.join("mgmtd-state"));
        command.arg("--run-dir").arg(self.folder.join("run"));
        command.args(["--ssh", &self.ssh, "--user"]);
        command.arg(format!("{}:{}", AdministratorKey::USER, self.key.public.display()));
        command.arg("--engine").arg(self.folder.join("run/engine.sock"));
        for module in &self.modules {
            command.arg("--extra-module").arg(module);
        }
        command.args(&self.options);
        self.mgmtd = Some(self.spawn("mgmtd", command)?);
        Ok(())
    }

    /// Kills a daemon as a crash would: without a chance to tidy up. `mgmtd` or `engined`.
    pub fn kill(&mut self, daemon: &str) -> Result<()> {
        let running = if daemon == "mgmtd" { self.mgmtd.take() } else { self.engined.take() };
        let running = running.ok_or_else(|| LabError::new(format!("killing {daemon}"), "it does not run"))?;
        running.stop(Signal::KILL).map(drop)
    }

    /// Sends a signal to a daemon, `mgmtd` or `engined`, which goes on to be the node's.
    pub fn signal(&self, daemon: &str, signal: Signal) -> Result<()> {
        let running = if daemon == "mgmtd" { &self.mgmtd } else { &self.engined };
        let running = running.as_ref();
        running
            .ok_or_else(|| LabError::new(format!("signalling {daemon}"), "it does not run"))?
            .signal(signal)
    }

    /// The resident memory of the running engine, in kB.
    pub fn engined_resident(&self) -> Result<u64> {
        let doing = || format!("reading the engine's memory on {}", self.name);
        let pid = self.engined_pid().ok_or_else(|| LabError::new(doing(), "it does not run"))?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(LabError::of(doing()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let size = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        size.ok_or_else(|| LabError::new(doing(), "there is no line VmRSS"))
    }

    /// Ends both daemons as a service manager would.
    pub fn stop(&mut self) -> Result<()> {
        for daemon in [self.mgmtd.take(), self.engined.take()].into_iter().flatten() {
            daemon.stop(Signal::TERM)?;
        }
        Ok(())
    }

    /// The process id of the running management daemon.
    pub fn mgmtd_pid(&self) -> Option<u32> {
        self.mgmtd.as_ref().map(Background::pid)
    }

    /// The process id of the running engine.
    pub fn engined_pid(&self) -> Option<u32> {
        self.engined.as_ref().map(Background::pid)
    }

    /// Opens a NETCONF session over the local socket.
    pub fn netconf(&self) -> Result<Session> {
        Session::connect(&self.netconf_socket())
    }

    /// Edits the candidate (default operation merge) and commits it.
    pub fn configure(&self, config: &str) -> Result<()> {
        let mut session = self.netconf()?;
        session.edit_candidate(config)?;
        session.commit()?;
        session.close()
    }

    fn spawn(&self, daemon: &str, mut command: std::process::Command) -> Result<Background> {
        let ready = self.folder.join(format!("run/{daemon}.ready"));
        if ready.exists() {
            std::fs::remove_file(&ready).map_err(LabError::of(format!("removing {}", ready.display())))?;
        }
        command.env("RUST_BACKTRACE", "1");
        let log = self.folder.join(format!("log/{daemon}.log"));
        let mut started = Background::start(&format!("cats-{daemon} of {}", self.name), command, &log)?;
        started.wait_until("ready", || ready.exists())?;
        Ok(started)
    }
}

/// Gives a state directory the RSA host key that all nodes of all labs share, so that not each makes its own, which
/// takes seconds of both cores' time.
fn seed_host_key(state: &Path) -> Result<()> {
    let shared = target_dir().join("lab-ssh_host_rsa_key");
    if !shared.is_file() {
        let own = shared.with_extension(std::process::id().to_string());
        let file = own.display().to_string();
        run("ssh-keygen", &["-q", "-t", "rsa", "-b", "3072", "-N", "", "-C", "lab", "-f", &file])?;
        std::fs::rename(&own, &shared).map_err(LabError::of(format!("making {}", shared.display())))?;
    }
    let place = state.join("ssh_host_rsa_key");
    std::fs::copy(&shared, &place).map_err(LabError::of(format!("making {}", place.display()))).map(drop)
}

/// Where a built program is: in the folder that `CATS_PROGRAMS` names, else among the release builds.
pub fn program(name: &str) -> Result<String> {
    let folder =
        std::env::var_os("CATS_PROGRAMS").map_or_else(|| target_dir().join("release"), PathBuf::from);
    let path = folder.join(name);
    if path.is_file() {
        return Ok(path.display().to_string());
    }
    Err(LabError::new(format!("looking for {}", path.display()), "it is not built; run make build"))
}
