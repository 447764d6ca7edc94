//! The sums over the SCIs of a service, kept up to date with each change of one of them.

use cats_engine_types::{Changed, CsId, Health};
use std::collections::BTreeMap;

/// What one SCI counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It reports, and is of this health.
    Reporting(Health),
    /// It is STALE.
    Stale,
    /// It is FAILED.
    Failed,
    /// It is known, but has no metrics.
    Silent,
}

/// What one SCI adds to its site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) standing: Standing,
    pub(super) gas: u32,
}

/// The SCIs of one service at this site, summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Site {
    /// SCIs that are HEALTHY.
    pub healthy: u32,
    /// That are DEGRADED.
    pub degraded: u32,
    /// That are UNHEALTHY.
    pub unhealthy: u32,
    /// Of UNKNOWN health.
    pub unknown: u32,
    /// That are STALE as sources of reports.
    pub stale: u32,
    /// That are FAILED as sources of reports.
    pub failed: u32,
    /// That are known but have no metrics.
    pub silent: u32,
    /// Slots of the healthy ones.
    pub healthy_gas: u64,
    /// Slots of the degraded ones, as reported.
    pub degraded_gas: u64,
}

impl Site {
    /// Site GAS: the slots of the healthy SCIs, and so much in percent of those of the degraded ones. All others add
    /// nothing, so it is 0 where none serves (SMA-6).
    pub fn gas(&self, degraded_percent: u8) -> u64 {
        let degraded = u128::from(self.degraded_gas) * u128::from(degraded_percent) / 100;
        self.healthy_gas.saturating_add(u64::try_from(degraded).unwrap_or(u64::MAX))
    }

    /// All of them.
    pub fn instances(&self) -> u64 {
        let counts =
            [self.healthy, self.degraded, self.unhealthy, self.unknown, self.stale, self.failed, self.silent];
        counts.into_iter().map(u64::from).sum()
    }

    fn count(&mut self, share: Share, sign: fn(u64, u64) -> u64) {
        let count = match share.standing {
            Standing::Reporting(Health::Healthy) => &mut self.healthy,
            Standing::Reporting(Health::Degraded) => &mut self.degraded,
            Standing::Reporting(Health::Unhealthy) => &mut self.unhealthy,
            Standing::Reporting(Health::Unknown) => &mut self.unknown,
            Standing::Stale => &mut self.stale,
            Standing::Failed => &mut self.failed,
            Standing::Silent => &mut self.silent,
        };
        *count = u32::try_from(sign(u64::from(*count), 1)).unwrap_or(u32::MAX);
        let slots = match share.standing {
            Standing::Reporting(Health::Healthy) => &mut self.healthy_gas,
            Standing::Reporting(Health::Degraded) => &mut self.degraded_gas,
            Standing::Reporting(Health::Unhealthy | Health::Unknown)
            | Standing::Stale
            | Standing::Failed
            | Standing::Silent => return,
        };
        *slots = sign(*slots, u64::from(share.gas));
    }
}

/// The sums of all services.
#[derive(Debug, Default)]
pub(super) struct Sites {
    sums: BTreeMap<CsId, Site>,
    changed: Changed<CsId>,
}

impl Sites {
    pub(super) fn changed(&mut self) -> &mut Changed<CsId> {
        &mut self.changed
    }

    pub(super) fn get(&self, cs_id: CsId) -> Option<&Site> {
        self.sums.get(&cs_id)
    }

    pub(super) fn after(&self, after: Option<CsId>) -> impl Iterator<Item = (CsId, &Site)> {
        use std::ops::Bound::{Excluded, Unbounded};
        self.sums.range((after.map_or(Unbounded, Excluded), Unbounded)).map(|(cs_id, site)| (*cs_id, site))
    }

    /// Replaces what an SCI adds; absent is nothing.
    pub(super) fn replace(&mut self, cs_id: CsId, old: Option<Share>, new: Option<Share>) {
        if old == new {
            return;
        }
        self.changed.note(cs_id);
        let site = self.sums.entry(cs_id).or_default();
        if let Some(old) = old {
            site.count(old, u64::saturating_sub);
        }
        if let Some(new) = new {
            site.count(new, u64::saturating_add);
        }
        if *site == Site::default() {
            self.sums.remove(&cs_id);
        }
    }
}
