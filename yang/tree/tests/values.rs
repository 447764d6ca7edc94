//! Values of every type: what is taken, what is refused, and the canonical forms.
#![allow(clippy::expect_used)] // a failure here is a failed test

use cats_yang_tree::build::{SchemaBuilder, Ty};
use cats_yang_tree::error::{Error, ErrorTag};
use cats_yang_tree::schema::{Canonical, NodeId, Schema};
use cats_yang_tree::{DefaultOperation, Defaults, Operation, Ops, Tree, Value, edit, json, roxmltree, view};
use serde_json::json;

fn schema_of(ty: Ty) -> Schema {
    SchemaBuilder::new()
        .module("aa", "urn:aa", "p", |m| {
            m.identity("root", &[]);
            m.identity("one", &["root"]);
            m.identity("other", &[]);
        })
        .module("bb", "urn:bb", "p", |m| {
            m.identity("two", &["aa:one"]);
            m.leaf("value", ty);
        })
        .build()
        .expect("a good schema")
}

/// The canonical text, or what is wrong.
fn read(ty: Ty, text: &str) -> Result<String, String> {
    let schema = schema_of(ty);
    let leaf = schema.node(NodeId(0));
    let ty = schema.leaf_type(leaf.id).expect("a leaf");
    Value::parse_text(&schema, ty, leaf.module, text)
        .map(|value| value.to_string())
        .map_err(|error| error.message)
}

fn good(ty: &Ty, text: &str, canonical: &str) {
    assert_eq!(read(ty.clone(), text), Ok(canonical.to_owned()), "{text}");
}

fn bad(ty: &Ty, text: &str) {
    assert!(read(ty.clone(), text).is_err(), "'{text}' is taken");
}

/// A leading zero makes no octal number, and data know no hexadecimal one (RFC 7950 section 9.2.1).
#[test]
fn integers_in_data_are_decimal() {
    let ty = Ty::int8().range(-100, -1).range(10, 20);
    good(&ty, "-100", "-100");
    good(&ty, " +10 ", "10");
    good(&ty, "012", "12");
    good(&ty, "-0012", "-12");
    for text in ["0", "09", "21", "-101", "", "-", "+", "+-12", "1.5", "0x", "0x0C", "0xc", "c", "1 2", "١"]
    {
        bad(&ty, text);
    }
    bad(&ty, "99999999999999999999999999999999999999999");
    good(&Ty::uint8(), "09", "9");
    good(&Ty::uint8(), "-0", "0");
    good(&Ty::uint64(), "18446744073709551615", "18446744073709551615");
    bad(&Ty::uint64(), "18446744073709551616");
    bad(&Ty::uint8(), "-1");
}

#[test]
fn integers_in_modules_have_three_bases() {
    for (text, value) in
        [("0x1F", "31"), ("0x1f", "31"), ("010", "8"), ("-0x10", "-16"), ("0", "0"), ("12", "12")]
    {
        let ty = Ty::union(vec![Ty::boolean(), Ty::int32()]);
        for ty in [Ty::int16(), ty] {
            let schema = SchemaBuilder::new().module("cc", "urn:cc", "c", |m| {
                m.leaf("number", ty).default(text);
            });
            let schema = schema.build().expect("a good default");
            let values: Vec<_> = schema.default_values(NodeId(0)).iter().map(Value::to_string).collect();
            assert_eq!(values, [value], "{text}");
        }
    }
    let schema = SchemaBuilder::new().module("cc", "urn:cc", "c", |m| {
        m.leaf("number", Ty::int16()).default("08");
    });
    assert!(schema.build().is_err());
}

#[test]
fn decimals_have_at_least_one_digit_on_each_side() {
    let ty = Ty::decimal64(3);
    good(&ty, "1", "1.0");
    good(&ty, "-0.500", "-0.5");
    good(&ty, "+12.345", "12.345");
    good(&ty, "9223372036854775.807", "9223372036854775.807");
    for text in ["1.2345", "9223372036854775.808", ".5", "1.", "1e3", ""] {
        bad(&ty, text);
    }
    bad(&Ty::decimal64(1).range(0, 10), "1.1");
}

#[test]
fn strings_keep_their_length_and_patterns() {
    let ty = Ty::string().length(2, 3).pattern("[a-zé]*");
    good(&ty, "éé", "éé");
    for text in ["a", "abcd", "AB", "ab\n"] {
        bad(&ty, text);
    }
    bad(&Ty::string(), "nul\0");
    bad(&Ty::string(), "\u{FFFE}");
}

#[test]
fn addresses_and_prefixes_get_one_form() {
    let ip6 = Ty::string().canonical(Canonical::Ipv6Address);
    good(&ip6, "2001:DB8:0:0:0:0:0:1%eth0", "2001:db8::1%eth0");
    let prefix = Ty::string().canonical(Canonical::Ipv4Prefix);
    good(&prefix, "10.1.2.3/24", "10.1.2.0/24");
    good(&prefix, "10.1.2.3/0", "0.0.0.0/0");
    bad(&prefix, "10.1.2.3/33");
    let prefix = Ty::string().canonical(Canonical::Ipv6Prefix);
    good(&prefix, "2001:DB8::1/32", "2001:db8::/32");
    good(&prefix, "::1/128", "::1/128");
    good(&prefix, "ff::1/0", "::/0");
    good(&Ty::string().canonical(Canonical::Lowercase), "AB:CD", "ab:cd");
}

#[test]
fn bits_are_written_by_position_and_stand_once() {
    let ty = Ty::bits(&["low", "mid", "high"]);
    good(&ty, " high  low ", "low high");
    good(&ty, "", "");
    bad(&ty, "low low");
    bad(&ty, "top");
}

#[test]
fn binaries_are_base64_whose_length_is_in_octets() {
    let ty = Ty::binary().length(1, 4);
    good(&ty, "AAEC\n Aw==", "AAECAw==");
    for text in ["", "AAECAwQF", "AAECAw=", "AAECAx==", "A-==", "===="] {
        bad(&ty, text);
    }
}

#[test]
fn identities_are_derived_and_qualified() {
    let ty = Ty::identityref(&["aa:root"]);
    good(&ty, "two", "bb:two");
    good(&ty, "aa:one", "aa:one");
    for text in ["aa:root", "aa:other", "one", "cc:one", ""] {
        bad(&ty, text);
    }
    good(&Ty::identityref(&["aa:one"]), "bb:two", "bb:two");
}

#[test]
fn a_union_takes_the_first_member_that_fits() {
    let ty = Ty::union(vec![Ty::uint8(), Ty::enumeration(&["auto"]), Ty::string().pattern("x.*")]);
    good(&ty, "007", "7");
    good(&ty, "auto", "auto");
    good(&ty, "x1", "x1");
    bad(&ty, "300");
    let schema = schema_of(ty);
    let ty = schema.leaf_type(NodeId(0)).expect("a leaf");
    let module = schema.node(NodeId(0)).module;
    assert_eq!(Value::parse_text(&schema, ty, module, "7"), Ok(Value::Uint32(7)));
    assert_eq!(Value::parse_text(&schema, ty, module, "auto"), Ok(Value::Enum("auto".into())));
}

#[test]
fn a_value_of_no_member_of_a_union_is_told_the_types_by_name_and_no_pattern() {
    let address = Ty::string().pattern("[0-9.]{400}").named("ipv4-address");
    let inner = Ty::union(vec![address.clone(), Ty::enumeration(&["auto", "none"])]);
    let port = Ty::uint16().range(1, 1024);
    let error = read(Ty::union(vec![address, inner, port]), "fast").expect_err("none of them");
    assert_eq!(
        error,
        "'fast' is of none of the types ipv4-address, enumeration (auto, none), uint16 (1..1024)"
    );
    let named = Ty::union(vec![Ty::uint8(), Ty::boolean()]).named("level");
    let error = read(Ty::union(vec![named, Ty::empty()]), "fast").expect_err("none of them");
    assert_eq!(error, "'fast' is of none of the types level, empty");
}

#[test]
fn a_long_value_is_not_quoted_in_full() {
    let x = "x".repeat(180_000);
    let cases = [
        (Ty::uint8(), x.clone()),
        (Ty::boolean(), x.clone()),
        (Ty::decimal64(1), x.clone()),
        (Ty::decimal64(1).range(0, 1), format!("{}9.5", "0".repeat(180_000))),
        (Ty::enumeration(&["a"]), x.clone()),
        (Ty::identityref(&["aa:root"]), x.clone()),
        (Ty::identityref(&["aa:root"]), format!("{x}:{x}")),
        (Ty::string().pattern("a"), x.clone()),
        (Ty::union(vec![Ty::uint8(), Ty::string().pattern("a")]), x.clone()),
        (Ty::instance_identifier(false), x.clone()),
        (Ty::instance_identifier(false), format!("/{x}")),
        (Ty::instance_identifier(false), format!("/bb:{x}")),
        (Ty::instance_identifier(false), format!("/bb:value[.='{x}']")),
    ];
    for (ty, text) in cases {
        let error = read(ty.clone(), &text).expect_err("no such value");
        assert!(error.len() < 500 && error.contains('…'), "{ty:?}: {} bytes", error.len());
    }
}

#[test]
fn json_takes_the_token_of_the_type_only() {
    let cases = [
        (Ty::uint32(), json!(7), Some(json!(7))),
        (Ty::uint32(), json!("7"), None),
        (Ty::uint32(), json!(7.5), None),
        (Ty::uint64(), json!("7"), Some(json!("7"))),
        (Ty::uint64(), json!(7), None),
        (Ty::decimal64(2), json!("1.50"), Some(json!("1.5"))),
        (Ty::boolean(), json!(true), Some(json!(true))),
        (Ty::boolean(), json!("true"), None),
        (Ty::empty(), json!([null]), Some(json!([null]))),
        (Ty::empty(), json!(""), None),
        (Ty::identityref(&["aa:root"]), json!("two"), Some(json!("bb:two"))),
        (Ty::union(vec![Ty::uint8(), Ty::string()]), json!("7"), Some(json!("7"))),
        (Ty::string(), json!({"a": 1}), None),
    ];
    for (ty, given, wanted) in cases {
        let schema = schema_of(ty);
        let ops = Ops::from_json(&schema, &json!({"bb:value": given}), Operation::Merge);
        let found = ops.ok().map(|ops| {
            let tree = edit(&Tree::new(), &schema, ops).expect("fits");
            json::branch(&schema, tree.root(), None)["bb:value"].clone()
        });
        assert_eq!(found, wanted, "{given}");
    }
}

#[test]
fn a_schema_with_a_wrong_default_or_pattern_is_refused() {
    let built = SchemaBuilder::new().module("cc", "urn:cc", "c", |m| {
        m.leaf("number", Ty::uint8()).default("many");
        m.leaf("word", Ty::string().pattern("[a"));
    });
    let faults = built.build().expect_err("two faults");
    assert!(faults.contains("number") && faults.contains("[a"), "{faults}");
}

/// The schema of a module `store` with `anydata` called `any`, and what is read into it.
fn any(
    read: impl FnOnce(&Schema) -> Result<Ops, Vec<Error>>,
) -> Result<(String, serde_json::Value), Vec<Error>> {
    let schema = SchemaBuilder::new().module("store", "urn:store", "st", |m| {
        m.anydata("any");
    });
    let schema = schema.build().expect("a good schema");
    let tree = edit(&Tree::new(), &schema, read(&schema)?)?;
    let xml = view(&tree, &schema, Defaults::Explicit).to_xml();
    let again = Ops::from_xml_str(&schema, &format!("<config>{xml}</config>"), DefaultOperation::Merge)?;
    assert_eq!(edit(&Tree::new(), &schema, again)?, tree, "{xml}");
    Ok((xml, json::branch(&schema, tree.root(), None)))
}

#[test]
fn elements_of_anydata_keep_their_namespaces_and_the_lack_of_one() {
    let config =
        "<config xmlns:s='urn:store' xmlns:o='urn:o'><s:any><plain o:a='1'/>t<o:other/></s:any></config>";
    let found = any(|schema| Ops::from_xml_str(schema, config, DefaultOperation::Merge));
    let (xml, _) = found.expect("it is taken");
    let document = roxmltree::Document::parse(&xml).expect("it is XML");
    let names: Vec<_> =
        document.descendants().filter(|node| node.is_element()).map(|node| node.tag_name()).collect();
    let names: Vec<_> = names.iter().map(|tag| (tag.namespace().unwrap_or_default(), tag.name())).collect();
    assert_eq!(names, [("urn:store", "any"), ("", "plain"), ("urn:o", "other")]);
}

#[test]
fn anydata_in_json_is_a_string_of_xml_and_nothing_else() {
    let read = |text: &str| {
        let value = json!({ "store:any": text });
        any(|schema| Ops::from_json(schema, &value, Operation::Merge))
    };
    let (xml, value) = read("<a xmlns='urn:a'/>text").expect("it is taken");
    assert!(xml.contains("<a xmlns=\"urn:a\"/>text"), "{xml}");
    assert_eq!(value, json!({ "store:any": "<a xmlns=\"urn:a\"/>text" }));
    for text in ["</any><evil/>", "<a>", "a & b", "</content><content>"] {
        let errors = read(text).expect_err("it would be no XML");
        assert_eq!(errors[0].tag, ErrorTag::InvalidValue, "{text}");
    }
}

#[test]
fn a_step_without_prefix_in_an_expression_has_the_module_of_the_step_before_it_in_xml_as_in_json() {
    let schema = SchemaBuilder::new()
        .module("store", "urn:store", "st", |m| {
            m.leaf("path", Ty::string().canonical(Canonical::XPath));
        })
        .build()
        .expect("a good schema");
    let config = "<config xmlns:s='urn:store'><path xmlns='urn:store'>/s:a/b[c = 'd/e'] | f</path></config>";
    let ops = Ops::from_xml_str(&schema, config, DefaultOperation::Merge).expect("it is taken");
    let tree = edit(&Tree::new(), &schema, ops).expect("it fits");
    let value = json::branch(&schema, tree.root(), None);
    assert_eq!(value, json!({ "store:path": "/store:a/store:b[store:c = 'd/e'] | f" }));
    let ops = Ops::from_json(&schema, &value, Operation::Merge).expect("it is taken");
    assert_eq!(edit(&Tree::new(), &schema, ops).expect("it fits"), tree);
}
