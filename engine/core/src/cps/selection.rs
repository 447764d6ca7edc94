//! The joint selection: which instance serves a new flow (CP-1 to CP-3).
//!
//! Eligibility, then the path from the ingress, then the ranks of the service's policy. Deterministic: equal inputs
//! give the equal choice. Reasons are data, made only for a decision that is recorded.

use super::catalogue::{Instance, Service};
use super::config::{Policy, Rank, Weights};
use super::cst::{Record, Refreshed, Row};
use super::nodes::{DeliveryStatus, NodeIx, Nodes};
use super::nst::PathRecord;
use cats_engine_types::{
    Candidate, Constraints, Criterion, CsciId, Family, Gas, Ineligible, Locator, Loss, Measure, Micros,
    NodeId, Verdict, Win,
};
use std::time::Instant;

/// What is selected from.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) service: &'a Service,
    /// The service's rows of the CST, ordered by CSCI-ID.
    pub(super) rows: &'a [Row],
    /// Of the CST, too: when each C-SMA refreshed its records.
    pub(super) refreshed: &'a Refreshed,
    /// The NST's records from the ingress, by egress.
    pub(super) paths: &'a [Option<PathRecord>],
}

/// What is wanted.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    pub(super) family: Family,
    pub(super) ingress: NodeIx,
    /// Of the service and of the request, the stricter ones.
    pub(super) constraints: &'a Constraints,
    pub(super) now: Instant,
}

impl Query<'_> {
    /// Slots that the flow takes.
    pub(super) fn slots(&self) -> u32 {
        self.constraints.min_gas.unwrap_or(1).max(1)
    }
}

/// The selected instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Winner {
    pub(super) csci_id: CsciId,
    pub(super) locator: Locator,
    pub(super) egress: NodeIx,
    pub(super) computing: Micros,
    key: Key,
    reason: Win,
    scale: Scale,
}

/// A candidate that passed all rules.
#[derive(Debug, Clone, Copy)]
struct Eligible {
    index: u32,
    computing: Micros,
    network: Micros,
    price: Option<u32>,
    memory: Option<u32>,
    priority: u8,
    affinity: u8,
    gas: Gas,
    locator: Locator,
}

/// Room for the candidates of a weighted selection, kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct Scratch(Vec<Eligible>);

/// Ranks: compared field by field, smaller wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    first: u64,
    second: u64,
    priority: u8,
    /// Slots after reservations, inverted.
    taken: u64,
    /// The place of the instance, in the order of CSCI-IDs.
    index: u32,
}

impl Eligible {
    fn total(&self) -> Micros {
        self.computing.plus(self.network)
    }

    fn key(&self, policy: &Policy, scale: &Scale) -> Key {
        let price = self.price.map_or(Measure::ABSENT, u64::from);
        let both = || match policy.weights {
            Some(weights) => scale.score(weights, self),
            None => self.total().0,
        };
        let (first, second) = match policy.rank {
            Rank::ServiceMetric => (self.computing.0, price),
            Rank::NetworkMetric => (self.network.0, 0),
            Rank::Both => (both(), 0),
            Rank::Affinity => (u64::from(u8::MAX - self.affinity), both()),
            Rank::ClosestPrice(wanted) => {
                (self.price.map_or(Measure::ABSENT, |price| u64::from(price.abs_diff(wanted.0))), 0)
            }
        };
        let gas = match self.gas {
            Gas::Slots(slots) => u64::from(slots),
            Gas::Unlimited => Measure::ABSENT,
        };
        Key { first, second, priority: self.priority, taken: u64::MAX - gas, index: self.index }
    }
}

/// The ranges over the eligible candidates that min-max scores are scaled by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scale {
    price: Range,
    total: Range,
    memory: Range,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    min: u64,
    max: u64,
}

const ONE: u128 = 1_000_000_000;

impl Range {
    const EMPTY: Self = Self { min: u64::MAX, max: 0 };

    fn take(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// The value between 0 and [`ONE`]; an absent one is the worst, 0 where all are equal.
    fn normal(&self, value: Option<u64>) -> u128 {
        match value {
            None => ONE,
            Some(_) if self.max <= self.min => 0,
            Some(value) => u128::from(value.saturating_sub(self.min)) * ONE / u128::from(self.max - self.min),
        }
    }
}

impl Scale {
    const NONE: Self = Self { price: Range::EMPTY, total: Range::EMPTY, memory: Range::EMPTY };

    fn over(candidates: &[Eligible]) -> Self {
        let mut scale = Self::NONE;
        for candidate in candidates {
            scale.total.take(candidate.total().0);
            if let Some(price) = candidate.price {
                scale.price.take(u64::from(price));
            }
            if let Some(used) = candidate.memory {
                scale.memory.take(u64::from(used));
            }
        }
        scale
    }

    /// Billionths: three weights of at most 255 do not overflow.
    fn score(&self, weights: Weights, candidate: &Eligible) -> u64 {
        let sum = u128::from(weights.price) * self.price.normal(candidate.price.map(u64::from))
            + u128::from(weights.total_delay) * self.total.normal(Some(candidate.total().0))
            + u128::from(weights.memory_ratio) * self.memory.normal(candidate.memory.map(u64::from));
        u64::try_from(sum).unwrap_or(u64::MAX)
    }
}

/// Whether the policy's rank needs the ranges over all eligible candidates.
fn needs_scale(policy: &Policy) -> bool {
    match policy.rank {
        Rank::Both | Rank::Affinity => policy.weights.is_some(),
        Rank::ServiceMetric | Rank::NetworkMetric | Rank::ClosestPrice(_) => false,
    }
}

/// Selects; nothing if no candidate is eligible. Allocates only what `scratch` lacks.
pub(super) fn select(view: View<'_>, query: &Query<'_>, scratch: &mut Scratch) -> Option<Winner> {
    let policy = &view.service.policy;
    if needs_scale(policy) {
        scratch.0.clear();
        scratch.0.extend(candidates(view).filter_map(|candidate| evaluate(view, query, candidate).ok()));
        let scale = Scale::over(&scratch.0);
        best(view, policy, &scale, scratch.0.iter().copied())
    } else {
        let eligible = candidates(view).filter_map(|candidate| evaluate(view, query, candidate).ok());
        best(view, policy, &Scale::NONE, eligible)
    }
}

fn best(
    view: View<'_>,
    policy: &Policy,
    scale: &Scale,
    eligible: impl Iterator<Item = Eligible>,
) -> Option<Winner> {
    let mut first: Option<(Key, Eligible)> = None;
    let mut next: Option<Key> = None;
    for candidate in eligible {
        let key = candidate.key(policy, scale);
        match &first {
            Some((leader, _)) if *leader < key => {
                if next.is_none_or(|next| key < next) {
                    next = Some(key);
                }
            }
            Some(_) | None => {
                next = first.map(|(leader, _)| leader);
                first = Some((key, candidate));
            }
        }
    }
    let (key, winner) = first?;
    let instance = view.service.instances.get(winner.index as usize)?;
    let reason = match next {
        None => Win::OnlyCandidate { own: measure(policy, 0, &key) },
        Some(next) => {
            let field = first_difference(&key, &next);
            Win::Before { own: measure(policy, field, &key), next: measure(policy, field, &next) }
        }
    };
    Some(Winner {
        csci_id: instance.csci_id,
        locator: winner.locator,
        egress: instance.egress,
        computing: winner.computing,
        key,
        reason,
        scale: *scale,
    })
}

/// The instances with their rows: both are ordered by CSCI-ID.
fn candidates<'a>(view: View<'a>) -> impl Iterator<Item = (u32, &'a Instance, Option<&'a Row>)> {
    let mut rows = view.rows.iter().peekable();
    view.service.instances.iter().zip(0u32..).map(move |(instance, index)| {
        while rows.next_if(|row| row.csci_id < instance.csci_id).is_some() {}
        (index, instance, rows.next_if(|row| row.csci_id == instance.csci_id))
    })
}

/// All rules but the rank.
fn evaluate(
    view: View<'_>,
    query: &Query<'_>,
    (index, instance, row): (u32, &Instance, Option<&Row>),
) -> Result<Eligible, Ineligible> {
    if !instance.enabled {
        return Err(Ineligible::Disabled);
    }
    let Some(row) = row else { return Err(Ineligible::NoMetrics) };
    let Some(record) = row.selecting(query.now, view.refreshed) else {
        let unauthorised = !row.unauthorised().is_empty();
        return Err(if unauthorised { Ineligible::UnauthorisedSource } else { Ineligible::NoMetrics });
    };
    let reserved = row.reserved_of(record);
    capacity(view, record, reserved, query)?;
    let locator = delivery(instance, query.family)?;
    let path = view.paths.get(instance.egress.at()).copied().flatten();
    let network = network(path, record, instance.egress == query.ingress, query)?;
    let computing = record.computing_time();
    let total = computing.plus(network);
    if let Some(max) = query.constraints.max_total_delay.filter(|max| total > *max) {
        return Err(Ineligible::TotalDelay { value: total, max });
    }
    let metric = &record.metric;
    Ok(Eligible {
        index,
        computing,
        network,
        price: metric.price.map(|price| price.0),
        memory: metric.memory_ratio.map(|free| 100 - free.min(100)),
        priority: metric.priority.unwrap_or(u8::MAX),
        affinity: metric.affinity.unwrap_or(0),
        gas: record.gas().less(reserved),
        locator,
    })
}

/// What the CST alone decides.
fn capacity(view: View<'_>, record: &Record, reserved: u32, query: &Query<'_>) -> Result<(), Ineligible> {
    let wanted = query.constraints;
    let rank = view.service.policy.rank;
    if !record.is_valid(query.now, view.refreshed) {
        return Err(Ineligible::Expired);
    }
    let (gas, requested) = (record.gas(), query.slots());
    if !gas.less(reserved).covers(requested) {
        return Err(Ineligible::Gas { gas, reserved, requested });
    }
    if record.metric.service_ratio == Some(0) {
        return Err(Ineligible::ServiceRatio);
    }
    if !record.health().admits() {
        return Err(Ineligible::Health(record.health()));
    }
    let price = record.price();
    // The policy of the closest price takes the price as a wish, not as a bound.
    let bound = wanted.max_price.filter(|_| !matches!(rank, Rank::ClosestPrice(_)));
    if let Some(max) = bound.filter(|max| price.is_none_or(|price| price > *max)) {
        return Err(Ineligible::Price { price, max });
    }
    let value = record.reputation();
    if let Some(min) = wanted.min_reputation.filter(|min| value.is_none_or(|value| value < *min)) {
        return Err(Ineligible::Reputation { value, min });
    }
    let value = record.security_level();
    if let Some(min) = wanted.min_security_level.filter(|min| value.is_none_or(|value| value < *min)) {
        return Err(Ineligible::SecurityLevel { value, min });
    }
    let value = record.computing_time();
    if let Some(max) = wanted.max_computing_time.filter(|max| value > *max) {
        return Err(Ineligible::ComputingTime { value, max });
    }
    Ok(())
}

fn delivery(instance: &Instance, family: Family) -> Result<Locator, Ineligible> {
    match instance.locator(family) {
        None => Err(Ineligible::NoLocator(family)),
        Some((locator, DeliveryStatus::Ready)) => Ok(locator),
        Some((_, DeliveryStatus::Detached)) => Err(Ineligible::EgressDetached),
        Some((_, DeliveryStatus::Missing)) => Err(Ineligible::NoDelivery),
        Some((_, DeliveryStatus::Failed)) => Err(Ineligible::DeliveryFailed),
    }
}

/// The path delay, if the path is within bounds. The NST's delay holds before a static metric's; an instance behind
/// the ingress itself is 0 away where neither says otherwise.
fn network(
    path: Option<PathRecord>,
    record: &Record,
    local: bool,
    query: &Query<'_>,
) -> Result<Micros, Ineligible> {
    let wanted = query.constraints;
    if let Some(path) = &path {
        if !path.reachable {
            return Err(Ineligible::Unreachable);
        }
        if path.expires.is_some_and(|expires| query.now >= expires) {
            return Err(Ineligible::PathExpired);
        }
    }
    let delay = path.and_then(|path| path.delay).or(record.metric.delay).or(local.then_some(Micros(0)));
    let Some(delay) = delay else { return Err(Ineligible::NoPathRecord) };
    if let Some(max) = wanted.max_network_delay.filter(|max| delay > *max) {
        return Err(Ineligible::NetworkDelay { value: delay, max });
    }
    if path.is_none() && local {
        // No network lies between.
        return Ok(delay);
    }
    let value = path.and_then(|path| path.bandwidth);
    if let Some(min) = wanted.min_bandwidth.filter(|min| value.is_none_or(|value| value < *min)) {
        return Err(Ineligible::Bandwidth { value, min });
    }
    let value = path.and_then(|path| path.jitter);
    if let Some(max) = wanted.max_jitter.filter(|max| value.is_none_or(|value| value > *max)) {
        return Err(Ineligible::Jitter { value, max });
    }
    let value = path.and_then(|path| path.loss_ppm);
    if let Some(max) = wanted.max_loss_ppm.filter(|max| value.is_none_or(|value| value > *max)) {
        return Err(Ineligible::Loss { value, max });
    }
    Ok(delay)
}

/// What was taken, as far as the record of the candidates tells.
#[derive(Clone, Copy)]
pub(super) enum Taken<'a> {
    /// The winner of a selection.
    Winner(&'a Winner),
    /// The instance that the flow was bound to before.
    Kept(CsciId),
    /// Nothing.
    Nothing,
}

/// What became of each candidate, for the record: at most `limit` of them with the taken one always among them,
/// ordered by CSCI-ID, and how many are left out.
pub(super) fn explain(
    view: View<'_>,
    query: &Query<'_>,
    taken: Taken<'_>,
    limit: usize,
    names: &Nodes,
) -> (Vec<Candidate>, u32) {
    let instances = &view.service.instances;
    let chosen = match taken {
        Taken::Winner(winner) => Some(winner.key.index as usize),
        Taken::Kept(csci_id) => instances.binary_search_by_key(&csci_id, |instance| instance.csci_id).ok(),
        Taken::Nothing => None,
    };
    let mut list = Vec::with_capacity(instances.len().min(limit));
    let mut omitted = 0;
    for (at, candidate) in candidates(view).enumerate() {
        // The last place is the taken one's until it has come.
        let awaited = usize::from(chosen.is_some_and(|chosen| at < chosen));
        if Some(at) != chosen && list.len() + awaited >= limit {
            omitted += 1;
        } else if let Some(node) = names.get(candidate.1.egress) {
            list.push(explain_one(view, query, taken, candidate, node.name.clone()));
        }
    }
    (list, omitted)
}

fn explain_one(
    view: View<'_>,
    query: &Query<'_>,
    taken: Taken<'_>,
    candidate: (u32, &Instance, Option<&Row>),
    egress: NodeId,
) -> Candidate {
    let (index, instance, row) = candidate;
    let record = row.and_then(|row| row.selecting(query.now, view.refreshed));
    let (network, verdict) = match (evaluate(view, query, candidate), taken) {
        (_, Taken::Kept(csci_id)) if csci_id == instance.csci_id => {
            (known_delay(view, query, instance, record), Verdict::Selected { reason: Win::Kept })
        }
        (Err(reason), _) => (known_delay(view, query, instance, record), Verdict::Dropped { reason }),
        (Ok(eligible), Taken::Winner(winner)) if winner.key.index == index => {
            (Some(eligible.network), Verdict::Selected { reason: winner.reason })
        }
        (Ok(eligible), Taken::Winner(winner)) => {
            let policy = &view.service.policy;
            let own = eligible.key(policy, &winner.scale);
            let field = first_difference(&own, &winner.key);
            let selected = measure(policy, field, &winner.key);
            let reason = Loss::Behind { own: measure(policy, field, &own), selected };
            (Some(eligible.network), Verdict::RankedLower { reason })
        }
        // An eligible candidate is always outranked by something: here by the flow's own instance.
        (Ok(eligible), Taken::Kept(_) | Taken::Nothing) => {
            (Some(eligible.network), Verdict::RankedLower { reason: Loss::NotCompared })
        }
    };
    let computing = record.map_or(Micros(0), Record::computing_time);
    let total = network.map(|network| network.plus(computing));
    Candidate { csci_id: instance.csci_id, egress, computing, network, total, verdict }
}

/// The path delay of a candidate that was dropped, where one is known.
fn known_delay(
    view: View<'_>,
    query: &Query<'_>,
    instance: &Instance,
    record: Option<&Record>,
) -> Option<Micros> {
    let path = view.paths.get(instance.egress.at()).copied().flatten();
    let configured = record.and_then(|record| record.metric.delay);
    let local = (instance.egress == query.ingress).then_some(Micros(0));
    path.and_then(|path| path.delay).or(configured).or(local)
}

/// The first field in which two ranks differ.
fn first_difference(a: &Key, b: &Key) -> usize {
    let differs = [a.first != b.first, a.second != b.second, a.priority != b.priority, a.taken != b.taken];
    differs.iter().position(|differs| *differs).unwrap_or(4)
}

/// A field of a rank as the value that it stands for.
fn measure(policy: &Policy, field: usize, key: &Key) -> Measure {
    let both = if policy.weights.is_some() { Criterion::Score } else { Criterion::TotalDelay };
    let (criterion, value) = match (field, policy.rank) {
        (0, Rank::ServiceMetric) => (Criterion::ComputingTime, key.first),
        (1, Rank::ServiceMetric) => (Criterion::Price, key.second),
        (0, Rank::NetworkMetric) => (Criterion::PathDelay, key.first),
        (0, Rank::Both) => (both, key.first),
        (0, Rank::Affinity) => (Criterion::Affinity, u64::from(u8::MAX) - key.first.min(u64::from(u8::MAX))),
        (1, Rank::Affinity) => (both, key.second),
        (0, Rank::ClosestPrice(_)) => (Criterion::PriceDistance, key.first),
        (2, _) => (Criterion::Priority, u64::from(key.priority)),
        (3, _) => (Criterion::Gas, u64::MAX - key.taken),
        (_, _) => (Criterion::CsciId, 0),
    };
    Measure { criterion, value }
}

#[cfg(test)]
mod tests;
