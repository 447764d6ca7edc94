//! What changed from one tree to another, at the cost of what they do not share.

mod apply;
mod compare;
mod patch;
mod record;

pub use patch::{PatchEdit, PatchOperation, PatchPlace};

use crate::error::Error;
use crate::json;
use crate::path::{InstancePath, Siblings};
use crate::schema::{NodeId, Schema};
use crate::tree::{Branch, Tree};
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The changes from one tree to another, in an order in which they can be applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// The changes; deletions of entries stand before creations in the same list.
    pub changes: Vec<Change>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What changed. A non-presence container never does, only what is in it.
    pub path: InstancePath,
    /// How.
    pub kind: ChangeKind,
    /// For entries of user-ordered lists that are created or moved: where.
    pub position: Option<Position>,
}

/// How a node changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ChangeKind {
    Create {
        new: Payload,
    },
    Delete {
        old: Payload,
    },
    Replace {
        old: Payload,
        new: Payload,
    },
    /// An entry of a user-ordered list went elsewhere; its content is in other changes.
    Move,
}

/// What a changed node holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// A leaf or an entry of a leaf-list.
    Value(Value),
    /// A presence container or a list entry with all that is in it.
    Branch(Arc<Branch>),
    /// `anydata` or `anyxml`.
    Any(Arc<str>),
}

/// Where an entry stands among its siblings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Position {
    First,
    After(crate::path::Key),
}

/// A change in words: what the journal and the engine get. The value is JSON, or its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Record<V = serde_json::Value> {
    /// The instance path in the RFC 7951 form.
    pub path: String,
    /// `create`, `delete`, `replace` or `move`.
    pub operation: RecordOperation,
    /// The new value in the RFC 7951 form: a leaf's value, an object for containers and entries.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<V>,
    /// For user-ordered lists: absent, an empty string for the first place, or the path of the entry before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<String>,
}

/// The operation of a [`Record`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum RecordOperation {
    Create,
    Delete,
    Replace,
    Move,
}

/// The changes that make `new` out of `old`, siblings in the order of their ids; shared nodes are not visited.
pub fn diff(old: &Tree, new: &Tree) -> ChangeSet {
    compare::trees(old, new)
}

/// As [`diff`], when that takes a look at fewer than so many nodes.
pub fn diff_of_few(old: &Tree, new: &Tree, nodes: usize) -> Option<ChangeSet> {
    compare::little(old, new, nodes)
}

impl ChangeSet {
    /// No change?
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Makes the changes to `tree`, which need not be the one they were computed from.
    ///
    /// # Errors
    /// `data-missing` or `data-exists` when a change does not fit the tree.
    pub fn apply(&self, tree: &Tree, schema: &Schema) -> Result<Tree, Error> {
        apply::apply(self, tree, schema)
    }

    /// The changes in words.
    pub fn records(&self, schema: &Schema) -> Vec<Record> {
        let value = |payload: &Payload, node| payload.to_json(schema, node);
        self.changes.iter().map(|change| record::encode(schema, change, value)).collect()
    }

    /// The changes in words, with the texts of their values.
    pub fn records_in_text(&self, schema: &Schema) -> Vec<Record<String>> {
        let value = |payload: &Payload, node| {
            let mut text = String::new();
            // A String takes everything.
            let _ = record::write_payload(schema, payload, node, &mut text);
            text
        };
        self.changes.iter().map(|change| record::encode(schema, change, value)).collect()
    }

    /// Writes a JSON array of [`ChangeSet::records`], without building them.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write_records<W: fmt::Write + ?Sized>(&self, schema: &Schema, out: &mut W) -> fmt::Result {
        out.write_char('[')?;
        let mut paths = Siblings::default();
        for (at, change) in self.changes.iter().enumerate() {
            if at > 0 {
                out.write_char(',')?;
            }
            record::write(schema, change, &mut paths, out)?;
        }
        out.write_char(']')
    }

    /// Changes from words. Old values are not in the words: they are taken from `base`.
    ///
    /// # Errors
    /// The first record whose path or value the schema does not know, or that does not fit `base`.
    pub fn from_records(schema: &Schema, base: &Tree, records: &[Record]) -> Result<Self, Error> {
        let changes = records.iter().map(|record| record::decode(schema, base, record));
        Ok(Self { changes: changes.collect::<Result<_, _>>()? })
    }
}

impl Change {
    /// The new content; none for deletions and moves.
    pub fn new_payload(&self) -> Option<&Payload> {
        match &self.kind {
            ChangeKind::Create { new } | ChangeKind::Replace { new, .. } => Some(new),
            ChangeKind::Delete { .. } | ChangeKind::Move => None,
        }
    }

    /// The old content; none for creations and moves.
    pub fn old_payload(&self) -> Option<&Payload> {
        match &self.kind {
            ChangeKind::Delete { old } | ChangeKind::Replace { old, .. } => Some(old),
            ChangeKind::Create { .. } | ChangeKind::Move => None,
        }
    }
}

impl Payload {
    /// The RFC 7951 form of what stands at `node`.
    pub fn to_json(&self, schema: &Schema, node: NodeId) -> serde_json::Value {
        match self {
            Payload::Value(value) => value.to_json(),
            Payload::Branch(branch) => json::branch(schema, branch, Some(node)),
            Payload::Any(text) => serde_json::Value::String(text.to_string()),
        }
    }
}
