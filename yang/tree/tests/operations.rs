//! RPCs and actions: what they are given and what they answer.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

use cats_yang_tree::build::{SchemaBuilder, Scope, Ty};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use cats_yang_tree::operation::{Answer, Call};
use cats_yang_tree::roxmltree;
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::{DefaultOperation, Ops, Tree, edit};
use serde_json::{Value, json};

const NS: &str = "urn:shop";
const YANG: &str = "urn:ietf:params:xml:ns:yang:1";

fn schema() -> Schema {
    let schema = SchemaBuilder::new().module("shop", NS, "sh", |m| {
        m.container("shop", |c| {
            c.list("shelf", &["name"], |l| {
                l.leaf("name", Ty::string());
                l.leaf("width", Ty::uint32());
                l.action(
                    "clear",
                    |i| {
                        i.leaf("keep", Ty::uint32()).default("1");
                    },
                    |o| {
                        o.leaf("taken", Ty::uint32()).mandatory();
                    },
                );
            });
            c.leaf("open", Ty::boolean());
            c.state(|s| {
                s.leaf("visitors", Ty::uint32());
            });
        });
        count(m);
        m.rpc(
            "greet",
            |i| {
                i.leaf("guest", Ty::uint32()).must("/shop/visitors > 3");
            },
            |_| {},
        );
    });
    schema.build().unwrap()
}

fn count(m: &mut Scope<'_>) {
    m.rpc(
        "count",
        |i| {
            i.leaf("shelf", Ty::leafref("/shop/shelf/name")).mandatory();
            i.leaf("least", Ty::uint32().range(1, 100)).default("5");
            i.leaf("most", Ty::uint32()).must("not(../least) or . >= ../least");
            i.leaf_list("mark", Ty::string());
            i.leaf("slowly", Ty::empty()).when("../mark");
            i.choice("by", |ch| {
                ch.leaf("hand", Ty::empty());
                ch.leaf("scale", Ty::string());
            });
            i.list("skip", &["name"], |l| {
                l.leaf("name", Ty::string());
                l.leaf("reason", Ty::string()).default("none");
            });
        },
        |o| {
            o.leaf("total", Ty::uint32()).mandatory();
            o.list("item", &["name"], |l| {
                l.leaf("name", Ty::string());
                l.leaf("pieces", Ty::uint32().range(0, 1000));
            });
        },
    );
}

fn data(schema: &Schema) -> Tree {
    let text = format!(
        "<config><shop xmlns=\"{NS}\"><shelf><name>a</name></shelf><shelf><name>b</name></shelf></shop></config>"
    );
    edit(&Tree::new(), schema, Ops::from_xml_str(schema, &text, DefaultOperation::Merge).unwrap()).unwrap()
}

fn rpc(schema: &Schema, name: &str) -> NodeId {
    schema.child(None, schema.module_by_name("shop").unwrap(), name).unwrap()
}

fn call(schema: &Schema, name: &str, parameters: &str) -> Call {
    let text = format!("<{name} xmlns=\"{NS}\">{parameters}</{name}>");
    let document = roxmltree::Document::parse(&text).unwrap();
    Call::rpc(schema, rpc(schema, name), document.root_element()).unwrap()
}

fn action(schema: &Schema, content: &str) -> Result<Call, Vec<Error>> {
    let text = format!("<action xmlns=\"{YANG}\">{content}</action>");
    let document = roxmltree::Document::parse(&text).unwrap();
    Call::action(schema, document.root_element())
}

fn judged(parameters: &str) -> Result<Value, Vec<Error>> {
    let schema = schema();
    let input = call(&schema, "count", parameters).judged(&schema, &data(&schema))?;
    Ok(serde_json::from_str(&input).unwrap())
}

/// The tag and the place of the only error.
fn refused(parameters: &str) -> (ErrorTag, String) {
    let errors = judged(parameters).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    (errors[0].tag, errors[0].path.clone().unwrap().0)
}

#[test]
fn parameters_are_read_in_order_and_their_defaults_are_filled_in() {
    let input = judged(
        "<shelf>a</shelf><mark>y</mark><mark>x</mark><mark>y</mark><slowly/><skip><name>n</name></skip>",
    );
    let expected = json!({ "shop:input": {
        "shelf": "a", "least": 5, "mark": ["y", "x", "y"], "slowly": [null],
        "skip": [{ "name": "n", "reason": "none" }],
    } });
    assert_eq!(input.unwrap(), expected);
}

#[test]
fn what_is_wrong_with_a_parameter_is_told_with_its_place_in_the_operation() {
    let at = |tag, place: &str| (tag, format!("/shop:count/{place}"));
    assert_eq!(refused(""), at(ErrorTag::MissingElement, "shelf"));
    assert_eq!(refused("<shelf>a</shelf><least>0</least>"), at(ErrorTag::InvalidValue, "least"));
    assert_eq!(refused("<shelf>c</shelf>"), at(ErrorTag::DataMissing, "shelf"));
    assert_eq!(
        refused("<shelf>a</shelf><most>4</most>"),
        at(ErrorTag::OperationFailed, "most"),
        "by the default"
    );
    assert_eq!(refused("<shelf>a</shelf><slowly/>"), at(ErrorTag::UnknownElement, "slowly"));
    assert_eq!(refused("<shelf>a</shelf><hand/><scale>x</scale>").0, ErrorTag::BadElement);
    let (tag, place) = refused("<shelf>a</shelf><colour>red</colour>");
    assert_eq!((tag, place.as_str()), (ErrorTag::UnknownElement, "/shop:count"));
    let errors = judged("<shelf>a</shelf><shelf>b</shelf>").unwrap_err();
    assert_eq!(errors[0].tag, ErrorTag::BadElement);
    let errors = judged("").unwrap_err();
    assert_eq!(errors[0].info, [ErrorInfo::BadElement("shelf".to_owned())]);
}

#[test]
fn an_operation_says_nothing_of_how_its_parameters_are_to_be_edited() {
    let edit =
        "<shelf xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" nc:operation=\"delete\">a</shelf>";
    assert_eq!(judged(edit).unwrap_err()[0].tag, ErrorTag::UnknownAttribute);
}

#[test]
fn a_condition_on_state_is_left_to_who_has_the_state() {
    let schema = schema();
    let asked = call(&schema, "greet", "<guest>7</guest>");
    assert_eq!(asked.judged(&schema, &data(&schema)).unwrap(), r#"{"shop:input":{"guest":7}}"#);
}

#[test]
fn an_action_is_found_by_the_keys_on_its_way_and_only_on_what_exists() {
    let schema = schema();
    let on = |shelf: &str| {
        let content = format!("<shop xmlns=\"{NS}\"><shelf><name>{shelf}</name><clear/></shelf></shop>");
        action(&schema, &content).unwrap()
    };
    let asked = on("a");
    assert_eq!(asked.path().render(&schema).0, "/shop:shop/shelf[name='a']/clear");
    assert_eq!(asked.judged(&schema, &data(&schema)).unwrap(), r#"{"shop:input":{"keep":1}}"#);
    let errors = on("z").judged(&schema, &data(&schema)).unwrap_err();
    assert_eq!(errors[0].tag, ErrorTag::DataMissing);
    assert_eq!(errors[0].path.clone().unwrap().0, "/shop:shop/shelf[name='z']");
}

#[test]
fn what_leads_to_no_action_is_refused() {
    let schema = schema();
    let refused = |content: &str| action(&schema, content).unwrap_err()[0].tag;
    let shelf = |inside: &str| format!("<shop xmlns=\"{NS}\"><shelf>{inside}</shelf></shop>");
    assert_eq!(refused(""), ErrorTag::MissingElement);
    assert_eq!(refused(&shelf("<name>a</name>")), ErrorTag::MissingElement);
    assert_eq!(refused(&shelf("<clear/>")), ErrorTag::MissingElement, "without its key");
    assert_eq!(refused(&shelf("<name>a</name><clear/><clear/>")), ErrorTag::BadElement);
    assert_eq!(refused(&shelf("<name>a</name><width>1</width>")), ErrorTag::BadElement);
    assert_eq!(refused(&shelf("<name>a</name><paint/>")), ErrorTag::UnknownElement);
    assert_eq!(refused("<shop xmlns=\"urn:other\"/>"), ErrorTag::UnknownNamespace);
}

#[test]
fn an_output_is_held_against_the_schema_and_written_with_its_namespace() {
    let schema = schema();
    let asked = call(&schema, "count", "<shelf>a</shelf>");
    let data = data(&schema);
    let answered = |output: &str| asked.answered(&schema, &data, output.as_bytes());
    let good = answered(r#"{"shop:output":{"item":[{"name":"x","pieces":3}],"total":3}}"#).unwrap();
    let xml = good.to_xml(&schema);
    let expected = format!(
        "<total xmlns=\"{NS}\">3</total><item xmlns=\"{NS}\"><name>x</name><pieces>3</pieces></item>"
    );
    assert_eq!(xml, expected);
    let wrong = |output: &str| answered(output).unwrap_err()[0].tag;
    assert_eq!(wrong(""), ErrorTag::MissingElement, "total is mandatory");
    assert_eq!(wrong(r#"{"shop:output":{"total":"3"}}"#), ErrorTag::InvalidValue);
    assert_eq!(
        wrong(r#"{"shop:output":{"total":3,"item":[{"name":"x","pieces":1001}]}}"#),
        ErrorTag::InvalidValue
    );
    assert_eq!(wrong(r#"{"shop:output":{"total":3,"colour":1}}"#), ErrorTag::UnknownElement);
    assert_eq!(wrong(r#"{"shop:input":{"total":3}}"#), ErrorTag::MalformedMessage);
    assert_eq!(wrong("{"), ErrorTag::MalformedMessage);
    assert_eq!(
        Answer::from_xml(&schema, rpc(&schema, "count"), &format!("<data>{xml}</data>")).unwrap(),
        good
    );
}

#[test]
fn an_operation_without_output_answers_nothing() {
    let schema = schema();
    let asked = call(&schema, "greet", "");
    assert_eq!(asked.answered(&schema, &data(&schema), b"").unwrap().to_xml(&schema), "");
}
