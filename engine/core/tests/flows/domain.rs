//! The domain of the end-to-end example: service S1 with instances A behind EF-1 and B behind EF-2.

use cats_engine_core::cps::{
    Cps, CpsConfig, Event, FlowState, ForwarderConfig, InstanceConfig, Output, PathMetric, Policy,
    Precedence, ServiceConfig, StaticMetric,
};
use cats_engine_types::{
    Binding, BindingEvent, BindingStatus, Capabilities, Constraints, Counters, CsId, CsciId, Delivery,
    DeliveryState, Encaps, Encapsulation, EncapsulationKind, Epoch, Family, FlowKey, ForwarderReport,
    Generation, Health, Locator, MetricRecord, Micros, NodeId, Path, PathReply, PathRequest, Protocol,
    RemovalReason, RequestFailure, Sample, Segments, ServiceMatch, ServiceRequest, TenantId, TransactionId,
    UnixMicros,
};
use std::time::{Duration, Instant, SystemTime};

pub(crate) fn node(text: &str) -> NodeId {
    text.parse().unwrap()
}

pub(crate) fn cs_id(number: u32) -> CsId {
    CsId::number(number).unwrap()
}

pub(crate) fn csci(number: u32) -> CsciId {
    CsciId::number(number).unwrap()
}

pub(crate) const A: u32 = 11;
pub(crate) const B: u32 = 21;

fn instance(number: u32, egress: &str, v4: &str, v6: &str) -> InstanceConfig {
    let locator = |text: &str| Some(Locator { address: text.parse().unwrap(), port: None });
    InstanceConfig {
        csci_id: csci(number),
        enabled: true,
        egress: node(egress),
        v4: locator(v4),
        v6: locator(v6),
    }
}

pub(crate) fn service(number: u32, address: &str) -> ServiceConfig {
    ServiceConfig {
        cs_id: cs_id(number),
        name: None,
        enabled: true,
        matches: vec![ServiceMatch {
            address: address.parse().unwrap(),
            protocol: Some(Protocol::TCP),
            port: Some(443),
        }],
        tenants: Vec::new(),
        precedence: Precedence::Reject,
        constraints: Constraints::default(),
        policy: Policy::default(),
        instances: vec![
            instance(A, "EF-1", "198.51.100.11", "2001:db8:11::1"),
            instance(B, "EF-2", "198.51.100.21", "2001:db8:21::1"),
        ],
    }
}

pub(crate) fn metric(service: u32, instance: u32, computing: u64) -> StaticMetric {
    let computing_time = Micros(computing);
    StaticMetric { computing_time, ..StaticMetric::new(cs_id(service), csci(instance)) }
}

/// B wins: 5 ms and 3 ms against 4 ms and 5 ms.
pub(crate) fn config() -> CpsConfig {
    let path = |egress: &str, delay| PathMetric {
        ingress: node("IF-1"),
        egress: node(egress),
        reachable: true,
        delay: Some(Micros(delay)),
        jitter: None,
        loss_ppm: None,
        bandwidth: None,
    };
    let forwarder = |name: &str| ForwarderConfig { node: node(name), tenants: Vec::new() };
    CpsConfig {
        services: [service(1, "192.0.2.100")].into_iter().collect(),
        metrics: vec![metric(1, A, 4_000), metric(1, B, 5_000)],
        paths: vec![path("EF-1", 5_000), path("EF-2", 3_000)],
        forwarders: ["IF-1", "IF-2", "EF-1", "EF-2"].map(forwarder).to_vec(),
        ..CpsConfig::default()
    }
}

/// What a metric agent says of an instance of service 1. B wins where both serve: 5 ms and 3 ms against 4 ms and 5 ms.
pub(crate) fn record(instance: u32, gas: u32, health: Health) -> MetricRecord {
    MetricRecord {
        cs_id: cs_id(1),
        csci_id: csci(instance),
        locator: None,
        sample: Sample {
            gas,
            computing_time: Micros(if instance == A { 4_000 } else { 5_000 }),
            computing_time_min: None,
            computing_time_max: None,
            health,
            price: None,
            reputation: None,
            security_level: None,
            instances: None,
        },
        taken: UnixMicros(0),
        valid_for: Duration::from_secs(60),
        flagged: false,
    }
}

pub(crate) fn ingress(name: &str, epoch: u64) -> ForwarderReport {
    ForwarderReport {
        node: node(name),
        epoch: Epoch(epoch),
        ingress: Some(Capabilities {
            encapsulations: vec![EncapsulationKind::None, EncapsulationKind::Srv6EncapsReduced],
            max_segments: 4,
            families: vec![Family::V4, Family::V6],
            max_bindings: 100_000,
        }),
        deliveries: Vec::new(),
        decapsulation: Vec::new(),
    }
}

pub(crate) fn egress(name: &str, instance: u32, state: DeliveryState) -> ForwarderReport {
    let (v4, v6) =
        if instance == A { ("198.51.100.11", "2001:db8:11::1") } else { ("198.51.100.21", "2001:db8:21::1") };
    let delivery = |text: &str| Delivery {
        csci_id: csci(instance),
        locator: Locator { address: text.parse().unwrap(), port: None },
        state: state.clone(),
    };
    ForwarderReport {
        node: node(name),
        epoch: Epoch(1),
        ingress: None,
        deliveries: vec![delivery(v4), delivery(v6)],
        decapsulation: vec![(Family::V4, sid(name, 4)), (Family::V6, sid(name, 6))],
    }
}

fn sid(name: &str, tail: u16) -> std::net::Ipv6Addr {
    let number: u16 = name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
    std::net::Ipv6Addr::new(0xfc00, number, 0, 0, 0, 0, 0, tail)
}

/// A path that answers the request.
pub(crate) fn path_for(request: &PathRequest, generation: u64) -> Path {
    let tail = if request.family == Family::V4 { 4 } else { 6 };
    let transit = "fc00:9::1".parse().unwrap();
    let segments = Segments::try_from(vec![transit, sid(request.endpoint.as_str(), tail)]).unwrap();
    Path {
        headend: request.headend.clone(),
        endpoint: request.endpoint.clone(),
        encapsulation: Encapsulation::Srv6 { mode: Encaps::Reduced, segments },
        delay: Micros(2_500),
        mtu: 1500,
        generation: Generation(generation),
    }
}

/// A C-PS in simulated time.
pub(crate) struct Domain {
    pub(crate) cps: Cps,
    pub(crate) now: Instant,
    pub(crate) wall: SystemTime,
    pub(crate) next: u64,
}

impl Domain {
    /// Configured, with all forwarders attached and both deliveries in place.
    pub(crate) fn new() -> Self {
        Self::with(config())
    }

    pub(crate) fn with(config: CpsConfig) -> Self {
        let mut domain = Self::bare(config, 100);
        domain.report(ingress("IF-1", 1));
        domain.report(egress("EF-1", A, DeliveryState::Ready));
        domain.report(egress("EF-2", B, DeliveryState::Ready));
        domain.outputs();
        domain
    }

    /// Configured, with nobody attached.
    pub(crate) fn bare(config: CpsConfig, epoch: u64) -> Self {
        let now = Instant::now();
        let mut cps = Cps::new(Epoch(epoch), now);
        cps.configure(config, now);
        Self { cps, now, wall: SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000), next: 0 }
    }

    pub(crate) fn report(&mut self, report: ForwarderReport) {
        self.cps.handle_forwarder(report, self.now).unwrap();
    }

    pub(crate) fn outputs(&mut self) -> Vec<Output> {
        std::iter::from_fn(|| self.cps.poll_output()).collect()
    }

    /// Lets time pass, handling each timeout when it is due.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some((at, _)) = self.cps.poll_timeout().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            self.cps.handle_timeout(self.now);
        }
        self.now = end;
    }

    /// Lets the C-PS do what it can do at once.
    pub(crate) fn settle(&mut self) {
        self.pass(Duration::ZERO);
    }

    /// A request of a client port, with the next transaction.
    pub(crate) fn request(&mut self, port: u16) -> ServiceRequest {
        self.next += 1;
        ServiceRequest {
            transaction: TransactionId { epoch: 1, sequence: self.next },
            ingress: node("IF-1"),
            key: key(port),
            cs_id: None,
            constraints: Constraints::default(),
            tenant: TenantId(0),
            generation: None,
        }
    }

    pub(crate) fn send(&mut self, request: &ServiceRequest) -> Vec<Output> {
        let peer = request.ingress.clone();
        self.cps.handle_request(&peer, request.clone(), self.now, self.wall);
        self.outputs()
    }

    pub(crate) fn reply(&mut self, reply: PathReply) -> Vec<Output> {
        self.cps.handle_path_reply(reply, self.now);
        self.outputs()
    }

    pub(crate) fn status(
        &mut self,
        peer: &str,
        transaction: TransactionId,
        key: FlowKey,
        event: BindingEvent,
    ) -> Vec<Output> {
        self.cps.handle_binding_status(&node(peer), BindingStatus { transaction, key, event }, self.now);
        self.outputs()
    }

    /// From the first packet to BINDING_READY.
    pub(crate) fn ready(&mut self, port: u16) -> Binding {
        let request = self.request(port);
        self.ready_with(&request)
    }

    pub(crate) fn ready_with(&mut self, request: &ServiceRequest) -> Binding {
        let asked = path_request(&self.send(request));
        let path = path_for(&asked, 1);
        let outputs = self.reply(PathReply { transaction: asked.transaction, outcome: Ok(path) });
        install(&outputs)
    }

    /// From the first packet to ACTIVE.
    pub(crate) fn active(&mut self, port: u16) -> Binding {
        let binding = self.ready(port);
        let outputs = self.status("IF-1", binding.transaction, binding.forward.key, BindingEvent::Installed);
        assert_eq!(outputs, []);
        assert_eq!(self.state(port), FlowState::Active);
        binding
    }

    pub(crate) fn removed(&mut self, binding: &Binding, reason: RemovalReason) -> Vec<Output> {
        let event = BindingEvent::Removed { reason, counters: Counters::default() };
        self.status("IF-1", binding.transaction, binding.forward.key, event)
    }

    pub(crate) fn state(&self, port: u16) -> FlowState {
        self.cps.flow(&node("IF-1"), &key(port)).map_or(FlowState::Absent, |flow| flow.state)
    }

    /// Slots that are held of an instance of service 1.
    pub(crate) fn held(&self, instance: u32) -> u32 {
        self.cps.cst().row(cs_id(1), csci(instance)).map_or(0, |row| row.reserved)
    }
}

pub(crate) fn key(port: u16) -> FlowKey {
    let client = format!("192.0.2.10:{port}").parse().unwrap();
    FlowKey::new(Protocol::TCP, client, "192.0.2.100:443".parse().unwrap()).unwrap()
}

pub(crate) fn path_request(outputs: &[Output]) -> PathRequest {
    let mut requests = outputs.iter().filter_map(|output| match output {
        Output::PathRequest(request) => Some(request.clone()),
        _ => None,
    });
    let first = requests.next().unwrap_or_else(|| panic!("a path request in {outputs:?}"));
    assert_eq!(requests.next(), None);
    first
}

pub(crate) fn install(outputs: &[Output]) -> Binding {
    let mut bindings = outputs.iter().filter_map(|output| match output {
        Output::Install { binding, .. } => Some(binding.as_ref().clone()),
        _ => None,
    });
    let first = bindings.next().unwrap_or_else(|| panic!("a binding in {outputs:?}"));
    assert_eq!(bindings.next(), None);
    first
}

/// The failure, where the request got no path request and no binding.
pub(crate) fn refusal(outputs: &[Output]) -> RequestFailure {
    for output in outputs {
        match output {
            Output::PathRequest(_) | Output::Install { .. } => panic!("a refusal in {outputs:?}"),
            Output::Refuse { failure, .. } => return failure.clone(),
            Output::Remove { .. } | Output::Instruct { .. } | Output::Decision(_) | Output::Event(_) => {}
        }
    }
    panic!("a refusal in {outputs:?}")
}

/// The transactions that are removed at an ingress.
pub(crate) fn removals(outputs: &[Output]) -> Vec<(TransactionId, RemovalReason)> {
    let removal = |output: &Output| match output {
        Output::Remove { transaction, reason, .. } => Some((*transaction, *reason)),
        _ => None,
    };
    outputs.iter().filter_map(removal).collect()
}

pub(crate) fn events(outputs: &[Output]) -> Vec<Event> {
    let event = |output: &Output| match output {
        Output::Event(event) => Some(event.clone()),
        _ => None,
    };
    outputs.iter().filter_map(event).collect()
}

/// The first service of a configuration.
pub(crate) fn first(config: &mut CpsConfig) -> &mut ServiceConfig {
    let cs_id = config.services.iter().next().unwrap().cs_id;
    config.services.get_mut(cs_id).unwrap()
}
