//! A PCE's requests, over its sessions with PCCs (RFC 5440 sections 4.2.3, 4.2.4, 6.6).
//!
//! It takes requests in, bounds them by peer and in all, hands them on to be computed, and writes the replies for the peer
//! that asked: with the numbers that it knows, in the form that it reads, and never with a path that its headend cannot
//! impose. It computes nothing, and knows no session but by its number.

use crate::codec::object::{NoPath, NoPathFlags, Notification, Rp, RpFlags};
use crate::codec::tlv::{NoPathReasons, SetupType, TlvValue};
use crate::codec::{Body, Message, MessageType, Object, Reference, SubobjectValue};
use crate::connections::ConnectionId;
use crate::errors::ErrorCode;
use crate::grammar::{self, Context, Path, Request};
use crate::session::{Style, error_message};
use std::collections::{BTreeMap, VecDeque};

/// The bounds of a server; [`Limits::default`] is right for most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many requests of a peer wait. 1,000.
    pub of_a_peer: usize,
    /// How many wait in all. 10,000.
    pub in_all: usize,
    /// For how many seconds a peer that asked for more is told to wait. 5.
    pub overload: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { of_a_peer: 1_000, in_all: 10_000, overload: 5 }
    }
}

/// A request that waits for its computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// What a server has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A message for a session.
    Send {
        /// Which.
        to: ConnectionId,
        /// What.
        message: Message,
    },
    /// A path is to be computed.
    Compute {
        /// By which [`Server::answer`] is told of it.
        ticket: Ticket,
        /// What is asked for.
        request: Box<Request>,
    },
    /// Nobody waits for that computation any more.
    Forget(Ticket),
}

/// What was computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Paths, the best one first.
    Paths(Vec<Path>),
    /// None, for these reasons.
    NoPath(NoPathReasons),
}

#[derive(Debug)]
struct Peer {
    context: Context,
    style: Style,
    waiting: BTreeMap<u32, Ticket>,
    is_told_to_wait: bool,
}

#[derive(Debug)]
struct Waiting {
    peer: ConnectionId,
    rp: Rp,
    setup: SetupType,
}

/// The server; the module's page says what it does. After each call the outputs are to be drained.
#[derive(Debug)]
pub struct Server {
    limits: Limits,
    peers: BTreeMap<ConnectionId, Peer>,
    waiting: BTreeMap<Ticket, Waiting>,
    last: u64,
    outputs: VecDeque<Output>,
}

impl Server {
    /// One without peers.
    pub fn new(limits: Limits) -> Self {
        Self { limits, peers: BTreeMap::new(), waiting: BTreeMap::new(), last: 0, outputs: VecDeque::new() }
    }

    /// The next output.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// A session is up.
    pub fn handle_up(&mut self, peer: ConnectionId, context: Context, style: Style) {
        self.handle_down(peer);
        self.peers.insert(peer, Peer { context, style, waiting: BTreeMap::new(), is_told_to_wait: false });
    }

    /// A session has ended; what it asked for is not waited for any more.
    pub fn handle_down(&mut self, peer: ConnectionId) {
        let Some(gone) = self.peers.remove(&peer) else { return };
        for ticket in gone.waiting.into_values() {
            self.waiting.remove(&ticket);
            self.outputs.push_back(Output::Forget(ticket));
        }
    }

    /// Takes a message of a session that is up.
    pub fn handle_message(&mut self, from: ConnectionId, message: &Message) {
        match message.kind {
            MessageType::PathRequest => self.requests(from, message),
            MessageType::Notification => self.notices(from, message),
            MessageType::Open
            | MessageType::Keepalive
            | MessageType::PathReply
            | MessageType::Error
            | MessageType::Close
            | MessageType::Report
            | MessageType::Update
            | MessageType::Initiate
            | MessageType::StartTls
            | MessageType::Unknown(_) => {}
        }
    }

    /// A path was computed, or there is none. If nobody waits for it any more nothing happens.
    pub fn answer(&mut self, ticket: Ticket, answer: Answer) {
        let Some(waiting) = self.waiting.remove(&ticket) else { return };
        let Some(peer) = self.peers.get_mut(&waiting.peer) else { return };
        peer.waiting.remove(&waiting.rp.request);
        let objects = match answer {
            Answer::Paths(paths) if paths.iter().all(|path| can_impose(path, &peer.style)) => {
                paths.into_iter().flat_map(|path| in_style(path, waiting.setup, &peer.style)).collect()
            }
            Answer::Paths(_) => vec![no_path(NoPathReasons(0))],
            Answer::NoPath(reasons) => vec![no_path(reasons)],
        };
        let objects = [vec![Object::required(Body::Rp(waiting.rp))], objects].concat();
        let message = Message::new(MessageType::PathReply, objects);
        self.outputs.push_back(Output::Send { to: waiting.peer, message });
        self.relieve(waiting.peer);
    }

    fn requests(&mut self, from: ConnectionId, message: &Message) {
        let Some(peer) = self.peers.get(&from) else { return };
        let (parsed, together) = grammar::requests(message, &peer.context);
        for refusal in parsed.refusals {
            self.send(from, error_message(refusal.code, refusal.about, Vec::new()));
        }
        let present: Vec<u32> = parsed.items.iter().map(|request| request.rp.request).collect();
        let is_whole =
            |group: &&grammar::Together| group.requests.iter().all(|number| present.contains(number));
        let broken: Vec<u32> = together
            .iter()
            .filter(|group| !is_whole(group))
            .flat_map(|group| group.requests.clone())
            .collect();
        for request in parsed.items {
            let number = request.rp.request;
            if broken.contains(&number) {
                let about = Some(Reference::Request(number));
                self.send(from, error_message(ErrorCode::SYNCHRONISED_REQUEST_MISSING, about, Vec::new()));
            } else {
                self.request(from, request);
            }
        }
    }

    fn request(&mut self, from: ConnectionId, request: Request) {
        let number = request.rp.request;
        let is_full = self.waiting.len() >= self.limits.in_all;
        let Some(peer) = self.peers.get_mut(&from) else { return };
        // It was asked before and is computed already: one answer is enough.
        if peer.waiting.contains_key(&number) {
            return;
        }
        if is_full || peer.waiting.len() >= self.limits.of_a_peer {
            return self.turn_away(from, number);
        }
        self.last += 1;
        let ticket = Ticket(self.last);
        peer.waiting.insert(number, ticket);
        let rp = Rp { flags: RpFlags(0), request: number, tlvs: request.rp.tlvs.clone() };
        self.waiting.insert(ticket, Waiting { peer: from, rp, setup: request.setup });
        self.outputs.push_back(Output::Compute { ticket, request: Box::new(request) });
    }

    /// The request is cancelled, and the peer is told once to wait.
    fn turn_away(&mut self, from: ConnectionId, number: u32) {
        self.send(from, notice(Some(number), 1, 2, Vec::new()));
        let seconds = self.limits.overload;
        if let Some(peer) = self.peers.get_mut(&from).filter(|peer| !peer.is_told_to_wait) {
            peer.is_told_to_wait = true;
            self.send(from, notice(None, 2, 1, vec![TlvValue::OverloadDuration(seconds)]));
        }
    }

    /// A peer that was told to wait may go on when half of its requests are answered.
    fn relieve(&mut self, peer: ConnectionId) {
        let half = self.limits.of_a_peer / 2;
        let is_free = |known: &&mut Peer| known.is_told_to_wait && known.waiting.len() <= half;
        if let Some(known) = self.peers.get_mut(&peer).filter(is_free) {
            known.is_told_to_wait = false;
            self.send(peer, notice(None, 2, 2, Vec::new()));
        }
    }

    fn notices(&mut self, from: ConnectionId, message: &Message) {
        let cancels = |told: &Notification| (told.kind, told.value) == (1, 1);
        for notice in grammar::notices(message) {
            if !notice.notifications.iter().any(cancels) {
                continue;
            }
            for about in notice.about {
                self.cancel(from, about);
            }
        }
    }

    fn cancel(&mut self, from: ConnectionId, about: Reference) {
        let number = match about {
            Reference::Request(number) => number,
            Reference::Operation(_) => return,
        };
        let ticket = self.peers.get_mut(&from).and_then(|peer| peer.waiting.remove(&number));
        if let Some(ticket) = ticket {
            self.waiting.remove(&ticket);
            self.outputs.push_back(Output::Forget(ticket));
            self.relieve(from);
        }
    }

    fn send(&mut self, to: ConnectionId, message: Message) {
        self.outputs.push_back(Output::Send { to, message });
    }
}

/// A longer list than the headend can impose is not sent: some peers would cut it in silence.
fn can_impose(path: &Path, style: &Style) -> bool {
    let count = |kinds: &[u8]| path.route.hops.iter().filter(|hop| kinds.contains(&hop.value.kind())).count();
    let fits = |count: usize, most: Option<u8>| most.is_none_or(|most| count <= usize::from(most));
    fits(count(&[5, 36]), style.most_labels) && fits(count(&[40]), style.most_srv6_sids)
}

/// The objects of a path, as the peer reads them.
fn in_style(mut path: Path, setup: SetupType, style: &Style) -> Vec<Object> {
    if setup == SetupType::SR {
        for hop in &mut path.route.hops {
            if let SubobjectValue::Sr(segment) = &mut hop.value {
                segment.code = style.sr_code;
            }
        }
    }
    if !style.associations {
        path.attributes.associations.clear();
    }
    [vec![Object::required(Body::Ero(path.route))], path.attributes.to_objects()].concat()
}

fn no_path(reasons: NoPathReasons) -> Object {
    let vector = (reasons.0 != 0).then(|| TlvValue::NoPathVector(reasons).into());
    let body = NoPath { nature: 0, flags: NoPathFlags(0), reserved: 0, tlvs: vector.into_iter().collect() };
    Object::required(Body::NoPath(body))
}

fn notice(about: Option<u32>, kind: u8, value: u8, tlvs: Vec<TlvValue>) -> Message {
    let rp = about.map(|request| Body::Rp(Rp { flags: RpFlags(0), request, tlvs: Vec::new() }));
    let tlvs = tlvs.into_iter().map(Into::into).collect();
    let notification = Body::Notification(Notification { reserved: 0, flags: 0, kind, value, tlvs });
    let objects = rp.into_iter().chain([notification]).map(Object::new).collect();
    Message::new(MessageType::Notification, objects)
}

#[cfg(test)]
mod tests;
