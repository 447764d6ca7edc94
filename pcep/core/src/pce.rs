//! The path computation function: from a path request to a segment list.
//!
//! The list is explicit: the End segment of each node on the way, then the endpoint's segment that delivers. It holds
//! whatever the routing underneath prefers. Leaving out segments that the routing would pass anyway is not built.

use crate::cspf::{self, Bounds, Route, Scratch};
use crate::ted::{LinkConfig, NodeConfig, Ted};
use cats_engine_types::{
    Encaps, Encapsulation, Family, Generation, Micros, NoPath, NodeId, Path, PathConstraints, PathReply,
    PathRequest, RoutingDomain, Segments,
};
use std::collections::BTreeMap;

/// The configuration of a path computation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PceConfig {
    /// The headend behaviour of the paths that it answers.
    pub encaps: Encaps,
    /// The routing domain of the topology.
    pub domain: RoutingDomain,
    /// Nodes.
    pub nodes: Vec<NodeConfig>,
    /// Links between them, each direction apart.
    pub links: Vec<LinkConfig>,
}

impl Default for PceConfig {
    fn default() -> Self {
        Self {
            encaps: Encaps::Reduced,
            domain: RoutingDomain::default(),
            nodes: Vec::new(),
            links: Vec::new(),
        }
    }
}

/// The path computation function. It has no state but its topology: a request is answered at once.
#[derive(Debug)]
pub struct Pce {
    ted: Ted,
    encaps: Encaps,
    domain: RoutingDomain,
    scratch: Scratch,
    /// Answers from the current topology; emptied when that changes and when it is full.
    cache: BTreeMap<Question, Result<Path, NoPath>>,
    cached_at: Generation,
}

type Question = (u32, u32, Family, PathConstraints, u8);

/// Answers that are kept.
const CACHE: usize = 4096;

impl Default for Pce {
    fn default() -> Self {
        Self::new()
    }
}

impl Pce {
    /// One without a topology.
    pub fn new() -> Self {
        Self {
            ted: Ted::new(),
            encaps: Encaps::Reduced,
            domain: RoutingDomain::default(),
            scratch: Scratch::default(),
            cache: BTreeMap::new(),
            cached_at: Generation::default(),
        }
    }

    /// Takes a new configuration; true if paths may have changed.
    pub fn configure(&mut self, config: &PceConfig) -> bool {
        let changed = self.ted.configure(&config.nodes, &config.links);
        let other = self.encaps != config.encaps || self.domain != config.domain;
        if other {
            self.cache.clear();
        }
        self.encaps = config.encaps;
        self.domain = config.domain.clone();
        changed || other
    }

    /// The topology.
    pub fn ted(&self) -> &Ted {
        &self.ted
    }

    /// The topology, to be changed piece by piece.
    pub fn ted_mut(&mut self) -> &mut Ted {
        &mut self.ted
    }

    /// Answers a path request.
    pub fn handle_request(&mut self, request: &PathRequest) -> PathReply {
        PathReply { transaction: request.transaction, outcome: self.answer(request) }
    }

    fn answer(&mut self, request: &PathRequest) -> Result<Path, NoPath> {
        let unknown = || NoPath::UnknownHeadend(request.headend.clone());
        // The topology is that of one domain: of another one it knows no node.
        if request.domain != self.domain {
            return Err(unknown());
        }
        let from = self.ted.find(&request.headend).ok_or_else(unknown)?;
        let to = self
            .ted
            .find(&request.endpoint)
            .ok_or_else(|| NoPath::UnknownEndpoint(request.endpoint.clone()))?;
        if self.cached_at != self.ted.generation() {
            self.cache.clear();
            self.cached_at = self.ted.generation();
        }
        let question = (from, to, request.family, request.constraints, request.max_segments);
        if let Some(answer) = self.cache.get(&question) {
            return answer.clone();
        }
        let answer = self.compute(from, to, request);
        if self.cache.len() >= CACHE {
            self.cache.clear();
        }
        self.cache.insert(question, answer.clone());
        answer
    }

    fn compute(&mut self, from: u32, to: u32, request: &PathRequest) -> Result<Path, NoPath> {
        let path = |encapsulation, delay, mtu| Path {
            headend: request.headend.clone(),
            endpoint: request.endpoint.clone(),
            encapsulation,
            delay: Micros(delay),
            mtu,
            generation: self.ted.generation(),
        };
        if from == to {
            // No link lies between: none bounds the packet.
            return Ok(path(Encapsulation::None, 0, u16::MAX));
        }
        let endpoint = self.ted.vertex(to).and_then(|vertex| vertex.config.as_ref());
        let delivery = endpoint
            .and_then(|endpoint| endpoint.delivery(request.family))
            .ok_or_else(|| NoPath::NoDeliverySegment(request.endpoint.clone()))?;
        let route = route(&self.ted, &mut self.scratch, from, to, request)?;
        let segments = self.segments(&route, delivery, request)?;
        let encapsulation = Encapsulation::Srv6 { mode: self.encaps, segments };
        Ok(path(encapsulation, route.delay, route.mtu))
    }

    fn segments(
        &self,
        route: &Route,
        delivery: std::net::Ipv6Addr,
        request: &PathRequest,
    ) -> Result<Segments, NoPath> {
        let transit = route.nodes.get(1..route.nodes.len().saturating_sub(1)).unwrap_or_default();
        let mut list = Vec::with_capacity(transit.len() + 1);
        for at in transit {
            list.extend(self.ted.vertex(*at).and_then(|vertex| vertex.config.as_ref()?.end));
        }
        list.push(delivery);
        let needed = list.len();
        let limit = request.max_segments.min(u8::try_from(Segments::MAX).unwrap_or(u8::MAX));
        if needed > usize::from(limit) {
            return Err(NoPath::TooManySegments { needed, limit });
        }
        Segments::try_from(list).map_err(|_| NoPath::TooManySegments { needed, limit })
    }

    /// Whether a path that was answered before still leads to its endpoint over links that are up.
    pub fn holds(&self, path: &Path) -> bool {
        let (Some(from), Some(to)) = (self.ted.find(&path.headend), self.ted.find(&path.endpoint)) else {
            return false;
        };
        match &path.encapsulation {
            Encapsulation::None => from == to,
            Encapsulation::Srv6 { segments, .. } => {
                let Some((delivery, transit)) = segments.as_slice().split_last() else { return false };
                let mut at = from;
                for segment in transit {
                    match self.neighbour(at, |node| node.end == Some(*segment)) {
                        Some(next) => at = next,
                        None => return false,
                    }
                }
                let ends = |node: &NodeConfig| {
                    node.node == path.endpoint
                        && (node.delivery_v4 == Some(*delivery) || node.delivery_v6 == Some(*delivery))
                };
                self.neighbour(at, ends) == Some(to)
            }
        }
    }

    /// The node behind a link that is up.
    fn neighbour(&self, at: u32, is: impl Fn(&NodeConfig) -> bool) -> Option<u32> {
        let edges = &self.ted.vertex(at)?.edges;
        edges
            .iter()
            .filter(|edge| edge.up)
            .map(|edge| edge.to)
            .find(|to| self.ted.vertex(*to).and_then(|vertex| vertex.config.as_ref()).is_some_and(&is))
    }
}

/// The best route; the limit of segments bounds the links, since each link but the last ends at a listed segment.
fn route(
    ted: &Ted,
    scratch: &mut Scratch,
    from: u32,
    to: u32,
    request: &PathRequest,
) -> Result<Route, NoPath> {
    let PathConstraints { max_delay, min_bandwidth, max_hops } = request.constraints;
    let bounds = |max_hops| Bounds {
        max_delay: max_delay.map_or(u64::MAX, |delay| delay.0),
        min_bandwidth: min_bandwidth.unwrap_or(0),
        max_hops,
    };
    let limit = request.max_segments.min(u8::try_from(Segments::MAX).unwrap_or(u8::MAX));
    let hops = max_hops.map_or(limit, |hops| hops.min(limit));
    if let Some(route) = cspf::shortest(ted, from, to, bounds(Some(hops)), scratch) {
        return Ok(route);
    }
    // Which bound it was that left no path.
    match cspf::shortest(ted, from, to, bounds(max_hops), scratch) {
        Some(route) => Err(NoPath::TooManySegments { needed: route.nodes.len() - 1, limit }),
        None => Err(unreachable(&request.headend, &request.endpoint)),
    }
}

fn unreachable(headend: &NodeId, endpoint: &NodeId) -> NoPath {
    NoPath::Unreachable { headend: headend.clone(), endpoint: endpoint.clone() }
}

#[cfg(test)]
mod tests;
