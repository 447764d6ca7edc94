//! The computing service table: what is known of each instance's capacity, by CS-ID and CSCI-ID (CP-30).

use super::config::StaticMetric;
use cats_engine_types::{CsId, CsciId, Gas, Generation, Health, Micros, Price, Score};
use rustc_hash::FxHashMap;
use std::time::Instant;

/// The table.
#[derive(Debug, Default)]
pub struct Cst {
    generation: Generation,
    services: FxHashMap<CsId, Vec<Row>>,
}

/// One instance of one service.
#[derive(Debug, Clone)]
pub struct Row {
    /// The instance.
    pub csci_id: CsciId,
    /// What is known of it; nothing where only reservations are left.
    pub record: Option<Record>,
    /// Slots that flows hold and no record accounts for.
    pub reserved: u32,
}

/// Where a record came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The configuration. It never accounts for flows, so they keep their reservations to the end.
    Static,
}

/// What is known of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where it came from.
    pub source: Source,
    /// From when on it is no longer valid; absent: never.
    pub expires: Option<Instant>,
    /// The values.
    pub metric: StaticMetric,
}

impl Record {
    /// Whether it is still valid.
    pub fn is_valid(&self, now: Instant) -> bool {
        self.expires.is_none_or(|expires| now < expires)
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
}

impl Cst {
    /// Counts up with each change of a record.
    pub fn generation(&self) -> Generation {
        self.generation
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

    /// Takes the static metrics of a new configuration. An entry that did not change keeps its end of validity;
    /// reservations stay.
    pub(super) fn configure(&mut self, metrics: &[StaticMetric], now: Instant) {
        let mut services: FxHashMap<CsId, Vec<Row>> = FxHashMap::default();
        let mut changed = false;
        for metric in metrics {
            let old = self.row(metric.cs_id, metric.csci_id);
            let known = old.and_then(|row| row.record.as_ref()).filter(|record| record.metric == *metric);
            changed |= known.is_none();
            let record = known.cloned().unwrap_or_else(|| Record {
                source: Source::Static,
                // Beyond what the clock can tell is without end.
                expires: metric.valid_for.and_then(|valid_for| now.checked_add(valid_for)),
                metric: metric.clone(),
            });
            let reserved = old.map_or(0, |row| row.reserved);
            let row = Row { csci_id: metric.csci_id, record: Some(record), reserved };
            services.entry(metric.cs_id).or_default().push(row);
        }
        for rows in services.values_mut() {
            rows.sort_by_key(|row| row.csci_id);
        }
        for (cs_id, rows) in &self.services {
            for row in rows {
                let kept = services.entry(*cs_id).or_default();
                if let Err(at) = position(kept, row.csci_id) {
                    changed |= row.record.is_some();
                    if row.reserved > 0 {
                        kept.insert(at, Row { csci_id: row.csci_id, record: None, reserved: row.reserved });
                    }
                }
            }
        }
        services.retain(|_, rows| !rows.is_empty());
        self.services = services;
        if changed {
            self.generation = self.generation.next();
        }
    }

    pub(super) fn reserve(&mut self, cs_id: CsId, csci_id: CsciId, slots: u32) {
        let rows = self.services.entry(cs_id).or_default();
        match position(rows, csci_id) {
            Ok(at) => {
                if let Some(row) = rows.get_mut(at) {
                    row.reserved = row.reserved.saturating_add(slots);
                }
            }
            Err(at) => rows.insert(at, Row { csci_id, record: None, reserved: slots }),
        }
    }

    pub(super) fn release(&mut self, cs_id: CsId, csci_id: CsciId, slots: u32) {
        let Some(rows) = self.services.get_mut(&cs_id) else { return };
        let Ok(at) = position(rows, csci_id) else { return };
        if let Some(row) = rows.get_mut(at) {
            row.reserved = row.reserved.saturating_sub(slots);
            if row.reserved == 0 && row.record.is_none() {
                rows.remove(at);
            }
        }
    }
}

fn position(rows: &[Row], csci_id: CsciId) -> Result<usize, usize> {
    rows.binary_search_by_key(&csci_id, |row| row.csci_id)
}
