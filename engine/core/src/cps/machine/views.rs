//! What can be read of a C-PS, by key and in pages.

use super::Cps;
use crate::cps::agents::{AgentView, Held};
use crate::cps::catalogue::Catalogue;
use crate::cps::cst::{AgentIx, Cst, Key, Record, Source};
use crate::cps::flow::{Flow, FlowState};
use crate::cps::nodes::{ControlPlane, DataPlane};
use crate::cps::nst::Nst;
use cats_engine_types::{
    Changed, CsId, CsciId, Decision, Epoch, FlowKey, Generation, Generations, Locator, MetricRecord, NodeId,
    Path, RemovalReason, RequestFailure, TenantId, TransactionId,
};
use std::sync::Arc;
use std::time::Instant;

/// Where a page of flows ends: the next one begins behind it.
pub type FlowCursor = (NodeId, FlowKey);

/// A flow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct FlowView {
    pub ingress: NodeId,
    pub key: FlowKey,
    pub transaction: TransactionId,
    pub tenant: TenantId,
    pub state: FlowState,
    pub service: Option<CsId>,
    pub csci_id: Option<CsciId>,
    pub locator: Option<Locator>,
    pub egress: Option<NodeId>,
    pub path: Option<Path>,
    pub generations: Generations,
    pub version: u32,
    /// Until when it may stay in its state.
    pub deadline: Option<Instant>,
}

/// A forwarder: the states of control plane and data plane are apart (CP-38).
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct NodeView {
    pub node: NodeId,
    pub control: ControlPlane,
    /// Since when; absent if it never attached.
    pub since: Option<Instant>,
    pub data: DataPlane,
    pub epoch: Epoch,
    pub is_ingress: bool,
    /// Flows that it is the ingress of.
    pub flows: u32,
}

/// Slots that a transaction holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ReservationView {
    pub transaction: TransactionId,
    pub cs_id: CsId,
    pub csci_id: CsciId,
    pub slots: u32,
    /// Whether they count: no report of the instance has them yet.
    pub counts: bool,
}

/// A record of an instance, from one source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct RecordView<'a> {
    /// The C-SMA that advertises it; absent: the configuration.
    pub agent: Option<&'a NodeId>,
    /// Whether it is the one that selects.
    pub selects: bool,
    /// Whether its source may speak of the instance.
    pub authorised: bool,
    pub valid: bool,
    /// Until when; absent: without end.
    pub expires: Option<Instant>,
    /// When it came; absent of the configuration.
    pub received: Option<Instant>,
    /// When its report was taken, as far as our clock can tell; absent of the configuration.
    pub taken: Option<Instant>,
    /// As the C-SMA advertised it; absent of the configuration.
    pub advertised: Option<&'a MetricRecord>,
    /// The values that select; absent where it is not authorised.
    pub record: Option<&'a Record>,
}

/// Requests that ended without a binding, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Refused {
    pub unknown_service: u64,
    pub identity_conflict: u64,
    pub unauthorised: u64,
    pub malformed: u64,
    pub no_candidate: u64,
    pub no_path: u64,
    pub not_realisable: u64,
    pub deadline: u64,
    pub commit: u64,
    pub limit: u64,
    pub reconnect_required: u64,
    pub not_ready: u64,
}

/// Counters since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Counters {
    pub requests: u64,
    /// Requests of a transaction that was in progress already.
    pub repeated_requests: u64,
    pub selected: u64,
    pub refused: Refused,
    pub path_requests: u64,
    pub path_failures: u64,
    /// Replies that nobody waited for any more; they changed nothing.
    pub late_path_replies: u64,
    pub installs: u64,
    pub install_failures: u64,
    /// Commits that came too late; the bindings were removed.
    pub late_installs: u64,
    /// Statuses of bindings that were not expected.
    pub stray_statuses: u64,
    pub restored: u64,
    /// Bindings from before a restart that were removed: beyond a limit, or not of the catalogue.
    pub not_restored: u64,
    pub repaired: u64,
    pub reconnect_required: u64,
    pub removed_idle: u64,
    pub removed_hard: u64,
    pub removed_requested: u64,
    pub removed_cleared: u64,
    pub removed_unconfigured: u64,
}

impl Counters {
    pub(super) fn refused(&mut self, failure: &RequestFailure) {
        let refused = &mut self.refused;
        let count = match failure {
            RequestFailure::UnknownService => &mut refused.unknown_service,
            RequestFailure::IdentityConflict { .. } => &mut refused.identity_conflict,
            RequestFailure::Unauthorised(_) => &mut refused.unauthorised,
            RequestFailure::Malformed(_) => &mut refused.malformed,
            RequestFailure::NoCandidate => &mut refused.no_candidate,
            RequestFailure::NoPath(_) => &mut refused.no_path,
            RequestFailure::NotRealisable(_) => &mut refused.not_realisable,
            RequestFailure::Deadline(_) => &mut refused.deadline,
            RequestFailure::Commit(_) => &mut refused.commit,
            RequestFailure::Limit(_) => &mut refused.limit,
            RequestFailure::ReconnectRequired => &mut refused.reconnect_required,
            RequestFailure::Unreachable | RequestFailure::NotReady(_) => &mut refused.not_ready,
        };
        *count += 1;
    }

    pub(super) fn removed(&mut self, reason: RemovalReason) {
        let count = match reason {
            RemovalReason::Idle => &mut self.removed_idle,
            RemovalReason::Hard => &mut self.removed_hard,
            RemovalReason::Requested => &mut self.removed_requested,
            RemovalReason::Cleared => &mut self.removed_cleared,
            RemovalReason::Unconfigured => &mut self.removed_unconfigured,
        };
        *count += 1;
    }
}

impl Cps {
    /// The ownership epoch.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The forwarder of its own node.
    pub fn local_forwarder(&self) -> Option<&NodeId> {
        self.config.local_forwarder.as_ref()
    }

    /// Services and instances.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The computing service table.
    pub fn cst(&self) -> &Cst {
        &self.cst
    }

    /// What is known of an instance, source by source: those that may select in the order in which they come, then
    /// those that are not authorised.
    pub fn records(&self, cs_id: CsId, csci_id: CsciId, now: Instant) -> Vec<RecordView<'_>> {
        let Some(row) = self.cst.row(cs_id, csci_id) else { return Vec::new() };
        let selecting = self.cst.selecting(row, now);
        let authorised = row.records().filter_map(|record| {
            let (agent, held) = match record.source {
                Source::Static => (None, None),
                Source::Agent(ix) => {
                    self.held(ix, cs_id, csci_id).map(|(node, held)| (Some(node), Some(held)))?
                }
            };
            Some(RecordView {
                agent,
                selects: selecting.is_some_and(|selecting| std::ptr::eq(selecting, record)),
                authorised: true,
                valid: self.cst.is_valid(record, now),
                expires: self.cst.expiry(record),
                received: held.map(|held| held.received),
                taken: record.taken,
                advertised: held.map(|held| &held.record),
                record: Some(record),
            })
        });
        let unauthorised = row.unauthorised().iter().filter_map(|ix| {
            let (agent, held) = self.held(*ix, cs_id, csci_id)?;
            let valid_for = held.record.valid_for;
            let expires = held.received.checked_add(valid_for);
            let expires = expires.and_then(|at| self.cst.refreshed().extend(*ix, at, valid_for));
            Some(RecordView {
                agent: Some(agent),
                selects: false,
                authorised: false,
                valid: expires.is_none_or(|expires| now < expires),
                expires,
                received: Some(held.received),
                taken: held.taken,
                advertised: Some(&held.record),
                record: None,
            })
        });
        authorised.chain(unauthorised).collect()
    }

    fn held(&self, ix: AgentIx, cs_id: CsId, csci_id: CsciId) -> Option<(&NodeId, &Held)> {
        let agent = self.agents.get(ix)?;
        agent.held().get(&(cs_id, csci_id)).map(|held| (agent.node(), held))
    }

    /// The C-SMAs that may advertise.
    pub fn agents(&self) -> impl Iterator<Item = AgentView> {
        self.agents.iter().map(|(_, agent)| agent.view())
    }

    /// What a C-SMA advertised, ordered by CS-ID and CSCI-ID.
    pub fn advertised<'a>(&'a self, agent: &NodeId) -> impl Iterator<Item = &'a MetricRecord> + use<'a> {
        let found = self.agents.find(agent).and_then(|ix| self.agents.get(ix));
        found.into_iter().flat_map(|agent| agent.held().values().map(|held| &held.record))
    }

    /// The network service table.
    pub fn nst(&self) -> &Nst {
        &self.nst
    }

    /// The newest topology that is known.
    pub fn topology(&self) -> Generation {
        self.ted
    }

    /// Decisions, the newest first.
    pub fn decisions(&self) -> impl Iterator<Item = &Arc<Decision>> {
        self.decisions.iter()
    }

    /// The decision of a transaction, if it is still kept.
    pub fn decision(&self, transaction: TransactionId) -> Option<&Arc<Decision>> {
        self.decisions.iter().find(|decision| decision.transaction == transaction)
    }

    /// The instances of which a record came, changed or went.
    pub fn changed_instances(&mut self) -> &mut Changed<Key> {
        self.cst.changed()
    }

    /// Flows in all states.
    pub fn flow_count(&self) -> usize {
        self.flows.len()
    }

    /// The flow of an ingress and key; absent is ABSENT.
    pub fn flow(&self, ingress: &NodeId, key: &FlowKey) -> Option<FlowView> {
        let ix = self.flows.by_key(self.nodes.find(ingress)?, key)?;
        self.view(self.flows.get(ix)?)
    }

    /// At most `limit` flows after the cursor. The order is the one in which ingresses became known, then the key's.
    pub fn flows(&self, after: Option<&FlowCursor>, limit: usize) -> Vec<FlowView> {
        let after = match after {
            Some((ingress, key)) => match self.nodes.find(ingress) {
                Some(node) => Some((node, *key)),
                None => return Vec::new(),
            },
            None => None,
        };
        let flows = self.flows.after(after).filter_map(|(_, ix)| self.view(self.flows.get(ix)?));
        flows.take(limit).collect()
    }

    fn view(&self, flow: &Flow) -> Option<FlowView> {
        let destination = flow.destination.as_ref();
        Some(FlowView {
            ingress: self.name(flow.ingress)?.clone(),
            key: flow.key,
            transaction: flow.transaction,
            tenant: flow.tenant,
            state: flow.state(),
            service: flow.service,
            csci_id: destination.map(|destination| destination.csci_id),
            locator: destination.map(|destination| destination.locator),
            egress: destination.and_then(|destination| self.name(destination.egress)).cloned(),
            path: flow.path.and_then(|path| self.paths.get(path)).cloned(),
            generations: flow.generations,
            version: flow.version,
            deadline: flow.deadline,
        })
    }

    /// How many flows went from one state to another since the start.
    pub fn transitions(&self, from: FlowState, to: FlowState) -> u64 {
        self.flows.transitions(from, to)
    }

    /// Transitions that Figure 3 lacks and that were refused: each one is a bug of ours.
    pub fn illegal_transitions(&self) -> u64 {
        self.flows.illegal()
    }

    /// Held slots, by transaction.
    pub fn reservations(&self) -> impl Iterator<Item = ReservationView> {
        self.reservations.iter().map(|(transaction, held, counts)| ReservationView {
            transaction,
            cs_id: held.cs_id,
            csci_id: held.csci_id,
            slots: held.slots,
            counts,
        })
    }

    /// Paths in use, with the number of flows along each.
    pub fn paths(&self) -> impl Iterator<Item = (&Path, u32)> {
        self.paths.iter()
    }

    /// Forwarders, and other nodes that the configuration names.
    pub fn nodes(&self) -> impl Iterator<Item = NodeView> {
        self.nodes.iter().map(|node| NodeView {
            node: node.name.clone(),
            control: node.control,
            since: node.since,
            data: node.data,
            epoch: node.epoch,
            is_ingress: node.ingress.is_some(),
            flows: node.flows,
        })
    }

    /// Counters since the start.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}
