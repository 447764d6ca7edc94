//! What sites and paths say of themselves.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A duration in microseconds. Arithmetic saturates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Micros(pub u64);

impl Micros {
    /// From whole milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1000))
    }

    /// The sum.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or nothing where `other` is larger.
    pub const fn minus(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} ms", self.0 / 1000, self.0 % 1000)
    }
}

/// Global Available Slots: how many more concurrent requests the site will serve for a CS-ID.
///
/// Ordered: any number of slots is less than no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gas {
    /// So many.
    Slots(u32),
    /// A static entry that sets no limit.
    Unlimited,
}

impl Gas {
    /// What is left after `reserved` slots.
    #[must_use]
    pub fn less(self, reserved: u32) -> Self {
        match self {
            Gas::Slots(slots) => Gas::Slots(slots.saturating_sub(reserved)),
            Gas::Unlimited => Gas::Unlimited,
        }
    }

    /// Whether `requested` slots are there; 0 slots serve nothing.
    pub fn covers(self, requested: u32) -> bool {
        match self {
            Gas::Slots(slots) => slots > 0 && slots >= requested,
            Gas::Unlimited => true,
        }
    }
}

/// Health of a service contact instance (SCI-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// Serves.
    #[default]
    Healthy,
    /// Serves worse than it should.
    Degraded,
    /// Does not serve.
    Unhealthy,
    /// Not known; counts as unhealthy.
    Unknown,
}

impl Health {
    /// Whether new flows may be sent there.
    pub fn admits(self) -> bool {
        match self {
            Health::Healthy | Health::Degraded => true,
            Health::Unhealthy | Health::Unknown => false,
        }
    }
}

/// Price of a request, in the domain's own unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Price(pub u32);

/// A score from 0 to 10, higher is better: reputation, security level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Score(u8);

impl TryFrom<u8> for Score {
    type Error = &'static str;

    fn try_from(value: u8) -> Result<Self, Self::Error> {
        if value <= 10 { Ok(Self(value)) } else { Err("a score is 0 to 10") }
    }
}

impl From<Score> for u8 {
    fn from(score: Score) -> u8 {
        score.0
    }
}
