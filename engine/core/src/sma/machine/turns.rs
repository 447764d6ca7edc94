//! Reports beyond the rate: the newest values of each SCI wait for their turn (SMA-28).
//!
//! An SCI that reports ten times as often as it may is heard as often as it may, each time with the newest that it
//! said. Where all SCIs together are too many, they take turns in the order in which they began to wait, so a flood
//! of some never silences another one.

use super::super::InstanceKey;
use super::super::cache::{Arrival, EntryIx, Held, Wait};
use super::super::limits::Meter;
use super::super::validate::Refusal;
use super::views::count;
use super::{Alarm, AuditKind, Output, STEP, Sma, Timer};
use cats_engine_types::ReporterInstruction;
use std::collections::BTreeMap;
use std::time::Instant;

/// Who waits for a turn among all.
#[derive(Debug, Default)]
pub(super) struct Turns {
    waiting: BTreeMap<u64, EntryIx>,
    last: u64,
    total: Meter,
    armed: Option<Instant>,
    /// The alarm stands.
    overload: bool,
}

impl Turns {
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

impl Sma {
    /// Passes a report on whose turn it is; another one waits.
    pub(super) fn await_turn(&mut self, ix: EntryIx, arrival: Arrival) -> Result<Arrival, Refusal> {
        let (rates, now) = (self.config.rates, self.now);
        let Some(entry) = self.cache.get_mut(ix) else { return Err(Refusal::Lost) };
        let too_often = Refusal::TooOften { per_second: rates.instance.per_second };
        if let Some(held) = &mut entry.held {
            held.arrival.merge(arrival);
            count(&mut entry.counters.overtaken);
            self.counters.overtaken += 1;
            return Err(too_often);
        }
        match entry.meter.take(rates.instance, now) {
            Err(until) => {
                let key = entry.key;
                let begins = !std::mem::replace(&mut entry.hasty, true);
                entry.held = Some(Box::new(Held { arrival, wait: Wait::Until(until) }));
                self.timers.set(Timer::Held(ix), None, Some(until));
                if begins {
                    self.audit_of(ix, AuditKind::TooOften { key });
                }
                Err(too_often)
            }
            Ok(()) if self.turns.waiting.is_empty() && self.turns.total.take(rates.total, now).is_ok() => {
                entry.hasty = false;
                Ok(arrival)
            }
            Ok(()) => {
                self.queue(ix, arrival);
                Err(Refusal::TooOften { per_second: rates.total.per_second })
            }
        }
    }

    /// Lets a report wait for its turn among all.
    fn queue(&mut self, ix: EntryIx, arrival: Arrival) {
        let Some(entry) = self.cache.get_mut(ix) else { return };
        self.turns.last += 1;
        let turn = self.turns.last;
        entry.held = Some(Box::new(Held { arrival, wait: Wait::Turn(turn) }));
        self.tell_overload(true);
        self.turns.waiting.insert(turn, ix);
        if self.turns.armed.is_none() {
            self.arm_turns(self.now);
        }
    }

    fn tell_overload(&mut self, raised: bool) {
        if std::mem::replace(&mut self.turns.overload, raised) != raised {
            self.control.handle_load(raised, self.now);
            self.output(Output::Alarm { alarm: Alarm::Overload, raised });
        }
    }

    fn arm_turns(&mut self, at: Instant) {
        let old = self.turns.armed.replace(at);
        self.timers.set(Timer::Turn, old, Some(at));
    }

    /// An SCI may report again by its own rate.
    pub(super) fn held_is_due(&mut self, ix: EntryIx) {
        let (rates, now) = (self.config.rates, self.now);
        let Some(entry) = self.cache.get_mut(ix) else { return };
        let Some(held) = entry.held.take() else { return };
        if let Err(until) = entry.meter.take(rates.instance, now) {
            // The rate is another one by now.
            entry.held = Some(Box::new(Held { arrival: held.arrival, wait: Wait::Until(until) }));
            self.timers.set(Timer::Held(ix), None, Some(until));
            return;
        }
        if self.turns.waiting.is_empty() && self.turns.total.take(rates.total, now).is_ok() {
            self.take_turn(ix, held.arrival);
        } else {
            self.queue(ix, held.arrival);
        }
    }

    /// Takes the reports whose turn it is, some at a time.
    pub(super) fn take_turns(&mut self) {
        self.turns.armed = None;
        for _ in 0..STEP {
            let Some((turn, ix)) = self.turns.waiting.first_key_value().map(|(turn, ix)| (*turn, *ix)) else {
                break;
            };
            if let Err(at) = self.turns.total.take(self.config.rates.total, self.now) {
                self.arm_turns(at);
                return;
            }
            self.turns.waiting.remove(&turn);
            let held = self.cache.get_mut(ix).and_then(|entry| entry.held.take());
            if let Some(held) = held {
                self.take_turn(ix, held.arrival);
            }
        }
        if self.turns.waiting.is_empty() {
            self.tell_overload(false);
        } else {
            self.arm_turns(self.now);
        }
    }

    fn take_turn(&mut self, ix: EntryIx, arrival: Arrival) {
        let (csci_id, freshness) = (arrival.report.csci_id, arrival.report.freshness);
        let key = InstanceKey { cs_id: arrival.report.cs_id, csci_id };
        let outcome = self.judge(ix, arrival);
        self.account(key, Some(ix), &outcome);
        let instruction = match outcome {
            Ok(_) => ReporterInstruction::Acknowledge { csci_id, freshness },
            Err(refusal) => {
                let (reason, detail) = (refusal.rejection(), refusal.to_string());
                ReporterInstruction::Reject { csci_id, freshness, reason, detail }
            }
        };
        self.output(Output::Answer { key, instruction });
    }

    /// What waits of an SCI goes.
    pub(super) fn drop_held(&mut self, ix: EntryIx) {
        let Some(held) = self.cache.get_mut(ix).and_then(|entry| entry.held.take()) else { return };
        match held.wait {
            Wait::Until(until) => self.timers.set(Timer::Held(ix), Some(until), None),
            Wait::Turn(turn) => {
                self.turns.waiting.remove(&turn);
            }
        }
    }
}
