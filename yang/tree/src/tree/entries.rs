//! The entries of a list or leaf-list, ordered by their keys or by the user.

use super::Part;
use crate::map::{self, Difference, Map};
use crate::path::Key;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Distance between the ranks of entries that are appended, so that inserts between them find room.
const GAP: u64 = 1 << 20;

/// The entries of a list or leaf-list. Never empty inside a tree.
#[derive(Debug, Clone)]
pub enum Entries<V> {
    /// In the order of keys.
    Keyed(Map<Key, V>),
    /// In the order the user gave.
    #[allow(missing_docs)]
    Ranked { by_key: Map<Key, Ranked<V>>, order: Map<u64, Key> },
}

/// An entry and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranked<V> {
    rank: u64,
    value: V,
}

impl<V> Ranked<V> {
    /// The entry itself.
    pub fn value(&self) -> &V {
        &self.value
    }

    /// Where it stands: growing along the order.
    pub(crate) fn rank(&self) -> u64 {
        self.rank
    }

    /// Have both the same rank? Then the same entries stand before them, if no others changed.
    pub(crate) fn same_rank(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

/// Where an entry of a user-ordered list or leaf-list goes (`yang:insert`, RFC 7950 sections 7.7.9 and 7.8.6).
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Place {
    First,
    Last,
    Before(Key),
    After(Key),
}

impl<V: Clone> Entries<V> {
    /// No entries yet.
    pub(crate) fn new(user_ordered: bool) -> Self {
        if user_ordered {
            Entries::Ranked { by_key: Map::new(), order: Map::new() }
        } else {
            Entries::Keyed(Map::new())
        }
    }

    /// How many entries.
    pub fn len(&self) -> usize {
        match self {
            Entries::Keyed(map) => map.len(),
            Entries::Ranked { by_key, .. } => by_key.len(),
        }
    }

    /// No entries?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ordered by the user?
    pub fn is_user_ordered(&self) -> bool {
        matches!(self, Entries::Ranked { .. })
    }

    /// The entry of that key.
    pub fn get(&self, key: &Key) -> Option<&V> {
        match self {
            Entries::Keyed(map) => map.get(key),
            Entries::Ranked { by_key, .. } => by_key.get(key).map(|entry| &entry.value),
        }
    }

    /// The stored key that equals `key`, and its entry.
    pub(crate) fn get_key_value(&self, key: &Key) -> Option<(&Key, &V)> {
        let (found, value) = match self {
            Entries::Keyed(map) => map.iter_from(key).next()?,
            Entries::Ranked { by_key, .. } => {
                let (found, entry) = by_key.iter_from(key).next()?;
                (found, &entry.value)
            }
        };
        (found == key).then_some((found, value))
    }

    /// The same entries with values made from theirs.
    pub(crate) fn map(&self, mut make: impl FnMut(&V) -> V) -> Self {
        match self {
            Entries::Keyed(map) => {
                Entries::Keyed(map.iter().map(|(key, value)| (key.clone(), make(value))).collect())
            }
            Entries::Ranked { by_key, order } => {
                let ranked = |(key, entry): (&Key, &Ranked<V>)| {
                    (key.clone(), Ranked { rank: entry.rank, value: make(&entry.value) })
                };
                Entries::Ranked { by_key: by_key.iter().map(ranked).collect(), order: order.clone() }
            }
        }
    }

    /// What `part` leaves of each entry, in the same order.
    pub fn parts(self: &Arc<Self>, mut part: impl FnMut(&Key, &V) -> Part<V>) -> Part<Arc<Self>> {
        let mut changed = Vec::new();
        for (key, value) in self.iter() {
            match part(key, value) {
                Part::Whole => {}
                Part::Less(less) => changed.push((key, Some(less))),
                Part::Nothing => changed.push((key, None)),
            }
        }
        if changed.len() < self.len() / 2 {
            return self.changed(changed);
        }
        let changed: BTreeMap<&Key, Option<V>> = changed.into_iter().collect();
        let left = |key: &Key, value: &V| match changed.get(key) {
            Some(less) => less.clone(),
            None => Some(value.clone()),
        };
        let entries = self.kept(left);
        if entries.is_empty() { Part::Nothing } else { Part::Less(Arc::new(entries)) }
    }

    /// As [`Entries::parts`], asking of the entries with these keys only; all others are left whole.
    pub fn parts_of<'k>(
        self: &Arc<Self>,
        keys: impl Iterator<Item = &'k Key>,
        mut part: impl FnMut(&Key, &V) -> Part<V>,
    ) -> Part<Arc<Self>> {
        let found = keys.filter_map(|key| Some((key, self.get(key)?)));
        let changed = found.filter_map(|(key, value)| match part(key, value) {
            Part::Whole => None,
            Part::Less(less) => Some((key, Some(less))),
            Part::Nothing => Some((key, None)),
        });
        self.changed(changed.collect())
    }

    fn changed(self: &Arc<Self>, changed: Vec<(&Key, Option<V>)>) -> Part<Arc<Self>> {
        if changed.is_empty() {
            return Part::Whole;
        }
        let mut entries = (**self).clone();
        for (key, value) in changed {
            match value {
                Some(value) => entries.set(key.clone(), value),
                None => drop(entries.remove(key)),
            }
        }
        if entries.is_empty() { Part::Nothing } else { Part::Less(Arc::new(entries)) }
    }

    /// The entries for which `left` has a value, with that value.
    fn kept(&self, mut left: impl FnMut(&Key, &V) -> Option<V>) -> Self {
        match self {
            Entries::Keyed(map) => {
                let kept = map.iter().filter_map(|(key, value)| Some((key.clone(), left(key, value)?)));
                Entries::Keyed(kept.collect())
            }
            Entries::Ranked { by_key, order } => {
                let kept = by_key.iter().filter_map(|(key, entry)| {
                    let value = left(key, &entry.value)?;
                    Some((key.clone(), Ranked { rank: entry.rank, value }))
                });
                let by_key: Map<Key, Ranked<V>> = kept.collect();
                let order = order.iter().filter(|(_, key)| by_key.contains_key(*key));
                let order = order.map(|(rank, key)| (*rank, key.clone())).collect();
                Entries::Ranked { by_key, order }
            }
        }
    }

    /// The entries in their order.
    pub fn iter(&self) -> Iter<'_, V> {
        match self {
            Entries::Keyed(map) => Iter::Keyed(map.iter()),
            Entries::Ranked { by_key, order } => Iter::Ranked { by_key, order: order.iter() },
        }
    }

    /// The entries from `position` on, in their order; finding the first costs logarithmic time.
    pub fn iter_at(&self, position: usize) -> Iter<'_, V> {
        match self {
            Entries::Keyed(map) => Iter::Keyed(map.iter_at(position)),
            Entries::Ranked { by_key, order } => Iter::Ranked { by_key, order: order.iter_at(position) },
        }
    }

    /// The entry at `position` from 0.
    pub fn nth(&self, position: usize) -> Option<(&Key, &V)> {
        match self {
            Entries::Keyed(map) => map.nth(position),
            Entries::Ranked { by_key, order } => {
                let (_, key) = order.nth(position)?;
                by_key.get(key).map(|entry| (key, &entry.value))
            }
        }
    }

    /// The position of `key` from 0.
    pub fn position(&self, key: &Key) -> Option<usize> {
        match self {
            Entries::Keyed(map) => map.contains_key(key).then(|| map.rank(key)),
            Entries::Ranked { by_key, order } => Some(order.rank(&by_key.get(key)?.rank)),
        }
    }

    /// Does `key` stand at `place` already? True for lists that the system orders.
    pub(crate) fn stands(&self, key: &Key, place: &Place) -> bool {
        if !self.is_user_ordered() {
            return true;
        }
        let Some(at) = self.position(key) else { return false };
        match place {
            Place::First => at == 0,
            Place::Last => at + 1 == self.len(),
            Place::Before(anchor) => self.position(anchor) == Some(at + 1),
            Place::After(anchor) => self.position(anchor).is_some_and(|anchor| anchor + 1 == at),
        }
    }

    /// Sets the value of `key`; a new entry goes last.
    pub(crate) fn set(&mut self, key: Key, value: V) {
        match self {
            Entries::Keyed(map) => drop(map.insert(key, value)),
            Entries::Ranked { by_key, order } => {
                let rank = match by_key.get(&key) {
                    Some(entry) => entry.rank,
                    None => {
                        let rank = order.last().map_or(GAP, |(last, _)| last.saturating_add(GAP));
                        order.insert(rank, key.clone());
                        rank
                    }
                };
                by_key.insert(key, Ranked { rank, value });
            }
        }
    }

    /// The value of `key`, to be changed in place.
    pub(crate) fn get_mut(&mut self, key: &Key) -> Option<&mut V> {
        match self {
            Entries::Keyed(map) => map.get_mut(key),
            Entries::Ranked { by_key, .. } => by_key.get_mut(key).map(|entry| &mut entry.value),
        }
    }

    pub(crate) fn remove(&mut self, key: &Key) -> Option<V> {
        match self {
            Entries::Keyed(map) => map.remove(key),
            Entries::Ranked { by_key, order } => {
                let entry = by_key.remove(key)?;
                order.remove(&entry.rank);
                Some(entry.value)
            }
        }
    }

    /// Moves the entry `key` to `place`. False when the anchor is not there or is the entry itself. Nothing
    /// happens in a list that the system orders.
    pub(crate) fn place(&mut self, key: &Key, place: &Place) -> bool {
        let Entries::Ranked { by_key, order } = self else { return true };
        let Some(entry) = by_key.get(key).cloned() else { return false };
        let anchor = match place {
            Place::Before(anchor) | Place::After(anchor) if anchor == key => return false,
            Place::Before(anchor) | Place::After(anchor) => match by_key.get(anchor) {
                Some(anchor) => Some(anchor.rank),
                None => return false,
            },
            Place::First | Place::Last => None,
        };
        order.remove(&entry.rank);
        let mut rank = free_rank(order, place, anchor);
        if rank.is_none() {
            let outermost = if *place == Place::First { order.iter().next() } else { order.last() };
            let at = anchor.or(outermost.map(|(rank, _)| *rank)).unwrap_or_default();
            make_room(by_key, order, at);
            let anchor = match place {
                Place::Before(anchor) | Place::After(anchor) => by_key.get(anchor).map(|entry| entry.rank),
                Place::First | Place::Last => None,
            };
            rank = free_rank(order, place, anchor);
        }
        let Some(rank) = rank else { return false };
        order.insert(rank, key.clone());
        by_key.insert(key.clone(), Ranked { rank, value: entry.value });
        true
    }
}

impl<V: Clone + PartialEq> Entries<V> {
    /// The entries that `old` has not or has otherwise, with what it has, in their order. What both share is not
    /// visited.
    pub(crate) fn changed_since<'a>(&'a self, old: Option<&'a Self>) -> Vec<(&'a Key, Option<&'a V>, &'a V)> {
        match (old, self) {
            (Some(Entries::Keyed(old)), Entries::Keyed(new)) => {
                let changed = old.diff(new).filter_map(|difference| match difference {
                    Difference::Removed(..) => None,
                    Difference::Added(key, new) => Some((key, None, new)),
                    Difference::Changed(key, old, new) => Some((key, Some(old), new)),
                });
                changed.collect()
            }
            (Some(Entries::Ranked { by_key: old, .. }), Entries::Ranked { by_key: new, .. }) => {
                let changed = old.diff(new).filter_map(|difference| match difference {
                    Difference::Removed(..) => None,
                    Difference::Added(key, new) => Some((new.rank, key, None, &new.value)),
                    Difference::Changed(key, old, new) => Some((new.rank, key, Some(&old.value), &new.value)),
                });
                let mut changed: Vec<_> = changed.collect();
                changed.sort_by_key(|(rank, ..)| *rank);
                changed.into_iter().map(|(_, key, old, new)| (key, old, new)).collect()
            }
            _ => self.iter().map(|(key, value)| (key, old.and_then(|old| old.get(key)), value)).collect(),
        }
    }
}

/// A rank that nobody has at `place`; none when two neighbours stand too close.
fn free_rank(order: &Map<u64, Key>, place: &Place, anchor: Option<u64>) -> Option<u64> {
    let neighbour = |position: Option<usize>| position.and_then(|at| order.nth(at)).map(|(rank, _)| *rank);
    let (low, high) = match (place, anchor) {
        (Place::Before(_), Some(anchor)) => (neighbour(order.rank(&anchor).checked_sub(1)), Some(anchor)),
        (Place::After(_), Some(anchor)) => (Some(anchor), neighbour(order.rank(&anchor).checked_add(1))),
        (Place::First, _) => (None, neighbour(Some(0))),
        (Place::Last | Place::Before(_) | Place::After(_), _) => (order.last().map(|(rank, _)| *rank), None),
    };
    let rank = match (low, high) {
        (None, None) => return Some(u64::MAX / 2),
        (Some(low), None) => return low.checked_add(GAP),
        (None, Some(high)) if high > 2 * GAP => high - GAP,
        (low, Some(high)) => {
            let low = low.unwrap_or(0);
            low + (high - low) / 2
        }
    };
    (Some(rank) != low && Some(rank) != high).then_some(rank)
}

/// Makes room beside the rank `at`: spreads the entries of the smallest window around it that is sparse enough. The
/// larger the window, the sparser it has to be, so that inserts at one place, however many, move few entries each.
fn make_room<V: Clone>(by_key: &mut Map<Key, Ranked<V>>, order: &mut Map<u64, Key>, at: u64) {
    let mut window = Window::around(at, SMALLEST);
    while window.bits < u64::BITS && order.range(window.ranks()).nth(window.most()).is_some() {
        window = Window::around(at, window.bits + 1);
    }
    let within: Vec<(u64, Key)> =
        order.range(window.ranks()).map(|(rank, key)| (*rank, key.clone())).collect();
    for (rank, _) in &within {
        order.remove(rank);
    }
    let step = (1u128 << window.bits) / (within.len() as u128 + 1);
    let mut rank = u128::from(window.first);
    for (_, key) in within {
        rank += step;
        let new = u64::try_from(rank).unwrap_or(u64::MAX);
        if let Some(entry) = by_key.get_mut(&key) {
            entry.rank = new;
        }
        order.insert(new, key);
    }
}

/// The smallest window has 2^SMALLEST ranks: fewer would leave no room between what it may hold.
const SMALLEST: u32 = 4;

/// The ranks that agree in all but the lowest `bits` bits.
struct Window {
    first: u64,
    last: u64,
    bits: u32,
}

impl Window {
    fn around(at: u64, bits: u32) -> Self {
        let low = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
        Self { first: at & !low, last: at | low, bits }
    }

    fn ranks(&self) -> std::ops::RangeInclusive<u64> {
        self.first..=self.last
    }

    /// How many entries it may hold: 1.5 to the power of `bits`, of 2 to that power.
    fn most(&self) -> usize {
        (0..self.bits).fold(1usize, |most, _| most.saturating_add(most / 2).max(most + 1))
    }
}

impl<V: PartialEq> PartialEq for Entries<V> {
    /// Ranks are not data: only the order that they make is.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Entries::Keyed(a), Entries::Keyed(b)) => a == b,
            (
                Entries::Ranked { by_key, order },
                Entries::Ranked { by_key: other_by_key, order: other_order },
            ) => {
                // Where the order is shared the ranks are, and maps compare at the cost of what differs.
                order.ptr_eq(other_order) && by_key == other_by_key
                    || !order.ptr_eq(other_order)
                        && order.len() == other_order.len()
                        && order.values().eq(other_order.values())
                        && by_key
                            .iter()
                            .map(|(_, entry)| &entry.value)
                            .eq(other_by_key.iter().map(|(_, entry)| &entry.value))
            }
            (Entries::Keyed(_), Entries::Ranked { .. }) | (Entries::Ranked { .. }, Entries::Keyed(_)) => {
                false
            }
        }
    }
}

impl<V: Eq> Eq for Entries<V> {}

/// Entries in their order.
pub enum Iter<'a, V> {
    /// In the order of keys.
    Keyed(map::Iter<'a, Key, V>),
    /// In the order the user gave.
    #[allow(missing_docs)]
    Ranked { by_key: &'a Map<Key, Ranked<V>>, order: map::Iter<'a, u64, Key> },
}

impl<'a, V> Iterator for Iter<'a, V> {
    type Item = (&'a Key, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Iter::Keyed(iter) => iter.next(),
            Iter::Ranked { by_key, order } => {
                let (_, key) = order.next()?;
                by_key.get(key).map(|entry| (key, &entry.value))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Entries, Place};
    use crate::path::Key;
    use crate::value::Value;
    use std::collections::BTreeMap;

    #[test]
    fn many_inserts_at_one_place_find_room_and_keep_the_order() {
        let mut entries = Entries::new(true);
        let mut model: Vec<u32> = vec![0, 1];
        let key = |number: u32| Key::One(Value::Uint32(number));
        for number in &model {
            entries.set(key(*number), *number);
        }
        for number in 2..500 {
            entries.set(key(number), number);
            let (place, at) = match number % 4 {
                0 => (Place::First, 0),
                1 => (Place::Last, model.len()),
                2 => {
                    (Place::After(key(0)), model.iter().position(|other| *other == 0).map_or(0, |at| at + 1))
                }
                _ => (Place::Before(key(1)), model.iter().position(|other| *other == 1).unwrap_or(0)),
            };
            assert!(entries.place(&key(number), &place));
            assert!(entries.stands(&key(number), &place));
            model.insert(at, number);
        }
        let order: Vec<u32> = entries.iter().map(|(_, number)| *number).collect();
        assert_eq!(order, model);
        assert!(!entries.place(&key(7), &Place::After(key(9999))));
        assert!(!entries.place(&key(7), &Place::Before(key(7))));
        assert_eq!(entries.iter().count(), 500, "a placement that fails loses nothing");
    }

    /// Some neighbours have to move for an insert, and not all entries.
    #[test]
    fn inserts_at_one_place_move_few_entries_each_however_many_there_are() {
        let key = |name: u64| Key::One(crate::value::Value::Uint64(name));
        for place in [Place::Before(key(0)), Place::After(key(0)), Place::First, Place::Last] {
            let mut entries = Entries::new(true);
            entries.set(key(0), ());
            let mut moved = 0;
            for name in 1..2_000 {
                let before = ranks(&entries);
                entries.set(key(name), ());
                assert!(entries.place(&key(name), &place));
                let after = ranks(&entries);
                moved += before.iter().filter(|(key, rank)| after.get(*key) != Some(*rank)).count();
            }
            assert!(moved < 2_000 * 40, "{place:?}: {moved}");
        }
    }

    fn ranks(entries: &Entries<()>) -> BTreeMap<Key, u64> {
        let Entries::Ranked { by_key, .. } = entries else { return BTreeMap::new() };
        by_key.iter().map(|(key, entry)| (key.clone(), entry.rank)).collect()
    }
}
