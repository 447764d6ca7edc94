//! Running deployments: the hosts of a layout with their daemons started and configured over NETCONF, and the
//! service's instances serving.

use crate::command::Background;
use crate::lab::Lab;
use crate::layout::{
    ALL_IN_ONE, EGRESS_A, EGRESS_B, INGRESS, INSTANCE_A, INSTANCE_B, Links, OneNode, Place, SELECTOR,
    SERVICE, Section14,
};
use crate::namespace::Namespace;
use crate::node::{AdministratorKey, Node};
use crate::pki::{Authority, NodeFiles};
use crate::wait::wait_for;
use crate::{Result, configuration, service};
use std::sync::Arc;

/// NETCONF's port over SSH.
const SSH_PORT: u16 = 830;

/// Section 14: C-PS-1, IF-1, EF-1 and EF-2.
#[derive(Debug)]
pub struct FourNodes {
    /// C-PS-1.
    pub selector: Node,
    /// IF-1.
    pub ingress: Node,
    /// EF-1 and EF-2.
    pub egresses: [Node; 2],
    /// The servers of A and B.
    pub servers: [Background; 2],
    /// The hosts.
    pub hosts: Section14,
    /// The key of the nodes' administrator.
    pub key: AdministratorKey,
    /// The authority that issued the nodes' certificates.
    pub authority: Authority,
    /// The lab.
    pub lab: Lab,
}

impl FourNodes {
    /// Lays out, starts and configures everything, and waits until the service answers over both families.
    pub fn start(name: &str, links: Links) -> Result<FourNodes> {
        let deployment = FourNodes::start_unconfigured(name, links)?;
        deployment.configure()?;
        until_steered(&deployment.hosts.client)?;
        Ok(deployment)
    }

    /// As [`FourNodes::start`], with all daemons running and none configured.
    pub fn start_unconfigured(name: &str, links: Links) -> Result<FourNodes> {
        let lab = Lab::create(name)?;
        let authority = Authority::create(&lab.folder().join("pki"))?;
        let key = AdministratorKey::create(&lab, "admin-key")?;
        let hosts = Section14::create(&lab, links)?;
        let node = |place: Place, host: &Arc<Namespace>| {
            let ssh = format!("{}:{SSH_PORT}", place.management);
            let mut node = Node::create(&lab, place.name, Arc::clone(host), &ssh, &key)?;
            node.start()?;
            Ok(node)
        };
        Ok(FourNodes {
            selector: node(SELECTOR, &hosts.selector)?,
            ingress: node(INGRESS, &hosts.ingress)?,
            egresses: [node(EGRESS_A, &hosts.egresses[0])?, node(EGRESS_B, &hosts.egresses[1])?],
            servers: servers(&lab, &hosts.instances)?,
            hosts,
            key: key.clone(),
            authority,
            lab,
        })
    }

    /// Issues the nodes' certificates and writes their configurations, the egresses' first.
    pub fn configure(&self) -> Result<()> {
        for (node, place) in self.egresses.iter().zip([EGRESS_A, EGRESS_B]) {
            node.configure(&configuration::egress(place, &self.certificate(place)?))?;
        }
        self.selector.configure(&configuration::selector(&self.certificate(SELECTOR)?))?;
        self.ingress.configure(&configuration::ingress(&self.certificate(INGRESS)?))
    }

    /// A certificate with the identity of a place: `cats:cps:NAME` or `cats:fwd:NAME`.
    pub fn certificate(&self, place: Place) -> Result<NodeFiles> {
        let role = if place == SELECTOR { "cps" } else { "fwd" };
        self.authority.issue(place.name, &[&format!("cats:{role}:{}", place.name)])
    }
}

/// All roles in one node.
#[derive(Debug)]
pub struct AllInOne {
    /// The node.
    pub node: Node,
    /// The servers of A and B.
    pub servers: [Background; 2],
    /// The hosts.
    pub hosts: OneNode,
    /// The lab.
    pub lab: Lab,
}

impl AllInOne {
    /// Lays out, starts and configures everything, and waits until the service answers over both families.
    pub fn start(name: &str, links: Links) -> Result<AllInOne> {
        let deployment = AllInOne::start_unconfigured(name, links)?;
        deployment.node.configure(&configuration::all_in_one())?;
        until_steered(&deployment.hosts.client)?;
        Ok(deployment)
    }

    /// As [`AllInOne::start`], with the daemons running and not configured.
    pub fn start_unconfigured(name: &str, links: Links) -> Result<AllInOne> {
        let lab = Lab::create(name)?;
        let key = AdministratorKey::create(&lab, "admin-key")?;
        let hosts = OneNode::create(&lab, links)?;
        let ssh = format!("127.0.0.1:{SSH_PORT}");
        let mut node = Node::create(&lab, ALL_IN_ONE.name, Arc::clone(&hosts.node), &ssh, &key)?;
        node.start()?;
        Ok(AllInOne { node, servers: servers(&lab, &hosts.instances)?, hosts, lab })
    }
}

fn servers(lab: &Lab, instances: &[Namespace; 2]) -> Result<[Background; 2]> {
    Ok([
        service::start_instance(lab, &instances[0], "A", &INSTANCE_A)?,
        service::start_instance(lab, &instances[1], "B", &INSTANCE_B)?,
    ])
}

/// Waits until a new flow of each family is answered: daemons attach to each other in their own time.
pub fn until_steered(client: &Namespace) -> Result<()> {
    for address in SERVICE {
        wait_for(&format!("an answer from the service {address}"), || {
            service::curl(client, address, &["--max-time", "2"]).ok()
        })?;
    }
    Ok(())
}
