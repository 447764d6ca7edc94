//! [`Sma`]: from a report to what the path selectors are told.

mod admission;
mod aging;
mod audit;
mod output;
mod outside;
mod pulling;
mod report;
mod review;
mod telling;
mod turns;
mod views;

pub use audit::{AuditKind, AuditRecord};
pub use output::{Alarm, Event, Output, PullCause};
pub use outside::{AuthenticationFailure, UnknownInstance};
pub use report::Taken;
pub use telling::PolicyView;
pub use views::{Counters, MetricsView, SciCounters, SciView};

use super::cache::{Cache, EntryIx};
use super::calendar::Calendar;
use super::config::SmaConfig;
use super::limits::Meter;
use super::northbound::Northbound;
use super::policy::{Reevaluation, SiteTruth};
use super::quarantine::Quarantine;
use super::update::{Control, UpdateConfig};
use crate::timers::Timers;
use audit::Audit;
use cats_engine_types::{CsId, NodeId, UnixMicros};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;
use turns::Turns;

/// Deadlines handled, or records made again, in one go.
const STEP: usize = 1000;

/// The C-SMA without I/O.
///
/// After each call of a `handle_…` method, of [`Sma::configure`] or of an operator's action, drain
/// [`Sma::poll_output`] and take the new [`Sma::poll_timeout`]; call [`Sma::handle_timeout`] when it has come. `now`
/// never goes backwards; `wall` may. The caller has authenticated who a report is from; whether it may report is
/// checked here.
#[derive(Debug)]
pub struct Sma {
    config: SmaConfig,
    configured: bool,
    discovered_services: BTreeSet<CsId>,
    cache: Cache,
    quarantine: Quarantine,
    timers: Timers<Timer>,
    turns: Turns,
    pulls: Meter,
    /// Whose records are to be made again.
    again: Reevaluation,
    /// How the tests of the rules came out for each service.
    truths: BTreeMap<CsId, SiteTruth>,
    control: Control<EntryIx>,
    northbound: Northbound,
    audit: Audit,
    counters: Counters,
    outputs: VecDeque<Output>,
    now: Instant,
    wall: UnixMicros,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// An SCI's metrics are of an age that has a consequence.
    Age(EntryIx),
    /// The report of an SCI that was held back may be taken by its own rate.
    Held(EntryIx),
    /// A report that was held back may be taken by the rate of all.
    Turn,
}

impl Timer {
    fn why(self) -> &'static str {
        match self {
            Timer::Age(_) => "age of metrics",
            Timer::Held(_) => "rate of an SCI",
            Timer::Turn => "rate of all SCIs",
        }
    }
}

impl Sma {
    /// The C-SMA of this name without configuration, which refuses all. `epoch` is its start, in ns since 1970 and
    /// larger than that of every start before.
    pub fn new(agent: NodeId, epoch: u64, now: Instant, wall: UnixMicros) -> Self {
        Self {
            config: SmaConfig::default(),
            configured: false,
            discovered_services: BTreeSet::new(),
            cache: Cache::default(),
            quarantine: Quarantine::default(),
            timers: Timers::new(),
            turns: Turns::default(),
            pulls: Meter::default(),
            again: Reevaluation::default(),
            truths: BTreeMap::new(),
            control: Control::new(UpdateConfig::default(), Calendar::default(), now, wall),
            northbound: Northbound::new(agent, epoch, now, wall),
            audit: Audit::default(),
            counters: Counters::default(),
            outputs: VecDeque::new(),
            now,
            wall,
        }
    }

    /// The next output, in the order in which they came to be.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front().or_else(|| self.northbound.poll_output().map(Output::Northbound))
    }

    /// When [`Sma::handle_timeout`] is to be called, and why.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let again = self.again.is_pending().then_some((self.now, "records to be made again"));
        let timer = self.timers.next().map(|(at, timer)| (at, timer.why()));
        let others = [again, timer, self.control.poll_timeout(), self.northbound.poll_timeout()];
        others.into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// Handles what is due, some at a time: it may have to be called again at once.
    pub fn handle_timeout(&mut self, now: Instant, wall: UnixMicros) {
        self.set_time(now, wall);
        for _ in 0..STEP {
            match self.timers.take_due(now) {
                Some(Timer::Age(ix)) => self.age(ix),
                Some(Timer::Held(ix)) => self.held_is_due(ix),
                Some(Timer::Turn) => self.take_turns(),
                None => break,
            }
        }
        self.look_again();
        self.northbound.handle_timeout(self.now, self.wall);
        self.finish();
    }

    /// What ends each input: what is due is told, and what there is no room for is forgotten.
    fn finish(&mut self) {
        self.forget_some();
        self.tell_due();
    }

    fn set_time(&mut self, now: Instant, wall: UnixMicros) {
        self.now = self.now.max(now);
        self.wall = wall;
        let windows = self.control.look(self.now, wall);
        if !windows.common(self.config.policy.windows()).is_empty() {
            self.again.everything();
        }
    }

    fn output(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }
}
