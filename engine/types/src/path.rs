//! Path requests and replies. A request never carries candidates or computing metrics (CP-1).

use crate::{Family, Generation, Micros, NodeId, TransactionId};
use serde::{Deserialize, Serialize};
use std::net::Ipv6Addr;

/// The routing domain of a path; the default domain is the empty text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct RoutingDomain(pub String);

/// What a path must satisfy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct PathConstraints {
    /// Upper bound of the sum of link delays.
    pub max_delay: Option<Micros>,
    /// Lower bound of each link's bandwidth, kbit/s.
    pub min_bandwidth: Option<u32>,
    /// Upper bound of links on the path.
    pub max_hops: Option<u8>,
}

/// What the C-PS asks of a path computation after it has selected the destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRequest {
    /// Correlates the reply.
    pub transaction: TransactionId,
    /// The node that will impose the path: the ingress.
    pub headend: NodeId,
    /// The node where the path ends: the egress.
    pub endpoint: NodeId,
    /// Family of the packets that the path will carry; the last segment delivers it.
    pub family: Family,
    /// The routing domain.
    pub domain: RoutingDomain,
    /// Network constraints that remain after selection.
    pub constraints: PathConstraints,
    /// The longest segment list that the headend can impose, final segment included.
    pub max_segments: u8,
}

/// What a path computation answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathReply {
    /// Of the request.
    pub transaction: TransactionId,
    /// A path or why there is none.
    pub outcome: Result<Path, NoPath>,
}

/// Why there is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPath {
    /// The headend is not in the topology.
    #[error("headend {0} is not in the topology")]
    UnknownHeadend(NodeId),
    /// The endpoint is not in the topology.
    #[error("endpoint {0} is not in the topology")]
    UnknownEndpoint(NodeId),
    /// No path at all, or none that meets the constraints.
    #[error("no path from {headend} to {endpoint} meets the constraints")]
    Unreachable {
        /// From.
        headend: NodeId,
        /// To.
        endpoint: NodeId,
    },
    /// The endpoint has no segment that delivers packets of the family.
    #[error("endpoint {0} has no segment that delivers this address family")]
    NoDeliverySegment(NodeId),
    /// The segment list is longer than the headend can impose.
    #[error("the path needs {needed} segments and the headend imposes at most {limit}")]
    TooManySegments {
        /// Segments of the shortest list.
        needed: usize,
        /// What the headend states.
        limit: u8,
    },
}

/// Identifies a path by what it is: equal segment lists share one path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PathId {
    /// The node that imposes it.
    pub headend: NodeId,
    /// The encapsulation with its segments.
    pub encapsulation: Encapsulation,
}

/// A computed path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// The node that imposes it.
    pub headend: NodeId,
    /// The egress where it ends.
    pub endpoint: NodeId,
    /// How packets are carried along it.
    pub encapsulation: Encapsulation,
    /// Sum of the link delays.
    pub delay: Micros,
    /// Smallest MTU of the links, octets, encapsulation included.
    pub mtu: u16,
    /// Generation of the topology it was computed from.
    pub generation: Generation,
}

impl Path {
    /// What identifies it.
    pub fn id(&self) -> PathId {
        PathId { headend: self.headend.clone(), encapsulation: self.encapsulation.clone() }
    }

    /// The largest packet that fits into the path before encapsulation, octets.
    pub fn inner_mtu(&self) -> u16 {
        self.mtu.saturating_sub(self.encapsulation.overhead())
    }
}

/// How packets are carried.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Encapsulation {
    /// Plain forwarding: ingress and egress are the same node.
    None,
    /// SRv6 (RFC 8754, RFC 8986).
    Srv6 {
        /// With or without the first segment in the header.
        mode: Encaps,
        /// In the order of travel; the last one decapsulates.
        segments: Segments,
    },
}

impl Encapsulation {
    /// Octets added to each packet.
    pub fn overhead(&self) -> u16 {
        match self {
            Encapsulation::None => 0,
            Encapsulation::Srv6 { mode, segments } => {
                let listed = match mode {
                    Encaps::Full => segments.len(),
                    Encaps::Reduced => segments.len() - 1,
                };
                // Outer IPv6 header, then the fixed part of the SRH and 16 octets a listed segment.
                let srh = if listed == 0 { 0 } else { 8 + 16 * listed };
                40 + u16::try_from(srh).unwrap_or(u16::MAX - 40)
            }
        }
    }
}

/// Headend behaviour of RFC 8986 section 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Encaps {
    /// H.Encaps: every segment is in the SRH.
    Full,
    /// H.Encaps.Red: the first segment is only the destination address; one segment needs no SRH.
    Reduced,
}

/// A segment list of 1 to 16 SIDs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Vec<Ipv6Addr>", into = "Vec<Ipv6Addr>")]
pub struct Segments(Vec<Ipv6Addr>);

/// Why a list of SIDs is no segment list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a segment list has 1 to {max} segments, not {found}", max = Segments::MAX)]
pub struct SegmentsError {
    /// Length of the list.
    pub found: usize,
}

impl Segments {
    /// The longest list.
    pub const MAX: usize = 16;

    /// The SIDs in the order of travel.
    pub fn as_slice(&self) -> &[Ipv6Addr] {
        &self.0
    }

    /// The SID that ends the path, where the packet is decapsulated.
    pub fn last(&self) -> Ipv6Addr {
        // Never empty: the only constructor refuses an empty list.
        self.0.last().copied().unwrap_or(Ipv6Addr::UNSPECIFIED)
    }

    /// How many, at least 1.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl TryFrom<Vec<Ipv6Addr>> for Segments {
    type Error = SegmentsError;

    fn try_from(list: Vec<Ipv6Addr>) -> Result<Self, SegmentsError> {
        if list.is_empty() || list.len() > Self::MAX {
            return Err(SegmentsError { found: list.len() });
        }
        Ok(Self(list))
    }
}

impl From<Segments> for Vec<Ipv6Addr> {
    fn from(segments: Segments) -> Self {
        segments.0
    }
}
