//! What a C-PS is configured with, already in the engine's words.

use super::agents::{AgentBounds, AgentConfig};
use super::services::Services;
use cats_engine_types::{
    Constraints, CsId, CsciId, Gas, Health, Lifetime, Locator, Micros, NodeId, PolicyVersion, Price,
    RoutingDomain, Score, ServiceMatch, TenantId,
};
use std::time::Duration;

/// The configuration of a C-PS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpsConfig {
    /// Stands in each decision; the revision that the configuration was committed as.
    pub policy_version: PolicyVersion,
    /// Services.
    pub services: Services,
    /// Static metrics, ordered by CS-ID and CSCI-ID.
    pub metrics: Vec<StaticMetric>,
    /// Network metrics.
    pub paths: Vec<PathMetric>,
    /// Forwarders of other nodes that may attach.
    pub forwarders: Vec<ForwarderConfig>,
    /// The forwarder of this node, which may attach without an entry.
    pub local_forwarder: Option<NodeId>,
    /// C-SMAs that may advertise.
    pub agents: Vec<AgentConfig>,
    /// Bounds for each of them.
    pub agent_bounds: AgentBounds,
    /// The routing domain of all path requests.
    pub domain: RoutingDomain,
    /// Bounds of time.
    pub deadlines: Deadlines,
    /// Bounds of number.
    pub admission: Admission,
    /// Lifetime of each binding.
    pub lifetime: Lifetime,
    /// Decisions that are kept; the oldest goes first.
    pub decision_history: usize,
    /// Candidates that one record of a decision holds at most.
    pub decision_candidates: usize,
}

impl Default for CpsConfig {
    fn default() -> Self {
        Self {
            policy_version: PolicyVersion::default(),
            services: Services::default(),
            metrics: Vec::new(),
            paths: Vec::new(),
            forwarders: Vec::new(),
            local_forwarder: None,
            agents: Vec::new(),
            agent_bounds: AgentBounds::default(),
            domain: RoutingDomain::default(),
            deadlines: Deadlines::default(),
            admission: Admission::default(),
            lifetime: Lifetime { idle: Some(Duration::from_secs(120)), hard: None },
            decision_history: 1024,
            decision_candidates: 64,
        }
    }
}

/// A service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceConfig {
    /// Its identity.
    pub cs_id: CsId,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Whether new flows are steered.
    pub enabled: bool,
    /// What its traffic looks like.
    pub matches: Vec<ServiceMatch>,
    /// Tenants that may use it; empty: all.
    pub tenants: Vec<TenantId>,
    /// What holds when a request to one of its addresses carries another CS-ID.
    pub precedence: Precedence,
    /// What holds for each request.
    pub constraints: Constraints,
    /// How candidates rank.
    pub policy: Policy,
    /// Its instances, ordered by CSCI-ID.
    pub instances: Vec<InstanceConfig>,
}

/// What holds when destination and CS-ID name different services (CP-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precedence {
    /// Neither: the request is refused.
    #[default]
    Reject,
    /// The CS-ID.
    CsId,
    /// The destination.
    Destination,
}

/// How candidates rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// The first criterion.
    pub rank: Rank,
    /// Where both metrics count: the weighted score in place of the total delay.
    pub weights: Option<Weights>,
}

/// The policy types of `ietf-cats`, and one of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rank {
    /// `base-on-affinity`: the `affinity` leaf, then both metrics.
    Affinity,
    /// `base-on-sm-only`: computing time, then price.
    ServiceMetric,
    /// `base-on-nm-only`: path delay.
    NetworkMetric,
    /// `base-on-sm-nm`: total delay, or the weighted score.
    #[default]
    Both,
    /// `closest-price`: the price closest to this one.
    ClosestPrice(Price),
}

/// Weights of the min-max score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weights {
    /// Of the price.
    pub price: u8,
    /// Of the total delay.
    pub total_delay: u8,
    /// Of the memory in use.
    pub memory_ratio: u8,
}

/// An instance of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceConfig {
    /// Its identity.
    pub csci_id: CsciId,
    /// Whether it takes new flows.
    pub enabled: bool,
    /// The egress that delivers to it.
    pub egress: NodeId,
    /// Where IPv4 flows reach it.
    pub v4: Option<Locator>,
    /// Where IPv6 flows reach it.
    pub v6: Option<Locator>,
}

/// A static metric entry of `ietf-cats` with our augmentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticMetric {
    /// The service.
    pub cs_id: CsId,
    /// The instance.
    pub csci_id: CsciId,
    /// Smaller is preferred; absent ranks behind all.
    pub priority: Option<u8>,
    /// Higher is preferred; absent ranks behind all.
    pub affinity: Option<u8>,
    /// Slots.
    pub gas: Gas,
    /// Time for one request.
    pub computing_time: Micros,
    /// Health.
    pub health: Health,
    /// How long the entry makes its instance eligible, from the commit that set it; absent: without end.
    pub valid_for: Option<Duration>,
    /// Price of one request.
    pub price: Option<Price>,
    /// Reputation of the site.
    pub reputation: Option<Score>,
    /// Security level of the site.
    pub security_level: Option<Score>,
    /// Network delay, used where the NST has none.
    pub delay: Option<Micros>,
    /// Free capacity in percent; 0 is not eligible.
    pub service_ratio: Option<u32>,
    /// Free memory in percent; counts in the weighted score.
    pub memory_ratio: Option<u32>,
}

impl StaticMetric {
    /// An entry with nothing set: slots without limit, computing time 0, healthy.
    pub fn new(cs_id: CsId, csci_id: CsciId) -> Self {
        Self {
            cs_id,
            csci_id,
            priority: None,
            affinity: None,
            gas: Gas::Unlimited,
            computing_time: Micros(0),
            health: Health::Healthy,
            valid_for: None,
            price: None,
            reputation: None,
            security_level: None,
            delay: None,
            service_ratio: None,
            memory_ratio: None,
        }
    }
}

/// What is known of the path from an ingress to an egress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathMetric {
    /// From.
    pub ingress: NodeId,
    /// To.
    pub egress: NodeId,
    /// Whether it is reached at all.
    pub reachable: bool,
    /// One-way delay.
    pub delay: Option<Micros>,
    /// Delay variation.
    pub jitter: Option<Micros>,
    /// Packets lost per million.
    pub loss_ppm: Option<u32>,
    /// kbit/s.
    pub bandwidth: Option<u32>,
}

/// A forwarder that may attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwarderConfig {
    /// Its name.
    pub node: NodeId,
    /// Tenants in whose name it may ask; empty: all.
    pub tenants: Vec<TenantId>,
}

/// Bounds of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// From a request's arrival to the selected destination.
    pub selection: Duration,
    /// From a path request to its reply.
    pub path: Duration,
    /// From a binding to the forwarder's word.
    pub commit: Duration,
    /// From the end of a binding to the release of its state.
    pub draining: Duration,
    /// How long a flow whose instance failed is refused.
    pub reconnect_required: Duration,
    /// From the attachment of an ingress to the end of its report of the bindings that it holds.
    pub restore: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            selection: Duration::from_millis(100),
            path: Duration::from_millis(500),
            commit: Duration::from_millis(200),
            draining: Duration::from_secs(10),
            reconnect_required: Duration::from_secs(30),
            restore: Duration::from_secs(30),
        }
    }
}

/// Bounds of number. A request beyond one is refused with the bound's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// New flows a second of one client: an IPv4 address or an IPv6 /64.
    pub client_rate: u32,
    /// New flows a second of one tenant.
    pub tenant_rate: u32,
    /// Flows in all states.
    pub flows: usize,
    /// Clients with a bucket of their own; the clients beyond share one.
    pub clients: usize,
    /// Flow keys whose last request generation is remembered; the oldest is forgotten first.
    pub generations: usize,
}

impl Default for Admission {
    fn default() -> Self {
        Self {
            client_rate: 1_000,
            tenant_rate: 20_000,
            flows: 1 << 20,
            clients: 1 << 16,
            generations: 1 << 16,
        }
    }
}
