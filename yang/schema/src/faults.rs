//! From libyang's error records to the words of RFC 6241 and of RFC 7950 section 15.

use crate::raw::Fault;
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, Path};

/// Why a module could not be loaded.
pub(crate) fn of_module(module: &str, faults: Vec<Fault>) -> Vec<Error> {
    let text = faults.iter().map(at_place).collect::<Vec<_>>().join("; ");
    let text = if text.is_empty() { "libyang gives no reason".to_owned() } else { text };
    vec![Error::application(ErrorTag::OperationFailed, format!("module {module} does not load: {text}"))]
}

/// Why the modules, each of which loads, do not compile together.
pub(crate) fn of_compilation(faults: Vec<Fault>) -> Vec<Error> {
    let error = |fault: &Fault| {
        Error::application(
            ErrorTag::OperationFailed,
            format!("the modules do not compile: {}", at_place(fault)),
        )
    };
    if faults.is_empty() {
        return of_module("set", faults);
    }
    faults.iter().map(error).collect()
}

/// What yang/tree cannot honour in modules that libyang accepts.
pub(crate) fn of_schema(fault: &str) -> Error {
    Error::application(ErrorTag::OperationNotSupported, format!("the modules cannot be used: {fault}"))
}

fn at_place(fault: &Fault) -> String {
    let message = fault.message.trim_end_matches('.');
    match (&fault.schema_path, fault.line) {
        (Some(path), _) => format!("{message} (at {path})"),
        (None, 0) => message.to_owned(),
        (None, line) => format!("{message} (line {line})"),
    }
}

/// What parsing says of data: syntax, unknown nodes and values.
pub(crate) fn of_parsing(fault: &Fault) -> Error {
    let message = &fault.message;
    let tag = if message.starts_with("No module with namespace") || message.starts_with("No module named") {
        ErrorTag::UnknownNamespace
    } else if message.starts_with("Node \"") && message.contains("not found") || is_unexpected(message) {
        ErrorTag::UnknownElement
    } else if message.starts_with("List instance is missing its key") {
        ErrorTag::MissingElement
    } else if fault.data_path.is_none() && fault.schema_path.is_none() {
        ErrorTag::MalformedMessage
    } else {
        ErrorTag::InvalidValue
    };
    let error = with_path(Error::application(tag, message.as_str()), fault);
    let named = quoted(message).next();
    match (tag, named) {
        (ErrorTag::UnknownNamespace, Some(name)) => error.with(ErrorInfo::BadNamespace(name.to_owned())),
        (ErrorTag::UnknownElement | ErrorTag::MissingElement, Some(name)) => {
            error.with(ErrorInfo::BadElement(name.to_owned()))
        }
        _ => with_app_tag(error, fault),
    }
}

/// State data where configuration is asked for.
fn is_unexpected(message: &str) -> bool {
    message.starts_with("Unexpected data")
}

/// What validation says of data that parses: RFC 7950 section 15.
pub(crate) fn of_validation(fault: &Fault) -> Error {
    let message = fault.message.as_str();
    let path = place(fault);
    let mut names = quoted(message).map(str::to_owned);
    if message.starts_with("Unique data leaf(s)") {
        return not_unique(fault, names.collect());
    }
    if message.starts_with("Too many ") || message.starts_with("Too few ") {
        let list = path.map(|path| list_path(&path, names.next().as_deref()));
        let error = with_app_tag(Error::application(ErrorTag::OperationFailed, message), fault);
        return list.map_or(error.clone(), |list| error.at(Path(list)));
    }
    if message.starts_with("Mandatory choice ") {
        let error =
            with_path(Error::application(ErrorTag::DataMissing, message).app_tag("missing-choice"), fault);
        return names.next().map_or(error.clone(), |name| error.with(ErrorInfo::MissingChoice(name)));
    }
    if message.starts_with("Mandatory node ") {
        let error = Error::application(ErrorTag::DataMissing, message);
        return match (path, names.next()) {
            (Some(path), Some(name)) if fault.data_path.is_some() => error.at(Path(format!("{path}/{name}"))),
            (Some(path), _) => error.at(Path(path)),
            (None, _) => error,
        };
    }
    if message.starts_with("When condition ") || is_unexpected(message) {
        return with_path(Error::application(ErrorTag::UnknownElement, message), fault);
    }
    let tag = match fault.app_tag.as_deref() {
        Some("instance-required") => ErrorTag::DataMissing,
        Some(_) => ErrorTag::OperationFailed,
        None if message.starts_with("Invalid leafref value") => ErrorTag::DataMissing,
        None if message.starts_with("Duplicate instance") => ErrorTag::BadElement,
        None => ErrorTag::InvalidValue,
    };
    with_path(with_app_tag(Error::application(tag, message), fault), fault)
}

/// RFC 7950 section 15.1: one `non-unique` for each leaf of each of the two entries.
fn not_unique(fault: &Fault, names: Vec<String>) -> Error {
    let error =
        Error::application(ErrorTag::OperationFailed, fault.message.as_str()).app_tag("data-not-unique");
    let [leafs, entries @ ..] = names.as_slice() else { return error };
    let mut error = with_path(error, fault);
    for entry in entries {
        for leaf in leafs.split(' ') {
            error = error.with(ErrorInfo::NonUnique(Path(format!("{entry}/{leaf}"))));
        }
    }
    error
}

fn with_path(error: Error, fault: &Fault) -> Error {
    match place(fault) {
        Some(path) => error.at(Path(path)),
        None => error,
    }
}

fn with_app_tag(error: Error, fault: &Fault) -> Error {
    match &fault.app_tag {
        Some(tag) => error.app_tag(tag.clone()),
        None => error,
    }
}

/// libyang's data paths have the RFC 7951 form; a top-level node that is missing has a schema path of that form.
fn place(fault: &Fault) -> Option<String> {
    fault.data_path.clone().or_else(|| fault.schema_path.clone())
}

/// The path of a list, from that of its last entry or of its parent.
fn list_path(path: &str, list: Option<&str>) -> String {
    let Some(list) = list else { return path.to_owned() };
    let last = last_step(path);
    let (step, predicates) = last.split_at(last.find('[').unwrap_or(last.len()));
    let name = step.rsplit_once(':').map_or(step, |(_, name)| name);
    if name == list { path[..path.len() - predicates.len()].to_owned() } else { format!("{path}/{list}") }
}

/// What stands after the last slash that is in no predicate.
fn last_step(path: &str) -> &str {
    let mut quote = None;
    let mut start = 0;
    for (at, c) in path.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '/') => start = at + 1,
            (None, _) => {}
        }
    }
    path.get(start..).unwrap_or(path)
}

/// The strings in double quotes.
fn quoted(message: &str) -> impl Iterator<Item = &str> {
    message.split('"').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_path_has_no_predicate() {
        assert_eq!(list_path("/a:b/list[k='x/y']", Some("list")), "/a:b/list");
        assert_eq!(list_path("/a:b", Some("list")), "/a:b/list");
        assert_eq!(list_path("/a:list[k='1'][j='2']", Some("list")), "/a:list");
    }
}
