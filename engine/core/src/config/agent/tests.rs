//! Configurations as they come from JSON, and what is said of them.

mod refusals;

use super::*;
use crate::config::{Checked, check, path_selector};
use crate::cps::{AgentBounds, AgentConfig, CpsConfig, Services};
use crate::scope::Scope;
use crate::sma::calendar::{Day, Days, TimeOfDay, When};
use crate::sma::config::{Range, Reaction, Span};
use crate::sma::policy::MAX_TEXT;
use crate::sma::transform::{Alpha, Smooth, Window};
use cats_engine_types::{CsId, Revision, UnixMicros};
use cats_yang_model::{Change, Config, Operation};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

fn cats(agent: Value, rest: Value) -> Config {
    let mut agent = agent;
    let members = agent.as_object_mut().unwrap();
    members.entry("enabled").or_insert(json!(true));
    members.entry("node-id").or_insert(json!("C-SMA-1"));
    let mut cats = rest;
    cats.as_object_mut().unwrap().insert("cats-sma:metric-agent".to_owned(), agent);
    Config::from_json(&json!({ "ietf-routing:routing": { "ietf-cats:cats": cats } })).unwrap()
}

fn read(agent: Value) -> SmaConfig {
    read_with(agent, json!({}))
}

fn read_with(agent: Value, rest: Value) -> SmaConfig {
    let config = cats(agent, rest);
    assert_eq!(check(&Config::default(), &config), []);
    let mut violations = Vec::new();
    let agent = metric_agent(&config.cats, &mut violations).unwrap();
    assert_eq!((agent.node.as_str(), violations), ("C-SMA-1", Vec::new()));
    agent.sma
}

/// The only violation, its path without what all have in common.
fn refused(agent: Value) -> (String, String) {
    refused_with(agent, json!({}))
}

fn refused_with(agent: Value, rest: Value) -> (String, String) {
    let violations = check(&Config::default(), &cats(agent, rest));
    let [violation] = violations.as_slice() else { panic!("{violations:?}") };
    let path = violation.path.strip_prefix(CATS).unwrap().trim_start_matches('/');
    let path = path.strip_prefix("cats-sma:metric-agent/").unwrap_or(path);
    (path.to_owned(), violation.message.clone())
}

/// Proves SMA-3, SMA-4, SMA-9, SMA-16, SMA-17, SMA-25.
#[test]
fn the_defaults_of_the_module_are_those_of_the_machine() {
    assert_eq!(read(json!({})), SmaConfig::default());
    let config = cats(json!({ "enabled": false }), json!({}));
    assert_eq!(metric_agent(&config.cats, &mut Vec::new()), None, "without the role there is no agent");
    let selector = cats(json!({}), json!({ "cats-cps:path-selector": { "enabled": true } }));
    let cps = selector_of(&selector);
    assert_eq!((cps.agents, cps.agent_bounds), (Vec::new(), AgentBounds::default()));
}

fn selector_of(config: &Config) -> CpsConfig {
    let mut violations = Vec::new();
    let cps = path_selector(&config.cats, Services::default(), None, Revision(1), &mut violations);
    assert_eq!(violations, []);
    cps.unwrap()
}

#[test]
fn the_update_interval_is_that_of_ietf_cats_and_none_where_it_is_0() {
    let interval = |value: u32| read_with(json!({}), json!({ "base": { "update-interval": value } }));
    assert_eq!(interval(7).update.interval, Some(Duration::from_secs(7)));
    assert_eq!(interval(0).update.interval, None);
}

#[test]
fn times_are_in_the_units_of_the_module() {
    let sma = read(json!({
        "validation": {
            "ranges": { "computing-time-min": "0.5", "computing-time-max": "20.25" },
            "rate-of-change": {
                "computing-time": { "least": "2.5", "within": 250, "reaction": "quarantine" },
                "health": { "within": 20_000 },
            },
        },
        "cache": { "stale-grace-time": 7, "withdraw-after-percent": 300 },
        "updates": { "load": { "backlog": 1500 } },
        "northbound": { "gather": 20 },
        "policy": { "bounds": { "computing-time-floor": "0.001", "computing-time-ceiling": "5" } },
    }));
    assert_eq!(sma.validation.ranges.computing_time, Range { min: 500, max: 20_250 });
    let change = sma.validation.change;
    assert_eq!(
        (change.computing_time.least, change.computing_time.within),
        (2500, Duration::from_millis(250))
    );
    assert_eq!(change.computing_time.reaction, Reaction::Quarantine);
    assert_eq!(change.flapping.within, Duration::from_secs(20));
    assert_eq!(sma.cache.stale_grace, Span::Fixed(Duration::from_secs(7)));
    assert_eq!(sma.cache.withdraw_after, Span::OfTtl { percent: 300 });
    assert_eq!(sma.update.load.backlog, Duration::from_millis(1500));
    assert_eq!(sma.northbound.gather, Duration::from_millis(20));
    let none = cats(json!({ "policy": { "rule": [] } }), json!({}));
    assert_eq!(metric_agent(&none.cats, &mut Vec::new()).unwrap().sma.policy.rules().len(), 0);
}

#[test]
fn a_metric_is_smoothed_in_one_way_or_not_at_all() {
    let gas = |smoothing: Value| read(json!({ "smoothing": { "gas": smoothing } })).smoothing.gas;
    assert_eq!(gas(json!({})), Smooth::Exponential(Alpha::default()));
    assert_eq!(gas(json!({ "alpha": "0.125" })), Smooth::Exponential(Alpha::thousandths(125).unwrap()));
    assert_eq!(gas(json!({ "average-of": 4 })), Smooth::Average(Window::reports(4).unwrap()));
    assert_eq!(gas(json!({ "enabled": false, "average-of": 4 })), Smooth::Off);
}

/// Proves SMA-17.
#[test]
fn windows_are_spans_of_time_or_come_back_each_week() {
    let sma = read(json!({ "calendar": { "window": [
        { "name": "upgrade", "once": { "begin": "2026-12-24T01:00:00+01:00", "end": "2026-12-24T02:00:00.5Z" } },
        { "name": "night", "maintenance": false, "weekly": {
            "day": ["saturday", "sunday"], "begin": "22:00", "end": "05:30:15", "utc-offset": -330,
        } },
    ] } }));
    let find = |name: &str| sma.calendar.windows().iter().find(|window| window.name == name).unwrap();
    let midnight = 1_798_070_400_000_000;
    assert_eq!(
        find("upgrade").when,
        When::Once { from: UnixMicros(midnight), until: UnixMicros(midnight + 7_200_500_000) }
    );
    let When::Weekly { days, from, until, offset } = find("night").when else { panic!() };
    assert_eq!(days, [Day::Saturday, Day::Sunday].into_iter().collect::<Days>());
    assert_eq!((Some(from), Some(until)), (TimeOfDay::clock(22, 0, 0), TimeOfDay::clock(5, 30, 15)));
    assert_eq!(Some(offset), crate::sma::calendar::Offset::minutes(-330));
    assert!(find("upgrade").maintenance && !find("night").maintenance);
}

/// Proves SMA-15.
#[test]
fn rules_are_in_force_by_priority_unless_they_are_switched_off() {
    let rule = |name: &str, priority: u32, enabled: bool| json!({ "name": name, "priority": priority, "enabled": enabled, "statement": "IF GAS < 5 THEN FLAG" });
    let rules = json!([rule("a", 30, true), rule("b", 10, true), rule("c", 20, false), rule("d", 10, true)]);
    let sma = read(json!({ "policy": { "rule": rules, "safety-margin": "12.5" } }));
    let names: Vec<&str> = sma.policy.rules().map(|(name, _, _)| name).collect();
    assert_eq!(names, ["b", "d", "a"]);
    let plain = read(json!({ "policy": { "rule": rules } }));
    assert_ne!(sma.policy, plain.policy, "the margin is part of the policy");
}

fn selector(name: &str, rest: Value) -> Value {
    let mut entry = json!({
        "node-id": name, "address": "192.0.2.1", "signature": { "key-id": "k", "file": "/etc/cats/pki/k" },
    });
    entry.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    entry
}

/// Proves SMA-19, SMA-25.
#[test]
fn path_selectors_are_tried_by_preference_and_told_of_their_services_alone() {
    let entries = json!([
        selector("A", json!({ "service": [1, "2001:db8::1"] })),
        selector("B", json!({ "alternative-to": "A", "preference": 2 })),
        selector("C", json!({ "alternative-to": "A", "preference": 1 })),
    ]);
    let sma = read(json!({ "northbound": { "path-selector": entries } }));
    let peers: Vec<_> = sma.northbound.peers.iter().map(|peer| (peer.node.as_str(), &peer.scope)).collect();
    let named = [CsId::number(1).unwrap(), CsId::address("2001:db8::1".parse().unwrap())];
    assert_eq!(peers, [("A", &Scope::Only(named.into())), ("C", &Scope::All), ("B", &Scope::All)]);
    let first =
        sma.northbound.peers.iter().map(|peer| peer.alternative_to.as_ref().map(|node| node.as_str()));
    assert_eq!(first.collect::<Vec<_>>(), [None, Some("A"), Some("A")]);
}

#[test]
fn the_path_selector_of_the_node_needs_neither_an_address_nor_a_signature() {
    let rest = json!({ "cats-cps:path-selector": {
        "enabled": true, "node-id": "C-PS-1", "agent": [{ "node-id": "C-SMA-1", "service": [1] }],
    } });
    let agent = json!({ "northbound": { "path-selector": [{ "node-id": "C-PS-1" }] } });
    assert_eq!(read_with(agent.clone(), rest.clone()).northbound.peers.len(), 1);
    let cps = selector_of(&cats(agent, rest));
    assert_eq!(cps.agents.iter().map(|agent| agent.node.as_str()).collect::<Vec<_>>(), ["C-SMA-1"]);
}

#[test]
fn a_path_selector_takes_agents_within_their_services_and_egresses() {
    let key = json!([{ "id": "k1", "file": "/etc/cats/pki/k1.pem" }]);
    let config = cats(
        json!({}),
        json!({ "cats-cps:path-selector": {
        "enabled": true,
        "agent": [
            { "node-id": "A", "service": [7], "egress": ["EF-1", "EF-2"], "min-interval": 2500, "key": key },
            { "node-id": "B", "key": [{ "id": "k2", "algorithm": "hmac-sha256", "file": "/etc/cats/pki/k2" }] },
        ],
        "agent-limits": { "window": 5, "silence": 6, "resynchronise-interval": 7, "records": 8 },
    } }),
    );
    assert_eq!(check(&Config::default(), &config), []);
    let cps = selector_of(&config);
    let name = |text: &str| text.parse::<NodeId>().unwrap();
    let a = AgentConfig {
        node: name("A"),
        scope: Scope::Only([CsId::number(7).unwrap()].into()),
        egresses: vec![name("EF-1"), name("EF-2")],
        min_interval: Some(Duration::from_millis(2500)),
    };
    let b = AgentConfig { node: name("B"), scope: Scope::All, egresses: Vec::new(), min_interval: None };
    assert_eq!(cps.agents, [a, b]);
    let bounds = AgentBounds {
        window: Duration::from_secs(5),
        silence: Duration::from_secs(6),
        resynchronise: Duration::from_secs(7),
        records: 8,
    };
    assert_eq!(cps.agent_bounds, bounds);
}

fn changed(config: &Config, below: &str, value: Value) -> Config {
    let mut new = config.clone();
    let path = format!("{CATS}/{below}");
    new.apply(&Change { path, operation: Operation::Set(value), after: None }).unwrap();
    new
}

#[test]
fn the_agent_is_read_again_only_when_something_of_it_changed() {
    let config = cats(json!({ "updates": { "batch": 5 } }), json!({}));
    let before = Checked::default().after(config.clone()).unwrap();
    let agent = Arc::clone(before.metric_agent().unwrap());
    let other = changed(&config, "base/flow-timeout", json!(7));
    let after = before.after(other.clone()).unwrap();
    assert!(Arc::ptr_eq(&agent, after.metric_agent().unwrap()), "another role's part changed");
    for (leaf, value) in
        [("base/update-interval", json!(7)), ("cats-sma:metric-agent/updates/batch", json!(6))]
    {
        let after = after.after(changed(&other, leaf, value)).unwrap();
        assert!(
            !Arc::ptr_eq(&agent, after.metric_agent().unwrap()) && agent != *after.metric_agent().unwrap(),
            "{leaf}"
        );
    }
    assert_eq!(before.followed_by(other).metric_agent(), Some(&agent), "also where nothing is checked");
}
