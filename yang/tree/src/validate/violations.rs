//! Violations as they are found: the first of them in the order of the document are told, the others counted.

use crate::error::{Error, Errors, MOST};
use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, Schema};
use crate::tree::{Found, Tree};
use std::cmp::Ordering;

/// Constraints that `tree` does not meet. However many these are, it holds no more than are told in one answer.
pub(super) struct Violations<'t> {
    schema: &'t Schema,
    tree: &'t Tree,
    /// In the order of the document; those of one place as they were found.
    first: Vec<Violation>,
    more: usize,
}

struct Violation {
    place: InstancePath,
    error: Error,
}

impl<'t> Violations<'t> {
    pub(super) fn of(schema: &'t Schema, tree: &'t Tree) -> Self {
        Self { schema, tree, first: Vec::new(), more: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Adds one at `place`, which the error will name; the error is made only if it is to be told.
    pub(super) fn push_with(&mut self, place: &InstancePath, error: impl FnOnce() -> Error) {
        let (schema, tree) = (self.schema, self.tree);
        let is_after = |known: &Violation| compare(schema, tree, &known.place, place) == Ordering::Greater;
        let is_full = self.first.len() >= MOST;
        if is_full {
            self.more = self.more.saturating_add(1);
        }
        if is_full && !self.first.last().is_some_and(is_after) {
            return;
        }
        let at = self.first.partition_point(|known| !is_after(known));
        let error = error().at(place.render(schema));
        self.first.insert(at, Violation { place: place.clone(), error });
        self.first.truncate(MOST);
    }

    /// In the order of the document, with a last one that counts what is not told.
    pub(super) fn into_errors(self) -> Vec<Error> {
        Errors::of(self.first.into_iter().map(|violation| violation.error).collect(), self.more).into_vec()
    }
}

fn compare(schema: &Schema, tree: &Tree, a: &InstancePath, b: &InstancePath) -> Ordering {
    for (at, (mine, theirs)) in a.steps.iter().zip(&b.steps).enumerate() {
        let nodes = schema.rank(mine.node).cmp(&schema.rank(theirs.node));
        let order = nodes.then_with(|| match (&mine.key, &theirs.key) {
            (Some(one), Some(other)) if one != other => {
                entries(schema, tree, a.steps.get(..at).unwrap_or_default(), mine.node, one, other)
            }
            (one, other) => one.is_some().cmp(&other.is_some()),
        });
        if order != Ordering::Equal {
            return order;
        }
    }
    a.steps.len().cmp(&b.steps.len())
}

/// Which of two entries of one list stands first.
fn entries(schema: &Schema, tree: &Tree, above: &[Step], list: NodeId, one: &Key, other: &Key) -> Ordering {
    if !schema.is_user_ordered(list) {
        return one.cmp(other);
    }
    let mut path = InstancePath { steps: above.to_vec() };
    path.steps.push(Step { node: list, key: None });
    match tree.find(&path) {
        Some(Found::List(entries)) => entries.position(one).cmp(&entries.position(other)),
        Some(Found::LeafList(entries)) => entries.position(one).cmp(&entries.position(other)),
        _ => one.cmp(other),
    }
}
