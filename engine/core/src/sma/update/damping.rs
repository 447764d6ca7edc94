//! Repeated failures of one SCI.

use super::config::DampingConfig;
use std::time::{Duration, Instant};

/// What is remembered of the failures of an SCI.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Failures {
    /// It does not serve now.
    failing: bool,
    /// In a row; counts no further than the pause grows.
    count: u8,
    last: Option<Instant>,
}

impl Failures {
    /// Takes note of whether it serves.
    pub(super) fn note(&mut self, serves: bool, config: &DampingConfig, now: Instant) {
        if serves || self.failing {
            self.failing = !serves;
            return;
        }
        let forgotten = self.last.is_none_or(|last| now.saturating_duration_since(last) >= config.forget);
        self.count = if forgotten { 1 } else { self.count.saturating_add(1) };
        self.failing = true;
        self.last = Some(now);
    }

    /// Until when a recovery is not told.
    pub(super) fn pause(&self, config: &DampingConfig) -> Option<Instant> {
        let doublings = u32::from(self.count.checked_sub(2)?).min(31);
        let pause: Duration = config.first.saturating_mul(1 << doublings).min(config.longest);
        self.last?.checked_add(pause)
    }
}
