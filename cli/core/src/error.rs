//! What the CLI says when something is wrong: for a person with a mark under the word, for a script as one JSON
//! object.

use serde::Serialize;
use std::fmt;

/// An error of the command line or of the server, complete for both readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Error {
    /// An `error-tag` of RFC 6241, or `usage`, `unreachable`, `timeout` for what never reached the server.
    pub tag: String,
    /// The place in the data, in the RFC 7951 form, where there is one.
    pub path: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What would have been right: words or a description.
    pub expected: Vec<String>,
    /// What to do.
    pub remedy: Option<String>,
    /// Byte offset and length of the offending word in its line.
    #[serde(skip)]
    pub span: Option<(usize, usize)>,
}

impl Error {
    /// A command that cannot be understood.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            tag: "usage".to_owned(),
            path: None,
            message: message.into(),
            expected: Vec::new(),
            remedy: None,
            span: None,
        }
    }

    /// The same error under the word at `span`.
    #[must_use]
    pub fn under(mut self, span: (usize, usize)) -> Self {
        self.span = Some(span);
        self
    }

    /// The same error with what was expected.
    #[must_use]
    pub fn expecting(mut self, expected: Vec<String>) -> Self {
        self.expected = expected;
        self
    }

    /// The same error with a remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The lines that a person sees below the line that was typed. Control characters that came with the words are
    /// shown as U+FFFD: an error is never an order to the terminal.
    pub fn explain(&self, line: &str) -> String {
        let text = self.explained(line);
        text.chars()
            .map(|c| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c })
            .collect()
    }

    fn explained(&self, line: &str) -> String {
        let mut out = String::new();
        if let Some((start, length)) = self.span {
            let before = line.get(..start).map_or(0, |text| text.chars().count());
            let under = line.get(start..start + length).map_or(1, |text| text.chars().count().max(1));
            out.push_str(line);
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', before));
            out.extend(std::iter::repeat_n('^', under));
            out.push('\n');
        }
        out.push_str(&self.to_string());
        out
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some(path) = &self.path {
            write!(f, "\n  at: {path}")?;
        }
        if !self.expected.is_empty() {
            write!(f, "\n  expected: {}", self.expected.join(", "))?;
        }
        if let Some(remedy) = &self.remedy {
            write!(f, "\n  remedy: {remedy}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// The word among `known` that `word` was probably meant to be.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = word.chars().count() / 3 + 1;
    known
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits from one word to the other (insertions, deletions, replacements).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, above) in b.iter().zip(row.iter_mut().skip(1)) {
            let here = (diagonal + usize::from(x != *y)).min(left + 1).min(*above + 1);
            diagonal = std::mem::replace(above, here);
            left = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_is_recognised_and_a_foreign_one_is_not() {
        let known = ["services", "service-metrics", "forwarder"];
        assert_eq!(nearest("servcies", known.into_iter()), Some("services"));
        assert_eq!(nearest("bgp", known.into_iter()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn the_mark_stands_under_the_offending_word() {
        let error = Error::usage("`x` is unknown").under((4, 1));
        assert_eq!(error.explain("set x 1"), "set x 1\n    ^\nerror: `x` is unknown");
    }

    #[test]
    fn an_error_never_orders_the_terminal_about() {
        let shown = Error::usage("`\u{1b}[2J` is unknown").under((4, 5)).explain("set \u{1b}[2J\u{7}");
        assert!(shown.chars().all(|c| !c.is_control() || c == '\n'), "{shown:?}");
    }

    #[test]
    fn the_json_form_has_the_five_members_that_scripts_read() {
        let value = serde_json::to_value(Error::usage("m").remedy("r")).unwrap();
        let members: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(members, ["expected", "message", "path", "remedy", "tag"]);
    }
}
