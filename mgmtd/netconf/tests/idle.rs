//! When a session that asks nothing ends.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod server;

use cats_mgmtd_netconf::{CloseReason, Limits, Reply};
use server::{HELLO_10, HELLO_11, Server, chunk, rpc};
use std::time::Duration;

/// The case P65, as far as a session can: idle time is counted from the last message or answer, not during a request.
#[test]
fn an_idle_session_ends_in_time_but_not_while_a_request_is_in_progress() {
    let mut server = Server::with(Limits { idle: Some(Duration::from_secs(60)), ..Limits::default() });
    server.feed(HELLO_11);
    server.feed(rpc("<get/>"));
    assert_eq!(server.session.poll_timeout(), None);
    server.now += Duration::from_secs(600);
    server.reply(Reply::Ok);
    let due = server.now + Duration::from_secs(60);
    assert_eq!(server.session.poll_timeout(), Some((due, "idle")));
    server.session.handle_timeout(due);
    server.drain();
    assert_eq!(server.closed, Some(CloseReason::IdleTimeout));
}

/// The case P65: who only keeps bytes coming asks nothing.
#[test]
fn single_bytes_keep_no_session_open_and_a_message_that_goes_on_does() {
    const IDLE: Duration = Duration::from_secs(60);
    let open = || {
        let mut server = Server::with(Limits { idle: Some(IDLE), ..Limits::default() });
        server.feed(HELLO_11);
        server
    };
    let due = |server: &Server| server.session.poll_timeout().unwrap().0;
    // Blanks between messages, and a message of which a byte comes now and then.
    let mut server = Server::with(Limits { idle: Some(IDLE), ..Limits::default() });
    server.feed(HELLO_10);
    let first = due(&server);
    for _ in 0..10 {
        server.now += Duration::from_secs(50);
        server.feed("\n");
        assert_eq!(due(&server), first);
    }
    let mut server = open();
    server.now += Duration::from_secs(50);
    server.feed("\n#1000\n<");
    let begun = due(&server);
    assert_eq!(begun, server.now + IDLE, "a message that begins is asked");
    for _ in 0..10 {
        server.now += Duration::from_secs(50);
        server.feed("r");
        assert_eq!(due(&server), begun);
    }
    server.session.handle_timeout(begun);
    server.drain();
    assert_eq!(server.closed, Some(CloseReason::IdleTimeout));
    // A big message over a slow line.
    let mut server = open();
    server.feed("\n#10000000\n");
    for _ in 0..10 {
        server.now += Duration::from_secs(50);
        server.feed("x".repeat(64 << 10));
        assert_eq!(due(&server), server.now + IDLE);
    }
    // Messages that are refused are messages, and each counts from the next one's begin.
    let mut server = open();
    for _ in 0..3 {
        server.now += Duration::from_secs(50);
        server.feed(chunk("<x/>"));
        assert_eq!(due(&server), server.now + IDLE);
    }
}
