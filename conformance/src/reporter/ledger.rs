//! What was sent, and what became of it.

use super::fault::Fault;
use super::load::Draft;
use cats_engine_types::{CsciId, Freshness};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Instant;

/// Hostile reports of an instance whose acknowledgement may still be taken back, and reports that an agent may yet take
/// in after it refused them as too many.
const REMEMBERED: usize = 1024;

/// Eighths of an octave that round-trip times are counted in, from 1 µs on.
const BUCKETS: usize = 256;

/// What was sent over a connection, and what became of it.
#[derive(Debug)]
pub(super) struct Ledger {
    tracks: HashMap<CsciId, Track>,
    pub(super) totals: Totals,
    open: u64,
}

/// The reports of an instance that are not answered.
#[derive(Debug, Default)]
struct Track {
    /// In order.
    honest: VecDeque<(u64, Instant)>,
    hostile: Vec<(u64, Fault)>,
    acknowledged: VecDeque<(u64, Fault)>,
    too_often: VecDeque<u64>,
}

/// Counts.
#[derive(Debug, Clone)]
pub(super) struct Totals {
    pub(super) sent: BTreeMap<Option<Fault>, u64>,
    /// Of these, taken in at once.
    pub(super) acknowledged: BTreeMap<Option<Fault>, u64>,
    /// Refused: how often for which reason, and the words of the first.
    pub(super) refused: BTreeMap<(Option<Fault>, String), (u64, String)>,
    /// Refused as too often and taken in later.
    pub(super) taken_later: u64,
    /// Whose stream ended before they were answered.
    pub(super) lost: BTreeMap<Option<Fault>, u64>,
    /// That a broker has confirmed.
    pub(super) published: u64,
    /// Answers to what was not asked.
    pub(super) unmatched: u64,
    pub(super) pulls: u64,
    /// The last pace that the agent asked for, in milliseconds.
    pub(super) pace_ms: Option<u64>,
    /// Connections that were there.
    pub(super) connected: u64,
    /// Why connections ended or did not come about.
    pub(super) disconnected: BTreeMap<String, u64>,
    round_trips: Vec<u64>,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            sent: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            refused: BTreeMap::new(),
            taken_later: 0,
            lost: BTreeMap::new(),
            published: 0,
            unmatched: 0,
            pulls: 0,
            pace_ms: None,
            connected: 0,
            disconnected: BTreeMap::new(),
            round_trips: vec![0; BUCKETS],
        }
    }
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self { tracks: HashMap::new(), totals: Totals::default(), open: 0 }
    }

    /// Reports that are not answered.
    pub(super) fn open(&self) -> u64 {
        self.open
    }

    /// A report goes out whose answer is awaited.
    pub(super) fn sent(&mut self, draft: &Draft, at: Instant) {
        self.count_sent(draft);
        self.open += 1;
        let track = self.tracks.entry(draft.report.csci_id).or_default();
        let sequence = draft.report.freshness.sequence;
        match draft.fault {
            None => track.honest.push_back((sequence, at)),
            Some(fault) => track.hostile.push((sequence, fault)),
        }
    }

    /// A report goes out.
    pub(super) fn count_sent(&mut self, draft: &Draft) {
        *self.totals.sent.entry(draft.fault).or_default() += 1;
    }

    /// All up to this one are taken in that were not refused.
    pub(super) fn acknowledged(&mut self, id: CsciId, upto: Freshness, at: Instant) {
        let Some(track) = self.tracks.get_mut(&id) else {
            self.totals.unmatched += 1;
            return;
        };
        let mut honest = 0;
        while let Some((_, sent)) = track.honest.pop_front_if(|(sequence, _)| *sequence <= upto.sequence) {
            self.totals.answered_after(at.saturating_duration_since(sent).as_micros());
            honest += 1;
        }
        let taken: Vec<(u64, Fault)> =
            track.hostile.extract_if(.., |(sequence, _)| *sequence <= upto.sequence).collect();
        let answered = honest + taken.len() as u64;
        if answered == 0 {
            let late = track.too_often.iter().position(|sequence| *sequence == upto.sequence);
            match late.and_then(|at| track.too_often.remove(at)) {
                Some(_) => self.totals.taken_later += 1,
                None => self.totals.unmatched += 1,
            }
        }
        self.open -= answered;
        *self.totals.acknowledged.entry(None).or_default() += honest;
        for (sequence, fault) in taken {
            *self.totals.acknowledged.entry(Some(fault)).or_default() += 1;
            remember(&mut track.acknowledged, (sequence, fault));
        }
    }

    /// A report is not taken in, or not yet.
    pub(super) fn rejected(&mut self, id: CsciId, freshness: Freshness, reason: &str, detail: &str) {
        let sequence = freshness.sequence;
        let Some(track) = self.tracks.get_mut(&id) else {
            self.totals.unmatched += 1;
            return;
        };
        let hostile = track.hostile.iter().position(|(known, _)| *known == sequence);
        let honest = track.honest.iter().position(|(known, _)| *known == sequence);
        let hasty = track.acknowledged.iter().position(|(known, _)| *known == sequence);
        let fault = if let Some(at) = hostile {
            self.open -= 1;
            Some(track.hostile.swap_remove(at).1)
        } else if let Some(at) = honest {
            self.open -= 1;
            track.honest.remove(at);
            None
        } else if let Some((_, fault)) = hasty.and_then(|at| track.acknowledged.remove(at)) {
            // A replay: the acknowledgement of the first one was under way.
            *self.totals.acknowledged.entry(Some(fault)).or_default() -= 1;
            Some(fault)
        } else {
            self.totals.unmatched += 1;
            return;
        };
        if reason == "too-often" {
            remember(&mut track.too_often, sequence);
        }
        self.totals.refuse(fault, reason, detail);
    }

    /// A stream ended. Where it is the answer to a fault, that is what it is counted as.
    pub(super) fn ended(&mut self, reason: &str) {
        self.totals.disconnected(reason);
        self.open = 0;
        for track in self.tracks.values_mut() {
            let honest = std::mem::take(&mut track.honest).len() as u64;
            if honest > 0 {
                *self.totals.lost.entry(None).or_default() += honest;
            }
            for (_, fault) in std::mem::take(&mut track.hostile) {
                match fault.may_end_the_stream() {
                    true => self.totals.refuse(Some(fault), "disconnected", reason),
                    false => *self.totals.lost.entry(Some(fault)).or_default() += 1,
                }
            }
        }
    }

    /// A request that many reports were in is refused as a whole.
    pub(super) fn refused_together(&mut self, drafts: &[Draft], reason: &str, detail: &str) {
        for draft in drafts {
            self.rejected(draft.report.csci_id, draft.report.freshness, reason, detail);
        }
    }

    /// The counts; what is open stays without an answer.
    pub(super) fn into_totals(self) -> Totals {
        self.totals
    }
}

impl Totals {
    fn refuse(&mut self, fault: Option<Fault>, reason: &str, detail: &str) {
        let entry = self.refused.entry((fault, reason.to_owned()));
        entry.or_insert_with(|| (0, detail.chars().take(200).collect())).0 += 1;
    }

    pub(super) fn disconnected(&mut self, reason: &str) {
        *self.disconnected.entry(reason.to_owned()).or_default() += 1;
    }

    fn answered_after(&mut self, micros: u128) {
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let bucket = ((micros.max(1) as f64).log2() * 8.0) as usize;
        if let Some(count) = self.round_trips.get_mut(bucket.min(BUCKETS - 1)) {
            *count += 1;
        }
    }

    /// The round-trip time that so many of a hundred reports do not exceed, in microseconds, 9 % too high at most.
    pub(super) fn round_trip_us(&self, hundredth: u64) -> Option<u64> {
        let all: u64 = self.round_trips.iter().sum();
        let mut left = (all * hundredth).div_ceil(100);
        let mut upper = 0_i32;
        for count in &self.round_trips {
            upper += 1;
            left = left.saturating_sub(*count);
            if left == 0 && all > 0 {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                return Some((f64::from(upper) / 8.0).exp2() as u64);
            }
        }
        None
    }

    /// Adds those of another connection.
    pub(super) fn add(&mut self, other: Self) {
        let add = |all: &mut BTreeMap<Option<Fault>, u64>, more: BTreeMap<Option<Fault>, u64>| {
            for (fault, count) in more {
                *all.entry(fault).or_default() += count;
            }
        };
        add(&mut self.sent, other.sent);
        add(&mut self.acknowledged, other.acknowledged);
        add(&mut self.lost, other.lost);
        for (key, (count, words)) in other.refused {
            self.refused.entry(key).or_insert((0, words)).0 += count;
        }
        for (reason, count) in other.disconnected {
            *self.disconnected.entry(reason).or_default() += count;
        }
        for (all, more) in self.round_trips.iter_mut().zip(other.round_trips) {
            *all += more;
        }
        self.taken_later += other.taken_later;
        self.published += other.published;
        self.unmatched += other.unmatched;
        self.pulls += other.pulls;
        self.connected += other.connected;
        self.pace_ms = other.pace_ms.or(self.pace_ms);
    }
}

fn remember<T>(some: &mut VecDeque<T>, one: T) {
    if some.len() == REMEMBERED {
        some.pop_front();
    }
    some.push_back(one);
}
