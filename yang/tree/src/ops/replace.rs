//! Other values for leafs, before an edit is applied.

use super::{Content, Op, Ops};
use crate::error::{Error, Errors};
use crate::path::{InstancePath, Key};
use crate::value::Value;

type Replacement<'a> = &'a mut dyn FnMut(&InstancePath, &Value) -> Result<Option<Value>, Error>;

pub(super) fn values(ops: &mut Ops, replacement: Replacement<'_>) -> Result<(), Vec<Error>> {
    let mut walk = Walk { path: InstancePath::default(), errors: Errors::default() };
    for stage in &mut ops.steps {
        walk.ops(&mut stage.nodes, replacement);
    }
    if walk.errors.is_empty() { Ok(()) } else { Err(walk.errors.into_vec()) }
}

struct Walk {
    path: InstancePath,
    errors: Errors,
}

impl Walk {
    fn ops(&mut self, ops: &mut [Op], replacement: Replacement<'_>) {
        for op in ops {
            self.path.steps.push(op.step());
            match &mut op.content {
                Content::Leaf(Some(value)) => {
                    if let Some(new) = self.replaced(value, replacement) {
                        *value = new;
                    }
                }
                Content::LeafListEntry(key, value) => {
                    if let Some(new) = self.replaced(value, replacement) {
                        *key = Key::One(new.clone());
                        *value = new;
                    }
                }
                Content::Container(inner) | Content::Entry(_, inner) => self.ops(inner, replacement),
                Content::Leaf(None) | Content::All | Content::Any(_) => {}
            }
            self.path.steps.pop();
        }
    }

    fn replaced(&mut self, value: &Value, replacement: Replacement<'_>) -> Option<Value> {
        replacement(&self.path, value).unwrap_or_else(|error| {
            self.errors.push(error);
            None
        })
    }
}
