//! Identities, addresses and flows.

use super::{DecodeError, Decoded, Problem, fault, narrow, refused, required};
use crate::{control_plane as pb, metrics};
use cats_engine_types::{
    CsId, CsciId, Family, FlowKey, FlowKeyError, Locator, NodeId, Protocol, TransactionId,
};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

pub(super) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

pub(super) fn address(field: &str, octets: &[u8]) -> Decoded<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(octets) {
        return Ok(IpAddr::from(octets));
    }
    <[u8; 16]>::try_from(octets)
        .map(IpAddr::from)
        .map_err(|_| fault(field, Problem::AddressLength(octets.len())))
}

pub(super) fn segment(field: &str, octets: &[u8]) -> Decoded<Ipv6Addr> {
    <[u8; 16]>::try_from(octets)
        .map(Ipv6Addr::from)
        .map_err(|_| fault(field, Problem::SegmentLength(octets.len())))
}

pub(super) fn port(field: &str, number: u32) -> Decoded<u16> {
    narrow(field, number, u64::from(u16::MAX))
}

pub(super) fn node(field: &'static str, name: String) -> Decoded<NodeId> {
    NodeId::try_from(name).map_err(|error| refused(field)(&error))
}

impl From<&TransactionId> for pb::TransactionId {
    fn from(id: &TransactionId) -> Self {
        Self { epoch: id.epoch, sequence: id.sequence }
    }
}

impl TryFrom<pb::TransactionId> for TransactionId {
    type Error = DecodeError;

    fn try_from(message: pb::TransactionId) -> Decoded<Self> {
        Ok(Self { epoch: message.epoch, sequence: message.sequence })
    }
}

macro_rules! service_id {
    ($name:ident, $pb:ident) => {
        impl From<&$name> for $pb::ServiceId {
            fn from(id: &$name) -> Self {
                let id = match (id.as_number(), id.as_address()) {
                    (Some(number), _) => Some($pb::service_id::Id::Number(number)),
                    (None, address) => address.map(|address| $pb::service_id::Id::Address(octets(address))),
                };
                Self { id }
            }
        }

        impl TryFrom<$pb::ServiceId> for $name {
            type Error = DecodeError;

            fn try_from(message: $pb::ServiceId) -> Decoded<Self> {
                match message.id.ok_or_else(|| fault("id", Problem::Missing))? {
                    $pb::service_id::Id::Number(number) => {
                        Self::number(number).map_err(|error| refused("number")(&error))
                    }
                    $pb::service_id::Id::Address(octets) => Ok(Self::address(address("address", &octets)?)),
                }
            }
        }
    };
}

service_id!(CsId, pb);
service_id!(CsciId, pb);
service_id!(CsId, metrics);
service_id!(CsciId, metrics);

macro_rules! locator {
    ($pb:ident) => {
        impl From<&Locator> for $pb::Locator {
            fn from(locator: &Locator) -> Self {
                Self { address: octets(locator.address), port: locator.port.map(u32::from) }
            }
        }

        impl TryFrom<$pb::Locator> for Locator {
            type Error = DecodeError;

            fn try_from(message: $pb::Locator) -> Decoded<Self> {
                Ok(Self {
                    address: address("address", &message.address)?,
                    port: message.port.map(|number| port("port", number)).transpose()?,
                })
            }
        }
    };
}

locator!(pb);
locator!(metrics);

impl From<&SocketAddr> for pb::SocketAddress {
    fn from(socket: &SocketAddr) -> Self {
        Self { address: octets(socket.ip()), port: socket.port().into() }
    }
}

impl TryFrom<pb::SocketAddress> for SocketAddr {
    type Error = DecodeError;

    fn try_from(message: pb::SocketAddress) -> Decoded<Self> {
        Ok(Self::new(address("address", &message.address)?, port("port", message.port)?))
    }
}

impl From<&FlowKey> for pb::FlowKey {
    fn from(key: &FlowKey) -> Self {
        Self {
            protocol: key.protocol().0.into(),
            client: Some((&key.client()).into()),
            service: Some((&key.service()).into()),
        }
    }
}

impl TryFrom<pb::FlowKey> for FlowKey {
    type Error = DecodeError;

    fn try_from(message: pb::FlowKey) -> Decoded<Self> {
        let protocol = Protocol(narrow("protocol", message.protocol, u64::from(u8::MAX))?);
        Self::new(protocol, required("client", message.client)?, required("service", message.service)?)
            .map_err(|error| refused(blamed(&error))(&error))
    }
}

fn blamed(error: &FlowKeyError) -> &'static str {
    match error {
        FlowKeyError::Families { .. } | FlowKeyError::Client { .. } | FlowKeyError::Itself { .. } => "client",
        FlowKeyError::Protocol(_) => "protocol",
    }
}

pub(super) fn encode_family(family: Family) -> pb::Family {
    match family {
        Family::V4 => pb::Family::V4,
        Family::V6 => pb::Family::V6,
    }
}

pub(super) fn family(field: &str, number: i32) -> Decoded<Family> {
    match pb::Family::try_from(number) {
        Ok(pb::Family::V4) => Ok(Family::V4),
        Ok(pb::Family::V6) => Ok(Family::V6),
        Ok(pb::Family::Unspecified) => Err(fault(field, Problem::Missing)),
        Err(_) => Err(fault(field, Problem::UnknownNumber(number))),
    }
}
