//! yang/tree's structural validation and libyang give the same verdicts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may

mod random;

use cats_yang_schema::Document;
use cats_yang_tree::error::Error;
use cats_yang_tree::{Tree, diff, validate};
use proptest::prelude::*;
use random::{compiled, config, schema, tree};
use std::collections::BTreeSet;

/// What an error says, but for its words. Which of the entries that are not unique is named is left to each.
fn essence(error: &Error) -> (String, Option<String>, Option<String>) {
    let path = error.path.as_ref().map(|path| path.0.clone());
    let unique = error.app_tag.as_deref() == Some("data-not-unique");
    (error.tag.to_string(), error.app_tag.clone(), path.filter(|_| !unique))
}

/// The errors that yang/tree leaves to libyang are those of `must`.
fn is_structural(error: &Error) -> bool {
    error.app_tag.as_deref() != Some("must-violation")
}

/// The tree as a valid one, which carries its indexes.
fn judged(tree: Tree) -> Result<Tree, Vec<Error>> {
    let changes = diff(&Tree::new(), &tree);
    validate(schema(), &Tree::new(), tree, changes).map(|(valid, _)| valid)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_first_failing_phase_is_that_of_libyang(old: u64, new: u64) {
        let json = config(new);
        let theirs = compiled().validate(Document::Json(&json.to_string())).err().unwrap_or_default();
        let theirs: BTreeSet<_> = theirs.iter().filter(|error| is_structural(error)).map(essence).collect();
        let base = judged(tree(&config(old))).unwrap_or_default();
        let new = tree(&json);
        let changes = diff(&base, &new);
        let ours = validate(schema(), &base, new, changes).err().unwrap_or_default();
        let ours: BTreeSet<_> = ours.iter().map(essence).collect();
        let reference = |error: &&(String, Option<String>, Option<String>)| error.1.as_deref() == Some("instance-required");
        let shapes: BTreeSet<_> = theirs.iter().filter(|error| !reference(error)).cloned().collect();
        let first_phase = if shapes.is_empty() { theirs } else { shapes };
        prop_assert_eq!(ours, first_phase, "{}", json);
    }
}

#[test]
fn the_random_configurations_fail_in_every_phase() {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for seed in 0..300 {
        let new = tree(&config(seed));
        match judged(new) {
            Ok(_) => drop(seen.insert("valid".to_owned())),
            Err(errors) => seen.extend(errors.iter().map(|error| error.app_tag.clone().unwrap_or_default())),
        }
    }
    for kind in ["valid", "too-few-elements", "too-many-elements", "data-not-unique", "instance-required"] {
        assert!(seen.contains(kind), "no {kind} among {seen:?}");
    }
}
