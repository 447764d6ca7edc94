use super::*;
use cats_engine_types::{CsId, CsciId, InstanceCounts, Locator, Micros, RequestTime, Score, UnixMicros};
use std::time::Duration;

fn told() -> MetricRecord {
    let sample = Sample {
        gas: 1000,
        computing_time: Micros::from_millis(100),
        computing_time_min: None,
        computing_time_max: None,
        health: Health::Degraded,
        price: Some(Price(100)),
        reputation: Score::try_from(5).ok(),
        security_level: Score::try_from(5).ok(),
        instances: None,
    };
    MetricRecord {
        cs_id: CsId::number(7).unwrap(),
        csci_id: CsciId::number(71).unwrap(),
        locator: None,
        sample,
        taken: UnixMicros(5),
        valid_for: Duration::from_secs(90),
        flagged: false,
    }
}

fn after(change: impl FnOnce(&mut MetricRecord), thresholds: &Thresholds) -> Option<Trigger> {
    let mut new = told();
    change(&mut new);
    trigger(Some(&told()), &new, thresholds, OptionalMetrics::NONE)
}

fn worth(change: impl FnOnce(&mut MetricRecord)) -> Option<Trigger> {
    let shares = Thresholds { gas_slots: None, ..Thresholds::default() };
    after(change, &shares)
}

/// Proves SMA-17.
#[test]
fn a_change_of_slots_counts_beyond_a_tenth_or_beyond_fifty() {
    assert_eq!(worth(|new| new.sample.gas = 1100), Some(Trigger::Renewal));
    assert_eq!(worth(|new| new.sample.gas = 1101), Some(Trigger::Metric));
    assert_eq!(worth(|new| new.sample.gas = 900), Some(Trigger::Renewal));
    assert_eq!(worth(|new| new.sample.gas = 899), Some(Trigger::Metric));
    let both = Thresholds::default();
    assert_eq!(after(|new| new.sample.gas = 1050, &both), Some(Trigger::Renewal));
    assert_eq!(after(|new| new.sample.gas = 1051, &both), Some(Trigger::Metric));
    assert_eq!(after(|new| new.sample.gas = 949, &both), Some(Trigger::Metric));
}

/// Proves SMA-17.
#[test]
fn a_change_of_computing_time_counts_beyond_a_fifth() {
    let time = |millis| move |new: &mut MetricRecord| new.sample.computing_time = Micros::from_millis(millis);
    assert_eq!(worth(time(120)), Some(Trigger::Renewal));
    assert_eq!(worth(time(121)), Some(Trigger::Metric));
    assert_eq!(worth(time(79)), Some(Trigger::Metric));
}

/// Proves SMA-17, SMA-21.
#[test]
fn health_the_last_slot_security_and_recovery_are_critical_and_worse_before_better() {
    let gone =
        MetricRecord { sample: Sample { gas: 0, health: Health::Unhealthy, ..told().sample }, ..told() };
    for (found, expected) in [
        (worth(|new| new.sample.health = Health::Unhealthy), Trigger::Health),
        (worth(|new| new.sample.gas = 0), Trigger::NoSlots),
        (worth(|new| new.sample.security_level = Score::try_from(4).ok()), Trigger::Security),
        (worth(|new| new.sample.security_level = None), Trigger::Security),
        (worth(|new| new.sample.health = Health::Healthy), Trigger::Recovery),
        (trigger(Some(&gone), &told(), &Thresholds::default(), OptionalMetrics::ALL), Trigger::Recovery),
    ] {
        assert_eq!(found, Some(expected));
        assert!(expected.is_critical());
    }
    let unknown = MetricRecord { sample: Sample { health: Health::Unknown, ..gone.sample }, ..gone.clone() };
    let found = trigger(Some(&gone), &unknown, &Thresholds::default(), OptionalMetrics::ALL);
    assert_eq!(found, Some(Trigger::Health), "any change of health counts");
    let mut order = Trigger::ALL.to_vec();
    order.sort_unstable();
    assert_eq!(order, Trigger::ALL);
    assert!(Trigger::ALL.is_sorted_by_key(|trigger| !trigger.is_critical()));
}

#[test]
fn what_was_not_told_or_moved_is_a_discovery() {
    let found = trigger(None, &told(), &Thresholds::default(), OptionalMetrics::ALL);
    assert_eq!(found, Some(Trigger::Discovery));
    let locator = Some(Locator { address: "192.0.2.1".parse().unwrap(), port: Some(443) });
    assert_eq!(worth(|new| new.locator = locator), Some(Trigger::Discovery));
    assert!(!Trigger::Discovery.is_critical());
}

/// Proves SMA-29.
#[test]
fn optional_metrics_count_but_not_while_they_are_left_out() {
    let change = |change: fn(&mut Sample)| {
        let mut new = told();
        change(&mut new.sample);
        let found = |left_out| trigger(Some(&told()), &new, &Thresholds::default(), left_out);
        (found(OptionalMetrics::NONE), found(OptionalMetrics::ALL))
    };
    let waits = (Some(Trigger::Metric), Some(Trigger::Renewal));
    assert_eq!(change(|sample| sample.price = Some(Price(101))), waits);
    assert_eq!(change(|sample| sample.price = None), waits);
    assert_eq!(change(|sample| sample.reputation = Score::try_from(6).ok()), waits);
    let security = change(|sample| sample.security_level = None);
    assert_eq!(security, (Some(Trigger::Security), Some(Trigger::Security)));
    let small = (Some(Trigger::Renewal), Some(Trigger::Renewal));
    let longest = |sample: &mut Sample| {
        sample.computing_time_max = Some(RequestTime { time: Micros(1), input_tokens: None });
    };
    assert_eq!(change(longest), small);
    assert_eq!(change(|sample| sample.instances = Some(InstanceCounts::default())), small);
}

#[test]
fn equal_records_are_worth_nothing_and_a_newer_report_a_renewal() {
    assert_eq!(worth(|_| {}), None);
    assert_eq!(worth(|new| new.taken = UnixMicros(6)), Some(Trigger::Renewal));
    assert_eq!(worth(|new| new.flagged = true), Some(Trigger::Metric));
}
