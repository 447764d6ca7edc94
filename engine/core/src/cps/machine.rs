//! [`Cps`]: from a service request to a committed binding and to its end.

mod agents;
mod binding;
mod clearing;
mod dry_run;
mod path;
mod request;
mod sweep;
mod views;

use super::admission::{Buckets, GenerationMemory};
use super::agents::{AgentAlarm, Agents};
use super::catalogue::{Catalogue, Instance};
use super::config::CpsConfig;
use super::cst::{AgentIx, Cst};
use super::flow::{FlowIx, FlowState, Flows};
use super::nodes::{DataPlane, NodeIx, Nodes};
use super::nst::Nst;
use super::paths::Paths;
use super::reservation::Reservations;
use super::selection::Scratch;
use crate::timers::Timers;
use cats_engine_types::{
    AgentInstruction, Binding, CsciId, Deadline, Decision, Epoch, FlowKey, ForwarderReport, Generation,
    InstallFailure, NodeId, PathRequest, RemovalReason, RequestFailure, TransactionId,
};
pub use clearing::{Cleared, Which};
pub use dry_run::DryRun;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;
use sweep::Sweep;
pub use views::{Counters, FlowCursor, FlowView, NodeView, RecordView, Refused, ReservationView};

/// Nodes that nothing names any more are kept up to this number and that of the others.
const SPARE_NODES: usize = 64;

/// The C-PS without I/O.
///
/// After each call of a `handle_…` method or of [`Cps::configure`], drain [`Cps::poll_output`] and take the new
/// [`Cps::poll_timeout`]; call [`Cps::handle_timeout`] when it has come. `now` never goes backwards. The caller has
/// authenticated `peer` and the node of a report; whether these may do what they ask is checked here.
#[derive(Debug)]
pub struct Cps {
    epoch: Epoch,
    config: CpsConfig,
    configured: bool,
    catalogue: Catalogue,
    cst: Cst,
    nst: Nst,
    /// The newest topology that a path or the caller told of.
    ted: Generation,
    agents: Agents,
    nodes: Nodes,
    flows: Flows,
    paths: Paths,
    reservations: Reservations,
    buckets: Buckets,
    generations: GenerationMemory,
    timers: Timers<Timer>,
    sweep: Option<Sweep>,
    now: Instant,
    outputs: VecDeque<Output>,
    decisions: VecDeque<Arc<Decision>>,
    counters: Counters,
    limited: bool,
    scratch: Scratch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Flow(FlowIx),
    /// The end of an ingress's report of the bindings that it holds.
    Restore(NodeIx),
    /// A C-SMA is silent, or owes its whole view.
    Agent(AgentIx),
}

/// What the C-PS wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// To the path computation.
    PathRequest(PathRequest),
    /// To an ingress: commit both directions of the binding. A higher version of the same transaction replaces it.
    Install {
        /// To whom.
        ingress: NodeId,
        /// What.
        binding: Box<Binding>,
    },
    /// To an ingress: the flow gets no binding.
    Refuse {
        /// To whom.
        ingress: NodeId,
        /// Of the request.
        transaction: TransactionId,
        /// The flow.
        key: FlowKey,
        /// Why.
        failure: RequestFailure,
    },
    /// To an ingress: the binding of this transaction ends.
    Remove {
        /// To whom.
        ingress: NodeId,
        /// Of the binding; one of another transaction stays.
        transaction: TransactionId,
        /// The flow.
        key: FlowKey,
        /// Why.
        reason: RemovalReason,
    },
    /// To a C-SMA, over its connection; dropped where it has none.
    Instruct {
        /// To whom.
        agent: NodeId,
        /// What.
        instruction: AgentInstruction,
    },
    /// A decision with its path, or with its failure.
    Decision(Arc<Decision>),
    /// Something that an operator may want to know.
    Event(Event),
}

/// Something that an operator may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A forwarder attached, or attached again.
    Attached {
        /// Who.
        node: NodeId,
    },
    /// A forwarder detached; its bindings forward on.
    Detached {
        /// Who.
        node: NodeId,
    },
    /// A forwarder holds a binding of a newer C-PS than this one; it stays as it is.
    Fenced {
        /// Who.
        node: NodeId,
        /// The newer epoch.
        epoch: Epoch,
    },
    /// A forwarder did not commit a binding.
    InstallFailed {
        /// Who.
        node: NodeId,
        /// Of the binding.
        transaction: TransactionId,
        /// Why.
        failure: InstallFailure,
    },
    /// The instance of an active flow failed, or no path leads to it: the flow ends.
    ReconnectRequired {
        /// Of the flow.
        transaction: TransactionId,
        /// The flow.
        key: FlowKey,
        /// The instance.
        csci_id: CsciId,
    },
    /// An ingress came back without a binding that it had.
    Lost {
        /// Who.
        node: NodeId,
        /// Of the binding.
        transaction: TransactionId,
        /// The flow.
        key: FlowKey,
    },
    /// The flow limit is reached (true), or there is room again (false).
    FlowLimit(bool),
    /// Something is wrong with a C-SMA (true), or no longer (false).
    Agent {
        /// Who.
        agent: NodeId,
        /// What.
        alarm: AgentAlarm,
        /// Whether it begins.
        raised: bool,
    },
}

/// Why a forwarder may not attach.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttachError {
    /// The configuration has no entry for it.
    #[error("{0} is no forwarder of this path selector; configure path-selector/forwarder[node-id='{0}']")]
    Unknown(NodeId),
    /// It reports an incarnation that ended.
    #[error("{node} reports epoch {found} after epoch {known}")]
    Epoch {
        /// Who.
        node: NodeId,
        /// Of the report.
        found: Epoch,
        /// Seen before.
        known: Epoch,
    },
    /// No configuration was given yet.
    #[error("the path selector is not configured yet")]
    NotConfigured,
}

impl Cps {
    /// A C-PS without configuration, which refuses all. `epoch` is its ownership epoch, larger than any before.
    pub fn new(epoch: Epoch, now: Instant) -> Self {
        Self {
            epoch,
            config: CpsConfig::default(),
            configured: false,
            catalogue: Catalogue::default(),
            cst: Cst::default(),
            nst: Nst::default(),
            ted: Generation::default(),
            agents: Agents::default(),
            nodes: Nodes::default(),
            flows: Flows::new(),
            paths: Paths::default(),
            reservations: Reservations::default(),
            buckets: Buckets::new(),
            generations: GenerationMemory::default(),
            timers: Timers::new(),
            sweep: None,
            now,
            outputs: VecDeque::new(),
            decisions: VecDeque::new(),
            counters: Counters::default(),
            limited: false,
            scratch: Scratch::default(),
        }
    }

    /// Takes a new configuration, which must be valid. New flows follow it at once. Established flows stay, but for
    /// those whose service or instance is gone or failed.
    pub fn configure(&mut self, config: CpsConfig, now: Instant) {
        self.now = now;
        let nodes = &mut self.nodes;
        let (before, after) = (&self.config.services, &config.services);
        let changed = self.catalogue.follow(before, after, |instance| nodes.intern(&instance.egress));
        self.cst.configure(&config.metrics, now);
        self.nst.configure(&config.paths, |node| nodes.intern(node));
        self.config = config;
        self.configured = true;
        self.decisions.truncate(self.config.decision_history);
        self.forget_nodes();
        for cs_id in &changed {
            refresh(&self.nodes, self.catalogue.instances_of_mut(*cs_id));
        }
        self.configure_agents(&changed);
        self.start_sweep();
    }

    /// Forgets nodes that nothing names any more, once they are more than the others.
    fn forget_nodes(&mut self) {
        let mut used: BTreeSet<NodeIx> = self.catalogue.egresses().collect();
        let paths = self.nst.configured().iter().flat_map(|path| [&path.ingress, &path.egress]);
        let forwarders = self.config.forwarders.iter().map(|forwarder| &forwarder.node);
        let names = paths.chain(forwarders).chain(&self.config.local_forwarder);
        used.extend(names.filter_map(|name| self.nodes.find(name)));
        if self.nodes.len() <= 2 * used.len() + SPARE_NODES {
            return;
        }
        for (_, ix) in self.flows.after(None) {
            let Some(flow) = self.flows.get(ix) else { continue };
            used.insert(flow.ingress);
            used.extend(flow.destination.map(|destination| destination.egress));
        }
        self.nodes.retain(&used);
    }

    /// Takes the report of a forwarder, when it attaches and after each change.
    pub fn handle_forwarder(&mut self, report: ForwarderReport, now: Instant) -> Result<(), AttachError> {
        self.now = now;
        if !self.configured {
            return Err(AttachError::NotConfigured);
        }
        if !self.may_attach(&report.node) {
            return Err(AttachError::Unknown(report.node));
        }
        let ix = self.nodes.intern(&report.node);
        let Some(node) = self.nodes.get_mut(ix) else { return Ok(()) };
        if report.epoch < node.epoch {
            return Err(AttachError::Epoch { node: report.node, found: report.epoch, known: node.epoch });
        }
        let name = report.node.clone();
        let anew = node.report(report, now);
        let failed = node.data != DataPlane::Ready;
        refresh(&self.nodes, self.catalogue.instances_mut().filter(|instance| instance.egress == ix));
        if anew {
            self.outputs.push_back(Output::Event(Event::Attached { node: name }));
            self.expect_bindings(ix);
        }
        if failed || anew {
            self.start_sweep();
        }
        Ok(())
    }

    /// A forwarder is no longer reached. What it holds forwards on; it gets no new flow as an egress.
    pub fn handle_detached(&mut self, node: &NodeId, now: Instant) {
        self.now = now;
        let Some(ix) = self.nodes.find(node) else { return };
        let Some(entry) = self.nodes.get_mut(ix).filter(|entry| entry.is_attached()) else { return };
        entry.detach(now);
        refresh(&self.nodes, self.catalogue.instances_mut().filter(|instance| instance.egress == ix));
        self.outputs.push_back(Output::Event(Event::Detached { node: node.clone() }));
    }

    fn may_attach(&self, node: &NodeId) -> bool {
        self.config.local_forwarder.as_ref() == Some(node)
            || self.config.forwarders.iter().any(|forwarder| forwarder.node == *node)
    }

    /// The next output, in the order in which they came to be.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Cps::handle_timeout`] is to be called, and why.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if self.sweep.is_some() {
            return Some((self.now, "sweep of the flows"));
        }
        if self.agents.is_behind() {
            return Some((self.now, "records of a metric agent"));
        }
        let (at, timer) = self.timers.next()?;
        let why = match timer {
            Timer::Restore(_) => "end of the report of bindings",
            Timer::Agent(_) => "silence of a metric agent, or its whole view",
            Timer::Flow(ix) => match self.flows.get(ix).map(|flow| flow.state()) {
                Some(FlowState::DestinationSelected) => "path deadline",
                Some(FlowState::BindingReady) => "commit deadline",
                Some(FlowState::Active) => "repair deadline",
                Some(FlowState::Draining) => "draining deadline",
                Some(FlowState::ReconnectRequired) => "reconnect-required deadline",
                Some(FlowState::Failed) => "cleanup deadline",
                Some(FlowState::Absent | FlowState::Pending) | None => "flow deadline",
            },
        };
        Some((at, why))
    }

    /// Handles what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        while let Some(timer) = self.timers.take_due(now) {
            match timer {
                Timer::Flow(ix) => self.flow_deadline(ix),
                Timer::Restore(ix) => self.restore_deadline(ix),
                Timer::Agent(ix) => self.agent_deadline(ix),
            }
        }
        self.sweep_some();
        self.follow_agents();
    }

    fn flow_deadline(&mut self, ix: FlowIx) {
        let Some(flow) = self.flows.get_mut(ix) else { return };
        // The timer is already taken.
        flow.deadline = None;
        match flow.state() {
            FlowState::Pending => self.fail(ix, RequestFailure::Deadline(Deadline::Selection)),
            FlowState::DestinationSelected => self.fail(ix, RequestFailure::Deadline(Deadline::PathRequest)),
            FlowState::BindingReady => self.fail(ix, RequestFailure::Deadline(Deadline::Commit)),
            FlowState::Active => self.reconnect(ix),
            FlowState::Absent | FlowState::Draining | FlowState::Failed | FlowState::ReconnectRequired => {
                self.finish(ix);
            }
        }
    }

    fn set_deadline(&mut self, ix: FlowIx, at: Option<Instant>) {
        let Some(flow) = self.flows.get_mut(ix) else { return };
        self.timers.set(Timer::Flow(ix), flow.deadline, at);
        flow.deadline = at;
    }

    fn name(&self, ix: NodeIx) -> Option<&NodeId> {
        self.nodes.get(ix).map(|node| &node.name)
    }

    /// The set-up of a flow failed: the ingress learns it, slots are free again, and what may be installed goes.
    fn fail(&mut self, ix: FlowIx, failure: RequestFailure) {
        let Some(flow) = self.flows.get_mut(ix) else { return };
        let (transaction, key, ingress) = (flow.transaction, flow.key, flow.ingress);
        let sent = flow.state() == FlowState::BindingReady;
        let decision = flow.decision.take();
        self.flows.shift(ix, FlowState::Failed);
        self.reservations.release(&mut self.cst, transaction);
        self.counters.refused(&failure);
        if let Some(name) = self.name(ingress).cloned() {
            if sent {
                let (ingress, reason) = (name.clone(), RemovalReason::Requested);
                self.outputs.push_back(Output::Remove { ingress, transaction, key, reason });
            }
            self.outputs.push_back(Output::Refuse { ingress: name, transaction, key, failure });
        }
        if let Some(decision) = decision {
            self.record(*decision);
        }
        if sent {
            self.set_deadline(ix, self.now.checked_add(self.config.deadlines.draining));
        } else {
            self.finish(ix);
        }
    }

    /// A flow goes to ABSENT: nothing of it is left.
    fn finish(&mut self, ix: FlowIx) {
        self.set_deadline(ix, None);
        let Some(flow) = self.flows.remove(ix) else { return };
        self.reservations.release(&mut self.cst, flow.transaction);
        self.release_paths(flow.path, flow.repair);
        if let Some(node) = self.nodes.get_mut(flow.ingress) {
            node.flows = node.flows.saturating_sub(1);
        }
        if self.limited && self.flows.len() < self.config.admission.flows {
            self.limited = false;
            self.outputs.push_back(Output::Event(Event::FlowLimit(false)));
        }
    }

    fn record(&mut self, decision: Decision) {
        if self.config.decision_history == 0 {
            return;
        }
        let decision = Arc::new(decision);
        self.decisions.truncate(self.config.decision_history - 1);
        self.decisions.push_front(Arc::clone(&decision));
        self.outputs.push_back(Output::Decision(decision));
    }
}

fn refresh<'a>(nodes: &Nodes, instances: impl Iterator<Item = &'a mut Instance>) {
    for instance in instances {
        let Some(node) = nodes.get(instance.egress) else { continue };
        for (locator, status) in instance.v4.iter_mut().chain(instance.v6.iter_mut()) {
            *status = node.delivers(instance.csci_id, locator);
        }
    }
}
