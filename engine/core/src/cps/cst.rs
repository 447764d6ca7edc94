//! The computing service table: what is known of each instance's capacity, by CS-ID and CSCI-ID (CP-30).
//!
//! Of one instance there may be several records side by side: the configuration's, and that of each C-SMA which
//! advertises it. The one that selects is
//! 1. of the records of C-SMAs that are authorised and valid, the one whose report was taken last; the rule is that a
//!    C-SMA's view wins over what is configured, also where it says that the instance has no slots or does not serve;
//! 2. else the configuration's, if it is valid, also after a withdrawal: an entry with GAS 0 serves the operator who
//!    wants to say something of an instance without being its source of metrics;
//! 3. else none: the instance is not eligible, its metrics expired.
//!
//! What the operator alone can say of an instance (priority, affinity, delay, service ratio, memory ratio) is the
//! configuration's with every record. A record of a source that is not authorised never selects; it is counted, so
//! that the reason is known. Which record comes first is settled when records change; a selection looks at others
//! only where the first one expired.

mod row;

pub use row::{AgentIx, Record, Row, Source};

use super::config::StaticMetric;
use cats_engine_types::{Changed, CsId, CsciId, Generation};
use row::position;
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};

/// An instance of a service.
pub type Key = (CsId, CsciId);

/// The table.
#[derive(Debug, Default)]
pub struct Cst {
    generation: Generation,
    services: FxHashMap<CsId, Vec<Row>>,
    refreshed: Refreshed,
    changed: Changed<Key>,
}

/// When each C-SMA last said that what it advertised holds on, by its number.
#[derive(Debug, Default)]
pub(super) struct Refreshed(Vec<Option<Instant>>);

impl Refreshed {
    /// Until when a record is valid that would end at `expires`; beyond what the clock can tell is without end.
    pub(super) fn extend(&self, agent: AgentIx, expires: Instant, valid_for: Duration) -> Option<Instant> {
        let Some(refreshed) = self.0.get(agent.at()).copied().flatten() else { return Some(expires) };
        refreshed.checked_add(valid_for).map(|later| later.max(expires))
    }
}

/// What becomes of an agent's record of an instance.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// It is this one.
    Record(Record),
    /// There is one, by a source that is not authorised.
    Unauthorised,
    /// There is none.
    Gone,
}

impl Cst {
    /// Counts up with each change of a record.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The instances of which a record came, changed or went. That one is no longer valid is nothing that happens: see
    /// [`Cst::expiry`].
    pub fn changed(&mut self) -> &mut Changed<Key> {
        &mut self.changed
    }

    /// The rows of a service, ordered by CSCI-ID.
    pub fn rows(&self, cs_id: CsId) -> &[Row] {
        self.services.get(&cs_id).map_or(&[], Vec::as_slice)
    }

    /// One row.
    pub fn row(&self, cs_id: CsId, csci_id: CsciId) -> Option<&Row> {
        let rows = self.services.get(&cs_id)?;
        rows.get(position(rows, csci_id).ok()?)
    }

    /// The services that have rows, ordered.
    pub fn services(&self) -> Vec<CsId> {
        let mut services: Vec<CsId> = self.services.keys().copied().collect();
        services.sort_unstable();
        services
    }

    /// The record that selects, valid or not.
    pub fn selecting<'a>(&self, row: &'a Row, now: Instant) -> Option<&'a Record> {
        row.selecting(now, &self.refreshed)
    }

    /// Until when a record is valid; absent: without end.
    pub fn expiry(&self, record: &Record) -> Option<Instant> {
        record.expiry(&self.refreshed)
    }

    /// Whether a record is valid.
    pub fn is_valid(&self, record: &Record, now: Instant) -> bool {
        record.is_valid(now, &self.refreshed)
    }

    pub(super) fn refreshed(&self) -> &Refreshed {
        &self.refreshed
    }

    /// Takes the static metrics of a new configuration. An entry that did not change keeps its end of validity;
    /// reservations and the records of C-SMAs stay.
    pub(super) fn configure(&mut self, metrics: &[StaticMetric], now: Instant) {
        let mut changed = false;
        let wanted = |cs_id: CsId, csci_id: CsciId| {
            metrics.binary_search_by_key(&(cs_id, csci_id), |metric| (metric.cs_id, metric.csci_id)).is_ok()
        };
        for (cs_id, rows) in &mut self.services {
            for row in rows.iter_mut() {
                if row.static_record().is_some() && !wanted(*cs_id, row.csci_id) {
                    changed |= row.set_static(None);
                    self.changed.note((*cs_id, row.csci_id));
                }
            }
            rows.retain(|row| !row.is_empty());
        }
        for metric in metrics {
            let Some(row) = self.entry((metric.cs_id, metric.csci_id)) else { continue };
            if row.static_record().is_some_and(|known| known.metric == *metric) {
                continue;
            }
            changed |= row.set_static(Some(Record {
                source: Source::Static,
                // Beyond what the clock can tell is without end.
                expires: metric.valid_for.and_then(|valid_for| now.checked_add(valid_for)),
                taken: None,
                metric: metric.clone(),
            }));
            self.changed.note((metric.cs_id, metric.csci_id));
        }
        self.services.retain(|_, rows| !rows.is_empty());
        self.next_generation(changed);
    }

    /// Takes what changed of a C-SMA's records: each key once, best in order.
    pub(super) fn apply(&mut self, agent: AgentIx, changes: impl Iterator<Item = (Key, Change)>) {
        let mut changed = false;
        let mut changes = changes.peekable();
        while let Some(((cs_id, _), _)) = changes.peek() {
            let cs_id = *cs_id;
            let rows = self.services.entry(cs_id).or_default();
            let mut fresh: Vec<Row> = Vec::new();
            let (mut next, mut emptied) = (0, false);
            while let Some(((_, csci_id), change)) = changes.next_if(|((of, _), _)| *of == cs_id) {
                self.changed.note((cs_id, csci_id));
                // Where changes come in order, the row is the one behind the last.
                let at = match rows.get(next) {
                    Some(row) if row.csci_id == csci_id => Ok(next),
                    Some(_) | None => position(rows, csci_id),
                };
                match at.ok().and_then(|at| rows.get_mut(at)) {
                    Some(row) => {
                        next = at.unwrap_or(next) + 1;
                        changed |= row.set(agent, change);
                        emptied |= row.is_empty();
                    }
                    None => {
                        let mut row = Row::new(csci_id);
                        changed |= row.set(agent, change);
                        fresh.push(row);
                    }
                }
            }
            fresh.retain(|row| !row.is_empty());
            append(rows, fresh);
            if emptied {
                rows.retain(|row| !row.is_empty());
            }
            if rows.is_empty() {
                self.services.remove(&cs_id);
            }
        }
        self.next_generation(changed);
    }

    /// What a C-SMA advertised holds on from now.
    pub(super) fn refresh(&mut self, agent: AgentIx, now: Instant) {
        if self.refreshed.0.len() <= agent.at() {
            self.refreshed.0.resize(agent.at() + 1, None);
        }
        if let Some(refreshed) = self.refreshed.0.get_mut(agent.at()) {
            *refreshed = Some(now);
        }
    }

    fn next_generation(&mut self, changed: bool) {
        if changed {
            self.generation = self.generation.next();
        }
    }

    pub(super) fn reserve(&mut self, key: Key, slots: u32) {
        if let Some(row) = self.entry(key) {
            row.reserved = row.reserved.saturating_add(slots);
            row.held = row.held.saturating_add(slots);
        }
    }

    /// Slots that flows hold are in a report now.
    pub(super) fn account(&mut self, (cs_id, csci_id): Key, slots: u32) {
        let rows = self.services.get_mut(&cs_id);
        let row = rows.and_then(|rows| position(rows, csci_id).ok().and_then(|at| rows.get_mut(at)));
        if let Some(row) = row {
            row.reserved = row.reserved.saturating_sub(slots);
        }
    }

    /// Slots are free again, which no report had if `unreported`.
    pub(super) fn release(&mut self, (cs_id, csci_id): Key, slots: u32, unreported: bool) {
        let Some(rows) = self.services.get_mut(&cs_id) else { return };
        let Ok(at) = position(rows, csci_id) else { return };
        if let Some(row) = rows.get_mut(at) {
            row.held = row.held.saturating_sub(slots);
            if unreported {
                row.reserved = row.reserved.saturating_sub(slots);
            }
            if row.is_empty() {
                rows.remove(at);
            }
        }
    }

    /// The row, which is there from now on.
    fn entry(&mut self, (cs_id, csci_id): Key) -> Option<&mut Row> {
        let rows = self.services.entry(cs_id).or_default();
        let at = position(rows, csci_id).unwrap_or_else(|at| {
            rows.insert(at, Row::new(csci_id));
            at
        });
        rows.get_mut(at)
    }
}

/// Brings new rows in. Both lists are in order, as a rule one behind the other; else they are merged in one pass.
fn append(rows: &mut Vec<Row>, mut fresh: Vec<Row>) {
    let behind = match (rows.last(), fresh.first()) {
        (Some(last), Some(first)) => {
            last.csci_id < first.csci_id && fresh.is_sorted_by_key(|row| row.csci_id)
        }
        (_, None) => return,
        (None, Some(_)) => fresh.is_sorted_by_key(|row| row.csci_id),
    };
    rows.append(&mut fresh);
    if !behind {
        rows.sort_by_key(|row| row.csci_id);
    }
}

#[cfg(test)]
mod tests;
