//! The server's schema, kept between runs by its content-id.

use crate::session::Session;
use cats_cli_core::error::Error;
use cats_mgmtd_netconf::{Answer, Hello, NoModules, XmlFragment};
use cats_yang_tree::roxmltree::Document;
use cats_yang_tree::schema::Schema;
use std::path::PathBuf;
use std::{env, fs};

/// Namespace of `cats-exec`.
const EXEC: &str = "urn:catsd:yang:cats-exec";

/// The schema of the server behind `session`: the kept one if the server's is the same, else the server's.
pub(crate) fn load(session: &mut Session, hello: &Hello) -> Result<Schema, Error> {
    let announced = content_id(hello);
    let kept = announced.as_deref().and_then(kept);
    let request = match (&announced, &kept) {
        (Some(id), Some(_)) => {
            format!("<schema-index xmlns=\"{EXEC}\"><content-id>{id}</content-id></schema-index>")
        }
        _ => format!("<schema-index xmlns=\"{EXEC}\"/>"),
    };
    let Answer::Output(output) = session.call_xml(&request, &NoModules)? else {
        return Err(Error::usage("the server answered schema-index without output"));
    };
    let field = |name: &str| output.iter().find_map(|element| text_of(element, name));
    match (field("index"), kept) {
        (Some(index), _) => {
            let schema = parse(&index)?;
            if let Some(id) = field("content-id") {
                keep(&id, &index);
            }
            Ok(schema)
        }
        (None, Some(schema)) => Ok(schema),
        (None, None) => Err(Error::usage("the server answered schema-index without an index")),
    }
}

fn parse(index: &str) -> Result<Schema, Error> {
    let schema: Schema = serde_json::from_str(index)
        .map_err(|error| Error::usage(format!("the server's schema index is not readable: {error}")))?;
    Ok(schema.indexed())
}

fn text_of(element: &XmlFragment, name: &str) -> Option<String> {
    let document = Document::parse(element.as_str()).ok()?;
    let root = document.root_element();
    (root.tag_name().name() == name).then(|| root.text().unwrap_or_default().to_owned())
}

/// The content-id in the capability of the YANG library (RFC 8526 section 2).
fn content_id(hello: &Hello) -> Option<String> {
    hello.capabilities.iter().find_map(|capability| {
        let (_, query) = capability.split_once("yang-library:1.1?")?;
        let id = query.split('&').find_map(|parameter| parameter.strip_prefix("content-id="))?;
        id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-').then(|| id.to_owned())
    })
}

fn kept(id: &str) -> Option<Schema> {
    parse(&fs::read_to_string(file(id)?).ok()?).ok()
}

/// A cache: what cannot be kept is asked for again.
fn keep(id: &str, index: &str) {
    let Some(file) = file(id) else { return };
    let Some(folder) = file.parent() else { return };
    let part = folder.join(format!("{id}.{}", std::process::id()));
    if fs::create_dir_all(folder).is_ok() && fs::write(&part, index).is_ok() {
        let _ = fs::rename(&part, &file);
    }
}

fn file(id: &str) -> Option<PathBuf> {
    let base = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))?;
    Some(base.join("cats").join(format!("schema-{id}.json")))
}
