//! `compare` (RFC 9144): how one datastore would become another.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{Compare, Filter, NmdaDatastore, Output, Reply, Request, SessionId};
use cats_yang_tree::diff::{PatchEdit, PatchOperation};
use node::{NS, Node, edit, schema};

/// Running has an item that the candidate has not, and another knob.
fn changed() -> (Node, SessionId) {
    let mut node = Node::new();
    let session = node.open("ada");
    node.ok(session, edit("<knob>1</knob><item><name>a</name><size>1</size></item>"));
    node.ok(session, node::commit());
    let gone = "<item xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" nc:operation=\"delete\"><name>a</name></item>";
    node.ok(session, edit(&format!("<knob>2</knob>{gone}")));
    (node, session)
}

fn compare(node: &mut Node, session: SessionId, compare: Compare) -> Option<Vec<PatchEdit>> {
    match node.ask(session, Request::Compare(compare)) {
        Reply::Comparison(comparison) => comparison.edits(&node.schema).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn of(source: NmdaDatastore, target: NmdaDatastore) -> Compare {
    Compare { source, target, all: false, filter: None }
}

fn filtered(content: &str) -> Compare {
    let text = format!("<filter><bench xmlns=\"{NS}\">{content}</bench></filter>");
    let filter = Some(Filter::subtree(&schema(), &text).unwrap());
    Compare { filter, ..of(NmdaDatastore::Running, NmdaDatastore::Candidate) }
}

fn shape(edits: &[PatchEdit]) -> Vec<(PatchOperation, &str)> {
    edits.iter().map(|edit| (edit.operation, edit.target.as_str())).collect()
}

#[test]
fn the_edits_lead_from_the_source_to_the_target() {
    let (mut node, session) = changed();
    let there = compare(&mut node, session, of(NmdaDatastore::Running, NmdaDatastore::Candidate)).unwrap();
    let wanted = [
        (PatchOperation::Replace, "/probe-bench:bench/knob"),
        (PatchOperation::Delete, "/probe-bench:bench/item=a"),
    ];
    assert_eq!(shape(&there), wanted);
    assert_eq!(there[0].value.as_deref(), Some(format!("<knob xmlns=\"{NS}\">2</knob>").as_str()));
    assert_eq!(there[0].source_value.as_deref(), Some(format!("<knob xmlns=\"{NS}\">1</knob>").as_str()));

    let back = compare(&mut node, session, of(NmdaDatastore::Candidate, NmdaDatastore::Running)).unwrap();
    let wanted = [
        (PatchOperation::Replace, "/probe-bench:bench/knob"),
        (PatchOperation::Create, "/probe-bench:bench/item=a"),
    ];
    assert_eq!(shape(&back), wanted);
}

#[test]
fn no_difference_is_not_the_same_as_nothing_compared() {
    let (mut node, session) = changed();
    assert_eq!(compare(&mut node, session, filtered("<mode/>")), None, "neither has it");
    assert_eq!(compare(&mut node, session, filtered("<knob>3</knob>")), None, "neither matches");
    let same = of(NmdaDatastore::Running, NmdaDatastore::Running);
    assert_eq!(compare(&mut node, session, same), Some(Vec::new()));
    let only = compare(&mut node, session, filtered("<knob/>")).unwrap();
    assert_eq!(shape(&only), [(PatchOperation::Replace, "/probe-bench:bench/knob")]);
}

/// RFC 9144 section 4.1: `no-matches` is about a filter.
#[test]
fn two_empty_datastores_do_not_differ() {
    let mut node = Node::new();
    let session = node.open("ada");
    let empty = of(NmdaDatastore::Running, NmdaDatastore::Candidate);
    assert_eq!(compare(&mut node, session, empty), Some(Vec::new()));
    assert_eq!(compare(&mut node, session, filtered("<knob/>")), None);
}

/// What runs is in force, and defaults in use are none of the differences.
#[test]
fn running_and_the_operational_state_differ_by_state_alone() {
    let (mut node, session) = changed();
    node.attach(1, Some(1));
    let configured = of(NmdaDatastore::Running, NmdaDatastore::Operational);
    assert_eq!(compare(&mut node, session, configured.clone()), Some(Vec::new()));
    let seen = "/probe-bench:bench/counters/seen";
    let there = with_state(&mut node, session, Compare { all: true, ..configured });
    assert_eq!(shape(&there), [(PatchOperation::Create, seen)]);
    let back = Compare { all: true, ..of(NmdaDatastore::Operational, NmdaDatastore::Running) };
    assert_eq!(shape(&with_state(&mut node, session, back)), [(PatchOperation::Delete, seen)]);
}

/// A comparison that asks a component for its state first.
fn with_state(node: &mut Node, session: SessionId, compare: Compare) -> Vec<PatchEdit> {
    node.send(session, Request::Compare(compare));
    let Some(Output::ReadState { ticket, .. }) = node.told.pop() else { panic!("no state was asked for") };
    let page = serde_json::json!({ "probe-bench:bench": { "counters": { "seen": 9 } } });
    node.state(ticket, page);
    node.pass(std::time::Duration::ZERO);
    match node.reply(session) {
        Some(Reply::Comparison(comparison)) => comparison.edits(&node.schema).unwrap().unwrap(),
        other => panic!("{other:?}"),
    }
}
