//! Slots that flows hold, by transaction: released on their own account, apart from the bindings (CP-22).
//!
//! A slot counts against what a C-SMA reports until the first report that was taken after the binding became ACTIVE,
//! since that report has it. Against static metrics, which never account for flows, it counts to the end.

use super::cst::{Cst, Key};
use cats_engine_types::{CsId, CsciId, TransactionId};
use std::collections::BTreeMap;
use std::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reservation {
    pub(super) cs_id: CsId,
    pub(super) csci_id: CsciId,
    pub(super) slots: u32,
    /// Since when its binding is ACTIVE.
    pub(super) active: Option<Instant>,
}

impl Reservation {
    fn key(&self) -> Key {
        (self.cs_id, self.csci_id)
    }
}

#[derive(Debug, Default)]
pub(super) struct Reservations {
    held: BTreeMap<TransactionId, Reservation>,
    /// Slots that no report has yet, by the time from which one would.
    unreported: BTreeMap<Key, BTreeMap<Instant, u32>>,
}

impl Reservations {
    /// Holds slots for a transaction; what it held before is released.
    pub(super) fn hold(&mut self, cst: &mut Cst, transaction: TransactionId, new: Reservation) {
        cst.reserve(new.key(), new.slots);
        if let Some(old) = self.held.insert(transaction, new) {
            self.free(cst, &old);
        }
    }

    /// The binding of a transaction is ACTIVE: reports taken from now on have its slots.
    pub(super) fn activate(&mut self, transaction: TransactionId, now: Instant) {
        let Some(held) = self.held.get_mut(&transaction).filter(|held| held.active.is_none()) else { return };
        held.active = Some(now);
        let slots = self.unreported.entry(held.key()).or_default().entry(now).or_default();
        *slots = slots.saturating_add(held.slots);
    }

    /// A report of an instance was taken at that time: it has the slots of the bindings that were ACTIVE before.
    pub(super) fn account(&mut self, cst: &mut Cst, key: Key, taken: Instant) {
        let Some(times) = self.unreported.get_mut(&key) else { return };
        let later = times.split_off(&taken);
        let slots = std::mem::replace(times, later).into_values().fold(0, u32::saturating_add);
        if times.is_empty() {
            self.unreported.remove(&key);
        }
        cst.account(key, slots);
    }

    /// Releases what a transaction holds; nothing if it holds nothing.
    pub(super) fn release(&mut self, cst: &mut Cst, transaction: TransactionId) -> Option<Reservation> {
        let held = self.held.remove(&transaction)?;
        self.free(cst, &held);
        Some(held)
    }

    fn free(&mut self, cst: &mut Cst, held: &Reservation) {
        let unreported = self.is_unreported(held);
        if let (true, Some(at), Some(times)) = (unreported, held.active, self.unreported.get_mut(&held.key()))
        {
            if let Some(slots) = times.get_mut(&at) {
                *slots = slots.saturating_sub(held.slots);
                if *slots == 0 {
                    times.remove(&at);
                }
            }
            if times.is_empty() {
                self.unreported.remove(&held.key());
            }
        }
        cst.release(held.key(), held.slots, unreported);
    }

    /// Whether no report has its slots.
    fn is_unreported(&self, held: &Reservation) -> bool {
        let times = || self.unreported.get(&held.key());
        held.active.is_none_or(|at| times().is_some_and(|times| times.contains_key(&at)))
    }

    /// What a transaction held passes to the one that takes its flow over.
    pub(super) fn pass(&mut self, from: TransactionId, to: TransactionId) {
        if let Some(held) = self.held.remove(&from) {
            self.held.insert(to, held);
        }
    }

    /// What is held, and whether no report has it yet.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TransactionId, Reservation, bool)> {
        self.held.iter().map(|(transaction, held)| (*transaction, *held, self.is_unreported(held)))
    }
}
