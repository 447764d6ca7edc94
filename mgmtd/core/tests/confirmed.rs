//! Confirmed commits (RFC 6241 section 8.4): confirmed, extended, cancelled, timed out, and left by their session.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{
    Alarm, Author, CommitOptions, ComponentId, ConfirmEvent, Confirmed, Datastore, Event, Limits, Output,
    PREPARE_TIMEOUT, RECORD_AGAIN, Reply, Request, SessionId,
};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use node::{Node, commit, holder, knob, lock, unlock, xml_of};
use std::time::Duration;

use Datastore::{Candidate, Running};

fn confirmed(timeout_s: u32, persist: Option<&str>) -> Request {
    follow_up(timeout_s, persist, None)
}

fn follow_up(timeout_s: u32, persist: Option<&str>, persist_id: Option<&str>) -> Request {
    let confirmed = Confirmed { timeout_s, persist: persist.map(str::to_owned) };
    Request::Commit(CommitOptions {
        confirmed: Some(confirmed),
        persist_id: persist_id.map(str::to_owned),
        comment: None,
    })
}

fn confirm(persist_id: &str) -> Request {
    Request::Commit(CommitOptions { persist_id: Some(persist_id.to_owned()), ..CommitOptions::default() })
}

fn cancel(persist_id: Option<&str>) -> Request {
    Request::CancelCommit { persist_id: persist_id.map(str::to_owned) }
}

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A node with the knob at 1, and a session with another value in the candidate.
fn node_with(value: u32) -> (Node, SessionId) {
    let mut node = Node::new();
    let a = node.open("ada");
    node.ok(a, knob(1));
    node.ok(a, commit());
    node.ok(a, knob(value));
    (node, a)
}

#[track_caller]
fn knob_is(node: &Node, value: u32) {
    let running = node.running();
    assert!(running.contains(&format!("<knob>{value}</knob>")), "{running}");
}

fn told(node: &Node) -> Vec<ConfirmEvent> {
    let what = |event: &Event| match event {
        Event::ConfirmedCommit { what, .. } => Some(*what),
        _ => None,
    };
    node.events.iter().filter_map(what).collect()
}

fn disk_full() -> Error {
    Error::application(ErrorTag::OperationFailed, "no space left on device")
}

/// The case C01.
#[test]
fn a_confirmed_commit_that_is_not_confirmed_is_taken_back_when_its_time_is_up() {
    let (mut node, a) = node_with(2);
    node.ok(a, confirmed(60, None));
    knob_is(&node, 2);
    assert_eq!(node.core.poll_timeout(), Some((node.now.instant + seconds(60), "confirm")));
    node.pass(seconds(59));
    knob_is(&node, 2);
    node.pass(seconds(1));
    knob_is(&node, 1);
    assert_eq!((node.core.running().0, node.pending.clone()), (3, None), "the way back is a commit");
    assert_eq!(node.config(a, Candidate), node.running(), "a candidate without changes follows");
    assert_eq!(node.core.poll_timeout(), None);
    assert_eq!(told(&node), [ConfirmEvent::Start { timeout_s: 60 }, ConfirmEvent::Timeout]);
    node.ok(a, lock(Candidate));
}

#[test]
fn a_confirmed_commit_that_is_confirmed_stays() {
    let (mut node, a) = node_with(2);
    node.ok(a, confirmed(60, None));
    node.ok(a, commit());
    assert_eq!((node.pending.clone(), node.core.poll_timeout()), (None, None));
    node.pass(seconds(100));
    knob_is(&node, 2);
    assert_eq!(node.core.running().0, 2, "a confirmation alone is no revision");
    assert_eq!(told(&node), [ConfirmEvent::Start { timeout_s: 60 }, ConfirmEvent::Complete]);
}

#[test]
fn the_confirming_commit_brings_further_changes_along() {
    let (mut node, a) = node_with(2);
    node.ok(a, confirmed(60, None));
    node.ok(a, knob(3));
    node.ok(a, commit());
    node.pass(seconds(100));
    knob_is(&node, 3);
}

/// The case C09.
#[test]
fn a_second_confirmed_commit_extends_the_time_and_the_way_back_leads_before_the_first() {
    let (mut node, a) = node_with(2);
    node.ok(a, confirmed(60, None));
    node.pass(seconds(50));
    node.ok(a, knob(3));
    node.ok(a, confirmed(30, None));
    node.pass(seconds(29));
    knob_is(&node, 3);
    // Without a change it extends the time as well.
    node.ok(a, confirmed(30, None));
    node.pass(seconds(29));
    knob_is(&node, 3);
    node.pass(seconds(1));
    knob_is(&node, 1);
    let extended = ConfirmEvent::Extend { timeout_s: 30 };
    assert_eq!(
        told(&node),
        [ConfirmEvent::Start { timeout_s: 60 }, extended, extended, ConfirmEvent::Timeout]
    );
}

/// The case C03.
#[test]
fn a_session_that_ends_takes_its_confirmed_commit_back_at_once() {
    for how in ["dropped", "closed", "killed"] {
        let (mut node, a) = node_with(2);
        let b = node.open("bob");
        node.ok(a, confirmed(60, None));
        match how {
            "dropped" => node.drop_session(a),
            "closed" => node.ok(a, Request::CloseSession),
            _ => node.ok(b, Request::KillSession { session: a }),
        }
        knob_is(&node, 1);
        assert_eq!(node.config(b, Candidate), node.running(), "{how}");
        assert_eq!(told(&node).last(), Some(&ConfirmEvent::Cancel));
    }
}

/// RFC 6241 section 7.9: whoever asked for the end of the session finds what was before the confirmed commit.
#[test]
fn the_end_of_a_session_is_answered_when_its_confirmed_commit_is_taken_back() {
    for closes in [true, false] {
        let (mut node, a) = node_with(2);
        let b = node.open("bob");
        node.ok(a, confirmed(60, None));
        node.ok(a, lock(Running));
        node.hold_journal = true;
        let (asker, request) = match closes {
            true => (a, Request::CloseSession),
            false => (b, Request::KillSession { session: a }),
        };
        node.send(asker, request);
        assert_eq!(node.reply(asker), None, "the way back is not recorded yet");
        node.answer_held();
        assert_eq!(node.reply(asker), Some(Reply::Ok));
        knob_is(&node, 1);
        node.ok(b, lock(Running));
    }
}

/// The same for a commit that is decided, and ends with its session only after that.
#[test]
fn the_end_of_a_session_is_answered_when_what_it_was_committing_is_settled() {
    for (request, knob) in [(confirmed(60, None), 1), (commit(), 2)] {
        let (mut node, a) = node_with(2);
        let b = node.open("bob");
        node.hold_journal = true;
        node.send(a, request);
        node.send(b, Request::KillSession { session: a });
        while !node.held.is_empty() {
            assert_eq!(node.reply(b), None);
            node.answer_held();
        }
        assert_eq!(node.reply(b), Some(Reply::Ok));
        knob_is(&node, knob);
    }
}

#[test]
fn the_end_of_a_session_is_answered_when_the_way_back_is_in_force_and_cannot_be_recorded() {
    let (mut node, a) = node_with(2);
    let b = node.open("bob");
    node.ok(a, confirmed(60, None));
    node.hold_journal = true;
    node.send(b, Request::KillSession { session: a });
    node.fail_held(Error::application(ErrorTag::OperationFailed, "no space left"));
    assert_eq!(node.reply(b), Some(Reply::Ok));
    knob_is(&node, 1);
}

#[test]
fn a_persistent_confirmed_commit_outlives_its_session_and_any_session_confirms_it_by_its_name() {
    let (mut node, a) = node_with(2);
    node.ok(a, confirmed(60, Some("token")));
    node.drop_session(a);
    knob_is(&node, 2);
    let b = node.open("bob");
    node.ok(b, knob(3));
    node.ok(b, follow_up(60, None, Some("token")));
    node.drop_session(b);
    knob_is(&node, 3);
    let c = node.open("cy");
    node.ok(c, confirm("token"));
    node.pass(seconds(100));
    knob_is(&node, 3);
}

#[test]
fn a_follow_up_can_make_a_confirmed_commit_persistent_and_rename_it() {
    let (mut node, a) = node_with(2);
    node.ok(a, confirmed(60, None));
    node.ok(a, confirmed(60, Some("one")));
    node.ok(a, follow_up(60, Some("two"), Some("one")));
    node.drop_session(a);
    let b = node.open("bob");
    assert_eq!(node.refused(b, confirm("one")).tag, ErrorTag::InvalidValue);
    node.ok(b, confirm("two"));
    knob_is(&node, 2);
}

/// The case C05.
#[test]
fn a_wrong_persist_id_is_an_invalid_value_that_is_named() {
    let (mut node, a) = node_with(2);
    for wrong in [confirm("x"), cancel(Some("x")), follow_up(9, None, Some("x"))] {
        assert_eq!(node.refused(a, wrong).tag, ErrorTag::InvalidValue, "nothing waits");
    }
    node.ok(a, confirmed(60, None));
    assert_eq!(node.refused(a, confirm("x")).tag, ErrorTag::InvalidValue, "what waits has no name");
    node.ok(a, confirmed(60, Some("token")));
    for wrong in [confirm("tokem"), cancel(Some("")), follow_up(9, None, Some("x"))] {
        let error = node.refused(a, wrong);
        assert_eq!(error.tag, ErrorTag::InvalidValue);
        assert_eq!(error.info, [ErrorInfo::BadElement("persist-id".into())]);
    }
    let error = node.refused(a, commit());
    assert_eq!(error.tag, ErrorTag::InUse);
    assert!(error.message.contains("<persist-id>"), "{error}");
    node.pass(seconds(60));
    knob_is(&node, 1);
}

#[test]
fn nobody_else_commits_while_a_confirmed_commit_waits() {
    let (mut node, a) = node_with(2);
    let b = node.open("bob");
    node.ok(a, confirmed(60, None));
    node.ok(b, knob(7));
    for request in [commit(), confirmed(60, None), cancel(None)] {
        let error = node.refused(b, request);
        assert_eq!(error.tag, ErrorTag::InUse);
        assert!(error.message.contains(&format!("session {a}")), "{error}");
    }
    node.pass(seconds(60));
    knob_is(&node, 1);
    assert!(
        node.config(b, Candidate).contains("<knob>7</knob>"),
        "changes of the candidate are nobody else's"
    );
    node.ok(b, commit());
    knob_is(&node, 7);
}

#[test]
fn running_is_not_locked_by_another_session_while_a_confirmed_commit_waits() {
    let (mut node, a) = node_with(2);
    let b = node.open("bob");
    node.ok(a, confirmed(60, Some("token")));
    let denied = node.refused(b, lock(Running));
    assert_eq!((denied.tag, holder(&denied)), (ErrorTag::LockDenied, Some(a.0)));
    node.ok(b, lock(Candidate));
    node.ok(b, unlock(Candidate));
    node.ok(a, lock(Running));
    let error = node.refused(b, cancel(Some("token")));
    assert_eq!(error.tag, ErrorTag::InUse, "the lock holds against a cancel too");
    node.drop_session(a);
    let denied = node.refused(b, lock(Running));
    assert_eq!((denied.tag, holder(&denied)), (ErrorTag::LockDenied, Some(0)), "its session is gone");
    node.ok(b, confirm("token"));
    node.ok(b, lock(Running));
}

/// The case C07.
#[test]
fn cancel_commit_takes_a_confirmed_commit_back() {
    let (mut node, a) = node_with(2);
    assert_eq!(node.refused(a, cancel(None)).tag, ErrorTag::OperationFailed, "nothing waits");
    node.ok(a, confirmed(60, None));
    node.ok(a, cancel(None));
    knob_is(&node, 1);
    let by = Author::Session { session: a, user: "ada".into(), transport: cats_mgmtd_core::Transport::Ssh };
    assert_eq!(node.events.last(), Some(&Event::ConfirmedCommit { what: ConfirmEvent::Cancel, by }));
    // A persistent one by its name from anywhere, and by its own session without.
    node.ok(a, knob(2));
    node.ok(a, confirmed(60, Some("token")));
    let b = node.open("bob");
    let error = node.refused(b, cancel(None));
    assert_eq!(error.tag, ErrorTag::InUse);
    node.ok(b, cancel(Some("token")));
    knob_is(&node, 1);
    node.ok(a, knob(2));
    node.ok(a, confirmed(60, Some("token")));
    node.ok(a, cancel(None));
    knob_is(&node, 1);
}

/// The case C11.
#[test]
fn a_confirmed_commit_that_fails_leaves_nothing_behind() {
    let (mut node, a) = node_with(666);
    assert_eq!(node.refused(a, confirmed(60, Some("token"))).tag, ErrorTag::OperationFailed);
    assert_eq!((node.core.poll_timeout(), told(&node)), (None, vec![]));
    assert_eq!(node.refused(a, confirm("token")).tag, ErrorTag::InvalidValue);
    node.ok(a, knob(2));
    node.hold_journal = true;
    node.send(a, confirmed(60, None));
    node.fail_held(disk_full());
    assert_eq!(node.reply(a).map(node::first_error), Some(disk_full()));
    assert_eq!((node.core.poll_timeout(), told(&node)), (None, vec![]));
    // A failing follow-up leaves the first one as it was.
    node.hold_journal = false;
    node.ok(a, confirmed(60, None));
    node.ok(a, knob(666));
    node.pass(seconds(50));
    for request in [confirmed(60, None), commit()] {
        assert_eq!(node.refused(a, request).tag, ErrorTag::OperationFailed);
    }
    node.pass(seconds(10));
    knob_is(&node, 1);
    assert!(node.config(a, Candidate).contains("<knob>666</knob>"), "a candidate with changes stays");
}

#[test]
fn a_commit_that_was_asked_for_in_time_confirms_although_it_ends_later() {
    let (mut node, a) = node_with(2);
    node.ok(a, confirmed(60, None));
    node.pass(seconds(59));
    node.ok(a, knob(3));
    node.hold_oracle = true;
    node.send(a, commit());
    assert_eq!(node.core.poll_timeout(), None, "nothing is due while it is on its way");
    node.pass(seconds(5));
    knob_is(&node, 2);
    node.answer_held();
    assert_eq!(node.reply(a), Some(Reply::Ok));
    knob_is(&node, 3);
    node.pass(seconds(100));
    knob_is(&node, 3);
}

#[test]
fn a_commit_that_was_asked_for_in_time_and_fails_later_is_followed_by_the_way_back() {
    let (mut node, a) = node_with(2);
    node.ok(a, confirmed(60, None));
    node.ok(a, knob(3));
    node.hold_oracle = true;
    node.send(a, commit());
    node.pass(seconds(61));
    node.fail_held(disk_full());
    knob_is(&node, 1);
}

#[test]
fn a_session_that_is_lost_while_its_confirmed_commit_is_decided_does_not_leave_it() {
    // Before the decision it does not happen, after it is taken back.
    for decided in [false, true] {
        let (mut node, a) = node_with(2);
        (node.hold_oracle, node.hold_journal) = (!decided, decided);
        node.send(a, confirmed(60, None));
        node.drop_session(a);
        (node.hold_oracle, node.hold_journal) = (false, false);
        if decided {
            node.answer_held();
        }
        knob_is(&node, 1);
        assert!(!node.core.commit_in_flight());
        assert_eq!(node.core.running().0, if decided { 3 } else { 1 });
        assert_eq!((node.pending.clone(), node.core.poll_timeout()), (None, None));
    }
}

#[test]
fn components_prepare_and_apply_the_way_back_like_any_commit() {
    let (mut node, a) = node_with(2);
    node.attach(1, Some(1));
    node.send(a, confirmed(60, None));
    node.planned(1);
    node.told.clear();
    node.send(a, cancel(None));
    let [Output::Prepare { component: ComponentId(1), revision: 3, base: 2, changes }] = &node.told[..]
    else {
        panic!("{:?}", node.told)
    };
    assert_eq!(changes.changes.len(), 1);
    node.planned(1);
    assert!(matches!(node.told[1..], [Output::Apply { component: ComponentId(1), revision: 3 }]));
    knob_is(&node, 1);
}

#[test]
fn a_component_that_refuses_the_way_back_gets_the_earlier_configuration_whole() {
    for late in [false, true] {
        let (mut node, a) = node_with(2);
        node.attach(1, Some(1));
        node.send(a, confirmed(60, None));
        node.planned(1);
        node.told.clear();
        node.pass(seconds(60));
        if late {
            node.pass(PREPARE_TIMEOUT);
            assert!(matches!(node.told[1], Output::Disconnect { component: ComponentId(1) }));
            assert!(matches!(&node.alarms()[..], [Alarm::Unreachable { .. }]));
            node.attach(2, Some(2));
        } else {
            node.rejected(1, vec![Error::application(ErrorTag::InvalidValue, "no way back")]);
        }
        knob_is(&node, 1);
        let Some(Output::Snapshot { revision: 3, tree, .. }) = node.told.last() else { panic!() };
        assert_eq!(xml_of(&node.schema, tree), node.running());
        let refused = node.events.iter().any(|event| matches!(event, Event::RollbackRefused { .. }));
        assert_eq!(refused, !late);
        node.rejected(
            1 + u32::from(late),
            vec![Error::application(ErrorTag::InvalidValue, "not this either")],
        );
        assert!(matches!(&node.alarms()[..], [Alarm::OutOfSync { .. }]));
        knob_is(&node, 1);
    }
}

#[test]
fn the_way_back_is_in_force_when_the_journal_does_not_take_it_and_is_recorded_as_soon_as_it_does() {
    let (mut node, a) = node_with(2);
    node.ok(a, confirmed(60, None));
    node.hold_journal = true;
    node.pass(seconds(60));
    node.fail_held(disk_full());
    knob_is(&node, 1);
    assert!(matches!(&node.alarms()[..], [Alarm::Unrecorded { .. }]));
    // The candidate is free, nothing is committed.
    node.ok(a, knob(5));
    assert_eq!(node.refused(a, commit()).tag, ErrorTag::InUse);
    assert_eq!(node.core.poll_timeout(), Some((node.now.instant + RECORD_AGAIN, "record")));
    node.pass(RECORD_AGAIN);
    node.fail_held(disk_full());
    node.pass(RECORD_AGAIN);
    node.answer_held();
    assert_eq!((node.alarms(), node.core.poll_timeout()), (vec![], None));
    assert_eq!(node.journal.iter().map(|(revision, _)| *revision).collect::<Vec<_>>(), [1, 2, 3]);
    node.hold_journal = false;
    node.ok(a, commit());
    knob_is(&node, 5);
}

#[test]
fn a_cancel_that_the_journal_does_not_take_is_refused_and_the_confirmed_commit_waits_on() {
    let (mut node, a) = node_with(2);
    node.ok(a, confirmed(60, None));
    node.hold_journal = true;
    node.send(a, cancel(None));
    node.fail_held(disk_full());
    assert_eq!(node.reply(a).map(node::first_error), Some(disk_full()));
    knob_is(&node, 2);
    node.hold_journal = false;
    node.ok(a, commit());
    knob_is(&node, 2);
}

#[test]
fn the_record_says_how_long_a_confirmed_commit_waits_and_how_to_undo_it() {
    let (mut node, a) = node_with(2);
    let before = node.core.running().1.clone();
    node.ok(a, confirmed(60, Some("token")));
    let pending = node.pending.clone().unwrap();
    assert_eq!((pending.timeout_s, pending.persist.as_deref()), (60, Some("token")));
    assert_eq!(pending.deadline_us, node.now.unix_us + 60_000_000);
    let (_, running) = node.core.running();
    assert_eq!(pending.undo.apply(running, &node.schema).unwrap(), before);
}

/// The case P39: a restart is the same for a core that takes up what was recorded.
#[test]
fn a_confirmed_commit_with_a_name_and_time_left_is_confirmed_or_taken_back_after_a_restart() {
    let (mut before, a) = node_with(2);
    before.ok(a, confirmed(60, Some("token")));
    let pending = before.pending.clone().unwrap();
    for confirms in [true, false] {
        let mut node = Node::with(Limits::default(), &[]);
        let a = node.open("ada");
        node.ok(a, knob(2));
        node.ok(a, commit());
        node.now = before.now;
        node.now.unix_us += 20_000_000;
        assert_eq!(pending.left(node.now), Some(seconds(40)));
        let base = pending.undo.apply(node.core.running().1, &node.schema).unwrap();
        node.core.resume(pending.as_ref().clone(), base, node.now);
        node.pass(seconds(39));
        if confirms {
            node.ok(a, confirm("token"));
        }
        node.pass(seconds(1));
        knob_is(&node, if confirms { 2 } else { 1 });
    }
}

#[test]
fn what_was_recorded_waits_no_longer_than_it_was_given_whatever_the_clock_says() {
    let (mut node, a) = node_with(2);
    node.ok(a, confirmed(60, Some("token")));
    let pending = node.pending.clone().unwrap();
    let mut now = node.now;
    now.unix_us += 60_000_000;
    assert_eq!(pending.left(now), None, "its time is up");
    now.unix_us = 0;
    assert_eq!(pending.left(now), Some(seconds(60)), "the clock was set back");
    let volatile = cats_mgmtd_core::Pending { persist: None, ..pending.as_ref().clone() };
    assert_eq!(volatile.left(node.now), None, "its session is gone");
}

/// The case P54: only the monotonic clock counts while the daemon runs.
#[test]
fn a_step_of_the_wall_clock_neither_shortens_nor_prolongs_the_time() {
    for step in [-600_000_000_i64, 600_000_000] {
        let (mut node, a) = node_with(2);
        node.now.unix_us = 1_000_000_000_000;
        node.ok(a, confirmed(60, None));
        node.now.unix_us = node.now.unix_us.checked_add_signed(step).unwrap();
        node.pass(seconds(59));
        knob_is(&node, 2);
        node.pass(seconds(1));
        knob_is(&node, 1);
    }
}

#[test]
fn a_daemon_that_stops_takes_back_what_ends_with_its_session_and_leaves_what_has_a_name() {
    for persist in [None, Some("token")] {
        let (mut node, a) = node_with(2);
        node.ok(a, confirmed(60, persist));
        node.core.handle_stop(node.now);
        node.pass(Duration::ZERO);
        knob_is(&node, if persist.is_some() { 2 } else { 1 });
    }
}
