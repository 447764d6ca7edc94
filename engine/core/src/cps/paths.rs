//! Paths in use, shared by the flows that go along them: one lives as long as a flow refers to it (CP-22).

use cats_engine_types::{Path, PathId};
use std::collections::BTreeMap;

/// A path by its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathIx(u32);

#[derive(Debug)]
struct Shared {
    path: Path,
    flows: u32,
    broken: bool,
}

#[derive(Debug, Default)]
pub(super) struct Paths {
    places: Vec<Option<Shared>>,
    free: Vec<u32>,
    by_id: BTreeMap<PathId, u32>,
}

impl Paths {
    /// Refers to a path once more. What is newly computed of it holds from now on.
    pub(super) fn acquire(&mut self, path: Path) -> PathIx {
        let id = path.id();
        if let Some(place) = self.by_id.get(&id) {
            if let Some(Some(shared)) = self.places.get_mut(*place as usize) {
                shared.flows = shared.flows.saturating_add(1);
                if path.generation >= shared.path.generation {
                    shared.broken = false;
                    shared.path = path;
                }
            }
            return PathIx(*place);
        }
        let shared = Shared { path, flows: 1, broken: false };
        let place = match self.free.pop() {
            Some(place) => {
                if let Some(slot) = self.places.get_mut(place as usize) {
                    *slot = Some(shared);
                }
                place
            }
            None => {
                self.places.push(Some(shared));
                u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.by_id.insert(id, place);
        PathIx(place)
    }

    /// Refers to a path once less; the last one removes it.
    pub(super) fn release(&mut self, PathIx(place): PathIx) {
        let Some(slot) = self.places.get_mut(place as usize) else { return };
        let Some(shared) = slot else { return };
        shared.flows = shared.flows.saturating_sub(1);
        if shared.flows == 0 {
            self.by_id.remove(&shared.path.id());
            *slot = None;
            self.free.push(place);
        }
    }

    pub(super) fn get(&self, PathIx(place): PathIx) -> Option<&Path> {
        self.places.get(place as usize)?.as_ref().map(|shared| &shared.path)
    }

    pub(super) fn is_broken(&self, PathIx(place): PathIx) -> bool {
        self.places.get(place as usize).and_then(Option::as_ref).is_some_and(|shared| shared.broken)
    }

    /// Marks the paths for which `holds` is false; true if there is one that a flow uses.
    pub(super) fn examine(&mut self, mut holds: impl FnMut(&Path) -> bool) -> bool {
        let mut any = false;
        for shared in self.places.iter_mut().flatten() {
            shared.broken = !holds(&shared.path);
            any |= shared.broken;
        }
        any
    }

    /// The paths with the number of flows that refer to each, ordered.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Path, u32)> {
        self.by_id
            .values()
            .filter_map(|place| self.places.get(*place as usize)?.as_ref())
            .map(|shared| (&shared.path, shared.flows))
    }
}
