//! When there is too much to tell, and what is left out then.

use super::config::{OptionalMetrics, UpdateConfig};
use cats_engine_types::MetricRecord;
use std::time::{Duration, Instant};

/// The load, and the update interval under it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    backlog: bool,
    outside: bool,
    /// How often the interval is doubled.
    doublings: u8,
    /// When the interval was last made longer or shorter.
    changed: Instant,
    /// The least time between routine messages that the path selectors want.
    pace: Duration,
}

impl Load {
    pub(super) fn new(now: Instant) -> Self {
        Self { backlog: false, outside: false, doublings: 0, changed: now, pace: Duration::ZERO }
    }

    pub(super) fn busy(&self) -> bool {
        self.backlog || self.outside
    }

    pub(super) fn set_outside(&mut self, busy: bool) {
        self.outside = busy;
    }

    pub(super) fn set_pace(&mut self, pace: Duration) {
        self.pace = pace;
    }

    /// Takes note of how much is due. The interval doubles, or halves, once in each of its lengths.
    pub(super) fn note(&mut self, due: usize, config: &UpdateConfig, now: Instant) {
        let Some(bucket) = config.bucket else {
            self.backlog = false;
            return self.stretch(config, now);
        };
        let allowed = config.load.backlog.as_millis() * u128::from(bucket.rate.get()) / 1000;
        let limit = if self.backlog { allowed / 2 } else { allowed };
        self.backlog = due as u128 > limit;
        self.stretch(config, now);
    }

    fn stretch(&mut self, config: &UpdateConfig, now: Instant) {
        let Some(interval) = self.interval(config) else { return };
        if now.saturating_duration_since(self.changed) < interval {
            return;
        }
        self.changed = now;
        let longest = interval >= longest(config);
        self.doublings = match self.busy() {
            true if longest => self.doublings,
            true => self.doublings.saturating_add(1).min(31),
            false => self.doublings.saturating_sub(1),
        };
    }

    /// The update interval as it is now.
    pub(super) fn interval(&self, config: &UpdateConfig) -> Option<Duration> {
        // No time at all is no interval, as in the configuration.
        let stretched = config
            .interval
            .filter(|interval| !interval.is_zero())?
            .saturating_mul(1 << self.doublings.min(31));
        Some(stretched.max(self.pace).min(longest(config)))
    }

    /// The minimum interval as it is now.
    pub(super) fn min_interval(&self, config: &UpdateConfig) -> Duration {
        let least = config.min_interval.max(self.pace.min(longest(config)));
        // What must be told within an interval is not held back for longer.
        self.interval(config).map_or(least, |interval| least.min(interval))
    }

    /// What is left out now.
    pub(super) fn left_out(&self, config: &UpdateConfig) -> OptionalMetrics {
        if self.busy() { config.load.leave_out } else { OptionalMetrics::NONE }
    }
}

fn longest(config: &UpdateConfig) -> Duration {
    config.interval.map_or(config.longest_interval, |interval| config.longest_interval.max(interval))
}

/// Leaves out of a record what the load demands, for a path selector that was told `told`. Whether anything was.
pub(super) fn lighten(record: &mut MetricRecord, told: &MetricRecord, left_out: OptionalMetrics) -> bool {
    let full = record.sample;
    let sample = &mut record.sample;
    if left_out.price {
        sample.price = told.sample.price;
    }
    if left_out.reputation {
        sample.reputation = told.sample.reputation;
    }
    if left_out.time_bounds {
        sample.computing_time_min = None;
        sample.computing_time_max = None;
    }
    if left_out.instances {
        sample.instances = None;
    }
    *sample != full
}
