//! The operations of `cats-exec`.

use cats_mgmtd_core::Request;
use cats_mgmtd_netconf as netconf;
use cats_mgmtd_netconf::names::EXEC;
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag};

/// What one of them asks; none for a name that the module has not.
///
/// # Errors
/// When its parameters are not as the module says.
pub(crate) fn request(name: &str, xml: &str) -> Option<Result<Request, Error>> {
    let read = match name {
        "schema-index" => schema_index,
        "compare-revision" => compare_revision,
        "rollback" => rollback,
        _ => return None,
    };
    let malformed = |error: roxmltree::Error| Error::protocol(ErrorTag::MalformedMessage, error.to_string());
    let document = roxmltree::Document::parse(xml).map_err(malformed);
    Some(document.and_then(|document| read(&Parameters { operation: document.root_element() })))
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

fn schema_index(given: &Parameters<'_, '_>) -> Result<Request, Error> {
    given.only(&["content-id"])?;
    Ok(Request::SchemaIndex { content_id: given.text("content-id") })
}

fn compare_revision(given: &Parameters<'_, '_>) -> Result<Request, Error> {
    given.only(&["from", "to"])?;
    Ok(Request::CompareRevision { from: given.required("from")?, to: given.number("to")? })
}

fn rollback(given: &Parameters<'_, '_>) -> Result<Request, Error> {
    given.only(&["revision"])?;
    Ok(Request::Rollback { revision: given.required("revision")? })
}

struct Parameters<'d, 't> {
    operation: roxmltree::Node<'d, 't>,
}

impl<'d, 't> Parameters<'d, 't> {
    fn elements(&self) -> impl Iterator<Item = roxmltree::Node<'d, 't>> {
        self.operation.children().filter(roxmltree::Node::is_element)
    }

    /// Refuses what is no parameter, and a second one of the same name.
    fn only(&self, names: &[&str]) -> Result<(), Error> {
        let mut seen: Vec<&str> = Vec::new();
        for node in self.elements() {
            let name = node.tag_name().name();
            if node.tag_name().namespace() != Some(EXEC) || !names.contains(&name) || seen.contains(&name) {
                let operation = self.operation.tag_name().name();
                let message =
                    format!("<{operation}> takes one <{}>, and not <{name}>", names.join(">, one <"));
                let error = Error::protocol(ErrorTag::UnknownElement, message);
                return Err(error.with(ErrorInfo::BadElement(name.to_owned())));
            }
            seen.push(name);
        }
        Ok(())
    }

    fn text(&self, name: &str) -> Option<String> {
        let node = self.elements().find(|node| node.tag_name().name() == name)?;
        Some(node.text().unwrap_or_default().trim().to_owned())
    }

    fn number(&self, name: &str) -> Result<Option<u64>, Error> {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| {
            let message = format!("<{name}> is no number of a revision: '{text}'");
            let error = Error::protocol(ErrorTag::InvalidValue, message);
            error.with(ErrorInfo::BadElement(name.to_owned()))
        })
    }

    fn required(&self, name: &str) -> Result<u64, Error> {
        self.number(name)?.ok_or_else(|| {
            let operation = self.operation.tag_name().name();
            let error = Error::protocol(ErrorTag::MissingElement, format!("<{operation}> needs a <{name}>"));
            error.with(ErrorInfo::BadElement(name.to_owned()))
        })
    }
}
