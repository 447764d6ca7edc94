//! Access control over the modules that are served.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

use cats_mgmtd_core::{Access, AccessOperation, Peer, Transport};
use cats_yang_model::CONFIG_LEAVES;
use cats_yang_schema::{default_modules, load};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{InstancePath, Operation, Ops, Tree, edit};
use serde_json::{Value, json};
use std::sync::Arc;

/// Leafs for people only.
const FOR_PEOPLE: [&str; 3] = [
    "/ietf-netconf-acm:nacm/rule-list/name",
    "/ietf-netconf-acm:nacm/rule-list/rule/name",
    "/ietf-netconf-acm:nacm/rule-list/rule/comment",
];

fn tree(schema: &Schema, nacm: &Value) -> Tree {
    let config = json!({ "ietf-netconf-acm:nacm": nacm });
    edit(&Tree::new(), schema, Ops::from_json(schema, &config, Operation::Merge).unwrap()).unwrap()
}

/// Everything that ada, whom the transport says to be in the group `external`, is told of a few accesses.
fn verdicts(schema: &Arc<Schema>, nacm: &Value) -> Vec<bool> {
    let peer = Peer {
        user: "ada".to_owned(),
        transport: Transport::Ssh,
        source_host: None,
        groups: vec!["external".to_owned()],
        recovery: false,
    };
    let access = Access::of(schema, &tree(schema, nacm), &peer);
    let path = InstancePath::parse(schema, "/ietf-routing:routing/ietf-cats:cats/base/enable").unwrap();
    let data =
        [AccessOperation::Read, AccessOperation::Create, AccessOperation::Update, AccessOperation::Delete];
    let data = data.map(|operation| access.permits(operation, &path));
    let operations = ["commit", "kill-session"].map(|name| access.may_invoke("ietf-netconf", name).is_ok());
    data.into_iter().chain(operations).chain([access.may_receive("ietf-netconf-acm", "any")]).collect()
}

/// A rule of the group that ada is in by configuration, or by the transport.
fn with_rule(group: &str, rule: &Value) -> Value {
    let mut named = json!({ "name": "r", "action": "permit" });
    named.as_object_mut().unwrap().extend(rule.as_object().unwrap().clone());
    json!({
        "groups": { "group": [{ "name": "g", "user-name": ["ada"] }] },
        "rule-list": [{ "name": "l", "group": [group], "rule": [named] }],
    })
}

/// Two configurations that differ in that leaf only.
fn pair(leaf: &str) -> (Value, Value) {
    let rule = |rule: &Value| with_rule("g", rule);
    let leaf = leaf.trim_start_matches("/ietf-netconf-acm:nacm/");
    match leaf {
        "enable-nacm" => (json!({}), json!({ "enable-nacm": false })),
        "read-default" | "exec-default" => (json!({}), json!({ leaf: "deny" })),
        "write-default" => (json!({}), json!({ leaf: "permit" })),
        "enable-external-groups" => {
            let base = with_rule("external", &json!({}));
            let mut off = base.clone();
            off["enable-external-groups"] = json!(false);
            (base, off)
        }
        "groups/group/name" => {
            let mut renamed = rule(&json!({}));
            renamed["groups"]["group"][0]["name"] = json!("h");
            (rule(&json!({})), renamed)
        }
        "groups/group/user-name" => {
            let mut other = rule(&json!({}));
            other["groups"]["group"][0]["user-name"] = json!(["bob"]);
            (rule(&json!({})), other)
        }
        "rule-list/group" => (rule(&json!({})), with_rule("h", &json!({}))),
        "rule-list/rule/module-name" => (rule(&json!({})), rule(&json!({ "module-name": "ietf-netconf" }))),
        "rule-list/rule/rpc-name" => {
            (rule(&json!({ "rpc-name": "kill-session" })), rule(&json!({ "rpc-name": "lock" })))
        }
        "rule-list/rule/notification-name" => {
            let denied = |name: &str| rule(&json!({ "notification-name": name, "action": "deny" }));
            (denied("any"), denied("other"))
        }
        "rule-list/rule/path" => {
            (rule(&json!({ "path": "/" })), rule(&json!({ "path": "/ietf-netconf-acm:nacm" })))
        }
        "rule-list/rule/access-operations" => {
            (rule(&json!({})), rule(&json!({ "access-operations": "create" })))
        }
        "rule-list/rule/action" => (rule(&json!({})), rule(&json!({ "action": "deny" }))),
        other => panic!("nothing here says what '{other}' does"),
    }
}

/// Every leaf of the configuration is consumed.
#[test]
fn every_leaf_of_access_control_decides_something_or_is_for_people() {
    let compiled = load(&default_modules()).unwrap();
    let schema = Arc::new(compiled.schema().clone());
    let leafs: Vec<&str> =
        CONFIG_LEAVES.iter().copied().filter(|leaf| leaf.starts_with("/ietf-netconf-acm:nacm/")).collect();
    assert!(FOR_PEOPLE.iter().all(|leaf| leafs.contains(leaf)));
    for leaf in leafs.iter().filter(|leaf| !FOR_PEOPLE.contains(leaf)) {
        let (one, other) = pair(leaf);
        assert_ne!(verdicts(&schema, &one), verdicts(&schema, &other), "{leaf}");
    }
}
