//! Walking a [`Map`](super::Map) in the order of keys, with leave to skip whole nodes.

use super::Node;
use std::sync::Arc;

/// Entries in the order of keys.
pub struct Iter<'a, K, V> {
    /// From the root: a node and the position of the child (or entry) that is next.
    stack: Vec<(&'a Arc<Node<K, V>>, usize)>,
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self { stack: self.stack.clone() }
    }
}

impl<'a, K, V> Iter<'a, K, V> {
    pub(super) fn first(root: &'a Arc<Node<K, V>>) -> Self {
        Self::from(root, |_| false)
    }

    /// From the first key that is not `less`.
    pub(super) fn from(root: &'a Arc<Node<K, V>>, less: impl Fn(&K) -> bool) -> Self {
        let mut iter = Self { stack: vec![(root, 0)] };
        while let Some((node, at)) = iter.stack.last_mut() {
            match &***node {
                Node::Leaf(entries) => {
                    *at = entries.partition_point(|(key, _)| less(key));
                    break;
                }
                Node::Branch(limbs) => {
                    *at = limbs.partition_point(|limb| less(&limb.least)).saturating_sub(1);
                    match limbs.get(*at) {
                        Some(limb) => iter.stack.push((&limb.node, 0)),
                        None => break,
                    }
                }
            }
        }
        iter.settle();
        iter
    }

    /// From the entry at `position`.
    pub(super) fn at(root: &'a Arc<Node<K, V>>, position: usize) -> Self {
        let (mut node, mut left) = (root, position);
        let mut stack = Vec::new();
        loop {
            match &**node {
                Node::Leaf(entries) => {
                    stack.push((node, left.min(entries.len())));
                    break;
                }
                Node::Branch(limbs) => {
                    let passed = limbs.iter().take_while(|limb| {
                        let passed = left >= limb.count;
                        if passed {
                            left -= limb.count;
                        }
                        passed
                    });
                    let at = passed.count();
                    stack.push((node, at));
                    match limbs.get(at) {
                        Some(limb) => node = &limb.node,
                        None => break,
                    }
                }
            }
        }
        let mut iter = Self { stack };
        iter.settle();
        iter
    }

    /// Climbs out of exhausted nodes and descends to the next entry.
    fn settle(&mut self) {
        while let Some((node, at)) = self.stack.last().copied() {
            match &**node {
                Node::Leaf(entries) if at < entries.len() => return,
                Node::Branch(limbs) if at < limbs.len() => {
                    if let Some(limb) = limbs.get(at) {
                        self.stack.push((&limb.node, 0));
                    }
                }
                Node::Leaf(_) | Node::Branch(_) => {
                    self.stack.pop();
                    if let Some((_, at)) = self.stack.last_mut() {
                        *at += 1;
                    }
                }
            }
        }
    }

    pub(super) fn peek(&self) -> Option<(&'a K, &'a V)> {
        let (node, at) = self.stack.last()?;
        match &***node {
            Node::Leaf(entries) => entries.get(*at).map(|(key, value)| (key, value)),
            Node::Branch(_) => None,
        }
    }

    /// If both stand at the first entry of a node that they share, passes by it in both.
    pub(super) fn skip_shared(&mut self, other: &mut Self) -> bool {
        let (mine, theirs) = (self.fresh(), other.fresh());
        for (depth, (node, _)) in self.stack.iter().enumerate().skip(mine) {
            let found =
                other.stack.iter().enumerate().skip(theirs).find(|(_, (rival, _))| Arc::ptr_eq(node, rival));
            if let Some((rival_depth, _)) = found {
                self.pass(depth);
                other.pass(rival_depth);
                return true;
            }
        }
        false
    }

    /// The depth of the outermost node at whose very first entry the iterator stands.
    fn fresh(&self) -> usize {
        let started = self.stack.iter().rev().take_while(|(_, at)| *at == 0).count();
        self.stack.len() - started
    }

    fn pass(&mut self, depth: usize) {
        self.stack.truncate(depth);
        if let Some((_, at)) = self.stack.last_mut() {
            *at += 1;
        }
        self.settle();
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.peek()?;
        if let Some((_, at)) = self.stack.last_mut() {
            *at += 1;
        }
        self.settle();
        Some(found)
    }
}
