//! Configurations as they come from JSON, and what is said of them.

use super::*;
use crate::config::path_selector;
use crate::cps::{Precedence, Rank, Weights};
use cats_engine_types::{Gas, Health, Micros, Price, Protocol, Revision};
use cats_yang_model::{Change, Operation};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

fn config(cats: Value) -> Config {
    Config::from_json(&json!({ "ietf-routing:routing": { "ietf-cats:cats": cats } })).unwrap()
}

fn service(cs_id: &str, rest: Value) -> Value {
    let mut service = json!({ "cs-id": cs_id.parse::<u32>().map_or(json!(cs_id), Value::from) });
    service.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    service
}

fn services(list: &[Value], classifiers: Value) -> Config {
    config(json!({
        "cats-services:services": { "service": list },
        "traffic-classifiers": { "traffic-classifier": classifiers },
    }))
}

fn refused(new: &Config) -> Vec<Violation> {
    check(&Config::default(), new)
}

/// Proves CP-36.
#[test]
fn two_services_that_overlap_are_an_error_that_names_both() {
    let two = [
        service("1", json!({ "address": ["192.0.2.100"] })),
        service("2", json!({ "address": ["192.0.2.7", "192.0.2.100"] })),
    ];
    let classifiers = json!([
        { "cs-id": 1, "server-port": 443, "protocol": 6 },
        { "cs-id": 2, "server-port": 443 },
    ]);
    let violations = refused(&services(&two, classifiers));
    let [violation] = violations.as_slice() else { panic!("{violations:?}") };
    let path = |cs_id| {
        format!("/ietf-routing:routing/ietf-cats:cats/cats-services:services/service[cs-id='{cs_id}']")
    };
    assert_eq!(violation.path, path(2));
    assert_eq!(violation.tag, "operation-failed");
    assert_eq!(violation.app_tag.as_deref(), Some("overlapping-services"));
    assert!(violation.message.contains("services 1 and 2 overlap at 192.0.2.100, all protocols, port 443"));
    assert!(violation.message.contains(&path(1)) && violation.message.contains(&path(2)), "{violation:?}");
}

/// Proves CP-36.
#[test]
fn services_that_can_be_told_apart_do_not_overlap() {
    let one = service("1", json!({ "address": ["192.0.2.100"] }));
    let two = service("2", json!({ "address": ["192.0.2.100"] }));
    let both = [one.clone(), two];
    let apart = [
        json!([{ "cs-id": 1, "server-port": 443 }, { "cs-id": 2, "server-port": 444 }]),
        json!([{ "cs-id": 1, "protocol": 6 }, { "cs-id": 2, "protocol": 17 }]),
    ];
    for classifiers in apart {
        assert_eq!(refused(&services(&both, classifiers)), []);
    }
    assert_eq!(refused(&services(&both, json!([]))).len(), 1);
    let off = [one, service("2", json!({ "address": ["192.0.2.100"], "enabled": false }))];
    assert_eq!(refused(&services(&off, json!([]))), [], "one that is not enabled takes no traffic");
}

#[test]
fn a_cs_id_that_is_an_address_is_the_address_of_a_service_without_one() {
    let two = [service("1", json!({ "address": ["2001:db8::1"] })), service("2001:db8::1", json!({}))];
    let violations = refused(&services(&two, json!([])));
    assert_eq!(violations.len(), 1);
    assert!(violations[0].message.contains("services 1 and 2001:db8::1 overlap"));
}

#[test]
fn values_that_the_engine_cannot_hold_are_named() {
    let locators = json!([{ "address": "198.51.100.1" }, { "address": "198.51.100.2" }]);
    let instance =
        json!([{ "csci-id": 0, "egress": "EF-1" }, { "csci-id": 5, "egress": "EF-1", "locator": locators }]);
    let list =
        [service("0", json!({})), service("1", json!({ "address": ["192.0.2.100"], "instance": instance }))];
    let violations = refused(&services(&list, json!([{ "cs-id": 1, "protocol": 1 }])));
    let start = "/ietf-routing:routing/ietf-cats:cats";
    let found: Vec<_> = violations.iter().map(|v| v.path.strip_prefix(start).unwrap()).collect();
    assert_eq!(
        found,
        [
            "/cats-services:services/service[cs-id='0']/cs-id",
            "/cats-services:services/service[cs-id='1']/instance[csci-id='0']/csci-id",
            "/cats-services:services/service[cs-id='1']/instance[csci-id='5']/locator",
            "/traffic-classifiers/traffic-classifier[cs-id='1']/protocol",
        ]
    );
    assert!(violations.iter().all(|violation| violation.tag == "invalid-value"));
}

#[test]
fn the_limit_of_metrics_is_kept() {
    let entry = |csci_id| json!({ "cs-id": 1, "csci-id": csci_id, "source-type": "static" });
    let with = |limit| {
        config(json!({
            "base": { "metric-limits": limit },
            "service-metrics": { "service-metric": [entry(1), entry(2)] },
        }))
    };
    assert_eq!(refused(&with(2)), []);
    let violations = check(&with(2), &with(1));
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].tag, "resource-denied");
    assert_eq!(violations[0].message, "2 service metrics; base/metric-limits allows 1");
}

#[test]
fn what_no_forwarder_can_do_is_refused_whether_or_not_one_is_there() {
    let with = |base: Value, forwarder: Value| {
        config(json!({
            "base": base,
            "cats-services:services": { "service": [service("1", json!({ "address": ["192.0.2.100"] }))] },
            "cats-forwarder:forwarder": forwarder,
        }))
    };
    let forwarder = json!({
        "node-id": "N",
        "ingress": {
            "access-interface": [{ "name": "a b" }, { "name": "acc0" }],
            "decapsulation-sid-v4": "2001:db8::4", "decapsulation-sid-v6": "2001:db8::6",
        },
        "egress": { "decapsulation-sid-v6": "2001:db8::4",
            "delivery": [{ "csci-id": 0, "locator": [{ "address": "198.51.100.1" }] }] },
    });
    let new = with(json!({ "enable": true, "flow-limits": 0 }), forwarder.clone());
    let start = "/ietf-routing:routing/ietf-cats:cats";
    let violations = refused(&new);
    let found: Vec<_> = violations.iter().map(|v| v.path.strip_prefix(start).unwrap()).collect();
    assert_eq!(
        found,
        [
            "/cats-forwarder:forwarder/egress/decapsulation-sid-v6",
            "/base/flow-limits",
            "/cats-forwarder:forwarder/ingress/access-interface[name='a b']",
            "/cats-services:services/service[cs-id='1']/address[.='192.0.2.100']",
            "/cats-forwarder:forwarder/egress/delivery[csci-id='0']/csci-id",
        ]
    );
    assert!(violations[3].message.contains("set server-port"), "{}", violations[3].message);
    // Each change that makes it so is looked at.
    let off = with(json!({ "enable": false, "flow-limits": 0 }), forwarder);
    assert_eq!(refused(&off), []);
    assert_eq!(check(&off, &new).len(), 5);
    let selector = with(json!({ "enable": true }), json!({ "node-id": "N" }));
    assert_eq!(refused(&selector), [], "a path selector steers services of all ports");
}

#[test]
fn what_did_not_change_is_not_looked_at_again() {
    let overlapping = [
        service("1", json!({ "address": ["192.0.2.100"] })),
        service("2", json!({ "address": ["192.0.2.100"] })),
    ];
    let invalid = services(&overlapping, json!([]));
    assert_eq!(check(&invalid, &invalid.clone()), []);
}

fn whole() -> Config {
    let locators = json!([{ "address": "198.51.100.21", "port": 8443 }, { "address": "2001:db8:21::1" }]);
    let instance = json!([{ "csci-id": 21, "egress": "EF-2", "locator": locators }]);
    let constraints = json!({ "max-total-delay": "12.5", "min-gas": 2, "min-reputation": 3 });
    let first = json!({ "address": ["192.0.2.100"], "tenant": [6], "identity-precedence": "cs-id",
                        "constraints": constraints, "instance": instance });
    config(json!({
        "base": {
            "flow-limits": 77, "flow-timeout": 0,
            "service-policy": [
                { "cs-id": 1, "policy-type": "base-on-affinity", "cats-cps:weights": { "price": 2 } },
                { "cs-id": 2, "cats-cps:closest-price": { "requested-price": 9 } },
            ],
        },
        "traffic-classifiers": { "traffic-classifier": [{ "cs-id": 1, "server-port": 443, "protocol": 6 }] },
        "service-metrics": { "service-metric": [{
            "cs-id": 1, "csci-id": 21, "source-type": "static", "priority": 4,
            "metrics": { "metric": [{ "metric-type": "delay", "metric-value": 7 }] },
            "cats-cps:gas": 5, "cats-cps:computing-time": "1.5", "cats-cps:health": "degraded",
            "cats-cps:valid-for": 60, "cats-cps:price": 8,
        }] },
        "cats-nma:network-metrics": { "path": [{ "ingress": "IF-1", "egress": "EF-2", "delay": "0.25" }] },
        "cats-services:services": {
            "service": [service("1", first), service("2", json!({ "address": ["192.0.2.200"] }))],
        },
        "cats-cps:path-selector": {
            "enabled": true, "forwarder": [{ "node-id": "IF-1", "tenant": [6] }],
            "deadlines": { "commit": 300 }, "decision-history": 5,
        },
    }))
}

#[test]
fn a_path_selector_reads_all_that_is_configured() {
    let new = whole();
    let mut violations = Vec::new();
    let services = super::services::all(&new.cats, &mut violations);
    let cps = path_selector(&new.cats, services, None, Revision(3), &mut violations).unwrap();
    assert_eq!(violations, []);
    assert_eq!((cps.policy_version.0, cps.admission.flows, cps.lifetime.idle), (3, 77, None));
    let deadlines = (cps.deadlines.commit, cps.deadlines.path);
    assert_eq!(deadlines, (Duration::from_millis(300), Duration::from_millis(500)));
    assert_eq!((cps.decision_history, cps.forwarders[0].tenants.len()), (5, 1));
    let metric = &cps.metrics[0];
    assert_eq!((metric.gas, metric.health), (Gas::Slots(5), Health::Degraded));
    assert_eq!((metric.computing_time, metric.delay), (Micros(1_500), Some(Micros(7_000))));
    assert_eq!((metric.valid_for, metric.priority), (Some(Duration::from_secs(60)), Some(4)));
    assert_eq!(cps.paths[0].delay, Some(Micros(250)));
    let off = path_selector(&Config::default().cats, Services::default(), None, Revision(1), &mut violations);
    assert_eq!(off, None);
}

#[test]
fn a_service_is_read_with_its_policy_and_instances() {
    let services = super::services::all(&whole().cats, &mut Vec::new());
    let service = services.iter().next().unwrap();
    assert_eq!((service.precedence, service.policy.rank), (Precedence::CsId, Rank::Affinity));
    assert_eq!(service.policy.weights, Some(Weights { price: 2, total_delay: 1, memory_ratio: 0 }));
    assert_eq!(service.constraints.max_total_delay, Some(Micros(12_500)));
    assert_eq!(service.constraints.min_gas, Some(2));
    assert_eq!((service.matches[0].protocol, service.matches[0].port), (Some(Protocol::TCP), Some(443)));
    let instance = &service.instances[0];
    assert_eq!(instance.v4.unwrap().to_string(), "198.51.100.21:8443");
    assert_eq!(instance.v6.unwrap().to_string(), "2001:db8:21::1");
    assert_eq!(services.iter().nth(1).unwrap().policy.rank, Rank::ClosestPrice(Price(9)));
}

#[test]
fn what_changed_is_held_against_what_did_not() {
    let instance =
        |address: &str| json!([{ "csci-id": 9, "egress": "EF-1", "locator": [{ "address": address }] }]);
    let one = service("1", json!({ "address": ["192.0.2.1"], "instance": instance("198.51.100.1") }));
    let two = service("2", json!({ "address": ["192.0.2.2"] }));
    let ports = json!([{ "cs-id": 1, "server-port": 443 }, { "cs-id": 2, "server-port": 443 }]);
    let old = services(&[one.clone(), two.clone()], ports.clone());
    assert_eq!(refused(&old), []);
    let third = |rest: Value| services(&[one.clone(), two.clone(), service("3", rest)], ports.clone());
    let same_place = third(json!({ "address": ["192.0.2.1"] }));
    let on_an_instance = third(json!({ "address": ["198.51.100.1"] }));
    let instance_on_a_service = third(json!({ "address": ["192.0.2.3"], "instance": instance("192.0.2.2") }));
    let port = services(
        &[one.clone(), service("2", json!({ "address": ["192.0.2.1"] }))],
        json!([{ "cs-id": 1, "server-port": 443 }, { "cs-id": 2, "server-port": 80 }]),
    );
    assert_eq!(refused(&port), []);
    let without_ports =
        services(&[one.clone(), service("2", json!({ "address": ["192.0.2.1"] }))], json!([]));
    for (old, new) in [
        (&old, &same_place),
        (&old, &on_an_instance),
        (&old, &instance_on_a_service),
        (&port, &without_ports),
    ] {
        let violations = check(old, new);
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert_eq!(violations, refused(new), "the same as of the whole");
    }
    let moved = services(
        &[
            service("1", json!({ "address": ["192.0.2.2"] })),
            service("2", json!({ "address": ["192.0.2.1"] })),
        ],
        ports,
    );
    assert_eq!(check(&old, &moved), []);
}

/// What may stand in a service of the property test: few addresses, so that they meet.
fn any_service() -> impl Strategy<Value = (u8, Value, Value)> {
    let address = (1..6_u8).prop_map(|host| format!("192.0.2.{host}"));
    let instance = (1..4_u32, prop::collection::vec(address.clone(), 0..2)).prop_map(|(id, locators)| {
        let locators: Vec<Value> = locators.iter().map(|address| json!({ "address": address })).collect();
        json!({ "csci-id": id, "egress": "e", "locator": locators })
    });
    let addresses = prop::collection::btree_set(address, 0..3);
    let instances = prop::collection::vec(instance, 0..3);
    let classifier = (prop::option::of(0..3_u16), prop::option::of(prop_oneof![Just(6), Just(17), Just(99)]));
    (1..9_u8, addresses, instances, any::<bool>(), classifier).prop_map(
        |(id, addresses, mut instances, enabled, (port, protocol))| {
            instances.sort_by_key(|instance| instance["csci-id"].as_u64());
            instances.dedup_by_key(|instance| instance["csci-id"].clone());
            let mut classifier = json!({ "cs-id": id });
            if let Some(port) = port {
                classifier["server-port"] = json!(port);
            }
            if let Some(protocol) = protocol {
                classifier["protocol"] = json!(protocol);
            }
            let service =
                json!({ "cs-id": id, "enabled": enabled, "address": addresses, "instance": instances });
            (id, service, classifier)
        },
    )
}

const SERVICE: &str = "/ietf-routing:routing/ietf-cats:cats/cats-services:services/service";
const CLASSIFIER: &str = "/ietf-routing:routing/ietf-cats:cats/traffic-classifiers/traffic-classifier";

fn set(config: &mut Config, list: &str, id: u8, value: Option<Value>) {
    let operation = value.map_or(Operation::Delete, Operation::Set);
    let change = Change { path: format!("{list}[cs-id='{id}']"), operation, after: None };
    // What is not there cannot be deleted.
    let _ = config.apply(&change);
}

proptest! {
    #[test]
    fn a_change_is_judged_by_whom_it_concerns_as_it_is_by_way_of_all(
        edits in prop::collection::vec((any_service(), 0..6_u8), 1..24),
        forwards: bool,
    ) {
        let mut roles = json!({ "base": { "enable": true } });
        if forwards {
            let delivery = json!([{ "csci-id": 7, "locator": [{ "address": "192.0.2.3" }] }]);
            roles["cats-forwarder:forwarder"] =
                json!({ "node-id": "f", "ingress": {}, "egress": { "delivery": delivery } });
        }
        let mut running = config(roles);
        for ((id, service, classifier), kind) in edits {
            let mut new = running.clone();
            if kind != 1 {
                set(&mut new, SERVICE, id, (kind > 0).then_some(service));
            }
            if kind != 2 {
                set(&mut new, CLASSIFIER, id, (kind > 0).then_some(classifier));
            }
            let violations = check(&running, &new);
            prop_assert_eq!(&violations, &refused(&new));
            if violations.is_empty() {
                running = new;
            }
        }
    }
}
