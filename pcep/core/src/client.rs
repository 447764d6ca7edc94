//! A PCC's requests, over its sessions with several PCEs (RFC 5440 section 4.2).
//!
//! Each request goes to the best PCE that is up, and to the next one if that does not answer in time, refuses or is lost. An
//! attempt has a number of its own, so an answer changes something only if it has the number of the present attempt and
//! comes from the PCE that was asked: late, repeated and foreign answers are told for counting, and nothing else. After the
//! deadline nothing brings a request back. It knows no sessions: these are told to be up or down, and take the messages.

mod ask;

pub use ask::{Ask, Hop};

use crate::codec::object::{NoPath, Notification, Rp, RpFlags};
use crate::codec::tlv::{NoPathReasons, TlvValue};
use crate::codec::{Body, Message, MessageType, Object, Reference};
use crate::errors::ErrorCode;
use crate::grammar::{self, Context, Outcome, Path, Reply};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};
use thiserror::Error as ThisError;

/// A PCE, by the number that the configuration gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PceId(pub u32);

/// The bounds of a client; [`Limits::default`] is right for most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Within so much time there is an answer, of whichever PCE. 500 ms.
    pub deadline: Duration,
    /// After so much time the next PCE is asked, if there is one. 200 ms.
    pub attempt: Duration,
    /// So many requests wait at most. 10,000.
    pub pending: usize,
    /// Of so many ended attempts the numbers are known, to tell a late answer from a foreign one. 10,000.
    pub ended: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let millis = Duration::from_millis;
        Self { deadline: millis(500), attempt: millis(200), pending: 10_000, ended: 10_000 }
    }
}

/// What a client has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A message for the session with a PCE.
    Send {
        /// Which.
        pce: PceId,
        /// What.
        message: Message,
    },
    /// The end of a request.
    Answer {
        /// By which the request is known to who asked.
        key: u64,
        /// Of which PCE, and what; the paths that it found, the best one first.
        result: Result<(PceId, Vec<Path>), Failed>,
    },
    /// An answer that changes nothing.
    Ignored {
        /// Who sent it.
        pce: PceId,
        /// Which number it has.
        request: u32,
        /// Why.
        why: Ignored,
    },
}

/// Why a request has no path.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum Failed {
    /// No PCE can be asked.
    #[error("no PCE is up that sets paths up in that way")]
    NoPce,
    /// None answered.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// There is none.
    #[error("there is no path: nature {}", .0.nature)]
    NoPath(NoPath),
    /// The request was refused.
    #[error("refused with the error {0}")]
    Refused(ErrorCode),
    /// A path came that cannot be used by the headend.
    #[error("a path that cannot be used: {0}")]
    Unusable(ErrorCode),
    /// A path came that leads elsewhere.
    #[error("a path that ends elsewhere than was asked for")]
    OtherEndpoint,
    /// The PCE withdrew from it.
    #[error("cancelled by the PCE")]
    Cancelled,
    /// Too many wait.
    #[error("{limit} requests wait already")]
    TooMany {
        /// How many may.
        limit: usize,
    },
}

/// Why an answer changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// Its attempt has ended: it is late, or a repetition.
    Ended,
    /// Another PCE was asked.
    OtherPce,
    /// No attempt has that number: the session is to be told of an unknown request.
    Unknown,
}

#[derive(Debug)]
struct Pce {
    preference: u8,
    /// Absent: its session is not up.
    context: Option<Context>,
    congested_until: Option<Instant>,
}

#[derive(Debug)]
struct Pending {
    key: u64,
    ask: Ask,
    pce: PceId,
    tried: Vec<PceId>,
    deadline: Instant,
    /// When something is due: the end of the attempt, or of the request.
    due: Instant,
}

/// The client; the module's page says what it does. After each call the outputs are to be drained.
#[derive(Debug)]
pub struct Client {
    limits: Limits,
    pces: BTreeMap<PceId, Pce>,
    pending: BTreeMap<u32, Pending>,
    numbers: BTreeMap<u64, u32>,
    due: BTreeSet<(Instant, u32)>,
    ended: BTreeSet<u32>,
    ended_in_order: VecDeque<u32>,
    last: u32,
    outputs: VecDeque<Output>,
}

impl Client {
    /// One that asks nobody yet. The first request has the number behind `last`, which a restart should change.
    pub fn new(limits: Limits, last: u32) -> Self {
        Self {
            limits,
            pces: BTreeMap::new(),
            pending: BTreeMap::new(),
            numbers: BTreeMap::new(),
            due: BTreeSet::new(),
            ended: BTreeSet::new(),
            ended_in_order: VecDeque::new(),
            last,
            outputs: VecDeque::new(),
        }
    }

    /// The PCEs with their preferences; the lowest is asked first. What was asked of one that is gone is asked of another.
    pub fn configure(&mut self, pces: &[(PceId, u8)], now: Instant) {
        let stay: BTreeMap<PceId, u8> = pces.iter().copied().collect();
        let gone: Vec<PceId> = self.pces.keys().copied().filter(|pce| !stay.contains_key(pce)).collect();
        for pce in gone {
            self.handle_down(pce, now);
            self.pces.remove(&pce);
        }
        for (pce, preference) in stay {
            let known =
                self.pces.entry(pce).or_insert(Pce { preference, context: None, congested_until: None });
            known.preference = preference;
        }
    }

    /// The next output.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Client::handle_timeout`] is to be called, and for what.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.due.first().map(|(due, _)| (*due, "path request"))
    }

    /// How many requests wait.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// A session is up.
    pub fn handle_up(&mut self, pce: PceId, context: Context) {
        if let Some(known) = self.pces.get_mut(&pce) {
            (known.context, known.congested_until) = (Some(context), None);
        }
    }

    /// A session is lost. What was asked over it is asked of the next PCE.
    pub fn handle_down(&mut self, pce: PceId, now: Instant) {
        if let Some(known) = self.pces.get_mut(&pce) {
            known.context = None;
        }
        let lost: Vec<u32> = self
            .pending
            .iter()
            .filter(|(_, pending)| pending.pce == pce)
            .map(|(number, _)| *number)
            .collect();
        for number in lost {
            self.go_on(number, Failed::NoPce, now);
        }
    }

    /// Asks for a path. The key is of who asks, and none that waits has it.
    pub fn request(&mut self, key: u64, ask: Ask, now: Instant) {
        let limit = self.limits.pending;
        if self.pending.len() >= limit {
            return self.fail(key, Failed::TooMany { limit });
        }
        let deadline = now + self.limits.deadline;
        match self.best(&ask, &[], now) {
            Some(pce) => self.attempt(Attempt { key, ask, pce, tried: Vec::new(), deadline }, now),
            None => self.fail(key, Failed::NoPce),
        }
    }

    /// Nobody waits for it any more.
    pub fn cancel(&mut self, key: u64) {
        if let Some(number) = self.numbers.get(&key).copied()
            && let Some(pending) = self.end(number)
        {
            self.withdraw(pending.pce, number);
        }
    }

    /// Time has passed; what is due happens.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, number)) = self.due.first().copied().filter(|(due, _)| *due <= now) {
            let Some(pending) = self.pending.get(&number) else {
                self.due.pop_first();
                continue;
            };
            let (pce, deadline) = (pending.pce, pending.deadline);
            if now >= deadline {
                self.withdraw(pce, number);
                if let Some(pending) = self.end(number) {
                    self.fail(pending.key, Failed::Timeout(self.limits.deadline));
                }
            } else if self.next(number, now).is_some() {
                self.withdraw(pce, number);
                self.go_on(number, Failed::Timeout(self.limits.deadline), now);
            } else {
                // Nobody else can be asked: this one may still answer.
                self.set_due(number, deadline);
            }
        }
    }

    /// Takes a message of a session that is up.
    pub fn handle_message(&mut self, pce: PceId, message: &Message, now: Instant) {
        let Some(context) = self.pces.get(&pce).and_then(|pce| pce.context.clone()) else { return };
        match message.kind {
            MessageType::PathReply => self.replies(pce, message, &context, now),
            MessageType::Error => self.failures(pce, message, now),
            MessageType::Notification => self.notices(pce, message, now),
            MessageType::Open
            | MessageType::Keepalive
            | MessageType::PathRequest
            | MessageType::Close
            | MessageType::Report
            | MessageType::Update
            | MessageType::Initiate
            | MessageType::StartTls
            | MessageType::Unknown(_) => {}
        }
    }

    fn replies(&mut self, pce: PceId, message: &Message, context: &Context, now: Instant) {
        let parsed = grammar::replies(message, context);
        for refusal in parsed.refusals {
            if let Some(Reference::Request(number)) = refusal.about
                && self.concerns(pce, number)
            {
                self.go_on(number, Failed::Unusable(refusal.code), now);
            }
        }
        for reply in parsed.items {
            if self.concerns(pce, reply.rp.request) {
                self.reply(pce, reply, now);
            }
        }
    }

    fn reply(&mut self, pce: PceId, reply: Reply, now: Instant) {
        let number = reply.rp.request;
        let Some(pending) = self.pending.get(&number) else { return };
        match reply.outcome {
            Outcome::NoPath { reason, .. } if is_unavailable(&reason) => {
                self.go_on(number, Failed::NoPath(reason), now)
            }
            Outcome::NoPath { reason, .. } => {
                if let Some(pending) = self.end(number) {
                    self.fail(pending.key, Failed::NoPath(reason));
                }
            }
            Outcome::Paths(paths) => match pending.ask.judge(&reply.rp, &paths) {
                Err(failed) => self.go_on(number, failed, now),
                Ok(()) => {
                    if let Some(Pending { key, .. }) = self.end(number) {
                        self.outputs.push_back(Output::Answer { key, result: Ok((pce, paths)) });
                    }
                }
            },
        }
    }

    fn failures(&mut self, pce: PceId, message: &Message, now: Instant) {
        for failure in grammar::failures(message) {
            let code = failure.codes.first().copied().unwrap_or(ErrorCode::UNSUPPORTED_PARAMETER);
            for number in failure.about.iter().filter_map(requested) {
                if self.concerns(pce, number) {
                    self.go_on(number, Failed::Refused(code), now);
                }
            }
        }
    }

    fn notices(&mut self, pce: PceId, message: &Message, now: Instant) {
        for notice in grammar::notices(message) {
            for notification in &notice.notifications {
                match (notification.kind, notification.value) {
                    (1, 2) => {
                        for number in notice.about.iter().filter_map(requested) {
                            if self.concerns(pce, number) {
                                self.go_on(number, Failed::Cancelled, now);
                            }
                        }
                    }
                    (2, 1) => self.set_congested(pce, Some(now + overload(notification))),
                    (2, 2) => self.set_congested(pce, None),
                    _ => {}
                }
            }
        }
    }

    fn set_congested(&mut self, pce: PceId, until: Option<Instant>) {
        if let Some(pce) = self.pces.get_mut(&pce) {
            pce.congested_until = until;
        }
    }

    /// Is it an answer to a present attempt? If not, that is told.
    fn concerns(&mut self, pce: PceId, request: u32) -> bool {
        let why = match self.pending.get(&request) {
            Some(pending) if pending.pce == pce => return true,
            Some(_) => Ignored::OtherPce,
            None if self.ended.contains(&request) => Ignored::Ended,
            None => Ignored::Unknown,
        };
        self.outputs.push_back(Output::Ignored { pce, request, why });
        false
    }

    /// The best PCE that was not tried: one that is not congested before one that is, then by preference.
    fn best(&self, ask: &Ask, tried: &[PceId], now: Instant) -> Option<PceId> {
        let usable = self.pces.iter().filter(|(id, pce)| {
            let can = pce.context.as_ref().is_some_and(|context| context.setup_types.contains(&ask.setup));
            can && !tried.contains(id)
        });
        let rank = |pce: &Pce| (pce.congested_until.is_some_and(|until| until > now), pce.preference);
        usable.min_by_key(|(id, pce)| (rank(pce), **id)).map(|(id, _)| *id)
    }

    /// Whom to ask next.
    fn next(&self, number: u32, now: Instant) -> Option<PceId> {
        let pending = self.pending.get(&number)?;
        let tried: Vec<PceId> = pending.tried.iter().copied().chain([pending.pce]).collect();
        self.best(&pending.ask, &tried, now)
    }

    /// An attempt has come to nothing: the next PCE is asked, or the request fails for that reason.
    fn go_on(&mut self, number: u32, failed: Failed, now: Instant) {
        let next = self.next(number, now);
        let Some(Pending { key, ask, pce: before, mut tried, deadline, .. }) = self.end(number) else {
            return;
        };
        match next {
            Some(pce) if now < deadline => {
                tried.push(before);
                self.attempt(Attempt { key, ask, pce, tried, deadline }, now);
            }
            Some(_) | None => self.fail(key, failed),
        }
    }

    fn attempt(&mut self, attempt: Attempt, now: Instant) {
        let Attempt { key, ask, pce, tried, deadline } = attempt;
        let number = self.number();
        let due = deadline.min(now + self.limits.attempt);
        self.outputs.push_back(Output::Send { pce, message: ask.message(number) });
        self.pending.insert(number, Pending { key, ask, pce, tried, deadline, due });
        self.numbers.insert(key, number);
        self.due.insert((due, number));
    }

    /// The next number: never 0, and none that waits or was used a short time ago.
    fn number(&mut self) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            let is_used = self.pending.contains_key(&self.last) || self.ended.contains(&self.last);
            if self.last != 0 && !is_used {
                return self.last;
            }
        }
    }

    fn set_due(&mut self, number: u32, due: Instant) {
        if let Some(pending) = self.pending.get_mut(&number) {
            self.due.remove(&(pending.due, number));
            pending.due = due;
            self.due.insert((due, number));
        }
    }

    /// Takes an attempt out; its number is remembered.
    fn end(&mut self, number: u32) -> Option<Pending> {
        let pending = self.pending.remove(&number)?;
        self.due.remove(&(pending.due, number));
        self.numbers.remove(&pending.key);
        self.ended.insert(number);
        self.ended_in_order.push_back(number);
        if self.ended_in_order.len() > self.limits.ended
            && let Some(oldest) = self.ended_in_order.pop_front()
        {
            self.ended.remove(&oldest);
        }
        Some(pending)
    }

    /// Lets a PCE know that nobody waits any more.
    fn withdraw(&mut self, pce: PceId, number: u32) {
        let rp = Rp { flags: RpFlags(0), request: number, tlvs: Vec::new() };
        let cancelled = Notification { reserved: 0, flags: 0, kind: 1, value: 1, tlvs: Vec::new() };
        let objects = [Body::Rp(rp), Body::Notification(cancelled)].map(Object::new).into();
        self.outputs
            .push_back(Output::Send { pce, message: Message::new(MessageType::Notification, objects) });
    }

    fn fail(&mut self, key: u64, failed: Failed) {
        self.outputs.push_back(Output::Answer { key, result: Err(failed) });
    }
}

/// An attempt that is to be made.
struct Attempt {
    key: u64,
    ask: Ask,
    pce: PceId,
    tried: Vec<PceId>,
    deadline: Instant,
}

fn requested(about: &Reference) -> Option<u32> {
    match about {
        Reference::Request(number) => Some(*number),
        Reference::Operation(_) => None,
    }
}

/// It does not mean that there is no path, only that this PCE cannot say.
fn is_unavailable(reason: &NoPath) -> bool {
    reason.tlvs.iter().any(
        |tlv| matches!(&tlv.value, TlvValue::NoPathVector(reasons) if reasons.contains(NoPathReasons::UNAVAILABLE)),
    )
}

/// For how long a PCE will be congested; ten seconds if it does not say.
fn overload(notification: &Notification) -> Duration {
    let told = notification.tlvs.iter().find_map(|tlv| match &tlv.value {
        TlvValue::OverloadDuration(seconds) => Some(*seconds),
        _ => None,
    });
    Duration::from_secs(u64::from(told.unwrap_or(10).min(3600)))
}

#[cfg(test)]
mod tests;
