//! The lexical structure of XPath 1.0 (section 3.7 of the recommendation).

use super::XPathError;
use crate::error::shown;

/// A token and the byte at which it starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) at: usize,
    pub(super) kind: Word<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Word<'a> {
    OpenParenthesis,
    CloseParenthesis,
    OpenBracket,
    CloseBracket,
    Dot,
    DotDot,
    At,
    Comma,
    Slash,
    DoubleSlash,
    Operator(Operator),
    /// `*` as a node test.
    Any,
    /// `prefix:*`.
    AnyOf(&'a str),
    Name {
        prefix: Option<&'a str>,
        local: &'a str,
    },
    /// A name before `(` that is no node type.
    Function(&'a str),
    /// `comment`, `text`, `processing-instruction` or `node` before `(`.
    NodeType(&'a str),
    /// A name before `::`, which is taken with it.
    Axis(&'a str),
    Literal(&'a str),
    Number(f64),
    Variable(&'a str),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Multiply,
    Divide,
    Modulo,
    Union,
}

impl Operator {
    /// How tightly it binds; operators of one level group from the left.
    pub(super) fn level(self) -> u8 {
        match self {
            Operator::Or => 0,
            Operator::And => 1,
            Operator::Equal | Operator::NotEqual => 2,
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => 3,
            Operator::Plus | Operator::Minus => 4,
            Operator::Multiply | Operator::Divide | Operator::Modulo => 5,
            Operator::Union => 7,
        }
    }
}

/// All tokens of an expression, [`Word::End`] last.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, XPathError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut out: Vec<Token<'_>> = Vec::new();
    loop {
        let token = lexer.next(out.last().map(|token| token.kind))?;
        out.push(token);
        if token.kind == Word::End {
            return Ok(out);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, length: usize) -> &'a str {
        let taken = self.rest().get(..length).unwrap_or_default();
        self.at += length;
        taken
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn next(&mut self, before: Option<Word<'a>>) -> Result<Token<'a>, XPathError> {
        self.blanks();
        let at = self.at;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(Token { at, kind: Word::End }) };
        if let Some((length, kind)) = symbol(rest, before) {
            self.at += length;
            return Ok(Token { at, kind });
        }
        let kind = match first {
            '\'' | '"' => self.literal(first)?,
            '0'..='9' | '.' => self.number(),
            '$' => {
                self.at += 1;
                Word::Variable(self.take(qualified_name(self.rest())))
            }
            _ if is_name_start(first) => self.name(before)?,
            _ => {
                let found = format!("'{}'", first.escape_debug());
                return Err(XPathError::Syntax { at, found, expected: "an expression or an operator" });
            }
        };
        Ok(Token { at, kind })
    }

    fn literal(&mut self, quote: char) -> Result<Word<'a>, XPathError> {
        let start = self.at;
        let body = self.rest().get(1..).unwrap_or_default();
        let Some(end) = body.find(quote) else {
            let found = format!("{quote}{}", shown(body));
            return Err(XPathError::Syntax { at: start, found, expected: "a closing quote" });
        };
        self.at += end + 2;
        Ok(Word::Literal(body.get(..end).unwrap_or_default()))
    }

    fn number(&mut self) -> Word<'a> {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(self.rest());
        let fraction = self.rest().get(whole..).and_then(|rest| rest.strip_prefix('.'));
        let length = fraction.map_or(whole, |rest| whole + 1 + digits(rest));
        Word::Number(super::number::parse(self.take(length)))
    }

    fn name(&mut self, before: Option<Word<'a>>) -> Result<Word<'a>, XPathError> {
        let start = self.at;
        let first = self.take(word(self.rest()));
        if is_operand_end(before) {
            let operator = match first {
                "or" => Operator::Or,
                "and" => Operator::And,
                "div" => Operator::Divide,
                "mod" => Operator::Modulo,
                _ => {
                    let found = format!("'{}'", shown(first));
                    return Err(XPathError::Syntax { at: start, found, expected: "an operator" });
                }
            };
            return Ok(Word::Operator(operator));
        }
        let tail = self.rest().trim_start_matches([' ', '\t', '\n', '\r']);
        if tail.starts_with("::") {
            self.blanks();
            self.at += 2;
            return Ok(Word::Axis(first));
        }
        let (prefix, local) = match self.rest().strip_prefix(':') {
            Some(after) if after.starts_with('*') => {
                self.at += 2;
                return Ok(Word::AnyOf(first));
            }
            Some(after) if after.starts_with(is_name_start) => {
                self.at += 1;
                (Some(first), self.take(word(after)))
            }
            _ => (None, first),
        };
        if !self.rest().trim_start_matches([' ', '\t', '\n', '\r']).starts_with('(') {
            return Ok(Word::Name { prefix, local });
        }
        Ok(match (prefix, local) {
            (None, "comment" | "text" | "processing-instruction" | "node") => Word::NodeType(local),
            _ => Word::Function(self.text.get(start..self.at).unwrap_or_default()),
        })
    }
}

/// The punctuation at the start of `rest`.
fn symbol<'a>(rest: &str, before: Option<Word<'a>>) -> Option<(usize, Word<'a>)> {
    let two = match rest.get(..2) {
        Some("//") => Some(Word::DoubleSlash),
        Some("..") => Some(Word::DotDot),
        Some("!=") => Some(Word::Operator(Operator::NotEqual)),
        Some("<=") => Some(Word::Operator(Operator::LessOrEqual)),
        Some(">=") => Some(Word::Operator(Operator::GreaterOrEqual)),
        _ => None,
    };
    if let Some(word) = two {
        return Some((2, word));
    }
    let mut chars = rest.chars();
    let one = match chars.next()? {
        '(' => Word::OpenParenthesis,
        ')' => Word::CloseParenthesis,
        '[' => Word::OpenBracket,
        ']' => Word::CloseBracket,
        '@' => Word::At,
        ',' => Word::Comma,
        '/' => Word::Slash,
        '|' => Word::Operator(Operator::Union),
        '+' => Word::Operator(Operator::Plus),
        '-' => Word::Operator(Operator::Minus),
        '=' => Word::Operator(Operator::Equal),
        '<' => Word::Operator(Operator::Less),
        '>' => Word::Operator(Operator::Greater),
        '*' if is_operand_end(before) => Word::Operator(Operator::Multiply),
        '*' => Word::Any,
        '.' if !chars.next().is_some_and(|c| c.is_ascii_digit()) => Word::Dot,
        _ => return None,
    };
    Some((1, one))
}

/// After such a token `*` multiplies and a name is an operator.
fn is_operand_end(before: Option<Word<'_>>) -> bool {
    match before {
        None => false,
        Some(word) => match word {
            Word::OpenParenthesis
            | Word::OpenBracket
            | Word::At
            | Word::Comma
            | Word::Slash
            | Word::DoubleSlash
            | Word::Operator(_)
            | Word::Axis(_) => false,
            Word::CloseParenthesis
            | Word::CloseBracket
            | Word::Dot
            | Word::DotDot
            | Word::Any
            | Word::AnyOf(_)
            | Word::Name { .. }
            | Word::Function(_)
            | Word::NodeType(_)
            | Word::Literal(_)
            | Word::Number(_)
            | Word::Variable(_)
            | Word::End => true,
        },
    }
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// The length of the name without colon at the start of `text`.
fn word(text: &str) -> usize {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
    end.unwrap_or(text.len())
}

/// The length of the name, with a prefix or not, at the start of `text`.
fn qualified_name(text: &str) -> usize {
    let first = word(text);
    match text.get(first..).and_then(|rest| rest.strip_prefix(':')) {
        Some(rest) if rest.starts_with(is_name_start) => first + 1 + word(rest),
        _ => first,
    }
}
