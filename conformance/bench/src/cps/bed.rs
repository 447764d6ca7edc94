//! The deployments with the real daemons, configured for a load: limits that protect from one client are lifted, the
//! instances have slots for all flows, and the daemons that are measured run on CPU 1 alone.

use crate::cpu::{of_process, pin_process};
use cats_conformance::configuration::{Metric, cats, metrics};
use cats_conformance::deployment::{AllInOne, FourNodes};
use cats_conformance::lab::Lab;
use cats_conformance::layout::{Links, OneNode, Section14, link};
use cats_conformance::namespace::Namespace;
use cats_conformance::node::Node;

/// CPU of the measured daemons; all else of ours runs on the other one.
const MEASURED_CPU: usize = 1;
/// Lifts what is by default 1,000 flows a second of a client and 20,000 of a tenant.
const LIMITS: &str = "<path-selector xmlns=\"urn:catsd:yang:cats-cps\"><admission><client-rate>1000000000</client-rate>\
                      <tenant-rate>1000000000</tenant-rate></admission></path-selector>";
const SLOTS: u32 = 1_000_000_000;

/// A running deployment. Instance B is selected, and nothing serves there any more.
pub(super) struct Bed {
    /// The C-PS's node first, then the ingress's if it is another one.
    measured: Vec<Node>,
    _egresses: Vec<Node>,
    hosts: Hosts,
    _lab: Lab,
}

enum Hosts {
    One(OneNode),
    Four(Box<Section14>),
}

impl Bed {
    /// All roles in one node: the C-PS in the ingress's process.
    pub(super) fn one_node() -> Result<Self, String> {
        let started = AllInOne::start("bench-one", Links::default()).map_err(|error| error.to_string())?;
        let AllInOne { node, servers, hosts, lab } = started;
        drop(servers);
        let hosts = Hosts::One(hosts);
        Self { measured: vec![node], _egresses: Vec::new(), hosts, _lab: lab }.prepared()
    }

    /// C-PS, ingress and two egresses apart, with gRPC between them.
    pub(super) fn four_nodes() -> Result<Self, String> {
        let started = FourNodes::start("bench-four", Links::default()).map_err(|error| error.to_string())?;
        let FourNodes { selector, ingress, egresses, servers, hosts, lab, .. } = started;
        drop(servers);
        let hosts = Hosts::Four(Box::new(hosts));
        Self { measured: vec![selector, ingress], _egresses: egresses.into(), hosts, _lab: lab }.prepared()
    }

    fn prepared(self) -> Result<Self, String> {
        let roomy = |metric: Metric| Metric { gas: SLOTS, ..metric };
        let config = cats(&[LIMITS.to_owned(), metrics(roomy(Metric::A), roomy(Metric::B))].concat());
        let selector = self.measured.first().ok_or("there is no C-PS")?;
        selector.configure(&config).map_err(|error| error.to_string())?;
        for process in self.processes()? {
            pin_process(process, MEASURED_CPU)?;
        }
        Ok(self)
    }

    /// Whether requests and bindings go over gRPC.
    pub(super) fn is_distributed(&self) -> bool {
        matches!(self.hosts, Hosts::Four(_))
    }

    /// The client's host.
    pub(super) fn client(&self) -> &Namespace {
        match &self.hosts {
            Hosts::One(hosts) => &hosts.client,
            Hosts::Four(hosts) => &hosts.client,
        }
    }

    /// Instance B's host.
    pub(super) fn instance(&self) -> &Namespace {
        let [_, b] = match &self.hosts {
            Hosts::One(hosts) => &hosts.instances,
            Hosts::Four(hosts) => &hosts.instances,
        };
        b
    }

    /// Packets that have reached instance B.
    pub(super) fn arrived(&self) -> Result<u64, String> {
        let text = self.instance().ip(&["-s", "-j", "link", "show", link::HOST]);
        let text = text.map_err(|error| error.to_string())?;
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        value[0]["stats64"]["rx"]["packets"].as_u64().ok_or_else(|| "B has no packet counter".to_owned())
    }

    /// CPU time of the engines that take part in setting a flow up, s.
    pub(super) fn cpu_seconds(&self) -> Result<f64, String> {
        let mut nanos = 0;
        for process in self.processes()? {
            nanos += of_process(process)?;
        }
        #[allow(clippy::cast_precision_loss)] // far below 2^52
        let seconds = nanos as f64 / 1e9;
        Ok(seconds)
    }

    fn processes(&self) -> Result<Vec<u32>, String> {
        let engine =
            |node: &Node| node.engined_pid().ok_or_else(|| format!("the engine of {} is gone", node.name()));
        self.measured.iter().map(engine).collect()
    }
}
