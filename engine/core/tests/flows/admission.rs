//! Bounds of number and rate: each is reached, refuses by its name, and leaves established flows alone.

use crate::domain::{B, Domain, config, csci, events, first, ingress, key, node, path_request, refusal};
use cats_engine_core::cps::{Event, FlowState};
use cats_engine_types::{FlowKey, Gas, Limit, Protocol, RemovalReason, RequestFailure, TenantId};
use std::time::Duration;

fn rates(client_rate: u32, tenant_rate: u32) -> Domain {
    let mut config = config();
    config.admission.client_rate = client_rate;
    config.admission.tenant_rate = tenant_rate;
    Domain::with(config)
}

/// One of many clients, IPv4.
fn ask(domain: &mut Domain, client: u32, port: u16, tenant: u32) -> Result<(), RequestFailure> {
    let mut request = domain.request(port);
    let address = std::net::Ipv4Addr::from(0x0a00_0000 + client);
    request.key = FlowKey::new(Protocol::TCP, (address, port).into(), key(1).service()).unwrap();
    request.tenant = TenantId(tenant);
    let outputs = domain.send(&request);
    if outputs.iter().any(|output| matches!(output, cats_engine_core::cps::Output::PathRequest(_))) {
        Ok(())
    } else {
        Err(refusal(&outputs))
    }
}

/// Proves CP-28.
#[test]
fn a_client_and_a_tenant_open_flows_at_their_rate_and_no_faster() {
    let mut domain = rates(10, 25);
    let limit = |name| Err(RequestFailure::Limit(name));
    for port in 1..=10 {
        assert_eq!(ask(&mut domain, 1, port, 0), Ok(()));
    }
    assert_eq!(ask(&mut domain, 1, 11, 0), limit(Limit::ClientRate));
    for client in 2..=16 {
        assert_eq!(ask(&mut domain, client, 1, 0), Ok(()));
    }
    assert_eq!(ask(&mut domain, 17, 1, 0), limit(Limit::TenantRate));
    assert_eq!(ask(&mut domain, 18, 1, 1), Ok(()), "another tenant has its own");
    domain.pass(Duration::from_millis(100));
    assert_eq!(ask(&mut domain, 1, 12, 0), Ok(()), "a tenth of a second is one flow at 10 a second");
    assert_eq!(ask(&mut domain, 1, 13, 0), limit(Limit::ClientRate));
}

/// Proves CP-28.
#[test]
fn the_flow_limit_refuses_new_flows_and_leaves_the_old_ones() {
    let mut config = config();
    config.admission.flows = 2;
    let mut domain = Domain::with(config);
    let first = domain.active(1);
    domain.active(2);
    let request = domain.request(3);
    let outputs = domain.send(&request);
    assert_eq!(refusal(&outputs), RequestFailure::Limit(Limit::FlowLimits));
    assert_eq!(events(&outputs), [Event::FlowLimit(true)]);
    let request = domain.request(4);
    let outputs = domain.send(&request);
    assert_eq!(events(&outputs), [], "told once");
    assert_eq!((domain.state(1), domain.state(2)), (FlowState::Active, FlowState::Active));
    assert_eq!(events(&domain.removed(&first, RemovalReason::Idle)), [Event::FlowLimit(false)]);
    let request = domain.request(5);
    path_request(&domain.send(&request));
}

#[test]
fn an_ingress_holds_no_more_bindings_than_it_says() {
    let mut domain = Domain::new();
    let mut report = ingress("IF-1", 1);
    if let Some(capabilities) = &mut report.ingress {
        capabilities.max_bindings = 1;
    }
    domain.report(report);
    domain.active(1);
    let request = domain.request(2);
    assert_eq!(refusal(&domain.send(&request)), RequestFailure::Limit(Limit::IngressBindings));
}

#[test]
fn clients_beyond_the_table_share_one_rate_and_known_ones_keep_theirs() {
    let mut config = config();
    config.admission.clients = 2;
    config.admission.client_rate = 3;
    let mut domain = Domain::with(config);
    let limit = Err(RequestFailure::Limit(Limit::ClientRate));
    assert_eq!(ask(&mut domain, 1, 1, 0), Ok(()));
    assert_eq!(ask(&mut domain, 2, 1, 0), Ok(()));
    for client in 3..=5 {
        assert_eq!(ask(&mut domain, client, 1, 0), Ok(()));
    }
    assert_eq!(ask(&mut domain, 6, 1, 0), limit, "the shared bucket is empty");
    assert_eq!(ask(&mut domain, 1, 2, 0), Ok(()));
    domain.pass(Duration::from_secs(1));
    for port in 10..13 {
        assert_eq!(ask(&mut domain, 7, port, 0), Ok(()), "room again for clients");
    }
    assert_eq!(ask(&mut domain, 7, 13, 0), limit);
}

#[test]
fn an_ipv6_client_is_its_whole_64() {
    let mut config = config();
    let address = "2001:db8::100".parse().unwrap();
    let matched = cats_engine_types::ServiceMatch { address, protocol: None, port: None };
    first(&mut config).matches.push(matched);
    config.admission.client_rate = 1;
    let mut domain = Domain::with(config);
    let mut ask = |client: &str| {
        let mut request = domain.request(1);
        let client = format!("[{client}]:5").parse().unwrap();
        request.key = FlowKey::new(Protocol::UDP, client, "[2001:db8::100]:443".parse().unwrap()).unwrap();
        domain.send(&request)
    };
    path_request(&ask("2001:db8:a:b::1"));
    assert_eq!(refusal(&ask("2001:db8:a:b::2")), RequestFailure::Limit(Limit::ClientRate));
    path_request(&ask("2001:db8:a:c::1"));
}

#[test]
fn slots_are_reserved_from_the_decision_on_so_that_a_burst_does_not_overbook() {
    let mut config = config();
    config.metrics[1].gas = Gas::Slots(2);
    let mut domain = Domain::with(config);
    let chosen: Vec<_> = (1..=3)
        .map(|port| {
            let request = domain.request(port);
            domain.send(&request);
            domain.cps.flow(&node("IF-1"), &key(port)).unwrap().csci_id.unwrap()
        })
        .collect();
    assert_eq!(chosen, [csci(B), csci(B), csci(crate::domain::A)]);
    let held: Vec<_> = domain.cps.reservations().map(|held| (held.csci_id, held.slots)).collect();
    assert_eq!(held, [(csci(B), 1), (csci(B), 1), (csci(crate::domain::A), 1)]);
}

#[test]
fn a_request_takes_as_many_slots_as_it_says() {
    let mut config = config();
    config.metrics[1].gas = Gas::Slots(5);
    let mut domain = Domain::with(config);
    let mut request = domain.request(1);
    request.constraints.min_gas = Some(3);
    domain.ready_with(&request);
    assert_eq!(domain.held(B), 3);
    request = domain.request(2);
    request.constraints.min_gas = Some(3);
    assert_eq!(domain.ready_with(&request).forward.csci_id, csci(crate::domain::A));
}
