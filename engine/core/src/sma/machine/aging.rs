//! What silence does: STALE, FAILED, withdrawn; and values of optional metrics that are too old (SMA-9, SMA-12).

use super::super::cache::EntryIx;
use super::super::state::SciState;
use super::{Event, PullCause, Sma, Timer};
use cats_engine_types::{Health, WithdrawalReason};

impl Sma {
    /// Sees to it that the timer of an SCI goes off when its age has a consequence, or before: then it is set anew.
    /// So reports, which only ever move that on, cost no work on the timers.
    pub(super) fn arm(&mut self, ix: EntryIx) {
        let Some(entry) = self.cache.get_mut(ix) else { return };
        let Some(due) = entry.due(&self.config.cache) else { return };
        if entry.armed.is_none_or(|armed| due < armed) {
            self.timers.set(Timer::Age(ix), entry.armed.replace(due), Some(due));
        }
    }

    /// The timer of an SCI went off.
    pub(super) fn age(&mut self, ix: EntryIx) {
        let now = self.now;
        let config = self.config.cache;
        let Some(entry) = self.cache.get_mut(ix) else { return };
        entry.armed = None;
        if entry.due(&config).is_none_or(|due| due > now) {
            self.arm(ix);
            return;
        }
        match entry.state {
            SciState::Active | SciState::Healthy => {
                let heard = entry.soft.as_ref().map_or(entry.since, |soft| soft.at);
                if heard.checked_add(entry.ttl(&config)).is_some_and(|stale| stale <= now) {
                    self.go_stale(ix);
                } else {
                    self.drop_old_values(ix);
                }
            }
            SciState::Stale => self.fail(ix),
            SciState::Failed => self.withdraw(ix, WithdrawalReason::Failed),
        }
        self.arm(ix);
        self.offer(ix);
    }

    fn go_stale(&mut self, ix: EntryIx) {
        self.shift(ix, SciState::Stale);
        self.counters.stale += 1;
        if self.cache.get(ix).is_some_and(|entry| entry.monitored == Some(Health::Unhealthy)) {
            // Two sources say so: there is nothing to wait for.
            self.fail(ix);
        } else {
            self.pull(ix, PullCause::Stale);
        }
    }

    pub(super) fn fail(&mut self, ix: EntryIx) {
        self.counters.failed += 1;
        self.shift(ix, SciState::Failed);
        if let Some(entry) = self.cache.get_mut(ix) {
            entry.confirmations = 0;
        }
        self.arm(ix);
    }

    fn drop_old_values(&mut self, ix: EntryIx) {
        let now = self.now;
        let config = self.config.cache;
        let Some(entry) = self.cache.get_mut(ix) else { return };
        let over = |end: Option<std::time::Instant>| end.is_some_and(|end| end <= now);
        let (price, scores) = (over(entry.price_ends(&config)), over(entry.scores_end(&config)));
        let Some(soft) = &mut entry.soft else { return };
        if price {
            soft.sample.price = None;
        }
        if scores {
            (soft.sample.reputation, soft.sample.security_level) = (None, None);
        }
    }

    /// Takes the metrics of an SCI out. What it serves stays known.
    pub(super) fn withdraw(&mut self, ix: EntryIx, reason: WithdrawalReason) {
        self.drop_held(ix);
        let Some(entry) = self.cache.get_mut(ix) else { return };
        let key = entry.key;
        entry.confirmations = 0;
        entry.awaited = false;
        entry.gone = reason;
        if entry.soft.take().is_none() {
            self.cache.settle(ix);
            return;
        }
        self.counters.withdrawn += 1;
        self.event(Event::Withdrawn { key, reason });
        if reason != WithdrawalReason::Failed {
            // It did not fail: it is known, and nothing is expected of it.
            self.shift(ix, SciState::Active);
        }
        self.cache.settle(ix);
        self.offer(ix);
    }

    /// Puts an SCI into a state and tells of it, if it is another one.
    pub(super) fn shift(&mut self, ix: EntryIx, to: SciState) {
        let Some(entry) = self.cache.get_mut(ix) else { return };
        let (key, from) = (entry.key, entry.state);
        if from != to {
            (entry.state, entry.since) = (to, self.now);
            self.event(Event::State { key, from, to });
            self.cache.settle(ix);
        }
    }
}
