//! The nftables data plane.

mod apply;
mod bindings;
mod flows;
mod limit;
mod paths;
mod read;
mod record;
mod tables;

use crate::netlink::Connection;
use crate::nft;
use crate::nft::encode::QueueKind;
use crate::nft::ruleset::Shape;
use crate::route::Routes;
use cats_datapath_core::{
    Adopted, Applied, Backend, BackendError, ForwarderConfig, Install, PlaneCounters, Pruned, check_config,
};
use cats_engine_types::{
    Binding, Capabilities, Counters, EncapsulationKind, Family, FlowKey, InstallFailure, NodeId,
    ServiceAddress,
};
use paths::Paths;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const FAMILIES: [Family; 2] = [Family::V4, Family::V6];
/// The longest segment list that a route of ours imposes.
const MAX_SEGMENTS: u8 = 16;

/// The nftables data plane of one network namespace: the one that the calling thread was in when it was
/// opened; later calls may come from threads in that namespace only (kernel parameters are the caller's).
///
/// It owns the table `cats` of both families, routes, rules and proxy neighbours with the protocol number
/// [`crate::PROTOCOL`], and the device [`crate::ANCHOR`]. At most one process may use it at a time.
#[derive(Debug)]
pub struct NftBackend {
    node: NodeId,
    nft: Connection,
    routes: Routes,
    config: Option<ForwarderConfig>,
    queue: Option<QueueKind>,
    /// Whether the table of ours exists, with this layout.
    tables: bool,
    /// Each flow is counted; fixed when the table is made.
    counted: bool,
    /// Bindings that the table holds at most.
    limit: u32,
    paths: Paths,
    staged: BTreeSet<FlowKey>,
    /// Numbers of the services' counters.
    services: BTreeMap<ServiceAddress, u32>,
}

impl NftBackend {
    /// Opens the data plane for a node, without changing what it does.
    pub fn open(node: NodeId) -> Result<Self, BackendError> {
        let nft = nft::connect().map_err(|error| refused("nftables", &error))?;
        rustix::net::sockopt::set_socket_send_buffer_size_force(nft.socket(), 4 << 20)
            .map_err(|error| refused("send buffer of nftables", &error.into()))?;
        let routes = Routes::open().map_err(|error| refused("anchor device", &error))?;
        Ok(Self {
            node,
            nft,
            routes,
            config: None,
            queue: None,
            tables: false,
            counted: false,
            limit: 1 << 20,
            paths: Paths::default(),
            staged: BTreeSet::new(),
            services: BTreeMap::new(),
        })
    }

    /// Index and name of each interface, to tell tenants of punted packets apart.
    pub fn interfaces(&mut self) -> Result<Vec<(u32, String)>, BackendError> {
        self.routes.interfaces().map_err(|error| refused("interfaces", &error))
    }

    /// Removes everything of ours: table, routes, rules, neighbours. Flows end.
    pub fn remove_all(&mut self) -> Result<(), BackendError> {
        self.delete_tables()?;
        self.paths = Paths::default();
        self.staged.clear();
        self.config = None;
        self.prune().map(drop)
    }

    fn service_number(&self, key: &FlowKey) -> u32 {
        self.services.get(&key.destination()).copied().unwrap_or(0)
    }
}

impl Backend for NftBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            encapsulations: vec![
                EncapsulationKind::None,
                EncapsulationKind::Srv6Encaps,
                EncapsulationKind::Srv6EncapsReduced,
            ],
            max_segments: MAX_SEGMENTS,
            families: FAMILIES.to_vec(),
            max_bindings: self.limit,
        }
    }

    fn apply_static(&mut self, config: &ForwarderConfig) -> Result<Applied, BackendError> {
        check_config(config)?;
        self.apply(config)
    }

    fn adopt(&mut self) -> Result<Vec<Adopted>, BackendError> {
        self.read_bindings()
    }

    fn prune(&mut self) -> Result<Pruned, BackendError> {
        self.prune_routes()
    }

    fn commit(&mut self, installs: &[Install]) -> Vec<Result<(), InstallFailure>> {
        self.commit_all(installs)
    }

    fn activate(&mut self, bindings: &[Arc<Binding>]) -> Vec<Result<(), InstallFailure>> {
        self.activate_all(bindings)
    }

    fn remove(&mut self, bindings: &[Arc<Binding>]) -> Result<Vec<Counters>, BackendError> {
        self.remove_all_of(bindings)
    }

    fn last_used(&mut self, bindings: &[Arc<Binding>]) -> Result<Vec<Option<Duration>>, BackendError> {
        self.read_last_used(bindings)
    }

    fn counters(&mut self) -> Result<PlaneCounters, BackendError> {
        self.read_counters()
    }
}

pub(crate) fn family_number(family: Family) -> u8 {
    Shape::of(family).family
}

pub(crate) fn refused(what: impl Into<String>, error: &io::Error) -> BackendError {
    BackendError::Refused { what: what.into(), reason: error.to_string() }
}
