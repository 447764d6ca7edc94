//! The committed corpus, through the functions that the fuzzer runs. A test fails by the panic of the law that an input
//! breaks; the input is named before it.

#![allow(clippy::expect_used, clippy::panic)] // a failure here is a failed test

use cats_fuzz::TARGETS;
use std::path::{Path, PathBuf};

/// Says which input it was when a target panics.
struct Running(PathBuf);

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input is {}", self.0.display());
        }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.sort();
    files
}

fn replay(name: &str) {
    let (_, target) = TARGETS.iter().find(|(target, _)| *target == name).expect("a target of that name");
    let inputs = files(&folder().join(name));
    assert!(!inputs.is_empty(), "{name} has no corpus");
    for input in inputs {
        let data = std::fs::read(&input).expect("a readable input");
        let running = Running(input);
        target(&data);
        drop(running);
    }
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let folders: Vec<String> =
        files(&folder()).iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect();
    let targets: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(folders, targets);
}

#[test]
fn edits_keep_the_laws_of_the_tree() {
    replay("edit_config");
}

#[test]
fn filters_select_parts_and_the_same_again() {
    replay("filter");
}

#[test]
fn framing_is_that_of_the_grammar_in_any_pieces() {
    replay("framing");
}

#[test]
fn json_is_read_as_it_was_written() {
    replay("json");
}

#[test]
fn paths_and_values_are_their_own_canonical_form() {
    replay("paths");
}

#[test]
fn pcep_messages_are_encoded_as_they_came() {
    replay("pcep_message");
}

#[test]
fn pcep_objects_are_encoded_as_they_came() {
    replay("pcep_object");
}

#[test]
fn pcep_tlvs_are_encoded_as_they_came() {
    replay("pcep_tlv");
}

#[test]
fn requests_and_replies_mean_the_same_when_read_again() {
    replay("rpc");
}

#[test]
fn sessions_answer_every_request_in_any_pieces() {
    replay("session");
}

#[test]
fn what_is_valid_does_not_depend_on_what_was_valid_before() {
    replay("validate");
}

#[test]
fn expressions_mean_the_same_however_they_are_evaluated() {
    replay("xpath");
}
