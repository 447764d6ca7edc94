//! Reports as they go out: right, or wrong in the way that is asked for. Written by hand, not by the product's own
//! conversions.

use super::fault::Fault;
use super::load::Draft;
use cats_engine_types::{CsciId, Freshness, Health, Report, ReportCause, ReportKind};
use cats_engine_wire::metrics as pb;
use prost::Message;
use prost::bytes::{BufMut, Bytes};
use prost::encoding::{WireType, encode_key, encode_varint};
use serde_json::{Map, Value, json};
use std::net::IpAddr;

/// Octets that no agent takes at once.
const OVERSIZE: usize = (1 << 20) + 1;

/// A field of protobuf that nobody knows.
const UNKNOWN_FIELD: u32 = 999;

/// Stands for what is no JSON until the text is made.
const NOT_A_NUMBER: &str = "@NaN@";

/// A message of gRPC with these reports and the token of each.
pub(super) fn message(drafts: &[(Draft, Option<String>)]) -> Bytes {
    // FromReporter { reports = 2: Reports { reports = 1: [Report] } }
    let mut reports = Vec::new();
    for (draft, token) in drafts {
        let report = octets(draft, token.clone());
        encode_key(1, WireType::LengthDelimited, &mut reports);
        encode_varint(report.len() as u64, &mut reports);
        reports.put_slice(&report);
    }
    let mut message = Vec::with_capacity(reports.len() + 8);
    encode_key(2, WireType::LengthDelimited, &mut message);
    encode_varint(reports.len() as u64, &mut message);
    message.put_slice(&reports);
    message.into()
}

/// A message that says that the instances are there.
pub(super) fn keepalive() -> Bytes {
    let message = pb::from_reporter::Message::Keepalive(pb::Keepalive {});
    pb::FromReporter { message: Some(message) }.encode_to_vec().into()
}

fn octets(draft: &Draft, token: Option<String>) -> Vec<u8> {
    let mut report = plain(&draft.report);
    report.token = token;
    let mut more = Vec::new();
    match draft.fault {
        Some(Fault::MissingKey) => match draft.turn % 4 {
            0 => report.cs_id = None,
            1 => report.kind = 0,
            2 => report.freshness = None,
            _ => report.csci_id = None,
        },
        Some(Fault::WrongUnit) => {
            report.computing_time_us = report.computing_time_us.or(Some(1)).map(|time| time * 1000);
        }
        Some(Fault::Oversize) => report.token = Some("x".repeat(OVERSIZE)),
        Some(Fault::UnknownFields) => {
            encode_key(UNKNOWN_FIELD, WireType::Varint, &mut more);
            encode_varint(7, &mut more);
            encode_key(UNKNOWN_FIELD + 1, WireType::LengthDelimited, &mut more);
            encode_varint(3, &mut more);
            more.put_slice(b"new");
        }
        Some(
            Fault::Replay
            | Fault::Reorder
            | Fault::OutOfRange
            | Fault::Nan
            | Fault::ClockAhead
            | Fault::ClockBehind
            | Fault::OtherInstance
            | Fault::Flood
            | Fault::BadSignature,
        )
        | None => {}
    }
    let mut octets = report.encode_to_vec();
    octets.extend(more);
    octets
}

fn plain(report: &Report) -> pb::Report {
    let metrics = &report.metrics;
    let health = match metrics.health {
        None => pb::Health::Unspecified,
        Some(Health::Healthy) => pb::Health::Healthy,
        Some(Health::Degraded) => pb::Health::Degraded,
        Some(Health::Unhealthy) => pb::Health::Unhealthy,
        Some(Health::Unknown) => pb::Health::Unknown,
    };
    let cause = match report.cause {
        ReportCause::Heartbeat => pb::ReportCause::Heartbeat,
        ReportCause::Threshold => pb::ReportCause::Threshold,
        ReportCause::Health => pb::ReportCause::Health,
        ReportCause::Critical => pb::ReportCause::Critical,
        ReportCause::Security => pb::ReportCause::Security,
        ReportCause::Resync => pb::ReportCause::Resync,
    };
    let kind = match report.kind {
        ReportKind::Full => pb::ReportKind::Full,
        ReportKind::Delta => pb::ReportKind::Delta,
    };
    pb::Report {
        kind: kind.into(),
        cause: cause.into(),
        cs_id: Some(id(report.cs_id.as_number(), report.cs_id.as_address())),
        csci_id: Some(id(report.csci_id.as_number(), report.csci_id.as_address())),
        locator: report
            .locator
            .as_ref()
            .map(|place| pb::Locator { address: address(place.address), port: place.port.map(Into::into) }),
        freshness: Some(pb::Freshness { epoch: report.freshness.epoch, sequence: report.freshness.sequence }),
        timestamp_us: report.timestamp.0,
        ttl_s: report.ttl.and_then(|ttl| u32::try_from(ttl.as_secs()).ok()),
        gas: metrics.gas,
        computing_time_us: metrics.computing_time,
        health: health.into(),
        price: metrics.price,
        reputation: metrics.reputation,
        security_level: metrics.security_level,
        ..pb::Report::default()
    }
}

fn id(number: Option<u32>, other: Option<IpAddr>) -> pb::ServiceId {
    use pb::service_id::Id;
    let id = number.map(Id::Number).or(other.map(|other| Id::Address(address(other))));
    pb::ServiceId { id }
}

fn address(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// A document with a report, or with several.
pub(super) fn document(drafts: &[(Draft, Option<String>)]) -> Vec<u8> {
    let value = match drafts {
        [(draft, token)] => object(draft, token.as_deref()),
        many => many.iter().map(|(draft, token)| object(draft, token.as_deref())).collect(),
    };
    value.to_string().replace(&format!("\"{NOT_A_NUMBER}\""), "NaN").into_bytes()
}

fn object(draft: &Draft, token: Option<&str>) -> Value {
    let report = &draft.report;
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    put("kind", if report.kind == ReportKind::Full { "full" } else { "delta" }.into());
    put("cause", report.cause.name().into());
    put("cs-id", number_or_text(report.cs_id.as_number(), report.cs_id));
    put("csci-id", number_or_text(report.csci_id.as_number(), report.csci_id));
    put("epoch", report.freshness.epoch.to_string().into());
    put("sequence", report.freshness.sequence.to_string().into());
    put("timestamp", report.timestamp.0.to_string().into());
    if let Some(place) = &report.locator {
        put("locator", json!({ "address": place.address.to_string(), "port": place.port }));
    }
    if let Some(ttl) = report.ttl {
        put("ttl", ttl.as_secs().into());
    }
    let metrics = &report.metrics;
    let numbers = [
        ("gas", metrics.gas),
        ("price", metrics.price),
        ("reputation", metrics.reputation),
        ("security-level", metrics.security_level),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            put(name, value.to_string().into());
        }
    }
    if let Some(time) = metrics.computing_time {
        put("computing-time", format!("{}.{:03}", time / 1000, time % 1000).into());
    }
    if let Some(health) = metrics.health {
        put("health", health_name(health).into());
    }
    if let Some(token) = token {
        put("auth", json!({ "token": token }));
    }
    spoil(&mut object, draft);
    Value::Object(object)
}

fn spoil(object: &mut Map<String, Value>, draft: &Draft) {
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    match draft.fault {
        Some(Fault::Nan) => {
            put("computing-time", if draft.turn.is_multiple_of(2) { NOT_A_NUMBER } else { "NaN" }.into());
        }
        Some(Fault::UnknownFields) => {
            put("colour", "green".into());
            put("future", json!({ "nested": [1, 2, { "deep": null }] }));
        }
        Some(Fault::MissingKey) => {
            let keys = ["cs-id", "kind", "sequence", "csci-id", "timestamp", "epoch"];
            let key = keys.get(usize::try_from(draft.turn % 6).unwrap_or(0)).copied().unwrap_or_default();
            object.remove(key);
        }
        Some(Fault::WrongUnit) if draft.turn.is_multiple_of(2) => {
            put("computing-time", "12 ms".into());
        }
        Some(Fault::WrongUnit) => {
            put("gas", "300 slots".into());
        }
        Some(Fault::Oversize) => {
            put("padding", "x".repeat(OVERSIZE).into());
        }
        Some(
            Fault::Replay
            | Fault::Reorder
            | Fault::OutOfRange
            | Fault::ClockAhead
            | Fault::ClockBehind
            | Fault::OtherInstance
            | Fault::Flood
            | Fault::BadSignature,
        )
        | None => {}
    }
}

fn number_or_text(number: Option<u32>, id: impl ToString) -> Value {
    number.map_or_else(|| id.to_string().into(), Value::from)
}

fn health_name(health: Health) -> &'static str {
    match health {
        Health::Healthy => "healthy",
        Health::Degraded => "degraded",
        Health::Unhealthy => "unhealthy",
        Health::Unknown => "unknown",
    }
}

/// An answer of an agent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Acknowledge(CsciId, Freshness),
    Reject { id: CsciId, freshness: Freshness, reason: String, detail: String },
    Pull(CsciId),
    Pace { min_interval_ms: u64 },
}

/// The answers in a message of gRPC; those that are not known are left out.
pub(super) fn answers(message: pb::ReporterInstructions) -> Vec<Answer> {
    use pb::reporter_instruction::Instruction;
    let answer = |instruction: pb::ReporterInstruction| match instruction.instruction? {
        Instruction::Acknowledge(word) => {
            Some(Answer::Acknowledge(instance(word.csci_id)?, place(word.freshness)?))
        }
        Instruction::Reject(word) => {
            let reason = pb::report_rejection::Reason::try_from(word.reason).ok()?;
            let reason = reason.as_str_name().trim_start_matches("REASON_");
            Some(Answer::Reject {
                id: instance(word.csci_id)?,
                freshness: place(word.freshness)?,
                reason: reason.to_lowercase().replace('_', "-"),
                detail: word.detail,
            })
        }
        Instruction::Pull(word) => Some(Answer::Pull(instance(word.csci_id)?)),
        Instruction::Pace(word) => Some(Answer::Pace { min_interval_ms: word.min_interval_ms }),
    };
    message.instructions.into_iter().filter_map(answer).collect()
}

fn place(freshness: Option<pb::Freshness>) -> Option<Freshness> {
    let found = freshness?;
    Some(Freshness { epoch: found.epoch, sequence: found.sequence })
}

fn instance(id: Option<pb::ServiceId>) -> Option<CsciId> {
    match id?.id? {
        pb::service_id::Id::Number(number) => CsciId::number(number).ok(),
        pb::service_id::Id::Address(octets) => {
            let v4 = <[u8; 4]>::try_from(octets.as_slice()).map(IpAddr::from);
            let v6 = <[u8; 16]>::try_from(octets.as_slice()).map(IpAddr::from);
            Some(CsciId::address(v4.or(v6).ok()?))
        }
    }
}

/// The answers in a document; nothing if it is none.
pub(super) fn document_answers(octets: &[u8]) -> Option<Vec<Answer>> {
    let Value::Array(items) = serde_json::from_slice(octets).ok()? else { return None };
    Some(items.iter().filter_map(document_answer).collect())
}

fn document_answer(item: &Value) -> Option<Answer> {
    let (kind, inner) = item.as_object()?.iter().next()?;
    let text = |name: &str| inner.get(name).and_then(Value::as_str);
    let number = |name: &str| text(name)?.parse::<u64>().ok();
    let id = || {
        let id = inner.get("csci-id")?;
        let number = id.as_u64().and_then(|number| CsciId::number(u32::try_from(number).ok()?).ok());
        number.or_else(|| id.as_str()?.parse().ok())
    };
    let freshness = || Some(Freshness { epoch: number("epoch")?, sequence: number("sequence")? });
    match kind.as_str() {
        "acknowledge" => Some(Answer::Acknowledge(id()?, freshness()?)),
        "reject" => Some(Answer::Reject {
            id: id()?,
            freshness: freshness()?,
            reason: text("reason")?.to_owned(),
            detail: text("detail").unwrap_or_default().to_owned(),
        }),
        "pull" => Some(Answer::Pull(id()?)),
        "pace" => {
            let millis = text("min-interval")?.split('.').next()?.parse().ok()?;
            Some(Answer::Pace { min_interval_ms: millis })
        }
        _ => None,
    }
}
