//! The state of `ietf-yang-library` (RFC 8525), and what else does not change: `ietf-system-capabilities` (RFC 9196). One module set and one schema serve all datastores. There are no
//! submodules: a module that includes one is not loaded.

use crate::core::Facts;
use crate::push;
use crate::state::merge;
use cats_yang_tree::Tree;
use cats_yang_tree::error::Error;
use cats_yang_tree::schema::Module;
use serde_json::{Map, Value, json};

/// Its name.
const NAME: &str = "ietf-yang-library";

/// All of it; nothing where the module is not served.
pub(crate) fn tree(facts: &Facts) -> Result<Tree, Vec<Error>> {
    let served = facts.schema.module_by_name(NAME).is_some_and(|id| facts.schema.module(id).implemented);
    if !served {
        return Ok(Tree::new());
    }
    let mut state = Map::new();
    state.insert("ietf-yang-library:yang-library".to_owned(), yang_library(facts));
    state.insert("ietf-yang-library:modules-state".to_owned(), modules_state(facts));
    state.extend(push::capabilities(facts));
    merge(&facts.schema, &Tree::new(), &Value::Object(state))
}

/// `/yang-library`. Its content-id is the one of the capability in the hello.
fn yang_library(facts: &Facts) -> Value {
    let mut implemented = Vec::new();
    let mut imported = Vec::new();
    for module in &facts.schema.modules {
        let mut entry = named(module);
        if module.implemented {
            if !module.deviations.is_empty() {
                entry.insert("deviation".to_owned(), json!(module.deviations));
            }
            implemented.push(Value::Object(entry));
        } else {
            entry.entry("revision").or_insert(json!(""));
            imported.push(Value::Object(entry));
        }
    }
    let datastore = |name: &&str| json!({ "name": format!("ietf-datastores:{name}"), "schema": "complete" });
    let datastores = ["running", "candidate", "intended", "operational"];
    json!({
        "module-set": [{ "name": "complete", "module": implemented, "import-only-module": imported }],
        "schema": [{ "name": "complete", "module-set": ["complete"] }],
        "datastore": datastores.iter().map(datastore).collect::<Vec<_>>(),
        "content-id": facts.content_id,
    })
}

/// `/modules-state`, the deprecated form of RFC 7895, for clients that know no other.
fn modules_state(facts: &Facts) -> Value {
    let revision = |name: &str| {
        let found = facts.schema.modules.iter().find(|module| module.name == name && module.implemented);
        found.and_then(|module| module.revision.clone()).unwrap_or_default()
    };
    let entry = |module: &Module| {
        let mut entry = named(module);
        entry.entry("revision").or_insert(json!(""));
        let conformance = if module.implemented { "implement" } else { "import" };
        entry.insert("conformance-type".to_owned(), json!(conformance));
        if !module.deviations.is_empty() {
            let deviation = |name: &String| json!({ "name": name, "revision": revision(name) });
            let deviations: Vec<Value> = module.deviations.iter().map(deviation).collect();
            entry.insert("deviation".to_owned(), json!(deviations));
        }
        Value::Object(entry)
    };
    json!({
        "module-set-id": facts.content_id,
        "module": facts.schema.modules.iter().map(entry).collect::<Vec<_>>(),
    })
}

fn named(module: &Module) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("name".to_owned(), json!(module.name));
    entry.insert("namespace".to_owned(), json!(module.namespace));
    if let Some(revision) = &module.revision {
        entry.insert("revision".to_owned(), json!(revision));
    }
    if module.implemented && !module.features.is_empty() {
        entry.insert("feature".to_owned(), json!(module.features));
    }
    entry
}
