//! The commit, step by step, and what stays after a failure at each of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{
    Alarm, ComponentId, Datastore, Event, Output, PREPARE_TIMEOUT, Reply, Request, Source,
};
use cats_yang_tree::error::{Error, ErrorTag, Path};
use node::{Node, commit, holder, knob, lock, xml_of};
use std::time::Duration;

use Datastore::{Candidate, Running};

fn disk_full() -> Error {
    Error::application(ErrorTag::OperationFailed, "no space left on device")
}

/// Both datastores as text.
fn datastores(node: &mut Node, session: cats_mgmtd_core::SessionId) -> (String, String) {
    (node.config(session, Running), node.config(session, Candidate))
}

#[test]
fn a_commit_makes_running_equal_to_the_candidate_without_any_component() {
    let mut node = Node::with(cats_mgmtd_core::Limits::default(), &["engine"]);
    let a = node.open("ada");
    node.ok(a, knob(7));
    assert_eq!(node.running(), "");
    node.ok(a, commit());
    assert!(node.running().contains("<knob>7</knob>"));
    assert_eq!(node.config(a, Candidate), node.running());
    assert_eq!((node.core.running().0, node.journal.len()), (1, 1));
    assert_eq!(node.alarms(), vec![Alarm::Unreachable { component: "engine".into() }]);
}

#[test]
fn a_commit_without_changes_writes_nothing() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, commit());
    assert_eq!((node.core.running().0, node.journal.len()), (0, 0));
}

/// The case L17.
#[test]
fn a_commit_that_validation_refuses_keeps_the_candidate_and_running() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    node.ok(a, commit());
    node.ok(a, knob(666));
    let before = datastores(&mut node, a);
    let error = node.refused(a, commit());
    assert_eq!((error.tag, error.app_tag.as_deref()), (ErrorTag::OperationFailed, Some("must-violation")));
    assert_eq!(datastores(&mut node, a), before);
    assert!(matches!(node.events.last(), Some(Event::CommitFailed { .. })));
}

#[test]
fn a_failure_at_each_step_leaves_both_datastores_as_they_were() {
    for step in 0..3 {
        let mut node = Node::new();
        let a = node.open("ada");
        node.ok(a, knob(1));
        node.ok(a, commit());
        node.ok(a, knob(2));
        let before = datastores(&mut node, a);
        (node.hold_oracle, node.hold_checks, node.hold_journal) = (true, true, true);
        node.send(a, commit());
        for _ in 0..step {
            node.answer_held();
        }
        node.fail_held(disk_full());
        let reply = node.reply(a).expect("a reply");
        assert_eq!(node::first_error(reply), disk_full(), "step {step}");
        assert_eq!(datastores(&mut node, a), before, "step {step}");
        assert_eq!(node.core.running().0, 1);
        (node.hold_oracle, node.hold_checks, node.hold_journal) = (false, false, false);
        node.ok(a, commit());
        assert!(node.running().contains("<knob>2</knob>"));
    }
}

#[test]
fn one_commit_is_decided_at_a_time_and_what_would_change_under_it_waits() {
    for request in [commit(), knob(2), Request::DiscardChanges] {
        let mut node = Node::new();
        let (a, b) = (node.open("ada"), node.open("bob"));
        node.ok(a, knob(1));
        node.hold_oracle = true;
        node.send(a, commit());
        node.send(b, request);
        for datastore in [Running, Candidate] {
            let denied = node.refused(b, lock(datastore));
            assert_eq!((denied.tag, holder(&denied)), (ErrorTag::LockDenied, Some(a.0)));
        }
        assert_eq!((node.reply(b), node.running()), (None, String::new()), "not before it is decided");
        node.answer_held();
        assert_eq!((node.reply(a), node.reply(b)), (Some(Reply::Ok), Some(Reply::Ok)));
        assert!(node.running().contains("<knob>1</knob>"));
    }
}

#[test]
fn a_component_prepares_before_the_record_and_applies_after_it() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.attach(1, Some(0));
    assert!(node.told.is_empty(), "it holds the last revision already");
    node.hold_journal = true;
    node.ok(a, knob(1));
    node.send(a, commit());
    assert!(matches!(
        node.told[..],
        [Output::Prepare { component: ComponentId(1), revision: 1, base: 0, .. }]
    ));
    assert!(node.held.is_empty(), "no record before the plan");
    node.planned(1);
    assert_eq!((node.told.len(), node.held.len()), (1, 1), "no apply before the record is durable");
    node.answer_held();
    assert!(matches!(node.told[1..], [Output::Apply { component: ComponentId(1), revision: 1 }]));
    assert_eq!(node.reply(a), Some(Reply::Ok));
}

#[test]
fn what_a_component_refuses_is_answered_with_its_errors_and_aborted_elsewhere() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.attach(1, Some(0));
    node.attach(2, Some(0));
    node.ok(a, knob(1));
    let before = datastores(&mut node, a);
    node.send(a, commit());
    node.planned(1);
    let refusal = Error::application(ErrorTag::InvalidValue, "no such table")
        .at(Path("/probe-bench:bench/knob".into()));
    node.rejected(2, vec![refusal.clone()]);
    assert_eq!(node.reply(a), Some(Reply::Errors(vec![refusal])));
    assert!(matches!(node.told[2..], [Output::Abort { component: ComponentId(1), revision: 1 }]));
    assert_eq!((datastores(&mut node, a), node.journal.len()), (before, 0));
}

#[test]
fn a_component_that_does_not_answer_in_time_is_lost_and_commits_go_on_without_it() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.attach(1, Some(0));
    node.ok(a, knob(1));
    node.send(a, commit());
    node.pass(PREPARE_TIMEOUT - Duration::from_millis(1));
    assert_eq!(node.reply(a), None);
    assert_eq!(node.core.poll_timeout().map(|(_, what)| what), Some("prepare"));
    node.told.clear();
    node.pass(Duration::from_millis(1));
    assert_eq!(node.reply(a), Some(Reply::Ok));
    assert!(matches!(node.told[..], [Output::Disconnect { component: ComponentId(1) }]), "{:?}", node.told);
    assert_eq!(node.alarms(), vec![Alarm::Unreachable { component: "engine".into() }]);
    // Its late plan counts for nothing, and nobody waits for it.
    node.planned(1);
    node.ok(a, knob(2));
    node.ok(a, commit());
    node.told.clear();
    node.attach(2, Some(0));
    assert!(matches!(node.told[..], [Output::Snapshot { component: ComponentId(2), revision: 2, .. }]));
    assert_eq!(node.alarms(), vec![]);
}

#[test]
fn one_component_that_is_late_does_not_stop_the_others() {
    let mut node = Node::new();
    let a = node.open("ada");
    for component in [1, 2, 3] {
        node.attach(component, Some(0));
    }
    node.ok(a, knob(1));
    node.send(a, commit());
    node.planned(2);
    node.told.clear();
    node.pass(PREPARE_TIMEOUT);
    assert_eq!(node.reply(a), Some(Reply::Ok));
    let told = &node.told[..];
    let [
        Output::Disconnect { component: one },
        Output::Disconnect { component: three },
        Output::Apply { component, revision: 1 },
    ] = told
    else {
        panic!("{told:?}")
    };
    assert_eq!((one.0, three.0, component.0), (1, 3, 2));
}

#[test]
fn a_component_that_is_lost_while_it_prepares_does_not_block_the_commit() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.attach(1, Some(0));
    node.ok(a, knob(1));
    node.send(a, commit());
    node.detach(1);
    assert_eq!(node.reply(a), Some(Reply::Ok));
    assert_eq!(node.alarms(), vec![Alarm::Unreachable { component: "engine".into() }]);
    node.told.clear();
    node.attach(2, Some(0));
    assert!(matches!(node.told[..], [Output::Snapshot { component: ComponentId(2), revision: 1, .. }]));
    assert_eq!(node.alarms(), vec![]);
}

#[test]
fn a_component_that_knows_nothing_gets_a_snapshot_and_then_takes_part() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    node.ok(a, commit());
    node.attach(1, None);
    let [Output::Snapshot { revision: 1, tree, .. }] = &node.told[..] else { panic!("{:?}", node.told) };
    assert_eq!(xml_of(&node.schema, tree), node.running());
    // A commit meanwhile is prepared on top of the snapshot, which is taken first.
    node.ok(a, knob(2));
    node.told.clear();
    node.send(a, commit());
    assert!(matches!(node.told[..], [Output::Prepare { revision: 2, base: 1, .. }]));
    node.loaded(1);
    node.planned(1);
    assert!(matches!(node.told[1..], [Output::Apply { revision: 2, .. }]));
    assert_eq!(node.reply(a), Some(Reply::Ok));
}

#[test]
fn a_component_that_comes_while_a_commit_is_recorded_is_brought_to_it_afterwards() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    node.hold_journal = true;
    node.send(a, commit());
    node.attach(1, None);
    assert!(matches!(node.told[..], [Output::Snapshot { revision: 0, .. }]));
    node.answer_held();
    assert_eq!((node.reply(a), node.told.len()), (Some(Reply::Ok), 1), "one snapshot at a time");
    node.loaded(1);
    assert!(matches!(node.told[1..], [Output::Snapshot { revision: 1, .. }]));
    node.attach(2, Some(0));
    assert!(matches!(node.told[2..], [Output::Snapshot { component: ComponentId(2), revision: 1, .. }]));
}

#[test]
fn a_component_that_refuses_its_snapshot_does_not_block_the_commit_on_top_of_it() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    node.ok(a, commit());
    node.attach(1, None);
    node.ok(a, knob(2));
    node.send(a, commit());
    let error = || vec![Error::application(ErrorTag::InvalidValue, "no such table")];
    node.rejected(1, error());
    assert_eq!(node.reply(a), Some(Reply::Ok));
    assert!(matches!(node.told.last(), Some(Output::Snapshot { revision: 2, .. })));
    // Its answer to the change is of no account, and is not taken for one to the new snapshot.
    node.rejected(1, error());
    assert_eq!(node.alarms().len(), 1);
    node.loaded(1);
    assert_eq!(node.alarms(), vec![]);
}

#[test]
fn a_component_that_refuses_its_snapshot_raises_an_alarm_and_the_next_commit_can_help() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    node.ok(a, commit());
    node.attach(1, None);
    node.rejected(1, vec![Error::application(ErrorTag::InvalidValue, "no such table")]);
    assert!(
        matches!(&node.alarms()[..], [Alarm::OutOfSync { reason, .. }] if reason.contains("no such table"))
    );
    node.told.clear();
    node.ok(a, knob(2));
    node.ok(a, commit());
    assert!(matches!(node.told[..], [Output::Snapshot { revision: 2, .. }]));
    node.loaded(1);
    assert_eq!(node.alarms(), vec![]);
}

#[test]
fn a_killed_session_takes_its_undecided_commit_along() {
    let mut node = Node::new();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.attach(1, Some(0));
    node.ok(a, knob(1));
    node.send(a, commit());
    node.ok(b, Request::KillSession { session: a });
    assert!(matches!(node.told.last(), Some(Output::Abort { .. })));
    assert_eq!((node.running().as_str(), node.journal.len()), ("", 0));
    assert!(node.config(b, Candidate).contains("<knob>1</knob>"), "it had not locked the candidate");
}

#[test]
fn a_session_that_is_lost_while_it_commits_leaves_a_whole_commit_and_no_lock() {
    let mut node = Node::new();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.ok(a, lock(Candidate));
    node.ok(a, knob(1));
    node.hold_journal = true;
    node.send(a, commit());
    node.drop_session(a);
    node.answer_held();
    assert!(node.running().contains("<knob>1</knob>"));
    assert_eq!(node.config(b, Candidate), node.running());
    node.ok(b, lock(Candidate));
}

#[test]
fn validate_judges_a_datastore_or_a_configuration_in_the_request_and_changes_nothing() {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, Request::Validate { source: Source::Datastore(Running) });
    node.ok(a, knob(666));
    let before = datastores(&mut node, a);
    let error = node.refused(a, Request::Validate { source: Source::Datastore(Candidate) });
    assert_eq!(error.app_tag.as_deref(), Some("must-violation"));
    node.ok(a, Request::Validate { source: Source::Config(node::config("<knob>5</knob>")) });
    let error =
        node.refused(a, Request::Validate { source: Source::Config(node::config("<knob>five</knob>")) });
    assert_eq!(error.tag, ErrorTag::InvalidValue);
    node.hold_checks = true;
    node.send(a, Request::Validate { source: Source::Datastore(Running) });
    node.fail_held(disk_full());
    assert_eq!(
        node.reply(a).map(node::first_error),
        Some(disk_full()),
        "the rules that YANG cannot say count too"
    );
    assert_eq!(datastores(&mut node, a), before);
}
