//! Notifications as data: read, filtered, cut and written.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed set-up is a failed test

use cats_yang_tree::build::{SchemaBuilder, Ty};
use cats_yang_tree::notice::Notice;
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::xpath::{Budget, Expr, Scope};
use cats_yang_tree::{InstancePath, Subtree};
use serde_json::{Value, json};

fn schema() -> Schema {
    let schema = SchemaBuilder::new().module("shop", "urn:shop", "sh", |m| {
        m.container("shop", |c| {
            c.list("shelf", &["row", "name"], |l| {
                l.notification("emptied", |n| {
                    n.leaf("by", Ty::string());
                });
                l.leaf("name", Ty::string());
                l.leaf("row", Ty::uint32());
            });
        });
        m.notification("closed", |_| {});
        m.notification("moved", |n| {
            n.leaf("by", Ty::string());
            n.list("piece", &[], |l| {
                l.leaf("place", Ty::instance_identifier(false));
                l.leaf("weight", Ty::uint32());
            });
        });
    });
    schema.build().unwrap()
}

fn moved(schema: &Schema) -> Notice {
    let places = ["/shop:shop/shelf[row='1'][name='a']", "/shop:shop/shelf[row='2'][name='b']"];
    let piece: Vec<Value> = places.iter().map(|place| json!({"place": place, "weight": 3})).collect();
    Notice::named(schema, ("shop", "moved"), &json!({"by": "ann", "piece": piece})).unwrap()
}

fn emptied(schema: &Schema) -> Notice {
    let above = InstancePath::parse(schema, "/shop:shop/shelf[row='7'][name='c']").unwrap();
    let module = schema.module_by_name("shop").unwrap();
    let node = schema.child(above.node(), module, "emptied").unwrap();
    Notice::from_json(schema, node, &above, &json!({"by": "bob"})).unwrap()
}

fn holds(schema: &Schema, notice: &Notice, text: &str) -> bool {
    let scope = Scope::of_namespaces(schema, &[("s".to_owned(), "urn:shop".to_owned())]).of_notices();
    let expression = Expr::parse(schema, text, scope).unwrap();
    notice.satisfies(schema, &expression, &mut Budget::new(10_000)).unwrap()
}

#[test]
fn a_notification_is_written_with_its_time_and_what_it_belongs_to() {
    let schema = schema();
    let closed = Notice::named(&schema, ("shop", "closed"), &json!({})).unwrap();
    assert_eq!(
        closed.to_xml(&schema, "2026-11-30T00:00:00Z"),
        "<notification xmlns=\"urn:ietf:params:xml:ns:netconf:notification:1.0\">\
         <eventTime>2026-11-30T00:00:00Z</eventTime><closed xmlns=\"urn:shop\"/></notification>"
    );
    let nested = emptied(&schema).to_xml(&schema, "t");
    assert!(
        nested.contains(
            "<shop xmlns=\"urn:shop\"><shelf><row>7</row><name>c</name><emptied><by>bob</by></emptied></shelf></shop>"
        ),
        "{nested}"
    );
    let moved = moved(&schema).to_xml(&schema, "t");
    let place = "<place xmlns:sh=\"urn:shop\">/sh:shop/sh:shelf[sh:row='1'][sh:name='a']</place>";
    assert!(moved.contains(place), "{moved}");
}

#[test]
fn what_is_written_as_json_is_read_as_the_same() {
    let schema = schema();
    for notice in [moved(&schema), emptied(&schema)] {
        let json = notice.to_json(&schema);
        let read = Notice::from_json(&schema, notice.notification(), &notice.above(), &json).unwrap();
        assert_eq!(read, notice);
    }
}

#[test]
fn what_is_no_notification_of_its_place_is_refused() {
    let schema = schema();
    let node = emptied(&schema).notification();
    assert!(Notice::from_json(&schema, node, &InstancePath::default(), &json!({})).is_err());
    let shop = schema.data_children_of(None).first().copied().unwrap_or(NodeId(0));
    assert!(Notice::from_json(&schema, shop, &InstancePath::default(), &json!({})).is_err());
    assert!(Notice::named(&schema, ("shop", "moved"), &json!({"colour": "red"})).is_err());
}

#[test]
fn subtree_filters_find_notifications_and_match_what_is_in_them() {
    let schema = schema();
    let meets = |notice: &Notice, inner: &str| {
        let filter =
            Subtree::parse(&schema, &format!("<filter xmlns:s='urn:shop'>{inner}</filter>")).unwrap();
        notice.meets(&schema, &filter)
    };
    let (moved, emptied) = (moved(&schema), emptied(&schema));
    assert!(meets(&moved, "<s:moved/>") && !meets(&emptied, "<s:moved/>"));
    assert!(meets(&moved, "<s:moved><s:by>ann</s:by></s:moved>"));
    assert!(!meets(&moved, "<s:moved><s:by>bob</s:by></s:moved>"));
    assert!(meets(&moved, "<s:closed/><s:moved><s:piece><s:weight>3</s:weight></s:piece></s:moved>"));
    assert!(meets(&emptied, "<s:shop/>"));
    assert!(meets(&emptied, "<s:shop><s:shelf><s:row>7</s:row><s:emptied/></s:shelf></s:shop>"));
    assert!(!meets(&emptied, "<s:shop><s:shelf><s:row>8</s:row><s:emptied/></s:shelf></s:shop>"));
    // The keys of the entry are selected all the same, the notification is not.
    assert!(!meets(&emptied, "<s:shop><s:shelf><s:name/></s:shelf></s:shop>"));
    assert!(!meets(&moved, "") && !meets(&moved, "<moved xmlns='urn:other'/>"));
}

#[test]
fn expressions_hold_of_notifications_by_their_nodes_or_their_value() {
    let schema = schema();
    let (moved, emptied) = (moved(&schema), emptied(&schema));
    for (text, of_moved, of_emptied) in [
        ("/s:moved", true, false),
        ("/s:moved[s:by='ann'] | /s:closed", true, false),
        ("/s:moved[s:by='bob']", false, false),
        ("//s:by", true, true),
        ("/*", true, true),
        ("count(/s:moved/s:piece) > 1", true, false),
        ("/s:shop/s:shelf[s:row=7]/s:emptied", false, true),
        ("/s:shop/s:shelf[s:row=8]/s:emptied", false, false),
    ] {
        assert_eq!(holds(&schema, &moved, text), of_moved, "{text}");
        assert_eq!(holds(&schema, &emptied, text), of_emptied, "{text}");
    }
}

#[test]
fn expressions_on_datastores_know_no_notifications() {
    let schema = schema();
    let scope = Scope::of_namespaces(&schema, &[]);
    let expression = Expr::parse(&schema, "/shop:moved", scope).unwrap();
    assert!(!moved(&schema).satisfies(&schema, &expression, &mut Budget::new(100)).unwrap());
}

#[test]
fn places_that_may_not_be_told_go_with_their_entries_and_with_the_last_of_them_all() {
    let schema = schema();
    let moved = moved(&schema);
    let row = |path: &InstancePath, row: &str| path.render(&schema).0.contains(&format!("row='{row}'"));
    let told = moved.telling(&schema, &|path| !row(path, "1")).unwrap().to_xml(&schema, "t");
    assert!(told.contains("='b'") && !told.contains("='a'") && told.contains("<by>ann</by>"), "{told}");
    assert_eq!(told.matches("<weight>").count(), 1);
    assert_eq!(moved.telling(&schema, &|_| true).as_ref(), Some(&moved));
    assert_eq!(moved.telling(&schema, &|_| false), None);
    let emptied = emptied(&schema);
    assert_eq!(emptied.telling(&schema, &|_| false).as_ref(), Some(&emptied));
}
