//! kill -9 at each step of a commit, which the engine's end of `engine.sock` sees: what was decided is there when the
//! daemon is back, and nothing else.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_engine_transport::management::{Attached, Call};
use cats_mgmtd_netconf::Answer;
use cats_yang_tree::error::ErrorTag;
use daemon::engine::Engine;
use daemon::{Daemon, Place, Session, edit, text_of};
use std::any::Any;

const COMMIT: &str = "<commit/>";
const CONFIRMED: &str = "<commit><confirmed/></commit>";
const NAMED: &str = "<commit><confirmed/><persist>night shift</persist></commit>";
const CONFIRM: &str = "<commit><persist-id>night shift</persist-id></commit>";
const CANCEL: &str = "<cancel-commit><persist-id>night shift</persist-id></cancel-commit>";

/// How far an operation that changes running came when the daemon was killed.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// It was not sent.
    Before,
    /// It was sent.
    Sent,
    /// The engine was asked for its plan and has not answered.
    Asked,
    /// The engine has answered, so the record may be written.
    Planned,
    /// The engine was told to apply it, so the record is written.
    Told,
    /// The engine has applied it.
    Applied,
    /// The client has its answer.
    Answered,
}

const STEPS: [Step; 7] =
    [Step::Before, Step::Sent, Step::Asked, Step::Planned, Step::Told, Step::Applied, Step::Answered];

impl Step {
    /// Whether the operation is decided at this step; none where it may be.
    fn decided(self) -> Option<bool> {
        match self {
            Step::Before | Step::Sent | Step::Asked => Some(false),
            Step::Planned => None,
            Step::Told | Step::Applied | Step::Answered => Some(true),
        }
    }
}

/// What running holds, and whether a confirmed commit waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    value: u32,
    waits: bool,
}

/// Where the changes are that an operation makes running of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Candidate,
    PrivateCandidate,
    /// In the operation, which writes running itself.
    Direct,
}

/// A daemon with its engine and a session.
struct Round {
    daemon: Daemon,
    engine: Engine,
    session: Session,
}

impl Round {
    fn start(place: &Place, way: Way) -> Self {
        let mut engine = Engine::start(place);
        let module = place.path("example-knobs.yang");
        let mut arguments = vec!["--extra-module", module.to_str().unwrap()];
        arguments.extend((way == Way::Direct).then_some("--writable-running"));
        let daemon = place.start_with(&arguments);
        let mut session = match way {
            Way::Candidate | Way::Direct => daemon.client(),
            Way::PrivateCandidate => daemon.private_client(),
        };
        let Call::Attach(id, reply) = engine.call() else { panic!("an attach") };
        reply.send(Attached { revision: id.revision, needs_snapshot: true, nodes: vec![] }).unwrap();
        let Call::Snapshot { reply, .. } = engine.call() else { panic!("a snapshot") };
        reply.send(Ok(())).unwrap();
        while session.alarms().contains("<alarm>") {}
        Self { daemon, engine, session }
    }

    /// What came back. Nothing of it is half of a commit.
    fn found(&mut self) -> Found {
        let running = self.session.running();
        let value = text_of(&running, "one").map_or(0, |value| value.parse().unwrap());
        let twin = text_of(&running, "twin").map_or(0, |value| value.parse().unwrap());
        assert_eq!(twin, value, "half a commit: {running}");
        assert_eq!(
            running.matches("<item>").count() as u32,
            u32::from(value > 0) * 20,
            "half a commit: {running}"
        );
        assert_eq!(self.session.candidate(), running, "the candidate begins as running");
        // A commit of nobody's confirmed commit, which changes nothing, is in its way.
        let waits = match self.session.ask(COMMIT) {
            Answer::Ok => false,
            Answer::Errors(errors) if errors[0].tag == ErrorTag::InUse => true,
            other => panic!("{other:?}"),
        };
        Found { value, waits }
    }

    /// Brings an operation to a step and kills the daemon there.
    fn kill_at(mut self, operation: &str, step: Step) {
        let _unanswered = self.go(operation, step);
        self.daemon.kill();
    }

    /// Gives back what the engine has not answered: dropped, it would end the connection, and a commit does not wait
    /// for an engine that is gone.
    fn go(&mut self, operation: &str, step: Step) -> Option<Box<dyn Any>> {
        if matches!(step, Step::Before) {
            return None;
        }
        self.session.send(operation);
        if matches!(step, Step::Sent) {
            return None;
        }
        let Call::Prepare { reply: plan, .. } = self.engine.call() else { panic!("a prepare") };
        if matches!(step, Step::Asked) {
            return Some(Box::new(plan));
        }
        plan.send(Ok(vec![])).unwrap();
        if matches!(step, Step::Planned) {
            return None;
        }
        let Call::Apply(_, applied) = self.engine.call() else { panic!("an apply") };
        if matches!(step, Step::Told) {
            return Some(Box::new(applied));
        }
        applied.send(Ok(())).unwrap();
        if matches!(step, Step::Answered) {
            assert_eq!(self.session.receive(), Some(Answer::Ok), "{operation}");
        }
        None
    }
}

/// An edit of the candidate after which all of it carries `value`.
fn edit_all(value: u32) -> String {
    let items: String =
        (0..20).map(|n| format!("<item><name>i{n}</name><size>{value}</size></item>")).collect();
    edit(&format!("<one>{value}</one>{items}<twin>{value}</twin>"))
}

/// So many times each step: over the tests here, a daemon is killed at a step two hundred and ten times.
const TIMES: u32 = 5;

/// Kills a daemon at each step of `operation`, which follows `first`, and checks what comes back. `wanted` says it
/// from the value before the edit, the value of the edit and whether the operation was decided.
fn kill_at_each_step(
    way: Way,
    first: Option<&str>,
    operation: &str,
    wanted: impl Fn(u32, u32, bool) -> Found,
) {
    let place = Place::new();
    let mut round = Round::start(&place, way);
    let mut value = 0;
    for step in (0..TIMES).flat_map(|_| STEPS) {
        let (before, next) = (value, value + 1);
        let operation = match way {
            Way::Candidate | Way::PrivateCandidate => {
                round.session.ok(&edit_all(next));
                operation.to_owned()
            }
            Way::Direct => edit_all(next).replace("candidate", "running"),
        };
        if let Some(first) = first {
            round.go(first, Step::Answered);
        }
        round.kill_at(&operation, step);
        round = Round::start(&place, way);
        let found = round.found();
        let allowed: Vec<Found> = match step.decided() {
            Some(decided) => vec![wanted(before, next, decided)],
            None => vec![wanted(before, next, false), wanted(before, next, true)],
        };
        assert!(allowed.contains(&found), "{found:?} after {step:?}, {allowed:?} expected");
        if found.waits {
            round.session.ok(CONFIRM);
        }
        value = found.value;
    }
}

#[test]
fn a_commit_is_there_from_its_record_on_and_not_before() {
    kill_at_each_step(Way::Candidate, None, COMMIT, there_from_its_record_on);
}

#[test]
fn a_commit_of_a_private_candidate_is_there_from_its_record_on_and_not_before() {
    kill_at_each_step(Way::PrivateCandidate, None, COMMIT, there_from_its_record_on);
}

#[test]
fn an_edit_of_running_itself_is_there_from_its_record_on_and_not_before() {
    kill_at_each_step(Way::Direct, None, "", there_from_its_record_on);
}

fn there_from_its_record_on(before: u32, next: u32, decided: bool) -> Found {
    Found { value: if decided { next } else { before }, waits: false }
}

#[test]
fn a_confirmed_commit_of_a_lost_session_is_taken_back_at_whichever_step_it_was() {
    kill_at_each_step(Way::Candidate, None, CONFIRMED, |before, _, _| Found { value: before, waits: false });
}

#[test]
fn a_named_confirmed_commit_waits_from_its_record_on() {
    kill_at_each_step(Way::Candidate, None, NAMED, |before, next, decided| Found {
        value: if decided { next } else { before },
        waits: decided,
    });
}

#[test]
fn a_cancelled_commit_is_back_from_the_record_of_that_on_and_waits_before() {
    kill_at_each_step(Way::Candidate, Some(NAMED), CANCEL, |before, next, decided| Found {
        value: if decided { before } else { next },
        waits: !decided,
    });
}
