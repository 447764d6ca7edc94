//! Who may open how many flows, and which request generations were seen (CP-12, CP-28).

use super::config::Admission;
use cats_engine_types::{FlowKey, Limit, TenantId};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// A token bucket that holds one second's worth of its rate.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// Millionths of a token.
    tokens: u64,
    at: Instant,
}

const TOKEN: u64 = 1_000_000;

impl Bucket {
    fn full(rate: u32, now: Instant) -> Self {
        Self { tokens: u64::from(rate) * TOKEN, at: now }
    }

    fn refill(&mut self, rate: u32, now: Instant) {
        // One token each 1/rate seconds: rate millionths of a token a microsecond. A second fills it.
        let micros = now.saturating_duration_since(self.at).min(Duration::from_secs(1)).as_micros();
        let gained = u64::try_from(micros).unwrap_or(TOKEN) * u64::from(rate);
        self.tokens = self.tokens.saturating_add(gained).min(u64::from(rate) * TOKEN);
        self.at = now;
    }

    fn take(&mut self, rate: u32, now: Instant) -> bool {
        self.refill(rate, now);
        if self.tokens < TOKEN {
            return false;
        }
        self.tokens -= TOKEN;
        true
    }
}

/// The buckets of clients and tenants.
#[derive(Debug)]
pub(super) struct Buckets {
    clients: BTreeMap<IpAddr, Bucket>,
    /// Shared by the clients for which there is no room.
    others: Option<Bucket>,
    pruned: Option<Instant>,
    tenants: BTreeMap<TenantId, Bucket>,
    other_tenants: Option<Bucket>,
}

/// Tenants with a bucket of their own; the ones beyond share one.
const TENANTS: usize = 4096;

impl Buckets {
    pub(super) fn new() -> Self {
        Self {
            clients: BTreeMap::new(),
            others: None,
            pruned: None,
            tenants: BTreeMap::new(),
            other_tenants: None,
        }
    }

    /// Takes a token of the client and of the tenant, or names the limit that is reached.
    pub(super) fn admit(
        &mut self,
        limits: &Admission,
        client: IpAddr,
        tenant: TenantId,
        now: Instant,
    ) -> Result<(), Limit> {
        let rate = limits.client_rate;
        if !self.client(limits, client, now).take(rate, now) {
            return Err(Limit::ClientRate);
        }
        let rate = limits.tenant_rate;
        let bucket = if self.tenants.contains_key(&tenant) || self.tenants.len() < TENANTS {
            self.tenants.entry(tenant).or_insert_with(|| Bucket::full(rate, now))
        } else {
            self.other_tenants.get_or_insert_with(|| Bucket::full(rate, now))
        };
        if bucket.take(rate, now) { Ok(()) } else { Err(Limit::TenantRate) }
    }

    fn client(&mut self, limits: &Admission, client: IpAddr, now: Instant) -> &mut Bucket {
        let (client, rate) = (aggregate(client), limits.client_rate);
        let second = Duration::from_secs(1);
        let due = self.pruned.is_none_or(|at| now.saturating_duration_since(at) >= second);
        if due && self.clients.len() >= limits.clients {
            // A bucket that nobody took from for a second is full: a new one would be the same.
            self.clients.retain(|_, bucket| now.saturating_duration_since(bucket.at) < second);
            self.pruned = Some(now);
        }
        if self.clients.len() >= limits.clients && !self.clients.contains_key(&client) {
            return self.others.get_or_insert_with(|| Bucket::full(rate, now));
        }
        self.clients.entry(client).or_insert_with(|| Bucket::full(rate, now))
    }
}

/// What counts as one client: a host owns the whole of its IPv6 /64.
fn aggregate(client: IpAddr) -> IpAddr {
    match client {
        IpAddr::V4(_) => client,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

/// The last accepted request generation of each client and flow key; beyond the bound the one that was accepted
/// longest ago is forgotten.
#[derive(Debug, Default)]
pub(super) struct GenerationMemory {
    last: BTreeMap<FlowKey, (u64, u64)>,
    order: BTreeMap<u64, FlowKey>,
    counter: u64,
}

impl GenerationMemory {
    /// Accepts a generation that is not lower than the last one; otherwise answers the last one.
    pub(super) fn accept(&mut self, key: FlowKey, generation: u64, limit: usize) -> Result<(), u64> {
        if let Some((last, _)) = self.last.get(&key).filter(|(last, _)| generation < *last) {
            return Err(*last);
        }
        self.counter += 1;
        if let Some((_, old)) = self.last.insert(key, (generation, self.counter)) {
            self.order.remove(&old);
        }
        self.order.insert(self.counter, key);
        while self.last.len() > limit {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            self.last.remove(&oldest);
        }
        Ok(())
    }
}
