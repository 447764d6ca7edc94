//! What YANG cannot say of a configuration.

use super::{Violation, addresses, forwarder, selector, services};
use crate::cps::ServiceConfig;
use cats_engine_types::{CsId, ServiceMatch};
use cats_yang_model::Config;
use cats_yang_model::generated::ietf_cats::Cats;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// Why `new` cannot follow `old`, in an order that depends on `new` alone; empty if it can. What both share is not
/// looked at again: `old` has passed this check.
pub fn check(old: &Config, new: &Config) -> Vec<Violation> {
    let (old, new) = (&old.cats, &new.cats);
    let mut violations = Vec::new();
    let same_forwarder = Arc::ptr_eq(&old.forwarder, &new.forwarder) && Arc::ptr_eq(&old.base, &new.base);
    if !(same_services(old, new) && same_forwarder) {
        let services = services::services(new, &mut violations);
        overlaps(&services, &mut violations);
        addresses::catalogue(new, &mut violations);
        addresses::forwarder(new, &mut violations);
        forwarder::check(new, &services, &mut violations);
    }
    if !Arc::ptr_eq(&old.path_computation, &new.path_computation) {
        addresses::topology(new, &mut violations);
    }
    let same_limit = old.base.metric_limits == new.base.metric_limits;
    if !(same_limit && Arc::ptr_eq(&old.service_metrics, &new.service_metrics)) {
        selector::metrics(new, &mut violations);
    }
    violations
}

fn same_services(old: &Cats, new: &Cats) -> bool {
    Arc::ptr_eq(&old.services, &new.services)
        && Arc::ptr_eq(&old.traffic_classifiers, &new.traffic_classifiers)
}

/// Two enabled services whose traffic cannot be told apart (CP-36).
fn overlaps(services: &[ServiceConfig], violations: &mut Vec<Violation>) {
    let mut seen: BTreeMap<IpAddr, Vec<(CsId, &ServiceMatch)>> = BTreeMap::new();
    for service in services.iter().filter(|service| service.enabled) {
        for traffic in &service.matches {
            let others = seen.entry(traffic.address).or_default();
            let known =
                others.iter().find(|(other, known)| *other != service.cs_id && known.overlaps(traffic));
            if let Some((other, _)) = known {
                violations.push(overlap(service.cs_id, *other, traffic));
            }
            others.push((service.cs_id, traffic));
        }
    }
}

fn overlap(service: CsId, other: CsId, traffic: &ServiceMatch) -> Violation {
    let address = traffic.address;
    let protocol =
        traffic.protocol.map_or_else(|| "all protocols".to_owned(), |protocol| protocol.to_string());
    let port = traffic.port.map_or_else(|| "all ports".to_owned(), |port| format!("port {port}"));
    let (here, there) = (services::path(&service), services::path(&other));
    Violation {
        message: format!(
            "services {other} and {service} overlap at {address}, {protocol}, {port}, and a flow must name exactly \
             one: give {there} or {here} another address, or traffic classifiers of different protocols or ports"
        ),
        path: here,
        tag: "operation-failed".to_owned(),
        app_tag: Some("overlapping-services".to_owned()),
    }
}

#[cfg(test)]
mod tests;
