//! How often something happens within a minute.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Knows the last times, and no more of them than are borne.
#[derive(Debug)]
pub(super) struct Rate {
    limit: usize,
    times: VecDeque<Instant>,
}

impl Rate {
    const WINDOW: Duration = Duration::from_secs(60);

    pub(super) fn new(limit: u32) -> Self {
        Self { limit: usize::try_from(limit).unwrap_or(usize::MAX), times: VecDeque::new() }
    }

    /// It happens now: is that more often than is borne?
    pub(super) fn is_exceeded(&mut self, now: Instant) -> bool {
        while self.times.front().is_some_and(|first| now.duration_since(*first) >= Self::WINDOW) {
            self.times.pop_front();
        }
        if self.times.len() >= self.limit {
            return true;
        }
        self.times.push_back(now);
        false
    }
}
