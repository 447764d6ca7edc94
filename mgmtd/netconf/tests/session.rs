//! The session state machines of both ends, and the grammar of requests, with the literal messages of the cases.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod server;

use cats_mgmtd_netconf::{
    Answer, Client, ClientOutput, ClientSettings, CloseReason, CommitOptions, Confirmed, Content, Datastore,
    DefaultOperation, ErrorOption, Filter, FramingError, HelloError, Limits, NoModules, Operation, Output,
    Reply, Resolution, Session, Settings, Source, Target, TestOption, WithDefaults, XmlFragment, names,
    refuse_session,
};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, ErrorType, Path};
use proptest::prelude::*;
use server::{BASE, HELLO_10, HELLO_11, Server, answer_in, chunk, rpc};
use std::time::{Duration, Instant};

/// The answer of an open 1.1 session to one message that never becomes a request.
fn refused(message: &str) -> Error {
    refused_bytes(message.as_bytes())
}

fn refused_bytes(message: &[u8]) -> Error {
    let mut server = Server::open(HELLO_11);
    server.feed([format!("\n#{}\n", message.len()).as_bytes(), message, b"\n##\n"].concat());
    assert_eq!(server.requests, []);
    assert_eq!(server.closed, None, "the session goes on");
    error_in(&server.sent())
}

fn refused_rpc(content: &str) -> Error {
    refused(&format!("<rpc {BASE} message-id=\"1\">{content}</rpc>"))
}

/// Reads a chunked reply as a client does.
fn error_in(wire: &str) -> Error {
    match answer_in(wire) {
        Answer::Errors(mut errors) if errors.len() == 1 => errors.remove(0),
        other => panic!("{other:?}"),
    }
}

fn operation(content: &str) -> Operation {
    let mut server = Server::open(HELLO_11);
    server.feed(rpc(content));
    assert_eq!(server.sent(), "");
    server.requests.remove(0).operation
}

#[test]
fn the_servers_hello_has_both_bases_its_capabilities_and_the_session_id() {
    let settings =
        Settings { session_id: 7, capabilities: vec!["urn:a?b=1&c=2".to_owned()], limits: Limits::default() };
    let mut session = Session::new(settings, Instant::now());
    let mut text = Vec::new();
    while let Some(Output::Send(bytes)) = session.poll_output() {
        text.extend(bytes);
    }
    let text = String::from_utf8(text).unwrap();
    let message = text.strip_suffix("]]>]]>").unwrap();
    let hello = cats_mgmtd_netconf::Hello::parse(message.as_bytes()).unwrap();
    assert_eq!(hello.session_id, Some(7));
    assert_eq!(hello.capabilities, [names::BASE_1_0, names::BASE_1_1, "urn:a?b=1&c=2"]);
}

/// The case F02.
#[test]
fn a_client_with_base_1_0_only_gets_end_of_message_framing() {
    let mut server = Server::open(HELLO_10);
    server.feed(format!("<rpc {BASE} message-id=\"1\"><commit/></rpc>]]>]]>"));
    server.reply(Reply::Ok);
    assert_eq!(server.sent(), format!("<rpc-reply {BASE} message-id=\"1\"><ok/></rpc-reply>]]>]]>"));
}

/// The case F04.
#[test]
fn bytes_behind_the_hello_belong_to_the_next_message() {
    let mut server = Server::new();
    server.feed(format!("{HELLO_11}{}", rpc("<commit/>")));
    assert_eq!(server.requests[0].operation, Operation::Commit(CommitOptions::default()));
}

/// The case F05.
#[test]
fn a_session_fed_byte_by_byte_is_the_same() {
    let mut server = Server::new();
    for byte in format!("{HELLO_11}{}", rpc("<commit/>")).bytes() {
        server.feed([byte]);
    }
    assert_eq!(server.requests.len(), 1);
}

/// The case F12.
#[test]
fn a_client_hello_with_a_session_id_ends_the_session() {
    let mut server = Server::new();
    server.feed(HELLO_11.replace("</hello>", "<session-id>4</session-id></hello>"));
    assert_eq!(server.closed, Some(CloseReason::BadHello(HelloError::SessionIdFromClient)));
    assert_eq!(server.sent(), "");
}

#[test]
fn a_hello_without_a_common_base_ends_the_session() {
    let mut server = Server::new();
    server.feed(HELLO_10.replace("base:1.0</cap", "base:2.0</cap"));
    assert_eq!(server.closed, Some(CloseReason::BadHello(HelloError::NoCommonBase)));
}

/// The case F15.
#[test]
fn an_rpc_before_the_hello_ends_the_session() {
    let mut server = Server::new();
    server.feed(format!("<rpc {BASE} message-id=\"1\"><commit/></rpc>]]>]]>"));
    assert_eq!(server.closed, Some(CloseReason::BadHello(HelloError::NotHello("rpc".to_owned()))));
    assert_eq!(server.requests, []);
}

/// The cases F07, F09 and F11, and an end-of-message marker after 1.1 was agreed.
#[test]
fn broken_framing_ends_the_session() {
    for wire in ["\n#0\n", "\n#4294967296\n", "\n##\n", "<rpc/>]]>]]>"] {
        let mut server = Server::open(HELLO_11);
        server.feed(wire);
        assert!(matches!(server.closed, Some(CloseReason::BadFraming(_))), "{wire:?}: {:?}", server.closed);
    }
    let mut server = Server::open(HELLO_11);
    server.feed("\n#0\n");
    let reason = CloseReason::BadFraming(FramingError::LeadingZero { offset: 2 });
    assert_eq!(server.closed, Some(reason));
}

/// The case F17: the text "]]>]]>" in a leaf, on a 1.1 session, there and back.
#[test]
fn the_old_marker_is_content_on_a_1_1_session() {
    let config = "<config><top xmlns=\"urn:x\">]]&gt;]]&gt;</top></config>";
    let found = operation(&format!("<edit-config><target><candidate/></target>{config}</edit-config>"));
    let Operation::EditConfig { config: Content::Inline(config), .. } = found else { panic!("{found:?}") };
    assert!(config.as_str().contains("]]&gt;]]&gt;"));
    let mut server = Server::open(HELLO_11);
    server.feed(rpc("<get/>"));
    server.reply(Reply::Data("<top xmlns=\"urn:x\" a=\"]]>]]>\">]]&gt;]]&gt;</top>".to_owned()));
    let Answer::Data(data) = answer_in(&server.sent()) else { panic!() };
    assert!(data.as_str().contains("a=\"]]>]]>\""));
}

/// The case F20: a single chunk of 11 MiB, with a limit of 10 MiB.
#[test]
fn a_message_above_the_limit_is_answered_with_too_big_and_its_message_id() {
    let limits = Limits { message: 10 << 20, ..Limits::default() };
    let mut server = Server::with(limits);
    server.feed(HELLO_11);
    let text = format!("<rpc {BASE} message-id=\"20\"><get>{}</get></rpc>", "x".repeat(11 << 20));
    server.feed(chunk(&text));
    let sent = server.sent();
    assert!(sent.contains(" message-id=\"20\""), "{sent}");
    let error = error_in(&sent);
    assert_eq!((error.kind, error.tag), (ErrorType::Rpc, ErrorTag::TooBig));
    server.feed(rpc("<commit/>"));
    assert_eq!(server.requests.len(), 1, "the session goes on");
}

#[test]
fn a_message_of_11_mib_is_accepted_under_the_default_limit() {
    let mut server = Server::open(HELLO_11);
    let edit = "<edit-config><target><candidate/></target><config/></edit-config>";
    server.feed(chunk(&format!("<rpc {BASE} message-id=\"20\">{edit}<!--{}--></rpc>", "x".repeat(11 << 20))));
    assert_eq!(server.requests.len(), 1);
}

/// The case R01.
#[test]
fn an_rpc_without_message_id_is_missing_attribute() {
    let error = refused(&format!("<rpc {BASE}><get/></rpc>"));
    assert_eq!((error.kind, error.tag), (ErrorType::Rpc, ErrorTag::MissingAttribute));
    let info = [ErrorInfo::BadAttribute("message-id".to_owned()), ErrorInfo::BadElement("rpc".to_owned())];
    assert_eq!(error.info, info);
    for namespace in ["urn:x", "urn:ietf:params:xml:ns:netconf:base:1.0"] {
        let of_another = format!("<rpc {BASE} xmlns:x=\"{namespace}\" x:message-id=\"1\"><get/></rpc>");
        assert_eq!(refused(&of_another).info, info, "an attribute with a prefix is another one");
    }
}

/// The case R05.
#[test]
fn an_unknown_operation_in_the_base_namespace_is_not_supported() {
    assert_eq!(refused_rpc("<frobnicate/>").tag, ErrorTag::OperationNotSupported);
}

/// The case R06: what the schema must decide is handed out, with the error for a namespace it does not have.
#[test]
fn an_operation_of_another_namespace_is_handed_out_and_can_be_unknown_namespace() {
    let mut server = Server::open(HELLO_11);
    server.feed(rpc("<x:frob xmlns:x=\"urn:nowhere\"><x:a>1</x:a></x:frob>"));
    let Operation::Other { namespace, name, xml } = server.requests[0].operation.clone() else { panic!() };
    assert_eq!((namespace.as_str(), name.as_str()), ("urn:nowhere", "frob"));
    assert!(xml.as_str().starts_with("<x:frob "), "{xml}");
    server.reply(cats_mgmtd_netconf::unknown_namespace(&name, &namespace).into());
    let error = error_in(&server.sent());
    assert_eq!(error.tag, ErrorTag::UnknownNamespace);
    let info = [ErrorInfo::BadElement("frob".to_owned()), ErrorInfo::BadNamespace("urn:nowhere".to_owned())];
    assert_eq!(error.info, info);
}

/// The case R08.
#[test]
fn a_document_type_declaration_is_rejected() {
    let text = format!("<!DOCTYPE rpc [<!ENTITY a \"b\">]><rpc {BASE} message-id=\"1\"><get/></rpc>");
    assert_eq!(refused(&text).tag, ErrorTag::MalformedMessage);
}

/// The case R11.
#[test]
fn cdata_stays_text() {
    let config = "<config><leaf xmlns=\"urn:x\"><![CDATA[a<b&c]]></leaf></config>";
    let found = operation(&format!("<edit-config><target><candidate/></target>{config}</edit-config>"));
    let Operation::EditConfig { config: Content::Inline(config), .. } = found else { panic!() };
    assert!(config.as_str().contains("<![CDATA[a<b&c]]>"));
}

/// The case R14.
#[test]
fn invalid_utf_8_is_a_malformed_message() {
    let mut text = format!("<rpc {BASE} message-id=\"1\"><get>").into_bytes();
    text.push(0xff);
    text.extend(b"</get></rpc>");
    let error = refused_bytes(&text);
    assert_eq!((error.kind, error.tag), (ErrorType::Rpc, ErrorTag::MalformedMessage));
}

#[test]
fn what_is_not_well_formed_is_a_malformed_message_and_on_1_0_operation_failed() {
    for text in ["<rpc", "<a></b>", "text", "<x:rpc/>", "<rpc/><rpc/>"] {
        assert_eq!(refused(text).tag, ErrorTag::MalformedMessage, "{text}");
    }
    let mut server = Server::open(HELLO_10);
    server.feed("<rpc]]>]]>");
    assert!(server.sent().contains("<error-tag>operation-failed</error-tag>"));
    assert_eq!(server.closed, None);
}

#[test]
fn elements_nested_deeper_than_the_limit_are_refused_with_the_message_id() {
    let deep = |levels: usize| {
        format!(
            "<rpc {BASE} message-id=\"1\"><get><filter>{}{}</filter></get></rpc>",
            "<a>".repeat(levels),
            "</a>".repeat(levels)
        )
    };
    let mut server = Server::open(HELLO_11);
    server.feed(chunk(&deep(254)));
    let sent = server.sent();
    assert!(sent.contains("message-id=\"1\""));
    assert_eq!(error_in(&sent).tag, ErrorTag::TooBig);
    server.feed(chunk(&deep(253)));
    assert_eq!(server.requests.len(), 1);
    assert_eq!(refused(&"<a>".repeat(1_000_000)).tag, ErrorTag::TooBig);
}

#[test]
fn messages_with_many_attributes_or_namespaces_are_refused_before_they_are_parsed() {
    for (name, message_id) in [("get", "message-id=\"1\""), ("rpc", "<rpc-reply")] {
        for one in ["a", "xmlns:a"] {
            let many: String = (0..100_000).map(|n| format!(" {one}{n}='u{n}'")).collect();
            let (outer, inner) = if name == "rpc" { (many, String::new()) } else { (String::new(), many) };
            let mut server = Server::open(HELLO_11);
            server.feed(chunk(&format!("<rpc {BASE} message-id=\"1\"{outer}><get{inner}/></rpc>")));
            let sent = server.sent();
            assert!(sent.contains(message_id), "{sent}");
            assert_eq!(error_in(&sent).tag, ErrorTag::TooBig);
        }
    }
}

/// The case R17.
#[test]
fn close_session_is_answered_and_then_the_session_closes() {
    let mut server = Server::open(HELLO_11);
    server.feed(rpc("<close-session/>"));
    assert_eq!(server.requests[0].operation, Operation::CloseSession);
    assert_eq!(server.closed, None);
    server.reply(Reply::Ok);
    assert_eq!(answer_in(&server.sent()), Answer::Ok);
    assert_eq!(server.closed, Some(CloseReason::CloseSession));
}

/// The case R20.
#[test]
fn an_edit_without_target_is_missing_element() {
    for content in ["<edit-config><config/></edit-config>", "<edit-config><target/><config/></edit-config>"] {
        let error = refused_rpc(content);
        assert_eq!((error.kind, error.tag), (ErrorType::Protocol, ErrorTag::MissingElement));
        assert_eq!(error.info, [ErrorInfo::BadElement("target".to_owned())]);
    }
}

/// The case R23.
#[test]
fn an_rpc_has_exactly_one_operation() {
    let two = refused_rpc("<get/><commit/>");
    assert_eq!(
        (two.tag, &two.info[..]),
        (ErrorTag::BadElement, &[ErrorInfo::BadElement("commit".to_owned())][..])
    );
    assert_eq!(refused_rpc("").tag, ErrorTag::MissingElement);
}

#[test]
fn the_parameters_of_a_confirmed_commit_are_read_and_bounded() {
    let found = operation("<commit><confirmed/></commit>");
    let confirmed = Some(Confirmed { timeout_s: 600, persist: None });
    assert_eq!(found, Operation::Commit(CommitOptions { confirmed, ..CommitOptions::default() }));
    let long = format!("<commit><persist-id>{}</persist-id></commit>", "x".repeat(1025));
    for (content, tag, named) in [
        (
            "<commit><confirmed/><confirm-timeout>0</confirm-timeout></commit>",
            ErrorTag::InvalidValue,
            "confirm-timeout",
        ),
        (
            "<commit><confirmed/><confirm-timeout>4294967296</confirm-timeout></commit>",
            ErrorTag::InvalidValue,
            "confirm-timeout",
        ),
        ("<commit><confirm-timeout>9</confirm-timeout></commit>", ErrorTag::MissingElement, "confirmed"),
        ("<commit><persist>x</persist></commit>", ErrorTag::MissingElement, "confirmed"),
        ("<commit><confirmed/><confirmed/></commit>", ErrorTag::BadElement, "confirmed"),
        ("<cancel-commit><persist>x</persist></cancel-commit>", ErrorTag::UnknownElement, "persist"),
        (&long, ErrorTag::InvalidValue, "persist-id"),
    ] {
        let error = refused_rpc(content);
        assert_eq!(
            (error.tag, &error.info[..]),
            (tag, &[ErrorInfo::BadElement(named.to_owned())][..]),
            "{content}"
        );
    }
}

#[test]
fn a_comment_of_a_commit_is_in_the_namespace_of_cats_exec_and_has_a_bound() {
    let comment =
        |text: &str| format!("<commit><comment xmlns=\"urn:catsd:yang:cats-exec\">{text}</comment></commit>");
    let (long, longest) = ("\u{e9}".repeat(1025), "\u{e9}".repeat(1024));
    for said in ["why &amp; wherefore", longest.as_str()] {
        let wanted = Some(said.replace("&amp;", "&"));
        let Operation::Commit(options) = operation(&comment(said)) else { panic!("no commit") };
        assert_eq!(options.comment, wanted);
    }
    for said in ["", long.as_str()] {
        assert_eq!(refused_rpc(&comment(said)).tag, ErrorTag::InvalidValue, "{said}");
    }
    assert_eq!(refused_rpc("<commit><comment>why</comment></commit>").tag, ErrorTag::UnknownElement);
}

/// The requests that RFC 6241 shows in sections 7.3, 8.4.4.1 and 8.4.5.1.
#[test]
fn the_requests_that_the_rfc_shows_mean_what_it_says() {
    let token = || Some("IQ,d4668".to_owned());
    let confirmed = |timeout_s, persist| CommitOptions {
        confirmed: Some(Confirmed { timeout_s, persist }),
        ..CommitOptions::default()
    };
    for (content, wanted) in [
        (
            "<commit><confirmed/><confirm-timeout>120</confirm-timeout></commit>",
            Operation::Commit(confirmed(120, None)),
        ),
        (
            "<commit><confirmed/><persist>IQ,d4668</persist></commit>",
            Operation::Commit(confirmed(600, token())),
        ),
        (
            "<commit><persist-id>IQ,d4668</persist-id></commit>",
            Operation::Commit(CommitOptions { persist_id: token(), ..CommitOptions::default() }),
        ),
        ("<cancel-commit/>", Operation::CancelCommit { persist_id: None }),
        (
            "<cancel-commit><persist-id>IQ,d4668</persist-id></cancel-commit>",
            Operation::CancelCommit { persist_id: token() },
        ),
        (
            "<copy-config><target><running/></target><source><url>https://user:password@example.com/cfg/new.txt</url>\
             </source></copy-config>",
            Operation::CopyConfig {
                target: Target::Datastore(Datastore::Running),
                source: Source::Config(Content::Url(
                    "https://user:password@example.com/cfg/new.txt".to_owned(),
                )),
                with_defaults: None,
            },
        ),
    ] {
        assert_eq!(operation(content), wanted);
    }
}

#[test]
fn what_is_not_announced_is_refused_with_the_place() {
    let cases = [
        ("<lock><target><startup/></target></lock>", ErrorTag::UnknownElement, "startup"),
        ("<lock><target><url>file:///x</url></target></lock>", ErrorTag::UnknownElement, "url"),
        (
            "<edit-config><target><candidate/></target><url>file:///x</url><config/></edit-config>",
            ErrorTag::BadElement,
            "url",
        ),
        (
            "<edit-config><target><candidate/></target><default-operation>delete</default-operation><config/></edit-config>",
            ErrorTag::InvalidValue,
            "default-operation",
        ),
        ("<kill-session><session-id>0</session-id></kill-session>", ErrorTag::InvalidValue, "session-id"),
        ("<kill-session/>", ErrorTag::MissingElement, "session-id"),
        ("<get-config/>", ErrorTag::MissingElement, "source"),
        ("<edit-config><target><candidate/></target></edit-config>", ErrorTag::MissingElement, "config"),
        ("<lock><target><candidate/><running/></target></lock>", ErrorTag::BadElement, "running"),
        (
            "<lock><target><candidate/></target><target><running/></target></lock>",
            ErrorTag::BadElement,
            "target",
        ),
    ];
    for (content, tag, element) in cases {
        let error = refused_rpc(content);
        assert_eq!(error.tag, tag, "{content}");
        assert_eq!(error.info, [ErrorInfo::BadElement(element.to_owned())], "{content}");
    }
    let unknown = refused_rpc("<get><filter type=\"regex\" select=\"/x\"/></get>");
    assert_eq!(unknown.tag, ErrorTag::BadAttribute);
}

/// What the case E31 needs of this layer.
#[test]
fn a_fragment_keeps_the_namespaces_that_were_in_scope() {
    let found = operation(
        "<edit-config xmlns:i=\"urn:identities\"><target><candidate/></target>\
         <config xmlns:j=\"urn:own\"><top xmlns=\"urn:x\"><ref>i:one</ref></top></config></edit-config>",
    );
    let Operation::EditConfig { config: Content::Inline(config), .. } = found else { panic!() };
    let text = config.as_str();
    assert_eq!(text.matches("xmlns:j=").count(), 1, "{text}");
    assert!(text.contains("xmlns:i=\"urn:identities\"") && text.contains(BASE), "{text}");
    XmlFragment::parse(text).unwrap();
}

#[test]
fn names_without_a_namespace_have_none_either_where_a_fragment_is_put() {
    let mut server = Server::open(HELLO_11);
    let base = BASE.replace("xmlns=", "xmlns:nc=");
    server.feed(chunk(&format!(
        "<nc:rpc {base} message-id=\"1\"><nc:get><nc:filter><any/></nc:filter></nc:get></nc:rpc>"
    )));
    let Operation::Get { filter: Some(Filter::Subtree(filter)), .. } = &server.requests[0].operation else {
        panic!()
    };
    let text = format!("<outer {BASE}>{filter}</outer>");
    let document = roxmltree::Document::parse(&text).unwrap();
    let any = document.descendants().find(|node| node.tag_name().name() == "any").unwrap();
    assert_eq!(any.tag_name().namespace().unwrap_or_default(), "", "{filter}");
}

#[test]
fn pipelined_requests_are_handed_out_one_at_a_time_and_answered_in_order() {
    let mut server = Server::open(HELLO_11);
    let one = |id: u32| chunk(&format!("<rpc {BASE} message-id=\"{id}\"><get/></rpc>"));
    server.feed(format!("{}{}{}", one(1), one(2), one(3)));
    assert_eq!(server.requests.len(), 1);
    for id in 1..=3_usize {
        assert_eq!(server.requests.len(), id);
        server.reply(Reply::Ok);
        assert!(server.sent().contains(&format!(" message-id=\"{id}\"")));
    }
}

#[test]
fn a_session_reads_no_further_when_enough_waits_behind_a_request() {
    let mut server = Server::open(HELLO_11);
    server.feed(rpc("<get/>"));
    assert!(server.session.wants_input());
    server.feed(chunk(&format!("<rpc {BASE} message-id=\"2\"><get/>{}</rpc>", " ".repeat(300 << 10))));
    assert!(!server.session.wants_input());
    server.reply(Reply::Ok);
    assert!(server.session.wants_input());
    assert_eq!(server.requests.len(), 2);
}

#[test]
fn a_peer_that_has_said_all_still_gets_its_answers() {
    let mut server = Server::open(HELLO_11);
    server.feed(format!("{}{}\n#5\n<rp", rpc("<get/>"), rpc("<commit/>")));
    server.session.handle_eof();
    server.drain();
    server.reply(Reply::Ok);
    assert_eq!(server.closed, None);
    server.reply(Reply::Ok);
    assert_eq!(server.requests.len(), 2);
    assert_eq!(server.closed, Some(CloseReason::Dropped));
}

/// The case P05, as far as a session can: no hello in time.
#[test]
fn a_session_without_hello_ends_in_time() {
    let mut server = Server::new();
    let (due, why) = server.session.poll_timeout().unwrap();
    assert_eq!((due - server.now, why), (Duration::from_secs(30), "hello"));
    server.session.handle_timeout(due - Duration::from_millis(1));
    server.drain();
    assert_eq!(server.closed, None);
    server.session.handle_timeout(due);
    server.drain();
    assert_eq!(server.closed, Some(CloseReason::HelloTimeout));
}

#[test]
fn a_hello_that_never_ends_ends_the_session_at_its_limit() {
    let mut server = Server::new();
    let piece = "x".repeat(64 << 10);
    let mut fed = 0;
    while server.closed.is_none() && fed < 4 << 20 {
        server.feed(&piece);
        fed += piece.len();
    }
    assert_eq!(fed, (1 << 20) + piece.len(), "one piece above the limit");
    let Some(CloseReason::BadHello(HelloError::Malformed(why))) = &server.closed else {
        panic!("{:?}", server.closed)
    };
    assert!(why.contains("1048576"), "{why}");
}

#[test]
fn a_killed_session_says_no_more() {
    let mut server = Server::open(HELLO_11);
    server.feed(rpc("<get/>"));
    server.session.close(CloseReason::Killed { by: 3 });
    server.reply(Reply::Ok);
    assert_eq!(server.sent(), "");
    assert_eq!(server.closed, Some(CloseReason::Killed { by: 3 }));
}

#[test]
fn an_error_has_every_part_where_rfc_6241_wants_it() {
    let mut server = Server::open(HELLO_11);
    server.feed(rpc("<commit/>"));
    let error = Error::application(ErrorTag::DataMissing, "no instance \"x\" <here> & \u{1}")
        .app_tag("instance-required")
        .at(Path("/probe-bench:bench/entry[name='a/b']/ref".to_owned()))
        .with(ErrorInfo::SessionId(4))
        .with(ErrorInfo::NonUnique(Path("/probe-bench:bench/entry[name='b']".to_owned())))
        .with(ErrorInfo::MissingChoice("kind".to_owned()));
    server.reply(error.clone().into());
    let sent = server.sent();
    let expected = format!(
        "<rpc-reply {BASE} message-id=\"1\"><rpc-error><error-type>application</error-type>\
         <error-tag>data-missing</error-tag><error-severity>error</error-severity>\
         <error-app-tag>instance-required</error-app-tag>\
         <error-path xmlns:pb=\"urn:probe:bench\">/pb:bench/pb:entry[pb:name='a/b']/pb:ref</error-path>\
         <error-message xml:lang=\"en\">no instance \"x\" &lt;here&gt; &amp; \u{fffd}</error-message>\
         <error-info><session-id>4</session-id>\
         <non-unique xmlns=\"urn:ietf:params:xml:ns:yang:1\" xmlns:pb=\"urn:probe:bench\">/pb:bench/pb:entry[pb:name='b']</non-unique>\
         <missing-choice xmlns=\"urn:ietf:params:xml:ns:yang:1\">kind</missing-choice></error-info></rpc-error></rpc-reply>"
    );
    assert_eq!(sent, chunk(&expected));
    let read = error_in(&sent);
    assert_eq!(read.path, error.path);
    assert_eq!(read.info, error.info);
    assert_eq!(read.app_tag, error.app_tag);
}

#[test]
fn a_schema_is_text_in_the_monitoring_namespace() {
    let found = operation(
        "<get-schema xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring\" \
         xmlns:m=\"urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring\"><identifier>ietf-cats</identifier>\
         <format>m:yang</format></get-schema>",
    );
    let identifier = "ietf-cats".to_owned();
    assert_eq!(found, Operation::GetSchema { identifier, version: None, format: Some("yang".to_owned()) });
    let mut server = Server::open(HELLO_11);
    server.feed(rpc("<get/>"));
    server.reply(Reply::Schema("module a { /* < & */ }\r\n".to_owned()));
    let sent = server.sent();
    assert!(sent.contains(
        "<data xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring\">module a { /* &lt; &amp; */ }&#13;\n</data>"
    ));
}

/// A client and a server, joined in slices of `step` bytes, until both are silent.
fn join(client: &mut Client, server: &mut Server, step: usize) -> Vec<ClientOutput> {
    let mut heard = Vec::new();
    loop {
        let mut busy = false;
        while let Some(output) = client.poll_output() {
            busy = true;
            match output {
                ClientOutput::Send(bytes) => bytes.chunks(step).for_each(|slice| server.feed(slice)),
                other => heard.push(other),
            }
        }
        let sent = std::mem::take(&mut server.sent);
        busy |= !sent.is_empty();
        sent.chunks(step).for_each(|slice| client.handle_bytes(slice));
        if !busy {
            return heard;
        }
    }
}

#[test]
fn a_client_and_a_server_agree_on_the_framing_and_match_replies() {
    for bases in
        [vec![names::BASE_1_0.to_owned()], vec![names::BASE_1_0.to_owned(), names::BASE_1_1.to_owned()]]
    {
        for step in [1, 5, 1 << 20] {
            let mut server = Server::new();
            let settings = Settings { session_id: 9, capabilities: Vec::new(), limits: Limits::default() };
            server.session = Session::new(settings, server.now);
            server.drain();
            let settings = ClientSettings { bases: bases.clone(), ..ClientSettings::default() };
            let mut client = Client::new(settings, server.now);
            assert!(
                client.request(&Operation::Commit(CommitOptions::default())).is_err(),
                "not before the hello"
            );
            let heard = join(&mut client, &mut server, step);
            assert!(matches!(&heard[..], [ClientOutput::Ready(hello)] if hello.session_id == Some(9)));
            let first = client.request(&Operation::Get { filter: None, with_defaults: None }).unwrap();
            let second = client.request(&Operation::CloseSession).unwrap();
            join(&mut client, &mut server, step);
            server.reply(Reply::Data("<a xmlns=\"urn:a\"/>".to_owned()));
            server.reply(Reply::Ok);
            let heard = join(&mut client, &mut server, step);
            let [ClientOutput::Reply(one), ClientOutput::Reply(two)] = &heard[..] else {
                panic!("{heard:?}")
            };
            assert_eq!((one.message_id, two.message_id), (Some(first), Some(second)));
            let Ok(Answer::Data(data)) = one.answer(&NoModules) else { panic!() };
            assert!(data.as_str().ends_with("<a xmlns=\"urn:a\"/></data>"), "{data}");
            assert_eq!(two.answer(&NoModules), Ok(Answer::Ok));
            assert_eq!(server.closed, Some(CloseReason::CloseSession));
        }
    }
}

#[test]
fn a_client_that_gets_no_session_learns_why() {
    let mut client = Client::new(ClientSettings::default(), Instant::now());
    while client.poll_output().is_some() {}
    client.handle_bytes(&refuse_session(Error::protocol(ErrorTag::AccessDenied, "only uid 0 may")));
    let Some(ClientOutput::Closed(CloseReason::BadHello(HelloError::Refused(error)))) = client.poll_output()
    else {
        panic!()
    };
    assert_eq!((error.tag, error.message.as_str()), (ErrorTag::AccessDenied, "only uid 0 may"));
}

#[test]
fn a_reply_that_was_never_asked_for_ends_the_clients_session() {
    let mut client = Client::new(ClientSettings::default(), Instant::now());
    let hello = HELLO_10.replace("</hello>", "<session-id>4</session-id></hello>");
    client.handle_bytes(hello.as_bytes());
    client.handle_bytes(format!("<rpc-reply {BASE} message-id=\"77\"><ok/></rpc-reply>]]>]]>").as_bytes());
    let last = std::iter::from_fn(|| client.poll_output()).last();
    assert!(matches!(last, Some(ClientOutput::Closed(CloseReason::Connection(_)))), "{last:?}");
}

fn datastore() -> impl Strategy<Value = Datastore> {
    prop_oneof![Just(Datastore::Running), Just(Datastore::Candidate)]
}

fn element(name: &'static str) -> impl Strategy<Value = XmlFragment> {
    "[a-z<&>\u{e9}]{0,20}".prop_map(move |text| {
        let text = cats_mgmtd_netconf::escape_text(&text).into_owned();
        XmlFragment::parse(format!("<{name} {BASE}><x xmlns=\"urn:x\">{text}</x></{name}>")).unwrap()
    })
}

fn filter() -> impl Strategy<Value = Option<Filter>> {
    let xpath = |select| Filter::XPath { select, namespaces: vec![("x".to_owned(), "urn:x?a&b".to_owned())] };
    prop::option::of(prop_oneof![
        element("filter").prop_map(Filter::Subtree),
        "[a-z/<>'\"&:]{1,12}".prop_map(xpath),
    ])
}

fn with_defaults() -> impl Strategy<Value = Option<WithDefaults>> {
    prop::option::of(prop::sample::select(vec![
        WithDefaults::ReportAll,
        WithDefaults::ReportAllTagged,
        WithDefaults::Trim,
        WithDefaults::Explicit,
    ]))
}

fn url() -> impl Strategy<Value = String> {
    "file:///[a-z<&\u{e9}]{1,9}"
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![element("config").prop_map(Content::Inline), url().prop_map(Content::Url)]
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![datastore().prop_map(Target::Datastore), url().prop_map(Target::Url)]
}

fn source() -> impl Strategy<Value = Source> {
    prop_oneof![datastore().prop_map(Source::Datastore), content().prop_map(Source::Config)]
}

fn edit() -> impl Strategy<Value = Operation> {
    let default_operations = prop::sample::select(vec![
        DefaultOperation::Merge,
        DefaultOperation::Replace,
        DefaultOperation::None,
    ]);
    let test_options =
        prop::sample::select(vec![TestOption::TestThenSet, TestOption::Set, TestOption::TestOnly]);
    let error_options = prop::sample::select(vec![
        ErrorOption::StopOnError,
        ErrorOption::ContinueOnError,
        ErrorOption::RollbackOnError,
    ]);
    (datastore(), default_operations, test_options, error_options, content()).prop_map(
        |(target, default_operation, test_option, error_option, config)| Operation::EditConfig {
            target,
            default_operation,
            test_option,
            error_option,
            config,
        },
    )
}

fn token() -> impl Strategy<Value = Option<String>> {
    prop::option::of("[a-z<&\u{e9}]{0,9}")
}

fn commit_options() -> impl Strategy<Value = CommitOptions> {
    let confirmed = (prop_oneof![Just(600), 1_u32..], token())
        .prop_map(|(timeout_s, persist)| Confirmed { timeout_s, persist });
    let comment = prop::option::of("[a-z<&\u{e9}]{1,9}");
    (prop::option::of(confirmed), token(), comment)
        .prop_map(|(confirmed, persist_id, comment)| CommitOptions { confirmed, persist_id, comment })
}

fn resolution() -> impl Strategy<Value = Resolution> {
    prop_oneof![
        Just(Resolution::RevertOnConflict),
        Just(Resolution::PreferCandidate),
        Just(Resolution::PreferRunning),
    ]
}

fn any_operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        (filter(), with_defaults())
            .prop_map(|(filter, with_defaults)| Operation::Get { filter, with_defaults }),
        (datastore(), filter(), with_defaults()).prop_map(|(source, filter, with_defaults)| {
            Operation::GetConfig { source, filter, with_defaults }
        }),
        edit(),
        (target(), source(), with_defaults()).prop_map(|(target, source, with_defaults)| {
            Operation::CopyConfig { target, source, with_defaults }
        }),
        target().prop_map(|target| Operation::DeleteConfig { target }),
        datastore().prop_map(|target| Operation::Lock { target }),
        datastore().prop_map(|target| Operation::Unlock { target }),
        commit_options().prop_map(Operation::Commit),
        token().prop_map(|persist_id| Operation::CancelCommit { persist_id }),
        Just(Operation::DiscardChanges),
        resolution().prop_map(|resolution| Operation::Update { resolution }),
        source().prop_map(|source| Operation::Validate { source }),
        Just(Operation::CloseSession),
        (1_u32..).prop_map(|session_id| Operation::KillSession { session_id }),
        ("[a-z-]{1,9}", prop::option::of("[0-9-]{1,9}"), prop::option::of("[a-z]{1,5}"))
            .prop_map(|(identifier, version, format)| Operation::GetSchema { identifier, version, format }),
    ]
}

proptest! {
    #[test]
    fn every_operation_that_a_client_writes_is_what_the_server_reads(wanted in any_operation()) {
        let found = operation(&wanted.to_xml());
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn no_message_makes_the_parser_panic(text in "[<>/a-z \"'=&;!\\[\\]:?-]{0,80}") {
        let _ = cats_mgmtd_netconf::parse_rpc(text.as_bytes(), 256);
        let wrapped = format!("<rpc {BASE} message-id=\"1\">{text}</rpc>");
        let _ = cats_mgmtd_netconf::parse_rpc(wrapped.as_bytes(), 256);
    }
}

#[test]
fn the_peers_hello_is_handed_out_once() {
    let mut server = Server::open(HELLO_11);
    let capabilities = vec![names::BASE_1_1.to_owned()];
    assert_eq!(server.session.take_hello().map(|hello| hello.capabilities), Some(capabilities));
    assert_eq!(server.session.take_hello(), None);
}

#[test]
fn update_takes_one_of_three_modes_and_reverts_on_conflict_without_one() {
    let update = |content: &str| format!("<update xmlns=\"{}\">{content}</update>", names::PRIVATE_CANDIDATE);
    let wanted = Operation::Update { resolution: Resolution::RevertOnConflict };
    assert_eq!(operation(&update("")), wanted);
    let rpc = |content: &str| format!("<rpc {BASE} message-id=\"1\">{}</rpc>", update(content));
    for (content, tag) in [
        ("<resolution-mode>overwrite</resolution-mode>", ErrorTag::InvalidValue),
        ("<mode>prefer-running</mode>", ErrorTag::UnknownElement),
    ] {
        let refused = cats_mgmtd_netconf::parse_rpc(rpc(content).as_bytes(), 256).unwrap_err();
        assert_eq!(refused.error.tag, tag, "{content}");
    }
}
