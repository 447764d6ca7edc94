//! The C-PS: service catalogue, computing and network service tables, joint selection, flow state machine.
//!
//! A machine without I/O: inputs are handed in with the time they are handled at, outputs are drained after each of
//! them. This crate must not know how a forwarder is reached, how a path is computed, or how the configuration came
//! to be; it never sees a packet.

pub mod config;
pub mod cps;
pub mod scope;
pub mod sma;
