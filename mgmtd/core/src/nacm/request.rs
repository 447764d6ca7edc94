//! What an edit names, judged before it is compared with the datastore, so that the answer tells nothing of what its
//! user may not read.
//!
//! The rule: where a node may not be read, the request alone decides. It is refused unless one of the rights is there
//! that the operation could need, whether or not the node exists, and so is the deletion or replacement of a node that
//! could hold what is hidden and must not be deleted. An edit that passes is made, and its difference judged as any.

use super::denial::Denials;
use super::effective::{Effective, Extent};
use super::rules::AccessOperation;
use cats_yang_tree::error::Error;
use cats_yang_tree::ops::{Content, Op, Operation};
use cats_yang_tree::tree::Place;
use cats_yang_tree::{InstancePath, Ops, Step};

impl Effective {
    /// # Errors
    /// `access-denied` for each node that the request may not name so, up to a bound.
    pub(super) fn may_request(&self, ops: &Ops) -> Result<(), Vec<Error>> {
        if self.reads_all() {
            return Ok(());
        }
        let mut check = Check { access: self, trail: Vec::new(), denials: Denials::default() };
        for stage in ops.stages() {
            if stage.replace_all {
                check.replacement();
            }
            for op in &stage.nodes {
                check.op(op, true);
            }
        }
        check.denials.into_result()
    }

    /// May everything that stands now be replaced, as far as that does not depend on what it is?
    ///
    /// # Errors
    /// `access-denied`.
    pub(super) fn may_replace_all(&self) -> Result<(), Vec<Error>> {
        let mut check = Check { access: self, trail: Vec::new(), denials: Denials::default() };
        check.replacement();
        check.denials.into_result()
    }
}

struct Check<'a> {
    access: &'a Effective,
    trail: Vec<Step>,
    denials: Denials,
}

impl Check<'_> {
    fn replacement(&mut self) {
        if self.may_hold_hidden(false) {
            self.denials.somewhere();
        }
    }

    /// Judges an operation; `seen`: the node that it is in may be read. True when a right to write is there for
    /// something that it names.
    fn op(&mut self, op: &Op, seen: bool) -> bool {
        self.trail.push(op.step());
        let seen = seen && self.access.reads(&self.trail);
        let denied = self.anchor_is_hidden(op).or_else(|| self.replaces(op, seen));
        let done = match denied {
            Some(operation) => self.deny(operation),
            None if seen => self.children(op, true),
            None => self.hidden(op),
        };
        self.trail.pop();
        done
    }

    fn deny(&mut self, operation: AccessOperation) -> bool {
        // The request has named it.
        let path = InstancePath { steps: self.trail.clone() };
        self.denials.at(&self.access.schema, operation, &path);
        false
    }

    /// Is the right there for the node, and of an entry for its keys?
    fn has(&mut self, operation: AccessOperation) -> bool {
        let keys = self.trail.last().map_or(&[][..], |step| self.access.schema.list_keys(step.node));
        self.access.judge(operation, &self.trail).permit
            && keys.iter().all(|key| {
                self.trail.push(Step { node: *key, key: None });
                let permitted = self.access.judge(operation, &self.trail).permit;
                self.trail.pop();
                permitted
            })
    }

    fn children(&mut self, op: &Op, seen: bool) -> bool {
        let (Content::Container(children) | Content::Entry(_, children)) = &op.content else { return true };
        if op.operation.deletes() {
            return true;
        }
        let before = self.denials.len();
        let mut any = false;
        for child in children {
            any |= self.op(child, seen);
        }
        any && self.denials.len() == before
    }

    /// An operation on a node that may not be read.
    fn hidden(&mut self, op: &Op) -> bool {
        use AccessOperation::{Create, Delete, Update};
        let implied = self.access.schema.is_non_presence(op.node);
        let right = match op.operation {
            Operation::Delete | Operation::Remove => return self.has(Delete) || self.deny(Delete),
            Operation::Create => self.has(Create),
            Operation::None | Operation::Merge | Operation::Replace => self.has(Create) || self.has(Update),
        };
        let needed = if op.operation == Operation::Create { Create } else { Update };
        match &op.content {
            Content::Container(_) | Content::Entry(..) => {
                let before = self.denials.len();
                let below = self.children(op, false);
                // Levels that only lead to what may be written are as good as permitted themselves.
                let leads = below && op.operation != Operation::Create;
                if self.denials.len() > before || implied {
                    below
                } else {
                    right || leads || self.deny(needed)
                }
            }
            Content::Leaf(_) | Content::LeafListEntry(..) | Content::All | Content::Any(_) => {
                right || self.deny(needed)
            }
        }
    }

    /// An entry that may not be read is no place to put another one at.
    fn anchor_is_hidden(&self, op: &Op) -> Option<AccessOperation> {
        let (Place::Before(anchor) | Place::After(anchor)) = op.insert.as_ref()? else { return None };
        let mut trail = self.trail.clone();
        trail.last_mut()?.key = Some(anchor.clone());
        (!self.access.sees(&trail)).then_some(AccessOperation::Read)
    }

    /// Does it take away what may be hidden and must stay? To create a container without presence is to say that it
    /// holds nothing.
    fn replaces(&mut self, op: &Op, seen: bool) -> Option<AccessOperation> {
        let takes = match op.operation {
            Operation::Delete | Operation::Remove | Operation::Replace => true,
            Operation::Create => self.access.schema.is_non_presence(op.node),
            Operation::None | Operation::Merge => false,
        };
        (takes && self.may_hold_hidden(!seen)).then_some(AccessOperation::Delete)
    }

    /// May there be something at or below the end of the trail that is hidden and must not be deleted? `hidden`: the
    /// end itself may not be read.
    fn may_hold_hidden(&mut self, hidden: bool) -> bool {
        let schema = &self.access.schema;
        let node = self.trail.last().map(|step| step.node);
        if let Some(facts) = node.and_then(|node| self.access.facts(node)) {
            let read = facts.read == Extent::All && !hidden;
            if !facts.by_instance && (read || facts.delete) {
                return false;
            }
        }
        if let Some(node) = node
            && hidden
            && !schema.is_non_presence(node)
            && self.access.judge(AccessOperation::Delete, &self.trail).deny
        {
            return true;
        }
        let below: Vec<_> = schema.data_children_of(node).to_vec();
        below.into_iter().filter(|child| schema.node(*child).config).any(|child| {
            self.trail.push(Step { node: child, key: None });
            let hidden = hidden || !self.access.reads(&self.trail);
            let found = self.may_hold_hidden(hidden);
            self.trail.pop();
            found
        })
    }
}
