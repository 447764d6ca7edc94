//! `must` (RFC 7950 sections 7.5.3 and 15.4), and leafrefs whose values cannot be counted (section 15.5).

use super::Violation;
use super::asked::{Asked, budget, each_place};
use super::conditions::{Asks, Condition};
use super::whens::not_evaluated;
use crate::error::{Error, ErrorTag, shown};
use crate::path::InstancePath;
use crate::schema::Schema;
use crate::tree::Tree;
use crate::xpath::Expr;

/// The `must`s that do not hold.
pub(super) fn check(schema: &Schema, new: &Tree, asked: &mut Asked) -> Vec<Violation> {
    let mut found = Vec::new();
    for (at, condition) in schema.constraints().conditions.iter().enumerate() {
        let Asks::Must { at: position, expr } = &condition.asks else { continue };
        let Some(must) = schema.node(condition.node).musts.get(*position) else { continue };
        let subtrees = asked.take(at);
        let mut fail = |place: InstancePath| {
            let standard = || format!("the condition '{}' is not met", must.condition.text);
            let message = must.message.clone().unwrap_or_else(standard);
            let tag = must.app_tag.as_deref().unwrap_or("must-violation");
            let error = Error::application(ErrorTag::OperationFailed, message).app_tag(tag);
            found.push(Violation::new(schema, place, error));
        };
        let refused = ask(schema, new, condition, expr, &subtrees, &mut fail);
        found.extend(refused.map(|(place, error)| not_evaluated(schema, place, "must", &error)));
    }
    found
}

/// The leafrefs whose path finds nothing of their value.
pub(super) fn check_targets(schema: &Schema, new: &Tree, asked: &mut Asked) -> Vec<Violation> {
    let mut found = Vec::new();
    for (at, condition) in schema.constraints().conditions.iter().enumerate() {
        let Asks::Target { expr } = &condition.asks else { continue };
        let subtrees = asked.take(at);
        let mut fail = |place: InstancePath| {
            let what = format!("it refers to nothing: '{}' does not hold", shown(expr.text()));
            let error = Error::application(ErrorTag::DataMissing, what).app_tag("instance-required");
            found.push(Violation::new(schema, place, error));
        };
        let refused = ask(schema, new, condition, expr, &subtrees, &mut fail);
        found.extend(refused.map(|(place, error)| not_evaluated(schema, place, "path", &error)));
    }
    found
}

/// Calls `fail` with each place where `expr` is false; the place and reason where that cannot be told.
fn ask(
    schema: &Schema,
    new: &Tree,
    condition: &Condition,
    expr: &Expr,
    subtrees: &[InstancePath],
    fail: &mut dyn FnMut(InstancePath),
) -> Option<(InstancePath, crate::xpath::XPathError)> {
    let mut budget = budget();
    let mut refused = InstancePath::default();
    let asked =
        each_place(schema, new, &condition.chain, subtrees, &mut |evaluation, place| match expr.holds(
            evaluation,
            place,
            &mut budget,
        ) {
            Ok(true) => Ok(()),
            Ok(false) => {
                fail(evaluation.path(place));
                Ok(())
            }
            Err(error) => {
                refused = evaluation.path(place);
                Err(error)
            }
        });
    asked.err().map(|error| (refused, error))
}
