//! Leaf values in canonical form, and the words in which they may be given: XML or CLI text, JSON tokens.

mod canonical;
mod parse;
pub(crate) mod xpath;

use crate::error::{Error, ErrorTag};
use crate::schema::{ModuleId, Schema, TypeRef};
use std::fmt;
use std::sync::Arc;

/// A canonical value. Equal values are equal in the sense of their type; names of identities and of nodes in
/// instance-identifiers are qualified by modules, never by prefixes. The payload is at most 16 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// `empty`.
    Empty,
    /// `boolean`.
    Bool(bool),
    /// `int8`, `int16`, `int32`.
    Int32(i32),
    /// `uint8`, `uint16`, `uint32`.
    Uint32(u32),
    /// `int64`.
    Int64(i64),
    /// `uint64`.
    Uint64(u64),
    /// `decimal64`: `unscaled` / 10^`digits`.
    #[allow(missing_docs)]
    Decimal64 { digits: u8, unscaled: i64 },
    /// `string`, in the canonical form of its typedef.
    String(Arc<str>),
    /// The name of an `enum`.
    Enum(Arc<str>),
    /// Names of set bits in the order of their positions, one space between.
    Bits(Arc<str>),
    /// `module:identity`.
    Identity(Arc<str>),
    /// An instance-identifier in the RFC 7951 form, see [`crate::error::Path`], or an XPath expression whose
    /// prefixes are names of modules.
    Instance(Arc<str>),
    /// Base64 of RFC 4648 section 4 without white space.
    Binary(Arc<str>),
}

/// Where a text stands: a module writes integers otherwise than data do, and RFC 7951 section 6 gives each type its
/// own JSON token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// Not JSON: XML content, a CLI word. Any type may read it.
    Text,
    /// A `default` in a module. Any type may read it, and integers in hexadecimal and octal too.
    Default,
    /// A JSON number.
    Number,
    /// A JSON string.
    String,
    /// `true` or `false`.
    Boolean,
    /// `[null]`.
    Empty,
}

/// How the names inside a value are to be resolved.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// From a prefix (none: an unprefixed name) to its module.
    pub resolve: &'a dyn Fn(Option<&str>) -> Option<ModuleId>,
    /// An unprefixed step of a path belongs to the module of the step before it (RFC 7951 section 6.11) rather
    /// than to what `resolve(None)` says.
    pub inherit: bool,
}

/// Why a text is not a value of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// What is wrong and what would be right.
    pub message: String,
    /// The `error-app-tag` of the restriction that it breaks, if that has one.
    pub app_tag: Option<String>,
}

impl Invalid {
    /// The `invalid-value` error of the leaf called `name`.
    pub fn into_error(self, name: &str) -> Error {
        let error = Error::application(ErrorTag::InvalidValue, format!("{name}: {}", self.message));
        match self.app_tag {
            Some(tag) => error.app_tag(tag),
            None => error,
        }
    }
}

impl Value {
    /// Reads a value of `ty`, checks every restriction and brings it to canonical form.
    ///
    /// # Errors
    /// When the text is no value of the type.
    pub fn parse(
        schema: &Schema,
        ty: &TypeRef,
        names: Names<'_>,
        token: Token,
        text: &str,
    ) -> Result<Value, Invalid> {
        parse::value(schema, ty, names, token, text)
    }

    /// Reads a value as in a CLI or a path in the RFC 7951 form: `module:name`, unprefixed names in `module`.
    ///
    /// # Errors
    /// When the text is no value of the type.
    pub fn parse_text(schema: &Schema, ty: &TypeRef, module: ModuleId, text: &str) -> Result<Value, Invalid> {
        let resolve = |name: Option<&str>| match name {
            None => Some(module),
            Some(name) => schema.module_by_name(name),
        };
        parse::value(schema, ty, Names { resolve: &resolve, inherit: true }, Token::Text, text)
    }

    /// The text of string-like values, without a copy; none for numbers, booleans and `empty`.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text)
            | Value::Enum(text)
            | Value::Bits(text)
            | Value::Identity(text)
            | Value::Instance(text)
            | Value::Binary(text) => Some(text),
            Value::Empty
            | Value::Bool(_)
            | Value::Int32(_)
            | Value::Uint32(_)
            | Value::Int64(_)
            | Value::Uint64(_)
            | Value::Decimal64 { .. } => None,
        }
    }

    /// The value in the encoding of RFC 7951 section 6.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Empty => serde_json::Value::Array(vec![serde_json::Value::Null]),
            Value::Bool(value) => serde_json::Value::Bool(*value),
            Value::Int32(value) => serde_json::Value::from(*value),
            Value::Uint32(value) => serde_json::Value::from(*value),
            Value::Int64(_)
            | Value::Uint64(_)
            | Value::Decimal64 { .. }
            | Value::String(_)
            | Value::Enum(_)
            | Value::Bits(_)
            | Value::Identity(_)
            | Value::Instance(_)
            | Value::Binary(_) => serde_json::Value::String(self.to_string()),
        }
    }
}

impl fmt::Display for Value {
    /// The canonical form; identities and instance-identifiers with module names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Empty => Ok(()),
            Value::Bool(value) => value.fmt(f),
            Value::Int32(value) => value.fmt(f),
            Value::Uint32(value) => value.fmt(f),
            Value::Int64(value) => value.fmt(f),
            Value::Uint64(value) => value.fmt(f),
            Value::Decimal64 { digits, unscaled } => canonical::write_decimal(f, *digits, *unscaled),
            Value::String(text)
            | Value::Enum(text)
            | Value::Bits(text)
            | Value::Identity(text)
            | Value::Instance(text)
            | Value::Binary(text) => f.write_str(text),
        }
    }
}

/// A `default`: names are qualified by a module's name or, failing that, by a prefix of the set.
pub(crate) fn parse_default(
    schema: &Schema,
    ty: &TypeRef,
    module: ModuleId,
    text: &str,
) -> Result<Value, Invalid> {
    let resolve = |name: Option<&str>| match name {
        None => Some(module),
        Some(name) => schema.module_by_name(name).or_else(|| schema.module_by_prefix(name)),
    };
    parse::value(schema, ty, Names { resolve: &resolve, inherit: true }, Token::Default, text)
}
