//! Flows and the addresses they have on either side of the ingress.

use crate::SpecialAddress;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// An IP protocol number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Protocol(pub u8);

impl Protocol {
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);

    /// Whether packets of it carry ports at the TCP/UDP position.
    pub fn has_ports(self) -> bool {
        matches!(self, Self::TCP | Self::UDP)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TCP => f.write_str("tcp"),
            Self::UDP => f.write_str("udp"),
            Self(number) => number.fmt(f),
        }
    }
}

/// The address family of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Family {
    V4,
    V6,
}

impl Family {
    /// The family of an address.
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Family::V4 } else { Family::V6 }
    }
}

/// Why five values are no flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FlowKeyError {
    /// Client and service addresses are of different families.
    #[error("client {client} and service {service} are of different address families")]
    Families {
        /// The client's address.
        client: IpAddr,
        /// The service's address.
        service: IpAddr,
    },
    /// No host sends from this address what is to be answered.
    #[error("client {client} is {kind}, which no flow comes from")]
    Client {
        /// The client's address.
        client: IpAddr,
        /// What it is.
        kind: SpecialAddress,
    },
    /// The service's own address as that of its client.
    #[error("client and service are both {address}")]
    Itself {
        /// The address of both.
        address: IpAddr,
    },
    /// Only TCP and UDP flows are bound.
    #[error("protocol {0} has no ports; flows are TCP or UDP")]
    Protocol(Protocol),
}

/// The 5-tuple of a flow as the client sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FlowKey {
    protocol: Protocol,
    client: SocketAddr,
    service: SocketAddr,
}

impl FlowKey {
    /// A flow of TCP or UDP from a unicast address to another address of its family. Link-local clients are
    /// neighbours of the ingress and may ask.
    pub fn new(protocol: Protocol, client: SocketAddr, service: SocketAddr) -> Result<Self, FlowKeyError> {
        if !protocol.has_ports() {
            return Err(FlowKeyError::Protocol(protocol));
        }
        if client.is_ipv4() != service.is_ipv4() {
            return Err(FlowKeyError::Families { client: client.ip(), service: service.ip() });
        }
        let (address, kind) = (client.ip(), SpecialAddress::of(client.ip()));
        if let Some(kind) = kind.filter(|kind| *kind != SpecialAddress::LinkLocal) {
            return Err(FlowKeyError::Client { client: address, kind });
        }
        if address == service.ip() {
            return Err(FlowKeyError::Itself { address });
        }
        Ok(Self { protocol, client, service })
    }

    /// TCP or UDP.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The client's address and port.
    pub fn client(&self) -> SocketAddr {
        self.client
    }

    /// The service address and port that the client uses.
    pub fn service(&self) -> SocketAddr {
        self.service
    }

    /// The address family.
    pub fn family(&self) -> Family {
        Family::of(self.client.ip())
    }

    /// Where the flow is addressed to.
    pub fn destination(&self) -> ServiceAddress {
        ServiceAddress { address: self.service.ip(), protocol: self.protocol, port: self.service.port() }
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} > {}", self.protocol, self.client, self.service)
    }
}

/// A service address of the domain, with the protocol and port that name one service (CP-36).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ServiceAddress {
    /// The virtual, anycast or dedicated address.
    pub address: IpAddr,
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Destination port.
    pub port: u16,
}

impl fmt::Display for ServiceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.protocol, SocketAddr::new(self.address, self.port))
    }
}

/// What a service's traffic looks like: an address, and a protocol and a port where they are configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceMatch {
    /// The virtual, anycast or dedicated address.
    pub address: IpAddr,
    /// TCP or UDP; absent: both.
    pub protocol: Option<Protocol>,
    /// Destination port; absent: all.
    pub port: Option<u16>,
}

impl ServiceMatch {
    /// Whether a flow to `destination` belongs to it.
    pub fn covers(&self, destination: &ServiceAddress) -> bool {
        self.address == destination.address
            && self.protocol.is_none_or(|protocol| protocol == destination.protocol)
            && self.port.is_none_or(|port| port == destination.port)
    }

    /// Whether some flow belongs to both (CP-36).
    pub fn overlaps(&self, other: &Self) -> bool {
        fn meet<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
            match (a, b) {
                (Some(a), Some(b)) => a == b,
                (None, _) | (_, None) => true,
            }
        }
        self.address == other.address && meet(self.protocol, other.protocol) && meet(self.port, other.port)
    }
}

/// Where an instance is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Locator {
    /// Its address, of the flow's family.
    pub address: IpAddr,
    /// Its port, where it differs from the service's.
    pub port: Option<u16>,
}

impl Locator {
    /// The destination that a packet to `service` is rewritten to.
    pub fn target(&self, service: SocketAddr) -> SocketAddr {
        SocketAddr::new(self.address, self.port.unwrap_or(service.port()))
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.address, port).fmt(f),
            None => self.address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(client: &str, service: &str) -> Result<FlowKey, FlowKeyError> {
        let socket = |address: &str| SocketAddr::new(address.parse().unwrap(), 443);
        FlowKey::new(Protocol::UDP, socket(client), socket(service))
    }

    #[test]
    fn what_claims_to_come_from_no_unicast_address_is_no_flow() {
        for client in ["0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255"] {
            let found = from(client, "192.0.2.100").unwrap_err();
            assert!(matches!(found, FlowKeyError::Client { client: c, .. } if c.to_string() == client));
        }
        for client in ["::", "::1", "ff02::1", "::ffff:192.0.2.10"] {
            assert!(matches!(from(client, "2001:db8::100"), Err(FlowKeyError::Client { .. })), "{client}");
        }
        let words = from("127.0.0.1", "192.0.2.100").unwrap_err().to_string();
        assert_eq!(words, "client 127.0.0.1 is a loopback address, which no flow comes from");
        assert!(from("192.0.2.10", "192.0.2.100").is_ok());
        assert!(from("fe80::1", "2001:db8::100").is_ok(), "a neighbour of the ingress");
    }

    #[test]
    fn a_service_is_no_client_of_itself() {
        let address = "192.0.2.100".parse().unwrap();
        assert_eq!(from("192.0.2.100", "192.0.2.100"), Err(FlowKeyError::Itself { address }));
    }
}
