//! From a path reply to a binding at the forwarder (CP-14, CP-24), and the repair of active flows' paths (CP-26).

use super::{Cps, Output};
use crate::cps::flow::{Flow, FlowIx, FlowState, Repair};
use crate::cps::nodes::{Node, realisable};
use crate::cps::paths::PathIx;
use cats_engine_types::{
    Binding, Family, Forward, Generation, Micros, NodeId, Path, PathReply, PathRequest, RequestFailure,
};
use std::time::Instant;

impl Cps {
    /// The answer to a path request. One that nobody waits for, or that comes after the deadline, changes nothing.
    pub fn handle_path_reply(&mut self, reply: PathReply, now: Instant) {
        self.now = now;
        let waiting = self.flows.by_transaction(reply.transaction).filter(|ix| {
            self.flows.get(*ix).is_some_and(|flow| match flow.state() {
                FlowState::DestinationSelected => true,
                FlowState::Active => flow.repair == Some(Repair::Path),
                _ => false,
            })
        });
        let Some(ix) = waiting else {
            self.counters.late_path_replies += 1;
            return;
        };
        let flow = self.flows.get(ix);
        if flow.and_then(|flow| flow.deadline).is_some_and(|deadline| now >= deadline) {
            self.counters.late_path_replies += 1;
            self.set_deadline(ix, None);
            self.flow_deadline(ix);
            return;
        }
        let outcome = match reply.outcome {
            Ok(path) => self.examine(ix, &path).map(|()| path),
            Err(no_path) => Err(RequestFailure::NoPath(no_path)),
        };
        match outcome {
            Ok(path) => self.bind(ix, path),
            Err(failure) => self.path_failure(ix, failure),
        }
    }

    /// The topology changed: flows whose path `holds` no longer get a new path to the same instance.
    pub fn handle_topology(
        &mut self,
        generation: Generation,
        holds: impl FnMut(&Path) -> bool,
        now: Instant,
    ) {
        self.now = now;
        self.ted = self.ted.max(generation);
        if self.paths.examine(holds) {
            self.start_sweep();
        }
    }

    fn path_failure(&mut self, ix: FlowIx, failure: RequestFailure) {
        self.counters.path_failures += 1;
        if self.flows.get(ix).is_some_and(|flow| flow.state() == FlowState::Active) {
            self.reconnect(ix);
        } else {
            self.fail(ix, failure);
        }
    }

    /// Whether the path is an answer to the flow's request that the headend can realise.
    fn examine(&self, ix: FlowIx, path: &Path) -> Result<(), RequestFailure> {
        let refuse = |reason: &str| Err(RequestFailure::NotRealisable(reason.to_owned()));
        let Some(flow) = self.flows.get(ix) else { return refuse("the flow is gone") };
        let egress = flow.destination.and_then(|destination| self.nodes.get(destination.egress));
        let (Some(ingress), Some(egress)) = (self.nodes.get(flow.ingress), egress) else {
            return refuse("the flow has no destination");
        };
        let wanted = Wanted {
            ingress,
            egress,
            family: flow.key.family(),
            known: flow.generations.ted,
            max_delay: flow.constraints.max_delay,
            established: flow.state() == FlowState::Active,
        };
        wanted.met_by(path)
    }

    /// Whether the path is an answer to a request of [`Cps::dry_run`] that the headend can realise.
    ///
    /// # Errors
    /// Why a flow would get no binding along it.
    pub fn suits(&self, request: &PathRequest, path: &Path) -> Result<(), RequestFailure> {
        let node = |name: &NodeId| self.nodes.find(name).and_then(|ix| self.nodes.get(ix));
        let (Some(ingress), Some(egress)) = (node(&request.headend), node(&request.endpoint)) else {
            return Err(RequestFailure::NotRealisable("its ends are not known".to_owned()));
        };
        let (family, max_delay) = (request.family, request.constraints.max_delay);
        Wanted { ingress, egress, family, known: Some(self.ted), max_delay, established: false }.met_by(path)
    }

    /// BINDING_READY, or the replacement of an active flow's binding.
    fn bind(&mut self, ix: FlowIx, path: Path) {
        self.ted = self.ted.max(path.generation);
        let generation = path.generation;
        let shared = self.paths.acquire(path.clone());
        let Some(flow) = self.flows.get_mut(ix) else { return };
        flow.generations.ted = Some(generation);
        let mut decision = flow.decision.take();
        if flow.state() == FlowState::Active {
            flow.repair = Some(Repair::Commit(shared));
            flow.version = flow.version.saturating_add(1);
        } else {
            flow.path = Some(shared);
            self.flows.shift(ix, FlowState::BindingReady);
        }
        if let Some(decision) = &mut decision {
            decision.path = Some(path.clone());
            decision.generations.ted = Some(generation);
        }
        self.set_deadline(ix, self.now.checked_add(self.config.deadlines.commit));
        self.install(ix, path);
        if let Some(decision) = decision {
            self.record(*decision);
        }
    }

    fn install(&mut self, ix: FlowIx, path: Path) {
        let ingress = path.headend.clone();
        let endpoint = path.endpoint.clone();
        let Some(binding) = self.flows.get(ix).and_then(|flow| self.binding(flow, path, endpoint)) else {
            return;
        };
        self.counters.installs += 1;
        self.outputs.push_back(Output::Install { ingress, binding: Box::new(binding) });
    }

    fn binding(&self, flow: &Flow, path: Path, egress: NodeId) -> Option<Binding> {
        let destination = flow.destination?;
        let forward = Forward {
            key: flow.key,
            csci_id: destination.csci_id,
            locator: destination.locator,
            egress,
            path,
        };
        Some(Binding {
            transaction: flow.transaction,
            cs_id: flow.service?,
            reverse: Binding::reverse_of(&forward),
            forward,
            lifetime: self.config.lifetime,
            epoch: self.epoch,
            version: flow.version,
        })
    }

    /// Gives paths back that a flow referred to.
    pub(super) fn release_paths(&mut self, path: Option<PathIx>, repair: Option<Repair>) {
        if let Some(path) = path {
            self.paths.release(path);
        }
        match repair {
            Some(Repair::Commit(path)) => self.paths.release(path),
            Some(Repair::Path) | None => {}
        }
    }
}

/// What a path is for.
struct Wanted<'a> {
    ingress: &'a Node,
    egress: &'a Node,
    family: Family,
    /// The newest topology that was known when it was asked for.
    known: Option<Generation>,
    max_delay: Option<Micros>,
    /// The flow has a binding.
    established: bool,
}

impl Wanted<'_> {
    fn met_by(&self, path: &Path) -> Result<(), RequestFailure> {
        let Self { ingress, egress, family, known, max_delay, established } = self;
        let refuse = |reason: String| Err(RequestFailure::NotRealisable(reason));
        if path.headend != ingress.name || path.endpoint != egress.name {
            let (from, to) = (&path.headend, &path.endpoint);
            return refuse(format!(
                "the path leads from {from} to {to}, not from {} to {}",
                ingress.name, egress.name
            ));
        }
        if let Some(known) = known.filter(|known| path.generation < *known) {
            return refuse(format!("it is of topology {}, and {known} was known", path.generation));
        }
        if let Some(bound) = max_delay.filter(|bound| path.delay > *bound) {
            return refuse(format!("its delay {} is above {bound}", path.delay));
        }
        // A repair goes on with what the egress said last: losing its control plane ends no established flow.
        if !egress.is_attached() && !established {
            return refuse(format!("{} is not attached", egress.name));
        }
        let Some(capabilities) = &ingress.ingress else {
            return refuse(format!("{} is no ingress", ingress.name));
        };
        realisable(path, *family, capabilities, egress).map_err(RequestFailure::NotRealisable)
    }
}
