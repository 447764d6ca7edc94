//! What the SCIs of the site last told (SMA-8 to SMA-11): found by CSCI-ID in O(1), ordered by service for
//! aggregation, the sums of each service kept up to date.
//!
//! Hard state (who serves what, and how far its reports came) outlives soft state (metrics): an entry without metrics
//! stays until there is no room for it.

mod entry;
mod recency;
mod sites;

pub(super) use entry::{Arrival, Entry, Held, Soft, Wait};
pub use sites::{Site, Standing};

use super::{InstanceKey, policy, update};
use cats_engine_types::{Changed, CsId, CsciId};
use recency::Recency;
use sites::Sites;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Excluded, Unbounded};
use std::time::Instant;

/// Services that one SCI may report of.
pub(super) const MAX_SERVICES: usize = 16;

/// The place of an entry, until it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EntryIx(u32);

impl EntryIx {
    fn at(self) -> usize {
        self.0 as usize
    }
}

impl update::Number for EntryIx {
    fn number(self) -> usize {
        self.at()
    }
}

#[derive(Debug, Default)]
pub(super) struct Cache {
    /// Each by itself, so that room for many is not moved, nor kept twice, when one more comes.
    entries: Vec<Option<Box<Entry>>>,
    free: Vec<EntryIx>,
    /// The first entry of each SCI. CSCI-IDs are chosen by peers, so they are hashed with a secret key.
    by_instance: HashMap<CsciId, EntryIx>,
    by_service: BTreeMap<CsId, BTreeMap<CsciId, EntryIx>>,
    len: usize,
    sites: Sites,
    /// Those with metrics.
    live: Recency,
    /// Those without, unless they are configured.
    bare: Recency,
    changed: Changed<InstanceKey>,
    /// Entries that came or went since the start.
    moves: u64,
}

/// The first entry of an SCI as it was found, until an entry comes or goes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    first: Option<EntryIx>,
    moves: u64,
}

impl Cache {
    /// SCIs that are known.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// SCIs with metrics.
    pub(super) fn live(&self) -> usize {
        self.live.len()
    }

    /// SCIs that are known without metrics and without being configured.
    pub(super) fn bare(&self) -> usize {
        self.bare.len()
    }

    /// The one with metrics that reported longest ago.
    pub(super) fn oldest_live(&self) -> Option<EntryIx> {
        self.live.oldest()
    }

    /// The one that is without metrics for longest, and not configured.
    pub(super) fn oldest_bare(&self) -> Option<EntryIx> {
        self.bare.oldest()
    }

    pub(super) fn get(&self, ix: EntryIx) -> Option<&Entry> {
        self.entries.get(ix.at())?.as_deref()
    }

    /// To change an entry. [`Cache::settle`] follows, whenever its metrics, state or health may have changed.
    pub(super) fn get_mut(&mut self, ix: EntryIx) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(ix.at())?.as_deref_mut()?;
        self.changed.note(entry.key);
        Some(entry)
    }

    /// The instances that came, may have changed, or went.
    pub(super) fn changed(&mut self) -> &mut Changed<InstanceKey> {
        &mut self.changed
    }

    /// The services whose sums changed.
    pub(super) fn changed_sites(&mut self) -> &mut Changed<CsId> {
        self.sites.changed()
    }

    /// Where the entries of an SCI begin.
    pub(super) fn look_up(&self, csci_id: CsciId) -> Found {
        Found { first: self.by_instance.get(&csci_id).copied(), moves: self.moves }
    }

    /// What was found, or what is to be found now.
    pub(super) fn recall(&self, csci_id: CsciId, found: Found) -> Found {
        if found.moves == self.moves { found } else { self.look_up(csci_id) }
    }

    pub(super) fn find(&self, key: InstanceKey) -> Option<EntryIx> {
        self.find_among(self.look_up(key.csci_id), key)
    }

    pub(super) fn find_among(&self, found: Found, key: InstanceKey) -> Option<EntryIx> {
        self.among(found).find(|(_, entry)| entry.key == key).map(|(ix, _)| ix)
    }

    /// The entries of an SCI: one for each service.
    pub(super) fn of_instance(&self, csci_id: CsciId) -> impl Iterator<Item = (EntryIx, &Entry)> {
        self.among(self.look_up(csci_id))
    }

    /// The same of one that was found.
    pub(super) fn among(&self, Found { first, .. }: Found) -> impl Iterator<Item = (EntryIx, &Entry)> {
        let with_entry = |ix: EntryIx| Some((ix, self.get(ix)?));
        std::iter::successors(first.and_then(with_entry), move |(_, entry)| {
            entry.sibling.and_then(with_entry)
        })
    }

    /// The entries after a key, ordered by service and CSCI-ID.
    pub(super) fn after(&self, after: Option<InstanceKey>) -> impl Iterator<Item = (EntryIx, &Entry)> {
        let service = after.and_then(|after| Some((self.by_service.get(&after.cs_id)?, after.csci_id)));
        let rest = service.map(|(members, csci_id)| members.range((Excluded(csci_id), Unbounded)));
        let services = (after.map_or(Unbounded, |after| Excluded(after.cs_id)), Unbounded);
        let others = self.by_service.range(services).flat_map(|(_, members)| members);
        rest.into_iter().flatten().chain(others).filter_map(|(_, ix)| Some((*ix, self.get(*ix)?)))
    }

    /// The SCIs of a service after one, in order.
    pub(super) fn members(&self, cs_id: CsId, after: Option<CsciId>) -> impl Iterator<Item = CsciId> {
        let behind = (after.map_or(Unbounded, Excluded), Unbounded);
        let members = self.by_service.get(&cs_id).into_iter();
        members.flat_map(move |members| members.range(behind)).map(|(csci_id, _)| *csci_id)
    }

    /// Whether an SCI of the service is known.
    pub(super) fn has_service(&self, cs_id: CsId) -> bool {
        self.by_service.contains_key(&cs_id)
    }

    /// The sums of a service.
    pub(super) fn site(&self, cs_id: CsId) -> Site {
        self.sites.get(cs_id).copied().unwrap_or_default()
    }

    /// The sums of the services after one.
    pub(super) fn sites(&self, after: Option<CsId>) -> impl Iterator<Item = (CsId, &Site)> {
        self.sites.after(after)
    }

    /// The entry of a key, new where there is none.
    pub(super) fn enter(&mut self, key: InstanceKey, now: Instant) -> EntryIx {
        if let Some(ix) = self.find(key) {
            return ix;
        }
        let ix = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            EntryIx(u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX))
        });
        let mut entry = Entry::new(key, now);
        entry.sibling = self.by_instance.insert(key.csci_id, ix);
        if let Some(slot) = self.entries.get_mut(ix.at()) {
            *slot = Some(Box::new(entry));
        }
        self.by_service.entry(key.cs_id).or_default().insert(key.csci_id, ix);
        self.changed.note(key);
        self.len += 1;
        self.moves += 1;
        self.settle(ix);
        ix
    }

    /// Brings the sums and the lists up to date with an entry.
    pub(super) fn settle(&mut self, ix: EntryIx) {
        let Some(entry) = self.entries.get_mut(ix.at()).and_then(Option::as_mut) else { return };
        let new = Some(entry.share_now());
        let old = std::mem::replace(&mut entry.share, new);
        self.sites.replace(entry.key.cs_id, old, new);
        if entry.soft.is_some() {
            self.bare.remove(ix);
            if !self.live.has(ix) {
                self.live.touch(ix);
            }
        } else {
            self.live.remove(ix);
            if entry.configured.is_some() {
                self.bare.remove(ix);
            } else if !self.bare.has(ix) {
                self.bare.touch(ix);
            }
        }
    }

    /// An entry was used: its metrics came anew.
    pub(super) fn touch(&mut self, ix: EntryIx) {
        self.live.touch(ix);
    }

    /// Forgets an entry. The caller has taken its timers out.
    pub(super) fn remove(&mut self, ix: EntryIx) -> Option<Box<Entry>> {
        let entry = self.entries.get_mut(ix.at())?.take()?;
        let key = entry.key;
        self.changed.note(key);
        self.sites.replace(key.cs_id, entry.share, None);
        self.live.remove(ix);
        self.bare.remove(ix);
        self.len -= 1;
        self.moves += 1;
        if let Some(members) = self.by_service.get_mut(&key.cs_id) {
            members.remove(&key.csci_id);
            if members.is_empty() {
                self.by_service.remove(&key.cs_id);
            }
        }
        self.unlink(key.csci_id, ix, entry.sibling);
        self.free.push(ix);
        Some(entry)
    }

    /// Takes an entry out of the chain of its SCI.
    fn unlink(&mut self, csci_id: CsciId, ix: EntryIx, next: Option<EntryIx>) {
        let Some(first) = self.by_instance.get(&csci_id).copied() else { return };
        if first == ix {
            match next {
                Some(next) => self.by_instance.insert(csci_id, next),
                None => self.by_instance.remove(&csci_id),
            };
            return;
        }
        let mut at = first;
        while let Some(entry) = self.get_mut(at) {
            match entry.sibling {
                Some(sibling) if sibling == ix => {
                    entry.sibling = next;
                    return;
                }
                Some(sibling) => at = sibling,
                None => return,
            }
        }
    }
}

impl policy::Order for Cache {
    fn next_service(&self, after: Option<CsId>) -> Option<CsId> {
        let range = (after.map_or(Unbounded, Excluded), Unbounded);
        self.by_service.range(range).next().map(|(cs_id, _)| *cs_id)
    }

    fn next_instance(&self, cs_id: CsId, after: Option<CsciId>) -> Option<CsciId> {
        let range = (after.map_or(Unbounded, Excluded), Unbounded);
        self.by_service.get(&cs_id)?.range(range).next().map(|(csci_id, _)| *csci_id)
    }
}

#[cfg(test)]
mod tests;
