//! The operations of RFC 8526: `get-data`, `edit-data`, and datastores named by identities.

use crate::names::{DATASTORES, NMDA};
use crate::parameters::{Parameters, choice_of, invalid_value, string_of, word_of};
use crate::reply::escape_text;
use crate::request::content_xml;
use crate::retrieval::{Filter, WithDefaults, attribute, declarations, namespaces_of};
use crate::rpc::{Content, DefaultOperation, Operation};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use roxmltree::Node;
use std::num::NonZeroU16;

/// The datastores of RFC 8342 that are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // each is the datastore of its own name
pub enum NmdaDatastore {
    Running,
    Candidate,
    Intended,
    Operational,
}

const DATASTORE_NAMES: [(&str, NmdaDatastore); 4] = [
    ("running", NmdaDatastore::Running),
    ("candidate", NmdaDatastore::Candidate),
    ("intended", NmdaDatastore::Intended),
    ("operational", NmdaDatastore::Operational),
];

impl NmdaDatastore {
    /// The name of its identity in ietf-datastores.
    pub fn name(self) -> &'static str {
        DATASTORE_NAMES.iter().find(|(_, datastore)| *datastore == self).map_or("running", |(name, _)| name)
    }

    /// An element that names it, with its prefix declared.
    pub(crate) fn to_xml(self, element: &str) -> String {
        format!("<{element} xmlns:ds=\"{DATASTORES}\">ds:{}</{element}>", self.name())
    }

    /// Of an element whose text is an identity.
    pub(crate) fn of(node: Node<'_, '_>) -> Result<Self, Error> {
        let text = word_of(node)?;
        let known = DATASTORE_NAMES
            .iter()
            .find(|(known, _)| identity_of(node, &text).is_some_and(|found| found == (DATASTORES, known)));
        known.map(|(_, datastore)| *datastore).ok_or_else(|| {
            let expected = "running, candidate, intended or operational of ietf-datastores";
            invalid_value(node.tag_name().name(), &text, expected)
        })
    }
}

/// `<get-data>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetData {
    /// What is read.
    pub datastore: NmdaDatastore,
    /// `subtree-filter` or `xpath-filter`.
    pub filter: Option<Filter>,
    /// `config-filter`: configuration alone, or state alone.
    pub config: Option<bool>,
    /// `origin-filter` or `negated-origin-filter`; only of `operational`.
    pub origins: Option<OriginFilter>,
    /// `max-depth`; absent when unbounded.
    pub max_depth: Option<NonZeroU16>,
    /// `with-origin`; only of `operational`.
    pub with_origin: bool,
    /// `with-defaults`.
    pub with_defaults: Option<WithDefaults>,
}

impl GetData {
    /// All of a datastore.
    pub fn all(datastore: NmdaDatastore) -> Self {
        Self {
            datastore,
            filter: None,
            config: None,
            origins: None,
            max_depth: None,
            with_origin: false,
            with_defaults: None,
        }
    }
}

/// The origins that are asked for, or those that are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginFilter {
    /// `negated-origin-filter`.
    pub negated: bool,
    /// Namespace and name of identities; never empty.
    pub identities: Vec<(String, String)>,
}

/// `<edit-data>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditData {
    /// What is changed.
    pub datastore: NmdaDatastore,
    /// `default-operation`, `merge` when absent.
    pub default_operation: DefaultOperation,
    /// What is to be done to it.
    pub config: Content,
}

/// Parses an operation of ietf-netconf-nmda; none for a name that it has not.
pub(crate) fn parse(given: &Parameters<'_, '_, '_>, name: &str) -> Result<Option<Operation>, Error> {
    match name {
        "get-data" => get_data(given).map(|get| Some(Operation::GetData(Box::new(get)))),
        "edit-data" => edit_data(given).map(|edit| Some(Operation::EditData(edit))),
        _ => Ok(None),
    }
}

fn get_data(given: &Parameters<'_, '_, '_>) -> Result<GetData, Error> {
    given.only(&[
        "datastore",
        "subtree-filter",
        "xpath-filter",
        "config-filter",
        "origin-filter",
        "negated-origin-filter",
        "max-depth",
        "with-origin",
        "with-defaults",
    ])?;
    let get = GetData {
        datastore: NmdaDatastore::of(given.required("datastore")?)?,
        filter: filter(given)?,
        config: match given.optional("config-filter")? {
            Some(node) => {
                Some(choice_of("config-filter", &word_of(node)?, &[("true", true), ("false", false)])?)
            }
            None => None,
        },
        origins: origins(given)?,
        max_depth: max_depth(given)?,
        with_origin: given.flag("with-origin")?,
        with_defaults: given.with_defaults()?,
    };
    if get.datastore == NmdaDatastore::Operational {
        return Ok(get);
    }
    let name = get.datastore.name();
    if get.with_origin {
        let what = format!("<with-origin> goes with the datastore operational only, and not with {name}");
        return Err(Error::protocol(ErrorTag::InvalidValue, what)
            .with(ErrorInfo::BadElement("with-origin".to_owned())));
    }
    if let Some(origins) = &get.origins {
        let element = origins.element();
        // RFC 7950 section 8.3.1: its 'when' is false.
        let what = format!("<{element}> goes with the datastore operational only, and not with {name}");
        return Err(
            Error::protocol(ErrorTag::UnknownElement, what).with(ErrorInfo::BadElement(element.to_owned()))
        );
    }
    Ok(get)
}

pub(crate) fn filter(given: &Parameters<'_, '_, '_>) -> Result<Option<Filter>, Error> {
    match (given.optional("subtree-filter")?, given.optional("xpath-filter")?) {
        (None, None) => Ok(None),
        (Some(node), None) => Ok(Some(Filter::Subtree(given.fragment(node)))),
        (None, Some(node)) => {
            Ok(Some(Filter::XPath { select: string_of(node)?, namespaces: namespaces_of(node) }))
        }
        (Some(_), Some(_)) => Err(one_of("subtree-filter", "xpath-filter")),
    }
}

fn origins(given: &Parameters<'_, '_, '_>) -> Result<Option<OriginFilter>, Error> {
    let identities = |element: &str| {
        let named = given.elements().filter(|node| node.tag_name().name() == element);
        let identity = |node: Node<'_, '_>| {
            let text = word_of(node)?;
            let found = identity_of(node, &text);
            let found = found.map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
            found.ok_or_else(|| invalid_value(element, &text, "an identity of ietf-origin"))
        };
        named.map(identity).collect::<Result<Vec<_>, Error>>()
    };
    let (plain, negated) = (identities("origin-filter")?, identities("negated-origin-filter")?);
    match (plain.is_empty(), negated.is_empty()) {
        (true, true) => Ok(None),
        (false, true) => Ok(Some(OriginFilter { negated: false, identities: plain })),
        (true, false) => Ok(Some(OriginFilter { negated: true, identities: negated })),
        (false, false) => Err(one_of("origin-filter", "negated-origin-filter")),
    }
}

impl OriginFilter {
    /// The parameter that it was given by.
    pub fn element(&self) -> &'static str {
        if self.negated { "negated-origin-filter" } else { "origin-filter" }
    }
}

fn max_depth(given: &Parameters<'_, '_, '_>) -> Result<Option<NonZeroU16>, Error> {
    let Some(node) = given.optional("max-depth")? else { return Ok(None) };
    let text = word_of(node)?;
    if text == "unbounded" {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| invalid_value("max-depth", &text, "1 to 65535, or unbounded,"))
}

fn edit_data(given: &Parameters<'_, '_, '_>) -> Result<EditData, Error> {
    given.only(&["datastore", "default-operation", "config", "url"])?;
    let datastore = NmdaDatastore::of(given.required("datastore")?)?;
    let default_operation = given.default_operation()?;
    Ok(EditData { datastore, default_operation, config: given.content()? })
}

/// Namespace and local name of an identityref; without a prefix it is of the default namespace. None when its prefix
/// is not declared.
fn identity_of<'a>(node: Node<'a, '_>, text: &'a str) -> Option<(&'a str, &'a str)> {
    let (prefix, name) = match text.split_once(':') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let namespace = node.lookup_namespace_uri(prefix).filter(|uri| !uri.is_empty())?;
    (!name.is_empty()).then_some((namespace, name))
}

fn one_of(first: &str, second: &str) -> Error {
    let what = format!("<{first}> and <{second}> are alternatives: give one of them");
    Error::protocol(ErrorTag::BadElement, what).with(ErrorInfo::BadElement(second.to_owned()))
}

pub(crate) fn filter_xml(filter: Option<&Filter>) -> String {
    match filter {
        None => String::new(),
        // Its own element goes with its own name.
        Some(Filter::Subtree(fragment)) => fragment.as_str().to_owned(),
        Some(Filter::XPath { select, namespaces }) => {
            let (declared, select) = (declarations(namespaces), escape_text(select));
            format!("<xpath-filter{declared}>{select}</xpath-filter>")
        }
    }
}

impl GetData {
    pub(crate) fn to_xml(&self) -> String {
        let mut out = format!("<get-data xmlns=\"{NMDA}\">{}", self.datastore.to_xml("datastore"));
        out.push_str(&filter_xml(self.filter.as_ref()));
        if let Some(config) = self.config {
            out.push_str(&format!("<config-filter>{config}</config-filter>"));
        }
        for (namespace, name) in self.origins.iter().flat_map(|origins| &origins.identities) {
            let element = self.origins.as_ref().map_or("origin-filter", OriginFilter::element);
            let (namespace, name) = (attribute(namespace), escape_text(name));
            out.push_str(&format!("<{element} xmlns:o=\"{namespace}\">o:{name}</{element}>"));
        }
        if let Some(depth) = self.max_depth {
            out.push_str(&format!("<max-depth>{depth}</max-depth>"));
        }
        if self.with_origin {
            out.push_str("<with-origin/>");
        }
        if let Some(mode) = self.with_defaults {
            out.push_str(&mode.to_xml(NMDA));
        }
        out.push_str("</get-data>");
        out
    }
}

impl EditData {
    pub(crate) fn to_xml(&self) -> String {
        let default_operation = match self.default_operation {
            DefaultOperation::Merge => "",
            DefaultOperation::Replace => "<default-operation>replace</default-operation>",
            DefaultOperation::None => "<default-operation>none</default-operation>",
        };
        let (datastore, config) = (self.datastore.to_xml("datastore"), content_xml(&self.config));
        format!("<edit-data xmlns=\"{NMDA}\">{datastore}{default_operation}{config}</edit-data>")
    }
}
