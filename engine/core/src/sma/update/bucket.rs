//! The rate of updates.

use super::config::BucketConfig;
use std::time::{Duration, Instant};

/// Parts of a token: the rate in tokens a second is the rate in these a nanosecond.
const TOKEN: u64 = 1_000_000_000;

/// A token bucket. It begins full.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    parts: u64,
    at: Instant,
}

impl Bucket {
    pub(super) fn full(config: &BucketConfig, now: Instant) -> Self {
        Self { parts: capacity(config), at: now }
    }

    pub(super) fn refill(&mut self, config: &BucketConfig, now: Instant) {
        let nanos = now.saturating_duration_since(self.at).as_nanos();
        let gained = u64::try_from(nanos).unwrap_or(u64::MAX).saturating_mul(u64::from(config.rate.get()));
        self.parts = self.parts.saturating_add(gained).min(capacity(config));
        self.at = self.at.max(now);
    }

    /// Takes a token, and leaves so many.
    pub(super) fn take(&mut self, leave: u32) -> bool {
        let left = self.parts.checked_sub(TOKEN).filter(|left| *left >= u64::from(leave) * TOKEN);
        self.parts = left.unwrap_or(self.parts);
        left.is_some()
    }

    /// When so many tokens can be taken, with so many left.
    pub(super) fn when(&self, config: &BucketConfig, tokens: u32, leave: u32) -> Option<Instant> {
        let wanted = (u64::from(tokens) + u64::from(leave)) * TOKEN;
        let missing = wanted.min(capacity(config)).saturating_sub(self.parts);
        self.at.checked_add(Duration::from_nanos(missing.div_ceil(u64::from(config.rate.get()))))
    }
}

fn capacity(config: &BucketConfig) -> u64 {
    u64::from(config.burst.get()) * TOKEN
}
