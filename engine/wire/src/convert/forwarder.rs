//! What a forwarder reports of itself.

use super::flow::{encode_family, family, node, segment};
use super::{DecodeError, Decoded, Problem, each, fault, narrow, required};
use crate::control_plane as pb;
use cats_engine_types::{
    Capabilities, Delivery, DeliveryState, EncapsulationKind, Epoch, Family, ForwarderReport,
};
use std::net::Ipv6Addr;

pub(super) fn encode_kind(kind: EncapsulationKind) -> pb::EncapsulationKind {
    match kind {
        EncapsulationKind::None => pb::EncapsulationKind::None,
        EncapsulationKind::Srv6Encaps => pb::EncapsulationKind::Srv6Encaps,
        EncapsulationKind::Srv6EncapsReduced => pb::EncapsulationKind::Srv6EncapsReduced,
    }
}

pub(super) fn kind(field: &str, number: i32) -> Decoded<EncapsulationKind> {
    match pb::EncapsulationKind::try_from(number) {
        Ok(pb::EncapsulationKind::None) => Ok(EncapsulationKind::None),
        Ok(pb::EncapsulationKind::Srv6Encaps) => Ok(EncapsulationKind::Srv6Encaps),
        Ok(pb::EncapsulationKind::Srv6EncapsReduced) => Ok(EncapsulationKind::Srv6EncapsReduced),
        Ok(pb::EncapsulationKind::Unspecified) => Err(fault(field, Problem::Missing)),
        Err(_) => Err(fault(field, Problem::UnknownNumber(number))),
    }
}

impl From<&Capabilities> for pb::Capabilities {
    fn from(word: &Capabilities) -> Self {
        Self {
            encapsulations: word.encapsulations.iter().map(|&kind| encode_kind(kind).into()).collect(),
            max_segments: word.max_segments.into(),
            families: word.families.iter().map(|&family| encode_family(family).into()).collect(),
            max_bindings: word.max_bindings,
        }
    }
}

impl TryFrom<pb::Capabilities> for Capabilities {
    type Error = DecodeError;

    /// An encapsulation or family of a newer release is left out: what is not understood is never asked for.
    fn try_from(message: pb::Capabilities) -> Decoded<Self> {
        Ok(Self {
            encapsulations: known(message.encapsulations, |number| kind("encapsulations", number))?,
            max_segments: narrow("max_segments", message.max_segments, u64::from(u8::MAX))?,
            families: known(message.families, |number| family("families", number))?,
            max_bindings: message.max_bindings,
        })
    }
}

fn known<W>(numbers: Vec<i32>, decode: impl Fn(i32) -> Decoded<W>) -> Decoded<Vec<W>> {
    numbers
        .into_iter()
        .map(decode)
        .filter(
            |decoded| !matches!(decoded, Err(error) if matches!(error.problem, Problem::UnknownNumber(_))),
        )
        .collect()
}

impl From<&Delivery> for pb::Delivery {
    fn from(word: &Delivery) -> Self {
        Self {
            csci_id: Some((&word.csci_id).into()),
            locator: Some((&word.locator).into()),
            failure: match &word.state {
                DeliveryState::Ready => None,
                DeliveryState::Failed(reason) => Some(reason.clone()),
            },
        }
    }
}

impl TryFrom<pb::Delivery> for Delivery {
    type Error = DecodeError;

    fn try_from(message: pb::Delivery) -> Decoded<Self> {
        Ok(Self {
            csci_id: required("csci_id", message.csci_id)?,
            locator: required("locator", message.locator)?,
            state: message.failure.map_or(DeliveryState::Ready, DeliveryState::Failed),
        })
    }
}

impl From<&ForwarderReport> for pb::ForwarderReport {
    fn from(word: &ForwarderReport) -> Self {
        let decapsulation = word.decapsulation.iter().map(|(family, segment)| pb::DecapsulationSegment {
            family: encode_family(*family).into(),
            segment: segment.octets().to_vec(),
        });
        Self {
            node: word.node.to_string(),
            epoch: word.epoch.0,
            ingress: word.ingress.as_ref().map(Into::into),
            deliveries: word.deliveries.iter().map(Into::into).collect(),
            decapsulation: decapsulation.collect(),
        }
    }
}

impl TryFrom<pb::ForwarderReport> for ForwarderReport {
    type Error = DecodeError;

    fn try_from(message: pb::ForwarderReport) -> Decoded<Self> {
        let decapsulation = message
            .decapsulation
            .iter()
            .map(|entry| Ok((family("decapsulation.family", entry.family)?, sid(entry)?)))
            .collect::<Decoded<Vec<(Family, Ipv6Addr)>>>()?;
        Ok(Self {
            node: node("node", message.node)?,
            epoch: Epoch(message.epoch),
            ingress: message.ingress.map(|ingress| super::within("ingress", ingress)).transpose()?,
            deliveries: each("deliveries", message.deliveries)?,
            decapsulation,
        })
    }
}

fn sid(entry: &pb::DecapsulationSegment) -> Decoded<Ipv6Addr> {
    segment("decapsulation.segment", &entry.segment)
}
