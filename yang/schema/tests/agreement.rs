//! yang/tree's validation and libyang, the oracle, give the same verdicts: on our own modules, and on random ones that
//! use every kind of constraint. `CATS_ORACLE_SCHEMAS` says how many of these, from the seed `CATS_ORACLE_SEED` on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may

mod random;

use cats_yang_schema::{Compiled, Document, ModuleSource, load};
use cats_yang_tree::error::{Error, ErrorInfo, Path};
use cats_yang_tree::ops::{Operation, Ops};
use cats_yang_tree::schema::{NodeKind, Schema};
use cats_yang_tree::validate::settled;
use cats_yang_tree::{Change, ChangeSet, Defaults, InstancePath, Tree, diff, edit, validate, view};
use proptest::prelude::*;
use random::{Dice, compiled, config, modules, schema, tree};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// How many commits are tried on each random schema.
const COMMITS: u64 = 16;

type Essence = (String, Option<String>, Option<String>);

/// What an error says, but for its words. Which of the entries that are not unique is named is left to each.
fn essence(schema: &Schema, error: &Error) -> Essence {
    let unique = error.app_tag.as_deref() == Some("data-not-unique");
    let path = error.path.as_ref().filter(|_| !unique).map(|path| in_data(schema, &path.0));
    let choice = error.info.iter().find_map(|info| match info {
        ErrorInfo::MissingChoice(name) => Some(name.clone()),
        _ => None,
    });
    (
        error.tag.to_string(),
        error.app_tag.clone().or(choice.clone()),
        path.map(|path| path + &choice.unwrap_or_default()),
    )
}

/// For what is missed at the top libyang gives a path of the schema: the same without the choices and cases.
fn in_data(schema: &Schema, path: &str) -> String {
    if InstancePath::parse(schema, path).is_ok() {
        return path.to_owned();
    }
    let (mut children, mut out) = (&schema.roots, String::new());
    for name in path.split('/').skip(1) {
        let local = name.split_once(':').map_or(name, |(_, local)| local);
        let found =
            children.iter().map(|id| schema.node(*id)).find(|node| node.name == local).expect("a node");
        if !matches!(found.kind, NodeKind::Choice { .. } | NodeKind::Case) {
            out.push_str(&format!("/{}{local}", if out.is_empty() { "g:" } else { "" }));
        }
        children = &found.children;
    }
    if out.is_empty() { "/".to_owned() } else { out }
}

/// The phases of yang/tree after deletions: 0 structure, 1 references, 2 `must`.
fn phase((_, app_tag, _): &Essence) -> u8 {
    match app_tag.as_deref() {
        Some("instance-required") => 1,
        Some(tag) if tag == "must-violation" || tag.starts_with("m-") => 2,
        _ => 0,
    }
}

/// libyang's errors of the first phase that has any.
fn first_phase(schema: &Schema, errors: &[Error]) -> BTreeSet<Essence> {
    let all: BTreeSet<Essence> = errors.iter().map(|error| essence(schema, error)).collect();
    let first = all.iter().map(phase).min();
    all.into_iter().filter(|essence| Some(phase(essence)) == first).collect()
}

/// The tree as a valid one, which carries its indexes.
fn judged(tree: Tree) -> Result<Tree, Vec<Error>> {
    let changes = diff(&Tree::new(), &tree);
    validate(schema(), &Tree::new(), tree, changes).map(|(valid, _)| valid)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn the_first_failing_phase_is_that_of_libyang(old: u64, new: u64) {
        let json = config(new);
        let theirs = compiled().validate(Document::Json(&json.to_string())).err().unwrap_or_default();
        let base = judged(tree(&config(old))).unwrap_or_default();
        let new = tree(&json);
        let changes = diff(&base, &new);
        let ours = validate(schema(), &base, new, changes).err().unwrap_or_default();
        let ours: BTreeSet<_> = ours.iter().map(|error| essence(schema(), error)).collect();
        prop_assert_eq!(ours, first_phase(schema(), &theirs), "{}", json);
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
    for kind in [
        "valid",
        "too-few-elements",
        "too-many-elements",
        "data-not-unique",
        "instance-required",
        "must-violation",
    ] {
        assert!(seen.contains(kind), "no {kind} among {seen:?}");
    }
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn random_commits_on_random_schemas_get_the_verdict_of_libyang() {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let first = variable("CATS_ORACLE_SEED", 1);
    for seed in first..first + variable("CATS_ORACLE_SCHEMAS", 200) {
        let text = modules::module(seed);
        let source = ModuleSource::extra(text.clone()).expect("a module");
        let compiled = load(&[source]).unwrap_or_else(|errors| panic!("seed {seed}: {errors:?}\n{text}"));
        assert_eq!(compiled.schema().left(), [], "seed {seed}\n{text}");
        let mut node = Node { compiled, text, seed, base: Tree::new(), dice: Dice(seed ^ 0x5eed) };
        // The empty configuration is valid or not, like any other.
        node.commit(Tree::new(), &mut seen);
        for _ in 0..COMMITS {
            let new = node.edit();
            node.commit(new, &mut seen);
        }
    }
    for kind in [
        "valid",
        "deleted",
        "data-missing",
        "missing-choice",
        "too-few-elements",
        "too-many-elements",
        "data-not-unique",
        "instance-required",
        "must-violation",
        "m-1",
    ] {
        assert!(seen.get(kind).is_some_and(|count| *count > 9), "too few {kind} among {seen:?}");
    }
}

/// A random schema and what runs under it.
struct Node {
    compiled: Compiled,
    text: String,
    seed: u64,
    base: Tree,
    dice: Dice,
}

impl Node {
    /// A random edit of what runs: something is merged, and something is deleted.
    fn edit(&mut self) -> Tree {
        let schema = self.compiled.schema();
        let rarity = 1 + self.dice.roll(4);
        let json = Json::Object(modules::object(schema, None, rarity, &mut self.dice));
        let mut ops = Ops::from_json(schema, &json, Operation::Merge).expect("the schema holds it");
        let places: Vec<InstancePath> =
            diff(&Tree::new(), &self.base).changes.into_iter().map(|change| change.path).collect();
        for _ in 0..self.dice.roll(3) {
            let Some(place) = places.get(usize::try_from(self.dice.roll(places.len() as u64 + 1)).unwrap())
            else {
                continue;
            };
            let is_key = place.node().is_some_and(|node| schema.is_key(node));
            if !is_key {
                ops.push(schema, place, Operation::Remove, None).expect("it may be removed");
            }
        }
        edit(&self.base, schema, ops).expect("the edit fits")
    }

    fn commit(&mut self, new: Tree, seen: &mut BTreeMap<String, u32>) {
        let schema = self.compiled.schema();
        let xml = |tree: &Tree| view(tree, schema, Defaults::Explicit).to_xml();
        let ours = validate(schema, &self.base, new.clone(), diff(&self.base, &new));
        // libyang's own deletions depend on the order in which it comes to them, so it judges what is left of ours.
        let settled = settled(schema, &new).expect("no 'when' is wrong");
        let theirs = self.compiled.validate(Document::Xml(&xml(&settled)));
        let said = match &ours {
            Ok((valid, _)) => Ok(xml(valid)),
            Err(errors) => Err(errors.iter().map(|error| essence(schema, error)).collect()),
        };
        let wanted = match &theirs {
            Ok(validated) => {
                assert_eq!(validated.deleted, [], "seed {}\n{}\n{}", self.seed, self.text, xml(&settled));
                Ok(xml(&settled))
            }
            Err(errors) => Err(first_phase(schema, errors)),
        };
        let shown = || {
            let (base, new) = (xml(&self.base), xml(&new));
            format!(
                "seed {}\n{}\nfrom {base}\nto {new}\n{:#?}\n{theirs:#?}",
                self.seed,
                self.text,
                ours.as_ref().err()
            )
        };
        assert_eq!(said, wanted, "ours and libyang's: {}", shown());
        for change in diff(&settled, &new).changes.into_iter().take(3) {
            let path = change.path.render(schema).0;
            let only = ChangeSet { changes: vec![Change { position: None, ..change }] };
            let again = only.apply(&settled, schema).expect("it was there");
            let deleted = self.compiled.validate(Document::Xml(&xml(&again))).map(|verdict| verdict.deleted);
            let fits = |deleted: &[Path]| deleted.iter().any(|place| path.starts_with(&place.0));
            assert!(
                deleted.as_ref().map_or(true, |deleted| fits(deleted)),
                "{path} may exist: {deleted:?} {}",
                shown()
            );
        }
        let mut count = |kind: &str| *seen.entry(kind.to_owned()).or_default() += 1;
        match &wanted {
            Ok(valid) => count(if *valid == xml(&new) { "valid" } else { "deleted" }),
            Err(errors) => errors.iter().for_each(|(tag, app_tag, _)| count(app_tag.as_ref().unwrap_or(tag))),
        }
        if let Ok((valid, _)) = ours {
            self.base = valid;
        }
    }
}
