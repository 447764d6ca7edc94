//! Reports of service contact instances, and what a C-SMA answers.

use super::{DecodeError, Decoded, Problem, fault, named, required, within};
use crate::metrics as pb;
use cats_engine_types::{
    Freshness, Health, InstanceCounts, Rejection, Report, ReportCause, ReportKind, ReportedMetrics,
    ReportedTime, ReporterInstruction, UnixMicros,
};
use std::time::Duration;

impl From<&Freshness> for pb::Freshness {
    fn from(word: &Freshness) -> Self {
        Self { epoch: word.epoch, sequence: word.sequence }
    }
}

impl TryFrom<pb::Freshness> for Freshness {
    type Error = DecodeError;

    fn try_from(message: pb::Freshness) -> Decoded<Self> {
        Ok(Self { epoch: message.epoch, sequence: message.sequence })
    }
}

impl From<&InstanceCounts> for pb::InstanceCounts {
    fn from(word: &InstanceCounts) -> Self {
        Self {
            healthy: word.healthy,
            degraded: word.degraded,
            unhealthy: word.unhealthy,
            unknown: word.unknown,
        }
    }
}

impl From<pb::InstanceCounts> for InstanceCounts {
    fn from(message: pb::InstanceCounts) -> Self {
        Self {
            healthy: message.healthy,
            degraded: message.degraded,
            unhealthy: message.unhealthy,
            unknown: message.unknown,
        }
    }
}

pub(super) fn encode_health(health: Health) -> pb::Health {
    match health {
        Health::Healthy => pb::Health::Healthy,
        Health::Degraded => pb::Health::Degraded,
        Health::Unhealthy => pb::Health::Unhealthy,
        Health::Unknown => pb::Health::Unknown,
    }
}

pub(super) fn health(field: &str, number: i32) -> Decoded<Option<Health>> {
    match pb::Health::try_from(number) {
        Ok(pb::Health::Unspecified) => Ok(None),
        Ok(pb::Health::Healthy) => Ok(Some(Health::Healthy)),
        Ok(pb::Health::Degraded) => Ok(Some(Health::Degraded)),
        Ok(pb::Health::Unhealthy) => Ok(Some(Health::Unhealthy)),
        Ok(pb::Health::Unknown) => Ok(Some(Health::Unknown)),
        Err(_) => Err(fault(field, Problem::UnknownNumber(number))),
    }
}

fn encode_kind(kind: ReportKind) -> pb::ReportKind {
    match kind {
        ReportKind::Full => pb::ReportKind::Full,
        ReportKind::Delta => pb::ReportKind::Delta,
    }
}

fn kind(number: i32) -> Decoded<ReportKind> {
    match named("kind", number)? {
        pb::ReportKind::Full => Ok(ReportKind::Full),
        pb::ReportKind::Delta => Ok(ReportKind::Delta),
        pb::ReportKind::Unspecified => Err(fault("kind", Problem::Missing)),
    }
}

fn encode_cause(cause: ReportCause) -> pb::ReportCause {
    match cause {
        ReportCause::Heartbeat => pb::ReportCause::Heartbeat,
        ReportCause::Threshold => pb::ReportCause::Threshold,
        ReportCause::Health => pb::ReportCause::Health,
        ReportCause::Critical => pb::ReportCause::Critical,
        ReportCause::Security => pb::ReportCause::Security,
        ReportCause::Resync => pb::ReportCause::Resync,
    }
}

fn cause(number: i32) -> Decoded<ReportCause> {
    match named("cause", number)? {
        pb::ReportCause::Heartbeat => Ok(ReportCause::Heartbeat),
        pb::ReportCause::Threshold => Ok(ReportCause::Threshold),
        pb::ReportCause::Health => Ok(ReportCause::Health),
        pb::ReportCause::Critical => Ok(ReportCause::Critical),
        pb::ReportCause::Security => Ok(ReportCause::Security),
        pb::ReportCause::Resync => Ok(ReportCause::Resync),
        pb::ReportCause::Unspecified => Err(fault("cause", Problem::Missing)),
    }
}

/// A bound and its tokens; tokens without a bound belong to nothing.
fn bound(
    tokens_field: &str,
    time: Option<u64>,
    input_tokens: Option<u32>,
    time_field: &str,
) -> Decoded<Option<ReportedTime>> {
    match (time, input_tokens) {
        (Some(time), input_tokens) => Ok(Some(ReportedTime { time, input_tokens })),
        (None, None) => Ok(None),
        (None, Some(_)) => {
            Err(fault(tokens_field, Problem::Refused(format!("belongs to `{time_field}`, which is missing"))))
        }
    }
}

/// The message has no token: that is for its sender to add.
impl From<&Report> for pb::Report {
    fn from(word: &Report) -> Self {
        let metrics = &word.metrics;
        Self {
            kind: encode_kind(word.kind).into(),
            cause: encode_cause(word.cause).into(),
            cs_id: Some((&word.cs_id).into()),
            csci_id: Some((&word.csci_id).into()),
            locator: word.locator.as_ref().map(Into::into),
            freshness: Some((&word.freshness).into()),
            timestamp_us: word.timestamp.0,
            ttl_s: word.ttl.map(|ttl| u32::try_from(ttl.as_secs()).unwrap_or(u32::MAX)),
            gas: metrics.gas,
            computing_time_us: metrics.computing_time,
            min_us: metrics.computing_time_min.map(|bound| bound.time),
            max_us: metrics.computing_time_max.map(|bound| bound.time),
            min_input_tokens: metrics.computing_time_min.and_then(|bound| bound.input_tokens),
            max_input_tokens: metrics.computing_time_max.and_then(|bound| bound.input_tokens),
            health: metrics.health.map_or(pb::Health::Unspecified, encode_health).into(),
            price: metrics.price,
            reputation: metrics.reputation,
            security_level: metrics.security_level,
            instances: metrics.instances.as_ref().map(Into::into),
            token: None,
        }
    }
}

/// The token of the message is not part of the report: who reads it takes it first.
impl TryFrom<pb::Report> for Report {
    type Error = DecodeError;

    fn try_from(message: pb::Report) -> Decoded<Self> {
        let metrics = ReportedMetrics {
            gas: message.gas,
            computing_time: message.computing_time_us,
            computing_time_min: bound(
                "min_input_tokens",
                message.min_us,
                message.min_input_tokens,
                "min_us",
            )?,
            computing_time_max: bound(
                "max_input_tokens",
                message.max_us,
                message.max_input_tokens,
                "max_us",
            )?,
            health: health("health", message.health)?,
            price: message.price,
            reputation: message.reputation,
            security_level: message.security_level,
            instances: message.instances.map(Into::into),
        };
        Ok(Self {
            kind: kind(message.kind)?,
            cause: cause(message.cause)?,
            cs_id: required("cs_id", message.cs_id)?,
            csci_id: required("csci_id", message.csci_id)?,
            locator: message.locator.map(|locator| within("locator", locator)).transpose()?,
            freshness: required("freshness", message.freshness)?,
            timestamp: UnixMicros(message.timestamp_us),
            ttl: message.ttl_s.map(|seconds| Duration::from_secs(seconds.into())),
            metrics,
        })
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl From<&ReporterInstruction> for pb::ReporterInstruction {
    fn from(word: &ReporterInstruction) -> Self {
        use pb::reporter_instruction::Instruction;
        let instruction = match word {
            ReporterInstruction::Acknowledge { csci_id, freshness } => {
                Instruction::Acknowledge(pb::ReportAcknowledgement {
                    csci_id: Some(csci_id.into()),
                    freshness: Some(freshness.into()),
                })
            }
            ReporterInstruction::Reject { csci_id, freshness, reason, detail } => {
                Instruction::Reject(pb::ReportRejection {
                    csci_id: Some(csci_id.into()),
                    freshness: Some(freshness.into()),
                    reason: encode_rejection(*reason).into(),
                    detail: detail.clone(),
                })
            }
            ReporterInstruction::Pull { csci_id } => {
                Instruction::Pull(pb::Pull { csci_id: Some(csci_id.into()) })
            }
            ReporterInstruction::Pace { min_interval } => {
                Instruction::Pace(pb::Pace { min_interval_ms: millis(*min_interval) })
            }
        };
        Self { instruction: Some(instruction) }
    }
}

impl TryFrom<pb::ReporterInstruction> for ReporterInstruction {
    type Error = DecodeError;

    fn try_from(message: pb::ReporterInstruction) -> Decoded<Self> {
        use pb::reporter_instruction::Instruction;
        match message.instruction.ok_or_else(|| fault("instruction", Problem::Missing))? {
            Instruction::Acknowledge(word) => Ok(Self::Acknowledge {
                csci_id: required("acknowledge.csci_id", word.csci_id)?,
                freshness: required("acknowledge.freshness", word.freshness)?,
            }),
            Instruction::Reject(word) => Ok(Self::Reject {
                csci_id: required("reject.csci_id", word.csci_id)?,
                freshness: required("reject.freshness", word.freshness)?,
                reason: rejection("reject.reason", word.reason)?,
                detail: word.detail,
            }),
            Instruction::Pull(word) => Ok(Self::Pull { csci_id: required("pull.csci_id", word.csci_id)? }),
            Instruction::Pace(word) => {
                Ok(Self::Pace { min_interval: Duration::from_millis(word.min_interval_ms) })
            }
        }
    }
}

fn encode_rejection(reason: Rejection) -> pb::report_rejection::Reason {
    use pb::report_rejection::Reason;
    match reason {
        Rejection::Malformed => Reason::Malformed,
        Rejection::OutOfRange => Reason::OutOfRange,
        Rejection::Stale => Reason::Stale,
        Rejection::Inconsistent => Reason::Inconsistent,
        Rejection::Quarantined => Reason::Quarantined,
        Rejection::Unauthorised => Reason::Unauthorised,
        Rejection::TooOften => Reason::TooOften,
        Rejection::Full => Reason::Full,
    }
}

fn rejection(field: &str, number: i32) -> Decoded<Rejection> {
    use pb::report_rejection::Reason;
    match named(field, number)? {
        Reason::Malformed => Ok(Rejection::Malformed),
        Reason::OutOfRange => Ok(Rejection::OutOfRange),
        Reason::Stale => Ok(Rejection::Stale),
        Reason::Inconsistent => Ok(Rejection::Inconsistent),
        Reason::Quarantined => Ok(Rejection::Quarantined),
        Reason::Unauthorised => Ok(Rejection::Unauthorised),
        Reason::TooOften => Ok(Rejection::TooOften),
        Reason::Full => Ok(Rejection::Full),
        Reason::Unspecified => Err(fault(field, Problem::Missing)),
    }
}
