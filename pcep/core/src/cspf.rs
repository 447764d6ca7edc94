//! Constrained shortest paths: least delay over links that are up and wide enough, within bounds of delay and hops.
//!
//! Ties of delay go to the smaller sum of te-metrics, then to fewer hops, then to the predecessor of the smaller
//! name, so that equal topologies give equal paths whatever the order in which they were learned.

use crate::ted::{Edge, Ted, Vertex};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a path must satisfy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// µs.
    pub(crate) max_delay: u64,
    /// kbit/s; 0: any.
    pub(crate) min_bandwidth: u32,
    pub(crate) max_hops: Option<u8>,
}

/// A path: its nodes from the first to the last, the delay and the smallest MTU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) nodes: Vec<u32>,
    pub(crate) delay: u64,
    pub(crate) mtu: u16,
}

/// The length of a path: compared field by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Length {
    delay: u64,
    metric: u64,
    hops: u32,
}

impl Length {
    const ZERO: Self = Self { delay: 0, metric: 0, hops: 0 };

    fn plus(self, edge: &Edge) -> Self {
        Self {
            delay: self.delay.saturating_add(edge.delay),
            metric: self.metric.saturating_add(u64::from(edge.te_metric)),
            hops: self.hops + 1,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Label {
    length: Length,
    from: u32,
    mtu: u16,
}

/// Room for the labels, kept from one computation to the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    labels: Vec<Option<Label>>,
    heap: BinaryHeap<Reverse<(Length, u32)>>,
    layers: Vec<Vec<Option<Label>>>,
}

/// The best path between two different nodes.
pub(crate) fn shortest(
    ted: &Ted,
    from: u32,
    to: u32,
    bounds: Bounds,
    scratch: &mut Scratch,
) -> Option<Route> {
    let route = free(ted, from, to, bounds, scratch)?;
    match bounds.max_hops {
        // Lengths order by delay first, so that the best of all paths is the best of the short ones if it is short.
        Some(hops) if route.nodes.len() - 1 > usize::from(hops) => {
            bounded(ted, from, to, bounds, hops, scratch)
        }
        Some(_) | None => Some(route),
    }
}

/// Whether a path may go along the edge, and whether it may go on from there.
fn usable(ted: &[Vertex], edge: &Edge, to: u32, bounds: Bounds) -> bool {
    edge.up
        && edge.bandwidth >= bounds.min_bandwidth
        && (edge.to == to
            || ted
                .get(edge.to as usize)
                .and_then(|vertex| vertex.config.as_ref())
                .is_some_and(|c| c.end.is_some()))
}

/// Whether a label is better than the one that is there.
fn better(ted: &[Vertex], new: &Label, old: Option<&Label>) -> bool {
    let name = |at: u32| ted.get(at as usize).map(|vertex| &vertex.name);
    match old {
        None => true,
        Some(old) if new.length == old.length => name(new.from) < name(old.from),
        Some(old) => new.length < old.length,
    }
}

/// Without a bound of hops (Dijkstra).
fn free(ted: &Ted, from: u32, to: u32, bounds: Bounds, scratch: &mut Scratch) -> Option<Route> {
    let vertices = ted.vertices();
    let Scratch { labels, heap, .. } = scratch;
    labels.clear();
    labels.resize(vertices.len(), None);
    heap.clear();
    *labels.get_mut(from as usize)? = Some(Label { length: Length::ZERO, from, mtu: u16::MAX });
    heap.push(Reverse((Length::ZERO, from)));
    while let Some(Reverse((length, at))) = heap.pop() {
        if at == to {
            break;
        }
        let Some(label) = labels.get(at as usize).copied().flatten().filter(|label| label.length == length)
        else {
            continue;
        };
        for edge in vertices.get(at as usize).map_or(&[][..], |vertex| &vertex.edges) {
            let length = label.length.plus(edge);
            if !usable(vertices, edge, to, bounds) || length.delay > bounds.max_delay {
                continue;
            }
            let new = Label { length, from: at, mtu: label.mtu.min(edge.mtu) };
            let Some(place) = labels.get_mut(edge.to as usize) else { continue };
            if better(vertices, &new, place.as_ref()) {
                if place.is_none_or(|old| old.length != length) {
                    heap.push(Reverse((length, edge.to)));
                }
                *place = Some(new);
            }
        }
    }
    let last = labels.get(to as usize).copied().flatten()?;
    let mut nodes = vec![to];
    let mut at = last;
    // Each step goes to a label with fewer hops.
    while at.length.hops > 0 {
        nodes.push(at.from);
        at = labels.get(at.from as usize).copied().flatten()?;
    }
    nodes.reverse();
    Some(Route { nodes, delay: last.length.delay, mtu: last.mtu })
}

/// With at most `hops` links (one layer of labels for each number of hops).
fn bounded(ted: &Ted, from: u32, to: u32, bounds: Bounds, hops: u8, scratch: &mut Scratch) -> Option<Route> {
    let vertices = ted.vertices();
    let hops = usize::from(hops).min(vertices.len());
    let layers = &mut scratch.layers;
    layers.resize_with(hops + 1, Vec::new);
    for layer in layers.iter_mut() {
        layer.clear();
        layer.resize(vertices.len(), None);
    }
    *layers.first_mut()?.get_mut(from as usize)? = Some(Label { length: Length::ZERO, from, mtu: u16::MAX });
    for hop in 0..hops {
        let (done, rest) = layers.split_at_mut(hop + 1);
        let (Some(here), Some(next)) = (done.last(), rest.first_mut()) else { break };
        for (at, label) in (0u32..).zip(here).filter_map(|(at, label)| Some((at, (*label)?))) {
            if at == to {
                continue;
            }
            for edge in vertices.get(at as usize).map_or(&[][..], |vertex| &vertex.edges) {
                let length = label.length.plus(edge);
                if !usable(vertices, edge, to, bounds) || length.delay > bounds.max_delay {
                    continue;
                }
                let new = Label { length, from: at, mtu: label.mtu.min(edge.mtu) };
                let Some(place) = next.get_mut(edge.to as usize) else { continue };
                if better(vertices, &new, place.as_ref()) {
                    *place = Some(new);
                }
            }
        }
    }
    let ends = layers.iter().filter_map(|layer| layer.get(to as usize).copied().flatten());
    let last = ends.min_by_key(|label| label.length)?;
    let mut nodes = vec![to];
    let mut at = last;
    for layer in layers.get(..last.length.hops as usize)?.iter().rev() {
        nodes.push(at.from);
        at = layer.get(at.from as usize).copied().flatten()?;
    }
    nodes.reverse();
    Some(Route { nodes, delay: last.length.delay, mtu: last.mtu })
}

#[cfg(test)]
mod tests;
