//! Users of `ietf-system` against the real daemon: from an edit with a password in clear text to a login with
//! OpenSSH's client, and out again. Needs root.

use cats_conformance::command::Outcome;
use cats_conformance::netconf::Session;
use cats_conformance::server::Server;
use cats_conformance::wait::wait_for;
use cats_conformance::{LabError, Result};
use std::path::Path;

const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
const SYS: &str = "urn:ietf:params:xml:ns:yang:ietf-system";
const SECRET: &str = "open sesame";
const METHODS: [&str; 2] = ["password", "keyboard-interactive"];

/// An edit of the candidate below `authentication`.
fn edit(content: &str) -> String {
    format!(
        "<edit-config><target><candidate/></target><config xmlns:nc=\"{BASE}\"><system xmlns=\"{SYS}\"><authentication>\
         {content}</authentication></system></config></edit-config>"
    )
}

fn ada() -> String {
    edit(&format!(
        "<user-authentication-order>local-users</user-authentication-order>\
         <user><name>ada</name><password>$0${SECRET}</password></user>"
    ))
}

/// An edit that lets ada do everything.
fn permission() -> String {
    "<edit-config><target><candidate/></target><config><nacm xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\">\
     <groups><group><name>all</name><user-name>ada</user-name></group></groups>\
     <rule-list><name>all</name><group>all</group><rule><name>all</name><module-name>*</module-name>\
     <action>permit</action></rule></rule-list></nacm></config></edit-config>"
        .to_owned()
}

fn commit(session: &mut Session, edit: &str) -> Result<()> {
    session.succeed(edit)?;
    session.commit()
}

/// Operations in end-of-message framing, after the hello.
fn script(operations: &[&str]) -> String {
    let hello = format!(
        "<hello xmlns=\"{BASE}\"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability>\
         </capabilities></hello>]]>]]>"
    );
    let rpc = |(operation, id): (&&str, u32)| {
        format!("<rpc xmlns=\"{BASE}\" message-id=\"{id}\">{operation}</rpc>]]>]]>")
    };
    operations.iter().zip(1..).map(rpc).fold(hello, |all, message| all + &message)
}

fn log_in(server: &Server, word: &str, method: &str, operations: &[&str]) -> Result<Outcome> {
    let option = format!("PreferredAuthentications={method}");
    server.ssh_with_word("ada", word, &["-o", &option], script(operations).as_bytes())
}

#[track_caller]
fn served(outcome: &Outcome) {
    assert!(outcome.status.success() && outcome.stdout.contains("<ok"), "{}", outcome.stderr);
}

#[track_caller]
fn denied(outcome: &Outcome) {
    assert!(!outcome.status.success() && outcome.stdout.is_empty(), "{}", outcome.stdout);
    assert!(outcome.stderr.contains("Permission denied"), "{}", outcome.stderr);
}

/// The files below `folder` that hold the secret; sockets are none.
fn holding_the_secret(folder: &Path) -> Result<Vec<String>> {
    let reading = || LabError::of(format!("reading {}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(reading())? {
        let entry = entry.map_err(reading())?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(reading())?);
        if kind.is_dir() {
            found.extend(holding_the_secret(&path)?);
        } else if kind.is_file() {
            let content = std::fs::read(&path).map_err(reading())?;
            if content.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    Ok(found)
}

#[test]
fn a_user_logs_in_with_a_password_that_is_kept_nowhere() -> Result<()> {
    let mut server = Server::start("logins-password")?;
    let mut session = server.node.netconf()?;
    denied(&log_in(&server, SECRET, "password", &["<close-session/>"])?);
    session.succeed(&ada())?;
    for (datastore, operation) in [("candidate", "<commit/>"), ("running", "<discard-changes/>")] {
        let data = session.succeed(&format!("<get-config><source><{datastore}/></source></get-config>"))?;
        assert!(data.contains("<password>$6$") && !data.contains(SECRET), "{data}");
        session.succeed(operation)?;
    }
    for method in METHODS {
        served(&log_in(&server, SECRET, method, &["<close-session/>"])?);
        denied(&log_in(&server, "open", method, &["<close-session/>"])?);
    }
    assert_eq!(holding_the_secret(server.node.folder())?, [""; 0]);
    drop(session);
    server.node.kill("mgmtd")?;
    server.node.start_mgmtd()?;
    served(&log_in(&server, SECRET, "password", &["<close-session/>"])?);
    assert_eq!(holding_the_secret(server.node.folder())?, [""; 0]);
    Ok(())
}

#[test]
fn a_user_who_deletes_itself_gets_the_answer_and_no_session_any_more() -> Result<()> {
    let server = Server::start("logins-delete")?;
    let mut session = server.node.netconf()?;
    commit(&mut session, &ada())?;
    let refused = log_in(&server, SECRET, "password", &[&edit("<user><name>bob</name></user>")])?;
    assert!(refused.stdout.contains("<error-tag>access-denied</error-tag>"), "{}", refused.stdout);
    commit(&mut session, &permission())?;
    let delete = edit("<user nc:operation=\"delete\"><name>ada</name></user>");
    let get = "<get-config><source><running/></source></get-config>";
    let outcome = log_in(&server, SECRET, "password", &[&delete, "<commit/>", get])?;
    let replies: Vec<&str> = outcome.stdout.split("<rpc-reply").skip(1).collect();
    assert_eq!(replies.len(), 2, "nothing is answered after the commit: {}", outcome.stdout);
    assert!(replies.iter().all(|reply| reply.contains("<ok")), "{}", outcome.stdout);
    assert!(!outcome.status.success());
    denied(&log_in(&server, SECRET, "password", &["<close-session/>"])?);
    Ok(())
}

#[test]
fn what_nobody_could_log_in_with_is_refused_with_its_place_and_the_remedy() -> Result<()> {
    let server = Server::start("logins-refused")?;
    let mut session = server.node.netconf()?;
    let user = |content: &str| edit(&format!("<user><name>ada</name>{content}</user>"));
    let key = "<authorized-key><name>k</name><algorithm>ssh-dss</algorithm><key-data>AAAAB3NzaC1kc3M=</key-data></authorized-key>";
    for (content, leaf, why) in [
        ("<password>$1$salt$0123456789012345678901</password>", "password", "MD5"),
        (key, "key-data", "not a public key"),
    ] {
        session.succeed(&user(content))?;
        let reply = session.call("<commit/>")?;
        for wanted in ["<error-tag>invalid-value</error-tag>", "name='ada'", leaf, why] {
            assert!(reply.contains(wanted), "{wanted}: {reply}");
        }
        session.succeed("<discard-changes/>")?;
    }
    let radius = edit("<user-authentication-order>radius</user-authentication-order>");
    session.succeed(&radius)?;
    assert!(session.call("<commit/>")?.contains("<error-tag>"), "there is no RADIUS here");
    session.succeed("<discard-changes/>")?;
    let reply = session.call(&user("<password>secret</password>"))?;
    assert!(reply.contains("<error-tag>invalid-value</error-tag>"), "{reply}");
    Ok(())
}

#[test]
fn the_policy_takes_effect_at_its_commit() -> Result<()> {
    let server = Server::start("logins-policy")?;
    let mut session = server.node.netconf()?;
    commit(&mut session, &ada())?;
    let policy = "<edit-config><target><candidate/></target><config>\
         <routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\"><cats xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\">\
         <system xmlns=\"urn:catsd:yang:cats-system\"><ssh><authentication-method>keyboard-interactive</authentication-method>\
         </ssh></system></cats></routing></config></edit-config>";
    commit(&mut session, policy)?;
    let outcome = log_in(&server, SECRET, "password", &["<close-session/>"])?;
    denied(&outcome);
    assert!(outcome.stderr.contains("(keyboard-interactive)"), "{}", outcome.stderr);
    served(&log_in(&server, SECRET, "keyboard-interactive", &["<close-session/>"])?);
    commit(
        &mut session,
        &edit("<user-authentication-order nc:operation=\"delete\">local-users</user-authentication-order>"),
    )?;
    denied(&log_in(&server, SECRET, "keyboard-interactive", &["<close-session/>"])?);
    Ok(())
}

#[test]
fn host_keys_of_all_kinds_are_made_at_the_first_start_and_stay() -> Result<()> {
    let mut server = Server::start("logins-host-keys")?;
    let state = server.node.folder().join("mgmtd-state");
    let scan = |server: &Server| -> Result<Vec<String>> {
        let said =
            server.node.host().run("ssh-keyscan", &["-p", "830", "-t", "ed25519,ecdsa,rsa", "127.0.0.1"])?;
        let mut keys: Vec<String> =
            said.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
        keys.sort();
        Ok(keys)
    };
    server.node.kill("mgmtd")?;
    for kind in ["ed25519", "ecdsa", "rsa"] {
        let file = state.join(format!("ssh_host_{kind}_key"));
        std::fs::remove_file(&file).map_err(LabError::of(format!("removing {}", file.display())))?;
    }
    server.node.start_mgmtd()?;
    let before = wait_for("three host keys", || scan(&server).ok().filter(|keys| keys.len() == 3))?;
    server.node.kill("mgmtd")?;
    server.node.start_mgmtd()?;
    assert_eq!(scan(&server)?, before);
    Ok(())
}
