//! RFC 7951 JSON: configuration, and state as components tell it.

use crate::laws;
use crate::schema::schema;
use cats_yang_tree::{Operation, Ops, Tree, diff, edit, json as rfc7951};

/// A JSON text. What is read as configuration keeps all laws; what is read as state is written as it was read.
pub fn json(data: &[u8]) {
    let schema = schema();
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(data) else { return };
    if let Ok(ops) = Ops::from_json(schema, &value, Operation::Merge)
        && let Ok(tree) = edit(&Tree::new(), schema, ops)
    {
        laws::configuration(&tree);
    }
    if let Ok(ops) = Ops::from_state_json(schema, &value)
        && let Ok(tree) = edit(&Tree::new(), schema, ops)
    {
        laws::tree(&tree);
        let written = rfc7951::branch(schema, tree.root(), None);
        let ops = Ops::from_state_json(schema, &written).expect("our JSON is right");
        assert_eq!(edit(&Tree::new(), schema, ops).expect("it fits"), tree, "{written}");
        let xml = format!("<data>{}</data>", laws::text(&tree));
        let ops = Ops::from_state_xml(schema, &xml).expect("our XML is right");
        assert_eq!(edit(&Tree::new(), schema, ops).expect("it fits"), tree, "{xml}");
        assert_eq!(diff(&Tree::new(), &tree).apply(&Tree::new(), schema).expect("it fits"), tree);
    }
}
