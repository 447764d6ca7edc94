//! Who is connected when: attempts with growing waits, and alternatives for path selectors that are not reached
//! (SMA-25).

use super::peer::{Peer, Whole};
use super::{Alarm, Northbound, Output};
use cats_engine_types::{Advertisement, Freshness, NodeId};
use std::time::Instant;

/// The connection to a path selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// Not wanted.
    Idle,
    /// The next attempt is at that time.
    Waiting { until: Instant },
    /// An attempt is under way.
    Connecting,
    /// Connected; its first word is awaited.
    Greeting { until: Instant },
    /// Connected.
    Streaming,
}

impl Link {
    pub(super) fn is_open(self) -> bool {
        match self {
            Self::Greeting { .. } | Self::Streaming => true,
            Self::Idle | Self::Waiting { .. } | Self::Connecting => false,
        }
    }
}

/// Whether a connection is wanted.
enum Wanted {
    Yes,
    /// Not for its own sake, but the one that it stands in for is not back yet.
    AsItIs,
    No,
}

impl Northbound {
    /// A path selector acknowledges over this connection.
    pub(super) fn reached(&mut self, at: usize) {
        let Some(peer) = self.peers.get_mut(at) else { return };
        let settled = peer.whole == Whole::Done;
        peer.failures = 0;
        let up = std::mem::take(&mut peer.down);
        let made_up = settled && std::mem::take(&mut peer.overrun);
        let node = peer.config.node.clone();
        if up {
            self.alarm(Alarm::Unreachable { peer: node.clone() }, false);
        }
        if made_up {
            self.alarm(Alarm::BufferOverrun { peer: node }, false);
        }
        self.steer();
    }

    /// A connection, or an attempt at one, ended on its own.
    pub(super) fn lose(&mut self, node: &NodeId) {
        let Some(peer) = self.peers.iter().find(|peer| peer.config.node == *node) else { return };
        match peer.link {
            Link::Idle | Link::Waiting { .. } => {}
            // One connection that breaks is no news; that no other comes is.
            Link::Greeting { .. } | Link::Streaming if peer.failures == 0 => self.wait(node),
            Link::Connecting | Link::Greeting { .. } | Link::Streaming => self.unreachable(node),
        }
    }

    /// A path selector counts as not reached until it acknowledges something.
    pub(super) fn unreachable(&mut self, node: &NodeId) {
        self.wait(node);
        let Some(peer) = self.peers.iter_mut().find(|peer| peer.config.node == *node) else { return };
        if !std::mem::replace(&mut peer.down, true) {
            self.alarm(Alarm::Unreachable { peer: node.clone() }, true);
        }
        self.steer();
    }

    fn wait(&mut self, node: &NodeId) {
        let Some(peer) = self.peers.iter_mut().find(|peer| peer.config.node == *node) else { return };
        peer.failures = peer.failures.saturating_add(1);
        // Where the clock ends the attempt is made at once.
        let until = self.now.checked_add(self.config.backoff(peer.failures)).unwrap_or(self.now);
        peer.disconnected(Link::Waiting { until });
    }

    /// Connects who is to be connected, and lets go who no longer is.
    pub(super) fn steer(&mut self) {
        for at in 0..self.peers.len() {
            let wanted = self.wanted(at);
            let Some(peer) = self.peers.get_mut(at) else { continue };
            let node = peer.config.node.clone();
            match (wanted, peer.link) {
                (Wanted::Yes, Link::Idle) => {
                    peer.link = Link::Connecting;
                    self.outputs.push_back(Output::Connect { peer: node });
                }
                (Wanted::No, Link::Waiting { .. } | Link::Connecting)
                | (Wanted::No, Link::Greeting { .. } | Link::Streaming) => {
                    self.clear_alarms(at);
                    if let Some(peer) = self.peers.get_mut(at) {
                        peer.release();
                    }
                    self.outputs.push_back(Output::Disconnect { peer: node });
                }
                (Wanted::No, Link::Idle)
                | (Wanted::AsItIs, _)
                | (
                    Wanted::Yes,
                    Link::Waiting { .. } | Link::Connecting | Link::Greeting { .. } | Link::Streaming,
                ) => {}
            }
        }
    }

    fn wanted(&self, at: usize) -> Wanted {
        let Some(first) = self.peers.get(at).and_then(|peer| peer.config.alternative_to.as_ref()) else {
            return Wanted::Yes;
        };
        let before = |(place, peer): &(usize, &Peer)| {
            peer.config.node == *first || (*place < at && peer.config.alternative_to.as_ref() == Some(first))
        };
        let mut all_down = true;
        for (_, peer) in self.peers.iter().enumerate().filter(before) {
            if peer.serves {
                return Wanted::No;
            }
            all_down &= peer.down;
        }
        if all_down { Wanted::Yes } else { Wanted::AsItIs }
    }

    /// A path selector left the configuration.
    pub(super) fn dismiss(&mut self, peer: &mut Peer) {
        let node = peer.config.node.clone();
        self.spoken = self.spoken.max(peer.sequence + 1);
        if peer.link == Link::Streaming {
            let (since, sequence, content) = peer.farewell(self.now);
            let freshness = Freshness { epoch: self.epoch, sequence };
            let (agent, timestamp) = (self.agent.clone(), self.wall);
            let advertisement = Advertisement { agent, freshness, since, timestamp, content };
            self.outputs.push_back(Output::Send { peer: node.clone(), advertisement });
        }
        if peer.link != Link::Idle {
            self.outputs.push_back(Output::Disconnect { peer: node.clone() });
        }
        if peer.down {
            self.alarm(Alarm::Unreachable { peer: node.clone() }, false);
        }
        if peer.overrun {
            self.alarm(Alarm::BufferOverrun { peer: node }, false);
        }
    }

    fn clear_alarms(&mut self, at: usize) {
        let Some(peer) = self.peers.get(at) else { return };
        let (node, down, overrun) = (peer.config.node.clone(), peer.down, peer.overrun);
        if down {
            self.alarm(Alarm::Unreachable { peer: node.clone() }, false);
        }
        if overrun {
            self.alarm(Alarm::BufferOverrun { peer: node }, false);
        }
    }

    pub(super) fn alarm(&mut self, alarm: Alarm, raised: bool) {
        self.outputs.push_back(Output::Alarm { alarm, raised });
    }
}
