//! Whether a route is one (RFC 8664 section 5.2.1, RFC 9603 section 5.2.1).

use super::Context;
use crate::codec::object::{Ero, Rro};
use crate::codec::subobject::{SidAndNai, SrFlags, SrHop, Srv6Hop};
use crate::codec::tlv::SetupType;
use crate::codec::{Subobject, SubobjectValue};
use crate::errors::ErrorCode;

/// Labels below have a meaning of their own, and lead nowhere.
const FIRST_LABEL: u32 = 16;

/// The hops of a route, by kind.
struct Hops<'a> {
    sr: Vec<&'a SrHop>,
    srv6: Vec<&'a Srv6Hop>,
    others: usize,
}

impl<'a> Hops<'a> {
    fn of(hops: &'a [Subobject]) -> Self {
        let mut all = Self { sr: Vec::new(), srv6: Vec::new(), others: 0 };
        for hop in hops {
            match &hop.value {
                SubobjectValue::Sr(hop) => all.sr.push(hop),
                SubobjectValue::Srv6(hop) => all.srv6.push(hop),
                SubobjectValue::Ipv4(_)
                | SubobjectValue::Ipv6(_)
                | SubobjectValue::Unnumbered(_)
                | SubobjectValue::AutonomousSystem(_)
                | SubobjectValue::SharedRisk(_)
                | SubobjectValue::Unknown(_) => all.others += 1,
            }
        }
        all
    }
}

/// The path that is to be taken.
pub(super) fn check_route(route: &Ero, setup: SetupType, context: &Context) -> Result<(), ErrorCode> {
    let hops = Hops::of(&route.hops);
    let may_srv6 = setup == SetupType::SRV6 && context.setup_types.contains(&SetupType::SRV6);
    if !hops.srv6.is_empty() && !may_srv6 {
        return Err(ErrorCode::SRV6_NOT_ADVERTISED);
    }
    if !hops.srv6.is_empty() && (hops.others > 0 || !hops.sr.is_empty()) {
        return Err(ErrorCode::SRV6_ERO_MIXED);
    }
    if !hops.sr.is_empty() && hops.others > 0 {
        return Err(ErrorCode::SR_ERO_MIXED);
    }
    if !hops.sr.is_empty() && setup != SetupType::SR {
        return Err(ErrorCode::MALFORMED_OBJECT);
    }
    check_sr(&hops.sr)?;
    hops.srv6.iter().try_for_each(|hop| check_srv6(hop))?;
    let exceeds = |count: usize, most: Option<u8>| most.is_some_and(|most| count > usize::from(most));
    if exceeds(hops.sr.len(), context.most_labels) {
        return Err(ErrorCode::SR_ERO_COUNT);
    }
    if exceeds(hops.srv6.len(), context.most_srv6_sids) {
        return Err(ErrorCode::SRV6_ERO_COUNT);
    }
    let needs_resolution = hops.sr.iter().any(|hop| matches!(hop.segment, SidAndNai::Nai(_)))
        || hops.srv6.iter().any(|hop| matches!(hop.segment, SidAndNai::Nai(_)));
    if needs_resolution && !context.resolves_nai {
        return Err(ErrorCode::UNSUPPORTED_PARAMETER);
    }
    Ok(())
}

/// The path that is taken.
pub(super) fn check_taken(route: &Rro) -> Result<(), ErrorCode> {
    let hops = Hops::of(&route.hops);
    if !hops.srv6.is_empty() && (hops.others > 0 || !hops.sr.is_empty()) {
        return Err(ErrorCode::SRV6_RRO_MIXED);
    }
    if !hops.sr.is_empty() && hops.others > 0 {
        return Err(ErrorCode::SR_RRO_MIXED);
    }
    check_sr(&hops.sr)?;
    hops.srv6.iter().try_for_each(|hop| check_srv6(hop))
}

fn check_sr(hops: &[&SrHop]) -> Result<(), ErrorCode> {
    for hop in hops.iter().filter(|hop| hop.sid().is_some()) {
        let is_label = hop.flags.contains(SrFlags::LABEL);
        if !is_label && hop.flags.contains(SrFlags::WHOLE_ENTRY) {
            return Err(ErrorCode::LABEL_FORMAT);
        }
        if hop.as_label().is_some_and(|label| label < FIRST_LABEL) {
            return Err(ErrorCode::BAD_LABEL);
        }
    }
    let sids = || hops.iter().filter(|hop| hop.sid().is_some());
    let labels = sids().filter(|hop| hop.as_label().is_some()).count();
    if labels != 0 && labels != sids().count() {
        return Err(ErrorCode::INCONSISTENT_SIDS);
    }
    Ok(())
}

fn check_srv6(hop: &Srv6Hop) -> Result<(), ErrorCode> {
    // An NAI type says that an NAI is there.
    if matches!(&hop.segment, SidAndNai::Sid(_, kind) if kind.number() != 0) {
        return Err(ErrorCode::MALFORMED_OBJECT);
    }
    let structure = hop.sid().and_then(|sid| sid.structure.as_ref());
    if structure.is_some_and(|structure| !structure.is_valid()) {
        return Err(ErrorCode::SID_STRUCTURE);
    }
    Ok(())
}
