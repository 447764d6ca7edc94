//! A persistent ordered map: a B-tree of shared nodes, 64 wide, with subtree counts.
//!
//! A clone costs one reference; a change copies the nodes on one path from the root and only those that somebody
//! else holds too. Two maps that come from one another share what is equal, and [`Map::diff`] skips that.

mod diff;
mod iter;

pub use diff::Difference;
pub use iter::Iter;

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// The most entries or children in a node.
const WIDTH: usize = 64;
/// A node with fewer is joined with a neighbour.
const SPARSE: usize = WIDTH / 4;

/// A persistent ordered map.
pub struct Map<K, V> {
    root: Arc<Node<K, V>>,
}

#[derive(Clone)]
enum Node<K, V> {
    Leaf(Vec<(K, V)>),
    Branch(Vec<Limb<K, V>>),
}

/// A child of a branch.
struct Limb<K, V> {
    /// At most the smallest key below it, and larger than all keys of the limbs before.
    least: K,
    /// Entries below it.
    count: usize,
    node: Arc<Node<K, V>>,
}

impl<K: Clone, V> Clone for Limb<K, V> {
    fn clone(&self) -> Self {
        Self { least: self.least.clone(), count: self.count, node: self.node.clone() }
    }
}

impl<K, V> Map<K, V> {
    /// An empty map.
    pub fn new() -> Self {
        Self { root: Arc::new(Node::Leaf(Vec::new())) }
    }

    /// How many entries it has; constant time in practice (one node is read).
    pub fn len(&self) -> usize {
        self.root.len()
    }

    /// Has it no entry?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Do both share everything? True implies equal.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.root, &other.root)
    }

    /// The entries in the order of keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter::first(&self.root)
    }

    /// The keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// The values in the order of keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The entry at `position` from 0, in logarithmic time.
    pub fn nth(&self, position: usize) -> Option<(&K, &V)> {
        let (mut node, mut left) = (&*self.root, position);
        loop {
            match node {
                Node::Leaf(entries) => return entries.get(left).map(|(key, value)| (key, value)),
                Node::Branch(limbs) => {
                    let limb = limbs.iter().find(|limb| {
                        let here = left < limb.count;
                        if !here {
                            left -= limb.count;
                        }
                        here
                    })?;
                    node = &limb.node;
                }
            }
        }
    }

    /// The entries from `position` on, in the order of keys; finding the first costs logarithmic time.
    pub fn iter_at(&self, position: usize) -> Iter<'_, K, V> {
        Iter::at(&self.root, position)
    }

    /// The first entry.
    pub fn first(&self) -> Option<(&K, &V)> {
        self.nth(0)
    }

    /// The last entry.
    pub fn last(&self) -> Option<(&K, &V)> {
        self.nth(self.len().checked_sub(1)?)
    }
}

impl<K: Ord, V> Map<K, V> {
    /// The value of `key`.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let mut node = &*self.root;
        loop {
            match node {
                Node::Leaf(entries) => {
                    let at = entries.binary_search_by(|(other, _)| other.borrow().cmp(key)).ok()?;
                    return entries.get(at).map(|(_, value)| value);
                }
                Node::Branch(limbs) => node = &limbs.get(limb_of(limbs, key))?.node,
            }
        }
    }

    /// Is there an entry of `key`?
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// How many keys are less than `key`, in logarithmic time: the position of `key` if it is there.
    pub fn rank<Q: Ord + ?Sized>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        let (mut node, mut before) = (&*self.root, 0);
        loop {
            match node {
                Node::Leaf(entries) => {
                    return before + entries.partition_point(|(other, _)| other.borrow() < key);
                }
                Node::Branch(limbs) => {
                    let at = limb_of(limbs, key);
                    before += limbs.iter().take(at).map(|limb| limb.count).sum::<usize>();
                    match limbs.get(at) {
                        Some(limb) => node = &limb.node,
                        None => return before,
                    }
                }
            }
        }
    }

    /// The entries from the first key that is not less than `key`.
    pub fn iter_from<Q: Ord + ?Sized>(&self, key: &Q) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        Iter::from(&self.root, |other| other.borrow() < key)
    }

    /// The entries whose keys lie in `range`.
    pub fn range<'a, Q: Ord + 'a>(
        &'a self,
        range: impl RangeBounds<Q>,
    ) -> impl Iterator<Item = (&'a K, &'a V)>
    where
        K: Borrow<Q>,
    {
        let from = Iter::from(&self.root, |other| match range.start_bound() {
            Bound::Unbounded => false,
            Bound::Included(start) => other.borrow() < start,
            Bound::Excluded(start) => other.borrow() <= start,
        });
        from.take_while(move |(key, _)| match range.end_bound() {
            Bound::Unbounded => true,
            Bound::Included(end) => (*key).borrow() <= end,
            Bound::Excluded(end) => (*key).borrow() < end,
        })
    }
}

impl<K: Ord + Clone, V: Clone> Map<K, V> {
    /// Sets the value of `key`; the old value.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let root = Arc::make_mut(&mut self.root);
        let (old, split) = root.insert(key, value);
        if let Some(right) = split {
            let left = std::mem::replace(root, Node::Branch(Vec::with_capacity(2)));
            if let (Node::Branch(limbs), Some(left)) = (root, Limb::of(left)) {
                limbs.push(left);
                limbs.push(right);
            }
        }
        old
    }

    /// Takes the entry of `key` out; its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        // A removal that finds nothing must not copy anything.
        self.get(key)?;
        let old = Arc::make_mut(&mut self.root).remove(key);
        while let Node::Branch(limbs) = &*self.root {
            match limbs.as_slice() {
                [] => self.root = Arc::new(Node::Leaf(Vec::new())),
                [only] => self.root = only.node.clone(),
                _ => break,
            }
        }
        old
    }

    /// The value of `key`, to be changed in place; shared nodes above it are copied.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.get(key)?;
        let mut node = Arc::make_mut(&mut self.root);
        loop {
            match node {
                Node::Leaf(entries) => {
                    let at = entries.binary_search_by(|(other, _)| other.borrow().cmp(key)).ok()?;
                    return entries.get_mut(at).map(|(_, value)| value);
                }
                Node::Branch(limbs) => {
                    let at = limb_of(limbs, key);
                    node = Arc::make_mut(&mut limbs.get_mut(at)?.node);
                }
            }
        }
    }
}

/// The limb below which `key` is or would be.
fn limb_of<K: Borrow<Q>, V, Q: Ord + ?Sized>(limbs: &[Limb<K, V>], key: &Q) -> usize {
    limbs.partition_point(|limb| limb.least.borrow() <= key).saturating_sub(1)
}

impl<K, V> Node<K, V> {
    fn len(&self) -> usize {
        match self {
            Node::Leaf(entries) => entries.len(),
            Node::Branch(limbs) => limbs.iter().map(|limb| limb.count).sum(),
        }
    }

    fn width(&self) -> usize {
        match self {
            Node::Leaf(entries) => entries.len(),
            Node::Branch(limbs) => limbs.len(),
        }
    }
}

impl<K: Clone, V> Limb<K, V> {
    fn of(node: Node<K, V>) -> Option<Self> {
        let least = match &node {
            Node::Leaf(entries) => entries.first()?.0.clone(),
            Node::Branch(limbs) => limbs.first()?.least.clone(),
        };
        Some(Self { least, count: node.len(), node: Arc::new(node) })
    }
}

impl<K: Ord + Clone, V: Clone> Node<K, V> {
    /// The old value, and a new right neighbour when this node had to be split.
    fn insert(&mut self, key: K, value: V) -> (Option<V>, Option<Limb<K, V>>) {
        match self {
            Node::Leaf(entries) => match entries.binary_search_by(|(other, _)| other.cmp(&key)) {
                Ok(at) => (entries.get_mut(at).map(|entry| std::mem::replace(&mut entry.1, value)), None),
                Err(at) => {
                    entries.insert(at, (key, value));
                    (None, split(entries, at).and_then(|right| Limb::of(Node::Leaf(right))))
                }
            },
            Node::Branch(limbs) => {
                let at = limb_of(limbs, &key);
                let Some(limb) = limbs.get_mut(at) else { return (None, None) };
                if key < limb.least {
                    limb.least = key.clone();
                }
                let (old, right) = Arc::make_mut(&mut limb.node).insert(key, value);
                limb.count = limb.node.len();
                let Some(right) = right else { return (old, None) };
                limbs.insert(at + 1, right);
                (old, split(limbs, at + 1).and_then(|right| Limb::of(Node::Branch(right))))
            }
        }
    }

    fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        match self {
            Node::Leaf(entries) => {
                let at = entries.binary_search_by(|(other, _)| other.borrow().cmp(key)).ok()?;
                Some(entries.remove(at).1)
            }
            Node::Branch(limbs) => {
                let at = limb_of(limbs, key);
                let limb = limbs.get_mut(at)?;
                let old = Arc::make_mut(&mut limb.node).remove(key);
                limb.count = limb.node.len();
                let width = limb.node.width();
                if width == 0 {
                    limbs.remove(at);
                } else if width < SPARSE {
                    join(limbs, at);
                }
                old
            }
        }
    }
}

/// Halves an overfull node; at the end, where growing keys go, only the new item moves, so that nodes fill.
fn split<T>(items: &mut Vec<T>, inserted: usize) -> Option<Vec<T>> {
    if items.len() <= WIDTH {
        return None;
    }
    let at = if inserted + 1 == items.len() { WIDTH } else { items.len() / 2 };
    Some(items.split_off(at))
}

/// Joins the limb at `at` with a neighbour when both fit in one node.
fn join<K: Clone, V: Clone>(limbs: &mut Vec<Limb<K, V>>, at: usize) {
    let left = if at > 0 { at - 1 } else { at };
    let (Some(a), Some(b)) = (limbs.get(left), limbs.get(left + 1)) else { return };
    if a.node.width() + b.node.width() > WIDTH {
        return;
    }
    let right = limbs.remove(left + 1);
    let Some(limb) = limbs.get_mut(left) else { return };
    match (Arc::make_mut(&mut limb.node), &*right.node) {
        (Node::Leaf(into), Node::Leaf(from)) => into.extend(from.iter().cloned()),
        (Node::Branch(into), Node::Branch(from)) => into.extend(from.iter().cloned()),
        // All leaves are equally deep.
        (Node::Leaf(_), Node::Branch(_)) | (Node::Branch(_), Node::Leaf(_)) => {}
    }
    limb.count += right.count;
}

impl<K, V> Clone for Map<K, V> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone() }
    }
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord, V: PartialEq> PartialEq for Map<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(other) || self.len() == other.len() && self.diff(other).next().is_none()
    }
}

impl<K: Ord, V: Eq> Eq for Map<K, V> {}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord + Clone, V: Clone> Extend<(K, V)> for Map<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<'a, K, V> IntoIterator for &'a Map<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
