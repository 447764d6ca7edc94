//! What a reader sees of a tree: defaults in use or not, the part that a filter selects, how deep, from where.
//!
//! A view is made in this order: the tree, defaults, what the reader may see ([`View::cut`]: after defaults, else they would
//! stand in for what is hidden), depth, filter, configuration or state, origin. A filter sees defaults as the view shows them, and what is selected by it alone is
//! given them; nothing else is visited for it.

pub(crate) mod defaults;
pub(crate) mod extent;
pub(crate) mod origin;
mod pick;
pub(crate) mod subtree;
mod term;
pub(crate) mod trail;

pub use origin::{Origin, Origins};
pub use subtree::Subtree;

use crate::json;
use crate::path::InstancePath;
use crate::schema::Schema;
use crate::tree::Tree;
use crate::xml::{Pieces, Written};
use extent::Extent;
use std::fmt;
use std::num::NonZeroU16;
use std::sync::Arc;
use trail::Trail;

/// `with-defaults` of RFC 6243.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Defaults {
    /// Defaults in use of configuration are there like any other node.
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
    /// What is still to be done to the tree: a view that is only written does it on the way.
    defaults: Defaults,
    depth: Option<NonZeroU16>,
    tagged: bool,
    /// Origins are written, by what was intended.
    intended: Option<Tree>,
}

/// The view of `tree` with `defaults`.
pub fn view<'a>(tree: &Tree, schema: &'a Schema, defaults: Defaults) -> View<'a> {
    let tagged = defaults == Defaults::ReportAllTagged;
    View { schema, tree: tree.clone(), defaults, depth: None, tagged, intended: None }
}

impl<'a> View<'a> {
    /// The same with `depth` levels, counted from each node that the filter selects: 1 is that node alone. Without a
    /// filter they are counted from the top-level nodes. Entries keep their keys.
    #[must_use]
    pub fn depth(mut self, depth: Option<NonZeroU16>) -> View<'a> {
        self.depth = depth;
        self
    }

    /// The part that a subtree filter selects. What it selects as a whole stays shared with this view where defaults
    /// and depth allow. Unknown names and namespaces select nothing.
    #[must_use]
    pub fn filter(&self, filter: &Subtree) -> View<'a> {
        self.done(filter.select(&self.tree, self.extent()))
    }

    /// As [`View::filter`], if that takes fewer than so many steps: containers and entries that are looked into, and
    /// parts of the filter that they are held against. Not for defaults or a depth, which may cost more than that.
    #[must_use]
    pub fn filter_within(&self, filter: &Subtree, steps: usize) -> Option<View<'a>> {
        let extent = self.extent();
        let selected = extent.is_plain().then(|| filter.select_within(&self.tree, extent, steps))?;
        selected.map(|tree| self.done(tree))
    }

    /// What `part` leaves of what is seen, such as access control does. Depth is to be asked for afterwards: it counts
    /// from what a filter selects.
    #[must_use]
    pub fn cut(&self, part: impl FnOnce(&Tree) -> Tree) -> View<'a> {
        self.done(part(&self.tree()))
    }

    /// The part at these places, such as an XPath filter selects: each with all below it, what stands above it, and
    /// the keys of the entries on the way.
    #[must_use]
    pub fn at(&self, places: &[InstancePath]) -> View<'a> {
        self.done(pick::pick(&self.tree, places, self.extent()))
    }

    /// The configuration alone, or else the state alone with what stands above it.
    #[must_use]
    pub fn config(&self, wanted: bool) -> View<'a> {
        self.done(Tree::from_root(Arc::new(origin::by_config(self.schema, &self.tree().root, wanted))))
    }

    /// The configuration of these origins, with what stands above it; state is there as it was. What stands in
    /// `intended` too has that origin, a default in use has `default`, and all other configuration has `system`.
    #[must_use]
    pub fn origins(&self, intended: &Tree, wanted: Origins) -> View<'a> {
        let root = origin::by_origin(self.schema, None, &self.tree().root, Some(&intended.root), wanted);
        self.done(Tree::from_root(Arc::new(root)))
    }

    /// The same with the origin of configuration written in XML, told as for [`View::origins`].
    #[must_use]
    pub fn with_origin(mut self, intended: &Tree) -> View<'a> {
        self.intended = Some(intended.clone());
        self
    }

    /// What is seen, as a tree: defaults in use are in it like any other node, so it must not be stored.
    pub fn tree(&self) -> Tree {
        Tree::from_root(self.extent().branch(None, &self.tree.root, &Trail::default()))
    }

    /// What is seen, as if all of it had been set: to be stored. A default that only a tag tells from what was set
    /// (RFC 6243 section 6) is not set.
    pub fn set(&self) -> Tree {
        let defaults = if self.tagged { Defaults::Explicit } else { self.defaults };
        Tree::from_root(defaults::settled(&Extent { defaults, ..self.extent() }.branch(
            None,
            &self.tree.root,
            &Trail::default(),
        )))
    }

    /// Nothing to see?
    pub fn is_empty(&self) -> bool {
        self.tree().is_empty()
    }

    /// The top-level elements in pieces, which are made as they are taken.
    pub fn pieces(self) -> Pieces<&'a Schema> {
        let schema = self.schema;
        self.pieces_with(schema)
    }

    /// As [`View::pieces`], which outlives this view. `schema` is the one of the view.
    pub fn pieces_with<S: std::borrow::Borrow<Schema>>(self, schema: S) -> Pieces<S> {
        let Self { tree, defaults, depth, tagged, intended, .. } = self;
        Pieces::new(schema, Written { tree, defaults, depth, tagged, intended })
    }

    /// Writes the top-level elements, each declaring its namespace. The sink gets pieces of some kilobytes.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write_xml(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.clone().pieces().try_for_each(|piece| out.write_str(&piece))
    }

    /// Writes one JSON object with the top-level nodes (RFC 7951).
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write_json(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        json::write_branch(self.schema, &self.tree().root, None, out)
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
        json::branch(self.schema, &self.tree().root, None)
    }

    fn extent(&self) -> Extent<'_> {
        Extent { schema: self.schema, source: &self.tree, defaults: self.defaults, depth: self.depth }
    }

    /// A view of `tree`, to which defaults and depth were applied.
    fn done(&self, tree: Tree) -> View<'a> {
        View { tree, defaults: Defaults::Explicit, depth: None, ..self.clone() }
    }
}
