//! Private candidates of sessions that are lost: OpenSSH clients of two users that are cut off, and the local socket. Needs
//! root.

use cats_conformance::Result;
use cats_conformance::netconf::Session;
use cats_conformance::node::AdministratorKey;
use cats_conformance::server::Server;
use cats_conformance::wait::wait_for;

const EXEC: &str = "urn:catsd:yang:cats-exec";
const PRIVATE: &str = "urn:ietf:params:netconf:capability:private-candidate:1.0";
const LAB: &str = "urn:catsd:lab:example";

/// Two users with keys who may do everything, and are no administrators.
fn users(server: &Server, names: [&str; 2]) -> Result<[AdministratorKey; 2]> {
    let keys =
        [AdministratorKey::create(&server.lab, names[0])?, AdministratorKey::create(&server.lab, names[1])?];
    let mut users = String::new();
    for (name, key) in names.iter().zip(&keys) {
        let line = std::fs::read_to_string(&key.public).unwrap_or_default();
        let (algorithm, rest) = line.split_once(' ').unwrap_or_default();
        let data = rest.split_whitespace().next().unwrap_or_default();
        users.push_str(&format!(
            "<user><name>{name}</name><authorized-key><name>k</name><algorithm>{algorithm}</algorithm>\
             <key-data>{data}</key-data></authorized-key></user>"
        ));
    }
    let mut root = server.node.netconf()?;
    let members: String = names.iter().map(|name| format!("<user-name>{name}</user-name>")).collect();
    root.edit_candidate(&format!(
        "<system xmlns=\"urn:ietf:params:xml:ns:yang:ietf-system\"><authentication>{users}</authentication></system>\
         <nacm xmlns=\"urn:ietf:params:xml:ns:yang:ietf-netconf-acm\"><groups><group><name>all</name>{members}</group>\
         </groups><rule-list><name>all</name><group>all</group><rule><name>all</name><module-name>*</module-name>\
         <access-operations>*</access-operations><action>permit</action></rule></rule-list></nacm>"
    ))?;
    root.commit()?;
    Ok(keys)
}

fn gear(content: &str) -> String {
    format!("<gear xmlns=\"{LAB}\">{content}</gear>")
}

fn exec(operation: &str, session: u32) -> String {
    format!("<{operation} xmlns=\"{EXEC}\"><session-id>{session}</session-id></{operation}>")
}

fn listed(session: &mut Session) -> Result<String> {
    session.get(
        "<routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\"><cats xmlns=\"urn:ietf:params:xml:ns:yang:ietf-cats\">\
         <system xmlns=\"urn:catsd:yang:cats-system\"><detached-candidates><candidate/></detached-candidates></system>\
         </cats></routing>",
    )
}

/// Waits until the server has seen the end of that session.
fn wait_until_listed(session: &mut Session, id: u32) -> Result<String> {
    let wanted = format!("<session-id>{id}</session-id>");
    wait_for("the candidate of a lost session", || {
        listed(session).ok().filter(|found| found.contains(&wanted))
    })
}

#[test]
fn a_session_that_is_cut_off_is_taken_up_by_the_next_of_its_user_and_by_nobody_else() -> Result<()> {
    let server = Server::start("detached")?;
    let [ada, bob] = users(&server, ["ada", "bob"])?;
    let mut lost = server.ssh_session("ada", &ada, &[PRIVATE])?;
    let id = lost.session.id()?;
    lost.session.edit_candidate(&gear("<knob>5</knob><item><name>a</name></item>"))?;
    lost.cut();

    let mut next = server.ssh_session("ada", &ada, &[PRIVATE])?;
    let found = wait_until_listed(&mut next.session, id)?;
    for wanted in ["<user>ada</user>", "<base-revision>1</base-revision>", "<changes>"] {
        assert!(found.contains(wanted), "{wanted}: {found}");
    }
    let mut other = server.ssh_session("bob", &bob, &[PRIVATE])?;
    assert!(!listed(&mut other.session)?.contains("<session-id>"));
    for operation in ["attach-candidate", "drop-candidate"] {
        let refused = other.session.call(&exec(operation, id))?;
        assert!(refused.contains("<error-tag>data-missing</error-tag>"), "{refused}");
    }

    // Running goes on meanwhile, at the same node too.
    other.session.edit_candidate(&gear("<knob>6</knob><mode>slow</mode>"))?;
    other.session.commit()?;
    let told = next.session.succeed(&exec("attach-candidate", id))?;
    assert!(told.contains("<conflict") && told.contains("/lx:gear/lx:knob<"), "{told}");
    let refused = next.session.call("<commit/>")?;
    assert!(refused.contains("/lx:gear/lx:knob<"), "{refused}");
    next.session.edit_candidate(&gear("<knob>5</knob>"))?;
    next.session.commit()?;
    let running = next.session.running(&gear(""))?;
    for wanted in ["<knob>5</knob>", "<mode>slow</mode>", "<name>a</name>"] {
        assert!(running.contains(wanted), "{running}");
    }

    // One that closes leaves nothing; one that is killed does.
    next.session.edit_candidate(&gear("<knob>7</knob>"))?;
    next.session.succeed("<close-session/>")?;
    let mut killed = server.ssh_session("ada", &ada, &[PRIVATE])?;
    let second = killed.session.id()?;
    killed.session.edit_candidate(&gear("<knob>8</knob>"))?;
    let mut root = server.node.netconf()?;
    root.succeed(&format!("<kill-session><session-id>{second}</session-id></kill-session>"))?;
    assert_eq!(listed(&mut root)?.matches("<session-id>").count(), 1, "the administrator sees it");
    root.succeed(&exec("drop-candidate", second))?;
    assert!(!listed(&mut root)?.contains("<session-id>"));
    Ok(())
}

/// What was committed until it is confirmed is taken back with the session, and is there to be committed again.
#[test]
fn a_confirmed_commit_whose_session_is_cut_off_is_taken_back_and_its_changes_are_attached() -> Result<()> {
    let server = Server::start("detached-confirmed")?;
    let [ada, _] = users(&server, ["ada", "bob"])?;
    let mut lost = server.ssh_session("ada", &ada, &[PRIVATE])?;
    let id = lost.session.id()?;
    lost.session.edit_candidate(&gear("<knob>5</knob>"))?;
    lost.session.succeed("<commit><confirmed/></commit>")?;
    lost.cut();
    let mut next = server.ssh_session("ada", &ada, &[PRIVATE])?;
    wait_until_listed(&mut next.session, id)?;
    let gone = |session: &mut Session| session.running(&gear("")).map(|found| !found.contains("<knob>"));
    wait_for("the way back", || gone(&mut next.session).ok().filter(|gone| *gone))?;
    next.session.succeed(&exec("attach-candidate", id))?;
    next.session.commit()?;
    assert!(next.session.running(&gear(""))?.contains("<knob>5</knob>"));
    Ok(())
}
