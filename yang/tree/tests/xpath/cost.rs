//! What evaluations cost, in steps.

use crate::shop::Shop;
use cats_yang_tree::xpath::{Accessible, Budget, Expr, MAX_PLACES, Outcome, Scope, XPathError, select};
use cats_yang_tree::{InstancePath, xml};
use std::fmt::Write as _;

const ENTRIES: u64 = 10_000;

fn stocked() -> Shop {
    let mut data = String::from("<config><shop xmlns=\"urn:shop\"><best>n77</best>");
    for number in 0..ENTRIES {
        let _ = write!(data, "<item><name>n{number}</name><stock>{number}</stock>");
        let _ =
            write!(data, "<size><width>1</width><height>2</height><label>l{number}</label></size></item>");
        let _ = write!(data, "<rule><id>{number}</id></rule><tag>t{number}</tag>");
    }
    data.push_str("</shop></config>");
    Shop::with(&data)
}

fn steps(shop: &Shop, text: &str, expected: &str) -> u64 {
    let mut budget = Budget::new(10_000_000);
    let outcome = shop.outcome("/shop:shop", text, &mut budget).expect("an evaluation within its budget");
    let found = match outcome {
        Outcome::Nodes(paths) => paths.len().to_string(),
        Outcome::String(text) => text,
        Outcome::Number(number) => number.to_string(),
        Outcome::Boolean(truth) => truth.to_string(),
    };
    assert_eq!(found, expected, "{text}");
    budget.taken()
}

#[test]
fn what_keys_and_counts_answer_visits_no_entries() {
    let shop = stocked();
    for (text, expected) in [
        ("item[name='n5000']", "1"),
        ("item[name='n5000']/stock = 5000", "true"),
        ("item['n5000' = name]/stock", "1"),
        ("/shop/item[name = current()/best]/stock = 77", "true"),
        ("/shop/item[name = current()/best and stock = 77]", "1"),
        ("item[stock = 77][name = 'n77']", "1"),
        ("item[name='n5000']/size[height = 2][width = '1']/label", "1"),
        ("item[name='n5000']/size[width = 1 and height = 2]/label = 'l5000'", "true"),
        ("rule[id = 700 + 77]", "1"),
        ("rule[id = '777']", "1"),
        ("tag[. = 't777']", "1"),
        ("item[name = 'none']", "0"),
        ("count(item)", "10000"),
        ("count(item) >= 10000", "true"),
        ("count(/shop/rule) + count(tag)", "20000"),
        ("boolean(item)", "true"),
        ("not(item)", "false"),
        ("item and rule", "true"),
        ("rule[last()]/id = 9999", "true"),
        ("rule[5000]/id = 4999", "true"),
        ("rule[position() = last() - 1]/id", "1"),
        ("string(rule[last()]/id)", "9999"),
        ("rule[5000]/preceding-sibling::rule[1]/id = 4998", "true"),
        ("rule[5000]/following-sibling::rule[2]/id = 5001", "true"),
        ("rule[5000]/preceding-sibling::rule[last()]/id = 0", "true"),
        ("rule[5000]/following-sibling::rule[last()]/id = 9999", "true"),
        ("rule[1]/preceding-sibling::rule[1]", "0"),
        ("rule[last()]/following-sibling::rule[1]", "0"),
    ] {
        let taken = steps(&shop, text, expected);
        assert!(taken < 60, "{text} takes {taken} steps");
    }
}

#[test]
fn what_has_to_look_at_each_entry_costs_in_proportion() {
    let shop = stocked();
    for (text, expected) in [
        ("count(item[stock = 77])", "1"),
        ("count(item/stock)", "10000"),
        ("sum(item/stock)", "49995000"),
        ("//label[. = 'l77']", "1"),
        ("rule[position() > 9990]", "10"),
        ("item[name = //best]", "1"),
    ] {
        let taken = steps(&shop, text, expected);
        assert!(taken < 12 * ENTRIES, "{text} takes {taken} steps");
    }
}

#[test]
fn the_first_match_ends_the_search() {
    let shop = stocked();
    for text in ["item[stock < 100]", "item/stock = 0", "rule/id != 5", "//id = 3"] {
        let text = format!("boolean({text})");
        let taken = steps(&shop, &text, "true");
        assert!(taken < 200, "{text} takes {taken} steps");
    }
}

fn places(shop: &Shop, text: &str) -> Result<Vec<InstancePath>, XPathError> {
    let element = format!("<filter xmlns=\"urn:shop\" select=\"{text}\"/>");
    let document = xml::parse(&element).expect("the filter is XML");
    let scope = Scope::of_element(&shop.schema, document.root_element());
    let expression = Expr::parse(&shop.schema, text, scope)?;
    select(&shop.schema, &shop.tree, &expression, Accessible::Stored, &mut Budget::new(10_000_000))
}

#[test]
fn a_filter_holds_the_topmost_places_that_it_selects_and_not_what_is_below_them() {
    let shop = stocked();
    for (text, expected) in [("//*", 1), ("//node()|//*", 2), ("/*//*", 40_002), ("//item/*", 40_000)] {
        let found = places(&shop, text).map(|places| places.len());
        assert!(found.as_ref().is_ok_and(|found| *found <= expected), "{text}: {found:?}");
    }
}

#[test]
fn a_filter_that_selects_too_many_places_is_refused() {
    let shop = stocked();
    let union = ["//label"; 14].join("|");
    assert_eq!(places(&shop, &union), Err(XPathError::Nodes { limit: MAX_PLACES }));
    let whole = ["//size/label"; 2].join("|");
    assert!(places(&shop, &whole).is_ok());
}
