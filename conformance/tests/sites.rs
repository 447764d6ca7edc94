//! Three sites whose metric agents tell the path selector what their instances report. Needs root.

use cats_conformance::command::Background;
use cats_conformance::layout::SERVICE;
use cats_conformance::service::Connection;
use cats_conformance::sites::{AGENTS, CACHE_LIFE, Extent, MANY, Sites, TTL};
use cats_conformance::state::{Metrics, believed_for, heard_of, told_by};
use cats_conformance::wait::{wait_at_most, wait_for};
use cats_conformance::{LabError, Result};
use rustix::process::Signal;
use std::time::{Duration, Instant};

const REPORTER: &str = env!("CARGO_BIN_EXE_cats-report");

/// How long what is critical may take from a report to a new flow, on a loaded machine.
const UPDATE: Duration = Duration::from_secs(1);

/// Computing times of the sites in milliseconds: A is the best, then B.
const TIMES: [&str; 3] = ["5", "20", "40"];

/// Four reports a second of a site's instance, which has slots.
fn well(sites: &Sites, site: usize) -> Result<Background> {
    report(sites, site, "300")
}

fn report(sites: &Sites, site: usize, gas: &str) -> Result<Background> {
    let time = TIMES.get(site).copied().unwrap_or_default();
    sites.report(site, &["--rate", "4", "--gas", gas, "--computing-time", time])
}

/// The path selector has heard of the agent a moment ago.
fn until_believed(sites: &Sites, site: usize) -> Result<()> {
    let name = AGENTS[site].name;
    let fresh = CACHE_LIFE - Duration::from_millis(1300);
    wait_for(&format!("a refresh of {name}"), || {
        let left = believed_for(&sites.selector, name).ok()??;
        (Duration::from_millis(left) > fresh).then_some(())
    })
}

/// The slots of the only instance.
fn gas(metrics: &Metrics) -> Option<&String> {
    metrics.values().next()?.get("gas")
}

/// Waits until new flows go to an instance; gives how long it took from `since` on.
fn moved(sites: &Sites, to: &str, since: Instant, within: Duration) -> Result<Duration> {
    let what = format!("new flows to go to {to}");
    let at = wait_at_most(within + Duration::from_secs(10), &what, || {
        let asked = Instant::now();
        (sites.new_flow()? == to).then_some(asked)
    })?;
    let took = at.saturating_duration_since(since);
    if took > within {
        return Err(LabError::new(what, format!("took {took:?}, and {within:?} at most are allowed")));
    }
    Ok(took)
}

/// Proves SMA-9, SMA-13, SMA-16, SMA-21, SMA-23, SMA-24, SMA-25, SMA-26.
#[test]
fn new_flows_leave_a_site_that_is_full_silent_or_cut_off_and_established_flows_stay() -> Result<()> {
    let sites = Sites::start("sites-steering", REPORTER, Extent::All)?;
    let mut reports: Vec<Option<Background>> = Vec::new();
    for site in 0..3 {
        reports.push(Some(well(&sites, site)?));
    }
    sites.until_served_by("A")?;
    for site in 0..3 {
        let told = sites.until_equal(site)?;
        assert_eq!(gas(&told).map(String::as_str), Some("240"), "the safety margin of 20 %: {told:?}");
    }
    let mut standing = Connection::open(&sites.hosts.client, SERVICE[0])?;
    assert_eq!(standing.ask()?, "A");

    // Full: the last report of A says that there are no slots.
    drop(reports[0].take());
    let since = Instant::now();
    reports[0] = Some(report(&sites, 0, "0")?);
    moved(&sites, "B", since, UPDATE)?;
    assert_eq!(standing.ask()?, "A", "of a site that is full");
    drop(reports[0].take());
    reports[0] = Some(well(&sites, 0)?);
    sites.until_served_by("A")?;

    // Silent: A is believed as long as its last report holds, and not longer.
    drop(reports[0].take());
    let since = Instant::now();
    assert_eq!(sites.new_flow().as_deref(), Some("A"), "right after the last report");
    let took = moved(&sites, "B", since, TTL + UPDATE)?;
    assert!(took + UPDATE > TTL, "the last report held for {took:?} only");
    assert_eq!(standing.ask()?, "A", "of a site that is silent");
    reports[0] = Some(well(&sites, 0)?);
    sites.until_served_by("A")?;

    five_partitions(&sites, &mut reports, &mut standing)
}

/// Sites are cut off, in one way or the other, for longer than the path selector believes them or shorter. Those that
/// are cut off go on taking reports, which change meanwhile.
fn five_partitions(
    sites: &Sites,
    reports: &mut [Option<Background>],
    standing: &mut Connection,
) -> Result<()> {
    let long = CACHE_LIFE + Duration::from_secs(1);
    // Who is cut off, whether by a pulled cable, whether for long, and the slots that are reported meanwhile.
    let partitions: [(&[usize], bool, bool, u32); 5] = [
        (&[0], true, true, 400),
        (&[0], false, false, 600),
        (&[0, 1], false, true, 900),
        (&[2], true, false, 1400),
        (&[0, 2], true, true, 2000),
    ];
    for (round, (cut, unplugged, outlasts, slots)) in partitions.into_iter().enumerate() {
        let set = |connected: bool| {
            cut.iter().try_for_each(|site| match unplugged {
                true => sites.hosts.plug(AGENTS[*site], connected),
                false => sites.hosts.silence(AGENTS[*site], !connected),
            })
        };
        until_believed(sites, 0)?;
        let since = Instant::now();
        set(false)?;
        let best = ["A", "B", "C"];
        let left = (0..3).find(|site| !cut.contains(site)).map_or("nobody", |site| best[site]);
        assert_eq!(sites.new_flow().as_deref(), Some("A"), "round {round}: what is cached is valid");
        // What the agent is told meanwhile is another thing than what the path selector has.
        for site in cut {
            drop(reports[*site].take());
            reports[*site] = Some(report(sites, *site, &slots.to_string())?);
        }
        let expected = (slots * 8 / 10).to_string();
        for site in cut {
            wait_for("a change to be taken in by an agent that is cut off", || {
                (*gas(&told_by(&sites.agents[*site]).ok()?)? == expected).then_some(())
            })?;
        }
        if outlasts {
            moved(sites, left, since, long + UPDATE)?;
        }
        assert_eq!(standing.ask()?, "A", "round {round}: while cut off");
        set(true)?;
        sites.until_served_by("A")?;
        for site in 0..3 {
            let told = sites.until_equal(site)?;
            until_believed(sites, site)?;
            if cut.contains(&site) {
                assert_eq!(gas(&told), Some(&expected), "round {round}");
            }
        }
        assert_eq!(standing.ask()?, "A", "round {round}: after it");
    }
    Ok(())
}

/// Proves SMA-13, SMA-22, SMA-23: whichever end is killed, and at whatever step of a synchronisation.
#[test]
fn after_a_kill_of_either_end_amid_a_synchronisation_the_view_is_whole_again() -> Result<()> {
    let mut sites = Sites::start("sites-kills", REPORTER, Extent::Metrics)?;
    let load =
        ["--instances", &MANY.to_string(), "--rate", "1", "--shape", "walk", "--delta", "--ttl", "600"];
    let reports = sites.report(0, &load)?;
    until_whole(&sites, &reports)?;
    for step in 0..6 {
        // One end is killed, then the other when so much of the view has come again.
        kill(&mut sites, step % 2 == 0)?;
        wait_for("a part of the view", || {
            let heard = heard_of(&sites.selector, AGENTS[0].name).ok()?;
            (heard.len() >= step * MANY as usize / 6).then_some(())
        })?;
        kill(&mut sites, step % 2 == 1)?;
        until_whole(&sites, &reports)?;
    }
    Ok(())
}

/// Kills the engine of the agent, or that of the path selector, and starts it again.
fn kill(sites: &mut Sites, agent: bool) -> Result<()> {
    let victim = if agent { &mut sites.agents[0] } else { &mut sites.selector };
    victim.kill("engined")?;
    victim.start_engined()
}

/// Waits until the agent knows all instances, and the path selector has what is told of them.
fn until_whole(sites: &Sites, reports: &Background) -> Result<()> {
    let mut last = String::new();
    let told = || told_by(&sites.agents[0]).ok();
    wait_for("the agent to know all instances", || (told()?.len() == MANY as usize).then_some(()))?;
    // What changes all the time is never found equal.
    reports.signal(Signal::STOP)?;
    let whole = wait_for("the whole view", || {
        let (told, heard) = (told()?, heard_of(&sites.selector, AGENTS[0].name).ok()?);
        last = format!("told of {}, heard of {}", told.len(), heard.len());
        (told == heard && told.len() == MANY as usize).then_some(())
    });
    reports.signal(Signal::CONT)?;
    whole.map_err(|error| LabError::new(error.doing, format!("{}: {last}", error.why)))
}
