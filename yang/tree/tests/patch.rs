//! Differences as the edits of a YANG patch (RFC 8072 section 2.5), on the model probe-bench.

#![allow(clippy::unwrap_used)] // a failure here is a failed test

mod bench;

use bench::{Bench, NS, in_bench};
use cats_yang_tree::DefaultOperation;
use cats_yang_tree::diff::{PatchEdit, PatchOperation, PatchPlace};

/// The edits that `config` makes to a datastore with `content`.
fn edits(content: &str, config: &str) -> Vec<PatchEdit> {
    let mut bench = Bench::with(content);
    let before = bench.tree.clone();
    bench.config(DefaultOperation::Merge, &in_bench(config)).unwrap();
    cats_yang_tree::diff(&before, &bench.tree).patch(&bench.schema)
}

fn bench_element(name: &str, content: &str) -> Option<String> {
    Some(format!("<{name} xmlns=\"{NS}\">{content}</{name}>"))
}

const DELETE: &str = r#"xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0" nc:operation="delete""#;

#[test]
fn a_leaf_is_replaced_with_its_value_before_and_after() {
    let found = edits("<knob>1</knob>", "<knob>2</knob>");
    let expected = PatchEdit {
        operation: PatchOperation::Replace,
        target: "/probe-bench:bench/knob".to_owned(),
        place: None,
        value: bench_element("knob", "2"),
        source_value: bench_element("knob", "1"),
    };
    assert_eq!(found, [expected]);
}

#[test]
fn an_entry_is_created_or_deleted_as_a_whole() {
    let gone = format!("<item {DELETE}><name>a</name></item><item><name>b</name><size>3</size></item>");
    let found = edits("<item><name>a</name></item>", &gone);
    let [deleted, created] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(deleted.operation, PatchOperation::Delete);
    assert_eq!(deleted.target, "/probe-bench:bench/item=a");
    assert_eq!((&deleted.value, &deleted.source_value), (&None, &bench_element("item", "<name>a</name>")));
    assert_eq!(created.operation, PatchOperation::Create);
    assert_eq!(created.target, "/probe-bench:bench/item=b");
    assert_eq!(created.value, bench_element("item", "<name>b</name><size>3</size>"));
}

#[test]
fn key_values_are_percent_encoded_in_the_target() {
    let found = edits("", "<item><name>a/b,c d%=é</name></item>");
    assert_eq!(found[0].target, "/probe-bench:bench/item=a%2Fb%2Cc%20d%25%3D%C3%A9");
}

#[test]
fn entries_of_a_user_ordered_list_say_where_they_go() {
    let rule = |id: u8, insert: &str| format!("<rule {insert}><id>{id}</id><action>deny</action></rule>");
    let first = r#"xmlns:y="urn:ietf:params:xml:ns:yang:1" y:insert="first""#;
    let before = rule(1, "") + &rule(2, "");

    let inserted = edits(&before, &rule(3, ""));
    assert_eq!(inserted[0].operation, PatchOperation::Insert);
    assert_eq!(inserted[0].place, Some(PatchPlace::After("/probe-bench:bench/rule=2".to_owned())));

    let moved = edits(&before, &rule(2, first));
    let [moved] = moved.as_slice() else { panic!("{moved:?}") };
    assert_eq!((moved.operation, &moved.place), (PatchOperation::Move, &Some(PatchPlace::First)));
    assert_eq!((&moved.value, &moved.source_value), (&None, &None));
}
