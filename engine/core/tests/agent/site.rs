//! A site with SCIs that report, and a clock.

use cats_engine_core::sma::{
    Event, InstanceKey, Output, PullCause, Refusal, SciState, SciView, Sma, SmaConfig, Taken,
};
use cats_engine_types::{
    CsId, CsciId, Freshness, Health, Report, ReportCause, ReportKind, ReportedMetrics, UnixMicros,
};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub(crate) fn key(service: u32, instance: u32) -> InstanceKey {
    InstanceKey { cs_id: CsId::number(service).unwrap(), csci_id: CsciId::number(instance).unwrap() }
}

/// What an SCI that is well says.
pub(crate) fn well(gas: u64) -> ReportedMetrics {
    ReportedMetrics {
        gas: Some(gas),
        computing_time: Some(10_000),
        health: Some(Health::Healthy),
        ..ReportedMetrics::default()
    }
}

pub(crate) fn of_health(health: Health, gas: u64) -> ReportedMetrics {
    ReportedMetrics { health: Some(health), ..well(gas) }
}

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// When simulated time begins.
const START: u64 = 1_800_000_000_000_000;

pub(crate) struct Site {
    pub(crate) sma: Sma,
    pub(crate) now: Instant,
    pub(crate) wall: UnixMicros,
    pub(crate) outputs: Vec<Output>,
    epoch: u64,
    sequences: BTreeMap<InstanceKey, u64>,
}

impl Site {
    pub(crate) fn new(config: SmaConfig) -> Self {
        let (now, wall) = (Instant::now(), UnixMicros(START));
        let mut sma = Sma::new("sma-1".parse().unwrap(), START * 1000, now, wall);
        sma.configure(config, now, wall);
        let sequences = BTreeMap::new();
        let mut site = Self { sma, now, wall, outputs: Vec::new(), epoch: START * 1000, sequences };
        site.settle();
        site
    }

    /// The next report of an SCI.
    pub(crate) fn next(&mut self, key: InstanceKey, metrics: ReportedMetrics) -> Report {
        let sequence = self.sequences.entry(key).or_default();
        *sequence += 1;
        Report {
            kind: ReportKind::Full,
            cause: ReportCause::Heartbeat,
            cs_id: key.cs_id,
            csci_id: key.csci_id,
            locator: None,
            freshness: Freshness { epoch: self.epoch, sequence: *sequence },
            timestamp: self.wall,
            ttl: None,
            metrics,
        }
    }

    pub(crate) fn send(&mut self, report: Report) -> Result<Taken, Refusal> {
        let outcome = self.sma.handle_report(report, self.now, self.wall);
        self.drain();
        outcome
    }

    pub(crate) fn full(&mut self, key: InstanceKey, metrics: ReportedMetrics) -> Result<Taken, Refusal> {
        let report = self.next(key, metrics);
        self.send(report)
    }

    pub(crate) fn delta(&mut self, key: InstanceKey, metrics: ReportedMetrics) -> Result<Taken, Refusal> {
        let report = Report { kind: ReportKind::Delta, ..self.next(key, metrics) };
        self.send(report)
    }

    /// All SCIs start anew.
    pub(crate) fn restart_senders(&mut self) {
        self.epoch = (self.wall.0 * 1000).max(self.epoch + 1);
        self.sequences.clear();
    }

    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.sma.poll_output() {
            self.outputs.push(output);
        }
    }

    /// Handles what is due now.
    pub(crate) fn settle(&mut self) {
        self.drain();
        let mut times = 0;
        while self.sma.poll_timeout().is_some_and(|(at, _)| at <= self.now) {
            times += 1;
            assert!(times < 10_000, "it never comes to rest: {:?}", self.sma.poll_timeout());
            self.sma.handle_timeout(self.now, self.wall);
            self.drain();
        }
    }

    /// Time passes, deadline by deadline.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some((at, _)) = self.sma.poll_timeout().filter(|(at, _)| *at <= end) {
            self.advance(at.max(self.now) - self.now);
            self.sma.handle_timeout(self.now, self.wall);
            self.drain();
        }
        self.advance(end - self.now);
    }

    fn advance(&mut self, time: Duration) {
        self.now += time;
        self.wall.0 = self.wall.0.saturating_add(u64::try_from(time.as_micros()).unwrap());
    }

    pub(crate) fn view(&self, key: InstanceKey) -> SciView {
        self.sma.instance(key).unwrap()
    }

    pub(crate) fn gas(&self, key: InstanceKey) -> Option<u32> {
        self.view(key).metrics.map(|metrics| metrics.sample.gas)
    }

    pub(crate) fn state(&self, key: InstanceKey) -> SciState {
        self.view(key).state
    }

    /// Takes the outputs so far.
    pub(crate) fn take(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.outputs)
    }

    pub(crate) fn events(&mut self) -> Vec<Event> {
        let event = |output| if let Output::Event(event) = output { Some(event) } else { None };
        self.take().into_iter().filter_map(event).collect()
    }

    /// The states that an SCI went through.
    pub(crate) fn states(&mut self, of: InstanceKey) -> Vec<SciState> {
        let state = |event| match event {
            Event::State { key, to, .. } if key == of => Some(to),
            _ => None,
        };
        self.events().into_iter().filter_map(state).collect()
    }

    pub(crate) fn pulls(&mut self) -> Vec<(InstanceKey, PullCause)> {
        let pull =
            |output| if let Output::Pull { key, cause, .. } = output { Some((key, cause)) } else { None };
        self.take().into_iter().filter_map(pull).collect()
    }
}
