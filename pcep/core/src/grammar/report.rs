//! PCRpt: how LSPs are (RFC 8231 section 6.1).

use super::attributes::take_path;
use super::route::{check_route, check_taken};
use super::{Attributes, Context, Parsed, Path, about, check_known, groups, setup_type};
use crate::codec::object::{Lsp, LspFlags, PlspId, Srp};
use crate::codec::tlv::{SetupType, TlvValue};
use crate::codec::{Body, Message, Object};
use crate::errors::ErrorCode;

/// A report on an LSP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The operation that it answers, if any.
    pub srp: Option<Srp>,
    /// How the path is set up.
    pub setup: SetupType,
    /// The LSP.
    pub lsp: Lsp,
    /// Its paths; none when it is gone.
    pub paths: Vec<Path>,
    /// What stood before the first path.
    pub attributes: Attributes,
}

impl Report {
    /// Is it the end of synchronisation?
    pub fn is_end_of_sync(&self) -> bool {
        is_end_of_sync(&self.lsp)
    }
}

fn is_end_of_sync(lsp: &Lsp) -> bool {
    lsp.plsp == PlspId::NONE && !lsp.flags.contains(LspFlags::SYNC)
}

/// The reports of a message. One begins with its SRP, or with its LSP where there is none.
pub fn reports(message: &Message, context: &Context) -> Parsed<Report> {
    if !context.reports {
        return Parsed::refused(ErrorCode::REPORT_NOT_ADVERTISED);
    }
    if message.objects.is_empty() {
        return Parsed::refused(ErrorCode::LSP_MISSING);
    }
    let has_lsp = |group: &[&Object]| group.iter().any(|object| matches!(object.body, Body::Lsp(_)));
    let begins = |group: &[&Object], next: &Body| match next {
        Body::Srp(_) => true,
        Body::Lsp(_) => has_lsp(group),
        // Nothing else begins one.
        _ => false,
    };
    let mut parsed = Parsed::default();
    for group in groups(&message.objects, begins) {
        parsed.push(about(&group), report(&group, context));
    }
    parsed
}

fn report(group: &[&Object], context: &Context) -> Result<Report, ErrorCode> {
    check_known(group)?;
    let (mut srp, mut lsp) = (None, None);
    let mut paths = Vec::new();
    let mut attributes = Attributes::default();
    for object in group {
        match &object.body {
            Body::Srp(found) => srp = Some(found.clone()),
            Body::Lsp(found) => lsp = Some(found.clone()),
            // All else belongs to a path, or stands before the first one.
            _ => take_path(&mut paths, &mut attributes, object),
        }
    }
    let lsp: Lsp = lsp.ok_or(ErrorCode::LSP_MISSING)?;
    let setup = setup_type(srp.as_ref().map(|srp: &Srp| srp.tlvs.as_slice()).unwrap_or_default(), context)?;
    let is_gone = lsp.flags.contains(LspFlags::REMOVE);
    if paths.is_empty() && !is_gone {
        return Err(ErrorCode::ERO_MISSING);
    }
    // What is set up without signalling has no identifiers of a tunnel, though many send them.
    if setup == SetupType::RSVP
        && srp.is_some()
        && !is_gone
        && !is_end_of_sync(&lsp)
        && !has_identifiers(&lsp)
    {
        return Err(ErrorCode::LSP_IDENTIFIERS_MISSING);
    }
    for path in &paths {
        // Without an SRP nothing says how it is set up, so any kind of hop may be meant.
        let setup = if srp.is_some() { setup } else { implied(&path.route, setup) };
        check_route(&path.route, setup, context)?;
        path.taken.iter().try_for_each(check_taken)?;
    }
    Ok(Report { srp, setup, lsp, paths, attributes })
}

fn has_identifiers(lsp: &Lsp) -> bool {
    lsp.tlvs.iter().any(|tlv| matches!(tlv.value, TlvValue::Ipv4Lsp(_) | TlvValue::Ipv6Lsp(_)))
}

/// How a path is set up, by its first hop.
fn implied(route: &crate::codec::object::Ero, otherwise: SetupType) -> SetupType {
    match route.hops.first().map(|hop| hop.value.kind()) {
        Some(5 | 36) => SetupType::SR,
        Some(40) => SetupType::SRV6,
        Some(_) | None => otherwise,
    }
}
