//! XML: the guarded parser, names inside values, and the writer (RFC 7950 section 9, RFC 6241 section 3).

mod characters;
mod instructions;
mod names;
mod tags;
mod write;

pub(crate) use tags::Tags;
pub(crate) use write::Written;
pub use write::{PIECE, Pieces};

use crate::error::{Error, ErrorTag, ErrorType};
use crate::schema::{ModuleId, Schema};
use roxmltree::Node;
use std::fmt::Write as _;

/// The namespace of NETCONF's own elements and of `operation`.
pub const NETCONF: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
/// The namespace of `insert`, `key` and `value`.
pub const YANG: &str = "urn:ietf:params:xml:ns:yang:1";
/// The namespace of the attribute `default` (RFC 6243 section 6).
pub const WITH_DEFAULTS: &str = "urn:ietf:params:xml:ns:netconf:default:1.0";
/// The namespace of the annotation `origin` (RFC 8342 section 7).
pub const ORIGIN: &str = "urn:ietf:params:xml:ns:yang:ietf-origin";
/// Elements may nest this deep.
pub const MAX_DEPTH: usize = 256;

/// Why a text is not read as a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// It brings more names than a document may have.
    TooBig(String),
    /// It is not well-formed, or not as NETCONF wants it.
    Malformed(String),
}

/// Parses a document after a linear scan that refuses what nests deeper than [`MAX_DEPTH`], so that recursive
/// readers behind it cannot run out of stack, and as [`document`] does.
///
/// # Errors
/// `too-big` for depth and names, `malformed-message` (type rpc) for everything else.
pub fn parse(text: &str) -> Result<roxmltree::Document<'_>, Error> {
    let refused = |tag, what| Error::new(ErrorType::Rpc, tag, what);
    if let Some(offset) = too_deep(text) {
        let what = format!("elements nest deeper than {MAX_DEPTH} at byte {offset}");
        return Err(refused(ErrorTag::TooBig, what));
    }
    document(text).map_err(|unread| match unread {
        Unread::TooBig(what) => refused(ErrorTag::TooBig, what),
        Unread::Malformed(why) => refused(ErrorTag::MalformedMessage, format!("XML: {why}")),
    })
}

/// Parses a document whose depth was looked at before. Refuses what brings too many names, is not well-formed (XML 1.0
/// and Namespaces in XML 1.0), has a document type, holds a character that XML 1.0 does not allow, be it as a number, or
/// declares another encoding than UTF-8.
///
/// # Errors
/// Why it is refused.
pub fn document(text: &str) -> Result<roxmltree::Document<'_>, Unread> {
    names::look(text)?;
    if let Some(why) = characters::fault(text) {
        return Err(Unread::Malformed(why));
    }
    roxmltree::Document::parse(text).map_err(|error| Unread::Malformed(error.to_string()))
}

/// The byte at which a document exceeds [`MAX_DEPTH`]. Counts tags outside comments, CDATA and processing
/// instructions; what is not well-formed is left to the parser, which can only see a smaller depth in it.
fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find('<')) {
        let start = at + offset;
        let rest = text.get(start..).unwrap_or_default();
        let end = if rest.starts_with("<!--") {
            after(rest, "-->")
        } else if rest.starts_with("<![CDATA[") {
            after(rest, "]]>")
        } else if rest.starts_with("<?") {
            after(rest, "?>")
        } else {
            let end = tag_end(rest);
            if rest.starts_with("</") {
                depth = depth.saturating_sub(1);
            } else if !rest.starts_with("<!") && !rest.get(..end).is_some_and(|tag| tag.ends_with("/>")) {
                depth += 1;
            }
            end
        };
        if depth > MAX_DEPTH {
            return Some(start);
        }
        at = start + end;
    }
    None
}

fn after(rest: &str, token: &str) -> usize {
    rest.find(token).map_or(rest.len(), |at| at + token.len())
}

/// The length of the tag at the start of `rest`, a `>` in a quoted attribute value aside.
fn tag_end(rest: &str) -> usize {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    rest.len()
}

/// Resolves prefixes by the declarations in force at `element`.
pub(crate) fn resolver<'a>(
    schema: &'a Schema,
    element: Node<'a, 'a>,
) -> impl Fn(Option<&str>) -> Option<ModuleId> + 'a {
    move |prefix| schema.module_by_namespace(element.lookup_namespace_uri(prefix)?)
}

/// `text` as the content of an element, in the form of [`fragment`].
///
/// # Errors
/// It is not the content of an element.
pub(crate) fn content(text: &str) -> Result<String, Error> {
    parse(&format!("<content>{text}</content>")).map(|document| fragment(document.root_element()))
}

/// The content of an element as text that declares all its namespaces itself.
pub(crate) fn fragment(element: Node<'_, '_>) -> String {
    let mut out = String::new();
    for child in element.children() {
        write_fragment(&mut out, child, None);
    }
    out
}

fn write_fragment(out: &mut String, node: Node<'_, '_>, outer: Option<Node<'_, '_>>) {
    if node.is_text() {
        escape(out, node.text().unwrap_or_default());
    }
    if !node.is_element() {
        return;
    }
    let name = qualified(node, node.tag_name().namespace(), node.tag_name().name(), true);
    out.push('<');
    out.push_str(&name);
    // Most elements declare nothing, and then have the namespaces of the one around them.
    let inherits = outer.is_some_and(|outer| {
        let pairs = node.namespaces().zip(outer.namespaces());
        node.namespaces().len() == outer.namespaces().len()
            && pairs.into_iter().all(|(a, b)| std::ptr::eq(a, b))
    });
    for namespace in node.namespaces().filter(|_| !inherits) {
        let known = outer.and_then(|outer| outer.lookup_namespace_uri(namespace.name()));
        if known != Some(namespace.uri()) && namespace.name() != Some("xml") {
            let _ = match namespace.name() {
                Some(prefix) => write!(out, " xmlns:{prefix}=\""),
                None => write!(out, " xmlns=\""),
            };
            escape_attribute(out, namespace.uri());
            out.push('"');
        }
    }
    // A name without a prefix that has no namespace gets none where the fragment is put.
    if outer.is_none() && node.lookup_namespace_uri(None).is_none() {
        out.push_str(" xmlns=\"\"");
    }
    for attribute in node.attributes() {
        out.push(' ');
        out.push_str(&qualified(node, attribute.namespace(), attribute.name(), false));
        out.push_str("=\"");
        escape_attribute(out, attribute.value());
        out.push('"');
    }
    if !node.has_children() {
        out.push_str("/>");
        return;
    }
    out.push('>');
    for child in node.children() {
        write_fragment(out, child, Some(node));
    }
    let _ = write!(out, "</{name}>");
}

fn qualified(node: Node<'_, '_>, namespace: Option<&str>, name: &str, element: bool) -> String {
    let Some(namespace) = namespace else { return name.to_owned() };
    if element && node.lookup_namespace_uri(None) == Some(namespace) {
        return name.to_owned();
    }
    let prefix = node.namespaces().find(|known| known.uri() == namespace && known.name().is_some());
    match prefix.and_then(|known| known.name()) {
        Some(prefix) => format!("{prefix}:{name}"),
        None => name.to_owned(),
    }
}

/// Appends `text` as character data.
pub(crate) fn escape(out: &mut String, text: &str) {
    escape_with(out, text, &CONTENT);
}

/// Appends `text` as the content of a double-quoted attribute.
pub(crate) fn escape_attribute(out: &mut String, text: &str) {
    escape_with(out, text, &ATTRIBUTE);
}

/// Which bytes are escaped, all of ASCII.
type Escaped = [bool; 256];

const CONTENT: Escaped = escaped(b"<>&\r");
const ATTRIBUTE: Escaped = escaped(b"<>&\r\"\n\t");

const fn escaped(bytes: &[u8]) -> Escaped {
    let mut table = [false; 256];
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
}

fn escape_with(out: &mut String, text: &str, escaped: &Escaped) {
    let is_escaped = |byte: u8| escaped.get(usize::from(byte)).copied().unwrap_or_default();
    let mut rest = text;
    // All that is escaped is a byte of its own, so what stands before is whole characters.
    while let Some(at) = rest.bytes().position(is_escaped) {
        let (plain, from) = rest.split_at(at);
        out.push_str(plain);
        out.push_str(match from.as_bytes().first() {
            Some(b'<') => "&lt;",
            Some(b'>') => "&gt;",
            Some(b'&') => "&amp;",
            Some(b'"') => "&quot;",
            Some(b'\n') => "&#10;",
            Some(b'\t') => "&#9;",
            // A bare one would be read as a line feed.
            _ => "&#13;",
        });
        rest = from.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_markup_or_would_be_read_as_something_else_is_escaped() {
        let text = "ä<b>&\"c\"\td\ne\r]]>";
        let (mut content, mut attribute) = (String::new(), String::new());
        escape(&mut content, text);
        escape_attribute(&mut attribute, text);
        assert_eq!(content, "ä&lt;b&gt;&amp;\"c\"\td\ne&#13;]]&gt;");
        assert_eq!(attribute, "ä&lt;b&gt;&amp;&quot;c&quot;&#9;d&#10;e&#13;]]&gt;");
    }
}
