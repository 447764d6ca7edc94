//! From the first packet to the committed binding.

use crate::domain::{
    A, B, Domain, config, csci, events, first, install, key, node, path_for, path_request, refusal,
};
use cats_engine_core::cps::{FlowState, Output};
use cats_engine_types::{
    BindingEvent, Constraints, Criterion, Deadline, Decision, DeliveryState, Encaps, Encapsulation, Gas,
    Generation, InstallFailure, Measure, Micros, NoPath, PathConstraints, PathReply, RequestFailure,
    RoutingDomain, Verdict, Win,
};
use std::time::Duration;

/// The request is built of the selected egress and network constraints alone: its type has no room for candidates.
///
/// Proves CP-1.
#[test]
fn the_path_is_asked_for_only_after_the_destination_is_decided() {
    let mut domain = Domain::new();
    let request = domain.request(51000);
    let asked = path_request(&domain.send(&request));
    let flow = domain.cps.flow(&node("IF-1"), &key(51000)).unwrap();
    assert_eq!(flow.state, FlowState::DestinationSelected);
    assert_eq!((flow.csci_id, flow.egress), (Some(csci(B)), Some(node("EF-2"))));
    assert_eq!(asked.transaction, request.transaction);
    assert_eq!((asked.headend, asked.endpoint), (node("IF-1"), node("EF-2")));
    assert_eq!((asked.domain, asked.max_segments), (RoutingDomain::default(), 4));
    assert_eq!(asked.constraints, PathConstraints::default());
}

#[test]
fn what_is_left_of_the_delay_bounds_goes_to_the_path_computation() {
    let mut domain = Domain::new();
    let bound = |network, total| Constraints {
        max_network_delay: Some(Micros(network)),
        max_total_delay: Some(Micros(total)),
        min_bandwidth: None,
        ..Constraints::default()
    };
    // B takes 5 ms, so that 4.5 ms are left of 9.5 ms.
    let mut request = domain.request(1);
    request.constraints = bound(20_000, 9_500);
    assert_eq!(path_request(&domain.send(&request)).constraints.max_delay, Some(Micros(4_500)));
    let mut request = domain.request(2);
    request.constraints = bound(3_500, 9_500);
    assert_eq!(path_request(&domain.send(&request)).constraints.max_delay, Some(Micros(3_500)));
}

/// Proves CP-9.
#[test]
fn one_binding_carries_both_directions() {
    let mut domain = Domain::new();
    let binding = domain.ready(51000);
    assert_eq!(domain.state(51000), FlowState::BindingReady);
    assert_eq!(binding.forward.key, key(51000));
    assert_eq!((binding.forward.csci_id, binding.forward.egress.as_str()), (csci(B), "EF-2"));
    assert_eq!(binding.forward.locator.address, "198.51.100.21".parse::<std::net::IpAddr>().unwrap());
    assert_eq!(binding.reverse.instance, "198.51.100.21:443".parse().unwrap());
    assert_eq!(binding.reverse.client, "192.0.2.10:51000".parse().unwrap());
    assert_eq!(binding.reverse.restore, "192.0.2.100:443".parse().unwrap());
    assert_eq!(binding.lifetime.idle, Some(Duration::from_secs(120)));
    assert_eq!((binding.version, binding.epoch), (1, domain.cps.epoch()));
    domain.status("IF-1", binding.transaction, key(51000), BindingEvent::Installed);
    assert_eq!(domain.state(51000), FlowState::Active);
}

/// Proves CP-21.
#[test]
fn a_flow_goes_through_the_states_of_the_figure() {
    use FlowState::{Absent, Active, BindingReady, DestinationSelected, Draining, Pending};
    let mut domain = Domain::new();
    assert_eq!(domain.state(1), Absent);
    let request = domain.request(1);
    let asked = path_request(&domain.send(&request));
    assert_eq!(domain.state(1), DestinationSelected);
    let path = path_for(&asked, 1);
    let binding = install(&domain.reply(PathReply { transaction: asked.transaction, outcome: Ok(path) }));
    assert_eq!(domain.state(1), BindingReady);
    domain.status("IF-1", binding.transaction, key(1), BindingEvent::Installed);
    assert_eq!(domain.state(1), Active);
    let now = domain.now;
    assert!(domain.cps.clear_flow(&node("IF-1"), &key(1), now));
    assert_eq!(domain.state(1), Draining);
    domain.removed(&binding, cats_engine_types::RemovalReason::Cleared);
    assert_eq!(domain.state(1), Absent);
    let went = [
        (Absent, Pending),
        (Pending, DestinationSelected),
        (DestinationSelected, BindingReady),
        (BindingReady, Active),
        (Active, Draining),
        (Draining, Absent),
    ];
    for from in FlowState::ALL {
        for to in FlowState::ALL {
            let expected = u64::from(went.contains(&(from, to)));
            assert_eq!(domain.cps.transitions(from, to), expected, "{} to {}", from.name(), to.name());
        }
    }
}

/// Proves CP-13.
#[test]
fn the_decision_records_what_it_was_made_from() {
    let mut domain = Domain::with({
        let mut config = config();
        config.policy_version = cats_engine_types::PolicyVersion(42);
        first(&mut config).instances[0].enabled = true;
        config.metrics[0].gas = Gas::Slots(0);
        config
    });
    let request = domain.request(51000);
    let asked = path_request(&domain.send(&request));
    let path = path_for(&asked, 9);
    let outputs = domain.reply(PathReply { transaction: asked.transaction, outcome: Ok(path.clone()) });
    let decision = decision(&outputs);
    assert_eq!((decision.transaction, decision.key), (request.transaction, key(51000)));
    let selected = decision.selected.clone().unwrap();
    assert_eq!((selected.csci_id, selected.egress.as_str()), (csci(B), "EF-2"));
    assert_eq!(selected.locator.to_string(), "198.51.100.21");
    assert_eq!(decision.at, domain.wall);
    assert_eq!(decision.path, Some(path));
    assert_eq!(decision.generations.policy.0, 42);
    assert_eq!(decision.generations.cst, domain.cps.cst().generation());
    assert_eq!(decision.generations.nst, domain.cps.nst().generation());
    assert_eq!(decision.generations.ted, Some(Generation(9)));
    let words: Vec<_> = decision.candidates.iter().map(|c| (c.csci_id, c.verdict.name())).collect();
    assert_eq!(words, [(csci(A), "dropped"), (csci(B), "selected")]);
    assert_eq!(decision.candidates[0].verdict.to_string(), "slots 0 less 0 reserved, 1 wanted");
    let own = Measure { criterion: Criterion::TotalDelay, value: 8_000 };
    let won = Verdict::Selected { reason: Win::OnlyCandidate { own } };
    assert_eq!(decision.candidates[1].verdict, won);
    let kept = domain.cps.decision(request.transaction).unwrap();
    assert_eq!(**kept, decision);
}

fn decision(outputs: &[Output]) -> Decision {
    let found = outputs.iter().find_map(|output| match output {
        Output::Decision(decision) => Some(decision.as_ref().clone()),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("a decision in {outputs:?}"))
}

/// Proves CP-3.
#[test]
fn without_an_eligible_candidate_no_path_is_asked_for_and_nothing_is_bound() {
    let mut domain = Domain::with({
        let mut config = config();
        config.metrics.iter_mut().for_each(|metric| metric.gas = Gas::Slots(0));
        config
    });
    let request = domain.request(1);
    let outputs = domain.send(&request);
    assert_eq!(refusal(&outputs), RequestFailure::NoCandidate);
    let unwanted = |output: &Output| matches!(output, Output::PathRequest(_) | Output::Install { .. });
    assert!(!outputs.iter().any(unwanted), "{outputs:?}");
    domain.pass(Duration::from_secs(60));
    assert_eq!((domain.outputs(), domain.cps.counters().path_requests), (Vec::new(), 0));
    assert_eq!(domain.state(1), FlowState::Absent);
    let decision = decision(&outputs);
    assert_eq!(decision.selected, None);
    assert!(decision.candidates.iter().all(|candidate| candidate.verdict.name() == "dropped"));
    assert_eq!(domain.cps.transitions(FlowState::Pending, FlowState::Failed), 1);
}

/// Proves CP-20.
#[test]
fn an_egress_without_the_delivery_gets_no_flow() {
    let mut domain = Domain::bare(config(), 100);
    domain.report(crate::domain::ingress("IF-1", 1));
    let reason = |domain: &mut Domain, port| {
        let request = domain.request(port);
        let outputs = domain.send(&request);
        assert_eq!(refusal(&outputs), RequestFailure::NoCandidate);
        decision(&outputs).candidates[1].verdict.to_string()
    };
    assert_eq!(reason(&mut domain, 1), "its egress is not attached");
    let mut report = crate::domain::egress("EF-2", B, DeliveryState::Ready);
    report.deliveries.clear();
    domain.report(report);
    assert_eq!(reason(&mut domain, 2), "its egress has no delivery to it");
    domain.report(crate::domain::egress("EF-2", B, DeliveryState::Failed("no route".into())));
    assert_eq!(reason(&mut domain, 3), "the delivery failed at its egress");
    domain.report(crate::domain::egress("EF-2", B, DeliveryState::Ready));
    domain.outputs();
    assert_eq!(domain.active(4).forward.csci_id, csci(B));
    domain.cps.handle_detached(&node("EF-2"), domain.now);
    domain.outputs();
    assert_eq!(reason(&mut domain, 5), "its egress is not attached");
}

/// Proves CP-14.
#[test]
fn a_path_that_the_headend_cannot_realise_is_a_path_failure() {
    let mut domain = Domain::new();
    let mut port = 0;
    let mut words = |change: fn(&mut cats_engine_types::Path)| {
        port += 1;
        let request = domain.request(port);
        let asked = path_request(&domain.send(&request));
        let mut path = path_for(&asked, 5);
        change(&mut path);
        let failure = refusal(&domain.reply(PathReply { transaction: asked.transaction, outcome: Ok(path) }));
        assert_eq!(domain.state(port), FlowState::Absent);
        assert_eq!(domain.held(B), 0, "the slot is free again");
        failure.to_string()
    };
    let start = "the headend cannot realise the path: ";
    let full = words(|path| {
        let Encapsulation::Srv6 { mode, .. } = &mut path.encapsulation else { panic!("{path:?}") };
        *mode = Encaps::Full;
    });
    assert_eq!(full, format!("{start}IF-1 does not impose Srv6Encaps"));
    assert_eq!(
        words(|path| path.encapsulation = Encapsulation::None),
        format!("{start}EF-2 is not reached without encapsulation")
    );
    let long = words(|path| {
        let sid: std::net::Ipv6Addr = "fc00:2::4".parse().unwrap();
        let segments = vec![sid; 5].try_into().unwrap();
        path.encapsulation = Encapsulation::Srv6 { mode: Encaps::Reduced, segments };
    });
    assert_eq!(long, format!("{start}5 segments; IF-1 imposes at most 4"));
    let elsewhere = words(|path| {
        let sid: std::net::Ipv6Addr = "fc00:2::6".parse().unwrap();
        path.encapsulation =
            Encapsulation::Srv6 { mode: Encaps::Reduced, segments: vec![sid].try_into().unwrap() };
    });
    assert_eq!(elsewhere, format!("{start}EF-2 does not decapsulate V4 at fc00:2::6"));
    let narrow = words(|path| path.mtu = 600);
    assert_eq!(narrow, format!("{start}packets of 576 octets do not fit: the path takes 536"));
}

/// Proves CP-14.
#[test]
fn a_reply_for_another_endpoint_or_an_older_topology_is_a_path_failure() {
    let mut domain = Domain::new();
    let now = domain.now;
    domain.cps.handle_topology(Generation(7), |_| true, now);
    let mut port = 0;
    let mut words = |change: fn(&mut cats_engine_types::Path)| {
        port += 1;
        let mut request = domain.request(port);
        request.constraints.max_network_delay = Some(Micros(4_000));
        let asked = path_request(&domain.send(&request));
        let mut path = path_for(&asked, 7);
        change(&mut path);
        let selected = domain.cps.flow(&node("IF-1"), &key(port)).unwrap().csci_id;
        assert_eq!(selected, Some(csci(B)));
        refusal(&domain.reply(PathReply { transaction: asked.transaction, outcome: Ok(path) })).to_string()
    };
    let start = "the headend cannot realise the path: ";
    assert_eq!(
        words(|path| path.endpoint = node("EF-1")),
        format!("{start}the path leads from IF-1 to EF-1, not from IF-1 to EF-2")
    );
    assert_eq!(
        words(|path| path.headend = node("IF-2")),
        format!("{start}the path leads from IF-2 to EF-2, not from IF-1 to EF-2")
    );
    assert_eq!(
        words(|path| path.generation = Generation(6)),
        format!("{start}it is of topology 6, and 7 was known")
    );
    assert_eq!(
        words(|path| path.delay = Micros(4_001)),
        format!("{start}its delay 4.001 ms is above 4.000 ms")
    );
}

/// Proves CP-24.
#[test]
fn no_path_refused_commit_and_each_deadline_fail_closed() {
    let mut domain = Domain::new();
    let request = domain.request(1);
    let asked = path_request(&domain.send(&request));
    assert_eq!(domain.held(B), 1);
    let no_path = NoPath::Unreachable { headend: node("IF-1"), endpoint: node("EF-2") };
    let outputs = domain.reply(PathReply { transaction: asked.transaction, outcome: Err(no_path.clone()) });
    assert_eq!(refusal(&outputs), RequestFailure::NoPath(no_path));
    assert_eq!((domain.state(1), domain.held(B)), (FlowState::Absent, 0));

    let binding = domain.ready(2);
    let failed = BindingEvent::InstallFailed(InstallFailure::Full);
    let outputs = domain.status("IF-1", binding.transaction, key(2), failed);
    assert_eq!(events(&outputs).len(), 1);
    assert_eq!((domain.state(2), domain.held(B)), (FlowState::Absent, 0));

    let request = domain.request(3);
    domain.send(&request);
    domain.pass(Duration::from_millis(499));
    assert_eq!(domain.state(3), FlowState::DestinationSelected);
    assert_eq!(domain.outputs(), []);
    domain.pass(Duration::from_millis(1));
    assert_eq!(refusal(&domain.outputs()), RequestFailure::Deadline(Deadline::PathRequest));
    assert_eq!((domain.state(3), domain.held(B)), (FlowState::Absent, 0));

    let request = domain.request(4);
    let late = domain.now + Duration::from_millis(101);
    domain.cps.handle_request_received(&node("IF-1"), request, domain.now, late, domain.wall);
    assert_eq!(refusal(&domain.outputs()), RequestFailure::Deadline(Deadline::Selection));
    assert_eq!(domain.cps.flow_count(), 0);
}

/// Proves CP-24.
#[test]
fn a_late_path_reply_never_revives_a_transaction() {
    let mut domain = Domain::new();
    let request = domain.request(1);
    let asked = path_request(&domain.send(&request));
    let reply = PathReply { transaction: asked.transaction, outcome: Ok(path_for(&asked, 1)) };
    domain.pass(Duration::from_millis(500));
    domain.outputs();
    assert_eq!(domain.reply(reply), []);
    assert_eq!(domain.state(1), FlowState::Absent);

    // The same where the reply comes before anyone looked at the clock.
    let request = domain.request(2);
    let asked = path_request(&domain.send(&request));
    let reply = PathReply { transaction: asked.transaction, outcome: Ok(path_for(&asked, 1)) };
    domain.now += Duration::from_millis(500);
    assert_eq!(refusal(&domain.reply(reply.clone())), RequestFailure::Deadline(Deadline::PathRequest));
    assert_eq!(domain.reply(reply), []);
    assert_eq!(domain.cps.counters().late_path_replies, 3);
    assert_eq!((domain.cps.flow_count(), domain.held(B)), (0, 0));
}

/// Proves CP-24.
#[test]
fn a_commit_after_the_deadline_is_taken_back() {
    let mut domain = Domain::new();
    let binding = domain.ready(1);
    domain.pass(Duration::from_millis(200));
    let outputs = domain.outputs();
    assert_eq!(refusal(&outputs), RequestFailure::Deadline(Deadline::Commit));
    let wanted = [(binding.transaction, cats_engine_types::RemovalReason::Requested)];
    assert_eq!(crate::domain::removals(&outputs), wanted);
    assert_eq!(domain.state(1), FlowState::Failed);
    let outputs = domain.status("IF-1", binding.transaction, key(1), BindingEvent::Installed);
    assert_eq!(crate::domain::removals(&outputs), wanted);
    assert_eq!(domain.state(1), FlowState::Failed);
    domain.removed(&binding, cats_engine_types::RemovalReason::Requested);
    assert_eq!((domain.state(1), domain.cps.flow_count()), (FlowState::Absent, 0));
}

#[test]
fn two_requests_of_one_flow_never_lead_to_two_instances() {
    let mut domain = Domain::new();
    let first = domain.request(1);
    let asked = path_request(&domain.send(&first));
    assert_eq!(domain.send(&first), [], "a repeated transaction changes nothing");
    // The metrics turn before the ingress asks again.
    let mut changed = config();
    changed.metrics[1].computing_time = Micros(50_000);
    domain.cps.configure(changed, domain.now);
    domain.settle();
    let second = domain.request(1);
    let again = path_request(&domain.send(&second));
    assert_eq!((again.transaction, again.endpoint), (second.transaction, node("EF-2")));
    let stale = PathReply { transaction: asked.transaction, outcome: Ok(path_for(&asked, 1)) };
    assert_eq!(domain.reply(stale), []);
    assert_eq!(domain.held(B), 1);
    let old = domain.send(&first);
    assert!(matches!(refusal(&old), RequestFailure::Malformed(_)));
    assert_eq!(domain.active(2).forward.csci_id, csci(A), "a new flow follows the metrics");
}
