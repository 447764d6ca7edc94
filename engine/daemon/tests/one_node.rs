//! All roles in one engine, on the model data plane.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use bed::{CATS, Kernel, Node, all_in_one, key, metric, set};
use cats_datapath_core::{BackendError, Verdict};
use cats_engine_daemon::engine::Now;
use cats_engine_transport::management::{Attached, Call, Change};
use cats_engine_types::Revision;
use cats_yang_model::State;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

struct Bed {
    dir: TempDir,
    runtime: Runtime,
    kernel: Kernel,
}

impl Bed {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { dir: TempDir::new().unwrap(), runtime, kernel: Kernel::default() }
    }

    fn start(&self) -> Node {
        Node::start("N", self.dir.path(), &self.kernel, self.runtime.handle())
    }

    fn configured(&self) -> Node {
        let mut node = self.start();
        assert_eq!(node.snapshot(1, &all_in_one()), Ok(()));
        node
    }
}

/// The instance that a new flow from this port goes to.
fn new_flow(node: &mut Node, port: u16) -> String {
    let id = node.kernel.packet(key(port));
    node.step();
    assert_eq!(node.kernel.verdicts(), [(id, Verdict::Release)]);
    match node.kernel.model(|model| model.forward(key(port), 60, true)) {
        cats_datapath_core::model::Fate::Forwarded(locator) => locator.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Proves CP-9, CP-13, CP-15.
#[test]
fn the_first_packet_is_held_until_both_directions_are_committed_and_the_decision_is_shown() {
    let bed = Bed::new();
    let mut node = bed.configured();
    assert_eq!(new_flow(&mut node, 40_000), "198.51.100.21");
    let state = node.state(&["/cats-cps:path-selector/decisions"]);
    let decisions = state["cats-cps:path-selector"]["decisions"]["decision"].as_array().unwrap();
    assert_eq!(decisions.len(), 1);
    let decision = &decisions[0];
    assert_eq!(decision["service"], 1);
    assert_eq!(decision["flow"], "tcp 192.0.2.10:40000 > 192.0.2.100:443");
    assert_eq!(decision["selected"]["csci-id"], "198.51.100.21");
    assert_eq!(decision["selected"]["egress"], "N");
    assert_eq!(decision["path"]["encapsulation"], "none");
    assert_eq!(decision["generations"]["policy"], "1");
    let of = |index: usize, leaf: &str| decision["candidate"][index][leaf].clone();
    assert_eq!(
        (of(0, "computing-us"), of(0, "network-us"), of(0, "total-us")),
        (json!("20000"), json!("1000"), json!("21000"))
    );
    assert_eq!((of(0, "verdict"), of(1, "verdict")), (json!("ranked-lower"), json!("selected")));
    assert_eq!(state["traffic-classifiers"], Value::Null, "only what was asked for");

    let state = node.state(&[""]);
    let classifier = &state["traffic-classifiers"]["traffic-classifier"][0];
    assert_eq!((&classifier["matched-packets"], &classifier["matched-bytes"]), (&json!("1"), &json!("60")));
}

/// Proves CP-17.
#[test]
fn a_commit_moves_new_flows_and_leaves_established_ones() {
    let bed = Bed::new();
    let mut node = bed.configured();
    assert_eq!(new_flow(&mut node, 40_000), "198.51.100.21");
    let path = "service-metrics/service-metric[cs-id='1'][csci-id='198.51.100.21'][source-type='static']";
    let change = set(path, &metric("198.51.100.21", "60.0"));
    assert_eq!(node.prepare(1, vec![change]), Ok(vec!["configure the path selector".to_owned()]));
    assert_eq!(new_flow(&mut node, 40_001), "198.51.100.21", "prepared is not applied");
    assert_eq!(node.apply(2), Ok(()));
    assert_eq!(new_flow(&mut node, 40_002), "198.51.100.11");
    assert_eq!(bed.kernel.model(|model| model.flows()).len(), 3);
    let fate = bed.kernel.model(|model| model.forward(key(40_000), 60, false));
    assert!(format!("{fate:?}").contains("198.51.100.21"));
}

/// What became of the first packet of a new flow, and whether the flow has a binding.
fn refused(node: &mut Node, port: u16) -> bool {
    let id = node.kernel.packet(key(port));
    node.step();
    let bound = node.kernel.model(|model| model.flows()).contains(&key(port));
    node.kernel.verdicts() == [(id, Verdict::Drop)] && !bound
}

/// Service 2 on the address of service 1.
fn twin(enabled: bool) -> Vec<Change> {
    let second = json!({
        "cs-id": 2, "enabled": enabled, "address": ["192.0.2.100"],
        "instance": [{ "csci-id": 7, "egress": "N", "locator": [{ "address": "198.51.100.31" }] }],
    });
    let classifier = json!({ "cs-id": 2, "server-port": 443, "protocol": 6 });
    vec![
        set("cats-services:services/service[cs-id='2']", &second),
        set("traffic-classifiers/traffic-classifier[cs-id='2']", &classifier),
    ]
}

fn enabled(service: u32, enabled: bool) -> Change {
    set(&format!("cats-services:services/service[cs-id='{service}']/enabled"), &json!(enabled))
}

/// Proves CP-17, CP-36.
#[test]
fn a_disabled_service_takes_neither_the_address_nor_the_flows_of_an_enabled_one() {
    let bed = Bed::new();
    let mut node = bed.configured();
    assert_eq!(new_flow(&mut node, 40_000), "198.51.100.21");
    assert!(node.prepare(1, twin(false)).is_ok());
    assert_eq!(node.apply(2), Ok(()));
    node.step();
    assert_eq!(bed.kernel.model(|model| model.flows()), [key(40_000)], "it stands");
    assert_eq!(new_flow(&mut node, 40_001), "198.51.100.21");
    // The two change places.
    assert!(node.prepare(2, vec![enabled(1, false), enabled(2, true)]).is_ok());
    assert_eq!(node.apply(3), Ok(()));
    node.step();
    assert_eq!(bed.kernel.model(|model| model.flows()).len(), 2, "established flows stay");
    assert!(refused(&mut node, 40_002), "service 2 has no eligible instance");
}

/// Proves CP-17.
#[test]
fn a_service_that_is_disabled_keeps_its_flows_and_takes_no_new_one() {
    let bed = Bed::new();
    let mut node = bed.configured();
    assert_eq!(new_flow(&mut node, 40_000), "198.51.100.21");
    assert!(node.prepare(1, vec![enabled(1, false)]).is_ok());
    assert_eq!(node.apply(2), Ok(()));
    node.step();
    assert_eq!(bed.kernel.model(|model| model.flows()), [key(40_000)]);
    assert!(refused(&mut node, 40_001));
    assert!(node.prepare(2, vec![enabled(1, true)]).is_ok());
    assert_eq!(node.apply(3), Ok(()));
    assert_eq!(new_flow(&mut node, 40_002), "198.51.100.21");
}

/// Proves CP-36.
#[test]
fn overlapping_services_are_refused_and_the_configuration_stays_as_it_was() {
    let bed = Bed::new();
    let mut node = bed.configured();
    let log = std::fs::read(bed.dir.path().join("config.log")).unwrap();
    let second = json!({
        "cs-id": 2, "address": ["192.0.2.100"],
        "instance": [{ "csci-id": 7, "egress": "N", "locator": [{ "address": "198.51.100.31" }] }],
    });
    let faults =
        node.prepare(1, vec![set("cats-services:services/service[cs-id='2']", &second)]).unwrap_err();
    let overlap =
        faults.iter().find(|fault| fault.app_tag.as_deref() == Some("overlapping-services")).unwrap();
    assert!(overlap.message.contains("services 1 and 2 overlap"), "{}", overlap.message);
    assert!(overlap.path.contains("service[cs-id='2']"), "{}", overlap.path);
    node.abort(2);
    assert_eq!(node.apply(2), Err("revision 2 is not prepared".to_owned()));
    assert_eq!(std::fs::read(bed.dir.path().join("config.log")).unwrap(), log);
    assert_eq!(node.attach(1), attached(1, false));
    assert_eq!(new_flow(&mut node, 40_000), "198.51.100.21");
}

/// What the engine says when it is attached to.
fn attached(revision: u64, needs_snapshot: bool) -> Attached {
    Attached { revision: Revision(revision), needs_snapshot, nodes: vec!["ietf-routing:routing".to_owned()] }
}

#[test]
fn changes_that_do_not_start_from_what_the_engine_runs_or_do_not_fit_are_refused() {
    let bed = Bed::new();
    let mut node = bed.configured();
    let enable = || vec![set("base/enable", &json!(true))];
    assert!(node.prepare(7, enable()).unwrap_err()[0].message.contains("the engine runs revision 1"));
    let unknown = node.prepare(1, vec![set("base/nonsense", &json!(1))]).unwrap_err();
    assert_eq!(unknown[0].tag, "unknown-element");
    let zero =
        node.prepare(1, vec![set("cats-services:services/service[cs-id='0']", &json!({ "cs-id": 0 }))]);
    assert_eq!(zero.unwrap_err()[0].tag, "invalid-value");
    // A stream that ends takes what it prepared with it.
    assert!(node.prepare(1, enable()).is_ok());
    assert!(!node.attach(1).needs_snapshot);
    assert!(node.apply(2).is_err());
}

/// Proves CP-23.
#[test]
fn a_restart_without_management_keeps_configuration_and_flows() {
    let bed = Bed::new();
    let mut node = bed.configured();
    assert_eq!(new_flow(&mut node, 40_000), "198.51.100.21");
    assert!(node.prepare(1, vec![set("base/flow-timeout", &json!(60))]).is_ok());
    assert_eq!(node.apply(2), Ok(()));
    drop(node);

    let mut node = bed.start();
    assert_eq!(bed.kernel.model(|model| model.flows()), [key(40_000)]);
    assert_eq!(new_flow(&mut node, 40_001), "198.51.100.21");
    assert_eq!(bed.kernel.model(|model| model.flows()).len(), 2);
    assert_eq!(node.attach(2), attached(2, false));
    assert_eq!(node.attach(3), attached(2, true));
}

/// Proves CP-3, CP-24.
#[test]
fn a_flow_without_an_eligible_candidate_gets_no_binding_and_its_packets_end() {
    let bed = Bed::new();
    let mut node = bed.start();
    let mut config = all_in_one();
    for entry in config["service-metrics"]["service-metric"].as_array_mut().unwrap() {
        entry["cats-cps:gas"] = json!(0);
    }
    assert_eq!(node.snapshot(1, &config), Ok(()));
    let id = bed.kernel.packet(key(40_000));
    node.step();
    assert_eq!(bed.kernel.verdicts(), [(id, Verdict::Drop)]);
    assert!(bed.kernel.model(|model| model.flows()).is_empty());
    let state = node.state(&["/cats-cps:path-selector"]);
    let decision = &state["cats-cps:path-selector"]["decisions"]["decision"][0];
    assert_eq!(decision["candidate"][0]["verdict"], "dropped");
    assert_eq!(decision["selected"], Value::Null);
}

#[test]
fn a_node_that_is_switched_off_leaves_nothing_in_the_data_plane() {
    let bed = Bed::new();
    let mut node = bed.configured();
    assert_eq!(new_flow(&mut node, 40_000), "198.51.100.21");
    let steps = node.prepare(1, vec![set("base/enable", &json!(false))]).unwrap();
    assert_eq!(steps, ["stop the path selector", "stop the forwarder and remove what it installed"]);
    assert_eq!(node.apply(2), Ok(()));
    assert!(bed.kernel.model(|model| model.flows()).is_empty());
    assert_eq!(node.state(&[""]), json!({}));
}

/// The documents of all pages.
fn pages(node: &mut Node, limit: u32, path: &str) -> Vec<Value> {
    let mut documents = Vec::new();
    let mut page = None;
    loop {
        let (reply, mut answer) = tokio::sync::oneshot::channel();
        let paths = vec![format!("{CATS}{path}")];
        node.engine.handle_call(Call::State { paths, limit, page, reply }, Now::read());
        let answer = answer.try_recv().unwrap().unwrap();
        documents.push(serde_json::from_slice(&answer.json).unwrap());
        page = answer.next;
        if page.is_none() {
            return documents;
        }
    }
}

/// The entries of a list in all pages, and how many pages.
fn paged(node: &mut Node, limit: u32, path: &str, pointer: &str) -> (Vec<Value>, usize) {
    let documents = pages(node, limit, path);
    let pointer = format!("/ietf-routing:routing/ietf-cats:cats{pointer}");
    let entries = |document: &Value| document.pointer(&pointer).and_then(Value::as_array).cloned();
    (documents.iter().filter_map(entries).flatten().collect(), documents.len())
}

#[test]
fn long_lists_come_in_pages_and_decisions_by_transaction() {
    let bed = Bed::new();
    let mut node = bed.configured();
    for port in 40_000..40_005 {
        new_flow(&mut node, port);
    }
    for list in [
        "cats-cps:path-selector/decisions/decision",
        "cats-cps:path-selector/flows/flow",
        "cats-forwarder:forwarder/bindings/binding",
    ] {
        let (whole, _) = paged(&mut node, 0, &format!("/{list}"), &format!("/{list}"));
        assert_eq!(whole.len(), 5, "{list}");
        let (parts, count) = paged(&mut node, 2, &format!("/{list}"), &format!("/{list}"));
        assert_eq!((parts, count), (whole, 3), "{list}");
        let (from_all, _) = paged(&mut node, 3, "", &format!("/{list}"));
        assert_eq!(from_all.len(), 5, "{list}");
    }
    let pointer = "/cats-cps:path-selector/decisions/decision";
    let (all, _) = paged(&mut node, 0, pointer, pointer);
    let transaction = all[3]["transaction"].as_str().unwrap();
    let (one, _) = paged(&mut node, 0, &format!("{pointer}[transaction='{transaction}']"), pointer);
    assert_eq!(one, [all[3].clone()]);
}

/// Proves CP-38.
#[test]
fn all_state_is_what_the_model_says_and_control_and_data_plane_are_apart() {
    let bed = Bed::new();
    let mut node = bed.configured();
    new_flow(&mut node, 40_000);
    let documents = pages(&mut node, 0, "");
    assert_eq!(documents.len(), 1);
    let state = State::from_json(&documents[0]).unwrap();
    assert_eq!(state.to_json(), documents[0], "nothing is lost in the typed state");

    let cats = node.state(&["/cats-cps:path-selector/forwarders", "/cats-forwarder:forwarder/status"]);
    let forwarder = &cats["cats-cps:path-selector"]["forwarders"]["status"][0];
    assert_eq!(
        (&forwarder["control-plane"], &forwarder["data-plane"]),
        (&json!("attached"), &json!("ready"))
    );
    let status = &cats["cats-forwarder:forwarder"]["status"];
    assert_eq!((&status["attached"], &status["flows"]), (&json!(true), &json!(1)));
    assert_eq!(status["data-plane-fault"], Value::Null);

    // A data plane that refuses does not touch the control plane.
    let fault = BackendError::Refused { what: "route".to_owned(), reason: "no such device".to_owned() };
    bed.kernel.model(|model| model.set_fault(Some(fault)));
    let delivery = json!({ "csci-id": "198.51.100.31", "locator": [{ "address": "198.51.100.31" }] });
    let path = "cats-forwarder:forwarder/egress/delivery[csci-id='198.51.100.31']";
    assert!(node.prepare(1, vec![set(path, &delivery)]).is_ok());
    assert_eq!(node.apply(2), Ok(()), "the commit is decided; the fault shows in the state");
    let cats = node.state(&["/cats-cps:path-selector/forwarders", "/cats-forwarder:forwarder/status"]);
    let forwarder = &cats["cats-cps:path-selector"]["forwarders"]["status"][0];
    assert_eq!(
        (&forwarder["control-plane"], &forwarder["data-plane"]),
        (&json!("attached"), &json!("failed"))
    );
    let status = &cats["cats-forwarder:forwarder"]["status"];
    assert_eq!(
        (&status["attached"], &status["data-plane-fault"]),
        (&json!(true), &json!("route: no such device"))
    );

    bed.kernel.model(|model| model.set_fault(None));
    let later = Now { at: std::time::Instant::now() + std::time::Duration::from_secs(6), ..Now::read() };
    node.engine.step(later);
    let cats = node.state(&["/cats-cps:path-selector/forwarders"]);
    assert_eq!(cats["cats-cps:path-selector"]["forwarders"]["status"][0]["data-plane"], json!("ready"));
}
