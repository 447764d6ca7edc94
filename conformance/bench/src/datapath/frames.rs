//! What a steered frame must look like at the sink: encapsulated with both segments, the destination rewritten.

use super::load::client;
use super::rig::Rig;
use std::net::{Ipv4Addr, Ipv6Addr};

const ETHERNET: usize = 14;
const IPV6: usize = 40;
/// A routing header with two segments.
const ROUTING: usize = 8 + 2 * 16;
const IPV4: usize = 20;
/// IPv6 routing header, and IPv4 in it.
const NEXT_ROUTING: u8 = 43;
const NEXT_IPV4: u8 = 4;

/// Says what is wrong with a frame of `flows` flows, if anything is.
pub(super) fn check_steered(frame: &[u8], flows: u32) -> Result<(), String> {
    let told = |what: &str, found: String| Err(format!("the frame at the sink has {what} {found}"));
    let (outer, routing) = (ETHERNET, ETHERNET + IPV6);
    let (inner, udp) = (routing + ROUTING, routing + ROUTING + IPV4);
    let octet = |at: usize| frame.get(at).copied().unwrap_or_default();
    if octets::<2>(frame, 12) != [0x86, 0xdd] || octet(outer) >> 4 != 6 {
        return told("no IPv6 header outside:", format!("{frame:02x?}"));
    }
    let segment = |text: &str| text.parse::<Ipv6Addr>().map_err(|error| error.to_string());
    let [first, last] = Rig::SEGMENTS;
    let (first, last) = (segment(first)?, segment(last)?);
    let destination = address6(frame, outer + 24);
    if destination != first {
        return told("the outer destination", destination.to_string());
    }
    if address6(frame, outer + 8) != segment(Rig::SOURCE)? {
        return told("the outer source", address6(frame, outer + 8).to_string());
    }
    // Segments stand in reverse order; one is left after the first.
    let list = (address6(frame, routing + 24), address6(frame, routing + 8));
    if (octet(outer + 6), octet(routing), octet(routing + 3)) != (NEXT_ROUTING, NEXT_IPV4, 1)
        || list != (first, last)
    {
        return told("the segments", format!("{list:?}, {} left", octet(routing + 3)));
    }
    let source = address4(frame, inner + 12);
    let last_client = *client(flows.saturating_sub(1)).ip();
    if !(Rig::FIRST_CLIENT..=last_client).contains(&source) {
        return told("the inner source", source.to_string());
    }
    let destination = address4(frame, inner + 16);
    let port = u16::from_be_bytes(octets(frame, udp + 2));
    if (destination, port) != (Rig::INSTANCE, Rig::PORT) {
        return told("the inner destination", format!("{destination}:{port}"));
    }
    Ok(())
}

fn octets<const N: usize>(frame: &[u8], at: usize) -> [u8; N] {
    frame.get(at..at + N).and_then(|octets| octets.try_into().ok()).unwrap_or([0; N])
}

fn address4(frame: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::from(octets::<4>(frame, at))
}

fn address6(frame: &[u8], at: usize) -> Ipv6Addr {
    Ipv6Addr::from(octets::<16>(frame, at))
}
