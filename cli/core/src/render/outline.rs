//! Data as an outline: one line a leaf, values aligned among siblings, lists of nothing but leafs as tables.

use cats_yang_tree::path::Key;
use cats_yang_tree::schema::{NodeId, Schema};
use cats_yang_tree::tree::{Branch, Data, Entries, Tree};
use cats_yang_tree::value::Value;
use std::fmt::Write;
use std::sync::Arc;

/// Two spaces a level.
const INDENT: usize = 2;

/// The outline of `tree`; empty for an empty tree.
pub fn outline(schema: &Schema, tree: &Tree) -> String {
    let mut writer = Writer { schema, out: String::new() };
    writer.branch(None, tree.root(), 0);
    writer.out
}

struct Writer<'a> {
    schema: &'a Schema,
    out: String,
}

impl Writer<'_> {
    fn branch(&mut self, parent: Option<NodeId>, branch: &Branch, depth: usize) {
        let children: Vec<(NodeId, &Data)> =
            branch.ordered(self.schema, parent).filter(|(id, _)| !self.schema.is_key(*id)).collect();
        let width = children
            .iter()
            .filter(|(_, data)| matches!(data, Data::Leaf(_) | Data::LeafList(_)))
            .map(|(id, _)| self.name(*id).chars().count())
            .max()
            .unwrap_or(0);
        for (id, data) in children {
            self.data(id, data, depth, width);
        }
    }

    fn data(&mut self, id: NodeId, data: &Data, depth: usize, width: usize) {
        let pad = depth * INDENT;
        let name = self.name(id).to_owned();
        match data {
            Data::Leaf(value) => {
                let line = format!("{:pad$}{name:width$}  {}", "", text(value));
                self.line(&line);
            }
            Data::LeafList(entries) => {
                let values: Vec<String> = entries.iter().map(|(_, value)| text(value)).collect();
                let line = format!("{:pad$}{name:width$}  {}", "", values.join(" "));
                self.line(&line);
            }
            Data::Container(branch) => {
                self.line(&format!("{:pad$}{name}", ""));
                self.branch(Some(id), branch, depth + 1);
            }
            Data::List(entries) if self.is_flat(entries) => self.table(id, entries, depth),
            Data::List(entries) => {
                for (key, branch) in entries.iter() {
                    self.line(&format!("{:pad$}{name} {}", "", key_text(key)));
                    self.branch(Some(id), branch, depth + 1);
                }
            }
            Data::Any(content) => self.line(&format!("{:pad$}{name}  {content}", "")),
        }
    }

    /// Whether the entries hold nothing but leafs and leaf-lists.
    fn is_flat(&self, entries: &Entries<Arc<Branch>>) -> bool {
        entries.iter().all(|(_, branch)| {
            branch.iter().all(|(_, data)| matches!(data, Data::Leaf(_) | Data::LeafList(_)))
        })
    }

    /// A header, then one line an entry; columns that no entry has are left out.
    fn table(&mut self, id: NodeId, entries: &Entries<Arc<Branch>>, depth: usize) {
        let mut columns: Vec<NodeId> = self
            .schema
            .data_children(id)
            .iter()
            .copied()
            .filter(|column| entries.iter().any(|(_, branch)| branch.get(*column).is_some()))
            .collect();
        // Keys, then the columns that the module numbers, then the rest in schema order.
        columns.sort_by_key(|id| {
            (!self.schema.is_key(*id), self.schema.node(*id).flags.column.unwrap_or(u32::MAX))
        });
        let mut rows: Vec<Vec<String>> =
            vec![columns.iter().map(|column| self.name(*column).to_owned()).collect()];
        for (_, branch) in entries.iter() {
            rows.push(columns.iter().map(|column| cell(branch.get(*column))).collect());
        }
        self.line(&format!("{:pad$}{}", "", self.name(id).to_owned(), pad = depth * INDENT));
        for line in align(&rows) {
            self.line(&format!("{:pad$}{line}", "", pad = (depth + 1) * INDENT));
        }
    }

    fn name(&self, id: NodeId) -> &str {
        &self.schema.node(id).name
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}", text.trim_end());
    }
}

fn cell(data: Option<&Data>) -> String {
    match data {
        Some(Data::Leaf(value)) => text(value),
        Some(Data::LeafList(entries)) => {
            entries.iter().map(|(_, value)| text(value)).collect::<Vec<_>>().join(",")
        }
        Some(Data::Container(_) | Data::List(_) | Data::Any(_)) | None => "-".to_owned(),
    }
}

/// Columns of equal width, two blanks between.
fn align(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    rows.iter()
        .map(|row| {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            cells.join("  ")
        })
        .collect()
}

fn key_text(key: &Key) -> String {
    key.values().iter().map(text).collect::<Vec<_>>().join(" ")
}

/// A value on one line.
fn text(value: &Value) -> String {
    match value {
        Value::Empty => "(set)".to_owned(),
        other => other.to_string().replace(['\n', '\r'], " "),
    }
}
