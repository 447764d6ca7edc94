//! Why an expression cannot be read or evaluated.

use super::Kind;
use crate::error::shown;
use std::fmt;

/// An expression that is no XPath 1.0, asks for what YANG data do not have, or costs too much. Offsets are bytes
/// from the start of the expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum XPathError {
    /// The grammar does not allow what stands there.
    #[error("at byte {at}: found {found}, expected {expected}")]
    #[allow(missing_docs)]
    Syntax { at: usize, found: String, expected: &'static str },
    /// A variable: no context of YANG or NETCONF binds any (RFC 7950 section 6.4.1).
    #[error("at byte {at}: variable '${}' is not bound: there are no variables here", shown(name))]
    #[allow(missing_docs)]
    Variable { at: usize, name: String },
    /// The namespace axis: data trees have no namespace nodes here.
    #[error(
        "at byte {at}: the namespace axis is not supported: compare namespace-uri() or use a prefix instead"
    )]
    #[allow(missing_docs)]
    NamespaceAxis { at: usize },
    /// A prefix that nothing binds.
    #[error("at byte {at}: prefix '{}' is not bound: declare it, or use a module's name", shown(prefix))]
    #[allow(missing_docs)]
    Prefix { at: usize, prefix: String },
    /// A function that is neither XPath's nor YANG's.
    #[error("at byte {at}: there is no function '{}()'", shown(name))]
    #[allow(missing_docs)]
    Function { at: usize, name: String },
    /// A function with too many or too few arguments.
    #[error("at byte {at}: {function}() takes {wanted}, not {given}")]
    #[allow(missing_docs)]
    Arguments { at: usize, function: &'static str, wanted: String, given: usize },
    /// Something that must be a node-set is none.
    #[error("at byte {at}: {what} takes a node-set, not a {found}")]
    #[allow(missing_docs)]
    NodeSet { at: usize, what: &'static str, found: Kind },
    /// The second argument of `re-match()` is no pattern.
    #[error("at byte {at}: '{}' is no pattern: {why}", shown(pattern))]
    #[allow(missing_docs)]
    Pattern { at: usize, pattern: String, why: String },
    /// The second argument of `derived-from()` names no identity.
    #[error("at byte {at}: '{}' names no identity", shown(identity))]
    #[allow(missing_docs)]
    Identity { at: usize, identity: String },
    /// The text is longer than [`super::MAX_LENGTH`].
    #[error("the expression is {length} octets long: at most {limit} are read")]
    #[allow(missing_docs)]
    TooLong { length: usize, limit: usize },
    /// Parentheses, predicates and arguments nest deeper than [`super::MAX_NESTING`].
    #[error("at byte {at}: expressions nest deeper than {limit}")]
    #[allow(missing_docs)]
    TooDeep { at: usize, limit: usize },
    /// The result has to be a node-set.
    #[error("the result is a {found}, not a node-set: name nodes, such as /module:container")]
    #[allow(missing_docs)]
    NotNodes { found: Kind },
    /// Evaluation took all the steps that it was given.
    #[error("evaluation ends after {limit} steps: ask for less, with keys in predicates and without '//'")]
    #[allow(missing_docs)]
    Steps { limit: u64 },
    /// Evaluation holds more nodes at a time than [`super::MAX_NODES`], or selects more than [`super::MAX_PLACES`].
    #[error(
        "evaluation takes more than {limit} nodes at a time: ask for less, with keys in predicates or for whole lists"
    )]
    #[allow(missing_docs)]
    Nodes { limit: usize },
    /// Evaluation nests deeper than [`super::MAX_DEPTH`].
    #[error("evaluation nests deeper than {limit}")]
    #[allow(missing_docs)]
    Depth { limit: u16 },
    /// A string value became longer than [`super::MAX_STRING`].
    #[error("a string value becomes longer than {limit} octets: compare leafs, not whole subtrees")]
    #[allow(missing_docs)]
    StringLength { limit: usize },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Nodes => "node-set",
            Kind::String => "string",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
        })
    }
}
