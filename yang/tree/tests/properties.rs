//! Laws that hold for any data: the map is a map, differences apply, encodings round-trip.

#![allow(clippy::expect_used)] // a failure here is a failed test

mod bench;

use cats_yang_tree::map::{Difference, Map};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{
    ChangeSet, DefaultOperation, Defaults, InstancePath, Operation, Ops, Record, Tree, Value, diff,
    diff_of_few, edit, json, view, xml,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// One random operation on probe-bench.
#[derive(Debug, Clone)]
struct Step {
    target: u8,
    key: u8,
    value: u8,
    delete: bool,
    place: u8,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0u8..10, 0u8..12, any::<u8>(), any::<bool>(), 0u8..4)
        .prop_map(|(target, key, value, delete, place)| Step { target, key, value, delete, place });
    prop::collection::vec(step, 0..40)
}

/// The element of `<bench>` that does a step; deletions are `remove`, so none fails.
fn element(step: &Step) -> String {
    let Step { key, value, .. } = step;
    let remove = if step.delete { r#" nc:operation="remove""# } else { "" };
    let insert = match step.place {
        _ if step.delete => "",
        1 => r#" yang:insert="first""#,
        2 => r#" yang:insert="last""#,
        _ => "",
    };
    match step.target {
        0 => format!("<knob{remove}>{value}</knob>"),
        1 => format!("<mode{remove}>'{value}\"&lt;</mode>"),
        2 | 3 => format!("<tag{remove}{insert}>t{key}</tag>"),
        4 => format!("<item{remove}><name>n{key}</name></item>"),
        5 => format!("<item><name>n{key}</name><size{remove}>{}</size></item>", u32::from(*value) + 1),
        6 => format!("<rule{remove}{insert}><id>{key}</id><action>permit</action></rule>"),
        7 => format!(
            "<rule><id>{key}</id><action>{}</action></rule>",
            if value % 2 == 0 { "deny" } else { "permit" }
        ),
        8 => format!("<pres{remove}><must-leaf>{value}</must-leaf></pres>"),
        _ if value % 2 == 0 => format!("<ca{remove}>{value}</ca>"),
        _ => format!("<cb{remove}>{value}</cb>"),
    }
}

fn after(schema: &Schema, tree: &Tree, steps: &[Step]) -> Tree {
    steps.iter().fold(tree.clone(), |tree, step| {
        let config = bench::in_config(&bench::in_bench(&element(step)));
        let ops = Ops::from_xml_str(schema, &config, DefaultOperation::Merge).expect("a good edit");
        edit(&tree, schema, ops).expect("an edit that fits")
    })
}

/// The fewest-moves order and all content, as XML, which shows the order of entries too.
fn text(schema: &Schema, tree: &Tree) -> String {
    view(tree, schema, Defaults::Explicit).to_xml()
}

proptest! {
    #[test]
    fn applying_a_difference_gives_the_other_tree(a in steps(), b in steps(), independent in any::<bool>()) {
        let schema = bench::schema();
        let old = after(&schema, &Tree::new(), &a);
        let base = if independent { Tree::new() } else { old.clone() };
        let new = after(&schema, &base, &b);
        let changes = diff(&old, &new);
        let applied = changes.apply(&old, &schema).expect("a difference fits its base");
        prop_assert_eq!(text(&schema, &applied), text(&schema, &new));
        prop_assert_eq!(&applied, &new);
        prop_assert_eq!(changes.is_empty(), old == new);
        for nodes in 0..60 {
            if let Some(few) = diff_of_few(&old, &new, nodes) {
                prop_assert_eq!(&few, &changes);
            }
        }
        prop_assert_eq!(diff_of_few(&old, &new, usize::MAX), Some(changes.clone()));

        let records = changes.records(&schema);
        let mut journal = String::new();
        changes.write_records(&schema, &mut journal).expect("a String takes everything");
        let read: Vec<Record> = serde_json::from_str(&journal).expect("records decode");
        prop_assert_eq!(&read, &records);
        for (text, record) in changes.records_in_text(&schema).iter().zip(&records) {
            let value = text.value.as_deref().map(|text| serde_json::from_str(text).expect("JSON"));
            prop_assert_eq!((&text.path, &text.after, &value), (&record.path, &record.after, &record.value));
        }
        let again = ChangeSet::from_records(&schema, &old, &records).expect("records are known");
        prop_assert_eq!(again.apply(&old, &schema).expect("they fit"), new);
    }

    #[test]
    fn a_tree_is_merged_as_the_edit_does_that_merges_all_of_it(a in steps(), b in steps(), independent in any::<bool>()) {
        let schema = bench::schema();
        let old = after(&schema, &Tree::new(), &a);
        let base = if independent { Tree::new() } else { old.clone() };
        let new = after(&schema, &base, &b);
        let config = format!("<config>{}</config>", text(&schema, &new));
        let ops = Ops::from_xml_str(&schema, &config, DefaultOperation::Merge).expect("our XML is good");
        let wanted = edit(&old, &schema, ops).expect("it fits");
        let merged = old.merged(&schema, &new);
        prop_assert_eq!(text(&schema, &merged), text(&schema, &wanted));
        prop_assert_eq!(&merged, &wanted);
        prop_assert!(diff(&wanted, &merged).is_empty());
        prop_assert_eq!(new.merged(&schema, &Tree::new()), new);
    }

    #[test]
    fn xml_and_json_read_back_as_they_were_written(a in steps()) {
        let schema = bench::schema();
        let tree = after(&schema, &Tree::new(), &a);
        let xml = format!("<config>{}</config>", text(&schema, &tree));
        let ops = Ops::from_xml_str(&schema, &xml, DefaultOperation::Merge).expect("our XML is good");
        prop_assert_eq!(&edit(&Tree::new(), &schema, ops).expect("it fits"), &tree);

        let value = json::branch(&schema, tree.root(), None);
        let mut written = String::new();
        json::write_branch(&schema, tree.root(), None, &mut written).expect("a String takes everything");
        prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&written).expect("our JSON is good"), &value);
        let ops = Ops::from_json(&schema, &value, Operation::Merge).expect("our JSON is good");
        prop_assert_eq!(&edit(&Tree::new(), &schema, ops).expect("it fits"), &tree);
    }

    #[test]
    fn replacing_with_the_same_content_shares_everything(a in steps()) {
        let schema = bench::schema();
        let tree = after(&schema, &Tree::new(), &a);
        let xml = format!("<config>{}</config>", text(&schema, &tree));
        let ops = Ops::from_xml_str(&schema, &xml, DefaultOperation::Replace).expect("our XML is good");
        prop_assert!(edit(&tree, &schema, ops).expect("it fits").ptr_eq(&tree));
    }

    #[test]
    fn a_key_of_any_text_names_its_entry(name in "[ -~é]{1,20}") {
        let schema = bench::schema();
        let mut path = InstancePath::parse(&schema, "/probe-bench:bench/item").expect("a path");
        path.steps[1].key = Some(cats_yang_tree::Key::One(Value::String(name.as_str().into())));
        let text = path.render(&schema);
        prop_assert_eq!(InstancePath::parse(&schema, &text.0).expect("our own path"), path);
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "[/a-z:\\[\\]='\". *()é0-9]{0,40}|\\PC{0,40}", xml in "(<[/!?]?[a-z]{0,3}( [a-z]=\"x\")?/?>|[a-z&;]){0,30}") {
        let schema = bench::schema();
        for text in [text.clone(), format!("/probe-bench:bench/item[{text}]"), format!("/probe-bench:bench/{text}")] {
            if let Ok(path) = InstancePath::parse(&schema, &text) {
                prop_assert_eq!(InstancePath::parse(&schema, &path.render(&schema).0), Ok(path));
            }
        }
        for node in schema.data_nodes() {
            if let Some(ty) = schema.leaf_type(node.id)
                && let Ok(value) = Value::parse_text(&schema, ty, node.module, &text)
            {
                let again = Value::parse_text(&schema, ty, node.module, &value.to_string());
                prop_assert_eq!(again, Ok(value), "a canonical form is its own");
            }
        }
        let _ = Ops::from_xml_str(&schema, &xml, DefaultOperation::Merge);
        let config = bench::in_config(&bench::in_bench(&xml));
        let _ = Ops::from_xml_str(&schema, &config, DefaultOperation::Merge);
    }

    #[test]
    fn the_map_is_a_map(ops in prop::collection::vec((any::<u16>(), any::<bool>()), 0..2000), other in prop::collection::vec((any::<u16>(), any::<bool>()), 0..60)) {
        let mut map = Map::new();
        let mut model = BTreeMap::new();
        play(&mut map, &mut model, &ops, 0);
        let (old, old_model) = (map.clone(), model.clone());
        play(&mut map, &mut model, &other, 1);
        prop_assert!(old.iter().eq(old_model.iter()), "a clone does not change");
        prop_assert!(map.iter().eq(model.iter()));
        prop_assert_eq!(map.len(), model.len());
        for (at, (key, value)) in model.iter().enumerate().step_by(17) {
            prop_assert_eq!(map.nth(at), Some((key, value)));
            prop_assert_eq!(map.rank(key), at);
            prop_assert!(map.iter_from(key).eq(model.range(key..)));
            prop_assert!(map.range(..key).eq(model.range(..key)));
        }
        let mut patched = old_model;
        for difference in old.diff(&map) {
            match difference {
                Difference::Added(key, value) => prop_assert_eq!(patched.insert(*key, *value), None),
                Difference::Removed(key, value) => prop_assert_eq!(patched.remove(key), Some(*value)),
                Difference::Changed(key, before, value) => {
                    prop_assert_ne!(before, value);
                    prop_assert_eq!(patched.insert(*key, *value), Some(*before));
                }
            }
        }
        prop_assert_eq!(patched, model);
    }
}

fn play(map: &mut Map<u16, u32>, model: &mut BTreeMap<u16, u32>, ops: &[(u16, bool)], salt: u32) {
    for (key, insert) in ops {
        // Few keys, so that removals find something; many inserts, so that nodes split.
        let key = key % 700;
        if *insert || key % 3 == 0 {
            let value = u32::from(key) * 2 + salt;
            assert_eq!(map.insert(key, value), model.insert(key, value));
        } else {
            assert_eq!(map.remove(&key), model.remove(&key));
        }
    }
}

#[test]
fn a_difference_of_one_entry_does_not_visit_the_rest() {
    let old: Map<u32, Counted> = (0..100_000).map(|key| (key, Counted(key))).collect();
    let mut new = old.clone();
    new.insert(50_000, Counted(7));
    new.remove(&99_999);
    COMPARED.with(|count| count.set(0));
    assert_eq!(old.diff(&new).count(), 2);
    let compared = COMPARED.with(std::cell::Cell::get);
    assert!(compared <= 200, "{compared} values were compared");
}

thread_local! {
    static COMPARED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

#[derive(Debug, Clone)]
struct Counted(u32);

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        COMPARED.with(|count| count.set(count.get() + 1));
        self.0 == other.0
    }
}

#[test]
fn deep_documents_within_the_limit_do_not_exhaust_the_stack() {
    let deep = format!("{}{}", "<a>".repeat(256), "</a>".repeat(256));
    assert!(xml::parse(&deep).is_ok());
}
