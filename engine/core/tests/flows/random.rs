//! Random inputs in random order: what must hold after each of them.

use crate::domain::{A, B, Domain, config, cs_id, csci, egress, first, ingress, key, node, path_for, record};
use cats_engine_core::cps::{AgentConfig, CpsConfig, FlowState, FlowView, Output};
use cats_engine_core::scope::Scope;
use cats_engine_types::{
    Advertisement, AdvertisementContent, Binding, BindingEvent, BindingStatus, Counters, DeliveryState,
    Freshness, Gas, Generation, Health, InstallFailure, MetricRecord, NoPath, PathReply, PathRequest,
    RemovalReason, UnixMicros,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

#[derive(Debug, Clone)]
enum Step {
    Ask(u16),
    AskAgain,
    Reply {
        which: usize,
        found: bool,
    },
    Installed(usize),
    InstallFailed(usize),
    Removed(usize),
    Restored(usize),
    Clear(u16),
    Configure {
        health: bool,
        slots: Option<u32>,
        instances: bool,
    },
    Detach(bool),
    Attach {
        ingress: bool,
        epoch: u64,
        ready: bool,
    },
    Topology(bool),
    /// A metric agent tells of B, by a report of that age in milliseconds.
    Advertise {
        slots: u32,
        age: u64,
    },
    Withdraw,
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let which = 0usize..6;
    let port = 1u16..7;
    // The usual course, so that what disturbs it finds flows in all states.
    let course = |port| vec![Step::Ask(port), Step::Reply { which: 0, found: true }, Step::Installed(0)];
    let one = prop_oneof![
        4 => port.clone().prop_map(Step::Ask),
        1 => Just(Step::AskAgain),
        4 => (which.clone(), prop::bool::weighted(0.8)).prop_map(|(which, found)| Step::Reply { which, found }),
        4 => which.clone().prop_map(Step::Installed),
        1 => which.clone().prop_map(Step::InstallFailed),
        2 => which.clone().prop_map(Step::Removed),
        2 => which.prop_map(Step::Restored),
        1 => port.clone().prop_map(Step::Clear),
        2 => (prop::bool::weighted(0.7), prop::option::weighted(0.3, 0u32..3), prop::bool::weighted(0.8))
            .prop_map(|(health, slots, instances)| Step::Configure { health, slots, instances }),
        1 => any::<bool>().prop_map(Step::Detach),
        3 => (any::<bool>(), 1u64..3, prop::bool::weighted(0.8))
            .prop_map(|(ingress, epoch, ready)| Step::Attach { ingress, epoch, ready }),
        2 => prop::bool::weighted(0.6).prop_map(Step::Topology),
        3 => (0u32..5, prop::sample::select(vec![0u64, 1, 100, 700]))
            .prop_map(|(slots, age)| Step::Advertise { slots, age }),
        1 => Just(Step::Withdraw),
        3 => prop::sample::select(vec![0u64, 1, 1, 150, 250, 600, 11_000, 31_000]).prop_map(Step::Pass),
    ];
    let repair =
        vec![Step::Topology(false), Step::Pass(0), Step::Reply { which: 0, found: true }, Step::Installed(0)];
    let steps = prop_oneof![
        6 => one.prop_map(|step| vec![step]),
        4 => port.prop_map(course),
        1 => Just(repair),
    ];
    prop::collection::vec(steps, 0..50).prop_map(|steps| steps.concat())
}

/// What went out so far.
#[derive(Default)]
struct Seen {
    asked: Vec<PathRequest>,
    bindings: Vec<Binding>,
    decided: BTreeSet<cats_engine_types::TransactionId>,
    topology: u64,
    /// Messages of the metric agent.
    messages: u64,
}

/// The domain, with a metric agent.
fn with_agent() -> CpsConfig {
    let agent =
        AgentConfig { node: node("SMA-1"), scope: Scope::All, egresses: Vec::new(), min_interval: None };
    CpsConfig { agents: vec![agent], ..config() }
}

/// The metric agent's whole view: B, by a report of that age, or nothing.
fn advertise(domain: &mut Domain, seen: &mut Seen, report: Option<(u32, u64)>) {
    seen.messages += 1;
    let wall = UnixMicros(1_800_000_000_000_000);
    let record = |(slots, age): (u32, u64)| MetricRecord {
        taken: UnixMicros(wall.0 - age * 1000),
        valid_for: Duration::from_secs(10),
        ..record(B, slots, Health::Healthy)
    };
    let records = report.map(record).into_iter().collect();
    let advertisement = Advertisement {
        agent: node("SMA-1"),
        freshness: Freshness { epoch: 1, sequence: seen.messages },
        since: 0,
        timestamp: wall,
        content: AdvertisementContent::Snapshot { part: 0, last: true, records },
    };
    domain.cps.handle_advertisement(&node("SMA-1"), advertisement, domain.now, wall).unwrap();
}

fn run(domain: &mut Domain, seen: &mut Seen, step: &Step) {
    match step {
        Step::Ask(port) => ask(domain, *port),
        Step::AskAgain => {
            domain.next = domain.next.saturating_sub(1);
            ask(domain, 1);
        }
        Step::Reply { which, found } => {
            let Some(asked) = seen.asked.iter().rev().nth(*which).cloned() else { return };
            let path = path_for(&asked, seen.topology);
            let no_path = NoPath::Unreachable { headend: asked.headend, endpoint: asked.endpoint };
            let outcome = if *found { Ok(path) } else { Err(no_path) };
            domain.cps.handle_path_reply(PathReply { transaction: asked.transaction, outcome }, domain.now);
        }
        Step::Installed(which) => status(domain, seen, *which, |_| BindingEvent::Installed),
        Step::InstallFailed(which) => {
            status(domain, seen, *which, |_| BindingEvent::InstallFailed(InstallFailure::Full));
        }
        Step::Removed(which) => status(domain, seen, *which, |_| removed()),
        Step::Restored(which) => {
            status(domain, seen, *which, |binding| BindingEvent::Restored(Box::new(binding.clone())));
        }
        Step::Clear(port) => {
            domain.cps.clear_flow(&node("IF-1"), &key(*port), domain.now);
        }
        Step::Topology(holds) => {
            seen.topology += 1;
            domain.cps.handle_topology(Generation(seen.topology), |_| *holds, domain.now);
        }
        Step::Advertise { slots, age } => advertise(domain, seen, Some((*slots, *age))),
        Step::Withdraw => advertise(domain, seen, None),
        Step::Pass(millis) => domain.pass(Duration::from_millis(*millis)),
        Step::Configure { .. } | Step::Detach(_) | Step::Attach { .. } => change(domain, step),
    }
}

/// What changes around the flows.
fn change(domain: &mut Domain, step: &Step) {
    match step {
        Step::Configure { health, slots, instances } => {
            let mut config = with_agent();
            config.metrics[1].health = if *health { Health::Healthy } else { Health::Unhealthy };
            config.metrics[1].gas = slots.map_or(Gas::Unlimited, Gas::Slots);
            if !instances {
                first(&mut config).instances.remove(0);
            }
            domain.cps.configure(config, domain.now);
        }
        Step::Detach(is_ingress) => {
            domain.cps.handle_detached(&node(if *is_ingress { "IF-1" } else { "EF-2" }), domain.now);
        }
        Step::Attach { ingress: true, epoch, .. } => {
            // An older incarnation is refused, which changes nothing.
            let _ = domain.cps.handle_forwarder(ingress("IF-1", *epoch), domain.now);
        }
        Step::Attach { ready, .. } => {
            let failed = DeliveryState::Failed("refused".into());
            let state = if *ready { DeliveryState::Ready } else { failed };
            domain.report(egress("EF-2", B, state));
        }
        _ => {}
    }
}

fn ask(domain: &mut Domain, port: u16) {
    let request = domain.request(port);
    domain.cps.handle_request(&node("IF-1"), request, domain.now, domain.wall);
}

fn removed() -> BindingEvent {
    BindingEvent::Removed { reason: RemovalReason::Idle, counters: Counters::default() }
}

/// A status of one of the latest bindings.
fn status(domain: &mut Domain, seen: &Seen, which: usize, event: impl Fn(&Binding) -> BindingEvent) {
    let Some(binding) = seen.bindings.iter().rev().nth(which) else { return };
    let (transaction, key) = (binding.transaction, binding.forward.key);
    let status = BindingStatus { transaction, key, event: event(binding) };
    domain.cps.handle_binding_status(&node("IF-1"), status, domain.now);
}

fn check(domain: &mut Domain, seen: &mut Seen) {
    for output in domain.outputs() {
        match output {
            Output::PathRequest(request) => {
                let flow =
                    domain.cps.flows(None, 10).into_iter().find(|f| f.transaction == request.transaction);
                if let Some(flow) = flow {
                    assert_eq!(flow.egress, Some(request.endpoint.clone()), "asked for what was selected");
                    seen.decided.insert(request.transaction);
                }
                seen.asked.push(request);
            }
            Output::Install { ingress, binding } => {
                assert_eq!(ingress, binding.forward.path.headend);
                assert_eq!(binding.reverse, Binding::reverse_of(&binding.forward));
                seen.bindings.push(*binding);
            }
            Output::Refuse { .. }
            | Output::Remove { .. }
            | Output::Instruct { .. }
            | Output::Decision(_)
            | Output::Event(_) => {}
        }
    }
    assert_eq!(domain.cps.illegal_transitions(), 0);
    let flows = domain.cps.flows(None, 100);
    assert_eq!(flows.len(), domain.cps.flow_count());
    check_slots(domain, &flows);
    // Paths are held by flows alone.
    let on_paths = flows.iter().filter(|flow| flow.path.is_some()).count();
    let references: u32 = domain.cps.paths().map(|(_, flows)| flows).sum();
    assert!(
        references as usize >= on_paths && references as usize <= 2 * on_paths,
        "{references} of {on_paths}"
    );
    // No state but ACTIVE lasts without a deadline.
    for flow in &flows {
        assert!(flow.deadline.is_some() || flow.state == FlowState::Active, "{flow:?}");
        assert!(
            flow.deadline.is_none_or(|deadline| deadline > domain.now) || domain.cps.poll_timeout().is_some()
        );
    }
}

/// Slots are held by flows alone, each by its own transaction, and count where the table says so.
fn check_slots(domain: &Domain, flows: &[FlowView]) {
    let mut held: BTreeMap<_, (u32, u32)> = BTreeMap::new();
    for reservation in domain.cps.reservations() {
        let (all, counting) = held.entry(reservation.csci_id).or_default();
        *all += reservation.slots;
        *counting += if reservation.counts { reservation.slots } else { 0 };
        let flow = flows.iter().find(|flow| flow.transaction == reservation.transaction);
        assert_eq!(flow.map(|flow| flow.csci_id), Some(Some(reservation.csci_id)), "{reservation:?}");
    }
    for instance in [A, B].map(csci) {
        let row = domain.cps.cst().row(cs_id(1), instance);
        let found = row.map_or((0, 0), |row| (row.held, row.reserved));
        assert_eq!(held.get(&instance).copied().unwrap_or_default(), found);
    }
}

proptest! {
    /// The table refuses and counts an arrow that the figure lacks; no input leads to one.
    ///
    /// Proves CP-21.
    #[test]
    fn flows_slots_and_paths_stay_consistent_whatever_comes(steps in steps()) {
        let mut domain = Domain::with(with_agent());
        let mut seen = Seen::default();
        for step in &steps {
            run(&mut domain, &mut seen, step);
            check(&mut domain, &mut seen);
        }
        for binding in seen.bindings.clone() {
            domain.removed(&binding, RemovalReason::Idle);
        }
        domain.pass(Duration::from_secs(120));
        let left = domain.cps.flows(None, 100);
        prop_assert!(left.iter().all(|flow| flow.state == FlowState::Active), "{:?}", left);
    }
}
