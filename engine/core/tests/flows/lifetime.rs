//! Established flows: what moves them, what ends them, what they share.

use crate::domain::{A, B, Domain, config, csci, key, node, removals};
use cats_engine_core::cps::{CpsConfig, FlowState, Services};
use cats_engine_types::{BindingEvent, Gas, Generation, Micros, RemovalReason};
use std::time::Duration;

fn b_is_slow() -> CpsConfig {
    let mut config = config();
    config.metrics[1].computing_time = Micros(50_000);
    config
}

/// Proves CP-17.
#[test]
fn a_metric_update_moves_new_flows_and_never_an_established_one() {
    let mut domain = Domain::new();
    let established = domain.active(1);
    assert_eq!(established.forward.csci_id, csci(B));
    for change in [b_is_slow(), {
        let mut full = config();
        full.metrics[1].gas = Gas::Slots(0);
        full
    }] {
        domain.cps.configure(change, domain.now);
        domain.settle();
        assert_eq!(domain.outputs(), [], "the established flow is left alone");
        let flow = domain.cps.flow(&node("IF-1"), &key(1)).unwrap();
        assert_eq!((flow.state, flow.csci_id), (FlowState::Active, Some(csci(B))));
        let port = u16::try_from(domain.next).unwrap() + 10;
        assert_eq!(domain.active(port).forward.csci_id, csci(A));
    }
}

/// Proves CP-22.
#[test]
fn an_expired_binding_is_gone_at_the_c_ps_with_the_forwarders_word() {
    for reason in [RemovalReason::Idle, RemovalReason::Hard] {
        let mut domain = Domain::new();
        let binding = domain.active(1);
        assert_eq!((domain.held(B), domain.cps.paths().count()), (1, 1));
        assert_eq!(domain.removed(&binding, reason), []);
        assert_eq!((domain.state(1), domain.cps.flow_count()), (FlowState::Absent, 0));
        assert_eq!(
            (domain.held(B), domain.cps.paths().count(), domain.cps.reservations().count()),
            (0, 0, 0)
        );
        assert_eq!(domain.cps.transitions(FlowState::Active, FlowState::Draining), 1);
        assert_eq!(domain.cps.transitions(FlowState::Draining, FlowState::Absent), 1);
    }
}

/// Proves CP-22.
#[test]
fn a_shared_path_lives_as_long_as_a_flow_uses_it() {
    let mut domain = Domain::new();
    let first = domain.active(1);
    let second = domain.active(2);
    let users = |domain: &Domain| domain.cps.paths().map(|(_, flows)| flows).collect::<Vec<_>>();
    assert_eq!(users(&domain), [2]);
    domain.removed(&first, RemovalReason::Idle);
    assert_eq!(users(&domain), [1]);
    domain.removed(&second, RemovalReason::Idle);
    assert_eq!(users(&domain), [0u32; 0]);
}

/// Proves CP-22.
#[test]
fn a_drained_flow_waits_for_the_forwarder_and_no_longer_than_its_deadline() {
    let mut domain = Domain::new();
    let binding = domain.active(1);
    assert!(domain.cps.clear_flow(&node("IF-1"), &key(1), domain.now));
    assert_eq!(removals(&domain.outputs()), [(binding.transaction, RemovalReason::Cleared)]);
    assert_eq!((domain.state(1), domain.held(B)), (FlowState::Draining, 1));
    domain.pass(Duration::from_secs(10));
    assert_eq!((domain.state(1), domain.held(B)), (FlowState::Absent, 0));
}

#[test]
fn flows_of_a_service_that_left_the_configuration_end() {
    let mut domain = Domain::new();
    let binding = domain.active(1);
    let mut config = config();
    config.services = Services::default();
    domain.cps.configure(config, domain.now);
    domain.settle();
    assert_eq!(removals(&domain.outputs()), [(binding.transaction, RemovalReason::Unconfigured)]);
    assert_eq!(domain.state(1), FlowState::Draining);
    domain.removed(&binding, RemovalReason::Unconfigured);
    assert_eq!(domain.cps.flow_count(), 0);
}

/// Proves CP-30.
#[test]
fn the_service_tables_and_the_topology_change_apart() {
    let mut domain = Domain::new();
    let generations = |domain: &Domain| (domain.cps.cst().generation(), domain.cps.nst().generation());
    let (cst, nst) = generations(&domain);
    domain.cps.configure(b_is_slow(), domain.now);
    assert_eq!(generations(&domain), (cst.next(), nst));
    let mut nearer = b_is_slow();
    nearer.paths[0].delay = Some(Micros(1));
    domain.cps.configure(nearer.clone(), domain.now);
    assert_eq!(generations(&domain), (cst.next(), nst.next()));
    domain.cps.configure(nearer, domain.now);
    assert_eq!(generations(&domain), (cst.next(), nst.next()), "an equal configuration changes nothing");
    domain.cps.handle_topology(Generation(9), |_| true, domain.now);
    assert_eq!(generations(&domain), (cst.next(), nst.next()));
}

#[test]
fn validity_runs_from_the_commit_that_set_the_entry() {
    let valid = |seconds| {
        let mut config = config();
        config.metrics[1].valid_for = Some(Duration::from_secs(seconds));
        config
    };
    let mut domain = Domain::with(valid(60));
    domain.pass(Duration::from_secs(40));
    // A commit that changes something else does not renew it.
    let mut other = valid(60);
    other.metrics[0].computing_time = Micros(4_001);
    domain.cps.configure(other, domain.now);
    domain.pass(Duration::from_secs(19));
    assert_eq!(domain.active(1).forward.csci_id, csci(B));
    domain.pass(Duration::from_secs(1));
    assert_eq!(domain.active(2).forward.csci_id, csci(A));
    assert_eq!(domain.state(1), FlowState::Active);
    domain.cps.configure(valid(61), domain.now);
    domain.settle();
    assert_eq!(domain.active(3).forward.csci_id, csci(B));
}

/// Proves CP-37.
#[test]
fn both_directions_have_one_lifetime_one_epoch_and_one_path_generation() {
    let mut config = config();
    config.lifetime.idle = Some(Duration::from_secs(7));
    config.lifetime.hard = Some(Duration::from_secs(70));
    let mut domain = Domain::with(config);
    let binding = domain.active(1);
    // A binding is one value: what holds for the forward direction holds for the reverse one.
    assert_eq!(binding.lifetime.idle, Some(Duration::from_secs(7)));
    assert_eq!(binding.lifetime.hard, Some(Duration::from_secs(70)));
    assert_eq!(binding.epoch, domain.cps.epoch());
    let flow = domain.cps.flow(&node("IF-1"), &key(1)).unwrap();
    assert_eq!(flow.generations.ted, Some(binding.forward.path.generation));
    // A path of a new generation comes with a new version of the whole binding.
    domain.cps.handle_topology(Generation(2), |_| false, domain.now);
    domain.settle();
    let asked = crate::domain::path_request(&domain.outputs());
    let path = crate::domain::path_for(&asked, 2);
    let reply = cats_engine_types::PathReply { transaction: asked.transaction, outcome: Ok(path) };
    let renewed = crate::domain::install(&domain.reply(reply));
    assert_eq!((renewed.version, renewed.forward.path.generation), (2, Generation(2)));
    assert_eq!((renewed.reverse, renewed.lifetime), (binding.reverse, binding.lifetime));
    domain.status("IF-1", renewed.transaction, key(1), BindingEvent::Installed);
    let flow = domain.cps.flow(&node("IF-1"), &key(1)).unwrap();
    assert_eq!((flow.version, flow.generations.ted), (2, Some(Generation(2))));
}

#[test]
fn a_flow_that_the_forwarder_lost_is_bound_to_its_instance_again() {
    let mut domain = Domain::new();
    let first = domain.active(1);
    domain.cps.configure(b_is_slow(), domain.now);
    domain.settle();
    let second = domain.active(1);
    assert!(second.transaction > first.transaction);
    assert_eq!(second.forward.csci_id, csci(B), "one connection never meets two instances");
    assert_eq!((domain.held(B), domain.held(A)), (1, 0));
    let decision = domain.cps.decision(second.transaction).unwrap();
    assert_eq!(decision.candidates[1].verdict.to_string(), "the flow is bound to it and stays");
}
