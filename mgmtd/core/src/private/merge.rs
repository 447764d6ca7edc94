//! Two sets of changes that begin at one tree, brought together.

use cats_yang_tree::diff::{ChangeKind, Position};
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::{NodeId, NodeKind, Schema};
use cats_yang_tree::{Change, ChangeSet, InstancePath, Step, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// Which changes of either side cannot stand beside the other's.
pub(super) struct Merge<'a> {
    schema: &'a Schema,
    ours: Sorted<'a>,
    theirs: Sorted<'a>,
    conflicts: BTreeSet<InstancePath>,
}

#[derive(Default)]
struct Sorted<'a> {
    free: Vec<&'a Change>,
    clashing: Vec<&'a Change>,
}

impl<'a> Merge<'a> {
    pub(super) fn of(schema: &'a Schema, ours: &'a ChangeSet, theirs: &'a ChangeSet) -> Self {
        let (of_ours, of_theirs) = (Side::of(schema, ours), Side::of(schema, theirs));
        let mut conflicts = BTreeSet::new();
        let ours = of_theirs.sort(schema, ours, &mut conflicts);
        let theirs = of_ours.sort(schema, theirs, &mut conflicts);
        Self { schema, ours, theirs, conflicts }
    }

    /// The nodes that both changed.
    pub(super) fn conflicts(&self) -> &BTreeSet<InstancePath> {
        &self.conflicts
    }

    /// `mine`, which has our changes, with those of theirs that are no conflict.
    pub(super) fn prefer_ours(&self, mine: &Tree) -> Result<Tree, Error> {
        self.apply(&self.theirs, mine)
    }

    /// `running`, which has their changes, with those of ours that are no conflict.
    pub(super) fn prefer_theirs(&self, running: &Tree) -> Result<Tree, Error> {
        self.apply(&self.ours, running)
    }

    fn apply(&self, side: &Sorted<'_>, tree: &Tree) -> Result<Tree, Error> {
        let absent = side.clashing.iter().filter(|change| matches!(change.kind, ChangeKind::Create { .. }));
        let mut absent: BTreeSet<InstancePath> = absent.map(|change| change.path.clone()).collect();
        absent.retain(|path| tree.find(path).is_none());
        let mut changes = Vec::new();
        for change in &side.free {
            // Behind an entry that stays away there is no place.
            if anchor(change).is_some_and(|anchor| absent.contains(&anchor)) {
                absent.insert(change.path.clone());
            } else {
                changes.push((*change).clone());
            }
        }
        ChangeSet { changes }.apply(tree, self.schema)
    }
}

/// What one side changes, as the other must know it.
struct Side {
    places: BTreeSet<InstancePath>,
    deleted: BTreeSet<InstancePath>,
    /// Entries that must be there for an order to be made.
    needed: BTreeSet<InstancePath>,
    /// Per choice of an instance the case that gets data.
    cases: BTreeMap<(Vec<Step>, NodeId), NodeId>,
}

impl Side {
    fn of(schema: &Schema, changes: &ChangeSet) -> Self {
        let changes = &changes.changes;
        let deletes = |change: &&Change| matches!(change.kind, ChangeKind::Delete { .. });
        let brings = changes.iter().filter(|change| !deletes(change));
        Self {
            places: changes.iter().map(|change| place(schema, change)).collect(),
            deleted: changes.iter().filter(deletes).map(|change| change.path.clone()).collect(),
            needed: changes.iter().flat_map(needs).collect(),
            cases: brings.flat_map(|change| cases(schema, &change.path)).collect(),
        }
    }

    /// The changes of the other side, by whether they can stand beside this one; adds the conflicts that are theirs to
    /// name: of a node and one above it that is the lower one.
    fn sort<'a>(
        &self,
        schema: &Schema,
        changes: &'a ChangeSet,
        conflicts: &mut BTreeSet<InstancePath>,
    ) -> Sorted<'a> {
        let mut sorted = Sorted::default();
        for change in &changes.changes {
            let place = place(schema, change);
            let named = is_at_or_below(&place, &self.places) || self.keeps_from(schema, change);
            if named || has_below(&place, &self.places) {
                sorted.clashing.push(change);
            } else {
                sorted.free.push(change);
            }
            if named {
                conflicts.insert(place);
            }
        }
        sorted
    }

    /// Beyond the same node: what its order rests on, or another case of a choice.
    fn keeps_from(&self, schema: &Schema, change: &Change) -> bool {
        let other_case = |(choice, case): ((Vec<Step>, NodeId), NodeId)| {
            self.cases.get(&choice).is_some_and(|taken| *taken != case)
        };
        match change.kind {
            ChangeKind::Delete { .. } => self.needed.contains(&change.path),
            ChangeKind::Create { .. } | ChangeKind::Replace { .. } | ChangeKind::Move => {
                needs(change).iter().any(|entry| self.deleted.contains(entry))
                    || cases(schema, &change.path).into_iter().any(other_case)
            }
        }
    }
}

/// The nodes that are modified.
pub(super) fn places(schema: &Schema, changes: &ChangeSet) -> BTreeSet<InstancePath> {
    changes.changes.iter().map(|change| place(schema, change)).collect()
}

/// Is one of `places` the same node, or above or below it?
pub(super) fn is_related(place: &InstancePath, places: &BTreeSet<InstancePath>) -> bool {
    is_at_or_below(place, places) || has_below(place, places)
}

/// The node that a change modifies: a leaf-list as a whole, and for a move the list, whose order it is.
fn place(schema: &Schema, change: &Change) -> InstancePath {
    let mut place = change.path.clone();
    let of_leaf_list = |step: &Step| matches!(schema.node(step.node).kind, NodeKind::LeafList { .. });
    if let Some(step) = place.steps.last_mut()
        && (matches!(change.kind, ChangeKind::Move) || of_leaf_list(step))
    {
        step.key = None;
    }
    place
}

fn is_at_or_below(place: &InstancePath, places: &BTreeSet<InstancePath>) -> bool {
    let mut above = place.clone();
    while !above.steps.is_empty() {
        if places.contains(&above) {
            return true;
        }
        above.steps.pop();
    }
    false
}

/// What is below a node follows it in the order of paths.
fn has_below(place: &InstancePath, places: &BTreeSet<InstancePath>) -> bool {
    places.range(place..).next().is_some_and(|next| place.contains(next))
}

/// The entries that must be there for a change: what is moved, and what it goes behind.
fn needs(change: &Change) -> Vec<InstancePath> {
    let moved = matches!(change.kind, ChangeKind::Move).then(|| change.path.clone());
    moved.into_iter().chain(anchor(change)).collect()
}

/// The entry that an entry of a user-ordered list goes behind.
fn anchor(change: &Change) -> Option<InstancePath> {
    let Some(Position::After(key)) = &change.position else { return None };
    let mut path = change.path.clone();
    path.steps.last_mut()?.key = Some(key.clone());
    Some(path)
}

/// The choices on the way to a node, and the cases that it is in.
fn cases(schema: &Schema, path: &InstancePath) -> Vec<((Vec<Step>, NodeId), NodeId)> {
    let mut cases = Vec::new();
    for (at, step) in path.steps.iter().enumerate() {
        let mut node = step.node;
        while let Some((choice, case)) = schema.case_of(node) {
            cases.push(((path.steps.get(..at).unwrap_or_default().to_vec(), choice), case));
            node = choice;
        }
    }
    cases
}
