//! Losses, kills, partitions and what they leave.

use crate::world::{World, csci, node, peer, record};
use cats_engine_core::cps::AgentPhase;
use cats_engine_core::sma::northbound::{Alarm, LinkView, NorthboundConfig, Urgency};
use cats_engine_types::{AdvertisementContent, MetricRecord, SynchronisationCause};
use std::time::Duration;

fn small() -> NorthboundConfig {
    NorthboundConfig {
        peers: vec![peer("CPS-1")],
        // Several parts, of which not all are under way at once.
        batch: 3,
        window: 2,
        // No periodic view makes up for what the protocol lost.
        heartbeat: Duration::from_secs(86_400),
        ..NorthboundConfig::default()
    }
}

/// A C-SMA with ten instances.
fn filled() -> World {
    let mut world = World::new(small());
    fill(&mut world);
    world
}

fn fill(world: &mut World) {
    for instance in 1..=10 {
        world.publish(record(1, instance, instance), Urgency::Routine);
    }
}

fn agreed(world: &World) -> bool {
    world.believed(0) == world.view(0) && world.agent(0).phase == AgentPhase::Synchronised
}

fn gas(world: &World, instance: u32) -> Option<u32> {
    let found = world.believed(0).into_iter().find(|record| record.csci_id == csci(instance));
    found.map(|record| record.sample.gas)
}

/// The steps of a whole view, with changes in its midst: one that is critical, one that is not, a withdrawal.
fn disturb(world: &mut World, step: usize, when: usize) {
    if step == when {
        world.publish(record(1, 1, 0), Urgency::Critical);
        world.publish(record(1, 9, 99), Urgency::Routine);
        world.withdraw(1, 2);
        world.publish(record(1, 11, 11), Urgency::Critical);
    }
}

type Fault = fn(&mut World);

/// A kill, a loss, a break at every step of a synchronisation, one at a time.
///
/// Proves SMA-20, SMA-23, SMA-26.
#[test]
fn whatever_happens_at_whichever_step_of_a_synchronisation_both_agree_in_the_end() {
    let faults: [(&str, Fault); 5] = [
        ("kill of the metric agent", |world| {
            world.restart_sma();
            fill(world);
        }),
        ("kill of the path selector", |world| world.restart_cps(0)),
        ("break of the connection", |world| world.break_connection(0)),
        ("loss upwards", |world| world.selectors[0].cut.0 = true),
        ("loss downwards", |world| world.selectors[0].cut.1 = true),
    ];
    for (name, fault) in faults {
        for at in 0..32 {
            let mut world = filled();
            let end = world.now + Duration::from_secs(3);
            let mut step = 0;
            while world.step(end) {
                disturb(&mut world, step, 4);
                step += 1;
                if step == at {
                    fault(&mut world);
                    // One step long.
                    world.step(end);
                    world.heal();
                }
            }
            world.pass(Duration::from_secs(60));
            assert!(agreed(&world), "{name} at step {at}: {:?} {:?}", world.agent(0), world.peer(0));
        }
    }
}

/// Proves SMA-23.
#[test]
fn what_changes_in_the_midst_of_a_snapshot_is_in_what_comes_of_it() {
    for when in 0..10 {
        let mut world = filled();
        let end = world.now + Duration::from_secs(3);
        let mut step = 0;
        while world.step(end) {
            disturb(&mut world, step, when);
            step += 1;
        }
        assert!(step > when, "{step} steps");
        assert!(agreed(&world), "changes at step {when}");
        assert_eq!((gas(&world, 1), gas(&world, 2), gas(&world, 9)), (Some(0), None, Some(99)));
        assert_eq!(world.agent(0).counters.gaps, 0);
    }
}

/// The steps of a whole view are messages; each is lost once.
///
/// Proves SMA-23.
#[test]
fn a_message_that_is_lost_is_noticed_by_the_next_one_and_the_whole_view_follows() {
    for lost in 0..8 {
        let mut world = filled();
        world.pass(Duration::from_secs(2));
        assert!(agreed(&world));
        let (before, snapshots) = (world.sent.len(), world.peer(0).counters.snapshots);
        for round in 0..8 {
            world.selectors[0].cut.0 = round == lost;
            world.publish(record(1, 1 + round, 50 + round), Urgency::Critical);
            world.pass(Duration::from_millis(10));
        }
        world.heal();
        assert!(world.sent.len() - before >= 8);
        world.pass(Duration::from_secs(15));
        assert!(agreed(&world), "message {lost}");
        assert_eq!(world.peer(0).counters.snapshots, snapshots + 1, "message {lost}");
        assert!(world.agent(0).counters.gaps > 0);
        assert!(world.instructions.iter().any(|instruction| {
            *instruction == cats_engine_types::AgentInstruction::Synchronise(SynchronisationCause::Gap)
        }));
    }
}

/// Proves SMA-23.
#[test]
fn a_snapshot_comes_into_force_as_a_whole_or_not_at_all() {
    let mut world = filled();
    world.pass(Duration::from_secs(2));
    // The values of the next view all differ.
    world.restart_sma();
    for instance in 1..=10 {
        world.publish(record(1, instance, 100 + instance), Urgency::Routine);
    }
    let old: Vec<Option<u32>> = (1..=10).map(Some).collect();
    let new: Vec<Option<u32>> = (101..=110).map(Some).collect();
    let seen = |world: &World| (1..=10).map(|instance| gas(world, instance)).collect::<Vec<_>>();
    let end = world.now + Duration::from_secs(2);
    let mut staged = false;
    while world.step(end) {
        staged |= world.agent(0).phase == AgentPhase::Synchronising;
        let now = seen(&world);
        assert!(now == old || now == new, "{now:?}");
    }
    assert!(staged && seen(&world) == new);
}

/// Proves SMA-23.
#[test]
fn a_snapshot_that_is_begun_anew_midway_replaces_the_first() {
    let mut world = filled();
    let end = world.now + Duration::from_secs(2);
    while world.agent(0).phase != AgentPhase::Synchronising && world.step(end) {}
    assert_eq!(world.believed(0), Vec::<MetricRecord>::new());
    let (now, wall) = (world.now, world.wall());
    world.withdraw(1, 10);
    // Not sooner than a second after the first one.
    world.now = now + Duration::from_secs(1);
    assert!(world.sma.synchronise(&node("CPS-1"), world.now, wall));
    world.drain();
    world.pass(Duration::from_secs(2));
    assert_eq!(world.agent(0).counters.abandoned + world.agent(0).counters.snapshots, 2);
    assert!(agreed(&world));
    assert_eq!(gas(&world, 10), None);
}

/// Proves SMA-23, SMA-25.
#[test]
fn after_a_short_break_only_what_is_lacking_is_sent_and_in_one_batch() {
    let mut config = small();
    config.batch = 100;
    let mut world = World::new(config);
    fill(&mut world);
    world.pass(Duration::from_secs(2));
    world.break_connection(0);
    world.pass(Duration::from_millis(100));
    let before = world.sent.len();
    for instance in [3, 4, 3] {
        world.publish(record(1, instance, 70 + instance), Urgency::Routine);
        world.pass(Duration::from_millis(100));
    }
    world.withdraw(1, 5);
    assert_eq!(world.sent.len(), before, "nothing is sent while it is not connected");
    world.pass(Duration::from_secs(2));
    assert!(agreed(&world));
    let counters = world.peer(0).counters;
    assert_eq!((counters.resumed, counters.snapshots), (1, 1));
    let batch = world.sent[before..].iter().find_map(|(_, advertisement)| match &advertisement.content {
        AdvertisementContent::Delta { records, withdrawals } => Some((records.len(), withdrawals.len())),
        AdvertisementContent::Snapshot { .. } | AdvertisementContent::Refresh => None,
    });
    assert_eq!(batch, Some((2, 1)));
}

/// Proves SMA-25, SMA-26.
#[test]
fn a_partitioned_agent_collects_on_and_sends_nothing_until_it_heals_and_then_the_whole_view() {
    let mut world = filled();
    world.pass(Duration::from_secs(2));
    world.selectors[0].cut = (true, true);
    // The partition is noticed by the acknowledgements that do not come.
    world.pass(Duration::from_secs(25));
    assert!(world.peer(0).unreachable);
    let before = world.sent.len();
    for round in 0..100 {
        world.publish(record(1, 1 + round % 10, 1000 + round), Urgency::Critical);
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(world.sent.len(), before);
    assert_eq!(world.sma.record_count(), 10);
    let unreachable = Alarm::Unreachable { peer: node("CPS-1") };
    assert_eq!(world.alarms, [(unreachable.clone(), true)]);
    world.heal();
    world.pass(Duration::from_secs(61));
    assert!(agreed(&world));
    assert_eq!(world.peer(0).counters.snapshots, 2);
    assert_eq!(world.alarms, [(unreachable.clone(), true), (unreachable, false)]);
}

/// Proves SMA-25.
#[test]
fn attempts_come_after_1_2_4_and_at_most_60_seconds() {
    let mut world = World::new(small());
    world.selectors[0].cut = (true, true);
    world.pass(Duration::from_secs(260));
    let times: Vec<Duration> = world.attempts.iter().map(|(_, at)| *at).collect();
    // An attempt takes half a second to fail.
    let waits: Vec<u64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    world.heal();
    world.pass(Duration::from_secs(61));
    assert_eq!(world.peer(0).failures, 0);
    world.break_connection(0);
    let before = world.attempts.len();
    world.pass(Duration::from_secs(2));
    assert_eq!(world.attempts.len() - before, 1, "it begins with one second again");
    assert_eq!(world.peer(0).link, LinkView::Synchronised);
}

/// Proves SMA-25: an operator who has removed the cause need not wait for the end of the backoff.
#[test]
fn an_attempt_that_is_waited_for_can_be_made_now() {
    let mut world = World::new(small());
    world.selectors[0].cut = (true, true);
    world.pass(Duration::from_secs(100));
    world.heal();
    let (now, wall) = (world.now, world.wall());
    assert!(matches!(world.peer(0).link, LinkView::Waiting { .. }));
    for _ in 0..2 {
        // The second one finds an attempt under way.
        world.sma.reconnect(&world.selectors[0].name, now, wall);
    }
    let before = world.attempts.len();
    world.drain();
    assert_eq!(world.attempts.len() - before, 1);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.peer(0).link, LinkView::Synchronised);
}

/// Proves SMA-25.
#[test]
fn a_buffer_that_overflows_drops_the_oldest_and_the_whole_view_makes_up_for_it() {
    let mut config = small();
    config.buffer = 4;
    let mut world = World::new(config);
    fill(&mut world);
    world.pass(Duration::from_secs(2));
    world.break_connection(0);
    world.pass(Duration::from_millis(100));
    for instance in 1..=10 {
        world.publish(record(1, instance, 40 + instance), Urgency::Routine);
        assert!(world.peer(0).pending <= 4);
    }
    let overrun = Alarm::BufferOverrun { peer: node("CPS-1") };
    assert_eq!(world.alarms, [(overrun.clone(), true)]);
    assert!(world.peer(0).counters.dropped > 0);
    world.pass(Duration::from_secs(3));
    assert!(agreed(&world));
    let counters = world.peer(0).counters;
    assert_eq!((counters.resumed, counters.snapshots), (0, 2));
    assert_eq!(world.alarms, [(overrun.clone(), true), (overrun, false)]);
}

/// Proves SMA-25.
#[test]
fn alternatives_are_tried_in_order_and_the_preferred_one_is_returned_to() {
    let mut second = peer("CPS-2");
    let mut third = peer("CPS-3");
    second.alternative_to = Some(node("CPS-1"));
    third.alternative_to = Some(node("CPS-1"));
    let peers = vec![peer("CPS-1"), second, third];
    let mut world = World::new(NorthboundConfig { peers, ..small() });
    fill(&mut world);
    world.pass(Duration::from_secs(5));
    let links = |world: &World| (0..3).map(|at| world.peer(at).link).collect::<Vec<_>>();
    assert_eq!(links(&world), [LinkView::Synchronised, LinkView::Idle, LinkView::Idle]);
    // Neither the preferred one nor the first alternative is reached.
    world.selectors[0].cut = (true, true);
    world.selectors[1].cut = (true, true);
    world.pass(Duration::from_secs(30));
    assert_eq!(world.peer(2).link, LinkView::Synchronised);
    assert_eq!(world.believed(2), world.view(2));
    let order: Vec<&str> = world.attempts.iter().map(|(node, _)| node.as_str()).collect();
    let first = |name: &str| order.iter().position(|other| *other == name);
    assert!(first("CPS-2") < first("CPS-3"), "{order:?}");
    // An alternative that comes before is taken once it is there.
    world.selectors[1].cut = (false, false);
    world.pass(Duration::from_secs(61));
    assert_eq!((world.peer(1).link, world.peer(2).link), (LinkView::Synchronised, LinkView::Idle));
    assert_eq!(world.selectors[2].connection, None);
    world.selectors[0].cut = (false, false);
    world.pass(Duration::from_secs(61));
    assert_eq!(links(&world), [LinkView::Synchronised, LinkView::Idle, LinkView::Idle]);
    assert_eq!(world.believed(0), world.view(0));
    let standing = world.alarms.iter().fold(0i32, |sum, (_, raised)| sum + if *raised { 1 } else { -1 });
    assert_eq!(standing, 0, "{:?}", world.alarms);
}
