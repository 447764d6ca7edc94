//! Comparisons (XPath 1.0 section 3.4). A node-set compares as "some node of it does".
//!
//! A leaf compares with a string by value: the string is read as a value of the leaf's type with the prefixes of
//! the expression, so that `'ex:round'` is the identity whatever prefix the data came with, and a text that is not
//! canonical is the value that it means. What is no value of the type compares as a string.

use super::eval::Context;
use super::number;
use super::place::{Content, Evaluation, Place, Verdict};
use super::term::Term;
use super::token::Operator;
use super::{Kind, XPathError};
use crate::schema::{Canonical, NodeId, Type};
use crate::value::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A string that leafs are compared with, read once for each schema node.
struct Text<'x> {
    text: &'x str,
    read: Option<(NodeId, Option<Value>)>,
}

impl<'t> Evaluation<'t> {
    pub(super) fn compare(
        &mut self,
        operator: Operator,
        left: &Term,
        right: &Term,
        context: Context<'_>,
    ) -> Result<bool, XPathError> {
        match (left.kind(), right.kind()) {
            (Kind::Nodes, Kind::Nodes) => self.compare_sets(operator, left, right, context),
            (Kind::Nodes, _) => self.compare_nodes(operator, left, right, context),
            (_, Kind::Nodes) => self.compare_nodes(turned(operator), right, left, context),
            (left_kind, right_kind) if is_equality(operator) => {
                let equal = if left_kind == Kind::Boolean || right_kind == Kind::Boolean {
                    self.boolean_of(left, context)? == self.boolean_of(right, context)?
                } else if left_kind == Kind::Number || right_kind == Kind::Number {
                    self.number_of(left, context)? == self.number_of(right, context)?
                } else {
                    self.string_of(left, context)? == self.string_of(right, context)?
                };
                Ok(equal == (operator == Operator::Equal))
            }
            (_, _) => {
                let left = self.number_of(left, context)?;
                Ok(related(operator, left, self.number_of(right, context)?))
            }
        }
    }

    /// As [`Evaluation::compare`], where the left side is what a comparison before it gave.
    pub(super) fn compare_boolean(
        &mut self,
        operator: Operator,
        left: bool,
        right: &Term,
        context: Context<'_>,
    ) -> Result<bool, XPathError> {
        if is_equality(operator) {
            let equal = left == self.boolean_of(right, context)?;
            return Ok(equal == (operator == Operator::Equal));
        }
        let left = f64::from(u8::from(left));
        if right.kind() == Kind::Nodes {
            return self.some_node(right, context, &mut |evaluation, place| {
                Ok(related(operator, left, evaluation.number_at(place)?))
            });
        }
        Ok(related(operator, left, self.number_of(right, context)?))
    }

    /// A node-set on the left, something else on the right.
    fn compare_nodes(
        &mut self,
        operator: Operator,
        nodes: &Term,
        other: &Term,
        context: Context<'_>,
    ) -> Result<bool, XPathError> {
        if other.kind() == Kind::Boolean {
            let (left, right) = (self.boolean_of(nodes, context)?, self.boolean_of(other, context)?);
            let number = |truth: bool| f64::from(u8::from(truth));
            return Ok(related(operator, number(left), number(right)));
        }
        if is_equality(operator) && other.kind() == Kind::String {
            let text = self.string_of(other, context)?;
            let mut text = Text { text: &text, read: None };
            return self.some_node(nodes, context, &mut |evaluation, place| {
                let equal = evaluation.is_text_value(place, &mut text, context)?;
                Ok(equal == (operator == Operator::Equal))
            });
        }
        let number = self.number_of(other, context)?;
        self.some_node(nodes, context, &mut |evaluation, place| {
            Ok(related(operator, evaluation.number_at(place)?, number))
        })
    }

    fn compare_sets(
        &mut self,
        operator: Operator,
        left: &Term,
        right: &Term,
        context: Context<'_>,
    ) -> Result<bool, XPathError> {
        if is_equality(operator) {
            let mut texts: BTreeSet<Cow<'t, str>> = BTreeSet::new();
            self.visit(right, context, &mut |evaluation, place| {
                texts.insert(evaluation.text_at(place)?);
                Ok(Verdict::Drop)
            })?;
            if texts.is_empty() {
                return Ok(false);
            }
            return self.some_node(left, context, &mut |evaluation, place| {
                let text = evaluation.text_at(place)?;
                let same = texts.contains(&text);
                // Unequal to some node: another text than this one is on the right.
                Ok(if operator == Operator::Equal { same } else { texts.len() > 1 || !same })
            });
        }
        let (mut least, mut most) = (f64::NAN, f64::NAN);
        self.visit(right, context, &mut |evaluation, place| {
            let number = evaluation.number_at(place)?;
            // Both ignore what is not a number.
            (least, most) = (least.min(number), most.max(number));
            Ok(Verdict::Drop)
        })?;
        let bound = if matches!(operator, Operator::Less | Operator::LessOrEqual) { most } else { least };
        self.some_node(left, context, &mut |evaluation, place| {
            Ok(related(operator, evaluation.number_at(place)?, bound))
        })
    }

    /// Does `holds` for some node of a node-set?
    pub(super) fn some_node(
        &mut self,
        nodes: &Term,
        context: Context<'_>,
        holds: &mut dyn FnMut(&mut Self, Place) -> Result<bool, XPathError>,
    ) -> Result<bool, XPathError> {
        let seen = self.visit(nodes, context, &mut |evaluation, place| {
            Ok(if holds(evaluation, place)? { Verdict::Stop } else { Verdict::Drop })
        })?;
        Ok(seen == Verdict::Stop)
    }

    fn is_text_value(
        &mut self,
        place: Place,
        text: &mut Text<'_>,
        context: Context<'_>,
    ) -> Result<bool, XPathError> {
        let spot = self.spot(place);
        let Content::Value(value) = spot.content else { return Ok(self.text_at(place)? == text.text) };
        let ty = self.schema.leaf_type(spot.node).map(|ty| &ty.base);
        if ty.is_none_or(is_its_text) {
            return Ok(value.as_str().map_or_else(|| value.to_string() == text.text, |own| own == text.text));
        }
        if text.read.as_ref().is_none_or(|(node, _)| *node != spot.node) {
            self.spend(1)?;
            text.read = Some((spot.node, context.scope.value(self.schema, spot.node, text.text)));
        }
        match &text.read {
            Some((_, Some(read))) => Ok(read == value),
            Some((_, None)) | None => Ok(self.text_at(place)? == text.text),
        }
    }
}

/// Has every value of the type one text and no other?
pub(super) fn is_its_text(ty: &Type) -> bool {
    match ty {
        Type::Boolean
        | Type::Enumeration(_)
        | Type::Empty
        | Type::String { canonical: Canonical::Text | Canonical::DateAndTime, .. } => true,
        Type::Leafref { real, .. } => is_its_text(&real.base),
        Type::Binary { .. }
        | Type::Bits(_)
        | Type::Decimal64 { .. }
        | Type::Identityref { .. }
        | Type::InstanceIdentifier { .. }
        | Type::Integer { .. }
        | Type::String { .. }
        | Type::Union(_) => false,
    }
}

fn is_equality(operator: Operator) -> bool {
    matches!(operator, Operator::Equal | Operator::NotEqual)
}

fn turned(operator: Operator) -> Operator {
    match operator {
        Operator::Less => Operator::Greater,
        Operator::LessOrEqual => Operator::GreaterOrEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterOrEqual => Operator::LessOrEqual,
        Operator::Or
        | Operator::And
        | Operator::Equal
        | Operator::NotEqual
        | Operator::Plus
        | Operator::Minus
        | Operator::Multiply
        | Operator::Divide
        | Operator::Modulo
        | Operator::Union => operator,
    }
}

#[allow(clippy::float_cmp)] // XPath compares to the bit
fn related(operator: Operator, left: f64, right: f64) -> bool {
    match operator {
        Operator::Equal => left == right,
        Operator::NotEqual => left != right,
        Operator::Less => left < right,
        Operator::LessOrEqual => left <= right,
        Operator::Greater => left > right,
        Operator::GreaterOrEqual => left >= right,
        Operator::Or
        | Operator::And
        | Operator::Plus
        | Operator::Minus
        | Operator::Multiply
        | Operator::Divide
        | Operator::Modulo
        | Operator::Union => number::truth(left) == number::truth(right),
    }
}
