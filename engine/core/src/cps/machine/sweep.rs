//! After a change of configuration, deliveries or topology each flow is looked at once, some at a time, so that a
//! change never holds up new flows for long (CP-17, CP-26).

use super::{Cps, Event, Output};
use crate::cps::flow::{Flow, FlowIx, FlowState, Repair};
use crate::cps::nodes::{DeliveryStatus, Node, NodeIx};
use cats_engine_types::{FlowKey, RemovalReason, RequestFailure};

/// How far it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sweep {
    after: Option<(NodeIx, FlowKey)>,
}

/// Flows looked at in one go.
const STEP: usize = 1000;

/// What becomes of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    /// The service left the configuration.
    Unconfigured,
    /// The instance left, is not healthy, or its egress cannot deliver to it.
    InstanceFailed,
    /// The path is broken.
    PathBroken,
    /// The ingress came back without it.
    Lost,
}

impl Cps {
    /// Begins anew; flows that were looked at before are looked at again.
    pub(super) fn start_sweep(&mut self) {
        self.sweep = (self.flows.len() > 0).then_some(Sweep { after: None });
    }

    pub(super) fn sweep_some(&mut self) {
        let Some(sweep) = self.sweep else { return };
        let step: Vec<_> = self.flows.after(sweep.after).take(STEP).collect();
        self.sweep = match step.last() {
            Some((last, _)) if step.len() == STEP => Some(Sweep { after: Some(*last) }),
            Some(_) | None => None,
        };
        for (_, ix) in step {
            self.look_at(ix);
        }
    }

    /// Looks at one flow.
    pub(super) fn look_at(&mut self, ix: FlowIx) {
        let fate = self.flows.get(ix).map_or(Fate::Stays, |flow| self.fate(flow));
        self.meet(ix, fate);
    }

    /// Metrics never decide it: only what is gone or broken does (CP-17).
    fn fate(&self, flow: &Flow) -> Fate {
        let (Some(cs_id), Some(destination)) = (flow.service, flow.destination) else { return Fate::Stays };
        let Some(service) = self.catalogue.service(cs_id) else { return Fate::Unconfigured };
        let node = self.nodes.get(flow.ingress);
        if flow.state() == FlowState::Active
            && node.is_some_and(|node| node.complete && node.attachment != flow.attachment)
        {
            return Fate::Lost;
        }
        if service.instance(destination.csci_id).is_none() {
            return Fate::InstanceFailed;
        }
        let row = self.cst.row(cs_id, destination.csci_id);
        let record = row.and_then(|row| self.cst.selecting(row, self.now));
        if record.is_some_and(|record| record.ends_flows(self.now, self.cst.refreshed())) {
            return Fate::InstanceFailed;
        }
        let egress = self.nodes.get(destination.egress);
        let delivery = egress.map(|egress| egress.delivers(destination.csci_id, &destination.locator));
        if delivery == Some(DeliveryStatus::Failed) {
            return Fate::InstanceFailed;
        }
        let broken = flow.path.is_some_and(|path| self.paths.is_broken(path));
        // An ingress that is not attached could not take the repaired path; it is looked at when it is back.
        if broken && node.is_some_and(Node::is_attached) { Fate::PathBroken } else { Fate::Stays }
    }

    fn meet(&mut self, ix: FlowIx, fate: Fate) {
        let Some(flow) = self.flows.get_mut(ix) else { return };
        let active = match flow.state() {
            FlowState::Active => true,
            FlowState::Pending | FlowState::DestinationSelected | FlowState::BindingReady => false,
            // These end anyway.
            FlowState::Absent | FlowState::Draining | FlowState::Failed | FlowState::ReconnectRequired => {
                return;
            }
        };
        match (fate, active) {
            (Fate::Stays, _) | (Fate::PathBroken | Fate::Lost, false) => {}
            (Fate::Unconfigured, true) => self.drain(ix, RemovalReason::Unconfigured),
            (Fate::Unconfigured, false) => self.fail(ix, RequestFailure::UnknownService),
            (Fate::InstanceFailed, true) => self.reconnect(ix),
            (Fate::InstanceFailed, false) => self.fail(ix, RequestFailure::NoCandidate),
            (Fate::PathBroken, true) => {
                if flow.repair.is_none() {
                    flow.repair = Some(Repair::Path);
                    self.request_path(ix);
                }
            }
            (Fate::Lost, true) => self.lose(ix),
        }
    }

    /// The ingress no longer has the binding: nothing is left to be removed there.
    fn lose(&mut self, ix: FlowIx) {
        let Some(flow) = self.flows.get(ix) else { return };
        let (transaction, key) = (flow.transaction, flow.key);
        if let Some(node) = self.name(flow.ingress).cloned() {
            self.outputs.push_back(Output::Event(Event::Lost { node, transaction, key }));
        }
        self.flows.shift(ix, FlowState::Draining);
        self.finish(ix);
    }
}
