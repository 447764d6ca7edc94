//! Resolves leafref paths on the plain schema, those inside of unions too, for which libyang keeps no target.

use cats_yang_tree::schema::{Expression, Module, ModuleId, Node, NodeId, NodeKind, Schema, Type, TypeRef};

/// Fills in every leafref's target, and its real type from the target.
pub(crate) fn resolve(schema: &mut Schema) {
    let mut found: Vec<(NodeId, TypeRef)> = Vec::new();
    for node in &schema.nodes {
        if let Some(ty) = type_of(node) {
            let mut resolved = ty.clone();
            if fill(schema, node, &mut resolved, 0) {
                found.push((node.id, resolved));
            }
        }
    }
    for (id, resolved) in found {
        let node = schema.nodes.get_mut(id.0 as usize);
        if let Some(NodeKind::Leaf { ty, .. } | NodeKind::LeafList { ty, .. }) =
            node.map(|node| &mut node.kind)
        {
            *ty = resolved;
        }
    }
}

fn type_of(node: &Node) -> Option<&TypeRef> {
    match &node.kind {
        NodeKind::Leaf { ty, .. } | NodeKind::LeafList { ty, .. } => Some(ty),
        _ => None,
    }
}

/// Whether there was a leafref. A chain of leafrefs is finite (RFC 7950 section 9.9); `depth` guards all the same.
fn fill(schema: &Schema, node: &Node, ty: &mut TypeRef, depth: usize) -> bool {
    match &mut ty.base {
        Type::Leafref { path, target, real, .. } => {
            *target = target_of(schema, node, path);
            let referred = target.and_then(|id| schema.nodes.get(id.0 as usize));
            if let Some((referred, found)) = referred.and_then(|node| Some((node, type_of(node)?))) {
                **real = real_type(schema, referred, found, depth);
            }
            true
        }
        Type::Union(members) => {
            let mut any = false;
            for member in members {
                any |= fill(schema, node, member, depth);
            }
            any
        }
        _ => false,
    }
}

/// The first type of a chain of leafrefs that is none.
fn real_type(schema: &Schema, node: &Node, ty: &TypeRef, depth: usize) -> TypeRef {
    let mut resolved = ty.clone();
    if depth < 32 {
        fill(schema, node, &mut resolved, depth + 1);
    }
    match resolved.base {
        Type::Leafref { real, .. } => *real,
        _ => resolved,
    }
}

/// The node at the end of a leafref path (RFC 7950 section 9.9.2); predicates do not matter for it.
fn target_of(schema: &Schema, node: &Node, path: &Expression) -> Option<NodeId> {
    let plain = without_predicates(&path.text);
    let absolute = plain.starts_with('/');
    // The context node of a path is the leaf itself; `None` is the root.
    let mut at = if absolute { None } else { Some(node.id) };
    for step in plain.split('/').map(str::trim).filter(|step| !step.is_empty()) {
        at = match step {
            "." | "current()" => at,
            ".." => data_parent(schema, at?),
            name => Some(child(schema, at, name, path, node)?),
        };
    }
    at
}

fn without_predicates(text: &str) -> String {
    let mut depth = 0usize;
    let mut quote = None;
    let mut plain = String::new();
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) => quote = (c != open).then_some(open),
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') => depth = depth.saturating_sub(1),
            (None, _) if depth == 0 => plain.push(c),
            (None, _) => {}
        }
    }
    plain
}

fn data_parent(schema: &Schema, id: NodeId) -> Option<NodeId> {
    let mut parent = schema.nodes.get(id.0 as usize)?.parent;
    while let Some(node) = parent.and_then(|id| schema.nodes.get(id.0 as usize)) {
        match node.kind {
            NodeKind::Choice { .. } | NodeKind::Case => parent = node.parent,
            _ => break,
        }
    }
    parent
}

fn child(schema: &Schema, at: Option<NodeId>, name: &str, path: &Expression, leaf: &Node) -> Option<NodeId> {
    let (module, name) = match name.split_once(':') {
        Some((prefix, name)) => (module_of(schema, prefix, path)?, name),
        None => (leaf.module, name),
    };
    let children = match at {
        Some(id) => &schema.nodes.get(id.0 as usize)?.children,
        None => &schema.roots,
    };
    find(schema, children, module, name)
}

/// The module that a prefix stands for in the expression; its own name for one that libyang has normalised.
fn module_of(schema: &Schema, prefix: &str, path: &Expression) -> Option<ModuleId> {
    if let Some((_, module)) = path.prefixes.iter().find(|(known, _)| known == prefix) {
        return Some(*module);
    }
    let own = |module: &Module| module.prefix == prefix || module.name == prefix;
    let index = schema.modules.iter().position(own)?;
    u16::try_from(index).ok().map(ModuleId)
}

fn find(schema: &Schema, children: &[NodeId], module: ModuleId, name: &str) -> Option<NodeId> {
    for id in children {
        let node = schema.nodes.get(id.0 as usize)?;
        match node.kind {
            NodeKind::Choice { .. } | NodeKind::Case => {
                if let Some(found) = find(schema, &node.children, module, name) {
                    return Some(found);
                }
            }
            _ if node.module == module && node.name == name => return Some(*id),
            _ => {}
        }
    }
    None
}
