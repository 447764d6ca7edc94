//! What a user is told who may not know everything (RFC 8341 section 3.4.3).

use super::effective::{Effective, Extent};
use super::rules::AccessOperation;
use cats_yang_tree::InstancePath;
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, ErrorType, Errors, Path, counts_others};
use cats_yang_tree::schema::Schema;

const REMEDY: &str = "it takes a rule of ietf-netconf-acm that permits it";

/// The refusal of an operation.
pub(super) fn of_operation(name: &str) -> Error {
    Error::protocol(ErrorTag::AccessDenied, format!("you may not use <{name}>: {REMEDY}"))
}

/// So many nodes are named in a refusal at most.
const MOST_ERRORS: usize = 64;

/// The refusals of accesses to data, as they are found.
#[derive(Debug, Default)]
pub(super) struct Denials(Vec<Error>);

impl Denials {
    /// One of a node whose path the user may know.
    pub(super) fn at(&mut self, schema: &Schema, operation: AccessOperation, path: &InstancePath) {
        if self.is_full() {
            return;
        }
        let name = path.node().map_or("", |node| schema.node(node).name.as_str());
        let message = format!("you may not {} '{name}' here: {REMEDY}", operation.name());
        self.0.push(Error::application(ErrorTag::AccessDenied, message).at(path.render(schema)));
    }

    /// One that must not say of what: how many there are would tell how much there is.
    pub(super) fn somewhere(&mut self) {
        let denial = somewhere();
        if !self.is_full() && !self.0.contains(&denial) {
            self.0.push(denial);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MOST_ERRORS
    }

    /// # Errors
    /// Those that were found.
    pub(super) fn into_result(self) -> Result<(), Vec<Error>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}

/// Whether something is created, altered or deleted would tell what is there.
fn somewhere() -> Error {
    let message = format!("you may not make all the changes that this asks for: {REMEDY}");
    Error::application(ErrorTag::AccessDenied, message)
}

impl Effective {
    /// Errors of an edit without what they tell of nodes that the user may not read: there, all of them are the same
    /// `access-denied`, so that a node that is there is not told from one that is not.
    pub(super) fn without_hidden_edits(&self, errors: Vec<Error>) -> Vec<Error> {
        // Refusals by access control name what the request has named.
        let clean = |error: Error| match error.tag != ErrorTag::AccessDenied && self.tells_of_hidden(&error) {
            true => somewhere(),
            false => error,
        };
        self.told(errors.into_iter().map(clean))
    }

    /// The errors that tell of nothing that the user may not read.
    pub(super) fn of_readable(&self, errors: Vec<Error>) -> Vec<Error> {
        self.told(errors.into_iter().filter(|error| !self.tells_of_hidden(error)))
    }

    /// Errors without what they tell of nodes that the user may not read. That there is something wrong stays.
    pub(super) fn without_hidden(&self, errors: Vec<Error>) -> Vec<Error> {
        let clean = |error: Error| match self.tells_of_hidden(&error) {
            true => Error::new(ErrorType::Application, ErrorTag::OperationFailed, HIDDEN),
            false => error,
        };
        self.told(errors.into_iter().map(clean))
    }

    /// Errors of rules that look at several places and speak of them, in their words and by saying which rule it is: all
    /// but the place is kept only for who may read everything there.
    pub(super) fn without_words(&self, errors: Vec<Error>) -> Vec<Error> {
        let clean = |error: Error| {
            let top = error
                .path
                .as_ref()
                .and_then(|path| self.parse(path))
                .and_then(|path| path.steps.first().cloned());
            let facts = top.and_then(|step| self.facts(step.node).copied());
            let readable = facts.is_some_and(|facts| facts.read == Extent::All && !facts.by_instance);
            if readable || counts_others(&error) {
                return error;
            }
            let bare = Error::new(error.kind, ErrorTag::OperationFailed, HIDDEN);
            Error { path: error.path, ..bare }
        };
        self.without_hidden(errors.into_iter().map(clean).collect())
    }

    /// One of each, in order: how many hidden places there are is not told.
    fn told(&self, errors: impl Iterator<Item = Error>) -> Vec<Error> {
        let mut told = Errors::default();
        let mut alike: Vec<Error> = Vec::new();
        for error in errors {
            if error.path.is_none() || error.message == HIDDEN {
                if alike.contains(&error) {
                    continue;
                }
                alike.push(error.clone());
            }
            told.push(error);
        }
        if !self.reads_all() {
            told.hide_number();
        }
        told.into_vec()
    }

    fn parse(&self, path: &Path) -> Option<InstancePath> {
        InstancePath::parse(&self.schema, &path.0).ok()
    }

    fn tells_of_hidden(&self, error: &Error) -> bool {
        let unique = error.info.iter().filter_map(|info| match info {
            ErrorInfo::NonUnique(path) => Some(path),
            ErrorInfo::BadAttribute(_)
            | ErrorInfo::BadElement(_)
            | ErrorInfo::BadNamespace(_)
            | ErrorInfo::SessionId(_)
            | ErrorInfo::MissingChoice(_)
            | ErrorInfo::Structure(_) => None,
        });
        let mut paths = error.path.iter().chain(unique);
        paths.any(|path| self.parse(path).is_none_or(|path| !self.sees(&path.steps)))
    }
}

const HIDDEN: &str =
    "the configuration is refused for reasons that you may not read in full: ask an administrator";
