//! What C-SMAs advertise, and what they are told (SMA-20, SMA-23, CP-27).

use super::{Cps, Event, Output, Timer};
use crate::cps::agents::{AdvertisementError, AgentAlarm, AgentConfig};
use crate::cps::catalogue::Catalogue;
use crate::cps::cst::{AgentIx, Change, Key};
use crate::cps::nodes::Nodes;
use cats_engine_types::{
    Advertisement, AgentInstruction, CsId, CsciId, NodeId, SynchronisationCause, UnixMicros,
};
use std::time::Instant;

/// Instances looked at in one go.
const STEP: usize = 1000;

impl Cps {
    /// A C-SMA that is authenticated is connected. It is told at once what is known of it, and asked for its whole
    /// view where something is missing.
    pub fn handle_agent_connected(&mut self, agent: &NodeId, now: Instant) -> Result<(), AdvertisementError> {
        self.now = now;
        let ix = self.agents.find(agent).ok_or_else(|| AdvertisementError::Unknown(agent.clone()))?;
        let Some(found) = self.agents.get_mut(ix) else { return Ok(()) };
        for instruction in found.connect(&self.config.agent_bounds, now) {
            self.outputs.push_back(Output::Instruct { agent: agent.clone(), instruction });
        }
        self.set_agent_deadline(ix);
        Ok(())
    }

    /// The connection of a C-SMA ended. What it advertised is valid as long as it said.
    pub fn handle_agent_disconnected(&mut self, agent: &NodeId, now: Instant) {
        self.now = now;
        let Some(ix) = self.agents.find(agent) else { return };
        if let Some(found) = self.agents.get_mut(ix) {
            found.disconnect();
        }
        self.set_agent_deadline(ix);
    }

    /// A message of a C-SMA whose channel, and whose signature where there is one, are authenticated. `wall` is our
    /// time. An error leaves all as it was; it is counted, and for a clock that is wrong an alarm stands.
    pub fn handle_advertisement(
        &mut self,
        peer: &NodeId,
        advertisement: Advertisement,
        now: Instant,
        wall: UnixMicros,
    ) -> Result<(), AdvertisementError> {
        self.now = now;
        let ix = self.agents.find(peer).ok_or_else(|| AdvertisementError::Unknown(peer.clone()))?;
        let Some(agent) = self.agents.get_mut(ix) else { return Ok(()) };
        let before = agent.alarms();
        let taken = agent.take(advertisement, &self.config.agent_bounds, now, wall);
        if let Ok(taken) = &taken {
            if taken.refreshed {
                self.cst.refresh(ix, now);
            }
            self.look_at_records(ix, &taken.changed);
            self.follow_some(ix);
            if let Some(instruction) = &taken.instruction {
                let instruction = instruction.clone();
                self.outputs.push_back(Output::Instruct { agent: peer.clone(), instruction });
            }
        }
        self.tell_alarms(ix, &before);
        self.set_agent_deadline(ix);
        taken.map(drop)
    }

    /// An operator wants the whole view of a C-SMA anew; false if it is not connected.
    pub fn synchronise_agent(&mut self, agent: &NodeId, now: Instant) -> bool {
        self.now = now;
        let cause = SynchronisationCause::Requested;
        self.instruct_agent(agent, AgentInstruction::Synchronise(cause))
    }

    /// Asks a C-SMA for instances now, for all of the service where none is named; false if it is not connected.
    pub fn query_agent(&mut self, agent: &NodeId, cs_id: CsId, csci_ids: Vec<CsciId>, now: Instant) -> bool {
        self.now = now;
        self.instruct_agent(agent, AgentInstruction::Query { cs_id, csci_ids })
    }

    fn instruct_agent(&mut self, agent: &NodeId, instruction: AgentInstruction) -> bool {
        let found = self.agents.find(agent).and_then(|ix| self.agents.get(ix));
        let connected = found.is_some_and(|found| found.is_connected());
        if connected {
            self.outputs.push_back(Output::Instruct { agent: agent.clone(), instruction });
        }
        connected
    }

    /// After a change of configuration: who may speak of what. Services that changed may have other egresses.
    pub(super) fn configure_agents(&mut self, services: &[CsId]) {
        let before: Vec<(AgentIx, NodeId, Vec<AgentAlarm>)> =
            self.agents.iter().map(|(ix, agent)| (ix, agent.node().clone(), agent.alarms())).collect();
        self.agents.configure(&self.config.agents, self.now);
        let bound: Vec<AgentIx> = self
            .agents
            .iter()
            .filter(|(_, agent)| agent.config().is_some_and(|config| !config.egresses.is_empty()))
            .map(|(ix, _)| ix)
            .collect();
        for ix in bound {
            let keys = self.agents.get(ix).map_or_else(Vec::new, |agent| agent.keys_of(services));
            self.look_at_records(ix, &keys);
        }
        for (ix, node, alarms) in before {
            let now = self.agents.get(ix).filter(|agent| *agent.node() == node);
            let now = now.map_or_else(Vec::new, |agent| agent.alarms());
            self.tell_difference(&node, &alarms, &now);
        }
        for ix in self.agents.numbers() {
            self.follow_some(ix);
            self.set_agent_deadline(ix);
        }
    }

    /// The CST follows a whole view in steps, so that a large one never holds up new flows for long. Until it has,
    /// each row is as it was before or as it is to be.
    fn follow_some(&mut self, ix: AgentIx) {
        let Some(agent) = self.agents.get_mut(ix).filter(|agent| agent.is_behind()) else { return };
        let keys = agent.follow(STEP);
        self.look_at_records(ix, &keys);
    }

    pub(super) fn follow_agents(&mut self) {
        if !self.agents.is_behind() {
            return;
        }
        for ix in self.agents.numbers() {
            self.follow_some(ix);
        }
    }

    /// Brings the CST, and the reservations where a report accounts for them, to what a C-SMA says of instances.
    fn look_at_records(&mut self, ix: AgentIx, keys: &[Key]) {
        let Some(agent) = self.agents.get_mut(ix) else { return };
        let mut changes: Vec<(Key, Change)> = Vec::with_capacity(keys.len());
        for key in keys {
            let may = agent.config().is_some_and(|config| may(config, *key, &self.catalogue, &self.nodes));
            let taken = agent.authorise(*key, may);
            let change = agent.change_of(ix, *key);
            if let Some(taken) = taken {
                self.reservations.account(&mut self.cst, *key, taken);
            }
            changes.push((*key, change));
        }
        self.cst.apply(ix, changes.into_iter());
    }

    pub(super) fn agent_deadline(&mut self, ix: AgentIx) {
        let Some(agent) = self.agents.get_mut(ix) else { return };
        // The timer is already taken.
        agent.deadline = None;
        let before = agent.alarms();
        let node = agent.node().clone();
        if let Some(instruction) = agent.due(&self.config.agent_bounds, self.now) {
            self.outputs.push_back(Output::Instruct { agent: node, instruction });
        }
        self.tell_alarms(ix, &before);
        self.set_agent_deadline(ix);
    }

    fn set_agent_deadline(&mut self, ix: AgentIx) {
        let Some(agent) = self.agents.get_mut(ix) else { return };
        let next = agent.next_deadline(&self.config.agent_bounds);
        if next != agent.deadline {
            self.timers.set(Timer::Agent(ix), agent.deadline, next);
            agent.deadline = next;
        }
    }

    fn tell_alarms(&mut self, ix: AgentIx, before: &[AgentAlarm]) {
        let Some(agent) = self.agents.get(ix) else { return };
        let (node, now) = (agent.node().clone(), agent.alarms());
        self.tell_difference(&node, before, &now);
    }

    fn tell_difference(&mut self, agent: &NodeId, before: &[AgentAlarm], now: &[AgentAlarm]) {
        let among = |alarms: &[AgentAlarm], alarm: &AgentAlarm| {
            alarms.iter().any(|other| std::mem::discriminant(other) == std::mem::discriminant(alarm))
        };
        let ended = before.iter().filter(|alarm| !among(now, alarm)).map(|alarm| (*alarm, false));
        let begun = now.iter().filter(|alarm| !among(before, alarm)).map(|alarm| (*alarm, true));
        for (alarm, raised) in ended.chain(begun) {
            let agent = agent.clone();
            self.outputs.push_back(Output::Event(Event::Agent { agent, alarm, raised }));
        }
    }
}

/// Whether a C-SMA may speak of an instance: it is of one of its services, and behind one of its egresses.
fn may(config: &AgentConfig, (cs_id, csci_id): Key, catalogue: &Catalogue, nodes: &Nodes) -> bool {
    if !config.scope.covers(cs_id) {
        return false;
    }
    if config.egresses.is_empty() {
        return true;
    }
    let instance = catalogue.service(cs_id).and_then(|service| service.instance(csci_id));
    let egress = instance.and_then(|instance| nodes.get(instance.egress));
    egress.is_some_and(|egress| config.egresses.contains(&egress.name))
}
