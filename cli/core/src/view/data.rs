//! The data that a view reads, by the names of nodes.

use crate::place::home;
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::tree::{Branch, Data, Tree};
use cats_yang_tree::value::Value;

/// A place in the data, which may have nothing.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    schema: &'a Schema,
    node: Option<NodeId>,
    branch: Option<&'a Branch>,
    root: &'a Branch,
}

impl<'a> Cursor<'a> {
    /// Below the home of all of ours.
    pub(super) fn home(schema: &'a Schema, tree: &'a Tree) -> Self {
        let mut at = Self { schema, node: None, branch: Some(tree.root()), root: tree.root() };
        for step in home(schema).into_iter().flat_map(|path| path.steps) {
            at = at.enter(Some(step.node));
        }
        at
    }

    /// The top of all data.
    pub(super) fn top(&self) -> Self {
        Self { schema: self.schema, node: None, branch: Some(self.root), root: self.root }
    }

    fn named(&self, name: &str) -> Option<NodeId> {
        self.schema.children_named(self.node, name).next()
    }

    fn enter(&self, node: Option<NodeId>) -> Self {
        let branch = match node.and_then(|node| self.branch?.get(node)) {
            Some(Data::Container(branch)) => Some(branch.as_ref()),
            Some(Data::Leaf(_) | Data::List(_) | Data::LeafList(_) | Data::Any(_)) | None => None,
        };
        Self { node, branch, ..*self }
    }

    /// The container of this name.
    pub(super) fn down(&self, name: &str) -> Self {
        self.enter(self.named(name))
    }

    /// Whether there is anything.
    pub(super) fn is_there(&self) -> bool {
        self.branch.is_some()
    }

    /// The entries of the list of this name, in the order of its keys.
    pub(super) fn entries(&self, name: &str) -> Vec<Cursor<'a>> {
        let node = self.named(name);
        match node.and_then(|node| self.branch?.get(node)) {
            Some(Data::List(entries)) => {
                let at = |branch| Self { node, branch: Some(branch), ..*self };
                entries.iter().map(|(_, branch)| at(branch.as_ref())).collect()
            }
            Some(Data::Leaf(_) | Data::Container(_) | Data::LeafList(_) | Data::Any(_)) | None => Vec::new(),
        }
    }

    /// The leaf of this name as it is.
    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.branch?.leaf(self.named(name)?)
    }

    /// The leaf of this name.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.value(name).map(ToString::to_string)
    }

    /// The leaf of this name, or nothing to be seen.
    pub(super) fn word(&self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }

    /// The leaf of this name, where it is a number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// The leaf of this name, where a number that is not there is none.
    pub(super) fn count(&self, name: &str) -> u64 {
        self.number(name).unwrap_or(0)
    }

    /// Whether the leaf of this name is true.
    pub(super) fn is(&self, name: &str) -> bool {
        self.value(name) == Some(&Value::Bool(true))
    }

    /// The entries of the leaf-list of this name.
    pub(super) fn words(&self, name: &str) -> Vec<String> {
        match self.named(name).and_then(|node| self.branch?.get(node)) {
            Some(Data::LeafList(entries)) => entries.iter().map(|(_, value)| value.to_string()).collect(),
            Some(Data::Leaf(_) | Data::Container(_) | Data::List(_) | Data::Any(_)) | None => Vec::new(),
        }
    }
}
