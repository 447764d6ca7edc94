//! What the oracle says of invalid configurations, and how a module of many constraints compiles.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may

use cats_yang_schema::{Compiled, Document, ModuleSource, default_modules, load};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, Path};
use cats_yang_tree::schema::{Canonical, NodeKind, Schema, Type};
use std::sync::OnceLock;

const MODULE: &str = r#"module judge {
  yang-version 1.1; namespace "urn:judge"; prefix j;
  import ietf-inet-types { prefix inet; }
  import ietf-yang-types { prefix yang; }
  import cats-types { prefix ct; }
  import ietf-netconf-acm { prefix nacm; }
  revision 2026-11-29;
  identity shape; identity round { base shape; } identity ball { base round; }
  typedef net { type inet:ip-prefix; }
  grouping guarded { leaf inner { type string; } }
  container top {
    description "First line
       and  second.";
    ct:compress;
    list item {
      key "name"; unique "a b"; max-elements 3;
      leaf name { type string { length "1..4" { error-message "too long"; } pattern "[a-z]+" { error-app-tag "letters"; } } }
      leaf a { type uint8; ct:column 2; } leaf b { nacm:default-deny-write; type int16 { range "-5..5 | 10"; } }
      leaf form { type identityref { base shape; } default ball; }
      leaf secret { type string; ct:sensitive; ct:alias password; ct:hidden; }
    }
    leaf ref { type leafref { path "../item/name"; } }
    leaf maybe { type union { type leafref { path "/j:top/j:item/j:a"; require-instance false; } type net; } }
    leaf hash { nacm:default-deny-all; type yang:mac-address; }
    leaf count { type yang:zero-based-counter64; }
    leaf time { type ct:computing-time; default "1.5"; }
    container extra { presence "x"; leaf need { type string; mandatory true; } }
    leaf kind { type string; default "none"; }
    leaf only-a { when "../kind = 'a'"; type string; }
    uses guarded { when "j:kind = 'b'"; }
    must "not(only-b) or count(item) > 0" { error-app-tag "no-items"; error-message "only-b needs an item"; }
    must "not(twice) or ref";
    leaf only-b { type empty; } leaf twice { type empty; }
    choice pick { mandatory true; case one { leaf one { type string; } } leaf two { type string; } }
    list plain { key id; leaf id { type uint32; } leaf text { type string; } }
    leaf-list few { type uint8; min-elements 0; max-elements 2; ordered-by user; }
  }
}"#;

fn compiled() -> &'static Compiled {
    static COMPILED: OnceLock<Compiled> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let mut modules = default_modules();
        modules.push(ModuleSource::extra(MODULE).unwrap());
        load(&modules).expect("the modules compile")
    })
}

fn leaf_type<'a>(schema: &'a Schema, name: &str) -> &'a Type {
    let node = schema.nodes.iter().rfind(|node| node.name == name).unwrap();
    match &node.kind {
        NodeKind::Leaf { ty, .. } | NodeKind::LeafList { ty, .. } => &ty.base,
        other => panic!("{other:?}"),
    }
}

fn judged(inner: &str) -> Vec<Error> {
    let xml = format!("<top xmlns=\"urn:judge\">{inner}</top>");
    compiled().validate(Document::Xml(&xml)).err().unwrap_or_default()
}

fn summary(errors: &[Error]) -> Vec<(ErrorTag, Option<&str>, Option<&str>)> {
    errors
        .iter()
        .map(|error| (error.tag, error.app_tag.as_deref(), error.path.as_ref().map(|path| path.0.as_str())))
        .collect()
}

#[test]
fn constraints_types_and_flags_reach_the_schema() {
    let schema = compiled().schema();
    let node = |name: &str| schema.nodes.iter().rfind(|node| node.name == name).unwrap();
    assert_eq!(node("top").description.as_deref(), Some("First line and second."));
    assert!(node("top").flags.compress && node("a").flags.column == Some(2));
    let secret = &node("secret").flags;
    assert!(
        secret.sensitive
            && secret.default_deny_all
            && secret.hidden
            && secret.alias.as_deref() == Some("password")
    );
    assert!(node("b").flags.default_deny_write && !node("b").flags.sensitive);
    assert!(node("hash").flags.default_deny_all && node("hash").flags.sensitive);
    let NodeKind::List { uniques, max_elements, .. } = &node("item").kind else { panic!() };
    assert_eq!((uniques.as_slice(), *max_elements), ([vec![node("a").id, node("b").id]].as_slice(), Some(3)));
    let Type::Integer { range, .. } = leaf_type(schema, "b") else { panic!() };
    assert_eq!(range.iter().map(|span| (span.min, span.max)).collect::<Vec<_>>(), [(-5, 5), (10, 10)]);
    let NodeKind::Leaf { default, .. } = &node("form").kind else { panic!() };
    assert_eq!(default.as_deref(), Some("judge:ball"));
    let Type::String { canonical, .. } = leaf_type(schema, "hash") else { panic!() };
    assert_eq!(*canonical, Canonical::Lowercase);
    let Type::Decimal64 { digits, range } = leaf_type(schema, "time") else { panic!() };
    assert_eq!((*digits, range[0].max), (3, 3_600_000_000));
}

#[test]
fn a_when_says_whether_its_context_is_the_node_or_the_parent() {
    let schema = compiled().schema();
    let node = |name: &str| schema.nodes.iter().rfind(|node| node.name == name).unwrap();
    let own = &node("only-a").whens[0];
    assert_eq!((own.text.as_str(), own.on_parent), ("../kind = 'a'", false));
    let of_uses = &node("inner").whens[0];
    assert_eq!((of_uses.text.as_str(), of_uses.on_parent), ("j:kind = 'b'", true));
    let judge = schema.modules.iter().position(|module| module.name == "judge").unwrap();
    assert!(of_uses.prefixes.iter().any(|(prefix, module)| prefix == "j" && usize::from(module.0) == judge));
    let must = &node("top").musts[0];
    assert_eq!(must.app_tag.as_deref(), Some("no-items"));
    assert_eq!(must.message.as_deref(), Some("only-b needs an item"));
}

#[test]
fn leafrefs_find_their_targets_also_inside_of_unions() {
    let schema = compiled().schema();
    let node = |name: &str| schema.nodes.iter().rfind(|node| node.name == name).unwrap();
    let Type::Leafref { target, real, require_instance, .. } = leaf_type(schema, "ref") else { panic!() };
    let name =
        schema.nodes.iter().find(|child| child.parent == Some(node("item").id) && child.name == "name");
    assert_eq!(*target, name.map(|name| name.id));
    assert!(matches!(real.base, Type::String { .. }) && *require_instance);
    let Type::Union(members) = leaf_type(schema, "maybe") else { panic!() };
    let Type::Leafref { target, .. } = &members[0].base else { panic!() };
    assert_eq!(*target, Some(node("a").id));
    let names: Vec<&str> = members[1..].iter().map(|member| member.name.as_str()).collect();
    assert_eq!(names, ["ipv4-prefix", "ipv6-prefix"]);
    let NodeKind::Leaf { ty, .. } = &node("count").kind else { panic!() };
    assert_eq!(ty.name, "zero-based-counter64");
}

#[test]
fn a_missing_leafref_target_is_instance_required() {
    let errors = judged("<one>x</one><ref>gone</ref>");
    let wanted = (ErrorTag::DataMissing, Some("instance-required"), Some("/judge:top/ref"));
    assert_eq!(summary(&errors), [wanted]);
}

#[test]
fn entries_that_are_not_unique_are_both_named() {
    let errors = judged(
        "<one>x</one><item><name>x</name><a>1</a><b>2</b></item><item><name>y</name><a>1</a><b>2</b></item>",
    );
    assert_eq!(errors[0].app_tag.as_deref(), Some("data-not-unique"));
    let leaf = |entry: &str, leaf: &str| {
        ErrorInfo::NonUnique(Path(format!("/judge:top/item[name='{entry}']/{leaf}")))
    };
    for expected in [leaf("x", "a"), leaf("x", "b"), leaf("y", "a"), leaf("y", "b")] {
        assert!(errors[0].info.contains(&expected), "{expected:?} of {errors:?}");
    }
}

#[test]
fn too_many_entries_are_reported_at_the_list() {
    let item = |name: &str| format!("<item><name>{name}</name></item>");
    let items: String = ["a", "b", "c", "d"].map(item).concat();
    let wanted = (ErrorTag::OperationFailed, Some("too-many-elements"), Some("/judge:top/item"));
    assert_eq!(summary(&judged(&format!("<one>x</one>{items}"))), [wanted]);
    let wanted = (ErrorTag::OperationFailed, Some("too-many-elements"), Some("/judge:top/few"));
    assert_eq!(summary(&judged("<one>x</one><few>3</few><few>1</few><few>2</few>")), [wanted]);
}

#[test]
fn a_mandatory_choice_and_a_mandatory_leaf_are_missed() {
    let errors = judged("<kind>x</kind><extra/>");
    let missing_choice = (ErrorTag::DataMissing, Some("missing-choice"), Some("/judge:top"));
    let missing_leaf = (ErrorTag::DataMissing, None, Some("/judge:top/extra/need"));
    let found = summary(&errors);
    assert!(found.contains(&missing_choice) && found.contains(&missing_leaf), "{found:?}");
    assert!(errors.iter().any(|error| error.info == [ErrorInfo::MissingChoice("pick".into())]), "{errors:?}");
}

#[test]
fn every_must_that_fails_is_reported_with_its_own_app_tag() {
    let errors = judged("<one>x</one><only-b/><twice/>");
    let at_top = Some("/judge:top");
    let wanted = [
        (ErrorTag::OperationFailed, Some("no-items"), at_top),
        (ErrorTag::OperationFailed, Some("must-violation"), at_top),
    ];
    assert_eq!(summary(&errors), wanted);
    assert_eq!(errors[0].message, "only-b needs an item");
}

#[test]
fn errors_stand_in_the_order_of_the_document() {
    let errors = judged("<one>x</one><only-b/><ref>gone</ref><extra/>");
    let paths: Vec<&str> = summary(&errors).into_iter().filter_map(|(_, _, path)| path).collect();
    assert_eq!(paths, ["/judge:top", "/judge:top/ref", "/judge:top/extra/need"], "{errors:?}");
}

#[test]
fn values_and_names_that_do_not_parse_are_all_reported() {
    let errors = judged("<one>x</one><item><name>UP</name><b>7</b></item><nothing/>");
    let found = summary(&errors);
    let tags: Vec<ErrorTag> = found.iter().map(|(tag, _, _)| *tag).collect();
    assert!(tags.contains(&ErrorTag::InvalidValue) && tags.contains(&ErrorTag::UnknownElement), "{errors:?}");
    assert!(found.iter().any(|(_, app_tag, _)| *app_tag == Some("letters")), "{errors:?}");
    let errors = compiled().validate(Document::Xml("<x xmlns=\"urn:none\"/>")).unwrap_err();
    assert_eq!(errors[0].tag, ErrorTag::UnknownNamespace, "{errors:?}");
    let errors = compiled().validate(Document::Xml("<top xmlns=\"urn:judge\">")).unwrap_err();
    assert_eq!(errors[0].tag, ErrorTag::MalformedMessage, "{errors:?}");
    let errors = compiled().validate(Document::Xml("<top>\0</top>")).unwrap_err();
    assert_eq!(errors[0].tag, ErrorTag::MalformedMessage);
}

#[test]
fn a_node_whose_when_is_false_is_deleted_and_reported() {
    let xml = "<top xmlns=\"urn:judge\"><one>x</one><kind>b</kind><only-a>y</only-a><inner>z</inner></top>";
    let verdict = compiled().validate(Document::Xml(xml)).unwrap();
    assert_eq!(verdict.deleted, [Path("/judge:top/only-a".into())]);
    let errors = compiled().validate_strictly(Document::Xml(xml)).unwrap_err();
    assert_eq!(summary(&errors), [(ErrorTag::UnknownElement, None, Some("/judge:top/only-a"))]);
}

/// The resident memory of this process in octets.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn the_memory_of_a_big_configuration_goes_back_to_the_system() {
    let entry = |n: usize| format!("<plain><id>{n}</id><text>{n:064}</text></plain>");
    let entries: String = (0..100_000).map(entry).collect();
    let xml = format!("<top xmlns=\"urn:judge\"><one>x</one>{entries}</top>");
    let before = resident();
    assert_eq!(compiled().validate(Document::Xml(&xml)), Ok(Default::default()));
    let grown = resident().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} octets more than before, with a text of {}", xml.len());
}
