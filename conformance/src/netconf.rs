//! A NETCONF 1.1 client over the local socket or any stream, written for the lab: it shares no code with the server
//! that it talks to, and sends what it is told to, right or wrong.

use crate::{LabError, Result};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
const END_OF_MESSAGE: &[u8] = b"]]>]]>";
const ANSWER_BOUND: Duration = Duration::from_secs(30);

/// A session after the exchange of hellos, with chunked framing.
#[derive(Debug)]
pub struct Session {
    stream: UnixStream,
    received: Vec<u8>,
    next_id: u32,
    /// The server's hello.
    pub hello: String,
}

impl Session {
    /// Connects to a socket and exchanges hellos.
    pub fn connect(socket: &Path) -> Result<Session> {
        let doing = || format!("connecting to {}", socket.display());
        Session::over(UnixStream::connect(socket).map_err(LabError::of(doing()))?, ANSWER_BOUND)
    }

    /// Exchanges hellos over a stream that leads to a server; each part of an answer may take `bound`.
    pub fn over(stream: UnixStream, bound: Duration) -> Result<Session> {
        Session::announcing(stream, bound, &[])
    }

    /// The same, of a client with further capabilities.
    pub fn announcing(stream: UnixStream, bound: Duration, capabilities: &[&str]) -> Result<Session> {
        stream.set_read_timeout(Some(bound)).map_err(LabError::of("bounding the wait for an answer"))?;
        let mut session = Session { stream, received: Vec::new(), next_id: 1, hello: String::new() };
        session.hello = session.read_until(END_OF_MESSAGE)?;
        let more: String = capabilities.iter().map(|uri| format!("<capability>{uri}</capability>")).collect();
        session.send_raw(
            format!(
                "<hello xmlns=\"{BASE}\"><capabilities><capability>urn:ietf:params:netconf:base:1.1</capability>\
                 {more}</capabilities></hello>]]>]]>"
            )
            .as_bytes(),
        )?;
        Ok(session)
    }

    /// The session-id in the server's hello.
    pub fn id(&self) -> Result<u32> {
        let text = self.hello.split_once("<session-id>").and_then(|(_, rest)| rest.split('<').next());
        text.unwrap_or_default().trim().parse().map_err(LabError::of("reading the session-id in the hello"))
    }

    /// Sends an operation and gives the whole reply, an error reply too.
    pub fn call(&mut self, operation: &str) -> Result<String> {
        self.send(operation)?;
        self.receive()
    }

    /// Sends an operation without waiting for its reply.
    pub fn send(&mut self, operation: &str) -> Result<()> {
        let id = self.next_id;
        self.next_id += 1;
        let rpc = format!("<rpc xmlns=\"{BASE}\" message-id=\"{id}\">{operation}</rpc>");
        self.send_raw(format!("\n#{}\n{rpc}\n##\n", rpc.len()).as_bytes())
    }

    /// Sends an operation; an error reply is an error with the reply's text.
    pub fn succeed(&mut self, operation: &str) -> Result<String> {
        let reply = self.call(operation)?;
        if reply.contains("<rpc-error") || reply.contains(":rpc-error") {
            return Err(LabError::new(operation.chars().take(200).collect::<String>(), reply));
        }
        Ok(reply)
    }

    /// Merges `config` into the candidate.
    pub fn edit_candidate(&mut self, config: &str) -> Result<()> {
        let edit = format!(
            "<edit-config><target><candidate/></target><error-option>rollback-on-error</error-option>\
             <config>{config}</config></edit-config>"
        );
        self.succeed(&edit).map(drop)
    }

    /// Commits the candidate.
    pub fn commit(&mut self) -> Result<()> {
        self.succeed("<commit/>").map(drop)
    }

    /// The running configuration under a subtree filter, as the reply's XML.
    pub fn running(&mut self, filter: &str) -> Result<String> {
        self.succeed(&format!(
            "<get-config><source><running/></source><filter type=\"subtree\">{filter}</filter></get-config>"
        ))
    }

    /// Configuration and state under a subtree filter, as the reply's XML.
    pub fn get(&mut self, filter: &str) -> Result<String> {
        self.succeed(&format!("<get><filter type=\"subtree\">{filter}</filter></get>"))
    }

    /// Ends the session in order.
    pub fn close(mut self) -> Result<()> {
        self.succeed("<close-session/>").map(drop)
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).map_err(LabError::of("sending to the NETCONF server"))
    }

    /// Receives one message in chunked framing.
    pub fn receive(&mut self) -> Result<String> {
        let mut message = Vec::new();
        loop {
            let head = self.take_line()?;
            if head == "#" {
                return String::from_utf8(message).map_err(LabError::of("decoding a NETCONF message"));
            }
            let size: usize =
                head.parse().map_err(LabError::of(format!("reading the chunk size {head:?}")))?;
            while self.received.len() < size {
                self.fill()?;
            }
            message.extend(self.received.drain(..size));
        }
    }

    /// Whether the server closes the connection within the bound, whatever it sends before.
    pub fn ends(&mut self) -> bool {
        loop {
            match self.fill() {
                Ok(()) => {}
                Err(error) => return error.why == "it closed the connection",
            }
        }
    }

    /// The rest of a chunk header after `\n#`.
    fn take_line(&mut self) -> Result<String> {
        while !(self.received.len() >= 3 && self.received.iter().skip(2).any(|byte| *byte == b'\n')) {
            self.fill()?;
        }
        if !self.received.starts_with(b"\n#") {
            return Err(LabError::new("reading a chunk header", String::from_utf8_lossy(&self.received)));
        }
        let end = self.received.iter().skip(2).position(|byte| *byte == b'\n').unwrap_or_default() + 2;
        let line: Vec<u8> = self.received.drain(..=end).collect();
        Ok(String::from_utf8_lossy(&line).trim_start_matches("\n#").trim_end().to_owned())
    }

    fn read_until(&mut self, mark: &[u8]) -> Result<String> {
        loop {
            if let Some(at) = self.received.windows(mark.len()).position(|window| window == mark) {
                let message: Vec<u8> = self.received.drain(..at + mark.len()).take(at).collect();
                return String::from_utf8(message).map_err(LabError::of("decoding a NETCONF message"));
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<()> {
        let mut buffer = [0; 65536];
        let doing = "waiting for the NETCONF server";
        match self.stream.read(&mut buffer).map_err(LabError::of(doing))? {
            0 => Err(LabError::new(doing, "it closed the connection")),
            read => {
                self.received.extend(buffer.iter().take(read));
                Ok(())
            }
        }
    }
}
