//! What a user may read: a tree without the rest.
//!
//! A node that may not be read goes with all that is below it (RFC 8341 section 3.2.4), a list entry also when one of
//! its keys may not be read, since it would be none without. What is readable as a whole is neither visited nor copied.

use super::effective::{Effective, Extent};
use super::rules::AccessOperation;
use cats_yang_tree::schema::NodeId;
use cats_yang_tree::tree::Entries;
use cats_yang_tree::{Branch, Data, Key, Part, Step, Tree};
use std::sync::Arc;

impl Effective {
    /// The part of `tree` that may be read.
    pub(super) fn readable(&self, tree: &Tree) -> Tree {
        let mut cut = Cut { access: self, trail: Vec::new() };
        Tree::from_root(cut.branch(tree.root(), true))
    }

    /// May the node at the end of `trail` be read, and so be seen at all? That is asked of all above it too.
    pub(super) fn sees(&self, trail: &[Step]) -> bool {
        (1..=trail.len()).all(|length| trail.get(..length).is_some_and(|trail| self.reads(trail)))
    }

    /// May the last node of `trail` be read, if all above it may?
    pub(super) fn reads(&self, trail: &[Step]) -> bool {
        let Some(last) = trail.last() else { return true };
        if !self.permits(AccessOperation::Read, trail) {
            return false;
        }
        let keys = self.schema.list_keys(last.node);
        keys.iter().all(|key| {
            let mut trail = trail.to_vec();
            trail.push(Step { node: *key, key: None });
            self.permits(AccessOperation::Read, &trail)
        })
    }
}

struct Cut<'a> {
    access: &'a Effective,
    trail: Vec<Step>,
}

impl Cut<'_> {
    /// `by_instance`: rules about some instances may be about what is here.
    fn branch(&mut self, branch: &Arc<Branch>, by_instance: bool) -> Arc<Branch> {
        branch.parts(|node, data| self.node(node, data, by_instance))
    }

    fn node(&mut self, node: NodeId, data: &Data, by_instance: bool) -> Part<Data> {
        let Some(facts) = self.access.facts(node) else { return Part::Nothing };
        let by_instance = by_instance && facts.by_instance;
        match facts.read {
            Extent::All if !by_instance => return Part::Whole,
            Extent::Nothing if !by_instance => return Part::Nothing,
            Extent::All | Extent::Part | Extent::Nothing => {}
        }
        self.trail.push(Step { node, key: None });
        let part = match data {
            Data::Leaf(_) | Data::Any(_) => whole_if(self.reads(by_instance)),
            Data::Container(inner) if self.reads(by_instance) => self.container(node, inner, by_instance),
            Data::Container(_) => Part::Nothing,
            Data::List(entries) => self.list(node, entries, (facts.read, by_instance)),
            Data::LeafList(entries) if by_instance => {
                let part = entries.parts(|key, _| {
                    self.step_to(key);
                    whole_if(self.reads(true))
                });
                of(part, Data::LeafList)
            }
            Data::LeafList(_) => Part::Whole,
        };
        self.trail.pop();
        part
    }

    /// Where no rule about instances plays a part, the extent has said already that the node itself is readable.
    fn reads(&self, by_instance: bool) -> bool {
        !by_instance || self.access.reads(&self.trail)
    }

    fn step_to(&mut self, key: &Key) {
        if let Some(step) = self.trail.last_mut() {
            step.key = Some(key.clone());
        }
    }

    fn container(&mut self, node: NodeId, inner: &Arc<Branch>, by_instance: bool) -> Part<Data> {
        let left = self.branch(inner, by_instance);
        if Arc::ptr_eq(&left, inner) {
            Part::Whole
        } else if left.is_empty() && self.access.schema.is_non_presence(node) {
            Part::Nothing
        } else {
            Part::Less(Data::Container(left))
        }
    }

    fn list(
        &mut self,
        node: NodeId,
        entries: &Arc<Entries<Arc<Branch>>>,
        (read, by_instance): (Extent, bool),
    ) -> Part<Data> {
        let named = self.access.named_entries(node).filter(|named| by_instance && !named.any);
        let part = match (named, read) {
            (Some(named), Extent::All) => {
                entries.parts_of(named.keys.iter(), |key, entry| self.entry(key, entry, true))
            }
            (Some(named), Extent::Nothing) => entries.parts(|key, entry| match named.keys.contains(key) {
                true => self.entry(key, entry, true),
                false => Part::Nothing,
            }),
            (Some(named), Extent::Part) => {
                entries.parts(|key, entry| self.entry(key, entry, named.keys.contains(key)))
            }
            (None, _) => entries.parts(|key, entry| self.entry(key, entry, by_instance)),
        };
        of(part, Data::List)
    }

    fn entry(&mut self, key: &Key, entry: &Arc<Branch>, by_instance: bool) -> Part<Arc<Branch>> {
        self.step_to(key);
        if !self.reads(by_instance) {
            return Part::Nothing;
        }
        let left = self.branch(entry, by_instance);
        if Arc::ptr_eq(&left, entry) { Part::Whole } else { Part::Less(left) }
    }
}

fn whole_if<T>(whole: bool) -> Part<T> {
    if whole { Part::Whole } else { Part::Nothing }
}

fn of<T>(part: Part<T>, make: impl FnOnce(T) -> Data) -> Part<Data> {
    match part {
        Part::Whole => Part::Whole,
        Part::Less(less) => Part::Less(make(less)),
        Part::Nothing => Part::Nothing,
    }
}
