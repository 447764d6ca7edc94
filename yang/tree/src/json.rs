//! RFC 7951 JSON out; JSON in is [`crate::Ops::from_json`].

use crate::schema::{ModuleId, NodeId, Schema};
use crate::tree::{Branch, Data};
use crate::value::Value;
use serde_json::Value as Json;
use std::fmt::{self, Write};

/// The object of a branch whose schema node is `parent`. Names that have the module of `parent` are bare.
pub fn branch(schema: &Schema, branch: &Branch, parent: Option<NodeId>) -> Json {
    let module = parent.map(|id| schema.node(id).module);
    let members = branch
        .ordered(schema, parent)
        .map(|(id, data)| (member(schema, id, module), value(schema, id, data)));
    Json::Object(members.collect())
}

fn value(schema: &Schema, id: NodeId, data: &Data) -> Json {
    match data {
        Data::Leaf(value) => value.to_json(),
        Data::Container(inner) => branch(schema, inner, Some(id)),
        Data::List(entries) => entries.iter().map(|(_, entry)| branch(schema, entry, Some(id))).collect(),
        Data::LeafList(entries) => entries.iter().map(|(_, value)| value.to_json()).collect(),
        Data::Any(text) => Json::String(text.to_string()),
    }
}

/// A member's name: with its module where that is not the enclosing one.
fn member(schema: &Schema, id: NodeId, outer: Option<ModuleId>) -> String {
    let node = schema.node(id);
    match outer == Some(node.module) {
        true => node.name.clone(),
        false => format!("{}:{}", schema.module(node.module).name, node.name),
    }
}

/// Writes what [`branch`] gives, in schema order and without building it.
///
/// # Errors
/// Those of the sink.
pub fn write_branch<W: Write + ?Sized>(
    schema: &Schema,
    branch: &Branch,
    parent: Option<NodeId>,
    out: &mut W,
) -> fmt::Result {
    let module = parent.map(|id| schema.node(id).module);
    out.write_char('{')?;
    for (at, (id, data)) in branch.ordered(schema, parent).enumerate() {
        if at > 0 {
            out.write_char(',')?;
        }
        write_member(schema, id, module, out)?;
        write_data(schema, id, data, out)?;
    }
    out.write_char('}')
}

fn write_member<W: Write + ?Sized>(
    schema: &Schema,
    id: NodeId,
    outer: Option<ModuleId>,
    out: &mut W,
) -> fmt::Result {
    let node = schema.node(id);
    out.write_char('"')?;
    if outer != Some(node.module) {
        out.write_str(&schema.module(node.module).name)?;
        out.write_char(':')?;
    }
    out.write_str(&node.name)?;
    out.write_str("\":")
}

fn write_data<W: Write + ?Sized>(schema: &Schema, id: NodeId, data: &Data, out: &mut W) -> fmt::Result {
    match data {
        Data::Leaf(value) => write_value(value, out),
        Data::Container(inner) => write_branch(schema, inner, Some(id), out),
        Data::List(entries) => {
            array(entries.iter(), out, |entry, out| write_branch(schema, entry, Some(id), out))
        }
        Data::LeafList(entries) => array(entries.iter(), out, write_value),
        Data::Any(text) => write_text(text, out),
    }
}

fn array<'a, K: 'a, V: 'a, W: Write + ?Sized>(
    items: impl Iterator<Item = (K, &'a V)>,
    out: &mut W,
    mut write: impl FnMut(&V, &mut W) -> fmt::Result,
) -> fmt::Result {
    out.write_char('[')?;
    for (at, (_, item)) in items.enumerate() {
        if at > 0 {
            out.write_char(',')?;
        }
        write(item, out)?;
    }
    out.write_char(']')
}

/// Writes what [`Value::to_json`] gives.
pub(crate) fn write_value<W: Write + ?Sized>(value: &Value, out: &mut W) -> fmt::Result {
    match value {
        Value::Empty => out.write_str("[null]"),
        Value::Bool(true) => out.write_str("true"),
        Value::Bool(false) => out.write_str("false"),
        Value::Int32(number) => write!(out, "{number}"),
        Value::Uint32(number) => write!(out, "{number}"),
        Value::Int64(_) | Value::Uint64(_) | Value::Decimal64 { .. } => write!(out, "\"{value}\""),
        Value::String(text)
        | Value::Enum(text)
        | Value::Bits(text)
        | Value::Identity(text)
        | Value::Instance(text)
        | Value::Binary(text) => write_text(text, out),
    }
}

/// Writes a string with its quotes.
pub(crate) fn write_text<W: Write + ?Sized>(text: &str, out: &mut W) -> fmt::Result {
    if text.bytes().any(|byte| matches!(byte, 0..0x20 | b'"' | b'\\')) {
        return write!(out, "{}", Json::from(text));
    }
    out.write_char('"')?;
    out.write_str(text)?;
    out.write_char('"')
}
