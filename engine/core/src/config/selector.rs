//! What a path selector is configured with.

pub(super) mod agents;

use super::services::{cs_id, csci_id};
use super::{CATS, Violation, micros, node, noted};
use crate::cps::{Admission, CpsConfig, Deadlines, ForwarderConfig, PathMetric, Services, StaticMetric};
use cats_engine_types::{
    Gas, Health, Lifetime, Micros, NodeId, PolicyVersion, Price, Revision, Score, TenantId,
};
use cats_yang_model::generated::cats_cps::{Forwarder, PathSelector};
use cats_yang_model::generated::ietf_cats::{Cats, MetricType, ServiceMetric};
use cats_yang_model::generated::{cats_nma, cats_types};
use std::time::Duration;

/// The configuration of the path selector; nothing where it is not enabled. `local_forwarder` is the forwarder of
/// this node, if it asks this path selector.
pub fn path_selector(
    cats: &Cats,
    services: Services,
    local_forwarder: Option<NodeId>,
    revision: Revision,
    violations: &mut Vec<Violation>,
) -> Option<CpsConfig> {
    let selector = &cats.path_selector;
    if !selector.enabled() {
        return None;
    }
    let mut metrics = metrics(cats, violations);
    metrics.sort_by_key(|entry| (entry.cs_id, entry.csci_id));
    let paths = cats.network_metrics.path.values();
    let idle = cats.base.flow_timeout();
    let default = Admission::default();
    Some(CpsConfig {
        policy_version: PolicyVersion(revision.0),
        services,
        metrics,
        paths: paths.filter_map(|path| path_metric(path, violations)).collect(),
        forwarders: forwarders(selector, violations),
        local_forwarder,
        agents: agents::read(cats, violations),
        agent_bounds: agents::bounds(selector),
        deadlines: deadlines(selector),
        admission: Admission {
            client_rate: selector.admission.client_rate(),
            tenant_rate: selector.admission.tenant_rate(),
            flows: cats.base.flow_limits.map_or(default.flows, |limit| limit as usize),
            ..default
        },
        lifetime: Lifetime { idle: (idle > 0).then(|| Duration::from_secs(u64::from(idle))), hard: None },
        decision_history: selector.decision_history() as usize,
        ..CpsConfig::default()
    })
}

/// The static metrics, which `base/metric-limits` bounds.
pub(super) fn metrics(cats: &Cats, violations: &mut Vec<Violation>) -> Vec<StaticMetric> {
    let entries = &cats.service_metrics.service_metric;
    if let Some(limit) = cats.base.metric_limits.filter(|limit| entries.len() > *limit as usize) {
        violations.push(Violation {
            path: format!("{CATS}/service-metrics"),
            tag: "resource-denied".to_owned(),
            app_tag: Some("metric-limits".to_owned()),
            message: format!("{} service metrics; base/metric-limits allows {limit}", entries.len()),
        });
    }
    entries.values().filter_map(|entry| metric(entry, violations)).collect()
}

fn forwarders(selector: &PathSelector, violations: &mut Vec<Violation>) -> Vec<ForwarderConfig> {
    let mut one = |entry: &Forwarder| {
        let name = &entry.node_id;
        let path = || format!("{CATS}/cats-cps:path-selector/forwarder[node-id='{name}']/node-id");
        let tenants = entry.tenant.iter().map(|tenant| TenantId(*tenant)).collect();
        Some(ForwarderConfig { node: node(name, violations, path)?, tenants })
    };
    selector.forwarder.values().filter_map(|entry| one(entry)).collect()
}

fn deadlines(selector: &PathSelector) -> Deadlines {
    let from = &selector.deadlines;
    let millis = |value: u32| Duration::from_millis(u64::from(value));
    let seconds = |value: u32| Duration::from_secs(u64::from(value));
    Deadlines {
        selection: millis(from.selection()),
        path: millis(from.path_request()),
        commit: millis(from.commit()),
        draining: seconds(from.draining()),
        reconnect_required: seconds(from.reconnect_required()),
        ..Deadlines::default()
    }
}

fn metric(entry: &ServiceMetric, violations: &mut Vec<Violation>) -> Option<StaticMetric> {
    let path = |leaf: &str| {
        format!(
            "{CATS}/service-metrics/service-metric[cs-id='{}'][csci-id='{}'][source-type='{}']/{leaf}",
            entry.cs_id, entry.csci_id, entry.source_type
        )
    };
    let cs_id = noted(cs_id(entry.cs_id), violations, || path("cs-id"))?;
    let csci_id = noted(csci_id(entry.csci_id), violations, || path("csci-id"))?;
    let mut score = |value: Option<u8>, leaf: &str| {
        value.and_then(|value| noted(Score::try_from(value), violations, || path(leaf)))
    };
    let reputation = score(entry.reputation, "cats-cps:reputation");
    let security_level = score(entry.security_level, "cats-cps:security-level");
    let of = |kind: MetricType| entry.metrics.metric.get(&kind).and_then(|metric| metric.metric_value);
    Some(StaticMetric {
        priority: entry.priority,
        affinity: entry.affinity,
        gas: entry.gas.map_or(Gas::Unlimited, Gas::Slots),
        computing_time: micros(entry.computing_time()),
        health: health(entry.health()),
        valid_for: entry.valid_for.map(|seconds| Duration::from_secs(u64::from(seconds))),
        price: entry.price.map(Price),
        reputation,
        security_level,
        delay: of(MetricType::Delay).map(|millis| Micros::from_millis(u64::from(millis))),
        service_ratio: of(MetricType::ServiceRatio),
        memory_ratio: of(MetricType::MemoryRatio),
        ..StaticMetric::new(cs_id, csci_id)
    })
}

fn health(from: cats_types::Health) -> Health {
    match from {
        cats_types::Health::Healthy => Health::Healthy,
        cats_types::Health::Degraded => Health::Degraded,
        cats_types::Health::Unhealthy => Health::Unhealthy,
        cats_types::Health::Unknown => Health::Unknown,
    }
}

fn path_metric(entry: &cats_nma::Path, violations: &mut Vec<Violation>) -> Option<PathMetric> {
    let path = |leaf: &str| {
        let (ingress, egress) = (&entry.ingress, &entry.egress);
        format!("{CATS}/cats-nma:network-metrics/path[ingress='{ingress}'][egress='{egress}']/{leaf}")
    };
    Some(PathMetric {
        ingress: node(&entry.ingress, violations, || path("ingress"))?,
        egress: node(&entry.egress, violations, || path("egress"))?,
        reachable: entry.reachable(),
        delay: entry.delay.map(micros),
        jitter: entry.jitter.map(micros),
        loss_ppm: entry.loss,
        bandwidth: entry.bandwidth,
    })
}
