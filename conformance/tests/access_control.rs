//! Access control for two users at once: the administrator of `--user`, and one of the configuration who is governed by
//! rules. Needs root.

use cats_conformance::Result;
use cats_conformance::netconf::Session;
use cats_conformance::node::AdministratorKey;
use cats_conformance::server::Server;

const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
const LAB: &str = "urn:catsd:lab:example";
const WORD: &str = "open sesame";

/// A user of the configuration with a password, in the group `operators`, and the rules of that group.
fn user(name: &str, rules: &str) -> String {
    format!(
        "<edit-config><target><candidate/></target><config xmlns:nc=\"{BASE}\">\
         <system xmlns=\"urn:ietf:params:xml:ns:yang:ietf-system\"><authentication>\
         <user-authentication-order>local-users</user-authentication-order>\
         <user><name>{name}</name><password>$0${WORD}</password></user></authentication></system>\
         <nacm xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\" xmlns:g=\"{LAB}\">\
         <groups><group><name>operators</name><user-name>{name}</user-name></group></groups>\
         <rule-list nc:operation=\"replace\"><name>operators</name><group>operators</group>{rules}</rule-list></nacm>\
         </config></edit-config>"
    )
}

fn rule(name: &str, path: &str, operations: &str, action: &str) -> String {
    format!(
        "<rule><name>{name}</name><path>{path}</path><access-operations>{operations}</access-operations>\
         <action>{action}</action></rule>"
    )
}

fn gear(content: &str) -> String {
    format!(
        "<edit-config><target><candidate/></target><config xmlns:nc=\"{BASE}\"><gear xmlns=\"{LAB}\">{content}</gear>\
         </config></edit-config>"
    )
}

fn commit(session: &mut Session, edit: &str) -> Result<()> {
    session.succeed(edit)?;
    session.commit()
}

const GET: &str = "<get-config><source><running/></source></get-config>";

/// The replies to operations of a user who logs in with the password.
fn ask(server: &Server, user: &str, operations: &[&str]) -> Result<Vec<String>> {
    let hello = format!(
        "<hello xmlns=\"{BASE}\"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability>\
         </capabilities></hello>]]>]]>"
    );
    let rpc = |(operation, id): (&&str, u32)| {
        format!("<rpc xmlns=\"{BASE}\" message-id=\"{id}\">{operation}</rpc>]]>]]>")
    };
    let script = operations.iter().zip(1..).map(rpc).fold(hello, |all, message| all + &message);
    let outcome = server.ssh_with_word(user, WORD, &[], script.as_bytes())?;
    let replies: Vec<String> = outcome.stdout.split("]]>]]>").skip(1).map(str::to_owned).collect();
    assert!(replies.len() > operations.len(), "{} {}", outcome.stdout, outcome.stderr);
    Ok(replies)
}

#[track_caller]
fn denied(reply: &str) {
    assert!(reply.contains("<error-tag>access-denied</error-tag>"), "{reply}");
}

const SAVE: &str =
    "<copy-config><target><url>file:///a.xml</url></target><source><running/></source></copy-config>";
const LOAD: &str =
    "<copy-config><target><candidate/></target><source><url>file:///a.xml</url></source></copy-config>";

#[test]
fn hashes_of_passwords_and_files_of_others_are_not_for_every_user() -> Result<()> {
    let server = Server::start("access-control-secrets")?;
    let mut root = server.node.netconf()?;
    commit(&mut root, &user("ada", &rule("knob", "/g:gear/g:knob", "*", "permit")))?;
    commit(&mut root, &gear("<knob>1</knob>"))?;
    let edit = "<edit-config><target><candidate/></target><url>file:///a.xml</url></edit-config>";
    let replies = ask(&server, "ada", &[GET, SAVE, edit])?;
    assert!(replies[0].contains("<name>ada</name>") && !replies[0].contains("password"), "{}", replies[0]);
    assert!(replies[1].contains("<ok/>"), "{}", replies[1]);
    // What is in it is as if she had sent it: her own user she may not write.
    assert!(replies[2].contains("<ok/>") || replies[2].contains("access-denied"), "{}", replies[2]);
    assert!(root.call(LOAD)?.contains("no such file"), "each has files of its own");
    // The administrator's backup is whole.
    root.succeed("<discard-changes/>")?;
    root.succeed(SAVE)?;
    let before = root.succeed(GET)?;
    assert!(before.contains("<password>$6$"), "{before}");
    root.succeed("<edit-config><target><candidate/></target><config><system xmlns=\"urn:ietf:params:xml:ns:yang:ietf-system\" \
                  xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" nc:operation=\"delete\"/></config></edit-config>")?;
    root.commit()?;
    root.succeed(LOAD)?;
    root.commit()?;
    assert_eq!(root.succeed(GET)?.split("<data").nth(1), before.split("<data").nth(1));
    Ok(())
}

/// The cases A04, A05, A08, A13, A15 and P58, over SSH.
#[test]
fn a_user_of_the_configuration_is_governed_by_rules_and_the_administrator_is_not() -> Result<()> {
    let server = Server::start("access-control")?;
    let mut root = server.node.netconf()?;
    let rules = rule("knob", "/g:gear/g:knob", "*", "permit");
    commit(&mut root, &user("ada", &rules))?;
    commit(&mut root, &gear("<knob>1</knob><mode>fast</mode>"))?;
    let both = gear("<knob>2</knob><mode>slow</mode>");
    let nacm = "<edit-config><target><candidate/></target><config><nacm \
                xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\"><enable-nacm>false</enable-nacm></nacm></config>\
                </edit-config>";
    let knob = gear("<knob>2</knob>");
    let kill = "<kill-session><session-id>1</session-id></kill-session>";
    let replies = ask(&server, "ada", &[GET, &both, nacm, kill, &knob, "<commit/>", GET])?;
    assert!(replies[0].contains("<knob>1</knob>") && !replies[0].contains("<nacm"), "{}", replies[0]);
    replies[1..4].iter().for_each(|reply| denied(reply));
    assert!(replies[4..6].iter().all(|reply| reply.contains("<ok/>")), "{replies:?}");
    assert!(
        replies[6].contains("<knob>2</knob>") && replies[6].contains("<mode>fast</mode>"),
        "{}",
        replies[6]
    );
    // Other rules, from the next request on.
    commit(&mut root, &user("ada", &rule("gear", "/g:gear", "*", "deny")))?;
    let replies = ask(&server, "ada", &[GET, &knob])?;
    assert!(!replies[0].contains("<gear") && !replies[0].contains("rpc-error"), "{}", replies[0]);
    denied(&replies[1]);
    let denials = root.succeed(
        "<get><filter><nacm xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\"/></filter></get>",
    )?;
    assert!(denials.contains("<denied-operations>1</denied-operations>"), "{denials}");
    assert!(denials.contains("<denied-data-writes>3</denied-data-writes>"), "{denials}");
    let script = format!(
        "<hello xmlns=\"{BASE}\"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability></capabilities>\
         </hello>]]>]]><rpc xmlns=\"{BASE}\" message-id=\"1\">{}</rpc>]]>]]>",
        gear("<mode>any</mode>")
    );
    let outcome = server.ssh(AdministratorKey::USER, &server.key, &[], script.as_bytes())?;
    assert!(outcome.stdout.contains("<ok/>"), "{} {}", outcome.stdout, outcome.stderr);
    Ok(())
}
