//! Look-ups on a [`Schema`]: names to nodes, data parents and children seen through choices, compiled patterns
//! and parsed defaults. All of it is computed once by [`Schema::indexed`] and never changes afterwards.

use crate::pattern;
use crate::schema::{
    Identity, IdentityId, Module, ModuleId, Node, NodeId, NodeKind, Pattern, Schema, Type, TypeRef,
};
use crate::validate::Constraints;
use crate::value::{self, Value};
use crate::xml::Tags;
use crate::xpath::{self, When};
use regex::Regex;
use std::collections::HashMap;
use std::sync::Arc;

/// The computed part of a [`Schema`]. Two schemas with the same nodes have the same index, so it takes no part
/// in comparisons.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    /// Per node: its data children, list keys first.
    data: Vec<Children>,
    /// Top-level data nodes.
    roots: Children,
    /// Per node: the nearest ancestor that is neither a choice nor a case.
    data_parent: Vec<Option<NodeId>>,
    /// Per node: how it stands among its data siblings in schema order.
    rank: Vec<u32>,
    is_key: Vec<bool>,
    /// The data nodes of each name, by id.
    by_name: HashMap<String, Vec<NodeId>>,
    /// The same of notifications, which stand in no datastore.
    notices_by_name: HashMap<String, Vec<NodeId>>,
    /// Per node: the `when`s on which it depends in data.
    whens: Vec<Arc<[When]>>,
    /// Per leaf: its default; per leaf-list: its defaults.
    defaults: Vec<Arc<[Value]>>,
    modules_by_name: HashMap<String, ModuleId>,
    modules_by_namespace: HashMap<String, ModuleId>,
    modules_by_prefix: HashMap<String, ModuleId>,
    /// Per module: a prefix that no other module of the set has.
    prefixes: Vec<String>,
    identities: HashMap<(ModuleId, String), IdentityId>,
    /// Per identity: `module:name`.
    identity_names: Vec<Arc<str>>,
    /// Enum names, so that equal values share one allocation.
    names: HashMap<String, Arc<str>>,
    patterns: HashMap<String, Regex>,
    tags: Tags,
    /// What validation asks, per node and in all.
    constraints: Arc<Constraints>,
    faults: Vec<String>,
}

impl PartialEq for Index {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Index {}

#[derive(Debug, Clone, Default)]
struct Children {
    /// Data nodes in schema order.
    ordered: Vec<NodeId>,
    /// Everything that has a name here (also RPCs, actions, notifications), by name, then module.
    named: Vec<NodeId>,
    /// `ordered` is not in the order of ids.
    permuted: bool,
}

impl Schema {
    /// The same schema with its look-ups filled. To be called once after it was built or deserialised: without
    /// it, every look-up by name finds nothing.
    #[must_use]
    pub fn indexed(mut self) -> Self {
        let mut index = Index::default();
        index_modules(&self, &mut index);
        index_identities(&self, &mut index);
        index_nodes(&self, &mut index);
        for node in &self.nodes {
            match &node.kind {
                NodeKind::Leaf { ty, .. } | NodeKind::LeafList { ty, .. } => index_type(&mut index, &ty.base),
                _ => {}
            }
        }
        self.index = index;
        self.index.defaults = vec![Arc::from([]); self.nodes.len()];
        for at in 0..self.nodes.len() {
            let (values, faults) = default_values(&self, &self.nodes[at]);
            self.index.defaults[at] = values;
            self.index.faults.extend(faults);
        }
        self.index.tags = Tags::of(&self);
        self.index.whens = xpath::whens(&self);
        self.index.constraints = Arc::new(Constraints::of(&self));
        self
    }

    /// What in this schema cannot be honoured (a pattern that cannot be translated, a default that its own type
    /// refuses), one sentence each; empty for a good schema. A loader must refuse a schema that has any.
    pub fn faults(&self) -> &[String] {
        &self.index.faults
    }

    /// A node by id, which must be of this schema.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// A module by id, which must be of this schema.
    pub fn module(&self, id: ModuleId) -> &Module {
        &self.modules[usize::from(id.0)]
    }

    /// The module that gives `id` its namespace.
    pub fn module_of(&self, id: NodeId) -> &Module {
        self.module(self.node(id).module)
    }

    /// The name that a node has in data: its own, and that of the operation for what stands for an operation there (see
    /// [`crate::operation`]).
    pub fn data_name(&self, id: NodeId) -> &str {
        let node = self.node(id);
        match (&node.kind, node.parent) {
            (NodeKind::Input | NodeKind::Output, Some(operation)) => &self.node(operation).name,
            _ => &node.name,
        }
    }

    /// An identity by id, which must be of this schema.
    pub fn identity(&self, id: IdentityId) -> &Identity {
        &self.identities[id.0 as usize]
    }

    /// The module of that name.
    pub fn module_by_name(&self, name: &str) -> Option<ModuleId> {
        self.index.modules_by_name.get(name).copied()
    }

    /// The module of that XML namespace.
    pub fn module_by_namespace(&self, namespace: &str) -> Option<ModuleId> {
        self.index.modules_by_namespace.get(namespace).copied()
    }

    /// The module that [`Schema::prefix`] gives that prefix: the module's own one, unless an earlier module has it.
    pub fn module_by_prefix(&self, prefix: &str) -> Option<ModuleId> {
        self.index.modules_by_prefix.get(prefix).copied()
    }

    /// A prefix for output that is unique in this schema: the module's own one, or its name when that is taken.
    pub fn prefix(&self, module: ModuleId) -> &str {
        self.index.prefixes.get(usize::from(module.0)).map_or("", String::as_str)
    }

    /// The child `name` of `module` below `parent` (top level without one), seen through choices and cases. Finds
    /// data nodes, RPCs, actions and notifications.
    pub fn child(&self, parent: Option<NodeId>, module: ModuleId, name: &str) -> Option<NodeId> {
        let named = &self.children(parent).named;
        let at = named.binary_search_by(|id| {
            let node = self.node(*id);
            (node.name.as_str(), node.module).cmp(&(name, module))
        });
        at.ok().and_then(|at| named.get(at)).copied()
    }

    /// The children called `name` of any module below `parent`.
    pub fn children_named<'a>(
        &'a self,
        parent: Option<NodeId>,
        name: &'a str,
    ) -> impl Iterator<Item = NodeId> + 'a {
        let named = &self.children(parent).named;
        let from = named.partition_point(|id| self.node(*id).name.as_str() < name);
        named[from..].iter().copied().take_while(move |id| self.node(*id).name == name)
    }

    /// The data nodes called `name`, wherever they stand, of any module, by id.
    pub fn nodes_named(&self, name: &str) -> &[NodeId] {
        self.index.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// The notifications called `name`, wherever they belong, of any module, by id.
    pub fn notices_named(&self, name: &str) -> &[NodeId] {
        self.index.notices_by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// The `when`s that decide whether a data node may exist: its own, those of the uses and augments that brought
    /// it, and those of the choices and cases around it.
    pub fn whens(&self, id: NodeId) -> &[When] {
        self.index.whens.get(id.0 as usize).map_or(&[], |whens| whens)
    }

    /// The data nodes below `id` in schema order, seen through choices and cases, a list's keys first.
    pub fn data_children(&self, id: NodeId) -> &[NodeId] {
        &self.children(Some(id)).ordered
    }

    /// The data nodes below `parent`, or the top-level ones.
    pub fn data_children_of(&self, parent: Option<NodeId>) -> &[NodeId] {
        &self.children(parent).ordered
    }

    /// The nearest ancestor that is neither a choice nor a case; none for a top-level node.
    pub fn data_parent(&self, id: NodeId) -> Option<NodeId> {
        self.index.data_parent.get(id.0 as usize).copied().flatten()
    }

    /// The innermost `(choice, case)` that `id` stands in, without an ancestor of `id` in data between. To walk
    /// outward, ask for the case of the choice.
    pub fn case_of(&self, id: NodeId) -> Option<(NodeId, NodeId)> {
        let case = self.node(id).parent?;
        let choice = self.node(case).parent?;
        match self.node(case).kind {
            NodeKind::Case => Some((choice, case)),
            // A short-hand case: the data node is its own case.
            NodeKind::Choice { .. } => Some((case, id)),
            _ => None,
        }
    }

    /// The schema path of a data node in the RFC 7951 form: `/probe-bench:bench/item/name`.
    pub fn path_of(&self, id: NodeId) -> String {
        let mut chain = vec![id];
        while let Some(parent) = chain.last().and_then(|id| self.data_parent(*id)) {
            chain.push(parent);
        }
        let mut out = String::new();
        let mut module = None;
        for id in chain.iter().rev() {
            let node = self.node(*id);
            out.push('/');
            if module != Some(node.module) {
                out.push_str(&self.module(node.module).name);
                out.push(':');
                module = Some(node.module);
            }
            out.push_str(&node.name);
        }
        out
    }

    /// Is `id` a key of its list?
    pub fn is_key(&self, id: NodeId) -> bool {
        self.index.is_key.get(id.0 as usize).copied().unwrap_or(false)
    }

    /// The keys of a list in `key` order; empty for everything else.
    pub fn list_keys(&self, id: NodeId) -> &[NodeId] {
        match &self.node(id).kind {
            NodeKind::List { keys, .. } => keys,
            _ => &[],
        }
    }

    /// The type of a leaf or leaf-list.
    pub fn leaf_type(&self, id: NodeId) -> Option<&TypeRef> {
        match &self.node(id).kind {
            NodeKind::Leaf { ty, .. } | NodeKind::LeafList { ty, .. } => Some(ty),
            _ => None,
        }
    }

    /// The default of a leaf, the defaults of a leaf-list; empty without any.
    pub fn default_values(&self, id: NodeId) -> &[Value] {
        self.index.defaults.get(id.0 as usize).map_or(&[], |values| values)
    }

    /// Are the entries of this list or leaf-list ordered by the user?
    pub fn is_user_ordered(&self, id: NodeId) -> bool {
        matches!(
            self.node(id).kind,
            NodeKind::List { user_ordered: true, .. } | NodeKind::LeafList { user_ordered: true, .. }
        )
    }

    /// A container without `presence`: it exists with its parent and is stored only when it has content.
    pub fn is_non_presence(&self, id: NodeId) -> bool {
        matches!(self.node(id).kind, NodeKind::Container { presence: false })
    }

    /// The identity `name` of `module`.
    pub fn identity_by_name(&self, module: ModuleId, name: &str) -> Option<IdentityId> {
        self.index.identities.get(&(module, name.to_owned())).copied()
    }

    /// The identities that a value of an `identityref` with these bases may name: derived from all of them.
    pub fn identities_derived_from<'a>(
        &'a self,
        bases: &'a [IdentityId],
    ) -> impl Iterator<Item = IdentityId> + 'a {
        (0u32..).map(IdentityId).zip(&self.identities).filter_map(move |(id, identity)| {
            bases.iter().all(|base| identity.ancestors.contains(base)).then_some(id)
        })
    }

    /// All nodes that can stand in data, parents first.
    pub fn data_nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| is_data(&node.kind))
    }

    /// How `id` stands among its data siblings in schema order.
    pub(crate) fn rank(&self, id: NodeId) -> u32 {
        self.index.rank.get(id.0 as usize).copied().unwrap_or(u32::MAX)
    }

    /// Is the schema order of the children of `parent` another one than the order of ids?
    pub(crate) fn permuted(&self, parent: Option<NodeId>) -> bool {
        self.children(parent).permuted
    }

    pub(crate) fn tags(&self) -> &Tags {
        &self.index.tags
    }

    pub(crate) fn constraints(&self) -> &Constraints {
        &self.index.constraints
    }

    pub(crate) fn identity_value(&self, id: IdentityId) -> Option<&Arc<str>> {
        self.index.identity_names.get(id.0 as usize)
    }

    pub(crate) fn shared_name(&self, name: &str) -> Arc<str> {
        self.index.names.get(name).cloned().unwrap_or_else(|| Arc::from(name))
    }

    pub(crate) fn regex(&self, pattern: &Pattern) -> Option<&Regex> {
        self.index.patterns.get(&pattern.regex)
    }

    fn children(&self, parent: Option<NodeId>) -> &Children {
        match parent {
            None => &self.index.roots,
            Some(id) => self.index.data.get(id.0 as usize).unwrap_or(&self.index.roots),
        }
    }
}

/// Can a node of this kind stand in a data tree?
pub(crate) fn is_data(kind: &NodeKind) -> bool {
    match kind {
        NodeKind::Container { .. }
        | NodeKind::List { .. }
        | NodeKind::Leaf { .. }
        | NodeKind::LeafList { .. }
        | NodeKind::Anydata { .. }
        | NodeKind::Anyxml { .. } => true,
        NodeKind::Choice { .. }
        | NodeKind::Case
        | NodeKind::Rpc { .. }
        | NodeKind::Action { .. }
        | NodeKind::Input
        | NodeKind::Output
        | NodeKind::Notification => false,
    }
}

fn index_modules(schema: &Schema, index: &mut Index) {
    for (id, module) in (0u16..).map(ModuleId).zip(&schema.modules) {
        // An import-only revision never hides the implemented one.
        if module.implemented || !index.modules_by_name.contains_key(&module.name) {
            index.modules_by_name.insert(module.name.clone(), id);
            index.modules_by_namespace.insert(module.namespace.clone(), id);
        }
    }
    for (id, module) in (0u16..).map(ModuleId).zip(&schema.modules) {
        let mut prefix = module.prefix.clone();
        if index.modules_by_prefix.contains_key(&prefix) {
            prefix.clone_from(&module.name);
        }
        while index.modules_by_prefix.contains_key(&prefix) {
            prefix.push('_');
        }
        index.modules_by_prefix.insert(prefix.clone(), id);
        index.prefixes.push(prefix);
    }
}

fn index_identities(schema: &Schema, index: &mut Index) {
    for (id, identity) in (0u32..).map(IdentityId).zip(&schema.identities) {
        index.identities.insert((identity.module, identity.name.clone()), id);
        let module = &schema.module(identity.module).name;
        index.identity_names.push(Arc::from(format!("{module}:{}", identity.name)));
    }
}

fn index_nodes(schema: &Schema, index: &mut Index) {
    let count = schema.nodes.len();
    index.data_parent = vec![None; count];
    index.rank = vec![0; count];
    index.is_key = vec![false; count];
    for node in schema.data_nodes() {
        index.by_name.entry(node.name.clone()).or_default().push(node.id);
    }
    for node in schema.nodes.iter().filter(|node| node.kind == NodeKind::Notification) {
        index.notices_by_name.entry(node.name.clone()).or_default().push(node.id);
        // Behind the keys of the entry that it belongs to.
        index.rank[node.id.0 as usize] = u32::MAX;
    }
    for node in &schema.nodes {
        index.data_parent[node.id.0 as usize] =
            node.parent.and_then(|parent| match schema.node(parent).kind {
                NodeKind::Choice { .. } | NodeKind::Case => index.data_parent[parent.0 as usize],
                _ => Some(parent),
            });
        if let NodeKind::List { keys, .. } = &node.kind {
            for key in keys {
                index.is_key[key.0 as usize] = true;
            }
        }
    }
    index.roots = gather(schema, &schema.roots, &[]);
    index.data =
        schema.nodes.iter().map(|node| gather(schema, &node.children, schema.list_keys(node.id))).collect();
    for children in index.data.iter().zip(&schema.nodes).filter_map(|(children, node)| {
        (!matches!(node.kind, NodeKind::Choice { .. } | NodeKind::Case)).then_some(children)
    }) {
        for (rank, id) in (0u32..).zip(&children.ordered) {
            index.rank[id.0 as usize] = rank;
        }
    }
    for (rank, id) in (0u32..).zip(&index.roots.ordered) {
        index.rank[id.0 as usize] = rank;
    }
}

fn gather(schema: &Schema, children: &[NodeId], keys: &[NodeId]) -> Children {
    fn visit(schema: &Schema, children: &[NodeId], out: &mut Vec<NodeId>) {
        for id in children {
            match &schema.node(*id).kind {
                NodeKind::Choice { .. } | NodeKind::Case => visit(schema, &schema.node(*id).children, out),
                _ => out.push(*id),
            }
        }
    }
    let mut named = Vec::new();
    visit(schema, children, &mut named);
    let rest = named.iter().copied().filter(|id| is_data(&schema.node(*id).kind) && !keys.contains(id));
    let ordered: Vec<NodeId> = keys.iter().copied().chain(rest).collect();
    let permuted = !ordered.is_sorted();
    named.sort_by(|a, b| {
        let (a, b) = (schema.node(*a), schema.node(*b));
        (a.name.as_str(), a.module).cmp(&(b.name.as_str(), b.module))
    });
    Children { ordered, named, permuted }
}

fn index_type(index: &mut Index, ty: &Type) {
    match ty {
        Type::String { patterns, .. } => {
            for pattern in patterns {
                if index.patterns.contains_key(&pattern.regex) {
                    continue;
                }
                match pattern::compile(&pattern.regex) {
                    Ok(regex) => drop(index.patterns.insert(pattern.regex.clone(), regex)),
                    Err(error) => index.faults.push(format!("pattern '{}': {error}", pattern.regex)),
                }
            }
        }
        Type::Enumeration(names) => {
            for name in names {
                index.names.entry(name.name.clone()).or_insert_with(|| Arc::from(name.name.as_str()));
            }
        }
        Type::Leafref { real, .. } => index_type(index, &real.base),
        Type::Union(types) => types.iter().for_each(|ty| index_type(index, &ty.base)),
        Type::Binary { .. }
        | Type::Bits(_)
        | Type::Boolean
        | Type::Decimal64 { .. }
        | Type::Empty
        | Type::Identityref { .. }
        | Type::InstanceIdentifier { .. }
        | Type::Integer { .. } => {}
    }
}

fn default_values(schema: &Schema, node: &Node) -> (Arc<[Value]>, Vec<String>) {
    let (texts, ty): (Vec<&String>, _) = match &node.kind {
        NodeKind::Leaf { ty, default, .. } => (default.iter().collect(), ty),
        NodeKind::LeafList { ty, defaults, .. } => (defaults.iter().collect(), ty),
        _ => return (Arc::from([]), Vec::new()),
    };
    let mut faults = Vec::new();
    let mut values = Vec::new();
    for text in texts {
        match value::parse_default(schema, ty, node.module, text) {
            Ok(value) => values.push(value),
            Err(error) => {
                faults.push(format!("default '{text}' of {}: {}", schema.path_of(node.id), error.message));
            }
        }
    }
    (Arc::from(values), faults)
}
