//! Who waits for what, and who is next.

use super::bucket::Bucket;
use super::config::{OptionalMetrics, UpdateConfig};
use super::damping::Failures;
use super::load::{self, Load};
use super::slots::{Number, Slots};
use super::trigger::{self, Trigger};
use crate::sma::calendar::{Calendar, Moment, Watch, Windows};
use crate::timers::Timers;
use cats_engine_types::{MetricRecord, UnixMicros};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// What is brought from one queue to another in one call, at most.
const STEP: usize = 1000;

/// The update interval is never shorter.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

/// An update whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due<K> {
    /// Of whom.
    pub id: K,
    /// Why.
    pub trigger: Trigger,
    /// Since when it waited.
    pub since: Instant,
}

/// What can be read of update control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlView {
    /// SCIs that it knows of.
    pub known: usize,
    /// Updates that wait for an interval or a pause.
    pub timed: usize,
    /// Updates that wait for the bucket alone.
    pub due: usize,
    /// Updates that wait for the end of maintenance.
    pub held: usize,
    /// Updates that a rule holds back.
    pub suppressed: usize,
    /// Updates that were given, by their trigger in the order of [`Trigger::ALL`].
    pub given: [u64; Trigger::ALL.len()],
    /// Updates that nothing was left of when things were again as they were told.
    pub settled: u64,
    /// Whether there is too much to tell, so that optional metrics are left out.
    pub busy: bool,
    /// The update interval as it is now.
    pub interval: Option<Duration>,
    /// Whether there is maintenance.
    pub maintenance: bool,
}

/// Decides when the record of an SCI is told on, without holding any record.
///
/// On each input [`Control::look`] at the clock first. Then [`Control::offer`] each record that may have changed, take
/// what is due with [`Control::take`] until that gives nothing, and sleep until [`Control::poll_timeout`]. `now` never
/// goes backwards; the wall clock may. There is one entry for each `K` that was offered, until it is withdrawn or
/// forgotten: the caller bounds these. Every call costs a logarithm of those that wait, or for `take` that many times the
/// batch and some.
#[derive(Debug)]
pub struct Control<K> {
    config: UpdateConfig,
    watch: Watch,
    entries: Slots<K, Entry>,
    timers: Timers<K>,
    ready: BTreeSet<(Trigger, Instant, K)>,
    held: BTreeSet<(Trigger, Instant, K)>,
    timed: usize,
    suppressed: usize,
    bucket: Option<Bucket>,
    load: Load,
    given: [u64; Trigger::ALL.len()],
    settled: u64,
    now: Instant,
}

#[derive(Debug, Default)]
struct Entry {
    /// When it was told of last.
    told: Option<Instant>,
    wait: Option<Wait>,
    failures: Failures,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wait {
    trigger: Trigger,
    since: Instant,
    place: Place,
}

/// Where an update waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Until then.
    Timer(Instant),
    /// For a token.
    Ready,
    /// For the end of maintenance.
    Held,
    /// For the rules to let it go, which they say when it is offered again.
    Suppressed,
}

impl<K: Number> Control<K> {
    /// Knows of nobody yet.
    pub fn new(config: UpdateConfig, calendar: Calendar, now: Instant, wall: UnixMicros) -> Self {
        Self {
            config,
            watch: Watch::new(calendar, now, wall),
            entries: Slots::new(),
            timers: Timers::new(),
            ready: BTreeSet::new(),
            held: BTreeSet::new(),
            timed: 0,
            suppressed: 0,
            bucket: config.bucket.map(|bucket| Bucket::full(&bucket, now)),
            load: Load::new(now),
            given: Default::default(),
            settled: 0,
            now,
        }
    }

    /// Takes a new configuration. What waits keeps its time until it is offered again, so offer everything again.
    pub fn configure(&mut self, config: UpdateConfig, calendar: Calendar, now: Instant, wall: UnixMicros) {
        self.now = now;
        self.bucket = match (self.bucket, config.bucket) {
            (Some(bucket), Some(_)) => Some(bucket),
            (None, Some(new)) => Some(Bucket::full(&new, now)),
            (_, None) => None,
        };
        self.config = config;
        self.watch = Watch::new(calendar, now, wall);
    }

    /// Looks at the clock: the windows that opened or closed since the last look.
    pub fn look(&mut self, now: Instant, wall: UnixMicros) -> Windows {
        self.now = now;
        self.watch.look(now, wall)
    }

    /// What the calendar said at the last look.
    pub fn moment(&self) -> Moment {
        self.watch.moment()
    }

    /// An outside measure of load: whether there is too much to do.
    pub fn handle_load(&mut self, busy: bool, now: Instant) {
        self.now = now;
        self.load.set_outside(busy);
    }

    /// The least time between routine updates that the path selectors want: of several, the shortest. It never leads to
    /// an interval beyond the longest one that is configured.
    pub fn handle_pace(&mut self, min_interval: Duration, now: Instant) {
        self.now = now;
        self.load.set_pace(min_interval);
    }

    /// What holds of an SCI now, where `told` is what was told of it last; `suppress` if a rule wants routine updates
    /// held back. Gives the trigger if that differs, and lets it wait for its turn. What waited before waits no longer,
    /// but its time counts.
    pub fn offer(
        &mut self,
        id: K,
        told: Option<&MetricRecord>,
        new: &MetricRecord,
        suppress: bool,
        now: Instant,
    ) -> Option<Trigger> {
        self.now = now;
        let left_out = self.load.left_out(&self.config);
        let trigger = trigger::trigger(told, new, &self.config.thresholds, left_out);
        let entry = self.entries.enter(id)?;
        entry.failures.note(trigger::serves(new), &self.config.damping, now);
        let since = entry.wait.map_or(now, |wait| wait.since);
        let place = match trigger {
            Some(Trigger::Renewal) => self.renewal_place(id, told, new, suppress),
            Some(trigger) => Some(self.place(id, trigger, suppress)),
            None => None,
        };
        let wait = trigger.zip(place).map(|(trigger, place)| Wait { trigger, since, place });
        let before = self.put(id, wait);
        if trigger.is_none() && before {
            self.settled += 1;
        }
        trigger
    }

    /// An SCI that was told of is to be seen no longer. It is given with [`Trigger::Withdrawal`] when its turn comes,
    /// and then it is forgotten. One that was never told of is simply to be forgotten.
    pub fn withdraw(&mut self, id: K, now: Instant) {
        self.now = now;
        let Some(entry) = self.entries.enter(id) else { return };
        let since = entry.wait.map_or(now, |wait| wait.since);
        self.put(id, Some(Wait { trigger: Trigger::Withdrawal, since, place: Place::Ready }));
    }

    /// Forgets an SCI at once, with all that waits of it.
    pub fn forget(&mut self, id: K) {
        self.put(id, None);
        self.entries.remove(id);
    }

    /// Where a renewal is to wait; nowhere if it is not to be told at all. What is only put off because of the load is
    /// told in the end, whether or not there is an update interval.
    fn renewal_place(
        &self,
        id: K,
        told: Option<&MetricRecord>,
        new: &MetricRecord,
        suppress: bool,
    ) -> Option<Place> {
        let (thresholds, none) = (&self.config.thresholds, OptionalMetrics::NONE);
        let put_off = || trigger::trigger(told, new, thresholds, none) == Some(Trigger::Metric);
        if self.interval().is_some() || put_off() {
            Some(self.place(id, Trigger::Renewal, suppress))
        } else {
            None
        }
    }

    /// Where an update is to wait.
    fn place(&self, id: K, trigger: Trigger, suppress: bool) -> Place {
        let entry = self.entries.get(id);
        let after = |interval: Duration| entry.and_then(|entry| entry.told?.checked_add(interval));
        let until = match trigger {
            Trigger::Withdrawal | Trigger::Health | Trigger::NoSlots | Trigger::Security => None,
            Trigger::Recovery => entry.and_then(|entry| entry.failures.pause(&self.config.damping)),
            Trigger::Discovery | Trigger::Metric => after(self.load.min_interval(&self.config)),
            // Never at once, or what is put off would be told, put off and told without end.
            Trigger::Renewal => {
                after(self.interval().unwrap_or(self.config.longest_interval).max(SHORTEST_INTERVAL))
            }
        };
        if suppress && !trigger.is_critical() {
            return Place::Suppressed;
        }
        match until.filter(|until| *until > self.now) {
            Some(until) => Place::Timer(until),
            None => self.due_place(trigger),
        }
    }

    /// Where an update waits that waits for no time.
    fn due_place(&self, trigger: Trigger) -> Place {
        if self.maintenance() && !trigger.is_critical() { Place::Held } else { Place::Ready }
    }

    fn maintenance(&self) -> bool {
        self.watch.moment().maintenance
    }

    /// Lets an SCI wait like this, and no longer as before. Whether it waited before.
    fn put(&mut self, id: K, wait: Option<Wait>) -> bool {
        let Some(entry) = self.entries.get_mut(id) else { return false };
        if entry.wait == wait {
            // The usual case: a further small change waits as the ones before it do.
            return wait.is_some();
        }
        let before = std::mem::replace(&mut entry.wait, wait);
        if let Some(Wait { trigger, since, place }) = before {
            match place {
                Place::Timer(at) => {
                    self.timers.set(id, Some(at), None);
                    self.timed = self.timed.saturating_sub(1);
                }
                Place::Ready => {
                    self.ready.remove(&(trigger, since, id));
                }
                Place::Held => {
                    self.held.remove(&(trigger, since, id));
                }
                Place::Suppressed => self.suppressed = self.suppressed.saturating_sub(1),
            }
        }
        if let Some(Wait { trigger, since, place }) = wait {
            match place {
                Place::Timer(at) => {
                    self.timers.set(id, None, Some(at));
                    self.timed += 1;
                }
                Place::Ready => {
                    self.ready.insert((trigger, since, id));
                }
                Place::Held => {
                    self.held.insert((trigger, since, id));
                }
                Place::Suppressed => self.suppressed += 1,
            }
        }
        before.is_some()
    }

    /// The updates whose turn it is, a batch at most, in the order in which they are to be told. Call it until it gives
    /// none; the caller tells each of them, by what holds then.
    pub fn take(&mut self, now: Instant) -> Vec<Due<K>> {
        self.now = now;
        if let (Some(bucket), Some(config)) = (&mut self.bucket, &self.config.bucket) {
            bucket.refill(config, now);
        }
        self.advance();
        self.load.note(self.ready.len(), &self.config, now);
        let mut batch = Vec::new();
        while batch.len() < self.config.batch.max(1) {
            let Some(due) = self.take_one() else { break };
            batch.push(due);
        }
        self.load.note(self.ready.len(), &self.config, now);
        batch
    }

    /// Brings some of what is due by its time, or by the end of maintenance, to where it waits for the bucket; and out
    /// of there what may not go because maintenance began.
    fn advance(&mut self) {
        for _ in 0..STEP {
            let Some(id) = self.timers.take_due(self.now) else { break };
            self.timed = self.timed.saturating_sub(1);
            let Some(entry) = self.entries.get_mut(id) else { continue };
            // The timer is already taken.
            if let Some(wait) = entry.wait.take() {
                let place = self.due_place(wait.trigger);
                self.put(id, Some(Wait { place, ..wait }));
            }
        }
        let (from, to) = match self.maintenance() {
            true => (self.ready.last(), Place::Held),
            false => (self.held.first(), Place::Ready),
        };
        let mut next = from.copied();
        for _ in 0..STEP {
            let Some((trigger, since, id)) = next.filter(|(trigger, ..)| !trigger.is_critical()) else {
                break;
            };
            self.put(id, Some(Wait { trigger, since, place: to }));
            let from = if to == Place::Held { self.ready.last() } else { self.held.first() };
            next = from.copied();
        }
    }

    /// The next update, if maintenance and the bucket let it pass.
    fn take_one(&mut self) -> Option<Due<K>> {
        let (trigger, since, id) = *self.ready.first()?;
        if self.maintenance() && !trigger.is_critical() {
            return None;
        }
        let leave = self.leave(trigger);
        if self.bucket.as_mut().is_some_and(|bucket| !bucket.take(leave)) {
            return None;
        }
        self.put(id, None);
        if trigger == Trigger::Withdrawal {
            self.entries.remove(id);
        } else if let Some(entry) = self.entries.get_mut(id) {
            entry.told = Some(self.now);
        }
        if let Some(given) = self.given.get_mut(trigger as usize) {
            *given += 1;
        }
        Some(Due { id, trigger, since })
    }

    /// Tokens that this trigger leaves for more urgent ones.
    fn leave(&self, trigger: Trigger) -> u32 {
        let reserve = self.config.bucket.map_or(0, |bucket| bucket.reserve.min(bucket.burst.get() - 1));
        if trigger.is_critical() { 0 } else { reserve }
    }

    /// Leaves out of a record what the load demands, where `told` was told before. Whether anything was: then offer
    /// the full record again once this one is told, so that the rest follows.
    pub fn lighten(&self, record: &mut MetricRecord, told: Option<&MetricRecord>) -> bool {
        let left_out = self.load.left_out(&self.config);
        told.is_some_and(|told| load::lighten(record, told, left_out))
    }

    /// When something is to be done, and what.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let window = self.watch.next().map(|at| (at, "window of the calendar"));
        let timer = self.timers.next().map(|(at, _)| (at, "interval of an update"));
        let over = (!self.maintenance() && !self.held.is_empty()).then_some((self.now, "end of maintenance"));
        [window, timer, over, self.rate_timeout()].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// When the first of those that are due gets its token. Some are waited for together.
    fn rate_timeout(&self) -> Option<(Instant, &'static str)> {
        const WHY: &str = "rate of updates";
        let (trigger, ..) = *self.ready.first()?;
        let (Some(bucket), Some(config)) = (&self.bucket, &self.config.bucket) else {
            return Some((self.now, WHY));
        };
        if self.maintenance() && !trigger.is_critical() {
            return Some((self.now, WHY));
        }
        let leave = self.leave(trigger);
        let together = (config.rate.get() / 100).min(u32::try_from(self.ready.len()).unwrap_or(u32::MAX));
        let possible = config.burst.get().saturating_sub(leave);
        let at = bucket.when(config, together.min(possible).max(1), leave)?;
        Some((at.max(self.now), WHY))
    }

    /// What waits of an SCI, and since when.
    pub fn waiting(&self, id: K) -> Option<(Trigger, Instant)> {
        self.entries.get(id)?.wait.map(|wait| (wait.trigger, wait.since))
    }

    /// The update interval as it is now; what is told must be believed for longer than that.
    pub fn interval(&self) -> Option<Duration> {
        self.load.interval(&self.config)
    }

    /// What can be read of all this.
    pub fn view(&self) -> ControlView {
        ControlView {
            known: self.entries.len(),
            timed: self.timed,
            due: self.ready.len(),
            held: self.held.len(),
            suppressed: self.suppressed,
            given: self.given,
            settled: self.settled,
            busy: self.load.busy(),
            interval: self.interval(),
            maintenance: self.maintenance(),
        }
    }
}

#[cfg(test)]
mod tests;
