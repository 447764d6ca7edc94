use crate::shop::{Shop, node};
use cats_yang_tree::InstancePath;
use cats_yang_tree::xpath::Dependency;

/// `node @ shared`, for each dependency of an expression at `context`.
fn read(shop: &Shop, context: &str, text: &str) -> Vec<String> {
    let expression = shop.read(text).expect("an expression");
    let context = (context != "/").then(|| node(&shop.schema, context));
    let found = expression.dependencies(&shop.schema, context).expect("an expression with an index");
    let name = |node| shop.schema.path_of(node).replace("/shop:shop", "");
    let mut words: Vec<String> = found
        .iter()
        .map(|dependency| {
            let shared = dependency.shared.map_or("/".to_owned(), |shared| match name(shared).as_str() {
                "" => "shop".to_owned(),
                shared => shared.to_owned(),
            });
            format!("{} @ {shared}", name(dependency.node))
        })
        .collect();
    words.sort();
    words
}

#[test]
fn a_relative_path_shares_what_lies_above_its_turn() {
    let shop = Shop::open();
    let label = "/shop:shop/item/size/label";
    for (text, expected) in [
        ("../width > 5", vec!["/item/size/width @ /item/size"]),
        (". = 'x'", vec!["/item/size/label @ /item/size/label"]),
        ("../../stock > 5", vec!["/item/stock @ /item"]),
        ("../../../name", vec!["/name @ shop"]),
        ("/shop/name", vec!["/name @ /"]),
        ("../../../rule/id = 1", vec!["/rule/id @ shop"]),
        ("count(../../size) < 3", vec!["/item/size @ /item"]),
        (
            "/shop/item[name = current()/../../note]/stock",
            vec!["/item/name @ /", "/item/note @ /item", "/item/stock @ /"],
        ),
        ("../../../rule[1]/id", vec!["/rule @ shop", "/rule/id @ shop"]),
        ("../preceding-sibling::size", vec!["/item/size @ /item"]),
        ("name(..) = 'x' or true()", vec!["/item/size @ /item/size"]),
        ("../../size/ancestor::item", vec!["/item @ /item", "/item/size @ /item"]),
        ("ancestor::item/stock", vec!["/item/stock @ /item"]),
        (
            "../*[2]",
            vec![
                "/item/size/height @ /item/size",
                "/item/size/label @ /item/size",
                "/item/size/width @ /item/size",
            ],
        ),
        (
            "string(..)",
            vec![
                "/item/size @ /item/size",
                "/item/size/height @ /item/size",
                "/item/size/label @ /item/size",
                "/item/size/width @ /item/size",
            ],
        ),
        ("1 = 2", vec![]),
    ] {
        assert_eq!(read(&shop, label, text), expected, "{text}");
    }
}

#[test]
fn what_brings_defaults_into_use_is_a_dependency_too() {
    let shop = Shop::open();
    let rule = "/shop:shop/rule";
    for (text, expected) in [
        ("/shop/item/on = 'true'", vec!["/item @ /", "/item/on @ /"]),
        ("../vault/depth = 1", vec!["/vault @ shop", "/vault/depth @ shop"]),
        ("../policy/limit = 1", vec!["/policy/limit @ shop"]),
        ("../change", vec!["/card @ shop", "/cash @ shop", "/change @ shop", "/pin @ shop"]),
        ("../item/x:guarded", vec!["/item @ shop", "/item/extra:guarded @ shop", "/item/stock @ shop"]),
    ] {
        assert_eq!(read(&shop, rule, text), expected, "{text}");
    }
}

#[test]
fn expressions_that_may_read_anything_are_told_apart() {
    let shop = Shop::open();
    let best = node(&shop.schema, "/shop:shop/best");
    for (text, at, what) in [
        ("//stock", 0, "'//' or a descendant axis"),
        ("1 + count(../descendant::x)", 13, "'//' or a descendant axis"),
        ("preceding::name", 0, "the axis preceding"),
        ("following::*", 0, "the axis following"),
        ("not(deref(.)/../on)", 4, "deref()"),
        ("string(/) = ''", 0, "the string value of the root"),
    ] {
        let expression = shop.read(text).expect("an expression");
        let error = expression.dependencies(&shop.schema, Some(best)).expect_err(text);
        assert_eq!((error.at, error.what), (at, what), "{text}");
    }
}

#[test]
fn what_a_filter_may_select_is_told_or_that_it_may_be_all() {
    let shop = Shop::open();
    for (text, expected) in [
        ("/shop/vault", vec!["/vault @ /"]),
        ("/shop/item[stock = 7]/note | /shop", vec!["/item/note @ /", "/item/stock @ /", " @ /"]),
        ("/shop/item/..", vec![" @ /", "/item @ /"]),
    ] {
        let mut expected = expected;
        expected.sort_unstable();
        assert_eq!(read(&shop, "/", text), expected, "{text}");
    }
    for text in ["/", ".", "/shop/..", "/shop | /", "/shop/ancestor-or-self::node()"] {
        let expression = shop.read(text).expect("an expression");
        assert!(expression.dependencies(&shop.schema, None).is_err(), "{text}");
    }
}

/// The example of the module's documentation.
#[test]
fn a_change_leads_to_the_place_that_the_context_nodes_share() {
    let shop = Shop::open();
    let label = node(&shop.schema, "/shop:shop/item/size/label");
    let found = shop.read("../../stock > 5").expect("an expression").dependencies(&shop.schema, Some(label));
    let stock = node(&shop.schema, "/shop:shop/item/stock");
    let item = node(&shop.schema, "/shop:shop/item");
    let expected = Dependency { node: stock, shared: Some(item), depth: 2 };
    assert_eq!(found, Ok(vec![expected]));
    let changed = InstancePath::parse(&shop.schema, "/shop:shop/item[name='b']/stock").expect("a path");
    let common = InstancePath { steps: expected.common(&changed).to_vec() };
    assert_eq!(common.render(&shop.schema).0, "/shop:shop/item[name='b']");
}
