//! From tokens to a rule, or to the place where it is none.

mod values;

use super::lexer::{self, Kind, Token};
use super::metric::{HEALTHS, Named, Target, health_name};
use super::rule::{Action, Comparison, Condition, Rule, Test, TimeWindow};
use super::words::{alike, nearest};
use crate::sma::SciState;
use crate::sma::calendar::{ANY_MAINTENANCE, Calendar};

/// Octets of a rule's text.
pub const MAX_TEXT: usize = 1024;
/// Parentheses and `NOT` within each other.
pub const MAX_DEPTH: usize = 16;
/// Tests in the condition of a rule.
pub const MAX_TESTS: usize = 64;
/// Actions of a rule.
pub const MAX_ACTIONS: usize = 16;

/// Why a text is no rule, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) offset: usize,
    /// Empty at the end of the rule.
    pub(super) word: String,
    pub(super) expected: String,
    pub(super) nearest: Option<String>,
}

/// Parses a rule into its normal form.
pub(super) fn parse(text: &str, calendar: &Calendar) -> Result<Rule, Refusal> {
    let mut parser = Parser { text, calendar, offset: 0, depth: 0, tests: 0 };
    if text.len() > MAX_TEXT {
        let expected = format!("at most {MAX_TEXT} octets in a rule");
        let (offset, word) = (MAX_TEXT, String::new());
        return Err(Refusal { offset, word, expected, nearest: None });
    }
    parser.keyword("IF")?;
    let condition = parser.any()?;
    let nested: &[&str] = &["THEN", "AND", "OR"];
    parser.one_of(&["THEN"], nested)?;
    let actions = parser.actions()?;
    Ok(Rule { condition, actions })
}

struct Parser<'a> {
    text: &'a str,
    calendar: &'a Calendar,
    offset: usize,
    depth: usize,
    tests: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        lexer::next(self.text, self.offset)
    }

    fn take(&mut self) -> Option<Token<'a>> {
        let token = self.peek()?;
        self.offset = token.offset + token.text.len();
        Some(token)
    }

    fn take_kind(&mut self, kind: Kind) -> bool {
        let found = self.peek().is_some_and(|token| token.kind == kind);
        if found {
            self.take();
        }
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.kind == Kind::Word && alike(token.text, word));
        if found {
            self.take();
        }
        found
    }

    /// Refuses the next token.
    fn refuse<'c>(&self, expected: String, candidates: impl IntoIterator<Item = &'c str>) -> Refusal {
        self.refuse_at(self.peek(), expected, candidates)
    }

    fn refuse_at<'c>(
        &self,
        token: Option<Token<'_>>,
        expected: String,
        candidates: impl IntoIterator<Item = &'c str>,
    ) -> Refusal {
        let (offset, word) = token.map_or((self.text.len(), ""), |token| (token.offset, token.text));
        let nearest = nearest(word, candidates).map(str::to_owned);
        Refusal { offset, word: word.chars().take(64).collect(), expected, nearest }
    }

    fn keyword(&mut self, word: &'static str) -> Result<(), Refusal> {
        self.one_of(&[word], &[word])
    }

    /// Takes one of `words`; the message names all that could stand here.
    fn one_of(&mut self, words: &[&str], possible: &[&str]) -> Result<(), Refusal> {
        if words.iter().any(|word| self.take_word(word)) {
            return Ok(());
        }
        Err(self.refuse(list(possible.iter().map(|word| format!("`{word}`"))), possible.iter().copied()))
    }

    fn any(&mut self) -> Result<Condition, Refusal> {
        let mut members = Vec::new();
        loop {
            match self.all()? {
                Condition::Any(inner) => members.extend(inner),
                member @ (Condition::All(_) | Condition::Not(_) | Condition::Test(_)) => members.push(member),
            }
            if !self.take_word("OR") {
                return Ok(single(members, Condition::Any));
            }
        }
    }

    fn all(&mut self) -> Result<Condition, Refusal> {
        let mut members = Vec::new();
        loop {
            match self.one()? {
                Condition::All(inner) => members.extend(inner),
                member @ (Condition::Any(_) | Condition::Not(_) | Condition::Test(_)) => members.push(member),
            }
            if !self.take_word("AND") {
                return Ok(single(members, Condition::All));
            }
        }
    }

    fn one(&mut self) -> Result<Condition, Refusal> {
        if self.peek().is_some_and(|token| token.kind == Kind::Open || alike(token.text, "NOT")) {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                let expected = format!("at most {MAX_DEPTH} parentheses and `NOT` within each other");
                return Err(self.refuse(expected, []));
            }
            let inner = self.nested()?;
            self.depth -= 1;
            return Ok(inner);
        }
        if self.tests == MAX_TESTS {
            return Err(self.refuse(format!("at most {MAX_TESTS} tests in a condition"), []));
        }
        self.tests += 1;
        self.test().map(Condition::Test)
    }

    fn nested(&mut self) -> Result<Condition, Refusal> {
        if self.take_word("NOT") {
            return Ok(match self.one()? {
                Condition::Not(inner) => *inner,
                inner @ (Condition::All(_) | Condition::Any(_) | Condition::Test(_)) => {
                    Condition::Not(Box::new(inner))
                }
            });
        }
        self.take();
        let inner = self.any()?;
        if self.take_kind(Kind::Close) {
            Ok(inner)
        } else {
            Err(self.refuse("`)`, `AND` or `OR`".to_owned(), ["AND", "OR"]))
        }
    }

    fn test(&mut self) -> Result<Test, Refusal> {
        let named = self.peek().filter(|token| token.kind == Kind::Word);
        let Some(named) = named.and_then(|token| Named::find(token.text)) else {
            let expected = "a metric, `Time`, `Flagged`, `NOT` or `(`".to_owned();
            return Err(self.refuse(expected, Named::all().map(|(name, _)| name).chain(["NOT"])));
        };
        self.take();
        match named {
            Named::Number(metric) => {
                let is = self.comparison()?;
                Ok(Test::Number { metric, is, value: self.value(metric, "")? })
            }
            Named::Health => {
                let equal = self.equality()?;
                Ok(Test::Health { equal, value: self.choice(HEALTHS, health_name)? })
            }
            Named::State => {
                let equal = self.equality()?;
                Ok(Test::State { equal, value: self.choice(SciState::ALL, SciState::name)? })
            }
            Named::Service => {
                let equal = self.equality()?;
                Ok(Test::Service { equal, value: self.identity()? })
            }
            Named::Instance => {
                let equal = self.equality()?;
                Ok(Test::Instance { equal, value: self.identity()? })
            }
            Named::Time => {
                self.keyword("IN")?;
                self.window().map(Test::Time)
            }
            Named::Flagged => Ok(Test::Flagged),
        }
    }

    fn comparison(&mut self) -> Result<Comparison, Refusal> {
        let is = self.peek().and_then(|token| match token.kind {
            Kind::Less => Some(Comparison::Less),
            Kind::LessOrEqual => Some(Comparison::LessOrEqual),
            Kind::Equal => Some(Comparison::Equal),
            Kind::NotEqual => Some(Comparison::NotEqual),
            Kind::GreaterOrEqual => Some(Comparison::GreaterOrEqual),
            Kind::Greater => Some(Comparison::Greater),
            Kind::Word | Kind::Open | Kind::Close | Kind::Comma | Kind::Percent | Kind::Foreign => None,
        });
        let symbols = Comparison::ALL.iter().map(|is| format!("`{}`", is.symbol()));
        let is = is.ok_or_else(|| self.refuse(list(symbols), []))?;
        self.take();
        Ok(is)
    }

    /// Whether it is `=` rather than `!=`.
    fn equality(&mut self) -> Result<bool, Refusal> {
        if self.take_kind(Kind::Equal) {
            Ok(true)
        } else if self.take_kind(Kind::NotEqual) {
            Ok(false)
        } else {
            Err(self.refuse("`=` or `!=`, as this has no order".to_owned(), []))
        }
    }

    fn window(&mut self) -> Result<TimeWindow, Refusal> {
        let token = self.peek().filter(|token| token.kind == Kind::Word);
        let name = token.map_or("", |token| token.text);
        let windows = self.calendar.windows();
        let found = if alike(name, ANY_MAINTENANCE) {
            Some((ANY_MAINTENANCE, self.calendar.maintenance()))
        } else {
            let known = windows.iter().find(|window| alike(&window.name, name));
            known.and_then(|window| Some((window.name.as_str(), self.calendar.find(name)?)))
        };
        let Some((name, windows)) = found else {
            let names = windows.iter().map(|window| window.name.as_str()).chain([ANY_MAINTENANCE]);
            let more = if windows.len() > 8 { ", …" } else { "" };
            let known = list(windows.iter().take(8).map(|window| format!("`{}`", window.name)));
            let expected = match windows.len() {
                0 => format!("`{ANY_MAINTENANCE}`, as the calendar has no windows"),
                _ => format!("`{ANY_MAINTENANCE}` or a window of the calendar ({known}{more})"),
            };
            return Err(self.refuse(expected, names));
        };
        self.take();
        Ok(TimeWindow { name: name.to_owned(), windows })
    }

    fn actions(&mut self) -> Result<Vec<Action>, Refusal> {
        let mut actions = Vec::new();
        loop {
            if actions.len() == MAX_ACTIONS {
                return Err(self.refuse(format!("at most {MAX_ACTIONS} actions in a rule"), []));
            }
            actions.push(self.action()?);
            if self.peek().is_none() {
                return Ok(actions);
            }
            if !self.take_kind(Kind::Comma) {
                return Err(self.refuse("`,` and a further action, or the end of the rule".to_owned(), []));
            }
        }
    }

    fn action(&mut self) -> Result<Action, Refusal> {
        const ACTIONS: [&str; 6] = ["SET", "REDUCE", "CAP", "FLOOR", "SUPPRESS_UPDATES", "FLAG"];
        if self.take_word("SET") {
            return self.set();
        }
        if self.take_word("REDUCE") {
            let target = self.target()?;
            self.keyword("BY")?;
            return Ok(Action::Reduce(target, self.amount(target.number())?));
        }
        if self.take_word("CAP") {
            let target = self.target()?;
            self.keyword("AT")?;
            return Ok(Action::Cap(target, self.value(target.number(), "")?));
        }
        if self.take_word("FLOOR") {
            let target = self.target()?;
            self.keyword("AT")?;
            return Ok(Action::Floor(target, self.value(target.number(), "")?));
        }
        if self.take_word("SUPPRESS_UPDATES") {
            return Ok(Action::SuppressUpdates);
        }
        if self.take_word("FLAG") {
            return Ok(Action::Flag);
        }
        Err(self.refuse(list(ACTIONS.iter().map(|word| format!("`{word}`"))), ACTIONS))
    }

    fn set(&mut self) -> Result<Action, Refusal> {
        let health = self.peek().and_then(|token| Named::find(token.text)) == Some(Named::Health);
        if health {
            self.take();
            self.equal()?;
            return Ok(Action::SetHealth(self.choice(HEALTHS, health_name)?));
        }
        let target = self.target_or(Some(Named::Health.name()))?;
        self.equal()?;
        Ok(Action::Set(target, self.value(target.number(), "")?))
    }

    fn equal(&mut self) -> Result<(), Refusal> {
        if self.take_kind(Kind::Equal) { Ok(()) } else { Err(self.refuse("`=`".to_owned(), [])) }
    }

    fn target(&mut self) -> Result<Target, Refusal> {
        self.target_or(None)
    }

    /// A metric that can be changed; `further` is what could stand here besides.
    fn target_or(&mut self, further: Option<&'static str>) -> Result<Target, Refusal> {
        let named = self.peek().and_then(|token| Named::find(token.text));
        let found = Target::ALL.into_iter().find(|target| named == Some(Named::Number(target.number())));
        let Some(target) = found else {
            let names = Target::ALL.iter().map(|target| target.number().name()).chain(further);
            let quoted = list(names.clone().map(|name| format!("`{name}`")));
            return Err(self.refuse(format!("a metric that can be changed: {quoted}"), names));
        };
        self.take();
        Ok(target)
    }
}

/// The one member, or all of them under `kind`.
fn single(mut members: Vec<Condition>, kind: fn(Vec<Condition>) -> Condition) -> Condition {
    match members.pop() {
        Some(member) if members.is_empty() => member,
        Some(member) => {
            members.push(member);
            kind(members)
        }
        None => kind(members),
    }
}

/// `a, b or c`.
fn list(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
