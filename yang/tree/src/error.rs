//! The words of a management error, shared by everything that can refuse a configuration: RFC 6241 appendix A
//! (`error-tag`), RFC 7950 section 15 (`error-app-tag`).

mod many;

pub use many::{Errors, MOST, counts_others, in_one_answer};

use std::fmt;

/// `error-type` of RFC 6241 section 4.3: the layer in which the error occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorType {
    /// Secure transport.
    Transport,
    /// The `<rpc>` layer.
    Rpc,
    /// The operation itself.
    Protocol,
    /// The content: data models.
    Application,
}

/// `error-tag` of RFC 6241 appendix A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // each is the tag of its own name
pub enum ErrorTag {
    InUse,
    InvalidValue,
    TooBig,
    MissingAttribute,
    BadAttribute,
    UnknownAttribute,
    MissingElement,
    BadElement,
    UnknownElement,
    UnknownNamespace,
    AccessDenied,
    LockDenied,
    ResourceDenied,
    RollbackFailed,
    DataExists,
    DataMissing,
    OperationNotSupported,
    OperationFailed,
    MalformedMessage,
}

/// One element of `error-info`: the standard ones of RFC 6241 and RFC 7950.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorInfo {
    /// Name of the offending attribute.
    BadAttribute(String),
    /// Name of the offending element.
    BadElement(String),
    /// The unknown namespace.
    BadNamespace(String),
    /// The session that holds the lock; 0 for a holder that is not a NETCONF session.
    SessionId(u32),
    /// RFC 7950 section 15.1: the instances that violate `unique`, as instance-identifiers.
    NonUnique(Path),
    /// RFC 7950 section 15.6: the choice that lacks a case.
    MissingChoice(String),
    /// A structure that a module defines for its errors.
    Structure(Box<Structure>),
}

/// Data in an error that stand in no datastore, such as `yang-data` of RFC 8040 section 8: a container of leafs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    /// The module that defines it.
    pub module: String,
    /// Its name.
    pub name: String,
    /// Its leafs by their names, in order.
    pub leafs: Vec<(String, StructureLeaf)>,
}

/// The value of a leaf of a [`Structure`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StructureLeaf {
    /// Any text, a number too.
    Text(String),
    /// `module:identity`.
    Identity(String),
}

/// A place in a data tree, as an instance-identifier in the RFC 7951 form: module names instead of prefixes,
/// repeated only where the module changes: `/ietf-routing:routing/ietf-cats:cats/base/enable`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Path(pub String);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One `rpc-error`, complete but for its encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The layer.
    pub kind: ErrorType,
    /// The tag.
    pub tag: ErrorTag,
    /// `error-app-tag`, such as `instance-required` of RFC 7950 section 15.5.
    pub app_tag: Option<String>,
    /// Where; printed with declared prefixes.
    pub path: Option<Path>,
    /// What is wrong and what would be right, for a person.
    pub message: String,
    /// `error-info` in order.
    pub info: Vec<ErrorInfo>,
}

impl Error {
    /// An error of the content layer, without path.
    pub fn application(tag: ErrorTag, message: impl Into<String>) -> Self {
        Self::new(ErrorType::Application, tag, message)
    }

    /// An error of the operation layer, without path.
    pub fn protocol(tag: ErrorTag, message: impl Into<String>) -> Self {
        Self::new(ErrorType::Protocol, tag, message)
    }

    /// An error of any layer.
    pub fn new(kind: ErrorType, tag: ErrorTag, message: impl Into<String>) -> Self {
        Self { kind, tag, app_tag: None, path: None, message: message.into(), info: Vec::new() }
    }

    /// The same error at `path`.
    #[must_use]
    pub fn at(mut self, path: Path) -> Self {
        self.path = Some(path);
        self
    }

    /// The same error with one more element of `error-info`.
    #[must_use]
    pub fn with(mut self, info: ErrorInfo) -> Self {
        self.info.push(info);
        self
    }

    /// The same error with an `error-app-tag`.
    #[must_use]
    pub fn app_tag(mut self, tag: impl Into<String>) -> Self {
        self.app_tag = Some(tag.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.tag, self.message)?;
        if let Some(path) = &self.path {
            write!(f, " (at {path})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// How a message quotes what a peer sent: its first 64 characters at most.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(64) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorType::Transport => "transport",
            ErrorType::Rpc => "rpc",
            ErrorType::Protocol => "protocol",
            ErrorType::Application => "application",
        })
    }
}

impl fmt::Display for ErrorTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorTag::InUse => "in-use",
            ErrorTag::InvalidValue => "invalid-value",
            ErrorTag::TooBig => "too-big",
            ErrorTag::MissingAttribute => "missing-attribute",
            ErrorTag::BadAttribute => "bad-attribute",
            ErrorTag::UnknownAttribute => "unknown-attribute",
            ErrorTag::MissingElement => "missing-element",
            ErrorTag::BadElement => "bad-element",
            ErrorTag::UnknownElement => "unknown-element",
            ErrorTag::UnknownNamespace => "unknown-namespace",
            ErrorTag::AccessDenied => "access-denied",
            ErrorTag::LockDenied => "lock-denied",
            ErrorTag::ResourceDenied => "resource-denied",
            ErrorTag::RollbackFailed => "rollback-failed",
            ErrorTag::DataExists => "data-exists",
            ErrorTag::DataMissing => "data-missing",
            ErrorTag::OperationNotSupported => "operation-not-supported",
            ErrorTag::OperationFailed => "operation-failed",
            ErrorTag::MalformedMessage => "malformed-message",
        })
    }
}
