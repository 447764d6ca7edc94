//! The command line against a real management daemon, over the local socket. Needs root.

use cats_conformance::Result;
use cats_conformance::command::{Outcome, outcome};
use cats_conformance::node::program;
use cats_conformance::server::Server;

/// Runs the one-shot form.
fn cats(server: &Server, format: &str, commands: &str) -> Result<Outcome> {
    let socket = server.node.netconf_socket().display().to_string();
    outcome(&program("cats")?, &["--socket", &socket, "--format", format, "-c", commands])
}

fn succeed(server: &Server, format: &str, commands: &str) -> Result<String> {
    let outcome = cats(server, format, commands)?;
    assert_eq!(outcome.status.code(), Some(0), "{commands}: {outcome:?}");
    Ok(outcome.stdout)
}

const SERVICE: &str = "set services service 1 name S1; set services service 1 address 192.0.2.100; \
                       set services service 1 instance 7 egress EF-1; \
                       set services service 1 instance 7 locator 198.51.100.11";

#[test]
fn a_service_is_set_compared_committed_shown_and_deleted() -> Result<()> {
    let server = Server::start("cli-service")?;
    let compared = succeed(&server, "table", &format!("configure; {SERVICE}; compare; commit"))?;
    assert!(compared.contains("S1"), "compare shows what the candidate changes: {compared}");
    let shown = succeed(&server, "table", "show config services")?;
    for wanted in ["S1", "192.0.2.100", "EF-1", "198.51.100.11"] {
        assert!(shown.contains(wanted), "{wanted} in {shown}");
    }
    // What `set` shows makes the same configuration again.
    let script = succeed(&server, "set", "show config services")?;
    succeed(&server, "table", "configure; delete services service 1; commit")?;
    assert!(!succeed(&server, "table", "show config services")?.contains("S1"));
    succeed(&server, "table", &format!("configure; {script}; commit"))?;
    assert_eq!(succeed(&server, "set", "show config services")?, script);
    Ok(())
}

#[test]
fn discard_forgets_and_an_uncommitted_edit_is_not_running() -> Result<()> {
    let server = Server::start("cli-discard")?;
    let shown = succeed(&server, "table", &format!("configure; {SERVICE}; discard; show services"))?;
    assert!(!shown.contains("S1"), "{shown}");
    Ok(())
}

#[test]
fn json_comes_out_as_one_document_and_errors_as_one_object() -> Result<()> {
    let server = Server::start("cli-json")?;
    succeed(&server, "table", &format!("configure; {SERVICE}; commit"))?;
    let shown = succeed(&server, "json", "show config services")?;
    let document: serde_json::Value = serde_json::from_str(&shown).unwrap_or_else(|e| panic!("{e}: {shown}"));
    assert!(document.to_string().contains("\"S1\""), "{shown}");
    let outcome = cats(&server, "json", "configure; set services service 1 instance 7 locator nowhere")?;
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    let error: serde_json::Value =
        serde_json::from_str(&outcome.stderr).unwrap_or_else(|e| panic!("{e}: {outcome:?}"));
    for member in ["tag", "path", "message", "expected", "remedy"] {
        assert!(error.get(member).is_some(), "{member}: {error}");
    }
    Ok(())
}

#[test]
fn exit_codes_tell_usage_rejection_and_no_server_apart() -> Result<()> {
    let server = Server::start("cli-exit")?;
    assert_eq!(cats(&server, "table", "frobnicate")?.status.code(), Some(1));
    // A service's instance without its mandatory egress is rejected by the server.
    let incomplete = "configure; set services service 1 instance 7 locator 198.51.100.11; commit";
    let rejected = cats(&server, "table", incomplete)?;
    assert_eq!(rejected.status.code(), Some(2), "{rejected:?}");
    assert!(rejected.stderr.contains("egress"), "{rejected:?}");
    let nowhere =
        outcome(&program("cats")?, &["--socket", "/nonexistent/netconf.sock", "-c", "show config"])?;
    assert_eq!(nowhere.status.code(), Some(3), "{nowhere:?}");
    // A refused script stops at its first error.
    assert!(!succeed(&server, "table", "show config services")?.contains("198.51.100.11"));
    Ok(())
}
