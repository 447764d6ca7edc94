//! Commits that come while the journal is written: decided upon each other, durable together, or not at all.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{
    CommitOptions, ComponentId, Confirmed, Datastore, Edit, Output, Reply, Request, SessionId, Source, Target,
};
use cats_yang_tree::error::{Error, ErrorTag};
use node::{Node, commit, config, edit, edit_with, knob, lock};
use std::time::Duration;

use Datastore::{Candidate, Running};

fn disk_full() -> Error {
    Error::application(ErrorTag::OperationFailed, "the disk is full")
}

fn item(name: &str, size: u32) -> String {
    format!("<item><name>{name}</name><size>{size}</size></item>")
}

/// A node whose journal is being written for the first session.
fn writing() -> (Node, SessionId, SessionId, SessionId) {
    let mut node = Node::new();
    let (a, b, c) = (node.open("ada"), node.open("bob"), node.open("cyd"));
    for session in [b, c] {
        node.core.handle_private_candidate(session);
    }
    node.hold_journal = true;
    node.ok(a, knob(1));
    node.send(a, commit());
    (node, a, b, c)
}

/// The revisions that each write had.
fn writes(node: &Node) -> Vec<Vec<u64>> {
    let revisions = |output: &Output| match output {
        Output::Record { group, .. } => group.iter().map(|recorded| recorded.commit.revision).collect(),
        other => panic!("{other:?}"),
    };
    node.held.iter().map(revisions).collect()
}

fn failed(node: &mut Node, session: SessionId) {
    assert_eq!(node.reply(session).map(node::first_error), Some(disk_full()));
}

#[test]
fn what_is_decided_while_the_journal_is_written_goes_to_it_together() {
    let (mut node, a, b, c) = writing();
    for (session, name) in [(b, "b"), (c, "c")] {
        node.ok(session, edit(&item(name, 1)));
        node.send(session, commit());
    }
    assert_eq!(writes(&node), [vec![1]]);
    assert_eq!((node.reply(b), node.reply(c), node.running()), (None, None, String::new()));
    node.answer_held();
    assert_eq!((node.reply(a), node.reply(b), node.reply(c)), (Some(Reply::Ok), None, None));
    assert!(!node.running().contains("item"), "{}", node.running());
    assert_eq!(writes(&node), [vec![2, 3]]);
    node.answer_held();
    assert_eq!((node.reply(b), node.reply(c)), (Some(Reply::Ok), Some(Reply::Ok)));
    let running = node.running();
    assert!(["<knob>1</knob>", "<name>b</name>", "<name>c</name>"].iter().all(|part| running.contains(part)));
    assert_eq!(node.core.running().0, 3);
}

#[test]
fn when_the_journal_fails_all_that_was_decided_upon_it_fails_and_nothing_has_changed() {
    for durable in [false, true] {
        let (mut node, a, b, c) = writing();
        node.ok(b, edit(&item("b", 1)));
        let before = [(a, Running), (a, Candidate), (b, Candidate), (c, Candidate)]
            .map(|(session, datastore)| node.config(session, datastore));
        node.send(b, commit());
        node.ok(c, edit(&item("c", 1)));
        let mine = node.config(c, Candidate);
        node.hold_oracle = true;
        node.send(c, commit());
        if durable {
            node.answer_held();
            assert_eq!(node.reply(a), Some(Reply::Ok));
            node.held.rotate_left(1);
        }
        node.fail_held(disk_full());
        let revision = node.core.running().0;
        for session in if durable { vec![b, c] } else { vec![a, b, c] } {
            failed(&mut node, session);
        }
        let after = [(a, Running), (a, Candidate), (b, Candidate)]
            .map(|(session, datastore)| node.config(session, datastore));
        if durable {
            assert_eq!((revision, &after[1], &after[2]), (1, &before[1], &before[2]));
        } else {
            assert_eq!((revision, &after[..]), (0, &before[..3]));
        }
        assert_eq!(node.config(c, Candidate), mine);
        // The oracle's verdict comes late, and they can all be tried again.
        node.answer_held();
        (node.hold_oracle, node.hold_journal) = (false, false);
        for session in [a, b, c] {
            node.ok(session, commit());
        }
        assert_eq!(node.core.running().0, 3);
    }
}

#[test]
fn a_commit_without_changes_upon_what_is_not_durable_is_answered_after_that() {
    for fails in [false, true] {
        let (mut node, a, _, _) = writing();
        let other = node.open("dan");
        node.send(other, commit());
        assert_eq!(node.reply(other), None);
        if fails {
            node.fail_held(disk_full());
            failed(&mut node, a);
            failed(&mut node, other);
        } else {
            node.answer_held();
            assert_eq!((node.reply(a), node.reply(other)), (Some(Reply::Ok), Some(Reply::Ok)));
        }
        assert!(node.held.is_empty());
    }
}

#[test]
fn a_refusal_that_rests_on_what_is_not_durable_is_told_after_that() {
    let (mut node, _, b, c) = writing();
    node.ok(b, knob(2));
    node.ok(c, knob(666));
    for session in [b, c] {
        node.send(session, commit());
        assert_eq!(node.reply(session), None, "a conflict with what is being written");
    }
    node.answer_held();
    for session in [b, c] {
        let error = node.reply(session).map(node::first_error).unwrap();
        assert!(error.message.contains("changed in <running>"), "{error}");
    }
}

#[test]
fn a_conflict_with_what_does_not_become_durable_is_none() {
    let (mut node, a, b, _) = writing();
    node.ok(b, knob(2));
    let mine = node.config(b, Candidate);
    node.send(b, commit());
    node.fail_held(disk_full());
    for session in [a, b] {
        failed(&mut node, session);
    }
    assert_eq!(node.config(b, Candidate), mine);
    node.hold_journal = false;
    node.ok(b, commit());
    assert!(node.running().contains("<knob>2</knob>"));
}

#[test]
fn the_shared_candidate_is_edited_and_committed_while_its_last_commit_is_written() {
    for fails in [false, true] {
        let (mut node, a, _, _) = writing();
        let other = node.open("dan");
        node.ok(other, edit("<mode>m</mode>"));
        node.send(other, commit());
        let candidate = node.config(other, Candidate);
        assert!(candidate.contains("<knob>1</knob>") && candidate.contains("<mode>m</mode>"), "{candidate}");
        if fails {
            node.fail_held(disk_full());
            for session in [a, other] {
                failed(&mut node, session);
            }
            assert_eq!((node.running(), node.config(a, Candidate)), (String::new(), candidate));
        } else {
            node.answer_held();
            node.answer_held();
            for session in [a, other] {
                assert_eq!(node.reply(session), Some(Reply::Ok));
            }
            assert_eq!((node.running(), node.config(a, Candidate)), (candidate.clone(), candidate));
        }
    }
}

#[test]
fn what_replaces_the_candidate_waits_for_the_commits_of_it() {
    let copy = Request::CopyConfig {
        target: Target::Datastore(Candidate),
        source: Source::Config(config("<mode>m</mode>")),
        with_defaults: None,
    };
    for request in [Request::DiscardChanges, copy] {
        let (mut node, a, _, _) = writing();
        let other = node.open("dan");
        node.send(other, request.clone());
        assert_eq!(node.reply(other), None);
        node.answer_held();
        assert_eq!((node.reply(a), node.reply(other)), (Some(Reply::Ok), Some(Reply::Ok)));
        let discards = request == Request::DiscardChanges;
        assert_eq!(node.config(a, Candidate).contains("<knob>1</knob>"), discards);
    }
}

#[test]
fn a_lock_that_is_released_amid_takes_what_is_not_committed_along() {
    for fails in [false, true] {
        let mut node = Node::new();
        let (a, b) = (node.open("ada"), node.open("bob"));
        node.ok(a, lock(Candidate));
        node.hold_journal = true;
        node.ok(a, knob(1));
        node.send(a, commit());
        node.drop_session(a);
        // Upon nothing that may go away yet.
        node.send(b, edit("<mode>m</mode>"));
        assert_eq!(node.reply(b), None);
        if fails {
            node.fail_held(disk_full())
        } else {
            node.answer_held()
        }
        assert_eq!(node.reply(b), Some(Reply::Ok));
        let candidate = node.config(b, Candidate);
        assert!(candidate.contains("<mode>m</mode>"), "{candidate}");
        assert_eq!(candidate.contains("<knob>1</knob>"), !fails, "{candidate}");
    }
}

#[test]
fn what_a_lost_session_waited_for_is_not_done() {
    let (mut node, a, _, _) = writing();
    let other = node.open("dan");
    let copy = Request::CopyConfig {
        target: Target::Datastore(Candidate),
        source: Source::Config(config("<mode>m</mode>")),
        with_defaults: None,
    };
    node.send(other, copy);
    node.drop_session(other);
    node.answer_held();
    assert_eq!(node.reply(a), Some(Reply::Ok));
    assert_eq!(node.config(a, Candidate), node.running());
}

#[test]
fn a_commit_until_it_is_confirmed_goes_alone() {
    let (mut node, a, b, c) = writing();
    node.ok(b, edit(&item("b", 1)));
    let confirmed = Some(Confirmed { timeout_s: 60, persist: None });
    node.send(b, Request::Commit(CommitOptions { confirmed, ..CommitOptions::default() }));
    node.ok(c, edit(&item("c", 1)));
    node.send(c, commit());
    node.answer_held();
    assert_eq!((node.reply(a), writes(&node)), (Some(Reply::Ok), vec![vec![2]]));
    node.answer_held();
    assert_eq!(node.reply(b), Some(Reply::Ok));
    let refused = node.reply(c).map(node::first_error).unwrap();
    assert_eq!(refused.tag, ErrorTag::InUse, "it waits for b's confirmation: {refused}");
    // It is not taken back before what confirms it is durable.
    node.send(b, commit());
    node.pass(Duration::from_secs(60));
    assert!(node.running().contains("<name>b</name>"));
    node.answer_held();
    assert_eq!((node.reply(b), node.core.poll_timeout()), (Some(Reply::Ok), None));
    assert!(node.running().contains("<name>b</name>"));
}

#[test]
fn components_apply_what_they_have_prepared_before_they_prepare_the_next() {
    let mut node = Node::new();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.core.handle_private_candidate(b);
    node.attach(1, Some(0));
    node.hold_journal = true;
    node.ok(a, knob(1));
    node.ok(b, edit("<mode>m</mode>"));
    node.send(a, commit());
    node.planned(1);
    node.send(b, commit());
    assert_eq!((node.told.len(), writes(&node)), (1, vec![vec![1]]));
    node.answer_held();
    assert!(matches!(
        node.told[1..],
        [
            Output::Apply { component: ComponentId(1), revision: 1 },
            Output::Prepare { component: ComponentId(1), revision: 2, base: 1, .. }
        ]
    ));
    node.planned(1);
    node.answer_held();
    assert_eq!((node.reply(a), node.reply(b)), (Some(Reply::Ok), Some(Reply::Ok)));
}

#[test]
fn a_component_forgets_what_it_prepared_when_the_journal_fails() {
    let mut node = Node::new();
    let (a, b) = (node.open("ada"), node.open("bob"));
    node.core.handle_private_candidate(b);
    node.attach(1, Some(0));
    node.hold_journal = true;
    node.ok(a, knob(1));
    node.ok(b, edit("<mode>m</mode>"));
    node.send(a, commit());
    node.planned(1);
    node.send(b, commit());
    node.fail_held(disk_full());
    for session in [a, b] {
        failed(&mut node, session);
    }
    assert!(matches!(node.told[1..], [Output::Abort { component: ComponentId(1), revision: 1 }]));
    node.aborted(1);
    node.hold_journal = false;
    node.send(b, commit());
    assert!(matches!(node.told[2..], [Output::Prepare { revision: 1, base: 0, .. }]));
    node.planned(1);
    assert_eq!(node.reply(b), Some(Reply::Ok));
}

#[test]
fn edits_of_running_go_together_too() {
    let write = |content: &str| Request::EditConfig(Edit { target: Running, ..edit_with(content) });
    let mut node = Node::writable();
    let sessions = [node.open("ada"), node.open("bob"), node.open("cyd")];
    node.hold_journal = true;
    for (at, session) in (1..).zip(sessions) {
        node.send(session, write(&item(&format!("i{at}"), at)));
    }
    node.answer_held();
    assert_eq!(writes(&node), [vec![2, 3]]);
    node.answer_held();
    for session in sessions {
        assert_eq!(node.reply(session), Some(Reply::Ok));
    }
    assert_eq!(node.running().matches("<item>").count(), 3);
    assert_eq!(node.config(sessions[0], Candidate), node.running());
}

#[test]
fn a_stop_waits_for_all_that_is_decided() {
    let (mut node, _, b, _) = writing();
    node.ok(b, edit(&item("b", 1)));
    node.send(b, commit());
    for _ in 0..2 {
        assert!(node.core.commit_in_flight());
        node.answer_held();
    }
    assert!(!node.core.commit_in_flight());
}

/// Random interleavings of edits, commits, lost sessions and writes that fail, against maps from item to size.
mod interleaved {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Items = BTreeMap<u8, u32>;

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Set(u8, u32),
        Remove(u8),
        Commit,
        Discard,
        Lose,
        /// The journal ends a write, well or not.
        Written(bool),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0..6_u8, 1..9_u32).prop_map(|(item, size)| Step::Set(item, size)),
            2 => (0..6_u8).prop_map(Step::Remove),
            6 => Just(Step::Commit),
            1 => Just(Step::Discard),
            1 => Just(Step::Lose),
            4 => prop::bool::weighted(0.7).prop_map(Step::Written),
        ]
    }

    /// What a session has asked for and is not answered.
    #[derive(Debug, Clone)]
    struct Asked {
        by: usize,
        /// It is of the shared candidate.
        shared: bool,
        /// Running after it.
        tip: Items,
        /// The session's candidate before and after it.
        candidates: (Items, Items),
    }

    /// Sessions 0 and 1 share the candidate, 2 and 3 have one each.
    struct Run {
        node: Node,
        sessions: [SessionId; 4],
        running: Items,
        shared: Items,
        /// Base and content.
        own: [(Items, Items); 2],
        asked: Vec<Asked>,
        /// So many of them are being written.
        writing: usize,
        revision: u64,
    }

    impl Run {
        fn new() -> Self {
            let mut node = Node::new();
            let sessions = [0, 1, 2, 3].map(|at| open(&mut node, at));
            node.hold_journal = true;
            Self {
                node,
                sessions,
                running: Items::new(),
                shared: Items::new(),
                own: Default::default(),
                asked: Vec::new(),
                writing: 0,
                revision: 0,
            }
        }

        fn tip(&self) -> Items {
            self.asked.last().map_or_else(|| self.running.clone(), |asked| asked.tip.clone())
        }

        fn candidate(&mut self, at: usize) -> &mut Items {
            if at < 2 { &mut self.shared } else { &mut self.own[at - 2].1 }
        }

        /// The shared candidate has no changes of its own, and running will have others.
        fn will_follow(&self) -> bool {
            let (mut unmodified, mut follows, mut tip) = (self.shared == self.running, false, &self.running);
            for asked in
                self.asked.iter().filter(|asked| std::mem::replace(&mut tip, &asked.tip) != &asked.tip)
            {
                if asked.shared {
                    unmodified = self.shared == asked.tip;
                } else {
                    follows |= unmodified;
                }
            }
            follows
        }

        fn waits(&self, at: usize) -> bool {
            self.asked.iter().any(|asked| asked.by == at)
        }

        fn step(&mut self, at: usize, step: Step) {
            let session = self.sessions[at];
            match step {
                Step::Written(good) => self.written(good),
                Step::Lose => {
                    self.node.drop_session(session);
                    self.sessions[at] = open(&mut self.node, at);
                    self.asked
                        .iter_mut()
                        .filter(|asked| asked.by == at)
                        .for_each(|asked| asked.by = usize::MAX);
                    if at >= 2 {
                        self.own[at - 2] = (self.running.clone(), self.running.clone());
                    }
                }
                _ if self.waits(at) => {}
                Step::Set(..) | Step::Remove(_) if at < 2 && self.will_follow() => {}
                Step::Set(item, size) => {
                    self.candidate(at).insert(item, size);
                    self.node.ok(session, edit(&super::item(&format!("{item}"), size)));
                }
                Step::Remove(item) => {
                    self.candidate(at).remove(&item);
                    let request = format!("<item nc:operation=\"remove\"><name>{item}</name></item>");
                    self.node.ok(session, edit(&request));
                }
                Step::Discard if at < 2 && self.asked.iter().any(|asked| asked.shared) => {}
                Step::Discard => {
                    let back = if at < 2 { self.running.clone() } else { self.own[at - 2].0.clone() };
                    *self.candidate(at) = back;
                    self.node.ok(session, Request::DiscardChanges);
                }
                Step::Commit => self.commit(at),
            }
        }

        fn commit(&mut self, at: usize) {
            let (session, tip) = (self.sessions[at], self.tip());
            self.node.send(session, commit());
            let before = self.candidate(at).clone();
            let new = match at {
                0 | 1 if self.will_follow() => Some(tip.clone()),
                0 | 1 => Some(before.clone()),
                _ => merged(&self.own[at - 2], &tip),
            };
            let Some(new) = new else {
                return self.in_conflict(at);
            };
            if self.asked.is_empty() && new == tip {
                assert_eq!(self.node.reply(session), Some(Reply::Ok));
                if at >= 2 {
                    self.own[at - 2] = (tip.clone(), tip);
                }
                return;
            }
            self.asked.push(Asked { by: at, shared: at < 2, tip: new.clone(), candidates: (before, new) });
            assert_eq!(self.node.reply(session), None);
            if self.writing == 0 {
                self.writing = self.asked.len();
            }
        }

        /// The session begins anew, whenever it is told.
        fn in_conflict(&mut self, at: usize) {
            self.node.drop_session(self.sessions[at]);
            self.sessions[at] = open(&mut self.node, at);
            self.own[at - 2] = (self.running.clone(), self.running.clone());
        }

        fn written(&mut self, good: bool) {
            if self.writing == 0 {
                return assert!(self.node.held.is_empty());
            }
            let mut count = if good { self.writing } else { self.asked.len() };
            // What changes nothing rests on what is before it.
            while let Some(asked) = self.asked.get(count)
                && asked.tip == self.asked[count - 1].tip
            {
                count += 1;
            }
            let ended: Vec<Asked> = self.asked.drain(..count).collect();
            if good {
                self.node.answer_held()
            } else {
                self.node.fail_held(disk_full())
            }
            for Asked { by, shared, tip, candidates: (_, after) } in ended {
                if good && tip != self.running {
                    let follows = !shared && self.shared == self.running;
                    self.revision += 1;
                    self.running = tip;
                    if follows {
                        self.shared = self.running.clone();
                    }
                }
                if by == usize::MAX {
                    continue;
                }
                let reply = self.node.reply(self.sessions[by]);
                assert_eq!(reply.map(|reply| reply == Reply::Ok), Some(good));
                if by >= 2 && good {
                    self.own[by - 2] = (after.clone(), after);
                }
            }
            self.writing = self.asked.len();
        }

        fn compare(&mut self) {
            assert_eq!(self.node.running(), xml(&self.running));
            assert_eq!(self.node.core.running().0, self.revision);
            for at in 0..4 {
                if !self.waits(at) {
                    let wanted = xml(self.candidate(at));
                    assert_eq!(self.node.config(self.sessions[at], Candidate), wanted, "session {at}");
                }
            }
        }
    }

    fn open(node: &mut Node, at: usize) -> SessionId {
        let session = node.open("ada");
        if at >= 2 {
            node.core.handle_private_candidate(session);
            node.config(session, Candidate);
        }
        session
    }

    /// The private candidate upon `tip`; none when both changed an item.
    fn merged((base, items): &(Items, Items), tip: &Items) -> Option<Items> {
        let mut new = tip.clone();
        for item in 0..6 {
            let (was, mine, theirs) = (base.get(&item), items.get(&item), tip.get(&item));
            if was != mine && was != theirs {
                return None;
            }
            match (was != mine, mine) {
                (true, Some(size)) => new.insert(item, *size),
                (true, None) => new.remove(&item),
                (false, _) => continue,
            };
        }
        Some(new)
    }

    fn xml(items: &Items) -> String {
        let entry = |(item, size)| format!("<item><name>{item}</name><size>{size}</size></item>");
        let entries: String = items.iter().map(entry).collect();
        if entries.is_empty() { entries } else { format!("<bench xmlns=\"{}\">{entries}</bench>", node::NS) }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn what_is_answered_is_in_running_and_what_failed_has_left_nothing(
            steps in prop::collection::vec((0..4_usize, step()), 0..80),
        ) {
            let mut run = Run::new();
            for (at, step) in steps {
                run.step(at, step);
                run.compare();
            }
        }
    }
}
