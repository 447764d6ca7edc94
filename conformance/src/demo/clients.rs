//! Twenty clients over both instances while the metric of B changes: flows that stand stay, new ones move.

use super::check;
use crate::Result;
use crate::configuration::{Metric, cats, metrics};
use crate::deployment::FourNodes;
use crate::service::Connection;
use crate::wait::wait_for;

/// Runs the part with twenty clients, and gives how many checks failed.
pub(super) fn run(deployment: &FourNodes, service: &str) -> Result<usize> {
    println!("\ntwenty clients while the static metric of B changes:");
    let slow = Metric { computing_time: 60, ..Metric::B };
    let mut failures = 0;
    let mut connections = Vec::new();
    connections.extend(open(deployment, service, 10)?);
    failures += check(all(&mut connections, "B")?, "with B at 5 ms, ten clients are served by B");
    set(deployment, service, slow, "A")?;
    let mut later = open(deployment, service, 10)?;
    failures += check(all(&mut later, "A")?, "with B at 60 ms, ten more clients are served by A");
    failures +=
        check(all(&mut connections, "B")?, "the first ten are still served by B on their connections");
    set(deployment, service, Metric::B, "B")?;
    failures += check(all(&mut connections, "B")?, "with B at 5 ms again, the first ten stay with B");
    failures += check(all(&mut later, "A")?, "and the ten later ones stay with A");
    let mut new = open(deployment, service, 5)?;
    failures += check(all(&mut new, "B")?, "new clients move to B");
    Ok(failures)
}

/// Commits the metric of B over NETCONF and waits until a new flow is served by `winner`.
fn set(deployment: &FourNodes, service: &str, b: Metric, winner: &str) -> Result<()> {
    deployment.selector.configure(&cats(&metrics(Metric::A, b)))?;
    wait_for(&format!("a new flow to {winner}"), || {
        let name = Connection::open(&deployment.hosts.client, service).and_then(|mut c| c.ask()).ok()?;
        (name == winner).then_some(())
    })
}

fn open(deployment: &FourNodes, service: &str, count: usize) -> Result<Vec<Connection>> {
    (0..count).map(|_| Connection::open(&deployment.hosts.client, service)).collect()
}

/// Whether every client is answered by this instance.
fn all(connections: &mut [Connection], instance: &str) -> Result<bool> {
    let mut same = true;
    for connection in connections {
        same &= connection.ask()? == instance;
    }
    Ok(same)
}
