//! Operations from the XML of edit-config.

pub(crate) mod parameters;

use super::{Content, DefaultOperation, Faulty, Op, Operation, Ops, Stage, check_siblings};
use crate::error::{Error, ErrorInfo, ErrorTag, Errors, shown};
use crate::index::is_data;
use crate::path::{InstancePath, Key, Step, is_positional};
use crate::schema::{NodeId, NodeKind, Schema};
use crate::tree::Place;
use crate::value::{Names, Token, Value};
use crate::xml;
use roxmltree::{Attribute, Node};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What the content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// Operations.
    Edit,
    /// A complete configuration: attributes that say what an edit does are none of it.
    Whole,
    /// An answer of a server, with state nodes.
    State,
    /// The parameters of an operation, which no attribute says anything of.
    Parameters,
}

pub(super) fn read(
    schema: &Schema,
    config: Node<'_, '_>,
    default: DefaultOperation,
    taken: Taken,
) -> Result<Ops, Faulty> {
    let mut reader = Reader { schema, taken, errors: Errors::default(), trail: InstancePath::default() };
    let operation = match default {
        DefaultOperation::Merge => Operation::Merge,
        DefaultOperation::Replace => Operation::Replace,
        DefaultOperation::None => Operation::None,
    };
    let nodes = reader.children(None, config, operation);
    let ops = Ops { steps: vec![Stage { replace_all: default == DefaultOperation::Replace, nodes }] };
    if reader.errors.is_empty() {
        Ok(ops)
    } else {
        Err(Faulty { errors: reader.errors.into_vec(), readable: ops })
    }
}

struct Reader<'s> {
    schema: &'s Schema,
    taken: Taken,
    errors: Errors,
    trail: InstancePath,
}

/// The attributes of one element.
#[derive(Default)]
struct Attributes<'a> {
    operation: Option<Operation>,
    insert: Option<&'a str>,
    key: Option<&'a str>,
    value: Option<&'a str>,
    default: bool,
}

impl<'s> Reader<'s> {
    fn fail(&mut self, error: Error) {
        self.errors.push_with(|| error.at(self.trail.render(self.schema)));
    }

    fn children(&mut self, parent: Option<NodeId>, element: Node<'_, '_>, inherited: Operation) -> Vec<Op> {
        let mut ops = Vec::new();
        let mut positions = BTreeMap::new();
        for child in element.children() {
            if child.is_element() {
                if let Some(node) = self.resolve(parent, child)
                    && !(parent.is_some() && self.schema.is_key(node))
                {
                    let position = is_positional(self.schema, node).then(|| {
                        let next = positions.entry(node).or_insert(0);
                        std::mem::replace(next, *next + 1)
                    });
                    ops.extend(self.operation(node, child, inherited, position));
                }
            } else if child.is_text() && !child.text().unwrap_or_default().trim_ascii().is_empty() {
                let name = element.tag_name().name();
                let error = Error::application(ErrorTag::BadElement, format!("'{name}' has no text content"));
                self.fail(error.with(ErrorInfo::BadElement(name.to_owned())));
            }
        }
        check_siblings(self.schema, &self.trail, &mut ops, &mut self.errors);
        ops
    }

    /// Is more taken than configuration?
    fn takes_state(&self) -> bool {
        matches!(self.taken, Taken::State | Taken::Parameters)
    }

    /// The data node of configuration that an element names.
    fn resolve(&mut self, parent: Option<NodeId>, element: Node<'_, '_>) -> Option<NodeId> {
        let tag = element.tag_name();
        let namespace = tag.namespace().unwrap_or_default();
        let name = tag.name().to_owned();
        let Some(module) = self.schema.module_by_namespace(namespace) else {
            let what = format!("no module has the namespace '{namespace}' of element '{name}'");
            let error = Error::application(ErrorTag::UnknownNamespace, what);
            let error = error.with(ErrorInfo::BadElement(name));
            self.fail(error.with(ErrorInfo::BadNamespace(namespace.to_owned())));
            return None;
        };
        let found =
            self.schema.child(parent, module, &name).filter(|id| is_data(&self.schema.node(*id).kind));
        let what = match found {
            Some(id) if self.takes_state() || self.schema.node(id).config => return Some(id),
            Some(_) => format!("'{name}' is state: it cannot be configured"),
            None => format!("module {} has no data node '{name}' here", self.schema.module(module).name),
        };
        self.fail(Error::application(ErrorTag::UnknownElement, what).with(ErrorInfo::BadElement(name)));
        None
    }

    /// `position` is that of an entry that has no key.
    fn operation(
        &mut self,
        node: NodeId,
        element: Node<'_, '_>,
        inherited: Operation,
        position: Option<u64>,
    ) -> Option<Op> {
        let position = position.map(|position| Key::One(Value::Uint64(position)));
        self.trail.steps.push(Step { node, key: None });
        let op = self.read_node(node, element, inherited, position);
        self.trail.steps.pop();
        op
    }

    fn read_node(
        &mut self,
        node: NodeId,
        element: Node<'_, '_>,
        inherited: Operation,
        position: Option<Key>,
    ) -> Option<Op> {
        let attributes = self.attributes(node, element)?;
        let operation = attributes.operation.unwrap_or(inherited);
        let (operation, content) = match attributes.default {
            true => self.default_in_use(node, element, operation)?,
            false => (operation, self.content(node, element, operation, position)?),
        };
        let defaulted = attributes.default && operation == Operation::Create;
        let insert = self.place(node, element, &attributes)?;
        Some(Op { node, operation, content, insert, quiet: false, defaulted })
    }

    fn content(
        &mut self,
        node: NodeId,
        element: Node<'_, '_>,
        operation: Operation,
        position: Option<Key>,
    ) -> Option<Content> {
        Some(match &self.schema.node(node).kind {
            NodeKind::Leaf { .. } if operation.deletes() => Content::Leaf(None),
            NodeKind::Leaf { .. } => Content::Leaf(Some(self.value(node, element)?)),
            NodeKind::LeafList { .. } => {
                let value = self.value(node, element)?;
                Content::LeafListEntry(position.unwrap_or_else(|| Key::One(value.clone())), value)
            }
            NodeKind::Container { .. } if operation.deletes() => Content::Container(Vec::new()),
            NodeKind::Container { .. } => {
                Content::Container(self.children(Some(node), element, operation.inside()))
            }
            NodeKind::List { .. } => {
                let key = match position {
                    Some(position) => position,
                    None => self.entry_key(node, element, operation)?,
                };
                if let Some(step) = self.trail.steps.last_mut() {
                    step.key = Some(key.clone());
                }
                let children = match operation.deletes() {
                    true => Vec::new(),
                    false => self.children(Some(node), element, operation.inside()),
                };
                Content::Entry(key, children)
            }
            NodeKind::Anydata { .. } | NodeKind::Anyxml { .. } => Content::Any(xml::fragment(element).into()),
            NodeKind::Choice { .. }
            | NodeKind::Case
            | NodeKind::Rpc { .. }
            | NodeKind::Action { .. }
            | NodeKind::Input
            | NodeKind::Output
            | NodeKind::Notification => return None,
        })
    }

    /// A leaf or an entry of a leaf-list that is tagged as a default (RFC 6243 section 4.5.2) is not stored. Whether it may
    /// be created is asked all the same.
    fn default_in_use(
        &mut self,
        node: NodeId,
        element: Node<'_, '_>,
        operation: Operation,
    ) -> Option<(Operation, Content)> {
        let value = self.value(node, element)?;
        self.check_tagged(node, &value, operation)?;
        let stays = operation == Operation::Create;
        let operation = if stays { operation } else { Operation::Remove };
        Some(match matches!(self.schema.node(node).kind, NodeKind::LeafList { .. }) {
            true => (operation, Content::LeafListEntry(Key::One(value.clone()), value)),
            false => (operation, Content::Leaf(Some(value))),
        })
    }

    /// What is tagged as a default must be it, and have an operation that gives a value.
    fn check_tagged(&mut self, node: NodeId, value: &Value, operation: Operation) -> Option<()> {
        let gives = match operation {
            Operation::Create | Operation::Merge | Operation::Replace => true,
            Operation::None | Operation::Delete | Operation::Remove => false,
        };
        let what = if !gives {
            "what is tagged as the default is to be created, merged or replaced".to_owned()
        } else if self.schema.is_key(node) || !self.schema.default_values(node).contains(value) {
            format!("'{}' is tagged as the default, which it is not", shown(&value.to_string()))
        } else {
            return Some(());
        };
        self.fail(Error::application(ErrorTag::InvalidValue, what));
        None
    }

    fn entry_key(&mut self, list: NodeId, element: Node<'_, '_>, operation: Operation) -> Option<Key> {
        let mut values = Vec::new();
        let schema = self.schema;
        let keys = schema.list_keys(list);
        for id in keys {
            let key = schema.node(*id);
            let namespace = schema.module(key.module).namespace.as_str();
            let mut found = element.children().filter(|child| {
                child.tag_name().name() == key.name && child.tag_name().namespace() == Some(namespace)
            });
            let Some(child) = found.next() else {
                let what = format!("list '{}' needs its key '{}'", schema.node(list).name, key.name);
                let error = Error::application(ErrorTag::MissingElement, what);
                self.fail(error.with(ErrorInfo::BadElement(key.name.clone())));
                continue;
            };
            if found.next().is_some() {
                let error =
                    Error::application(ErrorTag::BadElement, format!("key '{}' stands twice", key.name));
                self.fail(error.with(ErrorInfo::BadElement(key.name.clone())));
                continue;
            }
            self.trail.steps.push(Step { node: *id, key: None });
            let attributes = self.attributes(*id, child).unwrap_or_default();
            if attributes.operation.is_some_and(Operation::deletes) && !operation.deletes() {
                let what = format!("key '{}' cannot be deleted; delete the entry", key.name);
                let error = Error::protocol(ErrorTag::BadAttribute, what);
                let error = error.with(ErrorInfo::BadAttribute("operation".to_owned()));
                self.fail(error.with(ErrorInfo::BadElement(key.name.clone())));
            }
            let value = self.value(*id, child);
            let tagged = value.as_ref().filter(|_| attributes.default);
            let good = tagged.is_none_or(|value| self.check_tagged(*id, value, Operation::Merge).is_some());
            values.extend(value.filter(|_| good));
            self.trail.steps.pop();
        }
        (values.len() == keys.len()).then(|| Key::new(values))
    }

    fn value(&mut self, node: NodeId, element: Node<'_, '_>) -> Option<Value> {
        let schema = self.schema;
        let name = &schema.node(node).name;
        if let Some(child) = element.children().find(Node::is_element) {
            let inner = child.tag_name().name().to_owned();
            let what = format!("'{name}' holds a value, not the element '{inner}'");
            self.fail(Error::application(ErrorTag::UnknownElement, what).with(ErrorInfo::BadElement(inner)));
            return None;
        }
        let ty = schema.leaf_type(node)?;
        let resolve = xml::resolver(schema, element);
        let names = Names { resolve: &resolve, inherit: false };
        match Value::parse(schema, ty, names, Token::Text, &text_of(element)) {
            Ok(value) => Some(value),
            Err(invalid) => {
                self.fail(invalid.into_error(name));
                None
            }
        }
    }

    /// None when an attribute is wrong, which is then recorded.
    fn attributes<'a>(&mut self, node: NodeId, element: Node<'a, '_>) -> Option<Attributes<'a>> {
        let mut found = Attributes::default();
        let mut good = true;
        for attribute in element.attributes() {
            match (attribute.namespace(), attribute.name()) {
                _ if self.taken == Taken::Parameters => {
                    let wanted = "none in an operation";
                    good = self.bad_attribute(ErrorTag::UnknownAttribute, &attribute, node, wanted);
                }
                (Some(xml::NETCONF), "operation") | (Some(xml::YANG), "insert" | "key" | "value")
                    if self.taken == Taken::Whole =>
                {
                    let wanted = "none but in an edit";
                    good = self.bad_attribute(ErrorTag::UnknownAttribute, &attribute, node, wanted);
                }
                (Some(xml::NETCONF), "operation") => match read_operation(attribute.value()) {
                    Some(operation) => found.operation = Some(operation),
                    None => {
                        let wanted = "merge, replace, create, delete or remove";
                        good = self.bad_attribute(ErrorTag::BadAttribute, &attribute, node, wanted);
                    }
                },
                (Some(xml::YANG), "insert") if self.schema.is_user_ordered(node) => {
                    found.insert = Some(attribute.value());
                }
                (Some(xml::YANG), "key") if self.takes(node, "key") => found.key = Some(attribute.value()),
                (Some(xml::YANG), "value") if self.takes(node, "value") => {
                    found.value = Some(attribute.value())
                }
                (Some(xml::WITH_DEFAULTS), "default") if self.has_value(node) => match attribute.value() {
                    "true" | "1" => found.default = true,
                    "false" | "0" => {}
                    _ => good = self.bad_attribute(ErrorTag::BadAttribute, &attribute, node, "true or false"),
                },
                _ => {
                    good =
                        self.bad_attribute(ErrorTag::UnknownAttribute, &attribute, node, "none of that name")
                }
            }
        }
        good.then_some(found)
    }

    fn takes(&self, node: NodeId, attribute: &str) -> bool {
        let is_list = matches!(self.schema.node(node).kind, NodeKind::List { .. });
        self.schema.is_user_ordered(node) && attribute == if is_list { "key" } else { "value" }
    }

    fn has_value(&self, node: NodeId) -> bool {
        matches!(self.schema.node(node).kind, NodeKind::Leaf { .. } | NodeKind::LeafList { .. })
    }

    /// Records the error; always false.
    fn bad_attribute(
        &mut self,
        tag: ErrorTag,
        attribute: &Attribute<'_, '_>,
        node: NodeId,
        wanted: &str,
    ) -> bool {
        let name = &self.schema.node(node).name;
        let what = match tag {
            ErrorTag::UnknownAttribute if self.taken == Taken::Whole => {
                format!("'{name}' takes no attribute '{}' in a complete configuration", attribute.name())
            }
            ErrorTag::UnknownAttribute => {
                format!("'{name}' takes no attribute '{}' of that namespace", attribute.name())
            }
            _ => {
                let value = shown(attribute.value());
                format!("attribute '{}' is '{value}', allowed is {wanted}", attribute.name())
            }
        };
        let error = Error::protocol(tag, what).with(ErrorInfo::BadAttribute(attribute.name().to_owned()));
        self.fail(error.with(ErrorInfo::BadElement(name.clone())));
        false
    }

    /// `yang:insert`; the outer none is for errors, which are then recorded.
    fn place(
        &mut self,
        node: NodeId,
        element: Node<'_, '_>,
        attributes: &Attributes<'_>,
    ) -> Option<Option<Place>> {
        let is_list = matches!(self.schema.node(node).kind, NodeKind::List { .. });
        let (name, anchor) = if is_list { ("key", attributes.key) } else { ("value", attributes.value) };
        let relative = match (attributes.insert, anchor) {
            (None, None) => return Some(None),
            (Some("first"), None) => return Some(Some(Place::First)),
            (Some("last"), None) => return Some(Some(Place::Last)),
            (Some("before"), Some(_)) => Place::Before,
            (Some("after"), Some(_)) => Place::After,
            (Some("before" | "after"), None) => {
                let what = format!("insert before or after needs the attribute '{name}'");
                self.placement_error(node, ErrorTag::MissingAttribute, name, what);
                return None;
            }
            (Some("first" | "last") | None, Some(_)) => {
                let what = format!("attribute '{name}' goes with insert before or after only");
                self.placement_error(node, ErrorTag::UnknownAttribute, name, what);
                return None;
            }
            (Some(other), _) => {
                let what = format!("insert is '{}', allowed is first, last, before or after", shown(other));
                self.placement_error(node, ErrorTag::BadAttribute, "insert", what);
                return None;
            }
        };
        match self.anchor(node, element, anchor.unwrap_or_default()) {
            Ok(key) => Some(Some(relative(key))),
            Err(what) => {
                self.placement_error(node, ErrorTag::BadAttribute, name, what);
                None
            }
        }
    }

    /// The entry that `yang:key` or `yang:value` names.
    fn anchor(&self, node: NodeId, element: Node<'_, '_>, text: &str) -> Result<Key, String> {
        let schema = self.schema;
        let resolve = xml::resolver(schema, element);
        let names = Names { resolve: &resolve, inherit: false };
        if let NodeKind::List { .. } = schema.node(node).kind {
            return InstancePath::parse_key(schema, node, names, text);
        }
        let ty = schema.leaf_type(node).ok_or_else(|| "only entries can be placed".to_owned())?;
        Value::parse(schema, ty, names, Token::Text, text).map(Key::One).map_err(|error| error.message)
    }

    fn placement_error(&mut self, node: NodeId, tag: ErrorTag, attribute: &str, what: String) {
        let element = self.schema.node(node).name.clone();
        let error = Error::protocol(tag, what).with(ErrorInfo::BadAttribute(attribute.to_owned()));
        self.fail(error.with(ErrorInfo::BadElement(element)));
    }
}

fn read_operation(text: &str) -> Option<Operation> {
    match text {
        "merge" => Some(Operation::Merge),
        "replace" => Some(Operation::Replace),
        "create" => Some(Operation::Create),
        "delete" => Some(Operation::Delete),
        "remove" => Some(Operation::Remove),
        _ => None,
    }
}

/// All text of an element; comments and processing instructions split it but are not part of it.
fn text_of<'a>(element: Node<'a, '_>) -> Cow<'a, str> {
    let mut parts = element.children().filter(Node::is_text).filter_map(|node| node.text());
    let first = parts.next().unwrap_or_default();
    match parts.next() {
        None => Cow::Borrowed(first),
        Some(second) => Cow::Owned([first, second].into_iter().chain(parts).collect()),
    }
}
