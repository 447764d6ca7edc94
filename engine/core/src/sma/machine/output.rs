//! What the C-SMA wants done, and what an operator may want to know.

use super::super::{InstanceKey, SciState, northbound};
use super::AuditRecord;
use cats_engine_types::{Health, ReporterInstruction, WithdrawalReason};
use std::time::{Duration, Instant};

/// What the C-SMA wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Ask an SCI for a full report, over whichever transport it is reached by (SMA-1).
    Pull {
        /// Whom.
        key: InstanceKey,
        /// Why.
        cause: PullCause,
        /// An answer after this is of no use to the question.
        deadline: Instant,
    },
    /// To and of path selectors.
    Northbound(northbound::Output),
    /// To an SCI: what became of a report that was held back.
    Answer {
        /// To whom.
        key: InstanceKey,
        /// What.
        instruction: ReporterInstruction,
    },
    /// An alarm is raised, or cleared.
    Alarm {
        /// Which one.
        alarm: Alarm,
        /// Whether it is raised.
        raised: bool,
    },
    /// Something for the audit log.
    Audit(AuditRecord),
    /// Something that an operator may want to know.
    Event(Event),
}

/// Why an SCI is asked for its metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PullCause {
    /// It is configured, and nothing is known of it.
    Start,
    /// Nothing was heard of it within the TTL.
    Stale,
    /// A report is missing before one that tells changes only.
    Gap,
    /// What it reported is not believed, or in doubt.
    Anomaly,
    /// It is back, and what it told so far may be old.
    Recovery,
}

/// What stands until it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// The clock of an SCI is off by more than allowed, or its reports come so late.
    ClockSkew {
        /// Of which SCI.
        key: InstanceKey,
        /// How far; 0 when it is cleared.
        by: Duration,
        /// Whether it is ahead.
        ahead: bool,
    },
    /// The rate of all SCIs is reached, so that reports wait for their turn.
    Overload,
}

/// Something that an operator may want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// An SCI that is not configured reported for the first time.
    Discovered {
        /// Which one.
        key: InstanceKey,
    },
    /// The state of an SCI as a source of reports changed (SMA-12).
    State {
        /// Of which one.
        key: InstanceKey,
        /// Before.
        from: SciState,
        /// Now.
        to: SciState,
    },
    /// The health of an SCI changed, as it says or as another source says.
    Health {
        /// Of which one.
        key: InstanceKey,
        /// Before.
        from: Option<Health>,
        /// Now.
        to: Option<Health>,
    },
    /// The metrics of an SCI are gone; that it serves its service is still known.
    Withdrawn {
        /// Of which one.
        key: InstanceKey,
        /// Why.
        reason: WithdrawalReason,
    },
    /// An SCI is not known any more.
    Forgotten {
        /// Which one.
        key: InstanceKey,
    },
}
