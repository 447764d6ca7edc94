//! The order of the document, for errors that were found in another one.

use super::Violation;
use crate::error::Error;
use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, Schema};
use crate::tree::{Found, Tree};
use std::cmp::Ordering;

/// The errors in the order in which their places stand in `tree`; those of one place keep the order they have.
pub(super) fn in_document_order(schema: &Schema, tree: &Tree, mut found: Vec<Violation>) -> Vec<Error> {
    found.sort_by(|a, b| compare(schema, tree, &a.place, &b.place));
    found.into_iter().map(|violation| violation.error).collect()
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
