//! The selection against RFC 10054's example, against a plain search, and rule by rule.

use super::*;
use crate::cps::catalogue::Catalogue;
use crate::cps::config::{InstanceConfig, PathMetric, Precedence, ServiceConfig, StaticMetric};
use crate::cps::cst::Cst;
use crate::cps::nodes::Nodes;
use crate::cps::nst::Nst;
use crate::cps::services::Services;
use cats_engine_types::{CsId, Health, NodeId, Price, Score};
use proptest::prelude::*;
use std::time::Duration;

/// One candidate as a test writes it.
#[derive(Debug, Clone)]
struct Site {
    metric: StaticMetric,
    network: Option<u64>,
    reserved: u32,
}

fn service_id() -> CsId {
    CsId::number(1).unwrap()
}

fn csci(number: u32) -> CsciId {
    CsciId::number(number).unwrap()
}

fn site(number: u32, computing: u64, network: u64) -> Site {
    let metric =
        StaticMetric { computing_time: Micros(computing), ..StaticMetric::new(service_id(), csci(number)) };
    Site { metric, network: Some(network), reserved: 0 }
}

fn node(text: &str) -> NodeId {
    text.parse().unwrap()
}

struct Tables {
    catalogue: Catalogue,
    cst: Cst,
    nst: Nst,
    nodes: Nodes,
    ingress: NodeIx,
    now: Instant,
}

fn tables(policy: Policy, sites: &[Site]) -> Tables {
    let now = Instant::now();
    let mut nodes = Nodes::default();
    let ingress = nodes.intern(&node("IF-1"));
    let egress = |number: u32| node(&format!("EF-{number}"));
    let instances = sites.iter().map(|site| {
        let number = site.metric.csci_id.as_number().unwrap();
        let address = std::net::Ipv4Addr::from(0xc633_6400 + number).into();
        let v4 = Some(Locator { address, port: None });
        InstanceConfig { csci_id: site.metric.csci_id, enabled: true, egress: egress(number), v4, v6: None }
    });
    let config = ServiceConfig {
        cs_id: service_id(),
        name: None,
        enabled: true,
        matches: Vec::new(),
        tenants: Vec::new(),
        precedence: Precedence::Reject,
        constraints: Constraints::default(),
        policy,
        instances: instances.collect(),
    };
    let mut catalogue = Catalogue::default();
    let configs = [config].into_iter().collect();
    catalogue.follow(&Services::default(), &configs, |instance| nodes.intern(&instance.egress));
    for instance in catalogue.instances_mut() {
        for (_, status) in instance.v4.iter_mut() {
            *status = DeliveryStatus::Ready;
        }
    }
    let mut cst = Cst::default();
    let metrics: Vec<StaticMetric> = sites.iter().map(|site| site.metric.clone()).collect();
    cst.configure(&metrics, now);
    let mut nst = Nst::default();
    let path = |site: &Site| {
        Some(PathMetric {
            ingress: node("IF-1"),
            egress: egress(site.metric.csci_id.as_number()?),
            reachable: true,
            delay: Some(Micros(site.network?)),
            jitter: Some(Micros(100)),
            loss_ppm: Some(10),
            bandwidth: Some(1000),
        })
    };
    let paths: Vec<PathMetric> = sites.iter().filter_map(path).collect();
    nst.configure(&paths, |node| nodes.intern(node));
    for site in sites.iter().filter(|site| site.reserved > 0) {
        cst.reserve((service_id(), site.metric.csci_id), site.reserved);
    }
    Tables { catalogue, cst, nst, nodes, ingress, now }
}

impl Tables {
    fn run(&self, constraints: &Constraints) -> (Option<Winner>, Vec<Candidate>) {
        let service = self.catalogue.service(service_id()).unwrap();
        let (rows, paths) = (self.cst.rows(service_id()), self.nst.from(self.ingress));
        let view = View { service, rows, refreshed: self.cst.refreshed(), paths };
        let query = Query { family: Family::V4, ingress: self.ingress, constraints, now: self.now };
        let winner = select(view, &query, &mut Scratch::default());
        let taken = winner.as_ref().map_or(Taken::Nothing, Taken::Winner);
        let (explained, omitted) = explain(view, &query, taken, usize::MAX, &self.nodes);
        assert_eq!(omitted, 0);
        (winner, explained)
    }

    /// The number of the selected site and what is said of each.
    fn choice(&self, constraints: &Constraints) -> (Option<u32>, Vec<String>) {
        let (winner, explained) = self.run(constraints);
        let words = explained.iter().map(|candidate| candidate.verdict.to_string()).collect();
        (winner.and_then(|winner| winner.csci_id.as_number()), words)
    }
}

fn rank(rank: Rank) -> Policy {
    Policy { rank, weights: None }
}

/// RFC 10054's augmented reality example: computing and network delay of three sites, 9.4 ms on the client's side.
#[test]
fn the_worked_example_has_the_sites_and_totals_of_the_document() {
    let sites = [site(1, 4_000, 9_000), site(2, 10_000, 4_000), site(3, 5_000, 5_000)];
    let client_side = Micros(9_400);
    let expected =
        [(Rank::ServiceMetric, 1, 22_400), (Rank::NetworkMetric, 2, 23_400), (Rank::Both, 3, 19_400)];
    for (policy, site, total) in expected {
        let (winner, explained) = tables(rank(policy), &sites).run(&Constraints::default());
        let winner = winner.unwrap();
        assert_eq!(winner.csci_id, csci(site), "{policy:?}");
        let taken = explained.iter().find(|candidate| candidate.csci_id == winner.csci_id).unwrap();
        let sum = taken.computing.plus(taken.network.unwrap()).plus(client_side);
        assert_eq!(sum, Micros(total), "{policy:?}");
    }
}

#[test]
fn the_record_says_which_values_decided() {
    let sites = [site(1, 4_000, 9_000), site(2, 10_000, 4_000), site(3, 5_000, 5_000)];
    let constraints = Constraints { max_total_delay: Some(Micros(13_500)), ..Constraints::default() };
    let (choice, words) = tables(rank(Rank::Both), &sites).choice(&constraints);
    assert_eq!(choice, Some(3));
    assert_eq!(
        words,
        [
            "total delay 13.000 ms behind total delay 10.000 ms",
            "total delay 14.000 ms above 13.500 ms",
            "total delay 10.000 ms before total delay 13.000 ms",
        ]
    );
}

/// Proves CP-2.
#[test]
fn what_is_expired_full_or_unhealthy_is_no_candidate() {
    let with = |change: fn(&mut StaticMetric)| {
        let mut first = site(1, 1_000, 1_000);
        change(&mut first.metric);
        tables(rank(Rank::Both), &[first, site(2, 9_000, 9_000)])
    };
    let none = Constraints::default();
    let mut expired = with(|metric| metric.valid_for = Some(Duration::from_secs(60)));
    assert_eq!(expired.choice(&none).0, Some(1), "valid until then");
    expired.now += Duration::from_secs(60);
    let cases = [
        (expired, "its metrics expired"),
        (with(|metric| metric.gas = Gas::Slots(0)), "slots 0 less 0 reserved, 1 wanted"),
        (with(|metric| metric.health = Health::Unhealthy), "health unhealthy"),
        (with(|metric| metric.health = Health::Unknown), "health unknown"),
        (with(|metric| metric.service_ratio = Some(0)), "service ratio 0 %"),
    ];
    for (tables, reason) in cases {
        let (choice, words) = tables.choice(&none);
        assert_eq!((choice, words[0].as_str()), (Some(2), reason));
    }
}

/// Proves CP-2.
#[test]
fn a_path_record_alone_makes_no_candidate() {
    let mut tables = tables(rank(Rank::NetworkMetric), &[site(1, 0, 1), site(2, 0, 9)]);
    let only_second = [site(2, 0, 9).metric];
    tables.cst.configure(&only_second, tables.now);
    let (choice, words) = tables.choice(&Constraints::default());
    assert_eq!((choice, words[0].as_str()), (Some(2), "no metrics are known of it"));
}

#[test]
fn reservations_count_against_the_slots() {
    let mut first = site(1, 1, 1);
    first.metric.gas = Gas::Slots(5);
    first.reserved = 3;
    let tables = tables(rank(Rank::Both), &[first, site(2, 9, 9)]);
    let wanted = |slots| Constraints { min_gas: Some(slots), ..Constraints::default() };
    assert_eq!(tables.choice(&wanted(2)).0, Some(1));
    let (choice, words) = tables.choice(&wanted(3));
    assert_eq!((choice, words[0].as_str()), (Some(2), "slots 5 less 3 reserved, 3 wanted"));
}

/// One site whose values are known and one of which nothing but its delays is known.
fn known_and_unknown() -> Tables {
    let mut first = site(1, 5_000, 5_000);
    first.metric.price = Some(Price(7));
    first.metric.reputation = Score::try_from(5).ok();
    first.metric.security_level = Score::try_from(5).ok();
    let mut second = Site { network: None, ..site(2, 5_000, 0) };
    second.metric.delay = Some(Micros(5_000));
    tables(rank(Rank::Both), &[first, second])
}

fn assert_drops(constraints: &Constraints, first: &str, second: &str) {
    let (choice, words) = known_and_unknown().choice(constraints);
    assert_eq!(choice, None, "{constraints:?}");
    assert_eq!(words, [first, second]);
}

#[test]
fn a_bound_on_what_is_not_known_drops() {
    let none = Constraints::default();
    let score = Score::try_from(6).ok();
    let cases = [
        (Constraints { max_price: Some(Price(6)), ..none }, "price 7 above 6", "price unknown above 6"),
        (Constraints { min_reputation: score, ..none }, "reputation 5 below 6", "reputation unknown below 6"),
        (
            Constraints { min_security_level: score, ..none },
            "security level 5 below 6",
            "security level unknown below 6",
        ),
        (
            Constraints { min_bandwidth: Some(1001), ..none },
            "bandwidth 1000 kbit/s below 1001 kbit/s",
            "bandwidth unknown kbit/s below 1001 kbit/s",
        ),
        (
            Constraints { max_jitter: Some(Micros(99)), ..none },
            "jitter 0.100 ms above 0.099 ms",
            "jitter unknown above 0.099 ms",
        ),
        (
            Constraints { max_loss_ppm: Some(9), ..none },
            "loss 10 ppm above 9 ppm",
            "loss unknown ppm above 9 ppm",
        ),
    ];
    for (constraints, first, second) in cases {
        assert_drops(&constraints, first, second);
    }
}

#[test]
fn a_bound_of_time_drops_with_the_values_compared() {
    let none = Constraints::default();
    let cases = [
        (
            Constraints { max_computing_time: Some(Micros(4_999)), ..none },
            "computing time 5.000 ms above 4.999 ms",
        ),
        (
            Constraints { max_network_delay: Some(Micros(4_000)), ..none },
            "path delay 5.000 ms above 4.000 ms",
        ),
        (
            Constraints { max_total_delay: Some(Micros(9_999)), ..none },
            "total delay 10.000 ms above 9.999 ms",
        ),
    ];
    for (constraints, words) in cases {
        assert_drops(&constraints, words, words);
    }
    let met = Constraints {
        max_computing_time: Some(Micros(5_000)),
        max_network_delay: Some(Micros(5_000)),
        max_total_delay: Some(Micros(10_000)),
        ..none
    };
    assert_eq!(known_and_unknown().choice(&met).0, Some(1));
}

#[test]
fn a_static_delay_counts_only_where_the_network_table_has_none() {
    let mut known = site(1, 0, 3_000);
    known.metric.delay = Some(Micros(1));
    let mut unknown = Site { network: None, ..site(2, 0, 0) };
    unknown.metric.delay = Some(Micros(2_000));
    let neither = Site { network: None, ..site(3, 0, 0) };
    let (choice, words) =
        tables(rank(Rank::NetworkMetric), &[known, unknown, neither]).choice(&Constraints::default());
    assert_eq!(choice, Some(2));
    assert_eq!(words[0], "path delay 3.000 ms behind path delay 2.000 ms");
    assert_eq!(words[2], "no path from the ingress is known");
}

#[test]
fn ties_go_to_priority_then_slots_then_identity() {
    let tied = |priority: [Option<u8>; 3], gas: [Gas; 3]| {
        let sites: Vec<Site> = (0..3)
            .map(|at| {
                let mut site = site(at as u32 + 1, 5, 5);
                site.metric.priority = priority[at];
                site.metric.gas = gas[at];
                site
            })
            .collect();
        tables(rank(Rank::Both), &sites).choice(&Constraints::default())
    };
    let two = Gas::Slots(2);
    let (choice, words) = tied([Some(2), Some(1), None], [two; 3]);
    assert_eq!((choice, words[1].as_str()), (Some(2), "priority 1 before priority 2"));
    let (choice, words) = tied([None; 3], [two, two, Gas::Unlimited]);
    assert_eq!((choice, words[2].as_str()), (Some(3), "slots without limit before slots 2"));
    let (choice, words) = tied([None; 3], [two; 3]);
    assert_eq!((choice, words[0].as_str()), (Some(1), "smaller csci-id, all else equal"));
    assert_eq!(words[2], "larger csci-id, all else equal");
}

#[test]
fn affinity_comes_before_both_metrics() {
    let mut far = site(2, 9_000, 9_000);
    far.metric.affinity = Some(1);
    let (choice, words) = tables(rank(Rank::Affinity), &[site(1, 1, 1), far]).choice(&Constraints::default());
    assert_eq!((choice, words[1].as_str()), (Some(2), "affinity 1 before affinity 0"));
    let equal = [site(1, 9, 9), site(2, 1, 1)];
    assert_eq!(tables(rank(Rank::Affinity), &equal).choice(&Constraints::default()).0, Some(2));
}

#[test]
fn the_closest_price_takes_the_price_as_a_wish_and_the_delay_as_a_bound() {
    let priced = |number, price: u32, total| {
        let mut site = site(number, total, 0);
        site.metric.price = Some(Price(price));
        site
    };
    let sites = [priced(1, 4, 10), priced(2, 11, 10), priced(3, 10, 99), site(4, 1, 1)];
    let constraints = Constraints {
        max_total_delay: Some(Micros(50)),
        max_price: Some(Price(5)),
        ..Constraints::default()
    };
    let (choice, words) = tables(rank(Rank::ClosestPrice(Price(10))), &sites).choice(&constraints);
    assert_eq!((choice, words[0].as_str()), (Some(2), "price distance 6 behind price distance 1"));
    assert_eq!(words[3], "no price behind price distance 1");
}

#[test]
fn weights_rank_by_the_min_max_score() {
    let priced = |number, price: u32, computing| {
        let mut site = site(number, computing, 0);
        site.metric.price = Some(Price(price));
        site
    };
    // Scores with equal weights: 0 + 1, 0.5 + 0.25, 1 + 0.
    let sites = [priced(1, 10, 9_000), priced(2, 20, 3_000), priced(3, 30, 1_000)];
    let policy = |price, total_delay| Policy {
        rank: Rank::Both,
        weights: Some(Weights { price, total_delay, memory_ratio: 0 }),
    };
    let (choice, words) = tables(policy(1, 1), &sites).choice(&Constraints::default());
    assert_eq!((choice, words[1].as_str()), (Some(2), "score 0.750000000 before score 1.000000000"));
    assert_eq!(tables(policy(3, 1), &sites).choice(&Constraints::default()).0, Some(1));
    assert_eq!(tables(policy(1, 3), &sites).choice(&Constraints::default()).0, Some(3));
}

#[test]
fn a_full_record_always_holds_the_selected_candidate() {
    let sites: Vec<Site> = (1..=9).map(|number| site(number, u64::from(10 - number), 0)).collect();
    let tables = tables(rank(Rank::Both), &sites);
    let service = tables.catalogue.service(service_id()).unwrap();
    let view = View {
        service,
        rows: tables.cst.rows(service_id()),
        refreshed: tables.cst.refreshed(),
        paths: tables.nst.from(tables.ingress),
    };
    let constraints = Constraints::default();
    let query =
        Query { family: Family::V4, ingress: tables.ingress, constraints: &constraints, now: tables.now };
    let winner = select(view, &query, &mut Scratch::default()).unwrap();
    let (list, omitted) = explain(view, &query, Taken::Winner(&winner), 3, &tables.nodes);
    let numbers: Vec<_> = list.iter().map(|candidate| candidate.csci_id.as_number().unwrap()).collect();
    assert_eq!((numbers, omitted), (vec![1, 2, 9], 6));
}

/// The rank of a candidate, written down anew: smaller wins.
fn plain_rank(policy: &Policy, site: &Site, all: &[&Site]) -> (u128, u128, u8, std::cmp::Reverse<u64>, u32) {
    let metric = &site.metric;
    let total = |site: &Site| u128::from(site.metric.computing_time.0 + site.network.unwrap());
    let price = |site: &Site| site.metric.price.map(|price| u128::from(price.0));
    let used = |site: &Site| site.metric.memory_ratio.map(|free| u128::from(100 - free));
    let scaled = |value: &dyn Fn(&Site) -> Option<u128>| {
        let values: Vec<u128> = all.iter().filter_map(|site| value(site)).collect();
        let (min, max) = (values.iter().min().copied(), values.iter().max().copied());
        match (value(site), min, max) {
            (Some(own), Some(min), Some(max)) if max > min => (own - min) * 1_000_000_000 / (max - min),
            (Some(_), _, _) => 0,
            (None, _, _) => 1_000_000_000,
        }
    };
    let both = match policy.weights {
        None => total(site),
        Some(weights) => {
            u128::from(weights.price) * scaled(&price)
                + u128::from(weights.total_delay) * scaled(&|site| Some(total(site)))
                + u128::from(weights.memory_ratio) * scaled(&used)
        }
    };
    let (first, second) = match policy.rank {
        Rank::ServiceMetric => (u128::from(metric.computing_time.0), price(site).unwrap_or(u128::MAX)),
        Rank::NetworkMetric => (u128::from(site.network.unwrap()), 0),
        Rank::Both => (both, 0),
        Rank::Affinity => (255 - u128::from(metric.affinity.unwrap_or(0)), both),
        Rank::ClosestPrice(wanted) => {
            (price(site).map_or(u128::MAX, |price| price.abs_diff(u128::from(wanted.0))), 0)
        }
    };
    let gas = match metric.gas {
        Gas::Slots(slots) => u64::from(slots - site.reserved),
        Gas::Unlimited => u64::MAX,
    };
    let number = metric.csci_id.as_number().unwrap();
    (first, second, metric.priority.unwrap_or(255), std::cmp::Reverse(gas), number)
}

fn plain_selection(policy: &Policy, sites: &[Site], constraints: &Constraints) -> Option<CsciId> {
    let requested = constraints.min_gas.unwrap_or(1).max(1);
    let eligible: Vec<&Site> = sites
        .iter()
        .filter(|site| {
            let metric = &site.metric;
            let slots = match metric.gas {
                Gas::Slots(slots) => slots >= site.reserved && slots - site.reserved >= requested,
                Gas::Unlimited => true,
            };
            let Some(network) = site.network else { return false };
            let total = metric.computing_time.0 + network;
            slots
                && matches!(metric.health, Health::Healthy | Health::Degraded)
                && constraints.max_network_delay.is_none_or(|max| network <= max.0)
                && constraints.max_total_delay.is_none_or(|max| total <= max.0)
                && (matches!(policy.rank, Rank::ClosestPrice(_))
                    || constraints.max_price.is_none_or(|max| metric.price.is_some_and(|price| price <= max)))
        })
        .collect();
    eligible.iter().min_by_key(|site| plain_rank(policy, site, &eligible)).map(|site| site.metric.csci_id)
}

fn sites() -> impl Strategy<Value = Vec<Site>> {
    let health = prop::sample::select(vec![Health::Healthy, Health::Degraded, Health::Unhealthy]);
    let gas = prop_oneof![Just(Gas::Unlimited), (0u32..4).prop_map(Gas::Slots)];
    let price = prop::option::of((0u32..4).prop_map(Price));
    let small = prop::option::of(0u8..3);
    let fields =
        (0u64..4, prop::option::weighted(0.9, 0u64..4), gas, price, small.clone(), small, health, 0u32..2);
    let memory = prop::option::of(0u32..=100);
    prop::collection::vec((fields, memory), 0..9).prop_map(|list| {
        let build = |(number, (fields, memory))| {
            let (computing, network, gas, price, priority, affinity, health, reserved) = fields;
            let mut site = site(number, computing, 0);
            site.metric.gas = gas;
            site.metric.price = price;
            site.metric.priority = priority;
            site.metric.affinity = affinity;
            site.metric.health = health;
            site.metric.memory_ratio = memory;
            Site { network, reserved, ..site }
        };
        (1u32..).zip(list).map(build).collect()
    })
}

fn policies() -> impl Strategy<Value = Policy> {
    let rank = prop_oneof![
        Just(Rank::Affinity),
        Just(Rank::ServiceMetric),
        Just(Rank::NetworkMetric),
        Just(Rank::Both),
        (0u32..5).prop_map(|price| Rank::ClosestPrice(Price(price))),
    ];
    let weights = (0u8..4, 0u8..4, 0u8..4);
    let weights =
        weights.prop_map(|(price, total_delay, memory_ratio)| Weights { price, total_delay, memory_ratio });
    (rank, prop::option::of(weights)).prop_map(|(rank, weights)| Policy { rank, weights })
}

proptest! {
    #[test]
    fn the_selection_is_that_of_a_plain_search(
        sites in sites(),
        policy in policies(),
        slots in prop::option::of(0u32..4),
        max_network in prop::option::of(0u64..4),
        max_total in prop::option::of(0u64..7),
        max_price in prop::option::of(0u32..4),
    ) {
        let constraints = Constraints {
            min_gas: slots,
            max_network_delay: max_network.map(Micros),
            max_total_delay: max_total.map(Micros),
            max_price: max_price.map(Price),
            ..Constraints::default()
        };
        let (winner, explained) = tables(policy, &sites).run(&constraints);
        let expected = plain_selection(&policy, &sites, &constraints);
        prop_assert_eq!(winner.map(|winner| winner.csci_id), expected);
        let order: Vec<_> = explained.iter().map(|candidate| candidate.csci_id).collect();
        let mut sorted = order.clone();
        sorted.sort();
        prop_assert_eq!(order, sorted);
        let selected = explained.iter().filter(|c| matches!(c.verdict, Verdict::Selected { .. })).count();
        prop_assert_eq!(selected, usize::from(winner.is_some()));
        if winner.is_none() {
            let dropped = explained.iter().all(|c| matches!(c.verdict, Verdict::Dropped { .. }));
            prop_assert!(dropped);
        }
    }
}
