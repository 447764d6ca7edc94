//! All roles in one node, and what concerns one node alone, with a real kernel. Every test here needs root
//! and iproute2.

#![allow(clippy::unwrap_used, clippy::panic, clippy::too_many_lines)] // tests

mod lab;

use cats_datapath_core::{Backend, DropReason, Install, PendingLimits, PlaneDrop};
use cats_datapath_kernel::{NftBackend, PuntQueue};
use cats_engine_types::{
    BindingEvent, DeliveryState, Encaps, Encapsulation, FlowKey, InstallFailure, Protocol, RemovalReason,
    ServiceRequest, TransactionId,
};
use lab::traffic::{Echo, local, ping, tcp_echo, udp};
use lab::{Running, SERVICE4, SERVICE6, Single, binding, ingress, node, single, to_egress, wait_for};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn plain(lab: &Single) -> Running {
    Running::start(&lab.node, &single(), |request| Some(binding(request, None, Encapsulation::None)))
}

fn request(port: u16, service: &str, protocol: Protocol) -> ServiceRequest {
    let client = if !service.starts_with('[') { lab::CLIENT4 } else { lab::CLIENT6 };
    let client = std::net::SocketAddr::new(client.parse().unwrap(), port);
    ServiceRequest {
        transaction: TransactionId { epoch: 1, sequence: u64::from(port) },
        ingress: node("N-1"),
        key: FlowKey::new(protocol, client, service.parse().unwrap()).unwrap(),
        cs_id: None,
        constraints: cats_engine_types::Constraints::default(),
        tenant: cats_engine_types::TenantId(0),
        generation: None,
    }
}

fn install(port: u16, service: &str) -> Install {
    let binding = binding(&request(port, service, Protocol::UDP), None, Encapsulation::None);
    Install { binding: Arc::new(binding), replaces: None, staged: false }
}

/// Needs root.
///
/// Proves CP-9, CP-15, CP-17, CP-18.
#[test]
fn one_node_with_all_roles_steers_tcp_and_udp_of_both_families() {
    let lab = Single::new();
    let _echo = Echo::start(&lab.instance, 443);
    let node = plain(&lab);
    for service in [SERVICE4, SERVICE6] {
        tcp_echo(&lab.client, service, 300_000).unwrap();
        ping(&udp(&lab.client, local(service, 0), service), b"one node").unwrap();
    }
    assert_eq!(node.told.lock().unwrap().requests.len(), 4);
    lab.instance.inside(|| {
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.send_to(b"own traffic of the instance", "192.0.2.10:4000").unwrap();
    });
    assert_eq!(node.drops(PlaneDrop::ReverseWithoutBinding), 0, "another port than a service's");
}

/// Needs root.
///
/// Proves CP-18.
#[test]
fn an_instance_that_speaks_from_a_service_port_without_a_binding_is_not_heard() {
    let lab = Single::new();
    let node = plain(&lab);
    lab.instance.inside(|| {
        let socket = std::net::UdpSocket::bind("0.0.0.0:443").unwrap();
        socket.send_to(b"unasked", "192.0.2.10:4000").unwrap();
    });
    wait_for("counted", || node.drops(PlaneDrop::ReverseWithoutBinding) == 1);
}

/// Needs root.
///
/// Proves CP-22, CP-37.
#[test]
fn an_idle_flow_ends_in_both_directions_and_a_busy_one_stays() {
    let lab = Single::new();
    let _echo = Echo::start(&lab.instance, 443);
    let mut config = single();
    config.ingress.as_mut().unwrap().idle_poll = Duration::from_millis(50);
    let node = Running::start(&lab.node, &config, |request| {
        let mut binding = binding(request, None, Encapsulation::None);
        binding.lifetime.idle = Some(Duration::from_millis(400));
        Some(binding)
    });
    let idle = udp(&lab.client, local(SERVICE4, 51000), SERVICE4);
    let busy = udp(&lab.client, local(SERVICE4, 51001), SERVICE4);
    ping(&idle, b"once").unwrap();
    let removed = |port: u16| {
        let told = node.told.lock().unwrap();
        told.statuses.iter().any(|status| {
            let event = matches!(status.event, BindingEvent::Removed { reason: RemovalReason::Idle, .. });
            event && status.key.client().port() == port
        })
    };
    wait_for("the idle flow ends", || {
        ping(&busy, b"again").unwrap();
        removed(51000)
    });
    assert!(!removed(51001));
    let installed = node.with(|s| s.forwarder().backend().adopt().unwrap());
    assert_eq!(installed.len(), 1);
    let kept = node.with(|s| s.forwarder().ingress().bindings(None, 10));
    assert_eq!(kept.len(), 1);
    ping(&idle, b"a new flow").unwrap();
    assert_eq!(node.told.lock().unwrap().requests.len(), 3);
}

/// Needs root.
///
/// Proves CP-22.
#[test]
fn the_kernel_ends_a_flow_at_its_hard_lifetime_without_us() {
    let lab = Single::new();
    lab.node.inside(|| {
        let mut backend = NftBackend::open(node("N-1")).unwrap();
        backend.apply_static(&single()).unwrap();
        let mut install = install(1, SERVICE4);
        Arc::get_mut(&mut install.binding).unwrap().lifetime.hard = Some(Duration::from_millis(300));
        let binding = install.binding.clone();
        assert_eq!(backend.commit(&[install]), [Ok(())]);
        let bindings = [binding];
        assert_eq!(backend.adopt().unwrap().len(), 1);
        wait_for("gone", || backend.last_used(&bindings).unwrap() == [None]);
        // Removing what is gone is no error.
        backend.remove(&bindings).unwrap();
    });
}

/// Needs root.
///
/// Proves CP-23, CP-24.
#[test]
fn after_kill_flows_live_on_new_ones_fail_closed_and_a_restart_adopts_them() {
    let lab = lab::Chain::new();
    let _echo = Echo::start(&lab.instance, 443);
    let _egress = Running::start(&lab.egress, &lab::egress(), |_| None);
    let policy =
        |request: &ServiceRequest| Some(binding(request, None, to_egress(Encaps::Reduced, &request.key)));
    let first = Running::start(&lab.ingress, &ingress(), policy);
    let sockets = [SERVICE4, SERVICE6].map(|service| udp(&lab.client, local(service, 51000), service));
    for socket in &sockets {
        ping(socket, b"before").unwrap();
    }
    let before = first.with(|s| s.forwarder().ingress().bindings(None, 10));
    wait_for("activated", || {
        first.with(|s| s.forwarder().backend().adopt().unwrap()).iter().all(|a| !a.staged)
    });
    first.abandon();
    for socket in &sockets {
        for _ in 0..100 {
            ping(socket, b"meanwhile").unwrap();
        }
    }
    let new = udp(&lab.client, local(SERVICE4, 52000), SERVICE4);
    new.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(ping(&new, b"nobody decides").is_err());

    let second = Running::start(&lab.ingress, &ingress(), policy);
    wait_for("restored", || second.told.lock().unwrap().statuses.len() == 2);
    let told = std::mem::take(&mut second.told.lock().unwrap().statuses);
    assert!(told.iter().all(|status| matches!(status.event, BindingEvent::Restored(_))), "{told:?}");
    let after = second.with(|s| s.forwarder().ingress().bindings(None, 10));
    assert_eq!(after, before, "destination, reverse tuple, path and epoch are as they were");
    second.with(|s| s.forwarder().backend().prune().unwrap());
    for socket in &sockets {
        ping(socket, b"after").unwrap();
    }
    assert_eq!(second.told.lock().unwrap().requests, [], "nothing was asked for again");
}

/// Needs root.
///
/// Proves CP-28.
#[test]
fn a_full_table_refuses_and_harms_nobody() {
    let lab = Single::new();
    lab.node.inside(|| {
        let mut config = single();
        config.ingress.as_mut().unwrap().flow_limit = 8;
        let mut backend = NftBackend::open(node("N-1")).unwrap();
        backend.apply_static(&config).unwrap();
        let installs: Vec<Install> = (1..=12).map(|port| install(port, SERVICE4)).collect();
        let results = backend.commit(&installs);
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 8, "{results:?}");
        assert!(results.iter().all(|r| matches!(r, Ok(()) | Err(InstallFailure::Full))), "{results:?}");
        assert_eq!(backend.adopt().unwrap().len(), 8);
    });
}

/// Needs root.
///
/// Proves CP-28.
#[test]
fn another_flow_limit_takes_effect_and_a_restart_finds_the_one_that_holds() {
    let lab = Single::new();
    lab.node.inside(|| {
        let with_limit = |limit| {
            let mut config = single();
            config.ingress.as_mut().unwrap().flow_limit = limit;
            config
        };
        let full = |results: Vec<Result<(), InstallFailure>>| results.iter().filter(|r| r.is_err()).count();
        let many = |ports: std::ops::RangeInclusive<u16>| -> Vec<Install> {
            ports.map(|port| install(port, SERVICE4)).collect()
        };
        let mut first = NftBackend::open(node("N-1")).unwrap();
        first.apply_static(&with_limit(8)).unwrap();
        assert_eq!(full(first.commit(&many(1..=10))), 2);
        let mut second = NftBackend::open(node("N-1")).unwrap();
        assert_eq!(second.adopt().unwrap().len(), 8);
        assert_eq!(second.capabilities().max_bindings, 8, "what the kernel holds, not what is the default");
        for (limit, ports, refused) in [(12, 11..=20, 6), (4, 21..=22, 2)] {
            let applied = second.apply_static(&with_limit(limit)).unwrap();
            let told = applied.warnings.iter().any(|warning| warning.contains("flow limit"));
            let able = second.capabilities().max_bindings;
            // A kernel that cannot resize says so.
            assert_eq!(told, able != limit, "{:?}", applied.warnings);
            if !told {
                assert_eq!(full(second.commit(&many(ports))), refused, "limit {limit}");
            }
        }
        assert!(second.adopt().unwrap().len() >= 8, "a lower limit ends no flow");
    });
}

/// Needs root.
///
/// Proves CP-9, CP-24.
#[test]
fn a_refused_binding_leaves_nothing_behind() {
    let lab = Single::new();
    lab.node.inside(|| {
        let mut backend = NftBackend::open(node("N-1")).unwrap();
        backend.apply_static(&single()).unwrap();
        let first = install(1, SERVICE4);
        // The same client port towards another service port of the same instance: one reverse direction
        // cannot restore two service addresses.
        let mut second = install(1, "192.0.2.100:444");
        let binding = Arc::get_mut(&mut second.binding).unwrap();
        binding.forward.locator.port = Some(443);
        binding.reverse.instance.set_port(443);
        let third = install(3, SERVICE4);
        let results = backend.commit(&[first.clone(), second, third.clone()]);
        assert_eq!(results[0], Ok(()));
        assert!(matches!(results[1], Err(InstallFailure::DataPlane(_))), "{results:?}");
        assert_eq!(results[2], Ok(()));
        let kept: Vec<_> = backend.adopt().unwrap().into_iter().map(|adopted| adopted.binding).collect();
        assert_eq!(kept, [first.binding, third.binding]);
    });
}

/// Needs root.
#[test]
fn a_configuration_applied_again_changes_nothing_and_its_end_leaves_nothing() {
    let lab = Single::new();
    let space = lab.node.name.clone();
    let show = move || {
        let list = |arguments: &str| {
            let mut words = arguments.split_whitespace();
            let output = std::process::Command::new("ip").args(["-n", &space]).args(words.by_ref()).output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        };
        let routes = "-4 route show table all proto 202";
        let lists = [routes, &routes.replace("-4", "-6"), "rule", "neigh show proxy"];
        lists.map(list).to_vec()
    };
    lab.node.inside(move || {
        let mut backend = NftBackend::open(node("N-1")).unwrap();
        backend.apply_static(&single()).unwrap();
        let once = show();
        assert!(once[3].contains("192.0.2.100") && once[3].contains("2001:db8:c::100"), "{once:?}");
        let mut egress = lab::egress();
        egress.ingress = Some(lab::ingress_config());
        backend.apply_static(&egress).unwrap();
        let both = show();
        assert!(both[0].contains("encap seg6"), "{both:?}");
        assert!(both[1].contains("seg6local action End.DX4"), "{both:?}");
        assert!(both[2].contains("lookup 52100"), "{both:?}");
        let mut again = NftBackend::open(node("N-1")).unwrap();
        again.apply_static(&egress).unwrap();
        assert_eq!(show(), both, "another process finds what the first one left");
        again.apply_static(&single()).unwrap();
        again.prune().unwrap();
        assert_eq!(show(), once);
        let install = install(1, SERVICE4);
        let binding = install.binding.clone();
        assert_eq!(again.commit(&[install]), [Ok(())]);
        again.remove_all().unwrap();
        let end = show();
        assert_eq!((end[0].as_str(), end[1].as_str(), end[3].as_str()), ("", "", ""));
        assert!(!end[2].contains("520") && !end[2].contains("521"), "{end:?}");
        again.apply_static(&single()).unwrap();
        assert_eq!(again.last_used(&[binding]).unwrap(), [None]);
    });
}

/// Needs root.
///
/// Proves CP-16, CP-22.
#[test]
fn a_path_to_an_instance_that_is_delivered_to_here_never_encapsulates_what_was_decapsulated() {
    let lab = Single::new();
    let space = lab.node.name.clone();
    let list = move |arguments: &str| {
        let output =
            std::process::Command::new("ip").args(["-n", &space]).args(arguments.split(' ')).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    lab.node.inside(move || {
        let with_path = |port| {
            let mut install = install(port, SERVICE4);
            let binding = Arc::get_mut(&mut install.binding).unwrap();
            binding.forward.path.encapsulation = to_egress(Encaps::Reduced, &binding.forward.key);
            install
        };
        let mut backend = NftBackend::open(node("N-1")).unwrap();
        backend.apply_static(&single()).unwrap();
        let delivered = with_path(1);
        assert_eq!(backend.commit(std::slice::from_ref(&delivered)), [Ok(())]);
        assert!(
            list("route show table 52001").contains("encap seg6"),
            "a table that only marked packets ask"
        );
        assert!(list("rule").contains("lookup 52001"));
        assert!(!list("route show proto 202").contains("encap"));
        backend.remove(&[delivered.binding]).unwrap();
        backend.prune().unwrap();
        assert_eq!(list("route show table 52001"), "");
        assert!(!list("rule").contains("lookup 52001"));

        let mut elsewhere = single();
        elsewhere.egress = None;
        backend.apply_static(&elsewhere).unwrap();
        let first = with_path(2);
        assert_eq!(backend.commit(std::slice::from_ref(&first)), [Ok(())]);
        assert!(list("route show proto 202").contains("encap seg6"), "else the main table, without a rule");
        backend.prune().unwrap();
        assert!(list("route show proto 202").contains("encap seg6"), "and it stays while it is used");
        let applied = backend.apply_static(&single()).unwrap();
        assert!(applied.deliveries.iter().any(|delivery| delivery.state != DeliveryState::Ready));
        backend.remove(&[first.binding]).unwrap();
        let applied = backend.apply_static(&single()).unwrap();
        assert!(applied.deliveries.iter().all(|delivery| delivery.state == DeliveryState::Ready));
    });
}

/// Needs root.
///
/// Proves CP-28.
#[test]
fn a_flood_of_new_flows_meets_the_bounds_and_leaves_established_flows_alone() {
    let lab = Single::new();
    let _echo = Echo::start(&lab.instance, 443);
    let mut config = single();
    config.ingress.as_mut().unwrap().pending.flows = 100;
    let mut answered = 0;
    let node = Running::start(&lab.node, &config, move |request| {
        answered += 1;
        (answered == 1).then(|| binding(request, None, Encapsulation::None))
    });
    let established = udp(&lab.client, local(SERVICE4, 50000), SERVICE4);
    ping(&established, b"first").unwrap();
    let flood = lab.client.inside(|| {
        let sockets: Vec<_> = (0..500)
            .map(|_| {
                let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
                socket.connect(SERVICE4).unwrap();
                socket
            })
            .collect();
        for socket in &sockets {
            socket.send(b"flood").unwrap();
        }
        sockets
    });
    for _ in 0..200 {
        ping(&established, b"unharmed").unwrap();
    }
    wait_for("the bound is met", || {
        let drops = node.with(|s| s.forwarder().ingress().drops().clone());
        drops.get(&DropReason::PendingFlows).copied().unwrap_or(0) == 400
    });
    drop(flood);
}

/// Needs root.
#[test]
fn what_no_service_answers_for_is_dropped_and_counted() {
    let lab = Single::new();
    let node = plain(&lab);
    let other = udp(&lab.client, local(SERVICE4, 0), "192.0.2.100:9");
    other.send(b"no such port").unwrap();
    wait_for("counted", || node.drops(PlaneDrop::Unserved) == 1);
    let lab_site = udp(&lab.instance, local(SERVICE4, 0), SERVICE4);
    lab_site.send(b"not from an access interface").unwrap();
    wait_for("counted", || node.drops(PlaneDrop::Unserved) == 2);
    assert_eq!(node.told.lock().unwrap().requests, []);
}

/// Needs root.
#[test]
fn installing_in_batches_is_one_transaction_for_many() {
    let lab = Single::new();
    lab.node.inside(|| {
        let mut backend = NftBackend::open(node("N-1")).unwrap();
        backend.apply_static(&single()).unwrap();
        let installs: Vec<Install> = (1..=20_000).map(|port| install(port, SERVICE6)).collect();
        let start = Instant::now();
        assert!(backend.commit(&installs).iter().all(Result::is_ok));
        eprintln!("20000 bindings in {:?}", start.elapsed());
        let bindings: Vec<_> = installs.iter().map(|install| install.binding.clone()).collect();
        let start = Instant::now();
        assert!(backend.last_used(&bindings).unwrap().iter().all(|idle| *idle == Some(Duration::MAX)));
        eprintln!("40000 idle times in {:?}", start.elapsed());
        let start = Instant::now();
        assert_eq!(backend.adopt().unwrap().len(), 20_000);
        eprintln!("adopted in {:?}", start.elapsed());
        let start = Instant::now();
        backend.remove(&bindings).unwrap();
        eprintln!("removed in {:?}", start.elapsed());
        assert_eq!(backend.adopt().unwrap(), []);
    });
}

/// Needs root.
///
/// Proves CP-28.
#[test]
fn a_sender_that_cannot_be_answered_harms_no_other() {
    let lab = Single::new();
    let _echo = Echo::start(&lab.instance, 443);
    let node = plain(&lab);
    // The link's broadcast address looks like a host's, and the kernel refuses to send to it.
    let mut datagram = vec![0x45, 0, 0, 32, 0, 0, 0, 0, 1, 17, 0, 0, 192, 0, 2, 255, 192, 0, 2, 100];
    datagram.extend_from_slice(&[0x0f, 0xa0, 1, 0xbb, 0, 12, 0, 0, 0, 0, 0, 0]);
    let failed = || node.with(|steering| steering.icmp().failed());
    lab.client.inside(move || {
        let kinds = (socket2::Domain::IPV4, socket2::Type::RAW, Some(socket2::Protocol::UDP));
        let socket = socket2::Socket::new(kinds.0, kinds.1, kinds.2).unwrap();
        socket.set_header_included_v4(true).unwrap();
        let to: std::net::SocketAddr = SERVICE4.parse().unwrap();
        socket.send_to(&datagram, &to.into()).unwrap();
    });
    wait_for("left out and counted", || failed() == 1);
    ping(&udp(&lab.client, local(SERVICE4, 0), SERVICE4), b"as ever").unwrap();
    assert_eq!(node.told.lock().unwrap().requests.len(), 1);
}

/// Needs root.
///
/// Proves CP-28.
#[test]
fn new_bounds_of_held_packets_reach_the_queue_while_packets_come() {
    let lab = Single::new();
    let mut limits = PendingLimits::default();
    let mut queue = lab.node.inside(move || {
        let mut backend = NftBackend::open(node("N-1")).unwrap();
        backend.apply_static(&single()).unwrap();
        PuntQueue::open(&limits, backend.interfaces().unwrap()).unwrap()
    });
    let queued = || {
        let text = lab.node.output("cat /proc/net/netfilter/nfnetlink_queue");
        let fields: Vec<u64> = text.split_whitespace().map(|field| field.parse().unwrap()).collect();
        (fields[2], fields[5])
    };
    let client = udp(&lab.client, local(SERVICE4, 50000), SERVICE4);
    for _ in 0..3 {
        client.send(b"before").unwrap();
    }
    wait_for("held", || queued().0 == 3);
    // Its packets come before the answer to the new bound.
    limits.octets_total = 256 * 1024;
    queue.set_limits(&limits).unwrap();
    let mut punted = Vec::new();
    assert!(queue.receive(16, &mut punted).unwrap());
    assert_eq!(punted.len(), 3, "none of them was lost: {punted:?}");
    for _ in 0..1100 {
        client.send(b"after").unwrap();
    }
    wait_for("the bound of 1024 is met", || queued() == (1024, 79));
}
