//! Words that must not stand anywhere in the repository: marks of unfinished work and paths of one machine.

use crate::tree::TextFile;

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn a_mark_of_unfinished_work_is_found_with_its_line() {
        let text = format!("fine\nalso fine // {}{}\n", "TO", "DO later");
        let found = check(&[TextFile { path: PathBuf::from("a.md"), text }]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a.md:2:"), "{found:?}");
    }
}
