//! What readers of the datastores see: XPath filters, defaults, origins, depth, and the datastores of RFC 8342.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a failed set-up is a failed test

mod node;

use cats_mgmtd_core::{
    ComponentId, Datastore, DefaultOperation, Filter, GivenIn, NmdaDatastore, Output, Reply, Request,
    Selection, SessionId, Source, Target,
};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use cats_yang_tree::{Defaults, Origins};
use node::{NS, Node, config, edit, schema};
use std::num::NonZeroU16;

const CONTENT: &str = "<knob>1</knob><mode>auto</mode><item><name>a</name><size>1</size></item>\
                       <item><name>b</name><size>2</size></item>";

/// A node with that content in running, and a session.
fn bench() -> (Node, SessionId) {
    let mut node = Node::new();
    let session = node.open("ada");
    node.ok(session, edit(CONTENT));
    node.ok(session, node::commit());
    (node, session)
}

fn data(node: &mut Node, session: SessionId, request: Request) -> String {
    let shown = format!("{request:?}");
    match node.ask(session, request) {
        Reply::Data(reading) => {
            let text = reading.to_xml(&node.schema).unwrap_or_else(|errors| panic!("{errors:?}"));
            if let Some(view) = reading.view_at_once(&node.schema) {
                assert_eq!(view.to_xml(), text, "what is made up at once is the same");
            }
            text
        }
        other => panic!("{shown} -> {other:?}"),
    }
}

fn get_data(node: &mut Node, session: SessionId, datastore: NmdaDatastore, selection: Selection) -> String {
    data(node, session, Request::GetData { datastore, selection })
}

fn in_bench(content: &str) -> String {
    format!("<bench xmlns=\"{NS}\">{content}</bench>")
}

fn subtree(content: &str) -> Option<Filter> {
    let text = format!("<filter>{}</filter>", in_bench(content));
    Some(Filter::subtree(&schema(), &text).unwrap())
}

fn xpath(select: &str) -> Result<Filter, cats_yang_tree::error::Error> {
    Filter::xpath(&schema(), GivenIn::Filter, select.to_owned(), vec![("q".to_owned(), NS.to_owned())])
}

/// The case G10.
#[test]
fn an_xpath_filter_means_names_by_the_prefixes_that_were_in_scope() {
    let (mut node, session) = bench();
    let mut read = |select: &str| {
        let filter = Some(xpath(select).unwrap());
        let selection = Selection { filter, ..Selection::default() };
        data(&mut node, session, Request::GetConfig { source: Datastore::Running, selection })
    };
    assert_eq!(
        read("/q:bench/q:item[q:name='b']/q:size"),
        in_bench("<item><name>b</name><size>2</size></item>")
    );
    assert_eq!(read("/q:bench/q:knob | /q:bench/q:mode"), in_bench("<knob>1</knob><mode>auto</mode>"));
    assert_eq!(read("/q:bench/q:item[q:size > 1]"), in_bench("<item><name>b</name><size>2</size></item>"));
    assert_eq!(read("/q:bench/q:item[q:name='c']"), "");
}

/// An expression that is refused, when it is read or when it is evaluated, is named by the parameter it was given in.
#[test]
fn an_error_of_an_xpath_filter_names_the_parameter_of_the_operation() {
    let schema = schema();
    let many = "/q:bench/q:item[count(/q:bench/q:item[count(/q:bench/q:item[count(//*) > 0]) > 0]) > 0]";
    for (given_in, element) in [(GivenIn::Filter, "filter"), (GivenIn::XPathFilter, "xpath-filter")] {
        let named = |error: &Error| error.info == [ErrorInfo::BadElement(element.to_owned())];
        let filter = |select: &str| {
            let namespaces = vec![("q".to_owned(), NS.to_owned())];
            Filter::xpath(&schema, given_in, select.to_owned(), namespaces)
        };
        for wrong in ["/q:bench[", "1 + 1"] {
            let error = filter(wrong).unwrap_err();
            assert!(named(&error), "{error:?}");
        }
        let mut node = Node::new();
        let a = node.open("ada");
        let items: String = (0..300).map(|at| format!("<item><name>{at}</name></item>")).collect();
        node.ok(a, edit(&items));
        let selection = Selection { filter: Some(filter(many).unwrap()), ..Selection::default() };
        let get = Request::GetConfig { source: Datastore::Candidate, selection };
        let Reply::Data(reading) = node.ask(a, get) else { panic!("no data") };
        let errors = reading.to_xml(&schema).unwrap_err();
        assert!(errors.iter().all(named) && errors[0].tag == ErrorTag::ResourceDenied, "{errors:?}");
    }
}

/// The case G14.
#[test]
fn an_xpath_filter_that_is_no_node_set_or_no_expression_is_an_invalid_value() {
    for wrong in ["count(/q:bench)", "/q:bench/q:knob = 1", "'text'", "/q:bench[", "/r:bench", "$x"] {
        let error = xpath(wrong).expect_err(wrong);
        assert_eq!(error.tag, ErrorTag::InvalidValue, "{wrong}: {error:?}");
    }
}

#[test]
fn a_component_is_asked_only_for_what_an_xpath_filter_may_read() {
    let (mut node, session) = bench();
    node.attach(1, Some(1));
    for (select, asked) in [
        ("/q:bench/q:counters", Some(vec!["/probe-bench:bench/counters"])),
        ("/q:bench/q:item[q:name='a']", Some(vec!["/probe-bench:bench/item"])),
        ("//q:seen", Some(vec!["/probe-bench:bench"])),
        ("/q:bench/q:knob", None),
    ] {
        let filter = Some(xpath(select).unwrap());
        node.send(session, Request::Get(Selection { filter, ..Selection::default() }));
        match (node.told.pop(), asked) {
            (Some(Output::ReadState { ticket, component: ComponentId(1), paths }), Some(asked)) => {
                assert_eq!(paths, asked, "{select}");
                node.state(ticket, serde_json::json!({}));
                node.pass(std::time::Duration::ZERO);
            }
            (None, None) => {}
            other => panic!("{select}: {other:?}"),
        }
        assert!(matches!(node.reply(session), Some(Reply::Data(_))), "{select}");
    }
}

/// The cases G18 and G20.
#[test]
fn every_mode_of_with_defaults_shows_what_it_says() {
    let (mut node, session) = bench();
    let mut read = |defaults: Defaults, content: &str| {
        let filter = subtree(content);
        let selection = Selection { filter, defaults, ..Selection::default() };
        data(&mut node, session, Request::GetConfig { source: Datastore::Running, selection })
    };
    let (set, item) = ("<mode>auto</mode>", "<item><name>a</name><enabled/></item>");
    assert_eq!(read(Defaults::Explicit, "<mode/>"), in_bench(set), "what a client set stays");
    let key = in_bench("<item><name>a</name></item>");
    assert_eq!(read(Defaults::Explicit, item), key, "a default that nobody set is not there");
    assert_eq!(read(Defaults::Trim, "<mode/>"), "", "what has its default is not there");
    let all = in_bench("<item><name>a</name><enabled>true</enabled></item>");
    assert_eq!(read(Defaults::ReportAll, item), all);
    let tagged = read(Defaults::ReportAllTagged, item);
    let tag = "xmlns:wd=\"urn:ietf:params:xml:ns:netconf:default:1.0\" wd:default=\"true\"";
    assert_eq!(tagged, all.replace("<enabled>", &format!("<enabled {tag}>")));
    assert_eq!(read(Defaults::ReportAllTagged, "<mode/>"), in_bench(set), "what was set is no default data");
}

#[test]
fn a_copy_takes_the_defaults_of_its_source_as_it_is_told() {
    let (mut node, session) = bench();
    let mut copied = |mode: Option<Defaults>, source: Source| {
        let target = Datastore::Candidate;
        node.ok(
            session,
            Request::CopyConfig { target: Target::Datastore(target), source, with_defaults: mode },
        );
        let candidate = node.config(session, Datastore::Candidate);
        node.ok(session, Request::DiscardChanges);
        candidate
    };
    let running = || Source::Datastore(Datastore::Running);
    let plain = in_bench(CONTENT);
    assert_eq!(copied(None, running()), plain);
    assert_eq!(copied(Some(Defaults::Explicit), running()), plain);
    assert_eq!(copied(Some(Defaults::ReportAllTagged), running()), plain, "what is tagged is not set");
    assert_eq!(copied(Some(Defaults::Trim), running()), plain.replace("<mode>auto</mode>", ""));
    let all = copied(Some(Defaults::ReportAll), running());
    assert_eq!(all.matches("<enabled>true</enabled>").count(), 2, "{all}");
    assert_eq!(copied(Some(Defaults::Trim), Source::Config(config("<mode>auto</mode>"))), "");
}

/// The case D02: what is configured is in operation, and with it the defaults in use.
#[test]
fn each_datastore_shows_its_content() {
    let (mut node, session) = bench();
    node.ok(session, edit("<knob>2</knob>"));
    let mut knob = |datastore| {
        let selection = Selection { filter: subtree("<knob/>"), ..Selection::default() };
        get_data(&mut node, session, datastore, selection)
    };
    assert_eq!(knob(NmdaDatastore::Running), in_bench("<knob>1</knob>"));
    assert_eq!(knob(NmdaDatastore::Intended), in_bench("<knob>1</knob>"));
    assert_eq!(knob(NmdaDatastore::Candidate), in_bench("<knob>2</knob>"));
    assert_eq!(knob(NmdaDatastore::Operational), in_bench("<knob>1</knob>"));
}

/// A read of `<operational>` with the state of a component: an entry that nobody configured, and a counter.
fn operational(node: &mut Node, session: SessionId, selection: Selection) -> String {
    node.send(session, Request::GetData { datastore: NmdaDatastore::Operational, selection });
    if let Some(Output::ReadState { ticket, .. }) = node.told.pop() {
        let page = serde_json::json!({ "probe-bench:bench": {
            "item": [{ "name": "a", "hits": 7 }, { "name": "z", "hits": 0 }],
            "counters": { "seen": 9 },
        } });
        node.state(ticket, page);
        node.pass(std::time::Duration::ZERO);
    }
    match node.reply(session) {
        Some(Reply::Data(reading)) => reading.to_xml(&node.schema).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn operating() -> (Node, SessionId) {
    let (mut node, session) = bench();
    node.attach(1, Some(1));
    (node, session)
}

#[test]
fn operational_data_say_where_their_configuration_comes_from() {
    let (mut node, session) = operating();
    let selection = Selection { with_origin: true, defaults: Defaults::ReportAll, ..Selection::default() };
    let xml = operational(&mut node, session, selection);
    let or =
        |name: &str| format!(" xmlns:or=\"urn:ietf:params:xml:ns:yang:ietf-origin\" or:origin=\"or:{name}\"");
    let top = format!("<bench xmlns=\"{NS}\"{}><knob>1</knob><mode>auto</mode>", or("intended"));
    assert!(xml.starts_with(&top), "{xml}");
    let default = format!("<enabled{}>true</enabled>", or("default"));
    assert!(
        xml.contains(&format!("<item><name>a</name><size>1</size>{default}<hits>7</hits></item>")),
        "{xml}"
    );
    let system = format!("<item{}><name>z</name>{default}<hits>0</hits></item>", or("system"));
    assert!(xml.contains(&system), "{xml}");
    assert!(xml.contains("<counters><seen>9</seen></counters>"), "state has no origin: {xml}");
}

/// The case D08.
#[test]
fn an_origin_filter_keeps_configuration_of_its_origins_and_leaves_state() {
    let (mut node, session) = operating();
    let mut of = |origins: Origins, config: Option<bool>| {
        let defaults = Defaults::ReportAll;
        let selection = Selection { origins: Some(origins), config, defaults, ..Selection::default() };
        operational(&mut node, session, selection)
    };
    let intended = Origins { intended: true, ..Origins::default() };
    let xml = of(intended, Some(true));
    assert_eq!(xml, in_bench(CONTENT), "keys and all that was configured");
    let xml = of(intended, None);
    assert!(xml.contains("<seen>9</seen>") && !xml.contains("<enabled>"), "{xml}");
    let xml = of(Origins { system: true, ..Origins::default() }, Some(true));
    assert_eq!(xml, in_bench("<item><name>z</name></item>"));
    let xml = of(Origins { default: true, ..Origins::default() }, Some(true));
    assert_eq!(xml.matches("<enabled>true</enabled>").count(), 3, "{xml}");
    assert!(!xml.contains("<size>") && !xml.contains("<knob>"), "{xml}");
    assert_eq!(of(intended.negated(), Some(true)).matches("<enabled>").count(), 3);
}

#[test]
fn configuration_and_state_are_told_apart_by_the_config_filter() {
    let (mut node, session) = operating();
    let mut of = |config: bool| {
        let selection = Selection { config: Some(config), ..Selection::default() };
        operational(&mut node, session, selection)
    };
    assert_eq!(of(true), in_bench(&format!("{CONTENT}<item><name>z</name></item>")));
    let state = "<item><name>a</name><hits>7</hits></item><item><name>z</name><hits>0</hits></item>";
    assert_eq!(of(false), in_bench(&format!("{state}<counters><seen>9</seen></counters>")));
}

#[test]
fn depth_is_counted_from_what_the_filter_selects() {
    let (mut node, session) = bench();
    let mut read = |filter: Option<&str>, depth: u16| {
        let filter = filter.and_then(subtree);
        let selection = Selection { filter, depth: NonZeroU16::new(depth), ..Selection::default() };
        get_data(&mut node, session, NmdaDatastore::Running, selection)
    };
    assert_eq!(read(None, 1), format!("<bench xmlns=\"{NS}\"/>"));
    let keys = "<item><name>a</name></item><item><name>b</name></item>";
    assert_eq!(
        read(None, 2),
        in_bench(&format!("<knob>1</knob><mode>auto</mode>{keys}")),
        "entries keep keys"
    );
    assert_eq!(read(None, 3), in_bench(CONTENT));
    assert_eq!(read(Some("<item/>"), 1), in_bench(keys));
    assert_eq!(read(Some("<item><name>a</name></item>"), 1), in_bench("<item><name>a</name></item>"));
    let whole = "<item><name>a</name><size>1</size></item>";
    assert_eq!(read(Some("<item><name>a</name></item>"), 2), in_bench(whole));
    assert_eq!(read(Some("<item><name>a</name><size/></item>"), 1), in_bench(whole));
}

#[test]
fn edit_data_changes_the_candidate_and_no_datastore_that_is_not_written() {
    let (mut node, session) = bench();
    let edit = |datastore, default_operation, content: &str| Request::EditData {
        datastore,
        default_operation,
        config: config(content),
    };
    node.ok(session, edit(NmdaDatastore::Candidate, DefaultOperation::Replace, "<knob>5</knob>"));
    assert_eq!(node.config(session, Datastore::Candidate), in_bench("<knob>5</knob>"));
    let nothing = edit(NmdaDatastore::Candidate, DefaultOperation::None, "<item><name>n</name></item>");
    assert_eq!(node.refused(session, nothing).tag, ErrorTag::DataMissing);
    for datastore in [NmdaDatastore::Running, NmdaDatastore::Intended, NmdaDatastore::Operational] {
        let error = node.refused(session, edit(datastore, DefaultOperation::Merge, "<knob>6</knob>"));
        assert_eq!(error.tag, ErrorTag::InvalidValue, "{error:?}");
    }
    assert_eq!(node.config(session, Datastore::Running), in_bench(CONTENT));
}

#[test]
fn a_value_that_is_tagged_as_the_default_goes_back_to_it() {
    let (mut node, session) = bench();
    let tagged = |value: &str| {
        let wd = "xmlns:wd=\"urn:ietf:params:xml:ns:netconf:default:1.0\" wd:default=\"true\"";
        edit(&format!("<mode {wd}>{value}</mode>"))
    };
    node.ok(session, tagged("auto"));
    let candidate = node.config(session, Datastore::Candidate);
    assert!(!candidate.contains("mode"), "it is not set any more: {candidate}");
    let error = node.refused(session, tagged("manual"));
    assert_eq!(error.tag, ErrorTag::InvalidValue, "{error:?}");
}

#[test]
fn edit_data_writes_running_where_that_is_switched_on() {
    let mut node = Node::writable();
    let session = node.open("ada");
    let edit = |content: &str| Request::EditData {
        datastore: NmdaDatastore::Running,
        default_operation: DefaultOperation::Merge,
        config: config(content),
    };
    node.ok(session, edit("<knob>3</knob>"));
    assert_eq!(node.config(session, Datastore::Running), in_bench("<knob>3</knob>"));
    // All of it or nothing.
    let error = node.refused(session, edit("<mode>m</mode><knob>666</knob>"));
    assert_eq!(error.app_tag.as_deref(), Some("must-violation"), "{error:?}");
    assert_eq!(node.config(session, Datastore::Running), in_bench("<knob>3</knob>"));
}
