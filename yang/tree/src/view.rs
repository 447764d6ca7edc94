//! What a reader sees of a tree: defaults in use or not, and the part that a filter selects.

use crate::schema::Schema;
use crate::tree::Tree;
use std::fmt;

/// `with-defaults` of RFC 6243.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Defaults {
    ReportAll,
    ReportAllTagged,
    Trim,
    #[default]
    Explicit,
}

/// A tree as a reader sees it.
#[derive(Debug, Clone)]
pub struct View<'a> {
    schema: &'a Schema,
    tree: Tree,
    tagged: bool,
}

/// The view of `tree` with `defaults`.
pub fn view<'a>(tree: &Tree, schema: &'a Schema, defaults: Defaults) -> View<'a> {
    let _ = (tree, schema, defaults);
    todo!()
}

impl<'a> View<'a> {
    /// The part that a subtree filter (RFC 6241 section 6) selects; `filter` is the `<filter>` element.
    #[must_use]
    pub fn filter(&self, filter: roxmltree::Node<'_, '_>) -> View<'a> {
        let _ = (filter, self.tagged, self.schema);
        todo!()
    }

    /// What is seen, as a tree: defaults in use are in it like any other node.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Nothing to see?
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// Writes the top-level elements, each declaring its namespace.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write_xml(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let _ = out;
        todo!()
    }

    /// Writes one JSON object with the top-level nodes (RFC 7951).
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write_json(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let _ = out;
        todo!()
    }

    /// As [`View::write_xml`], in memory.
    pub fn to_xml(&self) -> String {
        todo!()
    }

    /// As [`View::write_json`], as a value.
    pub fn to_json(&self) -> serde_json::Value {
        todo!()
    }
}
