//! What an edit asks for: operations on instances, from XML `<config>` content, from JSON or one by one.

use crate::error::Error;
use crate::path::{InstancePath, Key};
use crate::schema::{NodeId, Schema};
use crate::tree::Place;
use crate::value::Value;
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

/// Operations that are applied together, as one `<config>` element is.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    /// `Replace`: what is not named here goes.
    pub(crate) replace_all: bool,
    pub(crate) nodes: Vec<Op>,
}

/// An operation on one instance.
#[derive(Debug, Clone)]
pub(crate) struct Op {
    pub(crate) node: NodeId,
    pub(crate) operation: Operation,
    pub(crate) content: Content,
    pub(crate) insert: Option<Place>,
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// None when the leaf is deleted.
    Leaf(Option<Value>),
    Container(Vec<Op>),
    /// The key and everything inside but the key leafs.
    Entry(Key, Vec<Op>),
    LeafListEntry(Key, Value),
    /// All entries of a list or leaf-list, only to delete them.
    All,
    Any(Arc<str>),
}

impl Ops {
    /// The children of `config` (the `<config>` element of edit-config, or any element that holds top-level
    /// nodes), with `nc:operation`, `yang:insert`, `yang:key` and `yang:value` on every level. State data is
    /// refused.
    ///
    /// # Errors
    /// Every error that the input has by itself (names, values, keys, attributes), in document order.
    pub fn from_xml(
        schema: &Schema,
        config: roxmltree::Node<'_, '_>,
        default: DefaultOperation,
    ) -> Result<Self, Vec<Error>> {
        let _ = (schema, config, default);
        todo!()
    }

    /// As [`Ops::from_xml`], from text whose root element is `config`.
    ///
    /// # Errors
    /// Also those of [`crate::xml::parse`].
    pub fn from_xml_str(schema: &Schema, text: &str, default: DefaultOperation) -> Result<Self, Vec<Error>> {
        let document = crate::xml::parse(text).map_err(|error| vec![error])?;
        Self::from_xml(schema, document.root_element(), default)
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
        let _ = (schema, config, operation);
        todo!()
    }

    /// Adds an operation on the instance `path`; levels above it are made when they are missing (`Merge`). The
    /// value is a leaf's; containers and list entries have none, and their content is added by further calls.
    ///
    /// # Errors
    /// When the path names no instance (a list without keys is allowed for deletion) or the value does not fit.
    pub fn push(
        &mut self,
        schema: &Schema,
        path: &InstancePath,
        operation: Operation,
        value: Option<Value>,
    ) -> Result<(), Error> {
        let _ = (schema, path, operation, value);
        todo!()
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
        let _ = (schema, path, operation, value, insert);
        todo!()
    }

    /// Does it ask for nothing?
    pub fn is_empty(&self) -> bool {
        self.steps.iter().all(|stage| stage.nodes.is_empty() && !stage.replace_all)
    }
}
