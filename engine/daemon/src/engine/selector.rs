//! The path selector's role: the machine, its path computation, and the forwarders and metric agents attached to it.

mod agents;

use super::{Engine, Now};
use crate::config::Selector;
use crate::plane::Plane;
pub(super) use agents::ADVERTISEMENTS;
use agents::AgentLinks;
use cats_engine_core::cps::{Cps, Event, Output};
use cats_engine_transport::control_plane::{Attachment, AttachmentId, CpsEvent, Sent};
use cats_engine_types::{
    AgentInstruction, Epoch, Family, Instruction, NodeId, Path, PathConstraints, PathRequest, Segments,
    TransactionId,
};
use cats_pcep_core::Pce;
use std::collections::BTreeMap;
use std::time::Instant;

#[derive(Debug)]
pub(super) struct SelectorRole {
    pub(super) cps: Cps,
    pub(super) pce: Pce,
    epoch: Epoch,
    domain: cats_engine_types::RoutingDomain,
    links: BTreeMap<NodeId, Attachment>,
    agents: AgentLinks,
    /// Refused transitions of flows that were told.
    illegal: u64,
}

impl SelectorRole {
    /// Of this start of the role.
    pub(super) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.cps.poll_timeout().map(|(at, _)| at)
    }

    pub(super) fn handle_timeout(&mut self, now: Now) {
        if self.poll_timeout().is_some_and(|at| at <= now.at) {
            self.cps.handle_timeout(now.at);
        }
    }

    fn configure(&mut self, selector: Selector, now: Now) {
        let Self { cps, pce, domain, links, agents, .. } = self;
        domain.clone_from(&selector.pce.domain);
        let moved = pce.configure(&selector.pce);
        cps.configure(selector.cps, now.at);
        if moved {
            let generation = pce.ted().generation();
            cps.handle_topology(generation, |path| pce.holds(path) || !other_way(pce, path), now.at);
        }
        let gone: Vec<NodeId> =
            links.keys().filter(|node| !selector.forwarders.contains(node)).cloned().collect();
        for node in gone {
            links.remove(&node);
            cps.handle_detached(&node, now.at);
        }
        agents.retain(&selector.agents, cps, now);
    }

    /// Tells a forwarder of another node; one that is gone or behind is let go.
    fn tell(&mut self, node: &NodeId, instruction: Instruction, now: Now) {
        let sent = self.links.get(node).map(|link| link.send(instruction));
        if sent == Some(Sent::Gone) {
            self.links.remove(node);
            self.cps.handle_detached(node, now.at);
        }
    }

    /// Tells of transitions that the machine refused.
    fn tell_illegal(&mut self) {
        let found = self.cps.illegal_transitions();
        if found > self.illegal {
            tracing::error!(count = found - self.illegal, "flows were kept from transitions that are none");
            self.illegal = found;
        }
    }

    fn by_id(&self, id: AttachmentId) -> Option<NodeId> {
        self.links.values().find(|link| link.id == id).map(|link| link.node.clone())
    }
}

/// Whether flows along a path that no longer holds can have another one. Where they cannot, they stay: the underlay may
/// still carry them, and only the instance's failure ends an established flow.
fn other_way(pce: &mut Pce, path: &Path) -> bool {
    let mut asks = [Family::V4, Family::V6].into_iter().map(|family| PathRequest {
        transaction: TransactionId { epoch: 0, sequence: 0 },
        headend: path.headend.clone(),
        endpoint: path.endpoint.clone(),
        family,
        domain: Default::default(),
        constraints: PathConstraints::default(),
        max_segments: u8::try_from(Segments::MAX).unwrap_or(u8::MAX),
    });
    asks.any(|request| pce.handle_request(&request).outcome.is_ok())
}

impl<P: Plane> Engine<P> {
    /// The epoch of the path selector that there is, or is to be.
    pub(super) fn selector_epoch(&mut self, wanted: bool, now: Now) -> Epoch {
        match &self.selector {
            Some(role) => role.epoch,
            None if wanted => self.new_epoch(now),
            None => self.epoch,
        }
    }

    /// Takes the role on, changes or drops it. `anew`: all connections are void.
    pub(super) fn apply_selector(&mut self, selector: Option<Selector>, epoch: Epoch, anew: bool, now: Now) {
        let Some(selector) = selector else {
            self.selector = None;
            self.alarms.end_selector();
            return;
        };
        let role = self.selector.get_or_insert_with(|| SelectorRole {
            cps: Cps::new(epoch, now.at),
            pce: Pce::new(),
            epoch,
            domain: selector.pce.domain.clone(),
            links: BTreeMap::new(),
            agents: AgentLinks::default(),
            illegal: 0,
        });
        if anew {
            for node in std::mem::take(&mut role.links).into_keys() {
                role.cps.handle_detached(&node, now.at);
            }
            role.agents.clear(&mut role.cps, now);
        }
        role.configure(selector, now);
    }

    pub(super) fn selector_event(&mut self, event: CpsEvent, now: Now) {
        let Some(role) = &mut self.selector else { return };
        match event {
            CpsEvent::Attached { attachment, report } => {
                let node = attachment.node.clone();
                if role.links.remove(&node).is_some() {
                    role.cps.handle_detached(&node, now.at);
                }
                match role.cps.handle_forwarder(report, now.at) {
                    Ok(()) => drop(role.links.insert(node, attachment)),
                    // Dropping the attachment ends the stream.
                    Err(error) => tracing::warn!(%node, %error, "attachment refused"),
                }
            }
            CpsEvent::Report(id, report) => {
                if let Some(node) = role.by_id(id)
                    && let Err(error) = role.cps.handle_forwarder(report, now.at)
                {
                    tracing::warn!(%node, %error, "report refused");
                    role.links.remove(&node);
                    role.cps.handle_detached(&node, now.at);
                }
            }
            CpsEvent::Requests(id, received, requests) => {
                let Some(node) = role.by_id(id) else { return };
                for request in requests {
                    role.cps.handle_request_received(&node, request, received, now.at, now.wall);
                }
            }
            CpsEvent::Statuses(id, statuses) => {
                let Some(node) = role.by_id(id) else { return };
                for status in statuses {
                    role.cps.handle_binding_status(&node, status, now.at);
                }
            }
            CpsEvent::Detached(id, node) => {
                if role.by_id(id).is_some() {
                    role.links.remove(&node);
                    role.cps.handle_detached(&node, now.at);
                }
            }
        }
    }

    /// Carries out what the machine wants; false if that is nothing.
    pub(super) fn pump_selector(&mut self, now: Now) -> bool {
        let mut any = false;
        while let Some(output) = self.selector.as_mut().and_then(|role| role.cps.poll_output()) {
            any = true;
            self.carry_out(output, now);
        }
        if let Some(role) = &mut self.selector {
            role.tell_illegal();
        }
        any
    }

    fn carry_out(&mut self, output: Output, now: Now) {
        match output {
            Output::PathRequest(request) => {
                if let Some(role) = &mut self.selector {
                    let reply = role.pce.handle_request(&request);
                    role.cps.handle_path_reply(reply, now.at);
                }
            }
            Output::Install { ingress, binding } => {
                self.tell_ingress(&ingress, Instruction::Install(binding), now);
            }
            Output::Refuse { ingress, transaction, key, failure } => {
                tracing::debug!(%transaction, %key, %failure, "flow refused");
                self.tell_ingress(&ingress, Instruction::Refuse { transaction, key, failure }, now);
            }
            Output::Remove { ingress, transaction, key, reason } => {
                self.tell_ingress(&ingress, Instruction::Remove { transaction, key, reason }, now);
            }
            Output::Instruct { agent, instruction } => self.instruct_agent(&agent, instruction, now),
            Output::Decision(decision) => {
                tracing::debug!(transaction = %decision.transaction, key = %decision.key,
                    selected = ?decision.selected.as_ref().map(|s| s.csci_id), "decision");
            }
            Output::Event(event) => {
                self.alarms.follow_selector(&event, now);
                log(&event);
            }
        }
    }

    fn tell_ingress(&mut self, ingress: &NodeId, instruction: Instruction, now: Now) {
        if self.is_local(ingress) {
            self.instruct(instruction, now);
        } else if let Some(role) = &mut self.selector {
            role.tell(ingress, instruction, now);
        }
    }

    fn instruct_agent(&mut self, agent: &NodeId, instruction: AgentInstruction, now: Now) {
        let local = self.local_selector(agent);
        match (local, &mut self.agent, &mut self.selector) {
            (Some(selector), Some(role), _) => {
                role.sma.handle_instruction(&selector, instruction, now.at, now.micros());
            }
            (_, _, Some(role)) => role.instruct_agent(agent, instruction, now),
            (_, _, None) => {}
        }
    }
}

fn log(event: &Event) {
    match event {
        Event::Attached { node } => tracing::info!(%node, "forwarder attached"),
        Event::Detached { node } => tracing::warn!(%node, "forwarder detached; what it holds forwards on"),
        Event::Fenced { node, epoch } => {
            tracing::error!(%node, %epoch, "a newer path selector owns bindings of the forwarder");
        }
        Event::InstallFailed { node, transaction, failure } => {
            tracing::warn!(%node, %transaction, %failure, "binding not committed");
        }
        Event::ReconnectRequired { transaction, key, csci_id } => {
            tracing::info!(%transaction, %key, %csci_id, "flow ended: its instance failed");
        }
        Event::Lost { node, transaction, key } => {
            tracing::info!(%node, %transaction, %key, "the ingress came back without the binding");
        }
        Event::Agent { agent, alarm, raised: true } => {
            tracing::warn!(%agent, ?alarm, "alarm of a metric agent");
        }
        Event::Agent { agent, alarm, raised: false } => {
            tracing::info!(%agent, ?alarm, "alarm of a metric agent cleared");
        }
        Event::FlowLimit(true) => tracing::warn!("the flow limit is reached"),
        Event::FlowLimit(false) => tracing::info!("there is room for flows again"),
    }
}
