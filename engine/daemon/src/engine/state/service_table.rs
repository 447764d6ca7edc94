//! The computing service table: each instance, by the record that selects and by each one there is.

use super::Part;
use super::decision::identity;
use super::filter::Filter;
use super::time::{millis_since, millis_until};
use crate::engine::{Engine, Now};
use crate::plane::Plane;
use cats_engine_core::cps::{Cps, RecordView, Row};
use cats_engine_types::{CsId, CsciId, Gas, Health, Micros, NodeId, Price, Score};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::time::Instant;

pub(super) const LIST: [&str; 3] = ["cats-cps:path-selector", "service-table", "entry"];

/// An instance of a service.
pub(in crate::engine) type Key = (CsId, CsciId);

/// Where instances are found without looking at all of them.
pub(super) trait Instances {
    /// At most so many of a service after one, in order.
    fn of_service(&self, cs_id: CsId, after: Option<CsciId>, limit: usize) -> Vec<CsciId>;

    /// The services of one.
    fn services_of(&self, csci_id: CsciId) -> Vec<CsId>;
}

/// At most so many of the instances that are asked for, after one and in order; nothing where all are. A key that is none
/// names no entry.
pub(super) fn wanted(
    filter: &Filter,
    list: &[&str],
    known: &impl Instances,
    (after, limit): (Option<Key>, usize),
) -> Option<Vec<Key>> {
    let parts = filter.parts(list, &["cs-id", "csci-id"])?;
    let found = parts.iter().flat_map(|part| part_of(part, known, (after, limit)).unwrap_or_default());
    let found: BTreeSet<Key> = found.filter(|key| Some(*key) > after).collect();
    Some(found.into_iter().take(limit).collect())
}

fn part_of(
    part: &[Option<String>],
    known: &impl Instances,
    (after, limit): (Option<Key>, usize),
) -> Option<Vec<Key>> {
    let [cs_id, csci_id] = part else { return None };
    let cs_id: Option<CsId> = cs_id.as_ref().map(|text| text.parse()).transpose().ok()?;
    let csci_id: Option<CsciId> = csci_id.as_ref().map(|text| text.parse()).transpose().ok()?;
    Some(match (cs_id, csci_id) {
        (Some(cs_id), Some(csci_id)) => vec![(cs_id, csci_id)],
        (Some(cs_id), None) => {
            let after = after.filter(|(last, _)| *last == cs_id).map(|(_, csci_id)| csci_id);
            let members = known.of_service(cs_id, after, limit).into_iter();
            members.map(|csci_id| (cs_id, csci_id)).collect()
        }
        (None, Some(csci_id)) => {
            known.services_of(csci_id).into_iter().map(|cs_id| (cs_id, csci_id)).collect()
        }
        (None, None) => Vec::new(),
    })
}

fn key(keys: &[String]) -> Option<Key> {
    let [cs_id, csci_id] = keys else { return None };
    Some((cs_id.parse().ok()?, csci_id.parse().ok()?))
}

/// Reads what a page ended with.
pub(super) fn cursor(text: &str) -> Result<Key, String> {
    let keys: Vec<String> = text.split(' ').map(str::to_owned).collect();
    key(&keys).ok_or_else(|| format!("`{text}` is no instance of a service"))
}

/// What a page of this length ends with; nothing where it is the last one.
pub(super) fn end(key: Option<Key>, length: usize, limit: usize) -> Option<String> {
    key.filter(|_| length == limit).map(|(cs_id, csci_id)| format!("{cs_id} {csci_id}"))
}

impl<P: Plane> Engine<P> {
    pub(super) fn service_table(
        &self,
        filter: &Filter,
        after: Option<&str>,
        limit: usize,
        now: Now,
    ) -> Result<Part, String> {
        let Some(cps) = self.selector.as_ref().map(|role| &role.cps) else { return Ok((Vec::new(), None)) };
        let after = after.map(cursor).transpose()?;
        let keys = wanted(filter, &LIST, cps, (after, limit))
            .unwrap_or_else(|| keys(cps, after).take(limit).collect());
        let entries = keys.iter().filter_map(|(cs_id, csci_id)| entry(cps, *cs_id, *csci_id, now.at));
        Ok((entries.collect(), end(keys.last().copied(), keys.len(), limit)))
    }
}

impl Instances for Cps {
    fn of_service(&self, cs_id: CsId, after: Option<CsciId>, limit: usize) -> Vec<CsciId> {
        let rows = self.cst().rows(cs_id);
        let behind = rows.partition_point(|row| Some(row.csci_id) <= after);
        rows.iter().skip(behind).take(limit).map(|row| row.csci_id).collect()
    }

    fn services_of(&self, csci_id: CsciId) -> Vec<CsId> {
        let mut services = self.cst().services();
        services.retain(|cs_id| self.cst().row(*cs_id, csci_id).is_some());
        services
    }
}

/// The instances after one, in order.
pub(super) fn keys(cps: &Cps, after: Option<Key>) -> impl Iterator<Item = Key> {
    let services = cps.cst().services().into_iter();
    let services = services.skip_while(move |cs_id| after.is_some_and(|(last, _)| *cs_id < last));
    let keys = services.flat_map(|cs_id| cps.cst().rows(cs_id).iter().map(move |row| (cs_id, row.csci_id)));
    keys.skip_while(move |key| after.is_some_and(|last| *key <= last))
}

/// When the selecting record of an instance is no longer valid, so that another one selects or none does.
pub(super) fn expiry(cps: &Cps, key: Key, now: Instant) -> Option<(Instant, Key)> {
    let row = cps.cst().row(key.0, key.1)?;
    let record = cps.cst().selecting(row, now)?;
    cps.cst().expiry(record).filter(|end| *end > now).map(|end| (end, key))
}

pub(super) fn entry(cps: &Cps, cs_id: CsId, csci_id: CsciId, now: Instant) -> Option<Value> {
    let row = cps.cst().row(cs_id, csci_id)?;
    let records = cps.records(cs_id, csci_id, now);
    let mut entry = Map::new();
    let mut set = |name: &str, value: Value| drop(entry.insert(name.to_owned(), value));
    set("cs-id", identity(cs_id.as_number(), &cs_id));
    set("csci-id", identity(csci_id.as_number(), &csci_id));
    let selecting = records.iter().find(|view| view.selects);
    set("reserved", json!(reserved(row, selecting)));
    set("valid", json!(selecting.is_some_and(|view| view.valid)));
    if let Some(view) = selecting {
        set("source", json!(source(view.agent)));
        if let Some(received) = view.received {
            set("age", millis_since(received, now));
        }
        for (name, value) in values(view) {
            if matches!(name, "gas" | "computing-us" | "health") {
                set(name, value);
            }
        }
    }
    if !records.is_empty() {
        set("record", records.iter().map(|view| record(view, now)).collect());
    }
    Some(Value::Object(entry))
}

/// Slots that are not free although the record says so.
fn reserved(row: &Row, selecting: Option<&RecordView<'_>>) -> u32 {
    selecting.and_then(|view| view.record).map_or(row.held, |record| row.reserved_of(record))
}

/// Who says it.
fn source(agent: Option<&NodeId>) -> String {
    agent.map_or_else(|| "static".to_owned(), |agent| format!("cats:sma:{agent}"))
}

fn record(view: &RecordView<'_>, now: Instant) -> Value {
    let mut entry = Map::new();
    let mut set = |name: &str, value: Value| drop(entry.insert(name.to_owned(), value));
    set("source", json!(source(view.agent)));
    set("selects", json!(view.selects));
    set("authorised", json!(view.authorised));
    set("valid", json!(view.valid));
    for (name, value) in values(view) {
        set(name, value);
    }
    for (name, then) in [("age", view.received), ("taken-age", view.taken)] {
        if let Some(then) = then {
            set(name, millis_since(then, now));
        }
    }
    if let Some(expires) = view.expires {
        set("expires-in", millis_until(expires, now));
    }
    if let Some(advertised) = view.advertised {
        if let Some(locator) = advertised.locator {
            set("locator", json!(locator.to_string()));
        }
        set("flagged", json!(advertised.flagged));
    }
    Value::Object(entry)
}

/// The metrics of a record: those that select, or else those that were advertised.
fn values(view: &RecordView<'_>) -> Vec<(&'static str, Value)> {
    let advertised = view.advertised.map(|advertised| &advertised.sample);
    let record = view.record;
    let gas = record.map(|record| record.gas()).or(advertised.map(|sample| Gas::Slots(sample.gas)));
    let computing = record.map(|record| record.computing_time()).or(advertised.map(|s| s.computing_time));
    let health = record.map(|record| record.health()).or(advertised.map(|sample| sample.health));
    let price = record.map_or(advertised.and_then(|sample| sample.price), |record| record.price());
    let reputation =
        record.map_or(advertised.and_then(|sample| sample.reputation), |record| record.reputation());
    let security =
        record.map_or(advertised.and_then(|sample| sample.security_level), |record| record.security_level());
    let slots = gas.and_then(|gas| match gas {
        Gas::Slots(slots) => Some(json!(slots)),
        Gas::Unlimited => None,
    });
    let values = [
        ("gas", slots),
        ("computing-us", computing.map(micros)),
        ("health", health.map(|health| json!(health_name(health)))),
        ("price", price.map(|Price(price)| json!(price))),
        ("reputation", reputation.map(score)),
        ("security-level", security.map(score)),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

pub(super) fn micros(time: Micros) -> Value {
    json!(time.0.to_string())
}

pub(super) fn score(score: Score) -> Value {
    json!(u8::from(score))
}

pub(super) fn health_name(health: Health) -> &'static str {
    match health {
        Health::Healthy => "healthy",
        Health::Degraded => "degraded",
        Health::Unhealthy => "unhealthy",
        Health::Unknown => "unknown",
    }
}
