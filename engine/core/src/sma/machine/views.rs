//! What the C-SMA shows of itself: by key, and in pages.

use super::super::InstanceKey;
use super::super::cache::{Entry, EntryIx, Site};
#[cfg(doc)]
use super::super::calendar::Calendar;
use super::super::calendar::Windows;
use super::super::config::SmaConfig;
use super::super::northbound::Northbound;
use super::super::quarantine::{QuarantineId, Quarantined};
use super::super::state::SciState;
use super::super::update::{ControlView, Trigger};
use super::super::validate::{Doubts, Refusal};
use super::{AuditRecord, Sma, Taken};
use cats_engine_types::{
    Changed, CsId, CsciId, Freshness, Health, Locator, MetricRecord, Micros, Sample, UnixMicros,
};
use std::time::{Duration, Instant};

/// Counters of one SCI since it is known. There are many SCIs, so these are short and wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SciCounters {
    /// Reports taken in.
    pub taken: u32,
    /// Of these, with doubts.
    pub flagged: u32,
    /// Reports that went into quarantine.
    pub quarantined: u32,
    /// Reports refused for what they say: a value missing, out of range, contradicting another one.
    pub invalid: u32,
    /// Reports that came twice.
    pub duplicate: u32,
    /// Reports that were overtaken by later ones on their way.
    pub out_of_order: u32,
    /// Replays.
    pub replayed: u32,
    /// Reports of another time than now.
    pub skewed: u32,
    /// Reports beyond the rate, which wait for their turn.
    pub too_often: u32,
    /// Of these, reports that were replaced by later ones while they waited.
    pub overtaken: u32,
    /// Questions to it.
    pub pulls: u32,
}

impl SciCounters {
    pub(super) fn take(&mut self, taken: Taken) {
        count(&mut self.taken);
        if matches!(taken, Taken::Flagged(_)) {
            count(&mut self.flagged);
        }
    }

    pub(super) fn refuse(&mut self, refusal: &Refusal) {
        let counter = match refusal {
            Refusal::Missing { .. }
            | Refusal::NoBase { .. }
            | Refusal::OutOfRange { .. }
            | Refusal::Inconsistent(_) => &mut self.invalid,
            Refusal::Duplicate { .. } => &mut self.duplicate,
            Refusal::OutOfOrder { .. } => &mut self.out_of_order,
            Refusal::Replayed { .. } => &mut self.replayed,
            Refusal::Skewed { .. } | Refusal::FutureEpoch { .. } => &mut self.skewed,
            Refusal::Quarantined { .. } => &mut self.quarantined,
            Refusal::TooOften { .. } => &mut self.too_often,
            Refusal::Unauthorised { .. }
            | Refusal::TooManyServices { .. }
            | Refusal::Lost
            | Refusal::NotConfigured => return,
        };
        count(counter);
    }
}

/// Counts on, and from 0 again after the greatest number.
pub(super) fn count(counter: &mut u32) {
    *counter = counter.wrapping_add(1);
}

/// Counters since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Reports that came from authenticated senders.
    pub received: u64,
    /// Reports taken in.
    pub taken: u64,
    /// Of these, with doubts.
    pub flagged: u64,
    /// Reports that took their SCI out.
    pub left: u64,
    /// Reports that went into quarantine.
    pub quarantined: u64,
    /// Of these, released by an operator.
    pub released: u64,
    /// Of these, dropped by an operator.
    pub dropped: u64,
    /// Full reports that lacked a value.
    pub missing: u64,
    /// Delta reports without a full one before them.
    pub no_base: u64,
    /// Reports with a value out of range.
    pub out_of_range: u64,
    /// Reports that contradict themselves.
    pub inconsistent: u64,
    /// Reports that came twice.
    pub duplicate: u64,
    /// Reports that were overtaken by later ones on their way.
    pub out_of_order: u64,
    /// Replays.
    pub replayed: u64,
    /// Reports of another time than now.
    pub skewed: u64,
    /// Reports of a sender that claims to have started in the future.
    pub future_epoch: u64,
    /// Reports of a service that the SCI may not report of.
    pub unauthorised: u64,
    /// Reports of one service too many.
    pub too_many_services: u64,
    /// Reports whose entry was lost: each one is a fault of this agent.
    pub lost: u64,
    /// Reports while nothing was configured.
    pub not_configured: u64,
    /// Reports beyond a rate, which wait for their turn.
    pub too_often: u64,
    /// Of these, reports that were replaced by later ones while they waited.
    pub overtaken: u64,
    /// Senders that did not prove who they are.
    pub authentication_failures: u64,
    /// SCIs that reported for the first time without being configured.
    pub discovered: u64,
    /// SCIs that became STALE.
    pub stale: u64,
    /// SCIs that became FAILED.
    pub failed: u64,
    /// SCIs whose metrics were withdrawn, for whatever reason.
    pub withdrawn: u64,
    /// Of these, for want of room.
    pub evicted: u64,
    /// SCIs that are not known any more.
    pub forgotten: u64,
    /// SCIs whose clock is off at present.
    pub skewed_instances: u64,
    /// Questions to SCIs.
    pub pulls: u64,
    /// Questions that were not asked because too many were asked already.
    pub pulls_left_out: u64,
    /// Audit records that were left out because there were too many in a second.
    pub audit_left_out: u64,
}

impl Counters {
    pub(super) fn take(&mut self, taken: Taken) {
        self.taken += 1;
        if matches!(taken, Taken::Flagged(_)) {
            self.flagged += 1;
        }
    }

    pub(super) fn refuse(&mut self, refusal: &Refusal) {
        let count = match refusal {
            Refusal::Missing { .. } => &mut self.missing,
            Refusal::NoBase { .. } => &mut self.no_base,
            Refusal::OutOfRange { .. } => &mut self.out_of_range,
            Refusal::Inconsistent(_) => &mut self.inconsistent,
            Refusal::Duplicate { .. } => &mut self.duplicate,
            Refusal::OutOfOrder { .. } => &mut self.out_of_order,
            Refusal::Replayed { .. } => &mut self.replayed,
            Refusal::Skewed { .. } => &mut self.skewed,
            Refusal::FutureEpoch { .. } => &mut self.future_epoch,
            Refusal::Quarantined { .. } => &mut self.quarantined,
            Refusal::Unauthorised { .. } => &mut self.unauthorised,
            Refusal::TooOften { .. } => &mut self.too_often,
            Refusal::TooManyServices { .. } => &mut self.too_many_services,
            Refusal::Lost => &mut self.lost,
            Refusal::NotConfigured => &mut self.not_configured,
        };
        *count += 1;
    }
}

/// One SCI, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SciView {
    /// Which one.
    pub key: InstanceKey,
    /// Where it takes requests.
    pub locator: Option<Locator>,
    /// Whether the configuration names it.
    pub configured: bool,
    /// Its state as a source of reports.
    pub state: SciState,
    /// Since when.
    pub since: Instant,
    /// Its health for others: what it says, or what another source says if that is worse.
    pub health: Option<Health>,
    /// What another source says.
    pub monitored: Option<Health>,
    /// Its metrics, unless they are gone.
    pub metrics: Option<MetricsView>,
    /// The latest report that came, taken in or not.
    pub seen: Option<Freshness>,
    /// Reports of it in quarantine.
    pub quarantined: usize,
    /// Whether a report of it waits for its turn.
    pub waits: bool,
    /// Whether its clock is off.
    pub skewed: bool,
    /// What the path selectors are told of it.
    pub told: Option<MetricRecord>,
    /// What of it waits to be told, and since when.
    pub waiting: Option<(Trigger, Instant)>,
    /// Its counters.
    pub counters: SciCounters,
}

/// The metrics of an SCI, as they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricsView {
    /// As reported.
    pub sample: Sample,
    /// Of the report that they rest on.
    pub freshness: Freshness,
    /// When that came.
    pub updated: Instant,
    /// When that was made.
    pub taken: UnixMicros,
    /// How long the SCI may be silent after it.
    pub ttl: Duration,
    /// What is in doubt.
    pub doubts: Doubts,
    /// Slots, smoothed.
    pub smoothed_gas: u32,
    /// Computing time, smoothed.
    pub smoothed_computing_time: Micros,
}

impl Sma {
    /// The configuration in force.
    pub fn config(&self) -> &SmaConfig {
        &self.config
    }

    /// The SCIs that came, may have changed, or went.
    pub fn changed_instances(&mut self) -> &mut Changed<InstanceKey> {
        self.cache.changed()
    }

    /// The services whose sums changed.
    pub fn changed_sites(&mut self) -> &mut Changed<CsId> {
        self.cache.changed_sites()
    }

    /// One SCI of one service.
    pub fn instance(&self, key: InstanceKey) -> Option<SciView> {
        let ix = self.cache.find(key)?;
        self.cache.get(ix).map(|entry| self.view(ix, entry))
    }

    /// One SCI, once for each service.
    pub fn services_of(&self, csci_id: CsciId) -> Vec<SciView> {
        self.cache.of_instance(csci_id).map(|(ix, entry)| self.view(ix, entry)).collect()
    }

    /// At most `limit` SCIs after a key, ordered by service and CSCI-ID.
    pub fn instances(&self, after: Option<InstanceKey>, limit: usize) -> Vec<SciView> {
        self.cache.after(after).take(limit).map(|(ix, entry)| self.view(ix, entry)).collect()
    }

    /// The SCIs of a service after one, in order.
    pub fn members(&self, cs_id: CsId, after: Option<CsciId>) -> impl Iterator<Item = CsciId> {
        self.cache.members(cs_id, after)
    }

    fn view(&self, ix: EntryIx, entry: &Entry) -> SciView {
        SciView {
            key: entry.key,
            locator: entry.locator,
            configured: entry.configured.is_some(),
            state: entry.state,
            since: entry.since,
            health: entry.health(),
            monitored: entry.monitored,
            metrics: entry.soft.as_ref().map(|soft| MetricsView {
                sample: soft.sample,
                freshness: soft.freshness,
                updated: soft.at,
                taken: soft.taken,
                ttl: entry.ttl(&self.config.cache),
                doubts: soft.doubts,
                smoothed_gas: soft.smoothed.0,
                smoothed_computing_time: soft.smoothed.1,
            }),
            seen: entry.order.last(),
            quarantined: self.quarantine.of(entry.key),
            waits: entry.held.is_some(),
            skewed: entry.skewed,
            told: entry.told.as_deref().cloned(),
            waiting: self.control.waiting(ix),
            counters: entry.counters,
        }
    }

    /// The sums of a service.
    pub fn site(&self, cs_id: CsId) -> Site {
        self.cache.site(cs_id)
    }

    /// Site GAS of a service (SMA-6).
    pub fn site_gas(&self, cs_id: CsId) -> u64 {
        self.cache.site(cs_id).gas(self.config.cache.degraded_percent)
    }

    /// The sums of at most `limit` services after one.
    pub fn sites(&self, after: Option<CsId>, limit: usize) -> Vec<(CsId, Site)> {
        self.cache.sites(after).take(limit).map(|(cs_id, site)| (cs_id, *site)).collect()
    }

    /// At most `limit` reports in quarantine after one, the oldest first.
    pub fn quarantined(&self, after: Option<QuarantineId>, limit: usize) -> Vec<&Quarantined> {
        self.quarantine.after(after).take(limit).collect()
    }

    /// Reports in quarantine, and how many left it for want of room.
    pub fn quarantine_size(&self) -> (usize, u64) {
        (self.quarantine.len(), self.quarantine.pushed_out())
    }

    /// At most `limit` records of the audit log after one, the oldest first.
    pub fn audit_log(&self, after: u64, limit: usize) -> Vec<&AuditRecord> {
        self.audit.after(after).take(limit).collect()
    }

    /// SCIs that are known.
    pub fn len(&self) -> usize {
        self.cache.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.cache.len() == 0
    }

    /// SCIs with metrics.
    pub fn live(&self) -> usize {
        self.cache.live()
    }

    /// Reports that wait for their turn because all SCIs together report too often.
    pub fn waiting(&self) -> usize {
        self.turns.waiting()
    }

    /// What waits to be told.
    pub fn updates(&self) -> ControlView {
        self.control.view()
    }

    /// The windows of the calendar that are open, as of the last look at the clock.
    pub fn open_windows(&self) -> impl Iterator<Item = &str> {
        let open = self.control.moment().open;
        let windows = self.config.calendar.windows().iter().enumerate();
        let is_open = move |place: usize| !open.common(Windows::one(place)).is_empty();
        windows.filter(move |(place, _)| is_open(*place)).map(|(_, window)| window.name.as_str())
    }

    /// When the maintenance ends that is on at `wall`: see [`Calendar::maintenance_ends`].
    pub fn maintenance_ends(&self, wall: UnixMicros) -> Option<UnixMicros> {
        self.config.calendar.maintenance_ends(wall)
    }

    /// What the path selectors are told, and each of them.
    pub fn northbound(&self) -> &Northbound {
        &self.northbound
    }

    /// Counters since the start.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}
