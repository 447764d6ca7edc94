//! What instances do together or too often to a metric agent, from outside, and what a path selector hears of it. Needs
//! root.

use cats_conformance::configuration::cats;
use cats_conformance::sites::{AGENTS, Extent, MANY, Sites, TTL};
use cats_conformance::state::{Agent, Metrics, heard_of, instances, records_of, told_by};
use cats_conformance::wait::{wait_at_most, wait_for};
use cats_conformance::{LabError, Result};
use std::time::{Duration, Instant};

const REPORTER: &str = env!("CARGO_BIN_EXE_cats-report");

/// How long what is critical may take from the agent to the path selector, on a loaded machine.
const UPDATE: Duration = Duration::from_secs(2);

/// How long it may take from the start of an agent until ten thousand instances are heard again that report each 5 s, on a
/// loaded machine.
const AGAIN: Duration = Duration::from_secs(60);

fn start(name: &str) -> Result<Sites> {
    Sites::start(name, REPORTER, Extent::Metrics)
}

fn configure(sites: &Sites, agent: &str) -> Result<()> {
    sites.agents[0]
        .configure(&cats(&format!("<metric-agent xmlns=\"urn:catsd:yang:cats-sma\">{agent}</metric-agent>")))
}

/// Proves SMA-13, SMA-19.
#[test]
fn a_path_selector_hears_of_the_services_that_it_may_know_of_and_of_no_other() -> Result<()> {
    let sites = start("loads-scope")?;
    let bound = |services: &str| {
        format!("<northbound><path-selector><node-id>C-PS-1</node-id>{services}</path-selector></northbound>")
    };
    configure(&sites, &bound("<service>1</service>"))?;
    let _reports = sites.report(0, &["--services", "1,2", "--instances", "3", "--rate", "4"])?;
    let all = ["1 1000", "1 1001", "1 1002", "2 1000", "2 1001", "2 1002"];
    wait_for("the agent to have both services", || {
        told_by(&sites.agents[0]).ok()?.keys().eq(all).then_some(())
    })?;
    wait_for("the path selector to hear of the first", || {
        heard_of(&sites.selector, AGENTS[0].name).ok()?.keys().eq(&all[..3]).then_some(())
    })?;
    // The whole view, which comes all the time, has no more.
    let mut session = sites.selector.netconf()?;
    let asked = session.succeed("<synchronise xmlns=\"urn:catsd:yang:cats-exec\"><all/></synchronise>")?;
    assert!(asked.contains("<begun>true</begun>"), "{asked}");
    let heard = heard_of(&sites.selector, AGENTS[0].name)?;
    assert!(heard.keys().eq(&all[..3]), "{heard:?}");
    configure(&sites, &bound("<service>1</service><service>2</service>"))?;
    sites.until_told(0, "both services, now that it may know", |told| told.keys().eq(all))?;
    Ok(())
}

/// Proves SMA-4, SMA-9, SMA-12: such an instance is in doubt as long as it flaps, and told so, but it is heard.
#[test]
fn an_instance_that_flaps_each_second_is_flagged_and_never_stale() -> Result<()> {
    let sites = start("loads-flapping")?;
    let reports =
        sites.report(0, &["--shape", "flapping", "--period", "1", "--rate", "4", "--gas", "100"])?;
    let flagged = |wanted: &str| {
        let what = format!("an instance that is told with flagged {wanted}");
        wait_for(&what, || {
            let heard = heard_of(&sites.selector, AGENTS[0].name).ok()?;
            (heard.get("1 1000")?.get("flagged")? == wanted).then_some(())
        })
    };
    flagged("true")?;
    let seen = instances(&sites.agents[0])?;
    assert_eq!(seen["1 1000"].get("doubt").map(String::as_str), Some("flapping"), "{seen:?}");
    assert_eq!(seen["1 1000"]["state"], "HEALTHY", "{seen:?}");
    let counted = Agent::of(&sites.agents[0])?;
    assert_eq!((counted.count("stale"), counted.count("failed")), (0, 0), "{counted:?}");
    drop(reports);
    let _calm = sites.report(0, &["--rate", "4", "--gas", "100"])?;
    flagged("false")
}

/// Proves SMA-9, SMA-21, SMA-24.
#[test]
fn when_all_instances_are_cut_off_at_once_the_path_selector_has_no_slot_of_them_left() -> Result<()> {
    let sites = start("loads-all-down")?;
    let reports = sites.report(0, &["--instances", &MANY.to_string(), "--rate", "2"])?;
    let full = |told: &Metrics| told.len() == MANY as usize && told.values().all(|told| told["gas"] == "240");
    sites.until_told(0, "all instances", full)?;
    drop(reports);
    let since = Instant::now();
    let bound = TTL + UPDATE;
    wait_at_most(bound + Duration::from_secs(10), "all instances to have no slots", || {
        let heard = heard_of(&sites.selector, AGENTS[0].name).ok()?;
        heard.values().all(|heard| heard["gas"] == "0").then_some(())
    })?;
    let took = since.elapsed();
    assert!(took <= bound, "{took:?}, and {bound:?} at most are allowed");
    assert!(took + UPDATE > TTL, "a report held for {took:?} only");
    let _again = sites.report(0, &["--instances", &MANY.to_string(), "--rate", "2"])?;
    sites.until_told(0, "all instances once more", full)?;
    Ok(())
}

/// Proves SMA-28: what is too often is counted and put off, the newest values get through, and nobody else pays for it.
#[test]
fn ten_times_the_allowed_rate_costs_the_other_instances_nothing() -> Result<()> {
    let sites = start("loads-flood")?;
    configure(
        &sites,
        "<rates><instance-rate>5</instance-rate><instance-burst>5</instance-burst><total-rate>1000</total-rate>\
         <total-burst>1000</total-burst></rates>",
    )?;
    let flood = sites.report(0, &["--rate", "50", "--gas", "100", "--ttl", "600"])?;
    let proof = sites.certified(AGENTS[0]);
    let proof: Vec<&str> = proof.iter().map(String::as_str).collect();
    let others =
        ["--first", "1001", "--instances", "50", "--rate", "2", "--count", "8", "--ttl", "600", "--check"];
    let reported = sites.report_by(0, &proof, &others)?;
    assert_eq!((reported.code, reported.taken("honest")), (Some(0), 400), "{:#}", reported.told);
    assert_eq!(reported.refused("honest", "too-often"), 0);
    drop(flood);
    let counted = Agent::of(&sites.agents[0])?;
    assert!(counted.refused("too-often") > 50, "{counted:?}");
    let last =
        sites.report_by(0, &proof, &["--rate", "50", "--count", "50", "--gas", "200", "--ttl", "600"])?;
    assert!(last.refused("honest", "too-often") > 0, "{:#}", last.told);
    sites.until_told(0, "the newest values", |told| {
        told.len() == 51 && told.get("1 1000").is_some_and(|told| told["gas"] == "160")
    })?;
    Ok(())
}

/// Proves SMA-2, SMA-28, SMA-29: twenty over each of 500 connections, each with a token of its own.
#[test]
fn ten_thousand_instances_that_reconnect_together_are_all_heard_again() -> Result<()> {
    const ALL: u64 = 10_000;
    let mut sites = start("loads-reconnect")?;
    let secret = sites.pki("issuer.secret");
    std::fs::write(&secret, "a secret of thirty-two octets or more")
        .map_err(LabError::of("writing a secret"))?;
    configure(
        &sites,
        &format!(
            "<collection><tokens><issuer>lab</issuer><audience>C-SMA-1</audience><key><id>lab</id>\
             <algorithm>hs256</algorithm><file>{secret}</file></key></tokens></collection>\
             <cache><valid-for>200</valid-for></cache>\
             <northbound><batch>1000</batch><snapshot-interval>60</snapshot-interval></northbound>"
        ),
    )?;
    let proof = [
        ["--jwt-key", &secret],
        ["--jwt-algorithm", "hs256"],
        ["--jwt-issuer", "lab"],
        ["--jwt-audience", "C-SMA-1"],
        ["--jwt-lifetime", "3600"],
    ];
    let load = ["--instances", &ALL.to_string(), "--connections", "500", "--rate", "0.2", "--ttl", "3600"];
    let mut reports = sites.report_as(0, &proof.concat(), &load)?;
    until_heard(&sites, ALL, Duration::from_secs(120))?;
    sites.agents[0].kill("engined")?;
    sites.agents[0].start_engined()?;
    until_heard(&sites, ALL, AGAIN)?;
    assert_eq!(reports.ended(), None);
    let counted = Agent::of(&sites.agents[0])?;
    assert_eq!(counted.count("authentication-failures"), 0, "{counted:?}");
    Ok(())
}

/// Waits until the agent has heard of so many instances, and the path selector of all of them.
fn until_heard(sites: &Sites, all: u64, bound: Duration) -> Result<()> {
    let mut last = String::new();
    let heard = wait_at_most(bound, "all instances", || {
        let agent = Agent::of(&sites.agents[0]).ok()?;
        let records = records_of(&sites.selector, AGENTS[0].name).ok()?;
        last = format!("{} live, {records} records", agent.number("live"));
        (agent.number("live") == all && records == all).then_some(())
    });
    heard.map_err(|error| LabError::new(error.doing, format!("{}: {last}", error.why)))
}
