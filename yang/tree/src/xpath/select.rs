//! XPath filters (RFC 6241 section 8.9): the places that an expression selects.

use super::eval::Context;
use super::names::Named;
use super::place::Evaluation;
use super::term::{Axis, Path, Term, Test};
use super::{Accessible, Budget, Expr, Kind, XPathError};
use crate::path::{InstancePath, Step};
use crate::schema::Schema;
use crate::tree::Tree;

/// The places that a filter selects of `tree`, for [`crate::View::at`]. All entries of a list, where nothing chooses
/// among them, are one place without a key and are not visited. The text inside a leaf has the place of the leaf.
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
                    let mut place = evaluation.path(above);
                    place.steps.push(Step { node, key: None });
                    places.push(place);
                }
            }
        }
        return Ok(());
    }
    let found = evaluation.nodes_of(term, context)?;
    places.extend(found.into_iter().map(|place| evaluation.path(place)));
    // A leaf and the text inside it have one place.
    places.dedup();
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
