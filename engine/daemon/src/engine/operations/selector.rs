//! Operations of the path selector.

use super::{Job, Reply, answer, fault, path, without_role, written, wrong};
use crate::engine::state::{encapsulation, flow_key};
use crate::engine::{Engine, Now};
use crate::plane::Plane;
use cats_engine_core::config::{cs_id, csci_id, micros};
use cats_engine_core::cps::{Cps, FlowCursor, Which};
use cats_engine_transport::management::Fault;
use cats_engine_types::{
    Candidate, Constraints, Decision, FlowKey, Micros, NodeId, Path, Price, Protocol, RequestFailure, Score,
    ServiceRequest, TenantId, TransactionId, Verdict,
};
use cats_yang_model::List;
use cats_yang_model::generated::ietf_cats;
use cats_yang_model::operation::Operation;
use cats_yang_model::operations::cats_exec::{self as model, ClearBindings, SelectDryRun};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;

const ROLE: &str = "path selector";
const CONTAINER: &str = "path-selector";

impl<P: Plane> Engine<P> {
    pub(super) fn select_dry_run(
        &mut self,
        input: &model::SelectDryRunInput,
        now: Now,
    ) -> Result<model::SelectDryRunOutput, Vec<Fault>> {
        let Some(role) = &mut self.selector else { return Err(without_role(ROLE, CONTAINER)) };
        let request = request(&role.cps, input)?;
        let limit = usize::from(input.max_candidates());
        let run = match role.cps.dry_run(&request, limit, now.at, now.wall) {
            Ok(run) => run,
            Err(failure) => return Ok(refused(&failure)),
        };
        let mut output = described(&run.decision);
        let Some(asked) = run.path else { return Ok(with_failure(output, &RequestFailure::NoCandidate)) };
        let outcome = role.pce.handle_request(&asked).outcome.map_err(RequestFailure::NoPath);
        let suits = outcome.and_then(|path| role.cps.suits(&asked, &path).map(|()| path));
        match suits {
            Ok(path) => {
                output.path = Arc::new(path_of(&path));
                let ted = Some(path.generation.0);
                output.generations = Arc::new(model::Generations { ted, ..(*output.generations).clone() });
                Ok(output)
            }
            Err(failure) => Ok(with_failure(output, &failure)),
        }
    }
}

fn request(cps: &Cps, input: &model::SelectDryRunInput) -> Result<ServiceRequest, Vec<Fault>> {
    let ingress = match &input.ingress {
        Some(name) => node(name)?,
        None => cps.local_forwarder().cloned().ok_or_else(|| {
            let message = "name an ingress: the path selector's node is no forwarder itself";
            vec![fault(&path::<SelectDryRun>("ingress"), "missing-element", message)]
        })?,
    };
    let protocol = match input.protocol() {
        model::Protocol::Tcp => Protocol::TCP,
        model::Protocol::Udp => Protocol::UDP,
    };
    let client = SocketAddr::new(input.client, input.client_port);
    let service = SocketAddr::new(input.destination, input.port);
    let key =
        FlowKey::new(protocol, client, service).map_err(|error| wrong::<SelectDryRun>("client", &error))?;
    let cs_id = input.cs_id.map(cs_id).transpose();
    Ok(ServiceRequest {
        transaction: TransactionId { epoch: 0, sequence: 0 },
        ingress,
        key,
        cs_id: cs_id.map_err(|error| wrong::<SelectDryRun>("cs-id", &error))?,
        constraints: constraints(&input.constraints)?,
        tenant: TenantId(input.tenant()),
        generation: None,
    })
}

fn node(name: &str) -> Result<NodeId, Vec<Fault>> {
    name.parse().map_err(|error| wrong::<SelectDryRun>("ingress", &error))
}

fn constraints(from: &model::Constraints) -> Result<Constraints, Vec<Fault>> {
    let score = |value: Option<u8>| {
        value.map(Score::try_from).transpose().map_err(|error| wrong::<SelectDryRun>("constraints", &error))
    };
    Ok(Constraints {
        max_network_delay: from.max_network_delay.map(micros),
        max_total_delay: from.max_total_delay.map(micros),
        min_bandwidth: from.min_bandwidth,
        max_jitter: from.max_jitter.map(micros),
        max_loss_ppm: from.max_loss,
        min_gas: from.min_gas,
        max_computing_time: from.max_computing_time.map(micros),
        max_price: from.max_price.map(Price),
        min_reputation: score(from.min_reputation)?,
        min_security_level: score(from.min_security_level)?,
    })
}

fn refused(failure: &RequestFailure) -> model::SelectDryRunOutput {
    with_failure(model::SelectDryRunOutput::default(), failure)
}

fn with_failure(output: model::SelectDryRunOutput, failure: &RequestFailure) -> model::SelectDryRunOutput {
    model::SelectDryRunOutput { failure: Some(failure.to_string()), ..output }
}

fn described(decision: &Decision) -> model::SelectDryRunOutput {
    let selected = decision.selected.as_ref().map(|selected| model::Selected {
        csci_id: Some(csci_of(&selected.csci_id)),
        locator: Some(selected.locator.to_string()),
        egress: Some(selected.egress.to_string()),
    });
    let of = &decision.generations;
    model::SelectDryRunOutput {
        failure: None,
        service: Some(cs_of(&decision.service)),
        selected: Arc::new(selected.unwrap_or_default()),
        path: Arc::default(),
        candidate: List::of(decision.candidates.iter().map(candidate)),
        omitted: Some(decision.omitted),
        generations: Arc::new(model::Generations {
            policy: Some(of.policy.0),
            cst: Some(of.cst.0),
            nst: Some(of.nst.0),
            ted: of.ted.map(|ted| ted.0),
        }),
    }
}

fn candidate(candidate: &Candidate) -> model::Candidate {
    let micros = |value: Option<Micros>| value.map(|value| value.0);
    model::Candidate {
        csci_id: csci_of(&candidate.csci_id),
        verdict: Some(match candidate.verdict {
            Verdict::Selected { .. } => model::Verdict::Selected,
            Verdict::RankedLower { .. } => model::Verdict::RankedLower,
            Verdict::Dropped { .. } => model::Verdict::Dropped,
        }),
        egress: Some(candidate.egress.to_string()),
        computing_us: Some(candidate.computing.0),
        network_us: micros(candidate.network),
        total_us: micros(candidate.total),
        reason: Some(candidate.verdict.to_string()),
    }
}

fn path_of(path: &Path) -> model::Path {
    let (kind, segments) = encapsulation(path);
    model::Path {
        encapsulation: Some(kind.to_owned()),
        segment: segments.into_iter().collect(),
        delay_us: Some(path.delay.0),
    }
}

/// Bindings that are being looked through.
#[derive(Debug)]
pub(super) struct Clearing {
    which: Which,
    ingress: Option<NodeId>,
    after: Option<FlowCursor>,
    count: u32,
    pub(super) reply: Reply,
}

impl<P: Plane> Engine<P> {
    /// One flow is looked up at once; others take their time.
    pub(super) fn begin_clearing(&mut self, input: &Value, reply: Reply, now: Now) {
        match self.clearing(input, now) {
            Ok(Clear::Done(count)) => answer(reply, cleared(count)),
            Ok(Clear::Look { which, ingress }) => {
                let clearing = Clearing { which, ingress, after: None, count: 0, reply };
                self.queue(Job::Clearing(Box::new(clearing)));
            }
            Err(faults) => answer(reply, Err(faults)),
        }
    }

    fn clearing(&mut self, input: &Value, now: Now) -> Result<Clear, Vec<Fault>> {
        type Of = ClearBindings;
        let input = Of::read(input).map_err(|error| vec![crate::change::fault_of(&error)])?;
        let Some(role) = &mut self.selector else { return Err(without_role(ROLE, CONTAINER)) };
        let ingress = input.ingress.as_deref().map(str::parse::<NodeId>).transpose();
        let ingress = ingress.map_err(|error| wrong::<Of>("ingress", &error))?;
        if let Some(flow) = &input.flow {
            let key = flow_key(flow).map_err(|reason| wrong::<Of>("flow", &reason))?;
            let nodes: Vec<NodeId> = match ingress {
                Some(node) => vec![node],
                None => role.cps.nodes().map(|node| node.node).collect(),
            };
            let cleared = nodes.iter().filter(|node| role.cps.clear_flow(node, &key, now.at)).count();
            return Ok(Clear::Done(u32::try_from(cleared).unwrap_or(u32::MAX)));
        }
        let service = input.cs_id.map(cs_id).transpose().map_err(|error| wrong::<Of>("cs-id", &error))?;
        let instance =
            input.csci_id.map(csci_id).transpose().map_err(|error| wrong::<Of>("csci-id", &error))?;
        Ok(Clear::Look { which: Which { service, instance }, ingress })
    }

    /// Looks at some flows; none when it is done.
    pub(super) fn clear_some(&mut self, mut clearing: Box<Clearing>, now: Now) -> Option<Box<Clearing>> {
        if clearing.reply.is_closed() {
            return None;
        }
        let Some(role) = &mut self.selector else {
            answer(clearing.reply, Err(without_role(ROLE, CONTAINER)));
            return None;
        };
        let (ingress, after) = (clearing.ingress.as_ref(), clearing.after.as_ref());
        let found = role.cps.clear_some(clearing.which, ingress, after, now.at);
        clearing.count = clearing.count.saturating_add(found.count);
        if found.next.is_some() {
            clearing.after = found.next;
            return Some(clearing);
        }
        answer(clearing.reply, cleared(clearing.count));
        None
    }
}

/// What is to be done for it.
enum Clear {
    Done(u32),
    Look { which: Which, ingress: Option<NodeId> },
}

fn cleared(cleared: u32) -> Result<Vec<u8>, Vec<Fault>> {
    written::<ClearBindings>(&model::ClearBindingsOutput { cleared })
}

fn cs_of(id: &cats_engine_types::CsId) -> ietf_cats::CsId {
    match (id.as_number(), id.as_address()) {
        (_, Some(std::net::IpAddr::V4(address))) => ietf_cats::CsId::V4(address),
        (_, Some(std::net::IpAddr::V6(address))) => ietf_cats::CsId::V6(address),
        (number, None) => ietf_cats::CsId::Number(number.unwrap_or_default()),
    }
}

fn csci_of(id: &cats_engine_types::CsciId) -> ietf_cats::CsciId {
    match (id.as_number(), id.as_address()) {
        (_, Some(std::net::IpAddr::V4(address))) => ietf_cats::CsciId::V4(address),
        (_, Some(std::net::IpAddr::V6(address))) => ietf_cats::CsciId::V6(address),
        (number, None) => ietf_cats::CsciId::Number(number.unwrap_or_default()),
    }
}
