//! `ControlPlane` between forwarders and their C-PS.
//!
//! Both ends turn the stream into events on a bounded channel that their owner gives. Where the owner does not keep up,
//! the stream is not read, and HTTP/2's flow control holds the peer. Where a peer does not keep up, its queue fills and
//! it is disconnected: what was on the way is not lost, since forwarder and C-PS tell each other their state again after
//! each attachment.

mod client;
mod server;

pub use client::{ForwarderEvent, Target, Upstream, attach};
pub use server::{Attachment, AttachmentId, CpsEvent, Forwarders, Listen, serve};

pub use crate::sent::Sent;
pub use crate::timing::Timing;

/// Words that wait for one peer at most. A peer that is so far behind is disconnected.
const QUEUE: usize = 8192;

/// Words in one message at most.
const BATCH: usize = 256;
