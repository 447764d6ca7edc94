//! The lab itself: the hosts of section 14 carry SRv6 end to end with routes written by hand, so that a failure of
//! a steered flow is never the lab's. Needs root.

use cats_conformance::capture::{Capture, Direction};
use cats_conformance::lab::Lab;
use cats_conformance::layout::{
    CLIENT_NETWORK, EGRESS_A, INGRESS, INSTANCE_A, Links, Section14, TRANSIT_SEGMENT, link,
};
use cats_conformance::namespace::Namespace;
use cats_conformance::{Result, service};

fn encapsulate(host: &Namespace, prefix: &str, last: &str) -> Result<String> {
    let segments = format!("{TRANSIT_SEGMENT},{last}");
    let encap = ["encap", "seg6", "mode", "encap", "segs", &segments, "dev", link::CORE];
    host.ip(&[&["route", "add", prefix], encap.as_slice()].concat())
}

fn decapsulate(host: &Namespace, segment: &str, port: &str) -> Result<String> {
    let encap = ["encap", "seg6local", "action", "End.DX4", "nh4", "0.0.0.0", "dev", port];
    host.ip(&[&["-6", "route", "add", segment], encap.as_slice()].concat())
}

#[test]
fn the_core_carries_segment_routed_packets_through_the_transit_node_both_ways() -> Result<()> {
    let lab = Lab::create("underlay")?;
    let hosts = Section14::create(&lab, Links::default())?;
    let _server = service::start_instance(&lab, &hosts.instances[0], "A", &INSTANCE_A)?;
    encapsulate(&hosts.ingress, &format!("{}/32", INSTANCE_A[0]), EGRESS_A.segment_v4)?;
    decapsulate(&hosts.egresses[0], EGRESS_A.segment_v4, link::SITE_A)?;
    encapsulate(&hosts.egresses[0], CLIENT_NETWORK[0], INGRESS.segment_v4)?;
    decapsulate(&hosts.ingress, INGRESS.segment_v4, link::ACCESS)?;
    let file = lab.folder().join("core.pcap");
    let capture = Capture::start(&hosts.transit, link::TRANSIT[1], Direction::Both, "ip6", &file)?;

    assert_eq!(service::curl(&hosts.client, INSTANCE_A[0], &[])?, "A");

    let seen = || capture.so_far("tcp.flags.syn == 1", &["ipv6.dst", "ip.src", "ip.dst"]);
    let syns = cats_conformance::wait::wait_for("both SYNs in the core's capture", || {
        seen().ok().filter(|packets| packets.len() >= 2)
    })?;
    assert_eq!(syns[0], [EGRESS_A.segment_v4, "192.0.2.10", INSTANCE_A[0]]);
    assert_eq!(syns[1][1..], [INSTANCE_A[0], "192.0.2.10"]);
    capture.stop().map(drop)
}
