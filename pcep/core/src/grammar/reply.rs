//! PCRep: what was found (RFC 5440 section 6.5).

use super::attributes::take_path;
use super::route::check_route;
use super::{Attributes, Context, Parsed, Path, about, check_known, groups, setup_type};
use crate::codec::object::{Lsp, NoPath, Rp};
use crate::codec::{Body, Message, Object};
use crate::errors::ErrorCode;

/// An answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The number and flags of the request.
    pub rp: Rp,
    /// For which LSP, if it is said.
    pub lsp: Option<Lsp>,
    /// What was found.
    pub outcome: Outcome,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Paths, the best one first; there is one at least.
    Paths(Vec<Path>),
    /// None.
    NoPath {
        /// Why.
        reason: NoPath,
        /// The constraints that could not be met.
        unmet: Box<Attributes>,
    },
}

/// The replies of a message.
pub fn replies(message: &Message, context: &Context) -> Parsed<Reply> {
    if message.objects.is_empty() {
        return Parsed::refused(ErrorCode::RP_MISSING);
    }
    let mut parsed = Parsed::default();
    for group in groups(&message.objects, |_, next| matches!(next, Body::Rp(_))) {
        parsed.push(about(&group), reply(&group, context));
    }
    parsed
}

fn reply(group: &[&Object], context: &Context) -> Result<Reply, ErrorCode> {
    check_known(group)?;
    let (mut rp, mut lsp, mut no_path) = (None, None, None);
    let mut paths = Vec::new();
    let mut before = Attributes::default();
    for object in group {
        match &object.body {
            Body::Rp(found) => rp = Some(found.clone()),
            Body::Lsp(found) => lsp = Some(found.clone()),
            Body::NoPath(found) => no_path = Some(found.clone()),
            // All else belongs to a path, or to what could not be met.
            _ => take_path(&mut paths, &mut before, object),
        }
    }
    let rp = rp.ok_or(ErrorCode::RP_MISSING)?;
    let setup = setup_type(&rp.tlvs, context)?;
    let outcome = match no_path {
        Some(reason) => Outcome::NoPath { reason, unmet: Box::new(before) },
        None if paths.is_empty() => return Err(ErrorCode::ERO_MISSING),
        None => {
            paths.iter().try_for_each(|path| check_route(&path.route, setup, context))?;
            Outcome::Paths(paths)
        }
    };
    Ok(Reply { rp, lsp, outcome })
}
