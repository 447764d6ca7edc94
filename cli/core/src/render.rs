//! Data for people and for scripts: an outline with tables, `set` lines that read back, differences.

mod outline;
mod set;

pub use outline::outline;
pub use set::{Line, Sign, compare, set_lines};

use crate::error::Error;
use cats_yang_tree::operation::Answer;
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::tree::Tree;
use cats_yang_tree::view::{Defaults, view};
use cats_yang_tree::{Ops, edit};

/// The data in `xml`, whose root element (`<data>`) holds the top-level nodes.
pub fn read(schema: &Schema, xml: &str) -> Result<Tree, Error> {
    let ops = Ops::from_state_xml(schema, xml).map_err(unreadable)?;
    edit(&Tree::new(), schema, ops).map_err(unreadable)
}

/// What an operation answered: its output elements.
pub fn answer(schema: &Schema, operation: NodeId, elements: &str) -> Result<Tree, Error> {
    let answer = Answer::from_xml(schema, operation, &format!("<data>{elements}</data>"));
    answer.map(|answer| answer.tree().clone()).map_err(unreadable)
}

fn unreadable(errors: Vec<cats_yang_tree::error::Error>) -> Error {
    let first = errors.into_iter().next().map_or_else(String::new, |error| error.to_string());
    Error::usage(format!("the server's data do not fit its schema: {first}"))
}

/// The data as XML, every top-level element declaring its namespace.
pub fn xml(schema: &Schema, tree: &Tree) -> String {
    view(tree, schema, Defaults::Explicit).to_xml()
}

/// The data as one object of RFC 7951.
pub fn json(schema: &Schema, tree: &Tree) -> String {
    let value = view(tree, schema, Defaults::Explicit).to_json();
    serde_json::to_string_pretty(&value).unwrap_or_else(|_| value.to_string())
}
