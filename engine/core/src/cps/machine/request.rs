//! From a service request to a decided destination and a path request (CP-1 to CP-4, CP-10 to CP-13).

use super::{Cps, Event, Output};
use crate::cps::catalogue::Service;
use crate::cps::flow::{Destination, Flow, FlowIx, FlowState};
use crate::cps::nodes::{DeliveryStatus, NodeIx};
use crate::cps::reservation::Reservation;
use crate::cps::selection::{self, Query, Taken, View, Winner};
use cats_engine_types::{
    Constraints, CsId, Deadline, Decision, Generations, Limit, Locator, Micros, NodeId, NotReady,
    PathConstraints, PathRequest, RemovalReason, RequestFailure, Selected, ServiceRequest, TransactionId,
};
use std::time::{Instant, SystemTime};

/// The ingress of a request that may be decided, and what its flow was bound to before.
type Accepted = (NodeIx, Option<(CsId, Destination)>);

/// What is decided before it is written down.
struct Decided {
    destination: Destination,
    computing: Micros,
    service: CsId,
    slots: u32,
    decision: Option<Box<Decision>>,
    constraints: Constraints,
}

impl Cps {
    /// A service request of an authenticated ingress that came just now. `wall` is the time for the record.
    pub fn handle_request(&mut self, peer: &NodeId, request: ServiceRequest, now: Instant, wall: SystemTime) {
        self.handle_request_received(peer, request, now, now, wall);
    }

    /// A service request that waited since `received`; the selection deadline runs from there.
    pub fn handle_request_received(
        &mut self,
        peer: &NodeId,
        request: ServiceRequest,
        received: Instant,
        now: Instant,
        wall: SystemTime,
    ) {
        self.now = now;
        self.counters.requests += 1;
        let (ingress, kept) = match self.accept(peer, &request) {
            Ok(Some(accepted)) => accepted,
            Ok(None) => return,
            Err(failure) => {
                self.counters.refused(&failure);
                let ServiceRequest { transaction, key, .. } = request;
                self.outputs.push_back(Output::Refuse { ingress: peer.clone(), transaction, key, failure });
                return;
            }
        };
        let flow = Flow::new(request.key, ingress, request.transaction, request.tenant);
        let ix = self.flows.request(flow);
        if let Some(node) = self.nodes.get_mut(ingress) {
            node.flows = node.flows.saturating_add(1);
        }
        if now.saturating_duration_since(received) > self.config.deadlines.selection {
            self.fail(ix, RequestFailure::Deadline(Deadline::Selection));
            return;
        }
        match self.decide(&request, ingress, kept, wall) {
            Ok(decided) => self.ask_path(ix, decided),
            Err(failure) => self.fail(ix, failure),
        }
    }

    /// Whether the request may be decided. Nothing for one that is in progress already. A destination comes with it
    /// where the flow had one.
    fn accept(
        &mut self,
        peer: &NodeId,
        request: &ServiceRequest,
    ) -> Result<Option<Accepted>, RequestFailure> {
        if !self.configured {
            return Err(RequestFailure::NotReady(NotReady::Configuration));
        }
        let ingress = self.authorise(peer, request)?;
        let old = self.flows.by_key(ingress, &request.key);
        let state = old.and_then(|old| self.flows.get(old)).map(|flow| (flow.transaction, flow.state()));
        if let Some((transaction, state)) = state {
            if transaction == request.transaction {
                self.counters.repeated_requests += 1;
                return Ok(None);
            }
            if request.transaction < transaction {
                let reason =
                    format!("transaction {} is older than the flow's {transaction}", request.transaction);
                return Err(RequestFailure::Malformed(reason));
            }
            if state == FlowState::ReconnectRequired {
                return Err(RequestFailure::ReconnectRequired);
            }
        } else {
            self.room(ingress)?;
        }
        if self.flows.by_transaction(request.transaction).is_some() {
            return Err(RequestFailure::Malformed(format!("transaction {} is in use", request.transaction)));
        }
        if let Some(generation) = request.generation {
            let limit = self.config.admission.generations;
            self.generations.accept(request.key, generation, limit).map_err(|last| {
                RequestFailure::Malformed(format!("request generation {generation} is lower than {last}"))
            })?;
        }
        let client = request.key.client().ip();
        self.buckets
            .admit(&self.config.admission, client, request.tenant, self.now)
            .map_err(RequestFailure::Limit)?;
        let kept = old.and_then(|old| self.supersede(old, request.transaction));
        Ok(Some((ingress, kept)))
    }

    /// Whether the sender may ask this (CP-12).
    pub(super) fn authorise(
        &self,
        peer: &NodeId,
        request: &ServiceRequest,
    ) -> Result<NodeIx, RequestFailure> {
        let refuse = |reason: String| Err(RequestFailure::Unauthorised(reason));
        if *peer != request.ingress {
            return refuse(format!("{peer} asks in the name of {}", request.ingress));
        }
        let Some(ix) = self.nodes.find(peer) else { return refuse(format!("{peer} is not attached")) };
        let Some(node) = self.nodes.get(ix).filter(|node| node.is_attached()) else {
            return refuse(format!("{peer} is not attached"));
        };
        let Some(capabilities) = &node.ingress else { return refuse(format!("{peer} is no ingress")) };
        let tenants = self.config.forwarders.iter().find(|forwarder| forwarder.node == *peer);
        if tenants.is_some_and(|f| !f.tenants.is_empty() && !f.tenants.contains(&request.tenant)) {
            return refuse(format!("{peer} may not ask for tenant {}", request.tenant.0));
        }
        let family = request.key.family();
        if !capabilities.families.contains(&family) {
            return Err(RequestFailure::NotRealisable(format!("{peer} binds no {family:?} flows")));
        }
        Ok(ix)
    }

    /// Whether one more flow fits; that none does is told.
    pub(super) fn room(&mut self, ingress: NodeIx) -> Result<(), RequestFailure> {
        let Some(limit) = self.reached(ingress) else { return Ok(()) };
        if limit == Limit::FlowLimits && !self.limited {
            self.limited = true;
            self.outputs.push_back(Output::Event(Event::FlowLimit(true)));
        }
        Err(RequestFailure::Limit(limit))
    }

    /// The limit that one more flow of an ingress would exceed.
    pub(super) fn reached(&self, ingress: NodeIx) -> Option<Limit> {
        if self.flows.len() >= self.config.admission.flows {
            return Some(Limit::FlowLimits);
        }
        let full = self.nodes.get(ingress).is_some_and(|node| {
            node.ingress.as_ref().is_some_and(|capabilities| node.flows >= capabilities.max_bindings)
        });
        full.then_some(Limit::IngressBindings)
    }

    /// The ingress gave up a transaction of this flow and asks anew. Its destination stays, so that one connection
    /// never meets two instances, unless its set-up failed or it had ended.
    fn supersede(&mut self, old: FlowIx, by: TransactionId) -> Option<(CsId, Destination)> {
        let flow = self.flows.get(old)?;
        let kept = flow.service.zip(flow.destination);
        match flow.state() {
            FlowState::Pending | FlowState::DestinationSelected | FlowState::BindingReady => {
                self.reservations.pass(flow.transaction, by);
                if flow.state() == FlowState::BindingReady {
                    self.remove_at_ingress(old, RemovalReason::Requested);
                }
                self.flows.shift(old, FlowState::Failed);
                self.finish(old);
                kept
            }
            FlowState::Active => {
                self.reservations.pass(flow.transaction, by);
                self.flows.shift(old, FlowState::Draining);
                self.finish(old);
                kept
            }
            FlowState::Absent | FlowState::Draining | FlowState::Failed | FlowState::ReconnectRequired => {
                self.finish(old);
                None
            }
        }
    }

    fn decide(
        &mut self,
        request: &ServiceRequest,
        ingress: NodeIx,
        kept: Option<(CsId, Destination)>,
        wall: SystemTime,
    ) -> Result<Decided, RequestFailure> {
        let service = self.catalogue.resolve(&request.key.destination(), request.cs_id)?;
        service.admits(request.tenant)?;
        let constraints = service.constraints.and(&request.constraints);
        let family = request.key.family();
        let query = Query { family, ingress, constraints: &constraints, now: self.now };
        let view = View {
            service,
            rows: self.cst.rows(service.cs_id),
            refreshed: self.cst.refreshed(),
            paths: self.nst.from(ingress),
        };
        let kept = kept.filter(|(cs_id, destination)| {
            *cs_id == service.cs_id && still_serves(service, view, &query, destination)
        });
        let kept = kept.map(|(cs_id, destination)| (destination, self.computing(cs_id, &destination)));
        let winner = match kept {
            Some(_) => None,
            None => selection::select(view, &query, &mut self.scratch),
        };
        let found = kept.or(winner.as_ref().map(|winner| (destination(winner), winner.computing)));
        let decision =
            self.draft(request, view, &query, winner.as_ref(), found.map(|(found, _)| found), wall);
        let Some((destination, computing)) = found else {
            if let Some(decision) = decision {
                self.record(*decision);
            }
            return Err(RequestFailure::NoCandidate);
        };
        let (service, slots) = (service.cs_id, query.slots());
        Ok(Decided { destination, computing, service, slots, decision, constraints })
    }

    pub(super) fn computing(&self, service: CsId, destination: &Destination) -> Micros {
        let row = self.cst.row(service, destination.csci_id);
        let record = row.and_then(|row| self.cst.selecting(row, self.now));
        record.map_or(Micros(0), |record| record.computing_time())
    }

    /// The record of the decision, where records are kept (CP-13).
    fn draft(
        &self,
        request: &ServiceRequest,
        view: View<'_>,
        query: &Query<'_>,
        winner: Option<&Winner>,
        taken: Option<Destination>,
        at: SystemTime,
    ) -> Option<Box<Decision>> {
        if self.config.decision_history == 0 {
            return None;
        }
        let limit = self.config.decision_candidates.max(1);
        self.described(request, (view, query, limit), winner, taken, at).map(Box::new)
    }

    /// The same, whether records are kept or not, with so many candidates at most.
    pub(super) fn described(
        &self,
        request: &ServiceRequest,
        (view, query, limit): (View<'_>, &Query<'_>, usize),
        winner: Option<&Winner>,
        taken: Option<Destination>,
        at: SystemTime,
    ) -> Option<Decision> {
        let of = match (winner, taken) {
            (Some(winner), _) => Taken::Winner(winner),
            (None, Some(kept)) => Taken::Kept(kept.csci_id),
            (None, None) => Taken::Nothing,
        };
        let (candidates, omitted) = selection::explain(view, query, of, limit, &self.nodes);
        let selected = match taken {
            Some(Destination { csci_id, locator, egress }) => {
                Some(Selected { csci_id, locator, egress: self.name(egress)?.clone() })
            }
            None => None,
        };
        Some(Decision {
            transaction: request.transaction,
            ingress: request.ingress.clone(),
            key: request.key,
            service: view.service.cs_id,
            candidates,
            omitted,
            selected,
            path: None,
            generations: self.current_generations(),
            at,
        })
    }

    pub(super) fn current_generations(&self) -> Generations {
        Generations {
            policy: self.config.policy_version,
            cst: self.cst.generation(),
            nst: self.nst.generation(),
            ted: None,
        }
    }

    /// DESTINATION_SELECTED: the decision is written down and a slot held; only then the path is asked for.
    fn ask_path(&mut self, ix: FlowIx, decided: Decided) {
        let generations = self.current_generations();
        let Some(flow) = self.flows.get_mut(ix) else { return };
        let Decided { destination, computing, service, slots, decision, constraints } = decided;
        flow.service = Some(service);
        flow.destination = Some(destination);
        flow.slots = slots;
        flow.decision = decision;
        flow.generations = generations;
        flow.constraints = PathConstraints {
            max_delay: path_delay_bound(&constraints, computing),
            min_bandwidth: constraints.min_bandwidth,
            max_hops: None,
        };
        let held = Reservation { cs_id: service, csci_id: destination.csci_id, slots, active: None };
        self.reservations.hold(&mut self.cst, flow.transaction, held);
        self.flows.shift(ix, FlowState::DestinationSelected);
        self.counters.selected += 1;
        self.request_path(ix);
    }

    /// Asks for a path of this flow. No candidate and no computing metric goes with it (CP-1).
    pub(super) fn request_path(&mut self, ix: FlowIx) {
        self.set_deadline(ix, self.now.checked_add(self.config.deadlines.path));
        let Some(flow) = self.flows.get_mut(ix) else { return };
        // A reply from an older topology is no answer.
        flow.generations.ted = Some(self.ted);
        let Some(destination) = flow.destination else { return };
        let (Some(ingress), Some(egress)) =
            (self.nodes.get(flow.ingress), self.nodes.get(destination.egress))
        else {
            return;
        };
        self.counters.path_requests += 1;
        self.outputs.push_back(Output::PathRequest(PathRequest {
            transaction: flow.transaction,
            headend: ingress.name.clone(),
            endpoint: egress.name.clone(),
            family: flow.key.family(),
            domain: self.config.domain.clone(),
            constraints: flow.constraints,
            max_segments: ingress.ingress.as_ref().map_or(0, |capabilities| capabilities.max_segments),
        }));
    }
}

pub(super) fn destination(winner: &Winner) -> Destination {
    Destination { csci_id: winner.csci_id, locator: winner.locator, egress: winner.egress }
}

/// Whether a flow that was bound to an instance may be bound to it again.
pub(super) fn still_serves(
    service: &Service,
    view: View<'_>,
    query: &Query<'_>,
    destination: &Destination,
) -> bool {
    let Some(instance) = service.instance(destination.csci_id) else { return false };
    let row = view.rows.binary_search_by_key(&destination.csci_id, |row| row.csci_id).ok();
    let record = row.and_then(|at| view.rows.get(at)?.selecting(query.now, view.refreshed));
    let fails = record.is_some_and(|record| record.ends_flows(query.now, view.refreshed));
    let same: Option<(Locator, DeliveryStatus)> = Some((destination.locator, DeliveryStatus::Ready));
    !fails && instance.egress == destination.egress && instance.locator(query.family) == same
}

/// What remains for the path of the delay bounds.
pub(super) fn path_delay_bound(constraints: &Constraints, computing: Micros) -> Option<Micros> {
    let remaining = constraints.max_total_delay.map(|total| total.minus(computing).unwrap_or(Micros(0)));
    match (constraints.max_network_delay, remaining) {
        (Some(network), Some(remaining)) => Some(network.min(remaining)),
        (network, remaining) => network.or(remaining),
    }
}
