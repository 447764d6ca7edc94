//! What the CLI sends: the content of `<config>` for an edit and of a subtree `<filter>`, and operations, from places.

use crate::place::Assignment;
use crate::request::Request;
use cats_yang_tree::path::{InstancePath, Key, Step};
use cats_yang_tree::schema::{ModuleId, NodeId, NodeKind, Schema};
use cats_yang_tree::value::Value;
use std::fmt::Write;

/// The namespace of the `operation` attribute (RFC 6241 section 7.2).
const NETCONF: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

/// The namespace of `<action>` (RFC 7950 section 7.15.2).
const YANG: &str = "urn:ietf:params:xml:ns:yang:1";

/// The content of `<config>` that makes these assignments by merging.
pub fn set(schema: &Schema, assignments: &[Assignment]) -> String {
    let mut top = Vec::new();
    for assignment in assignments {
        if let Some(target) = reach(&mut top, &assignment.path.steps) {
            target.value.clone_from(&assignment.value);
        }
    }
    print(schema, &top)
}

/// The content of `<config>` that deletes the node, which must exist.
pub fn delete(schema: &Schema, path: &InstancePath) -> String {
    let mut top = Vec::new();
    if let Some(target) = reach(&mut top, &path.steps) {
        target.operation = Some("delete");
    }
    print(schema, &top)
}

/// The content of a subtree filter that selects the node; empty for everything.
pub fn filter(schema: &Schema, path: &InstancePath) -> String {
    let mut top = Vec::new();
    reach(&mut top, &path.steps);
    print(schema, &top)
}

/// A part of the data: of the lists on the way the entries that have these values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// What is selected.
    pub path: InstancePath,
    /// A list on the way, a leaf of it, and the value of that leaf.
    pub matches: Vec<(NodeId, NodeId, Value)>,
}

/// The content of a subtree filter that selects all of these.
pub fn filters(schema: &Schema, selections: &[Selection]) -> String {
    let mut top = Vec::new();
    for selection in selections {
        reach(&mut top, &selection.path.steps);
        for (list, leaf, value) in &selection.matches {
            let way = selection.path.steps.clone();
            let end = way.iter().position(|step| step.node == *list).map_or(way.len(), |at| at + 1);
            let leaf = Step { node: *leaf, key: None };
            let steps: Vec<Step> = way.into_iter().take(end).chain([leaf]).collect();
            if let Some(target) = reach(&mut top, &steps) {
                target.value = Some(value.clone());
            }
        }
    }
    print(schema, &top)
}

/// The operation element of a request.
pub fn request(schema: &Schema, request: &Request) -> String {
    let mut top = Vec::new();
    reach(&mut top, &request.place.steps);
    for parameter in &request.input {
        if let Some(target) = reach(&mut top, &parameter.path.steps) {
            target.value.clone_from(&parameter.value);
        }
    }
    let content = print(schema, &top);
    match schema.node(request.operation).kind {
        NodeKind::Action { .. } => format!("<action xmlns=\"{YANG}\">{content}</action>"),
        _ => content,
    }
}

struct Element {
    step: Step,
    value: Option<Value>,
    operation: Option<&'static str>,
    children: Vec<Element>,
}

/// The element at the end of `steps`, made with its ancestors where it is not there yet.
fn reach<'a>(siblings: &'a mut Vec<Element>, steps: &[Step]) -> Option<&'a mut Element> {
    let (first, rest) = steps.split_first()?;
    let at = siblings.iter().position(|element| element.step == *first).unwrap_or_else(|| {
        siblings.push(Element { step: first.clone(), value: None, operation: None, children: Vec::new() });
        siblings.len() - 1
    });
    let element = siblings.get_mut(at)?;
    if rest.is_empty() { Some(element) } else { reach(&mut element.children, rest) }
}

fn print(schema: &Schema, top: &[Element]) -> String {
    let mut printer = Printer { schema, out: String::new() };
    for element in top {
        printer.element(element, None);
    }
    printer.out
}

struct Printer<'a> {
    schema: &'a Schema,
    out: String,
}

impl Printer<'_> {
    fn element(&mut self, element: &Element, outer: Option<ModuleId>) {
        let node = self.schema.node(element.step.node);
        let values: &[Value] = element.step.key.as_ref().map_or(&[], Key::values);
        let own = match &node.kind {
            NodeKind::LeafList { .. } => values.first(),
            _ => element.value.as_ref(),
        };
        self.open(element.step.node, outer, element.operation, own);
        match &node.kind {
            NodeKind::LeafList { .. } | NodeKind::Leaf { .. } => {}
            _ => {
                for (key, value) in self.schema.list_keys(element.step.node).iter().zip(values) {
                    self.open(*key, Some(node.module), None, Some(value));
                    self.close(*key);
                }
                for child in &element.children {
                    self.element(child, Some(node.module));
                }
            }
        }
        self.close(element.step.node);
    }

    fn open(&mut self, id: NodeId, outer: Option<ModuleId>, operation: Option<&str>, value: Option<&Value>) {
        let node = self.schema.node(id);
        let (text, prefixes) = value.map_or_else(Default::default, |value| self.text(value));
        let _ = write!(self.out, "<{}", self.schema.data_name(id));
        if outer != Some(node.module) {
            let _ = write!(self.out, " xmlns=\"{}\"", escape(&self.schema.module(node.module).namespace));
        }
        for module in prefixes {
            let namespace = escape(&self.schema.module(module).namespace);
            let _ = write!(self.out, " xmlns:{}=\"{namespace}\"", self.schema.prefix(module));
        }
        if let Some(operation) = operation {
            let _ = write!(self.out, " xmlns:nc=\"{NETCONF}\" nc:operation=\"{operation}\"");
        }
        self.out.push('>');
        self.out.push_str(&escape(&text));
    }

    fn close(&mut self, id: NodeId) {
        let _ = write!(self.out, "</{}>", self.schema.data_name(id));
    }

    /// A value in XML, and the modules whose prefixes it uses.
    fn text(&self, value: &Value) -> (String, Vec<ModuleId>) {
        match value {
            Value::Identity(name) => {
                let resolved = name
                    .split_once(':')
                    .and_then(|(module, name)| Some((self.schema.module_by_name(module)?, name)));
                match resolved {
                    Some((module, name)) => (format!("{}:{name}", self.schema.prefix(module)), vec![module]),
                    None => (name.to_string(), Vec::new()),
                }
            }
            Value::Instance(path) => match InstancePath::parse(self.schema, path) {
                Ok(path) => path.render_xml(self.schema),
                Err(_) => (path.to_string(), Vec::new()),
            },
            other => (other.to_string(), Vec::new()),
        }
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
