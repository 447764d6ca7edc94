//! What a C-SMA advertises, and what a C-PS tells it back.

use super::flow::node;
use super::report::{encode_health, health, millis};
use super::request::score;
use super::{DecodeError, Decoded, Problem, each, fault, named, required, within};
use crate::metrics as pb;
use cats_engine_types::{
    Advertisement, AdvertisementContent, AgentInstruction, MetricRecord, Micros, Price, RequestTime, Sample,
    SynchronisationCause, UnixMicros, Withdrawal, WithdrawalReason,
};
use std::time::Duration;

impl From<&Advertisement> for pb::Advertisement {
    fn from(word: &Advertisement) -> Self {
        use pb::advertisement::Content;
        let records = |records: &[MetricRecord]| records.iter().map(Into::into).collect();
        let content = match &word.content {
            AdvertisementContent::Snapshot { part, last, records: list } => {
                Content::Snapshot(pb::Snapshot { part: *part, last: *last, records: records(list) })
            }
            AdvertisementContent::Delta { records: list, withdrawals } => Content::Delta(pb::Delta {
                records: records(list),
                withdrawals: withdrawals.iter().map(Into::into).collect(),
            }),
            AdvertisementContent::Refresh => Content::Refresh(pb::Refresh {}),
        };
        Self {
            agent: word.agent.to_string(),
            freshness: Some((&word.freshness).into()),
            timestamp_us: word.timestamp.0,
            content: Some(content),
            since: word.since,
        }
    }
}

impl TryFrom<pb::Advertisement> for Advertisement {
    type Error = DecodeError;

    fn try_from(message: pb::Advertisement) -> Decoded<Self> {
        use pb::advertisement::Content;
        let content = match message.content.ok_or_else(|| fault("content", Problem::Missing))? {
            Content::Snapshot(snapshot) => AdvertisementContent::Snapshot {
                part: snapshot.part,
                last: snapshot.last,
                records: each("snapshot.records", snapshot.records)?,
            },
            Content::Delta(delta) => AdvertisementContent::Delta {
                records: each("delta.records", delta.records)?,
                withdrawals: each("delta.withdrawals", delta.withdrawals)?,
            },
            Content::Refresh(_) => AdvertisementContent::Refresh,
        };
        Ok(Self {
            agent: node("agent", message.agent)?,
            freshness: required("freshness", message.freshness)?,
            since: message.since,
            timestamp: UnixMicros(message.timestamp_us),
            content,
        })
    }
}

impl From<&MetricRecord> for pb::MetricRecord {
    fn from(word: &MetricRecord) -> Self {
        let sample = &word.sample;
        Self {
            cs_id: Some((&word.cs_id).into()),
            csci_id: Some((&word.csci_id).into()),
            locator: word.locator.as_ref().map(Into::into),
            gas: sample.gas,
            computing_time_us: sample.computing_time.0,
            min_us: sample.computing_time_min.map(|bound| bound.time.0),
            max_us: sample.computing_time_max.map(|bound| bound.time.0),
            min_input_tokens: sample.computing_time_min.and_then(|bound| bound.input_tokens),
            max_input_tokens: sample.computing_time_max.and_then(|bound| bound.input_tokens),
            health: encode_health(sample.health).into(),
            price: sample.price.map(|Price(value)| value),
            reputation: sample.reputation.map(|score| u8::from(score).into()),
            security_level: sample.security_level.map(|score| u8::from(score).into()),
            instances: sample.instances.as_ref().map(Into::into),
            taken_us: word.taken.0,
            valid_for_ms: millis(word.valid_for),
            flagged: word.flagged,
        }
    }
}

fn bound(
    field: &str,
    time: Option<u64>,
    input_tokens: Option<u32>,
    time_field: &str,
) -> Decoded<Option<RequestTime>> {
    match (time, input_tokens) {
        (Some(time), input_tokens) => Ok(Some(RequestTime { time: Micros(time), input_tokens })),
        (None, None) => Ok(None),
        (None, Some(_)) => {
            Err(fault(field, Problem::Refused(format!("belongs to `{time_field}`, which is missing"))))
        }
    }
}

impl TryFrom<pb::MetricRecord> for MetricRecord {
    type Error = DecodeError;

    fn try_from(message: pb::MetricRecord) -> Decoded<Self> {
        let (min, max) = (message.min_input_tokens, message.max_input_tokens);
        let sample = Sample {
            gas: message.gas,
            computing_time: Micros(message.computing_time_us),
            computing_time_min: bound("min_input_tokens", message.min_us, min, "min_us")?,
            computing_time_max: bound("max_input_tokens", message.max_us, max, "max_us")?,
            health: health("health", message.health)?.ok_or_else(|| fault("health", Problem::Missing))?,
            price: message.price.map(Price),
            reputation: score("reputation", message.reputation)?,
            security_level: score("security_level", message.security_level)?,
            instances: message.instances.map(Into::into),
        };
        Ok(Self {
            cs_id: required("cs_id", message.cs_id)?,
            csci_id: required("csci_id", message.csci_id)?,
            locator: message.locator.map(|locator| within("locator", locator)).transpose()?,
            sample,
            taken: UnixMicros(message.taken_us),
            valid_for: Duration::from_millis(message.valid_for_ms),
            flagged: message.flagged,
        })
    }
}

impl From<&Withdrawal> for pb::Withdrawal {
    fn from(word: &Withdrawal) -> Self {
        use pb::withdrawal::Reason;
        let reason = match word.reason {
            WithdrawalReason::Failed => Reason::Failed,
            WithdrawalReason::Evicted => Reason::Evicted,
            WithdrawalReason::Removed => Reason::Removed,
            WithdrawalReason::Unauthorised => Reason::Unauthorised,
        };
        Self {
            cs_id: Some((&word.cs_id).into()),
            csci_id: Some((&word.csci_id).into()),
            reason: reason.into(),
        }
    }
}

impl TryFrom<pb::Withdrawal> for Withdrawal {
    type Error = DecodeError;

    fn try_from(message: pb::Withdrawal) -> Decoded<Self> {
        use pb::withdrawal::Reason;
        let reason = match named("reason", message.reason)? {
            Reason::Failed => WithdrawalReason::Failed,
            Reason::Evicted => WithdrawalReason::Evicted,
            Reason::Removed => WithdrawalReason::Removed,
            Reason::Unauthorised => WithdrawalReason::Unauthorised,
            Reason::Unspecified => return Err(fault("reason", Problem::Missing)),
        };
        Ok(Self {
            cs_id: required("cs_id", message.cs_id)?,
            csci_id: required("csci_id", message.csci_id)?,
            reason,
        })
    }
}

impl From<&AgentInstruction> for pb::AgentInstruction {
    fn from(word: &AgentInstruction) -> Self {
        use pb::agent_instruction::Instruction;
        let instruction = match word {
            AgentInstruction::Acknowledge(freshness) => Instruction::Acknowledge(freshness.into()),
            AgentInstruction::Synchronise(cause) => {
                Instruction::Synchronise(pb::Synchronise { cause: encode_cause(*cause).into() })
            }
            AgentInstruction::Query { cs_id, csci_ids } => Instruction::Query(pb::Query {
                cs_id: Some(cs_id.into()),
                csci_ids: csci_ids.iter().map(Into::into).collect(),
            }),
            AgentInstruction::Pace { min_interval } => {
                Instruction::Pace(pb::Pace { min_interval_ms: millis(*min_interval) })
            }
        };
        Self { instruction: Some(instruction) }
    }
}

impl TryFrom<pb::AgentInstruction> for AgentInstruction {
    type Error = DecodeError;

    fn try_from(message: pb::AgentInstruction) -> Decoded<Self> {
        use pb::agent_instruction::Instruction;
        match message.instruction.ok_or_else(|| fault("instruction", Problem::Missing))? {
            Instruction::Acknowledge(freshness) => Ok(Self::Acknowledge(within("acknowledge", freshness)?)),
            Instruction::Synchronise(word) => Ok(Self::Synchronise(cause("synchronise.cause", word.cause)?)),
            Instruction::Query(word) => Ok(Self::Query {
                cs_id: required("query.cs_id", word.cs_id)?,
                csci_ids: each("query.csci_ids", word.csci_ids)?,
            }),
            Instruction::Pace(word) => {
                Ok(Self::Pace { min_interval: Duration::from_millis(word.min_interval_ms) })
            }
        }
    }
}

fn encode_cause(cause: SynchronisationCause) -> pb::synchronise::Cause {
    match cause {
        SynchronisationCause::Start => pb::synchronise::Cause::Start,
        SynchronisationCause::Gap => pb::synchronise::Cause::Gap,
        SynchronisationCause::Requested => pb::synchronise::Cause::Requested,
    }
}

fn cause(field: &str, number: i32) -> Decoded<SynchronisationCause> {
    use pb::synchronise::Cause;
    match named(field, number)? {
        Cause::Start => Ok(SynchronisationCause::Start),
        Cause::Gap => Ok(SynchronisationCause::Gap),
        Cause::Requested => Ok(SynchronisationCause::Requested),
        Cause::Unspecified => Err(fault(field, Problem::Missing)),
    }
}
