//! Random interleavings of private candidates, kept over the loss of their sessions, against a plain reference: maps from
//! item to size, compared key by key.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{Datastore, Keeping, Reply, Request, Resolution, SessionId};
use cats_yang_tree::error::Path;
use node::{Node, commit, edit};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

type Items = BTreeMap<u8, u32>;

#[derive(Debug, Clone, Copy)]
enum Step {
    Set(u8, u32),
    Remove(u8),
    Update(Resolution),
    Discard,
    Commit,
    /// Closes the session and opens the next.
    Reopen,
    /// Loses the session and opens the next.
    Lose,
    /// Goes on with what one of the lost sessions left.
    Attach(usize),
    /// Drops that.
    Forget(usize),
}

/// So many candidates of lost sessions are kept.
const KEPT: usize = 2;

fn step() -> impl Strategy<Value = Step> {
    let mode = prop_oneof![
        Just(Resolution::RevertOnConflict),
        Just(Resolution::PreferCandidate),
        Just(Resolution::PreferRunning),
    ];
    prop_oneof![
        6 => (0..4_u8, 1..4_u32).prop_map(|(item, size)| Step::Set(item, size)),
        3 => (0..4_u8).prop_map(Step::Remove),
        3 => mode.prop_map(Step::Update),
        1 => Just(Step::Discard),
        5 => Just(Step::Commit),
        1 => Just(Step::Reopen),
        2 => Just(Step::Lose),
        2 => (0..KEPT).prop_map(Step::Attach),
        1 => (0..KEPT).prop_map(Step::Forget),
    ]
}

/// What a private candidate should be.
#[derive(Debug, Clone, Default)]
struct Reference {
    base: Items,
    items: Items,
    /// Running when conflicts were told, those that are open, and those that are settled.
    told: (Items, BTreeSet<u8>, BTreeSet<u8>),
}

impl Reference {
    fn of(running: &Items) -> Self {
        Self { base: running.clone(), items: running.clone(), ..Self::default() }
    }

    fn is_modified(&self) -> bool {
        self.items != self.base
    }

    /// The conflicts that nobody has settled, which are told by this.
    fn conflicts(&mut self, running: &Items) -> BTreeSet<u8> {
        let base = self.base.clone();
        let both = |item: &u8| base.get(item) != running.get(item) && base.get(item) != self.items.get(item);
        let settled: BTreeSet<u8> =
            self.told.2.iter().copied().filter(|item| self.told.0.get(item) == running.get(item)).collect();
        let open: BTreeSet<u8> = (0..4).filter(both).filter(|item| !settled.contains(item)).collect();
        self.told = (running.clone(), open.clone(), settled);
        open
    }

    fn touch(&mut self, item: u8) {
        if self.told.1.remove(&item) {
            self.told.2.insert(item);
        }
    }

    /// False when there is a conflict that nobody has settled.
    fn update(&mut self, running: &Items, mode: Resolution) -> bool {
        let theirs = |item: &u8| self.base.get(item) != running.get(item);
        let both = |item: &u8| theirs(item) && self.base.get(item) != self.items.get(item);
        let conflicts: BTreeSet<u8> = (0..4).filter(both).collect();
        let settled: BTreeSet<u8> =
            self.told.2.iter().copied().filter(|item| self.told.0.get(item) == running.get(item)).collect();
        let open: BTreeSet<u8> = conflicts.difference(&settled).copied().collect();
        if mode == Resolution::RevertOnConflict && !open.is_empty() {
            self.told = (running.clone(), open, settled);
            return false;
        }
        let taken = |item: &u8| theirs(item) && (mode == Resolution::PreferRunning || !both(item));
        for item in (0..4).filter(taken).collect::<Vec<_>>() {
            match running.get(&item) {
                Some(size) => self.items.insert(item, *size),
                None => self.items.remove(&item),
            };
        }
        *self = Self { base: running.clone(), items: self.items.clone(), ..Self::default() };
        true
    }
}

struct Run {
    node: Node,
    running: Items,
    sessions: Vec<(SessionId, Reference)>,
    /// What lost sessions left, oldest first.
    kept: Vec<(SessionId, Reference)>,
}

impl Run {
    fn new() -> Self {
        let mut run =
            Self { node: Node::new(), running: Items::new(), sessions: Vec::new(), kept: Vec::new() };
        let keeping = Keeping { time: Duration::from_secs(60), per_user: KEPT, total: 9 };
        run.node.core.handle_keeping(keeping, run.node.now);
        run.sessions = (0..3).map(|_| run.open()).collect();
        run
    }

    fn open(&mut self) -> (SessionId, Reference) {
        let session = self.node.open("ada");
        self.node.core.handle_private_candidate(session);
        // Reading makes it.
        self.node.config(session, Datastore::Candidate);
        (session, Reference::of(&self.running))
    }

    fn step(&mut self, at: usize, step: Step) {
        match step {
            Step::Reopen => {
                self.node.ok(self.sessions[at].0, Request::CloseSession);
                self.sessions[at] = self.open();
                return;
            }
            Step::Lose => return self.lose(at),
            Step::Attach(which) => return self.attach(at, which),
            Step::Forget(which) => return self.forget(at, which),
            Step::Set(..) | Step::Remove(_) | Step::Update(_) | Step::Discard | Step::Commit => {}
        }
        let (session, reference) = &mut self.sessions[at];
        let (request, good) = match step {
            Step::Set(item, size) => {
                reference.touch(item);
                reference.items.insert(item, size);
                (edit(&format!("<item><name>{item}</name><size>{size}</size></item>")), true)
            }
            Step::Remove(item) => {
                reference.touch(item);
                reference.items.remove(&item);
                (edit(&format!("<item nc:operation=\"remove\"><name>{item}</name></item>")), true)
            }
            Step::Update(resolution) => {
                (Request::Update { resolution }, reference.update(&self.running, resolution))
            }
            Step::Discard => {
                *reference = Reference::of(&reference.base);
                (Request::DiscardChanges, true)
            }
            Step::Commit => {
                let good = reference.update(&self.running, Resolution::RevertOnConflict);
                if good {
                    self.running = reference.items.clone();
                    *reference = Reference::of(&self.running);
                }
                (commit(), good)
            }
            Step::Reopen | Step::Lose | Step::Attach(_) | Step::Forget(_) => return,
        };
        let asked = format!("{request:?}");
        let reply = self.node.ask(*session, request);
        assert_eq!(reply == Reply::Ok, good, "{asked}: {reply:?}");
    }

    fn lose(&mut self, at: usize) {
        self.node.drop_session(self.sessions[at].0);
        let next = self.open();
        let lost = std::mem::replace(&mut self.sessions[at], next);
        if lost.1.is_modified() {
            self.kept.push(lost);
            if self.kept.len() > KEPT {
                self.kept.remove(0);
            }
        }
    }

    fn attach(&mut self, at: usize, which: usize) {
        let (session, own) = &mut self.sessions[at];
        let left_by = self.kept.get(which).map_or(SessionId(u32::MAX), |(session, _)| *session);
        let reply = self.node.ask(*session, Request::AttachCandidate { left_by });
        if own.is_modified() || which >= self.kept.len() {
            assert!(matches!(reply, Reply::Errors(_)), "{reply:?}");
            return;
        }
        let (_, mut left) = self.kept.remove(which);
        let told = left.conflicts(&self.running);
        let Reply::Attached { conflicts } = reply else { panic!("{reply:?}") };
        let named = |path: &Path| path.0.split('\'').nth(1).and_then(|name| name.parse().ok());
        assert_eq!(conflicts.iter().filter_map(named).collect::<BTreeSet<u8>>(), told);
        *own = left;
    }

    fn forget(&mut self, at: usize, which: usize) {
        let left_by = self.kept.get(which).map_or(SessionId(u32::MAX), |(session, _)| *session);
        let reply = self.node.ask(self.sessions[at].0, Request::DropCandidate { left_by });
        assert_eq!(reply == Reply::Ok, which < self.kept.len(), "{reply:?}");
        if which < self.kept.len() {
            self.kept.remove(which);
        }
    }

    fn compare(&mut self) {
        assert_eq!(self.node.running(), xml(&self.running));
        for (session, reference) in &self.sessions {
            assert_eq!(self.node.config(*session, Datastore::Candidate), xml(&reference.items));
        }
    }
}

fn xml(items: &Items) -> String {
    let entry = |(item, size)| format!("<item><name>{item}</name><size>{size}</size></item>");
    let entries: String = items.iter().map(entry).collect();
    if entries.is_empty() { entries } else { format!("<bench xmlns=\"{}\">{entries}</bench>", node::NS) }
}

proptest! {
    #[test]
    fn each_session_commits_its_changes_only_and_is_told_of_each_conflict(
        steps in prop::collection::vec((0..3_usize, step()), 0..60),
    ) {
        let mut run = Run::new();
        for (at, step) in steps {
            run.step(at, step);
            run.compare();
        }
    }
}

/// A conflict at a leaf of an entry that running has lost is settled by the removal of the entry.
#[test]
fn a_removal_settles_a_conflict_below_it() {
    let mut run = Run::new();
    let prefer = Step::Update(Resolution::PreferCandidate);
    let conflict =
        [(0, Step::Set(3, 1)), (1, Step::Set(3, 2)), (0, Step::Commit), (1, prefer), (0, Step::Remove(3))];
    for (at, step) in conflict.into_iter().chain([
        (0, Step::Commit),
        (1, Step::Commit),
        (1, Step::Remove(3)),
        (1, Step::Commit),
    ]) {
        run.step(at, step);
        run.compare();
    }
}
