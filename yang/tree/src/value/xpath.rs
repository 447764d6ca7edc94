//! The names inside an XPath expression that is a value (`yang:xpath1.0`, `nacm:node-instance-identifier`):
//! prefixes in XML, modules in the canonical form and in JSON (RFC 9911 section 3, RFC 7951 section 6.11).

use super::Names;
use crate::error::shown;
use crate::schema::{ModuleId, Schema};

/// The expression with a module's name before every name that has a prefix, and before those that inherit one: in XML
/// too, where such a name would otherwise mean something else once it was stored and read back.
pub(super) fn qualified(schema: &Schema, names: Names<'_>, text: &str) -> Result<String, String> {
    let mut current = None;
    rewrite(text, |prefix, path_step| {
        let module = match prefix {
            Some(prefix) => match (names.resolve)(Some(prefix)) {
                Some(module) => module,
                None => return Err(format!("prefix '{}' names no module here", shown(prefix))),
            },
            None => match current.filter(|_| path_step) {
                Some(module) => module,
                None => return Ok(None),
            },
        };
        current = Some(module);
        Ok(Some(schema.module(module).name.clone()))
    })
}

/// The canonical form with prefixes in the place of modules, and the modules whose prefixes must be declared.
pub(crate) fn prefixed(schema: &Schema, text: &str) -> (String, Vec<ModuleId>) {
    let mut modules: Vec<ModuleId> = Vec::new();
    let rewritten = rewrite(text, |module, _| {
        let Some(module) = module.and_then(|name| schema.module_by_name(name)) else { return Ok(None) };
        if !modules.contains(&module) {
            modules.push(module);
        }
        Ok(Some(schema.prefix(module).to_owned()))
    });
    // The closure refuses nothing.
    (rewritten.unwrap_or_else(|_| text.to_owned()), modules)
}

/// Calls `name` with the qualifier of each name outside literals and whether it is a step of a path, and writes
/// the qualifier that it gives; with none the name stays as it is.
fn rewrite(
    text: &str,
    mut name: impl FnMut(Option<&str>, bool) -> Result<Option<String>, String>,
) -> Result<String, String> {
    let mut out = String::with_capacity(text.len() * 2);
    let mut rest = text;
    // The last character that is not blank.
    let mut before = '/';
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\'' | '"' => rest.get(1..).and_then(|tail| tail.find(c)).map_or(rest.len(), |end| end + 2),
            _ if is_name_start(c) => word(rest),
            _ => c.len_utf8(),
        };
        let (token, tail) = rest.split_at(length);
        rest = tail;
        if !is_name_start(c) {
            out.push_str(token);
            before = if c.is_whitespace() { before } else { c };
            continue;
        }
        let colon = tail.strip_prefix(':').filter(|tail| tail.starts_with(|c| is_name_start(c) || c == '*'));
        let step = matches!(before, '/' | '[') && !tail.trim_start().starts_with(['(', ':']);
        match colon {
            Some(tail) => {
                let local = if tail.starts_with('*') { 1 } else { word(tail) };
                out.push_str(&name(Some(token), true)?.unwrap_or_else(|| token.to_owned()));
                out.push(':');
                out.push_str(tail.get(..local).unwrap_or_default());
                rest = tail.get(local..).unwrap_or_default();
            }
            None => {
                if let Some(module) = name(None, step)? {
                    out.push_str(&module);
                    out.push(':');
                }
                out.push_str(token);
            }
        }
        before = 'n';
    }
    Ok(out)
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// The length of the name at the start of `text`.
fn word(text: &str) -> usize {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
    end.unwrap_or(text.len())
}
