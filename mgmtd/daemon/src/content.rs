//! Configuration and state as the JSON that the journal and the engine speak.

use cats_yang_model::Config;
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{Change, ChangeSet, Defaults, Operation, Ops, Record, Tree, edit, view};
use serde_json::Value;

/// A whole configuration as one RFC 7951 object.
pub(crate) fn to_json(schema: &Schema, tree: &Tree) -> String {
    let mut out = String::new();
    // A String takes everything.
    let _ = view(tree, schema, Defaults::Explicit).write_json(&mut out);
    out
}

/// As [`to_json`], as a value.
pub(crate) fn to_value(schema: &Schema, tree: &Tree) -> Value {
    view(tree, schema, Defaults::Explicit).to_json()
}

/// The reverse of [`to_json`].
///
/// # Errors
/// When the text is no JSON, or what it says does not fit the schema.
pub(crate) fn from_json(schema: &Schema, text: &[u8]) -> Result<Tree, Vec<Error>> {
    let value: Value = serde_json::from_slice(text).map_err(|error| vec![unreadable(&error)])?;
    edit(&Tree::new(), schema, Ops::from_json(schema, &value, Operation::Merge)?)
}

/// A commit's changes for the journal.
///
/// # Errors
/// When a value has no JSON form, which is a bug of ours.
pub(crate) fn record(schema: &Schema, changes: &ChangeSet) -> Result<Vec<u8>, Error> {
    let mut text = String::new();
    let written = changes.write_records(schema, &mut text);
    let fault = || Error::application(ErrorTag::OperationFailed, "a change has no form in JSON");
    written.map(|()| text.into_bytes()).map_err(|_| fault())
}

/// Those of a commit's changes that the typed configuration may have, in its words.
pub(crate) fn modelled(schema: &Schema, changes: &ChangeSet) -> Vec<Record> {
    let known = |change: &&Change| {
        change.path.steps.first().is_some_and(|top| {
            Config::reaches_into(&schema.module_of(top.node).name, &schema.node(top.node).name)
        })
    };
    ChangeSet { changes: changes.changes.iter().filter(known).cloned().collect() }.records(schema)
}

/// The tree after the changes of a journal's record.
///
/// # Errors
/// When they do not fit the schema or the tree.
pub(crate) fn replay(schema: &Schema, tree: &Tree, changes: &[u8]) -> Result<Tree, Error> {
    let records: Vec<Record> = serde_json::from_slice(changes).map_err(|error| unreadable(&error))?;
    ChangeSet::from_records(schema, tree, &records)?.apply(tree, schema)
}

/// State with one more page of what the engine tells.
///
/// # Errors
/// When it is no JSON, or what it says does not fit the schema.
pub(crate) fn with_page(schema: &Schema, state: &Tree, page: &[u8]) -> Result<Tree, Vec<Error>> {
    let page: Value = serde_json::from_slice(page).map_err(|error| vec![unreadable(&error)])?;
    edit(state, schema, Ops::from_state_json(schema, &page)?)
}

fn unreadable(error: &serde_json::Error) -> Error {
    Error::application(ErrorTag::OperationFailed, format!("not readable as JSON: {error}"))
}
