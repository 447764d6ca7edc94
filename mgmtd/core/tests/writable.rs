//! Running as a target of edits (RFC 6241 section 8.2): the same checks and the same record as a commit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{
    CommitOptions, ComponentId, Confirmed, Datastore, DefaultOperation, Edit, ErrorOption, Output, Reply,
    Request, Source, Target, TestOption,
};
use cats_yang_tree::error::{Error, ErrorTag};
use node::{Node, config, edit_with, knob, lock};
use std::time::Duration;

use Datastore::{Candidate, Running};

fn write(content: &str) -> Request {
    Request::EditConfig(edit(content))
}

fn edit(content: &str) -> Edit {
    Edit { target: Running, ..edit_with(content) }
}

#[test]
fn an_edit_of_running_is_validated_prepared_recorded_and_applied() {
    let mut node = Node::writable();
    let a = node.open("ada");
    node.attach(1, Some(0));
    node.send(a, write("<knob>1</knob>"));
    assert!(matches!(node.told[..], [Output::Prepare { component: ComponentId(1), revision: 1, .. }]));
    assert_eq!(node.running(), "");
    node.planned(1);
    assert_eq!(node.reply(a), Some(Reply::Ok));
    assert!(matches!(node.told[1..], [Output::Apply { revision: 1, .. }]));
    assert!(node.running().contains("<knob>1</knob>"));
    assert_eq!((node.core.running().0, node.journal.len()), (1, 1));
    assert_eq!(node.config(a, Candidate), node.running(), "a candidate without changes follows");
    node.detach(1);
    let error = node.refused(a, write("<knob>666</knob>"));
    assert_eq!(error.app_tag.as_deref(), Some("must-violation"));
    assert!(node.running().contains("<knob>1</knob>"));
    node.ok(a, write("<knob>1</knob>"));
    assert_eq!(node.core.running().0, 1, "an edit without effect is no revision");
}

#[test]
fn changes_of_the_candidate_stay_when_running_is_edited() {
    let mut node = Node::writable();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.ok(a, knob(7));
    node.ok(b, write("<mode>m</mode>"));
    assert!(!node.config(a, Candidate).contains("mode"));
    assert!(node.config(a, Candidate).contains("<knob>7</knob>"));
}

#[test]
fn a_lock_holds_against_edits_of_running_while_its_holder_writes_and_before() {
    let mut node = Node::writable();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.ok(a, lock(Running));
    assert_eq!(node.refused(b, write("<knob>1</knob>")).tag, ErrorTag::InUse);
    node.hold_journal = true;
    node.send(a, write("<knob>1</knob>"));
    let copy = Request::CopyConfig {
        target: Target::Datastore(Running),
        source: Source::Config(config("<knob>2</knob>")),
        with_defaults: None,
    };
    for request in [write("<knob>2</knob>"), copy] {
        assert_eq!(node.refused(b, request).tag, ErrorTag::InUse);
    }
    // The candidate is about to follow.
    let c = node.open("cyd");
    node.send(c, Request::EditConfig(edit_with("<mode>m</mode>")));
    assert_eq!((node.reply(c), node.running()), (None, String::new()), "not before it is durable");
    node.answer_held();
    assert_eq!((node.reply(a), node.reply(c)), (Some(Reply::Ok), Some(Reply::Ok)));
    let candidate = node.config(c, Candidate);
    assert!(candidate.contains("<knob>1</knob>") && candidate.contains("<mode>m</mode>"), "{candidate}");
}

#[test]
fn a_copy_to_running_replaces_it_whole_or_not_at_all() {
    let mut node = Node::writable();
    let a = node.open("ada");
    node.ok(a, write("<knob>1</knob>"));
    let copy = |content: &str| Request::CopyConfig {
        target: Target::Datastore(Running),
        source: Source::Config(config(content)),
        with_defaults: None,
    };
    assert_eq!(node.refused(a, copy("<knob>666</knob>")).app_tag.as_deref(), Some("must-violation"));
    assert!(node.running().contains("<knob>1</knob>"));
    node.ok(a, copy("<mode>m</mode>"));
    assert!(node.running().contains("<mode>m</mode>") && !node.running().contains("knob"));
    node.ok(a, knob(4));
    node.ok(
        a,
        Request::CopyConfig {
            target: Target::Datastore(Running),
            source: Source::Datastore(Candidate),
            with_defaults: None,
        },
    );
    assert!(node.running().contains("<knob>4</knob>"));
    let refused = node.refused(a, Request::DeleteConfig { target: Target::Datastore(Running) });
    assert_eq!(refused.tag, ErrorTag::OperationNotSupported, "running is never deleted");
}

/// The case E27, of running: what only a validation of the whole finds is found too.
#[test]
fn test_only_validates_what_running_would_be_and_changes_nothing() {
    let mut node = Node::writable();
    let a = node.open("ada");
    for (value, good) in [(1, true), (666, false)] {
        let test = Edit { test_option: TestOption::TestOnly, ..edit(&format!("<knob>{value}</knob>")) };
        let reply = node.ask(a, Request::EditConfig(test));
        assert_eq!(reply == Reply::Ok, good, "{reply:?}");
        assert_eq!((node.running().as_str(), node.core.running().0), ("", 0));
    }
}

/// RFC 6241 section 7.2, error-option, where an error is one of the edit or one of the whole.
#[test]
fn every_error_option_leaves_running_as_it_says() {
    let partly = "<knob>1</knob><item nc:operation=\"delete\"><name>none</name></item>";
    for (error_option, test_option, applied) in [
        (ErrorOption::StopOnError, TestOption::Set, false),
        (ErrorOption::RollbackOnError, TestOption::Set, false),
        (ErrorOption::ContinueOnError, TestOption::TestThenSet, false),
        (ErrorOption::ContinueOnError, TestOption::Set, true),
    ] {
        let mut node = Node::writable();
        let a = node.open("ada");
        let request = Request::EditConfig(Edit { error_option, test_option, ..edit(partly) });
        let Reply::Errors(errors) = node.ask(a, request) else { panic!("it has an error") };
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].tag, ErrorTag::DataMissing);
        assert_eq!(node.running().contains("<knob>1</knob>"), applied, "{error_option:?} {test_option:?}");
        // What the whole does not allow is never in running.
        let invalid = partly.replace(">1<", ">666<");
        let request = Request::EditConfig(Edit { error_option, test_option, ..edit(&invalid) });
        let before = node.running();
        let Reply::Errors(errors) = node.ask(a, request) else { panic!("it has errors") };
        assert_eq!(errors.len(), if applied { 2 } else { 1 }, "{errors:?}");
        assert_eq!(node.running(), before);
    }
}

#[test]
fn default_operations_work_on_running() {
    let mut node = Node::writable();
    let a = node.open("ada");
    node.ok(a, write("<knob>1</knob><mode>m</mode>"));
    let replace = Edit { default_operation: DefaultOperation::Replace, ..edit("<knob>2</knob>") };
    node.ok(a, Request::EditConfig(replace));
    assert!(node.running().contains("<knob>2</knob>") && !node.running().contains("mode"));
}

#[test]
fn what_is_written_while_a_confirmed_commit_waits_is_its_sessions_and_is_taken_back_with_it() {
    let mut node = Node::writable();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.ok(a, write("<knob>1</knob>"));
    node.ok(a, knob(2));
    let confirmed = Some(Confirmed { timeout_s: 60, persist: None });
    node.ok(a, Request::Commit(CommitOptions { confirmed, ..CommitOptions::default() }));
    assert_eq!(node.refused(b, write("<mode>m</mode>")).tag, ErrorTag::InUse);
    node.pass(Duration::from_secs(30));
    node.ok(a, write("<mode>m</mode>"));
    let pending = node.pending.clone().unwrap();
    assert_eq!(pending.undo.changes.len(), 2, "the record knows the whole way back");
    node.pass(Duration::from_secs(30));
    assert!(
        node.running().contains("<knob>1</knob>") && !node.running().contains("mode"),
        "{}",
        node.running()
    );
}

#[test]
fn a_killed_session_takes_its_undecided_edit_of_running_along() {
    let mut node = Node::writable();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.hold_oracle = true;
    node.send(a, write("<knob>1</knob>"));
    node.ok(b, Request::KillSession { session: a });
    assert!(!node.core.commit_in_flight());
    assert_eq!(node.running(), "");
}

#[test]
fn an_edit_of_running_that_cannot_be_recorded_did_not_happen() {
    let mut node = Node::writable();
    let a = node.open("ada");
    node.hold_journal = true;
    node.send(a, write("<knob>1</knob>"));
    let full = Error::application(ErrorTag::OperationFailed, "no space left on device");
    node.fail_held(full.clone());
    assert_eq!(node.reply(a), Some(Reply::Errors(vec![full])));
    assert_eq!(node.running(), "");
}
