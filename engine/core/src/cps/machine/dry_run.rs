//! What would be decided, without deciding it.

use super::Cps;
use super::request::{destination, path_delay_bound, still_serves};
use crate::cps::flow::{Destination, Flow, FlowState};
use crate::cps::nodes::NodeIx;
use crate::cps::selection::{self, Query, Scratch, View};
use cats_engine_types::{
    CsId, Decision, NodeId, NotReady, PathConstraints, PathRequest, RequestFailure, ServiceRequest,
};
use std::time::{Instant, SystemTime};

/// What a request would lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    /// The decision; nothing is selected where no candidate is eligible.
    pub decision: Decision,
    /// What the path computation would be asked for.
    pub path: Option<PathRequest>,
}

impl Cps {
    /// What [`Cps::handle_request`] would decide on a request of its ingress, with `limit` candidates at most. Nothing is
    /// bound, reserved or counted, and the rates of requests do not matter.
    ///
    /// # Errors
    /// Why the request would not be decided.
    pub fn dry_run(
        &self,
        request: &ServiceRequest,
        limit: usize,
        now: Instant,
        wall: SystemTime,
    ) -> Result<DryRun, RequestFailure> {
        if !self.configured {
            return Err(RequestFailure::NotReady(NotReady::Configuration));
        }
        let ingress = self.authorise(&request.ingress, request)?;
        let known = self.flows.by_key(ingress, &request.key).and_then(|ix| self.flows.get(ix));
        if known.is_some_and(|flow| flow.state() == FlowState::ReconnectRequired) {
            return Err(RequestFailure::ReconnectRequired);
        }
        if let (None, Some(limit)) = (known, self.reached(ingress)) {
            return Err(RequestFailure::Limit(limit));
        }
        let service = self.catalogue.resolve(&request.key.destination(), request.cs_id)?;
        service.admits(request.tenant)?;
        let constraints = service.constraints.and(&request.constraints);
        let query = Query { family: request.key.family(), ingress, constraints: &constraints, now };
        let view = View {
            service,
            rows: self.cst.rows(service.cs_id),
            refreshed: self.cst.refreshed(),
            paths: self.nst.from(ingress),
        };
        let kept = known.and_then(kept_by).filter(|(cs_id, destination)| {
            *cs_id == service.cs_id && still_serves(service, view, &query, destination)
        });
        let winner = match kept {
            Some(_) => None,
            None => selection::select(view, &query, &mut Scratch::default()),
        };
        let found = kept
            .map(|(cs_id, destination)| (destination, self.computing(cs_id, &destination)))
            .or(winner.as_ref().map(|winner| (destination(winner), winner.computing)));
        let taken = found.map(|(destination, _)| destination);
        let decision = self.described(request, (view, &query, limit), winner.as_ref(), taken, wall);
        // It lacks only where a node has no name, which no node has.
        let decision = decision.ok_or(RequestFailure::NoCandidate)?;
        let path = found.and_then(|(destination, computing)| {
            let bounds = PathConstraints {
                max_delay: path_delay_bound(&constraints, computing),
                min_bandwidth: constraints.min_bandwidth,
                max_hops: None,
            };
            self.path_request(request, destination.egress, bounds)
        });
        Ok(DryRun { decision, path })
    }

    fn path_request(
        &self,
        request: &ServiceRequest,
        egress: NodeIx,
        constraints: PathConstraints,
    ) -> Option<PathRequest> {
        let headend = self.nodes.find(&request.ingress).and_then(|ix| self.nodes.get(ix))?;
        let endpoint: NodeId = self.name(egress)?.clone();
        Some(PathRequest {
            transaction: request.transaction,
            headend: headend.name.clone(),
            endpoint,
            family: request.key.family(),
            domain: self.config.domain.clone(),
            constraints,
            max_segments: headend.ingress.as_ref().map_or(0, |capabilities| capabilities.max_segments),
        })
    }
}

/// The instance that a flow keeps, whoever asks anew; one that ends has none any more.
fn kept_by(flow: &Flow) -> Option<(CsId, Destination)> {
    match flow.state() {
        FlowState::Pending | FlowState::DestinationSelected | FlowState::BindingReady | FlowState::Active => {
            flow.service.zip(flow.destination)
        }
        FlowState::Absent | FlowState::Draining | FlowState::Failed | FlowState::ReconnectRequired => None,
    }
}
