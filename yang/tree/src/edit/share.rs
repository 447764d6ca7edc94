//! Putting old nodes in the place of new ones that are equal to them.

use crate::map::{Difference, Map};
use crate::path::Key;
use crate::tree::{Branch, Data, Entries};
use std::sync::Arc;

/// `new` with every node that equals its counterpart in `old` replaced by that; `old` itself when all are equal.
/// What both share already is not visited.
pub(crate) fn share(old: &Arc<Branch>, mut new: Arc<Branch>) -> Arc<Branch> {
    if Arc::ptr_eq(old, &new) {
        return new;
    }
    let mut same = old.children.len() == new.children.len();
    for at in 0..new.children.len() {
        let Some(child) = new.children.get(at) else { break };
        let Some(before) = old.get(child.id) else {
            same = false;
            continue;
        };
        let shared = share_data(before, &child.data);
        same &= is_same(before, &shared);
        if !is_same(&child.data, &shared)
            && let Some(child) = Arc::make_mut(&mut new).children.get_mut(at)
        {
            child.data = shared;
        }
    }
    if same { old.clone() } else { new }
}

/// Do both hold the same node (leafs: equal values)?
fn is_same(a: &Data, b: &Data) -> bool {
    match (a, b) {
        (Data::Container(a), Data::Container(b)) => Arc::ptr_eq(a, b),
        (Data::List(a), Data::List(b)) => Arc::ptr_eq(a, b),
        (Data::LeafList(a), Data::LeafList(b)) => Arc::ptr_eq(a, b),
        (Data::Leaf(_) | Data::Any(_), _) => a == b,
        (Data::Container(_) | Data::List(_) | Data::LeafList(_), _) => false,
    }
}

fn share_data(old: &Data, new: &Data) -> Data {
    match (old, new) {
        (Data::Container(a), Data::Container(b)) => Data::Container(share(a, b.clone())),
        (Data::List(a), Data::List(b)) if !Arc::ptr_eq(a, b) => Data::List(share_list(a, b)),
        (Data::LeafList(a), Data::LeafList(b)) if a == b => Data::LeafList(a.clone()),
        _ => new.clone(),
    }
}

type List = Arc<Entries<Arc<Branch>>>;

fn share_list(old: &List, new: &List) -> List {
    match (&**old, &**new) {
        (Entries::Keyed(a), Entries::Keyed(b)) => {
            let shared = share_map(a, b);
            if shared.ptr_eq(a) { old.clone() } else { Arc::new(Entries::Keyed(shared)) }
        }
        (Entries::Ranked { .. }, Entries::Ranked { .. }) if old == new => old.clone(),
        (Entries::Ranked { .. }, Entries::Ranked { .. }) => {
            let mut shared = (**new).clone();
            for (key, entry) in new.iter() {
                if let Some(before) = old.get(key)
                    && !Arc::ptr_eq(before, entry)
                {
                    shared.set(key.clone(), share(before, entry.clone()));
                }
            }
            Arc::new(shared)
        }
        (Entries::Keyed(_), Entries::Ranked { .. }) | (Entries::Ranked { .. }, Entries::Keyed(_)) => {
            new.clone()
        }
    }
}

/// `old` with the differences to `new` made in it, so that the rest stays shared.
fn share_map(old: &Map<Key, Arc<Branch>>, new: &Map<Key, Arc<Branch>>) -> Map<Key, Arc<Branch>> {
    let mut shared = old.clone();
    for difference in old.diff(new) {
        match difference {
            Difference::Removed(key, _) => drop(shared.remove(key)),
            Difference::Added(key, entry) => drop(shared.insert(key.clone(), entry.clone())),
            Difference::Changed(key, before, entry) => {
                shared.insert(key.clone(), share(before, entry.clone()));
            }
        }
    }
    shared
}
