//! What a policy would do to a record, said of each rule.

use super::{Effect, Outcome, Policy, Subject, Work};
use crate::sma::policy::metric::{Number, health_name};
use crate::sma::policy::rule::{Action, Amount, Condition, Test, Value};
use cats_engine_types::MetricRecord;

/// What one rule would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun<'p> {
    /// Its name.
    pub rule: &'p str,
    /// Its priority.
    pub priority: u32,
    /// Whether it would fire.
    pub fires: bool,
    /// The tests of its condition, in the order in which they stand there.
    pub tests: Vec<TestReport<'p>>,
    /// What its actions would do; empty where it does not fire.
    pub actions: Vec<ActionReport<'p>>,
}

/// How a test comes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestReport<'p> {
    /// The test.
    pub test: &'p Test,
    /// What is there: nothing where the metric is not known.
    pub found: Option<String>,
    /// Whether it holds.
    pub holds: bool,
}

/// What an action would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionReport<'p> {
    /// The action.
    pub action: &'p Action,
    /// What the metric is before it; nothing where it is not there, or none is changed.
    pub before: Option<String>,
    /// What it is after it.
    pub after: Option<String>,
    /// How it goes.
    pub effect: Effect,
}

impl Policy {
    /// Does what [`Policy::apply`] does to a record, and tells of every rule what it had to do with that.
    pub fn dry_run<'p>(
        &'p self,
        subject: &Subject<'_>,
        record: &mut MetricRecord,
    ) -> (Outcome, Vec<DryRun<'p>>) {
        let mut outcome = Outcome::default();
        let mut reports = Vec::with_capacity(self.rules.len());
        let mut work = Work::new(subject, record);
        for (place, ranked) in self.rules.iter().enumerate() {
            let mut tests = Vec::new();
            work.report_tests(&ranked.rule.condition, &mut tests);
            let fires = work.holds(&ranked.rule.condition);
            let mut actions = Vec::new();
            if fires {
                outcome.fired.insert(place);
                actions.extend(ranked.rule.actions.iter().map(|action| work.report_action(action)));
            }
            reports.push(DryRun { rule: &ranked.name, priority: ranked.priority, fires, tests, actions });
        }
        outcome.suppress = work.suppress;
        work.finish();
        self.transform.apply(&mut record.sample);
        outcome.flagged = record.flagged;
        (outcome, reports)
    }
}

/// What a policy would do to many records, counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// On how many records each rule fired, by its place in [`Policy::rules`].
    pub fired: Vec<u64>,
    /// Records that were tried.
    pub tried: u64,
    /// Of these, the ones that rules, margin or bounds change.
    pub changed: u64,
    /// Of these, the ones that are told only when it is critical.
    pub suppressed: u64,
    /// Of these, the ones in doubt.
    pub flagged: u64,
}

impl Policy {
    /// Applies this policy to a record without keeping what comes of it, and counts that. So a policy is tried on all
    /// that is known, a few records at a time, before it is in force.
    pub fn count(&self, subject: &Subject<'_>, record: &MetricRecord, tally: &mut Tally) {
        let mut after = record.clone();
        let outcome = self.apply(subject, &mut after);
        tally.fired.resize(self.rules.len().max(tally.fired.len()), 0);
        for (place, fired) in tally.fired.iter_mut().enumerate() {
            *fired += u64::from(outcome.fired.has(place));
        }
        tally.tried += 1;
        tally.changed += u64::from(after != *record);
        tally.suppressed += u64::from(outcome.suppress);
        tally.flagged += u64::from(outcome.flagged);
    }
}

impl Work<'_> {
    fn report_tests<'p>(&self, condition: &'p Condition, into: &mut Vec<TestReport<'p>>) {
        match condition {
            Condition::All(members) | Condition::Any(members) => {
                for member in members {
                    self.report_tests(member, into);
                }
            }
            Condition::Not(inner) => self.report_tests(inner, into),
            Condition::Test(test) => {
                into.push(TestReport { test, found: self.found(test), holds: self.passes(test) });
            }
        }
    }

    fn found(&self, test: &Test) -> Option<String> {
        match test {
            Test::Number { metric, .. } => self.show(*metric),
            Test::Health { .. } => Some(health_name(self.record.sample.health).to_owned()),
            Test::State { .. } => Some(self.subject.state.name().to_owned()),
            Test::Service { .. } => Some(self.record.cs_id.to_string()),
            Test::Instance { .. } => Some(self.record.csci_id.to_string()),
            Test::Time(_) | Test::Flagged => Some(self.passes(test).to_string()),
        }
    }

    fn show(&self, metric: Number) -> Option<String> {
        self.read(metric).map(|value| Value { metric, value }.to_string())
    }

    fn subject_of(&self, action: &Action) -> Option<String> {
        match action {
            Action::Set(target, _)
            | Action::Reduce(target, Amount::Value(_) | Amount::Share(_))
            | Action::Cap(target, _)
            | Action::Floor(target, _) => self.show(target.number()),
            Action::SetHealth(_) => Some(health_name(self.record.sample.health).to_owned()),
            Action::SuppressUpdates | Action::Flag => None,
        }
    }

    fn report_action<'p>(&mut self, action: &'p Action) -> ActionReport<'p> {
        let before = self.subject_of(action);
        let effect = self.act(*action);
        ActionReport { action, before, after: self.subject_of(action), effect }
    }
}
