//! OpenSSH's own client with `-s netconf` and handwritten messages, in both framings, and all that a wrong client
//! can send. Needs root.

use cats_conformance::Result;
use cats_conformance::node::AdministratorKey;
use cats_conformance::server::Server;

const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";

fn hello(base: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><hello xmlns=\"{BASE}\"><capabilities>\
         <capability>urn:ietf:params:netconf:base:{base}</capability></capabilities></hello>]]>]]>"
    )
}

fn rpc(id: u32, operation: &str) -> String {
    format!("<rpc xmlns=\"{BASE}\" message-id=\"{id}\">{operation}</rpc>")
}

fn chunked(message: &str) -> String {
    format!("\n#{}\n{message}\n##\n", message.len())
}

const GET: &str = "<get-config><source><running/></source><filter type=\"subtree\">\
                   <gear xmlns=\"urn:catsd:lab:example\"/></filter></get-config>";

/// What the server answered to these bytes as the administrator, and that ssh ended.
fn answer(server: &Server, input: &str) -> Result<String> {
    Ok(server.ssh(AdministratorKey::USER, &server.key, &[], input.as_bytes())?.stdout)
}

/// That the first reply says so, and repeats the message-id 1.
fn assert_too_big(said: &str) {
    let (_, replies) = said.split_once("]]>]]>").unwrap_or_default();
    let first = replies.split("</rpc-reply>").next().unwrap_or_default();
    for wanted in ["message-id=\"1\"", "<error-tag>too-big</error-tag>"] {
        assert!(first.contains(wanted), "{wanted}: {said}");
    }
}

#[test]
fn a_client_of_base_1_0_is_served_in_end_of_message_framing() -> Result<()> {
    let server = Server::start("openssh-1-0")?;
    let edit = "<edit-config><target><candidate/></target><config><gear xmlns=\"urn:catsd:lab:example\">\
                <knob>12</knob></gear></config></edit-config>";
    let script: String = [edit, "<commit/>", GET, "<close-session/>"]
        .iter()
        .zip(1..)
        // A person presses Enter after each message: blanks between messages are skipped.
        .map(|(operation, id)| rpc(id, operation) + "]]>]]>\n")
        .collect();
    let said = answer(&server, &(hello("1.0") + "\n" + &script))?;
    let messages: Vec<&str> = said.split("]]>]]>").collect();
    assert_eq!(messages.len(), 6, "hello, four replies and nothing more: {said}");
    assert!(messages[0].contains("urn:ietf:params:netconf:base:1.1"), "{said}");
    for (message, id) in messages[1..5].iter().zip(1..) {
        assert!(message.contains(&format!("message-id=\"{id}\"")), "{message}");
    }
    assert!(messages[3].contains("<knob>12</knob>"), "{said}");
    assert!(messages[4].contains("<ok"), "{said}");
    assert!(!said.contains("\n#"), "chunked framing was not agreed on: {said}");
    Ok(())
}

#[test]
fn a_client_of_base_1_1_is_served_in_chunks_of_any_size() -> Result<()> {
    let server = Server::start("openssh-1-1")?;
    let tiny: String = rpc(1, GET).chars().map(|c| format!("\n#1\n{c}")).collect::<String>() + "\n##\n";
    // The hello and the first message come in one write.
    let said = answer(&server, &(hello("1.1") + &tiny + &chunked(&rpc(2, "<close-session/>"))))?;
    let (_, replies) = said.split_once("]]>]]>").unwrap_or_default();
    assert!(replies.starts_with("\n#"), "{said}");
    assert!(replies.contains("message-id=\"1\"") && replies.contains("message-id=\"2\""), "{said}");
    assert!(replies.trim_end().ends_with("##"), "{said}");
    Ok(())
}

#[test]
fn every_operation_is_served_in_both_framings() -> Result<()> {
    let server = Server::start("openssh-operations")?;
    let edit = "<edit-config><target><candidate/></target><config><gear xmlns=\"urn:catsd:lab:example\">\
                <knob>12</knob></gear></config></edit-config>";
    for framing in ["1.0", "1.1"] {
        let other = server.node.netconf()?;
        let victim = other.hello.split_once("<session-id>").and_then(|(_, rest)| rest.split_once('<'));
        let kill =
            format!("<kill-session><session-id>{}</session-id></kill-session>", victim.unwrap_or_default().0);
        let operations = [
            ("<lock><target><candidate/></target></lock>", "<ok"),
            ("<lock><target><running/></target></lock>", "<ok"),
            (edit, "<ok"),
            ("<validate><source><candidate/></source></validate>", "<ok"),
            ("<commit><confirmed/><confirm-timeout>300</confirm-timeout></commit>", "<ok"),
            ("<commit/>", "<ok"),
            (GET, "<knob>12</knob>"),
            (
                "<get><filter type=\"subtree\"><gear xmlns=\"urn:catsd:lab:example\"/></filter></get>",
                "<knob>12</knob>",
            ),
            ("<copy-config><target><candidate/></target><source><running/></source></copy-config>", "<ok"),
            ("<discard-changes/>", "<ok"),
            ("<unlock><target><running/></target></unlock>", "<ok"),
            ("<unlock><target><candidate/></target></unlock>", "<ok"),
            (
                "<get-schema xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring\">\
                 <identifier>ietf-cats</identifier></get-schema>",
                "module ietf-cats",
            ),
            (&kill, "<ok"),
            ("<close-session/>", "<ok"),
        ];
        let frame = |message: String| if framing == "1.0" { message + "]]>]]>" } else { chunked(&message) };
        let script: String =
            operations.iter().zip(1..).map(|((rpc_of, _), id)| frame(rpc(id, rpc_of))).collect();
        let said = answer(&server, &(hello(framing) + &script))?;
        let replies: Vec<&str> = said.split("<rpc-reply").skip(1).collect();
        assert_eq!(replies.len(), operations.len(), "{said}");
        for ((reply, (operation, wanted)), id) in replies.iter().zip(operations).zip(1..) {
            assert!(reply.contains(&format!("message-id=\"{id}\"")), "{operation}: {reply}");
            assert!(reply.contains(wanted), "{operation}: {reply}");
        }
    }
    Ok(())
}

#[test]
fn a_bad_chunk_header_ends_the_session() -> Result<()> {
    let server = Server::start("openssh-chunk")?;
    for header in ["\n#0\n", "\n#4294967296\n", "\n#x\n", "\n#-1\n", "#5\n"] {
        let said = answer(&server, &(hello("1.1") + header + &rpc(1, GET) + "\n##\n"))?;
        assert!(!said.contains("<data"), "{header:?} was taken: {said}");
    }
    // The server itself is as good as before.
    let said = answer(&server, &(hello("1.1") + &chunked(&rpc(7, "<close-session/>"))))?;
    assert!(said.contains("message-id=\"7\"") && said.contains("<ok"), "{said}");
    Ok(())
}

#[test]
fn malformed_xml_is_refused_as_malformed() -> Result<()> {
    let server = Server::start("openssh-malformed")?;
    let broken = [
        format!("<rpc xmlns=\"{BASE}\" message-id=\"1\"><get-config></rpc>"),
        format!(
            "<!DOCTYPE rpc [<!ENTITY e \"x\">]><rpc xmlns=\"{BASE}\" message-id=\"1\"><get>&e;</get></rpc>"
        ),
        "not xml at all".to_owned(),
        format!("<rpc xmlns=\"{BASE}\" message-id=\"1\"><p:get/></rpc>"),
    ];
    for message in broken {
        let said = answer(&server, &(hello("1.1") + &chunked(&message)))?;
        let (_, replies) = said.split_once("]]>]]>").unwrap_or_default();
        assert!(!replies.contains("<data"), "{message} was answered: {said}");
        if !replies.is_empty() {
            assert!(replies.contains("malformed-message"), "{message}: {said}");
        }
    }
    Ok(())
}

#[test]
fn an_rpc_without_message_id_is_told_what_it_lacks() -> Result<()> {
    let server = Server::start("openssh-message-id")?;
    let message = format!("<rpc xmlns=\"{BASE}\"><get/></rpc>");
    let said = answer(&server, &(hello("1.1") + &chunked(&message) + &chunked(&rpc(2, "<close-session/>"))))?;
    for wanted in
        ["missing-attribute", "<bad-attribute>message-id</bad-attribute>", "<bad-element>rpc</bad-element>"]
    {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert!(said.contains("message-id=\"2\""), "the session goes on: {said}");
    Ok(())
}

#[test]
fn a_client_that_sends_a_session_id_or_skips_the_hello_is_dropped() -> Result<()> {
    let server = Server::start("openssh-hello")?;
    let with_id = hello("1.1").replace("</hello>", "<session-id>4</session-id></hello>");
    for first in [with_id, format!("{}]]>]]>", rpc(1, GET)), hello("9.9")] {
        let said = answer(&server, &(first + &chunked(&rpc(2, GET))))?;
        assert!(!said.contains("<data"), "{said}");
    }
    Ok(())
}

#[test]
fn a_wrong_key_and_an_unknown_user_get_no_session() -> Result<()> {
    let server = Server::start("openssh-keys")?;
    let stranger = AdministratorKey::create(&server.lab, "stranger-key")?;
    let input = hello("1.1") + &chunked(&rpc(1, "<close-session/>"));
    for (user, key) in [(AdministratorKey::USER, &stranger), ("mallory", &server.key)] {
        let outcome = server.ssh(user, key, &[], input.as_bytes())?;
        assert_eq!(outcome.status.code(), Some(255), "{user}: {outcome:?}");
        assert!(outcome.stdout.is_empty(), "{outcome:?}");
        assert!(outcome.stderr.contains("Permission denied"), "{outcome:?}");
    }
    // A password is no way in either, and the right key still is.
    let outcome = server.ssh(AdministratorKey::USER, &server.key, &["-v"], input.as_bytes())?;
    assert!(outcome.stdout.contains("message-id=\"1\""), "{outcome:?}");
    let offered = outcome.stderr.lines().find(|line| line.contains("Authentications that can continue"));
    assert!(offered.is_none_or(|line| !line.contains("password")), "{outcome:?}");
    Ok(())
}

#[test]
fn a_pseudo_terminal_and_environment_asked_for_with_the_subsystem_change_nothing() -> Result<()> {
    let server = Server::start("openssh-pty")?;
    let input = hello("1.1") + &chunked(&rpc(1, "<close-session/>"));
    let options = ["-tt", "-o", "SetEnv=LAB=1"];
    let outcome = server.ssh(AdministratorKey::USER, &server.key, &options, input.as_bytes())?;
    assert!(outcome.stdout.contains("message-id=\"1\""), "{outcome:?}");
    assert_eq!(outcome.stdout.matches("<hello").count(), 1, "the client's hello was echoed: {outcome:?}");
    Ok(())
}

#[test]
fn a_message_deeper_than_the_bound_is_refused_and_the_server_lives() -> Result<()> {
    let server = Server::start("openssh-deep")?;
    let deep = "<a>".repeat(100_000) + &"</a>".repeat(100_000);
    let said = answer(&server, &(hello("1.1") + &chunked(&rpc(1, &deep))))?;
    assert_too_big(&said);
    let said = answer(&server, &(hello("1.1") + &chunked(&rpc(7, "<close-session/>"))))?;
    assert!(said.contains("message-id=\"7\""), "{said}");
    Ok(())
}

#[test]
fn a_message_beyond_the_bound_of_64_mib_is_too_big() -> Result<()> {
    let server = Server::start("openssh-big")?;
    let config = format!("<config>{}</config>", "x".repeat(65 << 20));
    let edit = format!("<edit-config><target><candidate/></target>{config}</edit-config>");
    let input = hello("1.1") + &chunked(&rpc(1, &edit)) + &chunked(&rpc(2, "<close-session/>"));
    let said = answer(&server, &input)?;
    assert_too_big(&said);
    assert!(said.contains("message-id=\"2\""), "the session goes on: {said}");
    Ok(())
}
