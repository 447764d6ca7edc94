//! What a session counted.

use crate::codec::MessageType;
use std::collections::BTreeMap;

/// Counts since the connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// Messages from the peer, by type.
    pub received: BTreeMap<MessageType, u64>,
    /// Messages to the peer, by type.
    pub sent: BTreeMap<MessageType, u64>,
    /// Messages that could not be read.
    pub unreadable: u64,
    /// Messages of unknown types.
    pub unknown_messages: u64,
    /// Requests of which nothing was known.
    pub unknown_requests: u64,
}

impl Counters {
    pub(super) fn received(&mut self, kind: MessageType) {
        *self.received.entry(kind).or_default() += 1;
    }

    pub(super) fn sent(&mut self, kind: MessageType) {
        *self.sent.entry(kind).or_default() += 1;
    }
}
