//! Subtree filters (RFC 6241 section 6).
//!
//! The result is a tree: what a filter selects as a whole is the same Arc as in the source. List entries keep
//! their key leafs, as section 6.2.5 allows, so that they can be told apart.

use crate::path::Key;
use crate::schema::{NodeId, Schema};
use crate::tree::{Branch, Child, Data, Entries, Tree};
use crate::value::{Names, Token, Value};
use crate::xml;
use roxmltree::Node;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn select(schema: &Schema, tree: &Tree, filter: Node<'_, '_>) -> Tree {
    let root = match filter.children().any(|child| child.is_element()) {
        true => Filter { schema }.branch(None, &tree.root, filter),
        // Section 6.4.2: an empty filter selects nothing.
        false => None,
    };
    Tree { root: root.unwrap_or_default() }
}

struct Filter<'s> {
    schema: &'s Schema,
}

/// The elements inside one filter element, by what they ask for.
#[derive(Default)]
struct Terms<'a, 'i> {
    /// Content match nodes (section 6.2.5) and the text that they give.
    matches: Vec<(Node<'a, 'i>, &'a str)>,
    /// Selection and containment nodes, by the schema node that they name.
    picks: BTreeMap<NodeId, Vec<Node<'a, 'i>>>,
    /// A selection or containment node stands here, even if the schema does not know it.
    narrows: bool,
}

impl Filter<'_> {
    /// The part of `branch` that the children of `element` select; none for nothing.
    fn branch(
        &self,
        parent: Option<NodeId>,
        branch: &Arc<Branch>,
        element: Node<'_, '_>,
    ) -> Option<Arc<Branch>> {
        let terms = self.terms(parent, element);
        let mut out = Branch::default();
        for (leaf, text) in &terms.matches {
            let found = self.matching(parent, branch, *leaf, text)?;
            out.put(found);
        }
        if !terms.narrows {
            return Some(branch.clone());
        }
        for (id, picks) in &terms.picks {
            let Some(child) = branch.child(*id) else { continue };
            if let Some(data) = self.picked(child, picks) {
                out.put(Child { data, ..child.clone() });
            }
        }
        if out.is_empty() {
            return None;
        }
        for key in parent.map_or(&[][..], |list| self.schema.list_keys(list)) {
            out.children.retain(|child| child.id != *key);
            branch.child(*key).cloned().into_iter().for_each(|key| out.put(key));
        }
        Some(Arc::new(out))
    }

    fn terms<'a, 'i>(&self, parent: Option<NodeId>, element: Node<'a, 'i>) -> Terms<'a, 'i> {
        let mut terms = Terms::default();
        for child in element.children().filter(Node::is_element) {
            match content(child) {
                Some(text) => terms.matches.push((child, text)),
                None => {
                    terms.narrows = true;
                    for id in self.named(parent, child) {
                        terms.picks.entry(id).or_default().push(child);
                    }
                }
            }
        }
        terms
    }

    /// The schema nodes that a filter element names: one, or without a namespace those of any module
    /// (section 6.2.1). Data have no attributes, so an attribute matches nothing (section 6.2.2).
    fn named(&self, parent: Option<NodeId>, element: Node<'_, '_>) -> Vec<NodeId> {
        let tag = element.tag_name();
        if element.attributes().len() > 0 {
            return Vec::new();
        }
        match tag.namespace() {
            None | Some("") => self.schema.children_named(parent, tag.name()).collect(),
            Some(namespace) => {
                let module = self.schema.module_by_namespace(namespace);
                module.and_then(|module| self.schema.child(parent, module, tag.name())).into_iter().collect()
            }
        }
    }

    /// The leaf or the entry of a leaf-list that has the value that a content match node asks for.
    fn matching(
        &self,
        parent: Option<NodeId>,
        branch: &Branch,
        element: Node<'_, '_>,
        text: &str,
    ) -> Option<Child> {
        self.named(parent, element).into_iter().find_map(|id| {
            let value = self.value(id, element, text)?;
            let child = branch.child(id)?;
            match &child.data {
                Data::Leaf(found) => (*found == value).then(|| child.clone()),
                Data::LeafList(entries) => {
                    let mut only = Entries::new(entries.is_user_ordered());
                    let (key, found) = entries.iter().find(|(_, found)| **found == value)?;
                    only.set(key.clone(), found.clone());
                    Some(Child { data: Data::LeafList(Arc::new(only)), ..child.clone() })
                }
                Data::Container(_) | Data::List(_) | Data::Any(_) => None,
            }
        })
    }

    fn value(&self, leaf: NodeId, element: Node<'_, '_>, text: &str) -> Option<Value> {
        let resolve = xml::resolver(self.schema, element);
        let names = Names { resolve: &resolve, inherit: false };
        Value::parse(self.schema, self.schema.leaf_type(leaf)?, names, Token::Text, text).ok()
    }

    fn picked(&self, child: &Child, picks: &[Node<'_, '_>]) -> Option<Data> {
        if picks.iter().any(|pick| !pick.children().any(|inner| inner.is_element())) {
            return Some(child.data.clone());
        }
        match &child.data {
            Data::Container(inner) => {
                let parts = picks.iter().filter_map(|pick| self.branch(Some(child.id), inner, *pick));
                parts.reduce(|a, b| unite(inner, &a, &b)).map(Data::Container)
            }
            Data::List(entries) => {
                let mut found: BTreeMap<&Key, Arc<Branch>> = BTreeMap::new();
                for pick in picks {
                    self.entries(child.id, entries, *pick, &mut found);
                }
                let picked = rebuilt(entries, |key| found.remove(key));
                picked.map(Data::List)
            }
            Data::Leaf(_) | Data::LeafList(_) | Data::Any(_) => None,
        }
    }

    fn entries<'e>(
        &self,
        list: NodeId,
        entries: &'e Entries<Arc<Branch>>,
        pick: Node<'_, '_>,
        found: &mut BTreeMap<&'e Key, Arc<Branch>>,
    ) {
        let mut visit = |key: &'e Key, entry: &'e Arc<Branch>| {
            if let Some(part) = self.branch(Some(list), entry, pick) {
                let part = match found.get(key) {
                    Some(before) => unite(entry, before, &part),
                    None => part,
                };
                found.insert(key, part);
            }
        };
        match self.key(list, pick) {
            Some(key) => {
                if let Some((key, entry)) = entries.get_key_value(&key) {
                    visit(key, entry);
                }
            }
            None => entries.iter().for_each(|(key, entry)| visit(key, entry)),
        }
    }

    /// The key of the only entry that can match, if all keys are matched by content.
    fn key(&self, list: NodeId, pick: Node<'_, '_>) -> Option<Key> {
        let keys = self.schema.list_keys(list);
        let value = |id: &NodeId| {
            let mut terms =
                pick.children().filter(|child| child.is_element() && self.named(Some(list), *child) == [*id]);
            let term = terms.next()?;
            self.value(*id, term, content(term)?)
        };
        let values: Option<Vec<Value>> = keys.iter().map(value).collect();
        values.filter(|values| !values.is_empty()).map(Key::new)
    }
}

/// The text of a content match node: white space around it does not count. None for other filter elements.
fn content<'a>(element: Node<'a, '_>) -> Option<&'a str> {
    if element.children().any(|child| child.is_element()) {
        return None;
    }
    element.text().map(|text| text.trim_matches([' ', '\t', '\n', '\r'])).filter(|text| !text.is_empty())
}

/// The entries of `source` that `take` gives, in their order; none without any.
fn rebuilt<V: Clone>(
    source: &Entries<V>,
    mut take: impl FnMut(&Key) -> Option<V>,
) -> Option<Arc<Entries<V>>> {
    let mut out = Entries::new(source.is_user_ordered());
    for (key, _) in source.iter() {
        if let Some(value) = take(key) {
            out.set(key.clone(), value);
        }
    }
    (!out.is_empty()).then(|| Arc::new(out))
}

/// What either part of `source` has.
fn unite(source: &Arc<Branch>, a: &Arc<Branch>, b: &Arc<Branch>) -> Arc<Branch> {
    if Arc::ptr_eq(a, source) || Arc::ptr_eq(b, source) {
        return source.clone();
    }
    let mut out = (**a).clone();
    for child in &b.children {
        let whole = source.get(child.id);
        let data = match (whole, a.get(child.id), &child.data) {
            (Some(Data::Container(whole)), Some(Data::Container(a)), Data::Container(b)) => {
                Data::Container(unite(whole, a, b))
            }
            (Some(Data::List(whole)), Some(Data::List(a)), Data::List(b)) => {
                let entry = |key: &Key| match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => whole.get(key).map(|whole| unite(whole, a, b)),
                    (one, other) => one.or(other).cloned(),
                };
                rebuilt(whole, entry).map_or_else(|| child.data.clone(), Data::List)
            }
            (Some(Data::LeafList(whole)), Some(Data::LeafList(a)), Data::LeafList(b)) => {
                let entry = |key: &Key| a.get(key).or(b.get(key)).cloned();
                rebuilt(whole, entry).map_or_else(|| child.data.clone(), Data::LeafList)
            }
            _ => child.data.clone(),
        };
        out.put(Child { data, ..child.clone() });
    }
    Arc::new(out)
}
