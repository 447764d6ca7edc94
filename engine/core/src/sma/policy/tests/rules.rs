//! What rules do.

use super::*;

/// Proves SMA-15.
#[test]
fn a_site_with_few_slots_sets_the_security_level() {
    let rule = ["IF Site_GAS < 100 THEN SET Security_Level = 5"];
    let few = Scene::new().with(|scene| scene.site.gas = 99);
    assert_eq!(few.under(&rule).0.sample.security_level, score(5));
    let enough = Scene::new().with(|scene| scene.site.gas = 100);
    assert_eq!(enough.under(&rule).0.sample.security_level, None);
}

/// Proves SMA-15.
#[test]
fn a_degraded_sci_is_told_with_half_its_slots() {
    let rule = ["IF SCI_Health = DEGRADED THEN REDUCE SCI_GAS BY 50%"];
    let degraded = Scene::new().with(|scene| scene.record.sample.health = Health::Degraded);
    assert_eq!(degraded.under(&rule).0.sample.gas, 20);
    assert_eq!(Scene::new().under(&rule).0.sample.gas, 40);
    let last = degraded.with(|scene| scene.record.sample.gas = 1);
    assert_eq!(last.under(&rule).0.sample.gas, 1, "half of the last slot is a slot");
}

/// Proves SMA-15, SMA-17.
#[test]
fn updates_are_suppressed_in_a_maintenance_window() {
    let rule = ["IF Time IN Maintenance_Window THEN SUPPRESS_UPDATES"];
    assert!(Scene::new().with(|scene| scene.wall = DURING).under(&rule).1.suppress);
    assert!(!Scene::new().under(&rule).1.suppress);
}

/// Proves SMA-15.
#[test]
fn a_price_above_a_hundred_is_told_as_a_hundred() {
    let rule = ["IF Price > 100 THEN SET Price = 100"];
    let told =
        |value| Scene::new().with(|scene| scene.record.sample.price = value).under(&rule).0.sample.price;
    assert_eq!(told(price(101)), price(100));
    assert_eq!(told(price(100)), price(100));
    assert_eq!(told(price(7)), price(7));
    assert_eq!(told(None), None, "a price that is not there is not above anything");
}

/// Proves SMA-15.
#[test]
fn rules_are_looked_at_by_priority_and_then_by_name() {
    let rule =
        |name: &str, priority, text: &str| RuleConfig { name: name.into(), priority, text: text.into() };
    let rules = vec![
        rule("c", 20, "IF SCI_GAS >= 0 THEN SET Price = 3"),
        rule("b", 10, "IF SCI_GAS >= 0 THEN SET Price = 2"),
        rule("a", 10, "IF SCI_GAS >= 0 THEN SET Price = 1"),
    ];
    let policy = Policy::compile(&PolicyConfig { rules, ..config(&[]) }, &calendar()).unwrap();
    let names: Vec<&str> = policy.rules().map(|(name, _, _)| name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let scene = Scene::new();
    let mut record = scene.record.clone();
    let open = calendar().at(AFTER).open;
    let subject = Subject { site: &scene.site, raw: &scene.raw, state: scene.state, open };
    policy.apply(&subject, &mut record);
    assert_eq!(record.sample.price, price(1), "what was set first is final");
}

/// Proves SMA-15.
#[test]
fn a_later_rule_sees_what_an_earlier_one_left() {
    let rules =
        ["IF SCI_GAS > 0 THEN REDUCE SCI_GAS BY 35", "IF SCI_GAS < 10 THEN SET SCI_Health = DEGRADED"];
    let (record, outcome) = Scene::new().under(&rules);
    assert_eq!((record.sample.gas, record.sample.health), (5, Health::Degraded));
    assert_eq!(outcome.fired.iter().collect::<Vec<_>>(), [0, 1]);
    let raw = [rules[0], "IF Raw_GAS < 10 THEN SET SCI_Health = DEGRADED"];
    assert_eq!(Scene::new().under(&raw).0.sample.health, Health::Healthy);
}

/// Proves SMA-15.
#[test]
fn what_an_earlier_rule_set_no_later_rule_changes() {
    for later in ["SET SCI_GAS = 9", "REDUCE SCI_GAS BY 50%", "CAP SCI_GAS AT 9", "FLOOR SCI_GAS AT 90"] {
        let later = format!("IF SCI_GAS > 0 THEN {later}");
        let (record, _) = Scene::new().under(&["IF SCI_GAS > 0 THEN SET SCI_GAS = 30", &later]);
        assert_eq!(record.sample.gas, 30, "{later}");
    }
    let rules = ["IF SCI_GAS > 0 THEN SET Health = DEGRADED", "IF SCI_GAS > 0 THEN SET Health = UNHEALTHY"];
    assert_eq!(Scene::new().under(&rules).0.sample.health, Health::Degraded);
}

/// Proves SMA-15.
#[test]
fn a_cap_and_a_floor_bind_every_later_rule() {
    let always = |action: &str| format!("IF SCI_GAS >= 0 THEN {action}");
    let told = |actions: &[&str]| {
        let rules: Vec<String> = actions.iter().map(|action| always(action)).collect();
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        Scene::new().under(&rules).0.sample.gas
    };
    assert_eq!(told(&["CAP SCI_GAS AT 30"]), 30);
    assert_eq!(told(&["CAP SCI_GAS AT 50", "SET SCI_GAS = 90"]), 50);
    assert_eq!(told(&["FLOOR SCI_GAS AT 25", "REDUCE SCI_GAS BY 90%"]), 25);
    assert_eq!(told(&["CAP SCI_GAS AT 30", "FLOOR SCI_GAS AT 35"]), 30, "the earlier bound holds");
    assert_eq!(told(&["FLOOR SCI_GAS AT 60", "CAP SCI_GAS AT 50"]), 60, "the earlier bound holds");
    assert_eq!(told(&["CAP SCI_GAS AT 30, CAP SCI_GAS AT 35"]), 30);
    assert_eq!(told(&["REDUCE SCI_GAS BY 50%, REDUCE SCI_GAS BY 50%"]), 10, "each at its moment");
    assert_eq!(told(&["CAP SCI_GAS AT 0", "FLOOR SCI_GAS AT 5"]), 0);
    assert_eq!(told(&["FLOOR SCI_GAS AT 25", "FLOOR SCI_GAS AT 5", "REDUCE SCI_GAS BY 90%"]), 25);
    assert_eq!(told(&["CAP SCI_GAS AT 30", "FLOOR SCI_GAS AT 35", "REDUCE SCI_GAS BY 90%"]), 30);
}

/// Proves SMA-15.
#[test]
fn what_is_not_there_is_brought_about_by_set_alone() {
    let told = |action: &str| {
        let rule = format!("IF SCI_GAS >= 0 THEN {action}");
        Scene::new().under(&[&rule]).0.sample.reputation
    };
    assert_eq!(told("SET Reputation = 4"), score(4));
    assert_eq!(told("CAP Reputation AT 4"), None);
    assert_eq!(told("FLOOR Reputation AT 4"), None);
    assert_eq!(told("REDUCE Reputation BY 4"), None);
    for test in ["Reputation = 4", "Reputation != 4", "Reputation < 4", "Reputation >= 0"] {
        let rule = format!("IF {test} THEN FLAG");
        assert!(!Scene::new().under(&[&rule]).1.flagged, "{test}");
        let rule = format!("IF NOT {test} THEN FLAG");
        assert!(Scene::new().under(&[&rule]).1.flagged, "{test}");
    }
}

/// Proves SMA-15.
#[test]
fn whatever_rules_say_what_failed_is_unhealthy_without_slots() {
    let rules = ["IF SCI_State = FAILED THEN SET SCI_GAS = 100, SET SCI_Health = HEALTHY, SET Price = 1"];
    let (record, _) = Scene::new().with(|scene| scene.state = SciState::Failed).under(&rules);
    assert_eq!((record.sample.gas, record.sample.health), (0, Health::Unhealthy));
    assert_eq!(record.sample.price, price(1));
    let floor = ["IF SCI_GAS = 0 THEN FLOOR SCI_GAS AT 10"];
    let (record, _) = Scene::new().with(|scene| scene.record.sample.gas = 0).under(&floor);
    assert_eq!(record.sample.gas, 0);
}

#[test]
fn conditions_ask_for_the_site_the_sci_its_state_and_the_time() {
    let scene = Scene::new().with(|scene| {
        scene.wall = DURING;
        scene.site.degraded = 2;
        scene.state = SciState::Active;
    });
    for (condition, holds) in [
        ("Site_Degraded >= 2 AND Site_SCIs = 10", true),
        ("Site_Unhealthy > 0 OR Site_Healthy < 10", false),
        ("SCI_State = ACTIVE", true),
        ("CS_ID = 7 AND CSCI_ID != 71", false),
        ("CSCI_ID = 192.0.2.1", false),
        ("Time IN upgrade_7 AND NOT Time IN night", true),
        ("Computing_Time = 20 AND Computing_Time < 0.021s", true),
        ("Flagged", false),
        ("NOT (SCI_GAS < 10 OR SCI_GAS > 39)", false),
        ("Healthy_Instances >= 0", false),
    ] {
        let rule = format!("IF {condition} THEN FLAG");
        assert_eq!(scene.under(&[&rule]).1.flagged, holds, "{condition}");
    }
}

/// Proves SMA-15.
#[test]
fn a_dry_run_says_why_a_rule_fires_and_what_it_changes() {
    let rules = [
        "IF Site_GAS < 100 OR Price > 1 THEN FLAG",
        "IF SCI_GAS > 30 THEN CAP SCI_GAS AT 30, SET SCI_GAS = 35",
    ];
    let policy = policy(&rules);
    let scene = Scene::new();
    let open = calendar().at(AFTER).open;
    let subject = Subject { site: &scene.site, raw: &scene.raw, state: scene.state, open };
    let mut record = scene.record.clone();
    let (_, reports) = policy.dry_run(&subject, &mut record);
    let [quiet, fires] = reports.as_slice() else { panic!("{reports:?}") };
    let found: Vec<_> = quiet.tests.iter().map(|test| (test.found.as_deref(), test.holds)).collect();
    assert_eq!((quiet.fires, quiet.rule), (false, "rule-0"));
    assert_eq!(found, [(Some("400"), false), (None, false)]);
    let changes: Vec<_> = fires
        .actions
        .iter()
        .map(|report| (report.before.as_deref().unwrap(), report.after.as_deref().unwrap(), report.effect))
        .collect();
    assert_eq!(changes, [("40", "30", Effect::Done), ("30", "30", Effect::Overruled)]);
}

/// Proves SMA-15.
#[test]
fn the_truth_of_a_site_changes_only_when_a_rule_could_see_it() {
    let policy = policy(&["IF Site_GAS < 100 THEN FLAG", "IF SCI_GAS < 5 AND Site_GAS < 100 THEN FLAG"]);
    let truth = |gas| policy.site_truth(&SiteView { gas, healthy: 3, ..SiteView::default() });
    assert_eq!(truth(100), truth(5_000));
    assert_ne!(truth(100), truth(99));
    assert_eq!(policy.windows(), crate::sma::calendar::Windows::default());
}

/// Proves SMA-15.
#[test]
fn a_policy_knows_every_window_and_every_test_of_the_site_that_its_rules_ask_for() {
    let policy = policy(&[
        "IF Time IN upgrade-7 OR NOT Time IN night THEN FLAG",
        "IF Site_Unhealthy > 0 AND NOT Site_SCIs = 0 THEN FLAG",
    ]);
    let both = calendar().find("night").unwrap().with(calendar().maintenance());
    assert_eq!(policy.windows(), both);
    let truth = |unhealthy, scis| policy.site_truth(&SiteView { unhealthy, scis, ..SiteView::default() });
    assert_ne!(truth(0, 5), truth(1, 5));
    assert_ne!(truth(0, 5), truth(0, 0));
    assert_eq!(truth(1, 5), truth(9, 7));
}

/// Proves SMA-15.
#[test]
fn a_policy_is_tried_on_all_that_is_known_before_it_is_in_force() {
    let policy =
        policy(&["IF SCI_GAS > 30 THEN CAP SCI_GAS AT 30", "IF SCI_Health != HEALTHY THEN SUPPRESS_UPDATES"]);
    let scene = Scene::new();
    let open = calendar().at(AFTER).open;
    let subject = Subject { site: &scene.site, raw: &scene.raw, state: scene.state, open };
    let mut tally = Tally::default();
    for gas in 20..40 {
        let mut record = scene.record.clone();
        record.sample.gas = gas;
        policy.count(&subject, &record, &mut tally);
    }
    let expected = Tally { fired: vec![9, 0], tried: 20, changed: 9, suppressed: 0, flagged: 0 };
    assert_eq!(tally, expected);
}
