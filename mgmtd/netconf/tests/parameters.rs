//! What stands in an operation: each parameter once, nothing else, and strings as they were sent.
#![allow(clippy::unwrap_used, clippy::panic)] // a test fails by panicking

use cats_mgmtd_netconf::{Content, Operation, Source, Target, parse_rpc};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, ErrorType};

const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
const MONITORING: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring";
const NMDA: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda";
const COMPARE: &str = "urn:ietf:params:xml:ns:yang:ietf-nmda-compare";
const PRIVATE: &str = "urn:ietf:params:xml:ns:yang:ietf-netconf-private-candidate";

fn rpc(operation: &str) -> String {
    format!("<rpc xmlns=\"{BASE}\" message-id=\"1\">{operation}</rpc>")
}

fn read(operation: &str) -> Operation {
    parse_rpc(rpc(operation).as_bytes(), 64)
        .unwrap_or_else(|refused| panic!("{operation}: {refused:?}"))
        .operation
}

fn refused(operation: &str) -> Error {
    match parse_rpc(rpc(operation).as_bytes(), 64) {
        Err(refused) => refused.error,
        Ok(rpc) => panic!("{operation} is taken: {rpc:?}"),
    }
}

/// Every operation that is read here, complete.
fn operations() -> Vec<String> {
    let datastore = |name: &str| {
        format!("<{name} xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\">ds:operational</{name}>")
    };
    vec![
        "<get></get>".to_owned(),
        "<get-config><source><running/></source></get-config>".to_owned(),
        "<edit-config><target><candidate/></target><config/></edit-config>".to_owned(),
        "<copy-config><target><candidate/></target><source><running/></source></copy-config>".to_owned(),
        "<delete-config><target><url>file:///a</url></target></delete-config>".to_owned(),
        "<lock><target><running/></target></lock>".to_owned(),
        "<unlock><target><running/></target></unlock>".to_owned(),
        "<commit></commit>".to_owned(),
        "<cancel-commit></cancel-commit>".to_owned(),
        "<discard-changes></discard-changes>".to_owned(),
        "<validate><source><candidate/></source></validate>".to_owned(),
        "<close-session></close-session>".to_owned(),
        "<kill-session><session-id>4</session-id></kill-session>".to_owned(),
        format!("<get-schema xmlns=\"{MONITORING}\"><identifier>a</identifier></get-schema>"),
        format!("<get-data xmlns=\"{NMDA}\">{}</get-data>", datastore("datastore")),
        format!(
            "<edit-data xmlns=\"{NMDA}\">{}<config/></edit-data>",
            datastore("datastore").replace("operational", "candidate")
        ),
        format!("<compare xmlns=\"{COMPARE}\">{}{}</compare>", datastore("source"), datastore("target")),
        format!("<update xmlns=\"{PRIVATE}\"></update>"),
    ]
}

fn name_of(operation: &str) -> &str {
    operation.trim_start_matches('<').split([' ', '>']).next().unwrap_or_default()
}

/// `operation` with more at its end.
fn with(operation: &str, more: &str) -> String {
    let end = operation.rfind("</").unwrap();
    format!("{}{more}{}", &operation[..end], &operation[end..])
}

#[test]
fn no_operation_takes_text_an_unknown_child_or_a_parameter_twice() {
    for operation in operations() {
        read(&operation);
        read(&with(&operation, " <!-- blanks and comments say nothing -->\n"));
        let name = name_of(&operation).to_owned();
        let error = refused(&with(&operation, "text"));
        assert_eq!((error.kind, error.tag), (ErrorType::Protocol, ErrorTag::BadElement), "{operation}");
        assert_eq!(error.info, [ErrorInfo::BadElement(name)], "{operation}");
        for unknown in ["<other/>", "<other xmlns=\"urn:none\"/>"] {
            let error = refused(&with(&operation, unknown));
            assert_eq!(error.tag, ErrorTag::UnknownElement, "{operation}");
            assert_eq!(error.info, [ErrorInfo::BadElement("other".to_owned())], "{operation}");
        }
        let document = roxmltree::Document::parse(&operation).unwrap();
        for parameter in document.root_element().children() {
            let again = &operation[parameter.range()];
            let error = refused(&with(&operation, again));
            assert_eq!(error.tag, ErrorTag::BadElement, "{again} twice in {operation}: {error}");
        }
    }
}

/// RFC 6241 appendix A: an attribute that is not expected is told, not passed over.
#[test]
fn no_operation_and_no_parameter_takes_an_attribute_that_is_not_its_own() {
    let of = |element: &str, attribute: &str| {
        [ErrorInfo::BadAttribute(attribute.to_owned()), ErrorInfo::BadElement(element.to_owned())]
    };
    for operation in operations() {
        let document = roxmltree::Document::parse(&operation).unwrap();
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            let name = node.tag_name().name();
            let at = node.range().start + 1 + name.len();
            for attribute in ["operation", "xmlns:n=\"urn:ietf:params:xml:ns:netconf:base:1.0\" n:operation"]
            {
                let (before, behind) = operation.split_at(at);
                let error = refused(&format!("{before} {attribute}=\"merge\"{behind}"));
                assert_eq!((error.kind, error.tag), (ErrorType::Protocol, ErrorTag::UnknownAttribute));
                assert_eq!(error.info, of(name, "operation"), "{attribute} of <{name}> in {operation}");
            }
        }
        let (before, behind) = operation.split_at(1 + name_of(&operation).len());
        read(&format!("{before} xmlns:more=\"urn:more\"{behind}"));
    }
    let other = refused("<frob xmlns=\"urn:x\" operation=\"merge\"/>");
    assert_eq!((other.tag, &other.info[..]), (ErrorTag::UnknownAttribute, &of("frob", "operation")[..]));
}

/// Some clients give the attributes of a filter its namespace; no other parameter has any.
#[test]
fn a_filter_has_its_type_and_its_expression_and_no_other_attribute() {
    let get = |attributes: &str| format!("<get><filter {attributes}/></get>");
    read(&get("type=\"xpath\" select=\"/a\""));
    read(&get(&format!("xmlns:n=\"{BASE}\" n:type=\"xpath\" n:select=\"/a\"")));
    for other in ["Type=\"xpath\"", "xmlns:n=\"urn:none\" n:type=\"xpath\"", "selects=\"/a\""] {
        assert_eq!(refused(&get(other)).tag, ErrorTag::UnknownAttribute, "{other}");
    }
}

#[test]
fn text_around_an_operation_is_refused() {
    let error = refused("<commit/>now");
    assert_eq!((error.kind, error.tag), (ErrorType::Rpc, ErrorTag::BadElement));
    assert_eq!(error.info, [ErrorInfo::BadElement("rpc".to_owned())]);
}

#[test]
fn a_parameter_of_type_empty_holds_nothing() {
    let compare = with(&operations()[16], "<all>EMPTY</all>");
    let get_data = with(&operations()[14], "<with-origin>EMPTY</with-origin>");
    for operation in [
        "<commit><confirmed>EMPTY</confirmed></commit>",
        "<lock><target><candidate>EMPTY</candidate></target></lock>",
        "<validate><source><running>EMPTY</running></source></validate>",
        "<copy-config><target><candidate>EMPTY</candidate></target><source><running/></source></copy-config>",
        "<get-config><source><running>EMPTY</running></source></get-config>",
        &compare,
        &get_data,
    ] {
        read(&operation.replace("EMPTY", ""));
        let error = refused(&operation.replace("EMPTY", "yes"));
        assert_eq!(error.tag, ErrorTag::InvalidValue, "{operation}: {error}");
        let error = refused(&operation.replace("EMPTY", "<more/>"));
        assert_eq!(error.tag, ErrorTag::UnknownElement, "{operation}: {error}");
        assert_eq!(error.info, [ErrorInfo::BadElement("more".to_owned())]);
    }
}

#[test]
fn text_beside_a_datastore_is_refused() {
    for operation in [
        "<lock><target>the <candidate/></target></lock>",
        "<copy-config><target><candidate/></target><source><running/> one</source></copy-config>",
    ] {
        assert_eq!(refused(operation).tag, ErrorTag::BadElement, "{operation}");
    }
}

#[test]
fn a_value_holds_no_elements() {
    for operation in [
        "<kill-session><session-id>4<x/></session-id></kill-session>",
        "<commit><persist-id>a<x/></persist-id></commit>",
        "<commit><confirmed/><confirm-timeout><x/>4</confirm-timeout></commit>",
        "<delete-config><target><url>file:///a<x/></url></target></delete-config>",
    ] {
        let error = refused(operation);
        assert_eq!(error.tag, ErrorTag::UnknownElement, "{operation}");
        assert_eq!(error.info, [ErrorInfo::BadElement("x".to_owned())]);
    }
}

#[test]
fn strings_are_kept_as_they_were_sent_and_may_be_empty() {
    for text in [" a b\n", "", "  "] {
        let sent =
            format!("<commit><confirmed/><persist>{text}</persist><persist-id>{text}</persist-id></commit>");
        let Operation::Commit(options) = read(&sent) else { panic!("no commit") };
        assert_eq!(options.persist_id.as_deref(), Some(text));
        assert_eq!(options.confirmed.unwrap().persist.as_deref(), Some(text));
        let cancel = read(&format!("<cancel-commit><persist-id>{text}</persist-id></cancel-commit>"));
        assert_eq!(cancel, Operation::CancelCommit { persist_id: Some(text.to_owned()) });
        let schema = format!(
            "<get-schema xmlns=\"{MONITORING}\"><identifier>{text}</identifier><version>{text}</version></get-schema>"
        );
        let (identifier, version) = (text.to_owned(), Some(text.to_owned()));
        assert_eq!(read(&schema), Operation::GetSchema { identifier, version, format: None });
        let source = format!("<source><url>{text}</url></source>");
        let from = read(&format!("<validate>{source}</validate>"));
        assert_eq!(from, Operation::Validate { source: Source::Config(Content::Url(text.to_owned())) });
        let gone = read(&format!("<delete-config><target><url>{text}</url></target></delete-config>"));
        assert_eq!(gone, Operation::DeleteConfig { target: Target::Url(text.to_owned()) });
    }
    let why = "<commit><comment xmlns=\"urn:catsd:yang:cats-exec\"> why </comment></commit>";
    let Operation::Commit(options) = read(why) else { panic!("no commit") };
    assert_eq!(options.comment.as_deref(), Some(" why "));
}

#[test]
fn blanks_around_a_number_or_a_word_do_not_count() {
    let found = read("<kill-session><session-id> 4\n</session-id></kill-session>");
    assert_eq!(found, Operation::KillSession { session_id: 4 });
    let Operation::Commit(options) =
        read("<commit><confirmed/><confirm-timeout>\n7 </confirm-timeout></commit>")
    else {
        panic!("no commit")
    };
    assert_eq!(options.confirmed.unwrap().timeout_s, 7);
}
