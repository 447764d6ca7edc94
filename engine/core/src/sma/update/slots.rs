//! A value for some of the smallest numbers, found in O(1).

use std::marker::PhantomData;

/// Slots that come to be together.
const TOGETHER: usize = 256;

/// What counts up from 0, and is used again when it is free.
pub trait Number: Ord + Copy {
    /// As a number.
    fn number(self) -> usize;
}

/// Values by numbers. What there is room for is that of the greatest number, in pieces, so that none of it is moved.
#[derive(Debug)]
pub(super) struct Slots<K, V> {
    pieces: Vec<Vec<Option<V>>>,
    len: usize,
    key: PhantomData<K>,
}

impl<K: Number, V: Default> Slots<K, V> {
    pub(super) fn new() -> Self {
        Self { pieces: Vec::new(), len: 0, key: PhantomData }
    }

    /// Values.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, key: K) -> Option<&V> {
        let number = key.number();
        self.pieces.get(number / TOGETHER)?.get(number % TOGETHER)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.slot(key)?.as_mut()
    }

    /// The value of a number, the default where there is none.
    pub(super) fn enter(&mut self, key: K) -> Option<&mut V> {
        let piece = key.number() / TOGETHER;
        if self.pieces.len() <= piece {
            self.pieces.resize_with(piece + 1, Vec::new);
        }
        if let Some(slots) = self.pieces.get_mut(piece).filter(|slots| slots.is_empty()) {
            slots.resize_with(TOGETHER, || None);
        }
        let known = self.get(key).is_some();
        self.len += usize::from(!known);
        Some(self.slot(key)?.get_or_insert_with(V::default))
    }

    pub(super) fn remove(&mut self, key: K) {
        let gone = self.slot(key).and_then(Option::take);
        self.len -= usize::from(gone.is_some());
    }

    fn slot(&mut self, key: K) -> Option<&mut Option<V>> {
        let number = key.number();
        self.pieces.get_mut(number / TOGETHER)?.get_mut(number % TOGETHER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    impl Number for u32 {
        fn number(self) -> usize {
            self as usize
        }
    }

    proptest! {
        #[test]
        fn a_value_is_there_from_when_it_is_entered_until_it_is_removed(
            steps in prop::collection::vec((0u32..600, 0u8..3), 0..80),
        ) {
            let (mut slots, mut model) = (Slots::<u32, u64>::new(), BTreeMap::new());
            for (at, (key, step)) in (1u64..).zip(steps) {
                if step == 0 {
                    slots.remove(key);
                    model.remove(&key);
                } else {
                    prop_assert_eq!(*slots.enter(key).unwrap(), model.get(&key).copied().unwrap_or(0));
                    *slots.get_mut(key).unwrap() = at;
                    model.insert(key, at);
                }
                prop_assert_eq!(slots.len(), model.len());
                prop_assert_eq!(slots.get(key), model.get(&key));
            }
            for key in 0..1000 {
                prop_assert_eq!(slots.get(key), model.get(&key));
            }
        }
    }
}
