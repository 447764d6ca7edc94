//! What a user is told who may not know everything (RFC 8341 section 3.4.3).

use super::effective::{Effective, Extent};
use super::rules::AccessOperation;
use cats_yang_tree::InstancePath;
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, ErrorType, Errors, Path};
use cats_yang_tree::schema::Schema;

const REMEDY: &str = "it takes a rule of ietf-netconf-acm that permits it";

/// The refusal of an operation.
pub(super) fn of_operation(name: &str) -> Error {
    Error::protocol(ErrorTag::AccessDenied, format!("you may not use <{name}>: {REMEDY}"))
}

/// The refusal of an access to data; `path` only where the user may know it.
pub(super) fn of_data(schema: &Schema, operation: AccessOperation, path: Option<&InstancePath>) -> Error {
    let what = path.and_then(InstancePath::node).map(|node| schema.node(node).name.as_str());
    let message = match what {
        Some(what) => format!("you may not {} '{what}' here: {REMEDY}", operation.name()),
        None => format!("you may not {} all that this changes: {REMEDY}", operation.name()),
    };
    let error = Error::application(ErrorTag::AccessDenied, message);
    match path {
        Some(path) => error.at(path.render(schema)),
        None => error,
    }
}

impl Effective {
    /// Errors of an edit without what they tell of nodes that the user may not read: there, all of them are the same
    /// `access-denied`, so that a node that is there is not told from one that is not.
    pub(super) fn without_hidden_edits(&self, errors: Vec<Error>) -> Vec<Error> {
        // Refusals by access control name what the request has named.
        let clean = |error: Error| match error.tag != ErrorTag::AccessDenied && self.tells_of_hidden(&error) {
            true => of_data(&self.schema, AccessOperation::Update, None),
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

    /// Errors of rules that look at several places and speak of them in their words, so that the words are kept only
    /// for who may read everything there.
    pub(super) fn without_words(&self, errors: Vec<Error>) -> Vec<Error> {
        let clean = |error: Error| {
            let top = error
                .path
                .as_ref()
                .and_then(|path| self.parse(path))
                .and_then(|path| path.steps.first().cloned());
            let facts = top.and_then(|step| self.facts(step.node).copied());
            if facts.is_some_and(|facts| facts.read == Extent::All && !facts.by_instance) {
                return error;
            }
            Error { message: HIDDEN.to_owned(), info: Vec::new(), ..error }
        };
        self.without_hidden(errors.into_iter().map(clean).collect())
    }

    /// One of each, in order: how many hidden places there are is not told.
    fn told(&self, errors: impl Iterator<Item = Error>) -> Vec<Error> {
        let mut told = Errors::default();
        let mut placeless: Vec<Error> = Vec::new();
        for error in errors {
            if error.path.is_none() {
                if placeless.contains(&error) {
                    continue;
                }
                placeless.push(error.clone());
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
