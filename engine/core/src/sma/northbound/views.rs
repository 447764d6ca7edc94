//! What can be read of the northbound side.

use super::link::Link;
use super::peer::{Peer, Whole};
use super::{Key, Northbound};
use cats_engine_types::{CsId, CsciId, Freshness, MetricRecord, NodeId, SynchronisationCause};
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The connection to a path selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkView {
    /// An alternative that is not needed.
    Idle,
    /// Not reached; the next attempt is at that time.
    Waiting {
        /// When.
        until: Instant,
    },
    /// An attempt is under way.
    Connecting,
    /// Connected, and not yet brought to the view.
    Synchronising,
    /// Connected, and kept at the view.
    Synchronised,
}

/// One path selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerView {
    /// Its name.
    pub node: NodeId,
    /// The one that it stands in for.
    pub alternative_to: Option<NodeId>,
    /// Its connection.
    pub link: LinkView,
    /// Whether it counts as unreachable.
    pub unreachable: bool,
    /// Whether changes for it were dropped, so that it lacks the whole view.
    pub overrun: bool,
    /// Failures in a row.
    pub failures: u32,
    /// The last message to it.
    pub sent: Freshness,
    /// The last message that it acknowledged; sequence 0: none.
    pub acknowledged: Freshness,
    /// Changes that it has not acknowledged.
    pub pending: usize,
    /// How slowly it wants routine messages.
    pub pace: Duration,
    /// Since the start.
    pub counters: NorthboundCounters,
}

/// Counters of one path selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct NorthboundCounters {
    pub messages: u64,
    pub records: u64,
    pub withdrawals: u64,
    pub refreshes: u64,
    /// Whole views begun.
    pub snapshots: u64,
    /// Reconnections after which only what was lacking was sent.
    pub resumed: u64,
    /// Changes dropped because the buffer was full.
    pub dropped: u64,
    /// Whole views that it asked for, having nothing.
    pub requested_start: u64,
    /// Whole views that it asked for, missing a message.
    pub requested_gap: u64,
    /// Whole views that an operator of either side asked for.
    pub requested: u64,
    pub queries: u64,
    /// Queries for a service that it may not know of.
    pub refused_queries: u64,
    /// Acknowledgements of nothing that was sent, or of what was acknowledged before.
    pub stray_acknowledgements: u64,
}

impl NorthboundCounters {
    pub(super) fn count_request(&mut self, cause: SynchronisationCause) {
        match cause {
            SynchronisationCause::Start => self.requested_start += 1,
            SynchronisationCause::Gap => self.requested_gap += 1,
            SynchronisationCause::Requested => self.requested += 1,
        }
    }
}

impl Northbound {
    /// What is to be seen of an instance.
    pub fn record(&self, cs_id: CsId, csci_id: CsciId) -> Option<&MetricRecord> {
        self.view.get(&(cs_id, csci_id)).map(Arc::as_ref)
    }

    /// The view after an instance, ordered by CS-ID and CSCI-ID: what a path selector without bounds gets.
    pub fn records(&self, after: Option<Key>) -> impl Iterator<Item = &MetricRecord> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.view.range((from, Bound::Unbounded)).map(|(_, record)| record.as_ref())
    }

    /// Records in the view.
    pub fn record_count(&self) -> usize {
        self.view.len()
    }

    /// The path selectors, as they are configured.
    pub fn peers(&self) -> impl Iterator<Item = PeerView> {
        self.peers.iter().map(|peer| self.peer_view(peer))
    }

    fn peer_view(&self, peer: &Peer) -> PeerView {
        let freshness = |sequence| Freshness { epoch: self.epoch, sequence };
        let link = match (peer.link, peer.whole) {
            (Link::Idle, _) => LinkView::Idle,
            (Link::Waiting { until }, _) => LinkView::Waiting { until },
            (Link::Connecting, _) => LinkView::Connecting,
            (Link::Streaming, Whole::Done) if peer.serves => LinkView::Synchronised,
            (Link::Greeting { .. } | Link::Streaming, _) => LinkView::Synchronising,
        };
        PeerView {
            node: peer.config.node.clone(),
            alternative_to: peer.config.alternative_to.clone(),
            link,
            unreachable: peer.down,
            overrun: peer.overrun,
            failures: peer.failures,
            sent: freshness(peer.sequence),
            acknowledged: freshness(peer.acknowledged),
            pending: peer.pending.len(),
            pace: peer.pace,
            counters: peer.counters,
        }
    }
}
