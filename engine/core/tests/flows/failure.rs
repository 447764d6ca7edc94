//! Faults: of instances, of paths, of the control plane and of the data plane.

use crate::domain::{
    A, B, Domain, config, csci, egress, events, first, install, key, node, path_for, path_request, refusal,
    removals,
};
use cats_engine_core::cps::{ControlPlane, DataPlane, Event, FlowState};
use cats_engine_types::{
    BindingEvent, DeliveryState, Generation, Health, InstallFailure, NoPath, PathReply, RemovalReason,
    RequestFailure,
};
use std::time::Duration;

fn reconnect_event(binding: &cats_engine_types::Binding) -> Event {
    Event::ReconnectRequired {
        transaction: binding.transaction,
        key: binding.forward.key,
        csci_id: binding.forward.csci_id,
    }
}

/// Proves CP-26.
#[test]
fn a_broken_path_is_repaired_to_the_same_instance() {
    let mut domain = Domain::new();
    let binding = domain.active(1);
    // The metrics would choose A now.
    let mut config = config();
    config.metrics[1].computing_time = cats_engine_types::Micros(50_000);
    domain.cps.configure(config, domain.now);
    domain.cps.handle_topology(Generation(2), |_| false, domain.now);
    domain.settle();
    let asked = path_request(&domain.outputs());
    assert_eq!((asked.transaction, &asked.endpoint), (binding.transaction, &node("EF-2")));
    assert_eq!(domain.state(1), FlowState::Active);
    let mut path = path_for(&asked, 2);
    path.delay = cats_engine_types::Micros(2_600);
    let repaired = install(&domain.reply(PathReply { transaction: asked.transaction, outcome: Ok(path) }));
    assert_eq!((repaired.forward.csci_id, repaired.version), (csci(B), 2));
    assert_eq!(domain.state(1), FlowState::Active);
    domain.status("IF-1", repaired.transaction, key(1), BindingEvent::Installed);
    assert_eq!(domain.state(1), FlowState::Active);
    assert_eq!(domain.cps.counters().repaired, 1);
    assert_eq!(domain.cps.transitions(FlowState::Active, FlowState::Active), 1);
    domain.pass(Duration::from_secs(60));
    assert_eq!((domain.state(1), domain.outputs()), (FlowState::Active, Vec::new()));
}

/// Proves CP-21, CP-26.
#[test]
fn without_another_path_the_client_must_reconnect() {
    type Step = fn(&mut Domain, cats_engine_types::PathRequest);
    let no_path: Step = |domain, asked| {
        let no_path = NoPath::Unreachable { headend: asked.headend, endpoint: asked.endpoint };
        domain.cps.handle_path_reply(
            PathReply { transaction: asked.transaction, outcome: Err(no_path) },
            domain.now,
        );
    };
    let silence: Step = |domain, _| domain.pass(Duration::from_millis(500));
    let refused: Step = |domain, asked| {
        let path = path_for(&asked, 2);
        domain.reply(PathReply { transaction: asked.transaction, outcome: Ok(path) });
        let failed = BindingEvent::InstallFailed(InstallFailure::DataPlane("no such device".into()));
        let status =
            cats_engine_types::BindingStatus { transaction: asked.transaction, key: key(1), event: failed };
        domain.cps.handle_binding_status(&node("IF-1"), status, domain.now);
    };
    for step in [no_path, silence, refused] {
        let mut domain = Domain::new();
        let binding = domain.active(1);
        domain.cps.handle_topology(Generation(2), |_| false, domain.now);
        domain.settle();
        let asked = path_request(&domain.outputs());
        step(&mut domain, asked);
        let outputs = domain.outputs();
        assert_eq!(removals(&outputs), [(binding.transaction, RemovalReason::Requested)]);
        assert!(events(&outputs).contains(&reconnect_event(&binding)));
        assert_eq!((domain.state(1), domain.held(B)), (FlowState::ReconnectRequired, 0));
    }
}

/// Proves CP-21, CP-26.
#[test]
fn a_failed_instance_ends_its_flows_and_no_other_instance_takes_them() {
    let unhealthy: fn(&mut Domain) = |domain| {
        let mut config = config();
        config.metrics[1].health = Health::Unhealthy;
        domain.cps.configure(config, domain.now);
    };
    let gone: fn(&mut Domain) = |domain| {
        let mut config = config();
        first(&mut config).instances.remove(1);
        domain.cps.configure(config, domain.now);
    };
    let undeliverable: fn(&mut Domain) = |domain| {
        domain.report(egress("EF-2", B, DeliveryState::Failed("no neighbour".into())));
    };
    for fault in [unhealthy, gone, undeliverable] {
        let mut domain = Domain::new();
        let binding = domain.active(1);
        fault(&mut domain);
        domain.settle();
        let outputs = domain.outputs();
        assert_eq!(removals(&outputs), [(binding.transaction, RemovalReason::Requested)]);
        assert_eq!(events(&outputs), [reconnect_event(&binding)]);
        assert_eq!(domain.state(1), FlowState::ReconnectRequired);
        // The client's next packets do not open the connection at another instance.
        let request = domain.request(1);
        assert_eq!(refusal(&domain.send(&request)), RequestFailure::ReconnectRequired);
        domain.removed(&binding, RemovalReason::Requested);
        assert_eq!(domain.state(1), FlowState::ReconnectRequired);
        // A new connection is served at once; the old tuple when its time is over.
        assert_eq!(domain.active(2).forward.csci_id, csci(A));
        domain.pass(Duration::from_secs(30));
        assert_eq!(domain.state(1), FlowState::Absent);
        assert_eq!(domain.active(1).forward.csci_id, csci(A));
    }
}

/// Proves CP-21.
#[test]
fn a_set_up_whose_instance_fails_meanwhile_fails() {
    let mut domain = Domain::new();
    let binding = domain.ready(1);
    let mut config = config();
    config.metrics[1].health = Health::Unhealthy;
    domain.cps.configure(config, domain.now);
    domain.settle();
    let outputs = domain.outputs();
    assert_eq!(refusal(&outputs), RequestFailure::NoCandidate);
    assert_eq!(removals(&outputs), [(binding.transaction, RemovalReason::Requested)]);
    assert_eq!(domain.state(1), FlowState::Failed);
}

/// Proves CP-38.
#[test]
fn losing_a_forwarder_and_losing_its_data_plane_are_two_things() {
    let mut domain = Domain::new();
    domain.active(1);
    let seen = |domain: &Domain, name: &str| {
        let view = domain.cps.nodes().find(|view| view.node == node(name)).unwrap();
        (view.control, view.data)
    };
    assert_eq!(seen(&domain, "EF-2"), (ControlPlane::Attached, DataPlane::Ready));
    domain.cps.handle_detached(&node("EF-2"), domain.now);
    domain.cps.handle_detached(&node("IF-1"), domain.now);
    domain.settle();
    assert_eq!(seen(&domain, "EF-2"), (ControlPlane::Detached, DataPlane::Ready));
    assert_eq!(events(&domain.outputs()).len(), 2);
    domain.pass(Duration::from_secs(3600));
    assert_eq!(domain.state(1), FlowState::Active, "established flows need no control plane");
    domain.report(egress("EF-2", B, DeliveryState::Failed("no neighbour".into())));
    domain.settle();
    assert_eq!(seen(&domain, "EF-2"), (ControlPlane::Attached, DataPlane::Failed { deliveries: 2 }));
    assert_eq!(domain.state(1), FlowState::ReconnectRequired);
}

#[test]
fn an_egress_that_comes_back_without_deliveries_yet_keeps_its_flows() {
    let mut domain = Domain::new();
    domain.active(1);
    domain.cps.handle_detached(&node("EF-2"), domain.now);
    let mut report = egress("EF-2", B, DeliveryState::Ready);
    report.deliveries.clear();
    domain.report(report);
    domain.settle();
    assert_eq!(domain.state(1), FlowState::Active);
}

#[test]
fn a_topology_change_ends_no_flow_of_a_forwarder_that_is_not_attached() {
    let mut domain = Domain::new();
    domain.active(1);
    domain.cps.handle_detached(&node("EF-2"), domain.now);
    domain.cps.handle_detached(&node("IF-1"), domain.now);
    domain.cps.handle_topology(Generation(2), |_| false, domain.now);
    domain.pass(Duration::from_secs(60));
    assert_eq!(domain.state(1), FlowState::Active);
    domain.outputs();
    domain.report(crate::domain::ingress("IF-1", 1));
    domain.settle();
    let asked = path_request(&domain.outputs());
    let path = path_for(&asked, 2);
    let repaired = install(&domain.reply(PathReply { transaction: asked.transaction, outcome: Ok(path) }));
    assert_eq!(repaired.version, 2);
}

#[test]
fn many_flows_are_swept_in_steps() {
    let mut domain = Domain::with({
        let mut config = config();
        config.admission.client_rate = 10_000;
        config
    });
    for port in 1..=2_500 {
        domain.active(port);
    }
    let mut config = config();
    config.metrics[1].health = Health::Unhealthy;
    domain.cps.configure(config, domain.now);
    let mut steps = Vec::new();
    while domain.cps.poll_timeout().is_some_and(|(at, _)| at <= domain.now) {
        domain.cps.handle_timeout(domain.now);
        steps.push(removals(&domain.outputs()).len());
    }
    assert_eq!(steps, [1000, 1000, 500]);
    assert_eq!(domain.held(B), 0);
}

/// Proves CP-25.
#[test]
fn a_cached_value_serves_while_it_is_valid_and_not_after() {
    let mut domain = Domain::with({
        let mut config = config();
        config.metrics.iter_mut().for_each(|metric| metric.valid_for = Some(Duration::from_secs(5)));
        config
    });
    domain.pass(Duration::from_millis(4_999));
    domain.active(1);
    domain.pass(Duration::from_millis(1));
    let request = domain.request(2);
    assert_eq!(refusal(&domain.send(&request)), RequestFailure::NoCandidate);
    let words: Vec<_> =
        domain.cps.decisions().next().unwrap().candidates.iter().map(|c| c.verdict.to_string()).collect();
    assert_eq!(words, ["its metrics expired"; 2]);
    assert_eq!(domain.state(1), FlowState::Active);
}
