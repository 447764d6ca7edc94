//! Mandatory nodes and numbers of entries.

use super::Violation;
use crate::edit::cases;
use crate::error::{Error, ErrorInfo, ErrorTag};
use crate::path::{InstancePath, Step};
use crate::schema::{NodeId, NodeKind, Schema};
use crate::tree::{Branch, Data, Entries, Tree};
use std::sync::Arc;

/// `base` is valid, so what it shares with `new` is not visited.
pub(super) fn check(schema: &Schema, base: Option<&Tree>, new: &Tree) -> Vec<Violation> {
    let mut walk = Walk { schema, trail: InstancePath::default(), found: Vec::new() };
    walk.branch(None, base.map(|base| &base.root), &new.root);
    walk.found
}

struct Walk<'s> {
    schema: &'s Schema,
    trail: InstancePath,
    found: Vec<Violation>,
}

impl Walk<'_> {
    fn fail_at(&mut self, node: NodeId, error: Error) {
        let mut place = self.trail.clone();
        place.steps.push(Step { node, key: None });
        self.found.push(Violation::new(self.schema, place, error));
    }

    fn branch(&mut self, parent: Option<NodeId>, base: Option<&Arc<Branch>>, new: &Arc<Branch>) {
        if base.is_some_and(|base| Arc::ptr_eq(base, new)) {
            return;
        }
        let children = match parent {
            Some(parent) => &self.schema.node(parent).children,
            None => &self.schema.roots,
        };
        self.level(children, base, new);
    }

    /// The schema children of a branch, or of a case in it that is in use.
    fn level(&mut self, children: &[NodeId], base: Option<&Arc<Branch>>, new: &Branch) {
        for id in children {
            let node = self.schema.node(*id);
            if !node.config {
                continue;
            }
            match &node.kind {
                NodeKind::Choice { mandatory, .. } => self.choice(*id, *mandatory, base, new),
                _ => self.child(*id, base, new),
            }
        }
    }

    fn choice(&mut self, id: NodeId, mandatory: bool, base: Option<&Arc<Branch>>, new: &Branch) {
        let schema = self.schema;
        let mut taken = new.children.iter().flat_map(|child| cases(schema, child.id));
        match taken.find(|(choice, _)| *choice == id) {
            Some((_, case)) => match schema.node(case).kind {
                NodeKind::Case => self.level(&schema.node(case).children, base, new),
                _ => self.child(case, base, new),
            },
            None if mandatory && schema.node(id).whens.is_empty() => {
                let name = &schema.node(id).name;
                let what = format!("one case of choice '{name}' must be configured");
                let error = Error::application(ErrorTag::DataMissing, what).app_tag("missing-choice");
                let error = error.with(ErrorInfo::MissingChoice(name.clone()));
                self.found.push(Violation::new(schema, self.trail.clone(), error));
            }
            None => {}
        }
    }

    fn child(&mut self, id: NodeId, base: Option<&Arc<Branch>>, new: &Branch) {
        let node = self.schema.node(id);
        let before = base.and_then(|base| base.get(id));
        let now = new.get(id);
        match &node.kind {
            NodeKind::Leaf { mandatory: true, .. } if now.is_none() && node.whens.is_empty() => {
                let error =
                    Error::application(ErrorTag::DataMissing, format!("'{}' must be configured", node.name));
                self.fail_at(id, error);
            }
            NodeKind::Container { presence } => {
                let empty = Arc::default();
                let inner = match now {
                    Some(Data::Container(inner)) => inner,
                    // It exists with its parent, unless its `when` says otherwise. Where it did before, it lacks nothing.
                    None if base.is_some() && before.is_none() && self.schema.case_of(id).is_none() => return,
                    _ if !presence && node.whens.is_empty() => &empty,
                    _ => return,
                };
                let before = match before {
                    Some(Data::Container(before)) => Some(before),
                    _ => None,
                };
                self.trail.steps.push(Step { node: id, key: None });
                self.branch(Some(id), before, inner);
                self.trail.steps.pop();
            }
            NodeKind::List { min_elements, max_elements, .. } => {
                let (old, entries) = match (before, now) {
                    (Some(Data::List(old)), Some(Data::List(new))) if Arc::ptr_eq(old, new) => return,
                    (Some(Data::List(old)), Some(Data::List(new))) => (Some(old), Some(new)),
                    (_, Some(Data::List(new))) => (None, Some(new)),
                    _ => (None, None),
                };
                let count = entries.map_or(0, |entries| entries.len());
                self.count(id, count, *min_elements, *max_elements);
                if let Some(entries) = entries {
                    self.entries(id, old.map(|old| &**old), entries);
                }
            }
            NodeKind::LeafList { min_elements, max_elements, .. } => {
                let count = match now {
                    Some(Data::LeafList(entries)) => entries.len(),
                    _ => 0,
                };
                self.count(id, count, *min_elements, *max_elements);
            }
            _ => {}
        }
    }

    fn entries(&mut self, id: NodeId, old: Option<&Entries<Arc<Branch>>>, entries: &Entries<Arc<Branch>>) {
        for (key, before, entry) in entries.changed_since(old) {
            self.trail.steps.push(Step { node: id, key: Some(key.clone()) });
            self.branch(Some(id), before, entry);
            self.trail.steps.pop();
        }
    }

    /// RFC 7950 sections 15.2 and 15.3.
    fn count(&mut self, id: NodeId, count: usize, min: u32, max: Option<u32>) {
        let node = self.schema.node(id);
        let found = u32::try_from(count).unwrap_or(u32::MAX);
        let (what, tag) = if found < min && node.whens.is_empty() {
            (format!("'{}' needs at least {min} entries, not {found}", node.name), "too-few-elements")
        } else if let Some(max) = max.filter(|max| found > *max) {
            (format!("'{}' takes at most {max} entries, not {found}", node.name), "too-many-elements")
        } else {
            return;
        };
        self.fail_at(id, Error::application(ErrorTag::OperationFailed, what).app_tag(tag));
    }
}
