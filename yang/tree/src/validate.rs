//! Structural validation of a whole configuration (RFC 7950 section 8).

mod references;
mod shape;

use crate::diff::ChangeSet;
use crate::error::Error;
use crate::schema::Schema;
use crate::tree::Tree;

/// Checks what the schema asks of `new` beyond types and cases, which are right by construction. Two phases:
///
/// 1. mandatory leafs and choices, min-elements and max-elements, unique;
/// 2. leafrefs with `require-instance true` and a path without predicates.
///
/// Not evaluated here, and left to libyang through `yang/schema`: `when` and `must` (so a node with a `when` is
/// never asked for as mandatory), instance-identifiers, leafrefs with predicates or inside unions, leafrefs whose
/// value is a default.
///
/// `base` is a valid tree that `new` was made from (running), `changes` their difference: what both share and no
/// change can have touched is not visited.
///
/// # Errors
/// All violations of the first phase that has any, in document order, with the `error-app-tag` of RFC 7950
/// section 15.
pub fn validate(schema: &Schema, base: &Tree, new: &Tree, changes: &ChangeSet) -> Result<(), Vec<Error>> {
    let errors = shape::check(schema, base, new);
    if !errors.is_empty() {
        return Err(errors);
    }
    let errors = references::check(schema, base, new, changes);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}
