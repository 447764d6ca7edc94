//! What a session holds of messages that are not requests yet, and how it is made to hold less.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

use cats_mgmtd_netconf::{Limits, NoModules, Operation, Output, Reply, Session, Settings};
use std::time::Instant;

const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

struct Server {
    session: Session,
    now: Instant,
    sent: String,
    requests: Vec<Operation>,
}

impl Server {
    fn open(at_once: usize) -> Self {
        let now = Instant::now();
        let limits = Limits { at_once, ..Limits::default() };
        let session = Session::new(Settings { session_id: 1, capabilities: Vec::new(), limits }, now);
        let mut server = Self { session, now, sent: String::new(), requests: Vec::new() };
        server.feed(&format!(
            "<hello xmlns=\"{BASE}\"><capabilities><capability>urn:ietf:params:netconf:base:1.1</capability>\
             </capabilities></hello>]]>]]>"
        ));
        server
    }

    fn feed(&mut self, text: &str) {
        self.session.handle_bytes(text.as_bytes(), self.now);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Send(bytes) => self.sent.push_str(std::str::from_utf8(&bytes).unwrap()),
                Output::Request(rpc) => self.requests.push(rpc.operation),
                Output::Closed(reason) => panic!("{reason}"),
            }
        }
    }

    fn reply(&mut self) {
        self.session.reply(Reply::Ok, &NoModules, self.now);
        self.drain();
    }
}

fn rpc(id: u32, operation: &str) -> String {
    format!("<rpc xmlns=\"{BASE}\" message-id=\"{id}\">{operation}</rpc>")
}

fn chunked(text: &str) -> String {
    format!("\n#{}\n{text}\n##\n", text.len())
}

fn big(id: u32) -> String {
    let comment = "x".repeat(1 << 20);
    rpc(
        id,
        &format!("<edit-config><target><candidate/></target><config><!--{comment}--></config></edit-config>"),
    )
}

#[test]
fn what_is_held_follows_what_came_and_is_not_twice_as_much() {
    let mut server = Server::open(usize::MAX);
    assert!(server.session.held() < 4096, "an idle session holds little: {}", server.session.held());
    let piece = "x".repeat(8192);
    server.feed(&format!("\n#4000000000\n<rpc xmlns=\"{BASE}\" message-id=\"1\"><!--"));
    for pieces in 1..1000 {
        server.feed(&piece);
        let (held, came) = (server.session.held(), pieces * piece.len());
        assert!(held >= came && held < came + came / 7 + 65_536, "{held} for {came}");
    }
}

#[test]
fn a_message_that_is_given_up_is_answered_when_it_ends_and_the_next_one_is_served() {
    let mut server = Server::open(usize::MAX);
    let message = chunked(&big(7));
    let (begin, end) = message.split_at(600_000);
    server.feed(begin);
    server.session.discard();
    assert!(server.session.held() <= 8192, "{}", server.session.held());
    server.feed(end);
    assert!(server.session.held() <= 8192, "{}", server.session.held());
    assert!(server.requests.is_empty());
    assert!(
        server.sent.contains("message-id=\"7\"") && server.sent.contains("resource-denied"),
        "{}",
        server.sent
    );
    server.feed(&chunked(&rpc(8, "<discard-changes/>")));
    assert_eq!(server.requests, [Operation::DiscardChanges]);
}

#[test]
fn between_messages_nothing_is_given_up() {
    let mut server = Server::open(usize::MAX);
    server.session.discard();
    server.feed(&chunked(&rpc(1, "<discard-changes/>")));
    assert_eq!(server.requests, [Operation::DiscardChanges]);
}

#[test]
fn a_big_message_waits_until_it_may_proceed_and_what_comes_behind_it_waits_too() {
    let mut server = Server::open(1000);
    server.feed(&format!(
        "{}{}{}",
        chunked(&big(1)),
        chunked(&rpc(2, "<discard-changes/>")),
        chunked(&big(3))
    ));
    assert!(server.session.is_pending() && server.requests.is_empty());
    assert!(server.session.held() > 1 << 20);
    assert_eq!(server.session.poll_timeout(), None, "it is not idle");
    server.session.proceed();
    server.drain();
    assert!(matches!(server.requests[..], [Operation::EditConfig { .. }]) && !server.session.is_pending());
    server.reply();
    assert_eq!(server.requests.len(), 2);
    server.reply();
    assert!(server.session.is_pending());
    server.session.proceed();
    server.drain();
    assert_eq!(server.requests.len(), 3);
}

#[test]
fn a_big_filter_is_refused_before_it_takes_a_turn_and_a_big_configuration_is_not() {
    let mut server = Server::open(1000);
    let entries = "<item><name>x</name><size/></item>".repeat(40_000);
    let source = "<source><running/></source>";
    let asked = format!("<get-config>{source}<filter><knobs>{entries}</knobs></filter></get-config>");
    server.feed(&chunked(&rpc(1, &asked)));
    assert!(!server.session.is_pending() && server.requests.is_empty());
    assert!(server.sent.contains("message-id=\"1\"") && server.sent.contains("too-big"), "{}", server.sent);
    let config = format!("<config><knobs>{entries}</knobs></config>");
    server.feed(&chunked(&rpc(
        2,
        &format!("<edit-config><target><candidate/></target>{config}</edit-config>"),
    )));
    assert!(server.session.is_pending());
}

#[test]
fn what_waits_is_carried_out_when_the_peer_has_said_all() {
    let mut server = Server::open(1000);
    server.feed(&chunked(&big(1)));
    server.session.handle_eof();
    server.drain();
    server.session.proceed();
    server.drain();
    assert!(matches!(server.requests[..], [Operation::EditConfig { .. }]));
}

const SHORT: &str = "x]]>]]>";

fn open_10() -> Session {
    let settings = Settings { session_id: 1, capabilities: Vec::new(), limits: Limits::default() };
    let mut session = Session::new(settings, Instant::now());
    let hello = format!(
        "<hello xmlns=\"{BASE}\"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability>\
         </capabilities></hello>]]>]]>"
    );
    session.handle_bytes(hello.as_bytes(), Instant::now());
    while session.poll_output().is_some() {}
    session
}

/// An answer is fifty times as long as what it refuses.
#[test]
fn what_is_refused_waits_until_the_answers_before_it_are_taken() {
    const MANY: usize = 20_000;
    let mut session = open_10();
    let came = SHORT.repeat(MANY);
    for piece in came.as_bytes().chunks(8192) {
        session.handle_bytes(piece, Instant::now());
        assert!(session.held() < 2 * came.len() + (128 << 10), "{} for {}", session.held(), came.len());
    }
    assert!(session.backlog() > came.len() / 2, "it waits as it came");
    let mut sent = String::new();
    while let Some(output) = session.poll_output() {
        let Output::Send(bytes) = output else { panic!("{output:?}") };
        sent.push_str(std::str::from_utf8(&bytes).unwrap());
    }
    assert_eq!((sent.matches("</rpc-reply>").count(), session.backlog()), (MANY, 0));
    assert_eq!(session.refused().bad_rpcs, u32::try_from(MANY).unwrap());
    assert!(session.held() < came.len() * 2, "{}", session.held());
}

#[test]
fn answers_that_were_not_taken_yet_are_all_there_at_the_end() {
    const MANY: usize = 2_000;
    let mut session = open_10();
    session.handle_bytes(SHORT.repeat(MANY).as_bytes(), Instant::now());
    session.handle_eof();
    let mut sent = 0;
    let last = loop {
        match session.poll_output() {
            Some(Output::Send(_)) => sent += 1,
            other => break other,
        }
    };
    assert_eq!(sent, MANY);
    assert_eq!(last, Some(Output::Closed(cats_mgmtd_netconf::CloseReason::Dropped)));
}

/// What a request is refused with quotes it, and the reply repeats its attributes.
#[test]
fn the_answer_to_a_big_message_is_small() {
    let long = "n".repeat(1 << 20);
    let messages = [
        rpc(7, &format!("<{long}/>")),
        rpc(7, &format!("<get><{long}/></get>")),
        rpc(7, &format!("<kill-session><session-id>{long}</session-id></kill-session>")),
        rpc(7, &format!("<frob xmlns=\"{BASE}\" {long}=\"1\"/>")),
        rpc(7, "<get/>").replace("message-id", &format!("{long}=\"1\" message-id")),
        rpc(7, "<get/>").replace("message-id", &format!("xmlns:a=\"{long}\" message-id")),
    ];
    for message in messages {
        let mut server = Server::open(usize::MAX);
        server.feed(&chunked(&message));
        assert!(server.requests.is_empty());
        assert!(server.sent.contains("message-id=\"7\"") && server.sent.contains("</rpc-reply>"));
        assert!(server.sent.len() < 20_000, "{} bytes", server.sent.len());
    }
}
