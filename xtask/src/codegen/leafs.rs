//! The table of all configuration leafs, by which a test proves that each one is consumed.

use cats_yang_tree::schema::{NodeKind, Schema};
use std::fmt::Write as _;

/// Every leaf and leaf-list of configuration of every implemented module, by its schema path.
pub(crate) fn table(schema: &Schema) -> String {
    let is_leaf = |kind: &NodeKind| matches!(kind, NodeKind::Leaf { .. } | NodeKind::LeafList { .. });
    let leafs = schema.nodes.iter().filter(|node| node.config && is_leaf(&node.kind));
    let mut paths: Vec<String> = leafs.map(|node| schema.path_of(node.id)).collect();
    paths.sort();
    let mut text = String::from(
        "//! All leafs of the configuration.\n\n/// Every leaf and leaf-list of configuration of every implemented module, \
         by its path without choices and cases.\npub const CONFIG_LEAVES: &[&str] = &[\n",
    );
    for path in paths {
        let _ = writeln!(text, "    {path:?},");
    }
    text + "];\n"
}
