//! The parameters of an operation: its child elements, each given once, and nothing between them.
//!
//! Strings are taken as they were sent, with the blanks around them. The values of all other types hold no blanks, so
//! those around a value do not count.

use crate::fragment::XmlFragment;
use crate::names::{BASE, NMDA};
use crate::nmda::NmdaDatastore;
use crate::rpc::{Content, Datastore, DefaultOperation, Source, Target};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};
use roxmltree::Node;
use std::str::FromStr;

/// The child elements of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Parameters<'n, 'd, 's> {
    operation: Node<'n, 'd>,
    source: &'s str,
}

impl<'n, 'd, 's> Parameters<'n, 'd, 's> {
    /// Of the element `operation` of the document whose text is `source`.
    pub fn of(operation: Node<'n, 'd>, source: &'s str) -> Self {
        Self { operation, source }
    }

    pub(crate) fn elements(&self) -> impl Iterator<Item = Node<'n, 'd>> {
        self.operation.children().filter(Node::is_element)
    }

    /// Refuses parameters that the operation does not have, text between them, and attributes.
    ///
    /// # Errors
    /// `unknown-element`, `bad-element`, `unknown-attribute`.
    pub fn only(&self, names: &[&str]) -> Result<(), Error> {
        self.only_and(names, ("", ""))
    }

    /// The same, with one more parameter, which another module gives the operation.
    pub(crate) fn only_and(&self, names: &[&str], more: (&str, &str)) -> Result<(), Error> {
        no_text(self.operation)?;
        no_attributes(self.operation)?;
        for node in self.elements() {
            no_attributes(node)?;
            let (name, namespace) = (node.tag_name().name(), node.tag_name().namespace().unwrap_or_default());
            let own = self.operation.tag_name().namespace().unwrap_or_default();
            if namespace == own && names.contains(&name) || (namespace, name) == more {
                continue;
            }
            let operation = self.operation.tag_name().name();
            return Err(Error::protocol(
                ErrorTag::UnknownElement,
                format!("<{operation}> has no parameter <{name}> of namespace '{namespace}' here"),
            )
            .with(ErrorInfo::BadElement(name.to_owned())));
        }
        Ok(())
    }

    /// A parameter that may be absent.
    ///
    /// # Errors
    /// `bad-element` when it is given twice.
    pub fn optional(&self, name: &'static str) -> Result<Option<Node<'n, 'd>>, Error> {
        let mut found = self.elements().filter(|node| node.tag_name().name() == name);
        let first = found.next();
        if found.next().is_some() {
            return Err(Error::protocol(ErrorTag::BadElement, format!("<{name}> is given twice"))
                .with(ErrorInfo::BadElement(name.to_owned())));
        }
        Ok(first)
    }

    /// A parameter that must be there.
    ///
    /// # Errors
    /// `missing-element`, and as of [`Parameters::optional`].
    pub fn required(&self, name: &'static str) -> Result<Node<'n, 'd>, Error> {
        self.optional(name)?.ok_or_else(|| {
            let operation = self.operation.tag_name().name();
            missing_element(name, format!("<{operation}> needs a <{name}>"))
        })
    }

    /// A string, which may be empty.
    ///
    /// # Errors
    /// When it holds elements, and as of [`Parameters::optional`].
    pub fn string(&self, name: &'static str) -> Result<Option<String>, Error> {
        self.optional(name)?.map(string_of).transpose()
    }

    /// A number; `expected` says of which kind.
    ///
    /// # Errors
    /// When it is none, and as of [`Parameters::optional`].
    pub fn number<T: FromStr>(&self, name: &'static str, expected: &str) -> Result<Option<T>, Error> {
        let Some(node) = self.optional(name)? else { return Ok(None) };
        let text = word_of(node)?;
        text.parse().map(Some).map_err(|_| invalid_value(name, &text, expected))
    }

    /// A number that must be there.
    ///
    /// # Errors
    /// As of [`Parameters::required`] and [`Parameters::number`].
    pub fn required_number<T: FromStr>(&self, name: &'static str, expected: &str) -> Result<T, Error> {
        self.required(name)?;
        let number = self.number(name, expected)?;
        number.ok_or_else(|| missing_element(name, format!("<{name}> is missing")))
    }

    /// Is a parameter of type `empty` there?
    pub(crate) fn flag(&self, name: &'static str) -> Result<bool, Error> {
        let Some(node) = self.optional(name)? else { return Ok(false) };
        is_empty(node).map(|()| true)
    }

    /// A value of a few; absent, the one that is the default.
    pub(crate) fn choice<T: Copy + Default>(
        &self,
        name: &'static str,
        values: &[(&str, T)],
    ) -> Result<T, Error> {
        match self.optional(name)? {
            Some(node) => choice_of(name, &word_of(node)?, values),
            None => Ok(T::default()),
        }
    }

    pub(crate) fn fragment(&self, node: Node<'_, '_>) -> XmlFragment {
        XmlFragment::cut(node, self.source)
    }

    pub(crate) fn default_operation(&self) -> Result<DefaultOperation, Error> {
        self.choice(
            "default-operation",
            &[
                ("merge", DefaultOperation::Merge),
                ("replace", DefaultOperation::Replace),
                ("none", DefaultOperation::None),
            ],
        )
    }

    /// The one element inside of `<source>` or `<target>`.
    fn place(&self, name: &'static str) -> Result<Node<'n, 'd>, Error> {
        let outer = self.required(name)?;
        no_text(outer)?;
        let mut inner = outer.children().filter(Node::is_element);
        let first = inner.next().ok_or_else(|| {
            missing_element(name, format!("<{name}> is empty: it needs a datastore, such as <candidate/>"))
        })?;
        if let Some(second) = inner.next() {
            let second = second.tag_name().name();
            return Err(Error::protocol(
                ErrorTag::BadElement,
                format!("<{name}> has a second element, <{second}>"),
            )
            .with(ErrorInfo::BadElement(second.to_owned())));
        }
        no_attributes(first)?;
        Ok(first)
    }

    pub(crate) fn datastore(&self, name: &'static str) -> Result<Datastore, Error> {
        datastore(self.place(name)?, name)
    }

    pub(crate) fn source(&self) -> Result<Source, Error> {
        let node = self.place("source")?;
        if node.has_tag_name((BASE, "config")) {
            return Ok(Source::Config(Content::Inline(self.fragment(node))));
        }
        if node.has_tag_name((BASE, "url")) {
            return Ok(Source::Config(Content::Url(string_of(node)?)));
        }
        datastore(node, "source").map(Source::Datastore)
    }

    pub(crate) fn target(&self) -> Result<Target, Error> {
        let node = self.place("target")?;
        if node.has_tag_name((BASE, "url")) {
            return string_of(node).map(Target::Url);
        }
        datastore(node, "target").map(Target::Datastore)
    }

    /// `<config>` or `<url>` of edit-config and edit-data.
    pub(crate) fn content(&self) -> Result<Content, Error> {
        match (self.optional("config")?, self.optional("url")?) {
            (Some(config), None) => Ok(Content::Inline(self.fragment(config))),
            (None, Some(url)) => string_of(url).map(Content::Url),
            (None, None) => self.required("config").map(|config| Content::Inline(self.fragment(config))),
            (Some(_), Some(_)) => {
                let message = "<config> and <url> exclude each other";
                Err(Error::protocol(ErrorTag::BadElement, message)
                    .with(ErrorInfo::BadElement("url".to_owned())))
            }
        }
    }

    /// The target of `lock` and `unlock`, which RFC 8526 section 3.2 lets be named by an identity.
    pub(crate) fn lockable(&self) -> Result<Datastore, Error> {
        let node = self.place("target")?;
        if !node.has_tag_name((NMDA, "datastore")) {
            return datastore(node, "target");
        }
        match NmdaDatastore::of(node)? {
            NmdaDatastore::Running => Ok(Datastore::Running),
            NmdaDatastore::Candidate => Ok(Datastore::Candidate),
            NmdaDatastore::Intended | NmdaDatastore::Operational => {
                let expected = "a datastore that is written, running or candidate,";
                Err(invalid_value("datastore", &word_of(node)?, expected))
            }
        }
    }

    /// The source of `validate`, which RFC 8526 section 3.2 lets be named by an identity.
    pub(crate) fn validated(&self) -> Result<Source, Error> {
        let node = self.place("source")?;
        if !node.has_tag_name((NMDA, "datastore")) {
            return self.source();
        }
        match NmdaDatastore::of(node)? {
            // What is intended is what runs.
            NmdaDatastore::Running | NmdaDatastore::Intended => Ok(Source::Datastore(Datastore::Running)),
            NmdaDatastore::Candidate => Ok(Source::Datastore(Datastore::Candidate)),
            NmdaDatastore::Operational => {
                let expected = "a datastore of configuration: running, candidate or intended";
                Err(invalid_value("datastore", &word_of(node)?, expected))
            }
        }
    }
}

/// The value that a word stands for.
pub(crate) fn choice_of<T: Copy>(name: &str, text: &str, values: &[(&str, T)]) -> Result<T, Error> {
    let found = values.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let words: Vec<_> = values.iter().map(|(word, _)| *word).collect();
        invalid_value(name, text, &format!("one of {}", words.join(", ")))
    })
}

fn datastore(node: Node<'_, '_>, place: &str) -> Result<Datastore, Error> {
    let (name, namespace) = (node.tag_name().name(), node.tag_name().namespace());
    let found = match (namespace, name) {
        (Some(BASE), "running") => Datastore::Running,
        (Some(BASE), "candidate") => Datastore::Candidate,
        (_, _) => {
            let message = format!("<{name}> in <{place}> is not supported: running and candidate are");
            return Err(Error::protocol(ErrorTag::UnknownElement, message)
                .with(ErrorInfo::BadElement(name.to_owned())));
        }
    };
    is_empty(node).map(|()| found)
}

/// The value of a string, which its blanks are a part of.
pub(crate) fn string_of(node: Node<'_, '_>) -> Result<String, Error> {
    if let Some(child) = node.children().find(Node::is_element) {
        let (name, inner) = (node.tag_name().name(), child.tag_name().name());
        let message = format!("<{name}> holds a value, and no element <{inner}>");
        return Err(
            Error::protocol(ErrorTag::UnknownElement, message).with(ErrorInfo::BadElement(inner.to_owned()))
        );
    }
    Ok(node.children().filter(Node::is_text).filter_map(|child| child.text()).collect())
}

/// The value of any other type.
pub(crate) fn word_of(node: Node<'_, '_>) -> Result<String, Error> {
    string_of(node).map(|text| text.trim().to_owned())
}

/// RFC 7950 section 9.11: an element of type `empty` holds nothing.
fn is_empty(node: Node<'_, '_>) -> Result<(), Error> {
    let text = word_of(node)?;
    if text.is_empty() {
        Ok(())
    } else {
        Err(invalid_value(node.tag_name().name(), &text, "an empty element"))
    }
}

/// Refuses text in an element that holds elements only.
pub(crate) fn no_text(node: Node<'_, '_>) -> Result<(), Error> {
    let mut texts = node.children().filter(Node::is_text).filter_map(|child| child.text());
    if texts.all(|text| text.trim_ascii().is_empty()) {
        return Ok(());
    }
    let name = node.tag_name().name();
    Err(Error::protocol(ErrorTag::BadElement, format!("<{name}> has no text content"))
        .with(ErrorInfo::BadElement(name.to_owned())))
}

/// RFC 6241 gives attributes to `<rpc>`, to `<filter>` and to what is in a configuration. Anywhere else one is refused: an
/// `operation` beside the configuration, or a parameter that was written as an attribute, would be passed over. Declarations
/// of namespaces are no attributes.
pub(crate) fn no_attributes(node: Node<'_, '_>) -> Result<(), Error> {
    let name = node.tag_name().name();
    // Some clients give those of a filter a namespace, its own or that of RFC 6241.
    let of_filter = |namespace: Option<&str>, attribute: &str| {
        let known = namespace.is_none_or(|uri| uri == BASE || node.tag_name().namespace() == Some(uri));
        name == "filter" && known && matches!(attribute, "type" | "select")
    };
    let unknown = node.attributes().find(|found| !of_filter(found.namespace(), found.name()));
    let Some(unknown) = unknown.map(|unknown| unknown.name()) else { return Ok(()) };
    let message = format!("<{name}> of an operation takes no attribute '{unknown}'");
    Err(Error::protocol(ErrorTag::UnknownAttribute, message)
        .with(ErrorInfo::BadAttribute(unknown.to_owned()))
        .with(ErrorInfo::BadElement(name.to_owned())))
}

pub(crate) fn missing_element(name: &str, message: String) -> Error {
    Error::protocol(ErrorTag::MissingElement, message).with(ErrorInfo::BadElement(name.to_owned()))
}

pub(crate) fn invalid_value(name: &str, value: &str, expected: &str) -> Error {
    Error::protocol(
        ErrorTag::InvalidValue,
        format!("'{value}' is not a valid {name}: {expected} is expected"),
    )
    .with(ErrorInfo::BadElement(name.to_owned()))
}
