//! Steering bindings: both directions of one flow, committed as one transition (CP-9).

use crate::{CsId, CsciId, Epoch, FlowKey, Locator, NodeId, Path, TransactionId};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::time::Duration;

/// A steering binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Of the request that led to it.
    pub transaction: TransactionId,
    /// The service.
    pub cs_id: CsId,
    /// Client to instance.
    pub forward: Forward,
    /// Instance to client.
    pub reverse: Reverse,
    /// How long it lives.
    pub lifetime: Lifetime,
    /// Ownership epoch of the C-PS that made it.
    pub epoch: Epoch,
    /// Counts up when the binding of the same flow is replaced (path repair).
    pub version: u32,
}

/// The forward direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    /// Packets that belong to it.
    pub key: FlowKey,
    /// The selected instance.
    pub csci_id: CsciId,
    /// Replaces the destination.
    pub locator: Locator,
    /// The egress that delivers.
    pub egress: NodeId,
    /// The path to it.
    pub path: Path,
}

/// The reverse direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reverse {
    /// Source of the packets that the instance sends.
    pub instance: SocketAddr,
    /// Their destination.
    pub client: SocketAddr,
    /// Source as the client knows it: the service address.
    pub restore: SocketAddr,
}

/// How long a binding lives without and with traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetime {
    /// Ends after so long without a packet in either direction; absent: never by inactivity.
    pub idle: Option<Duration>,
    /// Ends after so long in any case; absent: never.
    pub hard: Option<Duration>,
}

impl Binding {
    /// The reverse direction that belongs to a forward one.
    pub fn reverse_of(forward: &Forward) -> Reverse {
        Reverse {
            instance: forward.locator.target(forward.key.service()),
            client: forward.key.client(),
            restore: forward.key.service(),
        }
    }
}

/// What a forwarder tells the C-PS of a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BindingStatus {
    /// Of the binding.
    pub transaction: TransactionId,
    /// The flow.
    pub key: FlowKey,
    /// What happened.
    pub event: BindingEvent,
}

/// What happened to a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindingEvent {
    /// Both directions are committed; held packets were released after this.
    Installed,
    /// Nothing is installed.
    InstallFailed(InstallFailure),
    /// Both directions are gone.
    Removed {
        /// Why.
        reason: RemovalReason,
        /// Last values.
        counters: Counters,
    },
    /// The forwarder has it from before its restart, or from before the C-PS attached (CP-23): the whole of it, so
    /// that a C-PS that lost its state has destination, reverse tuple, path and epoch again.
    Restored(Box<Binding>),
}

/// Why a forwarder refused a binding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstallFailure {
    /// It waits no more: the pending record is gone.
    #[error("no pending record waits for this transaction")]
    NotPending,
    /// The flow limit or a kernel table is full.
    #[error("the binding table is full")]
    Full,
    /// A capability is missing.
    #[error("the forwarder cannot realise it: {0}")]
    NotRealisable(String),
    /// An older owner.
    #[error("epoch {found} is older than {known}")]
    Fenced {
        /// Of the binding.
        found: Epoch,
        /// Seen before.
        known: Epoch,
    },
    /// The kernel refused.
    #[error("the data plane refused: {0}")]
    DataPlane(String),
}

/// Why a binding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RemovalReason {
    /// No packet for the idle time.
    Idle,
    /// The hard lifetime.
    Hard,
    /// The C-PS asked for it.
    Requested,
    /// An operator cleared it.
    Cleared,
    /// The service left the configuration.
    Unconfigured,
}

/// Packets and bytes, both directions apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Counters {
    pub forward_packets: u64,
    pub forward_bytes: u64,
    pub reverse_packets: u64,
    pub reverse_bytes: u64,
}
