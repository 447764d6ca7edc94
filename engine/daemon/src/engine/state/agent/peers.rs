//! The path selectors that the metric agent tells.

use super::count;
use crate::engine::Now;
use crate::engine::agent::AgentRole;
use crate::engine::state::text::text;
use crate::engine::state::time::{millis, millis_until};
use cats_engine_core::sma::northbound::{LinkView, NorthboundCounters, PeerView};
use serde_json::{Map, Value, json};

/// All of them, by their names; the configuration bounds their number.
pub(super) fn all(role: &AgentRole, now: Now) -> Vec<Value> {
    let mut views: Vec<PeerView> = role.sma.northbound().peers().collect();
    views.sort_by(|a, b| a.node.cmp(&b.node));
    views.iter().map(|view| status(role, view, now)).collect()
}

fn status(role: &AgentRole, view: &PeerView, now: Now) -> Value {
    let mut entry = Map::new();
    let mut set = |name: &str, value: Value| drop(entry.insert(name.to_owned(), value));
    set("node-id", json!(view.node.to_string()));
    if let Some(of) = &view.alternative_to {
        set("alternative-to", json!(of.to_string()));
    }
    set("link", json!(link_name(view.link)));
    if let Some(reason) = role.peers.reason(&view.node) {
        set("reason", text(reason));
    }
    if let LinkView::Waiting { until } = view.link {
        set("next-attempt", millis_until(until, now.at));
    }
    set("failures", json!(view.failures));
    set("sent-sequence", json!(view.sent.sequence.to_string()));
    set("acknowledged-sequence", json!(view.acknowledged.sequence.to_string()));
    set("pending", count(view.pending));
    set("pace", millis(view.pace));
    let alarms = [("unreachable", view.unreachable), ("buffer-overrun", view.overrun)];
    let alarms: Vec<&str> = alarms.into_iter().filter(|(_, stands)| *stands).map(|(name, _)| name).collect();
    if !alarms.is_empty() {
        set("alarm", json!(alarms));
    }
    set("statistics", statistics(&view.counters));
    Value::Object(entry)
}

fn link_name(link: LinkView) -> &'static str {
    match link {
        LinkView::Idle => "idle",
        LinkView::Waiting { .. } => "waiting",
        LinkView::Connecting => "connecting",
        LinkView::Synchronising => "synchronising",
        LinkView::Synchronised => "synchronised",
    }
}

fn statistics(counters: &NorthboundCounters) -> Value {
    let NorthboundCounters {
        messages,
        records,
        withdrawals,
        refreshes,
        snapshots,
        resumed,
        dropped,
        requested_start,
        requested_gap,
        requested,
        queries,
        refused_queries,
        stray_acknowledgements,
    } = counters;
    json!({
        "messages": messages.to_string(),
        "records": records.to_string(),
        "withdrawals": withdrawals.to_string(),
        "refreshes": refreshes.to_string(),
        "snapshots": snapshots.to_string(),
        "resumed": resumed.to_string(),
        "dropped": dropped.to_string(),
        "requested-start": requested_start.to_string(),
        "requested-gap": requested_gap.to_string(),
        "requested": requested.to_string(),
        "queries": queries.to_string(),
        "refused-queries": refused_queries.to_string(),
        "stray-acknowledgements": stray_acknowledgements.to_string(),
    })
}
