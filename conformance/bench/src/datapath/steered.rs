//! The nft backend as the engine uses it, with bindings for the flows of the load. No process is left running for
//! it: what the kernel has been told forwards by itself.

use super::load::client;
use super::rig::Rig;
use cats_datapath_core::{AccessInterface, Backend, ForwarderConfig, IngressConfig, Install, Sids};
use cats_datapath_kernel::NftBackend;
use cats_engine_types::{
    Binding, CsId, CsciId, Encaps, Encapsulation, Epoch, Forward, Generation, Lifetime, Locator, Micros,
    NodeId, Path, Protocol, Segments, ServiceAddress, TenantId, TransactionId,
};
use std::net::{Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Bindings in a call, as the ingress commits them: the packets that one step takes from the punt queue.
pub(super) const BATCH: u32 = 256;

/// Makes the bindings of flows.
pub(super) struct Bindings {
    template: Binding,
}

impl Bindings {
    pub(super) fn new() -> Result<Self, String> {
        let told = |error: &dyn std::error::Error| error.to_string();
        let segments = Rig::SEGMENTS.map(|text| text.parse::<Ipv6Addr>());
        let segments: Vec<Ipv6Addr> = segments.into_iter().collect::<Result<_, _>>().map_err(|e| told(&e))?;
        let segments = Segments::try_from(segments).map_err(|error| format!("{error:?}"))?;
        let path = Path {
            headend: node("IF-1")?,
            endpoint: node("EF-2")?,
            encapsulation: Encapsulation::Srv6 { mode: Encaps::Full, segments },
            delay: Micros(9_000),
            mtu: 1600,
            generation: Generation(1),
        };
        let forward = Forward {
            key: key(0)?,
            csci_id: CsciId::address(Rig::INSTANCE.into()),
            locator: Locator { address: Rig::INSTANCE.into(), port: None },
            egress: node("EF-2")?,
            path,
        };
        let template = Binding {
            transaction: TransactionId { epoch: 1, sequence: 0 },
            cs_id: CsId::number(1).map_err(|e| told(&e))?,
            reverse: Binding::reverse_of(&forward),
            forward,
            lifetime: Lifetime { idle: Some(Duration::from_secs(120)), hard: None },
            epoch: Epoch(1),
            version: 1,
        };
        Ok(Self { template })
    }

    /// Of these flows, open to all packets.
    pub(super) fn of(&self, flows: Range<u32>) -> Result<Vec<Install>, String> {
        flows
            .map(|flow| {
                let mut binding = self.template.clone();
                binding.transaction.sequence = u64::from(flow);
                binding.forward.key = key(flow)?;
                binding.reverse = Binding::reverse_of(&binding.forward);
                Ok(Install { binding: Arc::new(binding), replaces: None, staged: false })
            })
            .collect()
    }
}

/// Opens the backend as an ingress with room for so many bindings. Must run in the forwarder's namespace.
pub(super) fn open(limit: u32) -> Result<NftBackend, String> {
    let told = |error: cats_datapath_core::BackendError| error.to_string();
    let mut backend = NftBackend::open(node("IF-1")?).map_err(told)?;
    let address = |text: &str| text.parse::<Ipv6Addr>().map_err(|error| error.to_string());
    let service = ServiceAddress { address: Rig::SERVICE.into(), protocol: Protocol::UDP, port: Rig::PORT };
    let config = ForwarderConfig {
        node: node("IF-1")?,
        underlay_source: Some(address(Rig::SOURCE)?),
        ingress: Some(IngressConfig {
            access: vec![AccessInterface { name: Rig::ACCESS.to_owned(), tenant: TenantId(0) }],
            services: [(service, CsId::number(1).map_err(|error| error.to_string())?)].into(),
            flow_limit: limit,
            return_sids: Sids {
                v4: Some(address("2001:db8:f1::d4")?),
                v6: Some(address("2001:db8:f1::d6")?),
            },
            ..IngressConfig::default()
        }),
        egress: None,
    };
    backend.apply_static(&config).map_err(told)?;
    Ok(backend)
}

/// Binds all flows of the load and leaves them to the kernel.
pub(super) fn steer(rig: &Rig, flows: u32) -> Result<(), String> {
    let bindings = Bindings::new()?;
    let done = rig.forwarder.enter(|| {
        let mut backend = open(flows.max(1024))?;
        let mut first = 0;
        while first < flows {
            let end = flows.min(first + BATCH);
            commit(&mut backend, &bindings.of(first..end)?)?;
            first = end;
        }
        Ok(())
    });
    done.map_err(|error| error.to_string())?
}

/// Installs all of them; one that is refused is an error.
pub(super) fn commit(backend: &mut NftBackend, installs: &[Install]) -> Result<(), String> {
    let refused = backend.commit(installs).into_iter().find_map(Result::err);
    refused.map_or(Ok(()), |failure| Err(format!("a binding was refused: {failure}")))
}

fn node(name: &str) -> Result<NodeId, String> {
    name.parse().map_err(|error| format!("{error:?}"))
}

fn key(flow: u32) -> Result<cats_engine_types::FlowKey, String> {
    let service = SocketAddr::new(Rig::SERVICE.into(), Rig::PORT);
    cats_engine_types::FlowKey::new(Protocol::UDP, client(flow).into(), service)
        .map_err(|error| error.to_string())
}
