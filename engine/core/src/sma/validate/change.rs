//! Changes that are too fast to be believed without a doubt (SMA-4).

use super::super::config::{ChangeConfig, Flapping, RateOfChange, Reaction};
use super::Doubts;
use cats_engine_types::{Health, Sample};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What a sample is held against.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Reference {
    at: Instant,
    gas: u32,
    computing_time: u64,
    health: Health,
}

impl Reference {
    pub(in super::super) fn new(sample: &Sample, at: Instant) -> Self {
        Self { at, gas: sample.gas, computing_time: sample.computing_time.0, health: sample.health }
    }

    fn is_recent(&self, within: Duration, now: Instant) -> bool {
        now.saturating_duration_since(self.at) <= within
    }
}

/// How one SCI changed lately.
///
/// A sample is held against the one before it, and against one that is up to a window older: so neither one leap
/// passes nor many steps that make one together.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Change {
    /// Of the current window.
    anchor: Option<Reference>,
    /// The health that was last told, be it believed or not.
    told: Option<Health>,
    /// Most SCIs never flap: they hold no memory for it.
    transitions: Option<Box<Transitions>>,
}

impl Change {
    /// What is too fast in `new`, and what is to be done. `last` is the sample that was taken in last.
    pub(in super::super) fn judge(
        &mut self,
        config: &ChangeConfig,
        last: Option<Reference>,
        new: &Sample,
        now: Instant,
    ) -> (Doubts, Reaction) {
        self.follow_health(&config.flapping, new.health, now);
        let window = config.gas.within.max(config.computing_time.within);
        if !self.anchor.is_some_and(|anchor| anchor.is_recent(window, now)) {
            self.anchor = last;
        }
        let references = [self.anchor, last];
        let leaps = |rule: &RateOfChange, of: fn(&Reference) -> u64, to: u64| {
            let recent =
                references.iter().flatten().filter(|reference| reference.is_recent(rule.within, now));
            recent
                .map(|reference| (of(reference), reference.health))
                .any(|(from, _)| rule.is_exceeded(from, to))
        };
        let changed_health = references.iter().flatten().any(|reference| reference.health != new.health);
        let mut found = (Doubts::NONE, Reaction::Ignore);
        let mut doubt = |doubt: Doubts, reaction: Reaction| {
            if reaction != Reaction::Ignore {
                found = (found.0.with(doubt), found.1.max(reaction));
            }
        };
        if !changed_health && leaps(&config.gas, |reference| reference.gas.into(), new.gas.into()) {
            doubt(Doubts::GAS_CHANGE, config.gas.reaction);
        }
        if leaps(&config.computing_time, |reference| reference.computing_time, new.computing_time.0) {
            doubt(Doubts::COMPUTING_TIME_CHANGE, config.computing_time.reaction);
        }
        // A report that repeats what is believed is no part of the flapping.
        let news =
            last.is_none_or(|last| last.health != new.health) || config.flapping.reaction == Reaction::Flag;
        if news && self.flaps(&config.flapping, now) {
            doubt(Doubts::FLAPPING, config.flapping.reaction);
        }
        found
    }

    fn follow_health(&mut self, config: &Flapping, health: Health, now: Instant) {
        let before = self.told.replace(health);
        self.transitions =
            self.transitions.take().and_then(|transitions| transitions.since(config.within, now));
        if before.is_some_and(|before| before != health) {
            let Transitions(times) = self.transitions.get_or_insert_default().as_mut();
            times.push_back(now);
            if times.len() > usize::from(Flapping::MAX_TRANSITIONS) + 1 {
                times.pop_front();
            }
        }
    }

    fn flaps(&self, config: &Flapping, now: Instant) -> bool {
        let most = usize::from(config.transitions.min(Flapping::MAX_TRANSITIONS));
        let recent = |at: &&Instant| now.saturating_duration_since(**at) <= config.within;
        self.transitions.as_ref().is_some_and(|times| times.0.iter().filter(recent).count() > most)
    }
}

/// When the health that was told changed lately, the latest last.
#[derive(Debug, Clone, Default)]
struct Transitions(VecDeque<Instant>);

impl Transitions {
    /// What is left of them, if anything.
    fn since(mut self: Box<Self>, within: Duration, now: Instant) -> Option<Box<Self>> {
        while self.0.front().is_some_and(|at| now.saturating_duration_since(*at) > within) {
            self.0.pop_front();
        }
        (!self.0.is_empty()).then_some(self)
    }
}

impl RateOfChange {
    fn is_exceeded(&self, from: u64, to: u64) -> bool {
        let change = from.abs_diff(to);
        let allowed = u128::from(from) * u128::from(self.percent);
        change >= self.least.max(1) && u128::from(change) * 100 > allowed
    }
}
