//! A management daemon by itself, as the NETCONF tests need it: no engine beside it, a namespace around it.

use crate::command::{Outcome, run_with_input};
use crate::lab::{Lab, python, repository_root};
use crate::namespace::Namespace;
use crate::netconf::Session;
use crate::node::{AdministratorKey, Node};
use crate::wait::BOUND;
use crate::{LabError, Result};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// Where the daemon listens, inside of its namespace.
pub const ADDRESS: &str = "127.0.0.1";
/// NETCONF's port.
pub const PORT: &str = "830";

/// The daemon, its lab and its administrator's key.
#[derive(Debug)]
pub struct Server {
    /// The node, whose engine does not run.
    pub node: Node,
    /// The administrator's key.
    pub key: AdministratorKey,
    /// The lab with its folder.
    pub lab: Lab,
}

impl Server {
    /// Starts a daemon with an empty datastore and the module `lab-example`.
    pub fn start(name: &str) -> Result<Server> {
        let lab = Lab::create(name)?;
        let key = AdministratorKey::create(&lab, "admin-key")?;
        let host = Arc::new(lab.host("mgmt")?);
        let mut node = Node::create(&lab, "server", host, &format!("{ADDRESS}:{PORT}"), &key)?;
        node.load_module(repository_root().join("conformance/lab/lab-example.yang"));
        node.start_mgmtd()?;
        Ok(Server { node, key, lab })
    }

    /// Runs one of the checks of ncclient.
    pub fn ncclient(&self, check: &str) -> Result<()> {
        ncclient(self.node.host(), ADDRESS, &self.key, check)
    }

    /// Runs OpenSSH's client with the subsystem netconf as `user` with the private key `key`, `input` on its
    /// standard input, which is then closed.
    pub fn ssh(&self, user: &str, key: &AdministratorKey, options: &[&str], input: &[u8]) -> Result<Outcome> {
        run_with_input(self.ssh_command(user, key, options), input)
    }

    /// A session of OpenSSH's client, which announces these capabilities beside its base.
    pub fn ssh_session(
        &self,
        user: &str,
        key: &AdministratorKey,
        capabilities: &[&str],
    ) -> Result<SshSession> {
        let doing = "starting ssh";
        let (near, far) = UnixStream::pair().map_err(LabError::of(doing))?;
        let output = far.try_clone().map_err(LabError::of(doing))?;
        let mut command = self.ssh_command(user, key, &[]);
        command.stdin(Stdio::from(OwnedFd::from(far))).stdout(Stdio::from(OwnedFd::from(output)));
        let client = Client(command.spawn().map_err(LabError::of(doing))?);
        // With it go the last handles of the other end, so that the end of the client is seen.
        drop(command);
        Ok(SshSession { session: Session::announcing(near, BOUND, capabilities)?, client })
    }

    fn ssh_command(&self, user: &str, key: &AdministratorKey, options: &[&str]) -> Command {
        let mut command = self.node.host().command("ssh");
        command.args(["-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no"]);
        command.args([
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
            "-o",
            "IdentitiesOnly=yes",
        ]);
        command.arg("-i").arg(&key.private).args(options);
        command.args(["-p", PORT, &format!("{user}@{ADDRESS}"), "-s", "netconf"]);
        command
    }
}

/// A session of OpenSSH's client.
#[derive(Debug)]
pub struct SshSession {
    /// The NETCONF in it.
    pub session: Session,
    client: Client,
}

impl SshSession {
    /// Kills the client, which has no time to say goodbye.
    pub fn cut(self) {
        drop(self.client);
    }
}

/// Killed when it goes out of scope.
#[derive(Debug)]
struct Client(Child);

impl Drop for Client {
    fn drop(&mut self) {
        // One that has ended by itself is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// As [`Server::ssh`], for a user without a key, who answers the first question of the login with `word`.
    pub fn ssh_with_word(&self, user: &str, word: &str, options: &[&str], input: &[u8]) -> Result<Outcome> {
        let ask = self.lab.folder().join("ask");
        let doing = || format!("making {}", ask.display());
        std::fs::write(&ask, format!("#!/bin/sh\necho '{word}'\n")).map_err(LabError::of(doing()))?;
        let runs = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&ask, runs).map_err(LabError::of(doing()))?;
        let mut command = self.node.host().command("ssh");
        command.env("SSH_ASKPASS", &ask).env("SSH_ASKPASS_REQUIRE", "force");
        command.args(["-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]);
        command.args(["-o", "LogLevel=ERROR", "-o", "NumberOfPasswordPrompts=1"]);
        command.args(["-o", "PubkeyAuthentication=no"]).args(options);
        command.args(["-p", PORT, &format!("{user}@{ADDRESS}"), "-s", "netconf"]);
        run_with_input(command, input)
    }
}

/// Runs one of the checks of `conformance/clients/ncclient_checks.py` on `host` against the daemon at `address`.
pub fn ncclient(host: &Namespace, address: &str, key: &AdministratorKey, check: &str) -> Result<()> {
    let script = repository_root().join("conformance/clients/ncclient_checks.py").display().to_string();
    let key = key.private.display().to_string();
    host.run(&python(), &[&script, address, PORT, AdministratorKey::USER, &key, check]).map(drop)
}
