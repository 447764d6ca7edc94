//! The servers that are measured. All their threads run on CPU 1, the clients on CPU 0.

use super::endpoint::Endpoint;
use super::load;
use crate::cpu::pin_process;
use cats_conformance::lab::{Lab, repository_root};
use cats_conformance::node::{AdministratorKey, Node};
use cats_conformance::wait::wait_for;
use cats_conformance::{LabError, Result};
use std::sync::Arc;

/// CPU of the clients.
pub(super) const CLIENT_CPU: usize = 0;
/// CPU of the servers.
pub(super) const SERVER_CPU: usize = 1;

const PORT: u16 = 830;

/// A pair of our daemons, the engine connected, with the module probe-bench.
pub(super) struct Ours {
    pub(super) node: Node,
    pub(super) endpoint: Endpoint,
}

impl Ours {
    /// Starts the daemons in a namespace of their own, with further options of the management daemon.
    pub(super) fn start(lab: &Lab, key: &AdministratorKey, name: &str, options: &[&str]) -> Result<Ours> {
        let host = Arc::new(lab.host(name)?);
        let mut node = Node::create(lab, name, Arc::clone(&host), &format!("127.0.0.1:{PORT}"), key)?;
        node.load_module(model());
        for option in options {
            node.add_option(option);
        }
        node.start()?;
        let log = node.folder().join("log/mgmtd.log");
        wait_for("the engine to be connected", || {
            std::fs::read_to_string(&log).ok()?.contains("the engine is connected").then_some(())
        })?;
        for process in [node.mgmtd_pid(), node.engined_pid()].into_iter().flatten() {
            pin_process(process, SERVER_CPU).map_err(LabError::of(format!("pinning {name}")))?;
        }
        let user = AdministratorKey::USER.to_owned();
        Ok(Ours { node, endpoint: Endpoint { host, port: PORT, user, key: key.private.clone() } })
    }

    /// As [`Ours::start`], with so many list entries in running.
    pub(super) fn filled(lab: &Lab, key: &AdministratorKey, name: &str, items: usize) -> Result<Ours> {
        let ours = Ours::start(lab, key, name, &[])?;
        if items > 0 {
            ours.node.configure(&load::items(items))?;
        }
        Ok(ours)
    }

    /// A line of the management daemon's `/proc/PID/status`, such as `VmRSS`, in kB.
    pub(super) fn memory(&self, line: &str) -> Result<f64> {
        let doing = || format!("reading {line} of {}", self.node.name());
        let pid = self.node.mgmtd_pid().ok_or_else(|| LabError::new(doing(), "it does not run"))?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(LabError::of(doing()))?;
        let found = status.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(':'));
        let size = found.and_then(|found| found.split_whitespace().next()?.parse().ok());
        size.ok_or_else(|| LabError::new(doing(), "there is no such line"))
    }
}

/// The module that both servers load.
pub(super) fn model() -> std::path::PathBuf {
    repository_root().join("conformance/bench/probe-bench.yang")
}
