//! The contact instances of a metric agent, and the sums of its services.

use super::{ROOT, trigger_name};
use crate::engine::state::Part;
use crate::engine::state::decision::identity;
use crate::engine::state::filter::{Entries, Filter};
use crate::engine::state::service_table::{Instances, Key, cursor, end, health_name, micros, score, wanted};
use crate::engine::state::time::{millis_since, millis_until, time};
use crate::engine::{Engine, Now};
use crate::plane::Plane;
use cats_engine_core::sma::{Doubts, InstanceKey, MetricsView, SciCounters, SciView, Site, Sma};
use cats_engine_types::{CsId, CsciId, InstanceCounts, RequestTime, Sample};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::time::Instant;

pub(in crate::engine::state) const INSTANCES: [&str; 3] = [ROOT, "instances", "instance"];
pub(in crate::engine::state) const SITES: [&str; 3] = [ROOT, "sites", "site"];

impl<P: Plane> Engine<P> {
    pub(in crate::engine::state) fn instances(
        &self,
        filter: &Filter,
        after: Option<&str>,
        limit: usize,
        now: Now,
    ) -> Result<Part, String> {
        let Some(sma) = self.agent.as_ref().map(|role| &role.sma) else { return Ok((Vec::new(), None)) };
        let after = after.map(cursor).transpose()?;
        let Some(keys) = wanted(filter, &INSTANCES, sma, (after, limit)) else {
            let views = sma.instances(after.map(instance_key), limit);
            let last = views.last().map(|view| (view.key.cs_id, view.key.csci_id));
            return Ok((
                views.iter().map(|view| instance(view, now.at)).collect(),
                end(last, views.len(), limit),
            ));
        };
        let views = keys.iter().filter_map(|key| sma.instance(instance_key(*key)));
        let entries = views.map(|view| instance(&view, now.at)).collect();
        Ok((entries, end(keys.last().copied(), keys.len(), limit)))
    }

    pub(in crate::engine::state) fn sites(
        &self,
        filter: &Filter,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Part, String> {
        let Some(sma) = self.agent.as_ref().map(|role| &role.sma) else { return Ok((Vec::new(), None)) };
        let after: Option<CsId> = match after {
            Some(text) => Some(text.parse().map_err(|_| format!("`{text}` is no service"))?),
            None => None,
        };
        let sites: Vec<(CsId, Site)> = match filter.entries(&SITES, &["cs-id"]) {
            Entries::All => sma.sites(after, limit),
            Entries::Named(named) => {
                let wanted: BTreeSet<CsId> =
                    named.iter().flatten().filter_map(|text| text.parse().ok()).collect();
                let site = |cs_id: CsId| (cs_id, sma.site(cs_id));
                let known = wanted.into_iter().filter(|cs_id| Some(*cs_id) > after).map(site);
                known.filter(|(_, site)| *site != Site::default()).take(limit).collect()
            }
        };
        let percent = sma.config().cache.degraded_percent;
        let last = sites.last().filter(|_| sites.len() == limit).map(|(cs_id, _)| cs_id.to_string());
        Ok((sites.iter().map(|(cs_id, sums)| site(*cs_id, sums, percent)).collect(), last))
    }
}

impl Instances for Sma {
    fn of_service(&self, cs_id: CsId, after: Option<CsciId>, limit: usize) -> Vec<CsciId> {
        self.members(cs_id, after).take(limit).collect()
    }

    fn services_of(&self, csci_id: CsciId) -> Vec<CsId> {
        Sma::services_of(self, csci_id).into_iter().map(|view| view.key.cs_id).collect()
    }
}

/// One of the contact instances.
pub(in crate::engine::state) fn instance_entry(sma: &Sma, key: InstanceKey, now: Instant) -> Option<Value> {
    sma.instance(key).map(|view| instance(&view, now))
}

/// The sums of one service, while there are any.
pub(in crate::engine::state) fn site_entry(sma: &Sma, cs_id: CsId) -> Option<Value> {
    let sums = sma.site(cs_id);
    (sums != Site::default()).then(|| site(cs_id, &sums, sma.config().cache.degraded_percent))
}

fn instance_key((cs_id, csci_id): Key) -> InstanceKey {
    InstanceKey { cs_id, csci_id }
}

fn site(cs_id: CsId, site: &Site, degraded_percent: u8) -> Value {
    json!({
        "cs-id": identity(cs_id.as_number(), &cs_id),
        "gas": site.gas(degraded_percent).to_string(),
        "instances": site.instances().to_string(),
        "healthy": site.healthy,
        "degraded": site.degraded,
        "unhealthy": site.unhealthy,
        "unknown": site.unknown,
        "stale": site.stale,
        "failed": site.failed,
        "silent": site.silent,
        "healthy-gas": site.healthy_gas.to_string(),
        "degraded-gas": site.degraded_gas.to_string(),
    })
}

fn instance(view: &SciView, now: Instant) -> Value {
    let key = view.key;
    let mut entry = Map::new();
    let mut set = |name: &str, value: Value| drop(entry.insert(name.to_owned(), value));
    set("cs-id", identity(key.cs_id.as_number(), &key.cs_id));
    set("csci-id", identity(key.csci_id.as_number(), &key.csci_id));
    set("state", json!(view.state.name()));
    set("state-age", millis_since(view.since, now));
    set("source", json!(if view.configured { "configured" } else { "discovered" }));
    set("quarantined", super::count(view.quarantined));
    set("waits", json!(view.waits));
    set("clock-skewed", json!(view.skewed));
    set("statistics", statistics(&view.counters));
    if let Some(locator) = view.locator {
        set("locator", json!(locator.to_string()));
    }
    if let Some(health) = view.health {
        set("health", json!(health_name(health)));
    }
    if let Some(seen) = view.seen {
        set("seen-sequence", json!(seen.sequence.to_string()));
    }
    if let Some(told) = &view.told {
        let mut values = values(&told.sample);
        values.insert("flagged".to_owned(), json!(told.flagged));
        set("told", Value::Object(values));
        set("told-gas", json!(told.sample.gas));
    }
    if let Some((trigger, _)) = view.waiting {
        set("waiting-update", json!(trigger_name(trigger)));
    }
    if let Some(metrics) = &view.metrics {
        for (name, value) in reported(metrics, now) {
            set(name, value);
        }
    }
    Value::Object(entry)
}

/// What an instance reported, how old that is, and what is in doubt.
fn reported(metrics: &MetricsView, now: Instant) -> Vec<(&'static str, Value)> {
    let MetricsView { sample, freshness, updated, taken, ttl, doubts, smoothed_gas, smoothed_computing_time } =
        metrics;
    let mut members = vec![
        ("gas", json!(sample.gas)),
        ("age", millis_since(*updated, now)),
        ("epoch", json!(freshness.epoch.to_string())),
        ("sequence", json!(freshness.sequence.to_string())),
        ("reported", Value::Object(values(sample))),
        ("smoothed-gas", json!(smoothed_gas)),
        ("smoothed-computing-us", micros(*smoothed_computing_time)),
    ];
    // A TTL beyond what the clock can tell never ends.
    if let Some(end) = updated.checked_add(*ttl) {
        members.push(("ttl-remaining", millis_until(end, now)));
    }
    members.extend(time(*taken).map(|taken| ("taken", taken)));
    members.extend(doubt(*doubts).map(|doubts| ("doubt", doubts)));
    members
}

/// Doubts, where there are any.
pub(super) fn doubt(doubts: Doubts) -> Option<Value> {
    (!doubts.is_empty()).then(|| doubts.names().collect())
}

/// The metrics of an instance.
pub(super) fn values(sample: &Sample) -> Map<String, Value> {
    let Sample {
        gas,
        computing_time,
        computing_time_min,
        computing_time_max,
        health,
        price,
        reputation,
        security_level,
        instances,
    } = sample;
    let mut values = Map::new();
    let mut set = |name: &str, value: Value| drop(values.insert(name.to_owned(), value));
    set("gas", json!(gas));
    set("computing-us", micros(*computing_time));
    set("health", json!(health_name(*health)));
    let bounds = [
        (computing_time_min, "computing-min-us", "computing-min-tokens"),
        (computing_time_max, "computing-max-us", "computing-max-tokens"),
    ];
    for (bound, name, tokens) in bounds {
        let Some(RequestTime { time, input_tokens }) = bound else { continue };
        set(name, micros(*time));
        if let Some(input_tokens) = input_tokens {
            set(tokens, json!(input_tokens));
        }
    }
    if let Some(price) = price {
        set("price", json!(price.0));
    }
    for (name, value) in [("reputation", reputation), ("security-level", security_level)] {
        if let Some(value) = value {
            set(name, score(*value));
        }
    }
    if let Some(InstanceCounts { healthy, degraded, unhealthy, unknown }) = instances {
        let counts =
            json!({ "healthy": healthy, "degraded": degraded, "unhealthy": unhealthy, "unknown": unknown });
        set("instances", counts);
    }
    values
}

fn statistics(counters: &SciCounters) -> Value {
    let SciCounters {
        taken,
        flagged,
        quarantined,
        invalid,
        duplicate,
        out_of_order,
        replayed,
        skewed,
        too_often,
        overtaken,
        pulls,
    } = counters;
    json!({
        "taken": taken,
        "flagged": flagged,
        "quarantined": quarantined,
        "invalid": invalid,
        "duplicate": duplicate,
        "out-of-order": out_of_order,
        "replayed": replayed,
        "skewed": skewed,
        "too-often": too_often,
        "overtaken": overtaken,
        "pulls": pulls,
    })
}
