//! What a C-SMA tells a C-PS of its site (SMA-13, SMA-20, SMA-23).

use crate::{CsId, CsciId, Freshness, Locator, NodeId, Sample, UnixMicros};
use std::time::Duration;

/// One message of a C-SMA to one C-PS. Signature or MAC are around its bytes, not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advertisement {
    /// Who speaks.
    pub agent: NodeId,
    /// The start of the C-SMA, and the count of its messages to this C-PS: the nonce, which never repeats.
    pub freshness: Freshness,
    /// The sequence of the message that this one builds on: whoever has that one, and all before it, misses nothing
    /// with this one. It is the message right before, but for the first one after a reconnection, which builds on
    /// what was acknowledged. The first part of a snapshot builds on nothing: 0.
    pub since: u64,
    /// When it was made, by the sender's clock.
    pub timestamp: UnixMicros,
    /// What it says.
    pub content: AdvertisementContent,
}

/// What an advertisement says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdvertisementContent {
    /// Part of the whole view. With the last part, what none of the parts had is withdrawn.
    Snapshot {
        /// Counts the parts of one snapshot, from 0.
        part: u32,
        /// Whether it is the last one.
        last: bool,
        /// What holds.
        records: Vec<MetricRecord>,
    },
    /// What changed since the message before it.
    Delta {
        /// What holds now, in place of what held.
        records: Vec<MetricRecord>,
        /// What is gone.
        withdrawals: Vec<Withdrawal>,
    },
    /// Nothing changed: what was advertised holds on, as if it were sent again now.
    Refresh,
}

/// One contact instance as its C-SMA wants it seen, after validation and policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricRecord {
    /// The service.
    pub cs_id: CsId,
    /// The contact instance.
    pub csci_id: CsciId,
    /// Where it takes requests.
    pub locator: Option<Locator>,
    /// Its metrics.
    pub sample: Sample,
    /// When the SCI made the report that this rests on, by the C-SMA's clock.
    pub taken: UnixMicros,
    /// How long it may be believed from the time of the message on.
    pub valid_for: Duration,
    /// Whether the C-SMA has doubts.
    pub flagged: bool,
}

/// A contact instance that is not advertised any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withdrawal {
    /// The service.
    pub cs_id: CsId,
    /// The contact instance.
    pub csci_id: CsciId,
    /// Why.
    pub reason: WithdrawalReason,
}

/// Why a contact instance is not advertised any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WithdrawalReason {
    /// Nothing was heard of it for too long (SMA-9).
    Failed,
    /// The cache had no place for it (SMA-11).
    Evicted,
    /// An operator, or the SCI itself, took it out.
    Removed,
    /// It is not, or no longer, for this C-PS to know (SMA-19).
    Unauthorised,
}

/// What a C-PS tells a C-SMA back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentInstruction {
    /// Everything up to this message is taken in. The first word on a new connection where the C-PS has a whole view
    /// from before.
    Acknowledge(Freshness),
    /// The whole view is wanted (SMA-23). The first word on a new connection where the C-PS has none.
    Synchronise(SynchronisationCause),
    /// These instances are wanted now; none named: those of the service.
    Query {
        /// The service.
        cs_id: CsId,
        /// The instances.
        csci_ids: Vec<CsciId>,
    },
    /// How often the C-PS wants to hear: longer than configured under load, never shorter.
    Pace {
        /// Least time between routine messages.
        min_interval: Duration,
    },
}

/// Why a C-PS wants the whole view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SynchronisationCause {
    /// It has nothing of this C-SMA.
    Start,
    /// A message is missing before this one.
    Gap,
    /// An operator asked.
    Requested,
}
