//! Operations that the engine carries out, with the engine's end of `engine.sock` beside the daemon.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_engine_transport::management::{Call, Fault};
use cats_mgmtd_netconf::Answer;
use cats_yang_tree::error::ErrorTag;
use daemon::engine::Engine;
use daemon::{Daemon, NS, Place, Session, edit, text_of};

const YANG: &str = "urn:ietf:params:xml:ns:yang:1";

/// A daemon with one item, at revision 1, which its engine holds.
fn pair() -> (Place, Daemon, Engine) {
    let place = Place::new();
    let daemon = place.start();
    daemon.client().commit("<item><name>a</name></item>");
    let mut engine = Engine::start(&place);
    engine.attached(1, true);
    engine.loaded(1);
    (place, daemon, engine)
}

fn turn(parameters: &str) -> String {
    format!("<turn xmlns=\"{NS}\">{parameters}</turn>")
}

fn reset(item: &str) -> String {
    format!(
        "<action xmlns=\"{YANG}\"><knobs xmlns=\"{NS}\"><item><name>{item}</name><reset/></item></knobs></action>"
    )
}

fn now(answer: Option<Answer>) -> String {
    match answer {
        Some(Answer::Output(elements)) => {
            let xml: String = elements.into_iter().map(|element| element.into_string()).collect();
            assert!(xml.starts_with(&format!("<now xmlns=\"{NS}\"")), "{xml}");
            xml.split('>').nth(1).and_then(|rest| rest.split('<').next()).unwrap().to_owned()
        }
        other => panic!("{other:?}"),
    }
}

fn error(session: &mut Session) -> cats_yang_tree::error::Error {
    match session.receive() {
        Some(Answer::Errors(mut errors)) => errors.remove(0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_rpc_and_an_action_reach_the_engine_and_are_answered() {
    let (_place, daemon, mut engine) = pair();
    let mut session = daemon.client();
    session.send(&turn("<which>a</which>"));
    let (operation, input, reply) = engine.operation();
    assert_eq!(
        (operation.as_str(), input.as_str()),
        ("example-knobs:turn", r#"{"example-knobs:input":{"by":1,"which":"a"}}"#)
    );
    reply.send(Ok(br#"{"example-knobs:output":{"now":5}}"#.to_vec())).unwrap();
    assert_eq!(now(session.receive()), "5");

    session.send(&reset("a"));
    let (operation, input, reply) = engine.operation();
    assert_eq!(operation, "/example-knobs:knobs/item[name='a']/reset");
    assert_eq!(input, r#"{"example-knobs:input":{}}"#);
    reply.send(Ok(Vec::new())).unwrap();
    assert_eq!(session.receive(), Some(Answer::Ok), "without output it is ok");
}

#[test]
fn wrong_input_is_told_with_its_place_and_never_reaches_the_engine() {
    let (_place, daemon, mut engine) = pair();
    let mut session = daemon.client();
    for (operation, tag, path) in [
        (turn(""), ErrorTag::MissingElement, "/ek:turn/which"),
        (turn("<which>a</which><by>10</by>"), ErrorTag::InvalidValue, "/ek:turn/by"),
        (turn("<which>b</which>"), ErrorTag::DataMissing, "/ek:turn/which"),
        (turn("<which>a</which><how>so</how>"), ErrorTag::UnknownElement, "/ek:turn"),
        (reset("b"), ErrorTag::DataMissing, "/ek:knobs/item[name='b']"),
    ] {
        let error = session.refused(&operation);
        assert_eq!((error.tag, error.path.map(|path| path.0)), (tag, Some(path.to_owned())), "{operation}");
    }
    let unknown = session.refused(&format!("<spin xmlns=\"{NS}\"/>"));
    assert_eq!(unknown.tag, ErrorTag::OperationNotSupported);
    session.send(&turn("<which>a</which><by>9</by>"));
    assert!(engine.operation().1.contains("\"by\":9"), "it is the first that the engine hears of");
}

#[test]
fn pipelined_requests_are_answered_in_order_and_other_sessions_do_not_wait() {
    let (_place, daemon, mut engine) = pair();
    let mut session = daemon.client();
    session.send(&turn("<which>a</which>"));
    session.send(&daemon::get_config("running"));
    session.send(&turn("<which>a</which><by>2</by>"));
    let (_, _, first) = engine.operation();
    let mut other = daemon.client();
    assert_eq!(text_of(&other.running(), "name"), Some("a"));
    other.send(&turn("<which>a</which><by>3</by>"));
    let (_, input, reply) = engine.operation();
    assert!(input.contains("\"by\":3"), "the second of the first session waits for its first: {input}");
    reply.send(Ok(br#"{"example-knobs:output":{"now":3}}"#.to_vec())).unwrap();
    assert_eq!(now(other.receive()), "3");
    first.send(Ok(br#"{"example-knobs:output":{"now":1}}"#.to_vec())).unwrap();
    assert_eq!(now(session.receive()), "1");
    assert!(matches!(session.receive(), Some(Answer::Data(_))));
    let (_, _, second) = engine.operation();
    second.send(Ok(br#"{"example-knobs:output":{"now":2}}"#.to_vec())).unwrap();
    assert_eq!(now(session.receive()), "2");
}

#[test]
fn an_engine_that_goes_in_the_middle_is_an_error_and_the_session_goes_on() {
    let (place, daemon, mut engine) = pair();
    let mut session = daemon.client();
    session.send(&turn("<which>a</which>"));
    let unanswered = engine.operation();
    drop(engine);
    let lost = error(&mut session);
    assert_eq!(lost.tag, ErrorTag::OperationFailed);
    drop(unanswered);
    let absent = session.refused(&turn("<which>a</which>"));
    assert!(
        absent.tag == ErrorTag::OperationFailed && absent.message.contains("start cats-engined"),
        "{absent}"
    );
    let mut engine = Engine::start(&place);
    engine.attached(1, false);
    // Until the daemon has heard the answer to its attach, the operation is refused.
    let reply = (0..1_000).find_map(|_| {
        session.send(&turn("<which>a</which>"));
        // On a busy machine one may come that nobody waits for any more.
        let waited_for = |call: &Call| matches!(call, Call::Execute { reply, .. } if !reply.is_closed());
        match std::iter::from_fn(|| engine.try_call()).find(waited_for) {
            Some(Call::Execute { reply, .. }) => Some(reply),
            Some(_) | None => {
                assert_eq!(error(&mut session).tag, ErrorTag::OperationFailed);
                None
            }
        }
    });
    reply.unwrap().send(Ok(br#"{"example-knobs:output":{"now":8}}"#.to_vec())).unwrap();
    assert_eq!(now(session.receive()), "8");
}

#[test]
fn what_the_engine_refuses_is_told_and_what_it_must_not_say_is_not() {
    let (_place, daemon, mut engine) = pair();
    let mut session = daemon.client();
    let fault = Fault {
        path: "/example-knobs:turn/by".to_owned(),
        tag: "operation-not-supported".to_owned(),
        app_tag: Some("stuck".to_owned()),
        message: "it does not turn".to_owned(),
    };
    session.send(&turn("<which>a</which>"));
    engine.operation().2.send(Err(vec![fault])).unwrap();
    let refused = error(&mut session);
    assert_eq!((refused.tag, refused.app_tag.as_deref()), (ErrorTag::OperationNotSupported, Some("stuck")));
    assert_eq!(refused.path.unwrap().0, "/ek:turn/by");
    for output in
        [&br#"{"example-knobs:output":{}}"#[..], br#"{"example-knobs:output":{"now":-1}}"#, b"nonsense"]
    {
        session.send(&turn("<which>a</which>"));
        engine.operation().2.send(Ok(output.to_vec())).unwrap();
        let wrong = error(&mut session);
        assert_eq!(wrong.tag, ErrorTag::OperationFailed);
        assert!(wrong.message.contains("not what the schema says"), "{wrong}");
    }
    session.send(&turn("<which>a</which>"));
    engine.operation().2.send(Ok(vec![b' '; (4 << 20) + 1])).unwrap();
    assert_eq!(error(&mut session).tag, ErrorTag::TooBig);
}

#[test]
fn an_operation_sees_what_was_committed_before_it() {
    let (_place, daemon, mut engine) = pair();
    let mut session = daemon.client();
    session.ok(&edit("<item><name>b</name></item>"));
    session.send("<commit/>");
    engine.prepared(2, Ok(vec![]));
    let Call::Apply(_, applied) = engine.call() else { panic!("an apply") };
    // The commit is answered when it is durable, whether it is applied or not.
    assert_eq!(session.receive(), Some(Answer::Ok));
    session.send(&turn("<which>b</which>"));
    // A read is not held back, so what comes behind the operation shows that it is.
    let mut other = daemon.client();
    other.send(&format!("<get><filter><knobs xmlns=\"{NS}\"/></filter></get>"));
    let Call::State { reply, .. } = engine.call() else { panic!("a question") };
    reply.send(Err("no".to_owned())).unwrap();
    applied.send(Ok(())).unwrap();
    let (_, input, reply) = engine.operation();
    assert!(input.contains("\"which\":\"b\""), "{input}");
    reply.send(Ok(br#"{"example-knobs:output":{"now":1}}"#.to_vec())).unwrap();
    assert_eq!(now(session.receive()), "1");
}
