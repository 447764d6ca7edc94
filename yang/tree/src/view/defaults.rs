//! Defaults in use (RFC 7950 sections 7.6.1 and 7.7.2), added to what a branch holds or taken out of it, one level at
//! a time, so that a reader of a part pays for that part.

use super::Defaults;
use crate::edit::cases;
use crate::path::Key;
use crate::schema::{NodeId, NodeKind, Schema};
use crate::tree::{Branch, Child, Data, Entries};
use std::sync::Arc;

/// The children of `branch`, whose schema node is `parent`, as `defaults` shows them; the same Arc when that changes
/// nothing. Levels below are as they were, but for containers that come or go with their content. To do a level twice
/// is to do it once.
pub(crate) fn level(
    schema: &Schema,
    parent: Option<NodeId>,
    branch: &Arc<Branch>,
    defaults: Defaults,
) -> Arc<Branch> {
    match defaults {
        Defaults::Explicit => branch.clone(),
        Defaults::ReportAll | Defaults::ReportAllTagged => added(schema, parent, branch),
        Defaults::Trim => trimmed(schema, branch),
    }
}

/// Defaults are those of configuration: what state is not reported has no value that anybody could vouch for.
fn added(schema: &Schema, parent: Option<NodeId>, branch: &Arc<Branch>) -> Arc<Branch> {
    let absent = |id: &&NodeId| schema.node(**id).config && branch.child(**id).is_none();
    let used =
        schema.data_children_of(parent).iter().filter(absent).filter(|id| in_use(schema, branch, **id));
    let missing: Vec<Child> = used
        .filter_map(|id| {
            Some(Child { id: *id, default: true, presence: false, data: default_of(schema, *id)? })
        })
        .collect();
    if missing.is_empty() {
        return branch.clone();
    }
    let mut out = Branch { children: Vec::with_capacity(branch.children.len() + missing.len()) };
    out.children.extend(branch.children.iter().cloned());
    missing.into_iter().for_each(|child| out.put(child));
    Arc::new(out)
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
            let inner = added(schema, Some(id), &Arc::default());
            (!inner.is_empty()).then_some(Data::Container(inner))
        }
        _ => None,
    }
}

/// May `id` have its default beside what `branch` holds? In each choice around it, its case must have data or,
/// when no case has, be the default case.
pub(crate) fn in_use(schema: &Schema, branch: &Branch, id: NodeId) -> bool {
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

/// Without the leafs and leaf-lists that have their default, and the containers that then hold nothing.
fn trimmed(schema: &Schema, branch: &Arc<Branch>) -> Arc<Branch> {
    let mut out = Branch { children: Vec::with_capacity(branch.children.len()) };
    let mut changed = false;
    for child in &branch.children {
        let data = match &child.data {
            Data::Leaf(value) => {
                (schema.default_values(child.id).first() != Some(value)).then(|| child.data.clone())
            }
            Data::LeafList(entries) => {
                let defaults = schema.default_values(child.id);
                let is_default = !defaults.is_empty() && entries.iter().map(|(_, value)| value).eq(defaults);
                (!is_default).then(|| child.data.clone())
            }
            Data::Container(inner) => {
                let kept = trimmed(schema, inner);
                changed |= !Arc::ptr_eq(&kept, inner);
                (child.presence || !kept.is_empty()).then_some(Data::Container(kept))
            }
            Data::List(_) | Data::Any(_) => Some(child.data.clone()),
        };
        match data {
            Some(data) => out.children.push(Child { data, ..child.clone() }),
            None => changed = true,
        }
    }
    if changed { Arc::new(out) } else { branch.clone() }
}
