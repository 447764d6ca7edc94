//! What is reported next, and when.

use super::fault::Fault;
use super::settings::Settings;
use super::shape::{Values, Walk};
use cats_engine_types::{
    CsId, CsciId, Freshness, Health, Locator, Report, ReportCause, ReportKind, ReportedMetrics, UnixMicros,
};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How far a clock is off that is off.
const SKEW: Duration = Duration::from_secs(3600);

/// Reports more for each one in a flood.
const FLOOD: u32 = 9;

/// A report before it is encoded.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// Who sends it, whatever it says.
    pub(super) sender: CsciId,
    /// What it says.
    pub(super) report: Report,
    /// What is wrong with it, if anything is.
    pub(super) fault: Option<Fault>,
    /// Counts hostile reports, to take turns by.
    pub(super) turn: u64,
}

/// The reports of the instances of one connection.
#[derive(Debug)]
pub(super) struct Load {
    settings: Arc<Settings>,
    members: Vec<Member>,
    /// An instance that is none of this connection's.
    stranger: CsciId,
    epoch: u64,
    started: Instant,
    until: Option<Instant>,
    /// Since when, and from which report on, the rate holds.
    pace: (Instant, u64),
    honest: u64,
    hostile: u64,
}

#[derive(Debug)]
struct Member {
    id: CsciId,
    sequence: u64,
    walk: Walk,
    /// What was said last of each service.
    said: Vec<Option<Values>>,
}

impl Load {
    /// Of these instances, from now on.
    pub(super) fn new(settings: Arc<Settings>, instances: &[CsciId], stranger: CsciId, now: Instant) -> Self {
        let member = |id: &CsciId| Member {
            id: *id,
            sequence: 0,
            walk: Walk::new(settings.seed.wrapping_mul(0x1_0000_0000).wrapping_add(number(*id))),
            said: vec![None; settings.services.len()],
        };
        let until = settings.duration.and_then(|seconds| now.checked_add(Duration::from_secs_f64(seconds)));
        Self {
            members: instances.iter().map(member).collect(),
            stranger,
            epoch: since_1970().as_nanos().try_into().unwrap_or(u64::MAX),
            started: now,
            until,
            pace: (now, 0),
            honest: 0,
            hostile: 0,
            settings,
        }
    }

    /// When the next report is due; nothing when there is no other.
    pub(super) fn due(&self) -> Option<Instant> {
        let round = self.round();
        if self.settings.count.is_some_and(|count| self.honest >= count.saturating_mul(round)) {
            return None;
        }
        let (since, first) = self.pace;
        let due = match self.settings.rate {
            0.0 => since,
            #[allow(clippy::cast_precision_loss)] // a schedule, not a count
            rate => {
                let seconds = (self.honest - first) as f64 / (rate * round as f64);
                since.checked_add(Duration::from_secs_f64(seconds))?
            }
        };
        let over = |until: Instant| due >= until || Instant::now() >= until;
        (!self.until.is_some_and(over)).then_some(due)
    }

    /// The first instance.
    pub(super) fn first(&self) -> Option<CsciId> {
        self.members.first().map(|member| member.id)
    }

    /// The agent knows nothing of what was said before: all is told in full, and nothing is made up for.
    pub(super) fn begin_anew(&mut self, now: Instant) {
        self.pace = (now, self.honest);
        for member in &mut self.members {
            member.said.fill(None);
        }
    }

    /// The reports that are due, in order: a batch of honest ones at most, each followed by what goes with it.
    pub(super) fn take(&mut self, now: Instant) -> Vec<Draft> {
        let mut drafts = Vec::new();
        for _ in 0..self.settings.batch {
            match self.due() {
                Some(due) if due <= now => self.next(now, &mut drafts),
                Some(_) | None => break,
            }
        }
        drafts
    }

    /// Full reports of an instance that was asked for them; none of one that is not here.
    pub(super) fn pulled(&mut self, id: CsciId, now: Instant) -> Vec<Draft> {
        let Some(at) = self.members.iter().position(|member| member.id == id) else { return Vec::new() };
        let services = self.settings.services.clone();
        let full = |(of, service): (usize, &CsId)| {
            if let Some(said) = self.members.get_mut(at).and_then(|member| member.said.get_mut(of)) {
                *said = None;
            }
            let mut draft = self.make(at, of, *service, now)?;
            draft.report.cause = ReportCause::Resync;
            Some(draft)
        };
        services.iter().enumerate().filter_map(full).collect()
    }

    /// Reports in a round of all instances and services.
    fn round(&self) -> u64 {
        (self.members.len() * self.settings.services.len()) as u64
    }

    fn next(&mut self, now: Instant, drafts: &mut Vec<Draft>) {
        let services = self.settings.services.len();
        let place = usize::try_from(self.honest % self.round().max(1)).unwrap_or(0);
        let (at, of) = (place / services, place % services);
        let Some(service) = self.settings.services.get(of).copied() else { return };
        self.honest += 1;
        let fault = match self.settings.faults.len() as u64 {
            0 => None,
            faults if self.honest.is_multiple_of(self.settings.every.into()) => {
                self.hostile += 1;
                let turn = usize::try_from((self.hostile - 1) % faults).unwrap_or(0);
                self.settings.faults.get(turn).copied()
            }
            _ => None,
        };
        // The one that comes too late has the earlier place.
        let skipped = (fault == Some(Fault::Reorder)).then(|| self.place(at)).flatten();
        let Some(honest) = self.make(at, of, service, now) else { return };
        let hostile = fault.map(|fault| self.spoil(at, &honest, fault, skipped));
        drafts.push(honest);
        drafts.extend(hostile.into_iter().flatten());
    }

    /// The next place among the reports of an instance.
    fn place(&mut self, at: usize) -> Option<Freshness> {
        let member = self.members.get_mut(at)?;
        member.sequence += 1;
        Some(Freshness { epoch: self.epoch, sequence: member.sequence })
    }

    /// An honest report.
    fn make(&mut self, at: usize, of: usize, cs_id: CsId, now: Instant) -> Option<Draft> {
        let freshness = self.place(at)?;
        let settings = Arc::clone(&self.settings);
        let periods = now.saturating_duration_since(self.started).as_secs_f64() / settings.period;
        let member = self.members.get_mut(at)?;
        let (gas, time) = (settings.gas, settings.computing_time * 1000.0);
        let values = settings.shape.at(periods, gas, time, &mut member.walk);
        let before = member.said.get_mut(of)?.replace(values);
        let base = before.filter(|_| settings.delta);
        let locator = settings.locator.filter(|_| base.is_none());
        let report = Report {
            kind: if base.is_some() { ReportKind::Delta } else { ReportKind::Full },
            cause: cause(before, values),
            cs_id,
            csci_id: member.id,
            locator: locator.map(|place| Locator { address: place.ip(), port: Some(place.port()) }),
            freshness,
            timestamp: UnixMicros(since_1970().as_micros().try_into().unwrap_or(u64::MAX)),
            ttl: settings.ttl.map(|seconds| Duration::from_secs(seconds.into())),
            metrics: metrics(&settings, base, values),
        };
        Some(Draft { sender: member.id, report, fault: None, turn: self.hostile })
    }

    /// What goes with an honest report.
    fn spoil(&mut self, at: usize, honest: &Draft, fault: Fault, skipped: Option<Freshness>) -> Vec<Draft> {
        let mut drafts = Vec::new();
        for _ in 0..if fault == Fault::Flood { FLOOD } else { 1 } {
            let mut draft =
                Draft { fault: Some(fault), turn: self.hostile / self.faults(), ..honest.clone() };
            let report = &mut draft.report;
            match fault {
                Fault::Replay => {}
                Fault::Reorder => report.freshness = skipped.unwrap_or(report.freshness),
                Fault::Nan
                | Fault::UnknownFields
                | Fault::MissingKey
                | Fault::WrongUnit
                | Fault::Flood
                | Fault::Oversize
                | Fault::BadSignature
                | Fault::OutOfRange
                | Fault::ClockAhead
                | Fault::ClockBehind
                | Fault::OtherInstance => {
                    report.freshness = self.place(at).unwrap_or(report.freshness);
                    alter(report, fault, draft.turn, self.stranger);
                }
            }
            drafts.push(draft);
        }
        drafts
    }

    fn faults(&self) -> u64 {
        (self.settings.faults.len() as u64).max(1)
    }
}

/// Changes what a report says, where that is the fault; the others are made when it is encoded.
fn alter(report: &mut Report, fault: Fault, turn: u64, stranger: CsciId) {
    let skew = u64::try_from(SKEW.as_micros()).unwrap_or(u64::MAX);
    let metrics = &mut report.metrics;
    match fault {
        Fault::OutOfRange => match turn % 5 {
            0 => metrics.gas = Some(1 << 32),
            1 => metrics.computing_time = Some(3_600_000_001),
            2 => metrics.price = Some(1 << 32),
            3 => metrics.reputation = Some(11),
            _ => metrics.security_level = Some(11),
        },
        Fault::ClockAhead => report.timestamp.0 = report.timestamp.0.saturating_add(skew),
        Fault::ClockBehind => report.timestamp.0 = report.timestamp.0.saturating_sub(skew),
        Fault::OtherInstance => report.csci_id = stranger,
        Fault::Replay
        | Fault::Reorder
        | Fault::Nan
        | Fault::UnknownFields
        | Fault::MissingKey
        | Fault::WrongUnit
        | Fault::Flood
        | Fault::Oversize
        | Fault::BadSignature => {}
    }
}

fn cause(before: Option<Values>, now: Values) -> ReportCause {
    match before {
        Some(before) if before.health != now.health => ReportCause::Health,
        Some(before) if before.gas > 0 && now.gas == 0 => ReportCause::Critical,
        Some(before) if before != now => ReportCause::Threshold,
        Some(_) | None => ReportCause::Heartbeat,
    }
}

fn metrics(settings: &Settings, base: Option<Values>, values: Values) -> ReportedMetrics {
    let changed = |differs: fn(&Values, &Values) -> bool| base.is_none_or(|base| differs(&base, &values));
    let full = base.is_none();
    ReportedMetrics {
        gas: changed(|a, b| a.gas != b.gas).then_some(values.gas),
        computing_time: changed(|a, b| a.computing_time_us != b.computing_time_us)
            .then_some(values.computing_time_us),
        health: changed(|a, b| a.health != b.health).then_some::<Health>(values.health),
        price: settings.price.filter(|_| full),
        reputation: settings.reputation.filter(|_| full),
        security_level: settings.security_level.filter(|_| full),
        ..ReportedMetrics::default()
    }
}

fn number(id: CsciId) -> u64 {
    id.as_number().unwrap_or_default().into()
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
