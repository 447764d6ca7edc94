//! Where a reader stands, for the few questions that the place decides.

use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, Schema};
use crate::tree::Branch;

/// The branches from the top of a tree to the one that is looked at; kept on the stack of whoever walks.
#[derive(Clone, Copy, Default)]
pub(crate) struct Trail<'a> {
    above: Option<&'a Trail<'a>>,
    /// None at the top.
    here: Option<(NodeId, &'a Branch)>,
}

impl<'a> Trail<'a> {
    /// One level down: a container or an entry.
    pub(crate) fn inside(&'a self, node: NodeId, branch: &'a Branch) -> Trail<'a> {
        Trail { above: Some(self), here: Some((node, branch)) }
    }

    /// The path of the branch.
    pub(crate) fn path(&self, schema: &Schema) -> InstancePath {
        let mut path = self.above.map(|above| above.path(schema)).unwrap_or_default();
        path.steps.extend(self.here.map(|(node, branch)| step(schema, node, branch)));
        path
    }
}

/// The step to a container or an entry with this content.
pub(crate) fn step(schema: &Schema, node: NodeId, branch: &Branch) -> Step {
    let keys = schema.list_keys(node);
    let values = keys.iter().filter_map(|key| branch.leaf(*key).cloned());
    Step { node, key: (!keys.is_empty()).then(|| Key::new(values.collect())) }
}
