//! Subtree filters (RFC 6241 section 6), compiled against the schema once and then evaluated.
//!
//! The result is a tree: what a filter selects as a whole is the same Arc as in the source, unless defaults or a depth
//! make it another. List entries keep their key leafs, as section 6.2.5 allows, so that they can be told apart.

use super::extent::Extent;
use super::term::{Group, Term};
use super::trail::Trail;
use crate::error::Error;
use crate::path::{InstancePath, Key, Place};
use crate::schema::{NodeId, Schema};
use crate::tree::{Branch, Child, Data, Entries, Tree};
use crate::value::Value;
use crate::xml;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A compiled subtree filter. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subtree(Arc<Term>);

impl Subtree {
    /// Of a `<filter>` or `<subtree-filter>` element as text. Unknown names and namespaces select nothing.
    ///
    /// # Errors
    /// When the text is no XML, nests too deep, or asks for too much at once.
    pub fn parse(schema: &Schema, text: &str) -> Result<Self, Error> {
        let document = xml::parse(text)?;
        Ok(Self(Arc::new(Term::parse(schema, document.root_element())?)))
    }

    /// May it select anything at or below the top-level node `node`?
    pub fn touches(&self, node: NodeId) -> bool {
        self.0.picks.contains_key(&node)
    }

    /// The deepest places that hold all that it may select: containers, lists with the keys that are named, or entries
    /// that are named by all their keys; only those below nodes that `wanted` says yes to.
    pub fn places(&self, schema: &Schema, wanted: &dyn Fn(NodeId) -> bool) -> Vec<Place> {
        let mut out = Vec::new();
        self.0.places(schema, wanted, &InstancePath::default(), &mut out);
        out
    }

    pub(super) fn select(&self, tree: &Tree, extent: Extent<'_>) -> Tree {
        Selector::new(extent, usize::MAX).select(tree, &self.0)
    }

    /// The same, if that takes fewer than `steps`.
    pub(super) fn select_within(&self, tree: &Tree, extent: Extent<'_>, steps: usize) -> Option<Tree> {
        let selector = Selector::new(extent, steps);
        let selected = selector.select(tree, &self.0);
        (!selector.is_spent()).then_some(selected)
    }
}

struct Selector<'s> {
    extent: Extent<'s>,
    /// Branches looked into, which is what a selection costs.
    visited: Cell<usize>,
    /// Terms that they were held against.
    tried: Cell<usize>,
    /// When both come to so many the rest is left out, and what is selected is of no use.
    most: usize,
}

impl<'s> Selector<'s> {
    fn new(extent: Extent<'s>, most: usize) -> Self {
        Self { extent, visited: Cell::new(0), tried: Cell::new(0), most }
    }

    fn is_spent(&self) -> bool {
        self.visited.get() + self.tried.get() >= self.most
    }

    fn select(&self, tree: &Tree, filter: &Term) -> Tree {
        let selected = self.terms(None, &tree.root, &Trail::default(), |_| vec![filter]);
        Tree::from_root(selected.unwrap_or_default())
    }

    /// The part of `branch` that any term of `groups` selects; none for nothing.
    fn branch(
        &self,
        parent: Option<NodeId>,
        branch: &Arc<Branch>,
        groups: &[&Group],
        trail: &Trail<'_>,
    ) -> Option<Arc<Branch>> {
        self.terms(parent, branch, trail, |seen| {
            let mut all = Vec::new();
            groups.iter().for_each(|group| satisfied(seen, group, &mut all));
            all
        })
    }

    /// The part of `branch` that the terms select that it satisfies.
    fn terms<'t>(
        &self,
        parent: Option<NodeId>,
        branch: &Arc<Branch>,
        trail: &Trail<'_>,
        satisfied: impl FnOnce(&Branch) -> Vec<&'t Term>,
    ) -> Option<Arc<Branch>> {
        if self.is_spent() {
            return None;
        }
        self.visited.set(self.visited.get() + 1);
        let seen = self.extent.level(parent, branch, trail);
        let mut out = Branch::default();
        let mut picks: BTreeMap<NodeId, Vec<&Group>> = BTreeMap::new();
        let mut listed: BTreeMap<NodeId, BTreeSet<&Value>> = BTreeMap::new();
        for term in satisfied(&seen) {
            self.tried.set(self.tried.get() + 1);
            let Some(matched) = matched(&seen, term) else { continue };
            if !term.narrows {
                return Some(self.whole(parent, branch, (&seen, matched), trail));
            }
            for (child, value) in matched {
                match child.data {
                    Data::LeafList(_) => drop(listed.entry(child.id).or_default().insert(value)),
                    _ => out.put(child.clone()),
                }
            }
            for (id, group) in &term.picks {
                picks.entry(*id).or_default().push(group);
            }
        }
        for (id, values) in listed {
            out.children.extend(seen.child(id).and_then(|child| only(child, &values)));
        }
        out.children.sort_by_key(|child| child.id);
        for (id, groups) in picks {
            let Some(child) = seen.child(id) else { continue };
            if let Some(data) = self.picked(child, &groups, trail) {
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

    fn picked(&self, child: &Child, groups: &[&Group], trail: &Trail<'_>) -> Option<Data> {
        if groups.iter().any(|group| group.whole) {
            return Some(self.extent.data(child, trail));
        }
        match &child.data {
            Data::Container(inner) => {
                let here = trail.inside(child.id, inner);
                self.branch(Some(child.id), inner, groups, &here).map(Data::Container)
            }
            Data::List(entries) => self.entries(child.id, entries, groups, trail),
            Data::Leaf(_) | Data::LeafList(_) | Data::Any(_) => None,
        }
    }

    fn entries(
        &self,
        list: NodeId,
        entries: &Arc<Entries<Arc<Branch>>>,
        groups: &[&Group],
        trail: &Trail<'_>,
    ) -> Option<Data> {
        let select = |entry: &Arc<Branch>| self.branch(Some(list), entry, groups, &trail.inside(list, entry));
        let terms = groups.iter().flat_map(|group| group.terms());
        let keys: Option<BTreeSet<Key>> = terms.map(|term| term.key(self.extent.schema, list)).collect();
        let found = match keys {
            Some(keys) => {
                let found = keys.into_iter().filter_map(|key| {
                    let part = select(entries.get(&key)?)?;
                    Some((key, part))
                });
                in_order(entries, found.collect())
            }
            None => {
                let mut all = true;
                let mut out = Entries::new(entries.is_user_ordered());
                for (key, entry) in entries.iter().take_while(|_| !self.is_spent()) {
                    let part = select(entry);
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

/// Adds the terms of `group` that may be satisfied by `seen`: those that are by its leafs, and the odd ones.
fn satisfied<'t>(seen: &Branch, group: &'t Group, out: &mut Vec<&'t Term>) {
    for (leafs, terms) in &group.shapes {
        let found: Option<Vec<&Data>> = leafs.iter().map(|id| Some(&seen.child(*id)?.data)).collect();
        let Some(found) = found else { continue };
        let list = found.iter().find_map(|data| match data {
            Data::LeafList(entries) => Some(entries),
            Data::Leaf(_) | Data::Container(_) | Data::List(_) | Data::Any(_) => None,
        });
        // The values of its leafs, with `one` in the place of the leaf-list.
        let with = |one: Option<&Value>| -> Option<Vec<Value>> {
            let value = |data: &&Data| match data {
                Data::Leaf(value) => Some(value.clone()),
                Data::LeafList(_) => one.cloned(),
                Data::Container(_) | Data::List(_) | Data::Any(_) => None,
            };
            found.iter().map(value).collect()
        };
        let mut look_up = |one| out.extend(with(one).and_then(|values| terms.get(&values)));
        match list {
            Some(entries) => entries.iter().for_each(|(_, value)| look_up(Some(value))),
            None => look_up(None),
        }
    }
    out.extend(&group.odd);
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
fn only(child: &Child, values: &BTreeSet<&Value>) -> Option<Child> {
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
            let selector = Selector::new(extent, usize::MAX);
            let found = selector.select(&tree, &filter.0);
            (found.count_values(), selector.visited.get())
        };
        assert_eq!(visits("<item><name>70000</name></item>"), (2, 3));
        assert_eq!(visits("<item><name>5</name><size/></item><item><name>6</name><size/></item>"), (4, 4));
        assert_eq!(visits("<rule><id>5</id></rule><rule><id>99999</id></rule>"), (2, 4));
        assert_eq!(visits("<item><name>100000</name></item>"), (0, 2), "it is not there");
        assert_eq!(visits("<item><size>2</size></item>"), (0, 100_002), "what is no key is searched for");
    }

    /// Of a filter with one element for each of many values, an entry is held against those that it satisfies.
    #[test]
    fn what_a_filter_costs_is_no_product_of_its_terms_and_the_entries() {
        let (schema, tree) = many(1000);
        let run = |filter: &str| {
            let text = format!("<filter><top xmlns=\"urn:many\">{filter}</top></filter>");
            let filter = Subtree::parse(&schema, &text).unwrap();
            let extent = Extent { schema: &schema, source: &tree, defaults: Defaults::Explicit, depth: None };
            let selector = Selector::new(extent, usize::MAX);
            let found = selector.select(&tree, &filter.0);
            (found.count_values(), selector.tried.get())
        };
        let each =
            |pattern: &str| (0..5000).map(|n| pattern.replace('#', &n.to_string())).collect::<String>();
        assert_eq!(run(&each("<item><size>#</size></item>")), (2000, 1002));
        assert_eq!(run(&each("<item><size>#</size><name/></item>")), (2000, 1002));
        assert_eq!(run(&each("<item><size>2</size><name/><x>#</x></item>")), (0, 2));
        assert_eq!(run(&each("<item><size/></item>")), (2000, 1002));
        assert_eq!(run(&each("<item><name>#</name><size/></item>")), (2000, 1002));
        assert_eq!(run(&each("<item><name>#</name></item><rule><id>#</id></rule>")), (3000, 2002));
        let both = each("<item><size>#</size></item><item><name/></item>");
        assert_eq!(run(&both), (2000, 2002), "with the entries as a whole and by parts");
    }

    #[test]
    fn terms_of_a_leaf_list_are_found_by_the_values_that_are_there() {
        let schema = SchemaBuilder::new()
            .module("tags", "urn:tags", "t", |m| {
                m.list("item", &["name"], |l| {
                    l.leaf("name", Ty::uint32());
                    l.leaf_list("tag", Ty::uint32());
                    l.leaf_list("mark", Ty::uint32());
                });
            })
            .build()
            .unwrap();
        let entry = |n: u32| {
            format!(
                "<item xmlns=\"urn:tags\"><name>{n}</name><tag>{n}</tag><tag>7</tag><mark>{n}</mark></item>"
            )
        };
        let all: String = (0..3).map(entry).collect();
        let ops = Ops::from_xml_str(&schema, &format!("<config>{all}</config>"), DefaultOperation::Merge);
        let tree = crate::edit(&Tree::new(), &schema, ops.unwrap()).unwrap();
        let names = |filter: &str| {
            let text = format!("<filter xmlns=\"urn:tags\">{filter}</filter>");
            let xml = crate::view(&tree, &schema, Defaults::Explicit)
                .filter(&Subtree::parse(&schema, &text).unwrap())
                .to_xml();
            xml.matches("<name>").count()
        };
        assert_eq!(names("<item><tag>1</tag></item><item><tag>2</tag></item>"), 2);
        assert_eq!(names("<item><tag>7</tag></item>"), 3);
        assert_eq!(names("<item><tag>7</tag><tag>1</tag></item>"), 1, "both must be there");
        assert_eq!(names("<item><tag>7</tag><mark>2</mark></item>"), 1);
        assert_eq!(names("<item><tag>7</tag><name>0</name></item><item><tag>9</tag></item>"), 1);
        assert_eq!(names("<item><name>1</name><name>2</name></item>"), 0, "it has one name");
    }

    #[test]
    fn a_filter_of_too_many_sets_of_leafs_is_too_big() {
        let leafs = 12_u32;
        let schema = SchemaBuilder::new()
            .module("wide", "urn:wide", "w", |m| {
                m.list("item", &["l0"], |l| {
                    for n in 0..leafs {
                        l.leaf(&format!("l{n}"), Ty::uint32());
                    }
                });
            })
            .build()
            .unwrap();
        let term = |set: u32| {
            let leaf = |n: u32| format!("<l{n}>1</l{n}>");
            let all: String = (0..leafs).filter(|n| set & (1 << n) != 0).map(leaf).collect();
            format!("<item>{all}</item>")
        };
        let parse = |sets: u32| {
            let all: String = (1..=sets).map(term).collect();
            Subtree::parse(&schema, &format!("<filter xmlns=\"urn:wide\">{all}</filter>"))
        };
        assert!(parse(1001).is_ok());
        let error = parse(1002).unwrap_err();
        assert_eq!(error.tag, crate::error::ErrorTag::TooBig);
        assert!(error.message.contains("1001"), "{error}");
    }

    #[test]
    fn a_selection_that_takes_longer_than_it_may_is_given_up() {
        let (schema, tree) = many(1_000);
        let extent = Extent { schema: &schema, source: &tree, defaults: Defaults::Explicit, depth: None };
        let filter = "<filter><top xmlns=\"urn:many\"><item><size>1</size></item></top></filter>";
        let filter = Subtree::parse(&schema, filter).unwrap();
        assert_eq!(filter.select_within(&tree, extent, 1_000), None);
        assert_eq!(filter.select_within(&tree, extent, 5_000), Some(filter.select(&tree, extent)));
    }
}
