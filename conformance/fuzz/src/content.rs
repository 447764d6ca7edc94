//! The data that filters and expressions read.

use crate::schema::schema;
use cats_yang_tree::schema::NodeId;
use cats_yang_tree::{Branch, Data, DefaultOperation, InstancePath, Key, Operation, Ops, Step, Tree, edit};
use std::collections::HashSet;
use std::sync::OnceLock;

static TREE: OnceLock<Tree> = OnceLock::new();
static LACKING: OnceLock<Vec<Lacking>> = OnceLock::new();

/// A tree that has something of everything.
pub(crate) fn tree() -> &'static Tree {
    TREE.get_or_init(|| {
        let text = include_str!("content.xml");
        let ops = Ops::from_xml_str(schema(), text, DefaultOperation::Merge).expect("the content is right");
        edit(&Tree::new(), schema(), ops).expect("the content fits")
    })
}

/// The tree without one of its nodes, and the paths of what went with it.
#[derive(Debug)]
pub(crate) struct Lacking {
    pub(crate) tree: Tree,
    pub(crate) gone: Vec<InstancePath>,
}

/// The tree without each of its nodes.
pub(crate) fn lacking() -> &'static [Lacking] {
    LACKING.get_or_init(|| {
        let mut all = HashSet::new();
        whole(tree().root(), &InstancePath::default(), &mut all);
        let mut paths: Vec<&InstancePath> = all.iter().collect();
        paths.sort_by_key(|path| path.render(schema()));
        let lacking = paths.into_iter().filter_map(|path| {
            let mut ops = Ops::default();
            // What cannot be removed, such as the key of an entry, goes with something else.
            ops.push(schema(), path, Operation::Remove, None).ok()?;
            let tree = edit(tree(), schema(), ops).expect("a removal fits");
            let mut left = HashSet::new();
            whole(tree.root(), &InstancePath::default(), &mut left);
            Some(Lacking { tree, gone: all.difference(&left).cloned().collect() })
        });
        lacking.collect()
    })
}

/// The paths of everything in `branch`, which is at `at`.
pub(crate) fn whole(branch: &Branch, at: &InstancePath, out: &mut HashSet<InstancePath>) {
    if !at.steps.is_empty() {
        out.insert(at.clone());
    }
    branch.iter().for_each(|(node, data)| whole_node(node, data, at, out));
}

/// The paths of `data` and of everything in it.
pub(crate) fn whole_node(node: NodeId, data: &Data, at: &InstancePath, out: &mut HashSet<InstancePath>) {
    match data {
        Data::Leaf(_) | Data::Any(_) => drop(out.insert(below(at, node, None))),
        Data::Container(inner) => whole(inner, &below(at, node, None), out),
        Data::List(entries) => {
            entries.iter().for_each(|(key, entry)| whole(entry, &below(at, node, Some(key.clone())), out));
        }
        Data::LeafList(entries) => {
            out.extend(entries.iter().map(|(key, _)| below(at, node, Some(key.clone()))));
        }
    }
}

/// The path of a child.
pub(crate) fn below(at: &InstancePath, node: NodeId, key: Option<Key>) -> InstancePath {
    let mut path = at.clone();
    path.steps.push(Step { node, key });
    path
}
