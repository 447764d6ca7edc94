//! Operational state as RFC 7951 documents, in pages.

use super::Engine;
use crate::plane::Plane;
use cats_engine_transport::management::StatePage;
use cats_engine_types::{Candidate, Decision, Encapsulation};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// List entries in a page where the request leaves it to us, and at most.
const PAGE: usize = 1000;

impl<P: Plane> Engine<P> {
    pub(super) fn state(
        &mut self,
        paths: &[String],
        limit: u32,
        page: Option<&str>,
    ) -> Result<StatePage, String> {
        let filter = Filter::new(paths)?;
        let limit = if limit == 0 { PAGE } else { (limit as usize).min(PAGE) };
        let mut cats = Map::new();
        let mut next = None;
        // Later pages hold only what is long.
        if page.is_none() && filter.wants(&["traffic-classifiers", "traffic-classifier"]) {
            self.classifiers(&mut cats);
        }
        if filter.wants(&["path-selector", "decisions", "decision"]) {
            next = self.decisions(&mut cats, &filter, limit, page)?;
        }
        let document = json!({ "ietf-routing:routing": { "ietf-cats:cats": cats } });
        let json = serde_json::to_vec(&document).map_err(|error| error.to_string())?;
        Ok(StatePage { json, next })
    }

    /// What the data plane counted for each service of this ingress.
    fn classifiers(&mut self, cats: &mut Map<String, Value>) {
        let Some(role) = &mut self.forwarder else { return };
        let (Some(plane), Some(ingress)) = (&mut role.plane, &role.desired.config.ingress) else { return };
        let counters = match plane.counters() {
            Ok(counters) => counters,
            Err(error) => {
                tracing::warn!(%error, "counters cannot be read");
                return;
            }
        };
        let mut tallies: BTreeMap<_, (u64, u64)> = BTreeMap::new();
        for (address, cs_id) in &ingress.services {
            let tally = counters.services.get(address).copied().unwrap_or_default();
            let sum = tallies.entry(*cs_id).or_default();
            sum.0 = sum.0.saturating_add(tally.packets);
            sum.1 = sum.1.saturating_add(tally.octets);
        }
        let configured = &self.config.cats.traffic_classifiers.traffic_classifier;
        let known = configured.values().map(|entry| entry.cs_id.to_string()).collect::<Vec<_>>();
        let entries: Vec<Value> = tallies
            .into_iter()
            // State stands below the configured entry.
            .filter(|(cs_id, _)| known.contains(&cs_id.to_string()))
            .map(|(cs_id, (packets, octets))| {
                json!({
                    "cs-id": identity(cs_id.as_number(), &cs_id),
                    "matched-packets": packets.to_string(),
                    "matched-bytes": octets.to_string(),
                })
            })
            .collect();
        if !entries.is_empty() {
            cats.insert("traffic-classifiers".to_owned(), json!({ "traffic-classifier": entries }));
        }
    }

    fn decisions(
        &self,
        cats: &mut Map<String, Value>,
        filter: &Filter,
        limit: usize,
        page: Option<&str>,
    ) -> Result<Option<String>, String> {
        let Some(role) = &self.selector else { return Ok(None) };
        let wanted = filter.keys("decision", "transaction");
        let mut decisions = role.cps.decisions().peekable();
        if let Some(last) = page {
            // What was behind a decision that has left the history has left it too.
            while decisions.next().is_some_and(|decision| decision.transaction.to_string() != last) {}
        }
        let mut entries = Vec::new();
        let mut last = None;
        for decision in decisions.by_ref() {
            let transaction = decision.transaction.to_string();
            if wanted.as_ref().is_none_or(|keys| keys.contains(&transaction)) {
                entries.push(encode(decision));
                last = Some(transaction);
            }
            if entries.len() == limit {
                break;
            }
        }
        let next = if decisions.peek().is_some() { last } else { None };
        if !entries.is_empty() {
            let selector = json!({ "decisions": { "decision": entries } });
            cats.insert("cats-cps:path-selector".to_owned(), selector);
        }
        Ok(next)
    }
}

/// A cs-id or csci-id: a union of a number and addresses.
fn identity(number: Option<u32>, text: &dyn std::fmt::Display) -> Value {
    number.map_or_else(|| json!(text.to_string()), Value::from)
}

fn encode(decision: &Decision) -> Value {
    let mut entry = json!({
        "transaction": decision.transaction.to_string(),
        "service": identity(decision.service.as_number(), &decision.service),
        "flow": decision.key.to_string(),
        "time": date_and_time(decision.at),
        "candidate": decision.candidates.iter().map(candidate).collect::<Vec<_>>(),
        "generations": generations(decision),
    });
    if let (Some(selected), Value::Object(members)) = (&decision.selected, &mut entry) {
        members.insert(
            "selected".to_owned(),
            json!({
                "csci-id": identity(selected.csci_id.as_number(), &selected.csci_id),
                "locator": selected.locator.to_string(),
                "egress": selected.egress.to_string(),
            }),
        );
    }
    if let (Some(path), Value::Object(members)) = (&decision.path, &mut entry) {
        let (kind, segments) = match &path.encapsulation {
            Encapsulation::None => ("none", Vec::new()),
            Encapsulation::Srv6 { mode, segments } => {
                let kind = match mode {
                    cats_engine_types::Encaps::Full => "srv6-encaps",
                    cats_engine_types::Encaps::Reduced => "srv6-encaps-red",
                };
                (kind, segments.as_slice().iter().map(ToString::to_string).collect())
            }
        };
        let delay = path.delay.0.to_string();
        let mut encoded = json!({ "encapsulation": kind, "delay-us": delay });
        if let (false, Value::Object(encoded)) = (segments.is_empty(), &mut encoded) {
            encoded.insert("segment".to_owned(), json!(segments));
        }
        members.insert("path".to_owned(), encoded);
    }
    entry
}

fn candidate(candidate: &Candidate) -> Value {
    let mut entry = json!({
        "csci-id": identity(candidate.csci_id.as_number(), &candidate.csci_id),
        "egress": candidate.egress.to_string(),
        "computing-us": candidate.computing.0.to_string(),
        "verdict": candidate.verdict.name(),
        "reason": candidate.verdict.to_string(),
    });
    if let Value::Object(members) = &mut entry {
        for (name, value) in [("network-us", candidate.network), ("total-us", candidate.total)] {
            if let Some(value) = value {
                members.insert(name.to_owned(), json!(value.0.to_string()));
            }
        }
    }
    entry
}

fn generations(decision: &Decision) -> Value {
    let of = &decision.generations;
    let mut entry = json!({
        "policy": of.policy.to_string(),
        "cst": of.cst.to_string(),
        "nst": of.nst.to_string(),
    });
    if let (Some(ted), Value::Object(members)) = (of.ted, &mut entry) {
        members.insert("ted".to_owned(), json!(ted.to_string()));
    }
    entry
}

/// RFC 3339 in UTC with microseconds.
fn date_and_time(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let (second, micros) = (second % 60, since.subsec_micros());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// The Gregorian date of a day counted from 1970-01-01. Years begin in March here, so that the leap day is their last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

/// The paths of a request.
#[derive(Debug)]
struct Filter(Vec<Vec<Step>>);

#[derive(Debug)]
struct Step {
    name: String,
    keys: Vec<(String, String)>,
}

impl Filter {
    fn new(paths: &[String]) -> Result<Self, String> {
        paths
            .iter()
            .map(|path| steps(path).ok_or_else(|| format!("malformed path {path}")))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether something at or below a node of ours is asked for, or something that holds it.
    fn wants(&self, node: &[&str]) -> bool {
        let full: Vec<&str> = ["routing", "cats"].into_iter().chain(node.iter().copied()).collect();
        self.0.is_empty()
            || self.0.iter().any(|path| path.iter().zip(&full).all(|(step, name)| step.name == *name))
    }

    /// The keys that entries of a list are asked for by; nothing: all entries.
    fn keys(&self, list: &str, key: &str) -> Option<Vec<String>> {
        if self.0.is_empty() {
            return None;
        }
        let of = |path: &Vec<Step>| {
            let step = path.iter().find(|step| step.name == list)?;
            step.keys.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
        };
        self.0.iter().map(of).collect()
    }
}

/// Splits an instance path; module names are left out.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('/')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let end = rest.find(['/', '[']).unwrap_or(rest.len());
        let mut step = Step { name: local(rest.get(..end)?).to_owned(), keys: Vec::new() };
        rest = rest.get(end..)?;
        while let Some(predicate) = rest.strip_prefix('[') {
            let (name, value) = predicate.split_once('=')?;
            let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
            let (value, after) = value.get(1..)?.split_once(quote)?;
            step.keys.push((local(name.trim()).to_owned(), value.to_owned()));
            rest = after.strip_prefix(']')?;
        }
        steps.push(step);
        rest = match rest.strip_prefix('/') {
            Some("") => return None,
            Some(after) => after,
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some(steps)
}

fn local(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, local)| local)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_rfc_3339() {
        let at = |seconds, micros: u32| date_and_time(UNIX_EPOCH + Duration::new(seconds, micros * 1000));
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(at(951_826_554, 5), "2000-02-29T12:15:54.000005Z");
        assert_eq!(at(1_795_989_599, 999_999), "2026-11-29T21:59:59.999999Z");
    }

    #[test]
    fn a_filter_takes_what_is_below_and_what_is_above_its_paths() {
        let filter = |paths: &[&str]| Filter::new(&paths.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>());
        let decision = ["path-selector", "decisions", "decision"];
        assert!(filter(&[]).unwrap().wants(&decision));
        let above = filter(&["/ietf-routing:routing/ietf-cats:cats/cats-cps:path-selector"]).unwrap();
        assert!(above.wants(&decision));
        assert!(!above.wants(&["traffic-classifiers", "traffic-classifier"]));
        let path = "/ietf-routing:routing/ietf-cats:cats/cats-cps:path-selector/decisions/\
                    decision[transaction='a/[b]']/reason";
        let below = filter(&[path]).unwrap();
        assert!(below.wants(&decision));
        assert_eq!(below.keys("decision", "transaction"), Some(vec!["a/[b]".to_owned()]));
        assert!(filter(&["routing"]).is_err());
        assert!(filter(&["/a[b=c]"]).is_err());
    }
}
