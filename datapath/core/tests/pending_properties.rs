//! Whatever comes in whatever order: each packet gets one verdict, in its flow's order, within the bounds.

#![allow(clippy::unwrap_used, clippy::panic)] // tests

mod scene;

use cats_datapath_core::{Effects, Verdict};
use cats_engine_types::{InstallFailure, Protocol, RemovalReason, RequestFailure, ServiceRequest};
use proptest::prelude::*;
use scene::{Scene, binding, config, key};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

#[derive(Debug, Clone)]
enum Step {
    Packet { flow: u16, octets: u32 },
    Answer { which: usize },
    Refuse { which: usize },
    Remove { which: usize },
    FailNextCommit,
    Drained,
    Wait { millis: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u16..6, 1u32..400).prop_map(|(flow, octets)| Step::Packet { flow, octets }),
        3 => (0usize..8).prop_map(|which| Step::Answer { which }),
        1 => (0usize..8).prop_map(|which| Step::Refuse { which }),
        1 => (0usize..8).prop_map(|which| Step::Remove { which }),
        1 => Just(Step::FailNextCommit),
        1 => Just(Step::Drained),
        2 => (1u64..700).prop_map(|millis| Step::Wait { millis }),
    ]
}

/// What the test knows beside the state machine.
#[derive(Default)]
struct Ledger {
    flow_of: BTreeMap<u32, u16>,
    decided: BTreeSet<u32>,
    last_released: BTreeMap<u16, u32>,
    requests: Vec<ServiceRequest>,
}

impl Ledger {
    fn note(&mut self, effects: Effects) {
        assert_eq!(effects.faults, []);
        for (id, verdict) in effects.verdicts {
            assert!(self.decided.insert(id.0), "packet {} has two verdicts", id.0);
            if verdict == Verdict::Release {
                let flow = self.flow_of[&id.0];
                let last = self.last_released.insert(flow, id.0);
                assert!(last.is_none_or(|last| last < id.0), "flow {flow}: {} after {last:?}", id.0);
            }
        }
        self.requests.extend(effects.requests);
    }
}

fn flow(number: u16) -> cats_engine_types::FlowKey {
    key(if number.is_multiple_of(2) { Protocol::TCP } else { Protocol::UDP }, number + 1)
}

fn carry_out(scene: &mut Scene, ledger: &mut Ledger, step: Step) {
    let chosen = |which: usize, ledger: &Ledger| {
        let at = which.checked_rem(ledger.requests.len())?;
        ledger.requests.get(ledger.requests.len() - 1 - at).cloned()
    };
    let now = scene.now;
    let effects = match step {
        Step::Packet { flow: number, octets } => {
            ledger.flow_of.insert(scene.next, number);
            let open = scene.forwarder.ingress().waiting().iter().any(|r| r.key == flow(number));
            let effects = scene.punt_of(flow(number), octets);
            assert!(!open || effects.requests.is_empty(), "two requests for one flow");
            effects
        }
        Step::Answer { which } => match chosen(which, ledger) {
            Some(request) => scene.answer(binding(&request)),
            None => return,
        },
        Step::Refuse { which } => match chosen(which, ledger) {
            Some(request) => {
                let failure = RequestFailure::NoCandidate;
                scene.forwarder.ingress().handle_refusal(request.key, request.transaction, &failure);
                scene.forwarder.drain(now)
            }
            None => return,
        },
        Step::Remove { which } => match chosen(which, ledger) {
            Some(request) => {
                let reason = RemovalReason::Requested;
                scene.forwarder.ingress().handle_removal(request.key, request.transaction, reason, now);
                scene.forwarder.drain(now)
            }
            None => return,
        },
        Step::FailNextCommit => {
            scene.forwarder.backend().fail_commit(InstallFailure::DataPlane("fault".to_owned()));
            return;
        }
        Step::Drained => scene.drained(),
        Step::Wait { millis } => scene.advance(Duration::from_millis(millis)),
    };
    ledger.note(effects);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Proves CP-10, CP-15, CP-21, CP-28.
    #[test]
    fn each_packet_gets_one_verdict_in_order_within_the_bounds(steps in prop::collection::vec(step(), 1..120)) {
        let mut config = config();
        let limits = &mut config.ingress.as_mut().unwrap().pending;
        limits.packets_per_flow = 5;
        limits.octets_per_flow = 1000;
        limits.octets_total = 2500;
        limits.flows = 4;
        let limits = *limits;
        let mut scene = Scene::new(&config);
        let mut ledger = Ledger::default();
        for step in steps {
            carry_out(&mut scene, &mut ledger, step);
            let occupancy = scene.forwarder.ingress().occupancy();
            prop_assert!(occupancy.pending_flows <= limits.flows);
            prop_assert!(occupancy.held_octets <= limits.octets_total);
            prop_assert_eq!(occupancy.held_packets as usize, scene.next as usize - ledger.decided.len());
            // What the state machine believes to be bound is what the data plane has.
            let bound: Vec<_> =
                scene.forwarder.ingress().bindings(None, 100).iter().map(|b| b.forward.key).collect();
            prop_assert_eq!(bound, scene.forwarder.backend().flows());
        }
        // In the end nothing is left behind.
        ledger.note(scene.advance(Duration::from_secs(2)));
        ledger.note(scene.advance(Duration::from_secs(1000)));
        ledger.note(scene.advance(Duration::from_secs(1000)));
        prop_assert_eq!(scene.forwarder.ingress().occupancy(), cats_datapath_core::Occupancy::default());
        prop_assert_eq!(scene.forwarder.backend().flows(), []);
        prop_assert_eq!(ledger.decided.len(), scene.next as usize);
    }
}
