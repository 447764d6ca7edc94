//! A decision as the model has it.

use super::time::date_and_time;
use cats_engine_types::{Candidate, Decision, Encaps, Encapsulation, Path};
use serde_json::{Value, json};

/// A cs-id or csci-id: a union of a number and addresses.
pub(super) fn identity(number: Option<u32>, text: &dyn std::fmt::Display) -> Value {
    number.map_or_else(|| json!(text.to_string()), Value::from)
}

pub(super) fn decision(decision: &Decision) -> Value {
    let mut entry = json!({
        "transaction": decision.transaction.to_string(),
        "service": identity(decision.service.as_number(), &decision.service),
        "flow": decision.key.to_string(),
        "time": date_and_time(decision.at),
        "candidate": decision.candidates.iter().map(candidate).collect::<Vec<_>>(),
        "generations": generations(decision),
    });
    if let (Some(selected), Value::Object(members)) = (&decision.selected, &mut entry) {
        members.insert(
            "selected".to_owned(),
            json!({
                "csci-id": identity(selected.csci_id.as_number(), &selected.csci_id),
                "locator": selected.locator.to_string(),
                "egress": selected.egress.to_string(),
            }),
        );
    }
    if let (Some(path), Value::Object(members)) = (&decision.path, &mut entry) {
        let (kind, segments) = encapsulation(path);
        let delay = path.delay.0.to_string();
        let mut encoded = json!({ "encapsulation": kind, "delay-us": delay });
        if let (false, Value::Object(encoded)) = (segments.is_empty(), &mut encoded) {
            encoded.insert("segment".to_owned(), json!(segments));
        }
        members.insert("path".to_owned(), encoded);
    }
    entry
}

fn candidate(candidate: &Candidate) -> Value {
    let mut entry = json!({
        "csci-id": identity(candidate.csci_id.as_number(), &candidate.csci_id),
        "egress": candidate.egress.to_string(),
        "computing-us": candidate.computing.0.to_string(),
        "verdict": candidate.verdict.name(),
        "reason": candidate.verdict.to_string(),
    });
    if let Value::Object(members) = &mut entry {
        for (name, value) in [("network-us", candidate.network), ("total-us", candidate.total)] {
            if let Some(value) = value {
                members.insert(name.to_owned(), json!(value.0.to_string()));
            }
        }
    }
    entry
}

fn generations(decision: &Decision) -> Value {
    let of = &decision.generations;
    let mut entry = json!({
        "policy": of.policy.to_string(),
        "cst": of.cst.to_string(),
        "nst": of.nst.to_string(),
    });
    if let (Some(ted), Value::Object(members)) = (of.ted, &mut entry) {
        members.insert("ted".to_owned(), json!(ted.to_string()));
    }
    entry
}

/// The kind of a path, and its segments.
pub(in crate::engine) fn encapsulation(path: &Path) -> (&'static str, Vec<String>) {
    match &path.encapsulation {
        Encapsulation::None => ("none", Vec::new()),
        Encapsulation::Srv6 { mode, segments } => {
            let kind = match mode {
                Encaps::Full => "srv6-encaps",
                Encaps::Reduced => "srv6-encaps-red",
            };
            (kind, segments.as_slice().iter().map(ToString::to_string).collect())
        }
    }
}
