//! The daemon as its clients see it, over the local socket.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

mod daemon;

use cats_mgmtd_netconf::Answer;
use cats_yang_tree::error::{ErrorInfo, ErrorTag};
use daemon::{NS, Place, edit, text_of};

#[test]
fn an_edit_is_committed_without_the_engine_and_survives_a_restart() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    session.ok(&edit("<one>1</one><item><name>a</name><size>3</size></item><favourite>a</favourite>"));
    assert_eq!(text_of(&session.running(), "one"), None);
    session.ok("<commit/>");
    let before = session.running();
    assert_eq!((text_of(&before, "one"), text_of(&before, "favourite")), (Some("1"), Some("a")));
    session.ok(&edit("<one>2</one>"));
    assert!(daemon.terminate().success(), "SIGTERM ends it in order");
    let daemon = place.start();
    let mut session = daemon.client();
    assert_eq!(session.running(), before);
    assert_eq!(session.candidate(), before, "the candidate begins as running");
}

#[test]
fn a_commit_that_a_must_refuses_changes_nothing_and_says_where_and_why() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    session.commit("<one>1</one>");
    session.ok(&edit("<other>2</other>"));
    let (running, candidate) = (session.running(), session.candidate());
    let error = session.refused("<commit/>");
    assert_eq!((error.tag, error.app_tag.as_deref()), (ErrorTag::OperationFailed, Some("both")));
    assert_eq!(error.message, "one or the other");
    assert!(error.path.as_ref().is_some_and(|path| path.0.contains("knobs")), "{error:?}");
    assert_eq!((session.running(), session.candidate()), (running, candidate));
    let error = session.refused("<validate><source><candidate/></source></validate>");
    assert_eq!(error.app_tag.as_deref(), Some("both"));
    session.ok("<discard-changes/>");
    session.ok("<validate><source><candidate/></source></validate>");
}

/// The case E30.
#[test]
fn a_leafref_to_nothing_fails_the_commit_with_instance_required() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    session.ok(&edit("<favourite>nobody</favourite>"));
    let error = session.refused("<commit/>");
    assert_eq!((error.tag, error.app_tag.as_deref()), (ErrorTag::DataMissing, Some("instance-required")));
    assert!(error.path.as_ref().is_some_and(|path| path.0.contains("favourite")), "{error:?}");
}

#[test]
fn a_node_whose_condition_became_false_goes_with_the_commit() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    let error = session.refused(&edit("<deep>x</deep>"));
    assert_eq!(error.tag, ErrorTag::UnknownElement, "it may not come to be");
    session.commit("<one>1</one><deep>x</deep>");
    session.commit("<one nc:operation=\"delete\"/><twin>1</twin>");
    let running = session.running();
    assert_eq!((text_of(&running, "deep"), text_of(&running, "twin")), (None, Some("1")));
    assert_eq!(session.candidate(), running);
}

/// Two services at one address; `port` tells them apart or not.
fn services(port: u16) -> String {
    let service = |id: u32| format!("<service><cs-id>{id}</cs-id><address>192.0.2.100</address></service>");
    let classifier = |id: u32, port: u16| {
        format!(
            "<traffic-classifier><cs-id>{id}</cs-id><server-port>{port}</server-port><protocol>6</protocol>\
             </traffic-classifier>"
        )
    };
    format!(
        "<edit-config><target><candidate/></target><config><routing \
         xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\"><cats xmlns=\"{CATS}\"><traffic-classifiers>{}{}\
         </traffic-classifiers><services xmlns=\"urn:catsd:yang:cats-services\">{}{}</services></cats></routing>\
         </config></edit-config>",
        classifier(1, 443),
        classifier(2, port),
        service(1),
        service(2)
    )
}

const CATS: &str = "urn:ietf:params:xml:ns:yang:ietf-cats";

/// Proves CP-36.
#[test]
fn services_that_overlap_are_a_commit_error_that_names_both_without_the_engine_too() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    session.ok(&services(443));
    let error = session.refused("<commit/>");
    assert!(error.message.contains("services 1 and 2 overlap at 192.0.2.100"), "{error:?}");
    assert!(error.path.is_some(), "{error:?}");
    let error = session.refused("<validate><source><candidate/></source></validate>");
    assert!(error.message.contains("overlap"), "{error:?}");
    session.ok(&services(8443));
    session.ok("<commit/>");
    // The rule holds against what was committed too, also after a restart.
    assert!(daemon.terminate().success());
    let daemon = place.start();
    let mut session = daemon.client();
    session.ok(&services(443));
    assert!(session.refused("<commit/>").message.contains("overlap"));
}

#[test]
fn what_no_forwarder_can_do_is_a_commit_error_without_the_engine_too() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    session.ok(&services(8443));
    session.ok("<commit/>");
    let edit = |rest: &str| {
        format!(
            "<edit-config><target><candidate/></target><config>\
             <routing xmlns=\"urn:ietf:params:xml:ns:yang:ietf-routing\"><cats xmlns=\"{CATS}\">{rest}</cats></routing>\
             </config></edit-config>"
        )
    };
    let forwarder = "<base><enable>true</enable></base>\
                     <forwarder xmlns=\"urn:catsd:yang:cats-forwarder\"><node-id>IF-1</node-id><ingress/></forwarder>";
    session.ok(&edit(forwarder));
    session.ok("<commit/>");
    let open = "<services xmlns=\"urn:catsd:yang:cats-services\"><service><cs-id>3</cs-id>\
                <address>192.0.2.103</address></service></services>";
    session.ok(&edit(open));
    let error = session.refused("<commit/>");
    assert_eq!(error.app_tag.as_deref(), Some("not-realisable"), "{error:?}");
    assert!(error.message.contains("set server-port in"), "{error:?}");
}

#[test]
fn the_hello_names_the_schema_as_the_yang_library_and_the_index_do() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    let library =
        session.hello.capabilities.iter().find(|uri| uri.contains("yang-library:1.1")).unwrap().clone();
    let id = library.split_once("content-id=").unwrap().1;
    let filter = "<filter><yang-library xmlns=\"urn:ietf:params:xml:ns:yang:ietf-yang-library\"/></filter>";
    let xml = session.data(&format!("<get>{filter}</get>"));
    assert_eq!(text_of(&xml, "content-id"), Some(id), "{xml}");
    assert!(xml.contains("<name>example-knobs</name>"), "{xml}");
    let index =
        |known: &str| format!("<schema-index xmlns=\"urn:catsd:yang:cats-exec\">{known}</schema-index>");
    let Answer::Output(parts) = session.ask(&index("")) else { panic!("an output") };
    assert!(parts[0].as_str().contains(id) && parts[1].as_str().contains("example-knobs"));
    let Answer::Output(parts) = session.ask(&index(&format!("<content-id>{id}</content-id>"))) else {
        panic!()
    };
    assert_eq!(parts.len(), 1, "the index is not sent to who has it");
}

/// Modules of YANG 1 are named in the hello, with what they deviate from and by (RFC 6020 section 5.6.4).
#[test]
fn the_hello_names_the_features_and_the_deviations_of_old_modules() {
    let place = Place::new();
    let old = |name: &str, body: &str| {
        let text = format!("module {name} {{ namespace \"urn:{name}\"; prefix {name}; {body} }}");
        std::fs::write(place.path(&format!("{name}.yang")), text).unwrap();
        place.path(&format!("{name}.yang")).to_str().unwrap().to_owned()
    };
    let plain = old("plain", "revision 2026-01-02; leaf mark { type string; }");
    let bent = old("bent", "feature f; leaf mark { type string; } leaf gone { if-feature f; type string; }");
    let by = ["by-a", "by-b"].map(|name| {
        let (import, deviate) = ("import bent { prefix b; }", "deviate add { units \"x\"; }");
        let leaf = if name == "by-a" { "mark" } else { "gone" };
        old(name, &format!("{import} deviation /b:{leaf} {{ {deviate} }}"))
    });
    let files = [&plain, &bent, &by[0], &by[1]];
    let arguments: Vec<&str> = files.into_iter().flat_map(|file| ["--extra-module", file]).collect();
    let daemon = place.start_with(&arguments);
    let session = daemon.client();
    let of = |module: &str| {
        let named = |uri: &&String| uri.split(['?', '&']).any(|part| part == format!("module={module}"));
        session.hello.capabilities.iter().find(named).map(String::as_str)
    };
    assert_eq!(of("plain"), Some("urn:plain?module=plain&revision=2026-01-02"));
    assert_eq!(of("bent"), Some("urn:bent?module=bent&features=f&deviations=by-a,by-b"));
    assert_eq!(of("by-a"), Some("urn:by-a?module=by-a"));
    assert_eq!(of("example-knobs"), None);
    let system = of("ietf-system").unwrap();
    assert!(system.ends_with("&deviations=cats-deviations"), "{system}");
}

#[test]
fn sessions_locks_and_schemas_show_in_the_monitoring_state() {
    let place = Place::new();
    let daemon = place.start();
    let (mut a, b) = (daemon.client(), daemon.client());
    a.ok("<lock><target><running/></target></lock>");
    let state = |content: &str| {
        let ns = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring";
        format!("<get><filter><netconf-state xmlns=\"{ns}\">{content}</netconf-state></filter></get>")
    };
    let xml = a.data(&state("<sessions/>"));
    for session in [&a, &b] {
        let id = session.hello.session_id.unwrap();
        assert!(xml.contains(&format!("<session-id>{id}</session-id>")), "{xml}");
    }
    let xml = a.data(&state("<capabilities/>"));
    for uri in &a.hello.capabilities {
        let uri = uri.replace('&', "&amp;");
        assert!(xml.contains(&format!("<capability>{uri}</capability>")), "{uri} in {xml}");
    }
    let xml = a.data(&state("<datastores/>"));
    let locked = format!("<locked-by-session>{}</locked-by-session>", a.hello.session_id.unwrap());
    assert!(xml.contains(&locked), "{xml}");
    let xml = a.data(&state("<schemas><schema><identifier>example-knobs</identifier></schema></schemas>"));
    assert!(xml.contains("<version>2026-11-29</version>") && xml.matches("<schema>").count() == 1, "{xml}");
    let ns = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring";
    let text =
        a.data(&format!("<get-schema xmlns=\"{ns}\"><identifier>example-knobs</identifier></get-schema>"));
    assert!(
        text.contains("namespace \"urn:example:knobs\"")
            || text.contains("namespace &quot;urn:example:knobs")
    );
}

/// The entry of a session in the monitoring state, or the counters of all sessions.
fn counters(xml: &str) -> [u32; 3] {
    ["in-rpcs", "in-bad-rpcs", "out-rpc-errors"].map(|name| text_of(xml, name).unwrap().parse().unwrap())
}

#[test]
fn correct_wrong_and_refused_requests_are_counted_by_session_and_in_all() {
    let place = Place::new();
    let daemon = place.start();
    let (mut a, mut b) = (daemon.client(), daemon.client());
    // Two operations in one rpc are no correct rpc; the other two are, and what they ask is refused.
    for wrong in ["<commit/><commit/>", "<edit-config/>", "<frobnicate xmlns=\"urn:nobody\"/>"] {
        a.refused(wrong);
    }
    let ns = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring";
    let mut state = |content: &str| {
        b.data(&format!(
            "<get><filter><netconf-state xmlns=\"{ns}\">{content}</netconf-state></filter></get>"
        ))
    };
    let id = a.hello.session_id.unwrap();
    let one = state(&format!("<sessions><session><session-id>{id}</session-id></session></sessions>"));
    assert_eq!(counters(&one), [2, 1, 3], "{one}");
    assert_eq!(text_of(&one, "out-notifications"), Some("0"), "there are no notifications");
    let all = state("<statistics/>");
    assert_eq!((counters(&all), text_of(&all, "in-sessions")), ([4, 1, 3], Some("2")), "{all}");
    a.ok("<close-session/>");
    assert_eq!(a.receive(), None);
    assert_eq!(counters(&state("<statistics/>")), [6, 1, 3], "what has ended still counts");
}

#[test]
fn an_engine_that_is_not_there_is_an_alarm_in_the_state() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    let alarms = "urn:ietf:params:xml:ns:yang:ietf-alarms";
    for filter in
        [String::new(), format!("<filter><alarms xmlns=\"{alarms}\"><alarm-list/></alarms></filter>")]
    {
        let xml = session.data(&format!("<get>{filter}</get>"));
        assert_eq!(text_of(&xml, "resource"), Some("cats-engined"), "{xml}");
        assert!(text_of(&xml, "alarm-text").is_some_and(|text| text.contains("is not connected")), "{xml}");
        assert!(text_of(&xml, "time-created").is_some_and(|time| time.starts_with("20")), "{xml}");
    }
    let xml = session.data("<get-config><source><running/></source></get-config>");
    assert_eq!(text_of(&xml, "resource"), None, "an alarm is no configuration");
}

#[test]
fn running_is_written_directly_where_the_command_line_says_so_and_only_there() {
    let place = Place::new();
    let module = place.path("example-knobs.yang");
    let capability = "urn:ietf:params:netconf:capability:writable-running:1.0";
    let write = |content: &str| edit(content).replace("candidate", "running");
    let daemon = place.start();
    let mut session = daemon.client();
    assert!(!session.hello.capabilities.iter().any(|uri| uri == capability));
    assert_eq!(session.refused(&write("<one>1</one>")).tag, ErrorTag::OperationNotSupported);
    drop(daemon);
    let arguments = ["--extra-module", module.to_str().unwrap(), "--writable-running"];
    let daemon = place.start_with(&arguments);
    let mut session = daemon.client();
    assert!(session.hello.capabilities.iter().any(|uri| uri == capability));
    session.ok(&write("<one>1</one>"));
    let error = session.refused(&write("<other>2</other>"));
    assert_eq!(error.app_tag.as_deref(), Some("both"));
    daemon.kill();
    let daemon = place.start_with(&arguments);
    let mut session = daemon.client();
    assert_eq!(text_of(&session.running(), "one"), Some("1"));
    assert_eq!(text_of(&session.running(), "other"), None);
}

/// The case P65: the limits are options.
#[test]
fn limits_of_the_command_line_hold() {
    let place = Place::new();
    let module = place.path("example-knobs.yang");
    let limits = ["--max-sessions", "3", "--max-sessions-per-user", "2", "--max-message-bytes", "4096"];
    let arguments = [&["--extra-module", module.to_str().unwrap()][..], &limits].concat();
    let daemon = place.start_with(&arguments);
    let (mut first, mut second) = (daemon.client(), daemon.client());
    // The answers show that their hellos were heard: a silent session would give way.
    [&mut first, &mut second].into_iter().for_each(|session| session.ok("<discard-changes/>"));
    let refused = daemon.refused();
    assert!(refused.contains("has 2 sessions open"), "{refused}");
    let error = first.refused(&edit(&"<one>1</one>".repeat(500)));
    assert_eq!(error.tag, ErrorTag::TooBig);
    assert!(error.message.contains("at most 4096"), "{error:?}");
    first.ok("<discard-changes/>");
    drop(daemon);
    let idle = [&arguments[..2], &["--idle-timeout", "1"]].concat();
    assert_eq!(place.start_with(&idle).client().receive(), None, "a silent session is closed");
    assert!(place.fails(&["--max-sessions", "0"]).contains("--max-sessions"));
}

#[test]
fn killed_sessions_lose_their_connection_and_their_locks() {
    let place = Place::new();
    let daemon = place.start();
    let (mut a, mut b) = (daemon.client(), daemon.client());
    a.ok("<lock><target><candidate/></target></lock>");
    a.ok(&edit("<one>1</one>"));
    let denied = b.refused("<lock><target><candidate/></target></lock>");
    let holder = a.hello.session_id.unwrap();
    assert_eq!((denied.tag, &denied.info[..]), (ErrorTag::LockDenied, &[ErrorInfo::SessionId(holder)][..]));
    b.ok(&format!("<kill-session><session-id>{holder}</session-id></kill-session>"));
    assert_eq!(a.receive(), None);
    b.ok("<lock><target><candidate/></target></lock>");
    assert_eq!(text_of(&b.candidate(), "one"), None);
    b.ok("<close-session/>");
    assert_eq!(b.receive(), None);
}

#[test]
fn unknown_operations_are_told_apart() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    let error = session.refused("<frobnicate xmlns=\"urn:nobody\"/>");
    assert_eq!(error.tag, ErrorTag::UnknownNamespace);
    assert!(error.info.contains(&ErrorInfo::BadNamespace("urn:nobody".into())), "{error:?}");
    let error = session.refused(&format!("<frobnicate xmlns=\"{NS}\"/>"));
    assert_eq!(error.tag, ErrorTag::OperationNotSupported);
    let error = session.refused("<frobnicate/>");
    assert_eq!(error.tag, ErrorTag::OperationNotSupported);
}

#[test]
fn a_second_daemon_on_the_same_state_is_refused() {
    let place = Place::new();
    let _daemon = place.start();
    let said = place.fails(&[]);
    assert!(said.contains("in use by another cats-mgmtd") && said.contains("--state-dir"), "{said}");
    assert!(place.path("run/mgmtd.ready").exists(), "the first one is still ready");
    // With a state of its own it gets further, to the sockets.
    let mut other = std::process::Command::new(env!("CARGO_BIN_EXE_cats-mgmtd"));
    other.arg("--state-dir").arg(place.path("other")).arg("--run-dir").arg(place.path("run"));
    let output = other.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("another process listens here"), "{said}");
    assert!(place.path("run/mgmtd.ready").exists(), "the first one is still ready");
}

#[test]
fn configuration_of_a_module_that_is_gone_is_refused_with_its_name_and_the_remedy() {
    let place = Place::new();
    let daemon = place.start();
    daemon.client().commit("<one>1</one>");
    assert!(daemon.terminate().success());
    let said = place.fails(&[]);
    assert!(said.contains("does not fit the YANG modules") && said.contains("example-knobs"), "{said}");
    assert!(said.contains("--extra-module") && said.contains("running.journal"), "{said}");
    let daemon = place.start();
    assert_eq!(text_of(&daemon.client().running(), "one"), Some("1"), "nothing was changed by the refusal");
}

#[test]
fn files_that_are_no_modules_are_refused_by_name() {
    let place = Place::new();
    std::fs::write(
        place.path("bad.yang"),
        "module bad { namespace \"urn:bad\"; prefix b; leaf x { type nothing; } }",
    )
    .unwrap();
    for (file, word) in [("missing.yang", "cannot read the module"), ("bad.yang", "bad")] {
        let said = place.fails(&["--extra-module", place.path(file).to_str().unwrap()]);
        assert!(said.contains(word), "{said}");
    }
}

/// A line of a process's memory in bytes: `VmRSS` is what it has, `VmHWM` the most that it had.
fn memory(pid: u32, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let kilobytes = status.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(':')).unwrap();
    kilobytes.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
fn a_big_reply_is_made_while_it_is_read_and_not_held_as_text() {
    let place = Place::new();
    let daemon = place.start();
    let mut session = daemon.client();
    let name = |n: usize| format!("<item><name>{n}-{}</name></item>", "x".repeat(200));
    session.ok(&edit(&(0..90_000).map(name).collect::<String>()));
    // The first reading shows what else comes with one.
    let text = session.candidate();
    assert!(text.len() > 20_000_000);
    std::fs::write(format!("/proc/{}/clear_refs", daemon.pid()), "5").unwrap();
    let before = memory(daemon.pid(), "VmHWM");
    assert_eq!(session.candidate().len(), text.len());
    let more = memory(daemon.pid(), "VmHWM").saturating_sub(before);
    assert!(more < 4 << 20, "{more} bytes for a reply of {}", text.len());
}

/// The case P74.
#[test]
fn the_memory_of_big_edits_is_given_back_when_they_are_discarded() {
    // An edit needs more than twice its text on its way; what stays is a few megabytes.
    const ALLOWED: u64 = 32 << 20;
    let place = Place::new();
    let daemon = place.start();
    let resident = || memory(daemon.pid(), "VmRSS");
    let before = resident();
    for round in 0..3 {
        let mut session = daemon.client();
        let name = |n: usize| format!("<item><name>{round}-{n}-{}</name></item>", "x".repeat(200));
        let items: String = (0..90_000).map(name).collect();
        assert!(items.len() > 20_000_000);
        session.ok(&edit(&items));
        session.ok("<discard-changes/>");
        session.ok("<close-session/>");
    }
    assert!(memory(daemon.pid(), "VmHWM") > before + ALLOWED, "the edits take memory");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let mut session = daemon.client();
    while resident() >= before + ALLOWED && std::time::Instant::now() < end {
        session.running();
    }
    assert!(resident() < before + ALLOWED, "{before} before, {} after", resident());
}

/// What is logged goes nowhere, and everything else goes on.
#[test]
fn a_daemon_whose_standard_error_is_closed_serves_as_any() {
    let place = Place::new();
    let daemon = place.start_unheard();
    let mut session = daemon.client();
    session.commit("<one>1</one>");
    drop(session);
    assert!(daemon.client().running().contains("<one>1</one>"));
    assert!(daemon.terminate().success());
}
