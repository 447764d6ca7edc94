//! `must` (RFC 7950 sections 7.5.3 and 15.4), and leafrefs whose values cannot be counted (section 15.5).

use super::asked::{Asked, budget, each_place};
use super::conditions::{Asks, Condition};
use super::violations::Violations;
use super::whens::not_evaluated;
use crate::error::{Error, ErrorTag, shown};
use crate::path::InstancePath;
use crate::schema::Schema;
use crate::tree::Tree;
use crate::xpath::Expr;

/// The `must`s that do not hold.
pub(super) fn check(schema: &Schema, new: &Tree, asked: &mut Asked, found: &mut Violations<'_>) {
    for (at, condition) in schema.constraints().conditions.iter().enumerate() {
        let Asks::Must { at: position, expr } = &condition.asks else { continue };
        let Some(must) = schema.node(condition.node).musts.get(*position) else { continue };
        let subtrees = asked.take(at);
        let error = || {
            let standard = || format!("the condition '{}' is not met", must.condition.text);
            let message = must.message.clone().unwrap_or_else(standard);
            let tag = must.app_tag.as_deref().unwrap_or("must-violation");
            Error::application(ErrorTag::OperationFailed, message).app_tag(tag)
        };
        let mut fail = |place: InstancePath| found.push_with(&place, error);
        if let Some((place, error)) = ask(schema, new, condition, expr, &subtrees, &mut fail) {
            found.push_with(&place, || not_evaluated("must", &error));
        }
    }
}

/// The leafrefs whose path finds nothing of their value.
pub(super) fn check_targets(schema: &Schema, new: &Tree, asked: &mut Asked, found: &mut Violations<'_>) {
    for (at, condition) in schema.constraints().conditions.iter().enumerate() {
        let Asks::Target { expr } = &condition.asks else { continue };
        let subtrees = asked.take(at);
        let error = || {
            let what = format!("it refers to nothing: '{}' does not hold", shown(expr.text()));
            Error::application(ErrorTag::DataMissing, what).app_tag("instance-required")
        };
        let mut fail = |place: InstancePath| found.push_with(&place, error);
        if let Some((place, error)) = ask(schema, new, condition, expr, &subtrees, &mut fail) {
            found.push_with(&place, || not_evaluated("path", &error));
        }
    }
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
