//! What a reader sees of a tree: defaults in use or not, and the part that a filter selects.

mod defaults;
mod subtree;

use crate::json;
use crate::schema::Schema;
use crate::tree::Tree;
use crate::xml::Writer;
use std::fmt;

/// `with-defaults` of RFC 6243.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Defaults {
    /// Defaults in use are there like any other node.
    ReportAll,
    /// The same, and in XML they carry the attribute `wd:default`.
    ReportAllTagged,
    /// What has its default value is not there.
    Trim,
    /// What was set is there, whatever its value.
    #[default]
    Explicit,
}

/// A tree as a reader sees it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct View<'a> {
    schema: &'a Schema,
    tree: Tree,
    tagged: bool,
}

/// The view of `tree` with `defaults`. `Explicit` costs nothing; the others copy what they add to or take from.
pub fn view<'a>(tree: &Tree, schema: &'a Schema, defaults: Defaults) -> View<'a> {
    let seen = match defaults {
        Defaults::Explicit => tree.clone(),
        Defaults::ReportAll | Defaults::ReportAllTagged => defaults::added(schema, tree),
        Defaults::Trim => defaults::trimmed(schema, tree),
    };
    View { schema, tree: seen, tagged: defaults == Defaults::ReportAllTagged }
}

impl<'a> View<'a> {
    /// The part that a subtree filter (RFC 6241 section 6) selects; `filter` is the `<filter>` element. What it
    /// selects as a whole stays shared with this view. Unknown names and namespaces select nothing.
    #[must_use]
    pub fn filter(&self, filter: roxmltree::Node<'_, '_>) -> View<'a> {
        View {
            schema: self.schema,
            tree: subtree::select(self.schema, &self.tree, filter),
            tagged: self.tagged,
        }
    }

    /// The same view of another tree, for readers that cut one down by themselves (access control).
    #[must_use]
    pub fn with_tree(&self, tree: Tree) -> View<'a> {
        View { schema: self.schema, tree, tagged: self.tagged }
    }

    /// What is seen, as a tree: defaults in use are in it like any other node, so it must not be stored.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Nothing to see?
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// Writes the top-level elements, each declaring its namespace. The sink gets pieces of some kilobytes.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write_xml(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let mut writer = Writer::new(self.schema, out, self.tagged);
        writer.children(&self.tree.root, None, None)?;
        writer.flush()
    }

    /// Writes one JSON object with the top-level nodes (RFC 7951).
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write_json(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        json::write_branch(self.schema, &self.tree.root, None, out)
    }

    /// As [`View::write_xml`], in memory.
    pub fn to_xml(&self) -> String {
        let mut out = String::new();
        // A String takes everything.
        let _ = self.write_xml(&mut out);
        out
    }

    /// As [`View::write_json`], as a value.
    pub fn to_json(&self) -> serde_json::Value {
        json::branch(self.schema, &self.tree.root, None)
    }
}
