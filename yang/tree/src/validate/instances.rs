//! Finding the instances of a schema node.

use super::constraints::chain;
use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, Schema};
use crate::tree::{Branch, Data, Tree};

/// Calls `see` for each stored instance of `node` in `tree`, in document order; a list or leaf-list as a whole, with
/// its path without a key.
pub(super) fn each_instance(
    schema: &Schema,
    tree: &Tree,
    node: NodeId,
    see: &mut dyn FnMut(&InstancePath, &Data),
) {
    each_instance_in(schema, tree, node, &InstancePath::default(), see);
}

/// As [`each_instance`], but only what stands in `subtree`, which is on the way to the instances of `node` or is one.
pub(super) fn each_instance_in(
    schema: &Schema,
    tree: &Tree,
    node: NodeId,
    subtree: &InstancePath,
    see: &mut dyn FnMut(&InstancePath, &Data),
) {
    let mut way = Way { subtree: &subtree.steps, trail: InstancePath::default(), see };
    way.descend(&tree.root, &chain(schema, None, node));
}

/// An entry of the list or leaf-list at `path`.
pub(super) fn entry(path: &InstancePath, key: &Key) -> InstancePath {
    let mut path = path.clone();
    if let Some(step) = path.steps.last_mut() {
        step.key = Some(key.clone());
    }
    path
}

struct Way<'w> {
    subtree: &'w [Step],
    trail: InstancePath,
    see: &'w mut dyn FnMut(&InstancePath, &Data),
}

impl Way<'_> {
    fn descend(&mut self, branch: &Branch, chain: &[NodeId]) {
        let Some((id, below)) = chain.split_first() else { return };
        let Some(data) = branch.get(*id) else { return };
        let only = self.subtree.get(self.trail.steps.len()).and_then(|step| step.key.as_ref());
        self.trail.steps.push(Step { node: *id, key: None });
        match data {
            _ if below.is_empty() => (self.see)(&self.trail, data),
            Data::Container(inner) => self.descend(inner, below),
            Data::List(entries) => match only {
                Some(key) => {
                    if let Some(entry) = entries.get(key) {
                        self.enter(key, entry, below);
                    }
                }
                None => entries.iter().for_each(|(key, entry)| self.enter(key, entry, below)),
            },
            Data::Leaf(_) | Data::LeafList(_) | Data::Any(_) => {}
        }
        self.trail.steps.pop();
    }

    fn enter(&mut self, key: &Key, entry: &Branch, below: &[NodeId]) {
        if let Some(step) = self.trail.steps.last_mut() {
            step.key = Some(key.clone());
        }
        self.descend(entry, below);
    }
}
