//! Slots that flows hold, by transaction: released on their own account, apart from the bindings (CP-22).

use super::cst::Cst;
use cats_engine_types::{CsId, CsciId, TransactionId};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reservation {
    pub(super) cs_id: CsId,
    pub(super) csci_id: CsciId,
    pub(super) slots: u32,
}

#[derive(Debug, Default)]
pub(super) struct Reservations(BTreeMap<TransactionId, Reservation>);

impl Reservations {
    /// Holds slots for a transaction; what it held before is released.
    pub(super) fn hold(&mut self, cst: &mut Cst, transaction: TransactionId, new: Reservation) {
        cst.reserve(new.cs_id, new.csci_id, new.slots);
        if let Some(old) = self.0.insert(transaction, new) {
            cst.release(old.cs_id, old.csci_id, old.slots);
        }
    }

    /// Releases what a transaction holds; nothing if it holds nothing.
    pub(super) fn release(&mut self, cst: &mut Cst, transaction: TransactionId) -> Option<Reservation> {
        let held = self.0.remove(&transaction)?;
        cst.release(held.cs_id, held.csci_id, held.slots);
        Some(held)
    }

    /// What a transaction held passes to the one that takes its flow over.
    pub(super) fn pass(&mut self, from: TransactionId, to: TransactionId) {
        if let Some(held) = self.0.remove(&from) {
            self.0.insert(to, held);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (TransactionId, Reservation)> {
        self.0.iter().map(|(transaction, held)| (*transaction, *held))
    }
}
