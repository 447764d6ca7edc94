//! Making the changes of a [`ChangeSet`] to a tree.

use super::{Change, ChangeKind, ChangeSet, Payload, Position};
use crate::error::{Error, ErrorTag};
use crate::path::{Key, Step};
use crate::schema::Schema;
use crate::tree::{Branch, Child, Data, Entries, Place, Tree};
use std::sync::Arc;

pub(super) fn apply(changes: &ChangeSet, tree: &Tree, schema: &Schema) -> Result<Tree, Error> {
    let mut root = tree.root.clone();
    for change in &changes.changes {
        if !descend(schema, &mut root, &change.path.steps, change) {
            let tag = match change.kind {
                ChangeKind::Create { .. } => ErrorTag::DataExists,
                ChangeKind::Delete { .. } | ChangeKind::Replace { .. } | ChangeKind::Move => {
                    ErrorTag::DataMissing
                }
            };
            let what = "the change does not fit the tree it is made to";
            return Err(Error::application(tag, what).at(change.path.render(schema)));
        }
    }
    Ok(Tree::from_root(root))
}

/// False when the change does not fit.
fn descend(schema: &Schema, branch: &mut Arc<Branch>, steps: &[Step], change: &Change) -> bool {
    let Some((step, rest)) = steps.split_first() else { return false };
    if rest.is_empty() {
        return change_here(schema, branch, step, change);
    }
    let implied = schema.is_non_presence(step.node);
    if branch.get(step.node).is_none() {
        if !implied {
            return false;
        }
        Arc::make_mut(branch).set(step.node, Data::Container(Arc::default()));
    }
    let (fits, empty) = match (child_mut(branch, step), &step.key) {
        (Some(Data::Container(inner)), None) => {
            let fits = descend(schema, inner, rest, change);
            (fits, implied && inner.is_empty())
        }
        (Some(Data::List(entries)), Some(key)) => match Arc::make_mut(entries).get_mut(key) {
            Some(entry) => (descend(schema, entry, rest, change), false),
            None => (false, false),
        },
        _ => (false, false),
    };
    if empty {
        Arc::make_mut(branch).unset(step.node);
    }
    fits
}

fn change_here(schema: &Schema, branch: &mut Arc<Branch>, step: &Step, change: &Change) -> bool {
    match &step.key {
        None => change_single(branch, step, change),
        Some(key) => change_list(schema, branch, step, key, change),
    }
}

fn change_single(branch: &mut Arc<Branch>, step: &Step, change: &Change) -> bool {
    let exists = branch.get(step.node).is_some();
    match &change.kind {
        ChangeKind::Create { new } | ChangeKind::Replace { new, .. } => {
            let create = matches!(change.kind, ChangeKind::Create { .. });
            let data = match new {
                Payload::Value(value) => Data::Leaf(value.clone()),
                Payload::Branch(inner) => Data::Container(inner.clone()),
                Payload::Any(text) => Data::Any(text.clone()),
            };
            let presence = matches!(data, Data::Container(_));
            Arc::make_mut(branch).put(Child { id: step.node, default: false, presence, data });
            exists != create
        }
        ChangeKind::Delete { .. } => {
            Arc::make_mut(branch).unset(step.node);
            exists
        }
        ChangeKind::Move => false,
    }
}

fn change_list(schema: &Schema, branch: &mut Arc<Branch>, step: &Step, key: &Key, change: &Change) -> bool {
    let ordered = schema.is_user_ordered(step.node);
    if branch.get(step.node).is_none() {
        let empty = match change.new_payload() {
            Some(Payload::Branch(_)) => Data::List(Arc::new(Entries::new(ordered))),
            Some(Payload::Value(_)) => Data::LeafList(Arc::new(Entries::new(ordered))),
            Some(Payload::Any(_)) | None => return false,
        };
        Arc::make_mut(branch).set(step.node, empty);
    }
    let (fits, empty) = match child_mut(branch, step) {
        Some(Data::List(entries)) => {
            let new = change.new_payload().and_then(|new| match new {
                Payload::Branch(entry) => Some(entry.clone()),
                Payload::Value(_) | Payload::Any(_) => None,
            });
            let entries = Arc::make_mut(entries);
            (change_entry(entries, key, change, new), entries.is_empty())
        }
        Some(Data::LeafList(entries)) => {
            let new = change.new_payload().and_then(|new| match new {
                Payload::Value(value) => Some(value.clone()),
                Payload::Branch(_) | Payload::Any(_) => None,
            });
            let entries = Arc::make_mut(entries);
            (change_entry(entries, key, change, new), entries.is_empty())
        }
        _ => (false, false),
    };
    if empty {
        Arc::make_mut(branch).unset(step.node);
    }
    fits
}

fn change_entry<V: Clone>(entries: &mut Entries<V>, key: &Key, change: &Change, new: Option<V>) -> bool {
    let exists = entries.get(key).is_some();
    let fits = match (&change.kind, new) {
        (ChangeKind::Create { .. }, Some(new)) => {
            entries.set(key.clone(), new);
            !exists
        }
        (ChangeKind::Replace { .. }, Some(new)) => {
            entries.set(key.clone(), new);
            exists
        }
        (ChangeKind::Delete { .. }, _) => entries.remove(key).is_some(),
        (ChangeKind::Move, _) => exists,
        (ChangeKind::Create { .. } | ChangeKind::Replace { .. }, None) => false,
    };
    let place = match &change.position {
        None => return fits,
        Some(Position::First) => Place::First,
        Some(Position::After(key)) => Place::After(key.clone()),
    };
    fits && (entries.stands(key, &place) || entries.place(key, &place))
}

fn child_mut<'a>(branch: &'a mut Arc<Branch>, step: &Step) -> Option<&'a mut Data> {
    let at = branch.children.binary_search_by_key(&step.node, |child| child.id).ok()?;
    Arc::make_mut(branch).children.get_mut(at).map(|child| &mut child.data)
}
