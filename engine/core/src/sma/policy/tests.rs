//! The rules of the document, and what rules do to each other.

mod language;
mod refusals;
mod round;
mod rules;
mod soundness;

use super::*;
use crate::sma::SciState;
use crate::sma::calendar::{Calendar, Day, Offset, TimeOfDay, When, Window};
use crate::sma::transform::TransformConfig;
use cats_engine_types::{CsId, CsciId, Health, MetricRecord, Micros, Price, Sample, Score, UnixMicros};
use std::time::Duration;

fn calendar() -> Calendar {
    let (from, until) = (UnixMicros(1_000_000), UnixMicros(2_000_000));
    let upgrade = Window { name: "upgrade-7".into(), maintenance: true, when: When::Once { from, until } };
    let clock = |hour| TimeOfDay::clock(hour, 0, 0).unwrap();
    let days = [Day::Monday].into_iter().collect();
    let when = When::Weekly { days, from: clock(22), until: clock(6), offset: Offset::UTC };
    Calendar::new(vec![upgrade, Window { name: "Night".into(), maintenance: false, when }]).unwrap()
}

/// A time at which the window of maintenance is open, and one at which none is.
const DURING: UnixMicros = UnixMicros(1_500_000);
const AFTER: UnixMicros = UnixMicros(3_000_000);

fn config(rules: &[&str]) -> PolicyConfig {
    let rules = rules.iter().enumerate().map(|(place, text)| RuleConfig {
        name: format!("rule-{place}"),
        priority: u32::try_from(place).unwrap(),
        text: (*text).to_owned(),
    });
    PolicyConfig { rules: rules.collect(), transform: TransformConfig::none() }
}

fn policy(rules: &[&str]) -> Policy {
    Policy::compile(&config(rules), &calendar()).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// A site of one service, and one of its SCIs.
#[derive(Clone)]
struct Scene {
    site: SiteView,
    raw: Sample,
    state: SciState,
    wall: UnixMicros,
    record: MetricRecord,
}

impl Scene {
    fn new() -> Self {
        let sample = Sample {
            gas: 40,
            computing_time: Micros::from_millis(20),
            computing_time_min: None,
            computing_time_max: None,
            health: Health::Healthy,
            price: None,
            reputation: None,
            security_level: None,
            instances: None,
        };
        let record = MetricRecord {
            cs_id: CsId::number(7).unwrap(),
            csci_id: CsciId::number(71).unwrap(),
            locator: None,
            sample,
            taken: AFTER,
            valid_for: Duration::from_secs(60),
            flagged: false,
        };
        let site = SiteView { gas: 400, scis: 10, healthy: 10, ..SiteView::default() };
        Self { site, raw: sample, state: SciState::Healthy, wall: AFTER, record }
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// What the rules make of it.
    fn under(&self, rules: &[&str]) -> (MetricRecord, Outcome) {
        let policy = policy(rules);
        let subject = Subject {
            site: &self.site,
            raw: &self.raw,
            state: self.state,
            open: calendar().at(self.wall).open,
        };
        let mut record = self.record.clone();
        let outcome = policy.apply(&subject, &mut record);
        let mut dry = self.record.clone();
        let (same, reports) = policy.dry_run(&subject, &mut dry);
        assert_eq!((&dry, same), (&record, outcome), "a dry run does what is done");
        let fires: Vec<bool> = reports.iter().map(|report| report.fires).collect();
        let fired: Vec<bool> = (0..policy.rules().len()).map(|place| outcome.fired.has(place)).collect();
        assert_eq!(fires, fired);
        (record, outcome)
    }
}

fn score(value: u8) -> Option<Score> {
    Some(Score::try_from(value).unwrap())
}

fn price(value: u32) -> Option<Price> {
    Some(Price(value))
}
