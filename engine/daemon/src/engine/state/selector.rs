//! What the path selector shows.

use super::agents::agents;
use super::decision::{decision, identity};
use super::filter::Filter;
use super::{Part, flow_key, place};
use crate::engine::{Engine, Now};
use crate::plane::Plane;
use cats_engine_core::cps::{ControlPlane, Cps, DataPlane, FlowView, NodeView, Refused};
use cats_engine_types::NodeId;
use serde_json::{Map, Value, json};

const ROOT: &str = "cats-cps:path-selector";

impl<P: Plane> Engine<P> {
    /// Everything but the long lists.
    pub(super) fn selector_state(&self, cats: &mut Map<String, Value>, filter: &Filter, now: Now) {
        let Some(cps) = self.selector.as_ref().map(|role| &role.cps) else { return };
        if filter.wants(&[ROOT, "forwarders", "status"]) {
            let nodes: Vec<Value> = cps.nodes().map(|node| node_status(&node)).collect();
            if !nodes.is_empty() {
                place(cats, &[ROOT, "forwarders", "status"], Value::Array(nodes));
            }
        }
        if filter.wants(&[ROOT, "agents", "status"]) {
            let agents = agents(cps, now.at);
            if !agents.is_empty() {
                place(cats, &[ROOT, "agents", "status"], Value::Array(agents));
            }
        }
        if filter.wants(&[ROOT, "service-table", "generation"]) {
            let generation = cps.cst().generation().to_string();
            place(cats, &[ROOT, "service-table", "generation"], json!(generation));
        }
        if filter.wants(&[ROOT, "network-table"]) {
            let generation = cps.nst().generation().to_string();
            place(cats, &[ROOT, "network-table"], json!({ "generation": generation }));
        }
        if filter.wants(&[ROOT, "flows"]) {
            place(cats, &[ROOT, "flows", "total"], json!(cps.flow_count().to_string()));
        }
        if filter.wants(&[ROOT, "statistics"]) {
            place(cats, &[ROOT, "statistics"], statistics(cps));
        }
    }

    pub(super) fn decisions(&self, filter: &Filter, after: Option<&str>, limit: usize) -> Part {
        let Some(role) = &self.selector else { return (Vec::new(), None) };
        let wanted = filter.entries(&[ROOT, "decisions", "decision"], &["transaction"]);
        let mut decisions = role.cps.decisions().peekable();
        if let Some(last) = after {
            // What was behind a decision that has left the history has left it too.
            while decisions.next().is_some_and(|decision| decision.transaction.to_string() != last) {}
        }
        let mut entries = Vec::new();
        let mut last = None;
        while entries.len() < limit {
            let Some(next) = decisions.next() else { return (entries, None) };
            let transaction = next.transaction.to_string();
            if wanted.has(&[&transaction]) {
                entries.push(decision(next));
                last = Some(transaction);
            }
        }
        let more = decisions.peek().is_some();
        (entries, last.filter(|_| more))
    }

    pub(super) fn flows(&self, after: Option<&str>, limit: usize) -> Result<Part, String> {
        let Some(role) = &self.selector else { return Ok((Vec::new(), None)) };
        let after = match after {
            Some(text) => {
                let (ingress, key) = text.split_once(' ').ok_or_else(|| format!("`{text}` is no flow"))?;
                Some((ingress.parse::<NodeId>().map_err(|error| error.to_string())?, flow_key(key)?))
            }
            None => None,
        };
        let flows = role.cps.flows(after.as_ref(), limit);
        let last = flows
            .last()
            .filter(|_| flows.len() == limit)
            .map(|flow| format!("{} {}", flow.ingress, flow.key));
        Ok((flows.iter().map(flow).collect(), last))
    }
}

fn node_status(node: &NodeView) -> Value {
    let control = match node.control {
        ControlPlane::NeverAttached => "never-attached",
        ControlPlane::Attached => "attached",
        ControlPlane::Detached => "detached",
    };
    let (data, failed) = match node.data {
        DataPlane::Unknown => ("unknown", None),
        DataPlane::Ready => ("ready", None),
        DataPlane::Failed { deliveries } => ("failed", Some(deliveries)),
    };
    let mut entry = json!({
        "node-id": node.node.to_string(),
        "control-plane": control,
        "data-plane": data,
        "ingress": node.is_ingress,
        "flows": node.flows,
    });
    if let (Some(failed), Value::Object(members)) = (failed, &mut entry) {
        members.insert("failed-deliveries".to_owned(), json!(failed));
    }
    entry
}

fn statistics(cps: &Cps) -> Value {
    let counters = cps.counters();
    let text = |value: u64| value.to_string();
    json!({
        "requests": text(counters.requests),
        "selected": text(counters.selected),
        "installs": text(counters.installs),
        "install-failures": text(counters.install_failures),
        "late-installs": text(counters.late_installs),
        "path-requests": text(counters.path_requests),
        "path-failures": text(counters.path_failures),
        "restored": text(counters.restored),
        "repaired": text(counters.repaired),
        "reconnect-required": text(counters.reconnect_required),
        "refused": refused(&counters.refused),
    })
}

fn refused(by: &Refused) -> Value {
    // In the order of the list's keys.
    let causes = [
        ("commit", by.commit),
        ("deadline", by.deadline),
        ("identity-conflict", by.identity_conflict),
        ("limit", by.limit),
        ("malformed", by.malformed),
        ("no-candidate", by.no_candidate),
        ("no-path", by.no_path),
        ("not-ready", by.not_ready),
        ("not-realisable", by.not_realisable),
        ("reconnect-required", by.reconnect_required),
        ("unauthorised", by.unauthorised),
        ("unknown-service", by.unknown_service),
    ];
    let entry = |(cause, count): (&str, u64)| json!({ "cause": cause, "requests": count.to_string() });
    causes.into_iter().map(entry).collect()
}

fn flow(flow: &FlowView) -> Value {
    let mut entry = Map::new();
    let mut set = |name: &str, value: Value| drop(entry.insert(name.to_owned(), value));
    set("ingress", json!(flow.ingress.to_string()));
    set("key", json!(flow.key.to_string()));
    set("transaction", json!(flow.transaction.to_string()));
    set("state", json!(flow.state.name()));
    if let Some(service) = &flow.service {
        set("service", identity(service.as_number(), service));
    }
    if let Some(csci_id) = &flow.csci_id {
        set("csci-id", identity(csci_id.as_number(), csci_id));
    }
    if let Some(egress) = &flow.egress {
        set("egress", json!(egress.to_string()));
    }
    Value::Object(entry)
}
