//! PCInitiate: LSPs that are to be made or removed (RFC 8281 section 5).

use super::attributes::take_path;
use super::route::check_route;
use super::{Attributes, Context, Parsed, Path, about, check_known, groups, setup_type};
use crate::codec::object::{EndPointsV4, EndPointsV6, Lsp, PlspId, Srp, SrpFlags};
use crate::codec::tlv::{Octets, SetupType, TlvValue};
use crate::codec::{Body, Message, Object};
use crate::errors::ErrorCode;
use std::net::IpAddr;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Initiation {
    /// An LSP is to be made.
    Create(Box<Creation>),
    /// One is to be removed.
    Remove(Removal),
}

/// An LSP that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Creation {
    /// The number of the operation.
    pub srp: Srp,
    /// How the path is set up.
    pub setup: SetupType,
    /// What it is to be like.
    pub lsp: Lsp,
    /// Its name.
    pub name: Octets,
    /// Headend and other end, if they are told.
    pub ends: Option<(IpAddr, IpAddr)>,
    /// Its path.
    pub path: Path,
    /// What stood before the path.
    pub attributes: Attributes,
}

/// An LSP that is to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The number of the operation.
    pub srp: Srp,
    /// The LSP.
    pub lsp: Lsp,
}

/// The initiations of a message. Without the capability the type of message is as good as unknown.
pub fn initiations(message: &Message, context: &Context) -> Parsed<Initiation> {
    if !context.initiates {
        return Parsed::refused(ErrorCode::CAPABILITY);
    }
    if message.objects.is_empty() {
        return Parsed::refused(ErrorCode::SRP_MISSING);
    }
    let mut parsed = Parsed::default();
    for group in groups(&message.objects, |_, next| matches!(next, Body::Srp(_))) {
        parsed.push(about(&group), initiation(&group, context));
    }
    parsed
}

fn initiation(group: &[&Object], context: &Context) -> Result<Initiation, ErrorCode> {
    check_known(group)?;
    let (mut srp, mut lsp, mut ends) = (None, None, None);
    let mut paths = Vec::new();
    let mut attributes = Attributes::default();
    for object in group {
        match &object.body {
            Body::Srp(found) => srp = Some(found.clone()),
            Body::Lsp(found) => lsp = Some(found.clone()),
            Body::EndPointsV4(EndPointsV4 { source, destination }) => {
                ends = Some((IpAddr::from(*source), IpAddr::from(*destination)));
            }
            Body::EndPointsV6(EndPointsV6 { source, destination }) => {
                ends = Some((IpAddr::from(*source), IpAddr::from(*destination)));
            }
            // All else belongs to the path, or stands before it.
            _ => take_path(&mut paths, &mut attributes, object),
        }
    }
    let srp: Srp = srp.ok_or(ErrorCode::SRP_MISSING)?;
    let lsp: Lsp = lsp.ok_or(ErrorCode::LSP_MISSING)?;
    if srp.flags.contains(SrpFlags::REMOVE) {
        return Ok(Initiation::Remove(Removal { srp, lsp }));
    }
    if lsp.plsp != PlspId::NONE {
        return Err(ErrorCode::PLSP_ID_GIVEN);
    }
    let name = lsp.tlvs.iter().find_map(|tlv| match &tlv.value {
        TlvValue::PathName(name) => Some(name.clone()),
        _ => None,
    });
    let name = name.ok_or(ErrorCode::PATH_NAME_MISSING)?;
    let setup = setup_type(&srp.tlvs, context)?;
    if ends.is_none() && setup == SetupType::RSVP {
        return Err(ErrorCode::END_POINTS_MISSING);
    }
    let path = paths.into_iter().next().ok_or(ErrorCode::ERO_MISSING)?;
    check_route(&path.route, setup, context)?;
    Ok(Initiation::Create(Box::new(Creation { srp, setup, lsp, name, ends, path, attributes })))
}
