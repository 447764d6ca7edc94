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
    rpc(id, &format!("<lock><!--{}--><target><candidate/></target></lock>", "x".repeat(1 << 20)))
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
    assert!(matches!(server.requests[..], [Operation::Lock { .. }]) && !server.session.is_pending());
    server.reply();
    assert_eq!(server.requests.len(), 2);
    server.reply();
    assert!(server.session.is_pending());
    server.session.proceed();
    server.drain();
    assert_eq!(server.requests.len(), 3);
}

#[test]
fn what_waits_is_carried_out_when_the_peer_has_said_all() {
    let mut server = Server::open(1000);
    server.feed(&chunked(&big(1)));
    server.session.handle_eof();
    server.drain();
    server.session.proceed();
    server.drain();
    assert!(matches!(server.requests[..], [Operation::Lock { .. }]));
}
