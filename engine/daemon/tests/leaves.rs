//! Every leaf of the configuration does something.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // tests

use cats_engine_core::config::Checked;
use cats_engine_daemon::config::{Desired, desired};
use cats_engine_transport::management::Fault;
use cats_engine_types::Revision;
use cats_yang_model::{CONFIG_LEAVES, Config};
use serde_json::{Value, json};

/// What the management daemon consumes by itself, and its test of these leafs.
const MANAGEMENT: &[(&str, &str)] = &[
    ("/ietf-netconf-acm:nacm/", "mgmtd/daemon/tests/access.rs"),
    ("/ietf-system:system/", "mgmtd/daemon/src/logins.rs"),
    ("/ietf-routing:routing/ietf-cats:cats/cats-system:system/ssh/", "mgmtd/daemon/src/logins.rs"),
    ("/ietf-routing:routing/ietf-cats:cats/cats-system:system/limits/", "mgmtd/daemon/src/limits.rs"),
    (
        "/ietf-routing:routing/ietf-cats:cats/cats-system:system/detached-candidates/",
        "mgmtd/daemon/tests/private.rs",
    ),
];

/// Leafs for people only.
const FOR_PEOPLE: &[&str] = &[
    "/cats-services:services/service/description",
    "/cats-services:services/service/instance/name",
    "/traffic-classifiers/traffic-classifier/description",
];

/// Leafs with one value only.
const FIXED: &[&str] = &["/service-metrics/service-metric/source-type"];

/// Leafs whose other value does not go with the rest: it is refused, with these words.
const REFUSES: &[(&str, &str)] = &[
    ("/base/metric-limits", "base/metric-limits allows 1"),
    ("/cats-services:services/service/cs-id", "set server-port in"),
    ("/traffic-classifiers/traffic-classifier/cs-id", "set server-port in"),
];

/// Other values of leafs that are no plain numbers, truth values or addresses.
fn other(leaf: &str) -> Option<Value> {
    Some(match leaf {
        "/base/metric-limits" => json!(1),
        "/base/service-policy/policy-type" => json!("base-on-nm-only"),
        "/base/service-policy/cs-id" | "/cats-services:services/service/cs-id" => json!(9),
        "/cats-forwarder:forwarder/egress/owner/ingress" => json!("N"),
        "/cats-forwarder:forwarder/egress/owner/client-prefix" => json!("203.0.113.0/24"),
        "/cats-forwarder:forwarder/egress/owner/encapsulation-mode"
        | "/cats-pce:path-computation/encapsulation-mode" => json!("full"),
        "/cats-services:services/service/identity-precedence" => json!("destination"),
        "/service-metrics/service-metric/cats-cps:health" => json!("degraded"),
        "/service-metrics/service-metric/metrics/metric/metric-type" => json!("memory-ratio"),
        "/traffic-classifiers/traffic-classifier/cs-id" => json!(2),
        "/traffic-classifiers/traffic-classifier/protocol" => json!(17),
        _ => return None,
    })
}

/// A value of the same form.
fn changed(leaf: &str, value: &Value) -> Value {
    if let Some(other) = other(leaf) {
        return other;
    }
    match value {
        Value::Bool(value) => json!(!value),
        Value::Number(value) => json!(value.as_u64().unwrap() + 1),
        Value::String(text) => {
            // The last digit of an address, of a decimal and of a name; a letter behind any other text.
            match text.char_indices().next_back().and_then(|(at, c)| Some((at, c.to_digit(9)?))) {
                Some((at, digit)) => json!(format!("{}{}", &text[..at], digit + 1)),
                None => json!(format!("{text}x")),
            }
        }
        Value::Array(_) | Value::Object(_) | Value::Null => panic!("{leaf}: {value}"),
    }
}

/// The first instance of a leaf, or of an entry of a leaf-list.
fn find<'a>(value: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    match value {
        Value::Array(entries) => entries.iter_mut().find_map(|entry| find(entry, path)),
        Value::Object(members) => {
            let (first, rest) = path.split_first()?;
            find(members.get_mut(*first)?, rest)
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => path.is_empty().then_some(value),
        Value::Null => None,
    }
}

fn derived(cats: &Value) -> Result<Desired, Vec<Fault>> {
    let config = Config::from_json(&json!({ "ietf-routing:routing": { "ietf-cats:cats": cats } })).unwrap();
    desired(&Checked::default(), config, Revision(1)).map(|(_, desired)| desired)
}

/// A node with all roles and every leaf set.
fn full() -> Value {
    json!({
        "base": {
            "enable": true, "flow-limits": 1000, "flow-timeout": 60, "metric-limits": 2,
            "service-policy": [
                { "cs-id": 1, "policy-type": "base-on-affinity",
                  "cats-cps:weights": { "price": 2, "total-delay": 3, "memory-ratio": 4 } },
                { "cs-id": 2, "cats-cps:closest-price": { "requested-price": 9 } },
            ],
        },
        "traffic-classifiers": { "traffic-classifier": [
            { "cs-id": 1, "description": "web", "server-port": 443, "protocol": 6 },
            { "cs-id": 3, "server-port": 443 },
        ] },
        "service-metrics": service_metrics(),
        "cats-services:services": services(),
        "cats-cps:path-selector": {
            "enabled": true, "node-id": "C-PS-1", "decision-history": 10,
            "listen": { "address": "192.0.2.1", "port": 7000 },
            "forwarder": [{ "node-id": "IF-1", "tenant": [6] }],
            "deadlines": {
                "selection": 50, "path-request": 60, "commit": 70, "draining": 8, "reconnect-required": 9,
            },
            "admission": { "client-rate": 10, "tenant-rate": 20 },
        },
        "cats-nma:network-metrics": { "path": [{
            "ingress": "IF-1", "egress": "EF-1", "reachable": true, "delay": "1.5", "jitter": "0.5",
            "loss": 10, "bandwidth": 1000,
        }] },
        "cats-pce:path-computation": {
            "encapsulation-mode": "reduced",
            "topology": {
                "node": [{ "node-id": "IF-1", "end-sid": "2001:db8::1", "delivery-sid-v4": "2001:db8::4",
                           "delivery-sid-v6": "2001:db8::6" }],
                "link": [{ "from": "IF-1", "to": "EF-1", "enabled": true, "delay": "1.5", "bandwidth": 1000,
                           "mtu": 1400, "te-metric": 7 }],
            },
        },
        "cats-forwarder:forwarder": forwarder(),
        "cats-system:system": { "certificates": {
            "authority": "/pki/ca.pem", "certificate": "/pki/n.pem", "private-key": "/pki/n.key",
            "revocation-list": "/pki/ca.crl",
        } },
    })
}

fn service_metrics() -> Value {
    json!({ "service-metric": [
        {
            "cs-id": 1, "csci-id": 11, "source-type": "static", "priority": 1, "affinity": 2,
            "metrics": { "metric": [{ "metric-type": "delay", "metric-value": 5 }] },
            "cats-cps:gas": 5, "cats-cps:computing-time": "1.5", "cats-cps:health": "healthy",
            "cats-cps:valid-for": 60, "cats-cps:price": 8, "cats-cps:reputation": 3,
            "cats-cps:security-level": 4,
        },
        { "cs-id": 1, "csci-id": 21, "source-type": "static" },
    ] })
}

fn services() -> Value {
    json!({ "service": [
        {
            "cs-id": 1, "name": "S", "description": "web", "enabled": true, "address": ["192.0.2.100"],
            "identity-precedence": "cs-id", "tenant": [6],
            "constraints": {
                "max-network-delay": "10.5", "max-total-delay": "20.5", "min-bandwidth": 100,
                "max-jitter": "1.5", "max-loss": 10, "min-gas": 2, "max-computing-time": "5.5",
                "max-price": 7, "min-reputation": 3, "min-security-level": 4,
            },
            "instance": [{
                "csci-id": 11, "name": "A", "enabled": true, "egress": "EF-1",
                "locator": [{ "address": "198.51.100.11", "port": 8443 }],
            }],
        },
        { "cs-id": 2, "enabled": false },
        { "cs-id": 3, "enabled": false, "address": ["192.0.2.103"] },
    ] })
}

fn forwarder() -> Value {
    json!({
        "node-id": "N", "underlay-source": "2001:db8:f::1",
        "path-selector": { "address": "192.0.2.1", "port": 7000, "node-id": "C-PS-1" },
        "ingress": {
            "access-interface": [{ "name": "acc0", "tenant": 6 }], "max-segments": 5,
            "decapsulation-sid-v4": "2001:db8:f::4", "decapsulation-sid-v6": "2001:db8:f::6",
            "pending": { "hold": 500, "flow-packets": 8, "flow-bytes": 9000, "total-bytes": 90000 },
        },
        "egress": {
            "decapsulation-sid-v4": "2001:db8:e::4", "decapsulation-sid-v6": "2001:db8:e::6",
            "delivery": [{ "csci-id": 11, "locator": [{ "address": "198.51.100.11", "port": 8443 }] }],
            "owner": [{ "client-prefix": "192.0.2.0/24", "ingress": "IF-1", "segment": ["2001:db8::4"],
                        "encapsulation-mode": "reduced" }],
        },
    })
}

/// What a change of this leaf alone does, in words if that is not what it should.
fn fault(leaf: &str, before: &Desired) -> Option<String> {
    let mut document = full();
    let path: Vec<&str> = leaf.split('/').skip(1).collect();
    let Some(value) = find(&mut document, &path) else { return Some("is not in the document".to_owned()) };
    if FIXED.contains(&leaf) {
        return None;
    }
    *value = changed(leaf, value);
    let words = value.to_string();
    let refused = REFUSES.iter().find(|(name, _)| *name == leaf);
    match (derived(&document), refused) {
        (Ok(after), None) => {
            let (same, people) = (after == *before, FOR_PEOPLE.contains(&leaf));
            (same != people).then(|| format!("{words} {}", if same { "changes nothing" } else { "acts" }))
        }
        (Err(faults), Some((_, text))) if faults.iter().all(|fault| fault.message.contains(text)) => None,
        (other, _) => Some(format!("{words} leads to {:?}", other.err())),
    }
}

/// What is not built is deviated away, so that it is no leaf at all.
#[test]
fn each_leaf_of_the_configuration_is_consumed_or_is_for_people_only() {
    let before = derived(&full()).unwrap();
    let mut faults = Vec::new();
    let here = |path: &&&str| !MANAGEMENT.iter().any(|(module, _)| path.starts_with(module));
    for path in CONFIG_LEAVES.iter().filter(here) {
        let leaf = path.strip_prefix("/ietf-routing:routing/ietf-cats:cats").unwrap();
        faults.extend(fault(leaf, &before).map(|fault| format!("{leaf}: {fault}")));
    }
    assert_eq!(faults, [""; 0]);
    let known = |leaf: &&str| CONFIG_LEAVES.iter().any(|path| path.ends_with(*leaf));
    let listed = FOR_PEOPLE.iter().chain(FIXED).chain(REFUSES.iter().map(|(leaf, _)| leaf));
    assert_eq!(listed.copied().filter(|leaf| !known(leaf)).collect::<Vec<_>>(), [""; 0]);
}
