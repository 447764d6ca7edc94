//! The path selectors of a metric agent: who is connected, and the way to it.

use super::log_peer_alarm;
use crate::config::MetricAgent;
use crate::engine::{Engine, Now};
use crate::network::{Network, Opened};
use crate::plane::Plane;
use cats_engine_core::sma::northbound::{Alarm, Output};
use cats_engine_transport::control_plane::Sent;
use cats_engine_transport::northbound::{AgentEvent, Upstream};
use cats_engine_types::{Advertisement, NodeId};
use std::collections::BTreeMap;

/// The path selectors that are connected, or to be.
#[derive(Debug, Default)]
pub(in crate::engine) struct Peers {
    links: BTreeMap<NodeId, Link>,
    /// Why path selectors are not connected.
    reasons: BTreeMap<NodeId, String>,
}

#[derive(Debug)]
enum Link {
    /// In this process.
    Local,
    /// An attempt is under way.
    Opening,
    /// Another node.
    Remote(Upstream),
}

impl Peers {
    /// The name of the path selector of this node, while it is connected.
    pub(super) fn local(&self) -> Option<&NodeId> {
        self.links.iter().find(|(_, link)| matches!(link, Link::Local)).map(|(peer, _)| peer)
    }

    /// Why a path selector is not connected.
    pub(in crate::engine) fn reason(&self, peer: &NodeId) -> Option<&str> {
        self.reasons.get(peer).map(String::as_str)
    }

    /// Follows a new configuration: who was to be reached in another way is not connected any more, and tried anew.
    pub(super) fn follow(
        &mut self,
        after: &MetricAgent,
        before: &MetricAgent,
        network: &mut Network,
    ) -> Vec<NodeId> {
        let changed = |peer: &NodeId| after.peers.get(peer) != before.peers.get(peer);
        let void = |peer: &NodeId| match self.links.get(peer) {
            Some(Link::Local) => after.local.as_ref() != Some(peer),
            Some(Link::Opening | Link::Remote(_)) => changed(peer) || !network.is_open(peer),
            None => changed(peer),
        };
        let wanted = after.peers.keys().chain(&after.local);
        let found: Vec<NodeId> = wanted.filter(|peer| void(peer)).cloned().collect();
        for peer in &found {
            self.links.remove(peer);
            network.close(peer, false);
        }
        self.reasons.retain(|peer, _| after.peers.contains_key(peer));
        found
    }

    fn lost(&mut self, peer: &NodeId, reason: String) {
        self.links.remove(peer);
        if self.reasons.get(peer) != Some(&reason) {
            tracing::warn!(%peer, %reason, "no connection to the path selector");
            self.reasons.insert(peer.clone(), reason);
        }
    }
}

impl<P: Plane> Engine<P> {
    /// What is to be told to a path selector.
    pub(super) fn tell_peer(&mut self, output: Output, now: Now) {
        match output {
            Output::Connect { peer } => self.connect_peer(&peer, now),
            Output::Disconnect { peer } => self.disconnect_peer(&peer, now),
            Output::Send { peer, advertisement } => self.advertise(&peer, advertisement, now),
            Output::Alarm { alarm, raised } => self.peer_alarm(&alarm, raised, now),
        }
    }

    fn peer_alarm(&mut self, alarm: &Alarm, raised: bool, now: Now) {
        let (Alarm::Unreachable { peer } | Alarm::BufferOverrun { peer }) = alarm;
        let reason = self.agent.as_ref().and_then(|role| role.peers.reason(peer));
        self.alarms.follow_peer(alarm, raised, reason, now);
        log_peer_alarm(alarm, raised);
    }

    fn connect_peer(&mut self, peer: &NodeId, now: Now) {
        let Some(role) = &mut self.agent else { return };
        if let Some(target) = role.desired.peers.get(peer) {
            role.peers.links.insert(peer.clone(), Link::Opening);
            match self.network.open(peer, target) {
                Opened::UnderWay => {}
                Opened::Unsigned(error) => self.peer_lost(peer, error.to_string(), now),
                Opened::Uncertified => self.peer_lost(peer, "no usable certificates".to_owned(), now),
            }
            return;
        }
        let agent = role.desired.node().clone();
        let accepted = match (&mut self.selector, &role.desired.local) {
            (Some(selector), Some(local)) if local == peer => {
                role.peers.links.insert(peer.clone(), Link::Local);
                selector.cps.handle_agent_connected(&agent, now.at).map_err(|error| error.to_string())
            }
            _ => Err("it is not configured".to_owned()),
        };
        match accepted {
            Ok(()) => role.sma.handle_connected(peer, now.at, now.micros()),
            Err(reason) => self.peer_lost(peer, reason, now),
        }
    }

    fn disconnect_peer(&mut self, peer: &NodeId, now: Now) {
        let Some(role) = &mut self.agent else { return };
        match role.peers.links.remove(peer) {
            Some(Link::Local) => {
                if let Some(selector) = &mut self.selector {
                    selector.cps.handle_agent_disconnected(role.desired.node(), now.at);
                }
            }
            // What was said last is on its way.
            Some(Link::Remote(upstream)) => {
                drop(upstream);
                self.network.close(peer, true);
            }
            Some(Link::Opening) | None => self.network.close(peer, false),
        }
    }

    fn advertise(&mut self, peer: &NodeId, advertisement: Advertisement, now: Now) {
        let Some(role) = &mut self.agent else { return };
        match role.peers.links.get(peer) {
            Some(Link::Local) => {
                let Some(selector) = &mut self.selector else { return };
                let agent = role.desired.node();
                if let Err(error) =
                    selector.cps.handle_advertisement(agent, advertisement, now.at, now.micros())
                {
                    tracing::warn!(%error, "the path selector of this node does not take an advertisement");
                }
            }
            Some(Link::Remote(upstream)) => {
                if upstream.send(advertisement) == Sent::Gone {
                    self.network.close(peer, false);
                    self.peer_lost(peer, "the path selector does not keep up, or is gone".to_owned(), now);
                }
            }
            Some(Link::Opening) | None => {}
        }
    }

    /// What came from a path selector of another node.
    pub(in crate::engine) fn agent_event(&mut self, peer: &NodeId, event: AgentEvent, now: Now) {
        let Some(role) = &mut self.agent else { return };
        match event {
            AgentEvent::Connected { upstream } => {
                role.peers.links.insert(peer.clone(), Link::Remote(upstream));
                role.peers.reasons.remove(peer);
                role.sma.handle_connected(peer, now.at, now.micros());
            }
            AgentEvent::Instructions(instructions) => {
                for instruction in instructions {
                    role.sma.handle_instruction(peer, instruction, now.at, now.micros());
                }
            }
            AgentEvent::Disconnected { reason } => {
                self.network.close(peer, false);
                self.peer_lost(peer, reason, now);
            }
        }
    }

    fn peer_lost(&mut self, peer: &NodeId, reason: String, now: Now) {
        let Some(role) = &mut self.agent else { return };
        role.peers.lost(peer, reason);
        role.sma.handle_disconnected(peer, now.at, now.micros());
    }
}
