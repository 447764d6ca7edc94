//! Silence: STALE, FAILED, withdrawn; room; what other sources say.

use crate::site::{Site, key, millis, of_health, secs, well};
use cats_engine_core::sma::config::{AdmissionConfig, PerClass, SciConfig, Span};
use cats_engine_core::sma::{Event, InstanceKey, PullCause, SciState, SmaConfig, Taken};
use cats_engine_types::{Health, Report, ReportedMetrics, WithdrawalReason};

const SCI: fn() -> InstanceKey = || key(1, 1);

fn leave(site: &mut Site) {
    let report = Report { ttl: Some(secs(0)), ..site.next(SCI(), ReportedMetrics::default()) };
    assert_eq!(site.send(report), Ok(Taken::Left));
}

/// Proves SMA-9, SMA-10, SMA-12.
#[test]
fn a_silent_sci_becomes_stale_then_failed_and_then_its_metrics_are_withdrawn() {
    let mut site = Site::new(SmaConfig::default());
    site.full(SCI(), well(100)).unwrap();
    assert_eq!(site.state(SCI()), SciState::Active, "discovered");
    site.full(SCI(), well(100)).unwrap();
    assert_eq!(site.state(SCI()), SciState::Healthy, "confirmed");
    site.take();
    site.pass(millis(119_999));
    assert_eq!(site.take(), []);
    site.pass(millis(1));
    assert_eq!(site.state(SCI()), SciState::Stale);
    assert_eq!(site.sma.site_gas(SCI().cs_id), 0, "not eligible");
    assert_eq!(site.pulls(), [(SCI(), PullCause::Stale)], "and it is asked for a report");
    site.pass(secs(120));
    assert_eq!(site.states(SCI()), [SciState::Failed]);
    assert_eq!(site.sma.site(SCI().cs_id).failed, 1);
    site.pass(secs(1199));
    assert!(site.view(SCI()).metrics.is_some());
    site.pass(secs(1));
    let reason = WithdrawalReason::Failed;
    assert_eq!(site.events(), [Event::Withdrawn { key: SCI(), reason }]);
    let view = site.view(SCI());
    assert_eq!((view.metrics, view.state), (None, SciState::Failed));
    assert_eq!(view.counters.taken, 2, "hard state outlives soft state");
    assert_eq!(site.sma.poll_timeout(), None);
}

/// Proves SMA-9, SMA-12.
#[test]
fn a_report_brings_an_sci_back_from_each_state() {
    let mut site = Site::new(SmaConfig::default());
    for _ in 0..2 {
        site.full(SCI(), well(100)).unwrap();
    }
    site.pass(secs(130));
    site.full(SCI(), well(90)).unwrap();
    assert_eq!(site.states(SCI()).last(), Some(&SciState::Healthy), "from STALE at once");
    site.pass(secs(250));
    assert_eq!(site.state(SCI()), SciState::Failed);
    site.take();
    for _ in 0..2 {
        site.full(SCI(), well(80)).unwrap();
    }
    assert_eq!(
        site.states(SCI()),
        [SciState::Active, SciState::Healthy],
        "from FAILED it is discovered anew"
    );
    assert_eq!(site.sma.site_gas(SCI().cs_id), 80);
}

/// Proves SMA-12.
#[test]
fn the_state_of_an_sci_is_not_the_health_of_its_instances() {
    let mut site = Site::new(SmaConfig::default());
    site.full(SCI(), of_health(Health::Unhealthy, 0)).unwrap();
    assert_eq!((site.state(SCI()), site.view(SCI()).health), (SciState::Active, Some(Health::Unhealthy)));
    site.full(SCI(), of_health(Health::Unhealthy, 0)).unwrap();
    assert_eq!((site.state(SCI()), site.view(SCI()).health), (SciState::Healthy, Some(Health::Unhealthy)));
}

/// Proves SMA-9.
#[test]
fn each_class_of_metrics_has_its_own_ttl() {
    let mut config = SmaConfig::default();
    config.cache.ttl = PerClass {
        capacity: secs(100),
        performance: secs(60),
        health: secs(80),
        commerce: secs(20),
        trust: secs(40),
    };
    let mut site = Site::new(config);
    let metrics = ReportedMetrics { price: Some(1), reputation: Some(2), security_level: Some(3), ..well(9) };
    site.full(SCI(), metrics).unwrap();
    let found = |site: &Site| {
        let sample = site.view(SCI()).metrics.unwrap().sample;
        (sample.price.is_some(), sample.reputation.is_some(), sample.security_level.is_some())
    };
    site.pass(millis(19_999));
    assert_eq!(found(&site), (true, true, true));
    site.pass(millis(1));
    assert_eq!(found(&site), (false, true, true));
    site.pass(secs(20));
    assert_eq!(found(&site), (false, false, false));
    assert_eq!(site.state(SCI()), SciState::Active);
    site.pass(secs(20));
    assert_eq!(site.state(SCI()), SciState::Stale, "the shortest of capacity, performance and health");
}

/// Proves SMA-9.
#[test]
fn a_report_says_how_long_it_holds_but_not_for_ever() {
    let mut config = SmaConfig::default();
    config.cache.max_ttl = PerClass::all(secs(300));
    config.cache.stale_grace = Span::Fixed(secs(5));
    let mut site = Site::new(config);
    for (told, holds) in [(10, 10), (250, 250), (4_000_000_000, 300)] {
        let report = Report { ttl: Some(secs(told)), ..site.next(SCI(), well(9)) };
        site.send(report).unwrap();
        assert_eq!(site.view(SCI()).metrics.unwrap().ttl, secs(holds));
        site.pass(secs(holds) - millis(1));
        assert_ne!(site.state(SCI()), SciState::Stale, "{told}");
        site.pass(millis(1));
        assert_eq!(site.state(SCI()), SciState::Stale, "{told}");
        site.pass(secs(5));
        assert_eq!(site.state(SCI()), SciState::Failed);
    }
}

/// Proves SMA-9.
#[test]
fn an_sci_takes_itself_out_and_comes_back() {
    let mut site = Site::new(SmaConfig::default());
    site.full(SCI(), well(9)).unwrap();
    site.full(SCI(), well(9)).unwrap();
    site.take();
    leave(&mut site);
    let reason = WithdrawalReason::Removed;
    assert!(site.events().contains(&Event::Withdrawn { key: SCI(), reason }));
    assert_eq!(site.sma.poll_timeout().map(|(at, _)| at > site.now), Some(true));
    site.pass(secs(10_000));
    assert_eq!(site.pulls(), [], "nobody waits for it");
    assert_eq!(site.state(SCI()), SciState::Active);
    site.full(SCI(), well(8)).unwrap();
    assert_eq!(site.gas(SCI()), Some(8));
}

/// Proves SMA-11.
#[test]
fn beyond_its_bound_the_cache_evicts_who_reported_longest_ago() {
    let mut config = SmaConfig::default();
    config.cache.max_entries = 3;
    let mut site = Site::new(config);
    for instance in [1, 2, 3] {
        site.full(key(1, instance), well(10)).unwrap();
        site.pass(secs(1));
    }
    site.full(key(1, 1), well(11)).unwrap();
    site.take();
    site.full(key(1, 4), well(10)).unwrap();
    let reason = WithdrawalReason::Evicted;
    assert!(site.events().contains(&Event::Withdrawn { key: key(1, 2), reason }));
    assert_eq!((site.sma.live(), site.sma.len()), (3, 4));
    assert_eq!(site.view(key(1, 2)).metrics, None);
    assert_eq!(site.sma.site_gas(SCI().cs_id), 31);
    // It is known all the same: an old report of it is still a replay, and a new one brings it back.
    site.full(key(1, 2), well(12)).unwrap();
    assert_eq!(site.view(key(1, 3)).metrics, None);
    assert_eq!(site.sma.counters().evicted, 2);
}

/// Proves SMA-10, SMA-11.
#[test]
fn scis_without_metrics_are_remembered_up_to_a_bound() {
    let mut config = SmaConfig::default();
    (config.cache.max_entries, config.cache.max_remembered) = (2, 3);
    let mut site = Site::new(config);
    for instance in 1..=9 {
        site.full(key(1, instance), well(10)).unwrap();
    }
    assert_eq!((site.sma.live(), site.sma.len()), (2, 5));
    assert_eq!(site.sma.counters().forgotten, 4);
    assert_eq!(site.sma.instance(key(1, 4)), None);
    assert!(site.sma.instance(key(1, 5)).is_some());
}

/// Proves SMA-10.
#[test]
fn what_is_configured_is_known_before_it_reports_and_is_awaited() {
    let sci = SciConfig { cs_id: SCI().cs_id, csci_id: SCI().csci_id, locator: None };
    let admission = AdmissionConfig { instances: vec![sci], ..AdmissionConfig::default() };
    let mut config = SmaConfig { admission, ..SmaConfig::default() };
    let mut site = Site::new(config.clone());
    assert_eq!(site.pulls(), [(SCI(), PullCause::Start)]);
    assert!(site.view(SCI()).configured);
    site.pass(secs(240));
    assert_eq!(site.states(SCI()), [SciState::Stale, SciState::Failed]);
    site.full(SCI(), well(10)).unwrap();
    assert_eq!(site.state(SCI()), SciState::Active);
    // It leaves the configuration, and may be discovered no more.
    config.admission = AdmissionConfig { discovery: false, ..AdmissionConfig::default() };
    site.sma.configure(config, site.now, site.wall);
    site.take();
    site.settle();
    assert!(site.events().contains(&Event::Forgotten { key: SCI() }));
    assert!(site.sma.is_empty() && site.full(SCI(), well(10)).is_err());
}

/// Proves SMA-24.
#[test]
fn another_source_of_health_takes_the_slots_out_at_once_and_gives_them_back() {
    let mut site = Site::new(SmaConfig::default());
    site.full(SCI(), well(100)).unwrap();
    site.take();
    let tell = |site: &mut Site, health| {
        site.sma.handle_health(SCI().csci_id, health, site.now, site.wall).unwrap();
        site.drain();
    };
    tell(&mut site, Health::Unhealthy);
    let (from, to) = (Some(Health::Healthy), Some(Health::Unhealthy));
    assert_eq!(site.events(), [Event::Health { key: SCI(), from, to }]);
    assert_eq!(site.sma.site_gas(SCI().cs_id), 0);
    site.full(SCI(), well(100)).unwrap();
    assert_eq!(site.sma.site_gas(SCI().cs_id), 0, "whatever the SCI says");
    tell(&mut site, Health::Healthy);
    assert_eq!(site.sma.site_gas(SCI().cs_id), 100);
    assert_eq!(site.pulls(), [(SCI(), PullCause::Recovery)]);
    let found = site.sma.handle_health(key(1, 9).csci_id, Health::Healthy, site.now, site.wall);
    let words = found.unwrap_err().to_string();
    assert_eq!(words, "9 is not known to this service metric agent: it neither reported nor is configured");
}

/// Proves SMA-24.
#[test]
fn a_stale_sci_that_another_source_calls_unhealthy_has_failed() {
    for told_before in [true, false] {
        let mut site = Site::new(SmaConfig::default());
        site.full(SCI(), well(100)).unwrap();
        let tell = |site: &mut Site| {
            site.sma.handle_health(SCI().csci_id, Health::Unhealthy, site.now, site.wall).unwrap();
        };
        if told_before {
            tell(&mut site);
        }
        site.pass(secs(120));
        if !told_before {
            assert_eq!(site.state(SCI()), SciState::Stale);
            tell(&mut site);
        }
        assert_eq!(site.state(SCI()), SciState::Failed);
    }
}

/// Proves SMA-9, SMA-24.
#[test]
fn when_all_scis_are_cut_off_each_is_seen_at_its_time_and_none_is_asked_beyond_the_rate() {
    let mut site = Site::new(SmaConfig::default());
    for instance in 1..=10_000 {
        site.full(key(1, instance), well(1)).unwrap();
    }
    assert_eq!(site.sma.site_gas(SCI().cs_id), 10_000);
    site.take();
    site.pass(secs(120));
    assert_eq!(site.sma.site(SCI().cs_id).stale, 10_000);
    let counters = *site.sma.counters();
    assert_eq!((counters.pulls, counters.pulls_left_out), (1000, 9000));
    site.pass(secs(120));
    assert_eq!(site.sma.site(SCI().cs_id).failed, 10_000);
    site.pass(secs(1200));
    assert_eq!((site.sma.live(), site.sma.len()), (0, 10_000));
    assert_eq!(site.sma.poll_timeout(), None);
}
