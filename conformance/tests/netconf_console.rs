//! An unmodified netconf-console2 against `cats-mgmtd` over SSH: what a person types in one session. Needs root.

use Reply::{Holds, Lacks};
use cats_conformance::Result;
use cats_conformance::clients::netconf_console;
use cats_conformance::server::Server;

/// What a reply is held against.
#[derive(Debug, Clone, Copy)]
enum Reply {
    /// This stands in it.
    Holds(&'static str),
    /// It is data, and this does not stand in them.
    Lacks(&'static str),
}

/// Runs commands, each with what its reply is held against.
fn talk(server: &Server, script: &[(&str, Reply)]) -> Result<()> {
    let commands: Vec<&str> = script.iter().map(|(command, _)| *command).collect();
    let replies = netconf_console(server, &commands)?;
    assert_eq!(replies.len(), script.len());
    for (reply, (command, wanted)) in replies.iter().zip(script) {
        let right = match wanted {
            Holds(text) => reply.contains(text),
            Lacks(text) => reply.contains("<data") && !reply.contains(text),
        };
        assert!(right, "{command}: {wanted:?} is not so of {reply}");
    }
    Ok(())
}

#[test]
fn a_person_locks_sets_validates_commits_and_reads() -> Result<()> {
    let server = Server::start("console-edits")?;
    talk(
        &server,
        &[
            ("hello", Holds("urn:ietf:params:netconf:base:1.1")),
            ("lock --db candidate", Holds("<ok")),
            ("set --db candidate /lx:gear/knob=5", Holds("<ok")),
            ("set --db candidate /lx:gear/item[name=\"a\"]/text=hello", Holds("<ok")),
            ("create --db candidate /lx:gear/item[name=b]", Holds("<ok")),
            ("validate candidate", Holds("<ok")),
            ("commit", Holds("<ok")),
            ("get-config --db running", Holds("<knob>5</knob>")),
            ("delete --db candidate --del-operation delete /lx:gear/item[name=b]", Holds("<ok")),
            ("get-config --db candidate", Lacks("<name>b</name>")),
            ("get", Holds("<name>b</name>")),
            ("discard-changes", Holds("<ok")),
            ("get-config --db candidate", Holds("<name>b</name>")),
            ("unlock --db candidate", Holds("<ok")),
            ("get-schema lab-example", Holds("module lab-example")),
        ],
    )
}

#[test]
fn a_confirmed_commit_goes_with_its_session_unless_it_is_confirmed() -> Result<()> {
    let server = Server::start("console-confirmed")?;
    let kept = [
        ("set --db candidate /lx:gear/knob=1", Holds("<ok")),
        ("commit confirmed --timeout 300", Holds("<ok")),
        ("commit", Holds("<ok")),
        ("set --db candidate /lx:gear/knob=2", Holds("<ok")),
        ("commit confirmed --timeout 300", Holds("<ok")),
        ("get-config", Holds("<knob>2</knob>")),
    ];
    talk(&server, &kept)?;
    talk(&server, &[("get-config", Holds("<knob>1</knob>"))])
}

#[test]
fn xpath_filters_and_modes_of_defaults_are_served() -> Result<()> {
    let server = Server::start("console-retrieval")?;
    talk(
        &server,
        &[
            ("set --db candidate /lx:gear/knob=5", Holds("<ok")),
            ("set --db candidate /lx:gear/item[name=\"a\"]/text=hello", Holds("<ok")),
            ("commit", Holds("<ok")),
            ("get-config -x /lx:gear/lx:item[lx:name='a']/lx:text", Holds("<text>hello</text>")),
            ("get -x /lx:gear/lx:knob", Holds("<knob>5</knob>")),
            ("get-config -x /lx:gear/lx:mode --with-defaults report-all", Holds("<mode>auto</mode>")),
            (
                "get-config -x /lx:gear/lx:mode --with-defaults report-all-tagged",
                Holds(":default=\"true\">auto</mode>"),
            ),
            ("get-config -x /lx:gear/lx:mode --with-defaults trim", Lacks("<mode")),
            ("get-config -x count(/lx:gear)", Holds("error-tag>invalid-value")),
        ],
    )
}

#[test]
fn what_a_person_does_wrong_is_told_with_its_place_and_the_session_goes_on() -> Result<()> {
    let server = Server::start("console-errors")?;
    talk(
        &server,
        &[
            ("set --db candidate /lx:gear/knob=many", Holds("/lx:gear/lx:knob</error-path>")),
            (
                "delete --db candidate --del-operation delete /lx:gear/item[name=ghost]",
                Holds("error-tag>data-missing"),
            ),
            // The client writes the container twice for two paths, which is no instance of it.
            ("set --db candidate /lx:gear/knob=5 /lx:gear/mode=m", Holds("'gear' stands twice in one edit")),
            ("get-schema no-such-module", Holds("error-tag>invalid-value")),
            ("kill-session 4000000000", Holds("error-tag>invalid-value")),
            ("set --db candidate /lx:gear/chosen=ghost", Holds("<ok")),
            ("commit", Holds("instance-required")),
            ("discard-changes", Holds("<ok")),
            ("set --db candidate --test-option test-only /lx:gear/knob=5", Holds("<ok")),
            ("get-config --db candidate", Lacks("<knob")),
        ],
    )
}

/// The case N08, as a person sees it who has subscribed.
#[test]
fn who_has_subscribed_sees_the_changes_between_the_answers() -> Result<()> {
    let server = Server::start("console-notifications")?;
    let script =
        ["create-subscription", "set --db candidate /lx:gear/knob=5", "commit", "get-config", "get-config"];
    let replies = netconf_console(&server, &script)?;
    assert!(replies[0].contains("<ok") && replies[2].contains("<ok"), "{replies:?}");
    let seen = replies.concat();
    assert!(seen.contains("<netconf-config-change") && seen.contains(":knob</target>"), "{seen}");
    Ok(())
}
