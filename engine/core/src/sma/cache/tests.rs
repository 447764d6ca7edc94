use super::super::state::SciState;
use super::super::transform::Smoothing;
use super::super::validate::Doubts;
use super::*;
use cats_engine_types::{Freshness, Health, Micros, Sample, UnixMicros};
use proptest::prelude::*;

fn key(service: u32, instance: u32) -> InstanceKey {
    InstanceKey { cs_id: CsId::number(service).unwrap(), csci_id: CsciId::number(instance).unwrap() }
}

fn soft(gas: u32, health: Health, now: Instant) -> Box<Soft> {
    let sample = Sample {
        gas,
        computing_time: Micros(1),
        computing_time_min: None,
        computing_time_max: None,
        health,
        price: None,
        reputation: None,
        security_level: None,
        instances: None,
    };
    Box::new(Soft {
        sample,
        freshness: Freshness::default(),
        at: now,
        taken: UnixMicros(0),
        ttl: None,
        doubts: Doubts::NONE,
        smoothed: (gas, Micros(1)),
        smoothing: Smoothing::default(),
    })
}

#[derive(Debug, Clone)]
enum Step {
    Enter(u32, u32),
    Tell(u32, u32, u32, Health),
    State(u32, u32, SciState),
    Drop(u32, u32),
    Configure(u32, u32, bool),
    Remove(u32, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let (service, instance) = (1u32..4, 1u32..6);
    let key = || (service.clone(), instance.clone());
    let health =
        prop::sample::select(vec![Health::Healthy, Health::Degraded, Health::Unhealthy, Health::Unknown]);
    prop_oneof![
        1 => key().prop_map(|(service, instance)| Step::Enter(service, instance)),
        4 => (key(), 0u32..9, health).prop_map(|((s, i), gas, health)| Step::Tell(s, i, gas, health)),
        2 => (key(), prop::sample::select(SciState::ALL.to_vec())).prop_map(|((s, i), to)| Step::State(s, i, to)),
        1 => key().prop_map(|(service, instance)| Step::Drop(service, instance)),
        1 => (key(), any::<bool>()).prop_map(|((s, i), named)| Step::Configure(s, i, named)),
        1 => key().prop_map(|(service, instance)| Step::Remove(service, instance)),
    ]
}

/// The cache in the plainest way.
#[derive(Debug, Clone, Default)]
struct Model {
    entries: BTreeMap<InstanceKey, Plain>,
    /// Keys in the order of last use.
    live: Vec<InstanceKey>,
    bare: Vec<InstanceKey>,
}

#[derive(Debug, Clone, Copy)]
struct Plain {
    state: SciState,
    metrics: Option<(u32, Health)>,
    configured: bool,
}

impl Model {
    fn apply(&mut self, step: &Step) {
        let silent = Plain { state: SciState::Active, metrics: None, configured: false };
        match *step {
            Step::Enter(s, i) => {
                self.entries.entry(key(s, i)).or_insert(silent);
            }
            Step::Tell(s, i, gas, health) => {
                self.entries.entry(key(s, i)).or_insert(silent).metrics = Some((gas, health));
                self.live.retain(|other| *other != key(s, i));
            }
            Step::State(s, i, to) => self.change(key(s, i), |entry| entry.state = to),
            Step::Drop(s, i) => self.change(key(s, i), |entry| entry.metrics = None),
            Step::Configure(s, i, named) => self.change(key(s, i), |entry| entry.configured = named),
            Step::Remove(s, i) => {
                self.entries.remove(&key(s, i));
            }
        }
        let entries = &self.entries;
        let is_live = |key: &InstanceKey| entries.get(key).is_some_and(|entry| entry.metrics.is_some());
        let is_bare = |key: &InstanceKey| {
            entries.get(key).is_some_and(|entry| entry.metrics.is_none() && !entry.configured)
        };
        self.live.retain(is_live);
        self.bare.retain(is_bare);
        for key in entries.keys() {
            if is_live(key) && !self.live.contains(key) {
                self.live.push(*key);
            }
            if is_bare(key) && !self.bare.contains(key) {
                self.bare.push(*key);
            }
        }
    }

    fn change(&mut self, key: InstanceKey, change: impl FnOnce(&mut Plain)) {
        if let Some(entry) = self.entries.get_mut(&key) {
            change(entry);
        }
    }

    fn site(&self, cs_id: CsId) -> Site {
        let mut site = Site::default();
        for (_, entry) in self.entries.iter().filter(|(key, _)| key.cs_id == cs_id) {
            match (entry.state, entry.metrics) {
                (SciState::Stale, _) => site.stale += 1,
                (SciState::Failed, _) => site.failed += 1,
                (_, None) => site.silent += 1,
                (_, Some((gas, Health::Healthy))) => {
                    site.healthy += 1;
                    site.healthy_gas += u64::from(gas);
                }
                (_, Some((gas, Health::Degraded))) => {
                    site.degraded += 1;
                    site.degraded_gas += u64::from(gas);
                }
                (_, Some((_, Health::Unhealthy))) => site.unhealthy += 1,
                (_, Some((_, Health::Unknown))) => site.unknown += 1,
            }
        }
        site
    }
}

fn apply(cache: &mut Cache, step: &Step, now: Instant) {
    let change = |cache: &mut Cache, key, change: &dyn Fn(&mut Entry)| {
        let Some(ix) = cache.find(key) else { return };
        change(cache.get_mut(ix).unwrap());
        cache.settle(ix);
    };
    match *step {
        Step::Enter(s, i) => {
            cache.enter(key(s, i), now);
        }
        Step::Tell(s, i, gas, health) => {
            let ix = cache.enter(key(s, i), now);
            cache.get_mut(ix).unwrap().soft = Some(soft(gas, health, now));
            cache.settle(ix);
            cache.touch(ix);
        }
        Step::State(s, i, to) => change(cache, key(s, i), &|entry| entry.state = to),
        Step::Drop(s, i) => change(cache, key(s, i), &|entry| entry.soft = None),
        Step::Configure(s, i, named) => {
            change(cache, key(s, i), &|entry| entry.configured = named.then_some(None));
        }
        Step::Remove(s, i) => {
            if let Some(ix) = cache.find(key(s, i)) {
                cache.remove(ix);
            }
        }
    }
}

fn keys<'a>(entries: impl Iterator<Item = (EntryIx, &'a Entry)>) -> Vec<InstanceKey> {
    entries.map(|(_, entry)| entry.key).collect()
}

proptest! {
    /// Proves SMA-8, SMA-10, SMA-11.
    #[test]
    fn the_cache_is_what_a_plain_table_would_be(steps in prop::collection::vec(step(), 0..80)) {
        let now = Instant::now();
        let (mut cache, mut model) = (Cache::default(), Model::default());
        for step in &steps {
            apply(&mut cache, step, now);
            model.apply(step);
            let expected: Vec<InstanceKey> = model.entries.keys().copied().collect();
            prop_assert_eq!(keys(cache.after(None)), expected.clone());
            prop_assert_eq!(cache.len(), expected.len());
            prop_assert_eq!((cache.live(), cache.bare()), (model.live.len(), model.bare.len()));
            let named = |ix: Option<EntryIx>| ix.and_then(|ix| cache.get(ix)).map(|entry| entry.key);
            prop_assert_eq!(named(cache.oldest_live()), model.live.first().copied());
            prop_assert_eq!(named(cache.oldest_bare()), model.bare.first().copied());
        }
        for service in 1..4 {
            let cs_id = CsId::number(service).unwrap();
            prop_assert_eq!(cache.site(cs_id), model.site(cs_id));
            prop_assert_eq!(cache.site(cs_id).instances(), model.entries.keys().filter(|k| k.cs_id == cs_id).count() as u64);
            for instance in 1..6 {
                let at = key(service, instance);
                let found = cache.find(at).and_then(|ix| cache.get(ix));
                let expected = model.entries.get(&at).copied();
                prop_assert_eq!(found.map(|entry| entry.state), expected.map(|entry| entry.state));
                let later = model.entries.range((Excluded(at), Unbounded)).map(|(key, _)| *key);
                prop_assert_eq!(keys(cache.after(Some(at))), later.collect::<Vec<_>>());
                let mut services = keys(cache.of_instance(at.csci_id));
                services.sort_unstable();
                let of_instance = model.entries.keys().copied().filter(|key| key.csci_id == at.csci_id);
                prop_assert_eq!(services, of_instance.collect::<Vec<_>>());
            }
        }
    }
}
