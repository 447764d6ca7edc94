//! The management daemon's memory: of a session that does nothing, and of 100,000 list entries.

use super::load;
use super::rig::Ours;
use crate::figure::{Better, Figure};
use cats_conformance::lab::Lab;
use cats_conformance::netconf::Session;
use cats_conformance::node::AdministratorKey;
use cats_conformance::wait::wait_at_most;
use cats_conformance::{LabError, Result};
use std::time::Duration;

/// Servers that are started for a figure.
const RUNS: usize = 3;
/// Idle sessions.
const SESSIONS: usize = 100;
/// List entries.
const MANY: usize = 100_000;
/// How long memory may take to be given back.
const SETTLING: Duration = Duration::from_secs(5);

/// Memory of an idle session over SSH.
pub(super) fn idle(lab: &Lab, key: &AdministratorKey) -> Result<Option<Figure>> {
    let (mut ssh, mut local) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let more = "--max-sessions-per-user=200";
        let ours = Ours::start(lab, key, &format!("idle-ssh-{run}"), &[more])?;
        ssh.push(a_session(&ours, || Ok(ours.endpoint.connect()?.settle()))?);
        let ours = Ours::start(lab, key, &format!("idle-local-{run}"), &[more])?;
        local.push(a_session(&ours, || ours.node.netconf())?);
    }
    let local = crate::figure::median(&local).unwrap_or_default();
    let figure = Figure::of("netconf/idle-session-kb", "kB", Better::Lower, ssh);
    Ok(figure.map(|figure| {
        figure.note(format!(
            "resident memory that {SESSIONS} sessions over SSH add to a daemon that has had one, a session; over the \
             local socket {local:.1} kB"
        ))
    }))
}

/// kB a session.
fn a_session<T>(ours: &Ours, open: impl Fn() -> Result<T>) -> Result<f64> {
    drop(open()?);
    let before = settled(ours)?;
    let sessions = (0..SESSIONS).map(|_| open()).collect::<Result<Vec<T>>>()?;
    let after = settled(ours)?;
    drop(sessions);
    #[allow(clippy::cast_precision_loss)] // a small constant
    Ok((after - before) / SESSIONS as f64)
}

/// Memory with 100,000 entries, and the last of the servers with these.
pub(super) fn large(lab: &Lab, key: &AdministratorKey) -> Result<(Vec<Figure>, Ours)> {
    let items = load::items(MANY);
    let (mut start, mut peak, mut held, mut freed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    loop {
        let ours = Ours::start(lab, key, &format!("large-{}", held.len()), &[])?;
        let mut session = ours.node.netconf()?;
        start.push(ours.memory("VmRSS")? / 1e3);
        session.edit_candidate(&items)?;
        session.commit()?;
        held.push(settled(&ours)? / 1e3);
        peak.push(ours.memory("VmHWM")? / 1e3);
        if held.len() == RUNS {
            session.close()?;
            return Ok((figures(items.len(), [start, peak, held, freed]), ours));
        }
        empty(&mut session)?;
        freed.push(settled(&ours)? / 1e3);
    }
}

fn empty(session: &mut Session) -> Result<()> {
    session.edit_candidate(load::NO_ITEMS)?;
    session.commit()
}

fn figures(size: usize, [start, peak, held, freed]: [Vec<f64>; 4]) -> Vec<Figure> {
    let size = size >> 20;
    let middle = |values: &[f64]| crate::figure::median(values).unwrap_or_default();
    let note = format!(
        "resident memory of the management daemon after one edit-config of {size} MiB with 100,000 list entries of five \
         leaves and its commit: what stays after the peak, which is {:.1} MB; {:.1} MB before",
        middle(&peak),
        middle(&start)
    );
    let held =
        Figure::of("netconf/memory-100k-mb", "MB", Better::Lower, held).map(|figure| figure.note(note));
    let freed = Figure::of("netconf/memory-100k-freed-mb", "MB", Better::Lower, freed);
    let freed = freed
        .map(|figure| figure.note("the same daemon once all of these are deleted and that is committed"));
    let peak = Figure::of("netconf/memory-100k-peak-mb", "MB", Better::Lower, peak);
    let peak =
        peak.map(|figure| figure.note("the most that the daemon had resident until these were committed"));
    [held, freed, peak].into_iter().flatten().collect()
}

/// Resident memory once it stands still, kB: what is given back is given back behind the reply.
fn settled(ours: &Ours) -> Result<f64> {
    let mut before = f64::INFINITY;
    let mut still = 0;
    let found = wait_at_most(SETTLING, "memory to stand still", || {
        let now = ours.memory("VmRSS").ok()?;
        still = if (now - before).abs() < 64.0 { still + 1 } else { 0 };
        before = now;
        (still >= 10).then_some(now)
    });
    found.map_err(|late| LabError::new(late.doing, format!("{}; it is {before} kB", late.why)))
}
