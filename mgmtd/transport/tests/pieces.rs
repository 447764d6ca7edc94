//! Replies whose data come in pieces, and peers that do not take them.

#![allow(clippy::unwrap_used)] // a failed set-up is a failed test

use cats_mgmtd_netconf::{CloseReason, DataOf, Limits, NoModules, Refusals, Rpc, Session, Settings};
use cats_mgmtd_transport::{Admission, LocalListener, Respond, Response, SessionLimits, serve};
use std::io::Write;
use std::os::unix::net::UnixStream;
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

#[tokio::test(flavor = "multi_thread")]
async fn pieces_are_made_as_the_peer_takes_them_and_a_kill_ends_that() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("netconf.sock");
    let listener = LocalListener::bind(&path, Admission::new(SessionLimits::default())).unwrap();
    let (accepted, mut connections) = mpsc::channel(1);
    let listening = tokio::spawn(listener.run(accepted));
    let mut peer = UnixStream::connect(&path).unwrap();
    let base = "urn:ietf:params:xml:ns:netconf:base:1.0";
    let capability = "<capability>urn:ietf:params:netconf:base:1.0</capability>";
    let hello = format!("<hello xmlns=\"{base}\"><capabilities>{capability}</capabilities></hello>]]>]]>");
    peer.write_all(hello.as_bytes()).unwrap();
    peer.write_all(format!("<rpc xmlns=\"{base}\" message-id=\"1\"><get/></rpc>]]>]]>").as_bytes()).unwrap();
    let connection = connections.recv().await.unwrap();
    let settings = Settings { session_id: 1, capabilities: Vec::new(), limits: Limits::default() };
    let (made, mut pieces) = watch::channel(0);
    let (kill, killed) = oneshot::channel();
    let session = Session::new(settings, Instant::now());
    let serving = tokio::spawn(serve(connection, session, &NoModules, Long { made }, killed));
    tokio::time::timeout(PATIENCE, pieces.wait_for(|made| *made >= 5)).await.unwrap().unwrap();
    kill.send(CloseReason::Killed { by: 2 }).unwrap();
    let reason = tokio::time::timeout(PATIENCE, serving).await.unwrap().unwrap();
    assert_eq!(reason, CloseReason::Killed { by: 2 });
    let made = *pieces.borrow();
    assert!(made < ALL / 10, "{made} pieces were made for a peer that reads nothing");
    listening.abort();
    drop(peer);
}
