//! Floods, kills and stalls in the middle of things, judged by what the nodes say over NETCONF. Needs root.

use cats_conformance::capture::{Capture, Direction};
use cats_conformance::configuration::cats;
use cats_conformance::deployment::FourNodes;
use cats_conformance::layout::{Links, SERVICE, link};
use cats_conformance::node::Node;
use cats_conformance::service::{Connection, Datagrams, PORT, curl};
use cats_conformance::state::{Forwarder, Selector};
use cats_conformance::wait::wait_for;
use cats_conformance::{LabError, Result};
use rustix::process::Signal;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// Flows that are opened while a daemon dies.
const FLOWS: usize = 200;

/// Whether a new TCP flow is answered within two seconds, twice the time that a packet is held.
fn new_flow(deployment: &FourNodes) -> Option<String> {
    curl(&deployment.hosts.client, SERVICE[0], &["--max-time", "2"]).ok()
}

/// Configures the bounds of packets that are held at the ingress.
fn set_pending(deployment: &FourNodes, bounds: &str) -> Result<()> {
    deployment.ingress.configure(&cats(&format!(
        "<forwarder xmlns=\"urn:catsd:yang:cats-forwarder\"><ingress><pending>{bounds}</pending></ingress>\
         </forwarder>"
    )))
}

/// Waits until the ingress and the path selector have the same flows: each binding has an active flow of its
/// transaction, and the other way round.
fn until_agreed(deployment: &FourNodes) -> Result<Forwarder> {
    let mut last = String::new();
    let agreed = wait_for("bindings and flows that pair up", || {
        let forwarder = Forwarder::of(&deployment.ingress).ok()?;
        let selector = Selector::of(&deployment.selector).ok()?;
        let bound = forwarder.bindings.iter().map(|(key, leaves)| (key, leaves.get("transaction"), true));
        let known = selector.flows.iter().map(|(key, leaves)| {
            (key, leaves.get("transaction"), leaves.get("state").is_some_and(|state| state == "ACTIVE"))
        });
        if bound.eq(known) {
            return Some(forwarder);
        }
        last = format!("{} bindings, {:?}", forwarder.bindings.len(), selector.flows);
        None
    });
    agreed.map_err(|error| LabError::new(error.doing, format!("{}: {last}", error.why)))
}

/// The key of a flow's binding to the service's IPv4 address.
fn key(protocol: &str, client: SocketAddr) -> String {
    format!("{protocol} {client} > {}:{PORT}", SERVICE[0])
}

/// Which incarnation of the ingress made a binding, if there is this binding.
fn incarnation(forwarder: &Forwarder, key: &str) -> Option<String> {
    let transaction = forwarder.bindings.get(key)?.get("transaction")?;
    Some(transaction.split_once('-')?.0.to_owned())
}

/// Opens [`FLOWS`] flows while the engine of `victim` is killed at their half, and started again after all of
/// them; then each must work, be it at once or when its client asks again, and none may be half-bound. The standing flow must never
/// falter. With `fails_closed` no flow that is opened after the kill is answered before the restart.
fn open_through_a_kill(
    deployment: &mut FourNodes,
    fails_closed: bool,
    victim: impl Fn(&mut FourNodes) -> &mut Node,
) -> Result<()> {
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    let mut flows = Vec::new();
    for _ in 0..FLOWS {
        flows.push(Datagrams::open(&deployment.hosts.client, SERVICE[0])?);
    }
    let (early, late) = flows.split_at(FLOWS / 2);
    for flow in early {
        flow.send("first")?;
    }
    // Some are bound, the others are on their way.
    wait_for("an answer", || early.iter().any(|flow| flow.has_answer().unwrap_or_default()).then_some(()))?;
    victim(deployment).kill("engined")?;
    for flow in late {
        flow.send("first")?;
    }
    assert_eq!(standing.ask()?, "B", "while the daemon is down");
    let bound = bound_without(&flows, fails_closed)?;
    victim(deployment).start_engined()?;
    wait_for("a new flow", || new_flow(deployment))?;
    for (at, flow) in flows.iter().enumerate() {
        let answer = wait_for(&format!("an answer on flow {at}"), || {
            flow.ask_within(Duration::from_millis(500), "again").ok()
        })?;
        // Without its egress B gets no flow that is opened meanwhile.
        assert!(["A", "B"].contains(&answer.as_str()), "{answer:?} answers flow {at}");
    }
    let forwarder = until_agreed(deployment)?;
    for flow in &flows {
        let key = key("udp", flow.client()?);
        assert!(forwarder.bindings.contains_key(&key), "no binding of {key}");
    }
    // What was bound before the restart is still bound as it was: by the same incarnation of the ingress.
    let first = incarnation(&forwarder, &key("tcp", standing.client()?));
    assert!(first.is_some(), "no binding of the standing flow");
    for key in bound {
        assert_eq!(incarnation(&forwarder, &key), first, "{key} was bound anew");
    }
    assert_eq!(standing.ask()?, "B", "after the restart");
    Ok(())
}

/// The keys of the flows that are answered while the daemon is down. With `fails_closed` the later half is not.
fn bound_without(flows: &[Datagrams], fails_closed: bool) -> Result<Vec<String>> {
    let mut bound = Vec::new();
    for (at, flow) in flows.iter().enumerate() {
        if flow.has_answer()? {
            assert!(at < FLOWS / 2 || !fails_closed, "flow {at} was bound without the daemon");
            bound.push(key("udp", flow.client()?));
        }
    }
    Ok(bound)
}

/// Sends a packet of 200 octets on each of a thousand flows, from this source port on.
fn flood(deployment: &FourNodes, first: u16) -> Result<()> {
    let sent = deployment.hosts.client.enter(|| -> std::io::Result<()> {
        for source in first..first + 1000 {
            let socket = UdpSocket::bind(("0.0.0.0", source))?;
            socket.send_to(&[b'x'; 200], (SERVICE[0], PORT))?;
        }
        Ok(())
    });
    sent?.map_err(LabError::of("flooding"))
}

/// Waits until so many more packets than `before` are held, or dropped and counted.
fn until_accounted_for(deployment: &FourNodes, before: &Forwarder, packets: u64) -> Result<Forwarder> {
    let mut last = None;
    let found = wait_for("all packets to be held, or dropped and counted", || {
        let now = Forwarder::of(&deployment.ingress).ok()?;
        let grown = ["total-bound", "punt-queue"].map(|reason| now.dropped(reason) - before.dropped(reason));
        let all = now.count("held-packets") + grown.iter().sum::<u64>() == packets;
        last = Some(now.clone());
        all.then_some(now)
    });
    found.map_err(|error| LabError::new(error.doing, format!("{}: {last:?}", error.why)))
}

/// Proves CP-10, CP-24.
#[test]
fn a_flood_without_a_path_selector_fills_the_pending_table_to_its_bound_and_no_further() -> Result<()> {
    const PACKETS: u64 = 20_000;
    const JOINED: [&str; 3] = ["first", "second", "third"];
    const BOUND: u64 = 65_536;
    // Payload, UDP and IPv4 header.
    const OCTETS: u64 = 200 + 8 + 20;
    let mut deployment = FourNodes::start("fault-flood", Links::default())?;
    set_pending(&deployment, &format!("<hold>20000</hold><total-bytes>{BOUND}</total-bytes>"))?;
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    deployment.selector.kill("engined")?;
    let before = Forwarder::of(&deployment.ingress)?;
    let resident = deployment.ingress.engined_resident()?;
    let joined = Datagrams::open(&deployment.hosts.client, SERVICE[0])?;
    for text in JOINED {
        joined.send(text)?;
    }
    wait_for("one pending flow that its later packets have joined", || {
        let now = Forwarder::of(&deployment.ingress).ok()?;
        let held = JOINED.len() as u64;
        (now.count("pending-flows") == 1 && now.count("held-packets") == held).then_some(())
    })?;

    for chunk in 0..20 {
        flood(&deployment, 10_000 + chunk * 1000)?;
        assert_eq!(standing.ask()?, "B", "in the midst of the flood");
    }
    let full = until_accounted_for(&deployment, &before, PACKETS + JOINED.len() as u64)?;
    let held = full.count("held-bytes");
    assert!((BOUND - OCTETS..=BOUND).contains(&held), "{held} octets are held");
    assert_eq!(full.count("pending-flows"), full.count("held-packets") + 1 - JOINED.len() as u64);
    assert!(full.dropped("total-bound") > before.dropped("total-bound"), "{full:?}");
    let after = deployment.ingress.engined_resident()?;
    assert!(after < resident + 32 * 1024, "resident memory went from {resident} kB to {after} kB");
    assert_eq!(standing.ask()?, "B", "with the table full");

    deployment.selector.start_engined()?;
    wait_for("a new flow", || new_flow(&deployment))?;
    wait_for("an answer on the flow that was held first", || {
        joined.ask_within(Duration::from_millis(500), "again").ok()
    })?;
    assert_eq!(standing.ask()?, "B");
    let state = until_agreed(&deployment)?;
    assert!(state.bindings.contains_key(&key("udp", joined.client()?)));
    assert_eq!(state.count("held-packets"), 0, "{:?}", state.status);
    Ok(())
}

/// Proves CP-9, CP-23, CP-24.
#[test]
fn a_path_selector_killed_amid_new_flows_leaves_none_half_bound() -> Result<()> {
    let mut all = FourNodes::start("fault-kill-selector", Links::default())?;
    open_through_a_kill(&mut all, true, |all| &mut all.selector)
}

/// Proves CP-9, CP-23, CP-24.
#[test]
fn an_ingress_killed_amid_new_flows_leaves_none_half_bound() -> Result<()> {
    let mut all = FourNodes::start("fault-kill-ingress", Links::default())?;
    open_through_a_kill(&mut all, true, |all| &mut all.ingress)
}

/// Proves CP-9.
#[test]
fn an_egress_killed_amid_new_flows_leaves_none_half_bound() -> Result<()> {
    let mut all = FourNodes::start("fault-kill-egress", Links::default())?;
    open_through_a_kill(&mut all, false, |all| &mut all.egresses[1])
}

/// Proves CP-24.
#[test]
fn a_decision_that_comes_after_the_hold_is_never_installed() -> Result<()> {
    let deployment = FourNodes::start("fault-late", Links::default())?;
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    let before = Selector::of(&deployment.selector)?.statistics;
    let expired = Forwarder::of(&deployment.ingress)?.dropped("hold-expired");
    let file = deployment.lab.folder().join("core.pcap");
    let core = Capture::start(&deployment.hosts.ingress, link::CORE, Direction::Out, "ip6", &file)?;

    deployment.selector.signal("engined", Signal::STOP)?;
    let late = Datagrams::open(&deployment.hosts.client, SERVICE[0])?;
    late.send("held")?;
    wait_for("the held packet to be dropped and counted", || {
        (Forwarder::of(&deployment.ingress).ok()?.dropped("hold-expired") == expired + 1).then_some(())
    })?;
    assert_eq!(standing.ask()?, "B", "while the path selector is stalled");
    deployment.selector.signal("engined", Signal::CONT)?;
    wait_for("the ingress's refusal of the late binding", || {
        let now = Selector::of(&deployment.selector).ok()?.statistics;
        let grown = |name: &str| now[name] == before[name] + 1;
        (grown("selected") && grown("install-failures")).then_some(())
    })?;
    assert_eq!(Datagrams::open(&deployment.hosts.client, SERVICE[0])?.ask("new")?, "B");

    let client = late.client()?;
    let forwarder = until_agreed(&deployment)?;
    assert_eq!(forwarder.bindings.get(&key("udp", client)), None, "the late decision was installed");
    assert!(!late.has_answer()?, "the dropped packet was answered");
    let sent = core.so_far(&format!("udp.srcport == {}", client.port()), &["udp.srcport"])?;
    assert_eq!(sent, Vec::<Vec<String>>::new(), "the dropped packet went on");
    assert_eq!(late.ask("asked again")?, "B");
    assert_eq!(standing.ask()?, "B");
    Ok(())
}

#[test]
fn the_state_of_an_ingress_counts_what_was_sent_and_shows_where_it_went() -> Result<()> {
    const TEXTS: [&str; 3] = ["one", "three", "seventeen"];
    let deployment = FourNodes::start("fault-state", Links::default())?;
    let client = &deployment.hosts.client;
    let before = Forwarder::of(&deployment.ingress)?.matched;
    let file = deployment.lab.folder().join("client.pcap");
    let capture = Capture::start(client, link::HOST, Direction::Out, "tcp", &file)?;
    let mut octets = 0;
    let mut flows = Vec::new();
    for (service, headers) in [(SERVICE[0], 20 + 8), (SERVICE[1], 40 + 8)] {
        let flow = Datagrams::open(client, service)?;
        for text in TEXTS {
            assert_eq!(flow.ask(text)?, "B");
            octets += headers + text.len() as u64;
        }
        flows.push(flow);
    }
    assert_eq!(curl(client, SERVICE[0], &[])?, "B");
    assert_eq!(curl(client, SERVICE[1], &[])?, "B");
    let state = wait_for("as many TCP packets in the state as in the capture", || {
        let sent = capture.so_far("tcp.dstport == 443", &["tcp.srcport"]).ok()?.len() as u64;
        let state = Forwarder::of(&deployment.ingress).ok()?;
        (sent > 0 && state.matched["1"].0 == before["1"].0 + sent).then_some(state)
    })?;
    assert_eq!(state.matched["2"].0, before["2"].0 + 2 * TEXTS.len() as u64);
    assert_eq!(state.matched["2"].1, before["2"].1 + octets);
    let found = flows.iter().map(|flow| Ok(flow.client()?.to_string())).collect::<Result<Vec<_>>>()?;
    for client in found {
        let start = format!("udp {client} > ");
        let binding = state.bindings.iter().find(|(key, _)| key.starts_with(&start));
        let (_, leaves) = binding.unwrap_or_else(|| panic!("{start} is not in {:?}", state.bindings));
        let leaf = |name| leaves.get(name).map(String::as_str);
        assert_eq!((leaf("service"), leaf("egress"), leaf("version")), (Some("2"), Some("EF-2"), Some("1")));
    }
    Ok(())
}
