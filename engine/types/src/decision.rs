//! The record of a decision (CP-13): which candidates there were, why each lost, what was taken.

use crate::reason::{Ineligible, Loss, Win};
use crate::{CsId, CsciId, FlowKey, Generation, Locator, Micros, NodeId, Path, PolicyVersion, TransactionId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::SystemTime;

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Of the request.
    pub transaction: TransactionId,
    /// Who asked.
    pub ingress: NodeId,
    /// The flow.
    pub key: FlowKey,
    /// The service that the request resolved to.
    pub service: CsId,
    /// The candidates of the service, ordered by CSCI-ID; the selected one is always among them.
    pub candidates: Vec<Candidate>,
    /// Candidates that the record leaves out because it is full.
    pub omitted: u32,
    /// What was taken; none is a selection failure.
    pub selected: Option<Selected>,
    /// The path, once it is known.
    pub path: Option<Path>,
    /// The tables it was made from.
    pub generations: Generations,
    /// Wall-clock time of the decision.
    pub at: SystemTime,
}

/// One candidate and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The instance.
    pub csci_id: CsciId,
    /// Its egress.
    pub egress: NodeId,
    /// Computing time.
    pub computing: Micros,
    /// Path delay from the ingress, if the NST or a static metric has one.
    pub network: Option<Micros>,
    /// Sum of both.
    pub total: Option<Micros>,
    /// Taken, ranked lower, or not eligible.
    pub verdict: Verdict,
}

/// What became of a candidate. Each reason displays the rule and the values that decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Taken; why it won.
    Selected {
        /// The value that decided.
        reason: Win,
    },
    /// Eligible, but another ranked before it.
    RankedLower {
        /// The value that decided.
        reason: Loss,
    },
    /// Not eligible.
    Dropped {
        /// Which rule dropped it, with the values compared.
        reason: Ineligible,
    },
}

impl Verdict {
    /// The name of the verdict: `selected`, `ranked-lower` or `dropped`.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Selected { .. } => "selected",
            Verdict::RankedLower { .. } => "ranked-lower",
            Verdict::Dropped { .. } => "dropped",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Selected { reason } => reason.fmt(f),
            Verdict::RankedLower { reason } => reason.fmt(f),
            Verdict::Dropped { reason } => reason.fmt(f),
        }
    }
}

/// What was taken.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Selected {
    /// The instance.
    pub csci_id: CsciId,
    /// Where it is reached.
    pub locator: Locator,
    /// The egress that delivers to it.
    pub egress: NodeId,
}

/// Generations that a decision was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Generations {
    /// Version of the policy.
    pub policy: PolicyVersion,
    /// Of the computing service table.
    pub cst: Generation,
    /// Of the network service table.
    pub nst: Generation,
    /// Of the topology that the path was computed from.
    pub ted: Option<Generation>,
}
