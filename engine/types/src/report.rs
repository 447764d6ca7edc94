//! What a service contact instance tells a C-SMA (SCI-21), and what is left of it once it is believed.
//!
//! A [`Report`] holds numbers as they came: whether they are in range is for the C-SMA to judge, by ranges that are
//! configured. A [`Sample`] is what passed.

use crate::{CsId, CsciId, Health, Locator, Micros, Price, Score};
use std::fmt;
use std::time::Duration;

/// A time on a node's wall clock, in microseconds since 1970. Arithmetic saturates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct UnixMicros(pub u64);

impl UnixMicros {
    /// How far the two are apart.
    pub fn distance(self, other: Self) -> Duration {
        Duration::from_micros(self.0.abs_diff(other.0))
    }
}

impl fmt::Display for UnixMicros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06} s since 1970", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// The place of a message in what its sender says: a start of the sender, and a count within it. Later is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Freshness {
    /// When the sender started, in ns since 1970, never lower than before.
    pub epoch: u64,
    /// Counts up within the epoch.
    pub sequence: u64,
}

impl fmt::Display for Freshness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{}", self.epoch, self.sequence)
    }
}

/// How much of the state a report has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReportKind {
    /// All of it: what is absent is not known to the sender any more.
    Full,
    /// What changed: what is absent holds on.
    Delta,
}

/// Why a report was sent (SCI-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReportCause {
    /// It was time.
    Heartbeat,
    /// A metric changed by more than its threshold.
    Threshold,
    /// The health changed.
    Health,
    /// No slots are left, or an instance recovered.
    Critical,
    /// The security level changed, or the security of the site is in question.
    Security,
    /// It was asked for.
    Resync,
}

impl ReportCause {
    /// Every cause, for codecs and tests.
    pub const ALL: [Self; 6] =
        [Self::Heartbeat, Self::Threshold, Self::Health, Self::Critical, Self::Security, Self::Resync];

    /// The name in JSON and in YANG.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heartbeat => "heartbeat",
            Self::Threshold => "threshold",
            Self::Health => "health",
            Self::Critical => "critical",
            Self::Security => "security",
            Self::Resync => "resync",
        }
    }
}

/// A report as it was decoded; its sender is authenticated elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How much it has.
    pub kind: ReportKind,
    /// Why it came.
    pub cause: ReportCause,
    /// The service.
    pub cs_id: CsId,
    /// The contact instance that speaks.
    pub csci_id: CsciId,
    /// Where it takes requests.
    pub locator: Option<Locator>,
    /// Its place among the reports of this instance.
    pub freshness: Freshness,
    /// When it was made, by the sender's clock.
    pub timestamp: UnixMicros,
    /// How long it holds; where absent, as the C-SMA has it. 0: the instance takes itself out, and nothing else that
    /// the report says counts.
    pub ttl: Option<Duration>,
    /// What it says.
    pub metrics: ReportedMetrics,
}

/// What a C-SMA tells an SCI back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReporterInstruction {
    /// Every report of this instance up to this one is taken in, and those before it that were not are told of.
    Acknowledge {
        /// The instance.
        csci_id: CsciId,
        /// The latest report that was taken in.
        freshness: Freshness,
    },
    /// A report was not taken in, or not yet.
    Reject {
        /// The instance.
        csci_id: CsciId,
        /// The report.
        freshness: Freshness,
        /// Why.
        reason: Rejection,
        /// The field and the bound, for people.
        detail: String,
    },
    /// A full report is wanted now (SMA-1, SMA-9).
    Pull {
        /// The instance.
        csci_id: CsciId,
    },
    /// Routine reports are wanted less often, until told otherwise; 0 as the SCI has it.
    Pace {
        /// Least time between routine reports.
        min_interval: Duration,
    },
}

/// Why a C-SMA does not take a report in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rejection {
    /// A field is missing or is no value of its type.
    Malformed,
    /// A value is out of its range (SMA-3).
    OutOfRange,
    /// It is a duplicate, a replay, out of order, or its time is not now (SMA-5).
    Stale,
    /// Its values contradict each other or those of the site (SMA-6).
    Inconsistent,
    /// It changes too much at once and waits for an operator (SMA-4).
    Quarantined,
    /// The sender may not speak for the instance or the service (SMA-18).
    Unauthorised,
    /// The sender reports more often than it may (SMA-28).
    TooOften,
    /// There is no room for another instance (SMA-11).
    Full,
}

impl Rejection {
    /// Every reason, for codecs and counters.
    pub const ALL: [Self; 8] = [
        Self::Malformed,
        Self::OutOfRange,
        Self::Stale,
        Self::Inconsistent,
        Self::Quarantined,
        Self::Unauthorised,
        Self::TooOften,
        Self::Full,
    ];

    /// The name in JSON and in YANG.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::OutOfRange => "out-of-range",
            Self::Stale => "stale",
            Self::Inconsistent => "inconsistent",
            Self::Quarantined => "quarantined",
            Self::Unauthorised => "unauthorised",
            Self::TooOften => "too-often",
            Self::Full => "full",
        }
    }
}

/// The metrics of a report, each as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportedMetrics {
    /// Global Available Slots.
    pub gas: Option<u64>,
    /// Time for one request, in microseconds.
    pub computing_time: Option<u64>,
    /// The shortest one, and the input tokens that it belongs to.
    pub computing_time_min: Option<ReportedTime>,
    /// The longest one, and the input tokens that it belongs to.
    pub computing_time_max: Option<ReportedTime>,
    /// Health.
    pub health: Option<Health>,
    /// Price of one request.
    pub price: Option<u64>,
    /// Reputation.
    pub reputation: Option<u64>,
    /// Security level.
    pub security_level: Option<u64>,
    /// Instances behind it by their health.
    pub instances: Option<InstanceCounts>,
}

/// A bound of the computing time as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedTime {
    /// In microseconds.
    pub time: u64,
    /// Input tokens of such a request.
    pub input_tokens: Option<u32>,
}

/// Instances of a site by their health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct InstanceCounts {
    /// That serve.
    pub healthy: u32,
    /// That serve worse than they should.
    pub degraded: u32,
    /// That do not serve.
    pub unhealthy: u32,
    /// Of which nothing is known.
    pub unknown: u32,
}

/// The metrics of a contact instance, each in its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Slots for further requests.
    pub gas: u32,
    /// Time for one request.
    pub computing_time: Micros,
    /// The shortest one.
    pub computing_time_min: Option<RequestTime>,
    /// The longest one.
    pub computing_time_max: Option<RequestTime>,
    /// Health.
    pub health: Health,
    /// Price of one request.
    pub price: Option<Price>,
    /// Reputation.
    pub reputation: Option<Score>,
    /// Security level.
    pub security_level: Option<Score>,
    /// Instances behind it by their health.
    pub instances: Option<InstanceCounts>,
}

/// A bound of the computing time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTime {
    /// The time.
    pub time: Micros,
    /// Input tokens of such a request.
    pub input_tokens: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_is_fresher_than_all_that_was_said_before_it() {
        let before = Freshness { epoch: 7, sequence: u64::MAX };
        assert!(Freshness { epoch: 8, sequence: 0 } > before);
        assert!(before > Freshness { epoch: 7, sequence: u64::MAX - 1 });
    }
}
