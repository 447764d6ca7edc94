//! Thresholds, intervals, bucket, load.

use crate::sma::transform::Percent;
use std::num::NonZeroU32;
use std::time::Duration;

/// When updates are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateConfig {
    /// What is a change that is worth an update of its own.
    pub thresholds: Thresholds,
    /// The update interval: from one update of an SCI to the next, where anything differs or it has reported since.
    /// Absent: nothing is told but what is worth an update of its own.
    pub interval: Option<Duration>,
    /// How long the update interval may become under load, or at the wish of the path selectors.
    pub longest_interval: Duration,
    /// From one routine update of an SCI to the next, at least.
    pub min_interval: Duration,
    /// The rate of updates; absent: no limit.
    pub bucket: Option<BucketConfig>,
    /// Updates that are given at once.
    pub batch: usize,
    /// How repeated failures of one SCI are treated.
    pub damping: DampingConfig,
    /// When there is too much to tell.
    pub load: LoadConfig,
}

impl Default for UpdateConfig {
    fn default() -> Self {
        Self {
            thresholds: Thresholds::default(),
            interval: Some(Duration::from_secs(30)),
            longest_interval: Duration::from_secs(60),
            min_interval: Duration::from_secs(5),
            bucket: Some(BucketConfig::default()),
            batch: 500,
            damping: DampingConfig::default(),
            load: LoadConfig::default(),
        }
    }
}

/// What is a change that is worth an update of its own: more than this. A change of health, reputation, security
/// level, locator or doubt always is, and so are the last slot and the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Of GAS, as a share of what was told.
    pub gas_share: Percent,
    /// Of GAS, in slots: beyond either of the two. Absent: the share alone counts.
    pub gas_slots: Option<u32>,
    /// Of the computing time, as a share of what was told.
    pub computing_time_share: Percent,
    /// Of the price, as a share of what was told.
    pub price_share: Percent,
}

impl Default for Thresholds {
    fn default() -> Self {
        let percent = |whole: u32| Percent::thousandths(whole * 1000).unwrap_or(Percent::ALL);
        Self {
            gas_share: percent(10),
            gas_slots: Some(50),
            computing_time_share: percent(20),
            price_share: Percent::ZERO,
        }
    }
}

/// The rate of updates: one token each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketConfig {
    /// Tokens a second.
    pub rate: NonZeroU32,
    /// Tokens that are kept at most.
    pub burst: NonZeroU32,
    /// Tokens of these that only critical updates take; one at least is left to all.
    pub reserve: u32,
}

impl Default for BucketConfig {
    fn default() -> Self {
        let number = |value| NonZeroU32::new(value).unwrap_or(NonZeroU32::MIN);
        Self { rate: number(5_000), burst: number(10_000), reserve: 2_500 }
    }
}

/// How repeated failures of one SCI are treated: its first recovery is told at once, each further one after a pause,
/// counted from the failure before it. Failures are told at once, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DampingConfig {
    /// The pause after the second failure in a row.
    pub first: Duration,
    /// It doubles with each failure, up to this.
    pub longest: Duration,
    /// After so long without a failure, the next one is the first again.
    pub forget: Duration,
}

impl Default for DampingConfig {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60),
            forget: Duration::from_secs(120),
        }
    }
}

/// When there is too much to tell: what is due needs longer than this at the rate of the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadConfig {
    /// So long; it is over once what is due needs half of it.
    pub backlog: Duration,
    /// What is left out meanwhile.
    pub leave_out: OptionalMetrics,
}

impl Default for LoadConfig {
    fn default() -> Self {
        Self { backlog: Duration::from_secs(1), leave_out: OptionalMetrics::ALL }
    }
}

/// Metrics that selection can do without for a while. The security level is none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionalMetrics {
    /// Price. Left out means that the one that was told stays: one that is absent would be another price.
    pub price: bool,
    /// Reputation, likewise.
    pub reputation: bool,
    /// Shortest and longest computing time: absent meanwhile.
    pub time_bounds: bool,
    /// The counts of instances by health: absent meanwhile.
    pub instances: bool,
}

impl OptionalMetrics {
    /// All of them.
    pub const ALL: Self = Self { price: true, reputation: true, time_bounds: true, instances: true };
    /// None of them.
    pub const NONE: Self = Self { price: false, reputation: false, time_bounds: false, instances: false };
}
