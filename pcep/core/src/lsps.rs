//! The LSPs of a PCC, and what a PCE may do with them (RFC 8231 section 5, RFC 8281 sections 5 and 6).
//!
//! It judges updates and initiations by the LSPs that there are, and gives the numbers by which PCEs know these. What an LSP
//! is in the data plane it does not know.

use crate::client::PceId;
use crate::codec::object::PlspId;
use crate::codec::tlv::{Octets, SetupType};
use crate::errors::ErrorCode;
use crate::grammar::{Creation, Removal, Update};
use std::collections::BTreeMap;

/// An LSP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its name; no other one has it.
    pub name: Octets,
    /// How it is set up.
    pub setup: SetupType,
    /// The PCE that made it; absent: it is our own.
    pub initiated_by: Option<PceId>,
    /// The PCE that may change it.
    pub delegated_to: Option<PceId>,
}

/// The LSPs.
#[derive(Debug, Clone, Default)]
pub struct Lsps {
    held: BTreeMap<PlspId, Held>,
    names: BTreeMap<Octets, PlspId>,
    last: u32,
    most: usize,
    most_initiated: usize,
}

impl Lsps {
    /// None yet, and bounds on how many there may be, and how many of them by PCEs.
    pub fn new(most: usize, most_initiated: usize) -> Self {
        Self { most, most_initiated, ..Self::default() }
    }

    /// One of them.
    pub fn get(&self, plsp: PlspId) -> Option<&Held> {
        self.held.get(&plsp)
    }

    /// All of them, by number.
    pub fn iter(&self) -> impl Iterator<Item = (PlspId, &Held)> {
        self.held.iter().map(|(plsp, held)| (*plsp, held))
    }

    /// Takes one of our own in; nothing if its name is in use or there are too many.
    pub fn add(&mut self, name: Octets, setup: SetupType) -> Option<PlspId> {
        self.insert(Held { name, setup, initiated_by: None, delegated_to: None }).ok()
    }

    /// Takes one out.
    pub fn remove(&mut self, plsp: PlspId) -> Option<Held> {
        let held = self.held.remove(&plsp)?;
        self.names.remove(&held.name);
        Some(held)
    }

    /// Gives a PCE the right to change one.
    pub fn delegate(&mut self, plsp: PlspId, to: PceId) {
        if let Some(held) = self.held.get_mut(&plsp) {
            held.delegated_to = Some(to);
        }
    }

    /// Takes the right back.
    ///
    /// # Errors
    /// There is no such LSP, or a PCE made it: its right to it lasts.
    pub fn revoke(&mut self, plsp: PlspId) -> Result<(), ErrorCode> {
        let held = self.held.get_mut(&plsp).ok_or(ErrorCode::UNKNOWN_PLSP_ID)?;
        if held.initiated_by.is_some() {
            return Err(ErrorCode::INITIATED_NOT_REVOCABLE);
        }
        held.delegated_to = None;
        Ok(())
    }

    /// May that PCE make that change?
    ///
    /// # Errors
    /// The row of the error table.
    pub fn check_update(&self, from: PceId, update: &Update) -> Result<&Held, ErrorCode> {
        let held = self.held.get(&update.lsp.plsp).ok_or(ErrorCode::UNKNOWN_PLSP_ID)?;
        if held.delegated_to != Some(from) {
            return Err(ErrorCode::NOT_DELEGATED);
        }
        if held.setup != update.setup {
            return Err(ErrorCode::SETUP_TYPE_MISMATCH);
        }
        Ok(held)
    }

    /// Takes an LSP in that a PCE makes; it is delegated to that PCE.
    ///
    /// # Errors
    /// The row of the error table.
    pub fn create(&mut self, from: PceId, creation: &Creation) -> Result<PlspId, ErrorCode> {
        let initiated = self.held.values().filter(|held| held.initiated_by.is_some()).count();
        if initiated >= self.most_initiated {
            return Err(ErrorCode::INITIATED_LIMIT);
        }
        let Creation { name, setup, .. } = creation;
        self.insert(Held {
            name: name.clone(),
            setup: *setup,
            initiated_by: Some(from),
            delegated_to: Some(from),
        })
    }

    /// May that PCE remove that LSP?
    ///
    /// # Errors
    /// The row of the error table.
    pub fn check_removal(&self, from: PceId, removal: &Removal) -> Result<&Held, ErrorCode> {
        let held = self.held.get(&removal.lsp.plsp).ok_or(ErrorCode::UNKNOWN_PLSP_ID)?;
        if held.initiated_by.is_none() {
            return Err(ErrorCode::NOT_INITIATED);
        }
        if held.delegated_to != Some(from) {
            return Err(ErrorCode::NOT_DELEGATED);
        }
        Ok(held)
    }

    fn insert(&mut self, held: Held) -> Result<PlspId, ErrorCode> {
        if self.names.contains_key(&held.name) {
            return Err(ErrorCode::PATH_NAME_IN_USE);
        }
        if self.held.len() >= self.most {
            return Err(ErrorCode::INITIATED_LIMIT);
        }
        let plsp = self.free().ok_or(ErrorCode::INSTANTIATION_INTERNAL)?;
        self.names.insert(held.name.clone(), plsp);
        self.held.insert(plsp, held);
        Ok(plsp)
    }

    /// A number that none has, the one after the last if possible: a PCE may still speak of one that is gone.
    fn free(&mut self) -> Option<PlspId> {
        for _ in 0..=self.held.len() + 1 {
            self.last = self.last.wrapping_add(1);
            let plsp = PlspId::new(self.last).filter(|plsp| *plsp != PlspId::NONE);
            match plsp {
                None => self.last = 0,
                Some(plsp) if self.held.contains_key(&plsp) => {}
                Some(plsp) => return Some(plsp),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
