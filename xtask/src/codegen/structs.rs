//! Structs for containers and lists, and the root.

use super::names::{self, Names, Source, Space, snake};
use super::types::{self, Rust};
use crate::Failure;
use cats_yang_tree::schema::{Node, NodeId, NodeKind, Schema, TypeRef};
use std::fmt::Write as _;

/// Where the model begins: the container of `ietf-cats`, and what `cats-*` modules have at the top.
pub(crate) struct Root {
    pub(crate) node: NodeId,
    /// JSON names from the top to the node itself.
    members: Vec<String>,
}

/// The node that holds most of the model. A new revision of the draft that renames it is met here.
const CATS: [(&str, &str); 2] = [("ietf-routing", "routing"), ("ietf-cats", "cats")];

/// The roots of a tree.
pub(crate) fn roots(schema: &Schema, space: Space) -> Result<Vec<Root>, Failure> {
    let mut at = None;
    let mut members = Vec::new();
    for (module, name) in CATS {
        let id = schema.module_by_name(module).and_then(|module| schema.child(at, module, name));
        let Some(id) = id else { return Err(Failure(format!("codegen: there is no {module}:{name}"))) };
        members.push(member(schema, at, id));
        at = Some(id);
    }
    let mut roots: Vec<Root> = at.into_iter().map(|node| Root { node, members: members.clone() }).collect();
    for id in schema.data_children_of(None) {
        let node = schema.node(*id);
        let ours = schema.module_of(*id).name.starts_with("cats-");
        if ours
            && belongs(schema, space, *id)
            && matches!(node.kind, NodeKind::Container { .. } | NodeKind::List { .. })
        {
            roots.push(Root { node: *id, members: vec![member(schema, None, *id)] });
        }
    }
    Ok(roots)
}

/// The JSON name of a node below `parent`: with its module where that changes.
fn member(schema: &Schema, parent: Option<NodeId>, id: NodeId) -> String {
    let node = schema.node(id);
    match parent {
        Some(parent) if schema.node(parent).module == node.module => node.name.clone(),
        _ => format!("{}:{}", schema.module_of(id).name, node.name),
    }
}

/// A member of a struct.
struct Member {
    ident: String,
    json: String,
    doc: String,
    /// The Rust type as it is declared.
    declared: String,
    /// The leaf's type, when the member is a plain leaf.
    required: Option<Rust>,
    /// For a leaf with a default: the expression, its type, and whether it is a reference.
    default: Option<(String, String)>,
    /// Not a key: it has to be in a value.
    mandatory: bool,
}

/// Generates the struct of a container or list and all below it.
pub(crate) fn generate(names: &mut Names<'_>, id: NodeId) -> Result<String, Failure> {
    let source = Source::Struct(names.space, id);
    if let Some(path) = names.path(&source) {
        return Ok(path);
    }
    let schema = names.schema;
    let node = schema.node(id);
    let module = schema.module_of(id).name.clone();
    let wanted = names.of_node(id);
    let name = names.claim(source.clone(), &module, wanted.into_iter());
    let mut members = Vec::new();
    for child in schema.data_children(id) {
        if belongs(schema, names.space, *child) {
            members.push(member_of(names, node, *child)?);
        }
    }
    distinguish(&mut members);
    let mut text = declaration(&name, node, &members);
    text += &branch(&name, &members);
    text += &accessors(&name, &members);
    if let NodeKind::List { keys, .. } = &node.kind {
        text += &entry(&name, node, keys, schema, &members);
    }
    names.add(&module, text);
    Ok(names.path(&source).unwrap_or_default())
}

/// Whether a node is in a tree: every node of configuration; or of state, with the keys above and the containers
/// and lists on the way.
fn belongs(schema: &Schema, space: Space, id: NodeId) -> bool {
    let node = schema.node(id);
    match (space, &node.kind) {
        (Space::Config, _) => node.config,
        (Space::Operations, _) => true,
        (Space::State, NodeKind::Leaf { .. } | NodeKind::LeafList { .. }) => {
            !node.config || schema.is_key(id)
        }
        (Space::State, _) => has_state(schema, id),
    }
}

fn has_state(schema: &Schema, id: NodeId) -> bool {
    !schema.node(id).config || schema.data_children(id).iter().any(|child| has_state(schema, *child))
}

fn member_of(names: &mut Names<'_>, parent: &Node, id: NodeId) -> Result<Member, Failure> {
    let schema = names.schema;
    let node = schema.node(id);
    let mut member = Member {
        ident: snake(&node.name),
        json: member(schema, Some(parent.id), id),
        doc: node.description.clone().unwrap_or_default(),
        declared: String::new(),
        required: None,
        default: None,
        mandatory: false,
    };
    match &node.kind {
        NodeKind::Leaf { .. } => leaf(names, parent, node, &mut member)?,
        NodeKind::LeafList { ty, units, .. } => {
            member.declared = format!("crate::field::LeafList<{}>", types::of_leaf(names, node, ty)?.path);
            if let Some(units) = units {
                let _ = write!(member.doc, " Unit: {units}.");
            }
        }
        NodeKind::Container { presence } => {
            let inner = format!("std::sync::Arc<{}>", generate(names, id)?);
            let presence = *presence && names.space != Space::State;
            member.declared = if presence { format!("Option<{inner}>") } else { inner };
        }
        // The order of a list of state is the node's own affair (RFC 7950 section 7.7.7): here that of its keys.
        NodeKind::List { user_ordered, keys, .. } if !(keys.is_empty() || *user_ordered && node.config) => {
            member.declared = format!("crate::field::List<{}>", generate(names, id)?);
        }
        NodeKind::List { .. } => {
            return Err(unsupported(schema, node, "list that is user-ordered or has no key"));
        }
        NodeKind::Anydata { .. } | NodeKind::Anyxml { .. } => {
            return Err(unsupported(schema, node, "anydata"));
        }
        _ => return Err(unsupported(schema, node, "node of that kind")),
    }
    Ok(member)
}

/// A key, and a mandatory leaf that stands as long as its parent does, are plain values; others are optional.
fn leaf(names: &mut Names<'_>, parent: &Node, node: &Node, member: &mut Member) -> Result<(), Failure> {
    let schema = names.schema;
    let NodeKind::Leaf { ty, default, units, mandatory } = &node.kind else { return Ok(()) };
    let rust = types::of_leaf(names, node, ty)?;
    let key = schema.is_key(node.id);
    let whole = matches!(
        parent.kind,
        NodeKind::List { .. } | NodeKind::Container { presence: true } | NodeKind::Input | NodeKind::Output
    );
    let always = names.space != Space::State
        && *mandatory
        && whole
        && node.whens.is_empty()
        && schema.case_of(node.id).is_none();
    member.mandatory = key || always;
    member.declared = if member.mandatory { rust.path.clone() } else { format!("Option<{}>", rust.path) };
    member.default = match default {
        Some(text) if !key => Some(default_of(schema, node, &rust, ty, text)?),
        _ => None,
    };
    member.required = member.mandatory.then_some(rust);
    for (word, text) in [("Unit", units.as_deref()), ("Default", default.as_deref())] {
        if let Some(text) = text {
            let _ = write!(member.doc, " {word}: {text}.");
        }
    }
    Ok(())
}

fn unsupported(schema: &Schema, node: &Node, what: &str) -> Failure {
    Failure(format!(
        "codegen: {}: the model has no {what} yet; add it to yang/model/src/field.rs",
        schema.path_of(node.id)
    ))
}

fn default_of(
    schema: &Schema,
    node: &Node,
    rust: &Rust,
    ty: &TypeRef,
    text: &str,
) -> Result<(String, String), Failure> {
    types::default(rust, ty, text).ok_or_else(|| unsupported(schema, node, "default for that type"))
}

/// Where two modules give a struct members of one name, all get that of their module in front.
fn distinguish(members: &mut [Member]) {
    let all: Vec<String> = members.iter().map(|member| member.ident.clone()).collect();
    for member in members {
        let twice = all.iter().filter(|ident| **ident == member.ident).count() > 1;
        if let Some((module, name)) = member.json.split_once(':').filter(|_| twice) {
            member.ident = snake(&format!("{module}-{name}"));
        }
    }
}

fn declaration(name: &str, node: &Node, members: &[Member]) -> String {
    let by_hand = members.iter().any(|member| member.required.is_some());
    let mut text = names::doc(node.description.as_deref().unwrap_or(&node.name), "");
    let derived = if by_hand { "" } else { ", Default" };
    let _ = writeln!(text, "#[derive(Debug, Clone, PartialEq{derived})]\npub struct {name} {{");
    for member in members {
        text += &names::doc(&member.doc, "    ");
        let _ = writeln!(text, "    pub {}: {},", member.ident, member.declared);
    }
    text += "}\n\n";
    if by_hand {
        text += &default_impl(name, members);
    }
    text
}

fn default_impl(name: &str, members: &[Member]) -> String {
    let mut text = format!("impl Default for {name} {{\n    fn default() -> Self {{\n        Self {{\n");
    for member in members {
        let value = match &member.required {
            Some(rust) => format!("<{} as crate::leaf::Leaf>::blank()", rust.path),
            None => "Default::default()".to_owned(),
        };
        let _ = writeln!(text, "            {}: {value},", member.ident);
    }
    text + "        }\n    }\n}\n\n"
}

fn branch(name: &str, members: &[Member]) -> String {
    let required: Vec<String> =
        members.iter().filter(|member| member.mandatory).map(|member| format!("{:?}", member.json)).collect();
    let mut text = format!(
        "impl crate::field::Branch for {name} {{\n    const REQUIRED: &'static [&'static str] = &[{}];\n\n    \
         fn field(&mut self, member: &str) -> Option<&mut dyn crate::field::Field> {{\n",
        required.join(", ")
    );
    if members.is_empty() {
        text += "        let _ = member;\n        None\n    }\n\n";
    } else {
        text += "        Some(match member {\n";
        for member in members {
            let _ = writeln!(text, "            {:?} => &mut self.{},", member.json, member.ident);
        }
        text += "            _ => return None,\n        })\n    }\n\n";
    }
    text += "    fn fields(&self) -> Vec<(&'static str, &dyn crate::field::Field)> {\n        vec![\n";
    for member in members {
        let _ = writeln!(text, "            ({:?}, &self.{}),", member.json, member.ident);
    }
    text + "        ]\n    }\n}\n\n"
}

/// A method for each leaf with a default, which applies it.
fn accessors(name: &str, members: &[Member]) -> String {
    let with_default: Vec<&Member> = members.iter().filter(|member| member.default.is_some()).collect();
    if with_default.is_empty() {
        return String::new();
    }
    let mut text = format!("impl {name} {{\n");
    for member in with_default {
        let Some((expression, ty)) = &member.default else { continue };
        text += &names::doc(&member.doc, "    ");
        let body = if ty == "&str" {
            format!("as_deref().unwrap_or({expression})")
        } else {
            format!("unwrap_or({expression})")
        };
        let _ = writeln!(text, "    pub fn {0}(&self) -> {ty} {{ self.{0}.{body} }}\n", member.ident);
    }
    text + "}\n\n"
}

fn entry(name: &str, node: &Node, keys: &[NodeId], schema: &Schema, members: &[Member]) -> String {
    let of_key = |key: &NodeId| {
        let json = member(schema, Some(node.id), *key);
        members
            .iter()
            .find(|member| member.json == json)
            .and_then(|member| Some((member, member.required.as_ref()?)))
    };
    let keys: Vec<(&Member, &Rust)> = keys.iter().filter_map(of_key).collect();
    let (mut text, ty) = match keys.as_slice() {
        [(_, rust)] => (String::new(), rust.path.clone()),
        _ => (key_struct(name, &keys), format!("{name}Key")),
    };
    let single = keys.len() == 1;
    let idents = keys.iter().map(|(member, _)| member.ident.clone()).collect::<Vec<_>>().join(", ");
    let json = keys.iter().map(|(member, _)| format!("{:?}", member.json)).collect::<Vec<_>>().join(", ");
    let of = |member: &Member, rust: &Rust, owner: &str| {
        format!("{owner}.{}{}", member.ident, if rust.copy { "" } else { ".clone()" })
    };
    let _ = writeln!(text, "impl crate::field::Entry for {name} {{\n    type Key = {ty};\n");
    let _ = writeln!(text, "    const KEYS: &'static [&'static str] = &[{json}];\n");
    let list = |with: &dyn Fn(&Member, &Rust) -> String| {
        keys.iter().map(|(member, rust)| with(member, rust)).collect::<Vec<_>>().join(" ")
    };
    let built = |values: String| if single { values } else { format!("{name}Key {{ {values} }}") };
    let key = list(&|member, rust| match single {
        true => of(member, rust, "self"),
        false => format!("{}: {},", member.ident, of(member, rust, "self")),
    });
    let _ = writeln!(text, "    fn key(&self) -> Self::Key {{ {} }}\n", built(key));
    let parsed = list(&|member, _| match single {
        true => format!("crate::leaf::Leaf::parse({})", member.ident),
        false => format!("{0}: crate::leaf::Leaf::parse({0})?,", member.ident),
    });
    let _ = writeln!(
        text,
        "    fn parse_key(texts: &[&str]) -> Result<Self::Key, String> {{\n        let [{idents}] = texts else {{ return \
         Err(\"its keys are expected\".to_owned()) }};\n        {}\n    }}\n",
        if single { parsed } else { format!("Ok({})", built(parsed)) }
    );
    let set = list(&|member, rust| match (single, rust.copy) {
        (true, true) => format!("self.{} = *key;", member.ident),
        (true, false) => format!("self.{}.clone_from(key);", member.ident),
        (false, _) => format!("self.{} = {};", member.ident, of(member, rust, "key")),
    });
    let _ = writeln!(text, "    fn set_key(&mut self, key: &Self::Key) {{ {set} }}\n}}\n");
    text
}

fn key_struct(name: &str, keys: &[(&Member, &Rust)]) -> String {
    let mut text = format!("/// The key of [`{name}`].\n");
    let copies = if keys.iter().all(|(_, rust)| rust.copy) { "Copy, " } else { "" };
    let _ = writeln!(text, "#[derive(Debug, Clone, {copies}PartialEq, Eq, Hash, PartialOrd, Ord)]");
    let _ = writeln!(text, "pub struct {name}Key {{");
    for (member, rust) in keys {
        text += &names::doc(&member.doc, "    ");
        let _ = writeln!(text, "    pub {}: {},", member.ident, rust.path);
    }
    text + "}\n\n"
}

/// The root of a tree, in its `mod.rs`.
pub(crate) fn root(names: &Names<'_>, roots: &[Root], modules: &[String]) -> String {
    let (name, what) = match names.space {
        Space::Config => ("Config", "The configuration of a node, as far as it is ours."),
        Space::State => {
            ("State", "The operational state of a node, with the keys of the entries that it stands in.")
        }
        // They have no root: see [`super::operations`].
        Space::Operations => return String::new(),
    };
    let mut text = format!("//! {what}\n\n");
    for module in modules {
        let _ = writeln!(text, "pub mod {module};");
    }
    if names.space == Space::Config {
        text += "pub mod operations;\npub mod state;\nmod leafs;\n\npub use leafs::{CONFIG_LEAVES, ON_CHANGE, STATE_LEAVES};\n";
    }
    let _ = writeln!(text, "\n/// {what}\n#[derive(Debug, Clone, PartialEq, Default)]\npub struct {name} {{");
    let mut members = Vec::new();
    for root in roots {
        let node = names.schema.node(root.node);
        let path = names.path(&Source::Struct(names.space, root.node)).unwrap_or_default();
        let declared = match node.kind {
            NodeKind::List { .. } => format!("crate::field::List<{path}>"),
            NodeKind::Container { presence: true } => format!("Option<std::sync::Arc<{path}>>"),
            _ => format!("std::sync::Arc<{path}>"),
        };
        text += &names::doc(node.description.as_deref().unwrap_or_default(), "    ");
        let ident = snake(&node.name);
        let _ = writeln!(text, "    pub {ident}: {declared},");
        members.push(ident);
    }
    text + "}\n\n" + &rooted(name, roots, &members)
}

fn rooted(name: &str, roots: &[Root], members: &[String]) -> String {
    let mut text = format!(
        "impl crate::field::Rooted for {name} {{\n    const ROOTS: &'static [&'static [&'static str]] = &["
    );
    for root in roots {
        let _ = writeln!(text, "&{:?},", root.members);
    }
    text += "];\n\n    fn root(&mut self, index: usize) -> Option<&mut dyn crate::field::Field> {\n        match index {\n";
    for (index, ident) in members.iter().enumerate() {
        let _ = writeln!(text, "            {index} => Some(&mut self.{ident}),");
    }
    text += "            _ => None,\n        }\n    }\n\n    fn roots(&self) -> Vec<&dyn crate::field::Field> {\n        vec![";
    for ident in members {
        let _ = writeln!(text, "&self.{ident},");
    }
    text + "]\n    }\n}\n"
}
