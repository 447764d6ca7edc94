//! Paths, bindings and what becomes of them.

use super::flow::{node, segment};
use super::forwarder::{encode_kind, kind};
use super::{DecodeError, Decoded, Problem, fault, narrow, refused, required};
use crate::control_plane as pb;
use cats_engine_types::{
    Binding, BindingEvent, BindingStatus, Counters, Encaps, Encapsulation, EncapsulationKind, Epoch, Forward,
    Generation, InstallFailure, Lifetime, Micros, Path, RemovalReason, Reverse, Segments,
};
use std::time::Duration;

impl From<&Path> for pb::Path {
    fn from(word: &Path) -> Self {
        let (kind, segments) = match &word.encapsulation {
            Encapsulation::None => (EncapsulationKind::None, Vec::new()),
            Encapsulation::Srv6 { mode, segments } => {
                let kind = match mode {
                    Encaps::Full => EncapsulationKind::Srv6Encaps,
                    Encaps::Reduced => EncapsulationKind::Srv6EncapsReduced,
                };
                (kind, segments.as_slice().iter().map(|sid| sid.octets().to_vec()).collect())
            }
        };
        Self {
            headend: word.headend.to_string(),
            endpoint: word.endpoint.to_string(),
            encapsulation: encode_kind(kind).into(),
            segments,
            delay_us: word.delay.0,
            mtu: word.mtu.into(),
            generation: word.generation.0,
        }
    }
}

impl TryFrom<pb::Path> for Path {
    type Error = DecodeError;

    fn try_from(message: pb::Path) -> Decoded<Self> {
        let segments = || {
            let list = message.segments.iter().map(|octets| segment("segments", octets));
            Segments::try_from(list.collect::<Decoded<Vec<_>>>()?)
                .map_err(|error| refused("segments")(&error))
        };
        let encapsulation = match kind("encapsulation", message.encapsulation)? {
            EncapsulationKind::None => Encapsulation::None,
            EncapsulationKind::Srv6Encaps => {
                Encapsulation::Srv6 { mode: Encaps::Full, segments: segments()? }
            }
            EncapsulationKind::Srv6EncapsReduced => {
                Encapsulation::Srv6 { mode: Encaps::Reduced, segments: segments()? }
            }
        };
        Ok(Self {
            headend: node("headend", message.headend)?,
            endpoint: node("endpoint", message.endpoint)?,
            encapsulation,
            delay: Micros(message.delay_us),
            mtu: narrow("mtu", message.mtu, u64::from(u16::MAX))?,
            generation: Generation(message.generation),
        })
    }
}

impl From<&Forward> for pb::Forward {
    fn from(word: &Forward) -> Self {
        Self {
            key: Some((&word.key).into()),
            csci_id: Some((&word.csci_id).into()),
            locator: Some((&word.locator).into()),
            egress: word.egress.to_string(),
            path: Some((&word.path).into()),
        }
    }
}

impl TryFrom<pb::Forward> for Forward {
    type Error = DecodeError;

    fn try_from(message: pb::Forward) -> Decoded<Self> {
        Ok(Self {
            key: required("key", message.key)?,
            csci_id: required("csci_id", message.csci_id)?,
            locator: required("locator", message.locator)?,
            egress: node("egress", message.egress)?,
            path: required("path", message.path)?,
        })
    }
}

impl From<&Reverse> for pb::Reverse {
    fn from(word: &Reverse) -> Self {
        Self {
            instance: Some((&word.instance).into()),
            client: Some((&word.client).into()),
            restore: Some((&word.restore).into()),
        }
    }
}

impl TryFrom<pb::Reverse> for Reverse {
    type Error = DecodeError;

    fn try_from(message: pb::Reverse) -> Decoded<Self> {
        Ok(Self {
            instance: required("instance", message.instance)?,
            client: required("client", message.client)?,
            restore: required("restore", message.restore)?,
        })
    }
}

impl From<&Binding> for pb::Binding {
    fn from(word: &Binding) -> Self {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self {
            transaction: Some((&word.transaction).into()),
            cs_id: Some((&word.cs_id).into()),
            forward: Some((&word.forward).into()),
            reverse: Some((&word.reverse).into()),
            idle_ms: word.lifetime.idle.map(millis),
            hard_ms: word.lifetime.hard.map(millis),
            epoch: word.epoch.0,
            version: word.version,
        }
    }
}

impl TryFrom<pb::Binding> for Binding {
    type Error = DecodeError;

    fn try_from(message: pb::Binding) -> Decoded<Self> {
        Ok(Self {
            transaction: required("transaction", message.transaction)?,
            cs_id: required("cs_id", message.cs_id)?,
            forward: required("forward", message.forward)?,
            reverse: required("reverse", message.reverse)?,
            lifetime: Lifetime {
                idle: message.idle_ms.map(Duration::from_millis),
                hard: message.hard_ms.map(Duration::from_millis),
            },
            epoch: Epoch(message.epoch),
            version: message.version,
        })
    }
}

impl From<&InstallFailure> for pb::InstallFailure {
    fn from(word: &InstallFailure) -> Self {
        use pb::install_failure::Kind;
        let plain = |kind: Kind| Self { kind: kind.into(), ..Self::default() };
        match word {
            InstallFailure::NotPending => plain(Kind::NotPending),
            InstallFailure::Full => plain(Kind::Full),
            InstallFailure::NotRealisable(why) => Self { detail: why.clone(), ..plain(Kind::NotRealisable) },
            InstallFailure::Fenced { found, known } => {
                Self { found: found.0, known: known.0, ..plain(Kind::Fenced) }
            }
            InstallFailure::DataPlane(why) => Self { detail: why.clone(), ..plain(Kind::DataPlane) },
        }
    }
}

impl TryFrom<pb::InstallFailure> for InstallFailure {
    type Error = DecodeError;

    fn try_from(message: pb::InstallFailure) -> Decoded<Self> {
        use pb::install_failure::Kind;
        let number = message.kind;
        Ok(match Kind::try_from(number).map_err(|_| fault("kind", Problem::UnknownNumber(number)))? {
            Kind::Unspecified => return Err(fault("kind", Problem::Missing)),
            Kind::NotPending => Self::NotPending,
            Kind::Full => Self::Full,
            Kind::NotRealisable => Self::NotRealisable(message.detail),
            Kind::Fenced => Self::Fenced { found: Epoch(message.found), known: Epoch(message.known) },
            Kind::DataPlane => Self::DataPlane(message.detail),
        })
    }
}

pub(super) fn encode_reason(reason: RemovalReason) -> pb::RemovalReason {
    match reason {
        RemovalReason::Idle => pb::RemovalReason::Idle,
        RemovalReason::Hard => pb::RemovalReason::Hard,
        RemovalReason::Requested => pb::RemovalReason::Requested,
        RemovalReason::Cleared => pb::RemovalReason::Cleared,
        RemovalReason::Unconfigured => pb::RemovalReason::Unconfigured,
    }
}

pub(super) fn reason(number: i32) -> Decoded<RemovalReason> {
    match pb::RemovalReason::try_from(number) {
        Ok(pb::RemovalReason::Idle) => Ok(RemovalReason::Idle),
        Ok(pb::RemovalReason::Hard) => Ok(RemovalReason::Hard),
        Ok(pb::RemovalReason::Requested) => Ok(RemovalReason::Requested),
        Ok(pb::RemovalReason::Cleared) => Ok(RemovalReason::Cleared),
        Ok(pb::RemovalReason::Unconfigured) => Ok(RemovalReason::Unconfigured),
        Ok(pb::RemovalReason::Unspecified) => Err(fault("reason", Problem::Missing)),
        Err(_) => Err(fault("reason", Problem::UnknownNumber(number))),
    }
}

impl From<&BindingStatus> for pb::BindingStatus {
    fn from(word: &BindingStatus) -> Self {
        use pb::binding_status::Event;
        let event = match &word.event {
            BindingEvent::Installed => Event::Installed(pb::Installed {}),
            BindingEvent::InstallFailed(failure) => Event::InstallFailed(failure.into()),
            BindingEvent::Removed { reason, counters } => Event::Removed(pb::Removed {
                reason: encode_reason(*reason).into(),
                counters: Some(pb::Counters {
                    forward_packets: counters.forward_packets,
                    forward_bytes: counters.forward_bytes,
                    reverse_packets: counters.reverse_packets,
                    reverse_bytes: counters.reverse_bytes,
                }),
            }),
            BindingEvent::Restored(binding) => {
                Event::Restored(pb::Restored { binding: Some(binding.as_ref().into()) })
            }
        };
        Self {
            transaction: Some((&word.transaction).into()),
            key: Some((&word.key).into()),
            event: Some(event),
        }
    }
}

impl TryFrom<pb::BindingStatus> for BindingStatus {
    type Error = DecodeError;

    fn try_from(message: pb::BindingStatus) -> Decoded<Self> {
        use pb::binding_status::Event;
        let event = match message.event.ok_or_else(|| fault("event", Problem::Missing))? {
            Event::Installed(_) => BindingEvent::Installed,
            Event::InstallFailed(failure) => {
                BindingEvent::InstallFailed(super::within("install_failed", failure)?)
            }
            Event::Removed(removed) => {
                let counters = removed.counters.unwrap_or_default();
                BindingEvent::Removed {
                    reason: reason(removed.reason)?,
                    counters: Counters {
                        forward_packets: counters.forward_packets,
                        forward_bytes: counters.forward_bytes,
                        reverse_packets: counters.reverse_packets,
                        reverse_bytes: counters.reverse_bytes,
                    },
                }
            }
            Event::Restored(restored) => {
                BindingEvent::Restored(Box::new(required("restored.binding", restored.binding)?))
            }
        };
        Ok(Self {
            transaction: required("transaction", message.transaction)?,
            key: required("key", message.key)?,
            event,
        })
    }
}
