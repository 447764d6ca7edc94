//! What has changed of a table since somebody last asked.

use std::collections::BTreeSet;

/// So many changed keys wait to be asked for; beyond, who asks must read the table anew.
pub const MOST_CHANGED: usize = 1 << 17;

/// The keys of entries that came, changed or went. Nothing is kept while nobody follows.
#[derive(Debug, Clone)]
pub struct Changed<K> {
    keys: Option<BTreeSet<K>>,
    lost: bool,
}

impl<K> Default for Changed<K> {
    fn default() -> Self {
        Self { keys: None, lost: false }
    }
}

impl<K: Ord> Changed<K> {
    /// Begins to keep keys, or ends; what was kept goes on a new begin too.
    pub fn follow(&mut self, wanted: bool) {
        *self = Self { keys: wanted.then(BTreeSet::new), lost: false };
    }

    /// An entry came, changed or went.
    pub fn note(&mut self, key: K) {
        let Some(keys) = &mut self.keys else { return };
        if keys.len() < MOST_CHANGED {
            keys.insert(key);
        } else {
            self.lost |= !keys.contains(&key);
        }
    }

    /// Is there anything to ask for?
    pub fn is_empty(&self) -> bool {
        self.keys.as_ref().is_none_or(BTreeSet::is_empty)
    }

    /// Were there more than could be kept?
    pub fn has_lost(&self) -> bool {
        self.lost
    }

    /// The first of them, `most` at most, which wait no longer.
    pub fn take(&mut self, most: usize) -> Vec<K> {
        let Some(keys) = &mut self.keys else { return Vec::new() };
        std::iter::from_fn(|| keys.pop_first()).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_kept_once_and_only_while_somebody_follows() {
        let mut changed = Changed::default();
        changed.note(1);
        assert!(changed.is_empty());
        changed.follow(true);
        for key in [3, 1, 3, 2] {
            changed.note(key);
        }
        assert_eq!((changed.take(2), changed.take(2), changed.take(2)), (vec![1, 2], vec![3], vec![]));
        changed.follow(false);
        changed.note(1);
        assert!(changed.is_empty());
    }

    #[test]
    fn more_than_can_be_kept_are_said_to_be_lost_until_it_begins_anew() {
        let mut changed = Changed::default();
        changed.follow(true);
        (0..MOST_CHANGED).for_each(|key| changed.note(key));
        changed.note(7);
        assert!(!changed.has_lost(), "it is kept");
        changed.note(MOST_CHANGED);
        assert!(changed.has_lost());
        changed.follow(true);
        assert!(!changed.has_lost() && changed.is_empty());
    }
}
