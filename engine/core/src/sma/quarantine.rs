//! Reports that wait for an operator: listed, released, dropped by their number (SMA-4).

use super::InstanceKey;
use super::config::QuarantineConfig;
use super::validate::Doubts;
use cats_engine_types::{Report, Sample, UnixMicros};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Instant;

/// The number of a report in quarantine; never used twice while the C-SMA runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QuarantineId(pub u64);

impl fmt::Display for QuarantineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A report that waits for an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// Its number.
    pub id: QuarantineId,
    /// As it came.
    pub report: Report,
    /// What it would make of the SCI.
    pub sample: Sample,
    /// Why it waits.
    pub doubts: Doubts,
    /// Since when, for deadlines.
    pub since: Instant,
    /// Since when, for people.
    pub received: UnixMicros,
}

impl Quarantined {
    /// Whose it is.
    pub fn key(&self) -> InstanceKey {
        InstanceKey { cs_id: self.report.cs_id, csci_id: self.report.csci_id }
    }
}

/// Why a report is not released. It stays in quarantine, to be looked at and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// There is none with this number.
    #[error("no report {0} is in quarantine: it was released or dropped, or gave way to later ones")]
    Unknown(QuarantineId),
    /// A later report was taken in meanwhile, and holds.
    #[error("report {id} is older than what was taken in meanwhile; drop it")]
    Superseded {
        /// Which one.
        id: QuarantineId,
    },
    /// Its TTL is over.
    #[error("the TTL of report {id} is over: it says nothing of now; drop it")]
    Expired {
        /// Which one.
        id: QuarantineId,
    },
    /// The SCI is gone.
    #[error("the SCI of report {id} is not known any more; drop it")]
    Gone {
        /// Which one.
        id: QuarantineId,
    },
}

/// The reports that wait. Beyond its bounds the one that waits longest goes first.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    reports: BTreeMap<QuarantineId, Quarantined>,
    of_instance: BTreeMap<InstanceKey, BTreeSet<QuarantineId>>,
    last: u64,
    pushed_out: u64,
}

impl Quarantine {
    /// Takes a report in and answers its number.
    pub(super) fn add(
        &mut self,
        config: &QuarantineConfig,
        make: impl FnOnce(QuarantineId) -> Quarantined,
    ) -> QuarantineId {
        self.last += 1;
        let id = QuarantineId(self.last);
        let report = make(id);
        let of_instance = self.of_instance.entry(report.key()).or_default();
        of_instance.insert(id);
        let over =
            (of_instance.len() > config.max_reports_per_instance).then(|| of_instance.first()).flatten();
        let over = over.copied();
        self.reports.insert(id, report);
        if let Some(oldest) = over {
            self.push_out(oldest);
        }
        self.shrink(config);
        id
    }

    /// Lets the oldest go until the bound is kept.
    pub(super) fn shrink(&mut self, config: &QuarantineConfig) {
        while self.reports.len() > config.max_reports {
            let Some(oldest) = self.reports.keys().next().copied() else { return };
            self.push_out(oldest);
        }
    }

    fn push_out(&mut self, id: QuarantineId) {
        self.remove(id);
        self.pushed_out += 1;
    }

    pub(super) fn get(&self, id: QuarantineId) -> Option<&Quarantined> {
        self.reports.get(&id)
    }

    pub(super) fn remove(&mut self, id: QuarantineId) -> Option<Quarantined> {
        let report = self.reports.remove(&id)?;
        if let Some(of_instance) = self.of_instance.get_mut(&report.key()) {
            of_instance.remove(&id);
            if of_instance.is_empty() {
                self.of_instance.remove(&report.key());
            }
        }
        Some(report)
    }

    /// Those after a number, the oldest first.
    pub(super) fn after(&self, after: Option<QuarantineId>) -> impl Iterator<Item = &Quarantined> {
        let from = after.map_or(0, |id| id.0.saturating_add(1));
        self.reports.range(QuarantineId(from)..).map(|(_, report)| report)
    }

    pub(super) fn len(&self) -> usize {
        self.reports.len()
    }

    pub(super) fn of(&self, key: InstanceKey) -> usize {
        self.of_instance.get(&key).map_or(0, BTreeSet::len)
    }

    /// How many went for want of room.
    pub(super) fn pushed_out(&self) -> u64 {
        self.pushed_out
    }
}
