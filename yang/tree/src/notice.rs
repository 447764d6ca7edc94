//! Notifications (RFC 7950 section 7.16): what a server tells unasked.
//!
//! In a tree a notification is its schema node, as a container is, at the top or below the instance that it belongs to
//! (section 7.16.2). So subtree filters and XPath find it where its readers look for it, and the writers of data write
//! it. What is in it is neither configuration nor state: it is kept by itself and never stored in a datastore.

use crate::edit::edit;
use crate::error::{Error, ErrorTag};
use crate::json;
use crate::ops::json as json_in;
use crate::ops::{Ops, Stage};
use crate::path::{InstancePath, Step};
use crate::schema::{NodeId, NodeKind, Schema};
use crate::tree::{Branch, Child, Data, Entries, Found, Part, Tree};
use crate::value::Value;
use crate::view::{Defaults, Subtree, view};
use crate::xml::escape;
use crate::xpath::{Accessible, Budget, Evaluation, Expr, XPathError};
use serde_json::Value as Json;
use std::sync::Arc;

/// The namespace of `<notification>` (RFC 5277 section 4).
pub const NOTIFICATION: &str = "urn:ietf:params:xml:ns:netconf:notification:1.0";

/// One notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Nothing but the notification, what stands above it and the keys on the way.
    tree: Tree,
    /// Where it stands in there.
    path: InstancePath,
}

impl Notice {
    /// The notification `notification` of the instance `above`, the root for one of the top level, with `content`, which
    /// is its object in RFC 7951. Entries without a key are named by their position in the array.
    ///
    /// # Errors
    /// When `notification` is none of a node at `above`, or the content is not what the schema says. What is missing is
    /// not looked for.
    pub fn from_json(
        schema: &Schema,
        notification: NodeId,
        above: &InstancePath,
        content: &Json,
    ) -> Result<Self, Vec<Error>> {
        let fits = schema.node(notification).kind == NodeKind::Notification
            && schema.data_parent(notification) == above.node();
        if !fits {
            let what = format!("'{}' is no notification of this place", schema.node(notification).name);
            return Err(vec![Error::application(ErrorTag::BadElement, what).at(above.render(schema))]);
        }
        let mut path = above.clone();
        path.steps.push(Step { node: notification, key: None });
        let nodes = json_in::read_parameters(schema, notification, path.clone(), content)?;
        let ops = Ops { steps: vec![Stage { replace_all: false, nodes }] };
        let content = edit(&Tree::new(), schema, ops)?.root().clone();
        Ok(Self { tree: Tree::from_root(standing(schema, &above.steps, notification, content)), path })
    }

    /// A notification of the top level by the name of its module and its own.
    ///
    /// # Errors
    /// As [`Notice::from_json`].
    pub fn named(schema: &Schema, (module, name): (&str, &str), content: &Json) -> Result<Self, Vec<Error>> {
        let found = schema.module_by_name(module).and_then(|module| schema.child(None, module, name));
        match found {
            Some(node) => Self::from_json(schema, node, &InstancePath::default(), content),
            None => {
                let what = format!("there is no notification '{module}:{name}'");
                Err(vec![Error::application(ErrorTag::UnknownElement, what)])
            }
        }
    }

    /// Its schema node.
    pub fn notification(&self) -> NodeId {
        // It has one step at least.
        self.path.node().unwrap_or(NodeId(u32::MAX))
    }

    /// Where it stands: its own node is the last step, what it belongs to are those before.
    pub fn path(&self) -> &InstancePath {
        &self.path
    }

    /// What it belongs to; the root for one of the top level.
    pub fn above(&self) -> InstancePath {
        InstancePath { steps: self.path.steps.split_last().map_or(&[][..], |(_, above)| above).to_vec() }
    }

    /// It as data, and nothing else.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What is in it.
    pub fn content(&self) -> Arc<Branch> {
        match self.tree.find(&self.path) {
            Some(Found::Branch(content)) => Arc::clone(content),
            Some(Found::Leaf(_) | Found::List(_) | Found::LeafList(_) | Found::Any(_)) | None => {
                Arc::default()
            }
        }
    }

    /// The same with `content`, a part of what is in it.
    #[must_use]
    pub fn with_content(&self, schema: &Schema, content: Arc<Branch>) -> Self {
        let root = standing(schema, &self.above().steps, self.notification(), content);
        Self { tree: Tree::from_root(root), path: self.path.clone() }
    }

    /// Does a subtree filter select anything of it?
    pub fn meets(&self, schema: &Schema, filter: &Subtree) -> bool {
        let selected = view(&self.tree, schema, Defaults::Explicit).filter(filter).tree();
        matches!(selected.find(&self.path), Some(Found::Branch(_)))
    }

    /// Does an expression hold of it, with the root as context? Of a node-set, that is whether there is any node. Its
    /// names must have been read in a scope of notifications ([`crate::xpath::Scope::of_notices`]).
    ///
    /// # Errors
    /// When it takes more steps than the budget has, and what else only data show.
    pub fn satisfies(
        &self,
        schema: &Schema,
        expression: &Expr,
        budget: &mut Budget,
    ) -> Result<bool, XPathError> {
        let mut evaluation = Evaluation::new(schema, &self.tree, Accessible::Stored);
        let root = evaluation.root();
        expression.holds(&mut evaluation, root, budget)
    }

    /// Without the places that `may` says no to, of those that its values name: such a value goes, and of a list the
    /// entry that it stands in. None when a list in it loses all its entries by that: it tells of nothing else.
    #[must_use]
    pub fn telling(&self, schema: &Schema, may: &dyn Fn(&InstancePath) -> bool) -> Option<Self> {
        let mut teller = Teller { schema, may, emptied: false };
        let content = self.content();
        let told = teller.branch(&content);
        (!teller.emptied).then(|| match Arc::ptr_eq(&told, &content) {
            true => self.clone(),
            false => self.with_content(schema, told),
        })
    }

    /// The element `<notification>` that carries it: RFC 5277 section 4.
    pub fn to_xml(&self, schema: &Schema, event_time: &str) -> String {
        let mut out = format!("<notification xmlns=\"{NOTIFICATION}\"><eventTime>");
        escape(&mut out, event_time);
        out.push_str("</eventTime>");
        // A String takes everything.
        let _ = view(&self.tree, schema, Defaults::Explicit).write_xml(&mut out);
        out.push_str("</notification>");
        out
    }

    /// What is in it as an object of RFC 7951, which [`Notice::from_json`] reads.
    pub fn to_json(&self, schema: &Schema) -> Json {
        json::branch(schema, &self.content(), Some(self.notification()))
    }
}

/// A root with `notification` at the end of `steps`.
fn standing(schema: &Schema, steps: &[Step], notification: NodeId, content: Arc<Branch>) -> Arc<Branch> {
    let mut root = Branch::default();
    let Some((step, rest)) = steps.split_first() else {
        root.put(Child { id: notification, default: false, presence: true, data: Data::Container(content) });
        return Arc::new(root);
    };
    let mut inner = standing(schema, rest, notification, content);
    let data = match &step.key {
        None => Data::Container(inner),
        Some(key) => {
            let entry = Arc::make_mut(&mut inner);
            for (leaf, value) in schema.list_keys(step.node).iter().zip(key.values()) {
                entry.set(*leaf, Data::Leaf(value.clone()));
            }
            let mut entries = Entries::new(schema.is_user_ordered(step.node));
            entries.set(key.clone(), inner);
            Data::List(Arc::new(entries))
        }
    };
    root.set(step.node, data);
    Arc::new(root)
}

/// Leaves out what names other places.
struct Teller<'a> {
    schema: &'a Schema,
    may: &'a dyn Fn(&InstancePath) -> bool,
    /// A list has lost all its entries.
    emptied: bool,
}

impl Teller<'_> {
    fn branch(&mut self, branch: &Arc<Branch>) -> Arc<Branch> {
        branch.parts(|_, data| match data {
            Data::Leaf(value) => match self.tells(value) {
                true => Part::Whole,
                false => Part::Nothing,
            },
            Data::Any(_) => Part::Whole,
            Data::Container(inner) => {
                let told = self.branch(inner);
                match Arc::ptr_eq(&told, inner) {
                    true => Part::Whole,
                    false => Part::Less(Data::Container(told)),
                }
            }
            Data::LeafList(entries) => {
                let part = entries.parts(|_, value| match self.tells(value) {
                    true => Part::Whole,
                    false => Part::Nothing,
                });
                self.of(part, Data::LeafList)
            }
            Data::List(entries) => {
                let part = entries.parts(|_, entry| self.entry(entry));
                self.of(part, Data::List)
            }
        })
    }

    fn entry(&mut self, entry: &Arc<Branch>) -> Part<Arc<Branch>> {
        let named = entry.iter().filter_map(|(_, data)| match data {
            Data::Leaf(value) => Some(value),
            Data::Container(_) | Data::List(_) | Data::LeafList(_) | Data::Any(_) => None,
        });
        let hidden = named.into_iter().any(|value| !self.tells(value));
        if hidden {
            return Part::Nothing;
        }
        let told = self.branch(entry);
        if Arc::ptr_eq(&told, entry) { Part::Whole } else { Part::Less(told) }
    }

    fn of<T>(&mut self, part: Part<T>, make: impl FnOnce(T) -> Data) -> Part<Data> {
        match part {
            Part::Whole => Part::Whole,
            Part::Less(less) => Part::Less(make(less)),
            Part::Nothing => {
                self.emptied = true;
                Part::Nothing
            }
        }
    }

    fn tells(&self, value: &Value) -> bool {
        match value {
            // An expression that is no path tells of no place.
            Value::Instance(path) => {
                InstancePath::parse(self.schema, path).map_or(true, |path| (self.may)(&path))
            }
            Value::Binary(_)
            | Value::Bits(_)
            | Value::Bool(_)
            | Value::Decimal64 { .. }
            | Value::Empty
            | Value::Enum(_)
            | Value::Identity(_)
            | Value::Int32(_)
            | Value::Int64(_)
            | Value::String(_)
            | Value::Uint32(_)
            | Value::Uint64(_) => true,
        }
    }
}
