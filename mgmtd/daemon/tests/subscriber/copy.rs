//! A receiver's copy of what it subscribes to, made of what it is told alone.

use super::{NS, YP};
use cats_yang_tree::schema::{NodeKind, Schema};
use cats_yang_tree::{DefaultOperation, Defaults, Ops, Tree, edit, roxmltree, view};
use roxmltree::Node;
use std::sync::Arc;

const NC: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
const YANG: &str = "urn:ietf:params:xml:ns:yang:1";

pub struct Copy {
    schema: Arc<Schema>,
    subscription: u32,
    tree: Tree,
    /// Edits and contents that it has taken in.
    pub updates: usize,
}

impl Copy {
    pub fn of(schema: &Arc<Schema>, subscription: u32) -> Self {
        Self { schema: Arc::clone(schema), subscription, tree: Tree::new(), updates: 0 }
    }

    pub fn to_xml(&self) -> String {
        view(&self.tree, &self.schema, Defaults::Explicit).to_xml()
    }

    /// Takes a `<notification>` in, if it is of its subscription.
    pub fn hear(&mut self, text: &str) {
        let document = roxmltree::Document::parse(text).unwrap();
        let root = document.root_element();
        let Some(event) = root.children().filter(Node::is_element).nth(1) else { return };
        let id = child(event, "id").and_then(|id| id.text().map(ToOwned::to_owned));
        if id != Some(self.subscription.to_string()) {
            return;
        }
        match event.tag_name().name() {
            "push-update" => {
                self.updates += 1;
                let content = inner(child(event, "datastore-contents").unwrap(), text);
                let ops = Ops::from_whole_xml_str(&self.schema, &format!("<data>{content}</data>")).unwrap();
                self.tree = edit(&Tree::new(), &self.schema, ops).unwrap();
            }
            "push-change-update" => {
                self.updates += 1;
                let patch = child(child(event, "datastore-changes").unwrap(), "yang-patch").unwrap();
                assert_eq!(patch.tag_name().namespace(), Some(YP));
                for edit in patch.children().filter(|node| node.tag_name().name() == "edit") {
                    self.apply(edit, text);
                }
            }
            _ => {}
        }
    }

    fn apply(&mut self, patch: Node<'_, '_>, text: &str) {
        let word = |name| child(patch, name).and_then(|node| node.text()).unwrap_or_default();
        let (operation, target) = (word("operation"), word("target"));
        let value = child(patch, "value").map(|value| inner(value, text));
        let position = match word("where") {
            "first" => " yang:insert=\"first\"".to_owned(),
            "after" => format!(" yang:insert=\"after\" {}", self.anchor(word("point"))),
            _ => String::new(),
        };
        let attributes = match operation {
            "create" | "insert" | "replace" => format!(" nc:operation=\"replace\"{position}"),
            "move" => format!(" nc:operation=\"merge\"{position}"),
            // The choice of what was created may have taken it away already.
            "delete" => " nc:operation=\"remove\"".to_owned(),
            other => panic!("{other}"),
        };
        let element = match &value {
            Some(value) => {
                let name = value.find([' ', '>', '/']).unwrap();
                let (begin, rest) = value.split_at(name);
                format!("{begin}{attributes}{rest}")
            }
            None => self.element(last(target), &attributes),
        };
        let mut config = element;
        let segments: Vec<&str> = target.split('/').skip(1).collect();
        for above in segments.iter().rev().skip(1) {
            let (begin, end) = self.tags(above, "");
            config = format!("{begin}{config}{end}");
        }
        let config =
            format!("<config xmlns:nc=\"{NC}\" xmlns:yang=\"{YANG}\" xmlns:pb=\"{NS}\">{config}</config>");
        let ops = Ops::from_xml_str(&self.schema, &config, DefaultOperation::None);
        let applied = ops.and_then(|ops| edit(&self.tree, &self.schema, ops));
        self.tree = applied.unwrap_or_else(|errors| panic!("{errors:?}\nof {config}\non {}", self.to_xml()));
    }

    /// The attribute that names the entry before.
    fn anchor(&self, point: &str) -> String {
        let (name, keys) = parts(last(point));
        match self.keys_of(&name) {
            Some(names) => {
                let pairs = names.iter().zip(&keys);
                let all: String = pairs.map(|(name, key)| format!("[pb:{name}='{key}']")).collect();
                format!("yang:key=\"{all}\"")
            }
            None => format!("yang:value=\"{}\"", keys[0]),
        }
    }

    /// Start and end of an element without its content but the keys.
    fn tags(&self, segment: &str, attributes: &str) -> (String, String) {
        let (name, keys) = parts(segment);
        let content: String = match self.keys_of(&name) {
            Some(names) => {
                names.iter().zip(&keys).map(|(name, key)| format!("<{name}>{key}</{name}>")).collect()
            }
            None => keys.concat(),
        };
        (format!("<{name} xmlns=\"{NS}\"{attributes}>{content}"), format!("</{name}>"))
    }

    fn element(&self, segment: &str, attributes: &str) -> String {
        let (begin, end) = self.tags(segment, attributes);
        begin + &end
    }

    /// The names of the keys of a list of probe-bench; none of what is no list.
    fn keys_of(&self, name: &str) -> Option<Vec<String>> {
        let module = self.schema.module_by_namespace(NS).unwrap();
        let nodes = self.schema.nodes.iter().filter(|node| node.module == module && node.name == name);
        nodes.into_iter().find_map(|node| match &node.kind {
            NodeKind::List { keys, .. } => {
                Some(keys.iter().map(|key| self.schema.node(*key).name.clone()).collect())
            }
            _ => None,
        })
    }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

/// Name and keys of a segment of a path of RFC 8040.
fn parts(segment: &str) -> (String, Vec<String>) {
    let (name, keys) = segment.split_once('=').unwrap_or((segment, ""));
    let name = name.rsplit(':').next().unwrap().to_owned();
    let keys = if keys.is_empty() { Vec::new() } else { keys.split(',').map(decoded).collect() };
    (name, keys)
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let hex: Vec<u8> = rest.by_ref().take(2).collect();
            bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn child<'a, 'd>(node: Node<'a, 'd>, name: &str) -> Option<Node<'a, 'd>> {
    node.children().find(|child| child.tag_name().name() == name)
}

/// The text between the tags of an element.
fn inner(node: Node<'_, '_>, text: &str) -> String {
    let (first, last) = (node.first_child(), node.last_child());
    match (first, last) {
        (Some(first), Some(last)) => text[first.range().start..last.range().end].to_owned(),
        _ => String::new(),
    }
}
