//! Components that a part of the configuration concerns.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{Config, Edit, Limits, Output, Reply, Request, SessionId};
use cats_yang_tree::build::{SchemaBuilder, Ty};
use node::{Node, commit, edit_with};
use std::sync::Arc;

const NS: &str = "urn:example:two";

/// A node whose engine is concerned by `near` and not by `far`.
fn with_engine() -> (Node, SessionId) {
    let schema = SchemaBuilder::new().module("two", NS, "t", |m| {
        for name in ["near", "far"] {
            m.container(name, |c| {
                c.leaf("size", Ty::uint32());
            });
        }
    });
    let mut node = Node::of(Arc::new(schema.build().unwrap()), Limits::default(), &[], false);
    let session = node.open("ada");
    node.attach_for(1, Some(0), &["two:near"]);
    (node, session)
}

fn edit(node: &mut Node, session: SessionId, parts: &[(&str, u32)]) {
    let content: String = parts
        .iter()
        .map(|(name, size)| format!("<{name} xmlns=\"{NS}\"><size>{size}</size></{name}>"))
        .collect();
    let config = format!("<config xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\">{content}</config>");
    node.ok(session, Request::EditConfig(Edit { config: Config::new(config), ..edit_with("") }));
}

#[test]
fn a_change_that_does_not_concern_a_component_is_not_sent_to_it() {
    let (mut node, session) = with_engine();
    for size in 1..4 {
        edit(&mut node, session, &[("far", size)]);
        node.ok(session, commit());
    }
    assert_eq!((node.told.len(), node.core.running().0, node.core.meant_for("engine")), (0, 3, 0));
    // The next one starts from what it holds, and says only what concerns it.
    edit(&mut node, session, &[("near", 1), ("far", 9)]);
    node.send(session, commit());
    let [Output::Prepare { revision: 4, base: 0, changes, .. }] = &node.told[..] else {
        panic!("{:?}", node.told)
    };
    assert_eq!(changes.changes.len(), 1);
    node.planned(1);
    assert_eq!(node.reply(session), Some(Reply::Ok));
    assert!(matches!(node.told[1..], [Output::Apply { revision: 4, .. }]));
    assert_eq!(node.journal.last().unwrap().1.changes.len(), 2);
    edit(&mut node, session, &[("near", 2)]);
    node.send(session, commit());
    assert!(matches!(node.told[2..], [Output::Prepare { revision: 5, base: 4, .. }]));
}

#[test]
fn a_component_that_is_back_with_the_last_revision_that_concerned_it_needs_nothing() {
    let (mut node, session) = with_engine();
    edit(&mut node, session, &[("near", 1)]);
    node.send(session, commit());
    node.planned(1);
    assert_eq!(node.reply(session), Some(Reply::Ok));
    node.detach(1);
    edit(&mut node, session, &[("far", 1)]);
    node.ok(session, commit());
    node.told.clear();
    assert_eq!(node.core.meant_for("engine"), 1);
    node.attach_for(2, Some(1), &["two:near"]);
    assert!(node.told.is_empty(), "{:?}", node.told);
    node.detach(2);
    edit(&mut node, session, &[("near", 2)]);
    node.ok(session, commit());
    node.attach_for(3, Some(1), &["two:near"]);
    assert!(matches!(node.told[..], [Output::Snapshot { revision: 3, .. }]));
    node.loaded(3);
    node.detach(3);
    // Another version of it, which something else concerns.
    edit(&mut node, session, &[("far", 2)]);
    node.ok(session, commit());
    node.told.clear();
    node.attach_for(4, Some(3), &["two:near", "two:far"]);
    assert!(matches!(node.told[..], [Output::Snapshot { revision: 4, .. }]));
}

#[test]
fn a_snapshot_on_its_way_is_followed_by_another_only_when_what_it_holds_has_changed() {
    for part in ["near", "far"] {
        let (mut node, session) = with_engine();
        node.detach(1);
        node.attach_for(2, None, &["two:near"]);
        node.told.clear();
        edit(&mut node, session, &[(part, 1)]);
        node.send(session, commit());
        if part == "near" {
            // It was asked behind its snapshot, and is lost to this commit.
            node.rejected(2, Vec::new());
            assert!(matches!(node.told[0], Output::Prepare { revision: 1, base: 0, .. }));
        } else {
            assert_eq!(node.reply(session), Some(Reply::Ok));
            node.loaded(2);
            assert!(node.told.is_empty(), "{:?}", node.told);
            edit(&mut node, session, &[("near", 1)]);
            node.send(session, commit());
            assert!(matches!(node.told[..], [Output::Prepare { revision: 2, base: 0, .. }]));
        }
    }
}

#[test]
fn commits_that_concern_no_component_go_to_the_journal_together_with_one_that_does() {
    let (mut node, a) = with_engine();
    let b = node.open("bob");
    node.core.handle_private_candidate(b);
    node.hold_journal = true;
    edit(&mut node, a, &[("far", 1)]);
    node.send(a, commit());
    edit(&mut node, b, &[("near", 1)]);
    node.send(b, commit());
    assert!(matches!(node.told[..], [Output::Prepare { revision: 2, base: 0, .. }]));
    node.planned(1);
    node.answer_held();
    node.answer_held();
    assert_eq!((node.reply(a), node.reply(b)), (Some(Reply::Ok), Some(Reply::Ok)));
    assert!(matches!(node.told[1..], [Output::Apply { revision: 2, .. }]));
}
