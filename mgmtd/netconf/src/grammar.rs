//! From the bytes of a message to an [`Rpc`], or to the error that RFC 6241 asks for.

use crate::compare;
use crate::fragment::XmlFragment;
use crate::names::{BASE, COMPARE, EXEC, MONITORING, NMDA, PRIVATE_CANDIDATE, WITH_DEFAULTS};
use crate::nmda::{self, NmdaDatastore};
use crate::rpc::{
    CommitOptions, Confirmed, Content, Datastore, DefaultOperation, Echo, ErrorOption, Operation, Resolution,
    Rpc, Source, Target, TestOption, operation_not_supported,
};
use crate::scan;
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, ErrorType};
use cats_yang_tree::xml::{MAX_NAMES, document, too_many_names};
use roxmltree::{Document, Node};

/// `persist` and `persist-id` may be so long, bytes.
const TOKEN_MAX: usize = 1024;

/// A comment may be so long, characters, as `cats-exec` says.
const COMMENT_MAX: usize = 1024;

/// A refused message: what the reply repeats, as far as it could be read, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// For the reply.
    pub attributes: Echo,
    /// For the reply.
    pub error: Error,
}

/// Parses a message of an open session.
///
/// # Errors
/// Everything that the peer can do wrong, boxed since it is rare.
pub fn parse_rpc(message: &[u8], depth_limit: usize) -> Result<Rpc, Box<Refused>> {
    let bare = |error| Box::new(Refused { attributes: Echo::default(), error });
    let text = std::str::from_utf8(message).map_err(|error| {
        bare(malformed(format!("the message is not UTF-8: invalid byte at offset {}", error.valid_up_to())))
    })?;
    if let Some(why) = too_big(text, depth_limit) {
        let attributes = scan::first_tag(message).map(|tag| echo_of(&tag)).unwrap_or_default();
        let error = Error::new(ErrorType::Rpc, ErrorTag::TooBig, why);
        return Err(Box::new(Refused { attributes, error }));
    }
    let document = document(text)
        .map_err(|why| bare(malformed(format!("the message is not well-formed XML: {why}"))))?;
    let root = document.root_element();
    let attributes = echo(root, text);
    parse_root(root, text, attributes.clone()).map_err(|error| Box::new(Refused { attributes, error }))
}

/// Why a message is not parsed, whose elements would cost more than its size.
fn too_big(text: &str, depth_limit: usize) -> Option<String> {
    let depth = scan::depth(text);
    if depth > depth_limit {
        return Some(format!("elements nest {depth} deep; at most {depth_limit} are accepted"));
    }
    let at = too_many_names(text)?;
    Some(format!("too many attributes or namespaces at byte {at}: an element may have {MAX_NAMES}"))
}

/// What the reply to a message above the size limit repeats.
pub(crate) fn echo_of_head(head: &[u8]) -> Echo {
    scan::first_tag(head).map(|tag| echo_of(&tag)).unwrap_or_default()
}

fn echo_of(tag: &str) -> Echo {
    if too_many_names(tag).is_some() {
        return Echo::default();
    }
    Document::parse(tag).map(|document| echo(document.root_element(), tag)).unwrap_or_default()
}

/// RFC 6241 section 4.2: all attributes but namespace declarations, as they were written, with the declarations
/// that their prefixes need.
fn echo(root: Node<'_, '_>, source: &str) -> Echo {
    let mut out = String::new();
    let mut declared = Vec::new();
    for attribute in root.attributes() {
        let raw = source.get(attribute.range()).unwrap_or_default();
        let name = raw.split('=').next().unwrap_or_default();
        if let (Some((prefix, _)), Some(uri)) = (name.split_once(':'), attribute.namespace())
            && prefix != "xml"
            && !declared.contains(&prefix)
        {
            declared.push(prefix);
            out.push_str(&format!(" xmlns:{prefix}=\"{}\"", quick_xml::escape::escape(uri)));
        }
        out.push(' ');
        out.push_str(raw);
    }
    Echo(out)
}

fn parse_root(root: Node<'_, '_>, source: &str, attributes: Echo) -> Result<Rpc, Error> {
    if !root.has_tag_name((BASE, "rpc")) {
        let name = root.tag_name().name();
        return Err(rpc_error(
            ErrorTag::UnknownElement,
            format!("<{name}> where <rpc> of '{BASE}' is expected"),
        )
        .with(ErrorInfo::BadElement(name.to_owned())));
    }
    let Some(message_id) = root.attribute("message-id") else {
        return Err(rpc_error(ErrorTag::MissingAttribute, "<rpc> has no message-id".to_owned())
            .with(ErrorInfo::BadAttribute("message-id".to_owned()))
            .with(ErrorInfo::BadElement("rpc".to_owned())));
    };
    let mut operations = root.children().filter(Node::is_element);
    let Some(operation) = operations.next() else {
        return Err(rpc_error(ErrorTag::MissingElement, "<rpc> has no operation".to_owned())
            .with(ErrorInfo::BadElement("rpc".to_owned())));
    };
    if let Some(second) = operations.next() {
        let name = second.tag_name().name();
        return Err(rpc_error(ErrorTag::BadElement, format!("<rpc> has a second operation, <{name}>"))
            .with(ErrorInfo::BadElement(name.to_owned())));
    }
    let operation = parse_operation(operation, source)?;
    Ok(Rpc { message_id: message_id.to_owned(), attributes, operation })
}

fn parse_operation(node: Node<'_, '_>, source: &str) -> Result<Operation, Error> {
    let name = node.tag_name().name();
    match node.tag_name().namespace() {
        Some(BASE) => parse_base(Parameters::of(node, source), name),
        Some(MONITORING) if name == "get-schema" => get_schema(&Parameters::of(node, source)),
        Some(PRIVATE_CANDIDATE) if name == "update" => update(&Parameters::of(node, source)),
        Some(NMDA) => {
            nmda::parse(&Parameters::of(node, source), name)?.ok_or_else(|| operation_not_supported(name))
        }
        Some(COMPARE) => {
            compare::parse(&Parameters::of(node, source), name)?.ok_or_else(|| operation_not_supported(name))
        }
        other => Ok(Operation::Other {
            namespace: other.unwrap_or_default().to_owned(),
            name: name.to_owned(),
            xml: XmlFragment::cut(node, source),
        }),
    }
}

fn parse_base(given: Parameters<'_, '_, '_>, name: &str) -> Result<Operation, Error> {
    let operation = match name {
        "get" => get(&given)?,
        "get-config" => get_config(&given)?,
        "edit-config" => edit_config(&given)?,
        "copy-config" => copy_config(&given)?,
        "delete-config" => {
            given.only(&["target"])?;
            Operation::DeleteConfig { target: given.target()? }
        }
        "lock" => {
            given.only(&["target"])?;
            Operation::Lock { target: given.lockable()? }
        }
        "unlock" => {
            given.only(&["target"])?;
            Operation::Unlock { target: given.lockable()? }
        }
        "commit" => Operation::Commit(commit(&given)?),
        "cancel-commit" => {
            given.only(&["persist-id"])?;
            Operation::CancelCommit { persist_id: given.token("persist-id")? }
        }
        "discard-changes" => {
            given.only(&[])?;
            Operation::DiscardChanges
        }
        "validate" => {
            given.only(&["source"])?;
            Operation::Validate { source: given.validated()? }
        }
        "close-session" => {
            given.only(&[])?;
            Operation::CloseSession
        }
        "kill-session" => kill_session(&given)?,
        _ => return Err(operation_not_supported(name)),
    };
    Ok(operation)
}

fn update(given: &Parameters<'_, '_, '_>) -> Result<Operation, Error> {
    given.only(&["resolution-mode"])?;
    Ok(Operation::Update { resolution: given.choice("resolution-mode", &Resolution::NAMES)? })
}

fn get(given: &Parameters<'_, '_, '_>) -> Result<Operation, Error> {
    given.only_and(&["filter"], (WITH_DEFAULTS, "with-defaults"))?;
    Ok(Operation::Get { filter: given.filter()?, with_defaults: given.with_defaults()? })
}

fn get_config(given: &Parameters<'_, '_, '_>) -> Result<Operation, Error> {
    given.only_and(&["source", "filter"], (WITH_DEFAULTS, "with-defaults"))?;
    let source = given.datastore("source")?;
    Ok(Operation::GetConfig { source, filter: given.filter()?, with_defaults: given.with_defaults()? })
}

fn copy_config(given: &Parameters<'_, '_, '_>) -> Result<Operation, Error> {
    given.only_and(&["target", "source"], (WITH_DEFAULTS, "with-defaults"))?;
    let target = given.target()?;
    Ok(Operation::CopyConfig { target, source: given.source()?, with_defaults: given.with_defaults()? })
}

fn edit_config(given: &Parameters<'_, '_, '_>) -> Result<Operation, Error> {
    given.only(&["target", "default-operation", "test-option", "error-option", "config", "url"])?;
    Ok(Operation::EditConfig {
        target: given.datastore("target")?,
        default_operation: given.default_operation()?,
        test_option: given.choice(
            "test-option",
            &[
                ("test-then-set", TestOption::TestThenSet),
                ("set", TestOption::Set),
                ("test-only", TestOption::TestOnly),
            ],
        )?,
        error_option: given.choice(
            "error-option",
            &[
                ("stop-on-error", ErrorOption::StopOnError),
                ("continue-on-error", ErrorOption::ContinueOnError),
                ("rollback-on-error", ErrorOption::RollbackOnError),
            ],
        )?,
        config: given.content()?,
    })
}

/// RFC 6241 section 8.4.5.1. What makes sense for a confirmed commit only is refused without `<confirmed/>`.
fn commit(given: &Parameters<'_, '_, '_>) -> Result<CommitOptions, Error> {
    given.only_and(&["confirmed", "confirm-timeout", "persist", "persist-id"], (EXEC, "comment"))?;
    let confirmed = given.optional("confirmed")?.is_some();
    let timeout_s = given.timeout()?;
    let persist = given.token("persist")?;
    let persist_id = given.token("persist-id")?;
    let alone = [(timeout_s.is_some(), "confirm-timeout"), (persist.is_some(), "persist")];
    if let Some((_, name)) = alone.into_iter().find(|(given, _)| *given && !confirmed) {
        return Err(missing_element("confirmed", format!("<{name}> goes with <confirmed/> only")));
    }
    let timeout_s = timeout_s.unwrap_or(Confirmed::DEFAULT_TIMEOUT_S);
    let (confirmed, comment) = (confirmed.then_some(Confirmed { timeout_s, persist }), given.comment()?);
    Ok(CommitOptions { confirmed, persist_id, comment })
}

fn kill_session(given: &Parameters<'_, '_, '_>) -> Result<Operation, Error> {
    given.only(&["session-id"])?;
    let text = text_of(given.required("session-id")?);
    match text.parse() {
        Ok(session_id) if session_id > 0 => Ok(Operation::KillSession { session_id }),
        _ => Err(invalid_value("session-id", &text, "a number of 1 to 4294967295")),
    }
}

fn get_schema(given: &Parameters<'_, '_, '_>) -> Result<Operation, Error> {
    given.only(&["identifier", "version", "format"])?;
    let identifier = text_of(given.required("identifier")?);
    let version = given.optional("version")?.map(text_of).filter(|version| !version.is_empty());
    let format = match given.optional("format")? {
        Some(node) => Some(identity(node)?),
        None => None,
    };
    Ok(Operation::GetSchema { identifier, version, format })
}

/// The local name of an identityref whose identities are those of ietf-netconf-monitoring.
fn identity(node: Node<'_, '_>) -> Result<String, Error> {
    let text = text_of(node);
    let (namespace, name) = match text.split_once(':') {
        Some((prefix, name)) => (node.lookup_namespace_uri(Some(prefix)), name),
        None => (Some(MONITORING), text.as_str()),
    };
    if namespace == Some(MONITORING) {
        return Ok(name.to_owned());
    }
    Err(invalid_value("format", &text, "an identity of ietf-netconf-monitoring, such as yang"))
}

/// The parameters of one operation: its child elements.
pub(crate) struct Parameters<'n, 'd, 's> {
    operation: Node<'n, 'd>,
    source: &'s str,
}

impl<'n, 'd, 's> Parameters<'n, 'd, 's> {
    fn of(operation: Node<'n, 'd>, source: &'s str) -> Self {
        Self { operation, source }
    }

    pub(crate) fn elements(&self) -> impl Iterator<Item = Node<'n, 'd>> {
        self.operation.children().filter(Node::is_element)
    }

    /// Refuses parameters that the operation does not have.
    pub(crate) fn only(&self, names: &[&str]) -> Result<(), Error> {
        self.only_and(names, ("", ""))
    }

    /// The same, with one more parameter, which another module gives the operation.
    fn only_and(&self, names: &[&str], more: (&str, &str)) -> Result<(), Error> {
        for node in self.elements() {
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

    pub(crate) fn optional(&self, name: &'static str) -> Result<Option<Node<'n, 'd>>, Error> {
        let mut found = self.elements().filter(|node| node.tag_name().name() == name);
        let first = found.next();
        if found.next().is_some() {
            return Err(Error::protocol(ErrorTag::BadElement, format!("<{name}> is given twice"))
                .with(ErrorInfo::BadElement(name.to_owned())));
        }
        Ok(first)
    }

    pub(crate) fn required(&self, name: &'static str) -> Result<Node<'n, 'd>, Error> {
        self.optional(name)?.ok_or_else(|| {
            let operation = self.operation.tag_name().name();
            missing_element(name, format!("<{operation}> needs a <{name}>"))
        })
    }

    pub(crate) fn fragment(&self, node: Node<'_, '_>) -> XmlFragment {
        XmlFragment::cut(node, self.source)
    }

    /// `confirm-timeout`.
    fn timeout(&self) -> Result<Option<u32>, Error> {
        let Some(node) = self.optional("confirm-timeout")? else { return Ok(None) };
        let text = text_of(node);
        match text.parse() {
            Ok(seconds) if seconds > 0 => Ok(Some(seconds)),
            _ => Err(invalid_value("confirm-timeout", &text, "a number of seconds from 1 to 4294967295")),
        }
    }

    /// `persist` or `persist-id`.
    fn token(&self, name: &'static str) -> Result<Option<String>, Error> {
        let Some(token) = self.optional(name)?.map(text_of) else { return Ok(None) };
        if token.len() > TOKEN_MAX {
            let message = format!("<{name}> has {} bytes; at most {TOKEN_MAX} are accepted", token.len());
            let error = Error::protocol(ErrorTag::InvalidValue, message);
            return Err(error.with(ErrorInfo::BadElement(name.to_owned())));
        }
        Ok(Some(token))
    }

    /// `comment` of `cats-exec`.
    fn comment(&self) -> Result<Option<String>, Error> {
        let Some(comment) = self.optional("comment")?.map(text_of) else { return Ok(None) };
        let length = comment.chars().count();
        if (1..=COMMENT_MAX).contains(&length) {
            return Ok(Some(comment));
        }
        let message = format!("<comment> has {length} characters; 1 to {COMMENT_MAX} are accepted");
        let error = Error::protocol(ErrorTag::InvalidValue, message);
        Err(error.with(ErrorInfo::BadElement("comment".to_owned())))
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
        Ok(first)
    }

    fn datastore(&self, name: &'static str) -> Result<Datastore, Error> {
        datastore(self.place(name)?, name)
    }

    fn source(&self) -> Result<Source, Error> {
        let node = self.place("source")?;
        if node.has_tag_name((BASE, "config")) {
            return Ok(Source::Config(Content::Inline(self.fragment(node))));
        }
        if node.has_tag_name((BASE, "url")) {
            return Ok(Source::Config(Content::Url(text_of(node))));
        }
        datastore(node, "source").map(Source::Datastore)
    }

    fn target(&self) -> Result<Target, Error> {
        let node = self.place("target")?;
        if node.has_tag_name((BASE, "url")) {
            return Ok(Target::Url(text_of(node)));
        }
        datastore(node, "target").map(Target::Datastore)
    }

    /// `<config>` or `<url>` of edit-config and edit-data.
    pub(crate) fn content(&self) -> Result<Content, Error> {
        match (self.optional("config")?, self.optional("url")?) {
            (Some(config), None) => Ok(Content::Inline(self.fragment(config))),
            (None, Some(url)) => Ok(Content::Url(text_of(url))),
            (None, None) => self.required("config").map(|config| Content::Inline(self.fragment(config))),
            (Some(_), Some(_)) => {
                let message = "<config> and <url> exclude each other";
                Err(Error::protocol(ErrorTag::BadElement, message)
                    .with(ErrorInfo::BadElement("url".to_owned())))
            }
        }
    }

    /// The target of `lock` and `unlock`, which RFC 8526 section 3.2 lets be named by an identity.
    fn lockable(&self) -> Result<Datastore, Error> {
        let node = self.place("target")?;
        if !node.has_tag_name((NMDA, "datastore")) {
            return datastore(node, "target");
        }
        match NmdaDatastore::of(node)? {
            NmdaDatastore::Running => Ok(Datastore::Running),
            NmdaDatastore::Candidate => Ok(Datastore::Candidate),
            NmdaDatastore::Intended | NmdaDatastore::Operational => {
                let expected = "a datastore that is written, running or candidate,";
                Err(invalid_value("datastore", &text_of(node), expected))
            }
        }
    }

    /// The source of `validate`, which RFC 8526 section 3.2 lets be named by an identity.
    fn validated(&self) -> Result<Source, Error> {
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
                Err(invalid_value("datastore", &text_of(node), expected))
            }
        }
    }

    fn choice<T: Copy + Default>(&self, name: &'static str, values: &[(&str, T)]) -> Result<T, Error> {
        match self.optional(name)? {
            Some(node) => choice_of(name, &text_of(node), values),
            None => Ok(T::default()),
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
    match (namespace, name) {
        (Some(BASE), "running") => Ok(Datastore::Running),
        (Some(BASE), "candidate") => Ok(Datastore::Candidate),
        (_, _) => Err(Error::protocol(
            ErrorTag::UnknownElement,
            format!("<{name}> in <{place}> is not supported: running and candidate are"),
        )
        .with(ErrorInfo::BadElement(name.to_owned()))),
    }
}

pub(crate) fn text_of(node: Node<'_, '_>) -> String {
    node.children().filter_map(|child| child.text()).collect::<String>().trim().to_owned()
}

fn malformed(message: String) -> Error {
    rpc_error(ErrorTag::MalformedMessage, message)
}

fn rpc_error(tag: ErrorTag, message: String) -> Error {
    Error::new(ErrorType::Rpc, tag, message)
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
