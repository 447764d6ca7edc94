//! How far below a selected node a reader sees: defaults as the view shows them, and levels as many as it asked for.

use super::Defaults;
use super::defaults::{self, Place};
use super::trail::Trail;
use crate::schema::{NodeId, Schema};
use crate::tree::{Branch, Child, Data, Tree};
use std::num::NonZeroU16;
use std::sync::Arc;

/// What a selected node is shown with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent<'s> {
    pub(crate) schema: &'s Schema,
    /// All of the data, by which it is told which defaults are in use.
    pub(crate) source: &'s Tree,
    pub(crate) defaults: Defaults,
    /// The levels from a selected node on, itself the first; all without one.
    pub(crate) depth: Option<NonZeroU16>,
}

impl<'s> Extent<'s> {
    /// Does it show what is stored, and all of it?
    pub(crate) fn is_plain(&self) -> bool {
        self.defaults == Defaults::Explicit && self.depth.is_none()
    }

    /// Does it show of a node, and of all below it, what is stored? Defaults are added to configuration alone, so what there
    /// is of state is the same Arc, however much of it there is.
    fn is_plain_below(&self, node: NodeId) -> bool {
        let adds = match self.defaults {
            Defaults::Explicit => false,
            Defaults::ReportAll | Defaults::ReportAllTagged => self.schema.node(node).config,
            Defaults::Trim => true,
        };
        !adds && self.depth.is_none()
    }

    /// The extent one level down; none when this level is the last.
    pub(crate) fn below(&self) -> Option<Extent<'s>> {
        let depth = match self.depth {
            None => None,
            Some(depth) => Some(NonZeroU16::new(depth.get() - 1)?),
        };
        Some(Extent { depth, ..*self })
    }

    /// The children of a branch one by one, each being of the first level. `trail` leads to the branch.
    pub(crate) fn level(
        &self,
        parent: Option<NodeId>,
        branch: &Arc<Branch>,
        trail: &Trail<'_>,
    ) -> Arc<Branch> {
        let path = || trail.path(self.schema);
        let place = Place { schema: self.schema, source: self.source, path: &path };
        defaults::level(place, parent, branch, self.defaults)
    }

    /// All of a branch, its children being of the first level.
    pub(crate) fn branch(
        &self,
        parent: Option<NodeId>,
        branch: &Arc<Branch>,
        trail: &Trail<'_>,
    ) -> Arc<Branch> {
        if self.is_plain() || parent.is_some_and(|parent| self.is_plain_below(parent)) {
            return branch.clone();
        }
        let seen = self.level(parent, branch, trail);
        let data = |child: &Child| Child { data: self.data(child, trail), ..child.clone() };
        Arc::new(Branch { children: seen.children.iter().map(data).collect() })
    }

    /// A child of the first level of the branch that `trail` leads to. A list entry whose children are too deep keeps
    /// its keys, as it has no other name.
    pub(crate) fn data(&self, child: &Child, trail: &Trail<'_>) -> Data {
        if self.is_plain_below(child.id) {
            return child.data.clone();
        }
        match &child.data {
            Data::Leaf(_) | Data::LeafList(_) | Data::Any(_) => child.data.clone(),
            Data::Container(inner) => Data::Container(match self.below() {
                Some(below) => below.branch(Some(child.id), inner, &trail.inside(child.id, inner)),
                None => Arc::default(),
            }),
            Data::List(entries) => {
                Data::List(Arc::new(entries.map(|entry| self.entry(child.id, entry, trail))))
            }
        }
    }

    /// An entry of the first level of the branch that `trail` leads to.
    pub(crate) fn entry(&self, list: NodeId, entry: &Arc<Branch>, trail: &Trail<'_>) -> Arc<Branch> {
        match self.below() {
            Some(below) => below.branch(Some(list), entry, &trail.inside(list, entry)),
            None => keys_of(self.schema, list, entry),
        }
    }
}

/// The keys of an entry alone.
pub(crate) fn keys_of(schema: &Schema, list: NodeId, entry: &Branch) -> Arc<Branch> {
    let keys = schema.list_keys(list).iter().filter_map(|key| entry.child(*key).cloned());
    let mut out = Branch::default();
    keys.for_each(|key| out.put(key));
    Arc::new(out)
}
