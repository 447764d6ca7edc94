//! Addresses, segments and ports that cannot be what they are configured as.

use super::forwarder::{FORWARDER, not_realisable};
use super::places::Places;
use super::{CATS, Violation, services};
use cats_engine_types::SpecialAddress;
use cats_yang_model::generated::cats_forwarder::{Egress, Forwarder};
use cats_yang_model::generated::cats_services::{Instance, Service};
use cats_yang_model::generated::ietf_cats::{Cats, CsId, CsciId, TrafficClassifier};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// Notes ports that no packet has.
pub(super) fn classifiers<'c>(
    classifiers: impl Iterator<Item = &'c Arc<TrafficClassifier>>,
    violations: &mut Vec<Violation>,
) {
    for classifier in classifiers {
        if classifier.server_port == Some(0) {
            let place = format!("traffic-classifiers/traffic-classifier[cs-id='{}']", classifier.cs_id);
            let message = "no packet has port 0; use 1 to 65535, or leave server-port out for all ports";
            violations.push(invalid(format!("{CATS}/{place}/server-port"), message.to_owned()));
        }
    }
}

/// Notes addresses at which one of these services, or an instance of it, cannot be reached.
pub(super) fn catalogue(
    cats: &Cats,
    services: &[&Arc<Service>],
    places: &Places,
    violations: &mut Vec<Violation>,
) {
    for service in services {
        let path = services::path(&service.cs_id);
        if let (true, Some(address)) = (service.address.is_empty(), own_address(service.cs_id)) {
            unicast(address, "service address", || format!("{path}/cs-id"), violations);
        }
        for address in service.address.iter() {
            unicast(*address, "service address", || format!("{path}/address[.='{address}']"), violations);
        }
        if cats.base.enable() && service.enabled() && addresses(service).next().is_none() {
            let message = format!(
                "service {} has no address, so that no packet is of it; add an address, or disable it",
                service.cs_id
            );
            violations.push(not_realisable(path, message));
        }
        instances(cats, service, places, violations);
    }
}

fn instances(cats: &Cats, service: &Service, places: &Places, violations: &mut Vec<Violation>) {
    let classifier = cats.traffic_classifiers.traffic_classifier.get(&service.cs_id);
    let served = classifier.and_then(|classifier| classifier.server_port);
    let mut known: BTreeMap<(IpAddr, Option<u16>), CsciId> = BTreeMap::new();
    for instance in service.instance.values() {
        let path = instance_path(service, instance);
        for locator in instance.locator.values() {
            let address = locator.address;
            let path = || format!("{path}/locator[address='{address}']");
            locate(address, places, path, violations);
            let target = (address, locator.port.or(served));
            let other = *known.entry(target).or_insert(instance.csci_id);
            if other != instance.csci_id {
                let message = format!(
                    "instances {other} and {} of service {} are both at {address} and one port; give one of them \
                     another address or port",
                    instance.csci_id, service.cs_id
                );
                violations.push(not_realisable(path(), message));
            }
        }
    }
}

fn instance_path(service: &Service, instance: &Instance) -> String {
    format!("{}/instance[csci-id='{}']", services::path(&service.cs_id), instance.csci_id)
}

/// Notes addresses and segments that this node could not use.
pub(super) fn forwarder(cats: &Cats, places: &Places, violations: &mut Vec<Violation>) {
    let forwarder = &cats.forwarder;
    let path = |leaf: &str| format!("{CATS}/{FORWARDER}/{leaf}");
    if let Some(source) = forwarder.underlay_source {
        unicast(source.into(), "source address", || path("underlay-source"), violations);
    }
    for (leaf, sid) in local_sids(forwarder) {
        segment(sid, || path(leaf), violations);
        if forwarder.underlay_source == Some(sid) {
            let message =
                format!("{sid} is the underlay-source as well; give the segment an address of its own");
            violations.push(not_realisable(path(leaf), message));
        }
    }
    if let Some(egress) = &forwarder.egress {
        deliveries(egress, places, violations);
        owners(cats, egress, violations);
    }
}

/// The segments at which this node decapsulates, with their leafs.
fn local_sids(forwarder: &Forwarder) -> impl Iterator<Item = (&'static str, Ipv6Addr)> {
    let ingress = forwarder.ingress.as_ref();
    let egress = forwarder.egress.as_ref();
    let all = [
        ("ingress/decapsulation-sid-v4", ingress.and_then(|ingress| ingress.decapsulation_sid_v4)),
        ("ingress/decapsulation-sid-v6", ingress.and_then(|ingress| ingress.decapsulation_sid_v6)),
        ("egress/decapsulation-sid-v4", egress.and_then(|egress| egress.decapsulation_sid_v4)),
        ("egress/decapsulation-sid-v6", egress.and_then(|egress| egress.decapsulation_sid_v6)),
    ];
    all.into_iter().filter_map(|(leaf, sid)| Some((leaf, sid?)))
}

/// A packet is delivered to one instance: by its address, and by its port where the locator has one.
fn deliveries(egress: &Egress, places: &Places, violations: &mut Vec<Violation>) {
    let mut known: BTreeMap<IpAddr, Vec<(CsciId, Option<u16>)>> = BTreeMap::new();
    for delivery in egress.delivery.values() {
        let id = delivery.csci_id;
        for locator in delivery.locator.values() {
            let address = locator.address;
            let path =
                || format!("{CATS}/{FORWARDER}/egress/delivery[csci-id='{id}']/locator[address='{address}']");
            locate(address, places, path, violations);
            let others = known.entry(address).or_default();
            let meets = |port: Option<u16>| port.is_none() || locator.port.is_none() || port == locator.port;
            if let Some((other, _)) = others.iter().find(|(other, port)| *other != id && meets(*port)) {
                let message = format!(
                    "{address} is delivered for instances {other} and {id}; give each its own address or port"
                );
                violations.push(not_realisable(path(), message));
            }
            others.push((id, locator.port));
        }
    }
}

fn owners(cats: &Cats, egress: &Egress, violations: &mut Vec<Violation>) {
    for owner in egress.owner.values() {
        let path = format!("{CATS}/{FORWARDER}/egress/owner[client-prefix='{}']", owner.client_prefix);
        for sid in owner.segment.iter() {
            segment(*sid, || format!("{path}/segment[.='{sid}']"), violations);
        }
    }
    if cats.base.enable() && cats.forwarder.underlay_source.is_none() && !egress.owner.is_empty() {
        let message = format!(
            "answers to owners are encapsulated, which needs a source address; set {CATS}/{FORWARDER}/underlay-source"
        );
        violations.push(not_realisable(format!("{CATS}/{FORWARDER}/egress/owner"), message));
    }
}

/// Notes segments of the topology that lead nowhere, or to two places.
pub(super) fn topology(cats: &Cats, violations: &mut Vec<Violation>) {
    let mut known: BTreeMap<Ipv6Addr, String> = BTreeMap::new();
    for node in cats.path_computation.topology.node.values() {
        let sids = [
            ("end-sid", node.end_sid),
            ("delivery-sid-v4", node.delivery_sid_v4),
            ("delivery-sid-v6", node.delivery_sid_v6),
        ];
        for (leaf, sid) in sids.into_iter().filter_map(|(leaf, sid)| Some((leaf, sid?))) {
            let path =
                format!("{CATS}/cats-pce:path-computation/topology/node[node-id='{}']/{leaf}", node.node_id);
            segment(sid, || path.clone(), violations);
            if let Some(other) = known.get(&sid) {
                let message =
                    format!("SID {sid} is that of {other} too; give each behaviour a SID of its own");
                violations.push(not_realisable(path, message));
            } else {
                known.insert(sid, path);
            }
        }
    }
}

/// The addresses by which clients reach a service.
pub(super) fn addresses(service: &Service) -> impl Iterator<Item = IpAddr> {
    let own = own_address(service.cs_id).filter(|_| service.address.is_empty());
    service.address.iter().copied().chain(own)
}

fn own_address(id: CsId) -> Option<IpAddr> {
    match id {
        CsId::Number(_) => None,
        CsId::V4(address) => Some(address.into()),
        CsId::V6(address) => Some(address.into()),
    }
}

/// A locator that is unicast and no service address: what is sent there would be steered again.
fn locate(address: IpAddr, places: &Places, path: impl Fn() -> String, violations: &mut Vec<Violation>) {
    unicast(address, "locator", &path, violations);
    if places.has_service(&address) {
        let message =
            format!("locator {address} is a service address as well; use the instance's own address");
        violations.push(not_realisable(path(), message));
    }
}

fn segment(sid: Ipv6Addr, path: impl FnOnce() -> String, violations: &mut Vec<Violation>) {
    unicast(sid.into(), "SID", path, violations);
}

/// Notes an address that is none of a host which others can reach.
pub(super) fn unicast(
    address: IpAddr,
    what: &str,
    path: impl FnOnce() -> String,
    violations: &mut Vec<Violation>,
) {
    if let Some(kind) = SpecialAddress::of(address) {
        let message = format!("{what} {address} is {kind}; use a unicast address that other nodes can reach");
        violations.push(invalid(path(), message));
    }
}

fn invalid(path: String, message: String) -> Violation {
    super::invalid(path, &message as &dyn Display)
}

#[cfg(test)]
mod tests;
