//! What is not judged here, but by libyang on the whole configuration: found out from the schema alone.

use super::constraints::{chain, indexable};
use crate::schema::{Node, NodeId, NodeKind, Schema, Type};
use crate::tree::{Branch, Data, Tree};

/// A constraint that is left to libyang.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The node that has it.
    pub node: NodeId,
    /// Why it is not judged here.
    pub why: &'static str,
    /// A `when`: it deletes nodes, so it comes before everything else.
    pub is_when: bool,
}

impl Schema {
    /// The constraints that [`crate::validate()`] does not judge.
    pub fn left(&self) -> &[Left] {
        &self.constraints().left
    }
}

/// Those of [`Schema::left`] whose nodes `tree` may hold. It is not looked into lists: one that has entries may hold
/// what stands below them.
pub fn left_in<'s>(schema: &'s Schema, tree: &Tree) -> impl Iterator<Item = &'s Left> {
    schema.left().iter().filter(|left| {
        // A node that is absent may be so in breach of its `mandatory`, and a choice or case is never in data.
        let data = crate::index::is_data(&schema.node(left.node).kind) && !left.is_when;
        let node = if data { Some(left.node) } else { schema.data_parent(left.node) };
        node.is_none_or(|node| may_hold(schema, &tree.root, &chain(schema, None, node)))
    })
}

fn may_hold(schema: &Schema, branch: &Branch, chain: &[NodeId]) -> bool {
    let Some((id, below)) = chain.split_first() else { return true };
    match branch.get(*id) {
        Some(Data::Container(inner)) => may_hold(schema, inner, below),
        Some(Data::List(_) | Data::LeafList(_) | Data::Leaf(_) | Data::Any(_)) => true,
        // It exists without being stored.
        None if schema.is_non_presence(*id) => may_hold(schema, &Branch::default(), below),
        None => below.is_empty() && !schema.default_values(*id).is_empty(),
    }
}

pub(super) fn of_node(schema: &Schema, node: &Node, left: &mut Vec<Left>) {
    let mut push = |why, is_when| left.push(Left { node: node.id, why, is_when });
    node.whens.iter().for_each(|_| push("when", true));
    node.musts.iter().for_each(|_| push("must", false));
    if let NodeKind::Leaf { ty, .. } | NodeKind::LeafList { ty, .. } = &node.kind
        && let Some(why) = of_type(schema, node.id, &ty.base, false)
    {
        push(why, false);
    }
}

fn of_type(schema: &Schema, id: NodeId, ty: &Type, in_union: bool) -> Option<&'static str> {
    match ty {
        Type::InstanceIdentifier { require_instance: true } => {
            Some("instance-identifier with require-instance true")
        }
        Type::Leafref { require_instance: true, .. } if in_union => Some("leafref in a union"),
        Type::Leafref { require_instance: true, path, .. } if indexable(schema, id).is_none() => {
            Some(if path.text.contains(['[', '(']) {
                "leafref with a predicate or a function"
            } else {
                "leafref with a default, or to a node that has one"
            })
        }
        Type::Leafref { real, .. } => of_type(schema, id, &real.base, in_union),
        Type::Union(members) => members.iter().find_map(|member| of_type(schema, id, &member.base, true)),
        Type::Binary { .. }
        | Type::Bits(_)
        | Type::Boolean
        | Type::Decimal64 { .. }
        | Type::Empty
        | Type::Enumeration(_)
        | Type::Identityref { .. }
        | Type::InstanceIdentifier { require_instance: false }
        | Type::Integer { .. }
        | Type::String { .. } => None,
    }
}
