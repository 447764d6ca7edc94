//! Data to XML, piece by piece.
//!
//! Nothing recurses: where the writer stands is a stack of its own, so it can stop after any piece and go on when the
//! next one is wanted, and a reader that is slow holds one piece and not the whole text.

use super::{ORIGIN, WITH_DEFAULTS, escape};
use crate::path::{InstancePath, Key, identity_parts};
use crate::schema::{ModuleId, NodeId, Schema};
use crate::tree::{Branch, Child, Data, Entries, Tree};
use crate::value::{Value, xpath};
use crate::view::Defaults;
use crate::view::defaults::{Place, level};
use crate::view::extent::{Extent, keys_of};
use crate::view::origin::{Origin, container_of, entry_origin, list_of, origin_of};
use crate::view::trail::step;
use std::borrow::Borrow;
use std::fmt::Write;
use std::num::NonZeroU16;
use std::sync::Arc;

/// A piece is handed out when it has grown to so many bytes; what does not divide, such as one long value, adds to it.
pub const PIECE: usize = 16 << 10;

/// The room that the text has at first.
const SHORT: usize = 2 << 10;

/// So many entries of a list are taken from it at a time.
const BATCH: usize = 64;

/// What is written.
pub(crate) struct Written {
    pub(crate) tree: Tree,
    /// Defaults that are still to be added or left out.
    pub(crate) defaults: Defaults,
    /// The levels that are still to be cut.
    pub(crate) depth: Option<NonZeroU16>,
    /// Tag defaults as RFC 6243 section 6 has it.
    pub(crate) tagged: bool,
    /// Say where configuration comes from, when this is what was intended (RFC 8342 section 5.3.4).
    pub(crate) intended: Option<Tree>,
}

/// XML text in pieces of about [`PIECE`] bytes. Each top-level element declares its namespace.
pub struct Pieces<S> {
    schema: S,
    source: Tree,
    defaults: Defaults,
    tagged: bool,
    with_origin: bool,
    buffer: String,
    stack: Vec<Frame>,
}

/// A node whose start tag is written and whose end tag is not.
struct Frame {
    /// The element that is closed at the end; none for the top and for lists.
    closes: Option<NodeId>,
    /// What is left of it.
    rest: Rest,
    /// The module whose namespace is the default one.
    module: Option<ModuleId>,
    depth: Option<NonZeroU16>,
    /// The origin that its children have if they say none.
    origin: Option<Origin>,
}

enum Rest {
    Children {
        branch: Arc<Branch>,
        /// The order in which they are written, where that is another one than in the branch.
        order: Option<Arc<[usize]>>,
        next: usize,
        /// The same place of what was intended.
        intended: Option<Arc<Branch>>,
    },
    List {
        id: NodeId,
        entries: Arc<Entries<Arc<Branch>>>,
        intended: Option<Arc<Entries<Arc<Branch>>>>,
        /// How many were taken.
        taken: usize,
        batch: std::vec::IntoIter<(Key, Arc<Branch>)>,
    },
    LeafList {
        id: NodeId,
        entries: Arc<Entries<Value>>,
        intended: Option<Arc<Entries<Value>>>,
        default: bool,
        taken: usize,
    },
}

/// What an element takes from the one around it.
#[derive(Clone, Copy)]
struct Around {
    module: Option<ModuleId>,
    depth: Option<NonZeroU16>,
    origin: Option<Origin>,
}

/// What an element says of itself besides its name.
#[derive(Clone, Copy, Default)]
struct Notes {
    default: bool,
    origin: Option<Origin>,
}

impl<S: Borrow<Schema>> Pieces<S> {
    pub(crate) fn new(schema: S, written: Written) -> Self {
        let mut pieces = Self {
            schema,
            source: written.tree,
            defaults: written.defaults,
            tagged: written.tagged,
            with_origin: written.intended.is_some(),
            buffer: String::with_capacity(SHORT),
            stack: Vec::new(),
        };
        let intended = written.intended.map(|tree| tree.root);
        let rest = pieces.inside(None, &pieces.source.root, intended);
        pieces.stack.push(Frame { closes: None, rest, module: None, depth: written.depth, origin: None });
        pieces
    }

    /// The children of a branch as they are to be written.
    fn inside(&self, parent: Option<NodeId>, branch: &Arc<Branch>, intended: Option<Arc<Branch>>) -> Rest {
        let schema = self.schema.borrow();
        let path = || self.path(parent, branch);
        let place = Place { schema, source: &self.source, path: &path };
        let branch = level(place, parent, branch, self.defaults);
        let order = branch.order(schema, parent).map(Arc::from);
        Rest::Children { branch, order, next: 0, intended }
    }

    /// The path of a branch that is about to be entered.
    fn path(&self, node: Option<NodeId>, branch: &Branch) -> InstancePath {
        let schema = self.schema.borrow();
        let entered = self.stack.iter().filter_map(|frame| match (&frame.rest, frame.closes) {
            (Rest::Children { branch, .. }, Some(node)) => Some(step(schema, node, branch)),
            _ => None,
        });
        let steps = entered.chain(node.map(|node| step(schema, node, branch))).collect();
        InstancePath { steps }
    }

    /// Writes the next bit; false at the end.
    fn step(&mut self) -> bool {
        let Some(frame) = self.stack.last_mut() else { return false };
        let around = Around { module: frame.module, depth: frame.depth, origin: frame.origin };
        match &mut frame.rest {
            Rest::Children { branch, order, next, intended } => {
                let (branch, order, intended) = (branch.clone(), order.clone(), intended.clone());
                let from = *next;
                self.children(&branch, order.as_deref(), from, intended.as_deref(), around);
            }
            Rest::List { id, entries, intended, taken, batch } => {
                if batch.len() == 0 {
                    let more = entries.iter_at(*taken).take(BATCH);
                    let more: Vec<_> = more.map(|(key, entry)| (key.clone(), entry.clone())).collect();
                    *taken += more.len();
                    *batch = more.into_iter();
                }
                let Some((key, entry)) = batch.next() else { return self.leave() };
                let (id, there) = (*id, intended.as_ref().and_then(|there| there.get(&key)).cloned());
                let own = self.with_origin.then(|| entry_origin(false, there.is_some()));
                self.branch(id, &entry, there, own, around);
            }
            Rest::LeafList { id, entries, intended, default, taken } => {
                let (id, default, there) = (*id, *default, intended.clone());
                let more = entries.iter_at(*taken).take(BATCH);
                let more: Vec<_> = more.map(|(key, value)| (key.clone(), value.clone())).collect();
                *taken += more.len();
                if more.is_empty() {
                    return self.leave();
                }
                for (key, value) in more {
                    let there = there.as_ref().is_some_and(|there| there.get(&key).is_some());
                    let own = self.with_origin.then(|| entry_origin(default, there));
                    let origin = self.said(id, own, around.origin);
                    self.leaf(id, &value, around.module, Notes { default, origin });
                }
            }
        }
        true
    }

    /// Writes children from `from` on: leafs one after the other, and of anything else the begin.
    fn children(
        &mut self,
        branch: &Branch,
        order: Option<&[usize]>,
        from: usize,
        intended: Option<&Branch>,
        around: Around,
    ) {
        let mut at = from;
        loop {
            let place = order.map_or(Some(at), |order| order.get(at).copied());
            let Some(child) = place.and_then(|place| branch.children.get(place)) else {
                self.leave();
                return;
            };
            at += 1;
            let leaf = matches!(child.data, Data::Leaf(_));
            if !leaf || self.buffer.len() >= PIECE {
                // Kept before the child is begun, which puts a frame of its own on top.
                if let Some(Frame { rest: Rest::Children { next, .. }, .. }) = self.stack.last_mut() {
                    *next = at;
                }
                return self.child(child, intended, around);
            }
            self.child(child, intended, around);
        }
    }

    /// The origin of an element, if it must be said: that of configuration, where it is not the one of the parent.
    fn said(&self, id: NodeId, own: Option<Origin>, inherited: Option<Origin>) -> Option<Origin> {
        own.filter(|own| self.schema.borrow().node(id).config && Some(*own) != inherited)
    }

    /// Writes the end of what was entered last.
    fn leave(&mut self) -> bool {
        if let Some(Frame { closes: Some(id), .. }) = self.stack.pop() {
            close(&mut self.buffer, self.schema.borrow(), id);
        }
        true
    }

    fn child(&mut self, child: &Child, intended: Option<&Branch>, around: Around) {
        let Around { module, origin, .. } = around;
        let id = child.id;
        let (own, there) = match self.with_origin {
            true => {
                let (own, there) = origin_of(child, intended);
                (Some(own), there)
            }
            false => (None, None),
        };
        match &child.data {
            Data::Leaf(value) => {
                let notes = Notes { default: child.default, origin: self.said(id, own, origin) };
                self.leaf(id, value, module, notes);
            }
            Data::Any(text) => {
                let notes = Notes { default: false, origin: self.said(id, own, origin) };
                self.open(id, module, notes);
                self.buffer.push('>');
                self.buffer.push_str(text);
                close(&mut self.buffer, self.schema.borrow(), id);
            }
            Data::Container(inner) => {
                let there = container_of(there).cloned();
                self.branch(id, inner, there, own, around);
            }
            Data::List(entries) => {
                let (entries, intended) = (entries.clone(), list_of(there).cloned());
                self.many(
                    Rest::List { id, entries, intended, taken: 0, batch: Vec::new().into_iter() },
                    around,
                );
            }
            Data::LeafList(entries) => {
                let intended = match there {
                    Some(Data::LeafList(there)) => Some(there.clone()),
                    _ => None,
                };
                let (entries, default) = (entries.clone(), child.default);
                self.many(Rest::LeafList { id, entries, intended, default, taken: 0 }, around);
            }
        }
    }

    /// Stands before entries.
    fn many(&mut self, rest: Rest, Around { module, depth, origin }: Around) {
        self.stack.push(Frame { closes: None, rest, module, depth, origin });
    }

    /// The begin of a container or an entry; all of it, if it is empty.
    fn branch(
        &mut self,
        id: NodeId,
        inner: &Arc<Branch>,
        there: Option<Arc<Branch>>,
        own: Option<Origin>,
        around: Around,
    ) {
        let schema = self.schema.borrow();
        let module = schema.node(id).module;
        let (source, defaults) = (&self.source, self.defaults);
        let below = Extent { schema, source, defaults, depth: around.depth }.below();
        let rest = match &below {
            Some(_) => self.inside(Some(id), inner, there),
            // Keys have no defaults: they are as they were stored.
            None => self.inside(Some(id), &keys_of(schema, id, inner), there),
        };
        let depth = below.and_then(|below| below.depth);
        let origin = self.said(id, own, around.origin);
        self.open(id, around.module, Notes { default: false, origin });
        if matches!(&rest, Rest::Children { branch, .. } if branch.is_empty()) {
            self.buffer.push_str("/>");
            return;
        }
        self.buffer.push('>');
        let origin = origin.or(around.origin);
        self.stack.push(Frame { closes: Some(id), rest, module: Some(module), depth, origin });
    }

    fn leaf(&mut self, id: NodeId, value: &Value, outer: Option<ModuleId>, notes: Notes) {
        self.open(id, outer, notes);
        let schema = self.schema.borrow();
        let text = Text::of(schema, value);
        let declared = text.modules().iter().filter_map(|module| schema.tags().namespace(*module));
        declared.for_each(|namespace| self.buffer.push_str(&namespace.prefixed));
        if text.is_empty() {
            self.buffer.push_str("/>");
            return;
        }
        self.buffer.push('>');
        text.write(&mut self.buffer, schema);
        close(&mut self.buffer, schema, id);
    }

    /// `<name xmlns="…" …` without the closing bracket.
    fn open(&mut self, id: NodeId, outer: Option<ModuleId>, notes: Notes) {
        let schema = self.schema.borrow();
        let (module, tags) = (schema.node(id).module, schema.tags());
        self.buffer.push_str(tags.name(id).0);
        if outer != Some(module) {
            self.buffer.push_str(tags.namespace(module).map_or("", |namespace| &namespace.default));
        }
        // A String takes everything.
        if notes.default && self.tagged {
            let _ = write!(self.buffer, " xmlns:wd=\"{WITH_DEFAULTS}\" wd:default=\"true\"");
        }
        if let Some(origin) = notes.origin {
            let _ = write!(self.buffer, " xmlns:or=\"{ORIGIN}\" or:origin=\"or:{}\"", origin.name());
        }
    }
}

impl<S: Borrow<Schema>> Iterator for Pieces<S> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        while self.buffer.len() < PIECE && self.step() {}
        if self.buffer.is_empty() {
            return None;
        }
        let room = if self.stack.is_empty() { 0 } else { PIECE + PIECE / 8 };
        Some(std::mem::replace(&mut self.buffer, String::with_capacity(room)))
    }
}

fn close(buffer: &mut String, schema: &Schema, id: NodeId) {
    buffer.push_str(schema.tags().name(id).1);
}

/// The text of a value.
enum Text<'a> {
    /// To be escaped.
    Plain(&'a str),
    /// A name behind the prefix of its module.
    Name(ModuleId, &'a str),
    /// Names in a path or an expression, behind the prefixes of these modules.
    Path(String, Vec<ModuleId>),
    /// A number.
    Number(&'a Value),
}

impl<'a> Text<'a> {
    fn of(schema: &Schema, value: &'a Value) -> Self {
        match value {
            Value::Identity(name) => match identity_parts(schema, name) {
                Some((module, name)) => Text::Name(module, name),
                None => Text::Plain(name),
            },
            Value::Instance(path) => {
                let (text, modules) = match InstancePath::parse(schema, path) {
                    Ok(path) => path.render_xml(schema),
                    Err(_) => xpath::prefixed(schema, path),
                };
                Text::Path(text, modules)
            }
            Value::String(text) | Value::Enum(text) | Value::Bits(text) | Value::Binary(text) => {
                Text::Plain(text)
            }
            Value::Bool(value) => Text::Plain(if *value { "true" } else { "false" }),
            Value::Empty => Text::Plain(""),
            Value::Int32(_)
            | Value::Uint32(_)
            | Value::Int64(_)
            | Value::Uint64(_)
            | Value::Decimal64 { .. } => Text::Number(value),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Text::Plain(text) => text.is_empty(),
            Text::Path(text, _) => text.is_empty(),
            Text::Name(..) | Text::Number(_) => false,
        }
    }

    /// The modules whose prefixes it uses.
    fn modules(&self) -> &[ModuleId] {
        match self {
            Text::Name(module, _) => std::slice::from_ref(module),
            Text::Path(_, modules) => modules,
            Text::Plain(_) | Text::Number(_) => &[],
        }
    }

    fn write(&self, buffer: &mut String, schema: &Schema) {
        match self {
            Text::Plain(text) => escape(buffer, text),
            Text::Name(module, name) => {
                buffer.push_str(schema.prefix(*module));
                buffer.push(':');
                escape(buffer, name);
            }
            Text::Path(text, _) => escape(buffer, text),
            Text::Number(value) => {
                // A String takes everything.
                let _ = write!(buffer, "{value}");
            }
        }
    }
}
