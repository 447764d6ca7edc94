//! What forwarders say of bindings: committed, refused, gone, restored (CP-9, CP-22, CP-23).

use super::{Cps, Event, Output, Timer};
use crate::cps::flow::{Destination, Flow, FlowIx, FlowState, Repair};
use crate::cps::nodes::NodeIx;
use crate::cps::reservation::Reservation;
use cats_engine_types::{
    Binding, BindingEvent, BindingStatus, FlowKey, InstallFailure, NodeId, RemovalReason, RequestFailure,
    TenantId, TransactionId,
};
use std::time::Instant;

impl Cps {
    /// The status of a binding at an authenticated forwarder.
    pub fn handle_binding_status(&mut self, peer: &NodeId, status: BindingStatus, now: Instant) {
        self.now = now;
        let Some(ingress) = self.nodes.find(peer) else { return };
        let BindingStatus { transaction, key, event } = status;
        let flow = self.flows.by_key(ingress, &key);
        let flow = flow.filter(|ix| self.flows.get(*ix).is_some_and(|flow| flow.transaction == transaction));
        match (event, flow) {
            (BindingEvent::Installed, Some(ix)) => self.installed(ix),
            // Nobody waits for it any more: it must not stay.
            (BindingEvent::Installed, None) => {
                self.counters.late_installs += 1;
                self.remove_binding(peer, transaction, key, RemovalReason::Requested);
            }
            (BindingEvent::InstallFailed(failure), Some(ix)) => self.install_failed(ix, peer, failure),
            (BindingEvent::Removed { reason, .. }, Some(ix)) => self.removed(ix, reason),
            (BindingEvent::InstallFailed(_) | BindingEvent::Removed { .. }, None) => {
                self.counters.stray_statuses += 1;
            }
            (BindingEvent::Restored(binding), flow) => self.restored(peer, ingress, *binding, flow),
        }
    }

    /// Ends an active flow because an operator wants it; false if there is none.
    pub fn clear_flow(&mut self, ingress: &NodeId, key: &FlowKey, now: Instant) -> bool {
        self.now = now;
        let ix = self.nodes.find(ingress).and_then(|node| self.flows.by_key(node, key));
        let active = |ix: &FlowIx| self.flows.get(*ix).is_some_and(|flow| flow.state() == FlowState::Active);
        let Some(ix) = ix.filter(active) else { return false };
        self.drain(ix, RemovalReason::Cleared);
        true
    }

    fn installed(&mut self, ix: FlowIx) {
        let Some(flow) = self.flows.get_mut(ix) else { return };
        let late = flow.deadline.is_some_and(|deadline| self.now >= deadline);
        let attachment = self.nodes.get(flow.ingress).map_or(0, |node| node.attachment);
        match (flow.state(), flow.repair) {
            (FlowState::BindingReady, _) | (FlowState::Active, Some(Repair::Commit(_))) if late => {
                self.set_deadline(ix, None);
                self.flow_deadline(ix);
            }
            (FlowState::BindingReady, _) => {
                flow.attachment = attachment;
                self.reservations.activate(flow.transaction, self.now);
                self.flows.shift(ix, FlowState::Active);
                self.set_deadline(ix, None);
            }
            (FlowState::Active, Some(Repair::Commit(path))) => {
                flow.attachment = attachment;
                flow.repair = None;
                let old = flow.path.replace(path);
                self.flows.shift(ix, FlowState::Active);
                self.release_paths(old, None);
                self.set_deadline(ix, None);
                self.counters.repaired += 1;
            }
            (FlowState::Failed | FlowState::Draining | FlowState::ReconnectRequired, _) => {
                self.counters.late_installs += 1;
                self.remove_at_ingress(ix, RemovalReason::Requested);
            }
            (
                FlowState::Absent | FlowState::Pending | FlowState::DestinationSelected | FlowState::Active,
                _,
            ) => {
                self.counters.stray_statuses += 1;
            }
        }
    }

    fn install_failed(&mut self, ix: FlowIx, peer: &NodeId, failure: InstallFailure) {
        let Some(flow) = self.flows.get(ix) else { return };
        let transaction = flow.transaction;
        let committing = match flow.state() {
            FlowState::BindingReady => true,
            FlowState::Active => matches!(flow.repair, Some(Repair::Commit(_))),
            _ => false,
        };
        if !committing {
            self.counters.stray_statuses += 1;
            return;
        }
        self.counters.install_failures += 1;
        let event = Event::InstallFailed { node: peer.clone(), transaction, failure: failure.clone() };
        self.outputs.push_back(Output::Event(event));
        if self.flows.get(ix).is_some_and(|flow| flow.state() == FlowState::Active) {
            self.reconnect(ix);
            return;
        }
        // Nothing is installed: the ingress has cleaned up, so the flow is gone here too.
        self.counters.refused(&RequestFailure::Commit(failure.to_string()));
        self.flows.shift(ix, FlowState::Failed);
        self.finish(ix);
    }

    /// Both directions are gone at the forwarder: the flow is gone here in the same step (CP-22).
    fn removed(&mut self, ix: FlowIx, reason: RemovalReason) {
        let Some(flow) = self.flows.get(ix) else { return };
        self.counters.removed(reason);
        match flow.state() {
            FlowState::Active => {
                self.flows.shift(ix, FlowState::Draining);
                self.finish(ix);
            }
            FlowState::Draining | FlowState::Failed => self.finish(ix),
            FlowState::BindingReady => {
                self.flows.shift(ix, FlowState::Failed);
                self.finish(ix);
            }
            // It stays until its deadline, so that the client's packets do not open it anew.
            FlowState::ReconnectRequired => {}
            FlowState::Absent | FlowState::Pending | FlowState::DestinationSelected => {
                self.counters.stray_statuses += 1;
            }
        }
    }

    /// The binding of an active flow ends by a decision of the C-PS.
    pub(super) fn drain(&mut self, ix: FlowIx, reason: RemovalReason) {
        self.flows.shift(ix, FlowState::Draining);
        self.remove_at_ingress(ix, reason);
        self.set_deadline(ix, self.now.checked_add(self.config.deadlines.draining));
    }

    /// An active flow can no longer reach its instance: it ends, and its client must open a new connection.
    pub(super) fn reconnect(&mut self, ix: FlowIx) {
        let Some(flow) = self.flows.get(ix) else { return };
        let (transaction, key, destination) = (flow.transaction, flow.key, flow.destination);
        self.counters.reconnect_required += 1;
        self.flows.shift(ix, FlowState::ReconnectRequired);
        self.reservations.release(&mut self.cst, transaction);
        self.remove_at_ingress(ix, RemovalReason::Requested);
        if let Some(Destination { csci_id, .. }) = destination {
            let event = Event::ReconnectRequired { transaction, key, csci_id };
            self.outputs.push_back(Output::Event(event));
        }
        self.set_deadline(ix, self.now.checked_add(self.config.deadlines.reconnect_required));
    }

    pub(super) fn remove_at_ingress(&mut self, ix: FlowIx, reason: RemovalReason) {
        let Some(flow) = self.flows.get(ix) else { return };
        let (transaction, key) = (flow.transaction, flow.key);
        if let Some(ingress) = self.name(flow.ingress).cloned() {
            self.outputs.push_back(Output::Remove { ingress, transaction, key, reason });
        }
    }

    fn remove_binding(
        &mut self,
        ingress: &NodeId,
        transaction: TransactionId,
        key: FlowKey,
        reason: RemovalReason,
    ) {
        self.outputs.push_back(Output::Remove { ingress: ingress.clone(), transaction, key, reason });
    }

    /// An ingress attached: what it does not report until the deadline it no longer has, and what ended meanwhile it
    /// is told again.
    pub(super) fn expect_bindings(&mut self, ix: NodeIx) {
        let flows: Vec<FlowIx> = self.flows.of(ix).collect();
        if flows.is_empty() {
            return;
        }
        let old = self.nodes.get(ix).and_then(|node| node.restore);
        let at = self.now.checked_add(self.config.deadlines.restore);
        self.timers.set(Timer::Restore(ix), old, at);
        if let Some(node) = self.nodes.get_mut(ix) {
            node.restore = at;
            node.complete = false;
        }
        for flow in flows {
            let ended = self.flows.get(flow).is_some_and(|flow| match flow.state() {
                FlowState::Draining | FlowState::Failed | FlowState::ReconnectRequired => true,
                FlowState::Absent
                | FlowState::Pending
                | FlowState::DestinationSelected
                | FlowState::BindingReady
                | FlowState::Active => false,
            });
            if ended {
                self.remove_at_ingress(flow, RemovalReason::Requested);
            }
        }
    }

    pub(super) fn restore_deadline(&mut self, ix: NodeIx) {
        if let Some(node) = self.nodes.get_mut(ix) {
            node.restore = None;
            node.complete = true;
        }
        self.start_sweep();
    }

    /// A forwarder holds a binding from before a restart: destination, reverse tuple, path and epoch are taken over
    /// before any packet of the flow could lead to a new selection.
    fn restored(&mut self, peer: &NodeId, ingress: NodeIx, binding: Binding, known: Option<FlowIx>) {
        let (transaction, key) = (binding.transaction, binding.forward.key);
        if binding.epoch > self.epoch {
            let event = Event::Fenced { node: peer.clone(), epoch: binding.epoch };
            self.outputs.push_back(Output::Event(event));
            return;
        }
        if let Some(ix) = known {
            self.confirm(ix);
            return;
        }
        let taken = self.flows.by_key(ingress, &key).or_else(|| self.flows.by_transaction(transaction));
        let consistent = binding.forward.path.headend == *peer
            && binding.forward.path.endpoint == binding.forward.egress
            && binding.reverse == Binding::reverse_of(&binding.forward);
        // A newer transaction has the flow, or the binding is not of this ingress.
        if taken.is_some() || !consistent {
            self.counters.stray_statuses += 1;
            self.remove_binding(peer, transaction, key, RemovalReason::Requested);
            return;
        }
        if let Err(failure) = self.room(ingress) {
            self.counters.not_restored += 1;
            self.counters.refused(&failure);
            self.remove_binding(peer, transaction, key, RemovalReason::Requested);
            return;
        }
        let Some(destination) = self.destination_of(&binding) else {
            self.counters.not_restored += 1;
            self.remove_binding(peer, transaction, key, RemovalReason::Unconfigured);
            return;
        };
        self.take_over(ingress, binding, destination);
    }

    /// Where a binding leads, if the catalogue has that instance there.
    fn destination_of(&self, binding: &Binding) -> Option<Destination> {
        let forward = &binding.forward;
        let instance = self.catalogue.service(binding.cs_id)?.instance(forward.csci_id)?;
        let (locator, _) = instance.locator(forward.key.family())?;
        let same = locator == forward.locator && self.name(instance.egress) == Some(&forward.egress);
        same.then_some(Destination { csci_id: forward.csci_id, locator, egress: instance.egress })
    }

    fn confirm(&mut self, ix: FlowIx) {
        let Some(flow) = self.flows.get_mut(ix) else { return };
        match flow.state() {
            FlowState::Active if flow.repair.is_none() => {
                flow.attachment = self.nodes.get(flow.ingress).map_or(0, |node| node.attachment);
                self.counters.restored += 1;
            }
            // A repair in progress is confirmed by its own word, which follows.
            FlowState::Active => {
                flow.attachment = self.nodes.get(flow.ingress).map_or(0, |node| node.attachment);
            }
            FlowState::BindingReady => self.installed(ix),
            FlowState::Draining | FlowState::Failed | FlowState::ReconnectRequired => {
                self.remove_at_ingress(ix, RemovalReason::Requested);
            }
            FlowState::Absent | FlowState::Pending | FlowState::DestinationSelected => {
                self.counters.stray_statuses += 1;
            }
        }
    }

    fn take_over(&mut self, ingress: NodeIx, binding: Binding, destination: Destination) {
        let slots = self
            .catalogue
            .service(binding.cs_id)
            .map_or(1, |service| service.constraints.min_gas.unwrap_or(1).max(1));
        let mut generations = self.current_generations();
        generations.ted = Some(binding.forward.path.generation);
        let mut flow = Flow::new(binding.forward.key, ingress, binding.transaction, TenantId::default());
        flow.service = Some(binding.cs_id);
        flow.destination = Some(destination);
        flow.slots = slots;
        flow.generations = generations;
        flow.version = binding.version;
        flow.path = Some(self.paths.acquire(binding.forward.path));
        if let Some(node) = self.nodes.get_mut(ingress) {
            flow.attachment = node.attachment;
            node.flows = node.flows.saturating_add(1);
        }
        let ix = self.flows.restore(flow);
        let held = Reservation { cs_id: binding.cs_id, csci_id: destination.csci_id, slots, active: None };
        self.reservations.hold(&mut self.cst, binding.transaction, held);
        // A report from before the restart may have it or not: it counts until the next one.
        self.reservations.activate(binding.transaction, self.now);
        self.counters.restored += 1;
        // What happened to its instance meanwhile.
        self.look_at(ix);
    }
}
