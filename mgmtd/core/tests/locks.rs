//! Locks and sessions (RFC 6241 sections 7.5, 7.6, 7.8, 7.9 and 8.3.5).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{Datastore, End, Limits, Request, SessionId, Target};
use cats_yang_tree::error::ErrorTag;
use node::{Node, commit, holder, knob, lock, unlock};

use Datastore::{Candidate, Running};

/// The case L02.
#[test]
fn a_lock_that_another_session_holds_is_denied_with_the_holders_id() {
    let mut node = Node::new();
    let (a, b) = (node.open("ada"), node.open("bob"));
    for datastore in [Running, Candidate] {
        node.ok(a, lock(datastore));
        let denied = node.refused(b, lock(datastore));
        assert_eq!((denied.tag, holder(&denied)), (ErrorTag::LockDenied, Some(a.0)));
        let again = node.refused(a, lock(datastore));
        assert_eq!(
            (again.tag, holder(&again)),
            (ErrorTag::LockDenied, Some(a.0)),
            "not even twice by one session"
        );
    }
}

/// The case L04.
#[test]
fn a_modified_candidate_cannot_be_locked_and_no_session_is_named() {
    let mut node = Node::new();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.ok(a, knob(1));
    for session in [a, b] {
        let denied = node.refused(session, lock(Candidate));
        assert_eq!((denied.tag, holder(&denied)), (ErrorTag::LockDenied, Some(0)));
    }
    node.ok(b, lock(Running));
    node.ok(a, Request::DiscardChanges);
    node.ok(a, lock(Candidate));
}

#[test]
fn an_edit_that_ends_where_it_began_does_not_count_as_a_modification() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    node.ok(a, node::edit("<knob nc:operation=\"delete\"/>"));
    node.ok(a, lock(Candidate));
}

/// The case L06.
#[test]
fn unlocking_the_candidate_discards_what_is_not_committed() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    node.ok(a, commit());
    node.ok(a, lock(Candidate));
    node.ok(a, knob(2));
    node.ok(a, unlock(Candidate));
    assert_eq!(node.config(a, Candidate), node.running());
    assert!(node.running().contains("<knob>1</knob>"), "{}", node.running());
}

#[test]
fn unlocking_running_leaves_the_candidate_alone() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, lock(Running));
    node.ok(a, knob(2));
    node.ok(a, unlock(Running));
    assert!(node.config(a, Candidate).contains("<knob>2</knob>"));
}

/// The case L08.
#[test]
fn killing_a_session_releases_its_locks_and_discards_its_candidate() {
    let mut node = Node::new();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.ok(a, lock(Running));
    node.ok(a, lock(Candidate));
    node.ok(a, knob(3));
    node.ok(b, Request::KillSession { session: a });
    assert_eq!(node.ended, vec![(a, End::Killed { by: b })]);
    assert_eq!(node.config(b, Candidate), "");
    node.ok(b, lock(Running));
    node.ok(b, lock(Candidate));
}

#[test]
fn a_session_that_is_lost_or_closed_releases_its_locks_and_discards_its_candidate() {
    for close in [true, false] {
        let mut node = Node::new();
        let (a, b) = (node.open("ada"), node.open("bob"));
        node.ok(a, lock(Candidate));
        node.ok(a, knob(3));
        if close {
            node.ok(a, Request::CloseSession);
        } else {
            node.drop_session(a);
        }
        assert_eq!(node.config(b, Candidate), "");
        node.ok(b, lock(Candidate));
    }
}

#[test]
fn changes_made_without_the_lock_outlive_their_session() {
    let mut node = Node::new();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.ok(a, knob(3));
    node.drop_session(a);
    assert!(node.config(b, Candidate).contains("<knob>3</knob>"));
}

#[test]
fn what_another_session_has_locked_is_in_use() {
    let mut node = Node::new();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.ok(a, lock(Candidate));
    let config = node::config("<knob>1</knob>");
    for request in [
        knob(1),
        Request::DiscardChanges,
        commit(),
        Request::CopyConfig {
            target: Target::Datastore(Candidate),
            source: cats_mgmtd_core::Source::Config(config),
            with_defaults: None,
        },
    ] {
        assert_eq!(node.refused(b, request).tag, ErrorTag::InUse);
    }
    node.ok(a, unlock(Candidate));
    node.ok(b, knob(1));
    node.ok(a, lock(Running));
    assert_eq!(node.refused(b, commit()).tag, ErrorTag::InUse, "running is locked");
    assert!(node.config(b, Candidate).contains("<knob>1</knob>"));
}

#[test]
fn only_the_holder_can_unlock() {
    let mut node = Node::new();
    let (a, b) = (node.open("ada"), node.open("bob"));
    assert_eq!(node.refused(a, unlock(Running)).tag, ErrorTag::OperationFailed, "not locked");
    node.ok(a, lock(Running));
    let denied = node.refused(b, unlock(Running));
    assert_eq!((denied.tag, holder(&denied)), (ErrorTag::LockDenied, Some(a.0)));
    let told = format!("<running> is locked by session {a}, and only that one can unlock it");
    assert_eq!(denied.message, told);
    node.ok(a, unlock(Running));
}

#[test]
fn neither_itself_nor_nobody_can_be_killed() {
    let mut node = Node::new();
    let a = node.open("ada");
    for victim in [a, SessionId(999)] {
        assert_eq!(node.refused(a, Request::KillSession { session: victim }).tag, ErrorTag::InvalidValue);
    }
}

/// The case P65.
#[test]
fn sessions_are_bounded_in_all_and_for_each_user() {
    let mut node = Node::with(Limits { sessions: 3, sessions_per_user: 2 }, &[]);
    let (a, _, c) = (node.open("ada"), node.open("ada"), node.open("cy"));
    assert_eq!(node.try_open("ada").unwrap_err().tag, ErrorTag::ResourceDenied);
    assert_eq!(node.try_open("dee").unwrap_err().tag, ErrorTag::ResourceDenied);
    node.ok(a, Request::CloseSession);
    let next = node.open("dee");
    assert!(next > c, "ids are not used again while others are free");
}
