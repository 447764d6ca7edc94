use crate::shop::Shop;
use cats_yang_tree::xpath::{Expr, Kind, MAX_LENGTH, MAX_NESTING, Scope, Unprefixed, XPathError};

#[test]
fn errors_say_where_what_was_found_and_what_was_expected() {
    let shop = Shop::open();
    let cases = [
        ("", "at byte 0: found the end, expected an expression"),
        ("/shop/", "at byte 6: found the end, expected a name, '*', '.', '..' or a node type"),
        ("1 +", "at byte 3: found the end, expected an expression"),
        ("(1", "at byte 2: found the end, expected ')'"),
        ("shop[1", "at byte 6: found the end, expected ']'"),
        ("shop]", "at byte 4: found ']', expected an operator or the end"),
        ("1 2", "at byte 2: found '2', expected an operator or the end"),
        ("shop item", "at byte 5: found 'item', expected an operator"),
        ("'open", "at byte 0: found 'open, expected a closing quote"),
        ("a = #", "at byte 4: found '#', expected an expression or an operator"),
        ("sideways::shop", "at byte 0: found 'sideways::', expected an axis of XPath 1.0"),
        ("count(1", "at byte 7: found the end, expected ',' or ')'"),
        ("concat('a',,'b')", "at byte 11: found ',', expected an expression"),
        ("/shop//", "at byte 7: found the end, expected a name, '*', '.', '..' or a node type"),
        ("$x + 1", "at byte 0: variable '$x' is not bound: there are no variables here"),
        (
            "namespace::s",
            "at byte 0: the namespace axis is not supported: compare namespace-uri() or use a prefix instead",
        ),
        ("/q:shop", "at byte 1: prefix 'q' is not bound: declare it, or use a module's name"),
        ("frob(1)", "at byte 0: there is no function 'frob()'"),
        ("1 = s:count(.)", "at byte 4: there is no function 's:count()'"),
        ("not()", "at byte 0: not() takes 1 argument, not 0"),
        ("substring('a')", "at byte 0: substring() takes 2 to 3 arguments, not 1"),
        ("concat('a')", "at byte 0: concat() takes at least 2 arguments, not 1"),
        ("count('a')", "at byte 0: count takes a node-set, not a string"),
        ("true() | shop", "at byte 0: '|' takes a node-set, not a boolean"),
        ("(1)[1]", "at byte 0: a predicate takes a node-set, not a number"),
        ("'a'/shop", "at byte 0: '/' takes a node-set, not a string"),
    ];
    for (text, expected) in cases {
        assert_eq!(shop.error(text), expected, "{text}");
    }
    assert!(shop.error("re-match('a', '[')").starts_with("at byte 0: '[' is no pattern: "));
}

#[test]
fn names_and_stars_are_operators_where_an_operand_stands_before_them() {
    let shop = Shop::open();
    for (text, expected) in [
        ("6 div 2 * 2 mod 4", "2"),
        ("count(*) * 0", "0"),
        ("count(item[stock * 2 = 14])", "2"),
        ("2 - -3", "5"),
        ("--2", "2"),
        ("1 - 2 - 3", "-4"),
        ("1 - (2 - 3)", "2"),
        ("8 div 4 div 2", "1"),
        ("1 + 2 = 3 and 4 > 3", "true"),
        ("false() and false() or true()", "true"),
        ("1 < 2 = true()", "true"),
        ("3 > 2 > 1", "false"),
        (" ( 1 ) ", "1"),
        ("string(.5)", "0.5"),
        ("\"it's\"", "it's"),
        ("count(item | rule | item)", "6"),
        ("- stock", "NaN"),
    ] {
        assert_eq!(shop.of(text), expected, "{text}");
    }
}

#[test]
fn every_axis_leads_where_the_recommendation_says() {
    let shop = Shop::open();
    for (context, text, expected) in [
        ("/name", "self::name", "name"),
        ("/name", "self::item", ""),
        ("/name", "self::node()", "name"),
        ("/item[name='b']", "child::stock", "item[name='b']/stock"),
        ("/item[name='b']", "attribute::stock", ""),
        ("/item[name='b']", "@*", ""),
        ("/item[name='b']/stock", "parent::item/name", "item[name='b']/name"),
        ("/item[name='b']/stock", "parent::rule", ""),
        ("/item[name='b']/stock", "ancestor::*", "shop item[name='b']"),
        ("/item[name='b']/stock", "ancestor::*[1]", "item[name='b']"),
        ("/item[name='b']/stock", "ancestor::node()[last()]", "/"),
        ("/item[name='b']", "ancestor-or-self::item", "item[name='b']"),
        ("/item[name='b']", "following-sibling::item", "item[name='c']"),
        ("/item[name='b']", "preceding-sibling::item", "item[name='a']"),
        ("/rule[id='20']", "preceding-sibling::rule[1]", "rule[id='10']"),
        ("/rule[id='20']", "preceding-sibling::rule[last()]", "rule[id='30']"),
        ("/rule[id='10']", "following::rule", "rule[id='20']"),
        ("/rule[id='10']", "preceding::stock[1]", "item[name='c']/stock"),
        ("/rule[id='10']", "preceding::stock[last()]", "item[name='a']/stock"),
        ("/rule[id='10']", "preceding::item[1]/name", "item[name='c']/name"),
        ("/vault", "descendant::*", "vault/code vault/depth"),
        ("/vault", "descendant-or-self::*", "vault vault/code vault/depth"),
        ("/", "//code", "vault/code"),
        ("/", "/descendant::act[2]", "rule[id='10']/act"),
        ("/", "//act[2]", ""),
        ("", "item/..", "shop"),
        ("/", "*/name", "name"),
        ("/", "s:*/s:name", "name"),
        ("/item[name='b']", "x:*", "item[name='b']/extra:extra item[name='b']/extra:guarded"),
        ("/name", "text()", "name"),
        ("/name", "comment() | processing-instruction('a')", ""),
        ("", ".//label/ancestor::item", "item[name='b']"),
    ] {
        let context = if context == "/" { context.to_owned() } else { format!("/shop:shop{context}") };
        assert_eq!(shop.at(&context, text), expected, "{text}");
    }
}

#[test]
fn prefixes_are_those_of_the_scope_or_names_of_modules() {
    let shop = Shop::open();
    assert_eq!(shop.of("count(item/x:extra)"), "1");
    assert_eq!(shop.of("count(item/extra:extra)"), "1");
    assert_eq!(shop.of("count(item/extra)"), "0", "an unprefixed name is of module shop");
    let count = |text: &str, scope: Scope| {
        Expr::parse(&shop.schema, text, scope).expect("an expression").kind() == Kind::Number
    };
    assert!(count("count(/shop:shop/item/extra:extra)", Scope::of_modules()));
    let any = Scope::of_modules().unprefixed(Unprefixed::Any);
    assert!(count("count(/shop/item/extra)", any));
}

#[test]
fn length_and_nesting_are_bounded() {
    let shop = Shop::open();
    let long = format!("'{}'", "x".repeat(MAX_LENGTH));
    assert!(matches!(shop.read(&long), Err(XPathError::TooLong { .. })));
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(shop.read(&nested(MAX_NESTING - 1)).is_ok());
    assert!(matches!(shop.read(&nested(MAX_NESTING)), Err(XPathError::TooDeep { .. })));
    let unclosed = "(".repeat(MAX_LENGTH);
    assert!(matches!(shop.read(&unclosed), Err(XPathError::TooDeep { .. })));
    for chain in ["1+", "a or ", "-", "a/", "../", "a|", "a[1]/", "./", "//", "a=", "not(a) and "] {
        let text = format!("{}a", chain.repeat(MAX_LENGTH / chain.len() - 1));
        let read = shop.read(&text).map(|expression| expression.kind());
        assert!(read.is_ok() || chain == "//", "{chain}: {read:?}");
    }
}

/// The deepest expressions that are read can be evaluated, or end with an error, on a small stack.
#[test]
fn what_is_read_can_be_evaluated_without_running_out_of_stack() {
    let deep = |open: &str, close: &str| {
        let depth = MAX_NESTING - 1;
        format!("{}*{}", open.repeat(depth), close.repeat(depth))
    };
    let run = move || {
        let shop = Shop::open();
        for text in [
            deep("(", ")"),
            deep("not(", ")"),
            deep("*[", "]"),
            deep("//*[", "]"),
            deep("/shop/item/size[", "]"),
            deep("/shop/item[1]/size[/shop/item/size/label = 'w10' and ", "]"),
            deep("ancestor-or-self::*[", "]"),
            deep("string(", ")"),
            deep("1 + (", ")"),
            "1+".repeat(30_000) + "1",
            "a|".repeat(30_000) + "a",
            "-".repeat(60_000) + "1",
            "*/".repeat(30_000) + "*",
            "../".repeat(20_000) + "..",
        ] {
            let mut budget = cats_yang_tree::xpath::Budget::new(200_000);
            let _ = shop.outcome("/shop:shop", &text, &mut budget);
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread");
    thread.join().expect("no panic");
}
