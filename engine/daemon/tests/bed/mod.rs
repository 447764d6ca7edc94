//! Engines on the model data plane, and configurations for them.

#![allow(unreachable_pub)] // a test program has no other crate
#![allow(dead_code)] // each test program uses a part

pub mod instance;
pub mod pki;

use cats_datapath_core::model::Model;
use cats_datapath_core::{
    Adopted, Applied, Backend, BackendError, Effects, Forwarder, ForwarderConfig, Ingress, Install, PacketId,
    PlaneCounters, Pruned, PuntedPacket, Verdict,
};
use cats_engine_daemon::engine::{Engine, Now, Parts};
use cats_engine_daemon::plane::Plane;
use cats_engine_daemon::store::Store;
use cats_engine_transport::management::{Attached, Call, Change, ConfigId, Edit, Fault};
use cats_engine_types::{
    Binding, Capabilities, Counters, Epoch, FlowKey, InstallFailure, NodeId, Protocol, Revision,
};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

/// The kernel of one node, as far as it outlives the engine.
#[derive(Debug, Clone, Default)]
pub struct Kernel(Rc<RefCell<Inside>>);

#[derive(Debug, Default)]
struct Inside {
    model: Model,
    arrived: Vec<PuntedPacket>,
    verdicts: Vec<(PacketId, Verdict)>,
    next: u32,
}

impl Kernel {
    /// A packet of a client; it is punted. Gives its name.
    pub fn packet(&self, key: FlowKey) -> PacketId {
        let mut inside = self.0.borrow_mut();
        inside.next += 1;
        let id = PacketId(inside.next);
        inside.arrived.push(PuntedPacket { id, key, octets: 60, interface: None });
        id
    }

    /// What became of packets since the last time.
    pub fn verdicts(&self) -> Vec<(PacketId, Verdict)> {
        std::mem::take(&mut self.0.borrow_mut().verdicts)
    }

    pub fn model<T>(&self, look: impl FnOnce(&mut Model) -> T) -> T {
        look(&mut self.0.borrow_mut().model)
    }
}

thread_local! {
    /// What the engines of this thread find, by the name of the forwarder.
    static KERNELS: RefCell<BTreeMap<NodeId, Kernel>> = const { RefCell::new(BTreeMap::new()) };
}

/// A forwarder on the model.
#[derive(Debug)]
pub struct ModelPlane {
    forwarder: Forwarder<Kernel>,
    kernel: Kernel,
}

impl Plane for ModelPlane {
    fn open(config: &ForwarderConfig, epoch: Epoch, now: Instant) -> Result<(Self, Applied), BackendError> {
        let kernel = KERNELS.with(|kernels| kernels.borrow()[&config.node].clone());
        let (forwarder, applied) = Forwarder::start(kernel.clone(), config, epoch, now)?;
        Ok((Self { forwarder, kernel }, applied))
    }

    fn reconfigure(&mut self, config: &ForwarderConfig, now: Instant) -> Result<Applied, BackendError> {
        self.forwarder.reconfigure(config, now)
    }

    fn ingress(&mut self) -> &mut Ingress {
        self.forwarder.ingress()
    }

    fn step(&mut self, now: Instant) -> io::Result<Effects> {
        let arrived = std::mem::take(&mut self.kernel.0.borrow_mut().arrived);
        for packet in arrived {
            self.forwarder.ingress().handle_packet(packet, now);
        }
        self.forwarder.ingress().handle_timeout(now);
        let mut effects = self.forwarder.drain(now);
        self.forwarder.ingress().handle_drained();
        let more = self.forwarder.drain(now);
        effects.statuses.extend(more.statuses);
        self.kernel.0.borrow_mut().verdicts.append(&mut effects.verdicts);
        Ok(effects)
    }

    fn wait(&mut self, _: BorrowedFd<'_>, _: Duration, _: Instant) -> io::Result<()> {
        Ok(())
    }

    fn capabilities(&mut self) -> Capabilities {
        self.kernel.capabilities()
    }

    fn prune(&mut self) -> Result<Pruned, BackendError> {
        self.kernel.prune()
    }

    fn counters(&mut self) -> Result<PlaneCounters, BackendError> {
        self.kernel.counters()
    }
}

impl Backend for Kernel {
    fn capabilities(&self) -> Capabilities {
        self.0.borrow().model.capabilities()
    }

    fn apply_static(&mut self, config: &ForwarderConfig) -> Result<Applied, BackendError> {
        self.0.borrow_mut().model.apply_static(config)
    }

    fn adopt(&mut self) -> Result<Vec<Adopted>, BackendError> {
        self.0.borrow_mut().model.adopt()
    }

    fn prune(&mut self) -> Result<Pruned, BackendError> {
        self.0.borrow_mut().model.prune()
    }

    fn commit(&mut self, installs: &[Install]) -> Vec<Result<(), InstallFailure>> {
        self.0.borrow_mut().model.commit(installs)
    }

    fn activate(&mut self, bindings: &[Arc<Binding>]) -> Vec<Result<(), InstallFailure>> {
        self.0.borrow_mut().model.activate(bindings)
    }

    fn remove(&mut self, bindings: &[Arc<Binding>]) -> Result<Vec<Counters>, BackendError> {
        self.0.borrow_mut().model.remove(bindings)
    }

    fn last_used(&mut self, bindings: &[Arc<Binding>]) -> Result<Vec<Option<Duration>>, BackendError> {
        self.0.borrow_mut().model.last_used(bindings)
    }

    fn counters(&mut self) -> Result<PlaneCounters, BackendError> {
        self.0.borrow_mut().model.counters()
    }
}

/// A node: a state directory, a kernel, and the engine while it runs.
pub struct Node {
    pub engine: Engine<ModelPlane>,
    pub kernel: Kernel,
}

impl Node {
    /// Starts an engine on what is in the directory and, once it is the forwarder `name`, in the kernel.
    pub fn start(name: &str, dir: &Path, kernel: &Kernel, runtime: &Handle) -> Self {
        KERNELS.with(|kernels| kernels.borrow_mut().insert(name.parse().unwrap(), kernel.clone()));
        let (store, id, config) = Store::open(dir).unwrap();
        let epoch = store.next_epoch(1_000_000).unwrap();
        let parts = Parts { runtime: runtime.clone(), store, id, config, epoch };
        let engine = Engine::start(parts, Now::read());
        Self { engine, kernel: kernel.clone() }
    }

    pub fn step(&mut self) {
        while self.engine.step(Now::read()) {}
    }

    /// The alarms that it tells whoever begins to watch.
    pub fn alarms(&mut self) -> Vec<Value> {
        let (sender, mut told) = mpsc::channel(1);
        let paths = vec!["/ietf-alarms:alarms/alarm-list".to_owned()];
        self.engine.handle_call(Call::Watch { paths, deltas: sender }, Now::read());
        self.step();
        let document: Value = match told.try_recv().unwrap().json.as_slice() {
            [] => Value::Null,
            json => serde_json::from_slice(json).unwrap(),
        };
        document["ietf-alarms:alarms"]["alarm-list"]["alarm"].as_array().cloned().unwrap_or_default()
    }

    fn ask<T>(&mut self, call: impl FnOnce(oneshot::Sender<T>) -> Call) -> T {
        let (reply, mut answer) = oneshot::channel();
        self.engine.handle_call(call(reply), Now::read());
        answer.try_recv().expect("an answer at once")
    }

    pub fn attach(&mut self, revision: u64) -> Attached {
        self.ask(|reply| Call::Attach(id(revision), reply))
    }

    pub fn snapshot(&mut self, revision: u64, cats: &Value) -> Result<(), Vec<Fault>> {
        let document =
            serde_json::to_vec(&json!({ "ietf-routing:routing": { "ietf-cats:cats": cats } })).unwrap();
        self.ask(|reply| Call::Snapshot { id: id(revision), document, reply })
    }

    pub fn prepare(&mut self, base: u64, changes: Vec<Change>) -> Result<Vec<String>, Vec<Fault>> {
        let (revision, base) = (Revision(base + 1), Revision(base));
        self.ask(|reply| Call::Prepare { revision, base, changes, reply })
    }

    pub fn apply(&mut self, revision: u64) -> Result<(), String> {
        self.ask(|reply| Call::Apply(Revision(revision), reply))
    }

    pub fn abort(&mut self, revision: u64) {
        self.ask(|reply| Call::Abort(Revision(revision), reply));
    }

    /// Has an operation of `cats-exec` carried out.
    pub fn execute(&mut self, operation: &str, input: &Value) -> Result<Value, Vec<Fault>> {
        let input = serde_json::to_vec(&json!({ "cats-exec:input": input })).unwrap();
        let operation = format!("cats-exec:{operation}");
        let output = self.ask(|reply| Call::Execute { operation, input, reply })?;
        let document: Value = serde_json::from_slice(&output).unwrap();
        Ok(document["cats-exec:output"].clone())
    }

    /// State below `cats`, all pages merged by hand where there is more than one.
    pub fn state(&mut self, paths: &[&str]) -> Value {
        let paths = paths.iter().map(|path| format!("{CATS}{path}")).collect();
        let page = self.ask(|reply| Call::State { paths, limit: 0, page: None, reply }).unwrap();
        assert_eq!(page.next, None);
        let document: Value = serde_json::from_slice(&page.json).unwrap();
        document["ietf-routing:routing"]["ietf-cats:cats"].clone()
    }
}

pub const CATS: &str = "/ietf-routing:routing/ietf-cats:cats";

pub fn id(revision: u64) -> ConfigId {
    ConfigId { content_id: "c".to_owned(), datastore_id: "d".to_owned(), revision: Revision(revision) }
}

pub fn set(path: &str, value: &Value) -> Change {
    Change { path: format!("{CATS}/{path}"), edit: Edit::Set(value.to_string()), after: None }
}

pub fn key(port: u16) -> FlowKey {
    let client = std::net::SocketAddr::new("192.0.2.10".parse().unwrap(), port);
    FlowKey::new(Protocol::TCP, client, "192.0.2.100:443".parse().unwrap()).unwrap()
}

/// Service 1 on 192.0.2.100, TCP port 443, with the instances A and B behind these egresses.
pub fn services(a: &str, b: &str) -> Value {
    let instance = |address: &str, egress: &str| json!({ "csci-id": address, "egress": egress, "locator": [{ "address": address }] });
    json!({ "service": [{
        "cs-id": 1,
        "name": "S1",
        "address": ["192.0.2.100"],
        "constraints": { "max-network-delay": "10.0" },
        "instance": [instance("198.51.100.11", a), instance("198.51.100.21", b)],
    }] })
}

pub fn metric(instance: &str, computing: &str) -> Value {
    json!({
        "cs-id": 1, "csci-id": instance, "source-type": "static",
        "cats-cps:computing-time": computing, "cats-cps:gas": 100,
    })
}

/// All roles in one node `N`.
pub fn all_in_one() -> Value {
    let delivery = |address: &str| json!({ "csci-id": address, "locator": [{ "address": address }] });
    json!({
        "base": { "enable": true },
        "traffic-classifiers": { "traffic-classifier": [{ "cs-id": 1, "server-port": 443, "protocol": 6 }] },
        "service-metrics": {
            "service-metric": [metric("198.51.100.11", "20.0"), metric("198.51.100.21", "5.0")],
        },
        "cats-services:services": services("N", "N"),
        "cats-cps:path-selector": { "enabled": true, "node-id": "N" },
        "cats-nma:network-metrics": { "path": [{ "ingress": "N", "egress": "N", "delay": "1.0" }] },
        "cats-pce:path-computation": { "topology": { "node": [{ "node-id": "N" }] } },
        "cats-forwarder:forwarder": {
            "node-id": "N",
            "ingress": { "access-interface": [{ "name": "acc0" }] },
            "egress": { "delivery": [delivery("198.51.100.11"), delivery("198.51.100.21")] },
        },
    })
}
