//! A session of the server, and what it says.

#![allow(dead_code, missing_docs, unreachable_pub)] // each test program uses a part
#![allow(clippy::unwrap_used, clippy::panic)] // a test fails by panicking

use cats_mgmtd_netconf::{Answer, CloseReason, Limits, Modules, Output, Reply, Rpc, Session, Settings};
use std::time::Instant;

pub const HELLO_10: &str = "<hello xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><capabilities>\
    <capability>urn:ietf:params:netconf:base:1.0</capability></capabilities></hello>]]>]]>";
pub const HELLO_11: &str = "<hello xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><capabilities>\
    <capability> urn:ietf:params:netconf:base:1.1 </capability></capabilities></hello>]]>]]>";
pub const BASE: &str = "xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"";

/// A server session and what it has said.
pub struct Server {
    pub session: Session,
    pub now: Instant,
    pub sent: Vec<u8>,
    pub requests: Vec<Rpc>,
    pub closed: Option<CloseReason>,
}

impl Server {
    pub fn new() -> Self {
        Self::with(Limits::default())
    }

    pub fn with(limits: Limits) -> Self {
        let settings = Settings { session_id: 7, capabilities: vec!["urn:example:cap".to_owned()], limits };
        let now = Instant::now();
        let mut server = Self {
            session: Session::new(settings, now),
            now,
            sent: Vec::new(),
            requests: Vec::new(),
            closed: None,
        };
        server.drain();
        server.sent.clear();
        server
    }

    /// A session in which the client's hello was accepted.
    pub fn open(hello: &str) -> Self {
        let mut server = Self::new();
        server.feed(hello);
        assert_eq!(server.closed, None);
        server
    }

    pub fn feed(&mut self, text: impl AsRef<[u8]>) {
        self.session.handle_bytes(text.as_ref(), self.now);
        self.drain();
    }

    pub fn reply(&mut self, reply: Reply) {
        self.session.reply(reply, &Bench, self.now);
        self.drain();
    }

    pub fn drain(&mut self) {
        while let Some(output) = self.session.poll_output() {
            assert_eq!(self.closed, None, "nothing follows the end");
            match output {
                Output::Send(bytes) => self.sent.extend(bytes),
                Output::Request(rpc) => self.requests.push(rpc),
                Output::Closed(reason) => self.closed = Some(reason),
            }
        }
    }

    pub fn sent(&mut self) -> String {
        String::from_utf8(std::mem::take(&mut self.sent)).unwrap()
    }
}

pub struct Bench;

impl Modules for Bench {
    fn by_name(&self, name: &str) -> Option<(&str, &str)> {
        (name == "probe-bench").then_some(("pb", "urn:probe:bench"))
    }

    fn by_namespace(&self, namespace: &str) -> Option<&str> {
        (namespace == "urn:probe:bench").then_some("probe-bench")
    }
}

pub fn chunk(text: &str) -> String {
    format!("\n#{}\n{text}\n##\n", text.len())
}

pub fn rpc(content: &str) -> String {
    chunk(&format!("<rpc {BASE} message-id=\"1\">{content}</rpc>"))
}

pub fn answer_in(wire: &str) -> Answer {
    let (_, rest) = wire.split_once("\n#").unwrap();
    let (size, rest) = rest.split_once('\n').unwrap();
    let (xml, end) = rest.split_at(size.parse().unwrap());
    assert!(end.starts_with("\n##\n"), "{end:?}");
    cats_mgmtd_netconf::RawReply { message_id: None, xml: xml.to_owned() }.answer(&Bench).unwrap()
}
