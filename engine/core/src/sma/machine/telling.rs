//! From the cache to the path selectors: smoothed values, rules, margin and bounds make a record; update control says
//! when it is told (SMA-15, SMA-17, SMA-21).

use super::super::InstanceKey;
use super::super::cache::{Entry, EntryIx};
use super::super::policy::{DryRun, Outcome, Policy, SiteView, Subject, Tally};
use super::super::state::SciState;
use super::super::update::Due;
use super::{STEP, Sma};
use cats_engine_types::{AgentInstruction, CsId, MetricRecord, NodeId, Sample, UnixMicros, Withdrawal};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Batches of updates that one input gives at most; a timeout gives what is left.
const BATCHES: usize = 4;

/// What a policy makes of an SCI, as things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyView<'p> {
    /// Before the rules, smoothed.
    pub before: MetricRecord,
    /// After the rules, margin, ceiling and floor.
    pub after: MetricRecord,
    /// What else came of it.
    pub outcome: Outcome,
    /// Each rule, in the order in which they are looked at.
    pub rules: Vec<DryRun<'p>>,
}

impl Sma {
    /// What a policy would make of an SCI, and which of its rules would fire; nothing where it has no metrics. The
    /// policy may be the one in force (`config().policy`) or one that is not committed.
    pub fn dry_run<'p>(&self, policy: &'p Policy, key: InstanceKey) -> Option<PolicyView<'p>> {
        let entry = self.cache.get(self.cache.find(key)?)?;
        let before = self.unruled(entry)?;
        let mut after = before.clone();
        let site = self.site_view(key.cs_id);
        let (outcome, rules) = policy.dry_run(&self.subject(entry, &site)?, &mut after);
        mute(entry.state, &mut after.sample);
        Some(PolicyView { before, after, outcome, rules })
    }

    /// Tries a policy on at most `limit` SCIs after one, as things are, and adds what it would do to the tally. Answers
    /// the last of them, to go on after; nothing at the end.
    pub fn try_policy(
        &self,
        policy: &Policy,
        after: Option<InstanceKey>,
        limit: usize,
        tally: &mut Tally,
    ) -> Option<InstanceKey> {
        let mut last = None;
        for (_, entry) in self.cache.after(after).take(limit) {
            last = Some(entry.key);
            let site = self.site_view(entry.key.cs_id);
            if let (Some(record), Some(subject)) = (self.unruled(entry), self.subject(entry, &site)) {
                policy.count(&subject, &record, tally);
            }
        }
        last
    }

    /// The record of an SCI before the rules.
    fn unruled(&self, entry: &Entry) -> Option<MetricRecord> {
        let soft = entry.soft.as_ref()?;
        let (gas, computing_time) = soft.smoothed;
        let health = entry.health()?;
        // What does not serve has no slots for the rules either, whatever another source took them from.
        let gas = if health.admits() && serves(entry.state) { gas } else { 0 };
        Some(MetricRecord {
            cs_id: entry.key.cs_id,
            csci_id: entry.key.csci_id,
            locator: entry.locator,
            sample: Sample { gas, computing_time, health, ..soft.sample },
            taken: soft.taken,
            valid_for: self.config.cache.valid_for,
            flagged: !soft.doubts.is_empty(),
        })
    }

    fn subject<'a>(&self, entry: &'a Entry, site: &'a SiteView) -> Option<Subject<'a>> {
        let raw = &entry.soft.as_ref()?.sample;
        Some(Subject { site, raw, state: entry.state, open: self.control.moment().open })
    }

    /// A service as the rules see it.
    fn site_view(&self, cs_id: CsId) -> SiteView {
        let site = self.cache.site(cs_id);
        let (unhealthy, unknown) = (site.unhealthy + site.failed, site.unknown + site.stale);
        SiteView {
            gas: site.gas(self.config.cache.degraded_percent),
            scis: site.healthy + site.degraded + unhealthy + unknown,
            healthy: site.healthy,
            degraded: site.degraded,
            unhealthy,
            unknown,
        }
    }

    /// The record of an SCI as it is to be seen, and whether a rule holds routine updates back.
    fn record(&self, ix: EntryIx) -> Option<(MetricRecord, bool)> {
        let entry = self.cache.get(ix)?;
        let mut record = self.unruled(entry)?;
        let site = self.site_view(entry.key.cs_id);
        let outcome = self.config.policy.apply(&self.subject(entry, &site)?, &mut record);
        mute(entry.state, &mut record.sample);
        Some((record, outcome.suppress))
    }

    /// Something of an SCI may be different: update control decides when that is told.
    pub(super) fn offer(&mut self, ix: EntryIx) {
        let Some(key) = self.cache.get(ix).map(|entry| entry.key) else { return };
        self.note_site(key.cs_id);
        let record = self.record(ix);
        let told = self.cache.get(ix).and_then(|entry| entry.told.as_deref());
        match (record, told) {
            (Some((record, suppress)), told) => {
                self.control.offer(ix, told, &record, suppress, self.now);
            }
            (None, Some(_)) => self.control.withdraw(ix, self.now),
            (None, None) => self.control.forget(ix),
        }
    }

    /// Where the sums of a service changed in a way that rules see, its records are made again.
    pub(super) fn note_site(&mut self, cs_id: CsId) {
        if !self.cache.has_service(cs_id) {
            self.truths.remove(&cs_id);
            return;
        }
        let truth = self.config.policy.site_truth(&self.site_view(cs_id));
        if self.truths.insert(cs_id, truth).is_some_and(|before| before != truth) {
            self.again.service(cs_id);
        }
    }

    /// Looks at some SCIs after a change of configuration, site or time.
    pub(super) fn look_again(&mut self) {
        for key in self.again.slice(&self.cache, STEP) {
            let Some(ix) = self.cache.find(key) else { continue };
            if self.may_report(key) {
                self.arm(ix);
                self.offer(ix);
            } else {
                self.forget(ix);
            }
        }
    }

    /// Tells what is due.
    pub(super) fn tell_due(&mut self) {
        for _ in 0..BATCHES {
            let batch = self.control.take(self.now);
            if batch.is_empty() {
                return;
            }
            for due in batch {
                self.tell(due);
            }
        }
    }

    fn tell(&mut self, due: Due<EntryIx>) {
        let Some((full, suppress)) = self.record(due.id) else {
            self.tell_withdrawal(due.id);
            return;
        };
        let Some(entry) = self.cache.get_mut(due.id) else { return };
        let mut record = full.clone();
        let lightened = self.control.lighten(&mut record, entry.told.as_deref());
        if lightened {
            // What is left out now follows when there is less to do.
            self.control.offer(due.id, Some(&record), &full, suppress, self.now);
        }
        let record = Arc::new(record);
        entry.told = Some(Arc::clone(&record));
        self.northbound.publish(record, due.trigger.urgency(), self.now, self.wall);
    }

    /// Tells that an SCI is to be seen no longer.
    pub(super) fn tell_withdrawal(&mut self, ix: EntryIx) {
        let Some(entry) = self.cache.get_mut(ix) else { return };
        let InstanceKey { cs_id, csci_id } = entry.key;
        let withdrawal = Withdrawal { cs_id, csci_id, reason: entry.gone };
        entry.told = None;
        self.northbound.withdraw(withdrawal, self.now, self.wall);
    }

    /// The connection to a path selector is there, and both ends are authenticated.
    pub fn handle_connected(&mut self, peer: &NodeId, now: Instant, wall: UnixMicros) {
        self.set_time(now, wall);
        self.northbound.handle_connected(peer, self.now, wall);
        self.finish();
    }

    /// The connection to a path selector ended, or could not be opened.
    pub fn handle_disconnected(&mut self, peer: &NodeId, now: Instant, wall: UnixMicros) {
        self.set_time(now, wall);
        self.northbound.handle_disconnected(peer, self.now, wall);
        self.follow_pace();
        self.finish();
    }

    /// What kept a path selector from being reached may be gone: the attempt that is waited for is made now.
    pub fn reconnect(&mut self, peer: &NodeId, now: Instant, wall: UnixMicros) {
        self.set_time(now, wall);
        self.northbound.reconnect(peer, self.now, wall);
        self.finish();
    }

    /// What a path selector says over its connection.
    pub fn handle_instruction(
        &mut self,
        peer: &NodeId,
        instruction: AgentInstruction,
        now: Instant,
        wall: UnixMicros,
    ) {
        self.set_time(now, wall);
        self.northbound.handle_instruction(peer, instruction, self.now, wall);
        self.follow_pace();
        self.finish();
    }

    /// An operator wants a path selector to get the whole view anew. False if it is not connected.
    pub fn synchronise(&mut self, peer: &NodeId, now: Instant, wall: UnixMicros) -> bool {
        self.set_time(now, wall);
        let connected = self.northbound.synchronise(peer, self.now, wall);
        self.finish();
        connected
    }

    /// Updates are made no more often than the fastest of the path selectors wants them.
    fn follow_pace(&mut self) {
        let pace = self.northbound.peers().map(|peer| peer.pace).min().unwrap_or(Duration::ZERO);
        self.control.handle_pace(pace, self.now);
    }
}

/// Whether an SCI in this state is eligible at all.
fn serves(state: SciState) -> bool {
    match state {
        SciState::Active | SciState::Healthy => true,
        SciState::Stale | SciState::Failed => false,
    }
}

/// Whatever the rules say: of what was not heard of, there are no slots.
fn mute(state: SciState, sample: &mut Sample) {
    if !serves(state) {
        sample.gas = 0;
    }
}
