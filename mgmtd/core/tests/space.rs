//! How much memory candidates and running may take.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{Datastore, Limits, Request, SessionId, Space};
use cats_yang_tree::build::{SchemaBuilder, Ty};
use cats_yang_tree::error::ErrorTag;
use node::{Node, commit, edit};
use std::sync::Arc;

const EACH: usize = 20_000;

fn node(space: Space) -> Node {
    let schema = SchemaBuilder::new().module("probe-bench", node::NS, "pb", |m| {
        m.container("bench", |c| {
            c.leaf("knob", Ty::uint32());
            c.list("item", &["name"], |l| {
                l.leaf("name", Ty::string());
                l.leaf("text", Ty::string());
            });
        });
    });
    let mut node = Node::of(Arc::new(schema.build().unwrap()), Limits::default(), &[], false);
    node.core.handle_space(space);
    node
}

fn bounds(candidates_of_user: usize, candidates: usize) -> Space {
    Space { candidates_of_user, candidates, ..Space::default() }
}

fn private(node: &mut Node, user: &str) -> SessionId {
    let session = node.open(user);
    node.core.handle_private_candidate(session);
    session
}

/// An entry with about half of [`EACH`] in it.
fn big(name: &str) -> Request {
    edit(&format!("<item><name>{name}</name><text>{}</text></item>", "x".repeat(EACH / 2)))
}

fn removed(name: &str) -> Request {
    edit(&format!("<item nc:operation=\"remove\"><name>{name}</name></item>"))
}

/// Edits until one is refused; how many were not.
fn fill(node: &mut Node, session: SessionId) -> usize {
    for n in 0.. {
        if n == 100 {
            panic!("no end");
        }
        let before = node.config(session, Datastore::Candidate);
        match node.ask(session, big(&format!("{n}"))) {
            cats_mgmtd_core::Reply::Ok => {}
            refused => {
                assert_eq!(node::first_error(refused).tag, ErrorTag::ResourceDenied);
                assert_eq!(node.config(session, Datastore::Candidate), before);
                return n;
            }
        }
    }
    unreachable!()
}

#[test]
fn the_private_candidates_of_a_user_have_room_together_and_other_users_theirs() {
    let mut node = node(bounds(5 * EACH, 100 * EACH));
    let (a, b) = (private(&mut node, "ada"), private(&mut node, "ada"));
    assert_eq!(fill(&mut node, a), 9);
    let error = node.refused(b, big("1"));
    assert!(error.message.contains("of this user"), "{}", error.message);
    let other = private(&mut node, "bob");
    assert_eq!(fill(&mut node, other), 9);
    // What a lost session left counts as well.
    node.drop_session(a);
    node.refused(b, big("1"));
}

#[test]
fn what_is_removed_discarded_or_committed_makes_room() {
    let mut node = node(bounds(5 * EACH, 100 * EACH));
    let session = private(&mut node, "ada");
    assert_eq!(fill(&mut node, session), 9);
    for n in 0..5 {
        node.ok(session, removed(&n.to_string()));
    }
    node.ok(session, big("a"));
    node.ok(session, Request::DiscardChanges);
    assert_eq!(fill(&mut node, session), 9);
    node.ok(session, commit());
    // The first nine are there, and take nothing more.
    assert_eq!(fill(&mut node, session), 18);
}

#[test]
fn the_shared_candidate_has_room_as_one_user_has() {
    let mut node = node(bounds(5 * EACH, 100 * EACH));
    let (a, b) = (node.open("ada"), node.open("bob"));
    assert_eq!(fill(&mut node, a), 9);
    let error = node.refused(b, big("a"));
    assert!(error.message.starts_with("the candidate would"), "{}", error.message);
    node.ok(b, Request::DiscardChanges);
    node.ok(a, big("a"));
}

#[test]
fn all_candidates_have_room_together() {
    let mut node = node(bounds(5 * EACH, 8 * EACH));
    let sessions = ["ada", "bob", "eve"].map(|user| private(&mut node, user));
    let taken = sessions.map(|session| fill(&mut node, session));
    assert_eq!(taken[0], 9);
    assert!(taken[1] < 9 && taken[2] == 0, "{taken:?}");
}

#[test]
fn running_has_room_for_so_much_and_takes_what_makes_it_smaller() {
    let mut node = node(Space { running: 5 * EACH, ..Space::default() });
    let session = node.open("ada");
    for n in 0..9 {
        node.ok(session, big(&n.to_string()));
        node.ok(session, commit());
    }
    node.ok(session, big("9"));
    let before = node.running();
    assert_eq!(node.refused(session, commit()).tag, ErrorTag::ResourceDenied);
    assert_eq!(node.running(), before);
    for n in 0..3 {
        node.ok(session, removed(&n.to_string()));
    }
    node.ok(session, commit());
}
