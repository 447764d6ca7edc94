//! What one path selector has not acknowledged yet: instances that changed, in the order in which they did.
//!
//! An instance stands here once, however often it changes; what is sent of it is what holds when it is sent. Sent
//! and not acknowledged it stays, so that a broken connection loses nothing.

use super::{Key, Urgency};
use cats_engine_types::WithdrawalReason;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Debug, Default)]
pub(super) struct Pending {
    entries: BTreeMap<Key, Entry>,
    /// All entries, the oldest first.
    ages: BTreeMap<u64, Key>,
    /// Those that are to be sent, critical ones first.
    queue: BTreeSet<(Urgency, u64, Key)>,
    /// Messages under way, with what they carry.
    flight: VecDeque<(u64, Vec<Key>)>,
    age: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    age: u64,
    urgency: Urgency,
    /// Set where the instance is gone.
    withdrawn: Option<WithdrawalReason>,
    /// The message that carries it, if it was sent since it changed.
    sent: Option<u64>,
}

impl Pending {
    /// Takes a change in. True if an older one was dropped for it.
    pub(super) fn put(
        &mut self,
        key: Key,
        urgency: Urgency,
        withdrawn: Option<WithdrawalReason>,
        limit: usize,
    ) -> bool {
        let (age, urgency) = match self.remove(key) {
            // It keeps its place, and is as urgent as the most urgent of its changes.
            Some(Entry { age, urgency: before, sent: None, .. }) => (age, urgency.min(before)),
            Some(_) | None => {
                self.age += 1;
                (self.age, urgency)
            }
        };
        let full = self.entries.len() >= limit.max(1);
        while self.entries.len() >= limit.max(1) {
            let Some((_, oldest)) = self.ages.first_key_value() else { break };
            self.remove(*oldest);
        }
        self.entries.insert(key, Entry { age, urgency, withdrawn, sent: None });
        self.ages.insert(age, key);
        self.queue.insert((urgency, age, key));
        full
    }

    /// The most urgent change that is to be sent.
    pub(super) fn urgency(&self) -> Option<Urgency> {
        self.queue.first().map(|(urgency, _, _)| *urgency)
    }

    /// Whether a change that is not critical is to be sent.
    pub(super) fn has_routine(&self) -> bool {
        self.queue.last().is_some_and(|(urgency, _, _)| *urgency == Urgency::Routine)
    }

    /// At most `limit` changes for the message `sequence`: critical ones, and the others where `routine`.
    pub(super) fn take(
        &mut self,
        sequence: u64,
        limit: usize,
        routine: bool,
    ) -> Vec<(Key, Option<WithdrawalReason>)> {
        let mut taken = Vec::new();
        let mut keys = Vec::new();
        while taken.len() < limit.max(1) {
            let Some((urgency, age, key)) = self.queue.first().copied() else { break };
            if urgency == Urgency::Routine && !routine {
                break;
            }
            self.queue.remove(&(urgency, age, key));
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.sent = Some(sequence);
                taken.push((key, entry.withdrawn));
                keys.push(key);
            }
        }
        if !keys.is_empty() {
            self.flight.push_back((sequence, keys));
        }
        taken
    }

    /// Everything up to the message is acknowledged.
    pub(super) fn settle(&mut self, sequence: u64) {
        while let Some((carrier, keys)) = self.flight.pop_front_if(|(carrier, _)| *carrier <= sequence) {
            for key in keys {
                // What changed since waits on.
                if self.entries.get(&key).is_some_and(|entry| entry.sent == Some(carrier)) {
                    self.remove(key);
                }
            }
        }
    }

    /// What is under way did not arrive, as far as anyone knows: it is to be sent again.
    pub(super) fn take_back(&mut self) {
        for (carrier, keys) in std::mem::take(&mut self.flight) {
            for key in keys {
                if let Some(entry) = self.entries.get_mut(&key).filter(|entry| entry.sent == Some(carrier)) {
                    entry.sent = None;
                    self.queue.insert((entry.urgency, entry.age, key));
                }
            }
        }
    }

    /// The instance is told of otherwise.
    pub(super) fn forget(&mut self, key: Key) {
        self.remove(key);
    }

    pub(super) fn clear(&mut self) {
        *self = Self { age: self.age, ..Self::default() };
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    fn remove(&mut self, key: Key) -> Option<Entry> {
        let entry = self.entries.remove(&key)?;
        self.ages.remove(&entry.age);
        self.queue.remove(&(entry.urgency, entry.age, key));
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cats_engine_types::{CsId, CsciId};

    fn key(number: u32) -> Key {
        (CsId::number(1).unwrap(), CsciId::number(number).unwrap())
    }

    fn taken(pending: &mut Pending, sequence: u64, routine: bool) -> Vec<u32> {
        let taken = pending.take(sequence, 10, routine);
        taken.into_iter().filter_map(|((_, csci_id), _)| csci_id.as_number()).collect()
    }

    /// Proves SMA-21.
    #[test]
    fn critical_changes_go_first_and_each_kind_in_its_order() {
        let mut pending = Pending::default();
        for (number, urgency) in
            [(1, Urgency::Routine), (2, Urgency::Critical), (3, Urgency::Routine), (4, Urgency::Critical)]
        {
            pending.put(key(number), urgency, None, 10);
        }
        pending.put(key(3), Urgency::Critical, None, 10);
        assert_eq!(taken(&mut pending, 1, false), [2, 3, 4]);
        assert!(pending.has_routine());
        assert_eq!(taken(&mut pending, 2, true), [1]);
    }

    /// Proves SMA-25.
    #[test]
    fn a_full_buffer_drops_the_oldest_change() {
        let mut pending = Pending::default();
        let dropped: Vec<bool> =
            [1, 2, 1, 3].map(|number| pending.put(key(number), Urgency::Routine, None, 2)).to_vec();
        assert_eq!(dropped, [false, false, false, true]);
        assert_eq!(taken(&mut pending, 1, true), [2, 3]);
    }

    #[test]
    fn what_changes_while_it_is_under_way_is_sent_again_and_what_is_lost_too() {
        let mut pending = Pending::default();
        for number in [1, 2, 3] {
            pending.put(key(number), Urgency::Routine, None, 10);
        }
        assert_eq!(taken(&mut pending, 1, true), [1, 2, 3]);
        pending.put(key(2), Urgency::Routine, Some(WithdrawalReason::Removed), 10);
        pending.settle(1);
        assert_eq!(pending.len(), 1);
        let again = pending.take(2, 10, true);
        assert_eq!(again, [(key(2), Some(WithdrawalReason::Removed))]);
        assert_eq!(taken(&mut pending, 3, true), [0; 0]);
        pending.take_back();
        assert_eq!(taken(&mut pending, 4, true), [2]);
        pending.settle(3);
        assert_eq!(pending.len(), 1);
        pending.settle(4);
        assert_eq!(pending.len(), 0);
    }
}
