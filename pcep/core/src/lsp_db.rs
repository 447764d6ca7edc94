//! The LSPs that headends report to a PCE (RFC 8231 sections 5.6 and 6.1).
//!
//! An LSP is known by its headend and its name: its number lasts for a session only. What a headend had reported before
//! stays when its session is lost, for a time, and until it has told everything again; what it does not tell again is gone.
//! It knows no session and computes nothing.

use crate::codec::Tlv;
use crate::codec::object::{LspFlags, PlspId};
use crate::codec::tlv::{Octets, SetupType, TlvValue};
use crate::errors::ErrorCode;
use crate::grammar::{Path, Report};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// An LSP as it was reported last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its number in the present session; absent: it was not reported in it.
    pub plsp: Option<PlspId>,
    /// How it is.
    pub flags: LspFlags,
    /// How it is set up.
    pub setup: SetupType,
    /// What else its headend says of it.
    pub tlvs: Vec<Tlv>,
    /// Its paths.
    pub paths: Vec<Path>,
}

impl Known {
    /// May we change it?
    pub fn is_delegated(&self) -> bool {
        self.plsp.is_some() && self.flags.contains(LspFlags::DELEGATE)
    }
}

/// How far a headend is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// It has told everything, and tells what changes.
    Done,
    /// It tells everything.
    Running,
    /// Its session is lost; after that time it is forgotten.
    Lost {
        /// When.
        until: Instant,
    },
}

/// What a report changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// An LSP is new.
    Added(Octets),
    /// One is other than before.
    Changed(Octets),
    /// One was told again.
    Unchanged(Octets),
    /// One is gone.
    Removed(Octets),
    /// The headend has told everything; these it did not tell again.
    Synchronised {
        /// Which are gone.
        removed: Vec<Octets>,
    },
    /// Nothing is known of what is said to be gone.
    Nothing,
}

#[derive(Debug)]
struct Headend {
    sync: Sync,
    lsps: BTreeMap<Octets, Known>,
    names: BTreeMap<PlspId, Octets>,
}

/// The bounds of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many LSPs a headend may report.
    pub lsps: usize,
    /// How long they stay when its session is lost.
    pub stay: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lsps: 100_000, stay: Duration::from_secs(60) }
    }
}

/// The database.
#[derive(Debug)]
pub struct LspDb {
    limits: Limits,
    headends: BTreeMap<IpAddr, Headend>,
}

impl LspDb {
    /// An empty one.
    pub fn new(limits: Limits) -> Self {
        Self { limits, headends: BTreeMap::new() }
    }

    /// How far a headend is, if it is known.
    pub fn sync(&self, headend: IpAddr) -> Option<Sync> {
        self.headends.get(&headend).map(|headend| headend.sync)
    }

    /// The LSPs of a headend, by name.
    pub fn lsps(&self, headend: IpAddr) -> impl Iterator<Item = (&Octets, &Known)> {
        self.headends.get(&headend).into_iter().flat_map(|headend| &headend.lsps)
    }

    /// A session is up that reports: the headend will tell everything.
    pub fn handle_up(&mut self, headend: IpAddr) {
        let new = || Headend { sync: Sync::Running, lsps: BTreeMap::new(), names: BTreeMap::new() };
        let known = self.headends.entry(headend).or_insert_with(new);
        known.forget_numbers();
        known.sync = Sync::Running;
    }

    /// A session is lost.
    pub fn handle_down(&mut self, headend: IpAddr, now: Instant) {
        if let Some(known) = self.headends.get_mut(&headend) {
            known.forget_numbers();
            known.sync = Sync::Lost { until: now + self.limits.stay };
        }
    }

    /// When [`LspDb::handle_timeout`] is to be called, and for what.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let until = self.headends.values().filter_map(Headend::until).min()?;
        Some((until, "lost headend"))
    }

    /// Forgets the headends that were lost for too long; they are told with their LSPs.
    pub fn handle_timeout(&mut self, now: Instant) -> Vec<(IpAddr, Vec<Octets>)> {
        let is_over = |headend: &Headend| headend.until().is_some_and(|until| until <= now);
        let over: Vec<IpAddr> = self
            .headends
            .iter()
            .filter(|(_, headend)| is_over(headend))
            .map(|(address, _)| *address)
            .collect();
        let mut forgotten = Vec::new();
        for address in over {
            if let Some(headend) = self.headends.remove(&address) {
                forgotten.push((address, headend.lsps.into_keys().collect()));
            }
        }
        forgotten
    }

    /// Takes a report.
    ///
    /// # Errors
    /// The row of the error table.
    pub fn handle_report(&mut self, headend: IpAddr, report: Report) -> Result<Change, ErrorCode> {
        let most = self.limits.lsps;
        let known = self.headends.get_mut(&headend).filter(|known| known.until().is_none());
        known.ok_or(ErrorCode::REPORT_NOT_ADVERTISED)?.report(report, most)
    }
}

impl Headend {
    fn until(&self) -> Option<Instant> {
        match self.sync {
            Sync::Lost { until } => Some(until),
            Sync::Done | Sync::Running => None,
        }
    }

    fn forget_numbers(&mut self) {
        self.names = BTreeMap::new();
        self.lsps.values_mut().for_each(|known| known.plsp = None);
    }

    fn report(&mut self, report: Report, most: usize) -> Result<Change, ErrorCode> {
        if report.is_end_of_sync() {
            return Ok(self.end_of_sync());
        }
        let Report { setup, lsp, paths, .. } = report;
        if lsp.plsp == PlspId::NONE {
            return Err(ErrorCode::REPORT_NOT_PROCESSED);
        }
        if lsp.flags.contains(LspFlags::REMOVE) {
            let gone = self.names.remove(&lsp.plsp);
            return Ok(gone.map_or(Change::Nothing, |name| {
                self.lsps.remove(&name);
                Change::Removed(name)
            }));
        }
        let told = lsp.tlvs.iter().find_map(|tlv| match &tlv.value {
            TlvValue::PathName(name) => Some(name.clone()),
            _ => None,
        });
        let before = self.names.get(&lsp.plsp);
        // The name is told with the first report of a session, and need not be told again.
        let name = told.or_else(|| before.cloned()).ok_or(ErrorCode::PATH_NAME_MISSING)?;
        let is_other = before.is_some_and(|before| *before != name);
        let is_other_number =
            self.lsps.get(&name).and_then(|known| known.plsp).is_some_and(|plsp| plsp != lsp.plsp);
        if is_other || is_other_number {
            return Err(ErrorCode::PATH_NAME_IN_USE);
        }
        if !self.lsps.contains_key(&name) && self.lsps.len() >= most {
            return Err(ErrorCode::REPORT_NOT_PROCESSED);
        }
        self.names.insert(lsp.plsp, name.clone());
        let known = Known { plsp: Some(lsp.plsp), flags: lsp.flags, setup, tlvs: lsp.tlvs, paths };
        Ok(match self.lsps.insert(name.clone(), known.clone()) {
            None => Change::Added(name),
            Some(before) if before == known => Change::Unchanged(name),
            Some(_) => Change::Changed(name),
        })
    }

    fn end_of_sync(&mut self) -> Change {
        self.sync = Sync::Done;
        let untold = self.lsps.iter().filter(|(_, known)| known.plsp.is_none());
        let removed: Vec<Octets> = untold.map(|(name, _)| name.clone()).collect();
        for name in &removed {
            self.lsps.remove(name);
        }
        Change::Synchronised { removed }
    }
}

#[cfg(test)]
mod tests;
