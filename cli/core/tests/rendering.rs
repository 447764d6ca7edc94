//! Data becomes text, and `set` lines read back as the data.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may

mod words;

use cats_cli_core::command::{Command, Mode, parse};
use cats_cli_core::edit;
use cats_cli_core::render::{self, Sign};
use cats_yang_tree::ops::DefaultOperation;
use cats_yang_tree::schema::Schema;
use cats_yang_tree::tree::Tree;
use cats_yang_tree::{Ops, edit as apply};
use proptest::prelude::*;
use words::{line, schema};

fn after(schema: &Schema, lines: &[String]) -> Tree {
    lines.iter().fold(Tree::new(), |tree, text| {
        let Command::Set(assignments) =
            parse(schema, Mode::Configure, &line(&format!("set {text}"))).unwrap()
        else {
            panic!("no set: {text}");
        };
        let xml = format!("<config>{}</config>", edit::set(schema, &assignments));
        let ops = Ops::from_xml_str(schema, &xml, DefaultOperation::Merge).unwrap();
        apply(&tree, schema, ops).unwrap()
    })
}

fn given(schema: &Schema) -> Tree {
    let lines = [
        "services service 1 name web address [ 192.0.2.1 192.0.2.2 ]",
        "services service 1 instance 11 egress EF-1",
        "services service 1 instance 12 egress EF-2",
        "services service 2",
        "ingress",
        "bench knob 7 flag",
    ];
    after(schema, &lines.map(str::to_owned))
}

#[test]
fn an_outline_aligns_leafs_and_shows_flat_lists_as_tables() {
    let schema = schema();
    let expected = "\
routing
  cats
    services
      service 1
        name     web
        address  192.0.2.1 192.0.2.2
        instance
          csci-id  egress
          11       EF-1
          12       EF-2
      service 2
    ingress
bench
  knob  7
  flag  (set)
";
    assert_eq!(render::outline(&schema, &given(&schema)), expected);
}

#[test]
fn a_comparison_shows_what_went_and_what_came() {
    let schema = schema();
    let old = given(&schema);
    let new = after(&schema, &["services service 1 name shop".to_owned(), "services service 2".to_owned()]);
    let lines = render::compare(&schema, &old, &new);
    let added: Vec<&str> =
        lines.iter().filter(|line| line.sign == Sign::Added).map(|line| line.text.as_str()).collect();
    assert_eq!(added, ["services service 1 name shop"]);
    assert!(
        lines.iter().any(|line| line.sign == Sign::Removed && line.text == "services service 1 name web")
    );
    assert!(!lines.iter().any(|line| line.text == "services service 2"));
    assert_eq!(render::compare(&schema, &old, &old), []);
}

#[test]
fn json_and_xml_carry_the_same_data() {
    let schema = schema();
    let tree = given(&schema);
    let xml = format!("<data>{}</data>", render::xml(&schema, &tree));
    assert_eq!(render::read(&schema, &xml).unwrap(), tree);
    let json: serde_json::Value = serde_json::from_str(&render::json(&schema, &tree)).unwrap();
    assert_eq!(json["ietf-routing:routing"]["ietf-cats:cats"]["services"]["service"][0]["name"], "web");
}

proptest! {
    #[test]
    fn set_lines_pasted_back_give_the_same_configuration(
        names in proptest::collection::btree_map(any::<u32>(), "[ -~]{1,20}", 0..6),
        addresses in proptest::collection::btree_set("\\PC{0,8}", 0..4),
        hold in proptest::option::of(1..=60000u32),
    ) {
        let schema = schema();
        let mut lines = Vec::new();
        for (id, name) in names {
            lines.push(format!("services service {id} name {}", cats_cli_core::token::quote(&name)));
            for address in &addresses {
                lines.push(format!("services service {id} address {}", cats_cli_core::token::quote(address)));
            }
        }
        lines.extend(hold.map(|hold| format!("ingress hold {hold}")));
        let tree = after(&schema, &lines);
        prop_assert_eq!(after(&schema, &render::set_lines(&schema, &tree)), tree);
    }
}
