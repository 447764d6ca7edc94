//! One SCI in the cache: what is known of it for good, and the metrics that it last told.

use super::super::config::CacheConfig;
use super::super::limits::Meter;
use super::super::state::SciState;
use super::super::transform::Smoothing;
use super::super::validate::{Change, Doubts, Order};
use super::super::{InstanceKey, SciCounters};
use super::EntryIx;
use super::sites::{Share, Standing};
use cats_engine_types::{
    Freshness, Health, Locator, MetricRecord, Micros, Report, ReportKind, ReportedMetrics, Sample,
    UnixMicros, WithdrawalReason,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One SCI of one service. All but `soft` is hard state.
#[derive(Debug)]
pub(in super::super) struct Entry {
    pub(in super::super) key: InstanceKey,
    /// Where it takes requests: as configured, or else as it reported.
    pub(in super::super) locator: Option<Locator>,
    /// The configuration names it, and where it takes requests if it says so.
    pub(in super::super) configured: Option<Option<Locator>>,
    pub(in super::super) state: SciState,
    /// Since when it is in that state.
    pub(in super::super) since: Instant,
    /// Nothing came yet, but should: the TTL runs since then.
    pub(in super::super) awaited: bool,
    /// Reports in a row, up to what confirms it.
    pub(in super::super) confirmations: u8,
    pub(in super::super) order: Order,
    /// The latest report that had an effect.
    pub(in super::super) acted: Option<Freshness>,
    pub(in super::super) change: Change,
    /// What another source says of its health.
    pub(in super::super) monitored: Option<Health>,
    /// An alarm stands because of its clock.
    pub(in super::super) skewed: bool,
    pub(in super::super) counters: SciCounters,
    pub(in super::super) soft: Option<Box<Soft>>,
    pub(in super::super) meter: Meter,
    /// Its last reports came too fast.
    pub(in super::super) hasty: bool,
    /// Of what is put on record about it.
    pub(in super::super) audited: Meter,
    /// The newest report beyond the rate.
    pub(in super::super) held: Option<Box<Held>>,
    /// What the path selectors are to see of it, as the view for them has it.
    pub(in super::super) told: Option<Arc<MetricRecord>>,
    /// Why its metrics went, if they did.
    pub(in super::super) gone: WithdrawalReason,
    /// When it was last asked for its metrics.
    pub(in super::super) pulled: Option<Instant>,
    /// When the timer of its age goes off, at the latest when something is due.
    pub(in super::super) armed: Option<Instant>,
    pub(super) share: Option<Share>,
    /// The next entry of the same SCI.
    pub(super) sibling: Option<EntryIx>,
}

/// The metrics of an SCI: what it told last, until it is too old.
#[derive(Debug)]
pub(in super::super) struct Soft {
    pub(in super::super) sample: Sample,
    /// Of the report that was taken in last.
    pub(in super::super) freshness: Freshness,
    /// When that came.
    pub(in super::super) at: Instant,
    /// When that was made, by our clock.
    pub(in super::super) taken: UnixMicros,
    /// The TTL that the SCI itself told.
    pub(in super::super) ttl: Option<Duration>,
    /// What is in doubt about it.
    pub(in super::super) doubts: Doubts,
    /// Slots and computing time, smoothed.
    pub(in super::super) smoothed: (u32, Micros),
    pub(in super::super) smoothing: Smoothing,
}

/// A report that is in order and of this time, and not judged yet.
#[derive(Debug)]
pub(in super::super) struct Arrival {
    pub(in super::super) report: Report,
    /// A report between it and the one that was taken in last is missing.
    pub(in super::super) gap: bool,
    /// What is in doubt about its time.
    pub(in super::super) doubts: Doubts,
    /// When it came.
    pub(in super::super) at: Instant,
    /// When it came.
    pub(in super::super) wall: UnixMicros,
}

/// A report that waits because others came before it too fast.
#[derive(Debug)]
pub(in super::super) struct Held {
    pub(in super::super) arrival: Arrival,
    pub(in super::super) wait: Wait,
}

/// What a report waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Wait {
    /// The SCI's own rate.
    Until(Instant),
    /// Its turn among those of all SCIs.
    Turn(u64),
}

impl Arrival {
    /// Takes a later report in: what both together say. Its order is checked.
    pub(in super::super) fn merge(&mut self, later: Self) {
        let left = self.report.ttl == Some(Duration::ZERO);
        let restarted = later.report.freshness.epoch != self.report.freshness.epoch;
        if later.report.kind == ReportKind::Full || left || restarted {
            // What changed since a report that is not there is no base for more.
            *self = Self { gap: later.gap || left, ..later };
            return;
        }
        let gap = self.gap || later.gap;
        let (told, new) = (&mut self.report, later.report);
        let (metrics, over) = (&mut told.metrics, new.metrics);
        *metrics = ReportedMetrics {
            gas: over.gas.or(metrics.gas),
            computing_time: over.computing_time.or(metrics.computing_time),
            computing_time_min: over.computing_time_min.or(metrics.computing_time_min),
            computing_time_max: over.computing_time_max.or(metrics.computing_time_max),
            health: over.health.or(metrics.health),
            price: over.price.or(metrics.price),
            reputation: over.reputation.or(metrics.reputation),
            security_level: over.security_level.or(metrics.security_level),
            instances: over.instances.or(metrics.instances),
        };
        (told.freshness, told.timestamp, told.cause) = (new.freshness, new.timestamp, new.cause);
        (told.ttl, told.locator) = (new.ttl.or(told.ttl), new.locator.or(told.locator));
        (self.gap, self.at, self.wall) = (gap, later.at, later.wall);
        self.doubts = later.doubts;
    }
}

impl Entry {
    pub(super) fn new(key: InstanceKey, now: Instant) -> Self {
        Self {
            key,
            locator: None,
            configured: None,
            state: SciState::Active,
            since: now,
            awaited: false,
            confirmations: 0,
            order: Order::default(),
            acted: None,
            change: Change::default(),
            monitored: None,
            skewed: false,
            counters: SciCounters::default(),
            soft: None,
            meter: Meter::default(),
            hasty: false,
            audited: Meter::default(),
            held: None,
            told: None,
            gone: WithdrawalReason::Removed,
            pulled: None,
            armed: None,
            share: None,
            sibling: None,
        }
    }

    /// Something of each part of it, so that it is near when the rest is wanted.
    pub(in super::super) fn glance(
        &self,
    ) -> (u32, bool, Option<Instant>, Option<Instant>, Option<UnixMicros>) {
        let counted = self.counters.taken.wrapping_add(u32::from(self.confirmations));
        let soft = self.soft.as_ref();
        (
            counted,
            self.skewed,
            self.armed,
            soft.map(|soft| soft.at),
            self.told.as_ref().map(|told| told.taken),
        )
    }

    /// How long it may be silent until it is STALE.
    pub(in super::super) fn ttl(&self, config: &CacheConfig) -> Duration {
        let told = self.soft.as_ref().and_then(|soft| soft.ttl);
        let (usual, most) = (&config.ttl, &config.max_ttl);
        let classes = [
            (usual.capacity, most.capacity),
            (usual.performance, most.performance),
            (usual.health, most.health),
        ];
        let times = classes.into_iter().map(|(usual, most)| told.unwrap_or(usual).min(most));
        times.min().unwrap_or_default()
    }

    /// When the price is left out, if there is one.
    pub(in super::super) fn price_ends(&self, config: &CacheConfig) -> Option<Instant> {
        let soft = self.soft.as_ref()?;
        soft.sample.price?;
        soft.at.checked_add(soft.ttl.unwrap_or(config.ttl.commerce).min(config.max_ttl.commerce))
    }

    /// When reputation and security level are left out, if there are any.
    pub(in super::super) fn scores_end(&self, config: &CacheConfig) -> Option<Instant> {
        let soft = self.soft.as_ref()?;
        soft.sample.reputation.or(soft.sample.security_level)?;
        soft.at.checked_add(soft.ttl.unwrap_or(config.ttl.trust).min(config.max_ttl.trust))
    }

    /// When its age next has a consequence.
    pub(in super::super) fn due(&self, config: &CacheConfig) -> Option<Instant> {
        let ttl = self.ttl(config);
        match self.state {
            SciState::Active | SciState::Healthy => {
                let heard = match &self.soft {
                    Some(soft) => Some(soft.at),
                    None => self.awaited.then_some(self.since),
                };
                let stale = heard.and_then(|heard| heard.checked_add(ttl));
                [stale, self.price_ends(config), self.scores_end(config)].into_iter().flatten().min()
            }
            SciState::Stale => self.since.checked_add(config.stale_grace.with(ttl)),
            SciState::Failed => {
                self.soft.as_ref()?;
                self.since.checked_add(config.withdraw_after.with(ttl))
            }
        }
    }

    /// The health that it has for others: the worse of what it says and of what another source says.
    pub(in super::super) fn health(&self) -> Option<Health> {
        let told = self.soft.as_ref()?.sample.health;
        Some(match (self.monitored, told) {
            (Some(Health::Unhealthy), _) => Health::Unhealthy,
            (Some(Health::Degraded), Health::Healthy) => Health::Degraded,
            (Some(Health::Healthy | Health::Degraded | Health::Unknown) | None, told) => told,
        })
    }

    /// What it counts as.
    pub(in super::super) fn standing(&self) -> Standing {
        match (self.state, self.health()) {
            (SciState::Stale, _) => Standing::Stale,
            (SciState::Failed, _) => Standing::Failed,
            (SciState::Active | SciState::Healthy, Some(health)) => Standing::Reporting(health),
            (SciState::Active | SciState::Healthy, None) => Standing::Silent,
        }
    }

    pub(super) fn share_now(&self) -> Share {
        let gas = self.soft.as_ref().map_or(0, |soft| soft.sample.gas);
        Share { standing: self.standing(), gas }
    }
}
