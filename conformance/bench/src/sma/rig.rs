//! The metric agent that is measured, with its instances' certificates. All threads of its engine run on CPU 1, the load
//! on CPU 0.

use crate::cpu::{of_process, pin, pin_process};
use cats_conformance::configuration::{cats, system};
use cats_conformance::lab::Lab;
use cats_conformance::namespace::Namespace;
use cats_conformance::node::{AdministratorKey, Node};
use cats_conformance::pki::{Authority, NodeFiles};
use cats_conformance::wait::wait_for;
use cats_conformance::{LabError, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::runtime::Builder;

/// CPU of the load.
const CLIENT_CPU: usize = 0;
/// CPU of the servers.
pub(super) const SERVER_CPU: usize = 1;
/// Streams, each with a connection of its own.
pub(super) const STREAMS: u32 = 100;
/// Instances that report over each.
pub(super) const INSTANCES: u32 = 1000;
/// The metric agent's name.
pub(crate) const AGENT: &str = "C-SMA-1";

/// The folder, keys and certificates of all agents that are measured.
pub(super) struct Site<'l> {
    lab: &'l Lab,
    key: AdministratorKey,
    pub(super) authority: Authority,
    /// The metric agent's.
    pub(super) agent: NodeFiles,
    /// Of each stream, for its instances.
    pub(super) streams: Vec<NodeFiles>,
}

/// A running agent.
pub(crate) struct Agent {
    pub(super) node: Node,
    pub(super) host: Arc<Namespace>,
}

impl<'l> Site<'l> {
    pub(super) fn create(lab: &'l Lab, key: AdministratorKey) -> Result<Site<'l>> {
        let authority = Authority::create(&lab.folder().join("pki"))?;
        let agent = authority.issue("sma", &[&format!("cats:sma:{AGENT}")])?;
        let streams = (0..STREAMS).map(|stream| {
            let first = first_of(stream);
            let uris: Vec<String> = (first..first + INSTANCES).map(|id| format!("cats:csci:{id}")).collect();
            let uris: Vec<&str> = uris.iter().map(String::as_str).collect();
            authority.issue(&format!("sci-{stream}"), &uris)
        });
        let streams = streams.collect::<Result<Vec<_>>>()?;
        Ok(Site { lab, key, authority, agent, streams })
    }

    /// Starts an agent in a namespace of its own, without bounds on rates; `more` is further configuration of it.
    pub(super) fn start(&self, name: &str, more: &str) -> Result<Agent> {
        let host = Arc::new(self.lab.host(name)?);
        let mut node = Node::create(self.lab, name, Arc::clone(&host), "127.0.0.1:830", &self.key)?;
        node.start()?;
        configure(&node, &self.agent, more)?;
        if let Some(process) = node.engined_pid() {
            pin_process(process, SERVER_CPU).map_err(LabError::of("pinning the engine"))?;
        }
        Ok(Agent { node, host })
    }
}

/// Makes a node a metric agent without bounds on rates, and waits until it listens; `more` is further configuration of it.
pub(crate) fn configure(node: &Node, files: &NodeFiles, more: &str) -> Result<()> {
    let agent = format!(
        "<base><enable>true</enable></base>\
         <metric-agent xmlns=\"urn:catsd:yang:cats-sma\"><enabled>true</enabled><node-id>{AGENT}</node-id>\
         <collection><listen><address>127.0.0.1</address></listen></collection>\
         <rates><instance-rate>0</instance-rate><total-rate>0</total-rate></rates>{more}</metric-agent>"
    );
    node.configure(&cats(&(agent + &system(files))))?;
    let log = node.folder().join("log/engined.log");
    wait_for("the agent to listen", || {
        std::fs::read_to_string(&log).ok()?.contains("listening for contact instances").then_some(())
    })
}

/// The first CSCI-ID of a stream.
pub(super) fn first_of(stream: u32) -> u32 {
    1 + stream * INSTANCES
}

impl Agent {
    /// Where instances report.
    pub(crate) fn address() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 7444))
    }

    /// CPU time that the engine has had, ns.
    pub(super) fn cpu(&self) -> std::result::Result<u64, String> {
        of_process(self.node.engined_pid().ok_or("the engine is gone")?)
    }

    /// Runs a load to its end, in the agent's namespace and on the load's CPU.
    pub(super) fn load<T: Send>(&self, work: impl AsyncFnOnce() -> Result<T> + Send) -> Result<T> {
        let doing = "starting the load";
        self.host.enter(|| {
            pin(None, CLIENT_CPU).map_err(LabError::of(doing))?;
            let runtime = Builder::new_current_thread().enable_all().build().map_err(LabError::of(doing))?;
            runtime.block_on(work())
        })?
    }
}
