use crate::shop::{Shop, node};
use cats_yang_tree::build::{SchemaBuilder, Ty};
use cats_yang_tree::xpath::{Accessible, Budget, Expr, Scope, Unprefixed, XPathError, select};
use cats_yang_tree::{Data, DefaultOperation, Defaults, Ops, Tree, edit, view, xml};
use std::sync::Arc;

/// What an XPath filter selects of the shop, as XML; `filter` is the whole element.
fn filtered(shop: &Shop, filter: &str) -> Result<String, XPathError> {
    let document = xml::parse(filter).expect("the filter is XML");
    let element = document.root_element();
    let text = element.attribute("select").expect("it has a select");
    let expression = Expr::parse(&shop.schema, text, Scope::of_element(&shop.schema, element))?;
    let mut budget = Budget::new(100_000);
    let places = select(&shop.schema, &shop.tree, &expression, Accessible::Stored, &mut budget)?;
    Ok(view(&shop.tree, &shop.schema, Defaults::Explicit).at(&places).to_xml())
}

fn selected(shop: &Shop, select: &str) -> String {
    let filter = format!("<filter xmlns:s=\"urn:shop\" xmlns:x=\"urn:extra\" select=\"{select}\"/>");
    let found = filtered(shop, &filter).unwrap_or_else(|error| panic!("{select}: {error}"));
    found.replace("<shop xmlns=\"urn:shop\">", "").replace("</shop>", "")
}

/// The case G10: prefixes are those in scope of the filter element.
#[test]
fn prefixes_are_bound_where_the_filter_stands() {
    let shop = Shop::open();
    let outer = "<get-config xmlns:q=\"urn:shop\"><filter select=\"/q:shop/q:name\"/></get-config>";
    let document = xml::parse(outer).expect("XML");
    let filter = document.root_element().first_element_child().expect("a filter");
    let scope = Scope::of_element(&shop.schema, filter);
    assert!(Expr::parse(&shop.schema, "/q:shop/q:name", scope.clone()).is_ok());
    assert!(matches!(Expr::parse(&shop.schema, "/s:shop", scope), Err(XPathError::Prefix { .. })));
    let elsewhere = "<filter xmlns:q=\"urn:unknown\" select=\"/q:shop\"/>";
    assert_eq!(filtered(&shop, elsewhere), Ok(String::new()), "a namespace that is not here has no nodes");
    assert_eq!(selected(&shop, "/s:shop/s:name"), "<name>Corner</name>");
    assert_eq!(selected(&shop, "/shop/name"), "<name>Corner</name>", "without prefix: of any module");
    assert_eq!(selected(&shop, "/shop:shop/name"), "<name>Corner</name>", "a module's name serves too");
}

/// The case G14: the result of a filter must be a node-set.
#[test]
fn a_filter_whose_value_is_no_node_set_is_an_error() {
    let shop = Shop::open();
    for (select, found) in [("count(/shop)", "number"), ("'/shop'", "string"), ("/shop = 1", "boolean")] {
        let filter = format!("<filter select=\"{select}\"/>");
        let error = filtered(&shop, &filter).expect_err("no node-set");
        let expected =
            format!("the result is a {found}, not a node-set: name nodes, such as /module:container");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn selected_nodes_come_with_what_is_in_them_and_the_keys_above_them() {
    let shop = Shop::open();
    let b = "<item><name>b</name><stock>7</stock></item>";
    for (select, expected) in [
        ("/s:shop/s:vault", "<vault><code>9</code></vault>"),
        ("/s:shop/s:item[s:name='b']/s:stock", b),
        ("/s:shop/s:item[s:name='b']/s:stock/text()", b),
        ("/s:shop/s:item[s:stock=7]/s:name", "<item><name>b</name></item><item><name>c</name></item>"),
        (
            "//s:label",
            "<item><name>b</name><size><width>10</width><height>1</height><label>w10</label></size></item>",
        ),
        ("/s:shop/s:rule[2]", "<rule><id>10</id><act>allow</act></rule>"),
        ("/s:shop/s:rule[s:act='deny']/s:id", "<rule><id>30</id></rule><rule><id>20</id></rule>"),
        ("/s:shop/s:tag[.='m' or .='z']", "<tag>z</tag><tag>m</tag>"),
        ("/s:shop/s:name | /s:shop/s:vault/s:code", "<name>Corner</name><vault><code>9</code></vault>"),
        (
            "/s:shop/s:rule | /s:shop/s:rule[1]/s:act",
            "<rule><id>30</id><act>deny</act></rule><rule><id>10</id><act>allow</act></rule><rule><id>20</id><act>deny</act></rule>",
        ),
        ("/s:shop/s:item/x:extra", "<item><name>b</name><extra xmlns=\"urn:extra\">more</extra></item>"),
        ("/s:shop/s:policy | /s:shop/s:open", ""),
        ("/s:shop/@name | /s:nothing | /s:shop/s:item[s:name='z']", ""),
    ] {
        assert_eq!(selected(&shop, select), expected, "{select}");
    }
}

#[test]
fn what_is_selected_as_a_whole_stays_shared() {
    let shop = Shop::open();
    let cut = |text: &str| {
        let expression = shop.read(text).expect("an expression");
        let mut budget = Budget::new(100);
        let places = select(&shop.schema, &shop.tree, &expression, Accessible::Stored, &mut budget);
        let view = view(&shop.tree, &shop.schema, Defaults::Explicit);
        (view.at(&places.expect("a selection")).tree(), budget.taken())
    };
    assert!(Arc::ptr_eq(cut("/").0.root(), shop.tree.root()));
    let (tree, taken) = cut("/shop/item");
    let item = node(&shop.schema, "/shop:shop/item");
    let entries = |tree: &Tree| match tree.root().iter().next().map(|(_, data)| data.clone()) {
        Some(Data::Container(shop)) => match shop.get(item).cloned() {
            Some(Data::List(entries)) => entries,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert!(Arc::ptr_eq(&entries(&tree), &entries(&shop.tree)));
    assert!(taken < 10, "{taken} steps for a whole list");
}

/// The example of RFC 6241 section 8.9.5.1, of a user by name.
#[test]
fn the_example_of_rfc_6241_selects_one_user() {
    let schema = SchemaBuilder::new()
        .module("config", "http://example.com/schema/1.2/config", "t", |m| {
            m.container("top", |c| {
                c.container("users", |c| {
                    c.list("user", &["name"], |l| {
                        l.leaf("name", Ty::string());
                        l.leaf("type", Ty::string());
                        l.leaf("full-name", Ty::string());
                        l.container("company-info", |c| {
                            c.leaf("dept", Ty::uint8());
                            c.leaf("id", Ty::uint8());
                        });
                    });
                });
            });
        })
        .build()
        .expect("a good schema");
    let user = |name: &str, id: u8| {
        format!("<user><name>{name}</name><company-info><id>{id}</id></company-info></user>")
    };
    let users = format!("<users>{}{}</users>", user("barney", 2), user("fred", 1));
    let top = "<top xmlns=\"http://example.com/schema/1.2/config\">";
    let config = format!("<config>{top}{users}</top></config>");
    let ops = Ops::from_xml_str(&schema, &config, DefaultOperation::Merge).expect("good data");
    let tree = edit(&Tree::new(), &schema, ops).expect("data that fit");
    let filter = r#"<filter xmlns:t="http://example.com/schema/1.2/config" type="xpath"
        select="/t:top/t:users/t:user[t:name='fred']"/>"#;
    let document = xml::parse(filter).expect("XML");
    let element = document.root_element();
    let text = element.attribute("select").expect("a select");
    let expression = Expr::parse(&schema, text, Scope::of_element(&schema, element)).expect("an expression");
    let mut budget = Budget::new(100);
    let places = select(&schema, &tree, &expression, Accessible::Stored, &mut budget).expect("a node-set");
    let expected = format!("{top}<users>{}</users></top>", user("fred", 1));
    assert_eq!(view(&tree, &schema, Defaults::Explicit).at(&places).to_xml(), expected);
}

/// Two modules may have leafs of one name in an entry, of which one is the key.
#[test]
fn a_name_without_prefix_is_not_only_the_key_of_that_name() {
    let schema = SchemaBuilder::new()
        .module("a", "urn:a", "a", |m| {
            m.container("top", |c| {
                c.list("user", &["name"], |l| {
                    l.leaf("name", Ty::string());
                });
            });
        })
        .module("b", "urn:b", "b", |m| {
            m.augment("top/user", |c| {
                c.leaf("name", Ty::string());
            });
        })
        .build()
        .expect("a good schema");
    let user =
        |key: &str, name: &str| format!("<user><name>{key}</name><name xmlns=\"urn:b\">{name}</name></user>");
    let config = format!("<config><top xmlns=\"urn:a\">{}{}</top></config>", user("x", "y"), user("y", "z"));
    let ops = Ops::from_xml_str(&schema, &config, DefaultOperation::Merge).expect("good data");
    let tree = edit(&Tree::new(), &schema, ops).expect("data that fit");
    for (scope, text, expected) in [
        (Scope::of_modules().unprefixed(Unprefixed::Any), "/top/user[name='y']", 2),
        (Scope::of_modules(), "/a:top/user[name='y']", 1),
        (Scope::of_modules(), "/a:top/user[b:name='y']", 1),
    ] {
        let expression = Expr::parse(&schema, text, scope).expect("an expression");
        let mut budget = Budget::new(100);
        let found = select(&schema, &tree, &expression, Accessible::Stored, &mut budget);
        assert_eq!(found.expect("a node-set").len(), expected, "{text}");
    }
}
