//! Location paths (XPath 1.0 section 2): step by step, or as a walk that keeps nothing.

use super::axes::{deeper, either};
use super::eval::Context;
use super::place::{Evaluation, Place, Seen, Verdict, Visit};
use super::term::{Axis, Path, Predicate, Start, Step, Test};
use super::{Kind, XPathError};
use crate::schema::NodeId;
use std::cmp::Ordering;

/// Places in document order, each once.
pub(super) enum Places {
    One(Place),
    Many(Vec<Place>),
}

impl Places {
    pub(super) fn as_slice(&self) -> &[Place] {
        match self {
            Places::One(place) => std::slice::from_ref(place),
            Places::Many(places) => places,
        }
    }

    fn into_vec(self) -> Vec<Place> {
        match self {
            Places::One(place) => vec![place],
            Places::Many(places) => places,
        }
    }
}

impl<'t> Evaluation<'t> {
    /// Shows what a path leads to; if its head leads to several places, maybe more than once and in any order.
    pub(super) fn walk(&mut self, path: &Path, context: Context<'_>, visit: &mut Visit<'_, 't>) -> Seen {
        let (head, tail) = path.steps.split_at(path.head);
        let starts = self.head(path, head, context)?;
        let mut seen = Verdict::Drop;
        for start in starts.as_slice() {
            seen = either(seen, self.tail(*start, tail, context, visit)?);
            if seen == Verdict::Stop {
                break;
            }
        }
        Ok(seen)
    }

    /// What a path leads to, in document order, each once.
    pub(super) fn path_nodes(&mut self, path: &Path, context: Context<'_>) -> Result<Vec<Place>, XPathError> {
        self.steps_nodes(path, path.steps.len(), context)
    }

    /// What the first `count` steps of a path lead to, in document order, each once.
    pub(super) fn steps_nodes(
        &mut self,
        path: &Path,
        count: usize,
        context: Context<'_>,
    ) -> Result<Vec<Place>, XPathError> {
        let steps = path.steps.get(..count).unwrap_or_default();
        let (head, tail) = steps.split_at(path.head.min(count));
        let starts = self.head(path, head, context)?;
        if tail.is_empty() {
            return Ok(starts.into_vec());
        }
        let mut found = Vec::new();
        for start in starts.as_slice() {
            self.tail(*start, tail, context, &mut |_, place| {
                found.push(place);
                Ok(Verdict::Keep)
            })?;
        }
        if starts.as_slice().len() > 1 {
            self.put_in_order(&mut found)?;
        }
        Ok(found)
    }

    /// Brings places into document order, each once.
    pub(super) fn put_in_order(&mut self, places: &mut Vec<Place>) -> Result<(), XPathError> {
        self.spend(places.len() as u64)?;
        let ascending = |pair: &[Place]| match pair {
            [a, b] => self.order(*a, *b) == Ordering::Less,
            _ => true,
        };
        if !places.windows(2).all(ascending) {
            places.sort_by(|a, b| self.order(*a, *b));
            places.dedup_by(|a, b| self.order(*a, *b) == Ordering::Equal);
        }
        Ok(())
    }

    /// Those of `places`, which are in the order of their positions, for which all predicates hold.
    pub(super) fn filtered(
        &mut self,
        mut places: Vec<Place>,
        predicates: &[Predicate],
        context: Context<'_>,
    ) -> Result<Vec<Place>, XPathError> {
        for predicate in predicates {
            let size = places.len();
            let mut kept = Vec::new();
            for (at, place) in places.into_iter().enumerate() {
                if self.holds(predicate, context.at(place, at + 1, size))? {
                    kept.push(place);
                }
            }
            places = kept;
        }
        Ok(places)
    }

    fn head(&mut self, path: &Path, steps: &[Step], context: Context<'_>) -> Result<Places, XPathError> {
        let mut at = match &path.start {
            Start::Root => Places::One(self.root()),
            Start::Context => Places::One(context.node),
            Start::Current => Places::One(context.current),
            Start::Filter { term, predicates } => {
                let places = self.nodes_of(term, context)?;
                Places::Many(self.filtered(places, predicates, context)?)
            }
        };
        for step in steps {
            at = self.advance(at, step, context)?;
        }
        Ok(at)
    }

    fn advance(&mut self, from: Places, step: &Step, context: Context<'_>) -> Result<Places, XPathError> {
        if let (Places::One(place), Axis::Parent, Test::Node, []) =
            (&from, step.axis, &step.test, step.predicates.as_slice())
        {
            self.spend(1)?;
            return Ok(self.parent(*place).map_or(Places::Many(Vec::new()), Places::One));
        }
        let mut found = Vec::new();
        for place in from.as_slice() {
            self.step(*place, step, context, &mut |_, place| {
                found.push(place);
                Ok(Verdict::Keep)
            })?;
        }
        let reverse = matches!(
            step.axis,
            Axis::Ancestor | Axis::AncestorOrSelf | Axis::Preceding | Axis::PrecedingSibling
        );
        if reverse || from.as_slice().len() > 1 {
            self.put_in_order(&mut found)?;
        }
        Ok(match found.as_slice() {
            [only] => Places::One(*only),
            _ => Places::Many(found),
        })
    }

    fn tail(&mut self, from: Place, steps: &[Step], context: Context<'_>, visit: &mut Visit<'_, 't>) -> Seen {
        match steps {
            [] => visit(self, from),
            [last] => self.step(from, last, context, visit),
            [step, rest @ ..] => {
                let context = context.deeper()?;
                self.step(from, step, context, &mut |evaluation, place| {
                    evaluation.tail(place, rest, context, visit)
                })
            }
        }
    }

    /// Shows what one step leads to, its predicates applied.
    fn step(&mut self, from: Place, step: &Step, context: Context<'_>, visit: &mut Visit<'_, 't>) -> Seen {
        let predicates = step.predicates.as_slice();
        let Some(first) = predicates.first() else {
            return self.axis(from, step.axis, &step.test, context.depth, visit);
        };
        if let Some(found) = self.looked_up(from, step, context)? {
            let found = self.filtered(found, predicates, context)?;
            return self.shown(&found, visit);
        }
        if first.fixed
            && let Some(found) = self.picked(from, step, first, context)?
        {
            let rest = predicates.get(1..).unwrap_or_default();
            let found = self.filtered(found, rest, context)?;
            return self.shown(&found, visit);
        }
        if predicates.iter().any(|predicate| predicate.last) {
            let mut all = Vec::new();
            self.axis(from, step.axis, &step.test, context.depth, &mut |_, place| {
                all.push(place);
                Ok(Verdict::Keep)
            })?;
            let found = self.filtered(all, predicates, context)?;
            return self.shown(&found, visit);
        }
        let mut positions = Vec::new();
        if predicates.iter().any(|predicate| predicate.positional) {
            positions.resize(predicates.len(), 0usize);
        }
        let depth = deeper(context.depth)?;
        self.axis(from, step.axis, &step.test, depth, &mut |evaluation, place| {
            for (at, predicate) in predicates.iter().enumerate() {
                let position = positions.get_mut(at).map_or(0, |position| {
                    *position += 1;
                    *position
                });
                if !evaluation.holds(predicate, context.at(place, position, 0))? {
                    return Ok(Verdict::Drop);
                }
            }
            visit(evaluation, place)
        })
    }

    fn shown(&mut self, places: &[Place], visit: &mut Visit<'_, 't>) -> Seen {
        for place in places {
            if visit(self, *place)? == Verdict::Stop {
                return Ok(Verdict::Stop);
            }
        }
        Ok(Verdict::Keep)
    }

    /// The entry at a position that the predicate names without looking at any entry; none when entries have to
    /// be looked at.
    fn picked(
        &mut self,
        from: Place,
        step: &Step,
        predicate: &Predicate,
        context: Context<'_>,
    ) -> Result<Option<Vec<Place>>, XPathError> {
        let Some((above, node)) = self.list_of(from, step) else { return Ok(None) };
        let count = self.count(above, node, context.depth)?;
        // The places on the axis, from which one and in which direction they count.
        let (size, first, forward) = match (step.axis, self.position(from)) {
            (Axis::Child, _) => (count, 0, true),
            (Axis::FollowingSibling, Some(own)) => (count.saturating_sub(own + 1), own + 1, true),
            (Axis::PrecedingSibling, Some(own)) => (own, own, false),
            _ => return Ok(None),
        };
        self.spend(1)?;
        let position = self.number_of(&predicate.term, context.at(context.node, 0, size))?;
        if position.fract() != 0.0 || position < 1.0 || position > size as f64 {
            return Ok(Some(Vec::new()));
        }
        // Between 1 and the size, so nothing is cut off.
        let offset = position as usize;
        let at = if forward { first + offset - 1 } else { first - offset };
        Ok(Some(self.nth(above, node, at).into_iter().collect()))
    }

    /// The only list that a step leads to, and the place that its entries stand below: the context node for its
    /// children, the parent for siblings of the same list.
    fn list_of(&self, from: Place, step: &Step) -> Option<(Place, NodeId)> {
        let Test::Name(named) = &step.test else { return None };
        let above = match step.axis {
            Axis::Child => from,
            Axis::FollowingSibling | Axis::PrecedingSibling => self.parent(from)?,
            _ => return None,
        };
        let mut nodes = named.below(self.node(above));
        let node = nodes.next()?;
        let own = step.axis == Axis::Child || self.node(from) == Some(node);
        let only = nodes.next().is_none() && own && self.sees(node) && self.is_stored_list(above, node);
        only.then_some((above, node))
    }

    fn holds(&mut self, predicate: &Predicate, context: Context<'_>) -> Result<bool, XPathError> {
        let mark = self.mark();
        let context = context.deeper()?;
        let holds = match predicate.term.kind() {
            Kind::Number => self.number_of(&predicate.term, context)? == context.position as f64,
            Kind::Nodes | Kind::String | Kind::Boolean => self.boolean_of(&predicate.term, context)?,
        };
        self.forget(mark);
        Ok(holds)
    }
}
