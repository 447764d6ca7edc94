//! The forwarders: who is attached, what they can, what they deliver to (CP-19, CP-20, CP-38).

use cats_engine_types::{
    Capabilities, CsciId, DeliveryState, Encapsulation, EncapsulationKind, Epoch, Family, ForwarderReport,
    Locator, NodeId, Path,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Instant;

/// A node by its place in the table; a place is used anew once nothing refers to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NodeIx(u32);

impl NodeIx {
    pub(super) fn at(self) -> usize {
        self.0 as usize
    }
}

/// Whether the C-PS can speak with a forwarder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlPlane {
    /// It never attached.
    NeverAttached,
    /// Attached.
    Attached,
    /// It was attached; its bindings forward on.
    Detached,
}

/// Whether a forwarder's data plane has what it should have, as it last said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataPlane {
    /// It said nothing yet.
    Unknown,
    /// All deliveries are in place.
    Ready,
    /// Some deliveries were refused by the data plane.
    Failed {
        /// How many.
        deliveries: usize,
    },
}

/// Whether an egress delivers to a locator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// The egress is not attached: nobody can tell.
    Detached,
    /// The egress does not have it.
    Missing,
    /// The egress's data plane refused it.
    Failed,
    /// In place.
    Ready,
}

/// A node that the configuration or an attachment named.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: NodeId,
    pub(super) control: ControlPlane,
    pub(super) since: Option<Instant>,
    pub(super) epoch: Epoch,
    pub(super) ingress: Option<Capabilities>,
    pub(super) decapsulation: Vec<(Family, std::net::Ipv6Addr)>,
    deliveries: BTreeMap<(CsciId, IpAddr), (Option<u16>, bool)>,
    pub(super) data: DataPlane,
    /// Counts attachments; a flow that the ingress did not confirm since the last one is not known to be there.
    pub(super) attachment: u32,
    /// Flows of this ingress in any state.
    pub(super) flows: u32,
    /// When its report of the bindings that it holds is to be complete.
    pub(super) restore: Option<Instant>,
    /// Whether it is: a flow that it did not confirm is gone.
    pub(super) complete: bool,
}

/// All nodes.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    nodes: Vec<Option<Node>>,
    free: Vec<NodeIx>,
    by_name: BTreeMap<NodeId, NodeIx>,
}

impl Nodes {
    pub(super) fn intern(&mut self, name: &NodeId) -> NodeIx {
        if let Some(ix) = self.by_name.get(name) {
            return *ix;
        }
        let ix = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(None);
            NodeIx(u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX))
        });
        let node = Node {
            name: name.clone(),
            control: ControlPlane::NeverAttached,
            since: None,
            epoch: Epoch::default(),
            ingress: None,
            decapsulation: Vec::new(),
            deliveries: BTreeMap::default(),
            data: DataPlane::Unknown,
            attachment: 0,
            flows: 0,
            restore: None,
            complete: true,
        };
        if let Some(place) = self.nodes.get_mut(ix.at()) {
            *place = Some(node);
        }
        self.by_name.insert(name.clone(), ix);
        ix
    }

    pub(super) fn find(&self, name: &NodeId) -> Option<NodeIx> {
        self.by_name.get(name).copied()
    }

    pub(super) fn get(&self, ix: NodeIx) -> Option<&Node> {
        self.nodes.get(ix.at())?.as_ref()
    }

    pub(super) fn get_mut(&mut self, ix: NodeIx) -> Option<&mut Node> {
        self.nodes.get_mut(ix.at())?.as_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Forgets the nodes that are not attached and that `used` does not name.
    pub(super) fn retain(&mut self, used: &BTreeSet<NodeIx>) {
        let Self { nodes, free, by_name } = self;
        by_name.retain(|_, ix| {
            let Some(place) = nodes.get_mut(ix.at()) else { return false };
            let busy = |node: &Node| node.is_attached() || node.restore.is_some();
            if used.contains(ix) || place.as_ref().is_some_and(busy) {
                return true;
            }
            *place = None;
            free.push(*ix);
            false
        });
    }
}

impl Node {
    /// Takes a report; true if the node was not attached as this incarnation before.
    pub(super) fn report(&mut self, report: ForwarderReport, now: Instant) -> bool {
        let anew = self.control != ControlPlane::Attached || self.epoch != report.epoch;
        if anew {
            self.control = ControlPlane::Attached;
            self.since = Some(now);
            self.epoch = report.epoch;
            self.attachment = self.attachment.wrapping_add(1);
            self.complete = false;
        }
        self.ingress = report.ingress;
        self.decapsulation = report.decapsulation;
        let failed =
            report.deliveries.iter().filter(|delivery| delivery.state != DeliveryState::Ready).count();
        self.data = if failed == 0 { DataPlane::Ready } else { DataPlane::Failed { deliveries: failed } };
        self.deliveries.clear();
        for delivery in report.deliveries {
            let ready = delivery.state == DeliveryState::Ready;
            let key = (delivery.csci_id, delivery.locator.address);
            self.deliveries.insert(key, (delivery.locator.port, ready));
        }
        anew
    }

    pub(super) fn detach(&mut self, now: Instant) {
        self.control = ControlPlane::Detached;
        self.since = Some(now);
    }

    pub(super) fn is_attached(&self) -> bool {
        self.control == ControlPlane::Attached
    }

    /// Whether this egress delivers to an instance's locator. A delivery without a port takes all ports.
    pub(super) fn delivers(&self, csci_id: CsciId, locator: &Locator) -> DeliveryStatus {
        if !self.is_attached() {
            return DeliveryStatus::Detached;
        }
        match self.deliveries.get(&(csci_id, locator.address)) {
            Some((port, ready)) if port.is_none() || locator.port.is_none() || *port == locator.port => {
                if *ready {
                    DeliveryStatus::Ready
                } else {
                    DeliveryStatus::Failed
                }
            }
            Some(_) | None => DeliveryStatus::Missing,
        }
    }
}

/// Whether an ingress can impose a path that ends at an egress, in words if not (CP-14).
pub(super) fn realisable(
    path: &Path,
    family: Family,
    ingress: &Capabilities,
    egress: &Node,
) -> Result<(), String> {
    let kind = match &path.encapsulation {
        Encapsulation::None => EncapsulationKind::None,
        Encapsulation::Srv6 { mode: cats_engine_types::Encaps::Full, .. } => EncapsulationKind::Srv6Encaps,
        Encapsulation::Srv6 { mode: cats_engine_types::Encaps::Reduced, .. } => {
            EncapsulationKind::Srv6EncapsReduced
        }
    };
    if !ingress.encapsulations.contains(&kind) {
        return Err(format!("{} does not impose {kind:?}", path.headend));
    }
    match &path.encapsulation {
        Encapsulation::None if path.headend == path.endpoint => {}
        Encapsulation::None => return Err(format!("{} is not reached without encapsulation", path.endpoint)),
        Encapsulation::Srv6 { segments, .. } => {
            if segments.len() > usize::from(ingress.max_segments) {
                let (len, max) = (segments.len(), ingress.max_segments);
                return Err(format!("{len} segments; {} imposes at most {max}", path.headend));
            }
            if !egress.decapsulation.contains(&(family, segments.last())) {
                return Err(format!(
                    "{} does not decapsulate {family:?} at {}",
                    path.endpoint,
                    segments.last()
                ));
            }
        }
    }
    let least = match family {
        Family::V4 => 576,
        Family::V6 => 1280,
    };
    if path.inner_mtu() < least {
        return Err(format!("packets of {least} octets do not fit: the path takes {}", path.inner_mtu()));
    }
    Ok(())
}
