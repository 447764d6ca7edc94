//! Leafrefs (RFC 7950 section 9.9), by the counts of their values.

use super::constraints::{Reference, chain};
use super::indexes::{Indexes, Scoped, Touched, scoped};
use super::instances::{each_instance, entry};
use super::violations::Violations;
use crate::error::{Error, ErrorTag, shown};
use crate::path::{InstancePath, Key};
use crate::schema::{NodeId, Schema};
use crate::tree::{Branch, Data, Tree};
use crate::value::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn check(
    schema: &Schema,
    new: &Tree,
    indexes: &Indexes,
    touched: &Touched,
    found: &mut Violations<'_>,
) {
    let mut dangling: BTreeMap<usize, BTreeSet<&Scoped>> = BTreeMap::new();
    for (at, value) in touched.references.iter().filter(|(at, value)| indexes.is_referring(*at, value)) {
        let Some(reference) = schema.constraints().references.get(*at) else { continue };
        if !exists(schema, new, indexes, reference, value) {
            dangling.entry(*at).or_default().insert(value);
        }
    }
    for (at, values) in dangling {
        if let Some(reference) = schema.constraints().references.get(at) {
            name(schema, new, reference, &values, found);
        }
    }
}

fn exists(schema: &Schema, new: &Tree, indexes: &Indexes, reference: &Reference, value: &Scoped) -> bool {
    match reference.holder {
        Some(holder) => indexes.is_held(holder, value),
        None => start(schema, new, reference, value)
            .is_some_and(|start| has_entry(start, &reference.down, &value.value)),
    }
}

/// Where the path of the leafref begins to descend.
fn start<'t>(
    schema: &Schema,
    new: &'t Tree,
    reference: &Reference,
    value: &Scoped,
) -> Option<&'t Arc<Branch>> {
    let mut keys = value.scope.as_deref().unwrap_or_default().iter();
    let mut branch = &new.root;
    for id in chain(schema, None, reference.target).iter().take(reference.depth) {
        branch = match branch.get(*id)? {
            Data::Container(inner) => inner,
            Data::List(entries) => entries.get(keys.next()?)?,
            Data::Leaf(_) | Data::LeafList(_) | Data::Any(_) => return None,
        };
    }
    Some(branch)
}

/// Leads `down` to an entry with that key?
fn has_entry(start: &Branch, down: &[NodeId], key: &Key) -> bool {
    let mut branch = start;
    for id in down {
        match branch.get(*id) {
            Some(Data::Container(inner)) => branch = inner,
            Some(Data::List(entries)) => return entries.get(key).is_some(),
            Some(Data::Leaf(_) | Data::LeafList(_) | Data::Any(_)) | None => return false,
        }
    }
    false
}

/// Only a configuration that is refused comes here, so all instances may be looked at.
fn name(
    schema: &Schema,
    new: &Tree,
    reference: &Reference,
    dangling: &BTreeSet<&Scoped>,
    found: &mut Violations<'_>,
) {
    let target = schema.path_of(reference.target);
    let mut see = |place: &InstancePath, value: &Value| {
        if dangling.contains(&scoped(&place.steps, reference.depth, Key::One(value.clone()))) {
            found.push_with(place, || {
                let value = value.to_string();
                let what = format!("'{}' refers to nothing: no {target} has this value", shown(&value));
                // RFC 7950 section 15.5.
                Error::application(ErrorTag::DataMissing, what).app_tag("instance-required")
            });
        }
    };
    each_instance(schema, new, reference.leaf, &mut |place, data| match data {
        Data::Leaf(value) => see(place, value),
        Data::LeafList(entries) => entries.iter().for_each(|(key, value)| {
            see(&entry(place, key), value);
        }),
        Data::Container(_) | Data::List(_) | Data::Any(_) => {}
    });
}
