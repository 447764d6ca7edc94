//! Reports and what a C-SMA answers.

use super::MAX_BATCH;
use super::object::{Object, address, list, millis, parsed, text, u16, u32, u64, word, written};
use super::read::{Value, read};
use crate::MAX_REPORTS;
use crate::convert::{Decoded, Problem, fault};
use cats_engine_types::{
    Freshness, Health, InstanceCounts, Locator, Rejection, Report, ReportCause, ReportKind, ReportedMetrics,
    ReportedTime, ReporterInstruction, UnixMicros,
};
use serde_json::{Map, Value as Json, json};
use std::time::Duration;

/// A report, and what came with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedReport {
    /// The report.
    pub report: Report,
    /// The token of its `auth`.
    pub token: Option<String>,
    /// Members that are not known, at all levels.
    pub unknown_fields: usize,
}

const KINDS: &[(&str, ReportKind)] = &[("full", ReportKind::Full), ("delta", ReportKind::Delta)];

const CAUSES: &[(&str, ReportCause)] = &[
    ("heartbeat", ReportCause::Heartbeat),
    ("threshold", ReportCause::Threshold),
    ("health", ReportCause::Health),
    ("critical", ReportCause::Critical),
    ("security", ReportCause::Security),
    ("resync", ReportCause::Resync),
];

pub(super) const HEALTHS: &[(&str, Health)] = &[
    ("healthy", Health::Healthy),
    ("degraded", Health::Degraded),
    ("unhealthy", Health::Unhealthy),
    ("unknown", Health::Unknown),
];

const REJECTIONS: &[(&str, Rejection)] = &[
    ("malformed", Rejection::Malformed),
    ("out-of-range", Rejection::OutOfRange),
    ("stale", Rejection::Stale),
    ("inconsistent", Rejection::Inconsistent),
    ("quarantined", Rejection::Quarantined),
    ("unauthorised", Rejection::Unauthorised),
    ("too-often", Rejection::TooOften),
    ("full", Rejection::Full),
];

/// The name of a word of ours in one of the tables above.
pub(super) fn name_of<T: PartialEq>(words: &'static [(&'static str, T)], word: &T) -> &'static str {
    words.iter().find(|(_, known)| known == word).map_or("", |(name, _)| name)
}

/// A document that is one report.
pub fn decode_report(octets: &[u8]) -> Decoded<DecodedReport> {
    report("", read(octets, MAX_REPORTS)?)
}

/// A document that is one report or an array of them.
pub fn decode_reports(octets: &[u8]) -> Decoded<Vec<DecodedReport>> {
    match read(octets, MAX_REPORTS)? {
        Value::List(values) if values.len() > MAX_BATCH => Err(fault(
            "",
            Problem::Refused(format!("has {} reports; at most {MAX_BATCH} are taken", values.len())),
        )),
        Value::List(values) => values
            .into_iter()
            .enumerate()
            .map(|(index, value)| report(&format!("[{index}]"), value))
            .collect(),
        value => Ok(vec![report("", value)?]),
    }
}

fn report(place: &str, value: Value) -> Decoded<DecodedReport> {
    let mut object = Object::new(place, value)?;
    let auth = object.optional("auth", Object::new)?;
    let (token, mut unknown) = match auth {
        Some(mut auth) => (auth.optional("token", text)?, auth.unknown()),
        None => (None, 0),
    };
    let report = Report {
        kind: object.required("kind", word(KINDS, "full or delta"))?,
        cause: object
            .required("cause", word(CAUSES, "heartbeat, threshold, health, critical, security or resync"))?,
        cs_id: object.required("cs-id", parsed)?,
        csci_id: object.required("csci-id", parsed)?,
        locator: locator(&mut object, &mut unknown)?,
        freshness: freshness(&mut object)?,
        timestamp: UnixMicros(object.required("timestamp", u64)?),
        ttl: object.optional("ttl", u32)?.map(|seconds| Duration::from_secs(seconds.into())),
        metrics: metrics(&mut object, &mut unknown)?,
    };
    Ok(DecodedReport { report, token, unknown_fields: unknown + object.unknown() })
}

pub(super) fn freshness(object: &mut Object) -> Decoded<Freshness> {
    Ok(Freshness { epoch: object.required("epoch", u64)?, sequence: object.required("sequence", u64)? })
}

pub(super) fn locator(object: &mut Object, unknown: &mut usize) -> Decoded<Option<Locator>> {
    let Some(mut inner) = object.optional("locator", Object::new)? else { return Ok(None) };
    let locator =
        Locator { address: inner.required("address", address)?, port: inner.optional("port", u16)? };
    *unknown += inner.unknown();
    Ok(Some(locator))
}

pub(super) fn instances(object: &mut Object, unknown: &mut usize) -> Decoded<Option<InstanceCounts>> {
    let Some(mut inner) = object.optional("instances", Object::new)? else { return Ok(None) };
    let counts = InstanceCounts {
        healthy: inner.optional("healthy", u32)?.unwrap_or(0),
        degraded: inner.optional("degraded", u32)?.unwrap_or(0),
        unhealthy: inner.optional("unhealthy", u32)?.unwrap_or(0),
        unknown: inner.optional("unknown", u32)?.unwrap_or(0),
    };
    *unknown += inner.unknown();
    Ok(Some(counts))
}

/// `min` or `max` in microseconds, with the input tokens that it belongs to.
pub(super) fn bound(object: &mut Object, time: &str, tokens: &str) -> Decoded<Option<(u64, Option<u32>)>> {
    match (object.optional(time, millis)?, object.optional(tokens, u32)?) {
        (Some(micros), tokens) => Ok(Some((micros, tokens))),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(fault(
            &object.path(tokens),
            Problem::Refused(format!("belongs to `{}`, which is missing", object.path(time))),
        )),
    }
}

fn metrics(object: &mut Object, unknown: &mut usize) -> Decoded<ReportedMetrics> {
    let reported = |(time, input_tokens)| ReportedTime { time, input_tokens };
    Ok(ReportedMetrics {
        gas: object.optional("gas", u64)?,
        computing_time: object.optional("computing-time", millis)?,
        computing_time_min: bound(object, "min", "min-input-tokens")?.map(reported),
        computing_time_max: bound(object, "max", "max-input-tokens")?.map(reported),
        health: object.optional("health", word(HEALTHS, "healthy, degraded, unhealthy or unknown"))?,
        price: object.optional("price", u64)?,
        reputation: object.optional("reputation", u64)?,
        security_level: object.optional("security-level", u64)?,
        instances: instances(object, unknown)?,
    })
}

/// An object that is filled member by member, without those that are absent.
#[derive(Debug, Default)]
pub(super) struct Writer(Map<String, Json>);

impl Writer {
    pub(super) fn put(&mut self, name: &str, value: impl Into<Json>) {
        self.0.insert(name.to_owned(), value.into());
    }

    pub(super) fn put_some(&mut self, name: &str, value: Option<impl Into<Json>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    pub(super) fn put_id(&mut self, name: &str, number: Option<u32>, text: &impl ToString) {
        match number {
            Some(number) => self.put(name, number),
            None => self.put(name, text.to_string()),
        }
    }

    pub(super) fn put_freshness(&mut self, freshness: &Freshness) {
        self.put("epoch", freshness.epoch.to_string());
        self.put("sequence", freshness.sequence.to_string());
    }

    pub(super) fn put_locator(&mut self, locator: Option<&Locator>) {
        if let Some(locator) = locator {
            let mut inner = Self::default();
            inner.put("address", locator.address.to_string());
            inner.put_some("port", locator.port);
            self.put("locator", inner.0);
        }
    }

    pub(super) fn put_instances(&mut self, counts: Option<&InstanceCounts>) {
        if let Some(counts) = counts {
            let all = json!({
                "healthy": counts.healthy,
                "degraded": counts.degraded,
                "unhealthy": counts.unhealthy,
                "unknown": counts.unknown,
            });
            self.put("instances", all);
        }
    }

    pub(super) fn value(self) -> Json {
        Json::Object(self.0)
    }

    pub(super) fn octets(self) -> Vec<u8> {
        self.value().to_string().into_bytes()
    }
}

/// A report as a document, with a token where one is given.
pub fn encode_report(report: &Report, token: Option<&str>) -> Vec<u8> {
    let mut object = Writer::default();
    object.put("kind", name_of(KINDS, &report.kind));
    object.put("cause", report.cause.name());
    object.put_id("cs-id", report.cs_id.as_number(), &report.cs_id);
    object.put_id("csci-id", report.csci_id.as_number(), &report.csci_id);
    object.put_locator(report.locator.as_ref());
    object.put_freshness(&report.freshness);
    object.put("timestamp", report.timestamp.0.to_string());
    object.put_some("ttl", report.ttl.map(|ttl| ttl.as_secs().min(u32::MAX.into())));
    put_metrics(&mut object, &report.metrics);
    object.put_some("auth", token.map(|token| json!({ "token": token })));
    object.octets()
}

fn put_metrics(object: &mut Writer, metrics: &ReportedMetrics) {
    let whole = |value: Option<u64>| value.map(|value| value.to_string());
    let time = |bound: Option<ReportedTime>| bound.map(|bound| written(bound.time));
    let tokens = |bound: Option<ReportedTime>| bound.and_then(|bound| bound.input_tokens);
    object.put_some("gas", whole(metrics.gas));
    object.put_some("computing-time", metrics.computing_time.map(written));
    object.put_some("min", time(metrics.computing_time_min));
    object.put_some("max", time(metrics.computing_time_max));
    object.put_some("min-input-tokens", tokens(metrics.computing_time_min));
    object.put_some("max-input-tokens", tokens(metrics.computing_time_max));
    object.put_some("health", metrics.health.map(|health| name_of(HEALTHS, &health)));
    object.put_some("price", whole(metrics.price));
    object.put_some("reputation", whole(metrics.reputation));
    object.put_some("security-level", whole(metrics.security_level));
    object.put_instances(metrics.instances.as_ref());
}

/// What a C-SMA answers, as an array with one object each: `{"acknowledge": …}`, `{"reject": …}`, `{"pull": …}`,
/// `{"pace": …}`.
pub fn encode_reporter_instructions(instructions: &[ReporterInstruction]) -> Vec<u8> {
    let all: Vec<Json> = instructions.iter().map(instruction).collect();
    Json::from(all).to_string().into_bytes()
}

fn instruction(word: &ReporterInstruction) -> Json {
    let mut inner = Writer::default();
    let name = match word {
        ReporterInstruction::Acknowledge { csci_id, freshness } => {
            inner.put_id("csci-id", csci_id.as_number(), csci_id);
            inner.put_freshness(freshness);
            "acknowledge"
        }
        ReporterInstruction::Reject { csci_id, freshness, reason, detail } => {
            inner.put_id("csci-id", csci_id.as_number(), csci_id);
            inner.put_freshness(freshness);
            inner.put("reason", reason.name());
            inner.put("detail", detail.as_str());
            "reject"
        }
        ReporterInstruction::Pull { csci_id } => {
            inner.put_id("csci-id", csci_id.as_number(), csci_id);
            "pull"
        }
        ReporterInstruction::Pace { min_interval } => {
            inner.put("min-interval", written(u64::try_from(min_interval.as_micros()).unwrap_or(u64::MAX)));
            "pace"
        }
    };
    json!({ name: inner.value() })
}

/// Reads what [`encode_reporter_instructions`] writes. Instructions that are not known are left out.
pub fn decode_reporter_instructions(octets: &[u8]) -> Decoded<Vec<ReporterInstruction>> {
    let mut known = Vec::new();
    for (index, value) in list("", read(octets, MAX_REPORTS)?)?.into_iter().enumerate() {
        let mut object = Object::new(&format!("[{index}]"), value)?;
        if let Some(mut inner) = object.optional("acknowledge", Object::new)? {
            let csci_id = inner.required("csci-id", parsed)?;
            known.push(ReporterInstruction::Acknowledge { csci_id, freshness: freshness(&mut inner)? });
        } else if let Some(mut inner) = object.optional("reject", Object::new)? {
            known.push(ReporterInstruction::Reject {
                csci_id: inner.required("csci-id", parsed)?,
                freshness: freshness(&mut inner)?,
                reason: inner.required("reason", word(REJECTIONS, "a reason of a rejection"))?,
                detail: inner.optional("detail", text)?.unwrap_or_default(),
            });
        } else if let Some(mut inner) = object.optional("pull", Object::new)? {
            known.push(ReporterInstruction::Pull { csci_id: inner.required("csci-id", parsed)? });
        } else if let Some(mut inner) = object.optional("pace", Object::new)? {
            let min_interval = Duration::from_micros(inner.required("min-interval", millis)?);
            known.push(ReporterInstruction::Pace { min_interval });
        }
    }
    Ok(known)
}
