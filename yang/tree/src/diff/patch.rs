//! A difference as the edits of a YANG patch (RFC 8072), which `compare` (RFC 9144) and `push-change-update`
//! (RFC 8641) carry.

use super::{Change, ChangeKind, ChangeSet, Payload, Position};
use crate::path::{InstancePath, Key, Step};
use crate::schema::Schema;
use crate::tree::{Branch, Data, Entries, Tree};
use crate::view::{Defaults, view};
use std::sync::Arc;

/// One `edit` of a YANG patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchEdit {
    /// What is done.
    pub operation: PatchOperation,
    /// The node, as a path of RFC 8040 section 3.5.3 from the top of the datastore.
    pub target: String,
    /// Of an entry of a user-ordered list: where it goes.
    pub place: Option<PatchPlace>,
    /// The node after the edit, as one XML element that declares all its namespaces.
    pub value: Option<String>,
    /// The node before it, likewise (RFC 9144's `source-value`).
    pub source_value: Option<String>,
}

/// The operations of RFC 8072 section 2.5 that a difference is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum PatchOperation {
    Create,
    Delete,
    Insert,
    Move,
    Replace,
}

impl PatchOperation {
    /// The name of the enum.
    pub fn name(self) -> &'static str {
        match self {
            PatchOperation::Create => "create",
            PatchOperation::Delete => "delete",
            PatchOperation::Insert => "insert",
            PatchOperation::Move => "move",
            PatchOperation::Replace => "replace",
        }
    }
}

/// `where` and `point` of RFC 8072.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchPlace {
    /// In front of all others.
    First,
    /// Behind the entry at this path.
    After(String),
}

impl ChangeSet {
    /// The changes as edits, in an order in which they can be applied.
    pub fn patch(&self, schema: &Schema) -> Vec<PatchEdit> {
        self.changes.iter().map(|change| edit(schema, change)).collect()
    }
}

impl Change {
    /// The operation of the edit that it is.
    pub fn operation(&self) -> PatchOperation {
        match (&self.kind, &self.position) {
            (ChangeKind::Create { .. }, Some(_)) => PatchOperation::Insert,
            (ChangeKind::Create { .. }, None) => PatchOperation::Create,
            (ChangeKind::Delete { .. }, _) => PatchOperation::Delete,
            (ChangeKind::Replace { .. }, _) => PatchOperation::Replace,
            (ChangeKind::Move, _) => PatchOperation::Move,
        }
    }
}

fn edit(schema: &Schema, change: &Change) -> PatchEdit {
    let place = change.position.as_ref().map(|position| match position {
        Position::First => PatchPlace::First,
        Position::After(key) => {
            let mut point = change.path.clone();
            if let Some(step) = point.steps.last_mut() {
                step.key = Some(key.clone());
            }
            PatchPlace::After(api_path(schema, &point))
        }
    });
    let xml = |payload: Option<&Payload>| element(schema, &change.path, payload?);
    PatchEdit {
        operation: change.operation(),
        target: api_path(schema, &change.path),
        place,
        value: xml(change.new_payload()),
        source_value: xml(change.old_payload()),
    }
}

/// The element alone: it stands at the top of a tree of its own, where none of its kind may stand in a datastore.
fn element(schema: &Schema, path: &InstancePath, payload: &Payload) -> Option<String> {
    let Step { node, key } = path.steps.last()?;
    let data = match (payload, key) {
        (Payload::Value(value), _) => Data::Leaf(value.clone()),
        (Payload::Branch(inner), None) => Data::Container(inner.clone()),
        (Payload::Branch(entry), Some(key)) => {
            let mut entries = Entries::new(false);
            entries.set(key.clone(), entry.clone());
            Data::List(Arc::new(entries))
        }
        (Payload::Any(text), _) => Data::Any(text.clone()),
    };
    let mut root = Branch::default();
    root.set(*node, data);
    Some(view(&Tree::from_root(Arc::new(root)), schema, Defaults::Explicit).to_xml())
}

/// The path of RFC 8040 section 3.5.3; `/` is the datastore itself.
fn api_path(schema: &Schema, path: &InstancePath) -> String {
    let mut out = String::new();
    let mut module = None;
    for step in &path.steps {
        let node = schema.node(step.node);
        out.push('/');
        if module != Some(node.module) {
            out.push_str(&schema.module(node.module).name);
            out.push(':');
            module = Some(node.module);
        }
        out.push_str(&node.name);
        for (at, value) in step.key.iter().flat_map(Key::values).enumerate() {
            out.push(if at == 0 { '=' } else { ',' });
            push_encoded(&mut out, &value.to_string());
        }
    }
    if out.is_empty() {
        out.push('/');
    }
    out
}

/// Percent-encodes all but the unreserved characters of RFC 3986 section 2.3.
fn push_encoded(out: &mut String, text: &str) {
    const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        }
    }
}
