//! The accessible tree (RFC 7950 section 6.4.1), met place by place: what is stored and what exists without being
//! stored. Trees have no parent pointers, so a place knows the place above it.

use super::eval::Context;
use super::{Accessible, Budget, MAX_NODES, XPathError};
use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, NodeKind, Schema};
use crate::tree::{Branch, Data, Tree};
use crate::value::Value;
use crate::view::defaults::in_use;
use std::cmp::Ordering;

/// A node that an [`Evaluation`] has met. It stays good until [`Evaluation::forget`] takes it or one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(pub(super) u32);

/// Evaluates expressions over one tree. Places are kept in the order in which they were met; what one evaluation
/// meets is forgotten at its end.
pub struct Evaluation<'t> {
    pub(super) schema: &'t Schema,
    pub(super) accessible: Accessible,
    top: Spot<'t>,
    spots: Vec<Spot<'t>>,
    pub(super) budget: Budget,
}

/// Where something stands and what is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot<'t> {
    pub(super) parent: Place,
    /// That of the root means nothing.
    pub(super) node: NodeId,
    pub(super) depth: u16,
    pub(super) slot: Slot<'t>,
    pub(super) content: Content<'t>,
}

/// Which of the siblings of one schema node.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slot<'t> {
    Only,
    Entry(&'t Key),
    /// A default of a leaf-list, from 0.
    Default(usize),
    /// The text inside a leaf.
    Text,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Content<'t> {
    Branch(&'t Branch),
    Value(&'t Value),
    Text(&'t Value),
    /// `anydata` or `anyxml`: an XML fragment.
    Any(&'t str),
    /// A leaf that does not exist, in whose place a `when` is evaluated (RFC 7950 section 7.21.5).
    Dummy,
}

/// The content of a container that is not stored.
static EMPTY: Branch = Branch { children: Vec::new() };

/// What a visitor says of the place that it was shown, and a walk of all places that it showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The answer is known: show no more.
    Stop,
    /// It may be forgotten.
    Drop,
    /// It must stay.
    Keep,
}

pub(super) type Seen = Result<Verdict, XPathError>;

/// What a walk calls with each place. Object-safe, since walks nest as deep as paths are long.
pub(super) type Visit<'v, 't> = dyn FnMut(&mut Evaluation<'t>, Place) -> Seen + 'v;

impl<'t> Evaluation<'t> {
    /// For expressions over `tree`, as far as `accessible` says.
    pub fn new(schema: &'t Schema, tree: &'t Tree, accessible: Accessible) -> Self {
        let top = Spot {
            parent: Place(0),
            node: NodeId(u32::MAX),
            depth: 0,
            slot: Slot::Only,
            content: Content::Branch(&tree.root),
        };
        Self { schema, accessible, top, spots: vec![top], budget: Budget::new(0) }
    }

    /// The root.
    pub fn root(&self) -> Place {
        Place(0)
    }

    /// The place at `path`; none when it is not in the accessible tree.
    pub fn place(&mut self, path: &InstancePath) -> Option<Place> {
        path.steps.iter().try_fold(self.root(), |above, step| self.below(above, step))
    }

    /// As [`Evaluation::place`], with a dummy node in the place of what does not exist (RFC 7950 section 7.21.5),
    /// for the `when` of a node that may come to be. None when a list entry above it does not exist.
    pub fn place_or_dummy(&mut self, path: &InstancePath) -> Option<Place> {
        let (last, above) = path.steps.split_last()?;
        let above = above.iter().try_fold(self.root(), |above, step| self.below(above, step))?;
        self.below(above, last).or_else(|| Some(self.dummy(above, last.node)))
    }

    /// The child of `above` that `step` names; none when it is not in the accessible tree. Whether the `when` of a
    /// node that is not stored holds is not asked.
    pub fn below(&mut self, above: Place, step: &Step) -> Option<Place> {
        let Content::Branch(branch) = self.spot(above).content else { return None };
        let (slot, content) = match (branch.get(step.node), &step.key) {
            (Some(Data::List(entries)), Some(key)) => {
                let (key, entry) = entries.get_key_value(key)?;
                (Slot::Entry(key), Content::Branch(entry))
            }
            (Some(Data::LeafList(entries)), Some(key)) => {
                let (key, value) = entries.get_key_value(key)?;
                (Slot::Entry(key), Content::Value(value))
            }
            (Some(Data::Container(inner)), None) => (Slot::Only, Content::Branch(inner)),
            (Some(Data::Leaf(value)), None) => (Slot::Only, Content::Value(value)),
            (Some(Data::Any(text)), None) => (Slot::Only, Content::Any(text)),
            (None, None) => self.implicit(branch, step.node)?,
            (None, Some(Key::One(value))) => {
                let (Slot::Default(_), _) = self.implicit(branch, step.node)? else { return None };
                let defaults = self.schema.default_values(step.node);
                let at = defaults.iter().position(|default| default == value)?;
                (Slot::Default(at), Content::Value(defaults.get(at)?))
            }
            _ => return None,
        };
        Some(self.push(above, step.node, slot, content))
    }

    /// Drops `place` and all places that were met after it.
    pub fn forget(&mut self, place: Place) {
        self.spots.truncate((place.0 as usize).max(1));
    }

    /// The path of a place. The text inside a leaf has that of the leaf.
    pub fn path(&self, place: Place) -> InstancePath {
        let mut steps = Vec::new();
        let mut at = place;
        while at != self.root() {
            let spot = self.spot(at);
            at = spot.parent;
            let key = match spot.slot {
                Slot::Text => continue,
                Slot::Only => None,
                Slot::Entry(key) => Some(key.clone()),
                Slot::Default(_) => match spot.content {
                    Content::Value(value) => Some(Key::One(value.clone())),
                    Content::Branch(_) | Content::Text(_) | Content::Any(_) | Content::Dummy => None,
                },
            };
            steps.push(Step { node: spot.node, key });
        }
        steps.reverse();
        InstancePath { steps }
    }

    pub(super) fn spot(&self, place: Place) -> Spot<'t> {
        // A place that was forgotten stands for the root.
        self.spots.get(place.0 as usize).copied().unwrap_or(self.top)
    }

    pub(super) fn mark(&self) -> Place {
        Place(u32::try_from(self.spots.len()).unwrap_or(u32::MAX))
    }

    pub(super) fn push(
        &mut self,
        parent: Place,
        node: NodeId,
        slot: Slot<'t>,
        content: Content<'t>,
    ) -> Place {
        let place = self.mark();
        let depth = self.spot(parent).depth.saturating_add(1);
        self.spots.push(Spot { parent, node, depth, slot, content });
        place
    }

    /// The schema node of a place; none for the root.
    pub(super) fn node(&self, place: Place) -> Option<NodeId> {
        (place != self.root()).then(|| self.spot(place).node)
    }

    pub(super) fn parent(&self, place: Place) -> Option<Place> {
        (place != self.root()).then(|| self.spot(place).parent)
    }

    pub(super) fn is_text(&self, place: Place) -> bool {
        matches!(self.spot(place).slot, Slot::Text)
    }

    /// May a node of the schema be seen at all?
    pub(super) fn sees(&self, node: NodeId) -> bool {
        match self.accessible {
            Accessible::Configuration => self.schema.node(node).config,
            Accessible::WithState | Accessible::Reported | Accessible::Stored => true,
        }
    }

    /// Shows one place and forgets it if it may be. False when the walk is to stop.
    pub(super) fn show(
        &mut self,
        place: Place,
        seen: &mut Verdict,
        visit: &mut Visit<'_, 't>,
    ) -> Result<bool, XPathError> {
        self.spend(1)?;
        if self.spots.len() > MAX_NODES {
            return Err(XPathError::Nodes { limit: MAX_NODES });
        }
        match visit(self, place)? {
            Verdict::Stop => {
                *seen = Verdict::Stop;
                return Ok(false);
            }
            Verdict::Keep => *seen = Verdict::Keep,
            Verdict::Drop => self.forget(place),
        }
        Ok(true)
    }

    /// Shows each instance of `node` below `above`, in document order.
    pub(super) fn instances(
        &mut self,
        above: Place,
        node: NodeId,
        depth: u16,
        visit: &mut Visit<'_, 't>,
    ) -> Seen {
        let mut seen = Verdict::Drop;
        let Content::Branch(branch) = self.spot(above).content else { return Ok(seen) };
        if !self.sees(node) {
            return Ok(seen);
        }
        let (slot, content) = match branch.get(node) {
            Some(Data::List(entries)) => {
                for (key, entry) in entries.iter() {
                    let place = self.push(above, node, Slot::Entry(key), Content::Branch(entry));
                    if !self.show(place, &mut seen, visit)? {
                        break;
                    }
                }
                return Ok(seen);
            }
            Some(Data::LeafList(entries)) => {
                for (key, value) in entries.iter() {
                    let place = self.push(above, node, Slot::Entry(key), Content::Value(value));
                    if !self.show(place, &mut seen, visit)? {
                        break;
                    }
                }
                return Ok(seen);
            }
            Some(Data::Container(inner)) => (Slot::Only, Content::Branch(inner)),
            Some(Data::Leaf(value)) => (Slot::Only, Content::Value(value)),
            Some(Data::Any(text)) => (Slot::Only, Content::Any(text)),
            None => return self.implied(above, node, depth, visit),
        };
        let place = self.push(above, node, slot, content);
        self.show(place, &mut seen, visit)?;
        Ok(seen)
    }

    /// How many instances of `node` stand below `above`, without a visit of any that is stored.
    pub(super) fn count(&mut self, above: Place, node: NodeId, depth: u16) -> Result<usize, XPathError> {
        let Content::Branch(branch) = self.spot(above).content else { return Ok(0) };
        if !self.sees(node) {
            return Ok(0);
        }
        match branch.get(node) {
            Some(Data::List(entries)) => Ok(entries.len()),
            Some(Data::LeafList(entries)) => Ok(entries.len()),
            Some(Data::Container(_) | Data::Leaf(_) | Data::Any(_)) => Ok(1),
            None => {
                let mut count = 0;
                self.implied(above, node, depth, &mut |_, _| {
                    count += 1;
                    Ok(Verdict::Drop)
                })?;
                Ok(count)
            }
        }
    }

    /// The instance of `node` below `above` at `position` from 0, without a visit of those before it.
    pub(super) fn nth(&mut self, above: Place, node: NodeId, position: usize) -> Option<Place> {
        let Content::Branch(branch) = self.spot(above).content else { return None };
        let (slot, content) = match branch.get(node)? {
            Data::List(entries) => {
                let (key, entry) = entries.nth(position)?;
                (Slot::Entry(key), Content::Branch(entry))
            }
            Data::LeafList(entries) => {
                let (key, value) = entries.nth(position)?;
                (Slot::Entry(key), Content::Value(value))
            }
            Data::Container(_) | Data::Leaf(_) | Data::Any(_) => return None,
        };
        Some(self.push(above, node, slot, content))
    }

    /// Where an entry stands among those of its list, from 0.
    pub(super) fn position(&self, place: Place) -> Option<usize> {
        let spot = self.spot(place);
        let (Slot::Entry(key), Content::Branch(branch)) = (spot.slot, self.spot(spot.parent).content) else {
            return None;
        };
        match branch.get(spot.node)? {
            Data::List(entries) => entries.position(key),
            Data::LeafList(entries) => entries.position(key),
            Data::Container(_) | Data::Leaf(_) | Data::Any(_) => None,
        }
    }

    /// Shows what exists of `node` below `above` without being stored.
    fn implied(&mut self, above: Place, node: NodeId, depth: u16, visit: &mut Visit<'_, 't>) -> Seen {
        let mut seen = Verdict::Drop;
        let Content::Branch(branch) = self.spot(above).content else { return Ok(seen) };
        let Some((slot, content)) = self.implicit(branch, node) else { return Ok(seen) };
        let first = self.push(above, node, slot, content);
        if !self.schema.whens(node).is_empty() && !self.whens_hold(first, depth)? {
            self.forget(first);
            return Ok(seen);
        }
        if !self.show(first, &mut seen, visit)? {
            return Ok(seen);
        }
        if let Slot::Default(_) = slot {
            for (at, value) in self.schema.default_values(node).iter().enumerate().skip(1) {
                let place = self.push(above, node, Slot::Default(at), Content::Value(value));
                if !self.show(place, &mut seen, visit)? {
                    break;
                }
            }
        }
        Ok(seen)
    }

    /// The content of the first instance of a node that is not stored in `branch` and exists all the same, its
    /// `when` aside: containers without presence, and defaults in use (RFC 7950 sections 7.5.1, 7.6.1 and 7.7.2).
    fn implicit(&self, branch: &Branch, node: NodeId) -> Option<(Slot<'t>, Content<'t>)> {
        let schema = self.schema;
        match self.accessible {
            Accessible::Configuration | Accessible::WithState => {}
            Accessible::Reported if schema.node(node).config => {}
            Accessible::Reported | Accessible::Stored => return None,
        }
        let found = match &schema.node(node).kind {
            NodeKind::Container { presence: false } => (Slot::Only, Content::Branch(&EMPTY)),
            NodeKind::Leaf { .. } => (Slot::Only, Content::Value(schema.default_values(node).first()?)),
            NodeKind::LeafList { .. } => {
                (Slot::Default(0), Content::Value(schema.default_values(node).first()?))
            }
            _ => return None,
        };
        (schema.case_of(node).is_none() || in_use(schema, branch, node)).then_some(found)
    }

    /// Takes steps from the budget.
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), XPathError> {
        self.budget.spend(steps)
    }

    fn whens_hold(&mut self, place: Place, depth: u16) -> Result<bool, XPathError> {
        let (schema, spot) = (self.schema, self.spot(place));
        for when in schema.whens(spot.node) {
            let expression = when.expression.as_ref().map_err(Clone::clone)?;
            let node = if when.on_parent { spot.parent } else { place };
            let context = Context::new(node, &expression.scope).at_depth(depth).deeper()?;
            let mark = self.mark();
            let holds = self.boolean_of(&expression.term, context)?;
            self.forget(mark);
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn dummy(&mut self, above: Place, node: NodeId) -> Place {
        let content = match self.schema.node(node).kind {
            NodeKind::Container { .. } | NodeKind::List { .. } => Content::Branch(&EMPTY),
            _ => Content::Dummy,
        };
        self.push(above, node, Slot::Only, content)
    }

    /// Document order; equal for one node that was met twice.
    pub(super) fn order(&self, a: Place, b: Place) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let (one, other) = (self.spot(a), self.spot(b));
        match one.depth.cmp(&other.depth) {
            // What is inside of something stands after it.
            Ordering::Greater => self.order(one.parent, b).then(Ordering::Greater),
            Ordering::Less => self.order(a, other.parent).then(Ordering::Less),
            Ordering::Equal if one.depth == 0 => Ordering::Equal,
            Ordering::Equal => {
                self.order(one.parent, other.parent).then_with(|| self.sibling_order(one, other))
            }
        }
    }

    fn sibling_order(&self, one: Spot<'t>, other: Spot<'t>) -> Ordering {
        if one.node != other.node {
            let rank = |spot: Spot<'_>| (self.schema.rank(spot.node), spot.node);
            return rank(one).cmp(&rank(other));
        }
        match (one.slot, other.slot) {
            (Slot::Entry(a), Slot::Entry(b)) if std::ptr::eq(a, b) => Ordering::Equal,
            (Slot::Entry(a), Slot::Entry(b)) if self.schema.is_user_ordered(one.node) => {
                let Content::Branch(branch) = self.spot(one.parent).content else { return Ordering::Equal };
                match branch.get(one.node) {
                    Some(Data::List(entries)) => entries.position(a).cmp(&entries.position(b)),
                    Some(Data::LeafList(entries)) => entries.position(a).cmp(&entries.position(b)),
                    Some(Data::Leaf(_) | Data::Container(_) | Data::Any(_)) | None => a.cmp(b),
                }
            }
            (Slot::Entry(a), Slot::Entry(b)) => a.cmp(b),
            (Slot::Default(a), Slot::Default(b)) => a.cmp(&b),
            (Slot::Only | Slot::Entry(_) | Slot::Default(_) | Slot::Text, _) => Ordering::Equal,
        }
    }
}
