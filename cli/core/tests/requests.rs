//! Operations of the schema on the command line: named, completed, sent and shown.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may

mod words;

use cats_cli_core::command::{Command, Mode, parse};
use cats_cli_core::complete::{NoValues, complete};
use cats_cli_core::error::Error;
use cats_cli_core::{edit, render};
use words::{line, schema};

fn sent(text: &str) -> String {
    let schema = schema();
    match parse(&schema, Mode::Operational, &line(text)).unwrap() {
        Command::Request(request) => edit::request(&schema, &request),
        other => panic!("{other:?}"),
    }
}

fn refused(text: &str) -> Error {
    parse(&schema(), Mode::Operational, &line(text)).unwrap_err()
}

fn completions(text: &str) -> Vec<String> {
    complete(&schema(), Mode::Operational, text, &NoValues).1.into_iter().map(|found| found.word).collect()
}

#[test]
fn an_rpc_is_sent_with_its_parameters_in_the_namespace_of_its_module() {
    assert_eq!(sent("request weigh"), "<weigh xmlns=\"urn:probe\"></weigh>");
    assert_eq!(sent("request probe:weigh slowly"), "<weigh xmlns=\"urn:probe\"><slowly></slowly></weigh>");
    assert_eq!(
        sent("request weigh by scale mark [ x \"y z\" ]"),
        "<weigh xmlns=\"urn:probe\"><by>scale</by><mark>x</mark><mark>y z</mark></weigh>"
    );
}

#[test]
fn behind_what_is_in_a_container_or_an_entry_the_next_parameter_may_follow() {
    assert_eq!(
        sent("request weigh bounds most 3 item a pieces 2 item b item c pieces 1 slowly"),
        "<weigh xmlns=\"urn:probe\"><bounds><most>3</most></bounds><item><name>a</name><pieces>2</pieces></item>\
         <item><name>b</name></item><item><name>c</name><pieces>1</pieces></item><slowly></slowly></weigh>"
    );
}

#[test]
fn an_action_is_named_by_what_it_is_invoked_on() {
    let full = sent("request ietf-routing:routing cats services service 1 instance 2 drain within 5");
    assert_eq!(
        full,
        "<action xmlns=\"urn:ietf:params:xml:ns:yang:1\"><routing xmlns=\"urn:rt\"><cats xmlns=\"urn:cats\"><services>\
         <service><cs-id>1</cs-id><instance><csci-id>2</csci-id><drain><within>5</within></drain></instance></service>\
         </services></cats></routing></action>"
    );
    assert_eq!(full, sent("request services service 1 instance 2 drain within 5"));
}

#[test]
fn what_is_no_operation_or_no_parameter_is_marked() {
    let unknown = refused("request wiegh");
    assert_eq!((unknown.span, unknown.remedy.as_deref()), (Some((8, 5)), Some("did you mean `weigh`?")));
    assert_eq!(unknown.expected, ["routing", "services", "weigh"]);
    let parameter = refused("request weigh quickly");
    assert_eq!(parameter.span, Some((14, 7)));
    assert!(parameter.expected.contains(&"slowly".to_owned()), "{parameter:?}");
    assert_eq!(refused("request weigh bounds most 10").expected, ["<uint32 1..9>"]);
    assert_eq!(refused("request").expected, ["routing", "services", "weigh"]);
    assert_eq!(refused("request services service 1").expected, ["instance"]);
    assert_eq!(refused("request services service").expected, ["<uint32>"]);
    assert!(parse(&schema(), Mode::Configure, &line("request weigh")).unwrap_err().remedy.is_some());
}

#[test]
fn operations_and_their_parameters_are_completed() {
    assert_eq!(completions("req"), ["request"]);
    assert_eq!(completions("request "), ["routing", "services", "weigh"]);
    assert_eq!(completions("request services service 1 "), ["instance"]);
    assert_eq!(completions("request services service 1 instance 2 "), ["drain"]);
    assert_eq!(completions("request services service 1 instance 2 drain "), ["within"]);
    assert_eq!(completions("request weigh "), ["bounds", "by", "item", "mark", "slowly"]);
    assert_eq!(completions("request weigh slowly by "), ["hand", "scale"]);
    assert_eq!(completions("request weigh bounds "), ["bounds", "by", "item", "mark", "most", "slowly"]);
    let (_, found) = complete(&schema(), Mode::Operational, "request wei", &NoValues);
    assert_eq!(found[0].help, "Weighs.");
}

#[test]
fn an_answer_is_shown_like_any_data() {
    let schema = schema();
    let rpc = schema.child(None, schema.module_by_name("probe").unwrap(), "weigh").unwrap();
    let elements = "<total xmlns=\"urn:probe\">7</total><item xmlns=\"urn:probe\"><name>a</name><grams>3</grams>\
                    </item><item xmlns=\"urn:probe\"><name>b</name><grams>4</grams></item>";
    let tree = render::answer(&schema, rpc, elements).unwrap();
    assert_eq!(render::outline(&schema, &tree), "total  7\nitem\n  name  grams\n  a     3\n  b     4\n");
    let json: serde_json::Value = serde_json::from_str(&render::json(&schema, &tree)).unwrap();
    assert_eq!(json["probe:item"][1]["grams"], 4);
    assert!(render::answer(&schema, rpc, "<total xmlns=\"urn:probe\">x</total>").is_err());
}
