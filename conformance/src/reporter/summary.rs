//! The outcome, for people and for programs.

use super::fault::{Due, Fault};
use super::ledger::Totals;
use super::settings::{Channel, Format};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// What was sent, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Summary {
    /// `grpc`, `rest` or `mqtt`.
    pub over: String,
    /// How long it took.
    pub seconds: f64,
    /// Reports of one kind each: the honest ones, and those of each fault.
    pub reports: Vec<Line>,
    /// Refused as too often, and taken in later all the same.
    pub taken_later: u64,
    /// Answers to what was not asked.
    pub unmatched: u64,
    /// Full reports that the agent asked for.
    pub pulls: u64,
    /// The least time between routine reports that the agent asked for last.
    pub pace_ms: Option<u64>,
    /// Round-trip time that half of the acknowledged reports do not exceed.
    pub round_trip_p50_us: Option<u64>,
    /// Round-trip time that 99 of a hundred do not exceed.
    pub round_trip_p99_us: Option<u64>,
    /// Connections that were there.
    pub connected: u64,
    /// Why connections ended, or did not come about.
    pub disconnected: BTreeMap<String, u64>,
    /// What is not as it is to be.
    #[serde(rename = "faults")]
    pub wrong: Vec<String>,
}

/// Reports of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Line {
    /// `honest`, or the fault.
    pub kind: String,
    /// Sent.
    pub sent: u64,
    /// Taken in, by the agent's own word.
    pub acknowledged: u64,
    /// Refused, by reason.
    pub refused: Vec<Refused>,
    /// Whose connection ended before they were answered.
    pub lost: u64,
    /// Without an answer at the end.
    pub unanswered: u64,
}

/// Reports that were refused for one reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Refused {
    /// As the agent names it; `http-STATUS` or `disconnected` where a request or stream was refused as a whole.
    pub reason: String,
    /// How many.
    pub count: u64,
    /// The words of the first.
    pub detail: String,
}

impl Line {
    /// How many were refused.
    pub fn refused(&self) -> u64 {
        self.refused.iter().map(|refused| refused.count).sum()
    }
}

impl Summary {
    pub(super) fn new(totals: &Totals, over: Channel, took: Duration) -> Self {
        let line = |(fault, sent): (&Option<Fault>, &u64)| line(totals, over, *fault, *sent);
        let mut summary = Self {
            over: match over {
                Channel::Grpc => "grpc",
                Channel::Rest => "rest",
                Channel::Mqtt => "mqtt",
            }
            .to_owned(),
            seconds: took.as_secs_f64(),
            reports: totals.sent.iter().map(line).collect(),
            taken_later: totals.taken_later,
            unmatched: totals.unmatched,
            pulls: totals.pulls,
            pace_ms: totals.pace_ms,
            round_trip_p50_us: totals.round_trip_us(50),
            round_trip_p99_us: totals.round_trip_us(99),
            connected: totals.connected,
            disconnected: totals.disconnected.clone(),
            wrong: Vec::new(),
        };
        summary.wrong = wrong(totals, over, &summary);
        summary
    }

    /// The reports of one kind: `honest`, or a fault.
    pub fn of(&self, kind: &str) -> Option<&Line> {
        self.reports.iter().find(|line| line.kind == kind)
    }

    /// What is not as it is to be: honest reports that were refused or not answered, hostile ones that were taken.
    pub fn faults(&self) -> Vec<String> {
        self.wrong.clone()
    }

    /// As it is asked for.
    pub fn print(&self, format: Format) -> String {
        match format {
            Format::Json => serde_json::to_string_pretty(self).unwrap_or_default(),
            Format::Table => self.table(),
        }
    }

    fn table(&self) -> String {
        let mut text = format!(
            "{:<16} {:>9} {:>12} {:>9} {:>9} {:>10}\n",
            "reports", "sent", "acknowledged", "refused", "lost", "unanswered"
        );
        // Writing to a text cannot fail.
        for line in &self.reports {
            let _ = writeln!(
                text,
                "{:<16} {:>9} {:>12} {:>9} {:>9} {:>10}",
                line.kind,
                line.sent,
                line.acknowledged,
                line.refused(),
                line.lost,
                line.unanswered
            );
        }
        for line in &self.reports {
            for refused in &line.refused {
                let Refused { reason, count, detail } = refused;
                let _ = writeln!(text, "  {}: {count} {reason}: {detail}", line.kind);
            }
        }
        for (reason, count) in &self.disconnected {
            let _ = writeln!(text, "  disconnected {count} times: {reason}");
        }
        let sent: u64 = self.reports.iter().map(|line| line.sent).sum();
        #[allow(clippy::cast_precision_loss)] // a rate, not a count
        let rate = sent as f64 / self.seconds.max(f64::MIN_POSITIVE);
        let _ = write!(text, "{rate:.0} reports a second for {:.1} s", self.seconds);
        if let (Some(half), Some(most)) = (self.round_trip_p50_us, self.round_trip_p99_us) {
            let _ = write!(text, ", acknowledged within {half} us (half) and {most} us (99 %)");
        }
        let others =
            [("pulls", self.pulls), ("taken later", self.taken_later), ("unmatched answers", self.unmatched)];
        for (name, count) in others.iter().filter(|(_, count)| *count > 0) {
            let _ = write!(text, ", {name}: {count}");
        }
        if let Some(pace) = self.pace_ms {
            let _ = write!(text, ", pace: {pace} ms");
        }
        text
    }
}

fn line(totals: &Totals, over: Channel, fault: Option<Fault>, sent: u64) -> Line {
    let of = |counts: &BTreeMap<Option<Fault>, u64>| counts.get(&fault).copied().unwrap_or_default();
    let refused: Vec<Refused> = totals
        .refused
        .iter()
        .filter(|((known, _), _)| *known == fault)
        .map(|((_, reason), (count, detail))| Refused {
            reason: reason.clone(),
            count: *count,
            detail: detail.clone(),
        })
        .collect();
    let (acknowledged, lost) = (of(&totals.acknowledged), of(&totals.lost));
    let answered = acknowledged + lost + refused.iter().map(|refused| refused.count).sum::<u64>();
    Line {
        kind: fault.map_or_else(|| "honest".to_owned(), Fault::name),
        sent,
        acknowledged,
        refused,
        lost,
        unanswered: if over == Channel::Mqtt { 0 } else { sent.saturating_sub(answered) },
    }
}

fn wrong(totals: &Totals, over: Channel, summary: &Summary) -> Vec<String> {
    let mut found = Vec::new();
    if over == Channel::Mqtt {
        let sent: u64 = totals.sent.values().sum();
        if totals.published != sent {
            found.push(format!("the broker confirmed {} of {sent} reports", totals.published));
        }
        return found;
    }
    for (fault, line) in totals.sent.keys().zip(&summary.reports) {
        let due = fault.map_or(Due::Taken, |fault| fault.due(over));
        let (kind, refused) = (&line.kind, line.refused());
        if due == Due::Taken && refused > 0 {
            found.push(format!("{kind}: {refused} were refused"));
        }
        if due == Due::Refused && line.acknowledged > 0 {
            found.push(format!("{kind}: {} were taken in", line.acknowledged));
        }
        if line.unanswered > 0 {
            found.push(format!("{kind}: {} were not answered", line.unanswered));
        }
    }
    if totals.sent.is_empty() {
        found.push("nothing was sent".to_owned());
    }
    found
}
