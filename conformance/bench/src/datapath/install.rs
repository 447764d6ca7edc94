//! How fast bindings are installed, and what they take.

use super::rig::Rig;
use super::steered::{BATCH, Bindings, commit, open};
use crate::Settings;
use crate::figure::{Better, Figure, median};
use cats_datapath_core::Install;
use std::fs;
use std::time::Instant;

/// Bindings that a round installs in batches, and whose memory is taken.
const BATCHED: u32 = 100_000;
/// Bindings that a round installs one by one.
const SINGLE: u32 = 20_000;

/// Of one round.
struct Round {
    batched_a_second: f64,
    single_a_second: f64,
    octets: f64,
}

pub(super) fn measure(settings: &Settings) -> Result<Vec<Figure>, String> {
    let (mut batched, mut single, mut octets) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..settings.rounds {
        let round = round()?;
        batched.push(round.batched_a_second);
        single.push(round.single_a_second);
        octets.push(round.octets);
    }
    let one_by_one = median(&single).unwrap_or_default();
    let rate = Figure::of("datapath/install-nft-per-s", "1/s", Better::Higher, batched).map(|figure| {
        figure.note(format!(
            "both directions of {BATCHED} UDP flows into an empty table, {BATCH} in a transaction, wall time of \
             one thread; one in a transaction: {one_by_one:.0} a second"
        ))
    });
    let size = Figure::of("datapath/binding-nft-bytes", "B", Better::Lower, octets).map(|figure| {
        figure.note(format!(
            "growth of SUnreclaim and VmallocUsed by {BATCHED} bindings of both directions, divided by their \
             number; the machine's other work is in it"
        ))
    });
    Ok(rate.into_iter().chain(size).collect())
}

fn round() -> Result<Round, String> {
    let rig = Rig::lay_out("install")?;
    let bindings = Bindings::new()?;
    let all = bindings.of(0..BATCHED + SINGLE)?;
    let (many, few) = all.split_at(BATCHED as usize);
    let measured = rig.forwarder.enter(|| {
        let mut backend = open(BATCHED + SINGLE)?;
        let before = kernel_octets()?;
        let batched =
            timed(many, |all| all.chunks(BATCH as usize).try_for_each(|page| commit(&mut backend, page)))?;
        let after = kernel_octets()?;
        let single = timed(few, |all| all.chunks(1).try_for_each(|page| commit(&mut backend, page)))?;
        Ok(Round {
            batched_a_second: f64::from(BATCHED) / batched,
            single_a_second: f64::from(SINGLE) / single,
            octets: (after - before) / f64::from(BATCHED),
        })
    });
    measured.map_err(|error| error.to_string())?
}

/// CPU seconds of a binding that is installed without anything around it, in batches into an empty table.
pub(super) fn bare() -> Result<f64, String> {
    let rig = Rig::lay_out("bare")?;
    let all = Bindings::new()?.of(0..SINGLE)?;
    let measured = rig.forwarder.enter(|| {
        let mut backend = open(SINGLE)?;
        let before = crate::cpu::nanos("/proc/thread-self/schedstat")?;
        all.chunks(BATCH as usize).try_for_each(|page| commit(&mut backend, page))?;
        let spent = crate::cpu::nanos("/proc/thread-self/schedstat")?.saturating_sub(before);
        #[allow(clippy::cast_precision_loss)] // far below 2^52
        let seconds = spent as f64 / 1e9;
        Ok(seconds / f64::from(SINGLE))
    });
    measured.map_err(|error| error.to_string())?
}

/// Seconds.
fn timed(all: &[Install], work: impl FnOnce(&[Install]) -> Result<(), String>) -> Result<f64, String> {
    let begin = Instant::now();
    work(all)?;
    Ok(begin.elapsed().as_secs_f64())
}

/// What the kernel has allocated and does not give back by itself.
fn kernel_octets() -> Result<f64, String> {
    let text = fs::read_to_string("/proc/meminfo").map_err(|error| format!("/proc/meminfo: {error}"))?;
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok()
    };
    let kilo = ["SUnreclaim:", "VmallocUsed:"].into_iter().map(field).sum::<Option<f64>>();
    Ok(kilo.ok_or("/proc/meminfo lacks a field")? * 1024.0)
}
