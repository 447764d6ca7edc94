//! What is left of a configuration after the management daemon was stopped, restarted or killed. Needs root.

use cats_conformance::Result;
use cats_conformance::netconf::Session;
use cats_conformance::server::Server;

const FILTER: &str = "<gear xmlns=\"urn:catsd:lab:example\"/>";

fn knob(value: u32) -> String {
    format!("<gear xmlns=\"urn:catsd:lab:example\"><knob>{value}</knob></gear>")
}

/// The value of the knob in running.
fn running_knob(session: &mut Session) -> Result<Option<u32>> {
    let reply = session.running(FILTER)?;
    let value = reply.split_once("<knob>").and_then(|(_, rest)| rest.split_once("</knob>"));
    Ok(value.and_then(|(value, _)| value.parse().ok()))
}

#[test]
fn running_survives_a_restart_and_the_candidate_begins_as_running() -> Result<()> {
    let mut server = Server::start("restart-orderly")?;
    server.node.configure(&knob(1))?;
    server.node.netconf()?.edit_candidate(&knob(2))?;
    server.node.stop()?;
    server.node.start_mgmtd()?;
    let mut session = server.node.netconf()?;
    assert_eq!(running_knob(&mut session)?, Some(1));
    session.commit()?;
    assert_eq!(running_knob(&mut session)?, Some(1), "an uncommitted edit survived the restart");
    session.close()
}

#[test]
fn every_commit_that_was_answered_survives_a_kill() -> Result<()> {
    let mut server = Server::start("restart-kill")?;
    for round in 1..=5 {
        let mut session = server.node.netconf()?;
        session.edit_candidate(&knob(round))?;
        session.commit()?;
        server.node.kill("mgmtd")?;
        server.node.start_mgmtd()?;
        assert_eq!(running_knob(&mut server.node.netconf()?)?, Some(round));
    }
    Ok(())
}

#[test]
fn a_kill_in_the_middle_of_commits_leaves_the_last_answered_one_or_the_next() -> Result<()> {
    let mut server = Server::start("restart-middle")?;
    let mut floor = 0;
    for round in 0..5_u32 {
        let mut session = server.node.netconf()?;
        // Edits and commits are sent ahead; the daemon is killed once some have been answered, in the midst of others.
        let first = floor + 1;
        for value in first..first + 40 {
            let edit = format!(
                "<edit-config><target><candidate/></target><config>{}</config></edit-config>",
                knob(value)
            );
            session.send(&edit)?;
            session.send("<commit/>")?;
        }
        for _ in 0..(2 * (round + 1)) {
            session.receive()?;
        }
        server.node.kill("mgmtd")?;
        let answered = floor + round + 1;
        server.node.start_mgmtd()?;
        let kept = running_knob(&mut server.node.netconf()?)?.unwrap_or_default();
        assert!((answered..first + 40).contains(&kept), "answered up to {answered}, kept {kept}");
        floor = kept;
    }
    Ok(())
}
