//! PCEP, the traffic engineering database and constrained shortest path computation.
//!
//! [`codec`] has the messages, [`errors`] the table of errors, [`session`] the sessions, [`grammar`] what messages mean.
//! [`connections`] stands before sessions, [`client`] and [`lsps`] are of a PCC, [`server`] and [`lsp_db`] of a PCE. [`Pce`]
//! answers path requests for a destination that was selected before: it must not know services, instances, computing metrics
//! or candidates (CP-1), nor how a request reached it.

pub mod client;
pub mod codec;
pub mod connections;
mod cspf;
pub mod errors;
pub mod grammar;
pub mod lsp_db;
pub mod lsps;
mod pce;
#[cfg(test)]
mod sent {
    mod tests;
}
pub mod server;
pub mod session;
mod ted;
#[cfg(test)]
mod vectors;

pub use pce::{Pce, PceConfig};
pub use ted::{LinkConfig, NodeConfig, Ted};
