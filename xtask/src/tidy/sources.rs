//! The laws that only the source shows: purity of L0 and L1, `unsafe`, unbounded channels, the length of files,
//! and the first paragraph of each crate.

use super::floor::{C_AND_UNSAFE, Level, OurPackage};
use super::rust_source::{code_only, lines_with_word, without_tests};
use crate::tree::TextFile;
use std::path::Path;

const LONGEST_FILE: usize = 1000;

/// What must not stand in the code of L0 and L1, with what it would bring in.
const IMPURE_WORDS: &[(&str, &str)] = &[
    ("tokio", "a runtime"),
    ("socket2", "sockets"),
    ("rustix", "system calls"),
    ("rand", "randomness"),
    ("std::fs", "files"),
    ("std::process", "processes"),
    ("std::thread", "threads"),
    ("std::env", "the environment"),
    ("std::os", "the operating system"),
    ("SystemTime::now", "a clock"),
    ("elapsed", "a clock"),
    ("Instant::now", "a clock"),
    ("TcpStream", "sockets"),
    ("TcpListener", "sockets"),
    ("UdpSocket", "sockets"),
    ("ToSocketAddrs", "name resolution"),
];

/// Checks the Rust files of the packages.
pub(crate) fn check(packages: &[OurPackage], files: &[TextFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|f| f.has_extension("rs")) {
        let generated = file.text.lines().take(5).any(|line| line.contains("@generated"));
        let lines = file.text.lines().count();
        if lines > LONGEST_FILE && !generated {
            findings.push(format!(
                "{}: {lines} lines, {LONGEST_FILE} at most; split it by what it does",
                file.path.display()
            ));
        }
        if let Some(package) = owner(packages, &file.path) {
            findings.extend(check_file(package, file));
        }
    }
    for package in packages {
        findings.extend(check_first_paragraph(package, files));
    }
    findings
}

/// The package in whose folder the file lies: the deepest one.
fn owner<'a>(packages: &'a [OurPackage], path: &Path) -> Option<&'a OurPackage> {
    packages.iter().filter(|p| path.starts_with(&p.folder)).max_by_key(|p| p.folder.components().count())
}

fn check_file(package: &OurPackage, file: &TextFile) -> Vec<String> {
    let code = code_only(&file.text);
    let at = |line: usize| format!("{}:{line}", file.path.display());
    let mut findings = Vec::new();
    for line in lines_with_word(&code, "unsafe") {
        if !C_AND_UNSAFE.contains(&package.name.as_str()) {
            findings.push(format!(
                "{}: unsafe outside yang/schema and datapath/kernel; use a safe wrapper",
                at(line)
            ));
        } else if !has_reason(&file.text, line) {
            findings
                .push(format!("{}: unsafe without its reason; write a SAFETY comment above it", at(line)));
        }
    }
    for line in unbounded_channels(&code) {
        findings.push(format!("{}: unbounded channel; give it a bound and say what happens at it", at(line)));
    }
    let pure = package.level.is_some_and(|level| level <= Level::L1);
    let source = file.path.strip_prefix(&package.folder).is_ok_and(|p| p.starts_with("src"));
    if pure && source && !is_test_file(&file.path) {
        let product = without_tests(&code);
        for (word, brings) in IMPURE_WORDS {
            for line in lines_with_word(&product, word) {
                findings.push(format!(
                    "{}: {word} brings {brings} into {} ({:?}); take it as an argument",
                    at(line),
                    package.name,
                    package.level.unwrap_or(Level::Outside)
                ));
            }
        }
    }
    findings
}

/// Files that only `#[cfg(test)] mod tests;` includes, by their customary names.
fn is_test_file(path: &Path) -> bool {
    path.components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        part == "tests" || part == "tests.rs" || part.ends_with("_tests.rs")
    })
}

fn has_reason(text: &str, line: usize) -> bool {
    let first = line.saturating_sub(10);
    let above = text.lines().skip(first).take(line - first);
    above.into_iter().any(|l| l.contains("SAFETY") || l.contains("# Safety") || l.contains("reason ="))
}

fn unbounded_channels(code: &str) -> Vec<usize> {
    let std_channel = |line: &str| {
        line.split("mpsc::channel").skip(1).any(|rest| {
            let rest = rest
                .strip_prefix("::<")
                .and_then(|r| r.split_once(">(").map(|(_, r)| r))
                .or(rest.strip_prefix('('));
            rest.is_some_and(|r| r.starts_with(')'))
        })
    };
    let named = ["unbounded_channel", "unbounded", "UnboundedSender"];
    let found =
        |line: &str| std_channel(line) || named.iter().any(|name| !lines_with_word(line, name).is_empty());
    code.lines().enumerate().filter(|(_, line)| found(line)).map(|(at, _)| at + 1).collect()
}

fn check_first_paragraph(package: &OurPackage, files: &[TextFile]) -> Option<String> {
    let root = ["src/lib.rs", "src/main.rs"]
        .iter()
        .find_map(|name| files.iter().find(|f| f.path == package.folder.join(name)))?;
    let words: String =
        root.text.lines().map_while(|l| l.strip_prefix("//!")).collect::<Vec<_>>().join(" ").to_lowercase();
    let says = ["must not know", "never", "must not"].iter().any(|phrase| words.contains(phrase));
    (!says).then(|| {
        format!(
            "{}:1: the crate's documentation must say what it is for and what it must never know",
            root.path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn channels_without_a_bound_are_found_and_bounded_ones_are_not() {
        let code = "mpsc::channel();\nmpsc::channel::<u8>();\nmpsc::channel(8);\nmpsc::channel::<u8>(8);\nunbounded_channel();";
        assert_eq!(unbounded_channels(code), [1, 2, 5]);
    }

    #[test]
    fn an_unsafe_block_needs_its_reason_close_by() {
        assert!(has_reason("// SAFETY: the pointer is ours\nunsafe { x }\n", 2));
        assert!(!has_reason("fn f() {\nunsafe { x }\n}\n", 2));
    }

    #[test]
    fn test_files_are_told_by_their_names() {
        assert!(is_test_file(&PathBuf::from("engine/core/src/cps/tests.rs")));
        assert!(is_test_file(&PathBuf::from("engine/core/src/tests/cps.rs")));
        assert!(!is_test_file(&PathBuf::from("engine/core/src/cps/mod.rs")));
    }
}
