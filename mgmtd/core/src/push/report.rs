//! `/subscriptions`, and what RFC 9196 says of what can be subscribed to.

use super::Push;
use super::table::{Standing, Subscription};
use super::terms::{LEAST_PERIOD_CS, SUBSCRIBED, told_on_change};
use crate::core::Facts;
use cats_yang_tree::schema::{NodeId, NodeKind, Schema};
use serde_json::{Map, Value, json};

impl Push {
    /// `/subscriptions`.
    pub(crate) fn report(&self) -> Option<(String, Value)> {
        let mut all: Vec<Value> =
            self.table.iter().map(|(id, subscription)| entry(id, subscription)).collect();
        all.extend(self.table.listeners.iter().map(|(id, listener)| {
            let receiver = json!({ "name": format!("session {}", listener.session), "state": "active" });
            of_words(*id, &listener.words, receiver)
        }));
        let name = format!("{SUBSCRIBED}:subscriptions");
        (!all.is_empty()).then(|| (name, json!({ "subscription": all })))
    }
}

fn entry(id: u32, subscription: &Subscription) -> Value {
    let state = match subscription.standing {
        Standing::Active => "active",
        Standing::NoRoom | Standing::TooMuch | Standing::NoComponent { .. } => "suspended",
    };
    let receiver = json!({
        "name": format!("session {}", subscription.session),
        "sent-event-records": subscription.sent.to_string(),
        "excluded-event-records": subscription.excluded.to_string(),
        "state": state,
    });
    of_words(id, &subscription.terms.words, receiver)
}

fn of_words(id: u32, words: &Map<String, Value>, receiver: Value) -> Value {
    let mut entry = words.clone();
    entry.insert("id".to_owned(), json!(id));
    entry.insert("encoding".to_owned(), json!("ietf-subscribed-notifications:encode-xml"));
    entry.insert("receivers".to_owned(), json!({ "receiver": [receiver] }));
    Value::Object(entry)
}

/// `/system-capabilities`; none where its modules are not served.
pub(crate) fn capabilities(facts: &Facts) -> Option<(String, Value)> {
    let schema = &facts.schema;
    let is_served = |name| schema.module_by_name(name).is_some_and(|id| schema.module(id).implemented);
    if !is_served("ietf-notification-capabilities") {
        return None;
    }
    let name = "ietf-notification-capabilities:subscription-capabilities";
    let on_change = |what: &str| json!({ "on-change-supported": what });
    let mut operational: Vec<Value> = pushed(schema)
        .into_iter()
        .map(|node| json!({ "node-selector": schema.path_of(node), name: on_change("config-changes state-changes") }))
        .collect();
    operational.push(json!({ "node-selector": "/", name: on_change("config-changes") }));
    let all = json!({
        name: {
            "periodic-notifications-supported": "config-changes state-changes",
            "minimum-update-period": LEAST_PERIOD_CS,
            "on-change-supported": "config-changes",
            "minimum-dampening-period": 0,
            "supported-excluded-change-type": ["all"],
        },
        "datastore-capabilities": [
            { "datastore": "ietf-datastores:operational", "per-node-capabilities": operational }
        ],
    });
    Some(("ietf-system-capabilities:system-capabilities".to_owned(), all))
}

/// The topmost state nodes that are told of on change.
fn pushed(schema: &Schema) -> Vec<NodeId> {
    let mut found = Vec::new();
    let mut left: Vec<NodeId> = schema.data_children_of(None).to_vec();
    while let Some(node) = left.pop() {
        let seen = schema.node(node);
        let is_data = !matches!(seen.kind, NodeKind::Rpc { .. } | NodeKind::Notification);
        if !seen.config && seen.flags.on_change {
            found.push(node);
        } else if is_data && told_on_change(schema, node) {
            left.extend(schema.data_children(node));
        }
    }
    found.sort_unstable();
    found
}
