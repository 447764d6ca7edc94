//! The tables of all leafs, by which tests prove that each one of the configuration is consumed, and each one of state
//! served.

use cats_yang_tree::schema::{NodeId, NodeKind, Schema};
use std::collections::BTreeSet;
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
    text.push_str(
        "\n/// The nodes of state that are pushed when they change, each with all below it, and the keys of the lists that \
         these stand in.\npub const ON_CHANGE: &[&str] = &[\n",
    );
    for path in pushed(schema) {
        let _ = writeln!(text, "    {path:?},");
    }
    text.push_str("];\n");
    text
}

fn pushed(schema: &Schema) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for node in schema.data_nodes().filter(|node| node.flags.on_change) {
        let above = schema.data_parent(node.id);
        if above.is_some_and(|above| schema.node(above).flags.on_change) {
            continue;
        }
        paths.insert(schema.path_of(node.id));
        for list in std::iter::successors(above, |above| schema.data_parent(*above)) {
            paths.extend(schema.list_keys(list).iter().map(|key| schema.path_of(*key)));
        }
    }
    paths
}

fn collect(schema: &Schema, node: NodeId, leafs: &mut Vec<NodeId>) {
    if matches!(schema.node(node).kind, NodeKind::Leaf { .. } | NodeKind::LeafList { .. }) {
        leafs.push(node);
    }
    for child in schema.data_children(node) {
        collect(schema, *child, leafs);
    }
}
