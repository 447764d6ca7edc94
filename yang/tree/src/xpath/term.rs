//! Expressions as data. Operators of one level stand side by side, so that only parentheses, predicates and
//! arguments make a term deeper, and the parser bounds those.

use super::function::Function;
use super::names::Named;
use super::token::Operator;
use super::{Kind, names};
use crate::schema::ModuleId;
use regex::Regex;

#[derive(Debug, Clone)]
pub(super) enum Term {
    Literal(Box<str>),
    Number(f64),
    Negate(Box<Term>),
    /// Operators of one level, from the left.
    Chain {
        first: Box<Term>,
        rest: Vec<(Operator, Term)>,
    },
    /// Of node-sets.
    Union(Vec<Term>),
    Path(Path),
    Call(Box<Call>),
}

#[derive(Debug, Clone)]
pub(super) struct Call {
    /// The byte of its name.
    pub(super) at: usize,
    pub(super) function: Function,
    pub(super) arguments: Vec<Term>,
    /// The pattern of `re-match()` when it is a literal.
    pub(super) pattern: Option<Regex>,
}

#[derive(Debug, Clone)]
pub(super) struct Path {
    pub(super) start: Start,
    pub(super) steps: Vec<Step>,
    /// How many steps go before the tail: child steps, the last of which may be a descendant step. From one node a
    /// tail meets every node once and in document order, so it is walked without keeping what it meets.
    pub(super) head: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Start {
    Root,
    Context,
    /// `current()`.
    Current,
    Filter {
        term: Box<Term>,
        predicates: Vec<Predicate>,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) at: usize,
    pub(super) axis: Axis,
    pub(super) test: Test,
    pub(super) predicates: Vec<Predicate>,
    /// What the leading predicates say of leafs that may be keys.
    pub(super) keys: Vec<KeyTerm>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axis {
    Child,
    Descendant,
    DescendantOrSelf,
    SelfNode,
    Parent,
    Ancestor,
    AncestorOrSelf,
    FollowingSibling,
    PrecedingSibling,
    Following,
    Preceding,
    /// Data have no attributes: always empty.
    Attribute,
}

#[derive(Debug, Clone)]
pub(super) enum Test {
    Name(Named),
    /// `*`.
    Any,
    /// `prefix:*`; without a module nothing.
    AnyOf(Option<ModuleId>),
    /// `node()`.
    Node,
    /// `text()`.
    Text,
    /// `comment()` and `processing-instruction()`: data have none.
    Nothing,
}

#[derive(Debug, Clone)]
pub(super) struct Predicate {
    pub(super) term: Term,
    /// Is a number, which is compared with the position, or asks for the position or the size.
    pub(super) positional: bool,
    /// Asks for the size.
    pub(super) last: bool,
    /// A number that no node and no position changes: it names one place.
    pub(super) fixed: bool,
}

/// `key = operand`, where the operand is the same for all entries.
#[derive(Debug, Clone)]
pub(super) struct KeyTerm {
    /// None for `.`.
    pub(super) key: Option<names::Named>,
    pub(super) operand: Term,
}

impl Term {
    /// The type of its value: without variables it is known.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Term::Literal(_) => Kind::String,
            Term::Number(_) | Term::Negate(_) => Kind::Number,
            Term::Chain { rest, .. } => match rest.first().map(|(operator, _)| operator.level()) {
                Some(4..) => Kind::Number,
                _ => Kind::Boolean,
            },
            Term::Union(_) | Term::Path(_) => Kind::Nodes,
            Term::Call(call) => call.function.result(),
        }
    }

    /// Does some part of it satisfy `found` that has the same context node as the whole?
    fn any(&self, found: &mut dyn FnMut(&Term) -> bool) -> bool {
        if found(self) {
            return true;
        }
        match self {
            Term::Literal(_) | Term::Number(_) => false,
            Term::Negate(term) => term.any(found),
            Term::Chain { first, rest } => first.any(found) || rest.iter().any(|(_, term)| term.any(found)),
            Term::Union(terms) => terms.iter().any(|term| term.any(found)),
            Term::Path(path) => match &path.start {
                Start::Filter { term, .. } => term.any(found),
                Start::Root | Start::Context | Start::Current => false,
            },
            Term::Call(call) => call.arguments.iter().any(|term| term.any(found)),
        }
    }

    fn calls(&self, functions: &[Function]) -> bool {
        self.any(&mut |term| matches!(term, Term::Call(call) if functions.contains(&call.function)))
    }

    /// Has it the same value for every context node of one evaluation, if position and size do not change?
    pub(super) fn is_context_free(&self) -> bool {
        !self.any(&mut |term| match term {
            Term::Path(path) => matches!(path.start, Start::Context),
            Term::Call(call) => call.function.reads_context(call.arguments.len()),
            Term::Literal(_) | Term::Number(_) | Term::Negate(_) | Term::Chain { .. } | Term::Union(_) => {
                false
            }
        })
    }

    /// As [`Term::is_context_free`], whatever position and size are.
    pub(super) fn is_constant(&self) -> bool {
        self.is_context_free() && !self.calls(&[Function::Position, Function::Last])
    }
}

impl Predicate {
    pub(super) fn new(term: Term) -> Self {
        let term = position_alone(term);
        let number = term.kind() == Kind::Number;
        let last = term.calls(&[Function::Last]);
        let positional = number || last || term.calls(&[Function::Position]);
        let fixed = number && term.is_context_free() && !term.calls(&[Function::Position]);
        Self { term, positional, last, fixed }
    }
}

/// `position() = n` says the same as `n`.
fn position_alone(term: Term) -> Term {
    let Term::Chain { first, mut rest } = term else { return term };
    let is_position = |term: &Term| matches!(term, Term::Call(call) if call.function == Function::Position);
    match rest.as_slice() {
        [(Operator::Equal, other)] if other.kind() == Kind::Number && is_position(&first) => {
            rest.pop().map_or(*first, |(_, other)| other)
        }
        [(Operator::Equal, other)] if first.kind() == Kind::Number && is_position(other) => *first,
        _ => Term::Chain { first, rest },
    }
}

impl Path {
    pub(super) fn new(start: Start, steps: Vec<Step>) -> Self {
        let steps = shortened(steps);
        let mut head = steps.len();
        for (at, step) in steps.iter().enumerate().rev() {
            let last = at + 1 == steps.len();
            match step.axis {
                Axis::Child => head = at,
                Axis::Descendant | Axis::DescendantOrSelf if last => head = at,
                _ => break,
            }
        }
        Self { start, steps, head }
    }
}

impl Step {
    pub(super) fn new(at: usize, axis: Axis, test: Test, predicates: Vec<Predicate>) -> Self {
        let keys = match (axis, &test) {
            (Axis::Child, Test::Name(_)) => key_terms(&predicates),
            _ => Vec::new(),
        };
        Self { at, axis, test, predicates, keys }
    }
}

/// Without `self::node()`, and with `descendant::x` in the place of `//x` where that means the same.
fn shortened(steps: Vec<Step>) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::with_capacity(steps.len());
    for mut step in steps {
        let plain = |step: &Step| matches!(step.test, Test::Node) && step.predicates.is_empty();
        if step.axis == Axis::SelfNode && plain(&step) {
            continue;
        }
        let below_all = |before: &Step| before.axis == Axis::DescendantOrSelf && plain(before);
        if step.axis == Axis::Child
            && step.predicates.iter().all(|predicate| !predicate.positional)
            && let Some(before) = out.pop_if(|before| below_all(before))
        {
            step.at = before.at;
            step.axis = Axis::Descendant;
            step.keys.clear();
        }
        out.push(step);
    }
    out
}

fn key_terms(predicates: &[Predicate]) -> Vec<KeyTerm> {
    let leading = predicates.iter().take_while(|predicate| !predicate.positional);
    let mut keys = Vec::new();
    for predicate in leading {
        match &predicate.term {
            Term::Chain { first, rest } if rest.iter().all(|(operator, _)| *operator == Operator::And) => {
                keys.extend(key_term(first));
                keys.extend(rest.iter().filter_map(|(_, term)| key_term(term)));
            }
            term => keys.extend(key_term(term)),
        }
    }
    keys
}

fn key_term(term: &Term) -> Option<KeyTerm> {
    let Term::Chain { first, rest } = term else { return None };
    let [(Operator::Equal, other)] = rest.as_slice() else { return None };
    let pair = |key: &Term, operand: &Term| {
        let Term::Path(Path { start: Start::Context, steps, .. }) = key else { return None };
        let key = match steps.as_slice() {
            [] => None,
            [Step { axis: Axis::Child, test: Test::Name(named), predicates, .. }]
                if predicates.is_empty() =>
            {
                Some(named.clone())
            }
            _ => return None,
        };
        let usable = operand.is_constant() && operand.kind() != Kind::Boolean;
        usable.then(|| KeyTerm { key, operand: operand.clone() })
    };
    pair(first, other).or_else(|| pair(other, first))
}
