//! Subtree filters on a tree that has everything, held against an evaluation to the letter of RFC 6241 section 6.

use crate::content::{below, tree, whole, whole_node};
use crate::infoset;
use crate::input::Input;
use crate::laws;
use crate::schema::{A, B, schema};
use cats_yang_tree::schema::NodeId;
use cats_yang_tree::value::{Names, Token, Value};
use cats_yang_tree::view::Subtree;
use cats_yang_tree::{Branch, Data, Defaults, InstancePath, view, xml};
use roxmltree::Node;
use std::collections::HashSet;
use std::num::NonZeroU16;

/// One byte for defaults (two bits) and depth (two more), then the content of a `<filter>`, with the prefixes a and b
/// declared. What is selected is what the RFC says, and the same filter selects all of it again.
pub fn filter(data: &[u8]) {
    let mut input = Input(data);
    let option = input.byte();
    let defaults = match option % 4 {
        0 => Defaults::Explicit,
        1 => Defaults::ReportAll,
        2 => Defaults::ReportAllTagged,
        _ => Defaults::Trim,
    };
    let Ok(content) = std::str::from_utf8(input.0) else { return };
    let text = format!("<filter xmlns:a=\"{A}\" xmlns:b=\"{B}\">{content}</filter>");
    let Ok(document) = xml::parse(&text) else { return };
    let compiled = Subtree::parse(schema(), &text).expect("it was parsed before");
    let all = view(tree(), schema(), defaults);
    let selected = all.filter(&compiled);

    let mut wanted = HashSet::new();
    if document.root_element().children().any(|child| child.is_element()) {
        let root = all.tree();
        letter(None, root.root(), document.root_element(), &InstancePath::default(), &mut wanted);
    }
    let mut found = HashSet::new();
    whole(selected.tree().root(), &InstancePath::default(), &mut found);
    assert_eq!(found, wanted, "{text}");
    assert_eq!(selected.filter(&compiled).tree(), selected.tree(), "it selects less of what it selected");
    if defaults == Defaults::Explicit {
        laws::tree(&selected.tree());
    }
    written(&selected.to_xml());
    let depth = NonZeroU16::new(u16::from(option >> 2) % 4);
    written(&all.depth(depth).filter(&compiled).to_xml());
}

fn written(xml: &str) {
    drop(infoset::read(&format!("<data>{xml}</data>")));
}

/// The paths of what `element` selects of `branch`: leafs, entries and containers.
fn letter(
    parent: Option<NodeId>,
    branch: &Branch,
    element: Node<'_, '_>,
    at: &InstancePath,
    out: &mut HashSet<InstancePath>,
) {
    let elements: Vec<_> = element.children().filter(Node::is_element).collect();
    let (matches, rest): (Vec<_>, Vec<_>) = elements.into_iter().partition(|one| content(*one).is_some());
    let mut mine = HashSet::new();
    for one in &matches {
        let satisfied = named(parent, *one).into_iter().find_map(|node| matching(branch, node, *one, at));
        match satisfied {
            Some(path) => drop(mine.insert(path)),
            None => return,
        }
    }
    if rest.is_empty() && element.parent().is_some_and(|above| above.is_element()) {
        return whole(branch, at, out);
    }
    for one in rest {
        for node in named(parent, one) {
            let selects_all = !one.children().any(|child| child.is_element());
            match branch.get(node) {
                Some(data) if selects_all => whole_node(node, data, at, &mut mine),
                Some(Data::Container(inner)) => {
                    let here = below(at, node, None);
                    let before = mine.len();
                    letter(Some(node), inner, one, &here, &mut mine);
                    if mine.len() > before {
                        mine.insert(here);
                    }
                }
                Some(Data::List(entries)) => {
                    for (key, entry) in entries.iter() {
                        letter(Some(node), entry, one, &below(at, node, Some(key.clone())), &mut mine);
                    }
                }
                Some(Data::Leaf(_) | Data::LeafList(_) | Data::Any(_)) | None => {}
            }
        }
    }
    if let Some(list) = parent.filter(|_| !mine.is_empty()) {
        mine.insert(at.clone());
        for key in schema().list_keys(list) {
            mine.insert(below(at, *key, None));
        }
    }
    out.extend(mine);
}

/// The path of the leaf, or of the entry of a leaf-list, that has the value of a content match node.
fn matching(branch: &Branch, node: NodeId, element: Node<'_, '_>, at: &InstancePath) -> Option<InstancePath> {
    let resolve = |prefix: Option<&str>| schema().module_by_namespace(element.lookup_namespace_uri(prefix)?);
    let names = Names { resolve: &resolve, inherit: false };
    let ty = schema().leaf_type(node)?;
    let value = Value::parse(schema(), ty, names, Token::Text, &content(element)?).ok()?;
    match branch.get(node)? {
        Data::Leaf(found) => (*found == value).then(|| below(at, node, None)),
        Data::LeafList(entries) => {
            let (key, _) = entries.iter().find(|(_, found)| **found == value)?;
            Some(below(at, node, Some(key.clone())))
        }
        Data::Container(_) | Data::List(_) | Data::Any(_) => None,
    }
}

fn named(parent: Option<NodeId>, element: Node<'_, '_>) -> Vec<NodeId> {
    if element.attributes().len() > 0 {
        return Vec::new();
    }
    let namespace = element.tag_name().namespace().unwrap_or_default();
    let all = schema().data_children_of(parent).iter().copied();
    all.filter(|id| {
        let module = schema().module(schema().node(*id).module);
        schema().node(*id).name == element.tag_name().name()
            && (namespace.is_empty() || namespace == module.namespace)
    })
    .collect()
}

/// The text of a content match node.
fn content(element: Node<'_, '_>) -> Option<String> {
    if element.children().any(|child| child.is_element()) {
        return None;
    }
    let text: String = element.children().filter(Node::is_text).filter_map(|part| part.text()).collect();
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    (!text.is_empty()).then(|| text.to_owned())
}
