//! What cats-mgmtd is told of state as it changes, while it watches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use bed::{CATS, Kernel, Node, all_in_one, key, metric, set};
use cats_engine_daemon::engine::Now;
use cats_engine_transport::management::{Call, StateDelta};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

/// Longer than anything here takes; only a hang meets it.
const BOUND: Duration = Duration::from_secs(30);

const TABLE: &str = "/cats-cps:path-selector/service-table";
const FORWARDERS: &str = "/cats-cps:path-selector/forwarders";
const BINDINGS: &str = "/cats-forwarder:forwarder/bindings";

struct Bed {
    node: Node,
    _runtime: Runtime,
    _dir: tempfile::TempDir,
}

impl Bed {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut node = Node::start("N", dir.path(), &Kernel::default(), runtime.handle());
        assert_eq!(node.snapshot(1, &all_in_one()), Ok(()));
        node.step();
        Self { node, _runtime: runtime, _dir: dir }
    }

    fn watch(&mut self, paths: &[&str], deltas: &mpsc::Sender<StateDelta>) {
        let paths = paths.iter().map(|path| format!("{CATS}{path}")).collect();
        self.node.engine.handle_call(Call::Watch { paths, deltas: deltas.clone() }, Now::read());
    }

    /// The next thing that is told.
    fn told(&mut self, deltas: &mut mpsc::Receiver<StateDelta>) -> (StateDelta, Value) {
        let begin = Instant::now();
        loop {
            self.node.step();
            if let Ok(delta) = deltas.try_recv() {
                let cats = match delta.json.as_slice() {
                    [] => Value::Null,
                    text => {
                        serde_json::from_slice::<Value>(text).unwrap()["ietf-routing:routing"]["ietf-cats:cats"]
                            .take()
                    }
                };
                return (delta, cats);
            }
            assert!(begin.elapsed() < BOUND, "nothing is told");
            std::thread::yield_now();
        }
    }

    /// Nothing more is told: the engine has nothing to do before this is over, and says so by its next deadline.
    fn is_quiet(&mut self, deltas: &mut mpsc::Receiver<StateDelta>) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(20) {
            self.node.step();
        }
        deltas.try_recv().is_err()
    }
}

#[test]
fn a_watcher_is_told_all_of_what_it_watches_and_then_what_changes() {
    let mut bed = Bed::new();
    let (sender, mut deltas) = mpsc::channel(1);
    bed.watch(&[TABLE, FORWARDERS], &sender);
    let (delta, cats) = bed.told(&mut deltas);
    assert_eq!(delta.sequence, 1);
    let mut whole = delta.whole;
    whole.sort();
    assert_eq!(whole, [format!("{CATS}{FORWARDERS}"), format!("{CATS}{TABLE}")]);
    let selector = &cats["cats-cps:path-selector"];
    let status = &selector["forwarders"]["status"][0];
    assert_eq!((&status["node-id"], &status["control-plane"]), (&json!("N"), &json!("attached")));
    assert_eq!(status.get("flows"), None, "a counter is not told");
    let entries = selector["service-table"]["entry"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0]["gas"], json!(100));
    assert_eq!(entries[0].get("reserved"), None, "what flows hold is not told");

    let path = "service-metrics/service-metric[cs-id='1'][csci-id='198.51.100.11'][source-type='static']";
    let mut slower = metric("198.51.100.11", "30.0");
    slower["cats-cps:gas"] = json!(7);
    bed.node.prepare(1, vec![set(path, &slower)]).unwrap();
    bed.node.apply(2).unwrap();
    let (delta, cats) = bed.told(&mut deltas);
    let entry = format!("{CATS}{TABLE}/entry[cs-id='1'][csci-id='198.51.100.11']");
    assert_eq!((delta.sequence, delta.dropped, delta.whole), (2, vec![entry], Vec::new()));
    let entries = cats["cats-cps:path-selector"]["service-table"]["entry"].as_array().unwrap();
    assert_eq!(
        (entries.len(), &entries[0]["gas"], &entries[0]["computing-us"]),
        (1, &json!(7), &json!("30000"))
    );
    assert!(bed.is_quiet(&mut deltas));
}

#[test]
fn a_binding_is_told_when_it_comes_and_when_it_goes() {
    let mut bed = Bed::new();
    let (sender, mut deltas) = mpsc::channel(1);
    bed.watch(&[BINDINGS], &sender);
    let (delta, cats) = bed.told(&mut deltas);
    assert_eq!((delta.whole.len(), cats), (1, Value::Null));
    bed.node.kernel.packet(key(40000));
    let (delta, cats) = bed.told(&mut deltas);
    let path = format!("{CATS}{BINDINGS}/binding[key='{}']", key(40000));
    assert_eq!(delta.dropped, [path.as_str()]);
    let binding = &cats["cats-forwarder:forwarder"]["bindings"]["binding"][0];
    assert_eq!(
        (&binding["key"], &binding["csci-id"]),
        (&json!(key(40000).to_string()), &json!("198.51.100.21"))
    );
    bed.node.execute("clear-bindings", &json!({ "flow": key(40000).to_string() })).unwrap();
    loop {
        let (delta, cats) = bed.told(&mut deltas);
        assert_eq!(delta.dropped, [path.as_str()]);
        if cats == Value::Null {
            break;
        }
    }
}

#[test]
fn a_record_that_expires_is_told_though_nothing_was_said_of_it() {
    let mut bed = Bed::new();
    let path = "service-metrics/service-metric[cs-id='1'][csci-id='198.51.100.11'][source-type='static']";
    let mut short = metric("198.51.100.11", "20.0");
    short["cats-cps:valid-for"] = json!(1);
    bed.node.prepare(1, vec![set(path, &short)]).unwrap();
    bed.node.apply(2).unwrap();
    let (sender, mut deltas) = mpsc::channel(1);
    bed.watch(&[TABLE], &sender);
    bed.told(&mut deltas);
    let due = bed.node.engine.poll_timeout().expect("it waits for the end of the record");
    assert!(due <= Instant::now() + Duration::from_secs(1));
    let (delta, cats) = bed.told(&mut deltas);
    assert_eq!(delta.dropped.len(), 1);
    let entry = &cats["cats-cps:path-selector"]["service-table"]["entry"][0];
    assert_eq!((&entry["csci-id"], &entry["valid"]), (&json!("198.51.100.11"), &json!(false)));
}

#[test]
fn another_watcher_and_another_role_let_the_watcher_go() {
    let mut bed = Bed::new();
    let (first, mut deltas) = mpsc::channel(1);
    bed.watch(&[TABLE], &first);
    drop(first);
    bed.told(&mut deltas);
    let (second, mut others) = mpsc::channel(1);
    bed.watch(&[TABLE], &second);
    assert_eq!(bed.told(&mut others).0.sequence, 1, "it begins anew");
    assert!(deltas.is_closed() && deltas.try_recv().is_err());
    drop(second);
    bed.node.snapshot(2, &json!({ "base": { "enable": true } })).unwrap();
    bed.node.step();
    assert!(matches!(others.try_recv(), Err(mpsc::error::TryRecvError::Disconnected)));
}

#[test]
fn what_is_not_told_of_counts_as_told() {
    let mut bed = Bed::new();
    let (sender, mut deltas) = mpsc::channel(1);
    bed.watch(&["/elsewhere"], &sender);
    let (delta, cats) = bed.told(&mut deltas);
    assert_eq!((delta.whole, cats), (vec![format!("{CATS}/elsewhere")], Value::Null));
}
