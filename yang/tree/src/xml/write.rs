//! Data to XML, piece by piece.
//!
//! Nothing recurses: where the writer stands is a stack of its own, so it can stop after any piece and go on when the
//! next one is wanted, and a reader that is slow holds one piece and not the whole text.

use super::{ORIGIN, WITH_DEFAULTS, escape, escape_attribute};
use crate::path::{InstancePath, Key, xml_identity};
use crate::schema::{ModuleId, NodeId, Schema};
use crate::tree::{Branch, Child, Data, Entries, Tree};
use crate::value::{Value, xpath};
use crate::view::Defaults;
use crate::view::defaults::{Place, level};
use crate::view::extent::{Extent, keys_of};
use crate::view::origin::{Origin, container_of, entry_origin, list_of, origin_of};
use crate::view::trail::step;
use std::borrow::{Borrow, Cow};
use std::fmt::Write;
use std::num::NonZeroU16;
use std::sync::Arc;

/// A piece is handed out when it has grown to so many bytes; what does not divide, such as one long value, adds to it.
pub const PIECE: usize = 16 << 10;

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
            buffer: String::new(),
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
        let (text, modules) = value_text(schema, value);
        for module in modules {
            declare(&mut self.buffer, schema.prefix(module), &schema.module(module).namespace);
        }
        if text.is_empty() {
            self.buffer.push_str("/>");
            return;
        }
        self.buffer.push('>');
        escape(&mut self.buffer, &text);
        close(&mut self.buffer, schema, id);
    }

    /// `<name xmlns="…" …` without the closing bracket.
    fn open(&mut self, id: NodeId, outer: Option<ModuleId>, notes: Notes) {
        let schema = self.schema.borrow();
        let node = schema.node(id);
        self.buffer.push('<');
        self.buffer.push_str(&node.name);
        if outer != Some(node.module) {
            self.buffer.push_str(" xmlns=\"");
            escape_attribute(&mut self.buffer, &schema.module(node.module).namespace);
            self.buffer.push('"');
        }
        if notes.default && self.tagged {
            declare(&mut self.buffer, "wd", WITH_DEFAULTS);
            self.buffer.push_str(" wd:default=\"true\"");
        }
        if let Some(origin) = notes.origin {
            declare(&mut self.buffer, "or", ORIGIN);
            // A String takes everything.
            let _ = write!(self.buffer, " or:origin=\"or:{}\"", origin.name());
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
    buffer.push_str("</");
    buffer.push_str(&schema.node(id).name);
    buffer.push('>');
}

fn declare(buffer: &mut String, prefix: &str, namespace: &str) {
    buffer.push_str(" xmlns:");
    buffer.push_str(prefix);
    buffer.push_str("=\"");
    escape_attribute(buffer, namespace);
    buffer.push('"');
}

/// The text of a value and the modules whose prefixes it uses.
fn value_text<'a>(schema: &Schema, value: &'a Value) -> (Cow<'a, str>, Vec<ModuleId>) {
    match value {
        Value::Identity(name) => match xml_identity(schema, name) {
            Some((module, text)) => (text.into(), vec![module]),
            None => (Cow::Borrowed(name), Vec::new()),
        },
        Value::Instance(path) => {
            let (text, modules) = match InstancePath::parse(schema, path) {
                Ok(path) => path.render_xml(schema),
                Err(_) => xpath::prefixed(schema, path),
            };
            (text.into(), modules)
        }
        Value::String(text) | Value::Enum(text) | Value::Bits(text) | Value::Binary(text) => {
            (Cow::Borrowed(text), Vec::new())
        }
        Value::Bool(value) => (Cow::Borrowed(if *value { "true" } else { "false" }), Vec::new()),
        Value::Empty => (Cow::Borrowed(""), Vec::new()),
        Value::Int32(_) | Value::Uint32(_) | Value::Int64(_) | Value::Uint64(_) | Value::Decimal64 { .. } => {
            (value.to_string().into(), Vec::new())
        }
    }
}
