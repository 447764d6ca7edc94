//! All roles in one node: the second shape of the product. Needs root.

use cats_conformance::Result;
use cats_conformance::capture::{Capture, Direction};
use cats_conformance::configuration::{Metric, cats, metrics};
use cats_conformance::deployment::AllInOne;
use cats_conformance::layout::{Links, SERVICE, link};
use cats_conformance::service::{Connection, Datagrams, curl};
use cats_conformance::wait::wait_for;
use std::time::Duration;

/// Proves CP-9, CP-15.
#[test]
fn tcp_and_udp_flows_reach_the_selected_instance_under_the_service_address() -> Result<()> {
    let deployment = AllInOne::start("one-flows", Links::default())?;
    let client = &deployment.hosts.client;
    let file = deployment.lab.folder().join("client.pcap");
    let capture = Capture::start(client, link::HOST, Direction::In, "tcp or udp", &file)?;
    for service in SERVICE {
        assert_eq!(curl(client, service, &[])?, "B");
        assert_eq!(Datagrams::open(client, service)?.ask("who")?, "B");
    }
    let sources = wait_for("answers of both services in the client's capture", || {
        let fields = ["ip.src", "ipv6.src"];
        let found = capture.so_far("udp.srcport == 443 || tcp.srcport == 443", &fields).ok()?;
        let udp = capture.so_far("udp.srcport == 443", &fields).ok()?;
        (udp.len() >= 2).then_some(found)
    })?;
    for source in sources {
        let address = source.concat();
        assert!(SERVICE.contains(&address.as_str()), "the client saw {address}");
    }
    Ok(())
}

/// Proves CP-17.
#[test]
fn a_new_metric_moves_new_flows_and_no_other() -> Result<()> {
    let deployment = AllInOne::start("one-metric", Links::default())?;
    let client = &deployment.hosts.client;
    let mut standing = Connection::open(client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    let slow = Metric { computing_time: 60, ..Metric::B };
    deployment.node.configure(&cats(&metrics(Metric::A, slow)))?;
    wait_for("new flows to go to A", || (curl(client, SERVICE[0], &[]).ok()? == "A").then_some(()))?;
    assert_eq!(standing.ask()?, "B");
    Ok(())
}

/// Proves CP-23.
#[test]
fn flows_survive_a_kill_of_both_daemons_and_new_ones_are_taken_after_the_restart() -> Result<()> {
    let mut deployment = AllInOne::start("one-kill", Links::default())?;
    let mut standing = Connection::open(&deployment.hosts.client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    deployment.node.kill("engined")?;
    deployment.node.kill("mgmtd")?;
    assert_eq!(standing.ask()?, "B");
    deployment.node.start()?;
    assert_eq!(standing.ask()?, "B");
    let client = &deployment.hosts.client;
    wait_for("a new flow", || curl(client, SERVICE[0], &["--max-time", "2"]).ok())?;
    assert_eq!(standing.ask()?, "B");
    Ok(())
}

/// Proves CP-9, CP-23.
#[test]
fn a_kill_in_the_midst_of_new_flows_leaves_none_half_bound() -> Result<()> {
    let mut deployment = AllInOne::start("one-kill-midst", Links::default())?;
    for round in 0..3 {
        let mut connections = Vec::new();
        let deployment = &mut deployment;
        let client = &deployment.hosts.client;
        let (started, begun) = std::sync::mpsc::sync_channel::<()>(200);
        let opened = std::thread::scope(|scope| -> Result<Vec<Connection>> {
            let opener = scope.spawn(move || {
                let mut opened = Vec::new();
                let bound = Duration::from_millis(1500);
                while let Ok(connection) = Connection::open_within(bound, client, SERVICE[0]) {
                    opened.push(connection);
                    if started.send(()).is_err() {
                        break;
                    }
                }
                opened
            });
            // A few flows stand and others are on their way when the daemon dies.
            for _ in 0..(10 + round) {
                let _ = begun.recv();
            }
            deployment.node.kill("engined")?;
            drop(begun);
            let opened = opener.join();
            opened.map_err(|_| cats_conformance::LabError::new("opening connections", "the thread panicked"))
        })?;
        connections.extend(opened);
        assert!(connections.len() >= 10, "{} flows were bound", connections.len());
        for connection in &mut connections {
            assert_eq!(connection.ask()?, "B", "while the daemon is down");
        }
        deployment.node.start_engined()?;
        wait_for("a new flow", || curl(client, SERVICE[0], &["--max-time", "2"]).ok())?;
        for connection in &mut connections {
            assert_eq!(connection.ask()?, "B", "after the restart");
        }
    }
    Ok(())
}

#[test]
fn a_flood_of_flows_that_are_all_refused_leaves_memory_and_standing_flows_alone() -> Result<()> {
    let deployment = AllInOne::start("one-flood", Links::default())?;
    let client = &deployment.hosts.client;
    let mut standing = Connection::open(client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "B");
    let none = Metric { gas: 0, ..Metric::A };
    deployment.node.configure(&cats(&metrics(none, none)))?;
    let before = deployment.node.engined_resident()?;
    let flood = client.enter(|| -> std::io::Result<()> {
        for source in 1024..41024_u16 {
            let socket = std::net::UdpSocket::bind(("0.0.0.0", source))?;
            socket.send_to(b"flood", (SERVICE[0], 443))?;
        }
        Ok(())
    });
    flood?.map_err(cats_conformance::LabError::of("flooding"))?;
    assert_eq!(standing.ask()?, "B");
    let after = deployment.node.engined_resident()?;
    assert!(after < before + 32 * 1024, "resident memory went from {before} kB to {after} kB");
    deployment.node.configure(&cats(&metrics(Metric::A, Metric::B)))?;
    wait_for("a new flow", || curl(client, SERVICE[0], &["--max-time", "2"]).ok())?;
    assert_eq!(standing.ask()?, "B");
    Ok(())
}
