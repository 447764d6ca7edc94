//! From words to places: `services service 1 name` names a leaf of one list entry.
//!
//! Names are those of the schema, with or without `module:`; a list's keys follow its name in `key` order. A
//! first word that is no top-level name is looked for below [`HOME`].

use crate::error::{Error, nearest};
use crate::token::Token;
use cats_yang_tree::path::{InstancePath, Key, Step};
use cats_yang_tree::schema::{NodeId, NodeKind, Schema, Type};
use cats_yang_tree::value::Value;

/// The container whose children may be named without it: everything that this product configures is below it.
pub const HOME: &str = "/ietf-routing:routing/ietf-cats:cats";

/// What a caller wants to name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Configuration that can be written.
    Config,
    /// Configuration or state, to be shown.
    Any,
    /// What an operation is given.
    Parameters,
}

/// A leaf, or an existence, with the value to give to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The node; for a leaf-list entry its value is the last step's key.
    pub path: InstancePath,
    /// The value of a leaf.
    pub value: Option<Value>,
}

/// Reads words as one place. A last list without its keys names all of its entries.
pub fn place(schema: &Schema, words: &[Token], want: Want) -> Result<InstancePath, Error> {
    let mut walk = Walk::new(schema, words, want);
    while !walk.at_end() {
        walk.descend()?;
        if let Some(node) = walk.path.node() {
            walk.entry(node, true)?;
        }
    }
    Ok(walk.path)
}

/// Reads words as assignments: `services service 1 name web address [ 192.0.2.1 192.0.2.2 ]`. After a leaf's value
/// the next word names a sibling of the leaf.
pub fn assignments(schema: &Schema, words: &[Token]) -> Result<Vec<Assignment>, Error> {
    let mut walk = Walk::new(schema, words, Want::Config);
    if walk.at_end() {
        return Err(Error::usage("nothing is named").expecting(walk.offers()));
    }
    assigned(&mut walk)
}

/// Reads the words that a walk has left as assignments.
pub(crate) fn assigned(walk: &mut Walk<'_>) -> Result<Vec<Assignment>, Error> {
    let schema = walk.schema;
    let mut found = Vec::new();
    let mut open = false;
    while !walk.at_end() {
        let before = open.then(|| walk.path.clone());
        let node = walk.descend()?;
        // What was named last may have been left without anything in it.
        if let Some(before) = before.filter(|before| !before.contains(&walk.path))
            && before.node().is_some_and(|left| !schema.is_non_presence(left))
        {
            found.push(Assignment { path: before, value: None });
        }
        open = match &schema.node(node).kind {
            NodeKind::Leaf { .. } => {
                let value = walk.leaf_value(node)?;
                found.push(Assignment { path: walk.path.clone(), value: Some(value) });
                walk.path.steps.pop();
                false
            }
            NodeKind::LeafList { .. } => {
                walk.leaf_list_values(node, &mut found)?;
                walk.path.steps.pop();
                false
            }
            _ => {
                walk.entry(node, false)?;
                true
            }
        };
    }
    if open {
        found.push(existence(schema, walk)?);
    }
    Ok(found)
}

/// The last named container or list entry itself, which may be all that is to be made.
fn existence(schema: &Schema, walk: &Walk<'_>) -> Result<Assignment, Error> {
    match walk.path.node().map(|node| &schema.node(node).kind) {
        Some(NodeKind::Container { presence: false }) => {
            Err(Error::usage("the container has no value of its own")
                .under(walk.end())
                .expecting(walk.offers()))
        }
        _ => Ok(Assignment { path: walk.path.clone(), value: None }),
    }
}

pub(crate) struct Walk<'a> {
    schema: &'a Schema,
    words: &'a [Token],
    next: usize,
    want: Want,
    /// Where the walk is.
    pub(crate) path: InstancePath,
    /// Where it began.
    floor: usize,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(schema: &'a Schema, words: &'a [Token], want: Want) -> Self {
        Self { schema, words, next: 0, want, path: InstancePath::default(), floor: 0 }
    }

    /// A walk from `path` on.
    pub(crate) fn from(schema: &'a Schema, path: InstancePath, words: &'a [Token], want: Want) -> Self {
        Self { floor: path.steps.len(), path, ..Self::new(schema, words, want) }
    }

    pub(crate) fn at_end(&self) -> bool {
        self.next >= self.words.len()
    }

    /// Behind the last word.
    fn end(&self) -> (usize, usize) {
        self.words.last().map_or((0, 1), |word| (word.start + word.length, 1))
    }

    fn take(&mut self) -> Option<&'a Token> {
        let word = self.words.get(self.next)?;
        self.next += 1;
        Some(word)
    }

    /// Goes to the child that the next word names.
    pub(crate) fn descend(&mut self) -> Result<NodeId, Error> {
        let Some(word) = self.take() else {
            return Err(Error::usage("a name is missing").under(self.end()).expecting(self.offers()));
        };
        let parent = self.path.node();
        for length in (self.lowest()..=self.path.steps.len()).rev() {
            let above = length.checked_sub(1).and_then(|at| self.path.steps.get(at)).map(|step| step.node);
            if let Some(node) = self.child(above, &word.text, word)? {
                self.path.steps.truncate(length);
                self.path.steps.push(Step { node, key: None });
                return Ok(node);
            }
        }
        if parent.is_none()
            && let Some(home) = home(self.schema)
            && let Some(node) = self.child(home.node(), &word.text, word)?
        {
            self.path = home;
            self.path.steps.push(Step { node, key: None });
            return Ok(node);
        }
        Err(self.unknown(word))
    }

    /// How far up the next name may stand: among parameters, which end nothing by themselves, anywhere.
    fn lowest(&self) -> usize {
        match self.want {
            Want::Parameters => self.floor,
            Want::Config | Want::Any => self.path.steps.len(),
        }
    }

    /// The child of that name, by its module's name where one is given.
    fn child(&self, parent: Option<NodeId>, name: &str, word: &Token) -> Result<Option<NodeId>, Error> {
        let (module, name) = match name.split_once(':') {
            Some((module, name)) => (Some(module), name),
            None => (None, name),
        };
        let mut found = self.schema.children_named(parent, name).filter(|id| {
            self.wanted(*id) && module.is_none_or(|module| self.schema.module_of(*id).name == module)
        });
        let first = found.next();
        let others: Vec<String> = found.map(|id| qualified(self.schema, id)).collect();
        match first {
            Some(id) if !others.is_empty() => Err(Error::usage(format!("`{name}` is in several modules"))
                .under(word.span())
                .expecting(std::iter::once(qualified(self.schema, id)).chain(others).collect())),
            other => Ok(other),
        }
    }

    fn wanted(&self, id: NodeId) -> bool {
        let node = self.schema.node(id);
        let data = matches!(
            node.kind,
            NodeKind::Container { .. }
                | NodeKind::List { .. }
                | NodeKind::Leaf { .. }
                | NodeKind::LeafList { .. }
                | NodeKind::Anydata { .. }
                | NodeKind::Anyxml { .. }
        );
        data && (self.want != Want::Config || node.config)
    }

    fn unknown(&self, word: &Token) -> Error {
        let offers = self.offers();
        let error = Error::usage(format!("`{}` is unknown here", word.text)).under(word.span());
        match nearest(&word.text, offers.iter().map(String::as_str)) {
            Some(near) => error.remedy(format!("did you mean `{near}`?")).expecting(offers),
            None => error.expecting(offers),
        }
    }

    /// Names that may come next.
    pub(crate) fn offers(&self) -> Vec<String> {
        let parent = self.path.node();
        let mut nodes: Vec<NodeId> = self.schema.data_children_of(parent).to_vec();
        let above = self.path.steps.get(self.lowest().saturating_sub(1)..).unwrap_or_default();
        for step in above.iter().rev().skip(1) {
            nodes.extend(self.schema.data_children(step.node));
        }
        if parent.is_none()
            && let Some(home) = home(self.schema)
        {
            nodes.extend(self.schema.data_children_of(home.node()));
        }
        nodes.retain(|id| {
            let node = self.schema.node(*id);
            self.wanted(*id) && !node.flags.hidden && (self.want == Want::Any || !self.schema.is_key(*id))
        });
        nodes.iter().map(|id| self.schema.node(*id).name.clone()).collect()
    }

    /// Reads the keys of a list, or the value of a leaf-list entry, if `node` is one.
    pub(crate) fn entry(&mut self, node: NodeId, may_name_all: bool) -> Result<(), Error> {
        let keys: Vec<NodeId> = match &self.schema.node(node).kind {
            NodeKind::List { keys, .. } => keys.clone(),
            NodeKind::LeafList { .. } => vec![node],
            NodeKind::Leaf { .. } if !self.at_end() => {
                let word = self.take().map_or((0, 1), Token::span);
                return Err(Error::usage("nothing may follow the name of a leaf here").under(word));
            }
            _ => return Ok(()),
        };
        if keys.is_empty() || (may_name_all && self.at_end()) {
            return Ok(());
        }
        let values = keys.iter().map(|key| self.value(*key)).collect::<Result<Vec<_>, _>>()?;
        if let Some(step) = self.path.steps.last_mut() {
            step.key = Some(Key::new(values));
        }
        Ok(())
    }

    /// The next word as a value of a leaf or leaf-list.
    fn value(&mut self, node: NodeId) -> Result<Value, Error> {
        let Some(word) = self.take() else {
            let name = &self.schema.node(node).name;
            return Err(Error::usage(format!("the value of `{name}` is missing"))
                .under(self.end())
                .expecting(expected_values(self.schema, node)));
        };
        parse(self.schema, node, word)
    }

    fn leaf_value(&mut self, node: NodeId) -> Result<Value, Error> {
        match self.schema.leaf_type(node).map(|ty| &ty.base) {
            Some(Type::Empty) => Ok(Value::Empty),
            _ => self.value(node),
        }
    }

    /// One value, or several in brackets.
    fn leaf_list_values(&mut self, node: NodeId, found: &mut Vec<Assignment>) -> Result<(), Error> {
        let bracket = |word: &Token, text: &str| !word.quoted && word.text == text;
        if !self.words.get(self.next).is_some_and(|word| bracket(word, "[")) {
            let value = self.value(node)?;
            found.push(self.leaf_list_entry(value));
            return Ok(());
        }
        let open = self.take().map_or((0, 1), Token::span);
        loop {
            match self.words.get(self.next) {
                Some(word) if bracket(word, "]") => {
                    self.next += 1;
                    return Ok(());
                }
                Some(_) => {
                    let value = self.value(node)?;
                    found.push(self.leaf_list_entry(value));
                }
                None => {
                    return Err(Error::usage("the list of values has no end")
                        .under(open)
                        .remedy("close it with ]"));
                }
            }
        }
    }

    /// Words that are not yet read.
    pub(crate) fn remaining(&self) -> usize {
        self.words.len().saturating_sub(self.next)
    }

    /// Reads over a value or a bracketed list of values.
    pub(crate) fn value_or_bracket(&mut self, node: NodeId) -> Result<(), Error> {
        match &self.schema.node(node).kind {
            NodeKind::LeafList { .. } => self.leaf_list_values(node, &mut Vec::new()),
            _ => self.leaf_value(node).map(|_| ()),
        }
    }

    fn leaf_list_entry(&self, value: Value) -> Assignment {
        let mut path = self.path.clone();
        if let Some(step) = path.steps.last_mut() {
            step.key = Some(Key::new(vec![value]));
        }
        Assignment { path, value: None }
    }
}

fn parse(schema: &Schema, node: NodeId, word: &Token) -> Result<Value, Error> {
    let Some(ty) = schema.leaf_type(node) else {
        return Err(Error::usage(format!("`{}` has no value", schema.node(node).name)).under(word.span()));
    };
    Value::parse_text(schema, ty, schema.node(node).module, &word.text).map_err(|invalid| {
        Error::usage(format!(
            "`{}` is no value of `{}`: {}",
            word.text,
            schema.node(node).name,
            invalid.message
        ))
        .under(word.span())
        .expecting(expected_values(schema, node))
    })
}

/// What values a leaf takes: the names of a closed type, else a description of its type.
pub fn expected_values(schema: &Schema, node: NodeId) -> Vec<String> {
    let Some(ty) = schema.leaf_type(node) else { return Vec::new() };
    let closed = closed_values(schema, &ty.base);
    if !closed.is_empty() {
        return closed;
    }
    vec![format!("<{}>", describe(ty.name.as_str(), &ty.base))]
}

/// All values of a closed type, in its own order; none for an open one.
pub fn closed_values(schema: &Schema, ty: &Type) -> Vec<String> {
    match ty {
        Type::Boolean => vec!["true".to_owned(), "false".to_owned()],
        Type::Enumeration(names) | Type::Bits(names) => {
            names.iter().map(|named| named.name.clone()).collect()
        }
        Type::Identityref { bases } => schema
            .identities_derived_from(bases)
            .map(|id| {
                let identity = schema.identity(id);
                format!("{}:{}", schema.module(identity.module).name, identity.name)
            })
            .collect(),
        Type::Union(members) => {
            members.iter().flat_map(|member| closed_values(schema, &member.base)).collect()
        }
        Type::Leafref { real, .. } => closed_values(schema, &real.base),
        Type::Binary { .. }
        | Type::Decimal64 { .. }
        | Type::Empty
        | Type::InstanceIdentifier { .. }
        | Type::Integer { .. }
        | Type::String { .. } => Vec::new(),
    }
}

fn describe(name: &str, ty: &Type) -> String {
    match ty {
        Type::Integer { range, .. } if !range.is_empty() => {
            let spans: Vec<String> = range.iter().map(|span| format!("{}..{}", span.min, span.max)).collect();
            format!("{name} {}", spans.join(" | "))
        }
        _ => name.to_owned(),
    }
}

/// Has the leaf no value but its existence?
pub(crate) fn is_empty(schema: &Schema, leaf: NodeId) -> bool {
    schema.leaf_type(leaf).is_some_and(|ty| ty.base == Type::Empty)
}

/// The path of [`HOME`], if the schema has it.
pub fn home(schema: &Schema) -> Option<InstancePath> {
    InstancePath::parse(schema, HOME).ok()
}

fn qualified(schema: &Schema, id: NodeId) -> String {
    format!("{}:{}", schema.module_of(id).name, schema.node(id).name)
}
