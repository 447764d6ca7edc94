//! Reports a second: of the agent, through authorisation, validation, cache and update control, each acknowledged; and
//! of a stream that echoes the same messages.

use super::echo::{self, Echo};
use super::load::{Answers, Flow, Target, counts, settle};
use super::message::Reports;
use super::rig::{AGENT, Agent, INSTANCES, SERVER_CPU, STREAMS, Site, first_of};
use crate::figure::{Better, Figure, median};
use cats_conformance::pki::NodeFiles;
use cats_conformance::{LabError, Result, state};
use std::time::{Duration, Instant};

/// How long each side is measured in a round.
const DURATION: Duration = Duration::from_millis(1500);
/// How long before that it is loaded already.
const WARM_UP: Duration = Duration::from_millis(300);
/// Reports of each stream that are under way.
const WINDOW: u64 = 16;
/// Seconds that a report holds.
const TTL: u64 = 120;
/// How often each instance has reported before the first round: so often that the agent takes it for confirmed.
const BEFORE: u64 = 2;

/// One side in one round.
struct Round {
    /// Reports that were answered a second of the server's CPU time.
    per_cpu: f64,
    /// A second of wall time.
    per_wall: f64,
    /// What share of its CPU the server had.
    share: f64,
}

pub(super) fn measure(site: &Site<'_>, rounds: usize) -> Result<Vec<Figure>> {
    let agent = site.start("duel", "")?;
    let [ours, theirs] = agent.load(async || duel(site, &agent, rounds).await)?;
    Ok(figures(&ours, &theirs))
}

/// The rounds of both sides.
async fn duel(site: &Site<'_>, agent: &Agent, rounds: usize) -> Result<[Vec<Round>; 2]> {
    let echo = Echo::start(&site.agent, SERVER_CPU)?;
    let ours = Target { address: Agent::address(), name: AGENT, answers: Answers::Acknowledged };
    let theirs = Target { address: echo.address, name: AGENT, answers: Answers::Echoed };
    let sides = [open(site, &ours, WINDOW).await?, open(site, &theirs, WINDOW).await?];
    for flows in &sides {
        fill(flows, BEFORE).await?;
    }
    let before = (taken(agent)?, counts(&sides[0]).0);
    let mut all = [Vec::new(), Vec::new()];
    for at in 0..rounds {
        for side in [at % 2, 1 - at % 2] {
            let cpu = || if side == 0 { agent.cpu() } else { echo.cpu() };
            all[side].push(round(&sides[side], cpu).await?);
        }
    }
    let (taken, sent) = (taken(agent)? - before.0, counts(&sides[0]).0 - before.1);
    if taken != sent {
        let why =
            format!("{sent} reports were sent and acknowledged, and the agent says that it took {taken}");
        return Err(LabError::new("accounting for all reports", why));
    }
    Ok(all)
}

/// Opens the streams of all instances.
pub(super) async fn open(site: &Site<'_>, target: &Target, window: u64) -> Result<Vec<Flow>> {
    let mut flows = Vec::new();
    for (stream, files) in (0..STREAMS).zip(&site.streams) {
        let files: &NodeFiles = files;
        let reports = Reports::new(first_of(stream), INSTANCES, TTL);
        flows.push(Flow::open(target, files, reports, window).await?);
    }
    Ok(flows)
}

/// Has each instance report so often.
pub(super) async fn fill(flows: &[Flow], times: u64) -> Result<()> {
    for flow in flows {
        flow.allow(times * u64::from(INSTANCES));
    }
    settle(flows, false).await
}

/// Reports that the agent has taken in.
fn taken(agent: &Agent) -> Result<u64> {
    Ok(state::Agent::of(&agent.node)?.count("taken"))
}

#[allow(clippy::cast_precision_loss)] // far below 2^52
async fn round(flows: &[Flow], cpu: impl Fn() -> std::result::Result<u64, String>) -> Result<Round> {
    let cpu = || cpu().map_err(LabError::of("reading the server's CPU time"));
    for flow in flows {
        flow.allow(u64::MAX / 2);
    }
    tokio::time::sleep(WARM_UP).await;
    let (before, cpu_before, begin) = (counts(flows).1, cpu()?, Instant::now());
    tokio::time::sleep(DURATION).await;
    let (after, cpu_after, wall) = (counts(flows).1, cpu()?, begin.elapsed().as_secs_f64());
    settle(flows, true).await?;
    let (reports, cpu) = ((after - before) as f64, (cpu_after - cpu_before) as f64 / 1e9);
    Ok(Round { per_cpu: reports / cpu, per_wall: reports / wall, share: cpu / wall })
}

fn figures(ours: &[Round], theirs: &[Round]) -> Vec<Figure> {
    let of = |rounds: &[Round], value: fn(&Round) -> f64| {
        median(&rounds.iter().map(value).collect::<Vec<f64>>()).unwrap_or_default()
    };
    let told = |rounds: &[Round]| {
        format!(
            "{:.0} a second of the server's CPU time, {:.0} of wall time with {:.0} % of a CPU",
            of(rounds, |round| round.per_cpu),
            of(rounds, |round| round.per_wall),
            100.0 * of(rounds, |round| round.share)
        )
    };
    let what = format!(
        "{STREAMS} streams with mutual TLS of {INSTANCES} instances each, one full report of about 80 octets in a message, \
         {WINDOW} under way on each stream, server on CPU 1 and load on CPU 0"
    );
    let pairs = || ours.iter().zip(theirs);
    let wall: Vec<f64> = pairs().map(|(ours, theirs)| ours.per_wall / theirs.per_wall).collect();
    let ratio = pairs().map(|(ours, theirs)| ours.per_cpu / theirs.per_cpu).collect();
    let ratio = Figure::of("sma/reports-ratio-echo", "ratio", Better::Higher, ratio).map(|figure| {
        figure.against(echo::NAME).note(format!(
            "reports answered a second of the server's CPU time, so that the load's CPU bounds neither; of wall time the \
             ratio is {:.2}. {what}. Ours {}; theirs {}. Ours is authorised, validated, cached, told on by update control \
             (no path selector is connected) and acknowledged, and what was acknowledged is what the agent's statistics \
             say that it took",
            median(&wall).unwrap_or_default(),
            told(ours),
            told(theirs),
        ))
    });
    let rate = ours.iter().map(|round| round.per_wall).collect();
    let rate = Figure::of("sma/reports-per-s", "1/s", Better::Higher, rate);
    let rate = rate.map(|figure| figure.note(format!("{what}; all of cats-engined on one CPU")));
    ratio.into_iter().chain(rate).collect()
}
