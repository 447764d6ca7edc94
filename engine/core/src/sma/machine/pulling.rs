//! When an SCI is asked for its metrics (SMA-1, SMA-9).

use super::super::cache::EntryIx;
use super::super::state::SciState;
use super::views::count;
use super::{Output, PullCause, Sma};

impl Sma {
    /// Asks an SCI for a full report, unless it was asked just now or too many are asked already.
    pub(super) fn pull(&mut self, ix: EntryIx, cause: PullCause) {
        let (config, now) = (self.config.pull, self.now);
        let cache = self.config.cache;
        let Some(entry) = self.cache.get_mut(ix).filter(|_| config.enabled) else { return };
        let again = entry.pulled.and_then(|pulled| pulled.checked_add(config.min_interval));
        if again.is_some_and(|again| again > now) {
            return;
        }
        if self.pulls.take(config.rate, now).is_err() {
            self.counters.pulls_left_out += 1;
            return;
        }
        entry.pulled = Some(now);
        count(&mut entry.counters.pulls);
        let key = entry.key;
        let usual = now.checked_add(config.timeout);
        let deadline = match entry.state {
            SciState::Stale => entry.due(&cache).or(usual),
            SciState::Active | SciState::Healthy | SciState::Failed => usual,
        };
        self.counters.pulls += 1;
        self.output(Output::Pull { key, cause, deadline: deadline.unwrap_or(now) });
    }
}
