//! What a C-SMA tells each C-PS (SMA-13, 19, 20, 22, 23, 25, 26).
//!
//! There is one view: the records as they are to be seen outside. Each path selector is brought to it and kept at it,
//! as far as it is authorised. Nothing is sent twice for its own sake: what one lacks is a set of instances, and what
//! is sent of them is what holds at that time.
//!
//! | file | holds |
//! |---|---|
//! | `config` | path selectors, bounds and times |
//! | `pending` | what one path selector has not acknowledged |
//! | `peer` | one path selector: its messages, whole views and acknowledgements |
//! | `link` | who is connected when: backoff and alternatives |
//! | `views` | what can be read of all this |
//!
//! On a new connection the path selector speaks first. If it still has a whole view of this start of the C-SMA, it
//! says up to which message, and what it lacks is sent in a batch; else, or after an outage so long that it counts as
//! a partition, or where the buffer overflowed, it gets the whole view.

mod config;
mod link;
mod peer;
mod pending;
mod views;

pub use config::{NorthboundConfig, PeerConfig};
pub use views::{LinkView, NorthboundCounters, PeerView};

use cats_engine_types::{
    Advertisement, AgentInstruction, CsId, CsciId, Freshness, MetricRecord, NodeId, SynchronisationCause,
    UnixMicros, Withdrawal, WithdrawalReason,
};
use link::Link;
use peer::{Peer, View};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// An instance of a service.
pub type Key = (CsId, CsciId);

/// How a change is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// At once, before all else: health, no slots left, security, a withdrawal.
    Critical,
    /// Together with others, and as slowly as the path selector asks.
    Routine,
}

/// What the northbound side wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Open a connection. Answered by [`Northbound::handle_connected`] or [`Northbound::handle_disconnected`].
    Connect {
        /// To whom.
        peer: NodeId,
    },
    /// Close the connection, or give up opening it. Needs no answer.
    Disconnect {
        /// To whom.
        peer: NodeId,
    },
    /// Send a message over the connection, in order.
    Send {
        /// To whom.
        peer: NodeId,
        /// What.
        advertisement: Advertisement,
    },
    /// An operator is to be told that something begins or ends.
    Alarm {
        /// What.
        alarm: Alarm,
        /// Whether it begins.
        raised: bool,
    },
}

/// What an operator is to be told of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Alarm {
    /// A path selector is not reached; attempts go on.
    Unreachable {
        /// Who.
        peer: NodeId,
    },
    /// Changes for a path selector were dropped; it gets the whole view once it is reached.
    BufferOverrun {
        /// Who.
        peer: NodeId,
    },
}

/// The northbound side of a C-SMA without I/O.
///
/// After each call that takes a time, drain [`Northbound::poll_output`], which makes messages of all that changed
/// since, then take the new [`Northbound::poll_timeout`]. `now` never goes backwards. The caller authenticates peers.
#[derive(Debug)]
pub struct Northbound {
    agent: NodeId,
    epoch: u64,
    config: NorthboundConfig,
    view: View,
    peers: Vec<Peer>,
    /// The greatest sequence of a message to a path selector that left the configuration: one that comes back, which
    /// remembers, is spoken to beyond it.
    spoken: u64,
    outputs: VecDeque<Output>,
    now: Instant,
    wall: UnixMicros,
}

impl Northbound {
    /// Of the C-SMA with this name. `epoch` is its start, larger than that of every start before, so that no nonce
    /// is ever repeated.
    pub fn new(agent: NodeId, epoch: u64, now: Instant, wall: UnixMicros) -> Self {
        let config = NorthboundConfig::default();
        let (view, peers, outputs) = (View::new(), Vec::new(), VecDeque::new());
        Self { agent, epoch, config, view, peers, spoken: 0, outputs, now, wall }
    }

    /// Takes a new configuration. A path selector that is no longer in it is told that nothing is advertised to it; one
    /// that may know of other services than before gets, or has withdrawn, what differs.
    pub fn configure(&mut self, config: NorthboundConfig, now: Instant, wall: UnixMicros) {
        self.at(now, wall);
        let mut before = std::mem::take(&mut self.peers);
        for entry in &config.peers {
            let known = before.iter().position(|peer| peer.config.node == entry.node);
            let mut peer = match known {
                Some(known) => before.remove(known),
                None => Peer::new(entry.clone(), self.spoken),
            };
            if peer.rescope(entry.clone(), &self.view, config.buffer) {
                self.alarm(Alarm::BufferOverrun { peer: entry.node.clone() }, true);
            }
            self.peers.push(peer);
        }
        for mut peer in before {
            self.dismiss(&mut peer);
        }
        self.config = config;
        self.steer();
    }

    /// What is to be seen of an instance from now on.
    pub fn publish(
        &mut self,
        record: impl Into<Arc<MetricRecord>>,
        urgency: Urgency,
        now: Instant,
        wall: UnixMicros,
    ) {
        self.at(now, wall);
        let record = record.into();
        let key = (record.cs_id, record.csci_id);
        self.note(key, urgency, None);
        self.view.insert(key, record);
    }

    /// An instance is to be seen no longer.
    pub fn withdraw(&mut self, withdrawal: Withdrawal, now: Instant, wall: UnixMicros) {
        self.at(now, wall);
        let key = (withdrawal.cs_id, withdrawal.csci_id);
        if self.view.remove(&key).is_some() {
            self.note(key, Urgency::Critical, Some(withdrawal.reason));
        }
    }

    fn note(&mut self, key: Key, urgency: Urgency, withdrawn: Option<WithdrawalReason>) {
        let NorthboundConfig { gather, buffer, .. } = self.config;
        for peer in self.peers.iter_mut().filter(|peer| peer.config.scope.covers(key.0)) {
            if peer.note(key, urgency, withdrawn, buffer) {
                let alarm = Alarm::BufferOverrun { peer: peer.config.node.clone() };
                self.outputs.push_back(Output::Alarm { alarm, raised: true });
            }
            peer.gather(self.now, gather);
        }
    }

    /// The connection to a path selector is there, and both ends are authenticated.
    pub fn handle_connected(&mut self, peer: &NodeId, now: Instant, wall: UnixMicros) {
        self.at(now, wall);
        let until = now.checked_add(self.config.greeting);
        match self.peer(peer) {
            Some(found) => found.connected(now, until),
            None => self.outputs.push_back(Output::Disconnect { peer: peer.clone() }),
        }
    }

    /// The connection to a path selector ended, or could not be opened.
    pub fn handle_disconnected(&mut self, peer: &NodeId, now: Instant, wall: UnixMicros) {
        self.at(now, wall);
        self.lose(peer);
    }

    /// What kept a path selector from being reached may be gone: the attempt that is waited for is made now.
    pub fn reconnect(&mut self, peer: &NodeId, now: Instant, wall: UnixMicros) {
        self.at(now, wall);
        if let Some(found) = self.peer(peer)
            && let Link::Waiting { .. } = found.link
        {
            found.link = Link::Connecting;
            self.outputs.push_back(Output::Connect { peer: peer.clone() });
        }
    }

    /// What a path selector says over its connection.
    pub fn handle_instruction(
        &mut self,
        peer: &NodeId,
        instruction: AgentInstruction,
        now: Instant,
        wall: UnixMicros,
    ) {
        self.at(now, wall);
        let Some(at) = self.peers.iter().position(|known| known.config.node == *peer) else { return };
        let Some(found) = self.peers.get_mut(at).filter(|found| found.link.is_open()) else { return };
        match instruction {
            AgentInstruction::Acknowledge(freshness) => {
                if found.acknowledged(freshness, self.epoch, &self.config, now) {
                    self.reached(at);
                }
            }
            AgentInstruction::Synchronise(cause) => {
                found.counters.count_request(cause);
                found.synchronise(now);
            }
            AgentInstruction::Query { cs_id, csci_ids } => {
                if found.query(cs_id, &csci_ids, &self.view, self.config.buffer) {
                    self.alarm(Alarm::BufferOverrun { peer: peer.clone() }, true);
                }
            }
            AgentInstruction::Pace { min_interval } => {
                found.pace = min_interval.min(self.config.pace_limit);
            }
        }
    }

    /// An operator, or a change that touches everything, wants a path selector to get the whole view anew. False if it
    /// is not connected.
    pub fn synchronise(&mut self, peer: &NodeId, now: Instant, wall: UnixMicros) -> bool {
        self.at(now, wall);
        let Some(found) = self.peer(peer).filter(|found| found.link.is_open()) else { return false };
        found.counters.count_request(SynchronisationCause::Requested);
        found.synchronise(now);
        true
    }

    /// Handles what is due.
    pub fn handle_timeout(&mut self, now: Instant, wall: UnixMicros) {
        self.at(now, wall);
        for at in 0..self.peers.len() {
            let Some(peer) = self.peers.get_mut(at) else { continue };
            match peer.due(now, &self.config) {
                peer::Due::Nothing => {}
                peer::Due::Connect => {
                    let peer = peer.config.node.clone();
                    self.outputs.push_back(Output::Connect { peer });
                }
                peer::Due::Silent => {
                    let peer = peer.config.node.clone();
                    self.outputs.push_back(Output::Disconnect { peer: peer.clone() });
                    self.unreachable(&peer);
                }
            }
        }
    }

    /// The next output. Messages are made here, of all that changed until now.
    pub fn poll_output(&mut self) -> Option<Output> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        for peer in &mut self.peers {
            if let Some((since, sequence, content)) = peer.next_message(&self.view, &self.config, self.now) {
                let freshness = Freshness { epoch: self.epoch, sequence };
                let (agent, timestamp) = (self.agent.clone(), self.wall);
                let advertisement = Advertisement { agent, freshness, since, timestamp, content };
                return Some(Output::Send { peer: peer.config.node.clone(), advertisement });
            }
        }
        None
    }

    /// When [`Northbound::handle_timeout`] is to be called, and why.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.peers.iter().filter_map(|peer| peer.timeout(&self.config)).min_by_key(|(at, _)| *at)
    }

    fn at(&mut self, now: Instant, wall: UnixMicros) {
        (self.now, self.wall) = (now, wall);
    }

    fn peer(&mut self, node: &NodeId) -> Option<&mut Peer> {
        self.peers.iter_mut().find(|peer| peer.config.node == *node)
    }
}
