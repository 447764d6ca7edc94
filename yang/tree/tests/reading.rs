//! Subtree filters and defaults as RFC 6241 and RFC 6243 have them, on the model probe-bench.

#![allow(clippy::expect_used, clippy::panic)] // a failure here is a failed test

mod bench;

use bench::{Bench, NS, in_bench};
use cats_yang_tree::build::{SchemaBuilder, Ty};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{DefaultOperation, Defaults, Ops, Subtree, Tree, edit, view};

fn shop() -> Bench {
    Bench::with(concat!(
        "<knob>5</knob><tag>z</tag><tag>a</tag>",
        r#"<item xmlns:p="urn:probe:bench"><name>a</name><descr>first</descr><size>1</size><shape>p:round</shape></item>"#,
        "<item><name>b</name><descr>second</descr><enabled>true</enabled></item>",
        "<rule><id>9</id><action>permit</action></rule><rule><id>3</id><action>deny</action></rule>",
    ))
}

fn explicit(filter: &str) -> String {
    shop().filtered(Defaults::Explicit, filter)
}

#[test]
fn an_empty_filter_selects_nothing() {
    assert_eq!(explicit(""), "");
}

#[test]
fn a_selection_node_selects_only_its_leaf() {
    let found = explicit(&in_bench("<item><name/></item>"));
    assert_eq!(found, in_bench("<item><name>a</name></item><item><name>b</name></item>"));
    let found = explicit(&in_bench("<item><descr/></item>"));
    let both =
        "<item><name>a</name><descr>first</descr></item><item><name>b</name><descr>second</descr></item>";
    assert_eq!(found, in_bench(both), "with the key");
    assert_eq!(explicit(&in_bench("<knob/>")), in_bench("<knob>5</knob>"));
}

#[test]
fn a_content_match_alone_selects_the_whole_entry() {
    let whole = "<item><name>b</name><descr>second</descr><enabled>true</enabled></item>";
    assert_eq!(explicit(&in_bench("<item><descr>second</descr></item>")), in_bench(whole));
    assert_eq!(explicit(&in_bench("<item><name>b</name></item>")), in_bench(whole));
    assert_eq!(explicit(&in_bench("<item><name>c</name></item>")), "");
    assert_eq!(explicit(&in_bench("<item><name>b</name><descr>first</descr></item>")), "", "all must match");
}

#[test]
fn a_content_match_beside_a_selection_narrows_the_entry() {
    let found = explicit(&in_bench("<item><descr>second</descr><enabled/></item>"));
    let part = "<item><name>b</name><descr>second</descr><enabled>true</enabled></item>";
    assert_eq!(found, in_bench(part));
    assert_eq!(explicit(&in_bench("<knob>6</knob><item/>")), "", "the sibling set is filtered as a whole");
}

#[test]
fn two_containment_nodes_of_one_list_are_united() {
    let found =
        explicit(&in_bench("<item><name>b</name><descr/></item><item><name>a</name><size/></item><rule/>"));
    let both = concat!(
        "<item><name>a</name><size>1</size></item><item><name>b</name><descr>second</descr></item>",
        "<rule><id>9</id><action>permit</action></rule><rule><id>3</id><action>deny</action></rule>",
    );
    assert_eq!(found, in_bench(both));
}

#[test]
fn white_space_around_a_content_match_is_ignored() {
    let found = explicit(&in_bench("<item>\n  <name>\n  b </name>\n  <descr/>\n</item>"));
    assert_eq!(found, in_bench("<item><name>b</name><descr>second</descr></item>"));
}

#[test]
fn unknown_namespaces_and_names_select_nothing() {
    assert_eq!(explicit(r#"<bench xmlns="urn:nowhere"/>"#), "");
    assert_eq!(explicit(&in_bench("<bolt/>")), "");
    assert_eq!(explicit(&in_bench(r#"<knob some="attribute"/>"#)), "", "data have no attributes");
}

#[test]
fn an_element_without_namespace_matches_any() {
    assert_eq!(explicit(r#"<bench xmlns=""><knob/></bench>"#), in_bench("<knob>5</knob>"));
}

#[test]
fn a_match_without_namespace_may_be_a_key_or_a_leaf_of_that_name_from_another_module() {
    let schema = SchemaBuilder::new()
        .module("one", "urn:one", "o", |m| {
            m.list("item", &["name"], |l| {
                l.leaf("name", Ty::string());
            });
        })
        .module("two", "urn:two", "t", |m| {
            m.augment("item", |l| {
                l.leaf("name", Ty::string());
            });
        })
        .build()
        .expect("a good schema");
    let config = "<config xmlns='urn:one'><item><name>a</name></item>\
                  <item><name>b</name><name xmlns='urn:two'>a</name></item></config>";
    let ops = Ops::from_xml_str(&schema, config, DefaultOperation::Merge).expect("it is right");
    let tree = edit(&Tree::new(), &schema, ops).expect("it fits");
    let filter = Subtree::parse(&schema, "<filter><item><name>a</name></item></filter>").expect("a filter");
    assert_eq!(view(&tree, &schema, Defaults::Explicit).filter(&filter).tree(), tree);
}

#[test]
fn a_content_match_on_an_identity_compares_the_identity_not_its_prefix() {
    let filter = format!(r#"<item xmlns:other="{NS}"><shape>other:round</shape><size/></item>"#);
    let part =
        r#"<item><name>a</name><size>1</size><shape xmlns:pb="urn:probe:bench">pb:round</shape></item>"#;
    assert_eq!(explicit(&in_bench(&filter)), in_bench(part));
}

#[test]
fn what_is_selected_as_a_whole_stays_shared() {
    let shop = shop();
    let text = format!("<filter>{}</filter>", in_bench(""));
    let filter = Subtree::parse(&shop.schema, &text).expect("XML");
    let seen = view(&shop.tree, &shop.schema, Defaults::Explicit).filter(&filter).tree();
    assert_eq!(seen, shop.tree);
    let (id, _) = shop.tree.root().iter().next().expect("bench");
    let same = match (seen.root().get(id), shop.tree.root().get(id)) {
        (Some(cats_yang_tree::Data::Container(a)), Some(cats_yang_tree::Data::Container(b))) => {
            std::sync::Arc::ptr_eq(a, b)
        }
        _ => false,
    };
    assert!(same);
}

/// Defaults are those of configuration: a reader of much state does not pay for all of it.
#[test]
fn state_stays_shared_under_every_way_to_report_defaults() {
    let schema = SchemaBuilder::new()
        .module("one", "urn:one", "o", |m| {
            m.container("top", |t| {
                t.leaf("mode", Ty::string()).default("auto");
                t.state(|t| {
                    t.list("seen", &["name"], |l| {
                        l.leaf("name", Ty::string());
                        l.leaf("size", Ty::uint32()).default("7");
                    });
                });
            });
        })
        .build()
        .expect("a good schema");
    let state = serde_json::json!({ "one:top": { "seen": [{ "name": "a" }, { "name": "b" }] } });
    let ops = Ops::from_state_json(&schema, &state).expect("it is right");
    let tree = edit(&Tree::new(), &schema, ops).expect("it fits");
    let entries = |tree: &Tree| {
        let (_, top) = tree.root().iter().next().expect("top");
        let cats_yang_tree::Data::Container(top) = top else { panic!("a container") };
        top.iter().find_map(|(_, data)| match data {
            cats_yang_tree::Data::List(entries) => Some(entries.clone()),
            _ => None,
        })
    };
    let stored = entries(&tree).expect("entries");
    for defaults in [Defaults::ReportAll, Defaults::ReportAllTagged] {
        let all = view(&tree, &schema, defaults);
        let filter = Subtree::parse(&schema, "<filter><top xmlns='urn:one'/></filter>").expect("a filter");
        for seen in [all.clone().tree(), all.filter(&filter).tree()] {
            assert!(seen.root().iter().count() == 1 && !seen.ptr_eq(&tree), "the default is in use");
            assert!(std::sync::Arc::ptr_eq(&entries(&seen).expect("entries"), &stored));
        }
    }
}

#[test]
fn explicit_shows_what_was_set_and_nothing_else() {
    let found = shop().filtered(Defaults::Explicit, &in_bench("<mode/><item><enabled/></item>"));
    assert_eq!(found, in_bench("<item><name>b</name><enabled>true</enabled></item>"));
}

#[test]
fn trim_hides_a_default_that_was_set() {
    let shop = shop();
    let trimmed = shop.filtered(Defaults::Trim, &in_bench("<item><name>b</name></item>"));
    assert_eq!(trimmed, in_bench("<item><name>b</name><descr>second</descr></item>"));
    let only = Bench::with("<mode>auto</mode>");
    assert!(view(&only.tree, &only.schema, Defaults::Trim).is_empty());
}

#[test]
fn report_all_shows_defaults_in_use_and_filters_match_them() {
    let shop = shop();
    let all = shop.filtered(Defaults::ReportAll, &in_bench("<mode/><item><name>a</name><enabled/></item>"));
    assert_eq!(all, in_bench("<mode>auto</mode><item><name>a</name><enabled>true</enabled></item>"));
    let matched = shop.filtered(Defaults::ReportAll, &in_bench("<mode>auto</mode><knob/>"));
    assert_eq!(matched, in_bench("<knob>5</knob><mode>auto</mode>"));
    let tagged = shop.filtered(Defaults::ReportAllTagged, &in_bench("<item><enabled/></item>"));
    let wd = r#" xmlns:wd="urn:ietf:params:xml:ns:netconf:default:1.0" wd:default="true""#;
    assert_eq!(
        tagged,
        in_bench(&format!(
            "<item><name>a</name><enabled{wd}>true</enabled></item><item><name>b</name><enabled>true</enabled></item>"
        ))
    );
    let empty = Bench::with("");
    assert_eq!(view(&empty.tree, &empty.schema, Defaults::ReportAll).to_xml(), in_bench("<mode>auto</mode>"));
}

/// Two leafs whose defaults depend on conditions, in an entry and in a container that nobody set.
fn conditional() -> Schema {
    let schema = SchemaBuilder::new().module("when", "urn:when", "w", |m| {
        m.container("top", |c| {
            c.leaf("kind", Ty::string());
            c.list("port", &["name"], |l| {
                l.leaf("name", Ty::string());
                l.leaf("speed", Ty::uint32());
                l.leaf("duplex", Ty::string()).default("full").when("../when:speed < 1000");
            });
            c.container("extra", |c| {
                c.leaf("colour", Ty::string()).default("red").when("../../when:kind = 'bright'");
            });
        });
    });
    schema.build().expect("a good schema")
}

#[test]
fn a_default_is_in_use_only_where_its_condition_holds() {
    let schema = conditional();
    let read = |content: &str, filter: &str| {
        let config = format!("<config><top xmlns=\"urn:when\">{content}</top></config>");
        let ops = Ops::from_xml_str(&schema, &config, DefaultOperation::Merge).expect("good XML");
        let tree = edit(&Tree::new(), &schema, ops).expect("it fits");
        let all = view(&tree, &schema, Defaults::ReportAll);
        let text = format!("<filter><top xmlns=\"urn:when\">{filter}</top></filter>");
        let found = all.filter(&Subtree::parse(&schema, &text).expect("XML"));
        if filter.is_empty() {
            assert_eq!(all.to_xml(), found.to_xml(), "written as it is and filtered first");
            assert_eq!(all.tree(), found.tree());
        }
        let xml = found.to_xml();
        let inner = xml.strip_prefix("<top xmlns=\"urn:when\">").and_then(|xml| xml.strip_suffix("</top>"));
        inner.unwrap_or_default().to_owned()
    };
    let port = |name: &str, speed: &str, more: &str| {
        format!("<port><name>{name}</name><speed>{speed}</speed>{more}</port>")
    };
    let ports = port("a", "100", "") + &port("b", "1000", "");
    let duplex = "<duplex>full</duplex>";
    assert_eq!(read(&ports, ""), port("a", "100", duplex) + &port("b", "1000", ""));
    assert_eq!(read(&ports, "<port><duplex/></port>").matches(duplex).count(), 1);
    assert_eq!(read(&ports, &format!("<port>{duplex}</port>")), port("a", "100", duplex));
    assert_eq!(read("<kind>dull</kind>", ""), "<kind>dull</kind>");
    assert_eq!(read("<kind>bright</kind>", ""), "<kind>bright</kind><extra><colour>red</colour></extra>");
}

#[test]
fn text_comes_in_pieces_that_are_no_larger_for_more_data() {
    let entry =
        |n: usize| format!("<item><name>n{n}</name><descr>{}</descr></item><tag>t{n}</tag>", "x".repeat(40));
    let many = Bench::with(&(0..5000).map(entry).collect::<String>());
    for defaults in [Defaults::Explicit, Defaults::ReportAllTagged, Defaults::Trim] {
        let all = view(&many.tree, &many.schema, defaults);
        let pieces: Vec<String> = all.clone().pieces().collect();
        assert!(pieces.len() > 20, "{}", pieces.len());
        let most = pieces.iter().map(String::len).max().unwrap_or(0);
        assert!(most < 2 * cats_yang_tree::xml::PIECE, "{most}");
        let whole = pieces.concat();
        assert_eq!(whole, all.to_xml());
        // What a filter has made up in advance is written alike.
        let text = format!("<filter>{}</filter>", in_bench(""));
        let made = all.filter(&Subtree::parse(&many.schema, &text).expect("XML"));
        assert!(made.to_xml() == whole, "made up in advance or while it is written");
    }
}
