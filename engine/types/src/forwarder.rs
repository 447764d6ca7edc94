//! What a forwarder says of itself to the C-PS (CP-19, CP-20).

use crate::{CsciId, Epoch, Family, Locator, NodeId};
use serde::{Deserialize, Serialize};
use std::net::Ipv6Addr;

/// Encapsulations that a forwarder can impose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum EncapsulationKind {
    None,
    Srv6Encaps,
    Srv6EncapsReduced,
}

/// What a headend can realise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Encapsulations, sorted.
    pub encapsulations: Vec<EncapsulationKind>,
    /// The longest segment list that it imposes.
    pub max_segments: u8,
    /// Address families of the flows that it binds, sorted.
    pub families: Vec<Family>,
    /// Bindings that it holds at most.
    pub max_bindings: u32,
}

/// A delivery that an egress has provisioned: packets decapsulated there may go to this instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The instance.
    pub csci_id: CsciId,
    /// Where it is reached.
    pub locator: Locator,
    /// Whether it is in place.
    pub state: DeliveryState,
}

/// Whether a delivery is in place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryState {
    /// In the data plane.
    Ready,
    /// Refused, with the data plane's words.
    Failed(String),
}

/// The whole state that a forwarder reports when it attaches and after each change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwarderReport {
    /// Who.
    pub node: NodeId,
    /// Start of this incarnation.
    pub epoch: Epoch,
    /// The ingress role, if it has it.
    pub ingress: Option<Capabilities>,
    /// Deliveries of the egress role, ordered by CSCI-ID; empty without the role.
    pub deliveries: Vec<Delivery>,
    /// SIDs of the egress that decapsulate, per family: the last segment of a path to it.
    pub decapsulation: Vec<(Family, Ipv6Addr)>,
}
