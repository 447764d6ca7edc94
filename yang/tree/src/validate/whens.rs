//! `when` (RFC 7950 sections 7.21.5 and 8.2): what may not exist is deleted.

use super::asked::{Asked, budget};
use super::conditions::Asks;
use super::instances::{each_instance_in, entry};
use super::violations::Violations;
use crate::edit::edit;
use crate::error::{Error, ErrorTag};
use crate::ops::{Operation, Ops};
use crate::path::InstancePath;
use crate::schema::{NodeId, Schema};
use crate::tree::{Data, Tree};
use crate::xpath::{Accessible, Budget, Evaluation, When, XPathError};

/// `tree` without the nodes whose `when` is false, where `asked` says; none when all may stay. What is deleted may
/// decide about more: this goes on until nothing changes.
pub(super) fn settle(schema: &Schema, tree: &Tree, mut asked: Asked) -> Result<Option<Tree>, Vec<Error>> {
    let constraints = schema.constraints();
    let mut settled: Option<Tree> = None;
    let mut budget = budget();
    let mut found = Violations::of(schema, tree);
    loop {
        let mut deleted = false;
        for (at, condition) in constraints.conditions.iter().enumerate() {
            let subtrees = match condition.asks {
                Asks::When { .. } => asked.take(at),
                Asks::Choice | Asks::Must { .. } | Asks::Target { .. } => continue,
            };
            let now = settled.as_ref().unwrap_or(tree);
            let gone = false_at(schema, now, condition.node, &subtrees, &mut budget, &mut found);
            if gone.is_empty() {
                continue;
            }
            let without = delete(schema, now, &gone)?;
            settled = Some(without);
            deleted = true;
            gone.iter().for_each(|path| asked.add(&constraints.triggers, path, true));
        }
        if !found.is_empty() {
            return Err(found.into_errors());
        }
        if !deleted {
            return Ok(settled);
        }
    }
}

/// The stored instances of `node` in `subtrees` that may not exist.
fn false_at(
    schema: &Schema,
    tree: &Tree,
    node: NodeId,
    subtrees: &[InstancePath],
    budget: &mut Budget,
    found: &mut Violations<'_>,
) -> Vec<InstancePath> {
    let mut gone = Vec::new();
    let seen = (schema, tree, Accessible::Configuration);
    let mut ask = |path: InstancePath| match may_exist(seen, &path, schema.whens(node), budget) {
        Ok(Some(false)) => gone.push(path),
        Ok(Some(true) | None) => {}
        Err(error) => found.push_with(&path, || not_evaluated("when", &error)),
    };
    for subtree in subtrees {
        each_instance_in(schema, tree, node, subtree, &mut |path, data| {
            let only = subtree.steps.get(path.steps.len() - 1).and_then(|step| step.key.as_ref());
            match (data, only) {
                (Data::List(entries), Some(key)) => {
                    entries.get(key).into_iter().for_each(|_| ask(entry(path, key)));
                }
                (Data::LeafList(entries), Some(key)) => {
                    entries.get(key).into_iter().for_each(|_| ask(entry(path, key)));
                }
                (Data::List(entries), None) => entries.iter().for_each(|(key, _)| ask(entry(path, key))),
                (Data::LeafList(entries), None) => entries.iter().for_each(|(key, _)| ask(entry(path, key))),
                (Data::Leaf(_) | Data::Container(_) | Data::Any(_), _) => ask(path.clone()),
            }
        });
    }
    gone
}

/// Do `whens` allow what stands, or would stand, at `path`? None when that cannot be told here: one cannot be read, or
/// there is nothing that it could stand in.
pub(super) fn may_exist(
    (schema, tree, accessible): (&Schema, &Tree, Accessible),
    path: &InstancePath,
    whens: &[When],
    budget: &mut Budget,
) -> Result<Option<bool>, XPathError> {
    let (_, above) = path.steps.split_last().unzip();
    let parent = InstancePath { steps: above.unwrap_or_default().to_vec() };
    for when in whens {
        let Ok(expression) = &when.expression else { return Ok(None) };
        let mut evaluation = Evaluation::new(schema, tree, accessible);
        let place = match when.on_parent {
            true => evaluation.place(&parent),
            false => evaluation.place_or_dummy(path),
        };
        let Some(place) = place else { return Ok(None) };
        if !expression.holds(&mut evaluation, place, budget)? {
            return Ok(Some(false));
        }
    }
    Ok(Some(true))
}

fn delete(schema: &Schema, tree: &Tree, gone: &[InstancePath]) -> Result<Tree, Vec<Error>> {
    let mut ops = Ops::default();
    for path in gone {
        ops.push(schema, path, Operation::Remove, None).map_err(|error| vec![error])?;
    }
    edit(tree, schema, ops)
}

/// An expression that data make wrong, or that takes too long.
pub(super) fn not_evaluated(what: &str, error: &XPathError) -> Error {
    let took_too_long = matches!(error, XPathError::Steps { .. });
    let tag = if took_too_long { ErrorTag::ResourceDenied } else { ErrorTag::OperationFailed };
    Error::application(tag, format!("its '{what}' cannot be evaluated: {error}"))
}
