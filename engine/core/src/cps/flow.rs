//! The flow table and the states of Figure 3 (CP-21).

use super::nodes::NodeIx;
use super::paths::PathIx;
use cats_engine_types::{
    CsId, CsciId, Decision, FlowKey, Generations, Locator, PathConstraints, Protocol, TenantId, TransactionId,
};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Bound;
use std::time::Instant;

/// The state of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlowState {
    /// No record.
    Absent,
    /// Requested; no destination yet.
    Pending,
    /// The destination is decided; the path is asked for.
    DestinationSelected,
    /// The path is there; the forwarder commits the binding.
    BindingReady,
    /// Both directions are committed.
    Active,
    /// The binding ended; the forwarder cleans up.
    Draining,
    /// The set-up failed; what was sent is cleaned up.
    Failed,
    /// The instance or the way to it failed; the client must reconnect.
    ReconnectRequired,
}

impl FlowState {
    /// All states, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Absent,
        Self::Pending,
        Self::DestinationSelected,
        Self::BindingReady,
        Self::Active,
        Self::Draining,
        Self::Failed,
        Self::ReconnectRequired,
    ];

    /// The name of the state, as the document writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "ABSENT",
            Self::Pending => "PENDING",
            Self::DestinationSelected => "DESTINATION_SELECTED",
            Self::BindingReady => "BINDING_READY",
            Self::Active => "ACTIVE",
            Self::Draining => "DRAINING",
            Self::Failed => "FAILED",
            Self::ReconnectRequired => "RECONNECT_REQUIRED",
        }
    }

    /// Whether a flow goes from this state to `next`: the arrows of Figure 3, the failures of the two states that
    /// have deadlines there, the end of RECONNECT_REQUIRED, and ABSENT to ACTIVE for a binding restored after a
    /// restart (CP-23).
    pub fn leads_to(self, next: Self) -> bool {
        use FlowState::{
            Absent, Active, BindingReady, DestinationSelected, Draining, Failed, Pending, ReconnectRequired,
        };
        match self {
            Absent => matches!(next, Pending | Active),
            Pending => matches!(next, DestinationSelected | Failed),
            DestinationSelected => matches!(next, BindingReady | Failed),
            BindingReady => matches!(next, Active | Failed),
            Active => matches!(next, Active | Draining | Failed | ReconnectRequired),
            Draining | Failed | ReconnectRequired => next == Absent,
        }
    }

    pub(super) fn number(self) -> usize {
        self as usize
    }
}

/// A flow by its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FlowIx(u32);

/// What a flow is steered to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) csci_id: CsciId,
    pub(super) locator: Locator,
    pub(super) egress: NodeIx,
}

/// How far the repair of an active flow's path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    /// A path to the same instance is asked for.
    Path,
    /// The forwarder replaces the binding.
    Commit(PathIx),
}

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) key: FlowKey,
    pub(super) ingress: NodeIx,
    pub(super) transaction: TransactionId,
    pub(super) tenant: TenantId,
    /// The service, from DESTINATION_SELECTED on.
    pub(super) service: Option<CsId>,
    pub(super) destination: Option<Destination>,
    pub(super) slots: u32,
    pub(super) constraints: PathConstraints,
    pub(super) generations: Generations,
    pub(super) path: Option<PathIx>,
    pub(super) repair: Option<Repair>,
    pub(super) version: u32,
    /// The ingress's attachment in which it last said that it has the binding.
    pub(super) attachment: u32,
    /// Kept until its path is known.
    pub(super) decision: Option<Box<Decision>>,
    pub(super) deadline: Option<Instant>,
    /// Only [`Flows::shift`] changes it.
    state: FlowState,
}

impl Flow {
    pub(super) fn new(key: FlowKey, ingress: NodeIx, transaction: TransactionId, tenant: TenantId) -> Self {
        Self {
            key,
            ingress,
            transaction,
            tenant,
            service: None,
            destination: None,
            slots: 1,
            constraints: PathConstraints::default(),
            generations: Generations::default(),
            path: None,
            repair: None,
            version: 1,
            attachment: 0,
            decision: None,
            deadline: None,
            state: FlowState::Absent,
        }
    }

    pub(super) fn state(&self) -> FlowState {
        self.state
    }
}

/// All flows.
#[derive(Debug)]
pub(super) struct Flows {
    places: Vec<Option<Box<Flow>>>,
    free: Vec<u32>,
    by_key: BTreeMap<(NodeIx, FlowKey), FlowIx>,
    by_transaction: BTreeMap<TransactionId, FlowIx>,
    transitions: [[u64; 8]; 8],
    /// Transitions that Figure 3 lacks: refused, each one a bug of ours.
    illegal: u64,
}

impl Flows {
    pub(super) fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            by_key: BTreeMap::new(),
            by_transaction: BTreeMap::new(),
            transitions: [[0; 8]; 8],
            illegal: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Takes a requested flow in, which is PENDING; neither its key nor its transaction may be there.
    pub(super) fn request(&mut self, flow: Flow) -> FlowIx {
        self.insert(flow, FlowState::Pending)
    }

    /// Takes a flow in that an ingress has from before a restart, which is ACTIVE; neither its key nor its
    /// transaction may be there.
    pub(super) fn restore(&mut self, flow: Flow) -> FlowIx {
        self.insert(flow, FlowState::Active)
    }

    fn insert(&mut self, flow: Flow, state: FlowState) -> FlowIx {
        let (key, transaction) = ((flow.ingress, flow.key), flow.transaction);
        let flow = Some(Box::new(flow));
        let ix = match self.free.pop() {
            Some(place) => {
                if let Some(slot) = self.places.get_mut(place as usize) {
                    *slot = flow;
                }
                FlowIx(place)
            }
            None => {
                self.places.push(flow);
                FlowIx(u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX))
            }
        };
        self.by_key.insert(key, ix);
        self.by_transaction.insert(transaction, ix);
        self.shift(ix, state);
        ix
    }

    /// Takes a flow out, which ends in ABSENT; from a state without an arrow there by way of FAILED.
    pub(super) fn remove(&mut self, ix: FlowIx) -> Option<Box<Flow>> {
        if self.get(ix).is_some_and(|flow| !flow.state.leads_to(FlowState::Absent)) {
            self.illegal += 1;
            self.shift(ix, FlowState::Failed);
        }
        self.shift(ix, FlowState::Absent);
        let flow = self.places.get_mut(ix.0 as usize)?.take()?;
        self.free.push(ix.0);
        self.by_key.remove(&(flow.ingress, flow.key));
        self.by_transaction.remove(&flow.transaction);
        Some(flow)
    }

    /// Goes to the next state. Where Figure 3 has no arrow the flow stays in its state, which is counted.
    pub(super) fn shift(&mut self, ix: FlowIx, next: FlowState) {
        let Some(flow) = self.places.get_mut(ix.0 as usize).and_then(Option::as_mut) else { return };
        if !flow.state.leads_to(next) {
            self.illegal += 1;
            return;
        }
        let count = self.transitions.get_mut(flow.state.number()).and_then(|row| row.get_mut(next.number()));
        if let Some(count) = count {
            *count += 1;
        }
        flow.state = next;
    }

    pub(super) fn get(&self, ix: FlowIx) -> Option<&Flow> {
        self.places.get(ix.0 as usize)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, ix: FlowIx) -> Option<&mut Flow> {
        self.places.get_mut(ix.0 as usize)?.as_deref_mut()
    }

    pub(super) fn by_key(&self, ingress: NodeIx, key: &FlowKey) -> Option<FlowIx> {
        self.by_key.get(&(ingress, *key)).copied()
    }

    pub(super) fn by_transaction(&self, transaction: TransactionId) -> Option<FlowIx> {
        self.by_transaction.get(&transaction).copied()
    }

    /// Flows in the order of ingress and key, after the given one.
    pub(super) fn after(
        &self,
        after: Option<(NodeIx, FlowKey)>,
    ) -> impl Iterator<Item = ((NodeIx, FlowKey), FlowIx)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_key.range((from, Bound::Unbounded)).map(|(key, ix)| (*key, *ix))
    }

    /// Flows of one ingress.
    pub(super) fn of(&self, ingress: NodeIx) -> impl Iterator<Item = FlowIx> {
        let client = SocketAddr::new(Ipv4Addr::new(0, 0, 0, 1).into(), 0);
        let service = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        // No key is smaller: IPv4 sorts before IPv6, TCP before UDP, and no client is unspecified.
        let first = FlowKey::new(Protocol::TCP, client, service).ok().map(|key| (ingress, key));
        let from = first.map_or(Bound::Unbounded, Bound::Included);
        self.by_key
            .range((from, Bound::Unbounded))
            .take_while(move |((node, _), _)| *node == ingress)
            .map(|(_, ix)| *ix)
    }

    /// How many flows went from one state to another.
    pub(super) fn transitions(&self, from: FlowState, to: FlowState) -> u64 {
        self.transitions.get(from.number()).and_then(|row| row.get(to.number())).copied().unwrap_or(0)
    }

    /// Transitions that were refused.
    pub(super) fn illegal(&self) -> u64 {
        self.illegal
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cps::nodes::Nodes;

    fn flow(sequence: u64) -> Flow {
        let client = SocketAddr::new([192, 0, 2, 10].into(), u16::try_from(sequence).unwrap());
        let service = SocketAddr::new([192, 0, 2, 100].into(), 443);
        let key = FlowKey::new(Protocol::TCP, client, service).unwrap();
        let ingress = Nodes::default().intern(&"IF-1".parse().unwrap());
        Flow::new(key, ingress, TransactionId { epoch: 1, sequence }, TenantId::default())
    }

    #[test]
    fn the_flows_of_an_ingress_are_found_behind_those_of_another() {
        let mut nodes = Nodes::default();
        let ingresses = ["IF-1", "IF-2"].map(|name| nodes.intern(&name.parse().unwrap()));
        let service = SocketAddr::new([192, 0, 2, 100].into(), 443);
        let clients = [[0, 0, 0, 1], [192, 0, 2, 10]];
        let mut flows = Flows::new();
        for (sequence, (ingress, client)) in
            (1..).zip(ingresses.into_iter().flat_map(|ingress| clients.map(|client| (ingress, client))))
        {
            let key = FlowKey::new(Protocol::TCP, SocketAddr::new(client.into(), 0), service).unwrap();
            flows.request(Flow::new(key, ingress, TransactionId { epoch: 1, sequence }, TenantId::default()));
        }
        assert_eq!(ingresses.map(|ingress| flows.of(ingress).count()), [2, 2]);
    }

    /// Proves CP-21.
    #[test]
    fn no_flow_goes_where_the_figure_has_no_arrow() {
        for from in FlowState::ALL.into_iter().filter(|from| *from != FlowState::Absent) {
            for to in FlowState::ALL {
                let mut flows = Flows::new();
                let ix = flows.request(flow(1));
                flows.get_mut(ix).unwrap().state = from;
                flows.shift(ix, to);
                let reached = flows.get(ix).unwrap().state();
                let legal = from.leads_to(to);
                assert_eq!(reached, if legal { to } else { from }, "{} to {}", from.name(), to.name());
                assert_eq!(
                    (flows.illegal(), flows.transitions(from, to)),
                    (u64::from(!legal), u64::from(legal))
                );
            }
        }
    }

    #[test]
    fn a_flow_that_is_taken_out_too_early_fails_first_and_leaves_nothing() {
        let mut flows = Flows::new();
        let ix = flows.request(flow(1));
        assert!(flows.remove(ix).is_some());
        assert_eq!((flows.len(), flows.illegal()), (0, 1));
        assert_eq!(flows.transitions(FlowState::Pending, FlowState::Failed), 1);
        assert_eq!(flows.transitions(FlowState::Failed, FlowState::Absent), 1);
        assert_eq!(flows.transitions(FlowState::Pending, FlowState::Absent), 0);
    }
}
