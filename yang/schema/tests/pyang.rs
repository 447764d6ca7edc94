//! Our modules in the eyes of pyang, which must be on the path or in `target/venv` (`make test` installs it there:
//! `python3 -m venv target/venv && target/venv/bin/pip install pyang==2.7.1`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may

use std::path::{Path, PathBuf};
use std::process::Command;

fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

/// Runs pyang over files of `yang/modules`; what it prints, errors first.
fn pyang(arguments: &[&str], files: &[PathBuf]) -> String {
    let installed = target().join("venv/bin/pyang");
    let program = if installed.is_file() { installed } else { PathBuf::from("pyang") };
    let output = Command::new(&program)
        .arg("--path")
        .arg(format!("{}:{}", target().join("yang").display(), modules().display()))
        .args(arguments)
        .args(files)
        .output()
        .unwrap_or_else(|error| {
            panic!(
                "{}: {error}: this test needs pyang 2.7.1 from PyPI, on the path or in target/venv",
                program.display()
            )
        });
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

fn modules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../modules")
}

fn files(prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(modules()).unwrap().map(|entry| entry.unwrap().path());
    let ours = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(prefix);
    let mut files: Vec<PathBuf> = entries.filter(ours).collect();
    files.sort();
    assert!(!files.is_empty(), "no module {prefix}*");
    files
}

#[test]
fn ietf_cats_has_the_tree_of_the_draft_node_for_node() {
    let wanted =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ietf-cats.tree"));
    assert_eq!(pyang(&["--format", "tree"], &files("ietf-cats")), wanted.unwrap());
}

#[test]
fn our_modules_are_clean_in_the_strict_lint() {
    assert_eq!(pyang(&["--strict", "--lint"], &files("ietf-")), "");
    let ours =
        ["--strict", "--lint", "--lint-namespace-prefix=urn:catsd:yang:", "--lint-modulename-prefix=cats"];
    assert_eq!(pyang(&ours, &files("cats-")), "");
}
