//! Edits that servers in wide use get wrong, with every part of the right answer, over NETCONF.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_mgmtd_netconf::Answer;
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, ErrorType, Path};
use daemon::{Daemon, Place, Session};

const NS: &str = "urn:probe:bench";
const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

/// A daemon with the module, and a session.
struct Bench {
    _place: Place,
    _daemon: Daemon,
    session: Session,
}

impl Bench {
    fn new() -> Self {
        let place = Place::new();
        let module = place.path("probe-bench.yang");
        std::fs::write(&module, include_str!("daemon/probe-bench.yang")).unwrap();
        let daemon = place.start_with(&["--extra-module", module.to_str().unwrap()]);
        let session = daemon.client();
        Self { _place: place, _daemon: daemon, session }
    }

    fn ask(&mut self, options: &str, config: &str) -> Answer {
        self.session.ask(&format!(
            "<edit-config><target><candidate/></target>{options}<config xmlns:nc=\"{BASE}\" \
             xmlns:y=\"urn:ietf:params:xml:ns:yang:1\">{config}</config></edit-config>"
        ))
    }

    fn ok(&mut self, inner: &str) {
        assert_eq!(self.ask("", &bench(inner)), Answer::Ok, "{inner}");
    }

    /// The errors of an edit with options, after which the candidate is as it was.
    fn all_refused(&mut self, options: &str, config: &str) -> Vec<Error> {
        let before = self.candidate();
        let Answer::Errors(errors) = self.ask(options, config) else { panic!("{config} was taken") };
        assert_eq!(self.candidate(), before);
        errors
    }

    fn refused(&mut self, inner: &str) -> Error {
        let mut errors = self.all_refused("", &bench(inner));
        assert_eq!(errors.len(), 1, "{errors:?}");
        errors.remove(0)
    }

    fn candidate(&mut self) -> String {
        let filter = format!("<filter><bench xmlns=\"{NS}\"/></filter>");
        self.session.data(&format!("<get-config><source><candidate/></source>{filter}</get-config>"))
    }

    /// The texts of the elements of this name, in their order.
    fn texts(&mut self, name: &str) -> Vec<String> {
        let (xml, tag) = (self.candidate(), format!("<{name}>"));
        let parts = xml.split(&tag).skip(1);
        parts.map(|part| part.split("</").next().unwrap().to_owned()).collect()
    }
}

fn bench(inner: &str) -> String {
    format!("<bench xmlns=\"{NS}\">{inner}</bench>")
}

/// A path below `bench` as the client gives it: with the module's own prefix, which a reply declares, at the first node.
fn at(rest: &str) -> Option<Path> {
    Some(Path(format!("/pb:bench{rest}")))
}

fn element(name: &str) -> ErrorInfo {
    ErrorInfo::BadElement(name.to_owned())
}

fn attribute(name: &str) -> ErrorInfo {
    ErrorInfo::BadAttribute(name.to_owned())
}

/// The case E01.
#[test]
fn creating_an_entry_that_exists_is_data_exists() {
    let mut bench = Bench::new();
    bench.ok("<item><name>a</name></item>");
    let error = bench.refused("<item nc:operation=\"create\"><name>a</name><size>1</size></item>");
    assert_eq!((error.kind, error.tag), (ErrorType::Application, ErrorTag::DataExists));
    assert_eq!((error.path, error.app_tag), (at("/item[name='a']"), None));
}

#[test]
fn deleting_an_entry_that_does_not_exist_is_data_missing() {
    let mut bench = Bench::new();
    let error = bench.refused("<item nc:operation=\"delete\"><name>a</name></item>");
    assert_eq!((error.kind, error.tag), (ErrorType::Application, ErrorTag::DataMissing));
    assert_eq!(error.path, at("/item[name='a']"));
}

/// The case E03.
#[test]
fn removing_what_does_not_exist_is_ok_and_changes_nothing() {
    let mut bench = Bench::new();
    bench.ok("<item><name>b</name></item>");
    let before = bench.candidate();
    for nothing in [
        "<item nc:operation=\"remove\"><name>a</name></item>",
        "<knob nc:operation=\"remove\"/>",
        "<tag nc:operation=\"remove\">x</tag>",
        "<pres nc:operation=\"remove\"/>",
    ] {
        bench.ok(nothing);
        assert_eq!(bench.candidate(), before);
    }
}

/// The case E04.
#[test]
fn a_level_that_does_not_exist_under_default_operation_none_is_data_missing() {
    let mut wanted = Bench::new();
    let none = "<default-operation>none</default-operation>";
    let edit = bench("<item><name>a</name><size nc:operation=\"create\">1</size></item>");
    let errors = wanted.all_refused(none, &edit);
    assert_eq!((errors[0].tag, &errors[0].path), (ErrorTag::DataMissing, &at("/item[name='a']")));
    wanted.ok("<item><name>a</name></item>");
    assert_eq!(wanted.ask(none, &edit), Answer::Ok);
}

/// The case E06.
#[test]
fn an_operation_attribute_of_no_namespace_is_unknown() {
    let mut bench = Bench::new();
    bench.ok("<knob>1</knob>");
    let error = bench.refused("<knob operation=\"delete\"/>");
    assert_eq!(error.tag, ErrorTag::UnknownAttribute);
    assert_eq!(error.info, [attribute("operation"), element("knob")]);
    let error = bench.refused("<knob nc:operation=\"frobnicate\">2</knob>");
    assert_eq!(error.tag, ErrorTag::BadAttribute);
    assert_eq!(error.info, [attribute("operation"), element("knob")]);
}

/// The case E08.
#[test]
fn replace_of_a_container_replaces_all_of_it() {
    let mut bench = Bench::new();
    bench.ok("<knob>1</knob><item><name>a</name></item><tag>t</tag>");
    let replace = format!("<bench xmlns=\"{NS}\" nc:operation=\"replace\"><mode>m</mode></bench>");
    assert_eq!(bench.ask("", &replace), Answer::Ok);
    let found = bench.candidate();
    assert!(found.contains("<mode>m</mode>"), "{found}");
    assert!(!["knob", "item", "tag"].iter().any(|gone| found.contains(gone)), "{found}");
}

/// The case E10.
#[test]
fn an_entry_without_its_key_is_a_missing_element() {
    let mut bench = Bench::new();
    let error = bench.refused("<item><size>1</size></item>");
    assert_eq!((error.tag, &error.info[..]), (ErrorTag::MissingElement, &[element("name")][..]));
    assert_eq!(error.path, at("/item"));
}

/// The case E12.
#[test]
fn a_namespace_that_no_module_has_is_named() {
    let mut bench = Bench::new();
    let errors = bench.all_refused("", "<bench xmlns=\"urn:nobody\"/>");
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].tag, ErrorTag::UnknownNamespace);
    assert_eq!(errors[0].info, [element("bench"), ErrorInfo::BadNamespace("urn:nobody".into())]);
    let error = bench.refused("<nothing/>");
    assert_eq!((error.tag, &error.info[..]), (ErrorTag::UnknownElement, &[element("nothing")][..]));
}

/// The case E13.
#[test]
fn values_out_of_their_range_are_invalid_and_their_place_is_told() {
    let mut bench = Bench::new();
    for (inner, path) in [
        ("<knob>4294967296</knob>", "/knob"),
        ("<knob>-1</knob>", "/knob"),
        ("<knob/>", "/knob"),
        ("<item><name>a</name><size>0</size></item>", "/item[name='a']/size"),
        ("<item><name>a</name><enabled>yes</enabled></item>", "/item[name='a']/enabled"),
        ("<item><name>a</name><shape>triangle</shape></item>", "/item[name='a']/shape"),
        ("<rule><id>1</id><action>reject</action></rule>", "/rule[id='1']/action"),
    ] {
        let error = bench.refused(inner);
        assert_eq!((error.kind, error.tag), (ErrorType::Application, ErrorTag::InvalidValue), "{inner}");
        assert_eq!(error.path, at(path), "{inner}");
    }
}

/// The case E15.
#[test]
fn the_value_in_the_delete_of_a_leaf_does_not_count() {
    let mut bench = Bench::new();
    bench.ok("<knob>1</knob>");
    bench.ok("<knob nc:operation=\"delete\">2</knob>");
    assert_eq!(bench.texts("knob"), [""; 0]);
}

/// The cases E18 and P20.
#[test]
fn entries_are_inserted_where_they_were_asked_for() {
    let mut bench = Bench::new();
    bench.ok("<tag>b</tag><tag>c</tag>");
    bench.ok("<tag y:insert=\"first\">a</tag>");
    assert_eq!(bench.texts("tag"), ["a", "b", "c"]);
    bench.ok(
        "<tag>z</tag><tag y:insert=\"before\" y:value=\"b\">a2</tag><tag y:insert=\"after\" y:value=\"z\">zz</tag>\
         <tag y:insert=\"after\" y:value=\"a2\">a3</tag>",
    );
    assert_eq!(bench.texts("tag"), ["a", "a2", "a3", "b", "c", "z", "zz"]);
    bench.ok("<rule><id>1</id><action>permit</action></rule><rule><id>2</id><action>deny</action></rule>");
    bench
        .ok("<rule y:insert=\"before\" y:key=\"[pb:id='1']\" xmlns:pb=\"urn:probe:bench\"><id>2</id></rule>");
    assert_eq!(bench.texts("id"), ["2", "1"]);
}

/// The case E21.
#[test]
fn an_insertion_at_an_entry_that_does_not_exist_is_missing_instance() {
    let mut wanted = Bench::new();
    wanted.ok("<tag>a</tag>");
    let error = wanted.refused("<tag y:insert=\"after\" y:value=\"none\">b</tag>");
    assert_eq!((error.tag, error.app_tag.as_deref()), (ErrorTag::BadAttribute, Some("missing-instance")));
    assert_eq!(error.info, [attribute("value"), element("tag")]);
    let missing = wanted.refused("<tag y:insert=\"after\">b</tag>");
    assert_eq!(missing.tag, ErrorTag::MissingAttribute);
    assert_eq!(missing.info, [attribute("value"), element("tag")]);
    let key = "<rule y:insert=\"before\" y:key=\"[id='9']\"><id>1</id><action>deny</action></rule>";
    let error = wanted.refused(key);
    assert_eq!((error.tag, error.app_tag.as_deref()), (ErrorTag::BadAttribute, Some("missing-instance")));
    assert_eq!(error.info, [attribute("key"), element("rule")]);
}

/// The case E23.
#[test]
fn a_node_of_one_case_takes_the_others_away() {
    let mut bench = Bench::new();
    bench.ok("<ca>a</ca>");
    bench.session.ok("<commit/>");
    bench.ok("<cb>b</cb>");
    bench.session.ok("<commit/>");
    assert_eq!((bench.texts("ca").len(), bench.texts("cb").len()), (0, 1));
    let error = bench.refused("<ca>a</ca><cb>b</cb>");
    assert_eq!(error.tag, ErrorTag::BadElement, "both in one edit");
}

/// The case E25.
#[test]
fn one_leaf_twice_in_one_edit_is_refused() {
    let mut bench = Bench::new();
    let error = bench.refused("<knob>1</knob><knob>2</knob>");
    assert_eq!((error.tag, &error.info[..]), (ErrorTag::BadElement, &[element("knob")][..]));
    assert_eq!(error.path, at("/knob"));
}

/// The case E30, and the other errors that RFC 7950 section 15 gives an app-tag, as far as the module has them.
#[test]
fn what_only_the_whole_shows_is_told_at_the_commit_with_its_place() {
    let mut bench = Bench::new();
    bench.ok("<item-ref>ghost</item-ref>");
    let error = bench.session.refused("<commit/>");
    assert_eq!((error.kind, error.tag), (ErrorType::Application, ErrorTag::DataMissing));
    assert_eq!((error.app_tag.as_deref(), error.path), (Some("instance-required"), at("/item-ref")));
    bench.session.ok("<discard-changes/>");
    bench.ok("<pres/>");
    let error = bench.session.refused("<commit/>");
    assert_eq!((error.tag, error.path), (ErrorTag::DataMissing, at("/pres/must-leaf")));
    bench.session.ok("<discard-changes/>");
    bench.ok("<rule><id>1</id></rule>");
    let error = bench.session.refused("<commit/>");
    assert_eq!((error.tag, error.path), (ErrorTag::DataMissing, at("/rule[id='1']/action")));
}

/// The cases E31 and E34.
#[test]
fn prefixes_in_values_keep_their_meaning_and_are_declared_where_they_are_written() {
    let mut bench = Bench::new();
    bench.ok("<item xmlns:mine=\"urn:probe:bench\"><name>a</name><shape>mine:round</shape></item>\
         <inst xmlns:z=\"urn:probe:bench\">/z:bench/z:item[z:name='a']</inst>");
    bench.session.ok("<commit/>");
    let xml = bench.candidate();
    let document = roxmltree::Document::parse(&xml).unwrap();
    let leaf = |name: &str| document.descendants().find(|node| node.tag_name().name() == name).unwrap();
    let shape = leaf("shape");
    let (prefix, name) = match shape.text().unwrap().split_once(':') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, shape.text().unwrap()),
    };
    assert_eq!((shape.lookup_namespace_uri(prefix), name), (Some(NS), "round"));
    let inst = leaf("inst");
    let steps: Vec<&str> = inst.text().unwrap().split(['/', '[']).filter(|step| !step.is_empty()).collect();
    assert_eq!(steps.len(), 3);
    for step in steps {
        let prefix = step.split(':').next().unwrap();
        assert_eq!(inst.lookup_namespace_uri(Some(prefix)), Some(NS), "{step} in {xml}");
    }
}

/// The case E38.
#[test]
fn an_insertion_into_a_list_that_the_system_orders_is_an_unknown_attribute() {
    let mut bench = Bench::new();
    let error = bench.refused("<item y:insert=\"first\"><name>a</name></item>");
    assert_eq!(error.tag, ErrorTag::UnknownAttribute);
    assert_eq!(error.info, [attribute("insert"), element("item")]);
}

#[test]
fn all_errors_of_an_edit_are_told_at_once_in_the_order_of_the_document() {
    let mut wanted = Bench::new();
    let inner = "<knob>x</knob><item><size>1</size></item><item><name>a</name><size>0</size></item><nothing/>\
                 <mode operation=\"delete\"/>";
    let errors = wanted.all_refused("", &bench(inner));
    let tags: Vec<ErrorTag> = errors.iter().map(|error| error.tag).collect();
    assert_eq!(
        tags,
        [
            ErrorTag::InvalidValue,
            ErrorTag::MissingElement,
            ErrorTag::InvalidValue,
            ErrorTag::UnknownElement,
            ErrorTag::UnknownAttribute
        ]
    );
    let inner = "<item nc:operation=\"delete\"><name>a</name></item><knob nc:operation=\"delete\"/>";
    let errors = wanted.all_refused("", &bench(inner));
    assert_eq!(errors.len(), 2);
    assert!(errors.iter().all(|error| error.tag == ErrorTag::DataMissing), "{errors:?}");
}

/// The case R11.
#[test]
fn a_value_in_cdata_is_text() {
    let mut bench = Bench::new();
    bench.ok("<mode><![CDATA[a<b&c]]></mode>");
    assert_eq!(bench.texts("mode"), ["a&lt;b&amp;c"]);
}
