//! Deadlines: one for each key, in the order of time. Setting, clearing and taking cost O(log n).

use std::collections::BTreeSet;
use std::time::Instant;

#[derive(Debug)]
pub(crate) struct Timers<K>(BTreeSet<(Instant, K)>);

impl<K: Ord + Copy> Timers<K> {
    pub(crate) fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// Sets a deadline; `old` is the one that the key had.
    pub(crate) fn set(&mut self, key: K, old: Option<Instant>, new: Option<Instant>) {
        if let Some(old) = old {
            self.0.remove(&(old, key));
        }
        if let Some(new) = new {
            self.0.insert((new, key));
        }
    }

    pub(crate) fn next(&self) -> Option<(Instant, K)> {
        self.0.first().copied()
    }

    /// Takes one that is due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<K> {
        let (at, key) = self.next().filter(|(at, _)| *at <= now)?;
        self.0.remove(&(at, key));
        Some(key)
    }
}
