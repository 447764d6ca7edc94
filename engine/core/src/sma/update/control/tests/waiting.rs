//! How long an update waits, and for what.

use super::*;

/// Proves SMA-17.
#[test]
fn routine_updates_of_an_sci_are_five_seconds_apart() {
    let mut agent = Agent::plain();
    agent.report(1, |_| {});
    agent.pass(seconds(1.0));
    assert_eq!(agent.report(1, |new| new.sample.gas = 200), Some(Trigger::Metric));
    agent.pass(seconds(1.0));
    agent.report(1, |new| new.sample.gas = 300);
    agent.report(2, |_| {});
    agent.pass(seconds(10.0));
    let expected = [(0.0, 1, Trigger::Discovery), (2.0, 2, Trigger::Discovery), (5.0, 1, Trigger::Metric)];
    assert_eq!(agent.log(), expected);
    assert_eq!(agent.told[&1].sample.gas, 300, "the newest is told");
}

/// Proves SMA-17, SMA-21.
#[test]
fn a_critical_update_waits_for_no_interval() {
    let mut agent = Agent::plain();
    agent.report(1, |_| {});
    for (millis, change) in [
        (10, (|new| new.sample.health = Health::Degraded) as fn(&mut MetricRecord)),
        (20, |new| new.sample.gas = 0),
        (30, |new| new.sample.gas = 5),
        (40, |new| new.sample.security_level = Score::try_from(3).ok()),
        (50, |new| new.sample.health = Health::Unhealthy),
    ] {
        agent.pass(Duration::from_millis(10));
        agent.report(1, change);
        assert_eq!(agent.told[&1], agent.holds[&1].0, "{millis} ms");
    }
    let triggers: Vec<_> = agent.log().into_iter().map(|(_, _, trigger)| trigger).collect();
    let expected = [
        Trigger::Discovery,
        Trigger::Health,
        Trigger::NoSlots,
        Trigger::Recovery,
        Trigger::Security,
        Trigger::Health,
    ];
    assert_eq!(triggers, expected);
}

/// Proves SMA-17, SMA-22.
#[test]
fn what_is_below_the_thresholds_is_told_with_the_update_interval_and_so_is_what_only_holds_on() {
    let mut agent = Agent::plain();
    agent.report(1, |_| {});
    agent.pass(seconds(12.0));
    assert_eq!(agent.report(1, |new| new.sample.gas = 101), Some(Trigger::Renewal));
    agent.pass(seconds(8.0));
    agent.report(1, |new| new.sample.gas = 102);
    agent.pass(seconds(20.0));
    assert_eq!(agent.log(), [(0.0, 1, Trigger::Discovery), (30.0, 1, Trigger::Renewal)]);
    assert_eq!(agent.told[&1].sample.gas, 102);
    agent.report(1, |_| {});
    agent.pass(seconds(60.0));
    assert_eq!(agent.log(), [(60.0, 1, Trigger::Renewal)], "once for its one report, and then silence");
}

/// Proves SMA-17.
#[test]
fn without_an_update_interval_only_what_is_significant_is_told() {
    let mut agent =
        Agent::new(UpdateConfig { interval: None, ..UpdateConfig::default() }, Calendar::default());
    agent.report(1, |_| {});
    assert_eq!(agent.report(1, |new| new.sample.gas = 105), Some(Trigger::Renewal));
    agent.pass(seconds(1000.0));
    assert_eq!(agent.log(), [(0.0, 1, Trigger::Discovery)]);
    agent.report(1, |new| new.sample.gas = 120);
    assert_eq!(agent.log(), [(1000.0, 1, Trigger::Metric)]);
}

/// Proves SMA-17.
#[test]
fn in_maintenance_only_critical_updates_pass_and_the_others_follow_at_its_end() {
    let mut agent = Agent::new(UpdateConfig::default(), maintenance(100, 200));
    for id in 1..=3 {
        agent.report(id, |_| {});
    }
    agent.log();
    agent.pass(seconds(110.0));
    agent.report(1, |new| new.sample.gas = 500);
    agent.report(2, |new| new.sample.gas = 0);
    agent.report(3, |new| new.sample.gas = 101);
    agent.report(4, |_| {});
    assert!(agent.control.view().maintenance);
    agent.pass(seconds(89.0));
    assert_eq!(agent.log(), [(110.0, 2, Trigger::NoSlots)]);
    agent.pass(seconds(10.0));
    let expected =
        [(200.0, 4, Trigger::Discovery), (200.0, 1, Trigger::Metric), (200.0, 3, Trigger::Renewal)];
    assert_eq!(agent.log(), expected, "the more urgent ones first");
}

/// Proves SMA-17.
#[test]
fn what_waits_for_the_bucket_when_maintenance_begins_waits_on() {
    let config = UpdateConfig { bucket: bucket(100, 10, 0), ..UpdateConfig::default() };
    let mut agent = Agent::new(config, maintenance(1, 50));
    for id in 0..3_000 {
        agent.report(id, |_| {});
    }
    agent.pass(seconds(49.0));
    let told = agent.log().len();
    assert!(
        (100..=110).contains(&told),
        "{told}: ten at once, and a hundred in the second before maintenance"
    );
    agent.report(0, |new| new.sample.gas = 0);
    assert_eq!(agent.log().len(), 1);
    agent.pass(seconds(60.0));
    assert_eq!(agent.told.len(), 3_000);
}

/// Proves SMA-17.
#[test]
fn a_clock_that_is_set_opens_and_closes_windows_too() {
    let mut agent = Agent::new(UpdateConfig::default(), maintenance(3600, 7200));
    agent.set = 3_600_000_000;
    agent.report(1, |_| {});
    assert_eq!(agent.log(), []);
    agent.set = 0;
    agent.report(2, |_| {});
    assert_eq!(agent.told.len(), 2);
}

/// Proves SMA-15, SMA-17.
#[test]
fn a_rule_that_suppresses_updates_holds_back_routine_ones_until_it_lets_go() {
    let mut agent = Agent::plain();
    agent.report(1, |_| {});
    agent.suppress(1, true);
    agent.report(1, |new| new.sample.gas = 500);
    agent.pass(seconds(100.0));
    assert_eq!(agent.control.view().suppressed, 1);
    assert_eq!(agent.log(), [(0.0, 1, Trigger::Discovery)]);
    agent.report(1, |new| new.sample.health = Health::Degraded);
    assert_eq!(agent.log(), [(100.0, 1, Trigger::Health)]);
    agent.report(1, |new| new.sample.gas = 100);
    agent.pass(seconds(100.0));
    agent.suppress(1, false);
    assert_eq!(agent.log(), [(200.0, 1, Trigger::Metric)]);
}

/// Proves SMA-17, SMA-21.
#[test]
fn the_bucket_bounds_all_and_keeps_a_part_for_critical_updates() {
    let config = UpdateConfig { bucket: bucket(10, 20, 5), ..UpdateConfig::default() };
    let mut agent = Agent::new(config, Calendar::default());
    for id in 0..50 {
        agent.report(id, |_| {});
    }
    assert_eq!(agent.log().len(), 15, "all but the part that is kept");
    for id in 0..10 {
        agent.report(id, |new| new.sample.gas = 0);
    }
    assert_eq!(agent.log().len(), 5, "not even critical updates go beyond it");
    agent.pass(seconds(0.5));
    assert!(agent.log().iter().all(|(_, _, trigger)| *trigger == Trigger::NoSlots));
    agent.pass(seconds(10.0));
    assert_eq!(agent.told.len(), 50);
    assert_eq!(agent.control.view().due, 0);
}

/// Proves SMA-17.
#[test]
fn a_first_recovery_is_told_at_once_and_further_ones_after_longer_and_longer_pauses() {
    let mut agent = Agent::plain();
    agent.report(1, |_| {});
    agent.log();
    let mut delays = Vec::new();
    for _ in 0..9 {
        agent.report(1, |new| new.sample.health = Health::Unhealthy);
        let failed = agent.log();
        assert_eq!(failed.len(), 1, "a failure is told at once, always");
        agent.report(1, |new| new.sample.health = Health::Healthy);
        agent.pass(seconds(60.0));
        delays.extend(agent.log().iter().map(|(at, ..)| at - failed[0].0));
    }
    assert_eq!(delays, [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]);
    agent.pass(seconds(120.0));
    agent.report(1, |new| new.sample.health = Health::Unhealthy);
    agent.report(1, |new| new.sample.health = Health::Healthy);
    assert_eq!(agent.told[&1].sample.health, Health::Healthy, "what is long ago is forgotten");
}

/// Proves SMA-17.
#[test]
fn a_failure_that_is_reported_again_and_again_is_one_failure() {
    let mut agent = Agent::plain();
    agent.report(1, |_| {});
    for _ in 0..5 {
        agent.report(1, |new| new.sample.health = Health::Unhealthy);
        agent.report(1, |new| new.sample.health = Health::Unknown);
    }
    agent.report(1, |new| new.sample.health = Health::Healthy);
    assert_eq!(agent.told[&1].sample.health, Health::Healthy);
}

/// Proves SMA-17.
#[test]
fn an_sci_that_flaps_each_second_soon_counts_as_failed_and_costs_few_updates() {
    let mut agent = Agent::plain();
    agent.report(1, |_| {});
    for second in 0..600 {
        let health = if second % 2 == 0 { Health::Unhealthy } else { Health::Healthy };
        agent.report(1, |new| new.sample.health = health);
        agent.pass(seconds(1.0));
    }
    let told = agent.log().iter().filter(|(_, _, trigger)| trigger.is_critical()).count();
    assert!(told < 20, "{told}");
    agent.report(1, |new| new.sample.health = Health::Healthy);
    agent.pass(seconds(60.0));
    assert_eq!(agent.told[&1].sample.health, Health::Healthy);
}

#[test]
fn when_things_are_again_as_they_were_told_nothing_is_told() {
    let config = UpdateConfig { bucket: bucket(1, 1, 0), ..UpdateConfig::default() };
    let mut agent = Agent::new(config, Calendar::default());
    agent.report(1, |_| {});
    let told = agent.told[&1].clone();
    agent.report(1, |new| new.sample.gas = 0);
    assert_eq!(agent.control.waiting(1).map(|(trigger, _)| trigger), Some(Trigger::NoSlots));
    agent.report(1, |new| *new = told.clone());
    agent.pass(seconds(100.0));
    assert_eq!(agent.log(), [(0.0, 1, Trigger::Discovery)]);
    assert_eq!(agent.control.view().settled, 1);
}

/// Proves SMA-21.
#[test]
fn a_withdrawal_goes_before_all_else_and_is_the_last_that_is_heard() {
    let config = UpdateConfig { bucket: bucket(10, 10, 0), ..UpdateConfig::default() };
    let mut agent = Agent::new(config, Calendar::default());
    for id in 0..10 {
        agent.report(id, |_| {});
    }
    for id in 0..5 {
        agent.report(id, |new| new.sample.health = Health::Unhealthy);
    }
    agent.control.withdraw(7, agent.now);
    agent.log();
    agent.pass(seconds(1.0));
    let order: Vec<_> = agent.log().into_iter().map(|(_, id, trigger)| (id, trigger)).collect();
    assert_eq!(order[..2], [(7, Trigger::Withdrawal), (0, Trigger::Health)]);
    assert_eq!(agent.control.view().known, 9);
    agent.control.forget(3);
    assert_eq!(agent.control.waiting(3), None);
    assert_eq!(agent.control.view().known, 8);
}

/// Proves SMA-21, SMA-29.
#[test]
fn when_all_fail_at_once_all_are_told_in_batches_at_the_rate_of_the_bucket() {
    let config = UpdateConfig { bucket: bucket(1_000, 2_000, 500), ..UpdateConfig::default() };
    let mut agent = Agent::new(config, Calendar::default());
    for id in 0..6_000 {
        agent.report(id, |_| {});
    }
    agent.pass(seconds(20.0));
    assert_eq!(agent.told.len(), 6_000);
    agent.log();
    for id in 0..6_000 {
        let (holds, suppress) = agent.holds.get_mut(&id).unwrap();
        holds.sample.health = Health::Unhealthy;
        let (told, now) = (agent.told.get(&id), agent.now);
        agent.control.offer(id, told, holds, *suppress, now);
    }
    let batch = agent.control.take(agent.now);
    assert_eq!(batch.len(), 500);
    batch.into_iter().for_each(|due| agent.tell(due));
    agent.drain();
    assert_eq!(agent.log.len(), 2_000);
    assert!(agent.control.view().busy);
    agent.pass(seconds(4.0));
    assert_eq!(agent.log.len(), 6_000);
    assert!(agent.told.values().all(|told| told.sample.health == Health::Unhealthy));
    assert!(!agent.control.view().busy);
}

/// Proves SMA-29.
#[test]
fn under_load_optional_metrics_are_left_out_and_follow_once_it_is_over() {
    let leave_out = OptionalMetrics::ALL;
    let load = LoadConfig { backlog: Duration::from_secs(1), leave_out };
    let config = UpdateConfig { bucket: bucket(10, 10, 0), load, ..UpdateConfig::default() };
    let mut agent = Agent::new(config, Calendar::default());
    agent.report(1, |new| {
        new.sample.price = Some(Price(5));
        new.sample.instances = Some(cats_engine_types::InstanceCounts::default());
    });
    assert!(agent.told[&1].sample.instances.is_some(), "a first word has all");
    for id in 10..60 {
        agent.report(id, |_| {});
    }
    assert!(agent.control.view().busy);
    let price = |new: &mut MetricRecord| new.sample.price = Some(Price(9));
    assert_eq!(agent.report(1, price), Some(Trigger::Renewal), "no reason of its own now");
    agent.report(1, |new| new.sample.health = Health::Degraded);
    agent.pass(seconds(0.2));
    let told = &agent.told[&1].sample;
    assert_eq!((told.health, told.price, told.instances), (Health::Degraded, Some(Price(5)), None));
    agent.pass(seconds(40.0));
    assert!(!agent.control.view().busy);
    assert_eq!(agent.told[&1], agent.holds[&1].0);
}

/// Proves SMA-29.
#[test]
fn what_was_put_off_under_load_follows_also_without_an_update_interval() {
    let mut agent =
        Agent::new(UpdateConfig { interval: None, ..UpdateConfig::default() }, Calendar::default());
    agent.report(1, |_| {});
    agent.control.handle_load(true, agent.now);
    agent.report(1, |new| new.sample.price = Some(Price(9)));
    agent.pass(seconds(30.0));
    assert_eq!(agent.told[&1].sample.price, None);
    agent.control.handle_load(false, agent.now);
    agent.pass(seconds(30.0));
    assert_eq!(agent.told[&1].sample.price, Some(Price(9)));
}

/// Proves SMA-22.
#[test]
fn the_update_interval_grows_under_load_up_to_its_bound_and_shrinks_again() {
    let interval = Some(Duration::from_secs(10));
    let mut agent = Agent::new(UpdateConfig { interval, ..UpdateConfig::default() }, Calendar::default());
    let intervals = |agent: &mut Agent, busy: bool| {
        let mut seen = Vec::new();
        agent.control.handle_load(busy, agent.now);
        for _ in 0..30 {
            agent.pass(seconds(10.0));
            let interval = agent.control.interval().unwrap().as_secs();
            if seen.last() != Some(&interval) {
                seen.push(interval);
            }
        }
        seen
    };
    assert_eq!(intervals(&mut agent, true), [20, 40, 60]);
    assert_eq!(intervals(&mut agent, false), [40, 20, 10]);
}

/// Proves SMA-22.
#[test]
fn the_pace_of_a_path_selector_slows_routine_updates_down_within_a_bound() {
    let mut agent = Agent::plain();
    agent.control.handle_pace(Duration::from_secs(20), agent.now);
    agent.report(1, |_| {});
    agent.report(1, |new| new.sample.gas = 300);
    agent.pass(seconds(21.0));
    assert_eq!(agent.log(), [(0.0, 1, Trigger::Discovery), (20.0, 1, Trigger::Metric)]);
    agent.report(1, |new| new.sample.gas = 0);
    assert_eq!(agent.log(), [(21.0, 1, Trigger::NoSlots)]);
    agent.control.handle_pace(Duration::MAX, agent.now);
    assert_eq!(agent.control.interval(), Some(Duration::from_secs(60)));
    agent.control.handle_pace(Duration::ZERO, agent.now);
    assert_eq!(agent.control.interval(), Some(Duration::from_secs(30)));
}

#[test]
fn a_new_configuration_holds_for_what_is_offered_after_it() {
    let mut agent = Agent::plain();
    agent.report(1, |_| {});
    agent.report(1, |new| new.sample.gas = 300);
    let config =
        UpdateConfig { min_interval: Duration::from_secs(1), bucket: None, ..UpdateConfig::default() };
    agent.control.configure(config, maintenance(10, 20), agent.now, agent.wall());
    agent.offer(1);
    agent.pass(seconds(1.0));
    assert_eq!(agent.log(), [(0.0, 1, Trigger::Discovery), (1.0, 1, Trigger::Metric)]);
    agent.pass(seconds(9.0));
    assert!(agent.control.moment().maintenance);
}

#[test]
fn what_is_kept_of_an_sci_is_small() {
    assert!(size_of::<Entry>() <= 80, "{}", size_of::<Entry>());
}
