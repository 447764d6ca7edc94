//! [`Sma`]: from a report to what the path selectors are told.

mod admission;
mod aging;
mod audit;
mod output;
mod outside;
mod pulling;
mod report;
mod review;
mod turns;
mod views;

pub use audit::{AuditKind, AuditRecord};
pub use output::{Alarm, Event, Output, PullCause};
pub use outside::{AuthenticationFailure, UnknownInstance};
pub use report::Taken;
pub use views::{Counters, MetricsView, SciCounters, SciView};

use super::InstanceKey;
use super::cache::{Cache, EntryIx};
use super::config::SmaConfig;
use super::limits::Meter;
use super::quarantine::Quarantine;
use crate::timers::Timers;
use audit::Audit;
use cats_engine_types::{CsId, UnixMicros};
use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;
use turns::Turns;

/// Deadlines handled, or SCIs looked at after a change of configuration, in one go.
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
    sweep: Option<Sweep>,
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

/// How far the look at each SCI after a change of configuration is.
#[derive(Debug, Clone, Copy)]
struct Sweep {
    after: Option<InstanceKey>,
}

impl Sma {
    /// A C-SMA without configuration, which refuses all.
    pub fn new(now: Instant, wall: UnixMicros) -> Self {
        Self {
            config: SmaConfig::default(),
            configured: false,
            discovered_services: BTreeSet::new(),
            cache: Cache::default(),
            quarantine: Quarantine::default(),
            timers: Timers::new(),
            turns: Turns::default(),
            pulls: Meter::default(),
            sweep: None,
            audit: Audit::default(),
            counters: Counters::default(),
            outputs: VecDeque::new(),
            now,
            wall,
        }
    }

    /// The next output, in the order in which they came to be.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Sma::handle_timeout`] is to be called, and why.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if self.sweep.is_some() {
            return Some((self.now, "look at each SCI after a change of configuration"));
        }
        let (at, timer) = self.timers.next()?;
        let why = match timer {
            Timer::Age(_) => "age of metrics",
            Timer::Held(_) => "rate of an SCI",
            Timer::Turn => "rate of all SCIs",
        };
        Some((at, why))
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
        self.sweep_some();
        self.forget_some();
    }

    fn set_time(&mut self, now: Instant, wall: UnixMicros) {
        self.now = self.now.max(now);
        self.wall = wall;
    }

    fn output(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }
}
