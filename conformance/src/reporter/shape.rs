//! How the load of an instance goes in time.

use cats_engine_types::Health;
use clap::ValueEnum;

/// How the load of an instance goes in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// The same all the time
    Constant,
    /// Slots grow from none to all, computing times from nothing to all, over a period
    Ramp,
    /// Slots go down to none over a period, and stay there
    Fall,
    /// Slots and computing times go up and down at random, by 5 % at most from one report to the next
    Walk,
    /// Healthy for a period, unhealthy for the next
    Flapping,
}

/// What an instance would say at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Values {
    pub(super) gas: u64,
    pub(super) computing_time_us: u64,
    pub(super) health: Health,
}

/// Where a random walk is, as shares of the whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    random: u64,
    gas: f64,
    time: f64,
}

impl Walk {
    /// Begins in the middle.
    pub(super) fn new(seed: u64) -> Self {
        Self { random: seed, gas: 0.5, time: 0.5 }
    }

    fn step(&mut self) {
        for share in [&mut self.gas, &mut self.time] {
            let up = fraction(&mut self.random) * 2.0 - 1.0;
            *share = (*share * (1.0 + 0.05 * up)).clamp(0.05, 1.0);
        }
    }
}

/// From 0 to 1 (splitmix64).
fn fraction(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^= word >> 31;
    f64::from(u32::try_from(word >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX)
}

impl Shape {
    /// What an instance says `periods` after its start, of this many slots and this time.
    pub(super) fn at(self, periods: f64, gas: u32, computing_time_us: f64, walk: &mut Walk) -> Values {
        let (slots, time, health) = match self {
            Shape::Constant => (1.0, 1.0, Health::Healthy),
            Shape::Ramp => (periods.min(1.0), periods.min(1.0), Health::Healthy),
            Shape::Fall => ((1.0 - periods).max(0.0), 1.0, Health::Healthy),
            Shape::Walk => {
                walk.step();
                (walk.gas, walk.time, Health::Healthy)
            }
            Shape::Flapping if periods.rem_euclid(2.0) < 1.0 => (1.0, 1.0, Health::Healthy),
            Shape::Flapping => (0.0, 1.0, Health::Unhealthy),
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // never negative, and saturates
        let whole = |value: f64| value.round() as u64;
        Values {
            gas: whole(f64::from(gas) * slots),
            computing_time_us: whole(computing_time_us * time),
            health,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_go_as_they_are_described() {
        let mut walk = Walk::new(1);
        let mut at = |shape: Shape, periods| {
            let values = shape.at(periods, 300, 10_000.0, &mut walk);
            (values.gas, values.computing_time_us, values.health)
        };
        assert_eq!(at(Shape::Constant, 7.0), (300, 10_000, Health::Healthy));
        assert_eq!(at(Shape::Ramp, 0.0), (0, 0, Health::Healthy));
        assert_eq!(at(Shape::Ramp, 0.5), (150, 5_000, Health::Healthy));
        assert_eq!(at(Shape::Ramp, 2.0), (300, 10_000, Health::Healthy));
        assert_eq!(at(Shape::Fall, 0.0), (300, 10_000, Health::Healthy));
        assert_eq!(at(Shape::Fall, 1.0), (0, 10_000, Health::Healthy));
        assert_eq!(at(Shape::Flapping, 0.9), (300, 10_000, Health::Healthy));
        assert_eq!(at(Shape::Flapping, 1.1), (0, 10_000, Health::Unhealthy));
    }

    #[test]
    fn a_walk_moves_by_a_twentieth_at_most_and_stays_within_the_slots() {
        let mut walk = Walk::new(9);
        let mut last = 150.0;
        for _ in 0..10_000 {
            let gas = u32::try_from(Shape::Walk.at(0.0, 300, 1.0, &mut walk).gas).unwrap();
            assert!(gas <= 300);
            let gas = f64::from(gas);
            assert!((gas - last).abs() <= last * 0.05 + 1.0, "{last} to {gas}");
            last = gas;
        }
    }
}
