//! From libyang's compiled nodes to the plain schema.

use crate::modules::ON_CHANGE;
use crate::raw::{IdentityRef, ModuleRef, NodeRef, Written};
use crate::{targets, types};
use cats_yang_tree::schema::{
    Expression, Flags, Identity, IdentityId, Module, ModuleId, Must, Node, NodeId, NodeKind, Schema, Status,
};
use std::collections::HashMap;
use yang5::ffi;

/// What the conversion of one module set needs to look up.
pub(crate) struct Names {
    modules: Vec<ModuleRef>,
    nodes: HashMap<usize, NodeId>,
    identities: HashMap<(ModuleId, &'static str), IdentityId>,
}

impl Names {
    pub(crate) fn module(&self, module: ModuleRef) -> Option<ModuleId> {
        let index = self.modules.iter().position(|candidate| *candidate == module)?;
        u16::try_from(index).ok().map(ModuleId)
    }

    pub(crate) fn identity(&self, identity: IdentityRef) -> Option<IdentityId> {
        self.identities.get(&(self.module(identity.module()?)?, identity.name())).copied()
    }

    fn node(&self, node: NodeRef) -> Option<NodeId> {
        self.nodes.get(&node.address()).copied()
    }

    /// An expression; `module` is that of the node it stands on.
    pub(crate) fn expression(&self, written: &Written, module: ModuleId, on_parent: bool) -> Expression {
        let prefixes = written.prefixes.iter();
        Expression {
            text: fold(written.text),
            prefixes: prefixes
                .filter_map(|(prefix, module)| Some(((*prefix).to_owned(), self.module(*module)?)))
                .collect(),
            module,
            on_parent,
        }
    }
}

/// The schema of these modules, which are ordered by name.
pub(crate) fn schema(modules: &[ModuleRef]) -> Schema {
    let mut walked: Vec<(NodeRef, Option<NodeId>)> = Vec::new();
    let mut roots = Vec::new();
    for module in modules {
        for root in roots_of(*module) {
            roots.push(walk(root, None, &mut walked));
        }
    }
    let mut names = Names { modules: modules.to_vec(), nodes: HashMap::new(), identities: HashMap::new() };
    for (index, (node, _)) in walked.iter().enumerate() {
        names.nodes.insert(node.address(), node_id(index));
    }
    let identities = identities(&mut names);
    let mut schema = Schema::default();
    schema.modules = modules.iter().map(|module| module_of(*module, modules)).collect();
    schema.identities = identities;
    schema.roots = roots;
    schema.nodes = walked
        .iter()
        .enumerate()
        .map(|(index, (node, parent))| convert(&names, index, *node, *parent))
        .collect();
    mark_standard(&mut schema);
    inherit_flags(&mut schema);
    unorder_told_state(&mut schema);
    targets::resolve(&mut schema);
    schema.indexed()
}

/// The top-level nodes that the module's text has: libyang adds a container of its own, to parse replies with.
fn roots_of(module: ModuleRef) -> Vec<NodeRef> {
    let added = |node: &NodeRef| module.name() == "ietf-netconf" && node.name() == "rpc-error";
    module.roots().into_iter().filter(|node| !added(node)).collect()
}

/// Parents first, so a node's id is larger than its parent's.
fn walk(node: NodeRef, parent: Option<NodeId>, walked: &mut Vec<(NodeRef, Option<NodeId>)>) -> NodeId {
    let id = node_id(walked.len());
    walked.push((node, parent));
    for child in node.children() {
        walk(child, Some(id), walked);
    }
    id
}

fn node_id(index: usize) -> NodeId {
    NodeId(u32::try_from(index).unwrap_or(u32::MAX))
}

fn module_of(module: ModuleRef, all: &[ModuleRef]) -> Module {
    let deviating = all.iter().filter(|by| by.implemented() && by.deviates(module));
    Module {
        name: module.name().to_owned(),
        namespace: module.namespace().to_owned(),
        prefix: module.prefix().to_owned(),
        revision: module.revision().map(str::to_owned),
        implemented: module.implemented(),
        features: module.features().into_iter().map(str::to_owned).collect(),
        deviations: deviating.map(|by| by.name().to_owned()).collect(),
    }
}

/// All identities with all their ancestors; libyang knows the direct descendants.
fn identities(names: &mut Names) -> Vec<Identity> {
    let mut all: Vec<IdentityRef> = Vec::new();
    let mut identities = Vec::new();
    for (index, module) in names.modules.iter().enumerate() {
        let id = ModuleId(u16::try_from(index).unwrap_or(u16::MAX));
        for identity in module.identities() {
            let at = IdentityId(u32::try_from(all.len()).unwrap_or(u32::MAX));
            names.identities.insert((id, identity.name()), at);
            all.push(identity);
            identities.push(Identity { module: id, name: identity.name().to_owned(), ancestors: Vec::new() });
        }
    }
    for (index, base) in all.iter().enumerate() {
        let base_id = IdentityId(u32::try_from(index).unwrap_or(u32::MAX));
        let mut pending = base.derived();
        while let Some(derived) = pending.pop() {
            let found = names.identity(derived).and_then(|id| identities.get_mut(id.0 as usize));
            let Some(identity) = found else { continue };
            if !identity.ancestors.contains(&base_id) {
                identity.ancestors.push(base_id);
                pending.extend(derived.derived());
            }
        }
    }
    identities
}

fn convert(names: &Names, index: usize, node: NodeRef, parent: Option<NodeId>) -> Node {
    let module = node.module().and_then(|module| names.module(module)).unwrap_or(ModuleId(0));
    let when = |when: crate::raw::WhenRef| names.expression(&when.condition(), module, !when.is_on(node));
    let must = |must: crate::raw::MustRef| Must {
        condition: names.expression(&must.condition(), module, false),
        message: must.message().map(fold),
        app_tag: must.app_tag().map(str::to_owned),
    };
    let kind = kind(names, node, module);
    Node {
        id: node_id(index),
        parent,
        module,
        name: node.name().to_owned(),
        config: node.has(ffi::LYS_CONFIG_W),
        status: status(node),
        description: node.description().map(fold).filter(|text| !text.is_empty()),
        flags: flags(node, &kind),
        kind,
        children: node.children().into_iter().filter_map(|child| names.node(child)).collect(),
        whens: node.whens().into_iter().map(when).collect(),
        musts: node.musts().into_iter().map(must).collect(),
    }
}

fn status(node: NodeRef) -> Status {
    if node.has(ffi::LYS_STATUS_OBSLT) {
        Status::Obsolete
    } else if node.has(ffi::LYS_STATUS_DEPRC) {
        Status::Deprecated
    } else {
        Status::Current
    }
}

fn kind(names: &Names, node: NodeRef, module: ModuleId) -> NodeKind {
    let half = |name: &str| {
        let half = node.children().into_iter().find(|child| child.name() == name);
        half.and_then(|half| names.node(half)).unwrap_or(NodeId(u32::MAX))
    };
    match node.kind() {
        ffi::LYS_CONTAINER => NodeKind::Container { presence: node.has(ffi::LYS_PRESENCE) },
        ffi::LYS_LIST => list(names, node),
        ffi::LYS_LEAF => NodeKind::Leaf {
            ty: types::of_node(names, node, module),
            mandatory: node.has(ffi::LYS_MAND_TRUE),
            default: node.defaults().into_iter().next(),
            units: node.units().map(str::to_owned),
        },
        ffi::LYS_LEAFLIST => {
            let (min_elements, max_elements) = node.elements();
            NodeKind::LeafList {
                ty: types::of_node(names, node, module),
                user_ordered: node.has(ffi::LYS_ORDBY_USER),
                min_elements,
                max_elements,
                defaults: node.defaults(),
                units: node.units().map(str::to_owned),
            }
        }
        ffi::LYS_CHOICE => NodeKind::Choice {
            mandatory: node.has(ffi::LYS_MAND_TRUE),
            default_case: node.default_case().and_then(|case| names.node(case)),
        },
        ffi::LYS_CASE => NodeKind::Case,
        ffi::LYS_ANYXML => NodeKind::Anyxml { mandatory: node.has(ffi::LYS_MAND_TRUE) },
        ffi::LYS_RPC => NodeKind::Rpc { input: half("input"), output: half("output") },
        ffi::LYS_ACTION => NodeKind::Action { input: half("input"), output: half("output") },
        ffi::LYS_INPUT => NodeKind::Input,
        ffi::LYS_OUTPUT => NodeKind::Output,
        ffi::LYS_NOTIF => NodeKind::Notification,
        _ => NodeKind::Anydata { mandatory: node.has(ffi::LYS_MAND_TRUE) },
    }
}

fn list(names: &Names, node: NodeRef) -> NodeKind {
    let (min_elements, max_elements) = node.elements();
    let ids = |nodes: Vec<NodeRef>| nodes.into_iter().filter_map(|leaf| names.node(leaf)).collect();
    NodeKind::List {
        keys: ids(node.children().into_iter().filter(|child| child.has_key_flag()).collect()),
        user_ordered: node.has(ffi::LYS_ORDBY_USER),
        min_elements,
        max_elements,
        uniques: node.uniques().into_iter().map(ids).collect(),
    }
}

impl NodeRef {
    /// `LYS_KEY` means something else on nodes that are no leafs.
    fn has_key_flag(self) -> bool {
        self.kind() == ffi::LYS_LEAF && self.has(ffi::LYS_KEY)
    }
}

/// Who may read a secret can use it, be it a hash that is guessed at elsewhere: it takes a rule that permits it.
fn flags(node: NodeRef, kind: &NodeKind) -> Flags {
    let secret = match kind {
        NodeKind::Leaf { ty, .. } | NodeKind::LeafList { ty, .. } => ty.is_crypt_hash(),
        _ => false,
    };
    let mut flags = Flags { sensitive: secret, default_deny_all: secret, ..Flags::default() };
    for used in node.extensions() {
        match (used.module, used.name) {
            ("cats-types", "on-change") => flags.on_change = true,
            ("cats-types", "hidden") => flags.hidden = true,
            ("cats-types", "compress") => flags.compress = true,
            ("cats-types", "column") => {
                flags.column = used.argument.and_then(|position| position.parse().ok())
            }
            ("cats-types", "alias") => flags.alias = used.argument.map(str::to_owned),
            ("ietf-netconf-acm", "default-deny-write") => flags.default_deny_write = true,
            ("cats-types", "sensitive") | ("ietf-netconf-acm", "default-deny-all") => {
                flags.default_deny_all = true;
                flags.sensitive = true;
            }
            _ => {}
        }
    }
    flags
}

/// Standard modules cannot carry our marks.
fn mark_standard(schema: &mut Schema) {
    let names: Vec<String> = schema.modules.iter().map(|module| module.name.clone()).collect();
    for node in schema.nodes.iter_mut().filter(|node| !node.config) {
        let module = names.get(usize::from(node.module.0)).map_or("", String::as_str);
        node.flags.on_change |= ON_CHANGE.contains(&(module, node.name.as_str()));
    }
}

/// `on-change` and `sensitive` hold for a whole subtree.
fn inherit_flags(schema: &mut Schema) {
    for index in 0..schema.nodes.len() {
        let parent = schema.nodes.get(index).and_then(|node| node.parent);
        let Some(above) = parent.and_then(|id| schema.nodes.get(id.0 as usize)) else { continue };
        let (on_change, sensitive) = (above.flags.on_change, above.flags.sensitive);
        if let Some(node) = schema.nodes.get_mut(index) {
            node.flags.on_change |= on_change;
            node.flags.sensitive |= sensitive;
        }
    }
}

/// Lists of state that their descriptions give an order: the latest first (RFC 8632 section 6).
const IN_ORDER: [(&str, &str); 2] =
    [("ietf-alarms", "status-change"), ("ietf-alarms", "operator-state-change")];

/// State has no order that anybody gave it (RFC 7950 section 7.7.7), though libyang takes its lists for ordered by their
/// users. Where state is told of as it changes an entry that comes is created, not inserted at a place, and one that comes
/// anew has not moved.
fn unorder_told_state(schema: &mut Schema) {
    let told = schema.nodes.iter().enumerate().filter(|(_, node)| node.flags.on_change && !node.config);
    let told: Vec<NodeId> = told.map(|(index, _)| node_id(index)).collect();
    let modules: Vec<String> = schema.modules.iter().map(|module| module.name.clone()).collect();
    let in_order = |node: &Node| {
        let module = modules.get(node.module.0 as usize).map_or("", String::as_str);
        IN_ORDER.contains(&(module, node.name.as_str()))
    };
    for id in told {
        let mut at = Some(id);
        while let Some(node) =
            at.and_then(|id| schema.nodes.get_mut(id.0 as usize)).filter(|node| !node.config)
        {
            let stays = in_order(node);
            if let NodeKind::List { keys, user_ordered, .. } = &mut node.kind {
                *user_ordered &= keys.is_empty() || stays;
            }
            at = node.parent;
        }
    }
}

/// One paragraph: white space, line ends included, becomes one blank.
pub(crate) fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{default_modules, load};
    use cats_yang_tree::schema::Type;

    #[test]
    fn lists_of_state_that_is_told_of_as_it_changes_have_no_order() {
        let compiled = load(&default_modules()).unwrap();
        let schema = compiled.schema();
        let ordered = |path: &[&str]| {
            let mut at = None;
            for name in path {
                at = schema.data_children_of(at).iter().copied().find(|id| schema.node(*id).name == *name);
            }
            matches!(schema.node(at.unwrap()).kind, NodeKind::List { user_ordered: true, .. })
        };
        assert!(!ordered(&["routing", "cats", "forwarder", "bindings", "binding"]));
        assert!(!ordered(&["routing", "cats", "path-selector", "service-table", "entry", "record"]));
        assert!(ordered(&["alarms", "alarm-list", "alarm", "status-change"]), "the latest comes first");
        assert!(ordered(&["nacm", "rule-list", "rule"]), "what users order stays in their order");
    }

    #[test]
    fn our_leafref_targets_are_those_of_libyang() {
        let compiled = load(&default_modules()).unwrap();
        let schema = compiled.schema();
        let mut walked = Vec::new();
        let all = compiled.context.modules();
        for module in schema.modules.iter().filter_map(|known| {
            all.iter()
                .find(|module| module.name() == known.name && module.revision() == known.revision.as_deref())
        }) {
            for root in roots_of(*module) {
                walk(root, None, &mut walked);
            }
        }
        assert_eq!(walked.len(), schema.nodes.len());
        let mut compared = 0;
        for (index, (node, _)) in walked.iter().enumerate() {
            let (NodeKind::Leaf { ty, .. } | NodeKind::LeafList { ty, .. }) = &schema.nodes[index].kind
            else {
                continue;
            };
            let Type::Leafref { target, .. } = &ty.base else { continue };
            let theirs = node.leafref_target().map(|target| target.address());
            let ours = target.map(|target| walked[target.0 as usize].0.address());
            assert_eq!(ours, theirs, "{}", node.name());
            assert!(ours.is_some(), "{}", node.name());
            compared += 1;
        }
        assert!(compared > 3, "{compared} leafrefs");
    }
}
