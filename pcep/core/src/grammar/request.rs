//! PCReq: what is asked for (RFC 5440 section 6.4, RFC 8231 section 6.4).

use super::{Attributes, Context, Parsed, about, check_known, groups, setup_type};
use crate::codec::object::{EndPointsV4, EndPointsV6, Lsp, Rp, RpFlags, Rro, SvecFlags};
use crate::codec::tlv::SetupType;
use crate::codec::{Body, Message, Object};
use crate::errors::ErrorCode;
use std::net::IpAddr;

/// A path computation request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its number and flags.
    pub rp: Rp,
    /// How the path will be set up.
    pub setup: SetupType,
    /// The headend.
    pub source: IpAddr,
    /// The other end.
    pub destination: IpAddr,
    /// For which LSP, if it is said.
    pub lsp: Option<Lsp>,
    /// The path that is to be optimised anew.
    pub taken: Option<Rro>,
    /// Constraints.
    pub constraints: Attributes,
}

/// Requests that are to be computed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Together {
    /// How they depend on each other.
    pub flags: SvecFlags,
    /// Their numbers.
    pub requests: Vec<u32>,
}

/// The requests of a message, and which of them are to be computed together.
pub fn requests(message: &Message, context: &Context) -> (Parsed<Request>, Vec<Together>) {
    let mut parsed = Parsed::default();
    let mut together = Vec::new();
    let (svecs, others): (Vec<&Object>, Vec<&Object>) =
        message.objects.iter().partition(|object| matches!(object.body, Body::Svec(_)));
    for svec in svecs {
        if let Body::Svec(svec) = &svec.body {
            together.push(Together { flags: svec.flags, requests: svec.requests.clone() });
        }
    }
    let others: Vec<Object> = others.into_iter().cloned().collect();
    if others.is_empty() {
        return (Parsed::refused(ErrorCode::RP_MISSING), together);
    }
    for group in groups(&others, |_, next| matches!(next, Body::Rp(_))) {
        parsed.push(about(&group), request(&group, context));
    }
    (parsed, together)
}

fn request(group: &[&Object], context: &Context) -> Result<Request, ErrorCode> {
    check_known(group)?;
    let (mut rp, mut ends, mut lsp, mut taken) = (None, None, None, None);
    let mut constraints = Attributes::default();
    for object in group {
        match &object.body {
            Body::Rp(found) => rp = Some(found.clone()),
            Body::EndPointsV4(EndPointsV4 { source, destination }) => {
                ends = Some((IpAddr::from(*source), IpAddr::from(*destination)));
            }
            Body::EndPointsV6(EndPointsV6 { source, destination }) => {
                ends = Some((IpAddr::from(*source), IpAddr::from(*destination)));
            }
            Body::Lsp(found) => lsp = Some(found.clone()),
            Body::Rro(found) => taken = Some(found.clone()),
            // All else is a constraint, or kept.
            _ => constraints.take(object),
        }
    }
    let rp = rp.ok_or(ErrorCode::RP_MISSING)?;
    let (source, destination) = ends.ok_or(ErrorCode::END_POINTS_MISSING)?;
    if rp.flags.contains(RpFlags::REOPTIMISE) && taken.is_none() {
        return Err(ErrorCode::RRO_MISSING);
    }
    let setup = setup_type(&rp.tlvs, context)?;
    Ok(Request { rp, setup, source, destination, lsp, taken, constraints })
}
