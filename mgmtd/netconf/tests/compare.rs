//! `compare` (RFC 9144) as it is read and written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use cats_mgmtd_netconf::{Compare, Edit, Filter, NmdaDatastore, Operation, comparison_xml, parse_rpc};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};

const CMP: &str = "xmlns=\"urn:ietf:params:xml:ns:yang:ietf-nmda-compare\" \
    xmlns:ds=\"urn:ietf:params:xml:ns:yang:ietf-datastores\"";
const BOTH: &str = "<source>ds:running</source><target>ds:operational</target>";

fn read(operation: &str) -> Result<Operation, Error> {
    let base = "xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\"";
    let message = format!("<rpc {base} message-id=\"1\">{operation}</rpc>");
    parse_rpc(message.as_bytes(), 256).map(|rpc| rpc.operation).map_err(|refused| refused.error)
}

fn compare(content: &str) -> Result<Operation, Error> {
    read(&format!("<compare {CMP}>{content}</compare>"))
}

#[test]
fn what_a_client_writes_is_what_is_read() {
    let filter = Filter::XPath {
        select: "/a:x[. < 3]".to_owned(),
        namespaces: vec![("a".to_owned(), "urn:a".to_owned())],
    };
    let written = Compare {
        source: NmdaDatastore::Candidate,
        target: NmdaDatastore::Intended,
        all: true,
        filter: Some(filter),
    };
    let Ok(Operation::Compare(found)) = read(&Operation::Compare(Box::new(written.clone())).to_xml()) else {
        panic!("{written:?}")
    };
    let Some(Filter::XPath { select, namespaces }) = &found.filter else { panic!("{found:?}") };
    assert_eq!(select, "/a:x[. < 3]");
    assert!(namespaces.contains(&("a".to_owned(), "urn:a".to_owned())));
    assert_eq!(Compare { filter: None, ..*found }, Compare { filter: None, ..written });
}

#[test]
fn what_is_wrong_is_named() {
    let missing = compare("<source>ds:running</source>").expect_err("no target");
    assert_eq!(missing.tag, ErrorTag::MissingElement);
    assert_eq!(missing.info, [ErrorInfo::BadElement("target".to_owned())]);
    let unknown = compare("<source>ds:startup</source><target>ds:running</target>").expect_err("no startup");
    assert_eq!(
        (unknown.tag, &unknown.info[..]),
        (ErrorTag::InvalidValue, &[ErrorInfo::BadElement("source".to_owned())][..])
    );
    let origin = compare(&format!("{BOTH}<report-origin/>")).expect_err("not built");
    assert_eq!(origin.tag, ErrorTag::OperationNotSupported);
    assert!(compare(&format!("{BOTH}<every/>")).is_err());
    assert!(compare(BOTH).is_ok());
}

#[test]
fn the_answer_is_a_patch() {
    let head = "xmlns=\"urn:ietf:params:xml:ns:yang:ietf-nmda-compare\"";
    assert_eq!(comparison_xml(None), format!("<no-matches {head}/>"));
    assert_eq!(comparison_xml(Some(&[])), format!("<differences {head}></differences>"));
    let edit = Edit {
        operation: "insert",
        target: "/m:l=a%26b".to_owned(),
        place: Some(("after", Some("/m:l=<".to_owned()))),
        value: Some("<l xmlns=\"urn:m\"/>".to_owned()),
        source_value: None,
    };
    assert_eq!(
        comparison_xml(Some(&[edit])),
        format!(
            "<differences {head}><yang-patch><patch-id>differences</patch-id><edit><edit-id>1</edit-id>\
             <operation>insert</operation><target>/m:l=a%26b</target><point>/m:l=&lt;</point><where>after</where>\
             <value><l xmlns=\"urn:m\"/></value></edit></yang-patch></differences>"
        )
    );
}
