//! Datastore content from and to the texts of requests and replies.

use crate::piecewise;
use crate::types::{Config, DefaultOperation, Edit, ErrorOption, TestOption};
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{Defaults, Subtree, Tree, view};

/// What an edit makes of `tree`, and its errors. Both are there when `continue-on-error` did a part of it.
pub(crate) fn edit(schema: &Schema, tree: &Tree, mut edit: Edit) -> (Option<Tree>, Vec<Error>) {
    let default = edit.default_operation;
    let whole = edit.config.ops(schema, default).and_then(|ops| cats_yang_tree::edit(tree, schema, ops));
    match whole {
        Ok(tree) => (Some(tree), Vec::new()),
        Err(errors) if goes_on(&edit) => piecewise::edit(schema, tree, &edit.config, default.into(), errors),
        Err(errors) => (None, errors),
    }
}

/// Only an edit that was not to be tested first may be done in part (RFC 6241 section 8.6.4.1); `stop-on-error`
/// stops before anything is done.
fn goes_on(edit: &Edit) -> bool {
    edit.error_option == ErrorOption::ContinueOnError && edit.test_option == TestOption::Set
}

/// A complete configuration from a `<config>` element.
pub(crate) fn parse(schema: &Schema, mut config: Config) -> Result<Tree, Vec<Error>> {
    let ops = config.ops(schema, DefaultOperation::Merge)?;
    cats_yang_tree::edit(&Tree::new(), schema, ops)
}

/// What a `<filter>` element selects of `tree`, as XML.
pub(crate) fn render(schema: &Schema, tree: &Tree, filter: Option<&str>) -> Result<String, Vec<Error>> {
    let all = view(tree, schema, Defaults::Explicit);
    let Some(filter) = filter else { return Ok(all.to_xml()) };
    let filter = Subtree::parse(schema, filter).map_err(|error| vec![error])?;
    Ok(all.filter(&filter).to_xml())
}
