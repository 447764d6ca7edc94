//! Leafrefs (RFC 7950 section 9.9): the values that they may have.

use super::shape::chain;
use crate::diff::{ChangeSet, Payload};
use crate::error::{Error, ErrorTag, shown};
use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, Schema, Type};
use crate::tree::{Branch, Data, Tree};
use crate::value::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

pub(super) fn check(schema: &Schema, base: &Tree, new: &Tree, changes: &ChangeSet) -> Vec<Error> {
    let references = references(schema);
    let gone = gone(changes);
    let mut walk = Walk {
        schema,
        stale: stale(schema, &references, &gone),
        references,
        trail: InstancePath::default(),
        above: Vec::new(),
        values: HashMap::new(),
        errors: Vec::new(),
    };
    walk.branch(None, Some(&base.root), &new.root);
    walk.errors
}

/// A leafref that is checked here.
struct Reference {
    /// How many levels above the branch that holds it its path begins; none for an absolute path.
    up: Option<usize>,
    /// From there down to the target.
    down: Vec<NodeId>,
    target: NodeId,
}

fn references(schema: &Schema) -> BTreeMap<NodeId, Reference> {
    schema.data_nodes().filter_map(|node| Some((node.id, reference(schema, node.id)?))).collect()
}

fn reference(schema: &Schema, leaf: NodeId) -> Option<Reference> {
    let Type::Leafref { path, target: Some(target), require_instance: true, .. } =
        &schema.leaf_type(leaf)?.base
    else {
        return None;
    };
    let path = path.text.trim();
    if path.contains(['[', '(']) {
        return None;
    }
    if path.starts_with('/') {
        return Some(Reference { up: None, down: chain(schema, None, *target), target: *target });
    }
    let ups = path.split('/').take_while(|step| step.trim() == "..").count();
    let up = ups.checked_sub(1)?;
    let mut top = schema.data_parent(leaf);
    for _ in 0..up {
        top = schema.data_parent(top?);
    }
    Some(Reference { up: Some(up), down: chain(schema, top, *target), target: *target })
}

/// The schema nodes of which some instance was deleted or got another value.
fn gone(changes: &ChangeSet) -> BTreeSet<NodeId> {
    fn visit(branch: &Branch, gone: &mut BTreeSet<NodeId>) {
        for (id, data) in branch.iter() {
            gone.insert(id);
            match data {
                Data::Container(inner) => visit(inner, gone),
                Data::List(entries) => entries.iter().for_each(|(_, entry)| visit(entry, gone)),
                Data::Leaf(_) | Data::LeafList(_) | Data::Any(_) => {}
            }
        }
    }
    let mut gone = BTreeSet::new();
    for change in &changes.changes {
        if let Some(old) = change.old_payload() {
            gone.extend(change.path.node());
            if let Payload::Branch(branch) = old {
                visit(branch, &mut gone);
            }
        }
    }
    gone
}

/// The leafrefs that have to be checked even where they did not change, and all nodes above them.
fn stale(
    schema: &Schema,
    references: &BTreeMap<NodeId, Reference>,
    gone: &BTreeSet<NodeId>,
) -> BTreeSet<NodeId> {
    let touched = references.iter().filter(|(_, reference)| gone.contains(&reference.target));
    touched.flat_map(|(leaf, _)| std::iter::successors(Some(*leaf), |id| schema.data_parent(*id))).collect()
}

struct Walk<'t> {
    schema: &'t Schema,
    references: BTreeMap<NodeId, Reference>,
    stale: BTreeSet<NodeId>,
    trail: InstancePath,
    /// The branches from the root to where we are.
    above: Vec<&'t Arc<Branch>>,
    /// Per leafref and start of its path: the values there are.
    values: HashMap<(NodeId, *const Branch), HashSet<&'t Value>>,
    errors: Vec<Error>,
}

impl<'t> Walk<'t> {
    fn branch(&mut self, parent: Option<NodeId>, base: Option<&'t Arc<Branch>>, new: &'t Arc<Branch>) {
        let same = base.is_some_and(|base| Arc::ptr_eq(base, new));
        if same && parent.map_or(self.stale.is_empty(), |parent| !self.stale.contains(&parent)) {
            return;
        }
        self.above.push(new);
        for child in new.ordered_children(self.schema, parent) {
            self.child(child.id, base.and_then(|base| base.get(child.id)), &child.data);
        }
        self.above.pop();
    }

    fn child(&mut self, id: NodeId, before: Option<&'t Data>, now: &'t Data) {
        match now {
            Data::Leaf(value) if self.references.contains_key(&id) => {
                if self.stale.contains(&id) || before != Some(now) {
                    self.check(Step { node: id, key: None }, value);
                }
            }
            Data::LeafList(entries) if self.references.contains_key(&id) => {
                if self.stale.contains(&id) || before != Some(now) {
                    for (key, value) in entries.iter() {
                        self.check(Step { node: id, key: Some(key.clone()) }, value);
                    }
                }
            }
            Data::Container(inner) => {
                let before = match before {
                    Some(Data::Container(before)) => Some(before),
                    _ => None,
                };
                self.trail.steps.push(Step { node: id, key: None });
                self.branch(Some(id), before, inner);
                self.trail.steps.pop();
            }
            Data::List(entries) => {
                let before = match before {
                    Some(Data::List(before)) => Some(before),
                    _ => None,
                };
                // Where references may have lost their target, entries that did not change are asked too.
                let base = before.filter(|_| !self.stale.contains(&id)).map(|before| &**before);
                for (key, _, entry) in entries.changed_since(base) {
                    self.trail.steps.push(Step { node: id, key: Some(key.clone()) });
                    self.branch(Some(id), before.and_then(|before| before.get(key)), entry);
                    self.trail.steps.pop();
                }
            }
            Data::Leaf(_) | Data::LeafList(_) | Data::Any(_) => {}
        }
    }

    fn check(&mut self, step: Step, value: &Value) {
        let Some(reference) = self.references.get(&step.node) else { return };
        let start = match reference.up {
            None => self.above.first().copied(),
            Some(up) => self.above.iter().rev().nth(up).copied(),
        };
        let Some(start) = start else { return };
        let found = match by_key(self.schema, start, &reference.down, value) {
            Some(found) => found,
            None => {
                let values = self.values.entry((step.node, Arc::as_ptr(start))).or_insert_with(|| {
                    let mut values = HashSet::new();
                    gather(self.schema, start, &reference.down, &mut values);
                    values
                });
                values.contains(value)
            }
        };
        if found {
            return;
        }
        let target = self.schema.path_of(reference.target);
        let what = format!("'{}' refers to nothing: no {target} has this value", shown(&value.to_string()));
        self.trail.steps.push(step);
        let path = self.trail.render(self.schema);
        self.trail.steps.pop();
        // RFC 7950 section 15.5.
        let error = Error::application(ErrorTag::DataMissing, what).app_tag("instance-required");
        self.errors.push(error.at(path));
    }
}

/// The answer by one look-up, when the path leads through containers to the only key of a list.
fn by_key(schema: &Schema, start: &Arc<Branch>, down: &[NodeId], value: &Value) -> Option<bool> {
    let [above @ .., list, key] = down else { return None };
    if schema.list_keys(*list) != [*key] {
        return None;
    }
    let mut branch = start;
    for id in above {
        match branch.get(*id) {
            Some(Data::Container(inner)) => branch = inner,
            Some(_) => return None,
            None => return Some(false),
        }
    }
    match branch.get(*list) {
        Some(Data::List(entries)) => Some(entries.get(&Key::One(value.clone())).is_some()),
        Some(_) => None,
        None => Some(false),
    }
}

fn gather<'t>(schema: &'t Schema, branch: &'t Branch, down: &[NodeId], values: &mut HashSet<&'t Value>) {
    let Some((id, rest)) = down.split_first() else { return };
    match branch.get(*id) {
        Some(Data::Leaf(value)) => drop(values.insert(value)),
        Some(Data::LeafList(entries)) => values.extend(entries.iter().map(|(_, value)| value)),
        Some(Data::Container(inner)) => gather(schema, inner, rest, values),
        Some(Data::List(entries)) => {
            entries.iter().for_each(|(_, entry)| gather(schema, entry, rest, values))
        }
        Some(Data::Any(_)) => {}
        None if rest.is_empty() => values.extend(schema.default_values(*id)),
        None => {}
    }
}
