//! Netlink messages: encoding, walking, requests with acknowledgement, dumps.

use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::os::fd::{AsRawFd, RawFd};

pub(crate) const NETLINK_ROUTE: isize = 0;
pub(crate) const NETLINK_NETFILTER: isize = 12;
pub(crate) const NETLINK_GENERIC: isize = 16;

pub(crate) const NLM_F_REQUEST: u16 = 1;
pub(crate) const NLM_F_ACK: u16 = 4;
pub(crate) const NLM_F_DUMP: u16 = 0x300;
pub(crate) const NLM_F_REPLACE: u16 = 0x100;
pub(crate) const NLM_F_EXCL: u16 = 0x200;
pub(crate) const NLM_F_CREATE: u16 = 0x400;
pub(crate) const NLM_F_APPEND: u16 = 0x800;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLA_F_NESTED: u16 = 0x8000;
const NLA_TYPE: u16 = 0x3fff;
const HEADER: usize = 16;
/// Larger than any answer the kernel puts into one datagram.
const RECEIVE: usize = 64 * 1024;

/// One or several messages, encoded one after another.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    buffer: Vec<u8>,
}

/// Where a message or nested attribute begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark(usize);

impl Encoder {
    pub(crate) fn with_capacity(octets: usize) -> Self {
        Self { buffer: Vec::with_capacity(octets) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    pub(crate) fn clear(&mut self) {
        self.buffer.clear();
    }

    pub(crate) fn begin(&mut self, kind: u16, flags: u16, sequence: u32) -> Mark {
        let mark = Mark(self.buffer.len());
        self.put(&0u32.to_ne_bytes());
        self.put(&kind.to_ne_bytes());
        self.put(&(flags | NLM_F_REQUEST).to_ne_bytes());
        self.put(&sequence.to_ne_bytes());
        self.put(&0u32.to_ne_bytes());
        mark
    }

    pub(crate) fn end(&mut self, mark: Mark) {
        let length = u32::try_from(self.buffer.len() - mark.0).unwrap_or(u32::MAX);
        if let Some(place) = self.buffer.get_mut(mark.0..mark.0 + 4) {
            place.copy_from_slice(&length.to_ne_bytes());
        }
    }

    /// Asks for an acknowledgement of a message that has ended.
    pub(crate) fn acknowledge(&mut self, mark: Mark) {
        if let Some(flags) = self.buffer.get_mut(mark.0 + 6..mark.0 + 8) {
            let asked = u16::from_ne_bytes([flags[0], flags[1]]) | NLM_F_ACK;
            flags.copy_from_slice(&asked.to_ne_bytes());
        }
    }

    /// Fields of the fixed part of a message, whose sum is a multiple of four octets.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub(crate) fn attr(&mut self, kind: u16, value: &[u8]) {
        let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
        self.buffer.extend_from_slice(&length.to_ne_bytes());
        self.buffer.extend_from_slice(&kind.to_ne_bytes());
        self.buffer.extend_from_slice(value);
        self.pad();
    }

    pub(crate) fn attr_be32(&mut self, kind: u16, value: u32) {
        self.attr(kind, &value.to_be_bytes());
    }

    pub(crate) fn attr_be64(&mut self, kind: u16, value: u64) {
        self.attr(kind, &value.to_be_bytes());
    }

    pub(crate) fn attr_u32(&mut self, kind: u16, value: u32) {
        self.attr(kind, &value.to_ne_bytes());
    }

    /// Text with its closing zero.
    pub(crate) fn attr_text(&mut self, kind: u16, text: &str) {
        let mut value = text.as_bytes().to_vec();
        value.push(0);
        self.attr(kind, &value);
    }

    pub(crate) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0, 0]);
        self.buffer.extend_from_slice(&(kind | NLA_F_NESTED).to_ne_bytes());
        fill(self);
        let length = u16::try_from(self.buffer.len() - start).unwrap_or(u16::MAX);
        if let Some(place) = self.buffer.get_mut(start..start + 2) {
            place.copy_from_slice(&length.to_ne_bytes());
        }
        self.pad();
    }

    fn pad(&mut self) {
        while !self.buffer.len().is_multiple_of(4) {
            self.buffer.push(0);
        }
    }
}

/// One received message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received<'a> {
    pub(crate) kind: u16,
    pub(crate) sequence: u32,
    pub(crate) body: &'a [u8],
}

/// The messages of a datagram.
pub(crate) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Received<'_>> {
    std::iter::from_fn(move || {
        let length = u32_at(bytes, 0)? as usize;
        let body = bytes.get(HEADER..length)?;
        let message = Received { kind: u16_at(bytes, 4)?, sequence: u32_at(bytes, 8)?, body };
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

/// The attributes of a message or nest: type without flags, value.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let value = bytes.get(4..length)?;
        let kind = u16_at(bytes, 2)? & NLA_TYPE;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The first attribute of a type.
pub(crate) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(crate) fn be64(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?))
}

/// Text up to its closing zero.
pub(crate) fn text(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    bytes.get(..end).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
}

/// The kernel's answer to one message of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) sequence: u32,
    /// A positive error number.
    pub(crate) errno: i32,
}

impl Failure {
    pub(crate) fn error(self) -> io::Error {
        io::Error::from_raw_os_error(self.errno)
    }
}

/// A netlink socket with a sequence counter.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl AsRawFd for Connection {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Connection {
    /// A socket in the network namespace of the calling thread.
    pub(crate) fn open(protocol: isize) -> io::Result<Self> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.set_cap_ack(true)?;
        socket.set_rx_buf_sz(4u32 << 20)?;
        Ok(Self { socket, sequence: 0, buffer: vec![0; RECEIVE] })
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1);
        self.sequence
    }

    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.socket.send(bytes, 0).map(drop)
    }

    /// Gives each received message to `each` until it answers true or an error or the end of a dump
    /// comes.
    pub(crate) fn receive(
        &mut self,
        mut each: impl FnMut(Received<'_>) -> bool,
    ) -> io::Result<Option<Failure>> {
        loop {
            let mut space = self.buffer.as_mut_slice();
            let length = self.socket.recv(&mut space, 0)?;
            for message in messages(self.buffer.get(..length).unwrap_or_default()) {
                match message.kind {
                    NLMSG_ERROR => {
                        let errno = u32_at(message.body, 0).map_or(0, |raw| -(raw as i32));
                        return Ok(Some(Failure { sequence: message.sequence, errno }));
                    }
                    NLMSG_DONE => return Ok(None),
                    _ => {
                        if each(message) {
                            return Ok(None);
                        }
                    }
                }
            }
        }
    }

    /// Sends messages and collects every answer up to the one with the sequence `last`, or an error of
    /// `first`, which concerns all: errors by their sequence, other messages to `each`. Acknowledgements of
    /// success are left out.
    pub(crate) fn exchange(
        &mut self,
        bytes: &[u8],
        first: u32,
        last: u32,
        mut each: impl FnMut(Received<'_>),
    ) -> io::Result<Vec<Failure>> {
        self.send(bytes)?;
        let mut failures = Vec::new();
        loop {
            let mut space = self.buffer.as_mut_slice();
            let length = self.socket.recv(&mut space, 0)?;
            for message in messages(self.buffer.get(..length).unwrap_or_default()) {
                let mut ends = false;
                if message.kind == NLMSG_ERROR {
                    ends = message.sequence == last;
                    let errno = u32_at(message.body, 0).map_or(0, |raw| -(raw as i32));
                    if errno != 0 {
                        ends |= message.sequence == first;
                        failures.push(Failure { sequence: message.sequence, errno });
                    }
                } else {
                    each(message);
                }
                if ends {
                    return Ok(failures);
                }
            }
        }
    }

    /// One request, acknowledged.
    pub(crate) fn request(
        &mut self,
        kind: u16,
        flags: u16,
        fill: impl FnOnce(&mut Encoder),
    ) -> io::Result<()> {
        let sequence = self.next();
        let mut encoder = Encoder::with_capacity(512);
        let mark = encoder.begin(kind, flags | NLM_F_ACK, sequence);
        fill(&mut encoder);
        encoder.end(mark);
        match self.exchange(encoder.bytes(), sequence, sequence, |_| {})?.first() {
            Some(failure) => Err(failure.error()),
            None => Ok(()),
        }
    }

    /// One request with one answer, or an error.
    pub(crate) fn ask<T>(
        &mut self,
        kind: u16,
        fill: impl FnOnce(&mut Encoder),
        mut read: impl FnMut(Received<'_>) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let sequence = self.next();
        let mut encoder = Encoder::with_capacity(256);
        let mark = encoder.begin(kind, 0, sequence);
        fill(&mut encoder);
        encoder.end(mark);
        self.send(encoder.bytes())?;
        let mut answer = None;
        let failure = self.receive(|message| {
            answer = read(message);
            true
        })?;
        match failure {
            Some(failure) if failure.errno != 0 => Err(failure.error()),
            Some(_) | None => Ok(answer),
        }
    }

    /// A dump: each message to `each`.
    pub(crate) fn dump(
        &mut self,
        kind: u16,
        fill: impl FnOnce(&mut Encoder),
        mut each: impl FnMut(Received<'_>),
    ) -> io::Result<()> {
        let sequence = self.next();
        let mut encoder = Encoder::with_capacity(256);
        let mark = encoder.begin(kind, NLM_F_DUMP, sequence);
        fill(&mut encoder);
        encoder.end(mark);
        self.send(encoder.bytes())?;
        let failure = self.receive(|message| {
            each(message);
            false
        })?;
        match failure {
            Some(failure) if failure.errno != 0 => Err(failure.error()),
            Some(_) | None => Ok(()),
        }
    }
}
