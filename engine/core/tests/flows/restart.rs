//! Restarts of the C-PS and of forwarders.

use crate::domain::{
    A, B, Domain, config, csci, egress, events, first, ingress, key, node, path_request, refusal, removals,
};
use cats_engine_core::cps::{Event, FlowState};
use cats_engine_types::{
    Binding, BindingEvent, DeliveryState, Epoch, Gas, Locator, Micros, RemovalReason, RequestFailure,
};
use std::time::Duration;

fn restored(domain: &mut Domain, binding: &Binding) -> Vec<cats_engine_core::cps::Output> {
    let event = BindingEvent::Restored(Box::new(binding.clone()));
    domain.status("IF-1", binding.transaction, binding.forward.key, event)
}

/// A C-PS with a larger epoch, to which all attach again.
fn successor(config: cats_engine_core::cps::CpsConfig) -> Domain {
    let mut domain = Domain::bare(config, 200);
    domain.report(ingress("IF-1", 1));
    domain.outputs();
    domain.next = 100;
    domain
}

/// Proves CP-23.
#[test]
fn a_restarted_c_ps_learns_its_flows_from_the_forwarders() {
    let mut before = Domain::new();
    let binding = before.active(1);
    // The metrics would choose A now.
    let mut config = config();
    config.metrics[1].computing_time = Micros(50_000);
    let mut after = successor(config);
    assert_eq!(restored(&mut after, &binding), []);
    let flow = after.cps.flow(&node("IF-1"), &key(1)).unwrap();
    assert_eq!(flow.state, FlowState::Active);
    assert_eq!(flow.transaction, binding.transaction);
    assert_eq!((flow.csci_id, flow.locator), (Some(csci(B)), Some(binding.forward.locator)));
    assert_eq!(flow.path, Some(binding.forward.path.clone()));
    assert_eq!((flow.egress, flow.version), (Some(node("EF-2")), 1));
    assert_eq!(after.held(B), 1);
    // It is a flow like any other.
    after.report(egress("EF-2", B, DeliveryState::Ready));
    after.report(egress("EF-1", A, DeliveryState::Ready));
    after.outputs();
    assert_eq!(after.active(1).forward.csci_id, csci(B), "asked again, it stays at its instance");
    assert_eq!(after.active(2).forward.csci_id, csci(A));
}

/// Proves CP-23.
#[test]
fn a_restarted_ingress_keeps_the_flows_that_it_restored_and_the_others_end() {
    let mut domain = Domain::new();
    let kept = domain.active(1);
    let lost = domain.active(2);
    domain.cps.handle_detached(&node("IF-1"), domain.now);
    domain.report(ingress("IF-1", 2));
    domain.outputs();
    assert_eq!(restored(&mut domain, &kept), []);
    domain.pass(Duration::from_secs(29));
    assert_eq!((domain.state(1), domain.state(2)), (FlowState::Active, FlowState::Active));
    domain.pass(Duration::from_secs(2));
    assert_eq!((domain.state(1), domain.state(2)), (FlowState::Active, FlowState::Absent));
    let event = Event::Lost { node: node("IF-1"), transaction: lost.transaction, key: key(2) };
    let outputs = domain.outputs();
    assert_eq!((events(&outputs), removals(&outputs)), (vec![event], Vec::new()));
    assert_eq!(domain.held(B), 1);
}

#[test]
fn a_binding_of_a_newer_owner_is_left_alone() {
    let mut domain = Domain::new();
    let mut binding = domain.ready(1);
    binding.epoch = Epoch(101);
    let mut other = successor(config());
    binding.epoch = Epoch(201);
    let outputs = restored(&mut other, &binding);
    assert_eq!(events(&outputs), [Event::Fenced { node: node("IF-1"), epoch: Epoch(201) }]);
    assert_eq!((removals(&outputs), other.cps.flow_count()), (Vec::new(), 0));
}

#[test]
fn what_cannot_be_taken_over_is_removed() {
    let mut before = Domain::new();
    let binding = before.active(1);
    let mut without = config();
    first(&mut without).instances.remove(1);
    let outputs = restored(&mut successor(without), &binding);
    assert_eq!(removals(&outputs), [(binding.transaction, RemovalReason::Unconfigured)]);

    let mut forged = binding.clone();
    forged.reverse.restore = "192.0.2.66:443".parse().unwrap();
    let outputs = restored(&mut successor(config()), &forged);
    assert_eq!(removals(&outputs), [(binding.transaction, RemovalReason::Requested)]);

    let mut after = successor(config());
    after.report(egress("EF-2", B, DeliveryState::Ready));
    let newer = after.active(1);
    let outputs = restored(&mut after, &binding);
    assert_eq!(removals(&outputs), [(binding.transaction, RemovalReason::Requested)]);
    let flow = after.cps.flow(&node("IF-1"), &key(1)).unwrap();
    assert_eq!(flow.transaction, newer.transaction);
}

/// Proves CP-28.
#[test]
fn what_an_ingress_restores_stays_within_the_limits_of_flows_and_of_its_bindings() {
    let mut before = Domain::new();
    let bindings = [before.active(1), before.active(2), before.active(3)];
    let mut limited = config();
    limited.admission.flows = 2;
    let mut few = ingress("IF-1", 1);
    few.ingress.as_mut().unwrap().max_bindings = 2;
    for (config, report) in [(limited, ingress("IF-1", 1)), (config(), few)] {
        let mut after = Domain::bare(config, 200);
        after.report(report);
        after.outputs();
        assert_eq!(
            (restored(&mut after, &bindings[0]), restored(&mut after, &bindings[1])),
            (vec![], vec![])
        );
        let outputs = restored(&mut after, &bindings[2]);
        assert_eq!(removals(&outputs), [(bindings[2].transaction, RemovalReason::Requested)]);
        assert_eq!((after.cps.flow_count(), after.held(B)), (2, 2));
        assert_eq!(after.cps.counters().not_restored, 1);
        assert_eq!(
            restored(&mut after, &bindings[0]),
            [],
            "what was taken over is confirmed at the limit too"
        );
    }
}

#[test]
fn a_restored_binding_must_lead_where_the_catalogue_has_its_instance() {
    let mut before = Domain::new();
    let binding = before.active(1);
    let spoil: [fn(&mut Binding); 3] = [
        |binding| {
            binding.forward.egress = node("EF-1");
            binding.forward.path.endpoint = node("EF-1");
        },
        |binding| {
            binding.forward.egress = node("nowhere");
            binding.forward.path.endpoint = node("nowhere");
        },
        |binding| {
            binding.forward.locator.address = "198.51.100.66".parse().unwrap();
            binding.reverse = Binding::reverse_of(&binding.forward);
        },
    ];
    let mut after = successor(config());
    let known = after.cps.nodes().count();
    for spoil in spoil {
        let mut other = binding.clone();
        spoil(&mut other);
        let outputs = restored(&mut after, &other);
        assert_eq!(removals(&outputs), [(binding.transaction, RemovalReason::Unconfigured)]);
        assert_eq!((after.cps.flow_count(), after.cps.nodes().count()), (0, known));
    }
    assert_eq!(restored(&mut after, &binding), []);
}

#[test]
fn nodes_that_the_configuration_no_longer_names_are_forgotten() {
    let mut domain = Domain::new();
    domain.active(1);
    for round in 0..1_000 {
        let mut config = config();
        first(&mut config).instances[0].egress = node(&format!("EF-{}", 100 + round));
        config.paths[0].egress = node(&format!("EF-{}", 100 + round));
        domain.cps.configure(config, domain.now);
        domain.settle();
        assert!(domain.cps.nodes().count() < 100);
    }
    let flow = domain.cps.flow(&node("IF-1"), &key(1)).unwrap();
    assert_eq!((flow.state, flow.egress), (FlowState::Active, Some(node("EF-2"))));
    domain.cps.configure(config(), domain.now);
    domain.settle();
    assert_eq!(domain.active(2).forward.csci_id, csci(B));
}

#[test]
fn an_ingress_that_comes_back_is_told_again_what_ended() {
    let mut domain = Domain::new();
    let binding = domain.active(1);
    domain.cps.handle_detached(&node("IF-1"), domain.now);
    let mut config = config();
    first(&mut config).instances.remove(1);
    domain.cps.configure(config, domain.now);
    domain.settle();
    assert_eq!(removals(&domain.outputs()).len(), 1, "nobody hears it");
    domain.report(ingress("IF-1", 1));
    assert_eq!(removals(&domain.outputs()), [(binding.transaction, RemovalReason::Requested)]);
    assert_eq!(restored(&mut domain, &binding).len(), 1);
}

#[test]
fn reservations_of_restored_flows_count() {
    let mut before = Domain::new();
    let binding = before.active(1);
    let mut config = config();
    config.metrics[1].gas = Gas::Slots(1);
    config.metrics[0].gas = Gas::Slots(0);
    let mut after = successor(config);
    restored(&mut after, &binding);
    after.report(egress("EF-2", B, DeliveryState::Ready));
    after.outputs();
    let request = after.request(2);
    assert_eq!(refusal(&after.send(&request)), RequestFailure::NoCandidate);
    after.removed(&binding, RemovalReason::Idle);
    let request = after.request(3);
    path_request(&after.send(&request));
}

#[test]
fn a_restored_flow_whose_instance_failed_meanwhile_ends() {
    let mut before = Domain::new();
    let binding = before.active(1);
    let mut config = config();
    config.metrics[1].health = cats_engine_types::Health::Unhealthy;
    let mut after = successor(config);
    assert_eq!(removals(&restored(&mut after, &binding)), [(binding.transaction, RemovalReason::Requested)]);
    assert_eq!(after.state(1), FlowState::ReconnectRequired);
}

#[test]
fn an_instance_that_moved_is_not_given_to_a_flow_again() {
    let mut domain = Domain::new();
    domain.active(1);
    let mut config = config();
    first(&mut config).instances[1].v4 =
        Some(Locator { address: "198.51.100.22".parse().unwrap(), port: None });
    domain.cps.configure(config, domain.now);
    domain.settle();
    assert_eq!(domain.state(1), FlowState::Active);
    let again = domain.active(1);
    assert_eq!(again.forward.csci_id, csci(A), "its locator is not delivered to any more");
    assert_eq!((domain.held(A), domain.held(B)), (1, 0));
}
