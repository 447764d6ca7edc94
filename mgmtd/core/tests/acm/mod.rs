//! A schema with access control, and words for its rules.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)] // each test file uses a part; a failed set-up is a failed test

use cats_mgmtd_core::{
    Access, Config, Datastore, DefaultOperation, Edit, ErrorOption, Peer, Request, TestOption, Transport,
};
use cats_yang_tree::build::{SchemaBuilder, Scope, Ty};
use cats_yang_tree::schema::{Canonical, Schema};
use cats_yang_tree::{DefaultOperation as Default_, Ops, Tree, edit};
use std::sync::Arc;

pub const NS: &str = "urn:probe:bench";
const ACM: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-acm";

/// Access control beside a module of which some nodes are guarded by themselves.
pub fn schema() -> Arc<Schema> {
    let schema = SchemaBuilder::new().module("ietf-netconf-acm", ACM, "nacm", nacm);
    let schema = schema.module("probe-bench", NS, "pb", |m| {
        m.container("bench", bench);
        m.rpc("reset", |_| {}, |_| {});
        m.rpc("wipe", |_| {}, |_| {}).flags(|flags| flags.default_deny_all = true);
        m.notification("alarm", |_| {});
    });
    Arc::new(schema.build().unwrap())
}

pub fn bench(c: &mut Scope<'_>) {
    c.leaf("knob", Ty::uint32());
    c.leaf("mode", Ty::string()).default("auto");
    c.leaf_list("tag", Ty::string()).user_ordered();
    c.list("item", &["name"], |l| {
        l.leaf("name", Ty::string());
        l.leaf("size", Ty::uint32());
        l.leaf("key", Ty::string()).flags(|flags| flags.default_deny_all = true);
        l.leaf("uid", Ty::uint32()).flags(|flags| flags.default_deny_write = true);
        l.container("limits", |k| {
            k.leaf("rate", Ty::uint32());
        });
        l.list("port", &["number"], |p| {
            p.leaf("number", Ty::uint16());
            p.leaf("label", Ty::string());
        });
    });
    c.list("rule", &["id"], |l| {
        l.leaf("id", Ty::uint16());
        l.leaf("action", Ty::string());
    })
    .user_ordered();
    c.presence("pres", |p| {
        p.leaf("on", Ty::boolean());
    });
    c.choice("ch", |ch| {
        ch.leaf("ca", Ty::string());
        ch.leaf("cb", Ty::string());
    });
}

/// The nodes of RFC 8341 section 3.5.2.
pub fn nacm(m: &mut Scope<'_>) {
    let name = || Ty::string().length(1, u64::MAX);
    let all_or = |other| Ty::union(vec![Ty::string().pattern(r"\*"), other]);
    m.container("nacm", |n| {
        n.leaf("enable-nacm", Ty::boolean()).default("true");
        for (leaf, default) in
            [("read-default", "permit"), ("write-default", "deny"), ("exec-default", "permit")]
        {
            n.leaf(leaf, Ty::enumeration(&["permit", "deny"])).default(default);
        }
        n.leaf("enable-external-groups", Ty::boolean()).default("true");
        n.state(|s| {
            for leaf in ["denied-operations", "denied-data-writes", "denied-notifications"] {
                s.leaf(leaf, Ty::uint32());
            }
        });
        n.container("groups", |g| {
            g.list("group", &["name"], |l| {
                l.leaf("name", name());
                l.leaf_list("user-name", name());
            });
        });
        n.list("rule-list", &["name"], |l| {
            l.leaf("name", name());
            l.leaf_list("group", all_or(name()));
            l.list("rule", &["name"], |r| {
                r.leaf("name", name());
                r.leaf("module-name", all_or(Ty::string())).default("*");
                r.choice("rule-type", |c| {
                    for (case, leaf) in
                        [("protocol-operation", "rpc-name"), ("notification", "notification-name")]
                    {
                        c.case(case, |c| {
                            c.leaf(leaf, all_or(Ty::string()));
                        });
                    }
                    c.case("data-node", |c| {
                        c.leaf("path", Ty::string().canonical(Canonical::XPath)).mandatory();
                    });
                });
                let bits = Ty::bits(&["create", "read", "update", "delete", "exec"]);
                r.leaf("access-operations", all_or(bits)).default("*");
                r.leaf("action", Ty::enumeration(&["permit", "deny"])).mandatory();
                r.leaf("comment", Ty::string());
            })
            .user_ordered();
        })
        .user_ordered();
    })
    .flags(|flags| flags.default_deny_all = true);
}

/// `/nacm` as XML: the group `g` of ada and bob, the group `h` of bob, and for `group` the `rules` in their order.
pub fn nacm_of(settings: &str, group: &str, rules: &[String]) -> String {
    let rules: String = rules.concat();
    format!(
        "<nacm xmlns=\"{ACM}\" xmlns:pb=\"{NS}\">{settings}<groups><group><name>g</name><user-name>ada</user-name>\
         <user-name>bob</user-name></group><group><name>h</name><user-name>bob</user-name></group></groups>\
         <rule-list><name>l</name><group>{group}</group>{rules}</rule-list></nacm>"
    )
}

/// A rule: its name, what it is about (elements), the access operations, and whether it permits.
pub fn rule(name: &str, about: &str, operations: &str, permit: bool) -> String {
    let action = if permit { "permit" } else { "deny" };
    format!(
        "<rule><name>{name}</name>{about}<access-operations>{operations}</access-operations><action>{action}</action>\
         </rule>"
    )
}

pub fn deny(path: &str, operations: &str) -> String {
    rule(path, &format!("<path>{path}</path>"), operations, false)
}

pub fn permit(path: &str, operations: &str) -> String {
    rule(path, &format!("<path>{path}</path>"), operations, true)
}

pub fn config(content: &str) -> Config {
    Config::new(format!(
        "<config xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\" xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" \
         xmlns:yang=\"urn:ietf:params:xml:ns:yang:1\">{content}</config>"
    ))
}

pub fn in_bench(content: &str) -> String {
    format!("<bench xmlns=\"{NS}\">{content}</bench>")
}

/// A merge into the candidate.
pub fn merge(content: &str) -> Request {
    Request::EditConfig(edit_with(content, DefaultOperation::Merge))
}

pub fn edit_with(content: &str, default_operation: DefaultOperation) -> Edit {
    Edit {
        target: Datastore::Candidate,
        default_operation,
        test_option: TestOption::TestThenSet,
        error_option: ErrorOption::StopOnError,
        config: config(content),
    }
}

pub fn tree(schema: &Schema, content: &str) -> Tree {
    let text = format!("<config>{content}</config>");
    edit(&Tree::new(), schema, Ops::from_xml_str(schema, &text, Default_::Merge).unwrap()).unwrap()
}

pub fn user(name: &str) -> Peer {
    Peer {
        user: name.to_owned(),
        transport: Transport::Ssh,
        source_host: None,
        groups: Vec::new(),
        recovery: false,
    }
}

/// What `name` may do under that `/nacm`.
pub fn access(schema: &Arc<Schema>, nacm: &str, name: &str) -> Access {
    Access::of(schema, &tree(schema, nacm), &user(name))
}
