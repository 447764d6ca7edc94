//! What a peer can, as its Open says, and what both can.

use super::profile::{Profile, Style};
use super::settings::{Role, Settings};
use crate::codec::object::Open;
use crate::codec::tlv::{
    MsdPair, PathSetupTypes, SetupType, SrCapability, SrCapabilityFlags, SrPolicyCapability, Srv6Capability,
    Srv6CapabilityFlags, StatefulCapability, SubTlvValue, TlvValue,
};
use crate::codec::{Tlv, subobject::SrCode};

/// What SRv6 SIDs a peer can impose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Srv6Limits {
    /// Whether it finds a SID for a node or adjacency.
    pub resolves_nai: bool,
    /// The limits that it tells.
    pub pairs: Vec<MsdPair>,
}

impl Srv6Limits {
    /// How many SIDs it can impose, if it says so.
    pub fn most_sids(&self) -> Option<u8> {
        self.pairs.iter().find(|pair| pair.kind == MsdPair::ENCAPSULATE).map(|pair| pair.value)
    }
}

/// What a peer can.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// The stateful extensions, if it has them.
    pub stateful: Option<StatefulCapability>,
    /// How it sets paths up; empty: by RSVP-TE.
    pub setup_types: Vec<SetupType>,
    /// SR-MPLS.
    pub sr: Option<SrCapability>,
    /// Whether SR-MPLS is told where drafts had it.
    pub is_sr_old: bool,
    /// SRv6.
    pub srv6: Option<Srv6Limits>,
    /// The types of associations that it knows.
    pub associations: Vec<u16>,
    /// SR policies.
    pub sr_policy: Option<SrPolicyCapability>,
    /// Objective functions.
    pub objective_functions: Vec<u16>,
    /// The version of its LSP database (RFC 8232).
    pub lsp_db_version: Option<u64>,
    /// Who it is, over sessions (RFC 8232).
    pub speaker: Option<Vec<u8>>,
}

impl Capabilities {
    /// Those of an Open. What a list does not name is ignored, though its sub-TLV is there.
    pub fn of(open: &Open) -> Self {
        let mut all = Self::default();
        for tlv in &open.tlvs {
            match &tlv.value {
                TlvValue::Stateful(stateful) => all.stateful = Some(*stateful),
                TlvValue::SetupTypes(types) => all.take_setup_types(types),
                TlvValue::OldSrCapability(sr) if all.sr.is_none() => {
                    (all.sr, all.is_sr_old) = (Some(sr.clone()), true);
                }
                TlvValue::AssociationTypes(types) => all.associations.clone_from(types),
                TlvValue::SrPolicy(policy) => all.sr_policy = Some(*policy),
                TlvValue::ObjectiveFunctions(functions) => all.objective_functions.clone_from(functions),
                TlvValue::LspDbVersion(version) => all.lsp_db_version = Some(*version),
                TlvValue::Speaker(speaker) => all.speaker = Some(speaker.0.clone()),
                // The others say nothing of capabilities.
                _ => {}
            }
        }
        if all.is_sr_old && !all.setup_types.contains(&SetupType::SR) {
            all.setup_types.push(SetupType::SR);
        }
        all
    }

    fn take_setup_types(&mut self, types: &PathSetupTypes) {
        self.setup_types.clone_from(&types.types);
        let mut srv6 = None;
        for sub in &types.sub_tlvs {
            match &sub.value {
                SubTlvValue::Sr(sr) if types.types.contains(&SetupType::SR) => {
                    (self.sr, self.is_sr_old) = (Some(sr.clone()), false);
                }
                // The first one counts.
                SubTlvValue::Srv6(capability) if types.types.contains(&SetupType::SRV6) => {
                    srv6.get_or_insert_with(|| Srv6Limits {
                        resolves_nai: capability.flags.contains(Srv6CapabilityFlags::RESOLVES_NAI),
                        pairs: capability.limits.clone(),
                    });
                }
                SubTlvValue::Sr(_) | SubTlvValue::Srv6(_) | SubTlvValue::Unknown(_) => {}
            }
        }
        self.srv6 = srv6;
    }

    /// As our Open says them.
    pub(super) fn to_tlvs(&self, profile: &Profile) -> Vec<Tlv> {
        let mut tlvs = Vec::new();
        tlvs.extend(self.stateful.map(TlvValue::Stateful));
        tlvs.extend(self.lsp_db_version.map(TlvValue::LspDbVersion));
        tlvs.extend(
            self.speaker.clone().map(|speaker| TlvValue::Speaker(crate::codec::tlv::Octets(speaker))),
        );
        if profile.old_sr_capability {
            tlvs.extend(self.sr.clone().map(TlvValue::OldSrCapability));
        } else if !self.setup_types.is_empty() {
            tlvs.push(TlvValue::SetupTypes(self.setup_type_capability()));
        }
        if !self.objective_functions.is_empty() {
            tlvs.push(TlvValue::ObjectiveFunctions(self.objective_functions.clone()));
        }
        if profile.associations && !self.associations.is_empty() {
            tlvs.push(TlvValue::AssociationTypes(self.associations.clone()));
            tlvs.extend(self.sr_policy.map(TlvValue::SrPolicy));
        }
        tlvs.into_iter().map(Tlv::from).collect()
    }

    fn setup_type_capability(&self) -> PathSetupTypes {
        let sr = self.sr.clone().map(SubTlvValue::Sr);
        let srv6 = self.srv6.clone().map(|srv6| {
            let flags =
                if srv6.resolves_nai { Srv6CapabilityFlags::RESOLVES_NAI } else { Srv6CapabilityFlags(0) };
            SubTlvValue::Srv6(Srv6Capability { reserved: 0, flags, limits: srv6.pairs })
        });
        PathSetupTypes::new(self.setup_types.clone(), sr.into_iter().chain(srv6).collect())
    }
}

/// What both sides of a session can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Common {
    /// What the peer can.
    pub peer: Capabilities,
    /// Whether LSPs are reported.
    pub reports: bool,
    /// Whether LSPs can be updated.
    pub updates: bool,
    /// Whether LSPs can be initiated.
    pub initiates: bool,
    /// Whether synchronisation is left out when nothing has changed (RFC 8232).
    pub db_version: bool,
    /// Whether only what changed is synchronised (RFC 8232).
    pub delta_sync: bool,
    /// Whether the PCE triggers the first synchronisation (RFC 8232).
    pub triggered_sync: bool,
    /// Whether the PCE can ask for synchronisation anew (RFC 8232).
    pub triggered_resync: bool,
    /// How paths can be set up.
    pub setup_types: Vec<SetupType>,
    /// How messages for this peer are written.
    pub style: Style,
}

impl Common {
    pub(super) fn new(settings: &Settings, peer: &Capabilities) -> Self {
        let ours = &settings.capabilities;
        let both = |flag| {
            let has = |side: &Capabilities| side.stateful.is_some_and(|stateful| stateful.contains(flag));
            has(ours) && has(peer)
        };
        let implied =
            |types: &[SetupType]| if types.is_empty() { vec![SetupType::RSVP] } else { types.to_vec() };
        let (our_types, peer_types) = (implied(&ours.setup_types), implied(&peer.setup_types));
        let setup_types = our_types.into_iter().filter(|kind| peer_types.contains(kind)).collect();
        let has_associations = !ours.associations.is_empty() && !peer.associations.is_empty();
        Self {
            reports: ours.stateful.is_some() && peer.stateful.is_some(),
            updates: both(StatefulCapability::UPDATE),
            initiates: both(StatefulCapability::INITIATE),
            db_version: both(StatefulCapability::DB_VERSION),
            delta_sync: both(StatefulCapability::DELTA_SYNC),
            triggered_sync: both(StatefulCapability::TRIGGERED_SYNC),
            triggered_resync: both(StatefulCapability::TRIGGERED_RESYNC),
            setup_types,
            style: style(settings, peer, has_associations),
            peer: peer.clone(),
        }
    }
}

/// The profile says how; where it does not, the peer's Open does.
fn style(settings: &Settings, peer: &Capabilities, has_associations: bool) -> Style {
    let pcc = match settings.role {
        Role::Pcc => &settings.capabilities,
        Role::Pce => peer,
    };
    let is_limited = |sr: &&SrCapability| !sr.flags.contains(SrCapabilityFlags::UNLIMITED);
    let told = pcc.sr.as_ref().filter(is_limited).map(|sr| sr.msd).filter(|msd| *msd != 0);
    let least = |told: Option<u8>| told.into_iter().chain(settings.profile.most_sids).min();
    Style {
        sr_code: settings.profile.sr_code.unwrap_or(SrCode::Assigned),
        associations: settings.profile.associations && has_associations,
        most_labels: least(told),
        most_srv6_sids: least(pcc.srv6.as_ref().and_then(Srv6Limits::most_sids)),
    }
}
