//! Defaults in use (RFC 7950 sections 7.6.1 and 7.7.2), added to what a branch holds or taken out of it, one level at
//! a time, so that a reader of a part pays for that part.

use super::Defaults;
use crate::edit::cases;
use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, NodeKind, Schema};
use crate::tree::{Branch, Child, Data, Entries, Tree};
use crate::xpath::{Accessible, Budget, Evaluation};
use std::sync::Arc;

/// Where a branch stands, which decides what its `when`s say.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) schema: &'a Schema,
    /// All of the data.
    pub(crate) source: &'a Tree,
    /// The path of the branch, which is asked for only where a default depends on a condition.
    pub(crate) path: &'a dyn Fn() -> InstancePath,
}

/// The steps that the `when` of one default may take.
const STEPS: u64 = 100_000;

/// The children of `branch`, whose schema node is `parent`, as `defaults` shows them; the same Arc when that changes
/// nothing. Levels below are as they were, but for containers that come or go with their content. To do a level twice
/// is to do it once.
pub(crate) fn level(
    place: Place<'_>,
    parent: Option<NodeId>,
    branch: &Arc<Branch>,
    defaults: Defaults,
) -> Arc<Branch> {
    match defaults {
        Defaults::Explicit => branch.clone(),
        Defaults::ReportAll | Defaults::ReportAllTagged => added(place, parent, branch),
        Defaults::Trim => trimmed(place.schema, branch),
    }
}

/// Defaults are those of configuration: what state is not reported has no value that anybody could vouch for.
fn added(place: Place<'_>, parent: Option<NodeId>, branch: &Arc<Branch>) -> Arc<Branch> {
    let schema = place.schema;
    if parent.is_some_and(|parent| !schema.node(parent).config) {
        return branch.clone();
    }
    let absent = |id: &&NodeId| schema.node(**id).config && branch.child(**id).is_none();
    let used = schema.data_children_of(parent).iter().filter(absent);
    let missing: Vec<Child> = used
        .filter(|id| in_use(schema, branch, **id))
        .filter_map(|id| {
            let data = default_of(place, *id)?;
            Some(Child { id: *id, default: true, presence: false, data })
        })
        .filter(|child| place.allows(child.id))
        .collect();
    if missing.is_empty() {
        return branch.clone();
    }
    let mut out = Branch { children: Vec::with_capacity(branch.children.len() + missing.len()) };
    out.children.extend(branch.children.iter().cloned());
    missing.into_iter().for_each(|child| out.put(child));
    Arc::new(out)
}

impl Place<'_> {
    /// Do the `when`s of `id` hold below this place? Without any they do.
    fn allows(&self, id: NodeId) -> bool {
        let whens = self.schema.whens(id);
        if whens.is_empty() {
            return true;
        }
        let mut evaluation = Evaluation::new(self.schema, self.source, Accessible::WithState);
        let mut path = (self.path)();
        let Some(parent) = evaluation.place(&path) else { return false };
        path.steps.push(Step { node: id, key: None });
        let Some(node) = evaluation.place_or_dummy(&path) else { return false };
        whens.iter().all(|when| {
            let at = if when.on_parent { parent } else { node };
            // A condition that cannot be told lets nothing exist that nobody set.
            let Ok(expression) = &when.expression else { return false };
            expression.holds(&mut evaluation, at, &mut Budget::new(STEPS)).unwrap_or(false)
        })
    }
}

/// What an absent node stands for, if anything.
fn default_of(place: Place<'_>, id: NodeId) -> Option<Data> {
    let schema = place.schema;
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
            let path = || {
                let mut path = (place.path)();
                path.steps.push(Step { node: id, key: None });
                path
            };
            let inner = added(Place { path: &path, ..place }, Some(id), &Arc::default());
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

/// The same without the marks of defaults.
pub(crate) fn settled(branch: &Arc<Branch>) -> Arc<Branch> {
    let mut out = Branch { children: Vec::with_capacity(branch.children.len()) };
    let mut changed = false;
    for child in &branch.children {
        let data = match &child.data {
            Data::Container(inner) => {
                let settled = settled(inner);
                changed |= !Arc::ptr_eq(&settled, inner);
                Data::Container(settled)
            }
            Data::List(entries) => {
                let mut same = true;
                let all = entries.map(|entry| {
                    let settled = settled(entry);
                    same &= Arc::ptr_eq(&settled, entry);
                    settled
                });
                changed |= !same;
                if same { child.data.clone() } else { Data::List(Arc::new(all)) }
            }
            Data::Leaf(_) | Data::LeafList(_) | Data::Any(_) => child.data.clone(),
        };
        changed |= child.default;
        out.children.push(Child { default: false, data, ..child.clone() });
    }
    if changed { Arc::new(out) } else { branch.clone() }
}

/// Without the leafs and leaf-lists that have their default, and the containers that then hold nothing.
fn trimmed(schema: &Schema, branch: &Arc<Branch>) -> Arc<Branch> {
    let mut out = Branch { children: Vec::with_capacity(branch.children.len()) };
    let mut changed = false;
    for child in &branch.children {
        let data = match &child.data {
            Data::Leaf(value) => {
                // The default of a key is none (RFC 7950 section 7.8.2).
                let is_default = schema.default_values(child.id).first() == Some(value);
                (!is_default || schema.is_key(child.id)).then(|| child.data.clone())
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
