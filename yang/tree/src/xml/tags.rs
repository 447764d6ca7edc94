//! What a writer says of nodes and modules time and again, ready to be copied.

use super::escape_attribute;
use crate::schema::{ModuleId, NodeId, Schema};

/// Made once for a schema.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tags {
    /// Of each node `<name</name>`, one after the other.
    names: String,
    /// Where those of a node end.
    ends: Vec<u32>,
    namespaces: Vec<Namespace>,
}

/// How a module's namespace is declared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Namespace {
    /// ` xmlns="…"`.
    pub(crate) default: String,
    /// ` xmlns:prefix="…"`.
    pub(crate) prefixed: String,
}

impl Tags {
    /// Of a schema whose modules have their prefixes.
    pub(crate) fn of(schema: &Schema) -> Self {
        let mut tags = Self::default();
        for node in &schema.nodes {
            for part in ["<", &node.name, "</", &node.name, ">"] {
                tags.names.push_str(part);
            }
            tags.ends.push(u32::try_from(tags.names.len()).unwrap_or(u32::MAX));
        }
        let modules = (0..).map(ModuleId).zip(&schema.modules);
        tags.namespaces =
            modules.map(|(id, module)| Namespace::of(schema.prefix(id), &module.namespace)).collect();
        tags
    }

    /// `<name`, which attributes or a bracket follow, and `</name>`.
    pub(crate) fn name(&self, id: NodeId) -> (&str, &str) {
        let at = id.0 as usize;
        let end = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        let both = self.names.get(at.checked_sub(1).map_or(0, end)..end(at)).unwrap_or_default();
        both.split_at_checked((both.len() / 2).saturating_sub(1)).unwrap_or_default()
    }

    pub(crate) fn namespace(&self, id: ModuleId) -> Option<&Namespace> {
        self.namespaces.get(usize::from(id.0))
    }
}

impl Namespace {
    fn of(prefix: &str, uri: &str) -> Self {
        let mut escaped = String::new();
        escape_attribute(&mut escaped, uri);
        Self { default: format!(" xmlns=\"{escaped}\""), prefixed: format!(" xmlns:{prefix}=\"{escaped}\"") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{SchemaBuilder, Ty};

    #[test]
    fn each_node_has_its_tags_and_each_module_its_declarations() {
        let schema = SchemaBuilder::new()
            .module("one", "urn:one?a&b", "o", |m| {
                m.container("c", |c| {
                    c.leaf("a-long-name", Ty::uint32());
                    c.leaf("ä", Ty::uint32());
                });
            })
            .build()
            .unwrap();
        let tags = Tags::of(&schema);
        for node in &schema.nodes {
            let (start, end) = (format!("<{}", node.name), format!("</{}>", node.name));
            assert_eq!(tags.name(node.id), (start.as_str(), end.as_str()));
        }
        assert_eq!(tags.name(NodeId(u32::MAX)), ("", ""));
        let namespace = tags.namespace(schema.module_by_name("one").unwrap()).unwrap();
        assert_eq!(namespace.default, " xmlns=\"urn:one?a&amp;b\"");
        assert_eq!(namespace.prefixed, " xmlns:o=\"urn:one?a&amp;b\"");
    }
}
