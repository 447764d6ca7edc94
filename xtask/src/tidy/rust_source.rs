//! Rust source as the laws read it: comments and literals blanked, test code cut. It never parses: a lexer is
//! enough to tell code from words about code.

/// The source with comments, strings and characters replaced by blanks; line breaks stay, so line numbers hold.
pub(crate) fn code_only(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match literal_end(bytes, at) {
            Some(end) => end,
            None => {
                // A word is stepped over whole, so that the `r` of `for"` never starts a raw string.
                at += word_length(bytes, at).max(1);
                continue;
            }
        };
        for slot in out.iter_mut().take(end).skip(at) {
            if *slot != b'\n' {
                *slot = b' ';
            }
        }
        at = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The source of `code_only` without the items under `#[cfg(test)]`, blanked in the same way.
pub(crate) fn without_tests(code: &str) -> String {
    let mut out = code.as_bytes().to_vec();
    let mut from = 0;
    while let Some(found) = code.get(from..).and_then(|rest| rest.find("#[cfg(test)]")) {
        let start = from + found;
        let end = item_end(code.as_bytes(), start + "#[cfg(test)]".len());
        for slot in out.iter_mut().take(end).skip(start) {
            if *slot != b'\n' {
                *slot = b' ';
            }
        }
        from = end.max(start + 1);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The numbers (from 1) of the lines in which `word` stands by itself.
pub(crate) fn lines_with_word(code: &str, word: &str) -> Vec<usize> {
    let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    let has = |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            boundary(line.get(..at).and_then(|s| s.chars().next_back()))
                && boundary(line.get(at + word.len()..).and_then(|s| s.chars().next()))
        })
    };
    code.lines().enumerate().filter(|(_, line)| has(line)).map(|(at, _)| at + 1).collect()
}

fn word_length(bytes: &[u8], at: usize) -> usize {
    bytes.iter().skip(at).take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
}

/// Where the comment or literal that starts at `at` ends, or nothing if none starts there.
fn literal_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    match rest {
        [b'/', b'/', ..] => Some(at + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())),
        [b'/', b'*', ..] => Some(at + comment_length(rest)),
        [b'"', ..] => Some(at + quoted_length(rest, 1, b'"')),
        [b'b', b'"', ..] | [b'c', b'"', ..] => Some(at + quoted_length(rest, 2, b'"')),
        [b'r', b'"' | b'#', ..] => raw_length(rest, 1).map(|n| at + n),
        [b'b' | b'c', b'r', b'"' | b'#', ..] => raw_length(rest, 2).map(|n| at + n),
        [b'\'', b'\\', ..] => Some(at + quoted_length(rest, 1, b'\'')),
        [b'\'', _, b'\'', ..] => Some(at + 3),
        _ => None,
    }
}

fn comment_length(rest: &[u8]) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < rest.len() {
        match rest.get(at..) {
            Some([b'/', b'*', ..]) => {
                depth += 1;
                at += 2;
            }
            Some([b'*', b'/', ..]) => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    break;
                }
            }
            _ => at += 1,
        }
    }
    at
}

fn quoted_length(rest: &[u8], open: usize, quote: u8) -> usize {
    let mut at = open;
    while let Some(byte) = rest.get(at) {
        at += if *byte == b'\\' { 2 } else { 1 };
        if *byte == quote {
            break;
        }
    }
    at.min(rest.len())
}

fn raw_length(rest: &[u8], prefix: usize) -> Option<usize> {
    let hashes = rest.iter().skip(prefix).take_while(|b| **b == b'#').count();
    if rest.get(prefix + hashes) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(hashes + 1, b'#');
    let body = rest.get(prefix + hashes + 1..)?;
    let end = body.windows(close.len()).position(|w| w == close.as_slice()).map(|p| p + close.len());
    Some(prefix + hashes + 1 + end.unwrap_or(body.len()))
}

/// Where the item after an attribute ends: at its closing brace, or at a semicolon before any brace.
fn item_end(code: &[u8], from: usize) -> usize {
    let mut depth = 0usize;
    for (at, byte) in code.iter().enumerate().skip(from) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return at + 1,
            b'}' => depth -= 1,
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_not_code() {
        let source = "let a = \"unsafe\"; // unsafe\nlet b = r#\"unsafe \" x\"#; /* un /* safe */ */ let c = '\"'; unsafe {}";
        let code = code_only(source);
        assert_eq!(lines_with_word(&code, "unsafe"), [2]);
        assert_eq!(code.len(), source.len());
    }

    #[test]
    fn lifetimes_are_not_characters() {
        assert_eq!(
            code_only("fn f<'a>(x: &'a str) -> &'a str { x }"),
            "fn f<'a>(x: &'a str) -> &'a str { x }"
        );
    }

    #[test]
    fn test_modules_are_cut_and_what_follows_stays() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { if x { now } } }\nfn c() { now }\n#[cfg(test)]\nmod t;\nnow";
        let rest = without_tests(code);
        assert_eq!(lines_with_word(&rest, "now"), [4, 7]);
    }

    #[test]
    fn a_word_inside_a_longer_word_does_not_count() {
        assert!(lines_with_word("unsafe_code forbid_unsafe", "unsafe").is_empty());
    }
}
