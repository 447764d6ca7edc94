//! What a retrieval asks for besides its datastore: filters (RFC 6241 sections 6 and 8.9) and `with-defaults`
//! (RFC 6243).

use crate::fragment::XmlFragment;
use crate::names::BASE;
use crate::parameters::{Parameters, choice_of, word_of};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use roxmltree::Node;

/// A filter as it was given; what it means is for whoever knows the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// The element whose children are the filter: `<filter>` or `<subtree-filter>`. An empty one selects nothing.
    Subtree(XmlFragment),
    /// An XPath expression.
    XPath {
        /// The expression.
        select: String,
        /// Prefix and namespace of the declarations in scope where it was written.
        namespaces: Vec<(String, String)>,
    },
}

/// The modes of `with-defaults`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the values of RFC 6243 section 3
pub enum WithDefaults {
    ReportAll,
    ReportAllTagged,
    Trim,
    Explicit,
}

const MODES: [(&str, WithDefaults); 4] = [
    ("report-all", WithDefaults::ReportAll),
    ("report-all-tagged", WithDefaults::ReportAllTagged),
    ("trim", WithDefaults::Trim),
    ("explicit", WithDefaults::Explicit),
];

impl WithDefaults {
    /// The word for it.
    pub fn name(self) -> &'static str {
        MODES.iter().find(|(_, mode)| *mode == self).map_or("explicit", |(name, _)| name)
    }

    /// The parameter, in the namespace that the operation has it in.
    pub(crate) fn to_xml(self, namespace: &str) -> String {
        format!("<with-defaults xmlns=\"{namespace}\">{}</with-defaults>", self.name())
    }
}

impl Filter {
    /// The `<filter>` of `get` and `get-config`, or its equal under another `name` and namespace.
    pub(crate) fn to_xml(&self) -> String {
        match self {
            Filter::Subtree(fragment) => fragment.as_str().to_owned(),
            Filter::XPath { select, namespaces } => {
                let select = attribute(select);
                format!(
                    "<filter xmlns=\"{BASE}\"{} type=\"xpath\" select=\"{select}\"/>",
                    declarations(namespaces)
                )
            }
        }
    }
}

/// ` xmlns:a="urn:a"…`.
pub(crate) fn declarations(namespaces: &[(String, String)]) -> String {
    let one = |(prefix, uri): &(String, String)| format!(" xmlns:{prefix}=\"{}\"", attribute(uri));
    namespaces.iter().map(one).collect()
}

/// The content of an attribute. White space is written so that it is not made a blank of.
pub(crate) fn attribute(text: &str) -> String {
    let text = quick_xml::escape::escape(text);
    text.replace('\n', "&#10;").replace('\r', "&#13;").replace('\t', "&#9;")
}

/// The prefixes in scope at `node`, in order.
pub(crate) fn namespaces_of(node: Node<'_, '_>) -> Vec<(String, String)> {
    let bound = node.namespaces().filter_map(|namespace| {
        let prefix = namespace.name().filter(|prefix| *prefix != "xml")?;
        Some((prefix.to_owned(), namespace.uri().to_owned()))
    });
    let mut bound: Vec<_> = bound.collect();
    bound.sort();
    bound
}

impl Parameters<'_, '_, '_> {
    /// `<filter>` of `get` and `get-config`.
    pub(crate) fn filter(&self) -> Result<Option<Filter>, Error> {
        let Some(node) = self.optional("filter")? else { return Ok(None) };
        let attribute = |name: &str| node.attribute(name).or_else(|| node.attribute((BASE, name)));
        match attribute("type") {
            None | Some("subtree") => Ok(Some(Filter::Subtree(self.fragment(node)))),
            Some("xpath") => match attribute("select") {
                Some(select) => {
                    Ok(Some(Filter::XPath { select: select.to_owned(), namespaces: namespaces_of(node) }))
                }
                None => {
                    let what = "a filter of type 'xpath' needs the attribute 'select' with the expression";
                    Err(of_filter(ErrorTag::MissingAttribute, what, "select"))
                }
            },
            Some(other) => {
                let what = format!("filter type '{other}' is not supported: 'subtree' and 'xpath' are");
                Err(of_filter(ErrorTag::BadAttribute, &what, "type"))
            }
        }
    }

    /// `<with-defaults>`.
    pub(crate) fn with_defaults(&self) -> Result<Option<WithDefaults>, Error> {
        let Some(node) = self.optional("with-defaults")? else { return Ok(None) };
        choice_of("with-defaults", &word_of(node)?, &MODES).map(Some)
    }
}

fn of_filter(tag: ErrorTag, message: &str, attribute: &str) -> Error {
    Error::protocol(tag, message)
        .with(ErrorInfo::BadAttribute(attribute.to_owned()))
        .with(ErrorInfo::BadElement("filter".to_owned()))
}
