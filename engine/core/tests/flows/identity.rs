//! Which service a request means, and who may ask.

use crate::domain::{
    B, Domain, config, cs_id, csci, first, ingress, key, metric, node, path_request, refusal, service,
};
use cats_engine_core::cps::{FlowState, Precedence};
use cats_engine_types::{
    Family, FlowKey, NodeId, NotReady, Protocol, RequestFailure, ServiceMatch, TenantId, TransactionId,
};

fn two_services(precedence: Precedence) -> Domain {
    let mut config = config();
    first(&mut config).precedence = precedence;
    config.services.insert(service(2, "192.0.2.200"));
    config.metrics.push(metric(2, B, 1_000));
    Domain::with(config)
}

/// What the flow of a request is steered to, or why not.
fn outcome(domain: &mut Domain, destination: &str, explicit: Option<u32>) -> Result<u32, RequestFailure> {
    let mut request = domain.request(1);
    request.key = FlowKey::new(Protocol::TCP, key(1).client(), destination.parse().unwrap()).unwrap();
    request.cs_id = explicit.map(cs_id);
    let outputs = domain.send(&request);
    match domain.cps.flow(&node("IF-1"), &request.key) {
        Some(flow) => Ok(flow.service.unwrap().as_number().unwrap()),
        None => Err(refusal(&outputs)),
    }
}

/// Proves CP-4.
#[test]
fn destination_and_cs_id_are_never_combined_in_silence() {
    let conflict = RequestFailure::IdentityConflict { destination: cs_id(1), explicit: cs_id(2) };
    let cases =
        [(Precedence::Reject, Err(conflict)), (Precedence::CsId, Ok(2)), (Precedence::Destination, Ok(1))];
    for (precedence, expected) in cases {
        let mut domain = two_services(precedence);
        assert_eq!(outcome(&mut domain, "192.0.2.100:443", Some(2)), expected);
        let mut domain = two_services(precedence);
        assert_eq!(outcome(&mut domain, "192.0.2.100:443", None), Ok(1), "by destination");
        assert_eq!(outcome(&mut domain, "192.0.2.201:443", Some(2)), Ok(2), "by CS-ID");
        assert_eq!(outcome(&mut domain, "192.0.2.200:443", Some(2)), Ok(2), "by both");
        let unknown = Err(RequestFailure::UnknownService);
        assert_eq!(outcome(&mut domain, "192.0.2.201:443", None), unknown);
        assert_eq!(outcome(&mut domain, "192.0.2.100:444", None), unknown, "the port counts");
        assert_eq!(outcome(&mut domain, "192.0.2.201:443", Some(3)), unknown);
    }
}

#[test]
fn a_match_without_protocol_and_port_takes_all_of_the_address() {
    let mut config = config();
    let address = "192.0.2.100".parse().unwrap();
    first(&mut config).matches = vec![ServiceMatch { address, protocol: None, port: None }];
    let mut domain = Domain::with(config);
    for protocol in [Protocol::TCP, Protocol::UDP] {
        let mut request = domain.request(1);
        request.key = FlowKey::new(protocol, key(1).client(), "192.0.2.100:9".parse().unwrap()).unwrap();
        path_request(&domain.send(&request));
    }
}

#[test]
fn a_service_that_is_not_enabled_takes_no_new_flow_and_keeps_its_old_ones() {
    let mut domain = Domain::new();
    domain.active(1);
    let mut off = config();
    first(&mut off).enabled = false;
    domain.cps.configure(off, domain.now);
    domain.settle();
    assert_eq!(domain.outputs(), []);
    assert_eq!(domain.state(1), FlowState::Active);
    let request = domain.request(2);
    assert_eq!(refusal(&domain.send(&request)), RequestFailure::UnknownService);
    let mut request = domain.request(3);
    request.cs_id = Some(cs_id(1));
    assert_eq!(refusal(&domain.send(&request)), RequestFailure::UnknownService);
}

/// Proves CP-12.
#[test]
fn only_an_attached_ingress_asks_and_only_in_its_own_name() {
    let mut domain = Domain::new();
    let ask = |domain: &mut Domain, peer: &str, named: &str| {
        let mut request = domain.request(1);
        request.ingress = node(named);
        domain.cps.handle_request(&node(peer), request, domain.now, domain.wall);
        let outputs = domain.outputs();
        refusal(&outputs).to_string()
    };
    let start = "the request is not authorised: ";
    assert_eq!(ask(&mut domain, "IF-2", "IF-1"), format!("{start}IF-2 asks in the name of IF-1"));
    assert_eq!(ask(&mut domain, "IF-2", "IF-2"), format!("{start}IF-2 is not attached"));
    assert_eq!(ask(&mut domain, "EF-1", "EF-1"), format!("{start}EF-1 is no ingress"));
    domain.cps.handle_detached(&node("IF-1"), domain.now);
    assert_eq!(ask(&mut domain, "IF-1", "IF-1"), format!("{start}IF-1 is not attached"));
    assert_eq!(domain.cps.flow_count(), 0);
}

/// Proves CP-12.
#[test]
fn the_tenant_must_be_one_of_the_ingress_and_of_the_service() {
    let mut config = config();
    config.forwarders[0].tenants = vec![TenantId(1), TenantId(2)];
    first(&mut config).tenants = vec![TenantId(2), TenantId(3)];
    let mut domain = Domain::with(config);
    let mut ask = |tenant| {
        let mut request = domain.request(1);
        request.tenant = TenantId(tenant);
        domain.send(&request)
    };
    let refused = |words: &str| RequestFailure::Unauthorised(words.to_owned());
    assert_eq!(refusal(&ask(3)), refused("IF-1 may not ask for tenant 3"));
    assert_eq!(refusal(&ask(1)), refused("tenant 1 may not use service 1"));
    path_request(&ask(2));
}

/// Proves CP-12.
#[test]
fn a_request_generation_lower_than_the_last_one_is_refused() {
    let mut domain = Domain::new();
    let mut ask = |port, generation| {
        let mut request = domain.request(port);
        request.generation = Some(generation);
        domain.send(&request)
    };
    path_request(&ask(1, 7));
    path_request(&ask(1, 7));
    path_request(&ask(2, 3));
    let words = "request generation 6 is lower than 7".to_owned();
    assert_eq!(refusal(&ask(1, 6)), RequestFailure::Malformed(words));
    path_request(&ask(1, 8));
}

/// Proves CP-6.
#[test]
fn metadata_selects_among_the_instances_of_the_catalogue_only() {
    // What a request carries beyond its CS-ID are constraints: they narrow the choice and never name an endpoint.
    let mut domain = Domain::new();
    let mut request = domain.request(1);
    request.cs_id = Some(cs_id(1));
    request.tenant = TenantId(4);
    request.generation = Some(1);
    request.constraints.max_computing_time = Some(cats_engine_types::Micros(4_000));
    let asked = path_request(&domain.send(&request));
    assert_eq!(asked.endpoint, node("EF-1"), "the constraint leaves A");
    let flow = domain.cps.flow(&node("IF-1"), &key(1)).unwrap();
    assert_eq!((flow.ingress, flow.tenant), (node("IF-1"), TenantId(4)));
    let catalogue = domain.cps.catalogue().service(cs_id(1)).unwrap();
    let instance = catalogue.instance(flow.csci_id.unwrap()).unwrap();
    assert_eq!(flow.locator, instance.locator(Family::V4).map(|(locator, _)| locator));
}

#[test]
fn a_transaction_belongs_to_one_flow() {
    let mut domain = Domain::new();
    domain.report(ingress("IF-2", 1));
    domain.outputs();
    let request = domain.request(1);
    domain.send(&request);
    let mut other = domain.request(2);
    other.transaction = request.transaction;
    let words = format!("transaction {} is in use", request.transaction);
    assert_eq!(refusal(&domain.send(&other)), RequestFailure::Malformed(words.clone()));
    other.ingress = node("IF-2");
    assert_eq!(refusal(&domain.send(&other)), RequestFailure::Malformed(words));
}

#[test]
fn an_ipv6_flow_gets_the_ipv6_locator_of_the_instance() {
    let mut config = config();
    let address = "2001:db8::100".parse().unwrap();
    let port = Some(443);
    first(&mut config).matches.push(ServiceMatch { address, protocol: Some(Protocol::TCP), port });
    first(&mut config).instances[1].v6 = None;
    let mut domain = Domain::with(config);
    let mut request = domain.request(1);
    let client = "[2001:db8::10]:51000".parse().unwrap();
    request.key = FlowKey::new(Protocol::TCP, client, "[2001:db8::100]:443".parse().unwrap()).unwrap();
    let binding = domain.ready_with(&request);
    assert_eq!(binding.forward.locator.to_string(), "2001:db8:11::1", "B has no IPv6 locator");
    assert_eq!(binding.reverse.restore, request.key.service());
}

#[test]
fn who_is_not_configured_may_not_attach() {
    let mut domain = Domain::new();
    let refused = domain.cps.handle_forwarder(ingress("IF-9", 1), domain.now).unwrap_err();
    let words =
        "IF-9 is no forwarder of this path selector; configure path-selector/forwarder[node-id='IF-9']";
    assert_eq!(refused.to_string(), words);
    domain.report(ingress("IF-1", 5));
    let refused = domain.cps.handle_forwarder(ingress("IF-1", 4), domain.now).unwrap_err();
    assert_eq!(refused.to_string(), "IF-1 reports epoch 4 after epoch 5");
    let mut local = config();
    local.local_forwarder = Some("IF-9".parse::<NodeId>().unwrap());
    domain.cps.configure(local, domain.now);
    domain.report(ingress("IF-9", 1));
}

#[test]
fn a_c_ps_without_configuration_refuses_all() {
    let mut domain = Domain::new();
    let mut cps = cats_engine_core::cps::Cps::new(cats_engine_types::Epoch(1), domain.now);
    assert!(cps.handle_forwarder(ingress("IF-1", 1), domain.now).is_err());
    let request = domain.request(1);
    cps.handle_request(&node("IF-1"), request, domain.now, domain.wall);
    let outputs: Vec<_> = std::iter::from_fn(|| cps.poll_output()).collect();
    assert_eq!(refusal(&outputs), RequestFailure::NotReady(NotReady::Configuration));
}

#[test]
fn an_older_transaction_does_not_disturb_the_flow() {
    let mut domain = Domain::new();
    let binding = domain.active(1);
    let mut old = domain.request(1);
    old.transaction = TransactionId { epoch: 0, sequence: 99 };
    assert!(matches!(refusal(&domain.send(&old)), RequestFailure::Malformed(_)));
    assert_eq!(domain.state(1), FlowState::Active);
    assert_eq!(binding.forward.csci_id, csci(B));
}
