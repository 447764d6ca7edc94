//! Changes in words and back.

use super::{Change, ChangeKind, Payload, Position, Record, RecordOperation};
use crate::edit::edit;
use crate::error::{Error, ErrorTag};
use crate::json::{write_branch, write_text, write_value};
use crate::ops::{Operation, Ops};
use crate::path::{InstancePath, Siblings, Step};
use crate::schema::{NodeId, Schema};
use crate::tree::{Found, Tree};
use std::fmt::{self, Write};

pub(super) fn encode<V>(
    schema: &Schema,
    change: &Change,
    value: impl Fn(&Payload, NodeId) -> V,
) -> Record<V> {
    let value = change.path.node().and_then(|node| Some(value(change.new_payload()?, node)));
    Record {
        path: change.path.render(schema).0,
        operation: operation(change),
        value,
        after: after(schema, change),
    }
}

/// Writes what [`Record`] is as JSON, without building it; `paths` were those of the changes before it.
pub(super) fn write<'a, W: Write + ?Sized>(
    schema: &Schema,
    change: &'a Change,
    paths: &mut Siblings<'a>,
    out: &mut W,
) -> fmt::Result {
    out.write_str("{\"path\":")?;
    write_text(paths.render(schema, &change.path), out)?;
    out.write_str(match operation(change) {
        RecordOperation::Create => ",\"operation\":\"create\"",
        RecordOperation::Delete => ",\"operation\":\"delete\"",
        RecordOperation::Replace => ",\"operation\":\"replace\"",
        RecordOperation::Move => ",\"operation\":\"move\"",
    })?;
    if let (Some(payload), Some(node)) = (change.new_payload(), change.path.node()) {
        out.write_str(",\"value\":")?;
        write_payload(schema, payload, node, out)?;
    }
    if let Some(after) = after(schema, change) {
        out.write_str(",\"after\":")?;
        write_text(&after, out)?;
    }
    out.write_char('}')
}

/// Writes what [`Payload::to_json`] gives.
pub(super) fn write_payload<W: Write + ?Sized>(
    schema: &Schema,
    payload: &Payload,
    node: NodeId,
    out: &mut W,
) -> fmt::Result {
    match payload {
        Payload::Value(value) => write_value(value, out),
        Payload::Branch(branch) => write_branch(schema, branch, Some(node), out),
        Payload::Any(text) => write_text(text, out),
    }
}

fn operation(change: &Change) -> RecordOperation {
    match change.kind {
        ChangeKind::Create { .. } => RecordOperation::Create,
        ChangeKind::Delete { .. } => RecordOperation::Delete,
        ChangeKind::Replace { .. } => RecordOperation::Replace,
        ChangeKind::Move => RecordOperation::Move,
    }
}

/// The entry that the changed one stands behind, in words.
fn after(schema: &Schema, change: &Change) -> Option<String> {
    Some(match change.position.as_ref()? {
        Position::First => String::new(),
        Position::After(key) => {
            let mut path = change.path.clone();
            if let Some(step) = path.steps.last_mut() {
                step.key = Some(key.clone());
            }
            path.render(schema).0
        }
    })
}

pub(super) fn decode(schema: &Schema, base: &Tree, record: &Record) -> Result<Change, Error> {
    let path = InstancePath::parse(schema, &record.path)?;
    let fail = |tag, what: &str| Error::application(tag, what).at(path.render(schema));
    let old = || {
        let found = base.find(&path).and_then(|found| match found {
            Found::Leaf(value) => Some(Payload::Value(value.clone())),
            Found::Branch(inner) => Some(Payload::Branch(inner.clone())),
            Found::Any(text) => Some(Payload::Any(text.clone())),
            Found::List(_) | Found::LeafList(_) => None,
        });
        found.ok_or_else(|| fail(ErrorTag::DataMissing, "the change is to something that does not exist"))
    };
    let new = || match &record.value {
        Some(value) => payload(schema, &path, value),
        None => Err(fail(ErrorTag::InvalidValue, "the record lacks its value")),
    };
    let kind = match record.operation {
        RecordOperation::Create => ChangeKind::Create { new: new()? },
        RecordOperation::Delete => ChangeKind::Delete { old: old()? },
        RecordOperation::Replace => ChangeKind::Replace { old: old()?, new: new()? },
        RecordOperation::Move => ChangeKind::Move,
    };
    let position = match record.after.as_deref() {
        None => None,
        Some("") => Some(Position::First),
        Some(anchor) => {
            let key = InstancePath::parse(schema, anchor)?.steps.pop().and_then(|step| step.key);
            let missing = || fail(ErrorTag::InvalidValue, "'after' names no entry");
            Some(Position::After(key.ok_or_else(missing)?))
        }
    };
    Ok(Change { path, kind, position })
}

/// What the RFC 7951 form `value` at `path` stands for.
fn payload(schema: &Schema, path: &InstancePath, value: &serde_json::Value) -> Result<Payload, Error> {
    let mut ops = Ops::default();
    ops.push_json(schema, path, Operation::Merge, Some(value), None).map_err(first)?;
    let tree = edit(&Tree::new(), schema, ops).map_err(first)?;
    let found = match (tree.find(path), path.steps.last()) {
        (Some(Found::Leaf(value)), _) => Some(Payload::Value(value.clone())),
        (Some(Found::Branch(inner)), Some(Step { .. })) => Some(Payload::Branch(inner.clone())),
        (Some(Found::Any(text)), _) => Some(Payload::Any(text.clone())),
        _ => None,
    };
    let what = "the value is no instance of the node";
    found.ok_or_else(|| Error::application(ErrorTag::InvalidValue, what).at(path.render(schema)))
}

fn first(errors: Vec<Error>) -> Error {
    let unknown = || Error::application(ErrorTag::OperationFailed, "the value was refused without a reason");
    errors.into_iter().next().unwrap_or_else(unknown)
}
