//! Messages whose characters or encoding XML 1.0 does not allow are refused as a whole, and nothing is read as something
//! else.

#![allow(clippy::unwrap_used)] // a failed set-up is a failed test

use cats_mgmtd_netconf::{Hello, HelloError, parse_rpc};
use cats_yang_tree::error::{ErrorTag, ErrorType};

const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

fn tag_of(text: &str) -> Option<ErrorTag> {
    let error = parse_rpc(text.as_bytes(), 256).err()?.error;
    assert_eq!(error.kind, ErrorType::Rpc);
    Some(error.tag)
}

fn edit(value: &str, attribute: &str) -> String {
    format!(
        "<rpc xmlns=\"{BASE}\" message-id=\"1\"><edit-config><target><candidate/></target><config>\
         <a xmlns=\"urn:x\" b=\"{attribute}\">{value}</a></config></edit-config></rpc>"
    )
}

#[test]
fn a_character_that_xml_forbids_is_a_malformed_message_wherever_and_however_it_stands() {
    for bad in
        ["&#xD800;", "&#xDFFF;", "&#xFFFE;", "&#xFFFF;", "&#x0;", "&#8;", "&#x110000;", "\u{fffe}", "\u{8}"]
    {
        assert_eq!(tag_of(&edit(bad, "")), Some(ErrorTag::MalformedMessage), "{bad:?} in content");
        assert_eq!(tag_of(&edit("", bad)), Some(ErrorTag::MalformedMessage), "{bad:?} in an attribute");
    }
    for good in ["&#x9;&#xA;&#xD;", "\u{fffd}", "&#x10FFFF;", "<![CDATA[&#xD800;]]>"] {
        assert_eq!(tag_of(&edit(good, "")), None, "{good:?}");
    }
}

#[test]
fn a_message_that_declares_another_encoding_is_refused_and_not_read_as_utf_8() {
    let with = |encoding: &str| format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>{}", edit("x", ""));
    assert_eq!(tag_of(&with("ISO-8859-1")), Some(ErrorTag::MalformedMessage));
    assert_eq!(tag_of(&with("utf-8")), None);
}

/// Namespaces in XML 1.0 sections 2 to 6, XML 1.0 sections 2.6 and 2.8: what is not well-formed is not made sense of.
#[test]
fn what_is_not_well_formed_is_a_malformed_message_although_a_parser_could_read_it() {
    let with =
        |attributes: &str| edit("x", "").replacen("<edit-config", &format!("<edit-config {attributes}"), 1);
    for bad in [
        "xmlns:xmlns=\"urn:x\"",
        "xmlns:a=\"\"",
        "xmlns=\"urn:x\" xmlns=\"urn:y\"",
        "xmlns:a=\"urn:x\" xmlns:a=\"urn:x\"",
        "xmlns:a=\"urn:x\" a:xmlns=\"urn:y\"",
        "xmlns:a=\"urn:x\" xmlns:b=\"urn:x\" a:c=\"\" b:c=\"\"",
        "a=\"\" a=\"\"",
        ":a=\"\"",
        "b:a=\"\"",
    ] {
        assert_eq!(tag_of(&with(bad)), Some(ErrorTag::MalformedMessage), "{bad}");
    }
    for head in ["<?xml version='1.0' standalone='maybe'?>", "<?xml version='2.0'?>", "<?xml?>", "<?XML a?>"]
    {
        assert_eq!(tag_of(&format!("{head}{}", edit("x", ""))), Some(ErrorTag::MalformedMessage), "{head}");
    }
    for head in ["<?xml version='1.0' standalone='yes'?>", "<?xml\tversion='1.0'?>", "<?a?>", "\u{feff}"] {
        assert_eq!(tag_of(&format!("{head}{}", edit("x", ""))), None, "{head}");
    }
}

#[test]
fn a_hello_is_read_with_the_same_care_as_a_request() {
    let hello = |head: &str, capability: &str| {
        format!(
            "{head}<hello xmlns=\"{BASE}\"><capabilities><capability>{capability}</capability></capabilities></hello>"
        )
    };
    let attributes: String = (0..1000).map(|n| format!(" a{n}=''")).collect();
    let crowded = hello("", "x").replacen("<capability>", &format!("<capability{attributes}>"), 1);
    let deep = hello("", &"<a>".repeat(1000));
    for bad in [hello("<?xml version='1.0' encoding='UTF-16'?>", "x"), hello("", "&#xD800;"), crowded, deep] {
        assert!(matches!(Hello::parse(bad.as_bytes()), Err(HelloError::Malformed(_))), "{:.200}", bad);
    }
    assert!(Hello::parse(hello("<?xml version='1.0' encoding='UTF-8'?>", "x").as_bytes()).is_ok());
}
