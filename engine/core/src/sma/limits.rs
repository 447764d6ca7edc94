//! Rates: how often something may happen (SMA-28).

use super::config::Rate;
use std::time::{Duration, Instant};

/// Keeps one rate: the time at which the bucket would be full again, which is all there is to know of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Meter(Option<Instant>);

impl Meter {
    /// Takes one, or answers when one may be taken.
    pub(super) fn take(&mut self, rate: Rate, now: Instant) -> Result<(), Instant> {
        if rate.per_second == 0 {
            return Ok(());
        }
        let one = Duration::from_secs(1) / rate.per_second;
        let full = self.0.filter(|full| *full > now).unwrap_or(now);
        let burst = one.saturating_mul(rate.burst.max(1));
        let Some(after) = full.checked_add(one) else { return Ok(()) };
        // The bucket may be empty by a burst at most.
        match after.checked_sub(burst).filter(|allowed| *allowed > now) {
            Some(allowed) => Err(allowed),
            None => {
                self.0 = Some(after);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves SMA-28.
    #[test]
    fn a_meter_lets_a_burst_pass_and_then_the_rate() {
        let (start, rate) = (Instant::now(), Rate { per_second: 10, burst: 3 });
        let mut meter = Meter::default();
        for _ in 0..3 {
            assert_eq!(meter.take(rate, start), Ok(()));
        }
        let at = |millis| start + Duration::from_millis(millis);
        assert_eq!(meter.take(rate, start), Err(at(100)), "and says when one may be taken");
        assert_eq!(meter.take(rate, at(99)), Err(at(100)));
        assert_eq!(meter.take(rate, at(100)), Ok(()));
        assert_eq!(meter.take(rate, at(100)), Err(at(200)));
        let passed = (0..10_000).filter(|n| meter.take(rate, at(200 + n)).is_ok()).count();
        assert_eq!(passed, 100, "ten a second over ten seconds");
    }

    #[test]
    fn a_meter_without_a_rate_lets_all_pass() {
        let mut meter = Meter::default();
        let now = Instant::now();
        assert!((0..1000).all(|_| meter.take(Rate { per_second: 0, burst: 0 }, now).is_ok()));
    }
}
