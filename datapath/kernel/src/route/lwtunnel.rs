//! The light-weight tunnels of SRv6: seg6 (encapsulation) and seg6local (decapsulation).

use crate::netlink::{Encoder, attribute, u32_at};
use cats_datapath_core::RouteAction;
use cats_engine_types::{Encaps, Encapsulation, Family, Segments};
use std::net::Ipv6Addr;

const ENCAP_TYPE: u16 = 21;
const ENCAP: u16 = 22;
const SEG6: u16 = 5;
const SEG6_LOCAL: u16 = 7;
const MODE_ENCAPS: u32 = 1;
const MODE_ENCAPS_REDUCED: u32 = 3;
const ACTION_DX6: u32 = 5;
const ACTION_DX4: u32 = 6;
/// Octets of the routing header before its segments.
const FIXED: usize = 8;

pub(super) fn encapsulate(encoder: &mut Encoder, encapsulation: &Encapsulation) {
    let Encapsulation::Srv6 { mode, segments } = encapsulation else { return };
    let mode = match mode {
        Encaps::Full => MODE_ENCAPS,
        Encaps::Reduced => MODE_ENCAPS_REDUCED,
    };
    let count = u8::try_from(segments.len()).unwrap_or(u8::MAX);
    let mut value = Vec::with_capacity(4 + FIXED + 16 * segments.len());
    value.extend_from_slice(&mode.to_ne_bytes());
    let last = count.saturating_sub(1);
    // Next header (the kernel fills it), length in 8 octets, type 4, segments left, last entry, flags, tag.
    value.extend_from_slice(&[0, count.saturating_mul(2), 4, last, last, 0, 0, 0]);
    // The header has them in reverse.
    for segment in segments.as_slice().iter().rev() {
        value.extend_from_slice(&segment.octets());
    }
    encoder.nest(ENCAP, |nest| nest.attr(1, &value));
    encoder.attr(ENCAP_TYPE, &SEG6.to_ne_bytes());
}

pub(super) fn decapsulate(encoder: &mut Encoder, family: Family) {
    encoder.nest(ENCAP, |nest| match family {
        // A next hop of zero: the inner destination is looked up.
        Family::V4 => {
            nest.attr_u32(1, ACTION_DX4);
            nest.attr(4, &[0; 4]);
        }
        Family::V6 => {
            nest.attr_u32(1, ACTION_DX6);
            nest.attr(5, &[0; 16]);
        }
    });
    encoder.attr(ENCAP_TYPE, &SEG6_LOCAL.to_ne_bytes());
}

pub(super) fn read(kind: u16, value: &[u8]) -> Option<RouteAction> {
    match kind {
        SEG6 => {
            let value = attribute(value, 1)?;
            let mode = match u32_at(value, 0)? {
                MODE_ENCAPS => Encaps::Full,
                MODE_ENCAPS_REDUCED => Encaps::Reduced,
                _ => return None,
            };
            let list = value.get(4 + FIXED..)?.chunks_exact(16).rev();
            let segments: Vec<Ipv6Addr> =
                list.filter_map(|s| <[u8; 16]>::try_from(s).ok().map(Ipv6Addr::from)).collect();
            let segments = Segments::try_from(segments).ok()?;
            Some(RouteAction::Encapsulate(Encapsulation::Srv6 { mode, segments }))
        }
        SEG6_LOCAL => match u32_at(attribute(value, 1)?, 0)? {
            ACTION_DX4 => Some(RouteAction::Decapsulate(Family::V4)),
            ACTION_DX6 => Some(RouteAction::Decapsulate(Family::V6)),
            _ => None,
        },
        _ => None,
    }
}
