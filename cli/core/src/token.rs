//! A command line as words. Words are separated by blanks; `"…"` and `'…'` keep blanks; `\` takes the next
//! character as it is, outside single quotes; `#` at the beginning of a word starts a comment; `;` and a line
//! break end a command.

use crate::error::Error;

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What it says, quotes and escapes removed.
    pub text: String,
    /// Byte offset of its first character in the input.
    pub start: usize,
    /// Byte length in the input, quotes included.
    pub length: usize,
    /// Whether any part was quoted: a quoted word is never a bracket.
    pub quoted: bool,
}

impl Token {
    /// Where it stands, for [`Error::under`].
    pub fn span(&self) -> (usize, usize) {
        (self.start, self.length)
    }
}

/// Splits the input into commands of at least one word.
pub fn commands(input: &str) -> Result<Vec<Vec<Token>>, Error> {
    let mut commands = vec![Vec::new()];
    let mut reader = Reader { input, at: 0 };
    while let Some(next) = reader.peek() {
        match next {
            ';' | '\n' => {
                reader.take();
                commands.push(Vec::new());
            }
            c if c.is_whitespace() => {
                reader.take();
            }
            '#' => while reader.peek().is_some_and(|c| c != '\n') && reader.take().is_some() {},
            _ => {
                let word = reader.word()?;
                if let Some(command) = commands.last_mut() {
                    command.push(word);
                }
            }
        }
    }
    commands.retain(|command| !command.is_empty());
    Ok(commands)
}

struct Reader<'a> {
    input: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.input.get(self.at..)?.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn word(&mut self) -> Result<Token, Error> {
        let start = self.at;
        let mut text = String::new();
        let mut quoted = false;
        while let Some(next) = self.peek() {
            match next {
                ';' => break,
                c if c.is_whitespace() => break,
                '"' | '\'' => {
                    quoted = true;
                    self.quoted(next, &mut text)?;
                }
                '\\' => {
                    let from = self.at;
                    self.take();
                    let Some(escaped) = self.take() else {
                        return Err(Error::usage("nothing follows the backslash").under((from, 1)));
                    };
                    text.push(escaped);
                }
                c => {
                    self.take();
                    text.push(c);
                }
            }
        }
        Ok(Token { text, start, length: self.at - start, quoted })
    }

    fn quoted(&mut self, quote: char, text: &mut String) -> Result<(), Error> {
        let from = self.at;
        self.take();
        while let Some(next) = self.take() {
            match next {
                c if c == quote => return Ok(()),
                '\\' if quote == '"' => text.extend(self.take()),
                c => text.push(c),
            }
        }
        Err(Error::usage("the quoted text has no end")
            .under((from, 1))
            .remedy(format!("close it with {quote}")))
    }
}

/// A word in the form that [`commands`] reads back.
pub fn quote(text: &str) -> String {
    let plain = !text.is_empty()
        && !text.starts_with('#')
        && text != "["
        && text != "]"
        && text.chars().all(|c| !c.is_whitespace() && !matches!(c, ';' | '"' | '\'' | '\\'));
    if plain {
        return text.to_owned();
    }
    let mut out = String::from('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(input: &str) -> Vec<Vec<String>> {
        commands(input)
            .unwrap()
            .into_iter()
            .map(|command| command.into_iter().map(|token| token.text).collect())
            .collect()
    }

    #[test]
    fn semicolons_and_line_breaks_end_commands_and_comments_are_left_out() {
        let got = words("configure; set a 1\n# a note\nset b \"x; y\" # another\n\n");
        assert_eq!(got, vec![vec!["configure"], vec!["set", "a", "1"], vec!["set", "b", "x; y"]]);
    }

    #[test]
    fn spans_point_into_the_input() {
        let command = commands("set  \"a b\" c").unwrap().remove(0);
        assert_eq!(command.iter().map(Token::span).collect::<Vec<_>>(), vec![(0, 3), (5, 5), (11, 1)]);
    }

    #[test]
    fn an_open_quote_is_an_error_at_the_quote() {
        let error = commands("set a \"b").unwrap_err();
        assert_eq!(error.span, Some((6, 1)));
    }

    proptest! {
        #[test]
        fn a_quoted_word_reads_back_as_itself(text in any::<String>()) {
            prop_assert_eq!(words(&quote(&text)), vec![vec![text]]);
        }
    }
}
