//! One instance of one service, and the records of it.

use super::{Change, Refreshed};
use crate::cps::config::StaticMetric;
use cats_engine_types::{CsciId, Gas, Health, Micros, Price, Score};
use std::cmp::Reverse;
use std::time::Instant;

/// One instance of one service.
#[derive(Debug, Clone)]
pub struct Row {
    /// The instance.
    pub csci_id: CsciId,
    /// The record that comes first of those that may select; nothing where there is none.
    record: Option<Record>,
    /// The others, in the order in which they come.
    others: Option<Box<Others>>,
    /// Slots of flows that no report of a C-SMA has yet.
    pub reserved: u32,
    /// Slots of all flows.
    pub held: u32,
}

#[derive(Debug, Clone, Default)]
struct Others {
    records: Vec<Record>,
    /// C-SMAs that advertise the instance without being authorised to.
    unauthorised: Vec<AgentIx>,
}

/// A C-SMA by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentIx(u16);

impl AgentIx {
    pub(in crate::cps) fn new(number: u16) -> Self {
        Self(number)
    }

    pub(in crate::cps) fn at(self) -> usize {
        usize::from(self.0)
    }
}

/// Where a record came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The configuration. It never accounts for flows, so they keep their reservations to the end.
    Static,
    /// A C-SMA.
    Agent(AgentIx),
}

/// What is known of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where it came from.
    pub source: Source,
    /// From when on it is no longer valid, unless its C-SMA refreshed it since; absent: never.
    pub(in crate::cps) expires: Option<Instant>,
    /// When the report was taken that it rests on.
    pub taken: Option<Instant>,
    /// The values; those that only the configuration has are in every record.
    pub metric: StaticMetric,
}

impl Record {
    /// Whether it is still valid.
    pub(in crate::cps) fn is_valid(&self, now: Instant, refreshed: &Refreshed) -> bool {
        self.expires.is_none_or(|expires| now < expires)
            || self.expiry(refreshed).is_none_or(|expires| now < expires)
    }

    pub(in crate::cps) fn expiry(&self, refreshed: &Refreshed) -> Option<Instant> {
        let expires = self.expires?;
        match (self.source, self.metric.valid_for) {
            (Source::Agent(agent), Some(valid_for)) => refreshed.extend(agent, expires, valid_for),
            (Source::Agent(_), None) | (Source::Static, _) => Some(expires),
        }
    }

    /// Whether it ends flows that are established: the operator's word does. What a C-SMA says of slots and health is
    /// a metric, which decides on new flows alone: it says that too of a site that it merely does not hear (CP-17).
    pub(in crate::cps) fn ends_flows(&self, now: Instant, refreshed: &Refreshed) -> bool {
        match self.source {
            Source::Static => !self.health().admits() && self.is_valid(now, refreshed),
            Source::Agent(_) => false,
        }
    }

    /// Slots as reported.
    pub fn gas(&self) -> Gas {
        self.metric.gas
    }

    /// Time for one request.
    pub fn computing_time(&self) -> Micros {
        self.metric.computing_time
    }

    /// Health.
    pub fn health(&self) -> Health {
        self.metric.health
    }

    /// Price of one request.
    pub fn price(&self) -> Option<Price> {
        self.metric.price
    }

    /// Reputation of the site.
    pub fn reputation(&self) -> Option<Score> {
        self.metric.reputation
    }

    /// Security level of the site.
    pub fn security_level(&self) -> Option<Score> {
        self.metric.security_level
    }

    /// What only the configuration says.
    fn take_over(&mut self, fixed: Option<&StaticMetric>) {
        let metric = &mut self.metric;
        metric.priority = fixed.and_then(|fixed| fixed.priority);
        metric.affinity = fixed.and_then(|fixed| fixed.affinity);
        metric.delay = fixed.and_then(|fixed| fixed.delay);
        metric.service_ratio = fixed.and_then(|fixed| fixed.service_ratio);
        metric.memory_ratio = fixed.and_then(|fixed| fixed.memory_ratio);
    }

    /// Smaller comes first: C-SMAs before the configuration, the report that was taken last, then the smaller number.
    fn rank(&self) -> (bool, Reverse<Option<Instant>>, u16) {
        match self.source {
            Source::Static => (true, Reverse(None), 0),
            Source::Agent(AgentIx(number)) => (false, Reverse(self.taken), number),
        }
    }
}

impl Row {
    pub(super) fn new(csci_id: CsciId) -> Self {
        Self { csci_id, record: None, others: None, reserved: 0, held: 0 }
    }

    /// The records that may select, in the order in which they come.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.record.iter().chain(self.others.iter().flat_map(|others| &others.records))
    }

    /// C-SMAs that advertise the instance without being authorised to.
    pub fn unauthorised(&self) -> &[AgentIx] {
        self.others.as_ref().map_or(&[], |others| others.unauthorised.as_slice())
    }

    /// The record that selects: the first valid one, else the first one.
    pub(in crate::cps) fn selecting(&self, now: Instant, refreshed: &Refreshed) -> Option<&Record> {
        let first = self.record.as_ref()?;
        match &self.others {
            Some(others) if !first.is_valid(now, refreshed) => {
                Some(others.records.iter().find(|record| record.is_valid(now, refreshed)).unwrap_or(first))
            }
            Some(_) | None => Some(first),
        }
    }

    /// Slots that are not free although this record says so.
    pub fn reserved_of(&self, record: &Record) -> u32 {
        match record.source {
            Source::Static => self.held,
            Source::Agent(_) => self.reserved,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.record.is_none() && self.others.is_none() && self.held == 0
    }

    pub(super) fn static_record(&self) -> Option<&Record> {
        self.records().find(|record| record.source == Source::Static)
    }

    /// Takes the configuration's record; true if anything changed.
    pub(super) fn set_static(&mut self, record: Option<Record>) -> bool {
        let mut records = self.take_records();
        let before = records.iter().position(|known| known.source == Source::Static);
        let before = before.map(|at| records.remove(at));
        let changed = before != record;
        for agent in &mut records {
            agent.take_over(record.as_ref().map(|record| &record.metric));
        }
        records.extend(record);
        self.put_records(records);
        changed
    }

    /// Takes what a C-SMA says; true if a record changed in what it says.
    pub(super) fn set(&mut self, agent: AgentIx, change: Change) -> bool {
        let source = Source::Agent(agent);
        let alone = self.others.is_none() && self.record.as_ref().is_none_or(|known| known.source == source);
        if let (true, Change::Record(record)) = (alone, &change) {
            // The usual case, without a list.
            let before = self.record.replace(record.clone());
            return before.is_none_or(|before| before.metric != record.metric);
        }
        let unauthorised = matches!(change, Change::Unauthorised);
        if unauthorised != self.unauthorised().contains(&agent) {
            let others = self.others.get_or_insert_default();
            if unauthorised {
                others.unauthorised.push(agent);
            } else {
                others.unauthorised.retain(|known| *known != agent);
            }
        }
        let mut records = self.take_records();
        let before = records.iter().position(|known| known.source == source);
        let before = before.map(|at| records.remove(at));
        let after = match change {
            Change::Record(mut record) => {
                let fixed = records.iter().find(|known| known.source == Source::Static);
                record.take_over(fixed.map(|fixed| &fixed.metric));
                Some(record)
            }
            Change::Unauthorised | Change::Gone => None,
        };
        let changed =
            before.as_ref().map(|record| &record.metric) != after.as_ref().map(|record| &record.metric);
        records.extend(after);
        self.put_records(records);
        changed
    }

    fn take_records(&mut self) -> Vec<Record> {
        let mut records =
            self.others.as_mut().map(|others| std::mem::take(&mut others.records)).unwrap_or_default();
        records.extend(self.record.take());
        records
    }

    fn put_records(&mut self, mut records: Vec<Record>) {
        records.sort_by_key(Record::rank);
        let mut records = records.into_iter();
        self.record = records.next();
        let records: Vec<Record> = records.collect();
        match &mut self.others {
            Some(others) => others.records = records,
            None if records.is_empty() => {}
            None => self.others = Some(Box::new(Others { records, unauthorised: Vec::new() })),
        }
        if self
            .others
            .as_ref()
            .is_some_and(|others| others.records.is_empty() && others.unauthorised.is_empty())
        {
            self.others = None;
        }
    }
}

pub(super) fn position(rows: &[Row], csci_id: CsciId) -> Result<usize, usize> {
    rows.binary_search_by_key(&csci_id, |row| row.csci_id)
}
