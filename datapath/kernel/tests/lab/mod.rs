//! Network namespaces with a client, an ingress, a transit node, an egress and an instance; made by
//! iproute2, gone when dropped. Needs root.

#![allow(dead_code, unreachable_pub)] // each test binary uses a part of it

pub mod capture;
pub mod traffic;

use cats_datapath_core::{
    AccessInterface, Backend, DeliveryConfig, EgressConfig, ForwarderConfig, IngressConfig, PlaneCounters,
    PlaneDrop, Sids,
};
use cats_datapath_kernel::Steering;
use cats_engine_types::{
    Binding, BindingStatus, CsId, CsciId, Encaps, Encapsulation, Epoch, FlowKey, Forward, Generation,
    Lifetime, Locator, Micros, NodeId, Path, Protocol, Segments, ServiceAddress, ServiceRequest, TenantId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub const CLIENT4: &str = "192.0.2.10";
pub const CLIENT6: &str = "2001:db8:c::10";
pub const SERVICE4: &str = "192.0.2.100:443";
pub const SERVICE6: &str = "[2001:db8:c::100]:443";
pub const INSTANCE4: &str = "198.51.100.21";
pub const INSTANCE6: &str = "2001:db8:e::21";
pub const TRANSIT_SID: &str = "fc00:2::1";
pub const EGRESS_SID4: &str = "fc00:3::4";
pub const EGRESS_SID6: &str = "fc00:3::6";
pub const RETURN_SID4: &str = "fc00:1::4";
pub const RETURN_SID6: &str = "fc00:1::6";

/// What a condition waits for at most.
const PATIENCE: Duration = Duration::from_secs(10);

static COUNT: AtomicU32 = AtomicU32::new(0);

/// Runs iproute2 or another tool, which must succeed.
pub fn run(line: &str) {
    let mut words = line.split_whitespace();
    let output = Command::new(words.next().unwrap()).args(words).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Looks at a condition until it holds, or fails with its name.
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

/// A network namespace.
#[derive(Debug)]
pub struct Space {
    pub name: String,
}

impl Space {
    pub fn new(role: &str, number: u32) -> Self {
        let name = format!("cats-{}-{number}-{role}", std::process::id());
        run(&format!("ip netns add {name}"));
        let space = Self { name };
        space.ip("link set lo up");
        // Addresses are usable at once.
        space.sysctl("net.ipv6.conf.default.accept_dad=0");
        space.sysctl("net.ipv6.conf.all.accept_dad=0");
        space
    }

    pub fn ip(&self, arguments: &str) {
        let v6 = if arguments.contains("route") && arguments.contains(':') { "-6 " } else { "" };
        run(&format!("ip {v6}-n {} {arguments}", self.name));
    }

    pub fn sysctl(&self, setting: &str) {
        run(&format!("ip netns exec {} sysctl -q -w {setting}", self.name));
    }

    /// Output of a tool run in it.
    pub fn output(&self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let output =
            Command::new("ip").args(["netns", "exec", &self.name]).args(words.by_ref()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs something in a thread inside of it.
    pub fn spawn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let path = format!("/run/netns/{}", self.name);
        std::thread::spawn(move || {
            let file = std::fs::File::open(path).unwrap();
            let kind = rustix::thread::LinkNameSpaceType::Network;
            rustix::thread::move_into_link_name_space(file.as_fd(), Some(kind)).unwrap();
            work()
        })
    }

    /// The same, and waits for it.
    pub fn inside<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        self.spawn(work).join().unwrap()
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}

/// Connects two namespaces with a pair of interfaces that carry the names of the other side's role.
fn wire(a: &Space, a_name: &str, b: &Space, b_name: &str) {
    run(&format!("ip link add {a_name} netns {} type veth peer name {b_name} netns {}", a.name, b.name));
    a.ip(&format!("link set {a_name} up"));
    b.ip(&format!("link set {b_name} up"));
}

/// Client – ingress – transit – egress – instance.
pub struct Chain {
    pub client: Space,
    pub ingress: Space,
    pub transit: Space,
    pub egress: Space,
    pub instance: Space,
}

impl Chain {
    pub fn new() -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let [client, ingress, transit, egress, instance] =
            ["client", "ingress", "transit", "egress", "inst"].map(|role| Space::new(role, number));
        wire(&client, "net", &ingress, "access");
        wire(&ingress, "core", &transit, "west");
        wire(&transit, "east", &egress, "core");
        wire(&egress, "site", &instance, "net");
        client.ip("addr add 192.0.2.10/24 dev net");
        client.ip("addr add 2001:db8:c::10/64 dev net");
        ingress.ip("addr add 192.0.2.1/24 dev access");
        ingress.ip("addr add 2001:db8:c::1/64 dev access");
        ingress.ip("addr add fd00:12::1/64 dev core");
        ingress.ip("addr add fd00::1/128 dev lo");
        ingress.ip("route add fc00:2::/32 via fd00:12::2");
        ingress.ip("route add fc00:3::/32 via fd00:12::2");
        transit.ip("addr add fd00:12::2/64 dev west");
        transit.ip("addr add fd00:23::2/64 dev east");
        for setting in ["forwarding=1", "seg6_enabled=1"] {
            transit.sysctl(&format!("net.ipv6.conf.all.{setting}"));
        }
        transit.sysctl("net.ipv6.conf.west.seg6_enabled=1");
        transit.sysctl("net.ipv6.conf.east.seg6_enabled=1");
        transit.ip("route add fc00:1::/32 via fd00:12::1");
        transit.ip("route add fd00::1/128 via fd00:12::1");
        transit.ip("route add fc00:3::/32 via fd00:23::3");
        transit.ip("route add fd00::3/128 via fd00:23::3");
        transit.ip("route add fc00:2::1/128 encap seg6local action End dev west");
        egress.ip("addr add fd00:23::3/64 dev core");
        egress.ip("addr add fd00::3/128 dev lo");
        egress.ip("addr add 198.51.100.1/24 dev site");
        egress.ip("addr add 2001:db8:e::1/64 dev site");
        egress.ip("route add fc00:1::/32 via fd00:23::2");
        egress.ip("route add fc00:2::/32 via fd00:23::2");
        instance.ip("addr add 198.51.100.21/24 dev net");
        instance.ip("addr add 2001:db8:e::21/64 dev net");
        instance.ip("route add default via 198.51.100.1");
        instance.ip("route add ::/0 via 2001:db8:e::1");
        Self { client, ingress, transit, egress, instance }
    }
}

/// Client – node – instance.
pub struct Single {
    pub client: Space,
    pub node: Space,
    pub instance: Space,
}

impl Single {
    pub fn new() -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let [client, node, instance] = ["client", "node", "inst"].map(|role| Space::new(role, number));
        wire(&client, "net", &node, "access");
        wire(&node, "site", &instance, "net");
        client.ip("addr add 192.0.2.10/24 dev net");
        client.ip("addr add 2001:db8:c::10/64 dev net");
        node.ip("addr add 192.0.2.1/24 dev access");
        node.ip("addr add 2001:db8:c::1/64 dev access");
        node.ip("addr add 198.51.100.1/24 dev site");
        node.ip("addr add 2001:db8:e::1/64 dev site");
        instance.ip("addr add 198.51.100.21/24 dev net");
        instance.ip("addr add 2001:db8:e::21/64 dev net");
        instance.ip("route add default via 198.51.100.1");
        instance.ip("route add ::/0 via 2001:db8:e::1");
        Self { client, node, instance }
    }
}

pub fn node(name: &str) -> NodeId {
    name.parse().unwrap()
}

pub fn service() -> CsId {
    CsId::number(1).unwrap()
}

pub fn instance_id() -> CsciId {
    CsciId::number(21).unwrap()
}

/// The service at both addresses, over TCP and UDP.
pub fn services() -> BTreeMap<ServiceAddress, CsId> {
    let mut services = BTreeMap::new();
    for address in [SERVICE4, SERVICE6] {
        let address: SocketAddr = address.parse().unwrap();
        for protocol in [Protocol::TCP, Protocol::UDP] {
            let address = ServiceAddress { address: address.ip(), protocol, port: address.port() };
            services.insert(address, service());
        }
    }
    services
}

pub fn ingress_config() -> IngressConfig {
    IngressConfig {
        access: vec![AccessInterface { name: "access".to_owned(), tenant: TenantId(7) }],
        services: services(),
        on_link: BTreeSet::from([SERVICE4, SERVICE6].map(|a| a.parse::<SocketAddr>().unwrap().ip())),
        ..IngressConfig::default()
    }
}

pub fn ingress() -> ForwarderConfig {
    let sids = Sids { v4: RETURN_SID4.parse().ok(), v6: RETURN_SID6.parse().ok() };
    ForwarderConfig {
        node: node("IF-1"),
        underlay_source: "fd00::1".parse().ok(),
        ingress: Some(IngressConfig { return_sids: sids, ..ingress_config() }),
        egress: None,
    }
}

pub fn deliveries() -> Vec<DeliveryConfig> {
    let delivery = |address: &str| DeliveryConfig {
        csci_id: instance_id(),
        locator: Locator { address: address.parse().unwrap(), port: None },
        protocol: None,
        next_hop: None,
        interface: None,
    };
    vec![delivery(INSTANCE4), delivery(INSTANCE6)]
}

pub fn egress() -> ForwarderConfig {
    let owners = [("192.0.2.0/24", RETURN_SID4), ("2001:db8:c::/64", RETURN_SID6)];
    let owners =
        owners.map(|(prefix, sid)| (prefix.parse().unwrap(), srv6(Encaps::Reduced, &[TRANSIT_SID, sid])));
    ForwarderConfig {
        node: node("EF-2"),
        underlay_source: "fd00::3".parse().ok(),
        ingress: None,
        egress: Some(EgressConfig {
            sids: Sids { v4: EGRESS_SID4.parse().ok(), v6: EGRESS_SID6.parse().ok() },
            deliveries: deliveries(),
            owners: owners.into(),
        }),
    }
}

/// All roles in one node.
pub fn single() -> ForwarderConfig {
    ForwarderConfig {
        node: node("N-1"),
        underlay_source: None,
        ingress: Some(ingress_config()),
        egress: Some(EgressConfig { deliveries: deliveries(), ..EgressConfig::default() }),
    }
}

pub fn srv6(mode: Encaps, sids: &[&str]) -> Encapsulation {
    let segments: Vec<_> = sids.iter().map(|sid| sid.parse().unwrap()).collect();
    Encapsulation::Srv6 { mode, segments: Segments::try_from(segments).unwrap() }
}

/// Segments to the egress, for the family of a flow.
pub fn to_egress(mode: Encaps, key: &FlowKey) -> Encapsulation {
    let last = if key.client().is_ipv4() { EGRESS_SID4 } else { EGRESS_SID6 };
    srv6(mode, &[TRANSIT_SID, last])
}

/// What a C-PS would answer.
pub fn binding(request: &ServiceRequest, port: Option<u16>, encapsulation: Encapsulation) -> Binding {
    let key = request.key;
    let address: IpAddr = if key.client().is_ipv4() { INSTANCE4 } else { INSTANCE6 }.parse().unwrap();
    let path = Path {
        headend: request.ingress.clone(),
        endpoint: node("EF-2"),
        encapsulation,
        delay: Micros(9000),
        mtu: 1500,
        generation: Generation(1),
    };
    let locator = Locator { address, port };
    let forward = Forward { key, csci_id: instance_id(), locator, egress: node("EF-2"), path };
    Binding {
        transaction: request.transaction,
        cs_id: service(),
        reverse: Binding::reverse_of(&forward),
        forward,
        lifetime: Lifetime { idle: Some(Duration::from_secs(120)), hard: None },
        epoch: Epoch(1),
        version: 1,
    }
}

type Task = Box<dyn FnOnce(&mut Steering) + Send>;
type Policy = Box<dyn FnMut(&ServiceRequest) -> Option<Binding> + Send>;

/// What a running forwarder has told.
#[derive(Debug, Default)]
pub struct Told {
    pub requests: Vec<ServiceRequest>,
    pub statuses: Vec<BindingStatus>,
}

/// A forwarder in a thread of its namespace, with a policy in the place of a C-PS.
pub struct Running {
    pub told: Arc<Mutex<Told>>,
    commands: Sender<Task>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts one; requests get the policy's answer at once, or none.
    pub fn start(
        space: &Space,
        config: &ForwarderConfig,
        policy: impl FnMut(&ServiceRequest) -> Option<Binding> + Send + 'static,
    ) -> Self {
        let (commands, inbox) = channel::<Task>();
        let (ready, started) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::new(Mutex::new(Told::default()));
        let (config, halt, log) = (config.clone(), stop.clone(), told.clone());
        let mut policy: Policy = Box::new(policy);
        let thread = space.spawn(move || {
            let epoch = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos();
            let epoch = Epoch(u64::try_from(epoch).unwrap());
            let (mut steering, applied) = Steering::open(&config, epoch, Instant::now()).unwrap();
            ready.send(applied).unwrap();
            while !halt.load(Ordering::Relaxed) {
                steering.wait(None, Duration::from_millis(5), Instant::now()).unwrap();
                while let Ok(command) = inbox.try_recv() {
                    command(&mut steering);
                }
                let mut effects = steering.step(Instant::now()).unwrap();
                assert_eq!(effects.faults, []);
                let mut log = log.lock().unwrap();
                log.statuses.append(&mut effects.statuses);
                for request in effects.requests {
                    if let Some(binding) = policy(&request) {
                        steering.forwarder().ingress().handle_binding(binding, Instant::now());
                    }
                    log.requests.push(request);
                }
            }
        });
        started.recv_timeout(PATIENCE).unwrap();
        Self { told, commands, stop, thread: Some(thread) }
    }

    /// Does something with the forwarder in its thread.
    pub fn with<T: Send + 'static>(&self, work: impl FnOnce(&mut Steering) -> T + Send + 'static) -> T {
        let (answer, result) = channel();
        self.commands.send(Box::new(move |steering| answer.send(work(steering)).unwrap())).unwrap();
        result.recv_timeout(PATIENCE).unwrap()
    }

    pub fn counters(&self) -> PlaneCounters {
        self.with(|steering| steering.forwarder().backend().counters().unwrap())
    }

    pub fn drops(&self, reason: PlaneDrop) -> u64 {
        self.counters().drops.get(&reason).map_or(0, |tally| tally.packets)
    }

    /// Ends the thread without a word to the kernel, as kill -9 would.
    pub fn abandon(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            if !std::thread::panicking() {
                ended.unwrap();
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}
