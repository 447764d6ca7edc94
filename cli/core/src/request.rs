//! Operations of the modules: `request select-dry-run client 192.0.2.10 …` names an RPC, `request services service 1
//! restart` an action by the node that it is invoked on. The parameters follow, as after `set`.

use crate::error::{Error, nearest};
use crate::place::{self, Assignment, Walk, Want};
use crate::token::Token;
use cats_yang_tree::path::{InstancePath, Step};
use cats_yang_tree::schema::{NodeId, NodeKind, Schema};

/// An operation with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The RPC or action.
    pub operation: NodeId,
    /// The place of its input, whose last step stands for the operation.
    pub place: InstancePath,
    /// The parameters, below that place.
    pub input: Vec<Assignment>,
}

/// Reads the words behind `request`.
pub(crate) fn parse(schema: &Schema, words: &[Token]) -> Result<Request, Error> {
    let found = named(schema, words)?;
    let Some((operation, place)) = found.operation else {
        let error = match words.last() {
            Some(word) => Error::usage("this names no operation").under((word.start + word.length, 1)),
            None => Error::usage("which operation?"),
        };
        return Err(error.expecting(match found.next {
            Next::Names(names) => names,
            Next::Key(key) => place::expected_values(schema, key),
        }));
    };
    let mut walk = Walk::from(schema, place.clone(), found.rest, Want::Parameters);
    let input = place::assigned(&mut walk)?;
    Ok(Request { operation, place, input })
}

/// What words name.
pub(crate) struct Named<'w> {
    /// The operation that they begin with.
    pub(crate) operation: Option<(NodeId, InstancePath)>,
    /// The words behind it.
    pub(crate) rest: &'w [Token],
    /// The place that they lead to, where they name no operation yet.
    pub(crate) at: InstancePath,
    /// What comes next there.
    pub(crate) next: Next,
}

/// What may come next.
pub(crate) enum Next {
    /// One of these names.
    Names(Vec<String>),
    /// A value of this key.
    Key(NodeId),
}

pub(crate) fn named<'w>(schema: &Schema, words: &'w [Token]) -> Result<Named<'w>, Error> {
    let mut at = InstancePath::default();
    let mut rest = words;
    while let Some((word, behind)) = rest.split_first() {
        if let Some((operation, input)) = operation(schema, at.node(), &word.text) {
            let place = below(&at, input);
            let next = Next::Names(Vec::new());
            return Ok(Named { operation: Some((operation, place)), rest: behind, at, next });
        }
        let mut walk = Walk::from(schema, at.clone(), rest, Want::Any);
        let node = walk.descend().map_err(|error| unknown(error, word, offers(schema, &at)))?;
        if let Some(key) = schema.list_keys(node).get(walk.remaining()) {
            return Ok(Named { operation: None, rest: &[], at: walk.path, next: Next::Key(*key) });
        }
        walk.entry(node, false)?;
        rest = rest.get(rest.len() - walk.remaining()..).unwrap_or_default();
        at = walk.path;
    }
    let next = Next::Names(offers(schema, &at));
    Ok(Named { operation: None, rest, at, next })
}

fn unknown(error: Error, word: &Token, offers: Vec<String>) -> Error {
    let near = nearest(&word.text, offers.iter().map(String::as_str)).map(str::to_owned);
    let error = Error { remedy: None, ..error }.expecting(offers);
    match near {
        Some(near) => error.remedy(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// The operation of that name, by its module's name where one is given, and its input.
fn operation(schema: &Schema, parent: Option<NodeId>, name: &str) -> Option<(NodeId, NodeId)> {
    let (module, name) = match name.split_once(':') {
        Some((module, name)) => (Some(module), name),
        None => (None, name),
    };
    let mut of_module = schema
        .children_named(parent, name)
        .filter(|id| module.is_none_or(|module| schema.module_of(*id).name == module));
    of_module.find_map(|id| Some((id, input_of(schema, id)?)))
}

fn input_of(schema: &Schema, id: NodeId) -> Option<NodeId> {
    match schema.node(id).kind {
        NodeKind::Rpc { input, .. } | NodeKind::Action { input, .. } => Some(input),
        _ => None,
    }
}

fn below(above: &InstancePath, node: NodeId) -> InstancePath {
    let mut path = above.clone();
    path.steps.push(Step { node, key: None });
    path
}

/// Operations of a place, and the nodes on the way to others.
fn offers(schema: &Schema, at: &InstancePath) -> Vec<String> {
    let parents = match at.node() {
        Some(node) => vec![Some(node)],
        None => vec![None, place::home(schema).and_then(|home| home.node())],
    };
    let mut names = Vec::new();
    for parent in parents {
        let children = parent.map_or(&schema.roots, |id| &schema.node(id).children);
        let offered = |id: &&NodeId| {
            !schema.node(**id).flags.hidden
                && (input_of(schema, **id).is_some() || leads_to_action(schema, **id))
        };
        names.extend(children.iter().filter(offered).map(|id| schema.node(*id).name.clone()));
    }
    names.sort();
    names.dedup();
    names
}

/// Is there an action somewhere below a container or list?
fn leads_to_action(schema: &Schema, id: NodeId) -> bool {
    let node = schema.node(id);
    let way = matches!(
        node.kind,
        NodeKind::Container { .. } | NodeKind::List { .. } | NodeKind::Choice { .. } | NodeKind::Case
    );
    way && node.children.iter().any(|child| {
        matches!(schema.node(*child).kind, NodeKind::Action { .. }) || leads_to_action(schema, *child)
    })
}
