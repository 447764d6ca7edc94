//! A data plane in memory, with faults on demand: the reference that tests hold real ones to.

use crate::{
    Adopted, Applied, Backend, BackendError, ForwarderConfig, Install, PlaneCounters, PlaneDrop, Pruned,
    Tally,
};
use cats_engine_types::{
    Binding, Capabilities, Counters, Delivery, DeliveryState, EncapsulationKind, Family, FlowKey,
    InstallFailure, Locator, Reverse,
};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// A data plane in memory. Its clock is [`Model::advance`].
#[derive(Debug, Clone, Default)]
pub struct Model {
    clock: Duration,
    capacity: Option<usize>,
    config: Option<ForwarderConfig>,
    bindings: BTreeMap<FlowKey, Entry>,
    reverse: BTreeMap<(cats_engine_types::Protocol, SocketAddr, SocketAddr), FlowKey>,
    counters: PlaneCounters,
    commit_faults: VecDeque<InstallFailure>,
    fault: Option<BackendError>,
    /// Transactions carried out so far.
    pub transactions: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    binding: Arc<Binding>,
    staged: bool,
    used: Duration,
    hard_end: Option<Duration>,
    counters: Counters,
}

/// What the model does with a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Rewritten and sent along the binding's path.
    Forwarded(Locator),
    /// Sent to the client under this source.
    Returned(SocketAddr),
    /// To the ingress state machine.
    Punted,
    /// Dropped and counted.
    Dropped(PlaneDrop),
}

impl Model {
    /// An empty data plane for at most so many bindings.
    pub fn new(capacity: usize) -> Self {
        Self { capacity: Some(capacity), ..Self::default() }
    }

    /// Lets time pass; bindings at their hard lifetime are gone.
    pub fn advance(&mut self, by: Duration) {
        self.clock += by;
        let clock = self.clock;
        let over = |entry: &Entry| entry.hard_end.is_some_and(|end| end <= clock);
        let gone: Vec<_> = self.bindings.iter().filter(|(_, e)| over(e)).map(|(key, _)| *key).collect();
        for key in gone {
            self.take(key);
        }
    }

    /// The next commit fails so; several are used up in order.
    pub fn fail_commit(&mut self, failure: InstallFailure) {
        self.commit_faults.push_back(failure);
    }

    /// Everything but commits fails so until it is called with none.
    pub fn set_fault(&mut self, fault: Option<BackendError>) {
        self.fault = fault;
    }

    /// Flows installed, in order.
    pub fn flows(&self) -> Vec<FlowKey> {
        self.bindings.keys().copied().collect()
    }

    /// A packet from a client; `released` if it carries the release mark.
    pub fn forward(&mut self, key: FlowKey, octets: u64, released: bool) -> Fate {
        let clock = self.clock;
        if let Some(entry) = self.bindings.get_mut(&key).filter(|entry| released || !entry.staged) {
            entry.used = clock;
            entry.counters.forward_packets += 1;
            entry.counters.forward_bytes += octets;
            let tally = self.counters.services.entry(key.destination()).or_default();
            add(tally, octets);
            return Fate::Forwarded(entry.binding.forward.locator);
        }
        if released {
            return self.drop(PlaneDrop::ReleasedWithoutBinding, octets);
        }
        let services = self.config.as_ref().and_then(|config| config.ingress.as_ref()).map(|i| &i.services);
        if services.is_some_and(|services| services.contains_key(&key.destination())) {
            add(&mut self.counters.punted, octets);
            return Fate::Punted;
        }
        self.drop(PlaneDrop::Unserved, octets)
    }

    /// A packet from an instance to a client.
    pub fn backward(
        &mut self,
        protocol: cats_engine_types::Protocol,
        reverse: (SocketAddr, SocketAddr),
        octets: u64,
    ) -> Fate {
        let key = self.reverse.get(&(protocol, reverse.0, reverse.1));
        let clock = self.clock;
        match key.and_then(|key| self.bindings.get_mut(key)) {
            Some(entry) => {
                entry.used = clock;
                entry.counters.reverse_packets += 1;
                entry.counters.reverse_bytes += octets;
                add(&mut self.counters.reverse, octets);
                Fate::Returned(entry.binding.reverse.restore)
            }
            None => self.drop(PlaneDrop::ReverseWithoutBinding, octets),
        }
    }

    fn drop(&mut self, reason: PlaneDrop, octets: u64) -> Fate {
        add(self.counters.drops.entry(reason).or_default(), octets);
        Fate::Dropped(reason)
    }

    fn take(&mut self, key: FlowKey) -> Option<Entry> {
        let entry = self.bindings.remove(&key)?;
        let Reverse { instance, client, .. } = entry.binding.reverse;
        self.reverse.remove(&(key.protocol(), instance, client));
        Some(entry)
    }

    fn install(&mut self, install: &Install) -> Result<(), InstallFailure> {
        if let Some(failure) = self.commit_faults.pop_front() {
            return Err(failure);
        }
        let Install { binding, replaces, staged } = install;
        let key = binding.forward.key;
        let tuple = (key.protocol(), binding.reverse.instance, binding.reverse.client);
        if self.reverse.get(&tuple).is_some_and(|owner| *owner != key) {
            return Err(InstallFailure::DataPlane("another flow has this reverse direction".to_owned()));
        }
        let old = replaces.as_ref().and_then(|old| self.take(old.forward.key));
        if old.is_none() && self.capacity.is_some_and(|capacity| self.bindings.len() >= capacity) {
            return Err(InstallFailure::Full);
        }
        let hard_end = binding.lifetime.hard.map(|hard| self.clock + hard);
        let counters = old.map(|old| old.counters).unwrap_or_default();
        let entry = Entry { binding: binding.clone(), staged: *staged, used: self.clock, hard_end, counters };
        self.bindings.insert(key, entry);
        self.reverse.insert(tuple, key);
        Ok(())
    }

    fn check(&self) -> Result<(), BackendError> {
        self.fault.clone().map_or(Ok(()), Err)
    }
}

impl Backend for Model {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            encapsulations: vec![
                EncapsulationKind::None,
                EncapsulationKind::Srv6Encaps,
                EncapsulationKind::Srv6EncapsReduced,
            ],
            max_segments: 16,
            families: vec![Family::V4, Family::V6],
            max_bindings: self.capacity.and_then(|capacity| u32::try_from(capacity).ok()).unwrap_or(u32::MAX),
        }
    }

    fn apply_static(&mut self, config: &ForwarderConfig) -> Result<Applied, BackendError> {
        self.check()?;
        self.config = Some(config.clone());
        let configured = config.egress.iter().flat_map(|egress| &egress.deliveries);
        let mut deliveries: Vec<_> = configured
            .map(|d| Delivery { csci_id: d.csci_id, locator: d.locator, state: DeliveryState::Ready })
            .collect();
        deliveries.sort_by_key(|delivery| delivery.csci_id);
        Ok(Applied { deliveries, warnings: Vec::new() })
    }

    fn adopt(&mut self) -> Result<Vec<Adopted>, BackendError> {
        self.check()?;
        let adopted = |entry: &Entry| Adopted {
            binding: entry.binding.clone(),
            hard_left: entry.hard_end.map(|end| end.saturating_sub(self.clock)),
            staged: entry.staged,
        };
        Ok(self.bindings.values().map(adopted).collect())
    }

    fn prune(&mut self) -> Result<Pruned, BackendError> {
        self.check()?;
        Ok(Pruned::default())
    }

    fn commit(&mut self, installs: &[Install]) -> Vec<Result<(), InstallFailure>> {
        self.transactions += 1;
        installs.iter().map(|install| self.install(install)).collect()
    }

    fn activate(&mut self, bindings: &[Arc<Binding>]) -> Vec<Result<(), InstallFailure>> {
        self.transactions += 1;
        let mut activate = |binding: &Arc<Binding>| match self.bindings.get_mut(&binding.forward.key) {
            Some(entry) => {
                entry.staged = false;
                Ok(())
            }
            None => Err(InstallFailure::DataPlane("not installed".to_owned())),
        };
        bindings.iter().map(&mut activate).collect()
    }

    fn remove(&mut self, bindings: &[Arc<Binding>]) -> Result<Vec<Counters>, BackendError> {
        self.check()?;
        self.transactions += 1;
        let mut take = |binding: &Arc<Binding>| self.take(binding.forward.key);
        Ok(bindings.iter().map(|b| take(b).map(|entry| entry.counters).unwrap_or_default()).collect())
    }

    fn last_used(&mut self, bindings: &[Arc<Binding>]) -> Result<Vec<Option<Duration>>, BackendError> {
        self.check()?;
        let idle = |binding: &Arc<Binding>| {
            let entry = self.bindings.get(&binding.forward.key)?;
            Some(self.clock.saturating_sub(entry.used))
        };
        Ok(bindings.iter().map(idle).collect())
    }

    fn counters(&mut self) -> Result<PlaneCounters, BackendError> {
        self.check()?;
        Ok(self.counters.clone())
    }
}

fn add(tally: &mut Tally, octets: u64) {
    tally.packets += 1;
    tally.octets += octets;
}
