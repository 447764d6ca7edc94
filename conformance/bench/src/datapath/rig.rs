//! The rig: a sender, the forwarder that is measured, a sink; and the meter. The sender and the sink run on CPU 0,
//! the receiving link's packet processing on CPU 1 as a kernel thread of its own, whose time is the cost.

use super::load::{Load, Traffic};
use crate::cpu::{nanos, pin};
use cats_conformance::command::run;
use cats_conformance::namespace::{Namespace, join};
use rustix::process::Pid;
use std::fs;
use std::net::Ipv4Addr;
use std::time::Duration;

/// How often the sink looks for packets; its ring holds 256.
const SINK_PERIOD_NANOS: u32 = 50_000;
/// So many looks in vain before it waits to be woken.
const SINK_IDLE_PERIODS: u32 = 100_000;

/// The link that frames are sent into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    /// Index of its end at the source.
    pub(super) sender: u32,
    pub(super) sender_mac: [u8; 6],
    pub(super) receiver_mac: [u8; 6],
}

/// Three namespaces in a row with their links.
pub(super) struct Rig {
    /// Where frames are made.
    pub(super) source: Namespace,
    /// What is measured.
    pub(super) forwarder: Namespace,
    /// Where packets are dropped.
    pub(super) sink: Namespace,
    ends: Ends,
    load: Load,
    /// Keeps the sink's program on its link.
    _sink_program: libbpf_rs::Link,
    /// The kernel thread that processes what the forwarder receives.
    worker: i32,
}

impl Rig {
    /// Address of the first client; flows count up from here.
    pub(super) const FIRST_CLIENT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
    /// First port of each client.
    pub(super) const FIRST_PORT: u16 = 1024;
    /// The service address of the traffic that is steered.
    pub(super) const SERVICE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 100);
    /// Its port.
    pub(super) const PORT: u16 = 443;
    /// The instance.
    pub(super) const INSTANCE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 21);
    /// The segments of the path: a transit node and the egress.
    pub(super) const SEGMENTS: [&'static str; 2] = ["2001:db8:e:1::1", "2001:db8:e:2::1"];
    /// Outer source address.
    pub(super) const SOURCE: &'static str = "2001:db8:1::1";
    /// Link of the clients in the forwarder.
    pub(super) const ACCESS: &'static str = "d0";
    /// Link of the underlay in the forwarder.
    pub(super) const UNDERLAY: &'static str = "d1";

    /// Lays it out; `label` tells it from other rigs of this process.
    pub(super) fn lay_out(label: &str) -> Result<Self, String> {
        let name = |role: &str| format!("cats-bench-{}-{label}-{role}", std::process::id());
        let made = |result: cats_conformance::Result<Namespace>| result.map_err(|error| error.to_string());
        let source = made(Namespace::create(&name("source")))?;
        let forwarder = made(Namespace::create(&name("forwarder")))?;
        let sink = made(Namespace::create(&name("sink")))?;
        configure(&source, &forwarder, &sink).map_err(|error| error.to_string())?;
        let (sender, sender_mac) = link(&source, "g0")?;
        let (_, receiver_mac) = link(&forwarder, Self::ACCESS)?;
        let (sink_index, sink_mac) = link(&sink, "s0")?;
        let gateway = sink_mac.map(|octet| format!("{octet:02x}")).join(":");
        for next in ["198.51.100.2", "2001:db8:1::2"] {
            forwarder
                .ip(&["neigh", "add", next, "lladdr", &gateway, "dev", Self::UNDERLAY, "nud", "permanent"])
                .map_err(|error| error.to_string())?;
        }
        let mut load = Load::open()?;
        let sink_program =
            sink.enter(|| load.attach_sink(sink_index)).map_err(|error| error.to_string())??;
        let worker = threaded(&forwarder, Self::ACCESS, 1)?;
        moderate(&sink, "s0")?;
        // Before the sender on the same CPU, or the sink's ring overflows.
        let sink_worker = threaded(&sink, "s0", 0)?;
        run("chrt", &["-f", "-p", "1", &sink_worker.to_string()]).map_err(|error| error.to_string())?;
        Ok(Self {
            source,
            forwarder,
            sink,
            ends: Ends { sender, sender_mac, receiver_mac },
            load,
            _sink_program: sink_program,
            worker,
        })
    }

    /// Sends the traffic for a while; CPU time of the forwarder a packet that reached the sink, ns.
    pub(super) fn measure(&mut self, traffic: Traffic, duration: Duration) -> Result<f64, String> {
        let before = (self.worker_nanos()?, self.arrived()?);
        self.send(traffic, duration)?;
        let after = (self.worker_nanos()?, self.arrived()?);
        let packets = after.1.saturating_sub(before.1);
        if packets < 1000 {
            return Err(format!("only {packets} packets reached the sink; the forwarder does not forward"));
        }
        #[allow(clippy::cast_precision_loss)] // both far below 2^52
        let nanos = after.0.saturating_sub(before.0) as f64 / packets as f64;
        Ok(nanos)
    }

    /// Sends the traffic for a while.
    pub(super) fn send(&mut self, traffic: Traffic, duration: Duration) -> Result<(), String> {
        let (load, ends) = (&mut self.load, self.ends);
        let sent = self.source.enter(move || {
            pin(None, 0)?;
            load.send(ends, traffic, duration)
        });
        sent.map_err(|error| error.to_string())?
    }

    /// Sends the traffic for a while and gives a frame that arrived at the sink meanwhile, its first octets.
    pub(super) fn sample(&mut self, traffic: Traffic, duration: Duration) -> Result<Vec<u8>, String> {
        self.load.forget_sample()?;
        self.send(traffic, duration)?;
        self.load.sample()?.ok_or_else(|| "no frame reached the sink".to_owned())
    }

    fn worker_nanos(&self) -> Result<u64, String> {
        nanos(&format!("/proc/{}/schedstat", self.worker))
    }

    fn arrived(&self) -> Result<u64, String> {
        let text = self.sink.ip(&["-s", "-j", "link", "show", "s0"]).map_err(|error| error.to_string())?;
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        value[0]["stats64"]["rx"]["packets"].as_u64().ok_or("the sink has no packet counter".to_owned())
    }
}

fn configure(source: &Namespace, forwarder: &Namespace, sink: &Namespace) -> cats_conformance::Result<()> {
    forwarder.make_router()?;
    join((source, "g0"), (forwarder, Rig::ACCESS), 1500)?;
    join((forwarder, Rig::UNDERLAY), (sink, "s0"), 1600)?;
    forwarder.add_addresses(Rig::ACCESS, &["198.18.255.254/15"])?;
    forwarder.add_addresses(Rig::UNDERLAY, &["198.51.100.1/30", &format!("{}/64", Rig::SOURCE)])?;
    forwarder.ip(&["route", "add", "198.51.100.16/28", "via", "198.51.100.2"])?;
    forwarder.ip(&["-6", "route", "add", "2001:db8:e::/48", "via", "2001:db8:1::2"])?;
    forwarder.ip(&["sr", "tunsrc", "set", Rig::SOURCE])?;
    forwarder.run("ethtool", &["-K", Rig::ACCESS, "gro", "on"])?;
    Ok(())
}

/// Index and hardware address of a link.
fn link(namespace: &Namespace, name: &str) -> Result<(u32, [u8; 6]), String> {
    let text = namespace.ip(&["-j", "link", "show", name]).map_err(|error| error.to_string())?;
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let index = value[0]["ifindex"].as_u64().and_then(|index| u32::try_from(index).ok());
    let mut mac = [0; 6];
    for (octet, text) in mac.iter_mut().zip(value[0]["address"].as_str().unwrap_or_default().split(':')) {
        *octet = u8::from_str_radix(text, 16).map_err(|error| error.to_string())?;
    }
    Ok((index.ok_or(format!("{name} has no index"))?, mac))
}

/// Gives the link's packet processing a kernel thread of its own on one CPU; its process id.
fn threaded(namespace: &Namespace, link: &str, cpu: usize) -> Result<i32, String> {
    let before = workers(link)?;
    let file = format!("/sys/class/net/{link}/threaded");
    namespace.run("sh", &["-c", &format!("echo 1 > {file}")]).map_err(|error| error.to_string())?;
    // Other rigs have links of the same name, and process ids begin anew some time.
    let worker = workers(link)?.into_iter().find(|worker| !before.contains(worker));
    let worker = worker.ok_or(format!("the kernel started no thread for {link}"))?;
    pin(Pid::from_raw(worker), cpu)?;
    Ok(worker)
}

/// Process ids of the kernel's threads for links of that name.
fn workers(link: &str) -> Result<Vec<i32>, String> {
    let prefix = format!("napi/{link}-");
    let entries = fs::read_dir("/proc").map_err(|error| format!("cannot list /proc: {error}"))?;
    let all = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let named = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with(&prefix))
    };
    Ok(all.filter(named).collect())
}

/// Has the link look for packets by itself, as a network card does that moderates its interrupts: the one that sends
/// into it never has to wake it, which would cost a slow forwarder more than a fast one.
fn moderate(namespace: &Namespace, link: &str) -> Result<(), String> {
    let folder = format!("/sys/class/net/{link}");
    let set = format!(
        "echo {SINK_PERIOD_NANOS} > {folder}/gro_flush_timeout; echo {SINK_IDLE_PERIODS} > {folder}/napi_defer_hard_irqs"
    );
    namespace.run("sh", &["-ec", &set]).map(drop).map_err(|error| error.to_string())
}
