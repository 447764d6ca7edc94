//! What takes its time for one holds nobody else up: the engine's state, and what the engine is sent.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_engine_transport::management::{Call, StatePage};
use cats_mgmtd_netconf::Answer;
use daemon::engine::Engine;
use daemon::{Daemon, NS, Place, Session, edit, text_of};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Entries of a list.
const MANY: usize = 10_000;

/// Another session, which asks for little and at once again.
struct Other {
    stop: Arc<AtomicBool>,
    asking: JoinHandle<Vec<Instant>>,
}

impl Other {
    fn start(daemon: &Daemon) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut session = daemon.client();
        let stopped = Arc::clone(&stop);
        let little = format!("<filter><knobs xmlns=\"{NS}\"><one/></knobs></filter>");
        let ask = format!("<get-config><source><running/></source>{little}</get-config>");
        let asking = std::thread::spawn(move || {
            let mut answered = vec![Instant::now()];
            while !stopped.load(Ordering::Relaxed) {
                session.data(&ask);
                answered.push(Instant::now());
            }
            answered
        });
        Self { stop, asking }
    }

    /// The longest time without an answer between these moments.
    fn longest_wait(self, from: Instant, to: Instant) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        let mut moments = self.asking.join().unwrap();
        moments.retain(|moment| (from..=to).contains(moment));
        moments.insert(0, from);
        moments.push(to);
        moments.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap()
    }
}

/// A daemon with a configuration of many entries, and an engine that has not said yet what it holds.
fn pair() -> (Place, Daemon, Engine) {
    let place = Place::new();
    let daemon = place.start();
    let mut items = "<one>1</one>".to_owned();
    for n in 0..MANY {
        write!(items, "<item><name>i{n}</name><size>{}</size></item>", n + 1).unwrap();
    }
    daemon.client().commit(&items);
    let engine = Engine::start(&place);
    (place, daemon, engine)
}

#[test]
fn a_session_does_not_wait_for_the_state_that_another_one_asked_for() {
    let (_place, daemon, mut engine) = pair();
    engine.attached(1, true);
    engine.loaded(1);
    let other = Other::start(&daemon);
    let mut session = daemon.client();
    let mut json = "{\"example-knobs:knobs\":{\"seen\":7,\"turned\":[{\"by\":\"0\"}".to_owned();
    (1..MANY).for_each(|n| write!(json, ",{{\"by\":\"{n}\"}}").unwrap());
    json.push_str("]}}");
    let state = format!("<get><filter><knobs xmlns=\"{NS}\"><seen/></knobs></filter></get>");
    // The daemon has heard of the engine.
    while session.alarms().contains("<alarm>") {}
    session.send(&state);
    let Call::State { reply, .. } = engine.call() else { panic!("a question") };
    let begun = Instant::now();
    reply.send(Ok(StatePage { json: json.into_bytes(), next: None })).unwrap();
    let Some(Answer::Data(xml)) = session.receive() else { panic!("data") };
    let ended = Instant::now();
    assert_eq!(text_of(xml.as_str(), "seen"), Some("7"));
    let (wait, whole) = (other.longest_wait(begun, ended), ended - begun);
    assert!(wait < whole / 2, "another session waited for {wait:?} of {whole:?}");
}

#[test]
fn a_session_does_not_wait_for_the_configuration_that_the_engine_is_sent() {
    let (_place, daemon, mut engine) = pair();
    let other = Other::start(&daemon);
    engine.attached(1, true);
    let begun = Instant::now();
    let document = engine.loaded(1);
    let ended = Instant::now();
    assert_eq!(document.matches("\"name\":").count(), MANY);
    let (wait, whole) = (other.longest_wait(begun, ended), ended - begun);
    assert!(wait < whole / 2, "another session waited for {wait:?} of {whole:?}");
}

#[test]
fn a_commit_of_many_changes_reaches_the_engine_whole() {
    let (_place, daemon, mut engine) = pair();
    engine.attached(1, false);
    let mut session = daemon.client();
    let gone: String = (0..MANY).fold(String::new(), |mut all, n| {
        write!(all, "<item nc:operation=\"delete\"><name>i{n}</name></item>").unwrap();
        all
    });
    session.ok(&edit(&gone));
    session.send("<commit/>");
    assert_eq!(engine.prepared(2, Ok(vec![])).len(), MANY);
    engine.applied(2);
    assert_eq!(session.receive(), Some(Answer::Ok));
}
