//! When a subscription has its turn. Deadlines are of the monotonic clock; the wall clock only says where between two
//! of its updates a periodic subscription with an anchor stands.

use crate::types::Now;
use std::time::{Duration, Instant};

/// Changes that come within this time of the first one are told together.
pub(crate) const COALESCING: Duration = Duration::from_millis(10);

/// A period in centiseconds, and the moment that multiples of it are counted from, microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) centiseconds: u32,
    pub(crate) anchor_us: Option<i64>,
}

impl Period {
    fn us(self) -> u64 {
        u64::from(self.centiseconds).saturating_mul(10_000).max(1)
    }

    fn length(self) -> Duration {
        Duration::from_micros(self.us())
    }

    /// The first update: at once, or with an anchor at the next multiple.
    pub(crate) fn first(self, now: Now) -> Instant {
        match self.to_the_next(now) {
            None => now.instant,
            Some(wait) => now.instant + wait,
        }
    }

    /// The update after the one that was due at `due`. What was missed is left out. With an anchor each one is put on
    /// its multiple again; after a step of the wall clock that makes it half a period early or late at most, once.
    pub(crate) fn next(self, due: Instant, now: Now) -> Instant {
        match self.to_the_next(now) {
            None => {
                let late = now.instant.saturating_duration_since(due).as_micros();
                let missed = u64::try_from(late).unwrap_or(u64::MAX) / self.us();
                due + self.length() + Duration::from_micros(missed.saturating_mul(self.us()))
            }
            Some(wait) if wait < self.length() / 2 => now.instant + wait + self.length(),
            Some(wait) => now.instant + wait,
        }
    }

    /// From now to the next multiple of the period, which is never now.
    fn to_the_next(self, now: Now) -> Option<Duration> {
        let since = i128::from(now.unix_us) - i128::from(self.anchor_us?);
        let into = u64::try_from(since.rem_euclid(i128::from(self.us()))).unwrap_or(0);
        Some(Duration::from_micros(self.us() - into))
    }
}

/// When changes are due that were first noticed at `since`.
pub(crate) fn due(since: Instant, last: Option<Instant>, dampening: Duration) -> Instant {
    let soon = since + COALESCING;
    last.map_or(soon, |last| soon.max(last + dampening))
}

/// A point of the wall clock as a deadline; what is past is due now.
pub(crate) fn deadline(unix_us: i64, now: Now) -> Instant {
    let wait = i128::from(unix_us) - i128::from(now.unix_us);
    // No clock is set so far ahead that it could not be waited for.
    let wait = u64::try_from(wait.max(0)).unwrap_or(u64::MAX).min(FAR_US);
    now.instant + Duration::from_micros(wait)
}

/// A hundred years.
const FAR_US: u64 = 100 * 365 * 86_400 * 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: Instant, ms: u64, unix_ms: u64) -> Now {
        Now { instant: start + Duration::from_millis(ms), unix_us: unix_ms * 1000 }
    }

    fn after(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    #[test]
    fn without_an_anchor_the_first_update_comes_at_once_and_the_others_a_period_apart() {
        let (start, period) = (Instant::now(), Period { centiseconds: 50, anchor_us: None });
        assert_eq!(period.first(at(start, 0, 77)), start);
        assert_eq!(period.next(start, at(start, 3, 80)), after(start, 500));
        assert_eq!(
            period.next(after(start, 500), at(start, 2100, 0)),
            after(start, 2500),
            "missed ones are left out"
        );
    }

    /// The case Y02.
    #[test]
    fn updates_are_multiples_of_the_period_from_an_anchor_in_the_past_or_in_the_future() {
        let start = Instant::now();
        for anchor_ms in [200, 200_700, -800] {
            let period = Period { centiseconds: 50, anchor_us: Some(anchor_ms * 1000) };
            let first = period.first(at(start, 0, 100_000));
            assert_eq!(first, after(start, 200), "{anchor_ms}");
            assert_eq!(period.next(first, at(start, 201, 100_201)), after(start, 700), "a little late");
        }
        let period = Period { centiseconds: 50, anchor_us: Some(0) };
        assert_eq!(period.next(after(start, 500), at(start, 499, 499)), after(start, 1000), "a little early");
    }

    /// The case P54.
    #[test]
    fn a_step_of_the_wall_clock_makes_no_gap_and_no_burst() {
        let (start, period) = (Instant::now(), Period { centiseconds: 100, anchor_us: Some(0) });
        for step_ms in [600_000, 600_300, 600_900, -600_300_i64] {
            let unix = u64::try_from(1_000_000_i64 + 5000 + step_ms).unwrap_or_default();
            let next = period.next(after(start, 5000), at(start, 5000, unix));
            let gap = next - after(start, 5000);
            assert!(
                (Duration::from_millis(500)..=Duration::from_millis(1500)).contains(&gap),
                "{step_ms}: {gap:?}"
            );
        }
        let free = Period { centiseconds: 100, anchor_us: None };
        assert_eq!(free.next(after(start, 5000), at(start, 5000, 1)), after(start, 6000));
    }

    #[test]
    fn changes_wait_for_those_that_come_with_them_and_for_the_dampening() {
        let start = Instant::now();
        let ms = Duration::from_millis;
        assert_eq!(due(start, None, ms(1000)), after(start, 10));
        assert_eq!(due(start, Some(start), ms(0)), after(start, 10));
        assert_eq!(due(after(start, 5), Some(start), ms(1000)), after(start, 1000));
    }
}
