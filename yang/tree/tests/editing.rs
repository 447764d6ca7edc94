//! edit-config as RFC 6241 and RFC 7950 have it, on the model probe-bench.

mod bench;

use bench::{Bench, attribute, element, in_bench, path};
use cats_yang_tree::error::{ErrorInfo, ErrorTag, ErrorType, MOST};
use cats_yang_tree::schema::NodeKind;
use cats_yang_tree::{
    DefaultOperation, Defaults, InstancePath, Operation, Ops, Tree, Value, diff, edit, validate,
};
use std::fmt::Write as _;

const MERGE: DefaultOperation = DefaultOperation::Merge;

#[test]
fn creating_an_entry_that_exists_is_data_exists() {
    let mut bench = Bench::with("<item><name>a</name></item>");
    let error = bench.refused(MERGE, &in_bench(r#"<item nc:operation="create"><name>a</name></item>"#));
    assert_eq!((error.tag, error.kind), (ErrorTag::DataExists, ErrorType::Application));
    assert_eq!(path(&error), "/probe-bench:bench/item[name='a']");
}

#[test]
fn removing_what_is_not_there_is_ignored_and_deleting_it_is_data_missing() {
    let mut bench = Bench::with("<knob>1</knob>");
    let before = bench.tree.clone();
    bench.edit(r#"<item nc:operation="remove"><name>a</name></item>"#).expect("ignored");
    assert!(bench.tree.ptr_eq(&before), "nothing was copied");
    let error = bench.refused(MERGE, &in_bench(r#"<item nc:operation="delete"><name>a</name></item>"#));
    assert_eq!(error.tag, ErrorTag::DataMissing);
    let error = bench.refused(MERGE, &in_bench(r#"<mode nc:operation="delete"/>"#));
    assert_eq!(error.tag, ErrorTag::DataMissing, "a default is not data");
}

#[test]
fn default_operation_none_needs_every_level_to_exist() {
    let mut bench = Bench::with("<item><name>a</name></item>");
    let config = in_bench(r#"<item><name>b</name><size nc:operation="create">1</size></item>"#);
    let error = bench.refused(DefaultOperation::None, &config);
    assert_eq!(error.tag, ErrorTag::DataMissing);
    assert_eq!(path(&error), "/probe-bench:bench/item[name='b']");
    let config = in_bench(r#"<item><name>a</name><size nc:operation="create">1</size></item>"#);
    bench.config(DefaultOperation::None, &config).expect("the level is there");
    assert_eq!(bench.xml(), "<item><name>a</name><size>1</size></item>");
    let error = bench.refused(DefaultOperation::None, &in_bench("<knob>7</knob>"));
    assert_eq!(error.tag, ErrorTag::DataMissing);
}

#[test]
fn an_operation_attribute_without_namespace_is_not_taken_as_merge() {
    let mut bench = Bench::with("<knob>1</knob>");
    let error = bench.refused(MERGE, &in_bench(r#"<knob operation="delete"/>"#));
    assert_eq!(error.tag, ErrorTag::UnknownAttribute);
    assert_eq!(error.info, [attribute("operation"), element("knob")]);
    let error = bench.refused(MERGE, &in_bench(r#"<knob nc:operation="drop"/>"#));
    assert_eq!(error.tag, ErrorTag::BadAttribute);
    assert_eq!(error.info, [attribute("operation"), element("knob")]);
}

#[test]
fn replacing_a_container_replaces_everything_in_it() {
    let mut bench = Bench::with("<knob>1</knob><tag>x</tag><item><name>a</name><size>1</size></item>");
    bench
        .config(
            MERGE,
            &format!(r#"<bench xmlns="{}" nc:operation="replace"><mode>m</mode></bench>"#, bench::NS),
        )
        .expect("replaced");
    assert_eq!(bench.xml(), "<mode>m</mode>");
    bench.config(DefaultOperation::Replace, "").expect("an empty configuration");
    assert!(bench.tree.is_empty());
}

#[test]
fn replacing_with_equal_content_keeps_the_old_nodes() {
    let content = "<knob>1</knob><item><name>a</name></item><item><name>b</name></item><rule><id>2</id><action>deny</action></rule>";
    let mut bench = Bench::with(content);
    let before = bench.tree.clone();
    bench.config(DefaultOperation::Replace, &in_bench(content)).expect("replaced");
    assert!(bench.tree.ptr_eq(&before));
    bench.config(DefaultOperation::Replace, &in_bench(&content.replace(">1<", ">2<"))).expect("replaced");
    let changes = diff(&before, &bench.tree);
    assert_eq!(changes.changes.len(), 1);
}

#[test]
fn an_entry_without_its_key_is_missing_element() {
    let mut bench = Bench::with("");
    let error = bench.refused(MERGE, &in_bench("<item><size>1</size></item>"));
    assert_eq!(error.tag, ErrorTag::MissingElement);
    assert_eq!(error.info, [element("name")]);
    assert_eq!(path(&error), "/probe-bench:bench/item");
}

#[test]
fn unknown_namespaces_and_elements_are_told_apart() {
    let mut bench = Bench::with("");
    let error = bench.refused(MERGE, r#"<bench xmlns="urn:nowhere"/>"#);
    assert_eq!(error.tag, ErrorTag::UnknownNamespace);
    assert_eq!(error.info, [element("bench"), ErrorInfo::BadNamespace("urn:nowhere".to_owned())]);
    let error = bench.refused(MERGE, &in_bench("<bolt/>"));
    assert_eq!((error.tag, error.info.as_slice()), (ErrorTag::UnknownElement, &[element("bolt")][..]));
    assert_eq!(path(&error), "/probe-bench:bench");
}

#[test]
fn values_out_of_range_are_invalid_with_their_path() {
    let mut bench = Bench::with("");
    let error = bench.refused(MERGE, &in_bench("<knob>4294967296</knob>"));
    assert_eq!((error.tag, path(&error)), (ErrorTag::InvalidValue, "/probe-bench:bench/knob"));
    let error = bench.refused(MERGE, &in_bench("<item><name>a</name><size>0</size></item>"));
    assert_eq!((error.tag, path(&error)), (ErrorTag::InvalidValue, "/probe-bench:bench/item[name='a']/size"));
    let error = bench.refused(MERGE, &in_bench("<item><name/></item>"));
    assert_eq!((error.tag, path(&error)), (ErrorTag::InvalidValue, "/probe-bench:bench/item/name"));
}

#[test]
fn all_errors_of_an_edit_are_collected_in_document_order() {
    let mut bench = Bench::with("");
    let errors = bench.edit("<knob>x</knob><bolt/><item><size>0</size></item>").expect_err("three errors");
    let tags: Vec<ErrorTag> = errors.iter().map(|error| error.tag).collect();
    assert_eq!(tags, [ErrorTag::InvalidValue, ErrorTag::UnknownElement, ErrorTag::MissingElement]);
    let errors = bench
        .edit(r#"<knob nc:operation="delete"/><mode nc:operation="delete"/>"#)
        .expect_err("two errors of the second kind");
    assert_eq!(errors.len(), 2);
}

#[test]
fn the_value_of_a_deleted_leaf_is_ignored() {
    let mut bench = Bench::with("<knob>1</knob><mode>m</mode>");
    bench.edit(r#"<knob nc:operation="delete">2</knob>"#).expect("deleted");
    bench.edit(r#"<mode nc:operation="remove">other</mode>"#).expect("removed");
    assert!(bench.tree.is_empty(), "an empty container without presence is not stored");
}

#[test]
fn leaf_list_entries_go_where_insert_says() {
    let mut bench = Bench::with("<tag>b</tag><tag>d</tag>");
    bench.edit(r#"<tag yang:insert="first">a</tag>"#).expect("first");
    bench.edit(r#"<tag yang:insert="after" yang:value="b">c</tag><tag>e</tag>"#).expect("after");
    assert_eq!(bench.xml(), "<tag>a</tag><tag>b</tag><tag>c</tag><tag>d</tag><tag>e</tag>");
    bench.edit(r#"<tag yang:insert="before" yang:value="a">e</tag>"#).expect("an existing one moves");
    assert_eq!(bench.xml(), "<tag>e</tag><tag>a</tag><tag>b</tag><tag>c</tag><tag>d</tag>");
}

#[test]
fn placements_and_other_creates_of_one_edit_are_done_in_order() {
    let mut bench = Bench::with("<tag>m</tag>");
    bench
        .edit(concat!(
            r#"<tag>z</tag><tag yang:insert="before" yang:value="z">y</tag>"#,
            r#"<tag yang:insert="after" yang:value="m">n</tag><tag yang:insert="first">a</tag><tag>zz</tag>"#
        ))
        .expect("every anchor exists when it is needed");
    assert_eq!(bench.xml(), "<tag>a</tag><tag>m</tag><tag>n</tag><tag>y</tag><tag>z</tag><tag>zz</tag>");
}

#[test]
fn list_entries_go_where_insert_says() {
    let rule =
        |attributes: &str, id: u32| format!("<rule{attributes}><id>{id}</id><action>deny</action></rule>");
    let mut bench = Bench::with(&format!("{}{}", rule("", 10), rule("", 20)));
    bench
        .edit(&rule(&format!(r#" xmlns:q="{}" yang:insert="before" yang:key="[q:id='20']""#, bench::NS), 5))
        .expect("before 20");
    let ids: Vec<&str> = vec!["10", "5", "20"];
    let seen: Vec<String> =
        ids.iter().map(|id| format!("<rule><id>{id}</id><action>deny</action></rule>")).collect();
    assert_eq!(bench.xml(), seen.concat());
}

#[test]
fn a_missing_anchor_is_bad_attribute_missing_instance() {
    let mut bench = Bench::with("<tag>a</tag>");
    let error = bench.refused(MERGE, &in_bench(r#"<tag yang:insert="after" yang:value="nope">x</tag>"#));
    assert_eq!(error.tag, ErrorTag::BadAttribute);
    assert_eq!(error.app_tag.as_deref(), Some("missing-instance"));
    assert_eq!(error.info, [attribute("value"), element("tag")]);
    let error = bench.refused(MERGE, &in_bench(r#"<tag yang:insert="before">x</tag>"#));
    assert_eq!(error.tag, ErrorTag::MissingAttribute);
}

#[test]
fn insert_on_a_list_that_the_system_orders_is_unknown_attribute() {
    let mut bench = Bench::with("");
    let error = bench.refused(MERGE, &in_bench(r#"<item yang:insert="first"><name>a</name></item>"#));
    assert_eq!(error.tag, ErrorTag::UnknownAttribute);
    assert_eq!(error.info, [attribute("insert"), element("item")]);
}

/// The case E23.
#[test]
fn data_of_one_case_delete_those_of_another() {
    let mut bench = Bench::with("<ca>1</ca><knob>1</knob>");
    bench.edit("<cb>2</cb>").expect("the other case");
    assert_eq!(bench.xml(), "<knob>1</knob><cb>2</cb>");
    let error = bench.refused(MERGE, &in_bench("<ca>1</ca><cb>2</cb>"));
    assert_eq!(error.tag, ErrorTag::BadElement, "two cases in one edit");
}

#[test]
fn the_same_instance_twice_in_one_edit_is_an_error() {
    let mut bench = Bench::with("");
    let error = bench.refused(MERGE, &in_bench("<knob>1</knob><knob>2</knob>"));
    assert_eq!((error.tag, path(&error)), (ErrorTag::BadElement, "/probe-bench:bench/knob"));
    let error = bench.refused(MERGE, &in_bench("<item><name>a</name></item><item><name>a</name></item>"));
    assert_eq!(path(&error), "/probe-bench:bench/item[name='a']");
    let error = bench.refused(MERGE, &in_bench("<tag>a</tag><tag>a</tag>"));
    assert_eq!(path(&error), "/probe-bench:bench/tag[.='a']");
}

/// The case E30.
#[test]
fn a_leafref_to_a_missing_entry_is_instance_required() {
    let mut bench = Bench::with("<item><name>a</name></item>");
    let base = bench.tree.clone();
    bench.edit("<item-ref>a</item-ref>").expect("edits do not look at references");
    let changes = diff(&base, &bench.tree);
    let (valid, changed) =
        validate(&bench.schema, &base, bench.tree.clone(), changes.clone()).expect("valid");
    assert_eq!((&valid, &changed), (&bench.tree, &changes));
    bench.edit(r#"<item nc:operation="delete"><name>a</name></item>"#).expect("deleted");
    let errors =
        validate(&bench.schema, &valid, bench.tree.clone(), diff(&valid, &bench.tree)).expect_err("dangling");
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].tag, ErrorTag::DataMissing);
    assert_eq!(errors[0].app_tag.as_deref(), Some("instance-required"));
    assert_eq!(path(&errors[0]), "/probe-bench:bench/item-ref");
}

#[test]
fn mandatory_leafs_are_asked_for_where_their_parent_exists() {
    let mut bench = Bench::with("");
    let base = bench.tree.clone();
    bench.edit("<pres/><rule><id>1</id></rule>").expect("edits do not look at mandatory leafs");
    let errors =
        validate(&bench.schema, &base, bench.tree.clone(), diff(&base, &bench.tree)).expect_err("two lack");
    let found: Vec<(ErrorTag, &str)> = errors.iter().map(|error| (error.tag, path(error))).collect();
    assert_eq!(
        found,
        [
            (ErrorTag::DataMissing, "/probe-bench:bench/rule[id='1']/action"),
            (ErrorTag::DataMissing, "/probe-bench:bench/pres/must-leaf"),
        ]
    );
}

#[test]
fn identities_may_come_with_any_prefix_and_leave_with_a_declared_one() {
    let mut bench = Bench::with("");
    bench
        .edit(&format!(r#"<item><name>a</name><shape xmlns:zz="{}">zz:round</shape></item>"#, bench::NS))
        .expect("the prefix is declared");
    assert_eq!(
        bench.xml(),
        r#"<item><name>a</name><shape xmlns:pb="urn:probe:bench">pb:round</shape></item>"#
    );
    let error = bench.refused(MERGE, &in_bench("<item><name>a</name><shape>no:round</shape></item>"));
    assert_eq!(error.tag, ErrorTag::InvalidValue);
    let error = bench.refused(MERGE, &in_bench("<item><name>a</name><shape>shape</shape></item>"));
    assert_eq!(error.tag, ErrorTag::InvalidValue, "a base is not derived from itself");
}

#[test]
fn instance_identifiers_convert_between_prefixes_and_module_names() {
    let mut bench = Bench::with("");
    bench
        .edit(&format!(r#"<inst xmlns:k="{}">/k:bench/k:item[k:name='a']/k:size</inst>"#, bench::NS))
        .expect("the prefixes are declared");
    let xml = bench.xml();
    let value = "/pb:bench/pb:item[pb:name='a']/pb:size";
    assert_eq!(xml, format!(r#"<inst xmlns:pb="urn:probe:bench">{value}</inst>"#));
    let json = cats_yang_tree::json::branch(&bench.schema, bench.tree.root(), None);
    assert_eq!(json["probe-bench:bench"]["inst"], "/probe-bench:bench/item[name='a']/size");
    let ops = Ops::from_json(&bench.schema, &json, Operation::Merge).expect("JSON reads back");
    assert_eq!(edit(&Tree::new(), &bench.schema, ops).expect("applies"), bench.tree);
}

#[test]
fn text_survives_as_it_was_given() {
    let mut bench = Bench::with("");
    bench.edit("<mode><![CDATA[a<b&c]]></mode><tag>]]&gt;]]&gt;</tag>").expect("text");
    assert_eq!(bench.xml(), "<mode>a&lt;b&amp;c</mode><tag>]]&gt;]]&gt;</tag>");
    bench.edit("<mode>x<!-- no text -->y\r\n</mode>").expect("a comment is not text");
    assert!(bench.xml().starts_with("<mode>xy\n</mode>"), "{}", bench.xml());
}

#[test]
fn documents_that_nest_too_deep_are_refused_before_they_are_parsed() {
    let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
    let errors = Ops::from_xml_str(&bench::schema(), &deep, MERGE).expect_err("too deep");
    assert_eq!(errors[0].tag, ErrorTag::TooBig);
    let errors = Ops::from_xml_str(&bench::schema(), "<!DOCTYPE a []><a/>", MERGE).expect_err("a DTD");
    assert_eq!(errors[0].tag, ErrorTag::MalformedMessage);
    let flat = format!("<config>{}</config>", "<!-- <a><a> -->".repeat(1000));
    assert!(Ops::from_xml_str(&bench::schema(), &flat, MERGE).is_ok(), "comments have no depth");
}

#[test]
fn documents_with_many_attributes_are_refused_before_they_are_parsed() {
    let many: String = (0..1_000_000).map(|n| format!(" a{n}=''")).collect();
    let errors = Ops::from_xml_str(&bench::schema(), &format!("<config{many}/>"), MERGE).expect_err("many");
    assert_eq!(errors[0].tag, ErrorTag::TooBig);
}

#[test]
fn operations_one_by_one_do_what_xml_does() {
    let mut bench = Bench::with("<ca>x</ca>");
    let schema = bench.schema.clone();
    let at = |path: &str| InstancePath::parse(&schema, path).expect("a path of the schema");
    let mut ops = Ops::default();
    let size = Some(Value::Uint32(7));
    ops.push(&schema, &at("/probe-bench:bench/item[name='a']/size"), Operation::Merge, size).expect("a leaf");
    ops.push(&schema, &at("/probe-bench:bench/tag[.='t']"), Operation::Create, None).expect("an entry");
    ops.push(&schema, &at("/probe-bench:bench/ca"), Operation::Delete, None).expect("a deletion");
    ops.push(&schema, &at("/probe-bench:bench/item[name='zz']/size"), Operation::Remove, None)
        .expect("a removal");
    bench.tree = edit(&bench.tree, &schema, ops).expect("applies");
    assert_eq!(bench.xml(), "<tag>t</tag><item><name>a</name><size>7</size></item>");
    let mut ops = Ops::default();
    ops.push(&schema, &at("/probe-bench:bench/item"), Operation::Delete, None).expect("a whole list");
    ops.push(&schema, &at("/probe-bench:bench/item[name='q']/size"), Operation::Delete, None)
        .expect("a leaf");
    let errors = edit(&bench.tree, &schema, ops).expect_err("q does not exist");
    assert_eq!((errors.len(), errors[0].tag), (1, ErrorTag::DataMissing));
    assert!(Ops::default().push(&schema, &at("/probe-bench:bench/item"), Operation::Merge, None).is_err());
}

#[test]
fn ten_thousand_entries_go_in_with_one_edit_and_a_small_edit_shares_the_rest() {
    let mut content = String::new();
    for at in 0..10_000 {
        let _ = write!(content, "<item><name>n{at}</name><size>{}</size></item>", at + 1);
    }
    let mut bench = Bench::with(&content);
    assert_eq!(bench.tree.count_values(), 20_000);
    let before = bench.tree.clone();
    bench.edit("<item><name>n77</name><size>5</size></item>").expect("one leaf");
    let changes = diff(&before, &bench.tree);
    assert_eq!(changes.changes.len(), 1);
    assert_eq!(changes.changes[0].path.render(&bench.schema).0, "/probe-bench:bench/item[name='n77']/size");
}

#[test]
fn the_builder_and_the_look_ups_agree() {
    let schema = bench::schema();
    let module = schema.module_by_namespace(bench::NS).expect("the module");
    assert_eq!(schema.module_by_prefix("pb"), Some(module));
    let bench = schema.child(None, module, "bench").expect("bench");
    let ca = schema.child(Some(bench), module, "ca").expect("seen through choice and case");
    assert_eq!(schema.path_of(ca), "/probe-bench:bench/ca");
    assert_eq!(schema.data_parent(ca), Some(bench));
    let (choice, case) = schema.case_of(ca).expect("in a case");
    assert!(matches!(schema.node(choice).kind, NodeKind::Choice { .. }));
    assert_eq!(schema.node(case).name, "a");
    let item = schema.child(Some(bench), module, "item").expect("item");
    assert!(schema.is_key(schema.data_children(item)[0]));
    let again: cats_yang_tree::schema::Schema =
        serde_json::from_str(&serde_json::to_string(&schema).expect("encodes")).expect("decodes");
    assert_eq!(again.clone().indexed(), schema);
    assert_eq!(again.indexed().child(Some(bench), module, "ca"), Some(ca));
}

#[test]
fn many_inserts_at_one_place_keep_their_order() {
    let insert = |names: std::ops::Range<usize>, place: &str| {
        let tags = names.map(|name| {
            format!("<tag xmlns:y=\"urn:ietf:params:xml:ns:yang:1\" y:insert=\"{place}\" y:value=\"t\">{name}</tag>")
        });
        tags.collect::<String>()
    };
    let tags = |bench: &Bench| {
        let text = bench.filtered(Defaults::Explicit, &in_bench("<tag/>"));
        let inner = text.split("<tag>").skip(1).filter_map(|rest| rest.split('<').next().map(str::to_owned));
        inner.collect::<Vec<String>>()
    };
    for (place, expected) in [("before", true), ("after", false)] {
        let mut bench = Bench::with("<tag>a</tag><tag>t</tag><tag>z</tag>");
        bench.edit(&insert(0..20_000, place)).unwrap();
        let numbers = (0..20_000).map(|name| name.to_string());
        let numbers: Vec<String> = if expected { numbers.collect() } else { numbers.rev().collect() };
        let mut wanted = vec!["a".to_owned()];
        wanted.extend(if expected {
            [&numbers[..], &["t".to_owned()]].concat()
        } else {
            [&["t".to_owned()], &numbers[..]].concat()
        });
        wanted.push("z".to_owned());
        assert_eq!(tags(&bench), wanted, "{place}");
    }
}

#[test]
fn of_very_many_errors_the_first_are_told_and_the_others_counted() {
    let mut bench = Bench::with("<knob>1</knob>");
    let count = 5000;
    let mut cases: Vec<String> = Vec::new();
    let each = |pattern: &str| (0..count).map(|n| pattern.replace('#', &n.to_string())).collect::<String>();
    cases.push(each("<item><name>#</name><size>x</size></item>"));
    cases.push(each("<item><size>1</size></item>"));
    cases.push(each("<item/>"));
    cases.push(each("<knob>1</knob>"));
    cases.push(each("<item nc:operation=\"delete\"><name>#</name></item>"));
    cases.push(each("<none/>"));
    for case in cases {
        let errors = bench.config(MERGE, &in_bench(&case)).expect_err("it has errors");
        assert_eq!(errors.len(), MOST + 1, "{:.60}", case);
        let last = errors.last().expect("the last one");
        assert!(last.message.contains(" more errors"), "{last}");
    }
}
