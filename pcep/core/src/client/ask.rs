//! What is asked for, and whether an answer is one to it.

use super::Failed;
use crate::codec::object::{EndPointsV4, EndPointsV6, Rp, RpFlags};
use crate::codec::subobject::SidAndNai;
use crate::codec::tlv::{PathSetupType, SetupType, TlvValue};
use crate::codec::{Body, Message, MessageType, Object, SubobjectValue};
use crate::errors::ErrorCode;
use crate::grammar::{Attributes, Path};
use std::net::{IpAddr, Ipv6Addr};

/// A question for a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// How the path will be set up.
    pub setup: SetupType,
    /// The headend.
    pub source: IpAddr,
    /// The other end.
    pub destination: IpAddr,
    /// Constraints; each must be met.
    pub constraints: Attributes,
    /// How many SIDs the headend can impose.
    pub most_sids: u8,
    /// Where a path may end: at one of these hops; empty: that is not checked.
    pub ends_at: Vec<Hop>,
}

/// The last hop of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hop {
    /// A label.
    Label(u32),
    /// An SRv6 SID.
    Sid(Ipv6Addr),
}

impl Ask {
    /// Its PCReq message.
    pub(super) fn message(&self, request: u32) -> Message {
        let setup = TlvValue::SetupType(PathSetupType { reserved: [0; 3], kind: self.setup });
        let tlvs = if self.setup == SetupType::RSVP { Vec::new() } else { vec![setup.into()] };
        let rp = Body::Rp(Rp { flags: RpFlags(0), request, tlvs });
        let mut objects = vec![Object::required(rp)];
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                objects.push(Object::required(Body::EndPointsV4(EndPointsV4 { source, destination })));
            }
            (source, destination) => {
                let (source, destination) = (in_v6(source), in_v6(destination));
                objects.push(Object::required(Body::EndPointsV6(EndPointsV6 { source, destination })));
            }
        }
        objects.extend(self.constraints.to_objects());
        Message::new(MessageType::PathRequest, objects)
    }

    /// Is it an answer that the headend can use?
    pub(super) fn judge(&self, rp: &Rp, paths: &[Path]) -> Result<(), Failed> {
        let setup = rp.tlvs.iter().find_map(|tlv| match &tlv.value {
            TlvValue::SetupType(setup) => Some(setup.kind),
            _ => None,
        });
        if setup.unwrap_or(SetupType::RSVP) != self.setup {
            return Err(Failed::Unusable(ErrorCode::SETUP_TYPE_MISMATCH));
        }
        paths.iter().try_for_each(|path| self.judge_path(path))
    }

    fn judge_path(&self, path: &Path) -> Result<(), Failed> {
        let hops = &path.route.hops;
        let (kind, most) = match self.setup {
            SetupType::SR => (36, ErrorCode::SR_ERO_COUNT),
            SetupType::SRV6 => (40, ErrorCode::SRV6_ERO_COUNT),
            _ => return Ok(()),
        };
        if hops.is_empty() {
            return Err(Failed::Unusable(ErrorCode::ERO_MISSING));
        }
        if hops.iter().any(|hop| hop.value.kind() != kind && !(kind == 36 && hop.value.kind() == 5)) {
            return Err(Failed::Unusable(ErrorCode::SETUP_TYPE_MISMATCH));
        }
        if hops.len() > usize::from(self.most_sids) {
            return Err(Failed::Unusable(most));
        }
        let last = hops.last().and_then(|hop| hop_of(&hop.value));
        if self.ends_at.is_empty() || last.is_some_and(|last| self.ends_at.contains(&last)) {
            Ok(())
        } else {
            Err(Failed::OtherEndpoint)
        }
    }
}

fn hop_of(hop: &SubobjectValue) -> Option<Hop> {
    if let SubobjectValue::Sr(hop) = hop {
        return hop.as_label().map(Hop::Label);
    }
    let SubobjectValue::Srv6(hop) = hop else { return None };
    match &hop.segment {
        SidAndNai::Sid(sid, _) | SidAndNai::Both(sid, _) => Some(Hop::Sid(sid.address)),
        SidAndNai::Nai(_) => None,
    }
}

fn in_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}
