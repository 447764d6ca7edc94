//! One session with a peer, of either role (RFC 5440 section 4 and appendix A), from the connection on.
//!
//! It has no socket and no clock: bytes and times go in, outputs come out, and [`Session::poll_timeout`] says when to call
//! again. It negotiates, keeps the session alive, ends it, and answers what is wrong with a message; what a request means it
//! does not know.

mod capabilities;
mod counters;
mod negotiation;
mod profile;
mod rate;
mod settings;

pub use capabilities::{Capabilities, Common, Srv6Limits};
pub use counters::Counters;
pub use negotiation::{Acceptable, Timers};
pub use profile::{Profile, Style};
pub use settings::{Limits, Role, Settings, Tls};

use crate::codec::object::{Close, CloseReason, Open, PcepError, Rp, RpFlags, Srp, SrpFlags};
use crate::codec::{Body, DecodeError, EncodeError, Header, Message, MessageType, Object, Reference, Remedy};
use crate::errors::ErrorCode;
use negotiation::Verdict;
use rate::Rate;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use thiserror::Error as ThisError;

/// While so many outputs wait nothing more is decoded, and [`Session::wants_input`] is false.
const OUTPUTS: usize = 64;

/// What a session has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Bytes for the peer, to be written in order.
    Send(Vec<u8>),
    /// TLS begins behind the bytes before this; when it is there, [`Session::handle_tls`] is called. What came behind the
    /// peer's StartTLS already belongs to TLS.
    StartTls(Vec<u8>),
    /// The session is up.
    Up(Box<Common>),
    /// A message about paths, LSPs, or what went wrong with them.
    Message(Message),
    /// A message of the peer could not be read, and was answered.
    Unreadable(DecodeError),
    /// The end, after the bytes before it are written. Nothing follows.
    Closed(Reason),
}

/// Why a session ended.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum Reason {
    /// The connection ended.
    #[error("dropped by the peer")]
    Dropped,
    /// The peer sent a Close message.
    #[error("closed by the peer with reason {}", .0.0)]
    ByPeer(CloseReason),
    /// The peer did not want the session.
    #[error("refused by the peer with the error {0}")]
    RefusedByPeer(ErrorCode),
    /// Our side ended it with a Close message.
    #[error("closed with reason {}", .0.0)]
    ByUs(CloseReason),
    /// Nothing was heard for so long.
    #[error("nothing was heard for {0:?}, the dead timer of the session")]
    Silent(Duration),
    /// We did not want the session.
    #[error("refused with the error {0}")]
    Refused(ErrorCode),
    /// The peer sent bytes that are no messages.
    #[error("a message that cannot be understood: {0}")]
    Malformed(DecodeError),
    /// TLS could not be set up.
    #[error("TLS failed")]
    TlsFailed,
}

/// Why a message cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
pub enum SendError {
    /// The session is not up.
    #[error("the session is not up")]
    NotUp,
    /// It is too long.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Our StartTLS is out, the peer's has not come.
    StartTlsWait,
    /// TLS is being set up.
    Handshake,
    /// Our Open is out, the peer's has not been accepted.
    OpenWait,
    /// The peer's Open is accepted, ours is not yet.
    KeepWait,
    /// Messages flow.
    Up,
    /// The end.
    Closed,
}

/// The session; the module's page says how it is driven. After each call the outputs are to be drained.
#[derive(Debug)]
pub struct Session {
    settings: Settings,
    stage: Stage,
    /// Until when the stage may last; none when up.
    deadline: Instant,
    /// What our last Open said.
    ours: Timers,
    /// Has the peer accepted it?
    is_ours_accepted: bool,
    /// The peer's Open, once it is accepted.
    peer: Option<Open>,
    /// Has an Open of the peer been refused before, and one of ours by the peer?
    has_refused: bool,
    was_refused: bool,
    input: Vec<u8>,
    /// So much of the input is decoded already; it goes when more comes, since each message would move all behind it.
    used: usize,
    now: Instant,
    last_heard: Instant,
    last_sent: Instant,
    unknown_messages: Rate,
    unknown_requests: Rate,
    counters: Counters,
    outputs: VecDeque<Output>,
}

impl Session {
    /// A session over a new connection. It says StartTLS or Open at once.
    pub fn new(settings: Settings, now: Instant) -> Self {
        let Limits { unknown_messages, unknown_requests, .. } = settings.limits;
        let mut session = Self {
            stage: Stage::Closed,
            deadline: now,
            ours: settings.timers,
            is_ours_accepted: false,
            peer: None,
            has_refused: false,
            was_refused: false,
            input: Vec::new(),
            used: 0,
            now,
            last_heard: now,
            last_sent: now,
            unknown_messages: Rate::new(unknown_messages),
            unknown_requests: Rate::new(unknown_requests),
            counters: Counters::default(),
            outputs: VecDeque::new(),
            settings,
        };
        match session.settings.tls {
            Tls::None => session.open(),
            Tls::Preferred | Tls::Required => {
                session.enter(Stage::StartTlsWait, session.settings.limits.start_tls);
                session.put(&Message::bare(MessageType::StartTls));
            }
        }
        session
    }

    /// Where it stands.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// What it was given.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The peer's Open, once it is accepted.
    pub fn peer(&self) -> Option<&Open> {
        self.peer.as_ref()
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The next output. What waits because there were too many is decoded when there are none.
    pub fn poll_output(&mut self) -> Option<Output> {
        if self.outputs.is_empty() {
            self.advance();
        }
        self.outputs.pop_front()
    }

    /// False while so much waits that no more should be read.
    pub fn wants_input(&self) -> bool {
        let whole = Header::LARGEST;
        !matches!(self.stage, Stage::Closed | Stage::Handshake)
            && self.outputs.len() < OUTPUTS
            && self.waiting().len() <= whole
    }

    /// When [`Session::handle_timeout`] is to be called, and for what.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match self.stage {
            Stage::StartTlsWait => Some((self.deadline, "StartTLS")),
            Stage::Handshake => Some((self.deadline, "TLS")),
            Stage::OpenWait => Some((self.deadline, "Open")),
            Stage::KeepWait => Some((self.deadline, "Keepalive")),
            Stage::Up => {
                let dead = self.silence().map(|silence| (self.last_heard + silence, "dead timer"));
                let keepalive = self.ours.interval().map(|every| (self.last_sent + every, "keepalive"));
                dead.into_iter().chain(keepalive).min()
            }
            Stage::Closed => None,
        }
    }

    /// Takes what the peer sent, in any segmentation.
    pub fn handle_bytes(&mut self, bytes: &[u8], now: Instant) {
        self.now = now;
        if matches!(self.stage, Stage::Closed | Stage::Handshake) {
            return;
        }
        self.input.drain(..std::mem::take(&mut self.used));
        self.input.extend_from_slice(bytes);
        self.advance();
    }

    /// The peer will send no more. What came whole has been told before.
    pub fn handle_eof(&mut self) {
        while self.stage == Stage::Up && self.has_message() {
            self.step();
        }
        self.end(Reason::Dropped);
    }

    /// TLS is there, or could not be set up.
    pub fn handle_tls(&mut self, is_up: bool, now: Instant) {
        self.now = now;
        if self.stage != Stage::Handshake {
            return;
        }
        if is_up {
            self.open();
        } else {
            self.end(Reason::TlsFailed);
        }
    }

    /// Time has passed; what is due happens.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        let Some((due, _)) = self.poll_timeout() else { return };
        if due > now {
            return;
        }
        match self.stage {
            Stage::StartTlsWait => self.refuse_session(ErrorCode::NO_STARTTLS),
            Stage::Handshake => self.end(Reason::TlsFailed),
            Stage::OpenWait => self.refuse_session(ErrorCode::NO_OPEN),
            Stage::KeepWait => self.refuse_session(ErrorCode::NO_KEEPALIVE),
            Stage::Up => self.alive(),
            Stage::Closed => {}
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The session is not up, or the message is too long.
    pub fn send(&mut self, message: &Message, now: Instant) -> Result<(), SendError> {
        self.now = now;
        if self.stage != Stage::Up {
            return Err(SendError::NotUp);
        }
        let bytes = message.encode()?;
        self.put_bytes(message.kind, bytes);
        Ok(())
    }

    /// Tells the peer that something of it is not accepted. Before the session is up nothing happens.
    pub fn refuse(&mut self, code: ErrorCode, about: Option<Reference>, now: Instant) {
        self.now = now;
        if self.stage == Stage::Up {
            self.put(&error_message(code, about, Vec::new()));
        }
    }

    /// The peer spoke of a request of which nothing is known. Too many of these end the session.
    pub fn unknown_request(&mut self, number: u32, now: Instant) {
        self.now = now;
        if self.stage != Stage::Up {
            return;
        }
        self.counters.unknown_requests += 1;
        if self.unknown_requests.is_exceeded(now) {
            self.close_with(CloseReason::UNKNOWN_REQUESTS);
        } else {
            self.put(&error_message(
                ErrorCode::UNKNOWN_REQUEST,
                Some(Reference::Request(number)),
                Vec::new(),
            ));
        }
    }

    /// Ends the session from our side.
    pub fn close(&mut self, reason: CloseReason, now: Instant) {
        self.now = now;
        match self.stage {
            Stage::Up | Stage::OpenWait | Stage::KeepWait => self.close_with(reason),
            Stage::StartTlsWait | Stage::Handshake => self.end(Reason::ByUs(reason)),
            Stage::Closed => {}
        }
    }

    /// The silence after which the peer counts as dead: its own dead timer, or longer by the profile.
    fn silence(&self) -> Option<Duration> {
        let peer = self.peer.as_ref()?;
        let silence = Timers::of(peer).silence()?;
        Some(silence.max(self.settings.profile.patience.unwrap_or_default()))
    }

    fn alive(&mut self) {
        if let Some(silence) = self.silence()
            && self.now >= self.last_heard + silence
        {
            self.put(&close_message(CloseReason::DEAD_TIMER));
            self.end(Reason::Silent(silence));
            return;
        }
        if self.ours.interval().is_some_and(|every| self.now >= self.last_sent + every) {
            self.put(&Message::bare(MessageType::Keepalive));
        }
    }

    /// Says our Open.
    fn open(&mut self) {
        self.enter(Stage::OpenWait, self.settings.limits.open);
        self.say_open();
    }

    fn say_open(&mut self) {
        let tlvs = self.settings.capabilities.to_tlvs(&self.settings.profile);
        let Timers { keepalive, dead } = self.ours;
        let open = Open::new(keepalive, dead, self.settings.session, tlvs);
        self.put(&Message::new(MessageType::Open, vec![Object::required(Body::Open(open))]));
    }

    fn enter(&mut self, stage: Stage, within: Duration) {
        (self.stage, self.deadline) = (stage, self.now + within);
    }

    fn advance(&mut self) {
        while self.outputs.len() < OUTPUTS && self.has_message() {
            self.step();
        }
    }

    /// What is not decoded yet.
    fn waiting(&self) -> &[u8] {
        self.input.get(self.used..).unwrap_or_default()
    }

    /// Is there a whole message, or a header that is none?
    fn has_message(&self) -> bool {
        if matches!(self.stage, Stage::Closed | Stage::Handshake) {
            return false;
        }
        let waiting = self.waiting();
        match waiting.first_chunk::<{ Header::LENGTH }>() {
            None => false,
            Some(bytes) => {
                Header::decode(*bytes).map_or(true, |header| waiting.len() >= usize::from(header.length))
            }
        }
    }

    /// Takes one message.
    fn step(&mut self) {
        let waiting = self.waiting();
        let Some(bytes) = waiting.first_chunk::<{ Header::LENGTH }>() else { return };
        let header = match Header::decode(*bytes) {
            Ok(header) => header,
            Err(error) => return self.unreadable(None, error),
        };
        let Some(message) = waiting.get(..usize::from(header.length)) else { return };
        let message = Message::decode(message);
        self.used += usize::from(header.length);
        self.last_heard = self.now;
        self.counters.received(header.kind);
        match message {
            Ok(message) => self.message(message),
            Err(error) => self.unreadable(Some(header.kind), error),
        }
    }

    fn unreadable(&mut self, kind: Option<MessageType>, error: DecodeError) {
        self.counters.unreadable += 1;
        if self.stage != Stage::Up {
            let is_version = matches!(error.fault, crate::codec::Fault::Version { .. });
            let code = if is_version { ErrorCode::VERSION } else { ErrorCode::INVALID_OPEN };
            return self.refuse_session(code);
        }
        match error.remedy() {
            Remedy::CloseMalformed => {
                self.put(&close_message(CloseReason::MALFORMED));
                self.end(Reason::Malformed(error));
            }
            // An error is never answered with one: two peers would go on for ever.
            Remedy::Error(_) if kind == Some(MessageType::Error) => {
                self.outputs.push_back(Output::Unreadable(error))
            }
            Remedy::Error(code) => {
                self.put(&error_message(code, error.about, Vec::new()));
                self.outputs.push_back(Output::Unreadable(error));
            }
        }
    }

    fn message(&mut self, message: Message) {
        match self.stage {
            Stage::StartTlsWait => self.before_tls(message),
            Stage::OpenWait => self.in_open_wait(message),
            Stage::KeepWait => self.in_keep_wait(message),
            Stage::Up => self.when_up(message),
            Stage::Handshake | Stage::Closed => {}
        }
    }

    /// RFC 8253 section 3.2. That an Open is `1/1` where TLS is required is our reading: the error table keeps 25/2 for
    /// other messages.
    fn before_tls(&mut self, message: Message) {
        let may_go_without = self.settings.tls == Tls::Preferred;
        match message.kind {
            MessageType::StartTls => {
                self.enter(Stage::Handshake, self.settings.limits.start_tls);
                let rest = self.waiting().to_vec();
                (self.input, self.used) = (Vec::new(), 0);
                self.outputs.push_back(Output::StartTls(rest));
            }
            MessageType::Open if may_go_without => {
                self.open();
                self.in_open_wait(message);
            }
            MessageType::Open => self.refuse_session(ErrorCode::INVALID_OPEN),
            MessageType::Error => match error_code(&message) {
                Some(ErrorCode::TLS_OPTIONAL) if may_go_without => self.open(),
                code => self.end(Reason::RefusedByPeer(code.unwrap_or(ErrorCode::TLS_REQUIRED))),
            },
            MessageType::Keepalive
            | MessageType::PathRequest
            | MessageType::PathReply
            | MessageType::Notification
            | MessageType::Close
            | MessageType::Report
            | MessageType::Update
            | MessageType::Initiate
            | MessageType::Unknown(_) => self.refuse_session(ErrorCode::STARTTLS_EXPECTED),
        }
    }

    fn in_open_wait(&mut self, message: Message) {
        match message.kind {
            MessageType::Open => self.peer_open(&message),
            // It has read our Open before it sends its own; both may also come at once.
            MessageType::Keepalive => self.is_ours_accepted = true,
            MessageType::Error => self.open_refused(&message),
            MessageType::Close => self.closed_by_peer(&message),
            MessageType::StartTls if self.settings.tls == Tls::None && self.peer.is_none() => {
                self.put(&error_message(ErrorCode::TLS_OPTIONAL, None, Vec::new()));
            }
            MessageType::StartTls => self.refuse_session(ErrorCode::STARTTLS_LATE),
            MessageType::PathRequest
            | MessageType::PathReply
            | MessageType::Notification
            | MessageType::Report
            | MessageType::Update
            | MessageType::Initiate
            | MessageType::Unknown(_) => self.refuse_session(ErrorCode::INVALID_OPEN),
        }
    }

    fn in_keep_wait(&mut self, message: Message) {
        match message.kind {
            MessageType::Keepalive => {
                self.is_ours_accepted = true;
                self.come_up();
            }
            MessageType::Error => self.open_refused(&message),
            MessageType::Close => self.closed_by_peer(&message),
            MessageType::StartTls => self.refuse_session(ErrorCode::STARTTLS_LATE),
            MessageType::Open
            | MessageType::PathRequest
            | MessageType::PathReply
            | MessageType::Notification
            | MessageType::Report
            | MessageType::Update
            | MessageType::Initiate
            | MessageType::Unknown(_) => self.refuse_session(ErrorCode::INVALID_OPEN),
        }
    }

    fn when_up(&mut self, message: Message) {
        match message.kind {
            MessageType::Keepalive => {}
            MessageType::Open => self.put(&error_message(ErrorCode::SECOND_SESSION, None, Vec::new())),
            MessageType::Close => self.closed_by_peer(&message),
            MessageType::StartTls => self.refuse_session(ErrorCode::STARTTLS_LATE),
            MessageType::PathRequest
            | MessageType::PathReply
            | MessageType::Notification
            | MessageType::Error
            | MessageType::Report
            | MessageType::Update
            | MessageType::Initiate => self.outputs.push_back(Output::Message(message)),
            MessageType::Unknown(_) => {
                self.counters.unknown_messages += 1;
                if self.unknown_messages.is_exceeded(self.now) {
                    self.close_with(CloseReason::UNKNOWN_MESSAGES);
                } else {
                    self.put(&error_message(ErrorCode::CAPABILITY, None, Vec::new()));
                }
            }
        }
    }

    fn peer_open(&mut self, message: &Message) {
        let Some(Body::Open(open)) = message.objects.first().map(|object| &object.body) else {
            return self.refuse_session(ErrorCode::INVALID_OPEN);
        };
        match negotiation::judge(open, &self.settings) {
            Verdict::Accept => {
                self.peer = Some(open.clone());
                self.put(&Message::bare(MessageType::Keepalive));
                if self.is_ours_accepted {
                    self.come_up();
                } else {
                    self.enter(Stage::KeepWait, self.settings.limits.keep);
                }
            }
            Verdict::Propose(_) if self.has_refused => self.refuse_session(ErrorCode::STILL_UNACCEPTABLE),
            Verdict::Propose(timers) => {
                self.has_refused = true;
                let proposal = Open { keepalive: timers.keepalive, dead_timer: timers.dead, ..open.clone() };
                let proposal = Object::new(Body::Open(proposal));
                self.put(&error_message(ErrorCode::NEGOTIABLE, None, vec![proposal]));
                self.enter(Stage::OpenWait, self.settings.limits.open);
            }
            Verdict::Refuse(code) => self.refuse_session(code),
        }
    }

    /// The peer did not accept our Open.
    fn open_refused(&mut self, message: &Message) {
        let code = error_code(message).unwrap_or(ErrorCode::UNACCEPTABLE);
        // After StartTLS that the other side does not want, it may say so and go on.
        if code == ErrorCode::TLS_OPTIONAL {
            return;
        }
        if code != ErrorCode::NEGOTIABLE || self.was_refused {
            return self.end(Reason::RefusedByPeer(code));
        }
        self.was_refused = true;
        let proposal = message.objects.iter().find_map(|object| {
            if let Body::Open(open) = &object.body { Some(Timers::of(open)) } else { None }
        });
        match proposal.filter(|timers| self.settings.acceptable.allows(*timers)) {
            Some(timers) => {
                self.ours = timers;
                self.is_ours_accepted = false;
                self.say_open();
                let within = if self.stage == Stage::OpenWait {
                    self.settings.limits.open
                } else {
                    self.settings.limits.keep
                };
                self.enter(self.stage, within);
            }
            None => self.refuse_session(ErrorCode::PROPOSAL_UNACCEPTABLE),
        }
    }

    fn come_up(&mut self) {
        let Some(peer) = &self.peer else { return };
        let theirs = Capabilities::of(peer);
        let common = Common::new(&self.settings, &theirs);
        self.stage = Stage::Up;
        self.outputs.push_back(Output::Up(Box::new(common)));
    }

    fn closed_by_peer(&mut self, message: &Message) {
        let reason = message
            .objects
            .iter()
            .find_map(|object| if let Body::Close(close) = &object.body { Some(close.reason) } else { None });
        self.end(Reason::ByPeer(reason.unwrap_or(CloseReason::NONE)));
    }

    /// Ends it with a PCErr message, as what fails before it is up is told.
    fn refuse_session(&mut self, code: ErrorCode) {
        self.put(&error_message(code, None, Vec::new()));
        self.end(Reason::Refused(code));
    }

    fn close_with(&mut self, reason: CloseReason) {
        self.put(&close_message(reason));
        self.end(Reason::ByUs(reason));
    }

    fn end(&mut self, reason: Reason) {
        if self.stage != Stage::Closed {
            self.stage = Stage::Closed;
            (self.input, self.used) = (Vec::new(), 0);
            self.outputs.push_back(Output::Closed(reason));
        }
    }

    /// Sends a message of ours, which is short.
    fn put(&mut self, message: &Message) {
        if let Ok(bytes) = message.encode() {
            self.put_bytes(message.kind, bytes);
        }
    }

    fn put_bytes(&mut self, kind: MessageType, bytes: Vec<u8>) {
        self.last_sent = self.now;
        self.counters.sent(kind);
        self.outputs.push_back(Output::Send(bytes));
    }
}

fn close_message(reason: CloseReason) -> Message {
    Message::new(MessageType::Close, vec![Object::new(Body::Close(Close::new(reason)))])
}

/// A PCErr message, with what it is about before the error and what belongs to it behind.
pub fn error_message(code: ErrorCode, about: Option<Reference>, behind: Vec<Object>) -> Message {
    let about = about.map(|about| match about {
        Reference::Request(request) => Body::Rp(Rp { flags: RpFlags(0), request, tlvs: Vec::new() }),
        Reference::Operation(operation) => Body::Srp(Srp { flags: SrpFlags(0), operation, tlvs: Vec::new() }),
    });
    let error = Body::Error(PcepError::new(code));
    let objects = about.into_iter().chain([error]).map(Object::new).chain(behind).collect();
    Message::new(MessageType::Error, objects)
}

/// The first error of a PCErr message.
fn error_code(message: &Message) -> Option<ErrorCode> {
    let mut bodies = message.objects.iter().map(|object| &object.body);
    bodies.find_map(|body| if let Body::Error(error) = body { Some(error.code) } else { None })
}

#[cfg(test)]
mod tests;
