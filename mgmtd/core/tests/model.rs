//! Random interleavings of sessions, components and failures against a plain reference.
//!
//! The reference: two maps from item to size, a table of locks, the map that an unconfirmed commit goes back to, and no
//! idea of trees or state machines.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{
    CommitOptions, Confirmed, Datastore, End, Limits, Output, PREPARE_TIMEOUT, Reply, Request, SessionId,
};
use cats_yang_tree::error::{Error, ErrorTag};
use node::{Node, edit, lock, unlock};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

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
    Commit(usize, Asked, Fate),
    Cancel(usize, Option<u8>),
    /// Seconds.
    Pass(u32),
    Attach,
    Detach,
}

/// The parameters of a commit; names are numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked {
    /// Seconds, and `persist`.
    confirmed: Option<(u32, Option<u8>)>,
    persist_id: Option<u8>,
}

impl Asked {
    fn request(self) -> Request {
        let confirmed =
            self.confirmed.map(|(timeout_s, persist)| Confirmed { timeout_s, persist: name(persist) });
        Request::Commit(CommitOptions { confirmed, persist_id: name(self.persist_id), comment: None })
    }
}

fn name(number: Option<u8>) -> Option<String> {
    number.map(|number| number.to_string())
}

fn asked() -> impl Strategy<Value = Asked> {
    let token = || prop_oneof![3 => Just(None), 2 => (0u8..2).prop_map(Some)];
    let confirmed = prop_oneof![2 => Just(None), 2 => (1u32..20, token()).prop_map(Some)];
    (confirmed, token()).prop_map(|(confirmed, persist_id)| Asked { confirmed, persist_id })
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
        7 => (who.clone(), asked(), fate).prop_map(|(a, asked, fate)| Step::Commit(a, asked, fate)),
        1 => (who, prop::option::of(0u8..2)).prop_map(|(a, token)| Step::Cancel(a, token)),
        2 => (1u32..12).prop_map(Step::Pass),
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
    now: u32,
    ongoing: Option<Ongoing>,
}

/// A confirmed commit that waits.
#[derive(Debug, Clone)]
struct Ongoing {
    base: Config,
    by: Option<SessionId>,
    persist: Option<u8>,
    deadline: u32,
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
        if let Some(ongoing) = self.ongoing.as_mut().filter(|ongoing| ongoing.by == Some(session)) {
            ongoing.by = None;
        }
        self.go_back_if_due();
    }

    fn may_follow(&self, by: SessionId, persist_id: Option<u8>) -> bool {
        match &self.ongoing {
            None => persist_id.is_none(),
            Some(Ongoing { persist: None, by: owner, .. }) => persist_id.is_none() && *owner == Some(by),
            Some(Ongoing { persist, .. }) => persist_id == *persist,
        }
    }

    /// Would a confirmed commit of these parameters end with its session?
    fn is_volatile(&self, asked: Asked) -> bool {
        let named = self.ongoing.as_ref().is_some_and(|ongoing| ongoing.persist.is_some());
        asked.confirmed.is_some_and(|(_, persist)| persist.is_none() && !named)
    }

    fn decide(&mut self, by: SessionId, asked: Asked) {
        let before = self.ongoing.take();
        self.ongoing = asked.confirmed.map(|(timeout, persist)| Ongoing {
            base: before.as_ref().map_or_else(|| self.running.clone(), |before| before.base.clone()),
            by: Some(by),
            persist: persist.or(before.and_then(|before| before.persist)),
            deadline: self.now + timeout,
        });
        if self.running != self.candidate {
            self.running = self.candidate.clone();
            self.revision += 1;
        }
    }

    fn go_back_if_due(&mut self) {
        let due = |ongoing: &Ongoing| {
            ongoing.deadline <= self.now || ongoing.persist.is_none() && ongoing.by.is_none()
        };
        if self.ongoing.as_ref().is_some_and(due) {
            self.go_back();
        }
    }

    fn go_back(&mut self) {
        let Some(ongoing) = self.ongoing.take() else { return };
        if ongoing.base != self.running {
            let unmodified = self.candidate == self.running;
            self.running = ongoing.base;
            self.revision += 1;
            if unmodified {
                self.candidate = self.running.clone();
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
            Step::Pass(seconds) => {
                self.node.pass(Duration::from_secs(u64::from(seconds)));
                self.reference.now += seconds;
                self.reference.go_back_if_due();
            }
            Step::Drop(a)
            | Step::Close(a)
            | Step::Kill(a, _)
            | Step::Lock(a, _)
            | Step::Unlock(a, _)
            | Step::Set(a, ..)
            | Step::Delete(a, _)
            | Step::Discard(a)
            | Step::Cancel(a, _)
            | Step::Commit(a, ..) => {
                if let Some(session) = self.session(a) {
                    self.request(session, step);
                }
            }
        }
        self.answer_engine();
    }

    /// A way back may wait for the engine.
    fn answer_engine(&mut self) {
        if let Some(engine) = self.engine.filter(|_| self.node.core.commit_in_flight()) {
            self.node.planned(engine);
        }
        assert!(!self.node.core.commit_in_flight());
    }

    fn request(&mut self, by: SessionId, step: Step) {
        let datastore = |running| if running { Running } else { Candidate };
        match step {
            Step::Drop(_) => {
                self.node.drop_session(by);
                self.reference.end(by);
            }
            Step::Close(_) => {
                self.ends(by, Request::CloseSession, true);
                self.reference.end(by);
            }
            Step::Kill(_, b) => {
                let victim = self.session(b).expect("one is open");
                self.ends(by, Request::KillSession { session: victim }, victim != by);
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
            Step::Commit(_, asked, fate) => self.commit(by, asked, fate),
            Step::Cancel(_, token) => self.cancel(by, token),
            Step::Open | Step::Attach | Step::Detach | Step::Pass(_) => {}
        }
    }

    /// The answer waits for the way back from a confirmed commit, if there is one.
    fn ends(&mut self, by: SessionId, request: Request, good: bool) {
        let asked = format!("{request:?}");
        self.node.send(by, request);
        if self.node.core.commit_in_flight() {
            assert_eq!(self.node.reply(by), None, "{asked}");
        }
        self.answer_engine();
        let reply = self.node.reply(by);
        assert_eq!(reply == Some(Reply::Ok), good, "{asked} -> {reply:?}");
    }

    fn lock(&mut self, by: SessionId, target: Datastore) {
        let clean = target == Running || self.reference.candidate == self.reference.running;
        let waits = self.reference.ongoing.as_ref();
        let anothers = target == Running && waits.is_some_and(|ongoing| ongoing.by != Some(by));
        let good = clean && !anothers && !self.reference.locks.contains_key(&target);
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

    fn cancel(&mut self, by: SessionId, token: Option<u8>) {
        let reference = &self.reference;
        let own = token.is_none() && reference.ongoing.as_ref().is_some_and(|ongoing| ongoing.by == Some(by));
        let named = token.is_some() && reference.may_follow(by, token);
        let request = Request::CancelCommit { persist_id: name(token) };
        if !reference.free(Running, by) || !(own || named) {
            return self.expect(by, request, false);
        }
        self.node.send(by, request);
        self.answer_engine();
        assert_eq!(self.node.reply(by), Some(Reply::Ok));
        self.reference.go_back();
    }

    fn commit(&mut self, by: SessionId, asked: Asked, fate: Fate) {
        let reference = &self.reference;
        let allowed = reference.free(Running, by)
            && reference.free(Candidate, by)
            && reference.may_follow(by, asked.persist_id);
        let same = reference.candidate == reference.running;
        let nothing = same && asked.confirmed.is_none() && reference.ongoing.is_none();
        if !allowed || nothing {
            return self.expect(by, asked.request(), allowed);
        }
        (self.node.hold_oracle, self.node.hold_journal) = (true, true);
        self.node.send(by, asked.request());
        let done = if same { self.noted(by, fate) } else { self.through(by, asked, fate) };
        (self.node.hold_oracle, self.node.hold_journal) = (false, false);
        let lost = fate == Fate::SessionLost;
        let reply = self.node.reply(by);
        assert_eq!(reply.map(|reply| reply == Reply::Ok), (!lost).then_some(done));
        if done {
            self.reference.decide(by, asked);
        }
        if lost {
            self.reference.end(by);
        }
        self.reference.go_back_if_due();
        while !self.node.held.is_empty() {
            self.node.answer_held();
        }
    }

    /// A commit without changes is recorded, and nothing else.
    fn noted(&mut self, by: SessionId, fate: Fate) -> bool {
        if fate == Fate::SessionLost {
            self.node.drop_session(by);
        }
        if fate == Fate::NoRecord {
            self.node.fail_held(Error::application(ErrorTag::OperationFailed, "as told"));
        } else {
            self.node.answer_held();
        }
        fate != Fate::NoRecord
    }

    /// Plays the parts of oracle, engine and journal; true if the commit is decided.
    fn through(&mut self, by: SessionId, asked: Asked, fate: Fate) -> bool {
        let revision = self.reference.revision + 1;
        let error = || Error::application(ErrorTag::OperationFailed, "as told");
        if fate == Fate::Invalid {
            self.node.fail_held(error());
            return false;
        }
        if fate == Fate::SessionLost {
            let volatile = self.reference.is_volatile(asked);
            self.node.drop_session(by);
            if volatile {
                return false;
            }
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
                    self.reference.now += u32::try_from(PREPARE_TIMEOUT.as_secs()).unwrap();
                    self.node.planned(engine);
                    self.engine = None;
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
        let timer = self.node.core.poll_timeout().map(|(_, what)| what);
        assert_eq!(timer, self.reference.ongoing.as_ref().map(|_| "confirm"));
        assert_eq!(self.node.pending.is_some(), self.reference.ongoing.is_some(), "the record says the same");
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
    fn failed_and_unconfirmed_commits_change_nothing_and_locks_end_with_their_sessions(
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
