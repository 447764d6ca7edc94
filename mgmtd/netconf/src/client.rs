//! The client's end of a session.

use crate::fragment::XmlFragment;
use crate::framing::{Decoder, Event, Framing, encode};
use crate::grammar::message_id;
use crate::hello::{Hello, HelloError};
use crate::modules::{Modules, NoModules};
use crate::names::{BASE, BASE_1_0, BASE_1_1, MONITORING, NMDA, YANG};
use crate::path::to_modules;
use crate::rpc::Operation;
use crate::scan;
use crate::session::{CloseReason, Limits};
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, ErrorType, Path, Structure, StructureLeaf};
use roxmltree::{Document, Node};
use std::collections::VecDeque;
use std::time::Instant;
use thiserror::Error as ThisError;

/// So many requests may wait for their replies.
const OUTSTANDING: usize = 256;

/// What a client is given.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// The base capabilities to announce; both by default.
    pub bases: Vec<String>,
    /// Bounds of what is received; `idle` is not used.
    pub limits: Limits,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self { bases: vec![BASE_1_0.to_owned(), BASE_1_1.to_owned()], limits: Limits::default() }
    }
}

/// What a client has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientOutput {
    /// Bytes for the server, to be written in order.
    Send(Vec<u8>),
    /// The server's hello came: requests may be made.
    Ready(Hello),
    /// A reply; they come in the order of the requests.
    Reply(RawReply),
    /// The end. Nothing follows.
    Closed(CloseReason),
}

/// Why a request cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
pub enum ClientError {
    /// Before the server's hello.
    #[error("the session is not open yet: the server's hello has not come")]
    NotReady,
    /// After the end.
    #[error("the session is closed")]
    Closed,
    /// Too many wait for replies already.
    #[error("{OUTSTANDING} requests wait for their replies already")]
    TooMany,
}

/// An `<rpc-reply>` as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawReply {
    /// The number that [`Client::request`] gave; absent if the server could not read the request's.
    pub message_id: Option<u64>,
    /// The whole message.
    pub xml: String,
}

/// A reply, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// `<ok/>`.
    Ok,
    /// The `<data>` element, of `get`, `get-config`, `get-data` or `get-schema`.
    Data(XmlFragment),
    /// The output elements of any other operation.
    Output(Vec<XmlFragment>),
    /// One for each `<rpc-error>` of severity error.
    Errors(Vec<Error>),
}

/// A reply that is none.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[error("the server's reply is not valid: {0}")]
pub struct AnswerError(String);

/// The client's end of a NETCONF session, without I/O. After each call drain [`Client::poll_output`].
#[derive(Debug)]
pub struct Client {
    settings: ClientSettings,
    decoder: Decoder,
    sending: Framing,
    stage: Stage,
    next_id: u64,
    outstanding: VecDeque<u64>,
    outputs: VecDeque<ClientOutput>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Hello { deadline: Instant },
    Open,
    Closed,
}

impl Client {
    /// A session that begins now; its first output is the hello.
    pub fn new(settings: ClientSettings, now: Instant) -> Self {
        let hello = Hello { capabilities: settings.bases.clone(), session_id: None };
        let mut client = Self {
            decoder: Decoder::new(settings.limits.message),
            sending: Framing::EndOfMessage,
            stage: Stage::Hello { deadline: now + settings.limits.hello },
            next_id: 1,
            outstanding: VecDeque::new(),
            outputs: VecDeque::new(),
            settings,
        };
        client.send(vec![hello.to_xml()]);
        client
    }

    /// The next output.
    pub fn poll_output(&mut self) -> Option<ClientOutput> {
        self.outputs.pop_front()
    }

    /// When [`Client::handle_timeout`] is to be called, and for what.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match self.stage {
            Stage::Hello { deadline } => Some((deadline, "hello")),
            Stage::Open | Stage::Closed => None,
        }
    }

    /// Sends an operation and returns the number of its reply.
    ///
    /// # Errors
    /// The session is not open, or too much waits for replies.
    pub fn request(&mut self, operation: &Operation) -> Result<u64, ClientError> {
        self.request_xml(&operation.to_xml())
    }

    /// Sends an operation given as its element, with its own namespace declaration.
    ///
    /// # Errors
    /// As [`Client::request`].
    pub fn request_xml(&mut self, operation: &str) -> Result<u64, ClientError> {
        match self.stage {
            Stage::Hello { .. } => return Err(ClientError::NotReady),
            Stage::Closed => return Err(ClientError::Closed),
            Stage::Open if self.outstanding.len() >= OUTSTANDING => return Err(ClientError::TooMany),
            Stage::Open => {}
        }
        let id = self.next_id;
        self.next_id += 1;
        self.outstanding.push_back(id);
        let head = format!("<rpc xmlns=\"{BASE}\" message-id=\"{id}\">");
        self.send(vec![head, operation.to_owned(), "</rpc>".to_owned()]);
        Ok(id)
    }

    /// Takes what the server sent, in any segmentation.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && self.stage != Stage::Closed {
            match self.decoder.feed(rest) {
                Ok((used, event)) => {
                    rest = rest.get(used..).unwrap_or_default();
                    if let Some(event) = event {
                        self.message(event);
                    }
                }
                Err(error) => self.close(error.into()),
            }
        }
    }

    /// The server will send no more.
    pub fn handle_eof(&mut self) {
        self.close(CloseReason::Dropped);
    }

    /// Time has passed; what is due happens.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_some_and(|(due, _)| due <= now) {
            self.close(CloseReason::HelloTimeout);
        }
    }

    fn message(&mut self, event: Event) {
        match (self.stage, event) {
            (_, Event::TooBig { size, .. }) => {
                let limit = self.settings.limits.message;
                self.close(CloseReason::Connection(format!(
                    "a reply of {size} bytes, at most {limit} are accepted"
                )));
            }
            (Stage::Hello { .. }, Event::Message(message)) => match self.hello(&message) {
                Ok((hello, framing)) => {
                    self.decoder.set_framing(framing);
                    self.sending = framing;
                    self.stage = Stage::Open;
                    self.outputs.push_back(ClientOutput::Ready(hello));
                }
                Err(error) => self.close(error.into()),
            },
            (Stage::Open, Event::Message(message)) => self.reply(message),
            // A client gives nothing up.
            (Stage::Closed, Event::Message(_)) | (_, Event::Discarded { .. }) => {}
        }
    }

    fn hello(&self, message: &[u8]) -> Result<(Hello, Framing), HelloError> {
        let hello = Hello::parse(message).map_err(|error| refusal(message).unwrap_or(error))?;
        if hello.session_id.unwrap_or(0) == 0 {
            return Err(HelloError::NoSessionId);
        }
        let framing = hello.agree(&self.settings.bases)?;
        Ok((hello, framing))
    }

    fn reply(&mut self, message: Vec<u8>) {
        let Ok(xml) = String::from_utf8(message) else {
            return self.close(CloseReason::Connection("a reply that is not UTF-8".to_owned()));
        };
        let message_id = match message_id_of(&xml) {
            None => None,
            Some(text) => match self.outstanding.iter().position(|id| id.to_string() == text) {
                Some(at) => self.outstanding.remove(at),
                None => {
                    return self
                        .close(CloseReason::Connection(format!("a reply to message-id {text}, never sent")));
                }
            },
        };
        self.outputs.push_back(ClientOutput::Reply(RawReply { message_id, xml }));
    }

    fn close(&mut self, reason: CloseReason) {
        if self.stage != Stage::Closed {
            self.stage = Stage::Closed;
            self.outputs.push_back(ClientOutput::Closed(reason));
        }
    }

    fn send(&mut self, parts: Vec<String>) {
        self.outputs.extend(encode(self.sending, parts).into_iter().map(ClientOutput::Send));
    }
}

/// A server that does not want us may say why instead of a hello.
fn refusal(message: &[u8]) -> Option<HelloError> {
    let xml = std::str::from_utf8(message).ok()?.to_owned();
    match (RawReply { message_id: None, xml }).answer(&NoModules).ok()? {
        Answer::Errors(errors) => errors.into_iter().next().map(|error| HelloError::Refused(Box::new(error))),
        Answer::Ok | Answer::Data(_) | Answer::Output(_) => None,
    }
}

fn message_id_of(xml: &str) -> Option<String> {
    let tag = scan::first_tag(xml.as_bytes())?;
    let document = Document::parse(&tag).ok()?;
    message_id(document.root_element()).map(|id| id.value().to_owned())
}

impl RawReply {
    /// Reads the reply; `modules` turn error paths back to module names.
    ///
    /// # Errors
    /// It is no well-formed `<rpc-reply>`.
    pub fn answer(&self, modules: &dyn Modules) -> Result<Answer, AnswerError> {
        let document = Document::parse(&self.xml).map_err(|error| AnswerError(error.to_string()))?;
        let root = document.root_element();
        if !root.has_tag_name((BASE, "rpc-reply")) {
            return Err(AnswerError(format!("<{}> where <rpc-reply> is expected", root.tag_name().name())));
        }
        let elements: Vec<_> = root.children().filter(Node::is_element).collect();
        let is_error = |node: &&Node<'_, '_>| {
            node.has_tag_name((BASE, "rpc-error"))
                && child(**node, "error-severity").as_deref() != Some("warning")
        };
        let errors: Vec<_> =
            elements.iter().filter(is_error).map(|node| read_error(*node, modules)).collect();
        if !errors.is_empty() {
            return Ok(Answer::Errors(errors));
        }
        let rest: Vec<_> = elements.iter().filter(|node| !node.has_tag_name((BASE, "rpc-error"))).collect();
        match rest.as_slice() {
            [] => Ok(Answer::Ok),
            [one] if one.has_tag_name((BASE, "ok")) => Ok(Answer::Ok),
            [one] if [BASE, MONITORING, NMDA].iter().any(|of| one.has_tag_name((*of, "data"))) => {
                Ok(Answer::Data(XmlFragment::cut(**one, &self.xml)))
            }
            many => Ok(Answer::Output(many.iter().map(|node| XmlFragment::cut(**node, &self.xml)).collect())),
        }
    }
}

fn child(node: Node<'_, '_>, name: &str) -> Option<String> {
    let found = node.children().find(|child| child.has_tag_name((BASE, name)))?;
    Some(found.text().unwrap_or_default().trim().to_owned())
}

fn read_error(node: Node<'_, '_>, modules: &dyn Modules) -> Error {
    let kind = match child(node, "error-type").as_deref() {
        Some("transport") => ErrorType::Transport,
        Some("rpc") => ErrorType::Rpc,
        Some("protocol") => ErrorType::Protocol,
        Some(_) | None => ErrorType::Application,
    };
    let mut message = child(node, "error-message").unwrap_or_default();
    let tag_text = child(node, "error-tag").unwrap_or_default();
    let tag = tag_of(&tag_text).unwrap_or_else(|| {
        message = format!("{message} (error-tag '{tag_text}')");
        ErrorTag::OperationFailed
    });
    let mut error = Error::new(kind, tag, message);
    error.app_tag = child(node, "error-app-tag");
    error.path =
        node.children().find(|child| child.has_tag_name((BASE, "error-path"))).map(|at| path_of(at, modules));
    if let Some(info) = node.children().find(|child| child.has_tag_name((BASE, "error-info"))) {
        error.info = info.children().filter_map(|node| read_info(node, modules)).collect();
    }
    error
}

fn path_of(node: Node<'_, '_>, modules: &dyn Modules) -> Path {
    let module_of = |prefix: &str| {
        let namespace = node.lookup_namespace_uri(Some(prefix))?;
        modules.by_namespace(namespace).map(str::to_owned)
    };
    Path(to_modules(node.text().unwrap_or_default().trim(), &module_of))
}

/// What this crate does not know is left out.
fn read_info(node: Node<'_, '_>, modules: &dyn Modules) -> Option<ErrorInfo> {
    let text = || node.text().unwrap_or_default().trim().to_owned();
    match (node.tag_name().namespace(), node.tag_name().name()) {
        (Some(BASE), "bad-attribute") => Some(ErrorInfo::BadAttribute(text())),
        (Some(BASE), "bad-element") => Some(ErrorInfo::BadElement(text())),
        (Some(BASE), "bad-namespace") => Some(ErrorInfo::BadNamespace(text())),
        (Some(BASE), "session-id") => text().parse().ok().map(ErrorInfo::SessionId),
        (Some(YANG), "non-unique") => Some(ErrorInfo::NonUnique(path_of(node, modules))),
        (Some(YANG), "missing-choice") => Some(ErrorInfo::MissingChoice(text())),
        (Some(namespace), name) if namespace != BASE && namespace != YANG => {
            let module = modules.by_namespace(namespace)?.to_owned();
            let leafs = node
                .children()
                .filter(Node::is_element)
                .map(|leaf| (leaf.tag_name().name().to_owned(), structure_leaf(leaf, modules)));
            let structure = Structure { module, name: name.to_owned(), leafs: leafs.collect() };
            Some(ErrorInfo::Structure(Box::new(structure)))
        }
        (Some(_) | None, _) => None,
    }
}

/// What begins with the prefix of a module is taken for an identity.
fn structure_leaf(leaf: Node<'_, '_>, modules: &dyn Modules) -> StructureLeaf {
    let text = leaf.text().unwrap_or_default().trim();
    let identity = text.split_once(':').and_then(|(prefix, name)| {
        let module = modules.by_namespace(leaf.lookup_namespace_uri(Some(prefix))?)?;
        Some(StructureLeaf::Identity(format!("{module}:{name}")))
    });
    identity.unwrap_or_else(|| StructureLeaf::Text(text.to_owned()))
}

fn tag_of(text: &str) -> Option<ErrorTag> {
    const ALL: [ErrorTag; 19] = [
        ErrorTag::InUse,
        ErrorTag::InvalidValue,
        ErrorTag::TooBig,
        ErrorTag::MissingAttribute,
        ErrorTag::BadAttribute,
        ErrorTag::UnknownAttribute,
        ErrorTag::MissingElement,
        ErrorTag::BadElement,
        ErrorTag::UnknownElement,
        ErrorTag::UnknownNamespace,
        ErrorTag::AccessDenied,
        ErrorTag::LockDenied,
        ErrorTag::ResourceDenied,
        ErrorTag::RollbackFailed,
        ErrorTag::DataExists,
        ErrorTag::DataMissing,
        ErrorTag::OperationNotSupported,
        ErrorTag::OperationFailed,
        ErrorTag::MalformedMessage,
    ];
    ALL.into_iter().find(|tag| tag.to_string() == text)
}
