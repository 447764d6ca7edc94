//! `<rpc-reply>` and `<rpc-error>` as text.

use crate::modules::Modules;
use crate::names::{BASE, MONITORING, NMDA, YANG};
use crate::path;
use crate::rpc::Echo;
use cats_yang_tree::error::{Error, ErrorInfo, in_one_answer};
use std::borrow::Cow;

/// What a request is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// `<ok/>`.
    Ok,
    /// The content of `<data>`, of `get` and `get-config`: elements with their own namespace declarations.
    Data(String),
    /// The text of a module, which becomes the `<data>` of `get-schema`.
    Schema(String),
    /// The output of any other operation: elements with their own namespace declarations. Empty is `<ok/>`.
    Output(String),
    /// One `<rpc-error>` each, up to a bound; never empty (an empty one is sent as `operation-failed`).
    Errors(Vec<Error>),
}

/// Whose `<data>` element a reply has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataOf {
    /// Of `get` and `get-config`.
    Base,
    /// Of `get-data`.
    Nmda,
}

impl From<Error> for Reply {
    fn from(error: Error) -> Self {
        Reply::Errors(vec![error])
    }
}

/// The message for `reply`, in parts, of which the middle one is the reply's own string.
pub fn write_reply(attributes: &Echo, reply: Reply, modules: &dyn Modules) -> Vec<String> {
    let head = |inner: &str| format!("<rpc-reply xmlns=\"{BASE}\"{}>{inner}", attributes.as_str());
    match reply {
        Reply::Ok => vec![head("<ok/></rpc-reply>")],
        Reply::Data(content) => vec![head("<data>"), content, "</data></rpc-reply>".to_owned()],
        Reply::Schema(text) => {
            let content = escape_text(&text).into_owned();
            vec![head(&format!("<data xmlns=\"{MONITORING}\">")), content, "</data></rpc-reply>".to_owned()]
        }
        Reply::Output(content) if content.is_empty() => vec![head("<ok/></rpc-reply>")],
        Reply::Output(content) => vec![head(""), content, "</rpc-reply>".to_owned()],
        Reply::Errors(errors) => {
            let (mut out, none) = (head(""), errors.is_empty());
            for error in &in_one_answer(errors) {
                write_error(&mut out, error, modules);
            }
            if none {
                let error = Error::application(
                    cats_yang_tree::error::ErrorTag::OperationFailed,
                    "the operation failed without a stated reason",
                );
                write_error(&mut out, &error, modules);
            }
            out.push_str("</rpc-reply>");
            vec![out]
        }
    }
}

/// The begin and the end of a message whose data come in between.
pub(crate) fn around_data(attributes: &Echo, of: DataOf) -> (String, &'static str) {
    let data = match of {
        DataOf::Base => "<data>".to_owned(),
        DataOf::Nmda => format!("<data xmlns=\"{NMDA}\">"),
    };
    (format!("<rpc-reply xmlns=\"{BASE}\"{}>{data}", attributes.as_str()), "</data></rpc-reply>")
}

/// Appends `<rpc-error>`, in the order of RFC 6241 section 4.3. Where a module of the path is not known, the path is
/// told in the message instead.
fn write_error(out: &mut String, error: &Error, modules: &dyn Modules) {
    let path = error.path.as_ref().map(|path| path::to_prefixes(&path.0, modules));
    out.push_str(&format!(
        "<rpc-error><error-type>{}</error-type><error-tag>{}</error-tag><error-severity>error</error-severity>",
        error.kind, error.tag
    ));
    if let Some(app_tag) = &error.app_tag {
        out.push_str(&format!("<error-app-tag>{}</error-app-tag>", escape_text(app_tag)));
    }
    let mut message = Cow::Borrowed(error.message.as_str());
    match (&error.path, path) {
        (_, Some(Some(prefixed))) => out.push_str(&format!(
            "<error-path{}>{}</error-path>",
            prefixed.declarations(),
            escape_text(&prefixed.text)
        )),
        (Some(path), Some(None)) => message = Cow::Owned(format!("{message} (at {path})")),
        (_, None) | (None, Some(None)) => {}
    }
    out.push_str(&format!("<error-message xml:lang=\"en\">{}</error-message>", escape_text(&message)));
    if !error.info.is_empty() {
        out.push_str("<error-info>");
        for info in &error.info {
            write_info(out, info, modules);
        }
        out.push_str("</error-info>");
    }
    out.push_str("</rpc-error>");
}

fn write_info(out: &mut String, info: &ErrorInfo, modules: &dyn Modules) {
    let (name, value) = match info {
        ErrorInfo::BadAttribute(name) => ("bad-attribute", name.as_str()),
        ErrorInfo::BadElement(name) => ("bad-element", name.as_str()),
        ErrorInfo::BadNamespace(uri) => ("bad-namespace", uri.as_str()),
        ErrorInfo::SessionId(id) => {
            out.push_str(&format!("<session-id>{id}</session-id>"));
            return;
        }
        ErrorInfo::NonUnique(path) => {
            if let Some(prefixed) = path::to_prefixes(&path.0, modules) {
                let (declared, text) = (prefixed.declarations(), escape_text(&prefixed.text));
                out.push_str(&format!("<non-unique xmlns=\"{YANG}\"{declared}>{text}</non-unique>"));
            }
            return;
        }
        ErrorInfo::MissingChoice(name) => {
            out.push_str(&format!("<missing-choice xmlns=\"{YANG}\">{}</missing-choice>", escape_text(name)));
            return;
        }
    };
    out.push_str(&format!("<{name}>{}</{name}>", escape_text(value)));
}

/// Text for XML 1.0: markup escaped, and characters that XML cannot hold replaced by U+FFFD. A carriage return is
/// escaped, since a bare one would be read as a line feed.
pub fn escape_text(text: &str) -> Cow<'_, str> {
    let allowed =
        |c: char| matches!(c, '\t' | '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    if text.chars().all(allowed) {
        return quick_xml::escape::partial_escape(text);
    }
    let clean: String = text.chars().map(|c| if allowed(c) || c == '\r' { c } else { '\u{fffd}' }).collect();
    Cow::Owned(quick_xml::escape::partial_escape(&clean).replace('\r', "&#13;"))
}
