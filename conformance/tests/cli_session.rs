//! The CLI where more than one command or more than one party is involved: pasted configuration, a lock held by
//! somebody else, state, a terminal. Needs root, and tmux for the terminal.

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
fn set_output_pasted_into_an_empty_server_gives_the_same_configuration() -> Result<()> {
    let first = Server::start("cli-paste-from")?;
    let script = "configure; set services service 1 name web description \"a b\" \
                  address [ 192.0.2.100 2001:db8::100 ]; \
                  set network-metrics path IF-1 EF-1 delay 4.5; set gear tag [ z a ]; commit";
    let edited = cats(&first, &["-c", script])?;
    assert_eq!(code(&edited), Some(0), "{}", edited.stderr);
    let lines = cats(&first, &["--format", "set", "-c", "show config"])?.stdout;
    let second = Server::start("cli-paste-to")?;
    let file = second.node.folder().join("paste");
    std::fs::write(&file, format!("configure\n{lines}commit\n")).expect("a writable lab folder");
    let pasted = cats(&second, &["-f", &file.display().to_string()])?;
    assert_eq!(code(&pasted), Some(0), "{}", pasted.stderr);
    assert_eq!(cats(&second, &["--format", "set", "-c", "show config"])?.stdout, lines);
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
        tmux(&["send-keys", "sh al", "Enter"])?;
        shows("cats-engined is not connected")?;
        tmux(&["send-keys", "exit", "Enter"])?;
        wait_for("the end of the session", || tmux(&["list-sessions"]).is_err().then_some(()))
    })();
    let last = screen();
    let _ = tmux(&["kill-server"]);
    result.inspect_err(|_| eprintln!("{last}"))
}

#[test]
fn a_script_leaves_nothing_uncommitted_for_others_to_commit() -> Result<()> {
    let server = Server::start("cli-leftover")?;
    let forgotten = cats(&server, &["-c", "configure; set gear knob 7; compare"])?;
    assert_eq!(code(&forgotten), Some(2), "{}", forgotten.stderr);
    assert!(forgotten.stderr.contains("end the script with `commit` or `discard`"), "{}", forgotten.stderr);
    let failed = cats(&server, &["-c", "configure; set gear knob 8; set services service 0 name z; commit"])?;
    assert_eq!(code(&failed), Some(2), "{}", failed.stderr);
    let next =
        cats(&server, &["-c", "configure; compare; set gear mode fast; commit; exit; show config gear"])?;
    assert_eq!(next.stdout, "gear\n  mode  fast\n", "{}", next.stderr);
    Ok(())
}

#[test]
fn a_reader_that_goes_away_is_no_error() -> Result<()> {
    let server = Server::start("cli-head")?;
    let socket = server.node.netconf_socket().display().to_string();
    // More than a pipe holds.
    let text = "x".repeat(2000);
    let many: String = (1..=500).map(|n| format!("set gear item i{n} text {text}\n")).collect();
    let file = server.node.folder().join("many");
    std::fs::write(&file, format!("configure\n{many}commit\n")).expect("a writable lab folder");
    let filled = cats(&server, &["-f", &file.display().to_string()])?;
    assert_eq!(code(&filled), Some(0), "{}", filled.stderr);
    let script =
        format!("set -o pipefail; {} --socket {socket} -c 'show config' | head -1", program("cats")?);
    let headed = outcome("bash", &["-c", &script])?;
    assert_eq!((code(&headed), headed.stdout.as_str(), headed.stderr.as_str()), (Some(0), "gear\n", ""));
    let commands = "configure; set gear knob 9; show; commit";
    let script = format!("set -o pipefail; {} --socket {socket} -c '{commands}' | head -1", program("cats")?);
    let cut = outcome("bash", &["-c", &script])?;
    assert_eq!(code(&cut), Some(5), "a commit that was not run is no success: {}", cut.stderr);
    Ok(())
}

#[test]
fn a_local_user_without_access_is_told_so() -> Result<()> {
    let server = Server::start("cli-stranger")?;
    let socket = server.node.netconf_socket().display().to_string();
    let program = program("cats")?;
    let copy = std::env::temp_dir().join(format!("cats-stranger-{}", std::process::id()));
    std::fs::copy(&program, &copy).expect("a copy that anyone may run");
    let copy = copy.display().to_string();
    let stranger = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let refused =
        outcome("setpriv", &[&stranger[..], &[&copy, "--socket", &socket, "-c", "show config"]].concat())?;
    let _ = std::fs::remove_file(&copy);
    assert_eq!(code(&refused), Some(4), "{}", refused.stderr);
    Ok(())
}
