//! What the rules make of one record, and why.

mod dry_run;

pub use dry_run::{ActionReport, DryRun, Tally, TestReport};

use super::compile::Policy;
use super::metric::{Number, Target};
use super::rule::{Action, Amount, Condition, Test};
use crate::sma::SciState;
use crate::sma::calendar::Windows;
use cats_engine_types::{Health, InstanceCounts, MetricRecord, Micros, Price, Sample, Score};

/// What is known of a service at this site: of all its SCIs as they reported, before any rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SiteView {
    /// The sum of their slots.
    pub gas: u64,
    /// How many they are.
    pub scis: u32,
    /// That are HEALTHY.
    pub healthy: u32,
    /// That are DEGRADED.
    pub degraded: u32,
    /// That are UNHEALTHY.
    pub unhealthy: u32,
    /// Of which nothing is known.
    pub unknown: u32,
}

impl SiteView {
    /// A metric of the site.
    pub(super) fn read(&self, metric: Number) -> Option<u64> {
        match metric {
            Number::SiteGas => Some(self.gas),
            Number::SiteScis => Some(u64::from(self.scis)),
            Number::SiteHealthy => Some(u64::from(self.healthy)),
            Number::SiteDegraded => Some(u64::from(self.degraded)),
            Number::SiteUnhealthy => Some(u64::from(self.unhealthy)),
            Number::SiteUnknown => Some(u64::from(self.unknown)),
            Number::Gas
            | Number::RawGas
            | Number::ComputingTime
            | Number::RawComputingTime
            | Number::Price
            | Number::Reputation
            | Number::SecurityLevel
            | Number::HealthyInstances
            | Number::DegradedInstances
            | Number::UnhealthyInstances
            | Number::UnknownInstances => None,
        }
    }
}

/// What rules look at besides the record.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The service at this site.
    pub site: &'a SiteView,
    /// The sample as it was reported, before smoothing.
    pub raw: &'a Sample,
    /// The SCI as a source.
    pub state: SciState,
    /// The windows that are open now, as [`Calendar::at`](crate::sma::calendar::Calendar::at) has them.
    pub open: Windows,
}

/// Which rules fired, by their place in [`Policy::rules`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fired([u64; super::MAX_RULES / 64]);

impl Fired {
    fn insert(&mut self, place: usize) {
        if let Some(word) = self.0.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    /// Whether the rule at this place fired.
    pub fn has(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word & (1 << (place % 64)) != 0)
    }

    /// The places of those that fired, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..super::MAX_RULES).filter(|place| self.has(*place))
    }
}

/// What came of a policy besides the changed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Outcome {
    /// The rules that fired.
    pub fired: Fired,
    /// Whether only critical updates are to go out.
    pub suppress: bool,
    /// Whether there are doubts: those that the record came with, or a rule's.
    pub flagged: bool,
}

/// What an action did to a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It changed it, or nothing was left to change.
    Done,
    /// The metric is not there.
    Absent,
    /// A rule before it has set the metric for good, or has bounded it against this.
    Overruled,
}

impl Policy {
    /// Applies rules, safety margin, ceiling and floor to a record whose sample was smoothed.
    pub fn apply(&self, subject: &Subject<'_>, record: &mut MetricRecord) -> Outcome {
        let mut outcome = Outcome::default();
        let mut work = Work::new(subject, record);
        for (place, ranked) in self.rules.iter().enumerate() {
            if !work.holds(&ranked.rule.condition) {
                continue;
            }
            outcome.fired.insert(place);
            for action in &ranked.rule.actions {
                work.act(*action);
            }
        }
        outcome.suppress = work.suppress;
        work.finish();
        self.transform.apply(&mut record.sample);
        outcome.flagged = record.flagged;
        outcome
    }
}

/// What rules have said of a metric so far.
#[derive(Debug, Clone, Copy, Default)]
struct Bound {
    set: bool,
    floor: u64,
    /// How far it is below the largest number, so that the default is no cap.
    below: u64,
}

impl Bound {
    fn cap(self) -> u64 {
        u64::MAX - self.below
    }
}

/// A record under the rules.
struct Work<'a> {
    subject: &'a Subject<'a>,
    record: &'a mut MetricRecord,
    bounds: [Bound; Target::ALL.len()],
    health_set: bool,
    suppress: bool,
}

impl<'a> Work<'a> {
    fn new(subject: &'a Subject<'a>, record: &'a mut MetricRecord) -> Self {
        Self { subject, record, bounds: Default::default(), health_set: false, suppress: false }
    }

    fn holds(&self, condition: &Condition) -> bool {
        match condition {
            Condition::All(members) => members.iter().all(|member| self.holds(member)),
            Condition::Any(members) => members.iter().any(|member| self.holds(member)),
            Condition::Not(inner) => !self.holds(inner),
            Condition::Test(test) => self.passes(test),
        }
    }

    fn passes(&self, test: &Test) -> bool {
        match test {
            Test::Number { metric, is, value } => {
                self.read(*metric).is_some_and(|read| is.holds(read, *value))
            }
            Test::Health { equal, value } => (self.record.sample.health == *value) == *equal,
            Test::State { equal, value } => (self.subject.state == *value) == *equal,
            Test::Service { equal, value } => (self.record.cs_id == *value) == *equal,
            Test::Instance { equal, value } => (self.record.csci_id == *value) == *equal,
            Test::Time(window) => !window.windows.common(self.subject.open).is_empty(),
            Test::Flagged => self.record.flagged,
        }
    }

    fn read(&self, metric: Number) -> Option<u64> {
        let sample = &self.record.sample;
        let instances = |of: fn(InstanceCounts) -> u32| sample.instances.map(|counts| u64::from(of(counts)));
        match metric {
            Number::SiteGas
            | Number::SiteScis
            | Number::SiteHealthy
            | Number::SiteDegraded
            | Number::SiteUnhealthy
            | Number::SiteUnknown => self.subject.site.read(metric),
            Number::Gas => Some(u64::from(sample.gas)),
            Number::RawGas => Some(u64::from(self.subject.raw.gas)),
            Number::ComputingTime => Some(sample.computing_time.0),
            Number::RawComputingTime => Some(self.subject.raw.computing_time.0),
            Number::Price => sample.price.map(|Price(price)| u64::from(price)),
            Number::Reputation => sample.reputation.map(|score| u64::from(u8::from(score))),
            Number::SecurityLevel => sample.security_level.map(|score| u64::from(u8::from(score))),
            Number::HealthyInstances => instances(|counts| counts.healthy),
            Number::DegradedInstances => instances(|counts| counts.degraded),
            Number::UnhealthyInstances => instances(|counts| counts.unhealthy),
            Number::UnknownInstances => instances(|counts| counts.unknown),
        }
    }

    /// Writes a value that the parser, or an earlier value, has kept within the range of the metric.
    fn write(&mut self, target: Target, value: u64) {
        let sample = &mut self.record.sample;
        let small = u32::try_from(value).unwrap_or(u32::MAX);
        let score = u8::try_from(value).ok().and_then(|value| Score::try_from(value).ok());
        match target {
            Target::Gas => sample.gas = small,
            Target::ComputingTime => sample.computing_time = Micros(value),
            Target::Price => sample.price = Some(Price(small)),
            Target::Reputation => sample.reputation = score.or(sample.reputation),
            Target::SecurityLevel => sample.security_level = score.or(sample.security_level),
        }
    }

    fn bound(&self, target: Target) -> Bound {
        self.bounds.get(target as usize).copied().unwrap_or_default()
    }

    fn bound_mut(&mut self, target: Target) -> Option<&mut Bound> {
        self.bounds.get_mut(target as usize)
    }

    fn act(&mut self, action: Action) -> Effect {
        match action {
            Action::Set(target, value) => self.set(target, value),
            Action::SetHealth(health) => {
                if self.health_set {
                    return Effect::Overruled;
                }
                self.health_set = true;
                self.record.sample.health = health;
                Effect::Done
            }
            Action::Reduce(target, amount) => self.change(target, |value| match amount {
                Amount::Value(by) => value.saturating_sub(by),
                Amount::Share(share) => share.off(value),
            }),
            Action::Cap(target, at) => self.cap(target, at),
            Action::Floor(target, at) => self.raise(target, at),
            Action::SuppressUpdates => {
                self.suppress = true;
                Effect::Done
            }
            Action::Flag => {
                self.record.flagged = true;
                Effect::Done
            }
        }
    }

    fn set(&mut self, target: Target, value: u64) -> Effect {
        let bound = self.bound(target);
        if bound.set {
            return Effect::Overruled;
        }
        let within = value.max(bound.floor).min(bound.cap());
        self.write(target, within);
        if let Some(bound) = self.bound_mut(target) {
            bound.set = true;
        }
        if within == value { Effect::Done } else { Effect::Overruled }
    }

    fn cap(&mut self, target: Target, at: u64) -> Effect {
        let bound = self.bound(target);
        if bound.set {
            return Effect::Overruled;
        }
        if let Some(bound) = self.bound_mut(target) {
            bound.below = u64::MAX - at.max(bound.floor).min(bound.cap());
        }
        self.change(target, |value| value.min(at))
    }

    fn raise(&mut self, target: Target, at: u64) -> Effect {
        let bound = self.bound(target);
        if bound.set {
            return Effect::Overruled;
        }
        if let Some(bound) = self.bound_mut(target) {
            bound.floor = at.min(bound.cap()).max(bound.floor);
        }
        let none = |value| target == Target::Gas && value == 0;
        self.change(target, |value| if none(value) { value } else { value.max(at) })
    }

    /// Changes a metric that is there and that no rule has set, within what rules have bounded it to.
    fn change(&mut self, target: Target, change: impl FnOnce(u64) -> u64) -> Effect {
        let bound = self.bound(target);
        let Some(value) = self.read(target.number()) else { return Effect::Absent };
        if bound.set {
            return Effect::Overruled;
        }
        let wanted = change(value);
        // A floor makes no slots where there are none, so neither do floors before this.
        let floor = if target == Target::Gas && value == 0 { 0 } else { bound.floor };
        let within = wanted.max(floor).min(bound.cap());
        self.write(target, within);
        if within == wanted { Effect::Done } else { Effect::Overruled }
    }

    /// Whatever rules said: what was not heard of does not serve.
    fn finish(&mut self) {
        match self.subject.state {
            SciState::Failed => {
                self.record.sample.health = Health::Unhealthy;
                self.record.sample.gas = 0;
            }
            SciState::Active | SciState::Healthy | SciState::Stale => {}
        }
    }
}
