//! Mandatory nodes, numbers of entries, unique values.

use crate::edit::cases;
use crate::error::{Error, ErrorInfo, ErrorTag, Path};
use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, NodeKind, Schema};
use crate::tree::{Branch, Data, Entries, Tree};
use crate::value::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn check(schema: &Schema, base: &Tree, new: &Tree) -> Vec<Error> {
    let mut walk = Walk { schema, trail: InstancePath::default(), errors: Vec::new() };
    walk.branch(None, Some(&base.root), &new.root);
    walk.errors
}

struct Walk<'s> {
    schema: &'s Schema,
    trail: InstancePath,
    errors: Vec<Error>,
}

impl Walk<'_> {
    fn at(&self, node: NodeId) -> Path {
        let mut path = self.trail.clone();
        path.steps.push(Step { node, key: None });
        path.render(self.schema)
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
                let path = self.trail.render(schema);
                self.errors.push(error.at(path).with(ErrorInfo::MissingChoice(name.clone())));
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
                let path = self.at(id);
                self.errors.push(error.at(path));
            }
            NodeKind::Container { presence } => {
                let empty = Arc::default();
                let inner = match now {
                    Some(Data::Container(inner)) => inner,
                    // It exists with its parent, unless its `when` says otherwise.
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
            NodeKind::List { min_elements, max_elements, uniques, .. } => {
                let (old, entries) = match (before, now) {
                    (Some(Data::List(old)), Some(Data::List(new))) if Arc::ptr_eq(old, new) => return,
                    (Some(Data::List(old)), Some(Data::List(new))) => (Some(old), Some(new)),
                    (_, Some(Data::List(new))) => (None, Some(new)),
                    _ => (None, None),
                };
                let count = entries.map_or(0, |entries| entries.len());
                self.count(id, count, *min_elements, *max_elements);
                if let Some(entries) = entries {
                    uniques.iter().for_each(|unique| self.unique(id, unique, entries));
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
        let path = self.at(id);
        self.errors.push(Error::application(ErrorTag::OperationFailed, what).app_tag(tag).at(path));
    }

    /// RFC 7950 sections 7.8.3 and 15.1: entries that lack one of the leafs do not count.
    fn unique(&mut self, list: NodeId, leafs: &[NodeId], entries: &Entries<Arc<Branch>>) {
        let chains: Vec<Vec<NodeId>> =
            leafs.iter().map(|leaf| chain(self.schema, Some(list), *leaf)).collect();
        let mut seen: BTreeMap<Vec<&Value>, &Key> = BTreeMap::new();
        for (key, entry) in entries.iter() {
            let tuple = chains.iter().map(|chain| leaf_at(self.schema, entry, chain));
            let Some(tuple) = tuple.collect::<Option<Vec<&Value>>>() else { continue };
            let Some(first) = seen.get(&tuple) else {
                seen.insert(tuple, key);
                continue;
            };
            let names: Vec<&str> = leafs.iter().map(|leaf| self.schema.node(*leaf).name.as_str()).collect();
            let what = format!("{} must be unique in '{}'", names.join(", "), self.schema.node(list).name);
            let mut error = Error::application(ErrorTag::OperationFailed, what).app_tag("data-not-unique");
            for key in [first, key] {
                for chain in &chains {
                    error = error.with(ErrorInfo::NonUnique(self.leaf_path(list, key, chain)));
                }
            }
            let path = self.at(list);
            self.errors.push(error.at(path));
        }
    }

    fn leaf_path(&self, list: NodeId, key: &Key, chain: &[NodeId]) -> Path {
        let mut path = self.trail.clone();
        path.steps.push(Step { node: list, key: Some(key.clone()) });
        path.steps.extend(chain.iter().map(|node| Step { node: *node, key: None }));
        path.render(self.schema)
    }
}

/// The data nodes from below `top` down to `node`.
pub(super) fn chain(schema: &Schema, top: Option<NodeId>, node: NodeId) -> Vec<NodeId> {
    let up = |id: &NodeId| schema.data_parent(*id).filter(|parent| Some(*parent) != top);
    let mut chain: Vec<NodeId> = std::iter::successors(Some(node), up).collect();
    chain.reverse();
    chain
}

/// The leaf at the end of a chain of containers, or its default.
fn leaf_at<'t>(schema: &'t Schema, entry: &'t Branch, chain: &[NodeId]) -> Option<&'t Value> {
    let (leaf, above) = chain.split_last()?;
    let mut branch = Some(entry);
    for id in above {
        branch = match branch.and_then(|branch| branch.get(*id)) {
            Some(Data::Container(inner)) => Some(inner),
            _ => None,
        };
    }
    branch.and_then(|branch| branch.leaf(*leaf)).or_else(|| schema.default_values(*leaf).first())
}
