//! What a decision costs in process: a request is handled to its path request.

use crate::Settings;
use crate::figure::{Better, Figure};
use cats_engine_core::cps::{
    Admission, Cps, CpsConfig, ForwarderConfig, InstanceConfig, Output, PathMetric, Policy, Precedence,
    ServiceConfig, StaticMetric,
};
use cats_engine_types::{
    Capabilities, Constraints, CsId, CsciId, Delivery, DeliveryState, EncapsulationKind, Epoch, Family,
    FlowKey, ForwarderReport, Locator, Micros, NoPath, NodeId, PathReply, PathRequest, Protocol,
    ServiceMatch, ServiceRequest, TenantId, TransactionId,
};
use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant, SystemTime};

const FEW: u32 = 16;
const MANY: u32 = 10_000;
/// Egresses that the instances are spread over.
const EGRESSES: u32 = 100;
const SERVICE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 100)), 443);

pub(super) fn measure(settings: &Settings) -> Result<Vec<Figure>, String> {
    let mut few = Selector::with(FEW)?;
    let mut many = Selector::with(MANY)?;
    let rows: Vec<Row> = (0..MANY).map(|at| Row { computing: computing(at), egress: egress(at) }).collect();
    let delays: Vec<u64> = (0..EGRESSES).map(delay).collect();
    let (mut micros, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..settings.rounds {
        micros.push(few.decide(2000)? * 1e6);
        ratios.push(many.decide(200)? / scan(&rows, &delays, 200));
    }
    let what = "the whole of a request, from admission over the selection and its record (64 candidates at most) to \
                the path request";
    let few = Figure::of("cps/select-16-us", "us", Better::Lower, micros)
        .map(|figure| figure.note(format!("{what}; 16 candidates, total delay")));
    let many = Figure::of("cps/select-10k-ratio-scan", "ratio", Better::Lower, ratios).map(|figure| {
        figure
            .against("a linear scan of an array for the least total delay, in this program")
            .note(format!("{what}; 10,000 candidates behind {EGRESSES} egresses"))
    });
    Ok(few.into_iter().chain(many).collect())
}

/// What the scan needs of a candidate.
struct Row {
    computing: u64,
    egress: u32,
}

/// Seconds a scan.
fn scan(rows: &[Row], delays: &[u64], times: u32) -> f64 {
    let begin = Instant::now();
    for _ in 0..times {
        let total =
            |row: &Row| row.computing + delays.get(row.egress as usize).copied().unwrap_or(u64::MAX / 2);
        black_box(black_box(rows).iter().enumerate().min_by_key(|(_, row)| total(row)));
    }
    begin.elapsed().as_secs_f64() / f64::from(times)
}

/// A C-PS with one service.
struct Selector {
    cps: Cps,
    ingress: NodeId,
    now: Instant,
    sequence: u64,
}

impl Selector {
    fn with(instances: u32) -> Result<Self, String> {
        let now = Instant::now();
        let mut cps = Cps::new(Epoch(1), now);
        cps.configure(config(instances)?, now);
        let ingress = node("IF-1")?;
        let able = Capabilities {
            encapsulations: vec![EncapsulationKind::Srv6EncapsReduced],
            max_segments: 4,
            families: vec![Family::V4],
            max_bindings: 1 << 20,
        };
        let report = |node: NodeId, ingress, deliveries| ForwarderReport {
            node,
            epoch: Epoch(1),
            ingress,
            deliveries,
            decapsulation: Vec::new(),
        };
        let told = |error: cats_engine_core::cps::AttachError| error.to_string();
        cps.handle_forwarder(report(ingress.clone(), Some(able), Vec::new()), now).map_err(told)?;
        for number in 0..EGRESSES {
            let own = (0..instances).filter(|at| egress(*at) == number);
            let deliveries = own.map(|at| {
                Ok(Delivery { csci_id: instance(at)?, locator: locator(at), state: DeliveryState::Ready })
            });
            let deliveries = deliveries.collect::<Result<Vec<_>, String>>()?;
            cps.handle_forwarder(report(egress_node(number)?, None, deliveries), now).map_err(told)?;
        }
        while cps.poll_output().is_some() {}
        Ok(Self { cps, ingress, now, sequence: 0 })
    }

    /// Seconds a request. Afterwards each is told that there is no path, so that nothing is left of it.
    fn decide(&mut self, times: u32) -> Result<f64, String> {
        let mut spent = Duration::ZERO;
        for _ in 0..times {
            let request = self.request()?;
            let begin = Instant::now();
            self.cps.handle_request(&self.ingress, request, self.now, SystemTime::UNIX_EPOCH);
            spent += begin.elapsed();
            let asked = self.path_request()?;
            let outcome = Err(NoPath::Unreachable { headend: asked.headend, endpoint: asked.endpoint });
            self.cps.handle_path_reply(PathReply { transaction: asked.transaction, outcome }, self.now);
            while self.cps.poll_output().is_some() {}
        }
        Ok(spent.as_secs_f64() / f64::from(times))
    }

    fn request(&mut self) -> Result<ServiceRequest, String> {
        self.sequence += 1;
        let [.., high, low] = self.sequence.to_be_bytes();
        let client = SocketAddr::from(([198, 18, 0, 1], u16::from_be_bytes([high, low]).max(1)));
        let key = FlowKey::new(Protocol::UDP, client, SERVICE).map_err(|error| error.to_string())?;
        let transaction = TransactionId { epoch: 1, sequence: self.sequence };
        Ok(request(transaction, self.ingress.clone(), key))
    }

    fn path_request(&mut self) -> Result<PathRequest, String> {
        while let Some(output) = self.cps.poll_output() {
            match output {
                Output::PathRequest(request) => return Ok(request),
                Output::Refuse { failure, .. } => return Err(format!("a request was refused: {failure}")),
                _ => {}
            }
        }
        Err("a request led to nothing".to_owned())
    }
}

fn config(instances: u32) -> Result<CpsConfig, String> {
    let cs_id = CsId::number(1).map_err(|error| error.to_string())?;
    let mut list = Vec::new();
    let mut metrics = Vec::new();
    for at in 0..instances {
        let csci_id = instance(at)?;
        let egress = egress_node(egress(at))?;
        list.push(InstanceConfig { csci_id, enabled: true, egress, v4: Some(locator(at)), v6: None });
        metrics.push(StaticMetric {
            computing_time: Micros(computing(at)),
            ..StaticMetric::new(cs_id, csci_id)
        });
    }
    let mut paths = Vec::new();
    let mut forwarders = vec![ForwarderConfig { node: node("IF-1")?, tenants: Vec::new() }];
    for number in 0..EGRESSES {
        let egress = egress_node(number)?;
        forwarders.push(ForwarderConfig { node: egress.clone(), tenants: Vec::new() });
        paths.push(PathMetric {
            ingress: node("IF-1")?,
            egress,
            reachable: true,
            delay: Some(Micros(delay(number))),
            jitter: None,
            loss_ppm: None,
            bandwidth: None,
        });
    }
    let no_limit =
        Admission { client_rate: 1_000_000_000, tenant_rate: 1_000_000_000, ..Admission::default() };
    Ok(CpsConfig {
        services: [service(cs_id, list)].into_iter().collect(),
        metrics,
        paths,
        forwarders,
        admission: no_limit,
        ..CpsConfig::default()
    })
}

fn service(cs_id: CsId, instances: Vec<InstanceConfig>) -> ServiceConfig {
    let matches =
        ServiceMatch { address: SERVICE.ip(), protocol: Some(Protocol::UDP), port: Some(SERVICE.port()) };
    ServiceConfig {
        cs_id,
        name: None,
        enabled: true,
        matches: vec![matches],
        tenants: Vec::new(),
        precedence: Precedence::Reject,
        constraints: Constraints::default(),
        policy: Policy::default(),
        instances,
    }
}

fn request(transaction: TransactionId, ingress: NodeId, key: FlowKey) -> ServiceRequest {
    ServiceRequest {
        transaction,
        ingress,
        key,
        cs_id: None,
        tenant: TenantId(0),
        constraints: Constraints::default(),
        generation: None,
    }
}

/// Computing times differ without an order that a branch could be predicted by.
fn computing(at: u32) -> u64 {
    1_000 + u64::from(at.wrapping_mul(2_654_435_761) >> 18)
}

fn delay(egress: u32) -> u64 {
    1_000 + u64::from(egress.wrapping_mul(2_654_435_761) >> 20)
}

fn egress(at: u32) -> u32 {
    at % EGRESSES
}

fn egress_node(number: u32) -> Result<NodeId, String> {
    node(&format!("EF-{number}"))
}

fn node(name: &str) -> Result<NodeId, String> {
    name.parse().map_err(|error| format!("{name}: {error:?}"))
}

fn instance(at: u32) -> Result<CsciId, String> {
    CsciId::number(at + 1).map_err(|error| error.to_string())
}

fn locator(at: u32) -> Locator {
    Locator { address: Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 1).to_bits() + at).into(), port: None }
}
