//! Notifications on a session, and `create-subscription` (RFC 5277) as it is read and written.
#![allow(clippy::unwrap_used, clippy::panic)] // a test fails by panicking

mod server;

use cats_mgmtd_netconf::names::NOTIFICATION;
use cats_mgmtd_netconf::{CloseReason, CreateSubscription, DataOf, Filter, Operation, parse_rpc};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use server::{BASE, HELLO_10, HELLO_11, Server, rpc};

/// RFC 5277 section 2.1: notifications between replies, in the framing of the session.
#[test]
fn a_notification_stands_between_replies_and_never_in_one() {
    for (hello, framed) in [(HELLO_11, "\n#4\n<n/>\n##\n"), (HELLO_10, "<n/>]]>]]>")] {
        let mut server = Server::open(hello);
        server.sent();
        server.session.notify("<n/>".to_owned());
        server.drain();
        assert_eq!(server.sent(), framed);
    }
    let mut server = Server::open(HELLO_11);
    server.feed(rpc("<get/>"));
    server.session.notify("<n/>".to_owned());
    server.drain();
    assert!(server.sent().ends_with("\n#4\n<n/>\n##\n"), "a request under way does not keep it waiting");
    server.session.begin_data(DataOf::Base);
    server.session.data("<a/>");
    server.session.notify("<n/>".to_owned());
    server.session.data("<b/>");
    server.session.end_data(server.now);
    server.drain();
    let sent = server.sent();
    assert!(sent.contains("<a/><b/>") && sent.ends_with("</rpc-reply>\n##\n\n#4\n<n/>\n##\n"), "{sent}");
}

#[test]
fn a_session_that_is_not_open_tells_nothing() {
    let mut server = Server::new();
    server.session.notify("<n/>".to_owned());
    server.drain();
    assert_eq!(server.sent(), "");
    let mut server = Server::open(HELLO_11);
    server.session.close(CloseReason::Dropped);
    server.session.notify("<n/>".to_owned());
    server.drain();
    assert!(!server.sent().contains("<n/>"));
}

fn read(content: &str) -> Result<CreateSubscription, Error> {
    let operation = format!("<create-subscription xmlns=\"{NOTIFICATION}\">{content}</create-subscription>");
    let message = format!("<rpc {BASE} message-id=\"1\">{operation}</rpc>");
    match parse_rpc(message.as_bytes(), 256).map_err(|refused| refused.error)?.operation {
        Operation::CreateSubscription(created) => Ok(*created),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_subscription_without_parameters_is_of_all_that_happens_from_now_on() {
    assert_eq!(read("").unwrap(), CreateSubscription::default());
}

#[test]
fn what_a_client_writes_is_what_is_read() {
    let select = "/n:x[. < 3]".to_owned();
    let filter = Some(Filter::XPath { select, namespaces: vec![("n".to_owned(), "urn:n".to_owned())] });
    let written = CreateSubscription {
        stream: "a<b".to_owned(),
        filter,
        start_us: Some(1_795_995_045_123_456),
        stop_us: Some(4_107_542_400_000_000),
    };
    let message = format!(
        "<rpc {BASE} message-id=\"1\">{}</rpc>",
        Operation::CreateSubscription(Box::new(written.clone())).to_xml()
    );
    let Operation::CreateSubscription(found) = parse_rpc(message.as_bytes(), 256).unwrap().operation else {
        panic!("{message}")
    };
    let Some(Filter::XPath { select, .. }) = &found.filter else { panic!("{found:?}") };
    assert_eq!(select, "/n:x[. < 3]");
    assert_eq!(CreateSubscription { filter: None, ..*found }, CreateSubscription { filter: None, ..written });
}

/// Clients write `<filter>` in either namespace.
#[test]
fn a_filter_may_have_the_namespace_of_other_filters() {
    for namespace in [NOTIFICATION, "urn:ietf:params:xml:ns:netconf:base:1.0"] {
        let filter = format!("<filter xmlns=\"{namespace}\" type=\"subtree\"><x xmlns=\"urn:x\"/></filter>");
        assert!(matches!(read(&filter).unwrap().filter, Some(Filter::Subtree(_))), "{namespace}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let named = |name: &str| vec![ErrorInfo::BadElement(name.to_owned())];
    let error = read("<startTime>yesterday</startTime>").unwrap_err();
    assert_eq!((error.tag, error.info), (ErrorTag::InvalidValue, named("startTime")));
    let error = read("<speed>1</speed>").unwrap_err();
    assert_eq!((error.tag, error.info), (ErrorTag::UnknownElement, named("speed")));
    let error = read("<stream>a</stream><stream>b</stream>").unwrap_err();
    assert_eq!((error.tag, error.info), (ErrorTag::BadElement, named("stream")));
}
