//! An unmodified yangcli (of yuma123) against `cats-mgmtd` over SSH, with scripts. Needs root.

use cats_conformance::Result;
use cats_conformance::clients::yangcli;
use cats_conformance::server::Server;

#[test]
fn a_script_locks_edits_validates_commits_and_reads() -> Result<()> {
    let server = Server::start("yangcli-edits")?;
    let said = yangcli(
        &server,
        "mgrload lab-example\n\
         lock target=candidate\n\
         create /gear/knob value=7\n\
         create /gear/item[name='a']/text value=\"hello world\"\n\
         validate source=candidate\n\
         commit\n\
         replace /gear/knob value=8\n\
         merge /gear/item[name='b']/size value=5\n\
         sget-config source=candidate /gear\n\
         discard-changes\n\
         delete /gear/item[name='a']\n\
         commit\n\
         copy-config target=candidate source=running\n\
         unlock target=candidate\n\
         sget /gear\n\
         get-schema identifier=lab-example version='' format='yang'\n\
         close-session\n",
    )?;
    assert!(!said.contains("canceled") && !said.contains("RPC Error"), "{said}");
    let replies: Vec<&str> = said.split("RPC Data Reply").skip(1).collect();
    let [candidate, running, schema] = replies.as_slice() else { panic!("{said}") };
    for wanted in ["knob 8", "text 'hello world'", "item b", "size 5"] {
        assert!(candidate.contains(wanted), "{wanted}: {said}");
    }
    assert!(running.contains("knob 7") && !running.contains("item"), "{said}");
    assert!(schema.contains("module lab-example"), "{said}");
    Ok(())
}

#[test]
fn a_confirmed_commit_is_confirmed_cancelled_or_goes_with_its_session() -> Result<()> {
    let server = Server::start("yangcli-confirmed")?;
    let said = yangcli(
        &server,
        "mgrload lab-example\n\
         create /gear/knob value=1\n\
         commit confirmed confirm-timeout=300\n\
         commit\n\
         replace /gear/knob value=2\n\
         commit confirmed confirm-timeout=300\n\
         sget /gear\n\
         cancel-commit\n\
         sget /gear\n\
         replace /gear/knob value=3\n\
         commit confirmed confirm-timeout=300\n\
         sget /gear\n\
         close-session\n",
    )?;
    let after = yangcli(&server, "mgrload lab-example\nsget /gear\nclose-session\n")?;
    let whole = said + &after;
    assert!(!whole.contains("canceled") && !whole.contains("RPC Error"), "{whole}");
    let replies: Vec<&str> = whole.split("RPC Data Reply").skip(1).collect();
    let knobs: Vec<_> = replies.iter().map(|reply| reply.split("knob ").nth(1)?.chars().next()).collect();
    assert_eq!(knobs, [Some('2'), Some('1'), Some('3'), Some('1')], "{whole}");
    Ok(())
}

#[test]
fn xpath_filters_and_defaults_are_served() -> Result<()> {
    let server = Server::start("yangcli-retrieval")?;
    let said = yangcli(
        &server,
        "mgrload lab-example\n\
         create /gear/knob value=7\n\
         create /gear/item[name='a']/text value=one\n\
         commit\n\
         xget-config source=running /gear/item\n\
         xget /gear/knob\n\
         get-config source=running with-defaults=report-all\n\
         close-session\n",
    )?;
    let replies: Vec<&str> = said.split("RPC Data Reply").skip(1).collect();
    let [item, knob, all] = replies.as_slice() else { panic!("{said}") };
    assert!(item.contains("text one") && !item.contains("knob"), "{said}");
    assert!(knob.contains("knob 7") && !knob.contains("item"), "{said}");
    assert!(all.contains("mode auto") && all.contains("knob 7"), "{said}");
    Ok(())
}

#[test]
fn a_script_ends_at_the_first_error_and_shows_its_tag_and_place() -> Result<()> {
    let server = Server::start("yangcli-errors")?;
    for (script, wanted) in [
        ("delete /gear/item[name='ghost']\n", ["data-missing", "/lx:gear/lx:item[lx:name='ghost']"]),
        ("create /gear/chosen value=ghost\ncommit\n", ["instance-required", "/lx:gear/lx:chosen"]),
        ("kill-session session-id=4000000000\n", ["invalid-value", "session-id"]),
    ] {
        let said = yangcli(&server, &format!("mgrload lab-example\n{script}sget /gear\n"))?;
        assert!(said.contains("canceled"), "{said}");
        let (_, error) = said.split_once("RPC Error Reply").unwrap_or_default();
        for wanted in wanted {
            assert!(error.contains(wanted), "{wanted}: {said}");
        }
        assert!(!error.contains("RPC Data Reply"), "{said}");
    }
    Ok(())
}
