//! Applying [`Ops`] to a [`Tree`].

mod merge;
mod share;

use share::share;

use crate::error::{Error, ErrorInfo, ErrorTag, Errors};
use crate::ops::{Content, Op, Operation, Ops};
use crate::path::{InstancePath, Key};
use crate::schema::{NodeId, Schema};
use crate::tree::{Branch, Child, Data, Entries, Place, Tree};
use crate::value::Value;
use std::sync::Arc;

/// The tree after `ops`. What an operation leaves as it was keeps its old nodes, so an edit without effect gives
/// the same tree. Creating a node of one case deletes those of the others. Whether the result is valid as a
/// whole is not asked here: see [`crate::validate()`].
///
/// # Errors
/// Every operation that cannot be done, in document order; the tree is then as it was.
pub fn edit(tree: &Tree, schema: &Schema, ops: Ops) -> Result<Tree, Vec<Error>> {
    let mut editor = Editor::new(schema, true);
    let root = editor.root(tree, ops);
    if editor.errors.is_empty() { Ok(Tree::from_root(root)) } else { Err(editor.errors.into_vec()) }
}

/// What [`edit`] would refuse of the readable part of an edit that has errors by itself. An entry to insert at is none of
/// it, as the unreadable part may have it.
pub fn refusals(tree: &Tree, schema: &Schema, readable: Ops) -> Vec<Error> {
    let mut editor = Editor::new(schema, false);
    editor.root(tree, readable);
    editor.errors.into_vec()
}

struct Editor<'s> {
    schema: &'s Schema,
    /// Is this all that the edit asks for?
    is_whole: bool,
    errors: Errors,
    trail: InstancePath,
}

impl<'s> Editor<'s> {
    fn new(schema: &'s Schema, is_whole: bool) -> Self {
        Self { schema, is_whole, errors: Errors::default(), trail: InstancePath::default() }
    }

    fn root(&mut self, tree: &Tree, ops: Ops) -> Arc<Branch> {
        let mut root = tree.root.clone();
        for stage in ops.steps {
            root = match stage.replace_all {
                true => share(&root, self.branch(Arc::default(), stage.nodes)),
                false => self.branch(root, stage.nodes),
            };
        }
        root
    }
}

impl Editor<'_> {
    fn fail(&mut self, error: Error) {
        self.errors.push_with(|| error.at(self.trail.render(self.schema)));
    }

    fn missing(&mut self, node: NodeId) {
        let what = format!("'{}' does not exist", self.schema.node(node).name);
        self.fail(Error::application(ErrorTag::DataMissing, what));
    }

    /// Is `operation` possible on what exists or not? Otherwise the error is recorded, or nothing is to be done.
    fn allowed(&mut self, op: &Op, exists: bool) -> bool {
        match op.operation {
            Operation::None | Operation::Delete if !exists => {
                if !op.quiet {
                    self.missing(op.node);
                }
                false
            }
            Operation::Create if exists => {
                let what = format!("'{}' exists already", self.schema.node(op.node).name);
                self.fail(Error::application(ErrorTag::DataExists, what));
                false
            }
            Operation::Create if op.defaulted => false,
            Operation::Remove => exists,
            Operation::None
            | Operation::Merge
            | Operation::Replace
            | Operation::Create
            | Operation::Delete => true,
        }
    }

    /// `branch` after `ops`; the same Arc when nothing changed.
    fn branch(&mut self, mut branch: Arc<Branch>, ops: Vec<Op>) -> Arc<Branch> {
        for op in ops {
            self.trail.steps.push(op.step());
            self.apply(&mut branch, op);
            self.trail.steps.pop();
        }
        branch
    }

    fn apply(&mut self, branch: &mut Arc<Branch>, mut op: Op) {
        match std::mem::replace(&mut op.content, Content::All) {
            Content::Leaf(value) => self.leaf(branch, &op, value.map(Data::Leaf)),
            Content::Any(text) => self.leaf(branch, &op, Some(Data::Any(text))),
            Content::Container(children) => self.container(branch, &op, children),
            Content::Entry(key, children) => self.entry(branch, &op, key, children),
            Content::LeafListEntry(key, value) => self.leaf_list(branch, &op, key, value),
            Content::All => {
                let exists = branch.get(op.node).is_some();
                if self.allowed(&op, exists) && op.operation.deletes() {
                    Arc::make_mut(branch).unset(op.node);
                }
            }
        }
    }

    fn leaf(&mut self, branch: &mut Arc<Branch>, op: &Op, data: Option<Data>) {
        let old = branch.get(op.node);
        if !self.allowed(op, old.is_some()) {
            return;
        }
        if op.operation.deletes() {
            Arc::make_mut(branch).unset(op.node);
        } else if op.operation != Operation::None
            && let Some(data) = data
            && old != Some(&data)
        {
            if self.schema.is_key(op.node) && old.is_some() {
                let what = "a key does not change; delete the entry and create another";
                self.fail(Error::application(ErrorTag::InvalidValue, what));
                return;
            }
            store(self.schema, branch, op.node, data);
        }
    }

    fn container(&mut self, branch: &mut Arc<Branch>, op: &Op, children: Vec<Op>) {
        let old = match branch.get(op.node) {
            Some(Data::Container(inner)) => Some(inner.clone()),
            Some(Data::Leaf(_) | Data::List(_) | Data::LeafList(_) | Data::Any(_)) | None => None,
        };
        let implied = self.schema.is_non_presence(op.node);
        let led = op.operation == Operation::None && implied;
        if !led && !self.allowed(op, old.is_some()) {
            return;
        }
        if op.operation.deletes() {
            Arc::make_mut(branch).unset(op.node);
            return;
        }
        let base = old.clone().filter(|_| op.operation != Operation::Replace).unwrap_or_default();
        let mut new = self.branch(base, children);
        if let Some(old) = &old {
            if op.operation == Operation::Replace {
                new = share(old, new);
            }
            if Arc::ptr_eq(old, &new) {
                return;
            }
        }
        if implied && new.is_empty() {
            if old.is_some() {
                Arc::make_mut(branch).unset(op.node);
            }
            return;
        }
        store(self.schema, branch, op.node, Data::Container(new));
    }

    fn entry(&mut self, branch: &mut Arc<Branch>, op: &Op, key: Key, children: Vec<Op>) {
        let old = match branch.get(op.node) {
            Some(Data::List(entries)) => entries.get(&key).cloned(),
            Some(Data::Leaf(_) | Data::Container(_) | Data::LeafList(_) | Data::Any(_)) | None => None,
        };
        if !self.allowed(op, old.is_some()) {
            return;
        }
        if op.operation.deletes() {
            let Some(Data::List(entries)) = child_mut(branch, op.node) else { return };
            Arc::make_mut(entries).remove(&key);
            if entries.is_empty() {
                Arc::make_mut(branch).unset(op.node);
            }
            return;
        }
        let base = match &old {
            Some(old) if op.operation != Operation::Replace => old.clone(),
            Some(_) | None => Arc::new(self.keys_only(op.node, &key, children.len())),
        };
        let mut new = self.branch(base, children);
        if let Some(old) = old.as_ref().filter(|_| op.operation == Operation::Replace) {
            new = share(old, new);
        }
        if old.is_none_or(|old| !Arc::ptr_eq(&old, &new)) {
            if branch.get(op.node).is_none() {
                let entries = Entries::new(self.schema.is_user_ordered(op.node));
                store(self.schema, branch, op.node, Data::List(Arc::new(entries)));
            }
            if let Some(Data::List(entries)) = child_mut(branch, op.node) {
                Arc::make_mut(entries).set(key.clone(), new);
            }
        }
        if let (Some(place), Some(Data::List(entries))) = (&op.insert, child_mut(branch, op.node))
            && !entries.stands(&key, place)
            && !Arc::make_mut(entries).place(&key, place)
        {
            self.no_anchor(op.node, place, "key");
        }
    }

    /// An entry with its keys and room for `more` children, not more: there may be many such entries.
    fn keys_only(&self, list: NodeId, key: &Key, more: usize) -> Branch {
        let mut branch = Branch { children: Vec::with_capacity(key.values().len() + more) };
        for (id, value) in self.schema.list_keys(list).iter().zip(key.values()) {
            branch.set(*id, Data::Leaf(value.clone()));
        }
        branch
    }

    fn leaf_list(&mut self, branch: &mut Arc<Branch>, op: &Op, key: Key, value: Value) {
        let exists =
            matches!(branch.get(op.node), Some(Data::LeafList(entries)) if entries.get(&key).is_some());
        if !self.allowed(op, exists) {
            return;
        }
        if op.operation.deletes() {
            let Some(Data::LeafList(entries)) = child_mut(branch, op.node) else { return };
            Arc::make_mut(entries).remove(&key);
            if entries.is_empty() {
                Arc::make_mut(branch).unset(op.node);
            }
            return;
        }
        if !exists {
            if branch.get(op.node).is_none() {
                let entries = Entries::new(self.schema.is_user_ordered(op.node));
                store(self.schema, branch, op.node, Data::LeafList(Arc::new(entries)));
            }
            if let Some(Data::LeafList(entries)) = child_mut(branch, op.node) {
                Arc::make_mut(entries).set(key.clone(), value);
            }
        }
        if let (Some(place), Some(Data::LeafList(entries))) = (&op.insert, child_mut(branch, op.node))
            && !entries.stands(&key, place)
            && !Arc::make_mut(entries).place(&key, place)
        {
            self.no_anchor(op.node, place, "value");
        }
    }

    /// RFC 7950 section 15.7.
    fn no_anchor(&mut self, node: NodeId, place: &Place, attribute: &str) {
        if !self.is_whole {
            return;
        }
        let name = self.schema.node(node).name.clone();
        let what = match place {
            Place::Before(_) | Place::After(_) => {
                format!("the entry of '{name}' to insert at does not exist")
            }
            Place::First | Place::Last => format!("the entry of '{name}' cannot be placed"),
        };
        let error = Error::protocol(ErrorTag::BadAttribute, what).app_tag("missing-instance");
        let error = error.with(ErrorInfo::BadAttribute(attribute.to_owned()));
        self.fail(error.with(ErrorInfo::BadElement(name)));
    }
}

/// Sets a child; what stands in other cases of its choices goes (RFC 7950 section 7.9).
fn store(schema: &Schema, branch: &mut Arc<Branch>, node: NodeId, data: Data) {
    let branch = Arc::make_mut(branch);
    if schema.case_of(node).is_some() {
        let mine = cases(schema, node);
        branch.children.retain(|child| {
            let theirs = cases(schema, child.id);
            !theirs.iter().any(|(choice, case)| mine.iter().any(|(a, b)| a == choice && b != case))
        });
    }
    let presence = matches!(data, Data::Container(_)) && !schema.is_non_presence(node);
    branch.put(Child { id: node, default: false, presence, data });
}

/// The `(choice, case)` pairs that a data node stands in, inside out.
pub(crate) fn cases(schema: &Schema, node: NodeId) -> Vec<(NodeId, NodeId)> {
    std::iter::successors(schema.case_of(node), |(choice, _)| schema.case_of(*choice)).collect()
}

/// The data of a child, to be changed in place.
fn child_mut(branch: &mut Arc<Branch>, node: NodeId) -> Option<&mut Data> {
    let at = branch.children.binary_search_by_key(&node, |child| child.id).ok()?;
    Arc::make_mut(branch).children.get_mut(at).map(|child| &mut child.data)
}
