//! One path selector: what it has, what it lacks, and the next message that brings it nearer.

use super::config::{NorthboundConfig, PeerConfig};
use super::link::Link;
use super::pending::Pending;
use super::views::NorthboundCounters;
use super::{Key, Urgency};
use cats_engine_types::{
    AdvertisementContent, CsId, CsciId, Freshness, MetricRecord, Withdrawal, WithdrawalReason,
};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is to be seen. Each record by itself: a tree of them would be a third empty room.
pub(super) type View = BTreeMap<Key, Arc<MetricRecord>>;

/// A message: what it builds on, its sequence, what it says.
pub(super) type Message = (u64, u64, AdvertisementContent);

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) config: PeerConfig,
    pub(super) link: Link,
    /// Failures in a row.
    pub(super) failures: u32,
    /// Whether it counts as unreachable.
    pub(super) down: bool,
    /// Whether it acknowledged something over this connection.
    pub(super) serves: bool,
    pub(super) whole: Whole,
    /// Whether changes were dropped that the whole view has yet to make up for.
    pub(super) overrun: bool,
    pub(super) pending: Pending,
    pub(super) pace: Duration,
    pub(super) counters: NorthboundCounters,
    /// Of the last message. It goes on over reconnections: a nonce is never repeated.
    pub(super) sequence: u64,
    pub(super) acknowledged: u64,
    /// What the next message builds on.
    since: u64,
    /// Messages up to here are no longer under way.
    floor: u64,
    /// Since when an acknowledgement is awaited.
    awaiting: Option<Instant>,
    /// When it last said a word that shows that it hears.
    heard: Option<Instant>,
    /// The next whole view goes not before this.
    whole_from: Option<Instant>,
    heartbeat: Option<Instant>,
    refresh: Option<Instant>,
    /// When routine changes go.
    routine: Option<Instant>,
    last_routine: Option<Instant>,
}

/// How far the whole view is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// To be sent.
    Due,
    /// Under way, as far as this instance.
    Sending { after: Option<Key>, part: u32 },
    /// All of it is under way; the last part is this message.
    Sent { last: u64 },
    /// There.
    Done,
}

/// What is due at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    Connect,
    /// It acknowledges nothing any more.
    Silent,
}

impl Peer {
    /// `spoken`: the sequence of its first message is greater.
    pub(super) fn new(config: PeerConfig, spoken: u64) -> Self {
        Self {
            config,
            link: Link::Idle,
            failures: 0,
            down: false,
            serves: false,
            whole: Whole::Due,
            overrun: false,
            pending: Pending::default(),
            pace: Duration::ZERO,
            counters: NorthboundCounters::default(),
            sequence: spoken,
            acknowledged: 0,
            since: 0,
            floor: spoken,
            awaiting: None,
            heard: None,
            whole_from: None,
            heartbeat: None,
            refresh: None,
            routine: None,
            last_routine: None,
        }
    }

    /// Takes a change of an instance that it may know of. True if the buffer overflowed with it.
    pub(super) fn note(
        &mut self,
        key: Key,
        urgency: Urgency,
        withdrawn: Option<WithdrawalReason>,
        limit: usize,
    ) -> bool {
        if self.whole == Whole::Due && self.link != Link::Streaming {
            // The whole view has it.
            return false;
        }
        if !self.pending.put(key, urgency, withdrawn, limit) {
            return false;
        }
        self.counters.dropped += 1;
        self.whole = Whole::Due;
        !std::mem::replace(&mut self.overrun, true)
    }

    /// Routine changes that have no time yet get one.
    pub(super) fn gather(&mut self, now: Instant, gather: Duration) {
        if self.routine.is_none() && self.pending.has_routine() {
            let paced = self.last_routine.and_then(|last| last.checked_add(self.pace));
            self.routine = now.checked_add(gather).max(paced);
        }
    }

    /// Takes a new configuration of its own. True if the buffer overflowed with what differs.
    pub(super) fn rescope(&mut self, config: PeerConfig, view: &View, limit: usize) -> bool {
        let before = std::mem::replace(&mut self.config, config);
        let mut overflowed = false;
        if before.scope == self.config.scope {
            return overflowed;
        }
        for key in view.keys() {
            match (before.scope.covers(key.0), self.config.scope.covers(key.0)) {
                (false, true) => overflowed |= self.note(*key, Urgency::Critical, None, limit),
                (true, false) => {
                    let reason = Some(WithdrawalReason::Unauthorised);
                    overflowed |= self.note(*key, Urgency::Critical, reason, limit);
                }
                (true, true) | (false, false) => {}
            }
        }
        overflowed
    }

    pub(super) fn connected(&mut self, now: Instant, until: Option<Instant>) {
        // Where the clock ends nobody waits.
        self.link = Link::Greeting { until: until.unwrap_or(now) };
        self.serves = false;
    }

    /// The connection is gone: what was under way is to be sent again.
    pub(super) fn disconnected(&mut self, link: Link) {
        self.link = link;
        self.serves = false;
        self.awaiting = None;
        self.floor = self.sequence;
        self.pending.take_back();
        match self.whole {
            Whole::Sending { .. } => self.whole = Whole::Due,
            Whole::Due | Whole::Sent { .. } | Whole::Done => {}
        }
    }

    /// It is not to be told of anything until it is connected anew.
    pub(super) fn release(&mut self) {
        self.disconnected(Link::Idle);
        self.pending.clear();
        self.whole = Whole::Due;
        self.failures = 0;
        self.down = false;
        self.overrun = false;
    }

    /// True if this shows that it is reached.
    pub(super) fn acknowledged(
        &mut self,
        freshness: Freshness,
        epoch: u64,
        config: &NorthboundConfig,
        now: Instant,
    ) -> bool {
        let sent = freshness.epoch == epoch && freshness.sequence <= self.sequence;
        if self.link != Link::Streaming {
            self.greeted(freshness.sequence, sent, config, now);
            return false;
        }
        if !sent || freshness.sequence <= self.acknowledged {
            self.counters.stray_acknowledgements += 1;
            return false;
        }
        self.settle(freshness.sequence);
        self.heard = Some(now);
        self.awaiting = (self.floor < self.sequence).then_some(now);
        self.serves = true;
        true
    }

    fn settle(&mut self, sequence: u64) {
        self.pending.settle(sequence);
        self.acknowledged = self.acknowledged.max(sequence);
        self.floor = self.floor.max(sequence);
        if matches!(self.whole, Whole::Sent { last } if last <= sequence) {
            self.whole = Whole::Done;
        }
    }

    /// Its first word: it has everything up to this message.
    fn greeted(&mut self, sequence: u64, sent: bool, config: &NorthboundConfig, now: Instant) {
        self.link = Link::Streaming;
        let partition =
            self.heard.is_none_or(|heard| now.saturating_duration_since(heard) >= config.partition);
        // One that has less than it acknowledged is not as it was.
        let known = sent && sequence > 0 && sequence >= self.acknowledged;
        if known {
            self.settle(sequence);
        }
        if !known || partition || self.whole != Whole::Done {
            self.whole = Whole::Due;
            return;
        }
        self.counters.resumed += 1;
        self.since = sequence;
        self.routine = Some(now);
        self.refresh = Some(now);
    }

    /// It wants the whole view, or says nothing of what it has.
    pub(super) fn synchronise(&mut self, now: Instant) {
        self.link = Link::Streaming;
        self.heard = Some(now);
        self.whole = Whole::Due;
        self.floor = self.sequence;
        self.awaiting = None;
    }

    /// It wants instances now. True if the buffer overflowed with them.
    pub(super) fn query(&mut self, cs_id: CsId, wanted: &[CsciId], view: &View, limit: usize) -> bool {
        if !self.config.scope.covers(cs_id) {
            self.counters.refused_queries += 1;
            return false;
        }
        self.counters.queries += 1;
        let mut overflowed = false;
        for csci_id in wanted {
            let key = (cs_id, *csci_id);
            let gone = (!view.contains_key(&key)).then_some(WithdrawalReason::Removed);
            overflowed |= self.note(key, Urgency::Critical, gone, limit);
        }
        // No CSCI-ID is smaller.
        if let (true, Ok(first)) = (wanted.is_empty(), CsciId::number(1)) {
            let of = view.range((cs_id, first)..).map(|(key, _)| *key).take_while(|key| key.0 == cs_id);
            let keys: Vec<Key> = of.take(limit / 2 + 1).collect();
            if keys.len() > limit / 2 {
                // The buffer is for changes: so large a service goes with the whole view.
                self.whole = Whole::Due;
                return overflowed;
            }
            for key in keys {
                overflowed |= self.note(key, Urgency::Critical, None, limit);
            }
        }
        overflowed
    }

    /// What is due now; what is due of messages is made by [`Peer::next_message`].
    pub(super) fn due(&mut self, now: Instant, config: &NorthboundConfig) -> Due {
        match self.link {
            Link::Idle | Link::Connecting => Due::Nothing,
            Link::Waiting { until } if until <= now => {
                self.link = Link::Connecting;
                Due::Connect
            }
            Link::Greeting { until } if until <= now => {
                self.link = Link::Streaming;
                self.whole = Whole::Due;
                Due::Nothing
            }
            Link::Waiting { .. } | Link::Greeting { .. } => Due::Nothing,
            Link::Streaming => {
                if self.silent_at(config).is_some_and(|at| at <= now) {
                    return Due::Silent;
                }
                if self.heartbeat.is_some_and(|at| at <= now) {
                    self.heartbeat = None;
                    // One that is under way will do.
                    if self.is_settled() {
                        self.whole = Whole::Due;
                    }
                }
                Due::Nothing
            }
        }
    }

    /// Whether no whole view is to be sent, or to be sent on.
    fn is_settled(&self) -> bool {
        match self.whole {
            Whole::Sent { .. } | Whole::Done => true,
            Whole::Due | Whole::Sending { .. } => false,
        }
    }

    fn silent_at(&self, config: &NorthboundConfig) -> Option<Instant> {
        self.awaiting.and_then(|since| since.checked_add(config.acknowledge))
    }

    fn has_room(&self, config: &NorthboundConfig) -> bool {
        self.sequence - self.floor < config.window.max(1)
    }

    pub(super) fn timeout(&self, config: &NorthboundConfig) -> Option<(Instant, &'static str)> {
        match self.link {
            Link::Idle | Link::Connecting => None,
            Link::Waiting { until } => Some((until, "attempt to connect")),
            Link::Greeting { until } => Some((until, "first word of a path selector")),
            Link::Streaming => {
                let room = self.has_room(config);
                let due = self.whole == Whole::Due;
                let settled = self.is_settled();
                let routine = self.routine.filter(|_| self.pending.has_routine());
                [
                    (self.silent_at(config), "acknowledgement deadline"),
                    (self.heartbeat, "heartbeat"),
                    (self.whole_from.filter(|_| room && due), "whole view"),
                    (self.refresh.filter(|_| room && settled), "refresh"),
                    (routine.filter(|_| room && settled), "gathered changes"),
                ]
                .into_iter()
                .filter_map(|(at, why)| at.map(|at| (at, why)))
                .min_by_key(|(at, _)| *at)
            }
        }
    }

    /// The next message, if there is something to say and room for it under way.
    pub(super) fn next_message(
        &mut self,
        view: &View,
        config: &NorthboundConfig,
        now: Instant,
    ) -> Option<Message> {
        if self.link != Link::Streaming || !self.has_room(config) {
            return None;
        }
        if self.whole == Whole::Due && self.whole_from.is_none_or(|from| from <= now) {
            self.pending.clear();
            self.routine = None;
            self.whole = Whole::Sending { after: None, part: 0 };
            self.whole_from = now.checked_add(config.resynchronise);
            self.counters.snapshots += 1;
            return Some(self.part(None, 0, view, config, now));
        }
        let settled = self.is_settled();
        let routine = settled && self.routine.is_some_and(|at| at <= now);
        match (self.pending.urgency(), self.whole) {
            (Some(Urgency::Critical), _) => Some(self.delta(view, config, routine, now)),
            (_, Whole::Sending { after, part }) => Some(self.part(after, part, view, config, now)),
            (Some(Urgency::Routine), _) if routine => Some(self.delta(view, config, true, now)),
            (Some(Urgency::Routine) | None, Whole::Due | Whole::Sent { .. } | Whole::Done) => {
                let refresh = settled && self.refresh.is_some_and(|at| at <= now);
                refresh.then(|| {
                    self.refresh = now.checked_add(config.refresh);
                    self.counters.refreshes += 1;
                    self.message(AdvertisementContent::Refresh, now)
                })
            }
        }
    }

    fn message(&mut self, content: AdvertisementContent, now: Instant) -> Message {
        let since = self.since;
        self.sequence += 1;
        self.since = self.sequence;
        self.awaiting.get_or_insert(now);
        self.counters.messages += 1;
        (since, self.sequence, content)
    }

    /// The next part of the whole view. Instances that change behind it go as changes, those before it with it.
    fn part(
        &mut self,
        after: Option<Key>,
        part: u32,
        view: &View,
        config: &NorthboundConfig,
        now: Instant,
    ) -> Message {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let scope = &self.config.scope;
        let mut rest =
            view.range((from, Bound::Unbounded)).filter(|((cs_id, _), _)| scope.covers(*cs_id)).peekable();
        let mut records = Vec::new();
        while records.len() < config.batch.max(1) {
            let Some((key, record)) = rest.next() else { break };
            self.pending.forget(*key);
            records.push(MetricRecord::clone(record));
        }
        let last = rest.peek().is_none();
        if part == 0 {
            self.since = 0;
        }
        if last {
            self.whole = Whole::Sent { last: self.sequence + 1 };
            self.heartbeat = now.checked_add(config.heartbeat);
            self.refresh = now.checked_add(config.refresh);
        } else {
            let after = records.last().map(|record| (record.cs_id, record.csci_id));
            self.whole = Whole::Sending { after, part: part.saturating_add(1) };
        }
        self.counters.records += records.len() as u64;
        self.message(AdvertisementContent::Snapshot { part, last, records }, now)
    }

    fn delta(&mut self, view: &View, config: &NorthboundConfig, routine: bool, now: Instant) -> Message {
        let changes = self.pending.take(self.sequence + 1, config.batch, routine);
        let mut records = Vec::new();
        let mut withdrawals = Vec::new();
        for ((cs_id, csci_id), withdrawn) in changes {
            match (withdrawn, view.get(&(cs_id, csci_id))) {
                (None, Some(record)) => records.push(MetricRecord::clone(record)),
                (reason, _) => withdrawals.push(Withdrawal {
                    cs_id,
                    csci_id,
                    reason: reason.unwrap_or(WithdrawalReason::Removed),
                }),
            }
        }
        if routine {
            self.last_routine = Some(now);
            self.routine = self.routine.filter(|_| self.pending.has_routine());
        }
        self.counters.records += records.len() as u64;
        self.counters.withdrawals += withdrawals.len() as u64;
        self.message(AdvertisementContent::Delta { records, withdrawals }, now)
    }

    /// The message that leaves it with nothing.
    pub(super) fn farewell(&mut self, now: Instant) -> Message {
        self.since = 0;
        self.message(AdvertisementContent::Snapshot { part: 0, last: true, records: Vec::new() }, now)
    }
}
