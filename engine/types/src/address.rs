//! Addresses that name no single host which others can reach.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// Why an address is of no use as that of a service, an instance, a segment or the sender of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialAddress {
    /// `0.0.0.0` or `::`.
    Unspecified,
    /// `127.0.0.0/8` or `::1`.
    Loopback,
    /// `169.254.0.0/16` or `fe80::/10`.
    LinkLocal,
    /// `224.0.0.0/4` or `ff00::/8`.
    Multicast,
    /// `255.255.255.255`.
    Broadcast,
    /// `::ffff:0:0/96`, which is never on the wire (RFC 4291, section 2.5.5.2).
    Ipv4Mapped,
}

impl SpecialAddress {
    /// What is special about an address; nothing of an ordinary unicast one.
    pub fn of(address: IpAddr) -> Option<Self> {
        let (link_local, mapped) = match address {
            IpAddr::V4(v4) => (v4.is_link_local(), false),
            IpAddr::V6(v6) => (v6.is_unicast_link_local(), v6.to_ipv4_mapped().is_some()),
        };
        let kinds = [
            (address.is_unspecified(), Self::Unspecified),
            (address.is_loopback(), Self::Loopback),
            (link_local, Self::LinkLocal),
            (address.is_multicast(), Self::Multicast),
            (address == IpAddr::V4(Ipv4Addr::BROADCAST), Self::Broadcast),
            (mapped, Self::Ipv4Mapped),
        ];
        kinds.into_iter().find_map(|(is, kind)| is.then_some(kind))
    }
}

impl fmt::Display for SpecialAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "the unspecified address",
            Self::Loopback => "a loopback address",
            Self::LinkLocal => "a link-local address",
            Self::Multicast => "a multicast address",
            Self::Broadcast => "the broadcast address",
            Self::Ipv4Mapped => "an IPv4-mapped address",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_special_address_is_told_from_unicast() {
        let of = |address: &str| SpecialAddress::of(address.parse().unwrap());
        for (address, kind) in [
            ("0.0.0.0", SpecialAddress::Unspecified),
            ("::", SpecialAddress::Unspecified),
            ("127.1.2.3", SpecialAddress::Loopback),
            ("::1", SpecialAddress::Loopback),
            ("169.254.0.1", SpecialAddress::LinkLocal),
            ("fe80::1", SpecialAddress::LinkLocal),
            ("224.0.0.1", SpecialAddress::Multicast),
            ("ff02::1", SpecialAddress::Multicast),
            ("255.255.255.255", SpecialAddress::Broadcast),
            ("::ffff:192.0.2.1", SpecialAddress::Ipv4Mapped),
        ] {
            assert_eq!(of(address), Some(kind), "{address}");
        }
        for address in ["192.0.2.1", "10.0.0.1", "2001:db8::1", "fd00::1", "fc00:2::1"] {
            assert_eq!(of(address), None, "{address}");
        }
    }
}
