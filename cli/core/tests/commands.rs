//! What is typed becomes what is asked, and what is wrong is told at its place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may

mod words;

use cats_cli_core::command::{Command, Mode, Source, parse};
use cats_cli_core::complete::{NoValues, complete};
use cats_cli_core::edit;
use words::{line, schema};

fn completions(mode: Mode, text: &str) -> Vec<String> {
    complete(&schema(), mode, text, &NoValues).1.into_iter().map(|completion| completion.word).collect()
}

fn set_xml(text: &str) -> String {
    let schema = schema();
    match parse(&schema, Mode::Configure, &line(text)).unwrap() {
        Command::Set(assignments) => edit::set(&schema, &assignments),
        other => panic!("{other:?}"),
    }
}

#[test]
fn several_leafs_of_one_entry_are_one_edit() {
    assert_eq!(
        set_xml("set services service 1 name \"a <b>\" address [ 192.0.2.1 192.0.2.2 ] enabled false"),
        "<routing xmlns=\"urn:rt\"><cats xmlns=\"urn:cats\"><services><service><cs-id>1</cs-id>\
         <name>a &lt;b&gt;</name><address>192.0.2.1</address><address>192.0.2.2</address>\
         <enabled>false</enabled></service></services></cats></routing>"
    );
}

#[test]
fn the_full_path_says_the_same_as_the_short_one() {
    let full = set_xml("set ietf-routing:routing cats services service 1 name x");
    assert_eq!(full, set_xml("set services service 1 name x"));
}

#[test]
fn an_identity_is_sent_with_a_declared_prefix() {
    let xml = set_xml("set services service 1 via ietf-routing:static");
    assert!(xml.contains("<via xmlns:rt=\"urn:rt\">rt:static</via>"), "{xml}");
}

#[test]
fn an_entry_or_a_presence_container_alone_is_created() {
    assert!(
        set_xml("set services service 7").ends_with("<cs-id>7</cs-id></service></services></cats></routing>")
    );
    assert!(set_xml("set ingress").contains("<ingress></ingress>"));
    assert!(set_xml("set bench flag").contains("<flag></flag>"));
}

#[test]
fn a_delete_marks_only_its_target() {
    let schema = schema();
    let Command::Delete(path) =
        parse(&schema, Mode::Configure, &line("delete services service 1 name")).unwrap()
    else {
        panic!("no delete");
    };
    let xml = edit::delete(&schema, &path);
    assert_eq!(xml.matches("operation").count(), 1);
    assert!(xml.contains("nc:operation=\"delete\"></name>"), "{xml}");
}

#[test]
fn show_state_may_name_state_and_set_may_not() {
    let schema = schema();
    let shown = parse(&schema, Mode::Operational, &line("show state flows")).unwrap();
    assert!(matches!(shown, Command::Show { source: Source::State, .. }));
    assert!(parse(&schema, Mode::Configure, &line("set flows 1")).is_err());
}

#[test]
fn an_unknown_word_is_marked_and_its_neighbour_offered() {
    let text = "set servcies service 1";
    let error = parse(&schema(), Mode::Configure, &line(text)).unwrap_err();
    assert_eq!(error.span, Some((4, 8)));
    assert_eq!(error.remedy.as_deref(), Some("did you mean `services`?"));
    assert!(error.expected.contains(&"ingress".to_owned()));
}

#[test]
fn a_value_out_of_range_is_told_with_the_range() {
    let error = parse(&schema(), Mode::Configure, &line("set ingress hold 0")).unwrap_err();
    assert_eq!(error.span, Some((17, 1)));
    assert_eq!(error.expected, ["<uint32 1..60000>"]);
}

#[test]
fn a_command_of_the_other_mode_says_how_to_get_there() {
    let error = parse(&schema(), Mode::Operational, &line("set services service 1")).unwrap_err();
    assert_eq!(error.remedy.as_deref(), Some("enter `configure` first"));
}

#[test]
fn completion_follows_the_schema_to_names_and_closed_values() {
    assert_eq!(completions(Mode::Operational, "sh"), ["show"]);
    assert_eq!(completions(Mode::Operational, "show s"), ["state"]);
    assert_eq!(completions(Mode::Configure, "set ser"), ["services"]);
    assert_eq!(completions(Mode::Configure, "set services service 1 e"), ["enabled"]);
    assert_eq!(completions(Mode::Configure, "set services service 1 enabled "), ["false", "true"]);
    assert_eq!(completions(Mode::Configure, "set services service 1 enabled true na"), ["name"]);
    assert_eq!(completions(Mode::Configure, "set services service 1 via "), ["ietf-routing:static"]);
    assert_eq!(completions(Mode::Configure, "set x; set be"), ["bench"]);
    assert_eq!(completions(Mode::Configure, "set services service "), Vec::<String>::new());
}
