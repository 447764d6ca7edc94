//! Private candidates that outlive the loss of their sessions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{
    CommitOptions, Confirmed, Datastore, End, Event, Keeping, Peer, Reply, Request, Resolution, SessionId,
    Transport, WhyDropped,
};
use cats_yang_tree::error::{Error, ErrorTag};
use node::{Node, commit, edit, first_error, knob, lock};
use std::time::Duration;

use Datastore::{Candidate, Running};

impl Node {
    fn private(&mut self, user: &str) -> SessionId {
        let session = self.open(user);
        self.core.handle_private_candidate(session);
        session
    }

    /// A session of `user` that is lost with the knob at `value`.
    fn lost(&mut self, user: &str, value: u32) -> SessionId {
        let session = self.private(user);
        self.ok(session, knob(value));
        self.drop_session(session);
        session
    }

    fn kill(&mut self, victim: SessionId) {
        let by = self.open("op");
        self.ok(by, Request::KillSession { session: victim });
    }

    fn attached(&mut self, session: SessionId, left_by: SessionId) {
        assert_eq!(self.ask(session, attach(left_by)), Reply::Attached { conflicts: Vec::new() });
    }

    fn dropped(&self) -> Vec<(SessionId, WhyDropped)> {
        let dropped = |event: &Event| match event {
            Event::CandidateDropped { session, why, .. } => Some((*session, *why)),
            _ => None,
        };
        self.events.iter().filter_map(dropped).collect()
    }

    fn keep(&mut self, per_user: usize, total: usize) {
        self.core.handle_keeping(Keeping { time: HOUR, per_user, total }, self.now);
        self.drain();
    }
}

const HOUR: Duration = Duration::from_secs(3600);

fn attach(left_by: SessionId) -> Request {
    Request::AttachCandidate { left_by }
}

fn confirmed(persist: Option<&str>) -> Request {
    let confirmed = Confirmed { timeout_s: 600, persist: persist.map(str::to_owned) };
    Request::Commit(CommitOptions { confirmed: Some(confirmed), ..CommitOptions::default() })
}

fn has_knob(config: &str, value: u32) -> bool {
    config.contains(&format!("<knob>{value}</knob>"))
}

#[test]
fn a_session_that_was_lost_or_killed_leaves_its_changes_to_another_of_its_user() {
    for kills in [false, true] {
        let mut node = Node::new();
        let a = node.private("ada");
        node.ok(a, knob(1));
        match kills {
            true => node.kill(a),
            false => node.drop_session(a),
        }
        let b = node.private("ada");
        assert_eq!(node.config(b, Candidate), "", "it has one of its own");
        node.attached(b, a);
        assert!(has_knob(&node.config(b, Candidate), 1));
        assert!(node.events.contains(&Event::CandidateAttached {
            session: b,
            left_by: a,
            user: "ada".into()
        }));
        node.ok(b, commit());
        assert!(has_knob(&node.running(), 1));
        assert_eq!(node.refused(b, attach(a)).tag, ErrorTag::DataMissing, "there was one only");
    }
}

#[test]
fn a_session_that_closes_itself_has_no_changes_or_edits_the_shared_candidate_leaves_nothing() {
    let mut node = Node::new();
    let (closed, unchanged, shared) = (node.private("ada"), node.private("ada"), node.open("ada"));
    node.ok(closed, knob(1));
    node.ok(closed, Request::CloseSession);
    node.config(unchanged, Candidate);
    node.ok(shared, knob(1));
    node.drop_session(unchanged);
    node.drop_session(shared);
    let b = node.private("ada");
    for left_by in [closed, unchanged, shared] {
        assert_eq!(node.refused(b, attach(left_by)).tag, ErrorTag::DataMissing);
    }
    assert!(!node.events.iter().any(|event| matches!(event, Event::CandidateKept { .. })));
}

#[test]
fn nobody_else_can_attach_or_drop_it_but_a_recovery_session() {
    let mut node = Node::new();
    let a = node.lost("ada", 1);
    let b = node.private("bob");
    let nothing = node.refused(b, attach(SessionId(99)));
    for request in [attach(a), Request::DropCandidate { left_by: a }] {
        let error = node.refused(b, request);
        assert_eq!((error.tag, error.app_tag.as_deref()), (ErrorTag::DataMissing, Some("instance-required")));
        assert_eq!(
            error.message,
            nothing.message.replace("99", &a.to_string()),
            "nobody learns that it is there"
        );
    }
    let peer = Peer {
        user: "root".into(),
        transport: Transport::Local,
        source_host: None,
        groups: Vec::new(),
        recovery: true,
    };
    let root = node.open_as(peer).unwrap();
    node.core.handle_private_candidate(root);
    node.attached(root, a);
    assert!(has_knob(&node.config(root, Candidate), 1));
}

#[test]
fn it_is_not_attached_in_the_place_of_other_changes_or_of_the_shared_candidate() {
    let mut node = Node::new();
    let a = node.lost("ada", 1);
    let (b, shared) = (node.private("ada"), node.open("ada"));
    let error = node.refused(shared, attach(a));
    assert_eq!(error.tag, ErrorTag::OperationNotSupported);
    assert!(error.message.contains(":private-candidate"), "{error}");
    node.ok(b, knob(2));
    let error = node.refused(b, attach(a));
    assert_eq!(error.tag, ErrorTag::InUse);
    assert!(error.message.contains("<discard-changes>"), "{error}");
    node.ok(b, Request::DiscardChanges);
    node.attached(b, a);
    let waits = node.private("ada");
    node.ok(waits, knob(3));
    node.ok(waits, confirmed(None));
    let c = node.lost("ada", 4);
    let error = node.refused(waits, attach(c));
    assert_eq!(error.tag, ErrorTag::InUse, "its changes may come back");
    assert!(error.message.contains("<cancel-commit>"), "{error}");
}

#[test]
fn what_running_has_changed_meanwhile_is_told_as_of_an_update() {
    let mut node = Node::new();
    let a = node.lost("ada", 1);
    let bob = node.private("bob");
    node.ok(bob, edit("<knob>2</knob><mode>slow</mode>"));
    node.ok(bob, commit());
    let b = node.private("ada");
    let Reply::Attached { conflicts } = node.ask(b, attach(a)) else { panic!("not attached") };
    assert_eq!(conflicts.iter().map(|path| path.0.as_str()).collect::<Vec<_>>(), ["/probe-bench:bench/knob"]);
    assert!(has_knob(&node.config(b, Candidate), 1), "it is as it was");
    assert!(!node.config(b, Candidate).contains("slow"));
    let update = || Request::Update { resolution: Resolution::RevertOnConflict };
    for request in [update(), commit()] {
        let error = node.refused(b, request);
        assert_eq!(error.path.map(|path| path.0).as_deref(), Some("/probe-bench:bench/knob"));
    }
    node.ok(b, knob(3));
    node.ok(b, update());
    assert!(node.config(b, Candidate).contains("slow"));
    node.ok(b, commit());
    assert!(has_knob(&node.running(), 3));
}

#[test]
fn what_its_session_had_settled_stays_settled() {
    let mut node = Node::new();
    let (a, bob) = (node.private("ada"), node.private("bob"));
    node.ok(a, knob(1));
    node.ok(bob, knob(2));
    node.ok(bob, commit());
    assert!(matches!(node.ask(a, commit()), Reply::Errors(_)));
    node.ok(a, knob(3));
    node.drop_session(a);
    let b = node.private("ada");
    node.attached(b, a);
    node.ok(b, commit());
    assert!(has_knob(&node.running(), 3));
}

#[test]
fn the_oldest_of_a_user_or_of_all_makes_room() {
    let mut node = Node::new();
    node.keep(2, 3);
    let [a, b, c] = [1, 2, 3].map(|value| node.lost("ada", value));
    assert_eq!(node.dropped(), [(a, WhyDropped::Crowded { limit: 2 })]);
    let d = node.lost("bob", 4);
    let e = node.lost("sue", 5);
    assert_eq!(node.dropped()[1..], [(b, WhyDropped::Crowded { limit: 3 })]);
    node.keep(2, 1);
    assert_eq!(node.dropped()[2..], [c, d].map(|left| (left, WhyDropped::Crowded { limit: 1 })));
    let sue = node.private("sue");
    node.attached(sue, e);
    node.keep(0, 9);
    node.drop_session(sue);
    assert_eq!(node.dropped()[4..], [(sue, WhyDropped::Crowded { limit: 0 })]);
}

#[test]
fn it_is_dropped_when_its_time_is_over_and_the_timer_says_so() {
    let mut node = Node::new();
    let a = node.lost("ada", 1);
    node.pass(HOUR / 2);
    let b = node.lost("ada", 2);
    assert_eq!(node.core.poll_timeout(), Some((node.now.instant + HOUR / 2, "candidates")));
    node.pass(HOUR / 2);
    assert_eq!(node.dropped(), [(a, WhyDropped::Expired)]);
    let time = Duration::from_secs(60);
    node.core.handle_keeping(Keeping { time, ..Keeping::default() }, node.now);
    node.drain();
    assert_eq!(node.dropped()[1..], [(b, WhyDropped::Expired)], "the shorter time holds for it too");
    assert_eq!(node.core.poll_timeout(), None);
}

#[test]
fn its_user_can_drop_it() {
    let mut node = Node::new();
    let a = node.lost("ada", 1);
    let b = node.open("ada");
    node.ok(b, Request::DropCandidate { left_by: a });
    assert_eq!(node.dropped(), [(a, WhyDropped::Asked { by: b })]);
    assert_eq!(node.refused(b, Request::DropCandidate { left_by: a }).tag, ErrorTag::DataMissing);
}

#[test]
fn its_lock_is_gone_and_that_of_the_new_session_stays() {
    let mut node = Node::new();
    let a = node.private("ada");
    node.ok(a, lock(Candidate));
    node.ok(a, knob(1));
    node.drop_session(a);
    let b = node.private("ada");
    node.attached(b, a);
    node.drop_session(b);
    let c = node.private("ada");
    node.ok(c, lock(Candidate));
    node.attached(c, b);
    assert_eq!(node.refused(c, lock(Candidate)).tag, ErrorTag::LockDenied);
    node.ok(c, Request::Unlock { target: Candidate });
    assert_eq!(node.config(c, Candidate), "", "what is not committed goes with the lock");
}

/// It may have been lost with its changes in force: they are taken back with the session, and are there again.
#[test]
fn a_confirmed_commit_that_ends_with_its_session_leaves_its_changes() {
    let mut node = Node::new();
    let a = node.private("ada");
    node.ok(a, knob(1));
    node.ok(a, confirmed(None));
    node.drop_session(a);
    assert_eq!(node.running(), "");
    let b = node.private("ada");
    node.attached(b, a);
    assert!(has_knob(&node.config(b, Candidate), 1));
    node.ok(b, commit());
    assert!(has_knob(&node.running(), 1));
}

#[test]
fn a_named_confirmed_commit_leaves_its_changes_when_it_is_taken_back_and_nothing_when_it_is_confirmed() {
    for confirms in [false, true] {
        let mut node = Node::new();
        let a = node.private("ada");
        node.ok(a, knob(1));
        node.ok(a, confirmed(Some("token")));
        node.drop_session(a);
        let (b, bob) = (node.private("ada"), node.private("bob"));
        let persist_id = Some("token".to_owned());
        if confirms {
            node.ok(bob, Request::Commit(CommitOptions { persist_id, ..CommitOptions::default() }));
            assert_eq!(node.refused(b, attach(a)).tag, ErrorTag::DataMissing);
        } else {
            node.ok(bob, Request::CancelCommit { persist_id });
            node.attached(b, a);
            assert!(has_knob(&node.config(b, Candidate), 1));
        }
    }
}

/// Attached while the commit waits, it gets the changes of that when it is taken back.
#[test]
fn a_named_confirmed_commit_can_be_attached_before_it_is_settled() {
    let mut node = Node::new();
    let a = node.private("ada");
    node.ok(a, knob(1));
    node.ok(a, confirmed(Some("token")));
    node.drop_session(a);
    let b = node.private("ada");
    node.attached(b, a);
    node.pass(Duration::from_secs(600));
    assert_eq!(node.running(), "");
    assert!(has_knob(&node.config(b, Candidate), 1));
}

#[test]
fn what_is_being_committed_when_the_session_is_lost_is_kept_only_if_that_fails() {
    let failed = || Error::application(ErrorTag::OperationFailed, "no space left");
    for fails in [true, false] {
        let mut node = Node::new();
        let a = node.private("ada");
        node.ok(a, knob(1));
        node.hold_journal = true;
        node.send(a, commit());
        node.drop_session(a);
        let b = node.private("ada");
        for request in [attach(a), Request::DropCandidate { left_by: a }] {
            assert_eq!(node.refused(b, request).tag, ErrorTag::InUse, "it is not decided");
        }
        match fails {
            true => node.fail_held(failed()),
            false => node.answer_held(),
        }
        assert_eq!(has_knob(&node.running(), 1), !fails);
        let reply = node.ask(b, attach(a));
        match fails {
            true => assert_eq!(reply, Reply::Attached { conflicts: Vec::new() }),
            false => assert_eq!(first_error(reply).tag, ErrorTag::DataMissing),
        }
    }
}

/// A confirmed commit without a name that is being decided when its session is lost: before the decision it ends with
/// the session, after it it is taken back. Either way its changes are kept.
#[test]
fn a_confirmed_commit_on_its_way_leaves_its_changes() {
    for decided in [false, true] {
        let mut node = Node::new();
        let a = node.private("ada");
        node.ok(a, knob(1));
        (node.hold_oracle, node.hold_journal) = (!decided, true);
        node.send(a, confirmed(None));
        node.drop_session(a);
        while !node.held.is_empty() {
            node.answer_held();
        }
        assert_eq!(node.running(), "", "decided: {decided}");
        node.hold_oracle = false;
        let b = node.private("ada");
        node.attached(b, a);
        assert!(has_knob(&node.config(b, Candidate), 1));
        assert!(!has_knob(&node.config(b, Running), 1));
        assert!(node.ended.iter().all(|(_, why)| !matches!(why, End::Killed { .. })));
    }
}
