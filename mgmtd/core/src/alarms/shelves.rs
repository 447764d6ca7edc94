//! Which alarms are meant: by patterns, by types and by what stands in the data (`resource-match` of RFC 8632).

use super::entry::Key;
use cats_yang_tree::pattern;
use cats_yang_tree::schema::{IdentityId, Schema};
use cats_yang_tree::xpath::{Accessible, Budget, Evaluation, Expr, Outcome, Scope};
use cats_yang_tree::{InstancePath, Ops, Tree, edit};
use serde_json::{Map, Value, json};

/// The steps that one expression may take for one alarm; beyond, it means nothing.
const STEPS: u64 = 100_000;

/// An entry of `alarm-shelving`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shelf {
    pub(crate) name: String,
    resources: Vec<String>,
    /// Types, each with a pattern of the qualifier.
    kinds: Vec<(String, String)>,
}

impl Shelf {
    /// From what RFC 7951 makes of the entry.
    pub(crate) fn of(entry: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let all = |name: &str| entry.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let kind = |kind: &Value| {
            let leaf = |name: &str| kind.get(name).map(&text).unwrap_or_default();
            (leaf("alarm-type-id"), leaf("alarm-type-qualifier-match"))
        };
        Self {
            name: entry.get("name").map(&text).unwrap_or_default(),
            resources: all("resource").iter().map(&text).collect(),
            kinds: all("alarm-type").iter().map(kind).collect(),
        }
    }

    /// Does it depend on what the data are?
    pub(crate) fn asks_data(&self) -> bool {
        !self.resources.is_empty()
    }

    /// Is the alarm to lie on it?
    pub(crate) fn takes(&self, (schema, tree): (&Schema, &Tree), key: &Key) -> bool {
        let of_kind = |(kind, qualifier): &(String, String)| {
            // None of ours has a qualifier.
            is_or_derives(schema, &key.kind, kind) && pattern::matches(qualifier, "")
        };
        (self.kinds.is_empty() || self.kinds.iter().any(of_kind))
            && (self.resources.is_empty()
                || self.resources.iter().any(|wanted| is_meant(schema, tree, wanted, &key.resource)))
    }
}

/// Does a `resource-match` mean this resource? A place in the data is meant by an expression that selects it, in running
/// and with itself there; everything else by a pattern.
pub(crate) fn is_meant(schema: &Schema, tree: &Tree, wanted: &str, resource: &str) -> bool {
    match InstancePath::parse(schema, resource).ok().filter(|path| !path.steps.is_empty()) {
        Some(path) => selects(schema, tree, wanted, &path),
        None => pattern::matches(wanted, resource),
    }
}

fn selects(schema: &Schema, tree: &Tree, wanted: &str, path: &InstancePath) -> bool {
    let Ok(expression) = Expr::parse(schema, wanted, Scope::of_modules()) else { return false };
    let itself = Ops::from_state_json(schema, &standing(schema, path)).ok();
    let itself = itself.and_then(|ops| edit(&Tree::new(), schema, ops).ok()).unwrap_or_default();
    let tree = tree.merged(schema, &itself);
    let mut evaluation = Evaluation::new(schema, &tree, Accessible::WithState);
    let root = evaluation.root();
    match expression.evaluate(&mut evaluation, root, &mut Budget::new(STEPS)) {
        Ok(Outcome::Nodes(nodes)) => nodes.contains(path),
        Ok(Outcome::String(_) | Outcome::Number(_) | Outcome::Boolean(_)) | Err(_) => false,
    }
}

/// A document of nothing but what stands at the path, and the keys on the way.
fn standing(schema: &Schema, path: &InstancePath) -> Value {
    let document = path.steps.iter().rev().fold(Map::new(), |mut inner, step| {
        let name = format!("{}:{}", schema.module_of(step.node).name, schema.node(step.node).name);
        let value = match &step.key {
            None => Value::Object(inner),
            Some(key) => {
                for (leaf, value) in schema.list_keys(step.node).iter().zip(key.values()) {
                    inner.insert(schema.node(*leaf).name.clone(), value.to_json());
                }
                json!([inner])
            }
        };
        Map::from_iter([(name, value)])
    });
    Value::Object(document)
}

fn is_or_derives(schema: &Schema, kind: &str, base: &str) -> bool {
    let identity = |name: &str| -> Option<IdentityId> {
        let (module, name) = name.split_once(':')?;
        schema.identity_by_name(schema.module_by_name(module)?, name)
    };
    kind == base
        || identity(base).is_some_and(|base| {
            identity(kind).is_some_and(|kind| schema.identity(kind).ancestors.contains(&base))
        })
}
