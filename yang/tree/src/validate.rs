//! Validation of a whole configuration (RFC 7950 section 8) at a cost that follows what changed.
//!
//! A tree that passed carries its indexes: per leafref the values that refer, per leaf that leafrefs refer to (unless a
//! look-up by key answers) the values it has, per `unique` the tuples, each with how often it stands there. They are
//! persistent maps that the next tree shares, and cost about 60 bytes an entry. Edits do not keep them up: a tree that
//! was edited has none, and gets those of the tree it is compared with, after the changes. So running carries them,
//! a candidate and what was read from a file do not.

mod asked;
mod conditions;
mod constraints;
mod indexes;
mod instances;
mod left;
mod musts;
pub(crate) mod parameters;
mod references;
mod shape;
mod unique;
mod violations;
mod whens;

pub(crate) use constraints::Constraints;
pub(crate) use indexes::Indexes;
pub use left::{Left, left_in};

use crate::diff::{ChangeSet, diff};
use crate::error::{Error, ErrorInfo, ErrorTag};
use crate::schema::Schema;
use crate::tree::Tree;
use asked::Asked;
use conditions::Asks;
use indexes::Touched;
use std::sync::Arc;
use violations::Violations;

/// Checks what the schema asks of `new` beyond types and cases, which are right by construction. Phases:
///
/// 1. nodes whose `when` is false are deleted, until no more are;
/// 2. mandatory leafs and choices, min-elements and max-elements, unique;
/// 3. leafrefs with `require-instance true`;
/// 4. `must`.
///
/// What is not judged here is listed by [`Schema::left`] and is for libyang. A node with a `when` among that is never
/// asked for as mandatory.
///
/// `base` is the tree that `new` was made from (running), and `changes` is `diff(base, new)`. What both share and no
/// change can have touched is not visited, if `base` has passed itself ([`Tree::is_validated`]); otherwise all is.
/// An expression is evaluated where something changed that it may read: one that reads a leaf from many places costs
/// all of them when that changes.
///
/// What is returned is `new`, with its indexes and without what was deleted, and the changes that lead to it.
///
/// # Errors
/// The violations of the first phase that has any, in document order, with the `error-app-tag` of RFC 7950
/// section 15: the first [`MOST`](crate::error::MOST) of them, and a count of those that follow.
pub fn validate(
    schema: &Schema,
    base: &Tree,
    new: Tree,
    changes: ChangeSet,
) -> Result<(Tree, ChangeSet), Vec<Error>> {
    let constraints = schema.constraints();
    let valid = base.indexes.as_deref();
    let asked = |changes: &ChangeSet| match valid {
        Some(_) => Asked::after(&constraints.triggers, changes),
        None => Asked::everywhere(&constraints.conditions),
    };
    let mut again = asked(&changes);
    let (new, changes) = match whens::settle(schema, &new, again.clone())? {
        None => (new, changes),
        Some(settled) => {
            let changes = diff(base, &settled);
            again = asked(&changes);
            (settled, changes)
        }
    };
    let mut indexes = valid.cloned().unwrap_or_else(|| Indexes::new(constraints));
    let touched = match valid {
        Some(_) => indexes.follow(schema, base, &new, &changes),
        None => {
            let empty = Tree::new();
            indexes.follow(schema, &empty, &new, &diff(&empty, &new))
        }
    };
    let found = judge(schema, valid.map(|_| base), &new, (&indexes, &touched), &mut again);
    if !found.is_empty() {
        return Err(found.into_errors());
    }
    Ok((Tree { indexes: Some(Arc::new(indexes)), ..new }, changes))
}

/// Whether validation of `changes` to `base` evaluates conditions: a `must` or a `when` may read any part of the
/// configuration, so that what it takes does not follow the size of the changes.
pub fn asks_conditions(schema: &Schema, base: &Tree, changes: &ChangeSet) -> bool {
    let constraints = schema.constraints();
    let asked = match &base.indexes {
        Some(_) => Asked::after(&constraints.triggers, changes),
        None => Asked::everywhere(&constraints.conditions),
    };
    !asked.is_empty()
}

/// `tree` without the nodes whose `when` is false, what that decides about included: the first phase of [`validate()`]
/// by itself.
///
/// # Errors
/// A `when` that the data make wrong or that takes too long.
pub fn settled(schema: &Schema, tree: &Tree) -> Result<Tree, Vec<Error>> {
    let everywhere = Asked::everywhere(&schema.constraints().conditions);
    Ok(whens::settle(schema, tree, everywhere)?.unwrap_or_else(|| tree.clone()))
}

/// What `new`, an edit of `base`, has more than that although its `when` is false: the sender has to learn that the node
/// is not there (RFC 7950 section 8.3.1). What the edit makes false elsewhere is no error, [`validate()`] deletes it.
pub fn unknown_elements(schema: &Schema, base: &Tree, new: &Tree) -> Vec<Error> {
    without_unknown_elements(schema, base, new).1
}

/// What an edit has created without a right to exist, since its `when` is false (RFC 7950 section 8.3.2): the tree without
/// it, and the errors, in document order. What was there before is left for the validation to delete.
pub fn without_unknown_elements(schema: &Schema, base: &Tree, new: &Tree) -> (Tree, Vec<Error>) {
    let constraints = schema.constraints();
    if !constraints.conditions.iter().any(|condition| matches!(condition.asks, Asks::When { .. })) {
        return (new.clone(), Vec::new());
    }
    let asked = Asked::after(&constraints.triggers, &diff(base, new));
    let settled = match whens::settle(schema, new, asked) {
        Ok(None) => return (new.clone(), Vec::new()),
        Ok(Some(settled)) => settled,
        Err(errors) => return (base.clone(), errors),
    };
    let mut gone = diff(new, &settled);
    gone.changes.retain(|change| base.find(&change.path).is_none());
    let mut created = Violations::of(schema, new);
    for place in gone.changes.iter().map(|change| &change.path) {
        let Some(node) = place.node() else { continue };
        created.push_with(place, || {
            let name = schema.node(node).name.clone();
            let what = format!("there is no '{name}' here, since its 'when' is false");
            Error::application(ErrorTag::UnknownElement, what).with(ErrorInfo::BadElement(name))
        });
    }
    let errors = created.into_errors();
    match gone.apply(new, schema) {
        Ok(without) => (without, errors),
        Err(error) => (base.clone(), vec![error]),
    }
}

/// The violations of the first phase that has any.
fn judge<'t>(
    schema: &'t Schema,
    base: Option<&Tree>,
    new: &'t Tree,
    (indexes, touched): (&Indexes, &Touched),
    asked: &mut Asked,
) -> Violations<'t> {
    let mut found = Violations::of(schema, new);
    shape::check(schema, base, new, asked, &mut found);
    unique::check(schema, new, indexes, touched, &mut found);
    if found.is_empty() {
        references::check(schema, new, indexes, touched, &mut found);
        musts::check_targets(schema, new, asked, &mut found);
    }
    if found.is_empty() {
        musts::check(schema, new, asked, &mut found);
    }
    found
}
