//! The headers of punted packets and of quotations in ICMP errors.

use cats_engine_types::{FlowKey, Protocol};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What the beginning of an IP packet says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Headers {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) hop_limit: u8,
    /// Of the header after all that belong to IP.
    pub(crate) protocol: u8,
    /// Where that header begins; none in a fragment that lacks it.
    pub(crate) transport: Option<usize>,
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;
/// Extension headers looked at; the kernel sends no packet with more.
const CHAIN: usize = 8;

/// Reads the IP headers of a packet, which may be cut off.
pub(crate) fn headers(packet: &[u8]) -> Option<Headers> {
    match packet.first()? >> 4 {
        4 => headers4(packet),
        6 => headers6(packet),
        _ => None,
    }
}

fn headers4(packet: &[u8]) -> Option<Headers> {
    let head: &[u8; 20] = packet.first_chunk()?;
    let length = usize::from(head[0] & 15) * 4;
    let fragment = u16::from_be_bytes([head[6], head[7]]) & 0x1fff;
    Some(Headers {
        source: Ipv4Addr::new(head[12], head[13], head[14], head[15]).into(),
        destination: Ipv4Addr::new(head[16], head[17], head[18], head[19]).into(),
        hop_limit: head[8],
        protocol: head[9],
        transport: (fragment == 0 && length >= 20).then_some(length),
    })
}

fn headers6(packet: &[u8]) -> Option<Headers> {
    let address = |at: usize| {
        let octets: [u8; 16] = packet.get(at..at + 16)?.try_into().ok()?;
        Some(IpAddr::V6(Ipv6Addr::from(octets)))
    };
    let mut protocol = *packet.get(6)?;
    let mut at = 40;
    let mut later_fragment = false;
    for _ in 0..CHAIN {
        let length = match protocol {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => (usize::from(*packet.get(at + 1)?) + 1) * 8,
            FRAGMENT => {
                let offset = u16::from_be_bytes(packet.get(at + 2..at + 4)?.try_into().ok()?);
                later_fragment |= offset & 0xfff8 != 0;
                8
            }
            _ => break,
        };
        protocol = *packet.get(at)?;
        at += length;
    }
    Some(Headers {
        source: address(8)?,
        destination: address(24)?,
        hop_limit: *packet.get(7)?,
        protocol,
        transport: (!later_fragment).then_some(at),
    })
}

/// The flow of a packet as its sender sees it.
pub(crate) fn flow(packet: &[u8]) -> Option<FlowKey> {
    let headers = headers(packet)?;
    let (source, destination) = ports(packet, &headers)?;
    let client = SocketAddr::new(headers.source, source);
    let service = SocketAddr::new(headers.destination, destination);
    FlowKey::new(Protocol(headers.protocol), client, service).ok()
}

/// Source and destination port.
pub(crate) fn ports(packet: &[u8], headers: &Headers) -> Option<(u16, u16)> {
    let at = headers.transport?;
    let ports: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
    Some((u16::from_be_bytes([ports[0], ports[1]]), u16::from_be_bytes([ports[2], ports[3]])))
}

/// Where the packet begins that an SRv6 packet carries, if it carries one.
pub(crate) fn inner(packet: &[u8]) -> Option<usize> {
    const IPV4: u8 = 4;
    const IPV6: u8 = 41;
    let headers = headers6(packet).filter(|headers| matches!(headers.protocol, IPV4 | IPV6))?;
    headers.transport
}

/// The checksum of RFC 1071.
pub(crate) fn checksum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2).map(|pair| {
        u32::from(u16::from_be_bytes([pair.first().copied().unwrap_or(0), pair.get(1).copied().unwrap_or(0)]))
    });
    let mut sum: u32 = pairs.fold(0, u32::wrapping_add);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Puts a destination into a quoted packet: address, port, and the checksum of an IPv4 header. The transport
/// checksum stays: whoever reads a quotation goes by addresses and ports.
pub(crate) fn restore_destination(packet: &mut [u8], to: SocketAddr) -> Option<()> {
    let headers = headers(packet)?;
    match to.ip() {
        IpAddr::V4(address) => {
            packet.get_mut(16..20)?.copy_from_slice(&address.octets());
            let length = usize::from(packet.first()? & 15) * 4;
            packet.get_mut(10..12)?.copy_from_slice(&[0, 0]);
            let sum = checksum(packet.get(..length)?);
            packet.get_mut(10..12)?.copy_from_slice(&sum.to_be_bytes());
        }
        IpAddr::V6(address) => packet.get_mut(24..40)?.copy_from_slice(&address.octets()),
    }
    let at = headers.transport? + 2;
    packet.get_mut(at..at + 2)?.copy_from_slice(&to.port().to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp4(fragment: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 0];
        packet.extend_from_slice(&fragment.to_be_bytes());
        packet.extend_from_slice(&[64, 17, 0, 0, 192, 0, 2, 10, 192, 0, 2, 100]);
        packet.extend_from_slice(&[0xc7, 0x38, 1, 0xbb, 0, 8, 0, 0]);
        packet
    }

    #[test]
    fn the_flow_of_a_datagram_is_its_five_tuple() {
        let flow = flow(&udp4(0)).unwrap();
        assert_eq!(flow.to_string(), "udp 192.0.2.10:51000 > 192.0.2.100:443");
    }

    #[test]
    fn a_datagram_from_no_unicast_address_has_no_flow() {
        for source in [[0; 4], [127, 0, 0, 1], [224, 0, 0, 1], [255; 4], [192, 0, 2, 100]] {
            let mut packet = udp4(0);
            packet[12..16].copy_from_slice(&source);
            assert_eq!(flow(&packet), None, "{source:?}");
        }
    }

    #[test]
    fn a_later_fragment_has_no_flow() {
        assert_eq!(flow(&udp4(185)), None);
    }

    #[test]
    fn ports_are_found_behind_extension_headers() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 24, DESTINATION_OPTIONS, 64];
        packet.extend_from_slice(&[0x20; 16]);
        packet.extend_from_slice(&[0x21; 16]);
        packet.extend_from_slice(&[17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        packet.extend_from_slice(&[0, 1, 0, 2, 0, 8, 0, 0]);
        let flow = flow(&packet).unwrap();
        assert_eq!((flow.client().port(), flow.service().port()), (1, 2));
        for length in 0..packet.len() {
            let _ = headers(&packet[..length]);
        }
    }

    #[test]
    fn a_restored_quotation_has_a_right_header_checksum() {
        let mut packet = udp4(0);
        restore_destination(&mut packet, "203.0.113.9:8080".parse().unwrap()).unwrap();
        assert_eq!(checksum(&packet[..20]), 0);
        assert_eq!(flow(&packet).unwrap().service(), "203.0.113.9:8080".parse().unwrap());
    }
}
