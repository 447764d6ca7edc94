//! Datastore content from and to the texts of requests and replies.

use crate::nacm::Access;
use crate::piecewise;
use crate::types::{Config, Edit, ErrorOption, ReadAs, TestOption};
use cats_yang_tree::Tree;
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::validate::without_unknown_elements;

/// What an edit makes of `tree`, and its errors. Both are there when `continue-on-error` did a part of it; an edit that
/// is denied for any node is not done at all.
pub(crate) fn edit(
    schema: &Schema,
    tree: &Tree,
    mut edit: Edit,
    access: &Access,
) -> (Option<Tree>, Vec<Error>) {
    let default = edit.default_operation;
    let whole = edit.config.ops(schema, ReadAs::Edit(default)).and_then(|ops| {
        access.may_request(&ops)?;
        cats_yang_tree::edit(tree, schema, ops)
    });
    let (edited, errors) = match whole {
        Ok(edited) => {
            let (known, unknown) = without_unknown_elements(schema, tree, &edited);
            (Some(known).filter(|_| unknown.is_empty() || goes_on(&edit)), unknown)
        }
        Err(errors) if goes_on(&edit) => {
            piecewise::edit(schema, (tree, access), &edit.config, default.into(), errors)
        }
        Err(errors) => (None, errors),
    };
    match edited.as_ref().map(|edited| access.may_change(tree, edited)) {
        Some(Err(denied)) => (None, denied),
        Some(Ok(())) | None => {
            let denied = errors.iter().any(|error| error.tag == ErrorTag::AccessDenied);
            (edited.filter(|_| !denied), access.without_hidden_edits(errors))
        }
    }
}

/// Only an edit that was not to be tested first may be done in part (RFC 6241 section 8.6.4.1); `stop-on-error`
/// stops before anything is done.
fn goes_on(edit: &Edit) -> bool {
    edit.error_option == ErrorOption::ContinueOnError && edit.test_option == TestOption::Set
}

/// A complete configuration from a `<config>` element.
pub(crate) fn parse(schema: &Schema, config: Config) -> Result<Tree, Vec<Error>> {
    parse_for(schema, config, &Access::FULL)
}

/// As [`parse`], of one that is to take the place of a datastore.
pub(crate) fn parse_for(schema: &Schema, mut config: Config, access: &Access) -> Result<Tree, Vec<Error>> {
    let ops = config.ops(schema, ReadAs::Whole)?;
    access.may_request(&ops)?;
    cats_yang_tree::edit(&Tree::new(), schema, ops)
}
