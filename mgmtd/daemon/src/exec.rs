//! The operations of `cats-exec`.

use cats_mgmtd_core::{Request, SessionId};
use cats_mgmtd_netconf::names::EXEC;
use cats_mgmtd_netconf::{self as netconf, Parameters};
use cats_yang_tree::error::{Error, ErrorTag};

/// What a parameter must be that names a session.
const SESSION: &str = "the number of a session";

/// What a parameter must be that names a revision.
const REVISION: &str = "the number of a revision";

/// What one of them asks; none for a name that the module has not.
///
/// # Errors
/// When its parameters are not as the module says.
pub(crate) fn request(name: &str, xml: &str) -> Option<Result<Request, Error>> {
    let read = match name {
        "schema-index" => schema_index,
        "compare-revision" => compare_revision,
        "rollback" => rollback,
        "attach-candidate" => attach_candidate,
        "drop-candidate" => drop_candidate,
        _ => return None,
    };
    let malformed = |error: roxmltree::Error| Error::protocol(ErrorTag::MalformedMessage, error.to_string());
    let document = roxmltree::Document::parse(xml).map_err(malformed);
    Some(document.and_then(|document| read(&Parameters::of(document.root_element(), xml))))
}

/// The answer to `schema-index`.
pub(crate) fn schema_index_xml(content_id: &str, index: Option<&str>) -> String {
    let mut xml = format!("<content-id xmlns=\"{EXEC}\">{}</content-id>", netconf::escape_text(content_id));
    if let Some(index) = index {
        let index = netconf::escape_text(index);
        xml.push_str(&format!("<index xmlns=\"{EXEC}\">{index}</index>"));
    }
    xml
}

fn schema_index(given: &Parameters<'_, '_, '_>) -> Result<Request, Error> {
    given.only(&["content-id"])?;
    Ok(Request::SchemaIndex { content_id: given.string("content-id")? })
}

fn compare_revision(given: &Parameters<'_, '_, '_>) -> Result<Request, Error> {
    given.only(&["from", "to"])?;
    Ok(Request::CompareRevision {
        from: given.required_number("from", REVISION)?,
        to: given.number("to", REVISION)?,
    })
}

fn rollback(given: &Parameters<'_, '_, '_>) -> Result<Request, Error> {
    given.only(&["revision"])?;
    Ok(Request::Rollback { revision: given.required_number("revision", REVISION)? })
}

fn attach_candidate(given: &Parameters<'_, '_, '_>) -> Result<Request, Error> {
    Ok(Request::AttachCandidate { left_by: left_by(given)? })
}

fn drop_candidate(given: &Parameters<'_, '_, '_>) -> Result<Request, Error> {
    Ok(Request::DropCandidate { left_by: left_by(given)? })
}

fn left_by(given: &Parameters<'_, '_, '_>) -> Result<SessionId, Error> {
    given.only(&["session-id"])?;
    given.required_number("session-id", SESSION).map(SessionId)
}
