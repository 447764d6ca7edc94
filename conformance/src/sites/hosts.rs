//! The hosts and links of the three sites.

use crate::Result;
use crate::lab::Lab;
use crate::layout::{CLIENT, EGRESS_A, EGRESS_B, INGRESS, Place, SELECTOR, TRANSIT_SEGMENT, link, locator};
use crate::namespace::{Namespace, join};
use std::sync::Arc;

/// An instance of the service.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The instance's name.
    pub name: &'static str,
    /// Its address.
    pub address: &'static str,
    /// Its router, which is the egress.
    pub gateway: &'static str,
}

/// A, B and C.
pub const INSTANCES: [Site; 3] = [
    Site { name: "A", address: "198.51.100.11", gateway: "198.51.100.1" },
    Site { name: "B", address: "198.51.100.21", gateway: "198.51.100.17" },
    Site { name: "C", address: "198.51.100.35", gateway: "198.51.100.33" },
];

/// EF-1 to EF-3.
pub const EGRESSES: [Place; 3] = [
    EGRESS_A,
    EGRESS_B,
    Place {
        name: "EF-3",
        management: "203.0.113.5",
        underlay: "2001:db8:e3::1",
        segment_v4: "2001:db8:e3::d4",
        segment_v6: "2001:db8:e3::d6",
    },
];

const fn agent(name: &'static str, management: &'static str) -> Place {
    Place { name, management, underlay: "", segment_v4: "", segment_v6: "" }
}

/// C-SMA-1 to C-SMA-3, which forward nothing.
pub const AGENTS: [Place; 3] =
    [agent("C-SMA-1", "203.0.113.11"), agent("C-SMA-2", "203.0.113.12"), agent("C-SMA-3", "203.0.113.13")];

/// The CSCI-ID of the instance that an agent is told of first: 1000, 2000, 3000.
pub(super) fn csci_id(agent: Place) -> u32 {
    let digit = agent.name.chars().last().and_then(|last| last.to_digit(10));
    digit.unwrap_or_default() * 1000
}

/// The namespaces.
#[derive(Debug)]
pub struct Hosts {
    /// The client.
    pub client: Namespace,
    /// IF-1.
    pub ingress: Arc<Namespace>,
    /// T.
    pub transit: Namespace,
    /// EF-1 to EF-3.
    pub egresses: Vec<Arc<Namespace>>,
    /// A, B and C.
    pub instances: Vec<Namespace>,
    /// C-PS-1.
    pub selector: Arc<Namespace>,
    /// C-SMA-1 to C-SMA-3.
    pub agents: Vec<Arc<Namespace>>,
    management: Namespace,
}

impl Hosts {
    pub(super) fn create(lab: &Lab) -> Result<Hosts> {
        let many = |names: [&str; 3]| names.iter().map(|name| lab.host(name)).collect::<Result<Vec<_>>>();
        let hosts = Hosts {
            client: lab.host("client")?,
            ingress: Arc::new(lab.host("if-1")?),
            transit: lab.host("t")?,
            egresses: many(["ef-1", "ef-2", "ef-3"])?.into_iter().map(Arc::new).collect(),
            instances: many(["a", "b", "c"])?,
            selector: Arc::new(lab.host("c-ps-1")?),
            agents: many(["sma-1", "sma-2", "sma-3"])?.into_iter().map(Arc::new).collect(),
            management: lab.host("mgmt")?,
        };
        hosts.edges()?;
        hosts.core()?;
        hosts.management()?;
        Ok(hosts)
    }

    fn edges(&self) -> Result<()> {
        self.ingress.make_router()?;
        self.transit.make_router()?;
        join((&self.client, link::HOST), (&self.ingress, link::ACCESS), 1500)?;
        self.client.add_addresses(link::HOST, &[&format!("{}/24", CLIENT[0])])?;
        self.ingress.add_addresses(link::ACCESS, &["192.0.2.1/24"])?;
        host_settings(&self.client, "192.0.2.1")?;
        for ((egress, instance), site) in self.egresses.iter().zip(&self.instances).zip(INSTANCES) {
            egress.make_router()?;
            join((egress, link::SITE_A), (instance, link::HOST), 1500)?;
            egress.add_addresses(link::SITE_A, &[&format!("{}/28", site.gateway)])?;
            instance.add_addresses(link::HOST, &[&format!("{}/28", site.address)])?;
            host_settings(instance, site.gateway)?;
        }
        Ok(())
    }

    /// The transit node, its segment, and each forwarder's way to the others' segments.
    fn core(&self) -> Result<()> {
        let egresses = self.egresses.iter().zip(EGRESSES);
        for (index, (host, place)) in [(&self.ingress, INGRESS)].into_iter().chain(egresses).enumerate() {
            let port = format!("to-{index}");
            join((&self.transit, &port), (host, link::CORE), 1500)?;
            let (theirs, ours) = (format!("2001:db8:0:{index}::2"), format!("2001:db8:0:{index}::1"));
            self.transit.add_addresses(&port, &[&format!("{ours}/64")])?;
            host.add_addresses(link::CORE, &[&format!("{theirs}/64")])?;
            host.add_addresses("lo", &[&format!("{}/128", place.underlay)])?;
            host.ip(&["-6", "route", "add", "2001:db8::/32", "via", &ours, "dev", link::CORE])?;
            self.transit.ip(&["-6", "route", "add", &locator(place), "via", &theirs, "dev", &port])?;
        }
        let segment = ["encap", "seg6local", "action", "End", "dev", "to-0"];
        self.transit.ip(&[&["-6", "route", "add", TRANSIT_SEGMENT], segment.as_slice()].concat()).map(drop)
    }

    fn management(&self) -> Result<()> {
        let network = &self.management;
        network.ip(&["link", "add", "br0", "type", "bridge"])?;
        network.ip(&["link", "set", "br0", "up"])?;
        let others = [(&self.selector, SELECTOR), (&self.ingress, INGRESS)];
        let egresses = self.egresses.iter().zip(EGRESSES);
        let agents = self.agents.iter().zip(AGENTS);
        for (host, place) in others.into_iter().chain(egresses).chain(agents) {
            let port = port(place);
            join((network, &port), (host, link::MANAGEMENT), 1500)?;
            network.ip(&["link", "set", &port, "master", "br0"])?;
            host.add_addresses(link::MANAGEMENT, &[&format!("{}/24", place.management)])?;
        }
        Ok(())
    }

    /// Takes a node off the management network, as when its cable is pulled at the other end, or puts it back.
    pub fn plug(&self, place: Place, plugged: bool) -> Result<()> {
        let state = if plugged { "up" } else { "down" };
        self.management.ip(&["link", "set", &port(place), state]).map(drop)
    }

    /// Has what an agent and the path selector send to each other dropped where it arrives, or taken again.
    pub fn silence(&self, agent: Place, silent: bool) -> Result<()> {
        let table = format!("silent-{}", port(agent));
        let own = self.agents.iter().zip(AGENTS).find(|(_, place)| *place == agent).map(|(host, _)| host);
        let ends = own.map(|host| (host, SELECTOR)).into_iter().chain([(&self.selector, agent)]);
        for (host, peer) in ends {
            if !silent {
                host.run("nft", &["delete", "table", "inet", &table])?;
                continue;
            }
            let hook = "type filter hook input priority 0;";
            let rules = format!(
                "table inet {table} {{\nchain input {{\n{hook}\nip saddr {} drop\n}}\n}}\n",
                peer.management
            );
            host.run("nft", &[&rules])?;
        }
        Ok(())
    }
}

/// The port of a node on the management network.
fn port(place: Place) -> String {
    place.name.to_lowercase()
}

fn host_settings(host: &Namespace, gateway: &str) -> Result<()> {
    host.ip(&["route", "add", "default", "via", gateway])?;
    host.run("ethtool", &["-K", link::HOST, "tx", "off"]).map(drop)
}
