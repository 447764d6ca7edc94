//! The path selector, a file per concern:
//!
//! | file | holds |
//! |---|---|
//! | `config` | what a C-PS is configured with |
//! | `services` | the services of a configuration |
//! | `catalogue` | services, their addresses and instances; resolution of a request |
//! | `agents` | C-SMAs: which of their messages are taken, and what each of them says |
//! | `cst`, `nst` | the computing and the network service table |
//! | `nodes` | forwarders: who is attached, with which capabilities and deliveries |
//! | `selection` | the joint selection |
//! | `admission` | token buckets and the memory of request generations |
//! | `flow`, `paths`, `reservation` | the tables of flows, shared paths and reserved slots |
//! | `machine` | [`Cps`]: the flow state machine over all of these |

mod admission;
mod agents;
mod catalogue;
mod config;
mod cst;
mod flow;
mod machine;
mod nodes;
mod nst;
mod paths;
mod reservation;
mod selection;
mod services;

pub use agents::{
    AdvertisementError, AgentAlarm, AgentBounds, AgentConfig, AgentCounters, AgentPhase, AgentView,
};
pub use catalogue::{Catalogue, Instance, Service};
pub use config::{
    Admission, CpsConfig, Deadlines, ForwarderConfig, InstanceConfig, PathMetric, Policy, Precedence, Rank,
    ServiceConfig, StaticMetric, Weights,
};
pub use cst::{AgentIx, Cst, Key, Record, Row, Source};
pub use flow::FlowState;
pub use machine::{
    AttachError, Cleared, Counters, Cps, DryRun, Event, FlowCursor, FlowView, NodeView, Output, RecordView,
    Refused, ReservationView, Which,
};
pub use nodes::{ControlPlane, DataPlane, DeliveryStatus};
pub use nst::{Nst, PathRecord};
pub use services::Services;
