//! The decisions of RFC 8341 section 3.4, rule by rule.

#![allow(clippy::unwrap_used)] // a failed set-up is a failed test

mod acm;

use acm::{access, deny, nacm_of, permit, rule, schema, tree, user};
use cats_mgmtd_core::{Access, AccessOperation};
use cats_yang_tree::InstancePath;
use cats_yang_tree::schema::Schema;
use std::sync::Arc;

use AccessOperation::{Create, Delete, Exec, Read, Update};

fn permits(schema: &Schema, access: &Access, operation: AccessOperation, path: &str) -> bool {
    access.permits(operation, &InstancePath::parse(schema, path).unwrap())
}

const KNOB: &str = "/probe-bench:bench/knob";

#[test]
fn without_rules_reading_and_invoking_is_permitted_and_writing_is_not() {
    let schema = schema();
    let access = access(&schema, "", "ada");
    assert!(permits(&schema, &access, Read, KNOB));
    for operation in [Create, Update, Delete] {
        assert!(!permits(&schema, &access, operation, KNOB), "{operation:?}");
    }
    assert!(access.may_invoke("ietf-netconf", "commit").is_ok());
    assert!(access.may_receive("probe-bench", "alarm"));
}

#[test]
fn the_defaults_are_as_they_are_set() {
    let schema = schema();
    let settings = "<read-default>deny</read-default><write-default>permit</write-default><exec-default>deny</exec-default>";
    let access = access(&schema, &nacm_of(settings, "g", &[]), "ada");
    assert!(!permits(&schema, &access, Read, KNOB));
    for operation in [Create, Update, Delete] {
        assert!(permits(&schema, &access, operation, KNOB), "{operation:?}");
    }
    assert!(access.may_invoke("ietf-netconf", "commit").is_err());
    assert!(!access.may_receive("probe-bench", "alarm"));
}

/// The case A04: the operations that end a session or a datastore take a rule, and so does what its module guards.
#[test]
fn some_operations_take_a_rule_whatever_the_default_is() {
    let schema = schema();
    let without = access(&schema, "", "ada");
    let rules = ["delete-config", "kill-session", "wipe"]
        .map(|name| rule(name, &format!("<rpc-name>{name}</rpc-name>"), "exec", true));
    let with = access(&schema, &nacm_of("", "g", &rules), "ada");
    for (module, name) in
        [("ietf-netconf", "delete-config"), ("ietf-netconf", "kill-session"), ("probe-bench", "wipe")]
    {
        let error = without.may_invoke(module, name).unwrap_err();
        assert_eq!(error.tag.to_string(), "access-denied", "{name}");
        assert!(with.may_invoke(module, name).is_ok(), "{name}");
    }
    assert!(without.may_invoke("probe-bench", "reset").is_ok());
}

#[test]
fn a_session_can_always_be_closed() {
    let schema = schema();
    let access = access(
        &schema,
        &nacm_of("<exec-default>deny</exec-default>", "g", &[rule("all", "", "*", false)]),
        "ada",
    );
    assert!(access.may_invoke("ietf-netconf", "close-session").is_ok());
    assert!(access.may_invoke("ietf-netconf", "get").is_err());
}

#[test]
fn the_first_rule_that_matches_decides() {
    let schema = schema();
    let path = "/pb:bench/pb:knob";
    let (yes, no) = (
        rule("yes", &format!("<path>{path}</path>"), "*", true),
        rule("no", &format!("<path>{path}</path>"), "*", false),
    );
    for (rules, permitted) in [([yes.clone(), no.clone()], true), ([no, yes], false)] {
        let access = access(&schema, &nacm_of("", "g", &rules), "ada");
        assert_eq!(permits(&schema, &access, Read, KNOB), permitted);
        assert_eq!(permits(&schema, &access, Update, KNOB), permitted);
    }
}

#[test]
fn a_rule_is_about_the_access_operations_that_it_names() {
    let schema = schema();
    let rules = [permit("/pb:bench/pb:knob", "create update")];
    let access = access(&schema, &nacm_of("", "g", &rules), "ada");
    let permitted =
        [Create, Read, Update, Delete].map(|operation| permits(&schema, &access, operation, KNOB));
    assert_eq!(permitted, [true, true, true, false]);
}

#[test]
fn a_rule_is_about_the_module_that_defines_the_node_or_the_operation() {
    let schema = schema();
    let about = |module: &str| format!("<module-name>{module}</module-name>");
    let rules = [rule("m", &about("probe-bench"), "*", true), rule("n", &about("ietf-netconf"), "*", false)];
    let access = access(&schema, &nacm_of("", "g", &rules), "ada");
    assert!(permits(&schema, &access, Create, KNOB));
    assert!(access.may_invoke("probe-bench", "wipe").is_ok(), "a rule without a type is about everything");
    assert!(access.may_invoke("ietf-netconf", "get").is_err());
    assert!(!permits(&schema, &access, Read, "/ietf-netconf-acm:nacm/enable-nacm"));
}

#[test]
fn rules_of_other_types_do_not_match() {
    let schema = schema();
    let rules = [
        rule("o", "<rpc-name>*</rpc-name>", "*", false),
        rule("n", "<notification-name>*</notification-name>", "*", false),
    ];
    let access = access(&schema, &nacm_of("", "g", &rules), "ada");
    assert!(permits(&schema, &access, Read, KNOB));
    assert!(access.may_invoke("probe-bench", "reset").is_err());
    assert!(!access.may_receive("probe-bench", "alarm"));
    assert!(
        access.may_receive("nc-notifications", "replayComplete"),
        "what ends a replay is always delivered"
    );
}

#[test]
fn rule_lists_are_for_the_groups_that_they_name() {
    let schema = schema();
    let rules = [rule("all", "", "*", true)];
    for (group, name, permitted) in [
        ("g", "ada", true),
        ("h", "ada", false),
        ("h", "bob", true),
        ("*", "ada", true),
        // Who is in no group is asked no rules (RFC 8341 section 3.4.5 step 4).
        ("*", "eve", false),
    ] {
        let access = access(&schema, &nacm_of("", group, &rules), name);
        assert_eq!(permits(&schema, &access, Create, KNOB), permitted, "{group} {name}");
    }
}

#[test]
fn groups_of_the_transport_count_unless_they_are_switched_off() {
    let schema = schema();
    let rules = [rule("all", "", "*", true)];
    let mut eve = user("eve");
    eve.groups = vec!["g".to_owned()];
    for (settings, permitted) in
        [("", true), ("<enable-external-groups>false</enable-external-groups>", false)]
    {
        let access = Access::of(&schema, &tree(&schema, &nacm_of(settings, "g", &rules)), &eve);
        assert_eq!(permits(&schema, &access, Create, KNOB), permitted, "{settings}");
    }
}

#[test]
fn nothing_is_denied_to_a_recovery_session_or_while_access_control_is_off() {
    let schema = schema();
    let nacm = nacm_of("<exec-default>deny</exec-default>", "g", &[rule("all", "", "*", false)]);
    let mut root = user("ada");
    root.recovery = true;
    assert_eq!(Access::of(&schema, &tree(&schema, &nacm), &root), Access::FULL);
    let off = nacm_of("<enable-nacm>false</enable-nacm>", "g", &[rule("all", "", "*", false)]);
    assert_eq!(access(&schema, &off, "ada"), Access::FULL);
    assert_ne!(access(&schema, &nacm, "ada"), Access::FULL);
}

#[test]
fn a_path_is_about_its_node_and_all_below_and_about_all_entries_whose_keys_it_leaves_out() {
    let schema = schema();
    let size = |name: &str| format!("/probe-bench:bench/item[name='{name}']/size");
    let label = "/probe-bench:bench/item[name='a']/port[number='7']/label";
    for (path, a, b, knob, port) in [
        ("/", false, false, false, false),
        ("/pb:bench", false, false, false, false),
        ("/pb:bench/pb:item", false, false, true, false),
        ("/pb:bench/pb:item[pb:name='a']", false, true, true, false),
        ("/pb:bench/pb:item[pb:name=\"a\"]/pb:size", false, true, true, true),
        ("/pb:bench/pb:item/pb:size", false, false, true, true),
        ("/pb:bench/pb:item/pb:port[pb:number='7']", true, true, true, false),
        ("/pb:bench/pb:item/pb:port[pb:number='8']", true, true, true, true),
        ("/pb:bench/pb:item[pb:name='b']/pb:port", true, true, true, true),
        ("/pb:bench/pb:item[pb:name=$USER]", true, true, true, true),
    ] {
        let access = access(&schema, &nacm_of("", "g", &[deny(path, "read")]), "ada");
        let seen = [&size("a"), &size("b"), KNOB, label].map(|path| permits(&schema, &access, Read, path));
        assert_eq!(seen, [a, b, knob, port], "{path}");
    }
    let own = access(&schema, &nacm_of("", "g", &[deny("/pb:bench/pb:item[pb:name=$USER]", "read")]), "ada");
    assert!(!permits(&schema, &own, Read, &size("ada")), "the variable is the user's name");
    assert!(permits(&schema, &own, Read, &size("bob")));
}

#[test]
fn what_the_schema_guards_takes_a_rule_and_so_does_what_is_below() {
    let schema = schema();
    let key = "/probe-bench:bench/item[name='a']/key";
    let uid = "/probe-bench:bench/item[name='a']/uid";
    let rules = "/ietf-netconf-acm:nacm/groups/group[name='g']/user-name[.='ada']";
    let free = access(&schema, &nacm_of("<write-default>permit</write-default>", "g", &[]), "ada");
    for (path, read, write) in
        [(key, false, false), (uid, true, false), (rules, false, false), (KNOB, true, true)]
    {
        assert_eq!(permits(&schema, &free, Read, path), read, "{path}");
        assert_eq!(permits(&schema, &free, Update, path), write, "{path}");
    }
    let list = [
        permit("/pb:bench/pb:item/pb:key", "*"),
        permit("/pb:bench/pb:item/pb:uid", "*"),
        permit("/nacm:nacm", "read"),
    ];
    let list = list.map(|rule| {
        rule.replace("<path>", "<path xmlns:nacm=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\">")
    });
    let ruled = access(&schema, &nacm_of("", "g", &list), "ada");
    assert!([key, uid].iter().all(|path| permits(&schema, &ruled, Update, path)));
    assert!(permits(&schema, &ruled, Read, key) && permits(&schema, &ruled, Read, rules));
}

/// The groups and rules that RFC 8341 appendix A describes, on the nodes of the module here.
#[test]
fn the_examples_of_the_appendix_decide_as_it_says() {
    let schema = schema();
    let nacm = appendix(&schema);
    let access = |name: &str| Access::of(&schema, &nacm, &user(name));
    let (guest, limited, admin) = (access("guest"), access("andy"), access("sam"));
    // A.2: guests do not see what monitors the server; admins may do everything.
    assert!(!permits(&schema, &guest, Read, "/probe-bench:bench/pres"));
    assert!(permits(&schema, &limited, Read, "/probe-bench:bench/pres"));
    assert!(
        [Create, Read, Update, Delete].iter().all(|operation| permits(&schema, &admin, *operation, KNOB))
    );
    // A.3: nobody but admins ends sessions or datastores; limited users may edit, which rules on data then bound.
    for operation in ["kill-session", "delete-config"] {
        let may =
            [&guest, &limited, &admin].map(|access| access.may_invoke("ietf-netconf", operation).is_ok());
        assert_eq!(may, [false, false, true], "{operation}");
    }
    assert!(limited.may_invoke("ietf-netconf", "edit-config").is_ok());
    // A.4: no access to the access control itself; one entry for guests to change, all for limited users.
    assert!(!permits(&schema, &limited, Read, "/ietf-netconf-acm:nacm/enable-nacm"));
    let item = |name: &str| format!("/probe-bench:bench/item[name='{name}']/size");
    let may = |access: &Access, name: &str| permits(&schema, access, Update, &item(name));
    assert_eq!((may(&guest, "dummy"), may(&guest, "eth0")), (true, false));
    assert_eq!((may(&limited, "dummy"), may(&limited, "eth0")), (true, true));
    // A.5: one event type for nobody but admins.
    let hears = [&guest, &limited, &admin].map(|access| access.may_receive("probe-bench", "alarm"));
    assert_eq!(hears, [false, false, true]);
}

fn appendix(schema: &Arc<Schema>) -> cats_yang_tree::Tree {
    let group = |name: &str, users: &[&str]| {
        let users: String = users.iter().map(|user| format!("<user-name>{user}</user-name>")).collect();
        format!("<group><name>{name}</name>{users}</group>")
    };
    let list = |name: &str, groups: &[&str], rules: &[String]| {
        let groups: String = groups.iter().map(|group| format!("<group>{group}</group>")).collect();
        format!("<rule-list><name>{name}</name>{groups}{}</rule-list>", rules.concat())
    };
    let netconf = |name: &str| format!("<module-name>ietf-netconf</module-name><rpc-name>{name}</rpc-name>");
    let text = [
        "<nacm xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\" xmlns:pb=\"urn:probe:bench\" \
         xmlns:nacm=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\"><groups>"
            .to_owned(),
        group("admin", &["sam", "root"]),
        group("limited", &["wilma", "andy"]),
        group("guest", &["guest", "visitor"]),
        "</groups>".to_owned(),
        list("guest-acl", &["guest"], &[deny("/pb:bench/pb:pres", "*")]),
        list(
            "limited-acl",
            &["limited", "guest"],
            &[
                rule("no-kill", &netconf("kill-session"), "exec", false),
                rule("no-delete", &netconf("delete-config"), "exec", false),
                rule("edit", &netconf("edit-config"), "exec", true),
                deny("/nacm:nacm", "*"),
                rule(
                    "no-alarm",
                    "<module-name>probe-bench</module-name><notification-name>alarm</notification-name>",
                    "read",
                    false,
                ),
            ],
        ),
        list("guest-data", &["guest"], &[permit("/pb:bench/pb:item[pb:name='dummy']", "read update")]),
        list("limited-data", &["limited"], &[permit("/pb:bench/pb:item", "*")]),
        list("admin-acl", &["admin"], &[rule("all", "", "*", true)]),
        "</nacm>".to_owned(),
    ];
    tree(schema, &text.concat())
}
#[test]
fn exec_and_read_on_what_is_tied_to_data_need_what_leads_there() {
    let schema = schema();
    let rules = [deny("/pb:bench", "read"), rule("all", "", "*", true)];
    let access = access(&schema, &nacm_of("", "g", &rules), "ada");
    assert!(!permits(&schema, &access, Exec, KNOB), "the container above cannot be read");
    assert!(permits(&schema, &access, Update, KNOB), "writing does not ask for reading");
}
