//! The engine's memory with 100,000 instances.

use super::duel::{fill, open};
use super::load::{Answers, Target};
use super::rig::{AGENT, Agent, INSTANCES, STREAMS, Site};
use crate::figure::{Better, Figure, median};
use cats_conformance::wait::wait_at_most;
use cats_conformance::{LabError, Result, state};
use std::time::Duration;

/// Agents that are started for the figure.
const RUNS: usize = 3;
/// Reports of each stream that are under way.
const WINDOW: u64 = 16;
/// How often each instance reports.
const TIMES: u64 = 3;
/// How long memory may take to stand still.
const SETTLING: Duration = Duration::from_secs(10);

pub(super) fn measure(site: &Site<'_>) -> Result<Option<Figure>> {
    let (mut start, mut held) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let agent = site.start(&format!("memory-{run}"), "")?;
        start.push(resident(&agent)?);
        held.push(agent.load(async || with_all(site, &agent).await)?);
    }
    let start = median(&start).unwrap_or_default();
    let figure = Figure::of("sma/memory-100k-mb", "MB", Better::Lower, held);
    Ok(figure.map(|figure| {
        figure.note(format!(
            "resident memory of cats-engined once {} instances have reported {TIMES} times each over {STREAMS} streams, \
             which stand; {start:.1} MB before",
            STREAMS * INSTANCES
        ))
    }))
}

async fn with_all(site: &Site<'_>, agent: &Agent) -> Result<f64> {
    let target = Target { address: Agent::address(), name: AGENT, answers: Answers::Acknowledged };
    let flows = open(site, &target, WINDOW).await?;
    fill(&flows, TIMES).await?;
    let known = state::Agent::of(&agent.node)?.number("live");
    if known != u64::from(STREAMS * INSTANCES) {
        return Err(LabError::new("filling an agent", format!("it knows {known} instances")));
    }
    settled(agent)
}

/// MB.
#[allow(clippy::cast_precision_loss)] // far below 2^52
fn resident(agent: &Agent) -> Result<f64> {
    Ok(agent.node.engined_resident()? as f64 * 1024.0 / 1e6)
}

/// Once it stands still, as updates are told on for a while.
fn settled(agent: &Agent) -> Result<f64> {
    let (mut before, mut still) = (f64::INFINITY, 0);
    let found = wait_at_most(SETTLING, "memory to stand still", || {
        let now = resident(agent).ok()?;
        still = if (now - before).abs() < 0.1 { still + 1 } else { 0 };
        before = now;
        (still >= 50).then_some(now)
    });
    found.map_err(|late| LabError::new(late.doing, format!("{}; it is {before} MB", late.why)))
}
