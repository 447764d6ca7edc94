//! Packets without a binding, and what the C-PS says to them.

use super::{Bound, Ingress, Output, PuntedPacket, State};
use crate::pending::{Held, PacketId, PendingBound};
use crate::{DropReason, Install};
use cats_engine_types::{
    Binding, BindingEvent, BindingStatus, Constraints, CsId, FlowKey, InstallFailure, Protocol,
    RequestFailure, ServiceRequest, TenantId, TransactionId,
};
use std::sync::Arc;
use std::time::Instant;

impl Ingress {
    /// A packet that matched no binding when it arrived.
    pub fn handle_packet(&mut self, packet: PuntedPacket, now: Instant) {
        let limits = self.config.pending;
        let key = packet.key;
        let Some(flow) = self.flows.get_mut(&key) else {
            return self.open(packet, now);
        };
        match &mut flow.state {
            State::Waiting { held, .. } | State::Committing { held, .. } => {
                if let Err(bound) = self.totals.join(held, packet.id, packet.octets, &limits) {
                    self.drop_packets(vec![packet.id], reason_of(bound));
                }
            }
            // It was punted before the binding matched it: behind those already released.
            State::Bound(_) => self.outputs.push_back(Output::Release(vec![packet.id])),
            State::Removing { .. } => self.drop_packets(vec![packet.id], DropReason::Ending),
        }
    }

    /// A punted packet that is of no flow, such as one whose source is no unicast address: it opens none and is
    /// dropped as without service.
    pub fn handle_no_flow(&mut self, packet: PacketId) {
        self.drop_packets(vec![packet], DropReason::NoService);
    }

    fn open(&mut self, packet: PuntedPacket, now: Instant) {
        let Some(&service) = self.config.services.get(&packet.key.destination()) else {
            return self.drop_packets(vec![packet.id], DropReason::NoService);
        };
        if self.flows.len() >= self.config.flow_limit as usize {
            return self.drop_packets(vec![packet.id], DropReason::FlowLimit);
        }
        let held = match self.totals.open(packet.id, packet.octets, &self.config.pending) {
            Ok(held) => held,
            Err(bound) => return self.drop_packets(vec![packet.id], reason_of(bound)),
        };
        self.sequence += 1;
        let transaction = TransactionId { epoch: self.epoch.0, sequence: self.sequence };
        let tenant = self.tenant_of(packet.interface.as_deref());
        self.outputs.push_back(Output::Request(self.request(packet.key, transaction, tenant)));
        let deadline = now + self.config.hold;
        self.put(packet.key, State::Waiting { transaction, service, tenant, held }, Some(deadline));
    }

    fn tenant_of(&self, interface: Option<&str>) -> TenantId {
        let access = interface.and_then(|name| self.config.access.iter().find(|access| access.name == name));
        access.map_or_else(TenantId::default, |access| access.tenant)
    }

    /// The C-PS decided. A binding is installed only while its pending record waits (CP-24), or to replace
    /// one of the same transaction.
    pub fn handle_binding(&mut self, binding: Binding, now: Instant) {
        if let Err(failure) = self.admit_owner(&binding) {
            return self.status(&binding, BindingEvent::InstallFailed(failure));
        }
        let key = binding.forward.key;
        let binding = Arc::new(binding);
        match self.flows.get(&key).map(|flow| &flow.state) {
            Some(State::Waiting { transaction, service, .. }) if *transaction == binding.transaction => {
                let expired = self.flows.get(&key).and_then(|flow| flow.deadline).is_none_or(|at| now >= at);
                if expired {
                    self.end_waiting(key, DropReason::HoldExpired);
                    self.status(&binding, BindingEvent::InstallFailed(InstallFailure::NotPending));
                } else if let Err(failure) = check(&binding, *service) {
                    self.end_waiting(key, DropReason::InstallFailed);
                    self.status(&binding, BindingEvent::InstallFailed(failure));
                } else {
                    self.commit(binding);
                }
            }
            Some(State::Bound(bound)) if bound.binding.transaction == binding.transaction => {
                self.replace(binding);
            }
            // The same binding again, while it is on its way.
            Some(State::Committing { binding: known, .. }) if *known == binding => {}
            Some(_) | None => {
                self.status(&binding, BindingEvent::InstallFailed(InstallFailure::NotPending));
            }
        }
    }

    fn admit_owner(&mut self, binding: &Binding) -> Result<(), InstallFailure> {
        if binding.epoch < self.owner {
            return Err(InstallFailure::Fenced { found: binding.epoch, known: self.owner });
        }
        self.owner = binding.epoch;
        Ok(())
    }

    fn commit(&mut self, binding: Arc<Binding>) {
        let key = binding.forward.key;
        if let Some(State::Waiting { held, .. }) = self.take(key) {
            // A TCP peer puts segments in order itself; for others no later packet may overtake the held ones.
            let staged = key.protocol() != Protocol::TCP;
            self.outputs.push_back(Output::Commit(Install {
                binding: binding.clone(),
                replaces: None,
                staged,
            }));
            self.put(key, State::Committing { binding, held }, None);
        }
    }

    fn replace(&mut self, binding: Arc<Binding>) {
        let key = binding.forward.key;
        let Some(State::Bound(bound)) = self.flows.get_mut(&key).map(|flow| &mut flow.state) else { return };
        let current = bound.replacing.as_ref().unwrap_or(&bound.binding);
        if **current == *binding {
            return self.status(&binding, BindingEvent::Installed);
        }
        let newer = binding.version > current.version && bound.replacing.is_none();
        if !newer || bound.binding.reverse != binding.reverse {
            let reason = "a binding is replaced by a later version with the same instance, one at a time";
            let failure = InstallFailure::NotRealisable(reason.to_owned());
            return self.status(&binding, BindingEvent::InstallFailed(failure));
        }
        bound.replacing = Some(binding.clone());
        let replaces = Some(bound.binding.clone());
        let staged = bound.staged;
        self.outputs.push_back(Output::Commit(Install { binding, replaces, staged }));
    }

    /// The backend's answer to [`Output::Commit`].
    pub fn handle_commit_result(
        &mut self,
        binding: &Arc<Binding>,
        result: Result<(), InstallFailure>,
        now: Instant,
    ) {
        let key = binding.forward.key;
        match self.flows.get(&key).map(|flow| &flow.state) {
            Some(State::Committing { binding: known, .. }) if Arc::ptr_eq(known, binding) => {
                let Some(State::Committing { held, .. }) = self.take(key) else { return };
                self.first_commit(binding, held, result, now);
            }
            Some(State::Bound(bound))
                if bound.replacing.as_ref().is_some_and(|b| Arc::ptr_eq(b, binding)) =>
            {
                self.second_commit(binding, result, now);
            }
            // The flow was removed or unconfigured meanwhile: what has come in must go out again.
            Some(_) | None => {
                if result.is_ok() {
                    self.outputs.push_back(Output::Remove(binding.clone()));
                }
            }
        }
    }

    fn first_commit(
        &mut self,
        binding: &Arc<Binding>,
        held: Held,
        result: Result<(), InstallFailure>,
        now: Instant,
    ) {
        let key = binding.forward.key;
        let packets = self.totals.release(held);
        match result {
            Ok(()) => {
                self.release(packets);
                let staged = key.protocol() != Protocol::TCP;
                let hard_end = binding.lifetime.hard.map(|hard| now + hard);
                self.status(binding, BindingEvent::Installed);
                self.put_bound(
                    Bound { binding: binding.clone(), staged, used: now, hard_end, replacing: None },
                    now,
                );
            }
            Err(failure) => {
                self.drop_packets(packets, DropReason::InstallFailed);
                self.status(binding, BindingEvent::InstallFailed(failure));
            }
        }
    }

    fn second_commit(&mut self, binding: &Arc<Binding>, result: Result<(), InstallFailure>, now: Instant) {
        let Some(State::Bound(mut bound)) = self.take(binding.forward.key) else { return };
        bound.replacing = None;
        match result {
            Ok(()) => {
                bound.binding = binding.clone();
                bound.hard_end = binding.lifetime.hard.map(|hard| now + hard);
                self.status(binding, BindingEvent::Installed);
            }
            Err(failure) => self.status(binding, BindingEvent::InstallFailed(failure)),
        }
        self.put_bound(bound, now);
    }

    fn release(&mut self, packets: Vec<PacketId>) {
        if !packets.is_empty() {
            self.outputs.push_back(Output::Release(packets));
        }
    }

    /// The C-PS refused, or cannot be reached: the held packets end here. A refusal of a request that no
    /// longer waits changes nothing.
    pub fn handle_refusal(&mut self, key: FlowKey, transaction: TransactionId, failure: &RequestFailure) {
        // Until the hold deadline an unreachable C-PS may come back.
        if *failure == RequestFailure::Unreachable {
            return;
        }
        if let Some(State::Waiting { transaction: waiting, .. }) =
            self.flows.get(&key).map(|flow| &flow.state)
            && *waiting == transaction
        {
            self.end_waiting(key, DropReason::Refused);
        }
    }

    /// Requests that still wait for an answer, to be sent again to a C-PS that has come back.
    pub fn waiting(&self) -> Vec<ServiceRequest> {
        let waiting = self.flows.iter().filter_map(|(key, flow)| match &flow.state {
            State::Waiting { transaction, tenant, .. } => Some(self.request(*key, *transaction, *tenant)),
            State::Committing { .. } | State::Bound(_) | State::Removing { .. } => None,
        });
        waiting.collect()
    }

    fn request(&self, key: FlowKey, transaction: TransactionId, tenant: TenantId) -> ServiceRequest {
        ServiceRequest {
            transaction,
            ingress: self.node.clone(),
            key,
            cs_id: None,
            constraints: Constraints::default(),
            tenant,
            generation: None,
        }
    }

    /// Ends a pending record without a binding.
    pub(super) fn end_waiting(&mut self, key: FlowKey, reason: DropReason) {
        if let Some(State::Waiting { held, .. } | State::Committing { held, .. }) = self.take(key) {
            let packets = self.totals.release(held);
            self.drop_packets(packets, reason);
        }
    }

    pub(super) fn status(&mut self, binding: &Binding, event: BindingEvent) {
        self.outputs.push_back(Output::Status(BindingStatus {
            transaction: binding.transaction,
            key: binding.forward.key,
            event,
        }));
    }
}

fn reason_of(bound: PendingBound) -> DropReason {
    match bound {
        PendingBound::Flow => DropReason::FlowBound,
        PendingBound::Total => DropReason::TotalBound,
        PendingBound::Flows => DropReason::PendingFlows,
    }
}

/// Whether a binding is one that the flow may have: of its service, and with the reverse direction that
/// belongs to the forward one (CP-9).
fn check(binding: &Binding, service: CsId) -> Result<(), InstallFailure> {
    let refuse = |reason: String| Err(InstallFailure::NotRealisable(reason));
    if binding.cs_id != service {
        return refuse(format!("the flow is of service {service}, the binding of {}", binding.cs_id));
    }
    if binding.forward.locator.address.is_ipv4() != binding.forward.key.service().is_ipv4() {
        return refuse(format!("locator {} is of another address family", binding.forward.locator));
    }
    if binding.reverse != Binding::reverse_of(&binding.forward) {
        return refuse("the reverse direction does not belong to the forward one".to_owned());
    }
    Ok(())
}
