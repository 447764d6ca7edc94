//! Validation of a whole configuration (RFC 7950 section 8) at a cost that follows what changed.
//!
//! A tree that passed carries its indexes: per leafref the values that refer, per leaf that leafrefs refer to (unless a
//! look-up by key answers) the values it has, per `unique` the tuples, each with how often it stands there. They are
//! persistent maps that the next tree shares, and cost about 60 bytes an entry. Edits do not keep them up: a tree that
//! was edited has none, and gets those of the tree it is compared with, after the changes. So running carries them,
//! a candidate and what was read from a file do not.

mod constraints;
mod indexes;
mod instances;
mod left;
mod order;
mod references;
mod shape;
mod unique;

pub(crate) use constraints::Constraints;
pub(crate) use indexes::Indexes;
pub use left::{Left, left_in};

use crate::diff::{ChangeSet, diff};
use crate::error::Error;
use crate::path::InstancePath;
use crate::schema::Schema;
use crate::tree::Tree;
use std::sync::Arc;

/// Checks what the schema asks of `new` beyond types and cases, which are right by construction. Two phases:
///
/// 1. mandatory leafs and choices, min-elements and max-elements, unique;
/// 2. leafrefs with `require-instance true`.
///
/// What is not judged here is listed by [`Schema::left`] and is for libyang; a node with a `when` is never asked for as
/// mandatory.
///
/// `base` is the tree that `new` was made from (running), and `changes` is `diff(base, new)`. What both share and no
/// change can have touched is not visited, if `base` has passed itself ([`Tree::is_validated`]); otherwise all is.
/// The tree that is returned equals `new` and carries its indexes.
///
/// # Errors
/// All violations of the first phase that has any, in document order, with the `error-app-tag` of RFC 7950
/// section 15.
pub fn validate(
    schema: &Schema,
    base: &Tree,
    new: Tree,
    changes: ChangeSet,
) -> Result<(Tree, ChangeSet), Vec<Error>> {
    let valid = base.indexes.as_deref();
    let mut indexes = valid.cloned().unwrap_or_else(|| Indexes::new(schema.constraints()));
    let touched = match valid {
        Some(_) => indexes.follow(schema, base, &new, &changes),
        None => {
            let empty = Tree::new();
            indexes.follow(schema, &empty, &new, &diff(&empty, &new))
        }
    };
    let mut found = shape::check(schema, valid.map(|_| base), &new);
    found.extend(unique::check(schema, &new, &indexes, &touched));
    if found.is_empty() {
        found = references::check(schema, &new, &indexes, &touched);
    }
    if !found.is_empty() {
        return Err(order::in_document_order(schema, &new, found));
    }
    let passed = Tree { indexes: Some(Arc::new(indexes)), ..new };
    Ok((passed, changes))
}

/// A constraint that is not met.
#[derive(Debug)]
pub(crate) struct Violation {
    place: InstancePath,
    error: Error,
}

impl Violation {
    /// At `place`, which the error names.
    fn new(schema: &Schema, place: InstancePath, error: Error) -> Self {
        let error = error.at(place.render(schema));
        Self { place, error }
    }
}
