//! TLVs of associations, among them SR policies.

use super::Octets;
use crate::codec::error::DecodeError;
use crate::codec::reader::Reader;
use crate::codec::wire::{Wire, Writer, layout};
use std::net::{IpAddr, Ipv6Addr};

layout! {
    /// Numbers that only the operator gives (RFC 8697 section 3.4).
    pub struct AssociationRange {
        /// Without a meaning.
        pub reserved: u16,
        /// Of associations of which type.
        pub kind: u16,
        /// The first number.
        pub first: u16,
        /// How many.
        pub count: u16,
    }
}

/// EXTENDED-ASSOCIATION-ID (RFC 8697 section 6.1.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtendedAssociationId(pub Octets);

impl ExtendedAssociationId {
    /// That of an SR policy: its colour and endpoint (RFC 9862).
    pub fn of_policy(color: u32, endpoint: IpAddr) -> Self {
        let mut octets = color.to_be_bytes().to_vec();
        match endpoint {
            IpAddr::V4(address) => octets.extend(address.octets()),
            IpAddr::V6(address) => octets.extend(address.octets()),
        }
        Self(Octets(octets))
    }

    /// Colour and endpoint, if it is that of an SR policy.
    pub fn policy(&self) -> Option<(u32, IpAddr)> {
        let (color, endpoint) = self.0.0.split_first_chunk::<4>()?;
        let endpoint = match endpoint.len() {
            4 => IpAddr::from(<[u8; 4]>::try_from(endpoint).ok()?),
            16 => IpAddr::from(<[u8; 16]>::try_from(endpoint).ok()?),
            _ => return None,
        };
        Some((u32::from_be_bytes(*color), endpoint))
    }
}

impl Wire for ExtendedAssociationId {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(Wire::read(reader)?))
    }

    fn write(&self, writer: &mut Writer) {
        self.0.write(writer);
    }
}

#[cfg(test)]
impl crate::codec::sample::Sample for ExtendedAssociationId {
    fn sample(seed: &mut crate::codec::sample::Seed<'_>) -> Self {
        Self(crate::codec::sample::Sample::sample(seed))
    }
}

layout! {
    /// SRPOLICY-CPATH-ID (RFC 9862): which candidate path of the policy.
    pub struct CandidatePathId {
        /// Where it comes from; 10: PCEP, 20: BGP, 30: configuration.
        pub origin: u8,
        /// Without a meaning.
        pub reserved: [u8; 3],
        /// The AS of the originator.
        pub autonomous_system: u32,
        /// Its address; an IPv4 address stands in the last four octets.
        pub originator: Ipv6Addr,
        /// Tells the candidate paths of an originator apart.
        pub discriminator: u32,
    }
}

layout! {
    /// COMPUTATION-PRIORITY (RFC 9862).
    pub struct ComputationPriority {
        /// 0 comes first.
        pub priority: u8,
        /// Without a meaning.
        pub reserved: [u8; 3],
    }
}

layout! {
    /// EXPLICIT-NULL-LABEL-POLICY (RFC 9862).
    pub struct ExplicitNull {
        /// Before which packets an explicit null label goes.
        pub policy: u8,
        /// Without a meaning.
        pub reserved: [u8; 3],
    }
}

layout! {
    /// INVALIDATION (RFC 9862): whether packets are dropped when the policy is not valid.
    pub struct Invalidation {
        /// What is the case.
        pub operational: u8,
        /// What is configured.
        pub configured: u8,
        /// Without a meaning.
        pub reserved: u16,
    }
}
