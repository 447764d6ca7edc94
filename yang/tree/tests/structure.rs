//! What a whole configuration must have, and data of several modules in one tree.
#![allow(clippy::expect_used)] // a failure here is a failed test

use cats_yang_tree::build::{SchemaBuilder, Scope, Ty};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, Path};
use cats_yang_tree::schema::{Canonical, Schema};
use cats_yang_tree::{
    DefaultOperation, Defaults, InstancePath, Operation, Ops, Tree, diff, edit, json, validate, view,
};

fn schema(content: impl FnOnce(&mut Scope<'_>)) -> Schema {
    SchemaBuilder::new().module("top", "urn:top", "t", content).build().expect("a good schema")
}

fn tree(schema: &Schema, from: &Tree, config: &str) -> Tree {
    let text = format!(
        "<config xmlns=\"urn:top\" xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\">{config}</config>"
    );
    let ops = Ops::from_xml_str(schema, &text, DefaultOperation::Merge).expect("good XML");
    edit(from, schema, ops).expect("fits")
}

/// The same tree with what a validated one carries, as far as it is valid.
fn valid(schema: &Schema, tree: &Tree) -> Tree {
    match validate(schema, &Tree::new(), tree.clone(), diff(&Tree::new(), tree)) {
        Ok((valid, _)) => valid,
        Err(_) => tree.clone(),
    }
}

fn check(schema: &Schema, base: &Tree, new: &Tree) -> Vec<(ErrorTag, Option<String>, String)> {
    let summary = |error: Error| (error.tag, error.app_tag, error.path.unwrap_or_default().0);
    let incremental = validate(schema, &valid(schema, base), new.clone(), diff(base, new));
    let whole = validate(schema, &Tree::new(), new.clone(), diff(&Tree::new(), new));
    let errors = incremental.err().unwrap_or_default();
    assert_eq!(errors, whole.err().unwrap_or_default(), "what changed and the whole say the same");
    errors.into_iter().map(summary).collect()
}

fn violation(tag: ErrorTag, app_tag: &str, path: &str) -> (ErrorTag, Option<String>, String) {
    (tag, Some(app_tag.to_owned()), path.to_owned())
}

#[test]
fn numbers_of_entries_are_kept() {
    let schema = schema(|m| {
        m.container("c", |c| {
            c.list("few", &["k"], |l| {
                l.leaf("k", Ty::string());
            })
            .elements(0, Some(2));
            c.leaf_list("many", Ty::uint8()).elements(2, None);
        });
    });
    let empty = Tree::new();
    let one = tree(&schema, &empty, "<c><many>1</many></c>");
    let few = violation(ErrorTag::OperationFailed, "too-few-elements", "/top:c/many");
    assert_eq!(check(&schema, &empty, &one), [few]);
    let full = "<c><many>1</many><many>2</many><few><k>a</k></few><few><k>b</k></few></c>";
    let two = tree(&schema, &empty, full);
    assert_eq!(check(&schema, &empty, &two), []);
    let three = tree(&schema, &two, "<c><few><k>c</k></few></c>");
    let many = violation(ErrorTag::OperationFailed, "too-many-elements", "/top:c/few");
    assert_eq!(check(&schema, &two, &three), [many]);
}

#[test]
fn unique_leafs_are_unique_and_the_error_names_them() {
    let schema = schema(|m| {
        m.list("server", &["name"], |l| {
            l.leaf("name", Ty::string());
            l.container("at", |c| {
                c.leaf("ip", Ty::string());
            });
            l.leaf("port", Ty::uint16());
        })
        .unique(&["at/ip", "port"]);
    });
    let base = tree(
        &schema,
        &Tree::new(),
        "<server><name>a</name><at><ip>1</ip></at><port>5</port></server><server><name>b</name><port>5</port></server>",
    );
    assert_eq!(check(&schema, &Tree::new(), &base), [], "an entry without ip does not count");
    let new = tree(&schema, &base, "<server><name>b</name><at><ip>1</ip></at></server>");
    let errors =
        validate(&schema, &valid(&schema, &base), new.clone(), diff(&base, &new)).expect_err("twice");
    assert_eq!((errors.len(), errors[0].tag), (1, ErrorTag::OperationFailed));
    assert_eq!(errors[0].app_tag.as_deref(), Some("data-not-unique"));
    let path = |text: &str| ErrorInfo::NonUnique(Path(text.to_owned()));
    let wanted = [
        path("/top:server[name='a']/at/ip"),
        path("/top:server[name='a']/port"),
        path("/top:server[name='b']/at/ip"),
        path("/top:server[name='b']/port"),
    ];
    assert_eq!(errors[0].info, wanted);
}

#[test]
fn mandatory_choices_and_leafs_inside_cases_in_use() {
    let schema = schema(|m| {
        m.presence("p", |c| {
            c.choice("how", |ch| {
                ch.case("fast", |c| {
                    c.leaf("speed", Ty::uint8());
                    c.leaf("unit", Ty::string()).mandatory();
                });
                ch.case("slow", |c| {
                    c.leaf("delay", Ty::uint8());
                });
            })
            .mandatory();
        });
    });
    let empty = Tree::new();
    assert_eq!(check(&schema, &empty, &empty), []);
    let none = tree(&schema, &empty, "<p/>");
    let errors = validate(&schema, &empty, none.clone(), diff(&empty, &none)).expect_err("no case");
    assert_eq!(errors[0].app_tag.as_deref(), Some("missing-choice"));
    assert_eq!(errors[0].info, [ErrorInfo::MissingChoice("how".to_owned())]);
    assert_eq!(errors[0].path, Some(Path("/top:p".to_owned())));
    let fast = tree(&schema, &empty, "<p><speed>1</speed></p>");
    assert_eq!(check(&schema, &empty, &fast), [(ErrorTag::DataMissing, None, "/top:p/unit".to_owned())]);
    let slow = tree(&schema, &fast, "<p><delay>1</delay></p>");
    assert_eq!(check(&schema, &fast, &slow), []);
}

#[test]
fn references_are_asked_again_when_their_target_goes() {
    let schema = schema(|m| {
        m.container("c", |c| {
            c.list("group", &["name"], |l| {
                l.leaf("name", Ty::string());
                l.list("member", &["id"], |l| {
                    l.leaf("id", Ty::uint8());
                    l.leaf("label", Ty::string());
                });
                l.leaf("leader", Ty::leafref("../member/id"));
                l.leaf_list("labels", Ty::leafref("../member/label"));
            });
            c.leaf("best", Ty::leafref("/t:c/t:group/t:name"));
            c.leaf("wish", Ty::leafref("../group/name").loose());
        });
    });
    let base = tree(
        &schema,
        &Tree::new(),
        concat!(
            "<c><group><name>a</name><member><id>1</id><label>x</label></member><leader>1</leader><labels>x</labels></group>",
            "<group><name>b</name><member><id>2</id></member></group><best>b</best><wish>nobody</wish></c>",
        ),
    );
    assert_eq!(check(&schema, &Tree::new(), &base), []);
    let required = |path: &str| violation(ErrorTag::DataMissing, "instance-required", path);
    let other = tree(&schema, &base, "<c><group><name>b</name><leader>1</leader></group></c>");
    assert_eq!(
        check(&schema, &base, &other),
        [required("/top:c/group[name='b']/leader")],
        "members of this group"
    );
    let gone = tree(
        &schema,
        &base,
        r#"<c><group><name>a</name><member nc:operation="delete"><id>1</id></member></group></c>"#,
    );
    assert_eq!(
        check(&schema, &base, &gone),
        [required("/top:c/group[name='a']/leader"), required("/top:c/group[name='a']/labels[.='x']")]
    );
    let gone = tree(&schema, &base, r#"<c><group nc:operation="delete"><name>b</name></group></c>"#);
    assert_eq!(check(&schema, &base, &gone), [required("/top:c/best")]);
}

#[test]
fn references_to_what_is_no_key_are_counted_within_their_scope() {
    let schema = schema(|m| {
        m.list("pair", &["a", "b"], |l| {
            l.leaf("a", Ty::string());
            l.leaf("b", Ty::string());
            l.container("in", |c| {
                c.leaf_list("mark", Ty::uint8());
            });
            l.leaf("pick", Ty::leafref("../in/mark"));
        });
        m.leaf_list("side", Ty::leafref("/t:pair/t:b"));
    });
    let pair = |a: &str, b: &str, more: &str| format!("<pair><a>{a}</a><b>{b}</b>{more}</pair>");
    let first = pair("1", "x", "<in><mark>1</mark><mark>2</mark></in><pick>1</pick>");
    let base = tree(&schema, &Tree::new(), &format!("{first}{}<side>x</side>", pair("2", "x", "")));
    assert_eq!(check(&schema, &Tree::new(), &base), []);
    let required = |path: &str| violation(ErrorTag::DataMissing, "instance-required", path);
    let gone = r#"<pair nc:operation="delete"><a>2</a><b>x</b></pair>"#;
    let one = tree(&schema, &base, gone);
    assert_eq!(check(&schema, &base, &one), [], "another entry has the value still");
    let both = tree(&schema, &one, r#"<pair nc:operation="delete"><a>1</a><b>x</b></pair>"#);
    assert_eq!(check(&schema, &one, &both), [required("/top:side[.='x']")]);
    let other = tree(&schema, &base, &pair("2", "x", "<pick>1</pick>"));
    assert_eq!(check(&schema, &base, &other), [required("/top:pair[a='2'][b='x']/pick")]);
    let unmarked = tree(&schema, &base, &pair("1", "x", r#"<in><mark nc:operation="delete">1</mark></in>"#));
    assert_eq!(check(&schema, &base, &unmarked), [required("/top:pair[a='1'][b='x']/pick")]);
    let replaced = r#"<in><mark nc:operation="delete">1</mark></in><pick>2</pick>"#;
    assert_eq!(check(&schema, &base, &tree(&schema, &base, &pair("1", "x", replaced))), []);
}

#[test]
fn tuples_follow_what_changes_in_their_entries() {
    let schema = schema(|m| {
        m.list("group", &["name"], |g| {
            g.leaf("name", Ty::string());
            g.list("peer", &["id"], |l| {
                l.leaf("id", Ty::uint8());
                l.presence("at", |c| {
                    c.leaf("ip", Ty::string());
                });
                l.leaf("port", Ty::uint16()).default("80");
            })
            .unique(&["at/ip", "port"]);
        });
    });
    let peer = |id: u8, content: &str| format!("<peer><id>{id}</id>{content}</peer>");
    let group = |name: &str, peers: &str| format!("<group><name>{name}</name>{peers}</group>");
    let one = peer(1, "<at><ip>x</ip></at>");
    let base = tree(&schema, &Tree::new(), &(group("a", &one) + &group("b", &one)));
    assert_eq!(check(&schema, &Tree::new(), &base), [], "each group by itself");
    let twice = violation(ErrorTag::OperationFailed, "data-not-unique", "/top:group[name='a']/peer");
    let second = tree(&schema, &base, &group("a", &peer(2, "<at><ip>x</ip></at><port>80</port>")));
    assert_eq!(check(&schema, &base, &second), std::slice::from_ref(&twice), "a default counts");
    let moved = r#"<at nc:operation="delete"/>"#;
    let freed = tree(&schema, &second, &group("a", &peer(1, moved)));
    assert_eq!(check(&schema, &base, &freed), []);
    let back = tree(&schema, &freed, &group("a", &one));
    assert_eq!(check(&schema, &freed, &back), std::slice::from_ref(&twice));
    let port = tree(&schema, &base, &group("a", &peer(2, "<at><ip>x</ip></at><port>81</port>")));
    assert_eq!(check(&schema, &base, &port), []);
    let port = tree(&schema, &port, &group("a", &peer(2, r#"<port nc:operation="delete">81</port>"#)));
    assert_eq!(check(&schema, &base, &port), [twice]);
}

/// The case P72.
#[test]
fn forty_thousand_references_in_one_commit_are_looked_up() {
    const MANY: u32 = 40_000;
    let schema = schema(|m| {
        m.list("item", &["name"], |l| {
            l.leaf("name", Ty::string());
            l.leaf("label", Ty::uint32());
            l.leaf("peer", Ty::leafref("/t:item/t:name"));
            l.leaf("like", Ty::leafref("../../item/label"));
        });
    });
    let item = |n: u32, peer: u32| {
        format!("<item><name>{n}</name><label>{n}</label><peer>{peer}</peer><like>{peer}</like></item>")
    };
    let items: String = (0..MANY).map(|n| item(n, MANY - 1 - n)).collect();
    let all = tree(&schema, &Tree::new(), &items);
    let valid = valid(&schema, &all);
    assert!(valid.is_validated());
    let one = tree(&schema, &valid, &item(7, MANY));
    let required = |leaf: &str| {
        violation(ErrorTag::DataMissing, "instance-required", &format!("/top:item[name='7']/{leaf}"))
    };
    let errors =
        validate(&schema, &valid, one.clone(), diff(&valid, &one)).expect_err("there is no such item");
    let summary = |error: Error| (error.tag, error.app_tag, error.path.unwrap_or_default().0);
    assert_eq!(errors.into_iter().map(summary).collect::<Vec<_>>(), [required("peer"), required("like")]);
}

#[test]
fn errors_stand_in_the_order_of_the_document() {
    let schema = schema(|m| {
        m.list("rule", &["id"], |l| {
            l.leaf("id", Ty::uint8());
            l.leaf("to", Ty::leafref("/t:end"));
        })
        .user_ordered();
        m.leaf("end", Ty::uint8());
        m.leaf_list("later", Ty::leafref("/t:end"));
    });
    let rules =
        |ids: &[u8]| ids.iter().map(|id| format!("<rule><id>{id}</id><to>9</to></rule>")).collect::<String>();
    let bad = tree(&schema, &Tree::new(), &format!("<later>8</later>{}<later>7</later>", rules(&[3, 1, 2])));
    let paths: Vec<String> =
        check(&schema, &Tree::new(), &bad).into_iter().map(|(_, _, path)| path).collect();
    let wanted = [
        "/top:rule[id='3']/to",
        "/top:rule[id='1']/to",
        "/top:rule[id='2']/to",
        "/top:later[.='7']",
        "/top:later[.='8']",
    ];
    assert_eq!(paths, wanted);
}

fn two_modules() -> Schema {
    SchemaBuilder::new()
        .module("base", "urn:base", "same", |m| {
            m.container("c", |c| {
                c.leaf("own", Ty::string());
                c.list("l", &["k"], |l| {
                    l.leaf("before", Ty::string());
                    l.leaf("k", Ty::string());
                    l.anydata("any");
                });
            });
        })
        .module("more", "urn:more", "same", |m| {
            m.augment("c", |c| {
                c.leaf("own", Ty::string());
                c.leaf("to", Ty::instance_identifier(false));
            });
            m.augment("c/l", |l| {
                l.leaf("extra", Ty::string()).default("d");
            });
        })
        .build()
        .expect("a good schema")
}

#[test]
fn each_module_has_its_namespace_in_xml_and_its_name_in_json() {
    let schema = two_modules();
    let config = concat!(
        r#"<config xmlns:m="urn:more" xmlns:b="urn:base"><b:c><b:own>1</b:own><m:own>2</m:own>"#,
        r#"<b:l><m:extra>e</m:extra><b:before>0</b:before><b:k>k'"</b:k></b:l>"#,
        r#"<m:to>/b:c/b:l[b:k='q']/m:extra</m:to></b:c></config>"#
    );
    let ops = Ops::from_xml_str(&schema, config, DefaultOperation::Merge).expect("good XML");
    let tree = edit(&Tree::new(), &schema, ops).expect("fits");
    assert_eq!(
        view(&tree, &schema, Defaults::Explicit).to_xml(),
        concat!(
            r#"<c xmlns="urn:base"><own>1</own><l><k>k'"</k><before>0</before><extra xmlns="urn:more">e</extra></l>"#,
            r#"<own xmlns="urn:more">2</own>"#,
            r#"<to xmlns="urn:more" xmlns:same="urn:base" xmlns:more="urn:more">/same:c/same:l[same:k='q']/more:extra</to></c>"#
        ),
        "keys first, and two modules with one prefix told apart"
    );
    let value = json::branch(&schema, tree.root(), None);
    assert_eq!(
        value,
        serde_json::json!({"base:c": {
            "own": "1", "more:own": "2", "l": [{"k": "k'\"", "before": "0", "more:extra": "e"}],
            "more:to": "/base:c/l[k='q']/more:extra"
        }})
    );
    let paths: Vec<String> =
        diff(&Tree::new(), &tree).changes.iter().map(|change| change.path.render(&schema).0).collect();
    assert_eq!(
        paths,
        ["/base:c/own", "/base:c/l[k=concat('k',\"'\",'\"')]", "/base:c/more:own", "/base:c/more:to"]
    );
    let records = diff(&Tree::new(), &tree).records(&schema);
    let again =
        cats_yang_tree::ChangeSet::from_records(&schema, &Tree::new(), &records).expect("our own records");
    assert_eq!(again.apply(&Tree::new(), &schema).expect("they fit"), tree);
}

#[test]
fn anydata_keep_their_namespaces() {
    let schema = two_modules();
    let inner = r#"<x:thing xmlns:x="urn:x" a="1 &lt; 2">t<y xmlns="urn:y"/></x:thing>"#;
    let config = format!(r#"<config><c xmlns="urn:base"><l><k>1</k><any>{inner}</any></l></c></config>"#);
    let ops = Ops::from_xml_str(&schema, &config, DefaultOperation::Merge).expect("good XML");
    let tree = edit(&Tree::new(), &schema, ops).expect("fits");
    let written = format!("<config>{}</config>", view(&tree, &schema, Defaults::Explicit).to_xml());
    assert!(written.contains(r#"<x:thing"#) && written.contains("a=\"1 &lt; 2\""), "{written}");
    let ops = Ops::from_xml_str(&schema, &written, DefaultOperation::Merge).expect("our own XML");
    let again = edit(&Tree::new(), &schema, ops).expect("fits");
    assert_eq!(
        view(&again, &schema, Defaults::Explicit).to_xml(),
        view(&tree, &schema, Defaults::Explicit).to_xml()
    );
}

#[test]
fn a_leaf_that_is_tagged_as_default_is_not_stored() {
    let schema = two_modules();
    let config = |value: &str| {
        format!(
            r#"<config><c xmlns="urn:base"><l><k>1</k><extra xmlns="urn:more" xmlns:wd="urn:ietf:params:xml:ns:netconf:default:1.0" wd:default="true">{value}</extra></l></c></config>"#
        )
    };
    let ops = Ops::from_xml_str(&schema, &config("d"), DefaultOperation::Merge).expect("it is the default");
    let tree = edit(&Tree::new(), &schema, ops).expect("fits");
    assert_eq!(
        view(&tree, &schema, Defaults::Explicit).to_xml(),
        r#"<c xmlns="urn:base"><l><k>1</k></l></c>"#
    );
    let errors =
        Ops::from_xml_str(&schema, &config("e"), DefaultOperation::Merge).expect_err("another value");
    assert_eq!(errors[0].tag, ErrorTag::InvalidValue);
}

#[test]
fn bad_json_is_refused_with_its_place() {
    let schema = two_modules();
    let cases = [
        (serde_json::json!({"c": {}}), ErrorTag::UnknownNamespace, "/"),
        (serde_json::json!({"none:c": {}}), ErrorTag::UnknownNamespace, "/"),
        (serde_json::json!({"base:c": []}), ErrorTag::BadElement, "/base:c"),
        (serde_json::json!({"base:c": {"l": {}}}), ErrorTag::BadElement, "/base:c"),
        (serde_json::json!({"base:c": {"l": [{"before": "x"}]}}), ErrorTag::MissingElement, "/base:c/l"),
        (serde_json::json!({"base:c": {"extra": "x"}}), ErrorTag::UnknownElement, "/base:c"),
        (serde_json::json!({"base:c": {"more:own": 5}}), ErrorTag::InvalidValue, "/base:c/more:own"),
    ];
    for (json, tag, path) in cases {
        let errors = Ops::from_json(&schema, &json, Operation::Merge).expect_err("bad");
        let found: Vec<_> =
            errors.iter().map(|error| (error.tag, error.path.clone().unwrap_or_default().0)).collect();
        assert_eq!(found, [(tag, path.to_owned())], "{json}");
    }
}

#[test]
fn paths_that_the_schema_does_not_know_are_refused() {
    let schema = two_modules();
    for text in [
        "",
        "base:c",
        "/c",
        "/base:c/",
        "/base:c/nope",
        "/none:c",
        "/base:c/l/k",
        "/base:c/l[k='a'",
        "/base:c/l[x='a']",
        "/base:c/l[k='a'][k='a']",
        "/base:c/l[1]",
        "/base:c[k='a']",
        "/base:c/own[.='x']/y",
        "/base:c/own[.='x']",
        "/base:c/l[.='a']",
        "/base:c/l[k=a]",
        "//base:c",
    ] {
        assert!(InstancePath::parse(&schema, text).is_err(), "{text}");
    }
    for text in ["/", "/base:c", "/base:c/l", "/base:c/l[k=\"a'b\"]/more:extra", "/base:c/l[ k = 'a' ]"] {
        let path = InstancePath::parse(&schema, text).expect(text);
        assert_eq!(InstancePath::parse(&schema, &path.render(&schema).0), Ok(path));
    }
}

#[test]
fn names_in_an_xpath_value_change_between_prefixes_and_modules() {
    let schema = SchemaBuilder::new()
        .module("acl", "urn:acl", "acl", |m| {
            m.list("rule", &["name"], |l| {
                l.leaf("name", Ty::string());
                l.leaf("path", Ty::string().canonical(Canonical::XPath));
            });
        })
        .build()
        .expect("a good schema");
    let read = |path: &str| {
        let text = format!(
            r#"<config><rule xmlns="urn:acl" xmlns:z="urn:acl"><name>1</name><path>{path}</path></rule></config>"#
        );
        let ops = Ops::from_xml_str(&schema, &text, DefaultOperation::Merge)?;
        edit(&Tree::new(), &schema, ops)
    };
    let path = |tree: &Tree| json::branch(&schema, tree.root(), None)["acl:rule"][0]["path"].clone();
    let cases = [
        ("/z:rule[z:name='z:x']/z:path", "/acl:rule[name='z:x']/path", "/acl:rule[acl:name='z:x']/acl:path"),
        ("/z:rule/z:path", "/acl:rule/acl:path", "/acl:rule/acl:path"),
        ("//z:*[z:name = \"z:x\"]", "//acl:*[acl:name = \"z:x\"]", "//acl:*[acl:name = \"z:x\"]"),
        (
            "count(child::z:rule) &gt; 2 or 1",
            "count(child::acl:rule) > 2 or 1",
            "count(child::acl:rule) &gt; 2 or 1",
        ),
    ];
    for (given, canonical, written) in cases {
        let tree = read(given).expect("the prefix is declared");
        assert_eq!(path(&tree), canonical);
        let xml = view(&tree, &schema, Defaults::Explicit).to_xml();
        assert!(xml.contains(&format!(r#"<path xmlns:acl="urn:acl">{written}</path>"#)), "{xml}");
        let ops = Ops::from_json(&schema, &json::branch(&schema, tree.root(), None), Operation::Merge)
            .expect("ours");
        assert_eq!(edit(&Tree::new(), &schema, ops).expect("fits"), tree);
    }
    assert!(read("/q:rule/q:path").is_err(), "the prefix is not declared");
    let inherited = serde_json::json!({"acl:rule": [{"name": "1", "path": "/acl:rule/path"}]});
    let ops =
        Ops::from_json(&schema, &inherited, Operation::Merge).expect("names inherit their module in JSON");
    assert_eq!(path(&edit(&Tree::new(), &schema, ops).expect("fits")), "/acl:rule/acl:path");
}

#[test]
fn entries_of_a_leaf_list_that_are_tagged_as_defaults_are_not_stored() {
    let schema = SchemaBuilder::new()
        .module("base", "urn:base", "b", |m| {
            m.leaf_list("list", Ty::string()).default("x").default("y");
        })
        .build()
        .expect("a good schema");
    let read = |value: &str| {
        let config = format!(
            r#"<config><list xmlns="urn:base" xmlns:wd="urn:ietf:params:xml:ns:netconf:default:1.0" wd:default="true">{value}</list></config>"#
        );
        Ops::from_xml_str(&schema, &config, DefaultOperation::Merge)
    };
    let tree = edit(&Tree::new(), &schema, read("y").expect("it is one of the defaults")).expect("it fits");
    assert!(tree.is_empty());
    assert_eq!(read("z").expect_err("it is no default")[0].tag, ErrorTag::InvalidValue);
}

/// RFC 6243 section 4.5.2: a value that is tagged as the default has an operation that gives one, which is judged as if it
/// were not tagged.
#[test]
fn a_tag_of_a_default_does_what_its_operation_says() {
    let schema = SchemaBuilder::new()
        .module("base", "urn:base", "b", |m| {
            m.leaf("leaf", Ty::string()).default("x");
            m.leaf_list("list", Ty::string()).default("x").default("y");
        })
        .build()
        .expect("a good schema");
    let run = |stored: bool, default: DefaultOperation, node: &str, operation: &str| {
        let config = |attributes: &str| {
            format!(
                "<config xmlns=\"urn:base\" xmlns:wd=\"urn:ietf:params:xml:ns:netconf:default:1.0\" \
                 xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\"><{node} {attributes}>x</{node}></config>"
            )
        };
        let apply = |tree: &Tree, config: &str, default: DefaultOperation| {
            let ops = Ops::from_xml_str(&schema, config, default).map_err(|errors| errors[0].tag)?;
            edit(tree, &schema, ops).map_err(|errors| errors[0].tag)
        };
        let base = match stored {
            true => apply(&Tree::new(), &config(""), DefaultOperation::Merge).expect("it is stored"),
            false => Tree::new(),
        };
        apply(&base, &config(&format!("wd:default=\"true\" {operation}")), default)
            .map(|tree| !tree.is_empty())
    };
    use DefaultOperation::{Merge, None as Nothing, Replace};
    for node in ["leaf", "list"] {
        for stored in [false, true] {
            for default in [Merge, Replace] {
                assert_eq!(run(stored, default, node, ""), Ok(false), "{node} {stored} {default:?}");
            }
            for operation in ["merge", "replace"] {
                let named = format!("nc:operation=\"{operation}\"");
                assert_eq!(run(stored, Nothing, node, &named), Ok(false), "{node} {stored} {operation}");
            }
            for operation in ["", "nc:operation=\"delete\"", "nc:operation=\"remove\""] {
                let refused = Err(ErrorTag::InvalidValue);
                assert_eq!(run(stored, Nothing, node, operation), refused, "{node} {stored} {operation}");
            }
        }
        let create = "nc:operation=\"create\"";
        assert_eq!(run(false, Nothing, node, create), Ok(false), "{node}");
        assert_eq!(run(true, Nothing, node, create), Err(ErrorTag::DataExists), "{node}");
    }
}

#[test]
fn what_has_no_default_takes_no_tag_of_one() {
    let schema = two_modules();
    let wd = "xmlns:wd=\"urn:ietf:params:xml:ns:netconf:default:1.0\" wd:default=\"true\"";
    for (content, tag, element) in [
        (format!("<c {wd}/>"), ErrorTag::UnknownAttribute, Some("c")),
        (format!("<c><l {wd}><k>1</k></l></c>"), ErrorTag::UnknownAttribute, Some("l")),
        (format!("<c><l><k>1</k><any {wd}/></l></c>"), ErrorTag::UnknownAttribute, Some("any")),
        (format!("<c><l><k {wd}>1</k></l></c>"), ErrorTag::InvalidValue, None),
        (format!("<c><own {wd}>1</own></c>"), ErrorTag::InvalidValue, None),
    ] {
        let config = format!("<config xmlns=\"urn:base\">{content}</config>");
        let errors = Ops::from_xml_str(&schema, &config, DefaultOperation::Merge).expect_err("it is refused");
        assert_eq!(errors.len(), 1, "{content}: {errors:?}");
        assert_eq!(errors[0].tag, tag, "{content}");
        let named = errors[0].info.iter().find_map(|info| match info {
            ErrorInfo::BadElement(name) => Some(name.as_str()),
            _ => None,
        });
        assert_eq!(named, element, "{content}");
    }
}
