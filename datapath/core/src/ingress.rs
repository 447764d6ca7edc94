//! The ingress: from a packet without a binding to a binding, and from there to its end.

mod bound;
mod input;

use crate::pending::{Held, PacketId, PendingTotals};
use crate::{IngressConfig, Install};
use cats_engine_types::{
    Binding, BindingStatus, Changed, CsId, Epoch, FlowKey, NodeId, RemovalReason, ServiceRequest, TenantId,
    TransactionId,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bindings whose idle time is asked for in one question.
pub const IDLE_PAGE: usize = 1024;
/// How long a staged binding waits for the punt queue to be found empty before it is opened anyway.
const DRAIN_LIMIT: Duration = Duration::from_millis(100);
/// After a refused removal it is tried again.
const REMOVAL_RETRY: Duration = Duration::from_secs(1);

/// A packet that matched no binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PuntedPacket {
    /// What the punt path calls it.
    pub id: PacketId,
    /// Its flow.
    pub key: FlowKey,
    /// Its length.
    pub octets: u32,
    /// The interface where it arrived, if that is known.
    pub interface: Option<Arc<str>>,
}

/// What the ingress wants done. To be drained after each input, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// To the C-PS.
    Request(ServiceRequest),
    /// To the C-PS.
    Status(BindingStatus),
    /// To the backend; answered by [`Ingress::handle_commit_result`].
    Commit(Install),
    /// To the backend; answered by [`Ingress::handle_activate_result`].
    Activate(Arc<Binding>),
    /// To the backend; answered by [`Ingress::handle_removed`].
    Remove(Arc<Binding>),
    /// To the backend, at most [`IDLE_PAGE`] of them; answered by [`Ingress::handle_last_used`].
    QueryIdle(Vec<Arc<Binding>>),
    /// To the punt path: these go on with the release mark, in this order.
    Release(Vec<PacketId>),
    /// To the punt path: these end here.
    Drop {
        /// Which.
        packets: Vec<PacketId>,
        /// Why; already counted.
        reason: DropReason,
    },
}

/// Why the ingress drops punted packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// Its destination names no service, or it is of no flow that [`cats_engine_types::FlowKey`] admits.
    NoService,
    /// The hold deadline passed without a binding.
    HoldExpired,
    /// The C-PS refused.
    Refused,
    /// The binding could not be installed.
    InstallFailed,
    /// The flow holds as many packets or octets as it may.
    FlowBound,
    /// All flows together hold as many octets as they may.
    TotalBound,
    /// As many flows wait as may.
    PendingFlows,
    /// Bindings and pending flows have reached the flow limit.
    FlowLimit,
    /// The binding of its flow is being removed.
    Ending,
}

/// What the ingress has at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Occupancy {
    /// Flows that wait for a binding.
    pub pending_flows: u32,
    pub held_packets: u32,
    pub held_octets: u32,
    /// Flows in any state.
    pub flows: usize,
}

/// The ingress state machine: no I/O, no clock. One input, then drain [`Ingress::poll_output`]; call
/// [`Ingress::handle_timeout`] when [`Ingress::poll_timeout`] is due.
///
/// Invariants: at most one request is open for a flow (CP-10); a held packet is released after both
/// directions are committed, or dropped, and each exactly once; a binding whose pending record is gone is
/// never installed.
#[derive(Debug)]
pub struct Ingress {
    node: NodeId,
    config: IngressConfig,
    epoch: Epoch,
    sequence: u64,
    /// The highest ownership epoch seen.
    owner: Epoch,
    flows: BTreeMap<FlowKey, Flow>,
    deadlines: BTreeSet<(Instant, FlowKey)>,
    staged: BTreeSet<FlowKey>,
    totals: PendingTotals,
    /// Deadlines of idle checks are multiples of the poll interval from here.
    origin: Instant,
    outputs: VecDeque<Output>,
    drops: BTreeMap<DropReason, u64>,
    changed: Changed<FlowKey>,
}

#[derive(Debug)]
struct Flow {
    state: State,
    /// Its entry in `deadlines`.
    deadline: Option<Instant>,
}

#[derive(Debug)]
enum State {
    /// The C-PS was asked.
    Waiting { transaction: TransactionId, service: CsId, tenant: TenantId, held: Held },
    /// The backend was told to install.
    Committing { binding: Arc<Binding>, held: Held },
    /// Both directions are installed.
    Bound(Bound),
    /// The backend was told to remove.
    Removing { binding: Arc<Binding>, reason: RemovalReason },
}

#[derive(Debug)]
struct Bound {
    binding: Arc<Binding>,
    /// Open to released packets only.
    staged: bool,
    /// When a packet was last known to have passed.
    used: Instant,
    hard_end: Option<Instant>,
    /// A replacement is on its way to the backend.
    replacing: Option<Arc<Binding>>,
}

impl Ingress {
    /// An ingress without flows. `epoch` is the start of this incarnation and must never repeat: the
    /// transaction ids are made of it.
    pub fn new(node: NodeId, config: IngressConfig, epoch: Epoch, now: Instant) -> Self {
        Self {
            node,
            config,
            epoch,
            sequence: 0,
            owner: Epoch(0),
            flows: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            staged: BTreeSet::new(),
            totals: PendingTotals::default(),
            origin: now,
            outputs: VecDeque::new(),
            drops: BTreeMap::new(),
            changed: Changed::default(),
        }
    }

    /// The next thing to do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Ingress::handle_timeout`] is to be called, and what for.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let (at, key) = self.deadlines.first()?;
        let what = match self.flows.get(key).map(|flow| &flow.state) {
            Some(State::Waiting { .. } | State::Committing { .. }) => "hold",
            Some(State::Bound(bound)) if bound.staged => "drain",
            Some(State::Bound(_)) => "idle",
            Some(State::Removing { .. }) => "removal",
            None => "stale",
        };
        Some((*at, what))
    }

    /// Packets dropped by the ingress itself, by reason.
    pub fn drops(&self) -> &BTreeMap<DropReason, u64> {
        &self.drops
    }

    /// What it holds.
    pub fn occupancy(&self) -> Occupancy {
        Occupancy {
            pending_flows: self.totals.flows,
            held_packets: self.totals.packets,
            held_octets: self.totals.octets,
            flows: self.flows.len(),
        }
    }

    /// Installed bindings after `after`, ordered by flow: one page of a listing.
    pub fn bindings(&self, after: Option<FlowKey>, limit: usize) -> Vec<Arc<Binding>> {
        use std::ops::Bound::{Excluded, Unbounded};
        let start = after.map_or(Unbounded, Excluded);
        self.flows
            .range((start, Unbounded))
            .filter_map(|(_, flow)| match &flow.state {
                State::Bound(bound) => Some(bound.binding.clone()),
                State::Waiting { .. } | State::Committing { .. } | State::Removing { .. } => None,
            })
            .take(limit)
            .collect()
    }

    /// The installed binding of a flow.
    pub fn binding(&self, key: FlowKey) -> Option<&Arc<Binding>> {
        match &self.flows.get(&key)?.state {
            State::Bound(bound) => Some(&bound.binding),
            State::Waiting { .. } | State::Committing { .. } | State::Removing { .. } => None,
        }
    }

    /// The flows whose installed binding came, changed or went.
    pub fn changed_bindings(&mut self) -> &mut Changed<FlowKey> {
        &mut self.changed
    }

    fn count(&mut self, reason: DropReason, packets: usize) {
        let counter = self.drops.entry(reason).or_default();
        *counter = counter.saturating_add(packets as u64);
    }

    fn drop_packets(&mut self, packets: Vec<PacketId>, reason: DropReason) {
        if !packets.is_empty() {
            self.count(reason, packets.len());
            self.outputs.push_back(Output::Drop { packets, reason });
        }
    }

    /// Puts a flow into a state with a deadline; the only place that touches `deadlines` but
    /// [`Ingress::take`].
    fn put(&mut self, key: FlowKey, state: State, deadline: Option<Instant>) {
        self.take(key);
        if let Some(at) = deadline {
            self.deadlines.insert((at, key));
        }
        if let State::Bound(bound) = &state {
            self.changed.note(key);
            if bound.staged {
                self.staged.insert(key);
            }
        }
        self.flows.insert(key, Flow { state, deadline });
    }

    fn take(&mut self, key: FlowKey) -> Option<State> {
        let flow = self.flows.remove(&key)?;
        if let Some(at) = flow.deadline {
            self.deadlines.remove(&(at, key));
        }
        self.staged.remove(&key);
        if let State::Bound(_) = flow.state {
            self.changed.note(key);
        }
        Some(flow.state)
    }
}
