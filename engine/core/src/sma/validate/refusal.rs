//! Why a report is not taken in, and what raises doubts about one that is.

use super::super::quarantine::QuarantineId;
use cats_engine_types::{CsId, CsciId, Freshness, Rejection};
use std::fmt;
use std::time::Duration;

/// Why a report is not taken in, or not yet. The words name the field as JSON and YANG do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A full report lacks a value that it must have.
    #[error("{field} is missing; a full report has gas, computing-time and health")]
    Missing {
        /// Which one.
        field: &'static str,
    },
    /// A delta report says what changed since a report that is not known (any more).
    #[error("a delta report of {csci_id}, but no full one holds; send a full report")]
    NoBase {
        /// Of which SCI.
        csci_id: CsciId,
    },
    /// A value is out of its range (SMA-3).
    #[error("{field} {found} is out of range {min} to {max}")]
    OutOfRange {
        /// Of what.
        field: &'static str,
        /// As it came.
        found: u64,
        /// The least value.
        min: u64,
        /// The greatest value.
        max: u64,
    },
    /// The same report as the last one (SMA-5).
    #[error("report {found} came twice")]
    Duplicate {
        /// Of the report.
        found: Freshness,
    },
    /// It was overtaken by a later one (SMA-5).
    #[error("report {found} comes after {last}")]
    OutOfOrder {
        /// Of the report.
        found: Freshness,
        /// The latest one.
        last: Freshness,
    },
    /// It came before, or is of an earlier start of its sender, or too old to tell (SMA-5).
    #[error("report {found} is a replay: the latest one is {last}")]
    Replayed {
        /// Of the report.
        found: Freshness,
        /// The latest one.
        last: Freshness,
    },
    /// Its time is not now (SMA-5).
    #[error(
        "timestamp is {} ms {} the time here, more than {} ms: set the clock of the sender",
        .by.as_millis(), if *.ahead { "ahead of" } else { "behind" }, .window.as_millis()
    )]
    Skewed {
        /// How far.
        by: Duration,
        /// Whether the sender's clock is ahead.
        ahead: bool,
        /// How far it may be.
        window: Duration,
    },
    /// Its sender claims to have started in the future, and every later start would count as a replay.
    #[error("epoch of {found} lies in the future: set the clock of the sender and restart it")]
    FutureEpoch {
        /// Of the report.
        found: Freshness,
    },
    /// Its values contradict each other (SMA-6).
    #[error("{0}")]
    Inconsistent(Contradiction),
    /// It changes too much at once and waits for an operator (SMA-4).
    #[error("{doubts}: the report waits in quarantine as {id}")]
    Quarantined {
        /// Under which number.
        id: QuarantineId,
        /// Why.
        doubts: Doubts,
    },
    /// The SCI may not report of this service (SMA-18).
    #[error("{csci_id} may not report of service {cs_id}; configure it for this service, or its discovery")]
    Unauthorised {
        /// The service.
        cs_id: CsId,
        /// The SCI.
        csci_id: CsciId,
    },
    /// The SCI reports more often than it may. The newest values of it wait, and are taken in later (SMA-28).
    #[error("more than {per_second} reports a second; the newest values are taken in later")]
    TooOften {
        /// The rate that is reached.
        per_second: u32,
    },
    /// One SCI speaks for more services than one may.
    #[error("{csci_id} reports of more than {max} services")]
    TooManyServices {
        /// The SCI.
        csci_id: CsciId,
        /// So many it may.
        max: usize,
    },
    /// What was known of the SCI went while the report was looked at, which is a fault of this agent.
    #[error("the entry of the SCI is lost; send a full report, and report this to the makers")]
    Lost,
    /// No configuration was given yet.
    #[error("the service metric agent is not configured yet")]
    NotConfigured,
}

impl Refusal {
    /// In the words that an SCI is answered with.
    pub fn rejection(&self) -> Rejection {
        match self {
            Self::Missing { .. } | Self::NoBase { .. } => Rejection::Malformed,
            Self::OutOfRange { .. } => Rejection::OutOfRange,
            Self::Duplicate { .. }
            | Self::OutOfOrder { .. }
            | Self::Replayed { .. }
            | Self::Skewed { .. }
            | Self::FutureEpoch { .. } => Rejection::Stale,
            Self::Inconsistent(_) => Rejection::Inconsistent,
            Self::Quarantined { .. } => Rejection::Quarantined,
            Self::Unauthorised { .. } => Rejection::Unauthorised,
            Self::TooOften { .. } => Rejection::TooOften,
            Self::TooManyServices { .. } | Self::Lost | Self::NotConfigured => Rejection::Full,
        }
    }
}

/// Values that contradict each other (SMA-6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Contradiction {
    /// Slots, though no instance serves.
    #[error("gas {gas}, though no instance is healthy or degraded")]
    SlotsWithoutInstance {
        /// The slots.
        gas: u32,
    },
    /// The least computing time is above the greatest one.
    #[error("computing-time-min {min} us is above computing-time-max {max} us")]
    Bounds {
        /// In microseconds.
        min: u64,
        /// In microseconds.
        max: u64,
    },
}

/// What raises doubts about a report that may be true. A set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Doubts(u8);

impl Doubts {
    /// None.
    pub const NONE: Self = Self(0);
    /// The slots changed too fast (SMA-4).
    pub const GAS_CHANGE: Self = Self(1);
    /// The computing time changed too fast (SMA-4).
    pub const COMPUTING_TIME_CHANGE: Self = Self(2);
    /// The health changed too often (SMA-4).
    pub const FLAPPING: Self = Self(4);
    /// Slots without computing time (SMA-6).
    pub const NO_COMPUTING_TIME: Self = Self(8);
    /// The sender's clock is off.
    pub const SKEW: Self = Self(16);

    const NAMES: [(Self, &'static str); 5] = [
        (Self::GAS_CHANGE, "gas-change"),
        (Self::COMPUTING_TIME_CHANGE, "computing-time-change"),
        (Self::FLAPPING, "flapping"),
        (Self::NO_COMPUTING_TIME, "no-computing-time"),
        (Self::SKEW, "clock-skew"),
    ];

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has all of the other's.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Their names in YANG.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(doubt, _)| self.has(*doubt)).map(|(_, name)| name)
    }
}

impl fmt::Display for Doubts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.names().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}
