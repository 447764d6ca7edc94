//! Configurations that YANG allows and that lead nowhere: where each is refused, and with which remedy.

use crate::config::{CATS, Violation, check};
use cats_yang_model::Config;
use serde_json::{Value, json};

/// Place below CATS and message of what is refused.
fn refused(cats: &Value) -> Vec<(String, String)> {
    let new = Config::from_json(&json!({ "ietf-routing:routing": { "ietf-cats:cats": cats } })).unwrap();
    let short =
        |violation: Violation| (violation.path.strip_prefix(CATS).unwrap().to_owned(), violation.message);
    check(&Config::default(), &new).into_iter().map(short).collect()
}

/// Asserts that there is one violation, at this place, and that it says so.
fn is_refused(cats: &Value, place: &str, words: &str) {
    let found = refused(cats);
    let [(path, message)] = found.as_slice() else { panic!("{cats}: {found:?}") };
    assert_eq!(path, place);
    assert!(message.contains(words), "{message}");
}

fn catalogue(address: &str, instances: &Value) -> Value {
    let classifier = json!({ "cs-id": 1, "server-port": 443 });
    json!({
        "base": { "enable": true },
        "traffic-classifiers": { "traffic-classifier": [classifier] },
        "cats-services:services": { "service": [{ "cs-id": 1, "address": [address], "instance": instances }] },
    })
}

fn instance(csci_id: u32, address: &str, port: Option<u16>) -> Value {
    let mut locator = json!({ "address": address });
    if let Some(port) = port {
        locator["port"] = json!(port);
    }
    json!({ "csci-id": csci_id, "egress": "EF-1", "locator": [locator] })
}

fn forwarder(rest: Value) -> Value {
    let mut forwarder = json!({ "node-id": "N" });
    forwarder.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    json!({ "base": { "enable": true }, "cats-forwarder:forwarder": forwarder })
}

fn topology(nodes: &Value) -> Value {
    json!({ "cats-pce:path-computation": { "topology": { "node": nodes } } })
}

const SPECIAL: [(&str, &str); 10] = [
    ("0.0.0.0", "the unspecified address"),
    ("::", "the unspecified address"),
    ("127.0.0.1", "a loopback address"),
    ("::1", "a loopback address"),
    ("169.254.1.1", "a link-local address"),
    ("fe80::1", "a link-local address"),
    ("224.0.0.1", "a multicast address"),
    ("ff02::1", "a multicast address"),
    ("255.255.255.255", "the broadcast address"),
    ("::ffff:192.0.2.1", "an IPv4-mapped address"),
];

#[test]
fn a_service_and_its_instances_have_unicast_addresses() {
    for (address, words) in SPECIAL {
        let place = format!("/cats-services:services/service[cs-id='1']/address[.='{address}']");
        is_refused(&catalogue(address, &json!([])), &place, words);
        let place = "/cats-services:services/service[cs-id='1']/instance[csci-id='7']";
        let place = format!("{place}/locator[address='{address}']");
        is_refused(&catalogue("192.0.2.100", &json!([instance(7, address, None)])), &place, words);
    }
    let own = json!({ "cats-services:services": { "service": [{ "cs-id": "127.0.0.1" }] } });
    is_refused(&own, "/cats-services:services/service[cs-id='127.0.0.1']/cs-id", "a loopback address");
}

#[test]
fn what_is_delivered_has_unicast_addresses() {
    for (address, words) in SPECIAL {
        let delivery = json!([{ "csci-id": 7, "locator": [{ "address": address }] }]);
        let place = "/cats-forwarder:forwarder/egress/delivery[csci-id='7']";
        let place = format!("{place}/locator[address='{address}']");
        is_refused(&forwarder(json!({ "egress": { "delivery": delivery } })), &place, words);
    }
}

#[test]
fn segments_and_the_source_of_the_underlay_are_unicast() {
    for (sid, words) in SPECIAL.into_iter().filter(|(address, _)| address.contains(':')) {
        for role in ["ingress", "egress"] {
            for leaf in ["decapsulation-sid-v4", "decapsulation-sid-v6"] {
                let place = format!("/cats-forwarder:forwarder/{role}/{leaf}");
                is_refused(&forwarder(json!({ role: { leaf: sid } })), &place, words);
            }
        }
        let source = forwarder(json!({ "underlay-source": sid }));
        is_refused(&source, "/cats-forwarder:forwarder/underlay-source", words);
        let owner = json!({ "client-prefix": "192.0.2.0/24", "ingress": "IF-1", "segment": [sid] });
        let owner = forwarder(json!({ "underlay-source": "2001:db8::1", "egress": { "owner": [owner] } }));
        let place = "/cats-forwarder:forwarder/egress/owner[client-prefix='192.0.2.0/24']";
        is_refused(&owner, &format!("{place}/segment[.='{sid}']"), words);
        for leaf in ["end-sid", "delivery-sid-v4", "delivery-sid-v6"] {
            let place = format!("/cats-pce:path-computation/topology/node[node-id='T']/{leaf}");
            is_refused(&topology(&json!([{ "node-id": "T", leaf: sid }])), &place, words);
        }
    }
}

#[test]
fn a_segment_of_the_topology_leads_to_one_place() {
    let one = json!([{ "node-id": "A", "end-sid": "2001:db8::1", "delivery-sid-v4": "2001:db8::1" }]);
    let place = "/cats-pce:path-computation/topology/node[node-id='A']";
    is_refused(&topology(&one), &format!("{place}/delivery-sid-v4"), "SID 2001:db8::1 is that of");
    let families =
        json!([{ "node-id": "A", "delivery-sid-v4": "2001:db8::1", "delivery-sid-v6": "2001:db8::1" }]);
    is_refused(&topology(&families), &format!("{place}/delivery-sid-v6"), "/delivery-sid-v4 too");
    let two = json!([
        { "node-id": "A", "end-sid": "2001:db8::1" }, { "node-id": "B", "delivery-sid-v6": "2001:db8::1" },
    ]);
    let place = "/cats-pce:path-computation/topology/node[node-id='B']/delivery-sid-v6";
    is_refused(&topology(&two), place, "node[node-id='A']/end-sid too");
}

#[test]
fn a_local_segment_is_not_the_source_of_the_underlay() {
    let node = |sid: &str| {
        forwarder(json!({ "underlay-source": "2001:db8::1", "egress": { "decapsulation-sid-v6": sid } }))
    };
    let place = "/cats-forwarder:forwarder/egress/decapsulation-sid-v6";
    is_refused(&node("2001:db8::1"), place, "give the segment an address of its own");
    assert_eq!(refused(&node("2001:db8::6")), []);
}

#[test]
fn an_instance_is_not_at_a_service_address() {
    let words = "is a service address as well; use the instance's own address";
    let place = "/cats-services:services/service[cs-id='1']/instance[csci-id='7']";
    let new = catalogue("192.0.2.100", &json!([instance(7, "192.0.2.100", Some(8443))]));
    is_refused(&new, &format!("{place}/locator[address='192.0.2.100']"), words);
    let mut new = catalogue("192.0.2.100", &json!([]));
    let delivery = json!([{ "csci-id": 7, "locator": [{ "address": "192.0.2.100" }] }]);
    new["cats-forwarder:forwarder"] = json!({ "node-id": "N", "egress": { "delivery": delivery } });
    let place = "/cats-forwarder:forwarder/egress/delivery[csci-id='7']/locator[address='192.0.2.100']";
    is_refused(&new, place, words);
}

#[test]
fn two_instances_of_a_service_are_not_at_one_address_and_port() {
    let two = |first, second| {
        let instances = json!([instance(7, "198.51.100.1", first), instance(8, "198.51.100.1", second)]);
        catalogue("192.0.2.100", &instances)
    };
    let place = "/cats-services:services/service[cs-id='1']/instance[csci-id='8']";
    let place = format!("{place}/locator[address='198.51.100.1']");
    // The port of the service is that of a locator without one.
    for ports in [(None, None), (Some(8443), Some(8443)), (None, Some(443))] {
        is_refused(&two(ports.0, ports.1), &place, "instances 7 and 8 of service 1 are both at 198.51.100.1");
    }
    assert_eq!(refused(&two(Some(8443), Some(8444))), []);
}

#[test]
fn what_is_delivered_is_of_one_instance() {
    let two = |first: Value, second: Value| {
        let delivery = json!([{ "csci-id": 7, "locator": [first] }, { "csci-id": 8, "locator": [second] }]);
        forwarder(json!({ "egress": { "delivery": delivery } }))
    };
    let any = json!({ "address": "198.51.100.1" });
    let at = |port: u16| json!({ "address": "198.51.100.1", "port": port });
    let place = "/cats-forwarder:forwarder/egress/delivery[csci-id='8']/locator[address='198.51.100.1']";
    for (first, second) in [(any.clone(), any.clone()), (at(443), at(443)), (any, at(443))] {
        is_refused(&two(first, second), place, "198.51.100.1 is delivered for instances 7 and 8");
    }
    assert_eq!(refused(&two(at(443), at(444))), [], "the data plane tells ports apart");
}

#[test]
fn a_classifier_has_no_port_zero() {
    let new = json!({ "traffic-classifiers": { "traffic-classifier": [{ "cs-id": 1, "server-port": 0 }] } });
    let place = "/traffic-classifiers/traffic-classifier[cs-id='1']/server-port";
    is_refused(&new, place, "use 1 to 65535, or leave server-port out");
}

#[test]
fn an_enabled_service_can_be_reached() {
    let with = |cs_id: Value, enabled: bool| {
        let service = json!({ "cs-id": cs_id, "enabled": enabled });
        json!({ "base": { "enable": true }, "cats-services:services": { "service": [service] } })
    };
    let place = "/cats-services:services/service[cs-id='1']";
    is_refused(&with(json!(1), true), place, "add an address, or disable it");
    assert_eq!(refused(&with(json!(1), false)), []);
    assert_eq!(refused(&with(json!("192.0.2.100"), true)), [], "its CS-ID is its address");
}

#[test]
fn owners_need_the_source_of_the_underlay() {
    let owner = json!({ "client-prefix": "192.0.2.0/24", "ingress": "IF-1", "segment": ["2001:db8:70::e"] });
    let mut new = forwarder(json!({ "egress": { "owner": [owner] } }));
    let place = "/cats-forwarder:forwarder/egress/owner";
    is_refused(
        &new,
        place,
        "set /ietf-routing:routing/ietf-cats:cats/cats-forwarder:forwarder/underlay-source",
    );
    new["cats-forwarder:forwarder"]["underlay-source"] = json!("2001:db8::1");
    assert_eq!(refused(&new), []);
}

#[test]
fn a_path_selector_and_its_forwarders_are_configured_before_their_certificates() {
    let mut new = forwarder(json!({ "path-selector": { "address": "192.0.2.1", "node-id": "C-PS-1" } }));
    assert_eq!(refused(&new), []);
    new["cats-cps:path-selector"] = json!({ "enabled": true, "listen": { "address": "192.0.2.1" } });
    assert_eq!(refused(&new), []);
}
