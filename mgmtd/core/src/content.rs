//! Datastore content from and to the texts of requests and replies.

use crate::nacm::Access;
use crate::piecewise;
use crate::types::{Config, Edit, ErrorOption, ReadAs, TestOption};
use cats_yang_tree::edit::refusals;
use cats_yang_tree::error::{Error, ErrorTag, in_one_answer};
use cats_yang_tree::ops::Faulty;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::validate::without_unknown_elements;
use cats_yang_tree::{Ops, Tree};

/// What an edit makes of `tree`, and its errors. Both are there when `continue-on-error` did a part of it; an edit that
/// is denied for any node is not done at all.
pub(crate) fn edit(
    schema: &Schema,
    tree: &Tree,
    mut edit: Edit,
    access: &Access,
) -> (Option<Tree>, Vec<Error>) {
    let default = edit.default_operation;
    let whole = match edit.config.ops(schema, ReadAs::Edit(default)) {
        Ok(ops) => done(schema, (tree, access), ops),
        Err(faulty) => Err(all_errors(schema, (tree, access), faulty)),
    };
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

fn done(schema: &Schema, (tree, access): (&Tree, &Access), ops: Ops) -> Result<Tree, Vec<Error>> {
    access.may_request(&ops)?;
    cats_yang_tree::edit(tree, schema, ops)
}

/// Those that an edit has by itself, and those that what can be read of it has against the datastore: a client hears of
/// all at once. As nothing is done, and so not judged by what it would change, what is there and hidden has no say.
fn all_errors(schema: &Schema, (tree, access): (&Tree, &Access), faulty: Faulty) -> Vec<Error> {
    let Faulty { errors, readable } = faulty;
    let refused = match access.may_request(&readable) {
        Ok(()) => access.of_readable(refusals(tree, schema, readable)),
        Err(denied) => denied,
    };
    in_one_answer([errors, refused].concat())
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
    let ops = config.ops(schema, ReadAs::Whole).map_err(|faulty| faulty.errors)?;
    access.may_request(&ops)?;
    cats_yang_tree::edit(&Tree::new(), schema, ops)
}
