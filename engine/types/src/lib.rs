//! The words of the engine, the path computation and the data path: identities, metrics, flows, requests,
//! paths, bindings, decisions. Types that cannot hold a wrong value.
//!
//! This crate must not know how any of these is configured, encoded or carried: no YANG, no protobuf, no
//! netlink, no I/O, no clock.

mod address;
mod advertisement;
mod binding;
mod changed;
mod decision;
mod failure;
mod flow;
mod forwarder;
mod id;
mod instruction;
mod metric;
mod path;
mod reason;
mod report;
mod request;

pub use address::SpecialAddress;
pub use advertisement::{
    Advertisement, AdvertisementContent, AgentInstruction, MetricRecord, SynchronisationCause, Withdrawal,
    WithdrawalReason,
};
pub use binding::{
    Binding, BindingEvent, BindingStatus, Counters, Forward, InstallFailure, Lifetime, RemovalReason, Reverse,
};
pub use changed::{Changed, MOST_CHANGED};
pub use decision::{Candidate, Decision, Generations, Selected, Verdict};
pub use failure::{Deadline, Limit, NotReady, UnknownName};
pub use flow::{Family, FlowKey, FlowKeyError, Locator, Protocol, ServiceAddress, ServiceMatch};
pub use forwarder::{Capabilities, Delivery, DeliveryState, EncapsulationKind, ForwarderReport};
pub use id::{
    CsId, CsciId, Epoch, Generation, IdError, NodeId, PolicyVersion, Revision, TenantId, TransactionId,
};
pub use instruction::Instruction;
pub use metric::{Gas, Health, Micros, Price, Score};
pub use path::{
    Encaps, Encapsulation, NoPath, Path, PathConstraints, PathId, PathReply, PathRequest, RoutingDomain,
    Segments, SegmentsError,
};
pub use reason::{Criterion, Ineligible, Loss, Measure, Win};
pub use report::{
    Freshness, InstanceCounts, Rejection, Report, ReportCause, ReportKind, ReportedMetrics, ReportedTime,
    ReporterInstruction, RequestTime, Sample, UnixMicros,
};
pub use request::{Constraints, RequestFailure, ServiceRequest};
