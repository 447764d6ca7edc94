//! One C-SMA: which of its messages are taken, and what it says.

use super::{
    AdvertisementError, AgentAlarm, AgentBounds, AgentConfig, AgentCounters, AgentPhase, AgentView, Held,
    Taken,
};
use crate::cps::config::StaticMetric;
use crate::cps::cst::{AgentIx, Change, Key, Record, Source};
use cats_engine_types::{
    Advertisement, AdvertisementContent, AgentInstruction, CsId, CsciId, Freshness, Gas, MetricRecord,
    NodeId, SynchronisationCause, UnixMicros,
};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::time::{Duration, Instant};

type Records = BTreeMap<Key, Held>;

#[derive(Debug)]
pub(in crate::cps) struct Agent {
    node: NodeId,
    /// Nothing once it left the configuration.
    config: Option<AgentConfig>,
    connected: bool,
    /// The greatest that was taken.
    freshness: Freshness,
    /// Of this epoch, everything up to here is taken in.
    complete: Option<u64>,
    phase: Phase,
    held: Records,
    following: Following,
    /// When it was last heard, or else configured.
    heard: Instant,
    was_heard: bool,
    offset: i64,
    /// When its whole view is asked for again, or what came of it is given up.
    ask: Option<Instant>,
    skew: Option<i64>,
    silent: bool,
    full: bool,
    counters: AgentCounters,
    /// The timer that is set.
    pub(in crate::cps) deadline: Option<Instant>,
}

#[derive(Debug)]
enum Phase {
    Lacking,
    Staging(Staging),
    Whole,
}

/// A whole view of which parts have come.
#[derive(Debug, Default)]
struct Staging {
    next: u32,
    records: Records,
    full: bool,
}

/// How far the CST has followed a whole view that came into force, or a change of authorisation.
#[derive(Debug, Default)]
struct Following {
    /// What held before; what of it holds no more goes first.
    before: Records,
    /// Whether what holds is looked at, behind this instance.
    rest: bool,
    after: Option<Key>,
}

impl Agent {
    pub(super) fn new(config: AgentConfig, now: Instant) -> Self {
        Self {
            node: config.node.clone(),
            config: Some(config),
            connected: false,
            freshness: Freshness::default(),
            complete: None,
            phase: Phase::Lacking,
            held: Records::new(),
            following: Following::default(),
            heard: now,
            was_heard: false,
            offset: 0,
            ask: None,
            skew: None,
            silent: false,
            full: false,
            counters: AgentCounters::default(),
            deadline: None,
        }
    }

    pub(in crate::cps) fn node(&self) -> &NodeId {
        &self.node
    }

    pub(super) fn is_configured(&self) -> bool {
        self.config.is_some()
    }

    pub(in crate::cps) fn config(&self) -> Option<&AgentConfig> {
        self.config.as_ref()
    }

    pub(in crate::cps) fn is_connected(&self) -> bool {
        self.connected
    }

    pub(in crate::cps) fn held(&self) -> &Records {
        &self.held
    }

    /// What it says of the services.
    pub(in crate::cps) fn keys_of(&self, services: &[CsId]) -> Vec<Key> {
        let mut keys = Vec::new();
        // No CSCI-ID is smaller.
        let Ok(first) = CsciId::number(1) else { return keys };
        for cs_id in services {
            let of = self.held.range((*cs_id, first)..).map(|(key, _)| *key);
            keys.extend(of.take_while(|key| key.0 == *cs_id));
        }
        keys
    }

    /// Takes its configuration. Where it may say another thing now, the CST is to follow.
    pub(super) fn configure(&mut self, config: Option<&AgentConfig>, now: Instant) {
        let before = std::mem::replace(&mut self.config, config.cloned());
        match (before, config) {
            (None, None) => {}
            (None, Some(_)) => self.heard = now,
            (Some(_), None) => {
                // Its nonces are remembered, its records are not.
                self.disconnect();
                self.complete = None;
                self.phase = Phase::Lacking;
                (self.skew, self.silent, self.full) = (None, false, false);
                self.replace(Records::new());
            }
            (Some(before), Some(after)) => {
                if before.scope != after.scope || before.egresses != after.egresses {
                    self.following.rest = true;
                    self.following.after = None;
                }
            }
        }
    }

    /// Other records hold than before; the CST is to follow.
    fn replace(&mut self, records: Records) {
        let mut before = std::mem::replace(&mut self.held, records);
        self.following.before.append(&mut before);
        self.following.rest = true;
        self.following.after = None;
    }

    /// Whether the CST has yet to follow.
    pub(in crate::cps) fn is_behind(&self) -> bool {
        self.following.rest || !self.following.before.is_empty()
    }

    /// The next instances that the CST is to look at: of `limit`, those that matter.
    pub(in crate::cps) fn follow(&mut self, limit: usize) -> Vec<Key> {
        let Following { before, rest, after } = &mut self.following;
        let mut keys = Vec::new();
        for looked in 0..limit {
            let Some((key, _)) = before.pop_first() else {
                let from = after.map_or(Bound::Unbounded, Bound::Excluded);
                let held = self.held.range((from, Bound::Unbounded)).map(|(key, _)| *key);
                let gone = keys.len();
                keys.extend(held.take(limit - looked));
                *after = keys.get(gone..).and_then(|held| held.last()).copied().or(*after);
                *rest = keys.len() - gone == limit - looked;
                break;
            };
            if !self.held.contains_key(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// It is connected: it learns first what is known of it.
    pub(in crate::cps) fn connect(&mut self, bounds: &AgentBounds, now: Instant) -> Vec<AgentInstruction> {
        self.connected = true;
        self.abandon();
        let first = match self.complete {
            Some(sequence) => {
                self.ask = now.checked_add(bounds.resynchronise);
                AgentInstruction::Acknowledge(Freshness { epoch: self.freshness.epoch, sequence })
            }
            None => self.ask(bounds, now),
        };
        let pace = self.config.as_ref().and_then(|config| config.min_interval);
        [Some(first), pace.map(|min_interval| AgentInstruction::Pace { min_interval })]
            .into_iter()
            .flatten()
            .collect()
    }

    pub(in crate::cps) fn disconnect(&mut self) {
        self.connected = false;
        self.abandon();
    }

    /// Its whole view is wanted.
    pub(in crate::cps) fn ask(&mut self, bounds: &AgentBounds, now: Instant) -> AgentInstruction {
        self.ask = now.checked_add(bounds.resynchronise);
        let nothing = self.counters.snapshots == 0;
        let cause = if nothing { SynchronisationCause::Start } else { SynchronisationCause::Gap };
        AgentInstruction::Synchronise(cause)
    }

    /// Takes a message, or says why not.
    pub(in crate::cps) fn take(
        &mut self,
        advertisement: Advertisement,
        bounds: &AgentBounds,
        now: Instant,
        wall: UnixMicros,
    ) -> Result<Taken, AdvertisementError> {
        self.examine(&advertisement, bounds, wall)?;
        let Advertisement { freshness, since, timestamp, content, .. } = advertisement;
        if freshness.epoch > self.freshness.epoch {
            // Nothing builds on what was said before it started anew.
            self.abandon();
            self.complete = None;
            self.phase = Phase::Lacking;
            self.ask = None;
        }
        self.freshness = freshness;
        (self.heard, self.was_heard, self.silent, self.skew) = (now, true, false, None);
        self.counters.accepted += 1;
        let arrival = Arrival { timestamp, now, wall, limit: bounds.records };
        let sequence = freshness.sequence;
        let builds = self.complete.is_some_and(|complete| since <= complete);
        let mut taken = Taken::default();
        match content {
            AdvertisementContent::Snapshot { part, last, records } => {
                self.part(sequence, builds, part, last, records, &arrival);
                if matches!(self.phase, Phase::Staging(_)) {
                    self.ask = now.checked_add(bounds.resynchronise);
                }
            }
            AdvertisementContent::Delta { records, withdrawals } => {
                self.link(sequence, builds);
                self.counters.records += records.len() as u64;
                self.counters.withdrawals += withdrawals.len() as u64;
                for record in records {
                    taken.changed.extend(self.change(record, &arrival));
                }
                for withdrawal in withdrawals {
                    taken.changed.push((withdrawal.cs_id, withdrawal.csci_id));
                    self.withdraw((withdrawal.cs_id, withdrawal.csci_id));
                }
                taken.changed.sort_unstable();
                taken.changed.dedup();
            }
            AdvertisementContent::Refresh => {
                self.link(sequence, builds);
                self.counters.refreshes += 1;
                taken.refreshed = matches!(self.phase, Phase::Whole);
            }
        }
        taken.instruction = if self.complete == Some(sequence) {
            Some(AgentInstruction::Acknowledge(freshness))
        } else {
            let asked = self.ask.is_some_and(|ask| now < ask);
            (!asked).then(|| self.ask(bounds, now))
        };
        Ok(taken)
    }

    fn examine(
        &mut self,
        advertisement: &Advertisement,
        bounds: &AgentBounds,
        wall: UnixMicros,
    ) -> Result<(), AdvertisementError> {
        let agent = self.node.clone();
        let Advertisement { freshness: found, timestamp, .. } = advertisement;
        if advertisement.agent != self.node {
            self.counters.wrong_name += 1;
            let (peer, agent) = (agent, advertisement.agent.clone());
            return Err(AdvertisementError::Name { peer, agent });
        }
        let offset = offset(*timestamp, wall);
        if timestamp.distance(wall) > bounds.window {
            self.counters.outside_window += 1;
            self.skew = Some(offset);
            return Err(AdvertisementError::Window { agent, offset, window: bounds.window });
        }
        let (found, known) = (*found, self.freshness);
        if found.epoch < known.epoch {
            self.counters.old_epoch += 1;
            return Err(AdvertisementError::OldEpoch { agent, found, known });
        }
        if found <= known {
            self.counters.repeated += 1;
            return Err(AdvertisementError::Repeated { agent, found, known });
        }
        self.offset = offset;
        Ok(())
    }

    /// A message that is no part of a whole view: something is missing before it, or not.
    fn link(&mut self, sequence: u64, builds: bool) {
        if builds {
            self.complete = Some(sequence);
            if matches!(self.phase, Phase::Lacking) {
                // It made up for what was missing.
                self.phase = Phase::Whole;
                self.ask = None;
            }
            return;
        }
        self.gap();
    }

    fn gap(&mut self) {
        if !matches!(self.phase, Phase::Lacking) {
            self.ask = None;
        }
        self.counters.gaps += 1;
        self.abandon();
        self.phase = Phase::Lacking;
    }

    /// What came of a whole view is given up; what held before it holds on.
    fn abandon(&mut self) {
        match self.phase {
            Phase::Staging(_) => {
                self.counters.abandoned += 1;
                self.phase = Phase::Lacking;
                self.complete = None;
                self.ask = None;
            }
            Phase::Lacking | Phase::Whole => {}
        }
    }

    /// A part of a whole view, which comes into force with the last one.
    fn part(
        &mut self,
        sequence: u64,
        builds: bool,
        part: u32,
        last: bool,
        records: Vec<MetricRecord>,
        arrival: &Arrival,
    ) {
        if part == 0 {
            self.abandon();
            self.phase = Phase::Staging(Staging::default());
        }
        let fits = match &self.phase {
            Phase::Staging(staging) => staging.next == part && (part == 0 || builds),
            Phase::Lacking | Phase::Whole => false,
        };
        if !fits {
            self.gap();
        }
        let Phase::Staging(staging) = &mut self.phase else { return };
        staging.next = part.saturating_add(1);
        self.complete = Some(sequence);
        self.counters.records += records.len() as u64;
        for record in records {
            let key = (record.cs_id, record.csci_id);
            let held = arrival.held(record, self.held.get(&key));
            if !put(&mut staging.records, key, held, arrival.limit) {
                staging.full = true;
                self.counters.beyond_limit += 1;
            }
        }
        if !last {
            return;
        }
        let Staging { records, full, .. } = std::mem::take(staging);
        self.replace(records);
        self.full = full;
        self.phase = Phase::Whole;
        self.counters.snapshots += 1;
    }

    /// Takes a record; its key, if there is room for it.
    fn change(&mut self, record: MetricRecord, arrival: &Arrival) -> Option<Key> {
        let key = (record.cs_id, record.csci_id);
        let held = arrival.held(record, self.held.get(&key));
        if let Phase::Staging(staging) = &mut self.phase {
            put(&mut staging.records, key, held.clone(), arrival.limit);
        }
        let fits = put(&mut self.held, key, held, arrival.limit);
        if !fits {
            self.full = true;
            self.counters.beyond_limit += 1;
        }
        fits.then_some(key)
    }

    fn withdraw(&mut self, key: Key) {
        self.held.remove(&key);
        if let Phase::Staging(staging) = &mut self.phase {
            staging.records.remove(&key);
        }
    }

    /// Whether it may speak of an instance, as the caller judges. The time of its report, if it may.
    pub(in crate::cps) fn authorise(&mut self, key: Key, may: bool) -> Option<Instant> {
        let held = self.held.get_mut(&key)?;
        held.authorised = may;
        if !std::mem::replace(&mut held.judged, true) && !may {
            self.counters.unauthorised += 1;
        }
        held.taken.filter(|_| may)
    }

    /// What the CST is to hold of an instance.
    pub(in crate::cps) fn change_of(&self, ix: AgentIx, key: Key) -> Change {
        match self.held.get(&key) {
            None => Change::Gone,
            Some(held) if !held.authorised => Change::Unauthorised,
            Some(held) => Change::Record(record(ix, held)),
        }
    }

    /// What is due; what it is to be told.
    pub(in crate::cps) fn due(&mut self, bounds: &AgentBounds, now: Instant) -> Option<AgentInstruction> {
        if now.saturating_duration_since(self.heard) >= bounds.silence {
            self.silent = true;
        }
        if self.wants_more() && self.ask.is_some_and(|ask| ask <= now) {
            self.abandon();
            return Some(self.ask(bounds, now));
        }
        None
    }

    fn wants_more(&self) -> bool {
        match self.phase {
            Phase::Lacking | Phase::Staging(_) => self.connected,
            Phase::Whole => false,
        }
    }

    /// When [`Agent::due`] is to be called.
    pub(in crate::cps) fn next_deadline(&self, bounds: &AgentBounds) -> Option<Instant> {
        if !self.is_configured() {
            return None;
        }
        let silence = if self.silent { None } else { self.heard.checked_add(bounds.silence) };
        let ask = self.ask.filter(|_| self.wants_more());
        [silence, ask].into_iter().flatten().min()
    }

    pub(in crate::cps) fn alarms(&self) -> Vec<AgentAlarm> {
        let skew = self.skew.map(|offset| AgentAlarm::ClockSkew { offset });
        let silent = self.silent.then_some(AgentAlarm::Silent);
        let full = self.full.then_some(AgentAlarm::RecordLimit);
        [skew, silent, full].into_iter().flatten().collect()
    }

    pub(in crate::cps) fn view(&self) -> AgentView {
        AgentView {
            node: self.node.clone(),
            connected: self.connected,
            phase: match self.phase {
                Phase::Lacking => AgentPhase::Lacking,
                Phase::Staging(_) => AgentPhase::Synchronising,
                Phase::Whole => AgentPhase::Synchronised,
            },
            freshness: self.freshness,
            heard: self.was_heard.then_some(self.heard),
            offset: self.offset,
            records: self.held.len(),
            alarms: self.alarms(),
            counters: self.counters,
        }
    }
}

/// When a message came.
struct Arrival {
    timestamp: UnixMicros,
    now: Instant,
    wall: UnixMicros,
    limit: usize,
}

impl Arrival {
    fn held(&self, record: MetricRecord, before: Option<&Held>) -> Held {
        let taken = self.taken(record.taken);
        // The same report is read by the clock that was nearest to it.
        let same = before.filter(|before| before.record.taken == record.taken);
        let taken = match same.map(|before| before.taken) {
            Some(before) => before.min(taken),
            None => taken,
        };
        Held { record, received: self.now, taken, authorised: false, judged: false }
    }

    /// When a report was taken, by our clock: as long before now as it was old when the message was made, or as the
    /// clocks say. Of the two the earlier one, since a report must not account for a flow that it may not have.
    /// Nothing where it is older than the clock can tell.
    fn taken(&self, taken: UnixMicros) -> Option<Instant> {
        let age = self.timestamp.0.saturating_sub(taken.0).max(self.wall.0.saturating_sub(taken.0));
        self.now.checked_sub(Duration::from_micros(age))
    }
}

fn offset(timestamp: UnixMicros, wall: UnixMicros) -> i64 {
    let distance = i64::try_from(timestamp.0.abs_diff(wall.0)).unwrap_or(i64::MAX);
    if timestamp < wall { -distance } else { distance }
}

/// Puts a record in, if it is known or there is room.
fn put(records: &mut Records, key: Key, held: Held, limit: usize) -> bool {
    let room = records.len() < limit;
    match records.entry(key) {
        Entry::Occupied(mut entry) => {
            entry.insert(held);
        }
        Entry::Vacant(entry) if room => {
            entry.insert(held);
        }
        Entry::Vacant(_) => return false,
    }
    true
}

fn record(ix: AgentIx, held: &Held) -> Record {
    let MetricRecord { cs_id, csci_id, sample, valid_for, .. } = &held.record;
    Record {
        source: Source::Agent(ix),
        // Beyond what the clock can tell is without end.
        expires: held.received.checked_add(*valid_for),
        taken: held.taken,
        metric: StaticMetric {
            gas: Gas::Slots(sample.gas),
            computing_time: sample.computing_time,
            health: sample.health,
            valid_for: Some(*valid_for),
            price: sample.price,
            reputation: sample.reputation,
            security_level: sample.security_level,
            ..StaticMetric::new(*cs_id, *csci_id)
        },
    }
}
