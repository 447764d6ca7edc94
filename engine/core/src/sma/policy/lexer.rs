//! From text to tokens, each with its place.

/// A token and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    /// In octets from the beginning of the rule.
    pub(super) offset: usize,
    /// As it was written.
    pub(super) text: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, a number, an address.
    Word,
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
    Open,
    Close,
    Comma,
    Percent,
    /// A character that the language does not have.
    Foreign,
}

/// Takes the next token of `text` at `offset` or behind it.
pub(super) fn next(text: &str, offset: usize) -> Option<Token<'_>> {
    let rest = text.get(offset..)?;
    let offset = offset + (rest.len() - rest.trim_start().len());
    let rest = rest.trim_start();
    let first = rest.chars().next()?;
    let (kind, length) = match first {
        '<' if rest.starts_with("<=") => (Kind::LessOrEqual, 2),
        '<' => (Kind::Less, 1),
        '>' if rest.starts_with(">=") => (Kind::GreaterOrEqual, 2),
        '>' => (Kind::Greater, 1),
        '!' if rest.starts_with("!=") => (Kind::NotEqual, 2),
        '=' => (Kind::Equal, 1),
        '(' => (Kind::Open, 1),
        ')' => (Kind::Close, 1),
        ',' => (Kind::Comma, 1),
        '%' => (Kind::Percent, 1),
        first if is_of_word(first) => (Kind::Word, rest.find(|c| !is_of_word(c)).unwrap_or(rest.len())),
        other => (Kind::Foreign, other.len_utf8()),
    };
    let text = rest.get(..length)?;
    Some(Token { kind, offset, text })
}

/// Characters of names, numbers and addresses, and of words that can only be told as wrong ones.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')
}
