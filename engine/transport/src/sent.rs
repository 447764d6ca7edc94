//! The bounded queue of words towards a peer: one that is too far behind is let go, and never waited for.

use std::fmt::Display;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// Whether a word is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Sent {
    /// It is.
    Queued,
    /// The peer is gone or too far behind: drop the way to it.
    Gone,
}

impl Sent {
    /// Queues a word.
    pub(crate) fn queue<T>(queue: &mpsc::Sender<T>, word: T) -> Self {
        match queue.try_send(word) {
            Ok(()) => Sent::Queued,
            Err(_) => Sent::Gone,
        }
    }

    /// Queues a word for `peer`; its `role` and name are logged where it does not keep up.
    pub(crate) fn queue_for<T>(role: &str, peer: impl Display, queue: &mpsc::Sender<T>, word: T) -> Self {
        match queue.try_send(word) {
            Ok(()) => Sent::Queued,
            Err(TrySendError::Full(_)) => {
                tracing::warn!(%peer, "the {role} does not keep up and is disconnected");
                Sent::Gone
            }
            Err(TrySendError::Closed(_)) => Sent::Gone,
        }
    }
}
