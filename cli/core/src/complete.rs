//! What may be typed next: command words, names of the schema, values of closed types.

use crate::command::{self, Mode};
use crate::place::{self, Walk, Want};
use crate::request::{self, Next};
use crate::token::{self, Token};
use crate::view;
use cats_yang_tree::path::{InstancePath, Step};
use cats_yang_tree::schema::{NodeId, NodeKind, Schema};

/// Where values of existing data come from: keys of lists, targets of references. A source that cannot say
/// gives none.
pub trait Values {
    /// Values that the leaf `node` has, or may refer to, at `path`.
    fn of(&self, path: &InstancePath, node: NodeId) -> Vec<String>;
}

/// No existing data is known.
pub struct NoValues;

impl Values for NoValues {
    fn of(&self, _: &InstancePath, _: NodeId) -> Vec<String> {
        Vec::new()
    }
}

/// One way to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The whole word.
    pub word: String,
    /// What it means, one line.
    pub help: String,
}

/// The ways to go on at the end of `line`, which is the text before the cursor, and where the word that they
/// replace begins.
pub fn complete(schema: &Schema, mode: Mode, line: &str, values: &dyn Values) -> (usize, Vec<Completion>) {
    let Ok(commands) = token::commands(line) else { return (line.len(), Vec::new()) };
    let open = !line.ends_with(|c: char| c.is_whitespace() || c == ';');
    let mut words = commands.into_iter().next_back().unwrap_or_default();
    if line.trim_end().ends_with(';') {
        words.clear();
    }
    let (start, stem) = match words.last() {
        Some(word) if open => (word.start, word.text.clone()),
        _ => (line.len(), String::new()),
    };
    if open {
        words.pop();
    }
    let mut found = offers(schema, mode, &words, values);
    found.retain(|completion| completion.word.starts_with(&stem));
    found.sort_by(|a, b| a.word.cmp(&b.word));
    found.dedup_by(|a, b| a.word == b.word);
    (start, found)
}

fn offers(schema: &Schema, mode: Mode, words: &[Token], values: &dyn Values) -> Vec<Completion> {
    let Some((verb, rest)) = words.split_first() else {
        return command::words(mode)
            .iter()
            .map(|word| Completion { word: word.name.to_owned(), help: word.help.to_owned() })
            .collect();
    };
    match (mode, verb.text.as_str(), rest.first().map(|word| word.text.as_str())) {
        (Mode::Operational, "show", None) => command::shown(schema)
            .into_iter()
            .map(|word| Completion { word: word.name.to_owned(), help: word.help.to_owned() })
            .collect(),
        (Mode::Operational, "request", _) => request_offers(schema, rest, values),
        (Mode::Operational, "show", Some("config")) => next(schema, &rest[1..], Want::Config, false, values),
        (Mode::Operational, "show", Some("state")) => next(schema, &rest[1..], Want::Any, false, values),
        (Mode::Operational, "show", Some(_)) => view::offers(schema, rest, values),
        (Mode::Configure, "show" | "delete", _) => next(schema, rest, Want::Config, false, values),
        (Mode::Configure, "set", _) => next(schema, rest, Want::Config, true, values),
        (Mode::Configure, "commit", None) => {
            vec![Completion { word: "check".to_owned(), help: "only validate the candidate".to_owned() }]
        }
        _ => Vec::new(),
    }
}

/// Operations and what leads to them; behind one its parameters.
fn request_offers(schema: &Schema, words: &[Token], values: &dyn Values) -> Vec<Completion> {
    let Ok(named) = request::named(schema, words) else { return Vec::new() };
    match named.operation {
        Some((_, place)) => {
            follow(schema, Walk::from(schema, place, named.rest, Want::Parameters), true, values)
        }
        None => match named.next {
            Next::Names(names) => {
                names.into_iter().map(|word| self::named(schema, &named.at, word)).collect()
            }
            Next::Key(key) => value_offers(schema, &named.at, key, values),
        },
    }
}

/// Follows the words as far as they are understood and says what comes behind them.
fn next(schema: &Schema, words: &[Token], want: Want, assigns: bool, values: &dyn Values) -> Vec<Completion> {
    follow(schema, Walk::new(schema, words, want), assigns, values)
}

fn follow(schema: &Schema, mut walk: Walk<'_>, assigns: bool, values: &dyn Values) -> Vec<Completion> {
    while !walk.at_end() {
        let Ok(node) = walk.descend() else { return Vec::new() };
        let before = walk.path.clone();
        match &schema.node(node).kind {
            NodeKind::Leaf { .. } | NodeKind::LeafList { .. } if assigns => {
                if walk.at_end() && !place::is_empty(schema, node) {
                    return value_offers(schema, &before, node, values);
                }
                if walk.value_or_bracket(node).is_err() {
                    return Vec::new();
                }
                walk.path.steps.pop();
            }
            NodeKind::Leaf { .. } => return Vec::new(),
            _ => {
                let keys = schema.list_keys(node);
                let missing = keys.get(walk.remaining());
                if let Some(key) = missing {
                    return value_offers(schema, &before, *key, values);
                }
                if walk.entry(node, false).is_err() {
                    return Vec::new();
                }
            }
        }
    }
    walk.offers().into_iter().map(|word| named(schema, &walk.path, word)).collect()
}

fn named(schema: &Schema, at: &InstancePath, word: String) -> Completion {
    let find = |parent: Option<NodeId>| schema.children_named(parent, &word).next();
    let node = find(at.node()).or_else(|| match at.steps.is_empty() {
        true => place::home(schema).and_then(|home| find(home.node())),
        false => None,
    });
    let help = node.and_then(|id| schema.node(id).description.clone()).unwrap_or_default();
    Completion { word, help: first_sentence(&help) }
}

fn value_offers(schema: &Schema, path: &InstancePath, node: NodeId, values: &dyn Values) -> Vec<Completion> {
    let closed = schema.leaf_type(node).map_or_else(Vec::new, |ty| place::closed_values(schema, &ty.base));
    let known = if closed.is_empty() { values.of(&parent_of(path, node), node) } else { closed };
    let help = schema.node(node).description.clone().unwrap_or_default();
    known
        .into_iter()
        .map(|value| Completion { word: token::quote(&value), help: first_sentence(&help) })
        .collect()
}

/// The place whose child `node` is: `path` itself for a key, its parent for a leaf that ends it.
fn parent_of(path: &InstancePath, node: NodeId) -> InstancePath {
    let mut steps: Vec<Step> = path.steps.clone();
    if steps.last().is_some_and(|step| step.node == node) {
        steps.pop();
    }
    InstancePath { steps }
}

fn first_sentence(text: &str) -> String {
    match text.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => text.to_owned(),
    }
}
