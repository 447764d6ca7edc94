//! What differs between two maps, at the cost of what they do not share.

use super::{Iter, Map};
use std::cmp::Ordering;

/// One difference from an old to a new map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference<'a, K, V> {
    /// Only in the new one.
    Added(&'a K, &'a V),
    /// Only in the old one.
    Removed(&'a K, &'a V),
    /// In both, old and new value, which are not equal.
    Changed(&'a K, &'a V, &'a V),
}

impl<K: Ord, V: PartialEq> Map<K, V> {
    /// The differences from `self` to `new` in the order of keys; nodes that both share are not visited.
    pub fn diff<'a>(&'a self, new: &'a Self) -> impl Iterator<Item = Difference<'a, K, V>> {
        Differences { old: self.iter(), new: new.iter() }
    }
}

struct Differences<'a, K, V> {
    old: Iter<'a, K, V>,
    new: Iter<'a, K, V>,
}

impl<'a, K: Ord, V: PartialEq> Iterator for Differences<'a, K, V> {
    type Item = Difference<'a, K, V>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while self.old.skip_shared(&mut self.new) {}
            let order = match (self.old.peek(), self.new.peek()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((old, _)), Some((new, _))) => old.cmp(new),
            };
            match order {
                Ordering::Less => return self.old.next().map(|(key, value)| Difference::Removed(key, value)),
                Ordering::Greater => {
                    return self.new.next().map(|(key, value)| Difference::Added(key, value));
                }
                Ordering::Equal => {
                    let ((key, old), (_, new)) = (self.old.next()?, self.new.next()?);
                    if old != new {
                        return Some(Difference::Changed(key, old, new));
                    }
                }
            }
        }
    }
}
