//! Replies whose data come in pieces, peers that do not take them, and replies that wait for each other.

#![allow(clippy::unwrap_used)] // a failed set-up is a failed test

use cats_mgmtd_netconf::{CloseReason, DataOf, Limits, NoModules, Refusals, Reply, Rpc, Session, Settings};
use cats_mgmtd_transport::{
    Admission, Connection, LocalListener, Rank, Respond, Response, SessionLimits, Silent, serve,
};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, watch};

/// Nothing here takes longer, short of a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pieces of a reply.
const ALL: usize = 20_000;

struct Long {
    /// The pieces that were made.
    made: watch::Sender<usize>,
}

impl Respond for Long {
    async fn greeted(&mut self, _hello: cats_mgmtd_netconf::Hello) {}

    async fn respond(&mut self, _rpc: Rpc) -> Response {
        let made = self.made.clone();
        let piece = move |_| {
            made.send_modify(|made| *made += 1);
            "<x xmlns=\"urn:x\"/>".repeat(600)
        };
        Response::Data { of: DataOf::Base, pieces: Box::new((0..ALL).map(piece)) }
    }

    async fn refused(&mut self, _more: Refusals) {}
}

/// Answers the first request at once and no other.
struct Once {
    asked: usize,
}

impl Respond for Once {
    async fn greeted(&mut self, _hello: cats_mgmtd_netconf::Hello) {}

    async fn respond(&mut self, _rpc: Rpc) -> Response {
        self.asked += 1;
        if self.asked > 1 {
            std::future::pending::<()>().await;
        }
        Reply::Ok.into()
    }

    async fn refused(&mut self, _more: Refusals) {}
}

/// Answers nothing, and says that it was asked.
struct Never {
    asked: watch::Sender<usize>,
}

impl Respond for Never {
    async fn greeted(&mut self, _hello: cats_mgmtd_netconf::Hello) {}

    async fn respond(&mut self, _rpc: Rpc) -> Response {
        self.asked.send_modify(|asked| *asked += 1);
        std::future::pending().await
    }

    async fn refused(&mut self, _more: Refusals) {}
}

const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

/// A peer that has sent its hello and so many requests, and the connection that was accepted from it.
async fn peer(requests: usize) -> (UnixStream, Connection, tempfile::TempDir) {
    peer_among(Admission::new(SessionLimits::default()), requests).await
}

async fn peer_among(
    admission: Arc<Admission>,
    requests: usize,
) -> (UnixStream, Connection, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("netconf.sock");
    let listener = LocalListener::bind(&path, admission).unwrap();
    let (accepted, mut connections) = mpsc::channel(1);
    let listening = tokio::spawn(listener.run(accepted));
    let mut peer = UnixStream::connect(&path).unwrap();
    let capability = "<capability>urn:ietf:params:netconf:base:1.0</capability>";
    let hello = format!("<hello xmlns=\"{BASE}\"><capabilities>{capability}</capabilities></hello>]]>]]>");
    let request = |id| format!("<rpc xmlns=\"{BASE}\" message-id=\"{id}\"><get/></rpc>]]>]]>");
    let requests: String = (1..=requests).map(request).collect();
    peer.write_all((hello + &requests).as_bytes()).unwrap();
    let connection = connections.recv().await.unwrap();
    listening.abort();
    (peer, connection, dir)
}

fn session() -> Session {
    session_with(Limits::default())
}

fn session_with(limits: Limits) -> Session {
    let settings = Settings { session_id: 1, capabilities: Vec::new(), limits };
    Session::new(settings, Instant::now())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_does_not_wait_for_a_request_behind_it_that_takes_its_time() {
    let (mut peer, connection, _dir) = peer(2).await;
    let (kill, killed) = oneshot::channel();
    let serving = tokio::spawn(serve(connection, session(), &NoModules, (Once { asked: 0 }, Silent), killed));
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    let read = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        let mut buffer = [0; 4096];
        while !text.contains("</rpc-reply>") {
            let count = peer.read(&mut buffer).unwrap();
            assert!(count > 0, "the server has closed after {text}");
            text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
        (text, peer)
    });
    let (text, peer) = read.await.unwrap();
    assert!(text.contains("message-id=\"1\"") && text.contains("<ok/>"), "{text}");
    kill.send(CloseReason::Killed { by: 2 }).unwrap();
    let reason = tokio::time::timeout(PATIENCE, serving).await.unwrap().unwrap();
    assert_eq!(reason, CloseReason::Killed { by: 2 });
    drop(peer);
}

#[tokio::test(flavor = "multi_thread")]
async fn pieces_are_made_as_the_peer_takes_them_and_a_kill_ends_that() {
    let (peer, connection, _dir) = peer(1).await;
    let (made, mut pieces) = watch::channel(0);
    let (kill, killed) = oneshot::channel();
    let serving = tokio::spawn(serve(connection, session(), &NoModules, (Long { made }, Silent), killed));
    tokio::time::timeout(PATIENCE, pieces.wait_for(|made| *made >= 5)).await.unwrap().unwrap();
    kill.send(CloseReason::Killed { by: 2 }).unwrap();
    let reason = tokio::time::timeout(PATIENCE, serving).await.unwrap().unwrap();
    assert_eq!(reason, CloseReason::Killed { by: 2 });
    let made = *pieces.borrow();
    assert!(made < ALL / 10, "{made} pieces were made for a peer that reads nothing");
    drop(peer);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_session_does_not_wait_while_the_big_message_of_another_is_carried_out() {
    let admission = Admission::new(SessionLimits::default());
    // Each request is a big one.
    let big = Limits { at_once: 0, ..Limits::default() };
    let (asked, mut seen) = watch::channel(0);
    let mut kept = Vec::new();
    for rank in [Rank::Ordinary, Rank::Ordinary, Rank::Recovery] {
        let (peer, mut connection, dir) = peer_among(Arc::clone(&admission), 1).await;
        connection.rank = rank;
        let (kill, killed) = oneshot::channel();
        let never = Never { asked: asked.clone() };
        let serving = tokio::spawn(serve(connection, session_with(big), &NoModules, (never, Silent), killed));
        kept.push((peer, dir, kill, serving));
    }
    tokio::time::timeout(PATIENCE, seen.wait_for(|asked| *asked == 2)).await.unwrap().unwrap();
    // The other ordinary session gets its turn when the first one ends.
    let (_peer, _dir, kill, serving) = kept.remove(0);
    kill.send(CloseReason::Killed { by: 9 }).unwrap();
    tokio::time::timeout(PATIENCE, serving).await.unwrap().unwrap();
    let killed_or_next = tokio::time::timeout(PATIENCE, seen.wait_for(|asked| *asked == 3));
    killed_or_next.await.unwrap().unwrap();
}
