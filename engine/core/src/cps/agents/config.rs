//! Which C-SMAs may advertise what.

use crate::scope::Scope;
use cats_engine_types::NodeId;
use std::time::Duration;

/// A C-SMA that may advertise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// Its name.
    pub node: NodeId,
    /// The services that it may speak of.
    pub scope: Scope,
    /// The egress forwarders of its sites: it may speak of instances behind these; empty: behind all.
    pub egresses: Vec<NodeId>,
    /// How often it is asked to send routine messages at most; absent: as it sees fit.
    pub min_interval: Option<Duration>,
}

/// Bounds for each C-SMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentBounds {
    /// How far the time of a message may be from ours.
    pub window: Duration,
    /// Without a message for this long an alarm stands.
    pub silence: Duration,
    /// From one request for the whole view to the next while it does not come.
    pub resynchronise: Duration,
    /// Records that are taken of one C-SMA; further ones are counted and dropped.
    pub records: usize,
}

impl Default for AgentBounds {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(30),
            silence: Duration::from_secs(60),
            resynchronise: Duration::from_secs(5),
            records: 131_072,
        }
    }
}
