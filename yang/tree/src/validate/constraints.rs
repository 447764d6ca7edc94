//! What a schema asks of a whole configuration, made ready once by [`Schema::indexed`].

use super::conditions::{Collected, Condition, Triggers};
use super::left::{self, Left};
use crate::schema::{NodeId, NodeKind, Schema, Type};
use crate::xpath::{Expr, When};
use std::collections::BTreeMap;

/// The constraints of a schema, and which nodes they speak of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Constraints {
    /// Leafrefs whose values are counted.
    pub(super) references: Vec<Reference>,
    /// Leafs that leafrefs refer to, and that are no single key of a list: their values are counted too.
    pub(super) holders: Vec<Holder>,
    /// All `unique` statements.
    pub(super) uniques: Vec<Unique>,
    /// All that are expressions, `when`s in the order in which they are decided.
    pub(super) conditions: Vec<Condition>,
    pub(super) triggers: Triggers,
    /// The `when`s of mandatory choices, whose context node is what holds the choice.
    pub(super) choices: BTreeMap<NodeId, Vec<When>>,
    /// What is left to libyang.
    pub(super) left: Vec<Left>,
    /// Per node.
    roles: Vec<Role>,
}

/// A leafref that must have a target.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    pub(super) leaf: NodeId,
    pub(super) target: NodeId,
    /// The levels from the root down to where its path begins to descend: what the values of leafref and target
    /// have in common. Their keys are the scope in which the values meet.
    pub(super) depth: usize,
    /// From there down to the target.
    pub(super) down: Vec<NodeId>,
    /// Where the values of the target are counted; without it the target is the only key of a list that stands
    /// below containers, and one look-up in that list answers.
    pub(super) holder: Option<usize>,
}

/// A leaf whose values are counted within a scope of so many levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Holder {
    pub(super) leaf: NodeId,
    pub(super) depth: usize,
}

/// A `unique`.
#[derive(Debug, Clone)]
pub(super) struct Unique {
    pub(super) list: NodeId,
    /// The levels from the root down to the list.
    pub(super) depth: usize,
    /// Each of its leafs as the data nodes from the list down to it.
    pub(super) chains: Vec<Vec<NodeId>>,
}

/// What a node is to the constraints, each as a position in the vector of its kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Role {
    pub(super) refers: Vec<usize>,
    pub(super) referred: Vec<usize>,
    pub(super) holds: Vec<usize>,
    /// Of a list.
    pub(super) uniques: Vec<usize>,
    /// Of a leaf that has to be unique, and of the containers between it and its list.
    pub(super) unique_part: Vec<usize>,
    /// The node or one below it is counted.
    pub(super) counted: bool,
}

impl Constraints {
    /// Those of `schema`, whose other look-ups are there already.
    pub(crate) fn of(schema: &Schema) -> Self {
        let mut constraints = Self { roles: vec![Role::default(); schema.nodes.len()], ..Self::default() };
        let configuration = configuration(schema);
        let mut collected = Collected::default();
        for (node, _) in schema.nodes.iter().zip(&configuration).filter(|(_, configured)| **configured) {
            constraints.leafref(schema, node.id);
            if let NodeKind::List { uniques, .. } = &node.kind {
                uniques.iter().for_each(|leafs| constraints.unique(schema, node.id, leafs));
            }
            collected.of_node(schema, node, &mut constraints.left);
            left::of_node(node, &mut constraints.left);
            if matches!(node.kind, NodeKind::Choice { mandatory: true, .. }) {
                let when = |when| When { expression: Expr::of_expression(schema, when), on_parent: true };
                constraints.choices.insert(node.id, node.whens.iter().map(when).collect());
            }
        }
        (constraints.conditions, constraints.triggers) = collected.finish(schema);
        constraints.mark_counted(schema);
        constraints
    }

    fn mark_counted(&mut self, schema: &Schema) {
        // Children have larger ids than their parents.
        for id in (0..schema.nodes.len()).rev() {
            let role = &self.roles[id];
            let counted = role.counted
                || !role.refers.is_empty()
                || !role.referred.is_empty()
                || !role.holds.is_empty()
                || !role.uniques.is_empty();
            self.roles[id].counted = counted;
            if let Some(parent) = schema.nodes[id].parent.filter(|_| counted) {
                self.roles[parent.0 as usize].counted = true;
            }
        }
    }

    pub(super) fn role(&self, id: NodeId) -> Option<&Role> {
        self.roles.get(id.0 as usize)
    }

    /// Is the node or one below it counted?
    pub(super) fn is_counted(&self, id: NodeId) -> bool {
        self.role(id).is_some_and(|role| role.counted)
    }

    fn role_mut(&mut self, id: NodeId) -> Option<&mut Role> {
        self.roles.get_mut(id.0 as usize)
    }

    fn leafref(&mut self, schema: &Schema, leaf: NodeId) {
        let Some((target, depth)) = indexable(schema, leaf) else { return };
        let down: Vec<NodeId> = chain(schema, None, target).split_off(depth);
        let reference = self.references.len();
        let holder = (!is_only_key(schema, &down)).then(|| self.holder(Holder { leaf: target, depth }));
        self.references.push(Reference { leaf, target, depth, down, holder });
        if let Some(role) = self.role_mut(leaf) {
            role.refers.push(reference);
        }
        if let Some(role) = self.role_mut(target) {
            role.referred.push(reference);
        }
    }

    fn holder(&mut self, holder: Holder) -> usize {
        if let Some(known) = self.holders.iter().position(|known| *known == holder) {
            return known;
        }
        self.holders.push(holder);
        let at = self.holders.len() - 1;
        if let Some(role) = self.role_mut(holder.leaf) {
            role.holds.push(at);
        }
        at
    }

    fn unique(&mut self, schema: &Schema, list: NodeId, leafs: &[NodeId]) {
        let chains: Vec<Vec<NodeId>> = leafs.iter().map(|leaf| chain(schema, Some(list), *leaf)).collect();
        let at = self.uniques.len();
        for id in chains.iter().flatten() {
            if let Some(role) = self.role_mut(*id).filter(|role| !role.unique_part.contains(&at)) {
                role.unique_part.push(at);
            }
        }
        if let Some(role) = self.role_mut(list) {
            role.uniques.push(at);
        }
        self.uniques.push(Unique { list, depth: chain(schema, None, list).len(), chains });
    }
}

/// Per node: can it stand in a configuration?
fn configuration(schema: &Schema) -> Vec<bool> {
    let mut configured: Vec<bool> = Vec::with_capacity(schema.nodes.len());
    for node in &schema.nodes {
        let structure = matches!(node.kind, NodeKind::Choice { .. } | NodeKind::Case);
        let kind = structure || crate::index::is_data(&node.kind);
        let above = node.parent.is_none_or(|id| configured.get(id.0 as usize).copied().unwrap_or(false));
        configured.push(kind && node.config && above);
    }
    configured
}

/// The target of a leafref that must exist, and the levels that both have in common, if its values can be counted.
pub(super) fn indexable(schema: &Schema, leaf: NodeId) -> Option<(NodeId, usize)> {
    let Type::Leafref { path, target: Some(target), require_instance: true, .. } =
        &schema.leaf_type(leaf)?.base
    else {
        return None;
    };
    let path = path.text.trim();
    let with_default = |id: NodeId| !schema.is_key(id) && !schema.default_values(id).is_empty();
    if path.contains(['[', '(']) || with_default(leaf) || with_default(*target) {
        return None;
    }
    let depth = if path.starts_with('/') {
        0
    } else {
        let ups = path.split('/').take_while(|step| step.trim() == "..").count();
        chain(schema, None, leaf).len().checked_sub(ups).filter(|_| ups > 0)?
    };
    schema.node(*target).config.then_some((*target, depth))
}

/// Does the path lead through containers to the only key of a list?
fn is_only_key(schema: &Schema, down: &[NodeId]) -> bool {
    let [above @ .., list, key] = down else { return false };
    let container = |id: &NodeId| matches!(schema.node(*id).kind, NodeKind::Container { .. });
    schema.list_keys(*list) == [*key] && above.iter().all(container)
}

/// The data nodes from below `top` down to `node`.
pub(super) fn chain(schema: &Schema, top: Option<NodeId>, node: NodeId) -> Vec<NodeId> {
    let up = |id: &NodeId| schema.data_parent(*id).filter(|parent| Some(*parent) != top);
    let mut chain: Vec<NodeId> = std::iter::successors(Some(node), up).collect();
    chain.reverse();
    chain
}
