//! The metric agents of a path selector.

use super::SelectorRole;
use crate::engine::{Engine, Now};
use crate::plane::Plane;
use cats_engine_core::cps::{Cps, Output};
use cats_engine_transport::control_plane::Sent;
use cats_engine_transport::northbound::{AgentId, AgentLink, SelectorEvent};
use cats_engine_types::{Advertisement, AgentInstruction, NodeId};
use cats_engine_wire::json::AgentView;
use std::collections::{BTreeMap, BTreeSet};
use std::vec::IntoIter;
use tokio::sync::oneshot;

/// Advertisements that are taken between two looks at the packets: each may have hundreds of records.
pub(in crate::engine) const ADVERTISEMENTS: usize = 4;

/// Metric agents of other nodes.
#[derive(Debug, Default)]
pub(super) struct AgentLinks {
    links: BTreeMap<NodeId, AgentLink>,
    /// What came together and is not all taken.
    batch: Option<(AgentId, IntoIter<Advertisement>)>,
}

impl AgentLinks {
    /// Forgets all connections.
    pub(super) fn clear(&mut self, cps: &mut Cps, now: Now) {
        self.batch = None;
        for agent in std::mem::take(&mut self.links).into_keys() {
            cps.handle_agent_disconnected(&agent, now.at);
        }
    }

    /// Lets those go that are no longer configured.
    pub(super) fn retain(&mut self, configured: &BTreeSet<NodeId>, cps: &mut Cps, now: Now) {
        let gone: Vec<NodeId> =
            self.links.keys().filter(|agent| !configured.contains(*agent)).cloned().collect();
        for agent in gone {
            self.links.remove(&agent);
            cps.handle_agent_disconnected(&agent, now.at);
        }
    }

    fn by_id(&self, id: AgentId) -> Option<NodeId> {
        self.links.values().find(|link| link.id == id).map(|link| link.agent.clone())
    }
}

impl SelectorRole {
    /// Whether advertisements that came together are not all taken.
    pub(in crate::engine) fn is_behind(&self) -> bool {
        self.agents.batch.is_some()
    }

    /// Tells a metric agent of another node; one that is gone or behind is let go.
    pub(super) fn instruct_agent(&mut self, agent: &NodeId, instruction: AgentInstruction, now: Now) {
        match self.agents.links.get(agent).map(|link| link.send(instruction)) {
            Some(Sent::Gone) => {
                self.agents.links.remove(agent);
                self.cps.handle_agent_disconnected(agent, now.at);
            }
            Some(Sent::Queued) => {}
            None => tracing::debug!(%agent, "the metric agent has no connection"),
        }
    }

    fn agent_connected(&mut self, link: AgentLink, now: Now) {
        let agent = link.agent.clone();
        if self.agents.links.remove(&agent).is_some() {
            self.cps.handle_agent_disconnected(&agent, now.at);
        }
        match self.cps.handle_agent_connected(&agent, now.at) {
            Ok(()) => drop(self.agents.links.insert(agent, link)),
            // Dropping the link ends the stream.
            Err(error) => tracing::warn!(%agent, %error, "connection of a metric agent refused"),
        }
    }

    /// Takes at most so many of the advertisements that came together; how many it were.
    fn take_some(&mut self, limit: usize, now: Now) -> usize {
        let Some((id, mut batch)) = self.agents.batch.take() else { return 0 };
        let Some(agent) = self.agents.by_id(id) else { return 0 };
        let mut count = 0;
        for advertisement in batch.by_ref().take(limit) {
            count += 1;
            if let Err(error) = self.cps.handle_advertisement(&agent, advertisement, now.at, now.micros()) {
                tracing::warn!(%agent, %error, "advertisement refused");
            }
        }
        if batch.len() > 0 {
            self.agents.batch = Some((id, batch));
        }
        count
    }

    /// What is held of a metric agent.
    fn held(&self, agent: &NodeId) -> Option<AgentView> {
        let view = self.cps.agents().find(|view| view.node == *agent)?;
        let records: Vec<_> = self.cps.advertised(agent).cloned().collect();
        (view.heard.is_some()).then_some(AgentView { freshness: view.freshness, records })
    }
}

impl<P: Plane> Engine<P> {
    /// What came from metric agents of other nodes.
    pub(in crate::engine) fn northbound_event(&mut self, event: SelectorEvent, now: Now) {
        let Some(role) = &mut self.selector else { return };
        match event {
            SelectorEvent::Connected(link) => role.agent_connected(link, now),
            SelectorEvent::Advertisements(id, _, batch) => {
                role.agents.batch = Some((id, batch.into_iter()));
                self.take_advertisements(now);
            }
            SelectorEvent::Disconnected(id, agent) => {
                if role.agents.by_id(id).is_some() {
                    role.agents.links.remove(&agent);
                    role.cps.handle_agent_disconnected(&agent, now.at);
                }
            }
            SelectorEvent::Posted { advertisement, answer, .. } => self.posted(*advertisement, answer, now),
            SelectorEvent::Queried { agent, answer } => drop(answer.send(role.held(&agent))),
        }
    }

    /// Takes advertisements that came, as far as the turn goes.
    pub(in crate::engine) fn take_advertisements(&mut self, now: Now) {
        if let Some(role) = &mut self.selector {
            self.turn.advertisements -= role.take_some(self.turn.advertisements, now);
        }
    }

    /// An advertisement by a request: what the agent is told is the answer. One that is not taken has none.
    fn posted(
        &mut self,
        advertisement: Advertisement,
        answer: oneshot::Sender<Vec<AgentInstruction>>,
        now: Now,
    ) {
        // What is there before is not of this advertisement.
        self.pump_selector(now);
        let Some(role) = &mut self.selector else { return };
        let agent = advertisement.agent.clone();
        if let Err(error) = role.cps.handle_advertisement(&agent, advertisement, now.at, now.micros()) {
            tracing::warn!(%agent, %error, "advertisement refused");
            return;
        }
        let mut answers = Vec::new();
        while let Some(output) = self.selector.as_mut().and_then(|role| role.cps.poll_output()) {
            match output {
                Output::Instruct { agent: to, instruction } if to == agent => answers.push(instruction),
                other => self.carry_out(other, now),
            }
        }
        drop(answer.send(answers));
    }
}
