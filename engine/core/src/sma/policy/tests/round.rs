//! Going through everything again.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

type Place = crate::sma::InstanceKey;

#[derive(Default, Clone)]
struct Table(BTreeMap<CsId, BTreeSet<CsciId>>);

impl Order for Table {
    fn next_service(&self, after: Option<CsId>) -> Option<CsId> {
        self.0.keys().copied().find(|cs_id| after.is_none_or(|after| *cs_id > after))
    }

    fn next_instance(&self, cs_id: CsId, after: Option<CsciId>) -> Option<CsciId> {
        self.0.get(&cs_id)?.iter().copied().find(|csci_id| after.is_none_or(|after| *csci_id > after))
    }
}

fn place(service: u32, instance: u32) -> Place {
    Place { cs_id: CsId::number(service).unwrap(), csci_id: CsciId::number(instance).unwrap() }
}

fn table(places: impl IntoIterator<Item = Place>) -> Table {
    let mut table = Table::default();
    for Place { cs_id, csci_id } in places {
        table.0.entry(cs_id).or_default().insert(csci_id);
    }
    table
}

fn all(services: u32, instances: u32) -> Vec<Place> {
    (1..=services).flat_map(|service| (1..=instances).map(move |instance| place(service, instance))).collect()
}

/// Proves SMA-21.
#[test]
fn a_change_of_policy_makes_every_record_again_a_bounded_number_a_call() {
    let table = table(all(7, 100));
    let mut again = Reevaluation::default();
    assert!(!again.is_pending());
    again.everything();
    let mut seen = Vec::new();
    while again.is_pending() {
        let slice = again.slice(&table, 64);
        assert!(slice.len() <= 64);
        seen.extend(slice);
    }
    assert_eq!(seen, all(7, 100), "each once, in order");
}

/// Proves SMA-21.
#[test]
fn a_change_of_a_site_makes_the_records_of_its_service_again() {
    let table = table(all(3, 5));
    let mut again = Reevaluation::default();
    again.service(place(2, 1).cs_id);
    assert_eq!(again.slice(&table, 100), (1..=5).map(|instance| place(2, instance)).collect::<Vec<_>>());
    assert!(!again.is_pending());
    again.service(place(9, 1).cs_id);
    assert_eq!(again.slice(&table, 100), [], "a service that is gone is done");
    assert!(!again.is_pending());
}

/// Proves SMA-21.
#[test]
fn changes_in_quick_succession_keep_no_record_from_its_turn() {
    let table = table(all(4, 50));
    let mut again = Reevaluation::default();
    let mut seen = BTreeSet::new();
    for _ in 0..50 {
        again.everything();
        again.service(place(1, 1).cs_id);
        seen.extend(again.slice(&table, 10));
    }
    assert_eq!(seen.len(), 200);
}

#[derive(Debug, Clone)]
enum Step {
    Everything,
    Service(u32),
    Slice(usize),
    Insert(u32, u32),
    Remove(u32, u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (service, instance) = (1u32..5, 1u32..8);
    prop::collection::vec(
        prop_oneof![
            1 => Just(Step::Everything),
            2 => service.clone().prop_map(Step::Service),
            4 => (0usize..9).prop_map(Step::Slice),
            2 => (service.clone(), instance.clone()).prop_map(|(service, instance)| Step::Insert(service, instance)),
            2 => (service, instance).prop_map(|(service, instance)| Step::Remove(service, instance)),
        ],
        0..60,
    )
}

proptest! {
    /// What is inserted is new and needs no second look.
    ///
    /// Proves SMA-21.
    #[test]
    fn everything_that_was_there_at_a_change_and_stays_gets_its_turn_after_it(steps in steps()) {
        let mut table = table(all(3, 4));
        let mut again = Reevaluation::default();
        let mut due: BTreeSet<Place> = BTreeSet::new();
        let places = |table: &Table| -> Vec<Place> {
            table.0.iter().flat_map(|(cs_id, all)| all.iter().map(|csci_id| Place { cs_id: *cs_id, csci_id: *csci_id })).collect()
        };
        for step in steps {
            match step {
                Step::Everything => {
                    again.everything();
                    due.extend(places(&table));
                }
                Step::Service(service) => {
                    let cs_id = place(service, 1).cs_id;
                    again.service(cs_id);
                    due.extend(places(&table).into_iter().filter(|place| place.cs_id == cs_id));
                }
                Step::Slice(bound) => {
                    let slice = again.slice(&table, bound);
                    prop_assert!(slice.len() <= bound);
                    for place in slice {
                        due.remove(&place);
                    }
                }
                Step::Insert(service, instance) => {
                    let Place { cs_id, csci_id } = place(service, instance);
                    table.0.entry(cs_id).or_default().insert(csci_id);
                }
                Step::Remove(service, instance) => {
                    let Place { cs_id, csci_id } = place(service, instance);
                    due.remove(&place(service, instance));
                    let left = table.0.get_mut(&cs_id).map(|all| {
                        all.remove(&csci_id);
                        all.len()
                    });
                    if left == Some(0) {
                        table.0.remove(&cs_id);
                    }
                }
            }
        }
        for _ in 0..100 {
            for place in again.slice(&table, 10) {
                due.remove(&place);
            }
        }
        prop_assert!(!again.is_pending());
        prop_assert!(due.is_empty(), "{:?}", due);
    }
}
