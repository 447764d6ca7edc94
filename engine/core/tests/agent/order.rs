//! Duplicates, replays, reordering, clocks.

use crate::site::{Site, key, millis, secs, well};
use cats_engine_core::sma::{Alarm, Doubts, InstanceKey, Output, PullCause, Refusal, SmaConfig, Taken};
use cats_engine_types::{Freshness, Rejection, Report, ReportKind, ReportedMetrics, UnixMicros};

const SCI: fn() -> InstanceKey = || key(1, 1);

/// Proves SMA-5, SMA-28.
#[test]
fn duplicates_replays_and_what_was_overtaken_are_discarded_and_counted_by_kind() {
    let mut site = Site::new(SmaConfig::default());
    let reports: Vec<Report> = (0..5).map(|n| site.next(SCI(), well(100 + n))).collect();
    let [first, second, third, fourth, fifth] = reports.try_into().unwrap();
    assert!(site.send(first.clone()).is_ok());
    assert!(site.send(third.clone()).is_ok());
    let (last, found) = (third.freshness, second.freshness);
    assert_eq!(site.send(third.clone()), Err(Refusal::Duplicate { found: last }));
    assert_eq!(site.send(second), Err(Refusal::OutOfOrder { found, last }));
    let found = first.freshness;
    let refusal = site.send(first.clone()).unwrap_err();
    assert_eq!(refusal, Refusal::Replayed { found, last });
    assert_eq!(refusal.rejection(), Rejection::Stale);
    assert!(site.send(fifth).is_ok());
    assert!(matches!(site.send(fourth.clone()), Err(Refusal::OutOfOrder { .. })));
    assert_eq!(site.gas(SCI()), Some(104));
    let counters = site.view(SCI()).counters;
    assert_eq!((counters.duplicate, counters.out_of_order, counters.replayed, counters.taken), (1, 2, 1, 3));
    let counters = site.sma.counters();
    assert_eq!((counters.duplicate, counters.out_of_order, counters.replayed), (1, 2, 1));
}

/// Proves SMA-5.
#[test]
fn after_a_restart_of_the_sci_all_from_before_is_a_replay() {
    let mut site = Site::new(SmaConfig::default());
    let old: Vec<Report> = (0..3).map(|n| site.next(SCI(), well(100 + n))).collect();
    assert!(site.send(old[0].clone()).is_ok());
    site.pass(secs(5));
    site.restart_senders();
    assert_eq!(site.full(SCI(), well(50)), Ok(Taken::Believed));
    for report in &old {
        assert!(matches!(site.send(report.clone()), Err(Refusal::Replayed { .. })));
    }
    assert_eq!(site.gas(SCI()), Some(50));
}

/// Proves SMA-5.
#[test]
fn what_is_too_old_to_tell_counts_as_a_replay() {
    let mut site = Site::new(SmaConfig::default());
    let early = site.next(SCI(), well(1));
    for _ in 0..70 {
        let _ = site.next(SCI(), well(1));
    }
    assert!(site.full(SCI(), well(9)).is_ok());
    assert!(matches!(site.send(early), Err(Refusal::Replayed { .. })));
}

/// Proves SMA-5.
#[test]
fn a_refused_report_may_not_come_again_under_its_number() {
    let mut site = Site::new(SmaConfig::default());
    let report = site.next(SCI(), ReportedMetrics { reputation: Some(11), ..well(9) });
    assert!(matches!(site.send(report.clone()), Err(Refusal::OutOfRange { .. })));
    let mended = Report { metrics: well(9), ..report };
    assert!(matches!(site.send(mended), Err(Refusal::Duplicate { .. })));
}

/// Proves SMA-5.
#[test]
fn the_clock_of_an_sci_may_be_off_by_the_window_and_no_more() {
    for (ahead, offset) in [(true, 3600), (false, 3600), (true, 31), (false, 31)] {
        let mut site = Site::new(SmaConfig::default());
        let moved = |wall: UnixMicros, by: u64| {
            UnixMicros(if ahead { wall.0 + by * 1_000_000 } else { wall.0 - by * 1_000_000 })
        };
        let report = site.next(SCI(), well(10));
        let refusal = site.send(Report { timestamp: moved(site.wall, offset), ..report }).unwrap_err();
        assert_eq!(refusal, Refusal::Skewed { by: secs(offset), ahead, window: secs(30) });
        let raised = Alarm::ClockSkew { key: SCI(), by: secs(offset), ahead };
        assert!(site.outputs.contains(&Output::Alarm { alarm: raised, raised: true }), "{:?}", site.outputs);
        assert!(site.view(SCI()).skewed && site.view(SCI()).metrics.is_none());
        // It stands once, however many reports come.
        site.take();
        let report = site.next(SCI(), well(10));
        assert!(site.send(Report { timestamp: moved(site.wall, offset), ..report }).is_err());
        assert!(!site.outputs.iter().any(|output| matches!(output, Output::Alarm { .. })));
        // The clock is set.
        let report = site.next(SCI(), well(10));
        assert!(site.send(Report { timestamp: moved(site.wall, 29), ..report }).is_ok());
        let cleared =
            site.take().into_iter().any(|output| matches!(output, Output::Alarm { raised: false, .. }));
        assert!(cleared && !site.view(SCI()).skewed);
        assert_eq!(site.sma.counters().skewed, 2);
        assert_eq!(site.sma.counters().skewed_instances, 0);
    }
}

/// Proves SMA-5.
#[test]
fn where_it_is_tolerated_a_wrong_clock_raises_the_alarm_and_a_flag() {
    let mut config = SmaConfig::default();
    config.validation.skew.tolerate = true;
    let mut site = Site::new(config);
    let report = site.next(SCI(), well(10));
    let late = UnixMicros(site.wall.0 - 3_600_000_000);
    assert_eq!(site.send(Report { timestamp: late, ..report }), Ok(Taken::Flagged(Doubts::SKEW)));
    assert!(site.view(SCI()).skewed);
}

/// Proves SMA-5.
#[test]
fn a_start_in_the_future_is_refused_since_all_later_ones_would_be_replays() {
    let mut site = Site::new(SmaConfig::default());
    let report = site.next(SCI(), well(10));
    let found = Freshness { epoch: u64::MAX, sequence: 1 };
    assert_eq!(site.send(Report { freshness: found, ..report }), Err(Refusal::FutureEpoch { found }));
    assert!(site.full(SCI(), well(10)).is_ok());
}

/// Proves SMA-5.
#[test]
fn metrics_are_taken_when_they_were_made_and_never_later_than_they_came() {
    let mut site = Site::new(SmaConfig::default());
    for (offset, taken) in [(-2_000_000i64, -2_000_000i64), (2_000_000, 0)] {
        let report = site.next(SCI(), well(10));
        let timestamp = UnixMicros(site.wall.0.saturating_add_signed(offset));
        site.send(Report { timestamp, ..report }).unwrap();
        let found = site.view(SCI()).metrics.unwrap().taken;
        assert_eq!(found.0, site.wall.0.saturating_add_signed(taken));
    }
}

/// Proves SMA-5.
#[test]
fn a_delta_report_needs_a_full_one_of_the_same_start() {
    let mut site = Site::new(SmaConfig::default());
    let change = ReportedMetrics { gas: Some(9), ..ReportedMetrics::default() };
    let refusal = site.delta(SCI(), change).unwrap_err();
    assert_eq!(refusal, Refusal::NoBase { csci_id: SCI().csci_id });
    assert_eq!(site.pulls(), [(SCI(), PullCause::Gap)], "and is asked for");
    site.full(SCI(), well(10)).unwrap();
    assert!(site.delta(SCI(), change).is_ok());
    site.pass(secs(10));
    site.restart_senders();
    assert!(matches!(site.delta(SCI(), change), Err(Refusal::NoBase { .. })));
}

/// Proves SMA-5.
#[test]
fn a_gap_before_a_delta_report_asks_for_a_full_one() {
    let change = |gas| ReportedMetrics { gas: Some(gas), ..ReportedMetrics::default() };
    let mut site = Site::new(SmaConfig::default());
    site.full(SCI(), well(100)).unwrap();
    site.delta(SCI(), change(99)).unwrap();
    assert_eq!(site.pulls(), []);
    let _lost = site.next(SCI(), change(98));
    site.delta(SCI(), change(97)).unwrap();
    assert_eq!(site.gas(SCI()), Some(97), "what it names is true all the same");
    assert_eq!(site.pulls(), [(SCI(), PullCause::Gap)]);
    site.pass(secs(6));
    // One that was refused is missing too.
    assert!(
        site.delta(SCI(), ReportedMetrics { price: Some(u64::MAX), ..ReportedMetrics::default() }).is_err()
    );
    site.pass(secs(6));
    site.take();
    site.delta(SCI(), change(96)).unwrap();
    assert_eq!(site.pulls(), [(SCI(), PullCause::Gap)]);
}

/// Proves SMA-5.
#[test]
fn an_sci_may_count_through_the_reports_of_all_its_services() {
    let mut site = Site::new(SmaConfig::default());
    let mut sequence = 0;
    let mut send = |site: &mut Site, service, kind| {
        sequence += 1;
        let report = site.next(key(service, 1), well(100));
        let freshness = Freshness { sequence, ..report.freshness };
        site.send(Report { kind, freshness, ..report }).unwrap();
    };
    send(&mut site, 1, ReportKind::Full);
    send(&mut site, 2, ReportKind::Full);
    site.pass(millis(200));
    for _ in 0..3 {
        send(&mut site, 1, ReportKind::Delta);
        send(&mut site, 2, ReportKind::Delta);
    }
    assert_eq!(site.pulls(), []);
    assert_eq!(site.sma.services_of(SCI().csci_id).len(), 2);
}
