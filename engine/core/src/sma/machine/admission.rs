//! Who may report of what, and the hard state that follows from it (SMA-10, SMA-18).

use super::super::InstanceKey;
use super::super::cache::{Entry, EntryIx, Found, MAX_SERVICES};
use super::super::config::{AdmissionConfig, SciConfig, SmaConfig};
use super::super::validate::Refusal;
use super::{Event, PullCause, Sma, Timer};
use cats_engine_types::{CsId, UnixMicros, WithdrawalReason};
use std::collections::BTreeSet;
use std::time::Instant;

impl Sma {
    /// Takes a new configuration, which must be valid. Each SCI is looked at under it, some at a time; reports follow
    /// it at once.
    pub fn configure(&mut self, config: SmaConfig, now: Instant, wall: UnixMicros) {
        self.set_time(now, wall);
        let before = std::mem::replace(&mut self.config, config);
        self.configured = true;
        let services: BTreeSet<CsId> = self.config.admission.discovered_services.iter().copied().collect();
        self.discovered_services = services;
        if before.admission.instances != self.config.admission.instances {
            self.follow_instances(&before.admission);
        }
        self.quarantine.shrink(&self.config.quarantine);
        self.make_room(0);
        let (update, calendar) = (self.config.update, self.config.calendar.clone());
        self.control.configure(update, calendar, self.now, wall);
        self.northbound.configure(self.config.northbound.clone(), self.now, wall);
        self.truths.clear();
        self.again.everything();
        self.finish();
    }

    /// Brings the hard state up to date with the instances that are configured.
    fn follow_instances(&mut self, before: &AdmissionConfig) {
        let instances = self.config.admission.instances.clone();
        let key = |sci: &SciConfig| InstanceKey { cs_id: sci.cs_id, csci_id: sci.csci_id };
        let named: BTreeSet<InstanceKey> = instances.iter().map(key).collect();
        for gone in before.instances.iter().map(key).filter(|key| !named.contains(key)) {
            let Some(ix) = self.cache.find(gone) else { continue };
            if let Some(entry) = self.cache.get_mut(ix) {
                entry.configured = None;
                entry.awaited = false;
            }
            self.cache.settle(ix);
        }
        for sci in &instances {
            let ix = self.cache.enter(key(sci), self.now);
            let Some(entry) = self.cache.get_mut(ix) else { continue };
            let anew = entry.configured.replace(sci.locator).is_none();
            entry.locator = sci.locator.or(entry.locator);
            let silent = anew && entry.soft.is_none();
            if silent {
                (entry.awaited, entry.since) = (true, self.now);
            }
            self.cache.settle(ix);
            self.arm(ix);
            if silent {
                self.pull(ix, PullCause::Start);
            }
        }
    }

    /// The entry of who reports, if it may.
    pub(super) fn admit(&mut self, key: InstanceKey, found: Found) -> Result<EntryIx, Refusal> {
        if !self.configured {
            return Err(Refusal::NotConfigured);
        }
        if !self.may_report_among(found, key) {
            return Err(Refusal::Unauthorised { cs_id: key.cs_id, csci_id: key.csci_id });
        }
        if let Some(ix) = self.cache.find_among(found, key) {
            return Ok(ix);
        }
        if self.cache.among(found).count() >= MAX_SERVICES {
            return Err(Refusal::TooManyServices { csci_id: key.csci_id, max: MAX_SERVICES });
        }
        let ix = self.cache.enter(key, self.now);
        self.counters.discovered += 1;
        self.event(Event::Discovered { key });
        Ok(ix)
    }

    /// One that is configured reports of its services alone; another one, where discovery is on.
    pub(super) fn may_report(&self, key: InstanceKey) -> bool {
        self.may_report_among(self.cache.look_up(key.csci_id), key)
    }

    fn may_report_among(&self, found: Found, key: InstanceKey) -> bool {
        let named = |(_, entry): &(EntryIx, &Entry)| entry.configured.is_some();
        let mut configured = self.cache.among(found).filter(named).peekable();
        if configured.peek().is_some() {
            return configured.any(|(_, entry)| entry.key == key);
        }
        let services = &self.discovered_services;
        self.config.admission.discovery && (services.is_empty() || services.contains(&key.cs_id))
    }

    /// Evicts until there is room for so many more SCIs with metrics (SMA-11).
    pub(super) fn make_room(&mut self, more: usize) {
        while self.cache.live() + more > self.config.cache.max_entries.max(1) {
            let Some(oldest) = self.cache.oldest_live() else { return };
            self.counters.evicted += 1;
            self.withdraw(oldest, WithdrawalReason::Evicted);
        }
    }

    /// Forgets SCIs without metrics until their bound is kept.
    pub(super) fn forget_some(&mut self) {
        while self.cache.bare() > self.config.cache.max_remembered.max(1) {
            let Some(oldest) = self.cache.oldest_bare() else { return };
            self.forget(oldest);
        }
    }

    /// Forgets an SCI; its metrics are withdrawn before.
    pub(super) fn forget(&mut self, ix: EntryIx) {
        self.withdraw(ix, WithdrawalReason::Removed);
        self.clear_skew(ix);
        self.tell_withdrawal(ix);
        self.control.forget(ix);
        let Some(entry) = self.cache.remove(ix) else { return };
        self.note_site(entry.key.cs_id);
        self.timers.set(Timer::Age(ix), entry.armed, None);
        self.counters.forgotten += 1;
        self.event(Event::Forgotten { key: entry.key });
    }
}
