//! Operations from RFC 7951 JSON.

use super::{Content, Op, Operation, Ops, Stage, check_siblings};
use crate::error::{Error, ErrorInfo, ErrorTag, Errors};
use crate::index::is_data;
use crate::path::{InstancePath, Key, Step, is_positional};
use crate::schema::{ModuleId, NodeId, NodeKind, Schema};
use crate::value::{Names, Token, Value};
use crate::xml;
use serde_json::Value as Json;
use std::borrow::Cow;
use std::sync::Arc;

pub(super) fn read(
    schema: &Schema,
    config: &Json,
    operation: Operation,
    state: bool,
) -> Result<Ops, Vec<Error>> {
    let mut reader = Reader { schema, state, errors: Errors::default(), trail: InstancePath::default() };
    let nodes = reader.members(None, config, operation);
    if reader.errors.is_empty() {
        return Ok(Ops { steps: vec![Stage { replace_all: false, nodes }] });
    }
    Err(reader.errors.into_vec())
}

/// The parameters in `json`, the children of the output `half`, which stands at the end of `place`.
pub(crate) fn read_parameters(
    schema: &Schema,
    half: NodeId,
    place: InstancePath,
    json: &Json,
) -> Result<Vec<Op>, Vec<Error>> {
    let mut reader = Reader { schema, state: true, errors: Errors::default(), trail: place };
    let found = reader.members(Some(half), json, Operation::Merge);
    if reader.errors.is_empty() { Ok(found) } else { Err(reader.errors.into_vec()) }
}

/// The operation on the instance `path`, whose value is `json`.
pub(super) fn read_at(
    schema: &Schema,
    path: &InstancePath,
    operation: Operation,
    json: &Json,
) -> Result<Op, Vec<Error>> {
    let mut trail = path.clone();
    let step = trail.steps.pop();
    let mut reader = Reader { schema, state: false, errors: Errors::default(), trail };
    let op = step.and_then(|step| match (&schema.node(step.node).kind, &step.key) {
        (NodeKind::List { .. }, Some(key)) => reader.within(step.clone(), |reader| {
            let children = reader.members(Some(step.node), json, operation.inside());
            Some(op(step.node, operation, Content::Entry(key.clone(), children)))
        }),
        (NodeKind::LeafList { .. }, Some(key)) => reader.within(step.clone(), |reader| {
            let value = reader.value(step.node, json)?;
            Some(op(step.node, operation, Content::LeafListEntry(key.clone(), value)))
        }),
        _ => reader.single(step.node, json, operation),
    });
    match op {
        Some(op) if reader.errors.is_empty() => Ok(op),
        _ => Err(reader.errors.into_vec()),
    }
}

/// A leaf's value from its JSON form.
pub(crate) fn read_value(schema: &Schema, leaf: NodeId, json: &Json) -> Result<Value, Error> {
    let node = schema.node(leaf);
    let Some(ty) = schema.leaf_type(leaf) else {
        return Err(Error::application(ErrorTag::InvalidValue, format!("'{}' holds no value", node.name)));
    };
    let (token, text) = match json {
        Json::Number(number) => (Token::Number, Cow::Owned(number.to_string())),
        Json::String(text) => (Token::String, Cow::Borrowed(text.as_str())),
        Json::Bool(value) => (Token::Boolean, Cow::Borrowed(if *value { "true" } else { "false" })),
        Json::Array(items) if matches!(items.as_slice(), [Json::Null]) => (Token::Empty, Cow::Borrowed("")),
        Json::Null | Json::Array(_) | Json::Object(_) => {
            let what = format!("'{}' holds one value of type {}", node.name, ty.name);
            return Err(Error::application(ErrorTag::InvalidValue, what));
        }
    };
    let resolve = |module: Option<&str>| module.map_or(Some(node.module), |name| schema.module_by_name(name));
    let names = Names { resolve: &resolve, inherit: true };
    Value::parse(schema, ty, names, token, &text).map_err(|error| error.into_error(&node.name))
}

struct Reader<'s> {
    schema: &'s Schema,
    /// State nodes are taken too.
    state: bool,
    errors: Errors,
    trail: InstancePath,
}

fn op(node: NodeId, operation: Operation, content: Content) -> Op {
    Op { node, operation, content, insert: None, quiet: false, defaulted: false }
}

impl Reader<'_> {
    fn fail(&mut self, tag: ErrorTag, name: &str, what: String) {
        let error = Error::application(tag, what).with(ErrorInfo::BadElement(name.to_owned()));
        self.errors.push_with(|| error.at(self.trail.render(self.schema)));
    }

    fn within<T>(&mut self, step: Step, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.trail.steps.push(step);
        let result = read(self);
        self.trail.steps.pop();
        result
    }

    /// The members of an object, less the keys of a list entry.
    fn members(&mut self, parent: Option<NodeId>, json: &Json, operation: Operation) -> Vec<Op> {
        let Json::Object(members) = json else {
            let name = parent.map_or("data", |id| &self.schema.node(id).name).to_owned();
            self.fail(ErrorTag::BadElement, &name, format!("'{name}' is an object in JSON"));
            return Vec::new();
        };
        let inherited = parent.map(|id| self.schema.node(id).module);
        let mut ops = Vec::new();
        for (name, json) in members {
            if let Some(node) = self.resolve(parent, inherited, name)
                && !(parent.is_some() && self.schema.is_key(node))
            {
                self.member(node, json, operation, &mut ops);
            }
        }
        check_siblings(self.schema, &self.trail, &mut ops, &mut self.errors);
        ops
    }

    fn resolve(
        &mut self,
        parent: Option<NodeId>,
        inherited: Option<ModuleId>,
        member: &str,
    ) -> Option<NodeId> {
        let (module, name) = match member.split_once(':') {
            Some((module, name)) => (self.schema.module_by_name(module), name),
            None => (inherited, member),
        };
        let Some(module) = module else {
            let what = match member.split_once(':') {
                Some((module, _)) => format!("there is no module '{module}'"),
                None => format!("'{member}' needs its module in front, as in 'module:{member}'"),
            };
            self.fail(ErrorTag::UnknownNamespace, name, what);
            return None;
        };
        let found = self.schema.child(parent, module, name).filter(|id| is_data(&self.schema.node(*id).kind));
        let what = match found {
            Some(id) if self.state || self.schema.node(id).config => return Some(id),
            Some(_) => format!("'{name}' is state: it cannot be configured"),
            None => format!("module {} has no data node '{name}' here", self.schema.module(module).name),
        };
        self.fail(ErrorTag::UnknownElement, name, what);
        None
    }

    fn member(&mut self, node: NodeId, json: &Json, operation: Operation, ops: &mut Vec<Op>) {
        let many = matches!(self.schema.node(node).kind, NodeKind::List { .. } | NodeKind::LeafList { .. });
        match json {
            Json::Array(items) if many => {
                let entries = items.iter().enumerate();
                ops.extend(entries.filter_map(|(at, item)| self.entry(node, at, item, operation)));
            }
            _ if many => {
                let name = self.schema.node(node).name.clone();
                self.fail(ErrorTag::BadElement, &name, format!("'{name}' is an array in JSON"));
            }
            _ => ops.extend(self.single(node, json, operation)),
        }
    }

    /// One of the entries of `node`. What has no key of its own is named by its position.
    fn entry(&mut self, node: NodeId, position: usize, json: &Json, operation: Operation) -> Option<Op> {
        let mut op = self.single(node, json, operation)?;
        if is_positional(self.schema, node)
            && let Content::Entry(key, _) | Content::LeafListEntry(key, _) = &mut op.content
        {
            *key = Key::One(Value::Uint64(position as u64));
        }
        Some(op)
    }

    /// One instance of `node`.
    fn single(&mut self, node: NodeId, json: &Json, operation: Operation) -> Option<Op> {
        self.within(Step { node, key: None }, |reader| {
            let content = match &reader.schema.node(node).kind {
                NodeKind::Leaf { .. } => Content::Leaf(Some(reader.value(node, json)?)),
                NodeKind::LeafList { .. } => {
                    let value = reader.value(node, json)?;
                    Content::LeafListEntry(Key::One(value.clone()), value)
                }
                NodeKind::Container { .. } => {
                    Content::Container(reader.members(Some(node), json, operation.inside()))
                }
                NodeKind::List { .. } => {
                    let key = reader.entry_key(node, json)?;
                    if let Some(step) = reader.trail.steps.last_mut() {
                        step.key = Some(key.clone());
                    }
                    Content::Entry(key, reader.members(Some(node), json, operation.inside()))
                }
                NodeKind::Anydata { .. } | NodeKind::Anyxml { .. } => Content::Any(reader.any(node, json)?),
                NodeKind::Choice { .. }
                | NodeKind::Case
                | NodeKind::Rpc { .. }
                | NodeKind::Action { .. }
                | NodeKind::Input
                | NodeKind::Output
                | NodeKind::Notification => return None,
            };
            Some(op(node, operation, content))
        })
    }

    fn entry_key(&mut self, list: NodeId, json: &Json) -> Option<Key> {
        let own = self.schema.node(list).module;
        let keys = self.schema.list_keys(list).to_vec();
        let mut values = Vec::new();
        for id in &keys {
            let key = self.schema.node(*id);
            let qualified = format!("{}:{}", self.schema.module(key.module).name, key.name);
            let found = json.get(&qualified).or_else(|| json.get(&key.name).filter(|_| key.module == own));
            match found {
                Some(json) => values
                    .extend(self.within(Step { node: *id, key: None }, |reader| reader.value(*id, json))),
                None => {
                    let what = format!("list '{}' needs its key '{}'", self.schema.node(list).name, key.name);
                    self.fail(ErrorTag::MissingElement, &key.name, what);
                }
            }
        }
        (values.len() == keys.len()).then(|| Key::new(values))
    }

    fn any(&mut self, node: NodeId, json: &Json) -> Option<Arc<str>> {
        let name = self.schema.node(node).name.clone();
        let Json::String(text) = json else {
            let what = format!("'{name}' is anydata: in JSON it is given as a string of XML");
            self.fail(ErrorTag::OperationNotSupported, &name, what);
            return None;
        };
        match xml::content(text) {
            Ok(text) => Some(text.into()),
            Err(error) => {
                let what = format!("'{name}' is anydata, which its string is not: {}", error.message);
                self.fail(ErrorTag::InvalidValue, &name, what);
                None
            }
        }
    }

    fn value(&mut self, node: NodeId, json: &Json) -> Option<Value> {
        match read_value(self.schema, node, json) {
            Ok(value) => Some(value),
            Err(error) => {
                self.errors.push_with(|| error.at(self.trail.render(self.schema)));
                None
            }
        }
    }
}
