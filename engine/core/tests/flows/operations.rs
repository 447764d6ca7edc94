//! What operators ask of the path selector: what it would decide, and that it lets flows go.

use crate::domain::{A, B, Domain, cs_id, csci, key, node, path_for, path_request, removals};
use cats_engine_core::cps::{FlowState, Output, Which};
use cats_engine_types::{
    Constraints, Generation, Micros, RemovalReason, RequestFailure, TenantId, Verdict, Win,
};
use std::time::Duration;

/// What is told apart of a domain.
fn marks(domain: &Domain) -> (u64, usize, usize, usize, u32) {
    let cps = &domain.cps;
    let counters = cps.counters();
    (
        counters.requests + counters.selected + counters.path_requests,
        cps.flow_count(),
        cps.reservations().count(),
        cps.decisions().count(),
        domain.held(B),
    )
}

#[test]
fn a_dry_run_tells_the_decision_that_follows_and_leaves_nothing_behind() {
    let mut domain = Domain::new();
    let request = domain.request(51000);
    let before = marks(&domain);
    let run = domain.cps.dry_run(&request, 20, domain.now, domain.wall).unwrap();
    assert_eq!(marks(&domain), before);
    assert_eq!(domain.outputs(), []);
    assert_eq!(domain.state(51000), FlowState::Absent);
    let asked = path_request(&domain.send(&request));
    assert_eq!(run.path.as_ref(), Some(&asked));
    let path = path_for(&asked, 1);
    assert_eq!(domain.cps.suits(&asked, &path), Ok(()));
    domain.reply(cats_engine_types::PathReply { transaction: asked.transaction, outcome: Ok(path) });
    let decided = domain.cps.decisions().next().unwrap();
    assert_eq!(run.decision.candidates, decided.candidates);
    assert_eq!(
        (run.decision.selected.as_ref(), run.decision.service),
        (decided.selected.as_ref(), decided.service)
    );
}

#[test]
fn a_dry_run_says_why_each_candidate_loses_up_to_its_limit() {
    let domain = &mut Domain::new();
    let mut request = domain.request(1);
    request.constraints = Constraints { max_computing_time: Some(Micros(1)), ..Constraints::default() };
    let run = domain.cps.dry_run(&request, 1, domain.now, domain.wall).unwrap();
    assert_eq!((run.decision.candidates.len(), run.decision.omitted), (1, 1));
    assert!(matches!(run.decision.candidates[0].verdict, Verdict::Dropped { .. }));
    assert_eq!((run.decision.selected, run.path), (None, None));
}

#[test]
fn a_flow_that_is_bound_would_keep_its_instance() {
    let mut domain = Domain::new();
    domain.active(1);
    let request = domain.request(1);
    let run = domain.cps.dry_run(&request, 20, domain.now, domain.wall).unwrap();
    let kept = run.decision.candidates.iter().find(|candidate| candidate.csci_id == csci(B)).unwrap();
    assert_eq!(kept.verdict, Verdict::Selected { reason: Win::Kept });
}

#[test]
fn what_would_be_refused_is_refused_in_the_same_words() {
    let mut domain = Domain::new();
    let mut request = domain.request(1);
    request.ingress = node("IF-9");
    let run = domain.cps.dry_run(&request, 20, domain.now, domain.wall);
    assert!(matches!(run, Err(RequestFailure::Unauthorised(_))), "{run:?}");
    let mut request = domain.request(1);
    request.cs_id = Some(cs_id(77));
    assert!(domain.cps.dry_run(&request, 20, domain.now, domain.wall).is_err());
    let mut request = domain.request(1);
    request.tenant = TenantId(5);
    let allowed = domain.cps.dry_run(&request, 20, domain.now, domain.wall);
    assert!(allowed.is_ok(), "the service is open to all tenants: {allowed:?}");
}

#[test]
fn a_path_of_an_older_topology_suits_no_dry_run() {
    let mut domain = Domain::new();
    let request = domain.request(1);
    let asked = domain.cps.dry_run(&request, 20, domain.now, domain.wall).unwrap().path.unwrap();
    let old = path_for(&asked, 1);
    domain.cps.handle_topology(Generation(2), |_| true, domain.now);
    assert!(matches!(domain.cps.suits(&asked, &old), Err(RequestFailure::NotRealisable(_))));
}

#[test]
fn the_flows_of_a_service_an_instance_or_an_ingress_end_and_no_others() {
    let mut domain = Domain::new();
    let bindings: Vec<_> = (1..=3).map(|port| domain.active(port)).collect();
    domain.ready(4);
    let now = domain.now;
    let other = |which, ingress: Option<&str>, domain: &mut Domain| {
        let ingress = ingress.map(node);
        domain.cps.clear_some(which, ingress.as_ref(), None, now)
    };
    let of = |service, instance| Which { service: Some(cs_id(service)), instance };
    for (which, ingress) in [
        (of(9, None), None),
        (of(1, Some(csci(A))), None),
        (of(1, None), Some("EF-1")),
        (of(1, None), Some("IF-9")),
    ] {
        let cleared = other(which, ingress, &mut domain);
        assert_eq!((cleared.count, cleared.next), (0, None), "{which:?} {ingress:?}");
    }
    let cleared = other(of(1, Some(csci(B))), Some("IF-1"), &mut domain);
    assert_eq!((cleared.count, cleared.next), (3, None));
    let told = removals(&domain.outputs());
    let expected: Vec<_> = bindings.iter().map(|b| (b.transaction, RemovalReason::Cleared)).collect();
    assert_eq!(told, expected);
    assert_eq!(domain.state(4), FlowState::BindingReady, "it is being set up");
    domain.removed(&bindings[0], RemovalReason::Cleared);
    assert_eq!(domain.state(1), FlowState::Absent);
    assert_eq!(other(Which::default(), None, &mut domain).count, 0, "they end already");
}

#[test]
fn many_flows_are_looked_through_some_at_a_time() {
    let mut domain = Domain::new();
    for port in 1..=1500 {
        // No client may ask for more than a thousand flows in a second.
        if port == 900 {
            domain.pass(Duration::from_secs(1));
        }
        domain.active(port);
    }
    let now = domain.now;
    let first = domain.cps.clear_some(Which::default(), None, None, now);
    assert_eq!(first.count, 1000);
    let second = domain.cps.clear_some(Which::default(), None, first.next.as_ref(), now);
    assert_eq!((second.count, second.next), (500, None));
    domain.pass(Duration::from_secs(60));
    let removed =
        domain.outputs().into_iter().filter(|output| matches!(output, Output::Remove { .. })).count();
    assert!(removed <= 1500 && domain.state(7) != FlowState::Active, "{removed}");
    assert_eq!(domain.cps.flow(&node("IF-1"), &key(7)), None);
}
