//! Random interleavings of sessions, components and failures against a plain reference.
//!
//! The reference: two maps from item to size, a table of locks, and no idea of trees or state machines.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{Datastore, End, Limits, Output, PREPARE_TIMEOUT, Reply, Request, SessionId};
use cats_yang_tree::error::{Error, ErrorTag};
use node::{Node, commit, edit, lock, unlock};
use proptest::prelude::*;
use std::collections::BTreeMap;

use Datastore::{Candidate, Running};

#[derive(Debug, Clone)]
enum Step {
    Open,
    Drop(usize),
    Close(usize),
    Kill(usize, usize),
    Lock(usize, bool),
    Unlock(usize, bool),
    Set(usize, u8, u32),
    Delete(usize, u8),
    Discard(usize),
    /// A commit, what the components make of it, and whether it ends badly at the oracle or the journal.
    Commit(usize, Fate),
    Attach,
    Detach,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Good,
    Invalid,
    Refused,
    Late,
    NoRecord,
    EngineLost,
    SessionLost,
}

fn step() -> impl Strategy<Value = Step> {
    let fate = prop_oneof![
        4 => Just(Fate::Good),
        1 => Just(Fate::Invalid),
        1 => Just(Fate::Refused),
        1 => Just(Fate::Late),
        1 => Just(Fate::NoRecord),
        1 => Just(Fate::EngineLost),
        1 => Just(Fate::SessionLost),
    ];
    let who = 0usize..4;
    prop_oneof![
        2 => Just(Step::Open),
        1 => who.clone().prop_map(Step::Drop),
        1 => who.clone().prop_map(Step::Close),
        1 => (who.clone(), who.clone()).prop_map(|(a, b)| Step::Kill(a, b)),
        2 => (who.clone(), any::<bool>()).prop_map(|(a, b)| Step::Lock(a, b)),
        2 => (who.clone(), any::<bool>()).prop_map(|(a, b)| Step::Unlock(a, b)),
        6 => (who.clone(), 0u8..5, 1u32..9).prop_map(|(a, item, size)| Step::Set(a, item, size)),
        3 => (who.clone(), 0u8..5).prop_map(|(a, item)| Step::Delete(a, item)),
        1 => who.clone().prop_map(Step::Discard),
        5 => (who, fate).prop_map(|(a, fate)| Step::Commit(a, fate)),
        1 => Just(Step::Attach),
        1 => Just(Step::Detach),
    ]
}

type Config = BTreeMap<u8, u32>;

#[derive(Default)]
struct Reference {
    running: Config,
    candidate: Config,
    locks: BTreeMap<Datastore, SessionId>,
    open: Vec<SessionId>,
    revision: u64,
}

impl Reference {
    fn free(&self, datastore: Datastore, by: SessionId) -> bool {
        self.locks.get(&datastore).is_none_or(|holder| *holder == by)
    }

    fn release(&mut self, datastore: Datastore) {
        self.locks.remove(&datastore);
        if datastore == Candidate {
            self.candidate = self.running.clone();
        }
    }

    fn end(&mut self, session: SessionId) {
        self.open.retain(|open| *open != session);
        for datastore in [Running, Candidate] {
            if self.locks.get(&datastore) == Some(&session) {
                self.release(datastore);
            }
        }
    }
}

struct Run {
    node: Node,
    reference: Reference,
    /// The connection of the component, if there is one, and the next one's number.
    engine: Option<u32>,
    engines: u32,
}

impl Run {
    fn session(&self, at: usize) -> Option<SessionId> {
        let open = &self.reference.open;
        (!open.is_empty()).then(|| open[at % open.len()])
    }

    fn expect(&mut self, session: SessionId, request: Request, good: bool) {
        let asked = format!("{request:?}");
        let reply = self.node.ask(session, request);
        assert_eq!(reply == Reply::Ok, good, "{asked} -> {reply:?}");
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Open => self.reference.open.push(self.node.open("ada")),
            Step::Attach => self.attach(),
            Step::Detach => self.detach(),
            Step::Drop(a)
            | Step::Close(a)
            | Step::Kill(a, _)
            | Step::Lock(a, _)
            | Step::Unlock(a, _)
            | Step::Set(a, ..)
            | Step::Delete(a, _)
            | Step::Discard(a)
            | Step::Commit(a, _) => {
                if let Some(session) = self.session(a) {
                    self.request(session, step);
                }
            }
        }
    }

    fn request(&mut self, by: SessionId, step: Step) {
        let datastore = |running| if running { Running } else { Candidate };
        match step {
            Step::Drop(_) => {
                self.node.drop_session(by);
                self.reference.end(by);
            }
            Step::Close(_) => {
                self.expect(by, Request::CloseSession, true);
                self.reference.end(by);
            }
            Step::Kill(_, b) => {
                let victim = self.session(b).expect("one is open");
                self.expect(by, Request::KillSession { session: victim }, victim != by);
                if victim != by {
                    assert_eq!(self.node.ended.pop(), Some((victim, End::Killed { by })));
                    self.reference.end(victim);
                }
            }
            Step::Lock(_, running) => self.lock(by, datastore(running)),
            Step::Unlock(_, running) => {
                let target = datastore(running);
                let good = self.reference.locks.get(&target) == Some(&by);
                self.expect(by, unlock(target), good);
                if good {
                    self.reference.release(target);
                }
            }
            Step::Set(..) | Step::Delete(..) | Step::Discard(_) => self.edit(by, step),
            Step::Commit(_, fate) => self.commit(by, fate),
            Step::Open | Step::Attach | Step::Detach => {}
        }
    }

    fn lock(&mut self, by: SessionId, target: Datastore) {
        let clean = target == Running || self.reference.candidate == self.reference.running;
        let good = clean && !self.reference.locks.contains_key(&target);
        self.expect(by, lock(target), good);
        if good {
            self.reference.locks.insert(target, by);
        }
    }

    fn edit(&mut self, by: SessionId, step: Step) {
        let free = self.reference.free(Candidate, by);
        let mut candidate = self.reference.candidate.clone();
        let (request, good) = match step {
            Step::Set(_, item, size) => {
                candidate.insert(item, size);
                (edit(&format!("<item><name>i{item}</name><size>{size}</size></item>")), free)
            }
            Step::Delete(_, item) => {
                let there = candidate.remove(&item).is_some();
                (edit(&format!("<item nc:operation=\"delete\"><name>i{item}</name></item>")), free && there)
            }
            _ => {
                candidate = self.reference.running.clone();
                (Request::DiscardChanges, free)
            }
        };
        self.expect(by, request, good);
        if good {
            self.reference.candidate = candidate;
        }
    }

    fn attach(&mut self) {
        if self.engine.is_none() {
            self.engine = Some(self.engines);
            self.node.attach(self.engines, Some(self.reference.revision));
            self.engines += 1;
        }
    }

    fn detach(&mut self) {
        if let Some(engine) = self.engine.take() {
            self.node.detach(engine);
        }
    }

    fn commit(&mut self, by: SessionId, fate: Fate) {
        let reference = &self.reference;
        let allowed = reference.free(Running, by) && reference.free(Candidate, by);
        if !allowed || reference.candidate == reference.running {
            return self.expect(by, commit(), allowed);
        }
        let revision = reference.revision + 1;
        (self.node.hold_oracle, self.node.hold_journal) = (true, true);
        self.node.send(by, commit());
        let done = self.through(by, fate, revision);
        (self.node.hold_oracle, self.node.hold_journal) = (false, false);
        assert!(!self.node.core.commit_in_flight());
        let lost = fate == Fate::SessionLost;
        let reply = self.node.reply(by);
        assert_eq!(reply.map(|reply| reply == Reply::Ok), (!lost).then_some(done));
        if done {
            self.reference.running = self.reference.candidate.clone();
            self.reference.revision = revision;
        }
        if lost {
            self.reference.end(by);
        }
    }

    /// Plays the parts of oracle, engine and journal; true if the commit is decided.
    fn through(&mut self, by: SessionId, fate: Fate, revision: u64) -> bool {
        let error = || Error::application(ErrorTag::OperationFailed, "as told");
        if fate == Fate::Invalid {
            self.node.fail_held(error());
            return false;
        }
        if fate == Fate::SessionLost {
            self.node.drop_session(by);
        }
        self.node.answer_held();
        if let Some(engine) = self.engine {
            assert!(
                matches!(self.node.told.last(), Some(Output::Prepare { revision: r, .. }) if *r == revision)
            );
            match fate {
                Fate::Refused => {
                    self.node.rejected(engine, vec![error()]);
                    return false;
                }
                Fate::Late => {
                    self.node.pass(PREPARE_TIMEOUT);
                    self.node.planned(engine);
                    self.node.aborted(engine);
                    return false;
                }
                Fate::EngineLost => self.detach(),
                Fate::Good | Fate::NoRecord | Fate::SessionLost => self.node.planned(engine),
                Fate::Invalid => {}
            }
        }
        if fate == Fate::NoRecord {
            self.node.fail_held(error());
            if let Some(engine) = self.engine {
                self.node.aborted(engine);
            }
            return false;
        }
        self.node.answer_held();
        if self.engine.is_some() {
            assert!(
                matches!(self.node.told.last(), Some(Output::Apply { revision: r, .. }) if *r == revision)
            );
        }
        true
    }

    fn compare(&mut self) {
        let probe = self.node.open("probe");
        assert_eq!(parse(&self.node.config(probe, Running)), self.reference.running);
        assert_eq!(parse(&self.node.config(probe, Candidate)), self.reference.candidate);
        assert_eq!(self.node.core.running().0, self.reference.revision);
        self.node.drop_session(probe);
        for (datastore, holder) in &self.reference.locks {
            assert!(self.reference.open.contains(holder), "the lock of {datastore:?} outlives its session");
        }
    }
}

fn parse(xml: &str) -> Config {
    let items = xml.split("<item>").skip(1);
    let between = |text: &str, open: &str, close: &str| {
        let at = text.find(open).expect("an opening tag") + open.len();
        text[at..at + text[at..].find(close).expect("a closing tag")].to_owned()
    };
    items
        .map(|item| {
            let name = between(item, "<name>i", "</name>");
            let size = between(item, "<size>", "</size>");
            (name.parse().expect("a number"), size.parse().expect("a number"))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn failed_commits_change_nothing_and_locks_end_with_their_sessions(
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let limits = Limits { sessions: 100, sessions_per_user: 100 };
        let mut run = Run { node: Node::with(limits, &[]), reference: Reference::default(), engine: None, engines: 0 };
        for step in steps {
            run.step(step);
            run.compare();
        }
    }
}
