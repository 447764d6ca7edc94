//! From the bytes of a message to an [`Rpc`], or to the error that RFC 6241 asks for.

use crate::compare;
use crate::fragment::XmlFragment;
use crate::names::{BASE, COMPARE, EXEC, MONITORING, NMDA, NOTIFICATION, PRIVATE_CANDIDATE, WITH_DEFAULTS};
use crate::nmda;
use crate::parameters::{
    Parameters, invalid_value, missing_element, no_attributes, no_text, string_of, word_of,
};
use crate::rpc::{
    CommitOptions, Confirmed, Echo, ErrorOption, Operation, Resolution, Rpc, TestOption,
    operation_not_supported,
};
use crate::scan;
use crate::subscription;
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, ErrorType};
use cats_yang_tree::xml::{Unread, document};
use roxmltree::{Attribute, Node};

/// `persist` and `persist-id` may be so long, bytes.
const TOKEN_MAX: usize = 1024;

/// A comment may be so long, characters, as `cats-exec` says.
const COMMENT_MAX: usize = 1024;

/// The attributes of an `<rpc>` may be so long, bytes: each reply repeats them.
const ECHO_MAX: usize = 16 << 10;

/// A `message-id` of so many bytes is repeated where the other attributes are too long. RFC 6241 appendix B has no more.
const MESSAGE_ID_MAX: usize = 4 << 10;

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
    let too_big = |why| {
        let error = Error::new(ErrorType::Rpc, ErrorTag::TooBig, why);
        Box::new(Refused { attributes: echo_of_head(message), error })
    };
    let depth = scan::depth(text);
    if depth > depth_limit {
        return Err(too_big(format!("elements nest {depth} deep; at most {depth_limit} are accepted")));
    }
    let document = document(text).map_err(|unread| match unread {
        Unread::TooBig(why) => too_big(why),
        Unread::Malformed(why) => bare(malformed(format!("the message is not well-formed XML: {why}"))),
    })?;
    let root = document.root_element();
    let attributes = match echo(root, text) {
        Ok(attributes) => attributes,
        Err(TooLong { bytes, attributes }) => {
            let why = format!("the attributes of <rpc> have {bytes} bytes; at most {ECHO_MAX} are accepted");
            return Err(Box::new(Refused { attributes, error: rpc_error(ErrorTag::TooBig, why) }));
        }
    };
    parse_root(root, text, attributes.clone()).map_err(|error| Box::new(Refused { attributes, error }))
}

/// What the reply to a message above the size limit repeats.
pub(crate) fn echo_of_head(head: &[u8]) -> Echo {
    scan::first_tag(head).map(|tag| echo_of(&tag)).unwrap_or_default()
}

fn echo_of(tag: &str) -> Echo {
    let Ok(document) = document(tag) else { return Echo::default() };
    echo(document.root_element(), tag).unwrap_or_else(|too_long| too_long.attributes)
}

/// More attributes than a reply repeats, and those of them that it repeats all the same.
struct TooLong {
    bytes: usize,
    attributes: Echo,
}

/// RFC 6241 section 4.1: all attributes as they were written, and all declarations of namespaces.
fn echo(root: Node<'_, '_>, source: &str) -> Result<Echo, TooLong> {
    let mut echo = Echo::default();
    for namespace in root.namespaces() {
        match namespace.name() {
            // As the reply's own.
            None if namespace.uri() == BASE => {}
            None => {
                // Without a prefix for it the root is no <rpc>.
                let Some(prefix) = root.lookup_prefix(BASE) else { continue };
                echo.prefix = Some(prefix.to_owned());
                declare(&mut echo.attributes, "xmlns", namespace.uri());
            }
            Some("xml") => {}
            Some(prefix) => declare(&mut echo.attributes, &format!("xmlns:{prefix}"), namespace.uri()),
        }
    }
    for attribute in root.attributes() {
        echo.attributes.push(' ');
        echo.attributes.push_str(source.get(attribute.range()).unwrap_or_default());
    }
    let bytes = echo.attributes.len();
    if bytes <= ECHO_MAX {
        return Ok(echo);
    }
    let id = message_id(root).and_then(|id| source.get(id.range()));
    let id = id.filter(|id| id.len() <= MESSAGE_ID_MAX).map(|id| format!(" {id}"));
    Err(TooLong { bytes, attributes: Echo { attributes: id.unwrap_or_default(), prefix: None } })
}

/// Not one of another namespace, which the parser would take for it when it is asked by the bare name.
pub(crate) fn message_id<'a, 'd>(root: Node<'a, 'd>) -> Option<Attribute<'a, 'd>> {
    root.attributes().find(|found| found.namespace().is_none() && found.name() == "message-id")
}

fn declare(out: &mut String, name: &str, uri: &str) {
    // A parser would read a bare one as a blank.
    let uri =
        quick_xml::escape::escape(uri).replace('\t', "&#9;").replace('\n', "&#10;").replace('\r', "&#13;");
    out.push_str(&format!(" {name}=\"{uri}\""));
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
    let Some(message_id) = message_id(root).map(|id| id.value()) else {
        return Err(rpc_error(ErrorTag::MissingAttribute, "<rpc> has no message-id".to_owned())
            .with(ErrorInfo::BadAttribute("message-id".to_owned()))
            .with(ErrorInfo::BadElement("rpc".to_owned())));
    };
    no_text(root).map_err(|error| Error { kind: ErrorType::Rpc, ..error })?;
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
        Some(NOTIFICATION) => subscription::parse(&Parameters::of(node, source), name)?
            .ok_or_else(|| operation_not_supported(name)),
        other => {
            no_attributes(node)?;
            let namespace = other.unwrap_or_default().to_owned();
            Ok(Operation::Other { namespace, name: name.to_owned(), xml: XmlFragment::cut(node, source) })
        }
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
            Operation::CancelCommit { persist_id: token(&given, "persist-id")? }
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
    let confirmed = given.flag("confirmed")?;
    let timeout_s = timeout(given)?;
    let persist = token(given, "persist")?;
    let persist_id = token(given, "persist-id")?;
    let alone = [(timeout_s.is_some(), "confirm-timeout"), (persist.is_some(), "persist")];
    if let Some((_, name)) = alone.into_iter().find(|(given, _)| *given && !confirmed) {
        return Err(missing_element("confirmed", format!("<{name}> goes with <confirmed/> only")));
    }
    let timeout_s = timeout_s.unwrap_or(Confirmed::DEFAULT_TIMEOUT_S);
    let (confirmed, comment) = (confirmed.then_some(Confirmed { timeout_s, persist }), comment(given)?);
    Ok(CommitOptions { confirmed, persist_id, comment })
}

/// `confirm-timeout`.
fn timeout(given: &Parameters<'_, '_, '_>) -> Result<Option<u32>, Error> {
    let expected = "a number of seconds from 1 to 4294967295";
    match given.number("confirm-timeout", expected)? {
        Some(0) => Err(invalid_value("confirm-timeout", "0", expected)),
        seconds => Ok(seconds),
    }
}

/// `persist` or `persist-id`: a string of any content, and of zero length too.
fn token(given: &Parameters<'_, '_, '_>, name: &'static str) -> Result<Option<String>, Error> {
    let Some(token) = given.string(name)? else { return Ok(None) };
    if token.len() > TOKEN_MAX {
        let message = format!("<{name}> has {} bytes; at most {TOKEN_MAX} are accepted", token.len());
        let error = Error::protocol(ErrorTag::InvalidValue, message);
        return Err(error.with(ErrorInfo::BadElement(name.to_owned())));
    }
    Ok(Some(token))
}

/// `comment` of `cats-exec`.
fn comment(given: &Parameters<'_, '_, '_>) -> Result<Option<String>, Error> {
    let Some(comment) = given.string("comment")? else { return Ok(None) };
    let length = comment.chars().count();
    if (1..=COMMENT_MAX).contains(&length) {
        return Ok(Some(comment));
    }
    let message = format!("<comment> has {length} characters; 1 to {COMMENT_MAX} are accepted");
    let error = Error::protocol(ErrorTag::InvalidValue, message);
    Err(error.with(ErrorInfo::BadElement("comment".to_owned())))
}

fn kill_session(given: &Parameters<'_, '_, '_>) -> Result<Operation, Error> {
    given.only(&["session-id"])?;
    let text = word_of(given.required("session-id")?)?;
    match text.parse() {
        Ok(session_id) if session_id > 0 => Ok(Operation::KillSession { session_id }),
        _ => Err(invalid_value("session-id", &text, "a number of 1 to 4294967295")),
    }
}

fn get_schema(given: &Parameters<'_, '_, '_>) -> Result<Operation, Error> {
    given.only(&["identifier", "version", "format"])?;
    let identifier = string_of(given.required("identifier")?)?;
    // Of a module without a revision it is a string of zero length.
    let version = given.string("version")?;
    let format = match given.optional("format")? {
        Some(node) => Some(identity(node)?),
        None => None,
    };
    Ok(Operation::GetSchema { identifier, version, format })
}

/// The local name of an identityref whose identities are those of ietf-netconf-monitoring.
fn identity(node: Node<'_, '_>) -> Result<String, Error> {
    let text = word_of(node)?;
    let (namespace, name) = match text.split_once(':') {
        Some((prefix, name)) => (node.lookup_namespace_uri(Some(prefix)), name),
        None => (Some(MONITORING), text.as_str()),
    };
    if namespace == Some(MONITORING) {
        return Ok(name.to_owned());
    }
    Err(invalid_value("format", &text, "an identity of ietf-netconf-monitoring, such as yang"))
}

fn malformed(message: String) -> Error {
    rpc_error(ErrorTag::MalformedMessage, message)
}

fn rpc_error(tag: ErrorTag, message: String) -> Error {
    Error::new(ErrorType::Rpc, tag, message)
}
