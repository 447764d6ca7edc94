//! Structural validation of a whole configuration (RFC 7950 section 8).

use crate::diff::ChangeSet;
use crate::error::Error;
use crate::schema::Schema;
use crate::tree::Tree;

/// Checks what the schema asks of `new` beyond types, which are right by construction: mandatory nodes,
/// min-elements and max-elements, unique, and leafrefs with a simple path. `when` and `must` are not evaluated
/// here: libyang, through `yang/schema`, decides on them. `base` is a valid tree that `new` was made from
/// (running); what both share is not checked again, and `changes` is the difference.
///
/// # Errors
/// All violations of the first phase that has any, in document order, with the `error-app-tag` of RFC 7950
/// section 15.
pub fn validate(schema: &Schema, base: &Tree, new: &Tree, changes: &ChangeSet) -> Result<(), Vec<Error>> {
    let _ = (schema, base, new, changes);
    todo!()
}
