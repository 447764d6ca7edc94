//! Subtree filters (RFC 6241 section 6), compiled against the schema once and then evaluated.
//!
//! The result is a tree: what a filter selects as a whole is the same Arc as in the source, unless defaults or a depth
//! make it another. List entries keep their key leafs, as section 6.2.5 allows, so that they can be told apart.

use super::extent::Extent;
use super::trail::Trail;
use crate::error::Error;
use crate::path::{InstancePath, Key, Step};
use crate::schema::{NodeId, NodeKind, Schema};
use crate::tree::{Branch, Child, Data, Entries, Tree};
use crate::value::{Names, Token, Value};
use crate::xml;
use roxmltree::Node;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one filter element asks of the node that it names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Term {
    /// Content match nodes (section 6.2.5): each by the leafs that it may name, with the value that each must have.
    matches: Vec<Vec<(NodeId, Value)>>,
    /// Selection and containment nodes, by the node that they name.
    picks: Vec<(NodeId, Term)>,
    /// A selection or containment node stands here, even if the schema does not know it.
    narrows: bool,
}

impl Term {
    /// The term of the `<filter>` element itself.
    pub(crate) fn parse(schema: &Schema, filter: Node<'_, '_>) -> Self {
        let mut term = Self::inside(schema, None, filter);
        // Section 6.4.2: an empty filter selects nothing.
        term.narrows = true;
        term
    }

    fn inside(schema: &Schema, parent: Option<NodeId>, element: Node<'_, '_>) -> Self {
        let mut term = Term::default();
        for child in element.children().filter(Node::is_element) {
            let named = named(schema, parent, child);
            match content(child) {
                Some(text) => {
                    let value = |id: NodeId| Some((id, value(schema, id, child, &text)?));
                    term.matches.push(named.into_iter().filter_map(value).collect());
                }
                None => {
                    term.narrows = true;
                    let inner = |id| (id, Self::inside(schema, Some(id), child));
                    term.picks.extend(named.into_iter().map(inner));
                }
            }
        }
        term
    }

    /// A selection node (section 6.2.4): everything below.
    fn is_whole(&self) -> bool {
        self.matches.is_empty() && !self.narrows
    }

    fn places(
        &self,
        schema: &Schema,
        wanted: &dyn Fn(NodeId) -> bool,
        above: &InstancePath,
        out: &mut Vec<InstancePath>,
    ) {
        for (id, term) in self.picks.iter().filter(|(id, _)| wanted(*id)) {
            let mut place = above.clone();
            place.steps.push(Step { node: *id, key: None });
            let matched = |node: &NodeId| wanted(*node) && !schema.is_key(*node);
            match &schema.node(*id).kind {
                // A match on what is to be fetched itself needs the container as a whole.
                NodeKind::Container { .. }
                    if term.narrows && !term.matches.iter().flatten().any(|(leaf, _)| matched(leaf)) =>
                {
                    term.places(schema, wanted, &place, out);
                }
                NodeKind::List { .. } => {
                    if let Some(step) = place.steps.last_mut() {
                        step.key = term.key(schema, *id);
                    }
                    out.push(place);
                }
                _ => out.push(place),
            }
        }
    }

    /// The key of the only entry that can match, if all keys of `list` are matched by content.
    fn key(&self, schema: &Schema, list: NodeId) -> Option<Key> {
        let keys = schema.list_keys(list);
        // An element without a namespace may name a leaf beside the key, which then decides too.
        let value = |id: &NodeId| {
            self.matches.iter().find_map(|either| match either.as_slice() {
                [(leaf, value)] if leaf == id => Some(value.clone()),
                _ => None,
            })
        };
        let values: Vec<Value> = keys.iter().map_while(value).collect();
        (!keys.is_empty() && values.len() == keys.len()).then(|| Key::new(values))
    }
}

/// The schema nodes that a filter element names: one, or without a namespace those of any module
/// (section 6.2.1). Data have no attributes, so an attribute matches nothing (section 6.2.2).
fn named(schema: &Schema, parent: Option<NodeId>, element: Node<'_, '_>) -> Vec<NodeId> {
    let tag = element.tag_name();
    if element.attributes().len() > 0 {
        return Vec::new();
    }
    match tag.namespace() {
        None | Some("") => schema.children_named(parent, tag.name()).collect(),
        Some(namespace) => {
            let module = schema.module_by_namespace(namespace);
            module.and_then(|module| schema.child(parent, module, tag.name())).into_iter().collect()
        }
    }
}

/// The text of a content match node: white space around it does not count. None for other filter elements.
fn content(element: Node<'_, '_>) -> Option<String> {
    if element.children().any(|child| child.is_element()) {
        return None;
    }
    // Comments and processing instructions split the text.
    let text: String = element.children().filter(Node::is_text).filter_map(|part| part.text()).collect();
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    (!text.is_empty()).then(|| text.to_owned())
}

fn value(schema: &Schema, leaf: NodeId, element: Node<'_, '_>, text: &str) -> Option<Value> {
    let resolve = xml::resolver(schema, element);
    let names = Names { resolve: &resolve, inherit: false };
    Value::parse(schema, schema.leaf_type(leaf)?, names, Token::Text, text).ok()
}

/// A compiled subtree filter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subtree(pub(crate) Term);

impl Subtree {
    /// Of a `<filter>` or `<subtree-filter>` element as text. Unknown names and namespaces select nothing.
    ///
    /// # Errors
    /// When the text is no XML, or nests too deep.
    pub fn parse(schema: &Schema, text: &str) -> Result<Self, Error> {
        let document = xml::parse(text)?;
        Ok(Self(Term::parse(schema, document.root_element())))
    }

    /// May it select anything at or below the top-level node `node`?
    pub fn touches(&self, node: NodeId) -> bool {
        self.0.picks.iter().any(|(id, _)| *id == node)
    }

    /// The deepest places that hold all that it may select: containers, lists, or entries that are named by all their
    /// keys; only those below nodes that `wanted` says yes to.
    pub fn places(&self, schema: &Schema, wanted: &dyn Fn(NodeId) -> bool) -> Vec<InstancePath> {
        let mut out = Vec::new();
        self.0.places(schema, wanted, &InstancePath::default(), &mut out);
        out
    }

    pub(super) fn select(&self, tree: &Tree, extent: Extent<'_>) -> Tree {
        Selector::new(extent).select(tree, &self.0)
    }
}

struct Selector<'s> {
    extent: Extent<'s>,
    /// Branches looked into, which is what a selection costs.
    visited: Cell<usize>,
}

impl<'s> Selector<'s> {
    fn new(extent: Extent<'s>) -> Self {
        Self { extent, visited: Cell::new(0) }
    }

    fn select(&self, tree: &Tree, filter: &Term) -> Tree {
        Tree::from_root(self.branch(None, &tree.root, &[filter], &Trail::default()).unwrap_or_default())
    }

    /// The part of `branch` that any of `terms` selects; none for nothing.
    fn branch(
        &self,
        parent: Option<NodeId>,
        branch: &Arc<Branch>,
        terms: &[&Term],
        trail: &Trail<'_>,
    ) -> Option<Arc<Branch>> {
        self.visited.set(self.visited.get() + 1);
        let seen = self.extent.level(parent, branch, trail);
        let mut out = Branch::default();
        let mut picks: BTreeMap<NodeId, Vec<&Term>> = BTreeMap::new();
        let mut listed: BTreeMap<NodeId, Vec<&Value>> = BTreeMap::new();
        for term in terms {
            let Some(matched) = matched(&seen, term) else { continue };
            if !term.narrows {
                return Some(self.whole(parent, branch, (&seen, matched), trail));
            }
            for (child, value) in matched {
                match child.data {
                    Data::LeafList(_) => listed.entry(child.id).or_default().push(value),
                    _ => out.put(child.clone()),
                }
            }
            for (id, term) in &term.picks {
                picks.entry(*id).or_default().push(term);
            }
        }
        for (id, values) in listed {
            out.children.extend(seen.child(id).and_then(|child| only(child, &values)));
        }
        out.children.sort_by_key(|child| child.id);
        for (id, terms) in picks {
            let Some(child) = seen.child(id) else { continue };
            if let Some(data) = self.picked(child, &terms, trail) {
                out.put(Child { data, ..child.clone() });
            }
        }
        if out.is_empty() {
            return None;
        }
        for key in parent.map_or(&[][..], |list| self.extent.schema.list_keys(list)) {
            branch.child(*key).cloned().into_iter().for_each(|key| out.put(key));
        }
        Some(Arc::new(out))
    }

    /// A container or an entry that its content selected: it is of the first level itself.
    fn whole(
        &self,
        parent: Option<NodeId>,
        branch: &Arc<Branch>,
        (seen, matched): (&Branch, Vec<(&Child, &Value)>),
        trail: &Trail<'_>,
    ) -> Arc<Branch> {
        if let Some(below) = self.extent.below() {
            return below.branch(parent, branch, trail);
        }
        let mut out = Branch::default();
        let keys = parent.map_or(&[][..], |list| self.extent.schema.list_keys(list));
        let keys = keys.iter().filter_map(|key| seen.child(*key));
        matched.into_iter().map(|(child, _)| child).chain(keys).for_each(|child| out.put(child.clone()));
        Arc::new(out)
    }

    fn picked(&self, child: &Child, terms: &[&Term], trail: &Trail<'_>) -> Option<Data> {
        if terms.iter().any(|term| term.is_whole()) {
            return Some(self.extent.data(child, trail));
        }
        match &child.data {
            Data::Container(inner) => {
                let here = trail.inside(child.id, inner);
                self.branch(Some(child.id), inner, terms, &here).map(Data::Container)
            }
            Data::List(entries) => self.entries(child.id, entries, terms, trail),
            Data::Leaf(_) | Data::LeafList(_) | Data::Any(_) => None,
        }
    }

    fn entries(
        &self,
        list: NodeId,
        entries: &Arc<Entries<Arc<Branch>>>,
        terms: &[&Term],
        trail: &Trail<'_>,
    ) -> Option<Data> {
        let select = |entry: &Arc<Branch>, terms: &[&Term]| {
            self.branch(Some(list), entry, terms, &trail.inside(list, entry))
        };
        let keys: Option<Vec<Key>> = terms.iter().map(|term| term.key(self.extent.schema, list)).collect();
        let found = match keys {
            Some(keys) => {
                let mut wanted: BTreeMap<Key, Vec<&Term>> = BTreeMap::new();
                keys.into_iter().zip(terms).for_each(|(key, term)| wanted.entry(key).or_default().push(term));
                let found = wanted.into_iter().filter_map(|(key, terms)| {
                    let part = select(entries.get(&key)?, &terms)?;
                    Some((key, part))
                });
                in_order(entries, found.collect())
            }
            None => {
                let mut all = true;
                let mut out = Entries::new(entries.is_user_ordered());
                for (key, entry) in entries.iter() {
                    let part = select(entry, terms);
                    all &= part.as_ref().is_some_and(|part| Arc::ptr_eq(part, entry));
                    part.into_iter().for_each(|part| out.set(key.clone(), part));
                }
                if all {
                    return Some(Data::List(entries.clone()));
                }
                out
            }
        };
        (!found.is_empty()).then(|| Data::List(Arc::new(found)))
    }
}

/// The children that satisfy the content match nodes of `term`; none unless all are satisfied.
fn matched<'b, 't>(seen: &'b Branch, term: &'t Term) -> Option<Vec<(&'b Child, &'t Value)>> {
    let one = |(id, value): &'t (NodeId, Value)| {
        let child = seen.child(*id)?;
        let found = match &child.data {
            Data::Leaf(found) => found == value,
            Data::LeafList(entries) => has(entries, value),
            Data::Container(_) | Data::List(_) | Data::Any(_) => false,
        };
        found.then_some((child, value))
    };
    term.matches.iter().map(|either| either.iter().find_map(one)).collect()
}

fn has(entries: &Entries<Value>, value: &Value) -> bool {
    // By its key where values are keys, which is everywhere but in state.
    let by_key = entries.get(&Key::One(value.clone())) == Some(value);
    by_key
        || entries.iter().next().is_some_and(|(key, first)| *key != Key::One(first.clone()))
            && entries.iter().any(|(_, found)| found == value)
}

/// The entries of a leaf-list that have one of these values.
fn only(child: &Child, values: &[&Value]) -> Option<Child> {
    let Data::LeafList(entries) = &child.data else { return None };
    let mut out = Entries::new(entries.is_user_ordered());
    for (key, value) in entries.iter().filter(|(_, value)| values.contains(value)) {
        out.set(key.clone(), value.clone());
    }
    Some(Child { data: Data::LeafList(Arc::new(out)), ..child.clone() })
}

/// Parts of some entries of `source`, in the order of `source`; the others are not visited.
pub(super) fn in_order<V: Clone>(source: &Entries<V>, mut found: Vec<(Key, V)>) -> Entries<V> {
    if source.is_user_ordered() {
        found.sort_by_key(|(key, _)| source.position(key));
    }
    let mut out = Entries::new(source.is_user_ordered());
    found.into_iter().for_each(|(key, value)| out.set(key, value));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{SchemaBuilder, Ty};
    use crate::ops::{DefaultOperation, Ops};
    use crate::view::Defaults;

    fn many(count: usize) -> (Schema, Tree) {
        let schema = SchemaBuilder::new()
            .module("many", "urn:many", "m", |m| {
                m.container("top", |c| {
                    c.list("item", &["name"], |l| {
                        l.leaf("name", Ty::uint32());
                        l.leaf("size", Ty::uint32());
                    });
                    c.list("rule", &["id"], |l| {
                        l.leaf("id", Ty::uint32());
                    })
                    .user_ordered();
                });
            })
            .build()
            .unwrap();
        let entry =
            |n: usize| format!("<item><name>{n}</name><size>1</size></item><rule><id>{n}</id></rule>");
        let all: String = (0..count).map(entry).collect();
        let config = format!("<config><top xmlns=\"urn:many\">{all}</top></config>");
        let ops = Ops::from_xml_str(&schema, &config, DefaultOperation::Merge).unwrap();
        let tree = crate::edit(&Tree::new(), &schema, ops).unwrap();
        (schema, tree)
    }

    #[test]
    fn an_entry_that_is_named_by_its_keys_is_looked_up_and_others_are_not_visited() {
        let (schema, tree) = many(100_000);
        let visits = |filter: &str| {
            let text = format!("<filter><top xmlns=\"urn:many\">{filter}</top></filter>");
            let filter = Subtree::parse(&schema, &text).unwrap();
            let extent =
                Extent { schema: &schema, source: &tree, defaults: Defaults::ReportAll, depth: None };
            let selector = Selector::new(extent);
            let found = selector.select(&tree, &filter.0);
            (found.count_values(), selector.visited.get())
        };
        assert_eq!(visits("<item><name>70000</name></item>"), (2, 3));
        assert_eq!(visits("<item><name>5</name><size/></item><item><name>6</name><size/></item>"), (4, 4));
        assert_eq!(visits("<rule><id>5</id></rule><rule><id>99999</id></rule>"), (2, 4));
        assert_eq!(visits("<item><name>100000</name></item>"), (0, 2), "it is not there");
        assert_eq!(visits("<item><size>2</size></item>"), (0, 100_002), "what is no key is searched for");
    }
}
