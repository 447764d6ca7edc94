//! Random reports, silences and interventions, against the plainest agent that does the same.

use crate::site::{Site, key, millis, secs, well};
use crate::telling::plain;
use cats_engine_core::sma::config::{PerClass, Reaction, Span};
use cats_engine_core::sma::{InstanceKey, Refusal, SciState, SmaConfig};
use cats_engine_types::{CsId, CsciId, Health, Report, ReportedMetrics};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(15);
const ENTRIES: usize = 4;

fn config() -> SmaConfig {
    let mut config = plain();
    config.rates.instance.per_second = 0;
    let change = &mut config.validation.change;
    change.gas.reaction = Reaction::Ignore;
    change.computing_time.reaction = Reaction::Ignore;
    change.flapping.reaction = Reaction::Ignore;
    config.cache.ttl = PerClass::all(TTL);
    config.cache.stale_grace = Span::OfTtl { percent: 50 };
    config.cache.withdraw_after = Span::OfTtl { percent: 200 };
    config.cache.max_entries = ENTRIES;
    config.update.damping.first = secs(0);
    config.update.damping.longest = secs(0);
    config
}

#[derive(Debug, Clone)]
enum Step {
    Report { of: (u32, u32), gas: u32, health: Health, ttl: Option<u64> },
    Bad((u32, u32)),
    Replay((u32, u32)),
    Leave((u32, u32)),
    Remove((u32, u32)),
    Monitor(u32, Health),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let of = || (1u32..3, 1u32..4);
    let health =
        || prop::sample::select(vec![Health::Healthy, Health::Degraded, Health::Unhealthy, Health::Unknown]);
    let ttl = prop::option::of(prop::sample::select(vec![5u64, 10, 30]));
    let one = prop_oneof![
        8 => (of(), 0u32..90, health(), ttl)
            .prop_map(|(of, gas, health, ttl)| Step::Report { of, gas, health, ttl }),
        1 => of().prop_map(Step::Bad),
        1 => of().prop_map(Step::Replay),
        1 => of().prop_map(Step::Leave),
        1 => of().prop_map(Step::Remove),
        2 => (1u32..4, health()).prop_map(|(instance, health)| Step::Monitor(instance, health)),
        6 => prop::sample::select(vec![0u64, 1, 2_499, 2_500, 5_000, 10_000, 20_000, 60_000]).prop_map(Step::Pass),
    ];
    prop::collection::vec(one, 0..60)
}

/// The agent in the plainest way: every entry is looked at at every step.
struct Model {
    now: Instant,
    entries: BTreeMap<InstanceKey, Plain>,
    uses: u64,
}

struct Plain {
    state: SciState,
    since: Instant,
    reports: u8,
    metrics: Option<Metrics>,
    monitored: Option<Health>,
}

#[derive(Clone, Copy)]
struct Metrics {
    gas: u32,
    health: Health,
    at: Instant,
    ttl: Duration,
    used: u64,
}

impl Plain {
    /// What silence does next, and when.
    fn next(&self) -> Option<(Instant, SciState)> {
        let metrics = self.metrics?;
        match self.state {
            SciState::Active | SciState::Healthy => Some((metrics.at + metrics.ttl, SciState::Stale)),
            SciState::Stale => Some((self.since + metrics.ttl / 2, SciState::Failed)),
            SciState::Failed => Some((self.since + metrics.ttl * 2, SciState::Failed)),
        }
    }

    fn age(&mut self, end: Instant) {
        while let Some((at, to)) = self.next().filter(|(at, _)| *at <= end) {
            if self.state == SciState::Failed {
                (self.metrics, self.reports) = (None, 0);
                return;
            }
            let failed = to == SciState::Stale && self.monitored == Some(Health::Unhealthy);
            (self.state, self.since) = (if failed { SciState::Failed } else { to }, at);
            if self.state == SciState::Failed {
                self.reports = 0;
            }
        }
    }

    fn withdraw(&mut self) {
        self.reports = 0;
        if self.metrics.take().is_some() {
            self.state = SciState::Active;
        }
    }

    fn health(&self) -> Option<Health> {
        let told = self.metrics?.health;
        Some(match self.monitored {
            Some(Health::Unhealthy) => Health::Unhealthy,
            Some(Health::Degraded) if told == Health::Healthy => Health::Degraded,
            _ => told,
        })
    }

    /// What the path selectors are told: slots and health.
    fn told(&self) -> Option<(u32, Health)> {
        let (metrics, health) = (self.metrics?, self.health()?);
        Some(match self.state {
            SciState::Failed => (0, Health::Unhealthy),
            SciState::Stale => (0, health),
            SciState::Active | SciState::Healthy => (if health.admits() { metrics.gas } else { 0 }, health),
        })
    }
}

impl Model {
    fn entry(&mut self, key: InstanceKey) -> &mut Plain {
        let (state, since) = (SciState::Active, self.now);
        let new = || Plain { state, since, reports: 0, metrics: None, monitored: None };
        self.entries.entry(key).or_insert_with(new)
    }

    fn report(&mut self, key: InstanceKey, gas: u32, health: Health, ttl: Duration) {
        self.uses += 1;
        let (at, used) = (self.now, self.uses);
        if self.entry(key).metrics.is_none() {
            let live = |entry: &Plain| entry.metrics.map(|metrics| metrics.used);
            if self.entries.values().filter_map(live).count() >= ENTRIES {
                let oldest = self.entries.values_mut().filter(|entry| entry.metrics.is_some());
                oldest.min_by_key(|entry| live(entry)).unwrap().withdraw();
            }
        }
        let entry = self.entry(key);
        entry.reports = (entry.reports + 1).min(2);
        let to = if entry.reports == 2 { SciState::Healthy } else { SciState::Active };
        entry.state = to;
        entry.metrics = Some(Metrics { gas, health, at, ttl, used });
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        for entry in self.entries.values_mut() {
            entry.age(self.now);
        }
    }

    fn site_gas(&self, cs_id: CsId) -> u64 {
        let of = self.entries.iter().filter(|(key, _)| key.cs_id == cs_id).map(|(_, entry)| entry);
        let reporting = of.filter(|entry| matches!(entry.state, SciState::Active | SciState::Healthy));
        let (mut healthy, mut degraded) = (0, 0);
        for entry in reporting {
            match (entry.metrics, entry.health()) {
                (Some(metrics), Some(Health::Healthy)) => healthy += u64::from(metrics.gas),
                (Some(metrics), Some(Health::Degraded)) => degraded += u64::from(metrics.gas),
                _ => {}
            }
        }
        healthy + degraded / 2
    }
}

fn run(site: &mut Site, model: &mut Model, step: &Step) {
    let at = |(service, instance)| key(service, instance);
    match *step {
        Step::Report { of, gas, health, ttl } => {
            let gas = if health.admits() { gas } else { 0 };
            let metrics = ReportedMetrics { health: Some(health), ..well(u64::from(gas)) };
            let report = Report { ttl: ttl.map(secs), ..site.next(at(of), metrics) };
            site.send(report).unwrap();
            model.report(at(of), gas, health, ttl.map_or(TTL, secs));
        }
        Step::Bad(of) => {
            assert!(matches!(site.full(at(of), well(1 << 33)), Err(Refusal::OutOfRange { .. })));
            model.entry(at(of));
        }
        Step::Replay(of) => {
            let old = site.next(at(of), well(1));
            site.full(at(of), well(1 << 33)).unwrap_err();
            assert!(matches!(site.send(old), Err(Refusal::OutOfOrder { .. } | Refusal::Replayed { .. })));
            model.entry(at(of));
        }
        Step::Leave(of) => {
            let report = Report { ttl: Some(secs(0)), ..site.next(at(of), ReportedMetrics::default()) };
            site.send(report).unwrap();
            model.entry(at(of)).withdraw();
        }
        Step::Remove(of) => {
            let known = site.sma.remove(at(of), site.now, site.wall).is_ok();
            assert_eq!(known, model.entries.contains_key(&at(of)));
            if known {
                model.entry(at(of)).withdraw();
            }
        }
        Step::Monitor(instance, health) => {
            let csci_id = CsciId::number(instance).unwrap();
            let _ = site.sma.handle_health(csci_id, health, site.now, site.wall);
            let now = model.now;
            for (_, entry) in model.entries.iter_mut().filter(|(key, _)| key.csci_id == csci_id) {
                entry.monitored = Some(health);
                if entry.state == SciState::Stale && health == Health::Unhealthy {
                    (entry.state, entry.since, entry.reports) = (SciState::Failed, now, 0);
                }
            }
        }
        Step::Pass(time) => {
            site.pass(millis(time));
            model.pass(millis(time));
        }
    }
    site.settle();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Proves SMA-8, SMA-9, SMA-10, SMA-11, SMA-12.
    #[test]
    fn the_agent_is_what_a_plain_table_would_be_whatever_comes(steps in steps()) {
        let mut site = Site::new(config());
        let mut model = Model { now: site.now, entries: BTreeMap::new(), uses: 0 };
        for step in &steps {
            run(&mut site, &mut model, step);
            let found = site.sma.instances(None, usize::MAX);
            prop_assert_eq!(found.len(), model.entries.len());
            for (view, (key, plain)) in found.iter().zip(&model.entries) {
                prop_assert_eq!((view.key, view.state), (*key, plain.state), "after {:?}", step);
                let metrics = view.metrics.map(|metrics| (metrics.sample.gas, metrics.sample.health));
                prop_assert_eq!(metrics, plain.metrics.map(|metrics| (metrics.gas, metrics.health)));
                let told = view.told.as_ref().map(|record| (record.sample.gas, record.sample.health));
                prop_assert_eq!(told, plain.told(), "{:?} after {:?}", key, step);
            }
            for service in 1..3 {
                let cs_id = CsId::number(service).unwrap();
                prop_assert_eq!(site.sma.site_gas(cs_id), model.site_gas(cs_id));
            }
        }
    }
}
