//! Small schemas written by hand, for tests of this crate and of those above that must work without libyang.
//!
//! ```
//! use cats_yang_tree::build::{SchemaBuilder, Ty};
//! let schema = SchemaBuilder::new()
//!     .module("shop", "urn:shop", "sh", |m| {
//!         m.container("shop", |c| {
//!             c.leaf("open", Ty::boolean()).default("true");
//!             c.list("shelf", &["name"], |l| {
//!                 l.leaf("name", Ty::string().length(1, 64));
//!                 l.leaf("width", Ty::uint32().range(1, 400)).units("centimetres");
//!             });
//!         });
//!     })
//!     .build()
//!     .expect("a good schema");
//! assert_eq!(schema.path_of(schema.node(schema.data_nodes().last().expect("a node").id).id), "/shop:shop/shelf/width");
//! ```

use crate::schema::{
    Canonical, Expression, Flags, Identity, IdentityId, Integer, Module, ModuleId, Must, Named, Node, NodeId,
    NodeKind, Pattern, Schema, Span, Status, Type, TypeRef,
};
use std::collections::BTreeMap;

/// Collects modules; [`SchemaBuilder::build`] resolves names and indexes.
#[derive(Debug, Default)]
pub struct SchemaBuilder {
    schema: Schema,
    types: BTreeMap<NodeId, Ty>,
    identities: Vec<(IdentityId, Vec<String>)>,
    uniques: Vec<(NodeId, Vec<String>)>,
    faults: Vec<String>,
}

/// Adds nodes below one parent.
#[derive(Debug)]
pub struct Scope<'a> {
    builder: &'a mut SchemaBuilder,
    parent: Option<NodeId>,
    module: ModuleId,
    config: bool,
}

/// Refines the node that was just added.
#[derive(Debug)]
pub struct Refine<'a> {
    builder: &'a mut SchemaBuilder,
    id: NodeId,
}

/// A type whose names are resolved when the schema is built.
#[derive(Debug, Clone)]
pub struct Ty {
    name: String,
    kind: Pending,
}

#[derive(Debug, Clone)]
enum Pending {
    Ready(Type),
    Identityref(Vec<String>),
    Leafref { path: String, require_instance: bool },
    Union(Vec<Ty>),
}

impl SchemaBuilder {
    /// No modules yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an implemented module and its content. Modules end up in the order they were added; name them in
    /// alphabetical order where that matters.
    #[must_use]
    pub fn module(
        mut self,
        name: &str,
        namespace: &str,
        prefix: &str,
        content: impl FnOnce(&mut Scope<'_>),
    ) -> Self {
        let module = ModuleId(u16::try_from(self.schema.modules.len()).unwrap_or(u16::MAX));
        self.schema.modules.push(Module {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            prefix: prefix.to_owned(),
            revision: None,
            implemented: true,
            features: Vec::new(),
            deviations: Vec::new(),
        });
        content(&mut Scope { builder: &mut self, parent: None, module, config: true });
        self
    }

    /// The schema, indexed.
    ///
    /// # Errors
    /// One line for each name that cannot be resolved and each default or pattern that is wrong.
    pub fn build(mut self) -> Result<Schema, String> {
        self.resolve_identities();
        self.schema = std::mem::take(&mut self.schema).indexed();
        for (list, names) in std::mem::take(&mut self.uniques) {
            let leafs: Option<Vec<NodeId>> =
                names.iter().map(|name| self.descend(Some(list), name)).collect();
            match (leafs, &mut self.schema.nodes[list.0 as usize].kind) {
                (Some(leafs), NodeKind::List { uniques, .. }) => uniques.push(leafs),
                _ => self.faults.push(format!("unique '{}' names no leafs of a list", names.join(" "))),
            }
        }
        let types = std::mem::take(&mut self.types);
        for (id, ty) in &types {
            match self.resolve(&types, *id, ty, 0) {
                Ok(resolved) => match &mut self.schema.nodes[id.0 as usize].kind {
                    NodeKind::Leaf { ty, .. } | NodeKind::LeafList { ty, .. } => *ty = resolved,
                    _ => {}
                },
                Err(fault) => self.faults.push(fault),
            }
        }
        let schema = self.schema.indexed();
        self.faults.extend_from_slice(schema.faults());
        if self.faults.is_empty() { Ok(schema) } else { Err(self.faults.join("\n")) }
    }

    fn add(&mut self, scope: (Option<NodeId>, ModuleId, bool), name: &str, kind: NodeKind) -> NodeId {
        let (parent, module, config) = scope;
        let id = NodeId(u32::try_from(self.schema.nodes.len()).unwrap_or(u32::MAX));
        self.schema.nodes.push(Node {
            id,
            parent,
            module,
            name: name.to_owned(),
            config,
            status: Status::Current,
            description: None,
            kind,
            children: Vec::new(),
            whens: Vec::new(),
            musts: Vec::new(),
            flags: Flags::default(),
        });
        match parent {
            Some(parent) => self.schema.nodes[parent.0 as usize].children.push(id),
            None => self.schema.roots.push(id),
        }
        id
    }

    fn resolve_identities(&mut self) {
        for (id, bases) in std::mem::take(&mut self.identities) {
            let mut ancestors = Vec::new();
            for base in bases {
                // Bases stand before what is derived from them, so their ancestors are complete.
                match self.identity(self.schema.identity(id).module, &base) {
                    Some(base) => {
                        ancestors.push(base);
                        ancestors.extend_from_slice(&self.schema.identity(base).ancestors);
                    }
                    None => self.faults.push(format!("unknown base identity '{base}'")),
                }
            }
            ancestors.sort();
            ancestors.dedup();
            self.schema.identities[id.0 as usize].ancestors = ancestors;
        }
    }

    fn identity(&self, module: ModuleId, name: &str) -> Option<IdentityId> {
        let (module, name) = match name.split_once(':') {
            Some((module, name)) => {
                (self.schema.modules.iter().position(|other| other.name == module)?, name)
            }
            None => (usize::from(module.0), name),
        };
        let found = self
            .schema
            .identities
            .iter()
            .position(|identity| usize::from(identity.module.0) == module && identity.name == name)?;
        u32::try_from(found).ok().map(IdentityId)
    }

    fn resolve(
        &self,
        types: &BTreeMap<NodeId, Ty>,
        at: NodeId,
        ty: &Ty,
        depth: u8,
    ) -> Result<TypeRef, String> {
        let module = self.schema.node(at).module;
        let base = match &ty.kind {
            Pending::Ready(base) => base.clone(),
            Pending::Identityref(bases) => {
                let find = |base: &String| {
                    self.identity(module, base).ok_or(format!("unknown base identity '{base}'"))
                };
                Type::Identityref { bases: bases.iter().map(find).collect::<Result<_, _>>()? }
            }
            Pending::Union(members) => {
                let member = |member: &Ty| self.resolve(types, at, member, depth);
                Type::Union(members.iter().map(member).collect::<Result<_, _>>()?)
            }
            Pending::Leafref { path, require_instance } => {
                let target = self.walk(at, path).filter(|_| depth < 16);
                let Some((target, ty)) = target.and_then(|id| Some((id, types.get(&id)?))) else {
                    return Err(format!("leafref path '{path}' leads to no leaf"));
                };
                Type::Leafref {
                    path: expression(path, module),
                    target: Some(target),
                    require_instance: *require_instance,
                    real: Box::new(self.resolve(types, target, ty, depth + 1)?),
                }
            }
        };
        Ok(TypeRef { name: ty.name.clone(), module: None, base })
    }

    /// Follows a path of names and `..`; names are looked up in any module, predicates do not matter.
    fn walk(&self, from: NodeId, path: &str) -> Option<NodeId> {
        let mut depth = 0;
        let outside = |c: &char| {
            depth += i32::from(*c == '[');
            let outside = depth == 0;
            depth -= i32::from(*c == ']');
            outside
        };
        let path: String = path.chars().filter(outside).collect();
        let path = path.as_str();
        let (mut at, path) = match path.strip_prefix('/') {
            Some(path) => (None, path),
            None => (Some(from), path),
        };
        for step in path.split('/') {
            at = match step {
                ".." => self.schema.data_parent(at?),
                _ => Some(self.descend(at, step)?),
            };
        }
        at
    }

    fn descend(&self, from: Option<NodeId>, path: &str) -> Option<NodeId> {
        let mut at = from;
        for step in path.split('/') {
            let name = step.split_once(':').map_or(step, |(_, name)| name);
            at = Some(self.schema.children_named(at, name).next()?);
        }
        at
    }
}

fn expression(text: &str, module: ModuleId) -> Expression {
    Expression { text: text.to_owned(), prefixes: Vec::new(), module, on_parent: false }
}

impl Scope<'_> {
    /// An identity of this module, derived from `bases` (`name`, or `module:name` of an earlier module), which
    /// must have been added before.
    pub fn identity(&mut self, name: &str, bases: &[&str]) {
        let id = IdentityId(u32::try_from(self.builder.schema.identities.len()).unwrap_or(u32::MAX));
        let identity = Identity { module: self.module, name: name.to_owned(), ancestors: Vec::new() };
        self.builder.schema.identities.push(identity);
        self.builder.identities.push((id, bases.iter().map(|base| (*base).to_owned()).collect()));
    }

    /// A container without `presence`.
    pub fn container(&mut self, name: &str, content: impl FnOnce(&mut Scope<'_>)) -> Refine<'_> {
        self.nest(name, NodeKind::Container { presence: false }, content)
    }

    /// A container with `presence`.
    pub fn presence(&mut self, name: &str, content: impl FnOnce(&mut Scope<'_>)) -> Refine<'_> {
        self.nest(name, NodeKind::Container { presence: true }, content)
    }

    /// A list with these keys, which `content` must add.
    pub fn list(&mut self, name: &str, keys: &[&str], content: impl FnOnce(&mut Scope<'_>)) -> Refine<'_> {
        let kind = NodeKind::List {
            keys: Vec::new(),
            user_ordered: false,
            min_elements: 0,
            max_elements: None,
            uniques: Vec::new(),
        };
        let refine = self.nest(name, kind, content);
        let schema = &mut refine.builder.schema;
        let children = &schema.nodes[refine.id.0 as usize].children;
        let find = |key: &&str| children.iter().copied().find(|id| schema.node(*id).name == *key);
        let found: Vec<NodeId> = keys.iter().filter_map(find).collect();
        if found.len() != keys.len() {
            refine.builder.faults.push(format!("list '{name}' lacks one of its keys {}", keys.join(" ")));
        }
        if let NodeKind::List { keys, .. } = &mut schema.nodes[refine.id.0 as usize].kind {
            *keys = found;
        }
        refine
    }

    /// A leaf.
    pub fn leaf(&mut self, name: &str, ty: Ty) -> Refine<'_> {
        let placeholder = TypeRef { name: ty.name.clone(), module: None, base: Type::Empty };
        let kind = NodeKind::Leaf { ty: placeholder, mandatory: false, default: None, units: None };
        let refine = self.nest(name, kind, |_| {});
        refine.builder.types.insert(refine.id, ty);
        refine
    }

    /// A leaf-list.
    pub fn leaf_list(&mut self, name: &str, ty: Ty) -> Refine<'_> {
        let kind = NodeKind::LeafList {
            ty: TypeRef { name: ty.name.clone(), module: None, base: Type::Empty },
            user_ordered: false,
            min_elements: 0,
            max_elements: None,
            defaults: Vec::new(),
            units: None,
        };
        let refine = self.nest(name, kind, |_| {});
        refine.builder.types.insert(refine.id, ty);
        refine
    }

    /// A choice, whose content is cases.
    pub fn choice(&mut self, name: &str, cases: impl FnOnce(&mut Scope<'_>)) -> Refine<'_> {
        self.nest(name, NodeKind::Choice { mandatory: false, default_case: None }, cases)
    }

    /// A case of a choice.
    pub fn case(&mut self, name: &str, content: impl FnOnce(&mut Scope<'_>)) -> Refine<'_> {
        self.nest(name, NodeKind::Case, content)
    }

    /// An `anydata`.
    pub fn anydata(&mut self, name: &str) -> Refine<'_> {
        self.nest(name, NodeKind::Anydata { mandatory: false }, |_| {})
    }

    /// An RPC with the content of its input and output.
    pub fn rpc(
        &mut self,
        name: &str,
        input: impl FnOnce(&mut Scope<'_>),
        output: impl FnOnce(&mut Scope<'_>),
    ) -> Refine<'_> {
        let kind = |(input, output)| NodeKind::Rpc { input, output };
        self.operation(name, kind, input, output)
    }

    /// An action of this container or list, with the content of its input and output.
    pub fn action(
        &mut self,
        name: &str,
        input: impl FnOnce(&mut Scope<'_>),
        output: impl FnOnce(&mut Scope<'_>),
    ) -> Refine<'_> {
        let kind = |(input, output)| NodeKind::Action { input, output };
        self.operation(name, kind, input, output)
    }

    /// What is in it is neither configuration nor state, which both are as `config false`.
    fn operation(
        &mut self,
        name: &str,
        kind: impl Fn((NodeId, NodeId)) -> NodeKind,
        input: impl FnOnce(&mut Scope<'_>),
        output: impl FnOnce(&mut Scope<'_>),
    ) -> Refine<'_> {
        let placeholder = NodeId(u32::MAX);
        let mut ids = (placeholder, placeholder);
        let was = std::mem::replace(&mut self.config, false);
        let id = self
            .nest(name, kind(ids), |scope| {
                ids.0 = scope.nest("input", NodeKind::Input, input).id;
                ids.1 = scope.nest("output", NodeKind::Output, output).id;
            })
            .id;
        self.config = was;
        self.builder.schema.nodes[id.0 as usize].kind = kind(ids);
        Refine { builder: self.builder, id }
    }

    /// A notification.
    pub fn notification(&mut self, name: &str, content: impl FnOnce(&mut Scope<'_>)) -> Refine<'_> {
        let was = std::mem::replace(&mut self.config, false);
        let id = self.nest(name, NodeKind::Notification, content).id;
        self.config = was;
        Refine { builder: self.builder, id }
    }

    /// State (`config false`): what `content` adds.
    pub fn state(&mut self, content: impl FnOnce(&mut Scope<'_>)) {
        let (parent, module) = (self.parent, self.module);
        content(&mut Scope { builder: self.builder, parent, module, config: false });
    }

    /// Adds nodes of this module below a node of an earlier one: names from the top, such as `bench/item`.
    pub fn augment(&mut self, path: &str, content: impl FnOnce(&mut Scope<'_>)) {
        let mut at = None;
        for name in path.split('/') {
            let schema = &self.builder.schema;
            let siblings = at.map_or(&schema.roots, |id: NodeId| &schema.node(id).children);
            at = siblings.iter().copied().find(|id| schema.node(*id).name == name);
            if at.is_none() {
                self.builder.faults.push(format!("augment '{path}' finds no '{name}'"));
                return;
            }
        }
        let config = at.is_none_or(|id| self.builder.schema.node(id).config);
        content(&mut Scope { builder: self.builder, parent: at, module: self.module, config });
    }

    fn nest(&mut self, name: &str, kind: NodeKind, content: impl FnOnce(&mut Scope<'_>)) -> Refine<'_> {
        let id = self.builder.add((self.parent, self.module, self.config), name, kind);
        content(&mut Scope {
            builder: self.builder,
            parent: Some(id),
            module: self.module,
            config: self.config,
        });
        Refine { builder: self.builder, id }
    }
}

impl Refine<'_> {
    /// The id of the node.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// `default` of a leaf, one more of a leaf-list; the default case of a choice.
    pub fn default(self, text: &str) -> Self {
        let at = self.id.0 as usize;
        let case = self.builder.schema.nodes[at].children.iter().copied();
        let case = case.into_iter().find(|id| self.builder.schema.node(*id).name == text);
        match &mut self.builder.schema.nodes[at].kind {
            NodeKind::Leaf { default, .. } => *default = Some(text.to_owned()),
            NodeKind::LeafList { defaults, .. } => defaults.push(text.to_owned()),
            NodeKind::Choice { default_case, .. } => *default_case = case,
            _ => {}
        }
        self
    }

    /// `mandatory true` of a leaf, choice or anydata.
    pub fn mandatory(mut self) -> Self {
        match self.kind() {
            NodeKind::Leaf { mandatory, .. }
            | NodeKind::Choice { mandatory, .. }
            | NodeKind::Anydata { mandatory } => *mandatory = true,
            _ => {}
        }
        self
    }

    /// `ordered-by user`.
    pub fn user_ordered(mut self) -> Self {
        match self.kind() {
            NodeKind::List { user_ordered, .. } | NodeKind::LeafList { user_ordered, .. } => {
                *user_ordered = true
            }
            _ => {}
        }
        self
    }

    /// `min-elements` and `max-elements`.
    pub fn elements(mut self, min: u32, max: Option<u32>) -> Self {
        match self.kind() {
            NodeKind::List { min_elements, max_elements, .. }
            | NodeKind::LeafList { min_elements, max_elements, .. } => {
                *min_elements = min;
                *max_elements = max;
            }
            _ => {}
        }
        self
    }

    /// One `unique` of a list: descendant leafs such as `address` or `peer/port`.
    pub fn unique(self, leafs: &[&str]) -> Self {
        let leafs = leafs.iter().map(|leaf| (*leaf).to_owned()).collect();
        self.builder.uniques.push((self.id, leafs));
        self
    }

    /// `units`.
    pub fn units(mut self, text: &str) -> Self {
        match self.kind() {
            NodeKind::Leaf { units, .. } | NodeKind::LeafList { units, .. } => *units = Some(text.to_owned()),
            _ => {}
        }
        self
    }

    /// `description`.
    pub fn description(self, text: &str) -> Self {
        self.builder.schema.nodes[self.id.0 as usize].description = Some(text.to_owned());
        self
    }

    /// A `must`; prefixes are the modules' names.
    pub fn must(self, condition: &str) -> Self {
        self.must_or(condition, None, None)
    }

    /// A `must` with its `error-message` and `error-app-tag`.
    pub fn must_or(self, condition: &str, message: Option<&str>, app_tag: Option<&str>) -> Self {
        let node = &mut self.builder.schema.nodes[self.id.0 as usize];
        let condition = expression(condition, node.module);
        let (message, app_tag) = (message.map(str::to_owned), app_tag.map(str::to_owned));
        node.musts.push(Must { condition, message, app_tag });
        self
    }

    /// A `when` of the node itself; prefixes are the modules' names.
    pub fn when(self, condition: &str) -> Self {
        let node = &mut self.builder.schema.nodes[self.id.0 as usize];
        let condition = expression(condition, node.module);
        node.whens.push(condition);
        self
    }

    /// Presentation and protection flags.
    pub fn flags(self, set: impl FnOnce(&mut Flags)) -> Self {
        set(&mut self.builder.schema.nodes[self.id.0 as usize].flags);
        self
    }

    fn kind(&mut self) -> &mut NodeKind {
        &mut self.builder.schema.nodes[self.id.0 as usize].kind
    }
}

impl Ty {
    fn ready(name: &str, base: Type) -> Self {
        Self { name: name.to_owned(), kind: Pending::Ready(base) }
    }

    fn integer(name: &str, kind: Integer) -> Self {
        Self::ready(name, Type::Integer { kind, range: Vec::new() })
    }

    /// `boolean`.
    pub fn boolean() -> Self {
        Self::ready("boolean", Type::Boolean)
    }

    /// `empty`.
    pub fn empty() -> Self {
        Self::ready("empty", Type::Empty)
    }

    /// `string`.
    pub fn string() -> Self {
        let base = Type::String { length: Vec::new(), patterns: Vec::new(), canonical: Canonical::Text };
        Self::ready("string", base)
    }

    /// `binary`.
    pub fn binary() -> Self {
        Self::ready("binary", Type::Binary { length: Vec::new() })
    }

    /// `int8`.
    pub fn int8() -> Self {
        Self::integer("int8", Integer::I8)
    }

    /// `int16`.
    pub fn int16() -> Self {
        Self::integer("int16", Integer::I16)
    }

    /// `int32`.
    pub fn int32() -> Self {
        Self::integer("int32", Integer::I32)
    }

    /// `int64`.
    pub fn int64() -> Self {
        Self::integer("int64", Integer::I64)
    }

    /// `uint8`.
    pub fn uint8() -> Self {
        Self::integer("uint8", Integer::U8)
    }

    /// `uint16`.
    pub fn uint16() -> Self {
        Self::integer("uint16", Integer::U16)
    }

    /// `uint32`.
    pub fn uint32() -> Self {
        Self::integer("uint32", Integer::U32)
    }

    /// `uint64`.
    pub fn uint64() -> Self {
        Self::integer("uint64", Integer::U64)
    }

    /// `decimal64` with that many fraction digits.
    pub fn decimal64(digits: u8) -> Self {
        Self::ready("decimal64", Type::Decimal64 { digits, range: Vec::new() })
    }

    /// `enumeration` with values from 0.
    pub fn enumeration(names: &[&str]) -> Self {
        Self::ready("enumeration", Type::Enumeration(named(names)))
    }

    /// `bits` with positions from 0.
    pub fn bits(names: &[&str]) -> Self {
        Self::ready("bits", Type::Bits(named(names)))
    }

    /// `identityref`; bases as in [`Scope::identity`].
    pub fn identityref(bases: &[&str]) -> Self {
        let bases = bases.iter().map(|base| (*base).to_owned()).collect();
        Self { name: "identityref".to_owned(), kind: Pending::Identityref(bases) }
    }

    /// `instance-identifier`.
    pub fn instance_identifier(require_instance: bool) -> Self {
        Self::ready("instance-identifier", Type::InstanceIdentifier { require_instance })
    }

    /// `leafref` by a path of names and `..`; prefixes are the modules' names.
    pub fn leafref(path: &str) -> Self {
        let kind = Pending::Leafref { path: path.to_owned(), require_instance: true };
        Self { name: "leafref".to_owned(), kind }
    }

    /// `union`.
    pub fn union(members: Vec<Ty>) -> Self {
        Self { name: "union".to_owned(), kind: Pending::Union(members) }
    }

    /// The name of a typedef for it.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// One more span of `range`, for integers.
    #[must_use]
    pub fn range(mut self, min: i128, max: i128) -> Self {
        match &mut self.kind {
            Pending::Ready(Type::Integer { range, .. }) => range.push(Span { min, max }),
            Pending::Ready(Type::Decimal64 { range, .. }) => {
                let clamp = |value: i128| i64::try_from(value).unwrap_or(i64::MAX);
                range.push(Span { min: clamp(min), max: clamp(max) });
            }
            _ => {}
        }
        self
    }

    /// One more span of `length`, for strings and binaries.
    #[must_use]
    pub fn length(mut self, min: u64, max: u64) -> Self {
        if let Pending::Ready(Type::String { length, .. } | Type::Binary { length }) = &mut self.kind {
            length.push(Span { min, max });
        }
        self
    }

    /// One more `pattern`, for strings.
    #[must_use]
    pub fn pattern(mut self, regex: &str) -> Self {
        if let Pending::Ready(Type::String { patterns, .. }) = &mut self.kind {
            let regex = regex.to_owned();
            patterns.push(Pattern { regex, invert: false, message: None, app_tag: None });
        }
        self
    }

    /// The canonical form, for strings.
    #[must_use]
    pub fn canonical(mut self, form: Canonical) -> Self {
        if let Pending::Ready(Type::String { canonical, .. }) = &mut self.kind {
            *canonical = form;
        }
        self
    }

    /// `require-instance false`, for leafrefs.
    #[must_use]
    pub fn loose(mut self) -> Self {
        if let Pending::Leafref { require_instance, .. } = &mut self.kind {
            *require_instance = false;
        }
        self
    }
}

fn named(names: &[&str]) -> Vec<Named> {
    let make = |(value, name): (i64, &&str)| Named { name: (*name).to_owned(), value, description: None };
    (0..).zip(names).map(make).collect()
}
