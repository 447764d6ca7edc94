//! Instance paths: schema nodes with the keys that pick an instance, and their texts (RFC 7951 section 6.11,
//! RFC 7950 section 9.13).

use crate::error::{Error, ErrorTag, Path, shown};
use crate::schema::{ModuleId, NodeId, NodeKind, Schema};
use crate::value::{Names, Token, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// What tells an entry of a list or leaf-list from its siblings: the key values in `key` order, the value of
/// a leaf-list of configuration, and for keyless lists and leaf-lists of state, which may have duplicates, the
/// position from 0 as [`Value::Uint64`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// One value.
    One(Value),
    /// Two or more.
    Many(Arc<[Value]>),
}

impl Key {
    /// A key of these values.
    pub fn new(mut values: Vec<Value>) -> Self {
        match (values.pop(), values.is_empty()) {
            (Some(value), true) => Key::One(value),
            (Some(value), false) => {
                values.push(value);
                Key::Many(Arc::from(values))
            }
            (None, _) => Key::Many(Arc::from([])),
        }
    }

    /// A key of one string, as most are.
    pub fn string(text: &str) -> Self {
        Key::One(Value::String(Arc::from(text)))
    }

    /// Its values in `key` order.
    pub fn values(&self) -> &[Value] {
        match self {
            Key::One(value) => std::slice::from_ref(value),
            Key::Many(values) => values,
        }
    }

    /// The position of an entry that has no key, see [`Key`].
    pub(crate) fn position(&self) -> Option<u64> {
        match self {
            Key::One(Value::Uint64(position)) => Some(*position),
            _ => None,
        }
    }
}

/// One level of an [`InstancePath`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Step {
    /// The data node.
    pub node: NodeId,
    /// For a list or leaf-list: which entry; none names all of them (only as the last step).
    pub key: Option<Key>,
}

/// A place in a data tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct InstancePath {
    /// From the top; empty for the root.
    pub steps: Vec<Step>,
}

/// A place that holds what a filter may select.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// A container, a list, or an entry of one.
    pub path: InstancePath,
    /// Of a list, of which not all keys are known: the keys that are, in their order, each with its value.
    pub keys: Vec<(NodeId, Value)>,
}

impl From<InstancePath> for Place {
    fn from(path: InstancePath) -> Self {
        Self { path, keys: Vec::new() }
    }
}

impl Place {
    /// The RFC 7951 form; of a list with a predicate for each key that is known.
    pub fn render(&self, schema: &Schema) -> Path {
        let Path(mut out) = self.path.render(schema);
        for (key, value) in &self.keys {
            // A key is of its list's module.
            push_key(&mut out, schema, (*key, value), &mut |_, _| {});
        }
        Path(out)
    }
}

/// Is an entry of `node` named by its position?
pub(crate) fn is_positional(schema: &Schema, node: NodeId) -> bool {
    match &schema.node(node).kind {
        NodeKind::List { keys, .. } => keys.is_empty(),
        NodeKind::LeafList { .. } => !schema.node(node).config,
        _ => false,
    }
}

impl InstancePath {
    /// The last step's node; none for the root.
    pub fn node(&self) -> Option<NodeId> {
        self.steps.last().map(|step| step.node)
    }

    /// Is `self` at or above `other`?
    pub fn contains(&self, other: &InstancePath) -> bool {
        other.steps.starts_with(&self.steps)
    }

    /// Reads the RFC 7951 form; `/` is the root. A last list step without predicates names the whole list.
    ///
    /// # Errors
    /// `invalid-value` naming the step that the schema or the grammar does not know.
    pub fn parse(schema: &Schema, text: &str) -> Result<Self, Error> {
        let resolve = |prefix: Option<&str>| schema.module_by_name(prefix?);
        Self::parse_with(schema, Names { resolve: &resolve, inherit: true }, text)
    }

    /// Reads the predicates that name an entry of `node`, such as `[ex:name='a']`.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn parse_key(
        schema: &Schema,
        node: NodeId,
        names: Names<'_>,
        text: &str,
    ) -> Result<Key, String> {
        let mut parser = Parser { schema, names, text, at: 0 };
        match parser.predicates(node)? {
            Some(key) if parser.at == text.len() => Ok(key),
            _ => Err(format!("'{}' does not name an entry by its keys", shown(text))),
        }
    }

    /// Reads an instance-identifier whose names are resolved by `names` (XML: by the prefixes in force).
    ///
    /// # Errors
    /// `invalid-value` naming the step that the schema or the grammar does not know.
    pub fn parse_with(schema: &Schema, names: Names<'_>, text: &str) -> Result<Self, Error> {
        let mut parser = Parser { schema, names, text, at: 0 };
        parser.path().map_err(|what| {
            let at = parser.at;
            Error::application(ErrorTag::InvalidValue, format!("'{}' at byte {at}: {what}", shown(text)))
        })
    }

    /// The RFC 7951 form.
    pub fn render(&self, schema: &Schema) -> Path {
        let mut out = String::with_capacity(64);
        let mut module = None;
        for step in &self.steps {
            push_named(&mut out, schema, step, &mut module);
        }
        if out.is_empty() {
            out.push('/');
        }
        Path(out)
    }

    /// The XML form, every name with the prefix that [`Schema::prefix`] gives its module, and the modules whose
    /// prefixes must be declared, in order of appearance.
    pub fn render_xml(&self, schema: &Schema) -> (String, Vec<ModuleId>) {
        let mut out = String::new();
        let mut modules: Vec<ModuleId> = Vec::new();
        for step in &self.steps {
            let values = step.key.iter().flat_map(Key::values);
            let identities = values.filter_map(|value| match value {
                Value::Identity(name) => schema.module_by_name(name.split_once(':')?.0),
                _ => None,
            });
            for module in [schema.node(step.node).module].into_iter().chain(identities) {
                if !modules.contains(&module) {
                    modules.push(module);
                }
            }
            let step = Step { node: step.node, key: step.key.as_ref().map(|key| xml_key(schema, key)) };
            push_step(&mut out, schema, &step, &mut |out, id: ModuleId| {
                out.push_str(schema.prefix(id));
                out.push(':');
            });
        }
        (out, modules)
    }
}

/// The RFC 7951 forms of paths, one after the other: what they have in common with the one before, all but the last
/// step, is not made again.
#[derive(Default)]
pub(crate) struct Siblings<'a> {
    above: &'a [Step],
    /// The last path.
    text: String,
    /// So much of it is `above`.
    above_len: usize,
    /// The module of the last step of `above`.
    module: Option<ModuleId>,
}

impl<'a> Siblings<'a> {
    pub(crate) fn render(&mut self, schema: &Schema, path: &'a InstancePath) -> &str {
        let Some((last, above)) = path.steps.split_last() else { return "/" };
        let mut module = self.module;
        if self.above == above && self.above_len > 0 {
            self.text.truncate(self.above_len);
        } else {
            self.text.clear();
            module = None;
            for step in above {
                push_named(&mut self.text, schema, step, &mut module);
            }
            (self.above, self.above_len, self.module) = (above, self.text.len(), module);
        }
        push_named(&mut self.text, schema, last, &mut module);
        &self.text
    }
}

/// As [`push_step`], with the name of a module where it is not that of the name before.
fn push_named(out: &mut String, schema: &Schema, step: &Step, module: &mut Option<ModuleId>) {
    push_step(out, schema, step, &mut |out, id: ModuleId| {
        if *module != Some(id) {
            out.push_str(&schema.module(id).name);
            out.push(':');
            *module = Some(id);
        }
    });
}

/// The module of an identity and its own name.
pub(crate) fn identity_parts<'a>(schema: &Schema, name: &'a str) -> Option<(ModuleId, &'a str)> {
    let (module, name) = name.split_once(':')?;
    Some((schema.module_by_name(module)?, name))
}

fn xml_key(schema: &Schema, key: &Key) -> Key {
    let value = |value: &Value| match value {
        Value::Identity(name) => match identity_parts(schema, name) {
            Some((module, name)) => Value::Identity([schema.prefix(module), ":", name].concat().into()),
            None => value.clone(),
        },
        _ => value.clone(),
    };
    Key::new(key.values().iter().map(value).collect())
}

fn push_step(out: &mut String, schema: &Schema, step: &Step, qualify: &mut dyn FnMut(&mut String, ModuleId)) {
    let node = schema.node(step.node);
    out.push('/');
    qualify(out, node.module);
    out.push_str(schema.data_name(step.node));
    let Some(key) = &step.key else { return };
    if let Some(position) = key.position().filter(|_| is_positional(schema, step.node)) {
        out.push_str(&format!("[{}]", position + 1));
        return;
    }
    match &node.kind {
        NodeKind::LeafList { .. } => {
            for value in key.values() {
                out.push_str("[.=");
                push_literal(out, &text_of(value));
                out.push(']');
            }
        }
        _ => {
            for (id, value) in schema.list_keys(step.node).iter().zip(key.values()) {
                push_key(out, schema, (*id, value), qualify);
            }
        }
    }
}

fn push_key(
    out: &mut String,
    schema: &Schema,
    (id, value): (NodeId, &Value),
    qualify: &mut dyn FnMut(&mut String, ModuleId),
) {
    let key = schema.node(id);
    out.push('[');
    qualify(out, key.module);
    out.push_str(&key.name);
    out.push('=');
    push_literal(out, &text_of(value));
    out.push(']');
}

fn text_of(value: &Value) -> Cow<'_, str> {
    value.as_str().map_or_else(|| value.to_string().into(), Cow::Borrowed)
}

/// An XPath literal; a text with both quotes, which has none, as `concat()`.
fn push_literal(out: &mut String, text: &str) {
    let mut quoted = |quote: char| {
        out.push(quote);
        out.push_str(text);
        out.push(quote);
    };
    let has = |quote: u8| text.as_bytes().contains(&quote);
    if !has(b'\'') {
        quoted('\'');
    } else if !has(b'"') {
        quoted('"');
    } else {
        let parts: Vec<String> = text.split('\'').map(|part| format!("'{part}'")).collect();
        out.push_str(&format!("concat({})", parts.join(",\"'\",")));
    }
}

struct Parser<'a> {
    schema: &'a Schema,
    names: Names<'a>,
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        self.blanks();
        if self.eat(token) { Ok(()) } else { Err(format!("expected '{token}'")) }
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn path(&mut self) -> Result<InstancePath, String> {
        let mut path = InstancePath::default();
        if self.text == "/" {
            return Ok(path);
        }
        let mut module = None;
        while self.at < self.text.len() {
            if let Some(step) = path.steps.last() {
                let many = matches!(
                    self.schema.node(step.node).kind,
                    NodeKind::List { .. } | NodeKind::LeafList { .. }
                );
                if many && step.key.is_none() {
                    return Err("a list entry needs its keys here".to_owned());
                }
            }
            if !self.eat("/") {
                return Err("expected '/'".to_owned());
            }
            let (of, name) = self.name(module)?;
            module = Some(of);
            let Some(node) = self.schema.child(path.node(), of, &name) else {
                let module = &self.schema.module(of).name;
                return Err(format!("the schema has no '{module}:{}' here", shown(&name)));
            };
            if !crate::index::is_data(&self.schema.node(node).kind) {
                return Err(format!("'{name}' is no data node"));
            }
            let key = self.predicates(node)?;
            path.steps.push(Step { node, key });
        }
        if path.steps.is_empty() { Err("expected '/'".to_owned()) } else { Ok(path) }
    }

    /// A name and its module; `inherited` is that of the step before.
    fn name(&mut self, inherited: Option<ModuleId>) -> Result<(ModuleId, String), String> {
        let end = self.rest().find(['/', '[', '=', ']', ' ', '\t', '\n', '\r']).unwrap_or(self.rest().len());
        let word = self.rest().get(..end).unwrap_or_default().to_owned();
        let (prefix, name) = match word.split_once(':') {
            Some((prefix, name)) => (Some(prefix), name),
            None => (None, word.as_str()),
        };
        let module = match prefix {
            None if self.names.inherit => inherited.or_else(|| (self.names.resolve)(None)),
            _ => (self.names.resolve)(prefix),
        };
        if name.is_empty() {
            return Err("expected a name".to_owned());
        }
        let Some(module) = module else {
            return Err(format!("'{}' needs the name of a module that is known here", shown(&word)));
        };
        let name = name.to_owned();
        self.at += end;
        Ok((module, name))
    }

    fn predicates(&mut self, node: NodeId) -> Result<Option<Key>, String> {
        let keys = self.schema.list_keys(node).to_vec();
        let mut found: Vec<Option<Value>> = vec![None; keys.len()];
        let mut whole = None;
        let mut any = false;
        while self.eat("[") {
            if whole.is_some() {
                return Err("one predicate names this entry".to_owned());
            }
            any = true;
            self.blanks();
            if let Some(position) = self.position(node)? {
                whole = Some(position);
            } else if self.eat(".") {
                if !matches!(self.schema.node(node).kind, NodeKind::LeafList { .. }) {
                    return Err("only a leaf-list has entries by value".to_owned());
                }
                whole = Some(self.key_value(node)?);
            } else {
                let (module, name) = self.name(Some(self.schema.node(node).module))?;
                let key = self.schema.child(Some(node), module, &name);
                let Some((id, value)) = keys.iter().zip(&mut found).find(|(id, _)| Some(**id) == key) else {
                    return Err(format!("'{}' is no key of this list", shown(&name)));
                };
                if value.replace(self.key_value(*id)?).is_some() {
                    return Err(format!("key '{name}' stands twice"));
                }
            }
            self.expect("]")?;
        }
        if let Some(value) = whole {
            return Ok(Some(Key::One(value)));
        }
        if !any || keys.is_empty() {
            return if any { Err("this node has no keys".to_owned()) } else { Ok(None) };
        }
        match found.into_iter().collect::<Option<Vec<Value>>>() {
            Some(values) => Ok(Some(Key::new(values))),
            None => {
                let names: Vec<&str> = keys.iter().map(|id| self.schema.node(*id).name.as_str()).collect();
                Err(format!("all keys must be given: {}", names.join(", ")))
            }
        }
    }

    /// The position of an entry that has no other name, if a number stands here.
    fn position(&mut self, node: NodeId) -> Result<Option<Value>, String> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Ok(None);
        }
        let number = self.rest().get(..digits).unwrap_or_default();
        let position: u64 = number.parse().map_err(|_| "a position too large".to_owned())?;
        let position = position.checked_sub(1).ok_or("positions start at 1")?;
        self.at += digits;
        if !is_positional(self.schema, node) {
            return Err("this entry is named by its keys, not by a position".to_owned());
        }
        Ok(Some(Value::Uint64(position)))
    }

    fn key_value(&mut self, leaf: NodeId) -> Result<Value, String> {
        self.expect("=")?;
        self.blanks();
        let text = self.literal()?;
        let Some(ty) = self.schema.leaf_type(leaf) else {
            return Err("it holds no value".to_owned());
        };
        let (outer, own) = (self.names, self.schema.node(leaf).module);
        let resolve = |prefix: Option<&str>| match prefix {
            None if outer.inherit => Some(own),
            _ => (outer.resolve)(prefix),
        };
        let names = Names { resolve: &resolve, inherit: outer.inherit };
        Value::parse(self.schema, ty, names, Token::Text, &text).map_err(|error| error.message)
    }

    fn literal(&mut self) -> Result<String, String> {
        if !self.eat("concat(") {
            return self.quoted();
        }
        let mut text = self.quoted()?;
        while self.eat(",") {
            text.push_str(&self.quoted()?);
        }
        self.expect(")")?;
        Ok(text)
    }

    fn quoted(&mut self) -> Result<String, String> {
        let Some(quote) = self.rest().chars().next().filter(|c| matches!(c, '\'' | '"')) else {
            return Err("expected a quoted value".to_owned());
        };
        let body = self.rest().get(1..).unwrap_or_default();
        let Some(end) = body.find(quote) else {
            return Err("the quote is not closed".to_owned());
        };
        let text = body.get(..end).unwrap_or_default().to_owned();
        self.at += end + 2;
        Ok(text)
    }
}
