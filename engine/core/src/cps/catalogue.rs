//! The service catalogue: which service a request means, and which instances serve it (CP-4, CP-36).

use super::config::{InstanceConfig, Policy, Precedence, ServiceConfig};
use super::nodes::{DeliveryStatus, NodeIx};
use super::services::Services;
use cats_engine_types::{
    Constraints, CsId, CsciId, Family, Locator, RequestFailure, ServiceAddress, ServiceMatch, TenantId,
};
use cats_yang_tree::map::Difference;
use rustc_hash::FxHashMap;
use std::net::IpAddr;

/// All services.
#[derive(Debug, Default)]
pub struct Catalogue {
    services: FxHashMap<CsId, Service>,
    by_match: FxHashMap<(IpAddr, u8, u16), CsId>,
    /// How many instances are behind each egress.
    egresses: FxHashMap<NodeIx, usize>,
}

/// A service.
#[derive(Debug)]
pub struct Service {
    /// Its identity.
    pub cs_id: CsId,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Whether new flows are steered.
    pub enabled: bool,
    /// What its traffic looks like.
    pub matches: Vec<ServiceMatch>,
    /// Tenants that may use it; empty: all.
    pub tenants: Vec<TenantId>,
    /// What holds when a request to one of its addresses carries another CS-ID.
    pub precedence: Precedence,
    /// What holds for each request.
    pub constraints: Constraints,
    /// How candidates rank.
    pub policy: Policy,
    /// Its instances, ordered by CSCI-ID.
    pub instances: Vec<Instance>,
}

/// An instance of a service.
#[derive(Debug, Clone)]
pub struct Instance {
    /// Its identity.
    pub csci_id: CsciId,
    /// Whether it takes new flows.
    pub enabled: bool,
    /// Where IPv4 flows reach it, and whether the egress delivers there.
    pub v4: Option<(Locator, DeliveryStatus)>,
    /// Where IPv6 flows reach it, and whether the egress delivers there.
    pub v6: Option<(Locator, DeliveryStatus)>,
    pub(super) egress: NodeIx,
}

impl Instance {
    pub(super) fn new(config: &InstanceConfig, egress: NodeIx) -> Self {
        let at = |locator: Option<Locator>| locator.map(|locator| (locator, DeliveryStatus::Detached));
        Self {
            csci_id: config.csci_id,
            enabled: config.enabled,
            v4: at(config.v4),
            v6: at(config.v6),
            egress,
        }
    }

    /// Where flows of the family reach it, and whether the egress delivers there.
    pub fn locator(&self, family: Family) -> Option<(Locator, DeliveryStatus)> {
        match family {
            Family::V4 => self.v4,
            Family::V6 => self.v6,
        }
    }
}

impl Service {
    /// Whether a tenant may use it.
    pub(super) fn admits(&self, tenant: TenantId) -> Result<(), RequestFailure> {
        if self.tenants.is_empty() || self.tenants.contains(&tenant) {
            return Ok(());
        }
        let reason = format!("tenant {} may not use service {}", tenant.0, self.cs_id);
        Err(RequestFailure::Unauthorised(reason))
    }

    /// The instance with this identity.
    pub fn instance(&self, csci_id: CsciId) -> Option<&Instance> {
        let at = self.instances.binary_search_by_key(&csci_id, |instance| instance.csci_id).ok()?;
        self.instances.get(at)
    }
}

impl Catalogue {
    /// Follows from `old` to `new`; the services that are new or other than before.
    pub(super) fn follow(
        &mut self,
        old: &Services,
        new: &Services,
        mut node: impl FnMut(&InstanceConfig) -> NodeIx,
    ) -> Vec<CsId> {
        let mut changed = Vec::new();
        for difference in old.diff(new) {
            match difference {
                Difference::Removed(cs_id, _) => self.remove(*cs_id),
                Difference::Added(cs_id, config) => changed.push((*cs_id, config)),
                Difference::Changed(cs_id, _, config) => {
                    self.remove(*cs_id);
                    changed.push((*cs_id, config));
                }
            }
        }
        // What is taken out may have stood where another one comes.
        changed.iter().for_each(|(_, config)| self.insert(config, &mut node));
        changed.into_iter().map(|(cs_id, _)| cs_id).collect()
    }

    fn insert(&mut self, config: &ServiceConfig, node: &mut impl FnMut(&InstanceConfig) -> NodeIx) {
        let mut instances: Vec<Instance> =
            config.instances.iter().map(|instance| Instance::new(instance, node(instance))).collect();
        instances.sort_by_key(|instance| instance.csci_id);
        for instance in &instances {
            *self.egresses.entry(instance.egress).or_default() += 1;
        }
        let service = Service {
            cs_id: config.cs_id,
            name: config.name.clone(),
            enabled: config.enabled,
            matches: config.matches.clone(),
            tenants: config.tenants.clone(),
            precedence: config.precedence,
            constraints: config.constraints,
            policy: config.policy,
            instances,
        };
        // A service that is not enabled neither takes requests nor stands in another one's way.
        if service.enabled {
            for entry in &service.matches {
                self.by_match.insert(match_key(entry), service.cs_id);
            }
        }
        self.services.insert(service.cs_id, service);
    }

    fn remove(&mut self, cs_id: CsId) {
        let Some(service) = self.services.remove(&cs_id) else { return };
        for entry in &service.matches {
            let key = match_key(entry);
            if self.by_match.get(&key) == Some(&cs_id) {
                self.by_match.remove(&key);
            }
        }
        for instance in &service.instances {
            if let Some(count) = self.egresses.get_mut(&instance.egress) {
                *count -= 1;
                if *count == 0 {
                    self.egresses.remove(&instance.egress);
                }
            }
        }
    }

    /// The nodes that are the egress of some instance.
    pub(super) fn egresses(&self) -> impl Iterator<Item = NodeIx> {
        self.egresses.keys().copied()
    }

    /// The service with this identity.
    pub fn service(&self, cs_id: CsId) -> Option<&Service> {
        self.services.get(&cs_id)
    }

    pub(super) fn instances_mut(&mut self) -> impl Iterator<Item = &mut Instance> {
        self.services.values_mut().flat_map(|service| service.instances.iter_mut())
    }

    pub(super) fn instances_of_mut(&mut self, cs_id: CsId) -> impl Iterator<Item = &mut Instance> {
        self.services.get_mut(&cs_id).into_iter().flat_map(|service| service.instances.iter_mut())
    }

    /// The service that a destination names; never more than one, since overlapping services are no valid
    /// configuration.
    pub fn by_destination(&self, destination: &ServiceAddress) -> Option<&Service> {
        let (protocol, port) = (destination.protocol.0, destination.port);
        [(protocol, port), (protocol, 0), (0, port), (0, 0)]
            .into_iter()
            .find_map(|(protocol, port)| self.by_match.get(&(destination.address, protocol, port)))
            .and_then(|cs_id| self.services.get(cs_id))
    }

    /// The service that a request means: by its destination, by its own CS-ID, or by both where they agree or a
    /// precedence is configured.
    pub fn resolve(
        &self,
        destination: &ServiceAddress,
        explicit: Option<CsId>,
    ) -> Result<&Service, RequestFailure> {
        let by_destination = self.by_destination(destination);
        let Some(explicit) = explicit else {
            return by_destination.ok_or(RequestFailure::UnknownService);
        };
        let by_id = self.service(explicit).filter(|service| service.enabled);
        match by_destination {
            None => by_id.ok_or(RequestFailure::UnknownService),
            Some(service) if service.cs_id == explicit => Ok(service),
            Some(service) => match service.precedence {
                Precedence::Reject => {
                    Err(RequestFailure::IdentityConflict { destination: service.cs_id, explicit })
                }
                Precedence::CsId => by_id.ok_or(RequestFailure::UnknownService),
                Precedence::Destination => Ok(service),
            },
        }
    }
}

/// Protocol 0 and port 0 stand for all: no flow has them.
fn match_key(entry: &ServiceMatch) -> (IpAddr, u8, u16) {
    (entry.address, entry.protocol.map_or(0, |protocol| protocol.0), entry.port.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cps::nodes::Nodes;
    use cats_engine_types::Protocol;

    fn service(number: u32, address: [u8; 4], egresses: &[&str]) -> ServiceConfig {
        let instance = |(at, egress): (u32, &&str)| InstanceConfig {
            csci_id: CsciId::number(at).unwrap(),
            enabled: true,
            egress: egress.parse().unwrap(),
            v4: None,
            v6: None,
        };
        ServiceConfig {
            cs_id: CsId::number(number).unwrap(),
            name: None,
            enabled: true,
            matches: vec![ServiceMatch { address: address.into(), protocol: None, port: Some(80) }],
            tenants: Vec::new(),
            precedence: Precedence::Reject,
            constraints: Constraints::default(),
            policy: Policy::default(),
            instances: (1..).zip(egresses).map(instance).collect(),
        }
    }

    #[test]
    fn a_catalogue_that_follows_a_change_is_the_one_of_the_new_configuration() {
        let (here, there) = ([192, 0, 2, 1], [192, 0, 2, 2]);
        let steps = [
            vec![service(1, here, &["A", "A", "B"]), service(2, there, &["C"])],
            // The addresses change hands.
            vec![service(1, there, &["A"]), service(2, here, &["C", "B"])],
            vec![service(2, here, &["C"])],
            vec![service(1, here, &[]), service(3, there, &["B"])],
            vec![],
        ];
        let mut nodes = Nodes::default();
        let (mut catalogue, mut before) = (Catalogue::default(), Services::default());
        for step in steps {
            let after: Services = step.iter().cloned().collect();
            catalogue.follow(&before, &after, |instance| nodes.intern(&instance.egress));
            let mut whole = Catalogue::default();
            whole.follow(&Services::default(), &after, |instance| nodes.intern(&instance.egress));
            for address in [here, there] {
                let destination =
                    ServiceAddress { address: address.into(), protocol: Protocol::TCP, port: 80 };
                let of = |catalogue: &Catalogue| {
                    catalogue.by_destination(&destination).map(|service| service.cs_id)
                };
                assert_eq!(of(&catalogue), of(&whole));
                let configured =
                    step.iter().find(|service| service.matches[0].address == destination.address);
                assert_eq!(of(&catalogue), configured.map(|service| service.cs_id));
            }
            assert_eq!(catalogue.egresses, whole.egresses);
            before = after;
        }
        assert!(catalogue.egresses.is_empty() && catalogue.services.is_empty());
    }
}
