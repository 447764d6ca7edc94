//! A forwarder on the model data plane, with simulated time.

#![allow(dead_code, unreachable_pub)] // each test binary uses a part of it

use cats_datapath_core::model::{Fate, Model};
use cats_datapath_core::{
    Effects, Forwarder, ForwarderConfig, IngressConfig, PacketId, PuntedPacket, Verdict,
};
use cats_engine_types::{
    Binding, BindingEvent, CsId, CsciId, Encapsulation, Epoch, FlowKey, Forward, Generation, Lifetime,
    Locator, Micros, NodeId, Path, Protocol, ServiceAddress, ServiceRequest,
};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub const SERVICE: &str = "192.0.2.100:443";

pub fn service() -> CsId {
    CsId::number(1).unwrap()
}

pub fn node() -> NodeId {
    "IF-1".parse().unwrap()
}

pub fn key(protocol: Protocol, port: u16) -> FlowKey {
    FlowKey::new(protocol, format!("192.0.2.10:{port}").parse().unwrap(), SERVICE.parse().unwrap()).unwrap()
}

pub fn tcp(port: u16) -> FlowKey {
    key(Protocol::TCP, port)
}

pub fn udp(port: u16) -> FlowKey {
    key(Protocol::UDP, port)
}

pub fn config() -> ForwarderConfig {
    let services = [Protocol::TCP, Protocol::UDP].map(|protocol| {
        (ServiceAddress { address: [192, 0, 2, 100].into(), protocol, port: 443 }, service())
    });
    let ingress = IngressConfig { services: BTreeMap::from(services), ..IngressConfig::default() };
    ForwarderConfig { node: node(), underlay_source: None, ingress: Some(ingress), egress: None }
}

pub fn binding(request: &ServiceRequest) -> Binding {
    let locator = Locator { address: [198, 51, 100, 21].into(), port: None };
    let path = Path {
        headend: node(),
        endpoint: "EF-2".parse().unwrap(),
        encapsulation: Encapsulation::None,
        delay: Micros(9000),
        mtu: 1500,
        generation: Generation(1),
    };
    let forward = Forward {
        key: request.key,
        csci_id: CsciId::number(21).unwrap(),
        locator,
        egress: "EF-2".parse().unwrap(),
        path,
    };
    Binding {
        transaction: request.transaction,
        cs_id: service(),
        reverse: Binding::reverse_of(&forward),
        forward,
        lifetime: Lifetime { idle: Some(Duration::from_secs(120)), hard: None },
        epoch: Epoch(5),
        version: 1,
    }
}

/// A forwarder with its clock.
pub struct Scene {
    pub forwarder: Forwarder<Model>,
    pub now: Instant,
    pub next: u32,
}

impl Scene {
    pub fn new(config: &ForwarderConfig) -> Self {
        Self::over(Model::new(1000), config)
    }

    pub fn over(model: Model, config: &ForwarderConfig) -> Self {
        let now = Instant::now();
        let (forwarder, _) = Forwarder::start(model, config, Epoch(100), now).unwrap();
        Self { forwarder, now, next: 0 }
    }

    /// Punts a packet, as the data plane does with one that matches nothing.
    pub fn punt(&mut self, key: FlowKey) -> Effects {
        self.punt_of(key, 100)
    }

    pub fn punt_of(&mut self, key: FlowKey, octets: u32) -> Effects {
        let id = PacketId(self.next);
        self.next += 1;
        self.forwarder.ingress().handle_packet(PuntedPacket { id, key, octets, interface: None }, self.now);
        self.forwarder.drain(self.now)
    }

    pub fn answer(&mut self, binding: Binding) -> Effects {
        self.forwarder.ingress().handle_binding(binding, self.now);
        self.forwarder.drain(self.now)
    }

    pub fn advance(&mut self, by: Duration) -> Effects {
        self.now += by;
        self.forwarder.backend().advance(by);
        self.forwarder.ingress().handle_timeout(self.now);
        self.forwarder.drain(self.now)
    }

    pub fn drained(&mut self) -> Effects {
        self.forwarder.ingress().handle_drained();
        self.forwarder.drain(self.now)
    }

    /// Brings a flow to a binding; its request.
    pub fn bind(&mut self, key: FlowKey) -> ServiceRequest {
        let request = self.punt(key).requests.remove(0);
        let effects = self.answer(binding(&request));
        assert_eq!(events(&effects), [BindingEvent::Installed]);
        self.drained();
        request
    }

    pub fn passes(&mut self, key: FlowKey) -> bool {
        matches!(self.forwarder.backend().forward(key, 100, false), Fate::Forwarded(_))
    }
}

pub fn events(effects: &Effects) -> Vec<BindingEvent> {
    effects.statuses.iter().map(|status| status.event.clone()).collect()
}

pub fn released(effects: &Effects) -> Vec<u32> {
    effects.verdicts.iter().filter(|(_, verdict)| *verdict == Verdict::Release).map(|(id, _)| id.0).collect()
}

pub fn dropped(effects: &Effects) -> Vec<u32> {
    effects.verdicts.iter().filter(|(_, verdict)| *verdict == Verdict::Drop).map(|(id, _)| id.0).collect()
}
