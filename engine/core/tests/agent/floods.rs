//! Too many reports, and many at once.

use crate::site::{Site, key, millis, secs, well};
use cats_engine_core::sma::config::Rate;
use cats_engine_core::sma::{
    Alarm, AuditKind, AuthenticationFailure, InstanceKey, Output, PullCause, Refusal, SciState, SmaConfig,
};
use cats_engine_types::{Health, Rejection, Report, ReportKind, ReportedMetrics, ReporterInstruction};

const SCI: fn() -> InstanceKey = || key(1, 1);

/// Proves SMA-28.
#[test]
fn ten_times_the_allowed_rate_is_cut_and_counted_and_the_newest_values_get_through() {
    let mut site = Site::new(SmaConfig::default());
    let mut last = 0;
    for n in 0..1000 {
        last = 1000 + n % 7;
        match site.full(SCI(), well(last)) {
            Ok(_) => assert_eq!(site.gas(SCI()), Some(u32::try_from(last).unwrap())),
            Err(refusal) => {
                assert_eq!(refusal, Refusal::TooOften { per_second: 10 });
                assert_eq!(refusal.rejection(), Rejection::TooOften);
            }
        }
        site.pass(millis(10));
    }
    let counters = site.view(SCI()).counters;
    assert!((110..=125).contains(&counters.taken), "a burst of 20 and ten a second: {counters:?}");
    assert_eq!(counters.taken + counters.overtaken + u32::from(site.view(SCI()).waits), 1000);
    site.pass(millis(200));
    assert_eq!(site.gas(SCI()), Some(u32::try_from(last).unwrap()), "the newest values are taken in");
    assert!(!site.view(SCI()).waits);
}

/// Proves SMA-28.
#[test]
fn a_report_that_waited_is_answered_when_it_is_taken_in() {
    let mut config = SmaConfig::default();
    config.rates.instance = Rate { per_second: 1, burst: 1 };
    let mut site = Site::new(config);
    site.full(SCI(), well(100)).unwrap();
    // What waits is what all of it says together.
    let price = ReportedMetrics { price: Some(3), ..ReportedMetrics::default() };
    site.delta(SCI(), price).unwrap_err();
    let report = site.next(SCI(), ReportedMetrics { gas: Some(90), ..ReportedMetrics::default() });
    let freshness = report.freshness;
    site.send(Report { kind: ReportKind::Delta, ..report }).unwrap_err();
    site.take();
    site.pass(secs(1));
    let sample = site.view(SCI()).metrics.unwrap().sample;
    assert_eq!((sample.gas, sample.price.map(|price| price.0)), (90, Some(3)));
    let instruction = ReporterInstruction::Acknowledge { csci_id: SCI().csci_id, freshness };
    let answer = Output::Answer { key: SCI(), instruction };
    assert_eq!(site.take().last(), Some(&answer), "nothing is missing, and nothing is asked for");
    site.full(SCI(), ReportedMetrics { reputation: Some(99), ..well(1) }).unwrap_err();
    site.pass(secs(1));
    let refused = |output: &Output| {
        matches!(output, Output::Answer { instruction: ReporterInstruction::Reject { reason, .. }, .. }
            if *reason == Rejection::OutOfRange)
    };
    assert!(site.outputs.iter().any(refused), "{:?}", site.outputs);
}

/// Proves SMA-28.
#[test]
fn where_all_together_are_too_many_they_take_turns_and_none_is_silenced() {
    let mut config = SmaConfig::default();
    config.rates.total = Rate { per_second: 100, burst: 10 };
    config.rates.instance = Rate { per_second: 50, burst: 50 };
    let mut site = Site::new(config);
    // Nineteen flood, one reports once a second, always after all others.
    let quiet = key(1, 20);
    let mut longest = secs(0);
    for round in 0..200u64 {
        for instance in 1..20 {
            let _ = site.full(key(1, instance), well(100 + round % 5));
        }
        if round % 10 == 9 {
            let sent = site.now;
            let _ = site.full(quiet, well(1000 + round % 5));
            while site.view(quiet).waits {
                site.pass(millis(10));
            }
            longest = longest.max(site.now - sent);
        }
        site.pass(millis(100));
    }
    assert!(longest <= millis(210), "20 SCIs at 100 a second: {longest:?}");
    for instance in 1..=20 {
        assert!(site.view(key(1, instance)).counters.taken >= 18, "{instance}");
    }
    let overload = |raised| Output::Alarm { alarm: Alarm::Overload, raised };
    site.pass(secs(2));
    assert!(site.outputs.contains(&overload(true)));
    let last = site.outputs.iter().rev().find(|output| matches!(output, Output::Alarm { .. }));
    assert_eq!(last, Some(&overload(false)));
    assert_eq!(site.sma.waiting(), 0);
}

/// Proves SMA-28.
#[test]
fn replays_cost_an_sci_none_of_its_rate() {
    let mut site = Site::new(SmaConfig::default());
    let report = site.next(SCI(), well(1));
    site.send(report.clone()).unwrap();
    for _ in 0..1000 {
        assert!(matches!(site.send(report.clone()), Err(Refusal::Duplicate { .. })));
    }
    assert!(site.full(SCI(), well(1)).is_ok());
}

/// Proves SMA-12, SMA-28.
#[test]
fn ten_thousand_scis_that_come_back_together_are_all_heard() {
    let mut config = SmaConfig::default();
    config.rates.total = Rate { per_second: 5000, burst: 500 };
    let mut site = Site::new(config);
    let all = || (1..=10_000).map(|instance| key(1, instance));
    for key in all() {
        let _ = site.full(key, well(1));
    }
    site.pass(secs(3));
    assert_eq!(site.sma.live(), 10_000);
    site.pass(secs(300));
    assert_eq!(site.sma.site(SCI().cs_id).failed, 10_000);
    site.restart_senders();
    for key in all() {
        let _ = site.full(key, well(2));
    }
    assert!(site.sma.waiting() > 9000);
    site.pass(millis(1950));
    assert_eq!((site.sma.waiting(), site.sma.site_gas(SCI().cs_id)), (0, 20_000));
    assert!(all().all(|key| site.state(key) == SciState::Active));
}

/// Proves SMA-28.
#[test]
fn a_flood_of_failures_to_authenticate_is_counted_whole_and_recorded_up_to_a_bound() {
    let mut site = Site::new(SmaConfig::default());
    let failure = AuthenticationFailure {
        peer: "192.0.2.9:4711".to_owned(),
        claimed: Some(SCI().csci_id),
        reason: "the token is of another instance".to_owned(),
    };
    for _ in 0..5000 {
        site.sma.handle_authentication_failure(failure.clone(), site.now, site.wall);
    }
    site.drain();
    assert_eq!(site.sma.counters().authentication_failures, 5000);
    assert_eq!(site.outputs.len(), 1000);
    site.pass(secs(1));
    site.sma.handle_authentication_failure(failure.clone(), site.now, site.wall);
    site.drain();
    let Some(Output::Audit(last)) = site.outputs.last() else { panic!("{:?}", site.outputs.last()) };
    assert_eq!((last.left_out, &last.kind), (4000, &AuditKind::Authentication(failure)));
    assert_eq!(site.sma.audit_log(0, 9999).len(), 1001);
}

#[test]
fn an_operator_takes_an_sci_out_until_its_next_report() {
    let mut site = Site::new(SmaConfig::default());
    site.full(SCI(), well(5)).unwrap();
    site.sma.remove(SCI(), site.now, site.wall).unwrap();
    assert_eq!(site.view(SCI()).metrics, None);
    assert!(site.sma.remove(key(7, 7), site.now, site.wall).is_err());
    site.full(SCI(), well(6)).unwrap();
    assert_eq!(site.view(SCI()).health, Some(Health::Healthy));
}

/// Proves SMA-5, SMA-28.
#[test]
fn what_waits_is_never_laid_upon_a_report_that_is_gone() {
    let mut config = SmaConfig::default();
    config.rates.instance = Rate { per_second: 1, burst: 1 };
    let change = ReportedMetrics { gas: Some(90), ..ReportedMetrics::default() };
    // The SCI starts anew between two reports that wait.
    let mut site = Site::new(config.clone());
    site.full(SCI(), well(100)).unwrap();
    site.full(SCI(), well(99)).unwrap_err();
    site.restart_senders();
    site.delta(SCI(), change).unwrap_err();
    site.take();
    site.pass(secs(1));
    assert_eq!((site.gas(SCI()), site.sma.counters().no_base), (Some(100), 1));
    assert_eq!(site.pulls(), [(SCI(), PullCause::Gap)]);
    // It leaves, and changes its mind with a delta report.
    let mut site = Site::new(config);
    site.full(SCI(), well(100)).unwrap();
    let leave = Report { ttl: Some(secs(0)), ..site.next(SCI(), ReportedMetrics::default()) };
    site.send(leave).unwrap_err();
    site.delta(SCI(), change).unwrap_err();
    site.take();
    site.pass(secs(1));
    assert_eq!(site.gas(SCI()), Some(90));
    assert_eq!(site.pulls(), [(SCI(), PullCause::Gap)]);
}

/// Proves SMA-28.
#[test]
fn no_sci_hides_in_the_audit_log_what_others_did() {
    let mut config = SmaConfig::default();
    config.rates.instance.per_second = 0;
    let mut site = Site::new(config);
    let bad = ReportedMetrics { reputation: Some(99), ..well(1) };
    site.full(key(1, 2), bad).unwrap_err();
    for _ in 0..5000 {
        site.full(SCI(), bad).unwrap_err();
        site.pass(millis(1));
    }
    let of = |of: InstanceKey| {
        let log = site.sma.audit_log(0, 9999).into_iter();
        log.filter(|record| matches!(record.kind, AuditKind::Refused { key, .. } if key == of)).count()
    };
    assert_eq!((of(key(1, 2)), of(SCI())), (1, 24), "a burst of 20, and one a second");
    assert_eq!(site.sma.counters().audit_left_out, 4976);
    assert_eq!(site.sma.counters().out_of_range, 5001);
}

/// Proves SMA-28.
#[test]
fn that_an_sci_reports_too_often_is_on_record_once_each_time_it_begins() {
    let mut site = Site::new(SmaConfig::default());
    let flood = |site: &mut Site| {
        for _ in 0..500 {
            let _ = site.full(SCI(), well(1));
            site.pass(millis(10));
        }
    };
    flood(&mut site);
    let recorded = |site: &Site| {
        let log = site.sma.audit_log(0, 9999).into_iter();
        log.filter(|record| matches!(record.kind, AuditKind::TooOften { .. })).count()
    };
    assert_eq!(recorded(&site), 1);
    site.pass(secs(60));
    flood(&mut site);
    assert_eq!(recorded(&site), 2);
}
