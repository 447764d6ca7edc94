//! The cases that tests name in their comments, such as "The case F05": each must have its row in
//! `conformance/cases.md`.

use crate::tree::TextFile;
use std::collections::BTreeSet;

const PAGE: &str = "conformance/cases.md";

/// Checks the comments of every source file.
pub(crate) fn check(files: &[TextFile]) -> Vec<String> {
    let page = files.iter().find(|file| file.path.ends_with(PAGE));
    let rows: BTreeSet<&str> =
        page.map(|page| page.text.lines().filter_map(row).collect()).unwrap_or_default();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.has_extension("rs") || file.has_extension("py")) {
        for (number, line) in file.text.lines().enumerate() {
            for case in named(line).into_iter().filter(|case| !rows.contains(case)) {
                findings.push(format!(
                    "{}:{}: the case {case} has no row in {PAGE}: add its input and its right answer",
                    file.path.display(),
                    number + 1
                ));
            }
        }
    }
    findings
}

/// The case that a line of the table describes.
fn row(line: &str) -> Option<&str> {
    line.strip_prefix("| ")?.split(" |").next().filter(|cell| is_case(cell))
}

/// The cases that a comment names: all behind the word "case" or "cases" when one follows it at once.
fn named(line: &str) -> Vec<&str> {
    let Some((_, comment)) = line.split_once("//").or_else(|| line.split_once('#')) else {
        return Vec::new();
    };
    let words: Vec<&str> =
        comment.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let begin = words.windows(2).position(|pair| match pair {
        [word, next] => ["case", "cases", "Case", "Cases"].contains(word) && is_case(next),
        _ => false,
    });
    let Some(begin) = begin else { return Vec::new() };
    words.into_iter().skip(begin + 1).filter(|word| is_case(word)).collect()
}

fn is_case(word: &str) -> bool {
    let mut bytes = word.bytes();
    word.len() == 3
        && bytes.next().is_some_and(|first| first.is_ascii_uppercase())
        && bytes.all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: PathBuf::from(path), text: text.to_owned() }
    }

    #[test]
    fn a_case_without_a_row_is_found_with_its_line() {
        let page = file(PAGE, "| case | x |\n|---|---|\n| F05 | chunks | one message |\n");
        // Put together here, so that this file itself names no such case.
        let line = format!("/// The {} F05, Z99 and Z98, and the rest.", "cases");
        let test = file("a.rs", &["fn a() {}", &line, "let case = F99;"].join("\n"));
        let found = check(&[page, test]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("a.rs:2: the case Z99 "), "{found:?}");
        assert!(found[1].starts_with("a.rs:2: the case Z98 "), "{found:?}");
    }

    #[test]
    fn words_that_only_look_like_cases_name_none() {
        for line in [
            "// in this case IPv6 is meant",
            "/// The case is closed.",
            "let a = \"case F05\";",
            "# case f05",
        ] {
            assert_eq!(named(line), Vec::<&str>::new(), "{line}");
        }
    }
}
