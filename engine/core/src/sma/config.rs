//! What a C-SMA is configured with, already in the engine's words. `Default` is what is documented as such.

use super::calendar::Calendar;
use super::northbound::NorthboundConfig;
use super::policy::Policy;
use super::transform::SmoothingConfig;
use super::update::UpdateConfig;
use cats_engine_types::{CsId, CsciId, Locator};
use std::time::Duration;

/// The configuration of a C-SMA.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SmaConfig {
    /// Who may report.
    pub admission: AdmissionConfig,
    /// When a report is believed.
    pub validation: ValidationConfig,
    /// Bounds of what waits for an operator.
    pub quarantine: QuarantineConfig,
    /// How long metrics live, and how many.
    pub cache: CacheConfig,
    /// How often may be reported.
    pub rates: RateConfig,
    /// When an SCI is asked for its metrics.
    pub pull: PullConfig,
    /// What is done to numbers that move a lot.
    pub smoothing: SmoothingConfig,
    /// Windows of time; the policy is compiled with it.
    pub calendar: Calendar,
    /// Rules, safety margin, ceiling and floor.
    pub policy: Policy,
    /// When updates are told.
    pub update: UpdateConfig,
    /// Who is told.
    pub northbound: NorthboundConfig,
}

/// Who may report (SMA-18).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionConfig {
    /// Contact instances that are known beforehand, with their services: hard state (SMA-10).
    pub instances: Vec<SciConfig>,
    /// Whether other contact instances may report too.
    pub discovery: bool,
    /// Services of which others may report; empty: all.
    pub discovered_services: Vec<CsId>,
}

impl Default for AdmissionConfig {
    fn default() -> Self {
        Self { instances: Vec::new(), discovery: true, discovered_services: Vec::new() }
    }
}

/// A contact instance that is known beforehand. It may report of the services that it is configured for, and of no
/// other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SciConfig {
    /// The service.
    pub cs_id: CsId,
    /// The contact instance.
    pub csci_id: CsciId,
    /// Where it takes requests; absent: as it reports.
    pub locator: Option<Locator>,
}

/// When a report is believed (SMA-3 to SMA-6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ValidationConfig {
    /// Ranges of the values.
    pub ranges: Ranges,
    /// Changes that are too fast.
    pub change: ChangeConfig,
    /// Clocks that disagree.
    pub skew: SkewConfig,
}

/// A range, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The least value.
    pub min: u64,
    /// The greatest value.
    pub max: u64,
}

impl Range {
    /// Whether a value is in it.
    pub fn contains(&self, value: u64) -> bool {
        self.min <= value && value <= self.max
    }
}

/// Ranges of the values (SMA-3): those of the registered metrics, which a configuration may narrow. What no type
/// holds (a slot count above 2³²−1, a score above 10) stays refused whatever is set here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranges {
    /// Slots.
    pub gas: Range,
    /// Times for one request, in microseconds.
    pub computing_time: Range,
    /// Price.
    pub price: Range,
    /// Reputation.
    pub reputation: Range,
    /// Security level.
    pub security_level: Range,
}

impl Default for Ranges {
    fn default() -> Self {
        let word = Range { min: 0, max: u32::MAX as u64 };
        let score = Range { min: 0, max: 10 };
        Self {
            gas: word,
            computing_time: Range { min: 0, max: 3_600_000_000 },
            price: word,
            reputation: score,
            security_level: score,
        }
    }
}

/// What is done with a report whose values changed too fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reaction {
    /// Nothing.
    Ignore,
    /// It is taken in with a warning flag.
    Flag,
    /// It waits for an operator.
    Quarantine,
}

/// Changes that are too fast (SMA-4).
///
/// They are flagged and not quarantined unless configured otherwise: a burst of requests changes the slots as fast
/// as a lie does, and a busy site whose reports wait for people is worse off than one whose reports carry a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeConfig {
    /// Of the slots, without a change of health.
    pub gas: RateOfChange,
    /// Of the computing time.
    pub computing_time: RateOfChange,
    /// Of the health.
    pub flapping: Flapping,
}

/// A change that is too fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateOfChange {
    /// More than so much of the value before.
    pub percent: u32,
    /// Within this time.
    pub within: Duration,
    /// A smaller change (slots, or microseconds) never is too fast, whatever it is in percent.
    pub least: u64,
    /// What is done.
    pub reaction: Reaction,
}

/// Health that changes too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flapping {
    /// More transitions than this, which is at most [`Flapping::MAX_TRANSITIONS`].
    pub transitions: u8,
    /// Within this time.
    pub within: Duration,
    /// What is done.
    pub reaction: Reaction,
}

impl Flapping {
    /// So many transitions of each SCI are remembered.
    pub const MAX_TRANSITIONS: u8 = 32;
}

impl Default for ChangeConfig {
    fn default() -> Self {
        Self {
            gas: RateOfChange {
                percent: 50,
                within: Duration::from_secs(1),
                least: 10,
                reaction: Reaction::Flag,
            },
            computing_time: RateOfChange {
                percent: 100,
                within: Duration::from_secs(1),
                least: 1000,
                reaction: Reaction::Flag,
            },
            flapping: Flapping { transitions: 3, within: Duration::from_secs(10), reaction: Reaction::Flag },
        }
    }
}

/// How far the clock of an SCI may be off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkewConfig {
    /// Either way.
    pub window: Duration,
    /// Whether reports outside are taken in with a warning flag. Otherwise they are refused, which also keeps
    /// recorded reports out after a restart of the C-SMA.
    pub tolerate: bool,
}

impl Default for SkewConfig {
    fn default() -> Self {
        Self { window: Duration::from_secs(30), tolerate: false }
    }
}

/// Bounds of what waits for an operator. Beyond one, what waits longest goes first and is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuarantineConfig {
    /// Reports.
    pub max_reports: usize,
    /// Reports of one SCI, so that no SCI pushes out what others did.
    pub max_reports_per_instance: usize,
}

impl Default for QuarantineConfig {
    fn default() -> Self {
        Self { max_reports: 4096, max_reports_per_instance: 16 }
    }
}

/// How long metrics live, and how many (SMA-8 to SMA-12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheConfig {
    /// How long a value holds after the last report, where that does not say: twice the expected interval.
    pub ttl: PerClass,
    /// How long at most, whatever a report says.
    pub max_ttl: PerClass,
    /// From STALE to FAILED.
    pub stale_grace: Span,
    /// From FAILED to the withdrawal.
    pub withdraw_after: Span,
    /// SCIs with metrics. Beyond it the one that reported longest ago is evicted and withdrawn.
    pub max_entries: usize,
    /// SCIs that are known but have no metrics (any more), without those that are configured. Beyond it the one
    /// that is without for longest is forgotten.
    pub max_remembered: usize,
    /// Reports in a row after which an ACTIVE SCI is HEALTHY.
    pub confirm_after: u8,
    /// What a DEGRADED SCI's slots count for in the sum of the site, in percent.
    pub degraded_percent: u8,
    /// How long a path selector may believe what it was told without hearing of this agent: longer than any interval
    /// of updates and refreshes.
    pub valid_for: Duration,
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self {
            ttl: PerClass::all(Duration::from_secs(120)),
            max_ttl: PerClass::all(Duration::from_secs(3600)),
            stale_grace: Span::OfTtl { percent: 100 },
            withdraw_after: Span::OfTtl { percent: 1000 },
            max_entries: 100_000,
            max_remembered: 100_000,
            confirm_after: 2,
            degraded_percent: 50,
            valid_for: Duration::from_secs(90),
        }
    }
}

/// A time for each class of metrics.
///
/// Without the first three an SCI is not eligible, so it is STALE when the first of them is over. A value of the last
/// two is left out when its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerClass {
    /// Slots and instance counts.
    pub capacity: Duration,
    /// Computing times.
    pub performance: Duration,
    /// Health.
    pub health: Duration,
    /// Price.
    pub commerce: Duration,
    /// Reputation and security level.
    pub trust: Duration,
}

impl PerClass {
    /// The same for all.
    pub const fn all(time: Duration) -> Self {
        Self { capacity: time, performance: time, health: time, commerce: time, trust: time }
    }
}

/// A time that is fixed, or follows the TTL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// So long.
    Fixed(Duration),
    /// So much of the SCI's TTL.
    OfTtl {
        /// In percent.
        percent: u32,
    },
}

impl Span {
    /// How long it is with this TTL.
    pub fn with(self, ttl: Duration) -> Duration {
        match self {
            Span::Fixed(time) => time,
            Span::OfTtl { percent } => ttl.saturating_mul(percent) / 100,
        }
    }
}

/// How often may be reported (SMA-28). What comes faster waits, the newest values of each SCI only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateConfig {
    /// By one SCI of one service.
    pub instance: Rate,
    /// By all.
    pub total: Rate,
}

/// A rate with a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// A second; 0: without limit.
    pub per_second: u32,
    /// At once, after a pause; at least 1.
    pub burst: u32,
}

impl Default for RateConfig {
    fn default() -> Self {
        Self {
            instance: Rate { per_second: 10, burst: 20 },
            total: Rate { per_second: 100_000, burst: 100_000 },
        }
    }
}

/// When an SCI is asked for its metrics (SMA-1, SMA-9): when it is STALE, after a gap, after an anomaly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PullConfig {
    /// Whether it is asked at all.
    pub enabled: bool,
    /// Least time between two questions to one SCI.
    pub min_interval: Duration,
    /// How long an answer may take; of a STALE SCI, to the end of the grace.
    pub timeout: Duration,
    /// Questions to all. One beyond is left out and counted: the SCI's own reports go on meanwhile.
    pub rate: Rate,
}

impl Default for PullConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            min_interval: Duration::from_secs(5),
            timeout: Duration::from_secs(5),
            rate: Rate { per_second: 1000, burst: 1000 },
        }
    }
}
