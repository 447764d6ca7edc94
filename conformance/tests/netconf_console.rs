//! An unmodified netconf-console2 against `cats-mgmtd` over SSH: what a person types in one session. Needs root.

use cats_conformance::Result;
use cats_conformance::clients::netconf_console;
use cats_conformance::server::Server;

/// Runs pairs of a command and a text that stands in its reply.
fn talk(server: &Server, script: &[(&str, &str)]) -> Result<()> {
    let commands: Vec<&str> = script.iter().map(|(command, _)| *command).collect();
    for (reply, (command, wanted)) in netconf_console(server, &commands)?.iter().zip(script) {
        assert!(reply.contains(wanted), "{command}: {wanted} is not in {reply}");
    }
    Ok(())
}

#[test]
fn a_person_locks_sets_validates_commits_and_reads() -> Result<()> {
    let server = Server::start("console-edits")?;
    talk(
        &server,
        &[
            ("hello", "urn:ietf:params:netconf:base:1.1"),
            ("lock --db candidate", "<ok"),
            ("set --db candidate /lx:gear/knob=5", "<ok"),
            ("set --db candidate /lx:gear/item[name=\"a\"]/text=hello", "<ok"),
            ("create --db candidate /lx:gear/item[name=b]", "<ok"),
            ("validate candidate", "<ok"),
            ("commit", "<ok"),
            ("get-config --db running", "<knob>5</knob>"),
            ("delete --db candidate --del-operation delete /lx:gear/item[name=b]", "<ok"),
            ("get", "<name>b</name>"),
            ("discard-changes", "<ok"),
            ("get-config --db candidate", "<name>b</name>"),
            ("unlock --db candidate", "<ok"),
            ("get-schema lab-example", "module lab-example"),
        ],
    )
}

#[test]
fn a_confirmed_commit_goes_with_its_session_unless_it_is_confirmed() -> Result<()> {
    let server = Server::start("console-confirmed")?;
    let kept = [
        ("set --db candidate /lx:gear/knob=1", "<ok"),
        ("commit confirmed --timeout 300", "<ok"),
        ("commit", "<ok"),
        ("set --db candidate /lx:gear/knob=2", "<ok"),
        ("commit confirmed --timeout 300", "<ok"),
        ("get-config", "<knob>2</knob>"),
    ];
    talk(&server, &kept)?;
    talk(&server, &[("get-config", "<knob>1</knob>")])
}

#[test]
fn xpath_filters_and_modes_of_defaults_are_served() -> Result<()> {
    let server = Server::start("console-retrieval")?;
    talk(
        &server,
        &[
            ("set --db candidate /lx:gear/knob=5", "<ok"),
            ("set --db candidate /lx:gear/item[name=\"a\"]/text=hello", "<ok"),
            ("commit", "<ok"),
            ("get-config -x /lx:gear/lx:item[lx:name='a']/lx:text", "<text>hello</text>"),
            ("get -x /lx:gear/lx:knob", "<knob>5</knob>"),
            ("get-config -x /lx:gear/lx:mode --with-defaults report-all", "<mode>auto</mode>"),
            (
                "get-config -x /lx:gear/lx:mode --with-defaults report-all-tagged",
                ":default=\"true\">auto</mode>",
            ),
            ("get-config -x /lx:gear/lx:mode --with-defaults trim", "<data"),
            ("get-config -x count(/lx:gear)", "error-tag>invalid-value"),
        ],
    )
}

#[test]
fn what_a_person_does_wrong_is_told_with_its_place_and_the_session_goes_on() -> Result<()> {
    let server = Server::start("console-errors")?;
    talk(
        &server,
        &[
            ("set --db candidate /lx:gear/knob=many", "/lx:gear/lx:knob</error-path>"),
            (
                "delete --db candidate --del-operation delete /lx:gear/item[name=ghost]",
                "error-tag>data-missing",
            ),
            // The client writes the container twice for two paths, which is no instance of it.
            ("set --db candidate /lx:gear/knob=5 /lx:gear/mode=m", "'gear' stands twice in one edit"),
            ("get-schema no-such-module", "error-tag>invalid-value"),
            ("kill-session 4000000000", "error-tag>invalid-value"),
            ("set --db candidate /lx:gear/chosen=ghost", "<ok"),
            ("commit", "instance-required"),
            ("discard-changes", "<ok"),
            ("set --db candidate --test-option test-only /lx:gear/knob=5", "<ok"),
            ("get-config --db candidate", "<data"),
        ],
    )
}
