//! The decision behind a flow, read from the path selector over NETCONF and kept as JSON.

use super::check;
use crate::node::Node;
use crate::wait::wait_for;
use crate::{LabError, Result};
use roxmltree::{Document, Node as Element};
use serde_json::{Map, Value, json};
use std::path::Path;

const FILTER: &str = "<routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\">\
                      <cats xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\">\
                      <path-selector xmlns=\"urn:catsd:yang:cats-cps\"><decisions/></path-selector></cats></routing>";

/// The decision for the flow of this client address and port.
pub(super) fn fetch(selector: &Node, client: &str, port: u16) -> Result<Value> {
    let mut session = selector.netconf()?;
    let ends = [format!("{client}:{port}"), format!("[{client}]:{port}")];
    wait_for(&format!("the decision for {client} port {port} in the state of {}", selector.name()), || {
        let reply = session.get(FILTER).ok()?;
        let document = Document::parse(&reply).ok()?;
        let mut decisions = document.descendants().filter(|n| n.tag_name().name() == "decision");
        let wanted = decisions.find(|d| ends.iter().any(|end| text(*d, "flow").contains(end.as_str())))?;
        Some(to_json(wanted))
    })
}

/// Writes a decision to a file.
pub(super) fn write(decision: &Value, file: &Path) -> Result<()> {
    let doing = || format!("writing {}", file.display());
    let text = serde_json::to_string_pretty(decision).map_err(LabError::of(doing()))?;
    std::fs::write(file, text + "\n").map_err(LabError::of(doing()))
}

/// Prints a decision, and gives how many checks failed: `instance` must be the selected one.
pub(super) fn print(decision: &Value, instance: &str) -> usize {
    println!("\ndecision {} for service {}:", show(&decision["transaction"]), show(&decision["service"]));
    println!(
        "  {:<16} {:<6} {:>12} {:>10} {:>10}  verdict",
        "instance", "egress", "computing us", "network us", "total us"
    );
    for candidate in decision["candidates"].as_array().into_iter().flatten() {
        println!(
            "  {:<16} {:<6} {:>12} {:>10} {:>10}  {}: {}",
            show(&candidate["csci-id"]),
            show(&candidate["egress"]),
            show(&candidate["computing-us"]),
            show(&candidate["network-us"]),
            show(&candidate["total-us"]),
            show(&candidate["verdict"]),
            show(&candidate["reason"])
        );
    }
    println!("  path {}", decision["path"]);
    println!("  generations {}", decision["generations"]);
    check(show(&decision["selected"]["csci-id"]) == instance, &format!("instance {instance} was selected"))
}

fn show(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

fn to_json(decision: Element<'_, '_>) -> Value {
    let candidates: Vec<Value> = decision
        .children()
        .filter(|n| n.tag_name().name() == "candidate")
        .map(|c| {
            leaves(c, &["csci-id", "egress", "computing-us", "network-us", "total-us", "verdict", "reason"])
        })
        .collect();
    let part = |name: &str, members: &[&str]| {
        let found = decision.children().find(|n| n.tag_name().name() == name);
        found.map_or(Value::Object(Map::new()), |n| leaves(n, members))
    };
    let mut path = part("path", &["encapsulation", "delay-us"]);
    let segments: Vec<&str> = decision
        .descendants()
        .filter(|n| n.tag_name().name() == "segment")
        .filter_map(|n| n.text())
        .collect();
    path["segments"] = json!(segments);
    json!({
        "transaction": text(decision, "transaction"),
        "service": text(decision, "service"),
        "candidates": candidates,
        "selected": part("selected", &["csci-id", "locator", "egress"]),
        "path": path,
        "generations": part("generations", &["policy", "cst", "nst", "ted"]),
    })
}

/// The named leaves of an element: numbers where the model has numbers.
fn leaves(element: Element<'_, '_>, names: &[&str]) -> Value {
    let mut members = Map::new();
    for child in element.children().filter(Element::is_element) {
        let name = child.tag_name().name();
        if names.contains(&name) {
            let text = child.text().unwrap_or_default();
            let numeric = name.ends_with("-us") || matches!(name, "policy" | "cst" | "nst" | "ted");
            let number = numeric.then(|| text.parse::<u64>().ok()).flatten();
            members.insert(name.to_owned(), number.map_or_else(|| json!(text), |n| json!(n)));
        }
    }
    Value::Object(members)
}

fn text(element: Element<'_, '_>, name: &str) -> String {
    let child = element.children().find(|n| n.tag_name().name() == name);
    child.and_then(|n| n.text()).unwrap_or_default().to_owned()
}
