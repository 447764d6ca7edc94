//! What a forwarder is configured to do: plain data, filled by the daemon.

use cats_engine_types::{CsId, CsciId, Encapsulation, Locator, NodeId, Protocol, ServiceAddress, TenantId};
use ipnet::IpNet;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// The configuration of one forwarder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwarderConfig {
    /// This node.
    pub node: NodeId,
    /// Source of the outer header (`ip sr tunsrc`), an address of this node; without it the kernel searches
    /// one for each packet, and packet-too-big messages of the underlay do not reach us.
    pub underlay_source: Option<Ipv6Addr>,
    /// The ingress role, if the node has it.
    pub ingress: Option<IngressConfig>,
    /// The egress role, if the node has it.
    pub egress: Option<EgressConfig>,
}

/// The ingress role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngressConfig {
    /// Where clients attach. Only packets that arrive here open flows; empty: on every interface.
    pub access: Vec<AccessInterface>,
    /// Service addresses and the service that each names (CP-36).
    pub services: BTreeMap<ServiceAddress, CsId>,
    /// Services that take no new flow at an address that `services` gives to another one. Their established
    /// flows stay (CP-17).
    pub standing: BTreeSet<(ServiceAddress, CsId)>,
    /// Service addresses that clients expect on their own link: ARP and neighbour solicitations for them
    /// are answered on the access interfaces.
    pub on_link: BTreeSet<IpAddr>,
    /// Bounds of the pending table.
    pub pending: PendingLimits,
    /// From the first packet to the commit; then the held packets are dropped. Default 1 s.
    pub hold: Duration,
    /// Bindings and pending flows together, at most.
    pub flow_limit: u32,
    /// How often flows that may be idle are looked at: the coarseness of the idle expiry.
    pub idle_poll: Duration,
    /// SIDs that decapsulate return traffic here.
    pub return_sids: Sids,
    /// Count packets and octets for each flow. Costs a cache line a packet and an allocation for each CPU
    /// at install; off, the counters of a removed binding are 0.
    pub flow_counters: bool,
}

impl IngressConfig {
    /// Whether an established flow to the address is one of the service's.
    pub(crate) fn keeps(&self, address: ServiceAddress, service: CsId) -> bool {
        self.services.get(&address) == Some(&service) || self.standing.contains(&(address, service))
    }

    /// An ingress without services, with every limit at its default.
    pub fn new() -> Self {
        Self {
            access: Vec::new(),
            services: BTreeMap::new(),
            standing: BTreeSet::new(),
            on_link: BTreeSet::new(),
            pending: PendingLimits::default(),
            hold: Duration::from_secs(1),
            flow_limit: 1 << 20,
            idle_poll: Duration::from_secs(1),
            return_sids: Sids::default(),
            flow_counters: false,
        }
    }
}

impl Default for IngressConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// An interface where clients attach.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccessInterface {
    /// Its name, at most 15 octets.
    pub name: String,
    /// Tenant of whatever arrives there.
    pub tenant: TenantId,
}

/// Bounds of the pending table. At a bound the packet is dropped and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingLimits {
    /// Packets held for one flow.
    pub packets_per_flow: u32,
    /// Octets held for one flow.
    pub octets_per_flow: u32,
    /// Octets held in all; the kernel's queue is bounded accordingly.
    pub octets_total: u32,
    /// Flows that wait at the same time.
    pub flows: u32,
}

impl Default for PendingLimits {
    fn default() -> Self {
        Self { packets_per_flow: 64, octets_per_flow: 128 * 1024, octets_total: 16 << 20, flows: 1 << 16 }
    }
}

/// SIDs that decapsulate, one for each family of the inner packet: End.DX4 and End.DX6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Sids {
    pub v4: Option<Ipv6Addr>,
    pub v6: Option<Ipv6Addr>,
}

/// The egress role.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EgressConfig {
    /// SIDs that decapsulate traffic for instances here.
    pub sids: Sids,
    /// What decapsulated packets may be delivered to; all others are dropped and counted (CP-16, CP-20).
    pub deliveries: Vec<DeliveryConfig>,
    /// Where return traffic goes, by client prefix; the longest match wins. Without a match: plain routing.
    pub owners: BTreeMap<IpNet, Encapsulation>,
}

/// A provisioned delivery.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeliveryConfig {
    /// The instance.
    pub csci_id: CsciId,
    /// Where it is reached. Without a port every port of the address is delivered to.
    pub locator: Locator,
    /// Restricts the delivery to one protocol.
    pub protocol: Option<Protocol>,
    /// Next hop, where plain routing shall not decide; of the locator's family.
    pub next_hop: Option<IpAddr>,
    /// Interface, where plain routing shall not decide.
    pub interface: Option<String>,
}
