//! When updates are told, and to whom.

use super::rules::percent;
use super::{millis, ordered, path, refuse, seconds};
use crate::config::services::cs_id;
use crate::config::{Violation, node, noted};
use crate::scope::Scope;
use crate::sma::northbound::{NorthboundConfig, PeerConfig};
use crate::sma::update::{
    BucketConfig, DampingConfig, LoadConfig, OptionalMetrics, Thresholds, UpdateConfig,
};
use cats_yang_model::generated::cats_sma as model;
use cats_yang_model::generated::ietf_cats;
use std::num::NonZeroU32;
use std::time::Duration;

/// `interval` is the update interval of `ietf-cats`, if there is one.
pub(super) fn update(
    from: &model::Updates,
    interval: Option<Duration>,
    violations: &mut Vec<Violation>,
) -> UpdateConfig {
    let of = &from.thresholds;
    let mut share = |share, leaf: &str| percent(share, &format!("updates/thresholds/{leaf}"), violations);
    let thresholds = Thresholds {
        gas_share: share(of.gas_share(), "gas-share"),
        gas_slots: Some(of.gas_slots()),
        computing_time_share: share(of.computing_time_share(), "computing-time-share"),
        price_share: share(of.price_share(), "price-share"),
    };
    UpdateConfig {
        thresholds,
        interval,
        longest_interval: seconds(from.longest_interval()),
        min_interval: seconds(from.min_interval()),
        bucket: from.bucket.enabled().then(|| bucket(&from.bucket, violations)),
        batch: from.batch() as usize,
        damping: damping(&from.damping, violations),
        load: LoadConfig {
            backlog: millis(from.load.backlog()),
            leave_out: OptionalMetrics {
                price: from.load.leave_out_price(),
                reputation: from.load.leave_out_reputation(),
                time_bounds: from.load.leave_out_time_bounds(),
                instances: from.load.leave_out_instances(),
            },
        },
    }
}

fn bucket(from: &model::Bucket, violations: &mut Vec<Violation>) -> BucketConfig {
    let (burst, reserve) = (from.burst(), from.reserve());
    if reserve >= burst {
        let message = format!(
            "a reserve of {reserve} leaves nothing of a burst of {burst} to routine updates; lower it to {} at most, \
             or raise updates/bucket/burst",
            burst.saturating_sub(1)
        );
        refuse("updates/bucket/reserve", message, violations);
    }
    let number = |value| NonZeroU32::new(value).unwrap_or(NonZeroU32::MIN);
    BucketConfig { rate: number(from.rate()), burst: number(burst), reserve }
}

fn damping(from: &model::Damping, violations: &mut Vec<Violation>) -> DampingConfig {
    let (first, longest) = (from.first_pause(), from.longest_pause());
    ordered(("updates/damping/first-pause", first), ("updates/damping/longest-pause", longest), violations);
    DampingConfig { first: seconds(first), longest: seconds(longest), forget: seconds(from.forget_after()) }
}

/// Path selectors in the order in which alternatives are tried.
pub(super) fn northbound(agent: &model::MetricAgent, violations: &mut Vec<Violation>) -> NorthboundConfig {
    let from = &agent.northbound;
    let (first, last) = (from.first_backoff(), from.longest_backoff());
    ordered(("northbound/first-backoff", first), ("northbound/longest-backoff", last), violations);
    believed(agent, violations);
    let mut entries: Vec<_> = from.path_selector.values().collect();
    entries.sort_by_key(|entry| (entry.preference(), &entry.node_id));
    NorthboundConfig {
        peers: entries.into_iter().filter_map(|entry| peer(from, entry, violations)).collect(),
        batch: from.batch() as usize,
        gather: millis(from.gather()),
        window: u64::from(from.window()),
        buffer: from.buffer() as usize,
        heartbeat: seconds(from.snapshot_interval()),
        refresh: seconds(from.refresh_interval()),
        acknowledge: seconds(from.acknowledge_timeout()),
        greeting: seconds(from.greeting_timeout()),
        partition: seconds(from.partition_after()),
        resynchronise: seconds(from.resynchronise_interval()),
        backoff_first: seconds(first),
        backoff_last: seconds(last),
        pace_limit: seconds(from.longest_pace()),
    }
}

/// What is told must be believed until the next word, also where one is lost.
fn believed(agent: &model::MetricAgent, violations: &mut Vec<Violation>) {
    let valid_for = agent.cache.valid_for();
    let (snapshot, refresh) = (agent.northbound.snapshot_interval(), agent.northbound.refresh_interval());
    let least = refresh.saturating_mul(2).max(snapshot.saturating_add(1));
    if valid_for < least {
        let message = format!(
            "what holds for {valid_for} s is over before it is said again: northbound/snapshot-interval is {snapshot} s, \
             and northbound/refresh-interval {refresh} s, of which one may be lost; raise valid-for to {least} at least, \
             or lower these"
        );
        refuse("cache/valid-for", message, violations);
    }
}

fn peer(
    from: &model::Northbound,
    entry: &model::PathSelector,
    violations: &mut Vec<Violation>,
) -> Option<PeerConfig> {
    let place = |leaf: &str| format!("northbound/path-selector[node-id='{}']/{leaf}", entry.node_id);
    let alternative_to = entry.alternative_to.as_ref().and_then(|first| {
        let place = place("alternative-to");
        if let Some(reason) = no_first(from, &entry.node_id, first) {
            refuse(&place, reason, violations);
            return None;
        }
        node(first, violations, || path(&place))
    });
    Some(PeerConfig {
        node: node(&entry.node_id, violations, || path(&place("node-id")))?,
        scope: scope(&mut entry.service.iter(), |id| path(&place(&format!("service[.='{id}']"))), violations),
        alternative_to,
    })
}

/// Why there can be no alternative to `first`: it must be one that always is connected. So none goes in circles.
fn no_first(from: &model::Northbound, alternative: &str, first: &str) -> Option<String> {
    let entry = from.path_selector.values().find(|entry| entry.node_id == first);
    let next = match entry {
        None => return Some(format!("there is no path-selector[node-id='{first}']; name one that there is")),
        Some(_) if first == alternative => {
            return Some(format!("{first} cannot stand in for itself; name another path selector"));
        }
        Some(entry) => entry.alternative_to.as_ref()?,
    };
    Some(format!(
        "{first} is itself an alternative to {next}; name one that is none, and give the order of its alternatives by \
         their preference"
    ))
}

/// The services that a peer is authorised for: all, where none is named.
pub(in crate::config) fn scope(
    services: &mut dyn Iterator<Item = &ietf_cats::CsId>,
    path: impl Fn(&ietf_cats::CsId) -> String,
    violations: &mut Vec<Violation>,
) -> Scope {
    let mut named = services.peekable();
    if named.peek().is_none() {
        return Scope::All;
    }
    Scope::Only(named.filter_map(|id| noted(cs_id(*id), violations, || path(id))).collect())
}
