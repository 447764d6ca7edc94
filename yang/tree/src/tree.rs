//! The datastore value: an immutable tree whose nodes are shared between all trees that have them in common.
//!
//! A clone of a [`Tree`] is one reference. Nodes know neither their parent nor their name: whoever walks holds
//! the path. Invariants: the children of a [`Branch`] are sorted by id and appear once; no list is stored
//! without entries and no non-presence container without content; the key leafs of an entry are in its branch.

mod entries;

pub use entries::{Entries, Iter as EntriesIter, Place};

use crate::path::InstancePath;
use crate::schema::{NodeId, Schema};
use crate::validate::Indexes;
use crate::value::Value;
use std::sync::Arc;

/// One datastore's content at one moment.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    pub(crate) root: Arc<Branch>,
    /// What [`crate::validate()`] has found out about it. A tree that carries it is valid; one that was edited or
    /// read does not, until it was validated in turn.
    pub(crate) indexes: Option<Arc<Indexes>>,
}

impl PartialEq for Tree {
    /// Whether it was validated is no part of the data.
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root
    }
}

impl Eq for Tree {}

/// The content of a container or of a list entry, or the top of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Branch {
    /// Sorted by id.
    pub(crate) children: Vec<Child>,
}

/// A data node inside a [`Branch`].
#[derive(Debug, Clone)]
pub(crate) struct Child {
    pub(crate) id: NodeId,
    /// Put there by a view as a default in use; never in a stored tree.
    pub(crate) default: bool,
    /// A presence container, which exists by itself.
    pub(crate) presence: bool,
    pub(crate) data: Data,
}

impl PartialEq for Child {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.data == other.data
    }
}

impl Eq for Child {}

/// What a data node holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// A leaf.
    Leaf(Value),
    /// A container.
    Container(Arc<Branch>),
    /// All entries of a list.
    List(Arc<Entries<Arc<Branch>>>),
    /// All entries of a leaf-list.
    LeafList(Arc<Entries<Value>>),
    /// The content of `anydata` or `anyxml`: an XML fragment that declares all its namespaces itself.
    Any(Arc<str>),
}

/// What is left of a node in a tree that is cut down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<T> {
    /// All of it.
    Whole,
    /// This, which is less.
    Less(T),
    /// Nothing.
    Nothing,
}

/// What stands at an [`InstancePath`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found<'a> {
    /// The root, a container or a list entry.
    Branch(&'a Arc<Branch>),
    /// A leaf or an entry of a leaf-list.
    Leaf(&'a Value),
    /// A whole list.
    List(&'a Arc<Entries<Arc<Branch>>>),
    /// A whole leaf-list.
    LeafList(&'a Arc<Entries<Value>>),
    /// `anydata` or `anyxml`.
    Any(&'a Arc<str>),
}

impl Tree {
    /// The empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has it no data?
    pub fn is_empty(&self) -> bool {
        self.root.children.is_empty()
    }

    /// The top-level nodes.
    pub fn root(&self) -> &Arc<Branch> {
        &self.root
    }

    /// A tree with that root, which must come from a tree of the same schema.
    pub fn from_root(root: Arc<Branch>) -> Self {
        Self { root, indexes: None }
    }

    /// Has it passed [`crate::validate()`]? Edits of it have not.
    pub fn is_validated(&self) -> bool {
        self.indexes.is_some()
    }

    /// With the top-level nodes of `other` that it has not itself, shared.
    #[must_use]
    pub fn with_tops_of(&self, other: &Tree, wanted: impl Fn(NodeId) -> bool) -> Tree {
        let mut root = Branch::clone(&self.root);
        for child in other.root.children.iter().filter(|child| wanted(child.id)) {
            if root.child(child.id).is_none() {
                root.put(child.clone());
            }
        }
        Tree::from_root(Arc::new(root))
    }

    /// Do both share everything? True implies equal; costs nothing.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.root, &other.root)
    }

    /// What stands at `path`. A non-presence container without content is not stored, so it is not found.
    pub fn find(&self, path: &InstancePath) -> Option<Found<'_>> {
        let mut found = Found::Branch(&self.root);
        for step in &path.steps {
            let Found::Branch(branch) = found else { return None };
            found = match (branch.get(step.node)?, &step.key) {
                (Data::Leaf(value), None) => Found::Leaf(value),
                (Data::Container(inner), None) => Found::Branch(inner),
                (Data::List(entries), None) => Found::List(entries),
                (Data::List(entries), Some(key)) => Found::Branch(entries.get(key)?),
                (Data::LeafList(entries), None) => Found::LeafList(entries),
                (Data::LeafList(entries), Some(key)) => Found::Leaf(entries.get(key)?),
                (Data::Any(text), None) => Found::Any(text),
                (Data::Leaf(_) | Data::Container(_) | Data::Any(_), Some(_)) => return None,
            };
        }
        Some(found)
    }

    /// Is there anything at the RFC 7951 path `path`? For tests and diagnostics.
    ///
    /// # Errors
    /// When the path is not one of the schema.
    pub fn find_str(&self, schema: &Schema, path: &str) -> Result<Option<Found<'_>>, crate::error::Error> {
        Ok(self.find(&InstancePath::parse(schema, path)?))
    }

    /// How many leafs and leaf-list entries it has.
    pub fn count_values(&self) -> usize {
        self.root.count_values()
    }
}

impl Branch {
    /// The data of child `id`.
    pub fn get(&self, id: NodeId) -> Option<&Data> {
        self.child(id).map(|child| &child.data)
    }

    /// The value of leaf `id`.
    pub fn leaf(&self, id: NodeId) -> Option<&Value> {
        match self.get(id)? {
            Data::Leaf(value) => Some(value),
            Data::Container(_) | Data::List(_) | Data::LeafList(_) | Data::Any(_) => None,
        }
    }

    /// The stored children in the order of ids, which is not always that of the schema: see [`Branch::ordered`].
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Data)> {
        self.children.iter().map(|child| (child.id, &child.data))
    }

    /// The stored children in schema order, list keys first; `parent` is the schema node of this branch.
    pub fn ordered(&self, schema: &Schema, parent: Option<NodeId>) -> impl Iterator<Item = (NodeId, &Data)> {
        self.ordered_children(schema, parent).into_iter().map(|child| (child.id, &child.data))
    }

    /// Has it no child?
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// This branch with what `part` leaves of each child; the same Arc when that is everything. What is left of a
    /// child must itself be a part of it.
    #[must_use]
    pub fn parts(self: &Arc<Self>, mut part: impl FnMut(NodeId, &Data) -> Part<Data>) -> Arc<Self> {
        let mut whole = true;
        let mut children = Vec::with_capacity(self.children.len());
        for child in &self.children {
            match part(child.id, &child.data) {
                Part::Whole => children.push(child.clone()),
                Part::Less(data) => {
                    whole = false;
                    children.push(Child { data, ..child.clone() });
                }
                Part::Nothing => whole = false,
            }
        }
        if whole { self.clone() } else { Arc::new(Branch { children }) }
    }

    pub(crate) fn child(&self, id: NodeId) -> Option<&Child> {
        let at = self.children.binary_search_by_key(&id, |child| child.id).ok()?;
        self.children.get(at)
    }

    /// The positions of the children in schema order, where that is not their own.
    pub(crate) fn order(&self, schema: &Schema, parent: Option<NodeId>) -> Option<Vec<usize>> {
        schema.permuted(parent).then(|| {
            let mut order: Vec<usize> = (0..self.children.len()).collect();
            order.sort_by_key(|at| self.children.get(*at).map(|child| schema.rank(child.id)));
            order
        })
    }

    pub(crate) fn ordered_children(&self, schema: &Schema, parent: Option<NodeId>) -> Vec<&Child> {
        let mut children: Vec<&Child> = self.children.iter().collect();
        if schema.permuted(parent) {
            children.sort_by_key(|child| schema.rank(child.id));
        }
        children
    }

    /// Sets a child; callers keep the invariants of the module.
    pub(crate) fn set(&mut self, id: NodeId, data: Data) {
        self.put(Child { id, default: false, presence: false, data });
    }

    pub(crate) fn put(&mut self, child: Child) {
        match self.children.binary_search_by_key(&child.id, |other| other.id) {
            Ok(at) => self.children[at] = child,
            Err(at) => self.children.insert(at, child),
        }
    }

    pub(crate) fn unset(&mut self, id: NodeId) {
        self.children.retain(|child| child.id != id);
    }

    fn count_values(&self) -> usize {
        let count = |data: &Data| match data {
            Data::Leaf(_) | Data::Any(_) => 1,
            Data::Container(inner) => inner.count_values(),
            Data::List(entries) => entries.iter().map(|(_, entry)| entry.count_values()).sum(),
            Data::LeafList(entries) => entries.len(),
        };
        self.children.iter().map(|child| count(&child.data)).sum()
    }
}
