//! Advertisements and what a C-PS answers.
//!
//! An advertisement is `{"agent", "epoch", "sequence", "since", "timestamp"}` with one of `"snapshot": {"part", "last",
//! "records"}`, `"delta": {"records", "withdrawals"}` and `"refresh": {}`. A record has the members of a report that
//! are metrics, and `cs-id`, `csci-id`, `locator`, `taken` (µs since 1970), `valid-for` (ms) and `flagged`.

use super::object::{Object, bool, list, millis, parsed, u32, u64, word, written};
use super::read::{Value, read};
use super::report::{HEALTHS, Writer, bound, freshness, instances, locator, name_of};
use crate::convert::{Decoded, Problem, fault};
use crate::{MAX_ADVERTISEMENTS, MAX_MESSAGE};
use cats_engine_types::{
    Advertisement, AdvertisementContent, AgentInstruction, Freshness, MetricRecord, Micros, Price,
    RequestTime, Sample, Score, SynchronisationCause, UnixMicros, Withdrawal, WithdrawalReason,
};
use serde_json::{Value as Json, json};
use std::time::Duration;

const REASONS: &[(&str, WithdrawalReason)] = &[
    ("failed", WithdrawalReason::Failed),
    ("evicted", WithdrawalReason::Evicted),
    ("removed", WithdrawalReason::Removed),
    ("unauthorised", WithdrawalReason::Unauthorised),
];

const CAUSES: &[(&str, SynchronisationCause)] = &[
    ("start", SynchronisationCause::Start),
    ("gap", SynchronisationCause::Gap),
    ("requested", SynchronisationCause::Requested),
];

/// An advertisement as a document: these octets are what is signed.
pub fn encode_advertisement(advertisement: &Advertisement) -> Vec<u8> {
    let mut object = Writer::default();
    object.put("agent", advertisement.agent.as_str());
    object.put_freshness(&advertisement.freshness);
    object.put("since", advertisement.since.to_string());
    object.put("timestamp", advertisement.timestamp.0.to_string());
    match &advertisement.content {
        AdvertisementContent::Snapshot { part, last, records } => {
            object.put("snapshot", json!({ "part": part, "last": last, "records": all(records, record) }));
        }
        AdvertisementContent::Delta { records, withdrawals } => {
            let gone = all(withdrawals, withdrawal);
            object.put("delta", json!({ "records": all(records, record), "withdrawals": gone }));
        }
        AdvertisementContent::Refresh => object.put("refresh", json!({})),
    }
    object.octets()
}

/// What a C-PS holds of an agent: `{"epoch", "sequence", "records"}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentView {
    /// The last message that is in it.
    pub freshness: Freshness,
    /// What holds.
    pub records: Vec<MetricRecord>,
}

/// A view as a document.
pub fn encode_agent_view(view: &AgentView) -> Vec<u8> {
    let mut object = Writer::default();
    object.put_freshness(&view.freshness);
    object.put("records", all(&view.records, record));
    object.octets()
}

/// Reads what [`encode_agent_view`] writes.
pub fn decode_agent_view(octets: &[u8]) -> Decoded<AgentView> {
    let mut object = Object::new("", read(octets, MAX_MESSAGE)?)?;
    let freshness = freshness(&mut object)?;
    Ok(AgentView { freshness, records: object.required("records", each(decode_record))? })
}

fn all<T>(words: &[T], write: impl Fn(&T) -> Json) -> Vec<Json> {
    words.iter().map(write).collect()
}

fn record(word: &MetricRecord) -> Json {
    let sample = &word.sample;
    let tokens = |bound: Option<RequestTime>| bound.and_then(|bound| bound.input_tokens);
    let time = |bound: Option<RequestTime>| bound.map(|bound| written(bound.time.0));
    let mut object = Writer::default();
    object.put_id("cs-id", word.cs_id.as_number(), &word.cs_id);
    object.put_id("csci-id", word.csci_id.as_number(), &word.csci_id);
    object.put_locator(word.locator.as_ref());
    object.put("gas", sample.gas);
    object.put("computing-time", written(sample.computing_time.0));
    object.put_some("min", time(sample.computing_time_min));
    object.put_some("max", time(sample.computing_time_max));
    object.put_some("min-input-tokens", tokens(sample.computing_time_min));
    object.put_some("max-input-tokens", tokens(sample.computing_time_max));
    object.put("health", name_of(HEALTHS, &sample.health));
    object.put_some("price", sample.price.map(|Price(value)| value));
    object.put_some("reputation", sample.reputation.map(u8::from));
    object.put_some("security-level", sample.security_level.map(u8::from));
    object.put_instances(sample.instances.as_ref());
    object.put("taken", word.taken.0.to_string());
    object.put("valid-for", written(u64::try_from(word.valid_for.as_micros()).unwrap_or(u64::MAX)));
    object.put("flagged", word.flagged);
    object.value()
}

fn withdrawal(word: &Withdrawal) -> Json {
    let mut object = Writer::default();
    object.put_id("cs-id", word.cs_id.as_number(), &word.cs_id);
    object.put_id("csci-id", word.csci_id.as_number(), &word.csci_id);
    object.put("reason", name_of(REASONS, &word.reason));
    object.value()
}

/// Reads what [`encode_advertisement`] writes.
pub fn decode_advertisement(octets: &[u8]) -> Decoded<Advertisement> {
    let mut object = Object::new("", read(octets, MAX_ADVERTISEMENTS)?)?;
    let content = if let Some(mut inner) = object.optional("snapshot", Object::new)? {
        AdvertisementContent::Snapshot {
            part: inner.required("part", u32)?,
            last: inner.required("last", bool)?,
            records: inner.required("records", each(decode_record))?,
        }
    } else if let Some(mut inner) = object.optional("delta", Object::new)? {
        AdvertisementContent::Delta {
            records: inner.optional("records", each(decode_record))?.unwrap_or_default(),
            withdrawals: inner.optional("withdrawals", each(decode_withdrawal))?.unwrap_or_default(),
        }
    } else if object.optional("refresh", Object::new)?.is_some() {
        AdvertisementContent::Refresh
    } else {
        return Err(fault("", Problem::Refused("has none of snapshot, delta and refresh".to_owned())));
    };
    Ok(Advertisement {
        agent: object.required("agent", parsed)?,
        freshness: freshness(&mut object)?,
        since: object.required("since", u64)?,
        timestamp: UnixMicros(object.required("timestamp", u64)?),
        content,
    })
}

fn each<T>(decode: impl Fn(Object) -> Decoded<T>) -> impl FnOnce(&str, Value) -> Decoded<Vec<T>> {
    move |field, value| {
        let values = list(field, value)?.into_iter().enumerate();
        values.map(|(index, value)| decode(Object::new(&format!("{field}[{index}]"), value)?)).collect()
    }
}

fn decode_record(mut object: Object) -> Decoded<MetricRecord> {
    let time = |(time, input_tokens)| RequestTime { time: Micros(time), input_tokens };
    let mut unknown = 0;
    let sample = Sample {
        gas: object.required("gas", u32)?,
        computing_time: Micros(object.required("computing-time", millis)?),
        computing_time_min: bound(&mut object, "min", "min-input-tokens")?.map(time),
        computing_time_max: bound(&mut object, "max", "max-input-tokens")?.map(time),
        health: object.required("health", word(HEALTHS, "healthy, degraded, unhealthy or unknown"))?,
        price: object.optional("price", u32)?.map(Price),
        reputation: object.optional("reputation", score)?,
        security_level: object.optional("security-level", score)?,
        instances: instances(&mut object, &mut unknown)?,
    };
    Ok(MetricRecord {
        cs_id: object.required("cs-id", parsed)?,
        csci_id: object.required("csci-id", parsed)?,
        locator: locator(&mut object, &mut unknown)?,
        sample,
        taken: UnixMicros(object.required("taken", u64)?),
        valid_for: Duration::from_micros(object.required("valid-for", millis)?),
        flagged: object.optional("flagged", bool)?.unwrap_or(false),
    })
}

fn score(field: &str, value: Value) -> Decoded<Score> {
    let number = u64(field, value)?;
    u8::try_from(number)
        .ok()
        .and_then(|number| Score::try_from(number).ok())
        .ok_or_else(|| fault(field, Problem::TooLarge { found: number, max: 10 }))
}

fn decode_withdrawal(mut object: Object) -> Decoded<Withdrawal> {
    Ok(Withdrawal {
        cs_id: object.required("cs-id", parsed)?,
        csci_id: object.required("csci-id", parsed)?,
        reason: object.required("reason", word(REASONS, "failed, evicted, removed or unauthorised"))?,
    })
}

/// What a C-PS answers, as an array with one object each: `{"acknowledge": …}`, `{"synchronise": …}`, `{"query": …}`,
/// `{"pace": …}`.
pub fn encode_agent_instructions(instructions: &[AgentInstruction]) -> Vec<u8> {
    Json::from(all(instructions, instruction)).to_string().into_bytes()
}

fn instruction(word: &AgentInstruction) -> Json {
    let mut inner = Writer::default();
    let name = match word {
        AgentInstruction::Acknowledge(freshness) => {
            inner.put_freshness(freshness);
            "acknowledge"
        }
        AgentInstruction::Synchronise(cause) => {
            inner.put("cause", name_of(CAUSES, cause));
            "synchronise"
        }
        AgentInstruction::Query { cs_id, csci_ids } => {
            inner.put_id("cs-id", cs_id.as_number(), cs_id);
            let ids: Vec<Json> = csci_ids
                .iter()
                .map(|id| id.as_number().map_or_else(|| Json::from(id.to_string()), Json::from))
                .collect();
            inner.put("csci-ids", ids);
            "query"
        }
        AgentInstruction::Pace { min_interval } => {
            inner.put("min-interval", written(u64::try_from(min_interval.as_micros()).unwrap_or(u64::MAX)));
            "pace"
        }
    };
    json!({ name: inner.value() })
}

/// Reads what [`encode_agent_instructions`] writes. Instructions that are not known are left out.
pub fn decode_agent_instructions(octets: &[u8]) -> Decoded<Vec<AgentInstruction>> {
    let mut known = Vec::new();
    for (index, value) in list("", read(octets, MAX_ADVERTISEMENTS)?)?.into_iter().enumerate() {
        let mut object = Object::new(&format!("[{index}]"), value)?;
        if let Some(mut inner) = object.optional("acknowledge", Object::new)? {
            known.push(AgentInstruction::Acknowledge(freshness(&mut inner)?));
        } else if let Some(mut inner) = object.optional("synchronise", Object::new)? {
            let cause = inner.required("cause", word(CAUSES, "start, gap or requested"))?;
            known.push(AgentInstruction::Synchronise(cause));
        } else if let Some(mut inner) = object.optional("query", Object::new)? {
            let ids = inner.optional("csci-ids", |field, value| {
                list(field, value)?.into_iter().map(|id| parsed(field, id)).collect()
            })?;
            let csci_ids = ids.unwrap_or_default();
            known.push(AgentInstruction::Query { cs_id: inner.required("cs-id", parsed)?, csci_ids });
        } else if let Some(mut inner) = object.optional("pace", Object::new)? {
            let min_interval = Duration::from_micros(inner.required("min-interval", millis)?);
            known.push(AgentInstruction::Pace { min_interval });
        }
    }
    Ok(known)
}
