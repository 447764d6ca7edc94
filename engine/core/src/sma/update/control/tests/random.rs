//! Random reports, times, windows, rules and configurations: what holds whatever comes.

use super::*;
use crate::sma::update::Thresholds;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Gas(u32, u32),
    Time(u32, u64),
    Health(u32, Health),
    Price(u32, u32),
    Again(u32),
    Suppress(u32, bool),
    Withdraw(u32),
    Load(bool),
    Pace(u64),
    SetClock(i64),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let id = || 0u32..6;
    let health =
        prop::sample::select(vec![Health::Healthy, Health::Degraded, Health::Unhealthy, Health::Unknown]);
    let one = prop_oneof![
        5 => (id(), prop::sample::select(vec![0u32, 1, 5, 100, 104, 109, 111, 200])).prop_map(|(id, gas)| Step::Gas(id, gas)),
        2 => (id(), prop::sample::select(vec![9u64, 10, 11, 13])).prop_map(|(id, time)| Step::Time(id, time)),
        3 => (id(), health).prop_map(|(id, health)| Step::Health(id, health)),
        2 => (id(), 0u32..3).prop_map(|(id, price)| Step::Price(id, price)),
        2 => id().prop_map(Step::Again),
        1 => (id(), any::<bool>()).prop_map(|(id, suppress)| Step::Suppress(id, suppress)),
        1 => id().prop_map(Step::Withdraw),
        1 => any::<bool>().prop_map(Step::Load),
        1 => prop::sample::select(vec![0u64, 10, 100]).prop_map(Step::Pace),
        1 => prop::sample::select(vec![0i64, 0, 60_000_000, -60_000_000]).prop_map(Step::SetClock),
        6 => prop::sample::select(vec![0u64, 1, 50, 1_000, 3_000, 6_000, 31_000]).prop_map(Step::Pass),
    ];
    prop::collection::vec(one, 0..80)
}

fn configs() -> impl Strategy<Value = UpdateConfig> {
    let bucket = prop::option::weighted(0.7, (1u32..20, 1u32..10, 0u32..12))
        .prop_map(|bucket| bucket.and_then(|(rate, burst, reserve)| super::bucket(rate, burst, reserve)));
    let interval = prop::option::weighted(0.8, prop::sample::select(vec![1u64, 10, 30]));
    (bucket, interval, 0u64..8, 1usize..5).prop_map(|(bucket, interval, min, batch)| UpdateConfig {
        thresholds: Thresholds::default(),
        interval: interval.map(Duration::from_secs),
        longest_interval: Duration::from_secs(60),
        min_interval: Duration::from_secs(min),
        bucket,
        batch,
        damping: DampingConfig::default(),
        load: LoadConfig::default(),
    })
}

fn run(agent: &mut Agent, step: &Step) {
    match *step {
        Step::Gas(id, gas) => {
            agent.report(id, |new| new.sample.gas = gas);
        }
        Step::Time(id, millis) => {
            agent.report(id, |new| new.sample.computing_time = Micros::from_millis(millis));
        }
        Step::Health(id, health) => {
            agent.report(id, |new| new.sample.health = health);
        }
        Step::Price(id, price) => {
            agent.report(id, |new| new.sample.price = Some(Price(price)));
        }
        Step::Again(id) => {
            agent.report(id, |_| {});
        }
        Step::Suppress(id, suppress) => agent.suppress(id, suppress),
        Step::Withdraw(id) => {
            agent.holds.remove(&id);
            if agent.told.contains_key(&id) {
                agent.control.withdraw(id, agent.now);
            } else {
                agent.control.forget(id);
            }
            agent.drain();
        }
        Step::Load(busy) => agent.control.handle_load(busy, agent.now),
        Step::Pace(seconds) => agent.control.handle_pace(Duration::from_secs(seconds), agent.now),
        Step::SetClock(micros) => agent.set = micros,
        Step::Pass(millis) => agent.pass(Duration::from_millis(millis)),
    }
}

/// No span of time holds more updates than the burst and what came to the bucket meanwhile.
fn within_bucket(log: &[Told], config: &UpdateConfig) -> Result<(), TestCaseError> {
    let Some(bucket) = config.bucket else { return Ok(()) };
    for (from, first) in log.iter().enumerate() {
        for (count, last) in log[from..].iter().enumerate() {
            let allowed = f64::from(bucket.burst.get()) + (last.at - first.at) * f64::from(bucket.rate.get());
            prop_assert!((count + 1) as f64 <= allowed + 1e-6, "{first:?} to {last:?}");
        }
    }
    Ok(())
}

proptest! {
    /// Proves SMA-17, SMA-21.
    #[test]
    fn updates_keep_to_the_bucket_to_maintenance_and_to_the_minimum_interval(
        config in configs(),
        steps in steps(),
        window in (0u64..60, 1u64..60),
    ) {
        let mut agent = Agent::new(config, maintenance(window.0, window.0 + window.1));
        for step in &steps {
            run(&mut agent, step);
        }
        let least = config.min_interval.min(config.interval.unwrap_or(config.min_interval)).as_secs_f64();
        let mut last: BTreeMap<u32, f64> = BTreeMap::new();
        for told in &agent.log {
            if told.trigger == Trigger::Withdrawal {
                last.remove(&told.id);
            } else if let Some(last) = last.insert(told.id, told.at) {
                prop_assert!(told.trigger.is_critical() || told.at - last >= least - 1e-6, "{told:?} after {last}");
            }
        }
        within_bucket(&agent.log, &config)?;
    }

    /// What is left when nothing more is given waits for a token that is not there.
    ///
    /// Proves SMA-17, SMA-21.
    #[test]
    fn critical_updates_go_first(config in configs(), steps in steps()) {
        let mut agent = Agent::new(config, maintenance(20, 40));
        for step in &steps {
            run(&mut agent, step);
            agent.control.look(agent.now, agent.wall());
            agent.drain();
            let critical = agent.control.ready.iter().filter(|(trigger, ..)| trigger.is_critical()).count();
            let token = agent.control.bucket.as_mut().is_none_or(|bucket| bucket.clone().take(0));
            prop_assert!(critical == 0 || !token, "{critical} critical ones wait for nothing");
        }
    }

    /// Without a bound on the rate, without maintenance and without damping: nothing waits longer than its interval.
    ///
    /// Proves SMA-17, SMA-22.
    #[test]
    fn nothing_waits_longer_than_its_interval(config in configs(), steps in steps()) {
        let damping = DampingConfig { longest: Duration::ZERO, ..config.damping };
        let config = UpdateConfig { bucket: None, damping, ..config };
        let mut agent = Agent::new(config, Calendar::default());
        for step in steps.iter().filter(|step| !matches!(step, Step::Suppress(..))) {
            run(&mut agent, step);
            for told in &agent.log {
                let bound = if told.trigger.is_critical() { Duration::from_secs(60) } else { config.longest_interval };
                prop_assert!(told.waited <= bound, "{told:?}");
            }
            let critical = agent.control.ready.iter().filter(|(trigger, ..)| trigger.is_critical());
            prop_assert_eq!(critical.count(), 0, "what is critical waits for nothing here");
        }
    }

    /// Proves SMA-17, SMA-29.
    #[test]
    fn in_the_end_all_that_holds_is_told(config in configs(), steps in steps()) {
        let mut agent = Agent::new(config, maintenance(30, 60));
        for step in &steps {
            run(&mut agent, step);
        }
        agent.set = 0;
        agent.control.handle_load(false, agent.now);
        agent.control.handle_pace(Duration::ZERO, agent.now);
        for id in agent.holds.keys().copied().collect::<Vec<_>>() {
            agent.suppress(id, false);
        }
        agent.pass(Duration::from_secs(400));
        let view = agent.control.view();
        prop_assert_eq!((view.due, view.held, view.timed, view.suppressed), (0, 0, 0, 0));
        prop_assert_eq!(view.known, agent.holds.len());
        for (id, (holds, _)) in &agent.holds {
            let told = agent.told.get(id);
            match config.interval {
                Some(_) => prop_assert_eq!(told, Some(holds)),
                None => {
                    let trigger = trigger::trigger(told, holds, &config.thresholds, OptionalMetrics::NONE);
                    prop_assert!(trigger.is_none_or(|trigger| trigger == Trigger::Renewal), "{trigger:?}");
                }
            }
        }
        prop_assert!(agent.told.keys().all(|id| agent.holds.contains_key(id)), "what is gone was withdrawn");
    }
}
