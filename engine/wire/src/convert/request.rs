//! Service requests and why they fail.

use super::flow::node;
use super::{DecodeError, Decoded, Problem, fault, narrow, refused, required, within};
use crate::control_plane as pb;
use cats_engine_types::{
    Constraints, Micros, NoPath, Price, RequestFailure, Score, ServiceRequest, TenantId, UnknownName,
};
use std::str::FromStr;

impl From<&Constraints> for pb::Constraints {
    fn from(word: &Constraints) -> Self {
        let micros = |value: Option<Micros>| value.map(|Micros(value)| value);
        let score = |value: Option<Score>| value.map(|score| u32::from(u8::from(score)));
        Self {
            max_network_delay_us: micros(word.max_network_delay),
            max_total_delay_us: micros(word.max_total_delay),
            min_bandwidth_kbps: word.min_bandwidth,
            max_jitter_us: micros(word.max_jitter),
            max_loss_ppm: word.max_loss_ppm,
            min_gas: word.min_gas,
            max_computing_time_us: micros(word.max_computing_time),
            max_price: word.max_price.map(|Price(value)| value),
            min_reputation: score(word.min_reputation),
            min_security_level: score(word.min_security_level),
        }
    }
}

impl TryFrom<pb::Constraints> for Constraints {
    type Error = DecodeError;

    fn try_from(message: pb::Constraints) -> Decoded<Self> {
        Ok(Self {
            max_network_delay: message.max_network_delay_us.map(Micros),
            max_total_delay: message.max_total_delay_us.map(Micros),
            min_bandwidth: message.min_bandwidth_kbps,
            max_jitter: message.max_jitter_us.map(Micros),
            max_loss_ppm: message.max_loss_ppm,
            min_gas: message.min_gas,
            max_computing_time: message.max_computing_time_us.map(Micros),
            max_price: message.max_price.map(Price),
            min_reputation: score("min_reputation", message.min_reputation)?,
            min_security_level: score("min_security_level", message.min_security_level)?,
        })
    }
}

pub(super) fn score(field: &'static str, value: Option<u32>) -> Decoded<Option<Score>> {
    let Some(value) = value else { return Ok(None) };
    let value: u8 = narrow(field, value, 10)?;
    Score::try_from(value).map(Some).map_err(|error| refused(field)(&error))
}

impl From<&ServiceRequest> for pb::ServiceRequest {
    fn from(word: &ServiceRequest) -> Self {
        Self {
            transaction: Some((&word.transaction).into()),
            ingress: word.ingress.to_string(),
            key: Some((&word.key).into()),
            cs_id: word.cs_id.as_ref().map(Into::into),
            constraints: Some((&word.constraints).into()),
            tenant: word.tenant.0,
            generation: word.generation,
        }
    }
}

impl TryFrom<pb::ServiceRequest> for ServiceRequest {
    type Error = DecodeError;

    fn try_from(message: pb::ServiceRequest) -> Decoded<Self> {
        Ok(Self {
            transaction: required("transaction", message.transaction)?,
            ingress: node("ingress", message.ingress)?,
            key: required("key", message.key)?,
            cs_id: message.cs_id.map(|id| within("cs_id", id)).transpose()?,
            constraints: within("constraints", message.constraints.unwrap_or_default())?,
            tenant: TenantId(message.tenant),
            generation: message.generation,
        })
    }
}

impl From<&NoPath> for pb::NoPath {
    fn from(word: &NoPath) -> Self {
        use pb::no_path::Kind;
        let empty = Self::default();
        match word {
            NoPath::UnknownHeadend(node) => {
                Self { kind: Kind::UnknownHeadend.into(), headend: node.to_string(), ..empty }
            }
            NoPath::UnknownEndpoint(node) => {
                Self { kind: Kind::UnknownEndpoint.into(), endpoint: node.to_string(), ..empty }
            }
            NoPath::Unreachable { headend, endpoint } => Self {
                kind: Kind::Unreachable.into(),
                headend: headend.to_string(),
                endpoint: endpoint.to_string(),
                ..empty
            },
            NoPath::NoDeliverySegment(node) => {
                Self { kind: Kind::NoDeliverySegment.into(), endpoint: node.to_string(), ..empty }
            }
            NoPath::TooManySegments { needed, limit } => Self {
                kind: Kind::TooManySegments.into(),
                needed: u32::try_from(*needed).unwrap_or(u32::MAX),
                limit: (*limit).into(),
                ..empty
            },
        }
    }
}

impl TryFrom<pb::NoPath> for NoPath {
    type Error = DecodeError;

    fn try_from(message: pb::NoPath) -> Decoded<Self> {
        use pb::no_path::Kind;
        let number = message.kind;
        match Kind::try_from(number).map_err(|_| fault("kind", Problem::UnknownNumber(number)))? {
            Kind::Unspecified => Err(fault("kind", Problem::Missing)),
            Kind::UnknownHeadend => Ok(Self::UnknownHeadend(node("headend", message.headend)?)),
            Kind::UnknownEndpoint => Ok(Self::UnknownEndpoint(node("endpoint", message.endpoint)?)),
            Kind::Unreachable => Ok(Self::Unreachable {
                headend: node("headend", message.headend)?,
                endpoint: node("endpoint", message.endpoint)?,
            }),
            Kind::NoDeliverySegment => Ok(Self::NoDeliverySegment(node("endpoint", message.endpoint)?)),
            Kind::TooManySegments => Ok(Self::TooManySegments {
                needed: message.needed as usize,
                limit: narrow("limit", message.limit, u64::from(u8::MAX))?,
            }),
        }
    }
}

/// A deadline, limit or want by its name.
fn named<T: FromStr<Err = UnknownName>>(detail: &str) -> Decoded<T> {
    detail.parse().map_err(|error| refused("detail")(&error))
}

impl From<&RequestFailure> for pb::RequestFailure {
    fn from(word: &RequestFailure) -> Self {
        use pb::request_failure::Kind;
        let plain = |kind: Kind| Self { kind: kind.into(), ..Self::default() };
        let with = |kind: Kind, detail: &str| Self { detail: detail.to_owned(), ..plain(kind) };
        match word {
            RequestFailure::UnknownService => plain(Kind::UnknownService),
            RequestFailure::IdentityConflict { destination, explicit } => Self {
                destination: Some(destination.into()),
                explicit: Some(explicit.into()),
                ..plain(Kind::IdentityConflict)
            },
            RequestFailure::Unauthorised(why) => with(Kind::Unauthorised, why),
            RequestFailure::Malformed(why) => with(Kind::Malformed, why),
            RequestFailure::NoCandidate => plain(Kind::NoCandidate),
            RequestFailure::NoPath(why) => Self { no_path: Some(why.into()), ..plain(Kind::NoPath) },
            RequestFailure::NotRealisable(why) => with(Kind::NotRealisable, why),
            RequestFailure::Deadline(deadline) => with(Kind::Deadline, deadline.name()),
            RequestFailure::Commit(why) => with(Kind::Commit, why),
            RequestFailure::Limit(limit) => with(Kind::Limit, limit.name()),
            RequestFailure::ReconnectRequired => plain(Kind::ReconnectRequired),
            RequestFailure::Unreachable => plain(Kind::Unreachable),
            RequestFailure::NotReady(what) => with(Kind::NotReady, what.name()),
        }
    }
}

impl TryFrom<pb::RequestFailure> for RequestFailure {
    type Error = DecodeError;

    fn try_from(message: pb::RequestFailure) -> Decoded<Self> {
        use pb::request_failure::Kind;
        let (number, detail) = (message.kind, message.detail);
        Ok(match Kind::try_from(number).map_err(|_| fault("kind", Problem::UnknownNumber(number)))? {
            Kind::Unspecified => return Err(fault("kind", Problem::Missing)),
            Kind::UnknownService => Self::UnknownService,
            Kind::IdentityConflict => Self::IdentityConflict {
                destination: required("destination", message.destination)?,
                explicit: required("explicit", message.explicit)?,
            },
            Kind::Unauthorised => Self::Unauthorised(detail),
            Kind::Malformed => Self::Malformed(detail),
            Kind::NoCandidate => Self::NoCandidate,
            Kind::NoPath => Self::NoPath(required("no_path", message.no_path)?),
            Kind::NotRealisable => Self::NotRealisable(detail),
            Kind::Deadline => Self::Deadline(named(&detail)?),
            Kind::Commit => Self::Commit(detail),
            Kind::Limit => Self::Limit(named(&detail)?),
            Kind::ReconnectRequired => Self::ReconnectRequired,
            Kind::Unreachable => Self::Unreachable,
            Kind::NotReady => Self::NotReady(named(&detail)?),
        })
    }
}
