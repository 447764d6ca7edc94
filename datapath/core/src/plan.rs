//! What the configuration needs in the routing tables, and the difference to what is there.

use crate::{BackendError, ForwarderConfig, IngressConfig, Sids};
use cats_engine_types::{Encapsulation, Family};
use ipnet::IpNet;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};

/// The routing tables that static routes of ours are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// The table that all packets use.
    Main,
    /// Return traffic of instances, by client prefix.
    Owners,
    /// Decapsulated traffic to instances whose next hop or interface is configured.
    Deliveries,
}

/// Which route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RouteKey {
    /// Its table.
    pub table: Table,
    /// Its destination.
    pub destination: IpNet,
}

/// What a route does.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RouteAction {
    /// Encapsulates towards the owning ingress.
    Encapsulate(Encapsulation),
    /// Leaves the decision to the next table: the client enters here.
    Throw,
    /// Decapsulates (End.DX4 or End.DX6) and looks the inner destination up.
    Decapsulate(Family),
    /// To a configured next hop or interface.
    Via {
        /// Next hop.
        next_hop: Option<IpAddr>,
        /// Interface.
        interface: Option<String>,
    },
    /// Makes the node answer ARP for the address; nothing is ever sent along it.
    OnLink,
}

/// An address that is answered for on an interface.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProxyAddress {
    /// The access interface.
    pub interface: String,
    /// The service address.
    pub address: IpAddr,
}

/// Static objects of the routing tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Objects {
    /// Routes.
    pub routes: BTreeMap<RouteKey, RouteAction>,
    /// Proxy neighbours.
    pub proxies: BTreeSet<ProxyAddress>,
}

/// What leads from one state to another. Removals come first where the kernel would refuse otherwise; a
/// changed route is replaced, never absent in between.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// New and changed routes.
    pub set_routes: Vec<(RouteKey, RouteAction)>,
    /// Routes to remove.
    pub remove_routes: Vec<RouteKey>,
    /// New proxy neighbours.
    pub add_proxies: Vec<ProxyAddress>,
    /// Proxy neighbours to remove.
    pub remove_proxies: Vec<ProxyAddress>,
}

impl Objects {
    /// What a configuration needs.
    pub fn desired(config: &ForwarderConfig) -> Self {
        let mut objects = Self::default();
        if let Some(ingress) = &config.ingress {
            objects.add_sids(&ingress.return_sids);
            objects.add_on_link(ingress);
        }
        if let Some(egress) = &config.egress {
            objects.add_sids(&egress.sids);
            for delivery in &egress.deliveries {
                if delivery.next_hop.is_some() || delivery.interface.is_some() {
                    let key =
                        RouteKey { table: Table::Deliveries, destination: delivery.locator.address.into() };
                    let (next_hop, interface) = (delivery.next_hop, delivery.interface.clone());
                    objects.routes.insert(key, RouteAction::Via { next_hop, interface });
                }
            }
            for (prefix, encapsulation) in &egress.owners {
                let action = match encapsulation {
                    Encapsulation::None => RouteAction::Throw,
                    Encapsulation::Srv6 { .. } => RouteAction::Encapsulate(encapsulation.clone()),
                };
                objects.routes.insert(RouteKey { table: Table::Owners, destination: prefix.trunc() }, action);
            }
        }
        objects
    }

    fn add_sids(&mut self, sids: &Sids) {
        for (family, sid) in [(Family::V4, sids.v4), (Family::V6, sids.v6)] {
            if let Some(sid) = sid {
                let key = RouteKey { table: Table::Main, destination: IpAddr::V6(sid).into() };
                self.routes.insert(key, RouteAction::Decapsulate(family));
            }
        }
    }

    fn add_on_link(&mut self, ingress: &IngressConfig) {
        for &address in &ingress.on_link {
            if address.is_ipv4() {
                let key = RouteKey { table: Table::Main, destination: address.into() };
                self.routes.insert(key, RouteAction::OnLink);
            }
            for access in &ingress.access {
                self.proxies.insert(ProxyAddress { interface: access.name.clone(), address });
            }
        }
    }
}

impl Plan {
    /// What leads from `actual` to `desired`.
    pub fn between(actual: &Objects, desired: &Objects) -> Self {
        let changed = |(key, action): &(&RouteKey, &RouteAction)| actual.routes.get(key) != Some(action);
        let set = desired.routes.iter().filter(changed);
        let remove = actual.routes.keys().filter(|key| !desired.routes.contains_key(key));
        Self {
            set_routes: set.map(|(key, action)| (*key, action.clone())).collect(),
            remove_routes: remove.copied().collect(),
            add_proxies: desired.proxies.difference(&actual.proxies).cloned().collect(),
            remove_proxies: actual.proxies.difference(&desired.proxies).cloned().collect(),
        }
    }

    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What no data plane can realise, with the remedy.
pub fn check_config(config: &ForwarderConfig) -> Result<(), BackendError> {
    let refuse = |reason: String| Err(BackendError::Unrealisable(reason));
    let mut inner = BTreeMap::<Ipv6Addr, Family>::new();
    let ingress_sids = config.ingress.as_ref().map(|ingress| ingress.return_sids);
    let egress_sids = config.egress.as_ref().map(|egress| egress.sids);
    for sids in [ingress_sids, egress_sids].into_iter().flatten() {
        for (family, sid) in [(Family::V4, sids.v4), (Family::V6, sids.v6)] {
            let Some(sid) = sid else { continue };
            if *inner.entry(sid).or_insert(family) != family {
                return refuse(format!("SID {sid} is configured for IPv4 and for IPv6; use one for each"));
            }
        }
    }
    if let Some(ingress) = &config.ingress {
        if let Some(access) = ingress.access.iter().find(|access| !valid_name(&access.name)) {
            return refuse(format!(
                "`{}` is no interface name: 1 to 15 octets without / or space",
                access.name
            ));
        }
        if !ingress.on_link.is_empty() && ingress.access.is_empty() {
            return refuse("on-link service addresses need an access interface to be answered on".to_owned());
        }
        if ingress.flow_limit == 0 || ingress.pending.flows == 0 || ingress.pending.packets_per_flow == 0 {
            return refuse(
                "a limit of 0 admits no flow; use at least 1, or leave the ingress out".to_owned(),
            );
        }
    }
    for delivery in config.egress.iter().flat_map(|egress| &egress.deliveries) {
        if let Some(hop) = delivery.next_hop
            && hop.is_ipv4() != delivery.locator.address.is_ipv4()
        {
            return refuse(format!("next hop {hop} of {} is of another address family", delivery.locator));
        }
    }
    Ok(())
}

fn valid_name(name: &str) -> bool {
    (1..=15).contains(&name.len()) && !name.contains(|c: char| c == '/' || c == '\0' || c.is_whitespace())
}
