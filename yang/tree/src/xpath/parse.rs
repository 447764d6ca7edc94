//! The grammar of XPath 1.0 (section 3), from tokens to [`Term`]s with their names resolved.

use super::function::Function;
use super::term::{Axis, Call, Path, Predicate, Start, Step, Term, Test};
use super::token::{Operator, Token, Word, tokens};
use super::{Kind, MAX_LENGTH, MAX_NESTING, MAX_PATTERN, Scope, XPathError};
use crate::error::shown;
use crate::pattern;
use crate::schema::Schema;

pub(super) fn parse(schema: &Schema, text: &str, scope: &Scope) -> Result<Term, XPathError> {
    if text.len() > MAX_LENGTH {
        return Err(XPathError::TooLong { length: text.len(), limit: MAX_LENGTH });
    }
    let mut parser = Parser { schema, scope, text, tokens: tokens(text)?, next: 0, nesting: 0 };
    let term = parser.expression()?;
    match parser.word() {
        Word::End => Ok(term),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

/// How `re-match()` reads its second argument.
pub(super) fn pattern(at: usize, text: &str) -> Result<regex::Regex, XPathError> {
    let refused = |why: String| XPathError::Pattern { at, pattern: text.to_owned(), why };
    if text.len() > MAX_PATTERN {
        return Err(refused(format!("it is longer than {MAX_PATTERN} octets")));
    }
    pattern::compile_within(text, pattern::SMALL).map_err(refused)
}

struct Parser<'a> {
    schema: &'a Schema,
    scope: &'a Scope,
    text: &'a str,
    tokens: Vec<Token<'a>>,
    next: usize,
    nesting: usize,
}

impl<'a> Parser<'a> {
    fn token(&self) -> Token<'a> {
        // The last token, the end, is never taken.
        let end = Token { at: self.text.len(), kind: Word::End };
        self.tokens.get(self.next).copied().unwrap_or(end)
    }

    fn word(&self) -> Word<'a> {
        self.token().kind
    }

    fn eat(&mut self, word: Word<'_>) -> bool {
        let found = self.word() == word;
        if found {
            self.next += 1;
        }
        found
    }

    fn expect(&mut self, word: Word<'_>, expected: &'static str) -> Result<(), XPathError> {
        if self.eat(word) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn unexpected(&self, expected: &'static str) -> XPathError {
        let at = self.token().at;
        let end = self.tokens.get(self.next + 1).map_or(self.text.len(), |token| token.at);
        let found = match self.text.get(at..end).map(str::trim_end) {
            None | Some("") => "the end".to_owned(),
            Some(text) => format!("'{}'", shown(text)),
        };
        XPathError::Syntax { at, found, expected }
    }

    /// A whole expression: the only way to nest.
    fn expression(&mut self) -> Result<Term, XPathError> {
        if self.nesting == MAX_NESTING {
            return Err(XPathError::TooDeep { at: self.token().at, limit: MAX_NESTING });
        }
        self.nesting += 1;
        let term = self.binary(0)?;
        self.nesting -= 1;
        Ok(term)
    }

    /// Operators that bind as tightly as `least` or tighter.
    fn binary(&mut self, least: u8) -> Result<Term, XPathError> {
        let mut left = self.unary()?;
        loop {
            let Word::Operator(operator) = self.word() else { return Ok(left) };
            if operator.level() < least {
                return Ok(left);
            }
            self.next += 1;
            let right = self.binary(operator.level() + 1)?;
            left = chained(left, operator, right);
        }
    }

    fn unary(&mut self) -> Result<Term, XPathError> {
        let mut count = 0usize;
        while self.eat(Word::Operator(Operator::Minus)) {
            count += 1;
        }
        let term = self.union()?;
        let negated = |term| Term::Negate(Box::new(term));
        Ok(match count {
            0 => term,
            // Two of them still make a number of it.
            _ if count.is_multiple_of(2) => negated(negated(term)),
            _ => negated(term),
        })
    }

    fn union(&mut self) -> Result<Term, XPathError> {
        let at = self.token().at;
        let first = self.path()?;
        if self.word() != Word::Operator(Operator::Union) {
            return Ok(first);
        }
        require_nodes(&first, at, "'|'")?;
        let mut terms = vec![first];
        while self.eat(Word::Operator(Operator::Union)) {
            let at = self.token().at;
            let term = self.path()?;
            require_nodes(&term, at, "'|'")?;
            terms.push(term);
        }
        Ok(Term::Union(terms))
    }

    /// A location path, or a filter expression with or without a path behind it.
    fn path(&mut self) -> Result<Term, XPathError> {
        let at = self.token().at;
        let mut steps = Vec::new();
        let start = match self.word() {
            Word::Slash => {
                self.next += 1;
                if self.at_step() {
                    self.relative(&mut steps)?;
                }
                Start::Root
            }
            Word::DoubleSlash => {
                self.step_behind(&mut steps)?;
                Start::Root
            }
            _ if self.at_step() => {
                self.relative(&mut steps)?;
                Start::Context
            }
            _ => {
                let term = self.primary()?;
                let predicates = self.predicates()?;
                let more = matches!(self.word(), Word::Slash | Word::DoubleSlash);
                if predicates.is_empty() && !more {
                    return Ok(term);
                }
                require_nodes(&term, at, if more { "'/'" } else { "a predicate" })?;
                self.step_behind(&mut steps)?;
                match term {
                    Term::Call(call) if call.function == Function::Current && predicates.is_empty() => {
                        Start::Current
                    }
                    term => Start::Filter { term: Box::new(term), predicates },
                }
            }
        };
        Ok(Term::Path(Path::new(start, steps)))
    }

    /// `/` or `//` and the steps behind it, if one stands there.
    fn step_behind(&mut self, steps: &mut Vec<Step>) -> Result<(), XPathError> {
        let at = self.token().at;
        if self.eat(Word::DoubleSlash) {
            steps.push(Step::new(at, Axis::DescendantOrSelf, Test::Node, Vec::new()));
            self.relative(steps)
        } else if self.eat(Word::Slash) {
            self.relative(steps)
        } else {
            Ok(())
        }
    }

    fn at_step(&self) -> bool {
        match self.word() {
            Word::Dot
            | Word::DotDot
            | Word::At
            | Word::Any
            | Word::AnyOf(_)
            | Word::Name { .. }
            | Word::NodeType(_)
            | Word::Axis(_) => true,
            Word::OpenParenthesis
            | Word::CloseParenthesis
            | Word::OpenBracket
            | Word::CloseBracket
            | Word::Comma
            | Word::Slash
            | Word::DoubleSlash
            | Word::Operator(_)
            | Word::Function(_)
            | Word::Literal(_)
            | Word::Number(_)
            | Word::Variable(_)
            | Word::End => false,
        }
    }

    fn relative(&mut self, steps: &mut Vec<Step>) -> Result<(), XPathError> {
        loop {
            let step = self.step()?;
            steps.push(step);
            let at = self.token().at;
            if self.eat(Word::DoubleSlash) {
                steps.push(Step::new(at, Axis::DescendantOrSelf, Test::Node, Vec::new()));
            } else if !self.eat(Word::Slash) {
                return Ok(());
            }
        }
    }

    fn step(&mut self) -> Result<Step, XPathError> {
        let at = self.token().at;
        if self.eat(Word::Dot) {
            return Ok(Step::new(at, Axis::SelfNode, Test::Node, Vec::new()));
        }
        if self.eat(Word::DotDot) {
            return Ok(Step::new(at, Axis::Parent, Test::Node, Vec::new()));
        }
        let axis = match self.word() {
            Word::At => {
                self.next += 1;
                Axis::Attribute
            }
            Word::Axis(name) => {
                let axis = self.axis(name)?;
                self.next += 1;
                axis
            }
            _ => Axis::Child,
        };
        let test = self.test()?;
        let predicates = self.predicates()?;
        Ok(Step::new(at, axis, test, predicates))
    }

    fn axis(&self, name: &str) -> Result<Axis, XPathError> {
        Ok(match name {
            "child" => Axis::Child,
            "descendant" => Axis::Descendant,
            "descendant-or-self" => Axis::DescendantOrSelf,
            "self" => Axis::SelfNode,
            "parent" => Axis::Parent,
            "ancestor" => Axis::Ancestor,
            "ancestor-or-self" => Axis::AncestorOrSelf,
            "following-sibling" => Axis::FollowingSibling,
            "preceding-sibling" => Axis::PrecedingSibling,
            "following" => Axis::Following,
            "preceding" => Axis::Preceding,
            "attribute" => Axis::Attribute,
            "namespace" => return Err(XPathError::NamespaceAxis { at: self.token().at }),
            _ => return Err(self.unexpected("an axis of XPath 1.0")),
        })
    }

    fn test(&mut self) -> Result<Test, XPathError> {
        let at = self.token().at;
        let test = match self.word() {
            Word::Any => Test::Any,
            Word::AnyOf(prefix) => Test::AnyOf(self.module(at, prefix)?),
            Word::Name { prefix, local } => {
                let module = prefix.map(|prefix| self.module(at, prefix)).transpose()?;
                Test::Name(self.scope.meets(self.schema, module, local))
            }
            Word::NodeType(name) => {
                self.next += 1;
                return self.node_type(name);
            }
            _ => return Err(self.unexpected("a name, '*', '.', '..' or a node type")),
        };
        self.next += 1;
        Ok(test)
    }

    fn node_type(&mut self, name: &str) -> Result<Test, XPathError> {
        self.expect(Word::OpenParenthesis, "'('")?;
        if name == "processing-instruction" && matches!(self.word(), Word::Literal(_)) {
            self.next += 1;
        }
        self.expect(Word::CloseParenthesis, "')'")?;
        Ok(match name {
            "node" => Test::Node,
            "text" => Test::Text,
            _ => Test::Nothing,
        })
    }

    fn module(&self, at: usize, prefix: &str) -> Result<Option<crate::schema::ModuleId>, XPathError> {
        let unbound = || XPathError::Prefix { at, prefix: prefix.to_owned() };
        self.scope.module(self.schema, prefix).ok_or_else(unbound)
    }

    fn predicates(&mut self) -> Result<Vec<Predicate>, XPathError> {
        let mut predicates = Vec::new();
        while self.eat(Word::OpenBracket) {
            predicates.push(Predicate::new(self.expression()?));
            self.expect(Word::CloseBracket, "']'")?;
        }
        Ok(predicates)
    }

    fn primary(&mut self) -> Result<Term, XPathError> {
        let Token { at, kind } = self.token();
        match kind {
            Word::OpenParenthesis => {
                self.next += 1;
                let term = self.expression()?;
                self.expect(Word::CloseParenthesis, "')'")?;
                Ok(term)
            }
            Word::Literal(text) => {
                self.next += 1;
                Ok(Term::Literal(Box::from(text)))
            }
            Word::Number(number) => {
                self.next += 1;
                Ok(Term::Number(number))
            }
            Word::Function(name) => {
                self.next += 1;
                self.call(at, name)
            }
            Word::Variable(name) => Err(XPathError::Variable { at, name: name.to_owned() }),
            _ => Err(self.unexpected("an expression")),
        }
    }

    fn call(&mut self, at: usize, name: &str) -> Result<Term, XPathError> {
        let unknown = || XPathError::Function { at, name: name.to_owned() };
        let function = Function::named(name).ok_or_else(unknown)?;
        self.expect(Word::OpenParenthesis, "'('")?;
        let mut arguments = Vec::new();
        if !self.eat(Word::CloseParenthesis) {
            loop {
                arguments.push(self.expression()?);
                if !self.eat(Word::Comma) {
                    break;
                }
            }
            self.expect(Word::CloseParenthesis, "',' or ')'")?;
        }
        let given = arguments.len();
        if let Some(wanted) = function.refuses(given) {
            return Err(XPathError::Arguments { at, function: function.name(), wanted, given });
        }
        if let Some(first) = arguments.first().filter(|_| function.takes_nodes()) {
            require_nodes(first, at, function.name())?;
        }
        let pattern = match (function, arguments.as_slice()) {
            (Function::ReMatch, [_, Term::Literal(text)]) => Some(pattern(at, text)?),
            _ => None,
        };
        Ok(Term::Call(Box::new(Call { at, function, arguments, pattern })))
    }
}

/// `left operator right`, as one more operand where the level is the same: both group from the left.
fn chained(left: Term, operator: Operator, right: Term) -> Term {
    match left {
        Term::Chain { first, mut rest }
            if rest.first().is_some_and(|(other, _)| other.level() == operator.level()) =>
        {
            rest.push((operator, right));
            Term::Chain { first, rest }
        }
        left => Term::Chain { first: Box::new(left), rest: vec![(operator, right)] },
    }
}

fn require_nodes(term: &Term, at: usize, what: &'static str) -> Result<(), XPathError> {
    match term.kind() {
        Kind::Nodes => Ok(()),
        found @ (Kind::String | Kind::Number | Kind::Boolean) => Err(XPathError::NodeSet { at, what, found }),
    }
}
