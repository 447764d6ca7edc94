//! From reports to what the path selectors are told.

use crate::site::{Site, key, millis, of_health, secs, well};
use cats_engine_core::scope::Scope;
use cats_engine_core::sma::calendar::{Calendar, When, Window};
use cats_engine_core::sma::config::Reaction;
use cats_engine_core::sma::northbound::{self, PeerConfig};
use cats_engine_core::sma::policy::{Policy, PolicyConfig, RuleConfig, Tally};
use cats_engine_core::sma::transform::{Percent, Smooth, TransformConfig};
use cats_engine_core::sma::update::Trigger;
use cats_engine_core::sma::{InstanceKey, Output, QuarantineId, SciState, SmaConfig};
use cats_engine_types::{
    AdvertisementContent, AgentInstruction, Health, MetricRecord, Micros, NodeId, Price, Report,
    ReportedMetrics, SynchronisationCause, UnixMicros, WithdrawalReason,
};

const SCI: fn() -> InstanceKey = || key(1, 1);

/// Nothing is done to what is reported, and all of it is told at once.
pub(crate) fn plain() -> SmaConfig {
    let mut config = SmaConfig::default();
    config.smoothing.gas = Smooth::Off;
    config.smoothing.computing_time = Smooth::Off;
    config.policy = policy(&[], TransformConfig::none());
    config.update.min_interval = secs(0);
    config.update.thresholds.gas_share = Percent::ZERO;
    config
}

fn policy(rules: &[&str], transform: TransformConfig) -> Policy {
    let rule = |(place, text): (usize, &&str)| RuleConfig {
        name: format!("rule-{place}"),
        priority: u32::try_from(place).unwrap(),
        text: (*text).to_owned(),
    };
    let rules = rules.iter().enumerate().map(rule).collect();
    Policy::compile(&PolicyConfig { rules, transform }, &Calendar::default()).unwrap()
}

fn told(site: &Site, key: InstanceKey) -> MetricRecord {
    site.view(key).told.unwrap()
}

fn slots(site: &Site, key: InstanceKey) -> u32 {
    told(site, key).sample.gas
}

/// Proves SMA-9, SMA-12, SMA-24.
#[test]
fn a_silent_sci_loses_its_slots_then_its_health_and_then_its_record_each_at_once() {
    let mut site = Site::new(SmaConfig::default());
    site.full(SCI(), well(100)).unwrap();
    assert_eq!(
        (slots(&site, SCI()), told(&site, SCI()).sample.health),
        (80, Health::Healthy),
        "with the margin"
    );
    site.pass(secs(120));
    assert_eq!(site.state(SCI()), SciState::Stale);
    assert_eq!((slots(&site, SCI()), told(&site, SCI()).sample.health), (0, Health::Healthy), "not eligible");
    site.pass(secs(120));
    assert_eq!((slots(&site, SCI()), told(&site, SCI()).sample.health), (0, Health::Unhealthy));
    site.pass(secs(1200));
    assert_eq!(site.view(SCI()).told, None);
}

/// Proves SMA-9.
#[test]
fn no_rule_gives_slots_to_what_was_not_heard_of() {
    let mut config = plain();
    config.policy = policy(
        &["IF SCI_State != ACTIVE THEN SET SCI_GAS = 50, SET SCI_Health = HEALTHY"],
        TransformConfig::none(),
    );
    let mut site = Site::new(config);
    site.full(SCI(), well(10)).unwrap();
    site.full(SCI(), well(10)).unwrap();
    assert_eq!(slots(&site, SCI()), 50);
    site.pass(secs(120));
    assert_eq!(slots(&site, SCI()), 0);
    site.pass(secs(120));
    assert_eq!((slots(&site, SCI()), told(&site, SCI()).sample.health), (0, Health::Unhealthy));
}

/// Proves SMA-24.
#[test]
fn what_another_source_says_of_the_health_is_told_at_once() {
    let mut site = Site::new(SmaConfig::default());
    site.full(SCI(), well(100)).unwrap();
    site.sma.handle_health(SCI().csci_id, Health::Unhealthy, site.now, site.wall).unwrap();
    assert_eq!((slots(&site, SCI()), told(&site, SCI()).sample.health), (0, Health::Unhealthy));
    site.sma.handle_health(SCI().csci_id, Health::Unknown, site.now, site.wall).unwrap();
    assert_eq!((slots(&site, SCI()), told(&site, SCI()).sample.health), (80, Health::Healthy));
}

/// Proves SMA-11.
#[test]
fn an_eviction_is_told_as_a_withdrawal() {
    let mut config = with_peer(plain());
    config.cache.max_entries = 1;
    let mut site = Site::new(config);
    connect(&mut site);
    site.full(key(1, 1), well(5)).unwrap();
    site.pass(secs(1));
    site.take();
    site.full(key(1, 2), well(5)).unwrap();
    site.pass(secs(1));
    let deltas = deltas(&mut site);
    assert_eq!(deltas.records, [(key(1, 2), 5)]);
    assert_eq!(deltas.withdrawals, [(key(1, 1), WithdrawalReason::Evicted)]);
}

/// Proves SMA-10, SMA-11.
#[test]
fn what_is_forgotten_was_withdrawn_before() {
    let mut config = with_peer(plain());
    config.cache.max_entries = 1;
    config.cache.max_remembered = 1;
    let mut site = Site::new(config);
    connect(&mut site);
    for instance in 1..=5 {
        site.full(key(1, instance), well(5)).unwrap();
    }
    site.pass(secs(1));
    assert_eq!(site.sma.len(), 2);
    assert_eq!(site.sma.northbound().record_count(), 1);
    assert_eq!(site.sma.updates().known, 1);
}

/// Proves SMA-4.
#[test]
fn nothing_is_told_of_what_is_in_quarantine_until_it_is_released() {
    let mut config = plain();
    config.validation.change.gas.reaction = Reaction::Quarantine;
    let mut site = Site::new(config);
    site.full(SCI(), well(100)).unwrap();
    site.full(SCI(), well(900)).unwrap_err();
    assert_eq!(slots(&site, SCI()), 100);
    site.sma.release(QuarantineId(1), site.now, site.wall).unwrap();
    assert_eq!(slots(&site, SCI()), 900);
    assert!(!told(&site, SCI()).flagged, "an operator has looked at it");
}

/// Proves SMA-4.
#[test]
fn doubts_are_told_as_a_flag() {
    let mut site = Site::new(plain());
    site.full(SCI(), well(100)).unwrap();
    assert!(!told(&site, SCI()).flagged);
    site.full(SCI(), well(900)).unwrap();
    assert!(told(&site, SCI()).flagged);
}

/// Proves SMA-15.
#[test]
fn rules_over_the_site_reach_all_its_scis_when_one_of_them_changes() {
    let mut config = plain();
    config.policy = policy(&["IF Site_GAS < 100 THEN SET Security_Level = 5"], TransformConfig::none());
    let mut site = Site::new(config);
    for instance in 1..=3000 {
        site.full(key(1, instance), well(1)).unwrap();
    }
    site.full(key(2, 1), well(1)).unwrap();
    site.pass(secs(1));
    let security = |site: &Site, key| told(site, key).sample.security_level.map(u8::from);
    assert_eq!((security(&site, key(1, 1)), security(&site, key(2, 1))), (None, Some(5)));
    for instance in 51..=3000 {
        site.full(key(1, instance), of_health(Health::Unhealthy, 0)).unwrap();
    }
    site.pass(secs(1));
    assert!((1..=50).all(|instance| security(&site, key(1, instance)) == Some(5)));
    for instance in 51..=150 {
        site.full(key(1, instance), well(1)).unwrap();
    }
    site.pass(secs(1));
    assert!((1..=50).all(|instance| security(&site, key(1, instance)).is_none()));
}

/// Proves SMA-15.
#[test]
fn a_new_policy_makes_every_record_again() {
    let mut site = Site::new(plain());
    for instance in 1..=2500 {
        let priced = ReportedMetrics { price: Some(500), ..well(10) };
        site.full(key(1, instance), priced).unwrap();
    }
    let mut config = plain();
    config.policy = policy(&["IF Price > 100 THEN SET Price = 100"], TransformConfig::none());
    site.sma.configure(config, site.now, site.wall);
    site.pass(secs(2));
    assert!((1..=2500).all(|n| told(&site, key(1, n)).sample.price == Some(Price(100))));
}

/// Proves SMA-15.
#[test]
fn a_dry_run_tells_what_a_policy_would_do_now_and_does_nothing() {
    let mut site = Site::new(plain());
    site.full(SCI(), of_health(Health::Degraded, 300)).unwrap();
    let tried = policy(
        &["IF SCI_Health = DEGRADED THEN REDUCE SCI_GAS BY 50%", "IF Site_GAS > 1000 THEN FLAG"],
        TransformConfig::none(),
    );
    let found = site.sma.dry_run(&tried, SCI()).unwrap();
    assert_eq!((found.before.sample.gas, found.after.sample.gas), (300, 150));
    assert_eq!(found.rules.iter().map(|rule| rule.fires).collect::<Vec<_>>(), [true, false]);
    assert_eq!(slots(&site, SCI()), 300);
    assert_eq!(site.sma.dry_run(&tried, key(1, 9)), None);
}

/// Proves SMA-15.
#[test]
fn a_policy_is_tried_on_all_that_is_known_some_at_a_time() {
    let mut site = Site::new(plain());
    for instance in 1..=10 {
        let health = if instance <= 3 { Health::Degraded } else { Health::Healthy };
        site.full(key(1, instance), of_health(health, 10)).unwrap();
    }
    let rules = ["IF SCI_Health = DEGRADED THEN REDUCE SCI_GAS BY 50%", "IF SCI_GAS < 6 THEN FLAG"];
    let tried = policy(&rules, TransformConfig::none());
    let (mut tally, mut after, mut pages) = (Tally::default(), None, 0);
    loop {
        after = site.sma.try_policy(&tried, after, 4, &mut tally);
        pages += 1;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((pages, tally.tried, tally.changed, tally.flagged), (4, 10, 3, 3));
    assert_eq!(tally.fired, [3, 3]);
    assert!((1..=10).all(|instance| slots(&site, key(1, instance)) == 10));
}

/// Proves SMA-17.
#[test]
fn in_a_window_of_maintenance_only_critical_updates_are_told() {
    let (from, until) = (secs(100), secs(200));
    let at = |after: std::time::Duration| UnixMicros(1_800_000_000_000_000 + after.as_secs() * 1_000_000);
    let when = When::Once { from: at(from), until: at(until) };
    let window = Window { name: "upgrade".to_owned(), maintenance: true, when };
    let mut config = plain();
    config.calendar = Calendar::new(vec![window]).unwrap();
    let mut site = Site::new(config);
    site.full(SCI(), well(100)).unwrap();
    site.pass(secs(110));
    site.full(SCI(), well(30)).unwrap();
    site.pass(secs(1));
    assert_eq!(slots(&site, SCI()), 100);
    assert_eq!(site.view(SCI()).waiting.map(|(trigger, _)| trigger), Some(Trigger::Metric));
    site.full(SCI(), of_health(Health::Degraded, 20)).unwrap();
    assert_eq!(slots(&site, SCI()), 20, "its health is critical");
    site.full(SCI(), of_health(Health::Degraded, 5)).unwrap();
    site.pass(secs(88));
    assert_eq!(slots(&site, SCI()), 20);
    site.pass(secs(1));
    assert_eq!(slots(&site, SCI()), 5);
}

/// Proves SMA-7, SMA-16.
#[test]
fn what_moves_a_lot_is_smoothed_before_the_rules_and_bounded_after_them() {
    let mut config = SmaConfig::default();
    config.update.min_interval = secs(0);
    let mut site = Site::new(config);
    let timed = |gas, time| ReportedMetrics { computing_time: Some(time), ..well(gas) };
    site.full(SCI(), timed(100, 500)).unwrap();
    let first = told(&site, SCI()).sample;
    assert_eq!((first.gas, first.computing_time), (80, Micros(1000)), "0.8 of it, and 1 ms at least");
    site.pass(secs(5));
    site.full(SCI(), timed(200, 500)).unwrap();
    // 0.3 · 200 + 0.7 · 100, of which 0.8 is told.
    assert_eq!(site.view(SCI()).metrics.unwrap().smoothed_gas, 130);
    assert_eq!(slots(&site, SCI()), 104);
}

struct Deltas {
    records: Vec<(InstanceKey, u32)>,
    withdrawals: Vec<(InstanceKey, WithdrawalReason)>,
}

fn peer() -> NodeId {
    "cps-1".parse().unwrap()
}

fn with_peer(mut config: SmaConfig) -> SmaConfig {
    let entry = PeerConfig { node: peer(), scope: Scope::All, alternative_to: None };
    config.northbound.peers = vec![entry];
    config
}

fn connect(site: &mut Site) {
    site.settle();
    let connects = site.take().into_iter().any(|output| {
        matches!(output, Output::Northbound(northbound::Output::Connect { peer: to }) if to == peer())
    });
    assert!(connects);
    site.sma.handle_connected(&peer(), site.now, site.wall);
    let start = AgentInstruction::Synchronise(SynchronisationCause::Start);
    site.sma.handle_instruction(&peer(), start, site.now, site.wall);
    site.settle();
}

/// What was sent, without snapshots.
fn deltas(site: &mut Site) -> Deltas {
    let mut found = Deltas { records: Vec::new(), withdrawals: Vec::new() };
    for output in site.take() {
        let Output::Northbound(northbound::Output::Send { advertisement, .. }) = output else { continue };
        let AdvertisementContent::Delta { records, withdrawals } = advertisement.content else { continue };
        let key = |cs_id, csci_id| InstanceKey { cs_id, csci_id };
        found.records.extend(records.iter().map(|r| (key(r.cs_id, r.csci_id), r.sample.gas)));
        found.withdrawals.extend(withdrawals.iter().map(|w| (key(w.cs_id, w.csci_id), w.reason)));
    }
    found
}

/// Proves SMA-9, SMA-12, SMA-24.
#[test]
fn each_change_of_an_sci_reaches_a_path_selector_that_is_connected() {
    let mut site = Site::new(with_peer(plain()));
    connect(&mut site);
    site.full(SCI(), well(5)).unwrap();
    site.pass(secs(1));
    assert_eq!(deltas(&mut site).records, [(SCI(), 5)]);
    site.full(SCI(), well(0)).unwrap();
    assert_eq!(deltas(&mut site).records, [(SCI(), 0)], "the last slot at once");
    let leave = Report { ttl: Some(secs(0)), ..site.next(SCI(), ReportedMetrics::default()) };
    site.send(leave).unwrap();
    assert_eq!(deltas(&mut site).withdrawals, [(SCI(), WithdrawalReason::Removed)]);
    site.full(SCI(), well(7)).unwrap();
    site.pass(secs(1));
    assert_eq!(deltas(&mut site).records, [(SCI(), 7)]);
}

/// Proves SMA-9, SMA-24.
#[test]
fn when_all_scis_are_cut_off_every_record_says_so_within_the_rate_of_updates() {
    let mut site = Site::new(plain());
    let all = || (1..=10_000).map(|instance| key(1, instance));
    for key in all() {
        site.full(key, well(1)).unwrap();
    }
    site.pass(secs(10));
    assert!(all().all(|key| slots(&site, key) == 1));
    site.pass(secs(111));
    assert!(all().all(|key| slots(&site, key) == 0), "at 5,000 a second after a burst of 10,000");
    site.pass(secs(120));
    assert!(all().all(|key| told(&site, key).sample.health == Health::Unhealthy));
    site.pass(millis(1_203_000));
    assert_eq!(site.sma.northbound().record_count(), 0);
}
