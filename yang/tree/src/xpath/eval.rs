//! Expressions (XPath 1.0 section 3). Each has one type, which is known when it is read, so there is one function
//! for each type that is asked for.

use super::axes::deeper;
use super::number;
use super::place::{Content, Evaluation, Place, Seen, Verdict, Visit};
use super::term::{Axis, Path, Start, Term, Test};
use super::token::Operator;
use super::{Kind, MAX_STRING, Scope, XPathError};
use crate::value::Value;
use std::borrow::Cow;

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Context<'x> {
    pub(super) node: Place,
    pub(super) position: usize,
    /// Zero where no part of the expression asks for it.
    pub(super) size: usize,
    /// What `current()` is.
    pub(super) current: Place,
    pub(super) scope: &'x Scope,
    pub(super) depth: u16,
}

impl<'x> Context<'x> {
    pub(super) fn new(node: Place, scope: &'x Scope) -> Self {
        Self { node, position: 1, size: 1, current: node, scope, depth: 0 }
    }

    pub(super) fn at(self, node: Place, position: usize, size: usize) -> Self {
        Self { node, position, size, ..self }
    }

    pub(super) fn at_depth(self, depth: u16) -> Self {
        Self { depth, ..self }
    }

    pub(super) fn deeper(self) -> Result<Self, XPathError> {
        Ok(Self { depth: deeper(self.depth)?, ..self })
    }
}

impl<'t> Evaluation<'t> {
    pub(super) fn boolean_of(&mut self, term: &Term, context: Context<'_>) -> Result<bool, XPathError> {
        self.spend(1)?;
        let context = context.deeper()?;
        match term {
            Term::Literal(text) => Ok(!text.is_empty()),
            Term::Number(_) | Term::Negate(_) => Ok(number::truth(self.number_of(term, context)?)),
            Term::Chain { first, rest } => self.chain(term, first, rest, context),
            Term::Union(_) | Term::Path(_) => {
                Ok(self.visit(term, context, &mut |_, _| Ok(Verdict::Stop))? == Verdict::Stop)
            }
            Term::Call(call) => match call.function.result() {
                Kind::Nodes => Ok(self.visit(term, context, &mut |_, _| Ok(Verdict::Stop))? == Verdict::Stop),
                Kind::String => Ok(!self.string_call(call, context)?.is_empty()),
                Kind::Number => Ok(number::truth(self.number_call(call, context)?)),
                Kind::Boolean => self.boolean_call(call, context),
            },
        }
    }

    pub(super) fn number_of(&mut self, term: &Term, context: Context<'_>) -> Result<f64, XPathError> {
        self.spend(1)?;
        let context = context.deeper()?;
        match term {
            Term::Literal(text) => Ok(number::parse(text)),
            Term::Number(number) => Ok(*number),
            Term::Negate(term) => Ok(-self.number_of(term, context)?),
            Term::Chain { first, rest } => match term.kind() {
                Kind::Number => self.arithmetic(first, rest, context),
                Kind::Nodes | Kind::String | Kind::Boolean => {
                    Ok(f64::from(u8::from(self.chain(term, first, rest, context)?)))
                }
            },
            Term::Union(_) | Term::Path(_) => match self.first(term, context)? {
                Some(place) => self.number_at(place),
                None => Ok(f64::NAN),
            },
            Term::Call(call) => match call.function.result() {
                Kind::Nodes => match self.first(term, context)? {
                    Some(place) => self.number_at(place),
                    None => Ok(f64::NAN),
                },
                Kind::String => Ok(number::parse(&self.string_call(call, context)?)),
                Kind::Number => self.number_call(call, context),
                Kind::Boolean => Ok(f64::from(u8::from(self.boolean_call(call, context)?))),
            },
        }
    }

    pub(super) fn string_of<'x>(
        &mut self,
        term: &'x Term,
        context: Context<'x>,
    ) -> Result<Cow<'x, str>, XPathError>
    where
        't: 'x,
    {
        self.spend(1)?;
        let context = context.deeper()?;
        let text = match (term, term.kind()) {
            (Term::Literal(text), _) => Cow::Borrowed(&**text),
            (Term::Call(call), Kind::String) => self.string_call(call, context)?,
            (_, Kind::Nodes) => match self.first(term, context)? {
                Some(place) => self.text_at(place)?,
                None => Cow::Borrowed(""),
            },
            (_, Kind::Boolean) => {
                Cow::Borrowed(if self.boolean_of(term, context)? { "true" } else { "false" })
            }
            (_, Kind::Number | Kind::String) => Cow::Owned(number::text(self.number_of(term, context)?)),
        };
        // What is done with a string takes as long as it is.
        self.spend(text.len() as u64 / 64)?;
        Ok(text)
    }

    /// The node-set of a term that is one, in document order.
    pub(super) fn nodes_of(&mut self, term: &Term, context: Context<'_>) -> Result<Vec<Place>, XPathError> {
        self.spend(1)?;
        let context = context.deeper()?;
        match term {
            Term::Path(path) => self.path_nodes(path, context),
            Term::Union(terms) => {
                let mut found = Vec::new();
                for term in terms {
                    found.extend(self.nodes_of(term, context)?);
                }
                self.put_in_order(&mut found)?;
                Ok(found)
            }
            Term::Call(call) => self.nodes_call(call, context),
            Term::Literal(_) | Term::Number(_) | Term::Negate(_) | Term::Chain { .. } => Ok(Vec::new()),
        }
    }

    /// Shows the nodes of a term that is a node-set, in any order and maybe more than once.
    pub(super) fn visit(&mut self, term: &Term, context: Context<'_>, visit: &mut Visit<'_, 't>) -> Seen {
        if let Term::Path(path) = term {
            return self.walk(path, context, visit);
        }
        if let Term::Union(terms) = term {
            for term in terms {
                if self.visit(term, context.deeper()?, visit)? == Verdict::Stop {
                    return Ok(Verdict::Stop);
                }
            }
            return Ok(Verdict::Keep);
        }
        for place in self.nodes_of(term, context)? {
            if visit(self, place)? == Verdict::Stop {
                return Ok(Verdict::Stop);
            }
        }
        Ok(Verdict::Keep)
    }

    /// How many nodes a node-set has. Entries of a list that nothing chooses among are not visited.
    pub(super) fn size_of(&mut self, term: &Term, context: Context<'_>) -> Result<usize, XPathError> {
        if let Term::Path(path) = term
            && let Some(last) = path.steps.last()
            && let (Axis::Child, Test::Name(named), true) =
                (last.axis, &last.test, last.predicates.is_empty())
        {
            let mut count = 0;
            for above in self.steps_nodes(path, path.steps.len() - 1, context)? {
                self.spend(1)?;
                for node in named.below(self.node(above)) {
                    count += self.count(above, node, context.depth)?;
                }
            }
            return Ok(count);
        }
        Ok(self.nodes_of(term, context)?.len())
    }

    /// The first node of a node-set in document order.
    pub(super) fn first(&mut self, term: &Term, context: Context<'_>) -> Result<Option<Place>, XPathError> {
        match term {
            Term::Path(path) if is_upward(path) => {
                let mut found = None;
                self.walk(path, context, &mut |_, place| {
                    found = Some(place);
                    Ok(Verdict::Stop)
                })?;
                Ok(found)
            }
            _ => Ok(self.nodes_of(term, context)?.first().copied()),
        }
    }

    fn chain(
        &mut self,
        term: &Term,
        first: &Term,
        rest: &[(Operator, Term)],
        context: Context<'_>,
    ) -> Result<bool, XPathError> {
        match rest {
            [(Operator::Or | Operator::And, _), ..] => {
                let stop = matches!(rest, [(Operator::Or, _), ..]);
                for term in std::iter::once(first).chain(rest.iter().map(|(_, term)| term)) {
                    if self.boolean_of(term, context)? == stop {
                        return Ok(stop);
                    }
                }
                Ok(!stop)
            }
            [(operator, other), more @ ..] if term.kind() == Kind::Boolean => {
                let mut truth = self.compare(*operator, first, other, context)?;
                for (operator, other) in more {
                    truth = self.compare_boolean(*operator, truth, other, context)?;
                }
                Ok(truth)
            }
            _ => Ok(number::truth(self.arithmetic(first, rest, context)?)),
        }
    }

    fn arithmetic(
        &mut self,
        first: &Term,
        rest: &[(Operator, Term)],
        context: Context<'_>,
    ) -> Result<f64, XPathError> {
        let mut number = self.number_of(first, context)?;
        for (operator, other) in rest {
            let other = self.number_of(other, context)?;
            number = match operator {
                Operator::Plus => number + other,
                Operator::Minus => number - other,
                Operator::Multiply => number * other,
                Operator::Divide => number / other,
                // The sign is that of the dividend (section 3.5).
                Operator::Modulo => number % other,
                Operator::Or
                | Operator::And
                | Operator::Equal
                | Operator::NotEqual
                | Operator::Less
                | Operator::LessOrEqual
                | Operator::Greater
                | Operator::GreaterOrEqual
                | Operator::Union => f64::NAN,
            };
        }
        Ok(number)
    }

    /// The string-value of a node: of a leaf its canonical value, of what has children the texts in it.
    pub(super) fn text_at(&mut self, place: Place) -> Result<Cow<'t, str>, XPathError> {
        match self.spot(place).content {
            Content::Value(value) | Content::Text(value) => Ok(match value.as_str() {
                Some(text) => Cow::Borrowed(text),
                None => Cow::Owned(value.to_string()),
            }),
            Content::Any(fragment) => Ok(Cow::Owned(text_of_fragment(fragment))),
            Content::Dummy => Ok(Cow::Borrowed("")),
            Content::Branch(_) => {
                let mut out = String::new();
                self.descend(place, &Test::Any, 0, &mut |evaluation, place| {
                    if let Content::Value(_) | Content::Any(_) = evaluation.spot(place).content {
                        let text = evaluation.text_at(place)?;
                        evaluation.lengthen(&mut out, &text)?;
                    }
                    Ok(Verdict::Drop)
                })?;
                Ok(Cow::Owned(out))
            }
        }
    }

    /// Appends to a string value, within its bound and for steps.
    pub(super) fn lengthen(&mut self, out: &mut String, text: &str) -> Result<(), XPathError> {
        self.spend(text.len() as u64 / 64)?;
        if out.len() + text.len() > MAX_STRING {
            return Err(XPathError::StringLength { limit: MAX_STRING });
        }
        out.push_str(text);
        Ok(())
    }

    /// `number()` of a node.
    pub(super) fn number_at(&mut self, place: Place) -> Result<f64, XPathError> {
        match self.spot(place).content {
            Content::Value(Value::Int32(value)) => Ok(f64::from(*value)),
            Content::Value(Value::Uint32(value)) => Ok(f64::from(*value)),
            // Both round to the nearest, as reading their texts does.
            Content::Value(Value::Int64(value)) => Ok(*value as f64),
            Content::Value(Value::Uint64(value)) => Ok(*value as f64),
            _ => Ok(number::parse(&self.text_at(place)?)),
        }
    }
}

/// Is the head of the path steps to parents only, so that one place begins its tail?
fn is_upward(path: &Path) -> bool {
    let head = path.steps.get(..path.head).unwrap_or_default();
    !matches!(path.start, Start::Filter { .. }) && head.iter().all(|step| step.axis == Axis::Parent)
}

fn text_of_fragment(fragment: &str) -> String {
    let wrapped = format!("<any>{fragment}</any>");
    let Ok(document) = crate::xml::parse(&wrapped) else { return String::new() };
    document.descendants().filter(roxmltree::Node::is_text).filter_map(|node| node.text()).collect()
}
