//! Random rules over random sites: what holds whatever the operator writes.

use super::language::{actions, conditions};
use super::*;
use crate::sma::calendar::Windows;
use crate::sma::policy::compile::Ranked;
use cats_engine_types::InstanceCounts;
use proptest::prelude::*;

fn policies() -> impl Strategy<Value = Policy> {
    let rule = (conditions(), prop::collection::vec(actions(), 1..4))
        .prop_map(|(condition, actions)| Rule { condition, actions });
    prop::collection::vec(rule, 0..5).prop_map(|rules| {
        let texts: Vec<String> = rules.iter().map(Rule::to_string).collect();
        let texts: Vec<&str> =
            texts.iter().map(String::as_str).filter(|text| text.len() <= MAX_TEXT).collect();
        policy(&texts)
    })
}

fn samples() -> impl Strategy<Value = Sample> {
    let small = prop_oneof![0u32..4, any::<u32>()];
    let health = prop::sample::select(crate::sma::policy::metric::HEALTHS.to_vec());
    let score =
        || prop::option::of(0u8..=10).prop_map(|score| score.and_then(|score| Score::try_from(score).ok()));
    let price = prop::option::of(small.clone().prop_map(Price));
    let counts = prop::option::of((0u32..4, 0u32..4)).prop_map(|counts| {
        counts.map(|(healthy, degraded)| InstanceCounts { healthy, degraded, unhealthy: 0, unknown: 1 })
    });
    (small, 0u64..3_600_000_000, health, price, score(), score(), counts).prop_map(
        |(gas, time, health, price, reputation, security_level, instances)| Sample {
            gas,
            computing_time: Micros(time),
            computing_time_min: None,
            computing_time_max: None,
            health,
            price,
            reputation,
            security_level,
            instances,
        },
    )
}

fn sites() -> impl Strategy<Value = SiteView> {
    let count = || prop_oneof![0u32..3, any::<u32>()];
    (prop_oneof![0u64..3, any::<u64>()], count(), count(), count(), count(), count()).prop_map(
        |(gas, scis, healthy, degraded, unhealthy, unknown)| SiteView {
            gas,
            scis,
            healthy,
            degraded,
            unhealthy,
            unknown,
        },
    )
}

fn states() -> impl Strategy<Value = SciState> {
    prop::sample::select(SciState::ALL.to_vec())
}

fn open() -> impl Strategy<Value = Windows> {
    prop::collection::vec(0usize..3, 0..3).prop_map(|places| {
        places.into_iter().fold(Windows::default(), |open, place| open.with(Windows::one(place)))
    })
}

fn apply(
    policy: &Policy,
    raw: Sample,
    site: SiteView,
    state: SciState,
    open: Windows,
) -> (MetricRecord, Outcome) {
    let mut record = Scene::new().record;
    record.sample = raw;
    let outcome = policy.apply(&Subject { site: &site, raw: &raw, state, open }, &mut record);
    (record, outcome)
}

proptest! {
    /// Proves SMA-15.
    #[test]
    fn what_does_not_serve_never_ends_with_slots(
        policy in policies(), raw in samples(), site in sites(), state in states(), open in open(),
    ) {
        let (record, _) = apply(&policy, raw, site, state, open);
        prop_assert!(record.sample.gas == 0 || record.sample.health.admits());
        if state == SciState::Failed {
            prop_assert_eq!((record.sample.gas, record.sample.health), (0, Health::Unhealthy));
        }
    }

    /// So it is enough to make the records of a service again when this truth changes.
    ///
    /// Proves SMA-15, SMA-21.
    #[test]
    fn while_the_truth_of_a_site_and_the_windows_of_the_rules_stay_so_does_every_record(
        policy in policies(), raw in samples(), state in states(),
        sites in (sites(), sites()), open in (open(), open()),
    ) {
        let read = |open: Windows| open.common(policy.windows());
        prop_assume!(policy.site_truth(&sites.0) == policy.site_truth(&sites.1) && read(open.0) == read(open.1));
        let first = apply(&policy, raw, sites.0, state, open.0);
        prop_assert_eq!(first, apply(&policy, raw, sites.1, state, open.1));
    }

    /// Proves SMA-15.
    #[test]
    fn a_dry_run_does_what_is_done(
        policy in policies(), raw in samples(), site in sites(), state in states(), open in open(),
    ) {
        let subject = Subject { site: &site, raw: &raw, state, open };
        let (done, outcome) = apply(&policy, raw, site, state, open);
        let mut record = Scene::new().record;
        record.sample = raw;
        let (same, reports) = policy.dry_run(&subject, &mut record);
        prop_assert_eq!((record, same), (done, outcome));
        let fired: Vec<usize> = (0..reports.len()).filter(|place| reports[*place].fires).collect();
        prop_assert_eq!(fired, outcome.fired.iter().collect::<Vec<_>>());
    }

    /// Rules after a rule change nothing of what it set, and leave its bounds.
    ///
    /// Proves SMA-15.
    #[test]
    fn no_later_rule_undoes_what_an_earlier_one_set_or_bounded(
        later in policies(), raw in samples(), site in sites(),
        set in prop::sample::select(Target::ALL.to_vec()), value in 0u64..=10,
        bounded in prop::sample::select(Target::ALL.to_vec()), cap in 0u64..=10,
    ) {
        let always = Condition::Test(Test::Number {
            metric: Number::Gas, is: Comparison::GreaterOrEqual, value: 0,
        });
        let first = Rule { condition: always, actions: vec![Action::Set(set, value), Action::Cap(bounded, cap)] };
        let mut policy = later;
        policy.rules.insert(0, Ranked { name: "first".into(), priority: 0, rule: first });
        let (record, _) = apply(&policy, raw, site, SciState::Healthy, Windows::default());
        let read = |target: Target| {
            let sample = &record.sample;
            match target {
                Target::Gas => Some(u64::from(sample.gas)),
                Target::ComputingTime => Some(sample.computing_time.0),
                Target::Price => sample.price.map(|Price(price)| u64::from(price)),
                Target::Reputation => sample.reputation.map(|score| u64::from(u8::from(score))),
                Target::SecurityLevel => sample.security_level.map(|score| u64::from(u8::from(score))),
            }
        };
        let serves = record.sample.health.admits();
        prop_assert!(read(set) == Some(value) || (set == Target::Gas && !serves));
        // An absent metric has no bound until a rule sets it, and then it keeps to the one that was given before.
        prop_assert!(bounded == set || read(bounded).is_none_or(|read| read <= cap));
    }
}
