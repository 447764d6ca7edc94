//! Constructs that the datastore cannot index, refused in the project's own modules: a `must` or `when` with
//! `//`, `preceding`, `following` or `deref()`.

use crate::tree::TextFile;

/// Checks the files `cats-*.yang`.
pub(crate) fn check(files: &[TextFile]) -> Vec<String> {
    let ours = |file: &&TextFile| {
        file.has_extension("yang")
            && file.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("cats-"))
    };
    files.iter().filter(ours).flat_map(check_module).collect()
}

fn check_module(file: &TextFile) -> Vec<String> {
    let mut findings = Vec::new();
    for (line, keyword, argument) in conditions(&file.text) {
        let path = outside_literals(&argument);
        for construct in ["//", "preceding", "following", "deref("] {
            if path.contains(construct) {
                findings.push(format!(
                    "{}:{line}: {keyword} with {construct}: the datastore cannot index it; name the path in full",
                    file.path.display()
                ));
            }
        }
    }
    findings
}

#[derive(Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Other(char),
}

/// Every `must` and `when` of the module: line, keyword and argument with concatenated strings joined.
fn conditions(module: &str) -> Vec<(usize, String, String)> {
    let tokens = tokens(module);
    let mut found = Vec::new();
    for (at, (line, token)) in tokens.iter().enumerate() {
        let Token::Word(keyword) = token else { continue };
        if keyword != "must" && keyword != "when" {
            continue;
        }
        let mut argument = String::new();
        for (_, next) in tokens.iter().skip(at + 1) {
            match next {
                Token::Text(text) | Token::Word(text) if text != "+" => argument.push_str(text),
                Token::Word(_) | Token::Text(_) => {}
                Token::Other(_) => break,
            }
        }
        found.push((*line, keyword.clone(), argument));
    }
    found
}

fn tokens(module: &str) -> Vec<(usize, Token)> {
    let mut out = Vec::new();
    let mut line = 1;
    let mut rest = module;
    while let Some(first) = rest.chars().next() {
        let (token, length) = if rest.starts_with("//") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (None, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if first == '"' || first == '\'' {
            let length = string_length(rest, first);
            let text = rest.get(1..length.saturating_sub(1)).unwrap_or_default();
            (Some(Token::Text(text.to_owned())), length)
        } else if first.is_whitespace() {
            (None, first.len_utf8())
        } else if matches!(first, '{' | '}' | ';') {
            (Some(Token::Other(first)), 1)
        } else {
            let stop = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | ';' | '"' | '\'');
            let length = rest.find(stop).unwrap_or(rest.len());
            (Some(Token::Word(rest.get(..length).unwrap_or_default().to_owned())), length)
        };
        if let Some(token) = token {
            out.push((line, token));
        }
        let (taken, left) = rest.split_at_checked(length.max(1)).unwrap_or((rest, ""));
        line += taken.matches('\n').count();
        rest = left;
    }
    out
}

fn string_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if quote == '"' && c == '\\' {
            escaped = true;
        } else if c == quote {
            return at + 1;
        }
    }
    rest.len()
}

/// An XPath expression without what stands in its string literals.
fn outside_literals(xpath: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    for c in xpath.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn check_text(name: &str, text: &str) -> Vec<String> {
        check(&[TextFile { path: PathBuf::from(name), text: text.to_owned() }])
    }

    #[test]
    fn a_descendant_path_in_a_must_is_refused() {
        let found = check_text("yang/cats-x.yang", "leaf a {\n  must \"count(\" + \"//b) > 1\";\n}");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("yang/cats-x.yang:2: must with //"));
    }

    #[test]
    fn comments_literals_and_the_standard_modules_are_left_alone() {
        assert!(check_text("cats-x.yang", "// must \"//a\";\nmust \"b = 'http://x'\";").is_empty());
        assert!(check_text("ietf-x.yang", "when \"//a\";").is_empty());
    }

    #[test]
    fn deref_and_sibling_axes_are_refused() {
        assert_eq!(
            check_text("cats-x.yang", "when \"deref(../a)/b\"; must 'preceding-sibling::c';").len(),
            2
        );
    }
}
