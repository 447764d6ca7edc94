//! What a subtree filter asks for, by the nodes that it names.
//!
//! Terms of one node are kept by the leafs that their content match nodes name and then by the values, and terms that
//! match the same are one. So it takes a look-up to find those that an entry satisfies, however many there are.

use crate::error::{Error, ErrorTag};
use crate::path::{InstancePath, Key, Place, Step};
use crate::schema::{NodeId, NodeKind, Schema};
use crate::value::{Names, Token, Value};
use crate::xml;
use roxmltree::Node;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// In one filter there may be so many sets of leafs, each matched beside others of the same node: all of them are looked
/// at for each of its entries.
pub(crate) const MAX_SHAPES: usize = 1000;

/// What one filter element asks of the node that it names, or several that match the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Term {
    /// Content match nodes (section 6.2.5): each by the leafs that it may name, with the value that each must have.
    pub(super) matches: Vec<Vec<(NodeId, Value)>>,
    /// Selection and containment nodes, by the node that they name.
    pub(super) picks: BTreeMap<NodeId, Group>,
    /// A selection or containment node stands here, even if the schema does not know it.
    pub(super) narrows: bool,
}

/// The terms of one node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Group {
    /// A selection node (section 6.2.4): everything below.
    pub(super) whole: bool,
    /// By the leafs that are matched, in order, and the value of each. Of these one may be a leaf-list.
    pub(super) shapes: BTreeMap<Vec<NodeId>, BTreeMap<Vec<Value>, Term>>,
    /// Whose matches have more than one meaning.
    pub(super) odd: Vec<Term>,
}

impl Term {
    /// The term of the `<filter>` element itself.
    ///
    /// # Errors
    /// `too-big` for more than [`MAX_SHAPES`].
    pub(super) fn parse(schema: &Schema, filter: Node<'_, '_>) -> Result<Self, Error> {
        let mut term = Self::inside(schema, None, filter);
        // Section 6.4.2: an empty filter selects nothing.
        term.narrows = true;
        let shapes = term.shapes();
        if shapes > MAX_SHAPES {
            let what = format!(
                "the filter matches {shapes} different sets of leafs beside each other; at most {MAX_SHAPES} are \
                 accepted: ask in parts"
            );
            return Err(Error::protocol(ErrorTag::TooBig, what));
        }
        Ok(term)
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
                    for id in named {
                        let inner = Self::inside(schema, Some(id), child);
                        term.picks.entry(id).or_default().add(schema, inner);
                    }
                }
            }
        }
        term
    }

    /// As if the elements of both stood in one that matches what each of them does.
    fn join(&mut self, schema: &Schema, other: Term) {
        self.narrows &= other.narrows;
        for (id, group) in other.picks {
            self.picks.entry(id).or_default().join(schema, group);
        }
    }

    /// How many sets of leafs are matched beside others.
    fn shapes(&self) -> usize {
        let beside = |group: &Group| {
            let below: usize = group.terms().map(Term::shapes).sum();
            below + (group.shapes.len() + group.odd.len()).saturating_sub(1)
        };
        self.picks.values().map(beside).sum()
    }

    pub(super) fn places(
        &self,
        schema: &Schema,
        wanted: &dyn Fn(NodeId) -> bool,
        above: &InstancePath,
        out: &mut Vec<Place>,
    ) {
        for (id, group) in self.picks.iter().filter(|(id, _)| wanted(**id)) {
            let mut place = above.clone();
            place.steps.push(Step { node: *id, key: None });
            if group.whole {
                out.push(place.into());
                continue;
            }
            for term in group.terms() {
                term.places_at(schema, wanted, place.clone(), out);
            }
        }
    }

    /// As [`Term::places`], of a term of the node at `place`.
    fn places_at(
        &self,
        schema: &Schema,
        wanted: &dyn Fn(NodeId) -> bool,
        mut place: InstancePath,
        out: &mut Vec<Place>,
    ) {
        let Some(last) = place.steps.last_mut() else { return };
        let matched = |node: &NodeId| wanted(*node) && !schema.is_key(*node);
        match &schema.node(last.node).kind {
            // A match on what is to be fetched itself needs the container as a whole.
            NodeKind::Container { .. }
                if self.narrows && !self.matches.iter().flatten().any(|(leaf, _)| matched(leaf)) =>
            {
                self.places(schema, wanted, &place, out);
            }
            NodeKind::List { .. } => {
                last.key = self.key(schema, last.node);
                let keys = if last.key.is_none() { self.keys(schema, last.node) } else { Vec::new() };
                out.push(Place { path: place, keys });
            }
            _ => out.push(place.into()),
        }
    }

    /// The key of the only entry that can match, if all keys of `list` are matched by content.
    pub(super) fn key(&self, schema: &Schema, list: NodeId) -> Option<Key> {
        let (keys, known) = (schema.list_keys(list), self.keys(schema, list));
        let whole = !keys.is_empty() && known.len() == keys.len();
        whole.then(|| Key::new(known.into_iter().map(|(_, value)| value).collect()))
    }

    /// The keys of `list` that are matched by content, in their order.
    fn keys(&self, schema: &Schema, list: NodeId) -> Vec<(NodeId, Value)> {
        // An element without a namespace may name a leaf beside the key, which then decides too.
        let value = |id: &NodeId| {
            self.matches.iter().find_map(|either| match either.as_slice() {
                [(leaf, value)] if leaf == id => Some((*id, value.clone())),
                _ => None,
            })
        };
        schema.list_keys(list).iter().filter_map(value).collect()
    }
}

impl Group {
    /// The terms, of which each matches something else; what is selected as a whole has none.
    pub(super) fn terms(&self) -> impl Iterator<Item = &Term> {
        self.shapes.values().flat_map(BTreeMap::values).chain(&self.odd)
    }

    fn add(&mut self, schema: &Schema, term: Term) {
        if term.matches.is_empty() && !term.narrows {
            self.whole = true;
        }
        // What nothing can match selects nothing.
        if self.whole || term.matches.iter().any(Vec::is_empty) {
            return;
        }
        match shape(schema, &term.matches) {
            Some((leafs, values)) => match self.shapes.entry(leafs).or_default().entry(values) {
                Entry::Occupied(same) => same.into_mut().join(schema, term),
                Entry::Vacant(free) => {
                    free.insert(term);
                }
            },
            None => self.odd.push(term),
        }
    }

    fn join(&mut self, schema: &Schema, other: Group) {
        self.whole |= other.whole;
        let terms = other.shapes.into_values().flat_map(BTreeMap::into_values).chain(other.odd);
        terms.for_each(|term| self.add(schema, term));
    }
}

/// The leafs and values of matches that have one meaning; none for others.
fn shape(schema: &Schema, matches: &[Vec<(NodeId, Value)>]) -> Option<(Vec<NodeId>, Vec<Value>)> {
    let mut values = BTreeMap::new();
    for either in matches {
        let [(leaf, value)] = either.as_slice() else { return None };
        if values.insert(*leaf, value.clone()).is_some_and(|before| before != *value) {
            return None;
        }
    }
    let lists = values.keys().filter(|id| matches!(schema.node(**id).kind, NodeKind::LeafList { .. }));
    (lists.count() < 2).then(|| values.into_iter().unzip())
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
