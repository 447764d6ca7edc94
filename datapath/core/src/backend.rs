//! What a data plane must offer, whatever it is made of.

use cats_engine_types::{Binding, Capabilities, Counters, Delivery, InstallFailure, ServiceAddress};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::ForwarderConfig;

/// A data plane. Calls block for as long as the kernel needs; none waits for a peer.
///
/// Invariants: a binding has both directions or none; no packet of a flow without a binding leaves; what
/// is installed survives the process, and without the process new flows fail closed.
pub trait Backend {
    /// What it can realise (CP-19).
    fn capabilities(&self) -> Capabilities;

    /// Brings everything but bindings to the configured state. Applying the same configuration again
    /// changes nothing. On an error the earlier state may be partly replaced: call it again.
    fn apply_static(&mut self, config: &ForwarderConfig) -> Result<Applied, BackendError>;

    /// The bindings that are installed, from before this process too (CP-23). Ordered by flow.
    fn adopt(&mut self) -> Result<Vec<Adopted>, BackendError>;

    /// Removes what carries our mark and is neither configured nor used by a binding. To be called once
    /// the first full synchronisation is done, never before.
    fn prune(&mut self) -> Result<Pruned, BackendError>;

    /// Installs bindings: both directions of each in one transaction. One result for each install, in
    /// order; a refused one leaves nothing behind and does not hinder the others.
    fn commit(&mut self, installs: &[Install]) -> Vec<Result<(), InstallFailure>>;

    /// Opens staged bindings to all packets of their flow. One result for each, in order.
    fn activate(&mut self, bindings: &[Arc<Binding>]) -> Vec<Result<(), InstallFailure>>;

    /// Removes both directions of each binding; one that is not there counts as removed. The last counters
    /// of each, in order.
    fn remove(&mut self, bindings: &[Arc<Binding>]) -> Result<Vec<Counters>, BackendError>;

    /// How long each binding has seen no packet in either direction, in order; none: it is not installed
    /// (any more).
    fn last_used(&mut self, bindings: &[Arc<Binding>]) -> Result<Vec<Option<Duration>>, BackendError>;

    /// Counters of the whole data plane.
    fn counters(&mut self) -> Result<PlaneCounters, BackendError>;
}

/// One binding to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Install {
    /// What to install.
    pub binding: Arc<Binding>,
    /// What it takes the place of, in the same transaction: a path repair.
    pub replaces: Option<Arc<Binding>>,
    /// Only released packets match at first, so that no later packet overtakes the held ones; ends with
    /// [`Backend::activate`].
    pub staged: bool,
}

/// What came of a static configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// State of each delivery, ordered by CSCI-ID (CP-20).
    pub deliveries: Vec<Delivery>,
    /// What works less well than configured, in words for an operator.
    pub warnings: Vec<String>,
}

/// A binding found in the data plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adopted {
    /// As it was installed.
    pub binding: Arc<Binding>,
    /// What is left of its hard lifetime, if it has one.
    pub hard_left: Option<Duration>,
    /// It was staged and never opened to all packets.
    pub staged: bool,
}

/// What pruning removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Pruned {
    pub routes: usize,
    pub rules: usize,
    pub neighbours: usize,
}

/// Packets and octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Tally {
    pub packets: u64,
    pub octets: u64,
}

/// Why the data plane drops a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlaneDrop {
    /// Return traffic of an instance without a binding (CP-18).
    ReverseWithoutBinding,
    /// A released packet that found no binding.
    ReleasedWithoutBinding,
    /// To a service address, but to no service on it: another port, another protocol, or ICMP.
    Unserved,
    /// A fragment other than the first of a datagram to a service address.
    Fragment,
    /// Decapsulated, and not for a provisioned delivery (CP-16).
    Undelivered,
    /// From a client, to a segment of this node: only the domain's own nodes may use it (RFC 8754 section 5.1).
    SegmentFromAccess,
    /// The punt queue was full, or nobody reads it.
    PuntQueue,
}

/// Counters of the whole data plane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlaneCounters {
    /// Forwarded by a binding, for each service address.
    pub services: BTreeMap<ServiceAddress, Tally>,
    /// Dropped, by reason.
    pub drops: BTreeMap<PlaneDrop, Tally>,
    /// Punted for want of a binding.
    pub punted: Tally,
    /// Return packets whose source was restored.
    pub reverse: Tally,
    /// Decapsulated and delivered to a provisioned instance.
    pub delivered: Tally,
}

/// Why the data plane refused something other than a binding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The kernel refused; `what` names the object.
    #[error("{what}: {reason}")]
    Refused {
        /// Which object.
        what: String,
        /// The kernel's words.
        reason: String,
    },
    /// The configuration cannot be realised by this data plane.
    #[error("{0}")]
    Unrealisable(String),
    /// The kernel's answer cannot be read: a bug, or a kernel that speaks otherwise.
    #[error("{what}: unreadable answer at octet {offset}")]
    Unreadable {
        /// Which message.
        what: &'static str,
        /// Where.
        offset: usize,
    },
}
