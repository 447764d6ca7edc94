//! Ingress and egress in different nodes, with a real kernel. Every test here needs root and iproute2.

#![allow(clippy::unwrap_used, clippy::panic, clippy::too_many_lines)] // tests

mod lab;

use cats_datapath_core::{Backend, DropReason, PlaneDrop};
use cats_engine_types::{BindingEvent, Encaps, Encapsulation, FlowKey, Protocol};
use lab::capture::{Capture, srv6};
use lab::traffic::{Echo, local, ping, tcp_echo, udp};
use lab::{
    CLIENT4, Chain, EGRESS_SID4, EGRESS_SID6, INSTANCE4, INSTANCE6, RETURN_SID4, RETURN_SID6, Running,
    SERVICE4, SERVICE6, TRANSIT_SID, binding, egress, ingress, to_egress, wait_for,
};
use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

fn steered(chain: &Chain, mode: Encaps) -> Running {
    Running::start(&chain.ingress, &ingress(), move |request| {
        Some(binding(request, None, to_egress(mode, &request.key)))
    })
}

/// Source and destination of an IP packet, as text.
fn ends(packet: &[u8]) -> (String, String) {
    let v6 = |at: usize| Ipv6Addr::from(<[u8; 16]>::try_from(&packet[at..at + 16]).unwrap()).to_string();
    let v4 =
        |at: usize| std::net::Ipv4Addr::from(<[u8; 4]>::try_from(&packet[at..at + 4]).unwrap()).to_string();
    if packet[0] >> 4 == 4 { (v4(12), v4(16)) } else { (v6(8), v6(24)) }
}

fn holds(packet: &[u8], text: &[u8]) -> bool {
    packet.windows(text.len()).any(|window| window == text)
}

/// The maximum segment size of a TCP SYN.
fn mss(segment: &[u8]) -> Option<u16> {
    let end = usize::from(segment[12] >> 4) * 4;
    let mut at = 20;
    while at < end {
        match segment[at] {
            1 => at += 1,
            2 => return Some(u16::from_be_bytes([segment[at + 2], segment[at + 3]])),
            _ => at += usize::from(segment[at + 1]),
        }
    }
    None
}

/// Needs root.
///
/// Proves CP-9, CP-10, CP-15, CP-16, CP-17.
#[test]
fn tcp_and_udp_of_both_families_reach_the_instance_and_come_back() {
    for mode in [Encaps::Reduced, Encaps::Full] {
        let chain = Chain::new();
        let _echo = Echo::start(&chain.instance, 443);
        let egress = Running::start(&chain.egress, &egress(), |_| None);
        let ingress = steered(&chain, mode);
        for service in [SERVICE4, SERVICE6] {
            tcp_echo(&chain.client, service, 300_000).unwrap();
            let socket = udp(&chain.client, local(service, 0), service);
            for text in [&b"first"[..], b"second", b"third"] {
                ping(&socket, text).unwrap();
            }
        }
        let installed = || {
            let told = ingress.told.lock().unwrap();
            told.statuses.iter().filter(|status| status.event == BindingEvent::Installed).count()
        };
        wait_for("all are reported", || installed() == 4);
        let requests = ingress.told.lock().unwrap().requests.clone();
        assert_eq!(requests.len(), 4, "one request a flow");
        assert!(requests.iter().all(|request| request.tenant.0 == 7));
        let counters = ingress.counters();
        assert_eq!(counters.services.len(), 4);
        assert!(counters.services.values().all(|tally| tally.packets >= 3), "{counters:?}");
        assert!(counters.reverse.packets >= 12);
        assert!(egress.counters().delivered.packets >= 12);
    }
}

/// Needs root.
///
/// Proves CP-15, CP-16, CP-18, CP-35.
#[test]
fn the_four_captures_show_the_transformation_of_the_example() {
    for (service, client, instance, last, back) in [
        (SERVICE4, CLIENT4, INSTANCE4, EGRESS_SID4, RETURN_SID4),
        (SERVICE6, lab::CLIENT6, INSTANCE6, EGRESS_SID6, RETURN_SID6),
    ] {
        let chain = Chain::new();
        let _echo = Echo::start(&chain.instance, 443);
        let _egress = Running::start(&chain.egress, &egress(), |_| None);
        let _ingress = steered(&chain, Encaps::Reduced);
        let west = Capture::start(&chain.transit, "west");
        let east = Capture::start(&chain.transit, "east");
        let site = Capture::start(&chain.instance, "net");
        let access = Capture::start(&chain.client, "net");
        let socket = udp(&chain.client, local(service, 51000), service);
        ping(&socket, b"the request").unwrap();
        let address = service.parse::<SocketAddr>().unwrap().ip().to_string();
        let (client, instance) = (client.to_owned(), instance.to_owned());

        let towards = |side: &Capture, sid: &str| {
            side.find(sid, |packet| {
                srv6(packet).is_some_and(|outer| {
                    outer.destination == sid.parse::<Ipv6Addr>().unwrap()
                        && holds(&outer.inner, b"the request")
                })
            })
        };
        let outer = srv6(&towards(&west, TRANSIT_SID)).unwrap();
        assert_eq!(outer.source, "fd00::1".parse::<Ipv6Addr>().unwrap());
        assert_eq!(outer.segments_left, Some(1), "reduced: the first segment is only the destination");
        assert_eq!(ends(&outer.inner), (client.clone(), instance.clone()));
        assert_eq!(ends(&srv6(&towards(&east, last)).unwrap().inner), (client.clone(), instance.clone()));
        let at_instance = site.find("at the instance", |packet| holds(packet, b"the request"));
        assert_eq!(ends(&at_instance), (client.clone(), instance.clone()));
        assert_eq!(ends(&srv6(&towards(&west, back)).unwrap().inner), (instance, client.clone()));
        let returned =
            access.find("at the client", |packet| holds(packet, b"the request") && ends(packet).1 == client);
        assert_eq!(ends(&returned), (address, client));
    }
}

/// Needs root.
///
/// Proves CP-10, CP-15.
#[test]
fn packets_held_for_a_binding_arrive_in_their_order_and_before_later_ones() {
    let chain = Chain::new();
    let _egress = Running::start(&chain.egress, &egress(), |_| None);
    let ingress = Running::start(&chain.ingress, &ingress(), |request| {
        let other = request.key.client().port() == 50999;
        other.then(|| binding(request, None, to_egress(Encaps::Reduced, &request.key)))
    });
    let sink = chain.instance.inside(|| {
        let sink = std::net::UdpSocket::bind("0.0.0.0:443").unwrap();
        sink.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        sink
    });
    // All neighbours on the way are resolved by another flow.
    udp(&chain.client, local(SERVICE4, 50999), SERVICE4).send(b"first").unwrap();
    sink.recv(&mut [0; 16]).unwrap();
    let socket = udp(&chain.client, local(SERVICE4, 51000), SERVICE4);
    for number in 0..20u32 {
        socket.send(&number.to_be_bytes()).unwrap();
    }
    wait_for("held", || ingress.with(|s| s.forwarder().ingress().occupancy().held_packets) == 20);
    let request = ingress.told.lock().unwrap().requests[1].clone();
    assert_eq!(ingress.told.lock().unwrap().requests.len(), 2, "later packets join");
    let answer = binding(&request, None, to_egress(Encaps::Reduced, &request.key));
    ingress.with(move |s| s.forwarder().ingress().handle_binding(answer, std::time::Instant::now()));
    for number in 20..60u32 {
        socket.send(&number.to_be_bytes()).unwrap();
    }
    let mut buffer = [0; 16];
    let arrived: Vec<u32> = (0..60)
        .map(|_| {
            if let Err(error) = sink.recv(&mut buffer) {
                let drops = ingress.with(|s| s.forwarder().ingress().drops().clone());
                panic!("{error}: {drops:?} {:?}", ingress.counters());
            }
            u32::from_be_bytes(buffer[..4].try_into().unwrap())
        })
        .collect();
    assert_eq!(arrived[..20], (0..20).collect::<Vec<u32>>());
    let every: std::collections::BTreeSet<u32> = arrived.into_iter().collect();
    assert_eq!(every.len(), 60, "each arrives once");
}

/// Needs root.
///
/// Proves CP-24.
#[test]
fn without_an_answer_the_packet_is_dropped_at_the_deadline_and_a_late_binding_is_not_installed() {
    let chain = Chain::new();
    let mut config = ingress();
    config.ingress.as_mut().unwrap().hold = Duration::from_millis(50);
    let ingress = Running::start(&chain.ingress, &config, |_| None);
    let socket = udp(&chain.client, local(SERVICE4, 51000), SERVICE4);
    socket.send(b"lost").unwrap();
    wait_for("dropped", || {
        ingress.with(|s| s.forwarder().ingress().drops().get(&DropReason::HoldExpired).copied()) == Some(1)
    });
    let request = ingress.told.lock().unwrap().requests[0].clone();
    let late = binding(&request, None, to_egress(Encaps::Reduced, &request.key));
    ingress.with(move |s| s.forwarder().ingress().handle_binding(late, std::time::Instant::now()));
    wait_for("refused", || !ingress.told.lock().unwrap().statuses.is_empty());
    let status = ingress.told.lock().unwrap().statuses[0].event.clone();
    assert!(matches!(status, BindingEvent::InstallFailed(_)), "{status:?}");
    assert_eq!(ingress.with(|s| s.forwarder().backend().adopt().unwrap()), []);
}

/// Needs root.
///
/// Proves CP-18.
#[test]
fn return_traffic_without_a_binding_is_dropped_and_counted() {
    let chain = Chain::new();
    let _egress = Running::start(&chain.egress, &egress(), |_| None);
    let ingress = steered(&chain, Encaps::Reduced);
    let heard = Capture::start(&chain.client, "net");
    for (from, client) in [("0.0.0.0:443", "192.0.2.10:4000"), ("[::]:443", "[2001:db8:c::10]:4000")] {
        let before = ingress.drops(PlaneDrop::ReverseWithoutBinding);
        chain.instance.inside(move || {
            let socket = std::net::UdpSocket::bind(from).unwrap();
            socket.send_to(b"unasked", client).unwrap();
        });
        wait_for("counted", || ingress.drops(PlaneDrop::ReverseWithoutBinding) == before + 1);
    }
    assert!(!heard.all().iter().any(|packet| holds(packet, b"unasked")));
    assert_eq!(ingress.told.lock().unwrap().requests, [], "and selects nothing");
}

/// Needs root.
///
/// Proves CP-18.
#[test]
fn return_traffic_of_a_family_without_services_ends_at_its_sid_and_is_counted() {
    let chain = Chain::new();
    let _egress = Running::start(&chain.egress, &egress(), |_| None);
    let mut config = ingress();
    let role = config.ingress.as_mut().unwrap();
    role.services.retain(|service, _| service.address.is_ipv4());
    role.on_link.retain(std::net::IpAddr::is_ipv4);
    let _echo = Echo::start(&chain.instance, 443);
    let ingress = Running::start(&chain.ingress, &config, |request| {
        Some(binding(request, None, to_egress(Encaps::Reduced, &request.key)))
    });
    let heard = Capture::start(&chain.client, "net");
    chain.instance.inside(|| {
        let socket = std::net::UdpSocket::bind("[::]:4430").unwrap();
        socket.send_to(b"unasked", "[2001:db8:c::10]:4000").unwrap();
    });
    wait_for("counted", || ingress.drops(PlaneDrop::ReverseWithoutBinding) == 1);
    assert!(!heard.all().iter().any(|packet| holds(packet, b"unasked")));
    ping(&udp(&chain.client, local(SERVICE4, 0), SERVICE4), b"the other family").unwrap();
    ingress.with(|s| s.reconfigure(&lab::ingress(), std::time::Instant::now()).unwrap());
    ping(&udp(&chain.client, local(SERVICE6, 0), SERVICE6), b"now served").unwrap();
}

/// Needs root.
///
/// Proves CP-16, CP-20.
#[test]
fn an_egress_delivers_only_what_is_provisioned() {
    let chain = Chain::new();
    let mut config = egress();
    config.egress.as_mut().unwrap().deliveries.retain(|d| d.locator.address.is_ipv6());
    let egress = Running::start(&chain.egress, &config, |_| None);
    let _ingress = steered(&chain, Encaps::Reduced);
    let site = Capture::start(&chain.instance, "net");
    let socket = udp(&chain.client, local(SERVICE4, 51000), SERVICE4);
    socket.send(b"not provisioned").unwrap();
    wait_for("counted", || egress.drops(PlaneDrop::Undelivered) == 1);
    let socket = udp(&chain.client, local(SERVICE6, 51000), SERVICE6);
    socket.send(b"is provisioned").unwrap();
    site.find("delivered", |packet| holds(packet, b"is provisioned"));
    assert!(!site.all().iter().any(|packet| holds(packet, b"not provisioned")));
}

/// Needs root.
///
/// Proves CP-15.
#[test]
fn the_segment_size_of_both_ends_is_clamped_to_the_path() {
    let chain = Chain::new();
    let _echo = Echo::start(&chain.instance, 443);
    let _egress = Running::start(&chain.egress, &egress(), |_| None);
    let _ingress = steered(&chain, Encaps::Reduced);
    // Two segments, reduced: an outer header of 40 and a routing header of 24 octets.
    for (service, header, expected) in [(SERVICE4, 20, 1500 - 64 - 40), (SERVICE6, 40, 1500 - 64 - 60)] {
        let site = Capture::start(&chain.instance, "net");
        let access = Capture::start(&chain.client, "net");
        tcp_echo(&chain.client, service, 100_000).unwrap();
        let address = service.parse::<SocketAddr>().unwrap().ip().to_string();
        let protocol = if header == 20 { 9 } else { 6 };
        let of_kind = |packet: &[u8], flags: u8| packet[protocol] == 6 && packet[header + 13] & 0x12 == flags;
        let syn = site.find("SYN", |packet| of_kind(packet, 0x02));
        assert_eq!(mss(&syn[header..]), Some(expected));
        let answer = access.find("SYN ACK", |packet| of_kind(packet, 0x12) && ends(packet).0 == address);
        assert_eq!(mss(&answer[header..]), Some(expected));
    }
}

/// Needs root.
///
/// Proves CP-15.
#[test]
fn the_hop_limit_falls_by_one_at_the_ingress_and_its_end_is_answered() {
    let chain = Chain::new();
    let _egress = Running::start(&chain.egress, &egress(), |_| None);
    let ingress = steered(&chain, Encaps::Reduced);
    for (service, at) in [(SERVICE4, 8), (SERVICE6, 7)] {
        let core = Capture::start(&chain.transit, "west");
        let access = Capture::start(&chain.client, "net");
        let socket = udp(&chain.client, local(service, 51000), service);
        let set = |limit: u32| {
            let socket = socket2::SockRef::from(&socket);
            if at == 8 { socket.set_ttl_v4(limit) } else { socket.set_unicast_hops_v6(limit) }.unwrap();
        };
        // What hosts send most has a rule of its own.
        for limit in [10, 64, 255, 64] {
            set(limit);
            let text = format!("passes with {limit}");
            socket.send(text.as_bytes()).unwrap();
            let outer = core.find("encapsulated", |packet| {
                srv6(packet).is_some_and(|outer| holds(&outer.inner, text.as_bytes()))
            });
            assert_eq!(u32::from(srv6(&outer).unwrap().inner[at]), limit - 1);
        }
        set(1);
        socket.send(b"expires").unwrap();
        let kind: &[u8] = if at == 8 { &[11, 0] } else { &[3, 0] };
        let header = if at == 8 { 20 } else { 40 };
        access
            .find("time exceeded", |packet| packet[header..].starts_with(kind) && holds(packet, b"expires"));
        assert!(!core.all().iter().any(|packet| holds(packet, b"expires")));
    }
    assert_eq!(ingress.told.lock().unwrap().requests.len(), 2);
}

/// Needs root.
///
/// Proves CP-15.
#[test]
fn a_datagram_too_large_for_the_path_is_answered_under_the_service_address() {
    let chain = Chain::new();
    let _echo = Echo::start(&chain.instance, 443);
    let _egress = Running::start(&chain.egress, &egress(), |_| None);
    let _ingress = steered(&chain, Encaps::Reduced);
    for service in [SERVICE4, SERVICE6] {
        let socket = udp(&chain.client, local(service, 51000), service);
        // Linux sends UDP with DF set as long as it believes the path to be wide enough.
        if service == SERVICE4 {
            chain.client.sysctl("net.ipv4.ip_no_pmtu_disc=0");
        }
        ping(&socket, b"small").unwrap();
        let headers = if service == SERVICE4 { 28 } else { 48 };
        // The first fills the client's link; the answer to it must reach the client's own path MTU.
        socket.send(&vec![0; 1500 - headers]).unwrap();
        let address = service.parse::<SocketAddr>().unwrap().ip();
        wait_for("the client knows the path's MTU", || {
            chain.client.output(&format!("ip route get {address}")).contains("mtu 1436")
        });
    }
}

/// Needs root.
#[test]
fn a_port_of_the_locator_replaces_the_services_port() {
    let chain = Chain::new();
    let _echo = Echo::start(&chain.instance, 8443);
    let _egress = Running::start(&chain.egress, &egress(), |_| None);
    let _ingress = Running::start(&chain.ingress, &ingress(), |request| {
        Some(binding(request, Some(8443), to_egress(Encaps::Reduced, &request.key)))
    });
    for service in [SERVICE4, SERVICE6] {
        tcp_echo(&chain.client, service, 50_000).unwrap();
        ping(&udp(&chain.client, local(service, 0), service), b"other port").unwrap();
    }
}

/// Needs root.
///
/// Proves CP-22, CP-37.
#[test]
fn a_path_lives_as_long_as_a_binding_uses_it() {
    let chain = Chain::new();
    let _echo = Echo::start(&chain.instance, 443);
    let _egress = Running::start(&chain.egress, &egress(), |_| None);
    let ingress = steered(&chain, Encaps::Reduced);
    let sockets = [51000, 51001].map(|port| udp(&chain.client, local(SERVICE4, port), SERVICE4));
    for socket in &sockets {
        ping(socket, b"bound").unwrap();
    }
    let routes = || chain.ingress.output("ip -4 route show proto 202");
    assert!(routes().contains("encap seg6"), "{}", routes());
    for (socket, left) in sockets.iter().zip([true, false]) {
        let client: SocketAddr =
            format!("{CLIENT4}:{}", socket.local_addr().unwrap().port()).parse().unwrap();
        let key = FlowKey::new(Protocol::UDP, client, SERVICE4.parse().unwrap()).unwrap();
        let transaction = {
            let told = ingress.told.lock().unwrap();
            told.requests.iter().find(|request| request.key == key).unwrap().transaction
        };
        ingress.with(move |s| {
            let reason = cats_engine_types::RemovalReason::Requested;
            s.forwarder().ingress().handle_removal(key, transaction, reason, std::time::Instant::now());
        });
        wait_for("removed", || {
            let told = ingress.told.lock().unwrap();
            told.statuses
                .iter()
                .any(|status| status.key == key && matches!(status.event, BindingEvent::Removed { .. }))
        });
        assert_eq!(routes().contains("encap seg6"), left, "{}", routes());
    }
}

/// Needs root.
///
/// Proves CP-26.
#[test]
fn a_path_repair_takes_over_without_a_lost_packet() {
    let chain = Chain::new();
    let _echo = Echo::start(&chain.instance, 443);
    let _egress = Running::start(&chain.egress, &egress(), |_| None);
    let ingress = steered(&chain, Encaps::Reduced);
    let socket = udp(&chain.client, local(SERVICE4, 51000), SERVICE4);
    ping(&socket, b"first path").unwrap();
    let request = ingress.told.lock().unwrap().requests[0].clone();
    let mut repaired = binding(&request, None, lab::srv6(Encaps::Full, &[TRANSIT_SID, EGRESS_SID4]));
    repaired.version = 2;
    let core = Capture::start(&chain.transit, "west");
    ingress.with(move |s| s.forwarder().ingress().handle_binding(repaired, std::time::Instant::now()));
    wait_for("installed", || ingress.told.lock().unwrap().statuses.len() == 2);
    let statuses = ingress.told.lock().unwrap().statuses.clone();
    assert!(statuses.iter().all(|status| status.event == BindingEvent::Installed), "{statuses:?}");
    for number in 0..100u32 {
        ping(&socket, &number.to_be_bytes()).unwrap();
    }
    let outer = core.find("on the new path", |packet| {
        srv6(packet).is_some_and(|o| packet.len() - o.inner.len() == 40 + 8 + 32)
    });
    assert_eq!(srv6(&outer).unwrap().segments_left, Some(1), "both segments are listed");
    assert_eq!(ingress.told.lock().unwrap().requests.len(), 1);
    let kept = ingress.with(|s| s.forwarder().ingress().bindings(None, 10));
    assert!(matches!(&kept[0].forward.path.encapsulation, Encapsulation::Srv6 { mode: Encaps::Full, .. }));
}

/// A client that encapsulates towards a segment of the ingress could send another client answers in an instance's
/// name. Needs root.
#[test]
fn a_client_reaches_no_segment_of_the_ingress() {
    let chain = Chain::new();
    let _egress = Running::start(&chain.egress, &egress(), |_| None);
    let _echo = Echo::start(&chain.instance, 443);
    let ingress = steered(&chain, Encaps::Reduced);
    chain.client.ip("route add fc00:1::/32 via 2001:db8:c::1");
    chain.client.ip("route add 2001:db8:99::/64 encap seg6 mode encap segs fc00:1::6 dev net");
    chain.client.inside(|| {
        let socket = std::net::UdpSocket::bind("[2001:db8:c::10]:4000").unwrap();
        socket.send_to(b"smuggled", "[2001:db8:99::9]:4000").unwrap();
    });
    wait_for("counted", || ingress.drops(PlaneDrop::SegmentFromAccess) == 1);
    ping(&udp(&chain.client, local(SERVICE4, 0), SERVICE4), b"still served").unwrap();
}
