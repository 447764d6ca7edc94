//! Which record of an instance selects, and which slots count against it.

use super::*;
use cats_engine_types::{Gas, Health, Micros};

fn key(number: u32) -> Key {
    (CsId::number(1).unwrap(), CsciId::number(number).unwrap())
}

fn fixed(number: u32) -> StaticMetric {
    let (cs_id, csci_id) = key(number);
    StaticMetric { priority: Some(7), affinity: Some(9), ..StaticMetric::new(cs_id, csci_id) }
}

fn seconds(start: Instant, seconds: u64) -> Instant {
    start + Duration::from_secs(seconds)
}

/// A record of an agent that is valid for 10 s, with as many slots as it says.
fn record(agent: u16, number: u32, slots: u32, received: Instant, taken: Instant) -> Change {
    let valid_for = Duration::from_secs(10);
    let (cs_id, csci_id) = key(number);
    let gas = Gas::Slots(slots);
    Change::Record(Record {
        source: Source::Agent(AgentIx::new(agent)),
        expires: Some(received + valid_for),
        taken: Some(taken),
        metric: StaticMetric { gas, valid_for: Some(valid_for), ..StaticMetric::new(cs_id, csci_id) },
    })
}

fn slots(cst: &Cst, number: u32, now: Instant) -> Option<Gas> {
    let (cs_id, csci_id) = key(number);
    cst.selecting(cst.row(cs_id, csci_id)?, now).map(Record::gas)
}

fn apply(cst: &mut Cst, agent: u16, number: u32, change: Change) {
    cst.apply(AgentIx::new(agent), [(key(number), change)].into_iter());
}

/// Proves CP-2, CP-25.
#[test]
fn a_valid_record_of_an_agent_selects_before_the_configuration_and_an_expired_one_after() {
    let start = Instant::now();
    let mut cst = Cst::default();
    cst.configure(&[fixed(1)], start);
    assert_eq!(slots(&cst, 1, start), Some(Gas::Unlimited));
    apply(&mut cst, 0, 1, record(0, 1, 3, start, start));
    assert_eq!(slots(&cst, 1, seconds(start, 9)), Some(Gas::Slots(3)));
    assert_eq!(slots(&cst, 1, seconds(start, 10)), Some(Gas::Unlimited));
    cst.refresh(AgentIx::new(0), seconds(start, 9));
    assert_eq!(slots(&cst, 1, seconds(start, 18)), Some(Gas::Slots(3)), "a refresh extends it");
    assert_eq!(slots(&cst, 1, seconds(start, 19)), Some(Gas::Unlimited));
    // Without a static entry the expired one stays, and is told from a valid one.
    cst.configure(&[], start);
    let late = seconds(start, 60);
    let (cs_id, csci_id) = key(1);
    let row = cst.row(cs_id, csci_id).unwrap();
    let record = cst.selecting(row, late).unwrap();
    assert_eq!((record.gas(), cst.is_valid(record, late)), (Gas::Slots(3), false));
    apply(&mut cst, 0, 1, Change::Gone);
    assert!(cst.rows(cs_id).is_empty());
}

#[test]
fn of_two_agents_the_later_report_selects_while_it_is_valid() {
    let start = Instant::now();
    let mut cst = Cst::default();
    apply(&mut cst, 0, 1, record(0, 1, 1, start, seconds(start, 1)));
    apply(&mut cst, 1, 1, record(1, 1, 2, seconds(start, 5), start));
    assert_eq!(slots(&cst, 1, seconds(start, 6)), Some(Gas::Slots(1)));
    assert_eq!(slots(&cst, 1, seconds(start, 12)), Some(Gas::Slots(2)), "the other one expired");
    apply(&mut cst, 1, 1, record(1, 1, 4, seconds(start, 6), seconds(start, 6)));
    assert_eq!(slots(&cst, 1, seconds(start, 7)), Some(Gas::Slots(4)));
    apply(&mut cst, 1, 1, Change::Gone);
    assert_eq!(slots(&cst, 1, seconds(start, 7)), Some(Gas::Slots(1)));
}

#[test]
fn what_only_the_operator_says_is_in_every_record() {
    let start = Instant::now();
    let mut cst = Cst::default();
    let (cs_id, csci_id) = key(1);
    let said = |cst: &Cst| {
        let record = cst.selecting(cst.row(cs_id, csci_id).unwrap(), start).unwrap();
        (record.source, record.metric.priority, record.metric.affinity, record.metric.delay)
    };
    let agent = Source::Agent(AgentIx::new(0));
    apply(&mut cst, 0, 1, record(0, 1, 1, start, start));
    assert_eq!(said(&cst), (agent, None, None, None));
    cst.configure(&[StaticMetric { delay: Some(Micros(5)), ..fixed(1) }], start);
    assert_eq!(said(&cst), (agent, Some(7), Some(9), Some(Micros(5))));
    apply(&mut cst, 0, 1, record(0, 1, 2, start, start));
    assert_eq!(said(&cst), (agent, Some(7), Some(9), Some(Micros(5))));
    cst.configure(&[], start);
    assert_eq!(said(&cst), (agent, None, None, None));
}

/// Proves CP-2.
#[test]
fn a_record_of_a_source_that_is_not_authorised_never_selects() {
    let start = Instant::now();
    let mut cst = Cst::default();
    apply(&mut cst, 3, 1, Change::Unauthorised);
    let (cs_id, csci_id) = key(1);
    let row = cst.row(cs_id, csci_id).unwrap();
    assert_eq!((cst.selecting(row, start), row.unauthorised()), (None, [AgentIx::new(3)].as_slice()));
    cst.configure(&[fixed(1)], start);
    assert_eq!(slots(&cst, 1, start), Some(Gas::Unlimited));
    apply(&mut cst, 3, 1, record(3, 1, 2, start, start));
    assert_eq!(slots(&cst, 1, start), Some(Gas::Slots(2)));
    assert_eq!(cst.row(cs_id, csci_id).unwrap().unauthorised(), []);
    apply(&mut cst, 3, 1, Change::Unauthorised);
    assert_eq!(slots(&cst, 1, start), Some(Gas::Unlimited));
    cst.configure(&[], start);
    apply(&mut cst, 3, 1, Change::Gone);
    assert!(cst.services().is_empty());
}

/// Proves CP-22.
#[test]
fn slots_that_a_report_has_still_count_against_the_configuration() {
    let start = Instant::now();
    let mut cst = Cst::default();
    cst.configure(&[fixed(1)], start);
    apply(&mut cst, 0, 1, record(0, 1, 5, start, start));
    cst.reserve(key(1), 2);
    cst.reserve(key(1), 1);
    cst.account(key(1), 2);
    let (cs_id, csci_id) = key(1);
    let reserved = |cst: &Cst| {
        let row = cst.row(cs_id, csci_id).unwrap();
        row.records().map(|record| row.reserved_of(record)).collect::<Vec<_>>()
    };
    assert_eq!(reserved(&cst), [1, 3]);
    cst.release(key(1), 2, false);
    assert_eq!(reserved(&cst), [1, 1]);
    cst.release(key(1), 1, true);
    assert_eq!(reserved(&cst), [0, 0]);
}

#[test]
fn the_generation_counts_what_changed_and_not_what_was_said_again() {
    let start = Instant::now();
    let mut cst = Cst::default();
    apply(&mut cst, 0, 1, record(0, 1, 1, start, start));
    assert_eq!(cst.generation(), Generation(1));
    apply(&mut cst, 0, 1, record(0, 1, 1, seconds(start, 5), seconds(start, 5)));
    assert_eq!(cst.generation(), Generation(1));
    apply(&mut cst, 0, 1, record(0, 1, 0, seconds(start, 5), seconds(start, 5)));
    assert_eq!(cst.generation(), Generation(2));
    let mut unhealthy = fixed(2);
    unhealthy.health = Health::Unhealthy;
    cst.configure(&[unhealthy], start);
    assert_eq!(cst.generation(), Generation(3));
}

#[test]
fn a_whole_view_in_order_leaves_the_rows_in_order() {
    let start = Instant::now();
    let mut cst = Cst::default();
    cst.configure(&[fixed(3), fixed(8)], start);
    let records = |numbers: &[u32]| -> Vec<(Key, Change)> {
        numbers.iter().map(|number| (key(*number), record(0, *number, 1, start, start))).collect()
    };
    cst.apply(AgentIx::new(0), records(&[1, 2, 3, 5, 8, 9]).into_iter());
    let numbers = |cst: &Cst| -> Vec<u32> {
        cst.rows(key(1).0).iter().filter_map(|row| row.csci_id.as_number()).collect()
    };
    assert_eq!(numbers(&cst), [1, 2, 3, 5, 8, 9]);
    let gone = [1, 2, 3, 9].map(|number| (key(number), Change::Gone));
    cst.apply(AgentIx::new(0), gone.into_iter().chain(records(&[7])));
    assert_eq!(numbers(&cst), [3, 5, 7, 8]);
}
