//! Range, format, consistency: what a report must be to be believed.

use crate::site::{Site, key, millis, of_health, secs, well};
use cats_engine_core::sma::config::{AdmissionConfig, Range, SciConfig};
use cats_engine_core::sma::{Contradiction, Doubts, Refusal, SmaConfig, Taken};
use cats_engine_types::{
    Health, InstanceCounts, Locator, Micros, Rejection, Report, ReportedMetrics, ReportedTime, RequestTime,
};

fn set(field: &str, value: u64) -> ReportedMetrics {
    let bound = Some(ReportedTime { time: value, input_tokens: Some(7) });
    match field {
        "gas" => ReportedMetrics { gas: Some(value), ..well(1) },
        "computing-time" => ReportedMetrics { computing_time: Some(value), ..well(1) },
        "computing-time-min" => ReportedMetrics { computing_time_min: bound, ..well(1) },
        "computing-time-max" => ReportedMetrics { computing_time_max: bound, ..well(1) },
        "price" => ReportedMetrics { price: Some(value), ..well(1) },
        "reputation" => ReportedMetrics { reputation: Some(value), ..well(1) },
        "security-level" => ReportedMetrics { security_level: Some(value), ..well(1) },
        other => panic!("{other}"),
    }
}

const FIELDS: [(&str, u64); 7] = [
    ("gas", u32::MAX as u64),
    ("computing-time", 3_600_000_000),
    ("computing-time-min", 3_600_000_000),
    ("computing-time-max", 3_600_000_000),
    ("price", u32::MAX as u64),
    ("reputation", 10),
    ("security-level", 10),
];

/// Proves SMA-3.
#[test]
fn each_value_is_believed_up_to_the_end_of_its_range_and_refused_beyond() {
    for (name, max) in FIELDS {
        let mut site = Site::new(SmaConfig::default());
        for value in [0, max] {
            assert!(site.full(key(1, 1), set(name, value)).is_ok(), "{name} {value}");
            site.pass(secs(2));
        }
        let before = site.view(key(1, 1)).metrics;
        for found in [max + 1, u64::MAX] {
            let refusal = site.full(key(1, 1), set(name, found)).unwrap_err();
            assert_eq!(refusal, Refusal::OutOfRange { field: name, found, min: 0, max });
            assert_eq!(refusal.rejection(), Rejection::OutOfRange);
            let words = format!("{name} {found} is out of range 0 to {max}");
            assert_eq!(refusal.to_string(), words);
        }
        assert_eq!(site.view(key(1, 1)).metrics, before, "and changes nothing");
        assert_eq!(site.sma.counters().out_of_range, 2);
        assert_eq!(site.view(key(1, 1)).counters.invalid, 2);
    }
}

/// Proves SMA-3.
#[test]
fn ranges_are_configured() {
    let mut config = SmaConfig::default();
    let ranges = &mut config.validation.ranges;
    ranges.gas = Range { min: 5, max: 50 };
    ranges.reputation = Range { min: 3, max: 200 };
    let mut site = Site::new(config);
    for (field, value, max) in
        [("gas", 4, 50), ("gas", 51, 50), ("reputation", 2, 10), ("reputation", 11, 10)]
    {
        let mut metrics = set(field, value);
        metrics.gas = metrics.gas.filter(|_| field == "gas").or(Some(20));
        let found = site.full(key(1, 1), metrics);
        let min = if field == "gas" { 5 } else { 3 };
        assert_eq!(found, Err(Refusal::OutOfRange { field, found: value, min, max }), "no score is above 10");
    }
    assert_eq!(site.full(key(1, 1), well(50)), Ok(Taken::Believed));
}

/// Proves SMA-6.
#[test]
fn a_full_report_has_what_no_sci_is_eligible_without() {
    let mut site = Site::new(SmaConfig::default());
    let cases = [
        ("gas", ReportedMetrics { gas: None, ..well(1) }),
        ("computing-time", ReportedMetrics { computing_time: None, ..well(1) }),
        ("health", ReportedMetrics { health: None, ..well(1) }),
    ];
    for (field, metrics) in cases {
        let refusal = site.full(key(1, 1), metrics).unwrap_err();
        assert_eq!(refusal, Refusal::Missing { field });
        assert_eq!(refusal.rejection(), Rejection::Malformed);
    }
    assert_eq!(site.sma.counters().missing, 3);
    assert_eq!(site.view(key(1, 1)).metrics, None);
}

/// Proves SMA-8.
#[test]
fn all_that_an_sci_tells_is_in_the_cache() {
    let mut site = Site::new(SmaConfig::default());
    let bound = |time| Some(ReportedTime { time, input_tokens: Some(128) });
    let instances = InstanceCounts { healthy: 3, degraded: 1, unhealthy: 0, unknown: 2 };
    let metrics = ReportedMetrics {
        computing_time_min: bound(4_000),
        computing_time_max: bound(90_000),
        price: Some(12),
        reputation: Some(9),
        security_level: Some(3),
        instances: Some(instances),
        ..of_health(Health::Degraded, 300)
    };
    let locator = Locator { address: "188.3.67.3".parse().unwrap(), port: Some(67) };
    let report = Report { locator: Some(locator), ttl: Some(secs(90)), ..site.next(key(1, 1), metrics) };
    let freshness = report.freshness;
    assert_eq!(site.send(report), Ok(Taken::Believed));
    let view = site.view(key(1, 1));
    assert_eq!((view.locator, view.seen), (Some(locator), Some(freshness)));
    let found = view.metrics.unwrap();
    assert_eq!((found.freshness, found.ttl, found.taken), (freshness, secs(90), site.wall));
    assert_eq!((found.sample.gas, found.sample.health), (300, Health::Degraded));
    let max = RequestTime { time: Micros(90_000), input_tokens: Some(128) };
    assert_eq!(found.sample.computing_time_max, Some(max));
    assert_eq!(found.sample.price.map(|price| price.0), Some(12));
    assert_eq!(found.sample.security_level.map(u8::from), Some(3));
    assert_eq!(found.sample.instances, Some(instances));
    assert_eq!(site.sma.services_of(key(1, 1).csci_id), vec![site.view(key(1, 1))]);
}

/// Proves SMA-8.
#[test]
fn a_delta_report_changes_what_it_names_and_a_full_one_replaces_all() {
    let mut site = Site::new(SmaConfig::default());
    let priced = ReportedMetrics { price: Some(5), ..well(100) };
    assert_eq!(site.full(key(1, 1), priced), Ok(Taken::Believed));
    let change = ReportedMetrics { gas: Some(90), ..ReportedMetrics::default() };
    assert_eq!(site.delta(key(1, 1), change), Ok(Taken::Believed));
    let sample = site.view(key(1, 1)).metrics.unwrap().sample;
    assert_eq!((sample.gas, sample.price.map(|price| price.0)), (90, Some(5)));
    assert_eq!(site.full(key(1, 1), well(80)), Ok(Taken::Believed));
    assert_eq!(site.view(key(1, 1)).metrics.unwrap().sample.price, None);
}

/// Proves SMA-6.
#[test]
fn slots_without_an_instance_that_serves_are_refused() {
    let mut site = Site::new(SmaConfig::default());
    let counts = |healthy, degraded| InstanceCounts { healthy, degraded, unhealthy: 4, unknown: 1 };
    let with = |metrics, instances| ReportedMetrics { instances: Some(instances), ..metrics };
    let refused = [
        of_health(Health::Unhealthy, 10),
        of_health(Health::Unknown, 10),
        with(well(10), counts(0, 0)),
        with(of_health(Health::Unhealthy, 10), counts(2, 0)),
    ];
    for metrics in refused {
        let refusal = site.full(key(1, 1), metrics).unwrap_err();
        assert_eq!(refusal, Refusal::Inconsistent(Contradiction::SlotsWithoutInstance { gas: 10 }));
        assert_eq!(refusal.rejection(), Rejection::Inconsistent);
    }
    let taken = [
        of_health(Health::Unhealthy, 0),
        with(of_health(Health::Unhealthy, 0), counts(0, 0)),
        // The document's own row: DEGRADED, 300.
        with(of_health(Health::Degraded, 300), counts(0, 1)),
        with(well(300), counts(1, 0)),
    ];
    for metrics in taken {
        site.pass(secs(2));
        assert_eq!(site.full(key(1, 1), metrics), Ok(Taken::Believed));
    }
    assert_eq!(site.sma.counters().inconsistent, 4);
}

/// Proves SMA-6.
#[test]
fn the_least_computing_time_is_not_above_the_greatest() {
    let mut site = Site::new(SmaConfig::default());
    let bound = |time| Some(ReportedTime { time, input_tokens: None });
    let metrics = ReportedMetrics { computing_time_min: bound(9), computing_time_max: bound(8), ..well(10) };
    let refusal = site.full(key(1, 1), metrics).unwrap_err();
    assert_eq!(refusal, Refusal::Inconsistent(Contradiction::Bounds { min: 9, max: 8 }));
}

/// Proves SMA-6.
#[test]
fn slots_without_computing_time_are_flagged_and_not_refused() {
    let mut site = Site::new(SmaConfig::default());
    let odd = ReportedMetrics { computing_time: Some(0), ..well(10) };
    assert_eq!(site.full(key(1, 1), odd), Ok(Taken::Flagged(Doubts::NO_COMPUTING_TIME)));
    assert_eq!(site.gas(key(1, 1)), Some(10));
    let nothing = ReportedMetrics { computing_time: Some(0), ..well(0) };
    site.pass(secs(2));
    assert_eq!(site.full(key(1, 1), nothing), Ok(Taken::Believed));
}

/// Proves SMA-6.
#[test]
fn the_slots_of_a_site_are_none_when_all_its_scis_are_unhealthy() {
    let mut site = Site::new(SmaConfig::default());
    let service = key(1, 1).cs_id;
    site.full(key(1, 1), well(100)).unwrap();
    site.full(key(1, 2), of_health(Health::Degraded, 60)).unwrap();
    site.full(key(2, 3), well(7)).unwrap();
    assert_eq!(site.sma.site_gas(service), 130, "a degraded SCI counts by half");
    let sums = site.sma.site(service);
    assert_eq!((sums.healthy, sums.degraded, sums.healthy_gas, sums.degraded_gas), (1, 1, 100, 60));
    for instance in [1, 2] {
        site.full(key(1, instance), of_health(Health::Unhealthy, 0)).unwrap();
    }
    assert_eq!(site.sma.site_gas(service), 0);
    assert_eq!(site.sma.site(service).unhealthy, 2);
    assert_eq!(site.sma.site_gas(key(2, 3).cs_id), 7);
}

/// Proves SMA-18.
#[test]
fn an_sci_reports_of_its_own_services_alone() {
    let (mine, other) = (key(1, 1), key(2, 1));
    let sci = SciConfig { cs_id: mine.cs_id, csci_id: mine.csci_id, locator: None };
    let instances = vec![sci];
    let admission =
        AdmissionConfig { instances, discovery: true, discovered_services: vec![key(3, 1).cs_id] };
    let mut site = Site::new(SmaConfig { admission, ..SmaConfig::default() });
    assert!(site.full(mine, well(10)).is_ok());
    let refusal = site.full(other, well(10)).unwrap_err();
    assert_eq!(refusal, Refusal::Unauthorised { cs_id: other.cs_id, csci_id: other.csci_id });
    assert_eq!(refusal.rejection(), Rejection::Unauthorised);
    assert!(
        site.full(key(3, 2), well(10)).is_ok(),
        "one that is not configured, of a service that may be discovered"
    );
    assert!(site.full(key(4, 2), well(10)).is_err());
    assert_eq!(site.sma.counters().unauthorised, 2);
    assert_eq!(site.sma.instance(other), None);
    site.pass(millis(1));
    let kinds: Vec<String> =
        site.sma.audit_log(0, 9).iter().map(|record| format!("{:?}", record.kind)).collect();
    assert!(kinds.iter().all(|kind| kind.contains("Unauthorised")) && kinds.len() == 2, "{kinds:?}");
}
