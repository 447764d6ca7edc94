//! Finding the instances of a schema node.

use super::constraints::chain;
use crate::path::{InstancePath, Step};
use crate::schema::{NodeId, Schema};
use crate::tree::{Branch, Data, Tree};

/// Calls `see` for each stored instance of `node` in `tree`, in document order; a list or leaf-list as a whole, with
/// its path without a key.
pub(super) fn each_instance(
    schema: &Schema,
    tree: &Tree,
    node: NodeId,
    see: &mut dyn FnMut(&InstancePath, &Data),
) {
    descend(&tree.root, &chain(schema, None, node), &mut InstancePath::default(), see);
}

fn descend(
    branch: &Branch,
    chain: &[NodeId],
    trail: &mut InstancePath,
    see: &mut dyn FnMut(&InstancePath, &Data),
) {
    let Some((id, below)) = chain.split_first() else { return };
    let Some(data) = branch.get(*id) else { return };
    trail.steps.push(Step { node: *id, key: None });
    match data {
        _ if below.is_empty() => see(trail, data),
        Data::Container(inner) => descend(inner, below, trail, see),
        Data::List(entries) => {
            for (key, entry) in entries.iter() {
                if let Some(step) = trail.steps.last_mut() {
                    step.key = Some(key.clone());
                }
                descend(entry, below, trail, see);
            }
        }
        Data::Leaf(_) | Data::LeafList(_) | Data::Any(_) => {}
    }
    trail.steps.pop();
}
