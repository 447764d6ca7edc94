//! Update control in simulated time, against a site that tells what it is given.

mod random;
mod waiting;

use super::*;
use crate::sma::calendar::{When, Window};
use crate::sma::update::{BucketConfig, DampingConfig, LoadConfig, OptionalMetrics};
use cats_engine_types::{CsId, CsciId, Health, Micros, Price, Sample, Score};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// The wall clock at the beginning.
const WALL: u64 = 1_795_996_800_000_000;

fn bucket(rate: u32, burst: u32, reserve: u32) -> Option<BucketConfig> {
    Some(BucketConfig {
        rate: NonZeroU32::new(rate).unwrap(),
        burst: NonZeroU32::new(burst).unwrap(),
        reserve,
    })
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Maintenance from and until so many seconds after the beginning.
fn maintenance(from: u64, until: u64) -> Calendar {
    let at = |seconds| UnixMicros(WALL + seconds * 1_000_000);
    let when = When::Once { from: at(from), until: at(until) };
    Calendar::new(vec![Window { name: "upgrade".into(), maintenance: true, when }]).unwrap()
}

fn record(id: u32) -> MetricRecord {
    let sample = Sample {
        gas: 100,
        computing_time: Micros::from_millis(10),
        computing_time_min: None,
        computing_time_max: None,
        health: Health::Healthy,
        price: None,
        reputation: None,
        security_level: None,
        instances: None,
    };
    MetricRecord {
        cs_id: CsId::number(1).unwrap(),
        csci_id: CsciId::number(id + 1).unwrap(),
        locator: None,
        sample,
        taken: UnixMicros(0),
        valid_for: Duration::from_secs(90),
        flagged: false,
    }
}

/// An update as it was told.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Told {
    /// In seconds since the beginning.
    at: f64,
    id: u32,
    trigger: Trigger,
    /// How long it waited.
    waited: Duration,
}

/// What a C-SMA around update control would do. On each batch it checks that critical updates go first, and they alone
/// in maintenance.
struct Agent {
    control: Control<u32>,
    begin: Instant,
    now: Instant,
    /// How far the wall clock was set.
    set: i64,
    holds: BTreeMap<u32, (MetricRecord, bool)>,
    told: BTreeMap<u32, MetricRecord>,
    log: Vec<Told>,
}

impl Agent {
    fn new(config: UpdateConfig, calendar: Calendar) -> Self {
        let begin = Instant::now();
        let control = Control::new(config, calendar, begin, UnixMicros(WALL));
        let (holds, told) = (BTreeMap::new(), BTreeMap::new());
        Self { control, begin, now: begin, set: 0, holds, told, log: Vec::new() }
    }

    fn plain() -> Self {
        Self::new(UpdateConfig::default(), Calendar::default())
    }

    fn wall(&self) -> UnixMicros {
        let passed = u64::try_from((self.now - self.begin).as_micros()).unwrap();
        UnixMicros((WALL + passed).checked_add_signed(self.set).unwrap())
    }

    /// A report came that changed the record of an SCI.
    fn report(&mut self, id: u32, change: impl FnOnce(&mut MetricRecord)) -> Option<Trigger> {
        let wall = self.wall();
        let (holds, _) = self.holds.entry(id).or_insert_with(|| (record(id), false));
        holds.taken = wall;
        change(holds);
        self.offer(id)
    }

    fn suppress(&mut self, id: u32, suppress: bool) {
        self.holds.entry(id).or_insert_with(|| (record(id), false)).1 = suppress;
        self.offer(id);
    }

    fn offer(&mut self, id: u32) -> Option<Trigger> {
        self.control.look(self.now, self.wall());
        let (holds, suppress) = self.holds.get(&id).unwrap();
        let trigger = self.control.offer(id, self.told.get(&id), holds, *suppress, self.now);
        self.drain();
        trigger
    }

    fn drain(&mut self) {
        loop {
            let batch = self.control.take(self.now);
            if batch.is_empty() {
                break;
            }
            assert!(batch.is_sorted_by_key(|due| (due.trigger, due.since)), "{batch:?}");
            let critical_is_left =
                self.control.ready.first().is_some_and(|(trigger, ..)| trigger.is_critical());
            assert!(!critical_is_left || batch.iter().all(|due| due.trigger.is_critical()), "{batch:?}");
            let maintenance = self.control.moment().maintenance;
            assert!(!maintenance || batch.iter().all(|due| due.trigger.is_critical()), "{batch:?}");
            for due in batch {
                self.tell(due);
            }
        }
    }

    fn tell(&mut self, due: Due<u32>) {
        let at = (self.now - self.begin).as_secs_f64();
        let waited = self.now - due.since;
        self.log.push(Told { at, id: due.id, trigger: due.trigger, waited });
        if due.trigger == Trigger::Withdrawal {
            self.told.remove(&due.id);
            return;
        }
        let (full, suppress) = self.holds.get(&due.id).unwrap().clone();
        let mut light = full.clone();
        let less = self.control.lighten(&mut light, self.told.get(&due.id));
        if less {
            self.control.offer(due.id, Some(&light), &full, suppress, self.now);
        }
        self.told.insert(due.id, light);
    }

    /// Lets time pass, and handles what is due meanwhile.
    fn pass(&mut self, duration: Duration) {
        let until = self.now + duration;
        for idle in 0.. {
            assert!(idle < 1_000_000, "it wakes up without end");
            match self.control.poll_timeout().filter(|(at, _)| *at <= until) {
                Some((at, _)) => self.now = self.now.max(at),
                None => break,
            }
            self.control.look(self.now, self.wall());
            self.drain();
        }
        self.now = until;
        self.control.look(self.now, self.wall());
        self.drain();
    }

    /// What was told since this was last asked: when, of whom, why.
    fn log(&mut self) -> Vec<(f64, u32, Trigger)> {
        let round = |at: f64| (at * 1000.0).round() / 1000.0;
        std::mem::take(&mut self.log)
            .into_iter()
            .map(|told| (round(told.at), told.id, told.trigger))
            .collect()
    }
}
