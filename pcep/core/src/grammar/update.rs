//! PCUpd: how LSPs are to be (RFC 8231 section 6.2).

use super::attributes::take_path;
use super::route::check_route;
use super::{Attributes, Context, Parsed, Path, about, check_known, groups, setup_type};
use crate::codec::object::{Lsp, Srp};
use crate::codec::tlv::SetupType;
use crate::codec::{Body, Message, Object};
use crate::errors::ErrorCode;

/// A change of an LSP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// Its number and flags.
    pub srp: Srp,
    /// How the path is set up.
    pub setup: SetupType,
    /// The LSP.
    pub lsp: Lsp,
    /// Its new path.
    pub path: Path,
}

/// The updates of a message.
pub fn updates(message: &Message, context: &Context) -> Parsed<Update> {
    if !context.updates {
        return Parsed::refused(ErrorCode::UPDATE_NOT_ADVERTISED);
    }
    if message.objects.is_empty() {
        return Parsed::refused(ErrorCode::SRP_MISSING);
    }
    let mut parsed = Parsed::default();
    for group in groups(&message.objects, |_, next| matches!(next, Body::Srp(_))) {
        parsed.push(about(&group), update(&group, context));
    }
    parsed
}

fn update(group: &[&Object], context: &Context) -> Result<Update, ErrorCode> {
    check_known(group)?;
    let (mut srp, mut lsp) = (None, None);
    let mut paths = Vec::new();
    let mut before = Attributes::default();
    for object in group {
        match &object.body {
            Body::Srp(found) => srp = Some(found.clone()),
            Body::Lsp(found) => lsp = Some(found.clone()),
            // All else belongs to a path.
            _ => take_path(&mut paths, &mut before, object),
        }
    }
    let srp: Srp = srp.ok_or(ErrorCode::SRP_MISSING)?;
    let lsp = lsp.ok_or(ErrorCode::LSP_MISSING)?;
    let path = paths.into_iter().next().ok_or(ErrorCode::ERO_MISSING)?;
    let setup = setup_type(&srp.tlvs, context)?;
    check_route(&path.route, setup, context)?;
    Ok(Update { srp, setup, lsp, path })
}
