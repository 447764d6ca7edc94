//! Data to XML.

use super::{WITH_DEFAULTS, escape, escape_attribute};
use crate::path::{InstancePath, xml_identity};
use crate::schema::{ModuleId, NodeId, Schema};
use crate::tree::{Branch, Child, Data};
use crate::value::{Value, xpath};
use std::fmt::{self, Write};

/// Writes data as XML, buffering one element at a time.
pub(crate) struct Writer<'a, 'w> {
    schema: &'a Schema,
    out: &'w mut dyn Write,
    buffer: String,
    /// Tag defaults as RFC 6243 section 6 has it.
    tagged: bool,
}

impl<'a, 'w> Writer<'a, 'w> {
    pub(crate) fn new(schema: &'a Schema, out: &'w mut dyn Write, tagged: bool) -> Self {
        Self { schema, out, buffer: String::new(), tagged }
    }

    /// The children of a branch whose schema node is `parent`; `module` is that of the enclosing element, if its
    /// namespace is the default one in force.
    pub(crate) fn children(
        &mut self,
        branch: &Branch,
        parent: Option<NodeId>,
        module: Option<ModuleId>,
    ) -> fmt::Result {
        for child in branch.ordered_children(self.schema, parent) {
            self.child(child, module)?;
        }
        Ok(())
    }

    fn child(&mut self, child: &Child, outer: Option<ModuleId>) -> fmt::Result {
        let module = self.schema.node(child.id).module;
        match &child.data {
            Data::Leaf(value) => self.leaf(child.id, value, outer, child.default),
            Data::LeafList(entries) => {
                entries.iter().try_for_each(|(_, value)| self.leaf(child.id, value, outer, child.default))
            }
            Data::Any(text) => {
                self.open(child.id, outer);
                self.buffer.push('>');
                self.buffer.push_str(text);
                self.close(child.id)
            }
            Data::Container(inner) => self.branch(child.id, inner, outer, module),
            Data::List(entries) => {
                entries.iter().try_for_each(|(_, entry)| self.branch(child.id, entry, outer, module))
            }
        }
    }

    fn branch(
        &mut self,
        id: NodeId,
        inner: &Branch,
        outer: Option<ModuleId>,
        module: ModuleId,
    ) -> fmt::Result {
        self.open(id, outer);
        if inner.is_empty() {
            self.buffer.push_str("/>");
            return Ok(());
        }
        self.buffer.push('>');
        self.children(inner, Some(id), Some(module))?;
        self.close(id)
    }

    fn leaf(&mut self, id: NodeId, value: &Value, outer: Option<ModuleId>, default: bool) -> fmt::Result {
        self.open(id, outer);
        if default && self.tagged {
            write!(self.buffer, " xmlns:wd=\"{WITH_DEFAULTS}\" wd:default=\"true\"")?;
        }
        let (text, modules) = value_text(self.schema, value);
        for module in modules {
            write!(self.buffer, " xmlns:{}=\"", self.schema.prefix(module))?;
            escape_attribute(&mut self.buffer, &self.schema.module(module).namespace);
            self.buffer.push('"');
        }
        if text.is_empty() {
            self.buffer.push_str("/>");
            return Ok(());
        }
        self.buffer.push('>');
        escape(&mut self.buffer, &text);
        self.close(id)
    }

    /// `<name xmlns="…"` without the closing bracket.
    fn open(&mut self, id: NodeId, outer: Option<ModuleId>) {
        let node = self.schema.node(id);
        self.buffer.push('<');
        self.buffer.push_str(&node.name);
        if outer != Some(node.module) {
            self.buffer.push_str(" xmlns=\"");
            escape_attribute(&mut self.buffer, &self.schema.module(node.module).namespace);
            self.buffer.push('"');
        }
    }

    fn close(&mut self, id: NodeId) -> fmt::Result {
        write!(self.buffer, "</{}>", self.schema.node(id).name)?;
        if self.buffer.len() > 4096 { self.flush() } else { Ok(()) }
    }

    /// Hands everything written so far to the sink; to be called at the end.
    pub(crate) fn flush(&mut self) -> fmt::Result {
        self.out.write_str(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// The text of a value and the modules whose prefixes it uses.
fn value_text(schema: &Schema, value: &Value) -> (String, Vec<ModuleId>) {
    match value {
        Value::Identity(name) => match xml_identity(schema, name) {
            Some((module, text)) => (text, vec![module]),
            None => (name.to_string(), Vec::new()),
        },
        Value::Instance(path) => match InstancePath::parse(schema, path) {
            Ok(path) => path.render_xml(schema),
            Err(_) => xpath::prefixed(schema, path),
        },
        Value::Empty
        | Value::Bool(_)
        | Value::Int32(_)
        | Value::Uint32(_)
        | Value::Int64(_)
        | Value::Uint64(_)
        | Value::Decimal64 { .. }
        | Value::String(_)
        | Value::Enum(_)
        | Value::Bits(_)
        | Value::Binary(_) => (value.to_string(), Vec::new()),
    }
}
