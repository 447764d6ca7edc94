//! Changes in words and back.

use super::{Change, ChangeKind, Payload, Position, Record, RecordOperation};
use crate::edit::edit;
use crate::error::{Error, ErrorTag};
use crate::ops::{Operation, Ops};
use crate::path::{InstancePath, Step};
use crate::schema::Schema;
use crate::tree::{Found, Tree};

pub(super) fn encode(schema: &Schema, change: &Change) -> Record {
    let operation = match change.kind {
        ChangeKind::Create { .. } => RecordOperation::Create,
        ChangeKind::Delete { .. } => RecordOperation::Delete,
        ChangeKind::Replace { .. } => RecordOperation::Replace,
        ChangeKind::Move => RecordOperation::Move,
    };
    let after = change.position.as_ref().map(|position| match position {
        Position::First => String::new(),
        Position::After(key) => {
            let mut path = change.path.clone();
            if let Some(step) = path.steps.last_mut() {
                step.key = Some(key.clone());
            }
            path.render(schema).0
        }
    });
    let value = change.path.node().and_then(|node| Some(change.new_payload()?.to_json(schema, node)));
    Record { path: change.path.render(schema).0, operation, value, after }
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
