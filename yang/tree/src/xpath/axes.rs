//! The axes (XPath 1.0 section 2.2). Each shows its places outward from the context node: forward axes in document
//! order, reverse axes against it, so that positions count as they should.

use super::place::{Content, Evaluation, Place, Seen, Slot, Verdict, Visit};
use super::term::{Axis, Test};
use super::{Accessible, MAX_DEPTH, XPathError};
use crate::schema::NodeId;
use std::borrow::Cow;
use std::cmp::Ordering;

impl<'t> Evaluation<'t> {
    /// Shows the places of an axis that the test lets pass.
    pub(super) fn axis(
        &mut self,
        from: Place,
        axis: Axis,
        test: &Test,
        depth: u16,
        visit: &mut Visit<'_, 't>,
    ) -> Seen {
        match axis {
            Axis::Child => self.children(from, test, depth, visit),
            Axis::Descendant => self.descend(from, test, depth, visit),
            Axis::DescendantOrSelf => {
                let above = self.these(&[from], test, visit)?;
                match above {
                    Verdict::Stop => Ok(above),
                    Verdict::Drop | Verdict::Keep => {
                        Ok(either(above, self.descend(from, test, depth, visit)?))
                    }
                }
            }
            Axis::SelfNode => self.these(&[from], test, visit),
            Axis::Parent => {
                let parent = self.parent(from);
                self.these(parent.as_slice(), test, visit)
            }
            Axis::Ancestor => {
                let above = self.ancestors(self.parent(from));
                self.these(&above, test, visit)
            }
            Axis::AncestorOrSelf => {
                let above = self.ancestors(Some(from));
                self.these(&above, test, visit)
            }
            Axis::FollowingSibling => {
                let siblings = self.siblings(from, Ordering::Greater, test, depth)?;
                self.these(&siblings, test, visit)
            }
            Axis::PrecedingSibling => {
                let mut siblings = self.siblings(from, Ordering::Less, test, depth)?;
                siblings.reverse();
                self.these(&siblings, test, visit)
            }
            Axis::Following | Axis::Preceding => {
                let found = self.beside(from, axis, test, depth)?;
                self.these(&found, test, visit)
            }
            Axis::Attribute => Ok(Verdict::Drop),
        }
    }

    /// Does the test let a place pass?
    pub(super) fn passes(&self, place: Place, test: &Test) -> bool {
        let element = || if self.is_text(place) { None } else { self.node(place) };
        match test {
            Test::Node => true,
            Test::Text => self.is_text(place),
            Test::Nothing | Test::AnyOf(None) => false,
            Test::Any => element().is_some(),
            Test::AnyOf(Some(module)) => {
                element().is_some_and(|node| self.schema.node(node).module == *module)
            }
            Test::Name(named) => element().is_some_and(|node| {
                named.contains(self.parent(place).and_then(|parent| self.node(parent)), node)
            }),
        }
    }

    /// Shows those of `places`, which were there before, that the test lets pass.
    fn these(&mut self, places: &[Place], test: &Test, visit: &mut Visit<'_, 't>) -> Seen {
        for place in places {
            self.spend(1)?;
            if self.passes(*place, test) && visit(self, *place)? == Verdict::Stop {
                return Ok(Verdict::Stop);
            }
        }
        // What is shown here is not this walk's to forget.
        Ok(Verdict::Keep)
    }

    fn children(&mut self, from: Place, test: &Test, depth: u16, visit: &mut Visit<'_, 't>) -> Seen {
        let mut seen = Verdict::Drop;
        match test {
            Test::Name(named) => {
                for node in named.below(self.node(from)) {
                    seen = either(seen, self.instances(from, node, depth, visit)?);
                    if seen == Verdict::Stop {
                        break;
                    }
                }
            }
            Test::Text | Test::Node if matches!(self.spot(from).content, Content::Value(_)) => {
                return self.text(from, visit);
            }
            Test::Any | Test::AnyOf(_) | Test::Node => {
                for node in self.child_nodes(from).iter().copied() {
                    self.spend(1)?;
                    let other =
                        matches!(test, Test::AnyOf(module) if *module != Some(self.schema.node(node).module));
                    if other {
                        continue;
                    }
                    seen = either(seen, self.instances(from, node, depth, visit)?);
                    if seen == Verdict::Stop {
                        break;
                    }
                }
            }
            Test::Text | Test::Nothing => {}
        }
        Ok(seen)
    }

    /// Shows the text node of a leaf; a leaf without text has none.
    fn text(&mut self, leaf: Place, visit: &mut Visit<'_, 't>) -> Seen {
        let mut seen = Verdict::Drop;
        let spot = self.spot(leaf);
        if let Content::Value(value) = spot.content
            && !value.as_str().is_some_and(str::is_empty)
            && *value != crate::value::Value::Empty
        {
            let place = self.push(leaf, spot.node, Slot::Text, Content::Text(value));
            self.show(place, &mut seen, visit)?;
        }
        Ok(seen)
    }

    /// The schema nodes that may have instances below `from`, in document order.
    fn child_nodes(&self, from: Place) -> Cow<'t, [NodeId]> {
        let Content::Branch(branch) = self.spot(from).content else { return Cow::Borrowed(&[]) };
        let schema = self.schema;
        match self.accessible {
            Accessible::Stored => {
                let stored = branch.ordered(schema, self.node(from));
                Cow::Owned(stored.map(|(node, _)| node).collect())
            }
            Accessible::Configuration | Accessible::WithState | Accessible::Reported => {
                Cow::Borrowed(schema.data_children_of(self.node(from)))
            }
        }
    }

    /// Shows what is below `from` and passes, parents before their children.
    pub(super) fn descend(
        &mut self,
        from: Place,
        test: &Test,
        depth: u16,
        visit: &mut Visit<'_, 't>,
    ) -> Seen {
        let depth = deeper(depth)?;
        let mut seen = Verdict::Drop;
        if let Content::Value(_) = self.spot(from).content {
            return self.children(from, test, depth, visit);
        }
        let parent = self.node(from);
        for node in self.child_nodes(from).iter().copied() {
            if let Test::Name(named) = test
                && !named.contains(parent, node)
                && !named.leads_from(node)
            {
                continue;
            }
            self.spend(1)?;
            let inner = self.instances(from, node, depth, &mut |evaluation, place| {
                let own = match evaluation.passes(place, test) {
                    true => visit(evaluation, place)?,
                    false => Verdict::Drop,
                };
                match own {
                    Verdict::Stop => Ok(own),
                    Verdict::Drop | Verdict::Keep => {
                        Ok(either(own, evaluation.descend(place, test, depth, visit)?))
                    }
                }
            })?;
            seen = either(seen, inner);
            if seen == Verdict::Stop {
                break;
            }
        }
        Ok(seen)
    }

    /// From `from` up to the root.
    fn ancestors(&self, from: Option<Place>) -> Vec<Place> {
        std::iter::successors(from, |place| self.parent(*place)).collect()
    }

    /// The siblings on one side of `from` that pass, in document order.
    fn siblings(
        &mut self,
        from: Place,
        side: Ordering,
        test: &Test,
        depth: u16,
    ) -> Result<Vec<Place>, XPathError> {
        let Some(parent) = self.parent(from) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        self.children(parent, test, depth, &mut |evaluation, place| {
            if evaluation.order(place, from) != side {
                return Ok(Verdict::Drop);
            }
            found.push(place);
            Ok(Verdict::Keep)
        })?;
        Ok(found)
    }

    /// The following or preceding places that pass, outward.
    fn beside(&mut self, from: Place, axis: Axis, test: &Test, depth: u16) -> Result<Vec<Place>, XPathError> {
        let side = if axis == Axis::Following { Ordering::Greater } else { Ordering::Less };
        let mut found = Vec::new();
        for place in self.ancestors(Some(from)) {
            let mut part = Vec::new();
            for sibling in self.siblings(place, side, &Test::Node, depth)? {
                self.axis(sibling, Axis::DescendantOrSelf, test, depth, &mut |_, place| {
                    part.push(place);
                    Ok(Verdict::Keep)
                })?;
            }
            if axis == Axis::Preceding {
                part.reverse();
            }
            found.extend(part);
        }
        Ok(found)
    }
}

/// The verdict of two walks, of which the first did not stop.
pub(super) fn either(a: Verdict, b: Verdict) -> Verdict {
    match (a, b) {
        (Verdict::Stop, _) | (_, Verdict::Stop) => Verdict::Stop,
        (Verdict::Keep, _) | (_, Verdict::Keep) => Verdict::Keep,
        (Verdict::Drop, Verdict::Drop) => Verdict::Drop,
    }
}

/// One level deeper, unless that is too deep.
pub(super) fn deeper(depth: u16) -> Result<u16, XPathError> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(XPathError::Depth { limit: MAX_DEPTH }) }
}
