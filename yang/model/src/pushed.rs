//! What of state is pushed when it changes: the nodes that `cats-types:on-change` marks, and the keys above them.

use crate::generated::ON_CHANGE;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A node of state on the way to one that is marked.
#[derive(Debug, Default)]
struct Mark {
    /// It is pushed with all below it.
    whole: bool,
    below: BTreeMap<&'static str, Mark>,
}

static MARKS: LazyLock<Mark> = LazyLock::new(|| {
    let mut root = Mark::default();
    for path in ON_CHANGE {
        let steps = path.split('/').skip(1);
        steps.fold(&mut root, |mark, step| mark.below.entry(step).or_default()).whole = true;
    }
    root
});

/// Takes everything else out of a document of RFC 7951.
pub fn retain_pushed(document: &mut Json) {
    if let Json::Object(members) = document {
        retain(members, &MARKS);
    }
}

fn retain(members: &mut Map<String, Json>, mark: &Mark) {
    members.retain(|name, value| match mark.below.get(name.as_str()) {
        None => false,
        Some(below) if below.whole => true,
        Some(below) => match value {
            Json::Object(inner) => {
                retain(inner, below);
                !inner.is_empty()
            }
            Json::Array(entries) => {
                for entry in entries.iter_mut() {
                    if let Json::Object(inner) = entry {
                        retain(inner, below);
                    }
                }
                !entries.is_empty()
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
        },
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_and_what_is_marked_stay_and_counters_and_ages_go() {
        let within = |selector: Json| json!({ "ietf-routing:routing": { "ietf-cats:cats": { "cats-cps:path-selector": selector } } });
        let mut document = within(json!({
            "service-table": {
                "generation": "7",
                "entry": [{
                    "cs-id": 1, "csci-id": 2, "age": "12.5", "gas": 3,
                    "record": [{ "source": "static", "gas": 3, "expires-in": "1.5" }],
                }],
            },
            "statistics": { "requests": "1" },
        }));
        retain_pushed(&mut document);
        let entry = json!({
            "cs-id": 1, "csci-id": 2, "gas": 3, "record": [{ "source": "static", "gas": 3 }],
        });
        assert_eq!(document, within(json!({ "service-table": { "entry": [entry] } })));
        let mut counters = within(json!({ "statistics": { "requests": "1" } }));
        retain_pushed(&mut counters);
        assert_eq!(counters, json!({}));
    }
}
