//! The server's end of a session.

use crate::framing::{Decoder, Event, Framing, FramingError, encode, encode_last, encode_part};
use crate::grammar::{echo_of_head, parse_rpc};
use crate::hello::{Hello, HelloError};
use crate::modules::Modules;
use crate::names::{BASE_1_0, BASE_1_1};
use crate::reply::{DataOf, Reply, around_data, write_reply};
use crate::rpc::{Echo, Operation, Rpc};
use crate::scan::brings_configuration;
use cats_yang_tree::error::{Error, ErrorTag, ErrorType};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use thiserror::Error as ThisError;

/// What a session is given.
#[derive(Debug, Clone)]
pub struct Settings {
    /// 1 to 4294967295, not used by any other living session.
    pub session_id: u32,
    /// Capability URIs of the hello, after base:1.0 and base:1.1, which are always announced.
    pub capabilities: Vec<String>,
    /// Bounds.
    pub limits: Limits,
}

/// The bounds of a session; [`Limits::default`] is right for most.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Largest message in bytes; a larger one is dropped as it comes and answered with `too-big`. 64 MiB.
    pub message: usize,
    /// Deepest nesting of elements in a message, also answered with `too-big`. 256.
    pub depth: usize,
    /// Largest message in bytes that brings no configuration, such as a filter; a larger one is likewise answered with
    /// `too-big`. 1 MiB.
    pub question: usize,
    /// A message of more bytes that has come whole waits for [`Session::proceed`]. None does by default.
    pub at_once: usize,
    /// How long the peer may take for its hello. 30 s.
    pub hello: Duration,
    /// How long a session without a request in progress may ask nothing; absent: for ever. Absent. A message that is
    /// coming must go on meanwhile, by more than single bytes.
    pub idle: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 64 << 20,
            question: 1 << 20,
            depth: 256,
            at_once: usize::MAX,
            hello: Duration::from_secs(30),
            idle: None,
        }
    }
}

/// A hello may be this long at most; a longer one ends the session.
const HELLO_LIMIT: usize = 1 << 20;

/// Above so many unread bytes [`Session::wants_input`] is false.
const READ_AHEAD: usize = 256 << 10;

/// A reply in pieces is sent when so many bytes have come together.
const SEND: usize = 8 << 10;

/// While so many bytes wait to be written nothing more is decoded: an answer may be longer than what it answers.
const UNSENT: usize = 64 << 10;

/// A message that is coming is not silence as long as so many bytes of it come in the time of [`Limits::idle`].
const PROGRESS: u64 = 64 << 10;

/// What a session has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Bytes for the peer, to be written in order.
    Send(Vec<u8>),
    /// A request, to be answered by [`Session::reply`] before the next one comes.
    Request(Rpc),
    /// The end, after the bytes before it are written. Nothing follows.
    Closed(CloseReason),
}

/// Why a session ended.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum CloseReason {
    /// By `close-session`.
    #[error("closed by close-session")]
    CloseSession,
    /// The transport ended.
    #[error("dropped by the peer")]
    Dropped,
    /// By `kill-session` of another session, or by an operator.
    #[error("killed by session {by}")]
    Killed {
        /// The killer; 0 if that is no NETCONF session.
        by: u32,
    },
    /// No hello in time.
    #[error("no hello in time")]
    HelloTimeout,
    /// Nothing asked in time.
    #[error("idle for too long")]
    IdleTimeout,
    /// The hello was wrong.
    #[error("bad hello: {0}")]
    BadHello(#[from] HelloError),
    /// The framing was wrong.
    #[error("bad framing: {0}")]
    BadFraming(#[from] FramingError),
    /// It did not take what it had asked to be told.
    #[error("it read too slowly: events that it had not been told are kept no more")]
    Behind,
    /// The user was taken out of the configuration.
    #[error("its user may not log in any more")]
    Withdrawn,
    /// Our side ends.
    #[error("the server shuts down")]
    Shutdown,
    /// The peer did not take what was written, or the connection failed.
    #[error("the connection failed: {0}")]
    Connection(String),
}

/// Messages that never became a request, as RFC 6022 counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Refusals {
    /// No correct `<rpc>`: no XML, or an error of the layers up to `rpc`.
    pub bad_rpcs: u32,
    /// A correct `<rpc>` whose operation is not.
    pub rpcs: u32,
}

impl Refusals {
    /// Those since `before`.
    pub fn since(self, before: Refusals) -> Refusals {
        Refusals {
            bad_rpcs: self.bad_rpcs.saturating_sub(before.bad_rpcs),
            rpcs: self.rpcs.saturating_sub(before.rpcs),
        }
    }
}

/// What is written to a peer that gets no session: an `<rpc-reply>` with one error in place of the hello, which
/// [`crate::Client`] reports as [`HelloError::Refused`].
pub fn refuse_session(error: Error) -> Vec<u8> {
    let parts = write_reply(&Echo::default(), error.into(), &crate::modules::NoModules);
    encode(Framing::EndOfMessage, parts).concat()
}

/// The server's end of a NETCONF session, without I/O. After each call drain [`Session::poll_output`].
///
/// Requests are handed out one at a time, so pipelined ones are answered in their order; what comes meanwhile waits
/// unparsed, and [`Session::wants_input`] says when enough waits.
#[derive(Debug)]
pub struct Session {
    settings: Settings,
    decoder: Decoder,
    sending: Framing,
    stage: Stage,
    /// Received and, but for the first `used` bytes, not yet decoded.
    waiting: Vec<u8>,
    used: usize,
    /// A big message that has come whole.
    whole: Option<Vec<u8>>,
    /// The request in progress.
    current: Option<Current>,
    /// The reply in progress, when its data come in pieces.
    sent: Option<Sent>,
    /// What is to be told behind it.
    told: Vec<String>,
    refused: Refusals,
    ended: bool,
    /// The peer's hello, until it is asked for.
    hello: Option<Hello>,
    /// When it last asked or was answered, or the message that is coming went on.
    last_heard: Instant,
    /// So much of the message that is coming has counted for that; none of it, or there is none.
    heard: Option<u64>,
    outputs: VecDeque<Output>,
    /// Bytes in `outputs`.
    unsent: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Hello { deadline: Instant },
    Open,
    Closed,
}

/// What of a reply is still to be sent: text that waits for more, and the end.
#[derive(Debug)]
struct Sent {
    text: String,
    end: Cow<'static, str>,
}

#[derive(Debug)]
struct Current {
    attributes: Echo,
    closes: bool,
}

impl Session {
    /// A session that begins now; its first output is the hello.
    pub fn new(settings: Settings, now: Instant) -> Self {
        let mut session = Self {
            decoder: Decoder::new(hello_limit(&settings)),
            sending: Framing::EndOfMessage,
            stage: Stage::Hello { deadline: now + settings.limits.hello },
            waiting: Vec::new(),
            used: 0,
            whole: None,
            current: None,
            sent: None,
            told: Vec::new(),
            refused: Refusals::default(),
            ended: false,
            hello: None,
            last_heard: now,
            heard: None,
            outputs: VecDeque::new(),
            unsent: 0,
            settings,
        };
        let hello =
            Hello { capabilities: session.capabilities(), session_id: Some(session.settings.session_id) };
        session.send(vec![hello.to_xml()]);
        session
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.settings.session_id
    }

    /// The next output. What waits because there was too much to send is decoded when there is nothing more.
    pub fn poll_output(&mut self) -> Option<Output> {
        if self.outputs.is_empty() && self.backlog() > 0 {
            self.advance();
        }
        let output = self.outputs.pop_front()?;
        if let Output::Send(bytes) = &output {
            self.unsent = self.unsent.saturating_sub(bytes.len());
        }
        Some(output)
    }

    /// When [`Session::handle_timeout`] is to be called, and for what.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match self.stage {
            Stage::Hello { deadline } => Some((deadline, "hello")),
            Stage::Open if self.current.is_none() && self.whole.is_none() => {
                self.settings.limits.idle.map(|idle| (self.last_heard + idle, "idle"))
            }
            Stage::Open | Stage::Closed => None,
        }
    }

    /// False while so much waits behind the request in progress, or behind answers, that no more should be read.
    pub fn wants_input(&self) -> bool {
        self.stage != Stage::Closed && !self.ended && self.backlog() < READ_AHEAD
    }

    /// True from the peer's hello on.
    pub fn is_greeted(&self) -> bool {
        !matches!(self.stage, Stage::Hello { .. })
    }

    /// The peer's hello, once; before its first request.
    pub fn take_hello(&mut self) -> Option<Hello> {
        self.hello.take()
    }

    /// How many bytes wait behind the request in progress, or behind answers that are not taken.
    pub fn backlog(&self) -> usize {
        self.waiting.len() - self.used
    }

    /// How many bytes of messages that are not requests yet it holds, and of answers that are not taken.
    pub fn held(&self) -> usize {
        let whole = self.whole.as_ref().map_or(0, Vec::capacity);
        let told: usize = self.told.iter().map(String::len).sum();
        self.waiting.capacity() + self.decoder.held() + whole + self.unsent + told
    }

    /// Gives up the message that is coming in, for want of memory: the rest of it is dropped as it comes, and then it is
    /// answered with `resource-denied`.
    pub fn discard(&mut self) {
        self.decoder.discard();
    }

    /// Is a request in progress?
    pub fn is_asked(&self) -> bool {
        self.current.is_some()
    }

    /// Does a message above [`Limits::at_once`] wait to be carried out?
    pub fn is_pending(&self) -> bool {
        self.whole.is_some()
    }

    /// Carries the message out that waits for it.
    pub fn proceed(&mut self) {
        if let Some(message) = self.whole.take() {
            self.request(&message);
            drop(message);
            self.advance();
        }
    }

    /// What was answered with an error without becoming a request.
    pub fn refused(&self) -> Refusals {
        self.refused
    }

    /// Takes what the peer sent, in any segmentation.
    pub fn handle_bytes(&mut self, bytes: &[u8], now: Instant) {
        if self.stage == Stage::Closed || self.ended {
            return;
        }
        self.waiting.drain(..std::mem::take(&mut self.used));
        self.waiting.extend_from_slice(bytes);
        let asked = self.advance();
        // What waits behind answers is looked at when they are taken.
        if self.goes_on() || asked || self.backlog() > 0 {
            self.last_heard = now;
        }
    }

    /// Has the message that is coming begun, or enough more of it come? Single bytes keep no session open.
    fn goes_on(&mut self) -> bool {
        let size = self.decoder.size();
        let goes_on = match self.heard {
            None => self.decoder.is_inside(),
            Some(heard) => size.saturating_sub(heard) >= PROGRESS,
        };
        if goes_on {
            self.heard = Some(size);
        }
        goes_on
    }

    /// The peer will send no more. Complete requests that wait are still answered, then the session closes.
    pub fn handle_eof(&mut self) {
        self.ended = true;
        self.advance();
    }

    /// Time has passed; what is due happens.
    pub fn handle_timeout(&mut self, now: Instant) {
        let Some((due, _)) = self.poll_timeout().filter(|(due, _)| *due <= now) else { return };
        debug_assert!(due <= now);
        let reason =
            if self.stage == Stage::Open { CloseReason::IdleTimeout } else { CloseReason::HelloTimeout };
        self.close(reason);
    }

    /// Answers the request in progress. Without one, nothing happens: the session was closed meanwhile.
    pub fn reply(&mut self, reply: Reply, modules: &dyn Modules, now: Instant) {
        let Some(current) = self.current.take() else { return };
        self.last_heard = now;
        let closes = current.closes && !matches!(reply, Reply::Errors(_));
        self.send(write_reply(&current.attributes, reply, modules));
        if closes {
            self.close(CloseReason::CloseSession);
        } else {
            self.advance();
        }
    }

    /// Begins to answer the request in progress with data that follow by [`Session::data`], up to
    /// [`Session::end_data`]. Without a request nothing happens: the session was closed meanwhile.
    pub fn begin_data(&mut self, of: DataOf) {
        let Some(current) = &self.current else { return };
        let (text, end) = around_data(&current.attributes, of);
        self.sent = Some(Sent { text, end });
    }

    /// Sends a piece of the data: whole characters and, so that it cannot form an end-of-message marker with the
    /// next one, with each `>` of content escaped.
    pub fn data(&mut self, piece: &str) {
        let Some(sent) = &mut self.sent else { return };
        sent.text.reserve(piece.len() + sent.end.len());
        sent.text.push_str(piece);
        if sent.text.len() >= SEND {
            let text = std::mem::take(&mut sent.text);
            self.push(encode_part(self.sending, text));
        }
    }

    /// Ends the reply.
    pub fn end_data(&mut self, now: Instant) {
        let Some(Sent { mut text, end }) = self.sent.take() else { return };
        self.current = None;
        self.last_heard = now;
        text.push_str(&end);
        self.push(encode_last(self.sending, text));
        for message in std::mem::take(&mut self.told) {
            self.send(vec![message]);
        }
        self.advance();
    }

    /// Tells the peer something unasked, a `<notification>` element: before the answer to the request in progress, or
    /// behind it once data of that are on their way. A session that is not open says nothing.
    pub fn notify(&mut self, message: String) {
        match self.stage {
            Stage::Open if self.sent.is_some() => self.told.push(message),
            Stage::Open => self.send(vec![message]),
            Stage::Hello { .. } | Stage::Closed => {}
        }
    }

    /// Ends the session from our side. The request in progress stays without answer.
    pub fn close(&mut self, reason: CloseReason) {
        if self.stage != Stage::Closed {
            self.stage = Stage::Closed;
            self.current = None;
            self.sent = None;
            self.told = Vec::new();
            self.whole = None;
            (self.waiting, self.used) = (Vec::new(), 0);
            self.outputs.push_back(Output::Closed(reason));
        }
    }

    fn capabilities(&self) -> Vec<String> {
        let base = [BASE_1_0, BASE_1_1].map(str::to_owned);
        base.into_iter().chain(self.settings.capabilities.iter().cloned()).collect()
    }

    /// Decodes until a request is in progress, nothing more is complete, or too much waits to be sent. True if a message
    /// was complete.
    fn advance(&mut self) -> bool {
        let waiting = std::mem::take(&mut self.waiting);
        let mut used = std::mem::take(&mut self.used);
        let mut complete = false;
        while self.may_decode() {
            let Some(rest) = waiting.get(used..).filter(|rest| !rest.is_empty()) else { break };
            match self.decoder.feed(rest) {
                Ok((step, event)) => {
                    used += step;
                    if let Some(event) = event {
                        (complete, self.heard) = (true, None);
                        self.message(event);
                    } else if !self.is_greeted() && self.decoder.is_too_big() {
                        // A hello that never ends has no end to wait for.
                        self.hello_too_long();
                    }
                }
                Err(error) => self.close(error.into()),
            }
        }
        if self.stage == Stage::Closed {
            return complete;
        }
        // What was decoded goes when more comes, or with the rest: each request would move all that waits behind it.
        if used < waiting.len() {
            (self.waiting, self.used) = (waiting, used);
        }
        if self.ended && self.current.is_none() && self.whole.is_none() && self.waiting.is_empty() {
            self.close(CloseReason::Dropped);
        }
        complete
    }

    fn may_decode(&self) -> bool {
        let idle = self.current.is_none() && self.whole.is_none() && self.stage != Stage::Closed;
        idle && self.unsent < UNSENT
    }

    fn message(&mut self, event: Event) {
        match (self.stage, event) {
            (Stage::Hello { .. }, Event::Message(message)) => match self.hello(&message) {
                Ok((hello, framing)) => {
                    self.hello = Some(hello);
                    self.decoder = Decoder::new(self.settings.limits.message);
                    self.decoder.set_framing(framing);
                    self.sending = framing;
                    self.stage = Stage::Open;
                    // Said once; an idle session holds little.
                    self.settings.capabilities = Vec::new();
                }
                Err(error) => self.close(error.into()),
            },
            (Stage::Hello { .. }, Event::TooBig { .. } | Event::Discarded { .. }) => self.hello_too_long(),
            (Stage::Open, Event::Message(message)) if self.is_big_question(&message) => {
                let (size, limit) = (message.len(), self.settings.limits.question);
                let why = format!(
                    "the message has {size} bytes, at most {limit} are accepted of one that brings no configuration: ask \
                     with a shorter filter, or in parts"
                );
                self.refuse(&echo_of_head(&message), Error::new(ErrorType::Rpc, ErrorTag::TooBig, why));
            }
            (Stage::Open, Event::Message(message)) if message.len() > self.settings.limits.at_once => {
                self.whole = Some(message);
            }
            (Stage::Open, Event::Message(message)) => self.request(&message),
            (Stage::Open, Event::Discarded { head }) => {
                let message = "the message was given up, for want of memory while other sessions send big ones, or since \
                               it stood still: try again later, or send smaller edits";
                let error = Error::new(ErrorType::Rpc, ErrorTag::ResourceDenied, message);
                self.refuse(&echo_of_head(&head), error);
            }
            (Stage::Open, Event::TooBig { head, size }) => {
                let limit = self.settings.limits.message;
                let message =
                    format!("the message has {size} bytes, at most {limit} are accepted: send smaller edits");
                self.refuse(&echo_of_head(&head), Error::new(ErrorType::Rpc, ErrorTag::TooBig, message));
            }
            (Stage::Closed, Event::Message(_) | Event::TooBig { .. } | Event::Discarded { .. }) => {}
        }
    }

    /// It is refused before it takes its turn: only a parser could say more of it. What is no text is left to that.
    fn is_big_question(&self, message: &[u8]) -> bool {
        message.len() > self.settings.limits.question
            && std::str::from_utf8(message).is_ok_and(|text| brings_configuration(text) == Some(false))
    }

    fn hello(&self, message: &[u8]) -> Result<(Hello, Framing), HelloError> {
        let hello = Hello::parse(message)?;
        if hello.session_id.is_some() {
            return Err(HelloError::SessionIdFromClient);
        }
        let framing = hello.agree(&self.capabilities())?;
        Ok((hello, framing))
    }

    fn hello_too_long(&mut self) {
        let why = format!("above the {} bytes that are accepted", hello_limit(&self.settings));
        self.close(HelloError::Malformed(why).into());
    }

    fn request(&mut self, message: &[u8]) {
        match parse_rpc(message, self.settings.limits.depth) {
            Ok(rpc) => {
                let closes = rpc.operation == Operation::CloseSession;
                self.current = Some(Current { attributes: rpc.attributes.clone(), closes });
                self.outputs.push_back(Output::Request(rpc));
            }
            Err(refused) => self.refuse(&refused.attributes, refused.error),
        }
    }

    /// Answers what never became a request.
    fn refuse(&mut self, attributes: &Echo, mut error: Error) {
        let count = match error.kind {
            ErrorType::Transport | ErrorType::Rpc => &mut self.refused.bad_rpcs,
            ErrorType::Protocol | ErrorType::Application => &mut self.refused.rpcs,
        };
        *count = count.saturating_add(1);
        // RFC 6241 appendix A: malformed-message is not for a peer that has base:1.0 only.
        if self.sending == Framing::EndOfMessage && error.tag == ErrorTag::MalformedMessage {
            error.tag = ErrorTag::OperationFailed;
        }
        self.send(write_reply(attributes, error.into(), &crate::modules::NoModules));
    }

    fn send(&mut self, parts: Vec<String>) {
        encode(self.sending, parts).into_iter().for_each(|bytes| self.push(bytes));
    }

    fn push(&mut self, bytes: Vec<u8>) {
        self.unsent += bytes.len();
        self.outputs.push_back(Output::Send(bytes));
    }
}

/// A hello is no longer than other messages either.
fn hello_limit(settings: &Settings) -> usize {
    settings.limits.message.min(HELLO_LIMIT)
}
