//! What yang/tree's validation leaves to libyang.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may

use cats_yang_schema::{Compiled, ModuleSource, default_modules, load};

fn left(compiled: &Compiled) -> Vec<(String, String)> {
    let schema = compiled.schema();
    schema.left().iter().map(|left| (schema.path_of(left.node), left.why.clone())).collect()
}

#[test]
fn nothing_of_our_module_set_is_left() {
    assert_eq!(left(&load(&default_modules()).expect("the modules compile")), []);
}

#[test]
fn what_is_left_says_why() {
    let text = r#"module rest { yang-version 1.1; namespace "urn:rest"; prefix r; revision 2026-11-29;
      list item { key "name"; leaf name { type string; } leaf size { type uint8; } }
      leaf any { type instance-identifier; }
      leaf loose { type instance-identifier { require-instance false; } }
      leaf either { type union { type leafref { path "/r:item/r:name"; } type uint8; } }
      leaf all { must "count(//r:size) < 9"; type empty; }
      leaf sized { when "deref(../picked)/../r:size > 2"; type empty; }
      leaf picked { type leafref { path "../item/name"; } }
      leaf twin { type leafref { path "/r:item[r:name = current()/../picked]/r:size"; } }
      leaf later { must "following::r:size"; type empty; }
    }"#;
    let rest = left(&load(&[ModuleSource::extra(text).unwrap()]).expect("the module compiles"));
    let paths: Vec<&str> = rest.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/rest:any", "/rest:either", "/rest:all", "/rest:sized", "/rest:later"], "{rest:?}");
    assert!(
        rest[1].1.contains("union") && rest[2].1.contains("//") && rest[3].1.contains("deref()"),
        "{rest:?}"
    );
}
