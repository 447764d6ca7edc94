//! Many binding events a second, of which subscribers on change are told: what that takes of a core, whether all are told
//! all, and whether memory stands still.
//!
//! Flows of one datagram come at a steady rate and end by themselves two seconds later: each is two events, and as many
//! bindings are there at any time.

use crate::Settings;
use crate::cps::bound::{send, sink};
use crate::cpu::of_process;
use crate::figure::{Better, Figure, median};
use cats_conformance::configuration::{Metric, cats, metrics};
use cats_conformance::deployment::AllInOne;
use cats_conformance::layout::Links;
use cats_conformance::netconf::Session;
use cats_conformance::node::Node;
use cats_conformance::wait::wait_at_most;
use cats_conformance::{LabError, Result};
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// New flows a second. Each ends as well, so there are twice as many events.
const FLOWS: u32 = 10_000;
/// How long the load lasts, as a rule and for long.
const SHORT: Duration = Duration::from_secs(20);
const LONG: Duration = Duration::from_mins(10);
/// Before the first look at memory, so that as many bindings are there as will be.
const WARMING: Duration = Duration::from_secs(8);
/// Between two looks at memory.
const LOOK: Duration = Duration::from_secs(1);
/// Subscribers that want to be told of every change, and of what is new every second.
const EAGER: usize = 8;
const DAMPENED: usize = 2;
/// How long all that is left may take to end and to be told.
const SETTLING: Duration = Duration::from_secs(60);

/// Lifts what is by default 1,000 flows a second of a client and 20,000 of a tenant.
const LIMITS: &str = "<path-selector xmlns=\"urn:catsd:yang:cats-cps\"><admission><client-rate>1000000000</client-rate>\
                      <tenant-rate>1000000000</tenant-rate></admission></path-selector>";
const TIMEOUT: &str = "<base><flow-timeout>2</flow-timeout></base>";

/// What a subscriber has heard.
#[derive(Default)]
struct Heard {
    updates: AtomicU64,
    octets: AtomicU64,
    came: AtomicU64,
    went: AtomicU64,
    /// Whole updates: one at the begin, and no other.
    wholes: AtomicU64,
    /// Words of a suspension or of an end.
    breaks: AtomicU64,
}

impl Heard {
    fn take(&self, message: &str) {
        let add = |count: &AtomicU64, more: usize| count.fetch_add(more as u64, Ordering::Relaxed);
        let of = |words: &str| message.matches(words).count();
        add(&self.octets, message.len());
        if message.contains("<push-change-update") {
            add(&self.updates, 1);
            add(&self.came, of("<operation>create</operation>"));
            add(&self.went, of("<operation>delete</operation>"));
        } else if message.contains("<push-update") {
            add(&self.wholes, 1);
            add(&self.came, of("<binding>"));
        } else {
            add(&self.breaks, 1);
        }
    }

    fn get(count: &AtomicU64) -> u64 {
        count.load(Ordering::Relaxed)
    }
}

/// What was seen of a daemon while the load lasted.
struct Seen {
    name: &'static str,
    process: u32,
    cpu: u64,
    resident: Vec<f64>,
}

pub(super) fn measure(settings: &Settings) -> Result<Vec<Figure>> {
    let duration = if settings.long { LONG } else { SHORT };
    let started = AllInOne::start("bench-bindings", Links::default())?;
    let AllInOne { node, servers, hosts, lab: _lab } = started;
    drop(servers);
    let roomy = |metric: Metric| Metric { gas: 1_000_000_000, ..metric };
    node.configure(&cats(&[LIMITS, TIMEOUT, &metrics(roomy(Metric::A), roomy(Metric::B))].concat()))?;
    let sink = hosts.instances[1].enter(sink)?.map_err(LabError::of("taking what arrives"))?;
    let heard: Vec<Heard> = (0..EAGER + DAMPENED).map(|_| Heard::default()).collect();
    let stop = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        let stop = &stop;
        for (at, heard) in heard.iter().enumerate() {
            let mut session = node.netconf()?;
            session.succeed(&subscribe(if at < EAGER { 0 } else { 100 }))?;
            scope.spawn(move || listen(session, heard, stop));
        }
        let outcome = under_load(&node, duration, || {
            let sent = hosts.client.enter(|| send(0, FLOWS, WARMING + duration + LOOK));
            sent?.map_err(LabError::of("sending flows"))
        });
        let settled = outcome.and_then(|outcome| settle(&heard).map(|()| outcome));
        stop.store(true, Ordering::Relaxed);
        // Those who listen hear of the end by it.
        node.signal("mgmtd", Signal::KILL)?;
        settled
    })?;
    drop(sink);
    figures(outcome, &heard, duration)
}

fn subscribe(dampening: u32) -> String {
    format!(
        "<establish-subscription xmlns=\"urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications\" \
         xmlns:yp=\"urn:ietf:params:xml:ns:yang:ietf-yang-push\">\
         <yp:datastore xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">ds:operational</yp:datastore>\
         <yp:datastore-subtree-filter><routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\">\
         <cats xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\"><forwarder xmlns=\"urn:catsd:yang:cats-forwarder\">\
         <bindings/></forwarder></cats></routing></yp:datastore-subtree-filter>\
         <yp:on-change><yp:dampening-period>{dampening}</yp:dampening-period></yp:on-change>\
         </establish-subscription>"
    )
}

/// Reads until the end; a session that ends before is a break.
fn listen(mut session: Session, heard: &Heard, stop: &AtomicBool) {
    loop {
        match session.receive() {
            Ok(message) => heard.take(&message),
            Err(_) if stop.load(Ordering::Relaxed) => return,
            Err(_) => {
                heard.breaks.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
        if stop.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// Looks at the daemons while flows are sent.
fn under_load(
    node: &Node,
    duration: Duration,
    load: impl FnOnce() -> Result<u32> + Send,
) -> Result<([Seen; 2], f64)> {
    let daemon = |name, process: Option<u32>| -> Result<Seen> {
        let process = process.ok_or_else(|| LabError::new("looking at the daemons", "one is gone"))?;
        Ok(Seen { name, process, cpu: 0, resident: Vec::new() })
    };
    let mut seen = [daemon("cats-mgmtd", node.mgmtd_pid())?, daemon("cats-engined", node.engined_pid())?];
    std::thread::scope(|scope| {
        let sending = scope.spawn(load);
        std::thread::sleep(WARMING);
        let cpu = |seen: &Seen| of_process(seen.process).map_err(LabError::of("reading CPU times"));
        let before = [cpu(&seen[0])?, cpu(&seen[1])?];
        let begin = Instant::now();
        while begin.elapsed() < duration {
            for daemon in &mut seen {
                daemon.resident.push(resident(daemon.process)?);
            }
            std::thread::sleep(LOOK);
        }
        let taken = begin.elapsed().as_secs_f64();
        for (daemon, before) in seen.iter_mut().zip(before) {
            daemon.cpu = cpu(daemon)? - before;
        }
        sending.join().map_err(|_| LabError::new("sending flows", "it panicked"))??;
        Ok((seen, taken))
    })
}

/// MB.
fn resident(process: u32) -> Result<f64> {
    let doing = || format!("reading the memory of {process}");
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).map_err(LabError::of(doing()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let size: Option<f64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    size.map(|kilobytes| kilobytes / 1e3).ok_or_else(|| LabError::new(doing(), "there is no line VmRSS"))
}

/// All flows end, and each subscriber has been told that what came has gone.
fn settle(heard: &[Heard]) -> Result<()> {
    let mut open = Vec::new();
    let settled = wait_at_most(SETTLING, "all bindings to be told to be gone", || {
        open = heard.iter().map(|one| (Heard::get(&one.came), Heard::get(&one.went))).collect();
        open.iter().all(|(came, went)| came == went && *came > 0).then_some(())
    });
    settled.map_err(|late| LabError::new(late.doing, format!("{}; came and went: {open:?}", late.why)))
}

impl Seen {
    /// Resident memory in the first tenth of the time and in the last.
    fn first_and_last(&self) -> (f64, f64) {
        let tenth = (self.resident.len() / 10).max(1);
        let middle = |part: Vec<f64>| median(&part).unwrap_or_default();
        let first = self.resident.iter().copied().take(tenth).collect();
        (middle(first), middle(self.resident.iter().rev().copied().take(tenth).collect()))
    }

    fn memory(&self) -> String {
        let (first, last) = self.first_and_last();
        let most = self.resident.iter().copied().fold(0.0, f64::max);
        format!("{} {first:.1} MB at the begin, {last:.1} MB at the end, {most:.1} MB at most", self.name)
    }

    /// Of a core.
    #[allow(clippy::cast_precision_loss)] // minutes in nanoseconds
    fn share(&self, taken: f64) -> f64 {
        self.cpu as f64 / 1e9 / taken
    }
}

/// The sum of what some subscribers have heard, one on the average, a second.
#[allow(clippy::cast_precision_loss)] // counts of minutes
fn a_second(all: &[Heard], of: fn(&Heard) -> &AtomicU64, wall: f64) -> f64 {
    all.iter().map(|one| Heard::get(of(one))).sum::<u64>() as f64 / all.len().max(1) as f64 / wall
}

fn figures(
    ([mgmtd, engined], taken): ([Seen; 2], f64),
    heard: &[Heard],
    duration: Duration,
) -> Result<Vec<Figure>> {
    let lost: u64 =
        heard.iter().map(|one| Heard::get(&one.breaks) + Heard::get(&one.wholes).saturating_sub(1)).sum();
    if lost > 0 {
        return Err(LabError::new("telling of bindings", format!("{lost} suspensions, ends or new begins")));
    }
    let share =
        Figure::of("netconf/binding-events-core-share", "ratio", Better::Lower, vec![mgmtd.share(taken)]);
    let share = share.map(|figure| figure.note(note(heard, duration, engined.share(taken))));
    let (first, last) = mgmtd.first_and_last();
    let growth =
        Figure::of("netconf/binding-events-memory-ratio", "ratio", Better::Lower, vec![last / first]);
    let growth = growth.map(|figure| {
        figure.note(format!(
            "resident memory of cats-mgmtd in the last tenth of the same {:.0} s to that in the first: {}; {}",
            duration.as_secs_f64(),
            mgmtd.memory(),
            engined.memory()
        ))
    });
    Ok(share.into_iter().chain(growth).collect())
}

fn note(heard: &[Heard], duration: Duration, engine: f64) -> String {
    let (eager, dampened) = heard.split_at(EAGER.min(heard.len()));
    let wall = (WARMING + duration + LOOK).as_secs_f64();
    let told = a_second(eager, |one| &one.came, wall) + a_second(eager, |one| &one.went, wall);
    format!(
        "share of a core of cats-mgmtd while {FLOWS} flows come a second and as many end, for {:.0} s; {EAGER} \
         subscribers on change with dampening 0 over the local socket are told {told:.0} events a second in {:.0} \
         updates of {:.1} MB, {DAMPENED} with dampening 1 s in {:.2} of {:.1} MB; no one is suspended, ended or told all \
         anew, and each one's copy is empty when all flows have ended. cats-engined, which makes the bindings, has \
         {engine:.2} of a core; they, the load and those who are told share two CPUs as the kernel will",
        duration.as_secs_f64(),
        a_second(eager, |one| &one.updates, wall),
        a_second(eager, |one| &one.octets, wall) / 1e6,
        a_second(dampened, |one| &one.updates, wall),
        a_second(dampened, |one| &one.octets, wall) / 1e6,
    )
}
