//! A report: refused, held back, put into quarantine, or taken in (SMA-3 to SMA-6).

use super::super::InstanceKey;
use super::super::cache::{Arrival, EntryIx, Found, Soft};
use super::super::config::Reaction;
use super::super::state::SciState;
use super::super::validate::{self, Doubts, Reference, Refusal};
use super::{Alarm, AuditKind, Event, Output, PullCause, Sma};
use crate::sma::quarantine::Quarantined;
use cats_engine_types::{
    CsciId, Freshness, Health, Report, ReportKind, Sample, UnixMicros, WithdrawalReason,
};
use std::time::{Duration, Instant};
use std::vec::IntoIter;

/// Reports whose SCIs are found together.
const TOGETHER: usize = 32;

/// What became of a report that is not refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is taken in.
    Believed,
    /// It is taken in with a warning flag.
    Flagged(Doubts),
    /// The SCI took itself out, with a TTL of 0.
    Left,
}

impl Sma {
    /// Takes a report whose sender is authenticated as its CSCI-ID.
    pub fn handle_report(
        &mut self,
        report: Report,
        now: Instant,
        wall: UnixMicros,
    ) -> Result<Taken, Refusal> {
        self.set_time(now, wall);
        let found = self.cache.look_up(report.csci_id);
        let outcome = self.handle(report, found);
        self.finish();
        outcome
    }

    /// Takes reports that came together, in order and at most so many, as [`Sma::handle_report`] takes each of them, and
    /// hands on what became of each. How many they were.
    pub fn handle_reports(
        &mut self,
        reports: &mut IntoIter<Report>,
        most: usize,
        now: Instant,
        wall: UnixMicros,
        mut became: impl FnMut(CsciId, Freshness, Result<Taken, Refusal>),
    ) -> usize {
        self.set_time(now, wall);
        let mut count = 0;
        loop {
            let next = (most - count).min(TOGETHER);
            let (known, next) = self.foresee(reports.as_slice(), next);
            if next == 0 {
                return count;
            }
            for (found, report) in known.into_iter().take(next).zip(reports.by_ref()) {
                let (csci_id, freshness) = (report.csci_id, report.freshness);
                became(csci_id, freshness, self.handle(report, found));
            }
            self.finish();
            count += next;
        }
    }

    /// Finds the SCIs of the reports that come next, and looks at what will be needed of them. There are many SCIs, so
    /// little of it is near the processor, which waits for several at once where one look does not depend on another.
    fn foresee(&self, reports: &[Report], most: usize) -> ([Found; TOGETHER], usize) {
        let mut known = [Found::default(); TOGETHER];
        let mut count = 0;
        for (found, report) in known.iter_mut().zip(reports).take(most) {
            *found = self.cache.look_up(report.csci_id);
            count += 1;
        }
        let entries = known.iter().take(count).flat_map(|found| self.cache.among(*found).next());
        for (ix, entry) in entries {
            std::hint::black_box((entry.glance(), self.control.waiting(ix).is_some()));
        }
        (known, count)
    }

    fn handle(&mut self, report: Report, found: Found) -> Result<Taken, Refusal> {
        self.counters.received += 1;
        let key = InstanceKey { cs_id: report.cs_id, csci_id: report.csci_id };
        let found = self.cache.recall(key.csci_id, found);
        let (ix, outcome) = match self.admit(key, found) {
            Ok(ix) => (Some(ix), self.receive(ix, report)),
            Err(refusal) => (self.cache.find_among(found, key), Err(refusal)),
        };
        self.account(key, ix, &outcome);
        outcome
    }

    fn receive(&mut self, ix: EntryIx, report: Report) -> Result<Taken, Refusal> {
        let arrival = self.in_order(ix, report)?;
        let arrival = self.await_turn(ix, arrival)?;
        self.judge(ix, arrival)
    }

    /// Whether a report is later than those before it, and of this time (SMA-5).
    fn in_order(&mut self, ix: EntryIx, report: Report) -> Result<Arrival, Refusal> {
        let found = report.freshness;
        let (at, wall) = (self.now, self.wall);
        let (skew, tolerate) = (self.config.validation.skew, self.config.validation.skew.tolerate);
        let gap = report.kind == ReportKind::Delta && self.has_gap(ix, found);
        let Some(entry) = self.cache.get_mut(ix) else { return Err(Refusal::Lost) };
        entry.order.check(found)?;
        let latest = UnixMicros(wall.0.saturating_add(micros(skew.window)));
        if !tolerate && found.epoch / 1000 > latest.0 {
            return Err(Refusal::FutureEpoch { found });
        }
        entry.order.see(found);
        let (by, ahead) = (report.timestamp.distance(wall), report.timestamp > wall);
        let mut doubts = Doubts::NONE;
        if by > skew.window {
            self.raise_skew(ix, by, ahead);
            if !tolerate {
                return Err(Refusal::Skewed { by, ahead, window: skew.window });
            }
            doubts = Doubts::SKEW;
        } else {
            self.clear_skew(ix);
        }
        Ok(Arrival { report, gap, doubts, at, wall })
    }

    /// Whether a report between this one and the one that it builds on was missed, or not taken in. An SCI may count
    /// through the reports of all its services.
    fn has_gap(&self, ix: EntryIx, found: Freshness) -> bool {
        let Some(entry) = self.cache.get(ix) else { return false };
        let Some(soft) = &entry.soft else { return false };
        let waits = entry.held.is_some();
        if !waits && entry.order.last() != Some(soft.freshness) {
            return true;
        }
        let before = Freshness { sequence: found.sequence.saturating_sub(1), ..found };
        let mut siblings = self.cache.of_instance(entry.key.csci_id);
        !siblings.any(|(_, sibling)| sibling.order.last().is_some_and(|last| last >= before))
    }

    /// Judges a report and does what follows. It is in order, and it is its turn.
    pub(super) fn judge(&mut self, ix: EntryIx, arrival: Arrival) -> Result<Taken, Refusal> {
        if arrival.report.ttl == Some(Duration::ZERO) {
            self.counters.left += 1;
            if let Some(entry) = self.cache.get_mut(ix) {
                entry.acted = Some(arrival.report.freshness);
            }
            self.withdraw(ix, WithdrawalReason::Removed);
            return Ok(Taken::Left);
        }
        let validation = self.config.validation;
        let report = &arrival.report;
        let Some(entry) = self.cache.get_mut(ix) else { return Err(Refusal::Lost) };
        let last = entry.soft.as_ref().map(|soft| Reference::new(&soft.sample, soft.at));
        let base = match report.kind {
            ReportKind::Full => None,
            ReportKind::Delta => {
                let base = entry.soft.as_ref().filter(|soft| soft.freshness.epoch == report.freshness.epoch);
                let Some(base) = base else {
                    self.pull(ix, PullCause::Gap);
                    return Err(Refusal::NoBase { csci_id: report.csci_id });
                };
                Some(&base.sample)
            }
        };
        let sample = validate::sample(&report.metrics, base, &validation.ranges)?;
        validate::check(&sample).map_err(Refusal::Inconsistent)?;
        let (found, reaction) = entry.change.judge(&validation.change, last, &sample, arrival.at);
        if reaction == Reaction::Quarantine {
            return Err(self.quarantine(arrival, sample, found));
        }
        let doubts = arrival.doubts.with(found).with(validate::doubts(&sample));
        let gap = arrival.gap;
        let returned = entry.state == SciState::Failed && report.kind == ReportKind::Delta;
        self.take_in(ix, &arrival, sample, doubts);
        if gap {
            self.pull(ix, PullCause::Gap);
        } else if returned {
            self.pull(ix, PullCause::Recovery);
        } else if !found.is_empty() {
            self.pull(ix, PullCause::Anomaly);
        }
        Ok(if doubts.is_empty() { Taken::Believed } else { Taken::Flagged(doubts) })
    }

    fn quarantine(&mut self, arrival: Arrival, sample: Sample, doubts: Doubts) -> Refusal {
        let Arrival { report, at, wall, .. } = arrival;
        let id = self.quarantine.add(&self.config.quarantine, |id| Quarantined {
            id,
            report,
            sample,
            doubts,
            since: at,
            received: wall,
        });
        Refusal::Quarantined { id, doubts }
    }

    /// Takes a sample into the cache.
    pub(super) fn take_in(&mut self, ix: EntryIx, arrival: &Arrival, sample: Sample, doubts: Doubts) {
        if self.cache.get(ix).is_some_and(|entry| entry.soft.is_none()) {
            self.make_room(1);
        }
        let report = &arrival.report;
        let Some(entry) = self.cache.get_mut(ix) else { return };
        let (key, health) = (entry.key, entry.health());
        let full = report.kind == ReportKind::Full;
        let mut smoothing =
            entry.soft.as_mut().map(|soft| std::mem::take(&mut soft.smoothing)).unwrap_or_default();
        if matches!(entry.state, SciState::Stale | SciState::Failed) {
            smoothing.reset();
        }
        let smooth = smoothing.next(&self.config.smoothing, &sample);
        let before = entry.soft.as_ref().filter(|_| !full);
        let soft = Soft {
            sample,
            freshness: report.freshness,
            at: arrival.at,
            taken: report.timestamp.min(arrival.wall),
            ttl: report.ttl.or(before.and_then(|before| before.ttl)),
            doubts,
            smoothed: (smooth.gas, smooth.computing_time),
            smoothing,
        };
        entry.acted = Some(report.freshness);
        let known = entry.locator.filter(|_| !full);
        entry.locator = entry.configured.flatten().or(report.locator).or(known);
        match &mut entry.soft {
            Some(old) => **old = soft,
            None => entry.soft = Some(Box::new(soft)),
        }
        entry.awaited = entry.configured.is_some();
        let confirmed = self.config.cache.confirm_after;
        let from_failed = entry.state == SciState::Failed;
        let count = if from_failed { 1 } else { entry.confirmations.saturating_add(1).min(confirmed.max(1)) };
        entry.confirmations = count;
        let state = if count >= confirmed { SciState::Healthy } else { SciState::Active };
        if from_failed && state == SciState::Healthy {
            // It is discovered anew before it is confirmed.
            self.shift(ix, SciState::Active);
        }
        self.shift(ix, state);
        self.cache.touch(ix);
        self.tell_health(ix, key, health);
        self.arm(ix);
        self.offer(ix);
    }

    /// Brings the sums up to date, and tells of the health if it is another one than before.
    pub(super) fn tell_health(&mut self, ix: EntryIx, key: InstanceKey, from: Option<Health>) {
        self.cache.settle(ix);
        let to = self.cache.get(ix).and_then(|entry| entry.health());
        if from != to {
            self.event(Event::Health { key, from, to });
        }
    }

    /// Counts what became of a report, and puts on record what an auditor wants to know.
    pub(super) fn account(
        &mut self,
        key: InstanceKey,
        ix: Option<EntryIx>,
        outcome: &Result<Taken, Refusal>,
    ) {
        let mut none = super::SciCounters::default();
        let entry = ix.and_then(|ix| self.cache.get_mut(ix));
        let of_sci = entry.map_or(&mut none, |entry| &mut entry.counters);
        match outcome {
            Ok(taken) => {
                self.counters.take(*taken);
                of_sci.take(*taken);
                if let (Taken::Flagged(doubts), Some(ix)) = (*taken, ix) {
                    self.audit_of(ix, AuditKind::Flagged { key, doubts });
                }
            }
            Err(refusal) => {
                self.counters.refuse(refusal);
                of_sci.refuse(refusal);
                self.after_refusal(key, ix, refusal);
            }
        }
    }

    fn after_refusal(&mut self, key: InstanceKey, ix: Option<EntryIx>, refusal: &Refusal) {
        let anomaly = match refusal {
            Refusal::Missing { .. }
            | Refusal::OutOfRange { .. }
            | Refusal::Inconsistent(_)
            | Refusal::Quarantined { .. } => true,
            Refusal::Replayed { .. }
            | Refusal::Skewed { .. }
            | Refusal::FutureEpoch { .. }
            | Refusal::Unauthorised { .. }
            | Refusal::TooManyServices { .. }
            | Refusal::Lost => false,
            // The network or a start does these, and a rate is told of when it is reached.
            Refusal::NoBase { .. }
            | Refusal::Duplicate { .. }
            | Refusal::OutOfOrder { .. }
            | Refusal::TooOften { .. }
            | Refusal::NotConfigured => return,
        };
        let record = AuditKind::Refused { key, refusal: *refusal };
        match ix {
            Some(ix) => self.audit_of(ix, record),
            None => self.audit(record),
        }
        if let (true, Some(ix)) = (anomaly, ix) {
            self.pull(ix, PullCause::Anomaly);
        }
    }

    fn raise_skew(&mut self, ix: EntryIx, by: Duration, ahead: bool) {
        let Some(entry) = self.cache.get_mut(ix) else { return };
        if std::mem::replace(&mut entry.skewed, true) {
            return;
        }
        let alarm = Alarm::ClockSkew { key: entry.key, by, ahead };
        self.counters.skewed_instances += 1;
        self.output(Output::Alarm { alarm, raised: true });
    }

    pub(super) fn clear_skew(&mut self, ix: EntryIx) {
        let Some(entry) = self.cache.get_mut(ix) else { return };
        if !std::mem::replace(&mut entry.skewed, false) {
            return;
        }
        let alarm = Alarm::ClockSkew { key: entry.key, by: Duration::ZERO, ahead: false };
        self.counters.skewed_instances = self.counters.skewed_instances.saturating_sub(1);
        self.output(Output::Alarm { alarm, raised: false });
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
