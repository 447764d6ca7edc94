//! Instance paths and values as a person or a peer writes them.

use crate::laws;
use crate::schema::schema;
use cats_yang_tree::schema::ModuleId;
use cats_yang_tree::value::{Names, Value};
use cats_yang_tree::{Found, InstancePath, Operation, Ops, Tree, edit};

/// A text. As a path in either form it is written as it was read, and what it names can be made and is then there; as
/// a value of each type, its canonical form is a value that is its own.
pub fn paths(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let schema = schema();
    let by_prefix = |prefix: Option<&str>| schema.module_by_prefix(prefix?);
    let names = Names { resolve: &by_prefix, inherit: false };
    let read = [InstancePath::parse(schema, text), InstancePath::parse_with(schema, names, text)];
    for path in read.into_iter().flatten() {
        laws::texts(&path);
        made(&path);
    }
    for node in schema.data_nodes() {
        let Some(ty) = schema.leaf_type(node.id) else { continue };
        if let Ok(value) = Value::parse_text(schema, ty, node.module, text) {
            own(node.module, ty, &value);
        }
    }
}

/// An operation on what the path names: once made, it is there; once removed, it is not.
fn made(path: &InstancePath) {
    let schema = schema();
    let mut ops = Ops::default();
    if ops.push(schema, path, Operation::Merge, None).is_err() {
        return;
    }
    let Ok(tree) = edit(&Tree::new(), schema, ops) else { return };
    laws::configuration(&tree);
    let implied = path.node().is_some_and(|node| schema.is_non_presence(node));
    assert!(implied || tree.find(path).is_some(), "{} was made", path.render(schema));
    let mut ops = Ops::default();
    ops.push(schema, path, Operation::Remove, None).expect("what can be made can be removed");
    let after = edit(&tree, schema, ops).expect("a removal fits");
    assert!(after.find(path).is_none_or(|found| matches!(found, Found::Leaf(_))), "it is gone");
    laws::step(&tree, &after);
}

fn own(module: ModuleId, ty: &cats_yang_tree::schema::TypeRef, value: &Value) {
    let schema = schema();
    let again = Value::parse_text(schema, ty, module, &value.to_string());
    assert_eq!(again.as_ref(), Ok(value), "a canonical form is its own");
}
