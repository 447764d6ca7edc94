//! Everything again after a change of rules, site or time, a slice at a time (SMA-21).

use crate::sma::InstanceKey;
use cats_engine_types::{CsId, CsciId};
use std::collections::BTreeMap;
use std::ops::Bound;

/// Instances in their order: what is to be gone through.
pub trait Order {
    /// The first service behind `after`, or the first of all.
    fn next_service(&self, after: Option<CsId>) -> Option<CsId>;
    /// The first instance of a service behind `after`, or the first of all.
    fn next_instance(&self, cs_id: CsId, after: Option<CsciId>) -> Option<CsciId>;
}

/// Whose records are still to be made again: all of them, or those of some services.
///
/// Beside where it is, it holds the services whose site changed, at most those of the cache. All services get their
/// turn one after the other, and half of the turns go to the walk through everything, so nothing keeps anything
/// else from its end.
#[derive(Debug, Clone, Default)]
pub struct Reevaluation {
    everything: Walk<InstanceKey>,
    services: BTreeMap<CsId, Walk<CsciId>>,
    /// The service that had its turn last.
    turn: Option<CsId>,
    /// Whether the next turn is one of everything.
    of_everything: bool,
}

impl Reevaluation {
    /// The rules changed, or a window that they ask for opened or closed: every record is to be made again.
    pub fn everything(&mut self) {
        self.everything.start();
        self.services.clear();
    }

    /// The site of one service changed in a way that rules see.
    pub fn service(&mut self, cs_id: CsId) {
        self.services.entry(cs_id).or_default().start();
    }

    /// Whether something is left to do.
    pub fn is_pending(&self) -> bool {
        self.everything.is_pending() || !self.services.is_empty()
    }

    /// The next instances whose records are to be made again, `bound` at most, with a few look-ups for each. It gives
    /// fewer while more is to come only where services have gone from the cache.
    pub fn slice(&mut self, cache: &impl Order, bound: usize) -> Vec<InstanceKey> {
        let mut found = Vec::new();
        for _ in 0..bound {
            self.of_everything = !self.of_everything;
            let (first, second) = (self.of_everything, !self.of_everything);
            let next = self.one(cache, first).or_else(|| self.one(cache, second));
            found.extend(next);
            if next.is_none() && !self.is_pending() {
                break;
            }
        }
        found
    }

    fn one(&mut self, cache: &impl Order, of_everything: bool) -> Option<InstanceKey> {
        if of_everything {
            return self.everything.next(|place| behind(cache, place));
        }
        let after = self.turn.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.services.range((after, Bound::Unbounded)).next();
        let cs_id = *next.or_else(|| self.services.iter().next())?.0;
        self.turn = Some(cs_id);
        let walk = self.services.get_mut(&cs_id)?;
        let csci_id = walk.next(|place| cache.next_instance(cs_id, place));
        if !walk.is_pending() {
            self.services.remove(&cs_id);
        }
        csci_id.map(|csci_id| InstanceKey { cs_id, csci_id })
    }
}

fn behind(cache: &impl Order, place: Option<InstanceKey>) -> Option<InstanceKey> {
    let mut service = None;
    if let Some(InstanceKey { cs_id, csci_id }) = place {
        if let Some(next) = cache.next_instance(cs_id, Some(csci_id)) {
            return Some(InstanceKey { cs_id, csci_id: next });
        }
        service = Some(cs_id);
    }
    // A service without instances is not one of a cache, but would not stop the walk.
    loop {
        let cs_id = cache.next_service(service)?;
        if let Some(first) = cache.next_instance(cs_id, None) {
            return Some(InstanceKey { cs_id, csci_id: first });
        }
        service = Some(cs_id);
    }
}

/// A walk in a circle. When it is started again before its end, it goes on where it is and ends one round later, so
/// changes in quick succession never keep the last ones from their turn.
#[derive(Debug, Clone)]
struct Walk<K> {
    /// The last one that was given.
    place: Option<K>,
    round: Round<K>,
}

/// What is left of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round<K> {
    /// Nothing.
    Done,
    /// To the end, and then from the beginning up to and with this one.
    ToEnd(Option<K>),
    /// Up to and with this one.
    UpTo(K),
}

impl<K> Default for Walk<K> {
    fn default() -> Self {
        Self { place: None, round: Round::Done }
    }
}

impl<K: Ord + Copy> Walk<K> {
    fn start(&mut self) {
        self.round = Round::ToEnd(self.place);
    }

    fn is_pending(&self) -> bool {
        self.round != Round::Done
    }

    fn next(&mut self, behind: impl Fn(Option<K>) -> Option<K>) -> Option<K> {
        if let Round::ToEnd(stop) = self.round {
            let next = behind(self.place);
            if next.is_some() {
                self.place = next;
                return next;
            }
            self.place = None;
            self.round = stop.map_or(Round::Done, Round::UpTo);
        }
        let Round::UpTo(stop) = self.round else { return None };
        let next = behind(self.place).filter(|next| *next <= stop);
        self.place = next;
        if next.is_none_or(|next| next == stop) {
            self.place = None;
            self.round = Round::Done;
        }
        next
    }
}
