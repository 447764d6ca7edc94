//! The catalogue: services, what their traffic looks like, their instances.

use super::{CATS, Violation, invalid, micros, noted};
use crate::cps::{InstanceConfig, Policy, Precedence, Rank, ServiceConfig, Services, Weights};
use cats_engine_types::{
    Constraints, CsId, CsciId, IdError, Locator, Price, Protocol, Score, ServiceMatch, TenantId,
};
use cats_yang_model::generated::cats_services::{self as model, IdentityPrecedence};
use cats_yang_model::generated::ietf_cats::{self, Cats, PolicyType};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::net::IpAddr;

pub(super) fn path(cs_id: &dyn Display) -> String {
    format!("{CATS}/cats-services:services/service[cs-id='{cs_id}']")
}

/// All services. What cannot be read is left out and noted.
pub(super) fn all(cats: &Cats, violations: &mut Vec<Violation>) -> Services {
    let entries = cats.services.service.values();
    entries.filter_map(|service| read_one(cats, service, violations)).collect()
}

/// As [`all`], when those of `before` are known and only these have changed, come or gone.
pub(super) fn changed(
    cats: &Cats,
    before: &Services,
    changed: &BTreeSet<ietf_cats::CsId>,
    violations: &mut Vec<Violation>,
) -> Services {
    let mut services = before.clone();
    for id in changed {
        if let Ok(cs_id) = cs_id(*id) {
            services.remove(cs_id);
        }
        if let Some(read) =
            cats.services.service.get(id).and_then(|service| read_one(cats, service, violations))
        {
            services.insert(read);
        }
    }
    services
}

fn read_one(cats: &Cats, service: &model::Service, violations: &mut Vec<Violation>) -> Option<ServiceConfig> {
    let path = || path(&service.cs_id);
    let cs_id = noted(cs_id(service.cs_id), violations, || format!("{}/cs-id", path()))?;
    let entries = service.instance.values();
    let mut instances: Vec<InstanceConfig> =
        entries.filter_map(|instance| read_instance(instance, &path(), violations)).collect();
    instances.sort_by_key(|instance| instance.csci_id);
    let constraints = constraints(&service.constraints);
    Some(ServiceConfig {
        cs_id,
        name: service.name.clone(),
        enabled: service.enabled(),
        matches: matches(cats, service, cs_id, violations),
        tenants: service.tenant.iter().map(|tenant| TenantId(*tenant)).collect(),
        precedence: match service.identity_precedence() {
            IdentityPrecedence::Reject => Precedence::Reject,
            IdentityPrecedence::CsId => Precedence::CsId,
            IdentityPrecedence::Destination => Precedence::Destination,
        },
        constraints: noted(constraints, violations, || format!("{}/constraints", path()))?,
        policy: policy(cats, service.cs_id),
        instances,
    })
}

/// The identity of a service.
///
/// # Errors
/// For a number or address that is none.
pub fn cs_id(id: ietf_cats::CsId) -> Result<CsId, IdError> {
    match id {
        ietf_cats::CsId::Number(number) => CsId::number(number),
        ietf_cats::CsId::V4(address) => Ok(CsId::address(address.into())),
        ietf_cats::CsId::V6(address) => Ok(CsId::address(address.into())),
    }
}

/// The identity of an instance.
///
/// # Errors
/// For a number or address that is none.
pub fn csci_id(id: ietf_cats::CsciId) -> Result<CsciId, IdError> {
    match id {
        ietf_cats::CsciId::Number(number) => CsciId::number(number),
        ietf_cats::CsciId::V4(address) => Ok(CsciId::address(address.into())),
        ietf_cats::CsciId::V6(address) => Ok(CsciId::address(address.into())),
    }
}

/// One match for each address, with the protocol and port of the service's traffic classifier. A service without an
/// address has its CS-ID, if that is one.
fn matches(
    cats: &Cats,
    service: &model::Service,
    cs_id: CsId,
    violations: &mut Vec<Violation>,
) -> Vec<ServiceMatch> {
    let classifier = cats.traffic_classifiers.traffic_classifier.get(&service.cs_id);
    let protocol = classifier.and_then(|classifier| classifier.protocol).map(Protocol);
    if let Some(protocol) = protocol.filter(|protocol| !protocol.has_ports()) {
        let path = format!("{CATS}/traffic-classifiers/traffic-classifier[cs-id='{cs_id}']/protocol");
        let reason = format!("protocol {protocol} is not steered; use 6 (TCP) or 17 (UDP)");
        violations.push(invalid(path, &reason));
    }
    let port = classifier.and_then(|classifier| classifier.server_port);
    let own = cs_id.as_address().filter(|_| service.address.is_empty());
    let addresses = service.address.iter().copied().chain(own);
    addresses.map(|address| ServiceMatch { address, protocol, port }).collect()
}

fn read_instance(
    instance: &model::Instance,
    above: &str,
    violations: &mut Vec<Violation>,
) -> Option<InstanceConfig> {
    let path = || format!("{above}/instance[csci-id='{}']", instance.csci_id);
    let csci_id = noted(csci_id(instance.csci_id), violations, || format!("{}/csci-id", path()))?;
    let egress = super::node(&instance.egress, violations, || format!("{}/egress", path()))?;
    let entries = instance.locator.values();
    let locators: Vec<Locator> =
        entries.map(|locator| Locator { address: locator.address, port: locator.port }).collect();
    let of = |wanted: fn(&IpAddr) -> bool| locators.iter().filter(move |locator| wanted(&locator.address));
    for (count, family) in [(of(IpAddr::is_ipv4).count(), "IPv4"), (of(IpAddr::is_ipv6).count(), "IPv6")] {
        if count > 1 {
            let reason = format!("{count} {family} locators; an instance has one of each family at most");
            violations.push(invalid(format!("{}/locator", path()), &reason));
        }
    }
    let (v4, v6) = (of(IpAddr::is_ipv4).next().copied(), of(IpAddr::is_ipv6).next().copied());
    Some(InstanceConfig { csci_id, enabled: instance.enabled(), egress, v4, v6 })
}

fn constraints(from: &model::Constraints) -> Result<Constraints, &'static str> {
    let score = |value: Option<u8>| value.map(Score::try_from).transpose();
    Ok(Constraints {
        max_network_delay: from.max_network_delay.map(micros),
        max_total_delay: from.max_total_delay.map(micros),
        min_bandwidth: from.min_bandwidth,
        max_jitter: from.max_jitter.map(micros),
        max_loss_ppm: from.max_loss,
        min_gas: from.min_gas,
        max_computing_time: from.max_computing_time.map(micros),
        max_price: from.max_price.map(Price),
        min_reputation: score(from.min_reputation)?,
        min_security_level: score(from.min_security_level)?,
    })
}

fn policy(cats: &Cats, cs_id: ietf_cats::CsId) -> Policy {
    let Some(policy) = cats.base.service_policy.get(&cs_id) else { return Policy::default() };
    let rank = match (&policy.closest_price, policy.policy_type) {
        (Some(closest), _) => Rank::ClosestPrice(Price(closest.requested_price)),
        (None, Some(PolicyType::BaseOnAffinity)) => Rank::Affinity,
        (None, Some(PolicyType::BaseOnSmOnly)) => Rank::ServiceMetric,
        (None, Some(PolicyType::BaseOnNmOnly)) => Rank::NetworkMetric,
        (None, Some(PolicyType::BaseOnSmNm) | None) => Rank::Both,
    };
    let weights = policy.weights.as_ref().map(|weights| Weights {
        price: weights.price(),
        total_delay: weights.total_delay(),
        memory_ratio: weights.memory_ratio(),
    });
    Policy { rank, weights }
}
