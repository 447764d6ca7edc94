//! A path selector, an ingress and an egress as three engines that speak over mutual TLS on the loopback; the data
//! planes are models.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bed;

use bed::{Kernel, Node, key, metric, services};
use cats_datapath_core::Verdict;
use cats_datapath_core::model::Fate;
use cats_engine_daemon::engine::Now;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType};
use serde_json::{Value, json};
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Longer than anything here takes; only a hang meets it.
const BOUND: Duration = Duration::from_secs(20);

fn pki(dir: &Path, uris: &[&str]) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let key = KeyPair::generate().unwrap();
    fs::write(dir.join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    let authority = Issuer::new(params, key);
    for uri in uris {
        let name = uri.rsplit(':').next().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.subject_alt_names = vec![SanType::URI((*uri).try_into().unwrap())];
        let key = KeyPair::generate().unwrap();
        fs::write(dir.join(format!("{name}.pem")), params.signed_by(&key, &authority).unwrap().pem())
            .unwrap();
        fs::write(dir.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}

struct Bed {
    dir: TempDir,
    runtime: Runtime,
    address: SocketAddr,
    cps: Option<Node>,
    ingress: Node,
    egress: Node,
}

impl Bed {
    fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let dir = TempDir::new().unwrap();
        pki(dir.path(), &["cats:cps:C-PS-1", "cats:fwd:IF-1", "cats:fwd:EF-1"]);
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let node = |name: &str| {
            let state = dir.path().join(name);
            fs::create_dir(&state).unwrap();
            Node::start(name, &state, &Kernel::default(), runtime.handle())
        };
        let (cps, ingress, egress) = (node("C-PS-1"), node("IF-1"), node("EF-1"));
        let mut bed = Self { cps: Some(cps), ingress, egress, dir, runtime, address };
        let selector = bed.selector_config();
        let forwarders = [bed.ingress_config(), bed.egress_config()];
        assert_eq!(bed.cps.as_mut().unwrap().snapshot(1, &selector), Ok(()));
        assert_eq!(bed.ingress.snapshot(1, &forwarders[0]), Ok(()));
        assert_eq!(bed.egress.snapshot(1, &forwarders[1]), Ok(()));
        bed
    }

    fn restart_cps(&mut self) {
        let state = self.dir.path().join("C-PS-1");
        self.cps = Some(Node::start("C-PS-1", &state, &Kernel::default(), self.runtime.handle()));
    }

    fn system(&self, name: &str) -> Value {
        let file = |suffix: &str| self.dir.path().join(suffix).display().to_string();
        json!({ "certificates": {
            "authority": file("ca.pem"),
            "certificate": file(&format!("{name}.pem")),
            "private-key": file(&format!("{name}.key")),
        } })
    }

    fn selector_config(&self) -> Value {
        let forwarder = |name: &str| json!({ "node-id": name });
        let node = |name: &str, sid: &str| json!({ "node-id": name, "delivery-sid-v4": sid });
        let link = |from: &str, to: &str| json!({ "from": from, "to": to, "delay": "2.0" });
        json!({
            "base": { "enable": true },
            "traffic-classifiers": classifier(),
            "service-metrics": { "service-metric": [metric("198.51.100.11", "20.0")] },
            "cats-services:services": services("EF-1", "EF-1"),
            "cats-cps:path-selector": {
                "enabled": true,
                "node-id": "C-PS-1",
                "listen": { "address": self.address.ip().to_string(), "port": self.address.port() },
                "forwarder": [forwarder("IF-1"), forwarder("EF-1")],
            },
            "cats-nma:network-metrics": { "path": [{ "ingress": "IF-1", "egress": "EF-1", "delay": "4.0" }] },
            "cats-pce:path-computation": { "topology": {
                "node": [
                    node("IF-1", "2001:db8:1::4"),
                    node("EF-1", "2001:db8:2::4"),
                    { "node-id": "T", "end-sid": "2001:db8:9::1" },
                ],
                "link": [link("IF-1", "T"), link("T", "EF-1")],
            } },
            "cats-system:system": self.system("C-PS-1"),
        })
    }

    fn remote(&self) -> Value {
        json!({
            "address": self.address.ip().to_string(),
            "port": self.address.port(),
            "node-id": "C-PS-1",
        })
    }

    fn ingress_config(&self) -> Value {
        json!({
            "base": { "enable": true },
            "traffic-classifiers": classifier(),
            "cats-services:services": services("EF-1", "EF-1"),
            "cats-forwarder:forwarder": {
                "node-id": "IF-1",
                "path-selector": self.remote(),
                "ingress": { "decapsulation-sid-v4": "2001:db8:1::4" },
            },
            "cats-system:system": self.system("IF-1"),
        })
    }

    fn egress_config(&self) -> Value {
        json!({
            "base": { "enable": true },
            "cats-forwarder:forwarder": {
                "node-id": "EF-1",
                "path-selector": self.remote(),
                "egress": {
                    "decapsulation-sid-v4": "2001:db8:2::4",
                    "delivery": [{ "csci-id": "198.51.100.11", "locator": [{ "address": "198.51.100.11" }] }],
                },
            },
            "cats-system:system": self.system("EF-1"),
        })
    }

    /// Runs all engines until `done` says so.
    fn until<T>(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            let mut context = Context::from_waker(Waker::noop());
            for node in self.cps.iter_mut().chain([&mut self.ingress, &mut self.egress]) {
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

    fn until_attached(&mut self) {
        self.until("both forwarders attached", |bed| {
            let state = bed.cps.as_mut()?.state(&["/cats-cps:path-selector/forwarders"]);
            let nodes = state["cats-cps:path-selector"]["forwarders"]["status"].as_array()?.clone();
            let attached = nodes.iter().filter(|node| node["control-plane"] == "attached").count();
            let own = bed.ingress.state(&["/cats-forwarder:forwarder/status"]);
            (attached == 2 && own["cats-forwarder:forwarder"]["status"]["attached"] == json!(true))
                .then_some(())
        });
    }

    /// What becomes of the first packet of a flow.
    fn first_packet(&mut self, port: u16) -> Verdict {
        let id = self.ingress.kernel.packet(key(port));
        self.until("a verdict", |bed| {
            let verdicts = bed.ingress.kernel.verdicts();
            verdicts.into_iter().find(|(packet, _)| *packet == id).map(|(_, verdict)| verdict)
        })
    }
}

fn classifier() -> Value {
    json!({ "traffic-classifier": [{ "cs-id": 1, "server-port": 443, "protocol": 6 }] })
}

/// Proves CP-9, CP-11, CP-20.
#[test]
fn a_flow_is_bound_across_nodes_along_the_segments_of_the_path() {
    let mut bed = Bed::new();
    bed.until_attached();
    assert_eq!(bed.first_packet(40_000), Verdict::Release);
    let fate = bed.ingress.kernel.model(|model| model.forward(key(40_000), 60, false));
    assert!(matches!(fate, Fate::Forwarded(locator) if locator.to_string() == "198.51.100.11"));
    let state = bed.ingress.state(&["/cats-forwarder:forwarder/bindings"]);
    let binding = &state["cats-forwarder:forwarder"]["bindings"]["binding"][0];
    assert_eq!(binding["encapsulation"], "srv6-encaps-red");
    assert_eq!(binding["segment"], json!(["2001:db8:9::1", "2001:db8:2::4"]));
    assert_eq!(binding["egress"], "EF-1");
    bed.until("the flow to be ACTIVE at the path selector", |bed| {
        let state = bed.cps.as_mut()?.state(&["/cats-cps:path-selector/flows"]);
        (state["cats-cps:path-selector"]["flows"]["flow"][0]["state"] == "ACTIVE").then_some(())
    });
    let state = bed.cps.as_mut().unwrap().state(&["/cats-cps:path-selector/decisions"]);
    let decision = &state["cats-cps:path-selector"]["decisions"]["decision"][0];
    assert_eq!(decision["path"]["segment"], binding["segment"], "{decision}");
}

/// Proves CP-24.
#[test]
fn a_request_that_waited_too_long_at_the_path_selector_is_refused() {
    let mut bed = Bed::new();
    bed.until_attached();
    let id = bed.ingress.kernel.packet(key(40_000));
    // The path selector's thread gets to what was read only this much later.
    let late = Duration::from_millis(200);
    let begin = Instant::now();
    let verdict = loop {
        let mut context = Context::from_waker(Waker::noop());
        bed.ingress.engine.handle_arrivals(&mut context, Now::read());
        bed.ingress.step();
        let now = Now { at: Instant::now() + late, ..Now::read() };
        bed.cps.as_mut().unwrap().engine.handle_arrivals(&mut context, now);
        let verdicts = bed.ingress.kernel.verdicts();
        if let Some((_, verdict)) = verdicts.into_iter().find(|(packet, _)| *packet == id) {
            break verdict;
        }
        assert!(begin.elapsed() < BOUND, "no verdict");
        std::thread::yield_now();
    };
    assert_eq!(verdict, Verdict::Drop);
    let state = bed.cps.as_mut().unwrap().state(&["/cats-cps:path-selector/statistics"]);
    let refused = state["cats-cps:path-selector"]["statistics"]["refused"].as_array().unwrap();
    assert!(refused.contains(&json!({ "cause": "deadline", "requests": "1" })), "{refused:?}");
}

/// Proves CP-23, CP-24, CP-38.
#[test]
fn without_its_path_selector_an_ingress_holds_and_drops_new_flows_and_learns_to_bind_again() {
    let mut bed = Bed::new();
    bed.until_attached();
    assert_eq!(bed.first_packet(40_000), Verdict::Release);
    bed.cps = None;
    bed.until("the ingress to notice", |bed| {
        let state = bed.ingress.state(&["/cats-forwarder:forwarder/status"]);
        let status = &state["cats-forwarder:forwarder"]["status"];
        (status["attached"] == json!(false) && status["data-plane-fault"] == Value::Null).then_some(())
    });
    assert_eq!(bed.first_packet(40_001), Verdict::Drop);
    let state = bed.ingress.state(&["/cats-forwarder:forwarder/status"]);
    let drops = state["cats-forwarder:forwarder"]["status"]["drop"].as_array().unwrap().clone();
    assert!(drops.iter().any(|drop| drop["reason"] == "hold-expired" && drop["packets"] == "1"), "{drops:?}");
    assert_eq!(bed.ingress.kernel.model(|model| model.flows()), [key(40_000)], "the established flow stands");

    bed.restart_cps();
    bed.until_attached();
    assert_eq!(bed.first_packet(40_002), Verdict::Release);
    bed.until("the path selector to know the old flow again", |bed| {
        let state = bed.cps.as_mut()?.state(&["/cats-cps:path-selector/flows"]);
        let flows = state["cats-cps:path-selector"]["flows"]["flow"].as_array()?.clone();
        (flows.iter().filter(|flow| flow["state"] == "ACTIVE").count() == 2).then_some(())
    });
}

/// Proves CP-27.
#[test]
fn a_forwarder_that_leaves_the_configuration_is_let_go_and_comes_back_when_it_returns() {
    let mut bed = Bed::new();
    bed.until_attached();
    let list = "cats-cps:path-selector/forwarder[node-id='IF-1']";
    let delete = cats_engine_transport::management::Change {
        path: format!("{}/{list}", bed::CATS),
        edit: cats_engine_transport::management::Edit::Delete,
        after: None,
    };
    let cps = bed.cps.as_mut().unwrap();
    assert!(cps.prepare(1, vec![delete]).is_ok());
    assert_eq!(cps.apply(2), Ok(()));
    let reason = bed.until("the ingress to be refused", |bed| {
        let state = bed.ingress.state(&["/cats-forwarder:forwarder/status"]);
        let reason = state["cats-forwarder:forwarder"]["status"]["detached-reason"].as_str()?.to_owned();
        reason.contains("not configured").then_some(reason)
    });
    assert!(reason.contains("forwarder IF-1 is not configured here"), "{reason}");
    let cps = bed.cps.as_mut().unwrap();
    assert!(cps.prepare(2, vec![bed::set(list, &json!({ "node-id": "IF-1" }))]).is_ok());
    assert_eq!(cps.apply(3), Ok(()));
    bed.until_attached();
    assert_eq!(bed.first_packet(40_000), Verdict::Release);
}
