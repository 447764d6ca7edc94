//! Applying [`Ops`] to a [`Tree`].

use crate::error::Error;
use crate::ops::Ops;
use crate::schema::Schema;
use crate::tree::Tree;

/// The tree after `ops`. What an operation leaves as it was keeps its old nodes, so an edit without effect gives
/// the same tree. Creating a node of one case deletes those of the others. Whether the result is valid as a
/// whole is not asked here: see [`crate::validate()`].
///
/// # Errors
/// Every operation that cannot be done, in document order; the tree is then as it was.
pub fn edit(tree: &Tree, schema: &Schema, ops: Ops) -> Result<Tree, Vec<Error>> {
    let _ = (tree, schema, ops);
    todo!()
}
