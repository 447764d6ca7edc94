//! Names: what prefixes mean where an expression stands, and the schema nodes that a name test can meet.

use crate::schema::{Expression, ModuleId, NodeId, Schema};
use crate::value;
use roxmltree::Node;

/// What the names of an expression mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// None for a namespace that the schema has not: its names meet nothing.
    prefixes: Vec<(String, Option<ModuleId>)>,
    unprefixed: Unprefixed,
    /// Names may be those of notifications.
    notices: bool,
}

/// What a name without a prefix means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unprefixed {
    /// A name of that module: expressions in modules (RFC 7950 section 6.4.1).
    Module(ModuleId),
    /// A name of the module of the node above it, at the top of any: the RFC 7951 form of instance-identifiers.
    Inherited,
    /// A name of any module.
    Any,
}

impl Scope {
    /// As for an expression in a module: its prefixes, and names without one in its module.
    pub fn of_expression(expression: &Expression) -> Self {
        let prefixes = expression.prefixes.iter().map(|(prefix, module)| (prefix.clone(), Some(*module)));
        let unprefixed = Unprefixed::Module(expression.module);
        Self { prefixes: prefixes.collect(), unprefixed, notices: false }
    }

    /// As for an expression in XML: the namespaces in scope of `element` (RFC 6241 section 8.9.5.1 says those of
    /// `<filter>`). Read to the letter a name without prefix has no namespace and meets no data at all; here it
    /// means that name in any module, as an element without namespace does in a subtree filter.
    pub fn of_element(schema: &Schema, element: Node<'_, '_>) -> Self {
        let bound = element.namespaces().filter_map(|namespace| {
            let module = schema.module_by_namespace(namespace.uri());
            Some((namespace.name()?.to_owned(), module))
        });
        Self { prefixes: bound.collect(), unprefixed: Unprefixed::Any, notices: false }
    }

    /// As [`Scope::of_element`], of the prefixes and namespaces that were in scope.
    pub fn of_namespaces(schema: &Schema, namespaces: &[(String, String)]) -> Self {
        let bound = namespaces.iter().map(|(prefix, uri)| (prefix.clone(), schema.module_by_namespace(uri)));
        Self { prefixes: bound.collect(), unprefixed: Unprefixed::Any, notices: false }
    }

    /// The names of modules are the prefixes (RFC 8040 section 4.8.4, RFC 7951): expressions in JSON, and the
    /// canonical form of values that are expressions, such as `path` of RFC 8341.
    pub fn of_modules() -> Self {
        Self { prefixes: Vec::new(), unprefixed: Unprefixed::Inherited, notices: false }
    }

    /// The same with another meaning of names without prefix.
    #[must_use]
    pub fn unprefixed(self, unprefixed: Unprefixed) -> Self {
        Self { unprefixed, ..self }
    }

    /// The same for expressions on notifications, whose names stand for these too.
    #[must_use]
    pub fn of_notices(self) -> Self {
        Self { notices: true, ..self }
    }

    /// The module of a prefix: what the scope binds, or else the module of that name. The outer option says
    /// whether the prefix means anything, the inner one whether that is a module of the schema.
    pub(super) fn module(&self, schema: &Schema, prefix: &str) -> Option<Option<ModuleId>> {
        match self.prefixes.iter().find(|(bound, _)| bound == prefix) {
            Some((_, module)) => Some(*module),
            None => schema.module_by_name(prefix).map(Some),
        }
    }

    /// The module of a name inside a value of `leaf`, such as an identity.
    pub(super) fn module_of_value(
        &self,
        schema: &Schema,
        leaf: Option<NodeId>,
        prefix: Option<&str>,
    ) -> Option<ModuleId> {
        match (prefix, self.unprefixed) {
            (Some(prefix), _) => self.module(schema, prefix).flatten(),
            (None, Unprefixed::Module(module)) => Some(module),
            (None, Unprefixed::Inherited | Unprefixed::Any) => leaf.map(|leaf| schema.node(leaf).module),
        }
    }

    /// A value of the type of `leaf` that `text` is in this scope.
    pub(super) fn value(&self, schema: &Schema, leaf: NodeId, text: &str) -> Option<value::Value> {
        let resolve = |prefix: Option<&str>| self.module_of_value(schema, Some(leaf), prefix);
        let names =
            value::Names { resolve: &resolve, inherit: !matches!(self.unprefixed, Unprefixed::Module(_)) };
        value::Value::parse(schema, schema.leaf_type(leaf)?, names, value::Token::Text, text).ok()
    }

    /// The name of a node as it can be written in this scope, for `name()`.
    pub(super) fn qualified(&self, schema: &Schema, node: NodeId) -> String {
        let node = schema.node(node);
        let bound = self.prefixes.iter().find(|(_, module)| *module == Some(node.module));
        match bound {
            Some((prefix, _)) => format!("{prefix}:{}", node.name),
            None => format!("{}:{}", schema.module(node.module).name, node.name),
        }
    }

    /// The nodes that a name test can meet.
    pub(super) fn meets(&self, schema: &Schema, module: Option<Option<ModuleId>>, name: &str) -> Named {
        let of_parent = |id: NodeId| schema.data_parent(id).map(|parent| schema.node(parent).module);
        let fits = |id: &NodeId| {
            let of = schema.node(*id).module;
            match (module, self.unprefixed) {
                (Some(module), _) => module == Some(of),
                (None, Unprefixed::Module(module)) => module == of,
                (None, Unprefixed::Inherited) => of_parent(*id).is_none_or(|parent| parent == of),
                (None, Unprefixed::Any) => true,
            }
        };
        let notices = if self.notices { schema.notices_named(name) } else { &[] };
        let found = schema.nodes_named(name).iter().chain(notices).copied().filter(fits);
        let mut by_parent: Vec<(Option<NodeId>, NodeId)> =
            found.map(|id| (schema.data_parent(id), id)).collect();
        by_parent.sort_by_key(|(parent, id)| (*parent, schema.rank(*id)));
        let chain = |parent: &Option<NodeId>| std::iter::successors(*parent, |id| schema.data_parent(*id));
        let mut above: Vec<NodeId> = by_parent.iter().flat_map(|(parent, _)| chain(parent)).collect();
        above.sort_unstable();
        above.dedup();
        Named { by_parent, above }
    }
}

/// The data nodes of one name, resolved once: a step costs a search among them, not among texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Named {
    /// By parent in data, then in schema order.
    by_parent: Vec<(Option<NodeId>, NodeId)>,
    /// All that stand above one of them, sorted.
    above: Vec<NodeId>,
}

impl Named {
    /// Those below `parent`.
    pub(super) fn below(&self, parent: Option<NodeId>) -> impl DoubleEndedIterator<Item = NodeId> + Clone {
        let from = self.by_parent.partition_point(|(other, _)| *other < parent);
        let rest = self.by_parent.get(from..).unwrap_or_default();
        let end = rest.partition_point(|(other, _)| *other == parent);
        rest.get(..end).unwrap_or_default().iter().map(|(_, id)| *id)
    }

    /// Is `node`, which stands below `parent`, one of them?
    pub(super) fn contains(&self, parent: Option<NodeId>, node: NodeId) -> bool {
        self.below(parent).any(|id| id == node)
    }

    /// May there be one of them somewhere below `node`?
    pub(super) fn leads_from(&self, node: NodeId) -> bool {
        self.above.binary_search(&node).is_ok()
    }
}
