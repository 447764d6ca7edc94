//! `node-instance-identifier`: an instance-identifier that may leave keys out, which then stand for all of them
//! (RFC 8341, typedef of that name).

use cats_yang_tree::schema::{NodeId, NodeKind, Schema};
use cats_yang_tree::{Key, Step, Value};

/// What a rule's `path` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RulePath {
    /// The node; none for `/`, which is everything in a datastore.
    pub(super) target: Option<NodeId>,
    /// The lists and leaf-lists on the way of which not all entries are meant.
    pub(super) entries: Vec<Entries>,
}

/// Those entries of a list or leaf-list that have certain keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entries {
    pub(super) list: NodeId,
    /// Positions among the keys, and what stands there.
    keys: Vec<(usize, Wanted)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    Value(Value),
    /// The variable `$USER`.
    User,
}

impl RulePath {
    /// Does `trail`, which leads to the target or below it, lead through entries that are meant? Not known where it
    /// does not say which entry.
    pub(super) fn meets(&self, trail: &[Step], user: &str) -> Option<bool> {
        let mut known = true;
        for entries in &self.entries {
            let step = trail.iter().find(|step| step.node == entries.list);
            match step.and_then(|step| step.key.as_ref()) {
                Some(key) if entries.contain(key, user) => {}
                Some(_) => return Some(false),
                None => known = false,
            }
        }
        known.then_some(true)
    }
}

impl Entries {
    fn contain(&self, key: &Key, user: &str) -> bool {
        let values = key.values();
        self.keys.iter().all(|(at, wanted)| match (values.get(*at), wanted) {
            (Some(value), Wanted::Value(wanted)) => value == wanted,
            (Some(value), Wanted::User) => value.as_str() == Some(user),
            (None, _) => false,
        })
    }

    /// The only key that is meant, if there is only one.
    pub(super) fn only(&self, schema: &Schema, user: &str) -> Option<Key> {
        let count = schema.list_keys(self.list).len().max(1);
        let value = |at: usize| {
            let (_, wanted) = self.keys.iter().find(|(key, _)| *key == at)?;
            match wanted {
                Wanted::Value(value) => Some(value.clone()),
                Wanted::User => Some(Value::String(user.into())),
            }
        };
        (0..count).map(value).collect::<Option<Vec<_>>>().map(Key::new)
    }
}

/// Reads the canonical form: names are qualified by module names, at least where the module changes.
///
/// # Errors
/// Which step the schema or the grammar does not know.
pub(super) fn parse(schema: &Schema, text: &str) -> Result<RulePath, String> {
    let mut path = RulePath { target: None, entries: Vec::new() };
    if text.trim() == "/" {
        return Ok(path);
    }
    let mut parser = Parser { schema, rest: text.trim(), module: None };
    while !parser.rest.is_empty() {
        parser.expect("/")?;
        let (module, name) = parser.name()?;
        let found =
            schema.module_by_name(&module).and_then(|module| schema.child(path.target, module, &name));
        let node = found.filter(|node| may_be_named(schema, *node));
        let Some(node) = node else {
            return Err(format!("the schema has no '{module}:{name}' here; '/' would mean everything"));
        };
        let mut keys = Vec::new();
        while parser.eat("[") {
            keys.push(parser.predicate(node)?);
        }
        path.target = Some(node);
        if !keys.is_empty() {
            path.entries.push(Entries { list: node, keys });
        }
    }
    if path.target.is_some() { Ok(path) } else { Err("a path is needed, such as '/'".to_owned()) }
}

/// Data nodes, and the actions and notifications that are tied to them.
fn may_be_named(schema: &Schema, node: NodeId) -> bool {
    let tied = schema.data_parent(node).is_some();
    match schema.node(node).kind {
        NodeKind::Container { .. }
        | NodeKind::List { .. }
        | NodeKind::Leaf { .. }
        | NodeKind::LeafList { .. }
        | NodeKind::Anydata { .. }
        | NodeKind::Anyxml { .. } => true,
        NodeKind::Action { .. } | NodeKind::Notification => tied,
        NodeKind::Choice { .. }
        | NodeKind::Case
        | NodeKind::Rpc { .. }
        | NodeKind::Input
        | NodeKind::Output => false,
    }
}

struct Parser<'a> {
    schema: &'a Schema,
    rest: &'a str,
    /// That of the name before.
    module: Option<String>,
}

impl Parser<'_> {
    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(format!("expected '{token}' before '{}'", self.shown())) }
    }

    fn shown(&self) -> String {
        self.rest.chars().take(32).collect()
    }

    /// A name with the module that it has or inherits.
    fn name(&mut self) -> Result<(String, String), String> {
        self.rest = self.rest.trim_start();
        let ends = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'));
        let (word, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        let (module, name) = match word.split_once(':') {
            Some((module, name)) => (Some(module.to_owned()), name),
            None => (self.module.clone(), word),
        };
        match module {
            Some(module) if !name.is_empty() => {
                self.rest = rest;
                self.module = Some(module.clone());
                Ok((module, name.to_owned()))
            }
            Some(_) | None => Err(format!("expected a name with its module before '{}'", self.shown())),
        }
    }

    /// `name='value']`, `.='value']` or `1]` of an entry of `node`.
    fn predicate(&mut self, node: NodeId) -> Result<(usize, Wanted), String> {
        let keys = self.schema.list_keys(node);
        let module = self.module.clone();
        self.rest = self.rest.trim_start();
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let wanted = if digits > 0 {
            let (position, rest) = self.rest.split_at(digits);
            let position: u64 = position.parse().map_err(|_| "a position too large".to_owned())?;
            let from_0 = position.checked_sub(1).ok_or("positions start at 1")?;
            self.rest = rest;
            if !matches!(self.schema.node(node).kind, NodeKind::List { .. }) || !keys.is_empty() {
                return Err("entries of this node are named by keys, not by positions".to_owned());
            }
            (0, Wanted::Value(Value::Uint64(from_0)))
        } else if self.rest.starts_with('.') {
            self.expect(".")?;
            (0, self.wanted(node)?)
        } else {
            let (of, name) = self.name()?;
            let of = self.schema.module_by_name(&of);
            let key = of.and_then(|of| self.schema.child(Some(node), of, &name));
            let at = keys.iter().position(|id| Some(*id) == key);
            let (Some(at), Some(key)) = (at, key) else { return Err(format!("'{name}' is no key here")) };
            (at, self.wanted(key)?)
        };
        self.module = module;
        self.expect("]")?;
        Ok(wanted)
    }

    fn wanted(&mut self, leaf: NodeId) -> Result<Wanted, String> {
        self.expect("=")?;
        if self.eat("$USER") {
            return Ok(Wanted::User);
        }
        let text = if self.eat("concat(") {
            let mut text = self.quoted()?;
            while self.eat(",") {
                text.push_str(&self.quoted()?);
            }
            self.expect(")")?;
            text
        } else {
            self.quoted()?
        };
        let Some(ty) = self.schema.leaf_type(leaf) else {
            return Err("only entries of leaf-lists are named by '.'".to_owned());
        };
        let value = Value::parse_text(self.schema, ty, self.schema.node(leaf).module, &text);
        value.map(Wanted::Value).map_err(|error| error.message)
    }

    fn quoted(&mut self) -> Result<String, String> {
        self.rest = self.rest.trim_start();
        let quote = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let body = quote.and_then(|quote| self.rest.get(1..)?.split_once(quote));
        let Some((text, rest)) = body else {
            return Err(format!("expected a quoted value or $USER before '{}'", self.shown()));
        };
        self.rest = rest;
        Ok(text.to_owned())
    }
}
