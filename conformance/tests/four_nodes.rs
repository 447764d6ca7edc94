//! Faults and limits on four nodes: what stops new flows never harms those that stand. Needs root.

use cats_conformance::Result;
use cats_conformance::capture::{Capture, Direction};
use cats_conformance::configuration::{Metric, cats, ingress, metrics};
use cats_conformance::deployment::{FourNodes, until_steered};
use cats_conformance::layout::{
    CLIENT, EGRESS_A, EGRESS_B, INSTANCE_A, INSTANCE_B, Links, SELECTOR, SERVICE, link,
};
use cats_conformance::server::ncclient;
use cats_conformance::service::{Connection, Datagrams, curl};
use cats_conformance::wait::wait_for;
use std::time::Duration;

/// Whether a new flow is answered within two seconds, twice the time that a packet is held.
fn new_flow(deployment: &FourNodes) -> Option<String> {
    curl(&deployment.hosts.client, SERVICE[0], &["--max-time", "2"]).ok()
}

fn set_metrics(deployment: &FourNodes, a: Metric, b: Metric) -> Result<()> {
    deployment.selector.configure(&cats(&metrics(a, b)))
}

fn until_refused(deployment: &FourNodes) -> Result<()> {
    wait_for("new flows to be refused", || new_flow(deployment).is_none().then_some(()))
}

/// Waits until new flows are served by this instance.
fn until_served_by(deployment: &FourNodes, instance: &str) -> Result<()> {
    wait_for(&format!("new flows to go to {instance}"), || {
        (new_flow(deployment).as_deref() == Some(instance)).then_some(())
    })
}

#[test]
fn a_metric_that_ncclient_commits_over_the_management_network_moves_new_flows() -> Result<()> {
    let deployment = FourNodes::start("four-ncclient", Links::default())?;
    let operator = deployment.ingress.host();
    for place in [SELECTOR, EGRESS_A, EGRESS_B] {
        ncclient(operator, place.management, &deployment.key, "hello")?;
    }
    ncclient(operator, SELECTOR.management, &deployment.key, "select_dry_run")?;
    assert_eq!(new_flow(&deployment).as_deref(), Some("B"));
    ncclient(operator, SELECTOR.management, &deployment.key, "slow_b")?;
    until_served_by(&deployment, "A")
}

/// Proves CP-2, CP-3.
#[test]
fn full_instances_get_no_new_flow_and_keep_theirs() -> Result<()> {
    let deployment = FourNodes::start("four-full", Links::default())?;
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    set_metrics(&deployment, Metric::A, Metric { gas: 0, ..Metric::B })?;
    until_served_by(&deployment, "A")?;
    assert_eq!(standing.ask()?, "B");
    set_metrics(&deployment, Metric { gas: 0, ..Metric::A }, Metric { gas: 0, ..Metric::B })?;
    until_refused(&deployment)?;
    assert_eq!(standing.ask()?, "B");
    set_metrics(&deployment, Metric::A, Metric::B)?;
    until_served_by(&deployment, "B")
}

/// Proves CP-2, CP-26.
#[test]
fn the_flows_of_an_unhealthy_instance_are_never_moved_but_must_be_opened_again() -> Result<()> {
    let deployment = FourNodes::start("four-unhealthy", Links::default())?;
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    set_metrics(&deployment, Metric::A, Metric { health: "unhealthy", ..Metric::B })?;
    until_served_by(&deployment, "A")?;
    let file = deployment.lab.folder().join("a.pcap");
    let capture = Capture::start(&deployment.hosts.instances[0], link::HOST, Direction::Both, "tcp", &file)?;
    assert!(
        standing.ask_within(Duration::from_secs(2)).is_err(),
        "the flow of an unhealthy instance goes on"
    );
    let moved = format!("tcp.port == {}", standing.client()?.port());
    assert_eq!(capture.so_far(&moved, &["ip.src"])?, Vec::<Vec<String>>::new(), "the flow was moved to A");
    let mut again = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    assert_eq!(again.ask()?, "A");
    Ok(())
}

/// Proves CP-24, CP-38, CP-17.
#[test]
fn without_the_path_selector_new_flows_are_dropped_and_established_ones_go_on() -> Result<()> {
    let mut deployment = FourNodes::start("four-no-selector", Links::default())?;
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    deployment.selector.kill("engined")?;
    assert_eq!(new_flow(&deployment), None, "a flow was bound without a path selector");
    assert_eq!(standing.ask()?, "B");
    deployment.selector.start_engined()?;
    until_served_by(&deployment, "B")?;
    assert_eq!(standing.ask()?, "B");
    Ok(())
}

/// Proves CP-23, CP-38.
#[test]
fn an_ingress_that_was_killed_keeps_its_flows_and_takes_new_ones_again() -> Result<()> {
    let mut deployment = FourNodes::start("four-kill-ingress", Links::default())?;
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    deployment.ingress.kill("engined")?;
    assert_eq!(standing.ask()?, "B", "the kernel forwards without the daemon");
    assert_eq!(new_flow(&deployment), None, "a new flow fails closed");
    deployment.ingress.start_engined()?;
    until_steered(&deployment.hosts.client)?;
    assert_eq!(standing.ask()?, "B", "the restarted daemon adopted the flow");
    Ok(())
}

#[test]
fn an_egress_that_was_killed_keeps_delivering() -> Result<()> {
    let mut deployment = FourNodes::start("four-kill-egress", Links::default())?;
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    deployment.egresses[1].kill("engined")?;
    assert_eq!(standing.ask()?, "B");
    deployment.egresses[1].start_engined()?;
    until_served_by(&deployment, "B")?;
    assert_eq!(standing.ask()?, "B");
    Ok(())
}

#[test]
fn every_management_daemon_may_be_killed_under_traffic() -> Result<()> {
    let mut deployment = FourNodes::start("four-kill-mgmtd", Links::default())?;
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    let FourNodes { selector, ingress, egresses: [first, second], .. } = &mut deployment;
    for node in [&mut *selector, &mut *ingress, &mut *first, &mut *second] {
        node.kill("mgmtd")?;
    }
    assert_eq!(standing.ask()?, "B");
    assert_eq!(curl(&deployment.hosts.client, SERVICE[0], &[])?, "B", "new flows need no management daemon");
    let FourNodes { selector, ingress, egresses: [first, second], .. } = &mut deployment;
    for node in [&mut *selector, &mut *ingress, &mut *first, &mut *second] {
        node.start_mgmtd()?;
    }
    set_metrics(&deployment, Metric::A, Metric { computing_time: 60, ..Metric::B })?;
    until_served_by(&deployment, "A")?;
    assert_eq!(standing.ask()?, "B");
    Ok(())
}

/// Proves CP-20.
#[test]
fn an_egress_without_the_delivery_gets_no_flow() -> Result<()> {
    let deployment = FourNodes::start("four-no-delivery", Links::default())?;
    let deliveries = format!(
        "<forwarder xmlns=\"urn:catsd:yang:cats-forwarder\"><egress>\
         <delivery xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" nc:operation=\"delete\">\
         <csci-id>{}</csci-id></delivery></egress></forwarder>",
        INSTANCE_B[0]
    );
    deployment.egresses[1].configure(&cats(&deliveries))?;
    let file = deployment.lab.folder().join("core.pcap");
    wait_for("no new flow to B", || (new_flow(&deployment).as_deref() != Some("B")).then_some(()))?;
    let capture = Capture::start(
        &deployment.hosts.transit,
        link::TRANSIT[2],
        Direction::Out,
        "ip6 and not icmp6",
        &file,
    )?;
    assert_ne!(new_flow(&deployment).as_deref(), Some("B"));
    assert_eq!(capture.so_far("tcp.port == 443", &["ip.dst"])?, Vec::<Vec<String>>::new());
    Ok(())
}

/// Proves CP-14.
#[test]
fn a_path_that_the_ingress_cannot_impose_is_no_path() -> Result<()> {
    let deployment = FourNodes::start("four-capability", Links::default())?;
    let segments = |most: u8| {
        cats(&format!(
            "<forwarder xmlns=\"urn:catsd:yang:cats-forwarder\"><ingress><max-segments>{most}</max-segments>\
             </ingress></forwarder>"
        ))
    };
    deployment.ingress.configure(&segments(1))?;
    until_refused(&deployment)?;
    deployment.ingress.configure(&segments(10))?;
    until_served_by(&deployment, "B")
}

/// Proves CP-2, CP-25.
#[test]
fn a_metric_that_is_past_its_validity_makes_nobody_eligible() -> Result<()> {
    let deployment = FourNodes::start("four-valid-for", Links::default())?;
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    let valid_for = |instance: &str| {
        format!(
            "<service-metric><cs-id>1</cs-id><csci-id>{instance}</csci-id><source-type>static</source-type>\
             <valid-for xmlns=\"urn:catsd:yang:cats-cps\">1</valid-for></service-metric>"
        )
    };
    let entries = valid_for(INSTANCE_A[0]) + &valid_for(INSTANCE_B[0]);
    deployment.selector.configure(&cats(&format!("<service-metrics>{entries}</service-metrics>")))?;
    until_refused(&deployment)?;
    assert_eq!(standing.ask()?, "B");
    // A new entry is valid again from its commit.
    set_metrics(&deployment, Metric::A, Metric { computing_time: 6, ..Metric::B })?;
    wait_for("a new flow", || new_flow(&deployment)).map(drop)
}

/// Proves CP-10.
#[test]
fn packets_that_race_on_one_key_are_bound_once_and_arrive_in_order() -> Result<()> {
    let deployment = FourNodes::start("four-race", Links::default())?;
    let flow = Datagrams::open(&deployment.hosts.client, SERVICE[0])?;
    let texts: Vec<String> = (0..20).map(|i| format!("packet {i}")).collect();
    for text in &texts {
        flow.send(text)?;
    }
    for text in &texts {
        assert_eq!(flow.receive(text)?, "B", "{text} out of its place");
    }
    Ok(())
}

#[test]
fn traffic_that_names_no_service_is_not_steered() -> Result<()> {
    let deployment = FourNodes::start("four-unknown", Links::default())?;
    let file = deployment.lab.folder().join("core.pcap");
    let capture = Capture::start(&deployment.hosts.ingress, link::CORE, Direction::Out, "ip6", &file)?;
    let stray = deployment.hosts.client.enter(|| -> std::io::Result<()> {
        let socket = std::net::UdpSocket::bind(("0.0.0.0", 0))?;
        socket.send_to(b"stray", (SERVICE[0], 4444)).map(drop)
    });
    stray?.map_err(cats_conformance::LabError::of("sending to a port without a service"))?;
    assert_eq!(new_flow(&deployment).as_deref(), Some("B"));
    wait_for("the steered flow in the core", || {
        capture.so_far("tcp.port == 443", &["ip.dst"]).ok().filter(|packets| !packets.is_empty())
    })?;
    assert_eq!(capture.so_far("udp.port == 4444", &["ip.dst"])?, Vec::<Vec<String>>::new());
    Ok(())
}

#[test]
fn a_path_selector_that_is_killed_in_the_midst_of_commits_comes_back_with_the_last_one() -> Result<()> {
    let mut deployment = FourNodes::start("four-kill-commit", Links::default())?;
    let mut session = deployment.selector.netconf()?;
    let slow = Metric { computing_time: 60, ..Metric::B };
    for round in 0..3 {
        for b in [slow, Metric::B, slow, Metric::B] {
            session.send(&format!(
                "<edit-config><target><candidate/></target><config>{}</config></edit-config>",
                cats(&metrics(Metric::A, b))
            ))?;
            session.send("<commit/>")?;
        }
        session.receive()?;
        deployment.selector.kill("engined")?;
        for _ in 0..7 {
            session.receive()?;
        }
        // Commits go on without the engine; it is brought up to date when it is back.
        let last = if round % 2 == 0 { slow } else { Metric::B };
        deployment.selector.configure(&cats(&metrics(Metric::A, last)))?;
        deployment.selector.start_engined()?;
        until_served_by(&deployment, if round % 2 == 0 { "A" } else { "B" })?;
    }
    Ok(())
}

/// Proves CP-12, CP-27.
#[test]
fn a_forwarder_with_the_certificate_of_another_gets_no_binding() -> Result<()> {
    let deployment = FourNodes::start_unconfigured("four-identity", Links::default())?;
    deployment.configure()?;
    until_steered(&deployment.hosts.client)?;
    let files = deployment.authority.issue("impostor", &["cats:fwd:EF-1"])?;
    deployment.ingress.configure(&ingress(&files))?;
    until_refused(&deployment)?;
    // The right certificate heals it.
    let files = deployment.certificate(cats_conformance::layout::INGRESS)?;
    deployment.ingress.configure(&ingress(&files))?;
    until_served_by(&deployment, "B")
}

/// Proves CP-18.
#[test]
fn a_packet_of_an_instance_without_a_binding_never_reaches_the_client() -> Result<()> {
    let deployment = FourNodes::start("four-reverse", Links::default())?;
    let client = &deployment.hosts.client;
    let file = deployment.lab.folder().join("client.pcap");
    let capture = Capture::start(client, link::HOST, Direction::In, "udp", &file)?;
    let core_file = deployment.lab.folder().join("core.pcap");
    let core = Capture::start(&deployment.hosts.ingress, link::CORE, Direction::In, "ip6", &core_file)?;
    // B sends what no client asked for, then a flow that one did ask for shows that the way is open.
    let sender = deployment.hosts.instances[1].enter(|| std::net::UdpSocket::bind((INSTANCE_B[0], 4000)));
    let sender = sender?.map_err(cats_conformance::LabError::of("opening a socket at B"))?;
    sender
        .send_to(b"unasked", (CLIENT[0], 4001))
        .map_err(cats_conformance::LabError::of("sending from B"))?;
    wait_for("the unasked packet at IF-1", || {
        core.so_far("udp.port == 4001", &["udp.port"]).ok().filter(|packets| !packets.is_empty())
    })?;
    assert_eq!(Datagrams::open(client, SERVICE[0])?.ask("asked")?, "B");
    wait_for("the asked answer in the client's capture", || {
        capture.so_far("udp.srcport == 443", &["ip.src"]).ok().filter(|packets| !packets.is_empty())
    })?;
    assert_eq!(capture.so_far("udp.port == 4001", &["ip.src"])?, Vec::<Vec<String>>::new());
    Ok(())
}

#[test]
fn udp_flows_are_steered_over_both_families() -> Result<()> {
    let deployment = FourNodes::start("four-udp", Links::default())?;
    for service in SERVICE {
        let flow = Datagrams::open(&deployment.hosts.client, service)?;
        for text in ["one", "two", "three"] {
            assert_eq!(flow.ask(text)?, "B", "{service}");
        }
    }
    Ok(())
}

#[test]
fn full_size_segments_are_clamped_to_what_the_path_carries() -> Result<()> {
    let deployment = FourNodes::start("four-mss", Links::default())?;
    let file = deployment.lab.folder().join("instance.pcap");
    let capture = Capture::start(&deployment.hosts.instances[1], link::HOST, Direction::Both, "tcp", &file)?;
    for service in SERVICE {
        let mut connection = Connection::open(&deployment.hosts.client, service)?;
        assert_eq!(connection.get_bytes(300_000)?, 300_000, "{service}");
    }
    let sizes = wait_for("the SYNs in the instance's capture", || {
        let found = capture
            .so_far("tcp.flags.syn == 1 && tcp.dstport == 443", &["ip.version", "tcp.options.mss_val"]);
        found.ok().filter(|packets| packets.len() >= 2)
    })?;
    for packet in sizes {
        let mss: u32 = packet[1].parse().unwrap_or_default();
        // Outer IPv6 header 40, segment routing header 8 + 16 for one more segment; inner headers 40 or 60.
        let most = 1500 - 40 - 24 - if packet[0].is_empty() { 60 } else { 40 };
        assert!((500..=most).contains(&mss), "{packet:?}: {most} at most");
    }
    Ok(())
}

#[test]
fn bulk_data_crosses_in_both_directions_whatever_the_hosts_leave_to_their_links() -> Result<()> {
    for (name, links) in [
        ("small", Links { offload: true, ..Links::default() }),
        ("large", Links { offload: true, core: 1700, ..Links::default() }),
    ] {
        let deployment = FourNodes::start(&format!("four-bulk-{name}"), links)?;
        for service in SERVICE {
            let mut connection = Connection::open(&deployment.hosts.client, service)?;
            assert_eq!(connection.get_bytes(5_000_000)?, 5_000_000, "{name}, from {service}");
            assert_eq!(connection.post_bytes(5_000_000)?, 5_000_000, "{name}, to {service}");
        }
    }
    Ok(())
}

/// Proves CP-22.
#[test]
fn a_slot_is_held_as_long_as_the_flow_and_free_once_it_has_idled_out() -> Result<()> {
    let deployment = FourNodes::start_unconfigured("four-idle", Links::default())?;
    let short = "<base><flow-timeout>2</flow-timeout></base><path-selector xmlns=\"urn:catsd:yang:cats-cps\">\
                 <deadlines><draining>1</draining></deadlines></path-selector>";
    deployment.selector.configure(&cats(short))?;
    deployment.configure()?;
    until_steered(&deployment.hosts.client)?;
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    // B takes one flow, and has it: new ones go to A.
    set_metrics(&deployment, Metric::A, Metric { gas: 1, ..Metric::B })?;
    until_served_by(&deployment, "A")?;
    assert_eq!(new_flow(&deployment).as_deref(), Some("A"));
    assert_eq!(standing.ask()?, "B");
    until_served_by(&deployment, "B")
}

/// Proves CP-3, CP-14.
#[test]
fn without_a_path_to_the_selected_egress_the_flow_is_refused() -> Result<()> {
    let deployment = FourNodes::start("four-no-path", Links::default())?;
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    let links = |enabled: bool| {
        cats(&format!(
            "<path-computation xmlns=\"urn:catsd:yang:cats-pce\"><topology><link><from>T</from><to>{}</to>\
             <enabled>{enabled}</enabled></link></topology></path-computation>",
            EGRESS_B.name
        ))
    };
    deployment.selector.configure(&links(false))?;
    until_refused(&deployment)?;
    assert_eq!(standing.ask()?, "B");
    deployment.selector.configure(&links(true))?;
    until_served_by(&deployment, "B")
}
