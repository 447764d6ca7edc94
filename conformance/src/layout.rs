//! The hosts and links of the example in section 14 of the control-plane document, and of its variant with all
//! roles in one node: namespaces, addresses and the underlay's routes. It never configures a daemon.
//!
//! ```text
//!            access        core                    core      site
//!   client ──────── IF-1 ──────── T (transit) ┬─────────── EF-1 ──── A 198.51.100.11
//! 192.0.2.10    192.0.2.1                     └─────────── EF-2 ──── B 198.51.100.21
//!                    └─ C-PS-1, IF-1, EF-1, EF-2 on a management network ─┘
//! ```

use crate::Result;
use crate::lab::Lab;
use crate::namespace::{Namespace, join};
use std::sync::Arc;

/// The client's addresses.
pub const CLIENT: [&str; 2] = ["192.0.2.10", "2001:db8:100::10"];
/// The service's addresses, on the client's link.
pub const SERVICE: [&str; 2] = ["192.0.2.100", "2001:db8:100::100"];
/// Instance A's addresses, behind EF-1.
pub const INSTANCE_A: [&str; 2] = ["198.51.100.11", "2001:db8:a::11"];
/// Instance B's addresses, behind EF-2.
pub const INSTANCE_B: [&str; 2] = ["198.51.100.21", "2001:db8:b::21"];
/// The client's networks.
pub const CLIENT_NETWORK: [&str; 2] = ["192.0.2.0/24", "2001:db8:100::/64"];
/// The transit node's segment (End).
pub const TRANSIT_SEGMENT: &str = "2001:db8:70::e";

/// What a CATS node of the layout is called and where it stands in the underlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its name, as in its certificate.
    pub name: &'static str,
    /// Its address on the management network, without prefix length.
    pub management: &'static str,
    /// Its outer source address; its locator is the /48 around it.
    pub underlay: &'static str,
    /// Its segment for IPv4 (End.DX4).
    pub segment_v4: &'static str,
    /// Its segment for IPv6 (End.DX6).
    pub segment_v6: &'static str,
}

/// The path selector, which forwards nothing.
pub const SELECTOR: Place =
    Place { name: "C-PS-1", management: "203.0.113.1", underlay: "", segment_v4: "", segment_v6: "" };
/// The ingress.
pub const INGRESS: Place = Place {
    name: "IF-1",
    management: "203.0.113.2",
    underlay: "2001:db8:f1::1",
    segment_v4: "2001:db8:f1::d4",
    segment_v6: "2001:db8:f1::d6",
};
/// The egress of instance A.
pub const EGRESS_A: Place = Place {
    name: "EF-1",
    management: "203.0.113.3",
    underlay: "2001:db8:e1::1",
    segment_v4: "2001:db8:e1::d4",
    segment_v6: "2001:db8:e1::d6",
};
/// The egress of instance B.
pub const EGRESS_B: Place = Place {
    name: "EF-2",
    management: "203.0.113.4",
    underlay: "2001:db8:e2::1",
    segment_v4: "2001:db8:e2::d4",
    segment_v6: "2001:db8:e2::d6",
};
/// The node that has all roles.
pub const ALL_IN_ONE: Place = Place {
    name: "ALL-1",
    management: "203.0.113.9",
    underlay: "2001:db8:f9::1",
    segment_v4: "2001:db8:f9::d4",
    segment_v6: "2001:db8:f9::d6",
};

/// The names of the links, in every node alike.
pub mod link {
    /// The only link of a client or an instance.
    pub const HOST: &str = "eth0";
    /// Towards the client.
    pub const ACCESS: &str = "access0";
    /// Towards the transit node.
    pub const CORE: &str = "core0";
    /// Towards instance A (or the only instance of an egress).
    pub const SITE_A: &str = "site0";
    /// Towards instance B of the node that has all roles.
    pub const SITE_B: &str = "site1";
    /// The management network.
    pub const MANAGEMENT: &str = "mgmt0";
    /// The transit node's links.
    pub const TRANSIT: [&str; 3] = ["to-if1", "to-ef1", "to-ef2"];
}

/// What the links carry.
#[derive(Clone, Copy, Debug)]
pub struct Links {
    /// The MTU of the client's and the instances' links, in octets.
    pub edge: u16,
    /// The MTU of the links between CATS nodes, in octets.
    pub core: u16,
    /// Whether client and instances leave checksums and segmentation to the links, as hosts do. Captures then show
    /// checksums that nobody has worked out yet, and packets larger than any link carries.
    pub offload: bool,
}

impl Default for Links {
    /// 1500 everywhere: full-size packets of a client do not fit once they are encapsulated. No offload, so that
    /// captures show what a wire would.
    fn default() -> Links {
        Links { edge: 1500, core: 1500, offload: false }
    }
}

/// The hosts of section 14.
#[derive(Debug)]
pub struct Section14 {
    /// The client.
    pub client: Namespace,
    /// IF-1.
    pub ingress: Arc<Namespace>,
    /// The transit node T.
    pub transit: Namespace,
    /// EF-1 and EF-2.
    pub egresses: [Arc<Namespace>; 2],
    /// A and B.
    pub instances: [Namespace; 2],
    /// C-PS-1.
    pub selector: Arc<Namespace>,
    _management: Namespace,
}

impl Section14 {
    /// Lays the hosts out.
    pub fn create(lab: &Lab, links: Links) -> Result<Section14> {
        let layout = Section14 {
            client: lab.host("client")?,
            ingress: Arc::new(lab.host("if-1")?),
            transit: lab.host("t")?,
            egresses: [Arc::new(lab.host("ef-1")?), Arc::new(lab.host("ef-2")?)],
            instances: [lab.host("a")?, lab.host("b")?],
            selector: Arc::new(lab.host("c-ps-1")?),
            _management: lab.host("mgmt")?,
        };
        layout.edges(links)?;
        layout.core(links)?;
        layout.management()?;
        Ok(layout)
    }

    /// The client's side and the two sites.
    fn edges(&self, links: Links) -> Result<()> {
        self.ingress.make_router()?;
        client_link(&self.client, &self.ingress, links)?;
        for (index, (egress, instance)) in self.egresses.iter().zip(&self.instances).enumerate() {
            egress.make_router()?;
            site_link(egress, link::SITE_A, instance, index, links)?;
        }
        Ok(())
    }

    /// The transit node, its segment, and each node's way to the others' segments.
    fn core(&self, links: Links) -> Result<()> {
        self.transit.make_router()?;
        let nodes = [(&self.ingress, INGRESS), (&self.egresses[0], EGRESS_A), (&self.egresses[1], EGRESS_B)];
        for (index, ((host, place), port)) in nodes.into_iter().zip(link::TRANSIT).enumerate() {
            join((&self.transit, port), (host, link::CORE), links.core)?;
            let network = format!("2001:db8:0:{}", index + 1);
            let (theirs, ours) = (format!("{network}::2"), format!("{network}::1"));
            self.transit.add_addresses(port, &[&format!("{ours}/64")])?;
            host.add_addresses(link::CORE, &[&format!("{theirs}/64")])?;
            host.add_addresses("lo", &[&format!("{}/128", place.underlay)])?;
            host.ip(&["-6", "route", "add", "2001:db8::/32", "via", &ours, "dev", link::CORE])?;
            self.transit.ip(&["-6", "route", "add", &locator(place), "via", &theirs, "dev", port])?;
        }
        let segment = ["encap", "seg6local", "action", "End", "dev", link::TRANSIT[0]];
        self.transit.ip(&[&["-6", "route", "add", TRANSIT_SEGMENT], segment.as_slice()].concat()).map(drop)
    }

    fn management(&self) -> Result<()> {
        let network = &self._management;
        network.ip(&["link", "add", "br0", "type", "bridge"])?;
        network.ip(&["link", "set", "br0", "up"])?;
        let nodes = [
            (&self.selector, SELECTOR),
            (&self.ingress, INGRESS),
            (&self.egresses[0], EGRESS_A),
            (&self.egresses[1], EGRESS_B),
        ];
        for (index, (host, place)) in nodes.into_iter().enumerate() {
            let port = format!("port{index}");
            join((network, &port), (host, link::MANAGEMENT), 1500)?;
            network.ip(&["link", "set", &port, "master", "br0"])?;
            host.add_addresses(link::MANAGEMENT, &[&format!("{}/24", place.management)])?;
        }
        Ok(())
    }
}

/// The client, both instances and one node between them.
#[derive(Debug)]
pub struct OneNode {
    /// The client.
    pub client: Namespace,
    /// The node that has all roles.
    pub node: Arc<Namespace>,
    /// A and B.
    pub instances: [Namespace; 2],
}

impl OneNode {
    /// Lays the hosts out.
    pub fn create(lab: &Lab, links: Links) -> Result<OneNode> {
        let layout = OneNode {
            client: lab.host("client")?,
            node: Arc::new(lab.host("all-1")?),
            instances: [lab.host("a")?, lab.host("b")?],
        };
        layout.node.make_router()?;
        layout.node.add_addresses("lo", &[&format!("{}/128", ALL_IN_ONE.underlay)])?;
        client_link(&layout.client, &layout.node, links)?;
        site_link(&layout.node, link::SITE_A, &layout.instances[0], 0, links)?;
        site_link(&layout.node, link::SITE_B, &layout.instances[1], 1, links)?;
        Ok(layout)
    }
}

/// The network of a place's segments.
pub(crate) fn locator(place: Place) -> String {
    format!("{}/48", place.underlay.trim_end_matches('1'))
}

/// The client has the ingress as its router; the service's address is on the client's own link.
fn client_link(client: &Namespace, ingress: &Namespace, links: Links) -> Result<()> {
    join((client, link::HOST), (ingress, link::ACCESS), links.edge)?;
    client.add_addresses(link::HOST, &[&format!("{}/24", CLIENT[0]), &format!("{}/64", CLIENT[1])])?;
    ingress.add_addresses(link::ACCESS, &["192.0.2.1/24", "2001:db8:100::1/64"])?;
    host_settings(client, "192.0.2.1", "2001:db8:100::1", links)
}

fn site_link(egress: &Namespace, port: &str, instance: &Namespace, index: usize, links: Links) -> Result<()> {
    let (addresses, gateway, gateway6, network) = match index {
        0 => (INSTANCE_A, "198.51.100.1", "2001:db8:a::1", 28),
        _ => (INSTANCE_B, "198.51.100.17", "2001:db8:b::1", 28),
    };
    join((egress, port), (instance, link::HOST), links.edge)?;
    egress.add_addresses(port, &[&format!("{gateway}/{network}"), &format!("{gateway6}/64")])?;
    let own = [format!("{}/{network}", addresses[0]), format!("{}/64", addresses[1])];
    instance.add_addresses(link::HOST, &[&own[0], &own[1]])?;
    host_settings(instance, gateway, gateway6, links)
}

/// Default routes, and, without offload, checksums that are worked out before the packet is on the wire.
fn host_settings(host: &Namespace, gateway: &str, gateway6: &str, links: Links) -> Result<()> {
    host.ip(&["route", "add", "default", "via", gateway])?;
    host.ip(&["-6", "route", "add", "default", "via", gateway6])?;
    if !links.offload {
        host.run("ethtool", &["-K", link::HOST, "tx", "off"])?;
    }
    Ok(())
}
