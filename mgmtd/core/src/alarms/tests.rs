//! What becomes of alarms: RFC 8632's own state machine.

use super::entry::{Act, Condition, Key, Severity, State};
use super::list::{List, Notify, Policy, Range, Told, Wanted};
use std::sync::Arc;

const SECOND: u64 = 1_000_000;

fn list(notify: Notify) -> List {
    List::new(Policy { most_changes: 32, notify })
}

fn key(name: &str) -> Key {
    Key { resource: Arc::from(name), kind: Arc::from("cats-alarms:quarantine") }
}

fn condition(severity: Severity, text: &str, at: u64) -> Condition {
    Condition { severity, text: Arc::from(text), at_us: at * SECOND }
}

fn major(at: u64) -> Condition {
    condition(Severity::Major, "it is wrong", at)
}

fn act(state: State, operator: &str, at: u64) -> Act {
    Act { at_us: at * SECOND, operator: operator.to_owned(), state, text: None }
}

/// No shelf takes anything.
fn nowhere(_: &Key) -> Option<String> {
    None
}

/// The changes of an alarm: when, and how bad, or nothing when it was cleared.
fn history(list: &List, name: &str) -> Vec<(u64, Option<Severity>)> {
    let entry = list.get(&key(name)).unwrap();
    entry.changes.iter().map(|change| (change.at_us / SECOND, change.severity)).collect()
}

#[test]
fn an_alarm_is_raised_changes_clears_and_is_raised_again_as_one_entry() {
    let mut list = list(Notify::All);
    assert!(list.raise(&key("a"), &major(1), &nowhere).is_some());
    assert!(list.raise(&key("a"), &major(2), &nowhere).is_none(), "it stands so already");
    assert!(list.raise(&key("a"), &condition(Severity::Major, "it is worse", 3), &nowhere).is_some());
    assert!(list.raise(&key("a"), &condition(Severity::Minor, "it is worse", 4), &nowhere).is_some());
    let cleared = list.clear(&key("a"), 5 * SECOND).unwrap();
    assert_eq!((cleared.change.severity, &*cleared.change.text), (None, "it is worse"));
    assert!(list.clear(&key("a"), 6 * SECOND).is_none());
    let entry = list.get(&key("a")).unwrap();
    assert!(entry.cleared);
    assert_eq!((entry.severity, entry.raised_us, entry.changed_us), (Severity::Minor, SECOND, 5 * SECOND));
    list.raise(&key("a"), &major(7), &nowhere).unwrap();
    let entry = list.get(&key("a")).unwrap();
    assert_eq!((entry.cleared, entry.created_us, entry.raised_us), (false, SECOND, 7 * SECOND));
    let (major, minor) = (Some(Severity::Major), Some(Severity::Minor));
    assert_eq!(history(&list, "a"), [(1, major), (3, major), (4, minor), (5, None), (7, major)]);
}

#[test]
fn changes_at_one_time_or_by_a_clock_that_was_set_back_are_kept_in_their_order() {
    let mut list = list(Notify::All);
    list.raise(&key("a"), &major(9), &nowhere);
    list.clear(&key("a"), 9 * SECOND);
    list.raise(&key("a"), &major(2), &nowhere);
    let times: Vec<u64> = list.get(&key("a")).unwrap().changes.iter().map(|change| change.at_us).collect();
    assert_eq!(times, [9 * SECOND, 9 * SECOND + 1, 9 * SECOND + 2]);
}

/// The example of `notify-status-changes` in RFC 8632: told at T1, T2, T5, T6, T7 and T8.
#[test]
fn with_a_level_what_crosses_it_is_told_and_what_clears() {
    use Severity::{Critical, Major, Minor, Warning};
    let mut list = list(Notify::Level(Major));
    let severities = [Major, Minor, Warning, Minor, Major, Critical, Major];
    let mut told: Vec<Option<Told>> = (1..)
        .zip(severities)
        .map(|(at, severity)| list.raise(&key("a"), &condition(severity, "x", at), &nowhere))
        .collect();
    told.push(list.clear(&key("a"), 8 * SECOND));
    let times: Vec<u64> = told.into_iter().flatten().map(|told| told.change.at_us / SECOND).collect();
    assert_eq!(times, [1, 2, 5, 6, 7, 8]);
}

#[test]
fn only_raising_and_clearing_may_be_told() {
    let mut list = list(Notify::RaiseAndClear);
    assert!(list.raise(&key("a"), &major(1), &nowhere).is_some());
    assert!(list.raise(&key("a"), &condition(Severity::Critical, "worse", 2), &nowhere).is_none());
    assert!(list.clear(&key("a"), 3 * SECOND).is_some());
    assert!(list.raise(&key("a"), &major(4), &nowhere).is_some(), "it is raised again");
}

#[test]
fn so_many_changes_are_kept_as_is_configured_and_the_latest_stay() {
    let mut list = List::new(Policy { most_changes: 3, notify: Notify::All });
    for at in 1..=5 {
        list.raise(&key("a"), &condition(Severity::Major, &format!("words {at}"), at), &nowhere);
    }
    let major = Some(Severity::Major);
    assert_eq!(history(&list, "a"), [(3, major), (4, major), (5, major)]);
    list.take_touched();
    list.set_policy(Policy { most_changes: 1, notify: Notify::All });
    assert_eq!(history(&list, "a"), [(5, major)]);
    assert_eq!(list.take_touched().len(), 1);
}

#[test]
fn what_matches_a_shelf_lies_there_untold_and_comes_back_when_the_shelf_is_gone() {
    let mut list = list(Notify::All);
    let shelf = |key: &Key| (*key.resource == *"a").then(|| "noise".to_owned());
    assert!(list.raise(&key("a"), &major(1), &shelf).is_none());
    assert!(list.raise(&key("b"), &major(1), &shelf).is_some());
    let entry = list.get(&key("a")).unwrap();
    assert_eq!((entry.shelf.as_deref(), entry.state()), (Some("noise"), State::Shelved));
    assert!(entry.acts[0].text.as_ref().unwrap().contains("noise"));
    assert!(list.set_state(&key("a"), act(State::Ack, "bob", 2)).is_none(), "operators do nothing there");
    assert!(list.clear(&key("a"), 3 * SECOND).is_none());
    assert_eq!(history(&list, "a").len(), 2, "its history goes on");
    list.take_touched();
    list.shelve(&nowhere, 4 * SECOND);
    let entry = list.get(&key("a")).unwrap();
    assert_eq!((&entry.shelf, entry.state()), (&None, State::Unshelved));
    assert_eq!(list.take_touched().into_iter().collect::<Vec<_>>(), [key("a")]);
    list.shelve(&|_| Some("all".to_owned()), 5 * SECOND);
    list.shelve(&|_| Some("others".to_owned()), 6 * SECOND);
    assert_eq!(list.get(&key("b")).unwrap().shelf.as_deref(), Some("others"));
    assert_eq!((list.changed_us(false), list.changed_us(true)), (Some(5 * SECOND), Some(6 * SECOND)));
}

#[test]
fn alarms_are_purged_by_what_all_criteria_say() {
    let begin = || {
        let mut list = list(Notify::All);
        for (name, severity, at) in [
            ("a", Severity::Warning, 10),
            ("b", Severity::Minor, 20),
            ("c", Severity::Major, 30),
            ("d", Severity::Critical, 40),
        ] {
            list.raise(&key(name), &condition(severity, "x", at), &nowhere);
        }
        list.clear(&key("a"), 50 * SECOND);
        list.clear(&key("c"), 60 * SECOND);
        list.set_state(&key("a"), act(State::Closed, "ann", 70));
        list.set_state(&key("b"), act(State::Ack, "bob", 70));
        list
    };
    let left = |wanted: Wanted| {
        let mut list = begin();
        let purged = list.purge(false, &wanted, 80 * SECOND);
        let left: String = list.iter().map(|(key, _)| key.resource.to_string()).collect();
        assert_eq!(purged + left.len(), 4);
        left
    };
    let any = Wanted::default();
    assert_eq!(left(any.clone()), "");
    assert_eq!(left(Wanted { cleared: Some(true), ..any.clone() }), "bd");
    assert_eq!(left(Wanted { cleared: Some(false), ..any.clone() }), "ac");
    assert_eq!(left(Wanted { before_us: Some(45 * SECOND), ..any.clone() }), "ac", "by the last change");
    assert_eq!(left(Wanted { severity: Some(Range::Below(Severity::Major)), ..any.clone() }), "cd");
    assert_eq!(left(Wanted { severity: Some(Range::Is(Severity::Major)), ..any.clone() }), "abd");
    assert_eq!(left(Wanted { severity: Some(Range::Above(Severity::Major)), ..any.clone() }), "abc");
    assert_eq!(left(Wanted { state: Some(State::Closed), ..any.clone() }), "bcd");
    assert_eq!(left(Wanted { state: Some(State::None), ..any.clone() }), "ab");
    assert_eq!(left(Wanted { operator: Some("bob".to_owned()), ..any.clone() }), "acd");
    assert_eq!(left(Wanted { cleared: Some(true), state: Some(State::None), ..any.clone() }), "abd");
    let mut list = begin();
    assert_eq!(list.purge(true, &any, 80 * SECOND), 0, "nothing is shelved");
    list.purge(false, &any, 80 * SECOND);
    list.raise(&key("a"), &major(90), &nowhere);
    assert_eq!(list.get(&key("a")).unwrap().created_us, 90 * SECOND, "it appears anew");
}

#[test]
fn compressing_leaves_the_latest_change_of_those_that_are_meant() {
    let mut list = list(Notify::All);
    for name in ["a", "b", "c"] {
        list.raise(&key(name), &major(1), &nowhere);
    }
    list.clear(&key("a"), 2 * SECOND);
    list.clear(&key("b"), 2 * SECOND);
    assert_eq!(list.compress(false, |key| *key.resource != *"b", 3 * SECOND), 1);
    assert_eq!((history(&list, "a"), history(&list, "b").len()), (vec![(2, None)], 2));
}

#[test]
fn a_full_list_lets_go_of_what_was_cleared_first_and_never_of_what_stands() {
    let mut list = list(Notify::All);
    for number in 0..1_000 {
        list.raise(&key(&format!("{number:04}")), &major(number), &nowhere);
    }
    assert!(list.raise(&key("new"), &major(2_000), &nowhere).is_none(), "all stand");
    assert!(list.clear(&key("new"), 2_001 * SECOND).is_none());
    list.clear(&key("0007"), 3_000 * SECOND);
    list.clear(&key("0003"), 3_001 * SECOND);
    assert!(list.raise(&key("new"), &major(4_000), &nowhere).is_some());
    assert_eq!((list.get(&key("0007")).is_none(), list.get(&key("0003")).is_some()), (true, true));
    assert_eq!(list.iter().count(), 1_000);
}

#[test]
fn operators_states_are_bounded_and_the_latest_holds() {
    let mut list = list(Notify::All);
    list.raise(&key("a"), &major(1), &nowhere);
    for at in 0..40 {
        list.set_state(&key("a"), act(State::Ack, "bob", at));
    }
    let told = list.set_state(&key("a"), act(State::Closed, "ann", 2)).unwrap();
    let entry = list.get(&key("a")).unwrap();
    assert_eq!((entry.acts.len(), entry.state()), (32, State::Closed));
    assert!(told.at_us > 39 * SECOND, "in their order, whatever the clock says");
    assert!(list.set_state(&key("b"), act(State::Ack, "bob", 1)).is_none());
}
