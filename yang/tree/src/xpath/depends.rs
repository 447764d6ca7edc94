//! What an expression of a schema node may read: the ground on which validation finds, from a change, the context
//! nodes for which a `must` or `when` has to be evaluated again.
//!
//! The answer is an over-approximation over the schema alone. A [`Dependency`] names a schema node and how much of
//! the place of an instance the context node shares with it. Take `must "../../mtu > 5"` on `/if/sub/tag`, where
//! `if` and `sub` are lists: `mtu` is read below the same entry of `if`, so the dependency is
//! `{node: mtu, shared: if, depth: 1}`. When `/if[name='a']/mtu` changes, the first `depth` steps of that path,
//! `/if[name='a']`, are common to all context nodes concerned: they are the instances of `tag` below. With
//! `depth` 0 they are all instances.
//!
//! What counts as a change of a dependency: an instance of `node` is created, deleted, gets another value or another
//! place among its siblings. What is inside of a created or deleted subtree is created or deleted with it. A container
//! without presence is created with the first thing in it and deleted with the last: it then takes its case. A default
//! that comes into use or goes has no change of its own; what brings that about is a dependency too: the list entry
//! or presence container around it, the nodes of the other cases, what its `when` reads. A context node that is
//! itself created is to be evaluated whatever it depends on.

use super::function::Function;
use super::term::{Axis, Call, Path, Predicate, Start, Step, Term, Test};
use super::{Expr, Kind};
use crate::path::{self, InstancePath};
use crate::schema::{NodeId, NodeKind, Schema};
use std::collections::BTreeSet;
use std::fmt;

/// A schema node that an expression may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dependency {
    /// The node of which an instance is read: its existence, its place or its value.
    pub node: NodeId,
    /// The deepest node above both (or one of them itself) of which context and instance have the same instance;
    /// none for the root.
    pub shared: Option<NodeId>,
    /// How many steps lead from the root to `shared`; that many steps of the changed path are shared.
    pub depth: usize,
}

/// An expression that may read what cannot be told from the schema in reasonable bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotIndexable {
    /// The byte of the expression.
    pub at: usize,
    /// What stands there.
    pub what: &'static str,
}

impl fmt::Display for NotIndexable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {} may read any part of the tree", self.at, self.what)
    }
}

impl std::error::Error for NotIndexable {}

impl Dependency {
    /// The part of the path of a changed instance of [`Dependency::node`] that it shares with the context nodes.
    pub fn common<'p>(&self, changed: &'p InstancePath) -> &'p [path::Step] {
        changed.steps.get(..self.depth).unwrap_or(&changed.steps)
    }
}

impl Expr {
    /// What the expression may read when its context node is an instance of `context`, ordered and each once; for a
    /// `when` of a uses or an augment the context is the parent in data (none for the root). With the root as context it
    /// is also what a filter may select, each node standing for all that is in it.
    ///
    /// # Errors
    /// For expressions with `//` or another descendant axis, `preceding::`, `following::`, `deref()`, the string
    /// value of the root, or an implied node whose `when` has one of these; also for a filter that selects the root.
    pub fn dependencies(
        &self,
        schema: &Schema,
        context: Option<NodeId>,
    ) -> Result<Vec<Dependency>, NotIndexable> {
        let mut chain: Vec<NodeId> =
            std::iter::successors(context, |node| schema.data_parent(*node)).collect();
        chain.reverse();
        let own = Spot { node: context, shared: chain.len() };
        let mut reader = Reader { schema, read: BTreeSet::new(), implied: BTreeSet::new() };
        let focus = Focus { node: own, current: own };
        reader.evaluate(&self.term, focus)?;
        if context.is_none() && reader.nodes(&self.term, focus)?.iter().any(|spot| spot.node.is_none()) {
            return Err(NotIndexable { at: 0, what: "a path to the root" });
        }
        let dependency = |(node, depth): (NodeId, usize)| {
            let shared = depth.checked_sub(1).and_then(|at| chain.get(at)).copied();
            Dependency { node, shared, depth }
        };
        Ok(reader.read.into_iter().map(dependency).collect())
    }
}

/// Instances of a node that have the first `shared` levels in common with the context node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    /// None for the root.
    node: Option<NodeId>,
    shared: usize,
}

/// Where a part of the expression is evaluated.
#[derive(Clone, Copy)]
struct Focus {
    node: Spot,
    current: Spot,
}

type Spots = BTreeSet<Spot>;

struct Reader<'s> {
    schema: &'s Schema,
    read: BTreeSet<(NodeId, usize)>,
    /// Whose implicit existence was followed up.
    implied: BTreeSet<(NodeId, usize)>,
}

impl Reader<'_> {
    /// Notes what a term reads whose value is a boolean in the end: of node-sets, existence.
    fn evaluate(&mut self, term: &Term, focus: Focus) -> Result<(), NotIndexable> {
        self.operand(term, focus, false)
    }

    /// As [`Reader::evaluate`]; `value` says whether the string-values of nodes are asked for.
    fn operand(&mut self, term: &Term, focus: Focus, value: bool) -> Result<(), NotIndexable> {
        match term {
            Term::Literal(_) | Term::Number(_) => Ok(()),
            Term::Negate(term) => self.operand(term, focus, true),
            Term::Chain { first, rest } => {
                // Operands of `or` and `and` are booleans.
                let value = !matches!(rest.first(), Some((operator, _)) if operator.level() < 2);
                self.operand(first, focus, value)?;
                rest.iter().try_for_each(|(_, term)| self.operand(term, focus, value))
            }
            Term::Union(_) | Term::Path(_) => {
                for spot in self.nodes(term, focus)? {
                    self.reads(spot, value)?;
                }
                Ok(())
            }
            Term::Call(call) => {
                for spot in self.call(call, focus)? {
                    self.reads(spot, value)?;
                }
                Ok(())
            }
        }
    }

    /// The nodes of a node-set; what chooses them is noted, they themselves are not.
    fn nodes(&mut self, term: &Term, focus: Focus) -> Result<Spots, NotIndexable> {
        match term {
            Term::Path(path) => self.path(path, focus),
            Term::Union(terms) => {
                let mut all = Spots::new();
                for term in terms {
                    all.extend(self.nodes(term, focus)?);
                }
                Ok(all)
            }
            Term::Call(call) => self.call(call, focus),
            Term::Literal(_) | Term::Number(_) | Term::Negate(_) | Term::Chain { .. } => Ok(Spots::new()),
        }
    }

    fn call(&mut self, call: &Call, focus: Focus) -> Result<Spots, NotIndexable> {
        let function = call.function;
        if function == Function::Deref {
            return Err(NotIndexable { at: call.at, what: "deref()" });
        }
        let value = match function {
            Function::Count
            | Function::Boolean
            | Function::Not
            | Function::LocalName
            | Function::NamespaceUri
            | Function::Name => false,
            // All others take strings, numbers or the values of nodes.
            _ => true,
        };
        for argument in &call.arguments {
            self.operand(argument, focus, value)?;
        }
        if function.reads_context(call.arguments.len()) {
            self.reads(focus.node, value)?;
        }
        Ok(if function == Function::Current { Spots::from([focus.current]) } else { Spots::new() })
    }

    fn path(&mut self, path: &Path, focus: Focus) -> Result<Spots, NotIndexable> {
        let mut at = match &path.start {
            Start::Root => Spots::from([Spot { node: None, shared: 0 }]),
            Start::Context => Spots::from([focus.node]),
            Start::Current => Spots::from([focus.current]),
            Start::Filter { term, predicates } => {
                let found = self.nodes(term, focus)?;
                self.predicates(predicates, &found, focus)?;
                found
            }
        };
        for (index, step) in path.steps.iter().enumerate() {
            let last = index + 1 == path.steps.len();
            if !matches!(step.axis, Axis::Child | Axis::SelfNode) {
                // Turning back, a path does not lead through what it led to: whether that exists counts by itself.
                for spot in &at {
                    if self.depth(spot.node) > spot.shared {
                        self.reads(*spot, false)?;
                    }
                }
            }
            let mut next = Spots::new();
            for spot in at {
                self.step(spot, step, last, &mut next)?;
            }
            self.predicates(&step.predicates, &next, focus)?;
            at = next;
        }
        Ok(at)
    }

    fn predicates(
        &mut self,
        predicates: &[Predicate],
        spots: &Spots,
        focus: Focus,
    ) -> Result<(), NotIndexable> {
        for predicate in predicates {
            for spot in spots {
                self.operand(
                    &predicate.term,
                    Focus { node: *spot, ..focus },
                    predicate.term.kind() == Kind::Number,
                )?;
                if predicate.positional {
                    // The position is among siblings, with which no more than the parent is shared.
                    let above = self.depth(spot.node).saturating_sub(1);
                    self.reads(Spot { shared: spot.shared.min(above), ..*spot }, false)?;
                }
            }
        }
        Ok(())
    }

    fn step(&self, from: Spot, step: &Step, last: bool, out: &mut Spots) -> Result<(), NotIndexable> {
        let refused = |what| Err(NotIndexable { at: step.at, what });
        match step.axis {
            Axis::Descendant | Axis::DescendantOrSelf => return refused("'//' or a descendant axis"),
            Axis::Following => return refused("the axis following"),
            Axis::Preceding => return refused("the axis preceding"),
            Axis::Attribute => {}
            Axis::SelfNode => self.pass(Some(from), &step.test, out),
            Axis::Parent => self.pass(self.above(from), &step.test, out),
            Axis::Ancestor | Axis::AncestorOrSelf => {
                let first = if step.axis == Axis::Ancestor { self.above(from) } else { Some(from) };
                for spot in std::iter::successors(first, |spot| self.above(*spot)) {
                    self.pass(Some(spot), &step.test, out);
                }
            }
            Axis::FollowingSibling | Axis::PrecedingSibling => {
                if let Some(parent) = self.above(from) {
                    self.children(parent, &step.test, out);
                }
            }
            Axis::Child => {
                let is_leaf = from.node.is_some_and(|node| self.schema.leaf_type(node).is_some());
                if is_leaf && matches!(step.test, Test::Text | Test::Node) {
                    if !last {
                        return refused("a step from a text node");
                    }
                    // The text is the value of the leaf.
                    out.insert(from);
                } else {
                    self.children(from, &step.test, out);
                }
            }
        }
        Ok(())
    }

    fn children(&self, parent: Spot, test: &Test, out: &mut Spots) {
        for child in self.schema.data_children_of(parent.node) {
            self.pass(Some(Spot { node: Some(*child), shared: parent.shared }), test, out);
        }
    }

    fn above(&self, spot: Spot) -> Option<Spot> {
        let parent = self.schema.data_parent(spot.node?);
        Some(Spot { node: parent, shared: spot.shared.min(self.depth(parent)) })
    }

    fn pass(&self, spot: Option<Spot>, test: &Test, out: &mut Spots) {
        let Some(spot) = spot else { return };
        let passes = match (test, spot.node) {
            (Test::Node, _) => true,
            (Test::Text | Test::Nothing, _) | (_, None) => false,
            (Test::Any, Some(_)) => true,
            (Test::AnyOf(module), Some(node)) => *module == Some(self.schema.node(node).module),
            (Test::Name(named), Some(node)) => named.contains(self.schema.data_parent(node), node),
        };
        if passes {
            out.insert(spot);
        }
    }

    /// How many steps lead to instances of a node.
    fn depth(&self, node: Option<NodeId>) -> usize {
        std::iter::successors(node, |node| self.schema.data_parent(*node)).count()
    }

    fn reads(&mut self, spot: Spot, value: bool) -> Result<(), NotIndexable> {
        let Some(node) = spot.node else {
            let what = "the string value of the root";
            return if value { Err(NotIndexable { at: 0, what }) } else { Ok(()) };
        };
        self.read.insert((node, spot.shared));
        self.follow(node, spot.shared)?;
        if value {
            for child in self.schema.data_children(node) {
                self.reads(Spot { node: Some(*child), shared: spot.shared }, true)?;
            }
        }
        Ok(())
    }

    /// Notes what decides whether a node exists that need not be stored.
    fn follow(&mut self, node: NodeId, shared: usize) -> Result<(), NotIndexable> {
        let schema = self.schema;
        let mut at = Some(node);
        while let Some(id) = at {
            let implicit = schema.is_non_presence(id) || !schema.default_values(id).is_empty();
            if !implicit {
                // What is shared exists with the context node.
                if id != node && self.depth(at) > shared {
                    self.read.insert((id, shared));
                }
                return Ok(());
            }
            if !self.implied.insert((id, shared)) {
                return Ok(());
            }
            let parent = schema.data_parent(id);
            let above = shared.min(self.depth(parent));
            if let Some((choice, _)) = crate::edit::cases(schema, id).last() {
                self.read.extend(inside(schema, *choice).into_iter().map(|node| (node, above)));
            }
            for when in schema.whens(id) {
                let Ok(expression) = &when.expression else {
                    return Err(NotIndexable { at: 0, what: "a 'when' that cannot be read" });
                };
                let spot = match when.on_parent {
                    true => Spot { node: parent, shared: above },
                    false => Spot { node: at, shared },
                };
                self.evaluate(&expression.term, Focus { node: spot, current: spot })?;
            }
            at = parent;
        }
        Ok(())
    }
}

/// The data nodes of all cases of a choice.
fn inside(schema: &Schema, choice: NodeId) -> Vec<NodeId> {
    let mut out = Vec::new();
    let mut pending = vec![choice];
    while let Some(id) = pending.pop() {
        for child in &schema.node(id).children {
            match schema.node(*child).kind {
                NodeKind::Choice { .. } | NodeKind::Case => pending.push(*child),
                _ => out.push(*child),
            }
        }
    }
    out
}
