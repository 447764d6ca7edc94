//! How much memory a tree takes, about.

use crate::map::Difference;
use crate::path::Key;
use crate::tree::{Branch, Child, Data, Entries, Tree};
use crate::value::Value;
use std::sync::Arc;

/// The counters of an `Arc`.
const COUNTERS: usize = 2 * size_of::<usize>();

/// The bytes of what `tree` holds and does not share with `base`, about: at the cost of what differs.
pub fn unshared(tree: &Tree, base: &Tree) -> usize {
    branch(&tree.root, Some(&base.root))
}

fn branch(new: &Arc<Branch>, old: Option<&Arc<Branch>>) -> usize {
    if old.is_some_and(|old| Arc::ptr_eq(old, new)) {
        return 0;
    }
    let child = |child: &Child| {
        let old = old.and_then(|old| old.child(child.id)).map(|child| &child.data);
        size_of::<Child>() + data(&child.data, old)
    };
    COUNTERS + size_of::<Branch>() + new.children.iter().map(child).sum::<usize>()
}

fn data(new: &Data, old: Option<&Data>) -> usize {
    match (new, old) {
        (Data::Leaf(new), Some(Data::Leaf(old))) if new == old => 0,
        (Data::Leaf(new), _) => value(new),
        (Data::Container(new), Some(Data::Container(old))) => branch(new, Some(old)),
        (Data::Container(new), _) => branch(new, None),
        (Data::List(new), Some(Data::List(old))) => entries(new, Some(old), branch),
        (Data::List(new), _) => entries(new, None, branch),
        (Data::LeafList(new), Some(Data::LeafList(old))) => entries(new, Some(old), |new, _| value(new)),
        (Data::LeafList(new), _) => entries(new, None, |new, _| value(new)),
        (Data::Any(new), Some(Data::Any(old))) if Arc::ptr_eq(new, old) => 0,
        (Data::Any(new), _) => COUNTERS + new.len(),
    }
}

fn entries<V: Clone + PartialEq>(
    new: &Arc<Entries<V>>,
    old: Option<&Arc<Entries<V>>>,
    size: impl Fn(&V, Option<&V>) -> usize,
) -> usize {
    let entry = |key: &Key, new: &V, old: Option<&V>| key_size(key) + size_of::<V>() + size(new, old);
    match (&**new, old.map(|old| &**old)) {
        (Entries::Keyed(new), Some(Entries::Keyed(old))) => {
            let sizes = old.diff(new).map(|difference| match difference {
                Difference::Added(key, new) => entry(key, new, None),
                Difference::Changed(key, old, new) => entry(key, new, Some(old)),
                Difference::Removed(..) => 0,
            });
            sizes.sum()
        }
        (Entries::Ranked { by_key: new, .. }, Some(Entries::Ranked { by_key: old, .. })) => {
            let sizes = old.diff(new).map(|difference| match difference {
                Difference::Added(key, new) => RANKED + entry(key, new.value(), None),
                Difference::Changed(key, old, new) => RANKED + entry(key, new.value(), Some(old.value())),
                Difference::Removed(..) => 0,
            });
            sizes.sum()
        }
        // One schema gives a list one order.
        (Entries::Keyed(_), Some(Entries::Ranked { .. }) | None) => {
            new.iter().map(|(key, new)| entry(key, new, None)).sum()
        }
        (Entries::Ranked { .. }, Some(Entries::Keyed(_)) | None) => {
            new.iter().map(|(key, new)| RANKED + entry(key, new, None)).sum()
        }
    }
}

/// What the user's order takes for an entry: its rank, and in the map of ranks that and the key.
const RANKED: usize = 2 * size_of::<u64>() + size_of::<Key>();

/// A key shares the texts of its values with the leafs.
fn key_size(key: &Key) -> usize {
    let values = match key {
        Key::One(_) => 0,
        Key::Many(values) => COUNTERS + size_of_val(&**values),
    };
    size_of::<Key>() + values
}

fn value(value: &Value) -> usize {
    match value {
        Value::String(text)
        | Value::Enum(text)
        | Value::Bits(text)
        | Value::Identity(text)
        | Value::Instance(text)
        | Value::Binary(text) => COUNTERS + text.len(),
        Value::Empty
        | Value::Bool(_)
        | Value::Int32(_)
        | Value::Uint32(_)
        | Value::Int64(_)
        | Value::Uint64(_)
        | Value::Decimal64 { .. } => 0,
    }
}
