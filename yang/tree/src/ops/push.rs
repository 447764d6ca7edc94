//! Operations one by one.

use super::json::read_at;
use super::{Content, Op, Operation, Ops, Stage};
use crate::error::{Error, ErrorTag};
use crate::path::InstancePath;
use crate::schema::{NodeKind, Schema};
use crate::tree::Place;
use crate::value::Value;
use serde_json::Value as Json;

pub(super) fn value(
    ops: &mut Ops,
    schema: &Schema,
    path: &InstancePath,
    operation: Operation,
    value: Option<Value>,
) -> Result<(), Error> {
    let content = content(schema, path, operation, value).map_err(|error| error.at(path.render(schema)))?;
    let Some(node) = path.node() else { return Ok(()) };
    add(ops, path, Op { node, operation, content, insert: None, quiet: false, defaulted: false });
    Ok(())
}

fn content(
    schema: &Schema,
    path: &InstancePath,
    operation: Operation,
    value: Option<Value>,
) -> Result<Content, Error> {
    let invalid = |what: String| Error::application(ErrorTag::InvalidValue, what);
    let Some(step) = path.steps.last() else {
        return Err(invalid("an operation names a node, not the root".to_owned()));
    };
    let node = schema.node(step.node);
    // State that is gone can be taken out of what a component told.
    if !node.config && operation != Operation::Remove {
        let what = format!("'{}' is state: it cannot be configured", node.name);
        return Err(Error::application(ErrorTag::UnknownElement, what));
    }
    if schema.is_key(step.node) && operation.deletes() {
        return Err(invalid(format!("'{}' is a key: delete the entry instead", node.name)));
    }
    let content = match (&node.kind, &step.key, value) {
        (NodeKind::Leaf { .. }, None, _) if operation.deletes() => Content::Leaf(None),
        (NodeKind::Leaf { .. }, None, Some(value)) => Content::Leaf(Some(value)),
        (NodeKind::Leaf { .. }, _, None) => return Err(invalid(format!("'{}' needs a value", node.name))),
        (NodeKind::LeafList { .. }, Some(key), _) => match key.values() {
            [value] => Content::LeafListEntry(key.clone(), value.clone()),
            _ => return Err(invalid(format!("'{}' is named by one value", node.name))),
        },
        (NodeKind::List { .. }, Some(key), None) => Content::Entry(key.clone(), Vec::new()),
        (NodeKind::List { .. } | NodeKind::LeafList { .. }, None, None) if operation.deletes() => {
            Content::All
        }
        (NodeKind::List { .. } | NodeKind::LeafList { .. }, None, _) => {
            return Err(invalid(format!("'{}' needs the key of an entry", node.name)));
        }
        (NodeKind::Container { .. }, _, None) => Content::Container(Vec::new()),
        (NodeKind::Anydata { .. } | NodeKind::Anyxml { .. }, _, None) if operation.deletes() => {
            Content::Any("".into())
        }
        (_, _, _) => return Err(invalid(format!("'{}' takes no such value", node.name))),
    };
    Ok(content)
}

pub(super) fn json(
    ops: &mut Ops,
    schema: &Schema,
    path: &InstancePath,
    (operation, insert): (Operation, Option<Place>),
    json: Option<&Json>,
) -> Result<(), Vec<Error>> {
    let Some(json) = json else {
        return value(ops, schema, path, operation, None).map_err(|error| vec![error]);
    };
    if path.steps.is_empty() {
        let mut whole = super::json::read(schema, json, operation, false)?;
        for stage in &mut whole.steps {
            stage.replace_all = operation == Operation::Replace;
        }
        ops.steps.append(&mut whole.steps);
        return Ok(());
    }
    let mut op = read_at(schema, path, operation, json)?;
    op.insert = insert;
    add(ops, path, op);
    Ok(())
}

/// Wraps `op` in the levels above it and appends it.
fn add(ops: &mut Ops, path: &InstancePath, op: Op) {
    let (operation, quiet) = match op.operation {
        Operation::Remove => (Operation::None, true),
        Operation::Delete | Operation::None => (Operation::None, false),
        Operation::Merge | Operation::Replace | Operation::Create => (Operation::Merge, false),
    };
    let above = path.steps.split_last().map_or(&[][..], |(_, above)| above);
    let wrapped = above.iter().rev().fold(op, |op, step| {
        let content = match &step.key {
            Some(key) => Content::Entry(key.clone(), vec![op]),
            None => Content::Container(vec![op]),
        };
        Op { node: step.node, operation, content, insert: None, quiet, defaulted: false }
    });
    ops.steps.push(Stage { replace_all: false, nodes: vec![wrapped] });
}
