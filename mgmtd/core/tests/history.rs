//! Revisions: compared, loaded, told of, forgotten.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{Comparison, Datastore, Event, Kept, Kind, Output, Reply, Request, SessionId};
use cats_yang_tree::Tree;
use cats_yang_tree::error::{Error, ErrorTag};
use node::{Node, commit, knob, lock};

fn rollback(revision: u64) -> Request {
    Request::Rollback { revision }
}

fn compare(from: u64, to: Option<u64>) -> Request {
    Request::CompareRevision { from, to }
}

/// A node with a revision for each of the knobs, and their configurations from the empty one on.
fn committed(user: SessionId, node: &mut Node, knobs: &[u32]) -> Vec<Tree> {
    let mut trees = vec![node.core.running().1.clone()];
    for value in knobs {
        node.ok(user, knob(*value));
        node.ok(user, commit());
        trees.push(node.core.running().1.clone());
    }
    trees
}

/// Answers what was last asked of the history.
fn recalled(node: &mut Node, trees: &[Tree]) {
    let Some(Output::Recall { ticket, revisions, running }) = node.told.pop() else {
        panic!("nothing is recalled")
    };
    assert_eq!(running.1, *node.core.running().1);
    let found = revisions.iter().map(|revision| trees[*revision as usize].clone()).collect();
    node.core.handle_recalled(ticket, Ok(found));
    node.drain();
}

fn comparison(node: &mut Node, session: SessionId) -> Box<Comparison> {
    match node.reply(session) {
        Some(Reply::Comparison(comparison)) => comparison,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_revision_is_loaded_into_the_candidate_and_running_waits_for_a_commit() {
    let mut node = Node::new();
    let ada = node.open("ada");
    let trees = committed(ada, &mut node, &[1, 2, 3]);
    node.send(ada, rollback(1));
    recalled(&mut node, &trees);
    assert_eq!(node.reply(ada), Some(Reply::Ok));
    assert!(node.config(ada, Datastore::Candidate).contains("<knob>1</knob>"));
    assert!(node.running().contains("<knob>3</knob>"));
    node.ok(ada, commit());
    assert!(node.running().contains("<knob>1</knob>"));
    node.send(ada, rollback(0));
    recalled(&mut node, &trees);
    node.ok(ada, commit());
    assert_eq!((node.running(), node.core.running().0), (String::new(), 5));
}

#[test]
fn a_revision_that_is_not_there_yet_or_any_more_is_refused_with_those_that_are() {
    let mut node = Node::new();
    let ada = node.open("ada");
    committed(ada, &mut node, &[1, 2, 3, 4]);
    node.core.handle_forgotten(3);
    for (request, said) in [
        (rollback(5), "the last one is 4"),
        (rollback(1), "the oldest one that is kept is 2"),
        (compare(1, None), "the oldest one that is kept is 2"),
        (compare(2, Some(5)), "the last one is 4"),
    ] {
        let error = node.refused(ada, request);
        assert_eq!(error.tag, ErrorTag::InvalidValue);
        assert!(error.message.contains(said), "{error}");
    }
    assert!(node.told.is_empty(), "the store was asked");
}

#[test]
fn while_none_can_be_kept_no_commit_counts_as_kept_and_who_keeps_them_says_why() {
    let mut node = Node::new();
    let ada = node.open("ada");
    node.core.handle_history(Err("the disk is full".to_owned()), node.now);
    committed(ada, &mut node, &[1, 2]);
    node.core.handle_history(Err("the disk is full".to_owned()), node.now);
    committed(ada, &mut node, &[3]);
    node.send(ada, rollback(1));
    let asked = node.told.pop();
    let Some(Output::Recall { ticket, .. }) = asked else { panic!("{asked:?}") };
    let why = Error::application(ErrorTag::OperationFailed, "there is no history: the disk is full");
    node.core.handle_recalled(ticket, Err(why.clone()));
    node.drain();
    assert_eq!(node.reply(ada).map(node::first_error), Some(why));
}

#[test]
fn a_candidate_that_another_session_has_locked_takes_no_revision() {
    let mut node = Node::new();
    let (ada, bob) = (node.open("ada"), node.open("bob"));
    let trees = committed(ada, &mut node, &[1, 2]);
    node.send(ada, rollback(1));
    node.ok(bob, lock(Datastore::Candidate));
    recalled(&mut node, &trees);
    assert_eq!(node::first_error(node.reply(ada).unwrap()).tag, ErrorTag::InUse);
    assert_eq!(node.refused(ada, rollback(1)).tag, ErrorTag::InUse);
    assert!(node.config(bob, Datastore::Candidate).contains("<knob>2</knob>"));
}

#[test]
fn two_revisions_are_compared_and_one_with_running() {
    let mut node = Node::new();
    let ada = node.open("ada");
    let trees = committed(ada, &mut node, &[1, 2, 3]);
    for (from, to, wanted) in
        [(1, Some(2), Some("2")), (2, None, Some("3")), (0, Some(0), None), (3, None, None)]
    {
        node.send(ada, compare(from, to));
        recalled(&mut node, &trees);
        let edits = comparison(&mut node, ada).edits(&node.schema).unwrap().unwrap_or_default();
        let values: Vec<_> = edits.iter().map(|edit| edit.value.clone().unwrap_or_default()).collect();
        assert_eq!(values.len(), usize::from(wanted.is_some()), "{values:?}");
        assert!(wanted.is_none_or(|wanted| values[0].contains(&format!(">{wanted}<"))), "{values:?}");
    }
}

#[test]
fn a_failure_of_the_history_is_told_and_a_session_that_has_gone_gets_nothing() {
    let mut node = Node::new();
    let ada = node.open("ada");
    committed(ada, &mut node, &[1, 2]);
    node.send(ada, rollback(1));
    let Some(Output::Recall { ticket, .. }) = node.told.pop() else { panic!("nothing is recalled") };
    let error = Error::application(ErrorTag::OperationFailed, "the disk is gone");
    node.core.handle_recalled(ticket, Err(error.clone()));
    node.drain();
    assert_eq!(node.reply(ada), Some(Reply::Errors(vec![error])));
    node.send(ada, rollback(1));
    let Some(Output::Recall { ticket, .. }) = node.told.pop() else { panic!("nothing is recalled") };
    node.drop_session(ada);
    node.core.handle_recalled(ticket, Ok(vec![Tree::new()]));
    node.drain();
    assert_eq!(node.reply(ada), None);
}

#[test]
fn a_commit_is_recorded_with_its_comment_its_kind_and_its_transport() {
    let mut node = Node::new();
    let ada = node.open("ada");
    node.ok(ada, knob(1));
    let options = cats_mgmtd_core::CommitOptions { comment: Some("why".into()), ..Default::default() };
    node.ok(ada, Request::Commit(options));
    let found = node.events.iter().rev().find_map(|event| match event {
        Event::Committed { commit, .. } => Some(Kept::of(commit, 1)),
        _ => None,
    });
    let kept = found.unwrap();
    assert_eq!((kept.revision, kept.user.as_str(), kept.session), (1, "ada", ada.0));
    assert_eq!((kept.transport.as_deref(), kept.kind), (Some("ssh"), Some(Kind::Commit)));
    assert_eq!(kept.comment.as_deref(), Some("why"));
}

#[test]
fn each_kind_has_a_name_of_its_own() {
    let kinds =
        [Kind::Commit, Kind::ConfirmedCommit, Kind::Edit, Kind::Cancel, Kind::Rollback, Kind::Recovery];
    for kind in kinds {
        assert_eq!(Kind::of(kind.name()), Some(kind));
    }
    assert_eq!(Kind::of("another"), None);
}

/// Its own base is older than running by then, so a revision that equals that must not be taken for no change.
#[test]
fn a_revision_is_loaded_into_a_private_candidate_as_running_is_now() {
    let mut node = Node::new();
    let (ada, bob) = (node.open("ada"), node.open("bob"));
    node.core.handle_private_candidate(bob);
    let mut trees = committed(ada, &mut node, &[1]);
    assert!(node.config(bob, Datastore::Candidate).contains("<knob>1</knob>"));
    trees.extend(committed(ada, &mut node, &[2]).pop());
    node.send(bob, rollback(1));
    recalled(&mut node, &trees);
    assert_eq!(node.reply(bob), Some(Reply::Ok));
    assert!(node.config(ada, Datastore::Candidate).contains("<knob>2</knob>"), "it is bob's alone");
    node.ok(bob, commit());
    assert!(node.running().contains("<knob>1</knob>"));
}
