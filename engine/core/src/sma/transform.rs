//! What is done to numbers on their way to a C-PS: smoothing before the rules, safety margin, ceiling and floor after
//! them (SMA-7, SMA-16).
//!
//! All of it is integer arithmetic, so equal reports give equal results everywhere.

mod smoothing;

pub use smoothing::{Alpha, Smooth, Smoothing, SmoothingConfig, Window};

use cats_engine_types::{Micros, Price, RequestTime, Sample};
use std::fmt;

/// A share in percent, from 0 to 100, to the thousandth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Percent(u32);

impl Percent {
    /// Nothing of it.
    pub const ZERO: Self = Self(0);
    /// All of it.
    pub const ALL: Self = Self(100_000);

    /// So many thousandths of a percent; not more than 100,000.
    pub const fn thousandths(thousandths: u32) -> Option<Self> {
        if thousandths <= Self::ALL.0 { Some(Self(thousandths)) } else { None }
    }

    /// In thousandths of a percent.
    pub const fn as_thousandths(self) -> u32 {
        self.0
    }

    /// What is left of `value` without this share of it, rounded down. What was more than nothing stays at least 1,
    /// unless all of it is taken: the last slot of a site is no rounding error.
    pub fn off(self, value: u64) -> u64 {
        let (whole, kept) = (u128::from(Self::ALL.0), u128::from(Self::ALL.0 - self.0));
        let left = u64::try_from(u128::from(value) * kept / whole).unwrap_or(value);
        left.max(u64::from(value > 0 && kept > 0))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_thousandths(u64::from(self.0), f)
    }
}

/// Writes a number of thousandths with the digits that it needs.
pub(super) fn write_thousandths(value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}", value / 1000)?;
    let fraction = format!("{:03}", value % 1000);
    match fraction.trim_end_matches('0') {
        "" => Ok(()),
        digits => write!(f, ".{digits}"),
    }
}

/// A floor and a ceiling, neither of them needed; the floor is never above the ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds<T> {
    floor: Option<T>,
    ceiling: Option<T>,
}

impl<T> Default for Bounds<T> {
    fn default() -> Self {
        Self { floor: None, ceiling: None }
    }
}

impl<T: Ord + Copy> Bounds<T> {
    /// These bounds; nothing where the floor is above the ceiling.
    pub fn new(floor: Option<T>, ceiling: Option<T>) -> Option<Self> {
        let crossed = floor.zip(ceiling).is_some_and(|(floor, ceiling)| floor > ceiling);
        if crossed { None } else { Some(Self { floor, ceiling }) }
    }

    /// The least value.
    pub fn floor(&self) -> Option<T> {
        self.floor
    }

    /// The largest value.
    pub fn ceiling(&self) -> Option<T> {
        self.ceiling
    }

    /// The value within the bounds that is next to `value`.
    pub fn clamp(&self, value: T) -> T {
        let value = self.floor.map_or(value, |floor| value.max(floor));
        self.ceiling.map_or(value, |ceiling| value.min(ceiling))
    }
}

/// What is done to every record after the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransformConfig {
    /// The share of the slots that is kept back, so that what arrives between two updates finds room.
    pub margin: Percent,
    /// Of GAS after the margin. The floor does not make slots where there are none.
    pub gas: Bounds<u32>,
    /// Of the computing time, its minimum and its maximum.
    pub computing_time: Bounds<Micros>,
    /// Of the price, where there is one.
    pub price: Bounds<Price>,
}

impl Default for TransformConfig {
    fn default() -> Self {
        let (floor, ceiling) = (Some(Micros::from_millis(1)), Some(Micros::from_millis(10_000)));
        Self {
            margin: Percent(20_000),
            gas: Bounds::default(),
            computing_time: Bounds { floor, ceiling },
            price: Bounds::default(),
        }
    }
}

impl TransformConfig {
    /// A configuration that leaves everything as it is.
    pub fn none() -> Self {
        Self {
            margin: Percent::ZERO,
            gas: Bounds::default(),
            computing_time: Bounds::default(),
            price: Bounds::default(),
        }
    }

    /// Applies margin, ceiling and floor. What does not serve ends with no slots, whatever the bounds are.
    pub fn apply(&self, sample: &mut Sample) {
        let slots = u32::try_from(self.margin.off(u64::from(sample.gas))).unwrap_or(u32::MAX);
        let serves = slots > 0 && sample.health.admits();
        sample.gas = if serves { self.gas.clamp(slots) } else { 0 };
        let bounded = |time: RequestTime| RequestTime { time: self.computing_time.clamp(time.time), ..time };
        sample.computing_time = self.computing_time.clamp(sample.computing_time);
        sample.computing_time_min = sample.computing_time_min.map(bounded);
        sample.computing_time_max = sample.computing_time_max.map(bounded);
        sample.price = sample.price.map(|price| self.price.clamp(price));
    }
}

#[cfg(test)]
mod tests;
