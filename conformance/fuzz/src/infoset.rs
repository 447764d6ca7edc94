//! XML documents compared by what they say: names, namespaces, attributes and text, whatever the prefixes.

use roxmltree::{Document, Node};

/// A document of ours, which must be well-formed.
pub(crate) fn read(text: &str) -> Document<'_> {
    match Document::parse(text) {
        Ok(document) => document,
        Err(error) => panic!("we wrote what is not XML: {error}: {text}"),
    }
}

/// The text of a document that is one element with text.
pub(crate) fn text(document: &str) -> String {
    read(document).root_element().text().unwrap_or_default().to_owned()
}

/// Do both elements say the same?
pub(crate) fn same(a: Node<'_, '_>, b: Node<'_, '_>) -> bool {
    name(a) == name(b) && attributes(a) == attributes(b) && contents(a, b)
}

/// The prefixes in force at `original` mean the same at `copy`, so names inside of values do too.
pub(crate) fn same_bindings(original: Node<'_, '_>, copy: Node<'_, '_>) -> bool {
    original
        .namespaces()
        .all(|namespace| copy.lookup_namespace_uri(namespace.name()).unwrap_or_default() == namespace.uri())
}

/// The attributes by namespace, name and value, in that order.
pub(crate) fn attributes<'a>(element: Node<'a, '_>) -> Vec<(&'a str, &'a str, &'a str)> {
    let all = element.attributes();
    let mut found: Vec<_> =
        all.map(|one| (one.namespace().unwrap_or_default(), one.name(), one.value())).collect();
    found.sort_unstable();
    found
}

/// How deep elements nest.
pub(crate) fn depth(element: Node<'_, '_>) -> usize {
    element.descendants().filter(Node::is_element).map(|node| node.ancestors().count() - 1).max().unwrap_or(0)
}

fn name<'a>(element: Node<'a, '_>) -> (&'a str, &'a str) {
    (element.tag_name().namespace().unwrap_or_default(), element.tag_name().name())
}

/// Elements in order and the text between them, which comments and instructions do not split.
fn contents(a: Node<'_, '_>, b: Node<'_, '_>) -> bool {
    let (a, b) = (parts(a), parts(b));
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.0 == b.0 && same_element(a.1, b.1))
}

fn same_element(a: Option<Node<'_, '_>>, b: Option<Node<'_, '_>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// The text before each child element with that element, and the text behind the last one.
fn parts<'a, 'i>(element: Node<'a, 'i>) -> Vec<(String, Option<Node<'a, 'i>>)> {
    let mut found = vec![(String::new(), None)];
    for child in element.children() {
        if let Some(last) = found.last_mut() {
            if child.is_text() {
                last.0.push_str(child.text().unwrap_or_default());
            } else if child.is_element() {
                last.1 = Some(child);
                found.push((String::new(), None));
            }
        }
    }
    found
}
