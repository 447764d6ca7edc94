//! `<rpc-reply>` and `<rpc-error>` as text.

use crate::modules::Modules;
use crate::names::{BASE, MONITORING, NMDA, YANG};
use crate::path::{self, Prefixed};
use crate::retrieval::attribute;
use crate::rpc::Echo;
use cats_yang_tree::error::{Error, ErrorInfo, ErrorTag, Path, Structure, StructureLeaf, in_one_answer};
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

/// An error's message, and each name in it, may be so long, bytes; what is more is cut off. It may quote the request.
const TEXT_MAX: usize = 4 << 10;

/// A longer path is not told: a part of it would be another one.
const PATH_MAX: usize = 16 << 10;

/// The message for `reply`, in parts, of which the middle one is the reply's own string.
pub fn write_reply(attributes: &Echo, reply: Reply, modules: &dyn Modules) -> Vec<String> {
    let root = Root::of(attributes);
    let whole = |inner: String| vec![format!("{}{inner}{}", root.begin, root.end)];
    let around = |begin: String, content: String, end: &str| {
        vec![root.begin.clone() + &begin, content, format!("{end}{}", root.end)]
    };
    match reply {
        Reply::Ok => whole(format!("<ok{}/>", root.base)),
        Reply::Data(content) => around(format!("<data{}>", root.base), content, "</data>"),
        Reply::Schema(text) => {
            around(format!("<data xmlns=\"{MONITORING}\">"), escape_text(&text).into_owned(), "</data>")
        }
        Reply::Output(content) if content.is_empty() => whole(format!("<ok{}/>", root.base)),
        Reply::Output(content) => around(String::new(), content, ""),
        Reply::Errors(mut errors) => {
            if errors.is_empty() {
                let message = "the operation failed without a stated reason";
                errors.push(Error::application(ErrorTag::OperationFailed, message));
            }
            let mut out = String::new();
            for error in &in_one_answer(errors) {
                write_error(&mut out, error, &root.base, modules);
            }
            whole(out)
        }
    }
}

/// The begin and the end of a message whose data come in between.
pub(crate) fn around_data(attributes: &Echo, of: DataOf) -> (String, Cow<'static, str>) {
    let Root { begin, base, end } = Root::of(attributes);
    let begin = match of {
        DataOf::Base => format!("{begin}<data{base}>"),
        DataOf::Nmda => format!("{begin}<data xmlns=\"{NMDA}\">"),
    };
    let end = match attributes.prefix {
        None => Cow::Borrowed("</data></rpc-reply>"),
        Some(_) => Cow::Owned(format!("</data>{end}")),
    };
    (begin, end)
}

/// The tags of `<rpc-reply>`.
struct Root {
    begin: String,
    /// What elements of the base namespace declare.
    base: String,
    end: Cow<'static, str>,
}

impl Root {
    /// Where the request has another default namespace, which must be repeated, names have its prefix for ours.
    fn of(Echo { attributes, prefix }: &Echo) -> Self {
        match prefix {
            None => Self {
                begin: format!("<rpc-reply xmlns=\"{BASE}\"{attributes}>"),
                base: String::new(),
                end: Cow::Borrowed("</rpc-reply>"),
            },
            Some(prefix) => Self {
                begin: format!("<{prefix}:rpc-reply{attributes}>"),
                base: format!(" xmlns=\"{BASE}\""),
                end: Cow::Owned(format!("</{prefix}:rpc-reply>")),
            },
        }
    }
}

/// Appends `<rpc-error>`, in the order of RFC 6241 section 4.3. Where a module of the path is not known, the path is
/// told in the message instead.
fn write_error(out: &mut String, error: &Error, base: &str, modules: &dyn Modules) {
    out.push_str(&format!(
        "<rpc-error{base}><error-type>{}</error-type><error-tag>{}</error-tag><error-severity>error</error-severity>",
        error.kind, error.tag
    ));
    if let Some(app_tag) = &error.app_tag {
        out.push_str(&format!("<error-app-tag>{}</error-app-tag>", escape_text(cut(app_tag))));
    }
    let mut message = Cow::Borrowed(error.message.as_str());
    if let Some(path) = &error.path {
        match told(path, modules) {
            Told::Path(path) => out.push_str(&format!(
                "<error-path{}>{}</error-path>",
                path.declarations(),
                escape_text(&path.text)
            )),
            Told::UnknownModule => message = Cow::Owned(format!("{message} (at {path})")),
            Told::TooLong => {
                message = Cow::Owned(format!("{message} (at a node whose path has {} bytes)", path.0.len()));
            }
        }
    }
    out.push_str("<error-message xml:lang=\"en\">");
    out.push_str(&escape_text(cut(&message)));
    out.push_str(if cut(&message).len() < message.len() {
        "…</error-message>"
    } else {
        "</error-message>"
    });
    if !error.info.is_empty() {
        out.push_str("<error-info>");
        for info in &error.info {
            write_info(out, info, modules);
        }
        out.push_str("</error-info>");
    }
    out.push_str("</rpc-error>");
}

/// How a path is told.
enum Told {
    Path(Prefixed),
    UnknownModule,
    TooLong,
}

fn told(path: &Path, modules: &dyn Modules) -> Told {
    if path.0.len() > PATH_MAX {
        return Told::TooLong;
    }
    path::to_prefixes(&path.0, modules).map_or(Told::UnknownModule, Told::Path)
}

/// The begin of a text that may quote a request.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TEXT_MAX)).unwrap_or(text)
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
            if let Told::Path(path) = told(path, modules) {
                let (declared, text) = (path.declarations(), escape_text(&path.text));
                out.push_str(&format!("<non-unique xmlns=\"{YANG}\"{declared}>{text}</non-unique>"));
            }
            return;
        }
        ErrorInfo::MissingChoice(name) => {
            let name = escape_text(cut(name));
            out.push_str(&format!("<missing-choice xmlns=\"{YANG}\">{name}</missing-choice>"));
            return;
        }
        ErrorInfo::Structure(structure) => return write_structure(out, structure, modules),
    };
    out.push_str(&format!("<{name}>{}</{name}>", escape_text(cut(value))));
}

/// A structure of a module that is not known says nothing to its reader, and is left out.
fn write_structure(out: &mut String, Structure { module, name, leafs }: &Structure, modules: &dyn Modules) {
    let Some((_, namespace)) = modules.by_name(module) else { return };
    out.push_str(&format!("<{name} xmlns=\"{}\">", attribute(namespace)));
    for (leaf, value) in leafs {
        match value {
            StructureLeaf::Text(text) => {
                out.push_str(&format!("<{leaf}>{}</{leaf}>", escape_text(cut(text))));
            }
            StructureLeaf::Identity(identity) => {
                let Some((module, identity)) = identity.split_once(':') else { continue };
                let Some((prefix, namespace)) = modules.by_name(module) else { continue };
                let namespace = attribute(namespace);
                out.push_str(&format!("<{leaf} xmlns:{prefix}=\"{namespace}\">{prefix}:{identity}</{leaf}>"));
            }
        }
    }
    out.push_str(&format!("</{name}>"));
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
