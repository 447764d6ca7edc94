//! State that a component tells of as it changes, while somebody has subscribed to it.
//!
//! It is told of the outermost nodes of state that have something below them that `cats-types:on-change` marks, and holds
//! of these what is marked, the keys and the parents. A component that begins anew tells all of it again, and what it
//! told before stands until it has.

use crate::core::Core;
use crate::output::Output;
use crate::reading::{Filter, chain};
use crate::state::holds_state;
use crate::types::{ComponentId, Now};
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::{InstancePath, Operation, Ops, Tree, edit};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a component tells at a time.
#[derive(Debug, Clone, Default)]
pub struct Delta {
    /// Names a start of the component.
    pub epoch: u64,
    /// Counts from 1.
    pub sequence: u64,
    /// What is gone, or comes anew in `state`.
    pub dropped: Vec<InstancePath>,
    /// What is there, as operations that merge it.
    pub state: Ops,
    /// Paths of which everything has now been told for the first time.
    pub whole: Vec<String>,
}

/// All that is told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    wanted: BTreeSet<String>,
    tree: Tree,
    /// Paths of which the tree has everything.
    whole: BTreeSet<String>,
    /// What a component tells that began anew, until it is whole.
    coming: Option<Coming>,
    /// Whence, and how far.
    from: Option<(ComponentId, u64, u64)>,
}

#[derive(Debug, Clone, Default)]
struct Coming {
    tree: Tree,
    whole: BTreeSet<String>,
}

/// Why a delta is not taken: the component is to begin anew.
#[derive(Debug)]
enum Refused {
    /// Something is missing before it.
    Gap { expected: u64, found: u64 },
    /// What it says does not fit the schema.
    Unfit(Vec<Error>),
}

impl Told {
    /// What is there now.
    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What a component is to tell, in order.
    pub(crate) fn wants(&self) -> impl Iterator<Item = &String> {
        self.wanted.iter()
    }

    /// Has everything of this path been told?
    pub(crate) fn has(&self, path: &str) -> bool {
        self.whole.contains(path)
    }

    fn take(&mut self, schema: &Schema, delta: Delta) -> Result<(), Refused> {
        let Delta { epoch, sequence, dropped, state, whole } = delta;
        if let Some((_, known, last)) = &mut self.from {
            let expected = *last + 1;
            if sequence != expected || (sequence > 1 && epoch != *known) {
                return Err(Refused::Gap { expected, found: sequence });
            }
            (*known, *last) = (epoch, sequence);
        }
        let (tree, known) = match &mut self.coming {
            Some(coming) => (&mut coming.tree, &mut coming.whole),
            None => (&mut self.tree, &mut self.whole),
        };
        let mut gone = Ops::default();
        for path in &dropped {
            gone.push(schema, path, Operation::Remove, None).map_err(|error| Refused::Unfit(vec![error]))?;
        }
        let without = edit(tree, schema, gone).map_err(Refused::Unfit)?;
        *tree = edit(&without, schema, state).map_err(Refused::Unfit)?;
        known.extend(whole);
        self.settle();
        Ok(())
    }

    /// What is wanted no longer goes: nobody tells what becomes of it.
    fn want(&mut self, schema: &Schema, wanted: BTreeSet<String>) {
        let mut gone = Ops::default();
        for path in self.wanted.difference(&wanted) {
            if let Ok(path) = InstancePath::parse(schema, path) {
                // A container of state: it can be removed.
                let _ = gone.push(schema, &path, Operation::Remove, None);
            }
        }
        let coming = self.coming.as_mut().map(|coming| (&mut coming.tree, &mut coming.whole));
        for (tree, whole) in coming.into_iter().chain([(&mut self.tree, &mut self.whole)]) {
            if let Ok(rest) = edit(tree, schema, gone.clone()) {
                *tree = rest;
            }
            whole.retain(|path| wanted.contains(path));
        }
        self.wanted = wanted;
    }

    /// What comes takes the place of what is there, once it is whole.
    fn settle(&mut self) {
        if let Some(Coming { tree, whole }) =
            self.coming.take_if(|coming| self.wanted.is_subset(&coming.whole))
        {
            (self.tree, self.whole) = (tree, whole);
        }
    }
}

/// The paths that a component is to tell of for what the filter may select; of all state without one.
pub(crate) fn pushed_paths(schema: &Schema, filter: Option<&Filter>) -> BTreeSet<String> {
    let told: BTreeSet<NodeId> = schema
        .data_nodes()
        .filter(|node| node.flags.on_change && holds_state(schema, node.id))
        .filter_map(|node| chain(schema, node.id).into_iter().find(|above| !schema.node(*above).config))
        .collect();
    let selected = |node: NodeId| {
        let touches =
            |place: NodeId| chain(schema, place).contains(&node) || chain(schema, node).contains(&place);
        filter.is_none_or(|filter| !filter.places(schema, &touches).is_empty())
    };
    told.into_iter().filter(|node| selected(*node)).map(|node| schema.path_of(node)).collect()
}

impl Core {
    /// Wants to be told of these paths from now on, and of no others.
    pub(crate) fn watch_state(&mut self, wanted: BTreeSet<String>) {
        if wanted == self.told.wanted {
            return;
        }
        self.told.want(&self.facts.schema, wanted);
        self.told.settle();
        self.ask_to_be_told();
    }

    /// To be called when a component is connected, too.
    pub(crate) fn ask_to_be_told(&mut self) {
        if let Some(component) = self.components.any() {
            let paths = self.told.wanted.iter().cloned().collect();
            self.outputs.push_back(Output::Watch { component, paths });
        }
    }

    /// A component begins to tell, and knows nothing of what it told before.
    pub fn handle_tells_anew(&mut self, component: ComponentId) {
        self.told.from = Some((component, 0, 0));
        self.told.coming = Some(Coming::default());
        self.told.settle();
    }

    /// A component tells something. An error means that it is to begin anew.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn handle_told(&mut self, component: ComponentId, delta: Delta, now: Now) -> Result<(), String> {
        if self.told.from.is_none_or(|(from, ..)| from != component) {
            // It has been lost meanwhile.
            return Ok(());
        }
        let schema = Arc::clone(&self.facts.schema);
        self.told.take(&schema, delta).map_err(|refused| match refused {
            Refused::Gap { expected, found } => format!("message {found} came where {expected} was expected"),
            Refused::Unfit(errors) => {
                errors.first().map_or_else(|| "it does not fit the schema".to_owned(), ToString::to_string)
            }
        })?;
        self.follow_told_alarms(now);
        self.state_moved(now);
        Ok(())
    }

    /// What a component that is lost told is there no longer.
    pub(crate) fn forget_told(&mut self, component: ComponentId, now: Now) {
        if self.told.from.is_some_and(|(from, ..)| from == component) {
            self.suspend_for_component(now);
            let wanted = std::mem::take(&mut self.told.wanted);
            self.told = Told { wanted, ..Told::default() };
            self.state_moved(now);
        }
    }
}
