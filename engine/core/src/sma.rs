//! The service metric agent (C-SMA): what the path selectors believe about a site, and why they may.
//!
//! The contact instances (SCIs) of a site report to it. A report goes one way, and stops where it is not believed:
//!
//! ```text
//! authenticated report → order and time → rate → format and range → consistency → rate of change
//!   → quarantine, or flag, or nothing → cache → smoothing → rules → margin → bounds → update control → path selectors
//! ```
//!
//! [`Sma`] is a machine without I/O, like the path selector: hand an input in with the time, drain the outputs, sleep
//! until the timeout. Transports authenticate; whether an SCI may report of a service is decided here.
//!
//! **What is kept.** Hard state is who serves what, and how far its reports came: it stays when metrics are too old
//! or had to go. Soft state is the metrics. An SCI is ACTIVE when it is discovered and HEALTHY once it has reported a
//! few times; within the TTL without a report it becomes STALE (its slots count no more, and it is asked for a
//! report), after the grace period FAILED (it is told to be UNHEALTHY, with GAS 0, at once), and after the withdraw timer
//! its metrics are withdrawn. What an SCI says of its own health is another matter than that state.
//!
//! **What never happens.** A report that is refused changes no metric, and no report is taken in after a later one.
//! A release from quarantine never replaces what came later. What comes faster than allowed is not lost: the newest
//! values of each SCI wait for their turn, in the order in which SCIs began to wait. Nothing is done in proportion to
//! the SCIs at a tick: each has a deadline in an ordered set, and the sums of a service follow each change.
//!
//! | file | holds |
//! |---|---|
//! | `config` | what a C-SMA is configured with |
//! | `validate` | range, order, rate of change, consistency: each by itself |
//! | `quarantine` | reports that wait for an operator |
//! | `limits` | rates |
//! | `cache` | entries by CSCI-ID and by service, their order of use, the sums of services |
//! | `state` | what an agent thinks of an SCI as a source of reports |
//! | `transform` | smoothing before the rules, safety margin, ceiling and floor after them |
//! | `policy` | the rules of the operator |
//! | `calendar` | windows of time that rules and update control know by name |
//! | `update` | when what is known of an SCI is told on |
//! | `northbound` | what each path selector is told |
//! | `machine` | [`Sma`]: all of these together |

mod cache;
pub mod calendar;
pub mod config;
mod limits;
mod machine;
pub mod northbound;
pub mod policy;
mod quarantine;
mod state;
pub mod transform;
pub mod update;
mod validate;

pub use cache::{Site, Standing};
pub use config::SmaConfig;
pub use machine::{
    Alarm, AuditKind, AuditRecord, AuthenticationFailure, Counters, Event, MetricsView, Output, PolicyView,
    PullCause, SciCounters, SciView, Sma, Taken, UnknownInstance,
};
pub use quarantine::{QuarantineId, Quarantined, ReleaseError};
pub use state::SciState;
pub use validate::{Contradiction, Doubts, Refusal};

use cats_engine_types::{CsId, CsciId};
use std::fmt;

/// A contact instance as a source of reports of one service. Ordered by service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceKey {
    /// The service.
    pub cs_id: CsId,
    /// The contact instance.
    pub csci_id: CsciId,
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of service {}", self.csci_id, self.cs_id)
    }
}
