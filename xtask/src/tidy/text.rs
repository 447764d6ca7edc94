//! Words that must not stand anywhere in the repository: marks of unfinished work and paths of one machine.

use crate::tree::TextFile;
use std::path::Path;

/// The words, each split so that this file does not hold it.
const WORDS: &[(&str, &str, &str)] = &[
    ("TO", "DO", "finish it, or leave it out and say so in the documentation"),
    ("FIX", "ME", "fix it"),
    ("unimple", "mented!", "what is not built is absent"),
    ("todo", "!(", "what is not built is absent"),
    ("/wo", "rk/", "the project speaks of itself alone"),
    ("/tm", "p/t/", "the project speaks of itself alone"),
    ("fa", "rm-", "the project speaks of itself alone"),
];

/// Checks every text file but Cargo.lock.
pub(crate) fn check(files: &[TextFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|f| !f.path.ends_with("Cargo.lock")) {
        for (number, line) in file.text.lines().enumerate() {
            for (head, tail, remedy) in WORDS {
                let word = format!("{head}{tail}");
                if line.contains(&word) {
                    findings.push(format!("{}:{}: {word}: {remedy}", file.path.display(), number + 1));
                }
            }
        }
    }
    findings
}

/// Checks that every path in backticks in the pages at the root leads to a file or folder.
pub(crate) fn check_places(root: &Path, files: &[TextFile]) -> Vec<String> {
    let page = |file: &&TextFile| file.has_extension("md") && file.path.components().count() == 1;
    let mut findings = Vec::new();
    for file in files.iter().filter(page) {
        for (number, line) in file.text.lines().enumerate() {
            for place in places(line).filter(|place| !root.join(place).exists()) {
                findings.push(format!("{}:{}: {place} is not there", file.path.display(), number + 1));
            }
        }
    }
    findings
}

/// The words in backticks that are paths of sources: with a slash, and beginning with one of our folders.
fn places(line: &str) -> impl Iterator<Item = &str> {
    const FOLDERS: &[&str] = &["cli", "conformance", "datapath", "engine", "mgmtd", "pcep", "xtask", "yang"];
    line.split('`').skip(1).step_by(2).filter(|word| {
        let folder = word.split_once('/').map(|(folder, _)| folder);
        folder.is_some_and(|folder| FOLDERS.contains(&folder)) && !word.contains(' ')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn paths_in_backticks_are_told_from_other_words() {
        let line = "see `engine/core/src/lib.rs`, `Cps::new`, `target/demo` and `yang/tree`";
        assert_eq!(places(line).collect::<Vec<_>>(), ["engine/core/src/lib.rs", "yang/tree"]);
    }

    #[test]
    fn a_mark_of_unfinished_work_is_found_with_its_line() {
        let text = format!("fine\nalso fine // {}{}\n", "TO", "DO later");
        let found = check(&[TextFile { path: PathBuf::from("a.md"), text }]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a.md:2:"), "{found:?}");
    }
}
