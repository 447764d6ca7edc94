//! `ControlPlane` between forwarders and their C-PS.
//!
//! Both ends turn the stream into events on a bounded channel that their owner gives. Where the owner does not keep up,
//! the stream is not read, and HTTP/2's flow control holds the peer. Where a peer does not keep up, its queue fills and
//! it is disconnected: what was on the way is not lost, since forwarder and C-PS tell each other their state again after
//! each attachment.

mod accept;
mod client;
mod server;

pub use client::{ForwarderEvent, Target, Upstream, attach};
pub use server::{Attachment, AttachmentId, CpsEvent, Forwarders, Listen, Sent, serve};

use std::time::Duration;

/// How patient both ends are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// A keepalive is sent after so long without another message.
    pub keepalive: Duration,
    /// The peer is dead after so long without a message.
    pub silence: Duration,
    /// Bound of a TCP connection and TLS handshake.
    pub connect: Duration,
    /// First wait before a new attempt; each further one doubles.
    pub backoff: Duration,
    /// The longest wait.
    pub backoff_limit: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            keepalive: Duration::from_secs(1),
            silence: Duration::from_secs(4),
            connect: Duration::from_secs(4),
            backoff: Duration::from_millis(200),
            backoff_limit: Duration::from_secs(60),
        }
    }
}

/// Words that wait for one peer at most. A peer that is so far behind is disconnected.
const QUEUE: usize = 8192;

/// Words in one message at most.
const BATCH: usize = 256;
