//! A metric agent beside its path selector and on another node: instances report to it over gRPC and mutual TLS, and it
//! advertises to the path selector in process or likewise. The data plane is a model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use bed::instance::{Instance, Quiet};
use bed::pki::Authority;
use bed::{CATS, Kernel, Node, all_in_one, key, set};
use cats_datapath_core::Verdict;
use cats_datapath_core::model::Fate;
use cats_engine_daemon::engine::Now;
use cats_engine_transport::collection::TIMING;
use cats_engine_transport::keys::{Algorithm, Signer, SigningKey};
use cats_engine_transport::management::{Change, Edit};
use cats_engine_transport::northbound::{Retrieved, Target, post, retrieve};
use cats_engine_transport::pki::Pki;
use cats_engine_types::{
    Advertisement, AdvertisementContent, AgentInstruction, CsId, Freshness, Health, MetricRecord, Micros,
    Sample, SynchronisationCause, UnixMicros,
};
use serde_json::{Value, json};
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::task::{Context, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::runtime::Runtime;

/// Longer than anything here takes; only a hang meets it.
const BOUND: Duration = Duration::from_secs(30);

/// The instances of the bed: by the configuration, B is the better one.
const A: &str = "198.51.100.11";
const B: &str = "198.51.100.21";

struct Bed {
    ca: Authority,
    runtime: Runtime,
    kernel: Kernel,
    /// Where the path selector and the agents listen.
    selector_at: SocketAddr,
    agent_at: SocketAddr,
    nodes: Vec<Node>,
    instances: Vec<Instance>,
}

fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

impl Bed {
    fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self {
            ca: Authority::new(),
            runtime,
            kernel: Kernel::default(),
            selector_at: free(),
            agent_at: free(),
            nodes: Vec::new(),
            instances: Vec::new(),
        }
    }

    fn state_of(&self, name: &str) -> PathBuf {
        let dir = self.ca.file(&format!("state-{name}"));
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// Starts a node on what it has stored.
    fn start(&mut self, name: &str) -> usize {
        let node = Node::start(name, &self.state_of(name), &self.kernel, self.runtime.handle());
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn configure(&mut self, name: &str, config: &Value) -> usize {
        let at = self.start(name);
        assert_eq!(self.nodes[at].snapshot(1, config), Ok(()));
        at
    }

    fn instance(&mut self, csci_id: &str, serial: u64) -> usize {
        let agent = ("SMA-1", self.agent_at);
        let instance = Instance::start(&self.ca, self.runtime.handle(), csci_id, serial, agent);
        self.instances.push(instance);
        let at = self.instances.len() - 1;
        self.until("the instance to connect", |bed| bed.instances[at].poll().then_some(()));
        at
    }

    /// Runs all engines until `done` says so.
    fn until<T>(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            let mut context = Context::from_waker(Waker::noop());
            for node in &mut self.nodes {
                node.engine.handle_arrivals(&mut context, Now::read());
                node.step();
            }
            if let Some(result) = done(self) {
                return result;
            }
            assert!(begin.elapsed() < BOUND, "no end of: {what}");
            std::thread::yield_now();
        }
    }

    /// Reports, and waits until that is taken in.
    fn report(&mut self, instance: usize, gas: u64, computing_us: u64) {
        let report = self.instances[instance].report(gas, computing_us);
        self.until("the report to be taken in", |bed| {
            bed.instances[instance].was_taken(report).then_some(())
        });
    }

    /// Waits until the path selector of node 0 selects by this computing time of an instance.
    fn until_selects_by(&mut self, csci_id: &str, computing_us: &str) {
        self.until(&format!("{computing_us} us of {csci_id}"), |bed| {
            (bed.computing(csci_id)? == computing_us).then_some(())
        });
    }

    fn computing(&mut self, csci_id: &str) -> Option<String> {
        let state = self.nodes[0].state(&["/cats-cps:path-selector/service-table"]);
        let entries = state["cats-cps:path-selector"]["service-table"]["entry"].as_array()?.clone();
        let entry = entries.into_iter().find(|entry| entry["csci-id"] == csci_id)?;
        entry["computing-us"].as_str().map(str::to_owned)
    }

    /// Where a new flow from this port goes.
    fn new_flow(&mut self, port: u16) -> String {
        let id = self.kernel.packet(key(port));
        let kernel = self.kernel.clone();
        let verdict = self.until("a verdict", |_| {
            kernel.verdicts().into_iter().find(|(packet, _)| *packet == id).map(|(_, verdict)| verdict)
        });
        assert_eq!(verdict, Verdict::Release);
        self.flow(port)
    }

    fn flow(&self, port: u16) -> String {
        match self.kernel.model(|model| model.forward(key(port), 60, false)) {
            Fate::Forwarded(locator) => locator.to_string(),
            other => panic!("{other:?}"),
        }
    }

    /// All roles but that of the agent, which listens for `agents`.
    fn selector_config(&self, agents: &Value) -> Value {
        self.ca.certificate("N", 1, &["cats:cps:N", "cats:fwd:N", "cats:sma:SMA-1"]);
        let mut config = all_in_one();
        config["cats-system:system"] = self.ca.system("N");
        let selector = &mut config["cats-cps:path-selector"];
        selector["listen"] =
            json!({ "address": self.selector_at.ip().to_string(), "port": self.selector_at.port() });
        selector["agent"] = agents.clone();
        config
    }

    /// An entry of an agent whose key is `NAME.verify`.
    fn authorised(&self, name: &str) -> Value {
        let file = self.ca.file(&format!("{name}.verify")).display().to_string();
        json!({ "node-id": name, "key": [{ "id": name, "file": file }] })
    }

    /// The agent `SMA-1`, which tells what changes at once and as it is.
    fn agent(&self) -> Value {
        let at = self.agent_at;
        json!({
            "enabled": true, "node-id": "SMA-1",
            "collection": { "listen": { "address": at.ip().to_string(), "port": at.port() } },
            "smoothing": { "gas": { "enabled": false }, "computing-time": { "enabled": false } },
            "policy": { "safety-margin": "0" },
            "updates": { "min-interval": 0, "thresholds": { "gas-share": "0", "computing-time-share": "0" } },
        })
    }

    /// A node with nothing but an agent, `name`, which tells `N` and signs with `NAME.sign`.
    fn agent_config(&self, name: &str, serial: u64) -> Value {
        self.ca.certificate(name, serial, &[&format!("cats:sma:{name}")]);
        let mut agent = self.agent();
        agent["node-id"] = json!(name);
        agent["northbound"] = json!({
            "longest-backoff": 1,
            "path-selector": [{
                "node-id": "N",
                "address": self.selector_at.ip().to_string(),
                "port": self.selector_at.port(),
                "signature": {
                    "key-id": name, "file": self.ca.file(&format!("{name}.sign")).display().to_string(),
                },
            }],
        });
        json!({
            "base": { "enable": true },
            "cats-sma:metric-agent": agent,
            "cats-system:system": self.ca.system(name),
        })
    }
}

fn delete(path: &str) -> Change {
    Change { path: format!("{CATS}/{path}"), edit: Edit::Delete, after: None }
}

/// Two nodes: the path selector with its forwarder, and the agent.
fn two_nodes() -> Bed {
    let mut bed = Bed::new();
    bed.ca.signing_pair("SMA-1");
    let selector = bed.selector_config(&json!([bed.authorised("SMA-1")]));
    bed.configure("N", &selector);
    let agent = bed.agent_config("SMA-1", 2);
    bed.configure("SMA-1", &agent);
    bed
}

/// Proves SMA-1, SMA-13, CP-17, CP-30: in one node, without a socket between agent and path selector.
#[test]
fn a_report_to_the_agent_of_the_same_node_moves_new_flows_and_no_established_one() {
    let mut bed = Bed::new();
    let mut config = bed.selector_config(&json!([]));
    config["cats-sma:metric-agent"] = bed.agent();
    bed.configure("N", &config);
    assert_eq!(bed.new_flow(40_000), B);
    let b = bed.instance(B, 21);
    bed.report(b, 100, 60_000);
    bed.until_selects_by(B, "60000");
    assert_eq!(bed.new_flow(40_001), A);
    assert_eq!(bed.flow(40_000), B, "the established one stays");
    bed.report(b, 100, 1_000);
    bed.until_selects_by(B, "1000");
    assert_eq!(bed.new_flow(40_002), B);
    bed.report(b, 0, 1_000);
    bed.until("the last slot to be gone", |bed| {
        let state = bed.nodes[0].state(&["/cats-cps:path-selector/service-table"]);
        let entries = state["cats-cps:path-selector"]["service-table"]["entry"].as_array()?.clone();
        entries.iter().any(|entry| entry["csci-id"] == B && entry["gas"] == 0).then_some(())
    });
    assert_eq!(bed.new_flow(40_003), A);
}

/// Proves SMA-1, SMA-13, SMA-20, CP-17.
#[test]
fn a_report_to_the_agent_of_another_node_moves_new_flows() {
    let mut bed = two_nodes();
    assert_eq!(bed.new_flow(40_000), B);
    let b = bed.instance(B, 21);
    bed.report(b, 100, 60_000);
    bed.until_selects_by(B, "60000");
    assert_eq!(bed.new_flow(40_001), A);
    assert_eq!(bed.flow(40_000), B);
}

/// Proves SMA-23: a path selector that starts anew knows nothing, asks, and gets the whole view.
#[test]
fn a_path_selector_that_restarts_is_brought_to_the_view_again() {
    let mut bed = two_nodes();
    let (a, b) = (bed.instance(A, 11), bed.instance(B, 21));
    bed.report(a, 100, 7_000);
    bed.report(b, 100, 60_000);
    bed.until_selects_by(A, "7000");
    bed.until_selects_by(B, "60000");
    bed.nodes.remove(0);
    bed.start("N");
    bed.nodes.swap(0, 1);
    assert_eq!(bed.computing(B).as_deref(), Some("5000"), "what is configured");
    bed.until_selects_by(A, "7000");
    bed.until_selects_by(B, "60000");
    assert_eq!(bed.new_flow(40_000), A);
}

/// Proves SMA-20, SMA-23: a start of the agent is a new epoch, whose messages are no repetitions.
#[test]
fn an_agent_that_is_killed_and_starts_again_is_believed_anew() {
    let mut bed = two_nodes();
    let b = bed.instance(B, 21);
    bed.report(b, 100, 60_000);
    bed.until_selects_by(B, "60000");
    drop(bed.nodes.pop());
    bed.start("SMA-1");
    bed.until("the instance to be back", |bed| {
        let instance = &mut bed.instances[b];
        (instance.poll() && !instance.reasons.is_empty()).then_some(())
    });
    bed.report(b, 100, 50_000);
    bed.until_selects_by(B, "50000");
}

/// Proves CP-2, CP-17: what a site that is cut off said holds for its time, and no longer.
#[test]
fn without_its_agent_an_instance_is_seen_as_configured_once_its_record_expires() {
    let mut bed = two_nodes();
    let second = |leaf: &str, value: u32| set(&format!("cats-sma:metric-agent/{leaf}"), &json!(value));
    let short =
        [("cache/valid-for", 2), ("northbound/refresh-interval", 1), ("northbound/snapshot-interval", 1)];
    let changes = short.map(|(leaf, value)| second(leaf, value)).to_vec();
    assert_eq!(bed.nodes[1].prepare(1, changes), Ok(vec!["configure the metric agent".to_owned()]));
    assert_eq!(bed.nodes[1].apply(2), Ok(()));
    let b = bed.instance(B, 21);
    bed.report(b, 100, 60_000);
    bed.until_selects_by(B, "60000");
    assert_eq!(bed.new_flow(40_000), A);
    drop(bed.nodes.pop());
    bed.until_selects_by(B, "5000");
    assert_eq!(bed.new_flow(40_001), B);
    assert_eq!(bed.flow(40_000), A, "the established one stays");
}

/// Proves SMA-13: who is let go, or lets go, hears that nothing is advertised any more.
#[test]
fn an_agent_that_is_switched_off_withdraws_what_it_advertised() {
    let mut bed = two_nodes();
    let b = bed.instance(B, 21);
    for round in 0..2 {
        if round == 1 {
            let on = set("cats-sma:metric-agent/enabled", &json!(true));
            assert_eq!(bed.nodes[1].prepare(2, vec![on]), Ok(vec!["start the metric agent".to_owned()]));
            assert_eq!(bed.nodes[1].apply(3), Ok(()));
            bed.until("the instance to be back", |bed| bed.instances[b].poll().then_some(()));
        }
        bed.report(b, 100, 60_000 + round);
        bed.until_selects_by(B, &(60_000 + round).to_string());
        let off = set("cats-sma:metric-agent/enabled", &json!(false));
        let revision = 1 + 2 * round;
        let steps = bed.nodes[1].prepare(revision, vec![off]).unwrap();
        assert_eq!(steps, ["stop the metric agent and withdraw what it advertised"]);
        assert_eq!(bed.nodes[1].apply(revision + 1), Ok(()));
        bed.until_selects_by(B, "5000");
        bed.until("the instance to be let go", |bed| (!bed.instances[b].poll()).then_some(()));
    }
}

/// Proves SMA-20, CP-27: an agent without an entry, or with another key, is not heard.
#[test]
fn an_agent_that_is_not_authorised_says_nothing_to_a_path_selector() {
    let mut bed = Bed::new();
    bed.ca.signing_pair("SMA-1");
    bed.ca.signing_pair("other");
    let selector = bed.selector_config(&json!([]));
    bed.configure("N", &selector);
    let agent = bed.agent_config("SMA-1", 2);
    bed.configure("SMA-1", &agent);
    let b = bed.instance(B, 21);
    bed.report(b, 100, 60_000);
    let refused = |bed: &mut Bed, words: &str| {
        bed.until(&format!("the refusal: {words}"), |bed| {
            let state = bed.nodes[1].state(&["/cats-sma:metric-agent/path-selectors"]);
            let status = &state["cats-sma:metric-agent"]["path-selectors"]["status"][0];
            status["reason"].as_str().is_some_and(|reason| reason.contains(words)).then_some(())
        });
        assert_eq!(bed.computing(B).as_deref(), Some("5000"), "what is configured");
    };
    refused(&mut bed, "metric agent SMA-1 is not configured at this path selector");

    let entry = "cats-cps:path-selector/agent[node-id='SMA-1']";
    let wrong = bed.ca.file("other.verify").display().to_string();
    let with_wrong_key = json!({ "node-id": "SMA-1", "key": [{ "id": "SMA-1", "file": wrong }] });
    assert!(bed.nodes[0].prepare(1, vec![set(entry, &with_wrong_key)]).is_ok());
    assert_eq!(bed.nodes[0].apply(2), Ok(()));
    refused(&mut bed, "the signature by key `SMA-1` is not that of the payload");

    let right = bed.authorised("SMA-1");
    assert!(bed.nodes[0].prepare(2, vec![delete(entry), set(entry, &right)]).is_ok());
    assert_eq!(bed.nodes[0].apply(3), Ok(()));
    bed.until_selects_by(B, "60000");

    assert!(bed.nodes[0].prepare(3, vec![delete(entry)]).is_ok());
    assert_eq!(bed.nodes[0].apply(4), Ok(()));
    bed.until_selects_by(B, "5000");
}

/// Proves SMA-18, SMA-20: revoked in the middle of a stream, instance and agent are not heard any more.
#[test]
fn whose_certificate_is_revoked_is_cut_off_in_the_middle_of_its_stream() {
    let mut bed = two_nodes();
    let (a, b) = (bed.instance(A, 11), bed.instance(B, 21));
    bed.report(a, 100, 7_000);
    bed.report(b, 100, 60_000);
    bed.until_selects_by(A, "7000");
    bed.until_selects_by(B, "60000");
    bed.ca.revoke(&[21]);
    bed.until("the end of the stream", |bed| {
        bed.instances[b].poll();
        let revoked = |reason: &String| reason.contains("Revoked");
        bed.instances[b].reasons.iter().any(revoked).then_some(())
    });
    bed.until("the other one to be connected", |bed| bed.instances[a].poll().then_some(()));
    bed.report(a, 100, 8_000);
    bed.until_selects_by(A, "8000");

    bed.ca.revoke(&[21, 2]);
    bed.until("the path selector to let the agent go", |bed| {
        let state = bed.nodes[1].state(&["/cats-sma:metric-agent/path-selectors"]);
        let status = &state["cats-sma:metric-agent"]["path-selectors"]["status"][0];
        status["reason"].as_str().is_some_and(|reason| reason.contains("Revoked")).then_some(())
    });
}

/// Whether an alarm says that something that is configured cannot be used.
fn unusable(node: &mut Node) -> bool {
    node.alarms().iter().any(|alarm| alarm["alarm-type-id"] == "cats-alarms:unusable")
}

/// Proves SMA-20: nothing goes without a signature, and a key that comes later is used without a restart.
#[test]
fn an_agent_without_its_key_connects_to_nobody_until_the_file_is_there() {
    let mut bed = Bed::new();
    let selector = bed.selector_config(&json!([bed.authorised("SMA-1")]));
    bed.configure("N", &selector);
    let agent = bed.agent_config("SMA-1", 2);
    bed.configure("SMA-1", &agent);
    let b = bed.instance(B, 21);
    bed.report(b, 100, 60_000);
    bed.until("the reason", |bed| {
        let state = bed.nodes[1].state(&["/cats-sma:metric-agent/path-selectors"]);
        let status = &state["cats-sma:metric-agent"]["path-selectors"]["status"][0];
        status["reason"].as_str().is_some_and(|reason| reason.contains("SMA-1.sign")).then_some(())
    });
    assert_eq!(bed.computing(B).as_deref(), Some("5000"));
    assert!(unusable(&mut bed.nodes[1]));
    let enable = |enabled: bool| set("cats-sma:metric-agent/enabled", &json!(enabled));
    for (revision, enabled) in [(1, false), (2, true)] {
        assert!(bed.nodes[1].prepare(revision, vec![enable(enabled)]).is_ok());
        assert_eq!(bed.nodes[1].apply(revision + 1), Ok(()));
        assert_eq!(unusable(&mut bed.nodes[1]), enabled, "an agent that is switched off needs no key");
    }
    bed.until("the instance to be back", |bed| {
        let instance = &mut bed.instances[b];
        (instance.poll() && !instance.reasons.is_empty()).then_some(())
    });
    bed.report(b, 100, 60_000);
    bed.ca.signing_pair("SMA-1");
    bed.until_selects_by(B, "60000");
}

/// Proves SMA-1: an instance that cannot connect is asked when nothing is known of it, and listened to.
#[test]
fn an_instance_that_cannot_connect_is_asked_and_listened_to() {
    for (ask, subscribe) in [("grpc", false), ("http", false), ("http", true)] {
        let mut bed = Bed::new();
        let mut config = bed.selector_config(&json!([]));
        let mut quiet = Quiet::start(&bed.ca, bed.runtime.handle(), B, 21, "SMA-1");
        let mut agent = bed.agent();
        agent["collection"] = json!({ "source": [{
            "csci-id": B, "address": quiet.address.ip().to_string(), "port": quiet.address.port(),
            "ask": ask, "subscribe": subscribe,
        }] });
        agent["admission"] = json!({ "instance": [{ "cs-id": 1, "csci-id": B }] });
        config["cats-sma:metric-agent"] = agent;
        bed.configure("N", &config);
        bed.until(&format!("the answer over {ask}"), |bed| {
            quiet.serve(60_000);
            (bed.computing(B)? == "60000").then_some(())
        });
        assert!(quiet.asked > 0);
        assert_eq!(bed.new_flow(40_000), A);
        if subscribe {
            bed.until("the subscription", |_| quiet.serve(60_000).then_some(()));
            quiet.say(1_000);
            bed.until_selects_by(B, "1000");
            assert_eq!(bed.new_flow(40_001), B);
        }
    }
}

/// An address that is not there yet costs nothing but the listener, and is taken when it is free.
#[test]
fn an_agent_whose_address_is_taken_runs_and_listens_once_it_is_free() {
    let mut bed = Bed::new();
    let taken = TcpListener::bind(bed.agent_at).unwrap();
    let mut config = bed.selector_config(&json!([]));
    config["cats-sma:metric-agent"] = bed.agent();
    bed.configure("N", &config);
    assert_eq!(bed.new_flow(40_000), B);
    drop(taken);
    let b = bed.instance(B, 21);
    bed.report(b, 100, 60_000);
    bed.until_selects_by(B, "60000");
}

/// Proves SMA-28: of a flood of reports so many are taken in and no more, until packets had their turn.
#[test]
fn a_flood_of_reports_waits_for_the_packets() {
    let mut bed = Bed::new();
    let mut config = bed.selector_config(&json!([]));
    config["cats-sma:metric-agent"] = bed.agent();
    bed.configure("N", &config);
    let b = bed.instance(B, 21);
    let received = |bed: &mut Bed| {
        let state = bed.nodes[0].state(&["/cats-sma:metric-agent/statistics"]);
        let text = state["cats-sma:metric-agent"]["statistics"]["received"].as_str().unwrap().to_owned();
        text.parse::<usize>().unwrap()
    };
    let total = 5_000;
    let handle = bed.runtime.handle().clone();
    let flood = bed.instances[b].flood(total, &handle);
    let begin = Instant::now();
    let mut turns = 0;
    while received(&mut bed) < total {
        turns += 1;
        let before = received(&mut bed);
        // What one turn of the loop takes at most, however much has come.
        for _ in 0..64 {
            bed.nodes[0].engine.handle_arrivals(&mut Context::from_waker(Waker::noop()), Now::read());
        }
        assert!(received(&mut bed) - before <= 1024, "{before} and then {}", received(&mut bed));
        let id = bed.kernel.packet(key(40_000 + turns));
        bed.nodes[0].engine.step(Now::read());
        let verdicts = bed.kernel.verdicts();
        assert!(verdicts.contains(&(id, Verdict::Release)), "the packet has its turn: {verdicts:?}");
        assert!(begin.elapsed() < BOUND, "no end");
    }
    assert!(turns >= 4);
    drop(flood);
}

/// An advertisement of `SMA-1` that says of B that it needs 60 ms.
fn advertisement(sequence: u64, since: u64, whole: bool) -> Advertisement {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let timestamp = UnixMicros(u64::try_from(now.as_micros()).unwrap());
    let sample = Sample {
        gas: 100,
        computing_time: Micros(60_000),
        computing_time_min: None,
        computing_time_max: None,
        health: Health::Healthy,
        price: None,
        reputation: None,
        security_level: None,
        instances: None,
    };
    let record = MetricRecord {
        cs_id: CsId::number(1).unwrap(),
        csci_id: B.parse().unwrap(),
        locator: None,
        sample,
        taken: timestamp,
        valid_for: Duration::from_secs(60),
        flagged: false,
    };
    let records = vec![record];
    let content = match whole {
        true => AdvertisementContent::Snapshot { part: 0, last: true, records },
        false => AdvertisementContent::Delta { records, withdrawals: Vec::new() },
    };
    let freshness = Freshness { epoch: 1, sequence };
    Advertisement { agent: "SMA-1".parse().unwrap(), freshness, since, timestamp, content }
}

/// Proves SMA-13, SMA-20, SMA-23: an agent may advertise by requests of its own, each of which is answered.
#[test]
fn an_advertisement_over_http_is_answered_by_what_the_path_selector_has_taken_or_wants() {
    let mut bed = Bed::new();
    bed.ca.signing_pair("SMA-1");
    let selector = bed.selector_config(&json!([bed.authorised("SMA-1")]));
    bed.configure("N", &selector);
    let files = bed.ca.certificate("SMA-1", 2, &["cats:sma:SMA-1"]);
    let file = bed.ca.file("SMA-1.sign");
    let target = Target {
        address: bed.selector_at,
        cps: "N".parse().unwrap(),
        pki: Pki::open(files),
        signer: Signer::open(SigningKey { id: "SMA-1".to_owned(), algorithm: Algorithm::Ed25519, file }),
        compress: false,
        timing: TIMING,
    };
    let address = bed.selector_at;
    bed.until("the listener", |_| TcpStream::connect(address).ok());
    let at = |sequence| Freshness { epoch: 1, sequence };
    let lacks = vec![AgentInstruction::Synchronise(SynchronisationCause::Start)];
    let taken = |sequence| vec![AgentInstruction::Acknowledge(at(sequence))];
    let steps = [(1, 0, false, lacks), (2, 0, true, taken(2)), (3, 2, false, taken(3))];
    for (sequence, since, whole, expected) in steps {
        let target = target.clone();
        let said = advertisement(sequence, since, whole);
        let task = bed.runtime.spawn(async move { Box::pin(post(&target, &said)).await });
        bed.until("the answer", |_| task.is_finished().then_some(()));
        assert_eq!(bed.runtime.block_on(task).unwrap().unwrap(), expected);
    }
    bed.until_selects_by(B, "60000");
    assert_eq!(bed.new_flow(40_000), A);
    let agent = "SMA-1".parse().unwrap();
    let task = bed.runtime.spawn(async move { Box::pin(retrieve(&target, &agent, None)).await });
    bed.until("the view", |_| task.is_finished().then_some(()));
    let Retrieved::View(view) = bed.runtime.block_on(task).unwrap().unwrap() else { panic!("no view") };
    assert_eq!((view.freshness, view.records.len()), (at(3), 1));
}
