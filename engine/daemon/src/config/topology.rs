//! The topology that paths are computed on.

use cats_engine_core::config::{CATS, Violation, micros, node};
use cats_engine_types::Encaps;
use cats_pcep_core::{LinkConfig, NodeConfig, PceConfig};
use cats_yang_model::generated::cats_pce::{EncapsulationMode, Link, Node};
use cats_yang_model::generated::ietf_cats::Cats;

const TOPOLOGY: &str = "cats-pce:path-computation/topology";

pub(super) fn read(cats: &Cats, violations: &mut Vec<Violation>) -> PceConfig {
    let computation = &cats.path_computation;
    let topology = &computation.topology;
    PceConfig {
        encaps: encaps(computation.encapsulation_mode()),
        nodes: topology.node.values().filter_map(|entry| read_node(entry, violations)).collect(),
        links: topology.link.values().filter_map(|entry| read_link(entry, violations)).collect(),
        ..PceConfig::default()
    }
}

pub(super) fn encaps(mode: EncapsulationMode) -> Encaps {
    match mode {
        EncapsulationMode::Reduced => Encaps::Reduced,
        EncapsulationMode::Full => Encaps::Full,
    }
}

fn read_node(entry: &Node, violations: &mut Vec<Violation>) -> Option<NodeConfig> {
    let path = || format!("{CATS}/{TOPOLOGY}/node[node-id='{}']/node-id", entry.node_id);
    Some(NodeConfig {
        node: node(&entry.node_id, violations, path)?,
        end: entry.end_sid,
        delivery_v4: entry.delivery_sid_v4,
        delivery_v6: entry.delivery_sid_v6,
    })
}

fn read_link(entry: &Link, violations: &mut Vec<Violation>) -> Option<LinkConfig> {
    let path =
        |leaf: &str| format!("{CATS}/{TOPOLOGY}/link[from='{}'][to='{}']/{leaf}", entry.from, entry.to);
    Some(LinkConfig {
        from: node(&entry.from, violations, || path("from"))?,
        to: node(&entry.to, violations, || path("to"))?,
        up: entry.enabled(),
        delay: micros(entry.delay()),
        bandwidth: entry.bandwidth,
        mtu: entry.mtu(),
        te_metric: entry.te_metric(),
    })
}
