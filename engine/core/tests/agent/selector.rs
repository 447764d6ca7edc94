//! SCIs, their agent and a path selector: what one reports, the other selects by.

use crate::site::{Site, key, millis, of_health, secs, well};
use crate::telling::plain;
use cats_engine_core::cps::{AgentConfig, Cps, CpsConfig, Output as CpsOutput};
use cats_engine_core::scope::Scope;
use cats_engine_core::sma::northbound::{Output as ToPeer, PeerConfig};
use cats_engine_core::sma::{InstanceKey, Output, SmaConfig};
use cats_engine_types::{Epoch, Gas, Health, NodeId, Report, ReportedMetrics};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn agent() -> NodeId {
    "sma-1".parse().unwrap()
}

fn selector() -> NodeId {
    "cps-1".parse().unwrap()
}

/// An agent with a path selector that it reaches, or not.
struct Pair {
    site: Site,
    cps: Cps,
    connected: bool,
    reachable: bool,
}

impl Pair {
    fn new() -> Self {
        let mut config = SmaConfig { rates: SmaConfig::default().rates, ..plain() };
        config.rates.instance.per_second = 0;
        config.cache.max_entries = 4;
        config.update.damping.longest = secs(0);
        config.update.damping.first = secs(0);
        config.northbound.peers =
            vec![PeerConfig { node: selector(), scope: Scope::All, alternative_to: None }];
        let site = Site::new(config);
        let mut cps = Cps::new(Epoch(1), site.now);
        let agents =
            vec![AgentConfig { node: agent(), scope: Scope::All, egresses: Vec::new(), min_interval: None }];
        cps.configure(CpsConfig { agents, ..CpsConfig::default() }, site.now);
        let mut pair = Self { site, cps, connected: false, reachable: true };
        pair.exchange();
        pair
    }

    /// All messages that are under way arrive.
    fn exchange(&mut self) {
        loop {
            self.site.settle();
            let outputs = self.site.take();
            let mut quiet = true;
            for output in outputs {
                let Output::Northbound(output) = output else { continue };
                quiet = false;
                self.northbound(output);
            }
            while let Some(output) = self.cps.poll_output() {
                let CpsOutput::Instruct { instruction, .. } = output else { continue };
                quiet = false;
                if self.connected {
                    let (now, wall) = (self.site.now, self.site.wall);
                    self.site.sma.handle_instruction(&selector(), instruction, now, wall);
                }
            }
            if quiet {
                return;
            }
        }
    }

    fn northbound(&mut self, output: ToPeer) {
        let (now, wall) = (self.site.now, self.site.wall);
        match output {
            ToPeer::Connect { peer } if self.reachable => {
                self.connected = true;
                self.cps.handle_agent_connected(&agent(), now).unwrap();
                self.site.sma.handle_connected(&peer, now, wall);
            }
            ToPeer::Connect { peer } => self.site.sma.handle_disconnected(&peer, now, wall),
            ToPeer::Disconnect { .. } => self.cut(),
            ToPeer::Send { advertisement, .. } => {
                if self.connected {
                    self.cps.handle_advertisement(&agent(), advertisement, now, wall).unwrap();
                }
            }
            ToPeer::Alarm { .. } => {}
        }
    }

    fn cut(&mut self) {
        if std::mem::replace(&mut self.connected, false) {
            let (now, wall) = (self.site.now, self.site.wall);
            self.cps.handle_agent_disconnected(&agent(), now);
            self.site.sma.handle_disconnected(&selector(), now, wall);
        }
    }

    fn pass(&mut self, time: std::time::Duration) {
        let end = self.site.now + time;
        while self.site.now < end {
            let mine = self.site.sma.poll_timeout().map(|(at, _)| at);
            let theirs = self.cps.poll_timeout().map(|(at, _)| at);
            let next = [mine, theirs].into_iter().flatten().min().unwrap_or(end).clamp(self.site.now, end);
            let step = (next - self.site.now).max(millis(1)).min(end - self.site.now);
            self.site.pass(step);
            self.cps.handle_timeout(self.site.now);
            self.exchange();
        }
    }

    /// What the path selector would select by: slots and health of each SCI.
    fn selected(&self) -> BTreeMap<InstanceKey, (Gas, Health)> {
        let mut found = BTreeMap::new();
        for cs_id in self.cps.cst().services() {
            for row in self.cps.cst().rows(cs_id) {
                let record = self.cps.cst().selecting(row, self.site.now);
                let valid = record.filter(|record| self.cps.cst().is_valid(record, self.site.now));
                let Some(record) = valid else { continue };
                let key = InstanceKey { cs_id, csci_id: row.csci_id };
                found.insert(key, (record.gas(), record.health()));
            }
        }
        found
    }

    /// What the agent wants seen.
    fn wanted(&self) -> BTreeMap<InstanceKey, (Gas, Health)> {
        let records = self.site.sma.northbound().records(None);
        let of = |record: &cats_engine_types::MetricRecord| {
            let key = InstanceKey { cs_id: record.cs_id, csci_id: record.csci_id };
            (key, (Gas::Slots(record.sample.gas), record.sample.health))
        };
        records.map(of).collect()
    }
}

/// Proves SMA-9, SMA-12, SMA-24.
#[test]
fn a_path_selector_follows_each_state_of_an_sci() {
    let mut pair = Pair::new();
    let sci = key(1, 1);
    let seen = |pair: &Pair| pair.selected().get(&sci).copied();
    pair.site.full(sci, well(5)).unwrap();
    pair.pass(secs(1));
    assert_eq!(seen(&pair), Some((Gas::Slots(5), Health::Healthy)));
    pair.pass(secs(100));
    assert_eq!(seen(&pair), Some((Gas::Slots(5), Health::Healthy)), "refreshed, though nothing changed");
    pair.pass(secs(20));
    assert_eq!(seen(&pair), Some((Gas::Slots(0), Health::Healthy)), "STALE");
    pair.pass(secs(120));
    assert_eq!(seen(&pair), Some((Gas::Slots(0), Health::Unhealthy)), "FAILED");
    pair.site.full(sci, well(6)).unwrap();
    pair.pass(secs(1));
    assert_eq!(seen(&pair), Some((Gas::Slots(6), Health::Healthy)), "back");
}

/// Proves SMA-9.
#[test]
fn a_path_selector_that_is_cut_off_believes_nothing_for_longer_than_it_was_told() {
    let mut pair = Pair::new();
    pair.site.full(key(1, 1), well(5)).unwrap();
    pair.pass(secs(1));
    pair.reachable = false;
    pair.cut();
    for _ in 0..20 {
        pair.site.full(key(1, 1), well(5)).unwrap();
        pair.pass(secs(5));
    }
    assert_eq!((pair.selected().len(), pair.wanted().len()), (0, 1), "after 100 s");
    pair.reachable = true;
    pair.pass(secs(61));
    assert_eq!(pair.selected(), pair.wanted());
}

#[derive(Debug, Clone)]
enum Step {
    Report { instance: u32, gas: u32, health: Health, ttl: u64 },
    Leave(u32),
    Monitor(u32, Health),
    Cut,
    Heal,
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let health = || prop::sample::select(vec![Health::Healthy, Health::Degraded, Health::Unhealthy]);
    let one = prop_oneof![
        8 => (1u32..7, 0u32..50, health(), prop::sample::select(vec![3u64, 20, 100]))
            .prop_map(|(instance, gas, health, ttl)| Step::Report { instance, gas, health, ttl }),
        1 => (1u32..7).prop_map(Step::Leave),
        1 => (1u32..7, health()).prop_map(|(instance, health)| Step::Monitor(instance, health)),
        1 => Just(Step::Cut),
        1 => Just(Step::Heal),
        4 => prop::sample::select(vec![0u64, 100, 2_000, 10_000, 40_000]).prop_map(Step::Pass),
    ];
    prop::collection::vec(one, 0..40)
}

fn run(pair: &mut Pair, step: &Step) {
    let site = &mut pair.site;
    match *step {
        Step::Report { instance, gas, health, ttl } => {
            let gas = if health.admits() { u64::from(gas) } else { 0 };
            let report =
                Report { ttl: Some(secs(ttl)), ..site.next(key(1, instance), of_health(health, gas)) };
            site.send(report).unwrap();
        }
        Step::Leave(instance) => {
            let metrics = ReportedMetrics::default();
            let report = Report { ttl: Some(secs(0)), ..site.next(key(1, instance), metrics) };
            site.send(report).unwrap();
        }
        Step::Monitor(instance, health) => {
            // One that is not known has nobody to be told of.
            let _ = site.sma.handle_health(key(1, instance).csci_id, health, site.now, site.wall);
        }
        Step::Cut => {
            pair.reachable = false;
            pair.cut();
        }
        Step::Heal => pair.reachable = true,
        Step::Pass(time) => pair.pass(millis(time)),
    }
    pair.exchange();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Proves SMA-8, SMA-9, SMA-11, SMA-24.
    #[test]
    fn after_healing_the_path_selector_selects_by_what_the_agent_wants_seen(steps in steps()) {
        let mut pair = Pair::new();
        for step in &steps {
            run(&mut pair, step);
        }
        pair.reachable = true;
        pair.pass(secs(62));
        prop_assert_eq!(pair.selected(), pair.wanted());
    }
}
