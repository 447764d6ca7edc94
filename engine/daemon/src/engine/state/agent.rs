//! What the metric agent shows.

mod instances;
mod peers;
mod records;

pub(super) use instances::{INSTANCES, SITES, instance_entry, site_entry};
pub(super) use records::{AUDIT, QUARANTINE};

use super::filter::Filter;
use super::place;
use super::text::text;
use super::time::{millis, time};
use crate::engine::agent::AgentRole;
use crate::engine::{Engine, Now};
use crate::plane::Plane;
use cats_engine_core::sma::Counters;
use cats_engine_core::sma::update::Trigger;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const ROOT: &str = "cats-sma:metric-agent";

impl<P: Plane> Engine<P> {
    /// Everything but the long lists.
    pub(super) fn agent_state(&self, cats: &mut Map<String, Value>, filter: &Filter, now: Now) {
        let Some(role) = &self.agent else { return };
        if filter.wants(&[ROOT, "status"]) {
            place(cats, &[ROOT, "status"], self.agent_status(role));
        }
        if filter.wants(&[ROOT, "statistics"]) {
            place(cats, &[ROOT, "statistics"], self.agent_statistics(role));
        }
        let (waiting, pushed_out) = role.sma.quarantine_size();
        if filter.wants(&[ROOT, "quarantine", "waiting"]) {
            place(cats, &[ROOT, "quarantine", "waiting"], count(waiting));
        }
        if filter.wants(&[ROOT, "quarantine", "pushed-out"]) {
            place(cats, &[ROOT, "quarantine", "pushed-out"], json!(pushed_out.to_string()));
        }
        let open: Vec<&str> = role.sma.open_windows().collect();
        if filter.wants(&[ROOT, "calendar", "open"]) && !open.is_empty() {
            place(cats, &[ROOT, "calendar", "open"], json!(open));
        }
        let until = role.sma.maintenance_ends(now.micros()).and_then(time);
        if let (true, Some(until)) = (filter.wants(&[ROOT, "calendar", "maintenance-until"]), until) {
            place(cats, &[ROOT, "calendar", "maintenance-until"], until);
        }
        if filter.wants(&[ROOT, "path-selectors", "status"]) {
            let peers = peers::all(role, now);
            if !peers.is_empty() {
                place(cats, &[ROOT, "path-selectors", "status"], Value::Array(peers));
            }
        }
    }

    fn agent_status(&self, role: &AgentRole) -> Value {
        let (sma, updates) = (&role.sma, role.sma.updates());
        let mut status = json!({
            "epoch": role.epoch.0.to_string(),
            "instances": count(sma.len()),
            "live": count(sma.live()),
            "waiting-reports": count(sma.waiting()),
            "records": count(sma.northbound().record_count()),
            "updates-due": count(updates.due),
            "updates-timed": count(updates.timed),
            "updates-held": count(updates.held),
            "updates-suppressed": count(updates.suppressed),
            "busy": updates.busy,
            "maintenance": updates.maintenance,
        });
        let Value::Object(members) = &mut status else { return status };
        if let Some(interval) = updates.interval {
            members.insert("update-interval".to_owned(), millis(interval));
        }
        if role.desired.collection.broker.is_some() {
            members.insert("broker-connected".to_owned(), json!(role.broker_connected()));
        }
        // Two keys may have the same fault.
        let faults: BTreeSet<String> = self.network.faults().into_iter().collect();
        if !faults.is_empty() {
            members.insert("fault".to_owned(), faults.iter().map(|fault| text(fault)).collect());
        }
        status
    }

    fn agent_statistics(&self, role: &AgentRole) -> Value {
        let counters = role.sma.counters();
        let unknown = self.network.admission().map_or(0, |admission| admission.counters().unknown_fields);
        let text = |value: u64| value.to_string();
        json!({
            "received": text(counters.received),
            "taken": text(counters.taken),
            "flagged": text(counters.flagged),
            "left": text(counters.left),
            "quarantined": text(counters.quarantined),
            "released": text(counters.released),
            "dropped": text(counters.dropped),
            "refused": refused(counters),
            "overtaken": text(counters.overtaken),
            "authentication-failures": text(counters.authentication_failures),
            "unknown-fields": text(unknown),
            "discovered": text(counters.discovered),
            "stale": text(counters.stale),
            "failed": text(counters.failed),
            "withdrawn": text(counters.withdrawn),
            "evicted": text(counters.evicted),
            "forgotten": text(counters.forgotten),
            "skewed-instances": text(counters.skewed_instances),
            "pulls": text(counters.pulls),
            "pulls-left-out": text(counters.pulls_left_out),
            "audit-left-out": text(counters.audit_left_out),
            "updates": given(role),
            "updates-settled": text(role.sma.updates().settled),
        })
    }
}

fn refused(by: &Counters) -> Value {
    // In the order of the list's keys.
    let causes = [
        ("clock-skew", by.skewed),
        ("duplicate", by.duplicate),
        ("future-epoch", by.future_epoch),
        ("inconsistent", by.inconsistent),
        ("lost", by.lost),
        ("missing", by.missing),
        ("no-base", by.no_base),
        ("not-configured", by.not_configured),
        ("out-of-order", by.out_of_order),
        ("out-of-range", by.out_of_range),
        ("replayed", by.replayed),
        ("too-many-services", by.too_many_services),
        ("too-often", by.too_often),
        ("unauthorised", by.unauthorised),
    ];
    let entry = |(cause, count): (&str, u64)| json!({ "cause": cause, "reports": count.to_string() });
    causes.into_iter().map(entry).collect()
}

fn given(role: &AgentRole) -> Value {
    let given = Trigger::ALL.into_iter().zip(role.sma.updates().given);
    let entry = |(trigger, told): (Trigger, u64)| json!({ "trigger": trigger_name(trigger), "told": told.to_string() });
    given.map(entry).collect()
}

fn trigger_name(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Withdrawal => "withdrawal",
        Trigger::Health => "health",
        Trigger::NoSlots => "no-slots",
        Trigger::Security => "security",
        Trigger::Recovery => "recovery",
        Trigger::Discovery => "discovery",
        Trigger::Metric => "metric",
        Trigger::Renewal => "renewal",
    }
}

/// A number of things in memory.
fn count(count: usize) -> Value {
    json!(u32::try_from(count).unwrap_or(u32::MAX))
}
