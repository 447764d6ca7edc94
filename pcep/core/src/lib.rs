//! The traffic engineering database and constrained shortest path computation.
//!
//! [`Pce`] answers path requests for a destination that was selected before: it must not know services, instances,
//! computing metrics or candidates (CP-1), nor how a request reached it.

mod cspf;
mod pce;
mod ted;

pub use pce::{Pce, PceConfig};
pub use ted::{LinkConfig, NodeConfig, Ted};
