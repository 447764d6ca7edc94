//! Less noise in numbers that move a lot: a moving average, or an exponential one.

use cats_engine_types::{Health, Micros, Sample};
use std::collections::VecDeque;

/// How much of a smoothed value is the newest report: from 0.001 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Alpha(u16);

impl Alpha {
    /// So many thousandths, from 1 to 1000.
    pub const fn thousandths(thousandths: u16) -> Option<Self> {
        if thousandths >= 1 && thousandths <= 1000 { Some(Self(thousandths)) } else { None }
    }

    /// In thousandths.
    pub const fn as_thousandths(self) -> u16 {
        self.0
    }
}

impl Default for Alpha {
    fn default() -> Self {
        Self(300)
    }
}

/// How many reports a moving average is of: from 2 to 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Window(u8);

impl Window {
    /// Of so many reports.
    pub const fn reports(reports: u8) -> Option<Self> {
        if reports >= 2 && reports <= 16 { Some(Self(reports)) } else { None }
    }

    /// How many.
    pub const fn as_reports(self) -> u8 {
        self.0
    }
}

/// How one metric is smoothed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Smooth {
    /// Not at all.
    Off,
    /// The mean of the last reports.
    Average(Window),
    /// `alpha` of the newest report, the rest from what was before.
    Exponential(Alpha),
}

impl Default for Smooth {
    fn default() -> Self {
        Self::Exponential(Alpha::default())
    }
}

/// How the metrics that move a lot are smoothed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SmoothingConfig {
    /// GAS.
    pub gas: Smooth,
    /// Computing time.
    pub computing_time: Smooth,
}

/// What smoothing remembers of one SCI: 40 octets, and with moving averages at most 16 numbers for each metric.
///
/// Three things are never smoothed, since they are no noise. A GAS of 0 is 0 at once, and what comes after it starts
/// afresh; after a change of health both metrics start afresh.
#[derive(Debug, Clone, Default)]
pub struct Smoothing {
    gas: Track,
    computing_time: Track,
    health: Option<Health>,
}

impl Smoothing {
    /// Takes the next valid sample and gives it smoothed. A new configuration starts afresh.
    pub fn next(&mut self, config: &SmoothingConfig, raw: &Sample) -> Sample {
        if self.health.replace(raw.health) != Some(raw.health) {
            self.gas = Track::Empty;
            self.computing_time = Track::Empty;
        }
        if raw.gas == 0 {
            self.gas = Track::Empty;
        }
        let gas = match raw.gas {
            0 => 0,
            slots => self.gas.next(config.gas, u64::from(slots)),
        };
        let time = self.computing_time.next(config.computing_time, raw.computing_time.0);
        // An average of numbers is not above the largest of them.
        Sample { gas: u32::try_from(gas).unwrap_or(raw.gas), computing_time: Micros(time), ..*raw }
    }

    /// Forgets what was before, as after a silence.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

/// Fractional bits of an exponential average.
const FRACTION: u32 = 16;
/// Above this nothing is smoothed, as it would not fit: as microseconds four years.
const LARGEST: u64 = 1 << 47;

#[derive(Debug, Clone, Default)]
enum Track {
    #[default]
    Empty,
    Exponential(u64),
    Average(Box<Recent>),
}

#[derive(Debug, Clone)]
struct Recent {
    values: VecDeque<u64>,
    sum: u64,
}

impl Track {
    fn next(&mut self, how: Smooth, raw: u64) -> u64 {
        if raw > LARGEST {
            *self = Self::Empty;
            return raw;
        }
        match how {
            Smooth::Off => {
                *self = Self::Empty;
                raw
            }
            Smooth::Exponential(alpha) => {
                let newest = raw << FRACTION;
                let smoothed = match *self {
                    Self::Exponential(before) => exponential(before, newest, alpha),
                    Self::Empty | Self::Average(_) => newest,
                };
                *self = Self::Exponential(smoothed);
                (smoothed + (1 << (FRACTION - 1))) >> FRACTION
            }
            Smooth::Average(window) => {
                let mut recent = match std::mem::take(self) {
                    Self::Average(recent) => recent,
                    Self::Empty | Self::Exponential(_) => {
                        let values = VecDeque::with_capacity(usize::from(window.0));
                        Box::new(Recent { values, sum: 0 })
                    }
                };
                let mean = recent.next(window, raw);
                *self = Self::Average(recent);
                mean
            }
        }
    }
}

/// `alpha · newest + (1 − alpha) · before`, which lies between the two.
fn exponential(before: u64, newest: u64, alpha: Alpha) -> u64 {
    let alpha = u128::from(alpha.0);
    let sum = alpha * u128::from(newest) + (1000 - alpha) * u128::from(before);
    u64::try_from(sum / 1000).unwrap_or(newest)
}

impl Recent {
    fn next(&mut self, window: Window, raw: u64) -> u64 {
        self.values.push_back(raw);
        self.sum = self.sum.saturating_add(raw);
        while self.values.len() > usize::from(window.0) {
            let oldest = self.values.pop_front().unwrap_or(0);
            self.sum = self.sum.saturating_sub(oldest);
        }
        let count = self.values.len() as u64;
        (self.sum + count / 2) / count.max(1)
    }
}
