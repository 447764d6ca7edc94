use crate::shop::{DATA, Shop};
use cats_yang_tree::InstancePath;
use cats_yang_tree::xpath::{Accessible, Budget, Evaluation, XPathError};

#[test]
fn the_core_functions_give_what_the_recommendation_says() {
    let shop = Shop::open();
    for (text, expected) in [
        ("string(item[last()]/name)", "c"),
        ("string(item[position() = 2]/name)", "b"),
        ("count(item)", "3"),
        ("count(item[stock = 7])", "2"),
        ("count(id('a'))", "0"),
        ("local-name(item)", "item"),
        ("namespace-uri(item[name='b']/x:extra)", "urn:extra"),
        ("name(item[name='b']/x:extra)", "x:extra"),
        ("name(/)", ""),
        ("name()", "s:shop"),
        ("string(item[name='b'])", "b2.57trueshop:applefresh coldfinetwo  words23101w10moreseen"),
        ("string(nothing)", ""),
        ("string(1 div 0)", "Infinity"),
        ("string(-1 div 0)", "-Infinity"),
        ("string(0 div 0)", "NaN"),
        ("string(100000000000000000000)", "100000000000000000000"),
        ("string(0.1 + 0.2)", "0.30000000000000004"),
        ("string(-0)", "0"),
        ("string(true())", "true"),
        ("concat('a', 1, true(), name)", "a1trueCorner"),
        ("starts-with('abc', 'ab') and starts-with('abc', '')", "true"),
        ("contains('abc', 'bc') and not(contains('abc', 'd'))", "true"),
        ("substring-before('1999/04/01', '/')", "1999"),
        ("substring-after('1999/04/01', '/')", "04/01"),
        ("substring-before('abc', 'x')", ""),
        ("substring('12345', 2, 3)", "234"),
        ("substring('12345', 0 div 0, 3)", ""),
        ("string-length('äöü')", "3"),
        ("string-length(nothing)", "0"),
        ("normalize-space(concat(' ', item[name='b']/note, ' '))", "two words"),
        ("translate('bar', 'abc', 'AB')", "BAr"),
        ("boolean(0) or boolean('') or boolean(nothing) or boolean(0 div 0)", "false"),
        ("boolean('false') and boolean(-1) and boolean(item)", "true"),
        ("not(item)", "false"),
        ("lang('en')", "false"),
    ] {
        assert_eq!(shop.of(text), expected, "{text}");
    }
}

#[test]
fn numbers_are_those_of_ieee_754() {
    let shop = Shop::open();
    for (text, expected) in [
        ("number(' 12 ')", "12"),
        ("number('12e3')", "NaN"),
        ("number(true())", "1"),
        ("number(item[name='b']/price)", "2.5"),
        ("sum(item/stock)", "14"),
        ("sum(nothing)", "0"),
        ("floor(-1.5)", "-2"),
        ("ceiling(-1.5)", "-1"),
        ("round(-1.5)", "-1"),
        ("round(2.5)", "3"),
        ("5 mod 2", "1"),
        ("5 mod -2", "1"),
        ("-5 mod 2", "-1"),
        ("1.5 mod 0.5", "0"),
    ] {
        assert_eq!(shop.of(text), expected, "{text}");
    }
}

#[test]
fn comparisons_with_node_sets_hold_when_they_hold_for_some_node() {
    let shop = Shop::open();
    for (text, expected) in [
        ("item/stock = 7", true),
        ("item/stock != 7", true),
        ("not(item/stock = 8)", true),
        ("7 = item/stock", true),
        ("item/stock < 1", true),
        ("1 > item/stock", true),
        ("item/stock > 7", false),
        ("item/name = 'b'", true),
        ("item/name = best", true),
        ("item/name != best", true),
        ("best != best", false),
        ("nothing = nothing", false),
        ("nothing != 'a'", false),
        ("nothing = false()", true),
        ("item = true()", true),
        ("item/stock >= rule/id", false),
        ("item/stock < rule/id", true),
        ("item[name='a']/stock = item[name='b']/size/width", false),
        ("'1' = 1", true),
        ("'a' = true()", true),
        ("'10' > '9'", true),
        ("name = concat('Cor', 'ner')", true),
    ] {
        assert_eq!(shop.of(text), expected.to_string(), "{text}");
    }
}

/// RFC 7950 section 6.4.1: values are canonical; identities mean the same with any prefix.
#[test]
fn leafs_compare_by_value_with_the_prefixes_of_the_expression() {
    let shop = Shop::open();
    for (text, expected) in [
        ("item[name='b']/kind = 's:apple'", true),
        ("item[name='b']/kind = 'apple'", true),
        ("item[name='b']/kind = 'shop:apple'", true),
        ("item[name='b']/kind = 's:fruit'", false),
        ("item[name='b']/kind != 's:apple'", false),
        ("string(item[name='b']/kind) = 'shop:apple'", true),
        ("item[name='b']/price = '2.5'", true),
        ("item[name='b']/price = 2.5", true),
        ("string(item[name='a']/price) = '10.0'", true),
        ("item[name='b']/stock = '007'", true),
        ("item[name='b']/grade = 'fine'", true),
        ("item[name='b']/grade = 1", false),
        ("item[name='b']/flags = 'fresh cold'", true),
        ("place = \"/s:shop/s:item[s:name='a']\"", true),
        ("place = \"/s:shop/s:item[s:name='b']\"", false),
        ("place = \"/shop:shop/item[name='a']\"", true),
        ("place = \"/shop:shop/shop:item[shop:name='a']\"", true),
    ] {
        assert_eq!(shop.of(text), expected.to_string(), "{text}");
    }
}

/// The functions of RFC 7950 section 10, with the examples' shapes.
#[test]
fn the_functions_of_yang_do_what_section_10_says() {
    let shop = Shop::open();
    for (text, expected) in [
        ("re-match('1.22.333', '\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}')", "true"),
        ("re-match('1.22.3334', '\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}')", "false"),
        ("re-match(name, concat('Cor', '.*'))", "true"),
        ("count(item[re-match(name, '[ab]')])", "2"),
        ("deref(best)", "item[name='b']/name"),
        ("deref(best)/../stock", "item[name='b']/stock"),
        ("deref(place)/name", "item[name='a']/name"),
        ("deref(name)", ""),
        ("count(item[derived-from(kind, 's:kind')])", "2"),
        ("count(item[derived-from(kind, 's:fruit')])", "1"),
        ("count(item[derived-from-or-self(kind, 'fruit')])", "2"),
        ("derived-from(nothing, 's:fruit')", "false"),
        ("enum-value(item[name='b']/grade)", "1"),
        ("enum-value(item[name='c']/grade)", "NaN"),
        ("enum-value(name)", "NaN"),
        ("bit-is-set(item[name='b']/flags, 'cold')", "true"),
        ("bit-is-set(item[name='b']/flags, 'soft')", "false"),
        ("item[current()/best = name]", "item[name='b']"),
        ("current()/name", "name"),
    ] {
        assert_eq!(shop.of(text), expected, "{text}");
    }
    let error = shop.error("derived-from(/s:shop/s:item/s:kind, 's:unheard')");
    assert_eq!(error, "at byte 0: 's:unheard' names no identity");
}

/// RFC 7950 section 6.4.1: what is in the accessible tree without being stored.
#[test]
fn containers_without_presence_and_defaults_in_use_exist() {
    let shop = Shop::open();
    for (text, expected) in [
        ("policy", "policy"),
        ("policy/limit = 3", "true"),
        ("count(policy/*)", "1"),
        ("open = 'true'", "true"),
        ("hour", "hour[.='9'] hour[.='17']"),
        ("count(hour)", "2"),
        ("hour[2] = 17", "true"),
        ("hour[. = 17]", "hour[.='17']"),
        ("count(item[on = 'true'])", "2"),
        ("vault/depth", "vault/depth"),
        ("clock | sold", ""),
        ("change", "change"),
        ("pin", ""),
        ("item[x:guarded]", "item[name='b'] item[name='c']"),
    ] {
        assert_eq!(shop.of(text), expected, "{text}");
    }
    let bare = Shop::with("<config/>");
    assert_eq!(bare.at("/", "/shop/policy/limit"), "policy/limit");
    assert_eq!(bare.at("/", "/shop/vault | /shop/change | /shop/pin"), "");
    assert_eq!(bare.at("/", "count(//*)"), "6");
}

#[test]
fn an_extent_says_what_of_a_tree_is_seen() {
    let data = DATA.replace("<cash>", "<sold>4</sold><cash>");
    let mut shop = Shop::with(&data);
    assert_eq!(shop.of("sold | clock"), "");
    shop.accessible = Accessible::WithState;
    assert_eq!(shop.of("sold | clock"), "sold clock");
    assert_eq!(shop.of("open"), "open");
    shop.accessible = Accessible::Reported;
    assert_eq!(shop.of("sold | clock | open"), "open sold");
    shop.accessible = Accessible::Stored;
    assert_eq!(shop.of("sold | clock | open | policy"), "sold");
}

#[test]
fn entries_stand_in_the_order_of_the_document_and_each_once() {
    let shop = Shop::open();
    for (text, expected) in [
        ("rule", "rule[id='30'] rule[id='10'] rule[id='20']"),
        ("rule[id='20'] | rule[act='deny'] | tag[1]", "tag[.='z'] rule[id='30'] rule[id='20']"),
        ("(rule/.. | item/..)/name", "name"),
        ("name | name/text() | name/node()", "name name"),
        ("rule[2]", "rule[id='10']"),
        ("rule[last()]", "rule[id='20']"),
        ("rule[last() - 1]", "rule[id='10']"),
        ("rule[4]", ""),
        ("rule[1.5]", ""),
        ("rule[act='deny'][2]", "rule[id='20']"),
        ("rule[2][act='deny']", ""),
        ("rule[position() > 1]", "rule[id='10'] rule[id='20']"),
        ("rule[position() < last()]", "rule[id='30'] rule[id='10']"),
        ("(rule | tag)[1]", "tag[.='z']"),
        ("(item/name)[last()]", "item[name='c']/name"),
        ("item/size[1]/width", "item[name='b']/size[width='2'][height='3']/width"),
        ("tag[. = 'a']", "tag[.='a']"),
        ("item[size[label]/width = 10]", "item[name='b']"),
    ] {
        assert_eq!(shop.of(text), expected, "{text}");
    }
}

/// RFC 7950 section 7.21.5: a `when` is evaluated with a dummy in the place of what does not exist.
#[test]
fn a_dummy_stands_for_a_node_that_may_come_to_be() {
    let shop = Shop::open();
    let mut evaluation = Evaluation::new(&shop.schema, &shop.tree, Accessible::Configuration);
    let path = InstancePath::parse(&shop.schema, "/shop:shop/card").expect("a path");
    assert_eq!(evaluation.place(&path), None);
    let place = evaluation.place_or_dummy(&path).expect("its parent exists");
    let mut budget = Budget::new(100);
    for (text, expected) in [("../name = 'Corner'", true), (". = ''", true), ("../cash", true)] {
        let expression = shop.read(text).expect("an expression");
        assert_eq!(expression.holds(&mut evaluation, place, &mut budget), Ok(expected), "{text}");
    }
    assert_eq!(evaluation.path(place), path);
}

#[test]
fn an_evaluation_ends_when_its_steps_are_taken() {
    let shop = Shop::open();
    let mut budget = Budget::new(500);
    let error = shop
        .outcome("/", "count(//*[count(//*[count(//*) > 1]) > 1])", &mut budget)
        .expect_err("too many steps");
    assert_eq!(error, XPathError::Steps { limit: 500 });
    assert!(error.to_string().starts_with("evaluation ends after 500 steps"));
    let strings = format!("string-length(concat({}'x'))", "string(/), ".repeat(2_000));
    let mut budget = Budget::new(5_000);
    assert!(shop.outcome("/", &strings, &mut budget).is_err());
}
