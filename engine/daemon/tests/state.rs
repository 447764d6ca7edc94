//! What the model says of state is served.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use bed::instance::Instance;
use bed::pki::Authority;
use bed::{CATS, Kernel, Node, all_in_one, key, set};
use cats_datapath_core::BackendError;
use cats_engine_daemon::engine::Now;
use cats_engine_types::{Freshness, InstanceCounts, Locator, Report, ReportedTime};
use cats_yang_model::{STATE_LEAVES, State};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::task::{Context, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::runtime::Runtime;

/// Longer than anything here takes; only a hang meets it.
const BOUND: Duration = Duration::from_secs(30);

const A: &str = "198.51.100.11";
const B: &str = "198.51.100.21";

/// What takes more than one node, and where that is tested.
const ELSEWHERE: &[(&str, &str)] =
    &[("/cats-cps:path-selector/decisions/decision/path/segment", "engine/daemon/tests/nodes.rs")];

struct Bed {
    ca: Authority,
    runtime: Runtime,
    kernel: Kernel,
    node: Node,
    at: SocketAddr,
    /// The leafs that were served so far, below `cats`.
    served: BTreeSet<String>,
}

fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

impl Bed {
    fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let ca = Authority::new();
        let (kernel, dir) = (Kernel::default(), ca.file("state"));
        fs::create_dir(&dir).unwrap();
        let mut node = Node::start("N", &dir, &kernel, runtime.handle());
        ca.certificate("N", 1, &["cats:cps:N", "cats:fwd:N", "cats:sma:SMA-1"]);
        ca.signing_pair("SMA-1");
        let at = free();
        assert_eq!(node.snapshot(1, &config(&ca, at)), Ok(()));
        Self { ca, runtime, kernel, node, at, served: BTreeSet::new() }
    }

    fn step(&mut self) {
        self.node.engine.handle_arrivals(&mut Context::from_waker(Waker::noop()), Now::read());
        self.node.step();
    }

    /// Runs the engine until `done` says so.
    fn until<T>(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            self.step();
            if let Some(result) = done(self) {
                return result;
            }
            assert!(begin.elapsed() < BOUND, "no end of: {what}");
            std::thread::yield_now();
        }
    }

    /// The state below `cats` as it is now, of whose leafs it takes note.
    fn look(&mut self) -> Value {
        let state = self.node.state(&[""]);
        let document = json!({ "ietf-routing:routing": { "ietf-cats:cats": state } });
        State::from_json(&document).unwrap();
        note(&state, "", &mut self.served);
        state
    }

    /// Runs until an agent's state says so, and takes note of all that is served then.
    fn until_shown(&mut self, what: &str, shown: impl Fn(&Value) -> bool) {
        self.until(what, |bed| shown(&bed.look()["cats-sma:metric-agent"]).then_some(()));
    }

    fn commit(&mut self, base: u64, path: &str, value: &Value) {
        self.node.prepare(base, vec![set(path, value)]).unwrap();
        self.node.apply(base + 1).unwrap();
    }

    fn instance(&mut self, csci_id: &str, serial: u64) -> Instance {
        let agent = ("SMA-1", self.at);
        let mut instance = Instance::start(&self.ca, self.runtime.handle(), csci_id, serial, agent);
        self.until("the instance to connect", |_| instance.poll().then_some(()));
        instance
    }

    fn report(&mut self, instance: &mut Instance, change: impl FnOnce(&mut Report)) -> Freshness {
        let report = instance.send(change);
        self.until("the report to be taken in", |_| instance.was_taken(report).then_some(()));
        report
    }
}

/// A path selector with a forwarder and an agent, which tells it and two others that are not there.
fn config(ca: &Authority, at: SocketAddr) -> Value {
    let mut config = all_in_one();
    config["cats-system:system"] = ca.system("N");
    config["base"]["update-interval"] = json!(60);
    let strange = json!({ "node-id": "SMA-9", "key": [{ "id": "9", "file": "/nonexistent/9.verify" }] });
    config["cats-cps:path-selector"]["agent"] = json!([strange]);
    config["cats-cps:path-selector"]["agent-limits"] = json!({ "silence": 1 });
    let sign = json!({ "key-id": "SMA-1", "file": ca.file("SMA-1.sign").display().to_string() });
    let away = |node: &str| {
        let at = free();
        json!({ "node-id": node, "address": at.ip().to_string(), "port": at.port(), "signature": sign })
    };
    let mut instead = away("C-PS-3");
    instead["alternative-to"] = json!("C-PS-2");
    config["cats-sma:metric-agent"] = json!({
        "enabled": true, "node-id": "SMA-1",
        "collection": {
            "listen": { "address": at.ip().to_string(), "port": at.port() },
            "report-key": [{ "id": "k", "csci-id": A, "file": "/nonexistent/report.key" }],
            "broker": { "host": "127.0.0.1", "port": free().port(), "site": "east" },
        },
        "validation": { "rate-of-change": { "gas": { "reaction": "quarantine", "within": 3_600_000 } } },
        "northbound": { "path-selector": [away("C-PS-2"), instead] },
    });
    config
}

/// Takes down the leafs of a value, whose entries of lists count as one.
fn note(value: &Value, path: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                note(value, &format!("{path}/{name}"), into);
            }
        }
        Value::Array(entries) => entries.iter().for_each(|entry| note(entry, path, into)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => drop(into.insert(path.to_owned())),
        Value::Null => panic!("{path} is nothing"),
    }
}

/// A report with every value that there is.
fn whole(report: &mut Report) {
    let time = |time| Some(ReportedTime { time, input_tokens: Some(100) });
    report.locator = Some(Locator { address: A.parse().unwrap(), port: Some(8443) });
    let metrics = &mut report.metrics;
    (metrics.price, metrics.reputation, metrics.security_level) = (Some(3), Some(7), Some(8));
    (metrics.computing_time_min, metrics.computing_time_max) = (time(1000), time(90_000));
    metrics.instances = Some(InstanceCounts { healthy: 3, degraded: 1, unhealthy: 0, unknown: 0 });
}

/// Proves SMA-4, SMA-12, SMA-13: what the model has of the agent and of the path selector is there to be seen.
#[test]
fn each_leaf_of_state_of_path_selector_and_agent_is_served_in_some_state() {
    let mut bed = Bed::new();
    bed.look();
    bed.until_shown("that neither of two path selectors is reached", |agent| {
        let peers = agent["path-selectors"]["status"].as_array().unwrap();
        let away =
            |peer: &&Value| peer["alarm"] == json!(["unreachable"]) && peer.get("next-attempt").is_some();
        peers.iter().filter(away).count() == 2
    });
    let id = bed.kernel.packet(key(40_000));
    bed.step();
    assert_eq!(bed.kernel.verdicts().len(), 1, "{id:?}");

    // Whose streams end takes its instances along.
    let _instances = report_in_doubt(&mut bed);
    begin_maintenance(&mut bed);
    bed.until("an agent to be silent", |bed| {
        let state = bed.look();
        let agents = state["cats-cps:path-selector"]["agents"]["status"].as_array().unwrap();
        agents.iter().any(|agent| agent["alarm"] == json!(["silent"])).then_some(())
    });
    fail_data_plane(&mut bed);
    assert_eq!(missing(&bed.served), [""; 0]);
    assert_eq!(
        alarms(&bed.node.alarms()),
        [
            ("agent-silent", "cats-cps:path-selector/agents/status[node-id='SMA-9']"),
            ("data-plane-fault", "cats-forwarder:forwarder"),
            ("path-selector-unreachable", "cats-sma:metric-agent/path-selectors/status[node-id='C-PS-2']"),
            ("path-selector-unreachable", "cats-sma:metric-agent/path-selectors/status[node-id='C-PS-3']"),
            ("quarantine", "cats-sma:metric-agent"),
            ("unusable", "cats-system:system/certificates"),
        ]
        .map(|(kind, resource)| (format!("cats-alarms:{kind}"), format!("{CATS}/{resource}")))
    );
}

/// What is asked for by some keys of a list is looked for by these, whatever else there is.
#[test]
fn instances_of_a_service_or_of_a_name_are_served_alone() {
    let mut bed = Bed::new();
    let _instances = report_in_doubt(&mut bed);
    bed.until_shown("both instances", |agent| agent["instances"]["instance"].as_array().unwrap().len() == 2);
    for (list, name) in [
        (["cats-sma:metric-agent", "instances"], "instance"),
        (["cats-cps:path-selector", "service-table"], "entry"),
    ] {
        let mut found = |keys: &str| -> Vec<String> {
            let state = bed.node.state(&[&format!("/{}/{}/{name}{keys}", list[0], list[1])]);
            let entries = state[list[0]][list[1]][name].as_array().cloned().unwrap_or_default();
            entries.iter().map(|entry| format!("{} {}", entry["cs-id"], entry["csci-id"])).collect()
        };
        let all = found("");
        assert_eq!(all, [format!("1 \"{A}\""), format!("1 \"{B}\"")], "{name}");
        assert_eq!(found("[cs-id='1']"), all);
        assert_eq!(found(&format!("[csci-id='{B}']")), all[1..]);
        assert_eq!(found(&format!("[cs-id='1'][csci-id='{A}']")), all[..1]);
        for nobody in ["[cs-id='2']", "[csci-id='192.0.2.1']", "[cs-id='no service']"] {
            assert_eq!(found(nobody), [""; 0], "{name}{nobody}");
        }
    }
}

/// Two instances, of which one has a report in doubt and the other one in quarantine.
fn report_in_doubt(bed: &mut Bed) -> [Instance; 2] {
    let (mut a, mut b) = (bed.instance(A, 11), bed.instance(B, 21));
    bed.report(&mut a, whole);
    bed.report(&mut b, |report| report.metrics.computing_time = Some(5_000));
    bed.report(&mut b, |report| report.metrics.computing_time = Some(90_000));
    bed.until_shown("what is told, in doubt and waiting", |agent| {
        let of = |csci_id: &str, leaf: &str| {
            let instances = agent["instances"]["instance"].as_array().unwrap();
            instances.iter().any(|instance| instance["csci-id"] == csci_id && instance.get(leaf).is_some())
        };
        of(A, "told") && of(B, "doubt") && of(B, "waiting-update")
    });
    a.send(|report| {
        whole(report);
        report.metrics.gas = Some(100_000);
    });
    bed.until_shown("a report in quarantine", |agent| agent["quarantine"]["waiting"] == 1);
    [a, b]
}

fn begin_maintenance(bed: &mut Bed) {
    let (begin, end) = around_now();
    let weekly = json!({ "day": DAYS, "begin": begin, "end": end });
    let window = json!({ "name": "works", "maintenance": true, "weekly": weekly });
    bed.commit(1, "cats-sma:metric-agent/calendar/window[name='works']", &window);
    bed.until_shown("maintenance", |agent| agent["status"]["maintenance"] == true);
}

fn fail_data_plane(bed: &mut Bed) {
    let refused = BackendError::Refused { what: "table".to_owned(), reason: "no room".to_owned() };
    bed.kernel.model(|model| model.set_fault(Some(refused)));
    bed.commit(2, "cats-forwarder:forwarder/ingress/max-segments", &json!(3));
    bed.until("the data plane to fail", |bed| {
        let forwarders = &bed.look()["cats-cps:path-selector"]["forwarders"]["status"];
        (forwarders[0]["data-plane"] == "failed").then_some(())
    });
}

/// The alarms that stand: of which type, and about what.
fn alarms(alarms: &[Value]) -> Vec<(String, String)> {
    let word = |alarm: &Value, leaf: &str| alarm[leaf].as_str().unwrap().to_owned();
    let mut found: Vec<_> =
        alarms.iter().map(|alarm| (word(alarm, "alarm-type-id"), word(alarm, "resource"))).collect();
    found.sort();
    found
}

const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Times of day two hours apart with now between them.
fn around_now() -> (String, String) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let at = |second: u64| format!("{:02}:{:02}", second / 3600 % 24, second / 60 % 60);
    (at(now - 3600), at(now + 3600))
}

/// The leafs of the model that were not served.
fn missing(served: &BTreeSet<String>) -> Vec<&'static str> {
    let here =
        STATE_LEAVES.iter().filter_map(|path| path.strip_prefix("/ietf-routing:routing/ietf-cats:cats"));
    let ours = here.filter(|leaf| {
        leaf.starts_with("/cats-sma:metric-agent/") || leaf.starts_with("/cats-cps:path-selector/")
    });
    let (elsewhere, rest): (Vec<&str>, Vec<&str>) =
        ours.partition(|leaf| ELSEWHERE.iter().any(|(known, _)| known == leaf));
    assert_eq!(elsewhere.len(), ELSEWHERE.len(), "{elsewhere:?}");
    assert!(rest.len() > 200, "{}", rest.len());
    rest.into_iter().filter(|leaf| !served.contains(*leaf)).collect()
}

/// What operators do to what an agent knows, which the state above has brought about.
#[test]
fn an_operator_reviews_the_quarantine_tries_rules_and_has_the_view_sent_anew() {
    let mut bed = Bed::new();
    let _instances = report_in_doubt(&mut bed);
    let waiting = bed.look()["cats-sma:metric-agent"]["quarantine"]["report"][0]["id"].clone();
    try_rules(&mut bed);
    let reviewed = bed.node.execute("release-quarantined", &json!({ "report": [waiting, "999"] })).unwrap();
    assert_eq!(
        (&reviewed["done"], &reviewed["refused"][0]["report"]),
        (&json!(1), &json!("999")),
        "{reviewed}"
    );
    bed.until_shown("an empty quarantine", |agent| agent["quarantine"]["waiting"] == 0);
    let none = bed.node.execute("drop-quarantined", &json!({ "all": [null] })).unwrap();
    assert_eq!((&none["done"], &none["more"]), (&json!(0), &json!(false)));

    let peers = bed.node.execute("synchronise", &json!({ "all": [null] })).unwrap();
    let begun = |role: &str, node: &str| {
        let peers = peers["peer"].as_array().unwrap().iter();
        let mut of = peers.filter(|peer| peer["role"] == role && peer["node-id"] == node);
        of.next().map(|peer| peer["begun"] == true)
    };
    assert_eq!(begun("path-selector", "N"), Some(true), "{peers}");
    assert_eq!(begun("path-selector", "C-PS-2"), Some(false));
    assert_eq!(begun("metric-agent", "SMA-1"), Some(true));
    assert_eq!(begun("metric-agent", "SMA-9"), Some(false));
    let faults = bed.node.execute("synchronise", &json!({ "path-selector": "C-PS-7" })).unwrap_err();
    assert_eq!(
        (faults[0].tag.as_str(), faults[0].path.as_str()),
        ("data-missing", "/cats-exec:synchronise/path-selector")
    );
}

fn try_rules(bed: &mut Bed) {
    let rule = |text: &str| json!([{ "name": "low", "priority": 1, "text": text }]);
    let cap = rule("IF GAS > 1 THEN CAP GAS AT 1");
    let all = bed.node.execute("policy-dry-run", &json!({ "rule": cap })).unwrap();
    assert_eq!((&all["tried"], &all["changed"]), (&json!("2"), &json!("2")), "{all}");
    assert_eq!((&all["rule"][0]["name"], &all["rule"][0]["fires"]), (&json!("low"), &json!("2")));
    let one = json!({ "rule": cap, "instance": { "cs-id": 1, "csci-id": A } });
    let one = bed.node.execute("policy-dry-run", &one).unwrap();
    let told = &one["rule"][0];
    assert_eq!(
        (&told["test"][0]["holds"], &told["action"][0]["effect"]),
        (&json!(true), &json!("done")),
        "{one}"
    );
    let metrics = one["metric"].as_array().unwrap();
    let gas = metrics.iter().find(|metric| metric["name"] == "GAS").unwrap();
    assert_eq!(gas["after"], "1");
    let in_force = bed.node.execute("policy-dry-run", &json!({})).unwrap();
    assert_eq!((&in_force["tried"], &in_force["rule"]), (&json!("2"), &Value::Null));
    for (asked, tag, path) in [
        (json!({ "rule": rule("IF GAS ? 1") }), "invalid-value", "rule[name='low']/text"),
        (json!({ "instance": { "cs-id": 1, "csci-id": 99 } }), "data-missing", "instance"),
    ] {
        let faults = bed.node.execute("policy-dry-run", &asked).unwrap_err();
        let path = format!("/cats-exec:policy-dry-run/{path}");
        assert_eq!((faults[0].tag.as_str(), &faults[0].path), (tag, &path));
    }
}
