//! The metric agents that advertise to the path selector.

use super::time::millis_since;
use cats_engine_core::cps::{AgentAlarm, AgentCounters, AgentPhase, AgentView, Cps};
use serde_json::{Map, Value, json};
use std::time::Instant;

/// All of them; the configuration bounds their number.
pub(super) fn agents(cps: &Cps, now: Instant) -> Vec<Value> {
    let mut views: Vec<AgentView> = cps.agents().collect();
    views.sort_by(|a, b| a.node.cmp(&b.node));
    views.iter().map(|view| status(view, now)).collect()
}

fn status(view: &AgentView, now: Instant) -> Value {
    let phase = match view.phase {
        AgentPhase::Lacking => "lacking",
        AgentPhase::Synchronising => "synchronising",
        AgentPhase::Synchronised => "synchronised",
    };
    let mut entry = Map::new();
    let mut set = |name: &str, value: Value| drop(entry.insert(name.to_owned(), value));
    set("node-id", json!(view.node.to_string()));
    set("connected", json!(view.connected));
    set("view", json!(phase));
    set("records", json!(u32::try_from(view.records).unwrap_or(u32::MAX)));
    if let Some(heard) = view.heard {
        set("age", millis_since(heard, now));
        set("epoch", json!(view.freshness.epoch.to_string()));
        set("sequence", json!(view.freshness.sequence.to_string()));
        set("clock-offset", json!(view.offset.to_string()));
    }
    if !view.alarms.is_empty() {
        set("alarm", view.alarms.iter().map(|alarm| json!(alarm_name(*alarm))).collect());
    }
    set("statistics", statistics(&view.counters));
    Value::Object(entry)
}

fn alarm_name(alarm: AgentAlarm) -> &'static str {
    match alarm {
        AgentAlarm::ClockSkew { .. } => "clock-skew",
        AgentAlarm::Silent => "silent",
        AgentAlarm::RecordLimit => "record-limit",
    }
}

fn statistics(counters: &AgentCounters) -> Value {
    let AgentCounters {
        accepted,
        records,
        withdrawals,
        refreshes,
        snapshots,
        abandoned,
        gaps,
        wrong_name,
        outside_window,
        old_epoch,
        repeated,
        unauthorised,
        beyond_limit,
    } = counters;
    json!({
        "accepted": accepted.to_string(),
        "records": records.to_string(),
        "withdrawals": withdrawals.to_string(),
        "refreshes": refreshes.to_string(),
        "snapshots": snapshots.to_string(),
        "abandoned": abandoned.to_string(),
        "gaps": gaps.to_string(),
        "wrong-name": wrong_name.to_string(),
        "outside-window": outside_window.to_string(),
        "old-epoch": old_epoch.to_string(),
        "repeated": repeated.to_string(),
        "unauthorised": unauthorised.to_string(),
        "beyond-limit": beyond_limit.to_string(),
    })
}
