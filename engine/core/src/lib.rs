//! The C-PS: service catalogue, computing and network service tables, joint selection, flow state machine; and the
//! C-SMA: what is believed of a site's reports, and what is told of them.
//!
//! Machines without I/O: inputs are handed in with the time they are handled at, outputs are drained after each of
//! them. This crate must not know how a forwarder is reached, how a path is computed, or how the configuration came
//! to be; it never sees a packet.

pub mod config;
pub mod cps;
pub mod scope;
pub mod sma;
mod timers;
