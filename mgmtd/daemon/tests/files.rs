//! Configurations in files: the capability `:url` (RFC 6241 section 8.8) of the real daemon.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_yang_tree::error::{ErrorInfo, ErrorTag};
use daemon::{NS, Place, edit, text_of};

const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

/// The directory of the only user.
fn home(place: &Place) -> std::path::PathBuf {
    let mut homes = std::fs::read_dir(place.path("state/url")).unwrap();
    homes.next().unwrap().unwrap().path()
}

fn copy(target: &str, source: &str) -> String {
    format!("<copy-config><target>{target}</target><source>{source}</source></copy-config>")
}

fn url(name: &str) -> String {
    format!("<url>file:///{name}</url>")
}

#[test]
fn a_configuration_is_saved_to_a_file_loaded_validated_and_deleted() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    let capability = "urn:ietf:params:netconf:capability:url:1.0?scheme=file";
    assert!(session.hello.capabilities.iter().any(|uri| uri == capability));
    session.commit("<one>1</one><item><name>a&lt;b</name></item>");
    session.ok(&copy(&url("saved.xml"), "<running/>"));
    let saved = std::fs::read_to_string(home(&place).join("saved.xml")).unwrap();
    assert!(
        saved.starts_with(&format!("<config xmlns=\"{BASE}\">")) && saved.contains("<one>1</one>"),
        "{saved}"
    );
    session.commit("<one>2</one><twin>2</twin>");
    session.ok(&copy("<candidate/>", &url("saved.xml")));
    session.ok("<commit/>");
    let running = session.running();
    assert_eq!((text_of(&running, "one"), text_of(&running, "twin")), (Some("1"), None));
    session.ok(&format!("<validate><source>{}</source></validate>", url("saved.xml")));
    session.ok(&copy(&url("copy.xml"), &url("saved.xml")));
    session.ok(&format!("<delete-config><target>{}</target></delete-config>", url("saved.xml")));
    let error = session.refused(&copy("<candidate/>", &url("saved.xml")));
    assert_eq!(
        (error.tag, &error.info[..]),
        (ErrorTag::InvalidValue, &[ErrorInfo::BadElement("url".into())][..])
    );
    session.ok(&copy("<candidate/>", &url("copy.xml")));
}

#[test]
fn an_edit_takes_its_operations_from_a_file_and_reports_what_is_wrong_with_them() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    session.commit("<one>1</one>");
    session.ok(&copy(&url("first.xml"), "<running/>"));
    let file = |name: &str, text: &str| std::fs::write(home(&place).join(name), text).unwrap();
    let config = |inner: &str| {
        format!("<config xmlns=\"{BASE}\" xmlns:nc=\"{BASE}\"><knobs xmlns=\"{NS}\">{inner}</knobs></config>")
    };
    let edit = |name: &str| format!("<edit-config><target><candidate/></target>{}</edit-config>", url(name));
    file("edit.xml", &config("<one nc:operation=\"delete\"/><twin>3</twin>"));
    session.ok(&edit("edit.xml"));
    let candidate = session.candidate();
    assert_eq!((text_of(&candidate, "one"), text_of(&candidate, "twin")), (None, Some("3")));
    file("value.xml", &config("<one>x</one>"));
    let error = session.refused(&edit("value.xml"));
    assert_eq!(error.tag, ErrorTag::InvalidValue);
    assert!(error.path.is_some_and(|path| path.0.contains("one")));
    for (name, text, said) in [
        ("broken.xml", "<config", "XML"),
        ("other.xml", "<data/>", "<data>"),
        ("dtd.xml", "<!DOCTYPE config [<!ENTITY a \"b\">]><config/>", "XML"),
    ] {
        file(name, text);
        let error = session.refused(&edit(name));
        assert_eq!(error.tag, ErrorTag::InvalidValue);
        assert!(error.message.contains(said), "{error}");
    }
    let wrong = "<edit-config><target><candidate/></target><url>http://192.0.2.1/a</url></edit-config>";
    assert!(session.refused(wrong).message.contains("scheme"));
}

#[test]
fn no_url_leads_out_of_the_directory() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    session.commit("<one>1</one>");
    session.ok(&copy(&url("first.xml"), "<running/>"));
    std::os::unix::fs::symlink(place.path("state"), home(&place).join("up")).unwrap();
    for name in [
        "~root/first.xml",
        "../running.journal",
        "%2e%2e/running.journal",
        "up/running.journal",
        "/etc/passwd",
    ] {
        for operation in [
            copy("<candidate/>", &url(name)),
            copy(&url(name), "<running/>"),
            format!("<delete-config><target>{}</target></delete-config>", url(name)),
        ] {
            assert_eq!(session.refused(&operation).tag, ErrorTag::InvalidValue, "{operation}");
        }
    }
    session.ok(&edit("<one>2</one>"));
    session.ok("<commit/>");
}
