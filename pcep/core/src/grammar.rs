//! What messages mean: requests, replies, reports, updates, initiations, notices (RFC 5440 section 6, RFC 8231 section 6,
//! RFC 8281 section 5).
//!
//! A message holds many of them, and one that is wrong does not spoil the others: it is refused with the row of the error
//! table, and with the number by which the peer knows it. Objects are taken in any order in which they can be told apart,
//! as peers differ in it. It knows no session and no LSP: what both sides can is an argument.

mod attributes;
mod initiation;
mod notice;
mod reply;
mod report;
mod request;
mod route;
mod update;

pub use attributes::{Association, Attributes, Path};
pub use initiation::{Creation, Initiation, Removal, initiations};
pub use notice::{Failure, Notice, failures, notices};
pub use reply::{Outcome, Reply, replies};
pub use report::{Report, reports};
pub use request::{Request, Together, requests};
pub use update::{Update, updates};

use crate::codec::tlv::{SetupType, TlvValue};
use crate::codec::{Body, Object, Reference, Tlv};
use crate::errors::ErrorCode;
use crate::session::{Common, Settings};

/// What both sides of the session can, as far as messages depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// How paths can be set up.
    pub setup_types: Vec<SetupType>,
    /// Whether LSPs are reported.
    pub reports: bool,
    /// Whether LSPs can be updated.
    pub updates: bool,
    /// Whether LSPs can be initiated.
    pub initiates: bool,
    /// How many labels our side can impose; absent: any number, as for a PCE.
    pub most_labels: Option<u8>,
    /// How many SRv6 SIDs our side can impose.
    pub most_srv6_sids: Option<u8>,
    /// Whether our side finds a SID for a node or adjacency.
    pub resolves_nai: bool,
}

impl Context {
    /// That of a session that is up.
    pub fn of(settings: &Settings, common: &Common) -> Self {
        use crate::codec::tlv::SrCapabilityFlags;
        use crate::session::Role;
        let ours = &settings.capabilities;
        let is_pcc = settings.role == Role::Pcc;
        let resolves = |flags: SrCapabilityFlags| flags.contains(SrCapabilityFlags::RESOLVES_NAI);
        Self {
            setup_types: common.setup_types.clone(),
            reports: common.reports,
            updates: common.updates,
            initiates: common.initiates,
            most_labels: common.style.most_labels.filter(|_| is_pcc),
            most_srv6_sids: common.style.most_srv6_sids.filter(|_| is_pcc),
            resolves_nai: !is_pcc
                || ours.sr.as_ref().is_some_and(|sr| resolves(sr.flags))
                || ours.srv6.as_ref().is_some_and(|srv6| srv6.resolves_nai),
        }
    }
}

/// What was found in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<T> {
    /// What is right.
    pub items: Vec<T>,
    /// What is wrong.
    pub refusals: Vec<Refusal>,
}

/// Something that is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub code: ErrorCode,
    /// Which, if that was said.
    pub about: Option<Reference>,
}

impl<T> Default for Parsed<T> {
    fn default() -> Self {
        Self { items: Vec::new(), refusals: Vec::new() }
    }
}

impl<T> Parsed<T> {
    fn refused(code: ErrorCode) -> Self {
        Self { items: Vec::new(), refusals: vec![Refusal { code, about: None }] }
    }

    fn push(&mut self, about: Option<Reference>, result: Result<T, ErrorCode>) {
        match result {
            Ok(item) => self.items.push(item),
            Err(code) => self.refusals.push(Refusal { code, about }),
        }
    }
}

/// Splits objects into groups; a new one begins where `begins` says so of the group so far and the next object.
fn groups<'a>(objects: &'a [Object], begins: impl Fn(&[&'a Object], &Body) -> bool) -> Vec<Vec<&'a Object>> {
    let mut groups: Vec<Vec<&Object>> = Vec::new();
    for object in objects {
        match groups.last_mut() {
            Some(group) if !begins(group, &object.body) => group.push(object),
            Some(_) | None => groups.push(vec![object]),
        }
    }
    groups
}

/// The number of a group of objects.
fn about(group: &[&Object]) -> Option<Reference> {
    group.iter().find_map(|object| {
        if let Body::Rp(rp) = &object.body {
            return Some(Reference::Request(rp.request));
        }
        if let Body::Srp(srp) = &object.body { Some(Reference::Operation(srp.operation)) } else { None }
    })
}

/// An object that nobody here knows, and that must not be ignored.
fn check_known(group: &[&Object]) -> Result<(), ErrorCode> {
    for object in group.iter().filter(|object| object.flags.must_process()) {
        if let Body::Unknown(unknown) = &object.body {
            return Err(if unknown.is_class_known() {
                ErrorCode::UNKNOWN_TYPE
            } else {
                ErrorCode::UNKNOWN_CLASS
            });
        }
    }
    Ok(())
}

/// How the path is set up, by the TLVs of an RP or SRP object.
fn setup_type(tlvs: &[Tlv], context: &Context) -> Result<SetupType, ErrorCode> {
    let named = tlvs.iter().find_map(|tlv| match &tlv.value {
        TlvValue::SetupType(setup) => Some(setup.kind),
        _ => None,
    });
    match named {
        None => Ok(SetupType::RSVP),
        Some(kind) if context.setup_types.contains(&kind) => Ok(kind),
        Some(_) => Err(ErrorCode::SETUP_TYPE),
    }
}

#[cfg(test)]
mod tests;
