//! What no forwarder could do with a configuration, whatever its data plane.

use super::services::csci_id;
use super::{CATS, Violation, noted};
use crate::cps::ServiceConfig;
use cats_engine_types::ServiceMatch;
use cats_yang_model::generated::cats_forwarder::{Forwarder, Ingress};
use cats_yang_model::generated::ietf_cats::Cats;
use std::fmt::Display;
use std::net::Ipv6Addr;

pub(super) const FORWARDER: &str = "cats-forwarder:forwarder";

/// Notes what the forwarder of this node could not do, where it has that role.
pub(super) fn check(cats: &Cats, services: &[&ServiceConfig], violations: &mut Vec<Violation>) {
    let forwarder = &cats.forwarder;
    if !cats.base.enable() {
        return;
    }
    sids(forwarder, violations);
    if let Some(ingress) = &forwarder.ingress {
        if cats.base.flow_limits == Some(0) {
            let message = "a limit of 0 admits no flow; use at least 1, or leave the ingress out";
            violations.push(not_realisable(format!("{CATS}/base/flow-limits"), message.to_owned()));
        }
        interfaces(ingress, violations);
        for service in services {
            let open = service.matches.iter().filter(|traffic| traffic.port.is_none());
            violations.extend(open.map(|traffic| without_port(&service.cs_id, traffic)));
        }
    }
    for delivery in forwarder.egress.iter().flat_map(|egress| egress.delivery.values()) {
        let id = delivery.csci_id;
        let path = || format!("{CATS}/{FORWARDER}/egress/delivery[csci-id='{id}']/csci-id");
        noted(csci_id(id), violations, path);
    }
}

/// A segment decapsulates packets of one family.
fn sids(forwarder: &Forwarder, violations: &mut Vec<Violation>) {
    let ingress = forwarder.ingress.as_ref();
    let egress = forwarder.egress.as_ref();
    let v4 = [
        ingress.and_then(|ingress| ingress.decapsulation_sid_v4),
        egress.and_then(|egress| egress.decapsulation_sid_v4),
    ];
    let v6: [(&str, Option<Ipv6Addr>); 2] = [
        ("ingress", ingress.and_then(|ingress| ingress.decapsulation_sid_v6)),
        ("egress", egress.and_then(|egress| egress.decapsulation_sid_v6)),
    ];
    for (role, sid) in v6 {
        if let Some(sid) = sid.filter(|sid| v4.contains(&Some(*sid))) {
            let path = format!("{CATS}/{FORWARDER}/{role}/decapsulation-sid-v6");
            let message = format!("SID {sid} is configured for IPv4 and for IPv6; use one for each");
            violations.push(not_realisable(path, message));
        }
    }
}

fn interfaces(ingress: &Ingress, violations: &mut Vec<Violation>) {
    for access in ingress.access_interface.values() {
        let name = &access.name;
        if name.contains(|c: char| c == '/' || c == '\0' || c.is_whitespace()) || name.len() > 15 {
            let path = format!("{CATS}/{FORWARDER}/ingress/access-interface[name='{name}']");
            let message = format!("`{name}` is no interface name: 1 to 15 octets without / or space");
            violations.push(not_realisable(path, message));
        }
    }
}

fn without_port(service: &dyn Display, traffic: &ServiceMatch) -> Violation {
    let path = format!("{}/address[.='{}']", super::services::path(service), traffic.address);
    let message = format!(
        "this node's data plane steers single ports; set server-port in \
         {CATS}/traffic-classifiers/traffic-classifier[cs-id='{service}']"
    );
    not_realisable(path, message)
}

pub(super) fn not_realisable(path: String, message: String) -> Violation {
    Violation {
        path,
        tag: "operation-failed".to_owned(),
        app_tag: Some("not-realisable".to_owned()),
        message,
    }
}
