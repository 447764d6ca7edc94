//! What the northbound side of a C-SMA is configured with.

use crate::scope::Scope;
use cats_engine_types::NodeId;
use std::time::Duration;

/// The configuration; all of it may change while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NorthboundConfig {
    /// The path selectors, alternatives in the order in which they are tried.
    pub peers: Vec<PeerConfig>,
    /// Records and withdrawals in one message.
    pub batch: usize,
    /// How long a routine change waits for others to go with it.
    pub gather: Duration,
    /// Messages that may be under way without an acknowledgement; what changes beyond waits and is sent at once.
    pub window: u64,
    /// Changes that are kept for one path selector. Beyond, the oldest is dropped, and the path selector gets the
    /// whole view in its place.
    pub buffer: usize,
    /// From one whole view to the next.
    pub heartbeat: Duration,
    /// From one light refresh to the next. A record's `valid_for` should be at least twice as long.
    pub refresh: Duration,
    /// Without an acknowledgement for this long the path selector counts as unreachable.
    pub acknowledge: Duration,
    /// On a new connection, how long the path selector's first word is awaited; without it the whole view is sent.
    pub greeting: Duration,
    /// An outage of at least this length is a partition: when it heals, the whole view is sent.
    pub partition: Duration,
    /// Least time from one start of a whole view to the next, so that no path selector can ask for them without end.
    pub resynchronise: Duration,
    /// The wait before the first attempt to connect again; it doubles with each one that fails.
    pub backoff_first: Duration,
    /// The longest wait before an attempt.
    pub backoff_last: Duration,
    /// The most that a path selector may slow routine messages down to.
    pub pace_limit: Duration,
}

impl Default for NorthboundConfig {
    fn default() -> Self {
        Self {
            peers: Vec::new(),
            batch: 500,
            gather: Duration::from_millis(50),
            window: 32,
            buffer: 65_536,
            heartbeat: Duration::from_secs(60),
            refresh: Duration::from_secs(10),
            acknowledge: Duration::from_secs(10),
            greeting: Duration::from_secs(2),
            partition: Duration::from_secs(30),
            resynchronise: Duration::from_secs(1),
            backoff_first: Duration::from_secs(1),
            backoff_last: Duration::from_secs(60),
            pace_limit: Duration::from_secs(60),
        }
    }
}

/// A path selector that is told of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerConfig {
    /// Its name.
    pub node: NodeId,
    /// The services that it may know of (SMA-19).
    pub scope: Scope,
    /// The path selector that it stands in for: it is connected only while that one, and every alternative of it
    /// that comes before, is unreachable.
    pub alternative_to: Option<NodeId>,
}

impl NorthboundConfig {
    /// How long to wait after so many failures in a row: 1, 2, 4 … 60 s by default.
    pub fn backoff(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.backoff_first.saturating_mul(1 << doublings).min(self.backoff_last)
    }
}
