//! The record of a decision (CP-13): which candidates there were, why each lost, what was taken.

use crate::{CsId, CsciId, FlowKey, Generation, Locator, Micros, NodeId, Path, PolicyVersion, TransactionId};
use serde::{Deserialize, Serialize};
use std::time::SystemTime;

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Of the request.
    pub transaction: TransactionId,
    /// The flow.
    pub key: FlowKey,
    /// The service that the request resolved to.
    pub service: CsId,
    /// All candidates of the service, ordered by CSCI-ID.
    pub candidates: Vec<Candidate>,
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

/// What became of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Taken; why it won.
    Selected {
        /// The value that decided.
        reason: String,
    },
    /// Eligible, but another ranked before it.
    RankedLower {
        /// The value that decided.
        reason: String,
    },
    /// Not eligible.
    Dropped {
        /// Which rule dropped it, with the values compared.
        reason: String,
    },
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
