//! PCEP, the traffic engineering database and constrained shortest path computation.
//!
//! [`codec`] has the messages, [`errors`] the table of errors. [`Pce`] answers path requests for a destination that was selected before: it must not know services, instances,
//! computing metrics or candidates (CP-1), nor how a request reached it.

pub mod codec;
mod cspf;
pub mod errors;
mod pce;
mod ted;
#[cfg(test)]
mod vectors;

pub use pce::{Pce, PceConfig};
pub use ted::{LinkConfig, NodeConfig, Ted};
