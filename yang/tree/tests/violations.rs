//! Of many violations the first in document order are told and the others counted, at a cost that follows their number.
#![allow(clippy::expect_used)] // a failure here is a failed test

use cats_yang_tree::build::{SchemaBuilder, Scope, Ty};
use cats_yang_tree::error::{Error, ErrorTag, MOST};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::validate::without_unknown_elements;
use cats_yang_tree::{ChangeSet, DefaultOperation, Ops, Tree, diff, edit, validate};

/// Entries of each test, more than are told.
const MANY: usize = 1000;

fn schema(content: impl FnOnce(&mut Scope<'_>)) -> Schema {
    SchemaBuilder::new().module("top", "urn:top", "t", content).build().expect("a good schema")
}

fn edited(schema: &Schema, from: &Tree, config: &str) -> Tree {
    let text = format!("<config xmlns=\"urn:top\">{config}</config>");
    let ops = Ops::from_xml_str(schema, &text, DefaultOperation::Merge).expect("good XML");
    edit(from, schema, ops).expect("fits")
}

fn valid(schema: &Schema, config: &str) -> Tree {
    let (empty, new) = (Tree::new(), edited(schema, &Tree::new(), config));
    let changes = diff(&empty, &new);
    validate(schema, &empty, new, changes).expect("it is valid").0
}

/// The errors of an edit: the same whether all is judged or what changed.
fn refused(schema: &Schema, base: &Tree, config: &str) -> Vec<Error> {
    let new = edited(schema, base, config);
    let errors = validate(schema, base, new.clone(), diff(base, &new)).expect_err("it is refused");
    let whole = validate(schema, &Tree::new(), new, ChangeSet::default()).expect_err("it is refused");
    assert_eq!(errors, whole, "what changed and the whole say the same");
    errors
}

fn entries(count: usize, content: impl Fn(usize) -> String) -> String {
    (0..count).map(|at| format!("<item><id>{at}</id>{}</item>", content(at))).collect()
}

fn path(error: &Error) -> String {
    error.path.clone().unwrap_or_default().0
}

/// The first entries are told, and `count` less these counted.
fn assert_first_and_count(errors: &[Error], count: usize, leaf: &str) {
    assert_eq!(errors.len(), MOST + 1);
    let (last, first) = errors.split_last().expect("there are some");
    for (at, error) in first.iter().enumerate() {
        assert_eq!(path(error), format!("/top:item[id='{at}']{leaf}"));
    }
    assert_eq!((last.tag, last.app_tag.as_deref()), (ErrorTag::OperationFailed, Some("more-errors")));
    assert!(last.message.contains(&format!(" {} more", count - MOST)), "{last}");
}

#[test]
fn missing_nodes_are_told_up_to_a_number() {
    let schema = schema(|m| {
        m.list("item", &["id"], |l| {
            l.leaf("id", Ty::uint32());
            l.leaf("name", Ty::string()).mandatory();
        });
    });
    let errors = refused(&schema, &valid(&schema, ""), &entries(MANY, |_| String::new()));
    assert_first_and_count(&errors, MANY, "/name");
    let few = refused(&schema, &valid(&schema, ""), &entries(MOST, |_| String::new()));
    assert_eq!(few.len(), MOST, "nothing is left to be counted");
}

#[test]
fn leafrefs_without_a_target_are_told_up_to_a_number() {
    let schema = schema(|m| {
        m.list("item", &["id"], |l| {
            l.leaf("id", Ty::uint32());
            l.leaf("next", Ty::leafref("/item/id"));
        });
    });
    // Those of two leafrefs are found one after the other.
    let errors =
        refused(&schema, &valid(&schema, ""), &entries(MANY, |at| format!("<next>{}</next>", at + MANY)));
    assert_first_and_count(&errors, MANY, "/next");
    assert!(errors.iter().take(MOST).all(|error| error.app_tag.as_deref() == Some("instance-required")));
}

#[test]
fn conditions_that_do_not_hold_are_told_in_document_order_whichever_is_asked_first() {
    let schema = schema(|m| {
        m.list("item", &["id"], |l| {
            l.leaf("id", Ty::uint32());
            l.leaf("low", Ty::uint32()).must(". < 5");
            l.leaf("high", Ty::uint32()).must(". > 5");
        });
    });
    let half = MANY / 2;
    // The condition of the second leaf is broken in the first entries.
    let content = |at: usize| if at < half { "<high>1</high>" } else { "<low>9</low>" }.to_owned();
    let errors = refused(&schema, &valid(&schema, ""), &entries(MANY, content));
    assert_first_and_count(&errors, MANY, "/high");
}

#[test]
fn tuples_that_are_not_unique_are_told_up_to_a_number() {
    let schema = schema(|m| {
        m.list("item", &["id"], |l| {
            l.leaf("id", Ty::uint32());
            l.leaf("port", Ty::uint32());
        })
        .unique(&["port"]);
    });
    let errors = refused(&schema, &valid(&schema, ""), &entries(MANY, |_| "<port>1</port>".to_owned()));
    assert_eq!(errors.len(), MOST + 1);
    let last = errors.last().expect("the count");
    assert!(last.message.contains(&format!(" {} more", MANY - 1 - MOST)), "{last}");
}

/// What a `when` that came true obliges is found once where the walk over what changed has been, and counted once.
#[test]
fn what_becomes_mandatory_is_counted_once() {
    let schema = schema(|m| {
        m.leaf("strict", Ty::boolean());
        m.list("item", &["id"], |l| {
            l.leaf("id", Ty::uint32());
            l.leaf("note", Ty::string());
            l.leaf("name", Ty::string()).mandatory().when("/strict = 'true'");
        });
    });
    let base = valid(&schema, &entries(MANY, |_| String::new()));
    // Half of the entries changed as well.
    let changed = entries(MANY / 2, |_| "<note>n</note>".to_owned());
    let errors = refused(&schema, &base, &format!("<strict>true</strict>{changed}"));
    assert_first_and_count(&errors, MANY, "/name");
}

#[test]
fn what_an_edit_creates_against_a_when_is_told_up_to_a_number() {
    let schema = schema(|m| {
        m.list("item", &["id"], |l| {
            l.leaf("id", Ty::uint32());
            l.leaf("speed", Ty::uint32()).when("../../mode");
        });
        m.leaf("mode", Ty::string());
    });
    let new = edited(&schema, &Tree::new(), &entries(MANY, |_| "<speed>1</speed>".to_owned()));
    let (_, errors) = without_unknown_elements(&schema, &Tree::new(), &new);
    assert_first_and_count(&errors, MANY, "/speed");
    assert_eq!(errors.first().map(|error| error.tag), Some(ErrorTag::UnknownElement));
}
