//! What a C-SMA sends to whom, and when.

use crate::world::{World, cs_id, csci, node, only, peer, record};
use cats_engine_core::scope::Scope;
use cats_engine_core::sma::northbound::{NorthboundConfig, PeerConfig, Urgency};
use cats_engine_types::{Advertisement, AdvertisementContent, AgentInstruction, WithdrawalReason};
use std::time::Duration;

/// The instances of a message, and those that it withdraws.
fn said(advertisement: &Advertisement) -> (Vec<u32>, Vec<u32>) {
    match &advertisement.content {
        AdvertisementContent::Snapshot { records, .. } => {
            (records.iter().filter_map(|record| record.csci_id.as_number()).collect(), Vec::new())
        }
        AdvertisementContent::Delta { records, withdrawals } => (
            records.iter().filter_map(|record| record.csci_id.as_number()).collect(),
            withdrawals.iter().filter_map(|withdrawal| withdrawal.csci_id.as_number()).collect(),
        ),
        AdvertisementContent::Refresh => (Vec::new(), Vec::new()),
    }
}

/// A world in which everyone has the view of three instances, and what was sent is forgotten.
fn settled(peers: Vec<PeerConfig>) -> World {
    let mut world = World::with(peers);
    for (service, instance) in [(1, 1), (1, 2), (2, 3)] {
        world.publish(record(service, instance, 10), Urgency::Routine);
    }
    world.pass(Duration::from_secs(3));
    world.sent.clear();
    world
}

fn sent(world: &World) -> Vec<(Vec<u32>, Vec<u32>)> {
    world.sent.iter().map(|(_, advertisement)| said(advertisement)).collect()
}

/// Proves SMA-13, SMA-21.
#[test]
fn a_critical_change_goes_at_once_and_routine_ones_go_together() {
    let mut world = settled(vec![peer("CPS-1")]);
    world.publish(record(1, 1, 9), Urgency::Routine);
    world.publish(record(2, 3, 9), Urgency::Routine);
    assert_eq!(sent(&world), []);
    world.publish(record(1, 2, 0), Urgency::Critical);
    world.withdraw(1, 2);
    assert_eq!(sent(&world), [(vec![2], vec![]), (vec![], vec![2])]);
    world.pass(Duration::from_millis(50));
    assert_eq!(sent(&world).split_off(2), [(vec![1, 3], vec![])]);
    world.pass(Duration::from_millis(10));
    assert_eq!(world.believed(0), world.view(0));
}

#[test]
fn a_path_selector_slows_routine_messages_down_and_no_critical_one() {
    let mut world = settled(vec![peer("CPS-1")]);
    let (now, wall) = (world.now, world.wall());
    let pace = AgentInstruction::Pace { min_interval: Duration::from_secs(5) };
    world.sma.handle_instruction(&node("CPS-1"), pace, now, wall);
    world.publish(record(1, 1, 8), Urgency::Routine);
    world.pass(Duration::from_millis(100));
    assert_eq!(sent(&world).len(), 1);
    for gas in 1..5 {
        world.publish(record(1, 1, gas), Urgency::Routine);
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(sent(&world).len(), 1);
    world.publish(record(1, 2, 0), Urgency::Critical);
    assert_eq!(sent(&world).len(), 2);
    world.pass(Duration::from_secs(1));
    assert_eq!(sent(&world).split_off(2), [(vec![1], vec![])]);
    // No path selector can silence it.
    let pace = AgentInstruction::Pace { min_interval: Duration::MAX };
    let (now, wall) = (world.now, world.wall());
    world.sma.handle_instruction(&node("CPS-1"), pace, now, wall);
    assert_eq!(world.peer(0).pace, Duration::from_secs(60));
}

/// Proves SMA-13, SMA-19.
#[test]
fn a_query_is_answered_at_once_and_only_for_services_that_it_may_know_of() {
    let mut narrow = peer("CPS-1");
    narrow.scope = only(&[1]);
    let mut world = settled(vec![narrow]);
    let mut ask = |service, instances: &[u32]| {
        world.sent.clear();
        let csci_ids = instances.iter().map(|number| csci(*number)).collect();
        let query = AgentInstruction::Query { cs_id: cs_id(service), csci_ids };
        let (now, wall) = (world.now, world.wall());
        world.sma.handle_instruction(&node("CPS-1"), query, now, wall);
        world.drain();
        sent(&world)
    };
    assert_eq!(ask(1, &[]), [(vec![1, 2], vec![])]);
    assert_eq!(ask(1, &[2, 7]), [(vec![2], vec![7])]);
    assert_eq!(ask(2, &[]), []);
    assert_eq!(ask(2, &[3]), []);
    assert_eq!(world.peer(0).counters.refused_queries, 2);
}

/// Proves SMA-19.
#[test]
fn a_path_selector_never_hears_of_a_service_that_it_is_not_authorised_for() {
    let mut narrow = peer("CPS-2");
    narrow.scope = only(&[2]);
    let mut world = settled(vec![peer("CPS-1"), narrow]);
    let known = |world: &World, at: usize| {
        world.believed(at).iter().filter_map(|record| record.csci_id.as_number()).collect::<Vec<_>>()
    };
    assert_eq!((known(&world, 0), known(&world, 1)), (vec![1, 2, 3], vec![3]));
    for instance in [1, 2, 3] {
        let service = if instance == 3 { 2 } else { 1 };
        world.publish(record(service, instance, 0), Urgency::Critical);
        world.withdraw(service, instance);
    }
    let told = world.sent.iter().filter(|(to, _)| *to == node("CPS-2"));
    let told: Vec<_> = told.map(|(_, advertisement)| said(advertisement)).collect();
    assert_eq!(told, [(vec![3], vec![]), (vec![], vec![3])]);
}

/// Proves SMA-19.
#[test]
fn a_change_of_authorisation_withdraws_what_is_no_longer_to_be_known_and_tells_the_rest() {
    let mut world = settled(vec![peer("CPS-1")]);
    let with = |world: &World, scope: Scope| {
        let mut config = world.config.clone();
        config.peers[0].scope = scope;
        config
    };
    let config = with(&world, only(&[2]));
    world.configure(config);
    let AdvertisementContent::Delta { withdrawals, .. } = &world.sent[0].1.content else { panic!() };
    assert!(withdrawals.iter().all(|withdrawal| withdrawal.reason == WithdrawalReason::Unauthorised));
    assert_eq!(sent(&world), [(vec![], vec![1, 2])]);
    world.pass(Duration::from_millis(10));
    assert_eq!((world.believed(0), world.believed(0).len()), (world.view(0), 1));
    world.sent.clear();
    let config = with(&world, Scope::All);
    world.configure(config);
    assert_eq!(sent(&world), [(vec![1, 2], vec![])]);
    world.pass(Duration::from_millis(10));
    assert_eq!((world.believed(0), world.believed(0).len()), (world.view(0), 3));
    // One that is no longer to know of anything keeps nothing.
    world.configure(NorthboundConfig::default());
    world.pass(Duration::from_millis(10));
    assert_eq!((world.believed(0), world.selectors[0].connection), (Vec::new(), None));
}

/// Proves SMA-22.
#[test]
fn the_whole_view_goes_at_the_heartbeat_and_a_light_refresh_in_between() {
    let mut world = settled(vec![peer("CPS-1")]);
    world.pass(Duration::from_secs(120));
    let mut snapshots = 0;
    let mut refreshes = 0;
    for (_, advertisement) in &world.sent {
        match &advertisement.content {
            AdvertisementContent::Snapshot { last: true, records, .. } if records.len() == 3 => {
                snapshots += 1
            }
            AdvertisementContent::Refresh => refreshes += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((snapshots, refreshes), (2, 10));
    // None of the records, each valid for a minute, ever expired.
    let (now, cps) = (world.now, &world.selectors[0].cps);
    assert!(cps.records(cs_id(1), csci(1), now).iter().all(|record| record.valid && record.selects));
}

/// Proves SMA-20.
#[test]
fn a_killed_agent_never_repeats_a_nonce() {
    let mut world = settled(vec![peer("CPS-1")]);
    for start in 0..5 {
        world.restart_sma();
        world.publish(record(1, 1, start), Urgency::Critical);
        // The sixth message of each start at the latest.
        world.pass(Duration::from_millis(7 * u64::from(start)));
    }
    world.pass(Duration::from_secs(3));
    assert_eq!(world.believed(0), world.view(0));
    let nonces: Vec<_> = world.sent.iter().map(|(_, advertisement)| advertisement.freshness).collect();
    assert!(nonces.is_sorted_by(|a, b| a < b), "{nonces:?}");
}

/// Proves SMA-20, SMA-23.
#[test]
fn a_path_selector_that_leaves_the_configuration_and_returns_is_brought_to_the_view_again() {
    let mut world = settled(vec![peer("CPS-1")]);
    for _ in 0..3 {
        world.configure(NorthboundConfig::default());
        world.pass(Duration::from_secs(1));
        assert!(world.believed(0).is_empty(), "it was told that nothing is advertised to it");
        world.configure(NorthboundConfig { peers: vec![peer("CPS-1")], ..NorthboundConfig::default() });
        world.pass(Duration::from_secs(1));
        assert_eq!(world.believed(0), world.view(0));
        assert_eq!(world.believed(0).len(), 3);
    }
}

#[test]
fn what_changes_before_a_whole_view_has_come_to_it_goes_with_it_and_not_twice() {
    let peers = vec![peer("CPS-1")];
    let mut world =
        World::new(NorthboundConfig { peers, batch: 2, window: 1, ..NorthboundConfig::default() });
    for instance in 1..=10 {
        world.publish(record(1, instance, 10), Urgency::Routine);
    }
    let end = world.now + Duration::from_secs(3);
    while world.sent.is_empty() && world.step(end) {}
    world.publish(record(1, 9, 0), Urgency::Routine);
    world.publish(record(1, 1, 0), Urgency::Routine);
    world.pass(Duration::from_secs(3));
    let told = |instance: u32| sent(&world).iter().filter(|(records, _)| records.contains(&instance)).count();
    assert_eq!((told(9), told(1)), (1, 2));
    assert_eq!(world.believed(0), world.view(0));
}

/// Proves SMA-13.
#[test]
fn a_query_for_a_service_that_the_buffer_could_not_take_is_answered_with_the_whole_view() {
    let peers = vec![peer("CPS-1")];
    let mut world = World::new(NorthboundConfig { peers, buffer: 8, ..NorthboundConfig::default() });
    for instance in 1..=5 {
        world.publish(record(1, instance, 10), Urgency::Routine);
    }
    world.pass(Duration::from_secs(3));
    world.sent.clear();
    let query = AgentInstruction::Query { cs_id: cs_id(1), csci_ids: Vec::new() };
    let (now, wall) = (world.now, world.wall());
    world.sma.handle_instruction(&node("CPS-1"), query, now, wall);
    world.drain();
    assert!(matches!(world.sent[0].1.content, AdvertisementContent::Snapshot { last: true, .. }));
    assert_eq!(world.alarms, []);
}

#[test]
fn whole_views_that_are_asked_for_without_end_are_sent_once_a_second() {
    let mut world = settled(vec![peer("CPS-1")]);
    for _ in 0..45 {
        let (now, wall) = (world.now, world.wall());
        let cause = cats_engine_types::SynchronisationCause::Gap;
        world.sma.handle_instruction(&node("CPS-1"), AgentInstruction::Synchronise(cause), now, wall);
        world.drain();
        world.pass(Duration::from_millis(100));
    }
    assert_eq!(world.sent.len(), 5);
    assert_eq!(world.peer(0).counters.requested_gap, 45);
    world.pass(Duration::from_secs(2));
    assert_eq!(world.believed(0), world.view(0));
}
