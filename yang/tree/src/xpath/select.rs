//! XPath filters (RFC 6241 section 8.9): the places that an expression selects.

use super::eval::Context;
use super::names::Named;
use super::place::{Evaluation, Place, Verdict};
use super::term::{Axis, Path, Term, Test};
use super::{Accessible, Budget, Expr, Kind, MAX_PLACES, XPathError};
use crate::path::{InstancePath, Step};
use crate::schema::Schema;
use crate::tree::Tree;

/// The places that a filter selects of `tree`, for [`crate::View::at`]. All entries of a list, where nothing chooses
/// among them, are one place without a key and are not visited. The text inside a leaf has the place of the leaf, and what
/// stands below a place that was just selected is part of it. They come in any order, some of them maybe twice.
///
/// # Errors
/// When the value is no node-set, and those of [`Expr::evaluate`].
pub fn select(
    schema: &Schema,
    tree: &Tree,
    expression: &Expr,
    accessible: Accessible,
    budget: &mut Budget,
) -> Result<Vec<InstancePath>, XPathError> {
    let found = expression.kind();
    if found != Kind::Nodes {
        return Err(XPathError::NotNodes { found });
    }
    let mut evaluation = Evaluation::new(schema, tree, accessible);
    expression.within(&mut evaluation, budget, |evaluation| {
        let mut places = Vec::new();
        let context = Context::new(evaluation.root(), &expression.scope);
        gather(evaluation, &expression.term, context, &mut places)?;
        Ok(places)
    })
}

fn gather(
    evaluation: &mut Evaluation<'_>,
    term: &Term,
    context: Context<'_>,
    places: &mut Vec<InstancePath>,
) -> Result<(), XPathError> {
    if let Term::Union(terms) = term {
        return terms.iter().try_for_each(|term| gather(evaluation, term, context, places));
    }
    if let Term::Path(path) = term
        && let Some(named) = whole_children(path)
    {
        for above in evaluation.steps_nodes(path, path.steps.len() - 1, context)? {
            for node in named.below(evaluation.node(above)) {
                if evaluation.sees(node) && evaluation.count(above, node, context.depth)? > 0 {
                    if places.len() >= MAX_PLACES {
                        return Err(XPathError::Nodes { limit: MAX_PLACES });
                    }
                    let mut place = evaluation.path(above);
                    place.steps.push(Step { node, key: None });
                    places.push(place);
                }
            }
        }
        return Ok(());
    }
    evaluation.visit(term, context, &mut |evaluation, place| {
        keep(evaluation, place, places)?;
        Ok(Verdict::Drop)
    })?;
    Ok(())
}

/// Adds a place, unless it stands at or below the last one.
fn keep(evaluation: &Evaluation<'_>, place: Place, places: &mut Vec<InstancePath>) -> Result<(), XPathError> {
    let path = evaluation.path(place);
    if places.last().is_some_and(|last| path.steps.starts_with(&last.steps)) {
        return Ok(());
    }
    if places.len() >= MAX_PLACES {
        return Err(XPathError::Nodes { limit: MAX_PLACES });
    }
    places.push(path);
    Ok(())
}

/// The nodes of the last step, if it takes all children of a name.
fn whole_children(path: &Path) -> Option<&Named> {
    let last = path.steps.last()?;
    match (last.axis, &last.test) {
        (Axis::Child, Test::Name(named)) if last.predicates.is_empty() => Some(named),
        _ => None,
    }
}
