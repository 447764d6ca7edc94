//! A NETCONF session over the server's local socket: a blocking shell around the client's state machine.

use cats_cli_core::error::Error;
use cats_mgmtd_netconf::{
    Answer, Client, ClientOutput, ClientSettings, Hello, Modules, Operation, RawReply, XmlFragment,
};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a reply may take.
const REPLY: Duration = Duration::from_secs(60);

/// One session.
pub(crate) struct Session {
    stream: UnixStream,
    client: Client,
    buffer: Vec<u8>,
}

impl Session {
    /// Connects and exchanges hellos.
    pub(crate) fn connect(socket: &Path) -> Result<(Self, Hello), Error> {
        let stream = UnixStream::connect(socket).map_err(|error| unreachable(socket, &error))?;
        let client = Client::new(ClientSettings::default(), Instant::now());
        let mut session = Self { stream, client, buffer: vec![0; 64 * 1024] };
        let deadline = Instant::now() + REPLY;
        loop {
            match session.next(deadline)? {
                ClientOutput::Ready(hello) => return Ok((session, hello)),
                ClientOutput::Closed(reason) => {
                    return Err(lost(&format!("the server ended the session: {reason}"), "access-denied"));
                }
                ClientOutput::Send(_) | ClientOutput::Reply(_) => {}
            }
        }
    }

    /// Sends an operation and waits for its reply; `modules` name the places of errors.
    pub(crate) fn call(&mut self, operation: &Operation, modules: &dyn Modules) -> Result<Answer, Error> {
        self.call_xml(&operation.to_xml(), modules)
    }

    /// Sends an operation that is given as XML and waits for its reply.
    pub(crate) fn call_xml(&mut self, operation: &str, modules: &dyn Modules) -> Result<Answer, Error> {
        let id =
            self.client.request_xml(operation).map_err(|error| lost(&error.to_string(), "unreachable"))?;
        let reply = self.reply(id)?;
        match reply.answer(modules) {
            Ok(Answer::Errors(errors)) => Err(rejected(errors)),
            Ok(answer) => Ok(answer),
            Err(error) => Err(lost(&error.to_string(), "malformed-message")),
        }
    }

    fn reply(&mut self, id: u64) -> Result<RawReply, Error> {
        let deadline = Instant::now() + REPLY;
        loop {
            match self.next(deadline)? {
                ClientOutput::Reply(reply) if reply.message_id == Some(id) => return Ok(reply),
                ClientOutput::Closed(reason) => {
                    return Err(lost(&format!("the session ended: {reason}"), "unreachable"));
                }
                ClientOutput::Reply(_) | ClientOutput::Ready(_) | ClientOutput::Send(_) => {}
            }
        }
    }

    /// The next output that is not to be sent.
    fn next(&mut self, deadline: Instant) -> Result<ClientOutput, Error> {
        loop {
            match self.client.poll_output() {
                Some(ClientOutput::Send(bytes)) => self.send(&bytes)?,
                Some(output) => return Ok(output),
                None => self.receive(deadline)?,
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match self.stream.write_all(bytes) {
            // The server has refused and closed: why is still to be read.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(|error| broken(&error)),
        }
    }

    fn receive(&mut self, deadline: Instant) -> Result<(), Error> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(timed_out());
        }
        self.stream.set_read_timeout(Some(left)).map_err(|error| broken(&error))?;
        match self.stream.read(&mut self.buffer) {
            Ok(0) => self.client.handle_eof(),
            Ok(length) => self.client.handle_bytes(self.buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(timed_out());
            }
            // The server closed while it had unread input: what it sent before is already here.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => self.client.handle_eof(),
            Err(error) => return Err(broken(&error)),
        }
        Ok(())
    }
}

/// The `<data>` of an answer.
pub(crate) fn data(answer: Answer) -> Result<XmlFragment, Error> {
    match answer {
        Answer::Data(data) => Ok(data),
        Answer::Ok | Answer::Output(_) | Answer::Errors(_) => {
            Err(lost("the server answered without data", "malformed-message"))
        }
    }
}

fn rejected(errors: Vec<cats_yang_tree::error::Error>) -> Error {
    let others = errors.len().saturating_sub(1);
    let Some(first) = errors.into_iter().next() else {
        return lost("the server refused without a reason", "operation-failed");
    };
    let mut error = Error::usage(first.message.clone());
    error.tag = first.tag.to_string();
    error.path = first.path.map(|path| path.0);
    if others > 0 {
        error.message = format!("{} (and {others} more)", error.message);
    }
    error
}

fn unreachable(socket: &Path, error: &std::io::Error) -> Error {
    let tag = if error.kind() == ErrorKind::PermissionDenied { "access-denied" } else { "unreachable" };
    lost(&format!("cannot connect to {}: {error}", socket.display()), tag)
        .remedy("start cats-mgmtd, or name its socket with --socket")
}

fn broken(error: &std::io::Error) -> Error {
    lost(&format!("the connection to the server broke: {error}"), "unreachable")
}

fn timed_out() -> Error {
    lost(&format!("the server did not answer within {} s", REPLY.as_secs()), "timeout")
}

fn lost(message: &str, tag: &str) -> Error {
    let mut error = Error::usage(message);
    error.tag = tag.to_owned();
    error
}
