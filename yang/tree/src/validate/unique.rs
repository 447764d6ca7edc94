//! `unique` (RFC 7950 sections 7.8.3 and 15.1), by the counts of tuples.

use super::constraints::Unique;
use super::indexes::{Indexes, Scoped, Touched, scoped, tuple_of};
use super::instances::{each_instance, entry};
use super::violations::Violations;
use crate::error::{Error, ErrorInfo, ErrorTag, Path};
use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, Schema};
use crate::tree::{Data, Tree};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(
    schema: &Schema,
    new: &Tree,
    indexes: &Indexes,
    touched: &Touched,
    found: &mut Violations<'_>,
) {
    let mut shared: BTreeMap<usize, BTreeSet<&Scoped>> = BTreeMap::new();
    for (at, tuple) in touched.tuples.iter().filter(|(at, tuple)| indexes.tuple_count(*at, tuple) > 1) {
        shared.entry(*at).or_default().insert(tuple);
    }
    for (at, tuples) in shared {
        let Some(unique) = schema.constraints().uniques.get(at) else { continue };
        name(schema, new, unique, &tuples, found);
    }
}

/// Only a configuration that is refused comes here, so all entries may be looked at.
fn name(
    schema: &Schema,
    new: &Tree,
    unique: &Unique,
    tuples: &BTreeSet<&Scoped>,
    found: &mut Violations<'_>,
) {
    let mut first: BTreeMap<Scoped, Key> = BTreeMap::new();
    each_instance(schema, new, unique.list, &mut |list, data| {
        let Data::List(entries) = data else { return };
        for (key, branch) in entries.iter() {
            let Some(tuple) = tuple_of(schema, unique, branch) else { continue };
            let tuple = scoped(&list.steps, unique.depth.saturating_sub(1), tuple);
            if !tuples.contains(&tuple) {
                continue;
            }
            match first.get(&tuple) {
                None => drop(first.insert(tuple, key.clone())),
                Some(other) => found.push_with(list, || not_unique(schema, unique, list, [other, key])),
            }
        }
    });
}

fn not_unique(schema: &Schema, unique: &Unique, list: &InstancePath, keys: [&Key; 2]) -> Error {
    let name = |id: NodeId| schema.node(id).name.as_str();
    let leafs = unique.chains.iter().filter_map(|chain| chain.last());
    let names: Vec<&str> = leafs.map(|leaf| name(*leaf)).collect();
    let what = format!("{} must be unique in '{}'", names.join(", "), name(unique.list));
    let mut error = Error::application(ErrorTag::OperationFailed, what).app_tag("data-not-unique");
    for key in keys {
        for chain in &unique.chains {
            error = error.with(ErrorInfo::NonUnique(leaf_path(schema, list, key, chain)));
        }
    }
    error
}

fn leaf_path(schema: &Schema, list: &InstancePath, key: &Key, chain: &[NodeId]) -> Path {
    let mut path = entry(list, key);
    path.steps.extend(chain.iter().map(|node| Step { node: *node, key: None }));
    path.render(schema)
}
