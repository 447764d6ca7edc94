//! From the typed configuration to what each role of this node is to do. The parts of the path selector and the metric
//! agent, and the checks, are engine/core's; here are the forwarder, the topology, and who speaks with whom.

mod agent;
mod forwarder;
mod topology;

pub use agent::{Ask, Broker, Collection, Listener, MetricAgent, Peer, Source};
use cats_datapath_core::ForwarderConfig;
use cats_engine_core::config::{CATS, Checked, Violation, node, path_selector};
use cats_engine_core::cps::CpsConfig;
use cats_engine_transport::keys::VerifyingKey;
use cats_engine_transport::management::Fault;
use cats_engine_transport::pki::PkiFiles;
use cats_engine_types::{NodeId, Revision};
use cats_pcep_core::PceConfig;
use cats_yang_model::Config;
use cats_yang_model::generated::cats_cps::PathSelector;
use cats_yang_model::generated::cats_system::Certificates;
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// What a node is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Desired {
    /// The path selector, with its path computation.
    pub selector: Option<Selector>,
    /// The forwarder.
    pub forwarder: Option<Forwarding>,
    /// The metric agent.
    pub agent: Option<MetricAgent>,
    /// The node's certificates.
    pub pki: PkiFiles,
}

/// The path selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// The machine's configuration.
    pub cps: CpsConfig,
    /// The path computation's configuration.
    pub pce: PceConfig,
    /// Where forwarders and metric agents of other nodes connect, and the name they expect.
    pub listen: Option<(SocketAddr, NodeId)>,
    /// Which forwarders may.
    pub forwarders: BTreeSet<NodeId>,
    /// Which metric agents may.
    pub agents: BTreeSet<NodeId>,
    /// What their advertisements are verified with.
    pub keys: Vec<VerifyingKey>,
}

/// The forwarder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forwarding {
    /// The forwarder's configuration.
    pub config: ForwarderConfig,
    /// The longest segment list that it imposes.
    pub max_segments: u8,
    /// The path selector of another node; absent: the one of this node.
    pub remote: Option<Remote>,
}

/// A path selector of another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// Where.
    pub address: SocketAddr,
    /// Its name.
    pub cps: NodeId,
}

/// `new` in the place of `old`, and what it asks for; or why it cannot follow.
pub fn desired(old: &Checked, new: Config, revision: Revision) -> Result<(Checked, Desired), Vec<Fault>> {
    let faults = |violations: Vec<Violation>| violations.into_iter().map(fault).collect::<Vec<Fault>>();
    let checked = old.after(new).map_err(faults)?;
    let mut violations = Vec::new();
    let desired = read(&checked, revision, &mut violations);
    if violations.is_empty() { Ok((checked, desired)) } else { Err(faults(violations)) }
}

fn read(checked: &Checked, revision: Revision, violations: &mut Vec<Violation>) -> Desired {
    let cats = &checked.config().cats;
    let pki = certificates(&cats.system.certificates);
    if !cats.base.enable() {
        return Desired { selector: None, forwarder: None, agent: None, pki };
    }
    let services = checked.services();
    let forwarder = forwarder::read(cats, services, violations);
    let local = forwarder.as_ref().filter(|forwarder| forwarder.remote.is_none());
    let local = local.map(|forwarder| forwarder.config.node.clone());
    let mut cps = path_selector(cats, services.clone(), local, revision, violations);
    let agent = agent::read(checked, cps.as_mut(), violations);
    let selector = cps.map(|cps| Selector {
        pce: topology::read(cats, violations),
        listen: listen(&cats.path_selector, violations),
        forwarders: remote_forwarders(&cps),
        agents: remote_agents(&cps, agent.as_ref()),
        keys: agent::keys(cats),
        cps,
    });
    Desired { selector, forwarder, agent, pki }
}

/// Who may attach from another node: nobody there speaks for the forwarder of this node.
fn remote_forwarders(cps: &CpsConfig) -> BTreeSet<NodeId> {
    let names = cps.forwarders.iter().map(|forwarder| &forwarder.node);
    names.filter(|name| cps.local_forwarder.as_ref() != Some(name)).cloned().collect()
}

/// Likewise: nobody on another node speaks for the metric agent of this node.
fn remote_agents(cps: &CpsConfig, own: Option<&MetricAgent>) -> BTreeSet<NodeId> {
    let names = cps.agents.iter().map(|agent| &agent.node);
    names.filter(|name| own.is_none_or(|own| own.node() != *name)).cloned().collect()
}

fn listen(selector: &PathSelector, violations: &mut Vec<Violation>) -> Option<(SocketAddr, NodeId)> {
    let listen = selector.listen.as_ref()?;
    let path = || format!("{CATS}/cats-cps:path-selector/node-id");
    let name = node(selector.node_id.as_deref().unwrap_or_default(), violations, path)?;
    Some((SocketAddr::new(listen.address, listen.port()), name))
}

fn certificates(from: &Certificates) -> PkiFiles {
    PkiFiles {
        authority: from.authority().into(),
        certificate: from.certificate().into(),
        private_key: from.private_key().into(),
        revocation_list: from.revocation_list.as_ref().map(Into::into),
    }
}

fn fault(violation: Violation) -> Fault {
    let Violation { path, tag, app_tag, message } = violation;
    Fault { path, tag, app_tag, message }
}
