//! What a small commit costs among many entries, against the same on an empty store.

use super::load;
use super::rig::Ours;
use crate::figure::{Better, Figure, median};
use cats_conformance::Result;
use cats_conformance::configuration::cats;
use cats_conformance::lab::Lab;
use cats_conformance::netconf::Session;
use cats_conformance::node::AdministratorKey;
use std::time::{Duration, Instant};

/// How long the commits of a round go on.
const DURATION: Duration = Duration::from_millis(300);
/// Commits of a round at least.
const LEAST: u32 = 3;
/// Entries of the middle datastore, and services.
const MANY: usize = 10_000;
/// Services in one commit at most.
const PORTION: usize = 2_000;

/// Seconds a commit on an empty store, and on a filled one, a round each.
struct Scale {
    key: &'static str,
    what: &'static str,
    empty: Vec<f64>,
    filled: Vec<f64>,
}

/// One leaf among 10,000 and 100,000 list entries; `large` has the latter.
pub(super) fn leaves(lab: &Lab, key: &AdministratorKey, large: &Ours, rounds: usize) -> Result<Vec<Figure>> {
    let servers = [Ours::filled(lab, key, "empty", 0)?, Ours::filled(lab, key, "middle", MANY)?];
    let mut sessions = [servers[0].node.netconf()?, servers[1].node.netconf()?, large.node.netconf()?];
    let what = "commit of one leaf that was edited before each";
    let mut middle = Scale::new("commit-leaf-10k", what);
    let mut most = Scale::new("commit-leaf-100k", what);
    for round in 0..=rounds {
        let mut taken = [0.0; 3];
        for (session, taken) in sessions.iter_mut().zip(&mut taken) {
            *taken = commits(session, |count| load::knob(round * 1_000_000 + count))?;
        }
        // The first round warms up.
        if round > 0 {
            middle.push(taken[0], taken[1]);
            most.push(taken[0], taken[2]);
        }
    }
    Ok([middle, most].iter().filter_map(Scale::figure).collect())
}

/// A service among 10,000, on a node that selects paths.
pub(super) fn services(lab: &Lab, key: &AdministratorKey, rounds: usize) -> Result<Vec<Figure>> {
    let servers = [Ours::start(lab, key, "no-services", &[])?, Ours::start(lab, key, "services", &[])?];
    for server in &servers {
        server.node.configure(&cats(SELECTOR))?;
    }
    for first in (1..=MANY).step_by(PORTION) {
        servers[1].node.configure(&load::services(first, PORTION))?;
    }
    let mut sessions = [servers[0].node.netconf()?, servers[1].node.netconf()?];
    let mut scale = Scale::new(
        "commit-service-10k",
        "commit of a service of our own modules, made and deleted in turn, that was edited before each. A commit \
         waits for the engine's plan, which comes after what the engine did for the commit before it",
    );
    for round in 0..=rounds {
        let mut taken = [0.0; 2];
        for (session, taken) in sessions.iter_mut().zip(&mut taken) {
            *taken = commits(session, service)?;
        }
        if round > 0 {
            scale.push(taken[0], taken[1]);
        }
    }
    Ok(scale.figure().into_iter().collect())
}

/// The role that uses services.
const SELECTOR: &str = "<base><enable>true</enable></base><path-selector xmlns=\"urn:catsd:yang:cats-cps\"><enabled>true</enabled>\
                        <node-id>bench</node-id></path-selector>";

/// One service more, which the next edit deletes.
fn service(count: usize) -> String {
    if count % 2 == 1 { load::services(MANY + 1, 1) } else { load::without_service(MANY + 1) }
}

/// Seconds a commit, each after the edit that `edit` gives for its number from 1 on; an even number of them.
fn commits(session: &mut Session, edit: impl Fn(usize) -> String) -> Result<f64> {
    let begin = Instant::now();
    let mut taken = 0.0;
    let mut count = 0_u32;
    while begin.elapsed() < DURATION || count < LEAST || count % 2 == 1 {
        count += 1;
        session.edit_candidate(&edit(count as usize))?;
        let begin = Instant::now();
        session.commit()?;
        taken += begin.elapsed().as_secs_f64();
    }
    Ok(taken / f64::from(count))
}

impl Scale {
    fn new(key: &'static str, what: &'static str) -> Scale {
        Scale { key, what, empty: Vec::new(), filled: Vec::new() }
    }

    fn push(&mut self, empty: f64, filled: f64) {
        self.empty.push(empty);
        self.filled.push(filled);
    }

    fn figure(&self) -> Option<Figure> {
        let ratios = self.empty.iter().zip(&self.filled).map(|(empty, filled)| filled / empty);
        let (empty, filled) = (median(&self.empty)? * 1e3, median(&self.filled)? * 1e3);
        let note = format!(
            "{}, over the local socket, with fdatasync and the engine connected; medians: empty {empty:.3} ms, filled \
             {filled:.3} ms",
            self.what
        );
        let key = format!("netconf/{}-scale", self.key);
        Some(Figure::of(&key, "ratio", Better::Lower, ratios.collect())?.note(note))
    }
}
