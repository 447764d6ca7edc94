//! What is not judged here, but by libyang on the whole configuration: found out from the schema alone.

use super::constraints::chain;
use crate::schema::{Node, NodeId, NodeKind, Schema, Type};
use crate::tree::{Branch, Data, Tree};

/// A constraint that is left to libyang.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The node that has it.
    pub node: NodeId,
    /// Why it is not judged here.
    pub why: String,
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

/// What a value of the node must refer to, as far as that is left. Conditions have said what of them is.
pub(super) fn of_node(node: &Node, left: &mut Vec<Left>) {
    if let NodeKind::Leaf { ty, .. } | NodeKind::LeafList { ty, .. } = &node.kind
        && let Some(why) = of_type(&ty.base, false)
    {
        left.push(Left { node: node.id, why: why.to_owned(), is_when: false });
    }
}

fn of_type(ty: &Type, in_union: bool) -> Option<&'static str> {
    match ty {
        Type::InstanceIdentifier { require_instance: true } => {
            Some("instance-identifier with require-instance true")
        }
        Type::Leafref { require_instance: true, .. } if in_union => Some("leafref in a union"),
        Type::Leafref { real, .. } => of_type(&real.base, in_union),
        Type::Union(members) => members.iter().find_map(|member| of_type(&member.base, true)),
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
