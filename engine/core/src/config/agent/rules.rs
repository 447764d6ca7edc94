//! Windows of time, and the operator's rules.

use super::{ordered, path, refuse, times};
use crate::config::{Violation, micros, noted};
use crate::sma::calendar::{Calendar, CalendarError, Day, Offset, When, Window, WindowProblem};
use crate::sma::policy::{Policy, PolicyConfig, RuleConfig, RuleError};
use crate::sma::transform::{Bounds, Percent, TransformConfig};
use cats_engine_types::Price;
use cats_yang_model::Decimal64;
use cats_yang_model::generated::cats_sma as model;
use std::fmt::Display;

/// Calendar and policy. The rules are held against the calendar, so nothing is said of them while that is wrong.
pub(super) fn read(agent: &model::MetricAgent, violations: &mut Vec<Violation>) -> (Calendar, Policy) {
    let transform = transform(&agent.policy, violations);
    let Some(calendar) = calendar(&agent.calendar, violations) else { return Default::default() };
    let policy = policy(&agent.policy, transform, &calendar, violations);
    (calendar, policy)
}

fn calendar(from: &model::Calendar, violations: &mut Vec<Violation>) -> Option<Calendar> {
    let faults = violations.len();
    let windows: Vec<Window> = from.window.values().filter_map(|entry| window(entry, violations)).collect();
    if violations.len() > faults {
        return None;
    }
    let refused = |errors: Vec<CalendarError>| violations.extend(errors.iter().map(window_refused));
    Calendar::new(windows).map_err(refused).ok()
}

fn window(entry: &model::Window, violations: &mut Vec<Violation>) -> Option<Window> {
    let place = |below: &str| path(&format!("calendar/window[name='{}']/{below}", entry.name));
    let when = match (&entry.once, &entry.weekly) {
        (Some(once), _) => When::Once {
            from: noted(times::date_and_time(&once.begin), violations, || place("once/begin"))?,
            until: noted(times::date_and_time(&once.end), violations, || place("once/end"))?,
        },
        (None, Some(weekly)) => {
            let offset = Offset::minutes(weekly.utc_offset()).ok_or("an offset is of 840 minutes at most");
            When::Weekly {
                days: weekly.day.iter().map(|day| self::day(*day)).collect(),
                from: noted(times::time_of_day(&weekly.begin), violations, || place("weekly/begin"))?,
                until: noted(times::time_of_day(&weekly.end), violations, || place("weekly/end"))?,
                offset: noted(offset, violations, || place("weekly/utc-offset"))?,
            }
        }
        (None, None) => {
            let below = format!("calendar/window[name='{}']", entry.name);
            refuse(&below, "it never opens; set once or weekly".to_owned(), violations);
            return None;
        }
    };
    Some(Window { name: entry.name.clone(), maintenance: entry.maintenance(), when })
}

fn day(from: model::Day) -> Day {
    match from {
        model::Day::Monday => Day::Monday,
        model::Day::Tuesday => Day::Tuesday,
        model::Day::Wednesday => Day::Wednesday,
        model::Day::Thursday => Day::Thursday,
        model::Day::Friday => Day::Friday,
        model::Day::Saturday => Day::Saturday,
        model::Day::Sunday => Day::Sunday,
    }
}

fn window_refused(error: &CalendarError) -> Violation {
    let leaf = match error.problem {
        WindowProblem::Name | WindowProblem::Reserved | WindowProblem::Twice => "/name",
        WindowProblem::Empty => "/once/end",
        WindowProblem::NoDay => "/weekly/day",
        WindowProblem::TooMany => "",
    };
    let place = path(&format!("calendar/window[name='{}']{leaf}", error.window));
    crate::config::invalid(place, &error.problem)
}

/// The rules in force. One that is not enabled is checked with the others, so that it can be.
fn policy(
    from: &model::Policy,
    transform: TransformConfig,
    calendar: &Calendar,
    violations: &mut Vec<Violation>,
) -> Policy {
    let rule = |entry: &model::Rule| RuleConfig {
        name: entry.name.clone(),
        priority: entry.priority(),
        text: entry.statement.clone(),
    };
    let compile = |wanted: fn(&model::Rule) -> bool| {
        let entries = from.rule.values().filter(|entry| wanted(entry));
        let rules = entries.map(|entry| rule(entry)).collect();
        Policy::compile(&PolicyConfig { rules, transform }, calendar)
    };
    match compile(|_| true).and_then(|_| compile(model::Rule::enabled)) {
        Ok(policy) => policy,
        Err(errors) => {
            violations.extend(errors.iter().map(|error| rule_refused(from, error)));
            Policy::default()
        }
    }
}

/// Says where in its statement a rule is none, by the column that people count.
fn rule_refused(from: &model::Policy, error: &RuleError) -> Violation {
    let text = from.rule.get(&error.rule).map(|entry| entry.statement.as_str()).unwrap_or_default();
    let column = text.get(..error.offset).unwrap_or(text).chars().count() + 1;
    let expected = &error.expected;
    let mut message = match error.word.as_str() {
        "" => format!("column {column}: the rule ends here; expected {expected}"),
        word => format!("column {column}: `{word}` cannot stand here; expected {expected}"),
    };
    if let Some(nearest) = &error.nearest {
        message.push_str(&format!("; was `{nearest}` meant?"));
    }
    Violation {
        path: path(&format!("policy/rule[name='{}']/statement", error.rule)),
        tag: "invalid-value".to_owned(),
        app_tag: Some("invalid-rule".to_owned()),
        message,
    }
}

fn transform(from: &model::Policy, violations: &mut Vec<Violation>) -> TransformConfig {
    let of = &from.bounds;
    let (shortest, longest) = (of.computing_time_floor(), of.computing_time_ceiling());
    TransformConfig {
        margin: percent(from.safety_margin(), "policy/safety-margin", violations),
        gas: bounds("gas", of.gas_floor, of.gas_ceiling, |slots| slots, violations),
        computing_time: bounds("computing-time", Some(shortest), Some(longest), micros, violations),
        price: bounds("price", of.price_floor, of.price_ceiling, Price, violations),
    }
}

fn bounds<T: PartialOrd + Display + Copy, U: Ord + Copy>(
    metric: &str,
    floor: Option<T>,
    ceiling: Option<T>,
    value: fn(T) -> U,
    violations: &mut Vec<Violation>,
) -> Bounds<U> {
    if let (Some(floor), Some(ceiling)) = (floor, ceiling) {
        let of = |end: &str| format!("policy/bounds/{metric}-{end}");
        ordered((&of("floor"), floor), (&of("ceiling"), ceiling), violations);
    }
    // Where they cross, that was noted.
    Bounds::new(floor.map(value), ceiling.map(value)).unwrap_or_default()
}

/// A share in percent with three digits.
pub(super) fn percent(share: Decimal64<3>, leaf: &str, violations: &mut Vec<Violation>) -> Percent {
    let share = u32::try_from(share.scaled()).ok().and_then(Percent::thousandths);
    noted(share.ok_or("a share is from 0 to 100 percent"), violations, || path(leaf)).unwrap_or_default()
}
