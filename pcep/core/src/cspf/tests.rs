//! The computation against a search through all paths of small graphs.

use super::*;
use crate::ted::{LinkConfig, NodeConfig};
use cats_engine_types::{Micros, NodeId};
use proptest::prelude::*;
use std::net::Ipv6Addr;

type Link = (u8, u8, u64, u32, u32, u16, bool);

fn name(at: u8) -> NodeId {
    format!("n{at}").parse().unwrap()
}

fn topology(count: u8, links: &[Link]) -> Ted {
    learned(0..count, links)
}

fn learned(order: impl Iterator<Item = u8>, links: &[Link]) -> Ted {
    let mut ted = Ted::new();
    for at in order {
        let end = Some(Ipv6Addr::new(0xfc00, 0, 0, u16::from(at), 0, 0, 0, 1));
        ted.set_node(NodeConfig { node: name(at), end, delivery_v4: end, delivery_v6: end });
    }
    for &(from, to, delay, bandwidth, te_metric, mtu, up) in links {
        ted.set_link(&LinkConfig {
            from: name(from),
            to: name(to),
            up,
            delay: Micros(delay),
            bandwidth: Some(bandwidth),
            mtu,
            te_metric,
        });
    }
    ted
}

/// All simple paths, the best of them by delay, te-metric and hops.
fn search(
    ted: &Ted,
    walk: &mut Vec<u32>,
    to: u32,
    so_far: Length,
    bounds: Bounds,
    best: &mut Option<Length>,
) {
    let at = *walk.last().unwrap();
    if at == to {
        if best.is_none_or(|best| so_far < best) {
            *best = Some(so_far);
        }
        return;
    }
    for edge in &ted.vertex(at).unwrap().edges {
        let length = so_far.plus(edge);
        let wide = edge.up && edge.bandwidth >= bounds.min_bandwidth;
        let short = bounds.max_hops.is_none_or(|hops| length.hops <= u32::from(hops));
        if wide && short && length.delay <= bounds.max_delay && !walk.contains(&edge.to) {
            walk.push(edge.to);
            search(ted, walk, to, length, bounds, best);
            walk.pop();
        }
    }
}

/// The length and MTU of a route, checked edge by edge.
fn measure(ted: &Ted, route: &Route) -> (Length, u16) {
    let mut length = Length::ZERO;
    let mut mtu = u16::MAX;
    for pair in route.nodes.windows(2) {
        let edges = &ted.vertex(pair[0]).unwrap().edges;
        let edge = edges.iter().find(|edge| edge.to == pair[1]).expect("a route goes along links");
        assert!(edge.up);
        length = length.plus(edge);
        mtu = mtu.min(edge.mtu);
    }
    (length, mtu)
}

fn links(count: u8) -> impl Strategy<Value = Vec<Link>> {
    let link = (0..count, 0..count, 0u64..5, 0u32..3, 1u32..4, 1280u16..1600, prop::bool::weighted(0.9))
        .prop_filter("a loop is no link", |link| link.0 != link.1);
    prop::collection::vec(link, 0..24)
}

proptest! {
    #[test]
    fn the_route_is_the_best_of_all_paths_within_the_bounds(
        links in links(6),
        max_delay in prop_oneof![Just(u64::MAX), 0u64..12],
        min_bandwidth in 0u32..3,
        max_hops in prop_oneof![Just(None), (0u8..5).prop_map(Some)],
    ) {
        let ted = topology(6, &links);
        let bounds = Bounds { max_delay, min_bandwidth, max_hops };
        let (from, to) = (ted.find(&name(0)).unwrap(), ted.find(&name(5)).unwrap());
        let mut best = None;
        search(&ted, &mut vec![from], to, Length::ZERO, bounds, &mut best);
        let route = shortest(&ted, from, to, bounds, &mut Scratch::default());
        let found = route.as_ref().map(|route| measure(&ted, route));
        prop_assert_eq!(found.map(|(length, _)| length), best);
        if let (Some(route), Some((length, mtu))) = (route, found) {
            prop_assert_eq!(route.delay, length.delay);
            prop_assert_eq!(route.mtu, mtu);
        }
    }

    #[test]
    fn the_route_does_not_depend_on_the_order_in_which_the_topology_was_learned(links in links(6)) {
        let bounds = Bounds { max_delay: u64::MAX, min_bandwidth: 0, max_hops: None };
        let mut unique: Vec<Link> = Vec::new();
        for link in links {
            if !unique.iter().any(|known| (known.0, known.1) == (link.0, link.1)) {
                unique.push(link);
            }
        }
        let forward = learned(0..6, &unique);
        unique.reverse();
        let backward = learned((0..6).rev(), &unique);
        let route = |ted: &Ted| {
            let (from, to) = (ted.find(&name(0)).unwrap(), ted.find(&name(5)).unwrap());
            let route = shortest(ted, from, to, bounds, &mut Scratch::default())?;
            let names = route.nodes.iter().map(|at| ted.vertex(*at).unwrap().name.clone());
            Some((names.collect::<Vec<_>>(), route.delay, route.mtu))
        };
        prop_assert_eq!(route(&forward), route(&backward));
    }
}

#[test]
fn a_node_without_an_end_segment_is_never_passed_through() {
    let links = [(0, 1, 1, 9, 1, 1500, true), (1, 2, 1, 9, 1, 1500, true)];
    let mut ted = topology(3, &links);
    let bounds = Bounds { max_delay: u64::MAX, min_bandwidth: 0, max_hops: None };
    let find = |ted: &Ted| shortest(ted, 0, 2, bounds, &mut Scratch::default()).map(|route| route.nodes);
    assert_eq!(find(&ted), Some(vec![0, 1, 2]));
    ted.set_node(NodeConfig { node: name(1), end: None, delivery_v4: None, delivery_v6: None });
    assert_eq!(find(&ted), None);
}
