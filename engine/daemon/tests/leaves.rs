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
    ("/ietf-alarms:alarms/control/", "mgmtd/daemon/tests/alarms.rs"),
    ("/ietf-netconf-acm:nacm/", "mgmtd/daemon/tests/access.rs"),
    ("/ietf-subscribed-notifications:filters/", "mgmtd/daemon/tests/subscriptions.rs"),
    ("/ietf-system:system/", "mgmtd/daemon/src/logins.rs"),
    ("/ietf-routing:routing/ietf-cats:cats/cats-system:system/ssh/", "mgmtd/daemon/src/logins.rs"),
    ("/ietf-routing:routing/ietf-cats:cats/cats-system:system/tls/", "mgmtd/daemon/src/transports.rs"),
    ("/ietf-routing:routing/ietf-cats:cats/cats-system:system/call-home/", "mgmtd/daemon/src/transports.rs"),
    ("/ietf-routing:routing/ietf-cats:cats/cats-system:system/limits/", "mgmtd/daemon/src/limits.rs"),
    ("/ietf-routing:routing/ietf-cats:cats/cats-system:system/event-log/", "mgmtd/daemon/src/rules.rs"),
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

/// Leafs that say the same in another way: the second must be absent for the first to count.
const ALTERNATIVES: &[(&str, &str)] = &[
    ("cache/stale-grace-percent", "cache/stale-grace-time"),
    ("cache/withdraw-after-percent", "cache/withdraw-after-time"),
    ("smoothing/gas/alpha", "smoothing/gas/average-of"),
    ("smoothing/computing-time/alpha", "smoothing/computing-time/average-of"),
];

const METRIC_AGENT: &str = "/cats-sma:metric-agent/";

/// Other values of leafs that are no plain numbers, truth values or addresses.
fn other(leaf: &str) -> Option<Value> {
    if let Some(leaf) = leaf.strip_prefix(METRIC_AGENT) {
        return other_of_agent(leaf);
    }
    Some(match leaf {
        "/base/metric-limits" => json!(1),
        // The document has other path selectors whose names end in digits.
        "/cats-cps:path-selector/node-id" => json!("C-PS-9"),
        "/base/service-policy/policy-type" => json!("base-on-nm-only"),
        "/base/service-policy/cs-id" | "/cats-services:services/service/cs-id" => json!(9),
        "/cats-cps:path-selector/agent/key/algorithm" => json!("hmac-sha256"),
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

fn other_of_agent(leaf: &str) -> Option<Value> {
    Some(match leaf {
        "calendar/window/once/begin" => json!("2026-12-24T00:00:01Z"),
        "calendar/window/once/end" => json!("2026-12-25T00:00:01Z"),
        "calendar/window/weekly/day" => json!("tuesday"),
        "collection/source/ask" => json!("http"),
        "collection/tokens/key/algorithm" => json!("es256"),
        "collection/report-key/algorithm" | "northbound/path-selector/signature/algorithm" => {
            json!("hmac-sha256")
        }
        "northbound/path-selector/alternative-to" => json!("C-PS-3"),
        "policy/rule/statement" => json!("IF GAS < 6 THEN FLAG"),
        _ if leaf.ends_with("/reaction") => json!("ignore"),
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
            "enable": true, "flow-limits": 1000, "flow-timeout": 60, "metric-limits": 2, "update-interval": 20,
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
            "agent": [{
                "node-id": "C-SMA-5", "service": [1], "egress": ["EF-1"], "min-interval": 500,
                "key": [{ "id": "k5", "algorithm": "ed25519", "file": "/pki/C-SMA-5.pem" }],
            }],
            "agent-limits": { "window": 20, "silence": 40, "resynchronise-interval": 3, "records": 1000 },
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
        "cats-sma:metric-agent": metric_agent(),
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

fn metric_agent() -> Value {
    let mut agent = json!({
        "enabled": true, "node-id": "C-SMA-1",
        "admission": {
            "discovery": true, "discovered-service": [1],
            "instance": [{ "cs-id": 1, "csci-id": 11, "address": "198.51.100.11", "port": 8443 }],
        },
        "quarantine": { "max-reports": 100, "max-reports-per-instance": 5 },
        "rates": { "instance-rate": 5, "instance-burst": 6, "total-rate": 700, "total-burst": 800 },
        "pull": { "enabled": true, "min-interval": 3, "timeout": 4, "rate": 50, "burst": 60 },
        "smoothing": {
            "gas": { "enabled": true, "average-of": 4, "alpha": "0.5" },
            "computing-time": { "enabled": true, "average-of": 5, "alpha": "0.6" },
        },
    });
    for (name, value) in [
        ("collection", collection()),
        ("validation", validation()),
        ("cache", cache()),
        ("calendar", calendar()),
        ("policy", policy()),
        ("updates", updates()),
        ("northbound", northbound()),
    ] {
        agent[name] = value;
    }
    agent
}

fn collection() -> Value {
    json!({
        "listen": { "address": "192.0.2.1", "port": 7100, "max-connections": 1000 },
        "tokens": {
            "issuer": "https://issuer.example", "audience": "C-SMA-1", "leeway": 20,
            "key": [{ "id": "t1", "algorithm": "eddsa", "file": "/pki/tokens.pem" }],
        },
        "report-key": [{ "id": "r1", "csci-id": 11, "algorithm": "ed25519", "file": "/pki/reports.pem" }],
        "source": [{ "csci-id": 21, "address": "198.51.100.21", "port": 7200, "ask": "grpc", "subscribe": true }],
        "broker": {
            "host": "broker.example", "port": 8000, "site": "S", "client-id": "agent", "session-expiry": 60,
        },
    })
}

fn validation() -> Value {
    json!({
        "ranges": {
            "gas-min": 1, "gas-max": 1000, "computing-time-min": "0.5", "computing-time-max": "1000.5",
            "price-min": 1, "price-max": 100, "reputation-min": 1, "reputation-max": 8,
            "security-level-min": 1, "security-level-max": 8,
        },
        "rate-of-change": {
            "gas": { "percent": 40, "within": 500, "least": 5, "reaction": "quarantine" },
            "computing-time": { "percent": 80, "within": 600, "least": "2.5", "reaction": "quarantine" },
            "health": { "transitions": 4, "within": 700, "reaction": "quarantine" },
        },
        "clock": { "window": 20, "tolerate": true },
    })
}

fn cache() -> Value {
    let times = |first: u32| json!({ "capacity": first, "performance": first + 2, "health": first + 4, "commerce": first + 6, "trust": first + 8 });
    json!({
        "ttl": times(60), "max-ttl": times(600), "stale-grace-percent": 50, "stale-grace-time": 30,
        "withdraw-after-percent": 500, "withdraw-after-time": 300, "max-entries": 5000, "max-remembered": 6000,
        "confirm-after": 3, "degraded-percent": 25, "valid-for": 80,
    })
}

fn calendar() -> Value {
    json!({ "window": [
        { "name": "upgrade", "maintenance": true,
          "once": { "begin": "2026-12-24T00:00:00Z", "end": "2026-12-25T00:00:00Z" } },
        { "name": "night", "weekly": {
            "day": ["monday"], "begin": "22:00", "end": "04:00", "utc-offset": 60,
        } },
    ] })
}

fn policy() -> Value {
    json!({
        "rule": [{ "name": "few", "priority": 5, "enabled": true, "statement": "IF GAS < 5 THEN FLAG" }],
        "safety-margin": "12.5",
        "bounds": {
            "gas-floor": 1, "gas-ceiling": 500, "computing-time-floor": "0.5", "computing-time-ceiling": "500.5",
            "price-floor": 1, "price-ceiling": 50,
        },
    })
}

fn updates() -> Value {
    json!({
        "thresholds": {
            "gas-share": "5.5", "gas-slots": 20, "computing-time-share": "6.5", "price-share": "7.5",
        },
        "longest-interval": 50, "min-interval": 4, "batch": 100,
        "bucket": { "enabled": true, "rate": 1000, "burst": 2000, "reserve": 500 },
        "damping": { "first-pause": 2, "longest-pause": 40, "forget-after": 90 },
        "load": {
            "backlog": 700, "leave-out-price": true, "leave-out-reputation": true,
            "leave-out-time-bounds": true, "leave-out-instances": true,
        },
    })
}

fn northbound() -> Value {
    let selector = |name: &str, address: &str, first: Option<&str>| {
        let mut entry = json!({
            "node-id": name, "address": address, "port": 7300, "service": [1], "preference": 0, "compress": true,
            "signature": { "key-id": "s1", "algorithm": "ed25519", "file": "/pki/advertisements.key" },
        });
        if let Some(first) = first {
            entry["alternative-to"] = json!(first);
        }
        entry
    };
    json!({
        "path-selector": [
            selector("A-PS-1", "192.0.2.11", None), selector("C-PS-2", "192.0.2.12", None),
            selector("C-PS-3", "192.0.2.13", None), selector("C-PS-4", "192.0.2.14", Some("C-PS-2")),
        ],
        "batch": 100, "gather": 30, "window": 16, "buffer": 1000, "snapshot-interval": 50, "refresh-interval": 5,
        "acknowledge-timeout": 6, "greeting-timeout": 3, "partition-after": 20, "resynchronise-interval": 2,
        "first-backoff": 2, "longest-backoff": 40, "longest-pace": 30,
    })
}

/// The document without the leaf that this one is an alternative to.
fn document_for(leaf: &str) -> Value {
    let mut document = full();
    let agent = leaf.strip_prefix(METRIC_AGENT);
    let other = agent.and_then(|leaf| ALTERNATIVES.iter().find(|(name, _)| *name == leaf));
    if let Some((_, other)) = other {
        let (above, last) = other.rsplit_once('/').unwrap();
        let pointer = format!("/{}/{above}", METRIC_AGENT.trim_matches('/'));
        document.pointer_mut(&pointer).and_then(Value::as_object_mut).unwrap().remove(last).unwrap();
    }
    document
}

/// What a change of this leaf alone does, in words if that is not what it should.
fn fault(leaf: &str) -> Option<String> {
    let mut document = document_for(leaf);
    let before = derived(&document).unwrap();
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
            let (same, people) = (after == before, FOR_PEOPLE.contains(&leaf));
            (same != people).then(|| format!("{words} {}", if same { "changes nothing" } else { "acts" }))
        }
        (Err(faults), Some((_, text))) if faults.iter().all(|fault| fault.message.contains(text)) => None,
        (other, _) => Some(format!("{words} leads to {:?}", other.err())),
    }
}

/// What is not built is deviated away, so that it is no leaf at all.
#[test]
fn each_leaf_of_the_configuration_is_consumed_or_is_for_people_only() {
    let mut faults = Vec::new();
    let here = |path: &&&str| !MANAGEMENT.iter().any(|(module, _)| path.starts_with(module));
    for path in CONFIG_LEAVES.iter().filter(here) {
        let leaf = path.strip_prefix("/ietf-routing:routing/ietf-cats:cats").unwrap();
        faults.extend(fault(leaf).map(|fault| format!("{leaf}: {fault}")));
    }
    assert_eq!(faults, [""; 0]);
    let known = |leaf: &&str| CONFIG_LEAVES.iter().any(|path| path.ends_with(*leaf));
    let listed = FOR_PEOPLE.iter().chain(FIXED).chain(REFUSES.iter().map(|(leaf, _)| leaf));
    assert_eq!(listed.copied().filter(|leaf| !known(leaf)).collect::<Vec<_>>(), [""; 0]);
}
