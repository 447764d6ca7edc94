//! The ingress and egress roles.

use super::{Forwarding, Remote, topology};
use cats_datapath_core::{
    AccessInterface, DeliveryConfig, EgressConfig, ForwarderConfig, IngressConfig, PendingLimits, Sids,
};
use cats_engine_core::config::{CATS, Violation, node, noted};
use cats_engine_core::cps::{Admission, ServiceConfig, Services};
use cats_engine_types::{
    CsId, CsciId, Encapsulation, Locator, NodeId, Protocol, Segments, ServiceAddress, TenantId,
};
use cats_yang_model::generated::cats_forwarder as model;
use cats_yang_model::generated::ietf_cats::Cats;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

const FORWARDER: &str = "cats-forwarder:forwarder";

fn flow_limit(cats: &Cats) -> u32 {
    cats.base.flow_limits.unwrap_or_else(|| u32::try_from(Admission::default().flows).unwrap_or(u32::MAX))
}

pub(super) fn read(cats: &Cats, services: &Services, violations: &mut Vec<Violation>) -> Option<Forwarding> {
    let forwarder = &cats.forwarder;
    if forwarder.ingress.is_none() && forwarder.egress.is_none() {
        return None;
    }
    let path = |leaf: &str| format!("{CATS}/{FORWARDER}/{leaf}");
    let name = node(forwarder.node_id.as_deref().unwrap_or_default(), violations, || path("node-id"))?;
    let ingress = forwarder.ingress.as_ref();
    let config = ForwarderConfig {
        underlay_source: forwarder.underlay_source,
        ingress: ingress.map(|ingress| read_ingress(cats, ingress, services)),
        egress: forwarder.egress.as_ref().map(|egress| read_egress(egress, &name, violations)),
        node: name,
    };
    if let Err(error) = cats_datapath_core::check_config(&config) {
        violations.push(Violation {
            path: format!("{CATS}/{FORWARDER}"),
            tag: "operation-failed".to_owned(),
            app_tag: Some("not-realisable".to_owned()),
            message: error.to_string(),
        });
    }
    let remote = forwarder.path_selector.as_ref().and_then(|selector| {
        let cps = node(&selector.node_id, violations, || path("path-selector/node-id"))?;
        Some(Remote { address: SocketAddr::new(selector.address, selector.port()), cps })
    });
    Some(Forwarding { config, max_segments: ingress.map_or(0, |ingress| ingress.max_segments()), remote })
}

fn read_ingress(cats: &Cats, ingress: &model::Ingress, services: &Services) -> IngressConfig {
    let access = |entry: &std::sync::Arc<model::AccessInterface>| AccessInterface {
        name: entry.name.clone(),
        tenant: TenantId(entry.tenant()),
    };
    // A neighbour asks only for what it takes for on-link: the answer hurts nobody else.
    let on_link =
        services.iter().flat_map(|service| &service.matches).map(|traffic| traffic.address).collect();
    let (addresses, standing) = addresses(services);
    IngressConfig {
        access: ingress.access_interface.values().map(access).collect(),
        services: addresses,
        standing,
        on_link: if ingress.access_interface.is_empty() { BTreeSet::new() } else { on_link },
        pending: PendingLimits {
            packets_per_flow: ingress.pending.flow_packets(),
            octets_per_flow: ingress.pending.flow_bytes(),
            octets_total: ingress.pending.total_bytes(),
            ..PendingLimits::default()
        },
        hold: Duration::from_millis(u64::from(ingress.pending.hold())),
        flow_limit: flow_limit(cats),
        return_sids: Sids { v4: ingress.decapsulation_sid_v4, v6: ingress.decapsulation_sid_v6 },
        ..IngressConfig::new()
    }
}

/// Who takes new flows at each address that the data plane looks for.
type Addresses = BTreeMap<ServiceAddress, CsId>;
/// Who has flows there all the same.
type Standing = BTreeSet<(ServiceAddress, CsId)>;

/// The addresses that the data plane looks for. A service without a protocol is there with both. One that is not
/// enabled has an address that no enabled one has, so that its packets come to the path selector, which refuses new
/// flows; elsewhere its established flows stand.
fn addresses(services: &Services) -> (Addresses, Standing) {
    let (mut found, mut standing) = (Addresses::new(), Standing::new());
    let (enabled, disabled): (Vec<_>, Vec<_>) = services.iter().partition(|service| service.enabled);
    for service in enabled.into_iter().chain(disabled) {
        for address in service_addresses(service) {
            match found.entry(address) {
                Entry::Vacant(entry) => drop(entry.insert(service.cs_id)),
                Entry::Occupied(entry) if *entry.get() == service.cs_id => {}
                Entry::Occupied(_) => drop(standing.insert((address, service.cs_id))),
            }
        }
    }
    (found, standing)
}

fn service_addresses(service: &ServiceConfig) -> Vec<ServiceAddress> {
    let mut found = Vec::new();
    for traffic in &service.matches {
        // A match without a port was refused by the checks.
        let Some(port) = traffic.port else { continue };
        let both = [Protocol::TCP, Protocol::UDP].into_iter();
        for protocol in both.filter(|protocol| traffic.protocol.is_none_or(|only| only == *protocol)) {
            found.push(ServiceAddress { address: traffic.address, protocol, port });
        }
    }
    found
}

fn read_egress(egress: &model::Egress, name: &NodeId, violations: &mut Vec<Violation>) -> EgressConfig {
    let deliveries = egress.delivery.values().flat_map(|entry| deliveries(entry, violations)).collect();
    let owners = egress.owner.values().filter_map(|entry| {
        let path = || format!("{CATS}/{FORWARDER}/egress/owner[client-prefix='{}']", entry.client_prefix);
        let segments = Segments::try_from(entry.segment.to_vec());
        let segments = noted(segments, violations, || format!("{}/segment", path()))?;
        let srv6 = Encapsulation::Srv6 { mode: topology::encaps(entry.encapsulation_mode()), segments };
        let own = entry.ingress == name.as_str();
        Some((entry.client_prefix, if own { Encapsulation::None } else { srv6 }))
    });
    EgressConfig {
        sids: Sids { v4: egress.decapsulation_sid_v4, v6: egress.decapsulation_sid_v6 },
        deliveries,
        owners: owners.collect(),
    }
}

fn deliveries(entry: &model::Delivery, violations: &mut Vec<Violation>) -> Vec<DeliveryConfig> {
    let path = || format!("{CATS}/{FORWARDER}/egress/delivery[csci-id='{}']/csci-id", entry.csci_id);
    let Some(csci_id) = noted(entry.csci_id.to_string().parse::<CsciId>(), violations, path) else {
        return Vec::new();
    };
    let one = |locator: &std::sync::Arc<model::Locator>| DeliveryConfig {
        csci_id,
        locator: Locator { address: locator.address, port: locator.port },
        protocol: None,
        next_hop: None,
        interface: None,
    };
    entry.locator.values().map(one).collect()
}
