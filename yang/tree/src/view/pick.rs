//! The part of a tree that a set of places names: what an XPath filter selects.

use super::extent::{Extent, keys_of};
use super::subtree::in_order;
use super::trail::Trail;
use crate::path::{InstancePath, Key};
use crate::schema::NodeId;
use crate::tree::{Branch, Child, Data, Entries, Tree};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Places by their first steps.
#[derive(Debug, Default)]
struct Picked {
    /// The place itself is one.
    whole: bool,
    below: BTreeMap<NodeId, Below>,
}

#[derive(Debug, Default)]
struct Below {
    /// The node without a key: a leaf, a container, or a list as a whole.
    node: Picked,
    entries: BTreeMap<Key, Picked>,
}

/// What `places` name of `tree`, with all above it and the keys of the entries on the way. The root names everything.
pub(super) fn pick(tree: &Tree, places: &[InstancePath], extent: Extent<'_>) -> Tree {
    let mut picked = Picked::default();
    for place in places {
        let mut at = &mut picked;
        for step in &place.steps {
            let below = at.below.entry(step.node).or_default();
            at = match &step.key {
                None => &mut below.node,
                Some(key) => below.entries.entry(key.clone()).or_default(),
            };
        }
        at.whole = true;
    }
    if picked.whole {
        return Tree::from_root(extent.branch(None, &tree.root, &Trail::default()));
    }
    Tree::from_root(branch(extent, None, &tree.root, &picked, &Trail::default()))
}

fn branch(
    extent: Extent<'_>,
    parent: Option<NodeId>,
    source: &Arc<Branch>,
    picked: &Picked,
    trail: &Trail<'_>,
) -> Arc<Branch> {
    let seen = extent.level(parent, source, trail);
    let mut out = match parent {
        Some(list) => Branch::clone(&keys_of(extent.schema, list, source)),
        None => Branch::default(),
    };
    for (id, below) in &picked.below {
        if let Some(child) = seen.child(*id)
            && let Some(data) = data(extent, child, below, trail)
        {
            out.put(Child { data, ..child.clone() });
        }
    }
    Arc::new(out)
}

fn data(extent: Extent<'_>, child: &Child, below: &Below, trail: &Trail<'_>) -> Option<Data> {
    if below.node.whole {
        return Some(extent.data(child, trail));
    }
    match &child.data {
        Data::Leaf(_) | Data::Any(_) => None,
        Data::Container(inner) => {
            let here = trail.inside(child.id, inner);
            Some(Data::Container(branch(extent, Some(child.id), inner, &below.node, &here)))
        }
        Data::List(entries) => {
            let part = |key: &Key, picked: &Picked| {
                let entry = entries.get(key)?;
                Some(match picked.whole {
                    true => extent.entry(child.id, entry, trail),
                    false => branch(extent, Some(child.id), entry, picked, &trail.inside(child.id, entry)),
                })
            };
            some(entries, below, part).map(|entries| Data::List(Arc::new(entries)))
        }
        Data::LeafList(entries) => some(entries, below, |key, _| entries.get(key).cloned())
            .map(|entries| Data::LeafList(Arc::new(entries))),
    }
}

fn some<V: Clone>(
    source: &Entries<V>,
    below: &Below,
    part: impl Fn(&Key, &Picked) -> Option<V>,
) -> Option<Entries<V>> {
    let found = below.entries.iter().filter_map(|(key, picked)| Some((key.clone(), part(key, picked)?)));
    let out = in_order(source, found.collect());
    (!out.is_empty()).then_some(out)
}
