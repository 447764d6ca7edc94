//! `when`, `must` and leafrefs by expressions: asked again where something changed that they read.
#![allow(clippy::expect_used, clippy::panic)] // a failure here is a failed test

use cats_yang_tree::build::{SchemaBuilder, Scope, Ty};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::validate::unknown_elements;
use cats_yang_tree::{ChangeSet, DefaultOperation, Defaults, Ops, Tree, diff, edit, validate, view};

fn schema(content: impl FnOnce(&mut Scope<'_>)) -> Schema {
    let schema = SchemaBuilder::new().module("top", "urn:top", "t", content).build().expect("a good schema");
    assert_eq!(schema.left(), []);
    schema
}

fn edited(schema: &Schema, from: &Tree, config: &str) -> Tree {
    let text = format!(
        "<config xmlns=\"urn:top\" xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\">{config}</config>"
    );
    let ops = Ops::from_xml_str(schema, &text, DefaultOperation::Merge).expect("good XML");
    edit(from, schema, ops).expect("fits")
}

/// The valid tree after an edit of a valid one, or the errors; in either case the same as without a base.
fn commit(schema: &Schema, base: &Tree, config: &str) -> Result<Tree, Vec<Error>> {
    let new = edited(schema, base, config);
    let judged = |base: &Tree| validate(schema, base, new.clone(), diff(base, &new));
    let (quick, whole) = (judged(base), judged(&Tree::new()));
    match (quick, whole) {
        (Ok((quick, changes)), Ok((whole, _))) => {
            assert_eq!(quick, whole, "what changed and the whole say the same");
            assert_eq!(changes, diff(base, &quick));
            assert!(quick.is_validated());
            Ok(quick)
        }
        (Err(quick), Err(whole)) => {
            assert_eq!(quick, whole, "what changed and the whole say the same");
            Err(quick)
        }
        (quick, whole) => panic!("{quick:?} by what changed, {whole:?} by the whole"),
    }
}

fn valid(schema: &Schema, config: &str) -> Tree {
    let empty = Tree::new();
    let base = validate(schema, &empty, empty.clone(), ChangeSet::default()).expect("nothing is valid").0;
    commit(schema, &base, config).expect("valid")
}

fn refused(schema: &Schema, base: &Tree, config: &str) -> Vec<(ErrorTag, Option<String>, String)> {
    let errors = commit(schema, base, config).expect_err("refused");
    let summary = |error: Error| (error.tag, error.app_tag, error.path.unwrap_or_default().0);
    errors.into_iter().map(summary).collect()
}

fn xml(schema: &Schema, tree: &Tree) -> String {
    view(tree, schema, Defaults::Explicit).to_xml().replace(" xmlns=\"urn:top\"", "")
}

fn must(path: &str) -> (ErrorTag, Option<String>, String) {
    (ErrorTag::OperationFailed, Some("must-violation".to_owned()), path.to_owned())
}

fn missing(path: &str) -> (ErrorTag, Option<String>, String) {
    (ErrorTag::DataMissing, None, path.to_owned())
}

#[test]
fn a_must_is_asked_where_what_it_reads_changed() {
    let schema = schema(|m| {
        m.leaf("limit", Ty::uint8()).default("10");
        m.list("group", &["name"], |g| {
            g.leaf("name", Ty::string());
            g.leaf("most", Ty::uint8()).default("5");
            g.list("member", &["id"], |l| {
                l.leaf("id", Ty::uint8());
                l.leaf("size", Ty::uint8()).must("not(. > ../../most)").must("not(. > /limit)");
            });
        });
    });
    let base = valid(
        &schema,
        "<group><name>a</name><member><id>1</id><size>5</size></member></group>\
         <group><name>b</name><most>9</most><member><id>1</id><size>9</size></member></group>",
    );
    let more = "<group><name>a</name><member><id>2</id><size>6</size></member></group>";
    assert_eq!(refused(&schema, &base, more), [must("/top:group[name='a']/member[id='2']/size")]);
    let less = "<group><name>b</name><most>8</most></group>";
    assert_eq!(refused(&schema, &base, less), [must("/top:group[name='b']/member[id='1']/size")]);
    let unset = r#"<group><name>b</name><most nc:operation="delete"/></group>"#;
    assert_eq!(refused(&schema, &base, unset), [must("/top:group[name='b']/member[id='1']/size")]);
    let both =
        [must("/top:group[name='a']/member[id='1']/size"), must("/top:group[name='b']/member[id='1']/size")];
    assert_eq!(refused(&schema, &base, "<limit>4</limit>"), both);
    let fits = "<group><name>a</name><most>9</most><member><id>2</id><size>6</size></member></group>";
    commit(&schema, &base, fits).expect("within all limits");
}

#[test]
fn the_words_of_a_must_are_those_of_the_module() {
    let schema = schema(|m| {
        m.presence("p", |c| {
            c.leaf("a", Ty::uint8());
            c.leaf("b", Ty::uint8());
        })
        .must_or("a or b", Some("one of both"), Some("no-one"))
        .must("not(a) or not(b)");
    });
    let base = valid(&schema, "");
    let errors = commit(&schema, &base, "<p/>").expect_err("neither");
    assert_eq!((errors[0].message.as_str(), errors[0].app_tag.as_deref()), ("one of both", Some("no-one")));
    assert_eq!(refused(&schema, &base, "<p><a>1</a><b>1</b></p>"), [must("/top:p")]);
    let one = commit(&schema, &base, "<p><a>1</a></p>").expect("one");
    let other = commit(&schema, &one, r#"<p><a nc:operation="delete"/><b>1</b></p>"#).expect("the other");
    assert_eq!(xml(&schema, &other), "<p><b>1</b></p>");
}

#[test]
fn what_exists_without_being_stored_has_its_musts() {
    let schema = schema(|m| {
        m.container("c", |c| {
            c.leaf("mode", Ty::string()).default("off").must("not(. = 'off' and /need)");
        })
        .must("not(/forbid)");
        m.leaf("need", Ty::empty());
        m.leaf("forbid", Ty::empty());
        m.choice("how", |ch| {
            ch.case("slow", |c| {
                c.leaf("delay", Ty::uint8()).default("3").must("not(/need)");
            });
            ch.case("fast", |c| {
                c.leaf("speed", Ty::uint8());
            });
        })
        .default("slow");
    });
    let base = valid(&schema, "");
    assert_eq!(refused(&schema, &base, "<need/>"), [must("/top:c/mode"), must("/top:delay")]);
    assert_eq!(refused(&schema, &base, "<forbid/>"), [must("/top:c")]);
    let fast = commit(&schema, &base, "<need/><c><mode>on</mode></c><speed>1</speed>").expect("no default");
    assert_eq!(refused(&schema, &fast, r#"<speed nc:operation="delete"/>"#), [must("/top:delay")]);
    assert_eq!(refused(&schema, &fast, r#"<c nc:operation="delete"/>"#), [must("/top:c/mode")]);
}

#[test]
fn what_may_not_exist_is_deleted_until_all_may() {
    let schema = schema(|m| {
        // In an order in which each is decided by one that stands after it.
        m.leaf("fourth", Ty::string()).when("not(/third)");
        m.leaf("third", Ty::string()).when("/second");
        m.container("in", |c| {
            c.leaf_list("deep", Ty::string()).when("/second = .");
        });
        m.leaf("second", Ty::string()).when("/first = 'x'");
        m.leaf("first", Ty::string());
        m.list("l", &["k"], |l| {
            l.leaf("k", Ty::string());
        })
        .when("k = /first");
    });
    let all = "<first>x</first><second>s</second><third>t</third><in><deep>s</deep><deep>q</deep></in>\
               <l><k>x</k></l><l><k>y</k></l>";
    let base = valid(&schema, all);
    let left = "<third>t</third><in><deep>s</deep></in><second>s</second><first>x</first><l><k>x</k></l>";
    assert_eq!(xml(&schema, &base), left);
    let none = commit(&schema, &base, "<first>y</first><fourth>f</fourth>").expect("deletions are no errors");
    assert_eq!(xml(&schema, &none), "<fourth>f</fourth><first>y</first>");
    let back = commit(&schema, &none, "<first>x</first><second>1</second><third>t</third>").expect("again");
    assert_eq!(xml(&schema, &back), "<third>t</third><second>1</second><first>x</first>");
}

#[test]
fn what_must_exist_when_it_may_is_missed_as_soon_as_it_may() {
    let schema = schema(|m| {
        m.leaf("kind", Ty::string());
        m.list("e", &["k"], |l| {
            l.leaf("k", Ty::string());
            l.leaf("need", Ty::string()).mandatory().when("/kind = 'strict'");
            l.container("c", |c| {
                c.container("d", |d| {
                    d.leaf_list("some", Ty::string()).elements(1, None);
                });
            })
            .when("../on");
            l.leaf("on", Ty::empty());
        });
        m.choice("which", |ch| {
            ch.case("one", |c| {
                c.leaf("a", Ty::string());
            });
        })
        .mandatory()
        .when("kind = 'strict'");
    });
    let base = valid(&schema, "<e><k>1</k></e><e><k>2</k><need>n</need></e>");
    assert_eq!(xml(&schema, &base), "<e><k>1</k></e><e><k>2</k></e>");
    let choice = (ErrorTag::DataMissing, Some("missing-choice".to_owned()), "/".to_owned());
    let strict = [choice.clone(), missing("/top:e[k='1']/need"), missing("/top:e[k='2']/need")];
    assert_eq!(refused(&schema, &base, "<kind>strict</kind>"), strict);
    let both = "<kind>strict</kind><a>x</a><e><k>2</k><need>n</need></e>";
    assert_eq!(refused(&schema, &base, both), [missing("/top:e[k='1']/need")]);
    let few =
        (ErrorTag::OperationFailed, Some("too-few-elements".to_owned()), "/top:e[k='1']/c/d/some".to_owned());
    assert_eq!(refused(&schema, &base, "<e><k>1</k><on/></e>"), [few]);
    let some = commit(&schema, &base, "<e><k>1</k><on/><c><d><some>s</some></d></c></e>").expect("some");
    let gone = r#"<e><k>1</k><on nc:operation="delete"/></e>"#;
    assert_eq!(xml(&schema, &commit(&schema, &some, gone).expect("gone")), "<e><k>1</k></e><e><k>2</k></e>");
}

#[test]
fn leafrefs_with_predicates_and_to_defaults_are_asked_by_their_paths() {
    let schema = schema(|m| {
        m.list("server", &["name"], |l| {
            l.leaf("name", Ty::string());
            l.list("port", &["id"], |p| {
                p.leaf("id", Ty::uint8());
            });
            l.leaf("level", Ty::uint8()).default("7");
        });
        m.list("use", &["name"], |l| {
            l.leaf("name", Ty::string());
            l.leaf("server", Ty::leafref("/top:server/top:name"));
            l.leaf("port", Ty::leafref("/top:server[top:name = current()/../top:server]/top:port/top:id"));
            l.leaf("level", Ty::leafref("/top:server/top:level"));
        });
    });
    let base = valid(
        &schema,
        "<server><name>a</name><port><id>1</id></port></server><server><name>b</name><port><id>2</id></port></server>\
         <use><name>u</name><server>a</server><port>1</port><level>7</level></use>",
    );
    let required = |leaf: &str| {
        (ErrorTag::DataMissing, Some("instance-required".to_owned()), format!("/top:use[name='u']/{leaf}"))
    };
    assert_eq!(refused(&schema, &base, "<use><name>u</name><server>b</server></use>"), [required("port")]);
    commit(&schema, &base, "<use><name>u</name><server>b</server><port>2</port></use>").expect("it has that");
    let gone = r#"<server><name>a</name><port nc:operation="delete"><id>1</id></port></server>"#;
    assert_eq!(refused(&schema, &base, gone), [required("port")]);
    let levels =
        "<server><name>a</name><level>8</level></server><server><name>b</name><level>9</level></server>";
    assert_eq!(refused(&schema, &base, levels), [required("level")]);
    let one = "<server><name>a</name><level>8</level></server>";
    commit(&schema, &base, one).expect("the default of the other server has the value");
}

#[test]
fn a_container_that_takes_its_case_by_what_is_in_it_has_its_musts() {
    let schema = schema(|m| {
        m.choice("how", |ch| {
            ch.case("one", |c| {
                c.container("c", |c| {
                    c.container("d", |d| {
                        d.leaf("x", Ty::uint8());
                    })
                    .must("/y");
                });
            });
            ch.case("other", |c| {
                c.leaf("z", Ty::uint8());
            });
        });
        m.leaf("y", Ty::empty());
    });
    let base = valid(&schema, "<z>1</z>");
    assert_eq!(refused(&schema, &base, "<c><d><x>1</x></d></c>"), [must("/top:c/d")]);
    commit(&schema, &base, "<c><d><x>1</x></d></c><y/>").expect("as it must be");
}

#[test]
fn what_an_edit_brings_in_vain_is_an_unknown_element() {
    let schema = schema(|m| {
        m.leaf("on", Ty::empty());
        m.container("c", |c| {
            c.leaf("x", Ty::uint8());
            c.leaf("y", Ty::uint8()).when("../x");
        })
        .when("/on");
        m.list("l", &["k"], |l| {
            l.leaf("k", Ty::uint8());
            l.leaf("z", Ty::uint8()).when("/c/y");
        });
    });
    let places = |base: &Tree, config: &str| {
        let errors = unknown_elements(&schema, base, &edited(&schema, base, config));
        assert!(errors.iter().all(|error| error.tag == ErrorTag::UnknownElement && error.info.len() == 1));
        errors.into_iter().map(|error| error.path.unwrap_or_default().0).collect::<Vec<_>>()
    };
    let empty = valid(&schema, "");
    let all = "<c><x>1</x><y>1</y></c><l><k>1</k><z>1</z></l>";
    assert_eq!(places(&empty, all), ["/top:c/x", "/top:c/y", "/top:l[k='1']/z"]);
    assert_eq!(places(&empty, &format!("<on/>{all}")), Vec::<String>::new());
    let base = valid(&schema, &format!("<on/>{all}"));
    let more = r#"<c><x nc:operation="delete"/></c><l><k>2</k><z>1</z></l>"#;
    assert_eq!(places(&base, more), ["/top:l[k='2']/z"], "what was there goes in silence");
}
