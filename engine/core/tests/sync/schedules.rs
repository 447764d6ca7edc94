//! Random schedules of changes, losses, partitions and restarts; and a restart at each step of a synchronisation.

use crate::world::{Link, World, only, peer, record};
use cats_engine_core::cps::AgentPhase;
use cats_engine_core::scope::Scope;
use cats_engine_core::sma::northbound::{NorthboundConfig, Urgency};
use cats_engine_types::{AdvertisementContent, Health};
use proptest::prelude::*;
use std::time::Duration;

#[derive(Debug, Clone)]
enum Step {
    Publish { service: u32, instance: u32, gas: u32, critical: bool },
    Many(u32),
    Withdraw { service: u32, instance: u32 },
    Cut { at: usize, up: bool, down: bool },
    Mend(usize),
    Break(usize),
    RestartSma,
    RestartCps(usize),
    Link { lost: u64, delay: u64 },
    Scope(bool),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (service, instance) = (1u32..4, 1u32..12);
    let at = 0usize..2;
    let one = prop_oneof![
        8 => (service.clone(), instance.clone(), 0u32..5, any::<bool>()).prop_map(
            |(service, instance, gas, critical)| Step::Publish { service, instance, gas, critical }),
        2 => (1u32..40).prop_map(Step::Many),
        3 => (service, instance).prop_map(|(service, instance)| Step::Withdraw { service, instance }),
        3 => (at.clone(), any::<(bool, bool)>()).prop_map(|(at, (up, down))| Step::Cut { at, up, down }),
        3 => at.clone().prop_map(Step::Mend),
        2 => at.clone().prop_map(Step::Break),
        1 => Just(Step::RestartSma),
        1 => at.prop_map(Step::RestartCps),
        2 => (0u64..60, 0u64..3_000).prop_map(|(lost, delay)| Step::Link { lost, delay }),
        1 => any::<bool>().prop_map(Step::Scope),
        8 => prop::sample::select(vec![1u64, 10, 60, 300, 1_500, 6_000, 20_000, 70_000]).prop_map(Step::Pass),
    ];
    prop::collection::vec(one, 1..60)
}

fn config() -> NorthboundConfig {
    let mut second = peer("CPS-2");
    second.scope = only(&[1, 3]);
    NorthboundConfig {
        peers: vec![peer("CPS-1"), second],
        batch: 4,
        window: 5,
        buffer: 16,
        // So that no periodic view makes up for what the protocol lost.
        heartbeat: Duration::from_secs(86_400),
        ..NorthboundConfig::default()
    }
}

fn run(world: &mut World, step: &Step) {
    match *step {
        Step::Publish { service, instance, gas, critical } => {
            let mut record = record(service, instance, gas);
            if gas == 0 {
                record.sample.health = Health::Unhealthy;
            }
            world.publish(record, if critical { Urgency::Critical } else { Urgency::Routine });
        }
        Step::Many(number) => {
            for instance in 1..=number {
                world.publish(record(2, instance, number), Urgency::Routine);
            }
        }
        Step::Withdraw { service, instance } => world.withdraw(service, instance),
        Step::Cut { at, up, down } => world.selectors[at].cut = (up, down),
        Step::Mend(at) => world.selectors[at].cut = (false, false),
        Step::Break(at) => world.break_connection(at),
        Step::RestartSma => world.restart_sma(),
        Step::RestartCps(at) => world.restart_cps(at),
        Step::Link { lost, delay } => world.link = Link { lost, delay },
        Step::Scope(wide) => {
            let mut config = world.config.clone();
            config.peers[1].scope = if wide { Scope::All } else { only(&[1, 3]) };
            world.configure(config);
        }
        Step::Pass(millis) => world.pass(Duration::from_millis(millis)),
    }
}

/// No message carries a service that its receiver may not know of.
fn check_scopes(world: &mut World) {
    for (to, advertisement) in std::mem::take(&mut world.sent) {
        let config = world.config.peers.iter().find(|peer| peer.node == to).unwrap();
        let (AdvertisementContent::Snapshot { records, .. } | AdvertisementContent::Delta { records, .. }) =
            &advertisement.content
        else {
            continue;
        };
        for record in records {
            assert!(config.scope.covers(record.cs_id), "{to} was told of service {}", record.cs_id);
        }
    }
}

fn assert_agreed(world: &World) {
    for at in 0..world.selectors.len() {
        assert_eq!(world.believed(at), world.view(at));
        assert_eq!(world.agent(at).phase, AgentPhase::Synchronised);
        assert_eq!(world.peer(at).pending, 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Proves SMA-13, SMA-19, SMA-20, SMA-23, SMA-25, SMA-26.
    #[test]
    fn after_healing_each_path_selector_has_the_view_that_it_may_have(seed in any::<u64>(), steps in steps()) {
        let mut world = World::new(config());
        world.seed(seed);
        for step in &steps {
            run(&mut world, step);
            check_scopes(&mut world);
            for at in 0..2 {
                prop_assert!(world.peer(at).pending <= 16);
            }
        }
        world.heal();
        world.pass(Duration::from_secs(120));
        check_scopes(&mut world);
        assert_agreed(&world);
    }
}
