//! The counts that a validated tree carries: persistent maps, so that the next tree shares them.

use super::constraints::{Constraints, Unique};
use crate::diff::{ChangeKind, ChangeSet, Payload};
use crate::map::Map;
use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, Schema};
use crate::tree::{Branch, Data, Found, Tree};
use crate::value::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Values that meet only within one instance of what stands above them: the keys of the list entries down to
/// there, none for a constraint over the whole tree, and the value or values themselves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Scoped {
    pub(super) scope: Option<Arc<[Key]>>,
    pub(super) value: Key,
}

/// How often each value stands in the tree, per constraint in the order of [`Constraints`]. Absent means never.
#[derive(Debug, Clone, Default)]
pub(crate) struct Indexes {
    /// Values of leafrefs.
    referring: Vec<Map<Scoped, u32>>,
    /// Values of what leafrefs refer to.
    held: Vec<Map<Scoped, u32>>,
    /// Tuples of `unique`.
    tuples: Vec<Map<Scoped, u32>>,
}

/// What has to be asked after changes, each with the position of its constraint.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// Values that a leafref got, or that a target of it lost.
    pub(super) references: BTreeSet<(usize, Scoped)>,
    /// Tuples that an entry got.
    pub(super) tuples: BTreeSet<(usize, Scoped)>,
}

impl Indexes {
    /// Of the empty tree.
    pub(super) fn new(constraints: &Constraints) -> Self {
        let empty = |count: usize| vec![Map::new(); count];
        Self {
            referring: empty(constraints.references.len()),
            held: empty(constraints.holders.len()),
            tuples: empty(constraints.uniques.len()),
        }
    }

    /// Does a leafref have that value somewhere?
    pub(super) fn is_referring(&self, reference: usize, value: &Scoped) -> bool {
        self.referring.get(reference).is_some_and(|map| map.contains_key(value))
    }

    pub(super) fn is_held(&self, holder: usize, value: &Scoped) -> bool {
        self.held.get(holder).is_some_and(|map| map.contains_key(value))
    }

    /// How many entries have that tuple.
    pub(super) fn tuple_count(&self, unique: usize, tuple: &Scoped) -> u32 {
        self.tuples.get(unique).and_then(|map| map.get(tuple)).copied().unwrap_or(0)
    }

    /// Follows `changes`, which lead from `base` to `new`.
    pub(super) fn follow(
        &mut self,
        schema: &Schema,
        base: &Tree,
        new: &Tree,
        changes: &ChangeSet,
    ) -> Touched {
        let mut follow = Follow {
            schema,
            constraints: schema.constraints(),
            indexes: self,
            touched: Touched::default(),
            partly: BTreeSet::new(),
        };
        for change in &changes.changes {
            let Some(node) = change.path.node() else { continue };
            match &change.kind {
                ChangeKind::Create { new } => follow.payload(&change.path, new, true),
                ChangeKind::Delete { old } => follow.payload(&change.path, old, false),
                ChangeKind::Replace { old, new } => {
                    follow.payload(&change.path, old, false);
                    follow.payload(&change.path, new, true);
                }
                ChangeKind::Move => {}
            }
            follow.part_of_tuple(node, &change.path);
        }
        let partly = std::mem::take(&mut follow.partly);
        for (unique, entry) in partly {
            follow.tuple_at(unique, base, &entry, false);
            follow.tuple_at(unique, new, &entry, true);
        }
        follow.touched
    }
}

struct Follow<'a> {
    schema: &'a Schema,
    constraints: &'a Constraints,
    indexes: &'a mut Indexes,
    touched: Touched,
    /// Entries of which one part of a tuple changed.
    partly: BTreeSet<(usize, InstancePath)>,
}

impl Follow<'_> {
    /// What came or went with all that is in it.
    fn payload(&mut self, path: &InstancePath, payload: &Payload, came: bool) {
        let Some(node) = path.node() else { return };
        match payload {
            Payload::Value(value) => self.leaf(node, &path.steps, value, came),
            Payload::Branch(branch) => {
                if self.constraints.is_counted(node) {
                    let mut trail = path.clone();
                    self.branch(node, &mut trail, branch, came);
                }
            }
            Payload::Any(_) => {}
        }
    }

    fn branch(&mut self, node: NodeId, trail: &mut InstancePath, branch: &Branch, came: bool) {
        if trail.steps.last().is_some_and(|step| step.key.is_some()) {
            let uniques = self.constraints.role(node).map_or(&[][..], |role| &role.uniques);
            for at in uniques {
                self.tuple(*at, &trail.steps, branch, came);
            }
        }
        let constraints = self.constraints;
        for (id, data) in branch.iter().filter(|(id, _)| constraints.is_counted(*id)) {
            match data {
                Data::Leaf(value) => {
                    trail.steps.push(Step { node: id, key: None });
                    self.leaf(id, &trail.steps, value, came);
                    trail.steps.pop();
                }
                Data::LeafList(entries) => entries.iter().for_each(|(_, value)| {
                    trail.steps.push(Step { node: id, key: None });
                    self.leaf(id, &trail.steps, value, came);
                    trail.steps.pop();
                }),
                Data::Container(inner) => {
                    trail.steps.push(Step { node: id, key: None });
                    self.branch(id, trail, inner, came);
                    trail.steps.pop();
                }
                Data::List(entries) => entries.iter().for_each(|(key, entry)| {
                    trail.steps.push(Step { node: id, key: Some(key.clone()) });
                    self.branch(id, trail, entry, came);
                    trail.steps.pop();
                }),
                Data::Any(_) => {}
            }
        }
    }

    fn leaf(&mut self, node: NodeId, steps: &[Step], value: &Value, came: bool) {
        let Some(role) = self.constraints.role(node) else { return };
        for at in &role.refers {
            let Some(reference) = self.constraints.references.get(*at) else { continue };
            let scoped = scoped(steps, reference.depth, Key::One(value.clone()));
            count(self.indexes.referring.get_mut(*at), &scoped, came);
            if came {
                self.touched.references.insert((*at, scoped));
            }
        }
        for at in &role.holds {
            let Some(holder) = self.constraints.holders.get(*at) else { continue };
            count(
                self.indexes.held.get_mut(*at),
                &scoped(steps, holder.depth, Key::One(value.clone())),
                came,
            );
        }
        for at in role.referred.iter().filter(|_| !came) {
            let Some(reference) = self.constraints.references.get(*at) else { continue };
            let scoped = scoped(steps, reference.depth, Key::One(value.clone()));
            self.touched.references.insert((*at, scoped));
        }
    }

    fn part_of_tuple(&mut self, node: NodeId, path: &InstancePath) {
        let uniques = self.constraints.role(node).map_or(&[][..], |role| &role.unique_part);
        for at in uniques {
            let depth = self.constraints.uniques.get(*at).map_or(0, |unique| unique.depth);
            let steps = path.steps.get(..depth).unwrap_or_default().to_vec();
            self.partly.insert((*at, InstancePath { steps }));
        }
    }

    fn tuple_at(&mut self, unique: usize, tree: &Tree, entry: &InstancePath, came: bool) {
        if let Some(Found::Branch(branch)) = tree.find(entry) {
            self.tuple(unique, &entry.steps, branch, came);
        }
    }

    fn tuple(&mut self, at: usize, entry: &[Step], branch: &Branch, came: bool) {
        let Some(unique) = self.constraints.uniques.get(at) else { return };
        let Some(tuple) = tuple_of(self.schema, unique, branch) else { return };
        let tuple = scoped(entry, unique.depth.saturating_sub(1), tuple);
        count(self.indexes.tuples.get_mut(at), &tuple, came);
        if came {
            self.touched.tuples.insert((at, tuple));
        }
    }
}

fn count(map: Option<&mut Map<Scoped, u32>>, value: &Scoped, came: bool) {
    let Some(map) = map else { return };
    let now = map.get(value).copied().unwrap_or(0);
    match (now, came) {
        (_, true) => drop(map.insert(value.clone(), now.saturating_add(1))),
        (0 | 1, false) => drop(map.remove(value)),
        (_, false) => drop(map.insert(value.clone(), now - 1)),
    }
}

/// `value` in the scope of the first `depth` steps.
pub(super) fn scoped(steps: &[Step], depth: usize, value: Key) -> Scoped {
    let mut keys = steps.iter().take(depth).filter_map(|step| step.key.as_ref()).peekable();
    let scope = keys.peek().is_some().then(|| keys.cloned().collect());
    Scoped { scope, value }
}

/// RFC 7950 section 7.8.3: the values of an entry, with defaults; an entry that lacks one does not count.
pub(super) fn tuple_of(schema: &Schema, unique: &Unique, entry: &Branch) -> Option<Key> {
    let value = |chain: &Vec<NodeId>| leaf_at(schema, entry, chain).cloned();
    unique.chains.iter().map(value).collect::<Option<Vec<Value>>>().map(Key::new)
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
