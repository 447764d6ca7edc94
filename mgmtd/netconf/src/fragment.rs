//! One XML element taken out of its document, complete with the namespace declarations that were in force.

use roxmltree::Node;
use std::fmt;

/// A well-formed element with every namespace binding in scope declared on it, so prefixes inside of values
/// (identityref, instance-identifier) resolve as they did where it came from. Never holds a DTD and is never
/// deeper than the session's limit when a session made it.
#[derive(Clone, PartialEq, Eq)]
pub struct XmlFragment(String);

impl XmlFragment {
    /// A fragment of `text`, which must be one element.
    ///
    /// # Errors
    /// `text` is not a well-formed document without DTD.
    pub fn parse(text: impl Into<String>) -> Result<Self, roxmltree::Error> {
        let text = text.into();
        roxmltree::Document::parse(&text)?;
        Ok(Self(text))
    }

    /// The element `node` of the document whose text is `source`.
    pub(crate) fn cut(node: Node<'_, '_>, source: &str) -> Self {
        let text = source.get(node.range()).unwrap_or_default();
        let split = name_end(text);
        let declared = declared_prefixes(text.get(split..).unwrap_or_default());
        let mut out = String::with_capacity(text.len() + 256);
        out.push_str(text.get(..split).unwrap_or_default());
        for namespace in node.namespaces() {
            let prefix = namespace.name().unwrap_or_default();
            if declared.contains(&prefix) || prefix == "xml" {
                continue;
            }
            out.push_str(" xmlns");
            if !prefix.is_empty() {
                out.push(':');
                out.push_str(prefix);
            }
            out.push_str("=\"");
            out.push_str(&quick_xml::escape::escape(namespace.uri()));
            out.push('"');
        }
        // Names without a prefix that had no namespace get none either where the fragment is put.
        if node.lookup_namespace_uri(None).is_none() {
            out.push_str(" xmlns=\"\"");
        }
        out.push_str(text.get(split..).unwrap_or_default());
        Self(out)
    }

    /// The XML text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The XML text, without a copy.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Debug for XmlFragment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("XmlFragment").field(&self.0).finish()
    }
}

impl fmt::Display for XmlFragment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The offset behind the name in `<name …`.
fn name_end(text: &str) -> usize {
    text.find(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/').unwrap_or(text.len())
}

/// The prefixes that the start tag, from behind its name, declares; "" is the default namespace.
fn declared_prefixes(mut rest: &str) -> Vec<&str> {
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start();
        let Some((name, after)) = rest.split_once('=').filter(|_| !rest.starts_with(['>', '/'])) else {
            return found;
        };
        let name = name.trim_end();
        if name == "xmlns" {
            found.push("");
        } else if let Some(prefix) = name.strip_prefix("xmlns:") {
            found.push(prefix);
        }
        let after = after.trim_start();
        let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return found };
        let Some((_, next)) = after.get(1..).and_then(|value| value.split_once(quote)) else { return found };
        rest = next;
    }
}
