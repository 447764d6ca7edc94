//! What YANG cannot say of a configuration.

use super::agent::{MetricAgent, metric_agent};
use super::places::Places;
use super::{Violation, addresses, forwarder, selector, services};
use crate::cps::{ServiceConfig, Services};
use cats_engine_types::{CsId, ServiceMatch};
use cats_yang_model::Config;
use cats_yang_model::generated::ietf_cats::{self, Cats};
use cats_yang_tree::map::Difference;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

/// A configuration that has passed, with what the next one is held against.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    config: Config,
    places: Places,
    services: Services,
    agent: Option<Arc<MetricAgent>>,
}

impl Checked {
    /// One that has passed before, in another process or by an earlier release: it is not looked at again.
    pub fn trusted(config: Config) -> Self {
        Self::default().followed_by(config)
    }

    /// `new` in its place, which has passed already.
    #[must_use]
    pub fn followed_by(&self, new: Config) -> Self {
        let (places, services) = self.follow(&new.cats, &mut Vec::new());
        let agent = self.agent_of(&new.cats, &mut Vec::new());
        Self { config: new, places, services, agent }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its services in the words of the path selector.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// Its metric agent, if it is enabled: the same one as before where nothing of it differs.
    pub fn metric_agent(&self) -> Option<&Arc<MetricAgent>> {
        self.agent.as_ref()
    }

    fn follow(&self, new: &Cats, violations: &mut Vec<Violation>) -> (Places, Services) {
        let old = &self.config.cats;
        let mut places = self.places.clone();
        places.follow(old, new);
        let services = match Arc::ptr_eq(&old.base, &new.base) {
            true => services::changed(new, &self.services, &changed_services(old, new), violations),
            // The policies of services are there.
            false => services::all(new, violations),
        };
        (places, services)
    }

    /// `new` in its place, at a cost that follows what differs, but for the roles of which something differs.
    ///
    /// # Errors
    /// Why it cannot follow, in an order that depends on `new` alone.
    pub fn after(&self, new: Config) -> Result<Self, Vec<Violation>> {
        let (old, cats) = (&self.config.cats, &new.cats);
        let mut violations = Vec::new();
        let (places, services) = self.follow(cats, &mut violations);
        catalogue_and_forwarder(old, cats, (&places, &services), &mut violations);
        if !Arc::ptr_eq(&old.path_computation, &cats.path_computation) {
            addresses::topology(cats, &mut violations);
        }
        let same_limit = old.base.metric_limits == cats.base.metric_limits;
        if !(same_limit && Arc::ptr_eq(&old.service_metrics, &cats.service_metrics)) {
            selector::metrics(cats, &mut violations);
        }
        let agent = self.agent_of(cats, &mut violations);
        if !(same_agent(old, cats) && Arc::ptr_eq(&old.path_selector, &cats.path_selector)) {
            selector::agents::read(cats, &mut violations);
        }
        if violations.is_empty() {
            Ok(Self { config: new, places, services, agent })
        } else {
            Err(violations)
        }
    }

    /// The metric agent, which knows the path selector of its node.
    fn agent_of(&self, new: &Cats, violations: &mut Vec<Violation>) -> Option<Arc<MetricAgent>> {
        let old = &self.config.cats;
        let same = same_agent(old, new)
            && Arc::ptr_eq(&old.path_selector, &new.path_selector)
            && old.base.update_interval == new.base.update_interval;
        if same { self.agent.clone() } else { metric_agent(new, violations).map(Arc::new) }
    }
}

/// Why `new` cannot follow `old`, in an order that depends on `new` alone; empty if it can. `old` has passed this check.
pub fn check(old: &Config, new: &Config) -> Vec<Violation> {
    Checked::trusted(old.clone()).after(new.clone()).err().unwrap_or_default()
}

fn same_agent(old: &Cats, new: &Cats) -> bool {
    Arc::ptr_eq(&old.metric_agent, &new.metric_agent)
}

fn catalogue_and_forwarder(
    old: &Cats,
    new: &Cats,
    (places, services): (&Places, &Services),
    violations: &mut Vec<Violation>,
) {
    let same_forwarder = Arc::ptr_eq(&old.forwarder, &new.forwarder) && Arc::ptr_eq(&old.base, &new.base);
    let changed = changed_services(old, new);
    if same_forwarder && changed.is_empty() {
        return;
    }
    let concerned = match same_forwarder {
        true => places.concerned(new, &changed),
        false => new.services.service.values().collect(),
    };
    let mut configs: Vec<&ServiceConfig> = match same_forwarder {
        true => {
            let ids = concerned.iter().filter_map(|service| services::cs_id(service.cs_id).ok());
            ids.filter_map(|cs_id| services.get(cs_id)).map(|service| &**service).collect()
        }
        false => services.iter().map(|service| &**service).collect(),
    };
    configs.sort_by_key(|service| service.cs_id);
    overlaps(&configs, violations);
    let classifiers = &new.traffic_classifiers.traffic_classifier;
    match same_forwarder {
        true => {
            addresses::classifiers(changed.iter().filter_map(|id| classifiers.get(id)), violations);
        }
        false => addresses::classifiers(classifiers.values(), violations),
    }
    addresses::catalogue(new, &concerned, places, violations);
    addresses::forwarder(new, places, violations);
    forwarder::check(new, &configs, violations);
}

/// Services that are new, gone or other than before, by themselves or by their traffic classifier.
fn changed_services(old: &Cats, new: &Cats) -> BTreeSet<ietf_cats::CsId> {
    let services =
        old.services.service.diff(&new.services.service).filter_map(|difference| match difference {
            Difference::Added(id, _) | Difference::Changed(id, _, _) => Some(*id),
            Difference::Removed(..) => None,
        });
    let (old, new) = (&old.traffic_classifiers, &new.traffic_classifiers);
    let classifiers =
        old.traffic_classifier.diff(&new.traffic_classifier).map(|difference| match difference {
            Difference::Added(id, _) | Difference::Changed(id, _, _) | Difference::Removed(id, _) => *id,
        });
    services.chain(classifiers).collect()
}

/// Two enabled services whose traffic cannot be told apart (CP-36).
fn overlaps(services: &[&ServiceConfig], violations: &mut Vec<Violation>) {
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
