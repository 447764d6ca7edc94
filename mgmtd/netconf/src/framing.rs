//! The two framings of RFC 6242: end-of-message for NETCONF 1.0 and for every hello, chunked for 1.1.

use thiserror::Error;

/// How messages are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// `]]>]]>` after each message (RFC 6242 section 4.3).
    EndOfMessage,
    /// Chunks (RFC 6242 section 4.2).
    Chunked,
}

/// A peer's breach of RFC 6242: the session must end. Offsets count the bytes of the connection from 0.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FramingError {
    /// Something else than `\n#` where a chunk begins; an end-of-message marker on a 1.1 session is one.
    #[error("byte {found:#04x} at offset {offset} where chunked framing has {expected}")]
    Unexpected {
        /// The byte.
        found: u8,
        /// Where.
        offset: u64,
        /// What may stand there.
        expected: &'static str,
    },
    /// A chunk size of 0, or one that begins with 0.
    #[error("chunk size begins with 0 at offset {offset}; it is 1 to 4294967295 without leading zeros")]
    LeadingZero {
        /// Where.
        offset: u64,
    },
    /// A chunk size above 4294967295.
    #[error("chunk size at offset {offset} is above 4294967295")]
    ChunkTooLarge {
        /// Where.
        offset: u64,
    },
}

/// What a [`Decoder`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A complete message, without its framing.
    Message(Vec<u8>),
    /// A complete message above the limit, whose bytes were dropped as they came.
    TooBig {
        /// Its first bytes, at most [`HEAD`].
        head: Vec<u8>,
        /// Its size.
        size: u64,
    },
    /// A complete message that was given up while it came: [`Decoder::discard`].
    Discarded {
        /// Its first bytes, at most [`HEAD`].
        head: Vec<u8>,
    },
}

/// How much of a message above the limit is kept, to find its message-id.
pub const HEAD: usize = 4096;

const MARKER: &[u8; 6] = b"]]>]]>";
/// Messages of up to so many bytes are written at once.
const SHORT: usize = 16 << 10;
const CHUNK_MAX: u64 = 4_294_967_295;

/// Finds messages in bytes that come in any segmentation. Holds at most one message of `limit` bytes.
#[derive(Debug)]
pub struct Decoder {
    framing: Framing,
    state: State,
    limit: usize,
    message: Vec<u8>,
    /// The message that has begun is not kept.
    discarding: bool,
    /// Size of the message so far, also of what was dropped.
    size: u64,
    offset: u64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// So many bytes of the end-of-message marker were seen.
    Eom(usize),
    /// Before the line feed of a header; the flag says that the message has a chunk already.
    LineFeed(bool),
    Hash(bool),
    /// Behind `\n#`.
    Size(bool),
    Digits(u64),
    Data(u64),
    /// Behind `\n##`.
    End,
}

impl Decoder {
    /// A decoder that begins with end-of-message framing, as every session does.
    pub fn new(limit: usize) -> Self {
        Self {
            framing: Framing::EndOfMessage,
            state: State::Eom(0),
            limit,
            message: Vec::new(),
            discarding: false,
            size: 0,
            offset: 0,
        }
    }

    /// The framing of what comes next. To be called between messages only.
    pub fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
        self.state = match framing {
            Framing::EndOfMessage => State::Eom(0),
            Framing::Chunked => State::LineFeed(false),
        };
    }

    /// True if a message has begun and is not complete.
    pub fn is_inside(&self) -> bool {
        self.size > 0 || !matches!(self.state, State::Eom(0) | State::LineFeed(false))
    }

    /// True if the message that has begun is above the limit already.
    pub fn is_too_big(&self) -> bool {
        self.size > (self.limit as u64).saturating_add(self.slack())
    }

    /// How many bytes of the message that has begun have come.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How many bytes the message that has begun takes up.
    pub fn held(&self) -> usize {
        self.message.capacity()
    }

    /// Gives up the message that has begun: what comes of it is dropped, but for its head.
    pub fn discard(&mut self) {
        self.discarding = self.is_inside();
        self.message.truncate(HEAD);
        self.message.shrink_to_fit();
    }

    /// Takes bytes up to the end of one message at most, and says how many.
    ///
    /// # Errors
    /// The peer broke the framing; the decoder is of no use any more.
    pub fn feed(&mut self, input: &[u8]) -> Result<(usize, Option<Event>), FramingError> {
        let mut used = 0;
        while let Some(rest) = input.get(used..).filter(|rest| !rest.is_empty()) {
            let (step, complete) = match self.state {
                State::Eom(matched) => self.end_of_message(rest, matched),
                State::Data(left) => (self.data(rest, left), false),
                header => self.header(rest.first().copied().unwrap_or_default(), header)?,
            };
            used += step;
            self.offset += step as u64;
            if complete {
                return Ok((used, Some(self.complete())));
            }
        }
        Ok((used, None))
    }

    fn end_of_message(&mut self, rest: &[u8], matched: usize) -> (usize, bool) {
        if matched == 0 {
            let blank = rest.iter().take_while(|byte| self.size == 0 && byte.is_ascii_whitespace()).count();
            if blank > 0 {
                return (blank, false);
            }
            let plain = rest.iter().position(|byte| *byte == b']').unwrap_or(rest.len());
            if plain > 0 {
                self.keep(rest.get(..plain).unwrap_or_default());
                return (plain, false);
            }
        }
        let byte = rest.first().copied().unwrap_or_default();
        let matched = match (matched, byte) {
            (at, byte) if MARKER.get(at) == Some(&byte) => at + 1,
            // "]]" and one more "]": the last two may begin the marker.
            (2 | 5, b']') => 2,
            _ => 0,
        };
        self.keep(&[byte]);
        let complete = matched == MARKER.len();
        self.state = State::Eom(if complete { 0 } else { matched });
        if complete {
            self.size -= MARKER.len() as u64;
            let size = usize::try_from(self.size).unwrap_or(usize::MAX);
            self.message.truncate(size);
        }
        (1, complete)
    }

    fn data(&mut self, rest: &[u8], left: u64) -> usize {
        let step = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
        self.keep(rest.get(..step).unwrap_or_default());
        let left = left - step as u64;
        self.state = if left == 0 { State::LineFeed(true) } else { State::Data(left) };
        step
    }

    fn header(&mut self, byte: u8, state: State) -> Result<(usize, bool), FramingError> {
        let offset = self.offset;
        let unexpected = |expected| FramingError::Unexpected { found: byte, offset, expected };
        self.state = match (state, byte) {
            (State::LineFeed(some), b'\n') => State::Hash(some),
            (State::Hash(some), b'#') => State::Size(some),
            (State::Size(_), b'0') => return Err(FramingError::LeadingZero { offset }),
            (State::Size(_), b'1'..=b'9') => State::Digits(u64::from(byte - b'0')),
            (State::Size(true), b'#') => State::End,
            (State::Digits(size), b'0'..=b'9') => {
                let size = size * 10 + u64::from(byte - b'0');
                if size > CHUNK_MAX {
                    return Err(FramingError::ChunkTooLarge { offset });
                }
                State::Digits(size)
            }
            (State::Digits(size), b'\n') => State::Data(size),
            (State::End, b'\n') => {
                self.state = State::LineFeed(false);
                return Ok((1, true));
            }
            (State::LineFeed(_) | State::End, _) => return Err(unexpected("a line feed")),
            (State::Hash(_), _) => return Err(unexpected("'#'")),
            (State::Size(true), _) => return Err(unexpected("a digit or '#'")),
            (State::Size(false), _) => return Err(unexpected("a digit: a message has at least one chunk")),
            (State::Digits(_), _) => return Err(unexpected("a digit or a line feed")),
            (State::Eom(_) | State::Data(_), _) => state,
        };
        Ok((1, false))
    }

    /// Keeps what fits; of a message above the limit only the head stays.
    fn keep(&mut self, bytes: &[u8]) {
        let before = self.size;
        self.size += bytes.len() as u64;
        let bound = (self.limit as u64).saturating_add(self.slack());
        if self.size <= bound && !self.discarding {
            // A vector that grows by itself doubles.
            self.message.reserve_exact(bytes.len().max(self.message.len() / 8));
            self.message.extend_from_slice(bytes);
            return;
        }
        let missing = HEAD.saturating_sub(self.message.len()).min(bytes.len());
        self.message.extend_from_slice(bytes.get(..missing).unwrap_or_default());
        if before <= bound && !self.discarding {
            self.message.truncate(HEAD);
            self.message.shrink_to_fit();
        }
    }

    /// The marker is kept with the message until it is complete.
    fn slack(&self) -> u64 {
        match self.framing {
            Framing::EndOfMessage => MARKER.len() as u64,
            Framing::Chunked => 0,
        }
    }

    fn complete(&mut self) -> Event {
        let size = std::mem::take(&mut self.size);
        let message = std::mem::take(&mut self.message);
        if std::mem::take(&mut self.discarding) {
            return Event::Discarded { head: message };
        }
        if size > self.limit as u64 { Event::TooBig { head: message, size } } else { Event::Message(message) }
    }
}

/// One message, given in parts, as the pieces to be written: one piece, if it is short. Of a longer one no part is
/// copied on a 1.1 session, nor on a 1.0 session unless it holds the end-of-message marker, which is then escaped.
pub fn encode(framing: Framing, parts: Vec<String>) -> Vec<Vec<u8>> {
    let size: usize = parts.iter().map(String::len).sum();
    let pieces = encode_parts(framing, parts);
    // Each piece is written by itself, which costs more than the copy.
    if size <= SHORT { vec![pieces.concat()] } else { pieces }
}

fn encode_parts(framing: Framing, parts: Vec<String>) -> Vec<Vec<u8>> {
    match framing {
        Framing::EndOfMessage => {
            let mut pieces: Vec<_> = parts.into_iter().map(|part| escape_marker(part).into_bytes()).collect();
            pieces.push(MARKER.to_vec());
            pieces
        }
        Framing::Chunked => {
            let size: u64 = parts.iter().map(|part| part.len() as u64).sum();
            if size > CHUNK_MAX {
                return encode_separately(parts);
            }
            let mut pieces = vec![format!("\n#{size}\n").into_bytes()];
            pieces.extend(parts.into_iter().filter(|part| !part.is_empty()).map(String::into_bytes));
            pieces.push(b"\n##\n".to_vec());
            pieces
        }
    }
}

/// A part of a message, in one chunk where there are chunks; [`encode_last`] has the last one. No part ends within an
/// end-of-message marker.
pub(crate) fn encode_part(framing: Framing, part: String) -> Vec<u8> {
    ended(framing, part, b"")
}

/// The last part of a message.
pub(crate) fn encode_last(framing: Framing, part: String) -> Vec<u8> {
    match framing {
        Framing::EndOfMessage => ended(framing, part, MARKER),
        Framing::Chunked => ended(framing, part, b"\n##\n"),
    }
}

fn ended(framing: Framing, part: String, end: &[u8]) -> Vec<u8> {
    let mut out = match framing {
        Framing::EndOfMessage => escape_marker(part).into_bytes(),
        Framing::Chunked if part.is_empty() => Vec::new(),
        Framing::Chunked => {
            let size = format!("\n#{}\n", part.len());
            let mut out = Vec::with_capacity(size.len() + part.len() + end.len());
            out.extend_from_slice(size.as_bytes());
            out.extend_from_slice(part.as_bytes());
            out
        }
    };
    out.extend_from_slice(end);
    out
}

/// A message above the largest chunk: a chunk for each gibibyte of each part.
fn encode_separately(parts: Vec<String>) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    for part in parts {
        for chunk in part.as_bytes().chunks(1 << 30) {
            pieces.push(format!("\n#{}\n", chunk.len()).into_bytes());
            pieces.push(chunk.to_vec());
        }
    }
    pieces.push(b"\n##\n".to_vec());
    pieces
}

/// In well-formed XML the marker can stand only in attribute values, comments and processing instructions.
fn escape_marker(part: String) -> String {
    if part.contains("]]>]]>") { part.replace("]]>]]>", "]]&gt;]]&gt;") } else { part }
}
