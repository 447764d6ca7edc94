//! Where conditions have to be asked again after changes.

use super::conditions::{Condition, Triggers};
use crate::diff::{ChangeKind, ChangeSet};
use crate::path::{InstancePath, Step};
use crate::schema::{NodeId, Schema};
use crate::tree::{Branch, Data, Tree};
use crate::xpath::{Accessible, Budget, Evaluation, Place, XPathError};
use std::collections::{BTreeMap, BTreeSet};

/// The steps that one condition may take in one validation: a bound for one that reads much of a big configuration at
/// each of many places, about a minute of work.
const STEPS: u64 = 1 << 32;

/// Per condition: the subtrees in which its context nodes are to be asked.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    subtrees: BTreeMap<usize, BTreeSet<InstancePath>>,
}

impl Asked {
    pub(super) fn is_empty(&self) -> bool {
        self.subtrees.is_empty()
    }

    /// All `conditions` everywhere.
    pub(super) fn everywhere(conditions: &[Condition]) -> Self {
        let root = || BTreeSet::from([InstancePath::default()]);
        Self { subtrees: (0..conditions.len()).map(|at| (at, root())).collect() }
    }

    /// What `changes` may have decided otherwise.
    pub(super) fn after(triggers: &Triggers, changes: &ChangeSet) -> Self {
        let mut asked = Self::default();
        for change in &changes.changes {
            let deep = match change.kind {
                ChangeKind::Create { .. } | ChangeKind::Delete { .. } => true,
                ChangeKind::Replace { .. } | ChangeKind::Move => false,
            };
            asked.add(triggers, &change.path, deep);
        }
        asked
    }

    /// A change at `path`; `deep` when it came or went with all that is in it.
    pub(super) fn add(&mut self, triggers: &Triggers, path: &InstancePath, deep: bool) {
        let Some(node) = path.node() else { return };
        for trigger in triggers.of(node, deep) {
            let steps = path.steps.get(..trigger.depth).unwrap_or(&path.steps);
            let subtrees = self.subtrees.entry(trigger.condition).or_default();
            if !subtrees.contains(&InstancePath::default()) {
                subtrees.insert(InstancePath { steps: steps.to_vec() });
            }
        }
    }

    /// The subtrees of one condition, none inside of another, which are then taken as asked.
    pub(super) fn take(&mut self, condition: usize) -> Vec<InstancePath> {
        let mut outermost: Vec<InstancePath> = Vec::new();
        // What is inside of a subtree follows it.
        for subtree in self.subtrees.remove(&condition).unwrap_or_default() {
            if !outermost.last().is_some_and(|last| last.contains(&subtree)) {
                outermost.push(subtree);
            }
        }
        outermost
    }
}

/// Calls `see` for each node of the accessible tree that `chain` leads to from the root and that stands in one of
/// `subtrees`.
pub(super) fn each_place(
    schema: &Schema,
    tree: &Tree,
    chain: &[NodeId],
    subtrees: &[InstancePath],
    see: &mut dyn FnMut(&mut Evaluation<'_>, Place) -> Result<(), XPathError>,
) -> Result<(), XPathError> {
    for subtree in subtrees {
        let Some(stored) = stored(&tree.root, &subtree.steps) else { continue };
        let mut evaluation = Evaluation::new(schema, tree, Accessible::Configuration);
        let start = InstancePath { steps: subtree.steps.get(..stored).unwrap_or_default().to_vec() };
        let Some(place) = evaluation.place(&start) else { continue };
        evaluation.each(place, chain.get(stored..).unwrap_or_default(), see)?;
    }
    Ok(())
}

/// How many of the steps are stored, if all that follow lead through containers: those may exist all the same.
fn stored(root: &Branch, steps: &[Step]) -> Option<usize> {
    let mut branch = root;
    for (at, step) in steps.iter().enumerate() {
        branch = match (branch.get(step.node), &step.key) {
            (Some(Data::Container(inner)), None) => inner,
            (Some(Data::List(entries)), Some(key)) => entries.get(key)?,
            (Some(Data::LeafList(entries)), Some(key)) => return entries.get(key).map(|_| at + 1),
            (Some(Data::Leaf(_) | Data::Any(_)), None) => return Some(at + 1),
            (None, None) => return steps.iter().skip(at).all(|step| step.key.is_none()).then_some(at),
            _ => return None,
        };
    }
    Some(steps.len())
}

/// What one condition may take.
pub(super) fn budget() -> Budget {
    Budget::new(STEPS)
}
