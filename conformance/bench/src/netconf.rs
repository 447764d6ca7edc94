//! What the management daemon does a second, over its local socket, durable commits included.

use crate::Settings;
use crate::figure::{Better, Figure};
use cats_conformance::netconf::Session;
use cats_conformance::server::Server;
use std::time::{Duration, Instant};

/// How long each round lasts.
const DURATION: Duration = Duration::from_secs(1);
/// Requests that are sent ahead of their replies.
const AHEAD: usize = 64;

pub(crate) fn measure(settings: &Settings) -> Result<Vec<Figure>, String> {
    let told = |error: cats_conformance::LabError| error.to_string();
    let server = Server::start("bench-netconf").map_err(told)?;
    let mut session = server.node.netconf().map_err(told)?;
    edit_and_commit(&mut session, 0).map_err(told)?;
    let (mut reads, mut pairs) = (Vec::new(), Vec::new());
    for round in 0..settings.rounds {
        reads.push(reads_a_second(&mut session).map_err(told)?);
        pairs.push(pairs_a_second(&mut session, round).map_err(told)?);
    }
    let reads = Figure::of("netconf/get-config-per-s", "1/s", Better::Higher, reads)
        .map(|figure| figure.note("one leaf in running, 64 requests ahead, one session"));
    let pairs = Figure::of("netconf/edit-commit-pairs-per-s", "1/s", Better::Higher, pairs).map(|figure| {
        figure.note("one leaf changed and committed with fdatasync, one after the other, one session")
    });
    Ok(reads.into_iter().chain(pairs).collect())
}

fn edit_and_commit(session: &mut Session, value: usize) -> cats_conformance::Result<()> {
    session.edit_candidate(&format!("<gear xmlns=\"urn:catsd:lab:example\"><knob>{value}</knob></gear>"))?;
    session.commit()
}

fn reads_a_second(session: &mut Session) -> cats_conformance::Result<f64> {
    let request = "<get-config><source><running/></source></get-config>";
    let begin = Instant::now();
    let mut count = 0;
    while begin.elapsed() < DURATION {
        for _ in 0..AHEAD {
            session.send(request)?;
        }
        for _ in 0..AHEAD {
            session.receive()?;
        }
        count += AHEAD;
    }
    Ok(a_second(count, begin))
}

fn pairs_a_second(session: &mut Session, round: usize) -> cats_conformance::Result<f64> {
    let begin = Instant::now();
    let mut count = 0;
    while begin.elapsed() < DURATION {
        count += 1;
        edit_and_commit(session, round * 1_000_000 + count)?;
    }
    Ok(a_second(count, begin))
}

#[allow(clippy::cast_precision_loss)] // counts of one second
fn a_second(count: usize, begin: Instant) -> f64 {
    count as f64 / begin.elapsed().as_secs_f64()
}
