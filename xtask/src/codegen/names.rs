//! Names of the generated code: which item of which module has which name, and the items themselves.

use cats_yang_tree::schema::{ModuleId, NodeId, NodeKind, Schema};
use std::collections::BTreeMap;

/// What is generated: the tree of the configuration, that of state with the keys above it, or the parameters of
/// operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Space {
    Config,
    State,
    Operations,
}

impl Space {
    /// The file of a module, without its ending, below the directory of the generated code.
    fn file(self, module: &str) -> String {
        match self {
            Space::Config => snake(module),
            Space::State => format!("state/{}", snake(module)),
            Space::Operations => format!("operations/{}", snake(module)),
        }
    }
}

/// What an item was generated for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// A container or list.
    Struct(Space, NodeId),
    /// A leaf that defines its own type.
    Leaf(NodeId),
    /// A typedef.
    Typedef(ModuleId, String),
}

/// The items that were generated so far.
pub(crate) struct Names<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) space: Space,
    taken: BTreeMap<(String, String), Source>,
    known: BTreeMap<Source, (String, String)>,
    items: BTreeMap<String, Vec<String>>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(schema: &'a Schema) -> Self {
        Self {
            schema,
            space: Space::Config,
            taken: BTreeMap::new(),
            known: BTreeMap::new(),
            items: BTreeMap::new(),
        }
    }

    /// The path of the item of `source`, if it was generated, as seen from the generated modules.
    pub(crate) fn path(&self, source: &Source) -> Option<String> {
        let (file, name) = self.known.get(source)?;
        Some(format!("crate::generated::{}::{name}", file.replace('/', "::")))
    }

    /// Gives `source` the first of the names that its module has not given yet.
    pub(crate) fn claim(
        &mut self,
        source: Source,
        module: &str,
        names: impl Iterator<Item = String>,
    ) -> String {
        for name in names {
            let place = (self.space.file(module), name.clone());
            if !self.taken.contains_key(&place) {
                self.taken.insert(place.clone(), source.clone());
                self.known.insert(source, place);
                return name;
            }
        }
        String::new()
    }

    /// Keeps the text of an item.
    pub(crate) fn add(&mut self, module: &str, item: String) {
        self.items.entry(self.space.file(module)).or_default().push(item);
    }

    /// The modules of the current tree that have items, as identifiers.
    pub(crate) fn modules(&self) -> Vec<String> {
        let of_space =
            |file: &&String| **file == self.space.file(file.rsplit('/').next().unwrap_or_default());
        let files = self.items.keys().filter(of_space);
        files.map(|file| file.rsplit('/').next().unwrap_or_default().to_owned()).collect()
    }

    /// All items by file, without its ending.
    pub(crate) fn into_items(self) -> BTreeMap<String, Vec<String>> {
        self.items
    }

    /// Names for the item of a node: its own, then with those of its parents in front.
    pub(crate) fn of_node(&self, node: NodeId) -> Vec<String> {
        let mut names = Vec::new();
        let mut at = Some(node);
        let mut name = String::new();
        // Every operation has an input and an output.
        if let (NodeKind::Input | NodeKind::Output, Some(operation)) =
            (&self.schema.node(node).kind, self.schema.node(node).parent)
        {
            name = camel(&self.schema.node(node).name);
            at = Some(operation);
        }
        while let Some(id) = at {
            let node = self.schema.node(id);
            name = format!("{}{name}", camel(&node.name));
            names.push(name.clone());
            at = self.schema.data_parent(id);
        }
        names
    }
}

/// `service-metric` becomes `ServiceMetric`.
pub(crate) fn camel(name: &str) -> String {
    let words = name.split(['-', '_', '.']);
    words
        .map(|word| {
            let mut chars = word.chars();
            chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
        })
        .collect()
}

/// `service-metric` becomes `service_metric`, and `type` becomes `r#type`.
pub(crate) fn snake(name: &str) -> String {
    const RESERVED: &[&str] = &[
        "as", "async", "await", "box", "break", "const", "continue", "do", "dyn", "else", "enum", "extern",
        "false", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub",
        "ref", "return", "static", "struct", "trait", "true", "try", "type", "unsafe", "use", "where",
        "while", "yield",
    ];
    let snake = name.replace(['-', '.'], "_").to_lowercase();
    if RESERVED.contains(&snake.as_str()) { format!("r#{snake}") } else { snake }
}

/// A description as a doc comment.
pub(crate) fn doc(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let full = lines.last().is_some_and(|line| !line.is_empty() && line.len() + word.len() > 100);
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&escaped(word));
        }
    }
    lines.iter().map(|line| format!("{indent}/// {line}\n")).collect()
}

/// Rustdoc would read brackets as links and angle brackets as tags.
fn escaped(word: &str) -> String {
    word.replace('<', "\\<").replace('[', "\\[").replace('*', "\\*")
}
