//! The constraints that are XPath expressions: `when`, `must`, and the paths of leafrefs whose values cannot be
//! counted. Each knows what it reads, so that a change leads to the places where it has to be asked again.

use super::constraints::chain;
use super::left::Left;
use crate::schema::{Expression, Node, NodeId, NodeKind, Schema, Type};
use crate::xpath::{Dependency, Expr, Scope};
use std::collections::BTreeSet;

/// An expression at a node.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    pub(super) node: NodeId,
    pub(super) asks: Asks,
    /// The data nodes from the root down to the context node; of a choice to what holds it.
    pub(super) chain: Vec<NodeId>,
}

/// What it decides.
#[derive(Debug, Clone)]
pub(super) enum Asks {
    /// Whether the node may exist, by [`Schema::whens`].
    When {
        /// It must exist if it may, or something inside of it must.
        obliges: bool,
    },
    /// Whether one case of the choice must exist, by the `when`s of the choice.
    Choice,
    /// Whether the configuration is valid: the `must` of that position.
    Must { at: usize, expr: Expr },
    /// The same, of a leafref: whether its target exists.
    Target { expr: Expr },
}

/// From changed nodes to the conditions that have to be asked again.
#[derive(Debug, Clone, Default)]
pub(super) struct Triggers {
    /// Per node: by another value or place of it.
    shallow: Vec<BTreeSet<Trigger>>,
    /// Per node: by its creation or deletion with all that is in it.
    deep: Vec<BTreeSet<Trigger>>,
}

/// A condition to be asked again at the instances below the first `depth` steps of the path that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Trigger {
    pub(super) condition: usize,
    pub(super) depth: usize,
}

/// Conditions as they are collected.
#[derive(Debug, Default)]
pub(super) struct Collected {
    conditions: Vec<Condition>,
    reads: Vec<BTreeSet<Dependency>>,
}

impl Collected {
    /// Those of a node of configuration; what cannot be indexed goes to `left`.
    pub(super) fn of_node(&mut self, schema: &Schema, node: &Node, left: &mut Vec<Left>) {
        self.whens(schema, node, left);
        for (at, must) in node.musts.iter().enumerate() {
            let found = read(schema, &must.condition).and_then(|expr| {
                let reads = depends(schema, &expr, Some(node.id))?;
                Ok((expr, reads))
            });
            match found {
                Ok((expr, reads)) => self.push(schema, node.id, Asks::Must { at, expr }, reads),
                Err(why) => left.push(Left { node: node.id, why: format!("must: {why}"), is_when: false }),
            }
        }
        if let NodeKind::Leaf { ty, .. } | NodeKind::LeafList { ty, .. } = &node.kind {
            self.target(schema, node.id, &ty.base, left);
        }
    }

    fn whens(&mut self, schema: &Schema, node: &Node, left: &mut Vec<Left>) {
        let is_choice = match &node.kind {
            NodeKind::Choice { mandatory, .. } => *mandatory && !node.whens.is_empty(),
            _ => false,
        };
        let parent = schema.data_parent(node.id);
        let mut reads = BTreeSet::new();
        let whens: Vec<(Result<Expr, String>, bool)> = if is_choice {
            node.whens.iter().map(|when| (read(schema, when), true)).collect()
        } else {
            let of_data = schema.whens(node.id).iter();
            of_data
                .map(|when| {
                    let expr = when.expression.clone();
                    (expr.map_err(|error| error.to_string()), when.on_parent)
                })
                .collect()
        };
        if whens.is_empty() {
            return;
        }
        for (expr, on_parent) in whens {
            let context = if on_parent { parent } else { Some(node.id) };
            match expr.and_then(|expr| depends(schema, &expr, context)) {
                Ok(found) => reads.extend(found),
                Err(why) => left.push(Left { node: node.id, why: format!("when: {why}"), is_when: true }),
            }
        }
        let asks = if is_choice { Asks::Choice } else { Asks::When { obliges: obliges(schema, node.id) } };
        self.push(schema, node.id, asks, reads);
    }

    /// A leafref is met when one of the nodes that its path finds has its value.
    fn target(&mut self, schema: &Schema, leaf: NodeId, ty: &Type, left: &mut Vec<Left>) {
        let Type::Leafref { path, require_instance: true, .. } = ty else { return };
        if super::constraints::indexable(schema, leaf).is_some() {
            return;
        }
        let scope = Scope::of_expression(path);
        let expr = Expr::parse(schema, &format!("{} = current()", path.text), scope);
        let found = expr.map_err(|error| error.to_string()).and_then(|expr| {
            let reads = depends(schema, &expr, Some(leaf))?;
            Ok((expr, reads))
        });
        match found {
            Ok((expr, reads)) => self.push(schema, leaf, Asks::Target { expr }, reads),
            Err(why) => left.push(Left { node: leaf, why: format!("leafref: {why}"), is_when: false }),
        }
    }

    fn push(&mut self, schema: &Schema, node: NodeId, asks: Asks, mut reads: BTreeSet<Dependency>) {
        let context = match asks {
            Asks::Choice => schema.data_parent(node),
            Asks::When { .. } | Asks::Must { .. } | Asks::Target { .. } => Some(node),
        };
        // What brings the context node itself into being where it is not stored.
        if let Some(existence) = context
            && let Ok(itself) = Expr::parse(schema, ".", Scope::of_modules())
            && let Ok(found) = itself.dependencies(schema, Some(existence))
        {
            reads.extend(found);
        }
        let chain = context.map_or_else(Vec::new, |node| chain(schema, None, node));
        self.conditions.push(Condition { node, asks, chain });
        self.reads.push(reads);
    }

    /// The conditions, each `when` after those that decide about what it reads, and what triggers them.
    pub(super) fn finish(self, schema: &Schema) -> (Vec<Condition>, Triggers) {
        let order = self.in_order(schema);
        let mut triggers = Triggers {
            shallow: vec![BTreeSet::new(); schema.nodes.len()],
            deep: vec![BTreeSet::new(); schema.nodes.len()],
        };
        for (condition, from) in order.iter().enumerate() {
            let (Some(found), Some(reads)) = (self.conditions.get(*from), self.reads.get(*from)) else {
                continue;
            };
            for read in reads {
                let trigger = Trigger { condition, depth: read.depth };
                triggers.add(read.node, trigger, true);
                // Where it is stored its case is taken.
                if schema.case_of(read.node).is_some() {
                    stored_by(schema, read.node, &mut |node| triggers.add(node, trigger, false));
                }
            }
            if let Asks::When { .. } = found.asks {
                let trigger = Trigger { condition, depth: found.chain.len() };
                stored_by(schema, found.node, &mut |node| triggers.add(node, trigger, false));
            }
            if let Some(host) = found.chain.last() {
                triggers.add(*host, Trigger { condition, depth: usize::MAX }, false);
            }
        }
        // Children have larger ids than their parents.
        for id in (0..schema.nodes.len()).rev() {
            let parent = schema.nodes.get(id).and_then(|node| node.parent);
            let below = triggers.deep.get(id).cloned().unwrap_or_default();
            if let Some(above) = parent.and_then(|parent| triggers.deep.get_mut(parent.0 as usize)) {
                above.extend(below);
            }
        }
        let conditions = order.iter().filter_map(|at| self.conditions.get(*at).cloned()).collect();
        (conditions, triggers)
    }

    /// Positions in which a `when` stands after the `when`s of what it reads and of what it stands in; those in a
    /// circle, which RFC 7950 section 7.21.5 forbids, as they come.
    fn in_order(&self, schema: &Schema) -> Vec<usize> {
        let is_when = |at: &usize| {
            self.conditions.get(*at).is_some_and(|condition| matches!(condition.asks, Asks::When { .. }))
        };
        let (mut waiting, mut order): (Vec<usize>, Vec<usize>) =
            (0..self.conditions.len()).partition(is_when);
        let others = std::mem::take(&mut order);
        while !waiting.is_empty() {
            let ready = waiting
                .iter()
                .position(|at| waiting.iter().all(|other| other == at || !self.decides(schema, *other, *at)));
            order.push(waiting.remove(ready.unwrap_or(0)));
        }
        order.extend(others);
        order
    }

    /// Can the `when` at `one` delete something that the one at `other` reads?
    fn decides(&self, schema: &Schema, one: usize, other: usize) -> bool {
        let (Some(one), Some(condition), Some(reads)) =
            (self.conditions.get(one), self.conditions.get(other), self.reads.get(other))
        else {
            return false;
        };
        let above = |mut node: NodeId| {
            while node != one.node {
                match schema.node(node).parent {
                    Some(parent) => node = parent,
                    None => return false,
                }
            }
            true
        };
        // Its own existence is among what it reads.
        reads.iter().any(|read| read.node != condition.node && above(read.node))
            || condition.node != one.node && above(condition.node)
    }
}

impl Triggers {
    /// By creation and deletion of `node`, and `also` by another value or place of it.
    fn add(&mut self, node: NodeId, trigger: Trigger, also: bool) {
        let kinds = [Some(&mut self.deep), Some(&mut self.shallow).filter(|_| also)];
        for kind in kinds.into_iter().flatten() {
            if let Some(of_node) = kind.get_mut(node.0 as usize) {
                of_node.insert(trigger);
            }
        }
    }

    /// By a change of `node` itself, or of it with all that is in it.
    pub(super) fn of(&self, node: NodeId, deep: bool) -> impl Iterator<Item = Trigger> {
        let kind = if deep { &self.deep } else { &self.shallow };
        kind.get(node.0 as usize).into_iter().flatten().copied()
    }
}

fn read(schema: &Schema, expression: &Expression) -> Result<Expr, String> {
    Expr::of_expression(schema, expression).map_err(|error| error.to_string())
}

fn depends(schema: &Schema, expr: &Expr, context: Option<NodeId>) -> Result<BTreeSet<Dependency>, String> {
    let found = expr.dependencies(schema, context).map_err(|error| error.to_string())?;
    Ok(found.into_iter().collect())
}

/// The nodes by whose creation a container without presence comes to be stored: no change speaks of it itself.
fn stored_by(schema: &Schema, container: NodeId, see: &mut dyn FnMut(NodeId)) {
    if schema.is_non_presence(container) {
        for child in schema.data_children(container) {
            see(*child);
            stored_by(schema, *child, see);
        }
    }
}

/// Is a node that does not exist missed, or something inside of it?
fn obliges(schema: &Schema, id: NodeId) -> bool {
    let node = schema.node(id);
    node.config
        && match &node.kind {
            NodeKind::Leaf { mandatory, .. }
            | NodeKind::Choice { mandatory, .. }
            | NodeKind::Anydata { mandatory }
            | NodeKind::Anyxml { mandatory } => *mandatory,
            NodeKind::List { min_elements, .. } | NodeKind::LeafList { min_elements, .. } => {
                *min_elements > 0
            }
            NodeKind::Container { presence: false } => node.children.iter().any(|id| obliges(schema, *id)),
            NodeKind::Case
            | NodeKind::Container { .. }
            | NodeKind::Rpc { .. }
            | NodeKind::Action { .. }
            | NodeKind::Input
            | NodeKind::Output
            | NodeKind::Notification => false,
        }
}
