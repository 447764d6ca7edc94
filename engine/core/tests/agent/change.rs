//! Changes that are too fast, and the quarantine.

use crate::site::{Site, key, millis, of_health, secs, well};
use cats_engine_core::sma::config::{QuarantineConfig, Reaction};
use cats_engine_core::sma::{
    Doubts, InstanceKey, PullCause, QuarantineId, Refusal, ReleaseError, SmaConfig, Taken,
};
use cats_engine_types::{Health, Rejection, Report, ReportedMetrics};

const SCI: fn() -> InstanceKey = || key(1, 1);

fn reacting(reaction: Reaction) -> SmaConfig {
    let mut config = SmaConfig::default();
    let change = &mut config.validation.change;
    change.gas.reaction = reaction;
    change.computing_time.reaction = reaction;
    change.flapping.reaction = reaction;
    config
}

fn quarantining() -> Site {
    let mut site = Site::new(reacting(Reaction::Quarantine));
    site.full(SCI(), well(100)).unwrap();
    site.pass(millis(500));
    site
}

fn timed(computing_time: u64) -> ReportedMetrics {
    ReportedMetrics { computing_time: Some(computing_time), ..well(100) }
}

/// Proves SMA-4.
#[test]
fn slots_that_change_by_more_than_half_within_a_second_are_flagged() {
    for (to, flagged) in [(50, false), (49, true), (150, false), (151, true), (0, true)] {
        let mut site = Site::new(SmaConfig::default());
        site.full(SCI(), well(100)).unwrap();
        site.pass(secs(1));
        let found = site.full(SCI(), well(to));
        let expected = if flagged { Taken::Flagged(Doubts::GAS_CHANGE) } else { Taken::Believed };
        assert_eq!(found, Ok(expected), "100 to {to}");
        assert_eq!(site.view(SCI()).metrics.unwrap().doubts.is_empty(), !flagged);
        assert_eq!(site.gas(SCI()), Some(u32::try_from(to).unwrap()));
    }
}

/// Proves SMA-4.
#[test]
fn what_takes_longer_or_comes_with_a_change_of_health_is_no_anomaly() {
    let mut site = Site::new(SmaConfig::default());
    site.full(SCI(), well(100)).unwrap();
    site.pass(millis(1001));
    assert_eq!(site.full(SCI(), well(20)), Ok(Taken::Believed));
    site.pass(millis(10));
    assert_eq!(site.full(SCI(), of_health(Health::Degraded, 200)), Ok(Taken::Believed));
    site.pass(millis(10));
    assert_eq!(site.full(SCI(), of_health(Health::Unhealthy, 0)), Ok(Taken::Believed));
}

/// Proves SMA-4.
#[test]
fn a_leap_in_small_steps_is_a_leap() {
    let mut config = SmaConfig::default();
    config.rates.instance.per_second = 0;
    let mut site = Site::new(config);
    site.full(SCI(), well(100)).unwrap();
    let mut found = Vec::new();
    for gas in [85, 70, 55, 40] {
        site.pass(millis(200));
        found.push(site.full(SCI(), well(gas)).unwrap());
    }
    assert_eq!(found[..3], [Taken::Believed; 3]);
    assert_eq!(found[3], Taken::Flagged(Doubts::GAS_CHANGE));
}

/// Proves SMA-4.
#[test]
fn a_computing_time_that_more_than_doubles_within_a_second_is_an_anomaly() {
    let mut site = Site::new(SmaConfig::default());
    site.full(SCI(), timed(10_000)).unwrap();
    assert_eq!(site.full(SCI(), timed(20_000)), Ok(Taken::Believed));
    site.pass(secs(2));
    let found = site.full(SCI(), timed(40_001));
    assert_eq!(found, Ok(Taken::Believed), "two seconds later");
    let found = site.full(SCI(), timed(80_003));
    assert_eq!(found, Ok(Taken::Flagged(Doubts::COMPUTING_TIME_CHANGE)));
    assert_eq!(site.pulls(), [(SCI(), PullCause::Anomaly)], "and it is asked for another report");
}

/// Proves SMA-4.
#[test]
fn more_than_three_changes_of_health_in_ten_seconds_are_flapping() {
    for (reaction, step) in [(Reaction::Flag, 2), (Reaction::Quarantine, 2)] {
        let mut site = Site::new(reacting(reaction));
        let healths = [Health::Healthy, Health::Degraded];
        for n in 0..4 {
            assert_eq!(
                site.full(SCI(), of_health(healths[n % 2], 10)),
                Ok(Taken::Believed),
                "transition {n}"
            );
            site.pass(secs(step));
        }
        let found = site.full(SCI(), of_health(Health::Healthy, 10));
        match reaction {
            Reaction::Quarantine => {
                let doubts = Doubts::FLAPPING;
                assert_eq!(found, Err(Refusal::Quarantined { id: QuarantineId(1), doubts }));
                assert_eq!(found.unwrap_err().rejection(), Rejection::Quarantined);
                assert_eq!(site.view(SCI()).health, Some(Health::Degraded), "as it was");
            }
            Reaction::Flag | Reaction::Ignore => assert_eq!(found, Ok(Taken::Flagged(Doubts::FLAPPING))),
        }
        // It settles down: the transitions are forgotten.
        site.pass(secs(11));
        assert_eq!(site.full(SCI(), of_health(Health::Healthy, 10)), Ok(Taken::Believed));
    }
}

/// Proves SMA-4, SMA-9.
#[test]
fn an_sci_that_flaps_each_second_is_flagged_as_long_as_it_does_and_never_stale() {
    let mut site = Site::new(SmaConfig::default());
    for n in 0..300 {
        let (health, gas) = if n % 2 == 0 { (Health::Healthy, 100) } else { (Health::Unhealthy, 0) };
        let taken = site.full(SCI(), of_health(health, gas)).unwrap();
        let flagged = n > 3;
        assert_eq!(taken, if flagged { Taken::Flagged(Doubts::FLAPPING) } else { Taken::Believed }, "{n}");
        assert_eq!(site.view(SCI()).health, Some(health));
        site.pass(secs(1));
    }
    assert_eq!(site.sma.counters().stale, 0);
    assert_eq!(site.sma.counters().flagged, 296);
}

/// Proves SMA-4.
#[test]
fn an_anomaly_waits_in_quarantine_and_changes_nothing() {
    let mut site = quarantining();
    let before = site.view(SCI()).metrics;
    let refusal = site.full(SCI(), well(1000)).unwrap_err();
    let id = QuarantineId(1);
    assert_eq!(refusal, Refusal::Quarantined { id, doubts: Doubts::GAS_CHANGE });
    assert_eq!(refusal.to_string(), "gas-change: the report waits in quarantine as 1");
    assert_eq!(site.view(SCI()).metrics, before);
    let listed = site.sma.quarantined(None, 10);
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].id, listed[0].sample.gas, listed[0].key()), (id, 1000, SCI()));
    assert_eq!(site.sma.quarantined(Some(id), 10).len(), 0);
    assert_eq!((site.view(SCI()).quarantined, site.view(SCI()).counters.quarantined), (1, 1));
}

/// Proves SMA-4.
#[test]
fn a_released_report_is_taken_in_and_a_dropped_one_is_gone() {
    let mut site = quarantining();
    site.full(SCI(), well(1000)).unwrap_err();
    site.full(SCI(), well(2000)).unwrap_err();
    let (first, second) = (QuarantineId(1), QuarantineId(2));
    assert_eq!(site.sma.release(first, site.now, site.wall), Ok(()));
    assert_eq!(site.gas(SCI()), Some(1000));
    assert_eq!(site.sma.release(first, site.now, site.wall), Err(ReleaseError::Unknown(first)));
    // The later one may still be released after it.
    assert_eq!(site.sma.release(second, site.now, site.wall), Ok(()));
    assert_eq!(site.gas(SCI()), Some(2000));
    site.full(SCI(), well(9)).unwrap_err();
    assert_eq!(site.sma.drop_quarantined(QuarantineId(3), site.now, site.wall), Ok(()));
    assert_eq!(site.sma.quarantine_size(), (0, 0));
    assert_eq!(site.gas(SCI()), Some(2000));
    let counters = site.sma.counters();
    assert_eq!((counters.quarantined, counters.released, counters.dropped), (3, 2, 1));
}

/// Proves SMA-4, SMA-5.
#[test]
fn a_release_never_replaces_what_came_later() {
    let mut site = quarantining();
    site.full(SCI(), well(1000)).unwrap_err();
    assert_eq!(site.full(SCI(), well(110)), Ok(Taken::Believed));
    let id = QuarantineId(1);
    assert_eq!(site.sma.release(id, site.now, site.wall), Err(ReleaseError::Superseded { id }));
    assert_eq!(site.gas(SCI()), Some(110));
    assert_eq!(site.sma.quarantined(None, 10).len(), 1, "it stays to be looked at");
}

/// Proves SMA-4, SMA-9.
#[test]
fn a_report_whose_time_is_over_or_whose_sci_left_is_not_released() {
    let mut site = quarantining();
    site.full(SCI(), well(1000)).unwrap_err();
    site.pass(secs(121));
    let id = QuarantineId(1);
    assert_eq!(site.sma.release(id, site.now, site.wall), Err(ReleaseError::Expired { id }));

    let mut site = quarantining();
    site.full(SCI(), well(1000)).unwrap_err();
    let leave = Report { ttl: Some(secs(0)), ..site.next(SCI(), ReportedMetrics::default()) };
    assert_eq!(site.send(leave), Ok(Taken::Left));
    assert_eq!(site.sma.release(id, site.now, site.wall), Err(ReleaseError::Superseded { id }));
    assert_eq!(site.view(SCI()).metrics, None);
}

/// Proves SMA-4.
#[test]
fn a_delta_report_in_quarantine_is_released_as_what_it_made_of_the_one_before() {
    let mut site = Site::new(reacting(Reaction::Quarantine));
    site.full(SCI(), ReportedMetrics { price: Some(7), ..well(100) }).unwrap();
    let change = ReportedMetrics { gas: Some(1000), ..ReportedMetrics::default() };
    site.delta(SCI(), change).unwrap_err();
    assert_eq!(site.sma.release(QuarantineId(1), site.now, site.wall), Ok(()));
    let sample = site.view(SCI()).metrics.unwrap().sample;
    assert_eq!((sample.gas, sample.price.map(|price| price.0)), (1000, Some(7)));
}

/// Proves SMA-4.
#[test]
fn the_quarantine_is_bounded_and_no_sci_pushes_out_what_others_did() {
    let mut config = reacting(Reaction::Quarantine);
    config.quarantine = QuarantineConfig { max_reports: 5, max_reports_per_instance: 3 };
    config.rates.instance.per_second = 0;
    let mut site = Site::new(config);
    for instance in [1, 2, 3] {
        site.full(key(1, instance), well(100)).unwrap();
    }
    site.full(key(1, 1), well(900)).unwrap_err();
    for n in 0..10 {
        site.full(key(1, 2), well(1000 + n)).unwrap_err();
    }
    let held = |site: &Site, instance| site.view(key(1, instance)).quarantined;
    assert_eq!((held(&site, 1), held(&site, 2)), (1, 3));
    assert_eq!(site.sma.quarantine_size(), (4, 7));
    for n in 0..2 {
        site.full(key(1, 3), well(1000 + n)).unwrap_err();
    }
    assert_eq!((held(&site, 1), held(&site, 2), held(&site, 3)), (0, 3, 2), "the oldest goes first");
    assert_eq!(site.sma.quarantine_size(), (5, 8));
    assert_eq!(
        site.sma.release(QuarantineId(1), site.now, site.wall),
        Err(ReleaseError::Unknown(QuarantineId(1)))
    );
}

/// Proves SMA-4, SMA-28.
#[test]
fn anomalies_and_what_operators_do_about_them_are_on_record() {
    let mut site = quarantining();
    site.full(SCI(), well(1000)).unwrap_err();
    site.sma.release(QuarantineId(1), site.now, site.wall).unwrap();
    site.full(SCI(), well(10)).unwrap_err();
    site.sma.drop_quarantined(QuarantineId(2), site.now, site.wall).unwrap();
    let log = site.sma.audit_log(0, 10);
    let words: Vec<String> = log.iter().map(|record| format!("{:?}", record.kind)).collect();
    let expected = ["Quarantined", "Released", "Quarantined", "Dropped"];
    assert!(words.iter().zip(expected).all(|(found, expected)| found.contains(expected)), "{words:?}");
    assert_eq!(site.sma.audit_log(3, 10).len(), 1, "in pages");
}
