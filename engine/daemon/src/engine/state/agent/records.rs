//! The reports in quarantine, and the audit log.

use super::ROOT;
use super::instances::{doubt, values};
use crate::engine::Engine;
use crate::engine::state::Part;
use crate::engine::state::decision::identity;
use crate::engine::state::filter::{Entries, Filter};
use crate::engine::state::text::text;
use crate::engine::state::time::time;
use crate::plane::Plane;
use cats_engine_core::sma::{AuditKind, AuditRecord, InstanceKey, QuarantineId, Quarantined, Sma};
use cats_engine_types::{CsId, CsciId, ReportKind};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

pub(in crate::engine::state) const QUARANTINE: [&str; 3] = [ROOT, "quarantine", "report"];
pub(in crate::engine::state) const AUDIT: [&str; 3] = [ROOT, "audit", "record"];

impl<P: Plane> Engine<P> {
    pub(in crate::engine::state) fn quarantine(
        &self,
        filter: &Filter,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Part, String> {
        let Some(sma) = self.agent.as_ref().map(|role| &role.sma) else { return Ok((Vec::new(), None)) };
        let take = |after: u64, limit: usize| sma.quarantined(Some(QuarantineId(after)), limit);
        let found = numbered(filter, &QUARANTINE, "id", after, limit, &take, |waiting| waiting.id.0)?;
        let last = found.last().filter(|_| found.len() == limit).map(|waiting| waiting.id.to_string());
        Ok((found.into_iter().map(report).collect(), last))
    }

    pub(in crate::engine::state) fn audit_log(
        &self,
        filter: &Filter,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Part, String> {
        let Some(sma) = self.agent.as_ref().map(|role| &role.sma) else { return Ok((Vec::new(), None)) };
        let take = |after: u64, limit: usize| Sma::audit_log(sma, after, limit);
        let found = numbered(filter, &AUDIT, "number", after, limit, &take, |record| record.number)?;
        let last = found.last().filter(|_| found.len() == limit).map(|record| record.number.to_string());
        Ok((found.into_iter().map(record).collect(), last))
    }
}

/// At most so many entries of a list in the order of their numbers, which begin with 1: all after one, or those that are
/// asked for.
fn numbered<'a, T>(
    filter: &Filter,
    list: &[&str],
    key: &str,
    after: Option<&str>,
    limit: usize,
    take: &dyn Fn(u64, usize) -> Vec<&'a T>,
    number: impl Fn(&T) -> u64,
) -> Result<Vec<&'a T>, String> {
    let after: u64 = match after {
        Some(text) => text.parse().map_err(|_| format!("`{text}` is no number"))?,
        None => 0,
    };
    let named = match filter.entries(list, &[key]) {
        Entries::All => return Ok(take(after, limit)),
        Entries::Named(named) => named,
    };
    let wanted: BTreeSet<u64> = named.iter().flatten().filter_map(|text| text.parse().ok()).collect();
    let one = |wanted: u64| {
        let found = take(wanted.checked_sub(1)?, 1).into_iter().next()?;
        (number(found) == wanted).then_some(found)
    };
    Ok(wanted.into_iter().filter(|number| *number > after).filter_map(one).take(limit).collect())
}

fn report(waiting: &Quarantined) -> Value {
    let (key, report) = (waiting.key(), &waiting.report);
    let mut entry = Map::new();
    let mut set = |name: &str, value: Value| drop(entry.insert(name.to_owned(), value));
    let kind = match report.kind {
        ReportKind::Full => "full",
        ReportKind::Delta => "delta",
    };
    set("id", json!(waiting.id.to_string()));
    set("cs-id", service(key.cs_id));
    set("csci-id", instance(key.csci_id));
    set("reason", json!(waiting.doubts.to_string()));
    set("kind", json!(kind));
    set("cause", json!(report.cause.name()));
    set("epoch", json!(report.freshness.epoch.to_string()));
    set("sequence", json!(report.freshness.sequence.to_string()));
    set("values", Value::Object(values(&waiting.sample)));
    for (name, at) in [("received", waiting.received), ("timestamp", report.timestamp)] {
        if let Some(at) = time(at) {
            set(name, at);
        }
    }
    if let Some(doubts) = doubt(waiting.doubts) {
        set("doubt", doubts);
    }
    Value::Object(entry)
}

fn record(record: &AuditRecord) -> Value {
    let (kind, key, detail) = said(&record.kind);
    let mut entry = Map::new();
    let mut set = |name: &str, value: Value| drop(entry.insert(name.to_owned(), value));
    set("number", json!(record.number.to_string()));
    set("kind", json!(kind));
    set("left-out", json!(record.left_out.to_string()));
    if let Some(at) = time(record.at) {
        set("time", at);
    }
    let (cs_id, csci_id) = key;
    if let Some(cs_id) = cs_id {
        set("cs-id", service(cs_id));
    }
    if let Some(csci_id) = csci_id {
        set("csci-id", instance(csci_id));
    }
    if let Some(detail) = detail {
        set("detail", text(&detail));
    }
    Value::Object(entry)
}

/// What it is of, whom it is about, and more in words.
fn said(kind: &AuditKind) -> (&'static str, (Option<CsId>, Option<CsciId>), Option<String>) {
    let of = |key: &InstanceKey| (Some(key.cs_id), Some(key.csci_id));
    match kind {
        AuditKind::Authentication(failure) => {
            let detail = format!("{}: {}", failure.peer, failure.reason);
            ("authentication", (None, failure.claimed), Some(detail))
        }
        AuditKind::Refused { key, refusal } => ("refused", of(key), Some(refusal.to_string())),
        AuditKind::Flagged { key, doubts } => ("flagged", of(key), Some(doubts.to_string())),
        AuditKind::TooOften { key } => ("too-often", of(key), None),
        AuditKind::Released { key, id } => ("released", of(key), Some(format!("report {id}"))),
        AuditKind::Dropped { key, id } => ("dropped", of(key), Some(format!("report {id}"))),
        AuditKind::Removed { key } => ("removed", of(key), None),
    }
}

fn service(cs_id: CsId) -> Value {
    identity(cs_id.as_number(), &cs_id)
}

fn instance(csci_id: CsciId) -> Value {
    identity(csci_id.as_number(), &csci_id)
}
