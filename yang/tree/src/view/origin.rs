//! The parts of a view by where they come from (RFC 8342 section 5.3.4) and by what they are.

use crate::schema::{NodeId, Schema};
use crate::tree::{Branch, Child, Data, Entries};
use crate::value::Value;
use std::sync::Arc;

/// Where a node of configuration in `<operational>` comes from; the identities of ietf-origin that occur here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// From `<intended>`.
    Intended,
    /// Not configured, and its default is in use.
    Default,
    /// Reported by the system, and not configured.
    System,
}

impl Origin {
    /// The name of its identity.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Intended => "intended",
            Origin::Default => "default",
            Origin::System => "system",
        }
    }
}

/// The origins that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)] // each is the origin of its own name
pub struct Origins {
    pub intended: bool,
    pub default: bool,
    pub system: bool,
}

impl Origins {
    /// Those that are not in `self`.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { intended: !self.intended, default: !self.default, system: !self.system }
    }

    /// Those in either.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            intended: self.intended || other.intended,
            default: self.default || other.default,
            system: self.system || other.system,
        }
    }

    fn has(self, origin: Origin) -> bool {
        match origin {
            Origin::Intended => self.intended,
            Origin::Default => self.default,
            Origin::System => self.system,
        }
    }
}

/// The origin of a child of a branch, and what stands at its place in `<intended>`.
pub(crate) fn origin_of<'b>(child: &Child, intended: Option<&'b Branch>) -> (Origin, Option<&'b Data>) {
    let there = intended.and_then(|branch| branch.get(child.id));
    let origin = match (child.default, there) {
        (true, _) => Origin::Default,
        (false, Some(_)) => Origin::Intended,
        (false, None) => Origin::System,
    };
    (origin, there)
}

/// The container at a place of `<intended>`.
pub(crate) fn container_of(data: Option<&Data>) -> Option<&Arc<Branch>> {
    match data {
        Some(Data::Container(inner)) => Some(inner),
        _ => None,
    }
}

/// The list at a place of `<intended>`.
pub(crate) fn list_of(data: Option<&Data>) -> Option<&Arc<Entries<Arc<Branch>>>> {
    match data {
        Some(Data::List(entries)) => Some(entries),
        _ => None,
    }
}

/// The origin of an entry of a list or leaf-list whose first occurrence is no default.
pub(crate) fn entry_origin(default: bool, there: bool) -> Origin {
    match (default, there) {
        (true, _) => Origin::Default,
        (false, true) => Origin::Intended,
        (false, false) => Origin::System,
    }
}

/// The configuration whose origin is one of `wanted`, with what stands above it, and all state.
pub(super) fn by_origin(
    schema: &Schema,
    parent: Option<NodeId>,
    branch: &Branch,
    intended: Option<&Branch>,
    wanted: Origins,
) -> Branch {
    let mut out = Branch::default();
    for child in &branch.children {
        let (origin, there) = origin_of(child, intended);
        let is_key = parent.is_some() && schema.is_key(child.id);
        let data = match &child.data {
            _ if !schema.node(child.id).config || is_key => Some(child.data.clone()),
            Data::Leaf(_) | Data::Any(_) => wanted.has(origin).then(|| child.data.clone()),
            Data::LeafList(entries) => {
                let there = match there {
                    Some(Data::LeafList(entries)) => Some(entries),
                    _ => None,
                };
                leaf_list(entries, wanted, |key| {
                    entry_origin(child.default, there.is_some_and(|there| there.get(key).is_some()))
                })
            }
            Data::Container(inner) => {
                let there = container_of(there).map(|inner| &**inner);
                let inner = by_origin(schema, Some(child.id), inner, there, wanted);
                let kept = !inner.is_empty() || child.presence && wanted.has(origin);
                kept.then(|| Data::Container(Arc::new(inner)))
            }
            Data::List(entries) => list(schema, child.id, entries, list_of(there), wanted),
        };
        out.children.extend(data.map(|data| Child { data, ..child.clone() }));
    }
    out
}

fn leaf_list(
    entries: &Entries<Value>,
    wanted: Origins,
    origin: impl Fn(&crate::path::Key) -> Origin,
) -> Option<Data> {
    let mut out = Entries::new(entries.is_user_ordered());
    for (key, value) in entries.iter().filter(|(key, _)| wanted.has(origin(key))) {
        out.set(key.clone(), value.clone());
    }
    (!out.is_empty()).then(|| Data::LeafList(Arc::new(out)))
}

/// An entry stays for its own origin, or for what is below it besides its keys.
fn list(
    schema: &Schema,
    id: NodeId,
    entries: &Entries<Arc<Branch>>,
    there: Option<&Arc<Entries<Arc<Branch>>>>,
    wanted: Origins,
) -> Option<Data> {
    let mut out = Entries::new(entries.is_user_ordered());
    for (key, entry) in entries.iter() {
        let there = there.and_then(|there| there.get(key));
        let part = by_origin(schema, Some(id), entry, there.map(|entry| &**entry), wanted);
        if wanted.has(entry_origin(false, there.is_some())) || holds_more_than_keys(schema, &part) {
            out.set(key.clone(), Arc::new(part));
        }
    }
    (!out.is_empty()).then(|| Data::List(Arc::new(out)))
}

fn holds_more_than_keys(schema: &Schema, entry: &Branch) -> bool {
    entry.children.iter().any(|child| !schema.is_key(child.id))
}

/// The configuration alone, or the state alone with what stands above it.
pub(super) fn by_config(schema: &Schema, branch: &Branch, wanted: bool) -> Branch {
    let mut out = Branch::default();
    for child in &branch.children {
        if !schema.node(child.id).config {
            // All below state is state.
            out.children.extend((!wanted).then(|| child.clone()));
            continue;
        }
        let data = match &child.data {
            Data::Leaf(_) | Data::LeafList(_) | Data::Any(_) => {
                (wanted || schema.is_key(child.id)).then(|| child.data.clone())
            }
            Data::Container(inner) => {
                let part = by_config(schema, inner, wanted);
                (wanted && (child.presence || inner.is_empty()) || !part.is_empty())
                    .then(|| Data::Container(Arc::new(part)))
            }
            Data::List(entries) => {
                let mut out = Entries::new(entries.is_user_ordered());
                for (key, entry) in entries.iter() {
                    let part = by_config(schema, entry, wanted);
                    if wanted || holds_more_than_keys(schema, &part) {
                        out.set(key.clone(), Arc::new(part));
                    }
                }
                (!out.is_empty()).then(|| Data::List(Arc::new(out)))
            }
        };
        out.children.extend(data.map(|data| Child { data, ..child.clone() }));
    }
    out
}
