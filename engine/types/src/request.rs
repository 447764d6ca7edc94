//! What an ingress asks of the C-PS for the first packet of a flow.

use crate::{
    CsId, Deadline, FlowKey, Limit, Micros, NoPath, NodeId, NotReady, Price, Score, TenantId, TransactionId,
};
use serde::{Deserialize, Serialize};

/// Hard constraints of a request or of a service's configuration. Absent means unconstrained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Constraints {
    /// Path delay from ingress to egress.
    pub max_network_delay: Option<Micros>,
    /// Computing time and path delay together.
    pub max_total_delay: Option<Micros>,
    /// kbit/s.
    pub min_bandwidth: Option<u32>,
    /// Path delay variation.
    pub max_jitter: Option<Micros>,
    /// Packets lost per million.
    pub max_loss_ppm: Option<u32>,
    /// Slots wanted; 1 when absent.
    pub min_gas: Option<u32>,
    /// Time the site needs for one request.
    pub max_computing_time: Option<Micros>,
    /// Price of a request.
    pub max_price: Option<Price>,
    /// Reputation of the site.
    pub min_reputation: Option<Score>,
    /// Security level of the site.
    pub min_security_level: Option<Score>,
}

impl Constraints {
    /// Both at once: of each constraint the stricter one.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            max_network_delay: lower(self.max_network_delay, other.max_network_delay),
            max_total_delay: lower(self.max_total_delay, other.max_total_delay),
            min_bandwidth: self.min_bandwidth.max(other.min_bandwidth),
            max_jitter: lower(self.max_jitter, other.max_jitter),
            max_loss_ppm: lower(self.max_loss_ppm, other.max_loss_ppm),
            min_gas: self.min_gas.max(other.min_gas),
            max_computing_time: lower(self.max_computing_time, other.max_computing_time),
            max_price: lower(self.max_price, other.max_price),
            min_reputation: self.min_reputation.max(other.min_reputation),
            min_security_level: self.min_security_level.max(other.min_security_level),
        }
    }
}

fn lower<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// One service request (CP-6, CP-11): metadata and tuple, never payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceRequest {
    /// Made by the ingress.
    pub transaction: TransactionId,
    /// The ingress; must be the authenticated sender.
    pub ingress: NodeId,
    /// The packet's tuple; its destination names a service by configuration.
    pub key: FlowKey,
    /// A CS-ID that the request carried itself.
    pub cs_id: Option<CsId>,
    /// Constraints that the request carried itself; the stricter of these and the service's hold.
    pub constraints: Constraints,
    /// Tenant context of the attachment.
    pub tenant: TenantId,
    /// Client-side counter of requests, where the request carried one.
    pub generation: Option<u64>,
}

/// Why a request ended without a binding. The ingress drops the held packets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestFailure {
    /// Neither the CS-ID nor the destination names a service (service-resolution failure).
    #[error("no service is configured for the request's CS-ID or destination")]
    UnknownService,
    /// Destination and CS-ID name different services (CP-4).
    #[error("the destination names service {destination} and the request names {explicit}")]
    IdentityConflict {
        /// By configuration of the destination.
        destination: CsId,
        /// By the request.
        explicit: CsId,
    },
    /// The sender may not ask in this ingress's name or for this tenant.
    #[error("the request is not authorised: {0}")]
    Unauthorised(String),
    /// A value of the request is wrong.
    #[error("the request is malformed: {0}")]
    Malformed(String),
    /// No candidate is left; the decision record says why each was dropped.
    #[error("no candidate is eligible")]
    NoCandidate,
    /// The path computation found none.
    #[error("no path: {0}")]
    NoPath(NoPath),
    /// The headend cannot realise the path (CP-14).
    #[error("the headend cannot realise the path: {0}")]
    NotRealisable(String),
    /// A deadline passed.
    #[error("the {0} deadline passed")]
    Deadline(Deadline),
    /// The forwarder could not commit the binding.
    #[error("the binding was not committed: {0}")]
    Commit(String),
    /// An admission limit.
    #[error("the limit {0} is reached")]
    Limit(Limit),
    /// The instance of the flow failed: the client must open a new connection (CP-26).
    #[error("the flow's instance failed; the client must reconnect")]
    ReconnectRequired,
    /// The C-PS is not reachable.
    #[error("the C-PS is not reachable")]
    Unreachable,
    /// The C-PS is not configured to decide (role off or still starting).
    #[error("the C-PS is not ready: {0}")]
    NotReady(NotReady),
}
