//! The pure part of a CATS forwarder: what it is configured to do, the pending table, the life of a
//! binding, the reconcile plan of everything else, and the contract that a data plane fulfils, with a
//! model of one in memory.
//!
//! It must not know the kernel, sockets, clocks or who the C-PS is. "What happens to the first packet":
//! [`Ingress::handle_packet`] holds it and asks, [`Ingress::handle_binding`] commits the answer,
//! [`Ingress::handle_commit_result`] releases it; [`Forwarder`] carries the outputs to a [`Backend`].

mod backend;
mod config;
mod forwarder;
mod ingress;
pub mod model;
mod pending;
mod plan;

pub use backend::{
    Adopted, Applied, Backend, BackendError, Install, PlaneCounters, PlaneDrop, Pruned, Tally,
};
pub use config::{
    AccessInterface, DeliveryConfig, EgressConfig, ForwarderConfig, IngressConfig, PendingLimits, Sids,
};
pub use forwarder::{Effects, Forwarder, Verdict};
pub use ingress::{DropReason, IDLE_PAGE, Ingress, Occupancy, Output, PuntedPacket};
pub use pending::PacketId;
pub use plan::{Objects, Plan, ProxyAddress, RouteAction, RouteKey, Table, check_config};
