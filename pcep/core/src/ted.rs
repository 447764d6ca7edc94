//! The traffic engineering database: nodes with their segments, and directed links.

use cats_engine_types::{Family, Generation, Micros, NodeId};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeConfig {
    /// Its name; that of a forwarder is its identity.
    pub node: NodeId,
    /// Its End segment. A path passes through a node only where it has one.
    pub end: Option<Ipv6Addr>,
    /// Its segment that decapsulates IPv4 packets.
    pub delivery_v4: Option<Ipv6Addr>,
    /// Its segment that decapsulates IPv6 packets.
    pub delivery_v6: Option<Ipv6Addr>,
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkConfig {
    /// The node that sends.
    pub from: NodeId,
    /// The node that receives.
    pub to: NodeId,
    /// Whether paths may use it.
    pub up: bool,
    /// One-way delay.
    pub delay: Micros,
    /// kbit/s; absent: without limit.
    pub bandwidth: Option<u32>,
    /// The largest packet, octets.
    pub mtu: u16,
    /// Breaks ties of delay.
    pub te_metric: u32,
}

/// A node as the computation sees it.
#[derive(Debug, Clone)]
pub(crate) struct Vertex {
    pub(crate) name: NodeId,
    /// Nothing: the node left; its place is kept.
    pub(crate) config: Option<NodeConfig>,
    pub(crate) edges: Vec<Edge>,
}

/// A link that leaves a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) to: u32,
    pub(crate) up: bool,
    pub(crate) mtu: u16,
    /// Without limit is the largest number.
    pub(crate) bandwidth: u32,
    pub(crate) te_metric: u32,
    pub(crate) delay: u64,
}

/// The database.
#[derive(Debug, Clone, Default)]
pub struct Ted {
    generation: Generation,
    vertices: Vec<Vertex>,
    by_name: BTreeMap<NodeId, u32>,
}

impl NodeConfig {
    /// The segment that decapsulates packets of the family.
    pub fn delivery(&self, family: Family) -> Option<Ipv6Addr> {
        match family {
            Family::V4 => self.delivery_v4,
            Family::V6 => self.delivery_v6,
        }
    }
}

impl Ted {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts up with each change.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The nodes, ordered by name.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeConfig> {
        self.by_name.values().filter_map(|at| self.vertex(*at)?.config.as_ref())
    }

    /// The links, ordered by the names of their nodes.
    pub fn links(&self) -> impl Iterator<Item = LinkConfig> {
        self.by_name.values().filter_map(|at| self.vertex(*at)).flat_map(|vertex| {
            let mut links: Vec<LinkConfig> =
                vertex.edges.iter().filter_map(|edge| self.link_of(vertex, edge)).collect();
            links.sort_by(|a, b| a.to.cmp(&b.to));
            links
        })
    }

    fn link_of(&self, from: &Vertex, edge: &Edge) -> Option<LinkConfig> {
        Some(LinkConfig {
            from: from.name.clone(),
            to: self.vertex(edge.to)?.name.clone(),
            up: edge.up,
            delay: Micros(edge.delay),
            bandwidth: (edge.bandwidth != u32::MAX).then_some(edge.bandwidth),
            mtu: edge.mtu,
            te_metric: edge.te_metric,
        })
    }

    /// Takes a whole topology; true if it differs from what was there.
    pub fn configure(&mut self, nodes: &[NodeConfig], links: &[LinkConfig]) -> bool {
        let before = self.generation;
        let mut changed = false;
        let stay: BTreeSet<&NodeId> = nodes.iter().map(|node| &node.node).collect();
        let gone: Vec<NodeId> = self
            .nodes()
            .filter(|known| !stay.contains(&known.node))
            .map(|known| known.node.clone())
            .collect();
        for node in gone {
            changed |= self.remove_node(&node);
        }
        for node in nodes {
            changed |= self.set_node(node.clone());
        }
        let wanted: BTreeMap<(&NodeId, &NodeId), &LinkConfig> =
            links.iter().map(|link| ((&link.from, &link.to), link)).collect();
        let gone: Vec<(NodeId, NodeId)> = self
            .links()
            .filter(|link| !wanted.contains_key(&(&link.from, &link.to)))
            .map(|link| (link.from, link.to))
            .collect();
        for (from, to) in gone {
            changed |= self.remove_link(&from, &to);
        }
        for link in wanted.into_values() {
            changed |= self.set_link(link);
        }
        // One change of the whole, however many parts it had.
        self.generation = if changed { before.next() } else { before };
        changed
    }

    /// Adds or replaces a node; true if that changed anything.
    pub fn set_node(&mut self, node: NodeConfig) -> bool {
        let at = self.intern(&node.node);
        let Some(vertex) = self.vertex_mut(at) else { return false };
        if vertex.config.as_ref() == Some(&node) {
            return false;
        }
        vertex.config = Some(node);
        self.generation = self.generation.next();
        true
    }

    /// Removes a node with its links; true if it was there.
    pub fn remove_node(&mut self, node: &NodeId) -> bool {
        let Some(at) = self.find(node) else { return false };
        for vertex in &mut self.vertices {
            vertex.edges.retain(|edge| edge.to != at);
        }
        let Some(vertex) = self.vertex_mut(at) else { return false };
        vertex.config = None;
        vertex.edges.clear();
        self.generation = self.generation.next();
        true
    }

    /// Adds or replaces one direction of a link between known nodes; true if that changed anything.
    pub fn set_link(&mut self, link: &LinkConfig) -> bool {
        let (Some(from), Some(to)) = (self.find(&link.from), self.find(&link.to)) else { return false };
        let edge = Edge {
            to,
            up: link.up,
            mtu: link.mtu,
            bandwidth: link.bandwidth.unwrap_or(u32::MAX),
            te_metric: link.te_metric,
            delay: link.delay.0,
        };
        let Some(vertex) = self.vertex_mut(from) else { return false };
        match vertex.edges.iter_mut().find(|known| known.to == to) {
            Some(known) if *known == edge => return false,
            Some(known) => *known = edge,
            None => vertex.edges.push(edge),
        }
        self.generation = self.generation.next();
        true
    }

    /// Removes one direction of a link; true if it was there.
    pub fn remove_link(&mut self, from: &NodeId, to: &NodeId) -> bool {
        let (Some(from), Some(to)) = (self.find(from), self.find(to)) else { return false };
        let Some(vertex) = self.vertex_mut(from) else { return false };
        let before = vertex.edges.len();
        vertex.edges.retain(|edge| edge.to != to);
        if vertex.edges.len() == before {
            return false;
        }
        self.generation = self.generation.next();
        true
    }

    /// The place of a node that is there.
    pub(crate) fn find(&self, node: &NodeId) -> Option<u32> {
        let at = *self.by_name.get(node)?;
        self.vertex(at)?.config.as_ref().map(|_| at)
    }

    pub(crate) fn vertex(&self, at: u32) -> Option<&Vertex> {
        self.vertices.get(at as usize)
    }

    pub(crate) fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    fn vertex_mut(&mut self, at: u32) -> Option<&mut Vertex> {
        self.vertices.get_mut(at as usize)
    }

    fn intern(&mut self, name: &NodeId) -> u32 {
        if let Some(at) = self.by_name.get(name) {
            return *at;
        }
        let at = u32::try_from(self.vertices.len()).unwrap_or(u32::MAX);
        self.vertices.push(Vertex { name: name.clone(), config: None, edges: Vec::new() });
        self.by_name.insert(name.clone(), at);
        at
    }
}
