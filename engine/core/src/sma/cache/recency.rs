//! Places in the order of their last use. Every operation costs O(1).

use super::EntryIx;

#[derive(Debug, Clone, Copy, Default)]
struct Link {
    before: Option<EntryIx>,
    after: Option<EntryIx>,
    listed: bool,
}

/// A list of entries, the one that was used longest ago first.
#[derive(Debug, Default)]
pub(super) struct Recency {
    links: Vec<Link>,
    first: Option<EntryIx>,
    last: Option<EntryIx>,
    len: usize,
}

impl Recency {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The one that was used longest ago.
    pub(super) fn oldest(&self) -> Option<EntryIx> {
        self.first
    }

    pub(super) fn has(&self, ix: EntryIx) -> bool {
        self.links.get(ix.at()).is_some_and(|link| link.listed)
    }

    /// Puts an entry last, listed before or not.
    pub(super) fn touch(&mut self, ix: EntryIx) {
        if self.last == Some(ix) {
            return;
        }
        self.remove(ix);
        if self.links.len() <= ix.at() {
            self.links.resize(ix.at() + 1, Link::default());
        }
        let before = self.last.replace(ix);
        if let Some(link) = self.links.get_mut(ix.at()) {
            *link = Link { before, after: None, listed: true };
        }
        match before {
            Some(before) => self.set_after(before, Some(ix)),
            None => self.first = Some(ix),
        }
        self.len += 1;
    }

    /// Takes an entry out, if it is listed.
    pub(super) fn remove(&mut self, ix: EntryIx) {
        let Some(link) = self.links.get_mut(ix.at()).filter(|link| link.listed) else { return };
        let Link { before, after, .. } = std::mem::take(link);
        match before {
            Some(before) => self.set_after(before, after),
            None => self.first = after,
        }
        match after {
            Some(after) => self.set_before(after, before),
            None => self.last = before,
        }
        self.len -= 1;
    }

    fn set_after(&mut self, ix: EntryIx, after: Option<EntryIx>) {
        if let Some(link) = self.links.get_mut(ix.at()) {
            link.after = after;
        }
    }

    fn set_before(&mut self, ix: EntryIx, before: Option<EntryIx>) {
        if let Some(link) = self.links.get_mut(ix.at()) {
            link.before = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_list_is_in_the_order_of_last_use(steps in prop::collection::vec((0u32..8, any::<bool>()), 0..60)) {
            let (mut list, mut model) = (Recency::default(), Vec::new());
            for (ix, touched) in steps {
                model.retain(|other| *other != ix);
                if touched {
                    list.touch(EntryIx(ix));
                    model.push(ix);
                } else {
                    list.remove(EntryIx(ix));
                }
                prop_assert_eq!(list.len(), model.len());
                prop_assert_eq!(list.oldest(), model.first().copied().map(EntryIx));
            }
            for ix in model {
                prop_assert_eq!(list.oldest(), Some(EntryIx(ix)));
                list.remove(EntryIx(ix));
            }
            prop_assert_eq!(list.oldest(), None);
        }
    }
}
