//! What the metric agent tells of.

use super::{AGENT, Alarms, Kind, entry, place};
use crate::engine::Now;
use crate::engine::agent::AgentRole;
use cats_engine_core::sma::northbound::Alarm as PeerAlarm;
use cats_engine_core::sma::{Alarm, AuditKind, AuditRecord, AuthenticationFailure, Refusal};

/// Contact instances that are named where many are meant.
const NAMED: usize = 3;

impl Alarms {
    /// The machine tells of one.
    pub(in crate::engine) fn follow_agent(&mut self, alarm: &Alarm, raised: bool, now: Now) {
        match (alarm, raised) {
            (Alarm::ClockSkew { key, by, ahead }, true) => {
                self.skewed.insert(*key, (*by, *ahead));
                self.tell_clocks(now);
            }
            (Alarm::ClockSkew { key, .. }, false) => {
                self.skewed.remove(key);
                self.tell_clocks(now);
            }
            (Alarm::Overload, true) => {
                let text = "contact instances report faster than reports are taken in, so that these wait for their \
                            turn: raise metric-agent/rates/total-rate, or have them report less often";
                self.raise(Kind::Overload, &place(AGENT), |_| text.to_owned(), now);
            }
            (Alarm::Overload, false) => self.clear(Kind::Overload, &place(AGENT)),
        }
    }

    fn tell_clocks(&mut self, now: Now) {
        let named = self.skewed.iter().take(NAMED).map(|(key, (by, ahead))| {
            format!(
                "{key} by {by:?} {}",
                if *ahead { "ahead" } else { "behind, or its reports come so late" }
            )
        });
        let named: Vec<String> = named.collect();
        let more = match self.skewed.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let text = format!("clocks of contact instances are off: {}{more}. Set them", named.join("; "));
        self.only(Kind::InstanceClocks, (!named.is_empty()).then(|| (place(AGENT), text)), now);
    }

    /// The machine tells of a path selector; `reason` says why there is no connection.
    pub(in crate::engine) fn follow_peer(
        &mut self,
        alarm: &PeerAlarm,
        raised: bool,
        reason: Option<&str>,
        now: Now,
    ) {
        let (kind, peer, text) = match alarm {
            PeerAlarm::Unreachable { peer } => {
                let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                let text = format!(
                    "path selector {peer} is not reached, and tried again{why}. What it was told expires there"
                );
                (Kind::Unreachable, peer, text)
            }
            PeerAlarm::BufferOverrun { peer } => {
                let text = format!(
                    "changes for path selector {peer} were dropped, since more than metric-agent/northbound/buffer \
                     waited; it gets the whole view once it is reached"
                );
                (Kind::BufferOverrun, peer, text)
            }
        };
        let resource = entry("cats-sma:metric-agent/path-selectors/status", peer);
        match raised {
            true => self.raise(kind, &resource, |_| text, now),
            false => self.clear(kind, &resource),
        }
    }

    /// Something is put on record.
    pub(in crate::engine) fn follow_audit(&mut self, record: &AuditRecord, now: Now) {
        match &record.kind {
            AuditKind::Authentication(AuthenticationFailure { peer, claimed, reason }) => {
                let as_whom = claimed.map(|claimed| format!(" as {claimed}")).unwrap_or_default();
                let text = |times| {
                    format!(
                        "senders of reports did not prove who they are ({times} so far); the last one was \
                         {peer}{as_whom}: {reason}. See metric-agent/audit"
                    )
                };
                self.raise(Kind::Authentication, &place(AGENT), text, now);
            }
            AuditKind::Refused {
                key,
                refusal: refusal @ (Refusal::Unauthorised { .. } | Refusal::TooManyServices { .. }),
            } => {
                let text = |times| {
                    format!(
                        "reports were refused since their senders may not send them ({times} so far); the last one was \
                         of {key}: {refusal}. See metric-agent/audit"
                    )
                };
                self.raise(Kind::Unauthorised, &place(AGENT), text, now);
            }
            AuditKind::Refused { .. }
            | AuditKind::Flagged { .. }
            | AuditKind::TooOften { .. }
            | AuditKind::Released { .. }
            | AuditKind::Dropped { .. }
            | AuditKind::Removed { .. } => {}
        }
    }

    /// The metric agent is gone, and all that it told of.
    pub(in crate::engine) fn end_agent(&mut self) {
        self.skewed.clear();
        self.end(&[
            Kind::InstanceClocks,
            Kind::Overload,
            Kind::Authentication,
            Kind::Unauthorised,
            Kind::Quarantine,
            Kind::CacheFull,
            Kind::Unreachable,
            Kind::BufferOverrun,
        ]);
    }

    pub(super) fn look_at_agent(&mut self, role: Option<&AgentRole>, now: Now) {
        let quarantine = role.and_then(|role| Some((place(AGENT), quarantine(role)?)));
        self.only(Kind::Quarantine, quarantine, now);
        let full = role.and_then(|role| Some((place(AGENT), full(role)?)));
        self.only(Kind::CacheFull, full, now);
    }
}

fn quarantine(role: &AgentRole) -> Option<String> {
    let (waiting, pushed_out) = role.sma.quarantine_size();
    let most = role.sma.config().quarantine.max_reports;
    let end = "release or drop them, or have metric-agent/validation flag such reports";
    match waiting {
        0 => None,
        _ if waiting >= most => Some(format!(
            "the quarantine is full: {waiting} reports wait for an operator, and {pushed_out} were dropped for want of \
             room so far; {end}"
        )),
        _ => Some(format!("reports in doubt wait for an operator: {waiting} of {most} that may; {end}")),
    }
}

fn full(role: &AgentRole) -> Option<String> {
    let most = role.sma.config().cache.max_entries;
    (role.sma.live() >= most).then(|| {
        format!(
            "there are metrics of {most} contact instances, and no room for more: those that were heard least \
             recently give way. Raise metric-agent/cache/max-entries"
        )
    })
}
