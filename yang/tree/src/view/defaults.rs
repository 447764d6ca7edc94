//! Defaults in use (RFC 7950 sections 7.6.1 and 7.7.2), added to a tree or taken out of it.

use crate::edit::cases;
use crate::path::Key;
use crate::schema::{NodeId, NodeKind, Schema};
use crate::tree::{Branch, Child, Data, Entries, Tree};
use std::sync::Arc;

/// The tree with every default in use; containers without presence that hold any are there too.
pub(super) fn added(schema: &Schema, tree: &Tree) -> Tree {
    Tree { root: Arc::new(add(schema, None, &tree.root)) }
}

fn add(schema: &Schema, parent: Option<NodeId>, branch: &Branch) -> Branch {
    let mut out = Branch { children: Vec::with_capacity(branch.children.len()) };
    for child in &branch.children {
        let data = match &child.data {
            Data::Container(inner) => Data::Container(Arc::new(add(schema, Some(child.id), inner))),
            Data::List(entries) => {
                let entry = |entry: &Arc<Branch>| Arc::new(add(schema, Some(child.id), entry));
                Data::List(Arc::new(entries.map(entry)))
            }
            Data::Leaf(_) | Data::LeafList(_) | Data::Any(_) => child.data.clone(),
        };
        out.children.push(Child { data, ..child.clone() });
    }
    for id in schema.data_children_of(parent) {
        if branch.child(*id).is_none()
            && in_use(schema, branch, *id)
            && let Some(data) = default_of(schema, *id)
        {
            out.put(Child { id: *id, default: true, presence: false, data });
        }
    }
    out
}

/// What an absent node stands for, if anything.
fn default_of(schema: &Schema, id: NodeId) -> Option<Data> {
    let values = schema.default_values(id);
    match &schema.node(id).kind {
        NodeKind::Leaf { .. } => values.first().cloned().map(Data::Leaf),
        NodeKind::LeafList { .. } if !values.is_empty() => {
            let mut entries = Entries::new(schema.is_user_ordered(id));
            for value in values {
                entries.set(Key::One(value.clone()), value.clone());
            }
            Some(Data::LeafList(Arc::new(entries)))
        }
        NodeKind::Container { presence: false } => {
            let inner = add(schema, Some(id), &Branch::default());
            (!inner.is_empty()).then(|| Data::Container(Arc::new(inner)))
        }
        _ => None,
    }
}

/// May `id` have its default beside what `branch` holds? In each choice around it, its case must have data or,
/// when no case has, be the default case.
fn in_use(schema: &Schema, branch: &Branch, id: NodeId) -> bool {
    cases(schema, id).into_iter().all(|(choice, case)| {
        let mut taken = branch.children.iter().flat_map(|child| cases(schema, child.id));
        match taken.find(|(other, _)| *other == choice) {
            Some((_, other)) => other == case,
            None => matches!(
                schema.node(choice).kind,
                NodeKind::Choice { default_case: Some(default), .. } if default == case
            ),
        }
    })
}

/// The tree without leafs and leaf-lists that have their default; what then holds nothing goes too.
pub(super) fn trimmed(schema: &Schema, tree: &Tree) -> Tree {
    Tree { root: trim(schema, &tree.root) }
}

fn trim(schema: &Schema, branch: &Arc<Branch>) -> Arc<Branch> {
    let mut out = Branch::default();
    for child in &branch.children {
        let data = match &child.data {
            Data::Leaf(value) if schema.default_values(child.id).first() == Some(value) => continue,
            Data::LeafList(entries) => {
                let defaults = schema.default_values(child.id);
                if !defaults.is_empty() && entries.iter().map(|(_, value)| value).eq(defaults) {
                    continue;
                }
                child.data.clone()
            }
            Data::Container(inner) => {
                let inner = trim(schema, inner);
                if inner.is_empty() && !child.presence {
                    continue;
                }
                Data::Container(inner)
            }
            Data::List(entries) => Data::List(Arc::new(entries.map(|entry| trim(schema, entry)))),
            Data::Leaf(_) | Data::Any(_) => child.data.clone(),
        };
        out.children.push(Child { data, ..child.clone() });
    }
    Arc::new(out)
}
