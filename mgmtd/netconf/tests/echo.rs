//! What a reply repeats of its request.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod server;

use cats_mgmtd_netconf::{Answer, Reply, XmlFragment};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use server::{BASE, HELLO_11, Server, answer_in, chunk, rpc};

/// The case R02.
#[test]
fn all_attributes_are_echoed_as_they_were_and_the_declarations_of_namespaces_too() {
    let mut server = Server::open(HELLO_11);
    server.feed(chunk(
        "<nc:rpc xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" xmlns:ex=\"http://example.net/content/1.0\" \
         xmlns:idle='urn:no-one&amp;s\"' message-id='1&lt;01' ex:user-id=\"fred\" plain=\"a&amp;b\"><nc:get/></nc:rpc>",
    ));
    assert_eq!(server.requests[0].message_id, "1<01");
    server.reply(Reply::Ok);
    let expected = format!(
        "<rpc-reply {BASE} xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" \
         xmlns:ex=\"http://example.net/content/1.0\" xmlns:idle=\"urn:no-one&amp;s&quot;\" message-id='1&lt;01' \
         ex:user-id=\"fred\" plain=\"a&amp;b\"><ok/></rpc-reply>"
    );
    assert_eq!(server.sent(), chunk(&expected));
}

/// What is cut out of a reply declares what was in scope there.
fn same(found: &XmlFragment, wanted: &XmlFragment) {
    let clean = |xml: &XmlFragment| {
        let declared = [format!(" {}", BASE.replace("xmlns", "xmlns:nc")), format!(" {BASE}")];
        let clean = declared.iter().fold(xml.as_str().to_owned(), |xml, declared| xml.replace(declared, ""));
        clean.replace(" xmlns=\"urn:other\"", "")
    };
    assert_eq!(clean(found), clean(wanted));
}

/// The case R02: the attributes have a default namespace that is not that of the reply.
#[test]
fn another_default_namespace_is_echoed_and_the_reply_keeps_its_own_names() {
    let head = "xmlns=\"urn:other\" xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" message-id=\"7\"";
    let request = format!("<nc:rpc {head}><nc:get/></nc:rpc>");
    let error = Error::application(ErrorTag::OperationFailed, "no").with(ErrorInfo::SessionId(4));
    let fragment = "<top xmlns=\"urn:x\"/>".to_owned();
    let replies = [
        Reply::Ok,
        Reply::Data(fragment.clone()),
        Reply::Schema("module a {}".to_owned()),
        Reply::Output(fragment),
        Reply::Output(String::new()),
        Reply::Errors(vec![error.clone(), error]),
        Reply::Errors(vec![]),
    ];
    let plain = |reply: Reply| {
        let mut server = Server::open(HELLO_11);
        server.feed(rpc("<get/>"));
        server.reply(reply);
        answer_in(&server.sent())
    };
    for reply in replies {
        let mut server = Server::open(HELLO_11);
        server.feed(chunk(&request));
        server.reply(reply.clone());
        let sent = server.sent();
        assert!(sent.contains(&format!("<nc:rpc-reply {head}>")), "{sent}");
        match (answer_in(&sent), plain(reply)) {
            (Answer::Data(found), Answer::Data(wanted)) => same(&found, &wanted),
            (Answer::Output(found), Answer::Output(wanted)) => same(&found[0], &wanted[0]),
            (found, wanted) => assert_eq!(found, wanted, "{sent}"),
        }
    }
    let mut server = Server::open(HELLO_11);
    server.feed(chunk(&request));
    server.session.begin_data(cats_mgmtd_netconf::DataOf::Base);
    server.session.data("<top xmlns=\"urn:x\"/>");
    server.session.end_data(server.now);
    server.drain();
    assert!(matches!(answer_in(&server.sent()), Answer::Data(data) if data.as_str().contains("urn:x")));
}
