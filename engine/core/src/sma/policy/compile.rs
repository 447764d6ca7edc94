//! Rules in order, and what of the world they read.

use super::Number;
use super::apply::SiteView;
use super::parser::{self, Refusal};
use super::rule::{Comparison, Condition, Rule, Test};
use crate::sma::calendar::{Calendar, Windows};
use crate::sma::transform::TransformConfig;
use std::collections::BTreeSet;
use std::fmt;

/// Rules of a policy.
pub const MAX_RULES: usize = 256;
/// Different tests of site metrics in all rules together.
pub const MAX_SITE_TESTS: usize = 256;

/// A rule as it is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleConfig {
    /// Its name, which no other rule has.
    pub name: String,
    /// Smaller ones first; equal ones by their names.
    pub priority: u32,
    /// What it says.
    pub text: String,
}

/// What is done to records before they are told of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyConfig {
    /// The rules, in any order.
    pub rules: Vec<RuleConfig>,
    /// Safety margin, ceiling and floor, after the rules.
    pub transform: TransformConfig,
}

/// Why a rule is none, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct RuleError {
    /// The name of the rule.
    pub rule: String,
    /// The place in its text, in octets from 0.
    pub offset: usize,
    /// The word at that place; empty at the end of the rule.
    pub word: String,
    /// What could stand there.
    pub expected: String,
    /// The word that was probably meant.
    pub nearest: Option<String>,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule `{}`, offset {}: ", self.rule, self.offset)?;
        match self.word.as_str() {
            "" => write!(f, "the rule ends here; expected {}", self.expected)?,
            word => write!(f, "`{word}` cannot stand here; expected {}", self.expected)?,
        }
        match &self.nearest {
            Some(nearest) => write!(f, "; was `{nearest}` meant?"),
            None => Ok(()),
        }
    }
}

/// A rule in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ranked {
    pub(super) name: String,
    pub(super) priority: u32,
    pub(super) rule: Rule,
}

/// Rules that were checked, in the order in which they are looked at, and what comes after them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    pub(super) rules: Vec<Ranked>,
    pub(super) transform: TransformConfig,
    site_tests: Vec<(Number, Comparison, u64)>,
    windows: Windows,
}

/// How the tests of site metrics come out for a service: while this stays the same, its records do too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SiteTruth([u64; MAX_SITE_TESTS / 64]);

impl Policy {
    /// Checks the rules against the words that there are, and against the calendar whose windows they name. The first
    /// fault of each rule is told.
    pub fn compile(config: &PolicyConfig, calendar: &Calendar) -> Result<Self, Vec<RuleError>> {
        let mut errors = Vec::new();
        let mut rules = Vec::new();
        let mut names = BTreeSet::new();
        for (place, rule) in config.rules.iter().enumerate() {
            let refusal = if place >= MAX_RULES {
                Err(whole(rule, format!("at most {MAX_RULES} rules")))
            } else if !names.insert(rule.name.as_str()) {
                Err(whole(rule, "a name that no other rule has".to_owned()))
            } else {
                parser::parse(&rule.text, calendar)
            };
            match refusal {
                Ok(parsed) => {
                    rules.push(Ranked { name: rule.name.clone(), priority: rule.priority, rule: parsed });
                }
                Err(Refusal { offset, word, expected, nearest }) => {
                    errors.push(RuleError { rule: rule.name.clone(), offset, word, expected, nearest });
                }
            }
        }
        rules.sort_by(|a, b| (a.priority, &a.name).cmp(&(b.priority, &b.name)));
        let mut policy = Self { rules, transform: config.transform, ..Self::default() };
        if errors.is_empty() {
            policy.find_reads(&mut errors);
        }
        if errors.is_empty() { Ok(policy) } else { Err(errors) }
    }

    /// Finds what the rules read that is not of the one SCI.
    fn find_reads(&mut self, errors: &mut Vec<RuleError>) {
        let mut site = BTreeSet::new();
        for ranked in &self.rules {
            let mut windows = Windows::default();
            each_test(&ranked.rule.condition, &mut |test| match test {
                Test::Number { metric, is, value } if metric.is_of_site() => {
                    site.insert((*metric, *is, *value));
                }
                Test::Time(window) => windows = windows.with(window.windows),
                Test::Number { .. }
                | Test::Health { .. }
                | Test::State { .. }
                | Test::Service { .. }
                | Test::Instance { .. }
                | Test::Flagged => {}
            });
            self.windows = self.windows.with(windows);
            if site.len() > MAX_SITE_TESTS {
                errors.push(RuleError {
                    rule: ranked.name.clone(),
                    offset: 0,
                    word: "IF".to_owned(),
                    expected: format!(
                        "at most {MAX_SITE_TESTS} different tests of site metrics in all rules"
                    ),
                    nearest: None,
                });
                break;
            }
        }
        self.site_tests = site.into_iter().collect();
    }

    /// The rules in the order in which they are looked at: name, priority and normal form.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = (&str, u32, &Rule)> {
        self.rules.iter().map(|ranked| (ranked.name.as_str(), ranked.priority, &ranked.rule))
    }

    /// What is done after the rules.
    pub fn transform(&self) -> &TransformConfig {
        &self.transform
    }

    /// Windows that rules ask for: when one of them opens or closes, records may change.
    pub fn windows(&self) -> Windows {
        self.windows
    }

    /// How the tests of site metrics come out: when this changes for a service, its records may change. Costs one
    /// comparison for each of these tests.
    pub fn site_truth(&self, site: &SiteView) -> SiteTruth {
        let mut truth = SiteTruth::default();
        for (place, (metric, is, value)) in self.site_tests.iter().enumerate() {
            let holds = site.read(*metric).is_some_and(|read| is.holds(read, *value));
            if let Some(word) = truth.0.get_mut(place / 64).filter(|_| holds) {
                *word |= 1 << (place % 64);
            }
        }
        truth
    }
}

/// Refuses a rule as a whole.
fn whole(rule: &RuleConfig, expected: String) -> Refusal {
    let word = rule.text.split_whitespace().next().unwrap_or_default().chars().take(64).collect();
    Refusal { offset: 0, word, expected, nearest: None }
}

fn each_test<'a>(condition: &'a Condition, visit: &mut dyn FnMut(&'a Test)) {
    match condition {
        Condition::All(members) | Condition::Any(members) => {
            for member in members {
                each_test(member, visit);
            }
        }
        Condition::Not(inner) => each_test(inner, visit),
        Condition::Test(test) => visit(test),
    }
}
