//! What of a notification its receiver may be told (RFC 8341 section 3.4.6).
//!
//! A notification of the top level is judged by its name. One that is tied to data is judged as the node that it is there,
//! and the rules about its name may deny it beside that. Of one that may be received, what is guarded by its own
//! statement stays away, and so does each place that it names and its receiver may not read, with the entry that it stands
//! in: a change of the configuration is told to nobody who may not see it.

use super::effective::Effective;
use super::rules::AccessOperation;
use cats_yang_tree::notice::Notice;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{Branch, Data, Part, Step};
use std::sync::Arc;

impl Effective {
    /// None when nothing of it may be delivered.
    pub(super) fn receivable(&self, schema: &Schema, notice: &Notice) -> Option<Notice> {
        let node = schema.node(notice.notification());
        let module = &schema.module(node.module).name;
        let steps = &notice.path().steps;
        let named = if steps.len() > 1 {
            let above = steps.split_last().map_or(&[][..], |(_, above)| above);
            !self.names_deny(module, &node.name)
                && self.permits(AccessOperation::Read, steps)
                && self.sees(above)
        } else {
            self.may_receive(module, &node.name)
        };
        if !named {
            return None;
        }
        let content = notice.content();
        let told = self.unguarded(&content, &mut steps.clone());
        let cut = match Arc::ptr_eq(&told, &content) {
            true => notice.clone(),
            false => notice.with_content(schema, told),
        };
        cut.telling(schema, &|path| self.sees(&path.steps))
    }

    /// Without what only a rule could open, and none does. Where no statement guards, whoever may receive the notification
    /// may know what is in it.
    fn unguarded(&self, branch: &Arc<Branch>, trail: &mut Vec<Step>) -> Arc<Branch> {
        branch.parts(|node, data| {
            trail.push(Step { node, key: None });
            let guarded = self.schema.node(node).flags.default_deny_all;
            let part = if guarded && !self.permits(AccessOperation::Read, trail) {
                Part::Nothing
            } else {
                match data {
                    Data::Leaf(_) | Data::LeafList(_) | Data::Any(_) => Part::Whole,
                    Data::Container(inner) => {
                        let told = self.unguarded(inner, trail);
                        match Arc::ptr_eq(&told, inner) {
                            true => Part::Whole,
                            false => Part::Less(Data::Container(told)),
                        }
                    }
                    Data::List(entries) => {
                        let part = entries.parts(|_, entry| {
                            let told = self.unguarded(entry, trail);
                            if Arc::ptr_eq(&told, entry) { Part::Whole } else { Part::Less(told) }
                        });
                        match part {
                            Part::Whole => Part::Whole,
                            Part::Less(less) => Part::Less(Data::List(less)),
                            Part::Nothing => Part::Nothing,
                        }
                    }
                }
            };
            trail.pop();
            part
        })
    }
}
