//! What a user may change: each node that an edit or a commit creates, alters or deletes (RFC 8341 sections 3.2.5,
//! 3.2.6 and 3.2.8).
//!
//! What counts is the difference. A container without presence always exists, so only what is in it is created or
//! deleted. What goes because another case of its choice came was not asked for, and takes no rights.

use super::denial::Denials;
use super::effective::Effective;
use super::rules::AccessOperation;
use cats_yang_tree::diff::{Change, ChangeKind, Payload};
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::{Branch, Data, Found, InstancePath, Step, Tree, diff};

impl Effective {
    /// # Errors
    /// `access-denied` for each topmost node that may not be changed so, up to a bound.
    pub(super) fn may_change(&self, old: &Tree, new: &Tree) -> Result<(), Vec<Error>> {
        if old.ptr_eq(new) {
            return Ok(());
        }
        let mut check = Check { access: self, trail: Vec::new(), denials: Denials::default() };
        for change in &diff(old, new).changes {
            check.change(change, new);
            if check.denials.is_full() {
                break;
            }
        }
        check.denials.into_result()
    }
}

struct Check<'a> {
    access: &'a Effective,
    trail: Vec<Step>,
    denials: Denials,
}

impl Check<'_> {
    fn change(&mut self, change: &Change, new: &Tree) {
        self.trail.clone_from(&change.path.steps);
        match &change.kind {
            ChangeKind::Create { new } => self.whole(AccessOperation::Create, new),
            ChangeKind::Delete { .. } if lost_its_case(&self.access.schema, &change.path, new) => {}
            ChangeKind::Delete { old } => self.whole(AccessOperation::Delete, old),
            ChangeKind::Replace { .. } | ChangeKind::Move => drop(self.one(AccessOperation::Update)),
        }
    }

    /// The node at the end of the trail with all that is in it.
    fn whole(&mut self, operation: AccessOperation, payload: &Payload) {
        if let (true, Payload::Branch(branch)) = (self.one(operation), payload) {
            self.below(operation, branch);
        }
    }

    fn one(&mut self, operation: AccessOperation) -> bool {
        let permitted = self.access.permits(operation, &self.trail);
        if !permitted && self.access.sees(&self.trail) {
            let path = InstancePath { steps: self.trail.clone() };
            self.denials.at(&self.access.schema, operation, &path);
        } else if !permitted {
            self.denials.somewhere();
        }
        permitted
    }

    fn below(&mut self, operation: AccessOperation, branch: &Branch) {
        for (node, data) in branch.iter() {
            if !self.is_permitted_as_a_whole(operation, node) {
                self.trail.push(Step { node, key: None });
                self.child(operation, node, data);
                self.trail.pop();
            }
        }
    }

    fn is_permitted_as_a_whole(&self, operation: AccessOperation, node: NodeId) -> bool {
        self.access.facts(node).is_some_and(|facts| {
            let all = if operation == AccessOperation::Delete { facts.delete } else { facts.create };
            all && !facts.by_instance
        })
    }

    fn child(&mut self, operation: AccessOperation, node: NodeId, data: &Data) {
        match data {
            Data::Leaf(_) | Data::Any(_) => drop(self.one(operation)),
            Data::Container(inner) => {
                if self.access.schema.is_non_presence(node) || self.one(operation) {
                    self.below(operation, inner);
                }
            }
            Data::List(entries) => {
                for (key, entry) in entries.iter() {
                    self.step_to(key);
                    if self.one(operation) {
                        self.below(operation, entry);
                    }
                }
            }
            Data::LeafList(entries) => {
                for (key, _) in entries.iter() {
                    self.step_to(key);
                    self.one(operation);
                }
            }
        }
    }

    fn step_to(&mut self, key: &cats_yang_tree::Key) {
        if let Some(step) = self.trail.last_mut() {
            step.key = Some(key.clone());
        }
    }
}

/// Is the deleted node, or one that it was in, of a case that had to give way to another one of the new tree (RFC
/// 7950 section 7.9)?
fn lost_its_case(schema: &Schema, path: &InstancePath, new: &Tree) -> bool {
    path.steps.iter().enumerate().any(|(depth, step)| {
        let mine = cases(schema, step.node);
        if mine.is_empty() {
            return false;
        }
        let above = InstancePath { steps: path.steps.get(..depth).unwrap_or_default().to_vec() };
        let Some(Found::Branch(branch)) = new.find(&above) else { return false };
        branch.iter().any(|(other, _)| {
            let theirs = cases(schema, other);
            mine.iter().any(|(choice, case)| theirs.iter().any(|(a, b)| a == choice && b != case))
        })
    })
}

/// The choices that a node stands in, with its case of each.
fn cases(schema: &Schema, node: NodeId) -> Vec<(NodeId, NodeId)> {
    std::iter::successors(schema.case_of(node), |(choice, _)| schema.case_of(*choice)).collect()
}
