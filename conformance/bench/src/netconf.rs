//! The management daemon as its users meet it: over SSH against yuma's netconfd, and over its local socket against
//! itself. An engine is connected throughout, and commits are durable.

mod bindings;
mod crowd;
mod duel;
mod endpoint;
mod heard;
mod load;
mod memory;
mod rig;
mod scale;
mod told;
mod yuma;

use crate::Settings;
use crate::cpu::pin;
use crate::figure::{Better, Figure};
use cats_conformance::lab::Lab;
use cats_conformance::netconf::Session;
use cats_conformance::node::AdministratorKey;
use cats_conformance::{LabError, Result};
use rig::Ours;
use std::time::{Duration, Instant};

/// How long each round lasts.
const DURATION: Duration = Duration::from_millis(500);
/// Requests that are sent ahead of their replies.
const AHEAD: usize = 64;

pub(crate) fn measure(settings: &Settings) -> std::result::Result<Vec<Figure>, String> {
    on_client_cpu(|lab, key| all(lab, key, settings.rounds))
}

/// What subscribers are told of a metric.
pub(crate) fn on_change(_: &Settings) -> std::result::Result<Vec<Figure>, String> {
    on_client_cpu(|lab, key| Ok(heard::measure(lab, key)?.into_iter().collect()))
}

/// What subscribers are told of many bindings.
pub(crate) fn bindings(settings: &Settings) -> std::result::Result<Vec<Figure>, String> {
    bindings::measure(settings).map_err(|error| error.to_string())
}

/// Measures with all clients on one CPU: the thread's is inherited by them, and forgotten with it.
fn on_client_cpu(
    measure: impl FnOnce(&Lab, &AdministratorKey) -> Result<Vec<Figure>> + Send,
) -> std::result::Result<Vec<Figure>, String> {
    let pinned = || {
        let lab = Lab::create("bench-netconf")?;
        let key = AdministratorKey::create(&lab, "admin-key")?;
        pin(None, rig::CLIENT_CPU).map_err(LabError::of("pinning the clients"))?;
        measure(&lab, &key)
    };
    let measured = std::thread::scope(|scope| scope.spawn(pinned).join());
    measured.map_err(|_| "the measurement panicked".to_owned())?.map_err(|error| error.to_string())
}

fn all(lab: &Lab, key: &AdministratorKey, rounds: usize) -> Result<Vec<Figure>> {
    let mut figures = duel::measure(lab, key, rounds)?;
    figures.extend(alone(lab, key, rounds)?);
    figures.extend(scale::services(lab, key, rounds)?);
    figures.extend(memory::idle(lab, key)?);
    let (of_memory, large) = memory::large(lab, key)?;
    figures.extend(of_memory);
    figures.extend(scale::leaves(lab, key, &large, rounds)?);
    Ok(figures)
}

/// What one session does over the local socket.
fn alone(lab: &Lab, key: &AdministratorKey, rounds: usize) -> Result<Vec<Figure>> {
    let ours = Ours::start(lab, key, "alone", &[])?;
    let mut session = ours.node.netconf()?;
    edit_and_commit(&mut session, 0)?;
    let (mut reads, mut pairs) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        reads.push(reads_a_second(&mut session)?);
        pairs.push(pairs_a_second(&mut session, round)?);
    }
    let reads = Figure::of("netconf/get-config-per-s", "1/s", Better::Higher, reads).map(|figure| {
        figure.note("one leaf in running, 64 requests ahead, one session over the local socket")
    });
    let pairs = Figure::of("netconf/edit-commit-pairs-per-s", "1/s", Better::Higher, pairs).map(|figure| {
        figure.note("one leaf changed and committed with fdatasync, one after the other, one session over the local socket")
    });
    Ok(reads.into_iter().chain(pairs).collect())
}

fn edit_and_commit(session: &mut Session, value: usize) -> Result<()> {
    session.edit_candidate(&load::knob(value))?;
    session.commit()
}

fn reads_a_second(session: &mut Session) -> Result<f64> {
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

fn pairs_a_second(session: &mut Session, round: usize) -> Result<f64> {
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
