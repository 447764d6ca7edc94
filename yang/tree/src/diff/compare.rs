//! Walking two trees side by side.

use super::{Change, ChangeKind, ChangeSet, Payload, Position};
use crate::map::Difference;
use crate::path::{InstancePath, Key, Step};
use crate::schema::NodeId;
use crate::tree::{Branch, Child, Data, Entries, Tree};
use crate::value::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn trees(old: &Tree, new: &Tree) -> ChangeSet {
    let mut walk = Walk::of(usize::MAX);
    walk.branches(&old.root, &new.root);
    ChangeSet { changes: walk.changes }
}

/// As [`trees`]; none when so many nodes are not enough to look at.
pub(super) fn little(old: &Tree, new: &Tree, nodes: usize) -> Option<ChangeSet> {
    let mut walk = Walk::of(nodes);
    walk.branches(&old.root, &new.root);
    (walk.left > 0).then_some(ChangeSet { changes: walk.changes })
}

struct Walk {
    trail: InstancePath,
    changes: Vec<Change>,
    /// So many nodes may be looked at yet; at none it is given up.
    left: usize,
}

/// What can be an entry of a list or leaf-list.
trait Entry: Clone + PartialEq {
    fn payload(&self) -> Payload;
    fn compare(walk: &mut Walk, old: &Self, new: &Self);
}

impl Entry for Arc<Branch> {
    fn payload(&self) -> Payload {
        Payload::Branch(self.clone())
    }

    fn compare(walk: &mut Walk, old: &Self, new: &Self) {
        walk.branches(old, new);
    }
}

impl Entry for Value {
    fn payload(&self) -> Payload {
        Payload::Value(self.clone())
    }

    fn compare(walk: &mut Walk, old: &Self, new: &Self) {
        walk.replaced(old.payload(), new.payload());
    }
}

impl Walk {
    fn of(left: usize) -> Self {
        Self { trail: InstancePath::default(), changes: Vec::new(), left }
    }

    /// Counts nodes that are looked at; false when they are too many.
    fn may_look_at(&mut self, nodes: usize) -> bool {
        self.left = self.left.saturating_sub(nodes);
        self.left > 0
    }

    fn push(&mut self, kind: ChangeKind, position: Option<Position>) {
        self.changes.push(Change { path: self.trail.clone(), kind, position });
    }

    fn replaced(&mut self, old: Payload, new: Payload) {
        if old != new {
            self.push(ChangeKind::Replace { old, new }, None);
        }
    }

    fn within(&mut self, node: NodeId, key: Option<Key>, visit: impl FnOnce(&mut Self)) {
        self.trail.steps.push(Step { node, key });
        visit(self);
        self.trail.steps.pop();
    }

    fn branches(&mut self, old: &Arc<Branch>, new: &Arc<Branch>) {
        if Arc::ptr_eq(old, new) {
            return;
        }
        let mut ids: Vec<NodeId> = old.children.iter().chain(&new.children).map(|child| child.id).collect();
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            if !self.may_look_at(1) {
                return;
            }
            self.child(id, old.child(id), new.child(id));
        }
    }

    fn child(&mut self, id: NodeId, old: Option<&Child>, new: Option<&Child>) {
        let implied = !old.or(new).is_some_and(|child| child.presence);
        match (old.map(|child| &child.data), new.map(|child| &child.data)) {
            (Some(Data::Leaf(old)), Some(Data::Leaf(new))) if old == new => {}
            (Some(Data::List(old)), Some(Data::List(new))) => self.entries(id, old, new),
            (Some(Data::List(old)), None) => self.entries(id, old, &Entries::new(old.is_user_ordered())),
            (None, Some(Data::List(new))) => self.entries(id, &Entries::new(new.is_user_ordered()), new),
            (Some(Data::LeafList(old)), Some(Data::LeafList(new))) => self.entries(id, old, new),
            (Some(Data::LeafList(old)), None) => self.entries(id, old, &Entries::new(old.is_user_ordered())),
            (None, Some(Data::LeafList(new))) => self.entries(id, &Entries::new(new.is_user_ordered()), new),
            (Some(Data::Container(old)), Some(Data::Container(new))) => {
                self.within(id, None, |walk| walk.branches(old, new));
            }
            (Some(Data::Container(old)), None) if implied => {
                self.within(id, None, |walk| walk.branches(old, &Arc::default()));
            }
            (None, Some(Data::Container(new))) if implied => {
                self.within(id, None, |walk| walk.branches(&Arc::default(), new));
            }
            (Some(old), Some(new)) => {
                if let (Some(old), Some(new)) = (payload(old), payload(new)) {
                    self.within(id, None, |walk| walk.replaced(old, new));
                }
            }
            (Some(old), None) => {
                if let Some(old) = payload(old) {
                    self.within(id, None, |walk| walk.push(ChangeKind::Delete { old }, None));
                }
            }
            (None, Some(new)) => {
                if let Some(new) = payload(new) {
                    self.within(id, None, |walk| walk.push(ChangeKind::Create { new }, None));
                }
            }
            (None, None) => {}
        }
    }

    fn entries<V: Entry>(&mut self, id: NodeId, old: &Entries<V>, new: &Entries<V>) {
        match (old, new) {
            (Entries::Keyed(old), Entries::Keyed(new)) => {
                for difference in old.diff(new) {
                    if !self.may_look_at(1) {
                        return;
                    }
                    match difference {
                        Difference::Removed(key, old) => self.deleted(id, key, old),
                        Difference::Added(key, new) => self.created(id, key, new, None),
                        Difference::Changed(key, old, new) => {
                            self.within(id, Some(key.clone()), |walk| V::compare(walk, old, new));
                        }
                    }
                }
            }
            (Entries::Ranked { .. }, Entries::Ranked { .. }) => self.ranked(id, old, new),
            // One schema gives a list one order.
            (Entries::Keyed(_), Entries::Ranked { .. }) | (Entries::Ranked { .. }, Entries::Keyed(_)) => {}
        }
    }

    fn ranked<V: Entry>(&mut self, id: NodeId, old: &Entries<V>, new: &Entries<V>) {
        let Entries::Ranked { by_key: before, .. } = old else { return };
        let Entries::Ranked { by_key: after, order } = new else { return };
        let mut reordered = false;
        let mut added = Vec::new();
        let mut changed = Vec::new();
        for difference in before.diff(after) {
            if !self.may_look_at(1) {
                return;
            }
            match difference {
                Difference::Removed(key, old) => self.deleted(id, key, old.value()),
                Difference::Added(key, new) => added.push((new.rank(), key, new.value())),
                Difference::Changed(key, old, new) => {
                    reordered |= !old.same_rank(new);
                    changed.push((key, old.value(), new.value()));
                }
            }
        }
        for (key, old, new) in changed {
            self.within(id, Some(key.clone()), |walk| V::compare(walk, old, new));
        }
        if reordered && !self.may_look_at(old.len() + new.len()) {
            return;
        }
        if reordered {
            return self.order(id, old, new);
        }
        // What is in both kept its rank, so nothing moved.
        added.sort_by_key(|(rank, ..)| *rank);
        for (rank, key, new) in added {
            let before = order.rank(&rank).checked_sub(1).and_then(|at| order.nth(at));
            let position = before.map_or(Position::First, |(_, key)| Position::After(key.clone()));
            self.created(id, key, new, Some(position));
        }
    }

    fn deleted<V: Entry>(&mut self, id: NodeId, key: &Key, old: &V) {
        let old = old.payload();
        self.within(id, Some(key.clone()), |walk| walk.push(ChangeKind::Delete { old }, None));
    }

    fn created<V: Entry>(&mut self, id: NodeId, key: &Key, new: &V, position: Option<Position>) {
        let new = new.payload();
        self.within(id, Some(key.clone()), |walk| walk.push(ChangeKind::Create { new }, position));
    }

    /// Creations and the fewest moves that bring the common entries into their new order.
    fn order<V: Entry>(&mut self, id: NodeId, old: &Entries<V>, new: &Entries<V>) {
        let places: BTreeMap<&Key, usize> = old.iter().enumerate().map(|(at, (key, _))| (key, at)).collect();
        let common: Vec<usize> = new.iter().filter_map(|(key, _)| places.get(key).copied()).collect();
        let mut stay = longest_rising(&common).into_iter().peekable();
        let mut before: Option<&Key> = None;
        for (key, value) in new.iter() {
            let position = before.map_or(Position::First, |key| Position::After(key.clone()));
            match places.get(key) {
                None => self.created(id, key, value, Some(position)),
                Some(at) if stay.peek() == Some(at) => drop(stay.next()),
                Some(_) => {
                    self.within(id, Some(key.clone()), |walk| walk.push(ChangeKind::Move, Some(position)));
                }
            }
            before = Some(key);
        }
    }
}

/// A presence container, leaf or anydata; lists have entries instead.
fn payload(data: &Data) -> Option<Payload> {
    match data {
        Data::Leaf(value) => Some(Payload::Value(value.clone())),
        Data::Container(inner) => Some(Payload::Branch(inner.clone())),
        Data::Any(text) => Some(Payload::Any(text.clone())),
        Data::List(_) | Data::LeafList(_) => None,
    }
}

/// The values of a longest rising subsequence of distinct numbers.
fn longest_rising(numbers: &[usize]) -> Vec<usize> {
    // Per length less one: the position of the smallest number that ends such a subsequence.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(numbers.len());
    for (at, number) in numbers.iter().enumerate() {
        let length = ends.partition_point(|end| numbers[*end] < *number);
        previous.push(length.checked_sub(1).map(|length| ends[length]));
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let chain = std::iter::successors(ends.last().copied(), |at| previous[*at]);
    let mut rising: Vec<usize> = chain.map(|at| numbers[at]).collect();
    rising.reverse();
    rising
}

#[cfg(test)]
mod tests {
    use super::longest_rising;

    #[test]
    fn the_longest_rising_subsequence_is_kept() {
        assert_eq!(longest_rising(&[]), Vec::<usize>::new());
        assert_eq!(longest_rising(&[3, 0, 1, 2]), vec![0, 1, 2]);
        assert_eq!(longest_rising(&[2, 1, 0]).len(), 1);
        assert_eq!(longest_rising(&[0, 4, 1, 2, 3]), vec![0, 1, 2, 3]);
    }
}
