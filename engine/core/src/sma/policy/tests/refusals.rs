//! What is no rule, where, and what could stand there.

use super::*;

fn refused(text: &str) -> RuleError {
    match Policy::compile(&config(&[text]), &calendar()) {
        Err(mut errors) if errors.len() == 1 => errors.remove(0),
        other => panic!("{text}: {other:?}"),
    }
}

const METRIC: &str = "a metric, `Time`, `Flagged`, `NOT` or `(`";
const ORDER: &str = "`<`, `<=`, `=`, `!=`, `>=` or `>`";
const HEALTHS: &str = "`HEALTHY`, `DEGRADED`, `UNHEALTHY` or `UNKNOWN`";
const ACTIONS: &str = "`SET`, `REDUCE`, `CAP`, `FLOOR`, `SUPPRESS_UPDATES` or `FLAG`";
const NUMBER: &str = "a whole number from 0 to 4294967295";
const SCORE: &str = "a whole number from 0 to 10";
const TIME: &str = "a time from 0ms to 3600000ms, such as 12.5, 12.5ms or 2s";
const IDENTITY: &str = "a number from 1 to 4294967295 or an IP address";
const NEXT: &str = "`THEN`, `AND` or `OR`";
const MORE: &str = "`,` and a further action, or the end of the rule";
const TARGET: &str =
    "a metric that can be changed: `SCI_GAS`, `Computing_Time`, `Price`, `Reputation` or `Security_Level`";
const SETTABLE: &str = "a metric that can be changed: `SCI_GAS`, `Computing_Time`, `Price`, `Reputation`, \
                        `Security_Level` or `SCI_Health`";

/// Text, offset, word, what could stand there, what was probably meant.
type Row = (&'static str, usize, &'static str, &'static str, Option<&'static str>);

fn check(rows: &[Row]) {
    for (text, offset, word, expected, nearest) in rows {
        let error = refused(text);
        let found = (error.offset, error.word.as_str(), error.expected.as_str(), error.nearest.as_deref());
        assert_eq!(found, (*offset, *word, *expected, *nearest), "{text}");
    }
}

/// Proves SMA-15.
#[test]
fn a_text_that_is_no_condition_is_refused_with_its_place_and_what_could_stand_there() {
    check(&[
        ("", 0, "", "`IF`", None),
        ("  WHEN Flagged THEN FLAG", 2, "WHEN", "`IF`", None),
        ("IFF Flagged THEN FLAG", 0, "IFF", "`IF`", Some("IF")),
        ("IF", 2, "", METRIC, None),
        ("IF Prize > 100 THEN FLAG", 3, "Prize", METRIC, Some("Price")),
        ("IF Site_Gsa < 1 THEN FLAG", 3, "Site_Gsa", METRIC, Some("Site_GAS")),
        ("IF Security < 1 THEN FLAG", 3, "Security", METRIC, None),
        ("IF 5 < Price THEN FLAG", 3, "5", METRIC, None),
        ("IF Price THEN FLAG", 9, "THEN", ORDER, None),
        ("IF Time > 5 THEN FLAG", 8, ">", "`IN`", None),
        (
            "IF Time IN Maintenance_Windows THEN FLAG",
            11,
            "Maintenance_Windows",
            "`Maintenance_Window` or a window of the calendar (`upgrade-7` or `Night`)",
            Some("Maintenance_Window"),
        ),
        ("IF Flagged & Flagged THEN FLAG", 11, "&", NEXT, None),
        ("IF Price > 50% THEN FLAG", 13, "%", NEXT, None),
        ("IF Flagged ADN Flagged THEN FLAG", 11, "ADN", NEXT, Some("AND")),
        ("IF (Flagged THEN FLAG", 12, "THEN", "`)`, `AND` or `OR`", None),
        ("IF Flagged) THEN FLAG", 10, ")", NEXT, None),
        ("IF Flagged", 10, "", NEXT, None),
        ("IF Größe > 5 THEN FLAG", 3, "Größe", METRIC, None),
    ]);
}

/// Proves SMA-15.
#[test]
fn a_value_of_another_metric_or_out_of_range_is_refused_with_its_place() {
    check(&[
        ("IF Price => 5 THEN FLAG", 10, ">", NUMBER, None),
        ("IF Price > -5 THEN FLAG", 11, "-5", NUMBER, None),
        ("IF Price > 1.5 THEN FLAG", 11, "1.5", NUMBER, None),
        ("IF Price > 4294967296 THEN FLAG", 11, "4294967296", NUMBER, None),
        ("IF Price > 5ms THEN FLAG", 11, "5ms", NUMBER, None),
        ("IF Price > Reputation THEN FLAG", 11, "Reputation", NUMBER, None),
        ("IF Reputation > 11 THEN FLAG", 16, "11", SCORE, None),
        ("IF SCI_GAS = DEGRADED THEN FLAG", 13, "DEGRADED", NUMBER, None),
        ("IF SCI_Health = 5 THEN FLAG", 16, "5", HEALTHS, None),
        ("IF SCI_Health = DEGARDED THEN FLAG", 16, "DEGARDED", HEALTHS, Some("DEGRADED")),
        ("IF SCI_Health < DEGRADED THEN FLAG", 14, "<", "`=` or `!=`, as this has no order", None),
        ("IF SCI_State = GONE THEN FLAG", 15, "GONE", "`ACTIVE`, `HEALTHY`, `STALE` or `FAILED`", None),
        ("IF Computing_Time > 3600001 THEN FLAG", 20, "3600001", TIME, None),
        ("IF Computing_Time > 5min THEN FLAG", 20, "5min", TIME, None),
        ("IF Computing_Time > 0.0001ms THEN FLAG", 20, "0.0001ms", TIME, None),
        ("IF CS_ID = 0 THEN FLAG", 11, "0", IDENTITY, None),
        ("IF CSCI_ID = 188.3.67.3:67 THEN FLAG", 13, "188.3.67.3:67", IDENTITY, None),
    ]);
}

/// Proves SMA-15.
#[test]
fn a_text_that_is_no_action_is_refused_with_its_place_and_what_could_stand_there() {
    check(&[
        ("IF Flagged THEN", 15, "", ACTIONS, None),
        ("IF Flagged THEN DROP", 16, "DROP", ACTIONS, None),
        ("IF Flagged THEN REDUSE SCI_GAS BY 5", 16, "REDUSE", ACTIONS, Some("REDUCE")),
        ("IF Flagged THEN FLAG FLAG", 21, "FLAG", MORE, None),
        ("IF Flagged THEN FLAG;", 20, ";", MORE, None),
        ("IF Flagged THEN FLAG,", 21, "", ACTIONS, None),
        ("IF Flagged THEN SET Site_GAS = 5", 20, "Site_GAS", SETTABLE, None),
        ("IF Flagged THEN SET SCI_Health = 5", 33, "5", HEALTHS, None),
        ("IF Flagged THEN SET Price 5", 26, "5", "`=`", None),
        ("IF Flagged THEN SET Security_Level = 11", 37, "11", SCORE, None),
        ("IF Flagged THEN CAP SCI_Health AT 5", 20, "SCI_Health", TARGET, None),
        ("IF Flagged THEN CAP Price TO 5", 26, "TO", "`AT`", None),
        ("IF Flagged THEN REDUCE Price AT 5", 29, "AT", "`BY`", None),
        (
            "IF Flagged THEN REDUCE Price BY 101%",
            32,
            "101",
            "a percentage from 0 to 100, of at most three decimals",
            None,
        ),
        (
            "IF Flagged THEN REDUCE Price BY half",
            32,
            "half",
            "a whole number from 0 to 4294967295, or a percentage such as 50%",
            None,
        ),
    ]);
}

/// Proves SMA-15.
#[test]
fn the_message_of_a_refusal_names_rule_place_and_remedy() {
    assert_eq!(
        refused("IF Prize > 100 THEN SET Price = 100").to_string(),
        "rule `rule-0`, offset 3: `Prize` cannot stand here; expected a metric, `Time`, `Flagged`, `NOT` or `(`; was \
         `Price` meant?"
    );
    assert_eq!(
        refused("IF Flagged THEN SET Price =").to_string(),
        "rule `rule-0`, offset 27: the rule ends here; expected a whole number from 0 to 4294967295"
    );
}

/// Proves SMA-15.
#[test]
fn a_rule_is_bounded_in_length_depth_tests_and_actions() {
    let deep = |depth: usize| format!("IF {}Flagged{} THEN FLAG", "(".repeat(depth), ")".repeat(depth));
    policy(&[&deep(MAX_DEPTH)]);
    let error = refused(&deep(MAX_DEPTH + 1));
    assert_eq!((error.offset, error.word.as_str()), (3 + MAX_DEPTH, "("));
    assert_eq!(error.expected, "at most 16 parentheses and `NOT` within each other");
    refused(&format!("IF {}Flagged THEN FLAG", "NOT ".repeat(200)));

    let tests = |count: usize| format!("IF {} THEN FLAG", vec!["Flagged"; count].join(" OR "));
    policy(&[&tests(MAX_TESTS)]);
    assert_eq!(refused(&tests(MAX_TESTS + 1)).expected, "at most 64 tests in a condition");

    let actions = |count: usize| format!("IF Flagged THEN {}", vec!["FLAG"; count].join(", "));
    policy(&[&actions(MAX_ACTIONS)]);
    assert_eq!(refused(&actions(MAX_ACTIONS + 1)).expected, "at most 16 actions in a rule");

    let long = |length: usize| format!("{:length$}", "IF Flagged THEN FLAG");
    policy(&[&long(MAX_TEXT)]);
    assert_eq!(refused(&long(MAX_TEXT + 1)).expected, "at most 1024 octets in a rule");
}

/// Proves SMA-15.
#[test]
fn a_policy_is_bounded_in_rules_and_in_tests_of_sites_and_its_names_are_its_own() {
    let rules = vec!["IF Flagged THEN FLAG"; MAX_RULES + 1];
    let errors = Policy::compile(&config(&rules), &calendar()).unwrap_err();
    assert_eq!((errors.len(), errors[0].expected.as_str()), (1, "at most 256 rules"));
    policy(&rules[..MAX_RULES]);

    let tests = |from: usize, to: usize| {
        let tests: Vec<String> = (from..to).map(|value| format!("Site_GAS<{value}")).collect();
        format!("IF {} THEN FLAG", tests.join(" OR "))
    };
    let rules: Vec<String> = (0..5).map(|n| tests(n * 60, (n + 1) * 60)).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let errors = Policy::compile(&config(&rules), &calendar()).unwrap_err();
    assert_eq!(errors[0].rule, "rule-4");
    assert_eq!(errors[0].expected, "at most 256 different tests of site metrics in all rules");

    let mut twice = config(&["IF Flagged THEN FLAG", "IF Prize > 1 THEN FLAG", "IF Flagged THEN FLAG"]);
    twice.rules[2].name = "rule-0".into();
    let errors = Policy::compile(&twice, &calendar()).unwrap_err();
    let found: Vec<_> = errors.iter().map(|error| (error.rule.as_str(), error.expected.as_str())).collect();
    assert_eq!(found[1], ("rule-0", "a name that no other rule has"), "every rule's fault is told");
    assert_eq!(found.len(), 2);
}
