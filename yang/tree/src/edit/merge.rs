//! Merging one tree into another.

use super::store;
use crate::schema::Schema;
use crate::tree::{Branch, Data, Entries, Tree};
use std::sync::Arc;

impl Tree {
    /// With all of `other`, as the edit leaves it that merges that: its values replace those that are here, and what it has
    /// of a choice those of the other cases. What only one of both has is shared, so the cost is that of what both have.
    #[must_use]
    pub fn merged(&self, schema: &Schema, other: &Tree) -> Tree {
        Tree::from_root(branches(schema, &self.root, &other.root))
    }
}

fn branches(schema: &Schema, base: &Arc<Branch>, more: &Arc<Branch>) -> Arc<Branch> {
    if base.is_empty() || Arc::ptr_eq(base, more) {
        return more.clone();
    }
    let mut merged = base.clone();
    for child in &more.children {
        let data = match (base.get(child.id), &child.data) {
            (Some(Data::Container(old)), Data::Container(new)) => Data::Container(branches(schema, old, new)),
            (Some(Data::List(old)), Data::List(new)) => Data::List(lists(schema, old, new)),
            (Some(Data::LeafList(old)), Data::LeafList(new)) => Data::LeafList(leaf_lists(old, new)),
            (
                None
                | Some(Data::Leaf(_) | Data::Container(_) | Data::List(_) | Data::LeafList(_) | Data::Any(_)),
                new,
            ) => new.clone(),
        };
        store(schema, &mut merged, child.id, data);
    }
    merged
}

fn lists(
    schema: &Schema,
    base: &Arc<Entries<Arc<Branch>>>,
    more: &Arc<Entries<Arc<Branch>>>,
) -> Arc<Entries<Arc<Branch>>> {
    let mut merged = base.clone();
    let entries = Arc::make_mut(&mut merged);
    for (key, new) in more.iter() {
        let entry = base.get(key).map_or_else(|| new.clone(), |old| branches(schema, old, new));
        entries.set(key.clone(), entry);
    }
    merged
}

fn leaf_lists<V: Clone>(base: &Arc<Entries<V>>, more: &Arc<Entries<V>>) -> Arc<Entries<V>> {
    let mut merged = base.clone();
    let entries = Arc::make_mut(&mut merged);
    for (key, value) in more.iter().filter(|(key, _)| base.get(key).is_none()) {
        entries.set(key.clone(), value.clone());
    }
    merged
}
