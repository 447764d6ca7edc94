//! Filters, `with-defaults`, the operations of RFC 8526, and replies whose data come in pieces.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use cats_mgmtd_netconf::{
    Content, DataOf, Datastore, DefaultOperation, EditData, Filter, GetData, Limits, NmdaDatastore,
    Operation, OriginFilter, Output, Reply, Session, Settings, Source, WithDefaults, XmlFragment, parse_rpc,
};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use proptest::prelude::*;
use std::num::NonZeroU16;
use std::time::Instant;

const BASE: &str = "xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"";
const NMDA: &str = "xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-nmda\" \
    xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\" xmlns:or=\"urn:ietf:params:xml:ns:yang:ietf-origin\"";

fn read(content: &str) -> Result<Operation, Error> {
    let message = format!("<rpc {BASE} message-id=\"1\">{content}</rpc>");
    parse_rpc(message.as_bytes(), 256).map(|rpc| rpc.operation).map_err(|refused| refused.error)
}

fn operation(content: &str) -> Operation {
    read(content).unwrap_or_else(|error| panic!("{content}: {error:?}"))
}

fn refused(content: &str) -> Error {
    read(content).expect_err(content)
}

fn get_data(content: &str) -> Operation {
    operation(&format!("<get-data {NMDA}>{content}</get-data>"))
}

fn refused_get_data(content: &str) -> Error {
    refused(&format!("<get-data {NMDA}>{content}</get-data>"))
}

fn element(name: &str) -> ErrorInfo {
    ErrorInfo::BadElement(name.to_owned())
}

/// What the case G10 needs of this layer.
#[test]
fn an_xpath_filter_carries_the_prefixes_in_scope_of_its_element() {
    let found = operation(
        "<get-config xmlns:a=\"urn:a\"><source><running/></source>\
         <filter type=\"xpath\" xmlns:b=\"urn:b\" select=\"/a:x/b:y\"/></get-config>",
    );
    let Operation::GetConfig { filter: Some(Filter::XPath { select, namespaces }), .. } = found else {
        panic!("{found:?}")
    };
    assert_eq!(select, "/a:x/b:y");
    let bound = |prefix: &str, uri: &str| namespaces.contains(&(prefix.to_owned(), uri.to_owned()));
    assert!(bound("a", "urn:a") && bound("b", "urn:b"), "{namespaces:?}");
}

/// The case G15.
#[test]
fn an_xpath_filter_without_an_expression_is_a_missing_attribute() {
    let error = refused("<get><filter type=\"xpath\"/></get>");
    assert_eq!(error.tag, ErrorTag::MissingAttribute);
    assert_eq!(error.info, [ErrorInfo::BadAttribute("select".to_owned()), element("filter")]);
}

#[test]
fn with_defaults_is_of_its_own_namespace_and_has_four_words() {
    let ns = "urn:ietf:params:xml:ns:yang:ietf-netconf-with-defaults";
    let with = |word: &str| format!("<get><with-defaults xmlns=\"{ns}\">{word}</with-defaults></get>");
    let mode = Some(WithDefaults::ReportAllTagged);
    assert_eq!(operation(&with(" report-all-tagged ")), Operation::Get { filter: None, with_defaults: mode });
    let error = refused(&with("all"));
    assert_eq!((error.tag, &error.info[..]), (ErrorTag::InvalidValue, &[element("with-defaults")][..]));
    let error = refused("<get><with-defaults>trim</with-defaults></get>");
    assert_eq!(error.tag, ErrorTag::UnknownElement, "of the base namespace there is none");
}

#[test]
fn get_data_reads_every_parameter() {
    let found = get_data(
        "<datastore>ds:operational</datastore><subtree-filter><x xmlns=\"urn:x\"/></subtree-filter>\
         <config-filter>true</config-filter><negated-origin-filter>or:default</negated-origin-filter>\
         <negated-origin-filter>or:system</negated-origin-filter><max-depth>3</max-depth><with-origin/>\
         <with-defaults>report-all</with-defaults>",
    );
    let Operation::GetData(get) = found else { panic!("{found:?}") };
    let identity = |name: &str| ("urn:ietf:params:xml:ns:yang:ietf-origin".to_owned(), name.to_owned());
    assert!(matches!(&get.filter, Some(Filter::Subtree(xml)) if xml.as_str().contains("urn:x")));
    let wanted = GetData {
        filter: get.filter.clone(),
        config: Some(true),
        origins: Some(OriginFilter {
            negated: true,
            identities: vec![identity("default"), identity("system")],
        }),
        max_depth: NonZeroU16::new(3),
        with_origin: true,
        with_defaults: Some(WithDefaults::ReportAll),
        ..GetData::all(NmdaDatastore::Operational)
    };
    assert_eq!(*get, wanted);
    let deep = get_data("<datastore>ds:intended</datastore><max-depth>unbounded</max-depth>");
    assert_eq!(deep, Operation::GetData(Box::new(GetData::all(NmdaDatastore::Intended))));
}

/// The cases D04 and D05: what goes with other datastores only, and datastores that are not there.
#[test]
fn get_data_refuses_what_its_datastore_has_not() {
    let cases = [
        ("<datastore>ds:running</datastore><with-origin/>", ErrorTag::InvalidValue, "with-origin"),
        ("<datastore>ds:dynamic</datastore>", ErrorTag::InvalidValue, "datastore"),
        ("<datastore>ds:startup</datastore>", ErrorTag::InvalidValue, "datastore"),
        ("<datastore>or:running</datastore>", ErrorTag::InvalidValue, "datastore"),
        ("<datastore>running</datastore>", ErrorTag::InvalidValue, "datastore"),
        (
            "<datastore>ds:candidate</datastore><origin-filter>or:intended</origin-filter>",
            ErrorTag::UnknownElement,
            "origin-filter",
        ),
        ("", ErrorTag::MissingElement, "datastore"),
        ("<datastore>ds:running</datastore><max-depth>0</max-depth>", ErrorTag::InvalidValue, "max-depth"),
        (
            "<datastore>ds:running</datastore><max-depth>65536</max-depth>",
            ErrorTag::InvalidValue,
            "max-depth",
        ),
        (
            "<datastore>ds:running</datastore><config-filter>yes</config-filter>",
            ErrorTag::InvalidValue,
            "config-filter",
        ),
        (
            "<datastore>ds:running</datastore><subtree-filter/><xpath-filter>/x</xpath-filter>",
            ErrorTag::BadElement,
            "xpath-filter",
        ),
        ("<datastore>ds:running</datastore><frob/>", ErrorTag::UnknownElement, "frob"),
    ];
    for (content, tag, name) in cases {
        let error = refused_get_data(content);
        assert_eq!((error.tag, &error.info[..]), (tag, &[element(name)][..]), "{content}: {error:?}");
    }
}

#[test]
fn edit_data_has_a_datastore_a_default_operation_and_content() {
    let of = |content: &str| format!("<edit-data {NMDA}>{content}</edit-data>");
    let found = operation(&of(
        "<datastore>ds:candidate</datastore><default-operation>none</default-operation><config/>",
    ));
    let Operation::EditData(edit) = found else { panic!("{found:?}") };
    assert_eq!((edit.datastore, edit.default_operation), (NmdaDatastore::Candidate, DefaultOperation::None));
    let error = refused(&of("<datastore>ds:candidate</datastore>"));
    assert_eq!((error.tag, &error.info[..]), (ErrorTag::MissingElement, &[element("config")][..]));
    let found = operation(&of("<datastore>ds:candidate</datastore><url>file:///x</url>"));
    let Operation::EditData(edit) = found else { panic!("{found:?}") };
    assert_eq!(edit.config, Content::Url("file:///x".to_owned()));
    let error = refused(&format!("<frobnicate {NMDA}/>"));
    assert_eq!(error.tag, ErrorTag::OperationNotSupported);
}

#[test]
fn locks_and_validations_may_name_their_datastore_by_an_identity() {
    let named = |name: &str| format!("<datastore {NMDA}>ds:{name}</datastore>");
    let lock = |name: &str| format!("<lock><target>{}</target></lock>", named(name));
    assert_eq!(operation(&lock("candidate")), Operation::Lock { target: Datastore::Candidate });
    assert_eq!(refused(&lock("operational")).tag, ErrorTag::InvalidValue);
    assert_eq!(refused(&lock("intended")).tag, ErrorTag::InvalidValue);
    let validate = |name: &str| format!("<validate><source>{}</source></validate>", named(name));
    let running = Operation::Validate { source: Source::Datastore(Datastore::Running) };
    assert_eq!(operation(&validate("intended")), running, "what is intended is what runs");
    assert_eq!(refused(&validate("operational")).tag, ErrorTag::InvalidValue);
    let copy = format!(
        "<copy-config><target><candidate/></target><source>{}</source></copy-config>",
        named("running")
    );
    assert_eq!(refused(&copy).tag, ErrorTag::UnknownElement, "RFC 8526 has it for three operations only");
}

/// A session of the server with a request in progress, and what it says from then on.
fn asked(base: &str) -> Session {
    let settings = Settings { session_id: 7, capabilities: Vec::new(), limits: Limits::default() };
    let now = Instant::now();
    let mut session = Session::new(settings, now);
    let hello = format!(
        "<hello {BASE}><capabilities><capability>urn:ietf:params:netconf:base:{base}</capability></capabilities>\
         </hello>]]>]]>"
    );
    session.handle_bytes(hello.as_bytes(), now);
    let rpc = format!("<rpc {BASE} message-id=\"1\"><get/></rpc>");
    let framed =
        if base == "1.1" { format!("\n#{}\n{rpc}\n##\n", rpc.len()) } else { format!("{rpc}]]>]]>") };
    session.handle_bytes(framed.as_bytes(), now);
    let last = std::iter::from_fn(|| session.poll_output()).last();
    assert!(matches!(last, Some(Output::Request(_))), "{last:?}");
    session
}

fn said(session: &mut Session) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(output) = session.poll_output() {
        let Output::Send(bytes) = output else { panic!("{output:?}") };
        all.push(String::from_utf8(bytes).unwrap());
    }
    all
}

#[test]
fn data_in_pieces_make_the_same_message_as_data_in_one() {
    let pieces: Vec<String> = (0..1000).map(|n| format!("<x xmlns=\"urn:x\">{n}\u{e9}</x>")).collect();
    for base in ["1.0", "1.1"] {
        let mut whole = asked(base);
        whole.reply(Reply::Data(pieces.concat()), &cats_mgmtd_netconf::NoModules, Instant::now());
        let whole = unframed(base, &said(&mut whole).concat());
        let mut session = asked(base);
        session.begin_data(DataOf::Base);
        let mut most = 0;
        let mut wire = String::new();
        for piece in &pieces {
            session.data(piece);
            let sent = said(&mut session).concat();
            most = most.max(sent.len());
            wire.push_str(&sent);
        }
        session.end_data(Instant::now());
        wire.push_str(&said(&mut session).concat());
        assert_eq!(unframed(base, &wire), whole);
        assert!((1..20_000).contains(&most), "pieces leave as they come, {most} at most at a time");
    }
}

/// The messages of a wire, their framing taken off.
fn unframed(base: &str, wire: &str) -> String {
    if base == "1.0" {
        return wire.strip_suffix("]]>]]>").expect("the marker at the end").to_owned();
    }
    let (mut rest, mut out) = (wire, String::new());
    while rest != "\n##\n" {
        let (size, after) = rest.strip_prefix("\n#").and_then(|rest| rest.split_once('\n')).expect("a chunk");
        let (chunk, after) = after.split_at(size.parse().unwrap());
        out.push_str(chunk);
        rest = after;
    }
    out
}

#[test]
fn a_small_reply_in_pieces_is_one_write() {
    let mut session = asked("1.1");
    session.begin_data(DataOf::Nmda);
    session.data("<x xmlns=\"urn:x\"/>");
    session.end_data(Instant::now());
    let sent = said(&mut session);
    assert_eq!(sent.len(), 1, "{sent:?}");
    let data = "<data xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-nmda\"><x xmlns=\"urn:x\"/></data>";
    assert!(sent[0].contains(data), "{sent:?}");
}

#[test]
fn data_of_a_session_that_was_killed_meanwhile_go_nowhere() {
    let mut session = asked("1.1");
    session.begin_data(DataOf::Base);
    session.close(cats_mgmtd_netconf::CloseReason::Killed { by: 3 });
    session.data(&"x".repeat(100_000));
    session.end_data(Instant::now());
    let outputs: Vec<Output> = std::iter::from_fn(|| session.poll_output()).collect();
    assert!(matches!(outputs[..], [Output::Closed(_)]), "{outputs:?}");
}

fn nmda_datastore() -> impl Strategy<Value = NmdaDatastore> {
    prop::sample::select(vec![
        NmdaDatastore::Running,
        NmdaDatastore::Candidate,
        NmdaDatastore::Intended,
        NmdaDatastore::Operational,
    ])
}

prop_compose! {
    fn any_get_data()(
        datastore in nmda_datastore(),
        select in prop::option::of("[a-z/<&>']{1,9}"),
        config in any::<Option<bool>>(),
        negated in any::<bool>(),
        names in prop::collection::vec("[a-z]{1,5}", 0..3),
        depth in any::<u16>(),
        with_origin in any::<bool>(),
    ) -> GetData {
        let operational = datastore == NmdaDatastore::Operational;
        let namespaces = vec![("o".to_owned(), "urn:origins".to_owned())];
        let identities: Vec<_> = names.into_iter().map(|name| ("urn:origins".to_owned(), name)).collect();
        GetData {
            datastore,
            filter: select.map(|select| Filter::XPath { select, namespaces }),
            config,
            origins: (operational && !identities.is_empty()).then_some(OriginFilter { negated, identities }),
            max_depth: NonZeroU16::new(depth),
            with_origin: with_origin && operational,
            with_defaults: None,
        }
    }
}

proptest! {
    #[test]
    fn every_operation_on_data_that_a_client_writes_is_what_the_server_reads(
        get in any_get_data(),
        datastore in nmda_datastore(),
    ) {
        let config = XmlFragment::parse(
            "<config xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-nmda\"><x xmlns=\"urn:x\"/></config>",
        );
        let get = Operation::GetData(Box::new(get));
        prop_assert_eq!(operation(&get.to_xml()), get);
        let default_operation = DefaultOperation::Replace;
        let edit = EditData { datastore, default_operation, config: Content::Inline(config.unwrap()) };
        let edit = Operation::EditData(edit);
        prop_assert_eq!(operation(&edit.to_xml()), edit);
    }
}
