//! What is a rule, and how it prints.

use super::*;
use crate::sma::policy::parser::parse;
use proptest::prelude::*;

fn printed(text: &str) -> String {
    match parse(text, &calendar()) {
        Ok(rule) => rule.to_string(),
        Err(refusal) => panic!("{text}: {refusal:?}"),
    }
}

/// Proves SMA-15.
#[test]
fn the_four_rules_of_the_document_print_as_they_are_written() {
    for rule in [
        "IF Site_GAS < 100 THEN SET Security_Level = 5",
        "IF SCI_Health = DEGRADED THEN REDUCE SCI_GAS BY 50%",
        "IF Time IN Maintenance_Window THEN SUPPRESS_UPDATES",
        "IF Price > 100 THEN SET Price = 100",
    ] {
        assert_eq!(printed(rule), rule);
    }
}

#[test]
fn case_hyphens_spaces_and_second_names_do_not_matter() {
    for (written, normal) in [
        ("if site-gas<100 then set security-level=5", "IF Site_GAS < 100 THEN SET Security_Level = 5"),
        ("IF gas>=1 THEN flag , suppress-updates", "IF SCI_GAS >= 1 THEN FLAG, SUPPRESS_UPDATES"),
        ("IF time IN NIGHT THEN FLAG", "IF Time IN Night THEN FLAG"),
        ("IF Computing_Time > 1.5s THEN FLAG", "IF Computing_Time > 1500ms THEN FLAG"),
        ("IF Computing_Time > 250 us THEN FLAG", "IF Computing_Time > 0.25ms THEN FLAG"),
        ("IF Computing_Time > 12.5 THEN FLAG", "IF Computing_Time > 12.5ms THEN FLAG"),
        (
            "IF GAS > 1 THEN REDUCE Computing_Time BY 12.50 %",
            "IF SCI_GAS > 1 THEN REDUCE Computing_Time BY 12.5%",
        ),
        ("IF CS_ID = 2001:DB8:0::1 THEN FLAG", "IF CS_ID = 2001:db8::1 THEN FLAG"),
        ("IF (((Flagged))) THEN FLAG", "IF Flagged THEN FLAG"),
        ("IF NOT NOT Flagged THEN FLAG", "IF Flagged THEN FLAG"),
        ("IF NOT (Flagged) THEN FLAG", "IF NOT Flagged THEN FLAG"),
        (
            "IF Flagged AND GAS > 1 OR GAS < 9 THEN FLAG",
            "IF (Flagged AND SCI_GAS > 1) OR SCI_GAS < 9 THEN FLAG",
        ),
        (
            "IF Flagged AND (GAS > 1 AND (GAS < 9)) THEN FLAG",
            "IF Flagged AND SCI_GAS > 1 AND SCI_GAS < 9 THEN FLAG",
        ),
        (
            "IF NOT (Flagged OR SCI_State != STALE) THEN CAP Price AT 9",
            "IF NOT (Flagged OR SCI_State != STALE) THEN CAP Price AT 9",
        ),
    ] {
        assert_eq!(printed(written), normal);
        assert_eq!(printed(normal), normal);
    }
}

fn numbers() -> impl Strategy<Value = (Number, u64)> {
    let metric = prop::sample::select(Number::ALL.to_vec());
    (metric, prop_oneof![0u64..4, any::<u64>()]).prop_map(|(metric, value)| {
        let largest = metric.largest();
        (metric, if largest == u64::MAX { value } else { value % (largest + 1) })
    })
}

fn tests() -> impl Strategy<Value = Test> {
    let health = prop::sample::select(crate::sma::policy::metric::HEALTHS.to_vec());
    let state = prop::sample::select(SciState::ALL.to_vec());
    let address = any::<std::net::IpAddr>();
    let window = prop::sample::select(vec!["upgrade-7", "Night", "Maintenance_Window"]).prop_map(|name| {
        let windows = calendar().find(name).unwrap_or(calendar().maintenance());
        Test::Time(TimeWindow { name: name.to_owned(), windows })
    });
    prop_oneof![
        4 => (numbers(), prop::sample::select(Comparison::ALL.to_vec()))
            .prop_map(|((metric, value), is)| Test::Number { metric, is, value }),
        1 => (any::<bool>(), health).prop_map(|(equal, value)| Test::Health { equal, value }),
        1 => (any::<bool>(), state).prop_map(|(equal, value)| Test::State { equal, value }),
        1 => (any::<bool>(), address).prop_map(|(equal, value)| Test::Service { equal, value: CsId::address(value) }),
        1 => (any::<bool>(), 1u32..)
            .prop_map(|(equal, value)| Test::Instance { equal, value: CsciId::number(value).unwrap() }),
        1 => window,
        1 => Just(Test::Flagged),
    ]
}

/// Conditions in normal form.
pub(super) fn conditions() -> impl Strategy<Value = Condition> {
    tests().prop_map(Condition::Test).prop_recursive(6, 40, 4, |inner| {
        let some = prop::collection::vec(inner.clone(), 2..5);
        prop_oneof![
            some.clone().prop_map(|members| {
                let flat = members.into_iter().flat_map(|member| match member {
                    Condition::All(members) => members,
                    other => vec![other],
                });
                Condition::All(flat.collect())
            }),
            some.prop_map(|members| {
                let flat = members.into_iter().flat_map(|member| match member {
                    Condition::Any(members) => members,
                    other => vec![other],
                });
                Condition::Any(flat.collect())
            }),
            inner.prop_map(|inner| match inner {
                Condition::Not(inner) => *inner,
                other => Condition::Not(Box::new(other)),
            }),
        ]
    })
}

pub(super) fn actions() -> impl Strategy<Value = Action> {
    let target = prop::sample::select(Target::ALL.to_vec());
    let valued = (target, any::<u64>(), 0u32..=100_000).prop_map(|(target, value, share)| {
        let value = value % (target.number().largest() + 1);
        (target, value, crate::sma::transform::Percent::thousandths(share).unwrap())
    });
    let health = prop::sample::select(crate::sma::policy::metric::HEALTHS.to_vec());
    prop_oneof![
        valued.clone().prop_map(|(target, value, _)| Action::Set(target, value)),
        valued.clone().prop_map(|(target, value, _)| Action::Reduce(target, Amount::Value(value))),
        valued.clone().prop_map(|(target, _, share)| Action::Reduce(target, Amount::Share(share))),
        valued.clone().prop_map(|(target, value, _)| Action::Cap(target, value)),
        valued.prop_map(|(target, value, _)| Action::Floor(target, value)),
        health.prop_map(Action::SetHealth),
        Just(Action::SuppressUpdates),
        Just(Action::Flag),
    ]
}

proptest! {
    #[test]
    fn a_rule_prints_as_the_text_that_parses_to_it(
        condition in conditions(),
        actions in prop::collection::vec(actions(), 1..5),
    ) {
        let rule = Rule { condition, actions };
        let text = rule.to_string();
        prop_assume!(text.len() <= MAX_TEXT);
        prop_assert_eq!(parse(&text, &calendar()).map_err(|refusal| format!("{text}: {refusal:?}")), Ok(rule));
    }

    #[test]
    fn whatever_is_written_is_a_rule_or_is_refused_at_a_place_of_it(text in prop_oneof![
        any::<String>(),
        "(IF|if|THEN|AND|OR|NOT|\\(|\\)|SCI_GAS|Price|Time|IN|Night|<|=|!=|5|50%|SET|REDUCE|BY|,| ){0,30}",
        "IF [ -~]{0,40} THEN [ -~]{0,40}",
    ]) {
        match parse(&text, &calendar()) {
            Ok(rule) => {
                let normal = rule.to_string();
                prop_assert_eq!(printed(&normal), normal);
            }
            Err(refusal) => {
                prop_assert!(text.is_char_boundary(refusal.offset) && text[refusal.offset..].starts_with(&refusal.word));
                prop_assert!(!refusal.expected.is_empty());
            }
        }
    }
}
