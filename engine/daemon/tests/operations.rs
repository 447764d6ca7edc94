//! Operations of `cats-exec` on one engine with all roles, on the model data plane.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use bed::{Kernel, Node, all_in_one, key};
use cats_datapath_core::Verdict;
use cats_engine_transport::management::Call;
use cats_yang_model::operations::OPERATIONS;
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

fn flow(port: u16) -> Value {
    json!({
        "protocol": "tcp", "client": "192.0.2.10", "client-port": port, "destination": "192.0.2.100", "port": 443,
        "tenant": 0, "max-candidates": 20,
    })
}

/// Whether the first packet of a flow is let go.
fn bound(node: &mut Node, port: u16) -> bool {
    let id = node.kernel.packet(key(port));
    node.step();
    node.kernel.verdicts() == [(id, Verdict::Release)]
}

#[test]
fn a_dry_run_tells_instance_path_and_losers_and_binds_nothing() {
    let bed = Bed::new();
    let mut node = bed.configured();
    let output = node.execute("select-dry-run", &flow(40_000)).unwrap();
    assert_eq!(output["failure"], Value::Null);
    assert_eq!(output["service"], 1);
    assert_eq!(output["selected"]["csci-id"], "198.51.100.21");
    assert_eq!(output["path"]["encapsulation"], "none");
    let verdicts: Vec<&Value> =
        output["candidate"].as_array().unwrap().iter().map(|candidate| &candidate["verdict"]).collect();
    assert_eq!(verdicts, ["ranked-lower", "selected"]);
    assert!(output["candidate"][0]["reason"].as_str().unwrap().len() > 5);
    let state = node.state(&["/cats-cps:path-selector"]);
    let selector = &state["cats-cps:path-selector"];
    assert_eq!(
        (&selector["flows"]["total"], &selector["statistics"]["requests"]),
        (&json!("0"), &json!("0"))
    );
    assert_eq!(selector["decisions"], Value::Null);
}

#[test]
fn a_dry_run_tells_why_nothing_would_serve() {
    let bed = Bed::new();
    let mut node = bed.configured();
    let mut asked = flow(40_000);
    asked["constraints"] = json!({ "max-computing-time": "1.0" });
    asked["max-candidates"] = json!(1);
    let output = node.execute("select-dry-run", &asked).unwrap();
    assert_eq!(output["failure"], "no candidate is eligible");
    assert_eq!((&output["candidate"][0]["verdict"], &output["omitted"]), (&json!("dropped"), &json!(1)));
    let mut asked = flow(40_000);
    asked["destination"] = json!("192.0.2.200");
    let output = node.execute("select-dry-run", &asked).unwrap();
    assert!(output["failure"].as_str().unwrap().contains("no service"), "{output}");
    let mut asked = flow(40_000);
    asked["client"] = json!("127.0.0.1");
    let faults = node.execute("select-dry-run", &asked).unwrap_err();
    assert_eq!(
        (faults[0].path.as_str(), faults[0].tag.as_str()),
        ("/cats-exec:select-dry-run/client", "invalid-value")
    );
}

#[test]
fn cleared_bindings_are_gone_and_the_next_packet_asks_anew() {
    let bed = Bed::new();
    let mut node = bed.configured();
    for port in 40_000..40_003 {
        assert!(bound(&mut node, port));
    }
    let bindings = |bed: &Bed| bed.kernel.model(|model| model.flows()).len();
    assert_eq!(bindings(&bed), 3);
    let one = json!({ "flow": "tcp 192.0.2.10:40000 > 192.0.2.100:443" });
    for cleared in [1, 0] {
        assert_eq!(node.execute("clear-bindings", &one).unwrap()["cleared"], cleared);
        node.step();
        assert_eq!(bindings(&bed), 2);
    }
    for (which, cleared) in [
        (json!({ "cs-id": 1, "csci-id": "198.51.100.11" }), 0),
        (json!({ "cs-id": 2 }), 0),
        (json!({ "cs-id": 1, "ingress": "M" }), 0),
        (json!({ "cs-id": 1, "csci-id": "198.51.100.21", "ingress": "N" }), 2),
        (json!({ "all": [null] }), 0),
    ] {
        assert_eq!(node.execute("clear-bindings", &which).unwrap()["cleared"], cleared, "{which}");
        node.step();
    }
    assert_eq!(bindings(&bed), 0);
    assert!(bound(&mut node, 40_000));
    let faults = node.execute("clear-bindings", &json!({ "flow": "icmp 1 > 2" })).unwrap_err();
    assert_eq!(faults[0].path, "/cats-exec:clear-bindings/flow");
}

#[test]
fn a_node_without_the_role_says_which_one_it_lacks() {
    let bed = Bed::new();
    let mut node = bed.start();
    assert_eq!(node.snapshot(1, &json!({ "base": { "enable": true } })), Ok(()));
    let all = || json!({ "all": [null] });
    for (operation, input, role) in [
        ("select-dry-run", flow(1), "path selector"),
        ("clear-bindings", all(), "path selector"),
        ("release-quarantined", all(), "metric agent"),
        ("drop-quarantined", all(), "metric agent"),
        ("policy-dry-run", json!({}), "metric agent"),
        ("synchronise", all(), "metric agent"),
        ("synchronise", json!({ "metric-agent": "SMA-1" }), "path selector"),
    ] {
        let faults = node.execute(operation, &input).unwrap_err();
        assert_eq!(faults[0].tag, "operation-not-supported", "{operation}");
        assert!(faults[0].message.contains(role), "{faults:?}");
    }
}

/// An operation that the engine does not know has another error than one whose input it does not take.
#[test]
fn every_operation_of_the_modules_is_known_and_no_other() {
    let bed = Bed::new();
    let mut node = bed.configured();
    assert!(OPERATIONS.len() >= 6);
    for operation in OPERATIONS {
        let name = operation.strip_prefix("cats-exec:").unwrap();
        let faults = node.execute(name, &json!({ "no-such-leaf": 1 })).unwrap_err();
        assert_eq!(faults[0].tag, "unknown-element", "{operation}: {faults:?}");
    }
    assert_eq!(node.execute("dance", &json!({})).unwrap_err()[0].tag, "operation-not-supported");
}

#[test]
fn nothing_is_done_that_nobody_waits_for() {
    let bed = Bed::new();
    let mut node = bed.configured();
    assert!(bound(&mut node, 40_000));
    let (reply, answer) = tokio::sync::oneshot::channel();
    drop(answer);
    let (operation, input) =
        ("cats-exec:clear-bindings".to_owned(), br#"{"cats-exec:input":{"all":[null]}}"#.to_vec());
    node.engine
        .handle_call(Call::Execute { operation, input, reply }, cats_engine_daemon::engine::Now::read());
    node.step();
    assert_eq!(bed.kernel.model(|model| model.flows()).len(), 1);
}
