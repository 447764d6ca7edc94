//! The tables of all leafs, by which tests prove that each one of the configuration is consumed, and each one of state
//! served.

use cats_yang_tree::schema::{NodeId, NodeKind, Schema};
use std::fmt::Write as _;

/// Every leaf and leaf-list of every implemented module, by its schema path: those of configuration, and of state.
pub(crate) fn table(schema: &Schema) -> String {
    let mut leafs = Vec::new();
    for top in schema.data_children_of(None) {
        collect(schema, *top, &mut leafs);
    }
    let paths = |config: bool| {
        let of = leafs.iter().filter(|leaf| schema.node(**leaf).config == config);
        let mut paths: Vec<String> = of.map(|leaf| schema.path_of(*leaf)).collect();
        paths.sort();
        paths
    };
    let mut text = String::from("//! All leafs.\n");
    for (name, what, paths) in
        [("CONFIG_LEAVES", "configuration", paths(true)), ("STATE_LEAVES", "state", paths(false))]
    {
        let _ = write!(
            text,
            "\n/// Every leaf and leaf-list of {what} of every implemented module, by its path without choices and cases.\n\
             pub const {name}: &[&str] = &[\n"
        );
        for path in paths {
            let _ = writeln!(text, "    {path:?},");
        }
        text.push_str("];\n");
    }
    text
}

fn collect(schema: &Schema, node: NodeId, leafs: &mut Vec<NodeId>) {
    if matches!(schema.node(node).kind, NodeKind::Leaf { .. } | NodeKind::LeafList { .. }) {
        leafs.push(node);
    }
    for child in schema.data_children(node) {
        collect(schema, *child, leafs);
    }
}
