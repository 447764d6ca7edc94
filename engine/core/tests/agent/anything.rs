//! Reports of any content, clocks that jump and configurations that change: bounds hold, and it always comes to rest.

use crate::site::{Site, key, millis, secs};
use crate::telling::plain;
use cats_engine_core::sma::config::{AdmissionConfig, Rate, Reaction, SciConfig};
use cats_engine_core::sma::{InstanceKey, QuarantineId, SmaConfig};
use cats_engine_types::{
    Freshness, Health, InstanceCounts, Report, ReportCause, ReportKind, ReportedMetrics, ReportedTime,
    UnixMicros,
};
use proptest::prelude::*;
use std::time::Duration;

const ENTRIES: usize = 3;
const REMEMBERED: usize = 2;
const QUARANTINED: usize = 4;

fn config(configured: bool, discovery: bool, rate: u32, reaction: Reaction) -> SmaConfig {
    let mut config = plain();
    let InstanceKey { cs_id, csci_id } = key(1, 1);
    let sci = SciConfig { cs_id, csci_id, locator: None };
    config.admission = AdmissionConfig {
        instances: if configured { vec![sci] } else { Vec::new() },
        discovery,
        discovered_services: Vec::new(),
    };
    let change = &mut config.validation.change;
    (change.gas.reaction, change.computing_time.reaction, change.flapping.reaction) =
        (reaction, reaction, reaction);
    (config.cache.max_entries, config.cache.max_remembered) = (ENTRIES, REMEMBERED);
    config.quarantine.max_reports = QUARANTINED;
    config.rates.instance = Rate { per_second: rate, burst: 2 };
    config.rates.total = Rate { per_second: rate.saturating_mul(2), burst: 3 };
    config
}

#[derive(Debug, Clone)]
enum Step {
    Report(Box<Report>, i64),
    Configure {
        configured: bool,
        discovery: bool,
        rate: u32,
        reaction: Reaction,
    },
    Release(u64),
    Drop(u64),
    Remove(u32, u32),
    Monitor(u32, Health),
    Pass(Duration),
    /// The wall clock is set.
    Set(u64),
}

fn number() -> impl Strategy<Value = Option<u64>> {
    let some = prop_oneof![
        6 => 0u64..12,
        3 => 0u64..5_000,
        1 => prop::sample::select(vec![u64::from(u32::MAX), 1 << 32, 3_600_000_000, u64::MAX]),
    ];
    prop::option::weighted(0.8, some)
}

fn health() -> impl Strategy<Value = Health> {
    prop::sample::select(vec![Health::Healthy, Health::Degraded, Health::Unhealthy, Health::Unknown])
}

fn metrics() -> impl Strategy<Value = ReportedMetrics> {
    let time = || number().prop_map(|time| time.map(|time| ReportedTime { time, input_tokens: None }));
    let counts = (0u32..2, 0u32..2).prop_map(|(healthy, degraded)| InstanceCounts {
        healthy,
        degraded,
        unhealthy: u32::MAX,
        unknown: 0,
    });
    let first = (number(), number(), time(), time());
    let second = (
        prop::option::weighted(0.9, health()),
        number(),
        number(),
        number(),
        prop::option::weighted(0.2, counts),
    );
    (first, second).prop_map(|(first, second)| ReportedMetrics {
        gas: first.0,
        computing_time: first.1,
        computing_time_min: first.2,
        computing_time_max: first.3,
        health: second.0,
        price: second.1,
        reputation: second.2,
        security_level: second.3,
        instances: second.4,
    })
}

fn report() -> impl Strategy<Value = Step> {
    let kind = prop::sample::select(vec![ReportKind::Full, ReportKind::Delta]);
    let epoch = prop::sample::select(vec![1u64, 2, 2, 2, 3, u64::MAX]);
    let sequence = prop_oneof![8 => 0u64..200, 1 => Just(u64::MAX)];
    let skew =
        prop::sample::select(vec![0i64, 0, 0, 0, 29_000_000, -29_000_000, 3_600_000_000, i64::MIN, i64::MAX]);
    let ttl = prop::sample::select(vec![None, None, Some(0u64), Some(1), Some(60), Some(u64::MAX)]);
    (1u32..4, 1u32..4, kind, epoch, sequence, skew, ttl, metrics()).prop_map(
        |(service, instance, kind, epoch, sequence, skew, ttl, metrics)| {
            let InstanceKey { cs_id, csci_id } = key(service, instance);
            let report = Report {
                kind,
                cause: ReportCause::Threshold,
                cs_id,
                csci_id,
                locator: None,
                freshness: Freshness { epoch, sequence },
                timestamp: UnixMicros(0),
                ttl: ttl.map(Duration::from_secs),
                metrics,
            };
            Step::Report(Box::new(report), skew)
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let reaction = prop::sample::select(vec![Reaction::Ignore, Reaction::Flag, Reaction::Quarantine]);
    let rate = prop::sample::select(vec![0u32, 1, 10, u32::MAX]);
    let one = prop_oneof![
        20 => report(),
        1 => (any::<bool>(), prop::bool::weighted(0.8), rate, reaction).prop_map(
            |(configured, discovery, rate, reaction)| Step::Configure { configured, discovery, rate, reaction }
        ),
        1 => (1u64..9).prop_map(Step::Release),
        1 => (1u64..9).prop_map(Step::Drop),
        1 => (1u32..4, 1u32..4).prop_map(|(service, instance)| Step::Remove(service, instance)),
        2 => (1u32..4, health()).prop_map(|(instance, health)| Step::Monitor(instance, health)),
        8 => prop::sample::select(vec![0u64, 1, 100, 1_000, 60_000, 4_000_000]).prop_map(|n| Step::Pass(millis(n))),
        1 => prop::sample::select(vec![0u64, 1_700_000_000_000_000, u64::MAX]).prop_map(Step::Set),
    ];
    prop::collection::vec(one, 0..80)
}

fn run(site: &mut Site, step: Step) {
    let (now, wall) = (site.now, site.wall);
    match step {
        Step::Report(report, skew) => {
            let timestamp = UnixMicros(wall.0.saturating_add_signed(skew));
            let _ = site.send(Report { timestamp, ..*report });
        }
        Step::Configure { configured, discovery, rate, reaction } => {
            site.sma.configure(config(configured, discovery, rate, reaction), now, wall);
        }
        Step::Release(id) => {
            let _ = site.sma.release(QuarantineId(id), now, wall);
        }
        Step::Drop(id) => {
            let _ = site.sma.drop_quarantined(QuarantineId(id), now, wall);
        }
        Step::Remove(service, instance) => {
            let _ = site.sma.remove(key(service, instance), now, wall);
        }
        Step::Monitor(instance, health) => {
            let _ = site.sma.handle_health(key(1, instance).csci_id, health, now, wall);
        }
        Step::Pass(time) => site.pass(time),
        Step::Set(to) => site.wall = UnixMicros(to),
    }
}

/// What holds after whatever came.
fn check(site: &Site) {
    let sma = &site.sma;
    let views = sma.instances(None, usize::MAX);
    let configured = views.iter().filter(|view| view.configured).count();
    let live = views.iter().filter(|view| view.metrics.is_some()).count();
    assert_eq!((views.len(), live), (sma.len(), sma.live()));
    assert!(live <= ENTRIES && sma.len() - live <= REMEMBERED + configured);
    assert!(sma.quarantine_size().0 <= QUARANTINED);
    assert_eq!(sma.quarantined(None, usize::MAX).len(), sma.quarantine_size().0);
    let sums: u64 = sma.sites(None, usize::MAX).iter().map(|(_, site)| site.instances()).sum();
    assert_eq!(sums, sma.len() as u64);
    for view in &views {
        let slots = view.metrics.map_or(0, |metrics| metrics.sample.gas);
        let told = view.told.as_ref().map_or(0, |record| record.sample.gas);
        assert!(told == 0 || view.metrics.is_some(), "{view:?}");
        assert!(slots == 0 || view.metrics.is_some_and(|metrics| metrics.sample.health.admits()), "{view:?}");
    }
    let counters = sma.counters();
    assert_eq!(counters.lost, 0);
    assert_eq!(counters.skewed_instances, views.iter().filter(|view| view.skewed).count() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Proves SMA-3, SMA-5, SMA-6, SMA-11, SMA-28.
    #[test]
    fn whatever_comes_the_bounds_hold_and_the_agent_comes_to_rest(steps in steps()) {
        let mut site = Site::new(config(true, true, 10, Reaction::Quarantine));
        for step in steps {
            run(&mut site, step);
            site.settle();
            check(&site);
        }
        // When all is silent, nothing is told of any SCI, and nothing is left to do.
        site.pass(secs(3600 * 24));
        check(&site);
        prop_assert_eq!((site.sma.live(), site.sma.northbound().record_count(), site.sma.waiting()), (0, 0, 0));
        prop_assert_eq!(site.sma.poll_timeout(), None);
    }
}
