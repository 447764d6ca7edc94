//! The daemon with the engine's end of `engine.sock` beside it.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_engine_transport::management::{Attached, Call, Change, Edit, Fault, StatePage};
use cats_engine_types::Revision;
use cats_mgmtd_netconf::Answer;
use cats_yang_tree::error::ErrorTag;
use daemon::engine::Engine;
use daemon::{Daemon, NS, Place, edit, text_of};

/// A daemon at revision 1 whose engine holds that revision.
fn pair() -> (Place, Daemon, Engine) {
    let place = Place::new();
    let daemon = place.start();
    daemon.client().commit("<one>1</one>");
    let mut engine = Engine::start(&place);
    engine.attached(1, true);
    let document = engine.loaded(1);
    assert_eq!(document, "{\"example-knobs:knobs\":{\"one\":1}}");
    (place, daemon, engine)
}

/// Commits with one session while the test plays the engine.
fn committing(daemon: &Daemon, content: &str) -> daemon::Session {
    let mut session = daemon.client();
    session.ok(&edit(content));
    session.send("<commit/>");
    session
}

#[test]
fn a_commit_is_prepared_then_applied_in_words_that_the_engine_reads() {
    let (_place, daemon, mut engine) = pair();
    let mut session =
        committing(&daemon, "<one nc:operation=\"delete\"/><item><name>a</name><size>2</size></item>");
    let changes = engine.prepared(2, Ok(vec!["turn it".to_owned()]));
    engine.applied(2);
    assert_eq!(session.receive(), Some(Answer::Ok));
    let change = |path: &str, edit| Change { path: path.to_owned(), edit, after: None };
    let entry = Edit::Set("{\"name\":\"a\",\"size\":2}".to_owned());
    assert_eq!(
        changes,
        vec![
            change("/example-knobs:knobs/one", Edit::Delete),
            change("/example-knobs:knobs/item[name='a']", entry),
        ]
    );
}

#[test]
fn what_the_engine_refuses_reaches_the_client_and_changes_nothing() {
    let (_place, daemon, mut engine) = pair();
    let mut session = committing(&daemon, "<twin>5</twin>");
    let (running, fault) = (
        "one",
        Fault {
            path: "/example-knobs:knobs/twin".to_owned(),
            tag: "invalid-value".to_owned(),
            app_tag: Some("overlap".to_owned()),
            message: "it overlaps with 'one'".to_owned(),
        },
    );
    engine.prepared(2, Err(vec![fault]));
    let Some(Answer::Errors(errors)) = session.receive() else { panic!("errors") };
    assert_eq!((errors[0].tag, errors[0].app_tag.as_deref()), (ErrorTag::InvalidValue, Some("overlap")));
    assert_eq!(errors[0].message, "it overlaps with 'one'");
    assert!(errors[0].path.as_ref().is_some_and(|path| path.0.contains("twin")), "{:?}", errors[0]);
    assert_eq!(text_of(&session.running(), running), Some("1"));
    assert_eq!(text_of(&session.running(), "twin"), None);
    assert_eq!(text_of(&session.candidate(), "twin"), Some("5"), "the candidate is kept");
    // The next commit is the same revision again.
    session.send("<commit/>");
    engine.prepared(2, Ok(vec![]));
    engine.applied(2);
    assert_eq!(session.receive(), Some(Answer::Ok));
}

#[test]
fn an_engine_that_goes_and_comes_back_is_brought_up_to_date() {
    let (place, daemon, engine) = pair();
    drop(engine);
    // Whether the daemon has seen it go or not, the commit does not hang on it.
    daemon.client().commit("<one>2</one>");
    let mut engine = Engine::start(&place);
    engine.attached(2, true);
    assert_eq!(engine.loaded(2), "{\"example-knobs:knobs\":{\"one\":2}}");
    // One that has kept the revision gets no snapshot of it, only what comes next: as a change, or whole when the
    // commit was faster than the attach.
    drop(engine);
    let mut engine = Engine::start(&place);
    engine.attached(2, false);
    let mut session = committing(&daemon, "<one>3</one>");
    match engine.call() {
        Call::Prepare { revision: Revision(3), base: Revision(2), reply, .. } => {
            reply.send(Ok(vec![])).unwrap();
            engine.applied(3);
        }
        Call::Snapshot { id, reply, .. } => {
            assert_eq!(id.revision, Revision(3));
            reply.send(Ok(())).unwrap();
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(session.receive(), Some(Answer::Ok));
}

#[test]
fn state_is_asked_of_the_engine_page_by_page_and_shown_with_the_configuration() {
    let (_place, daemon, mut engine) = pair();
    let mut session = daemon.client();
    session.send(&format!("<get><filter><knobs xmlns=\"{NS}\"/></filter></get>"));
    for (asked, json, next) in [
        (None, "{\"example-knobs:knobs\":{\"seen\":7}}", Some("p2")),
        (Some("p2"), "{\"example-knobs:knobs\":{\"turned\":[{\"by\":\"ada\"},{\"by\":\"bob\"}]}}", None),
    ] {
        let Call::State { paths, page, reply, .. } = engine.call() else { panic!("a question") };
        assert_eq!((paths, page.as_deref()), (vec!["/example-knobs:knobs".to_owned()], asked));
        let page = StatePage { json: json.as_bytes().to_vec(), next: next.map(str::to_owned) };
        reply.send(Ok(page)).unwrap();
    }
    let Some(Answer::Data(xml)) = session.receive() else { panic!("data") };
    let xml = xml.into_string();
    assert_eq!((text_of(&xml, "one"), text_of(&xml, "seen")), (Some("1"), Some("7")));
    assert!(xml.contains("<turned><by>ada</by></turned><turned><by>bob</by></turned>"), "{xml}");
    assert_eq!(text_of(&session.running(), "seen"), None, "get-config has no state");
}

#[test]
fn an_engine_that_refuses_its_snapshot_is_an_alarm_until_it_takes_one() {
    let place = Place::new();
    let daemon = place.start();
    let mut engine = Engine::start(&place);
    engine.attached(0, true);
    let Call::Snapshot { reply, .. } = engine.call() else { panic!("a snapshot") };
    let fault = Fault {
        path: String::new(),
        tag: "operation-failed".to_owned(),
        app_tag: None,
        message: "no such table".to_owned(),
    };
    reply.send(Err(vec![fault])).unwrap();
    let mut session = daemon.client();
    let until = |session: &mut daemon::Session, wanted: Option<&str>| {
        // Each look is a round trip through the daemon, so the bound is one of work, not of time.
        let as_wanted = |found: &Option<String>| match (found, wanted) {
            (Some(text), Some(words)) => text.contains(words),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let mut alarm = || text_of(&session.alarms(), "alarm-text").map(str::to_owned);
        let found = (0..10_000).map(|_| alarm()).find(as_wanted);
        assert!(found.is_some(), "never {wanted:?}, but {:?}", alarm());
    };
    until(&mut session, Some("no such table"));
    session.ok(&edit("<one>1</one>"));
    session.ok("<commit/>");
    engine.loaded(1);
    until(&mut session, None);
}

#[test]
fn alarms_of_the_engine_stand_beside_our_own() {
    let place = Place::new();
    let daemon = place.start();
    let mut engine = Engine::start(&place);
    engine.attached(0, true);
    let Call::Snapshot { reply, .. } = engine.call() else { panic!("a snapshot") };
    let message = "no such table".to_owned();
    let fault = Fault { path: String::new(), tag: "operation-failed".to_owned(), app_tag: None, message };
    reply.send(Err(vec![fault])).unwrap();
    let alarm = |name: &str, text: &str| {
        format!(
            "{{\"resource\":\"{name}\",\"alarm-type-id\":\"cats-alarms:agent-silent\",\"alarm-type-qualifier\":\"\",\
             \"time-created\":\"2026-11-30T08:00:00Z\",\"last-raised\":\"2026-11-30T08:00:00Z\",\
             \"last-changed\":\"2026-11-30T08:00:00Z\",\"is-cleared\":false,\"perceived-severity\":\"major\",\
             \"alarm-text\":\"{text}\"}}"
        )
    };
    let document = |alarms: &[String]| {
        format!("{{\"ietf-alarms:alarms\":{{\"alarm-list\":{{\"alarm\":[{}]}}}}}}", alarms.join(","))
    };
    let list = "/ietf-alarms:alarms/alarm-list";
    let (a, b) = (alarm("A", "A is not heard"), alarm("B", "B is not heard"));
    let mut session = daemon.client();
    engine.pushes(&[], &document(&[a, b.clone()]), &[list]);
    let until = |session: &mut daemon::Session, wanted: &[&str]| {
        let told = |xml: &String| {
            xml.matches("<alarm>").count() == wanted.len() && wanted.iter().all(|words| xml.contains(words))
        };
        let found = (0..10_000).map(|_| session.alarms()).find(told);
        assert!(found.is_some(), "never {wanted:?}, but {}", session.alarms());
    };
    until(&mut session, &["A is not heard", "B is not heard", "no such table"]);
    engine.pushes(&[list], &document(&[b]), &[]);
    until(&mut session, &["B is not heard", "no such table"]);
    let all = session
        .data("<get><filter><alarms xmlns=\"urn:ietf:params:xml:ns:yang:ietf-alarms\"/></filter></get>");
    assert!(all.contains("<perceived-severity>cleared</perceived-severity>"), "its history: {all}");
}

const ROUTING: &str = "urn:ietf:params:xml:ns:yang:ietf-routing";
const CATS: &str = "urn:ietf:params:xml:ns:yang:ietf-cats";

#[test]
fn state_that_the_engine_cannot_give_is_an_error() {
    let (_place, daemon, mut engine) = pair();
    let mut session = daemon.client();
    session.send(&format!("<get><filter><knobs xmlns=\"{NS}\"/></filter></get>"));
    let Call::State { reply, .. } = engine.call() else { panic!("a question") };
    reply.send(Err("no such table".to_owned())).unwrap();
    let Some(Answer::Errors(errors)) = session.receive() else { panic!("errors") };
    assert!(errors[0].message.contains("no such table"), "{:?}", errors[0]);
}

#[test]
fn an_engine_that_does_not_answer_a_commit_is_lost_and_gets_a_snapshot_when_it_is_back() {
    let (_place, daemon, mut engine) = pair();
    let mut session = committing(&daemon, "<one>2</one>");
    let Call::Prepare { reply, .. } = engine.call() else { panic!("a prepare") };
    assert_eq!(session.receive(), Some(Answer::Ok), "it goes on without the engine");
    session.commit("<one>3</one>");
    drop(reply);
    loop {
        match engine.call() {
            Call::Detach => {}
            Call::Attach(id, reply) => {
                let answer = Attached { revision: Revision(1), needs_snapshot: true, nodes: vec![] };
                // An attach that was given up meanwhile takes no answer.
                if reply.send(answer).is_ok() && id.revision == Revision(3) {
                    break;
                }
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(engine.loaded(3), "{\"example-knobs:knobs\":{\"one\":3}}");
}

#[test]
fn a_read_that_the_engine_does_not_answer_shows_what_is_there_and_the_alarm() {
    let (_place, daemon, mut engine) = pair();
    let mut session = daemon.client();
    session.send("<get/>");
    let Call::State { reply, .. } = engine.call() else { panic!("a question") };
    let Some(Answer::Data(xml)) = session.receive() else { panic!("data") };
    let xml = xml.into_string();
    assert_eq!(text_of(&xml, "one"), Some("1"));
    assert!(text_of(&xml, "alarm-text").is_some_and(|text| text.contains("does not answer")), "{xml}");
    drop(reply);
}
