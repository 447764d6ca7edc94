//! Data as the commands that make it.

use crate::place;
use crate::token::quote;
use cats_yang_tree::path::Key;
use cats_yang_tree::schema::{NodeId, NodeKind, Schema};
use cats_yang_tree::tree::{Branch, Data, Tree};
use cats_yang_tree::value::Value;
use std::collections::BTreeSet;

/// What a line of a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Only the candidate has it.
    Added,
    /// Only the running configuration has it.
    Removed,
}

/// A line of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Which side has it.
    pub sign: Sign,
    /// The words after `set`.
    pub text: String,
}

/// The configuration in `tree` as the words after `set`, one line a leaf or leaf-list entry, and one for each
/// entry or presence container that holds nothing else. Lines come in the order of the data.
pub fn set_lines(schema: &Schema, tree: &Tree) -> Vec<String> {
    let mut writer = Writer { schema, words: Vec::new(), home: home_words(schema), lines: Vec::new() };
    writer.branch(None, tree.root());
    writer.lines
}

/// What `new` has that `old` has not, and the other way round: removed lines first at each place.
pub fn compare(schema: &Schema, old: &Tree, new: &Tree) -> Vec<Line> {
    let old = set_lines(schema, old);
    let new = set_lines(schema, new);
    let kept: BTreeSet<&String> =
        old.iter().collect::<BTreeSet<_>>().intersection(&new.iter().collect()).copied().collect();
    let mut lines = Vec::new();
    let mut olds = old.iter();
    for text in &new {
        if kept.contains(text) {
            lines.extend(olds.by_ref().take_while(|line| !kept.contains(line)).map(|line| removed(line)));
        } else {
            lines.push(Line { sign: Sign::Added, text: text.clone() });
        }
    }
    lines.extend(olds.filter(|line| !kept.contains(line)).map(|line| removed(line)));
    lines
}

fn removed(text: &str) -> Line {
    Line { sign: Sign::Removed, text: text.to_owned() }
}

/// The words that [`place::place`] lets a user leave out, unless what follows is a top-level name too.
fn home_words(schema: &Schema) -> Vec<String> {
    let steps = place::home(schema).map(|path| path.steps).unwrap_or_default();
    steps.iter().map(|step| schema.node(step.node).name.clone()).collect()
}

struct Writer<'a> {
    schema: &'a Schema,
    words: Vec<String>,
    home: Vec<String>,
    lines: Vec<String>,
}

impl Writer<'_> {
    /// Writes all children; says whether it wrote any line.
    fn branch(&mut self, parent: Option<NodeId>, branch: &Branch) -> bool {
        let before = self.lines.len();
        for (id, data) in branch.ordered(self.schema, parent) {
            if self.schema.node(id).config && !self.schema.is_key(id) {
                self.words.push(self.name(parent, id));
                self.data(id, data);
                self.words.pop();
            }
        }
        self.lines.len() > before
    }

    fn data(&mut self, id: NodeId, data: &Data) {
        match data {
            Data::Leaf(Value::Empty) => self.line(None),
            Data::Leaf(value) => self.line(Some(value)),
            Data::Container(branch) => {
                let wrote = self.branch(Some(id), branch);
                if !wrote && matches!(self.schema.node(id).kind, NodeKind::Container { presence: true }) {
                    self.line(None);
                }
            }
            Data::List(entries) => {
                for (key, branch) in entries.iter() {
                    let depth = self.words.len();
                    self.words.extend(key_words(key));
                    if !self.branch(Some(id), branch) {
                        self.line(None);
                    }
                    self.words.truncate(depth);
                }
            }
            Data::LeafList(entries) => {
                for (_, value) in entries.iter() {
                    self.line(Some(value));
                }
            }
            // Has no form in words; `show` in json or xml has it.
            Data::Any(_) => {}
        }
    }

    fn line(&mut self, value: Option<&Value>) {
        let words = self.words.strip_prefix(self.home.as_slice()).filter(|rest| {
            rest.first().is_some_and(|first| self.schema.children_named(None, first).next().is_none())
        });
        let mut text = words.unwrap_or(&self.words).join(" ");
        if let Some(value) = value {
            text.push(' ');
            text.push_str(&quote(&value.to_string()));
        }
        self.lines.push(text);
    }

    fn name(&self, parent: Option<NodeId>, id: NodeId) -> String {
        let name = &self.schema.node(id).name;
        let same = self.schema.children_named(parent, name).filter(|other| self.schema.node(*other).config);
        if same.count() > 1 { format!("{}:{name}", self.schema.module_of(id).name) } else { name.clone() }
    }
}

fn key_words(key: &Key) -> impl Iterator<Item = String> + '_ {
    key.values().iter().map(|value| quote(&value.to_string()))
}
