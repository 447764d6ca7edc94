//! What an edit asks for: operations on instances, from XML `<config>` content, from JSON or one by one.

pub(crate) mod json;
mod push;
mod replace;
pub(crate) mod xml;

use crate::error::{Error, ErrorInfo, ErrorTag, Errors};
use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, Schema};
use crate::tree::Place;
use crate::value::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// `operation` of RFC 6241 section 7.2; `None` is that of `default-operation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Only leads to operations below it; what it names must exist.
    None,
    /// Added to what is there.
    Merge,
    /// Replaces what is there.
    Replace,
    /// As `Merge`, but `data-exists` when it is there.
    Create,
    /// Deletes, `data-missing` when it is not there.
    Delete,
    /// Deletes if it is there.
    Remove,
}

/// `default-operation` of RFC 6241 section 7.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum DefaultOperation {
    #[default]
    Merge,
    Replace,
    None,
}

/// One edit: a sequence of operations that are applied in order, all or none.
#[derive(Debug, Clone, Default)]
pub struct Ops {
    pub(crate) steps: Vec<Stage>,
}

/// An edit with errors that it has by itself.
#[derive(Debug, Clone)]
pub struct Faulty {
    /// Those, in document order.
    pub errors: Vec<Error>,
    /// What could be read of it all the same. To be tried only: see [`crate::edit::refusals`].
    pub readable: Ops,
}

/// Operations that are applied together, as one `<config>` element is.
#[derive(Debug, Clone)]
pub struct Stage {
    /// `Replace`: what is not named here goes.
    pub replace_all: bool,
    /// Those at the top.
    pub nodes: Vec<Op>,
}

/// An operation on one instance.
#[derive(Debug, Clone)]
pub struct Op {
    /// The data node.
    pub node: NodeId,
    /// What is done to it.
    pub operation: Operation,
    /// What of it is named, and what is inside.
    pub content: Content,
    /// Where an entry of a user-ordered list goes.
    pub insert: Option<Place>,
    /// When what it names is missing, nothing happens instead of `data-missing` (only with `None`).
    pub(crate) quiet: bool,
    /// What is created has its default, and is not stored (only with `Create`).
    pub(crate) defaulted: bool,
}

/// What an [`Op`] says of its instance.
#[derive(Debug, Clone)]
pub enum Content {
    /// None when the leaf is deleted.
    Leaf(Option<Value>),
    /// A container's content.
    Container(Vec<Op>),
    /// The key and everything inside but the key leafs.
    Entry(Key, Vec<Op>),
    /// An entry of a leaf-list.
    LeafListEntry(Key, Value),
    /// All entries of a list or leaf-list, only to delete them.
    All,
    /// `anydata` or `anyxml`.
    Any(Arc<str>),
}

impl Operation {
    /// Does it take away what it names?
    pub fn deletes(self) -> bool {
        matches!(self, Operation::Delete | Operation::Remove)
    }

    /// The operation of what is inside a node with this one and names none itself. Inside what is created or
    /// replaced there is nothing yet, so merging is all there is to do.
    pub(crate) fn inside(self) -> Self {
        match self {
            Operation::None => Operation::None,
            Operation::Delete | Operation::Remove => Operation::Remove,
            Operation::Merge | Operation::Replace | Operation::Create => Operation::Merge,
        }
    }
}

impl Op {
    /// The step of a path that leads to it.
    pub fn step(&self) -> Step {
        let key = match &self.content {
            Content::Entry(key, _) | Content::LeafListEntry(key, _) => Some(key.clone()),
            Content::Leaf(_) | Content::Container(_) | Content::All | Content::Any(_) => None,
        };
        Step { node: self.node, key }
    }
}

/// What siblings must not do together: name one instance twice (`bad-element`), or give data for two cases of
/// one choice (RFC 7950 section 8.3.1, `bad-element`).
/// Of what does so, the first stays in `ops`.
pub(crate) fn check_siblings(schema: &Schema, parent: &InstancePath, ops: &mut Vec<Op>, errors: &mut Errors) {
    let (twice, clashing) =
        (check_instances(schema, parent, ops, errors), check_cases(schema, parent, ops, errors));
    if twice || !clashing.is_empty() {
        let mut seen = BTreeSet::new();
        let mut at = 0..;
        ops.retain(|op| {
            let clashes = at.next().is_some_and(|at| clashing.contains(&at));
            !clashes && seen.insert((op.node, op.key().cloned()))
        });
    }
}

/// Is one instance named twice?
fn check_instances(schema: &Schema, parent: &InstancePath, ops: &[Op], errors: &mut Errors) -> bool {
    let mut twice = false;
    let mut steps: Vec<(NodeId, Option<&Key>)> = ops.iter().map(|op| (op.node, op.key())).collect();
    steps.sort_unstable();
    for pair in steps.windows(2) {
        if let [a, b] = pair
            && a == b
        {
            twice = true;
            errors.push_with(|| {
                let step = Step { node: a.0, key: a.1.cloned() };
                let what = format!("'{}' stands twice in one edit; give it once", schema.node(a.0).name);
                bad_element(schema, parent, step, what)
            });
        }
    }
    twice
}

/// The positions of those that give data for another case of a choice than one before them.
fn check_cases(schema: &Schema, parent: &InstancePath, ops: &[Op], errors: &mut Errors) -> Vec<usize> {
    let mut clashing = Vec::new();
    let mut taken: Vec<(NodeId, NodeId)> = Vec::new();
    for (position, op) in ops.iter().enumerate().filter(|(_, op)| op.gives_data()) {
        let mut at = op.node;
        while let Some((choice, case)) = schema.case_of(at) {
            match taken.iter().find(|(other, _)| *other == choice) {
                Some((_, other)) if *other != case => {
                    let (choice, other) = (&schema.node(choice).name, &schema.node(*other).name);
                    let what = format!("choice '{choice}' already has data of case '{other}' in this edit");
                    errors.push_with(|| bad_element(schema, parent, op.step(), what));
                    clashing.push(position);
                    break;
                }
                Some(_) => {}
                None => taken.push((choice, case)),
            }
            at = choice;
        }
    }
    clashing
}

fn bad_element(schema: &Schema, parent: &InstancePath, step: Step, what: String) -> Error {
    let name = schema.node(step.node).name.clone();
    let mut path = parent.clone();
    path.steps.push(step);
    Error::application(ErrorTag::BadElement, what).at(path.render(schema)).with(ErrorInfo::BadElement(name))
}

impl Op {
    fn gives_data(&self) -> bool {
        !self.operation.deletes() && self.operation != Operation::None && !self.defaulted
    }

    fn key(&self) -> Option<&Key> {
        match &self.content {
            Content::Entry(key, _) | Content::LeafListEntry(key, _) => Some(key),
            Content::Leaf(_) | Content::Container(_) | Content::All | Content::Any(_) => None,
        }
    }
}

impl Ops {
    /// The children of `config` (the `<config>` element of edit-config, or any element that holds top-level
    /// nodes), with `nc:operation`, `yang:insert`, `yang:key` and `yang:value` on every level. State data is
    /// refused.
    ///
    /// # Errors
    /// The errors that the input has by itself (names, values, keys, attributes), in document order, as far as
    /// [`Errors`] tells them.
    pub fn from_xml(
        schema: &Schema,
        config: roxmltree::Node<'_, '_>,
        default: DefaultOperation,
    ) -> Result<Self, Vec<Error>> {
        xml::read(schema, config, default, xml::Taken::Edit).map_err(|faulty| faulty.errors)
    }

    /// A complete configuration, which no attribute says of what is to be done or where an entry goes: those are for edits
    /// (RFC 6241 section 7.2, RFC 7950 section 7.8.6).
    ///
    /// # Errors
    /// Also those of [`crate::xml::parse`].
    pub fn from_whole_xml_str(schema: &Schema, text: &str) -> Result<Self, Vec<Error>> {
        let document = crate::xml::parse(text).map_err(|error| vec![error])?;
        let read = xml::read(schema, document.root_element(), DefaultOperation::Merge, xml::Taken::Whole);
        read.map_err(|faulty| faulty.errors)
    }

    /// As [`Ops::from_xml`], from text whose root element is `config`.
    ///
    /// # Errors
    /// Also those of [`crate::xml::parse`].
    pub fn from_xml_str(schema: &Schema, text: &str, default: DefaultOperation) -> Result<Self, Vec<Error>> {
        let document = crate::xml::parse(text).map_err(|error| vec![error])?;
        Self::from_xml(schema, document.root_element(), default)
    }

    /// As [`Ops::from_xml_str`], which keeps what can be read of an edit that has errors: there may be more of them against
    /// the datastore.
    ///
    /// # Errors
    /// Those of [`Ops::from_xml_str`].
    pub fn from_faulty_xml_str(
        schema: &Schema,
        text: &str,
        default: DefaultOperation,
    ) -> Result<Self, Faulty> {
        let document = crate::xml::parse(text)
            .map_err(|error| Faulty { errors: vec![error], readable: Self::default() })?;
        xml::read(schema, document.root_element(), default, xml::Taken::Edit)
    }

    /// What a server answered: as [`Ops::from_xml_str`] with [`DefaultOperation::Merge`], but state nodes are taken
    /// too. Entries without a key are named by their position among their siblings.
    ///
    /// # Errors
    /// Also those of [`crate::xml::parse`].
    pub fn from_state_xml(schema: &Schema, text: &str) -> Result<Self, Vec<Error>> {
        let document = crate::xml::parse(text).map_err(|error| vec![error])?;
        let read = xml::read(schema, document.root_element(), DefaultOperation::Merge, xml::Taken::State);
        read.map_err(|faulty| faulty.errors)
    }

    /// A JSON object of top-level nodes (RFC 7951), all with `operation`, which is not a deletion.
    ///
    /// # Errors
    /// Every error that the input has by itself, in document order.
    pub fn from_json(
        schema: &Schema,
        config: &serde_json::Value,
        operation: Operation,
    ) -> Result<Self, Vec<Error>> {
        json::read(schema, config, operation, false)
    }

    /// As [`Ops::from_json`] with [`Operation::Merge`], for what a component tells of itself: state nodes are taken
    /// too. Entries without a key are named by their position in the array.
    ///
    /// # Errors
    /// Every error that the input has by itself, in document order.
    pub fn from_state_json(schema: &Schema, state: &serde_json::Value) -> Result<Self, Vec<Error>> {
        json::read(schema, state, Operation::Merge, true)
    }

    /// Adds an operation on the instance `path`; levels above it are made when they are missing (`Merge`). The
    /// value is a leaf's; containers and list entries have none, and their content is added by further calls.
    ///
    /// # Errors
    /// When the path names no instance (a list without keys is allowed for deletion), names state that is not to be removed,
    /// or the value does not fit.
    pub fn push(
        &mut self,
        schema: &Schema,
        path: &InstancePath,
        operation: Operation,
        value: Option<Value>,
    ) -> Result<(), Error> {
        push::value(self, schema, path, operation, value)
    }

    /// As [`Ops::push`] with the value in the RFC 7951 form, which may be a whole subtree; `insert` places an
    /// entry of a user-ordered list.
    ///
    /// # Errors
    /// When the path names no instance or the value does not fit.
    pub fn push_json(
        &mut self,
        schema: &Schema,
        path: &InstancePath,
        operation: Operation,
        value: Option<&serde_json::Value>,
        insert: Option<Place>,
    ) -> Result<(), Vec<Error>> {
        push::json(self, schema, path, (operation, insert), value)
    }

    /// Puts another value in the place of each value of a leaf or entry of a leaf-list for which `replacement` has
    /// one. Keys of lists stay.
    ///
    /// # Errors
    /// Those of `replacement`, in the order of the operations; the values that they are about stay.
    pub fn replace_values<F>(&mut self, mut replacement: F) -> Result<(), Vec<Error>>
    where
        F: FnMut(&InstancePath, &Value) -> Result<Option<Value>, Error>,
    {
        replace::values(self, &mut replacement)
    }

    /// What it asks for, in the order in which it is done.
    pub fn stages(&self) -> &[Stage] {
        &self.steps
    }

    /// Does it ask for nothing?
    pub fn is_empty(&self) -> bool {
        self.steps.iter().all(|stage| stage.nodes.is_empty() && !stage.replace_all)
    }
}
