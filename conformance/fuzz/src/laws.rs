//! What holds for every tree that an edit gave, and for the way from one to another.

use crate::infoset;
use crate::schema::schema;
use cats_yang_tree::value::{Names, Value};
use cats_yang_tree::{
    Branch, ChangeSet, Data, DefaultOperation, Defaults, Found, InstancePath, Key, Operation, Ops, Record,
    Step, Tree, diff, edit, json, view,
};
use std::sync::Arc;

/// What holds for a tree that was made of another: the way between them is known, in both directions.
pub(crate) fn step(old: &Tree, new: &Tree) {
    changes(old, new);
    changes(new, old);
}

/// Everything that holds for a tree of configuration.
pub(crate) fn configuration(it: &Tree) {
    tree(it);
    changes(&Tree::new(), it);
    encodings(it);
}

/// Differences apply, also after they went through the journal.
fn changes(old: &Tree, new: &Tree) {
    let schema = schema();
    let changes = diff(old, new);
    assert_eq!(changes.is_empty(), old == new, "{changes:?}");
    let applied = changes.apply(old, schema).expect("a difference fits its base");
    assert_eq!(applied, *new);
    assert_eq!(text(&applied), text(new), "the order of entries");
    let words = serde_json::to_string(&changes.records(schema)).expect("records are JSON");
    let records: Vec<Record> = serde_json::from_str(&words).expect("records are read back");
    let again = ChangeSet::from_records(schema, old, &records).expect("our records are known");
    assert_eq!(again.apply(old, schema).expect("they fit"), *new, "{words}");
}

/// What is written in XML or JSON is read back as the same tree.
fn encodings(tree: &Tree) {
    let schema = schema();
    let xml = format!("<config>{}</config>", text(tree));
    drop(infoset::read(&xml));
    let read = |default, base: &Tree| {
        let ops = Ops::from_xml_str(schema, &xml, default).expect("our XML is right");
        edit(base, schema, ops).expect("our XML fits")
    };
    assert_eq!(read(DefaultOperation::Merge, &Tree::new()), *tree, "{xml}");
    assert!(
        read(DefaultOperation::Replace, tree).ptr_eq(tree),
        "replacing by the same changes nothing: {xml}"
    );

    let value = json::branch(schema, tree.root(), None);
    let mut written = String::new();
    json::write_branch(schema, tree.root(), None, &mut written).expect("a String takes everything");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&written).expect("our JSON is right"), value);
    let ops = Ops::from_json(schema, &value, Operation::Merge).expect("our JSON is right");
    assert_eq!(edit(&Tree::new(), schema, ops).expect("our JSON fits"), *tree, "{written}");

    for defaults in [Defaults::ReportAll, Defaults::Trim] {
        let seen = view(tree, schema, defaults);
        assert_eq!(seen.to_xml(), text(&seen.tree()), "what is seen is what is written");
    }
    let tagged = format!("<config>{}</config>", view(tree, schema, Defaults::ReportAllTagged).to_xml());
    let ops = Ops::from_xml_str(schema, &tagged, DefaultOperation::Merge).expect("our tags are right");
    assert_eq!(edit(&Tree::new(), schema, ops).expect("it fits"), *tree, "{tagged}");
}

/// In XML, as it was stored.
pub(crate) fn text(tree: &Tree) -> String {
    view(tree, schema(), Defaults::Explicit).to_xml()
}

/// The invariants of a stored tree, and a path to everything in it.
pub(crate) fn tree(tree: &Tree) {
    branch(tree, &InstancePath::default(), tree.root());
}

fn branch(tree: &Tree, at: &InstancePath, branch: &Arc<Branch>) {
    let schema = schema();
    for (node, data) in branch.iter() {
        match data {
            Data::Leaf(value) => {
                stored(node, value);
                let path = below(at, node, None);
                assert_eq!(found(tree, &path), Some(Found::Leaf(value)));
            }
            Data::Container(inner) => {
                assert!(!schema.is_non_presence(node) || !inner.is_empty(), "an empty container is stored");
                self::branch(tree, &below(at, node, None), inner);
            }
            Data::List(entries) => {
                assert!(!entries.is_empty(), "a list without entries is stored");
                for (key, entry) in entries.iter() {
                    let path = below(at, node, Some(key.clone()));
                    assert_eq!(found(tree, &path), Some(Found::Branch(entry)));
                    for (leaf, value) in schema.list_keys(node).iter().zip(key.values()) {
                        assert_eq!(entry.leaf(*leaf), Some(value), "a key leaf is not that of its entry");
                    }
                    self::branch(tree, &path, entry);
                }
            }
            Data::LeafList(entries) => {
                assert!(!entries.is_empty(), "a leaf-list without entries is stored");
                for (key, value) in entries.iter() {
                    stored(node, value);
                    let path = below(at, node, Some(key.clone()));
                    assert_eq!(found(tree, &path), Some(Found::Leaf(value)));
                }
            }
            Data::Any(text) => drop(infoset::read(&format!("<any>{text}</any>"))),
        }
    }
}

fn below(at: &InstancePath, node: cats_yang_tree::schema::NodeId, key: Option<Key>) -> InstancePath {
    let mut path = at.clone();
    path.steps.push(Step { node, key });
    path
}

/// What stands at `path`, by the path and by both of its texts.
fn found<'t>(tree: &'t Tree, path: &InstancePath) -> Option<Found<'t>> {
    texts(path);
    tree.find(path)
}

/// Both texts of a path are read as that path.
pub(crate) fn texts(path: &InstancePath) {
    let schema = schema();
    let text = path.render(schema).0;
    assert_eq!(InstancePath::parse(schema, &text).as_ref(), Ok(path), "{text}");
    let (text, modules) = path.render_xml(schema);
    let resolve =
        |prefix: Option<&str>| modules.iter().copied().find(|module| Some(schema.prefix(*module)) == prefix);
    let names = Names { resolve: &resolve, inherit: false };
    if !path.steps.is_empty() {
        assert_eq!(InstancePath::parse_with(schema, names, &text).as_ref(), Ok(path), "{text}");
    }
}

/// A stored value is in canonical form: its text is read as itself.
fn stored(node: cats_yang_tree::schema::NodeId, value: &Value) {
    let schema = schema();
    let ty = schema.leaf_type(node).expect("a value is that of a leaf");
    let read = Value::parse_text(schema, ty, schema.node(node).module, &value.to_string());
    assert_eq!(read.as_ref(), Ok(value), "at {}", schema.path_of(node));
}
