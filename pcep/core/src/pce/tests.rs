//! Requests and replies on the topology of the end-to-end example, with a transit node in the core.

use super::*;
use cats_engine_types::TransactionId;
use std::net::Ipv6Addr;

fn node(text: &str) -> NodeId {
    text.parse().unwrap()
}

fn sid(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

fn entry(name: &str, end: Option<&str>, v4: Option<&str>) -> NodeConfig {
    NodeConfig { node: node(name), end: end.map(sid), delivery_v4: v4.map(sid), delivery_v6: None }
}

fn link(from: &str, to: &str, delay: u64, mtu: u16) -> LinkConfig {
    LinkConfig {
        from: node(from),
        to: node(to),
        up: true,
        delay: Micros(delay),
        bandwidth: Some(1_000_000),
        mtu,
        te_metric: 10,
    }
}

fn config() -> PceConfig {
    PceConfig {
        nodes: vec![
            entry("IF-1", Some("fc00:1::1"), None),
            entry("P-1", Some("fc00:9::1"), None),
            entry("EF-1", Some("fc00:2::1"), Some("fc00:2::d4")),
            entry("EF-2", Some("fc00:3::1"), Some("fc00:3::d4")),
        ],
        links: vec![
            link("IF-1", "P-1", 1000, 1500),
            link("P-1", "EF-1", 4000, 1500),
            link("P-1", "EF-2", 2000, 1460),
        ],
        ..PceConfig::default()
    }
}

fn pce() -> Pce {
    let mut pce = Pce::new();
    pce.configure(&config());
    pce
}

fn request(headend: &str, endpoint: &str) -> PathRequest {
    PathRequest {
        transaction: TransactionId { epoch: 1, sequence: 7 },
        headend: node(headend),
        endpoint: node(endpoint),
        family: Family::V4,
        domain: RoutingDomain::default(),
        constraints: PathConstraints::default(),
        max_segments: 10,
    }
}

fn segments(path: &Path) -> Vec<Ipv6Addr> {
    match &path.encapsulation {
        Encapsulation::None => Vec::new(),
        Encapsulation::Srv6 { segments, .. } => segments.as_slice().to_vec(),
    }
}

#[test]
fn a_path_lists_the_transit_nodes_and_ends_at_the_delivery_segment() {
    let mut pce = pce();
    let reply = pce.handle_request(&request("IF-1", "EF-2"));
    assert_eq!(reply.transaction, TransactionId { epoch: 1, sequence: 7 });
    let path = reply.outcome.unwrap();
    assert_eq!((path.headend.as_str(), path.endpoint.as_str()), ("IF-1", "EF-2"));
    assert_eq!(segments(&path), [sid("fc00:9::1"), sid("fc00:3::d4")]);
    assert_eq!((path.delay, path.mtu), (Micros(3000), 1460));
    assert_eq!(path.generation, pce.ted().generation());
    assert!(pce.holds(&path));
}

#[test]
fn the_endpoint_itself_needs_no_encapsulation() {
    let path = pce().handle_request(&request("EF-1", "EF-1")).outcome.unwrap();
    assert_eq!((path.encapsulation, path.delay), (Encapsulation::None, Micros(0)));
}

#[test]
fn each_reason_for_no_path_is_told_apart() {
    let mut pce = pce();
    let mut ask = |request: PathRequest| pce.handle_request(&request).outcome.unwrap_err();
    assert_eq!(ask(request("IF-9", "EF-2")), NoPath::UnknownHeadend(node("IF-9")));
    assert_eq!(ask(request("IF-1", "EF-9")), NoPath::UnknownEndpoint(node("EF-9")));
    let other = PathRequest { domain: RoutingDomain("other".into()), ..request("IF-1", "EF-2") };
    assert_eq!(ask(other), NoPath::UnknownHeadend(node("IF-1")));
    let v6 = PathRequest { family: Family::V6, ..request("IF-1", "EF-2") };
    assert_eq!(ask(v6), NoPath::NoDeliverySegment(node("EF-2")));
    let short = PathRequest { max_segments: 1, ..request("IF-1", "EF-2") };
    assert_eq!(ask(short), NoPath::TooManySegments { needed: 2, limit: 1 });
    let constraints = PathConstraints { max_delay: Some(Micros(2999)), ..PathConstraints::default() };
    let fast = PathRequest { constraints, ..request("IF-1", "EF-2") };
    assert_eq!(ask(fast), NoPath::Unreachable { headend: node("IF-1"), endpoint: node("EF-2") });
    assert_eq!(ask(request("EF-2", "IF-1")), NoPath::NoDeliverySegment(node("IF-1")));
}

#[test]
fn a_slower_path_is_taken_where_the_fastest_has_too_many_segments() {
    let mut pce = pce();
    pce.ted_mut().set_link(&link("IF-1", "EF-2", 9000, 1500));
    let path = pce.handle_request(&request("IF-1", "EF-2")).outcome.unwrap();
    assert_eq!(path.delay, Micros(3000));
    let one = PathRequest { max_segments: 1, ..request("IF-1", "EF-2") };
    let path = pce.handle_request(&one).outcome.unwrap();
    assert_eq!((segments(&path), path.delay), (vec![sid("fc00:3::d4")], Micros(9000)));
}

#[test]
fn a_link_that_goes_down_breaks_the_path_and_changes_the_generation() {
    let mut pce = pce();
    let path = pce.handle_request(&request("IF-1", "EF-2")).outcome.unwrap();
    let down = LinkConfig { up: false, ..link("P-1", "EF-2", 2000, 1460) };
    assert!(pce.ted_mut().set_link(&down));
    assert!(pce.ted().generation() > path.generation);
    assert!(!pce.holds(&path));
    let outcome = pce.handle_request(&request("IF-1", "EF-2")).outcome;
    assert_eq!(outcome, Err(NoPath::Unreachable { headend: node("IF-1"), endpoint: node("EF-2") }));
}

#[test]
fn an_equal_configuration_changes_nothing() {
    let mut pce = pce();
    let generation = pce.ted().generation();
    assert!(!pce.configure(&config()));
    assert_eq!(pce.ted().generation(), generation);
    let mut less = config();
    less.nodes.retain(|entry| entry.node != node("EF-2"));
    less.links.retain(|link| link.to != node("EF-2"));
    assert!(pce.configure(&less));
    assert_eq!(pce.ted().generation(), generation.next());
    let outcome = pce.handle_request(&request("IF-1", "EF-2")).outcome;
    assert_eq!(outcome, Err(NoPath::UnknownEndpoint(node("EF-2"))));
}
