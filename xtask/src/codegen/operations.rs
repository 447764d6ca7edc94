//! The RPCs that the engine carries out: a type for each, with its input and its output.

use super::names::{self, Names, Source, Space, camel};
use super::structs;
use crate::Failure;
use cats_yang_tree::schema::{NodeId, NodeKind, Schema};
use std::fmt::Write as _;

/// The operations of our modules that cats-mgmtd carries out itself.
const OF_MANAGEMENT: [&str; 5] =
    ["attach-candidate", "compare-revision", "drop-candidate", "rollback", "schema-index"];

/// Generates all of them; the text of their `mod.rs`.
pub(crate) fn generate(names: &mut Names<'_>) -> Result<String, Failure> {
    names.space = Space::Operations;
    let mut all = Vec::new();
    for rpc in rpcs(names.schema) {
        let schema = names.schema;
        let NodeKind::Rpc { input, output } = schema.node(rpc).kind else { continue };
        structs::generate(names, input)?;
        structs::generate(names, output)?;
        let path = |half| names.path(&Source::Struct(Space::Operations, half)).unwrap_or_default();
        let (module, node) = (&schema.module_of(rpc).name, schema.node(rpc));
        let name = camel(&node.name);
        let mut text = names::doc(node.description.as_deref().unwrap_or(&node.name), "");
        let _ = writeln!(text, "#[derive(Debug, Clone, Copy, PartialEq, Eq)]\npub struct {name};\n");
        let _ = writeln!(text, "impl crate::operation::Operation for {name} {{");
        let _ = writeln!(text, "    const MODULE: &'static str = {module:?};");
        let _ = writeln!(text, "    const NAME: &'static str = {:?};", node.name);
        let _ = writeln!(text, "    type Input = {};", path(input));
        let _ = writeln!(text, "    type Output = {};\n}}\n", path(output));
        names.add(module, text);
        all.push(format!("{module}:{}", node.name));
    }
    let what = "The operations that the engine carries out, with what they are given and what they answer.";
    let mut text = format!("//! {what}\n\n");
    for module in names.modules() {
        let _ = writeln!(text, "pub mod {module};");
    }
    let _ = writeln!(text, "\n/// All of them, as `module:name`.\npub const OPERATIONS: &[&str] = &{all:?};");
    Ok(text)
}

fn rpcs(schema: &Schema) -> impl Iterator<Item = NodeId> + '_ {
    schema.roots.iter().copied().filter(|id| {
        let node = schema.node(*id);
        matches!(node.kind, NodeKind::Rpc { .. })
            && schema.module_of(*id).name.starts_with("cats-")
            && !OF_MANAGEMENT.contains(&node.name.as_str())
    })
}
