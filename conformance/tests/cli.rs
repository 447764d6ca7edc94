//! The CLI against a running management daemon, one-shot and at a terminal. Needs root, and tmux for the terminal.

use cats_conformance::Result;
use cats_conformance::command::{Outcome, outcome, run};
use cats_conformance::node::program;
use cats_conformance::server::Server;
use cats_conformance::wait::wait_for;

/// Runs `cats` with these arguments against the server's local socket.
fn cats(server: &Server, args: &[&str]) -> Result<Outcome> {
    let socket = server.node.netconf_socket().display().to_string();
    outcome(&program("cats")?, &[&["--socket", socket.as_str()], args].concat())
}

fn code(outcome: &Outcome) -> Option<i32> {
    outcome.status.code()
}

#[test]
fn a_service_is_configured_compared_committed_and_shown() -> Result<()> {
    let server = Server::start("cli-one-shot")?;
    let script = "configure; set services service 1 name web address 192.0.2.100; \
                  set services service 1 instance 11 egress EF-1 locator 198.51.100.11; compare; commit";
    let edited = cats(&server, &["-c", script])?;
    assert_eq!(code(&edited), Some(0), "{}", edited.stderr);
    assert!(edited.stdout.contains("+ services service 1 name web\n"), "{}", edited.stdout);
    let shown = cats(&server, &["-c", "show config services service 1 name"])?;
    assert!(shown.stdout.contains("name  web"), "{}", shown.stdout);
    let json = cats(&server, &["--format", "json", "-c", "show config services"])?;
    let value: serde_json::Value = serde_json::from_str(&json.stdout).expect("one JSON value");
    let service = &value["ietf-routing:routing"]["ietf-cats:cats"]["cats-services:services"]["service"][0];
    assert_eq!((&service["cs-id"], &service["name"]), (&1.into(), &"web".into()));
    Ok(())
}

#[test]
fn set_output_pasted_into_an_empty_server_gives_the_same_configuration() -> Result<()> {
    let first = Server::start("cli-paste-from")?;
    let script = "configure; set services service 1 name \"a b\" address [ 192.0.2.100 2001:db8::100 ]; \
                  set network-metrics path IF-1 EF-1 delay 4.5; set gear tag [ z a ]; commit";
    assert_eq!(code(&cats(&first, &["-c", script])?), Some(0));
    let lines = cats(&first, &["--format", "set", "-c", "show config"])?.stdout;
    drop(first);
    let second = Server::start("cli-paste-to")?;
    let file = second.node.folder().join("paste");
    std::fs::write(&file, format!("configure\n{lines}commit\n")).expect("a writable lab folder");
    assert_eq!(code(&cats(&second, &["-f", &file.display().to_string()])?), Some(0));
    assert_eq!(cats(&second, &["--format", "set", "-c", "show config"])?.stdout, lines);
    Ok(())
}

#[test]
fn a_discarded_change_is_gone_and_a_deleted_node_too() -> Result<()> {
    let server = Server::start("cli-discard")?;
    cats(&server, &["-c", "configure; set gear knob 7 mode fast; commit"])?;
    let script =
        "configure; set gear knob 8; discard; delete gear mode; compare; commit; exit; show config gear";
    let outcome = cats(&server, &["-c", script])?;
    assert_eq!(outcome.stdout, "- gear mode fast\ngear\n  knob  7\n", "{}", outcome.stderr);
    Ok(())
}

#[test]
fn exit_codes_tell_usage_from_rejection_from_no_connection() -> Result<()> {
    let server = Server::start("cli-codes")?;
    let usage = cats(&server, &["-c", "configure; set gear knbo 7"])?;
    assert_eq!(code(&usage), Some(1));
    assert!(
        usage.stderr.contains("     ^^^^") && usage.stderr.contains("did you mean `knob`?"),
        "{}",
        usage.stderr
    );
    let script = "configure; set services service 1 instance 11 egress EF-1; commit";
    let rejected = cats(&server, &["--format", "json", "-c", script])?;
    assert_eq!(code(&rejected), Some(2));
    let error: serde_json::Value = serde_json::from_str(&rejected.stderr).expect("one JSON object");
    assert_eq!(error["tag"], "operation-failed");
    let place = "/ietf-routing:routing/ietf-cats:cats/cats-services:services/service[cs-id='1']/instance[csci-id='11']";
    assert!(error["path"].as_str().is_some_and(|path| path.starts_with(place)), "{error}");
    let absent = outcome(&program("cats")?, &["--socket", "/nonexistent", "-c", "show config"])?;
    assert_eq!(code(&absent), Some(3));
    Ok(())
}

#[test]
fn a_locked_candidate_is_a_conflict() -> Result<()> {
    let server = Server::start("cli-lock")?;
    let mut holder = server.node.netconf()?;
    holder.succeed("<lock><target><candidate/></target></lock>")?;
    let outcome = cats(&server, &["-c", "configure; set gear knob 7"])?;
    assert_eq!(code(&outcome), Some(6), "{}", outcome.stderr);
    holder.close()
}

#[test]
fn state_is_shown_with_the_configuration() -> Result<()> {
    let server = Server::start("cli-state")?;
    let outcome = cats(&server, &["-c", "show state netconf-state sessions"])?;
    assert_eq!(code(&outcome), Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("session-id") && outcome.stdout.contains("root"), "{}", outcome.stdout);
    Ok(())
}

#[test]
fn at_a_terminal_words_are_completed_and_errors_do_not_end_the_session() -> Result<()> {
    let server = Server::start("cli-terminal")?;
    let name = format!("cats-cli-{}", std::process::id());
    let command = format!("{} --socket {}", program("cats")?, server.node.netconf_socket().display());
    let tmux = |args: &[&str]| run("tmux", &[&["-L", name.as_str()], args].concat());
    tmux(&["new-session", "-d", "-x", "120", "-y", "40", &command])?;
    let screen = || tmux(&["capture-pane", "-p"]).unwrap_or_default();
    let shows =
        |text: &str| wait_for(&format!("`{text}` on the screen"), || screen().contains(text).then_some(()));
    let result = (|| {
        shows("cats>")?;
        tmux(&["send-keys", "conf", "Tab", "Enter"])?;
        shows("cats#")?;
        tmux(&["send-keys", "set gear knbo 7", "Enter"])?;
        shows("did you mean `knob`?")?;
        tmux(&["send-keys", "set gear kn", "Tab", "7", "Enter"])?;
        tmux(&["send-keys", "compare", "Enter"])?;
        shows("+ gear knob 7")?;
        tmux(&["send-keys", "commit", "Enter", "exit", "Enter", "show config gear", "Enter"])?;
        shows("  knob  7")?;
        tmux(&["send-keys", "exit", "Enter"])?;
        wait_for("the end of the session", || tmux(&["list-sessions"]).is_err().then_some(()))
    })();
    let last = screen();
    let _ = tmux(&["kill-server"]);
    result.map_err(|error| {
        eprintln!("{last}");
        error
    })
}
